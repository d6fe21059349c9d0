#!/bin/bash
# attack.sh - very many things that lab2 tries against lab1, ludwigd and the workers, counted
#
# attack_tries.py has them.  Files, processes and sweeps are tried with what is lab2's own first, where
# it has to work.
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"

lab_possible || {
    skip 'a hostile user gets through nowhere' "$lab_lacks"
    done_testing
}
lab_up stock fileserver node1
lab_server
lab_worker node1 'resources: {cpus: 2, gpus: 0, memory: 1GiB}'
share=/srv/research_data
socket=$share/.ludwig/server.sock
mkdir -m 1777 "$TEST_TMP/shown"
: >"$TEST_TMP/held"

as1() { on fileserver as lab1 "$@"; }
on fileserver as lab1 mkdir -p .config/ludwig
echo "server: unix:$socket" | write_on fileserver as lab1 /home/lab1/.config/ludwig/config.yaml
sweep() { # FILE PROJECT COMMAND LINE...: submits; prints the sweep's number
    printf '%s\n' "project: $2" "command: $3" 'source: []' "${@:4}" | write_on fileserver as lab1 "/home/lab1/$1"
    as1 ludwig submit "$1" 2>/dev/null
}
# On each disk a folder of lab2's, as nothing is moved from one to another.
for host in fileserver node1; do
    on $host install -d -m 0700 -o lab2 -g lab2 /etc/own /srv/own /run/own /var/own /processing/own /home/own /root/own
done
on fileserver install -d -m 0700 -o lab2 -g lab2 "$share/own" # node1 has the share below /media

tries() { # HOST DISK SCENARIO ARGUMENT...: as lab2; adds up how many were held off
    local status=0 own=/$2/own
    [ "$2" != media ] || own=/media/research_data/own
    on "$1" as lab2 env OWN="$own" timeout 300 python3 /opt/lab/tests/functional/attack_tries.py "${@:3}" \
        >said 2>&1 || status=$?
    cat said
    sed -n 's/^held //p' said >>"$TEST_TMP/held"
    [ "$(sed -n 's/^held //p' said)" -ge 5 ] || return 1
    return $status
}

prepared() {
    lab_ready 1
    [ "$(sweep done.yaml private 'echo {p}; echo hush-hush >$LUDWIG_SAVE_PATH/out; ludwig report score=1' \
        'private: true' 'params: {p: [hush-hush]}')" = 1 ]
    wait_until 30 '[ "$(sweep_state 1 as1)" = done ]'
    [ "$(sweep shown.yaml shown 'echo {p}' 'params: {p: [x]}')" = 2 ]
    wait_until 30 '[ "$(sweep_state 2 as1)" = done ]'
    [ "$(sweep running.yaml private \
        'echo $LUDWIG_ATTEMPT >'"$TEST_TMP/shown/token"'; echo hush-hush >secret; exec sleep 1000' \
        'private: true' 'params: {p: [hush-hush]}' 'env: {P: hush-hush}' 'resources: {cpus: 2}')" = 3 ]
    wait_until 30 test -s "$TEST_TMP/shown/token"
    [ "$(sweep waiting.yaml private 'echo {p}' 'private: true' 'params: {p: [hush-hush, b]}' 'resources: {cpus: 2}')" = 4 ]
}
it 'lab1 has a private project, with sweeps that are done, run and wait' prepared

ludwigd=$(on fileserver cat /run/service/ludwigd)
agent=$(on node1 cat /run/service/worker)
job=$(on node1 pgrep -u lab1 -x sleep)
runners=$(on node1 pgrep -u lab1 -f ludwig-worker)
token=$(cat "$TEST_TMP/shown/token")
worker=$(on node1 find /var/lib/ludwig -name id -exec cat {} +)

# All of lab1's, root's and ludwig's, but for what grows: logs, the database, replies.
seen() { # HOST FOLDER...
    on "$1" find "${@:2}" \( -path '*/home/lab2*' -o -path '*/inbox/2002/*' -o -path '*/outbox/*' -o -path '*/evil*' -o \
        -path '*/var/lib/ludwig/*' -o -path '*/processing/lab2*' -o -path '*/own' \) -prune -o \
        -type d -printf '%p %u %g %m\n' -o -printf '%p %u %g %m %y %n %l\n' | sort
}
picture() {
    seen fileserver $share /etc/ludwig /home/lab1 /run/ludwig
    seen node1 /processing /etc/ludwig /home/lab1
}
picture >before

