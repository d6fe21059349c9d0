# SPDX-License-Identifier: MIT
"""ludwig from Python: submit sweeps, look at their results, and what a job wants to know.

This file is all there is to it (Python 3.9 or newer, no packages): import it from where ludwig
was installed, or copy it beside your program.  Where sweeps are submitted it stands on the
program `ludwig`; a job needs nothing but this file.

At your desk:

    import ludwig

    sweep = ludwig.Client("digits").submit(
        command="python3 train.py",
        src_ps=["train.py", "ludwig.py"],
        data_ps=["digits.csv"],
        param2val_list=[{"lr": lr, "hidden": 16} for lr in (0.1, 0.01)],
        reps=2)
    sweep.wait()
    for result in sweep.results():
        print(result["params"]["lr"], result["metrics"]["accuracy"]["mean"])

In train.py:

    import ludwig

    param2val = ludwig.param2val({"lr": 0.1, "hidden": 16})   # these when it is run by hand
    ludwig.report(accuracy=0.93, step=4)
    (ludwig.save_path("results") / "model.txt").write_text("...")
"""
from __future__ import annotations

import dataclasses
import json
import operator
import os
import re
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import (Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple,
                    Type, Union, cast)

__all__ = [
    "Client", "Sweep", "LudwigError", "UsageError", "UnreachableError", "DeniedError",
    "in_job", "param2val", "save_path", "data_path", "checkpoint", "restart", "rep", "seed",
    "job", "job_name", "param_name", "project_path", "report", "chunk", "Job",
    "advise", "Search", "Trial",
]

PathLike = Union[str, "os.PathLike[str]"]
JSON = Dict[str, Any]


# ---- errors ----

class LudwigError(Exception):
    """What went wrong, in ludwig's own words: a line, or one for each mistake."""

    exit_code = 1


class UsageError(LudwigError):
    """What was asked for is wrong: nothing was changed."""

    exit_code = 2


class UnreachableError(LudwigError):
    """The server is out of reach."""

    exit_code = 3


class DeniedError(LudwigError):
    """Not permitted."""

    exit_code = 4


_ERRORS: Dict[int, Type[LudwigError]] = {
    kind.exit_code: kind for kind in (UsageError, UnreachableError, DeniedError)}


# ---- values as text ----

def _plain(value: Any) -> Any:
    """What JSON has no type for, as the nearest that it has."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):  # numpy's and torch's
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"a {type(value).__name__} cannot be a value: "
                    "numbers, text, True, False, None, lists and dicts can")


def _check_names(value: Any, where: str) -> None:
    """json.dumps would make text of names that are none."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            if not isinstance(name, str):
                raise UsageError(f"{where}: {name!r} is no name: names are text")
            _check_names(item, where)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _check_names(item, where)


def _text(value: Any, where: str) -> str:
    """One line of JSON, which is YAML as well."""
    if isinstance(value, Mapping) and not isinstance(value, dict):
        value = dict(value)
    _check_names(value, where)
    try:
        text = json.dumps(value, default=_plain, ensure_ascii=False)
        text.encode("utf-8")
    except (TypeError, ValueError) as error:
        raise UsageError(f"{where}: {error}") from None
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]",
                  lambda found: f"\\u{ord(found.group()):04x}", text)


# ---- at the desk ----

