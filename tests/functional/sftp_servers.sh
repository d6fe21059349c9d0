#!/bin/bash
# shellcheck disable=SC2086,SC2016 # words are split; shell text for jobs
# sftp_servers.sh - a client and a worker that have nothing but an SFTP server, of several makes
#
# Each is asked for all that ludwig does with a share: submit, logs, fetch; a worker that stages,
# publishes and copies checkpoints.  What a server cannot do is said in one line, or is no failure.
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/sshd.sh"

sshd_possible || {
    skip 'SFTP servers of several makes' "$sshd_lacks"
    done_testing
}
configure 'resources: {cpus: 2, gpus: 0, memory: 1GiB}'
ludwig up 2>/dev/null
sshd_prepare
proftpd=$test_cache/proftpd
here=$SHARE/.ludwig/server.sock # where the whole machine is seen
jailed=/.ludwig/server.sock

# ---- the servers: each listens at sshd_port NAME ----

named() { # NAME: keys and a name for a server that is none of OpenSSH's
    mkdir -p "$SSHD/$1"
    hold_port "$SSHD/$1/port"
    ssh-keygen -q -t ed25519 -N '' -f "$SSHD/$1/hostkey"
    cp "$HOME/.ssh/id_ed25519.pub" "$SSHD/$1/authorized_keys"
    ssh_config "Host $1" '    HostName 127.0.0.1' "    Port $(sshd_port "$1")" \
        "    UserKnownHostsFile $HOME/.ssh/known_hosts" '    GlobalKnownHostsFile none'
    know "$1"
}
started() { # NAME COMMAND...
    local name=$1
    shift
    "$@" >>"$SSHD/$name/log" 2>&1 &
    disown
    wait_until 20 sshd_answers "$name" || { tail "$SSHD/$name/log" && return 1; }
}

asyncssh() { # NAME OPTION...
    local name=$1 python
    shift
    python=$(python_with asyncssh)
    named "$name"
    started "$name" "$python" "$TEST_ROOT/tests/functional/asyncssh_server.py" "$(sshd_port "$name")" \
        "$SSHD/$name/hostkey" "$SSHD/$name/authorized_keys" "$@"
}
rclone_up() { # NAME OPTION...
    local name=$1
    shift
    named "$name"
    umask 077 # its files are as wide as this allows
    started "$name" env RCLONE_CONFIG="$TEST_TMP/rclone.conf" rclone serve sftp "$SHARE" --addr "127.0.0.1:$(sshd_port "$name")" \
        --key "$SSHD/$name/hostkey" --authorized-keys "$SSHD/$name/authorized_keys" --vfs-cache-mode writes \
        --cache-dir "$TEST_TMP/rclone" "$@"
}
proftpd_up() { # NAME
    local dir=$SSHD/$1
    named "$1"
    ssh-keygen -e -f "$dir/authorized_keys" >"$dir/authorized_rfc"
    printf 'root:x:0:0:root:%s:/bin/bash\n' "$HOME" >"$dir/passwd"
    echo 'root:x:0:' >"$dir/group"
    chmod 600 "$dir/passwd" "$dir/group"
    cat >"$dir/conf" <<END
ServerType standalone
ServerName test
ModulePath $proftpd/usr/lib/proftpd
LoadModule mod_sftp.c
Port $(sshd_port "$1")
DefaultAddress 127.0.0.1
SocketBindTight on
UseIPv6 off
User root
Group root
RootLogin on
RequireValidShell off
PidFile $dir/pid
ScoreboardFile $dir/score
DelayEngine off
WtmpLog none
AuthUserFile $dir/passwd
AuthGroupFile $dir/group
AuthOrder mod_auth_file.c
AllowOverwrite on
SFTPEngine on
SFTPLog $dir/log
SFTPHostKey $dir/hostkey
SFTPAuthorizedUserKeys file:$dir/authorized_rfc
SFTPAuthMethods publickey
END
    started "$1" env LD_LIBRARY_PATH="$(echo "$proftpd"/usr/lib/*-linux-gnu*)" "$proftpd/usr/sbin/proftpd" -n -c "$dir/conf"
}
# It looks for keys in the account's home alone: there, in a view of its own.
dropbear_up() { # NAME
    local dir=$SSHD/$1
    named "$1"
    dropbearconvert openssh dropbear "$dir/hostkey" "$dir/dropbear" >/dev/null 2>&1
    started "$1" unshare -m sh -ec 'home=$(getent passwd 0 | cut -d: -f6)
        mount -t tmpfs -o mode=0700 home "$home"
        mkdir -m 0700 "$home/.ssh"
        install -m 0600 "$1/authorized_keys" "$home/.ssh"
        exec dropbear -F -E -s -r "$1/dropbear" -p "127.0.0.1:$2"' sh "$dir" "$(sshd_port "$1")"
}

