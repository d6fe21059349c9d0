#!/bin/bash
# gpu_jobs.sh - how much of its GPUs a job used: in job.json, jobs, results and usage
. "$(dirname "$0")/lib.sh"

# Two GPUs; who computes on them, and how much they have, stands in the files gpus and apps.
mkdir bin
cat >bin/nvidia-smi <<END
#!/bin/sh
echo "\$1" >>$TEST_TMP/asked
case \$1 in
*query-compute-apps*) cat $TEST_TMP/apps 2>/dev/null; true ;;
*utilization.gpu*) cat $TEST_TMP/gpus ;;
esac
END
chmod +x bin/nvidia-smi
export PATH=$PWD/bin:$PATH
printf '%s\n' '0, GPU-aaaa, NVIDIA A40, 0, 3, 46068' '1, GPU-bbbb, NVIDIA A40, 0, 3, 46068' >"$TEST_TMP/gpus"
configure 'resources: {cpus: 4, memory: 1GiB}'

# Says who it is, and waits.
write_job "echo \$\$ >$TEST_TMP/pid.\$1" 'gate go.$1'
sweep() { # PROJECT GPUS NAMES
    printf '%s\n' "project: $1" 'command: sh job.sh {name}' 'source: job.sh' "params: {name: [$3]}" \
        "resources: {gpus: $2}" >"$1.yaml"
}
asked() { grep -c utilization "$TEST_TMP/asked"; }
# Twice since then: when the driver is asked again, the runner was told what it had said.
looked_at() { # BEFORE
    [ "$(asked)" -ge $(($1 + 2)) ]
}
begun() { # NAME...
    local name
    for name; do
        [ -s "$TEST_TMP/pid.$name" ] || return 1
    done
}
# It goes on until it was looked at; what is on the GPUs then goes with it.
ends_seen() { # SWEEP NAME...
    local id=$1 before name
    shift
    before=$(asked)
    wait_until 60 looked_at "$before"
    for name; do open "go.$name"; done
    wait_until 20 ended "$id"
    : >"$TEST_TMP/apps"
}

shown_gpus() { # SWEEP: of its jobs, one after the other
    ludwig jobs "$1" --json | json - '" ".join(j["gpu_ids"] or "-" for j in d["jobs"])'
}

whole() {
    sweep whole 1 one
    id=$(submit whole.yaml)
    wait_until 20 begun one
    wait_until 20 '[ "$(shown_gpus '"$id"')" = 0 ]'
    # The driver's own 300 MiB are none of the job's.
    echo "GPU-aaaa, $(cat "$TEST_TMP/pid.one"), 2048" >"$TEST_TMP/apps"
    printf '%s\n' '0, GPU-aaaa, NVIDIA A40, 80, 2348, 46068' '1, GPU-bbbb, NVIDIA A40, 80, 2348, 46068' >"$TEST_TMP/gpus"
    sed -i 'p; s/aaaa/bbbb/' "$TEST_TMP/apps"
    ends_seen "$id" one
    job "$id.1" 'j["gpu_memory_bytes"] == 2048 << 20 and j["gpu_percent"] == 80 and j["gpu_ids"] == "0"'
    json "$SHARE"/whole/runs/param_001/*/job.json 'd["gpu_memory_bytes"] == 2048 << 20 and d["gpu_percent"] == 80'
    ludwig jobs "$id" --columns job,gpu_memory_bytes,gpu_percent >out
    grep -qE "^$id\.1 +2 GiB +80%$" out
    [ "$(ludwig jobs "$id" -q --where 'gpu_percent > 50 and gpu_memory_bytes > 1000')" = "$id.1" ]
    ludwig results "$id" --json |
        json - 'd["results"][0]["gpu_memory_bytes"] == 2048 << 20 and d["results"][0]["gpu_percent"] == 80'
    ludwig results "$id" --csv >out
    head -n 1 out | grep -q ',cpu_seconds,gpu_memory_bytes,gpu_percent'
    ludwig usage --json >out
    json out 'd["total"]["gpu_memory_bytes"] == 2048 << 20'
    json out '0.79 < d["total"]["busy_gpu_hours"] / d["total"]["seen_gpu_hours"] < 0.81'
    ludwig usage >out
    grep -qE ' 80% +2 GiB ' out
}
it 'memory and use of a GPU are in job.json, jobs, results and usage' whole

shared() {
    sweep shared 0.5 'two, three'
    id=$(submit shared.yaml)
    wait_until 20 begun two three
    for gpu in aaaa bbbb; do
        echo "GPU-$gpu, $(cat "$TEST_TMP/pid.two"), 100"
        echo "GPU-$gpu, $(cat "$TEST_TMP/pid.three"), 200"
    done >"$TEST_TMP/apps"
    ends_seen "$id" two three
    ludwig jobs "$id" --json | json - '[j["gpu_memory_bytes"] >> 20 for j in d["jobs"]] == [100, 200]'
    [ "$(shown_gpus "$id")" = '0 0' ]
}
it 'two jobs on one GPU have each its own memory' shared

unknown() {
    # Inside a container the driver may name no process, and a part of a GPU has no percentage.
    printf '%s\n' '0, GPU-aaaa, NVIDIA A40, [N/A], 512, 46068' '1, GPU-bbbb, NVIDIA A40, [N/A], 512, 46068' >"$TEST_TMP/gpus"
    : >"$TEST_TMP/apps"
    sweep unknown 1 four
    id=$(submit unknown.yaml)
    wait_until 20 begun four
    ends_seen "$id" four
    job "$id.1" 'j["gpu_memory_bytes"] == 512 << 20 and j["gpu_percent"] is None'
}
it 'where no process is named the GPU says it, and what is not said is not known' unknown

both() {
    sweep both 2 six
    id=$(submit both.yaml)
    wait_until 20 begun six
    wait_until 20 '[ "$(shown_gpus '"$id"')" = 0,1 ]'
    open go.six
    wait_until 20 ended "$id"
    [ "$(shown_gpus "$id")" = 0,1 ]
    [ "$(ludwig jobs "$id" -q --where 'gpu_ids ~ 1')" = "$id.1" ]
    ludwig results "$id" --html page.html
    grep -q '"gpu_ids":\["0,1"\]' page.html
}
it 'a job names the GPUs that it has, while it runs and later' both

# A driver is asked for none of it.
without() {
    sweep none 0 five
    id=$(submit none.yaml)
    wait_until 20 begun five
    before=$(asked)
    open go.five
    wait_until 20 ended "$id"
    job "$id.1" 'j["gpu_memory_bytes"] is None and j["gpu_percent"] is None and j["gpu_ids"] is None'
    [ "$(asked)" = "$before" ]
}
it 'of a job without GPUs nothing is known' without

done_testing
