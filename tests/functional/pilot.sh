# pilot.sh - a ludwigd without workers, and pilots that a test submits itself; sourced after slurm.sh
#
#     pilots_begin               start ludwigd; $LUDWIG_SERVER leads to it
#     pilot OPTION_OF_SBATCH... -- OPTION_OF_PILOT...    submit one, and print the job
#     pilot_log JOB              what it has said
#     agent_of JOB               the pid of its agent
#     kill_pilot JOB             all of its processes, at once
#     folders_of JOB             its folders on the node, if there are any left
set -u

pilots_begin() {
    mkdir -p "$SHARE"
    mkdir -m 0700 "$TEST_TMP/state" "$TEST_TMP/sock"
    printf '%s\n' "share: $SHARE" "state: $TEST_TMP/state" "sockets: [$TEST_TMP/sock/s]" 'lease: 20s' >ludwigd.yaml
    ludwigd --config ludwigd.yaml 2>"$TEST_TMP/ludwigd.log" &
    disown
    export LUDWIG_SERVER=unix:$TEST_TMP/sock/s
    serves "$TEST_TMP/ludwigd.log" [ -S "$TEST_TMP/sock/s" ]
}

# The first address leads nowhere.
pilot() {
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    printf '#!/bin/sh\nexec %s/ludwig-worker pilot --server unix:%s %s\n' "$LUDWIG_BIN" \
        "$TEST_TMP/none,$LUDWIG_SERVER" "$*" >pilot.sh
    sbatch --parsable --no-requeue --mem=2000 -o "$TEST_TMP/pilot.%j" "${options[@]}" pilot.sh
}

pilot_log() { # JOB
    cat "$TEST_TMP/pilot.$1"
}

agent_of() { # JOB
    local pid
    for pid in $(pids_of --pilot-agent); do
        tr '\0' '\n' <"/proc/$pid/environ" | grep -qx "SLURM_JOB_ID=$1" && echo "$pid"
    done
}

# In one go: none has the time to notice.  Other clusters have jobs of that number, too.
kill_pilot() { # JOB
    local pid found=() processes=/proc/[0-9]*
    for pid in $processes; do
        [ "$(tr '\0' '\n' <"$pid/environ" 2>/dev/null | grep -cxF -e "SLURM_JOB_ID=$1" -e "SLURM_CONF=$SLURM_CONF")" != 2 ] ||
            found+=("${pid#/proc/}")
    done
    kill -KILL "${found[@]}"
}

folders_of() { # JOB
    find "$TMPDIR" "$XDG_STATE_HOME" -path "*slurm-$1*" -prune
}
