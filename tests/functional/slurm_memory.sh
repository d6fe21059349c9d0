#!/usr/bin/env bash
# slurm_memory.sh - a job whose memory takes its pilot along: the others go on elsewhere, and it does not for ever
#
# Without control groups Slurm adds up the memory of a job's processes, and kills all of them at once. What
# several share counts for each, so that one may take more than it asked for without ludwig's seeing it.
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/slurm.sh"
slurm_possible || { skip 'memory of pilots' "$slurm_lacks" && done_testing; }
slurm_up
configure 'slurm: {idle: 2s}'
slurm_conf JobAcctGatherFrequency=1 JobAcctGatherParams=OverMemoryKill

cat >shared.py <<'END'
import os, time
kept = b"x" * (100 << 20)
for _ in range(7):
    if os.fork() == 0:
        time.sleep(600)
time.sleep(600)
END

submit_two() {
    write_job 'gate "$1$LUDWIG_RESTART"' '[ "$1" = innocent ] || exec python3 shared.py'
    printf '%s\n' 'project: memory' 'command: sh job.sh {who}' 'source: [job.sh, shared.py]' \
        'params: {who: [guilty, innocent]}' 'slurm: {partition: short}' 'resources: {cpus: 1, memory: 200MiB}' \
        'retry: {max: 1, on: [preempted]}' >two.yaml
    submit two.yaml
}

begun() { # SWEEP TIMES: both
    [ "$(recorded "^start $1.1 ")$(recorded "^start $1.2 ")" = "$2$2" ]
}

takes_all_along() {
    local id first
    id=$(submit_two)
    echo "$id" >id
    wait_until 60 begun "$id" 1
    first=$(squeue -h -o %A)
    [ "$(wc -w <<<"$first")" = 1 ]
    open guilty0
    slurm_wait 60 "$first" 'FAILED|OUT_OF_MEMORY'
    # ludwigd asks twice a minute at most, and such a pilot is not replaced at once.
    wait_until 150 begun "$id" 2
    grep -E "pilot-ended job=$first .* slurm=(killed|OUT_OF_MEMORY)" "$XDG_STATE_HOME/ludwig/ludwigd.log"
    open innocent1
    wait_until 60 '[ "$(job '"$id"'.2 "j[\"state\"]")" = "done" ]'
    job "$id.2" 'j["attempt"] == 2'
}

not_for_ever() {
    local id
    id=$(cat id)
    open guilty1
    wait_until 150 ended "$id"
    # Both losses were preemptions: those of another cause would cost none of its tries.
    job "$id.1" 'j["state"] == "failed" and j["cause"] == "preempted" and j["attempt"] == 2'
    job "$id.1" 'j["reason"]' | grep -E 'more memory than .*, after 2 tries'
    [ "$(sweep_state "$id")" = failed ]
}

it 'a job that takes its pilot along: the other one was preempted, and ends in the next pilot' takes_all_along
it 'the one that did it fails after its tries, and memory is named' not_for_ever
done_testing
