#!/bin/bash
# checkpoint_signal.sh - jobs are asked to save their state before they are ended
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 4, gpus: 0}'

# Counts up, a step every 20 ms, from where its checkpoint says; saves when it is asked to.
cat >steps.py <<'END'
import os, signal, sys, time
how, to = sys.argv[1], int(sys.argv[2])
state = os.path.join(os.environ["LUDWIG_CHECKPOINT"], "step")
first = int(open(state).read()) if os.path.exists(state) else 0
asked = False
def ask(*_):
    global asked
    asked = True
    print("asked", flush=True)
if how != "deaf":
    signal.signal(signal.SIGUSR1, ask)
print("from", first, flush=True)
for step in range(first, to):
    time.sleep(0.02)
    if asked:
        open(state, "w").write(str(step + 1))
        print("saved", step + 1, flush=True)
        if how == "ends":
            sys.exit(3)
        asked = False
print("over", flush=True)
END

sweep() { # PROJECT COMMAND LINE...
    local project=$1 command=$2
    shift 2
    printf '%s\n' "project: $project" "command: $command" 'source: steps.py' "$@" >"$project.yaml"
}
log_of() { # SWEEP ATTEMPT
    cat "$SHARE"/*/logs/"$1"/*"$2".log
}
fails() { # FILE; prints the sweep's number
    local status=0
    ludwig_wait submit "$1" --wait || status=$?
    [ $status = 1 ]
}

goes_on() {
    # The shell around it would die of the signal.  The first attempt is never over by itself.
    sweep goes-on 'python3 steps.py ends $([ $LUDWIG_RESTART = 0 ] && echo 100000 || echo 1); exit $?' 'resources: {time: 15s}' \
        'checkpoint: {signal: SIGUSR1, grace: 30s}' 'retry: {max: 20, on: [timeout]}'
    ludwig_wait submit goes-on.yaml --wait >id
    job "$(cat id).1" 'j["state"] == "done" and j["attempt"] > 1'
    log_of "$(cat id)" _num0 | grep -qx 'from 0'
    saved=$(log_of "$(cat id)" _num0 | sed -n 's/^saved //p')
    [ "$saved" -gt 0 ]
    log_of "$(cat id)" .a2 | grep -qx "from $saved"
    ludwig logs "$(cat id).1" | grep -qx over
}
it 'a job over its time saves its state, and its next attempt goes on from there' goes_on

deaf() {
    sweep deaf 'python3 steps.py deaf 5000' 'resources: {time: 10s}' \
        'checkpoint: {signal: SIGUSR1, grace: 1h}'
    fails deaf.yaml >id
    job "$(cat id).1" 'j["cause"] == "timeout" and j["signal"] == 15'
}
it 'who does not know the signal is not waited for' deaf

stubborn() {
    sweep stubborn 'python3 steps.py saves 5000' 'resources: {time: 15s}' \
        'checkpoint: {signal: SIGUSR1, grace: 15s}'
    fails stubborn.yaml >id
    job "$(cat id).1" 'j["cause"] == "timeout" and j["signal"] == 15'
    ludwig logs "$(cat id).1" >log
    [ "$(grep -c '^asked' log)" = 1 ]
    grep -q '^saved' log
    not grep -q over log
}
it 'who goes on after it has saved is ended when its grace is over' stubborn

cancelled() {
    sweep cancelled 'python3 steps.py ends 5000' 'checkpoint: {signal: SIGUSR1, grace: 1h}'
    id=$(submit cancelled.yaml)
    wait_until 15 'ludwig logs '"$id"'.1 | grep -q from'
    ludwig cancel "$id" --yes
    wait_until 20 ended "$id"
    [ "$(sweep_state "$id")" = cancelled ]
    not grep -rq asked "$SHARE"/cancelled/logs
}
it 'who is cancelled is not asked' cancelled

done_testing
