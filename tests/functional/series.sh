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
    [ "$(cat "$folder/metrics.jsonl")" = mine ]
    json "$folder/job.json" 'd["metrics"] == {"x": 1.0}'
}
it 'a file of that name that the job saved itself stays as it is' its_own

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
