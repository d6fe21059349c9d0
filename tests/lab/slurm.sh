#!/usr/bin/env bash
# slurm.sh COMMAND DIR ... - a real, private and temporary Slurm cluster on one machine
#
#     slurm.sh possible                 the machine has all that a cluster needs; if not, print what is
#                                       missing
#     slurm.sh keep DIR                 start the cluster in the new folder DIR; when standard input
#                                       ends or SIGTERM comes, stop it and remove DIR
#     slurm.sh anew DIR                 stop the cluster and start it again in its original state
#     slurm.sh reset DIR                cancel all jobs, start all that is down, wait for idle nodes
#     slurm.sh node off|crash|on DIR NODE...
#                                       power off, kill -9 of slurmd alone, power on
#     slurm.sh ctld stop|kill|start DIR
#                                       slurmctld: stop cleanly, kill -9, start
#     slurm.sh dbd kill|start DIR       slurmdbd: kill -9, start
#     slurm.sh conf DIR KEY=VALUE...    replace these keys in slurm.conf and have Slurm read it; KEY=
#                                       removes the key
#     slurm.sh as USER DIR COMMAND...   run the command as one of `users`, in a clean environment; needs root
#     slurm.sh inside DIR COMMAND...    run the command as the calling user, where `users` exist
#
# `keep` makes the file DIR/up when the cluster runs, or DIR/failed.  Logs are in DIR/log.  Add DIR/bin to
# PATH and set SLURM_CONF to DIR/etc/slurm.conf.  Keep DIR short: a unix socket's path has 107 bytes.
#
# The nodes are node1, node2 (feature and GPUs a40) and node3 (rtx_6000), each with 16 CPUs, 64000 MB and
# 8 GPUs that it only claims to have.  The partitions are debug, short (the default), long, overcap, whose
# jobs all of these preempt, and closed, which only the account overcap may use.  The accounts are kira-lab
# (the default) and hoffman-lab, which may use every QOS, and overcap, which may use only the QOS overcap.
#
# All daemons listen on 127.0.0.1.  There are no cgroups, so no limit of a job is enforced.  For root the
# cluster has a PID namespace of its own, with `users`, of whom alice and bob may submit, and each node
# has its own host name, boot id, /run and processes.  For another user the cluster runs as that user
# and for that user alone.  Slurm must be installed, or unpacked below ~/.cache by .ci/deps.
set -u
export LC_ALL=C PATH=$PATH:/usr/sbin:/sbin
umask 022

