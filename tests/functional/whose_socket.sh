#!/bin/bash
# whose_socket.sh - nothing is said to a server of this machine that is neither root's nor one's own
. "$(dirname "$0")/lib.sh"

if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
    skip 'nobody believes a socket of another user' 'takes root and setpriv'
    done_testing
fi

user=54321
other=54322
chmod 0755 "$TEST_TMP"
mkdir -m 0755 "$TEST_TMP/bin" "$TEST_TMP/fixed"
mkdir -m 1777 "$TEST_TMP/shared"
# Copies, as the build folder may lie where others cannot look.
cp "$LUDWIG_BIN"/ludwig "$LUDWIG_BIN"/ludwigd "$LUDWIG_BIN"/ludwig-worker "$TEST_TMP/bin"
user_home=$TEST_TMP/user
install -d -m 0700 -o $user -g $user "$user_home" "$user_home/.local" "$user_home/.local/state" \
    "$user_home/.local/state/ludwig" "$user_home/.config" "$user_home/.config/ludwig"

as() { # UID COMMAND...
    setpriv --reuid="$1" --regid="$1" --clear-groups env -i HOME="$user_home" PATH="$TEST_TMP/bin:/usr/bin:/bin" \
        LUDWIG_TEST_MARK="$LUDWIG_TEST_MARK" "${@:2}"
}

# A server of that user's, which keeps what it is told.
cat >"$TEST_TMP/bin/listen" <<'END'
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1] + ".new")
os.chmod(sys.argv[1] + ".new", 0o777)
s.listen(8)
os.rename(sys.argv[1] + ".new", sys.argv[1])
while True:
    c, _ = s.accept()
    c.settimeout(0.5)
    try:
        heard = c.recv(4096)
    except OSError:
        heard = b""
    if heard != b"settled?":
        with open(sys.argv[2], "ab") as f:
            f.write(heard)
    c.close()
END
listen() { # UID SOCKET: what it hears is in the file $TEST_TMP/heard
    : >"$TEST_TMP/heard"
    chmod 0666 "$TEST_TMP/heard"
    as "$1" python3 "$TEST_TMP/bin/listen" "$2" "$TEST_TMP/heard" &
    disown
    wait_until 10 [ -S "$2" ]
    listens_at=$2
}
hears() {
    [ -s "$TEST_TMP/heard" ]
}
# It takes one after the other: when it has closed this one, it has heard all before.
silent() {
    python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(60)
s.connect(sys.argv[1])
s.sendall(b"settled?")
sys.exit(s.recv(1) != b"")' "$listens_at"
    not hears
}

# Says why, and has told nothing.
refused() { # WORDS COMMAND...
    local status=0
    "${@:2}" >out 2>err || status=$?
    cat err
    [ $status = 4 ]
    grep -qF -e "$1" err
    silent
}

stale() {
    as $other mkdir -m 0755 "$TEST_TMP/shared/ludwig-$user"
    listen $other "$TEST_TMP/shared/ludwig-$user/x.sock"
    printf 'unix:%s\n%s\n' "$TEST_TMP/shared/ludwig-$user/x.sock" "$(hostname)" |
        as $user tee "$user_home/.local/state/ludwig/address" >/dev/null
    for command in status doctor; do
        as $user timeout 300 ludwig $command >out 2>&1 || true
        grep -F "$TEST_TMP/shared/ludwig-$user belongs to uid $other" out
        silent
    done
    refused "belongs to uid $other" as $user timeout 300 ludwig --server "unix:$TEST_TMP/shared/ludwig-$user/x.sock" status
    refused "belongs to uid $other" as $user timeout 300 ludwig bridge "$TEST_TMP/shared/ludwig-$user/x.sock"
    # root, too
    refused "belongs to uid $other" timeout 300 ludwig --server "unix:$TEST_TMP/shared/ludwig-$user/x.sock" status
    # A server of one's own begins where nobody else had a say.
    as $user ludwig up
    grep -qx "unix:$user_home/.*" "$user_home/.local/state/ludwig/address"
    as $user ludwig down
    silent
}
it 'an old address, where another user has put a socket' stale

# Of root, in a folder of root's: only the process shows whose it is.
moved() {
    listen $other "$TEST_TMP/shared/moved.sock"
    mv "$TEST_TMP/shared/moved.sock" "$TEST_TMP/fixed/x.sock"
    listens_at=$TEST_TMP/fixed/x.sock
    chown 0:0 "$TEST_TMP/fixed/x.sock"
    address=unix:$TEST_TMP/fixed/x.sock
    refused "a process of uid $other listens there" as $user timeout 300 ludwig --server "$address" status
    refused "server_user:" timeout 300 ludwig --server "$address" status
    echo "server_user: '#$other'" | as $user tee "$user_home/.config/ludwig/config.yaml" >/dev/null
    as $user timeout 300 ludwig --server "$address" status >out 2>&1 || true
    hears
    : >"$TEST_TMP/heard"
    echo "server_user: no-such-account" | as $user tee "$user_home/.config/ludwig/config.yaml" >/dev/null
    status=0
    as $user timeout 300 ludwig --server "$address" status 2>err || status=$?
    [ $status = 2 ]
    grep -q 'config.yaml:1:.*server_user: there is no user no-such-account' err
    silent
    rm "$user_home/.config/ludwig/config.yaml"
}
it 'the process that listens is another user'\''s, unless server_user: names it' moved

