#!/bin/bash
# advisor.sh - an advisor chooses the configurations, and whatever is killed, none is lost or doubled
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 4, gpus: 0}'
cp "$TEST_ROOT/examples/advisor/random.sh" "$TEST_ROOT"/client/python/ludwig{,_advisor}.py .
write_job 'awk "BEGIN { printf \"{\\\"loss\\\": %.9g}\\n\", ($1 - 0.3) ^ 2 + log($2 * 100) ^ 2 }" >>"$LUDWIG_METRICS"' \
    'sleep ${3:-0.1}' '# The first ones run while there are kills, the others after them.' \
    '[ -z "$4" ] || [ "$(grep -c "^start $4 " '"$TEST_TMP"'/records)" -le 16 ] || gate "$4"'
sed -i 's/^say start$/say start $4/' job.sh

search() { # PROJECT ADVISOR LINE...
    printf '%s\n' "project: $1" 'source: [job.sh, random.sh, ludwig.py, ludwig_advisor.py, mine.sh]' \
        'params: {x: {uniform: [0, 1]}, y: {log_uniform: [1e-4, 1]}, n: {int_uniform: [1, 4]}}' \
        "method: $2" 'results: {metric: loss, goal: min}' "${@:3}" >"$1.yaml"
    grep -q '^command:' "$1.yaml" || echo 'command: sh job.sh {x} {y}' >>"$1.yaml"
    [ -e mine.sh ] || touch mine.sh
}
record() { # SWEEP EXPRESSION: of lines, each with seq, dir and what its body says
    ludwig replay "$1" --record | python3 -c '
import json, sys
lines = []
for text in sys.stdin:
    line = json.loads(text)
    try:
        line.update(x for x in json.loads(line["body"]).items() if x[0] not in ("seq", "dir", "body"))
    except (ValueError, AttributeError):
        pass
    lines.append(line)
down, up, note = ([x for x in lines if x["dir"] == d] for d in ("down", "up", "note"))
def of(where, kind):
    return [x for x in where if x.get("type") == kind]
value = eval(sys.argv[1])
print(value)
sys.exit(not value)
' "$2"
}
# Each point is given once, has one job, and was told once; the numbers of lines have no gap.
exact() { # SWEEP POINTS
    record "$1" "[x['seq'] for x in lines] == list(range(1, len(lines) + 1))"
    record "$1" "[p['id'] for x in of(down, 'given') for p in x['points']] == list(range(1, $2 + 1))"
    record "$1" "sorted(x['id'] for x in of(down, 'tell')) == list(range(1, $2 + 1))"
    record "$1" "len(set(x['re'] for x in of(down, 'given'))) == len(of(down, 'given')) == len(of(down, 'ask'))"
    record "$1" "len(of(down, 'end')) == 1 and down[-1]['type'] == 'end'"
    [ "$(jobs_in done "$1")" = "$2" ]
    ludwig status "$1" --json | json - "d['configs'] == $2"
}
declare -ft exact search

by_shell() {
    search shell '{advisor: ./random.sh}' 'budget: {configs: 30}'
    sed -i 's/n: {int_uniform: .1, 4.}/n: {log_int: [1, 64]}/' shell.yaml
    ludwig_wait submit shell.yaml --wait >id 2>err
    id=$(cat id)
    grep -q "^sweep $id: all 30 done$" err
    exact "$id" 30
    record "$id" 'not of(down, "refused") and not of(note, "failed")'
    record "$id" 'down[0]["params"]["n"] == {"kind": "int", "low": 1, "high": 64, "log": True}'
    record "$id" 'all(x["by"] == "advisor" for x in of(down, "given"))'
    record "$id" 'all(0 <= x["value"] and x["seconds"] > 0 for x in of(down, "tell"))'
    ludwig replay "$id" 2>replay
    grep -q '^session 1: [0-9]* answers, the same again$' replay
    # It is a comparison: another program answers otherwise.
    sed 's/rand()/0.5/' random.sh >other.sh
    not ludwig replay "$id" --with 'sh other.sh' 2>replay
    grep -q 'session 1, line [0-9]*: the record has .*give' replay
    # One that is not there: all that it said, and where it ran.
    not ludwig replay "$id" --with 'echo one >&2; echo two >&2; exit 3' 2>replay
    grep -qx one replay
    grep -q 'exit 3` ended with code 3: it runs in the current folder' replay
    ludwig status "$id" | grep -q '^advisor  *random.sh has ended: 30 of 30 configurations given$'
    ludwig best "$id" | grep -q loss
    ludwig why "$id.1" | grep -q 'the advisor chose its configuration (question [23])'
    # The advisor has its log with those of the jobs, and no result.
    [ -e "$SHARE/shell/logs/$id/advisor_session_1.log" ]
    [ ! -e "$SHARE/shell/runs/advisor" ]
}
it 'an advisor in shell chooses 30 configurations, and its record replays' by_shell

