#!/bin/bash
# from_checkpoint.sh - an advisor has jobs go on from the checkpoints of others
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 4, gpus: 0}'
cp "$TEST_ROOT"/client/python/ludwig{,_advisor}.py .
# Each job adds its x to the trail of the job that it goes on from, once, however often it is tried: the file's
# first word is the job that wrote it last.
write_trail() { # LINE...: before the end
    write_job 'cd "$LUDWIG_CHECKPOINT"' 'read -r owner trail 2>/dev/null <trail' \
        '[ "$owner" = "$LUDWIG_JOB" ] || echo "$LUDWIG_JOB${trail:+ $trail} $1.$LUDWIG_REP" >trail.new' \
        '[ ! -e trail.new ] || mv trail.new trail' 'cp trail "$LUDWIG_SAVE_PATH"' "$@" \
        'awk "{ for (i = 2; i <= NF; i++) sum += \$i } END { printf \"{\\\"gain\\\": %.9g}\n\", sum }" trail >>"$LUDWIG_METRICS"'
}
search() { # PROJECT ADVISOR LINE...
    printf '%s\n' "project: $1" 'source: [job.sh, ludwig.py, ludwig_advisor.py, mine.py]' 'command: sh job.sh {x}' \
        'params: {x: {int_uniform: [1, 1000]}}' "method: {advisor: \"$2\"}" 'results: {metric: gain, goal: max}' \
        "${@:3}" >"$1.yaml"
    [ -e mine.py ] || touch mine.py
}
# What each job saved is the trail of the point that it went on from, and its own x: by the record of the advisor.
trails() { # SWEEP JOBS
    ludwig replay "$1" --record >record
    ludwig jobs "$1" --json >jobs
    python3 - "$SHARE" "$2" <<'END'
import json, pathlib, sys
share, n = sys.argv[1:]
points = [p for line in open("record") for p in [json.loads(json.loads(line)["body"])] if json.loads(line)["dir"] == "down"
          for p in (p["points"] if p["type"] == "given" else [])]
jobs = json.load(open("jobs"))["jobs"]
x, start = {p["id"]: p["params"]["x"] for p in points}, {p["id"]: p.get("from") for p in points}
def trail(point, rep):
    return ([] if start[point] is None else trail(start[point], rep)) + [f"{x[point]}.{rep}"]
checked, depth, ids = 0, 0, {json.dumps(p["params"], sort_keys=True): p["id"] for p in points}
for job in jobs:
    assert job["state"] == "done", job
    expected = trail(ids[json.dumps(job["params"], sort_keys=True)], job["rep"])
    saved = (pathlib.Path(share) / job["run_path"] / "trail").read_text().split()[1:]
    assert saved == expected, (job["param_name"], saved, expected)
    checked, depth = checked + 1, max(depth, len(saved))
print(checked, "jobs, the longest trail has", depth)
assert checked == int(n) and depth >= 3
END
}
kept() { # PROJECT: names of checkpoints on the share
    (cd "$SHARE/$1/.ludwig/checkpoints" && find . -mindepth 2 -maxdepth 2 -printf '%f\n' | sort)
}
refusals() { # SWEEP
    ludwig replay "$1" --record | grep -o 'type[^,]*refused.*why[^}]*' || true
}
declare -ft search trails write_trail

