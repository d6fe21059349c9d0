#!/bin/bash
# doctor.sh - what keeps ludwig from working, and what to do
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 1, gpus: 0, memory: 1GiB}'
printf 'project: mine\ncommand: "true"\nsource: []\n' >sweep.yaml

# The verdict and what was found, of a check; fails when it said nothing of the sort.
said() { # CHECK VERDICT WORDS
    json "$TEST_TMP/doctor" "any(f['check'] == '$1' and f['verdict'] == '$2' and '''$3''' in f['found'] + ' ' + (f['advice'] or '') for f in d['checks'])"
}
# Root, too, must obey the modes of files: modest COMMAND...
modest() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --bounding-set=-dac_override,-dac_read_search "$@"
    else
        "$@"
    fi
}
diagnose() { # STATUS OPTION...
    local status=0 wanted=$1
    shift
    modest ludwig "$@" doctor --json >"$TEST_TMP/doctor" || status=$?
    [ $status = "$wanted" ] || { cat "$TEST_TMP/doctor" && return 1; }
}

before() {
    diagnose 0
    said server note 'not running'
    said config ok config.yaml
    said share ok 'made when the server starts'
    said state ok 'made when the server starts'
    said scratch ok "$SCRATCH"
    said scratch ok 'syncs in'
    json "$TEST_TMP/doctor" 'd["v"] == 1 and not any(f["verdict"] == "problem" for f in d["checks"])'
    [ -z "$(pids_of ludwigd)" ]
    [ ! -e "$SHARE" ]
    [ ! -e "$XDG_STATE_HOME/ludwig" ]
}
it 'works before anything was started, and starts and makes nothing' before

running() {
    ludwig_wait submit sweep.yaml --wait
    diagnose 0
    said server ok 'your own on this machine'
    said version ok "$(cat "$TEST_ROOT/VERSION")"
    said identity ok "$(id -un)"
    said workers ok '1 up'
    if grep -q no-control-group "$XDG_STATE_HOME/ludwig/worker.log"; then
        said workers note '1 without control groups, where a process that a job hides may go on'
    else
        not said workers note 'without control groups'
    fi
    said share ok "$SHARE"
    said projects ok "$SHARE/mine is yours"
    said clock ok agree
    said leftovers ok 'no half-made'
    # What was tried is gone.
    [ -z "$(find "$SHARE" -name '.ludwig-doctor*')" ]
}
it 'finds all well where all is well' running

text() {
    ludwig doctor >out
    grep -q '^ok       server: your own on this machine' out
    not grep -q '^problem' out
    not grep -vE '^(ok|note|problem) +[a-z]+: ' out
}
it 'prints a line for each finding' text

drained() {
    node=$(ludwig nodes --quiet)
    ludwig drain "$node"
    diagnose 1
    said workers problem 'none is up'
    said workers note "1 drained: $node"
    ludwig undrain "$node"
    diagnose 0
}
it 'a drained worker is told, and that jobs wait' drained

lost() {
    mkdir -p "$TEST_TMP/gates"
    # shellcheck disable=SC2046 # one word each
    kill_hard $(agents)
    wait_until 10 'ludwig nodes --json | json - "all(n[\"state\"] == \"lost\" for n in d[\"nodes\"])"'
    diagnose 1
    said workers problem '`ludwig up --local` starts one here'
    ludwig up
    diagnose 0
}
it 'a worker that is gone is told, with the way to start one' lost

wrong_share() {
    mkdir "$TEST_TMP/other"
    socket=$(sed -n 's/^unix://p' "$XDG_STATE_HOME/ludwig/address")
    configure "share: $TEST_TMP/other"
    diagnose 1 --server "unix:$socket"
    said server ok "--server names unix:$socket"
    said share problem "share: in config.yaml"
    configure "share: $TEST_TMP/nowhere"
    diagnose 1 --server "unix:$socket"
    said share problem 'No such file'
    configure 'resources: {cpus: 1, gpus: 0, memory: 1GiB}'
}
it 'a share that is not the one of the server is a problem' wrong_share

unwritable() {
    chmod 0500 "$SHARE/mine"
    diagnose 1
    chmod 0750 "$SHARE/mine"
    said projects problem "cannot write into $SHARE/mine"
}
if modest true 2>/dev/null; then
    it 'a project that one cannot write into is a problem' unwritable
else
    skip 'a project that one cannot write into is a problem' 'setpriv may not drop capabilities here'
fi

leftovers_found() {
    half=$SHARE/mine/runs/param_001/.job.0123456789abcdef0123456789abcdef
    mkdir "$half"
    diagnose 0
    said leftovers ok 'no half-made'
    rmdir "$half"
}
it 'a result that is being published is no leftover' leftovers_found

