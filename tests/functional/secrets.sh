#!/bin/bash
# secrets.sh - variables of the shell reach the jobs and nobody else; keys and passwords stay out of the source
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0}'

# The word is nowhere in a command line of ours: searches take it from a file outside of what they search.
mkdir "$TEST_TMP/aside"
pattern=$TEST_TMP/aside/pattern
export API_KEY=only-for-jobs-$RANDOM$RANDOM$RANDOM
printf '%s' "$API_KEY" >"$pattern"
sum=$(sha256sum <"$pattern")

# Files with the word in them; the state folder apart.
files_with_it() {
    find "$TEST_TMP" \( -path "$TEST_TMP/aside" -o -path "$XDG_STATE_HOME" \) -prune -o -type f -print0 |
        xargs -0 grep -lsaFf "$pattern"
}
state_with_it() {
    find "$XDG_STATE_HOME" "$XDG_RUNTIME_DIR" -type f -print0 | xargs -0 grep -lsaFf "$pattern"
}
nowhere_else() {
    [ -z "$(files_with_it)" ] || { files_with_it; return 1; }
    state_with_it | while read -r file; do
        [ "$(stat -c %a "$file")" = 600 ] || { ls -l "$file"; return 1; }
    done
    [ -z "$(grep -lsaFf "$pattern" /proc/[0-9]*/cmdline)" ]
}
cat >prove.sh <<'END'
printf %s "$API_KEY" | sha256sum >"$LUDWIG_SAVE_PATH/sum"
END
proven() { # PROJECT N: so many results were made with the word
    local file n=0
    for file in "$SHARE/$1"/runs/*/*/sum; do
        [ "$(cat "$file")" = "$sum" ]
        n=$((n + 1))
    done
    [ "$n" = "$2" ]
}

passed() {
    write_job 'sh prove.sh' 'gate pass'
    printf '%s\n' 'project: pass' 'command: sh job.sh {x}' 'source: [job.sh, prove.sh]' 'env: [API_KEY]' \
        'params: {x: [1, 2, 3, 4]}' >pass.yaml
    id=$(submit pass.yaml)
    echo "$id" >id
    wait_until 20 '[ "$(jobs_in running '"$id"')" = 2 ]'
    nowhere_else
    state_with_it | grep -q 'ludwig\.db'
    # What waits gets it from a ludwigd and a worker that were started anew.
    kill_hard ludwigd
    kill_hard $(agents)
    ludwig up
    open pass
    wait_until 60 ended "$id"
    [ "$(jobs_in done "$id")" = 4 ]
    proven pass 4
}
it 'a variable of the shell reaches all jobs, also after ludwigd and worker were killed' passed

told() {
    id=$(cat id)
    mkdir -p said
    for command in "status $id" "jobs $id" "results $id" "usage" "why $id.1" "nodes"; do
        # shellcheck disable=SC2086 # words
        ludwig $command --json >"said/${command%% *}.json" 2>&1 || true
        # shellcheck disable=SC2086
        ludwig $command >"said/${command%% *}" 2>&1 || true
    done
    ludwig logs "$id.1" >said/log
    ludwig submit pass.yaml --reuse none --dry-run >said/dry
    grep -qE '^passed +API_KEY, from this shell' said/dry
    ludwig submit pass.yaml --dry-run --json >said/dry.json
    json said/dry.json 'd["passed"] == ["API_KEY"]'
    grep -q 'env: \[API_KEY\]' "$SHARE/pass/sweeps/$id/sweep.yaml"
    nowhere_else
}
it 'no reply, log or file of the sweep has its value' told

gone() {
    # The worker forgets it with its last attempt of the sweep, ludwigd with the sweep.
    wait_until 20 '[ -z "$(state_with_it)" ]'
    pids_of ludwigd
    ludwig down
    wait_until 10 '[ -z "$(pids_of ludwigd)$(pids_of ludwig-worker)" ]'
    [ -z "$(state_with_it)" ]
    nowhere_else
}
it 'nothing has it once the sweep has ended' gone

again() {
    printf '%s\n' 'project: again' 'command: test -e "$LUDWIG_PROJECT_PATH/well" && sh prove.sh' \
        'source: prove.sh' 'env: {API_KEY: , PLAIN: word}' >again.yaml
    status=0
    ludwig_wait submit again.yaml --wait >id || status=$?
    [ $status = 1 ]
    id=$(cat id)
    touch "$SHARE/again/well"
    not ludwig retry "$id" 2>err
    grep -q 'took API_KEY from the shell that submitted it.*--env API_KEY' err
    [ "$(jobs_in failed "$id")" = 1 ]
    not env -u API_KEY ludwig retry "$id" --env API_KEY 2>err
    grep -q 'API_KEY is not set' err
    ludwig retry "$id" --env API_KEY
    wait_until 20 ended "$id"
    [ "$(jobs_in done "$id")" = 1 ]
    proven again 1
}
it 'a retry after the end says what it needs again, and takes it' again

batches() {
    cat >all.py <<'END'
import hashlib, json, os
for job in json.load(open(os.environ["LUDWIG_CHUNK"].replace(".msgpack", ".json"))):
    with open(os.path.join(job["save_path"], "sum"), "w") as f:
        f.write(hashlib.sha256(os.environ["API_KEY"].encode()).hexdigest() + "  -\n")
    with open(os.environ["LUDWIG_METRICS"], "a") as f:
        print(json.dumps({"job": job["job"], "done": True}), file=f)
END
    printf '%s\n' 'project: batch' 'command: python3 all.py' 'source: all.py' 'batch: 3' 'env: [API_KEY]' \
        'params: {x: [1, 2, 3]}' >batch.yaml
    ludwig_wait submit batch.yaml --wait >id
    proven batch 3
    nowhere_else
}
it 'the jobs of a batch have it' batches

