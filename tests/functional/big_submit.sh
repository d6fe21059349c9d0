#!/bin/bash
# big_submit.sh - a grid of 100,000 points: little memory, and durable once submit has said so
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0}'

points() { # A B: a grid of A x B
    printf 'project: big\ncommand: "true"\nsource: []\nnodes: []\nparams:\n  a: [%s]\n  b: [%s]\n' \
        "$(seq -s, 1 "$1")" "$(seq -s, 1 "$2")"
}

expands() {
    points 1000 1000 >million.yaml
    measured used ludwig submit million.yaml --dry-run >out
    read -r seconds peak cpu_seconds <used
    echo "1,000,000 points: $seconds s, $peak kB, $cpu_seconds s of processor time"
    grep -q 1000000 out || grep -q '1,000,000' out
    [ "$peak" -lt 50000 ]
    # About a second, whatever else the machine does.
    [ "${cpu_seconds%.*}" -lt 10 ]
    [ -z "$(pids_of ludwigd)" ]
}
it '--dry-run counts a million points in little memory' expands

submits() {
    points 250 400 >big.yaml
    ludwig up
    measured used ludwig submit big.yaml --json >"$TEST_TMP/submitted"
    kill_hard ludwigd
    read -r seconds peak _ <used
    echo "100,000 points: $seconds s, $peak kB"
    json "$TEST_TMP/submitted" 'd["configs"] == 100000 and d["jobs"] == 100000 and d["queued"] == 100000'
    # AddressSanitizer keeps what is freed, and surrounds what is not.
    [ "$peak" -lt $([ -n "${ASAN_OPTIONS-}" ] && echo 100000 || echo 50000) ]
}
it '100,000 points are submitted in less than 50 MB' submits

durable() {
    ludwig_wait up
    [ "$(jobs_in queued 1)" = 100000 ]
    ludwig status 1 --json | json - 'd["configs"] == 100000' || true
    rss=$(sed -n 's/^VmHWM:\s*\([0-9]*\) kB/\1/p' "/proc/$(pids_of ludwigd)/status")
    echo "ludwigd: $rss kB"
    [ "$rss" -lt 65536 ]
}
it 'they are all there after kill -9 of ludwigd right behind it' durable

all_listed() {
    measured used ludwig jobs 1 --json >jobs
    read -r seconds peak _ <used
    echo "listed in $seconds s, $peak kB"
    json jobs 'len(d["jobs"]) == 100000 and len({j["job"] for j in d["jobs"]}) == 100000'
    json jobs 'len({(j["params"]["a"], j["params"]["b"]) for j in d["jobs"]}) == 100000'
    json jobs 'len({j["param_name"] for j in d["jobs"]}) == 100000'
}
it 'each is listed once' all_listed

responsive() {
    points 251 400 >big.yaml
    ludwig submit big.yaml >second &
    client=$!
    answered=0
    while kill -0 $client 2>/dev/null; do
        ludwig status 1 >/dev/null
        ! kill -0 $client 2>/dev/null || answered=$((answered + 1))
    done
    wait $client
    echo "answers meanwhile: $answered"
    [ $answered -ge 1 ]
    # 400 points are new; the numbers of the others stay.
    ludwig jobs "$(cat second)" --json | json - 'len({j["param_name"] for j in d["jobs"]} | {"param_100001", "param_100400"}) == 100400'
}
it 'others are served while a large sweep comes in' responsive

cancels() {
    ludwig cancel 1
    wait_until 20 '[ "$(jobs_in cancelled 1)" = 100000 ]'
    [ "$(sweep_state 1)" = cancelled ]
}
it 'cancel takes them all' cancels

done_testing
