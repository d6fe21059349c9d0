#!/bin/bash
# pause.sh - pause and resume sweeps and jobs
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0}'
printf '%s\n' 'project: p' 'command: sh job.sh {a}' 'source: job.sh' \
    'params: {a: [1, 2, 3, 4, 5, 6], lr: 0.1}' >p.yaml

started() { recorded "^start $1 "; }

pauses() {
    write_job 'gate one'
    id=$(submit p.yaml)
    wait_until 10 '[ "$(started "'"$id"'\.[0-9]+")" = 2 ]'
    ludwig pause "$id" 2>err
    grep -qx '4 jobs paused' err
    [ "$(sweep_state "$id")" = paused ]
    open one
    wait_until 10 '[ "$(jobs_in done '"$id"')" = 2 ]'
    # Both slots are free, and what waits stays where it is.
    [ "$(jobs_in queued "$id")" = 4 ]
    [ "$(started "$id\.[0-9]+")" = 2 ]
    [ "$(sweep_state "$id")" = paused ]
    ludwig pause "$id" 2>err
    grep -qx "sweep $id is paused: there is no further job to keep back" err
    ludwig resume "$id" 2>err
    grep -qx '4 jobs resumed' err
    wait_until 15 '[ "$(sweep_state '"$id"')" = done ]'
    [ "$(recorded "^end $id\.")" = 6 ]
    ludwig pause "$id" 2>err
    grep -qx "sweep $id is over: nothing to pause" err
    ludwig resume "$id" --json >out 2>err
    grep -qx "sweep $id is over: nothing to resume" err
    json out 'd["v"] == 1 and d["jobs"] == 0'
}
it 'a paused sweep starts nothing more, what runs goes on, and resume lets it finish' pauses

pauses_jobs() {
    write_job 'gate two'
    id=$(submit p.yaml --reuse none)
    wait_until 10 '[ "$(started "'"$id"'\.[0-9]+")" = 2 ]'
    ludwig pause "$id.3,5-6" 2>err
    grep -qx '3 jobs paused' err
    [ "$(sweep_state "$id")" = running ]
    ludwig status "$id" | grep -qx "paused  *3 of the jobs that wait (ludwig resume $id)"
    ludwig jobs "$id.3" | grep -q " paused (ludwig resume $id\.3)$"
    status=0
    ludwig jobs "$id" --state paused 2>err || status=$?
    [ $status = 2 ]
    grep -qx "ludwig: --state: paused is no state of a job; paused jobs are queued: --where 'reason = paused'" err
    open two
    wait_until 10 '[ "$(jobs_in done '"$id"')" = 3 ]'
    [ "$(ludwig jobs "$id" --state queued --quiet | tr '\n' ' ')" = "$id.3 $id.5 $id.6 " ]
    # One of them, and then what is left with the whole sweep.
    ludwig resume "$id.5" --json | json - 'd["v"] == 1 and d["jobs"] == 1'
    wait_until 10 '[ "$(jobs_in done '"$id"')" = 4 ]'
    ludwig resume "$id.1" 2>err
    grep -qx "sweep $id: none of these jobs is paused or held: nothing to resume" err
    ludwig resume "$id.3" --quiet
    wait_until 10 '[ "$(jobs_in done '"$id"')" = 5 ]'
    ludwig status "$id" | grep -qx "paused  *1 of the jobs that wait (ludwig resume $id\.6)"
    ludwig resume "$id" --quiet >out 2>&1
    [ ! -s out ]
    wait_until 10 '[ "$(sweep_state '"$id"')" = done ]'
}
it 'single jobs are paused and resumed, and a whole sweep resumes them too' pauses_jobs

pauses_where() {
    write_job 'gate three'
    id=$(submit p.yaml --reuse none)
    wait_until 10 '[ "$(started "'"$id"'\.[0-9]+")" = 2 ]'
    ludwig pause last --where 'a >= 4 and lr < 1' 2>err
    grep -qx '3 jobs paused' err
    [ "$(ludwig jobs last --where 'reason = paused' --quiet | tr '\n' ' ')" = "$id.4 $id.5 $id.6 " ]
    ludwig pause last --where 'a > 6' 2>err
    grep -qx 'no job that waits is one that --where asks for: nothing to pause' err
    status=0
    ludwig pause last --where 'aa > 6' 2>err || status=$?
    [ $status = 2 ]
    grep -qx "ludwig: --where: no job has 'aa' (did you mean 'a'?)" err
    open three
    ludwig resume all
    wait_until 15 '[ "$(sweep_state '"$id"')" = done ]'
}
it 'pause --where takes what the expression names' pauses_where

resumes_in_vain() {
    write_job
    printf '%s\n' 'project: v' 'command: sh job.sh {a}' 'source: job.sh' 'params: {a: [1, 2, 3]}' \
        'resources: {cpus: 4000}' >v.yaml
    id=$(submit v.yaml 2>/dev/null)
    ludwig pause "$id.3" --quiet
    ludwig pause "$id" --quiet
    ludwig status "$id" | grep -qx "state  *paused (ludwig resume $id)"
    not grep -q '^paused' <<<"$(ludwig status "$id")"
    ludwig resume last.2 2>err
    [ "$(cat err)" = "sweep $id is paused as a whole: ludwig resume $id" ]
    ludwig resume last.3 2>err
    [ "$(cat err)" = "1 job resumed
sweep $id is paused as a whole: ludwig resume $id" ]
    ludwig resume "$id" 2>err
    not grep -q 'as a whole' err
    ludwig cancel "$id" --quiet
}
it 'resuming jobs of a paused sweep says that the sweep is what keeps them' resumes_in_vain

stays_paused() {
    write_job 'gate four'
    id=$(submit p.yaml --reuse none)
    wait_until 10 '[ "$(started "'"$id"'\.[0-9]+")" = 2 ]'
    ludwig pause "$id.6" --quiet
    ludwig pause all --quiet
    kill_hard ludwigd
    ludwig_wait up
    [ "$(sweep_state "$id")" = paused ]
    open four
    wait_until 20 '[ "$(jobs_in done '"$id"')" = 2 ]'
    [ "$(started "$id\.[0-9]+")" = 2 ]
    ludwig cancel "$id" --quiet
    wait_until 10 '[ "$(sweep_state '"$id"')" = cancelled ]'
}
it 'what is paused is paused after ludwigd was killed, and can be cancelled' stays_paused

done_testing
