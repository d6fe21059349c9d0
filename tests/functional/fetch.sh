#!/bin/bash
# fetch.sh - the results of a sweep, copied from the shared drive
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0, memory: 1GiB}'

cat >job.sh <<'END'
mkdir "$LUDWIG_SAVE_PATH/model"
head -c 300000 /dev/urandom >"$LUDWIG_SAVE_PATH/model/weights"
printf '#!/bin/sh\n' >"$LUDWIG_SAVE_PATH/run"
chmod +x "$LUDWIG_SAVE_PATH/run"
ln -s weights "$LUDWIG_SAVE_PATH/model/link"
echo "job $LUDWIG_JOB"
[ "$1" != 2 ] || exit 1
END
printf '%s\n' 'project: demo' 'command: sh job.sh {x}' 'source: job.sh' 'params: {x: [1, 2]}' 'reps: 2' >sweep.yaml

stamps() { # FOLDER PART
    (cd "$1" && find "$2" -type f -printf '%p %Ts ' -a \( -perm /100 -printf 'x\n' -o -printf '\n' \)) | sort
}

# Below DIR all is as on the share, times too, and nothing else is there.
same() { # DIR PART...
    local part
    for part in "${@:2}"; do
        diff -r --no-dereference "$SHARE/demo/$part" "$1/$part"
        stamps "$SHARE/demo" "$part" >"$TEST_TMP/on-the-share"
        stamps "$1" "$part" | cmp "$TEST_TMP/on-the-share" -
    done
    [ "$(find "$1" -mindepth 1 -maxdepth 1 ! -name .ludwig-results -printf '%f\n' | sort | tr '\n' ' ')" = "$(printf '%s ' "${@:2}")" ]
    [ "$(find "$1" -name '.ludwig*')" = "$1/.ludwig-results" ]
}

fetched() {
    not ludwig_wait submit sweep.yaml --wait
    ludwig fetch 1 >out
    grep -q '^2 jobs in demo-1: ' out
    same demo-1 runs
    [ -x "$(find demo-1 -name run | head -n 1)" ]
    [ "$(find demo-1 -type l | wc -l)" = 2 ]
    [ -f demo-1/runs/param_001/param2val.yaml ]
    [ ! -e demo-1/runs/param_002 ] || [ -z "$(ls demo-1/runs/param_002)" ]
}
it 'fetch copies the run folders of jobs that are done, as they are' fetched

again() {
    ludwig fetch last >out
    grep -q ': 0 files copied (0 B), ' out
    weights=$(find demo-1 -name weights | head -n 1)
    inode=$(stat -c %i "$weights")
    echo shorter >"$weights"
    rm "$(find demo-1 -name weights | tail -n 1)"
    touch -d yesterday demo-1/runs/param_001/param2val.yaml
    ludwig fetch 1 >out
    grep -q ': 3 files copied ' out
    same demo-1 runs
    [ "$(stat -c %i "$weights")" != "$inode" ]
}
it 'what is there already is left alone, what differs is copied again' again

more() {
    ludwig fetch 1 all --logs --failed >out
    same all failed logs runs
    [ "$(find all/logs -name '*.log' | wc -l)" = 4 ]
    [ "$(find all/failed -name job.json | wc -l)" = 2 ]
}
it '--logs and --failed bring those too' more

reused() {
    ludwig_wait submit sweep.yaml --set x=1 --reps 3 --wait >id
    id=$(cat id)
    [ "$(ludwig status "$id" --json | json - 'd["reused"]')" = 2 ]
    ludwig fetch "$id" reused --logs >out
    grep -q '^3 jobs in reused: ' out
    [ "$(find reused/runs -name weights | wc -l)" = 3 ]
    [ "$(find reused/logs/1 -name '*.log' | wc -l)" = 2 ]
    [ "$(find "reused/logs/$id" -name '*.log' | wc -l)" = 1 ]
}
it 'results that were taken over from an earlier sweep come too, with their logs' reused

missing() {
    run=$SHARE/$(job 1.1 'j["run_path"]')
    mv "$run" "$run.away"
    status=0
    ludwig fetch 1 missing >out 2>err || status=$?
    mv "$run.away" "$run"
    [ $status = 1 ]
    grep -q '1 job missing' out
    grep -q 'job 1.1 ' err
    [ "$(find missing -name weights | wc -l)" = 1 ]
}
it 'a result that is gone from the share is told, and the rest is copied' missing

unreadable() {
    run=$SHARE/$(job 1.1 'j["run_path"]')
    (cd "$run" && mkdir -p "a/$(printf 'd/%.0s' {1..250})")
    echo whole >"$run/z"
    status=0
    ludwig fetch 1 unreadable >out 2>err || status=$?
    rm -r "${run:?}/a" "${run:?}/z"
    [ $status = 1 ]
    grep -q '^1 job in unreadable: .*, 1 could not be read$' out
    [ "$(grep -c '^note: not copied: .*deep' err)" = 1 ]
    [ -n "$(find unreadable -name z)" ]
    [ "$(find unreadable -name weights | wc -l)" = 2 ]
}
it 'what cannot be read is told, and the rest is copied' unreadable

