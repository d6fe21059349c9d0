# far.sh - ludwigd, and workers that do not mount the share; sourced after lib.sh
#
#     far_possible               the machine has what this needs; if not, $far_lacks says what is missing
#     far_up                     start ludwigd with the share $SHARE, and an sshd `srv` before it
#     start_server               start ludwigd again
#     cut_link; mend_link        cut and restore the connection over which far workers talk to ludwigd;
#                                files are sent over another one
#     start_agent NAME; start_worker NAME     start a worker; start_worker also waits until ludwigd has it
#                                up.  The worker `near` has the share mounted; any other worker does not
#                                see the share, and connects through the sshd
#     agent_of NAME; kill_agent NAME          print the pid of the worker's agent; kill it, upon which its
#                                jobs go on and its other children end soon
#     wait_for_file SECONDS PATTERN           wait without pauses until a file matches, so that the test acts
#                                while something short is going on
#     stop_near                  kill the agent of `near`, and wait until ludwigd takes the worker for lost
. "$TEST_ROOT/tests/functional/sshd.sh"
SHARE=$TEST_TMP/share
far_lacks=''

# hidden COMMAND... runs a command in a mount namespace where an empty folder hides the share.
if [ "$(id -u)" = 0 ]; then
    hidden() { unshare -m --propagation private sh -c 'mount -t tmpfs none "$0" && exec "$@"' "$SHARE" "$@"; }
else
    hidden() {
        unshare -U -m --map-current-user --keep-caps sh -c \
            'mount -t tmpfs none "$0" && exec setpriv --inh-caps=-all --ambient-caps=-all "$@"' "$SHARE" "$@"
    }
fi

far_possible() {
    sshd_possible || {
        far_lacks=$sshd_lacks
        return 1
    }
    mkdir -p "$SHARE"
    hidden true 2>"$TEST_TMP/hidden" || {
        far_lacks="takes a mount namespace: $(tail -n 1 "$TEST_TMP/hidden")"
        return 1
    }
}

far_address() { # NAME
    case $1 in
    near) echo "unix:$TEST_TMP/server.sock" ;;
    *) echo "ssh://srv$TEST_TMP/far.sock" ;;
    esac
}
# A worker of root's with `kind: node` would run each job as its owner, which needs a mounted share.
far_conf() { # NAME
    mkdir -p "$SCRATCH/$1"
    cat >"$TEST_TMP/$1.yaml" <<END
server: $(far_address "$1")
scratch: $SCRATCH/$1
name: $1
kind: $([ "$(id -u)" = 0 ] && echo local || echo node)
state: $TEST_TMP/$1.state
resources: {cpus: 4, gpus: 0, memory: 1GiB}
END
}

far_up() {
    mkdir -p "$SCRATCH" "$TEST_TMP/state"
    chmod 0700 "$TEST_TMP/state"
    configure
    export LUDWIG_SERVER=unix:$TEST_TMP/server.sock
    cat >"$TEST_TMP/ludwigd.yaml" <<END
share: $SHARE
state: $TEST_TMP/state
sockets: [$TEST_TMP/server.sock]
worker_users: [$(id -un)]
lease: 20s
min_uid: 0
END
    sshd_up srv 'MaxStartups 100'
    start_server
    mend_link
}

start_server() {
    ludwigd --config "$TEST_TMP/ludwigd.yaml" 2>>"$TEST_TMP/ludwigd.log" &
    disown
    wait_until 10 ludwig status >/dev/null 2>&1
}

mend_link() {
    python3 -S "$TEST_ROOT/tests/functional/proxy.py" "$TEST_TMP/far.sock" "$TEST_TMP/server.sock" "$TEST_TMP/far.reports" &
    disown
    wait_until 10 test -S "$TEST_TMP/far.sock"
}
cut_link() {
    kill_hard "$TEST_TMP/far.sock"
    rm -f "$TEST_TMP/far.sock"
}

start_agent() { # NAME
    [ -e "$TEST_TMP/$1.yaml" ] || far_conf "$1"
    case $1 in
    near) ludwig-worker --config "$TEST_TMP/$1.yaml" 2>>"$TEST_TMP/$1.log" & ;;
    *) hidden ludwig-worker --config "$TEST_TMP/$1.yaml" 2>>"$TEST_TMP/$1.log" & ;;
    esac
    disown
}
start_worker() { # NAME
    start_agent "$1"
    wait_until 20 is_up "$1"
}

agent_of() { # NAME
    pids_of "$TEST_TMP/$1.yaml"
}
kill_agent() { # NAME
    # shellcheck disable=SC2046
    kill_hard $(agent_of "$1")
}
wait_for_file() { # SECONDS PATTERN
    local deadline=$((SECONDS + ($1 > 300 ? $1 : 300)))
    until compgen -G "$2" >/dev/null; do
        [ $SECONDS -lt $deadline ] || return 1
    done
}
stop_near() {
    kill_agent near
    wait_until 10 not is_up near
}
