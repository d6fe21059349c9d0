#!/bin/bash
# run_as_user.sh - a user without rights, without a configuration, with an empty HOME
. "$(dirname "$0")/lib.sh"

if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
    skip 'an unprivileged user with an empty HOME runs a sweep' 'takes root and setpriv'
    done_testing
fi

# One that no account knows, as it is in containers.
uid=54321
# Copies, as the build folder may lie where others cannot look.
chmod 0755 "$TEST_TMP"
mkdir -m 0755 "$TEST_TMP/bin"
cp "$LUDWIG_BIN"/ludwig "$LUDWIG_BIN"/ludwigd "$LUDWIG_BIN"/ludwig-worker "$TEST_TMP/bin"

as_user() { # HOME COMMAND...
    local home=$1
    shift
    setpriv --reuid=$uid --regid=$uid --clear-groups env -i HOME="$home" PATH="$TEST_TMP/bin:/usr/bin:/bin" \
        LUDWIG_TEST_MARK="$LUDWIG_TEST_MARK" "$@"
}

user_home=$TEST_TMP/user
mkdir -m 0700 "$user_home" "$user_home/project"
cat >"$user_home/project/sweep.yaml" <<'END'
command: sh run.sh {a}
params: {a: [1, 2, 3]}
END
cat >"$user_home/project/run.sh" <<'END'
id -u
echo "$HOME"
ludwig report score=$1.5
echo "$1" >"$LUDWIG_SAVE_PATH/value"
END
chown -R $uid:$uid "$user_home"

submits() {
    as_user "$user_home" sh -c 'cd && cd project && exec timeout 300 ludwig submit sweep.yaml --reps 2 --wait' >id
    [ "$(cat id)" = 1 ]
    as_user "$user_home" ludwig results 1 --json >r
    json r '[x["n"] for x in d["results"]] == [2, 2, 2]'
    json r 'sorted(x["metrics"]["score"]["mean"] for x in d["results"]) == [1.5, 2.5, 3.5]'
    [ "$(as_user "$user_home" ludwig logs 1.1)" = "$(printf '%s\n' $uid "$user_home")" ]
}
it 'submit, results and logs work' submits

owned() {
    SHARE=$user_home/ludwig_data
    [ "$(published project | wc -l)" = 6 ]
    [ -z "$(find "$user_home" -not -uid $uid)" ]
    # Nobody else can change anything of it.
    find "$user_home" -not -type l -not -type s -perm /022 | tee writable
    [ ! -s writable ]
}
it 'all it leaves belongs to the user' owned

clean() {
    as_user "$user_home" ludwig down
    wait_until 10 '[ -z "$(pids_of ludwigd)$(pids_of ludwig-worker)" ]'
}
it 'down ends all of it' clean

strangers() {
    as_user "$user_home" ludwig up
    socket=$(sed -n 's/^unix://p' "$user_home/.local/state/ludwig/address")
    [ -S "$socket" ]
    other=$TEST_TMP/other
    mkdir -m 0700 "$other"
    chown 54322:54322 "$other"
    status=0
    setpriv --reuid=54322 --regid=54322 --clear-groups env -i HOME="$other" PATH="$TEST_TMP/bin:/usr/bin:/bin" \
        ludwig --server "unix:$socket" cancel 1 2>err || status=$?
    [ $status != 0 ]
    as_user "$user_home" ludwig status 1 --json | json - 'd["state"] == "done"'
    as_user "$user_home" ludwig down
}
it 'another user can change nothing of it' strangers

find /tmp -maxdepth 1 -uid $uid -name 'ludwig*' -exec rm -rf {} +
done_testing
