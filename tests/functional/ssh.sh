#!/bin/bash
# ssh.sh - from one machine to a server on another, through a real sshd
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/sshd.sh"

sshd_possible || {
    skip 'commands over SSH' "$sshd_lacks"
    done_testing
}

write_job 'printf "lr: %s\n" "$1"'
cat >sweep.yaml <<'END'
project: far
command: sh job.sh {lr}
source: [job.sh]
params: {lr: [1, 2, 3]}
END
configure 'resources: {cpus: 2, gpus: 0, memory: 1GiB}'
ludwig up 2>/dev/null
socket=$(sed -n 's/^unix://p' "$XDG_STATE_HOME/ludwig/address")

sshd_up srv
sshd_up closed 'DisableForwarding yes' 'SetEnv PATH=/usr/bin:/bin HOME=/nowhere'
sshd_up plain 'AllowTcpForwarding no'
sshd_up files 'ForceCommand internal-sftp' 'AllowTcpForwarding no'

far() { # COMMAND...
    ludwig_wait --server "ssh://srv$socket" "$@"
}

# The error is one line, with these words, and the exit code says what kind it is.
fails() { # CODE WORDS... -- COMMAND...
    local code=$1 status=0 words=()
    shift
    while [ "$1" != -- ]; do
        words+=("$1")
        shift
    done
    shift
    timeout 300 "$@" >out 2>err </dev/null || status=$?
    cat out err
    [ "$status" = "$code" ]
    [ "$(wc -l <err)" = 1 ]
    for word in "${words[@]}"; do
        grep -qE -e "$word" err
    done
}

way_of() { # ADDRESS
    ludwig_wait --server "$1" doctor --json | json - 'str(next(
        c["found"] for c in d["checks"] if c["check"] == "way"))'
}

# ---- it works ----

same_as_here() { # ADDRESS
    ludwig_wait --server "$1" status --json >there
    ludwig status --json >here
    cmp there here
}
it 'status says over SSH what it says here' 'same_as_here "ssh://srv$socket"'

whole() {
    far submit sweep.yaml --wait
    far jobs last --json | json - 'len(d["jobs"]) == 3 and all(j["state"] == "done" for j in d["jobs"])'
    far logs last.1 | grep -q '^lr: 1$'
}
it 'a sweep is submitted, waited for and looked at over SSH' whole

one_connection() {
    : >"$SSHD/srv/log"
    far submit sweep.yaml --reuse none --wait
    [ "$(grep -c 'Accepted publickey' "$SSHD/srv/log")" = 1 ]
}
it 'a command makes one connection' one_connection

cipher() {
    sshd_up loud 'LogLevel DEBUG1'
    same_as_here "ssh://loud$socket"
    grep 'kex: client->server cipher:' "$SSHD/loud/log" >ciphers
    cat ciphers
    not grep -v 'cipher: aes128-gcm@openssh.com ' ciphers
}
if grep -qw aes /proc/cpuinfo; then
    it 'a processor that has AES is given aes-gcm to do, which it does fastest' cipher
else
    skip 'a processor that has AES is given aes-gcm to do' 'this one has none'
fi

by_variable() {
    LUDWIG_SERVER=ssh://srv$socket ludwig status
    configure "server: ssh://srv$socket"
    ludwig status
    configure 'resources: {cpus: 2, gpus: 0, memory: 1GiB}'
}
it 'the variable and the configuration take the same addresses' by_variable

user_and_port() {
    local port
    port=$(sshd_port srv)
    ssh_config "Host 127.0.0.1" "    UserKnownHostsFile $HOME/.ssh/known_hosts"
    ludwig_wait --server "ssh://$(id -un)@127.0.0.1:$port$socket" status
    fails 4 'nosuchuser' 'publickey' -- ludwig --server "ssh://nosuchuser@srv$socket" status
}
it 'user and port of the address go before those of the configuration' user_and_port

# ---- the ways ----

it 'where sshd connects to the socket the way is stream-local' '
    way_of "ssh://srv$socket" | tee /dev/stderr | grep -q stream-local'

by_bridge() {
    same_as_here "ssh://plain$socket"
    way_of "ssh://plain$socket" | tee /dev/stderr | grep -q bridge
    ludwig_wait --server "ssh://plain$socket" doctor --json >doctor.json
    json doctor.json 'any("AllowTcpForwarding" in (c["advice"] or "") for c in d["checks"])'
}
it 'where it may not, `ludwig bridge` is run there, and doctor says which line would make it faster' by_bridge

