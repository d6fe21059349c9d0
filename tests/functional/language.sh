#!/bin/bash
# language.sh - each word of a sweep file, from the file to what jobs see and what is on the share
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0, memory: 2GiB}'
export PYTHONPATH=$TEST_ROOT/tests/functional

# Keeps what the job was given.
cat >job.py <<'END'
import json, os, shutil, sys
save = os.environ["LUDWIG_SAVE_PATH"]
beside = os.path.dirname(os.environ["LUDWIG_PARAM2VAL"])
for kind in "json", "yaml", "msgpack":
    shutil.copy(os.path.join(beside, "param2val." + kind), save)
env = {name: os.environ.get(name) for name in ("A", "B", "SET_UP", "OMP_NUM_THREADS", "LUDWIG_REP", "LUDWIG_SEED")}
with open(os.path.join(save, "seen.json"), "w") as f:
    json.dump({"argv": sys.argv[1:], "env": env}, f)
END

# check.py SWEEP JOBS SHARE: the jobs' configurations, job by job, are the list that the Python
# expression on stdin makes, in the job's files, on the share and in `ludwig jobs`.
cat >check.py <<'END'
import itertools, json, math, os, sys
from core_yaml import load, same
from raw import Unpacker
product = itertools.product
sweep, listing, share = sys.argv[1:]
jobs = json.load(open(listing))["jobs"]
wanted = eval(sys.stdin.read())
assert [j["state"] for j in jobs] == ["done"] * len(jobs), [(j["job"], j["state"], j["reason"]) for j in jobs]
found = [j["params"] for j in jobs]
assert same(found, wanted), "\nfound  %r\nwanted %r" % (found, wanted)
for j in jobs:
    run = os.path.join(share, j["run_path"])
    for name, read in ("json", json.load), ("yaml", load), ("msgpack", lambda f: Unpacker(f.read()).value()):
        with open(os.path.join(run, "param2val." + name), "rb") as f:
            value = read(f)
        assert same(value, j["params"]), (name, value, j["params"])
    with open(os.path.join(os.path.dirname(run), "param2val.yaml")) as f:
        assert same(load(f), j["params"]), j
    assert os.path.basename(os.path.dirname(run)) == j["param_name"]
END

# Submits the file on stdin and looks at its configurations.
gives() { # PYTHON-EXPRESSION ARGUMENT...
    local wanted=$1 sweep
    shift
    { printf 'project: %s\ncommand: python3 job.py\nsource: job.py\n' "p$((RANDOM))" && cat; } >sweep.yaml
    sweep=$(ludwig_wait submit sweep.yaml --wait "$@")
    ludwig jobs "$sweep" --json >jobs
    python3 check.py "$sweep" jobs "$SHARE" <<<"$wanted"
    ludwig submit sweep.yaml --dry-run --json "$@" >dry
    json dry "d['params'] == [j['params'] for j in __import__('json').load(open('jobs'))['jobs'] if j['rep'] == 0]"
}

types() {
    cat >typed.yaml <<'END'
project: types
command: python3 job.py {v} {v}
source: job.py
params:
  v: [null, ~, true, False, 0, -1, 9223372036854775807, -9223372036854775808, 0x10, 0o17, 1e-3, 0.1, 1.5,
      1e300, 5e-324, 123456789.125, no, on, Off, 2024-01-01, 12:30:00, 1_000, "1", 'null', "", "a b", "it's",
      "$HOME", "line\nline", "\e[2J", "ünïcode ☃", [1, [2.5, {x: null, "y z": [true]}]], {k: {}, l: []}, .inf]
END
    sweep=$(ludwig_wait submit typed.yaml --wait)
    ludwig jobs "$sweep" --json >jobs
    cat >wanted <<'END'
[{"v": v} for v in [None, True, False, 0, -1, 2**63 - 1, -2**63, 16, 15, 0.001, 0.1, 1.5, 1e300, 5e-324, 123456789.125,
 "no", "on", "Off", "2024-01-01", "12:30:00", "1_000", "1", "null", "", "a b", "it's", "$HOME", "line\nline", "\x1b[2J",
 "\xfcn\xefcode \u2603", [1, [2.5, {"x": None, "y z": [True]}]], {"k": {}, "l": []}, math.inf]]
END
    python3 check.py "$sweep" jobs "$SHARE" <wanted
}
it 'values keep their types into JSON, YAML and msgpack' types

placeholders() {
    cat >placed.py <<'END'
import json, os, sys
listing, share = sys.argv[1:]
for j in json.load(open(listing))["jobs"]:
    seen = json.load(open(os.path.join(share, j["run_path"], "seen.json")))
    v = j["params"]["v"]
    text = v if isinstance(v, str) else json.dumps(v, separators=(",", ":"), ensure_ascii=False)
    if isinstance(v, float):
        text = "Infinity" if v == float("inf") else repr(v)
    assert seen["argv"] == [text, text], (v, seen["argv"])
END
    python3 placed.py jobs "$SHARE"
}
it 'and into {placeholders}, each one word for the program' placeholders

