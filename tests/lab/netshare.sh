# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # bodies are evaluated later
# netshare.sh - runs in the guest of tests/functional/netshare.sh: shares over NFS and SMB
#
# ludwigd sees the share at /srv/research_data.  The guest serves it and mounts it several times:
#
#     /media/node1, /media/node2    NFS 4.2, root_squash, each a client of its own
#     /media/patient                NFS, a client that caches the content of a folder for an hour
#     /media/service                NFS, all_squash: every file is written as the server's `ludwig`
#     /media/smb                    SMB, as the server's `ludwig`: every file belongs to one account
#     /media/lab1                   SMB, as lab1
#     /media/careless               SMB, as lab1, mounted without uid=: every file seems to be root's
#
# A node is a worker with one of these mounts as its share.
. /repo/tests/lab/guest_lib.sh

mark=${EPOCHREALTIME/./}
lap() { # WORDS: write the time since the last lap to /out/laps, which the test's log shows
    echo "# $(((${EPOCHREALTIME/./} - mark) / 1000)) ms: $*" >>/out/laps
    mark=${EPOCHREALTIME/./}
}

share=/srv/research_data SHARE=/srv/research_data

accounts() {
    local user uid
    printf '%s\n' 'root:x:0:0::/root:/bin/bash' 'nobody:x:65534:65534::/:/bin/false' >/etc/passwd
    printf '%s\n' 'root:x:0:' 'nogroup:x:65534:' 'lab:x:2000:lab1,lab2,ludwig' >/etc/group
    for user in lab1:2001 lab2:2002 ludwig:2100 foreign:3001 nodelud:3100; do
        uid=${user#*:} user=${user%:*}
        echo "$user:x:$uid:$uid::/home/$user:/bin/bash" >>/etc/passwd
        echo "$user:x:$uid:" >>/etc/group
        install -d -m 0755 -o "$uid" -g "$uid" "/home/$user"
    done
    echo '127.0.0.1 localhost' >/etc/hosts
    echo 'hosts: files' >/etc/nsswitch.conf
    hostname fileserver
}

serve_nfs() {
    ip link set lo up
    mkdir -p $share /var/lib/nfs/{rpc_pipefs,v4recovery,nfsdcltrack}
    mount -t tmpfs -o mode=0755 share $share
    touch /var/lib/nfs/{etab,rmtab}
    mount -t nfsd nfsd /proc/fs/nfsd
    mount -t rpc_pipefs rpc_pipefs /var/lib/nfs/rpc_pipefs
    mkdir -p /export/{share,service}
    mount --bind $share /export/share
    mount --bind $share /export/service
    printf '%s\n' '/export *(ro,insecure,fsid=0,no_subtree_check)' \
        '/export/share *(rw,insecure,root_squash,fsid=1,no_subtree_check)' \
        '/export/service *(rw,insecure,all_squash,anonuid=2100,anongid=2000,fsid=2,no_subtree_check)' >/etc/exports
    exportfs -r
    rpc.mountd -N 3
    rpc.nfsd -N 3 -G 10 -L 10 2
    echo Y >/proc/fs/nfsd/v4_end_grace
}

serve_smb() {
    mkdir -p /etc/samba /var/lib/samba/private /var/cache/samba /var/log/samba /run/samba
    printf '%s\n' '[global]' 'server role = standalone server' 'map to guest = bad user' \
        'guest account = ludwig' 'interfaces = lo' 'disable netbios = yes' 'smb ports = 445' \
        'load printers = no' 'printing = bsd' 'printcap name = /dev/null' \
        'inherit permissions = yes' 'map archive = no' 'read only = no' \
        '[service]' "path = $share" 'guest ok = yes' 'guest only = yes' \
        '[people]' "path = $share" >/etc/samba/smb.conf
    printf 'secret\nsecret\n' | smbpasswd -a -s lab1
    smbd -D
}

# Mounts an export as an NFS client of its own, which an address and a host name make.  Two mounts of
# one client would not see each other's writes, which do not recall the client's own delegations.
mount_nfs() { # NUMBER EXPORT NODE [OPTION]
    unshare --uts sh -ec 'hostname "$3"; mount.nfs4 "127.0.0.$1:/$2" "/media/$3" -o "vers=4.2,nosharecache${4+,$4}"' - "$@"
}

mount_all() {
    local login='username=lab1,password=secret,vers=3.1.1'
    mkdir -p /media/{node1,node2,patient,service,smb,lab1,careless}
    mount_nfs 1 share node1
    mount_nfs 2 share node2
    mount_nfs 3 service service
    mount_nfs 4 share patient acdirmin=3600,acdirmax=3600
    ls /proc/fs/nfsd/clients
    [ "$(ls /proc/fs/nfsd/clients | wc -l)" = 4 ]
    wait_until 20 '(: >/dev/tcp/127.0.0.1/445) 2>/dev/null'
    mount.cifs //127.0.0.1/service /media/smb \
        -o guest,vers=3.1.1,uid=3100,gid=2000,file_mode=0660,dir_mode=02770
    mount.cifs //127.0.0.1/people /media/lab1 -o "$login,uid=2001,gid=2000,file_mode=0640,dir_mode=02750"
    mount.cifs //127.0.0.1/people /media/careless -o "$login,file_mode=0777,dir_mode=0777"
}

set_up() { accounts && lap accounts && serve_nfs && lap nfs && serve_smb && lap smbd && mount_all && lap mounts; }
echo 7 >/proc/fs/cifs/cifsFYI
it 'a kernel serves NFS and SMB, and mounts them' set_up

as() { # USER COMMAND...: run it as the user, in the user's home
    local user=$1 home=/home/$1
    shift
    [ "$user" != root ] || home=/root
    setpriv --reuid="$user" --regid="$user" --init-groups env -i -C "$home" HOME="$home" \
        USER="$user" LOGNAME="$user" PATH="$PATH" LC_ALL=C LUDWIG_TEST_MARK="$LUDWIG_TEST_MARK" "$@"
}
start() { # NAME COMMAND...
    local name=$1
    shift
    setsid "$@" >>"/var/log/$name" 2>&1 </dev/null &
    echo $! >"/run/$name.pid"
}
worker() { # NAME ACCOUNT SHARE [LINE...]
    local name=$1 account=$2 mount=$3
    shift 3
    install -d -m 0711 "/processing/$name"
    install -d -o "$account" -m 0711 "/processing/$name/scratch" "/processing/$name/state"
    printf '%s\n' 'server: unix:/run/ludwig/server.sock' "share: $mount" "name: $name" \
        "scratch: /processing/$name/scratch/{user}" "state: /processing/$name/state" \
        'resources: {cpus: 2, gpus: 0, memory: 1GiB}' 'private_tmp: no' "$@" >"/processing/$name/worker.yaml"
    chmod 0644 "/processing/$name/worker.yaml"
    if [ "$account" = root ]; then
        start "$name" env ludwig-worker --config "/processing/$name/worker.yaml"
    else
        start "$name" setpriv --reuid="$account" --regid="$account" --init-groups env -i HOME="/home/$account" \
            PATH="$PATH" LUDWIG_TEST_MARK="$LUDWIG_TEST_MARK" ludwig-worker --config "/processing/$name/worker.yaml"
    fi
}
ready() { # N
    wait_until 40 '[ "$(ludwig nodes --json | grep -o "\"state\": *\"up\"" | wc -l)" = '"$1"' ]'
}
# Makes a dataset of many small files and of each other kind of entry in the user's home; its file sums has
# their checksums, by which a job checks what was staged.
dataset() { # USER NAME
    as "$1" mkdir -p "$2/deep" "$2/empty"
    as "$1" sh -ec 'cd "$1"; for i in $(seq 150); do echo "$1 $i" >deep/$i; done; yes "$1" | head -c 3000000 >large
        head -c 20000000 /dev/zero >sparse; ln deep/1 hard; ln -s deep/2 link; chmod +x deep/3
        find . -type f ! -name sums -print0 | sort -z | xargs -0 sha256sum >sums' - "$2"
}
verify='(cd $LUDWIG_DATA/* && sha256sum --quiet -c sums && [ -d empty ] && [ -x deep/3 ] && [ "$(readlink link)" = deep/2 ]) || exit 9'
cached() { # NODE: list the files sums in its caches
    find "/processing/$1/scratch" -path '*/cache/*/sums'
}

# Submits a sweep whose job run.sh comes from standard input, and sets $id to its number.  A job with data
# checks the data first.
sweep() { # USER PROJECT NODES VALUES [LINE...]
    local user=$1 project=$2 nodes=$3 values=$4
    shift 4
    {
        echo "gate() { until [ -e /tmp/gates/\$1 ]; do sleep 0.02; done; }"
        [[ "$*" != data:* ]] || echo "$verify"
        cat
    } | as "$user" tee run.sh >/dev/null
    printf '%s\n' "project: $project" 'command: sh run.sh {x}' 'source: run.sh' "params: {x: [$values]}" \
        "nodes: [$nodes]" "$@" | as "$user" tee sweep.yaml >/dev/null
    id=$(as "$user" ludwig submit sweep.yaml --reuse none --json | sed -n 's/.*"sweep": *\([0-9]*\).*/\1/p')
    [ -n "$id" ]
}
running() { # N SWEEP
    ludwig status "$2" --json | tr -d ' \n' | grep -q "\"running\":$1[,}]"
}
is_done() { # SWEEP: wait up to 300 s for its end; all its jobs must be done
    wait_until 60 ended "$1"
    [ "$(sweep_state "$1")" = 'done' ] || { ludwig jobs "$1" && ludwig logs "$1.1" && return 1; }
}

ludwig_up() {
    mkdir -p /run/ludwig /etc/ludwig /tmp/gates "$XDG_CONFIG_HOME/ludwig"
    printf '%s\n' "share: $share" 'state: /var/lib/ludwig' 'share_group: lab' 'lease: 20s' \
        'sockets: [/run/ludwig/server.sock]' 'worker_users: [root, nodelud]' 'admins: [root]' >/etc/ludwig/ludwigd.yaml
    for user in lab1 lab2; do
        as $user mkdir -p .config/ludwig
        printf '%s\n' 'server: unix:/run/ludwig/server.sock' 'share: /media/node2' |
            as $user tee .config/ludwig/config.yaml >/dev/null
    done
    echo 'server: unix:/run/ludwig/server.sock' >"$XDG_CONFIG_HOME/ludwig/config.yaml"
    start ludwigd env ludwigd --config /etc/ludwig/ludwigd.yaml
    wait_until 20 test -S /run/ludwig/server.sock
    worker node1 root /media/node1
    worker node2 root /media/node2
    ready 2
}
it 'two workers, as root on clients of NFS, reach ludwigd' ludwig_up
lap ludwig

# ---- SSH ----

ssh_up() {
    mkdir -p /run/sshd /etc/ssh
    echo 'sshd:x:110:65534::/run/sshd:/bin/false' >>/etc/passwd
    ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/key
    printf '%s\n' 'Port 7022' 'ListenAddress 127.0.0.1' 'HostKey /etc/ssh/key' 'UsePAM no' 'PidFile none' \
        'Subsystem sftp internal-sftp' 'Match User lab2' \
        'ForceCommand internal-sftp' 'AllowTcpForwarding no' >/etc/ssh/sshd_config
    for user in root foreign lab1 lab2; do
        home=/home/$user && [ $user != root ] || home=/root
        install -d -o $user -g $user -m 0700 "$home/.ssh"
        ssh-keygen -q -t ed25519 -N '' -f "$home/.ssh/id_ed25519"
        printf '%s\n' 'Host fileserver' 'HostName 127.0.0.1' 'Port 7022' >"$home/.ssh/config"
        echo "[127.0.0.1]:7022 $(cut -d' ' -f1,2 /etc/ssh/key.pub)" >"$home/.ssh/known_hosts"
        chown -R $user:$user "$home/.ssh"
    done
    cat {/root,/home/{foreign,lab1}}/.ssh/id_ed25519.pub >/home/lab1/.ssh/authorized_keys
    cp /home/lab2/.ssh/id_ed25519.pub /home/lab2/.ssh/authorized_keys
    /usr/sbin/sshd -f /etc/ssh/sshd_config -E /var/log/sshd
}

# Runs ludwig as lab2, whom sshd allows to transfer files and nothing else.
by_files() { # PATH OF A SHARE COMMAND...
    local path=$1
    shift
    as lab2 ludwig --server "ssh://lab2@fileserver/media/node2$path/.ludwig/server.sock" "$@"
}

ludwigd_on_nfs() {
    ssh_up
    install -d -o lab2 -m 0755 $share/hpc
    as lab2 mkdir -m 0700 server
    printf '%s\n' 'share: /media/node1/hpc' 'state: /home/lab2/server' 'sockets: [/home/lab2/server/socket]' |
        as lab2 tee ludwigd.yaml >/dev/null
    start hpc setpriv --reuid=lab2 --regid=lab2 --init-groups env -i HOME=/home/lab2 PATH="$PATH" \
        LUDWIG_TEST_MARK="$LUDWIG_TEST_MARK" ludwigd --config /home/lab2/ludwigd.yaml
    wait_until 20 test -S /home/lab2/server/socket
}
it 'sshd and a ludwigd of a user, who has the share over NFS, begin' ludwigd_on_nfs
(by_files /hpc status --json >hpc.new 2>hpc.err && mv hpc.new hpc) &
lap ssh

published_nfs() {
    dataset lab1 tree
    sweep lab1 nfs 'node1, node2' '1, 2, 3, 4' 'data: [tree]' <<'END'
echo "line of $1"
mkdir $LUDWIG_SAVE_PATH/dir
echo "$1" >$LUDWIG_SAVE_PATH/dir/out
touch "$LUDWIG_SAVE_PATH/val:acc"
END
    is_done "$id"
    [ "$(cached node1 | wc -l)$(cached node2 | wc -l)" = 11 ]
    [ "$(stat -c %U-%a "$(cached node1)")" = lab1-444 ]
    published nfs
    [ "$(cat $share/nfs/runs/*/*/dir/out | sort | tr -d '\n')" = 1234 ]
    find $share/nfs -not -uid 2001 -o -not -gid 2000 -o -type d -not -perm 2750 -o -type f -not -perm 0640 -not -perm 0750 >wrong
    cat wrong && [ ! -s wrong ]
    cat $share/nfs/logs/*/*.log | sort >logs
    printf 'line of %s\n' 1 2 3 4 | diff - logs
}
it 'root workers stage and publish over root_squash, as the owner of the jobs' published_nfs
lap published

# ---- data ----

flip() { # PROJECT: flip one bit in its largest part (a job may end before a second one is found)
    python3 - "$share/$1/.ludwig/packs/parts" <<'END'
import os, sys
parts = [f"{sys.argv[1]}/{name}" for name in os.listdir(sys.argv[1]) if not name.endswith(".list")]
with open(max(parts, key=os.path.getsize), "r+b") as f:
    at = os.path.getsize(f.name) // 2
    f.seek(at)
    byte = f.read(1)[0]
    f.seek(at)
    f.write(bytes([byte ^ 4]))
END
}

damaged() {
    dataset lab1 other
    ludwig drain node1
    sweep lab1 flip node1 1 'data: [other]' 'retry: {max: 1, on: [node-lost]}' <<<':'
    flip flip
    ludwig undrain node1
    wait_until 40 ended "$id"
    job "$id.1" 'j["reason"]' | grep 'damaged.*submit again'
    find $share/flip -name '*.zst.bad' | grep .
    sweep lab1 flip node1 1 'data: [other]' <<<':'
    is_done "$id"
}
it 'a part with a flipped bit is found, named and set aside, and the next submit sends it again' damaged
lap damaged

shared_nfs() {
    install -d -o lab1 -g lab -m 0755 $share/datasets
    as lab1 cp -a tree $share/datasets/cats
    echo more | as lab1 tee $share/datasets/cats/more >/dev/null
    sweep lab1 shared 'node1, node2' '1, 2' 'data: [{share: datasets/cats}]' <<<'grep more $LUDWIG_DATA/cats/more'
    is_done "$id"
}
it 'what lies on the share already is packed there by a node, and staged' shared_nfs
lap shared

# ---- logs ----

rests() { # PID
    local before
    before=$(cat /proc/"$1"/task/*/status | grep ^voluntary)
    sleep 0.5
    [ "$(cat /proc/"$1"/task/*/status | grep ^voluntary)" = "$before" ]
}

