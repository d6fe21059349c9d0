#!/usr/bin/env bash
# own_sshd.sh - without root, ludwigd runs an sshd of its own for keys that were invited
# shellcheck disable=SC2016 # the bodies are evaluated later
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"
lab_possible || { skip 'an sshd of its own, in a lab' "$lab_lacks" && done_testing; }
lab_up stock fileserver laptop
# The site's sshd lets nobody of ours in.
sshd_stop

home=$LAB/fileserver/disk/home/lab1
state=$home/.local/state/ludwig
there() { on fileserver as lab1 timeout 300 "$@"; } # the login node
laptop() { on laptop as lab1 timeout 300 "$@"; }
key=$(cat "$LAB/keys/lab1.pub")

port() { head -n 1 "$state/server/sshd/address"; }
sshd_pid() { cat "$state/server/sshd/pid"; }
listens() { on fileserver ss -Hltn "sport = :$(port)" | grep -q .; }
ssh_with() { # OPTION... -- COMMAND...
    laptop ssh -o BatchMode=yes -o ConnectTimeout=60 -p "$(port)" "$@"
}

up() {
    there ludwig up --sshd 2>said
    grep "sshd listens on port $(port); .ludwig invite." said
    wait_until 10 listens
    [ "$(on fileserver stat -c %U "/proc/$(sshd_pid)")" = lab1 ]
    [ "$(stat -c %a "$state/server/sshd")" = 700 ]
    [ "$(port)" -lt 32768 ]
}
it 'ludwig up --sshd starts one, as the user' up

uninvited() {
    not ssh_with -o StrictHostKeyChecking=no fileserver true
    not ssh_with -o StrictHostKeyChecking=no -o PreferredAuthentications=password,keyboard-interactive fileserver true 2>err
    grep 'Permission denied (publickey)' err
}
it 'a key that was not invited is refused, and nothing but keys is taken' uninvited

invited() {
    there ludwig invite --host fileserver - <<<"$key" >invitation
    grep -x "server: ssh://lab1@fileserver:$(port)" invitation
    sed -n 1p invitation | write_on laptop as lab1 /home/lab1/.config/ludwig/config.yaml
    sed -n 2p invitation | write_on laptop as lab1 /home/lab1/.ssh/known_hosts
    laptop ludwig status --json >status
    json status 'd["sweeps"] == []'
}
it 'with the two lines that invite prints, a laptop reaches the server' invited

files() {
    laptop sh -c 'echo hello >file'
    laptop sftp -q -P "$(port)" -b - fileserver <<<'put file'
    [ "$(cat "$home/file")" = hello ]
    [ "$(stat -c %u "$home/file")" = 2001 ]
}
it 'files can be sent' files

no_more() {
    ssh_with fileserver id </dev/null >out 2>&1 || true
    not grep lab1 out
    ssh_with fileserver 'sh -c "touch /home/lab1/touched"' </dev/null >out 2>&1 || true
    ssh_with fileserver "/usr/lib/openssh/sftp-server; touch /home/lab1/touched" </dev/null >out 2>&1 || true
    [ ! -e "$home/touched" ]
    ssh_with -tt fileserver </dev/null >out 2>&1 || true
    grep -a 'PTY allocation request failed' out
    not ssh_with -W "127.0.0.1:$(port)" fileserver </dev/null
    ssh_with -o ExitOnForwardFailure=yes -N -R 12345:127.0.0.1:1 fileserver 2>&1 | grep 'remote port forwarding failed'
    ssh_with -A fileserver env </dev/null >out 2>&1 || true
    not grep SSH_AUTH_SOCK out
}
it 'but no shell, no command, no terminal and no forwarding' no_more

whatever_line() {
    # One that somebody wrote by hand, with options of its own, gets no more either.
    on fileserver as lab1 sh -c "ssh-keygen -q -t ed25519 -N '' -f .ssh/other &&
        { printf 'command=\"touch /home/lab1/touched\" '; cat .ssh/other.pub; } >>.local/state/ludwig/server/sshd/authorized_keys"
    there ssh -o BatchMode=yes -o StrictHostKeyChecking=no -i .ssh/other -o IdentitiesOnly=yes \
        -p "$(port)" 127.0.0.1 </dev/null >out 2>&1 || true
    [ ! -e "$home/touched" ]
    there ssh -o BatchMode=yes -o StrictHostKeyChecking=no -i .ssh/other -o IdentitiesOnly=yes \
        -W 127.0.0.1:1 -p "$(port)" 127.0.0.1 </dev/null 2>&1 | grep 'administratively prohibited'
}
it 'whatever the line of a key says' whatever_line

own_files() {
    # SFTP can write these; sshd heeds none of them.
    on fileserver as lab1 sh -c 'mkdir -p .ssh
        echo "touch /home/lab1/touched" >.ssh/rc
        printf "LUDWIG_SERVER=unix:/x\nBASH_ENV=/home/lab1/env\n" >.ssh/environment
        echo "touch /home/lab1/touched" >env'
    laptop ludwig status
    laptop sftp -q -P "$(port)" -b - fileserver <<<'ls'
    [ ! -e "$home/touched" ]
    ssh_with -o 'SetEnv=BASH_ENV=/home/lab1/env' fileserver </dev/null >out 2>&1 || true
    [ ! -e "$home/touched" ]
    on fileserver as lab1 rm .ssh/rc .ssh/environment env
}
it 'no file in ~/.ssh and no variable changes that' own_files