class Client:
    """Submits sweeps of one project.

    project   the folder on the shared drive; None: the name of the folder
    server    its address; None: as the program finds it ($LUDWIG_SERVER, config.yaml, one's own)
    ludwig    the program
    folder    where paths begin; None: the current one
    quiet     what the program says beside its results is not shown on stderr
    """

    def __init__(self, project: Optional[str] = None, *, server: Optional[str] = None,
                 ludwig: PathLike = "ludwig", folder: Optional[PathLike] = None,
                 quiet: bool = False) -> None:
        self.project = project
        self.server = server
        self.ludwig = os.fspath(ludwig)
        self.folder = Path(os.path.abspath(folder or "."))
        self.quiet = quiet
        if not self.folder.is_dir():
            raise UsageError(f"there is no folder {self.folder}")

    def submit(self, *, command: str, param2val_list: Iterable[Mapping[str, Any]],
               src_ps: Optional[Iterable[PathLike]] = None,
               data_ps: Iterable[Union[PathLike, Mapping[str, str]]] = (),
               reps: int = 1, name: Optional[str] = None,
               resources: Optional[Mapping[str, Any]] = None,
               nodes: Optional[Sequence[str]] = None, priority: Optional[int] = None,
               reuse: Union[str, Mapping[str, Any], None] = None,
               env: Optional[Mapping[str, Any]] = None,
               environment: Union[str, Mapping[str, Any], None] = None,
               modules: Optional[Sequence[str]] = None,
               log: Optional[Mapping[str, Any]] = None,
               setup: Union[str, Sequence[str], None] = None, container: Optional[str] = None,
               batch: Optional[int] = None, retry: Optional[Mapping[str, Any]] = None,
               order: Optional[str] = None,
               guard: Union[str, Mapping[str, Any], None] = None,
               stop: Union[str, Mapping[str, Any], None] = None,
               checkpoint: Optional[Mapping[str, Any]] = None,
               results: Optional[Mapping[str, Any]] = None,
               slurm: Union[Mapping[str, Any], Sequence[Mapping[str, Any]], None] = None,
               private: Optional[bool] = None, first_only: bool = False, local: bool = False,
               wait: bool = False) -> Sweep:
        """Submits a job for each configuration and replication, and returns the sweep.

        command         run by /bin/sh; {lr} becomes the value of lr
        param2val_list  the configurations, each once: a list of dicts, or what yields them
        src_ps          the program: paths below the folder; None: everything in it
        data_ps         what jobs find by data_path(name): paths, or {"share": PATH}
        reps            replications of each; those that are done already count
        name            what listings call the sweep
        resources       of a job: {"cpus": 1, "gpus": 0.5, "memory": "2GiB", "time": "2h"}
        nodes           names of nodes and "@group"s that may run it
        priority        larger goes first
        reuse           which jobs that are done need not run: "all", where nothing has changed
                        (this one, if None), "params", where the configuration has not, "none";
                        or what does not count as a change: {"ignore": ["README.md"]}
        environment     "none", the folder of a venv or of conda's, {"stage": ".venv"} to bring it to
                        nodes, or {"requirements": "requirements.txt"} to build it there;
                        None: the environment of this interpreter, if it has one
        modules         what `module load` loads before setup
        log             {"max": "100MiB"}: how much is kept of what a job prints
        env, setup, container, batch, retry, order, guard, stop, checkpoint, results, slurm,
        private         as in a sweep file: man ludwig-sweep
        first_only      the first configuration alone
        local           a worker may be started here, even on a login node
        wait            return when all jobs are over

        UsageError: something is wrong, and nothing was submitted.
        """
        answer = self._submit(
            [], command=command, param2val_list=param2val_list, src_ps=src_ps, data_ps=data_ps,
            reps=reps, name=name, resources=resources, nodes=nodes, priority=priority,
            reuse=reuse, env=env, environment=environment, modules=modules, log=log, setup=setup, container=container, batch=batch, retry=retry, order=order, guard=guard, stop=stop,
            checkpoint=checkpoint, results=results, slurm=slurm, private=private,
            first_only=first_only, local=local)
        sweep = Sweep(self, answer["sweep"], answer)
        if wait:
            sweep.wait()
        return sweep

    def dry_run(self, **keywords: Any) -> JSON:
        """What submit would do, told the same: see "dry run" in docs/json.md."""
        return self._submit(["--dry-run"], **keywords)

    def sweep(self, number: Union[int, str] = "last") -> Sweep:
        """A sweep that was submitted before."""
        return Sweep(self, self.ask("status", str(number))["sweep"])

    def sweeps(self) -> List[JSON]:
        """All sweeps, newest first, as `ludwig status --json` lists them."""
        return cast(List[JSON], self.ask("status")["sweeps"])

    # -- the program --

    def run(self, *words: str, stdin: str = "") -> str:
        """Runs `ludwig WORD...`, any command, and returns what it printed."""
        done = self._call(words, stdin=stdin)
        if done.returncode != 0:
            raise _error(done)
        self._show(done)
        return done.stdout

    def ask(self, *words: str, stdin: str = "") -> JSON:
        """The same with --json, which it reads."""
        answer = cast(JSON, json.loads(self.run(*words, "--json", stdin=stdin)))
        answer.pop("v", None)
        return answer

    def _call(self, words: Sequence[str], stdin: str = "", timeout: Optional[float] = None,
              keep: bool = True) -> subprocess.CompletedProcess[str]:
        server = [] if self.server is None else ["--server", self.server]
        try:
            return subprocess.run(
                [self.ludwig, *words, *server], input=stdin, cwd=self.folder, timeout=timeout,
                stdout=subprocess.PIPE if keep else subprocess.DEVNULL, stderr=subprocess.PIPE,
                env=_variables(), encoding="utf-8", errors="backslashreplace", check=False)
        except OSError as error:
            raise LudwigError(f"cannot run {self.ludwig}: {error.strerror}; "
                              "Client(ludwig=PATH) says where it is") from None

    def _show(self, done: subprocess.CompletedProcess[str]) -> None:
        if not self.quiet:
            sys.stderr.write(done.stderr)

    # -- submitting --

    def _submit(self, options: Sequence[str], *, param2val_list: Iterable[Mapping[str, Any]],
                reuse: Union[str, Mapping[str, Any], None] = None, first_only: bool = False,
                local: bool = False, **keys: Any) -> JSON:
        if isinstance(reuse, Mapping):
            keys["reuse"] = reuse
        words = [*options, *(["--reuse", reuse] if isinstance(reuse, str) else []),
                 *(["--first-only"] if first_only else []), *(["--local"] if local else [])]
        text = self._sweep_file(keys)
        with tempfile.TemporaryDirectory(prefix="ludwig-") as folder:
            path = os.path.join(folder, "param2val_list")
            _write_list(path, param2val_list)
            try:
                return self.ask("submit", "-", "--param2vals", path, *words, stdin=text)
            except LudwigError as error:
                raise type(error)(_without_places(str(error), path)) from None

    def _sweep_file(self, keys: JSON) -> str:
        """A line for each key that was said, its value as JSON."""
        unknown = [key for key in keys if key not in _SWEEP_KEYS]
        if unknown:
            raise TypeError(f"submit has no keyword {unknown[0]!r}")
        said: JSON = {"project": self.project, **keys}
        if said.pop("src_ps", None) is not None:
            said["source"] = [self._source(path) for path in keys["src_ps"]]
        said["data"] = [self._data(path) for path in said.pop("data_ps", ())] or None
        return "".join(f"{key}: {_text(value, key)}\n"
                       for key, value in said.items() if value is not None)

    def _source(self, path: PathLike) -> str:
        """Below the folder, however links lead to either."""
        whole, folder = self.folder / Path(path).expanduser(), os.path.realpath(self.folder)
        if os.path.realpath(whole) == folder:
            return "."
        relative = os.path.relpath(os.path.join(os.path.realpath(whole.parent), whole.name), folder)
        if relative.split(os.sep, 1)[0] == os.pardir:
            raise UsageError(f"src_ps: {os.fspath(path)} does not lie below {self.folder}; "
                             "Client(folder=...) says where paths begin")
        return Path(relative).as_posix()

    def _data(self, path: Union[PathLike, Mapping[str, str]]) -> Union[str, Mapping[str, str]]:
        if isinstance(path, Mapping):
            return path
        return os.path.normpath(self.folder / Path(path).expanduser())


