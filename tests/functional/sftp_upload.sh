#!/bin/bash
# sftp_upload.sh - source and data reach the share over SFTP, whole, whatever comes between
. "$(dirname "$0")/lib.sh"

# Each command's servers write what they were asked into a file of its own: $asked.
sftp="python3 -S $TEST_ROOT/tests/functional/sftp_server.py"
new_log() {
    asked=$(mktemp "$TEST_TMP/asked.XXXXXX")
    chmod 666 "$asked"
}
new_log
if ! timeout 300 $sftp "$asked" </dev/null >/dev/null 2>&1; then
    skip 'uploads over SFTP' 'there is no sftp-server here'
    done_testing
fi

configure 'resources: {cpus: 2, gpus: 0, memory: 1GiB}'
ludwig up >/dev/null 2>&1

over_sftp() { # COMMAND...
    new_log
    LUDWIG_TEST_SFTP="$sftp $asked ${server_options-}" timeout 300 "$LUDWIG_HOOKS_BIN/ludwig" "$@"
}

written() { # [after_cut]: bytes of files
    wait_until 5 '[ -z "$(pids_of "$asked")" ]'
    json - "str(sum(x['written'] for x in d ${1:+if x['$1']}))" <<<"[$(paste -sd, "$asked")]"
}

requests() { # NAME: how many of those there were
    wait_until 5 '[ -z "$(pids_of "$asked")" ]'
    json - "str(sum(x['requests'].get('$1', 0) for x in d))" <<<"[$(paste -sd, "$asked")]"
}

packs=$SHARE/demo/.ludwig/packs

# All that lies there is what its name says, nothing half-done is left, and of the source of FILE
# nothing is missing.
arrived() { # FILE
    [ -e "$TEST_TMP/looked" ] || touch -d '1 day ago' "$TEST_TMP/looked"
    find "$packs" -type f ! -name '.*' -newer "$TEST_TMP/looked" | python3 -S "$TEST_ROOT/tests/functional/packs_check.py"
    touch -d '2 seconds ago' "$TEST_TMP/looked"
    [ "$(find "$packs" -name '*.zst' -o -name '*.raw' | wc -l)" = "$(find "$packs" -name '*.list' | wc -l)" ]
    over_sftp submit "$1" --dry-run --json | json - 'd["upload_files"] == 0 and d["upload_bytes"] == 0'
}

sweep() { # FILE SOURCE: of jobs that need more than there is, so that they wait
    printf '%s\n' 'project: demo' 'command: "true"' "source: [$2]" 'resources: {memory: 900GiB}' >"$1"
}

mkdir -p src/a/b src/nothing
for i in $(seq 300); do echo "$i" >"src/a/f $i"; done
head -c 3000000 /dev/urandom >src/large
ln -s 'f 1' src/a/link
printf '#!/bin/sh\n' >src/a/b/run
chmod 755 src/a/b/run
sweep s.yaml src

