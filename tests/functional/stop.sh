#!/bin/bash
# stop.sh - jobs that are stopped early, by what they report while they run
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 4, gpus: 0}'

# job.sh BASE STEPS: reports a table, one row every fifth of a second, from its checkpoint on.  It saves what
# it has when it is told to end, and says so.  Jobs of base 4 and more wait at step 9 to be stopped.
write_job 'save() { echo $step >"$LUDWIG_SAVE_PATH/model"; say saved $step; exit 0; }' \
    'trap save TERM' \
    'step=0; [ ! -e "$LUDWIG_CHECKPOINT/step" ] || step=$(cat "$LUDWIG_CHECKPOINT/step")' \
    'while [ $step -lt $2 ]; do step=$((step + 1))' \
    '  echo "{\"loss\": $1.$((100 - step)), \"step\": $step}" >>"$LUDWIG_METRICS"' \
    '  echo $step >"$LUDWIG_CHECKPOINT/step"; sleep 0.2
  [ $1 -lt 4 ] || [ $step != 9 ] || gate on; done'

sweep() { # PROJECT LINE...
    printf '%s\n' "project: $1" 'source: job.sh' 'results: {metric: loss, goal: min}' "${@:2}" >"$1.yaml"
}

threshold() {
    sweep t 'command: sh job.sh {base} 20' 'params: {base: [1, 2, 5, 7]}' \
        'stop: {rule: threshold, threshold: 4, first: 3}'
    ludwig_wait submit t.yaml --wait >id 2>err
    id=$(cat id)
    grep -qx "sweep $id: 2 done, 2 stopped early" err
    [ "$(sweep_state "$id")" = "done" ]
    [ "$(jobs_in stopped "$id") $(jobs_in "done" "$id")" = '2 2' ]
    [ "$(recorded ' saved ')" = 0 ]
    [ "$(recorded '^saved ')" = 2 ]
    # What it saved is not among the results.
    [ "$(published t | wc -l)" = 2 ]
    [ "$(find "$SHARE/t/stopped" -name model | wc -l)" = 2 ]
    [ "$(find "$SHARE/t/runs" -name model | wc -l)" = 0 ]
    [ "$(job "$id.3" "j['state']")" = stopped ]
    ludwig jobs "$id" --state stopped | grep -q " stopped .* base=5  *loss ~5.9[0-9], step [3-9]  *.*step 3"
    ludwig results "$id" >table
    grep -q '^ *param_003 .* 0  *~5.9[0-9]* @[3-9]  *1 stopped$' table
    grep -q '^2 jobs were stopped early (' table
    ludwig results "$id" --json | json - '[x["metrics"].get("loss", {}).get("n") for x in d["results"]] == [1, 1, 0, 0]'
    ludwig why "$id.3" >why
    cat why
    grep -q '^  it was stopped early: .*step 3.*4' why
    grep -q "^  what it saved: .*/t/stopped/param_003/.*\.a1$" why
    grep -q "^stopped  .*/t/stopped/$" table
    ludwig status "$id" | grep -q '2 done, 2 stopped$'
    ludwig status | tee status
    grep -q ' 4/4 (2 stopped) ' status
    ludwig results "$id" --series loss | grep -q "^$id.3,"
}
it 'what is worse than a threshold is stopped, and what it saved is published apart' threshold

again() {
    id=1
    # A later sweep takes what was stopped as it is.
    ludwig_wait submit t.yaml --wait >second 2>err
    ludwig status "$(cat second)" --json | json - 'd["reused"] == 4 and sum(d["jobs"].values()) == 0'
    ludwig retry "$id" 2>err
    grep -q 'nothing to retry' err
    ludwig submit t.yaml --dry-run --reuse none >dry
    grep -q '^stopped  *what has loss above 4, from step 3 on$' dry
    open on
    # Asked to, they run to their end, from where they were stopped, and nobody stops them again.
    ludwig retry "$id" --stopped 2>err
    grep -qx '2 jobs queued again' err
    wait_until 60 ended "$id"
    [ "$(jobs_in "done" "$id")" = 4 ]
    [ "$(job "$id.3" "j['attempt']")" = 2 ]
    [ "$(recorded '^saved ')" = 2 ]
    [ "$(published t | wc -l)" = 4 ]
}
it 'a resubmit takes stopped jobs as they are; retry --stopped runs them to their end' again