without_path() {
    same_as_here "ssh://plain"
}
it 'without a path the bridge finds the server of the account' without_path

restricted() {
    ssh-keygen -q -t ed25519 -N '' -f "$HOME/.ssh/bridge"
    echo "restrict,command=\"ludwig bridge\" $(cat "$HOME/.ssh/bridge.pub")" >>"$SSHD/srv/authorized_keys"
    ssh_config 'Host only' '    HostName 127.0.0.1' "    Port $(sshd_port srv)" \
        "    IdentityFile $HOME/.ssh/bridge" '    IdentitiesOnly yes' \
        "    UserKnownHostsFile $HOME/.ssh/known_hosts"
    same_as_here "ssh://only"
    ludwig_wait --server "ssh://only$socket" submit sweep.yaml --reuse none --wait
}
it 'a key that may only run `ludwig bridge` is enough' restricted

messages_alone() {
    sed -i 's/command="ludwig bridge"/command="ludwig bridge --no-sftp"/' "$SSHD/srv/authorized_keys"
    same_as_here ssh://only || status=$?
    echo 'ls /' | sftp -q -F "$HOME/.ssh/config" -b - only && status=let-in
    sed -i 's/ --no-sftp"/"/' "$SSHD/srv/authorized_keys"
    [ -z "${status-}" ]
    echo 'ls /' | sftp -q -F "$HOME/.ssh/config" -b - only | grep -q usr
    # whoever asks names no program
    printf "#!/bin/sh\ntouch $PWD/started\n" >sftp-server
    chmod 755 sftp-server
    timeout 300 ssh -F "$HOME/.ssh/config" only "$PWD/sftp-server" </dev/null || true
    [ ! -e started ]
}
it 'that key is for SFTP too, unless it says --no-sftp' messages_alone

noise() {
    cat >"$SSHD/bin/noisy" <<'END'
#!/bin/sh
echo 'Welcome to the cluster!'
echo 'Your quota is 90 % used.'
exec ludwig bridge
END
    chmod 755 "$SSHD/bin/noisy"
    sed -i 's/command="[^"]*"/command="noisy"/' "$SSHD/srv/authorized_keys"
    same_as_here ssh://only || status=$?
    sed -i 's/command="[^"]*"/command="ludwig bridge"/' "$SSHD/srv/authorized_keys"
    [ -z "${status-}" ]
}
it 'what a login script prints before the bridge does no harm' noise

raw_bridge() {
    "$python" - "$socket" <<'END'
import msgpack, struct, subprocess, sys
hello = msgpack.packb({"type": "hello", "seq": 1, "body": {"version": 1, "program": "ludwig", "host": "x"}})
out = subprocess.run(["ludwig", "bridge", sys.argv[1]], input=struct.pack(">I", len(hello)) + hello,
                     stdout=subprocess.PIPE, timeout=20).stdout
reply = msgpack.unpackb(out[4:])
assert reply["type"] == "welcome", reply
END
}
passes='the bridge passes on a stream that begins at once, and ends with it'
if python=$(python_with msgpack); then
    it "$passes" raw_bridge
else
    skip "$passes" 'no python3 here has msgpack'
fi

it 'a bridge without a server says so' '
    fails 3 "connect to /nowhere" -- ludwig bridge /nowhere
    HOME=/nonexistent XDG_STATE_HOME=/nonexistent fails 3 "no server of yours" -- ludwig bridge'

other_host() {
    cp "$XDG_STATE_HOME/ludwig/address" address
    printf 'unix:%s\nsrv\n' "$socket" >"$XDG_STATE_HOME/ludwig/address"
    ludwig status --json >there || status=$?
    printf 'unix:%s\nno.such.host.invalid\n' "$socket" >"$XDG_STATE_HOME/ludwig/address"
    fails 3 'your server was started on no.such.host.invalid' -- ludwig status || status=$?
    cp address "$XDG_STATE_HOME/ludwig/address"
    [ -z "${status-}" ]
    ludwig status --json >here
    cmp there here
}
it 'a server of one'"'"'s own on another login node is reached from here' other_host

# ---- what goes wrong: which step, and what to do ----

it 'a host that is not there' '
    fails 3 "no.such.host.invalid" "not found|looked up" -- ludwig --server ssh://no.such.host.invalid status'

