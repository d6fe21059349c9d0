#!/bin/bash
# cancel.sh - which jobs cancel takes, what it asks before, and what it says
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0}'

# Waits forever, as no machine has so many processors.
waiting() { # PROJECT LINE...
    local project=$1
    shift
    printf '%s\n' "project: $project" 'command: "true"' 'source: []' 'resources: {cpus: 4000}' "$@" \
        >"$project.yaml"
}
states() { ludwig jobs "$1" --json | json - '" ".join(j["state"] for j in d["jobs"])'; }
terminal() { python3 -S "$TEST_ROOT/tests/functional/terminal.py" 24x80 "$@"; }

drains() {
    printf '%s\n' 'project: d' 'command: sh job.sh {a}' 'source: job.sh' 'params: {a: [1, 2, 3, 4, 5]}' \
        'retry: {max: 1, on: [failed]}' >d.yaml
    write_job 'gate one' 'case $LUDWIG_JOB in *.2) exit 3;; esac'
    id=$(submit d.yaml)
    wait_until 10 '[ "$(recorded "^start '"$id"'\.")$(jobs_in running '"$id"')" = 22 ]'
    ludwig cancel --drain "$id" 2>err
    grep -qx '5 jobs drained: what waited is cancelled, what runs may finish' err
    wait_until 10 '[ "$(jobs_in cancelled '"$id"')" = 3 ]'
    [ "$(jobs_in running "$id")" = 2 ]
    ludwig cancel --drain "$id" 2>err
    grep -qx "sweep $id: no job waits: nothing to cancel" err
    open one
    wait_until 10 ended "$id"
    [ "$(states "$id")" = 'done failed cancelled cancelled cancelled' ]
    # What failed is not tried again, though the file asks for it.
    [ "$(recorded "^start $id\.")" = 2 ]
    [ "$(published d | wc -l)" = 1 ]
    ludwig cancel --drain "$id" 2>err
    grep -qx "sweep $id is over: nothing to cancel" err
}
it 'cancel --drain drops what waits and lets running jobs finish' drains

ranges() {
    waiting w 'params: {a: {range: [1, 12]}}'
    id=$(submit w.yaml)
    ludwig cancel "$id.2-4,3,6" "$id.5" 2>err
    grep -qx '5 jobs cancelled' err
    [ "$(states "$id")" = "queued$(printf ' cancelled%.0s' 2 3 4 5 6)$(printf ' queued%.0s' {7..12})" ]
    ludwig cancel "$id.2-6" 2>err
    grep -qx "sweep $id: none of these jobs waits or runs: nothing to cancel" err
    ludwig cancel last.12 last.12 --json | json - 'd["v"] == 1 and d["jobs"] == 1'
    ludwig cancel last.1 --quiet >out 2>&1
    [ ! -s out ]
    ludwig cancel "$id" --where 'a in (7, 8) or a > 10' 2>err
    grep -qx '3 jobs cancelled' err
    [ "$(ludwig jobs "$id" --state queued -q | tr '\n' ' ')" = "$id.9 $id.10 " ]
    for wrong in "$id." "$id.0" "$id.5-3" x "$id,8" all.3; do
        status=0
        ludwig cancel "$wrong" 2>err || status=$?
        [ $status = 2 ]
        grep -q "^ludwig: '$wrong' names no sweep or job: .* (write 7, 7.13, 7.1-40, 7.1,5,9, last or all)$" err
    done
    [ "$(jobs_in queued "$id")" = 2 ]
    status=0
    ludwig cancel last.999 2>err || status=$?
    [ $status = 1 ]
    grep -qx "ludwig: there is no job $id\.999: sweep $id has 12 jobs" err
    ludwig cancel 999 2>err && return 1
    grep -q 'there is no sweep 999' err
}
it 'cancel takes ranges, lists and expressions, each job once' ranges

all_of_them() {
    waiting x 'params: {a: [1, 2, 3]}'
    first=$(submit x.yaml --reuse none) second=$(submit x.yaml --reuse none)
    ludwig pause "$second" --quiet
    ludwig cancel all 2>err
    # With what the test before left.
    grep -qx '8 jobs cancelled' err
    [ "$(ludwig status --state running,paused -q | wc -l)" = 0 ]
    [ "$(jobs_in cancelled "$first")$(jobs_in cancelled "$second")" = 33 ]
    ludwig status "$first" | grep -q '^progress .* 0 %, then cancelled$'
    ludwig cancel all 2>err
    grep -qx 'none of your sweeps goes on any more: nothing to cancel (name those that are over)' err
    third=$(submit x.yaml --reuse none)
    ludwig cancel all --user nobody --json 2>err | json - 'd["jobs"] == 0'
    [ "$(jobs_in queued "$third")" = 3 ]
    ludwig cancel all "$third.1" "$third" --json 2>err | json - 'd["jobs"] == 3'
}
it 'all is every sweep of one'\''s own that is not over' all_of_them

