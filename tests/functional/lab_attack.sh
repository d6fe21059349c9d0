#!/bin/bash
# lab_attack.sh - what lab2 tries against lab1, with raw messages and files of its own
#
# Beside each stands the same thing done by somebody who may, which works.
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"

lab_possible || {
    skip 'a user cannot harm another' "$lab_lacks"
    done_testing
}

lab_up jail fileserver laptop node1
lab_server
lab_worker node1 'resources: {cpus: 3, gpus: 0, memory: 1GiB}'
lab_client lab1
lab_client lab2
share=/srv/research_data
mkdir -m 1777 "$TEST_TMP/shown"
known=$TEST_TMP/known # lab1's sweeps

attack() { # HOST USER SCENARIO ARGUMENT...
    on "$1" as "$2" timeout 300 python3 /opt/lab/tests/functional/attack.py "${@:3}"
}

sweep_file() { # USER FILE PROJECT COMMAND LINE...
    printf '%s\n' "project: $3" "command: $4" 'source: []' "${@:5}" |
        write_on laptop as "$1" "/home/$1/$2"
}

# As jailed users reach ludwigd: through sshd's forwarding.
tunnel() { # USER
    on laptop as "$1" ssh -N -o ExitOnForwardFailure=yes -o StreamLocalBindUnlink=yes \
        -L "/home/$1/server.sock:/.ludwig/server.sock" fileserver 2>/dev/null &
    disown
    wait_until 20 on laptop test -S "/home/$1/server.sock"
}
tunnel lab1
tunnel lab2
socket() { echo "/home/$1/server.sock"; }

prepared() {
    lab_ready 1
    sweep_file lab1 running.yaml private 'echo $LUDWIG_ATTEMPT >'"$TEST_TMP/shown/token"'; sleep 1000' \
        'private: true' 'params: {p: [hush-hush]}' 'env: {P: hush-hush}' 'resources: {cpus: 2}'
    sweep_file lab1 waiting.yaml private 'echo {p}' 'private: true' 'params: {p: [hush-hush, b, c]}' 'resources: {cpus: 2}'
    [ "$(submit running.yaml)" = 1 ]
    wait_until 20 '[ "$(jobs_in running 1)" = 1 ]'
    wait_until 10 test -s "$TEST_TMP/shown/token"
    [ "$(submit waiting.yaml)" = 2 ]
    printf '1\n2\n' >"$known"
    [ "$(stat -c '%u %a' "$SHARE/private")" = '2001 700' ]
}
it 'lab1 has a private project, with a sweep that runs and one that waits' prepared

# Sweep 1 runs, 2 waits, and there is no other of lab1's that it did not submit.
unharmed() {
    admin status --json >now
    json now '(lambda of: of[1]["jobs"]["running"] == 1 and of[2]["jobs"]["queued"] == 3
        and of[2]["state"] == "running" and sorted(of) == ['"$(paste -sd, "$known")"'])(
        {s["sweep"]: s for s in d["sweeps"] if s["user"] == "lab1"})'
}

# ---- messages ----

it 'lab2 is not told what the parameters of a private sweep are' '
    attack laptop lab1 told $(socket lab1) 1 hush-hush
    attack laptop lab2 secret $(socket lab2) 1 hush-hush
    attack laptop lab2 secret $(socket lab2) 2 hush-hush'
it "lab2 cannot cancel, pause, resume or retry lab1's sweep" '
    attack laptop lab1 may_change $(socket lab1) 2
    attack laptop lab2 changes $(socket lab2) 2
    attack laptop lab2 changes $(socket lab2) 2 lab1
    attack laptop lab2 changes $(socket lab2) 1
    unharmed'
it 'lab2 cannot drain a node, nor end ludwigd' '
    attack fileserver root may_administer $share/.ludwig/server.sock node1
    attack laptop lab2 administers $(socket lab2) node1
    [ "$(admin nodes --state up -q)" = node1 ]
    unharmed'
it "lab2 cannot submit into lab1's project" '
    attack laptop lab1 may_submit $(socket lab1) private
    attack laptop lab2 submits $(socket lab2) private
    unharmed'
nowhere_else() {
    find "$SHARE" -maxdepth 2 -not -path "*/.ludwig/*" | sort >before
    attack laptop lab2 climbs "$(socket lab2)"
    find "$SHARE" -maxdepth 2 -not -path "*/.ludwig/*" | sort >after
    diff before after
    unharmed
}
it 'names of projects that lead elsewhere make nothing anywhere' nowhere_else

