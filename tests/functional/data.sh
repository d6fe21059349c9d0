#!/bin/bash
# data.sh - ludwig data: sent ahead, listed, removed
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0, memory: 1GiB}'
ludwig up >/dev/null 2>&1
packs=$SHARE/demo/.ludwig/packs

mkdir -p demo/corpus demo/more
for i in $(seq 20); do echo "word $i" >"demo/corpus/$i"; done
echo 'something else' >demo/more/x
printf '%s\n' 'command: "true"' 'source: []' 'data: [corpus]' >demo/s.yaml
cd demo

files() {
    find "$packs" -type f | wc -l
}

pushed() {
    ludwig data push corpus more/x 2>err
    grep -qx 'corpus: 20 files, [0-9]* B, in project demo; [0-9]* B were new' err
    [ "$(files)" = 8 ]
    ludwig data push corpus --project demo 2>err
    grep -q 'in project demo; none were new' err
    [ "$(files)" = 8 ]
    ludwig data ls --project demo --json >d
    json d 'd["v"] == 1 and [(x["name"], x["sweep"], x["set"]["files"]) for x in d["data"]].count((None, 0, 20)) == 1'
    json d 'len(d["data"]) == 2'
    ludwig data ls >out
    [ "$(grep -c '^(sent ahead) *demo ' out)" = 2 ]
}
it 'what was pushed is there, once, and is listed' pushed

used() {
    ludwig_wait submit s.yaml --wait 2>err >id
    [ "$(files)" = 8 ]
    ludwig data ls --json >d
    json d '[(x["name"], x["project"], x["set"]["files"], x["unfinished"]) for x in d["data"] if x["name"]] == [("corpus", "demo", 20, 0)]'
    ludwig nodes --json >n
    wait_until 20 is_held
    json d '[x["set"]["bytes"] for x in d["data"] if x["name"]] == ['"$(cat corpus/* | wc -c)"']'
    # When it was first named, and last.
    json d 'all("20" < x["added_at"] <= x["used_at"] for x in d["data"] if x["name"])'
    ludwig data ls >out
    grep -qE '^NAME +PROJECT +FILES +SIZE +ADDED +USED +SWEEP +NODES +ID$' out
    grep -qE "^corpus +demo +20 +[0-9]+ B +[0-9-]+ [0-9:]+ +[0-9-]+ [0-9:]+ +$(cat id) +$(json n 'd["nodes"][0]["node"]') " out
}
is_held() {
    ludwig data ls --json >d
    json d '[x["nodes"] for x in d["data"] if x["name"]] == ['"[\"$(json n 'd["nodes"][0]["node"]')\"]"']' >/dev/null
}
it 'a sweep that names it sends nothing; then it is listed with its size, age, last use and who holds it' used

kept() {
    ludwig data gc 2>err
    grep -qx 'demo: nothing can go' err
    # Parts that no manifest names may be those of somebody who is sending.
    echo x >"$packs/parts/$(printf '%064d' 1).raw"
    ludwig data gc --yes 2>err
    [ "$(files)" = 9 ]
    touch -d '8 days ago' "$packs/parts/$(printf '%064d' 1).raw"
    ludwig data gc 2>err
    grep -qx 'demo: 0 datasets, 1 file, 2 B can go: --yes removes them' err
    ludwig data gc --json | json - 'd == {"v": 1, "gone": [{"project": "demo", "datasets": 0, "files": 1, "bytes": 2,
        "is_removed": False}]}'
    [ "$(files)" = 9 ]
    ludwig data gc --yes
    [ "$(files)" = 8 ]
    # What a worker set aside, as it was damaged, is needed by nobody.
    part=$(find "$packs/parts" -name '*.tar.zst' | head -n 1)
    cp "$part" "$part.bad"
    ludwig data gc --yes 2>err
    [ "$(files)" = 9 ]
    touch -d '8 days ago' "$part.bad"
    ludwig data gc --yes
    [ "$(files)" = 8 ]
    [ -e "$part" ]
}
it 'what was used lately stays, and what is young' kept

