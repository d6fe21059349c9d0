#!/bin/bash
# environment_build.sh - each node builds an environment once, from requirements.txt, uv.lock or environment.yml
. "$(dirname "$0")/lib.sh"

python=$(python_with venv,ensurepip) || {
    skip 'an environment is built' 'no python3 here has venv and ensurepip'
    done_testing
}
# What workers find in PATH: an interpreter that writes down what it is called for, and tools that are made up.
mkdir "$TEST_TMP/bin"
export PATH=$TEST_TMP/bin:$PATH
cat >"$TEST_TMP/bin/python3.test" <<END
#!/bin/sh
case "\$*" in *'-m venv'*)
    echo built >>$TEST_TMP/built
    [ ! -e $TEST_TMP/slow ] || { touch $TEST_TMP/begun; until [ -e $TEST_TMP/gates/build ]; do sleep 0.3; done; } ;;
esac
exec $python "\$@"
END
chmod +x "$TEST_TMP/bin/python3.test"
touch "$TEST_TMP/built"
builds() { wc -l <"$TEST_TMP/built"; }

configure 'resources: {cpus: 2, gpus: 0}'
wheel() { python3 -S "$TEST_ROOT/tests/functional/wheel.py" "$@"; }
wheel wheels brought 1.0
wheel wheels brought 2.0
printf '%s\n' '--no-index' '--find-links wheels' '-r base.txt' >requirements.txt
echo 'brought==1.0' >base.txt
cat >see.py <<'END'
import json, os, sys
import brought
json.dump({"prefix": sys.prefix, "value": brought.value, "venv": os.environ["VIRTUAL_ENV"],
           "compiled": os.path.exists(brought.__cached__)},
          open(os.environ["LUDWIG_SAVE_PATH"] + "/seen.json", "w"))
END

# Writes sweep.yaml: these lines, and the usual for what they do not say.
sweep() { # LINE...
    printf '%s\n' "$@" >sweep.yaml
    local line
    # shellcheck disable=SC2016 # for the job
    for line in 'project: p' 'command: python3 see.py; brought-tool; ! touch "$VIRTUAL_ENV/new"' 'source: see.py' \
        'params: {x: [1, 2, 3]}' 'environment: {requirements: requirements.txt, python: python3.test}'; do
        grep -q "^${line%%:*}:" sweep.yaml || echo "$line" >>sweep.yaml
    done
}
# Submits and waits; the sweep's number is in "number".
run() {
    ludwig_wait submit sweep.yaml --wait --reuse none >number 2>said
}
seen() { # JOB EXPRESSION
    json "$SHARE/$(job "$(cat number).$1" 'j["run_path"]')/seen.json" "$2"
}

first() {
    sweep
    run
    grep -qx "environment: requirements.txt, built once on each node by pip with python3.test" said
    for i in 1 2 3; do
        seen $i 'd["value"] == "1.0" and d["prefix"] == d["venv"] and d["compiled"]'
        ludwig logs "$(cat number).$i" | grep -qx "tool 1.0 $SCRATCH/.*/cache/[0-9a-f]*"
    done
    [ "$(builds)" = 1 ]
    json "$SHARE/$(job "$(cat number).1" 'j["run_path"]')/job.json" \
        "d['environment'] == {'kind': 'venv', 'path': None, 'python': None, 'staged': False, 'modules': [],
            'built_by': 'pip', 'file': 'requirements.txt'}"
}
it 'jobs that begin together run in one environment, which is built for the first of them' first

it 'other sweeps use it, also of another project and after a restart of the worker' '
    sweep "project: q"
    run
    ludwig down
    sweep
    run
    [ "$(builds)" = 1 ]
'

it 'other files that it is built from and other options make another one' '
    echo "brought==2.0" >base.txt
    sweep "environment: {requirements: requirements.txt, python: python3.test, options: [--no-compile]}"
    run
    [ "$(builds)" = 2 ]
    seen 1 "d[\"value\"] == \"2.0\" and not d[\"compiled\"]"
    echo "brought==1.0" >base.txt
    sweep
    run
    [ "$(builds)" = 2 ]
'

it 'so does an interpreter of the same name that leads elsewhere' '
    mv "$TEST_TMP/bin/python3.test" "$TEST_TMP/bin/python3.moved"
    ln -s python3.moved "$TEST_TMP/bin/python3.test"
    run
    [ "$(builds)" = 3 ]
'

it '--dry-run shows it, and what goes along' '
    ludwig submit sweep.yaml --dry-run >out
    grep -qx "runs in   requirements.txt, built once on each node by pip with python3.test" out
    grep -q "^data *environment: 4 files, " out
'

fails() {
    sweep 'environment: {requirements: missing.txt}'
    printf '%s\n' '--no-index' 'nowhere==3' >missing.txt
    not run
    ludwig why "$(cat number).1" >out
    grep -q 'could not build the environment of missing.txt: ERROR: No matching distribution found for nowhere==3' out
    [ "$(job "$(cat number).1" 'j["cause"]')" = environment ]
    [ "$(job "$(cat number).1" 'j["attempt"]')" = 1 ]
    ludwig logs "$(cat number).1" | grep -q '^ERROR: Could not find a version that satisfies the requirement nowhere==3'
    [ "$(jobs_in failed "$(cat number)")" = 3 ]
}
it 'one that pip cannot build ends the jobs before their first try, with the last line of pip' fails