# The log does not exist when `logs -f` first looks for it, and NFS caches that: for 30 s usually, here for an hour.
follows() {
    as lab1 mkdir -p patient/ludwig
    printf '%s\n' 'server: unix:/run/ludwig/server.sock' 'share: /media/patient' |
        as lab1 tee patient/ludwig/config.yaml >/dev/null
    sweep lab1 log 'node1' 1 <<'END'
gate first; echo "the first line"
gate second; echo "the second line"
gate third
END
    trap 'touch /tmp/gates/{first,second,third}' EXIT # the job ends even if this test fails
    wait_until 40 running 1 "$id"
    as lab1 env XDG_CONFIG_HOME=/home/lab1/patient ludwig logs -f "$id.1" >follow 2>&1 &
    pid=$!
    wait_until 20 '[ -n "$(pids_of logs)" ]'
    wait_until 20 rests "$pid" # it has looked for the log
    touch /tmp/gates/first
    wait_until 25 'grep -q "first line" follow'
    touch /tmp/gates/second
    wait_until 25 'grep -q "second line" follow' || { tail -n 9 follow $share/log/logs/*/*.log /media/patient/log/logs/*/*.log; return 1; }
    touch /tmp/gates/third
    wait "$pid"
    is_done "$id"
}
it 'logs -f through another mount shows each line, whatever NFS remembers' follows
lap follow

