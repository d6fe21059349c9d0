#!/usr/bin/env bash
# slurm_search.sh - a search with an advisor and a stop rule on pilots, whose agents are killed, as are advisor and ludwigd
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/slurm.sh"
. "$TEST_ROOT/tests/functional/search_kills.sh"
slurm_possible || { skip 'a search on pilots' "$slurm_lacks" && done_testing; }
slurm_up
configure 'slurm: {idle: 5s, partitions: {short: {max_pilots: 1}}}' 'resources: {cpus: 2}'

# Pilots of ludwigd's know of no test.  A pilot whose agent is killed ends, and the next one is asked for.
pilot_agents() {
    local process
    for process in /proc/[0-9]*; do
        if grep -qzxF -e --pilot-agent "$process/cmdline" && grep -qzxF "SLURM_CONF=$SLURM_CONF" "$process/environ"; then
            echo "${process#/proc/}"
        fi
    done 2>/dev/null
}
search_agents=pilot_agents
search_patience=2s

killed() {
    search_table
    # Without a worker nobody could be asked: the first configurations are random ones, and send for a pilot.
    search_file 'nodes: []' 'slurm: {partition: short}' 'resources: {cpus: 1, memory: 100MiB, time: 5min}' \
        'retry: {max: 9, on: [node-lost]}'
    id=$(submit search.yaml)
    search_storm "$id"
    wait_until 400 "[ \"\$(sweep_state $id)\" = done ]"
    search_exact "$id"
}
it 'a search on pilots through kills of advisor, agent and ludwigd' killed

done_testing
