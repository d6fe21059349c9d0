#!/bin/bash
# param2vals.sh - configurations from a file of JSON lines, or from standard input
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0, memory: 2GiB}'

cat >job.sh <<'END'
cp "$LUDWIG_PARAM2VAL" "$LUDWIG_SAVE_PATH/seen.json"
ludwig report "rep=$LUDWIG_REP"
END
printf 'project: p\ncommand: sh job.sh {lr}\nsource: job.sh\ndebug: {epochs: 1}\n' >sweep.yaml
cat >list.jsonl <<'END'
{"lr": 0.1, "hidden": 64, "opt": {"name": "adam", "betas": [0.9, 1]}}

{"lr": 1, "hidden": 64.0, "opt": null}
{"lr": "1", "hidden": true, "ünï": "\u00e9 'x' \"y\" $HOME {lr}"}
END

# What its jobs had, one a line, by their numbers.
seen() { # SWEEP
    ludwig jobs "$1" --json >jobs
    python3 - "$SHARE" <<'END'
import json, sys
for job in json.load(open("jobs"))["jobs"]:
    path = "%s/%s/seen.json" % (sys.argv[1], job["run_path"])
    print(json.dumps(json.load(open(path, encoding="utf-8"))))
END
}

refused() { # PATTERN ARGUMENT...: of submit
    local pattern=$1 status=0
    shift
    ludwig submit "$@" >out 2>err || status=$?
    [ $status = 2 ] || { echo "exit status $status: $*" && cat err && return 1; }
    [ ! -s out ]
    grep -qE -e "$pattern" err || { echo "no '$pattern' in:" && cat err && return 1; }
    untouched
}

wrong_lines() {
    printf '{"lr": 1}\n{"lr": 2,}\n{"lr": 1.0}\n{"rl": 3}\n{"lr": 4, "lr": 5}\n[6]\n' >bad.jsonl
    refused '^ludwig: bad\.jsonl:2:10: ' sweep.yaml --param2vals bad.jsonl
    grep -q '^ludwig: bad\.jsonl:3:1: the same configuration as in line 1 ' err
    grep -q "^ludwig: bad\.jsonl:4:1: command: needs lr, which is not there" err
    grep -q '^ludwig: bad\.jsonl:5:11: this name stands twice between the same braces' err
    grep -q '^ludwig: bad\.jsonl:6:1: expected an object such as ' err
    grep -qF '    4 | {"rl": 3}' err
    refused '^ludwig: <stdin>:2:10: ' sweep.yaml --param2vals - <bad.jsonl
    printf '{"lr": "\xff"}\n' >bad.jsonl
    refused 'bad\.jsonl:1:9: this is no UTF-8 text' sweep.yaml --param2vals bad.jsonl
    printf '{"lr": 1, "x": %s}\n' "$(head -c 5000000 /dev/zero | tr '\0' 1)" >bad.jsonl
    refused 'bad\.jsonl:1:1: a line of 5000016 bytes is too long' sweep.yaml --param2vals bad.jsonl
    : >bad.jsonl
    refused 'bad\.jsonl: there is no configuration in it' sweep.yaml --param2vals bad.jsonl
    refused '<stdin>: there is no configuration in it' sweep.yaml --param2vals - --dry-run
    refused 'open nothing\.jsonl: ' sweep.yaml --param2vals nothing.jsonl
    refused 'read /: ' sweep.yaml --param2vals /
    rm bad.jsonl
}
it 'all lines are checked, and each mistake told with its place, before anything changes' wrong_lines

wrong_company() {
    printf 'command: run {lr}\nparams: {lr: [1]}\nmethod: grid\n' >both.yaml
    refused 'both\.yaml:2:1: params: leave it out: --param2vals has the conf' both.yaml --param2vals list.jsonl
    grep -q 'both\.yaml:3:1: method: leave it out' err
    for key in 'samples: 3' 'seed: 1' 'zip: []' 'when: {a: {b: 1}}' 'exclude: [{a: 1}]' 'include: [{a: 1}]'; do
        printf 'command: run {lr}\n%s\n' "$key" >both.yaml
        refused "both\\.yaml:2:1: ${key%%:*}: leave it out" both.yaml --param2vals list.jsonl
    done
    refused '^ludwig: --set lr=2: --param2vals has the conf' sweep.yaml --param2vals list.jsonl --set lr=2
    printf 'command: run\ndebug: {epoch: 1, hidden: 2}\n' >both.yaml
    refused 'both\.yaml:2:9: debug: unknown parameter .epoch.' both.yaml --param2vals list.jsonl --minimal
    printf 'command: run {lr}\nbatch: 4\n' >both.yaml
    refused 'both\.yaml:1:14: command: \{lr\} cannot be filled in, as with batch' both.yaml --param2vals list.jsonl
    rm both.yaml
}
it 'a file that says itself what the configurations are is refused beside a list, and so is --set' wrong_company

