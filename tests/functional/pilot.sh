# pilot.sh - a ludwigd without workers, and pilots that a test submits itself; sourced after slurm.sh
#
# JOB is a pilot's Slurm job.
#
#     pilots_begin               start ludwigd; sets $LUDWIG_SERVER to its address
#     pilot OPTION_OF_SBATCH... -- OPTION_OF_PILOT...    submit a pilot, and print its Slurm job
#     pilot_log JOB              print the pilot's output
#     agent_of JOB               print the pid of the pilot's agent
#     kill_pilot JOB             kill -9 all processes of the pilot at once
#     folders_of JOB             list the folders that the pilot has left on the node
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

# The pilot gets two addresses of ludwigd, the first of which does not exist.
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

# One kill for all, so that no process sees another one die.  SLURM_CONF tells this cluster's job from a
# job of another cluster with the same number.
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
