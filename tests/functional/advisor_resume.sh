#!/bin/bash
# advisor_resume.sh - an advisor stops jobs and has the best of them go on from their checkpoints
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 4, gpus: 0}'
cp "$TEST_ROOT"/client/python/ludwig.py .

# job.sh X STEPS [waits]: the loss falls with the steps; each step is a line of $TEST_TMP/steps.  A first attempt
# does not get beyond step 5, or the gate, before it is stopped.
write_job 'over=; trap "over=1" TERM' \
    'step=0; [ ! -e "$LUDWIG_CHECKPOINT/step" ] || step=$(cat "$LUDWIG_CHECKPOINT/step")' \
    'while [ $step -lt $2 ]; do step=$((step + 1))' \
    '  case $3$step in waits2) gate rung ;; waits25) gate last' \
    '  ;; 5) [ $LUDWIG_RESTART != 0 ] || until [ -n "$over" ]; do sleep 0.3; done' \
    '  esac' \
    '  echo $step >"$LUDWIG_CHECKPOINT/step"' \
    "  echo \"\$LUDWIG_JOB \$step\" >>$TEST_TMP/steps" \
    '  echo "{\"loss\": $1.$((100 - step)), \"step\": $step}" >>"$LUDWIG_METRICS"; sleep 0.3
  [ -z "$over" ] || exit 1; done' \
    'echo $step >"$LUDWIG_SAVE_PATH/model"'

# All are stopped at step 3 or a little later, then the best BEST go on to their end.
cat >halving.py <<'END'
import os
import ludwig

VALUES = [7, 2, 9, 4, 1, 8, 3, 6][:int(os.environ.get("CONFIGS", "8"))]
BEST = int(os.environ.get("BEST", "2"))

def suggest(search, n, seed):
    trials = search.trials.values()
    if len(trials) < len(VALUES):
        return [{"x": x} for x in VALUES[len(trials):len(trials) + n]]
    if any(not t.is_over(search.reps) for t in trials):
        return None
    if any(t.resumed for t in trials):
        return []
    return [t.id for t in sorted(trials, key=lambda t: t.params["x"])[:BEST]]

def stepped(search, trial, rep):
    # A job that is stopped before it has done a step leaves no checkpoint.
    reached = [max(steps) for steps in trial.steps.values()]
    return None if trial.resumed or len(reached) < search.reps or min(reached) < 3 else "the first rung"

ludwig.advise(suggest, "halving", stepped=stepped, resumes=True)
END

search() { # PROJECT ADVISOR STEPS LINE...
    printf '%s\n' "project: $1" 'source: [job.sh, ludwig.py, halving.py]' "command: sh job.sh {x} $3" \
        'params: {x: {int_uniform: [1, 9]}}' "method: {advisor: $2}" 'results: {metric: loss, goal: min}' \
        'budget: {configs: 8}' "${@:4}" >"$1.yaml"
    rm -f "$TEST_TMP/steps"
}

record() { # SWEEP EXPRESSION: of the lines of its record
    ludwig replay "$1" --record | python3 -c '
import json, sys
lines = []
for text in sys.stdin:
    line = json.loads(text)
    try:
        lines.append({**json.loads(line["body"]), "dir": line["dir"]})
    except ValueError:
        pass
def of(where, kind):
    return [x for x in lines if x["dir"] == where and x.get("type") == kind]
value = eval(sys.argv[1])
print(value)
sys.exit(not value)
' "$2"
}

