#!/bin/bash
# client_connection.sh - the connection breaks in the middle of what a client does
. "$(dirname "$0")/lib.sh"

# Six chunks of at most 1,024 configurations; nobody runs them.
cat >sweep.yaml <<END
project: cut
command: "true {x} {y}"
source: []
nodes: []
params:
  x: [$(seq -s, 1 80)]
  y: [$(seq -s, 1 70)]
END

start() {
    ludwig_wait up
    sed -n 's/^unix://p' "$XDG_STATE_HOME/ludwig/address" >socket
}
it 'a server is there' start

# Behind a proxy that cuts the first connection after N frames.
through_cut() { # up|down N COMMAND...
    local way=$1 n=$2 status=0
    shift 2
    rm -f cut.sock
    python3 -S "$TEST_ROOT/tests/functional/cut.py" "$PWD/cut.sock" "$(cat socket)" "$way" "$n" &
    wait_until 10 '[ -S cut.sock ]'
    ludwig_wait --server "unix:$PWD/cut.sock" "$@" || status=$?
    kill $!
    return $status
}

# hello, begin, 6 chunks, end; welcome, open, 6 taken, submitted
once() { # up|down N
    local before after
    before=$(ludwig status --json | json - 'len(d["sweeps"])')
    through_cut "$1" "$2" submit sweep.yaml --reuse none --json >out
    json out 'd["configs"] == 5600 and d["jobs"] == 5600'
    after=$(ludwig status --json | json - 'len(d["sweeps"])')
    [ "$after" = $((before + 1)) ]
    sweep=$(json out 'd["sweep"]')
    ludwig status "$sweep" --json | json - 'd["jobs"]["queued"] == 5600'
    ludwig cancel "$sweep"
}
for way in up down; do
    for n in 1 2 3 5 8; do
        it "a submit cut after $n frames $way is there once, as a whole" "once $way $n"
    done
done

changed_once() {
    ludwig submit sweep.yaml --reuse none --name again >id
    through_cut down 1 cancel "$(cat id)" 2>err
    grep -q '^5600 jobs cancelled$' err
}
it 'an answer that got lost is given again, with the same number' changed_once

followed() {
    printf 'command: sleep 1\nsource: []\nproject: followed\n' >short.yaml
    through_cut down 5 submit short.yaml --wait >id 2>err
    grep -q 'all 1 done' err
}
it '--wait goes on over a new connection' followed

# The programs of a Slurm in a folder of their own, which scontrol finds as these lines say.
slurm_that() { # LINES
    mkdir -p bin
    printf '#!/bin/sh\nexit 1\n' >bin/sbatch
    printf '#!/bin/sh\n%s\n' "$1" >bin/scontrol
    chmod +x bin/sbatch bin/scontrol
}

login_node() {
    slurm_that 'echo "Slurmctld(primary) at head is UP"'
    ludwig down
    PATH=$PWD/bin:$PATH ludwig_wait up 2>err
    grep -q -e --local err
    [ -z "$(pids_of ludwig-worker)" ]
}
it 'where a Slurm answers no worker is started, unless told' login_node

nobody_would() {
    status=0
    PATH=$PWD/bin:$PATH ludwig_wait submit short.yaml --name never --wait >out 2>err || status=$?
    [ $status = 2 ]
    [ ! -s out ]
    grep -q -e '--local starts a worker on this login node; --partition NAME, or slurm:' err
    not grep -q never <(ludwig status)
    PATH=$PWD/bin:$PATH ludwig_wait submit short.yaml --name later --reuse none >id
    PATH=$PWD/bin:$PATH ludwig_wait submit short.yaml --name told --reuse none --wait --local
    [ -n "$(pids_of ludwig-worker)" ]
    wait_until 30 ended "$(cat id)"
}
it '--wait does not wait where nothing could run the jobs, and says what could' nobody_would

slurm_away() {
    slurm_that 'echo "Slurmctld(primary) at head is DOWN"; exit 1'
    ludwig down
    PATH=$PWD/bin:$PATH ludwig_wait up 2>err
    grep -q -e --local err
    [ -z "$(pids_of ludwig-worker)" ]
}
it 'a login node stays one while its Slurm is away' slurm_away

no_login_node() { # LINES OF scontrol
    slurm_that "$1"
    ludwig down
    find "$TEST_TMP" -name 'login-node-*' -delete # here none has ever answered
    PATH=$PWD/bin:$PATH ludwig_wait submit short.yaml --reuse none --wait
}
it 'Slurm that is down is no reason not to run here' \
    "no_login_node 'echo Slurmctld\\(primary\\) at head is DOWN; exit 1'"
it 'Slurm that hangs is no reason not to run here' "no_login_node 'exec sleep 1000'"
it 'sbatch alone is no reason not to run here' "rm bin/scontrol; no_login_node 'exit 127'"

closed_early() {
    ludwig jobs 1 | head -n 1 >out
    [ "${PIPESTATUS[0]}" = 0 ]
    grep -q '^JOB' out
    status=0
    ludwig status 2>err >/dev/full || status=$?
    [ $status = 1 ]
    grep -q 'write to stdout' err
}
it 'a reader that leaves early is no error, a full disk is one' closed_early

# What is printed must not go into the socket that got the free number.
no_stdout() {
    status=0
    ludwig status 2>err >&- || status=$?
    [ $status = 1 ]
    grep -q 'write to stdout' err
    ludwig status 2>&- >out
    grep -q '^SWEEP' out
}
it 'a closed stdout is an error, a closed stderr is none' no_stdout

harmless() {
    cat >evil.yaml <<'END'
project: evil
source: []
command: printf 'a\033]0;x\007b\n'; exit 1
END
    status=0
    ludwig submit evil.yaml --wait >id 2>err || status=$?
    [ $status = 1 ]
    [ "$(ludwig logs "$(cat id).1")" = "$(printf 'a\033]0;x\007b')" ]
    if command -v script >/dev/null; then
        script -qec "ludwig logs $(cat id).1" /dev/null >out
        grep -qF 'a^[]0;x^Gb' out
    fi
}
it 'what a job prints cannot command a terminal' harmless

done_testing
