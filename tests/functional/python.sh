#!/bin/bash
# python.sh - sweeps from Python, jobs that use ludwig.py, and a LudwigCluster project
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0, memory: 2GiB}'
PYTHON=$TEST_ROOT/client/python
export PYTHONPATH=$PYTHON

it 'its parts do what they promise' '
    python3 "$TEST_ROOT/tests/functional/python_parts.py" "$PYTHON" 2>&1
'

for version in 3.9 3.10 3.11 3.12 3.13 3.14; do
    if command -v "python$version" >/dev/null && "python$version" -c 'import ssl' 2>/dev/null; then
        it "they do so with Python $version" '
            "python$version" "$TEST_ROOT/tests/functional/python_parts.py" "$PYTHON" 2>&1
        '
    fi
done

cp "$PYTHON/ludwig.py" .
mkdir data && echo 'one two three' >data/words.txt
cat >train.py <<'END'
import json, ludwig
param2val = ludwig.param2val({"hidden": 16})
words = ludwig.data_path("data").joinpath("words.txt").read_text().split()
for step in range(3):
    ludwig.report(accuracy=param2val["lr"] * step + ludwig.rep(), words=len(words), step=step)
(ludwig.checkpoint() / "state").write_text("%d" % ludwig.restart())
(ludwig.save_path() / "seen.json").write_text(json.dumps(
    [param2val, ludwig.rep(), ludwig.job(), ludwig.seed() != 0, ludwig.restart()]))
END
cat >desk.py <<'END'
import json, os, sys
import ludwig

client = ludwig.Client("py", quiet=True)
keywords = dict(command='python3 train.py "$ODD"', src_ps=["train.py", "ludwig.py"], data_ps=["data"],
                env={"ODD": "a 'b' \"c\" \\ \x7f é \U0001f600"}, reps=2)
configs = [{"lr": 0.1, "layers": (64, 64)}, {"lr": 1, "layers": None}, {"lr": 1.5}]

dry = client.dry_run(param2val_list=configs, **keywords)
assert (dry["configs"], dry["jobs"]) == (3, 6) and dry["params"][0] == {"lr": 0.1, "layers": [64, 64]}, dry

sweep = client.submit(param2val_list=(config for config in configs), name="from Python",
                      resources={"cpus": 1, "memory": "64MiB"}, **keywords)
assert sweep.number == 1 and sweep.submitted["queued"] == 6, sweep.submitted
status = sweep.wait(timeout=60)
assert status["state"] == "done" and status["name"] == "from Python", status
assert len(sweep.jobs("done")) == 6 and sweep.jobs("failed") == []

results = sweep.results()
assert [row["n"] for row in results] == [2, 2, 2]
of = {row["params"]["lr"]: row["metrics"] for row in results}
assert of[1.5]["accuracy"]["mean"] == 3.5 and of[1.5]["words"]["mean"] == 3, of
series = [row["value"] for row in sweep.series("accuracy") if row["params"]["lr"] == 1 and row["rep"] == 0]
assert series == [0, 1, 2], series

folder = sweep.fetch("fetched")
seen = [json.loads(path.read_text()) for path in sorted(folder.glob("runs/*/*/seen.json"))]
assert len(seen) == 6 and [item[3:] for item in seen] == [[True, 0]] * 6, seen
assert sorted(repr(item[0]) for item in seen if item[1] == 0) == sorted(
    repr({"hidden": 16, **config}) for config in json.loads(json.dumps(configs))), seen

again = client.submit(param2val_list=configs + [{"lr": 9}], first_only=False, **{**keywords, "reps": 1})
assert again.submitted["reused"] == 3 and again.submitted["queued"] == 1, again.submitted
assert again.wait()["state"] == "done"
assert client.sweep().number == 2 and [sweep["sweep"] for sweep in client.sweeps()] == [2, 1]
failing = client.submit(command="cat train.py; false", src_ps=["train.py"], param2val_list=[{}], wait=True)
assert failing.log("3.1") == open("train.py").read()
assert failing.status()["state"] == "failed"

held = client.submit(command="sleep 60", src_ps=[], param2val_list=[{}])
try:
    held.wait(timeout=0.5)
    sys.exit("waited in vain")
except TimeoutError as error:
    assert str(error) == "sweep 4 is not over after 0.5 s", error
held.cancel()
assert held.wait()["state"] == "cancelled"
END
it 'a sweep is submitted, waited for and looked at from Python' '
    timeout 300 python3 desk.py
