#!/bin/bash
# triage.sh - failures are grouped by their cause, and what explains each is named
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 8, gpus: 0}'

# A job with a fault that its parameter names; each fault differs from job to job in its numbers.
cat >job.sh <<'END'
case $1 in
none) exit 0 ;;
quiet) exit 3 ;;
command) exec no-such-trainer --seed "$2" ;;
time) exec sleep 600 ;;
esac
exec python3 - "$1" "$2" <<'PYTHON'
import argparse, os, signal, sys
fault, seed = sys.argv[1], int(sys.argv[2])
if fault == "module":
    import lion_pytorch
elif fault == "value":
    raise ValueError("learning rate %g is too big" % (seed / 8))
elif fault == "key":
    print({}["layer_%d" % seed])
elif fault == "file":
    open("%s/part_%d.csv" % (os.getcwd(), seed))
elif fault == "cuda":
    raise RuntimeError("CUDA out of memory. Tried to allocate %d.00 MiB (GPU 0)" % seed)
elif fault == "segv":
    os.kill(os.getpid(), signal.SIGSEGV)
elif fault == "abort":
    print("model.c:%d: Assertion failed" % (100 + seed), flush=True)
    os.abort()
elif fault == "memory":
    taken = b"x" * (63 << 20)
    os.kill(os.getpid(), signal.SIGKILL)
elif fault == "argument":
    argparse.ArgumentParser(prog="train").parse_args(["--rate", str(seed)])
PYTHON
END
faults='module value key file cuda segv abort memory time command quiet argument'
printf '%s\n' 'project: faults' 'command: sh job.sh {fault} {seed}' 'source: job.sh' \
    "params: {fault: [none, ${faults// /, }], seed: [1, 2, 3, 4], depth: [1, 2]}" \
    'guard: off' 'resources: {cpus: 0.5, memory: 70MiB, time: 10s}' 'exclude: [{fault: time, depth: 1}]' >faults.yaml

injected() {
    not ludwig_wait submit faults.yaml --wait >id 2>err
    ludwig triage last --json >found
    json found 'len(d["causes"]) == 12 and d["jobs"] == 100' || { json found d && return 1; }
    json found '{g["reasons"][0]["test"]: g["cause"] for g in d["causes"]}' | tr ',' '\n'
    cat >names.py <<'END'
import json
names = {
    "module": "ModuleNotFoundError: No module named 'lion_pytorch'",
    "value": "ValueError: learning rate N is too big",
    "key": "KeyError: 'layer_N'",
    "file": "FileNotFoundError: [Errno N] No such file or directory: 'work/part_N.csv'",
    "cuda": "RuntimeError: CUDA out of memory. Tried to allocate N MiB (GPU N)",
    "segv": "signal 11 (Segmentation fault)",
    "abort": "signal 6 (Aborted): model.c:N: Assertion failed",
    "memory": "out of memory",
    "time": "time limit reached",
    "command": "exit code 127: job.sh: N: exec: no-such-trainer: not found",
    "quiet": "exit code 3",
    "argument": "exit code 2: train: error: unrecognized arguments: --rate N",
}
found = {g["cause"]: g for g in json.load(open("found"))["causes"]}
for fault, name in names.items():
    g = found[name]
    r, = g["reasons"]
    n = 4 if fault == "time" else 8
    assert r["test"] == "fault=" + fault and r["is_sure"], (fault, g)
    assert (r["failed_with"], r["jobs_with"], r["failed_without"], r["jobs_without"]) == (n, n, 0, 100 - n), g
END
    python3 names.py
}
it 'twelve kinds of fault are told apart, each with the value that it comes from' injected

told() {
    ludwig triage >out
    grep -q '^sweep 1: 92 of the 100 jobs that ended failed, of 12 causes$' out
    grep -q '^  8 of 8 with fault=module; 0 of 92 without$' out
    grep -qx '`ludwig why 1\.[0-9]*` shows the end of its log,' out
    # The first cause stands where people look.
    grep -A 1 "^  8 x exit code" err | grep -q '^    8 of 8 with fault=[a-z]*; 0 of 92 without$'
    grep -q '92 failed (`ludwig triage 1` says what they have in common)$' err
    ludwig status 1 | grep -qE '^ +8 of 8 with fault=[a-z]*; 0 of 92 without$'
    ludwig why 1 >out
    grep -qx 'sweep 1: failed' out
    grep -q '    8 of 8 with fault=[a-z]*; 0 of 92 without$' out
    ludwig why 1 --json | json - 'd["sweep"] == 1 and d["state"] == "failed" and len(d["lines"]) > 3'
}
it 'triage, status, why and the end of --wait say what failures have in common' told

# A test that is named can be given to --where as it stands.
reused() {
    test=$(ludwig triage 1 --json | json - 'd["causes"][0]["reasons"][0]["test"]')
    [ "$(ludwig jobs 1 --where "$test" --state failed -q | wc -l)" = 8 ]
}
it 'what explains a cause finds its jobs' reused

pair() {
    printf '%s\n' 'project: pair' "command: '[ {a}{b} != 22 ] || { echo Error: cannot work; exit 1; }'" 'source: []' \
        'params: {a: [1, 2, 3], b: [1, 2, 3], seed: [1, 2, 3, 4]}' >pair.yaml
    not ludwig_wait submit pair.yaml --wait >id 2>err
    ludwig triage >out
    grep -qE '^  4 of 4 with (a=2 and b=2|b=2 and a=2); 0 of 32 without$' out || { cat out && return 1; }
}
it 'a pair of values that cannot work together is found' pair

nothing() {
    printf '%s\n' 'project: well' 'command: "true"' 'params: {x: [1, 2]}' 'source: []' >well.yaml
    ludwig_wait submit well.yaml --wait >id 2>err
    ludwig triage >out 2>err
    [ ! -s out ]
    grep -q 'no job has failed; 2 ended well' err
    ludwig triage --json | json - 'd["causes"] == [] and d["jobs"] == 2'
}
it 'where nothing failed there is nothing to explain' nothing

done_testing
