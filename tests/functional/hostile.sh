#!/bin/bash
# hostile.sh - peers that are broken or mean harm themselves alone
. "$(dirname "$0")/lib.sh"

SHARE=$TEST_TMP/share
mkdir "$SHARE" "$TEST_TMP/state"
chmod 0700 "$TEST_TMP/state"
cat >"$TEST_TMP/ludwigd.yaml" <<END
share: $SHARE
state: $TEST_TMP/state
sockets: [$TEST_TMP/server.sock]
min_uid: 1
END
start() {
    ludwigd --config "$TEST_TMP/ludwigd.yaml" 2>>"$TEST_TMP/ludwigd.log" &
    wait_until 10 'ludwig --server "unix:$TEST_TMP/server.sock" status >/dev/null 2>&1'
}
start
server=$(pids_of ludwigd)

scenario() { # NAME ARGUMENT...
    timeout 300 python3 -S "$TEST_ROOT/tests/functional/hostile.py" "$TEST_TMP/server.sock" "$(pids_of ludwigd)" "$@"
}
# One scenario; ludwigd must be the same process afterwards.
bears() {
    scenario "$@"
    [ "$(pids_of ludwigd)" = "$server" ]
}

it 'what is no message ends that connection alone' 'bears garbage'
it 'a frame that is too long ends the connection before anything is allocated' 'bears oversized'
it 'a head that announces more than there is ends the connection' 'bears promises'
it 'deep nesting ends the connection' 'bears deep'
it 'fields of wrong types and sizes are refused' 'bears wrong_types'
it 'unknown optional fields are skipped' 'bears skips_unknown'
it 'a changing request without an id is refused' 'bears changing_needs_id'
it 'nothing but hello is heard first' 'bears before_hello'
it 'workers and clients say only what is theirs' 'bears wrong_role'
it 'who never reads the answers cannot make ludwigd grow' 'bears never_reads'
it 'who reads late gets every answer in order' 'bears reads_slowly'
it 'too many connections are turned away, the others served' 'bears many_connections'
it 'who does not say hello in half a minute is cut off' 'bears says_nothing'
it 'names of variables that are ludwig'\''s own are refused' 'bears own_variables'
if [ "$(id -u)" = 0 ]; then
    chmod 0755 "$TEST_TMP"
    users=$(getent passwd | awk -F: '$3 > 0 && $3 < 65534 && n++ < 4 { print s $3; s = "," }' ORS=)
    it 'users who take all connections leave some for root' 'bears crowd "$users"'
    nameless() {
        bears nameless 54329
        mkdir -p -m 0755 "$TEST_TMP/theirs/bin"
        cp "$LUDWIG_BIN/ludwig" "$TEST_TMP/theirs/bin"
        status=0
        setpriv --reuid=54329 --regid=54329 --clear-groups env -i HOME=/nonexistent PATH="$PATH" \
            "$TEST_TMP/theirs/bin/ludwig" --server "unix:$TEST_TMP/server.sock" status 2>err || status=$?
        [ $status = 4 ]
        grep 'uid 54329 has no account' err
    }
    it 'a uid without an account is told so' nameless
    # shellcheck disable=SC2086 # two words
    it 'what an advisor failed with is told to the owner of its sweep alone' 'bears hears_nothing $(echo $users | cut -d, -f1,2 --output-delimiter=" ")'
    others_program() {
        sweep=$(bears others_advised "${users%%,*}")
        not ludwig --server "unix:$TEST_TMP/server.sock" replay "$sweep" 2>err
        grep "its advisor would run here as you" err
        not ludwig --server "unix:$TEST_TMP/server.sock" replay "$sweep" --with true 2>err
        grep 'the advisor has not run yet' err
    }
    it "replay does not run the program of another user's sweep" others_program
    others_shell() {
        printf '#!/bin/sh\necho ran >>%s\n' "$TEST_TMP/ran" >"$TEST_TMP/program"
        chmod 0755 "$TEST_TMP/program"
        sweep=$(bears others_shell "${users%%,*}" "$TEST_TMP/program")
        SHELL=/bin/sh ludwig --server "unix:$TEST_TMP/server.sock" debug "$sweep.1" look 2>err </dev/null
        cat err
        [ ! -e "$TEST_TMP/ran" ]
        grep "no shell was started, as its sweep is .*'s" err
        [ -e look/param2val.json ]
    }
    it "debug starts no shell with the variables of another user's sweep" others_shell
else
    skip "debug starts no shell with the variables of another user's sweep" 'takes root'
    skip 'what an advisor failed with is told to the owner of its sweep alone' 'takes root'
    skip "replay does not run the program of another user's sweep" 'takes root'
    skip 'users who take all connections leave some for root' 'takes root'
    skip 'a uid without an account is told so' 'takes root'
fi
it 'connections that come and go leave nothing' 'bears comes_and_goes'
it 'a submit that nobody ends is seen by nobody' 'bears abandoned_submits'
it 'a submit that breaks the rules is refused' 'bears broken_submits'
it 'submits of one second with one configuration cost no more than others' 'bears same_second'
it 'the same request id gives the same answer, and has one effect' '
    bears same_id >"$TEST_TMP/same"
'
it 'a report about another worker'\''s attempt is refused' 'bears others_attempt'
it 'a report about an attempt that nobody knows is refused' 'bears unknown_attempt'
it 'a worker with impossible claims is refused' 'bears outrageous_worker'
it 'an advisor that stops very much, or says much that means nothing, is borne' 'bears loud_advisor'
it 'searches are bounded in size and number' 'bears large_searches'

again() {
    kill_hard ludwigd
    start
    # shellcheck disable=SC2046 # words
    scenario same_id_later $(cat "$TEST_TMP/same")
}
it 'the first answer is still given after kill -9 of ludwigd' again

# Rows of sweeps are made by hand, as submits of so many take minutes.
many_stalls() {
    scenario may_stall
    kill_hard ludwigd
    cp -r "$TEST_TMP/state" "$TEST_TMP/kept"
    python3 - "$TEST_TMP/state/ludwig.db" <<'END'
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    columns = ", ".join(row[1] for row in db.execute("PRAGMA table_info(sweep)") if row[1] != "id")
    some = f"INSERT INTO sweep({columns}) SELECT {columns} FROM sweep WHERE notify_when <> 0"
    for _ in range(16):  # each doubles them
        db.execute(some)
END
    start
    scenario is_prompt
    kill_hard ludwigd
    rm -rf "$TEST_TMP/state"
    mv "$TEST_TMP/kept" "$TEST_TMP/state"
    start
}
it 'others are served while it looks whether very many sweeps of one user go on' many_stalls

limited() {
    kill_hard ludwigd
    rm -rf "$TEST_TMP/state" "$SHARE"
    mkdir -m 0700 "$TEST_TMP/state"
    mkdir "$SHARE"
    echo 'limits: {queued_jobs: 5500, projects: 4, open_submits: 8}' >>"$TEST_TMP/ludwigd.yaml"
    start
    scenario has_limits 5500 4 8
}
it 'one user may have so many open submits, queued jobs and projects' limited

limited_bytes() {
    kill_hard ludwigd
    sed -i '/^limits:/d' "$TEST_TMP/ludwigd.yaml"
    echo 'limits: {sweep_bytes: 400kB}' >>"$TEST_TMP/ludwigd.yaml"
    start
    scenario has_bytes 400000
}
it 'descriptions of one user'\''s sweeps take bounded room in the database' limited_bytes

done_testing
