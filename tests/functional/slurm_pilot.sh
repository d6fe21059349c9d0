#!/usr/bin/env bash
# slurm_pilot.sh - a pilot by itself: what it offers, when it leaves, and what it does when it has to
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/slurm.sh"
. "$TEST_ROOT/tests/functional/pilot.sh"
slurm_possible || { skip 'pilots by themselves' "$slurm_lacks" && done_testing; }
slurm_up

pilots_begin

node() { # EXPRESSION
    ludwig nodes --json | json - "next($1 for n in d['nodes'] if n['state'] == 'up')"
}

offers() {
    local pilot
    pilot=$(pilot -p short -c 3 -C rtx_6000 --gres=gpu:2 -w node3 -- --idle 600000)
    wait_until 60 node '"up"'
    node 'n["node"] == "node3" and n["kind"] == "slurm" and n["cpus"] == 3 and n["gpus"] == 2'
    node 'n["memory"] == 2000 * 1024 * 1024'
    # Each waits for the other one: they have them at once.
    mkdir "$TEST_TMP/met"
    printf '%s\n' "cd $TEST_TMP/met && touch \$LUDWIG_REP" 'until [ -e 0 ] && [ -e 1 ]; do sleep 0.3; done' \
        'echo "gpus $CUDA_VISIBLE_DEVICES"' >meet.sh
    printf '%s\n' 'project: gpus' 'command: sh meet.sh' 'source: meet.sh' \
        'reps: 2' 'resources: {gpus: 1}' >one.yaml
    printf '%s\n' 'project: all-gpus' 'command: echo "gpus $CUDA_VISIBLE_DEVICES"' 'source: []' \
        'resources: {gpus: 2}' >two.yaml
    ludwig_wait submit one.yaml --wait
    ludwig_wait submit two.yaml --wait
    [ "$(sed -n 's/^gpus //p' "$SHARE"/gpus/logs/*/* | sort | tr '\n' ' ')" = '0 1 ' ]
    grep -qx 'gpus 0,1' "$SHARE"/all-gpus/logs/*/*
    scancel "$pilot"
    wait_until 60 '[ -z "$(squeue -h)" ]'
    [ -z "$(folders_of "$pilot")" ]
}

idle() {
    local pilot id
    write_job true
    printf '%s\n' 'project: idle' 'command: sh job.sh' 'source: job.sh' 'reps: 5' >idle.yaml
    pilot=$(pilot -p short -c 2 -- --idle 5000)
    ludwig_wait submit idle.yaml --wait
    slurm_wait 60 "$pilot" COMPLETED
    grep -q 'retire why="nothing to do"' "$TEST_TMP/pilot.$pilot"
    [ -z "$(folders_of "$pilot")" ]
    [ "$(published idle | wc -l)" = 5 ]
}

no_server() {
    local pilot
    printf '#!/bin/sh\nexec %s/ludwig-worker pilot --server unix:%s --pilot %s\n' "$LUDWIG_BIN" \
        "$TEST_TMP/none" nonsense >wrong.sh
    pilot=$(sbatch --parsable -o "$TEST_TMP/pilot.%j" wrong.sh)
    slurm_wait 60 "$pilot" FAILED
    grep -q "unexpected argument '--pilot'" "$TEST_TMP/pilot.$pilot"
}

# Its sbatch was carried out after ludwigd had given it up.
unknown() {
    local pilot
    pilot=$(pilot -p short -c 1 -- --idle 600000 --pilot 00112233445566778899aabbccddeeff)
    slurm_wait 30 "$pilot" FAILED
    grep -q 'has no work for this pilot: refused: no pilot is waited for' "$TEST_TMP/pilot.$pilot"
    [ -z "$(folders_of "$pilot")" ]
}

# Slurm has sent SIGTERM before the script had begun, and kills it soon: it is not to take jobs until then.
# shellcheck disable=SC2016 # the batch script's own variable
cancelled_before() {
    local pilot id
    printf '%s\n' 'project: before' 'command: sleep 1' 'source: []' >before.yaml
    id=$(submit before.yaml)
    printf '#!/bin/sh\necho "slurmstepd: error: *** JOB $SLURM_JOB_ID ON node1 CANCELLED AT 2026-11-26T18:10:06 ***" >&2\nexec %s/ludwig-worker pilot --server %s --idle 60000\n' \
        "$LUDWIG_BIN" "unix:$TEST_TMP/none,$LUDWIG_SERVER" >before.sh
    pilot=$(sbatch --parsable --no-requeue --mem=2000 -o "$TEST_TMP/pilot.%j" before.sh)
    slurm_wait 30 "$pilot" COMPLETED
    grep -q 'Slurm had cancelled its job before it began' "$TEST_TMP/pilot.$pilot"
    [ "$(jobs_in queued "$id")" = 1 ]
    [ -z "$(folders_of "$pilot")" ]
    ludwig cancel "$id"
}

agent_killed() {
    local pilot id first
    write_job 'gate killed'
    printf '%s\n' 'project: killed' 'command: sh job.sh' 'source: job.sh' >killed.yaml
    pilot=$(pilot -p short -c 2 -- --idle 5000)
    id=$(submit killed.yaml)
    wait_until 60 '[ "$(recorded "^start '"$id"'.1 ")" = 1 ]'
    first=$(agent_of "$pilot")
    kill_hard "$first"
    wait_until 20 '[ -n "$(agent_of '"$pilot"')" ]'
    [ "$(agent_of "$pilot")" != "$first" ]
    open killed
    wait_until 30 ended "$id"
    [ "$(sweep_state "$id")" = done ]
    [ "$(recorded "^start $id.1 ")" = 1 ]
    job "$id.1" 'j["attempt"] == 1'
    slurm_wait 60 "$pilot" COMPLETED
}

# What they stage says their logs; each has one processor, so both are at it.
one_cache() {
    local first second id
    mkdir corpus
    seq 2000 >corpus/words
    write_job 'gate cached'
    printf '%s\n' 'project: cached' 'command: sh job.sh' 'source: job.sh' 'data: [corpus]' 'reps: 2' \
        'resources: {cpus: 1}' >cached.yaml
    first=$(pilot -p short -w node1 -c 1 -- --idle 5000)
    second=$(pilot -p short -w node1 -c 1 -- --idle 5000)
    id=$(submit cached.yaml)
    wait_until 60 '[ "$(recorded "^start '"$id"'.1 ")$(recorded "^start '"$id"'.2 ")" = 11 ]'
    open cached
    wait_until 60 ended "$id"
    [ "$(sweep_state "$id")" = done ]
    slurm_wait 60 "$first" COMPLETED
    slurm_wait 60 "$second" COMPLETED
    [ "$(cat "$TEST_TMP/pilot.$first" "$TEST_TMP/pilot.$second" | grep -c ' staged project=cached ')" = 2 ]
    [ -z "$(folders_of "$first")$(folders_of "$second")" ]
    # For the next one.
    find "$TMPDIR" -path '*/cache/*/words' | grep -q .
}

# It had no time to remove anything, and its node lives on.
leftovers() {
    local first next id
    write_job 'gate left'
    printf '%s\n' 'project: left' 'command: sh job.sh' 'source: job.sh' >left.yaml
    first=$(pilot -p short -w node1 -c 1 -- --idle 60000)
    id=$(submit left.yaml)
    wait_until 60 '[ "$(recorded "^start '"$id"'.1 ")" = 1 ]'
    kill_pilot "$first"
    slurm_wait 60 "$first" 'FAILED|CANCELLED'
    [ -n "$(folders_of "$first")" ]
    wait_until 60 '[ "$(jobs_in queued '"$id"')" = 1 ]'
    next=$(pilot -p short -w node1 -c 1 -- --idle 5000)
    wait_until 60 '[ -z "$(folders_of '"$first"')" ]'
    wait_until 60 '[ "$(recorded "^start '"$id"'.1 ")" = 2 ]'
    open left
    wait_until 60 ended "$id"
    job "$id.1" 'j["state"] == "done" and j["attempt"] == 2'
    slurm_wait 60 "$next" COMPLETED
}

# On that node, as its user would.
there() { # COMMAND...
    srun -p short -w node1 --mem=100 "$@"
}

# It was done, and the share was away until the pilot was killed.
published_later() {
    local first id next
    write_job 'echo first >"$LUDWIG_SAVE_PATH/x"' 'gate later'
    printf '%s\n' 'project: later' 'command: sh job.sh' 'source: job.sh' >later.yaml
    first=$(pilot -p short -w node1 -c 1 -- --idle 60000)
    id=$(submit later.yaml)
    wait_until 60 '[ "$(recorded "^start '"$id"'.1 ")" = 1 ]'
    mv "$SHARE/later" "$SHARE/gone"
    open later
    wait_until 30 '[ "$(jobs_in publishing '"$id"')" = 1 ]'
    kill_pilot "$first"
    slurm_wait 60 "$first" 'FAILED|CANCELLED'
    # Nobody has it any more: it goes nowhere, and stays.
    there ludwig-worker clean "$TMPDIR" 2>said
    grep -q leftover-not-published said
    [ -n "$(folders_of "$first")" ]
    mv "$SHARE/gone" "$SHARE/later"
    there ludwig doctor --clean >said || true
    grep -q "^ok *clean: removed .*slurm-$first, which a killed pilot had left" said || { cat said && return 1; }
    [ -z "$(folders_of "$first")" ]
    [ "$(cat "$SHARE"/later/runs/*/*/x)" = first ]
    { there ludwig doctor --clean || true; } | grep -q '^ok *clean: pilots that were killed have left nothing'
    wait_until 60 '[ "$(jobs_in queued '"$id"')" = 1 ]'
    next=$(pilot -p short -w node1 -c 1 -- --idle 5000)
    wait_until 60 ended "$id"
    job "$id.1" 'j["state"] == "done"'
    [ "$(recorded "^start $id.1 ")" = 1 ]
    slurm_wait 60 "$next" COMPLETED
}

