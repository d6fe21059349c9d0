#!/bin/bash
# at_boot.sh - a server of one's own that comes back after a reboot, and what is said while it is away
# shellcheck disable=SC2016 # the bodies are evaluated later
. "$(dirname "$0")/lib.sh"

configure "share: $SHARE" 'resources: {cpus: 1, gpus: 0, memory: 1GiB}'
write_job 'gate x'
cat >sweep.yaml <<'END'
command: sh job.sh
source: job.sh
END

# Elsewhere it may be that systemd answers; crontab is what is tried here.
mkdir no-systemd
printf '#!/bin/sh\nexit 1\n' >no-systemd/systemctl
chmod +x no-systemd/systemctl
PATH=$PWD/no-systemd:$PATH

says_nothing_runs() {
    not ludwig status 2>err
    grep -q '^ludwig: no server of yours is running here (`ludwig up` starts one' err
    submit sweep.yaml
    wait_until 20 '[ "$(jobs_in running 1)" = 1 ]'
    ludwig down
    not ludwig jobs 1 2>err
    grep -q 'no server of yours is running here; when it stopped, 1 sweep was not over: `ludwig up` goes on with it' err
    grep -q "$SHARE" err
    not ludwig status --json 2>err
    [ "$(wc -l <err)" = 1 ]
    ludwig up
    open x
    wait_until 20 ended 1
    ludwig down
    not ludwig status 2>err
    grep -q 'no server of yours is running here, and no sweep is unfinished' err
}

# What is over is read all the same, and what is not as far as it has come.  Nothing goes on meanwhile.
reads_without() {
    printf '%s\n' 'project: read' 'command: ludwig report loss={a}' 'source: []' 'params: {a: [3, 1, 2]}' >read.yaml
    ludwig_wait submit read.yaml --wait
    rm -f "$TEST_TMP/gates/x"
    id=$(submit sweep.yaml --reuse none)
    wait_until 20 '[ "$(jobs_in running '"$id"')" = 1 ]'
    ludwig results "$((id - 1))" --json >before
    ludwig best "$((id - 1))" >best
    ludwig down
    ludwig results "$((id - 1))" --json >after 2>err
    cmp before after
    grep -q "note: no server of yours is running here; when it stopped, 1 sweep was not over" err
    ludwig best "$((id - 1))" 2>/dev/null | cmp best -
    ludwig fetch "$((id - 1))" fetched 2>/dev/null
    [ "$(find fetched/runs -name job.json | wc -l)" = 3 ]
    for n in 1 2 3; do # one after the other, as the database is one
        ludwig best "$((id - 1))" >"best$n" 2>/dev/null &
    done
    wait
    for n in 1 2 3; do
        cmp best best$n
    done
    [ -z "$(pids_of ludwigd)" ]
    not ludwig jobs 1 2>/dev/null
    ludwig up
    open x
    wait_until 20 ended "$id"
}

it 'while it is away, it is said whether something waits for it' says_nothing_runs
it 'results are read nevertheless' reads_without

# ---- crontab, with nothing of the machine's own ----

cron=$(command -v cron || echo "$test_cache/cron/root/usr/sbin/cron")
crontab=$(command -v crontab || echo "$test_cache/cron/root/usr/bin/crontab")
if [ "$(id -u)" != 0 ] || [ ! -x "$cron" ] || [ ! -x "$crontab" ]; then
    skip 'crontab starts it' "takes root and cron (.ci/deps test)"
    done_testing
fi
mkdir bin
ln -s "$crontab" bin/crontab
mkdir -p /var/spool/cron 2>/dev/null

in_crontab() { # COMMAND...: with a spool of the test's own
    unshare -m --propagation private sh -ec 'spool=$1; shift
        mount -t tmpfs test /var/spool/cron && mkdir -m 1730 /var/spool/cron/crontabs
        cp -p "$spool"/* /var/spool/cron/crontabs/ 2>/dev/null || true
        "$@"; status=$?
        rm -f "$spool"/*; cp -p /var/spool/cron/crontabs/* "$spool"/ 2>/dev/null || true
        exit $status' sh "$PWD/spool" env PATH="$PWD/bin:$PATH" "$@"
}
mkdir spool

adds() {
    printf '# of mine\n5 5 * * * true\n' >mine
    in_crontab crontab mine
    in_crontab ludwig up --at-boot 2>err
    grep -q '^added a line to your crontab' err
    grep -q 'after a reboot `ludwig up` runs by itself; `ludwig down --at-boot` undoes this' err
    in_crontab crontab -l >lines
    grep -qx '5 5 \* \* \* true' lines
    grep -q "^@reboot .*XDG_STATE_HOME='$XDG_STATE_HOME' .*'$LUDWIG_BIN/ludwig' up >/dev/null 2>&1 # ludwig up --at-boot\$" lines
    # Said again, it is there once.
    in_crontab ludwig up --at-boot
    [ "$(in_crontab crontab -l | grep -c @reboot)" = 1 ]
    ludwig down
}
it 'ludwig up --at-boot adds a line to the crontab' adds

boots() {
    [ -z "$(pids_of ludwigd)" ]
    # A machine that boots: cron begins, and has not been there since.
    setsid unshare -m -p -f --kill-child --propagation private sh -ec '
        mount -t tmpfs test /run && mount -t tmpfs test /var/spool/cron && mkdir -m 1730 /var/spool/cron/crontabs
        cp -p "$1"/* /var/spool/cron/crontabs/
        mount -t proc test /proc
        exec "$2" -f' sh "$PWD/spool" "$cron" >cron.log 2>&1 </dev/null &
    booted=$!
    wait_until 60 ludwig status || { cat cron.log && return 1; }
    ludwig status --json | json - '[s["sweep"] for s in d["sweeps"]] == [1]'
    kill $booted
}
it 'cron starts it when the machine boots' boots

takes_out() {
    in_crontab ludwig down --at-boot 2>err
    grep -qx 'took the line out of your crontab' err
    in_crontab crontab -l >lines
    not grep -q reboot lines
    grep -qx '5 5 \* \* \* true' lines
    in_crontab ludwig down --at-boot 2>err
    grep -qx 'nothing starts ludwig at boot here' err
}
it 'ludwig down --at-boot takes it out, and nothing else' takes_out

done_testing
