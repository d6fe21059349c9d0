#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# man.sh - the examples of the manual pages, as a reader would type them
. "$(dirname "$0")/lib.sh"

man=$TEST_ROOT/docs/man

# Writes the literal blocks of a section of a page to PREFIX.1, PREFIX.2, ...
blocks() { # PAGE SECTION PREFIX
    awk -v section="$2" -v prefix="$3" '
        /^\.Sh / { inside = $0 == ".Sh " section }
        /^\.Ed/ { taking = 0; close(file) }
        taking { gsub(/\\\(dq/, "\""); gsub(/\\e/, "\\"); print >file }
        /^\.Bd -literal/ && inside { file = prefix "." ++n; taking = 1 }' "$man/$1"
    ls "$3".* >/dev/null
}

# The programs are the manual's as well.
write_programs() {
    blocks ludwig-sweep.5 'WHAT A JOB SEES' train
    blocks ludwig-sweep.5 BATCHES run
    cp "$(grep -l ^import train.[0-9])" train.py
    cp "$(grep -l ^import run.[0-9])" run.py
    rm train.[0-9] run.[0-9]
}

# A sweep file of the manual, its first configuration run to its end.
runs_well() { # FILE
    cp "$1" sweep.yaml
    ludwig submit sweep.yaml --dry-run >dry
    sweep=$(submit sweep.yaml --first-only --wait)
    [ "$(sweep_state "$sweep")" = done ]
    ludwig results "$sweep" --json | json - 'd["results"][0]["metrics"]["accuracy"]["n"] == 1'
}

sweeps_run() { # SECTION
    mkdir -p sweep && cd sweep
    write_programs
    blocks ludwig-sweep.5 "$1" ../yaml
    n=0
    for file in ../yaml.*; do
        grep -q '^command:' "$file" || continue
        runs_well "$file" || { echo "not well: $(cat "$file")"; exit 1; }
        n=$((n + 1))
    done
    [ $n -gt 0 ]
}

configure 'resources: {cpus: 2, memory: 4GiB}'
it 'the first sweep file of the manual runs' 'sweeps_run DESCRIPTION'
it 'every example of a sweep file runs' 'sweeps_run EXAMPLES'

# The lines of a section of ludwig(1), one after the other, in a project of their own.
commands_run() { # SECTION
    cp -r "$TEST_ROOT/examples/digits" "$1" && cd "$1"
    sed -i "s/^project: .*/project: $1/; s/epochs: 20/epochs: 2/" sweep.yaml
    blocks ludwig.1 "$1" lines
    cat lines.* >all
    while read -r line; do
        eval "$line" >>out 2>&1 || { cat out; echo "failed: $line"; exit 1; }
    done <all
    grep -q param_ out
}

it 'the first commands of ludwig(1) work' 'commands_run DESCRIPTION'
it 'the examples of ludwig(1) work' 'commands_run EXAMPLES'

it 'the configuration of ludwig-config(5) is accepted' '
    blocks ludwig-config.5 CONFIG.YAML config
    mkdir -p other/ludwig && cp config.1 other/ludwig/config.yaml
    XDG_CONFIG_HOME=$PWD/other ludwig version
    XDG_CONFIG_HOME=$PWD/other ludwig status
'

it 'ludwigd and ludwig-worker run with the examples of ludwig-config(5)' '
    mkdir lab
    blocks ludwig-config.5 LUDWIGD.YAML server
    blocks ludwig-config.5 WORKER.YAML worker
    for name in server worker; do
        sed "s|/srv/research_data|$PWD/lab/share|; s|/var/lib|$PWD/lab|; s|/processing|$PWD/lab|; s|^share_group: .*|share_group: $(id -gn)|" \
            $name.1 >lab/$name.yaml
        echo "state: $PWD/lab/$name" | grep -v server >>lab/$name.yaml || true
    done
    echo "sockets: [$PWD/lab/share/.ludwig/server.sock]" >>lab/server.yaml
    ludwigd --config lab/server.yaml 2>lab/server.log &
    wait_until 10 "test -S lab/share/.ludwig/server.sock"
    ludwig-worker --config lab/worker.yaml 2>lab/worker.log &
    export LUDWIG_SERVER=unix:$PWD/lab/share/.ludwig/server.sock
    wait_until 20 "ludwig nodes --json | grep -q up"
'

# Each test that the page names is there, with that case.
security() {
    local named=0 name case
    while IFS=$'\t' read -r name case; do
        named=$((named + 1))
        sed "s/'\\\\''/'/g" "$TEST_ROOT/tests/functional/$name.sh" |
            sed -nE "s/^ *it '(.*)' .*/\1/p; s/^ *it \"(.*)\" .*/\1/p" | grep -qxF "$case" || { echo "$name: no $case" && return 1; }
    done < <(sed -nE 's/^  Test: ([a-z_]+), "(.*)"\.$/\1\t\2/p' "$TEST_ROOT/docs/security.md")
    [ $named -gt 20 ]
    [ $named = "$(grep -c '^  Test: ' "$TEST_ROOT/docs/security.md")" ]
}
it 'what docs/security.md promises has a test of that name' security

done_testing
