#!/bin/bash
# gpu_use.sh - what GPUs do, as their driver says: in ludwig nodes, and in ludwig watch
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/screen.sh"

# Two GPUs, the second of which others use.  It notes how often it is asked.
mkdir bin
cat >bin/nvidia-smi <<END
#!/bin/sh
echo "\$1" >>$PWD/asked
[ ! -e $PWD/hangs ] || exec sleep 1000
case \$1 in
*query-compute-apps*) echo GPU-bbbb, 4711 ;;
*utilization.gpu*) cat $PWD/gpus ;;
esac
END
chmod +x bin/nvidia-smi
export PATH=$PWD/bin:$PATH
printf '%s\n' '0, GPU-aaaa, NVIDIA A40, 3, 512, 46068' '1, GPU-bbbb, NVIDIA A40, 97, 40000, 46068' >gpus
configure 'resources: {cpus: 1, memory: 1GiB}'

told() { # EXPRESSION on u, the use of its GPUs
    ludwig nodes --json >now
    json now "[$1 for u in [d['nodes'][0]['gpu_use']] if u] == [True] or None" >value
}
asked() { grep -c utilization asked; }

busy() {
    ludwig up
    wait_until 20 '[ -n "$(ludwig nodes -q)" ]'
    wait_until 20 told 'u[0] == {"percent": 3, "used_bytes": 512 << 20, "memory_bytes": 46068 << 20}'
    told 'u[1]["percent"] == 97'
    ludwig nodes >out
    grep -q ' 3% 0/45 GiB, 97% 39/45 GiB ' out
}
it 'ludwig nodes shows how busy each GPU is, and its memory' busy

# An answer is fresh for ten seconds: eight looks take fewer than twenty.
seldom() {
    before=$(asked)
    for i in {1..8}; do ludwig nodes >out; done
    [ $(($(asked) - before)) -le 2 ]
}
it 'the driver is asked once, however many look' seldom

watched() {
    id=$(submit sweep.yaml)
    tm new-session -d -x 80 -y 24 'exec ludwig watch'
    shows 'jobs of sweep'
    keys 5
    shows '^  GPU 0 3% 0/45 GiB +1 97% 39/45 GiB'
    tm kill-server
    ludwig cancel "$id" --yes --quiet
}
printf '%s\n' 'project: gpus' 'command: sleep 1000' 'source: []' >sweep.yaml
if command -v tmux >/dev/null; then
    it 'ludwig watch shows the same' watched
else
    skip 'ludwig watch shows the same' 'takes tmux'
fi

# What a driver does not say is no number.
unsaid() {
    printf '%s\n' '0, GPU-aaaa, NVIDIA A40, [N/A], 512, 46068' '1, GPU-bbbb, NVIDIA A40, [N/A], [N/A], [N/A]' >gpus
    wait_until 30 told 'u[0]["percent"] is None and u[0]["used_bytes"] == 512 << 20 and u[1]["memory_bytes"] is None'
    ludwig nodes >out
    grep -qF ' - 0/45 GiB, - ' out
}
it 'what a driver does not say is left out' unsaid

# The load is told without waiting for the driver; and who only looks takes no GPU from jobs.
hangs() {
    [ "$(ludwig nodes --json | json - 'd["nodes"][0]["gpus"]')" = 1 ]
    before=$(asked)
    touch hangs
    wait_until 60 'ludwig nodes >out && [ "$(asked)" -gt '"$before"' ]'
    ludwig nodes --json | json - 'd["nodes"][0]["load"] is not None'
    wait_until 60 'grep -rqF "no answer came in time" "$XDG_STATE_HOME"'
    [ "$(ludwig nodes --json | json - 'd["nodes"][0]["gpus"]')" = 1 ]
}
it 'a driver that hangs keeps nobody from the load, and no GPU from jobs' hangs

done_testing
