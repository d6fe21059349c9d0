#!/bin/bash
# environment_stage.sh - an environment that is staged is there on nodes that do not have it
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0}'
mkdir "$TEST_TMP/mine"
venv=$TEST_TMP/mine/deep/.venv
python3 -m venv --without-pip "$venv" || exit 1
packages=$(echo "$venv"/lib/python3*/site-packages)
mkdir "$packages/brought"
echo 'value = 42' >"$packages/brought/__init__.py"
"$venv/bin/python" -c "import compileall; compileall.compile_dir('$packages', quiet=1)"
printf '#!%s/bin/python\nimport brought\nprint(__file__, brought.value)\n' "$venv" >"$venv/bin/tool"
chmod +x "$venv/bin/tool"
cat >see.py <<'END'
import json, os, sys
import brought
seen = {
    "prefix": sys.prefix, "value": brought.value, "file": brought.__file__, "uid": os.getuid(),
    "groups": len(os.getgroups()), "cwd": os.getcwd(), "venv": os.environ["VIRTUAL_ENV"],
    "compiled": os.path.getmtime(brought.__file__) == int.from_bytes(open(brought.__cached__, "rb").read(12)[8:], "little"),
}
json.dump(seen, open(os.environ["LUDWIG_SAVE_PATH"] + "/seen.json", "w"))
END
write_job 'say "began $1"' '[ "$1" != 1 ] || { gate moved && exit; }' 'python3 see.py' 'tool' \
    'touch "$VIRTUAL_ENV/new" 2>/dev/null && say "wrote into it"'
cat >sweep.yaml <<END
project: p
command: sh job.sh {x}; exit 0
source: [job.sh, see.py]
params: {x: [1, 2]}
resources: {cpus: 2}
environment: {stage: $venv}
END

groups=$(python3 -c 'import os; print(len(os.getgroups()))')
# The second job begins when the venv is gone from this machine.
run() { # REMOVES...: what is moved away meanwhile
    local id before
    before=$(recorded "^began 1")
    rm -f "$TEST_TMP/gates/moved"
    id=$(ludwig submit sweep.yaml --reuse none 2>said)
    echo "$id" >number
    wait_until 60 '[ "$(recorded "^began 1")" -gt '"$before"' ]'
    mv "$1" "$TEST_TMP/moved"
    open moved
    ludwig_wait watch "$id" >/dev/null 2>&1 || true
    wait_until 60 ended "$id"
    mv "$TEST_TMP/moved" "$1"
}
seen() { # JOB EXPRESSION
    json "$SHARE/$(job "$(cat number).$1" 'j["run_path"]')/seen.json" "$2"
}

at_its_path() {
    grep -q "^environment: venv .*/deep/.venv, python .*, staged" said
    seen 2 "d['prefix'] == '$venv' and d['venv'] == '$venv' and d['value'] == 42"
    seen 2 "d['file'].startswith('$venv/lib/') and d['uid'] == $(id -u) and d['groups'] == $groups"
    seen 2 'd["cwd"].endswith("/work")'
    seen 2 'd["compiled"]'
    ludwig logs "$(cat number).2" | grep -qx "$venv/bin/tool 42"
    [ "$(recorded 'wrote into it')" = 0 ]
    [ ! -e "$venv/new" ]
}

if unshare -m true 2>/dev/null || unshare -U --map-current-user -m true 2>/dev/null; then
    it 'a job finds it at its own path where the folder is missing' '
        run "$venv"
        at_its_path
    '
    it 'and where the folders above it are missing too' '
        run "$TEST_TMP/mine/deep"
        at_its_path
    '
    it 'it is brought to a node once' '
        [ "$(find "$SCRATCH" -path "*/cache/*/bin/tool" | wc -l)" = 1 ]
    '
    it 'a changed one is brought anew, and does not run again what is done' '
        ludwig_wait submit sweep.yaml --wait --json >s
        [ "$(json s "d[\"reused\"]")" = 2 ]
        echo "value = 43" >"$packages/brought/__init__.py"
        ludwig_wait submit sweep.yaml --wait --json >s
        [ "$(json s "d[\"reused\"]")" = 2 ]
        echo "value = 42" >"$packages/brought/__init__.py"
    '
else
    skip 'a job finds it at its own path where the folder is missing' 'no mount namespaces here'
fi

base_missing() {
    python3 -m venv --without-pip "$TEST_TMP/other"
    mkdir "$TEST_TMP/base"
    cp "$(realpath "$(command -v python3)")" "$TEST_TMP/base/python3"
    ln -sf "$TEST_TMP/base/python3" "$TEST_TMP/other/bin/python3"
    printf '%s\n' 'project: base' 'command: sh job.sh {x}' 'source: job.sh' 'params: {x: [1, 2]}' \
        'resources: {cpus: 2}' "environment: {stage: $TEST_TMP/other}" >base.yaml
    write_job "[ \$1 = 2 ] || mv $TEST_TMP/base $TEST_TMP/based"
    not ludwig_wait submit base.yaml --wait >number 2>/dev/null
    ludwig why "$(cat number).2" |
        grep -q "the environment $TEST_TMP/other needs $TEST_TMP/base/python3, which .* does not have"
    [ "$(job "$(cat number).2" 'j["cause"]')" = environment ]
}
it 'where its interpreter is missing, why names that' base_missing

# As root of a user namespace in which no more of them can be made.
off() { # COMMAND...
    unshare -Ur bash -c 'echo 0 >/proc/sys/user/max_user_namespaces &&
        echo 0 >/proc/sys/user/max_mnt_namespaces && exec "$@"' off "$@"
}
relocated() {
    local id
    ludwig down
    write_job 'python3 see.py' 'tool'
    off bash -c 'ludwig submit sweep.yaml --wait --reuse none >number && ludwig down'
    id=$(cat number)
    ludwig up
    ludwig logs "$id.1" | grep -q "^ludwig: .* cannot show the environment at its own path (.*); it is at "
    ludwig logs "$id.1" | grep -qx "$SCRATCH/.*/run/.*/environment/bin/tool 42"
    seen 1 'd["prefix"].endswith("/environment") and d["venv"] == d["prefix"] and d["value"] == 42'
}
if off true 2>/dev/null; then
    it 'where namespaces are off it is relocated, and the log says so' relocated
else
    skip 'where namespaces are off it is relocated' 'no user namespaces here'
fi

done_testing