# Each looks for what others have left; here somebody looks all the time.
at_once() {
    local first pilots prefixes logs
    first=$(pilot -p short -w node1 -c 1 -- --idle 600000)
    wait_until 60 '[ "$(folders_of '"$first"' | wc -l)" = 2 ]'
    mapfile -t prefixes < <(folders_of "$first" | sed "s/$first\$//")
    mkdir "${prefixes[0]}999" "${prefixes[1]}999"
    ludwig-worker --leftovers "${prefixes[@]}" ""
    [ ! -e "${prefixes[0]}999" ] && [ ! -e "${prefixes[1]}999" ]
    for _ in 1 2 3; do
        while [ ! -e "$TEST_TMP/gates/at-once" ]; do
            ludwig-worker --leftovers "${prefixes[@]}" ""
        done 2>/dev/null &
    done
    pilots=$(pilot -p short -w node1 -c 1 --array=0-11 -- --idle 300)
    wait_until 120 '[ -z "$(squeue -h -j '"$pilots"')" ]'
    open at-once
    wait
    scancel "$first"
    mapfile -t logs < <(grep -l " job=${pilots}_" "$TEST_TMP"/pilot.*)
    not grep agent-ended "${logs[@]}"
    [ "$(grep -l 'retire why="nothing to do"' "${logs[@]}" | wc -l)" = 12 ]
    [ -z "$(folders_of "$pilots")" ]
}