inside() {
    mkdir "$TEST_TMP/tools"
    cat >"$TEST_TMP/tools/apptainer" <<'END'
#!/usr/bin/python3
import os, sys
at = 2
while sys.argv[at].startswith("--"):
    at += 1 if sys.argv[at] == "--nv" else 2
env = {k[len("APPTAINERENV_"):]: v for k, v in os.environ.items() if k.startswith("APPTAINERENV_")}
env.update({k: v for k, v in os.environ.items() if k.startswith("LUDWIG_")}, PATH="/usr/bin:/bin")
os.execve("/bin/sh", sys.argv[at + 1:], env)
END
    chmod +x "$TEST_TMP/tools/apptainer"
    printf '%s\n' 'project: inside' 'command: sh prove.sh' 'source: prove.sh' 'container: /images/any.sif' \
        "env: {PATH: '$TEST_TMP/tools:/usr/bin:/bin', API_KEY: null}" >inside.yaml
    ludwig_wait submit inside.yaml --wait >id
    proven inside 1
    nowhere_else
}
it 'a job in a container has it' inside

refused() {
    status=0
    env -u API_KEY ludwig submit pass.yaml 2>err || status=$?
    [ $status = 2 ]
    grep -q 'env: API_KEY is not set in this shell' err
    printf '%s\n' 'command: "true"' 'env: [LUDWIG_JOB]' >own.yaml
    not ludwig submit own.yaml 2>err
    grep -q "own.yaml:2:7: env: LUDWIG_JOB: names that begin with LUDWIG_ are ludwig's own" err
}
it 'a variable that is not set, or is ludwig'\''s own, is refused' refused

# ---- files ----

closed() { # PATH...
    stat -c '%a %n' "$@" | not grep -v '^700 '
}
for_oneself() {
    closed "$SHARE" "$SHARE/pass" "$SHARE/pass/sweeps" "$XDG_STATE_HOME/ludwig" "$XDG_STATE_HOME/ludwig/server"
}
it 'a server of one'\''s own keeps all to itself' for_oneself

seen() { # FILE...: a submit that has them is refused and names the last of them
    project=secret$RANDOM$RANDOM
    rm -rf secret && mkdir secret
    printf '%s\n' "project: $project" 'command: ls' >secret/s.yaml
    for path; do
        mkdir -p "secret/$(dirname "$path")"
        cp "$TEST_TMP/aside/content" "secret/$path"
    done
    status=0
    ludwig submit secret/s.yaml "${with[@]}" 2>err >id || status=$?
    [ $status = 2 ]
    grep -qF "${*: -1}" err || grep -qF "$(dirname "${*: -1}")" err
    grep -q -e --allow-secrets err
    # Refused before anything has changed.
    [ ! -e "$SHARE/$project" ]
}
sources() {
    with=()
    printf '%s\n' '-----BEGIN OPENSSH PRIVATE KEY-----' 'AAAA' >"$TEST_TMP/aside/content"
    seen .env
    seen deep/.netrc
    seen .ssh/config
    seen a/.aws/credentials
    seen keys/id_ed25519
    seen cert.pem
    with=(--dry-run)
    seen .env
    with=()
    not seen .env.example
    echo 'ssh-ed25519 AAAA' >"$TEST_TMP/aside/content"
    not seen id_ed25519.pub
    not seen cert.pem
    not seen id_list
    # Named, ignored, or meant.
    seen .env train.sh || true
    printf 'command: cat .env\nsource: [.env]\n' >secret/s.yaml
    ludwig submit secret/s.yaml
    printf 'command: ls\n' >secret/s.yaml
    not ludwig submit secret/s.yaml
    ludwig submit secret/s.yaml --allow-secrets
    echo .env >secret/.ludwigignore
    ludwig submit secret/s.yaml
}
it 'a source with keys or passwords is refused, unless they are named or meant' sources

whole_home() {
    printf 'command: ls\n' >"$HOME/s.yaml"
    not ludwig submit "$HOME/s.yaml" 2>err
    grep -q "whole home folder, $HOME" err
    printf 'command: ls\nsource: s.yaml\n' >"$HOME/s.yaml"
    ludwig submit "$HOME/s.yaml"
    rm "$HOME/s.yaml"
}
it 'so is one that would be the whole home folder' whole_home

least_readable() {
    mkdir -m 755 shown
    printf 'project: shown\ncommand: ls\n' >shown/s.yaml
    echo 1 >shown/a
    ludwig submit shown/s.yaml
    chmod -R go+rX "$SHARE/shown"
    ludwig submit shown/s.yaml --reuse none
    [ "$(stat -c %a "$SHARE/shown")" = 755 ]
    echo 2 >shown/b
    chmod 600 shown/b
    ludwig submit shown/s.yaml 2>err >id
    grep -q 'the folder of project shown was closed' err
    closed "$SHARE/shown"
    [ "$(stat -c %a "$SHARE/shown/sweeps/$(cat id)/sweep.yaml")" = 600 ]
}
it 'a project is closed to those who may not read one of the files that go there' least_readable

done_testing
