#!/bin/bash
# lab_sweep.sh - a sweep from the laptop runs on the nodes, however sshd is set up
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"

lab_possible || {
    skip 'a sweep from the laptop runs on the nodes' "$lab_lacks"
    done_testing
}

lab_up stock
lab_server
for node in node1 node2 node3; do
    lab_worker $node 'resources: {cpus: 2, gpus: 0, memory: 1GiB}'
done
lab_client lab1
lab_client lab2

# Jobs wait for each other, so that all nodes must take part.
mkdir -m 1777 "$TEST_TMP/met"
for user in lab1 lab2; do
    write_on laptop as $user /home/$user/work/job.sh <<END_OF_JOB
touch $TEST_TMP/met/\$1-\$(hostname)
until [ "\$(ls $TEST_TMP/met | grep -c "^\$1-node")" = 3 ]; do sleep 0.3; done
echo "\$(id -un) \$(id -G) \$(umask) \$HOME" >"\$LUDWIG_SAVE_PATH/who"
cat "\$LUDWIG_DATA/corpora/words"
ludwig report score=\$2
hostname >"\$LUDWIG_SAVE_PATH/where"
END_OF_JOB
    echo "words of $user" | write_on laptop as $user /home/$user/work/corpora/words
done

sweep_file() { # USER PROJECT
    write_on laptop as "$1" "/home/$1/work/sweep.yaml" <<END_OF_SWEEP
project: $2
command: sh job.sh $2 {a}
source: job.sh
data: [corpora]
params: {a: [1, 2, 3]}
reps: 2
END_OF_SWEEP
}

runs() { # MODE
    local project=$1
    sweep_file lab1 "$project"
    ludwig submit work/sweep.yaml --wait >id 2>messages || { cat messages && return 1; }
    sweep=$(cat id)
    json <(ludwig results "$sweep" --json) '[r["metrics"]["score"]["mean"] for r in d["results"]] == [1, 2, 3]'
    json <(ludwig results "$sweep" --json) 'all(r["n"] == 2 for r in d["results"])'
    [ "$(published "$project" | wc -l)" = 6 ]
    cat "$SHARE/$project"/runs/*/*/where | sort | uniq -c | tee hosts
    [ "$(wc -l <hosts)" = 3 ]
    [ "$(ludwig logs "$sweep.1")" = 'words of lab1' ]
    ludwig fetch "$sweep" "fetched-$project"
    [ "$(as_user lab1 sh -c "cat fetched-$project/runs/*/*/who" | sort -u)" = 'lab1 2001 2000 0027 /home/lab1' ]
}

# All of it belongs to the user and is readable for the group.
owned() { # PROJECT USER
    [ "$(stat -c '%u %g %a' "$SHARE/$1")" = "$2 2000 2750" ]
    find "$SHARE/$1" -not -uid "$2" -o -not -gid 2000 | tee strange
    [ ! -s strange ]
    find "$SHARE/$1" -perm /027 -not -type l -not \( -type d -perm 2750 \) | xargs -r stat -c '%A %n' |
        grep -v '^.\{4\}r-[-xs]---' | tee open
    [ ! -s open ]
}

it 'three workers came over SSH' 'lab_ready 3; admin nodes'

for mode in stock noforward jail jail-noforward; do
    it "$mode: a sweep runs on all nodes, results, logs and files come back" "
        sshd_mode $mode
        lab_ready 3
        runs $mode"
    it "$mode: its files belong to the user, and are its group's to read" "owned $mode 2001"
done

# A key that may run the bridge and nothing else: who has it, has the share mounted.
it 'bridge: so it does with keys that may only run the bridge' '
    sshd_mode bridge
    mount_share laptop
    lab_client lab1 "share: /media/research_data"
    lab_ready 3
    runs bridge'

both() {
    sshd_mode jail
    unmount_share laptop
    lab_client lab1
    lab_ready 3
    sweep_file lab1 of-lab1
    sweep_file lab2 of-lab2
    ludwig submit work/sweep.yaml --wait >/dev/null &
    as_user lab2 ludwig submit work/sweep.yaml --wait
    wait $!
    [ "$(cat "$SHARE"/of-lab1/runs/*/*/who | sort -u)" = 'lab1 2001 2000 0027 /home/lab1' ]
    [ "$(cat "$SHARE"/of-lab2/runs/*/*/who | sort -u)" = 'lab2 2002 2000 0027 /home/lab2' ]
    owned of-lab1 2001
    owned of-lab2 2002
}
it 'two users at once: each job runs as its owner' both

same_name() {
    sweep_file lab2 of-lab1
    as_user lab2 ludwig submit work/sweep.yaml --wait >/dev/null 2>err
    grep -q "project of-lab1 is another user's; yours is of-lab1.lab2" err
    [ "$(cat "$SHARE"/of-lab1.lab2/runs/*/*/who | sort -u)" = 'lab2 2002 2000 0027 /home/lab2' ]
    [ "$(cat "$SHARE"/of-lab1/runs/*/*/who | sort -u)" = 'lab1 2001 2000 0027 /home/lab1' ]
    owned of-lab1.lab2 2002
    sweep_file lab2 of-lab1.lab1
    status=0
    as_user lab2 ludwig submit work/sweep.yaml 2>err || status=$?
    cat err
    [ $status != 0 ]
}
it "a project whose name another user has is one's own, and another's is refused" same_name

following() {
    write_on laptop as lab1 /home/lab1/work/slow.sh <<END_OF_JOB
echo begins
until [ -e $TEST_TMP/gates/go ]; do sleep 0.3; done
echo ends
END_OF_JOB
    printf '%s\n' 'project: slow' 'command: sh slow.sh' 'source: slow.sh' |
        write_on laptop as lab1 /home/lab1/work/slow.yaml
    sweep=$(submit work/slow.yaml)
    ludwig logs -f "$sweep.1" >followed &
    wait_until 20 grep -q begins followed
    open go
    wait $!
    [ "$(cat followed)" = "$(printf 'begins\nends')" ]
}
it 'logs -f shows what a job prints while it runs' following

doctor() { # MODE WAY
    sshd_mode "$1"
    lab_ready 3
    ludwig doctor >report || { cat report && return 1; }
    cat report
    grep -q "$2" report
}
it 'doctor says that the way is stream-local' 'doctor jail stream-local'
it 'doctor says that the way is the bridge, and what would be faster' '
    doctor noforward bridge
    grep -q "AllowTcpForwarding\|AllowStreamLocalForwarding" report'
it 'doctor says that the way is store-and-forward, and what would be faster' '
    doctor jail-noforward store-and-forward
    grep -q "AllowTcpForwarding\|AllowStreamLocalForwarding" report'

done_testing
