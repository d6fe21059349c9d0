# SPDX-License-Identifier: MIT
"""Runs a LudwigCluster project, as it is, with ludwig.

Such a project is a folder, MyProject, with a folder of its code, myproject, in which

    params.py   has param2requests, param2default and, if wanted, param2debug
    job.py      has main(param2val), which returns a list of named pandas Series

In MyProject, what was `ludwig -r 6` is now

    python3 -m ludwigcluster -r 6

with this file and ludwig.py in PYTHONPATH (or: python3 /path/to/ludwigcluster.py -r 6).  Nothing
need be installed on the machines that run the jobs: this file goes along, and calls main() there.

What jobs get and leave is as it was: param2val has job_name, param_name, project_path and
save_path; tuples are tuples; what main() returns becomes runs/param_001/JOB/NAME.csv, and what it
writes into save_path is in runs/param_001/JOB/saves.  What was given with -e lies in project_path.
Scripts that look at results take gen_param_paths and gen_all_param2vals from here.
"""
from __future__ import annotations

import argparse
import copy
import importlib
import itertools
import json
import os
import sys
import tempfile
import types
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

# ludwig.py is imported where it is needed: jobs have this file alone.

__all__ = ["gen_all_param2vals", "gen_param_paths", "main"]

Param2Val = Dict[str, Any]

ADDED_NAMES = ("job_name", "param_name", "project_path", "save_path")
SAVES = "saves"
PARAMS_DICTS = ("param2requests", "param2default", "param2debug")


class ProjectError(ValueError):
    """What the project says cannot be run."""


def say(text: str) -> None:
    print(f"ludwigcluster: {text}", file=sys.stderr, flush=True)


# ---- configurations ----

def gen_all_param2vals(param2requests: Mapping[str, List[Any]],
                       param2default: Mapping[str, Any]) -> Iterator[Param2Val]:
    """Each combination of what is requested, with the defaults for the rest.

    The first parameter turns fastest.
    """
    for name, values in param2requests.items():
        if not isinstance(values, list):
            raise ProjectError(f"param2requests[{name!r}] must be a list")
        if not values:
            raise ProjectError(f"param2requests[{name!r}] is an empty list")
        if name not in param2default:
            raise ProjectError(f"param2requests[{name!r}] has no default in param2default")
    names = list(param2default)
    wheels = [param2requests.get(name, [param2default[name]]) for name in names]
    for values in itertools.product(*reversed(wheels)):
        yield dict(zip(names, reversed(values)))


# ---- values that JSON does not know ----

def _plain(value: Any) -> Any:
    """As a job's configuration has it: tuples are lists, and numpy's numbers are numbers."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return value


def _candidates(params: types.ModuleType, name: str) -> Iterator[Any]:
    """All values that the project's params.py has for a parameter."""
    yield from getattr(params, "param2requests", {}).get(name, [])
    for dictionary in PARAMS_DICTS[1:]:
        if name in getattr(params, dictionary, {}):
            yield getattr(params, dictionary)[name]


def _tuples(value: Any) -> Any:
    """Collections in params.py are tuples."""
    if isinstance(value, list):
        return tuple(_tuples(item) for item in value)
    if isinstance(value, dict):
        return {name: _tuples(item) for name, item in value.items()}
    return value


def restore(param2val: Mapping[str, Any], params: types.ModuleType) -> Param2Val:
    """The values with the types that they have in params.py."""
    restored = {}
    for name, value in param2val.items():
        plain = [(candidate, _plain(candidate)) for candidate in _candidates(params, name)]
        # Of 1, 1.0 and True the one that was meant.
        same = [candidate for candidate, is_now in plain if repr(is_now) == repr(value)]
        equal = [candidate for candidate, is_now in plain if is_now == value]
        restored[name] = copy.deepcopy((same or equal or [_tuples(value)])[0])
    return restored


# ---- in a job ----

def _module(src: str, name: str) -> types.ModuleType:
    return importlib.import_module(f"{src.replace('/', '.')}.{name}")


def _carried(data: Path) -> List[Path]:
    """What -e sent along."""
    return [path for path in sorted(data.iterdir()) if path.name != Path(__file__).name]


