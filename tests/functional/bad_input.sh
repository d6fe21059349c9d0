#!/bin/bash
# shellcheck disable=SC2016,SC2089,SC2090 # shell text for jobs and wait_until
# bad_input.sh - files that cannot be read, odd names, full disks and damaged packs
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0, memory: 1GiB}'
ludwig up >/dev/null 2>&1
packs=$SHARE/demo/.ludwig/packs

sweep() { # FILE DATA SCRIPT: one job
    printf '%s\n' 'project: demo' 'command: sh job.sh' 'source: [job.sh]' "data: [$2]" >"$1"
    printf 'set -e\n%s\n' "$3" >job.sh
}
files() {
    find "$packs" -type f 2>/dev/null | wc -l
}

# ---- what cannot be read ----

# Root reads everything, but not without these.
as_other=()
[ "$(id -u)" != 0 ] || as_other=(setpriv "--bounding-set=-dac_override,-dac_read_search")

sweeps() {
    ludwig status --json | json - 'str(len(d["sweeps"]))'
}
unreadable() { # PATH: one line names it, and there is no sweep
    before=$(sweeps)
    status=0
    "${as_other[@]}" ludwig submit denied.yaml 2>err >out || status=$?
    cat err
    [ $status = 4 ]
    [ "$(wc -l <err)" = 1 ]
    grep -qF "$1: Permission denied" err
    [ "$(sweeps)" = "$before" ]
    [ -z "$(find "$packs" -name '.tmp*')" ]
    [ ! -s out ]
}
denied() {
    mkdir -p denied/closed
    for i in $(seq 20); do echo "$i" >"denied/$i"; done
    echo secret >denied/closed/x
    sweep denied.yaml denied true
    chmod 000 denied/9
    unreadable "$PWD/denied/9"
    chmod 644 denied/9
    chmod 000 denied/closed
    unreadable "$PWD/denied/closed"
    chmod 755 denied/closed
    mkdir "$(printf 'denied/new\nline')"
    chmod 000 denied/new*
    unreadable "$PWD/denied/new^Jline"
    chmod 755 denied/new*
    "${as_other[@]}" ludwig submit denied.yaml
    [ "$(files)" -gt 0 ]
}
if [ "$(id -u)" != 0 ] || setpriv --bounding-set=-dac_override,-dac_read_search true 2>/dev/null; then
    it 'a file or folder that may not be read is named, and there is no sweep' denied
else
    skip 'a file or folder that may not be read is named, and there is no sweep' 'takes setpriv'
fi

special() {
    mkdir -p special/in
    sweep special.yaml special true
    mkfifo special/in/pipe
    refuses pipe 'a pipe'
    python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("special/in/socket")'
    refuses socket 'a socket'
    mkfifo "$(printf 'special/in/new\nline\033[31m')"
    before=$(files)
    not ludwig submit special.yaml 2>err
    [ "$(wc -l <err)" = 1 ]
    grep -qF 'special/in/new^Jline^[[31m is a pipe and cannot be sent' err
    rm special/in/new*
    if mknod special/in/null c 1 3 2>/dev/null; then
        refuses null 'a device'
    fi
}
refuses() { # NAME WHAT
    before=$(files)
    not ludwig submit special.yaml 2>err
    [ "$(wc -l <err)" = 1 ]
    grep -qF "special/in/$1 is $2 and cannot be sent" err
    [ "$(files)" = "$before" ]
    rm "special/in/$1"
}
it 'pipes, sockets and devices are refused by their names' special

# ---- packs that were damaged ----

