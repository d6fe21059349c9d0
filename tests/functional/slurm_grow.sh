#!/usr/bin/env bash
# slurm_grow.sh - the pilot of a job that grew asks for what it grew to
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/slurm.sh"
slurm_possible || { skip 'growing in pilots' "$slurm_lacks" && done_testing; }
slurm_up
configure 'slurm: {idle: 1s}'
slurm_partition debug MaxTime=10

cat >take.py <<'END'
import sys, time
taken = b"x" * (int(sys.argv[1]) << 20)
time.sleep(float(sys.argv[2]))
END
sweep() { # PROJECT COMMAND LINE...
    printf '%s\n' "project: $1" "command: $2" 'source: take.py' 'nodes: []' 'guard: off' "${@:3}" >"$1.yaml"
}
# Memory and time limit of each pilot of the sweep, in the order in which they came.
asked() { # SWEEP
    sacct -n -P -X -o jobname,reqtres,timelimitraw,jobid | grep "^ludwig-$1-" | sort -t'|' -k4n |
        sed -E 's/^[^|]*\|.*mem=([0-9.]+[KMGT]).*\|([0-9]+)\|.*/\1 \2/'
}

both_grow() {
    sweep grows 'python3 take.py {mib} {seconds}' 'params: {mib: [110, 1], seconds: [3, 64]}' \
        'zip: [[mib, seconds]]' 'resources: {memory: 70MiB, time: 1min}' 'slurm: {partition: short, pilot: {jobs: 1}}' \
        'retry: {grow: {memory: 2, time: 10}}'
    id=$(submit grows.yaml)
    wait_until 240 ended "$id"
    [ "$(sweep_state "$id")" = done ]
    ludwig jobs "$id" --json >jobs
    json jobs '[(j["attempt"], j["memory_bytes"] >> 20, j["time_ms"]) for j in d["jobs"]] == [(2, 140, 60000), (2, 70, 600000)]'
    # Slurm's minutes: a pilot asks for ten at least, and for what publishing takes.
    wait_until 60 '[ "$(asked '"$id"' | grep -cxE "140M 10|70M 11")" = 2 ]'
    asked "$id" >pilots
    cat pilots
    grep -qx '70M 10' pilots
}
it 'memory and time of a pilot are those that its job grew to' both_grow

no_further() {
    local mib
    mib=$(scontrol show node node1 | sed -n 's/.*RealMemory=\([0-9]*\).*/\1/p')
    sweep memory 'python3 take.py 800 3' 'resources: {memory: 700MiB, time: 5min}' 'slurm: {partition: debug}' \
        'retry: {grow: {memory: 100}}'
    sweep time 'python3 take.py 1 14' 'resources: {memory: 70MiB, time: 10s}' 'slurm: {partition: debug}' \
        'retry: {grow: {time: 100}}'
    large=$(submit memory.yaml)
    long=$(submit time.yaml)
    wait_until 240 ended "$large"
    wait_until 240 ended "$long"
    job "$large.1" "(j['state'], j['attempt'], j['memory_bytes'] >> 20, j['time_ms']) == ('done', 2, $mib, 300000)"
    job "$long.1" "(j['state'], j['attempt'], j['memory_bytes'] >> 20, j['time_ms']) == ('done', 2, 70, 555000)"
}
it 'neither grows further than the partition allows' no_further

refused() {
    # ludwigd knows of no limit: it was set since it asked.
    slurm_partition short MaxTime=10
    sweep refused 'python3 take.py 1 {seconds}' 'params: {seconds: [34, 0.1, 0.2]}' \
        'resources: {memory: 70MiB, time: 30s}' 'slurm: {partition: short, pilot: {jobs: 1}}' 'retry: {grow: {time: 20}}'
    id=$(submit refused.yaml)
    shown_by_why 120 "$id.1" 'partition short: no pilots for a job that grew so far: '
    ludwig why "$id.1" | grep -q 'it grew after an attempt that was in vain (retry: grow): it asks for 10 min, not 30 s'
    wait_until 120 '[ "$(jobs_in done '"$id"')" = 2 ]'
    ludwig cancel "$id" --yes
}
it 'what Slurm refuses is told, and keeps no other job from pilots' refused

done_testing
