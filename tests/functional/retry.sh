#!/bin/bash
# retry.sh - which jobs retry takes
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 4, gpus: 0}'
printf '%s\n' 'project: r' 'command: sh job.sh {how} {n}' 'source: job.sh' \
    'params: {n: [1, 2], how: [fine, seven, eight, gate]}' >r.yaml
# Fails or waits until it is told not to.
write_job "[ -e $TEST_TMP/gates/\$1 ] || case \$1 in seven) exit 7;; eight) exit 8;; gate) gate gate;; esac"

states() { ludwig jobs "$1" --json | json - '" ".join(j["state"] for j in d["jobs"])'; }
attempts() { ludwig jobs "$1" --json | json - '"".join(str(j["attempt"]) for j in d["jobs"])'; }

prepare() {
    id=$(submit r.yaml)
    wait_until 15 '[ "$(jobs_in failed '"$id"')$(jobs_in done '"$id"')$(jobs_in running '"$id"')" = 422 ]'
    ludwig cancel "$id" --where 'how = gate' 2>err
    grep -qx '2 jobs cancelled' err
    wait_until 15 ended "$id"
    [ "$(states "$id")" = 'done failed failed cancelled done failed failed cancelled' ]
    echo "$id" >"$TEST_TMP/id"
}
it 'jobs fail with two codes, and two are cancelled' prepare

by_expression() {
    id=$(cat "$TEST_TMP/id")
    open eight
    ludwig retry "$id" --where 'exit_code = 8 and n = 1' 2>err
    grep -qx '1 job queued again' err
    wait_until 15 ended "$id"
    [ "$(states "$id")" = 'done failed done cancelled done failed failed cancelled' ]
    [ "$(attempts "$id" | cut -c1-3)" = 112 ]
    ludwig retry "$id" --where 'exit_code = 9' 2>err
    grep -qx 'no job that failed or was cancelled is one that --where asks for: nothing to retry' err
    # A name that only jobs which are done have is no mistake.
    ludwig retry "$id" --where 'how = fine' --json 2>err | json - 'd["jobs"] == 0'
}
it 'retry --where takes what the expression names' by_expression

failed_only() {
    id=$(cat "$TEST_TMP/id")
    open seven
    ludwig retry "$id" --failed 2>err
    grep -qx '3 jobs queued again' err
    wait_until 15 ended "$id"
    [ "$(states "$id")" = 'done done done cancelled done done done cancelled' ]
    ludwig retry "$id" --failed 2>err
    grep -qx "sweep $id: no job failed: nothing to retry" err
}
it 'retry --failed leaves alone what was cancelled' failed_only

by_state() {
    id=$(cat "$TEST_TMP/id")
    status=0
    ludwig retry "$id" --state "done" 2>err || status=$?
    [ $status = 2 ]
    grep -qx "ludwig: --state: retry takes no jobs that are 'done' (there are failed, cancelled, stopped)" err
    status=0
    ludwig retry "$id" --state canceled 2>err || status=$?
    [ $status = 2 ]
    grep -q "(did you mean 'cancelled'?)" err
    open gate
    ludwig retry "$id.1-7" --state cancelled,failed --json | json - 'd["v"] == 1 and d["jobs"] == 1'
    wait_until 15 ended "$id"
    [ "$(states "$id")" = 'done done done done done done done cancelled' ]
    ludwig retry "$id" --quiet >out 2>&1
    [ ! -s out ]
    wait_until 15 ended "$id"
    [ "$(sweep_state "$id")" = "done" ]
    [ "$(published r | wc -l)" = 8 ]
    ludwig retry "$id" 2>err
    grep -qx "sweep $id: no job failed or was cancelled: nothing to retry" err
}
it 'retry --state takes jobs in these states, and only such that can be retried' by_state

says_what_it_runs() {
    ludwig retry --help | grep -q 'source as it was submitted'
    ludwig retry --help | grep -q -- '--reuse params'
}
it 'retry says that it runs the source as it was submitted' says_what_it_runs

done_testing
