# search_kills.sh - a search of a table of trainings, with kills; sourced after lib.sh
#
# The table has the format of make bench-search (docs/search.md).  A job reports the values of one row of the table
# and sleeps in between, the advisor chooses rows near the best one so far, and the rule of `stop:` stops poor jobs.
#
#     search_table               write table.json, table.f32, table.py, train.py and choose.py
#     search_file LINE...        write search.yaml, with these lines
#     search_storm SWEEP         kill advisor, agent and ludwigd twice each; the command $search_agents prints the
#                                agents' pids, and $search_up starts agent and ludwigd again
#     search_exact SWEEP         check that no trial was lost or doubled, and that the record replays to the same
#                                decisions
set -u

search_points=24
search_patience=10min # longer than the test, so that the advisor and not ludwigd chooses each point
search_up='ludwig_wait up'
search_agents=agents

search_table() {
    python3 - <<'END'
import array, json, random
draw, epochs = random.Random(1), 9
configs = [[round(draw.random(), 3), round(draw.random(), 3)] for _ in range(60)]
cells = array.array("f")
for x, y in configs:
    for epoch in range(1, epochs + 1):
        cells.extend([(x - 0.3) ** 2 + (y - 0.6) ** 2 + 1 / epoch + draw.random() / 50, 0.3 * epoch])
with open("table.json", "w") as f:
    json.dump({"name": "table", "kind": "drawn", "goal": "min", "metric": "loss", "params": [
        {"name": name, "type": "float", "log": False, "low": 0.0, "high": 1.0} for name in "xy"],
        "configs": configs, "seeds": 1, "epochs": epochs, "targets": ["loss", "time"],
        "layout": ["config", "epoch", "target"], "shape": [60, epochs, 2], "file": "table.f32"}, f)
with open("table.f32", "wb") as f:
    cells.tofile(f)
END
    cat >table.py <<'END'
import array, json
head, cells = json.load(open("table.json")), array.array("f")
cells.frombytes(open("table.f32", "rb").read())
def row_of(x, y):
    return min(range(len(head["configs"])), key=lambda i: (head["configs"][i][0] - x) ** 2 + (head["configs"][i][1] - y) ** 2)
def cell(row, epoch):
    i = 2 * (row * head["epochs"] + epoch - 1)
    return cells[i], cells[i + 1]
END
    # A second attempt starts from the beginning and reports the same values.  Half of the jobs wait until the storm is
    # over, so that the search does not end before it on a slow machine, where the kills take long.
    cat >train.py <<END
import json, os, sys, time
from table import cell, head, row_of
while int(os.environ["LUDWIG_JOB"].split(".")[1]) > $search_points / 2 and not os.path.exists("$TEST_TMP/gates/calm"):
    time.sleep(0.05)
row, began = row_of(*map(float, sys.argv[1:])), time.time()
for epoch in range(1, head["epochs"] + 1):
    value, seconds = cell(row, epoch)
    time.sleep(max(0, began + seconds - time.time()))
    with open(os.environ["LUDWIG_METRICS"], "a") as f:
        f.write(json.dumps({"loss": value, "epoch": epoch}) + "\\n")
END
    cat >choose.py <<'END'
import random
import ludwig
from table import head

def suggest(search, n, seed):
    draw, points = random.Random(seed), []
    tried = [[t.params["x"], t.params["y"]] for t in search.trials.values()]
    ended = [t for t in search.trials.values() if t.value is not None and not t.stopped]
    best = min(ended, key=lambda t: t.value).params if ended else {"x": draw.random(), "y": draw.random()}
    for _ in range(n):
        left = [c for c in head["configs"] if c not in tried]
        near = min(left, key=lambda c: (c[0] - best["x"]) ** 2 + (c[1] - best["y"]) ** 2)
        tried.append(near if draw.random() < 0.5 else draw.choice(left))
        points.append(dict(zip("xy", tried[-1])))
    return points

ludwig.advise(suggest, "choose")
END
    cp "$TEST_ROOT/client/python/ludwig.py" .
}

