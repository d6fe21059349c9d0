#!/bin/sh
# demo.sh BIN_DIR DEMO_DIR: run the sweep of examples/digits on this machine.
# Configuration, state and results all stay below DEMO_DIR; nothing else is touched.
set -eu

if [ $# -ne 2 ]; then
    echo "usage: $0 BIN_DIR DEMO_DIR" >&2
    exit 2
fi
if ! command -v python3 >/dev/null; then
    echo "$0: the example is a Python program, and there is no python3 here" >&2
    exit 1
fi
if [ ! -x "$1/ludwig" ]; then
    echo "$0: no ludwig in $1 (run make first)" >&2
    exit 1
fi
mkdir -p "$2"
bin=$(cd "$1" && pwd)
demo=$(cd "$2" && pwd)
examples=$(cd "$(dirname "$0")" && pwd)

export PATH="$bin:$PATH"
export XDG_CONFIG_HOME="$demo/config" XDG_STATE_HOME="$demo/state" XDG_CACHE_HOME="$demo/cache"
unset LUDWIG_SERVER

# Inside double quotes YAML wants \ and " escaped.
quoted() {
    printf '"%s"' "$(printf '%s' "$1" | sed 's/[\\"]/\\&/g')"
}
mkdir -p "$XDG_CONFIG_HOME/ludwig" "$demo/scratch"
cat >"$XDG_CONFIG_HOME/ludwig/config.yaml" <<END
# Where results go and where jobs run. Without this file: ~/ludwig_data and \$TMPDIR.
share: $(quoted "$demo/share")
scratch: $(quoted "$demo/scratch")
END

# Say what is run, then run it. To stderr, as stdout may be caught.
run() {
    echo >&2
    echo "\$ $*" >&2
    "$@"
}

# ludwig keeps a server and a worker in the background for the next submit. Not for a demo.
# shellcheck disable=SC2317  # called by the trap
finish() {
    code=$?
    trap - EXIT
    run ludwig down || true
    exit "$code"
}
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

cd "$examples/digits"
{
    echo "12 configurations of a little neural network, 2 replications each: 24 jobs."
    echo "The example lies in $examples/digits: look at sweep.yaml and train.py."
} >&2
status=0
sweep=$(run ludwig submit sweep.yaml --reps 2 --wait) || status=$?
if [ -z "$sweep" ]; then
    echo "demo: the sweep was not submitted" >&2
    [ "$status" -ne 0 ] || status=1
    exit "$status"
fi
run ludwig results "$sweep" || [ "$status" -ne 0 ] || status=$?
run ludwig plot "$sweep" || [ "$status" -ne 0 ] || status=$?
run ludwig results "$sweep" --html "$demo/digits.html" || [ "$status" -ne 0 ] || status=$?

project=$demo/share/digits
cat <<END

This was sweep $sweep. What it left, one folder for all sweeps of the project:
  logs      $project/logs/
  results   $project/runs/
            param_NNN is a configuration, and each folder in it a replication:
            accuracy.csv and weights.json as train.py saved them, job.json about the job
END
log=$(find "$project/logs" -name '*.log' 2>/dev/null | sort | head -n 1)
if [ -n "$log" ]; then
    run tail -n 3 "$log" 2>&1
fi
cat <<END

Run this again and no job has to run: what is done and has not changed is not done again.
Change train.py or a value in sweep.yaml and the jobs concerned run again.

The demo has a server, a configuration and results of its own below $demo,
so that \`ludwig status\` in another terminal does not show its sweep. Remove that folder whenever you like.

To go on with a sweep of your own:
  make install PREFIX=~/.local       for you alone; as root, \`make install\` is for everybody
  export PATH=~/.local/bin:\$PATH     unless your shell finds \`ludwig\` already
  ludwig help submit                 explains the smallest sweep.yaml; man ludwig-sweep has all of it
  ludwig submit sweep.yaml --wait    results go to ~/ludwig_data

To see what came out (\`ludwig results $sweep --html digits.html\` has written it):
  xdg-open $demo/digits.html
and while a sweep of your own runs, with logs:
  ludwig ui
END
exit "$status"
