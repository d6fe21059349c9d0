#!/usr/bin/env bash
# slurm_plain.sh - a Slurm without accounting, and a ludwigd that nobody has configured
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/slurm.sh"
slurm_possible || { skip 'pilots without accounting' "$slurm_lacks" && done_testing; }
slurm_up
slurm_conf AccountingStorageType= AccountingStorageEnforce= AccountingStorageTRES= AccountingStorageHost= \
    AccountingStoragePort= AccountingStoragePass=
slurm_ctld stop
slurm_ctld start

# There is nobody whom these could ask.
mkdir "$TEST_TMP/bin"
for name in sacct sacctmgr; do
    printf '#!/bin/sh\necho "$0 $*" >>"%s"\nexit 1\n' "$TEST_TMP/asked" >"$TEST_TMP/bin/$name"
    chmod 755 "$TEST_TMP/bin/$name"
done
PATH=$TEST_TMP/bin:$PATH

sweep() { # NAME [LINE...]: its number
    write_job "gate $1"
    printf '%s\n' "project: $1" 'command: sh job.sh' 'params: {n: [1, 2, 3, 4]}' \
        'resources: {cpus: 1, memory: 100MiB, time: 5min}' "${@:2}" >"$1.yaml"
    submit "$1.yaml" --partition short
}

given_back() {
    local id
    id=$(sweep back)
    wait_until 90 '[ "$(recorded "^start '"$id"'[.]")" = 4 ]'
    scancel "$(squeue -h -o %A)"
    wait_until 120 '[ "$(recorded "^start '"$id"'[.]")" -ge 5 ]'
    open back
    wait_until 60 ended "$id"
    [ "$(sweep_state "$id")" = done ]
    [ "$(recorded "^end $id[.]")" = 4 ]
    job "$id.1" 'j["partition"] == "short" and j["attempt"] == 2'
}

# Nobody else would say that it has ended: half a minute, and not the lease of ten.
killed() {
    local id
    id=$(sweep killed)
    wait_until 90 '[ "$(recorded "^start '"$id"'[.]")" = 4 ]'
    slurm_node off "$(squeue -h -o %N)"
    wait_until 150 '[ "$(recorded "^start '"$id"'[.]")" -ge 5 ]'
    open killed
    wait_until 60 ended "$id"
    [ "$(sweep_state "$id")" = done ]
    [ "$(recorded "^end $id[.]")" = 4 ]
}

refused() {
    local id
    printf '%s\n' 'project: refused' 'command: "true"' 'source: []' 'slurm: {partition: short, constraint: a100}' >refused.yaml
    id=$(submit refused.yaml)
    shown_by_why 60 "$id.1" 'partition short: no pilots: .*Invalid feature specification'
    ludwig cancel "$id"
}

nobody_asked() {
    [ ! -e "$TEST_TMP/asked" ] || { cat "$TEST_TMP/asked" && return 1; }
}

it 'a pilot that was cancelled by hand gives its jobs back' given_back
it 'so does one whose node fails' killed
it 'what Slurm refuses is shown' refused
it 'nobody asks for accounts that there are not' nobody_asked
done_testing