# Neither apptainer nor singularity is packaged everywhere: one that stands in for it makes a root in
# which only what its words bind is there, besides the system's programs.
make_runtime() {
    mkdir "$TEST_TMP/tools"
    cat >"$TEST_TMP/tools/apptainer" <<'END'
#!/bin/bash
set -eu
[ -n "${STAND_IN-}" ] || STAND_IN=1 exec unshare "-$([ "$(id -u)" = 0 ] || echo r)m" -- "$0" "$@"
bind() { # FROM TO
    if [ -d "$1" ]; then mkdir -p "/mnt$2"; else mkdir -p "/mnt${2%/*}" && : >"/mnt$2"; fi
    mount --rbind "$1" "/mnt$2"
}
mount -t tmpfs none /mnt
for folder in /bin /sbin /lib /lib64 /usr /etc /dev /proc; do
    if [ -L $folder ]; then cp -a --no-preserve=ownership $folder /mnt; elif [ -d $folder ]; then bind $folder $folder; fi
done
shift
while [ "${1#--}" != "$1" ]; do
    case $1 in
    --bind) IFS=: read -r from to mode <<<"$2" && bind "$from" "$to" ;;
    --pwd) work=$2 ;;
    esac
    shift 2
done
[ -e "$1" ] || exit 9
shift
for name in $(compgen -e APPTAINERENV_); do
    export "${name#APPTAINERENV_}=${!name}"