quoted() {
    cat >quoted.yaml <<'END'
project: quoted
command: |
  # it's {nobody}
  python3 job.py "exp_{v}" 'exp_{v}' --lr={größe}{2d} "$(printf '%s|' "{v}" {v})" <<E
  {v}
  E
source: job.py
params:
  v: ["a b", "it's", "$(touch executed)", "`touch executed`", 'say "hi" \\', "; touch executed #"]
  größe: 1
  2d: 2
END
    sweep=$(ludwig_wait submit quoted.yaml --wait)
    ludwig jobs "$sweep" --json >jobs
    python3 - jobs "$SHARE" <<'END'
import json, os, sys
listing, share = sys.argv[1:]
for j in json.load(open(listing))["jobs"]:
    run, v = os.path.join(share, j["run_path"]), j["params"]["v"]
    argv = json.load(open(os.path.join(run, "seen.json")))["argv"]
    assert argv == ["exp_" + v, "exp_" + v, "--lr=12", v + "|" + v + "|"], (v, argv)
END
    [ -z "$(find "$TEST_TMP" -name executed)" ]
}
it 'within quotes as well, and nothing of a value is executed' quoted

it 'a grid turns the last parameter fastest' '
    gives "[{\"a\": a, \"b\": b, \"c\": \"x\"} for a in (1, 2) for b in (True, None, 0.5)]" <<END
params: {a: [1, 2], b: [true, null, 0.5], c: x}
END
'
it 'the long forms make lists' '
    gives "[dict(zip(\"vfr\", x)) for x in product([1, \"a\"], [[1, 2]], [2, 3, 4])]" <<END
params:
  v: {values: [1, a]}
  f: {value: [1, 2]}
  r: {range: [2, 4]}
END
    gives "[dict(zip(\"sldg\", x)) for x in zip([0.0, 0.25, 0.5], [0.0, 0.15, 0.3], [5, 3, 1], [0.001, 0.01, 0.1])]" <<END
params:
  s: {range: [0, 0.5, 0.25]}
  l: {linspace: [0, 0.3, 3]}
  d: {range: [5, 1, -2]}
  g: {logspace: [-3, -1, 3]}
zip: [[s, l, d, g]]
END
'
it 'zip: lists move together' '
    gives "[{\"a\": a, \"b\": b, \"c\": c} for a, c in ((1, \"x\"), (2, \"y\")) for b in (5, 6)]" <<END
