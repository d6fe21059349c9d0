#!/usr/bin/env bash
# slurm_bundle.sh - `make bundle`, unpacked in a user's home: pilots run it on nodes that have none of its libraries
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/slurm.sh"
slurm_possible || { skip 'pilots from the bundle' "$slurm_lacks" && done_testing; }
if [ "$(id -u)" != 0 ] || sanitized; then
    skip 'pilots from the bundle' 'takes root, and programs as they are installed'
    done_testing
fi
slurm_up

home=$(mktemp -d "$SLURM/bundle.XXXXXX")
trap 'rm -rf "$home"; '"$(trap -p EXIT | sed "s/^trap -- '\(.*\)' EXIT$/\1/")" EXIT
chown 2001:2001 "$home"

as_alice() { # COMMAND...
    slurm_as alice env -C "$home" HOME="$home" PATH="$home/ludwig/bin:$SLURM/bin:/usr/bin:/bin" "$@"
}

unpacks() {
    make_bundle
    as_alice tar -xz <"$(echo ludwig-*.tar.gz)"
    mv "$home"/ludwig-* "$home/ludwig"
    as_alice ludwig version | grep '^ludwig '
}

# As root's Slurm jobs, which see what later ones see.
on_each_node() { # SHELL-TEXT
    local node
    for node in node1 node2 node3; do
        sbatch --parsable -W -w $node -p debug -o "$TEST_TMP/$node.out" --wrap "$1" ||
            { cat "$TEST_TMP/$node.out" && return 1; }
    done
}

# But what Slurm itself needs to start a job.
hides() {
    local name libraries=()
    # shellcheck disable=SC2016 # for the job, which slurmstepd has started
    on_each_node 'cat "/proc/$PPID/maps"'
    for name in "$home"/ludwig/lib/*; do
        name=${name##*/}
        grep -q "/$name" "$TEST_TMP/node1.out" ||
            libraries+=("$(ldd "$LUDWIG_BIN"/ludwig* | awk -v name="$name" '$1 == name { print $3; exit }')")
    done
    echo "hidden: ${libraries[*]}"
    slurm_changes
    [[ " ${libraries[*]} " = *libuv* ]]
    on_each_node "set -e; for file in ${libraries[*]}; do mount --bind /dev/null \"\$(realpath \"\$file\")\"; done"
    on_each_node "! '$LUDWIG_BIN/ludwig-worker' version"
    [ "$(cat "$TEST_TMP"/node?.out | grep -c 'error while loading shared libraries')" = 3 ]
}

runs() {
    local id
    printf '%s\n' 'readlink "/proc/$PPID/exe"' 'env' 'ludwig report score=$1.5' 'echo "$1" >"$LUDWIG_SAVE_PATH/value"' |
        as_alice tee "$home/job.sh" >/dev/null
    printf '%s\n' 'project: bundled' 'command: sh job.sh {a}' 'source: job.sh' 'params: {a: [1, 2]}' \
        'resources: {cpus: 1, memory: 100MiB}' 'slurm: {partition: short}' | as_alice tee "$home/sweep.yaml" >/dev/null
    id=$(as_alice timeout 600 ludwig submit sweep.yaml --wait)
    as_alice ludwig results "$id" --json | json - 'sorted(x["metrics"]["score"]["mean"] for x in d["results"]) == [1.5, 2.5]'
    as_alice ludwig jobs "$id" --json | json - '{j["partition"] for j in d["jobs"]} == {"short"}'
    as_alice ludwig logs "$id.1" >log
    grep -qx "$home/ludwig/bin/ludwig-worker" log
    not grep -E '^LD_|/ludwig/lib' log
}

it 'a user unpacks it in the home' unpacks
it 'nodes without the libraries that it brings along' hides
it 'pilots run it from there, and their jobs see nothing of it' runs
done_testing