trains() {
    write_trail
    search pbt 'python3 -m ludwig_advisor pbt:4' 'budget: {configs: 24}' 'checkpoint: {keep: true}'
    id=$(ludwig_wait submit pbt.yaml --wait)
    trails "$id" 24
    [ -z "$(refusals "$id")" ]
    # One checkpoint of each job stays, whole.
    [ "$(kept pbt | wc -l)" = 24 ]
    not grep -v '_num0\.a1$' <<<"$(kept pbt)"
    # Some were followed by several.
    ludwig replay "$id" --record | grep -o '\\"from\\": [0-9]*' | sort | uniq -c | awk '$1 >= 2 { many++ } END { exit !many }'
    ludwig results "$id" --json | grep -q '"from_checkpoint": *"param_0'
    ludwig_wait replay "$id" 2>replay
    grep -q '^session 1: [0-9]* answers*, the same again$' replay
    ludwig why "$id.24" | grep -q '^  it begins with the checkpoint of param_0'
    # Run once more, one comes out with the same gain; the trail that it saves names another job.
    not ludwig_wait reproduce "$id.24" >out 2>&1
    grep -q 'came out otherwise than job .*: 1 metric and 1 file are the same$' out || { cat out && return 1; }
    nothing_left
}
it 'population based training: each job goes on where the one that the advisor named ended' trains

is_killed() {
    rm "$TEST_TMP/records"
    write_trail 'sleep 0.5' '[ "${LUDWIG_JOB#*.}" -le 22 ] || gate last'
    search killed 'python3 -m ludwig_advisor pbt:4' 'budget: {configs: 30}' 'checkpoint: {keep: true, every: 1s}' \
        'retry: {max: 3, on: [signal]}'
    id=$(submit killed.yaml)
    n=0
    for victim in agent ludwigd advisor job; do
        n=$((n + 4))
        wait_until 60 "[ \"\$(recorded '^end')\" -ge $n ]"
        case $victim in
        agent) kill_hard $(agents) && ludwig_wait up ;;
        ludwigd) kill_hard ludwigd && ludwig_wait up ;;
        advisor) wait_until 60 'kill -KILL $(pids_of ludwig_advisor) 2>"$TEST_TMP/gone"' ;;
        job) wait_until 60 'kill -KILL $(pids_of job.sh | tail -1) 2>"$TEST_TMP/gone"' ;;
        esac
    done
    open last
    wait_until 240 "[ \"\$(sweep_state $id)\" = done ]"
    trails "$id" 30
    # One checkpoint of each stays, by the name that others look for, though copies were made while it ran.
    not grep -v '_num0\.a[0-9]*$' <<<"$(kept killed)"
    [ "$(kept killed | wc -l)" = 30 ]
    [ "$(ls "$SHARE/killed/.ludwig/checkpoints" | wc -l)" = 30 ]
    record=$(ludwig replay "$id" --record | grep -c '\\"type\\": \\"tell\\"')
    [ "$record" = 30 ]
}
it 'agent, ludwigd, advisor and a job are killed: each trail is right all the same' is_killed

# An advisor that gives one point after the other, and says the next one when one is refused.
write_answers() { # POINT...: before each how many jobs must have been told
    printf '%s\n' "$@" >answers
    cat >mine.py <<'END'
import json, sys

lines, told = [line.strip() for line in open(sys.argv[1])], 0
def say(**what):
    print(json.dumps(what), flush=True)
for text in sys.stdin:
    line = json.loads(text)
    told += line["type"] == "tell"
    if line["type"] == "space":
        say(type="hello", name="mine")
    elif line["type"] in ("ask", "refused"):
        re = line["seq"] if line["type"] == "ask" else re
        if not lines:
            say(type="give", re=re, points=[], done=True)
        elif told < int(lines[0].split(":")[0]):
            say(type="give", re=re, points=[], wait=True)
        else:
            say(type="give", re=re, points=[json.loads(lines.pop(0).split(":", 1)[1])])
END
}
answered() { # PROJECT LINE...: submits it, to its end
    search "$1" "python3 mine.py answers" 'budget: {configs: 9}' "${@:2}"
    sed -i 's/mine.py\]/mine.py, answers]/' "$1.yaml"
    ludwig_wait submit "$1.yaml" --wait 2>err
}