example() {
    cp -r "$TEST_ROOT/examples/advisor" example
    (cd example && ludwig_wait submit sweep.yaml --wait) >id
    ludwig best "$(cat id)" --json | json - 'd["results"][0]["metrics"]["loss"]["n"] == 1'
}
it 'the example of a sweep with an advisor has results' example

done_before() {
    search shell '{advisor: ./random.sh}' 'budget: {configs: 30}' 'seed: 1'
    id=$(submit shell.yaml --wait)
    [ "$(jobs_in done "$id")" = 30 ]
    # One that gives what was done already: it is told without a job.
    point=$(record "$id" "json.dumps({k: v for k, v in of(down, 'tell')[0]['params'].items()})")
    cat >mine.sh <<END
while read -r line; do
    case \$line in
    *'"type": "ask"'*) re=\${line#*'"seq": '}
        echo '{"type": "give", "re": '\${re%%,*}', "points": [{"params": $point}]}' ;;
    esac
done
END
    search shell '{advisor: sh mine.sh, ahead: 1}' 'budget: {configs: 2}'
    # With another source it would run again.
    id=$(submit shell.yaml --reuse params --wait)
    ludwig status "$id" --json | json - 'd["jobs"]["done"] == 0 and d["reused"] == 1'
    record "$id" 'sorted(x["id"] for x in of(down, "tell")) == [1, 2]'
    record "$id" 'all(x["value"] >= 0 for x in of(down, "tell"))'
}
it 'what was done before is told without a job' done_before

sessions() { # SWEEP
    record "$1" 'str(len(of(note, "session")))'
}
# Until a process of the advisor has begun that had not when there were so many.
begun() { # SWEEP NUMBER
    wait_until 60 "[ \"\$(sessions $1)\" -gt $2 ]"
}
storm() { # SWEEP POINTS PROGRAM: kills everything in the middle
    local n=0 victim
    for victim in advisor agent ludwigd advisor ludwigd agent; do
        begun "$1" "$n"
        n=$(sessions "$1")
        case $victim in
        advisor)
            wait_until 60 "[ -n \"\$(pids_of $3)\" ]"
            kill -KILL $(pids_of "$3")
            ;;
        agent) kill_hard $(agents) && ludwig_wait up ;;
        ludwigd) kill_hard ludwigd && ludwig_wait up ;;
        esac
    done
    begun "$1" "$n"
    open "kept-$3"
    wait_until 240 "[ \"\$(sweep_state $1)\" = done ]"
    exact "$1" "$2"
    record "$1" 'all(x["by"] == "advisor" for x in of(down, "given"))'
    ludwig replay "$1" 2>replay
    [ "$(grep -c 'the same again$' replay)" -ge 7 ]
    # No process of an advisor is left.
    wait_until 20 "[ -z \"\$(pids_of $3)\" ]"
}
declare -ft storm

killed_shell() {
    search storm '{advisor: sh random.sh}' 'budget: {configs: 30}' 'seed: 3' 'command: sh job.sh {x} {y} 1 kept-random.sh'
    storm "$(submit storm.yaml)" 30 random.sh
}
it 'advisor, agent and ludwigd are killed twice each: no point is lost or doubled' killed_shell

