#!/bin/bash
# kill_server.sh - kill -9 of ludwigd costs nothing: every job ends, once
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 3, gpus: 0}'

# What must be true in the end, by what the jobs wrote and by what lies on the share.
once_each() { # PROJECT SWEEP JOBS
    local published=$TMPDIR/published
    [ "$(recorded "^start $2\.")" = "$3" ]
    [ "$(recorded "^end $2\.")" = "$3" ]
    [ "$(grep "^end $2\." "$TEST_TMP/records" | cut -d' ' -f2 | sort -u | wc -l)" = "$3" ]
    published "$1" >"$published"
    [ "$(wc -l <"$published")" = "$3" ]
    # The result is that of the attempt that ran.
    cut -d' ' -f1,2 "$published" | sort | cmp - <(sed -n "s/^end \($2\.[0-9]* [0-9a-f]*\) .*/\1/p" "$TEST_TMP/records" | sort)
    [ "$(jobs_in done "$2")" = "$3" ]
}

# Where nothing was on its way from one to the other when it died, no attempt was in vain.
on_first_attempt() { # SWEEP
    ludwig jobs "$1" --json | json - 'all(j["attempt"] == 1 for j in d["jobs"])'
    not grep -E "^start $1\.[0-9]+ [0-9a-f]+ [1-9]" "$TEST_TMP/records"
}

declare -ft once_each on_first_attempt # so that the step that failed is shown

running_and_queued() {
    write_job 'echo $1 >"$LUDWIG_SAVE_PATH/value"' 'gate middle'
    printf 'project: middle\ncommand: sh job.sh {a}\nsource: job.sh\nparams: {a: [1, 2, 3, 4, 5, 6, 7, 8]}\n' >middle.yaml
    id=$(submit middle.yaml)
    wait_until 10 '[ "$(recorded "^start ")" = 3 ]'
    kill_hard ludwigd
    kill -0 $(sed 's/.* //' "$TEST_TMP/records")
    ludwig_wait up
    wait_until 10 '[ "$(jobs_in running '"$id"')" = 3 ]'
    [ "$(recorded '^start ')" = 3 ]
    open middle
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
    once_each middle "$id" 8
    on_first_attempt "$id"
    nothing_left
}
it 'running jobs go on, and queued ones run when it is back' running_and_queued

ended_meanwhile() {
    rm "$TEST_TMP/records"
    write_job 'gate meanwhile'
    printf 'project: meanwhile\ncommand: sh job.sh {a}\nsource: job.sh\nparams: {a: [1, 2, 3, 4, 5]}\n' >meanwhile.yaml
    id=$(submit meanwhile.yaml)
    wait_until 10 '[ "$(recorded "^start ")" -ge 3 ]'
    kill_hard ludwigd
    open meanwhile
    # Outcomes wait on scratch until somebody has taken note of them; results do not.
    wait_until 10 '[ "$(recorded "^end ")" -ge 3 ]'
    wait_until 10 '[ "$(published meanwhile | wc -l)" -ge 3 ]'
    ludwig_wait up
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
    once_each meanwhile "$id" 5
    on_first_attempt "$id"
    nothing_left
}
it 'jobs that end while it is away are published then and reported later' ended_meanwhile

again_and_again() {
    rm "$TEST_TMP/records"
    write_job 'echo $1 >"$LUDWIG_SAVE_PATH/value"' 'sleep 0.0$(($1 % 10))'
    printf 'project: storm\ncommand: sh job.sh {a}\nsource: job.sh\nresources: {cpus: 0.5}\nparams: {a: [%s]}\n' \
        "$(seq -s, 1 300)" >storm.yaml
    id=$(submit storm.yaml)
    for kills in {1..8}; do
        wait_until 20 '[ "$(recorded "^end ")" -ge '$((kills * 25))' ]'
        kill_hard ludwigd
        ludwig_wait up
    done
    wait_until 30 '[ "$(sweep_state '"$id"')" = done ]'
    once_each storm "$id" 300
    nothing_left
}
it 'killed eight times in the middle of a sweep, every job has run once' again_and_again

at_once() {
    rm "$TEST_TMP/records"
    printf 'project: quick\ncommand: sh job.sh {a}\nsource: job.sh\nparams: {a: [%s]}\n' "$(seq -s, 1 40)" >quick.yaml
    id=$(submit quick.yaml)
    for _ in 1 2 3 4 5; do
        kill_hard ludwigd
        ludwig_wait up
    done
    wait_until 30 '[ "$(sweep_state '"$id"')" = done ]'
    once_each quick "$id" 40
    nothing_left
}
it 'killed again as soon as it is up, every job has run once' at_once

waiting_client() {
    rm "$TEST_TMP/records"
    write_job 'gate client'
    printf 'project: client\ncommand: sh job.sh\nsource: job.sh\n' >client.yaml
    timeout 300 ludwig submit client.yaml --wait >id 2>err &
    waiter=$!
    wait_until 10 '[ "$(recorded "^start ")" = 1 ]'
    kill_hard ludwigd
    ludwig_wait up
    open client
    status=0
    wait $waiter || status=$?
    # It may go on waiting or say that the server went away; never that all is well too early.
    [ $status = 0 ] || [ $status = 3 ] || { cat err && return 1; }
    [ $status = 3 ] || [ "$(recorded '^end ')" = 1 ]
    wait_until 10 '[ "$(sweep_state "$(cat id)")" = done ]'
}
it '--wait does not take a dead server for a sweep that ended' waiting_client

during_submit() {
    printf 'project: large\ncommand: "true"\nsource: []\nnodes: []\nparams:\n  a: [%s]\n  b: [%s]\n' \
        "$(seq -s, 1 200)" "$(seq -s, 1 500)" >large.yaml
    ludwig status --json >before
    for delay in 0.05 0.1 0.2 0.4; do
        ludwig submit large.yaml >id 2>err &
        client=$!
        sleep $delay
        kill_hard ludwigd
        status=0
        ludwig_wait up
        wait_until 40 gone $client
        wait $client || status=$?
        ludwig status --json >after
        if [ $status = 0 ]; then
            [ "$(jobs_in queued "$(cat id)")" = 100000 ]
            ludwig cancel "$(cat id)"
        else
            # Whole or not at all.
            [ $status = 3 ]
            json after 'all(s["configs"] == 100000 for s in d["sweeps"] if s["project"] == "large")'
        fi
        echo "killed after $delay s: status $status"
    done
    id=$(submit large.yaml)
    [ "$(jobs_in queued "$id")" = 100000 ]
    # Numbers were not used up or given twice by the submits that broke off.
    ludwig cancel "$id"
}
it 'a submit in progress is there as a whole or not at all' during_submit

# Without work in between, which would count as a success; `up` fails when the worker stays away.
killed_again() {
    wait_until 10 '[ "$(agents | wc -w)" = 1 ]'
    agent=$(agents)
    for _ in {1..9}; do
        kill_hard ludwigd
        ludwig_wait up
    done
    # A second one that `up` started leaves when it finds the first.
    wait_until 10 '[ "$(agents)" = '"$agent"' ]'
}
it 'however often it is killed, its worker is soon back' killed_again

done_testing