# What a sweep file says, beside what the configurations are.
_SWEEP_KEYS = ("command", "src_ps", "data_ps", "reps", "name", "resources", "nodes", "priority",
               "max_running", "env", "setup", "container", "batch", "retry", "order", "guard", "stop", "notify",
               "checkpoint", "results", "slurm", "private", "log", "environment", "modules", "reuse")


def _error(done: subprocess.CompletedProcess[str]) -> LudwigError:
    text = _error_text(done.stderr) or done.stderr.strip()
    return _ERRORS.get(done.returncode, LudwigError)(
        text or f"ludwig ended with {done.returncode}")


def _error_text(stderr: str) -> str:
    """The lines of an error, without those around them and the program's name."""
    lines = stderr.splitlines()
    begin = next((i for i, line in enumerate(lines) if line.startswith("ludwig: ")), len(lines))
    return "\n".join(line[len("ludwig: "):] if line.startswith("ludwig: ") else line
                     for line in lines[begin:])


def _without_places(text: str, path: str) -> str:
    """Of files that nobody wrote, lines and columns help nobody."""
    text = re.sub(r"(?m)^ *\d* \| .*\n?", "", text).rstrip("\n")
    text = re.sub(r"(?m)^<stdin>:\d+:\d+: ", "", text)
    text = re.sub(re.escape(path) + r":(\d+):\d+",
                  lambda found: f"param2val_list[{int(found[1]) - 1}]", text)
    text = re.sub(r"the same configuration as in line (\d+)",
                  lambda found: "the same configuration as "
                                f"param2val_list[{int(found[1]) - 1}]", text)
    return text.replace(path, "param2val_list")