# ---- two attempts ----

carried() {
    sweep lab1 carried 'node1, node2' 1 'retry: {max: 1, on: [7]}' <<'END'
cat $LUDWIG_CHECKPOINT/epoch
echo "attempt $LUDWIG_RESTART" >>$LUDWIG_CHECKPOINT/epoch
gate carried$LUDWIG_RESTART
[ $LUDWIG_RESTART = 1 ] || exit 7
cp $LUDWIG_CHECKPOINT/epoch $LUDWIG_SAVE_PATH/out
END
    wait_until 40 running 1 "$id"
    node=$(job "$id.1" 'j["node"]')
    ludwig drain "$node"
    touch /tmp/gates/carried{0,1}
    is_done "$id"
    [ "$(job "$id.1" 'j["node"]')" != "$node" ]
    ludwig undrain "$node"
    printf 'attempt 0\nattempt 1\n' | diff - $share/carried/runs/*/*/out
}
it 'a checkpoint follows its job to another node' carried
lap checkpoint

races() {
    sweep lab1 race 'node1, node2' 1 'retry: {max: 1, on: [node-lost]}' <<'END'
echo "$LUDWIG_RESTART" >$LUDWIG_SAVE_PATH/out
gate race
END
    wait_until 40 running 1 "$id"
    first=$(job "$id.1" 'j["node"]')
    kill -STOP "$(cat "/run/$first.pid")"
    wait_until 40 '[ "$(job '"$id"'.1 "str(j[\"attempt\"])+j[\"state\"]")" = 2running ]'
    touch /tmp/gates/race
    is_done "$id"
    kill -CONT "$(cat "/run/$first.pid")"
    # If the worker saw only what NFS has cached, this would take 30 s more.
    wait_until 40 '[ -z "$(find /processing/*/scratch -regextype posix-extended -regex ".*/(run|ended|published)/[0-9a-f]{32}")" ]' ||
        { find /processing/*/scratch -path '*/????????????????????????????????' && return 1; }
    published race
    [ "$(cat $share/race/runs/*/*/out)" = 1 ]
    [ -z "$(find $share/race -name '.*.????????????????????????????????')" ]
    ready 2
}
it 'of two attempts on two nodes the first to publish wins, and the other hears of it at once' races
lap race

# ---- the share goes away ----

away() {
    : >/tmp/away && chmod 0666 /tmp/away
    sweep lab1 away node1 '1, 2, 3, 4, 5, 6, 7, 8' <<'END'
[ "$1" -le 2 ] || gate away
echo "$1" >$LUDWIG_SAVE_PATH/out
echo "$1" >>/tmp/away
END
    wait_until 40 '[ -n "$(find $share/away/runs/*_002 -name job.json)" ]'
    wait_until 40 running 2 "$id"
    # Wait until the worker has removed all that ended.
    wait_until 20 '[ -z "$(find /processing/node1 -regextype posix-extended -regex ".*/(ended|published)/[0-9a-f]{32}")" ]'
    trap 'ip link set lo up' EXIT
    ip link set lo down
    touch /tmp/gates/away
    wait_until 40 '[ "$(wc -l </tmp/away)" -gt 4 ]'
    [ "$(sweep_state "$id")" = running ]
    [ "$(ls $share/away/runs | wc -l)" = 2 ]
    ip link set lo up
    is_done "$id"
    published away
    [ "$(cat $share/away/runs/*/*/out | sort | tr -d '\n')" = 12345678 ]
}
it 'while the share is away jobs go on, and their results wait' away
lap away

# ---- a share on which all users are one account ----

service_account() {
    install -d -o lab1 -g lab -m 2770 $share/service
    worker service nodelud /media/service
    ready 3
    sweep lab1 service service '1, 2' 'data: [tree]' <<'END'
echo "$1"
echo "$1" >$LUDWIG_SAVE_PATH/out
mkdir -p $LUDWIG_SAVE_PATH/dir && touch $LUDWIG_SAVE_PATH/dir/in
END
    is_done "$id"
    [ "$(stat -c %U-%a "$(cached service)")" = nodelud-444 ]
    published service
    find $share/service/{runs,logs} -not -uid 2100 -o -not -gid 2000 -o -type d -not -perm 2770 -o -type f -not -perm 0660 >wrong
    cat wrong && [ ! -s wrong ]
}
it 'a service worker whose uid is another on the server publishes as that' service_account
lap service

# ---- SMB ----

smb() {
    install -d -o lab1 -g lab -m 2770 $share/smb
    worker smb nodelud /media/smb
    ready 4
    sweep lab1 smb smb '1, 2' 'data: [tree]' <<'END'
echo "line of $1"
cd $LUDWIG_SAVE_PATH
mkdir dir && echo "$1" >dir/out
touch val:acc Model.pt model.pt 'end.' con
ln -s dir/out link
END
    is_done "$id"
    [ "$(stat -c %U-%a "$(cached smb)")" = nodelud-444 ]
    published smb
    json "$(find $share/smb/runs -name job.json | head -n 1)" 'sorted(x["path"] for x in d["files"]) == [
        "%63on", "Model.pt", "dir/out", "end%2E", "model~2.pt", "val%3Aacc"] and d["left_out"] == ["link -> dir/out"]'
    find $share/smb/{runs,logs} -not -uid 2100 -o -not -gid 2000 -o -type d -not -perm 2770 -o -type f -not -perm 0660 >wrong
    cat wrong && [ ! -s wrong ]
}
it 'over SMB, names it has none for are changed and links left out' smb
lap smb


