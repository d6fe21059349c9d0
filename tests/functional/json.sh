#!/bin/bash
# json.sh - what commands print with --json is what docs/json.md says
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 1, gpus: 0, memory: 1GiB}'
cat >job.sh <<'END'
ludwig report accuracy=0.$1 step=1
[ "$1" != 3 ] || exit 1
END
printf '%s\n' 'project: demo' 'command: sh job.sh {x}' 'source: job.sh' 'params: {x: [1, 2, 3]}' 'reps: 2' >sweep.yaml

# Reads the tables of the page; "PATH=PART" says which of them an object must be like.
cat >"$TEST_TMP/like.py" <<'END'
"""usage: like.py PAGE FILE PLACE=PART...: PLACE is a Python expression on d, an object or a list of them"""
import json, re, sys

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
parts = {}
for line in open(sys.argv[1]):
    if line.startswith("### "):
        fields = parts.setdefault(line[4:].strip(), {})
    elif found := re.match(r"\| `(\w+)` \| ([^|]*) \|", line):
        fields[found[1]] = found[2].strip()

def is_a(kind, value):
    kind, _, null = kind.partition(" or null")
    if value is None:
        return kind == "any" or line_has_null
    word = kind.split()[0]
    if word == "object":
        part = kind.split()[1:]
        return isinstance(value, dict) and (not part or like(value, part[0]) is None)
    return {"boolean": lambda: isinstance(value, bool),
            "integer": lambda: isinstance(value, int) and not isinstance(value, bool),
            "number": lambda: isinstance(value, (int, float)) and not isinstance(value, bool),
            "string": lambda: isinstance(value, str), "word": lambda: isinstance(value, str),
            "time": lambda: isinstance(value, str) and TIME.fullmatch(value) is not None,
            "list": lambda: isinstance(value, list), "any": lambda: True}[word]()

def like(value, part, beside=()):
    global line_has_null
    names = [name for name in value if name not in beside]
    if names != list(parts[part]):
        sys.exit("%s: %s is not %s" % (part, names, list(parts[part])))
    for name, kind in parts[part].items():
        line_has_null = " or null" in kind
        if not is_a(kind, value[name]):
            sys.exit("%s.%s: %r is no %s" % (part, name, value[name], kind))

d = json.load(open(sys.argv[2]))
if list(d)[0] != "v" or d["v"] != 1:
    sys.exit("it does not begin with v: %r" % d)
for argument in sys.argv[3:]:
    place, part = argument.rsplit("=", 1)
    found = eval(place)
    items = found if isinstance(found, list) else [found]
    if not items:
        sys.exit("%s is empty" % place)
    for item in items:
        like(item, part, ("v",) if place == "d" else ())
END
like() { # FILE PLACE=PART...
    python3 "$TEST_TMP/like.py" "$TEST_ROOT/docs/json.md" "$@"
}
# The members beside the list.
members() { # FILE NAME...
    [ "$(json "$1" '" ".join(d)')" = "${*:2}" ] || { json "$1" '" ".join(d)' && return 1; }
}

submitting() {
    ludwig submit sweep.yaml --dry-run --json >out
    like out 'd=dry run'
    ludwig submit sweep.yaml --json >out
    like out 'd=submitted'
    wait_until 30 ended 1
    ludwig submit sweep.yaml --dry-run --json >out
    like out 'd=dry run'
    json out 'd["reused"] == 4 and list(d["estimate"]) == ["cpu_hours", "gpu_hours"]'
}
it 'submit and its dry run' submitting

looking() {
    ludwig status --json >out
    members out v sweeps
    like out 'd["sweeps"]=sweep_info' 'd["sweeps"][0]["jobs"]=job_counts' 'd["sweeps"][0]["ranking"]=ranking'
    ludwig status 1 --json >out
    like out 'd=sweep_info'
    ludwig jobs 1 --json >out
    members out v jobs
    like out 'd["jobs"]=job_info'
    ludwig why 1.5 --json >out
    like out 'd=why' 'd["job"]=job_info'
    ludwig nodes --json >out
    members out v nodes pools pilots
    like out 'd["nodes"]=node_info'
}
it 'status, jobs, why and nodes' looking

results() {
    ludwig results 1 --json >out
    members out v metric goal results
    like out 'd["results"]=result' 'd["results"][0]["metrics"]["accuracy"]=measure'
    ludwig results 1 --series accuracy --json >out
    members out v series
    like out 'd["series"]=series_row'
    printf '%s\n' 'project: six' 'command: ludwig report accuracy=0.{x}' 'params: {x: [1, 2, 3, 4, 5, 6]}' >six.yaml
    ludwig submit six.yaml --wait >six
    ludwig results "$(cat six)" --importance --json >out
    like out 'd=importance' 'd["importance"]=param_importance'
    ludwig results 1 --csv | head -n 1 >first.csv
    for suffix in n mean std min q1 median q3 max best best_std; do
        grep -q ",accuracy_$suffix\\b" first.csv
        grep -q "\`M_$suffix\`" "$TEST_ROOT/docs/json.md"
    done
    [ "$(tr ',' '\n' <first.csv | grep -c '^accuracy_')" = 11 ]
}
it 'results and series' results

help() {
    ludwig help --json >out
    like out 'd=help' 'd["commands"]=help_command' 'd["common_options"]=help_option' 'd["exit_codes"]=help_exit'
    like out '[o for c in d["commands"] for o in c["options"]]=help_option'
}
it 'help' help

usage() {
    ludwig usage --json >out
    members out v users total
    like out 'd["users"]=usage_sum' 'd["total"]=usage_sum'
    ludwig usage --by sweep --json >out
    members out v sweeps total
    like out 'd["sweeps"]=usage_info' 'd["total"]=usage_sum'
}
it 'usage' usage

changing() {
    for words in 'retry 1' 'pause 1' 'resume 1' 'cancel 1'; do
        # shellcheck disable=SC2086 # one word each
        ludwig $words --yes --json >out
        like out 'd=changed'
    done
    node=$(ludwig nodes --quiet)
    for command in drain undrain; do
        ludwig $command "$node" --json >out
        like out 'd=drained'
    done
}
it 'commands that change something' changing

doctor() {
    ludwig doctor --json >out
    members out v checks
    like out 'd["checks"]=finding'
}
it 'doctor' doctor

done_testing