done
exec /usr/sbin/chroot /mnt /bin/sh -c 'cd "$0" && exec "$@"' "$work" "$@"
END
    chmod +x "$TEST_TMP/tools/apptainer"
}

# Data and source are where the job looks for them, the cache is the one that pilots share, and what lies
# outside is not there.
contained() {
    local pilot
    make_runtime
    touch image.sif
    printf '%s\n' 'wc -l <"$LUDWIG_DATA/corpus/words"' "[ -e $TEST_TMP/records ] && echo outside" \
        'echo kept >"$LUDWIG_SAVE_PATH/kept"' >inside.sh
    printf '%s\n' 'project: inside' 'container: image.sif' 'command: sh inside.sh' 'source: inside.sh' \
        'data: [corpus]' "env: {PATH: '$TEST_TMP/tools:/usr/bin:/bin'}" >inside.yaml
    pilot=$(pilot -p short -c 1 -- --idle 5000)
    ludwig_wait submit inside.yaml --wait || { cat "$SHARE"/inside/logs/*/*; return 1; }
    grep -qx 2000 "$SHARE"/inside/logs/*/*
    not grep -qx outside "$SHARE"/inside/logs/*/*
    [ "$(cat "$SHARE"/inside/runs/param_001/*/kept)" = kept ]
    slurm_wait 60 "$pilot" COMPLETED
}

# As conda's, it is a folder that the shell's environment leads to.
environment() {
    local pilot
    python3 -m venv --without-pip "$TEST_TMP/venv"
    printf '%s\n' 'project: venv' "setup: . $TEST_TMP/venv/bin/activate" 'source: []' \
        'command: python -c "import sys; print(sys.prefix)"' >venv.yaml
    pilot=$(pilot -p short -c 1 -- --idle 5000)
    ludwig_wait submit venv.yaml --wait
    grep -qx "$TEST_TMP/venv" "$SHARE"/venv/logs/*/*
    slurm_wait 60 "$pilot" COMPLETED
}

# It stays as long as it may; then it says so, and somebody else does the job once more.
unpublished() {
    local first id
    write_job 'echo "$LUDWIG_RESTART" >"$LUDWIG_SAVE_PATH/x"' 'gate unpublished'
    printf '%s\n' 'project: unpublished' 'command: sh job.sh' 'source: job.sh' >unpublished.yaml
    id=$(submit unpublished.yaml)
    slurm_conf KillWait=60 # so that it has time to say so, however busy the machine is
    first=$(pilot -p short -w node1 -c 1 -- --idle 200 --kill-wait 5000)
    wait_until 60 '[ "$(recorded "^start '"$id"'.1 ")" = 1 ]'
    mv "$SHARE/unpublished" "$SHARE/gone"
    open unpublished
    wait_until 30 '[ "$(jobs_in publishing '"$id"')" = 1 ]'
    sleep 1 # longer than it stays with nothing to do
    [ "$(slurm_state "$first")" = RUNNING ]
    scancel "$first"
    slurm_wait 30 "$first" CANCELLED
    wait_until 10 '[ "$(jobs_in queued '"$id"')" = 1 ]'
    [ -z "$(folders_of "$first")" ]
    mv "$SHARE/gone" "$SHARE/unpublished"
    first=$(pilot -p short -w node1 -c 1 -- --idle 5000)
    wait_until 60 ended "$id"
    job "$id.1" 'j["state"] == "done" and j["attempt"] == 2'
    [ "$(cat "$SHARE"/unpublished/runs/*/*/x)" = 1 ]
    slurm_wait 60 "$first" COMPLETED
}

