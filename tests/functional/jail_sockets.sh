#!/bin/bash
# jail_sockets.sh - a socket in each user's jail, and the one for those who have a shell
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"

lab_possible || {
    skip 'every jailed user has a socket' "$lab_lacks"
    done_testing
}
lab_up jail-user fileserver laptop
cp "$TEST_ROOT/tests/functional/raw.py" "$TEST_TMP"
cat >"$TEST_TMP/who.py" <<'PYTHON'
import sys
import raw
peer = raw.Peer(sys.argv[1])
try:
    peer.send("hello", {"version": 1, "program": "ludwig", "host": "here"})
except raw.Ended:  # turned away already
    pass
answer = peer.receive()["body"]
print(answer.get("user", answer.get("text")))
PYTHON

conf() { # STATE LINE...: ludwigd.yaml
    printf '%s\n' 'share: /srv/research_data' "state: /var/lib/$1" "${@:2}" |
        write_on fileserver /etc/ludwig/ludwigd.yaml
}
jail() { # USER
    echo "/srv/sftp/$1/.ludwig/server.sock"
}
who() { # HOST USER SOCKET: whom ludwigd takes them for
    on "$1" as "$2" python3 "$TEST_TMP/who.py" "$3" 2>&1
}
is_socket() { # PATH
    on fileserver test -S "$1"
}
start() {
    service fileserver ludwigd ludwigd --config /etc/ludwig/ludwigd.yaml
    wait_until 10 is_socket /run/ludwig/server.sock
}
log_has() { # PATTERN
    service_log fileserver ludwigd | grep -q -e "$1"
}
user_add() { # NAME UID
    on fileserver sh -c 'echo "$1:x:$2:$2::/:/bin/sh" >>/etc/passwd' sh "$@"
}

conf ludwig 'sockets: [/run/ludwig/server.sock, /srv/sftp/%u/.ludwig/server.sock]'
start

through_sshd() {
    for user in lab1 lab2; do
        on laptop as $user ssh -N -o BatchMode=yes -o ExitOnForwardFailure=yes \
            -L "/home/$user/l.sock:/.ludwig/server.sock" fileserver &
        wait_until 10 on laptop test -S "/home/$user/l.sock"
        [ "$(who laptop $user "/home/$user/l.sock")" = $user ]
        on laptop as $user ludwig --server "unix:/home/$user/l.sock" status
    done
    # The outer path means nothing inside.
    on laptop as lab1 ssh -N -o BatchMode=yes -L "/home/lab1/o.sock:$(jail lab1)" fileserver &
    wait_until 10 on laptop test -S /home/lab1/o.sock
    not who laptop lab1 /home/lab1/o.sock
}
it 'jailed users reach ludwigd through a stock sshd, each as himself' through_sshd

alone() {
    [ "$(who fileserver lab1 "$(jail lab1)")" = lab1 ]
    [ "$(who fileserver lab2 "$(jail lab1)")" = 'this socket is for lab1 alone' ]
    for _ in {1..20}; do
        status=0
        on fileserver as lab2 ludwig --server "unix:$(jail lab1)" status 2>err || status=$?
        [ $status = 4 ]
        grep -q 'this socket is for lab1 alone' err
    done
    [ "$(on fileserver stat -c %U:%a /srv/sftp/lab1/.ludwig)" = root:755 ]
}
it 'the socket of a jail serves its user alone' alone

comes_and_goes() {
    user_add lab3 2003
    # The folder may be there before the user is.
    on fileserver mkdir /srv/sftp/lab4 /srv/sftp/lab3
    # ludwigd hears of it: it does not look by itself, as is tested below.
    wait_until 25 is_socket "$(jail lab3)"
    [ "$(on fileserver setpriv --reuid=2003 --clear-groups python3 "$TEST_TMP/who.py" "$(jail lab3)")" = lab3 ]
    not is_socket "$(jail lab4)"
    user_add lab4 2004
    wait_until 20 is_socket "$(jail lab4)"
    on fileserver rm -r /srv/sftp/lab3
    wait_until 25 log_has 'listen-no-more .*lab3'
    # Somebody whose jobs would not be taken.
    on fileserver mkdir /srv/sftp/games
    on fileserver rm -r /srv/sftp/lab4/.ludwig
    wait_until 25 is_socket "$(jail lab4)"
    not on fileserver test -e /srv/sftp/games/.ludwig
}
it 'users are followed as they come and go' comes_and_goes

refused() {
    on fileserver chown lab4 /srv/sftp/lab4
    wait_until 10 log_has 'jail-refused .*path=/srv/sftp .*lab4 belongs to uid 2004'
    wait_until 10 not is_socket "$(jail lab4)"
    user_add lab5 2005
    on fileserver sh -c 'mkdir /srv/mine && ln -s /srv/mine /srv/sftp/lab5'
    wait_until 10 log_has 'jail-refused .*lab5'
    [ -z "$(on fileserver ls -A /srv/mine)" ]
    on fileserver chown root /srv/sftp/lab4
    wait_until 10 is_socket "$(jail lab4)"
}
it 'nothing that a user could change is entered, and the log says why' refused

switches() {
    on fileserver sh -c 'grep ^voluntary /proc/$(cat /run/service/ludwigd)/status'
}
# Longer than anything is put off, and than the half minute after which ludwigd would look.
idle() {
    before=$(switches)
    sleep 32
    [ "$(switches)" = "$before" ]
}
it 'nothing is polled' 'wait_until 30 idle'

killed() {
    service_kill fileserver ludwigd
    is_socket "$(jail lab1)"
    service fileserver ludwigd ludwigd --config /etc/ludwig/ludwigd.yaml
    wait_until 10 '[ "$(who fileserver lab1 "$(jail lab1)")" = lab1 ]'
    service_stop fileserver ludwigd
    not is_socket "$(jail lab1)"
    not is_socket /run/ludwig/server.sock
}
it 'what a killed ludwigd left is replaced; one that ends takes its sockets along' killed

usual() {
    conf ludwig
    on fileserver rm -rf /run/ludwig
    start
    [ "$(who fileserver lab1 /run/ludwig/server.sock)" = lab1 ]
    [ "$(who fileserver lab1 /srv/research_data/.ludwig/server.sock)" = lab1 ]
    service_stop fileserver ludwigd
    # As another account there is nothing of the system's.
    on fileserver sh -c 'rm -rf /run/ludwig /run/service/ludwigd /srv/research_data/.ludwig
        install -d -o ludwig /srv/research_data/.ludwig
        install -d -m 0700 -o ludwig /var/lib/service'
    conf service
    service fileserver ludwigd as ludwig ludwigd --config /etc/ludwig/ludwigd.yaml
    wait_until 10 is_socket /srv/research_data/.ludwig/server.sock
    not is_socket /run/ludwig/server.sock
    not log_has not-listening
}
it 'without sockets: there is one on the share and, as root, the usual one of the system' usual

done_testing
