#!/bin/bash
# container.sh - commands inside an image: what the runtime is told, and what the command finds
#
# Debian packages neither apptainer nor singularity: a program named apptainer stands in for
# it. It records its words, and runs the command behind the image as it would be run
# inside, with the variables and programs that the words bring there.
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 1}'

tools=$TEST_TMP/tools
mkdir "$tools" "$TEST_TMP/seen"
cat >"$tools/apptainer" <<END
#!/usr/bin/env python3
import os, subprocess, sys
words = sys.argv[1:]
with open("$TEST_TMP/seen/" + os.environ["LUDWIG_JOB"], "w") as f:
    f.write("\n".join(words) + "\n")
assert words[0] == "exec", words
at, bound, folder = 1, [], None
while words[at].startswith("--"):
    option = words[at]
    if option in ("--bind", "--mount"):
        bound.append(words[at + 1])
    elif option == "--pwd":
        folder = words[at + 1]
    else:
        assert option == "--nv", option
    at += 1 if option == "--nv" else 2
image, command = words[at], words[at + 1:]
if os.path.exists(image):
    open("$TEST_TMP/seen/image", "w").write(open(image).read())
env = {k: v for k, v in os.environ.items() if not k.startswith("APPTAINERENV_") and k != "PATH"}
env.update(IMAGES_OWN="image", LR="image")
path = ["/usr/bin", "/bin"]
for name, value in os.environ.items():
    if name == "APPTAINERENV_PREPEND_PATH":
        for b in bound:
            outside, inside = b.split(":")[:2]
            if inside.startswith(value + "/"):
                path.insert(0, os.path.dirname(outside))
    elif name.startswith("APPTAINERENV_"):
        env[name[len("APPTAINERENV_"):]] = value
env["PATH"] = ":".join(path)
sys.exit(subprocess.call(command, cwd=folder, env=env))
END
chmod +x "$tools/apptainer"

# The PATH that jobs get, where the stand-in is found.
path="env: {PATH: '$tools:/usr/bin:/bin', LR: '0.5'}"
word() { # JOB WORD
    grep -qxF -e "$2" "$TEST_TMP/seen/$1"
}

runs_inside() {
    echo 'this is the image' >image.sif
    cat >job.sh <<'END'
pwd
echo "$A $1 $LR $IMAGES_OWN"
cat "$LUDWIG_PARAM2VAL"
echo kept >"$LUDWIG_SAVE_PATH/kept"
[ -d "$LUDWIG_PROJECT_PATH" ] && [ -d "$LUDWIG_CHECKPOINT" ] && [ -d "$TMPDIR" ]
ludwig report score=2.5
END
    printf '%s\n' 'project: inside' 'container: image.sif' 'source: job.sh' 'setup: export A=prepared' \
        'command: sh job.sh {word}' "params: {word: [\"it's\"]}" "$path" >inside.yaml
    ludwig_wait submit inside.yaml --wait >id
    job "$(cat id).1" 'j["state"] == "done"'
    cmp image.sif "$TEST_TMP/seen/image"
    ludwig logs "$(cat id).1" >log
    grep -qx "prepared it's 0.5 image" log
    grep -qE "^$SCRATCH(/[^/]*)*/run/[0-9a-f]{32}/work\$" log
    [ "$(cat "$SHARE"/inside/runs/param_001/*/kept)" = kept ]
    ludwig results "$(cat id)" --json | json - '[r["metrics"]["score"]["mean"] for r in d["results"]] == [2.5]'
}
it 'a command runs by apptainer exec in its image, and finds all of its job there' runs_inside

told() {
    local job
    job=$(cat id).1
    [ "$(head -n 1 "$TEST_TMP/seen/$job")" = exec ]
    word "$job" "$SHARE/inside:$SHARE/inside"
    word "$job" --pwd
    grep -qE "^($SCRATCH.*/run):\1\$" "$TEST_TMP/seen/$job"
    grep -qE "^($SCRATCH.*/cache):\1:ro\$" "$TEST_TMP/seen/$job"
    not word "$job" --nv
    # Setup and command are one text for the image's own shell.
    grep -xF -A1 /bin/sh "$TEST_TMP/seen/$job" | tail -n 1 | grep -qxF -e -c
    word "$job" 'export A=prepared'
}
it 'it is told what is bound and where to run, and nothing of GPUs' told

with_gpus() {
    printf '%s\n' 'project: gpus' 'container: /images/any.sif' 'source: []' 'resources: {gpus: 1}' \
        'command: echo "$CUDA_VISIBLE_DEVICES"' "$path" >gpus.yaml
    ludwig_wait submit gpus.yaml --wait >id
    word "$(cat id).1" --nv
    word "$(cat id).1" /images/any.sif
    [ "$(ludwig logs "$(cat id).1")" = 0 ]
}
it 'with GPUs it is told so, and an absolute path is handed on as it is' with_gpus

addresses() {
    printf '%s\n' 'project: address' 'container: docker://python:3.12-slim' 'source: []' \
        'command: echo hello; exit 5' "$path" >address.yaml
    status=0
    ludwig_wait submit address.yaml --wait >id || status=$?
    [ $status = 1 ]
    word "$(cat id).1" docker://python:3.12-slim
    job "$(cat id).1" 'j["exit_code"] == 5 and j["cause"] == "failed"'
    [ "$(ludwig logs "$(cat id).1")" = hello ]
}
it 'an address is handed on as it is, and the exit code comes back' addresses

missing() {
    printf '%s\n' 'project: missing' 'container: docker://python:3.12-slim' 'source: []' \
        'command: echo hello' "env: {PATH: '/usr/bin:/bin'}" >missing.yaml
    status=0
    ludwig_wait submit missing.yaml --wait >id || status=$?
    [ $status = 1 ]
    job "$(cat id).1" 'j["state"] == "failed" and j["cause"] == "failed"'
    [ "$(job "$(cat id).1" 'j["reason"]')" = "container: neither apptainer nor singularity is in PATH on $(hostname)" ]
    json "$SHARE"/missing/failed/param_001/*.a1/job.json '"apptainer" in d["reason"]'
}
if command -v apptainer >/dev/null || command -v singularity >/dev/null; then
    skip 'without a runtime the job fails and says where' 'one is installed here'
else
    it 'without a runtime the job fails and says where' missing
fi

done_testing
