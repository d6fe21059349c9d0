#!/usr/bin/env bash
# slurm_advisor.sh - an advisor runs in a pilot, which its first, random points ask for
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/slurm.sh"
slurm_possible || { skip 'advisor' "$slurm_lacks" && done_testing; }
slurm_up
configure 'slurm: {idle: 2s, partitions: {short: {max_pilots: 1}}}' 'resources: {cpus: 2}'
cp "$TEST_ROOT/examples/advisor/random.sh" .

search() {
    printf '%s\n' 'project: search' 'source: [random.sh]' 'nodes: []' 'slurm: {partition: short}' \
        'resources: {cpus: 1, memory: 100MiB, time: 5min}' 'params: {x: {uniform: [0, 1]}}' \
        "command: ludwig report loss={x}" 'method: {advisor: ./random.sh, patience: 2s}' \
        'budget: {configs: 12}' 'results: {metric: loss, goal: min}' >search.yaml
    id=$(submit search.yaml)
    wait_until 120 "[ \"\$(sweep_state $id)\" = done ]"
    [ "$(jobs_in done "$id")" = 12 ]
    ludwig replay "$id" --record >record
    # Without a worker nobody could be asked: these had pilots sent for.  The rest is the advisor's.
    grep -q 'type.*given.*by.*late' record
    grep -q 'type.*given.*by.*advisor' record
    ludwig replay "$id"
    # The search is over, and the pilot has nothing to do.
    wait_until 60 '[ -z "$(squeue -h -o %j | grep ludwig-)" ]'
}
it 'random points send for a pilot, in which the advisor goes on' search

done_testing