nan() {
    printf '%s\n' 'echo "{\"loss\": 1, \"step\": 1}" >>"$LUDWIG_METRICS"; sleep 0.3' \
        'echo "{\"loss\": NaN, \"step\": 2}" >>"$LUDWIG_METRICS"; sleep $1' >nan.sh
    printf '%s\n' 'project: n' 'source: nan.sh' 'command: sh nan.sh {s}' 'results: {metric: loss}' \
        'params: {s: [0, 600]}' 'guard: {nan: stop}' >n.yaml
    not ludwig_wait submit n.yaml --wait >id 2>err
    id=$(cat id)
    # The other one may have come to its end before anybody looked.
    [ "$(jobs_in failed "$id")" -ge 1 ]
    [ "$(job "$id.2" "j['cause']")" = nan ]
    [ "$(job "$id.2" "j['reason']")" = 'loss was nan at step 2 (guard: {nan: stop})' ]
    ludwig triage "$id" >triage
    grep -q '^[12] x loss was nan at step 2' triage
    sed -i 's/guard: .*/guard: {nan: off}/; s/600/1/' n.yaml
    ludwig_wait submit n.yaml --wait >id 2>err
}
it 'guard: {nan: stop} ends a job whose metric is nan, and it has failed' nan

signalled() {
    printf '%s\n' "trap 'echo kept >\"\$LUDWIG_CHECKPOINT/state\"; exit 0' USR1" \
        'for step in 1 2 3 4 5 6 7 8 9; do' \
        '  echo "{\"loss\": $1, \"epoch\": $step}" >>"$LUDWIG_METRICS"; sleep 0.3; done' \
        'while [ $1 = 9 ]; do sleep 0.3; done' >s.sh
    printf '%s\n' 'project: s' 'source: s.sh' 'command: bash s.sh {base}' 'results: {metric: loss}' \
        'params: {base: [1, 9]}' 'checkpoint: {signal: USR1, grace: 20s}' \
        'stop: {rule: threshold, step: epoch, threshold: 4, first: 2}' >s.yaml
    ludwig_wait submit s.yaml --wait >id 2>err
    id=$(cat id)
    [ "$(jobs_in stopped "$id") $(jobs_in "done" "$id")" = '1 1' ]
    find "$SHARE/s/.ludwig/checkpoints" -name state | grep -q param_002
}
it 'a job with a checkpoint: signal is asked by that, and its checkpoint stays' signalled

own_end() {
    # Its handler of SIGUSR1 saves nothing, and it comes to its end within its grace.
    printf '%s\n' 'trap asked=1 USR1' 'echo "{\"loss\": 9, \"step\": 1}" >>"$LUDWIG_METRICS"' \
        'until [ "$asked" ]; do sleep 0.3; done' >o.sh
    printf '%s\n' 'project: o' 'source: o.sh' 'command: sh o.sh' 'results: {metric: loss}' \
        'checkpoint: {signal: USR1, grace: 60s}' 'stop: {rule: threshold, threshold: 4}' >o.yaml
    ludwig_wait submit o.yaml --wait >id 2>err
    [ "$(jobs_in "done" "$(cat id)")" = 1 ]
}
it 'a job that has ended by itself meanwhile is done' own_end

asha() {
    sweep a 'command: sh job.sh {base} 12' 'params: {base: [1, 2, 3, 4, 5, 6, 7, 8, 9]}' \
        'stop: {rule: asha, first: 2, eta: 3, max_step: 12}'
    ludwig_wait submit a.yaml --wait >id 2>err
    id=$(cat id)
    cat err
    ludwig jobs "$id"
    [ "$(jobs_in stopped "$id")" -ge 3 ]
    [ "$(job "$id.1" "j['state']")" = "done" ]
    best=$(ludwig best "$id" -q 2>/dev/null || ludwig best "$id")
    grep -q . <<<"$best"
}
it 'asha stops what is worst, and the best one comes to its end' asha

killed() {
    sweep k 'command: sh job.sh {base} 50' 'params: {base: {range: [1, 8]}}' \
        'stop: {rule: threshold, threshold: 4, first: 5}' 'resources: {cpus: 0.5}' 'retry: {max: 5, on: [node-lost]}'
    rm "$TEST_TMP/gates/on"
    id=$(submit k.yaml)
    for i in 1 2 3; do
        sleep 0.7
        kill_hard ludwigd
        # shellcheck disable=SC2046 # one word each
        [ $i = 2 ] || kill_hard $(agents)
        ludwig_wait up
    done
    wait_until 100 ended "$id"
    ludwig jobs "$id"
    ludwig jobs "$id" --json | json - 'all(j["state"] == ("stopped" if j["params"]["base"] >= 4 else "done") for j in d["jobs"])'
    # Each of them saved once, and lies there once.
    [ "$(find "$SHARE/k/stopped" -name job.json | wc -l)" = "$(jobs_in stopped "$id")" ]
}
it 'ludwigd and agents may be killed meanwhile: no decision is lost, and none made twice' killed

it 'nothing is left on scratch' nothing_left

done_testing