it 'a port where nobody listens' '
    hold_port nobody
    fails 3 "connection refused; does sshd run there" -- ludwig --server "ssh://127.0.0.1:$(cat nobody)" status'

deaf() {
    python3 - >port <<'END' &
import socket, sys, time
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(0)
port = s.getsockname()[1]
held = []
for _ in range(4):  # the queue is full
    c = socket.socket()
    c.setblocking(False)
    c.connect_ex(("127.0.0.1", port))
    held.append(c)
print(port, flush=True)
time.sleep(60)
END
    wait_until 10 test -s port
    ssh_config 'Host deaf' '    HostName 127.0.0.1' '    ConnectTimeout 1'
    fails 3 'no answer; is the host up' -- ludwig --server "ssh://deaf:$(cat port)" status
    kill $!
}
it 'a host that does not answer, within the time that ConnectTimeout says' deaf

says() { # TEXT WORDS [SECONDS]: which it is waited for
    rm -f port
    python3 - "$1" >port <<'END' &
import socket, sys
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(5)
print(s.getsockname()[1], flush=True)
while True:
    c, _ = s.accept()
    c.sendall(sys.argv[1].encode().decode("unicode_escape").encode())
    try:
        c.recv(1000)
        c.recv(1000)
    except ConnectionResetError:
        pass
END
    wait_until 10 test -s port
    ssh_config "Host says$(cat port)" '    HostName 127.0.0.1' "    ConnectTimeout ${3-30}" "    Port $(cat port)"
    fails 3 "$2" -- ludwig --server "ssh://says$(cat port)" status || status=$?
    kill $!
    [ -z "${status-}" ]
}
it 'what is no SSH server' '
    says "HTTP/1.1 400 Bad Request\r\n\r\n" "not an SSH server: it says .HTTP/1.1 400 Bad Request"'
it 'a server that says nothing' 'says "" "nothing was said; is that an SSH server" 1'
it 'a server that keeps us out for a while' '
    says "Not allowed at this time\r\n" "PerSourcePenalties"'
it 'a server that speaks the SSH of another time' 'says "SSH-1.5-old\r\n" "key exchange failed"'

it 'no socket where the address says' '
    fails 3 "there is no socket at /nowhere/server.sock" -- ludwig --server ssh://srv/nowhere/server.sock status'

dead_socket() {
    python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("dead.sock")'
    fails 3 "dead.sock" 'does ludwigd run|nobody listens' -- ludwig --server "ssh://srv$PWD/dead.sock" status
}
it 'a socket where nobody listens' dead_socket

closed_socket() {
    mkdir secret
    cp "$socket" secret/ 2>/dev/null || python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("secret/server.sock")'
    chmod 0 secret
    fails 3 'Permission denied|may not' -- ludwig --server "ssh://srv$PWD/secret/server.sock" status || status=$?
    chmod 700 secret
    [ -z "${status-}" ]
}
if [ "$(id -u)" = 0 ]; then
    skip 'a socket that the account may not use' 'root may use every socket'
else
    it 'a socket that the account may not use' closed_socket
fi

it 'neither forwarding nor a `ludwig` there' '
    fails 3 "sshd forbids it" "AllowTcpForwarding" "no .ludwig. in the PATH" -- ludwig --server "ssh://closed$socket" status'

it 'an account that may only transfer files' '
    fails 3 "only transfer files" -- ludwig --server "ssh://files$socket" status'

bad_config() {
    cp "$HOME/.ssh/config" config
    ssh_config 'Hots srv'
    fails 2 "ssh's configuration" 'hots' -- ludwig --server "ssh://srv$socket" status || status=$?
    cp config "$HOME/.ssh/config"
    [ -z "${status-}" ]
}
it 'a mistake in ~/.ssh/config' bad_config

# ---- proxies ----

by_command() {
    cat >relay.py <<'END'
import os, select, socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
while True:
    for f in select.select([0, s], [], [])[0]:
        data = os.read(0, 65536) if f == 0 else s.recv(65536)
        if not data:
            sys.exit()
        s.sendall(data) if f == 0 else os.write(1, data)
END
    ssh_config 'Host behind' '    HostName 127.0.0.1' "    Port $(sshd_port srv)" \
        "    ProxyCommand python3 $PWD/relay.py %h %p" "    UserKnownHostsFile $HOME/.ssh/known_hosts"
    same_as_here "ssh://behind$socket"
    ssh_config 'Host broken' '    HostName 127.0.0.1' '    ProxyCommand sh -c "exit 7"'
    fails 3 'ProxyCommand ended' 'exit status 7' -- ludwig --server "ssh://broken$socket" status
    ssh_config 'Host talker' '    HostName 127.0.0.1' '    ProxyCommand sh -c "echo hello; exec sleep 1000"'
    fails 3 "not an SSH server: it says 'hello'" -- timeout 300 ludwig --server "ssh://talker$socket" status
}
it 'through a ProxyCommand' by_command