replications() {
    write_trail
    write_answers '0:{"params": {"x": 5}}' '2:{"params": {"x": 6}, "from": 1}' '4:{"params": {"x": 6}, "from": 2}' \
        '6:{"params": {"x": 6}}'
    id=$(answered reps 'reps: 2' 'checkpoint: {keep: true}')
    trails "$id" 8
    # The same parameters from elsewhere are another configuration.
    ludwig jobs "$id" --json | grep -o 'param_00[0-9]' | sort -u | wc -l | grep -qx 4
}
it 'each replication goes on from the same one, and 6 from elsewhere is another 6' replications

refused() {
    write_trail
    write_answers '0:{"params": {"x": 5}, "from": 1}' '0:{"params": {"x": 5}}' '1:{"params": {"x": 6}, "from": 7}' \
        '1:{"params": {"x": 6}, "from": 1}'
    id=$(answered words 'checkpoint: {keep: true}')
    refusals "$id" | grep -c . | grep -qx 2
    refusals "$id" | grep -q 'from: there is no configuration 7'
    [ "$(jobs_in done "$id")" = 2 ]
    # One that runs has left nothing yet.
    write_trail 'gate goes_on'
    write_answers '0:{"params": {"x": 5}}' '0:{"params": {"x": 6}, "from": 1}' '0:{"params": {"x": 7}}'
    search runs "python3 mine.py answers" 'budget: {configs: 2}' 'checkpoint: {keep: true}'
    sed -i 's/mine.py\]/mine.py, answers]/' runs.yaml
    id=$(submit runs.yaml)
    wait_until 60 "refusals $id | grep -q 'replication 0 of configuration 1 left no checkpoint: it has not ended'"
    open goes_on
    wait_until 60 "[ \"\$(sweep_state $id)\" = done ]"
    # Without keep: nothing stays.
    write_trail
    write_answers '0:{"params": {"x": 5}}' '1:{"params": {"x": 6}, "from": 1}' '1:{"params": {"x": 7}}'
    id=$(answered none)
    refusals "$id" | grep -q 'from: the sweep keeps no checkpoints of jobs that are done'
    [ -z "$(kept none 2>/dev/null)" ]
}
it 'a point that has left no checkpoint is refused, in words that say why' refused

others() {
    write_trail
    write_answers '0:{"params": {"x": 5}}'
    id=$(answered others 'checkpoint: {keep: true}')
    ludwig down
    python3 - "$(find "$TEST_TMP" -name ludwig.db)" "$id" <<'END'
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    assert db.execute("UPDATE sweep SET uid = 4242 WHERE id = ?", sys.argv[2:]).rowcount == 1
END
    ludwig up
    write_answers '0:{"params": {"x": 5}}' '1:{"params": {"x": 6}, "from": 1}' '1:{"params": {"x": 7}}'
    id=$(ludwig_wait submit others.yaml --reuse params --wait) # the answers are another source
    refusals "$id" | grep -q "configuration 1 left no checkpoint: .*, or is another user's"
    ludwig status "$id" --json | json - 'd["reused"] == 1 and d["jobs"]["done"] == 1'
}
it "what another user's job left is loaded by none" others

removed() {
    write_trail
    write_answers '0:{"params": {"x": 5}}' '1:{"params": {"x": 6}, "from": 1}'
    search removed "python3 mine.py answers" 'budget: {configs: 2}' 'checkpoint: {keep: true}'
    sed -i 's/mine.py\]/mine.py, answers]/' removed.yaml
    id=$(ludwig_wait submit removed.yaml --wait)
    ludwig rm "$id.2" --yes
    [ "$(kept removed | wc -l)" = 1 ]
    # Its parent's checkpoint goes, too; what is asked to go on from it says so, and does not begin at zero.
    rm -r "$SHARE/removed/.ludwig/checkpoints"
    id=$(ludwig_wait submit removed.yaml --wait 2>err) && return 1
    ludwig why "$id.1" >why || ludwig why "$id.2" >why
    grep -q 'there is no checkpoint of param_001 that it could go on from' why || { cat why err && return 1; }
    nothing_left
}
it 'rm removes the checkpoint with the job, and a job without the one that it goes on from fails' removed

done_testing