def _write_list(path: str, param2val_list: Iterable[Mapping[str, Any]]) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as f:
        for i, config in enumerate(param2val_list):
            where = f"param2val_list[{i}]"
            if not isinstance(config, Mapping):
                raise UsageError(f"{where}: expected a dict, found a {type(config).__name__}")
            f.write(_text(config, where) + "\n")


class Sweep:
    """A sweep that was submitted.

    number     by which the program knows it
    submitted  what `ludwig submit --json` said of it; None when it was looked up
    """

    def __init__(self, client: Client, number: int, submitted: Optional[JSON] = None) -> None:
        self.client = client
        self.number = number
        self.submitted = submitted

    def __repr__(self) -> str:
        return f"<ludwig sweep {self.number}>"

    def status(self) -> JSON:
        """How far it is: {"state": "running", "jobs": {"queued": 3, ...}, ...}."""
        return self.client.ask("status", str(self.number))

    def wait(self, timeout: Optional[float] = None) -> JSON:
        """Waits until all its jobs are over, or held, and returns its status.

        TimeoutError after so many seconds; the jobs go on.
        """
        try:
            done = self.client._call(["watch", str(self.number)], timeout=timeout, keep=False)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"sweep {self.number} is not over after {timeout} s") from None
        if done.returncode not in (0, 1) or _error_text(done.stderr):  # 1: a job has failed
            raise _error(done)
        return self.status()

    def jobs(self, state: Optional[str] = None) -> List[JSON]:
        """Its jobs, as `ludwig jobs --json` lists them; state: "failed", "done,cancelled"..."""
        which = [] if state is None else ["--state", state]
        return cast(List[JSON], self.client.ask("jobs", str(self.number), *which)["jobs"])

    def results(self, dataframe: bool = False) -> Any:
        """A dict for each configuration: params, n, metrics and more (docs/json.md).

        dataframe: a pandas.DataFrame, whose columns are named as those of
        `ludwig results --csv`: accuracy_mean, accuracy_std...
        """
        results = self.client.ask("results", str(self.number))["results"]
        return _dataframe([_flat(result) for result in results]) if dataframe else results

    def series(self, metric: str, dataframe: bool = False) -> Any:
        """A dict for each value of the measure that a job reported: job, params, step, value."""
        rows = self.client.ask("results", str(self.number), "--series", metric)["series"]
        return _dataframe([_flat(row) for row in rows]) if dataframe else rows

    def fetch(self, folder: Optional[PathLike] = None, *, logs: bool = False,
              failed: bool = False) -> Path:
        """Copies what its jobs saved, below PROJECT-NUMBER unless said; returns the folder."""
        if folder is None:
            folder = f"{self.status()['project']}-{self.number}"
        to = Path(os.path.abspath(folder))
        words = ["fetch", str(self.number), os.fspath(to), *(["--logs"] if logs else []),
                 *(["--failed"] if failed else [])]
        done = self.client._call(words)
        if done.returncode not in (0, 1) or _error_text(done.stderr):  # 1: some are missing
            raise _error(done)
        self.client._show(done)
        return to

    def log(self, job: str) -> str:
        """What a job printed: log("7.13")."""
        return self.client.run("logs", job)

    def cancel(self) -> None:
        """Ends its jobs."""
        self.client.run("cancel", str(self.number))