whole() {
    over_sftp submit s.yaml --dry-run --json >dry
    json dry 'd["upload_files"] == 302 and d["upload_bytes"] > 3000000'
    server_options='--umask 077' over_sftp submit s.yaml
    [ "$(written)" -ge 3000000 ]
    # Two parts, their lists, a block and the manifest are on the disk before they have their names.
    [ "$(requests fsync)" -ge 6 ]
    mkdir unpacked
    tar --zstd -C unpacked -xf "$packs"/parts/*.tar.zst
    find src -type l -delete
    find src -type d -empty -delete
    diff -r src unpacked/src
    ln -s 'f 1' src/a/link
    mkdir src/nothing
    diff s.yaml "$SHARE/demo/sweeps/1/sweep.yaml"
    json "$SHARE/demo/sweeps/1/summary.json" 'd["v"] == 1'
    [ "$(stat -c %a "$SHARE/demo/sweeps/1/sweep.yaml" "$SHARE/demo/sweeps/1" "$packs" | tr '\n' ' ')" = '600 700 700 ' ]
    find "$packs" -type f -printf '%m\n' | sort -u | diff - <(echo 600)
    arrived s.yaml
    over_sftp submit s.yaml
    [ "$(written)" -lt 5000 ]
}
it 'a source arrives whole, once, with the modes of the project' whole

# 57 MiB in three seconds: one part, and a small one.
shown() {
    mkdir slow
    head -c 60000000 /dev/urandom >slow/one
    echo 2 >slow/two
    sweep w.yaml slow
    new_log
    LUDWIG_TEST_SFTP="$sftp $asked --rate 5000000" python3 -S "$TEST_ROOT/tests/functional/terminal.py" 24x120 "$LUDWIG_HOOKS_BIN/ludwig" submit w.yaml >out
    tr '\r' '\n' <out | grep -oE '^upload \[[#.]{24}\] [0-9.]+ (B|[KM]iB) of 57\.2 MiB.*' | sort -u >lines
    # It moves while a single part is on its way.
    [ "$(wc -l <lines)" -ge 8 ]
    grep -E ' of 57\.2 MiB, [0-9.]+ MiB/s, about [0-9]+ s left, 0 of 2 files' lines
    # In one line, which is gone in the end.
    [ "$(grep -c upload out)" = 1 ]
    tr '\r' '\n' <out | grep -A 1 '^upload' | tail -n 1 | grep -q "^$(printf '\033')\[K"
}
it 'a terminal shows in one line how many bytes and files are there, how fast, and how long it will take' shown

hidden() {
    head -c 20000000 /dev/urandom >slow/one
    server_options='--rate 5000000' over_sftp submit w.yaml 2>err
    not grep -q 'upload' err
    rm -r slow
}
it 'elsewhere it says nothing of that' hidden

killed() {
    mkdir many large
    for i in $(seq 90); do head -c 100000 /dev/urandom >"many/$i"; done
    sweep m.yaml many
    head -c 300000000 /dev/urandom >large/data
    sweep l.yaml large
    before=$(ls "$packs"/parts/*.list | wc -l)
    LUDWIG_TEST_SFTP="$sftp $asked --stall-at-list" "$LUDWIG_HOOKS_BIN/ludwig" submit l.yaml 2>err &
    client=$!
    wait_until 60 '[ "$(ls "$packs"/parts/*.list | wc -l)" -gt $before ]'
    sweeps=$(ls "$SHARE/demo/sweeps" | wc -l)
    kill -9 $client
    wait $client || true
    [ "$(find "$packs" -name '.tmp*' | wc -l)" -ge 1 ]
    find "$packs" -name '.tmp*' -delete
    over_sftp submit l.yaml
    # A part of 67 MB at the least was there.
    [ "$(written)" -le 240000000 ]
    arrived l.yaml
    [ "$(ls "$SHARE/demo/sweeps" | wc -l)" = $((sweeps + 1)) ]
}
it 'after kill -9 the next submit sends the parts that are missing' killed

cut_off() {
    rm -rf large/data
    head -c 150000000 /dev/urandom >large/data
    server_options="--cut-at-list $TEST_TMP/cut.1" over_sftp submit l.yaml 2>err
    [ "$(grep -vc "^note: " err)" -le 1 ]
    # All but the first part, of 67 MB.
    [ "$(written after_cut)" -ge 82000000 ]
    [ "$(written after_cut)" -le 84000000 ]
    arrived l.yaml
    # Nothing comes through.
    head -c 1003 /dev/urandom >many/1
    status=0
    server_options="--cut-in 60000" over_sftp submit m.yaml 2>err || status=$?
    [ $status = 3 ]
    [ "$(wc -l <err)" = 1 ]
    grep -q 'the connection for files is lost' err
    sweeps=$(ls "$SHARE/demo/sweeps" | wc -l)
    find "$packs" -name '.tmp*' -delete
    over_sftp submit m.yaml
    arrived m.yaml
    [ "$(ls "$SHARE/demo/sweeps" | wc -l)" = $((sweeps + 1)) ]
}
it 'a connection that breaks is made again, and parts that arrived are not sent again' cut_off

cut_for_good() {
    rm -rf large/data
    head -c 150000000 /dev/urandom >large/data
    before=$(ls "$packs"/parts/*.list | wc -l)
    status=0
    server_options="--cut-at-list $TEST_TMP/cut.2 --for-good" over_sftp submit l.yaml 2>err || status=$?
    [ $status = 3 ]
    [ "$(grep -vc "^note: " err)" = 1 ]
    # Whether or not it has heard of that part's name.
    grep -q 'the next try goes on where this one stopped' err
    [ "$(ls "$packs"/parts/*.list | wc -l)" = $((before + 1)) ]
    find "$packs" -name '.tmp*' -delete
    over_sftp submit l.yaml
    [ "$(written)" -ge 82000000 ]
    [ "$(written)" -le 84000000 ]
    arrived l.yaml
}
it 'nor are they by the next submit when none is made again' cut_for_good

# Small: all is read before the first break is noticed, and the sweep is open on the server by then.
lost_late() {
    mkdir few
    head -c 20000 /dev/urandom >few/1
    sweep f.yaml few
    ludwig status --json | json - '[s["sweep"] for s in d["sweeps"]]' >before
    status=0
    server_options="--cut-in 5000" over_sftp submit f.yaml 2>err || status=$?
    cat err
    [ $status = 3 ]
    [ "$(wc -l <err)" = 1 ]
    grep -q 'the connection for files is lost' err
    ludwig status --json | json - '[s["sweep"] for s in d["sweeps"]]' | diff before -
    find "$packs" -name '.tmp*' -delete
    over_sftp submit f.yaml
    arrived f.yaml
}
it 'what does not arrive after all was read is not queued' lost_late

# Over four connections not even a part of the usual size comes through before the next break.
cut_again() {
    rm -rf large/data
    head -c 80000000 /dev/urandom >large/data
    server_options="--cut-in 12000000 --rate 5000000" over_sftp submit l.yaml 2>err
    find "$packs" -name '.tmp*' -delete
    [ "$(grep -vc "^note: " err)" -le 1 ]
    arrived l.yaml
}
it 'one that breaks before a part is through, again and again, brings all in the end' cut_again

changed() { # HOW
    mkdir -p moving
    head -c 100000000 /dev/urandom >moving/data
    echo 1 >moving/other
    sweep v.yaml moving
    rm -f go
    new_log
    LUDWIG_TEST_SFTP="$sftp $asked --stall-in 12000000 --until $PWD/go" "$LUDWIG_HOOKS_BIN/ludwig" submit v.yaml 2>err &
    client=$!
    wait_until 60 '[ -n "$(find "$packs" -name ".tmp*" -size +10M)" ]'
    eval "$1"
    touch go
    status=0
    wait $client || status=$?
    [ $status = 1 ]
    [ "$(grep -vc "^note: " err)" = 1 ]
    grep -q 'moving/data was changed while it was read; submit again' err
    [ -z "$(find "$packs" -name '.tmp*')" ]
    over_sftp submit v.yaml
    arrived v.yaml
}
longer() { changed 'echo more >>moving/data'; }
shorter() { changed ': >moving/data'; }
written_over() { changed 'printf x | dd of=moving/data bs=1 seek=1000 conv=notrunc status=none'; }
replaced() { changed 'cp -p moving/data moving/copy && mv moving/copy moving/data'; }
it 'a file that grows while it is sent is not sent as something else' longer
it 'one that is cut short neither' shorter
it 'nor one that is written to where it was read already' written_over
it 'nor one that another one takes the place of' replaced

unchanged() {
    touch -d '10 minutes ago' many/* # no matter: what counts is when the inode changed
    over_sftp submit m.yaml
    # What was changed just now is read again.
    sleep 2.1
    over_sftp submit m.yaml
    strace -f -o trace -e trace=openat env LUDWIG_TEST_SFTP="$sftp $asked" "$LUDWIG_HOOKS_BIN/ludwig" submit m.yaml
    not grep -q '"[^"]*/many/[0-9]*"' trace
}
if command -v strace >/dev/null; then
    it 'files that did not change are not read again' unchanged