looked_at() {
    ludwig submit sweep.yaml --param2vals list.jsonl --dry-run --json >dry
    json dry 'd["configs"] == 3 and d["jobs"] == 3 and len(d["params"]) == 3'
    json dry 'repr(d["params"][0]) == repr({"lr": 0.1, "hidden": 64, "opt": {"name": "adam", "betas": [0.9, 1]}})'
    json dry 'repr(d["params"][1]) == repr({"lr": 1, "hidden": 64.0, "opt": None})'
    ludwig submit sweep.yaml --param2vals - --dry-run --json <list.jsonl | cmp - dry
    ludwig submit sweep.yaml --param2vals list.jsonl -n --reps 3 | grep -q '^jobs *3 configurations x 3 = 9$'
    ludwig submit sweep.yaml --param2vals list.jsonl -n --first-only --json | json - 'len(d["params"]) == 1'
    printf 'command: "true"\ndebug: {hidden: 2}\n' >small.yaml
    ludwig submit small.yaml --param2vals list.jsonl -n --minimal --json |
        json - 'd["jobs"] == 1 and [(p["lr"], p["hidden"]) for p in d["params"]] == [(0.1, 2)]'
    rm small.yaml
    untouched
}
it 'a dry run shows them' looked_at

ran() {
    ludwig_wait submit sweep.yaml --param2vals list.jsonl --reps 2 --wait --json >submitted
    json submitted 'd["configs"] == 3 and d["jobs"] == 6 and d["queued"] == 6'
    seen 1 >all
    awk 'NR % 2' all >odd
    python3 - <<'END'
import json
wanted = [json.loads(line) for line in open("list.jsonl", encoding="utf-8") if line.strip()]
seen = [json.loads(line) for line in open("odd", encoding="utf-8")]
assert repr(seen) == repr(wanted), (seen, wanted)
END
    ludwig results 1 --json | json - '[r["n"] for r in d["results"]] == [2, 2, 2]'
}
it 'each line is a configuration, and jobs see its types' ran

kept() {
    cmp "$SHARE/p/sweeps/1/param2vals.jsonl" list.jsonl
    cmp "$SHARE/p/sweeps/1/sweep.yaml" sweep.yaml
    json "$SHARE/p/sweeps/1/summary.json" 'd["configs"] == 3 and d["param2vals"] == "param2vals.jsonl" and "params" not in d'
}
it 'the list is kept with the sweep' kept

reused() {
    # The same configurations, numbers and order written differently, one more, from a pipe.
    printf '%s\n' '{"opt": null, "hidden": 64, "lr": 1.0}' '{"lr": 7}' |
        ludwig_wait submit sweep.yaml --param2vals - --wait --json >submitted
    json submitted 'd["configs"] == 2 and d["reused"] == 1 and d["queued"] == 1'
    cat >plain.yaml <<'END'
project: p
command: sh job.sh {lr}
source: job.sh
params: {lr: [7, 0.25]}
END
    ludwig submit plain.yaml --dry-run --json | json - 'd["reused"] == 1 and d["queued"] == 1'
}
it 'a configuration has one number, wherever it comes from' reused

piped() {
    ludwig submit sweep.yaml --param2vals list.jsonl --dry-run --json >wanted
    ludwig submit - --param2vals list.jsonl --dry-run --json <sweep.yaml | cmp - wanted
    not ludwig submit - --param2vals - -n <sweep.yaml 2>err
    grep -q '^ludwig: only one of the sweep file and --param2vals can be -$' err
    not ludwig submit - -n <sweep.yaml 2>err
    grep -q "^ludwig: <stdin>:2:20: command: unknown parameter 'lr'$" err
    grep -qF '    2 | command: sh job.sh {lr}' err
    mkdir below
    # Paths in it begin where one is.
    (cd below && not ludwig submit - --param2vals ../list.jsonl -n <../sweep.yaml 2>../err)
    grep -q 'source: there is no file or folder .*/below/job.sh' err
    rmdir below
}
it 'the sweep file can be standard input, too' piped

