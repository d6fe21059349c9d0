#!/bin/bash
# shellcheck disable=SC2016 # shell text for wait_until and for jobs
# publish_links.sh - what is published goes through no symlink that others put into a project
#
# A project is shared with another user's group, as docs/lab.md says: members may rename and replace
# whatever lies in it, while a worker with its owner's rights publishes there.
. "$(dirname "$0")/lib.sh"

chmod 0755 "$TEST_TMP"
SHARE=$TEST_TMP/share
mkdir "$SHARE"
configure "share: $SHARE" 'resources: {cpus: 2, gpus: 0}'
stranger=65534

# What is nobody else's, where no result belongs.
victim=$TEST_TMP/victim
mkdir -m 0700 "$victim"
echo mine >"$victim/precious"
chmod 0600 "$victim/precious"
unharmed() {
    [ "$(cat "$victim/precious")" = mine ]
    find "$victim" -printf '%P %m %n\n' | sort | diff - <(printf ' 700 2\nprecious 600 1\n')
}

# A job waits at a gate, so that a link can lie there before.
waits() { # PROJECT LINE...: its sweep, $sweep; its attempt, $token
    write_job "echo \$LUDWIG_ATTEMPT >$TEST_TMP/$1.token" "gate $1" "${@:2}"
    printf '%s\n' "project: $1" 'command: sh job.sh' 'source: job.sh' 'params: {p: [1]}' \
        'retry: {max: 1, on: [3]}' >sweep.yaml
    ludwig up
    sweep=$(submit sweep.yaml)
    wait_until 30 test -s "$TEST_TMP/$1.token"
    token=$(cat "$TEST_TMP/$1.token")
    [ "$(id -u)" != 0 ] || chgrp $stranger "$SHARE/$1"
    chmod 2770 "$SHARE/$1"
}
comes() { # PROJECT: one result, with all that belongs to it
    wait_until 60 '[ "$(sweep_state '"$sweep"')" = done ]'
    [ "$(published "$1" | wc -l)" = 1 ]
    [ "$(cat "$SHARE/$1"/runs/param_001/*/out)" = result ]
    [ "$(stat -c %a "$SHARE/$1"/runs/param_001/[!.]*/)" = "$(stat -c %a "$SHARE/$1")" ]
    unharmed
}

# ---- links that lie there before ----

names() {
    waits names 'echo result >"$LUDWIG_SAVE_PATH/out"'
    name=$(job "$sweep.1" 'j["job_name"]')
    mkdir -p "$SHARE/names/runs/param_001"
    ln -s "$victim/precious" "$SHARE/names/runs/param_001/.param2val.yaml.$token"
    ln -s "$victim" "$SHARE/names/runs/param_001/.$name.$token"
    open names
    comes names
    [ "$(cat "$SHARE/names/runs/param_001/param2val.yaml")" = 'p: 1' ]
    [ -z "$(find "$SHARE/names/runs" -type l)" ]
}
it 'a link that has the name of what is made is replaced, and written through never' names

folder() { # PROJECT FOLDER EVENT: the folder is a link, until the worker has said so
    waits "$1" 'echo the log' 'echo result >"$LUDWIG_SAVE_PATH/out"' 'echo 1 >"$LUDWIG_CHECKPOINT/epoch"' \
        '[ "$LUDWIG_RESTART" != 0 ] || exit 3'
    rm -rf "${SHARE:?}/$1/$2"
    mkdir -p "$(dirname "$SHARE/$1/$2")"
    ln -s "$victim" "$SHARE/$1/$2"
    open "$1"
    wait_until 60 "grep -rhE '$3 (sweep=$sweep|attempt=[\"]?$token).*symlink' $XDG_STATE_HOME >/dev/null"
    unharmed
    rm "$SHARE/$1/$2"
    comes "$1"
}
it 'runs: a link leads no result away, and the result comes when it is gone' '
    folder results runs not-published-yet'
it 'logs: a link leads no log away' 'folder printed logs "(log-not-shipped|not-published-yet)"'
it 'checkpoints: a link leads none away, and the job begins anew' '
    folder kept .ludwig/checkpoints checkpoint-not-kept'

# ---- links that are put there meanwhile ----

# In a folder runs of its own it tries all the time to put a link into what is being published.
cat >"$TEST_TMP/plant.py" <<'END'
"""usage: plant.py PROJECT TARGET STOP; prints how many links it planted, and how many names it saw"""
import os, sys
project, target, stop = sys.argv[1:]
runs = project + "/runs"
if os.path.exists(runs):
    os.rename(runs, runs + ".old")
