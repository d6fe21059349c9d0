#!/bin/bash
# shellcheck disable=SC2016 # for jobs
# confine.sh - what jobs of a worker that runs as root may not do, as they see it themselves
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"

lab_possible || {
    skip 'jobs have no more rights than they need' "$lab_lacks"
    done_testing
}
lab_up stock fileserver node1
lab_server
resources='resources: {cpus: 4, gpus: 0, memory: 1GiB}'
lab_worker node1 "$resources" 'private_tmp: yes'
projects=$SHARE

as() { on fileserver as "$@"; }
for user in lab1 lab2; do
    echo 'server: unix:/srv/research_data/.ludwig/server.sock' |
        write_on fileserver as $user "/home/$user/.config/ludwig/config.yaml"
done
sweep() { # USER PROJECT COMMAND LINE...: its number in $id
    printf '%s\n' "project: $2" "command: $3" 'source: []' "${@:4}" | write_on fileserver as "$1" "/home/$1/sweep.yaml"
    id=$(as "$1" ludwig submit sweep.yaml --reuse none --json | json - 'str(d["sweep"])')
}
state() { # USER SWEEP
    sweep_state "$2" as "$1"
}
said() { # the log of the first job, once it has ended
    wait_until 30 '[ "$(state lab1 '"$id"')" != running ]'
    as lab1 ludwig logs "$id.1" >said
    cat said
}
restart() { # LINE...
    service_stop node1 worker
    printf '%s\n' 'server: ssh://ludwig@fileserver' 'share: /media/research_data' 'state: /var/lib/ludwig' \
        "$resources" "$@" | write_on node1 /etc/ludwig/worker.yaml
    service node1 worker ludwig-worker --config /etc/ludwig/worker.yaml
    wait_until 20 up
}
up() { [ "$(admin nodes --state up -q)" = node1 ]; }
lab_ready 1

look='grep -E "^(NoNewPrivs|Cap...):" /proc/self/status; cat /proc/self/limits; cat /proc/self/loginuid; echo'

rights() {
    sweep lab1 rights "$look"
    said
    grep -qE '^NoNewPrivs:\s1$' said
    [ "$(grep -cE '^Cap(Inh|Prm|Eff|Bnd|Amb):\s0000000000000000$' said)" = 5 ]
    # It stays so for what it starts.
    sweep lab1 rights 'cp /usr/bin/id . && chmod u+s id && setsid sh -c "grep NoNewPrivs /proc/self/status"'
    said
    grep -qE '^NoNewPrivs:\s1$' said
}
it 'a job can get no rights by set-user-ID programs, and has no capability in reach' rights

limits() {
    sweep lab1 limits "$look"
    said
    grep -qE '^Max core file size +0 +0 ' said
    most=$(sed -nE 's/^Max processes +([0-9]+) +([0-9]+) .*/\1 \2/p' said)
    threads=$(on node1 cat /proc/sys/kernel/threads-max /proc/sys/kernel/pid_max | sort -n | head -1)
    [ "$most" = "$((threads / 4)) $((threads / 4))" ]
    [ ! -e /proc/self/loginuid ] || grep -qx 2001 said
}
it 'it dumps no core, its user has a bounded number of processes, and the audit log knows whose it is' limits

gives_way() {
    sweep lab1 way 'cat /proc/self/oom_score_adj; echo 0 >/proc/self/oom_score_adj; cat /proc/self/oom_score_adj'
    said
    [ "$(head -n 1 said)" = 500 ]
    # What a root says that may raise limits (CAP_SYS_RESOURCE) is the least that others can say.
    caps=$(on node1 sed -n 's/^CapEff:\s*/0x/p' /proc/self/status)
    [ $((caps >> 24 & 1)) = 0 ] || [ "$(tail -n 1 said)" = 500 ]
}
it 'it is what the kernel ends first when the machine runs out of memory' gives_way

