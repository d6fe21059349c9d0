#!/bin/bash
# shellcheck disable=SC2016 # shell text for wait_until and for jobs
# disk_room.sh - room on scratch that jobs asked for (resources: {disk}) is kept for them
. "$(dirname "$0")/lib.sh"

what='a job that asks for room on scratch gets it'
mkdir -p "$SCRATCH"
mount -t tmpfs -o size=64m,mode=0700 none "$SCRATCH" 2>/dev/null || { skip "$what" 'takes root' && done_testing; }
trap 'test_kill_all; umount -l "$SCRATCH"; test_cleanup' EXIT
configure 'resources: {cpus: 4, gpus: 0}'
ludwig_wait up

run() { # PROJECT RESOURCES LINE...: its number in $id
    write_job "${@:3}"
    printf '%s\n' "project: $1" 'command: sh job.sh' 'source: job.sh' "resources: {cpus: 1$2}" 'retry: {max: 0}' >"$1.yaml"
    id=$(submit "$1.yaml")
}
MB=1048576

waits_for_room() {
    run first ', disk: 40MiB' 'say first' 'gate one'
    first=$id
    wait_until 60 '[ "$(recorded "^first")" = 1 ]'
    run second ', disk: 40MiB' 'say second'
    second=$id
    run without '' 'say without'
    wait_until 60 ended "$id"
    wait_until 30 'ludwig why '"$second"'.1 >said; grep -E "it is busy, 40 MiB of 6[0-9.]* MiB on scratch are promised to jobs that run there" said'
    [ "$(jobs_in queued "$second")" = 1 ]
    open one
    wait_until 60 ended "$second"
    [ "$(sweep_state "$first") $(sweep_state "$second")" = 'done done' ]
}
it 'a job starts when the room that it asks for is promised to nobody, and others start meanwhile' waits_for_room

too_much() {
    run huge ', disk: 1GiB' 'say huge'
    wait_until 30 'ludwig why '"$id"'.1 | grep -E "it needs 1 GiB on scratch .resources: disk., and there are 6[0-9.]* MiB"'
    ludwig nodes --json | json - '60 << 20 < d["nodes"][0]["disk"] <= (64 << 20) + 1'
    ludwig cancel "$id" --yes
    [ "$(recorded '^huge')" = 0 ]
}
it 'one that asks for more than there is waits, and why says so' too_much

filled_by_another() {
    run promised ', disk: 40MiB' "head -c $((4 * MB)) /dev/zero >a" 'say ready' 'gate two' "head -c $((32 * MB)) /dev/zero >b" 'say wrote'
    promised=$id
    wait_until 60 '[ "$(recorded "^ready")" = 1 ]'
    run small '' "head -c $MB /dev/zero >a" 'say small' 'gate three'
    small=$id
    wait_until 60 '[ "$(recorded "^small")" = 1 ]'
    run filler '' "i=0; while [ \$i -lt 40 ]; do head -c $MB /dev/zero >>big; i=\$((i + 1)); sleep 0.05; done" 'say filled' 'gate never'
    filler=$id
    wait_until 60 ended "$filler"
    [ "$(sweep_state "$filler")" = failed ]
    ludwig why "$filler.1" >said
    grep -E 'out of disk: scratch has [0-9.]+ MiB left and others were promised 3[0-9.]+ MiB; its files take [0-9.]+ MiB, and it asked for none \(resources: disk\)' said
    open two
    wait_until 60 ended "$promised"
    [ "$(sweep_state "$promised")" = done ]
    [ "$(sweep_state "$small")" = running ]
    open three
    wait_until 60 ended "$small"
    [ "$(sweep_state "$small")" = done ]
}
it 'who fills room that is promised to others, and asked for none, is ended and told why' filled_by_another

done_testing