asks() {
    waiting big 'params: {a: {range: [1, 60]}, b: [0, 1]}'
    id=$(submit big.yaml)
    ludwig cancel "$id.1" --quiet
    for answer in 'n\r' '\r' 'yess\r' '\x04'; do
        status=0
        terminal --type '[y/N] ' "$answer" ludwig cancel "$id" >out || status=$?
        [ $status = 1 ]
        grep -q "^cancel 119 jobs of sweep $id? \[y/N\] " out
        grep -q 'nothing was changed' out
        [ "$(jobs_in queued "$id")" = 119 ]
    done
    # Not for so few, not for a job that is over already, not with --yes.
    terminal ludwig cancel "$id.1-18" >out
    grep -q '^17 jobs cancelled' out
    terminal --type '[y/N] ' 'n\r' ludwig cancel "$id.10-120" >out && return 1
    grep -q "cancel 102 jobs of sweep $id?" out
    terminal ludwig cancel "$id" --where 'a < 11' >out
    grep -q '^2 jobs cancelled' out
    terminal ludwig cancel "$id" >out
    grep -q '^100 jobs cancelled' out
    id=$(submit big.yaml --reuse none) other=$(submit big.yaml --reuse none)
    terminal --type 'pause 240 jobs of 2 sweeps? [y/N] ' 'n\r' ludwig pause all >out && return 1
    terminal --type '[y/N] ' ' n\r' ludwig cancel "$id" --where 'a > 1' >out && return 1
    grep -q "cancel 118 jobs of sweep $id?" out
    terminal ludwig cancel "$id" --yes >out
    grep -q '^120 jobs cancelled' out
    terminal --type '[y/N] ' 'YES\r' ludwig cancel "$other" >out
    grep -q '^120 jobs cancelled' out
    terminal --type 'retry 240 jobs of 2 sweeps? [y/N] ' 'y\r' ludwig retry "$id" "$other" >out
    grep -q '^240 jobs queued again' out
    # Nobody sits at a pipe.
    terminal sh -c "ludwig cancel $id </dev/null" >out
    grep -q '^120 jobs cancelled' out
    ludwig cancel all 2>err
    grep -qx '120 jobs cancelled' err
}
it 'on a terminal more than 100 jobs are changed only after a yes' asks

many_ranges() {
    waiting many 'params: {a: {range: [1, 1250]}, b: [0, 1]}'
    id=$(submit many.yaml)
    ludwig cancel "$id" --where 'b = 0' 2>err
    grep -qx '1250 jobs cancelled' err
    [ "$(jobs_in queued "$id")" = 1250 ]
    ludwig jobs "$id" --state cancelled --json | json - 'all(j["params"]["b"] == 0 for j in d["jobs"])'
    ludwig cancel "$id" --quiet
}
it 'more ranges than a request takes are several requests' many_ranges

# ---- an admin among others ----

uid=54323
as_user() { # COMMAND...
    setpriv --reuid=$uid --regid=$uid --clear-groups env -i HOME="$TEST_TMP/user" \
        TMPDIR="$TEST_TMP/user" PATH="$TEST_TMP/bin:/usr/bin:/bin" LUDWIG_TEST_MARK="$LUDWIG_TEST_MARK" "$@"
}

# What it has run for is set back in the database, as nobody waits ten minutes.
long_runs() {
    write_job 'gate long'
    printf '%s\n' 'project: long' 'command: sh job.sh' 'source: job.sh' >long.yaml
    id=$(submit long.yaml)
    wait_until 20 '[ "$(jobs_in running '"$id"')" = 1 ]'
    ludwig down
    python3 - "$XDG_STATE_HOME/ludwig/server/ludwig.db" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE attempt SET started_at = started_at - 11 * 60 * 1000 WHERE started_at > 0")
db.commit()
END
    ludwig up
    wait_until 20 '[ "$(jobs_in running '"$id"')" = 1 ]'
    terminal --type "cancel 1 job of sweep $id, 1 of which has run for more than 10 minutes? [y/N] " 'n\r' \
        ludwig cancel "$id" >out && return 1
    [ "$(jobs_in running "$id")" = 1 ]
    terminal ludwig cancel "$id" --drain >out
    terminal --type '[y/N] ' 'y\r' ludwig cancel "$id" >out
    wait_until 20 ended "$id"
}
long_is_asked='on a terminal it asks before jobs are ended that have run for long'
if [ -n "${LUDWIG_TEST_LAB-}" ]; then
    skip "$long_is_asked" 'the database is on another host'
else
    it "$long_is_asked" long_runs
fi

admins() {
    chmod 0755 "$TEST_TMP"
    mkdir -m 0755 "$TEST_TMP/bin"
    cp "$LUDWIG_BIN"/ludwig "$LUDWIG_BIN"/ludwigd "$LUDWIG_BIN"/ludwig-worker "$TEST_TMP/bin"
    mkdir -m 0700 "$TEST_TMP/user"
    waiting theirs 'params: {a: [1, 2, 3]}'
    cp theirs.yaml "$TEST_TMP/user"
    chown -R $uid:$uid "$TEST_TMP/user"
    as_user sh -c 'cd && ludwig submit theirs.yaml'
    LUDWIG_SERVER=$(grep '^unix:' "$TEST_TMP/user/.local/state/ludwig/address")
    export LUDWIG_SERVER
    not ludwig status
    configure "server_user: '#$uid'"
    [ "$(ludwig status --quiet)" = 1 ]
    [ -z "$(ludwig status --quiet --mine)" ]
    [ "$(ludwig status --quiet --user "#$uid")" = 1 ]
    ludwig cancel all 2>err
    grep -qx 'none of your sweeps goes on any more: nothing to cancel (name those that are over)' err
    ludwig cancel last 2>err && return 1
    grep -q 'you have no sweep here yet' err
    [ "$(jobs_in queued 1)" = 3 ]
    ludwig cancel last.1 --user "#$uid" --json | json - 'd["jobs"] == 1'
    ludwig cancel all --user "#$uid" --json | json - 'd["jobs"] == 2'
    as_user ludwig down
}
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    it 'last and all are one'\''s own also for an admin, unless --user says whose' admins
else
    skip 'last and all are one'\''s own also for an admin' 'takes root and setpriv'
fi

done_testing
