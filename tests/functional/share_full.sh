#!/bin/bash
# share_full.sh - results that do not fit on the share: the reason is told wherever one looks, and nothing is lost
# shellcheck disable=SC2016 # the bodies are evaluated later
if [ "$(id -u)" = 0 ] && [ "${1-}" != inside ] && unshare -m true 2>/dev/null; then
    exec unshare -m --propagation private bash "$0" inside
fi
. "$(dirname "$0")/lib.sh"
[ "${1-}" = inside ] || { skip 'a full share is told of' 'takes root' && done_testing; }

configure 'resources: {cpus: 2, gpus: 0, memory: 1GiB}'
mkdir -p "$SHARE"
mount -t tmpfs -o size=2m small "$SHARE"
cat >sweep.yaml <<'END'
project: demo
command: head -c 3000000 /dev/urandom >"$LUDWIG_SAVE_PATH/model"
source: []
params: {x: 7}
END

told() {
    ludwig submit sweep.yaml
    wait_until 60 'ludwig why 1.1 | grep -q "^  they are not on the shared drive yet: .*No space left on device"'
    ludwig why 1.1 | grep -q '^job 1.1: publishing$'
    ludwig status 1 | grep -q '^publishing  *1 job has ended, and the results are not on the shared drive yet: .*No space.* (1.1)$'
    ludwig jobs 1 | grep -q 'publishing .*No space left on device'
    job 1.1 '"No space left" in j["reason"]'
    # Who watches is shown it, too.
    python3 - >watched <<'PY'
import os, pty, select, time
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.environ["COLUMNS"] = "150"
    os.execvp("ludwig", ["ludwig", "watch", "1"])
seen, until = b"", time.time() + 30
while b"No space" not in seen and time.time() < until:
    if select.select([fd], [], [], 1)[0]:
        seen += os.read(fd, 65536)
os.kill(pid, 2)
print(seen.decode(errors="replace"))
PY
    grep -q '1.1 publishing' watched
    grep -q 'No space' watched
    grep -q 'x=7' watched
}
it 'a job whose results do not fit says why it is not done' told

goes_on() {
    mount -o remount,size=50m "$SHARE"
    wait_until 60 ended 1
    [ "$(sweep_state 1)" = done ]
    [ "$(stat -c %s "$SHARE"/demo/runs/*/*/model)" = 3000000 ]
    job 1.1 'j["reason"] is None'
}
it 'with more room it is published by itself, and the reason is gone' goes_on

ludwig down >/dev/null 2>&1
umount -l "$SHARE"
done_testing
