#!/bin/bash
# lab_self.sh - the laboratory of the other lab tests is what it says it is
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"

lab_possible || {
    skip 'the laboratory stands' "$lab_lacks"
    done_testing
}

# Prints what a careless laboratory would change of the machine.  Others may add users and hosts meanwhile,
# which have other names.
machine() {
    cat /proc/self/mountinfo /proc/sys/kernel/hostname
    grep -hwE "lab|lab1|lab2|ludwig|$(IFS='|' && echo "${lab_hosts[*]}")" /etc/passwd /etc/group /etc/hosts || true
    ls -A /etc/ssh /home /srv /media /mnt /opt /run/netns /run/sshd.pid 2>/dev/null || true
    find /run/sshd -mindepth 1 2>/dev/null || true # any test with an sshd may just have made it
    ip -o link
}
machine >"$TEST_TMP/before"

lab_up stock

hosts_differ() {
    for host in "${lab_hosts[@]}"; do
        [ "$(on "$host" hostname)" = "$host" ]
        on "$host" cat /proc/sys/kernel/random/boot_id >>boot_ids
        for other in "${lab_hosts[@]}"; do
            # Nobody listens there, but somebody says so.
            on "$host" bash -c ": <>/dev/tcp/$other/9" 2>&1 | grep -q refused
        done
    done
    [ "$(sort -u boot_ids | wc -l)" = 5 ]
    [ "$(on node1 sh -c 'ls -d /proc/[0-9]* | wc -l')" -lt 10 ]
}
it 'every host has its own name, boot and processes, and reaches the others' hosts_differ

users() {
    [ "$(on laptop as lab1 id -un)" = lab1 ]
    [ "$(on laptop as lab1 id -G)" = '2001 2000' ]
    [ "$(on node1 as ludwig sh -c 'pwd; echo $HOME')" = "$(printf '/home/ludwig\n/home/ludwig')" ]
    not on laptop as lab1 touch /usr/x /etc/x /home/lab2/x
    not on laptop touch /usr/x
    on laptop touch /etc/x
    [ ! -e /etc/x ]
    not on node1 test -e /etc/x
}
it 'users are who they are; nobody can write the machine'\''s files' users

share() {
    on fileserver sh -c 'echo hello >/srv/research_data/file'
    [ "$(on node1 cat /media/research_data/file)" = hello ]
    [ "$(cat "$SHARE/file")" = hello ]
    not on laptop test -e /media/research_data
    mount_share laptop
    [ "$(on laptop cat /media/research_data/file)" = hello ]
    unmount_share laptop
    not on laptop test -e /media/research_data/file
}
it 'nodes see the share; the laptop does when it mounts it' share

orphans() {
    on node1 sh -c '(true & sleep 0.1) & (sleep 0.05 & exit) & wait'
    wait_until 5 not on node1 sh -c 'grep -h ^State /proc/[0-9]*/status | grep Z'
}
it 'orphans are reaped' orphans

ssh_to() { # USER COMMAND...
    on laptop as "$1" ssh -o BatchMode=yes -o ConnectTimeout=60 fileserver "${@:2}"
}
sftp_as() { # USER COMMAND...: prints what sftp says
    on laptop as "$1" sftp -q -b - fileserver <<<"$(printf '%s\n' "${@:2}")"
}
forwards() { # through a tunnel to sshd itself: prints its greeting
    on laptop as lab1 timeout 300 ssh -o BatchMode=yes -W 127.0.0.1:22 fileserver </dev/null
}

stock() {
    [ "$(ssh_to lab1 whoami)" = lab1 ]
    sftp_as lab1 pwd | grep -x 'Remote working directory: /home/lab1'
    not ssh_to root true
    forwards | grep ^SSH-2.0
}
it 'stock: lab1 gets in by key, by shell, SFTP and forwarding' stock

noforward() {
    sshd_mode noforward
    [ "$(ssh_to lab1 whoami)" = lab1 ]
    not forwards
}
it 'noforward: the same without forwarding' noforward

