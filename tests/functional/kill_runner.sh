#!/bin/bash
# kill_runner.sh - kill -9 of a runner ends its job, which then runs again
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0}'
cat >"$TEST_TMP/daemonize.py" <<'END'
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with open(sys.argv[1], "a") as f:
            f.write("%d\n" % os.getpid())
        time.sleep(600)
    os._exit(0)
os.wait()
END

killed() {
    write_job 'echo $LUDWIG_RESTART >"$LUDWIG_SAVE_PATH/restart"' \
        "[ \$LUDWIG_RESTART != 0 ] || python3 $TEST_TMP/daemonize.py $TEST_TMP/daemons" \
        '[ $1 = 2 ] || [ $LUDWIG_RESTART != 0 ] || gate never' 'gate end'
    printf 'project: p\ncommand: sh job.sh {a}\nsource: job.sh\nparams: {a: [1, 2]}\n' >p.yaml
    id=$(submit p.yaml)
    wait_until 10 '[ "$(recorded "^start ")" = 2 ] && [ "$(wc -l <"$TEST_TMP/daemons")" = 2 ]'
    job=$(sed -n "s/^start $id\.1 .* //p" "$TEST_TMP/records")
    other=$(sed -n "s/^start $id\.2 .* //p" "$TEST_TMP/records")
    runner=$(runner_of "$job")
    [ "$runner" != "$(runner_of "$other")" ]
    tokens=$(cut -d' ' -f2,3 "$TEST_TMP/records")
    kill_hard "$runner"
    wait_until 10 gone "$job"
    wait_until 10 '[ "$(recorded "^start '"$id"'.1 ")" = 2 ]'
    # Its daemon is gone before it runs again, that of the other job is not.
    living=0
    for daemon in $(cat "$TEST_TMP/daemons"); do
        if not gone "$daemon"; then living=$((living + 1)); fi
    done
    [ $living = 1 ]
    kill -0 "$other"
    open end
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
    job "$id.1" 'j["attempt"] == 2'
    job "$id.2" 'j["attempt"] == 1'
    [ "$(grep "^start $id\.1 " "$TEST_TMP/records" | cut -d' ' -f4 | tr '\n' ' ')" = '0 1 ' ]
    [ "$(recorded "^end $id\.1 ")" = 1 ]
    [ "$(recorded "^end $id\.2 ")" = 1 ]
    published p >"$TMPDIR/published"
    [ "$(wc -l <"$TMPDIR/published")" = 2 ]
    folder=$(sed -n "s/^$id\.1 .* 2 //p" "$TMPDIR/published")
    [ "$(cat "$folder/restart")" = 1 ]
    nothing_left
}
it 'its job and all that belongs to it end, and it runs again as attempt 2' killed

agent_and_runner() {
    rm "$TEST_TMP/records" "$TEST_TMP/gates"/*
    write_job '[ $LUDWIG_RESTART != 0 ] || gate never'
    printf 'project: q\ncommand: sh job.sh\nsource: job.sh\n' >q.yaml
    id=$(submit q.yaml)
    wait_until 10 '[ "$(recorded "^start ")" = 1 ]'
    job=$(sed 's/.* //' "$TEST_TMP/records")
    runner=$(runner_of "$job")
    kill_hard $(agents)
    kill_hard "$runner"
    wait_until 10 gone "$job"
    ludwig_wait up
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
    job "$id.1" 'j["attempt"] == 2'
    nothing_left
}
it 'a runner that dies while no agent is there is noticed by the next one' agent_and_runner

# In a control group as systemd's Delegate=yes would give it.
group=
for mount in /sys/fs/cgroup /sys/fs/cgroup/unified; do
    [ ! -e $mount/cgroup.controllers ] || group=$mount/${TEST_TMP##*/}
done
if [ -z "$group" ] || ! mkdir "$group" 2>/dev/null || [ ! -e "$group/cgroup.kill" ]; then
    [ -z "$group" ] || rmdir "$group" 2>/dev/null
    group=
fi
group_is_removed() {
    find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
    [ ! -e "$group" ]
}
clean_up_group() {
    echo 1 >"$group/cgroup.kill"
    wait_until 10 group_is_removed
    test_cleanup
}

# Neither an ancestor nor its environment leads to it.
hidden_daemon() {
    [ -z "$(pids_of ludwigd)" ] || ludwig down
    wait_until 10 '[ -z "$(agents)$(pids_of ludwigd)" ]'
    rm -f "$TEST_TMP/records"
    echo $BASHPID >"$group/cgroup.procs"
    write_job "[ \$LUDWIG_RESTART != 0 ] || env -i PATH=$PATH python3 $TEST_TMP/daemonize.py $TEST_TMP/hidden" \
        '[ $LUDWIG_RESTART != 0 ] || gate never'
    printf 'project: h\ncommand: sh job.sh\nsource: job.sh\n' >h.yaml
    id=$(submit h.yaml)
    wait_until 10 '[ -s "$TEST_TMP/hidden" ] && [ "$(recorded "^start ")" = 1 ]'
    hidden=$(cat "$TEST_TMP/hidden")
    [ "$(ls -d "$group"/ludwig-* | wc -l)" = 1 ]
    grep -qx "$hidden" "$group"/ludwig-*/cgroup.procs
    job=$(sed 's/.* //' "$TEST_TMP/records")
    runner=$(runner_of "$job")
    kill_hard $(agents)
    kill_hard "$runner"
    not gone "$hidden"
    ludwig_wait up
    wait_until 20 '[ "$(sweep_state '"$id"')" = done ]'
    gone "$hidden"
    job "$id.1" 'j["attempt"] == 2'
    nothing_left
    ludwig down
    wait_until 10 '[ -z "$(agents)$(pids_of ludwigd)" ]'
    wait_until 10 '[ -z "$(pids_of --runner)" ]'
}
said='in a control group of its own even what has hidden itself ends with it'
if [ -n "$group" ]; then
    trap clean_up_group EXIT
    it "$said" hidden_daemon
else
    skip "$said" 'takes a cgroup v2 in which groups can be made, with cgroup.kill'
fi

job_killed() {
    rm "$TEST_TMP/records"
    write_job 'gate never'
    printf 'project: r\ncommand: sh job.sh\nsource: job.sh\n' >r.yaml
    id=$(submit r.yaml)
    wait_until 10 '[ "$(recorded "^start ")" = 1 ]'
    kill -KILL "$(sed 's/.* //' "$TEST_TMP/records")"
    wait_until 10 ended "$id"
    job "$id.1" 'j["state"] == "failed" and j["signal"] == 9 and j["attempt"] == 1'
}
it 'kill -9 of the job itself is the job failing, and it does not run again' job_killed

done_testing
