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
    grep -q 'of jobs that run or failed; not ranked' table
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
    wait_until 60 '[ -z "$(find "$SHARE"/p/logs -name "*.metrics.jsonl")" ]'
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

it 'nothing is left on scratch' nothing_left

done_testing