'

documented() {
    mkdir documented
    cd documented
    cp "$PYTHON/ludwig.py" .
    awk '/^```$/ { file = "" } file { print >file } /^```python$/ { getline; file = $2 }' "$TEST_ROOT/docs/python.md"
    timeout 300 python3 desk.py >out
    [ "$(wc -l <out)" = 4 ] && grep -qF "{'lr': 0.1, 'hidden': 16} 0.98" out
    [ "$(find results -name model.txt | wc -l)" = 8 ]
    python3 train.py && [ "$(cat results/model.txt)" = '16 weights' ]
    python3 -c '
import ludwig
sweep = ludwig.Client().submit(command="python3 batch.py", batch=2, param2val_list=[{"i": 3}, {"i": 4}], wait=True)
assert [row["metrics"]["square"]["mean"] for row in sweep.results()] == [9, 16]'
}
it 'the examples of its page do what is said there' documented

errors() {
    cat >wrong.py <<'END'
import ludwig
client = ludwig.Client("py")

def error(kind, **keywords):
    try:
        client.submit(**{"command": "x", "src_ps": [], "param2val_list": [{"a": 1}], **keywords})
    except ludwig.LudwigError as error:
        assert type(error) is kind, (kind, error)
        return str(error)
    raise SystemExit(f"not refused: {keywords}")

before = [sweep["sweep"] for sweep in client.sweeps()]
assert error(ludwig.UsageError, param2val_list=[]) == "param2val_list: there is no configuration in it"
text = error(ludwig.UsageError, param2val_list=[{"a": 1}, {"a": 2}, {"a": 1.0}])
assert text.startswith("param2val_list[2]: the same configuration as param2val_list[0] "), text
text = error(ludwig.UsageError, command="x {a} {b}")
assert text == "param2val_list[0]: command: needs b, which is not there", text
text = error(ludwig.UsageError, resources={"cpus": "many"})
assert text == "cpus: expected a number such as 0.5, found 'many'" and "\n" not in text, text
text = error(ludwig.UsageError, resources={"cpu": 1})
assert "unknown key 'cpu' (did you mean 'cpus'?)" in text, text
text = error(ludwig.UsageError, src_ps=["nowhere.py"])
assert text.startswith("source: there is no file or folder ") and text.endswith("/nowhere.py"), text
assert error(ludwig.UsageError, reps=0).startswith("reps: ")
assert [sweep["sweep"] for sweep in client.sweeps()] == before

client = ludwig.Client("py", server="unix:/nonexistent/server.sock")
text = error(ludwig.UnreachableError)
assert "/nonexistent/server.sock" in text and not text.startswith("ludwig"), text
END
    python3 wrong.py 2>&1
    [ -z "$(ls "$TMPDIR")" ]
}
it 'what is wrong is an exception, with the words of ludwig' errors

batched() {
    cat >batch.py <<'END'
import ludwig
for job in ludwig.chunk():
    if job.param2val["i"] == 5:
        job.failed("five")
        continue
    job.report(square=job.param2val["i"] ** 2)
    (job.save_path / "i.txt").write_text(str(job.param2val["i"]))
    job.done()
END
    cat >chunks.py <<'END'
import ludwig
sweep = ludwig.Client("chunks").submit(command="python3 batch.py", src_ps=["batch.py", "ludwig.py"], batch=4,
                                       param2val_list=({"i": i} for i in range(8)), wait=True)
squares = {row["params"]["i"]: row["metrics"].get("square", {}).get("mean") for row in sweep.results()}
assert squares == {i: None if i == 5 else i * i for i in range(8)}, squares
(failed,) = sweep.jobs("failed")
assert failed["reason"] == "five", failed
END
    timeout 300 python3 chunks.py 2>&1
}
it 'batches report each of their jobs' batched

# ---- a LudwigCluster project ----

cp -R "$TEST_ROOT/examples/ludwigcluster/FitLine" .
extra=()
if ! python3 -c 'import pandas' 2>/dev/null; then
    # What the example's job uses of it; -e makes it importable.
    mkdir pandas
    cat >pandas/__init__.py <<'END'
class Series:
    name = None
    def __init__(self, values, index):
        self.values, self.index = list(values), list(index)
    def to_csv(self, f, index, header):
        assert index is True
        f.write(",%s\n" % header[0])
        f.writelines("%s,%s\n" % pair for pair in zip(self.index, self.values))
