#!/bin/bash
# lab_peek.sh - files of running jobs on nodes where each job runs as its user: who may read which
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"

lab_possible || {
    skip 'a running job is looked at from a laptop' "$lab_lacks"
    done_testing
}

lab_up jail fileserver laptop node1
lab_server
lab_worker node1 'resources: {cpus: 4, gpus: 0, memory: 1GiB}'
lab_client lab1
lab_client lab2
mkdir -m 1777 "$TEST_TMP/shown"

# lab1's job points at what only root and lab2 may read.
write_on node1 as lab2 /home/lab2/own <<<'of lab2'
on node1 chmod 0600 /home/lab2/own
write_on laptop as lab1 /home/lab1/work/run.sh <<END
cd "\$LUDWIG_SAVE_PATH"
echo 'step 1' >log.csv
ln -s /home/lab2/own link
ln -s / root
mkdir closed && echo hidden >closed/file && chmod 0 closed
touch $TEST_TMP/shown/written
sleep 1000
END
write_on laptop as lab1 /home/lab1/work/sweep.yaml <<'END'
project: demo
command: sh run.sh
source: run.sh
END

prepared() {
    lab_ready 1
    on laptop as lab1 sh -c 'cd work && ludwig submit sweep.yaml'
    wait_until 60 test -e "$TEST_TMP/shown/written"
}
it 'a job of lab1 runs on a node' prepared

own() {
    on laptop as lab1 ludwig peek 1.1 >out
    grep -q ' log.csv$' out
    [ "$(on laptop as lab1 ludwig peek 1.1 log.csv)" = 'step 1' ]
}
it 'lab1 sees its files from a laptop that has no share' own

others() {
    local status=0
    on laptop as lab2 ludwig peek 1.1 log.csv >out 2>err || status=$?
    [ $status = 4 ]
    [ ! -s out ]
    grep -qx 'ludwig: sweep 1 belongs to lab1; you may see only how far it is' err
    [ "$(admin peek 1.1 log.csv)" = 'step 1' ]
}
it 'lab2 does not, and admins do' others

# Also for an admin the child has lab1's rights, and follows no symlink.
as_its_user() {
    not admin peek 1.1 link 2>err
    grep -qx 'ludwig: job 1.1: link is a symlink, which is not followed' err
    not admin peek 1.1 root/etc/shadow >out 2>err
    [ ! -s out ]
    grep -q 'leads through a symlink' err
    not admin peek 1.1 closed/file 2>err
    grep -qi 'permission denied' err
}
it 'root reads no more of it than lab1 could' as_its_user

[ $test_failed = 0 ] || lab_logs
done_testing
