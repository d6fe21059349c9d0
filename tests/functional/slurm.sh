# slurm.sh - a real Slurm cluster; sourced after lib.sh by the tests called slurm_*
#
#     . "$(dirname "$0")/lib.sh"
#     . "$TEST_ROOT/tests/functional/slurm.sh"
#     slurm_possible || { skip 'pilots' "$slurm_lacks" && done_testing; }
#     slurm_up
#
# tests/lab/slurm.sh describes the cluster.  tests/run starts clusters for these tests and gives each
# cluster to one test after the other; a test that is run by itself starts its own.  Each test finds
# all nodes idle, no job, and the original configuration.
#
# After slurm_up, sbatch and the other commands are in the PATH and use the cluster.  $SLURM is the
# cluster's folder, with its logs in $SLURM/log.  Slurm jobs of the user who runs the test can read
# $TEST_TMP; jobs of other users cannot.
#
#     slurm_possible             the machine has what a cluster needs; if not, $slurm_lacks says what
#                                is missing
#     slurm_up                   start or reset the cluster; ends the test if that fails.  Not to be
#                                called in `it`
#     slurm_node off|crash|on NODE...    power off; kill -9 of slurmd alone; power on
#     slurm_ctld stop|kill|start         slurmctld: stop cleanly, kill -9, start
#     slurm_dbd kill|start       slurmdbd: kill -9, start
#     slurm_conf KEY=VALUE...    change slurm.conf and have Slurm read it
#     slurm_partition NAME KEY=VALUE...  `scontrol update`: GraceTime=15, State=DOWN, ...
#     slurm_manage ARGUMENT...   run sacctmgr, to change accounts and limits
#     slurm_as USER COMMAND...   run the command as alice or bob, or as carol, dave or erin, who have no
#                                account in Slurm, with a clean environment; needs root
#     slurm_inside COMMAND...    run the command as the test's user where these users exist, such as a
#                                ludwigd of root's
#     slurm_rpcs [TYPE]          print how many calls slurmctld had since slurm_rpcs_anew, of all types or
#                                of one (REQUEST_SUBMIT_BATCH_JOB), without the calls for this count
#     slurm_rpcs_anew            set the counts to 0
#     slurm_state JOB            print the Slurm job's state, also after its end (PENDING, RUNNING, ...)
#     slurm_reason JOB           print why the Slurm job waits, as squeue says
#     slurm_numbered JOB         wait until slurmdbd has told slurmctld its number of the pending job,
#                                so that a slurmctld that is stopped may save the job's state
#     slurm_begin JOB            let a Slurm job with a later start time start now
#     slurm_wait SECONDS JOB STATE       wait until the Slurm job's state matches an extended regular
#                                expression
#     pilot_logs SWEEP           list the log files of the sweep's pilots
#     serves LOG COMMAND...      wait for the test's ludwigd: until the command succeeds.  If it never does,
#                                the test ends and shows what ludwigd has written to LOG.  Not to be
#                                called in `it`
#     start_node NAME            start a worker on a machine that is not part of the cluster
#     why_says JOB PATTERN       `ludwig why JOB` prints a line that matches; JOB is one of ludwig's
#     shown_by_why SECONDS JOB PATTERN   wait until it does
set -u

slurm_lacks=''
slurm_keeper=''

slurm_do() { # COMMAND...
    LUDWIG_TEST_CACHE=$test_cache bash "$TEST_ROOT/tests/lab/slurm.sh" "$@"
}

