#!/bin/bash
# shellcheck disable=SC2016 # shell text for wait_until and for jobs
# scratch_full.sh - where scratch is full no job starts, and everybody is told why
. "$(dirname "$0")/lib.sh"

what='a full scratch is named, and jobs start when there is room again'
mkdir -p "$SCRATCH"
mount -t tmpfs -o size=64m,mode=0700 none "$SCRATCH" 2>/dev/null || { skip "$what" 'takes root' && done_testing; }
trap 'test_kill_all; umount -l "$SCRATCH"; test_cleanup' EXIT
configure 'resources: {cpus: 4, gpus: 0}'

full() {
    write_job 'head -c 1000000000 /dev/zero >big' 'say filled' 'gate end'
    printf '%s\n' 'project: filler' 'command: sh job.sh' 'source: job.sh' >filler.yaml
    printf '%s\n' 'project: other' 'command: echo {a}' 'source: []' 'params: {a: [1, 2]}' >other.yaml
    ludwig_wait up
    filler=$(submit filler.yaml)
    wait_until 60 '[ "$(recorded "^filled ")" = 1 ]'
    # The disk may take a few bytes of what comes after.
    other=$(submit other.yaml)
    wait_until 60 'ludwig why '"$other"'.1 | grep "scratch $SCRATCH.* is full: .* of 64 MiB are free"'
    ludwig nodes >said 2>&1
    grep "no jobs start there for now: scratch $SCRATCH.* is full" said
    ludwig nodes --json | json - '"is full" in d["nodes"][0]["refused"]'
    [ "$(jobs_in queued "$other")" = 2 ]
    ludwig cancel "$filler" --yes
    wait_until 60 '[ "$(sweep_state '"$other"')" = done ]'
    # Nothing was tried while there was no room.
    [ "$(job "$other.1" 'str(j["attempt"])')" -le 3 ]
    ludwig nodes --json | json - 'd["nodes"][0]["refused"] is None'
    [ "$(grep -c outcome-not-written "$XDG_STATE_HOME/ludwig/worker.log")" -le 2 ]
}
it "$what" full

done_testing