folders() {
    as $user mkdir -p "$user_home/a/b"
    chmod 0755 "$user_home"
    listen $user "$user_home/a/b/x.sock"
    address=unix:$user_home/a/b/x.sock
    try() { as $user timeout 300 ludwig --server "$address" status; }
    for mode in 0777 1777 0757; do
        chmod $mode "$user_home/a/b"
        refused "others may write into $user_home/a/b (mode $mode)" try
    done
    chmod 0755 "$user_home/a/b"
    chmod 0777 "$user_home/a"
    refused "others may write into $user_home/a (mode 0777)" try
    chmod 0775 "$user_home/a"
    chgrp 0 "$user_home/a"
    refused "others may write into $user_home/a (mode 0775)" try
    chgrp $user "$user_home/a"
    chown $other "$user_home/a"
    refused "$user_home/a belongs to uid $other" try
    # A sticky folder above, and folders that one's own group may write into, do.
    chown $user "$user_home/a"
    for mode in 1777 0775 0755; do
        : >"$TEST_TMP/heard"
        chmod $mode "$user_home/a"
        try >out 2>&1 || true
        hears
    done
}
it 'a folder that others may write into' folders

links() {
    as $other ln -s "$TEST_TMP/shared/ludwig-$user" "$TEST_TMP/shared/link"
    listen $other "$TEST_TMP/shared/ludwig-$user/y.sock"
    refused "belongs to uid $other" as $user timeout 300 ludwig --server "unix:$TEST_TMP/shared/link/y.sock" status
    as $user ln -s "$TEST_TMP/shared/ludwig-$user" "$user_home/link"
    refused "belongs to uid $other" as $user timeout 300 ludwig --server "unix:$user_home/link/y.sock" status
    as $user ln -s a "$user_home/c"
    listen $user "$user_home/a/b/z.sock"
    as $user timeout 300 ludwig --server "unix:$user_home/c/b/z.sock" status >out 2>&1 || true
    hears
}
it 'a link stands for the folder that it leads to' links

# Also below a path that no address can hold.
worker() {
    listen $other "$TEST_TMP/shared/ludwig-$user/w.sock"
    long=$TEST_TMP/shared/$(printf 'x%.0s' {1..120})
    as $other mkdir "$long"
    as $other mv "$TEST_TMP/shared/ludwig-$user/w.sock" "$long"
    as $other ln "$long/w.sock" "$TEST_TMP/shared/ludwig-$user/w.sock"
    for address in "unix:$TEST_TMP/shared/ludwig-$user/w.sock" "unix:$long/w.sock"; do
        printf '%s\n' "server: $address" "scratch: $user_home/scratch" "state: $user_home/worker" 'kind: local' |
            as $user tee "$user_home/worker.yaml" >/dev/null
        as $user ludwig-worker --config "$user_home/worker.yaml" 2>worker.log &
        wait_until 30 'grep -q "disconnected.*belongs to uid $other" worker.log' || { cat worker.log && false; }
        kill_hard ludwig-worker
        silent
    done
    printf '%s\n' "server: unix:$long/w.sock" "server_user: '#$other'" "scratch: $user_home/scratch" \
        "state: $user_home/worker" 'kind: local' | as $user tee "$user_home/worker.yaml" >/dev/null
    as $user ludwig-worker --config "$user_home/worker.yaml" 2>worker.log &
    wait_until 30 hears
    kill_hard ludwig-worker
}
it 'a worker does not register with it' worker

elsewhere() {
    listen $user "$user_home/h.sock"
    as $user timeout 300 ludwig-worker pilot --server "unix:$user_home/h.sock?boot=elsewhere" --idle 100 \
        >pilot.log 2>&1 &
    wait_until 30 'grep -q "it is a socket of another machine" pilot.log' || { cat pilot.log && false; }
    silent
    kill_hard ludwig-worker
    status=0
    as $user timeout 300 ludwig --server "unix:$user_home/h.sock?boot=elsewhere" status 2>err || status=$?
    [ $status = 3 ]
    silent
    as $user timeout 300 ludwig --server "unix:$user_home/h.sock?boot=$(cat /proc/sys/kernel/random/boot_id)" status >out 2>&1 || true
    hears
}
it 'an address that is of another host is not tried' elsewhere

done_testing