def _flat(row: JSON) -> JSON:
    """Maps in it as columns."""
    flat = {name: value for name, value in row.items() if name not in ("params", "metrics")}
    for name, value in (row.get("params") or {}).items():
        flat[f"params.{name}" if name in row else name] = value
    for name, measure in (row.get("metrics") or {}).items():
        for what, value in measure.items():
            flat[f"{name}_{what}"] = value
    return flat


def _dataframe(rows: List[JSON]) -> Any:
    try:
        import pandas  # type: ignore[import]
    except ImportError:
        raise LudwigError("a DataFrame needs pandas, which is not installed here") from None
    return pandas.DataFrame(rows)


def _variables() -> Optional[dict[str, str]]:
    """What `ludwig` gets: jobs shall run in the environment of this interpreter, active or not."""
    if os.path.isdir(os.path.join(sys.prefix, "conda-meta")):
        name = "CONDA_PREFIX"
    elif sys.prefix != sys.base_prefix:
        name = "VIRTUAL_ENV"
    else:
        return None
    programs = os.path.join(sys.prefix, "bin")
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    if os.environ.get(name) == sys.prefix and programs in path:
        return None
    return {**os.environ, name: sys.prefix, "PATH": os.pathsep.join([programs, *path])}


# ---- in a job ----
#
# Run by hand, where ludwig has set nothing, these give the default if there is one.

def _variable(name: str) -> Optional[str]:
    return os.environ.get(name) or None


def _needed(name: str, function: str) -> str:
    value = _variable(name)
    if value is not None:
        return value
    if _variable("LUDWIG_CHUNK") is not None:
        raise LudwigError(f"{function}() is of one job, and this process works through several: "
                          "see chunk()")
    raise LudwigError(f"{function}() works in a job only (${name} is not set); "
                      "a default makes it work by hand, too")


def _path(name: str, function: str, default: Optional[PathLike]) -> Path:
    if default is None or in_job():
        return Path(_needed(name, function))
    return Path(default)


def in_job() -> bool:
    """Whether this runs in a job of ludwig's."""
    return _variable("LUDWIG_ATTEMPT") is not None


def param2val(default: Optional[Mapping[str, Any]] = None) -> Dict[str, Any]:
    """The job's configuration; what it does not say is taken from default."""
    values = dict(default or {})
    if default is None or in_job():
        with open(_needed("LUDWIG_PARAM2VAL", "param2val"), encoding="utf-8") as f:
            values.update(json.load(f))
    return values


def save_path(default: Optional[PathLike] = None) -> Path:
    """The folder whose content is kept when the job has ended."""
    path = _path("LUDWIG_SAVE_PATH", "save_path", default)
    path.mkdir(parents=True, exist_ok=True)
    return path


def checkpoint(default: Optional[PathLike] = None) -> Path:
    """The folder that follows the job to its next attempt: see restart().

    Write to a temporary name and rename, so that what is copied meanwhile is whole.
    """
    path = _path("LUDWIG_CHECKPOINT", "checkpoint", default)
    path.mkdir(parents=True, exist_ok=True)
    return path