# Shared memory of System V lasts until somebody removes it.
ipc() {
    on node1 ipcmk -M 1000000
    sweep lab1 ipc 'ipcs -m; ipcmk -M 2000000; ipcmk -Q; ipcmk -S 1; ipcs -m'
    said
    not grep -w 1000000 said
    grep -w 2000000 said
    [ "$(on node1 ipcs -m | grep -cw lab1)" = 0 ]
    sweep lab1 ipc 'ipcs'
    said
    not grep -w lab1 said
    # Nobody has it mapped, so it is no process's.
    sweep lab1 ipc "python3 -c 'import ctypes, time; c = ctypes.CDLL(None); c.shmat.restype = ctypes.c_void_p;
        at = ctypes.c_void_p(c.shmat(c.shmget(0, 300000000, 0o1600), None, 0)); ctypes.memset(at, 1, 300000000);
        c.shmdt(at); time.sleep(1000)'" 'resources: {memory: 100MiB}' 'retry: {max: 0}'
    wait_until 60 '[ "$(state lab1 '"$id"')" = failed ]'
    as lab1 ludwig why "$id.1" | grep 'out of memory'
}
it 'its shared memory is its own, and gone with it' ipc

# What builds an environment is brought by the sweep, or is the user's own.
builds() {
    printf '%s\n' '#!/bin/sh' 'grep -E "^(NoNewPrivs|CapBnd):" /proc/self/status' 'ulimit -c' \
        'cat /proc/self/oom_score_adj' 'exit 1' | write_on node1 as lab1 /home/lab1/.local/bin/uv
    on node1 chmod 0755 /home/lab1/.local/bin/uv
    echo | write_on fileserver as lab1 /home/lab1/pyproject.toml
    echo | write_on fileserver as lab1 /home/lab1/uv.lock
    sweep lab1 builds 'echo built' 'environment: {uv: uv.lock}' 'retry: {max: 0}'
    wait_until 30 '[ "$(state lab1 '"$id"')" = failed ]'
    as lab1 ludwig why "$id.1" >why
    as lab1 ludwig logs "$id.1" >>why || true
    cat why
    grep -E 'NoNewPrivs:\s1' why
    grep -E 'CapBnd:\s0000000000000000' why
    grep -x ' *0' why && grep -x ' *500' why
}
it 'what builds its environment may no more' builds

# A publisher, say, knows the names of all that a job has saved, which may be long and many.
helpers() {
    bytes=$(on node1 awk '/^Max data size/ { print $4 }' "/proc/$(on node1 pgrep -o -U 2001 ludwig-publish)/limits")
    [ "$bytes" != unlimited ] && [ "$bytes" -lt $(($(awk '/^MemTotal/ { print $2 }' /proc/meminfo) * 300)) ]
    [ "$(on node1 cat "/proc/$(on node1 pgrep -o -U 2001 ludwig-publish)/oom_score_adj")" = 500 ]
    sweep lab1 helpers 'cat /proc/self/limits'
    said
    grep -E '^Max data size +unlimited' said
}
it 'nor do those who publish for it take all of the memory' helpers

# Two jobs of two users at once, one after them.
tmp='for d in /tmp /var/tmp /dev/shm; do ls -A $d; stat -c "%a %u" $d; mount_of=$(stat -f -c %T $d); echo $mount_of; echo {x} >$d/mine.{x}; done'
own_tmp() {
    on node1 sh -c 'echo outside >/tmp/outside; echo outside >/dev/shm/outside'
    sweep lab1 own_tmp "$tmp; until [ -e \$LUDWIG_PROJECT_PATH/go ]; do sleep 0.3; done; ls -A /tmp /var/tmp /dev/shm" 'params: {x: [1, 2]}'
    first=$id
    wait_until 20 '[ "$(jobs_in running '"$first"' as lab1)" = 2 ]'
    wait_until 10 '[ "$(as lab1 ludwig logs '"$first"'.1 | grep -c tmpfs)" = 3 ]'
    sweep lab2 tmp2 "$tmp" 'params: {x: [3]}'
    wait_until 20 '[ "$(state lab2 '"$id"')" = done ]'
    as lab2 ludwig logs "$id.1" >other
    cat other
    [ "$(grep -c '^1777 0$' other)" = 3 ]
    not grep -E 'outside|mine' other
    as lab1 touch "/srv/research_data/own_tmp/go"
    id=$first
    said
    [ "$(grep -c '^mine.1$' said)" = 3 ]
    not grep -E 'outside|mine.[23]' said
    not on node1 sh -c 'ls /tmp/mine* /var/tmp/mine* /dev/shm/mine*'
    # The next job in that slot finds nothing of the last.
    sweep lab1 own_tmp "$tmp" 'params: {x: [4, 5, 6, 7]}'
    wait_until 30 '[ "$(state lab1 '"$id"')" = done ]'
    for n in 1 2 3 4; do not grep mine <(as lab1 ludwig logs "$id.$n"); done
    on node1 cat /tmp/outside /dev/shm/outside
}
it 'a job has a /tmp, /var/tmp and /dev/shm of its own, empty, and gone with it' own_tmp