search_file() { # LINE...
    printf '%s\n' 'project: search' 'source: [table.json, table.f32, table.py, train.py, choose.py, ludwig.py]' \
        'command: python3 train.py {x} {y}' 'params: {x: {uniform: [0, 1]}, y: {uniform: [0, 1]}}' \
        'method: {advisor: python3 choose.py, ahead: 1, patience: '"$search_patience}" "budget: {configs: $search_points}" \
        'stop: {rule: asha, step: epoch, first: 2, eta: 2, max_step: 9}' 'results: {metric: loss, goal: min}' \
        "$@" >search.yaml
}

search_sessions() { # SWEEP
    ludwig replay "$1" --record | grep -c '\\"type\\": \\"session\\"'
}

search_storm() { # SWEEP
    local n=0 victim
    for victim in advisor agent ludwigd advisor ludwigd agent; do
        wait_until 60 "[ \"\$(search_sessions $1)\" -gt $n ]"
        n=$(search_sessions "$1")
        wait_until 60 '[ -n "$(pids_of choose.py)" ]'
        # shellcheck disable=SC2046 # one word each
        case $victim in
        advisor) kill -KILL $(pids_of choose.py) ;;
        agent)
            wait_until 60 '[ -n "$($search_agents)" ]'
            kill_hard $($search_agents) && $search_up
            ;;
        ludwigd) kill_hard ludwigd && $search_up ;;
        esac
    done
    wait_until 60 "[ \"\$(search_sessions $1)\" -gt $n ]"
    open calm
}

search_exact() { # SWEEP
    ludwig replay "$1" --record >record
    ludwig jobs "$1" --json >jobs.json
    python3 - "$search_points" "$search_patience" <<'END'
import json
import sys
from table import cell, row_of
n = int(sys.argv[1])
lines = [json.loads(text) for text in open("record")]
assert [x["seq"] for x in lines] == list(range(1, len(lines) + 1)), "a line is missing"
down = [json.loads(x["body"]) for x in lines if x["dir"] == "down"]
given = [p["id"] for x in down if x["type"] == "given" for p in x["points"]]
assert given == list(range(1, n + 1)), given
assert sys.argv[2] != "10min" or all(x["by"] == "advisor" for x in down if x["type"] == "given")
assert not [x for x in down if x["type"] == "refused"]
tells = [x for x in down if x["type"] == "tell"]
assert sorted(x["id"] for x in tells) == given, sorted(x["id"] for x in tells)
jobs = {(j["params"]["x"], j["params"]["y"]): j for j in json.load(open("jobs.json"))["jobs"]}
assert len(jobs) == n, len(jobs)
for tell in tells:
    point = tell["params"]["x"], tell["params"]["y"]
    job, is_stopped = jobs[point], tell.get("stopped", False)
    assert job["state"] == ("stopped" if is_stopped else "done"), (job["state"], tell)
    # What the advisor was told is what the table has; what is asked to end may report once more.
    assert tell["value"] in [cell(row_of(*point), e)[0] for e in range(tell["step"] if is_stopped else 9, 10)], tell
stopped = [x["step"] for x in tells if x.get("stopped", False)]
assert 0 < len(stopped) < n, "nothing was stopped, or all"
assert min(stopped) < 9, "on a slow machine a job may come to its end meanwhile, but not all of them"
assert down[-1]["type"] == "end"
END
    [ "$(find "$SHARE/search/stopped" -name job.json | wc -l)" = "$(jobs_in stopped "$1")" ]
    [ "$(published search | wc -l)" = "$(jobs_in "done" "$1")" ]
    ludwig replay "$1" 2>replay
    [ "$(grep -c 'the same again$' replay)" -ge 6 ]
}
declare -ft search_storm search_exact
