#!/bin/bash
# race.sh - configurations that others beat for sure get no more replications
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 4, gpus: 0}'

write_job 'echo "{\"loss\": $1.$(((LUDWIG_REP * 7 + $1 * 3) % 5))}" >>"$LUDWIG_METRICS"' 'sleep 0.$2'

sweep() { # PROJECT REPS LINE...
    printf '%s\n' "project: $1" 'source: job.sh' 'command: sh job.sh {base} {pause}' "reps: $2" \
        'results: {metric: loss, goal: min}' 'params: {base: {range: [1, 10]}, pause: 8}' "${@:3}" >"$1.yaml"
}

done_of() { # ID CONFIGURATION: how many of its replications are done
    ludwig jobs "$1" --json | json - "sum(j['params']['base'] == $2 and j['state'] == 'done' for j in d['jobs'])"
}

races() {
    sweep r '{max: 8, race: 2}'
    ludwig submit r.yaml --dry-run | grep -q '^stopped  *after 2 replications what is for sure not among the best 1 by loss; that is likely to save a third to two thirds of the hours$'
    ludwig_wait submit r.yaml --wait >id 2>err
    id=$(cat id)
    cat err
    ludwig results "$id" | tee table
    grep -q 'jobs were stopped early (' table
    not grep -q '^stopped  ' table # they were not begun, and left nothing
    [ "$(sweep_state "$id")" = "done" ]
    [ "$(done_of "$id" 1)" = 8 ]
    # The last one runs twice in any case, and what ran or was staged at the decision goes on.
    [ "$(done_of "$id" 10)" -ge 2 ]
    [ "$(jobs_in stopped "$id")" -ge 40 ]
    [ "$(($(jobs_in stopped "$id") + $(jobs_in "done" "$id")))" = 80 ]
    [ "$(published r | wc -l)" = "$(jobs_in "done" "$id")" ]
    ludwig why "$id.80" >why
    cat why
    grep -q '^  it was not begun: it is behind number 1 by [0-9.]* on average over [2-9] shared replications (p = .*)$' why
    grep -q "^  ludwig retry --stopped $id.80 runs it" why
    # No configuration had its second replication before all others had their first.
    ludwig jobs "$id" --json | json - 'max(j["started_at"] for j in d["jobs"] if j["rep"] == 0) <= min(j["started_at"] for j in d["jobs"] if j["rep"] == 2 and j["started_at"])'
}
it 'what is behind for sure gets no more replications, and why says by how much' races

again() {
    id=1
    # What was dropped stays dropped, and takes no slot.
    ludwig_wait submit r.yaml --wait >second 2>err
    ludwig status "$(cat second)" --json | json - 'd["reused"] == 80 and sum(d["jobs"].values()) == 0'
    ludwig retry "$id.80" --stopped 2>err
    wait_until 60 '[ "$(job "$id.80" "j[\"state\"]")" = "done" ]'
}
it 'a resubmit runs nothing; retry --stopped runs what was dropped' again

killed() {
    sweep k '{max: 8, race: 2, best: 2}' 'retry: {max: 5, on: [node-lost]}'
    sed -i 's/pause: 8/pause: 9/' k.yaml
    id=$(submit k.yaml)
    for i in 1 2 3 4; do
        sleep 1
        kill_hard ludwigd
        # shellcheck disable=SC2046 # one word each
        [ $i = 2 ] || kill_hard $(agents)
        ludwig_wait up
    done
    wait_until 200 ended "$id"
    ludwig results "$id"
    [ "$(($(jobs_in stopped "$id") + $(jobs_in "done" "$id")))" = 80 ]
    [ "$(done_of "$id" 1) $(done_of "$id" 2)" = '8 8' ]
    [ "$(jobs_in stopped "$id")" -ge 30 ]
    [ "$(published k | wc -l)" = "$(jobs_in "done" "$id")" ]
}
it 'ludwigd and agents may be killed meanwhile' killed

done_testing
