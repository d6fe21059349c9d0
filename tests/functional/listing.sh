#!/bin/bash
# listing.sh - finding one's way among sweeps: filters, names and tags afterwards, last, several at once
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0}'
sweep() { # PROJECT COMMAND VALUE...
    printf 'project: %s\ncommand: %s\nsource: []\nparams: {a: [%s], b: 7}\n' "$1" "$2" "$(IFS=,; echo "${*:3}")" >sweep.yaml
}
numbers() { # ARGUMENT...: of the sweeps that status lists
    ludwig status -q "$@" | tr '\n' ' '
}

made() {
    sweep p 'ludwig report m={a}' 1 2
    ludwig_wait submit sweep.yaml --wait --name first
    sweep p 'ludwig report m={a}' 2 3
    ludwig_wait submit sweep.yaml --wait
    sweep q '"true"' 1
    ludwig_wait submit sweep.yaml --wait --name other
}
it 'three sweeps are over' made

filters() {
    [ "$(numbers)" = '3 2 1 ' ]
    [ "$(numbers --project p)" = '2 1 ' ]
    [ "$(numbers --name fir)" = '1 ' ]
    [ "$(numbers --name q)" = '3 ' ]
    [ "$(numbers --limit 2)" = '3 2 ' ]
    [ "$(numbers --since 1h --project q)" = '3 ' ]
    [ "$(numbers --since 2099-01-01)" = '' ]
    not ludwig status --since nonsense
    not ludwig status p 2>err
    grep -q "'p' names no sweep or job: .*; .ludwig status --project p. lists a project's sweeps$" err
}
it 'status takes --project, --name, --since and --limit' filters

labels() {
    ludwig label 2 --name second --tag good,paper --note 'try a smaller one'
    ludwig label 1 3 --tag good
    [ "$(numbers --tag good)" = '3 2 1 ' ]
    [ "$(numbers --tag paper)" = '2 ' ]
    [ "$(numbers --tag pap)" = '' ]
    ludwig label 2 --untag good
    ludwig status 2 >out
    grep -q 'second' out && grep -q 'paper' out && grep -q 'try a smaller one' out
    ludwig status 2 --json | json - 'd["name"] == "second" and d["tags"] == "paper" and d["note"] == "try a smaller one"'
    ludwig label 2 --name '' --note '' --untag paper --json >cleared
    json cleared 'all(d["sweeps"][0][k] is None for k in ("name", "tags", "note"))'
    not ludwig label 2 2>e && grep -q 'say what is to change' e
    not ludwig label 2 --tag 'a b' 2>e && grep -q 'is no tag' e
    not ludwig label 99 --tag x
}
it 'a sweep gets a name, a note and tags afterwards' labels

defaults() {
    ludwig jobs -q >out && [ "$(cat out)" = 3.1 ]
    ludwig results --json | json - 'len(d["results"]) == 1'
    ludwig fetch && [ -d q-3/runs/param_001 ]
}
it 'last is meant where no sweep is named' defaults

several() {
    ludwig results 1 2 --csv >out
    [ "$(head -n 1 out | cut -d, -f1-4)" = param_name,a,b,n ]
    [ "$(tail -n +2 out | cut -d, -f1-4 | tr '\n' ' ')" = 'param_001,1,7,1 param_002,2,7,1 param_003,3,7,1 ' ]
    not ludwig results 1 3 2>e
    grep -q 'sweeps 1 and 3 are of the projects p and q' e
}
it 'results shows several sweeps of a project together, and CSV has all parameters' several

jobs_sorted() {
    ludwig jobs 1 2 --csv --sort -a >out
    [ "$(head -n 1 out)" = job,state,rep,attempt,node,seconds,param_name,a,b,exit_code,reason ]
    [ "$(tail -n +2 out | cut -d, -f1 | tr '\n' ' ')" = '2.1 1.2 1.1 ' ]
    [ "$(ludwig jobs 1 2 -q --sort a --limit 2 | tr '\n' ' ')" = '1.1 1.2 ' ]
    ludwig jobs 1 2 --json --sort -job --limit 1 | json - '[j["job"] for j in d["jobs"]] == ["2.1"]'
    not ludwig jobs 1 --sort nothing 2>e
    grep -q "nothing" e
}
it 'jobs takes --sort, --limit and --csv' jobs_sorted

paused() {
    sweep p 'sleep 600' 9
    printf 'nodes: []\n' >>sweep.yaml
    ludwig submit sweep.yaml >id
    ludwig pause "$(cat id)"
    ludwig jobs >out
    grep -q "sweep $(cat id) is paused (ludwig resume $(cat id))" out
    ludwig cancel last
}
it 'a job of a paused sweep says that its sweep is paused' paused

done_testing
