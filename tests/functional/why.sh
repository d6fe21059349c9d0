#!/bin/bash
# why.sh - what keeps a job from running, and what became of it
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 1, gpus: 0}'
write_job 'gate $1'
printf '%s\n' 'project: y' 'command: sh job.sh {gate}' 'source: job.sh' 'params: {gate: [one, two]}' >y.yaml

waits() {
    id=$(submit y.yaml)
    wait_until 10 '[ "$(recorded "^start ")$(jobs_in running '"$id"')" = 11 ]'
    ludwig why "$id.1" >out
    grep -qx "job $id.1: running" out
    grep -qx '  gate=one' out
    grep -q '^  it runs on ' out
    grep -q '^  attempt 1 on .*: began .* (20[0-9-]* [0-9:]*), has run for [0-9]' out
    grep -qx "  its log: ${SHOWN}y/logs/.*" out
    ludwig pause "$id.2" --quiet
    ludwig why last.2 >out
    grep -qx "job $id.2: queued" out
    grep -qF "ludwig resume $id.2" out
    ludwig resume "$id.2" --quiet
    ludwig why "$id.2" | grep -q '^  .*: it is busy\|^  it was given to '
    ludwig cancel "$id.2" --quiet
    ludwig why "$id.2" | grep -qF "ludwig retry $id.2"
    open one
    wait_until 10 ended "$id"
    ludwig why "$id.1" >out
    grep -q "^  it is done; its files: ${SHOWN}y/runs/param_001/" out
    grep -q '^  attempt 1 on .*: began .*, ran for [0-9]' out
    not grep -q 'a retry runs the source' out
}
it 'why follows a job from its place in the queue to its end' waits

impossible() {
    printf '%s\n' 'project: y' 'command: "true"' 'source: []' 'resources: {cpus: 64}' >z.yaml
    id=$(submit z.yaml 2>err)
    grep -q '^note: no worker can run it, so it waits: .*: it needs 64 cpus, and there are 1$' err
    ludwig why "$id.1" | grep -q '^  .*: it needs 64 cpus, and there are 1$'
    ludwig why "$id.1" --json >out
    json out 'd["v"] == 1 and d["job"]["job"] == "'"$id"'.1" and d["job"]["state"] == "queued"'
    json out 'any("it needs 64 cpus" in line for line in d["lines"])'
    ludwig cancel "$id" --quiet
}
it 'a job that no machine can run is told so' impossible

failed() {
    printf '%s\n' 'project: f' 'source: []' \
        'command: sh -c "seq 1 20; printf \"ev\\033[2Jil\\n\"; exit 7"' >f.yaml
    id=$(submit f.yaml)
    wait_until 10 ended "$id"
    ludwig why "$id.1" >out
    grep -qx "job $id.1: failed" out
    grep -qx '  it failed: exit code 7; last line: evil' out
    not grep -q '^  exit code' out
    grep -qx '  a retry runs the source as submitted; after a change of it, submit again (--reuse params keeps what is done)' out
    grep -q "^  what it left: ${SHOWN}f/failed/" out
    # Ten lines, and nothing that a terminal obeys.
    [ "$(sed -n '/^The end of its log/,$p' out | tail -n +2 | tr '\n' ' ')" = '12 13 14 15 16 17 18 19 20 ev^[[2Jil ' ]
    not grep -q "$(printf '\033')" out
    # Not every machine sees the share.
    rm -r "$SHARE/f/logs"
    ludwig why "$id.1" >out 2>err
    [ ! -s err ]
    not grep -q '^The end of its log' out
    grep -qx '  it failed: exit code 7; last line: evil' out
}
it 'of a failed job the reason and the end of its log are shown' failed

exit_codes() {
    printf '%s\n' 'project: c' 'source: []' 'command: sh -c "exit {code}"' 'params: {code: [126, 127, 137, 255]}' >c.yaml
    id=$(submit c.yaml)
    wait_until 10 ended "$id"
    ludwig why "$id.1" | grep -qx '  exit code 126: the command was found and could not be executed'
    ludwig why "$id.2" | grep -qx '  exit code 127: the command was not found'
    ludwig why "$id.3" | grep -qx '  exit code 137: as after signal 9, KILL'
    not grep -q '^  exit code' <<<"$(ludwig why "$id.4")"
}
it 'exit codes that shells use are said in words' exit_codes

again() {
    write_job 'case $1 in first) exit 7;; esac' 'gate $1'
    printf '%s\n' 'project: a' 'command: sh job.sh {gate}' 'source: job.sh' 'params: {gate: [first, second]}' >a.yaml
    id=$(submit a.yaml)
    wait_until 10 '[ "$(jobs_in running '"$id"')$(jobs_in failed '"$id"')" = 11 ]'
    ludwig retry "$id.1" --quiet
    ludwig why "$id.1" >out
    grep -qx "job $id.1: queued" out
    [ "$(grep -c 'exit code 7' out)" = 1 ]
    grep -q '^  attempt 1 on .* was in vain: exit code 7$' out
    open second
    wait_until 10 ended "$id"
    ludwig why "$id.1" >out
    grep -q '^  attempt 2 on .*, ran for ' out
    [ "$(grep -c '^  attempt 1 ' out)" = 1 ]
    ludwig cancel all --quiet
}
it 'a job that waits again says what became of the attempt before' again

refused() {
    for job in all 1.1-2 1.1,2 x; do
        status=0
        ludwig why $job 2>err || status=$?
        [ $status = 2 ]
    done
    ludwig why 1.99 2>err && return 1
    grep -qx 'ludwig: there is no job 1.99' err
}
it 'why takes one job that there is' refused

done_testing
