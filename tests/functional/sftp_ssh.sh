#!/bin/bash
# sftp_ssh.sh - files over a real sshd whose sessions are cut
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/sshd.sh"

sshd_possible || {
    skip 'files over an sshd whose sessions are cut' "$sshd_lacks"
    done_testing
}

configure 'resources: {cpus: 2, gpus: 0, memory: 1GiB}'
ludwig up 2>/dev/null
socket=$(sed -n 's/^unix://p' "$XDG_STATE_HOME/ludwig/address")
sshd_up srv

far() { # COMMAND...
    ludwig_wait --server "ssh://srv$socket" "$@"
}

sessions() { # what serves them
    local listener
    listener=$(cat "$SSHD/srv/shell_pid")
    sshd_family "$listener" | grep -vx "$listener" || true
}

# Kills all that serves a session, of which some may just end, or come back from the last time; the
# sshd that listens stays.
cut_sessions() {
    wait_until 20 '[ -n "$(sessions)" ]'
    # shellcheck disable=SC2046
    kill -KILL $(sessions) || true
}

packs=$SHARE/demo/.ludwig/packs
parts() { # how many are there
    find "$packs/parts" -name '*.list' 2>/dev/null | wc -l
}

mkdir many
new_content() {
    parts_before=$(parts)
    for i in 1 2 3 4; do head -c 130000000 /dev/urandom >"many/$i"; done
}
printf '%s\n' 'project: demo' 'command: "true"' 'source: [many]' >m.yaml

arrived() {
    find "$packs" -type f ! -name '.*' | python3 -S "$TEST_ROOT/tests/functional/packs_check.py"
    far submit m.yaml --dry-run --json | json - 'd["upload_files"] == 0'
    rm -r "$packs"
}

# So many parts more than before.
wait_for_parts() {
    wait_until 60 "[ \"\$(parts)\" -ge $((parts_before + $1)) ]"
}

# What ssh's configuration runs tells how often that was read.
several() {
    cp "$HOME/.ssh/config" config
    printf 'Match exec "echo asked >>%s/asked"\n' "$TEST_TMP" >>"$HOME/.ssh/config"
    command ssh -F "$HOME/.ssh/config" -G srv >/dev/null
    mv "$TEST_TMP/asked" once
    : >"$SSHD/srv/log"
    new_content
    far submit m.yaml
    mv config "$HOME/.ssh/config"
    # Eight where answers come late, as on a busy machine.
    grep -c 'Accepted publickey' "$SSHD/srv/log" | grep -x '[48]'
    cmp "$TEST_TMP/asked" once
    arrived
}
it 'much is sent over four sessions or more' several

arrived_mb() {
    local mb
    mb=$(du -sm "$packs" 2>/dev/null | cut -f1) || true
    echo "${mb:-0}"
}

# By what has arrived, not by parts: these go side by side, and all are complete at nearly one time.
sessions_cut() {
    new_content
    far submit m.yaml 2>err &
    client=$!
    for mb in 60 250; do
        wait_until 60 "[ \"\$(arrived_mb)\" -ge $mb ]"
        cut_sessions
    done
    wait $client
    cat err
    arrived
}
it 'an upload whose sessions are killed goes on by itself' sessions_cut

restarted() {
    new_content
    far submit m.yaml 2>err &
    client=$!
    wait_for_parts 1
    sshd_down srv
    sleep 2
    sshd_start srv
    wait $client
    cat err
    arrived
}
it 'so does one whose sshd is away for some seconds' restarted

gone_for_good() {
    status=0
    new_content
    far submit m.yaml 2>err &
    client=$!
    wait_for_parts 1
    sshd_down srv
    wait $client || status=$?
    cat err
    [ $status = 3 ]
    [ "$(grep -vc '^note: ' err)" = 1 ]
    grep -q 'the next try goes on where this one stopped' err
    sshd_start srv
    far submit m.yaml
    arrived
}
it 'one whose sshd stays away says so, and the next submit goes on with it' gone_for_good

followed() {
    far cancel 1 2 3
    cat >slow.sh <<END_OF_JOB
echo begins
until [ -e $TEST_TMP/gates/go ]; do sleep 0.3; done
seq 30000
until [ -e $TEST_TMP/gates/end ]; do sleep 0.3; done
seq 30000
END_OF_JOB
    printf '%s\n' 'project: demo' 'command: sh slow.sh' 'source: slow.sh' >slow.yaml
    id=$(far submit slow.yaml)
    far logs "$id.1" -f >all &
    follower=$!
    wait_until 20 'grep -q begins all'
    cut_sessions
    open go
    wait_until 30 'grep -q "^30000$" all'
    cut_sessions
    open end
    wait $follower
    ludwig logs "$id.1" | cmp all -
}
it 'logs -f goes on over a new session, without losing or repeating a line' followed

done_testing
