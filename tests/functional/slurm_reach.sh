#!/usr/bin/env bash
# slurm_reach.sh - pilots on nodes from which no socket of ludwigd's is to be seen
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/slurm.sh"
slurm_possible || { skip 'pilots on other machines' "$slurm_lacks" && done_testing; }
[ "$(id -u)" = 0 ] || { skip 'pilots on other machines' 'hiding the sockets from them takes root' && done_testing; }
. "$TEST_ROOT/tests/functional/sshd.sh"
sshd_possible || { skip 'pilots on other machines' "$sshd_lacks" && done_testing; }
slurm_up
[ -z "$slurm_keeper" ] || trap 'sshd_down_all; slurm_down; test_cleanup' EXIT

# Of the state folder, where the socket is, these see nothing but the keys.
mkdir "$TEST_TMP/far"
cat >"$TEST_TMP/far-worker" <<END
#!/bin/sh
exec unshare -m sh -c '
    mkdir -p pilots && mount --bind pilots $TEST_TMP/far && mount -t tmpfs none . && cd "\$PWD" &&
        mkdir pilots && mount --move $TEST_TMP/far pilots && cd / && exec $LUDWIG_BIN/ludwig-worker "\$@"' far "\$@"
END
sed -i "2i cd '$XDG_STATE_HOME/ludwig' || exit" "$TEST_TMP/far-worker"
chmod 755 "$TEST_TMP/far-worker"

keys=$HOME/.ssh/authorized_keys
sshd_up login "AuthorizedKeysFile $keys"
printf '# mine\n%s' "$(cat "$HOME/.ssh/id_ed25519.pub")" >"$keys"
cp "$keys" keys.before

reached_by() { # MORE OF slurm:
    configure "slurm: {idle: 2s, worker: $TEST_TMP/far-worker, login_host: '127.0.0.1:$(sshd_port login)'$1}" \
        'resources: {cpus: 2}'
}

sweep() { # NAME
    printf '%s\n' "project: $1" 'command: sh job.sh' 'params: {n: [1, 2, 3, 4]}' \
        'resources: {cpus: 1, memory: 100MiB, time: 10min}' 'slurm: {partition: short}' >"$1.yaml"
    : >"$TEST_TMP/records"
    write_job 'echo hello' "gate $1"
    submit "$1.yaml"
}

pilots_of() { # SWEEP: what they have said
    pilot_logs "$1" | xargs cat
}

came_by() { # SWEEP WAY
    pilots_of "$1" | grep -q "connected .*way=$2"
}

tell_of() { # SWEEP
    pilots_of "$1"
    grep pilot "$XDG_STATE_HOME/ludwig/ludwigd.log"
    return 1
}

all_have_begun() {
    wait_until 120 '[ "$(recorded ^start)" -ge 4 ]'
}

# Each was done once, and its one line is in its log.
all_is_there() { # SWEEP PROJECT
    wait_until 120 ended "$1"
    [ "$(sweep_state "$1")" = done ]
    [ "$(published "$2" | wc -l)" = 4 ]
    [ "$(cat "$SHARE/$2"/logs/*/* | grep -cx hello)" -ge 4 ]
}

all_left() {
    wait_until 60 '[ -z "$(squeue -h)" ]'
}

key_folder() {
    find "$HOME/.local/state/ludwig/pilots" -mindepth 1 -maxdepth 1 -type d
}

by_key() {
    local sweep
    reached_by ''
    sweep=$(sweep key)
    all_have_begun
    came_by "$sweep" bridge || tell_of "$sweep"
    open key
    all_is_there "$sweep" key
    [ "$(stat -c %a "$(key_folder)" "$(key_folder)/key" | tr '\n' ' ')" = '700 600 ' ]
    [ "$(head -n 2 "$keys")" = "$(cat keys.before)" ]
    [ "$(grep -c 'ludwig-pilots:' "$keys")" = 1 ]
    [ "$(wc -l <"$keys")" = 3 ]
    ludwig doctor --json | json - 'any(c["check"] == "pilots" and c["found"].startswith("1 key ") for c in d["checks"])'
    all_left
}

with_key() { # COMMAND ARGUMENT...
    timeout 300 "$1" -F none -i "$(key_folder)/key" -o IdentitiesOnly=yes -o IdentityAgent=none \
        -o "UserKnownHostsFile=$(key_folder)/known_hosts" -o HostKeyAlias=ludwigd -o BatchMode=yes \
        "${@:2}" </dev/null 2>&1
}

nothing_else() {
    local port
    port=$(sshd_port login)
    with_key ssh -p "$port" 127.0.0.1 id >out || true
    not grep -a 'uid=' out
    with_key ssh -p "$port" -tt 127.0.0.1 >out || true
    grep -q 'PTY allocation request failed' out
    with_key ssh -p "$port" -W "127.0.0.1:$port" 127.0.0.1 >out || true
    grep -q 'administratively prohibited' out
    not with_key ssh -p "$port" -o ExitOnForwardFailure=yes -N -R "0:127.0.0.1:$port" 127.0.0.1
    not with_key sftp -P "$port" 127.0.0.1
    # The key is good for something.
    printf '\0\0\0\5\1\0\0\0\3' >hello
    timeout 300 ssh -F none -i "$(key_folder)/key" -o IdentitiesOnly=yes -o IdentityAgent=none -o HostKeyAlias=ludwigd \
        -o "UserKnownHostsFile=$(key_folder)/known_hosts" -p "$port" 127.0.0.1 <hello >out
    grep -aq '^ludwig bridge' out
}

# Its jobs know nothing of it.
sshd_gone() {
    local sweep
    sweep=$(sweep gone)
    all_have_begun
    sshd_down login
    wait_until 60 came_by "$sweep" store-and-forward || tell_of "$sweep"
    open gone
    all_is_there "$sweep" gone
    [ "$(recorded ^start)" = 4 ]
    all_left
    sshd_start login
}

# ludwigd sees files only when it looks, as on a file system that other machines write to.
by_files() {
    local sweep
    ludwig down
    reached_by ', login_key: false'
    export LUDWIG_INBOX_LISTED=1
    PATH=$LUDWIG_HOOKS_BIN:$PATH ludwig up
    sweep=$(sweep files)
    all_have_begun
    [ "$(cat "$keys")" = "$(cat keys.before)" ]
    [ -z "$(key_folder)" ]
    came_by "$sweep" store-and-forward || tell_of "$sweep"
    wait_until 30 'ludwig logs "'"$sweep"'.1" | grep -qx hello'
    kill_hard ludwigd
    PATH=$LUDWIG_HOOKS_BIN:$PATH ludwig up
    wait_until 60 'ludwig nodes --json | json - "[n[\"state\"] for n in d[\"nodes\"] if n[\"kind\"] == \"slurm\"] == [\"up\"]"'
    [ "$(recorded ^start)" = 4 ]
    scancel "$(squeue -h -o %A)"
    wait_until 120 '[ "$(recorded ^start)" = 8 ]'
    open files
    all_is_there "$sweep" files
    all_left
}

it 'they come through sshd, with a key that was made for them' by_key
it 'that key may do nothing else' nothing_else
it 'when sshd is gone they go on by files on the share' sshd_gone
it 'by files alone: a pilot that is cancelled and a ludwigd that is killed lose nothing' by_files
done_testing