python=$(python_with optuna)
if [ -n "$python" ]; then
    killed_optuna() {
        search tpe "{advisor: '$python -m ludwig_advisor optuna:tpe'}" 'budget: {configs: 30}' 'seed: 5' \
            'command: sh job.sh {x} {y} 1 kept-ludwig_advisor'
        storm "$(submit tpe.yaml)" 30 ludwig_advisor
    }
    it 'the same with TPE of Optuna' killed_optuna
    # The seventh is the worst of all at its second step, and the eighth the best.
    prunes() {
        python3 >lines <<'END'
import json
def line(kind, **more):
    print(json.dumps({"v": 1, "type": kind, **more}))
line("space", seq=1, params={"x": {"kind": "float", "low": 0, "high": 9, "log": False}}, fixed={}, metric="loss", goal="min",
     reps=1, seed=0, sweep=1, budget={"configs": 8})
line("given", seq=2, re=0, by="late", points=[{"id": i, "params": {"x": i}} for i in range(1, 9)])
for step in 1, 2, 3:
    for i in range(1, 7):
        line("step", seq=3, id=i, rep=0, step=step, value=i / step)
for i in range(1, 7):
    line("tell", seq=4, id=i, rep=0, params={"x": i}, value=i / 3, step=3)
for i, value in (7, 99), (8, 0.01):
    for step in 1, 2:
        line("step", seq=5, id=i, rep=0, step=step, value=value if step == 2 else 3)
line("tell", seq=6, id=7, rep=0, params={"x": 7}, value=99, step=2, stopped=True)
line("end", seq=7)
END
        "$python" -m ludwig_advisor optuna:random:median <lines >said
        cat said
        [ "$(grep -c '"type": "stop"' said)" = 1 ]
        grep -qF '"wants": ["steps"]' said
        grep -qxF '{"type": "stop", "re": 5, "ids": [7], "why": "pruned at step 2"}' said
        not "$python" -m ludwig_advisor optuna:random:nobody <lines 2>err
        grep -q "there is no pruner 'nobody'; there are .*median" err
    }
    it 'a pruner of Optuna stops what is worse than the median of those before' prunes
else
    skip 'the same with TPE of Optuna' 'there is no optuna'
fi
python=$(python_with cmaes)
if [ -n "$python" ]; then
    cma() {
        search cma "{advisor: '$python -m ludwig_advisor cma'}" 'budget: {configs: 16}' 'reps: 2'
        id=$(submit cma.yaml --wait)
        [ "$(jobs_in done "$id")" = 32 ]
        record "$id" 'len(of(down, "tell")) == 32 and not of(down, "refused")'
        ludwig replay "$id"
    }
    it 'CMA-ES is told each replication' cma
else
    skip 'CMA-ES is told each replication' 'there is no cmaes'
fi