bad_config() {
    configure 'resorces: {cpus: 1}'
    diagnose 1
    said config problem 'resources'
    configure 'server: nonsense'
    diagnose 1
    said server problem 'nonsense'
    configure 'server: unix:/nowhere/server.sock'
    diagnose 1
    said server problem '/nowhere/server.sock'
    said share note 'not known without the server'
    LUDWIG_SERVER=unix:/nowhere/else.sock diagnose 1
    said server problem 'LUDWIG_SERVER names unix:/nowhere/else.sock'
    configure 'resources: {cpus: 1, gpus: 0, memory: 1GiB}'
}
it 'mistakes in the configuration are found, and the other checks go on' bad_config

stopped() {
    ludwig down
    diagnose 0
    said server note 'not running'
    said share ok "$SHARE"
    said projects ok "$SHARE/mine is yours"
    [ -z "$(pids_of ludwigd)" ]
}
it 'a server that was stopped is a note, and is not started' stopped

open_state() {
    chmod 0777 "$XDG_STATE_HOME/ludwig"
    diagnose 1
    said state problem 'others may write'
    chmod 0700 "$XDG_STATE_HOME/ludwig"
}
it 'a state folder that others may write is a problem' open_state

memory() {
    mkdir -p "$XDG_CONFIG_HOME/ludwig"
    echo 'scratch: /dev/shm' >"$XDG_CONFIG_HOME/ludwig/config.yaml"
    diagnose 0
    said scratch note 'in memory'
}
if [ "$(stat -fc %T /dev/shm 2>/dev/null)" = tmpfs ] && [ -w /dev/shm ]; then
    it 'scratch in memory is a note' memory
else
    skip 'scratch in memory is a note' 'there is no tmpfs at /dev/shm'
fi

scratch() {
    echo "scratch: $TEST_TMP/yet/to/be/made" >"$XDG_CONFIG_HOME/ludwig/config.yaml"
    diagnose 0
    json "$TEST_TMP/doctor" 'any(f["check"] == "scratch" and "/yet/to/be/made" in f["found"] for f in d["checks"])'
    [ ! -e "$TEST_TMP/yet" ]
    echo "scratch: $PWD/sweep.yaml/below" >"$XDG_CONFIG_HOME/ludwig/config.yaml"
    diagnose 1
    said scratch problem 'Not a directory'
    echo "scratch: $PWD/sweep.yaml" >"$XDG_CONFIG_HOME/ludwig/config.yaml"
    diagnose 1
    said scratch problem 'Not a directory'
}
it 'scratch that is yet to be made is looked at where it will be' scratch

# Only what is meant to be there is in PATH.
slurm() {
    configure 'resources: {cpus: 1, gpus: 0, memory: 1GiB}'
    mkdir -p "$TEST_TMP/slurm"
    printf '#!/bin/sh\necho slurm 22.05.8\n' >"$TEST_TMP/slurm/sbatch"
    chmod 755 "$TEST_TMP/slurm/sbatch"
    PATH=$TEST_TMP/slurm:$LUDWIG_BIN:/usr/bin:/bin diagnose 1
    said programs problem 'sbatch is here (slurm 22.05.8), but not scancel'
    for command in scancel squeue scontrol sinfo; do
        cp "$TEST_TMP/slurm/sbatch" "$TEST_TMP/slurm/$command"
    done
    PATH=$TEST_TMP/slurm:$LUDWIG_BIN:/usr/bin:/bin diagnose 0
    said programs note "Slurm's commands are here (slurm 22.05.8), and no Slurm answers them"
    printf '#!/bin/sh\necho "Slurmctld(primary) at head is UP"\n' >"$TEST_TMP/slurm/scontrol"
    PATH=$TEST_TMP/slurm:$LUDWIG_BIN:/usr/bin:/bin diagnose 0
    said programs note 'Slurm answers (slurm 22.05.8), so this is a login node'
    echo 'exit 1' >"$TEST_TMP/slurm/sbatch"
    PATH=$TEST_TMP/slurm:$LUDWIG_BIN:/usr/bin:/bin diagnose 1
    said programs problem 'does not say its version'
    cp "$TEST_TMP/slurm/sbatch" "$TEST_TMP/slurm/scontrol"
    PATH=$TEST_TMP/slurm:$LUDWIG_BIN:/usr/bin:/bin diagnose 0
    said programs note 'sbatch is here, and no Slurm answers it'
}
if command -v sbatch scancel squeue scontrol sinfo >/dev/null; then
    skip 'Slurm that is there in part only is a problem' 'Slurm is installed here'
else
    it 'Slurm that is there in part only is a problem' slurm
fi

narrow() {
    status=0
    python3 -S "$TEST_ROOT/tests/functional/terminal.py" 24x50 env NO_COLOR=1 ludwig doctor >out || status=$?
    [ $status -le 1 ]
    grep -q '^ok ' out
    # Lines of several words fit; a path is not broken.
    tr -d '\r' <out | awk 'length($0) > 50 && substr($0, 10, 42) ~ / / { print; bad = 1 } END { exit bad }'
}
it 'on a narrow terminal its lines are wrapped there' narrow

done_testing
