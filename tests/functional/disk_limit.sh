#!/bin/bash
# shellcheck disable=SC2016 # shell text for wait_until and for jobs
# disk_limit.sh - a job whose files take more than `resources: {disk}` is ended; others are not
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 4, gpus: 0}'
limited() { # PROJECT DISK LINE...
    write_job "${@:3}"
    printf '%s\n' "project: $1" 'command: sh job.sh' 'source: job.sh' "resources: {cpus: 1, disk: $2}" >sweep.yaml
    sweep=$(submit sweep.yaml)
    wait_until 60 ended "$sweep"
}
reason() {
    job "$sweep.1" 'j["reason"] or "-"'
}

many_files() {
    # Each within the limit; together in the work folder, among the results and for the next attempt.
    limited many 3MiB 'for d in . "$LUDWIG_SAVE_PATH" "$LUDWIG_CHECKPOINT" "$TMPDIR"; do' \
        'head -c 1048576 /dev/urandom >$d/part; done' 'gate never'
    [ "$(sweep_state "$sweep")" = failed ]
    reason | grep -E '^out of disk: its files take 4[.0-9]* MiB of 3 MiB \(resources: disk\)'
}
it 'files in all its folders count together' many_files

one_file() {
    limited one 2MiB 'head -c 10485760 /dev/zero >big; echo "code $?" >"$LUDWIG_SAVE_PATH/said"' 'ls -s big'
    [ "$(cat "$SHARE"/one/runs/*/*/said)" = 'code 153' ] # SIGXFSZ
    [ "$(sweep_state "$sweep")" = done ]
}
it 'no file gets larger' one_file

its_log() {
    # Neither is too large alone.
    limited log 1MiB 'yes | head -c 700000' 'head -c 700000 /dev/urandom >part' 'gate never2'
    [ "$(sweep_state "$sweep")" = failed ]
    reason | grep 'out of disk'
}
it 'its log counts, too' its_log

small() {
    limited within 8MiB 'head -c 1000000 /dev/urandom >a' 'truncate -s 7M hole && cp --sparse=always hole hole2' \
        'mkdir -p deep/er && cp a deep/er' 'sleep 2.5' 'echo fine >"$LUDWIG_SAVE_PATH/out"'
    [ "$(sweep_state "$sweep")" = done ]
}
it 'what is within the limit is left alone, and holes take nothing' small

by_the_node() {
    ludwig down
    configure 'resources: {cpus: 4, gpus: 0}'
    ludwig up
    sed -i '/^disk_per_job/d' "$XDG_STATE_HOME/ludwig/worker.yaml"
    echo 'disk_per_job: 2MiB' >>"$XDG_STATE_HOME/ludwig/worker.yaml"
    kill_hard $(agents)
    wait_until 20 '[ -z "$(agents)" ]'
    ludwig-worker --config "$XDG_STATE_HOME/ludwig/worker.yaml" 2>>"$TEST_TMP/worker.log" &
    limited node 100GiB 'i=0; while :; do head -c 1000000 /dev/urandom >$i; i=$((i + 1)); sleep 0.2; done'
    [ "$(sweep_state "$sweep")" = failed ]
    reason | grep -E 'out of disk: .* of 2 MiB'
}
it 'a node may allow less than a job asks for' by_the_node

done_testing
