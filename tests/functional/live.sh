#!/bin/bash
# live.sh - what jobs have reported that run or failed
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 4, gpus: 0}'
write_job 'for step in 1 2 3; do echo "{\"accuracy\": 0.$step, \"step\": $step}" >>"$LUDWIG_METRICS"; done' \
    'case $1 in bad) exit 3 ;; slow) sleep 600 ;; runs) gate end ;; esac'
printf '%s\n' 'project: p' 'command: sh job.sh {how}' 'source: job.sh' 'params: {how: [good, bad, runs]}' >p.yaml

running() {
    id=$(submit p.yaml)
    wait_until 60 '[ "$(jobs_in running "$id")" = 1 ] && [ "$(jobs_in done "$id")" = 1 ] && [ "$(jobs_in failed "$id")" = 1 ]'
    wait_until 60 'ludwig results "$id" --json | json - "sum(x[\"metrics\"].get(\"accuracy\", {}).get(\"live\") == 0.3 for x in d[\"results\"]) == 2"'
    ludwig results "$id" >table
    [ "$(grep -c '~0.3 @3' table)" = 2 ]
    grep -q '^\* *param_001' table
    grep -q 'of jobs that are not done; not ranked' table
    ludwig jobs "$id" >jobs
    [ "$(grep -c 'accuracy ~0.3, step 3' jobs)" = 2 ]
    ludwig results "$id" --series accuracy >series
    for job in 1 2 3; do
        [ "$(grep -c "^$id.$job,.*,[123],0.[123]\$" series)" = 3 ]
    done
    ls "$SHARE"/p/logs/"$id"/param_003*.metrics.jsonl
}
it 'the last value and step of a job that runs, and of one that failed, are shown and not ranked' running

ends() {
    open end
    wait_until 60 ended 1
    # The job that failed may be tried again.
    wait_until 60 '[ "$(cd "$SHARE"/p/logs/1 && ls *.metrics.jsonl | cut -c 1-9)" = param_002 ]'
    ludwig results 1 >table
    [ "$(grep -c '~0.3 @3' table)" = 1 ]
    ludwig results 1 --json | json - '[x["metrics"]["accuracy"]["n"] for x in d["results"]] == [1, 0, 1]'
}
it 'what lay beside the log goes when the job is done' ends

times_out() {
    printf '%s\n' 'project: t' 'command: sh job.sh slow' 'source: job.sh' 'resources: {time: 10s}' >t.yaml
    id=$(submit t.yaml)
    wait_until 60 ended "$id"
    [ "$(sweep_state "$id")" = failed ]
    ludwig results "$id" >table
    grep -q '~0.3 @3' table
}
it 'what ran into its time limit shows how far it came' times_out

# Three jobs run and one waits; what they reported last decides.
by_measures() {
    write_job 'echo "{\"loss\": $1}" >>"$LUDWIG_METRICS"' 'case $1 in 1) exit 3 ;; esac' "gate measured"
    printf '%s\n' 'project: m' 'command: sh job.sh {x}' 'source: job.sh' 'params: {x: [1, 2, 3, 4, 5]}' \
        'resources: {cpus: 1.3}' >m.yaml
    id=$(submit m.yaml)
    wait_until 60 '[ "$(jobs_in running "$id")" = 3 ] && [ "$(jobs_in failed "$id")" = 1 ]'
    of() { ludwig jobs "$id" --where "$1" -q 2>&1 | sed "s/^$id\.//" | tr '\n' ' '; }
    declare -ft of
    wait_until 60 '[ "$(of "loss > 0")" = "1 2 3 4 " ]'
    [ "$(of 'loss > 2 and state = running')" = '3 4 ' ]
    [ "$(of 'loss = null')" = '5 ' ]
    [ "$(of 'loss < 3 or x = 5')" = '1 2 5 ' ]
    not ludwig cancel "$id" --where 'los > 2' 2>err
    grep -qx "ludwig: --where: no job has 'los' (did you mean 'loss'?)" err
    [ "$(jobs_in cancelled "$id")" = 0 ]
    ludwig cancel "$id" --where 'loss > 2' 2>err
    grep -qx '2 jobs cancelled' err
    wait_until 60 '[ "$(ludwig jobs '"$id"' --state cancelled -q | tr "\n" " ")" = "'"$id.3 $id.4 "'" ]'
    ludwig retry "$id" --where 'loss > 2' 2>err
    grep -qx '2 jobs queued again' err
    ludwig retry "$id" --where 'loss = 1' 2>err
    grep -qx '1 job queued again' err
    open measured
    wait_until 60 ended "$id"
    # Done: the result says it.
    [ "$(of 'loss > 1')" = '2 3 4 5 ' ]
}
it 'jobs, cancel and retry choose by what jobs have measured' by_measures

it 'nothing is left on scratch' nothing_left

done_testing
