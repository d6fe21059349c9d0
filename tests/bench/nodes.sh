#!/usr/bin/env bash
# nodes.sh [WORKERS [FILES]] - WORKERS stage the same dataset at once from one file server
#
# Runs in the laboratory of tests/functional/lab.sh, as root: first with one worker, then with WORKERS (8) others, spread
# over three nodes.  Each has its own scratch and state, and reaches the share over SFTP.  The dataset has FILES (20000) of
# 8 KiB that cannot be compressed.  Each worker runs four jobs at once, then four more.  The bytes that the file server
# sends are counted at its network interface, SSH included; the time of staging comes from the workers' logs.
workers=${1:-8} files=${2:-20000} jobs=4
. "$(dirname "$0")/../functional/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"

lab_possible || { echo "nodes.sh: $lab_lacks" >&2 && exit 1; }
lab_up stock fileserver node1 node2 node3
for i in 1 2 3; do unmount_share node$i; done

write_on fileserver /etc/ludwig/ludwigd.yaml <<END
share: /srv/research_data
state: /var/lib/ludwig
share_group: lab
END
service fileserver ludwigd ludwigd --config /etc/ludwig/ludwigd.yaml
wait_until 10 test -S "$SHARE/.ludwig/server.sock" || exit

start_worker() { # NUMBER
    local node=node$(($1 % 3 + 1))
    write_on $node as ludwig "/home/ludwig/w$1/worker.yaml" <<END
server: ssh://ludwig@fileserver
name: w$1
state: /home/ludwig/w$1/state
scratch: /home/ludwig/w$1/scratch
resources: {cpus: $jobs, gpus: 0, memory: 1GiB}
END
    service $node "w$1" as ludwig ludwig-worker --config "/home/ludwig/w$1/worker.yaml"
}
log_of() { cat "$LAB/node$(($1 % 3 + 1))/disk/var/log/w$1.log"; }
for ((i = 0; i <= workers; i++)); do start_worker "$i"; done
ask() { on node1 as ludwig ludwig --server ssh://ludwig@fileserver "$@"; }
up() { [ "$(ask nodes --json | grep -o '"state":"up"' | wc -l)" = $((workers + 1)) ]; }
wait_until 120 up || { echo 'nodes.sh: not all workers came up' >&2 && exit 1; }

python3 - "$LAB/node1/disk/home/ludwig/images" "$files" <<'END'
import os, sys
for i in range(int(sys.argv[2])):
    below = f"{sys.argv[1]}/{i // 1000:03}"
    if i % 1000 == 0:
        os.makedirs(below)
    with open(f"{below}/{i:06}", "wb") as f:
        f.write(os.urandom(8192))
END
chown -R 2100:2100 "$LAB/node1/disk/home/ludwig/images"
cd "$LAB/node1/disk/home/ludwig" || exit

sent() { on fileserver sh -c 'cat /sys/class/net/*/statistics/tx_bytes' | awk '{ n += $1 } END { print n }'; }
# Its own listing is no part of what is counted, and neither is what the client sends.
run() { # LABEL WORKERS SEED NODE...: how long it takes, and what the file server sends meanwhile
    local label=$1 n=$2 seed=$3 list before after start id
    shift 3
    list=$(printf '%s, ' "$@")
    printf '%s\n' 'project: demo' "command: test -d \$LUDWIG_DATA/images/000 && sleep 1 && echo {a}" 'source: []' \
        'data: [images]' "params: {a: {range: [$((seed * 1000)), $((seed * 1000 + n * jobs - 1))]}}" "nodes: [${list%, }]" >sweep.yaml
    id=$(ask submit sweep.yaml --json | sed -n 's/.*"sweep": *\([0-9]*\).*/\1/p')
    before=$counted
    start=$(date +%s%N)
    wait_until 600 jobs_ended "$id" || exit
    after=$(sent)
    printf '%-34s %7.1f s until all jobs have ended, %8.1f MiB sent\n' "$label" \
        "$((($(date +%s%N) - start) / 100000000))e-1" "$(((after - before) / 1048576))"
    counted=$after
}
jobs_ended() { ask status "$1" --json | grep -qE '"state": *"done"'; }
staged() { # NUMBER...: the longest and the mean time
    local i
    for i; do log_of "$i" | sed -n "s/.* info staged .*files=$files .*ms=\([0-9]*\).*/\1/p"; done |
        awk -v files="$files" '{ n++; sum += $1; if ($1 > most) most = $1 } END {
            printf "    staged %d times: %.2f s on average, %.2f s at most, %.0f files/s together\n",
                n, sum / n / 1e3, most / 1e3, n * files / most * 1e3 }'
}

# The packs are there before anything is counted.
ask data push images --project demo >/dev/null || exit
names=() numbers=()
for ((i = 1; i <= workers; i++)); do names+=("w$i") numbers+=("$i"); done
printf 'the dataset: %.1f MiB as packs; load %s\n' "$(du -sb "$SHARE/demo/.ludwig/packs" | awk '{ print $1 / 1048576 }')" \
    "$(cut -d' ' -f1-3 /proc/loadavg)"
counted=$(sent)
run 'one worker' 1 1 w0
staged 0
run "$workers workers at once" "$workers" 2 "${names[@]}"
staged "${numbers[@]}"
run 'they again, with other jobs' "$workers" 3 "${names[@]}"
staged "${numbers[@]}"
