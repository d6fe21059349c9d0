#!/bin/bash
# ui.sh - ludwig ui: whom it answers, and the live page in a real Chromium
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 4, gpus: 0, memory: 2GiB}'
check=$TEST_ROOT/tests/functional/ui_check.py
profile=$(memory_folder 200000 5000)

# shellcheck disable=SC2016 # for the job
write_job '
echo "job with lr $1 begins"
for step in 1 2 3; do
    echo "{\"step\": $step, \"accuracy\": 0.$step$2}" >>"$LUDWIG_METRICS"
done
[ "$1" != slow ] || { gate first; echo "a second part"; gate second; }
[ "$1" != bad ] || { echo "ValueError: bad is bad" >&2; exit 3; }'
cat >sweep.yaml <<'END'
project: demo
command: sh job.sh {lr} {n}
source: job.sh
params:
  lr: [quick, bad, slow]
  n: [1, 2, 3]
results: {metric: accuracy, goal: max}
guard: off
END

# Names, values and a log that want to be something else.
cat >hostile.sh <<'END'
printf '%s\n' '{"score": 0.5, "</script><script>document.title=1</script>": 1e308}' '{"score": NaN, "<img src=x onerror=document.title=2>": -1e308}' >>"$LUDWIG_METRICS"
printf '</script><script>document.title=3</script>\033[2J\033]0;x\007\033[31mred\033[0m \033]8;;http://example.org\033\\link\n'
[ "$LUDWIG_REP" != 2 ] || { seq -f 'line %.0f of a long log' 40000; exit; }
printf 'progress 1%%\rprogress 2%%\rprogress 100%%\n\377\376\342\200\256backwards\n'
[ "$LUDWIG_REP" = 1 ] || { head -c 10000000 /dev/zero | tr '\0' x; echo; }
echo 'the end of it'
[ "$LUDWIG_REP" = 0 ]
END
cat >hostile.yaml <<'END'
project: hostile
name: </script><script>document.title=4</script>
command: sh hostile.sh
source: hostile.sh
params:
  "</script><script>document.title=5</script>": ["<!--", "\e[31m\u202ered\u2028"]
  "<img src=x onerror=document.title=6>": [1.0e308, .nan]
reps: 3
END

# ui NAME ARGUMENT...: starts it; its address goes to the file NAME.
ui() {
    local name=$1
    shift
    env -u DISPLAY -u WAYLAND_DISPLAY -u SSH_CONNECTION "$LUDWIG_BIN/ludwig" ui "$@" >"$name" 2>"$name.said" &
    echo $! >"$name.pid"
    wait_until 20 grep -q '^http://127.0.0.1:[0-9]*/?token=' "$name"
}

begins() {
    not ludwig_wait submit hostile.yaml --wait >id
    [ "$(submit sweep.yaml)" = 2 ]
    ui address --no-browser
    wait_until 5 grep -q '^on the machine with the browser: ssh -N -L [0-9]*:127.0.0.1:[0-9]* ' address.said
}
it 'it prints the address, and how to get there from another machine' begins

listens() {
    local port
    port=$(sed 's,.*:\([0-9]*\)/.*,\1,' address)
    port=$(printf %04X "$port")
    [ "$(cat /proc/net/tcp /proc/net/tcp6 | awk -v p=":$port" '$4 == "0A" && index($2, p) { print $2 }')" = "0100007F:$port" ]
}
it 'it listens on 127.0.0.1 alone' listens
it 'it answers nobody without the token, under another name, from another site, or otherwise' 'python3 "$check" "$profile" refuses address'
it 'it says as JSON what the commands say' 'python3 "$check" "$profile" tells address'

crowded() {
    timeout 300 python3 "$check" "$profile" crowded address
}
if [ "$(id -u)" = 0 ]; then
    it "another user's connections are closed, and keep nobody from being served" crowded
else
    skip "another user's connections are closed, and keep nobody from being served" 'takes root'
fi

chosen() {
    ui chosen 1 2 --no-browser
    python3 "$check" "$profile" chosen chosen
    kill "$(cat chosen.pid)"
}
it 'sweeps that the command line names are listed with the newest first' chosen