it 'what is built from outside, and what only this machine has, is refused with the line' '
    mkdir -p sub
    echo "--find-links ../../wheels" >sub/out.txt
    echo "-e ." >edit.txt
    echo "-r nothere.txt" >gone.txt
    for file in sub/out edit gone; do
        sweep "environment: {requirements: $file.txt}"
        not run
        grep -q "$file.txt:1: " said
    done
    sweep "environment: {requirements: requirements.txt, stage: true}"
    not run
    grep -q "stage: it does not go with an environment that nodes build" said
'

lacks() { # KEY TEXT
    sweep "environment: {$1}"
    not run
    ludwig why "$(cat number).1" | grep -q "$2"
}
printf '%s\n' '[project]' 'name = "p"' 'version = "1"' >pyproject.toml
touch uv.lock
echo 'dependencies: [python]' >environment.yml
if ! command -v uv micromamba mamba conda >/dev/null; then
    it 'where the tool is not installed one line says so' '
        lacks "uv: uv.lock" "uv is not installed on .*, and the environment of uv.lock is built with it"
        lacks "conda: environment.yml" "micromamba mamba conda are not installed on .*, and .* is built with one"
        lacks "requirements: requirements.txt, python: python0.9" "python0.9 is not installed on .*"
    '
else
    skip 'where the tool is not installed one line says so' 'some are'
fi

# What they are called with, and what they make.
cat >"$TEST_TMP/bin/uv" <<END
#!/bin/sh
echo "uv \$* \$UV_PYTHON" >>$TEST_TMP/called
[ -e pyproject.toml ] && [ -e uv.lock ] && $python -m venv --without-pip "\$UV_PROJECT_ENVIRONMENT"
END
cat >"$TEST_TMP/bin/micromamba" <<END
#!/bin/sh
echo "micromamba \$1 \$2 \$3 \$(basename "\$7")" >>$TEST_TMP/called
[ -e "\$7" ] && mkdir -p "\$5/bin" "\$5/conda-meta" && touch "\$5/conda-meta/history"
END
tools() {
    chmod +x "$TEST_TMP/bin/uv" "$TEST_TMP/bin/micromamba"
    # shellcheck disable=SC2016 # for the job
    sweep 'environment: {uv: uv.lock, python: "3.11", options: [--no-dev]}' 'command: python3 -c "import sys; print(sys.prefix)"'
    run
    [ "$(ludwig logs "$(cat number).1")" = "$(ls -d "$SCRATCH"/*/cache/"$(basename "$(ludwig logs "$(cat number).1")")")" ]
    # shellcheck disable=SC2016 # for the job
    sweep 'environment: {conda: environment.yml}' 'command: ls "$CONDA_PREFIX/conda-meta"'
    run
    [ "$(ludwig logs "$(cat number).1")" = history ]
    grep -qx 'uv sync --frozen --no-install-workspace --no-progress --no-dev 3.11' "$TEST_TMP/called"
    grep -qx 'micromamba create -y -q environment.yml' "$TEST_TMP/called"
    [ "$(wc -l <"$TEST_TMP/called")" = 2 ]
}
it 'uv and micromamba are called as they are meant to be' tools

killed() {
    touch "$TEST_TMP/slow"
    echo 'brought==1.0 # again' >>base.txt
    sweep
    local before
    before=$(builds)
    ludwig submit sweep.yaml --reuse none >number
    wait_until 60 test -e "$TEST_TMP/begun"
    ludwig why "$(cat number).1" | grep -q "its data are being brought to .*, or its environment is being built there"
    kill_hard "$(pids_of ludwig-stager)"
    # What the first build has left would wait for ever.
    rm "$TEST_TMP/slow"
    wait_until 60 ended "$(cat number)"
    [ "$(jobs_in done "$(cat number)")" = 3 ]
    [ "$(builds)" = $((before + 2)) ]
    [ -z "$(pids_of python3.test)" ]
}
it 'a build that is killed is begun anew, and nothing of it is taken' killed

it 'one that was damaged is built anew' '
    before=$(builds)
    tree=$(seen 1 "d[\"prefix\"]")
    rm "$tree"/lib/python*/site-packages/brought/__init__.py
    run
    seen 1 "d[\"value\"] == \"1.0\""
    [ "$(builds)" = $((before + 1)) ]
'

small() {
    # Room for one of them, and for what it is built from.
    local bytes
    bytes=$(du -sb "$(seen 1 'd["prefix"]')" | cut -f1)
    ludwig down
    configure 'resources: {cpus: 2, gpus: 0}' "cache_size: $((bytes * 3 / 2))"
    echo 'brought==1.0 # once more' >>base.txt
    run
    [ "$(find "$SCRATCH" -path '*/cache/*/bin/python' | wc -l)" = 1 ]
}
it 'the longest unused ones go when the cache is full, as data do' small

done_testing