generators() {
    mkdir gest_api
    touch gest_api/__init__.py
    # The part of the package that generators look at.
    cat >gest_api/vocs.py <<'END'
class VOCS:
    def __init__(self, variables, objectives, constants):
        self.variables, self.objectives, self.constants = variables, objectives, constants
END
    cat >mine.py <<'END'
import random
import sys

class Simplex:
    def __init__(self, vocs):
        assert vocs.objectives == {"loss": "MINIMIZE"} and vocs.variables["y"] == [-4.0, 0.0], vars(vocs)
        self.vocs, self.n, self.mine, self.told = vocs, 0, {}, 0

    def suggest(self, n):
        if n is not None and self.n == 0:
            raise ValueError("three at first")
        points = []
        for _ in range(n or 3):
            self.n += 1
            point = {name: random.uniform(*range) for name, range in self.vocs.variables.items()}
            self.mine[self.n] = dict(point, _id=self.n)
            points.append(self.mine[self.n])
        return points

    def ingest(self, results):
        for result in results:
            mine = self.mine[result["_id"]]
            assert result["loss"] >= 0 and all(abs(mine[name] - result[name]) <= 0.5 for name in ("x", "y", "n"))
            self.told += 1
            print("told", self.told, file=sys.stderr)

def next_runs(config, runs, n):
    assert config["metric"] == {"name": "loss", "goal": "minimize"}
    done = [run for run in runs if run.state == "finished"]
    if len(done) >= 6:
        return [None]
    run = type("Run", (), {})
    run.config = {"x": {"value": random.random()}, "y": {"value": 0.5}, "n": {"value": 1 + len(done) % 4}}
    return [run]
END
    search gest '{advisor: "python3 -m ludwig_advisor gest:mine:Simplex", ahead: 1}' 'budget: {configs: 9}'
    search next '{advisor: "python3 -m ludwig_advisor next_runs:mine", ahead: 1}' 'budget: {configs: 90}'
    sed -i 's/^source: \[/&gest_api, mine.py, /' gest.yaml next.yaml
    id=$(submit gest.yaml --wait)
    exact "$id" 9
    record "$id" 'len(of(note, "session")) == 1 and all(x["by"] == "advisor" for x in of(down, "given"))'
    grep -q '^told 6$' "$SHARE/gest/logs/$id/advisor_session_1.log"
    not ludwig replay "$id" 2>err
    grep -q 'not the same each time' err
    id=$(submit next.yaml --wait)
    record "$id" '6 <= len(of(down, "tell")) < 20 and of(down, "given")[-1].get("done")'
}
it 'a generator of gest-api and a function next_runs choose' generators

slow() {
    # It answers when it is far too late: the second answer to a question loses.
    cat >mine.sh <<'END'
./random.sh | while read -r line; do
    case $line in *give*) sleep 5 ;; esac
    echo "$line"
done
END
    search slow '{advisor: sh mine.sh, patience: 1s, ahead: 2}' 'budget: {configs: 24}' 'seed: 7'
    id=$(submit slow.yaml --wait)
    exact "$id" 24
    record "$id" 'sum(len(x["points"]) for x in of(down, "given") if x["by"] == "late") >= 12'
    record "$id" 'any(x["re"] in [g["re"] for g in of(down, "given") if g["by"] == "late"] for x in of(up, "give"))'
    late=$(record "$id" '[p["id"] for x in of(down, "given") if x["by"] == "late" for p in x["points"]][0]')
    ludwig why "$id.$late" | grep -q 'advisor-late'
    ludwig status "$id" | grep -q 'at random, as it was late$'
}
it 'for a slow advisor random points stand in, and why says so' slow

broken() {
    printf '%s\n' 'echo "no such model" >&2; exit 3' >mine.sh
    search broken '{advisor: sh mine.sh}' 'budget: {configs: 8}' 'seed: 9'
    # Who waits for it is told, and does not wait for ever.
    not ludwig_wait submit broken.yaml --wait >id 2>err
    id=$(cat id)
    [ "$(sweep_state "$id")" = paused ]
    grep -q "^sweep $id: 0 done$" err
    grep -q 'failed 3 times in a row: exit code 3: no such model; the sweep is paused (`ludwig resume` asks again)' err
    record "$id" 'len(of(note, "failed")) == 3 and len(of(note, "session")) == 3'
    ludwig status "$id" | grep -q '^advisor .*failed 3 times in a row: exit code 3: no such model; the sweep is paused'
    # Resumed, it is asked again; and it may be cancelled.
    ludwig resume "$id" 2>err
    grep -q "^sweep $id goes on: its advisor is asked again$" err
    wait_until 60 "[ \"\$(sweep_state $id)\" = paused ]"
    record "$id" 'len(of(note, "failed")) == 6 and len(of(note, "resumed")) == 1'
    ludwig cancel "$id" 2>err
    cat err
    [ "$(cat err)" = '1 search ended: no advisor is asked for more' ]
    ended "$id"
    search fallback '{advisor: sh mine.sh, fallback: random}' 'budget: {configs: 8}' 'seed: 9'
    id=$(submit fallback.yaml --wait)
    exact "$id" 8 || true
    [ "$(jobs_in done "$id")" = 8 ]
    record "$id" 'all(x["by"] != "advisor" for x in of(down, "given"))'
}
it 'a broken advisor pauses the sweep with its last words, or the search goes on at random' broken

