#!/bin/bash
# search.sh - a search with an advisor and a stop rule: advisor, agent and ludwigd are killed, nothing is lost or doubled
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/search_kills.sh"

configure 'resources: {cpus: 4, gpus: 0}'

killed() {
    search_table
    search_file 'retry: {max: 5, on: [node-lost]}'
    id=$(submit search.yaml)
    search_storm "$id"
    wait_until 240 "[ \"\$(sweep_state $id)\" = done ]"
    search_exact "$id"
}
it 'a search through kills of advisor, agent and ludwigd' killed

it 'nothing is left on scratch' nothing_left

done_testing
