# shellcheck shell=bash disable=SC2016,SC2034 # bodies are evaluated later
# memory_cgroup.sh - runs in the guest of tests/functional/memory_cgroup.sh: jobs in cgroups with limits
#
# A worker is started as by systemd with Delegate=yes and DelegateSubgroup=agent in its unit, and a pilot
# as at a site where the user owns the cgroup of a Slurm job.
. /repo/tests/lab/guest_lib.sh

groups=/sys/fs/cgroup/lab
export LUDWIG_SERVER=unix:/run/ludwig/server.sock

accounts() {
    printf '%s\n' 'root:x:0:0::/root:/bin/bash' 'nobody:x:65534:65534::/:/bin/false' \
        'lab1:x:2001:2001::/home/lab1:/bin/bash' >/etc/passwd
    printf '%s\n' 'root:x:0:' 'nogroup:x:65534:' 'lab1:x:2001:' >/etc/group
    echo 'hosts: files' >/etc/nsswitch.conf
    install -d -m 0700 -o 2001 -g 2001 /home/lab1
    hostname guest
    ip link set lo up
}

cgroup2() {
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
    grep -qw memory /sys/fs/cgroup/cgroup.controllers
    grep -qw pids /sys/fs/cgroup/cgroup.controllers
    echo '+memory +pids' >/sys/fs/cgroup/cgroup.subtree_control
    mkdir -p $groups/worker.service/agent $groups/job_1
    echo '+memory +pids' >$groups/cgroup.subtree_control
    python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.delegate", b"1")' $groups/worker.service
}

set_up() {
    accounts
    cgroup2
}
it 'a kernel has groups that limit memory' set_up

start_in() { # GROUP NAME COMMAND...
    local group=$1 name=$2
    shift 2
    setsid sh -c 'echo 0 >"$0/cgroup.procs" && exec "$@"' "$groups/$group" "$@" >>"/var/log/$name" 2>&1 </dev/null &
    echo $! >"/run/$name.pid"
}
as_lab1() { # COMMAND...: run it as lab1, in lab1's home
    setpriv --reuid=lab1 --regid=lab1 --init-groups env -i -C /home/lab1 HOME=/home/lab1 USER=lab1 \
        PATH="$PATH" LC_ALL=C LUDWIG_TEST_MARK="$LUDWIG_TEST_MARK" LUDWIG_SERVER="$LUDWIG_SERVER" "$@"
}