jailed() {
    sftp_as lab1 'ls -l /' | tee ls
    grep -w file ls
    not sftp_as lab1 'ls /home'
    not sftp_as lab1 'put .bashrc /x'
    not ssh_to lab1 whoami
    [ "$(on node1 as ludwig ssh fileserver whoami)" = ludwig ]
}
jail() {
    sshd_mode jail
    jailed
    forwards | grep ^SSH-2.0
}
it 'jail: lab1 sees the share and nothing else' jail

jail_noforward() {
    sshd_mode jail-noforward
    jailed
    not forwards
}
it 'jail-noforward: the same without forwarding' jail_noforward

jail_user() {
    sshd_mode jail-user
    sftp_as lab1 'ls /' | grep -w research_data
    sftp_as lab1 'ls research_data' | grep -w file
    not ssh_to lab1 true
}
it 'jail-user: lab1 sees a folder of its own, with the share in it' jail_user

bridge() {
    sshd_mode bridge
    ssh_to lab1 whoami >out 2>&1 || true
    not grep -x lab1 out
    sftp_as lab1 'ls /srv' | grep -w research_data # which it serves
    not forwards
    # What it runs is ludwig.
    grep -i ludwig out
}
it 'bridge: the key of lab1 runs the bridge, for messages and SFTP, and nothing else' bridge

restarted() {
    sshd_mode stock
    on laptop as lab1 ssh fileserver sleep 100 &
    session=$!
    wait_until 5 on fileserver pgrep sleep
    sshd_stop
    wait $session && return 1
    not ssh_to lab1 true
    sshd_start
    ssh_to lab1 true
}
it 'sshd stopped cuts sessions, started again it takes new ones' restarted

pulled() {
    cable out node1
    not on node1 timeout 1 bash -c ': <>/dev/tcp/fileserver/22'
    on node2 timeout 300 bash -c ': <>/dev/tcp/fileserver/22'
    cable in node1
    # The kernel asked for the server's address while the cable was out; connections fail until that
    # question has timed out.
    wait_until 20 on node1 bash -c ': <>/dev/tcp/fileserver/22'
}
it 'a cable out cuts that host alone' pulled

survives() {
    on node1 as ludwig ssh fileserver 'echo ready; read x; echo $x' < <(
        wait_until 5 grep -q ready answer
        cable out node1
        sleep 0.5
        echo through
        sleep 0.5
        cable in node1
    ) >answer
    grep -x through answer
}
it 'a connection survives a cable that was out for a second' survives

echo_ms() { # HOST: round trip of one byte to the file server over a held connection, the shortest of 20
    on "$1" python3 -c '
import socket, time
s = socket.create_connection(("fileserver", 7007))
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
took = []
for i in range(20):
    start = time.monotonic()
    s.send(b"x")
    assert s.recv(1) == b"x"
    took.append(time.monotonic() - start)
print(round(1000 * min(took)))'
}
slow() {
    service fileserver echo python3 -c '
import socketserver
class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(100000):
            self.request.sendall(data)
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
Server(("0.0.0.0", 7007), Echo).serve_forever()'
    wait_until 5 on fileserver bash -c ': <>/dev/tcp/fileserver/7007'
    # A busy machine may take longer, but not each time.
    wait_until 60 '[ "$(echo_ms laptop)" -lt 50 ]'
    delay laptop 50
    [ "$(echo_ms laptop)" -ge 50 ]
    wait_until 60 '[ "$(echo_ms laptop)" -lt 100 ]' # it is that of both ways together
    wait_until 60 '[ "$(echo_ms node1)" -lt 50 ]'
    delay laptop off
    wait_until 60 '[ "$(echo_ms laptop)" -lt 50 ]'
}
it 'a delayed cable takes as long as it was told' slow

lossy() {
    on laptop as lab1 ssh fileserver 'echo ready; head -c 300000 | sha256sum' < <(
        wait_until 5 grep -q ready sum
        delay laptop 20 10
        head -c 300000 /dev/zero
    ) >sum
    head -c 300000 /dev/zero | sha256sum >expected
    grep -xFf expected sum
    [ "$(on laptop awk '/^Tcp:/ && $13 != "RetransSegs" { print $13 }' /proc/net/snmp)" -gt 5 ]
    delay laptop off
}
it 'a lossy cable loses packets, and TCP gets through' lossy