me=$(id -un)
self=$(realpath "${BASH_SOURCE[0]}")
nodes=(node1 node2 node3)
declare -A features=([node1]=a40 [node2]=a40 [node3]=rtx_6000)
declare -A users=([alice]=2001 [bob]=2002 [carol]=2003 [dave]=2004 [erin]=2005)
cpus=16 memory_mb=64000 gpus=8
unpacked=${LUDWIG_TEST_CACHE:-${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/ludwig-tests}/slurm

die() {
    echo "slurm.sh: $*" >&2
    exit 1
}

# Runs the command again and again until it succeeds; dies after SECONDS.
wait_for() { # SECONDS WHAT COMMAND...
    local deadline=$((${EPOCHREALTIME/./} + $1 * 1000000)) what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        [ "${EPOCHREALTIME/./}" -lt $deadline ] || die "waited in vain for $what; see $dir/log"
        sleep 0.05
    done
}

listening() { # PORT
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# ---- where Slurm is ----

system=yes
for program in slurmctld slurmd slurmdbd sbatch sacctmgr munged mariadbd; do
    command -v $program >/dev/null || system=''
done

possible() {
    [ "$(uname)" = Linux ] || die 'takes Linux'
    [ -n "$system" ] || [ -d "$unpacked/usr" ] ||
        die 'takes Slurm, munge and MariaDB (`make deps-test` fetches them, for root and where apt-get knows them)'
}

loader() {
    local found
    for found in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do
        [ ! -x $found ] || { echo $found && return; }
    done
    die 'no dynamic loader is known here'
}

# Makes $dir/bin/NAME for an unpacked program.  An option of the loader gives it its libraries, so that
# no environment variable is passed on.  The link keeps NAME, by which the daemons know what they are.
wrap() { # PROGRAM NAME
    ln -s "$1" "$dir/real/$2"
    cat >"$dir/bin/$2" <<END
#!/bin/sh
exec $(loader) --library-path "$libraries:$plugins" "$dir/real/$2" "\$@"
END
    chmod 755 "$dir/bin/$2"
}

# Sets base, plugins and stepd.  Without an installed Slurm, copies the unpacked one to $dir, as other
# users may not read the cache, and puts its programs into $dir/bin.
find_slurm() {
    local program name
    base=/usr plugins='' stepd=''
    [ -e "$dir/bin/sbatch" ] || [ -z "$system" ] || return 0
    base=$dir/usr
    if [ ! -d "$base" ]; then
        cp -al "$unpacked/usr" "$base" 2>/dev/null || { rm -rf "$base" && cp -a "$unpacked/usr" "$base"; } || exit 1
    fi
    plugins=$(dirname "$(find "$base/lib" -name accounting_storage_slurmdbd.so)")
    libraries=$(dirname "$plugins")
    stepd="-d $dir/bin/slurmstepd"
    [ ! -e "$dir/bin/sbatch" ] || return 0
    for program in "$base"/bin/s* "$base"/sbin/slurm* "$base"/sbin/mariadbd "$base"/*bin/mun*; do
        name=${program##*/}
        wrap "$program" "${name%-wlm}"
    done
}

# ---- configuration ----

# Nobody else gets the ports before the cluster ends, also while a daemon is down.  They are bound
# without SO_REUSEADDR, which fails where anybody has one; afterwards, with it on both, the daemons
# may listen there.
hold_ports() {
    # Those that begin at the same time begin elsewhere.
    setpriv --pdeathsig KILL python3 -c '
import os, signal, socket, sys
path, n, port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
while True:
    held = [socket.socket() for _ in range(n)]
    try:
        for i, each in enumerate(held):
            each.bind(("127.0.0.1", port + i))
        break
    except OSError:
        port = 20000 + (port - 20000 + 3770) % 10000
for each in held:
    each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
with open(path + ".new", "w") as f:
    print(port, file=f)
os.rename(path + ".new", path)
signal.pause()' "$dir/port" $((2 + ${#nodes[@]})) $((20000 + $$ % 1000 * 10)) </dev/null &
    (wait_for 60 'ports' test -s "$dir/port")
}

# Slurm wants device files; links to /dev/null can be made without root.
make_devices() {
    local i
    for ((i = 0; i < gpus; i++)); do
        ln -s /dev/null "$dir/dev/gpu$i"
    done
}

write_conf() {
    local i=0 node
    : >"$dir/etc/gres.conf"
    cat >"$dir/etc/slurm.conf" <<END
ClusterName=skynet
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$port
SlurmUser=$me
SlurmdUser=$me
AuthType=auth/munge
AuthInfo=socket=$dir/run/munge.socket
CredType=cred/munge
${plugins:+PluginDir=$plugins}
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/run/slurmctld.self
SlurmdPidFile=$dir/run/slurmd-%n.self
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/slurmd-%n.log
SlurmctldDebug=info
SlurmdDebug=info
SlurmdTimeout=20
KillWait=5
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
TaskProlog=$dir/etc/prolog
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=0
JobCompType=jobcomp/none
MpiDefault=none
MailProg=/bin/true
SwitchType=switch/none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=1000
GresTypes=gpu
SlurmdParameters=config_overrides
ReturnToService=2
PriorityType=priority/multifactor
PriorityWeightPartition=1000
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$((port + 1))
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=gres/gpu
AccountingStoragePass=$dir/run/munge.socket
END
    for node in "${nodes[@]}"; do
        i=$((i + 1))
        echo "NodeName=$node NodeAddr=127.0.0.1 Port=$((port + 1 + i)) CPUs=$cpus" \
            "RealMemory=$memory_mb Feature=${features[$node]} Gres=gpu:${features[$node]}:$gpus" \
            "State=UNKNOWN" >>"$dir/etc/slurm.conf"
        echo "NodeName=$node Name=gpu Type=${features[$node]} File=$dir/dev/gpu[0-$((gpus - 1))]" \
            >>"$dir/etc/gres.conf"
    done
    cat >>"$dir/etc/slurm.conf" <<'END'
PartitionName=debug Nodes=ALL MaxTime=04:00:00 DefaultTime=01:00:00 PriorityTier=40 PreemptMode=OFF
PartitionName=short Nodes=ALL MaxTime=2-00:00:00 DefaultTime=04:00:00 PriorityTier=20 PreemptMode=OFF Default=YES
PartitionName=long Nodes=ALL MaxTime=7-00:00:00 DefaultTime=1-00:00:00 PriorityTier=20 PreemptMode=OFF
PartitionName=overcap Nodes=ALL MaxTime=2-00:00:00 DefaultTime=04:00:00 PriorityTier=1 PreemptMode=REQUEUE
PartitionName=closed Nodes=ALL MaxTime=2-00:00:00 PriorityTier=1 PreemptMode=REQUEUE AllowAccounts=overcap
END
}

# Pilots that ludwigd submits lack the test's variables: their files go to a folder of the cluster, which is
# removed with it.
write_prolog() {
    cat >"$dir/etc/prolog" <<END
#!/bin/sh
[ -n "\$TMPDIR" ] || echo 'export TMPDIR=$dir/left'
[ -n "\$XDG_STATE_HOME" ] || echo "export XDG_STATE_HOME=$dir/left/\$(id -un)"
END
    chmod 755 "$dir/etc/prolog"
}

write_dbd_conf() {
    (umask 077 && cat >"$dir/etc/slurmdbd.conf") <<END
AuthType=auth/munge
AuthInfo=socket=$dir/run/munge.socket
${plugins:+PluginDir=$plugins}
DbdHost=$(hostname -s)
DbdAddr=127.0.0.1
DbdPort=$((port + 1))
SlurmUser=$me
LogFile=$dir/log/slurmdbd.log
PidFile=$dir/run/slurmdbd.self
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=$me
StorageLoc=slurm_acct
END
}

make_dir() {
    mkdir -p "$dir"/{bin,dev,etc,home,left,log,munge,real,run,spool,state} || exit 1
    chmod 755 "$dir"
    chmod 1777 "$dir/left"
    chmod 700 "$dir/munge"
    port=$(<"$dir/port")
    find_slurm
    make_devices
    write_conf
    write_prolog
    write_dbd_conf
    (umask 077 && head -c 128 /dev/urandom >"$dir/munge/key")
    cp "$dir/etc/slurm.conf" "$dir/etc/slurm.conf.first"
}

# ---- daemons; these functions run in the hub, if there is one ----

begin() { # NAME COMMAND...
    local name=$1
    shift
    # The daemon inherits no variable of its starter.
    setsid env -i PATH="$dir/bin:/usr/sbin:/usr/bin:/sbin:/bin" LC_ALL=C SLURM_CONF="$SLURM_CONF" \
        MYSQL_UNIX_PORT="$dir/run/mysql.sock" "$@" </dev/null >>"$dir/log/$name.out" 2>&1 &
    echo $! >"$dir/run/$name.pid"
}

alive() { # PID
    [ -n "$1" ] && [ -d "/proc/$1" ] && ! grep -q '^State:.[ZX]' "/proc/$1/status" 2>/dev/null
}

# Whether the pid is still a process of this cluster, and not a later one with the same pid.
is_ours() { # PID
    alive "$1" && tr '\0' '\n' <"/proc/$1/environ" 2>/dev/null | grep -qxF "SLURM_CONF=$SLURM_CONF"
}

end() { # NAME SIGNAL
    local pid
    pid=$(cat "$dir/run/$1.pid" 2>/dev/null)
    if is_ours "$pid"; then
        kill "-$2" "$pid" 2>/dev/null
        for _ in {1..1200}; do
            alive "$pid" || break
            sleep 0.05
        done
        kill -KILL "$pid" 2>/dev/null
    fi
    rm -f "$dir/run/$1.pid"
}

begin_database() {
    local options=(--no-defaults --basedir="$base" --lc-messages-dir="$base/share/mysql"
        --datadir="$dir/db" --tmpdir="$dir/run" --user="$me" --skip-grant-tables --performance-schema=OFF
        --innodb-log-file-size=4M --innodb-buffer-pool-size=64M --innodb-use-native-aio=0
        --innodb-flush-log-at-trx-commit=0 --innodb-flush-method=nosync --innodb-doublewrite=0)
    mkdir "$dir/db"
    { printf 'create database mysql;\nuse mysql;\n' && cat "$base/share/mysql/mysql_system_tables.sql"; } |
        "$(command -v mariadbd)" "${options[@]}" --bootstrap >"$dir/log/database.out" 2>&1 ||
        die "no database could be made; see $dir/log/database.out"
    begin mariadbd mariadbd "${options[@]}" --socket="$dir/run/mysql.sock" --skip-networking \
        --pid-file="$dir/run/mariadbd.self" --innodb-lock-wait-timeout=900
    wait_for 60 'the database' test -S "$dir/run/mysql.sock"
}

manage() {
    timeout 60 sacctmgr -i -Q "$@" >>"$dir/log/sacctmgr.out" 2>&1 ||
        die "failed: sacctmgr $*; see $dir/log/sacctmgr.out"
}

# The commands run one after the other, as concurrent ones deadlock, and before slurmctld starts, as
# updates for a slurmctld that does not listen yet are lost.
fill_accounts() {
    local everybody=$me
    [ "$(id -u)" != 0 ] || everybody=$me,alice,bob
    manage add cluster skynet
    manage add qos overcap Priority=1 PreemptMode=requeue
    manage add qos debug,short,long Priority=200 Preempt=overcap
    manage add account kira-lab,hoffman-lab QOS=normal,debug,short,long,overcap
    manage add account overcap QOS=overcap DefaultQOS=overcap
    manage add user "$everybody" DefaultAccount=kira-lab Account=kira-lab,hoffman-lab,overcap
}

begin_dbd() {
    begin slurmdbd slurmdbd -D
    wait_for 60 slurmdbd listening $(($(sed -n 's/^SlurmctldPort=//p' "$SLURM_CONF") + 1))
}

begin_ctld() {
    begin slurmctld slurmctld -D -f "$SLURM_CONF"
}

slurmd_command() { # NODE
    echo "slurmd -D -N $1 -f $SLURM_CONF $stepd"
}

# The first process of a node's PID namespace only reaps; all processes of the node end with it.
begin_node() { # NODE
    mkdir -p "$dir/spool/$1"
    if [ "$(id -u)" != 0 ]; then
        # shellcheck disable=SC2046 # words
        begin "$1" $(slurmd_command "$1")
        return
    fi
    cat /proc/sys/kernel/random/uuid >"$dir/run/$1.boot_id"
    # shellcheck disable=SC2016 # expanded inside
    begin "$1" unshare -m -u -i -p -f --kill-child --mount-proc --propagation private bash -c '
        hostname "$1" && mount -t tmpfs -o mode=0755 node /run &&
            mount --bind "$2/run/$1.boot_id" /proc/sys/kernel/random/boot_id || exit
        $3 &
        trap : TERM
        while :; do
            sleep 3600 &
            wait -n
        done' node "$1" "$dir" "$(slurmd_command "$1")"
}

# slurmd and slurmstepd have the node's log open; a job's processes have the node's name in their environment.
node_pids() { # NODE
    {
        find /proc/[0-9]*/fd -lname "$dir/log/slurmd-$1.log"
        grep -lzxF "SLURMD_NODENAME=$1" /proc/[0-9]*/environ | xargs -r grep -lzxF "SLURM_CONF=$SLURM_CONF"
    } 2>/dev/null | cut -d/ -f3 | sort -u
}

slurmd_pid() { # NODE
    local pid
    for pid in $(node_pids "$1"); do
        if grep -qzxF -e -N "/proc/$pid/cmdline" 2>/dev/null && ! grep -qzE '^(unshare|bash|nsenter)$' "/proc/$pid/cmdline"; then
            echo "$pid"
        fi
    done
}

node_off() { # NODE
    local pids
    end "$1" KILL
    rm -f "$dir/run/$1-slurmd.pid"
    while pids=$(node_pids "$1") && [ -n "$pids" ]; do
        # shellcheck disable=SC2086 # one word each
        kill -KILL $pids 2>/dev/null || true
        sleep 0.02
    done
}

node_crash() { # NODE
    local pid
    pid=$(slurmd_pid "$1")
    # shellcheck disable=SC2086 # one word each
    kill -KILL $pid && wait_for 10 'its end' not_there $pid
}

# Starts slurmd again; if only slurmd had died, in the node's namespaces, where its jobs still run.
node_on() { # NODE
    local pid
    [ -z "$(slurmd_pid "$1")" ] || return 0
    pid=$(cat "$dir/run/$1.pid" 2>/dev/null)
    if [ "$(id -u)" = 0 ] && is_ours "$pid"; then
        # shellcheck disable=SC2046 # words
        begin "$1-slurmd" nsenter -t "$(pgrep -P "$pid")" -m -u -i -p $(slurmd_command "$1")
    else
        begin_node "$1"
    fi
}

all_idle() {
    [ "$(sinfo -h -N -p short -o %T | grep -cx idle)" = ${#nodes[@]} ] && [ -z "$(squeue -h)" ]
}

up() {
    local node
    begin munged munged --foreground --force --num-threads=4 --key-file="$dir/munge/key" \
        --socket="$dir/run/munge.socket" --pid-file="$dir/munge/pid" --log-file="$dir/munge/log" \
        --seed-file="$dir/munge/seed"
    begin_database
    wait_for 30 munged munge -n --socket="$dir/run/munge.socket"
    begin_dbd
    fill_accounts
    begin_ctld
    for node in "${nodes[@]}"; do
        begin_node "$node"
    done
    wait_for 60 slurmctld scontrol ping
    wait_for 60 'idle nodes' all_idle
}

down() {
    local node
    for node in "${nodes[@]}"; do
        node_off "$node"
    done
    end slurmctld KILL
    end slurmdbd KILL
    end mariadbd KILL
    end munged KILL
}

anew() {
    down
    rm -rf "$dir/db" "$dir/state" "$dir/spool"
    mkdir "$dir/state" "$dir/spool"
    cp "$dir/etc/slurm.conf.first" "$SLURM_CONF"
    up
}

reset() {
    local node
    is_ours "$(cat "$dir/run/slurmctld.pid" 2>/dev/null)" || begin_ctld
    wait_for 60 slurmctld scontrol ping
    for node in "${nodes[@]}"; do
        node_on "$node"
    done
    squeue -h -o %A | sort -u | xargs -r scancel
    # Otherwise a node that came back would stay down until slurmctld looks at it again.
    scontrol update NodeName="$(IFS=, && echo "${nodes[*]}")" State=RESUME >/dev/null 2>&1
    wait_for 60 'idle nodes' all_idle
}

says_conf() { # KEY=VALUE...
    local line
    for line; do
        [ -z "${line#*=}" ] || scontrol show config | grep -qiE "^${line%%=*} *= ${line#*=}( |\$)" || return
    done
}

conf() { # KEY=VALUE...
    local line
    for line; do
        sed -i "/^${line%%=*}=/Id" "$SLURM_CONF"
        [ -z "${line#*=}" ] || sed -i "1i$line" "$SLURM_CONF"
    done
    scontrol reconfigure && wait_for 30 'slurmctld to read its configuration' says_conf "$@"
}

# ---- the hub: the namespaces of a cluster of root's ----

# The hub has the machine's users and, beside them, `users`, which do not exist outside.
begin_hub() {
    local name
    cp /etc/passwd /etc/group "$dir/etc/"
    for name in "${!users[@]}"; do
        echo "$name:x:${users[$name]}:${users[$name]}::$dir/home/$name:/bin/bash" >>"$dir/etc/passwd"
        echo "$name:x:${users[$name]}:" >>"$dir/etc/group"
        install -d -m 0700 -o "${users[$name]}" -g "${users[$name]}" "$dir/home/$name"
    done
    echo "lab:x:2000:$(IFS=, && echo "${!users[*]}")" >>"$dir/etc/group"
    # shellcheck disable=SC2016 # expanded inside
    setsid setpriv --pdeathsig KILL unshare -m -p -f --kill-child --mount-proc --propagation private bash -c '
        mount --bind "$1/etc/passwd" /etc/passwd && mount --bind "$1/etc/group" /etc/group || exit
        trap : TERM
        touch "$1/run/hub"
        while :; do
            sleep 3600 &
            wait -n
        done' hub "$dir" </dev/null >"$dir/log/hub.out" 2>&1 &
    (wait_for 30 'namespaces' test -e "$dir/run/hub") && pgrep -P $! >"$dir/hub"
}

inside() { # COMMAND...
    if [ -s "$dir/hub" ]; then
        nsenter -t "$(<"$dir/hub")" -m -p "$@"
    else
        "$@"
    fi
}

do_inside() { # COMMAND...
    inside bash "$self" _ "$dir" "$@"
}

not_there() { # PID
    ! alive "$1"
}

begin_all() {
    hold_ports && (make_dir) && { [ "$(id -u)" != 0 ] || begin_hub; } && do_inside up
}

end_all() {
    local pid
    trap '' TERM INT HUP
    if [ -s "$dir/hub" ]; then
        pid=$(<"$dir/hub")
        kill -KILL "$pid"
        (wait_for 10 'the end of the namespaces' not_there "$pid")
    else
        do_inside down
    fi
    rm -rf "$dir"
}

# Runs the cluster until standard input ends; the hub is a child of this shell and ends with it.
keep() {
    [ ! -e "$dir/etc" ] || die "$dir is in use"
    mkdir -p "$dir" || exit 1
    trap end_all EXIT
    trap 'exit 0' TERM INT HUP
    if begin_all >"$dir/came-up" 2>&1; then
        touch "$dir/up"
    else
        mv "$dir/came-up" "$dir/failed"
    fi
    while read -r _; do :; done
}

use() { # DIR
    dir=$(realpath -m "$1")
    export SLURM_CONF=$dir/etc/slurm.conf PATH=$dir/bin:$PATH
    cd / || exit 1
}

case ${1-} in
possible) possible ;;
keep)
    use "$2"
    possible
    keep
    ;;
_)
    use "$2"
    find_slurm
    "${@:3}"
    ;;
