#!/bin/bash
# schema.sh - docs/sweep.schema.json takes and refuses the sweep files that ludwig takes and refuses
. "$(dirname "$0")/lib.sh"
python=$(python_with jsonschema yaml) || {
    skip 'the schema takes and refuses what ludwig does' 'no python3 here has jsonschema and yaml'
    done_testing
}

configure
export PYTHONPATH=$TEST_ROOT/tests/functional
schema=$TEST_ROOT/docs/sweep.schema.json

cat >judge.py <<'END'
"""judge.py SCHEMA FILE...: "good FILE" or "bad FILE" and why for each."""
import json, sys
import jsonschema
from core_yaml import load
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
for name in sys.argv[2:]:
    error = jsonschema.exceptions.best_match(validator.iter_errors(load(open(name))))
    print("good" if error is None else "bad", name, "" if error is None else error.message[:200])
END

cat >cases.py <<'END'
"""Writes good/N.yaml and bad/N.yaml, one for each line."""
import os
GOOD = r"""
name: x
x-common: {a: 1}
name: 5
project: p-1
source: job.py
source: [job.py, ./lib/]
source: []
data: lib
data: [lib, job.py]
data: {share: corpora/x}
data: [lib, {share: corpora/x}]
params:
params: {}
params: {a: [1, null, true, "x", [1], {b: 2}], b: 5, c: null}
params: {a: {values: [1, 2]}, b: {value: {x: 1}}, c: {range: [1, 5]}, d: {range: [0, 1, 0.5]}}
params: {a: {linspace: [0, 1, 3]}, b: {logspace: [-3, -1, 3]}}
{params: {a: {uniform: [0, 1]}, b: {log_uniform: [1e-3, 1]}, c: {int_uniform: [1, 5]}, d: {normal: [0, 1]}, e: {choice: [1, x]}}, method: random, samples: 3, seed: 7}
{params: {a: {uniform: [0, 1]}}, method: sobol, samples: 1}
method: grid
{params: {a: [1, 2], b: [3, 4]}, zip: [[a, b]]}
{params: {a: [1, 2], b: [3, 4]}, when: {a: {b: 3}}}
{params: {a: [1, 2], b: [3, 4]}, when: {a: {b: [3, 4]}}}
{params: {a: [1, 2], b: [3, 4]}, exclude: [{a: 1, b: [3]}]}
{params: {a: [1, 2], b: [3, 4]}, include: [{a: 5}]}
{params: {a: [1, 2]}, debug: {a: [1]}}
zip:
reps: 3
resources:
resources: {cpus: 0.5, gpus: 0.25, memory: 2GiB, time: 2h}
resources: {cpus: 4, gpus: 2, memory: 1.5 GiB, time: 1h30m}
resources: {cpus: "2", memory: 4194304, time: 90s}
resources: {time: 2-12:00:00}
resources: {time: 500ms, memory: 500M}
nodes: a
nodes: [a, "@b"]
nodes: []
slurm: {partition: a}
slurm: []
slurm: [{partition: a, account: b, qos: c, constraint: "d|e", gres: "gpu:1", exclude: [f], extra: --mem=1G}, {partition: 5}]
slurm: {partition: a, exclude: f, extra: [--mem=1G, --nice]}
retry: {}
retry: {max: 2, on: [failed, signal, timeout, oom, node-lost, preempted, 137, "3"]}
retry: {on: oom}
checkpoint: {signal: SIGUSR1, grace: 60s, every: 10m}
checkpoint: {signal: 10}
checkpoint: {every: 600s}
resources: {time: 0, disk: 0}
env: {A: 1, B: true, C: x, _d: 1.5}
env: {A: 1, PATH: }
env: [PATH, HOME]
setup: a
setup: [a, b]
container: docker://x
container: lib
batch: 512
results: {metric: m, goal: min}
results: {metric: m, goal: maximize}
results: {metric: val_loss}
reuse: {ignore: [README.md, notebooks/]}
reuse: {ignore: "*.ipynb"}
reuse: {}
{params: {a: {log_uniform: [1e-4, 1], round: 3}, b: {round: 1, normal: [0, 1]}}, method: random, samples: 3}
priority: -1000
""".strip().splitlines()
BAD = r"""
nonsense: 1
project:
name: [a]
name: true
source: 5
source: [[a]]
source: ""
data: {share: [x]}
data: {share: x, beside: y}
params: [1]
params: {a: []}
params: {a: {}}
params: {a: {vales: [1]}}
params: {a: {values: [1], value: 1}}
params: {a: {values: [1], round: 3}}
params: {a: {uniform: [0, 1], round: 16}}
params: {a: {values: []}}
params: {a: {range: 5}}
method: grids
method: 5
samples: 0
samples: x
seed: -1
seed: 1.5
zip: [[a]]
zip: [a]
zip: {a: b}
when: [a]
when: {a: 5}
when: {a: {}}
exclude: {a: 1}
exclude: [{}]
include: [5]
debug: [1]
reps: 0
reps: 4097
reps: many
resources: 5
resources: {cpus: 0}
resources: {cpus: -1}
resources: {cpus: x}
resources: {gpus: 1.5}
resources: {memory: lots}
resources: {memory: 4}
resources: {time: 60}
resources: {time: "60"}
resources: {time: "4:00"}
resources: {disk: 20}
resources: {disk: "20"}
log: {max: 100}
resources: {memory: 2 apples}
resources: {time: soon}
resources: {time: -5}
resources: {cpu: 1}
nodes: {a: 1}
nodes: [[a]]
slurm: a
slurm: {account: x}
slurm: [{partition: a}, {}]
slurm: {partition: [a]}
slurm: {partition: a, nonsense: b}
retry: 5
retry: {max: -1}
retry: {max: 1001}
retry: {on: [none]}
retry: {on: [256]}
retry: {on: 0}
retry: {on: [x]}
checkpoint: {signal: [a]}
checkpoint: {every: 0.5}
checkpoint: {grace: long, signal: USR1}
env: [a-b]
env: [LUDWIG_JOB]
env: [[a]]
env: {LUDWIG_JOB: 1}
env: {a-b: 1}
env: {A: [1]}
setup: {a: 1}
setup: [[a]]
container: [a]
batch: 0
batch: 513
results: {goal: most, metric: m}
results: 5
priority: 1001
priority: high
""".strip().splitlines()
for kind, lines in ("good", GOOD), ("bad", BAD):
    os.mkdir(kind)
    for i, line in enumerate(lines):
        text = "{command: 'true', " + line[1:] if line.startswith("{") else "command: 'true'\n" + line
        with open("%s/%03d.yaml" % (kind, i), "w") as f:
            f.write(text + "\n")