# ---- what is done with each ----

# A worker of its own, and all jobs on it.
worker_up() { # ADDRESS
    rm -rf "$TEST_TMP/far"
    mkdir -p -m 0700 "$TEST_TMP/far/scratch" "$TEST_TMP/far/state"
    printf '%s\n' 'name: far' 'kind: local' "scratch: $TEST_TMP/far/scratch" "state: $TEST_TMP/far/state" \
        'resources: {cpus: 1, gpus: 0, memory: 1GiB}' >far.yaml
    ludwig-worker --config far.yaml --server "$1" 2>"$TEST_TMP/far.log" &
    echo $! >far.pid
    disown
}
worker_down() {
    kill -TERM "$(cat far.pid)"
    wait_until 20 gone "$(cat far.pid)"
}

write_job 'cd "$LUDWIG_SAVE_PATH"' 'mkdir -p deep/er' 'head -c 3000000 /dev/urandom >deep/er/big' ': >empty' \
    'for i in $(seq 50); do echo $i >"deep/file $i"; done' 'echo "#!/bin/sh" >run.sh; chmod 750 run.sh' \
    'sha256sum deep/er/big >sum' 'touch "$LUDWIG_CHECKPOINT/epoch"' 'echo "the log of $1"' '[ "$1" != 2 ] || ln -s sum link'
mkdir corpus && head -c 5000000 /dev/urandom >corpus/data && seq 1000 >corpus/small
cat >sweep.yaml <<END
command: sh job.sh {x} && cmp "\$LUDWIG_DATA/corpus/data" $PWD/corpus/data
source: job.sh
data: [corpus]
params: {x: [1, 3]}
END