old() {
    find "$packs" -type f -exec touch -d '31 days ago' {} +
    ludwig data gc --yes --json >gone
    json gone '[(x["project"], x["datasets"], x["files"], x["is_removed"]) for x in d["gone"]] == [("demo", 1, 4, True)]'
    [ "$(files)" = 4 ]
    ludwig data ls --json >d
    json d 'len(d["data"]) == 1'
}
it 'what nobody named for 30 days goes, with what it alone needed' old

removed() {
    status=0
    ludwig data rm nothing-like-it 2>err || status=$?
    [ $status = 1 ]
    grep -q "there is no dataset 'nothing-like-it'" err
    printf '%s\n' 'command: "false"' 'source: []' 'data: [corpus]' 'resources: {memory: 900GiB}' >waits.yaml
    id=$(ludwig submit waits.yaml 2>/dev/null)
    status=0
    ludwig data rm corpus 2>err || status=$?
    [ $status = 1 ]
    grep -q 'corpus is needed by 1 sweep that is not over' err
    [ "$(files)" -ge 4 ]
    ludwig cancel "$id"
    ludwig data rm corpus
    [ "$(files)" = 0 ]
    ludwig data ls --json >d
    json d 'd["data"] == []'
}
it 'what a sweep needs is not removed; then it is' removed

several() {
    ludwig data push corpus
    ludwig data push corpus --project other
    printf '%s\n' 'project: other' 'command: "true"' 'source: []' 'data: [corpus]' >other.yaml
    ludwig_wait submit s.yaml --reuse none --wait 2>err >id
    ludwig_wait submit other.yaml --wait 2>err >id
    status=0
    ludwig data rm corpus 2>err || status=$?
    [ $status = 2 ]
    grep -q "demo and other both have a dataset 'corpus'; --project says which is meant" err
    ludwig data rm corpus --project other
    ludwig data ls --json >d
    json d '[x["project"] for x in d["data"] if x["name"] == "corpus"] == ["demo"]'
}
it 'a name that several projects have names none of them' several

wrong() {
    for words in 'lss' 'push' 'rm' 'gc x' 'ls x'; do
        status=0
        # shellcheck disable=SC2086
        ludwig data $words 2>err || status=$?
        [ $status = 2 ]
    done
    status=0
    ludwig data push /no/where 2>err || status=$?
    [ $status = 1 ]
    grep -q '/no/where' err
}
it 'wrong words are usage errors' wrong

linked() {
    mkdir -p ../linked/in && cd ../linked
    echo 1,2 >in/train.csv
    cat >s.yaml <<'END'
command: cat data/train.csv c/1 && [ "$(readlink data/train.csv)" = ../../data/train.csv ]
source: []
data: {data/train.csv: in/train.csv, c: ../demo/corpus}
END
    ludwig_wait submit s.yaml --wait >id
    [ "$(ludwig logs "$(cat id).1")" = "$(printf '1,2\nword 1')" ]
    # The source must not have it; and without a map, a job that fails says where it is.
    mkdir -p data && echo x >data/train.csv
    sed -i 's/^source:.*/source: [data]/' s.yaml
    not ludwig_wait submit s.yaml --wait >id
    ludwig why "$(cat id).1" | grep -q 'data: data/train.csv is in the source already'
    cat >s.yaml <<'END'
command: echo "FileNotFoundError - No such file or directory - 'data/train.csv'"; exit 1
source: []
data: [in/train.csv]
END
    not ludwig_wait submit s.yaml --wait >id
    ludwig why "$(cat id).1" | grep -q "'data/train.csv' (it is \$LUDWIG_DATA/train.csv; data: {data/train.csv: FILE} links"
}
it 'a map links data where the program looks for them' linked

done_testing