with open("bad/no-command.yaml", "w") as f:
    f.write("project: p\n")
with open("bad/list.yaml", "w") as f:
    f.write("- command: a\n")
for kind in "good", "bad":
    os.makedirs(kind + "/lib")
    open(kind + "/job.py", "w").close()
END
python3 cases.py

judged() { # good|bad
    $python judge.py "$schema" "$1"/*.yaml >verdicts
    [ "$(wc -l <verdicts)" -gt 40 ]
    not grep -v "^$1 " verdicts
}
it 'the schema takes what is right' 'judged good'
it 'the schema refuses what is wrong' 'judged bad'

agrees() { # good|bad STATUS
    local file status
    for file in "$1"/*.yaml; do
        status=0
        ludwig submit "$file" --dry-run >out 2>err || status=$?
        [ $status = "$2" ] || { echo "$file: $status" && cat "$file" err && return 1; }
    done
}
it 'ludwig takes the same' 'agrees good 0'
it 'ludwig refuses the same' 'agrees bad 2'

examples() {
    ls "$TEST_ROOT"/examples/*/sweep.yaml
    $python judge.py "$schema" "$TEST_ROOT"/examples/*/sweep.yaml >verdicts
    not grep -v '^good ' verdicts
    for file in "$TEST_ROOT"/examples/*/sweep.yaml; do ludwig submit "$file" --dry-run >/dev/null; done
}
it 'the examples are right' examples

done_testing
