#!/usr/bin/env bash
# slurm_pilot.sh - a pilot by itself: what it offers, when it leaves, and what it does when it has to
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/slurm.sh"
. "$TEST_ROOT/tests/functional/pilot.sh"
slurm_possible || { skip 'pilots by themselves' "$slurm_lacks" && done_testing; }
slurm_up

pilots_begin

node() { # EXPRESSION
    ludwig nodes --json | json - "next($1 for n in d['nodes'] if n['state'] == 'up')"
}

offers() {
    local pilot
    pilot=$(pilot -p short -c 3 -C rtx_6000 --gres=gpu:2 -w node3 -- --idle 600000)
    wait_until 60 node '"up"'
    node 'n["node"] == "node3" and n["kind"] == "slurm" and n["cpus"] == 3 and n["gpus"] == 2'
    node 'n["memory"] == 2000 * 1024 * 1024'
    printf '%s\n' 'project: gpus' 'command: echo "gpus $CUDA_VISIBLE_DEVICES"; sleep 2' 'source: []' \
        'reps: 2' 'resources: {gpus: 1}' >one.yaml
    printf '%s\n' 'project: all-gpus' 'command: echo "gpus $CUDA_VISIBLE_DEVICES"' 'source: []' \
        'resources: {gpus: 2}' >two.yaml
    timeout 60 ludwig submit one.yaml --wait
    timeout 60 ludwig submit two.yaml --wait
    [ "$(sed -n 's/^gpus //p' "$SHARE"/gpus/logs/*/* | sort | tr '\n' ' ')" = '0 1 ' ]
    grep -qx 'gpus 0,1' "$SHARE"/all-gpus/logs/*/*
    scancel "$pilot"
    wait_until 60 '[ -z "$(squeue -h)" ]'
    [ -z "$(folders_of "$pilot")" ]
}

idle() {
    local pilot id
    write_job true
    printf '%s\n' 'project: idle' 'command: sh job.sh' 'source: job.sh' 'reps: 5' >idle.yaml
    pilot=$(pilot -p short -c 2 -- --idle 2000)
    timeout 60 ludwig submit idle.yaml --wait
    slurm_wait 60 "$pilot" COMPLETED
    grep -q 'retire why="nothing to do"' "$TEST_TMP/pilot.$pilot"
    [ -z "$(folders_of "$pilot")" ]
    [ "$(published idle | wc -l)" = 5 ]
}

no_server() {
    local pilot
    printf '#!/bin/sh\nexec %s/ludwig-worker pilot --server unix:%s --pilot %s\n' "$LUDWIG_BIN" \
        "$TEST_TMP/none" nonsense >wrong.sh
    pilot=$(sbatch --parsable -o "$TEST_TMP/pilot.%j" wrong.sh)
    slurm_wait 60 "$pilot" FAILED
    grep -q "unexpected argument '--pilot'" "$TEST_TMP/pilot.$pilot"
}

agent_killed() {
    local pilot id first
    write_job 'gate killed'
    printf '%s\n' 'project: killed' 'command: sh job.sh' 'source: job.sh' >killed.yaml
    pilot=$(pilot -p short -c 2 -- --idle 2000)
    id=$(submit killed.yaml)
    wait_until 60 '[ "$(recorded "^start '"$id"'.1 ")" = 1 ]'
    first=$(agent_of "$pilot")
    kill_hard "$first"
    wait_until 20 '[ -n "$(agent_of '"$pilot"')" ]'
    [ "$(agent_of "$pilot")" != "$first" ]
    open killed
    wait_until 30 ended "$id"
    [ "$(sweep_state "$id")" = done ]
    [ "$(recorded "^start $id.1 ")" = 1 ]
    job "$id.1" 'j["attempt"] == 1'
    slurm_wait 60 "$pilot" COMPLETED
}

# What they stage says their logs; each has one processor, so both are at it.
one_cache() {
    local first second id
    mkdir corpus
    seq 2000 >corpus/words
    write_job 'gate cached'
    printf '%s\n' 'project: cached' 'command: sh job.sh' 'source: job.sh' 'data: [corpus]' 'reps: 2' \
        'resources: {cpus: 1}' >cached.yaml
    first=$(pilot -p short -w node1 -c 1 -- --idle 2000)
    second=$(pilot -p short -w node1 -c 1 -- --idle 2000)
    id=$(submit cached.yaml)
    wait_until 60 '[ "$(recorded "^start '"$id"'.1 ")$(recorded "^start '"$id"'.2 ")" = 11 ]'
    open cached
    wait_until 60 ended "$id"
    [ "$(sweep_state "$id")" = done ]
    slurm_wait 60 "$first" COMPLETED
    slurm_wait 60 "$second" COMPLETED
    [ "$(cat "$TEST_TMP/pilot.$first" "$TEST_TMP/pilot.$second" | grep -c ' staged project=cached ')" = 2 ]
    [ -z "$(folders_of "$first")$(folders_of "$second")" ]
    # For the next one.
    find "$TMPDIR" -path '*/cache/*/words' | grep -q .
}

# It had no time to remove anything, and its node lives on.
leftovers() {
    local first next id
    write_job 'gate left'
    printf '%s\n' 'project: left' 'command: sh job.sh' 'source: job.sh' >left.yaml
    first=$(pilot -p short -w node1 -c 1 -- --idle 60000)
    id=$(submit left.yaml)
    wait_until 60 '[ "$(recorded "^start '"$id"'.1 ")" = 1 ]'
    kill_pilot "$first"
    slurm_wait 60 "$first" 'FAILED|CANCELLED'
    [ -n "$(folders_of "$first")" ]
    next=$(pilot -p short -w node1 -c 1 -- --idle 2000)
    wait_until 60 '[ -z "$(folders_of '"$first"')" ]'
    wait_until 60 '[ "$(recorded "^start '"$id"'.1 ")" = 2 ]'
    open left
    wait_until 60 ended "$id"
    job "$id.1" 'j["state"] == "done" and j["attempt"] == 2'
    slurm_wait 60 "$next" COMPLETED
}

# Nothing else keeps a job of this Slurm from taking more than it asked for.
too_large() {
    local pilot id
    printf '%s\n' 'import sys, time' 'x = bytearray(int(sys.argv[1]) << 20)' 'time.sleep(4)' >large.py
    printf '%s\n' 'project: large' 'command: python3 large.py {mib}' 'source: large.py' \
        'params: {mib: [10, 600]}' 'resources: {cpus: 1, memory: 300MiB}' >large.yaml
    pilot=$(pilot -p short -c 2 -- --idle 2000)
    id=$(submit large.yaml)
    wait_until 60 ended "$id"
    job "$id.1" 'j["state"] == "done"'
    job "$id.2" 'j["state"] == "failed" and j["cause"] == "oom" and " of 300 MiB" in j["reason"]'
    slurm_wait 60 "$pilot" COMPLETED
}

it 'a pilot offers what Slurm gave it, and leaves nothing' offers
it 'with nothing to do it leaves' idle
it 'what it cannot understand is said in its log' no_server
it 'its agent may be killed: the job goes on' agent_killed
it 'pilots beside each other stage data once for all' one_cache
it 'what a pilot that was killed has left is removed by the next one' leftovers
it 'a job that takes more memory than it asked for is ended, and no other' too_large
done_testing
