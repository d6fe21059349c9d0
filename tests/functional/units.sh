#!/bin/bash
# shellcheck disable=SC2016 # for jobs
# units.sh - ludwigd and a worker do their work with the capabilities that their systemd units leave them
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"

lab_possible || {
    skip 'the units leave enough rights' "$lab_lacks"
    done_testing
}
lab_up stock fileserver node1

kept() { # UNIT: for setpriv
    sed -n 's/^CapabilityBoundingSet=//p' "$TEST_ROOT/examples/systemd/$1.service" | tr 'A-Z ' 'a-z,' |
        sed 's/cap_/+/g; s/^/-all,/'
}
# As lab_server and lab_worker start them.
eval "$(declare -f lab_server | sed 's/service fileserver ludwigd ludwigd/service fileserver ludwigd setpriv --no-new-privs --bounding-set '"$(kept ludwigd)"' ludwigd/')"
eval "$(declare -f lab_worker | sed 's/worker ludwig-worker/worker setpriv --bounding-set '"$(kept ludwig-worker)"' ludwig-worker/')"
lab_server
lab_worker node1 'resources: {cpus: 4, gpus: 0, memory: 1GiB}' 'private_tmp: yes' 'rlimits: {open_files: 10000}'

as() { on fileserver as "$@"; }
for user in lab1 lab2; do
    echo 'server: unix:/srv/research_data/.ludwig/server.sock' |
        write_on fileserver as $user "/home/$user/.config/ludwig/config.yaml"
done
# The mask of the capabilities that a unit leaves.
mask() { # UNIT
    python3 - "$(sed -n 's/^CapabilityBoundingSet=//p' "$TEST_ROOT/examples/systemd/$1.service")" <<'END'
import re, sys
numbers = dict(re.findall(r"^#define (CAP_\w+)\s+(\d+)$", open("/usr/include/linux/capability.h").read(), re.M))
print("%016x" % sum(1 << int(numbers[name]) for name in sys.argv[1].split()))
END
}
sets_of() { # MACHINE SERVICE: the sets that say what it may, and what those that it starts may
    on "$1" grep -E '^(CapPrm|CapEff|CapBnd|NoNewPrivs):' "/proc/$(on "$1" cat "/run/service/$2")/status" | tr -s '\t ' ' '
}

state() { # USER SWEEP
    sweep_state "$2" as "$1"
}
sweep() { # USER PROJECT COMMAND LINE...: its number in $id
    printf '%s\n' "project: $2" "command: $3" 'source: []' "${@:4}" | write_on fileserver as "$1" "/home/$1/sweep.yaml"
    id=$(as "$1" ludwig submit sweep.yaml --reuse none --json | json - 'str(d["sweep"])')
}

# In setpriv's absence they give up as much themselves.
gives_up() {
    service_stop fileserver ludwigd
    service_stop node1 worker
    service fileserver ludwigd ludwigd --config /etc/ludwig/ludwigd.yaml
    service node1 worker ludwig-worker --config /etc/ludwig/worker.yaml
    lab_ready 1
    has=$(sets_of fileserver ludwigd)
    echo "$has"
    [ "$has" = "$(printf 'Cap%s: '"$(mask ludwigd)"'\n' Prm Eff Bnd && echo 'NoNewPrivs: 1')" ]
    has=$(sets_of node1 worker)
    may=$(on node1 sed -n 's/^CapPrm:\s*/0x/p' /proc/self/status)
    wanted=$(printf %016x $((0x$(mask ludwig-worker) & may)))
    echo "$has ($wanted)"
    [ "$has" = "$(printf 'Cap%s: '"$wanted"'\n' Prm Eff Bnd && echo 'NoNewPrivs: 0')" ]
    sweep lab1 without-units 'id -u; grep CapBnd /proc/self/status' 'params: {x: [1]}'
    wait_until 30 '[ "$(state lab1 '"$id"')" = done ]'
    as lab1 ludwig logs "$id.1" >said
    cat said
    grep -q 2001 said
}

limited() {
    lab_ready 1
    for of in fileserver:ludwigd node1:worker; do
        bounding=$(on "${of%:*}" sed -n 's/^CapBnd:\s*//p' "/proc/$(on "${of%:*}" cat "/run/service/${of#*:}")/status")
        echo "$of $bounding"
        [ "$bounding" != "$(sed -n 's/^CapBnd:\s*//p' /proc/self/status)" ]
    done
}
it 'they have no more' limited

works() {
    for user in lab1 lab2; do
        sweep $user "of-$user" 'id -u; ulimit -n; echo x >/tmp/mine; ls /tmp; echo {x} >$LUDWIG_SAVE_PATH/out' \
            'params: {x: [1, 2]}' 'private: true'
        wait_until 30 '[ "$(state '"$user $id"')" = done ]'
        [ "$(as $user ludwig logs "$id.1" | tr '\n' ' ')" = "${lab_users[$user]} 10000 mine " ]
        [ -z "$(find "$SHARE/of-$user" -not -uid "${lab_users[$user]}")" ]
    done
    [ "$(stat -c '%a %G' "$SHARE/of-lab1")" = '700 UNKNOWN' ] || [ "$(stat -c '%a' "$SHARE/of-lab1")" = 700 ]
}
it 'ludwigd makes folders for users, and the worker runs jobs as them' works

ends() {
    sweep lab1 stops 'env -i setsid sleep 1001 & sleep 1; kill -STOP $PPID; sleep 1002' 'resources: {time: 3s}' 'retry: {max: 0}'
    wait_until 60 '[ "$(state lab1 '"$id"')" = failed ]'
    wait_until 20 not on node1 pgrep -f 'sleep 100[12]'
    sweep lab2 cancelled 'trap "" TERM; sleep 1003'
    wait_until 20 on node1 pgrep -f 'sleep 1003'
    as lab2 ludwig cancel "$id"
    wait_until 60 not on node1 pgrep -f 'sleep 1003'
}
it 'and ends them' ends
it 'started by root alone, without a unit, they keep no more of its rights' gives_up

done_testing
