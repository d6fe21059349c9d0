#!/bin/bash
# series.sh - all that a job reported lies with its result
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0}'

reported() {
    write_job 'for step in 1 2 3; do' 'echo "{\"accuracy\": 0.$((5 - step)), \"step\": $step}" >>"$LUDWIG_METRICS"' 'done' \
        'ludwig report loss=2.5 step=4' '[ $1 = well ] || exit 3'
    printf '%s\n' 'project: p' 'command: sh job.sh {how}' 'source: job.sh' 'params: {how: [well, badly]}' >p.yaml
    id=$(ludwig_wait submit p.yaml --wait) || true
    good=$SHARE/p/runs/$(job "$id.1" 'j["param_name"] + "/" + j["job_name"]')
    bad=$SHARE/p/failed/$(job "$id.2" 'j["param_name"] + "/" + j["job_name"] + ".a1"')
    for folder in "$good" "$bad"; do
        # As it was written, whole.
        [ "$(wc -l <"$folder/metrics.jsonl")" = 4 ]
        [ "$(head -n 1 "$folder/metrics.jsonl")" = '{"accuracy": 0.4, "step": 1}' ]
        json "$folder/job.json" '[f["path"] for f in d["files"]] == ["metrics.jsonl"]'
        json "$folder/job.json" 'd["metrics"] == {"accuracy": 0.2, "loss": 2.5}'
        json "$folder/job.json" 'd["metric_ranges"]["accuracy"] == {"min": 0.2, "max": 0.4, "n": 3, "step": 3}'
    done
    json "$bad/job.json" 'd["cause"] == "failed" and d["exit_code"] == 3'
    json "$good/job.json" 'd["cause"] is None'
    [ "$(published p | wc -l)" = 1 ] # sizes and digests are checked here
    nothing_left
}
it 'the series lies with the result, and job.json lists it' reported

its_own() {
    write_job 'echo "{\"x\": 1}" >>"$LUDWIG_METRICS"' 'echo mine >"$LUDWIG_SAVE_PATH/metrics.jsonl"'
    printf '%s\n' 'project: own' 'command: sh job.sh' 'source: job.sh' >own.yaml
    id=$(ludwig_wait submit own.yaml --wait)
    folder=$(published own | cut -d' ' -f4)
    [ "$(cat "$folder/metrics.jsonl")" = '{"x": 1}' ]
    [ "$(cat "$folder/metrics~2.jsonl")" = mine ]
    json "$folder/job.json" 'd["metrics"] == {"x": 1.0} and d["renamed"] == [{"path": "metrics~2.jsonl", "was": "metrics.jsonl"}]'
}
it 'a file of that name that the job saved itself gets another, and is not taken for it' its_own

not_taken() {
    write_job 'echo "{\"x\": 1}" >>"$LUDWIG_METRICS"' 'echo "accuracy 0.9" >>"$LUDWIG_METRICS"' 'echo "{\"x\": [2]}" >>"$LUDWIG_METRICS"'
    printf '%s\n' 'project: odd' 'command: sh job.sh {a}' 'source: job.sh' 'params: {a: [1, 2]}' >odd.yaml
    id=$(ludwig_wait submit odd.yaml --wait)
    words='not taken as measures: 2 lines of what it reported; the first: line 2 is no JSON object'
    ludwig results "$id" >table
    grep -qF "2 jobs reported lines that are no measures; job $id.1: $words" table
    ludwig why "$id.2" | grep -qF "$words"
    json "$(published odd | head -n 1 | cut -d' ' -f4)/job.json" 'd["not_taken"] == {"lines": 2, "first": "line 2 is no JSON object"}'
}
it 'what is no measure is counted, and said with the first example' not_taken

# Two steps in each attempt: the first fails, the runner of the second is killed, the third is cancelled and the job
# retried, and the fourth finds nothing left to do.
goes_on() {
    rm -f "$TEST_TMP/records"
    write_job 'at=$(cat "$LUDWIG_CHECKPOINT/at" 2>/dev/null || echo 0)' '[ $at = 6 ] || for step in 1 2; do' 'at=$((at + 1))' \
        'echo "{\"accuracy\": $((10 - at)), \"step\": $at}" >>"$LUDWIG_METRICS"' \
        'echo "$at,$((at * at))" >>"$LUDWIG_SAVE_PATH/squares.csv"' 'echo $at >"$LUDWIG_CHECKPOINT/at"' 'done' \
        'say ran' '[ $at != 2 ] || exit 3' 'gate after$at'
    printf '%s\n' 'project: on' 'command: sh job.sh' 'source: job.sh' 'retry: {max: 3, on: [3]}' >on.yaml
    id=$(submit on.yaml)
    wait_until 60 '[ "$(recorded "^ran ")" = 2 ]'
    kill -9 $(pids_of --runner)
    wait_until 60 '[ "$(recorded "^ran ")" = 3 ]'
    ludwig cancel "$id"
    wait_until 60 ended "$id"
    [ "$(ludwig results "$id" --series accuracy | tail -n +2 | wc -l)" = 6 ]
    ludwig retry "$id"
    wait_until 60 '[ "$(recorded "^ran ")" = 4 ]'
    # All of it is there while the job runs, which itself has reported nothing.
    wait_until 60 '[ "$(ludwig results '"$id"' --series accuracy | tail -n +2 | wc -l)" = 6 ]'
    open after6
    wait_until 60 ended "$id"
    folder=$(published on | cut -d' ' -f4)
    [ "$(grep -c accuracy "$folder/metrics.jsonl")" = 6 ]
    json "$folder/job.json" 'd["metrics"] == {"accuracy": 4.0, "squares": 36.0}'
    json "$folder/job.json" 'd["metric_ranges"]["accuracy"] == {"min": 4.0, "max": 9.0, "n": 6, "step": 6}'
    json "$folder/job.json" 'd["metric_ranges"]["squares"] == {"min": 1.0, "max": 36.0, "n": 6, "step": 6}'
    [ "$(ludwig results "$id" --series squares | tail -n +2 | sed 's/.*,\([0-9]*,[0-9]*\)$/\1/' | tr '\n' ' ')" = '1,1 2,4 3,9 4,16 5,25 6,36 ' ]
    [ -z "$(find "$SHARE/on/logs" -name '*.metrics.jsonl')" ]
    nothing_left
}
it 'measures are those of the job over all its attempts, whatever ended them' goes_on

nothing_reported() {
    write_job 'echo x >"$LUDWIG_SAVE_PATH/y"'
    printf '%s\n' 'project: none' 'command: sh job.sh' 'source: job.sh' >none.yaml
    ludwig_wait submit none.yaml --wait >id
    folder=$(published none | cut -d' ' -f4)
    [ "$(ls "$folder")" = "$(printf 'job.json\ny')" ]
    json "$folder/job.json" 'd["metrics"] == {} and d["metric_ranges"] == {}'
}
it 'a job that reported nothing has none' nothing_reported

done_testing