babble() {
    # Lines that are none, points outside of the space, an answer to no question: each costs a failure,
    # and a good answer mends it.
    cat >mine.sh <<'END'
n=0
./random.sh | while read -r line; do
    case $line in
    *give*)
        n=$((n + 1))
        re=${line#*'"re": '}
        case $((n % 2)) in
        1)
            echo 'not { JSON'
            echo '{"type": "give", "re": '"${re%%,*}"', "points": [{"params": {"x": 7, "y": 0.1, "n": 1}}]}' ;;
        0)
            echo '{"type": "give", "re": '$((${re%%,*} + 1))', "points": [{"params": {"x": 0.5, "y": 0.1, "n": 1}}]}'
            head -c 2000000 /dev/zero | tr '\0' 'x'; echo ;;
        esac
        ;;
    esac
    echo "$line"
done
END
    search babble '{advisor: sh mine.sh, ahead: 1}' 'budget: {configs: 9}' 'seed: 11'
    id=$(submit babble.yaml --wait)
    exact "$id" 9
    record "$id" 'len(of(down, "refused")) >= 3'
    record "$id" 'any("x: expected a number from 0.0 to 1.0, found 7" in x["why"] for x in of(down, "refused"))'
    record "$id" 'any("is no question: the question has" in x["why"] for x in of(down, "refused"))'
    record "$id" 'any("no JSON: '"'not { JSON'"'" in x["why"] for x in of(down, "refused"))'
    ludwig replay "$id"
}
it 'lines that are none are refused, and cost nothing else' babble

state() {
    # It ends after its fourth tell, and goes on from its state: no line comes again that this knows of.
    cat >mine.sh <<'END'
k=0 known=0
while read -r line; do
    seq=${line#*'"seq": '} && seq=${seq%%,*}
    case $line in
    *'"type": "state"'*)
        known=${line#*'"upto": '} && known=${known%%\}*}
        k=${line#*'"blob": "'} && k=${k%%\"*}
        echo '{"type": "say", "text": "goes on with '$k'"}' ;;
    *'"type": "ask"'*)
        k=$((k + 1))
        echo '{"type": "give", "re": '$seq', "points": [{"params": {"x": 0.'$k', "y": 0.5, "n": 1}}]}' ;;
    *'"type": "tell"'*)
        [ "$seq" -gt "$known" ] || echo '{"type": "say", "text": "told again"}'
        echo '{"type": "state", "blob": "'$k'", "upto": '$seq'}'
        [ "$k" != 4 ] || [ -n "$known" -a "$known" != 0 ] || exit 1 ;;
    esac
done
END
    search state '{advisor: sh mine.sh, ahead: 1}' 'budget: {configs: 9}' 'resources: {cpus: 4}'
    id=$(submit state.yaml --wait)
    exact "$id" 9
    record "$id" 'len(of(note, "session")) == 2 and len(of(note, "failed")) == 1'
    record "$id" 'any("goes on with" in x["text"] for x in of(up, "say"))'
    record "$id" 'not any("told again" in x["text"] for x in of(up, "say"))'
    # Of the states only the newest is kept whole.
    record "$id" 'len([x for x in of(up, "state") if x["blob"] != ""]) == 1'
}
it 'a new process goes on from the state that it wrote' state

