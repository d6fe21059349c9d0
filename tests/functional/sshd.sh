# sshd.sh - real sshd processes of a test's own, on loopback; sourced after lib.sh
#
#     sshd_possible              the machine has what this needs; if not, $sshd_lacks says what is missing
#     sshd_up NAME [LINE...]     start an sshd with these lines of sshd_config before the usual ones.
#                                ~/.ssh/config names it NAME, known_hosts has its key, and it accepts
#                                the test's key.  Remote commands find `ludwig`, which has the test's
#                                HOME
#     sshd_start NAME; sshd_down NAME   start the sshd again; kill it and all its sessions
#     sshd_port NAME; sshd_log NAME     print its port; print its log
#     ssh_config LINE...         put these lines at the beginning of ~/.ssh/config
#     know NAME                  make the sshd's host key the only one that known_hosts has for it
#
# Root is not needed: without root, the only account that can log in is the test's own.
SSHD=$TEST_TMP/sshd
sshd_lacks=''

sshd_possible() {
    local program
    for program in /usr/sbin/sshd ssh ssh-keygen ssh-keyscan; do
        command -v "$program" >/dev/null || {
            sshd_lacks="takes $program"
            return 1
        }
    done
    [ "$(id -u)" != 0 ] || mkdir -p /run/sshd
}

# Reserves a free port until the test ends, also while its sshd is down: a process binds the port with
# SO_REUSEADDR, so that sshd, which sets it too, can still listen there.
hold_port() { # FILE, which gets the port's number
    python3 -S -c '
import os, signal, socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", 0))
with open(sys.argv[1] + ".new", "w") as f:
    print(s.getsockname()[1], file=f)
os.rename(sys.argv[1] + ".new", sys.argv[1])
signal.pause()' "$1" >/dev/null 2>&1 &
    disown
    wait_until 10 test -s "$1"
}

sshd_port() { # NAME
    echo "$(<"$SSHD/$1/port")"
}

sshd_log() { # NAME
    cat "$SSHD/$1/log"
}

# A remote command starts with the account's own HOME: this `ludwig` gives it the test's HOME instead.
sshd_programs() {
    mkdir -p "$SSHD/bin"
    cat >"$SSHD/bin/ludwig" <<END
#!/bin/sh
export HOME=$HOME XDG_CONFIG_HOME=$XDG_CONFIG_HOME XDG_STATE_HOME=$XDG_STATE_HOME
export LUDWIG_TEST_MARK=$LUDWIG_TEST_MARK
exec $LUDWIG_BIN/ludwig "\$@"
END
    chmod 755 "$SSHD/bin/ludwig"
}

ssh_config() { # LINE...
    local before
    before=$(cat "$HOME/.ssh/config" 2>/dev/null)
    printf '%s\n' "$@" "$before" >"$HOME/.ssh/config.new"
    mv "$HOME/.ssh/config.new" "$HOME/.ssh/config"
}

know() { # NAME
    sed -i "/^\[127.0.0.1\]:$(sshd_port "$1") /d" "$HOME/.ssh/known_hosts"
    echo "[127.0.0.1]:$(sshd_port "$1") $(cut -d' ' -f1,2 "$SSHD/$1/hostkey.pub")" >>"$HOME/.ssh/known_hosts"
}

sshd_prepare() {
    mkdir -p -m 0700 "$SSHD" "$HOME/.ssh"
    [ -e "$HOME/.ssh/id_ed25519" ] || ssh-keygen -q -t ed25519 -N '' -C mine -f "$HOME/.ssh/id_ed25519"
    touch "$HOME/.ssh/known_hosts"
    sshd_programs
}

# OpenSSH 9.8 and newer would refuse logins for a while after those that are meant to fail.
without_penalties() { # NAME
    ! /usr/sbin/sshd -t -f /dev/null -h "$SSHD/$1/hostkey" -o 'PerSourcePenalties no' 2>/dev/null ||
        echo 'PerSourcePenalties no'
}

sshd_up() { # NAME [LINE...]
    local name=$1
    shift
    sshd_prepare
    mkdir -p "$SSHD/$name"
    hold_port "$SSHD/$name/port"
    ssh-keygen -q -t ed25519 -N '' -f "$SSHD/$name/hostkey"
    cp "$HOME/.ssh/id_ed25519.pub" "$SSHD/$name/authorized_keys"
    {
        printf '%s\n' "$@"
        cat <<END
Port $(sshd_port "$name")
ListenAddress 127.0.0.1
HostKey $SSHD/$name/hostkey
AuthorizedKeysFile $SSHD/$name/authorized_keys
PidFile $SSHD/$name/pid
SetEnv PATH=$SSHD/bin:/usr/bin:/bin
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
Subsystem sftp internal-sftp
$(without_penalties "$name")
END
    } >"$SSHD/$name/sshd_config"
    ssh_config "Host $name" '    HostName 127.0.0.1' "    Port $(sshd_port "$name")" \
        "    UserKnownHostsFile $HOME/.ssh/known_hosts" '    GlobalKnownHostsFile none'
    know "$name"
    sshd_start "$name"
}

sshd_answers() { # NAME
    (exec 3<>"/dev/tcp/127.0.0.1/$(sshd_port "$1")") 2>/dev/null
}

# A test may define its own sshd_run, for example to run sshd in a namespace.
sshd_run() { # ARGUMENT...
    exec /usr/sbin/sshd "$@"
}

# sshd must be called by its absolute path, and needs absolute paths.
sshd_start() { # NAME
    sshd_run -D -f "$SSHD/$1/sshd_config" -E "$SSHD/$1/log" 2>>"$SSHD/$1/log" &
    echo $! >"$SSHD/$1/shell_pid"
    disown
    wait_until 10 sshd_answers "$1" || {
        cat "$SSHD/$1/log" >&2
        return 1
    }
}

sshd_family() { # PID: print it and the pids of all its descendants
    local child
    echo "$1"
    for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
        sshd_family "$child"
    done
}

sshd_down() { # NAME
    local pids
    pids=$(sshd_family "$(cat "$SSHD/$1/shell_pid")")
    # shellcheck disable=SC2086
    kill -KILL $pids 2>/dev/null || true
    # shellcheck disable=SC2086
    wait_until 10 gone $pids
}

# An sshd overwrites its environment, by which test_kill_all finds the test's processes.
sshd_down_all() {
    local dir
    for dir in "$SSHD"/*/; do
        [ ! -e "$dir/shell_pid" ] || sshd_down "$(basename "$dir")"
    done
}
trap 'sshd_down_all; test_cleanup' EXIT