else
    skip 'files that did not change are not read again' 'takes strace'
fi

# What is noted of files decides, so they must be noted.
shrunk() {
    mkdir shrinking
    for i in $(seq 90); do head -c 100000 /dev/urandom >"shrinking/$i"; done
    sweep h.yaml shrinking
    sleep 2.1
    over_sftp submit h.yaml
    [ "$(written)" -ge 9000000 ]
    rm shrinking/{51..90}
    over_sftp submit h.yaml
    [ "$(written)" -lt 100000 ]
    rm shrinking/{41..50}
    over_sftp submit h.yaml
    [ "$(written)" -ge 4000000 ]
    arrived h.yaml
    rm -r shrinking
}
it 'when less than half of a part is still wanted that half is sent again' shrunk

large_trees() {
    odd=$(memory_folder 100000 110000)
    mkdir "$odd/odd"
    cd "$odd"
    python3 -c 'import os
for i in range(300):
    for j in range(333): os.makedirs("odd/%d/%d" % (i, j))'
    truncate -s 10G odd/sparse
    echo x >"$(printf 'odd/new\nline')"
    echo y >"$(printf 'odd/\377\376')"
    ln -s . odd/loop
    ln -s ../../elsewhere odd/out
    cd "$TEST_TMP/work"
    sweep o.yaml ""
    echo "data: [$odd/odd]" >>o.yaml
    LUDWIG_TEST_SFTP="$sftp $asked" measured used "$LUDWIG_HOOKS_BIN/ludwig" submit o.yaml
    [ "$(cut -d' ' -f2 used)" -le 64000 ]
    arrived o.yaml
    rm -rf "$odd"
}
it 'a hundred thousand folders, ten GiB of nothing and odd names arrive, and take little memory' large_trees

