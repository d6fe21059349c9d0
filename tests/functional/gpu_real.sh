#!/bin/bash
# gpu_real.sh - a machine's own GPU: what its driver says of it, and of the memory that jobs have on it
. "$(dirname "$0")/lib.sh"

if ! timeout 60 nvidia-smi -L 2>/dev/null | grep -q '^GPU 0'; then
    skip 'what a real driver says of a GPU' 'no GPU here'
    done_testing
fi
configure 'resources: {cpus: 4, gpus: 1, memory: 8GiB}'

# Takes so many MiB of the GPU that it sees, by the driver's own library, until it is told to go on.
cat >take.py <<END
import ctypes, os, sys, time
cuda = ctypes.CDLL("libcuda.so.1")
def do(name, *args):
    result = getattr(cuda, name)(*args)
    assert result == 0, (name, result)
count, device, context, memory = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
do("cuInit", 0)
do("cuDeviceGetCount", ctypes.byref(count))
do("cuDeviceGet", ctypes.byref(device), 0)
do("cuCtxCreate_v2", ctypes.byref(context), 0, device)
do("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(int(sys.argv[1]) << 20))
with open("$TEST_TMP/took." + sys.argv[2], "w") as f:
    f.write("%s %d" % (os.environ.get("CUDA_VISIBLE_DEVICES"), count.value))
while not os.path.exists("$TEST_TMP/gates/go." + sys.argv[2]):
    time.sleep(0.05)
END
sweep() { # PROJECT GPUS MIB...
    printf '%s\n' "project: $1" 'command: python3 take.py {mib} '"$1"'.{mib}' 'source: take.py' \
        "params: {mib: [$3]}" "resources: {gpus: $2}" >"$1.yaml"
}
took() { # NAME...
    local name
    for name; do
        [ -s "$TEST_TMP/took.$name" ] || return 1
    done
}
# A runner is told 5 s after its job has started what the GPUs do, and keeps the most.
looked_at() { sleep 12; }

alone() {
    sweep alone 1 2048
    id=$(submit alone.yaml)
    wait_until 60 took alone.2048
    [ "$(cat "$TEST_TMP/took.alone.2048")" = '0 1' ]
    looked_at
    open go.alone.2048
    wait_until 60 ended "$id"
    job "$id.1" 'j["state"] == "done" and 2048 << 20 <= j["gpu_memory_bytes"] < 4096 << 20'
}
it 'a job has the GPU to itself, and its memory is known' alone

shared() {
    sweep shared 0.5 '1024, 2048'
    id=$(submit shared.yaml)
    wait_until 60 took shared.1024 shared.2048
    looked_at
    open go.shared.1024
    open go.shared.2048
    wait_until 60 ended "$id"
    job "$id.1" 'j["state"] == "done" and 1024 << 20 <= j["gpu_memory_bytes"] < 2048 << 20'
    job "$id.2" 'j["state"] == "done" and 2048 << 20 <= j["gpu_memory_bytes"] < 4096 << 20'
}
it 'two jobs share it, and each one has its own memory' shared

unused() { # of the first GPU, how many reasons there are not to use it
    ludwig nodes --json | json - 'len(d["nodes"][0]["gpus_unused"])'
}
others() {
    ludwig down
    python3 take.py 3072 other &
    other=$!
    wait_until 60 took other
    ludwig up
    wait_until 60 '[ "$(unused)" = 1 ]'
    ludwig nodes >out 2>&1
    cat out
    grep -qF "jobs do not use GPU 0: another program computes on it (process $other)" out
    open go.other
    wait "$other"
    sweep later 1 64
    id=$(submit later.yaml)
    wait_until 120 took later.64
    open go.later.64
    wait_until 60 ended "$id"
    job "$id.1" 'j["state"] == "done"'
}
it 'while another program computes on it no job begins' others

done_testing
