#!/bin/bash
# stop_resume.sh - jobs that were stopped early go on from their checkpoints when they turn out well
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 4, gpus: 0}'

# job.sh BASE STEPS PAUSE: each step is a line of $TEST_TMP/steps; the loss falls with the steps.  Only its sleep is a
# process of its own, which the signal ends.
write_job 'over=; trap "over=1" TERM' \
    'step=0; [ ! -e "$LUDWIG_CHECKPOINT/step" ] || step=$(cat "$LUDWIG_CHECKPOINT/step")' \
    'while [ $step -lt $2 ]; do step=$((step + 1))' \
    '  echo $step >"$LUDWIG_CHECKPOINT/step"' \
    "  echo \"\$LUDWIG_JOB \$step\" >>$TEST_TMP/steps" \
    '  echo "{\"loss\": $1.$((100 - step)), \"step\": $step}" >>"$LUDWIG_METRICS"; sleep $3
  [ -z "$over" ] || exit 1; done' \
    'echo $step >"$LUDWIG_SAVE_PATH/model"'

# The first ones are the better ones, so that many of these are stopped before the worse ones are known.
sweep() { # PROJECT PAUSE LINE...
    printf '%s\n' "project: $1" 'source: job.sh' "command: sh job.sh {base} 9 $2" 'order: file' \
        'results: {metric: loss, goal: min}' 'checkpoint: {every: 10m}' \
        'params: {base: [3, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12]}' \
        'stop: {rule: asha, first: 1, eta: 2, max_step: 9}' "${@:3}" >"$1.yaml"
}

steps_once() { # no step of a job was done twice, and each of a job's steps up to its last one was done
    sort "$TEST_TMP/steps" | uniq -d >twice
    cat twice
    [ ! -s twice ]
    awk '{ n[$1]++; if ($2 > last[$1]) last[$1] = $2 } END { for (j in n) if (n[j] != last[j]) exit 1 }' "$TEST_TMP/steps"
}

resumed() { # ID: how many jobs were taken up again
    ludwig jobs "$1" --json | json - "sum(j['attempt'] > 1 for j in d['jobs'])"
}

goes_on() {
    sweep g 0.3
    ludwig submit g.yaml --dry-run >dry
    cat dry
    grep -q '^stopped .*; if it is among the best known later, it goes on from its checkpoint$' dry
    sed 's/first: 1, eta: 2, //' g.yaml >short.yaml
    ludwig submit short.yaml --dry-run | grep -q '^stopped .*; that is likely to save about two thirds of the hours$'
    ludwig_wait submit g.yaml --wait >id 2>err
    id=$(cat id)
    cat err
    ludwig jobs "$id"
    grep -q "^sweep $id: [0-9]* done, [0-9]* stopped early$" err
    [ "$(sweep_state "$id")" = "done" ]
    [ "$(resumed "$id")" -ge 1 ]
    [ "$(($(jobs_in stopped "$id") + $(jobs_in "done" "$id")))" = 12 ]
    [ "$(job "$id.2" "j['state']")" = "done" ]
    steps_once
    # What was stopped and is done now lies below runs/ alone, what was stopped twice once.
    [ "$(published g | wc -l)" = "$(jobs_in "done" "$id")" ]
    [ "$(find "$SHARE/g/stopped" -name job.json | wc -l)" = "$(jobs_in stopped "$id")" ]
    again=$(ludwig jobs "$id" --json | json - "[j['job'] for j in d['jobs'] if j['attempt'] > 1][0]")
    ludwig why "$again" | tee why
    grep -q 'it was stopped early, and taken up again from its checkpoint: loss [0-9.]* at step [0-9]* is number [0-9]* of [0-9]* by now; the best [0-9]* go on' why
    # The page has the same reason.
    ludwig results "$id" --html page.html
    python3 - "$again" "$(job "$again" "j['resumed']")" <<'END'
import json, re, sys
data = json.loads(re.search(r'id="data">(.*?)</script>', open("page.html").read(), re.S)[1])["jobs"]
told = data["resumed"][data["names"].index(sys.argv[1])]
assert told == sys.argv[2] and " by now; the best " in told, told
assert all(r is None or a for r, a in zip(data["resumed"], data["started"]))
END
    ludwig status | grep -q " 12/12 ([0-9]* stopped) "
}
it 'a stopped job goes on from its checkpoint before others begin, and its later result counts' goes_on

off() {
    rm -f "$TEST_TMP/steps"
    sweep o 0.2
    sed -i 's/max_step: 9/max_step: 9, resume: false/' o.yaml
    ludwig_wait submit o.yaml --wait >id 2>err
    id=$(cat id)
    [ "$(resumed "$id")" = 0 ]
    [ "$(jobs_in stopped "$id")" -ge 4 ]
}
it 'resume: false leaves what was stopped as it is' off

killed() {
    rm -f "$TEST_TMP/steps"
    sweep k 0.3 'retry: {max: 9, on: [node-lost]}'
    id=$(submit k.yaml)
    for i in 1 2 3 4 5; do
        sleep 1
        kill_hard ludwigd
        # shellcheck disable=SC2046 # one word each
        [ $((i % 2)) = 0 ] || kill_hard $(agents)
        ludwig_wait up
    done
    [ "$(ludwig pause "$id" -q; sweep_state "$id")" != running ] || return 1
    ludwig resume "$id"
    wait_until 200 ended "$id"
    ludwig jobs "$id"
    [ "$(sweep_state "$id")" = "done" ]
    [ "$(($(jobs_in stopped "$id") + $(jobs_in "done" "$id")))" = 12 ]
    [ "$(job "$id.2" "j['state']")" = "done" ]
    steps_once
    [ "$(published k | wc -l)" = "$(jobs_in "done" "$id")" ]
    [ "$(find "$SHARE/k/stopped" -name job.json | wc -l)" = "$(jobs_in stopped "$id")" ]
    # The record, read from the beginning, names each of them once more in the same order.
    kill_hard ludwigd
    ludwig_wait up
    [ "$(($(jobs_in stopped "$id") + $(jobs_in "done" "$id")))" = 12 ]
}
it 'ludwigd and agents may be killed meanwhile: no step is done twice, and no decision is lost' killed

cancelled() {
    sweep c 1
    id=$(submit c.yaml)
    wait_until 60 '[ "$(jobs_in stopped '"$id"')" -ge 1 ]'
    ludwig cancel "$id" --yes
    wait_until 60 ended "$id"
    [ "$(sweep_state "$id")" = cancelled ]
    n=$(jobs_in stopped "$id")
    ludwig retry "$id" # those that were cancelled, not those that were stopped
    ludwig cancel "$id" --yes
    wait_until 60 ended "$id"
    [ "$(jobs_in stopped "$id")" -ge "$n" ]
}
it 'a sweep that is cancelled takes up none of its stopped jobs' cancelled

it 'nothing is left on scratch' nothing_left

done_testing
