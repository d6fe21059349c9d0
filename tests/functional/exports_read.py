"""exports_read.py KIND FOLDER JOBS SERIES - checks what `ludwig results --tensorboard` or `--mlflow` wrote to FOLDER

Compares it with the output of `ludwig jobs --json` (JOBS) and `ludwig results --series loss --json`
(SERIES).  Reads the formats by their documentation alone or, if KIND is by-tensorboard or by-mlflow,
with the programs' own readers."""
import glob, json, math, os, re, struct, sys

import yaml

kind, folder, jobs_file, series_file = sys.argv[1:]
jobs = {job["job"]: job for job in json.load(open(jobs_file))["jobs"]}
text = open(series_file).read()
series = {}
for row in json.loads(text)["series"]:
    series.setdefault(row["job"], []).append((row["step"], row["value"]))


def same(x, y):
    return math.isnan(x) if y is None else math.isclose(x, y, rel_tol=1e-6)  # None: nan


def check_series(job, found):
    wanted = series.get(job, [])
    assert len(found) == len(wanted), (job, found, wanted)
    for (step, value), (wanted_step, wanted_value) in zip(found, wanted):
        assert step == wanted_step and same(value, wanted_value), (job, found, wanted)


# ---- TFRecord and protocol buffers ----

TABLE = []
for i in range(256):
    for _ in range(8):
        i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
    TABLE.append(i)


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    while data:
        length, crc = struct.unpack("<QI", data[:12])
        assert crc == masked_crc(data[:8]), "checksum of a length"
        body, data = data[12:12 + length], data[12 + length:]
        assert len(body) == length and struct.unpack("<I", data[:4])[0] == masked_crc(body), "checksum of a record"
        data = data[4:]
        yield body


def varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at


def fields(data):
    found, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            n, at = varint(data, at)
            value, at = data[at:at + n], at + n
            assert len(value) == n
        else:
            n, form = {1: (8, "<d"), 5: (4, "<f")}[tag & 7]
            value, at = struct.unpack(form, data[at:at + n])[0], at + n
        found.setdefault(tag >> 3, []).append(value)
    return found


def tensorboard():
    assert sorted(os.listdir(folder)) == sorted(list(jobs) + [".ludwig"])
    for name, job in jobs.items():
        (path,) = glob.glob(f"{folder}/{name}/*tfevents*")
        events = [fields(body) for body in records(open(path, "rb").read())]
        assert events[0][3] == [b"brain.Event:2"]
        scalars, start, end = {}, None, None
        for event in events[1:]:
            for value in fields(event[5][0])[1]:
                value = fields(value)
                tag = value[1][0].decode()
                if 2 in value:
                    scalars.setdefault(tag, []).append((event.get(2, [0])[0], value[2][0]))
                    assert abs(event[1][0] - 1e9) > 1e8
                    continue
                plugin = fields(fields(value[9][0])[1][0])
                assert plugin[1] == [b"hparams"]
                data = fields(plugin[2][0])
                start, end = (fields(data[3][0]), end) if 3 in data else (start, fields(data[4][0]))
        check_series(name, scalars.get("loss", []))
        if name in series:
            assert set(scalars) == {"loss", "val/loss", "../evil", "val"}, scalars
        params = {}
        for entry in start[1]:
            entry = fields(entry)
            value = fields(entry[2][0])
            params[entry[1][0].decode()] = value[2][0] if 2 in value else value[3][0].decode()
        assert params == {"lr": job["params"]["lr"], "opt": job["params"]["opt"], "../up": 1, "a/b": "x",
                          "a": '"two\\nlines"', "größe": "[1,2]"}, params
        assert end[1] == [1 if job["state"] == "done" else 2]
    assert series


# ---- MLflow ----

NAME = re.compile(r"^[/\w.\- ]*$", re.A)


def files(top):
    return {os.path.relpath(os.path.join(at, name), top): open(os.path.join(at, name)).read()
            for at, _, names in os.walk(top) for name in names}


def mlflow():
    assert sorted(os.listdir(folder)) == [".ludwig", "1"]
    meta = yaml.safe_load(open(f"{folder}/1/meta.yaml"))
    assert meta["experiment_id"] == "1" and meta["name"] == "demo, sweep 1" and meta["lifecycle_stage"] == "active"
    assert meta["artifact_location"] == "file://" + os.path.realpath(folder) + "/1"
    seen = set()
    for run in glob.glob(f"{folder}/1/*/"):
        run = run.rstrip("/")
        meta = yaml.safe_load(open(run + "/meta.yaml"))
        assert meta["run_id"] == meta["run_uuid"] == os.path.basename(run) and re.fullmatch("[0-9a-f]{32}", meta["run_id"])
        assert meta["experiment_id"] == "1" and meta["artifact_uri"].endswith(meta["run_id"] + "/artifacts")
        name = meta["run_name"]
        job = jobs[name]
        seen.add(name)
        assert meta["status"] == (3 if job["state"] == "done" else 4) and meta["end_time"] >= meta["start_time"] > 10 ** 12
        tags, params, metrics = (files(f"{run}/{part}") for part in ("tags", "params", "metrics"))
        assert tags["mlflow.runName"] == name and tags["ludwig.configuration"] == job["param_name"]
        assert all(NAME.match(x) and os.path.normpath(x) == x for part in (tags, params, metrics) for x in part)
        assert all(len(value.splitlines()) == 1 for value in params.values())
        assert params == {"lr": str(job["params"]["lr"]), "opt": job["params"]["opt"], "_._up": "1", "a/b": "x",
                          "a_2": '"two\\nlines"', "gr__e": "[1,2]"} or \
            {params[x] for x in params} == {str(job["params"]["lr"]), job["params"]["opt"], "1", "x", '"two\\nlines"', "[1,2]"}, params
        if name in series:
            assert len(metrics) == 4, metrics
            found = [line.split() for line in metrics["loss"].splitlines()]
            check_series(name, [(int(step), float(value)) for _, value, step in found])
            assert all(meta["start_time"] <= int(at) <= meta["end_time"] for at, _, _ in found)
    assert seen == set(jobs) and series


def by_mlflow():
    from mlflow.tracking import MlflowClient
    client = MlflowClient(os.path.realpath(folder))
    (experiment,) = [x for x in client.search_experiments() if x.name == "demo, sweep 1"]
    runs = client.search_runs([experiment.experiment_id])
    assert {run.info.run_name for run in runs} == set(jobs)
    for run in runs:
        history = client.get_metric_history(run.info.run_id, "loss") if run.info.run_name in series else []
        check_series(run.info.run_name, [(x.step, x.value) for x in history])


def by_tensorboard():
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    for name in series:
        accumulator = EventAccumulator(f"{folder}/{name}").Reload()
        check_series(name, [(x.step, x.value) for x in accumulator.Scalars("loss")])


{"tensorboard": tensorboard, "mlflow": mlflow, "by-tensorboard": by_tensorboard, "by-mlflow": by_mlflow}[kind]()