doctors() {
    there ludwig doctor >found || true
    grep '^ok .*sshd: .* listens on port .* for 1 key (' found
}
it 'doctor says that it listens, and for how many' doctors

# ---- which keys ----

refused() { # WORDS: standard input is no key
    local status=0
    there ludwig invite --name x - 2>err || status=$?
    cat err
    [ $status = 2 ] && grep -q "$1" err
}
junk() {
    refused 'does not begin with the type' <<<"command=\"sh\" $key"
    refused 'does not begin with the type' <<<"restrict $key"
    refused 'one key at a time' <<<"$key"$'\n'"$key"
    refused 'private key' <"$LAB/keys/lab1"
    refused 'does not begin' </dev/null
    refused 'there is no key' <<<'ssh-ed25519'
    refused 'ssh-keygen does not take it' <<<'ssh-ed25519 AAAA'
    refused 'ssh-keygen does not take it' <<<"ssh-rsa ${key#* }"
    not there ludwig invite --name 'x y' - <<<"$key" 2>err
    grep 'cannot be a name' err
    not there ludwig invite --name $'x\nssh-rsa' - <<<"$key"
    [ "$(grep -c . "$state/server/sshd/authorized_keys")" = 2 ]
}
it 'junk, options and private keys are refused' junk

listed() {
    there ludwig invite --list >list
    grep "^lab1 .*ssh-ed25519 .*SHA256:" list
    there ludwig invite --list --json >list
    json list 'len(d["guests"]) == 1 and d["guests"][0]["name"] == "lab1"'
    fingerprint=$(ssh-keygen -l -f "$LAB/keys/lab1.pub" | cut -d' ' -f2)
    [ "$(json list 'd["guests"][0]["fingerprint"]')" = "$fingerprint" ]
}
it 'invite --list says which' listed

twice() {
    # shellcheck disable=SC2086 # words of the key
    there ludwig invite $key --json >again
    json again 'd["v"] == 1 and d["name"] == "lab1"'
    there ludwig invite --name laptop2 - <"$LAB/keys/lab2.pub"
    not there ludwig invite --name laptop2 - <"$LAB/keys/ludwig.pub" 2>err
    grep 'called laptop2 already' err
    [ "$(grep -c '^restrict ' "$state/server/sshd/authorized_keys")" = 2 ]
}
it 'a key is let in once, and two do not have one name' twice

at_once() {
    local pids=() i
    for i in 1 2 3 4 5 6; do
        ssh-keygen -q -t ed25519 -N '' -C "many$i" -f "many$i"
        there ludwig invite - <"many$i.pub" >/dev/null 2>"err$i" &
        pids+=($!)
    done
    for i in "${pids[@]}"; do wait "$i"; done
    there ludwig invite --list >list
    [ "$(grep -c '^many' list)" = 6 ]
    for i in 1 2 3 4 5 6; do there ludwig invite --revoke "many$i"; done
}
it 'several that come at once lose no key' at_once

second_home() {
    laptop ludwig status
    on laptop as lab2 mkdir -p .config/ludwig
    sed -n 1p invitation | write_on laptop as lab2 /home/lab2/.config/ludwig/config.yaml
    sed -n 2p invitation | write_on laptop as lab2 /home/lab2/.ssh/known_hosts
    on laptop as lab2 timeout 300 ludwig status
    there ludwig invite --revoke laptop2
    not on laptop as lab2 timeout 300 ludwig status 2>err
    cat err
    not there ludwig invite --revoke laptop2 2>err
    grep 'no key is called laptop2' err
    laptop ludwig status
}
it 'a key that was revoked is refused, the others are not' second_home

# ---- its life ----

killed() {
    local old port
    old=$(sshd_pid) port=$(port)
    on fileserver kill -KILL "$old"
    wait_until 10 '[ "$(sshd_pid)" != '"$old"' ] && listens'
    [ "$(port)" = "$port" ]
    laptop ludwig status
}
it 'one that was killed is started again, on the same port' killed

restarted() {
    local port
    port=$(port)
    there ludwig down
    wait_until 10 'not listens'
    there ludwig up
    wait_until 10 listens
    [ "$(port)" = "$port" ]
    laptop ludwig status
}
it 'it ends with the server, and comes back with it on the same port' restarted

ludwigd_pid() { cat "$state/server/lock"; }

# Its lock is free once it is gone, which is soon after it was killed.
kill_ludwigd() {
    local pid
    pid=$(ludwigd_pid)
    on fileserver kill -KILL "$pid"
    wait_until 10 gone_on fileserver "$pid"
}