interrupted() {
    # Another fetch holds the folder.
    mkdir held
    python3 -c 'import fcntl, os, time; fcntl.flock(os.open("held", os.O_RDONLY), fcntl.LOCK_EX); open("locked", "w"); time.sleep(60)' &
    wait_until 10 '[ -e locked ]'
    not ludwig fetch 1 held 2>err
    grep -q 'another fetch writes into held' err
    kill $!
    wait $! || true
    # What a fetch that was killed had begun.
    mkdir -p held/runs/param_001
    echo half >held/runs/param_001/.ludwig-fetch.0123456789abcdef0123456789abcdef.part
    ludwig fetch 1 held
    diff -r --no-dereference demo-1 held
}
it 'two do not write into one folder, and what one left half-done is made whole' interrupted

in_steps() {
    size=$(stat -c %s "$(find demo-1 -name weights | head -n 1)")
    [ "$size" = 300000 ]
    # A link that an earlier content left leads nowhere else.
    mkdir victim escape
    ln -s ../victim escape/runs
    not ludwig fetch 1 escape 2>err
    [ -z "$(ls victim)" ]
}
it 'links in the folder that is copied to are not followed' in_steps

holes() {
    cat >hole.sh <<'END'
cd "$LUDWIG_SAVE_PATH"
printf begin >hole && truncate -s 300M hole && printf end >>hole && truncate -s 600M hole
truncate -s 100M nothing
head -c 300000 /dev/zero >zeros
printf 'a%.0s' $(seq 5000) >dense && head -c 20000 /dev/zero >>dense && echo b >>dense
END
    printf '%s\n' 'project: holes' 'command: sh hole.sh' 'source: hole.sh' >holes.yaml
    ludwig_wait submit holes.yaml --wait
    ludwig fetch last holes
    cmp "$SHARE"/holes/runs/*/*/dense holes/runs/*/*/dense
    cmp "$SHARE"/holes/runs/*/*/zeros holes/runs/*/*/zeros
    [ "$(stat -c %s holes/runs/*/*/hole)" = $((600 << 20)) ]
    [ "$(stat -c %s holes/runs/*/*/nothing)" = $((100 << 20)) ]
    [ "$(head -c 5 holes/runs/*/*/hole)" = begin ]
    [ "$(tail -c +$(((300 << 20) + 1)) holes/runs/*/*/hole | head -c 3)" = end ]
    [ "$(du -sk holes | cut -f 1)" -lt 1000 ]
}
it 'holes stay holes' holes

safe_links() {
    cat >links.sh <<'END'
cd "$LUDWIG_SAVE_PATH"
mkdir -p a/b
ln -s ../a/b near && ln -s b a/next && ln -s . a/here && ln -s ../../../.. up && ln -s ../../../../x out
ln -s /etc absolute && ln -s a/here/../../../../.. hidden && ln -s nowhere dangling
END
    printf '%s\n' 'project: links' 'command: sh links.sh' 'source: links.sh' >links.yaml
    ludwig_wait submit links.yaml --wait
    ludwig fetch last links --all-links >out
    [ "$(find links -type l | wc -l)" = 8 ]
    ludwig fetch last safe >out
    [ "$(wc -l <out)" = 1 ]
    grep -q '4 links out of it left out (--all-links copies them)' out
    [ "$(find safe -type l -printf '%f\n' | sort | tr '\n' ' ')" = 'dangling here near next ' ]
}
it 'links that lead out of it are left out, unless they are asked for' safe_links

marked() {
    [ "$(wc -l <demo-1/.ludwig-results)" = 1 ]
    rm demo-1/.ludwig-results
    ludwig fetch 1
    [ -f demo-1/.ludwig-results ]
    # A folder with things of its own may be somebody's source.
    mkdir mine
    echo print >mine/train.py
    ludwig fetch 1 mine
    [ -d mine/runs ]
    [ ! -e mine/.ludwig-results ]
}
it 'the folder says what it is, unless the user has things in it' marked

mistakes() {
    status=0
    ludwig fetch 1 sweep.yaml 2>err || status=$?
    [ $status = 2 ]
    grep -q 'sweep.yaml is a file; DIR must be a folder' err
    status=0
    ludwig fetch 99 2>err || status=$?
    [ $status = 1 ]
    grep -q 'no sweep 99' err
    not ludwig fetch 1.1 2>err
    not ludwig fetch 1 /proc/nowhere 2>err
    grep -q /proc/nowhere err
}
it 'mistakes are told' mistakes

done_testing
