#!/bin/bash
# shellcheck disable=SC2016,SC2154 # shell text for wait_until and for jobs; variables by declare
# root_worker.sh - a worker that runs as root runs jobs as their owners, and keeps them apart
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"

lab_possible || {
    skip 'a root worker runs jobs as their owners' "$lab_lacks"
    done_testing
}
lab_up stock fileserver node1

projects=$SHARE/lab
scratch=$LAB/node1/disk/processing

# Users that the file server and the node do not agree about: lab3 is unknown on the node, the node's
# lab4 is one of the system's, its lab5 has another uid.
accounts() {
    printf '%s:x:%s:%s::/home/%s:/bin/bash\n' lab3 2003 2003 lab3 lab4 2004 2004 lab4 lab5 2005 2005 lab5 |
        on fileserver sh -c 'cat >>/etc/passwd'
    printf '%s:x:%s:%s::/home/%s:/bin/bash\n' lab4 504 504 lab4 lab5 3005 3005 lab5 |
        on node1 sh -c 'cat >>/etc/passwd'
    for host in fileserver node1; do
        on $host sed -i 's/^lab:.*/lab:x:2000:lab1,lab2,lab3,lab4,lab5,ludwig/' /etc/group
        for user in lab3 lab4 lab5; do
            ! on $host id -u $user >/dev/null 2>&1 ||
                on $host install -d -m 0700 -o $user -g "$(on $host id -g $user)" /home/$user
        done
    done
}
accounts
for user in lab1 lab2 lab3 lab4 lab5; do
    echo 'server: unix:/srv/research_data/.ludwig/server.sock' |
        on fileserver setpriv --reuid=$user --regid="$(on fileserver id -g $user)" --init-groups \
            sh -c "mkdir -p /home/$user/.config/ludwig /home/$user/work && cat >/home/$user/.config/ludwig/config.yaml"
done
as() { # USER COMMAND...: on the file server
    local user=$1 gid
    shift
    gid=$(on fileserver id -g "$user")
    on fileserver setpriv --reuid="$user" --regid="$gid" --init-groups \
        env -C "/home/$user/work" HOME="/home/$user" USER="$user" LOGNAME="$user" "$@"
}

printf '%s\n' 'share: /srv/research_data' 'projects: lab' 'share_group: lab' 'state: /var/lib/ludwig' \
    'sockets: [/srv/research_data/.ludwig/server.sock]' 'worker_users: [root]' |
    write_on fileserver /etc/ludwig/ludwigd.yaml
worker_conf() { # LINE...
    printf '%s\n' 'server: unix:/media/research_data/.ludwig/server.sock' 'share: /media/research_data' \
        'name: node1' 'state: /var/lib/ludwig-worker' 'resources: {cpus: 8, gpus: 0, memory: 4GiB}' \
        'private_tmp: no' "$@" | # its jobs meet in $TEST_TMP, which lies in /tmp
        write_on node1 /etc/ludwig/worker.yaml
}
worker_conf 'scratch: /processing/{user}'
is_up() {
    [ -n "$(as lab1 ludwig nodes --state up --quiet 2>/dev/null)" ]
}
start_worker() {
    service node1 worker env SECRET=of-root HOME=/root ludwig-worker --config /etc/ludwig/worker.yaml
    wait_until 20 is_up
}
start() {
    service fileserver ludwigd ludwigd --config /etc/ludwig/ludwigd.yaml
    wait_until 10 as lab1 ludwig status >/dev/null 2>&1
    start_worker
}
start

sweep() { # USER PROJECT VALUES [LINE...]: its number in $id; run.sh is written before
    local user=$1 project=$2 values=$3
    shift 3
    printf '%s\n' "project: $project" 'command: sh run.sh {x}' 'source: run.sh' "params: {x: [$values]}" "$@" |
        as "$user" tee sweep.yaml >/dev/null
    id=$(as "$user" ludwig submit sweep.yaml --reuse none --json | json - 'str(d["sweep"])')
}
script() { # USER LINE...: run.sh
    local user=$1
    shift
    printf '%s\n' "gate() { until [ -e $TEST_TMP/gates/\$1 ]; do sleep 0.3; done; }" "$@" |
        as "$user" tee run.sh >/dev/null
}
state() { # USER SWEEP
    sweep_state "$2" as "$1"
}
count() { # USER SWEEP STATE
    jobs_in "$3" "$2" as "$1"
}
attempts() { # USER SWEEP: of all jobs
    as "$1" ludwig jobs "$2" --json | json - 'str(sum(j["attempt"] for j in d["jobs"]))'
}
agent_pid() {
    on node1 cat /run/service/worker
}

