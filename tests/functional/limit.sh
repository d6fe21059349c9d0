#!/bin/bash
# limit.sh - jobs that go first, and a sweep that gives room back
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 4, gpus: 0}'
cat >job.sh <<END
echo "\$1" >>"$TEST_TMP/order"
while [ ! -e "$TEST_TMP/go" ] && [ ! -e "$TEST_TMP/go-\$1" ]; do sleep 0.1; done
END
printf '%s\n' 'project: demo' 'command: sh job.sh {x}' 'source: job.sh' 'params: {x: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}' \
    'order: file' 'guard: off' >sweep.yaml
began() { wc -l <"$TEST_TMP/order"; }
let_end() { # X...
    local x
    for x; do touch "$TEST_TMP/go-$x"; done
}

order() {
    submit sweep.yaml >/dev/null
    wait_until 30 '[ "$(began)" = 4 ]'
    ludwig order 1 --where 'x >= 11' 2>err
    grep -qx '2 jobs go before the others' err
    ludwig order 1.9 2>err
    ludwig order 1.5,6 --last 2>err
    grep -qx '2 jobs wait behind the others' err
    let_end 1 2 3 4
    wait_until 30 '[ "$(began)" = 8 ]'
    [ "$(sed -n 5,8p "$TEST_TMP/order" | sort -n | tr '\n' ' ')" = '7 9 11 12 ' ]
    # What was said last counts: one at a time it shows.
    let_end 7 9 11 12
    wait_until 30 '[ "$(began)" = 12 ]'
    [ "$(sed -n 9,12p "$TEST_TMP/order" | sort -n | tr '\n' ' ')" = '5 6 8 10 ' ]
    touch "$TEST_TMP/go"
    wait_until 30 ended 1
}
it 'jobs are put before and behind the others' order

last_counts() {
    rm -f "$TEST_TMP"/go* "$TEST_TMP/order"
    sed -i 's/x: .*/x: [21, 22, 23, 24, 25, 26]}/' sweep.yaml
    ludwig submit sweep.yaml 2>err
    ludwig limit 2 1 2>err
    wait_until 30 '[ "$(began)" -ge 1 ]'
    n=$(began)
    ludwig order 2.6 2>err
    ludwig order 2.5 2>err
    ludwig order 2.6 --last 2>err
    for x in 21 22 23 24 25 26; do
        touch "$TEST_TMP/go-$x"
    done
    wait_until 30 ended 2
    cat "$TEST_TMP/order"
    # Those that ran before the limit come in any order.
    [ "$(tail -n 1 "$TEST_TMP/order")" = 26 ]
    [ "$n" = 4 ] || [ "$(sed -n "$((n + 1))p" "$TEST_TMP/order")" = 25 ]
}
it 'what was said last counts' last_counts

gives_back() {
    rm -f "$TEST_TMP"/go* "$TEST_TMP/order"
    sed -i 's/x: .*/x: [31, 32, 33, 34, 35, 36, 37, 38]}/' sweep.yaml
    ludwig submit sweep.yaml 2>err
    wait_until 30 '[ "$(began)" = 4 ]'
    ludwig limit 3 2 2>err
    grep -qx 'sweep 3: at most 2 of its jobs run at once; what runs goes on' err
    [ "$(jobs_in running 3)" = 4 ]
    ludwig why 3.8 >out
    grep -qF 'at most 2 of its sweep run at once (ludwig limit 3 N)' out
    [ "$(ludwig status 3 --json | json - 'd["slots"]')" = 2 ]
    # Two end, and none begins; another user's sweep would have the room.
    touch "$TEST_TMP/go-31" "$TEST_TMP/go-32"
    wait_until 30 '[ "$(jobs_in done 3)" = 2 ]'
    printf '%s\n' 'project: other' 'command: "true"' 'source: []' >other.yaml
    ludwig submit other.yaml --wait 2>err
    [ "$(began)" = 4 ]
    touch "$TEST_TMP/go-33"
    wait_until 30 '[ "$(began)" = 5 ]'
    ludwig shrink 3 --slots 0 2>err
    wait_until 30 '[ "$(began)" = 7 ]'
    touch "$TEST_TMP/go"
    wait_until 30 ended 3
    not ludwig limit 3 2>err
    grep -qF 'ludwig limit 7 4' err
}
it 'a sweep gives room back, and gets it again' gives_back

from_the_file() {
    rm -f "$TEST_TMP"/go* "$TEST_TMP/order"
    sed -i 's/x: .*/x: [41, 42, 43, 44]}/' sweep.yaml
    (cat sweep.yaml && echo 'max_running: 1') >few.yaml
    id=$(submit few.yaml)
    [ "$(ludwig status "$id" --json | json - 'd["slots"]')" = 1 ]
    for x in 41 42 43 44; do
        wait_until 30 '[ "$(began)" = '$((x - 40))' ]'
        [ "$(jobs_in running "$id")" -le 1 ]
        touch "$TEST_TMP/go-$x"
    done
    wait_until 30 ended "$id"
    sed 's/^max_running.*/max_running: 0/' few.yaml >none.yaml
    not ludwig submit none.yaml 2>err
    grep -q 'max_running: ' err
}
it 'a sweep file says how many of its jobs run at once' from_the_file

done_testing
