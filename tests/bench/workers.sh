#!/usr/bin/env bash
# workers.sh [COUNT] - COUNT workers connect through one stock sshd at once
#
# Runs in the laboratory of tests/functional/lab.sh, as root: COUNT (200) workers of the service
# account on one node, each with its own state and scratch, connect to a stock sshd (MaxStartups
# 10:30:100). Prints how long it takes until all are up, and what they cost the file server.
. "$(dirname "$0")/../functional/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"

count=${1:-200}
lab_possible || { echo "workers.sh: $lab_lacks" >&2 && exit 1; }
lab_up stock fileserver node1

write_on fileserver /etc/ludwig/ludwigd.yaml <<END
share: /srv/research_data
state: /var/lib/ludwig
worker_users: [ludwig]
END
service fileserver ludwigd ludwigd --config /etc/ludwig/ludwigd.yaml
wait_until 10 test -S "$SHARE/.ludwig/server.sock"

for i in $(seq "$count"); do
    write_on node1 as ludwig "/home/ludwig/w$i/worker.yaml" <<END
server: ssh://ludwig@fileserver
share: /media/research_data
name: w$i
state: /home/ludwig/w$i/state
scratch: /home/ludwig/w$i/scratch
resources: {cpus: 1, gpus: 0, memory: 1GiB}
END
done

up() { on fileserver ludwig --server unix:/run/ludwig/server.sock nodes --json | grep -o '"state":"up"' | wc -l; }
all_up() { [ "$(up)" = "$count" ]; }

start=$(date +%s%N)
service node1 workers as ludwig sh -c "for i in \$(seq $count); do
    ludwig-worker --config ~/w\$i/worker.yaml & done; wait"
wait_until 300 all_up || { echo "only $(up) of $count came up" >&2; exit 1; }
printf '%d workers are up after %.1f s\n' "$count" "$((($(date +%s%N) - start) / 100000000))e-1"

# Of every process of that name on the host: how many, and their proportional memory together.
cost() { # HOST NAME LABEL
    on "$1" sh -c 'for p in /proc/[0-9]*; do
        case $(cat $p/comm 2>/dev/null) in '"$2"') grep ^Pss: $p/smaps_rollup ;; esac; done' |
        awk -v label="$3" -v n="$count" '{ kib += $2 } END {
            printf "%-28s %4d processes, %6.1f MiB, %5.2f MiB a worker\n", label, NR, kib / 1024, kib / 1024 / n }'
}
cost fileserver 'sshd*' 'sshd on the file server:'
cost fileserver ludwigd 'ludwigd:'
cost node1 'ludwig-worker*' 'agents on the node:'
cost node1 ludwig-ssh 'their connections:'
printf 'connections dropped by sshd before they began: %s\n' "$(sshd_log 'drop connection' | wc -l)"
