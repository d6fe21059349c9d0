#!/usr/bin/env bash
# slurm.sh [PART...] - compares pilots with sbatch on a real Slurm cluster of this machine's own
#
#     short      1,000 jobs of `true`: makespan, calls of slurmctld by sdiag, where the time goes
#     second     500 jobs of 1 s: the same, and how far from ideal once the pilots run
#     uneven     jobs of 1 to 20 s: node-seconds that pilots had and jobs did not use
#     partitions 96 jobs of 1 s over two partitions, of which the pilots of one preempt those of the other,
#                LUDWIG_BENCH_ROUNDS (30) times: seconds, and for the slowest round what each pilot did when
#     kindness   calls of slurmctld by type, as in the table of docs/slurm.md: 1,000 jobs of `true`, the first and
#                the second time; 4 pilots that wait for LUDWIG_BENCH_IDLE s; five users with a ludwigd each,
#                who submit 200 jobs of `true` at once
#     idle       `ludwig submit --wait` of 10,000 jobs whose 4 pilots Slurm does not start, as another user has the
#                nodes, for LUDWIG_BENCH_IDLE (240) s from the submit on: calls by type and by user
#
# Without PART, all of them.  The cluster is that of tests/lab/slurm.sh: 3 nodes that each claim to have 16
# processors, while all daemons share the cores of this machine, so compare the ratios of times; the numbers
# of calls are exact.  Calls of slurmctld are counted from before the submit until the last job or pilot has
# left Slurm, without the calls that ask for the count and those that nodes make by themselves.
idle_s=${LUDWIG_BENCH_IDLE:-240} rounds=${LUDWIG_BENCH_ROUNDS:-30} types=${LUDWIG_BENCH_TYPES-}
. "$(dirname "$0")/../functional/lib.sh"
. "$TEST_ROOT/tests/functional/slurm.sh"
[ $# -gt 0 ] || set -- short second uneven partitions kindness idle
slots=48
slurm_possible || { echo "slurm.sh: $slurm_lacks" >&2 && exit 1; }
slurm_up
slurm_conf TaskProlog= # which each of sbatch's jobs would pay for

# Pilots have no configuration of this user's, and are to leave no trace in the home of whose test it is.
cat >"$TEST_TMP/worker" <<END
#!/bin/sh
exec '$LUDWIG_BIN/ludwig-worker' "\$@" --config='$TEST_TMP/worker.yaml'
END
chmod 755 "$TEST_TMP/worker"
printf '%s\n' "scratch: $SCRATCH" "state: $TEST_TMP/worker.state" >"$TEST_TMP/worker.yaml"
with_idle() { # SECONDS, that a pilot stays when there is nothing to do
    configure "slurm: {idle: ${1}s, worker: $TEST_TMP/worker}"
    ludwig down 2>/dev/null
    ludwig up 2>/dev/null || exit
}

load() { cut -d' ' -f1 /proc/loadavg; }
clock_ms() { echo $((${EPOCHREALTIME/./} / 1000)); }
seconds() { # MILLISECONDS
    printf '%d.%02d' $(($1 / 1000)) $(($1 % 1000 / 10))
}

# ---- what Slurm says ----

jobs_that() { # were submitted | started | completed: since the last slurm_rpcs_anew
    sdiag | sed -n "s/^Jobs $1: *//p"
}
have_ended() { [ "$(jobs_that completed)" -ge "$1" ]; }
# Of several users' pilots some may be cancelled before they began.
none_goes_on() { [ $(($(jobs_that completed) + $(jobs_that canceled))) -ge "$(jobs_that submitted)" ]; }
none_is_left() { [ "$(jobs_that completed)" -ge "$(jobs_that submitted)" ]; }
slurm_is_empty() { [ -z "$(squeue -h)" ]; }
calls() { echo $(($(slurm_rpcs) - $(slurm_rpcs MESSAGE_NODE_REGISTRATION_STATUS))); }
calls_by_type() { # of sdiag's words
    awk '/^Remote Procedure Call statistics/ { counts = /by message type/ }
        counts && /count:/ && $1 != "REQUEST_STATS_INFO" {
            type = $1; sub(/.*count:/, ""); printf "    %6d %s\n", $1, type
        }'
}

# ---- programs that take turns ----

# What Slurm still writes into its database of the one before is not the next one's.
is_written_down() { [ "$(sdiag | sed -n 's/^DBD Agent queue size: *//p')" = 0 ]; }
anew() {
    within 120 is_written_down || exit 1
    slurm_rpcs_anew
}

by_array() { # COMMAND N
    sbatch --parsable --output=/dev/null --partition=short --mem=100 --array=0-$(($2 - 1)) \
        --wrap="$1" >/dev/null
}
one_by_one() { # COMMAND N
    local i
    for ((i = 0; i < $2; i++)); do
        sbatch --parsable --output=/dev/null --partition=short --mem=100 --wrap="$1" >/dev/null || return
    done
}
row() { # NAME MILLISECONDS CALLS
    printf '%-20s %8s s %7d calls   load %s\n' "$1" "$(seconds "$2")" "$3" "$(load)"
    [ -z "$types" ] || sdiag | calls_by_type
}
of_slurm() { # NAME FUNCTION COMMAND N
    local begin end
    anew
    begin=$(clock_ms)
    if ! "$2" "$3" "$4" || ! within 900 have_ended "$4"; then
        echo "slurm.sh: $1 failed" >&2
        exit 1
    fi
    end=$(clock_ms)
    row "$1" $((end - begin)) "$(calls)"
}

sweep_of() { # NAME COMMAND RANGE [CPUS]
    printf '%s\n' "project: $1" "command: '$2'" 'source: []' "params: {n: {range: [$3]}}" \
        "resources: {cpus: ${4-1}, memory: 100MiB}" 'slurm: {partition: short}' >"$1.yaml"
}
submitted() { # NAME: waits until it has ended
    ludwig submit "$1.yaml" --wait --json >"$1.json" 2>"$1.err" || { cat "$1.err" >&2 && exit 1; }
}
of_ludwig() { # NAME
    local begin end
    anew
    begin=$(clock_ms)
    submitted "$1"
    end=$(clock_ms)
    within 120 none_is_left || exit 1
    row ludwig $((end - begin)) "$(calls)"
}

# By the logs of ludwigd and Slurm; ludwig alone says the time of day with milliseconds in both.
events() { # NAME
    local log=$XDG_STATE_HOME/ludwig/ludwigd.log
    echo "    ludwigd:  $(sed -nE 's/^[^T]*T([^Z]*)Z info (submit|pilot-submitted|register) .*/\1 \2/p' "$log" | tail -n 5 | paste -sd, | sed 's/,/, /g')"
    echo "    pilots begin: $(sed -nE 's/^[^T]*T([^Z]*)Z info pilot .*/\1/p' "$SHARE"/.ludwig/pilots/*/ludwig-"$(json "$1.json" 'str(d["sweep"])')"-*.log | sort | paste -sd' ')"
}

# ---- parts ----

part_short() {
    with_idle 3
    for round in 1 2 3; do
        sweep_of short$round /bin/true 1,1000
        [ $round != 1 ] || of_slurm 'one sbatch each' one_by_one /bin/true 1000
        of_slurm 'sbatch --array' by_array /bin/true 1000
        of_ludwig short$round
        events short$round
    done
}

# From the first start to the last end, as the jobs themselves say.
from_first_to_last() { # WHAT FILE...
    local what=$1
    shift
    cat "$@" | sort -n | awk -v what="$what" -v slots=$slots -v n=500 '
        NR == 1 { first = $1 }
        { last = $1 }
        END {
            ideal = int((n + slots - 1) / slots)
            printf "    %s: %.2f s, of ideal %d s: %.3f\n", what, last - first, ideal, (last - first) / ideal
        }'
}

# What this machine makes of the same jobs: a shell loop in each slot, of which each knows its jobs.
by_loops() { # FOLDER COMMAND
    mkdir "$1"
    sbatch --parsable --output=/dev/null --partition=short --mem=1600 --cpus-per-task=16 --array=0-2 --wrap="
        for slot in \$(seq 0 15); do
            for i in \$(seq \$((SLURM_ARRAY_TASK_ID * 16 + slot)) $slots 499); do
                sh -c '$2'
            done >'$1/'\$SLURM_ARRAY_TASK_ID.\$slot &
        done
        wait" >/dev/null
}
of_loops() { # FOLDER COMMAND
    anew
    by_loops "$@" && within 120 have_ended 3 || exit 1
    from_first_to_last 'shell loops' "$1"/*
}

# The first time Slurm is asked what there is, as it is by each ludwigd that has its first pilots.
part_second() {
    local command='date +%s.%N; sleep 1; date +%s.%N'
    with_idle 3
    of_slurm 'sbatch --array' by_array 'sleep 1' 500
    of_slurm 'one sbatch each' one_by_one 'sleep 1' 500
    for round in 1 2 3; do
        of_loops loops$round "$command"
        sweep_of second$round "$command" 1,500
        of_ludwig second$round
        events second$round
        from_first_to_last 'once pilots run' "$SHARE"/second$round/logs/*/*.log
    done
}

# Processor-seconds: what Slurm accounts of the pilots, what the jobs slept, and the time in which pilots
# waited whether anything else comes.
part_uneven() {
    local idle=60 n=400 used
    with_idle $idle
    # shellcheck disable=SC2016 # the job's shell does
    sweep_of uneven 'sleep $((({n} * 7919) % 20 + 1))' 1,$n
    submitted uneven
    within 300 slurm_is_empty || exit 1
    within 120 is_written_down || exit 1
    used=$(seq $n | awk '{ s += $1 * 7919 % 20 + 1 } END { print s }')
    # Of an array each has a log of its own.
    find "$SHARE/uneven/pilots" -name '*.log' -printf '%f\n' | sed -E 's/(_[0-9]+)?\.log$//' | sort -u >names
    sacct -X -n -P -o JobName,ElapsedRaw,AllocCPUS | grep -F -f names | awk -F'|' -v used="$used" -v idle=$idle '
        { n++; all += $2 * $3; waited += idle * $3 }
        END {
            printf "%d pilots had %d processor-seconds: jobs used %d (%.1f %%), %d were the time-out (%.1f %%)\n",
                n, all, used, 100 * used / all, waited, 100 * waited / all
            printf "    without the time-out jobs used %.1f %% of it\n", 100 * used / (all - waited)
        }'
}

# When each pilot was asked for, took its first jobs, and left; and what Slurm said of those that said nothing.
pilots_of() { # SWEEP
    sed -nE 's/^[^T]*T([^Z]*)Z info ((submit|pilot-submitted|register|retiring|pilot-ended|lease-over) .*)/\1 \2/p' \
        "$XDG_STATE_HOME/ludwig/ludwigd.log" | sed -n "/ submit sweep=$1 /,/ submit sweep=$(($1 + 1)) /{/ submit sweep=$(($1 + 1)) /!p}"
}
part_partitions() {
    local round begin id
    with_idle 3
    for ((round = 1; round <= rounds; round++)); do
        sweep_of partitions$round 'sleep 1' 1,96
        sed -i 's/^slurm: .*/slurm: [{partition: overcap}, {partition: short}]/' partitions$round.yaml
        begin=$(clock_ms)
        submitted partitions$round
        id=$(json partitions$round.json 'str(d["sweep"])')
        echo "$(($(clock_ms) - begin)) $id $round"
        within 120 slurm_is_empty || exit 1
    done >took
    sort -n took | awk '{ ms[NR] = $1 } END {
        printf "%d rounds of 96 jobs: %.1f s in the median, from %.1f to %.1f s\n", NR, ms[int((NR + 1) / 2)] / 1000, ms[1] / 1000, ms[NR] / 1000
    }'
    echo '    the slowest:'
    pilots_of "$(sort -n took | tail -n 1 | cut -d' ' -f2)" | sed 's/^/    /'
}