registers() {
    sweep_file lab2 own.yaml own 'sleep 0' 'nodes: [node1-too]'
    own=$(as_user lab2 ludwig submit own.yaml)
    attack laptop lab2 works "$(socket lab2)" "$own"
    as_user lab2 ludwig cancel "$own" --quiet
    unharmed
}
it "a worker of lab2's is given lab2's jobs and none of lab1's" registers
token=$(cat "$TEST_TMP/shown/token")
worker=$(on node1 find /var/lib/ludwig -name id -exec cat {} +)
it "lab2 cannot report about lab1's attempt, though its token is known" '
    attack laptop lab2 tells $(socket lab2) $token
    unharmed'
it "lab2's worker cannot claim to run lab1's attempt, nor to be the worker that has it" '
    attack laptop lab2 claims $(socket lab2) $token $worker
    unharmed'

# ---- jobs ----

# Whatever lab1 has on the node, a job of lab2's may look for it.
cat >spy.sh <<'END_OF_JOB'
ls -d /proc/[0-9]*/environ 2>/dev/null | wc -l
grep -lsr 'hush[-]hush' /processing /var/lib/ludwig /home /media /proc/[0-9]*/environ /proc/[0-9]*/cmdline
find /processing /var/lib/ludwig /run/ludwig* -not -user lab2 -writable -not -type l 2>/dev/null
for status in $(grep -ls '^Uid:.2001' /proc/[0-9]*/status); do
    pid=${status#/proc/} pid=${pid%/status}
    kill -0 $pid 2>/dev/null && echo "may end $pid"
done
echo looked
END_OF_JOB
spies() {
    write_on laptop as lab2 /home/lab2/spy.sh <spy.sh
    printf '%s\n' 'project: spy' 'command: sh spy.sh' 'source: spy.sh' 'resources: {cpus: 0.1}' |
        write_on laptop as lab2 /home/lab2/spy.yaml
    as_user lab2 ludwig submit spy.yaml --wait >id || true
    as_user lab2 ludwig logs "$(cat id).1" | tee said
    [ "$(head -n 1 said)" -gt 3 ]
    [ "$(tail -n +2 said)" = looked ]
    on node1 as lab1 sh -s <spy.sh >found
    grep -q ^/proc/.*/environ found
    grep -q '^/processing/lab1/' found
    grep -q '^may end' found
    unharmed
}
it "a job of lab2's finds nothing of lab1's on the node, and can end nothing" spies

# Its own project leads into lab1's: what follows the link has lab2's rights.
misleads() {
    sweep_file lab2 lead.yaml lead 'echo overwritten >$LUDWIG_SAVE_PATH/x' 'resources: {cpus: 0.1}'
    as_user lab2 ludwig submit lead.yaml --wait >/dev/null
    find "$SHARE/private" -printf '%p %T@\n' | sort >before
    for name in runs logs failed; do
        on fileserver as lab2 sh -c "cd $share/lead && mv $name $name.old 2>/dev/null; ln -s ../private $name"
    done
    lead=$(as_user lab2 ludwig submit lead.yaml --reuse none)
    wait_until 20 'service_log node1 worker | grep "not-published-yet sweep=$lead .*symlink is in the way"'
    as_user lab2 ludwig cancel "$lead" --quiet
    find "$SHARE/private" -printf '%p %T@\n' | sort >after
    diff before after
    unharmed
}
it "links in lab2's project lead nobody into lab1's" misleads

# ---- files of the jail, over SFTP ----

tree() {
    find "$SHARE" -path "$SHARE/.ludwig/outbox/*" -o -path "$SHARE/.ludwig/inbox/*/*" -o \
        -printf '%P %u %g %m %s %y %l %n\n' | sort
}

by_sftp() { # USER LINE...: prints those that fail
    local line user=$1
    shift
    printf -- '-%s\n' "$@" >batch
    on laptop as "$user" sh -c 'echo x >x && exec sftp -q -b - fileserver' <batch >said 2>&1
    cat said >&2
    for line; do
        # Each is echoed, before what is said of it.
        awk -v "line=sftp> -$line" 'shown { print; exit } $0 == line { shown = 1 }' said |
            grep -v '^sftp>' | grep -E "denied|ailure|No such|not found|ouldn't|Can't" >/dev/null && echo "$line"
    done
}

# That each of these may work shows lab1, or lab2 in its own place.
reads() {
    reading=('ls /private' 'get /private/sweeps/1/sweep.yaml' 'ls /private/sweeps' 'ls /.ludwig/inbox/2001')
    [ -z "$(by_sftp lab1 "${reading[@]}")" ]
    reading+=('ls /.ludwig/outbox')
    [ "$(by_sftp lab2 "${reading[@]}")" = "$(printf '%s\n' "${reading[@]}")" ]
}
it "lab2 cannot look into lab1's project, requests and replies" reads

writes() {
    own=('put x /own/x' 'mkdir /own/new' 'rename /own/x /own/new/x' 'put x /.ludwig/inbox/2002/x' 'rm /.ludwig/inbox/2002/x'
        'symlink /private /own/link' 'ln /own/new/x /own/y' 'chmod 777 /own/new' 'rm /own/y' 'rm /own/new/x' 'rmdir /own/new')
    [ -z "$(by_sftp lab2 "${own[@]}")" ]
    tree >before
    foreign=('put x /x' 'mkdir /new' 'put x /private/x' 'rename /private /gone' 'chmod 777 /private'
        'put x /.ludwig/x' 'mkdir /.ludwig/new' 'put x /.ludwig/id' 'rm /.ludwig/id' 'chmod 666 /.ludwig/id'
        'rm /.ludwig/server.sock' 'rename /.ludwig/server.sock /.ludwig/other' 'chmod 600 /.ludwig/server.sock'
        'mkdir /.ludwig/inbox/2003' 'mkdir /.ludwig/inbox/02001' 'put x /.ludwig/inbox/x' 'put x /.ludwig/inbox/2001/x'
        'rmdir /.ludwig/inbox/2001' 'rename /.ludwig/inbox/2001 /.ludwig/inbox/gone' 'rmdir /.ludwig/inbox/2002'
        'rename /.ludwig/inbox/2002 /.ludwig/inbox/2003' 'symlink /private /.ludwig/inbox/2003'
        'chmod 777 /.ludwig/inbox' 'chmod 777 /.ludwig/outbox' 'put x /.ludwig/outbox/x' 'mkdir /.ludwig/outbox/new'
        'symlink /etc /.ludwig/outbox/link' 'ln /.ludwig/id /.ludwig/inbox/id')
    [ "$(by_sftp lab2 "${foreign[@]}")" = "$(printf '%s\n' "${foreign[@]}")" ]
    tree >after
    diff before after
    unharmed
}
it 'lab2 can write nothing in .ludwig outside its own inbox, nor in the share' writes

# ---- requests that are files: by a user who has a shell, which can do more than SFTP ----

shell() { # USER COMMAND...
    on fileserver as "$@"
}
inbox=$share/.ludwig/inbox
forged() { # USER FILE [SWEEP]: a request to cancel sweep 2, made by that user; prints the name it must have
    attack fileserver "$1" write_request $share "$2" "${3-2}"
}
refused() { # PATTERN
    service_log fileserver ludwigd | grep -q "inbox-refused .*$1"
}
# It was looked at, and refused for that reason.
in_vain() { # PATTERN
    wait_until 20 refused "$1"
    unharmed
}

victim() { # prints the number of another sweep of lab1's
    local sweep
    sweep_file lab1 victim.yaml private 'echo {p}' 'private: true' 'params: {p: [x]}' 'resources: {cpus: 2}'
    sweep=$(submit victim.yaml --reuse none) && echo "$sweep" | tee -a "$known"
}
accepted() {
    sweep=$(victim)
    attack fileserver lab1 cancels $share "$sweep"
    [ "$(sweep_state "$sweep")" = cancelled ]
}
it "a request in lab1's inbox from lab1 is carried out: so a forged one could be" accepted

it "lab2 in its own name cannot cancel lab1's sweep" '
    attack fileserver lab2 may_not_cancel $share 2
    unharmed'

into_theirs() {
    name=$(forged lab2 /tmp/f)
    not shell lab2 cp /tmp/f "$inbox/2001/$name"
    not shell lab2 mv /tmp/f "$inbox/2001/$name"
    not shell lab2 ln /tmp/f "$inbox/2001/$name"
    shell lab2 rm /tmp/f
    unharmed
}
it "lab2 cannot put a request into lab1's inbox" into_theirs

# What lab1 may be brought to leave lying about: a file of lab1's with content of lab2's, in a
# folder that all may write.
bait() { # [SWEEP]: prints the name
    local name
    on fileserver sh -c 'rm -rf /srv/bait && install -d -m 0777 -o lab1 /srv/bait'
    shell lab1 sh -c ': >/srv/bait/f && chmod 0666 /srv/bait/f'
    name=$(forged lab2 /tmp/f "$@")
    shell lab2 sh -c 'cat /tmp/f >/srv/bait/f && rm /tmp/f'
    shell lab1 chmod 0600 /srv/bait/f
    echo "$name"
}
swallowed() {
    sweep=$(victim)
    name=$(bait "$sweep")
    shell lab1 mv /srv/bait/f "$inbox/2001/$name"
    wait_until 20 '[ "$(sweep_state "$sweep")" = cancelled ]'
}
it "a file with a request of lab2's counts once lab1 itself moves it into its inbox" swallowed

# It is renames that ludwigd looks for.
place() { # USER FILE NAME
    shell "$1" mv "$2" "${2%/*}/$3"
}
linked() {
    name=$(bait)
    # The kernel forbids it to others than the owner, unless told otherwise.
    shell lab2 ln /srv/bait/f "$inbox/2002/f" || on fileserver ln /srv/bait/f "$inbox/2002/f"
    place lab2 "$inbox/2002/f" "$name"
    in_vain "$name belongs to somebody else"
    shell lab2 rm -f "$inbox/2002/$name"
}
it "a hard link to a file of lab1's in lab2's inbox counts for nobody" linked

twice() {
    name=$(bait)
    shell lab1 ln /srv/bait/f "$inbox/2001/f"
    place lab1 "$inbox/2001/f" "$name"
    in_vain "$name has more than one name"
    shell lab1 rm "$inbox/2001/$name"
}
it "a file of lab1's in lab1's inbox that has another name elsewhere counts for nobody" twice

renamed() {
    name=$(bait)
    shell lab2 mv /srv/bait/f "$inbox/2002/$name"
    in_vain "$name belongs to somebody else"
    shell lab2 rm -f "$inbox/2002/$name"
}
it "a file of lab1's moved into lab2's inbox counts for nobody" renamed

symlinked() {
    name=$(bait)
    shell lab2 ln -s /srv/bait/f "$inbox/2002/f"
    place lab2 "$inbox/2002/f" "$name"
    in_vain "$name"
    shell lab2 rm "$inbox/2002/$name"
}
it "a symlink to a file of lab1's in lab2's inbox counts for nobody" symlinked

# lab1's own inbox, which lab1 has opened to the world or the group.
opened() { # MODE
    name=$(bait)
    shell lab1 chgrp lab "$inbox/2001"
    shell lab1 chmod "$1" "$inbox/2001"
    shell lab2 mv /srv/bait/f "$inbox/2001/$name"
    other=$(forged lab2 /tmp/f)
    shell lab2 mv /tmp/f "$inbox/2001/$other"
    in_vain "others may write into inbox/2001 (mode $1)"
    on fileserver sh -c "rm $inbox/2001/$name $inbox/2001/$other; chmod 0700 $inbox/2001"
    attack fileserver lab1 greets $share
}
it "lab1's inbox, once others can write it, is believed nothing" 'opened 0777'
it "lab1's inbox, once its group can write it, is believed nothing" 'opened 0770'

linked_inbox() {
    service_kill fileserver ludwigd
    on fileserver sh -c "mv $inbox/2001 $inbox/.kept; mkdir -m 0700 /srv/elsewhere; chown lab1 /srv/elsewhere; ln -s /srv/elsewhere $inbox/2001"
    lab_server
    lab_ready 1
    name=$(bait)
    shell lab1 mv /srv/bait/f "/srv/elsewhere/$name"
    in_vain 'inbox/2001 is no folder of the share itself'
    service_kill fileserver ludwigd
    on fileserver sh -c "rm $inbox/2001; mv $inbox/.kept $inbox/2001"
    lab_server
    lab_ready 1
    attack fileserver lab1 greets $share
}
it 'an inbox that is a symlink is none' linked_inbox

replies() {
    sweep=$(victim)
    attack fileserver lab1 cancels $share "$sweep"
    not shell lab2 ls "$share/.ludwig/outbox"
    # Even with its name.
    on fileserver sh -c "cd $share/.ludwig/outbox && ls | grep '^2001\.'" | tee names
    file=$share/.ludwig/outbox/$(tail -n 1 names)
    shell lab1 cat "$file" | grep -q .
    not shell lab2 cat "$file"
    not shell lab2 rm -f "$file"
    shell lab1 ls "$inbox/2001"
    not shell lab2 ls "$inbox/2001"
}
it "lab2 cannot read lab1's requests and replies" replies

bears_rubbish() {
    pid=$(on fileserver cat /run/service/ludwigd)
    attack fileserver lab2 rubbish $share
    attack fileserver lab2 greets $share
    attack fileserver lab1 greets $share
    on fileserver kill -0 "$pid"
    [ "$(on fileserver awk '/VmHWM/ { print $2 }' "/proc/$pid/status")" -lt 200000 ]
    shell lab2 sh -c "rm -rf $inbox/2002/*"
    unharmed
}
it 'fifos, folders, links, huge and broken files in an inbox hold nobody up' bears_rubbish

bears_crowd() {
    attack fileserver lab2 crowd $share 3000
    # The others are served meanwhile.
    attack fileserver lab1 greets $share
    # ludwigd removes some of them meanwhile.
    shell lab2 sh -c "find $inbox/2002 -type f -exec rm -f {} +"
    unharmed
}
it 'thousands of connections in an inbox do not keep others waiting' bears_crowd

# Last, as it ends the attempt.
believed() {
    service_stop node1 worker
    attack fileserver ludwig may_tell $share/.ludwig/server.sock "$token" "$worker"
    [ "$(jobs_in failed 1)" = 1 ]
}
it "the worker that has lab1's attempt is believed: so lab2's could be" believed

done_testing
