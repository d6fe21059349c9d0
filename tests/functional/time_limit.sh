#!/bin/bash
# time_limit.sh - jobs that run for longer than they may
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 4, gpus: 0}'

sweep() { # PROJECT LINE...
    local project=$1
    shift
    printf '%s\n' "project: $project" 'source: job.sh' "$@" >"$project.yaml"
}
fails() { # FILE; prints the sweep's number
    local status=0
    ludwig_wait submit "$1" --wait || status=$?
    [ $status = 1 ]
}

named() {
    write_job 'echo kept >"$LUDWIG_SAVE_PATH/part"; sleep 600'
    sweep slow 'command: sh job.sh' 'resources: {time: 15s}'
    fails slow.yaml >id
    job "$(cat id).1" 'j["cause"] == "timeout"'
    [ "$(job "$(cat id).1" 'j["reason"]')" = 'time limit of 15 s reached' ]
    [ "$(cat "$SHARE"/slow/failed/param_001/*.a1/part)" = kept ]
}
it 'a job over its time fails, is named so, and what it saved is kept' named

well_in_the_end() {
    write_job 'trap "echo late >$LUDWIG_SAVE_PATH/late; exit 0" TERM; sleep 600 & wait'
    sweep polite 'command: sh job.sh' 'resources: {time: 15s}'
    fails polite.yaml >id
    job "$(cat id).1" 'j["cause"] == "timeout" and j["exit_code"] == 0'
    [ "$(cat "$SHARE"/polite/failed/param_001/*.a1/late)" = late ]
}
it 'it may end its work when it is told, and was still too long' well_in_the_end

fast_enough() {
    write_job 'exit 7'
    sweep fast 'command: sh job.sh' 'resources: {time: 1h}'
    fails fast.yaml >id
    job "$(cat id).1" 'j["cause"] == "failed" and j["exit_code"] == 7'
}
it 'one that fails within its time failed' fast_enough

again() {
    write_job '[ "$LUDWIG_RESTART" = 1 ] || sleep 600'
    sweep again 'command: sh job.sh' 'resources: {time: 15s}' 'retry: {max: 1, on: [timeout]}'
    ludwig_wait submit again.yaml --wait >id
    job "$(cat id).1" 'j["state"] == "done" and j["attempt"] == 2'
    [ "$(recorded '^start .* [01] [0-9]*$')" -ge 2 ]
    [ "$(ls "$SHARE/again/failed/param_001" | wc -l)" = 1 ]
}
it 'retry: on: [timeout] tries it again' again

done_testing
