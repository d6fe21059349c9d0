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
END
start() {
    ludwigd --config "$TEST_TMP/ludwigd.yaml" 2>>"$TEST_TMP/ludwigd.log" &
    wait_until 10 'ludwig --server "unix:$TEST_TMP/server.sock" status >/dev/null 2>&1'
}
start
server=$(pids_of ludwigd)

scenario() { # NAME ARGUMENT...
    timeout 200 python3 "$TEST_ROOT/tests/functional/hostile.py" "$TEST_TMP/server.sock" "$(pids_of ludwigd)" "$@"
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
it 'who does not say hello in ten seconds is cut off' 'bears says_nothing'
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
else
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

again() {
    kill_hard ludwigd
    start
    # shellcheck disable=SC2046 # words
    scenario same_id_later $(cat "$TEST_TMP/same")
}
it 'the first answer is still given after kill -9 of ludwigd' again

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

done_testing
