#!/bin/bash
# shellcheck disable=SC2016,SC2046 # shell text for wait_until and for jobs; pids are one word each
# stopped_runner.sh - jobs that stop or kill their runner are ended all the same
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 8, gpus: 0}'

sweep() { # PROJECT LINE...; its number in $id
    local project=$1
    shift
    printf '%s\n' "project: $project" 'command: sh job.sh {how}' 'source: job.sh' "$@" >"$project.yaml"
    id=$(submit "$project.yaml" --reuse none)
}
pid_of() { # JOB
    sed -n "s/^start $1 .* //p" "$TEST_TMP/records"
}
stopped() { # PID
    grep -q 'State:.T' "/proc/$1/status"
}
all_gone() { # FILE
    gone $(cat "$1")
}
# A daemon to which neither its ancestors nor its environment lead, once its runner is dead.
hide=('hide() { env -i sh -c '\''setsid sh -c "echo \$\$ >>$1; exec sleep 600" &'\'' sh "$1"; until [ -s "$1" ]; do sleep 0.3; done; }')
# Half a minute later than a runner that has said that the job began, one that has not is killed.
stop='gate stop; kill -STOP $PPID; sleep 600 & wait; sleep 600'
log=$XDG_STATE_HOME/ludwig/worker.log

# ---- all of these at once, as each takes more than half a minute ----

write_job "${hide[@]}" 'echo kept >"$LUDWIG_SAVE_PATH/part"' \
    '[ "$1" != deaf ] || trap "" TERM' \
    "[ \"\$1\" != hidden ] || hide $TEST_TMP/hidden" \
    "$stop"
sweep slow 'params: {how: [plain, deaf, hidden]}' 'resources: {time: 15s}' 'retry: {max: 3, on: [node-lost]}' && slow=$id
write_job '[ "$1" != deaf ] || trap "" TERM' "$stop"
sweep long 'params: {how: [plain, deaf]}' && long=$id
printf '%s\n' 'project: batch' 'command: sh job.sh' 'source: job.sh' 'batch: 3' 'params: {a: [1, 2, 3]}' \
    'resources: {time: 5s}' >batch.yaml
batch=$(submit batch.yaml --reuse none)

# Nothing is left of these jobs, but there is no end of them: the folder that their runner moves is in the way.
write_job 'mkdir -p "${LUDWIG_SAVE_PATH%/run/*}/ended/$LUDWIG_ATTEMPT/x"'
sweep kept 'params: {how: [plain]}' 'resources: {time: 5s}' 'retry: {max: 0}' && kept=$id
sweep keeps 'params: {how: [plain]}' && keeps=$id

# One job of a batch may be cancelled, and the process goes on for the others.
begun() {
    wait_until 60 '[ "$(recorded "^start ")" = 8 ]'
    wait_until 60 '[ "$(recorded "^end ($kept|$keeps)[.]1")" = 2 ]'
    ludwig cancel "$keeps"
    wait_until 60 '[ "$(jobs_in running '"$slow"')$(jobs_in running '"$long"')" = 32 ]'
    wait_until 60 '[ "$(jobs_in running '"$batch"')" -ge 1 ]'
    open stop
    wait_until 10 stopped "$(runner_of "$(pid_of "$long.1")")"
    ludwig cancel "$long"
    ludwig cancel "$batch.2"
}
it 'jobs stop their runners' begun

over_time() {
    wait_until 60 ended "$slow"
    for n in 1 2 3; do
        job "$slow.$n" 'j["state"] == "failed" and j["cause"] == "timeout" and j["attempt"] == 1'
        job "$slow.$n" 'j["reason"]' | grep '^time limit of 15 s reached; its runner, stopped or stuck, '
        gone "$(pid_of "$slow.$n")"
        [ "$(cat "$SHARE"/slow/failed/param_00$n/*.a1/part)" = kept ]
    done
    wait_until 10 all_gone "$TEST_TMP/hidden"
    ludwig why "$slow.1" | grep 'its runner, stopped or stuck, did not end it and was killed'
    grep -q 'runner-killed.*it did not end the job at its time limit' "$log"
}
it 'a job that stops its runner, and a deaf one, and one that hides, have a time limit' over_time