stops() {
    # It ends its first configuration when the third has ended, and is told what that had reached.
    write_job 'trap "exit 0" TERM' '[ "$1" != 0.3 ] || gate has_reported' \
        'echo "{\"loss\": 7, \"step\": 4}" >>"$LUDWIG_METRICS"' '[ "$1" != 0.1 ] || : >'"$TEST_TMP/gates/has_reported" \
        '[ "$1" != 0.1 ] || while :; do sleep 0.1; done'
    cat >mine.sh <<'END'
k=0
while read -r line; do
    case $line in
    *'"type": "ask"'*)
        seq=${line#*'"seq": '} && k=$((k + 1))
        echo '{"type": "give", "re": '${seq%%,*}', "points": [{"params": {"x": 0.'$k', "y": 0.5, "n": 1}}]}' ;;
    *'"type": "tell"'*'"id": 3'*) printf '%s\n' '{"type": "stop", "ids": [1], "why": "hopeless:\nno use"}' ;;
    esac
done
END
    search stops '{advisor: sh mine.sh, ahead: 1}' 'budget: {configs: 5}'
    ludwig_wait submit stops.yaml --wait >id 2>err
    id=$(cat id)
    grep -q "^sweep $id: 4 done, 1 stopped early$" err
    [ "$(sweep_state "$id")" = "done" ]
    ludwig why "$id.1" >why
    cat why
    grep -q '^  it was stopped early: the advisor said so: hopeless: no use$' why
    record "$id" '[(x["value"], x["stopped"]) for x in of(down, "tell") if x["id"] == 1] == [(7.0, True)]'
    record "$id" 'sorted(x["id"] for x in of(down, "tell")) == [1, 2, 3, 4, 5]'
}
it 'an advisor stops a job, as a rule does, and why says so' stops

# Jobs above 0.5 report again and again, and only the advisor ends them, by what it is told while they run.
steps() {
    write_job 'trap "exit 0" TERM' 'i=0' \
        'while i=$((i + 1)); awk "BEGIN { exit !($1 > 0.5) }" || [ $i -le 3 ]; do' \
        'echo "{\"loss\": $1, \"step\": $i}" >>"$LUDWIG_METRICS"; sleep 0.1; done'
    cat >mine.sh <<'END'
import ludwig

def suggest(search, n, seed):
    k = len(search.trials)
    return [{"x": [0.1, 0.9, 0.2, 0.8][(k + i) % 4], "y": 0.5, "n": k + i + 1} for i in range(n) if k + i < 4]

def stepped(search, trial, rep):
    return "too large" if max(trial.steps[rep].values()) > 0.5 else None

ludwig.advise(suggest, "mine", stepped=stepped)
END
    search steps '{advisor: python3 mine.sh}' 'budget: {configs: 4}'
    sed -i 's/n: {int_uniform: .1, 4.}/n: {int_uniform: [1, 9]}/' steps.yaml
    id=$(submit steps.yaml)
    ends_so "$id"
    ludwig why "$id.2" | grep -q '^  it was stopped early: the advisor said so: too large$'
    record "$id" 'all(x["value"] == [0.1, 0.9, 0.2, 0.8][x["id"] - 1] and x["rep"] == 0 and x["step"] > 0 for x in of(down, "step"))'
    record "$id" 'len(set((x["id"], x["step"]) for x in of(down, "step"))) == len(of(down, "step"))'
    record "$id" '{2, 4} <= set(x["id"] for x in of(down, "step"))'
    record "$id" '[x["stopped"] for x in of(down, "tell") if x["id"] in (2, 4)] == [True, True]'
    record "$id" 'sorted(x["id"] for x in of(down, "tell")) == [1, 2, 3, 4] and not of(down, "refused")'
    ludwig replay "$id" 2>replay || { cat replay && return 1; }
    grep -q '^session 1: [0-9]* answers*, the same again$' replay
    # One that did not ask for it is told nothing: the record of a sweep before.
    record "$(($id - 1))" 'not of(down, "step")'
}
ends_so() { # SWEEP
    wait_until 240 "[ \"\$(sweep_state $1)\" = done ]"
    [ "$(jobs_in done "$1") $(jobs_in stopped "$1")" = '2 2' ]
}
it 'an advisor is told values while jobs run, and stops those that are too large' steps

