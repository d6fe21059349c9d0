#!/bin/bash
# environment.sh - jobs run in the environment that is active at submit, or that the sweep file names
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0}'
for name in a b; do
    python3 -m venv --without-pip "$TEST_TMP/$name" || exit 1
done
version=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
printf '%s\n' 'import sys' 'print(sys.prefix)' >where.py

sweep() { # LINE...: more of, or instead of, the usual
    printf '%s\n' "$@" >sweep.yaml
    local line
    for line in 'project: p' 'command: python3 where.py' 'source: where.py'; do
        grep -q "^${line%%:*}:" sweep.yaml || echo "$line" >>sweep.yaml
    done
}
# Submits from a shell in which that is active, and waits; the sweep's number is in "number".
submit_in() { # VENV|- ARGUMENT...
    local venv=$1
    shift
    # shellcheck disable=SC1091 # it was made above
    (
        [ "$venv" = - ] || . "$TEST_TMP/$venv/bin/activate"
        ludwig_wait submit sweep.yaml --wait --reuse none "$@"
    ) >number 2>said
}
log() {
    ludwig logs "$(cat number).1"
}

two_shells() {
    sweep
    submit_in a
    grep -qx "environment: venv .*/a, python $version" said
    [ "$(log)" = "$TEST_TMP/a" ]
    submit_in b
    [ "$(log)" = "$TEST_TMP/b" ]
}
it 'each of two submits from two venvs runs in its own' two_shells

it 'and one from a shell without any in none, though a venv was active when the worker was started' '
    sweep
    submit_in -
    not grep "^environment" said
    [ "$(log)" = "$(env -i PATH="$PATH" python3 -c "import sys; print(sys.prefix)")" ]
'

it 'environment: none gives the node'\''s own, though a venv is active' '
    sweep "environment: none"
    submit_in b
    not grep "^environment" said
    [ "$(log)" = "$(env -i PATH="$PATH" python3 -c "import sys; print(sys.prefix)")" ]
'

it 'environment: names a folder, relative to the sweep file' '
    ln -s "$TEST_TMP/b" .venv
    sweep "environment: .venv"
    submit_in a
    [ "$(log)" = "$PWD/.venv" ]
    sweep "environment: $TEST_TMP/b"
    submit_in a
    [ "$(log)" = "$TEST_TMP/b" ]
'

it 'one that is there and not active is said' '
    sweep
    submit_in -
    grep -q "^note: no environment is active.*environment: .venv in the file takes the one here" said
    rm .venv
'

it 'a Python of a venv submits for its own, active or not' '
    sweep
    PYTHONPATH=$TEST_ROOT/client/python "$TEST_TMP/a/bin/python" -c "
