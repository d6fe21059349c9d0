#!/bin/bash
# plot.sh - ludwig plot on real terminals: whole screens, colours, and what it refuses
. "$(dirname "$0")/lib.sh"

# One after the other, so that jobs end in their order.
configure 'resources: {cpus: 1, gpus: 0, memory: 1GiB}'
cat >job.sh <<'END'
awk -v lr="$1" -v depth="$2" -v opt="$3" -v r="$LUDWIG_REP" 'BEGIN {
    for (s = 1; s <= 12; s++) {
        q = 1 - exp(-s * sqrt(lr) * (opt == "adam" ? 8 : 3)) - depth / 40 + (r - 0.5) / 25 - (lr > 0.05 && opt == "adam" ? 0.8 : 0)
        printf "{\"step\": %d, \"accuracy\": %.4f, \"loss\": %.4f}\n", s, q, (1 - q) * 3 } }' >>"$LUDWIG_METRICS"
END
cat >sweep.yaml <<'END'
project: demo
order: file
command: sh job.sh {lr} {depth} {opt}
source: job.sh
params: {lr: [0.001, 0.01, 0.1], depth: [1, 2, 4], opt: [adam, sgd]}
reps: 2
results: {metric: accuracy}
END

ran() {
    id=$(submit sweep.yaml)
    wait_until 120 ended "$id"
    [ "$(jobs_in "done" "$id")" = 36 ]
}
it 'a sweep of 18 configurations runs' ran

screen() { # COLUMNSxROWS
    local socket=$TEST_TMP/tmux.$1
    LC_ALL=C.UTF-8 TERM=xterm-256color tmux -f /dev/null -S "$socket" -u new-session -d -x "${1%x*}" -y "${1#*x}" \
        'ludwig plot 1 2>stderr; printf END; exec sleep 600'
    wait_until 60 "LC_ALL=C.UTF-8 tmux -S '$socket' capture-pane -p | grep -q END"
    LC_ALL=C.UTF-8 tmux -S "$socket" capture-pane -p | sed '$d' >"screen.$1"
    LC_ALL=C.UTF-8 tmux -S "$socket" kill-server
    diff "$TEST_ROOT/tests/fixtures/plot-$1.txt" "screen.$1"
}
for size in 80x24 200x60; do
    if command -v tmux >/dev/null; then
        it "the screen of $size is as it was" "screen $size"
    else
        skip "the screen of $size is as it was" 'takes tmux'
    fi
done

coloured() {
    terminal() {
        env -u NO_COLOR "$@" python3 "$TEST_ROOT/tests/functional/terminal.py" 24x80 sh -c 'exec ludwig plot 1 2>stderr' >out
    }
    terminal TERM=xterm-256color COLORTERM=truecolor
    grep -q $'\033\[0;38;2;' out
    terminal TERM=xterm-256color COLORTERM=
    grep -q $'\033\[0;38;5;' out
    not grep -q $'38;2;' out
    terminal TERM=xterm COLORTERM=
    grep -q $'\033\[0;3[2-6]m' out
    not grep -q '38;' out
    for setting in TERM=dumb NO_COLOR=1; do
        terminal "$setting" COLORTERM=truecolor
        not grep -q $'\033' out
    done
    # Without UTF-8 all is ASCII, and in a file nothing is coloured.
    LC_ALL=C ludwig plot 1 >out
    not grep -qP '[^\x20-\x7e]' out
    grep -q '##' out
    [ "$(wc -L <out)" -le 100 ]
}
it 'colours are those that the terminal has, letters those of the locale' coloured

chosen() {
    ludwig plot last loss >out
    head -n 1 out | grep -q '^loss (low is good): best '
    ludwig plot 1 --where 'opt = sgd' | head -n 1 | grep -q ' of 9, param_'
    not ludwig plot 1 los 2>error
    grep -q "did you mean 'loss'" error
    not ludwig plot 1 --where 'lr > 1' 2>error
    grep -q 'no configuration that matches has a finite mean of accuracy' error
    # What is far off, or no number at all.
    cat >wild.sh <<'END'
for step in 1 2 3; do echo "{\"x\": $1, \"step\": $step}"; done >>"$LUDWIG_METRICS"
END
    printf '%s\n' 'project: wild' 'command: sh wild.sh {v}' 'source: wild.sh' \
        'params: {v: ["1e308", "-1e308", NaN, "0.5", "0.6", "0.4"], w: ["\e[2Jz", b]}' >wild.yaml
    id=$(submit wild.yaml)
    wait_until 60 ended "$id"
    ludwig plot "$id" >out
    not grep -q $'\033' out
    head -n 1 out | grep -q 'best 1e+308'
}
it 'a measure, --where, and what is far off or no number' chosen

done_testing