# It stops nothing before it may, and meanwhile everything is killed: each step is told once all the same.
steps_and_kills() {
    sed -i 's| > 0.5 else None| > 0.5 and os.path.exists("'"$TEST_TMP"'/may.stop") else None|; 1i import os' mine.sh
    sed 's/^project: .*/project: kills/' steps.yaml >kills.yaml
    id=$(submit kills.yaml)
    for victim in ludwigd mine.sh agent; do
        n=$(record "$id" 'str(len(of(down, "step")))')
        wait_until 60 "[ \"\$(record $id 'str(len(of(down, \"step\")))')\" -gt $n ]"
        case $victim in
        ludwigd) kill_hard ludwigd && ludwig_wait up ;;
        mine.sh) kill -KILL $(pids_of mine.sh) ;;
        agent) kill_hard $(agents) && ludwig_wait up ;;
        esac
    done
    : >"$TEST_TMP/may.stop"
    ends_so "$id"
    record "$id" 'len(set((x["id"], x["step"]) for x in of(down, "step"))) == len(of(down, "step"))'
    record "$id" 'sorted(x["id"] for x in of(down, "tell")) == [1, 2, 3, 4] and not of(down, "refused")'
    [ "$(sessions "$id")" -ge 3 ]
}
it 'each step is told once, though ludwigd, the advisor and the agent are killed' steps_and_kills

refused() {
    check() { # WORDS LINE...
        printf '%s\n' 'command: "true"' "${@:2}" >bad.yaml
        not ludwig submit --dry-run bad.yaml 2>err
        grep -qF -- "$1" err
    }
    check 'an advisor needs budget:' 'params: {x: {uniform: [0, 1]}}' 'method: {advisor: a}' 'results: {metric: m}'
    check 'an advisor needs results:' 'params: {x: {uniform: [0, 1]}}' 'method: {advisor: a}' 'budget: {configs: 3}'
    check 'needs method: {advisor: COMMAND}' 'params: {x: [1]}' 'budget: {configs: 3}'
    check 'budget: {configs: N} instead' 'params: {x: [1]}' 'method: {advisor: a}' 'budget: {configs: 3}' 'samples: 3' 'results: {metric: m}'
    check 'an advisor needs a range' 'params: {x: {normal: [0, 1]}}' 'method: {advisor: a}' 'budget: {configs: 3}' 'results: {metric: m}'
}
it 'a sweep file that cannot be searched is refused' refused

# Each piece is read in a turn of its own, so that other requests are answered between them.
long_record() {
    search long '{advisor: ./random.sh, ahead: 2}' 'budget: {configs: 100000}' 'command: sh job.sh {x} {y} 0 long'
    id=$(submit long.yaml)
    wait_until 60 '[ "$(record '"$id"' "len(of(down, \"given\"))")" -ge 3 ]'
    ludwig down
    turns_of_a_start() { # LINES: that are added to the record before
        python3 - "$XDG_STATE_HOME/ludwig/server/ludwig.db" "$id" "$1" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
sweep, n = map(int, sys.argv[2:])
last = db.execute("SELECT max(seq) FROM advice WHERE sweep = ?", (sweep,)).fetchone()[0]
db.executemany("INSERT INTO advice VALUES(?, ?, 2, '{\"v\": 1, \"type\": \"said\"}')",
               ((sweep, last + 1 + i) for i in range(n)))
db.commit()
END
        ludwig up
        # It answers this when all of the record is read.
        [ -z "${2:-}" ] || ludwig cancel "$id" --yes
        ludwig down
        sed -n 's/.* stop .*turns=\([0-9]*\).*/\1/p' "$XDG_STATE_HOME/ludwig/ludwigd.log" | tail -n 1 >turns
    }
    turns_of_a_start 0
    few=$(cat turns)
    turns_of_a_start 100000 cancel
    echo "turns: $few, $(cat turns)"
    [ $(($(cat turns) - few)) -ge 20 ]
}
it 'a long record is read in many turns when ludwigd starts, and a cancel waits for it' long_record

done_testing