unharmed() {
    admin status --json >now
    json now '(lambda of: [of[i]["state"] for i in (1, 2, 3, 4)] == ["done", "done", "running", "running"]
        and of[3]["jobs"]["running"] == 1 and of[4]["jobs"]["queued"] == 2 and len(of) == 4)(
        {s["sweep"]: s for s in d["sweeps"] if s["user"] == "lab1"})'
    [ "$(admin nodes --state up -q)" = node1 ]
    on fileserver kill -0 "$ludwigd"
    # shellcheck disable=SC2086 # one word each
    on node1 kill -0 "$agent" $job $runners
    picture >after
    diff before after
}

# Of the targets, those of each disk; nothing is harmed by that.
tries_files() { # HOST
    local disk status=0 targets
    for disk in $(sed 's|^.:/||; s|/.*||' targets | sort -u); do
        mapfile -t targets < <(grep "^.:/$disk/" targets)
        tries "$1" "$disk" files "${targets[@]}" || status=$?
    done
    unharmed
    return $status
}
named() { # HOST LETTER PATH...: those that are there
    local path
    for path in "${@:3}"; do
        on "$1" test -e "$path" && printf '%s:%s\n' "$2" "$path"
    done
}
found() { # HOST LETTER FIND-ARGUMENT...: the first that there is
    on "$1" find "${@:3}" -print -quit | sed "s/^/$2:/"
}
on_fileserver() {
    {
        named fileserver d $share/private $share/private/runs $share/private/logs $share/private/sweeps \
            $share/.ludwig/inbox/2001 $share/.ludwig/outbox /var/lib/ludwig /home/lab1 /home/lab1/.ssh
        named fileserver f /var/lib/ludwig/ludwig.db /var/lib/ludwig/lock /home/lab1/.ssh/id_ed25519 /home/lab1/done.yaml
        found fileserver f $share/private/runs -name out
        found fileserver f $share/private/runs -name job.json
        found fileserver f $share/private/logs -type f
        found fileserver f $share/private/sweeps -name sweep.yaml
        named fileserver D $share $share/shown $share/shown/runs $share/.ludwig $share/.ludwig/inbox /etc/ludwig /run/ludwig
        named fileserver F $share/.ludwig/id /etc/ludwig/ludwigd.yaml
        found fileserver F $share/shown/sweeps -name sweep.yaml
        found fileserver F $share/shown/runs -name job.json
        named fileserver s $socket /run/ludwig/server.sock
    } >targets
    [ "$(wc -l <targets)" -gt 20 ]
    tries_files fileserver
}
it "lab2 can neither read, change, move nor replace files of lab1's and of ludwigd's" on_fileserver

on_node() {
    {
        named node1 d /processing/lab1 /var/lib/ludwig /home/lab1/.ssh
        found node1 f /processing/lab1 -name secret
        found node1 f /processing/lab1 -type f -name '*.json'
        found node1 d /processing/lab1 -mindepth 1 -type d
        found node1 f /var/lib/ludwig -type f
        found node1 f /home/lab1/.ssh -name id_ed25519
        found node1 s /processing/lab1 /run /var/lib/ludwig -type s
        named node1 D /processing /etc/ludwig /media/research_data/shown
        named node1 F /etc/ludwig/worker.yaml
        named node1 d /media/research_data/private
    } >targets
    [ "$(wc -l <targets)" -gt 10 ]
    tries_files node1
}
it "lab2 can neither read, change, move nor replace files of a job of lab1's and of its worker" on_node

on_processes() {
    # shellcheck disable=SC2086 # one word each
    tries node1 processing processes "$agent" $job $runners
    tries fileserver srv processes "$ludwigd"
    unharmed
}
it "lab2 can neither end, stop, watch nor slow down processes of lab1's and of root's" on_processes

by_messages() {
    tries fileserver srv messages $socket hush-hush "$token" "$worker" 1 3 4
    unharmed
}
it "lab2 can neither see nor change, by messages, what is lab1's" by_messages

it 'messages whose fields are wrong harm nobody' '
    tries fileserver srv malformed $socket /opt/lab/docs/internals/protocol.md
    unharmed'

# lab1 is served all the time, by the same process.
served() {
    while [ ! -e crowds.over ]; do
        as1 timeout 300 ludwig status 1 >/dev/null || return 1
        echo served >>served
    done
}
crowded() {
    rm -f crowds.over
    served &
    status=0
    tries fileserver srv crowds $socket "$ludwigd" || status=$?
    touch crowds.over
    wait $!
    unharmed
    [ "$(wc -l <served)" -ge 3 ]
    return $status
}
it 'crowds of connections neither make ludwigd grow nor keep lab1 from being served' crowded

counted() {
    awk '{ n += $1 } END { print n; exit n < 300 }' "$TEST_TMP/held"
}
it 'at least three hundred tries were held off' counted

done_testing
