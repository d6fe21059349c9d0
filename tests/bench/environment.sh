#!/usr/bin/env bash
# environment.sh STAGE PACKS [MODULES [MS [MACHINES...]]] - importing a large package: from a mount, and staged
#
# Runs in the laboratory of tests/functional/lab.sh, as root.  An environment with a package of MODULES (3000) modules
# lies on the file server's share.  For each number in MACHINES (1 2 4 8), so many machines, spread over three nodes,
# mount the share with sshfs, each its own mount, over a link with a round trip of MS (1) ms.  The mounts have empty caches,
# and nothing is staged.  On all machines at once a job imports the whole package, either from the mount or after ludwig
# has staged the environment's packs over the same mount; then a second job does so on each.
# STAGE and PACKS: see stage.c and packs.c.
here=$(realpath "$(dirname "$0")")
stage=$(realpath "$1") packs=$(realpath "$2") modules=${3:-3000} ms=${4:-1} machines=("${@:5}")
[ ${#machines[@]} != 0 ] || machines=(1 2 4 8)
. "$(dirname "$0")/../functional/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"

lab_possible || { echo "environment.sh: $lab_lacks" >&2 && exit 1; }
command -v sshfs >/dev/null || { echo 'environment.sh: takes sshfs' >&2 && exit 1; }
lab_up stock fileserver node1 node2 node3
install -m 0755 "$stage" "$TEST_TMP/stage" # hosts see nothing else of the machine

/usr/bin/python3 "$here/package.py" "$SHARE/env" "$modules" || exit
mkdir -p "$SHARE/demo/.ludwig"
id=$("$packs" pack "$SHARE/env" "$SHARE/demo/.ludwig/packs" 2>/dev/null) || exit
chown -R 2100:2100 "$SHARE/env" "$SHARE/demo"
du -sm "$SHARE/env" | awk '{ print "the environment: " $1 " MiB on disk" }'
find "$SHARE/env" -type f | awk 'END { print "files: " NR }'

node_of() { echo "node$(($1 % 3 + 1))"; }
mount_it() { # MACHINE
    local node
    node=$(node_of "$1")
    on "$node" sh -c '[ -e /dev/fuse ] || mknod /dev/fuse c 10 229'
    on "$node" mkdir -p "/mnt/$1"
    # Until it is unmounted, so that `on` does not take it along.
    service "$node" "sshfs$1" sshfs -f -o IdentityFile=/home/ludwig/.ssh/id_ed25519,UserKnownHostsFile=/home/ludwig/.ssh/known_hosts \
        ludwig@fileserver:/srv/research_data "/mnt/$1"
    wait_until 20 on "$node" test -d "/mnt/$1/env"
}
unmount_it() { service_stop "$(node_of "$1")" "sshfs$1"; }

by_mount() { # MACHINE
    on "$(node_of "$1")" env "PYTHONPATH=/mnt/$1/env/lib/site-packages" /usr/bin/python3 -c 'import large.all'
}
by_ludwig() { # MACHINE
    # shellcheck disable=SC2016 # for the inner shell
    on "$(node_of "$1")" sh -c 'mkdir -p -m 0700 "$2" && "$1" "/mnt/$4" demo "$2" "$3"' \
        sh "$TEST_TMP/stage" "/processing/out.$1" "$id" "$1" >"$TEST_TMP/staged.$1" && by_ludwig_again "$1"
}
by_ludwig_again() { # MACHINE
    # shellcheck disable=SC2016 # for the inner shell
    on "$(node_of "$1")" sh -c 'PYTHONPATH=$(echo "$1"/cache/[0-9a-f]*)/lib/site-packages exec /usr/bin/python3 -c "import large.all"' \
        sh "/processing/out.$1"
}

# Prints after how many milliseconds the last of the first N machines was through.
timed() { # N FUNCTION
    local start pids=() i
    start=$(date +%s%N)
    for ((i = 0; i < $1; i++)); do
        "$2" "$i" &
        pids+=($!)
    done
    for i in "${pids[@]}"; do
        wait "$i" || { echo "failed: $2" >&2 && exit 1; }
    done
    echo $((($(date +%s%N) - start) / 1000000))
}

declare -A took=()
round() { # N
    local i way
    for way in by_mount by_ludwig; do
        for ((i = 0; i < $1; i++)); do mount_it "$i" || exit; done
        sync
        took[$1 $way]=$(timed "$1" "$way") || exit
        took[$1 $way again]=$(timed "$1" "$([ $way = by_mount ] && echo by_mount || echo by_ludwig_again)") || exit
        for ((i = 0; i < $1; i++)); do unmount_it "$i"; done
    done
    for ((i = 0; i < $1; i++)); do on "$(node_of "$i")" rm -rf "/processing/out.$i"; done
}

for node in node1 node2 node3; do delay $node "$ms"; done
echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
for n in "${machines[@]}"; do
    round "$n"
    for again in '' ' again'; do
        python3 -c 'import sys
n, again, mount, staged = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
print("%2s machine%s, %-10s from the mount %7.2f s   staged by ludwig %6.2f s   %5.1f x" % (
    n, " " if n == "1" else "s", "second job" if again else "first job", mount / 1e3, staged / 1e3, mount / staged))' \
            "$n" "$again" "${took[$n by_mount$again]}" "${took[$n by_ludwig$again]}"
    done
    for ((i = 0; i < n; i++)); do cat "$TEST_TMP/staged.$i"; done | awk '$1 == "stage" { wall += $2; cpu += $3; n++ }
        END { printf "    staging alone, each: %.2f s, of them %.2f s of a processor\n", wall / n / 1e3, cpu / n / 1e3 }'
done
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg)"