cancelled() {
    wait_until 60 gone "$(pid_of "$long.1")" "$(pid_of "$long.2")"
    [ "$(jobs_in cancelled "$long")" = 2 ]
    wait_until 20 grep -q 'runner-killed.*it did not end the job when it was told to' "$log"
}
it 'they can be cancelled' cancelled

of_a_batch() {
    local process # of which $LUDWIG_JOB tells nothing
    process=$(grep -v '^start [0-9]*[.]' "$TEST_TMP/records" | sed 's/.* //')
    [ -n "$process" ]
    wait_until 60 gone "$process"
    wait_until 30 job "$batch.1" 'j["state"] == "failed" and j["cause"] == "timeout"'
    job "$batch.1" 'j["reason"]' | grep '^time limit of its batch reached; '
    ludwig cancel "$batch"
    wait_until 60 ended "$batch"
}
it 'a batch has the time of all its jobs' of_a_batch

unsaved() {
    wait_until 100 ended "$kept"
    job "$kept.1" 'j["state"] == "failed" and j["cause"] == "timeout" and j["attempt"] == 1'
    [ "$(jobs_in cancelled "$keeps")" = 1 ]
    wait_until 60 '[ -z "$(pids_of --runner)" ]'
    nothing_left
}
it 'a job that lets its runner write no outcome holds its slot no longer' unsaved

# ---- a later agent ----

restarted() {
    rm -f "$TEST_TMP/records" "$TEST_TMP/gates/stop"
    write_job "$stop"
    sweep timed 'params: {how: [plain]}' 'resources: {time: 15s}' && timed=$id
    sweep before 'params: {how: [plain]}' && before=$id
    sweep after 'params: {how: [plain]}' && after=$id
    wait_until 30 '[ "$(recorded "^start ")" = 3 ]'
    wait_until 30 '[ "$(jobs_in running '"$timed"')$(jobs_in running '"$before"')$(jobs_in running '"$after"')" = 111 ]'
    open stop
    for sweep in $timed $before $after; do
        wait_until 10 stopped "$(runner_of "$(pid_of "$sweep.1")")"
    done
    ludwig cancel "$before"
    kill_hard $(agents)
    ludwig_wait up
    ludwig cancel "$after"
    for sweep in $timed $before $after; do
        wait_until 60 gone "$(pid_of "$sweep.1")"
    done
    wait_until 30 ended "$timed"
    job "$timed.1" 'j["cause"] == "timeout" and j["attempt"] == 1'
    [ "$(jobs_in cancelled "$before")$(jobs_in cancelled "$after")" = 11 ]
    wait_until 20 '[ -z "$(pids_of --runner)" ]'
    nothing_left
}
it 'an agent that comes later keeps the time limits, and what was cancelled' restarted

# ---- a dead runner ----

dead() {
    rm -f "$TEST_TMP/records"
    write_job "${hide[@]}" 'rm -f '"$TEST_TMP"'/left.*; hide '"$TEST_TMP"'/left.1' \
        'env -i setsid sh -c "setsid sh -c \"echo \\\$\\\$ >'"$TEST_TMP"'/left.2; exec sleep 600\" & exec sleep 600" &' \
        'until [ -s '"$TEST_TMP"'/left.2 ]; do sleep 0.3; done' 'kill -KILL $PPID; sleep 600'
    sweep daemon 'params: {how: [plain]}' 'retry: {max: 0}'
    agent=$(agents)
    wait_until 30 ended "$id"
    wait_until 10 all_gone "$TEST_TMP/left.1"
    wait_until 10 all_gone "$TEST_TMP/left.2"
    [ "$(agents)" = "$agent" ]
    grep -q strangers-killed "$log"
    # Those that belong here are still there.
    write_job 'true'
    sweep fine 'params: {how: [plain]}'
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
    not grep -q child-dropped "$log"
    nothing_left
}
it 'what a job hides and leaves to the agent when it kills its runner is ended' dead

done_testing
