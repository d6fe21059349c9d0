#!/bin/bash
# strangers.sh - two users of a machine: what one puts where all may write does the other no harm
. "$(dirname "$0")/lib.sh"

if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
    skip 'a stranger cannot take a name that another user'\''s worker needs' 'takes root and setpriv'
    skip 'nor have a folder of its own taken for the scratch of that user' 'takes root and setpriv'
    skip 'nor take the folder of its socket and locks' 'takes root and setpriv'
    done_testing
fi

user=54331
other=54332
host=$(hostname)
chmod 0755 "$TEST_TMP"
mkdir -m 0755 "$TEST_TMP/bin"
mkdir -m 1777 "$TEST_TMP/shared"
# Copies, as the build folder may lie where others cannot look.
cp "$LUDWIG_BIN"/ludwig "$LUDWIG_BIN"/ludwigd "$LUDWIG_BIN"/ludwig-worker "$TEST_TMP/bin"
install -d -m 0700 -o $user -g $user "$TEST_TMP/user"
HOME_STATE=$TEST_TMP/user/.local/state/ludwig

as() { # UID COMMAND...
    setpriv --reuid="$1" --regid="$1" --clear-groups env -i -C "$TEST_TMP/user" HOME="$TEST_TMP/user" \
        PATH="$TEST_TMP/bin:/usr/bin:/bin" TMPDIR="$TEST_TMP/shared" LUDWIG_TEST_MARK="$LUDWIG_TEST_MARK" "${@:2}"
}
stranger() {
    setpriv --reuid=$other --regid=$other --clear-groups "$@"
}
scratch() { # PATTERN
    as $user mkdir -p "$TEST_TMP/user/.config/ludwig"
    printf 'scratch: %s\nresources: {cpus: 2, gpus: 0}\n' "$1" |
        as $user tee "$TEST_TMP/user/.config/ludwig/config.yaml" >/dev/null
}
printf '%s\n' 'project: p' 'command: "true"' 'source: []' | as $user tee "$TEST_TMP/user/sweep.yaml" >/dev/null

taken() {
    stranger mkdir "$TEST_TMP/shared/ludwig-$user-$host"
    as $user timeout 300 ludwig submit sweep.yaml --wait
    theirs=$(find "$TEST_TMP/shared" -maxdepth 1 -user $user)
    [[ $theirs =~ /ludwig-$user-$host-[0-9a-f]{16}$ ]]
    grep -q "name-taken folder=$TEST_TMP/shared/ludwig-$user-$host instead=" "$HOME_STATE/worker.log"
    # A later worker finds what this one leaves.
    as $user ludwig down
    as $user timeout 300 ludwig submit sweep.yaml --reuse none --wait
    [ "$(find "$TEST_TMP/shared" -maxdepth 1 -user $user)" = "$theirs" ]
    [ "$(stat -c %a "$HOME_STATE/names")" = 600 ]
    as $user ludwig down
    stranger rmdir "$TEST_TMP/shared/ludwig-$user-$host"
}
it 'a stranger cannot take a name that another user'\''s worker needs' taken

# Whose it is may exchange all that lies below, also in a sticky folder.
refused() { # WORDS
    not as $user timeout 300 ludwig up 2>err
    cat err
    grep -q "$1" err
    as $user ludwig down
}
lured() {
    scratch "$TEST_TMP/shared/{user}"
    for mode in 0777 1777 0755; do
        stranger mkdir -m $mode "$TEST_TMP/shared/$user"
        refused "$TEST_TMP/shared/$user belongs to uid $other"
        stranger rmdir "$TEST_TMP/shared/$user"
    done
    scratch "$TEST_TMP/shared/open/below"
    as $user mkdir -m 0777 "$TEST_TMP/shared/open"
    refused "others may rename what lies in $TEST_TMP/shared/open"
    as $user rm -r "$TEST_TMP/shared/open"
    stranger mkdir -m 1777 "$TEST_TMP/shared/open"
    refused "$TEST_TMP/shared/open belongs to uid $other"
    # What a colleague has opened for a group is the user's own choice.
    rm -r "$TEST_TMP/shared/open"
    install -d -m 2770 -o $other -g $user "$TEST_TMP/shared/open"
    as $user timeout 300 ludwig submit sweep.yaml --reuse none --wait
    as $user ludwig down
}
it 'nor have a folder of its own taken for the scratch of that user' lured

# Where the home serves no sockets, as on a network, they lie in /tmp: here its path is too long.
in_tmp() {
    rm "$TEST_TMP/user/.config/ludwig/config.yaml"
    long=$TEST_TMP/user/$(printf 'x%.0s' {1..100})
    stranger mkdir -m 0755 "/tmp/ludwig-$user"
    as $user env XDG_STATE_HOME="$long" ludwig up
    grep -Ex "unix:/tmp/ludwig-$user-[0-9a-f]{16}/[0-9a-f]{16}[.]sock" "$long/ludwig/address"
    as $user env XDG_STATE_HOME="$long" ludwig submit sweep.yaml --reuse none --wait
    as $user env XDG_STATE_HOME="$long" ludwig down
    # A worker without a folder for its locks in the home
    as $user ludwig submit sweep.yaml --reuse none --wait
    as $user mkdir "$TEST_TMP/user/other"
    as $user env XDG_STATE_HOME="$TEST_TMP/user/other" sh -c 'mkdir "$XDG_STATE_HOME/ludwig"; : >"$XDG_STATE_HOME/ludwig/worker"'
    as $user env XDG_STATE_HOME="$TEST_TMP/user/other" ludwig-worker pilot --server "unix:$HOME_STATE/server.sock" \
        --idle 100 2>pilot.log || true
    cat pilot.log
    not grep 'belongs to user' pilot.log
    [ "$(find /tmp -maxdepth 2 -user $user -path "/tmp/ludwig-$user-*/worker" | wc -l)" = 1 ]
    as $user ludwig down
}
cleanup_tmp() {
    find /tmp -maxdepth 1 -name "ludwig-$user*" \( -user $user -o -user $other \) -exec rm -rf {} +
}
cleanup_tmp
it 'nor take the folder of its socket and locks' in_tmp
cleanup_tmp

done_testing