def _project_path(data: Path) -> str:
    """The project on the shared drive; with -e a folder that has its entries and what was sent."""
    shared = Path(os.environ["LUDWIG_PROJECT_PATH"])
    carried = _carried(data)
    if not carried:
        return str(shared)
    together = Path(tempfile.mkdtemp()) / os.environ["LUDWIG_PROJECT"]
    together.mkdir()
    try:
        there = list(shared.iterdir())
    except OSError:  # this node does not mount it, or the job may not look into it
        there = []
    for path in carried + there:
        if not (together / path.name).is_symlink():
            (together / path.name).symlink_to(path)
    return str(together)


def _save_series(folder: Path, returned: Any) -> None:
    """NAME.csv for each: its index, then its values."""
    if not returned:
        say("WARNING: main() did not return any results")
        return
    for series in returned:
        name = getattr(series, "name", None)
        if name is None or hasattr(name, "to_csv") or not hasattr(series, "to_csv"):
            say(f"WARNING: what main() returns must be pandas Series with names; "
                f"a {type(series).__name__} is left out")
            continue
        path = folder / f"{name}.csv"
        if path.exists():
            say(f"WARNING: there are several series named {name}, and the last one is kept")
        with path.open("w", encoding="utf-8", newline="") as f:
            series.to_csv(f, index=True, header=[name])


def run_job(src: str) -> None:
    """Calls main() of the project's job.py with what it expects, in a job of ludwig's."""
    folder = Path(os.environ["LUDWIG_SAVE_PATH"])
    saves = folder / SAVES
    saves.mkdir(exist_ok=True)
    project_path = _project_path(Path(os.environ["LUDWIG_DATA"]))
    sys.path[1:1] = [os.getcwd(), project_path]
    with open(os.environ["LUDWIG_PARAM2VAL"], encoding="utf-8") as f:
        param2val = restore(json.load(f), _module(src, "params"))
    param2val.update(param_name=os.environ["LUDWIG_PARAM_NAME"],
                     job_name=os.environ["LUDWIG_JOB_NAME"],
                     project_path=project_path, save_path=str(saves))
    _save_series(folder, _module(src, "job").main(param2val))
    if not any(saves.iterdir()):
        saves.rmdir()


# ---- submitting ----

def _check_unique(params: types.ModuleType) -> None:
    for name, values in params.param2requests.items():
        plain = [_plain(value) for value in values]
        for i, value in enumerate(plain):
            if value in plain[:i]:
                raise ProjectError(f"param2requests[{name!r}] has {values[i]!r} twice")


def _configurations(params: types.ModuleType, minimal: bool) -> Iterator[Param2Val]:
    if minimal:
        return iter([{**params.param2default, **getattr(params, "param2debug", {})}])
    _check_unique(params)
    return gen_all_param2vals(params.param2requests, params.param2default)


def _resources(text: str) -> Dict[str, Any]:
    """cpus=4,gpus=1,memory=8GiB"""
    resources: Dict[str, Any] = {}
    for word in filter(None, text.split(",")):
        name, equals, value = word.partition("=")
        if not equals:
            raise argparse.ArgumentTypeError(f"expected NAME=VALUE, not {word!r}")
        try:
            resources[name] = json.loads(value)
        except ValueError:
            resources[name] = value
    return resources


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ludwigcluster", description="Submits the jobs of a LudwigCluster project, in whose "
        "folder it is run, to ludwig.")
    add = parser.add_argument
    add("-src", "--src", default=Path.cwd().name.lower(), metavar="FOLDER",
        help="the code; without it: the project's name in small letters")
    add("-r", "--reps", type=int, default=1, metavar="N",
        help="how often each configuration is run altogether, with those that were before")
    add("-m", "--minimal", action="store_true",
        help="one configuration: param2default with the values of param2debug")
    add("-f", "--first_only", action="store_true", help="the first configuration alone")
    add("-w", "--worker", metavar="NODE", help="only on this node")
    add("-g", "--group", metavar="GROUP", help="only on the nodes of this group")
    add("-e", "--extra_paths", nargs="*", default=[], metavar="PATH",
        help="folders and files that go along, and are found in project_path")
    add("-n", "--no-upload", action="store_true", help="only show what would run")
    add("--wait", action="store_true", help="stay until all jobs are over")
    add("--resources", type=_resources, default={}, metavar="NAME=VALUE,...",
        help="what a job needs: cpus=4,gpus=1,memory=8GiB,time=2h")
    add("--setup", metavar="LINE", help="a line of shell before each job: source env/bin/activate")
    add("--python", default="python3", metavar="PROGRAM", help="the jobs' Python")
    add("--reuse", default="params", choices=["all", "params", "none"],
        help="which jobs that are done need not run: params (as LudwigCluster has it, this one if "
        "nothing is said), where the configuration is the same; all, where the code is, too; none")
    add("--server", help="the server's address")
    return parser