os.mkdir(runs)
os.chmod(runs, 0o2777)
open(stop + ".begun", "w").close()
planted, seen = 0, set()
while not os.path.exists(stop):
    for param in os.listdir(runs):
        try:
            names = os.listdir(runs + "/" + param)
        except OSError:
            continue
        for name in names:
            if not name.startswith(".") or name.startswith(".param2val"):
                continue
            seen.add(name)
            try:
                os.symlink(target, "%s/%s/%s/job.json" % (runs, param, name))
                planted += 1
            except OSError:
                pass
print(planted, len(seen))
END
chmod 0644 "$TEST_TMP/plant.py"

raced() {
    waits raced 'cd "$LUDWIG_SAVE_PATH"' 'echo result >out' 'mkdir deep' \
        'i=0; while [ $i -lt 3000 ]; do echo $i >deep/$i; i=$((i + 1)); done'
    mkdir -m 0777 "$TEST_TMP/open"
    # The first python3 of the PATH may be one that only root may execute.
    setpriv --reuid=$stranger --regid=$stranger --clear-groups env PATH=/usr/bin:/bin \
        python3 "$TEST_TMP/plant.py" "$SHARE/raced" "$victim/precious" "$TEST_TMP/open/stop" >links &
    planter=$!
    wait_until 20 test -e "$TEST_TMP/open/stop.begun"
    open raced
    wait_until 60 '[ "$(sweep_state '"$sweep"')" = done ]'
    touch "$TEST_TMP/open/stop"
    wait $planter
    cat links
    read -r planted seen <links
    [ "$seen" -ge 1 ] # else it was too slow to try
    [ "$planted" = 0 ]
    comes raced
}
# Takes the place of the first checkpoint that it sees, with words of its own and links that lead away.
cp "$TEST_ROOT/tests/functional/raw.py" "$TEST_TMP"
cat >"$TEST_TMP/exchange.py" <<'END'
"""usage: exchange.py FOLDER TARGET"""
import io, os, sys, time
import raw
folder, target = sys.argv[1:]
names = []
while not names:
    time.sleep(0.01)
    try:
        names = [name for name in os.listdir(folder) if not name.startswith(".")]
    except OSError:
        pass
place = folder + "/" + names[0]
os.rename(place, place + ".taken")
files = {name: open(f"{place}.taken/{name}", "rb").read() for name in os.listdir(place + ".taken")}
(index,) = [name for name in files if name != "epoch"]
head, entry = map(raw.unpack, raw.frames(io.BytesIO(files[index])))
files["epoch"] = b"evil\n"
entry["size_bytes"] = len(files["epoch"])
links = [{"type": "link", "path": path, "target": to} for path, to in (("l", target), ("l/planted", "/"))]
head["entries"] += len(links)
files[index] = b"".join(map(raw.frame, [head, entry, *links]))
os.mkdir(place)
for name, content in files.items():
    with open(f"{place}/{name}", "wb") as file:
        file.write(content)
print("exchanged", names[0])
END

exchanged() {
    write_job 'cat "$LUDWIG_CHECKPOINT/epoch" >"$LUDWIG_SAVE_PATH/out" || echo result >"$LUDWIG_SAVE_PATH/out"' \
        'gate exchanged' 'echo 1 >"$LUDWIG_CHECKPOINT/epoch"' '[ "$LUDWIG_RESTART" != 0 ] || exit 3'
    printf '%s\n' 'project: exchanged' 'command: sh job.sh' 'source: job.sh' 'params: {p: [1]}' \
        'retry: {max: 1, on: [3]}' >sweep.yaml
    ludwig up
    sweep=$(submit sweep.yaml)
    wait_until 30 '[ "$(jobs_in running '"$sweep"')" = 1 ]'
    chgrp -R $stranger "$SHARE/exchanged"
    chmod 2770 "$SHARE/exchanged" "$SHARE/exchanged/.ludwig"
    setpriv --reuid=$stranger --regid=$stranger --clear-groups timeout 300 \
        python3 "$TEST_TMP/exchange.py" "$SHARE/exchanged/.ludwig/checkpoints/param_001" "$victim" >who 2>&1 &
    ludwig pause "$sweep"
    open exchanged
    wait $! || { cat who && return 1; }
    ludwig resume "$sweep"
    comes exchanged
    grep -rhE 'checkpoint-damaged .*others than the project' "$XDG_STATE_HOME"
}
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    it 'a checkpoint that another member of the group has put there is loaded by none' exchanged
    it 'another member of the group, who tries all the time, gets no link into a result on its way' raced
else
    skip 'a checkpoint that another member of the group has put there is loaded by none' 'takes root and setpriv'
    skip 'another member of the group, who tries all the time, gets no link in' 'takes root and setpriv'
fi

done_testing