left_out() {
    mkdir everything
    echo "echo \$(ls)" >everything/run.sh
    printf 'project: q\ncommand: sh run.sh\n' >everything/sweep.yaml
    cp list.jsonl everything
    ludwig submit everything/sweep.yaml --param2vals everything/list.jsonl -n >dry
    grep -qE '^source +1 file, ' dry
}
it 'the list is no part of the source' left_out

one_only() {
    ludwig_wait submit sweep.yaml --param2vals list.jsonl --first-only --reps 2 --reuse none --wait --json >submitted
    json submitted 'd["configs"] == 1 and d["jobs"] == 2'
    [ "$(seen 3 | sort -u)" = "$(head -n 1 all)" ]
    sed 's/^debug.*/debug: {hidden: 3}/' sweep.yaml >small.yaml
    ludwig_wait submit small.yaml --param2vals list.jsonl --minimal --wait --json >submitted
    json submitted 'd["configs"] == 1 and d["jobs"] == 1'
    seen 4 | json - 'd["hidden"] == 3 and d["lr"] == 0.1'
}
it '--first-only runs the first line, --minimal the first line with the values of debug:' one_only

nested() { # DEPTH
    python3 -c 'import sys; n = int(sys.argv[1]) - 1; print("{\"a\": %s}" % ("[" * n + "]" * n))' "$1"
}
deep() {
    printf 'project: deep\ncommand: "true"\nsource: []\n' >deep.yaml
    nested 25 | not ludwig submit deep.yaml --param2vals - 2>err
    grep -q '^ludwig: <stdin>:1:1: a configuration may be nested 24 deep at most$' err
    nested 24 | ludwig_wait submit deep.yaml --param2vals - --wait
    nested 24 >wanted
    ludwig jobs last --json | json - 'd["jobs"][0]["params"]' | cmp - wanted
    ludwig results last --json | json - 'd["results"][0]["params"]' | cmp - wanted
    ludwig jobs last --where 'a = 1' | wc -l
    ludwig why last.1 --json | json - 'd["job"]["params"]' | cmp - wanted
    nested 24 | ludwig submit deep.yaml --param2vals - --dry-run --json | json - 'd["reused"] == 1'
}
it 'as deep as they may be nested, all commands show them' deep

batched() {
    cat >batch.yaml <<'END'
project: batched
command: python3 each.py
source: each.py
batch: 4
END
    cat >each.py <<'END'
import json, os
path = os.environ["LUDWIG_CHUNK"]
for job in json.load(open(os.path.splitext(path)[0] + ".json")):
    json.dump(job["params"], open(job["save_path"] + "/seen.json", "w"))
    with open(os.environ["LUDWIG_METRICS"], "a") as f:
        f.write(json.dumps({"job": job["job"], "done": True}) + "\n")
END
    seq 1 10 | sed 's/.*/{"i": &}/' | ludwig_wait submit batch.yaml --param2vals - --wait
    [ "$(seen 6 | tr '\n' ' ')" = "$(seq 1 10 | sed 's/.*/{"i": &}/' | tr '\n' ' ')" ]
}
it 'batches work through them' batched

many() {
    python3 -c '
for i in range(200000):
    print("{\"i\": %d, \"name\": \"configuration number %d of many\"}" % (i, i))' >many.jsonl
    printf 'project: many\ncommand: "true"\nsource: []\n' >many.yaml
    ludwig submit many.yaml --param2vals many.jsonl --dry-run >dry
    grep -qE '^jobs +200000 configurations x 1 = 200000$' dry
    grep -q '"i":199999' dry
    sed '150001s/150000/149999/g' many.jsonl >twice.jsonl
    not ludwig submit many.yaml --param2vals twice.jsonl --dry-run 2>err
    grep -q 'twice.jsonl:150001:1: the same configuration as in line 150000 ' err
    [ -z "$(ls "$TMPDIR")" ]
}
it 'many are no trouble' many

done_testing
