#!/bin/bash
# old_state.sh - what an older version has left is gone on with: database, agent's state folder, share
#
# tests/fixtures/make.sh says what that is.
. "$(dirname "$0")/lib.sh"

state=$XDG_STATE_HOME/ludwig
cd / && rm -rf "$HOME" "$TEST_TMP/work"
tar -xJf "$TEST_ROOT/tests/fixtures/0.1-ea6eb4a.tar.xz" -C "$TEST_TMP" --no-same-owner &&
    python3 "$TEST_ROOT/tests/fixtures/place.py" "$TEST_TMP" || exit 1
mkdir -m 0700 -p "$XDG_CACHE_HOME"
cd "$TEST_TMP/work" || exit 1

starts() {
    # What runs in a pilot is given back when the pilot has been silent for so long; before that all is
    # looked at.
    echo 'lease: 45s' >>"$state/ludwigd.yaml"
    ludwigd --config "$state/ludwigd.yaml" 2>"$TEST_TMP/log" &
    wait_until 20 ludwig status || {
        cat "$TEST_TMP/log"
        return 1
    }
}
it 'ludwigd opens the database' starts

as_it_was() {
    local id
    ludwig status --json >status
    python3 - "$TEST_TMP/shown/status.json" status "$(id -un)" <<'END'
import json, sys
old, new = (json.load(open(path))["sweeps"] for path in sys.argv[1:3])
for sweep in old:
    sweep["user"] = sys.argv[3]
assert [s["sweep"] for s in old] == [s["sweep"] for s in new] == [6, 5, 4, 3, 2, 1], new
for was, now in zip(old, new):
    for name in "state", "project", "user", "configs", "reps", "submitted_at", "ended_at":
        assert was[name] == now[name], (name, was, now)
    # There are more states of jobs now, and none is in them.
    assert dict.fromkeys(now["jobs"], 0) | was["jobs"] == now["jobs"], (was, now)
END
    for id in 1 2 3 4 5 6; do
        ludwig jobs $id --json >jobs
        python3 - "$TEST_TMP/shown/jobs$id.json" jobs <<'END'
import json, sys
old, new = (json.load(open(path))["jobs"] for path in sys.argv[1:3])
assert len(old) == len(new) > 0
for was, now in zip(old, new):
    for name in "job", "state", "params", "attempt", "exit_code", "signal", "reason", "run_path", "started_at":
        # Why a job waits is said by later versions only.
        assert was[name] == now[name] or (name, was[name]) == ("reason", None), (name, was, now)
END
    done
}
it 'sweeps and jobs are as they were' as_it_was

results() {
    ludwig results 1 --json >results
    python3 - "$TEST_TMP/shown/results1.json" results <<'END'
import json, sys
old, new = (json.load(open(path)) for path in sys.argv[1:3])
def same(was, now): # what was there then; later versions say more
    if isinstance(was, dict):
        return all(name in now and same(was[name], now[name]) for name in was)
    if isinstance(was, list):
        return len(was) == len(now) and all(map(same, was, now))
    return was == now
assert len(old["results"]) == 3 and same(old, new), (old, new)
END
    [ "$(published old | wc -l)" = 7 ]
    [ "$(ludwig logs 1.1)" = 'value 1' ]
    ludwig fetch 1 fetched
    [ "$(find fetched -name value | wc -l)" = 6 ]
}
it 'results and logs that it has published are read' results

jobs_end() {
    local token
    token=$(published running | sed -n 's/^5\.2 \([0-9a-f]*\) .*/\1/p')
    [ -n "$token" ]
    touch "$SHARE"/running/gate{1,3,4,5}
    ludwig_wait up --local
    wait_until 60 ended 5
    [ "$(sweep_state 5)" = done ]
    published running >now
    [ "$(wc -l <now)" = 5 ]
    # Its end was told only now, by the old agent's folder; the other one had run when all was killed.
    grep -q "^5\.2 $token 1 " now
    [ "$(grep -c '^start 5\.2 ' "$SHARE/running/records")" = 1 ]
    [ "$(grep -c '^start 5\.1 ' "$SHARE/running/records")" = 2 ]
    grep -q '^5\.1 [0-9a-f]* 2 ' now
}
it 'the old agent takes up what it had: what had ended is done, what ran runs again' jobs_end

pilots_end() {
    touch "$SHARE/piloted/gate"
    wait_until 60 ended 6
    [ "$(sweep_state 6)" = done ]
    [ "$(published piloted | wc -l)" = 3 ]
}
it 'what ran in a pilot that is gone, and what waited for one, runs here' pilots_end

resumed() {
    ludwig cancel 4
    [ "$(sweep_state 4)" = cancelled ]
    ludwig retry 2
    wait_until 60 ended 2
    job 2.2 'j["state"] == "failed" and j["attempt"] == 2'
}
it 'what was paused is cancelled, what had failed is tried again' resumed

packs_used() {
    local id before
    before=$(find "$SHARE/old/.ludwig/packs" -type f | sort | xargs sha256sum)
    rm -rf "$SCRATCH"/*/cache/[0-9a-f]*
    printf '%s\n' 'project: old' 'command: sh job.sh {n}' 'source: [job.sh]' 'data: [data]' 'params: {n: [1, 21]}' >again.yaml
    id=$(submit again.yaml)
    wait_until 60 ended "$id"
    [ "$(sweep_state "$id")" = done ] || { ludwig why "$id.1" && return 1; }
    [ "$(find "$SHARE/old/.ludwig/packs" -type f | sort | xargs sha256sum)" = "$before" ]
    ludwig submit again.yaml --json | json - 'd["reused"] == 2'
}
it 'packs that it has made are used' packs_used

it 'nothing is left over' nothing_left
done_testing
