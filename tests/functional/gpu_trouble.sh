#!/bin/bash
# gpu_trouble.sh - a GPU that does not work, or that others use, gets no jobs, and what failed on it costs no try
. "$(dirname "$0")/lib.sh"

# Two GPUs, as a stand-in for the driver's library describes them; see tests/lab/nvml.c.
mkdir lib
cp "$TEST_ROOT/build/lab/nvml.so" lib/libnvidia-ml.so.1
export LD_LIBRARY_PATH=$PWD/lib NVML_GPUS=$TEST_TMP/gpus
gpus() { # LINE...: of both GPUs
    printf '%s\n' "$@" >"$NVML_GPUS.new"
    mv "$NVML_GPUS.new" "$NVML_GPUS"
}
well=('GPU-aaaa 0 0 3 46068 0 0' 'GPU-bbbb 0 0 3 46068 0 0')
gpus "${well[@]}"
configure 'resources: {cpus: 4, memory: 1GiB}'

# Says which GPU it has; fails when it is told so.
write_job 'echo "$CUDA_VISIBLE_DEVICES" >>'"$TEST_TMP"'/had.$1' 'gate go.$1' \
    'read -r code <'"$TEST_TMP"'/gates/go.$1 || exit 0' 'exit "$code"'
sweep() { # PROJECT GPUS NAMES [LINE...]
    printf '%s\n' "project: $1" 'command: sh job.sh {name}' 'source: job.sh' "params: {name: [$3]}" \
        "resources: {gpus: $2}" "${@:4}" >"$1.yaml"
}
go() { # NAME CODE
    echo "$2" >"$TEST_TMP/gates/$1.new"
    mv "$TEST_TMP/gates/$1.new" "$TEST_TMP/gates/go.$1"
}
had() { # NAME TIMES
    [ -e "$TEST_TMP/had.$1" ] && [ "$(wc -l <"$TEST_TMP/had.$1")" = "$2" ]
}
offers() { # N: GPUs
    [ "$(ludwig nodes --json | json - 'd["nodes"][0]["gpus"]')" = "$1" ]
}

broken() { # LINE WORDS: of the second GPU
    gpus "${well[0]}" "$1"
    ludwig down
    ludwig up
    wait_until 20 offers 1
    ludwig nodes >out 2>&1
    cat out;     grep -qF "jobs do not use GPU 1: $2" out
}
refuses() {
    ludwig up
    broken 'GPU-bbbb 15 0 0 0 0 0' 'its driver cannot reach it: GPU is lost (15)'
    broken 'GPU-bbbb 0 0 3 46068 1 0' 'its driver says that it must be reset (nvidia-smi -r -i 1)'
    broken 'GPU-bbbb 0 0 3 46068 2 0' 'its driver says that the machine must be rebooted'
    broken 'GPU-bbbb 0 0 3 46068 -1 1' 'its memory is broken, and the driver cannot work around it'
    broken 'GPU-bbbb 0 97 40000 46068 0 0 4711 40000' 'another program computes on it (process 4711)'
    broken 'GPU-bbbb 0 0 40000 46068 0 0' '39.1 GiB of its memory are taken, and its driver names no process'
    ludwig nodes --json | json - '[len(d["nodes"][0][k]) for k in ("gpu_models", "gpus_unused")] == [2, 1]'
    gpus "${well[@]}"
    ludwig down
    ludwig up
    wait_until 20 offers 2
    not grep -q 'do not use' <<<"$(ludwig nodes 2>&1)"
}
it 'ludwig nodes says why a GPU is not used' refuses

# The first attempt runs into it; the next one gets the other GPU, and has all of its tries.
given_back() {
    gpus "${well[@]}"
    sweep lost 1 'one, two' 'retry: {max: 0}' 'guard: {failures: 1}'
    id=$(submit lost.yaml)
    wait_until 20 had one 1
    wait_until 20 had two 1
    if [ "$(cat "$TEST_TMP/had.one")" = 1 ]; then sick=one other=two; else sick=two other=one; fi
    gpus "${well[0]}" 'GPU-bbbb 15 0 0 0 0 0'
    go $sick 1
    wait_until 20 offers 1
    sick_job=$(ludwig jobs "$id" -q --where "name = $sick")
    wait_until 20 '[ "$(jobs_in queued '"$id"')" = 1 ]'
    ludwig why "$sick_job" >out
    cat out
    grep -q 'a GPU that it had does not work: its driver cannot reach it: GPU is lost' out
    rm "$TEST_TMP/gates/go.$sick"
    go $other 0
    wait_until 20 had $sick 2
    [ "$(tail -n 1 "$TEST_TMP/had.$sick")" = 0 ]
    go $sick 0
    wait_until 20 ended "$id"
    [ "$(jobs_in "done" "$id")" = 2 ]
    job "$sick_job" 'j["attempt"] == 2'
}
it 'what failed on a GPU that does not work is done elsewhere, and loses no try' given_back

own() {
    gpus "${well[@]}"
    ludwig down
    ludwig up
    wait_until 20 offers 2
    rm -f "$TEST_TMP"/had.* "$TEST_TMP"/gates/*
    sweep own 1 three
    id=$(submit own.yaml)
    wait_until 20 had three 1
    go three 3
    wait_until 20 ended "$id"
    job "$id.1" 'j["state"] == "failed" and j["cause"] == "failed" and j["exit_code"] == 3'
}
it 'where the GPUs work a failure is the job'"'"'s own' own

# Memory that does not come back at once is looked at again soon.
returns() {
    sweep later 2 four
    gpus "${well[0]}" 'GPU-bbbb 0 0 40000 46068 0 0'
    ludwig down
    ludwig up
    wait_until 30 offers 1
    id=$(submit later.yaml)
    gpus "${well[@]}"
    wait_until 30 had four 1
    go four 0
    wait_until 20 ended "$id"
}
it 'a job waits for memory of a GPU that comes back' returns

done_testing