def data_path(name: str = "", default: Optional[PathLike] = None) -> Path:
    """One of data_ps, by its last name, read-only.  default: what it is by hand."""
    if default is None or in_job():
        return Path(_needed("LUDWIG_DATA", "data_path")) / name
    return Path(default)


def project_path(default: Optional[PathLike] = None) -> Path:
    """The project on the shared drive, where the node mounts that."""
    return _path("LUDWIG_PROJECT_PATH", "project_path", default)


def restart() -> int:
    """0 on the first attempt, then 1, 2, ..."""
    return int(_needed("LUDWIG_RESTART", "restart")) if in_job() else 0


def rep() -> int:
    """The replication, from 0."""
    return int(_needed("LUDWIG_REP", "rep")) if in_job() else 0


def seed(default: int = 0) -> int:
    """A number of its own for each configuration and replication, the same in all attempts."""
    return int(_needed("LUDWIG_SEED", "seed")) if in_job() else default


def job() -> str:
    """"7.13": job 13 of sweep 7."""
    return _needed("LUDWIG_JOB", "job")


def job_name() -> str:
    """The name of the job's folder below its configuration's."""
    return _needed("LUDWIG_JOB_NAME", "job_name")


def param_name() -> str:
    """The configuration: "param_003"."""
    return _needed("LUDWIG_PARAM_NAME", "param_name")


def report(measures: Optional[Mapping[str, Any]] = None, *, step: Optional[int] = None,
           **more: Any) -> None:
    """Records measures of the job: report(accuracy=0.93, step=4).

    The last value of each is its result.  By hand nothing is recorded.
    """
    line = _measures({**(measures or {}), **more}, step)
    if _variable("LUDWIG_METRICS") is None:
        return
    if _variable("LUDWIG_CHUNK") is not None:
        raise LudwigError("this process works through several jobs: report by those of chunk()")
    _append(line)


def _measures(measures: Mapping[str, Any], step: Optional[int]) -> JSON:
    line: JSON = {}
    for name, value in measures.items():
        if not isinstance(name, str) or name in ("", "step", "job", "done", "failed"):
            raise UsageError(f"{name!r} cannot be the name of a measure")
        line[name] = _number(name, value)
    if step is not None:
        line["step"] = int(operator.index(step))
        if line["step"] < 0:
            raise UsageError(f"step={step}: expected a whole number from 0")
    return line


def _number(name: str, value: Any) -> Union[int, float]:
    """Numpy's and torch's numbers, too."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        try:
            number: Union[int, float] = int(operator.index(value))
        except TypeError:
            return float(value)
    except (TypeError, ValueError):
        raise UsageError(f"{name}={value!r}: expected a number") from None
    return number if -2**63 <= number < 2**63 else float(number)


def _append(*lines: JSON) -> None:
    """In one write, so that lines of several processes do not mix."""
    text = "".join(json.dumps(line) + "\n" for line in lines).encode()
    path = _needed("LUDWIG_METRICS", "report")
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        if os.write(fd, text) < len(text):
            raise LudwigError("a report could be written in part only")
    finally:
        os.close(fd)


# ---- in a process that works through several jobs (batch) ----

def _log() -> JSON:
    """How long the log is: what is printed from now on is the next job's."""
    for fd in 1, 2:
        try:
            status = os.fstat(fd)
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            return {"log": [status.st_ino, status.st_size]}
    return {}


@dataclasses.dataclass(frozen=True)
class Job:
    """One of a batch."""

    job: str
    param2val: Dict[str, Any]
    param_name: str
    job_name: str
    rep: int
    seed: int
    restart: int
    save_path: Path
    checkpoint: Path

    def report(self, measures: Optional[Mapping[str, Any]] = None, *,
               step: Optional[int] = None, **more: Any) -> None:
        """Records measures of this job."""
        _append({"job": self.job, **_measures({**(measures or {}), **more}, step)})

    def done(self) -> None:
        """It is done: what it saved is published, and nothing more may be written there."""
        _append({"job": self.job, "done": True, **_log()})

    def failed(self, reason: object) -> None:
        """It has failed; the others go on."""
        _append({"job": self.job, "failed": str(reason), **_log()})