all_of_it() { # NAME ADDRESS [modes-are-lost]
    local server=ssh://$1$2
    { echo "project: $1" && cat sweep.yaml; } >client.yaml
    id=$(ludwig_wait --server "$server" submit client.yaml --wait)
    ludwig --server "$server" logs "$id.2" | grep -qx 'the log of 3'
    ludwig_wait --server "$server" fetch "$id" "got-$1"
    [ "$(find "got-$1" -type f -name 'file *' | wc -l)" = 100 ]
    [ "$(find "got-$1" -name sum | wc -l)" = 2 ]
    find "got-$1" -name sum | while read -r sum; do
        (cd "$(dirname "$sum")" && sha256sum --quiet -c sum && [ -f empty ] && { [ -n "${3-}" ] || [ -x run.sh ]; })
    done
    # And by a worker that has nothing else.
    worker_up "$server"
    { echo 'nodes: [far]' && sed 's/1, 3/1, 3, 5/' client.yaml; } >far-sweep.yaml
    ludwig_wait submit far-sweep.yaml --reuse none --wait >id || { cat "$TEST_TMP/far.log" && return 1; }
    worker_down
    [ "$(published "$1" | wc -l)" = 5 ]
    ludwig jobs "$(cat id)" --json | json - '[j["node"] for j in d["jobs"]] == ["far"] * 3'
    not grep 'level=error' "$TEST_TMP/far.log"
    # Nobody else may read what was sent and published.
    [ -z "$(find "$SHARE/$1" -not -type l -perm /077 -not -path "*/logs/*" | head -3 | tee wide)" ] || { cat wide && return 1; }
    nothing_left
}

# ---- OpenSSH, with less than usual ----

sshd_up nosetstat 'AllowTcpForwarding no' 'ForceCommand internal-sftp -P setstat,fsetstat'
it 'OpenSSH that refuses to set modes and times' 'all_of_it nosetstat "$here"'

sshd_up bare 'AllowTcpForwarding no' \
    'ForceCommand internal-sftp -P setstat,fsetstat,posix-rename,statvfs,fstatvfs,fsync,hardlink,symlink,limits'
it 'OpenSSH without any extension, times, modes or links' 'all_of_it bare "$here"'

sshd_up single 'AllowTcpForwarding no' 'ForceCommand internal-sftp' 'MaxSessions 1'
# A session that was just closed may still count there.
one_session() {
    for command in status 'submit sweep.yaml'; do
        status=0
        ludwig --server "ssh://single$here" $command >out 2>said || status=$?
        cat said
        [ $status = 0 ] || { [ $status = 3 ] && [ "$(grep -vc '^note: ' said)" = 1 ] && grep MaxSessions said; }
    done
}
it 'OpenSSH with one session works, or says that MaxSessions is too few' one_session

# ---- others ----

if [ "$(id -u)" = 0 ] && command -v dropbear >/dev/null && command -v dropbearconvert >/dev/null; then
    it 'Dropbear, with the SFTP server of OpenSSH' 'dropbear_up dropbear && all_of_it dropbear "$here"'
else
    skip 'Dropbear, with the SFTP server of OpenSSH' 'takes root, dropbear and unshare'
fi

if [ "$(id -u)" = 0 ] && [ -x "$proftpd/usr/sbin/proftpd" ]; then
    proftpd_works() {
        proftpd_up proftpd
        all_of_it proftpd "$here"
        ludwig --server "ssh://proftpd$here" doctor --json >found || [ $? = 1 ]
        json found 'any(c["check"] == "way" and "the server ends the connection when it is asked for that" in c["found"] for c in d["checks"])'
    }
    it 'ProFTPD, which ends the connection when it is asked for a channel' proftpd_works
else
    skip 'ProFTPD, which ends the connection when it is asked for a channel' 'takes root and proftpd, which .ci/deps unpacks'
fi

if python_with asyncssh >/dev/null; then
    it 'asyncssh' 'asyncssh async && all_of_it async "$here"'
    it 'asyncssh in a folder that is its root, whose links lead nowhere' \
        'asyncssh jail --chroot "$SHARE" && all_of_it jail "$jailed"'
    it 'asyncssh that sets no modes' 'asyncssh async2 --without setstat,fsetstat && all_of_it async2 "$here"'
    it 'asyncssh without extensions, modes and links' \
        'asyncssh async3 --plain --without setstat,fsetstat,symlink,readlink && all_of_it async3 "$here"'
else
    skip 'asyncssh' 'takes python3-asyncssh'
fi

if command -v rclone >/dev/null; then
    it 'rclone that looks at folders anew' \
        'rclone_up fresh --dir-cache-time 1s --vfs-write-back 0 --umask 077 && all_of_it fresh "$jailed" modes-are-lost'
    open_to_all() {
        rclone_up wide --dir-cache-time 1s --vfs-write-back 0 --umask 022
        { echo 'project: wide' && cat sweep.yaml; } >wide.yaml
        status=0
        ludwig_wait --server "ssh://wide$jailed" submit wide.yaml 2>said || status=$?
        cat said
        [ $status = 4 ] && [ "$(grep -vc '^note: ' said)" = 1 ]
        grep -E "umask" said
    }
    it 'rclone that would show files to others is refused' open_to_all
    stale() {
        rclone_up stale
        status=0
        ludwig_wait --server "ssh://stale$jailed" status 2>said || status=$?
        cat said
        [ $status = 3 ] && [ "$(wc -l <said)" = 1 ]
        grep -e '--dir-cache-time 1s --vfs-write-back 0' said
    }
    it 'rclone that keeps what it has listed is told what to change' stale
else
    skip 'rclone serve sftp' 'takes rclone'
fi

done_testing
