#!/bin/bash
# broken_node.sh - a node on which every job fails at once gets no more of them, and loses none
. "$(dirname "$0")/lib.sh"

SHARE=$TEST_TMP/share
mkdir "$SHARE" "$SCRATCH" "$TEST_TMP/state"
chmod 0700 "$TEST_TMP/state"
export LUDWIG_SERVER=unix:$TEST_TMP/server.sock

cat >"$TEST_TMP/ludwigd.yaml" <<END
share: $SHARE
state: $TEST_TMP/state
sockets: [$TEST_TMP/server.sock]
avoid_for: 1h
END
ludwigd --config "$TEST_TMP/ludwigd.yaml" 2>>"$TEST_TMP/ludwigd.log" &
wait_until 10 'ludwig status >/dev/null 2>&1'

start_worker() { # NAME CPUS
    mkdir -p "$SCRATCH/$1"
    cat >"$TEST_TMP/$1.yaml" <<END
server: unix:$TEST_TMP/server.sock
share: $SHARE
scratch: $SCRATCH/$1
name: $1
kind: local
state: $TEST_TMP/$1.state
resources: {cpus: $2, gpus: 0, memory: 1GiB}
END
    ludwig-worker --config "$TEST_TMP/$1.yaml" 2>>"$TEST_TMP/$1.log" &
    wait_until 15 is_up "$1"
}

# hoff is a machine on which nothing works.
cat >"$TEST_TMP/job.sh" <<END
echo "\$1 \${PWD#$SCRATCH/}" >>"$TEST_TMP/began"
case \$PWD in
$SCRATCH/hoff/*)
    [ -e "$TEST_TMP/mended" ] || { echo 'RuntimeError: no CUDA device' >&2; exit 1; }
    ;;
*)
    [ ! -e "$TEST_TMP/all-broken" ] || { echo 'ModuleNotFoundError: lion' >&2; exit 1; }
    ;;
esac
echo "\$1" >"\$LUDWIG_SAVE_PATH/result"
sleep \$2
END
sweep_of() { # PROJECT JOBS SECONDS
    printf '%s\n' "project: $1" "command: sh $TEST_TMP/job.sh {x} $3" 'source: []' \
        "params: {x: [$(seq -s, "$2")]}"
}
began_on() { # NODE
    grep -c " $1/" "$TEST_TMP/began"
}
avoided() { # NODE
    ludwig nodes --json | json - "[n['refused'] for n in d['nodes'] if n['node'] == '$1'][0]"
}

start_worker hoff 4
for node in abel blum cori; do
    start_worker "$node" 1
done

black_hole() {
    sweep_of hole 60 0.3 >sweep.yaml
    ludwig submit sweep.yaml --wait 2>err
    [ "$(jobs_in done 1)" = 60 ]
    [ "$(published hole | wc -l)" = 60 ]
    # A failure is known when its files are published; until the third is, free slots take the next jobs.
    echo "hoff: $(began_on hoff)"
    [ "$(began_on hoff)" -le 30 ]
    avoided hoff | tee said
    # Its four begin together, and the others may be known to run only when all of these have failed.
    grep -q '^your jobs avoid it, as [34] configurations failed at once there and others do not elsewhere: RuntimeError: no CUDA device; it is tried again in .* (ludwig undrain hoff: now)$' said
    grep -q ' node-avoided node=hoff ' "$TEST_TMP/ludwigd.log"
    [ "$(ludwig jobs 1 --json | json - 'max(j["attempt"] for j in d["jobs"])')" -le 3 ]
}
it 'no job is lost to it, and none loses a try' black_hole

others() {
    rm "$TEST_TMP/began"
    sweep_of more 6 0.1 >sweep.yaml
    ludwig submit sweep.yaml --wait 2>err
    [ "$(jobs_in done 2)" = 6 ]
    [ "$(began_on hoff)" = 0 ]
}
it "the user's next sweep avoids it as well" others

why() {
    sweep_of slow 12 2 >sweep.yaml
    ludwig submit sweep.yaml 2>err
    ludwig why 3.12 >out
    grep -q '^  hoff: these jobs avoid it (ludwig undrain hoff), as [34] configurations failed' out
    ludwig cancel 3 2>err
    wait_until 30 ended 3
}
it 'why says it of a job that waits' why

mended() {
    touch "$TEST_TMP/mended"
    rm "$TEST_TMP/began"
    ludwig undrain hoff 2>err
    not avoided hoff
    sweep_of again 12 0.5 >sweep.yaml
    ludwig submit sweep.yaml --wait 2>err
    [ "$(jobs_in done 4)" = 12 ]
    [ "$(began_on hoff)" -gt 0 ]
}
it 'undrain trusts it again' mended

# A program that is broken is not blamed on a node: the guard of the sweep holds it.
broken() {
    touch "$TEST_TMP/all-broken"
    sed -i 's/^case/exec >\&2\ncase/; s/no CUDA device/no module/' "$TEST_TMP/job.sh"
    rm "$TEST_TMP/mended"
    sed -i "s/RuntimeError: no module/ModuleNotFoundError: lion/" "$TEST_TMP/job.sh"
    sweep_of broken 40 0.1 >sweep.yaml
    not ludwig submit sweep.yaml --wait 2>err
    [ "$(jobs_in held 5)" -ge 24 ]
    [ "$(jobs_in done 5)" = 0 ]
    wait_until 10 not avoided hoff
}
it 'a program that is broken everywhere is held, and no node is avoided' broken

done_testing
