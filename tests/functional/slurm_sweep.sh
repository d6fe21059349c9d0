#!/usr/bin/env bash
# slurm_sweep.sh - a sweep that names a partition gets pilots there, which work through it and leave
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/slurm.sh"
. "$TEST_ROOT/tests/functional/screen.sh"
slurm_possible || { skip 'pilots' "$slurm_lacks" && done_testing; }
slurm_up
configure 'slurm: {idle: 2s, partitions: {short: {max_pilots: 1}, debug: {idle: 10min}, overcap: {account: hoffman-lab, pilot: {cpus: 2, time: 30min}}}}' 'resources: {cpus: 2}'

sweep() { # NAME SLURM [LINE...]
    printf '%s\n' "project: $1" 'command: sh job.sh' 'params: {n: [1, 2, 3, 4]}' \
        'resources: {cpus: 1, memory: 100MiB, time: 5min}' "slurm: $2" "${@:3}" >"$1.yaml"
}

pilots() {
    squeue -h -o '%A %j %T' | grep ' ludwig-'
}

# Slurm's own id of the only one.
pilot() {
    pilots | cut -d' ' -f1
}

a_pilot() {
    [ -n "$(pilots)" ]
}

no_pilots() {
    [ -z "$(pilots)" ]
}

unasked() {
    local sweep
    sweep plain x
    sed -i '/^slurm/d' plain.yaml
    slurm_rpcs_anew
    sweep=$(submit plain.yaml)
    ludwig status "$sweep"
    ludwig cancel "$sweep"
    [ "$(slurm_rpcs REQUEST_BUILD_INFO)" = 0 ]
}

not_here() {
    local status=0
    ludwig submit plain.yaml --wait >out 2>err || status=$?
    [ $status = 2 ]
    [ ! -s out ]
    grep -q -e '--local starts a worker on this login node; --partition NAME' err
    [ -z "$(agents)" ]
}

jobs_are_done() {
    local sweep
    sweep first '{partition: short}' 'nodes: []'
    write_job 'gate first'
    sweep=$(submit first.yaml)
    wait_until 90 '[ "$(recorded ^start)" = 4 ]'
    ludwig nodes --json | json - '[n["kind"] for n in d["nodes"]] == ["slurm"]'
    open first
    wait_until 60 ended "$sweep"
    [ "$(sweep_state "$sweep")" = done ]
    [ "$(job "$sweep.1" "j['partition']")" = short ]
}

leaves() {
    wait_until 60 no_pilots
    wait_until 30 'ludwig nodes --json | json - "d[\"nodes\"] == []"'
}

refused() {
    local sweep other
    sweep refused '{partition: nope}'
    slurm_rpcs_anew
    sweep=$(submit refused.yaml)
    shown_by_why 30 "$sweep.1" 'nope: .*[Ii]nvalid partition'
    ludwig status "$sweep" | grep -q '^ *Slurm .*[Ii]nvalid partition'
    # Another one, which Slurm was asked for later.
    sweep other '{partition: nope-either}'
    other=$(submit other.yaml)
    shown_by_why 30 "$other.1" 'nope-either: .*[Ii]nvalid partition'
    [ "$(slurm_rpcs REQUEST_SUBMIT_BATCH_JOB)" -le 2 ]
    ludwig status --json | json - 'd["slurm_calls"] > 0'
    ludwig status 2>&1 | grep -q '^Slurm: [0-9]* commands in the last hour'
    ludwig cancel "$sweep" "$other"
}

never() {
    local sweep
    sweep never '{partition: debug}'
    sed -i 's/time: 5min/time: 9h/' never.yaml
    sweep=$(submit never.yaml)
    shown_by_why 60 "$sweep.1" 'debug: .*more time than the partition allows \(PartitionTimeLimit\)'
    wait_until 30 no_pilots
    ludwig cancel "$sweep"
}

