#!/bin/bash
# shellcheck disable=SC2016 # shell text for wait_until and for jobs
# publisher_dies.sh - a job whose results end every publisher is given up, and those of others are published
. "$(dirname "$0")/lib.sh"

what='a job of whose results publishers die is given up with its reason'
[ -x "$LUDWIG_HOOKS_BIN/ludwig-worker" ] || { skip "$what" 'no programs with test hooks (make variant=hooks)' && done_testing; }
PATH=$LUDWIG_HOOKS_BIN:$PATH
configure 'resources: {cpus: 4, gpus: 0}'

# Publishers die at a checkpoint, which this job alone has left: as they would of very many names.
gives_up() {
    export LUDWIG_CRASH_AT=checkpoint_begun LUDWIG_CRASH_ONCE=$TEST_TMP/crashed
    while :; do
        [ ! -e "$LUDWIG_CRASH_ONCE" ] || { rm "$LUDWIG_CRASH_ONCE" && echo >>"$TEST_TMP/crashes"; }
        sleep 0.02
    done &
    write_job '[ "$1" != 2 ] || { seq 100 | (cd "$LUDWIG_CHECKPOINT" && xargs touch); exit 1; }' 'echo y >"$LUDWIG_SAVE_PATH/out"'
    printf '%s\n' 'project: deadly' 'command: sh job.sh {a}' 'source: job.sh' 'params: {a: [1, 2, 3, 4]}' 'checkpoint: {}' 'retry: {max: 0}' >sweep.yaml
    id=$(submit sweep.yaml)
    wait_until 60 ended "$id"
    kill %%
    [ "$(jobs_in done "$id")" = 3 ]
    [ "$(find "$SHARE/deadly/runs" -name out | wc -l)" = 3 ]
    ludwig why "$id.2" | grep 'its results cannot be published: the process that does so ended 6 times at it'
    [ "$(wc -l <"$TEST_TMP/crashes")" -ge 6 ]
    wait_until 30 '[ -z "$(find "$SCRATCH"/*/{run,ended,published,checkpoints} -mindepth 1)" ]'
}
it 'a job of whose results publishers die is given up with its reason' gives_up

done_testing