def _nodes(options: argparse.Namespace) -> Optional[List[str]]:
    nodes = [options.worker] if options.worker else []
    return nodes + ([f"@{options.group}"] if options.group else []) or None


def _keywords(options: argparse.Namespace, params: types.ModuleType) -> Dict[str, Any]:
    src = Path(options.src).as_posix()
    return {
        "command": f'{options.python} "$LUDWIG_DATA/{Path(__file__).name}" --run-job {src}',
        "param2val_list": _configurations(params, options.minimal),
        "src_ps": [src], "data_ps": [Path(__file__).resolve(), *options.extra_paths],
        "reps": options.reps, "resources": options.resources or None, "nodes": _nodes(options),
        "setup": options.setup, "reuse": options.reuse, "first_only": options.first_only,
    }


def submit(options: argparse.Namespace) -> int:
    import ludwig

    sys.path.insert(0, os.getcwd())
    keywords = _keywords(options, _module(options.src, "params"))
    try:
        client = ludwig.Client(Path.cwd().name, server=options.server)
        if options.no_upload:
            for param2val in client.dry_run(**keywords)["params"]:
                print(json.dumps(param2val))
            return 0
        sweep = client.submit(**keywords)
        print(sweep.number)
        return 1 if options.wait and sweep.wait()["state"] != "done" else 0
    except ludwig.LudwigError as error:
        say(str(error))
        return error.exit_code


def main(words: Optional[Sequence[str]] = None) -> int:
    words = sys.argv[1:] if words is None else words
    if words[:1] == ["--run-job"]:
        run_job(words[1])
        return 0
    options = _options().parse_args(words)
    if not Path(options.src, "params.py").is_file():
        say(f"there is no {Path(options.src, 'params.py')} here; run it in the project's folder, "
            "or name that of the code: --src FOLDER")
        return 2
    try:
        return submit(options)
    except ProjectError as error:
        say(str(error))
        return 2


# ---- looking at results ----

def _runs(runs_path: Path) -> Iterator[Tuple[Path, Param2Val]]:
    """Each configuration's folder, and what its jobs had."""
    for param_path in sorted(runs_path.glob("param_*")):
        for job_json in sorted(param_path.glob("*/job.json")):
            with job_json.open(encoding="utf-8") as f:
                yield param_path, json.load(f)["params"]
            break


def gen_param_paths(project_name: str, param2requests: Mapping[str, List[Any]],
                    param2default: Mapping[str, Any], runs_path: Optional[Path] = None,
                    ludwig_data_path: Optional[Path] = None,
                    label_params: Optional[Sequence[str]] = None, isolated: bool = False,
                    label_n: bool = True, verbose: bool = True, verbose_plus: bool = False,
                    require_all_found: bool = True) -> Iterator[Tuple[Path, str]]:
    """The folder of each configuration that is requested, and a label for it.

    Results lie in runs_path, or in PROJECT/runs below ludwig_data_path, the shared drive; those
    of `ludwig fetch 7 DIR` in DIR/runs.  isolated: in runs of the current folder.
    """
    if runs_path is None:
        share = Path(ludwig_data_path or Path.home() / "ludwig_data")
        runs_path = (Path.cwd() if isolated else share / project_name) / "runs"
    if not Path(runs_path).is_dir():
        raise FileNotFoundError(f"{runs_path} does not exist")
    shown = sorted({name for name, values in param2requests.items()
                    if values != param2default[name]} | set(label_params or []))
    requested = [_plain(config) for config in gen_all_param2vals(param2requests, param2default)]
    n_found = 0
    for param_path, config in _runs(Path(runs_path)):
        is_match = config in requested
        if verbose or (verbose_plus and not is_match):
            say(f"{param_path}: {'matches' if is_match else 'does not match'}")
        if is_match:
            n_found += 1
            lines = [f"{name}={_tuples(config[name])}" for name in shown]
            n = len(list(param_path.glob("*num*")))
            yield param_path, "\n".join(lines + ([f"n={n}"] if label_n else []))
    if require_all_found and n_found != len(requested):
        raise SystemExit(f"ludwigcluster: found {n_found} but requested {len(requested)}")


if __name__ == "__main__":
    sys.exit(main())
