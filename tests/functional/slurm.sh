# slurm.sh - a real Slurm; sourced after lib.sh by the tests called slurm_*
#
#     . "$(dirname "$0")/lib.sh"
#     . "$TEST_ROOT/tests/functional/slurm.sh"
#     slurm_possible || { skip 'pilots' "$slurm_lacks" && done_testing; }
#     slurm_up
#
# What it is made of, tests/lab/slurm.sh says.  tests/run brings one up for all of these tests and
# gives it to one after the other; a test that runs by itself has its own.  Each finds all nodes
# idle, no job, and the configuration as it is at first.
#
# Then sbatch and the others are in the PATH and know where it is; $SLURM is its folder, with its
# logs in $SLURM/log.  Jobs that run as the one who runs the test may see $TEST_TMP, which others may not.
#
#     slurm_possible             what it takes is here; if not, $slurm_lacks says what
#     slurm_up                   not in `it`; ends the test when it does not come up
#     slurm_node off|crash|on NODE...    power off; kill -9 of slurmd alone; power on
#     slurm_ctld stop|kill|start         slurmctld: cleanly, kill -9, start
#     slurm_conf KEY=VALUE...    change slurm.conf and have Slurm read it
#     slurm_partition NAME KEY=VALUE...  as `scontrol update`: GraceTime=15, State=DOWN, ...
#     slurm_manage ARGUMENT...   sacctmgr, which changes accounts and limits
#     slurm_as USER COMMAND...   as alice or bob, in their home and with a clean environment;
#                                takes root
#     slurm_inside COMMAND...    as oneself, where alice and bob are known: a ludwigd of root's
#     slurm_rpcs [TYPE]          calls of slurmctld since slurm_rpcs_anew, all or of one type
#                                (REQUEST_SUBMIT_BATCH_JOB), without those that ask for it
#     slurm_rpcs_anew            count from here
#     slurm_state JOB            its state, also when it has ended (PENDING, RUNNING, ...)
#     slurm_reason JOB           why it waits, as squeue has it
#     slurm_numbered JOB         slurmdbd has told its number: its state may be kept
#     slurm_begin JOB            one that is to begin later may begin now
#     slurm_wait SECONDS JOB STATE       wait until it has that state, an extended regular expression
#     serves LOG COMMAND...      wait for the test's ludwigd: until the command succeeds.  Not in `it`: the
#                                test ends if it never does, and shows what ludwigd has written to LOG
#     start_node NAME            a worker on a machine that is no part of the cluster
#     why_says JOB PATTERN       `ludwig why JOB` has it now; JOB is one of ludwig's
#     shown_by_why SECONDS JOB PATTERN   wait until it has
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

# It ends with this shell, however that ends, and cleans up by itself.
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

# The next test gets another one.
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

slurm_conf() { # KEY=VALUE...
    slurm_changes
    slurm_do conf "$SLURM" "$@"
}

slurm_partition() { # NAME KEY=VALUE...
    slurm_changes
    scontrol update "PartitionName=$1" "${@:2}"
}

# While slurmctld waits for slurmdbd to tell a job's number, it changes none of it ("try again in a
# bit"); one that is stopped then waits for it for good, as its state says so.
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

start_node() { # NAME
    local server=${LUDWIG_SERVER-}
    mkdir -p -m 0700 "$SCRATCH"
    mkdir -m 0700 "$SCRATCH/$1"
    printf '%s\n' "server: ${server:-unix:$(sed -n 's/^unix://p' "$XDG_STATE_HOME/ludwig/address")}" "share: $SHARE" \
        "scratch: $SCRATCH/$1" "state: $TEST_TMP/$1.state" "name: $1" "kind: local" \
        'resources: {cpus: 2, gpus: 0, memory: 1GiB}' >"$1.yaml"
    ludwig-worker --config "$1.yaml" >"$TEST_TMP/$1.log" 2>&1 &
    disown
    wait_until 30 'ludwig nodes --json | json - "any(n[\"node\"] == \"'"$1"'\" and n[\"state\"] == \"up\" for n in d[\"nodes\"])"'
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
