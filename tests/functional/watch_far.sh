#!/bin/bash
# watch_far.sh - ludwig watch over a line whose round trip takes 200 ms, and over one that is cut
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/lab.sh"
. "$TEST_ROOT/tests/functional/screen.sh"

command -v tmux >/dev/null || lab_lacks='takes tmux'
[ -z "$lab_lacks" ] && lab_possible || {
    skip 'watch over a line of 200 ms' "$lab_lacks"
    done_testing
}

lab_up stock fileserver laptop node1
lab_server
lab_client lab1
lab_worker node1
lab_ready 1

# Ten jobs, of which eight have curves on the screen.
on laptop as lab1 sh -c 'cat >job.sh' <<'END'
for step in 1 2 3; do echo "{\"step\": $step, \"accuracy\": 0.$step}"; done >>"$LUDWIG_METRICS"
for line in $(seq 1000); do echo "job $1 says $line"; sleep 1; done
END
on laptop as lab1 sh -c 'cat >sweep.yaml' <<'END'
project: digits
name: far
order: file
command: sh job.sh {n}
source: job.sh
params: {n: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}
resources: {cpus: 0.1, memory: 20MiB}
END

tm() { on laptop as lab1 env LC_ALL=C.UTF-8 TERM=xterm-256color tmux -f /dev/null -S tmux -u "$@"; }

begins() {
    submit sweep.yaml
    wait_until 60 '[ "$(jobs_in running 1)" = 10 ]'
    delay laptop 200
    service laptop tmux as lab1 env LC_ALL=C.UTF-8 TERM=xterm-256color tmux -f /dev/null -S tmux -u -D
    wait_until 20 tm new-session -d -x 100 -y 30 'ludwig watch'
    shows '10 running'
    shows 'a 1.1 0.3'
    shows 'h 1.8 0.3'
}
it 'jobs and their curves are there' begins

follows() {
    keys 4
    shows 'log of 1.1 '
    shows '^job 1 says'
    keys 2 Right Right
    shows '1.3 running'
    keys 4
    shows '^job 3 says'
    said=$(grep -o '^job 3 says [0-9]*' screen | tail -n 1 | grep -o '[0-9]*$')
    shows "^job 3 says $((said + 5)) *\$"
}
it 'the log of what is chosen is there, and followed' follows

# No answer comes at all, so nothing may have been asked for.
cut_off() {
    keys 2
    cable out laptop
    keys Right Right
    shows '1.5 running'
    keys / 'n > 8' Enter
    shows 'far: n > 8'
    shows '● 2 running'
    keys '?'
    shows 'end the view; the jobs go on'
    keys x
    cable in laptop
    keys Escape g
    shows '1.1 running'
    keys 4
    shows '^job 1 says'
}
it 'the cursor and a filter need no server' cut_off

cancels() {
    keys 2 c
    shows 'Cancel job 1.1[?]'
    keys y
    shows '1 job cancelled'
    keys q
    wait_until 20 not tm has-session
}
it 'a job is cancelled' cancels

done_testing