# Nothing else keeps a job of this Slurm from taking more than it asked for.
too_large() {
    local pilot id
    printf '%s\n' 'import os, sys, time' 'x = bytearray(int(sys.argv[1]) << 20)' \
        "while not os.path.exists('$TEST_TMP/gates/large'): time.sleep(0.05)" >large.py
    printf '%s\n' 'project: large' 'command: python3 large.py {mib}' 'source: large.py' \
        'params: {mib: [10, 600]}' 'resources: {cpus: 1, memory: 300MiB}' >large.yaml
    id=$(submit large.yaml)
    pilot=$(pilot -p short -c 2 -- --idle 5000)
    wait_until 60 '[ "$(jobs_in failed '"$id"')" = 1 ]'
    open large
    wait_until 60 ended "$id"
    job "$id.1" 'j["state"] == "done"'
    job "$id.2" 'j["state"] == "failed" and j["cause"] == "oom" and " of 300 MiB" in j["reason"]'
    slurm_wait 60 "$pilot" COMPLETED
}

# A pilot ends when half of its time is over, if it is as short as this.
cut_twice() {
    local pilot id
    printf '%s\n' 'project: cut' 'command: sleep 600' 'source: []' >cut.yaml
    id=$(submit cut.yaml)
    # The script says when it ends once it has begun; a third one, should the job not have.
    for _ in 1 2 3 4; do
        pilot=$(pilot -p short -c 2 -- --idle 60000 --ends '$((($(date +%s) + 40) * 1000))')
        slurm_wait 60 "$pilot" COMPLETED
        ! ended "$id" || break
    done
    wait_until 30 ended "$id"
    job "$id.1" 'j["state"] == "failed" and j["cause"] == "walltime"'
    job "$id.1" '"give time:" in j["reason"]'
}

it 'a pilot offers what Slurm gave it, and leaves nothing' offers
it 'with nothing to do it leaves' idle
it 'what it cannot understand is said in its log' no_server
it 'one that ludwigd does not know leaves at once, and nothing behind' unknown
it 'one that Slurm has cancelled before it began takes no jobs' cancelled_before
it 'its agent may be killed: the job goes on' agent_killed
it 'pilots beside each other stage data once for all' one_cache
it 'what a pilot that was killed has left is removed by the next one' leftovers
it 'results in it are published before, and the job is not done again' published_later
it 'pilots that begin at once take nothing of each other' at_once
if unshare "-$([ "$(id -u)" = 0 ] || echo r)m" true; then
    it 'a job runs in a container, and finds its data there' contained
else
    skip 'a job runs in a container, and finds its data there' 'no mount namespaces here'
fi
it "setup: activates an environment of the user's" environment
it 'what cannot be published before the end is reported lost, and runs again' unpublished
it 'a job that takes more memory than it asked for is ended, and no other' too_large
it 'a job that the end of the time has cut off twice fails, and says what to do' cut_twice
done_testing