# take.py HOW MIB takes so much memory: `alone`; `together`, with a file in memory and three children;
# or `waits`, until the file /tmp/let_go exists.
write_job_of() {
    as_lab1 tee take.py >/dev/null <<'END'
import os, sys, time
how, mib = sys.argv[1], int(sys.argv[2])
if how == "together":
    with open("/dev/shm/left", "wb") as f:
        for _ in range(mib // 2):
            f.write(b"x" * (1 << 20))
    for _ in range(3):
        if os.fork() == 0:
            kept = b"x" * (mib // 4 << 20)
            time.sleep(600)
kept = b"x" * (mib << 20)
print("has", len(kept) >> 20, flush=True)
if how == "waits":
    while not os.path.exists("/tmp/let_go"):
        time.sleep(0.05)
END
}

up() {
    mkdir -p /run/ludwig /etc/ludwig /srv/share /processing
    chmod 0711 /processing
    printf '%s\n' 'share: /srv/share' 'state: /var/lib/ludwig' 'sockets: [/run/ludwig/server.sock]' \
        'worker_users: [root]' >/etc/ludwig/ludwigd.yaml
    printf '%s\n' 'server: unix:/run/ludwig/server.sock' 'name: node1' 'share: /srv/share' \
        'scratch: /processing/{user}' 'state: /var/lib/worker' 'resources: {cpus: 4, gpus: 0, memory: 1GiB}' \
        'private_tmp: no' >/etc/ludwig/worker.yaml
    setsid ludwigd --config /etc/ludwig/ludwigd.yaml >>/var/log/ludwigd 2>&1 </dev/null &
    echo $! >/run/ludwigd.pid
    wait_until 20 test -S /run/ludwig/server.sock
    start_in worker.service/agent worker ludwig-worker --config /etc/ludwig/worker.yaml
    write_job_of
}

sweep() { # PROJECT HOW MIB MEMORY [OPTION...]: submit a sweep of one job that asks for MEMORY
    as_lab1 tee sweep.yaml >/dev/null <<END
project: $1
command: python3 take.py $2 $3
source: take.py
resources: {cpus: 1, memory: $4}
END
    as_lab1 ludwig submit sweep.yaml --reuse none "${@:5}"
}
ends() { # SWEEP STATE [WORDS]
    ludwig jobs "$1" --json | tr -d '\n' >jobs
    cat jobs
    grep -q "\"state\": *\"$2\"" jobs && grep -q "\"attempt\": *1[,}]" jobs && grep -qE "${3-}" jobs
}
fails_for_memory() { # SWEEP WORDS ARGUMENTS-OF-SWEEP...
    local status=0
    sweep "${@:3}" --wait || status=$?
    [ $status = 1 ]
    ends "$1" failed "\"reason\": *\"out of memory: the kernel ended it \($2\)\""
    grep -q '"cause": *"oom"' jobs
}

# The job that stays takes 60 MiB of its 100; the other jobs fail as they exceed what they asked for.
one_of_two() {
    up
    sweep stays waits 60 100MiB
    wait_until 60 'grep -q "has 60" /srv/share/stays/logs/*/*'
    fails_for_memory 2 'peak [0-9.]+ MiB of 40 MiB' alone alone 60 40MiB
    fails_for_memory 3 'its processes together reached 100 MiB' together together 80 100MiB
    not pgrep -f 'take.py together'
    # The runner goes on, and the file that the job left in memory does not count for the next job.
    [ "$(stat -c %s /dev/shm/left)" = $((40 << 20)) ]
    sweep next alone 75 100MiB --wait
    ends 1 running
    touch /tmp/let_go
    wait_until 60 ended 1
    ends 1 done
}
it 'a job that takes more memory than it asked for is ended by the kernel, and no other' one_of_two

# The kernel has room for 1600 processes, of which one job gets a quarter.
many_processes() {
    local pid_max runners
    pid_max=$(cat /proc/sys/kernel/pid_max)
    as_lab1 tee fork.py >/dev/null <<'END'
import os, signal, time
n = 0
try:
    while n < 1500:
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
        n += 1
except OSError as why:
    print("forked", n, why.strerror, flush=True)
while not os.path.exists("/tmp/let_go"):
    time.sleep(0.05)
os.killpg(0, signal.SIGKILL) if n >= 1500 else os._exit(0)
END
    # An idle runner ends after ten seconds, so there may be none.
    # shellcheck disable=SC2086 # pids are words
    ! runners=$(pgrep -f -- --runner) || kill_hard $runners
    echo 1600 >/proc/sys/kernel/pid_max
    rm -f /tmp/let_go
    as_lab1 tee fork.yaml >/dev/null <<'END'
project: forks
command: python3 fork.py
source: fork.py
resources: {cpus: 1, memory: 300MiB}
END
    as_lab1 ludwig submit fork.yaml
    wait_until 60 'grep -qE "forked 3[0-9][0-9] Resource temporarily" /srv/share/forks/logs/*/*'
    sweep beside alone 10 100MiB --wait
    touch /tmp/let_go
    wait_until 60 ended 5
    echo "$pid_max" >/proc/sys/kernel/pid_max
}
it 'a job that starts processes without end leaves others theirs' many_processes

# No cgroup of a runner is left after the runner has ended or was killed.
groups_are_removed() {
    local runner
    rm -f /tmp/let_go
    sweep held waits 10 40MiB
    wait_until 60 'grep -q "has 10" /srv/share/held/logs/*/*'
    runner=$(runner_of "$(pgrep -f 'take.py waits' | head -n 1)")
    kill_hard "$runner"
    ludwig cancel 7 --yes
    wait_until 60 ended 7
    kill "$(cat /run/worker.pid)"
    wait_until 60 '[ -z "$(pgrep -f -- --runner)$(pgrep -x ludwig-worker)" ]'
    # The next agent of the worker removes the cgroup of the last runner.
    start_in worker.service/agent worker ludwig-worker --config /etc/ludwig/worker.yaml
    wait_until 60 '[ "$(ls -d $groups/worker.service/*/)" = $groups/worker.service/agent/ ]'
    kill "$(cat /run/worker.pid)"
    wait_until 60 '[ -z "$(pgrep -x ludwig-worker)" ]'
}
it 'no group is left, whoever has died' groups_are_removed

pilot() {
    chown lab1 $groups/job_1 $groups/job_1/cgroup.{procs,subtree_control}
    start_in job_1 pilot setpriv --reuid=lab1 --regid=lab1 --init-groups env -i HOME=/home/lab1 \
        PATH="$PATH" LUDWIG_TEST_MARK="$LUDWIG_TEST_MARK" SLURM_JOB_ID=1 SLURM_CPUS_ON_NODE=4 SLURM_MEM_PER_NODE=200 \
        ludwig-worker pilot --server "$LUDWIG_SERVER" --idle 2000 --ends "$((($(date +%s) + 600) * 1000))"
    fails_for_memory 8 'its processes together reached 40 MiB' pilots together 60 40MiB
    wait_until 60 '[ -z "$(cat $groups/job_1/cgroup.procs; ls -d $groups/job_1/*/)" ]'
    grep -q 'retire why="nothing to do"' /var/log/pilot
}
it 'so is one in a pilot, which leaves its group as it was' pilot

[ "$test_failed" = 0 ] || tail -n 20 /var/log/{ludwigd,worker,pilot} | sed 's/^/# /'
done_testing