# Two of the eight have run to their end, and these two alone went on after they were stopped.
halved() { # SWEEP PROJECT STEPS
    [ "$(sweep_state "$1")" = "done" ]
    [ "$(jobs_in "done" "$1") $(jobs_in stopped "$1")" = '2 6' ]
    record "$1" "[x['id'] for x in of('down', 'resumed')] == [5, 2]"
    record "$1" "len(of('down', 'given')[-1]['points']) == 0 and of('down', 'given')[-1]['done']"
    record "$1" "sorted(x['id'] for x in of('down', 'tell')) == sorted([1, 2, 3, 4, 5, 6, 7, 8, 2, 5])"
    record "$1" "[x.get('stopped', False) for x in of('down', 'tell') if x['id'] in (2, 5)] == [True, True, False, False]"
    record "$1" "[x['step'] for x in of('down', 'tell') if x['id'] in (2, 5)][2:] == [$3, $3]"
    # They are done, each step was done once, and what lay below stopped/ is not there any more.
    sort "$TEST_TMP/steps" | uniq -d >twice
    [ ! -s twice ]
    [ "$(grep -c " $3\$" "$TEST_TMP/steps")" = 2 ]
    [ "$(published "$2" | wc -l)" = 2 ]
    [ "$(find "$SHARE/$2/stopped" -name job.json | wc -l)" = 6 ]
    ludwig replay "$1" 2>replay || { cat replay && return 1; }
    grep -q ', the same again$' replay
}

goes_on() {
    search half 'python3 halving.py' 9 'checkpoint: {every: 10m}'
    ludwig_wait submit half.yaml --wait >id 2>err
    cat err
    id=$(cat id)
    halved "$id" half 9
    ludwig why "$id.5" | tee why
    grep -q 'it was stopped early, and taken up again from its checkpoint: the advisor said so$' why
    ludwig best "$id" | grep -q 'x *1$\|x: 1$\|x=1'
}
it 'the best of the jobs that an advisor has stopped go on from their checkpoints to their end' goes_on

everything_is_killed() { # SWEEP: with jobs at a gate
    local n victim
    for victim in halving.py agent ludwigd; do
        n=$(sessions "$1")
        case $victim in
        halving.py) kill -KILL $(pids_of halving.py) ;;
        agent) kill_hard $(agents) && ludwig_wait up ;;
        ludwigd) kill_hard ludwigd && ludwig_wait up ;;
        esac
        wait_until 60 "[ \"\$(sessions $1)\" -gt $n ]"
    done
}
sessions() { # SWEEP
    record "$1" 'str(len(of("note", "session")))'
}
declare -ft record sessions
killed() {
    search kills 'python3 halving.py' '30 waits' 'checkpoint: {every: 10m}'
    id=$(submit kills.yaml)
    wait_until 60 "[ \$(grep -c ' 1\$' $TEST_TMP/steps) -ge 4 ]"
    everything_is_killed "$id"
    open rung
    wait_until 240 "[ \$(jobs_in stopped $id) -ge 6 ] && [ \$(grep -c ' 24\$' $TEST_TMP/steps) = 2 ]"
    everything_is_killed "$id"
    open last
    wait_until 240 "[ \"\$(sweep_state $id)\" = done ]"
    halved "$id" kills 30
}
it 'the same, though advisor, agent and ludwigd are killed before and after' killed

# Both replications of the better one of two, and no other.
replications() {
    search reps 'python3 halving.py' 9 'checkpoint: {every: 10m}' "env: {CONFIGS: '2', BEST: '1'}"
    sed -i 's/configs: 8/configs: 2/' reps.yaml
    ludwig_wait submit reps.yaml --reps 2 --wait >id
    id=$(cat id)
    [ "$(jobs_in "done" "$id") $(jobs_in stopped "$id")" = '2 2' ]
    record "$id" "sorted((x['id'], x['rep']) for x in of('down', 'resumed')) == [(2, 0), (2, 1)]"
    record "$id" "sorted((x['id'], x['rep']) for x in of('down', 'tell')) == [(1, 0), (1, 1), (2, 0), (2, 0), (2, 1), (2, 1)]"
    record "$id" "sum(x.get('checkpoint', False) for x in of('down', 'tell')) == 4"
    sort "$TEST_TMP/steps" | uniq -d >twice
    [ ! -s twice ]
    CONFIGS=2 BEST=1 ludwig replay "$id" 2>replay || { cat replay && return 1; }
}
it 'each replication of a configuration goes on from its own checkpoint' replications