greedy() {
    sweep lab1 greedy 'head -c 300000000 /dev/zero >/tmp/large; sleep 1000' 'resources: {memory: 100MiB}' 'retry: {max: 0}'
    wait_until 60 '[ "$(state lab1 '"$id"')" = failed ]'
    as lab1 ludwig why "$id.1" >why
    cat why
    grep 'out of memory: its files in /tmp, /var/tmp, /dev/shm and shared memory take' why
    on node1 test ! -e /tmp/large
}
it 'what lies there counts as its memory' greedy

container() {
    on node1 sh -ec 'mkdir -p /processing/tools/bin /processing/tools/libexec/apptainer/bin && cd /processing/tools &&
        printf "#!/bin/sh\necho it ran\n" >bin/apptainer && chmod 755 bin/apptainer && cp bin/apptainer libexec/apptainer/bin/starter-suid &&
        chmod 4755 libexec/apptainer/bin/starter-suid'
    sweep lab1 inside id 'container: docker://debian' 'env: {PATH: "/processing/tools/bin:/usr/bin:/bin"}'
    wait_until 30 '[ "$(state lab1 '"$id"')" = failed ]'
    as lab1 ludwig why "$id.1" >why
    grep 'container: apptainer on node1 is installed set-user-ID, which jobs may not use there: ' why
    # One that needs no such bit runs.
    on node1 chmod u-s /processing/tools/libexec/apptainer/bin/starter-suid
    sweep lab1 inside id 'container: docker://debian' 'env: {PATH: "/processing/tools/bin:/usr/bin:/bin"}'
    said
    grep -qx 'it ran' said
}
it 'a container runtime that is installed set-user-ID is named, with the key to write' container

scratch_there() {
    restart 'private_tmp: yes' 'scratch: /tmp/lw'
    sweep lab1 there 'pwd; ls -A /tmp; echo kept >$LUDWIG_SAVE_PATH/out; echo x >/tmp/x' 'params: {x: [1, 2, 3, 4, 5, 6]}'
    said
    grep -q '^/tmp/lw/' said
    wait_until 20 '[ "$(state lab1 '"$id"')" = done ]'
    [ "$(find "$projects/there/runs" -name out | wc -l)" = 6 ]
}
it 'scratch below /tmp stays where it is' scratch_there

switched_off() {
    restart 'scratch: /processing/{user}' 'no_new_privs: no' 'private_tmp: no' \
        'rlimits: {core: 1MiB, open_files: 500, processes: 4000}'
    sweep lab1 off "$look; ls /tmp/outside"
    said
    grep -qE '^NoNewPrivs:\s0$' said
    not grep -qE '^CapBnd:\s0000000000000000$' said
    grep -qE '^Max core file size +1048576 +1048576 ' said
    grep -qE '^Max open files +500 +500 ' said
    grep -qE '^Max processes +4000 +4000 ' said
    grep -qx /tmp/outside said
}
it 'each can be switched off, and the limits be set' switched_off

done_testing
