# client.sh - sourced by lib.sh when tests/functional/lab_commands.sh runs a test in the laboratory
#
# The test then is a user's shell on the laptop, and ludwig asks a ludwigd on the file server.
# What it may know of other hosts lies in $LUDWIG_TEST_LAB; what it wants done there it asks
# the test outside for.

SHARE=$LUDWIG_TEST_LAB/share
SCRATCH=$LUDWIG_TEST_LAB/scratch
# It is not mounted on the laptop, so people are told paths in it.
SHOWN=''

ask_lab() { # WORD...: prints the answer
    local status
    printf '%s\n' "$*" >"$LUDWIG_TEST_LAB/asked" &&
        read -r status <"$LUDWIG_TEST_LAB/answered" &&
        cat "$LUDWIG_TEST_LAB/answer" &&
        return "$status"
}

# What it says of resources is the worker's business: with the first such lines, and when they
# change, server and worker start with nothing.
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

# It is the account that counts for ssh, whatever HOME is; a library may think otherwise.
ln -s "$(getent passwd "$(id -u)" | cut -d: -f6)/.ssh" "$HOME/.ssh"