# ---- who jobs are ----

# shellcheck disable=SC2016 # for the job
probe=('echo "ids $(id -u) $(id -g) $(id -G)"' 'echo "umask $(umask)"' 'echo "home $HOME $USER $LOGNAME"'
    'env | sed "s/^/env /"' 'ls -l /proc/self/fd | sed "1d; s/.* \([0-9]* -> .*\)/fd \1/"'
    'grep -h "^Cap[IPEA]" /proc/self/status' 'touch $LUDWIG_SAVE_PATH/out $LUDWIG_CHECKPOINT/epoch'
    'mkdir $LUDWIG_SAVE_PATH/dir && touch $LUDWIG_SAVE_PATH/dir/in && chmod 0777 $LUDWIG_SAVE_PATH/dir/in'
    'gate both' '[ "$1" != 2 ]')

two_at_once() {
    script lab1 "${probe[@]}"
    sweep lab1 one '1, 2' && first=$id
    script lab2 "${probe[@]}"
    sweep lab2 two '1, 2' && second=$id
    wait_until 20 '[ "$(count lab1 '"$first"' running)$(count lab2 '"$second"' running)" = 22 ]'
    for uid in 2001 2002; do
        [ "$(on node1 ps -o comm= -U $uid | grep -c ludwig-runner)" = 2 ]
        wait_until 10 '[ "$(on node1 ps -o comm= -U '$uid' | grep -c ludwig-publish)" = 1 ]'
    done
    # Nobody of that user can look into them, or into root's runtime folder.
    runner=$(on node1 pgrep -o -U 2001 ludwig-runner)
    not on node1 as lab1 cat "/proc/$runner/environ"
    not on node1 as lab1 ls /var/lib/ludwig-worker
    open both
    wait_until 20 '[ "$(state lab1 '"$first"')$(state lab2 '"$second"')" = failedfailed ]'
    [ "$(count lab1 "$first" "done")$(count lab2 "$second" "done")" = 11 ]
}
it 'the jobs of two users run at once, with children of each' two_at_once

as_owner() {
    as lab1 ludwig logs "$(as lab1 ludwig status --json | json - 'str(d["sweeps"][-1]["sweep"])').1" >log1
    as lab2 ludwig logs "$(as lab2 ludwig status --json | json - 'str([s for s in d["sweeps"] if s["user"] == "lab2"][0]["sweep"])').1" >log2
    grep -x 'ids 2001 2001 2001 2000' log1
    grep -x 'ids 2002 2002 2002 2000' log2
    grep -x 'umask 0027' log1
    grep -x 'home /home/lab1 lab1 lab1' log1
    grep -x 'home /home/lab2 lab2 lab2' log2
    not grep -E '^env (SECRET|LUDWIG_TEST|XDG|.*root)' log1
    [ "$(grep -c '^fd ' log1)" = 4 ] # and the folder that ls reads
    [ "$(grep -c '^Cap[IPE].*0000000000000000$' log1)" = 3 ]
}
it 'each is its owner: uid, groups, umask, HOME, no environment, descriptor or capability of root' as_owner