def chunk() -> List[Job]:
    """The jobs of a process with batch=N, each to be reported done() or failed()."""
    folder = Path(_needed("LUDWIG_CHUNK", "chunk")).parent
    with open(folder / "chunk.json", encoding="utf-8") as f:
        items: List[JSON] = json.load(f)
    return [_job(item) for item in items]


def _job(item: JSON) -> Job:
    same: Tuple[str, ...] = ("job", "param_name", "job_name", "rep", "seed", "restart")
    return Job(param2val=item["params"], save_path=Path(item["save_path"]),
               checkpoint=Path(item["checkpoint"]), **{name: item[name] for name in same})


# ---- an advisor: a program that chooses the configurations of a sweep ----

@dataclasses.dataclass
class Trial:
    """A configuration that was given, and what is known of it."""

    id: int
    params: Dict[str, Any]
    by: str = "advisor"  # or "late", "fallback": drawn at random
    start: Optional[int] = None  # the trial whose checkpoint it goes on from
    values: Dict[int, float] = dataclasses.field(default_factory=dict)  # by replication
    failed: Dict[int, str] = dataclasses.field(default_factory=dict)
    seconds: float = 0.0
    step: Optional[int] = None  # of the last value
    stopped: bool = False  # early, so its value is not that of a whole training
    resumed: int = 0  # how many of its jobs went on after they were stopped
    checkpoints: Dict[int, bool] = dataclasses.field(default_factory=dict)
    """By replication that was stopped: whether it left a checkpoint from which it can go on."""
    steps: Dict[int, Dict[int, float]] = dataclasses.field(default_factory=dict)
    """Values while it ran, by replication and step; for an advisor with `stepped` alone."""

    @property
    def value(self) -> Optional[float]:
        """The mean over the replications that are done; None: none is."""
        return sum(self.values.values()) / len(self.values) if self.values else None

    @property
    def can_resume(self) -> bool:
        """Whether all its jobs that were stopped can go on from their checkpoints."""
        return bool(self.checkpoints) and all(self.checkpoints.values())

    def is_over(self, reps: int) -> bool:
        """Whether all its replications have ended."""
        return len(set(self.values) | set(self.failed)) >= reps


@dataclasses.dataclass
class Search:
    """What an advisor was told so far."""

    params: Dict[str, JSON]  # by name: {"kind": "float", "low": ..., "high": ..., "log": ...}, ...
    fixed: Dict[str, Any]
    metric: str
    goal: str  # "min" or "max"
    reps: int
    seed: int
    budget: JSON
    trials: Dict[int, Trial] = dataclasses.field(default_factory=dict)

    def is_there(self, name: str, params: Mapping[str, Any]) -> bool:
        """Whether the parameter exists in a configuration with these others."""
        return all(other in params and params[other] in values and self.is_there(other, params)
                   for other, values in self.params[name].get("when", {}).items())


Point = Union[Dict[str, Any], Tuple[Dict[str, Any], Optional[int]], int]
Suggest = Callable[[Search, int, int], Optional[Sequence[Point]]]


def _point(point: Union[Dict[str, Any], Tuple[Dict[str, Any], Optional[int]]]) -> JSON:
    params, start = point if isinstance(point, tuple) else (point, None)
    return {"params": params} if start is None else {"params": params, "from": start}