# Opens a file of a result that is not published yet, as an indexer does, until /tmp/let_go exists.
hold() {
    setpriv --reuid=lab1 --regid=lab --clear-groups python3 - $share/held/runs /media/lab1/held/runs >held <<'END' &
import glob, os, sys, time
there, here = sys.argv[1:]
found = []
print("looking", flush=True)
while not found:
    time.sleep(0.02)
    found = [p for p in glob.glob(there + "/*/.*.*/large") if os.path.getsize(p) > 0]
held = open(here + found[0][len(there):])
print("holding", flush=True)
while not os.path.exists("/tmp/let_go"):
    time.sleep(0.02)
END
    wait_until 20 grep -q looking held
}

held_smb() {
    install -d -o lab1 -g lab -m 2770 $share/held
    hold
    sweep lab1 held smb 1 <<<'head -c 25000000 /dev/zero >$LUDWIG_SAVE_PATH/large'
    wait_until 40 grep -q holding held
    wait_until 40 grep -q 'Permission denied' /var/log/smb
    not ended "$id"
    touch /tmp/let_go
    is_done "$id"
    published held
    [ -z "$(find $share/held/runs -name '.*')" ]
}
it 'while somebody has a file of a result open SMB does not rename it, and it is tried again' held_smb
lap held

uploads_smb() {
    for mount in lab1 careless; do
        sed -i "s,^share:.*,share: /media/$mount," /home/lab1/.config/ludwig/config.yaml
        sweep lab1 $mount node1 1 <<<'echo "through '$mount'" >$LUDWIG_SAVE_PATH/out'
        is_done "$id"
        [ "$(cat $share/$mount/runs/*/*/out)" = "through $mount" ]
        find $share/$mount -not -uid 2001 -o -not -gid 2000 -o -type d -not -perm 2750 -o -type f -not -perm 0640 >wrong
        cat wrong && [ ! -s wrong ]
    done
}
it 'what a laptop sends through SMB has the owner and the modes that the server gives it' uploads_smb
lap uploads