params: {a: [1, 2], b: [5, 6], c: [x, y]}
zip: [[a, c]]
END
'
it 'when: a parameter exists only where others have certain values' '
    gives "[{\"opt\": \"adam\"}, {\"opt\": \"sgd\", \"mom\": 0.5}, {\"opt\": \"sgd\", \"mom\": 0.9},
        {\"opt\": \"rms\", \"mom\": 0.5}, {\"opt\": \"rms\", \"mom\": 0.9}]" <<END
params: {opt: [adam, sgd, rms], mom: [0.5, 0.9]}
when: {mom: {opt: [sgd, rms]}}
END
'
it 'exclude: and include: take away and add' '
    gives "[{\"a\": 1, \"b\": 1}, {\"a\": 2, \"b\": 2}, {\"a\": 7, \"b\": 1}, {\"a\": 7, \"b\": 2}, {\"a\": 8, \"b\": 9}]" <<END
params: {a: [1, 2], b: [1, 2]}
exclude: [{a: 1, b: 2}, {a: 2, b: [1.0]}]
include: [{a: 7}, {a: 8, b: 9}]
END
'
it 'anchors, aliases and merge keys work' '
    gives "[{\"a\": a, \"b\": b} for a in (1, 2) for b in (1, 2)]" <<END
params: {a: &v [1, 2], b: *v}
resources: &r {cpus: 0.5}
slurm:
  - &pool {partition: one, account: x}
  - {<<: *pool, partition: two}
debug: {<<: {a: 5}}
END
'

# Samples of a sweep file lie where its forms say, and are the same whenever they are drawn.
sampled() { # METHOD
    cat >sampled.yaml <<END
project: $1
command: python3 job.py
source: job.py
method: $1
samples: 16
params:
  u: {uniform: [-1, 0.5]}
  l: {log_uniform: [1e-5, 1e-1]}
  i: {int_uniform: [1, 3]}
  n: {normal: [10, 0.1]}
  c: {choice: [a, [1]]}
  s: [x, y]
  k: const
  m: {uniform: [0, 1]}
when: {m: {s: x}}
END
    sweep=$(ludwig_wait submit sampled.yaml --wait)
    ludwig jobs "$sweep" --json >jobs
    python3 check.py "$sweep" jobs "$SHARE" <<<'[j["params"] for j in jobs]'
    cat >bounds.py <<'END'
import json
points = [j["params"] for j in json.load(open("jobs"))["jobs"]]
assert len(points) == 16
for p in points:
    assert -1 <= p["u"] <= 0.5 and 1e-5 <= p["l"] <= 1e-1 and abs(p["n"] - 10) < 1
    assert type(p["i"]) is int and p["i"] in (1, 2, 3) and p["c"] in ("a", [1]) and p["k"] == "const"
    assert ("m" in p) == (p["s"] == "x") and p["s"] in "xy"
assert {p["i"] for p in points} == {1, 2, 3} and {p["s"] for p in points} == {"x", "y"}
assert len({p["u"] for p in points}) == 16
END
    python3 bounds.py
    # The same again is done already; another seed is not.
    ludwig submit sampled.yaml --json --wait | json - 'd["reused"] == 16'
    { cat sampled.yaml && echo 'seed: 1'; } >seeded.yaml
    ludwig submit seeded.yaml --dry-run --json | json - 'd["reused"] == 0 and d["configs"] == 16'
    # More samples begin with the same ones.
    sed 's/samples: 16/samples: 20/' sampled.yaml >more.yaml
    ludwig submit more.yaml --dry-run --json | json - 'd["reused"] == 16 and d["configs"] == 20'
}
it 'method: random draws within the bounds, and the same again' 'sampled random'
it 'method: sobol, too' 'sampled sobol'

summary() {
    json "$SHARE/sobol/sweeps/$(ls "$SHARE/sobol/sweeps" | head -n 1)/summary.json" >s 'd'
    json s 'd["v"] == 1 and d["method"] == "sobol" and d["samples"] == 16 and d["seed"] == 0 and d["configs"] == 16'
    json s 'd["params"]["u"] == {"uniform": [-1.0, 0.5]} and d["params"]["i"] == {"int_uniform": [1, 3]}'
    json s 'd["params"]["c"] == {"choice": ["a", [1]]} and d["params"]["s"] == ["x", "y"]'
    cmp "$SHARE/sobol/sweeps/$(ls "$SHARE/sobol/sweeps" | head -n 1)/sweep.yaml" sampled.yaml
}
it 'what was submitted lies in sweeps/ as it was, and as it was understood' summary

seen() { # JOB EXPRESSION on d, what the job saw
    json "$SHARE/$(job "$1" 'j["run_path"]')/seen.json" "$2"
}

environment() {
    cat >env.yaml <<'END'
project: env
command: python3 job.py "$SET_UP" {a}
source: job.py
params: {a: [1, 2]}
reps: 2
resources: {cpus: 2}
env: {A: 1.10, B: "x y $HOME"}
setup: [SET_UP=$A-up, export SET_UP]
priority: 3
name: my sweep
END
    sweep=$(ludwig_wait submit env.yaml --wait)
    seen "$sweep.1" 'd["env"]["A"] == "1.10" and d["env"]["B"] == "x y $HOME" and d["env"]["OMP_NUM_THREADS"] == "2"'
    seen "$sweep.1" 'd["argv"] == ["1.10-up", "1"] and d["env"]["SET_UP"] == "1.10-up"'
    for n in 1 2 3 4; do seen "$sweep.$n" 'd["env"]["LUDWIG_REP"]'; done >reps
    [ "$(sort reps | tr '\n' ' ')" = '0 0 1 1 ' ]
    [ "$(for n in 1 2 3 4; do seen "$sweep.$n" 'd["env"]["LUDWIG_SEED"]'; done | sort -u | wc -l)" = 4 ]
    ludwig status "$sweep" | grep -q 'my sweep'
}
it 'env, setup, reps, resources and name reach the jobs' environment

overrides() {
    printf 'debug: {b: 9}\nparams: {a: [1, 2], b: [5, 6], c: z}\nreps: 2\n' >lines
    gives '[{"a": 1, "b": 9, "c": "z"}]' --minimal <lines
    gives '[{"a": 1, "b": 5, "c": "z"}] * 2' --first-only <lines
    gives '[{"a": 1, "b": 5, "c": "z"}]' --first-only --reps 1 <lines
    gives '[{"a": a, "b": None, "c": c} for a in (1, 2) for c in ([1], 0.5)]' \
        --set b= --set 'c=[[1], 0.5]' --reps 1 <lines
    gives '[{"a": a, "b": b, "c": "z"} for a in (1, 2, 3) for b in ("no",)]' \
        --set 'a={range: [1, 3]}' --set b=no --reps 1 <lines
}
it 'the command line goes over the file' overrides

results_goal() {
    cat >goal.yaml <<'END'
project: goal
command: ludwig report loss={a}
source: []
params: {a: [3, 1, 2]}
results: {metric: loss, goal: min}
END
    sweep=$(ludwig_wait submit goal.yaml --wait)
    ludwig results "$sweep" --json >r
    json r '[r["params"]["a"] for r in d["results"]] == [1, 2, 3]'
}
it 'results: are ranked by its metric and goal' results_goal

it 'nothing is left on scratch' nothing_left

done_testing