modes() { # the share, seen from outside
    for user in lab1:one lab2:two; do
        folder=$projects/${user#*:}
        uid=${lab_users[${user%:*}]}
        [ -d "$folder/runs" ] && [ -d "$folder/failed" ] && [ -d "$folder/logs" ]
        [ -n "$(find "$folder/.ludwig/checkpoints" -name epoch)" ]
        find "$folder" '(' -not -uid "$uid" -o -not -gid 2000 ')' -ls >wrong
        find "$folder" -type d -not -perm 2750 -ls >>wrong
        find "$folder" -type f -not -perm 0640 -not -perm 0750 -ls >>wrong
        cat wrong
        [ ! -s wrong ]
    done
}
it "what they leave on the share is the owner's and the group's, with the project's modes" modes

scratches() {
    for user in lab1 lab2; do
        uid=${lab_users[$user]}
        [ "$(stat -c '%u %a' "$scratch/$user/ludwig-$user-node1")" = "$uid 700" ]
        [ -z "$(find "$scratch/$user" -not -uid "$uid")" ]
    done
}
it 'each has a scratch folder of its own, closed to others' scratches

private() {
    script lab1 'echo secret >$LUDWIG_SAVE_PATH/out; umask 0'
    sweep lab1 own '1' 'private: true'
    wait_until 20 '[ "$(state lab1 '"$id"')" = done ]'
    [ "$(stat -c %a "$projects/own")" = 700 ]
    [ -z "$(find "$projects/own" -not -uid 2001)" ]
    find "$projects/own"/{logs,runs} -perm /077 -ls >wrong
    cat wrong && [ ! -s wrong ]
}
it 'in a private project it is closed to the group' private

shared() {
    on fileserver install -d -o lab1 -g lab -m 2770 /srv/research_data/lab/common
    script lab1 'echo 1 >$LUDWIG_SAVE_PATH/out'
    sweep lab1 common '1'
    wait_until 20 '[ "$(state lab1 '"$id"')" = done ]'
    find "$projects/common"/{logs,runs} -type d -not -perm 2770 -ls >wrong
    find "$projects/common"/{logs,runs} -type f -not -perm 0660 -ls >>wrong
    cat wrong && [ ! -s wrong ]
}
it 'in a shared one the group may write' shared

passes() {
    on fileserver install -d -o lab1 -g lab -m 0700 /srv/research_data/lab/cats
    as lab1 sh -c 'echo cat >/srv/research_data/lab/cats/one'
    script lab1 'cat $LUDWIG_DATA/cats/one >$LUDWIG_SAVE_PATH/out'
    sweep lab1 one '5' 'data: [{share: lab/cats}]'
    wait_until 20 '[ "$(state lab1 '"$id"')" = done ]'
    find "$projects/one/.ludwig/packs" '(' -not -uid 2001 -o -not -gid 2000 ')' -ls >wrong
    cat wrong && [ ! -s wrong ]
    script lab1 'echo 1 >$LUDWIG_SAVE_PATH/out' # for those below
    # Nobody else gets what they may not read.
    script lab2 'true'
    not sweep lab2 two '5' 'data: [{share: lab/cats}]'
    as lab2 ludwig submit sweep.yaml 2>err || true
    grep 'lab/cats, on node1: .*Permission denied' err
    wait_until 10 'as lab1 ludwig nodes --json | json - "any(h[\"user\"] == \"lab1\" for n in d[\"nodes\"] for h in n[\"holds\"])"'
}
it 'what lies on the share is packed by its owner, and by nobody who may not read it' passes

# Jobs of lab1 have all that the node has, and the next job is lab2's.
ahead() {
    script lab1 'gate ahead'
    sweep lab1 long '1' 'resources: {cpus: 8}' && first=$id
    wait_until 20 '[ "$(count lab1 '"$first"' running)" = 1 ]'
    as lab2 sh -c 'mkdir data && head -c 2000000 /dev/urandom >data/file'
    script lab2 'cp $LUDWIG_DATA/data/file $LUDWIG_SAVE_PATH'
    sweep lab2 next '1' 'resources: {cpus: 8}' 'data: [data]'
    wait_until 20 '[ -n "$(find "$scratch/lab2" -path "*/cache/[0-9a-f]*/file")" ]'
    [ -z "$(find "$scratch/lab2" -not -uid 2002)" ]
    [ "$(count lab1 "$first" running)$(count lab2 "$id" queued)" = 11 ]
    open ahead
    wait_until 20 '[ "$(state lab2 '"$id"')" = done ]'
}
it "the next user's data come while another's job has the machine" ahead

# ---- who is refused ----

unknown() {
    script lab3 'touch $LUDWIG_SAVE_PATH/out'
    sweep lab3 three '1, 2, 3'
    wait_until 20 'as lab3 ludwig why '"$id"'.1 | grep -F "node1: there is no user lab3 on this machine"'
    unknown=$id
    sweep lab1 after '1'
    wait_until 20 '[ "$(state lab1 '"$id"')" = done ]'
    [ "$(count lab3 "$unknown" queued)" = 3 ]
    # It was given to the node once at most, and not again and again.
    [ "$(attempts lab3 "$unknown")" -le 3 ]
    [ ! -e "$scratch/lab3" ]
}
it 'jobs of a user whom the machine does not know wait elsewhere, and why says so' unknown

below() {
    script lab4 'touch $LUDWIG_SAVE_PATH/out'
    sweep lab4 four '1'
    wait_until 20 'as lab4 ludwig why '"$id"'.1 | grep -F "node1: user lab4 is refused: its uid 504 is below min_uid, which is 1000 here"'
    [ "$(count lab4 "$id" queued)" = 1 ]
    as lab4 ludwig submit sweep.yaml --reuse none 2>note
    grep -F 'below min_uid' note # told at once, as no other worker could
}
it 'so do those of one whose uid is below min_uid' below

by_name() {
    on fileserver install -d -o 2005 -g lab -m 2770 /srv/research_data/lab/five
    script lab5 'id -u' 'touch $LUDWIG_SAVE_PATH/out'
    sweep lab5 five '1'
    wait_until 20 '[ "$(state lab5 '"$id"')" = done ]'
    [ "$(as lab5 ludwig logs "$id.1")" = 3005 ]
    [ "$(stat -c %u "$(find "$projects/five/runs" -name out)")" = 3005 ]
}
it 'who has another uid there is known by name' by_name

known_later() {
    echo 'lab3:x:2003:2003::/home/lab3:/bin/bash' | on node1 sh -c 'cat >>/etc/passwd'
    service_stop node1 worker
    start_worker
    id=$(as lab3 ludwig status --json | json - 'str([s for s in d["sweeps"] if s["user"] == "lab3"][0]["sweep"])')
    wait_until 20 '[ "$(state lab3 '"$id"')" = done ]'
    [ "$(stat -c %u "$(find "$projects/three/runs" -name out | head -1)")" = 2003 ]
}
it 'and once the machine knows a user, its jobs run' known_later

# ---- adoption ----

killed() {
    rm -f "$TEST_TMP"/gates/*
    for user in lab1 lab2; do
        script $user 'echo "$1" >$LUDWIG_SAVE_PATH/out' 'gate k$1'
        sweep $user "killed-$user" '1, 2, 3'
        declare "$user=$id"
        wait_until 20 '[ "$(count '"$user $id"' running)" = 3 ]'
    done
    service_kill node1 worker
    open k1
    wait_until 10 '[ "$(on node1 pgrep -c -f "run.sh")" = 4 ]'
    start_worker
    wait_until 20 '[ "$(count lab1 '"$lab1"' done)$(count lab2 '"$lab2"' done)" = 11 ]'
    [ "$(count lab1 "$lab1" running)$(count lab2 "$lab2" running)" = 22 ]
    service_kill node1 worker
    open k2 && open k3
    wait_until 10 not on node1 pgrep -f run.sh
    start_worker
    wait_until 20 '[ "$(state lab1 '"$lab1"')$(state lab2 '"$lab2"')" = donedone ]'
    [ "$(attempts lab1 "$lab1")$(attempts lab2 "$lab2")" = 33 ]
    [ -z "$(find "$projects/killed-lab1" -not -uid 2001)" ]
    [ -z "$(find "$projects/killed-lab2" -not -uid 2002)" ]
    wait_until 10 '[ -z "$(find "$scratch" -regextype posix-extended -regex ".*/[0-9a-f]{32}" -not -path "*/spare/*")" ]'
}
it 'kill -9 of the agent: the next one adopts the jobs of both' killed

runners_killed() {
    rm -f "$TEST_TMP"/gates/*
    for user in lab1 lab2; do
        script $user 'sleep 1000 & ' 'echo $LUDWIG_RESTART >$LUDWIG_SAVE_PATH/out' '[ $LUDWIG_RESTART = 1 ] || gate never'
        sweep $user "lost-$user" '1' 'retry: {max: 1, on: [node-lost]}'
        declare "$user=$id"
        wait_until 20 '[ "$(count '"$user $id"' running)" = 1 ]'
    done
    service_kill node1 worker
    on node1 pkill -KILL -U 2001 ludwig-runner
    start_worker
    wait_until 20 '[ "$(state lab1 '"$lab1"')" != running ]'
    [ "$(count lab2 "$lab2" running)" = 1 ]
    open never
    wait_until 20 '[ "$(state lab2 '"$lab2"')" = done ]'
    # Its processes did not outlive it: neither the one it died with nor what that left behind.
    wait_until 10 not on node1 pgrep -U 2001 -x sleep
}
it "what one user's dead runner left is ended, and another's job goes on" runners_killed

# A job that stops its runner, and hides a daemon (env -i) that only the runner leads to.
held() {
    rm -f "$TEST_TMP"/gates/*
    script lab1 'env -i setsid sleep 1001 & gate stop; kill -STOP $PPID; sleep 1002'
    sweep lab1 held '1' 'resources: {cpus: 8}' && first=$id
    wait_until 20 '[ "$(count lab1 '"$first"' running)" = 1 ]'
    open stop
    script lab2 'touch $LUDWIG_SAVE_PATH/out'
    sweep lab2 waits '1' && second=$id
    wait_until 20 on node1 pgrep -U 2001 -f 'sleep 1002'
    service_stop node1 worker
    start_worker
    as lab1 ludwig cancel "$first"
    wait_until 60 '[ "$(state lab2 '"$second"')" = done ]'
    wait_until 10 not on node1 pgrep -U 2001 -f 'sleep 100[12]'
    on node1 kill -0 "$(agent_pid)"
}
it 'a job that stops its runner holds the node no longer than others, also after a restart of the worker' held

# Nothing else leads to them where there is no control group.
orphaned() {
    script lab1 'env -i setsid sleep 1003 & gate kill; kill -KILL $PPID; sleep 1004'
    sweep lab1 orphans '1'
    wait_until 20 '[ "$(count lab1 '"$id"' running)" = 1 ]'
    open kill
    wait_until 60 '[ "$(state lab1 '"$id"')" = failed ]'
    wait_until 10 not on node1 pgrep -U 2001 -f 'sleep 100[34]'
    on node1 kill -0 "$(agent_pid)"
}
it 'nor does it leave a process by killing its runner' orphaned

# ---- hostile users ----

# What root changes or removes on their behalf would be seen here.
on node1 sh -c 'mkdir -p /mnt/roots && cd /mnt/roots && umask 077 &&
    for f in order outcome report; do echo root >$f; done; ln order hard'
roots() {
    on node1 sh -c 'cd /mnt/roots && ls -AlR --full-time . && cat order outcome report hard'
}

# shellcheck disable=SC2016 # for the job
hostile_job=('cd $LUDWIG_SAVE_PATH/../../..' 'pwd' 'mine=${LUDWIG_SAVE_PATH%/save}'
    # of itself: fifo, symlink, nonsense, a folder where a file should be
    'mkfifo $mine/outcome; rm -f $mine/order; ln -s /mnt/roots/order $mine/order; mkdir $mine/report'
    # attempts of others, and of nobody
    'hex() { head -c 16 /dev/urandom | od -An -tx1 | tr -d " \n"; }'
    'for dir in run ended published log checkpoints spare; do
        h=$(hex); mkdir $dir/$h; for f in order outcome report; do mkfifo $dir/$h/$f; done
        h=$(hex); ln -s /mnt/roots $dir/$h
        h=$(hex); mkdir $dir/$h; for f in order outcome report; do ln -s /dev/zero $dir/$h/$f; done
        h=$(hex); mkdir $dir/$h; for f in order outcome report; do head -c 100000 /dev/urandom >$dir/$h/$f; done
        h=$(hex); mkfifo $dir/$h
    done'
    'chmod 0777 . run ended published log')

hostile() {
    rm -f "$TEST_TMP"/gates/*
    roots >before
    script lab1 "${hostile_job[@]}" 'touch planted' 'gate go'
    sweep lab1 hostile '1' && bad=$id
    script lab2 'gate go' 'touch $LUDWIG_SAVE_PATH/out'
    sweep lab2 victim '1, 2' && good=$id
    wait_until 20 '[ -e "$scratch/lab1/ludwig-lab1-node1/planted" ]'
    wait_until 20 '[ "$(count lab2 '"$good"' running)" = 2 ]'
    service_kill node1 worker
    on node1 pkill -KILL -U 2001 ludwig-runner
    start_worker
    open go
    wait_until 20 '[ "$(state lab2 '"$good"')" = done ]'
    [ "$(attempts lab2 "$good")" = 2 ]
    wait_until 30 '[ "$(count lab1 '"$bad"' running)" = 0 ]'
    as lab1 ludwig cancel "$bad" # or what it plants fills a small scratch later
    roots >after
    diff before after
    on node1 kill -0 "$(agent_pid)"
}
it 'whatever a user plants in its scratch, nothing of root is touched and nobody else waits' hostile

# shellcheck disable=SC2016
farm_job=('cd $LUDWIG_SAVE_PATH/../../..'
    'for dir in run ended published log checkpoints spare cache bin; do mv $dir $dir.away; ln -s /mnt/roots $dir; done'
    'touch farmed')

farm() {
    rm -f "$TEST_TMP"/gates/*
    roots >before
    script lab1 "${farm_job[@]}" 'gate go'
    sweep lab1 farm '1' && bad=$id
    wait_until 20 '[ -e "$scratch/lab1/ludwig-lab1-node1/farmed" ]'
    service_kill node1 worker
    start_worker
    open go
    script lab2 'touch $LUDWIG_SAVE_PATH/out'
    sweep lab2 beside '1, 2, 3' && good=$id
    wait_until 20 '[ "$(state lab2 '"$good"')" = done ]'
    roots >after
    diff before after
    on node1 sh -c 'cd /processing/lab1/ludwig-lab1-node1 &&
        for dir in *.away; do rm "${dir%.away}" && mv "$dir" "${dir%.away}"; done'
    wait_until 60 '[ "$(state lab1 '"$bad"')" = done ]'
    script lab1 'touch $LUDWIG_SAVE_PATH/out'
    sweep lab1 healed '1'
    wait_until 60 '[ "$(state lab1 '"$id"')" = done ]'
}
it 'nor where it makes a symlink of every folder' farm

impostor() {
    # A folder that lab1 made where root would make one for lab2 is neither taken for it nor in its way.
    service_stop node1 worker
    worker_conf 'scratch: /tmp/lw'
    on node1 install -d -m 01777 /tmp/lw
    on node1 as lab1 mkdir -m 0777 /tmp/lw/ludwig-lab2-node1
    start_worker
    script lab2 'touch $LUDWIG_SAVE_PATH/out'
    sweep lab2 imposed '1'
    wait_until 20 '[ "$(state lab2 '"$id"')" = done ]'
    [ "$(on node1 stat -c %u /tmp/lw/ludwig-lab2-node1)" = 2002 ]
    theirs=$(on node1 find /tmp/lw -maxdepth 1 -user lab1 -name '*lab2*')
    [[ $theirs =~ ^/tmp/lw/[.]ludwig-lab2-node1[.][0-9a-f]{8}$ ]]
    [ -z "$(on node1 ls -A "$theirs")" ]
    service_stop node1 worker
    worker_conf 'scratch: /processing/{user}'
    start_worker
}
it 'a scratch folder that a stranger has put there is set aside' impostor

hangs() {
    rm -f "$TEST_TMP"/gates/*
    script lab1 'touch $LUDWIG_SAVE_PATH/out; gate go'
    sweep lab1 hangs '1, 2' && stuck=$id
    wait_until 20 '[ "$(count lab1 '"$stuck"' running)" = 2 ]'
    wait_until 10 on node1 pgrep -U 2001 ludwig-publish
    # As if they waited for a share that is away.
    on node1 pkill -STOP -U 2001 'ludwig-(publish|stager)'
    open go
    script lab2 'touch $LUDWIG_SAVE_PATH/out'
    sweep lab2 flows '1, 2, 3, 4'
    wait_until 20 '[ "$(state lab2 '"$id"')" = done ]'
    service_kill node1 worker
    start_worker
    sweep lab2 flows-on '1, 2, 3, 4'
    wait_until 20 '[ "$(state lab2 '"$id"')" = done ]'
    [ "$(count lab1 "$stuck" done)" = 0 ]
    on node1 pkill -CONT -U 2001 'ludwig-(publish|stager)'
    wait_until 30 '[ "$(state lab1 '"$stuck"')" = done ]'
    [ "$(attempts lab1 "$stuck")" = 2 ]
}
it "one user's share that hangs stops nobody else's jobs" hangs

full() {
    service_stop node1 worker
    on node1 sh -c 'rm -rf /processing/lab1/* && mount -t tmpfs -o size=256k,uid=2001,gid=2001,mode=700 full /processing/lab1'
    on node1 as lab1 sh -c 'head -c 250k /dev/zero >/processing/lab1/fill || true'
    start_worker
    script lab1 'touch $LUDWIG_SAVE_PATH/out'
    sweep lab1 full '1, 2' && stuck=$id
    script lab2 'touch $LUDWIG_SAVE_PATH/out'
    sweep lab2 roomy '1, 2, 3, 4'
    wait_until 20 '[ "$(state lab2 '"$id"')" = done ]'
    [ "$(count lab1 "$stuck" done)" = 0 ]
    on node1 as lab1 rm /processing/lab1/fill
    wait_until 90 '[ "$(state lab1 '"$stuck"')" = done ]'
    service_stop node1 worker
    on node1 umount -l /processing/lab1
    start_worker
}
it "one user's full scratch stops nobody else's jobs" full

# ---- ludwigd as a service user ----

service_user() {
    service_stop fileserver ludwigd
    service_stop node1 worker
    on fileserver sh -c 'install -d -o ludwig -g lab -m 2775 /srv/research_data/service && rm -rf /srv/research_data/.ludwig &&
        install -d -o ludwig -g ludwig -m 0755 /srv/research_data/.ludwig && install -d -o ludwig -g ludwig -m 0700 /var/lib/of-ludwig'
    printf '%s\n' 'share: /srv/research_data' 'projects: service' 'state: /var/lib/of-ludwig' \
        'sockets: [/srv/research_data/.ludwig/server.sock]' 'worker_users: [root]' |
        write_on fileserver /etc/ludwig/ludwigd.yaml
    service fileserver ludwigd_as_ludwig as ludwig ludwigd --config /etc/ludwig/ludwigd.yaml
    # Nobody believes another account's server that no configuration names.
    wait_until 10 on fileserver test -S /srv/research_data/.ludwig/server.sock
    for user in lab1 lab2; do
        not as $user ludwig status
        on fileserver sh -c "echo 'server_user: ludwig' >>/home/$user/.config/ludwig/config.yaml"
    done
    wait_until 10 as lab1 ludwig status >/dev/null 2>&1
    worker_conf 'scratch: /processing/{user}' 'server_user: ludwig'
    start_worker
    for user in lab1 lab2; do
        script $user 'id -u' 'touch $LUDWIG_SAVE_PATH/out'
        sweep $user "served-$user" '1, 2'
        wait_until 20 '[ "$(state '"$user $id"')" = done ]'
        [ "$(as $user ludwig logs "$id.1")" = "${lab_users[$user]}" ]
        [ -z "$(find "$SHARE/service/served-$user" -not -uid "${lab_users[$user]}")" ]
    done
}
it 'it is the same with a ludwigd that is not root' service_user

done_testing
