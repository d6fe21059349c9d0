# client.sh - redefines functions of lib.sh for a test that lab_commands.sh runs in the laboratory
#
# lib.sh sources this file if LUDWIG_TEST_LAB is set.  The test then is a user's shell on the laptop,
# and ludwig connects to a ludwigd on the file server.  $LUDWIG_TEST_LAB holds what the test may see
# of other hosts; lab_commands.sh, outside, does there what ask_lab asks for.

SHARE=$LUDWIG_TEST_LAB/share
SCRATCH=$LUDWIG_TEST_LAB/scratch
# The share is not mounted on the laptop, so ludwig prints paths relative to the share.
SHOWN=''

ask_lab() { # WORD...: ask lab_commands.sh for something; prints the answer, returns its status
    local status
    printf '%s\n' "$*" >"$LUDWIG_TEST_LAB/asked" &&
        read -r status <"$LUDWIG_TEST_LAB/answered" &&
        cat "$LUDWIG_TEST_LAB/answer" &&
        return "$status"
}

# The line `resources:` goes into the worker's configuration.  If it differs from the last one, ludwigd
# and the worker are started anew with empty folders.
configure() { # LINE...
    mkdir -p "$XDG_CONFIG_HOME/ludwig"
    cp "$LUDWIG_TEST_LAB/client.yaml" "$XDG_CONFIG_HOME/ludwig/config.yaml"
    printf '%s\n' "$@" | sed '/^resources:/d' >>"$XDG_CONFIG_HOME/ludwig/config.yaml"
    printf '%s\n' "$@" | sed '/^resources:/!d' >"$TEST_TMP/worker_lines"
    cmp -s "$TEST_TMP/worker_lines" "$LUDWIG_TEST_LAB/worker_lines" ||
        { cp "$TEST_TMP/worker_lines" "$LUDWIG_TEST_LAB/worker_lines" && ask_lab start >&2; }
}

pids_of() { # NAME
    ask_lab pids "$1"
}

agents() {
    ask_lab pids ludwig-worker
}

gone() { # PID...
    ask_lab gone "$@"
}

untouched() {
    [ -z "$(ls "$SHARE")" ]
    [ -z "$(find "$XDG_STATE_HOME" "$XDG_RUNTIME_DIR" "$TMPDIR" -type f)" ]
    ludwig status --json | json - 'd["sweeps"] == []'
}

kill_hard() { # NAME|PID...
    ask_lab kill "$@"
}

mkdir -p "$TEST_TMP/bin"
cat >"$TEST_TMP/bin/ludwig" <<WRAPPER
#!/bin/bash
case \${1-} in
up | down)
    LUDWIG_TEST_LAB=$LUDWIG_TEST_LAB
    $(declare -f ask_lab)
    ask_lab "\$@"
    ;;
*)
    exec $LUDWIG_BIN/ludwig "\$@"
    ;;
esac
WRAPPER
chmod +x "$TEST_TMP/bin/ludwig"
PATH=$TEST_TMP/bin:$PATH

# ssh uses the account's home whatever HOME is, but an SSH library may use $HOME/.ssh.
ln -s "$(getent passwd "$(id -u)" | cut -d: -f6)/.ssh" "$HOME/.ssh"