slurm_possible() {
    slurm_lacks=$(slurm_do possible 2>&1) || {
        slurm_lacks=${slurm_lacks#slurm.sh: }
        return 1
    }
}

# Starts a cluster for this test alone, which ends with this shell and removes its own folder.
slurm_own() {
    SLURM=$(mktemp -d "$(dirname "$TEST_TMP")/ls.XXXXXX") || exit 1
    mkfifo "$TEST_TMP/slurm.never"
    LUDWIG_TEST_CACHE=$test_cache env -u LUDWIG_TEST_MARK setsid setpriv --pdeathsig TERM \
        bash "$TEST_ROOT/tests/lab/slurm.sh" keep "$SLURM" <>"$TEST_TMP/slurm.never" >/dev/null 2>&1 &
    slurm_keeper=$!
    trap 'slurm_down; test_cleanup' EXIT
}

slurm_down() {
    kill -TERM "$slurm_keeper" && wait "$slurm_keeper"
} 2>/dev/null

slurm_came_up() {
    [ -e "$SLURM/up" ] || [ -e "$SLURM/failed" ] || [ ! -d "$SLURM" ]
}

slurm_up() {
    local prepare=slurm_as_at_first
    SLURM=${LUDWIG_TEST_SLURM-}
    [ -n "$SLURM" ] || { slurm_own && prepare=true; }
    export SLURM_CONF=$SLURM/etc/slurm.conf
    if ! wait_until 180 slurm_came_up || [ ! -e "$SLURM/up" ] || ! $prepare; then
        echo 'not ok - Slurm comes up'
        sed 's/^/# /' "$SLURM/failed" "$SLURM"/log/*.out 2>/dev/null | tail -n 40
        exit 1
    fi
    PATH=$LUDWIG_BIN:$SLURM/bin:${PATH#"$LUDWIG_BIN:"}
}

slurm_as_at_first() {
    if [ -e "$SLURM/changed" ] || ! slurm_do reset "$SLURM"; then
        slurm_do anew "$SLURM" && rm -f "$SLURM/changed"
    fi
}

# Notes that this test changes the cluster, so that slurm_up starts it anew for the next test.
slurm_changes() {
    touch "$SLURM/changed"
}

slurm_node() { # off|crash|on NODE...
    slurm_do node "$1" "$SLURM" "${@:2}"
}

slurm_ctld() { # stop|kill|start
    [ "$1" != kill ] || slurm_changes
    slurm_do ctld "$1" "$SLURM"
}

slurm_dbd() { # kill|start
    [ "$1" != kill ] || slurm_changes
    slurm_do dbd "$1" "$SLURM"
}

slurm_conf() { # KEY=VALUE...
    slurm_changes
    slurm_do conf "$SLURM" "$@"
}

slurm_partition() { # NAME KEY=VALUE...
    slurm_changes
    scontrol update "PartitionName=$1" "${@:2}"
}

# While slurmctld waits for slurmdbd's number of a job, it refuses to change the job ("try again in a
# bit").  If slurmctld is stopped meanwhile, its saved state has it wait for that number for ever.
slurm_numbered() { # JOB, which is waiting
    wait_until 60 '[ "$(sacct -n -P -X -j '"$1"' -o state)" = PENDING ]' &&
        wait_until 60 scontrol update JobId="$1" Comment=numbered
}

slurm_begin() { # JOB
    wait_until 60 scontrol update JobId="$1" StartTime=now
}

slurm_manage() { # ARGUMENT...
    slurm_changes
    sacctmgr -i -Q "$@"
}

slurm_as() { # USER COMMAND...
    slurm_do as "$1" "$SLURM" "${@:2}"
}

slurm_inside() { # COMMAND...
    slurm_do inside "$SLURM" "$@"
}

slurm_rpcs() { # [TYPE]
    sdiag | awk -v type="${1-}" '
        /^Remote Procedure Call statistics/ { counts = /by message type/ }
        counts && /count:/ && $1 != "REQUEST_STATS_INFO" && (type == "" || $1 == type) {
            sub(/.*count:/, ""); n += $1
        }
        END { print n + 0 }'
}

slurm_rpcs_anew() {
    sdiag -r >/dev/null
}

slurm_state() { # JOB
    scontrol show job "$1" | sed -n 's/^ *JobState=\([A-Z_]*\).*/\1/p' | head -n 1
}

slurm_reason() { # JOB
    squeue -h -j "$1" -o %r
}

slurm_is() { # JOB STATE
    slurm_state "$1" | grep -qxE "$2"
}

slurm_wait() { # SECONDS JOB STATE
    wait_until "$1" slurm_is "$2" "$3" || {
        scontrol show job "$2"
        return 1
    }
}

serves() { # LOG COMMAND...
    wait_until 60 "${@:2}" && return
    echo 'not ok - ludwigd comes up'
    tail -n 40 "$1" | sed 's/^/# /'
    exit 1
}

pilot_logs() { # SWEEP
    ls "$SHARE"/.ludwig/pilots/*/ludwig-"$1"-*.log
}

start_node() { # NAME
    local server=${LUDWIG_SERVER-}
    mkdir -p -m 0700 "$SCRATCH"
    mkdir -m 0700 "$SCRATCH/$1"
    printf '%s\n' "server: ${server:-unix:$(sed -n 's/^unix://p' "$XDG_STATE_HOME/ludwig/address")}" "share: $SHARE" \
        "scratch: $SCRATCH/$1" "state: $TEST_TMP/$1.state" "name: $1" "kind: local" \
        'resources: {cpus: 2, gpus: 0, memory: 1GiB}' >"$1.yaml"
    ludwig-worker --config "$1.yaml" >"$TEST_TMP/$1.log" 2>&1 &
    disown
    wait_until 30 is_up "$1"
}

why_says() { # JOB PATTERN
    ludwig why "$1" | tee "$TEST_TMP/why" | grep -qE -e "$2"
}

shown_by_why() { # SECONDS JOB PATTERN
    wait_until "$1" why_says "$2" "$3" || {
        cat "$TEST_TMP/why"
        return 1
    }
}