waits() {
    local sweep
    sweep waits '{partition: short, extra: ["--begin=now+1hour"]}'
    sweep=$(submit waits.yaml)
    shown_by_why 60 "$sweep.1" 'short: a pilot, Slurm.s job [0-9]+: .*BeginTime'
    shown_by_why 10 "$sweep.1" 'short: .* 1 pilot there, and may have no more \(max_pilots: 1\)'
    ludwig nodes 2>&1 | grep -E "^partition short, for $(id -un): 1 pilot, Slurm.s job [0-9]+: .*BeginTime"
    [ "$(ludwig nodes --json | json - 'd["pilots"][0]["pilots"]')" = 1 ]
    if command -v tmux >/dev/null; then
        tm new-session -d -x 100 -y 24 "exec ludwig watch $sweep"
        shows 'jobs of sweep'
        keys 5
        shows '^  partition short: 1 pilot, Slurm.s job [0-9]+: its begin lies ahead'
        tm kill-server
    fi
    ludwig pause "$sweep"
    why_says "$sweep.1" "sweep $sweep is paused \(ludwig resume $sweep\)"
    wait_until 10 no_pilots
    ludwig resume "$sweep"
    wait_until 10 a_pilot
    ludwig cancel "$sweep"
    wait_until 10 no_pilots
}

# Both would wait for ten minutes for more.
sent_away() {
    local sweep
    : >"$TEST_TMP/records"
    sweep away '{partition: debug}'
    write_job 'gate away'
    sweep=$(submit away.yaml)
    wait_until 90 '[ "$(recorded ^start)" = 4 ]'
    ludwig drain "$(ludwig jobs "$sweep" --json | json - 'd["jobs"][0]["node"]')"
    open away
    wait_until 60 ended "$sweep"
    [ "$(sweep_state "$sweep")" = done ]
    wait_until 20 no_pilots
    pilot_logs "$sweep" | xargs grep -q 'retire why="ludwigd said so"'
    sweep nothing '{partition: debug}'
    write_job 'gate nothing'
    sweep=$(submit nothing.yaml)
    wait_until 90 '[ "$(recorded ^start)" = 8 ]'
    ludwig cancel "$sweep"
    wait_until 20 no_pilots
    pilot_logs "$sweep" | xargs grep -q 'retire why="ludwigd said so"'
}

cancelled() {
    local sweep
    : >"$TEST_TMP/records"
    sweep again '{partition: short}'
    write_job 'gate again'
    sweep=$(submit again.yaml)
    wait_until 90 '[ "$(recorded ^start)" = 4 ]'
    scancel "$(pilot)"
    # They come back one after the other: the next pilot may have been made for the first of them.
    wait_until 120 '[ "$(recorded ^start)" -ge 5 ]'
    open again
    wait_until 60 ended "$sweep"
    [ "$(recorded ^start)" = 8 ]
    [ "$(sweep_state "$sweep")" = done ]
    wait_until 60 no_pilots
}

restarted() {
    local sweep job
    : >"$TEST_TMP/records"
    sweep restart '{partition: short}'
    write_job 'gate restart'
    sweep=$(submit restart.yaml)
    wait_until 90 '[ "$(recorded ^start)" = 4 ]'
    job=$(pilot)
    kill_hard ludwigd
    ludwig up
    wait_until 60 'ludwig nodes --json | json - "[n[\"state\"] for n in d[\"nodes\"]] == [\"up\"]"'
    [ "$(pilot)" = "$job" ]
    open restart
    wait_until 60 ended "$sweep"
    [ "$(recorded ^start)" = 4 ]
    wait_until 60 no_pilots
}

# On both machines, in the one pilot that short may have, and in long.
mixed() {
    local sweep
    : >"$TEST_TMP/records"
    ludwig up
    start_node hoff
    start_node norman
    sweep mixed ''
    sed -i "s/^params:.*/params: {n: [$(seq -s, 40)]}/; /^slurm:/d" mixed.yaml
    write_job 'gate mixed'
    sweep=$(submit mixed.yaml --partition short,long)
    wait_until 120 '[ "$(recorded ^start)" = 40 ]'
    ludwig jobs "$sweep" --json |
        json - 'sorted({j["partition"] or j["node"] for j in d["jobs"]}) == ["hoff", "long", "norman", "short"]'
    [ "$(pilots | wc -l)" = 3 ]
    # Two of them are an array.
    [ "$(pilot_logs "$sweep" | xargs -I@ find @ -size +0 | wc -l)" = 3 ]
    [ "$(pilot_logs "$sweep" | grep -c '_[01][.]log$')" = 2 ]
    open mixed
    wait_until 120 ended "$sweep"
    [ "$(sweep_state "$sweep")" = done ]
    [ "$(recorded "^start $sweep[.]")" = 40 ]
    [ "$(recorded "^end $sweep[.]")" = 40 ]
    [ "$(published mixed | cut -d' ' -f1 | sort -u | wc -l)" = 40 ]
    wait_until 60 no_pilots
}