by_jump() {
    sshd_up jumphost
    ssh_config 'Host inner' '    HostName 127.0.0.1' "    Port $(sshd_port srv)" '    ProxyJump jumphost' \
        "    UserKnownHostsFile $HOME/.ssh/known_hosts"
    # ssh looks for a key in the account's home, not in this one
    ssh_config 'Host *' "    IdentityFile $HOME/.ssh/id_ed25519"
    : >"$SSHD/jumphost/log"
    same_as_here "ssh://inner$socket"
    grep -q 'Accepted publickey' "$SSHD/jumphost/log"
}
it 'through a ProxyJump' by_jump

# ---- a server that is overrun ----

crowd() {
    local pids=() pid
    sshd_up narrow 'MaxStartups 2'
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        timeout 300 ludwig --server "ssh://narrow$socket" status --json >/dev/null &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid"
    done
    [ "$(grep -c 'Accepted publickey' "$SSHD/narrow/log")" = 10 ]
}
it 'ten clients get through an sshd that takes two at once' crowd

once() {
    sshd_up strict
    : >"$SSHD/strict/authorized_keys"
    fails 4 'lets nobody in' -- ludwig --server "ssh://strict$socket" status
    [ "$(grep -c 'Connection from' "$SSHD/strict/log" || true)" -le 1 ]
    wait_until 10 'grep -q "Connection closed by authenticating\|Disconnected from authenticating" "$SSHD/strict/log"'
    [ "$(grep -cE 'Disconnected from authenticating|Connection closed by authenticating' "$SSHD/strict/log")" = 1 ]
}
it 'a key that was refused is not tried again' once

had_enough() {
    sshd_up curt 'MaxAuthTries 1'
    : >"$SSHD/curt/authorized_keys"
    fails 4 'Too many authentication failures' -- ludwig --server "ssh://curt$socket" status
    wait_until 10 'grep -q "Too many authentication failures" "$SSHD/curt/log"'
    [ "$(grep -c 'Too many authentication failures' "$SSHD/curt/log")" = 1 ]
}
it 'a server that has had enough of our keys is not asked again' had_enough

# ---- connections that break ----

cut_wait() {
    write_job 'say waiting' 'gate cut'
    far submit sweep.yaml --reuse none --wait >waited 2>&1 &
    local pid=$!
    wait_until 30 '[ "$(recorded ^waiting)" -ge 1 ]'
    sshd_down srv
    open cut
    sshd_start srv
    wait "$pid" || {
        cat waited
        return 1
    }
}
it 'a command that waits goes on when sshd was killed and comes back' cut_wait

cut_asked() {
    local before after
    before=$(ludwig status --json | json - 'len(d["sweeps"])')
    rm -f cut.sock
    python3 -S "$TEST_ROOT/tests/functional/cut.py" "$PWD/cut.sock" "$socket" down 2 &
    local pid=$!
    wait_until 10 '[ -S cut.sock ]'
    ludwig_wait --server "ssh://srv$PWD/cut.sock" submit sweep.yaml --reuse none --json >out
    kill "$pid"
    after=$(ludwig status --json | json - 'len(d["sweeps"])')
    [ "$after" = $((before + 1)) ]
}
it 'a request whose answer was lost on the way is done once' cut_asked

nothing_stays() {
    wait_until 10 '[ -z "$(pids_of ludwig)" ]'
}
it 'no process stays behind a command that has ended' nothing_stays

killed() {
    write_job 'gate never'
    far submit sweep.yaml --reuse none
    ludwig --server "ssh://srv$socket" watch last >/dev/null 2>&1 &
    local pid=$!
    wait_until 10 '[ "$(pids_of ludwig | wc -l)" = 2 ]'
    kill -KILL "$pid"
    wait_until 10 '[ -z "$(pids_of ludwig)" ]'
    open never
}
it 'nor one that was killed' killed

done_testing
