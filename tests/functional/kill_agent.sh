#!/bin/bash
# kill_agent.sh - kill -9 of the agent, the stager or the publisher kills no job
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 4, gpus: 0}'
write_job 'echo $1 >"$LUDWIG_SAVE_PATH/value"' 'echo job $1' 'gate $1'
mkdir data && head -c 100000 /dev/urandom >data/d

once_each() { # PROJECT SWEEP JOBS
    [ "$(recorded "^start $2\.")" = "$3" ]
    [ "$(recorded "^end $2\.")" = "$3" ]
    [ "$(jobs_in done "$2")" = "$3" ]
    published "$1" >"$TMPDIR/published"
    [ "$(wc -l <"$TMPDIR/published")" = "$3" ]
    nothing_left
}

on_first_attempt() { # SWEEP
    ludwig jobs "$1" --json | json - 'all(j["attempt"] == 1 for j in d["jobs"])'
    not grep -E "^start $1\.[0-9]+ [0-9a-f]+ [1-9]" "$TEST_TMP/records"
}

declare -ft once_each on_first_attempt # so that the step that failed is shown

adopted() {
    printf 'project: p\ncommand: sh job.sh {a}\nsource: job.sh\ndata: data\nparams: {a: [1, 2, 3, 4, 5, 6]}\n' >p.yaml
    id=$(submit p.yaml)
    wait_until 10 '[ "$(recorded "^start ")" = 4 ]'
    agent=$(agents)
    [ "$(echo "$agent" | wc -w)" = 1 ]
    kill_hard "$agent"
    kill -0 $(sed 's/.* //' "$TEST_TMP/records")
    # Two end while nobody is there to see it.
    open 1
    open 2
    wait_until 10 '[ "$(recorded "^end ")" = 2 ]'
    wait_until 10 gone $(sed -n 's/^end .* //p' "$TEST_TMP/records")
    [ -z "$(agents)" ]
    ludwig_wait up
    wait_until 10 '[ "$(jobs_in done '"$id"')" = 2 ]'
    for gate in 3 4 5 6; do open $gate; done
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
    once_each p "$id" 6
    on_first_attempt "$id"
    [ "$(ludwig logs "$id.3")" = 'job 3' ]
    [ "$(ludwig logs "$id.1")" = 'job 1' ]
}
it 'running jobs go on, and the next agent adopts and reports them' adopted

killed_often() {
    rm -f "$TEST_TMP/records" "$TEST_TMP"/gates/*
    write_job 'echo $1 >"$LUDWIG_SAVE_PATH/value"' 'sleep 0.0$(($1 % 10))'
    printf 'project: storm\ncommand: sh job.sh {a}\nsource: job.sh\nparams: {a: [%s]}\n' "$(seq -s, 1 300)" >storm.yaml
    id=$(submit storm.yaml)
    for kills in {1..8}; do
        wait_until 20 '[ "$(recorded "^end ")" -ge '$((kills * 25))' ]'
        kill_hard $(agents)
        ludwig_wait up
    done
    wait_until 30 '[ "$(sweep_state '"$id"')" = done ]'
    once_each storm "$id" 300
}
it 'killed eight times in the middle of a sweep, every job has run once' killed_often

both_killed() {
    rm -f "$TEST_TMP/records"
    write_job 'gate both'
    printf 'project: both\ncommand: sh job.sh {a}\nsource: job.sh\nparams: {a: [1, 2, 3, 4, 5, 6]}\n' >both.yaml
    id=$(submit both.yaml)
    wait_until 10 '[ "$(recorded "^start ")" = 4 ]'
    kill_hard ludwigd
    kill_hard $(agents)
    ludwig_wait up
    wait_until 10 '[ "$(jobs_in running '"$id"')" = 4 ]'
    open both
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
    once_each both "$id" 6
    on_first_attempt "$id"
}
it 'agent and ludwigd killed together cost nothing either' both_killed

# The first ones are short, so others are sent ahead: one of those begins while ludwigd hears nothing,
# and the agent that would have told it is killed, too.
unheard() {
    rm -f "$TEST_TMP/records"
    write_job '[ $1 -le 4 ] || gate unheard$1'
    printf 'project: unheard\ncommand: sh job.sh {a}\nsource: job.sh\nparams: {a: [%s]}\n' "$(seq -s, 1 12)" >unheard.yaml
    id=$(submit unheard.yaml)
    wait_until 10 'job '"$id"'.9 "j[\"node\"] is not None"'
    wait_until 10 '[ "$(jobs_in running '"$id"')" = 4 ]'
    server=$(pids_of ludwigd)
    trap 'kill -CONT $server 2>/dev/null || true' EXIT
    kill -STOP $server
    open unheard5
    wait_until 10 '[ "$(recorded "^start ")" = 9 ]'
    kill_hard ludwigd
    kill_hard $(agents)
    ludwig_wait up
    wait_until 10 '[ "$(jobs_in running '"$id"')" = 4 ]'
    for gate in {6..12}; do open unheard$gate; done
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
    once_each unheard "$id" 12
    on_first_attempt "$id"
}
it 'one that began unheard is running as soon as it is adopted' unheard

cancelled_meanwhile() {
    rm -f "$TEST_TMP/records"
    write_job 'gate never'
    printf 'project: c\ncommand: sh job.sh {a}\nsource: job.sh\nparams: {a: [1, 2]}\n' >c.yaml
    id=$(submit c.yaml)
    wait_until 10 '[ "$(recorded "^start ")" = 2 ]'
    kill_hard $(agents)
    ludwig cancel "$id"
    ludwig_wait up
    wait_until 20 gone $(sed 's/.* //' "$TEST_TMP/records")
    wait_until 10 ended "$id"
    [ "$(sweep_state "$id")" = cancelled ]
    [ -z "$(find "$SHARE/c" -name job.json)" ]
    nothing_left
}
it 'jobs cancelled while no agent is there are ended by the next one' cancelled_meanwhile

# Those that wait go on once it was killed twice.
strike() { # SERVICE
    local pids
    [ "$(recorded '^end ')" != 40 ] || return 0
    pids=$(pids_of "--$1")
    # shellcheck disable=SC2086 # one word each
    [ -n "$pids" ] && kill_hard $pids && kills=$((kills + 1))
    [ $kills -lt 2 ] || open "$1"
    [ $kills = 5 ]
}
services_killed() {
    rm -f "$TEST_TMP/records"
    # Half of the jobs wait until it was killed twice.
    write_job 'head -c 1000000 /dev/urandom >"$LUDWIG_SAVE_PATH/big"' 'test -s "$LUDWIG_DATA/data/d"' 'sleep 0.1' \
        "[ \$1 -le 20 ] || gate $1"
    printf 'project: s%s\ncommand: sh job.sh {a}\nsource: job.sh\ndata: data\nparams: {a: [%s]}\n' "$1" "$(seq -s, 1 40)" >s.yaml
    echo "# $1" >>job.sh
    head -c 100000 /dev/urandom >data/d
    id=$(submit s.yaml)
    local kills=0
    wait_until 60 strike "$1"
    echo "killed $kills times, $(recorded '^end ') jobs had ended"
    [ $kills -ge 2 ]
    wait_until 40 '[ "$(sweep_state '"$id"')" = done ]'
    once_each "s$1" "$id" 40
    on_first_attempt "$id"
}
it 'kill -9 of the publisher costs no result' 'services_killed publisher'
it 'kill -9 of the stager costs no job' 'services_killed stager'

done_testing