power() {
    service node2 tick as ludwig bash -c 'while :; do date +%s.%N; sleep 0.1; done'
    on node2 sh -c 'touch /run/here /tmp/here /var/tmp/here /root/here'
    before=$(on node2 cat /proc/sys/kernel/random/boot_id)
    # Somebody on the other side of a connection hears nothing of it.
    on node2 bash -c 'exec 3<>/dev/tcp/fileserver/7007; echo connected; cat <&3' >held &
    wait_until 5 grep -q connected held
    host_kill node2
    not on node2 true 2>/dev/null
    [ -n "$(on fileserver sh -c 'grep -c :1B5F /proc/net/tcp')" ]
    on fileserver awk '$2 ~ /:1B5F$/ && $4 == "01"' /proc/net/tcp | grep .
    ticks=$(service_log node2 tick | wc -l)
    host_boot node2
    [ "$(on node2 cat /proc/sys/kernel/random/boot_id)" != "$before" ]
    [ "$(on node2 hostname)" = node2 ]
    on node2 sh -c 'test -e /var/tmp/here && test -e /root/here && ! test -e /run/here && ! test -e /tmp/here'
    [ "$(on node2 cat /media/research_data/file)" = hello ]
    wait_until 5 '[ "$(service_log node2 tick | wc -l)" -gt $((ticks + 2)) ]'
    on node2 as ludwig ssh fileserver true
}
it 'power off ends all at once and says nothing; disks, mounts and services come back' power

services() {
    service laptop nap as lab1 sleep 1000
    wait_until 5 on laptop pgrep -x sleep # it is a shell at first
    [ "$(on laptop ps -o user= -C sleep)" = lab1 ]
    not service_stop laptop other
    service_stop laptop nap
    not on laptop pgrep sleep
    service laptop nap sleep 1000
    wait_until 5 on laptop pgrep -x sleep
    service_kill laptop nap
    not on laptop pgrep sleep
    host_kill laptop
    host_boot laptop
    wait_until 5 on laptop pgrep -x sleep
    service_stop laptop nap
}
it 'services start, stop, are killed, and come back with the host' services

clock() {
    clock_off node3 3600
    ahead=$(($(on node3 date +%s) - $(date +%s)))
    [ "$ahead" -ge 3599 ] && [ "$ahead" -le 3660 ]
    ahead=$(($(on node3 python3 -c 'import time; print(int(time.time()))') - $(date +%s)))
    [ "$ahead" -ge 3599 ] && [ "$ahead" -le 3660 ]
    ahead=$(($(on node1 date +%s) - $(date +%s)))
    [ "$ahead" -le 60 ]
    on node3 as ludwig ssh fileserver true
}
it 'a clock can be an hour off, on one host' clock

untouched() {
    machine >"$TEST_TMP/after"
    diff "$TEST_TMP/before" "$TEST_TMP/after"
}
it 'the machine is as it was' untouched

# In a second laboratory, as this one's end ends the test.
ends() { # SIGNAL
    cat >other.sh <<OTHER
. $TEST_ROOT/tests/functional/lib.sh
. $TEST_ROOT/tests/functional/lab.sh
lab_up stock fileserver laptop
service laptop tick sleep 1234
on laptop as lab1 ssh fileserver sleep 4321 &
wait_until 5 on fileserver pgrep sleep
echo "\$TEST_TMP \$(cat "\$LAB/hub/pid") \$(cat "\$LAB/laptop/pid")" >$PWD/other
sleep 1000 &
wait
OTHER
    rm -f other
    bash other.sh &
    wait_until 30 test -s other
    read -r folder hub laptop <other
    kill "-$1" $!
    wait_until 10 gone "$hub"
    wait_until 10 gone "$laptop"
    if [ "$1" = KILL ]; then
        rm -rf "$folder"
    else
        wait_until 10 '[ ! -e "$folder" ]'
    fi
}
it 'a test that is ended leaves nothing' 'ends TERM'
it 'a test that is killed leaves no process' 'ends KILL'

done_testing