anew | reset)
    use "$2"
    do_inside "$1"
    ;;
node)
    use "$3"
    for each in "${@:4}"; do
        do_inside "node_$2" "$each"
    done
    ;;
ctld)
    use "$3"
    case $2 in
    stop) do_inside end slurmctld TERM ;;
    kill) do_inside end slurmctld KILL ;;
    start) do_inside begin_ctld && wait_for 60 slurmctld scontrol ping ;;
    esac
    ;;
dbd)
    use "$3"
    case $2 in
    kill) do_inside end slurmdbd KILL ;;
    start) do_inside begin_dbd ;;
    esac
    ;;
conf)
    use "$2"
    do_inside conf "${@:3}"
    ;;
inside)
    cwd=$PWD
    use "$2"
    cd "$cwd" || exit 1
    inside "${@:3}"
    ;;
as)
    use "$3"
    uid=${users[$2]-}
    [ -n "$uid" ] || die "nobody is called $2"
    inside setpriv --reuid "$uid" --regid "$uid" --groups "$uid,2000" env -i HOME="$dir/home/$2" \
        USER="$2" LOGNAME="$2" \
        PATH="$PATH" LC_ALL=C SLURM_CONF="$SLURM_CONF" LUDWIG_TEST_MARK="${LUDWIG_TEST_MARK-}" "${@:4}"
    ;;
*)
    sed -n '2,/^set -u/{/^set -u/d;s/^# \{0,1\}//p}' "$self"
    exit 2
    ;;
esac