END
    extra=(../pandas)
fi

cluster() {
    cd FitLine
    timeout 300 python3 -m ludwigcluster -r 2 -e data "${extra[@]}" --wait >../number 2>../err || { cat ../err && return 1; }
    cd ..
    number=$(cat number)
    ludwig jobs "$number" --json >jobs
    json jobs '[j["state"] for j in d["jobs"]] == ["done"] * 8'
    json jobs '[(j["params"]["learning_rate"], j["params"]["start"]) for j in d["jobs"]][::2] == [(0.05, [0.0, 0.0]), (0.2, [0.0, 0.0]), (0.05, [5.0, -5.0]), (0.2, [5.0, -5.0])]'
    ludwig results "$number" --json >results
    json results 'all(sorted(r["metrics"]) == ["error", "loss"] and r["n"] == 2 for r in d["results"])'
    json results 'all(r["metrics"]["loss"]["mean"] < 1 for r in d["results"])'
    for run in "$SHARE"/FitLine/runs/param_00[1-4]/*_num[01]; do
        [ "$(wc -l <"$run/loss.csv")" = 41 ]
        [ "$(head -n 1 "$run/error.csv")" = ,error ]
        grep -qE '^y = [0-9.]+ x \+ [0-9.]+$' "$run/saves/line.txt"
    done
    [ "$(ls "$SHARE/FitLine/runs" | wc -l)" = 4 ]
}
it 'a LudwigCluster project runs unchanged' cluster

again() {
    cd FitLine
    echo '# changed' >>fitline/job.py
    python3 -m ludwigcluster -r 2 -e data "${extra[@]}" >number 2>err
    grep -q '(8 reused, 0 queued)' err
    python3 -m ludwigcluster -r 2 -e data "${extra[@]}" -n --reuse all >configs 2>err
    [ "$(wc -l <configs)" = 4 ]
    timeout 300 python3 -m ludwigcluster --minimal -e data "${extra[@]}" --wait >number 2>err
    ludwig jobs last --json | json - '[(j["params"]["num_epochs"], j["params"]["learning_rate"]) for j in d["jobs"]] == [(2, 0.1)]'
}
it 'configurations that ran so often do not run again; --minimal takes param2debug' again

looked_at() {
    cat >look.py <<'END'
from pathlib import Path
import sys
sys.path.insert(0, "FitLine")
from fitline.params import param2default, param2requests
from ludwigcluster import gen_param_paths
found = list(gen_param_paths("FitLine", param2requests, param2default, ludwig_data_path=Path(sys.argv[1])))
assert [path.name for path, _ in found] == ["param_001", "param_002", "param_003", "param_004"], found
assert found[0][1] == "learning_rate=0.05\nstart=(0.0, 0.0)\nn=2", found
assert len(list(found[0][0].glob("*num*/loss.csv"))) == 2
END
    python3 look.py "$SHARE" 2>&1
}
it 'its results are found by gen_param_paths' looked_at

cluster_errors() {
    status=0
    (cd data && python3 -m ludwigcluster) 2>err || status=$?
    [ $status = 2 ] && grep -q '^ludwigcluster: there is no data/params.py here' err
    cd FitLine
    sed -i 's/"learning_rate": \[.*/"rate": [1],/' fitline/params.py
    status=0
    python3 -m ludwigcluster 2>../err || status=$?
    [ $status = 2 ] && grep -q "^ludwigcluster: param2requests\['rate'\] has no default" ../err
    status=0
    python3 -m ludwigcluster --minimal -e nothing 2>../err || status=$?
    [ $status = 2 ] && grep -qE '^ludwigcluster: data: there is no file or folder .*/FitLine/nothing$' ../err
    # What main() raises fails the job, and what it had saved is kept.
    cat >fitline/job.py <<'END'
from pathlib import Path
def main(param2val):
    (Path(param2val["save_path"]) / "half").write_text("done")
    raise RuntimeError("no line fits")
END
    status=0
    timeout 300 python3 -m ludwigcluster --minimal --wait --reuse none 2>../err || status=$?
    [ $status = 1 ]
    ludwig logs last.1 | grep -q '^RuntimeError: no line fits$'
    [ "$(cat "$SHARE"/FitLine/failed/param_*/*/saves/half)" = done ]
}
it 'what is wrong with a project is told' cluster_errors

done_testing
