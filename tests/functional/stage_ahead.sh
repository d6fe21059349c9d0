#!/bin/bash
# stage_ahead.sh - data of the job that comes next are brought while the slots are busy
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 1, gpus: 0}'
data() { # NAME
    mkdir -p "$1"
    local i
    for i in {1..200}; do echo "$1 $i" >"$1/file$i"; done
    yes "$1" | head -c 20000000 >"$1/large"
}
sweep() { # PROJECT DATA VALUE: its number
    printf '%s\n' "project: $1" 'command: sh job.sh {a}' 'source: [job.sh]' "data: [$2]" "params: {a: [$3]}" >"$1.yaml"
    submit "$1.yaml"
}
tree_of() { # NAME: its folder in the cache
    local at
    for at in "$SCRATCH"/*/cache/[0-9a-f]*; do
        [ ! -e "$at/large" ] || ! cmp -s "$at/large" "$1/large" || { echo "$at" && return; }
    done
    false
}
is_staged() { tree_of "$1" >/dev/null; }
run_and_wait() { # SWEEP SWEEP: a job of the first runs, one of the second waits
    [ "$(jobs_in running "$1")$(jobs_in queued "$2")" = 11 ]
}
holds() { # so many at least
    ludwig nodes --json | json - "d['nodes'][0]['held'] >= $1"
}
started() { [ "$(recorded "^start $1.1 ")" = 1 ]; }
log() { cat "$XDG_STATE_HOME"/ludwig/*.log; }
staged() { # HOW NAME
    log | grep "info $1 .*tree=$(basename "$(tree_of "$2")")"
}

for name in data1 data2 data3 data4 data5; do data $name; done
write_job 'set -e' 'gate $1' '[ $(wc -c <$(echo $LUDWIG_DATA/*/large)) = 20000000 ]'

it 'while a job runs the data of the next one come, and it starts with them' '
    first=$(sweep one data1 first)
    wait_until 20 started $first
    second=$(sweep two data2 second)
    wait_until 20 is_staged data2
    wait_until 10 run_and_wait $first $second
    wait_until 5 staged staged-ahead data2
    wait_until 10 holds 3
    open first && open second
    wait_until 20 ended $second
    [ "$(jobs_in "done" $first)$(jobs_in "done" $second)" = 11 ]
    not staged staged data2 # again
    nothing_left
'

it 'what a job runs with stays, though there is no room for what comes next' '
    ludwig down && wait_until 10 "[ -z \"\$(pids_of ludwigd)\$(pids_of ludwig-worker)\" ]"
    configure "resources: {cpus: 1, gpus: 0}" "cache_size: 30M"
    third=$(sweep three data3 third)
    wait_until 20 started $third
    not is_staged data1 && not is_staged data2
    fourth=$(sweep four data4 fourth)
    wait_until 20 "log | grep \"not-staged-ahead project=four\""
    is_staged data3 && not is_staged data4
    open third && open fourth
    wait_until 20 ended $fourth
    [ "$(jobs_in "done" $third)$(jobs_in "done" $fourth)" = 11 ]
    is_staged data4 && not is_staged data3
    nothing_left
'

it 'after a kill -9 of all it is brought all the same' '
    ludwig down && wait_until 10 "[ -z \"\$(pids_of ludwigd)\$(pids_of ludwig-worker)\" ]"
    configure "resources: {cpus: 1, gpus: 0}"
    fifth=$(sweep five data4 fifth)
    wait_until 20 started $fifth
    sixth=$(sweep six data5 sixth)
    wait_until 20 is_staged data5
    kill_hard $(agents) $(pids_of ludwigd) $(pids_of --stager)
    chmod -R u+w "$(tree_of data5)" && rm -r "$(tree_of data5)"
    ludwig_wait up
    wait_until 20 is_staged data5
    wait_until 10 run_and_wait $fifth $sixth
    open fifth && open sixth
    wait_until 30 ended $sixth
    [ "$(jobs_in "done" $fifth)$(jobs_in "done" $sixth)" = 11 ]
    nothing_left
'

done_testing