# ---- doctor ----

doctor() { # MOUNT [USER]: write what doctor tells the user (lab1 on the server) about owners to ./owners
    local conf=/tmp/doctor-$1
    mkdir -p "$conf/ludwig"
    echo "share: /media/$1" >"$conf/ludwig/config.yaml"
    as "${2:-lab1}" env XDG_CONFIG_HOME="$conf" ludwig --server ssh://lab1@fileserver doctor --json >doctor.json ||
        [ $? = 1 ]
    json doctor.json '"\n".join(c["verdict"] + ": " + c["found"] for c in d["checks"] if c["check"] == "owners")' >owners
    cat owners
}

owners() {
    # doctor tries the first project of the listing, which here is the newest.
    install -d -o lab1 -g lab -m 2770 $share/open
    doctor node1
    grep '^ok: files made through the mount are yours' owners
    not grep -E '^(problem|note)' owners
    doctor service
    grep '^problem: .* belongs to uid 2100 on the server, and you are uid 2001 there' owners
    doctor careless
    grep '^note: on this .* mount every file belongs to uid 0, whoever makes it' owners
    grep '^ok: files made through the mount are yours' owners
    chmod 2750 $share/open
    doctor node1 foreign
    grep '^problem: through the mount at /media/node1 you cannot write into open' owners
    doctor node1 root
    grep '^note: .* root cannot write into open: .*root_squash' owners
}
it 'doctor says whose the files are that are made through each mount' owners
lap doctor

# ---- store-and-forward ----

inbox_nfs() {
    by_files '' status >/dev/null
    for _ in 1 2 3; do
        as lab2 timeout 100 ludwig --server ssh://lab2@fileserver/media/node2/.ludwig/server.sock status
    done
}
it 'where sshd has the share over NFS, answers are seen at once' inbox_nfs
lap inbox

# On NFS ludwigd is not notified of new requests, so it lists the inbox, after a while every 30 s.
inbox_on_nfs() {
    wait_until 90 test -s hpc
    json hpc 'd["v"] == 1'
}
it 'a ludwigd that has its share over NFS hears of requests' inbox_on_nfs
lap hpc

[ "$test_failed" = 0 ] || tail -n 20 /var/log/{ludwigd,node1,node2,service,smb,hpc,sshd} hpc.err | sed 's/^/# /'
done_testing