# DISPLAY and xdg-open as on a desktop.
opens_browser() {
    local pid
    mkdir -p bin
    printf '#!/bin/sh\nstat -c "%%a" "$1" >%s/mode\ncp "$1" %s/door\nprintf "%%s\\n" "$1" >%s/word\n' "$PWD" "$PWD" "$PWD" >bin/xdg-open
    chmod +x bin/xdg-open
    env -u SSH_CONNECTION "PATH=$PWD/bin:$PATH" DISPLAY=:9 "$LUDWIG_BIN/ludwig" ui 2 >opened 2>opened.said &
    pid=$!
    wait_until 20 '[ -s word ]'
    wait_until 5 grep -q Ctrl-C opened.said
    [ "$(cat mode)" = 600 ]
    grep -qF "url=$(cat opened)" door
    not grep -q token word
    not grep -q ssh opened.said
    grep -q 'sweep=2$' opened
    kill -TERM $pid
    wait $pid
    [ ! -e "$(cat word)" ]
    # Far from a browser it is not opened.
    rm word opened.said
    env "PATH=$PWD/bin:$PATH" DISPLAY=:9 'SSH_CONNECTION=10.0.0.1 5000 10.0.0.2 22' "$LUDWIG_BIN/ludwig" ui >opened 2>opened.said &
    pid=$!
    wait_until 20 grep -q Ctrl-C opened.said
    grep -q "@10.0.0.2$" opened.said
    [ ! -e word ]
    kill -TERM $pid
    wait $pid
}
it 'it opens the browser by a file of the user, so that no command line has the token, and not over SSH' opens_browser

taken() {
    local port
    port=$(sed 's,.*:\([0-9]*\)/.*,\1,' address)
    not ludwig ui --no-browser --port "$port" 2>said
    grep -q "port $port of 127.0.0.1 is taken" said
    not ludwig ui 99 --no-browser 2>said
    [ "$(wc -l <said)" = 1 ]
}
it 'a port that is taken and a sweep that is not there are said in a line' taken

if ! python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); import chromium; sys.exit(chromium.find() is None)' "${check%/*}"; then
    skip 'the live page' 'takes Chromium'
    done_testing
fi
export GATES=$TEST_TMP/gates
it 'a log is followed and searched, a job ends, and what was chosen stays, without a reload' 'python3 "$check" "$profile" follows address'
it 'jobs are cancelled and tried again, sweeps paused, nodes drained, each after a question' 'python3 "$check" "$profile" changes address'
it 'hostile names, values and logs are shown and run nothing' 'python3 "$check" "$profile" hostile address'
if [ -e "$test_cache/axe/axe.min.js" ]; then
    it 'a checker of accessibility finds nothing' 'python3 "$check" "$profile" accessible address "$test_cache/axe/axe.min.js"'
else
    skip 'a checker of accessibility finds nothing' 'takes axe-core, which .ci/deps test fetches where npm is'
fi
write_stops() {
    # shellcheck disable=SC2016 # for the job
    printf '%s\n' 'for step in 1 2 3 4 5; do echo "{\"step\": $step, \"loss\": 9}" >>"$LUDWIG_METRICS"; [ "$LUDWIG_RESTART" != 0 ] || sleep 1; done' \
        '[ "$LUDWIG_RESTART" != 0 ] || sleep 100' >stops.sh
    printf '%s\n' 'project: stops' 'command: sh stops.sh' 'source: stops.sh' 'results: {metric: loss}' 'stop: {rule: threshold, threshold: 4, first: 2}' >stops.yaml
    ludwig_wait submit stops.yaml --wait >stops.id 2>stops.said
    grep -q '1 stopped early' stops.said
    python3 "$check" "$profile" stops address
}
it 'a job that was stopped early is over, and runs to its end when it is tried again' write_stops
it 'the page says that ludwigd or ludwig ui is away, and goes on when it is back' 'python3 "$check" "$profile" away address'

done_testing