one_each() {
    local sweep
    : >"$TEST_TMP/records"
    sweep one '{partition: long, pilot: {jobs: 1}}'
    write_job 'say in $SLURM_JOB_ID'
    sweep=$(submit one.yaml)
    wait_until 90 ended "$sweep"
    [ "$(sed -n 's/^in \([0-9]*\) .*/\1/p' "$TEST_TMP/records" | sort -u | wc -l)" = 4 ]
    [ "$(sweep_state "$sweep")" = done ]
    wait_until 60 no_pilots
}

# Of four jobs, for none of which anybody knows how long it takes.
shaped() {
    local sweep
    : >"$TEST_TMP/records"
    sweep shaped '{partition: overcap}'
    sed -i 's/, time: 5min//' shaped.yaml
    write_job 'gate shaped'
    sweep=$(submit shaped.yaml)
    wait_until 90 '[ "$(recorded ^start)" = 4 ]'
    [ "$(squeue -h -r -o '%P %a %C %l' | uniq -c | tr -s ' ')" = ' 2 overcap hoffman-lab 2 30:00' ]
    open shaped
    wait_until 60 ended "$sweep"
    wait_until 60 no_pilots
}

# Two processes of two jobs each.
one_each_batch() {
    local sweep
    : >"$TEST_TMP/records"
    sweep batch '{partition: long, pilot: {jobs: 1}}' 'batch: 2'
    # shellcheck disable=SC2016 # for the job
    write_job 'say in $SLURM_JOB_ID' \
        'for job in $(tr -d " " <"${LUDWIG_CHUNK%/*}/chunk.json" | grep -o "\"job\":\"[0-9.]*" | cut -d: -f2 | tr -d \"); do' \
        '    ludwig report --job "$job" --done' done
    sweep=$(submit batch.yaml)
    wait_until 90 ended "$sweep"
    [ "$(sweep_state "$sweep")" = done ]
    [ "$(recorded ^start)" = 2 ]
    [ "$(sed -n 's/^in \([0-9]*\) .*/\1/p' "$TEST_TMP/records" | sort -u | wc -l)" = 2 ]
    [ "$(published batch | cut -d' ' -f1 | sort -u | wc -l)" = 4 ]
    wait_until 60 no_pilots
}

# What runs there is not ended, and what waits is not taken away.
stopped() {
    local runs waits
    : >"$TEST_TMP/records"
    sweep runs '{partition: debug}'
    write_job 'gate runs'
    runs=$(submit runs.yaml)
    wait_until 90 '[ "$(recorded ^start)" = 4 ]'
    sweep waits '{partition: short, extra: ["--begin=now+1hour"]}'
    waits=$(submit waits.yaml)
    shown_by_why 60 "$waits.1" 'short: a pilot, Slurm.s job [0-9]+: .*BeginTime'
    ludwig down 2>said
    grep -q '^stopped; 4 running jobs go on' said
    grep -q '^Slurm still has pilots, 1 waits and 1 runs: the next `ludwig up` takes them up;' said
    [ "$(squeue -h -o '%P %T' | sort | tr '\n' ' ')" = 'debug RUNNING short PENDING ' ]
    ludwig up
    open runs
    wait_until 60 ended "$runs"
    [ "$(sweep_state "$runs")" = done ]
    [ "$(recorded ^start)" = 4 ]
    ludwig cancel "$waits"
    wait_until 60 no_pilots
    ludwig down 2>said
    not grep -q Slurm said
    ludwig up
}

it 'Slurm is asked nothing as long as no sweep names a partition' unasked
it 'nobody waits for jobs that nothing could run' not_here
it 'all of its jobs are done, in that partition' jobs_are_done
it 'its pilots leave when there is nothing left' leaves
it 'a partition that is not there is shown in words of Slurm, and not tried again' refused
it 'what Slurm would never start is shown, and taken back' never
it 'what waits says why, and is cancelled when the work is gone or paused' waits
it 'a pilot whose node is drained, or whose sweep is cancelled, leaves at once' sent_away
it 'a pilot that was cancelled by hand gives its jobs back' cancelled
it 'ludwigd finds its pilots again' restarted
it 'ludwig down says what it leaves to Slurm, and ludwig up takes it up' stopped
it 'where a pilot is for one job, each has its own' one_each
it 'and each batch, where several jobs share a process' one_each_batch
it 'where nobody says more, pilots have the account, size and time of the configuration' shaped
it 'two machines and pilots in two partitions share one sweep' mixed
done_testing