import ludwig
print(ludwig.Client().run(\"submit\", \"sweep.yaml\", \"--wait\", \"--reuse\", \"none\"))" >number
    [ "$(log)" = "$TEST_TMP/a" ]
'

it 'job.json has it' '
    sweep
    submit_in a
    json "$SHARE/$(job "$(cat number).1" "j[\"run_path\"]")/job.json" \
        "d[\"environment\"] == {\"kind\": \"venv\", \"path\": \"$TEST_TMP/a\", \"python\": \"$version\",
            \"staged\": False, \"modules\": []}"
'

it 'it reaches setup: and the processes of batches, too' '
    sweep "setup: python3 where.py"
    submit_in b
    [ "$(log)" = "$TEST_TMP/b"$'\''\n'\''"$TEST_TMP/b" ]
    printf "%s\n" "import json, os, subprocess, sys" "for j in json.load(open(os.environ[\"LUDWIG_CHUNK\"].replace(\"msgpack\", \"json\"))):" \
        "    print(sys.prefix, flush=True)" \
        "    subprocess.run([\"ludwig\", \"report\", \"--job\", j[\"job\"], \"--done\"], check=True)" >batch.py
    sweep "command: python3 batch.py" "source: batch.py" "params: {x: [1, 2]}" "batch: 2"
    submit_in b
    # Which log a line gets into that is printed right after a report is a matter of luck.
    [ "$({ log && ludwig logs "$(cat number).2"; } | grep -cx "$TEST_TMP/b")" = 2 ]
'

missing() {
    sweep "environment: $TEST_TMP/gone"
    not submit_in -
    ludwig why "$(cat number).1" | grep -q "the sweep names the environment $TEST_TMP/gone; .* does not have it"
    [ "$(job "$(cat number).1" 'j["cause"]')" = environment ]
    [ "$(job "$(cat number).1" 'j["attempt"]')" = 1 ]
    [ "$(log | wc -l)" = 1 ]
    log | grep -q "^ludwig: the sweep names the environment"
}
it 'where it is not on the node the job is not begun, and why says so' missing

was_active() { # the first job removes it
    python3 -m venv --without-pip "$TEST_TMP/gone"
    # shellcheck disable=SC2016 # for the job
    sweep 'command: rm -r "$VIRTUAL_ENV"' 'source: []' 'params: {x: [1, 2]}' 'resources: {cpus: 2}'
    not submit_in gone
    [ "$(jobs_in done "$(cat number)")" = 1 ]
    ludwig why "$(cat number).2" |
        grep -q "the environment $TEST_TMP/gone was active when you submitted; .* does not have it"
}
it 'so it does when the environment was active' was_active

base_missing() {
    python3 -m venv --without-pip "$TEST_TMP/old"
    rm "$TEST_TMP/old/bin/python3"
    ln -s /usr/bin/python0.9 "$TEST_TMP/old/bin/python3"
    sweep
    not submit_in old
    ludwig why "$(cat number).1" | grep -q "old needs an interpreter that .* does not have: /usr/bin/python0.9"
}
it 'where its interpreter is not there, why names that' base_missing

it 'a line of setup: that fails ends the job before its command' '
    sweep "setup: [source nowhere/bin/activate]"
    not submit_in -
    [ "$(job "$(cat number).1" "j[\"reason\"]")" = \
        "setup: source nowhere/bin/activate ended it with exit code 1, so the command was not run" ]
    [ "$(log | tail -n 1)" = "ludwig: $(job "$(cat number).1" "j[\"reason\"]")" ]
'

dry_run() {
    sweep
    # shellcheck disable=SC1091 # it was made above
    (. "$TEST_TMP/a/bin/activate" && ludwig submit sweep.yaml --dry-run) | grep -qx "runs in   venv .*/a, python $version"
    # shellcheck disable=SC1091 # it was made above
    (. "$TEST_TMP/a/bin/activate" && ludwig submit sweep.yaml --dry-run --json) |
        json - "d['environment'].startswith('venv ') and d['environment'].endswith('/a, python $version')"
    ludwig submit sweep.yaml --dry-run | grep -qx "runs in   the node's own"
    sweep "environment: /no/such/venv"
    ludwig submit sweep.yaml --dry-run | grep -q "^runs in .*(the environment /no/such/venv is not on this machine)"
}
it '--dry-run shows it, and says where it is not on this machine' dry_run

it 'a job that is done is not done again in another one, unless that decides' '
    runs() { # QUEUED VENV
        (. "$TEST_TMP/$2/bin/activate" && ludwig_wait submit sweep.yaml --wait --json) >s 2>said
        [ "$(json s "d[\"queued\"]")" = "$1" ]
    }
    sweep "project: again"
    runs 1 a
    runs 0 b
    sweep "project: again" "environment: {decides: true}"
    runs 1 a
    grep -q "but in another environment (venv .*/a, python .*, which did not decide then);" said
    runs 0 a
    (. "$TEST_TMP/b/bin/activate" && ludwig submit sweep.yaml --dry-run) | grep -q "source, data or environment; --reuse params"
    runs 1 b
    grep -qx "note: 1 of its jobs finished earlier with the same parameters but in another environment \
(venv $TEST_TMP/a, python $version); --reuse params accepts it" said
    json s "d[\"done_in\"] == \"venv $TEST_TMP/a, python $version\""
    sweep "project: again" "environment: {decides: true}" "command: python3 where.py again"
    runs 1 b
    grep -q "but a different command, source or data; --reuse" said
'

done_testing