orphaned() {
    local old
    old=$(sshd_pid)
    kill_ludwigd
    wait_until 10 'not on fileserver test -d /proc/'"$old"
    there ludwig up
    wait_until 10 listens
    laptop ludwig status
}
it 'it ends when ludwigd is killed' orphaned

left() {
    local old
    old=$(sshd_pid)
    # Stopped, it cannot hear that its ludwigd is gone.
    on fileserver kill -STOP "$old"
    kill_ludwigd
    on fileserver test -d "/proc/$old"
    there ludwig up
    wait_until 10 '[ "$(sshd_pid)" != '"$old"' ] && listens'
    not on fileserver test -d "/proc/$old"
    laptop ludwig status
}
it 'one that was left is ended by the next ludwigd' left

left_and_off() {
    local old
    old=$(sshd_pid)
    on fileserver kill -STOP "$old"
    kill_ludwigd
    there ludwig up --sshd=off
    wait_until 10 'not on fileserver test -d /proc/'"$old"
    there ludwig up --sshd
    laptop ludwig status
}
it 'or by one that is to have none' left_and_off

half_made() {
    local before
    before=$(cat "$state/server/sshd/hostkey.pub")
    there ludwig down
    # Somebody died while he made it: there is no host key yet, but something by its side.
    on fileserver as lab1 sh -c 'cd .local/state/ludwig/server/sshd && mkdir ../kept &&
        mv hostkey hostkey.pub ../kept && echo x >hostkey.new && echo x >hostkey.new.pub'
    there ludwig up
    wait_until 10 listens
    not grep -qF "$before" "$state/server/sshd/hostkey.pub"
    grep '^ssh-ed25519 ' "$state/server/sshd/hostkey.pub"
    there ludwig down
    on fileserver as lab1 sh -c 'cd .local/state/ludwig/server/sshd && mv ../kept/* . && rmdir ../kept'
    there ludwig up
    wait_until 10 listens
    laptop ludwig status
}
it 'a host key that was half made is made anew' half_made

taken() {
    local port
    port=$(port)
    there ludwig down
    wait_until 10 'not listens'
    on fileserver timeout 300 python3 -c '
import os, socket, sys, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("0.0.0.0", int(sys.argv[1]))); s.listen()
open("/run/taker", "w").write(str(os.getpid())); time.sleep(100)' "$port" &
    wait_until 10 on fileserver test -s /run/taker
    there ludwig up 2>said
    grep "does not listen on port $port" said
    grep -q "Address already in use" "$state/ludwigd.log"
    there ludwig doctor >found || true
    grep "^problem .*sshd: .*does not listen on port $port" found
    on fileserver sh -c 'kill "$(cat /run/taker)"'
    wait_until 20 'laptop ludwig status 2>/dev/null'
    [ "$(port)" = "$port" ]
}
it 'when its port is taken it is tried again until it is free' taken

off() {
    there ludwig up --sshd 127.0.0.1:7099
    wait_until 10 listens
    [ "$(port)" = 7099 ]
    not laptop ludwig status
    # The others could not come by the machine's name.
    there ludwig invite - <<<"$key" >out
    grep -x 'server: ssh://lab1@127.0.0.1:7099' out
    there ludwig up --sshd=off
    wait_until 10 'not listens'
    there ludwig status
    not grep -q sshd "$state/ludwigd.yaml"
    there ludwig down
    there ludwig up 2>said
    not grep sshd said
}
it 'it can listen elsewhere, and be done without' off

wrong() {
    # That neither keeps the server from starting nor ends the one that ran.
    not there ludwig up --sshd=nowhere 2>err
    grep "is no IP address" err
    there ludwig status
    there ludwig down
    not there ludwig up --sshd nowhere 2>err
    grep "is no IP address" err
    not there ludwig status
    not there ludwig up 127.0.0.1 2>err
    grep "up takes no '127.0.0.1'" err
    there ludwig up
    not on fileserver as lab2 ludwig invite --list 2>err
    grep 'ludwig up --sshd' err
    not there ludwig --server unix:/x up --sshd 2>err
    grep 'for a server of your own' err
}
it 'what cannot be is said' wrong

open_folder() {
    chmod 1777 "$home/.local"
    not there ludwig up --sshd 2>err
    cat err
    grep 'sshd would accept no key, as others may write into /home/lab1/.local (mode 1777)' err
    chmod 0700 "$home/.local"
    # It had not listened: nobody was answered by one that does not stay.
    awk '/ start /{ listens = 0 } / listen /{ listens = 1 } /^ludwigd: sshd would accept no key/{ n++; bad += listens } END { exit n == 0 || bad }' \
        "$state/ludwigd.log"
    there ludwig down || true
}
it 'a folder that others may write is named, as sshd would refuse all keys' open_folder

as_root() {
    printf 'share: /srv/x\nstate: /var/lib/x\nsshd: {listen: "*"}\n' | write_on fileserver /etc/ludwigd.yaml
    not on fileserver timeout 300 ludwigd --config /etc/ludwigd.yaml 2>err
    grep 'without root' err
}
it 'root is told to use the machine'\''s own' as_root

done_testing