runs() { # FILE: it is done
    id=$(submit "$1" --reuse none 2>err) || { cat err && return 1; }
    wait_until 60 ended "$id"
    [ "$(jobs_in "done" "$id")" = 1 ] || { ludwig why "$id.1" && ludwig logs "$id.1" && return 1; }
}
waits_for() { # FILE WORDS: the job does, and why tells them
    id=$(submit "$1" --reuse none 2>err) || { cat err && return 1; }
    wait_until 60 'ludwig why "$id.1" | tee why | grep -qF "'"$2"'"' || { ludwig why "$id.1" && return 1; }
    grep 'submit again' why
    ludwig cancel "$id" --quiet
}
flip() { # FILE: one bit in its middle
    python3 - "$1" <<'END'
import os, sys
with open(sys.argv[1], "r+b") as f:
    f.seek(os.path.getsize(sys.argv[1]) // 2)
    byte = f.read(1)[0]
    f.seek(-1, 1)
    f.write(bytes([byte ^ 4]))
END
}
flipped() {
    mkdir flipped
    for i in $(seq 100); do head -c 1000 /dev/urandom >"flipped/$i"; done
    head -c 9000000 /dev/urandom >flipped/large
    (cd flipped && sha256sum -- *) >sums
    sweep flipped.yaml flipped 'cd "$LUDWIG_DATA/flipped" && sha256sum --quiet -c' # of its standard input
    sed -i 's/source: .*/source: [job.sh, sums]/; s/sh job.sh/sh job.sh <sums/' flipped.yaml
    ludwig data push flipped --project demo
    for part in tar.zst raw; do
        damaged=$(find "$packs/parts" -name "*.$part" -size +20k -newer flipped.yaml)
        [ -e "$damaged" ]
        flip "$damaged"
        [ "$(python3 -S "$TEST_ROOT/tests/functional/packs_check.py" <<<"$damaged")" = "$damaged" ]
        waits_for flipped.yaml "$(basename "$damaged")"
        [ ! -e "$damaged" ] && [ -e "$damaged.bad" ]
        runs flipped.yaml
        python3 -S "$TEST_ROOT/tests/functional/packs_check.py" <<<"$damaged"
        ludwig down
        rm -r "$SCRATCH"/*/cache
    done
}
it 'a part with a flipped bit is named and set aside, and the next submit sends it again' flipped

truncated() {
    mkdir truncated
    seq 1000 >truncated/x
    sweep truncated.yaml truncated '[ "$(wc -l <"$LUDWIG_DATA/truncated/x")" = 1000 ]'
    touch begin
    ludwig data push truncated --project demo
    manifest=$(find "$packs" -name '*.manifest' -newer begin)
    truncate -s -20 "$manifest"
    waits_for truncated.yaml "$(basename "$manifest")"
    [ -e "$manifest.bad" ]
    runs truncated.yaml
}
it 'so is a manifest that was cut off' truncated

# ---- two at once ----

twice() {
    mkdir twice
    for i in $(seq 200); do head -c 20000 /dev/urandom >"twice/$i"; done
    head -c 30000000 /dev/urandom >twice/large
    (cd twice && sha256sum -- *) >sums
    touch begin
    for i in 1 2 3; do
        ludwig data push twice --project demo 2>"err$i" &
        pids[i]=$!
    done
    for i in 1 2 3; do wait "${pids[i]}"; done
    [ "$(find "$packs" -name '*.manifest' -newer begin | wc -l)" = 1 ]
    [ -z "$(find "$packs" -name '.tmp*')" ]
    sweep twice.yaml twice 'cd "$LUDWIG_DATA/twice" && sha256sum --quiet -c'
    sed -i 's/source: .*/source: [job.sh, sums]/; s/sh job.sh/sh job.sh <sums/' twice.yaml
    runs twice.yaml
}
it 'three who send the same data at once do each other no harm' twice
ludwig down >/dev/null

# ---- small disks ----

odd_check='cd "$LUDWIG_DATA/odd"
[ "$(find . -type d | wc -l)" = 100201 ]
[ "$(stat -c %s sparse)" = 10737418240 ] && [ "$(du -k sparse | cut -f1)" -lt 1000 ]
[ "$(cat "$(printf "new\nline")")" = x ]
[ "$(cat "$(printf "\377\376")")" = y ]
[ "$(cat "$(printf "two\\\\ndots..:*?\"<>|")")" = z ]
[ "$(readlink loop)" = . ] && [ "$(readlink round)" = about ] && [ "$(readlink about)" = round ]
[ "$(readlink out)" = ../../elsewhere ] && [ "$(readlink root)" = /etc/passwd ]
[ ! -L link ] && [ link -ef linked ]'

# In a mount namespace of its own; functions and variables come along.
inside() { # FUNCTION
    export TEST_TMP TEST_ROOT SHARE SCRATCH packs odd_check
    unshare -m --propagation private bash -c "$(declare -f); trap 'echo \"at \$BASH_COMMAND\"' ERR; set -eEu; $1"
}
cannot_mount=''
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || cannot_mount='takes root and a mount namespace'
on_a_small_disk() { # SENTENCE FUNCTION
    if [ -z "$cannot_mount" ]; then
        it "$1" "inside $2"
    else
        skip "$1" "$cannot_mount"
    fi
}

full_cache() {
    mkdir many
    for i in $(seq 3000); do echo "$i" >"many/$i"; done
    sweep many.yaml many '[ "$(ls "$LUDWIG_DATA/many" | wc -l)" = 3000 ]'
    sleep 2.1 # files that were changed just now are not noted
    mount -t tmpfs -o size=64k small "$XDG_CACHE_HOME"
    runs many.yaml
    n=$(files)
    ludwig submit many.yaml --json >again
    json again 'd["queued"] == 0'
    [ "$(files)" = "$n" ]
    mount -o remount,size=10m "$XDG_CACHE_HOME"
    ludwig submit many.yaml
    [ "$(du -sk "$XDG_CACHE_HOME" | cut -f1)" -ge 200 ]
    [ "$(files)" = "$n" ]
    ludwig down
}
on_a_small_disk 'a full disk for the cache costs time and nothing else' full_cache

full_share() {
    mkdir noise
    for i in $(seq 90); do head -c 100000 /dev/urandom >"noise/$i"; done
    sweep noise.yaml noise '[ "$(ls "$LUDWIG_DATA/noise" | wc -l)" = 90 ]'
    mount -t tmpfs -o size=6m small "$SHARE"
    status=0
    ludwig submit noise.yaml 2>err || status=$?
    cat err
    [ $status = 1 ]
    [ "$(grep -vc '^note: ' err)" = 1 ]
    grep -q 'No space left on device' err
    [ -z "$(find "$packs" -name '*.manifest' -o -name '.tmp*')" ]
    mount -o remount,size=100m "$SHARE"
    runs noise.yaml
    ludwig down
}
on_a_small_disk 'a full disk of the server is told in one line, and with more space the next try goes on' full_share

full_scratch() {
    mkdir wide
    for i in $(seq 2000); do echo "$i" >"wide/$i"; done
    sweep wide.yaml wide '[ "$(cat "$LUDWIG_DATA"/wide/* | wc -l)" = 2000 ]'
    # Its files say 8893 bytes; each takes a page.
    mount -t tmpfs -o size=6m,mode=700 small "$SCRATCH"
    id=$(submit wide.yaml)
    wait_until 60 'ludwig why "$id.1" | grep "scratch has no room"'
    [ "$(jobs_in "done" "$id")$(jobs_in failed "$id")" = 00 ]
    mount -o remount,size=60m "$SCRATCH"
    wait_until 60 ended "$id"
    [ "$(jobs_in "done" "$id")" = 1 ]
    ludwig down
}
on_a_small_disk 'scratch that is full in the middle of staging makes jobs wait until there is room' full_scratch

# ---- odd trees ----

odd() {
    mkdir "$TEST_TMP/memory"
    mount -t tmpfs -o size=2g,nr_inodes=400000 memory "$TEST_TMP/memory"
    mkdir "$TEST_TMP/memory/odd"
    mkdir -m 700 "$TEST_TMP/memory/scratch"
    mount --bind "$TEST_TMP/memory/scratch" "$SCRATCH"
    (
        cd "$TEST_TMP/memory/odd" || exit 1
        python3 -c 'import os
for i in range(200):
    for j in range(500): os.makedirs("%d/%d" % (i, j))'
        truncate -s 10G sparse
        echo x >"$(printf 'new\nline')"
        echo y >"$(printf '\377\376')"
        echo z >"$(printf 'two\\ndots..:*?"<>|')"
        ln -s . loop
        ln -s about round
        ln -s round about
        ln -s ../../elsewhere out
        ln -s /etc/passwd root
        echo 1 >./link
        ln link linked
    )
    sweep odd.yaml "$TEST_TMP/memory/odd" "$odd_check"
    runs odd.yaml
    ludwig down
}
on_a_small_disk 'a job finds odd names, loops, links, holes and 100,000 empty folders as they are here' odd

done_testing