# Its only job is stopped at once, and leaves no checkpoint; what it resumes is in the environment.
cat >one.py <<'END'
import json, os, sys, time

def say(**line):
    print(json.dumps(line), flush=True)

def wait(path):
    while not os.path.exists(path):
        time.sleep(0.1)

for text in sys.stdin:
    line = json.loads(text)
    if line["type"] == "space":
        say(type="hello", name="one", wants=["resume"])
        stopped = False
    elif line["type"] == "tell":
        stopped = True
    elif line["type"] == "ask" and line["n"] > 0:
        say(type="give", re=line["seq"], points=[{"params": {"x": 1}}])
        wait(os.environ["BEGUN"])
        say(type="stop", ids=[1])
    elif line["type"] == "ask" and not stopped:
        say(type="give", re=line["seq"], wait=True)
    elif line["type"] == "ask":
        wait(os.environ["WHEN"])
        say(type="resume", re=line["seq"], ids=[int(os.environ["RESUMES"])], why="it was good")
        say(type="give", re=line["seq"], done=True)
END

one() { # PROJECT RESUMES WHEN LINE...
    printf '%s\n' "project: $1" 'source: [one.py]' \
        'command: "trap : TERM; test $BEGUN = / || echo $1 >$LUDWIG_CHECKPOINT/x; : >$BEGUN; sleep 1000"' \
        'params: {x: {int_uniform: [1, 9]}}' 'method: {advisor: python3 one.py}' \
        'results: {metric: loss, goal: min}' 'budget: {configs: 1}' \
        "env: {RESUMES: '$2', WHEN: $3, BEGUN: ${BEGUN-/}}" "${@:4}" >"$1.yaml"
    id=$(submit "$1.yaml")
}
refused_with() { # PROJECT RESUMES WORDS LINE...
    one "$1" "$2" / "${@:4}"
    wait_until 120 "[ \"\$(sweep_state $id)\" = done ]"
    [ "$(jobs_in stopped "$id")" = 1 ]
    record "$id" "[x['why'] for x in of('down', 'refused')] == [\"$3\"]"
    record "$id" "not of('down', 'resumed') and len(of('down', 'end')) == 1"
}
cannot='resume: replication 0 of configuration 1 cannot go on: it left no checkpoint, or was cancelled or removed'
refused() {
    refused_with nothing 1 "$cannot"
    refused_with unknown 7 'resume: there is no configuration 7'
    refused_with ruled 1 "resume: the sweep's stop: or race: decides about its jobs: leave it away" \
        'stop: {rule: patience, patience: 9}'
}
it 'what cannot go on is refused in words' refused

cancelled() {
    BEGUN=$TEST_TMP/begun one cancelled 1 "$TEST_TMP/gates/cancelled" 'checkpoint: {every: 10m}'
    wait_until 120 "[ \"\$(jobs_in stopped $id)\" = 1 ]"
    ludwig cancel "$id.1" --yes
    open cancelled
    wait_until 120 "[ \"\$(sweep_state $id)\" = done ]"
    record "$id" "[x['checkpoint'] for x in of('down', 'tell')] == [True]"
    record "$id" "[x['why'] for x in of('down', 'refused')] == [\"$cannot\"]"
}
it 'a job that was stopped and then cancelled does not go on' cancelled

# A job that shares its process with others is cancelled instead, so there is nothing to resume.
batched() {
    BEGUN=$TEST_TMP/batched one batched 1 / 'batch: 2'
    wait_until 120 "[ \"\$(sweep_state $id)\" = cancelled ]"
    record "$id" "not of('down', 'resumed') and 'cancelled' in of('down', 'tell')[0]['failed']"
}
it 'a job of a batch that an advisor stops is cancelled' batched

it 'nothing is left on scratch' nothing_left

done_testing
