#!/bin/bash
# share_direct.sh - data on the shared drive are staged from where they lie, if it is a disk of the only machine
# that reads them
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/far.sh"

far_possible || {
    skip 'data are staged from where they lie' "$far_lacks"
    done_testing
}
df -PT "$TEST_TMP" | tail -n 1 | grep -Eq ' (ext[234]|xfs|btrfs|zfs|f2fs|overlay|tmpfs) ' || {
    skip 'data are staged from where they lie' 'the temporary folder is on no known local file system'
    done_testing
}
far_up

SETS=$SHARE/sets/cats
mkdir -p "$SETS/small/deep" "$SETS/empty"
for i in $(seq 300); do echo "cat $i" >"$SETS/small/$i"; done
: >"$SETS/small/deep/nothing"
printf '#!/bin/sh\necho meow\n' >"$SETS/cat.sh"
chmod +x "$SETS/cat.sh"
ln -s small/1 "$SETS/link"
ln -s /nowhere "$SETS/dangling"
ln "$SETS/small/2" "$SETS/twin"
head -c 9000000 /dev/urandom >"$SETS/two pieces"
head -c 70000000 /dev/zero | tr '\0' x >"$SETS/large"
truncate -s 100M "$SETS/hole"
echo end >>"$SETS/hole"
(cd "$SETS" && find . -type f -print0 | sort -z | xargs -0 sha256sum) >"$TEST_TMP/sums"

cat >job.sh <<END
cd "\$LUDWIG_DATA/cats" || exit 9
cmp -s link small/1 && [ "\$(readlink dangling)" = /nowhere ] && [ -d empty ] && [ twin -ef small/2 ] || exit 8
[ "\$(./cat.sh)" = meow ] && [ "\$(du -k hole | cut -f1)" -lt 20000 ] && [ ! -w small/1 -o "\$(id -u)" = 0 ] || exit 7
[ -n "\$(find small/1 -perm 444)" ] || exit 6
cat small/3
sha256sum --quiet -c "\$1"
END
sweep() { # NAME PATH LINE...
    local name=$1 path=$2
    shift 2
    printf '%s\n' "project: cats" "command: sh job.sh $TEST_TMP/sums" 'source: [job.sh]' \
        "data: [{share: $path}]" "$@" >"$name.yaml"
}
sum_anew() {
    (cd "$SETS" && find . -type f -print0 | sort -z | xargs -0 sha256sum) >"$TEST_TMP/sums"
}
queued() { # SWEEP FILE
    ludwig_wait submit "$1" --json | json - 'd["queued"]'
}
# The source's is the one that there is.
parts() {
    find "$SHARE/cats/.ludwig/packs/parts" -name '*.tar.zst' -o -name '*.zst' -o -name '*.raw' | wc -l
}
packs_kib() {
    du -sk "$SHARE/cats/.ludwig/packs" | cut -f1
}

start_worker near

first_sweep() {
    sweep one sets/cats 'params: {x: [1, 2]}'
    ludwig_wait submit one.yaml --wait
    [ "$(parts)" = 1 ]
    [ "$(packs_kib)" -lt 300 ]
}
it 'jobs find all of it, and nothing of it was copied into packs' first_sweep

same_again() {
    [ "$(queued one.yaml)" = 0 ]
    [ "$(parts)" = 1 ]
}
it 'what has not changed runs nothing again' same_again

through_a_link() {
    ln -s sets "$SHARE/way"
    sweep way way/cats 'params: {x: [1, 2]}'
    [ "$(queued way.yaml)" = 0 ]
    [ "$(parts)" -gt 1 ]
}
it 'what is named through a symlink is packed, and is the same tree' through_a_link

no_rights() {
    echo secret >"$SETS/secret"
    chmod 000 "$SETS/secret"
    not ludwig_wait submit one.yaml >out 2>err
    grep -q 'open .*secret: Permission denied' err
}
if [ "$(id -u)" = 0 ]; then
    skip 'a file that may not be read is named' 'root may read everything'
else
    it 'a file that may not be read is named' no_rights
    rm -f "$SETS/secret"
fi

# Jobs that wait for a worker that is not there yet.
later() {
    echo 'cat 3, older' >"$SETS/small/3"
    sum_anew
    sweep later sets/cats 'params: {x: [1]}' 'nodes: [far]'
    before=$(parts)
    good=$(submit later.yaml)
    echo 'cat 3, old' >"$SETS/small/3"
    sweep changed sets/cats 'params: {x: [2]}' 'nodes: [far]'
    submit changed.yaml >bad
    [ "$(parts)" = "$before" ]
    echo 'cat 3, older' >"$SETS/small/3"
    start_worker far
    wait_until 60 ended "$good"
    [ "$(jobs_in 'done' "$good")" = 1 ]
}
it 'a worker that comes later, over SFTP, reads the files where they lie' later

found() {
    wait_until 60 ended "$(cat bad)"
    [ "$(jobs_in failed "$(cat bad)")" = 1 ]
    ludwig jobs "$(cat bad)" --json | grep -q 'sets/cats/small/3 is not what it was when the sweep was submitted'
}
it 'a file that was changed after the submit is found and named' found

both() {
    before=$(parts)
    echo 'cat 3, oldest' >"$SETS/small/3"
    sum_anew
    sweep both sets/cats 'params: {x: [1]}' 'nodes: [near]'
    ludwig_wait submit both.yaml --wait
    [ "$(parts)" -gt "$before" ]
    sweep both sets/cats 'params: {x: [1, 2]}' 'nodes: [far]'
    ludwig_wait submit both.yaml --json >both
    [ "$(json both 'd["queued"]')" = 1 ]
    wait_until 60 ended "$(json both 'd["sweep"]')"
    [ "$(jobs_in 'done' "$(json both 'd["sweep"]')")" = 1 ]
}
it 'it is packed while a worker is there that needs packs, and is the same tree' both

done_testing