def advise(suggest: Suggest, name: str = "", deterministic: bool = True,
           given: Optional[Callable[[Search, Trial], None]] = None,
           told: Optional[Callable[[Search, Trial], None]] = None,
           stepped: Optional[Callable[[Search, Trial, int], Optional[str]]] = None,
           resumes: bool = False) -> None:
    """Serves as the advisor of a sweep until that ends (docs/advisor.md).

    suggest(search, n, seed) returns at most n configurations; [] when there are no more, and None
    to be asked again when more is known.  A pair of a configuration and the number of a trial goes
    on from that trial's checkpoint.  given and told, where they are wanted, are called when a
    configuration was given (also one that stands in, at random), and when one is over.
    stepped(search, trial, rep) is called when a job has reported a value while it runs; if it
    returns a text, the configuration's jobs are stopped, for that reason.  With resumes, suggest
    may also return numbers of stopped trials, whose jobs go on from their checkpoints (of those that
    can_resume; others are left out), and is asked with n = 0 when the budget's configurations are
    given.
    """
    lines, sys.stdout = sys.stdout, sys.stderr  # what anybody prints goes to the log

    def say(**line: Any) -> None:
        lines.write(json.dumps(line) + "\n")
        lines.flush()

    search: Optional[Search] = None
    stopping: Set[int] = set()
    for text in iter(sys.stdin.readline, ""):
        line: JSON = json.loads(text)
        kind = line["type"]
        if kind == "space":
            search = Search(**{field: line[field] for field in (
                "params", "fixed", "metric", "goal", "reps", "seed", "budget")})
            hello: JSON = {"name": name or getattr(suggest, "__name__", "advisor"),
                           "deterministic": deterministic}
            wants = ["steps"] * (stepped is not None) + ["resume"] * resumes
            if wants:
                hello["wants"] = wants
            say(type="hello", **hello)
        elif search is None or kind == "end":
            break
        elif kind == "given":
            for point in line["points"]:
                trial = Trial(point["id"], point["params"], line["by"], point.get("from"))
                search.trials[trial.id] = trial
                if given is not None:
                    given(search, trial)
        elif kind == "resumed" and line["id"] in search.trials:
            trial = search.trials[line["id"]]
            trial.resumed += 1
            for ended in (trial.values, trial.failed, trial.checkpoints):
                ended.pop(line["rep"], None)
            trial.stopped = bool(trial.checkpoints)
            stopping.discard(trial.id)
        elif kind == "step" and line["id"] in search.trials:
            trial = search.trials[line["id"]]
            trial.steps.setdefault(line["rep"], {})[line["step"]] = line["value"]
            why = stepped(search, trial, line["rep"]) if stepped is not None else None
            if why is not None and trial.id not in stopping:
                stopping.add(trial.id)
                say(type="stop", re=line["seq"], ids=[trial.id], why=why)
        elif kind == "tell" and line["id"] in search.trials:
            trial = search.trials[line["id"]]
            was_over = trial.is_over(search.reps)
            trial.seconds += line.get("seconds", 0.0)
            trial.step = line.get("step", trial.step)
            trial.checkpoints.pop(line["rep"], None)
            if line.get("stopped", False):
                trial.checkpoints[line["rep"]] = line.get("checkpoint", False)
            trial.stopped = bool(trial.checkpoints)
            if "value" in line:
                trial.values[line["rep"]] = line["value"]
                trial.failed.pop(line["rep"], None)
            else:
                trial.failed[line["rep"]] = line["failed"]
            if told is not None and trial.is_over(search.reps) and not was_over:
                told(search, trial)
        elif kind == "ask":
            points = suggest(search, line["n"], line["seed"])
            numbers = [point for point in points or [] if isinstance(point, int)]
            again = [number for number in numbers if search.trials[number].can_resume]
            if again:
                say(type="resume", re=line["seq"], ids=again)
            answer: JSON = {"points": [_point(point) for point in points or []
                                       if not isinstance(point, int)]}
            runs = any(not trial.is_over(search.reps) for trial in search.trials.values())
            if points is None or (not answer["points"] and (again or (numbers and runs))):
                answer["wait"] = True
            elif not answer["points"]:
                answer["done"] = True
            say(type="give", re=line["seq"], **answer)