at_once() {
    for i in $(seq 90); do head -c 100000 /dev/urandom >"many/$i"; done
    find "$packs" -name '.tmp*' -delete
    over_sftp submit m.yaml 2>err1 &
    first=$!
    over_sftp submit m.yaml 2>err2 &
    second=$!
    wait $first
    wait $second
    [ -z "$(find "$packs" -name '.tmp*')" ]
    arrived m.yaml
}
it 'two uploads of the same do each other no harm' at_once

denied() {
    cp -r many none
    echo none >none/1
    sweep n.yaml none
    status=0
    # On a server of one's own nobody else would come so far.
    chmod 711 "$TEST_TMP" "$HOME"
    chmod 755 "$SHARE" "$SHARE/.ludwig" "$SHARE/demo" "$SHARE/demo/.ludwig" "$packs"
    server_options='--uid 65534' over_sftp submit n.yaml 2>err || status=$?
    [ $status = 4 ]
    [ "$(wc -l <err)" = 1 ]
    cat err
    grep -q "/demo/.ludwig/packs/.*: permission denied" err
    arrived m.yaml
}
if [ "$(id -u)" = 0 ]; then
    it 'without permission it says where, and nothing is left' denied
else
    skip 'without permission it says where, and nothing is left' 'takes root'
fi

# In a mount namespace of its own: the share is a small disk there.
small_disk() { # OPTIONS MESSAGE [INODES]
    mkdir -p "$TEST_TMP/small"
    cat >inside.sh <<'END_OF_SCRIPT'
set -e
mount -t tmpfs -o "$1" small "$SHARE"
ludwig up >/dev/null 2>&1
[ -z "${3-}" ] || mount -o "remount,nr_inodes=$(($(df --output=iused "$SHARE" | tail -n 1) + $3))" "$SHARE"
status=0
LUDWIG_TEST_SFTP="$sftp $asked.first" "$LUDWIG_HOOKS_BIN/ludwig" submit m.yaml 2>err || status=$?
cat err
[ $status = 1 ]
[ "$(wc -l <err)" = 1 ]
grep -q "on the server: $2" err
[ ! -e "$SHARE/demo/sweeps" ]
ludwig status --json >status
[ -z "$(find "$SHARE/demo/.ludwig/packs" -name '*.manifest' -o -name '.tmp*')" ]
mount -o remount,size=100m,nr_inodes=10000 "$SHARE"
LUDWIG_TEST_SFTP="$sftp $asked" "$LUDWIG_HOOKS_BIN/ludwig" submit m.yaml
mkdir small-out
tar --zstd -C small-out -xf "$SHARE"/demo/.ludwig/packs/parts/*.tar.zst
diff -r many small-out/many
rm -r small-out
ludwig down
END_OF_SCRIPT
    ludwig down >/dev/null 2>&1 || true
    new_log
    export SHARE sftp asked
    unshare -m --propagation private bash inside.sh "$@"
}

full() {
    head -c 1005 /dev/urandom >many/1
    small_disk size=6m 'no space is left on the server.s disk'
}
no_inodes() {
    head -c 1006 /dev/urandom >many/1
    small_disk size=50m,nr_inodes=1000 'no file more fits on the server.s disk' 6
}
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    it 'a full disk is told in one line; with more space the next try goes on' full
    it 'so is one without inodes' no_inodes
else
    skip 'a full disk is told in one line' 'takes root and a mount namespace'
fi

done_testing