waiting_pilots() { [ "$(squeue -h -r -t PENDING -o %j | grep -c '^ludwig-')" = "$1" ]; }

# alice, whose calls are nobody else's, where the cluster is root's; the programs are where she may look.
idle_user() { # COMMAND...
    local as=()
    [ "$(id -u)" != 0 ] || as=(slurm_as alice)
    "${as[@]}" env -C "$own" HOME="$own" XDG_CONFIG_HOME="$own/.config" XDG_STATE_HOME="$own/.state" \
        XDG_CACHE_HOME="$own/.cache" XDG_RUNTIME_DIR="$own/.run" PATH="$own/bin:$PATH" "$@"
}

# The nodes belong to another.  Once a minute the user asks what the jobs wait for.
wait_idle() {
    local own=$SLURM/idle uid end n submitter
    uid=$(id -u)
    [ "$uid" != 0 ] || uid=2001
    mkdir -m 755 "$own" "$own/bin"
    cp "$LUDWIG_BIN"/ludwig* "$own/bin"
    (umask 077 && mkdir -p "$own/.config/ludwig" "$own/.run" "$own/.state" "$own/.cache")
    printf '%s\n' "scratch: $own/scratch" >"$own/.config/ludwig/config.yaml"
    sweep_of idle /bin/true 1,10000 12
    mv idle.yaml "$own"
    chown -R "$uid" "$own"
    sbatch --parsable --output=/dev/null --partition=short --nodes=3 --exclusive --time=1-0 --wrap='sleep 86400' >/dev/null
    # shellcheck disable=SC2016 # looks again each time
    within 60 '[ "$(squeue -h -t RUNNING | wc -l)" = 1 ]' || exit 1
    idle_user ludwig up 2>/dev/null || exit
    anew
    end=$((SECONDS + idle_s))
    idle_user ludwig submit idle.yaml --wait >idle.out 2>&1 &
    submitter=$!
    while [ $SECONDS -lt $end ]; do
        sleep $((end - SECONDS < 60 ? end - SECONDS : 60))
        idle_user ludwig why 1.1 >idle.why
    done
    sdiag >idle.sdiag
    if ! waiting_pilots 4 || ! kill -0 $submitter; then
        cat idle.out idle.why >&2
        exit 1
    fi
    n=$(awk -v uid="$uid" '/^Remote Procedure Call statistics/ { counts = /by user/ }
        counts && $0 ~ "\\( *" uid "\\)" { sub(/.*count:/, ""); print $1 }' idle.sdiag)
    echo "10000 jobs wait, and 4 pilots: $n calls of their user's in $idle_s s"
    tail -n 2 idle.why | sed 's/^/    /'
    idle_user ludwig down 2>/dev/null
    squeue -h -o %A | xargs scancel
    wait $submitter
    rm -rf "$own"
}
part_idle() {
    wait_idle
    calls_by_type <idle.sdiag
}

# TYPE N of sdiag's words, of all but what nodes say by themselves and the question for the calls.
types_into() { # COLUMN
    awk -v column="$1" '/^Remote Procedure Call statistics/ { counts = /by message type/ }
        counts && /count:/ && $1 !~ /^(REQUEST_STATS_INFO|MESSAGE_NODE_REGISTRATION_STATUS)$/ {
            type = $1; sub(/.*count:/, ""); print column, type, $1
        }' >>columns
}
kind_user() { # N COMMAND...
    local own=$TEST_TMP/user$1
    env -C "$own" HOME="$own" XDG_CONFIG_HOME="$own/.config" XDG_STATE_HOME="$own/.state" \
        XDG_CACHE_HOME="$own/.cache" XDG_RUNTIME_DIR="$own/.run" "${@:2}"
}
part_kindness() {
    local column n users=()
    : >columns
    with_idle 3
    for column in 1 2; do
        sweep_of kind$column /bin/true 1,1000
        anew
        submitted kind$column
        within 120 none_is_left || exit 1
        sdiag | types_into $column
    done
    ludwig down 2>/dev/null

    for n in 1 2 3 4 5; do
        (umask 077 && mkdir -p "$TEST_TMP/user$n/.config/ludwig" "$TEST_TMP/user$n/.run")
        printf '%s\n' "scratch: $TEST_TMP/user$n/scratch" "slurm: {idle: 3s, worker: $TEST_TMP/worker}" >"$TEST_TMP/user$n/.config/ludwig/config.yaml"
        kind_user $n ludwig up 2>/dev/null || exit
        sweep_of five$n /bin/true 1,200
        mv five$n.yaml "$TEST_TMP/user$n"
    done
    anew
    for n in 1 2 3 4 5; do
        kind_user $n ludwig submit five$n.yaml --wait >/dev/null 2>"five$n.err" &
        users+=($!)
    done
    for n in 1 2 3 4 5; do
        wait "${users[n - 1]}" || { cat "five$n.err" >&2 && exit 1; }
    done
    within 120 none_goes_on || exit 1
    sdiag | types_into 4
    for n in 1 2 3 4 5; do
        kind_user $n ludwig down 2>/dev/null
    done

    wait_idle
    types_into 3 <idle.sdiag

    echo "| call of slurmctld | 1,000 jobs, the first of a ludwigd | 1,000 jobs, later | $idle_s s of 4 pending pilots | five users, 200 jobs each |"
    echo '|---|---|---|---|---|'
    awk '{ n[$2, $1] = $3; all[$1] += $3; types[$2] }
        END {
            for (type in types)
                printf "| `%s` | %d | %d | %d | %d |\n", type, n[type, 1], n[type, 2], n[type, 3], n[type, 4]
            printf "| ~all | %d | %d | %d | %d |\n", all[1], all[2], all[3], all[4]
        }' columns | sort | sed 's/| ~all |/| **all** |/'
}

printf 'load at first %s\n' "$(load)"
for part; do
    echo "# $part"
    "part_$part"
done
ludwig down 2>/dev/null || true
