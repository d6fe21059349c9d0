#!/bin/bash
# takeover.sh - a submit takes over what is queued or running in another sweep
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 1, gpus: 0}'
write_job 'gate "$1"' 'echo "$1" >"$LUDWIG_SAVE_PATH/value.csv"' "[ ! -e $TEST_TMP/fails ] || exit 3"
sweep() { # PROJECT VALUE...
    printf 'project: %s\ncommand: sh job.sh {a}\nsource: job.sh\nparams: {a: [%s]}\n' "$1" "$(IFS=,; echo "${*:2}")" >sweep.yaml
}

taken_over() {
    sweep p 1 2
    first=$(submit sweep.yaml)
    wait_until 60 '[ "$(jobs_in running "$first")" = 1 ]'
    sweep p 1 2 3
    ludwig submit sweep.yaml -n >n
    grep -q "2 of them are queued or running in sweep $first already" n
    grep -q '0 done already; 1 would run' n
    ludwig submit sweep.yaml -n --json >n
    json n 'd["followed"] == 2 and d["queued"] == 1'
    ludwig submit sweep.yaml --json >s 2>said
    grep -q "2 of them are queued or running in sweep $first already" said
    second=$(json s 'd["sweep"]')
    json s '[d["jobs"], d["reused"], d["queued"], d["followed"]] == [3, 0, 1, 2]'
    json s "d['followed_first'] == d['followed_last'] == $first"
    [ "$(job "$second.1" 'j["follows"]')" = "$first.1" ]
    ludwig why "$second.1" >w
    grep -q "job $first.1 does the same" w
    not ludwig logs "$second.1" 2>l
    grep -q "waits for the result of job $first.1" l
}
it 'what is queued or running in another sweep is not queued again, and it says so' taken_over

killed() { # sweep 2 waits for jobs of sweep 1
    kill_hard ludwigd
    open 1
    open 2
    open 3
    ludwig_wait submit sweep.yaml --wait --json >s 2>said
    json s 'd["queued"] == 0 and d["jobs"] == 3'
    wait_until 60 '[ "$(sweep_state 2)" = done ]'
    [ "$(sweep_state 1)" = done ]
    ludwig status 2 --json >s
    json s 'd["reused"] == 2 and d["jobs"]["done"] == 1 and d["jobs"]["queued"] == 0'
    [ "$(recorded '^end ')" = 3 ]
    ludwig results 2 --json >r
    json r '[x["n"] for x in d["results"]] == [1, 1, 1]'
    published p >/dev/null
}
it 'the new sweep takes those results, also when ludwigd was killed between' killed

failed() {
    sweep q 4
    first=$(submit sweep.yaml)
    wait_until 60 '[ "$(jobs_in running "$first")" = 1 ]'
    second=$(submit sweep.yaml)
    touch "$TEST_TMP/fails"
    open 4
    wait_until 60 '[ "$(sweep_state "$first")" = failed ]'
    wait_until 60 '[ "$(sweep_state "$second")" = failed ]'
    [ "$(job "$second.1" 'j["follows"] is None')" = true ]
    [ "$(jobs_in failed "$second")" = 1 ]
    rm "$TEST_TMP/fails"
}
it 'what fails in the other sweep is queued in the new one' failed

cancelled() {
    sweep q 5
    first=$(submit sweep.yaml)
    wait_until 60 '[ "$(jobs_in running "$first")" = 1 ]'
    timeout 300 ludwig submit sweep.yaml --wait >s 2>said &
    wait_until 60 'grep -q . s'
    ludwig cancel "$first"
    open 5
    wait
    [ "$(sweep_state "$(cat s)")" = done ]
    [ "$(sweep_state "$first")" = cancelled ]
}
it 'what is cancelled in the other sweep is queued in the new one, which --wait waits for' cancelled

all_again() {
    sweep q 6
    first=$(submit sweep.yaml)
    ludwig submit sweep.yaml --reuse none --json >s
    json s 'd["queued"] == 1 and d["followed"] == 0'
    open 6
    second=$(json s 'd["sweep"]')
    wait_until 60 '[ "$(sweep_state "$second")" = done ]'
    wait_until 60 '[ "$(sweep_state "$first")" = done ]'
    [ "$(ls -d "$SHARE"/q/runs/param_003/*/ | wc -l)" = 2 ]
}
it '--reuse none runs it all the same' all_again

it 'nothing is left on scratch' nothing_left

done_testing
