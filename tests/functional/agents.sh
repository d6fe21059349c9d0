#!/bin/bash
# agents.sh - what docs/agents.md tells programs to do works as it stands there
. "$(dirname "$0")/lib.sh"

page=$TEST_ROOT/docs/agents.md

walk() {
    awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$page" >walk.sh
    [ "$(grep -c '^ludwig ' walk.sh)" -ge 8 ]
    mkdir walk
    (cd walk && bash -eu ../walk.sh </dev/null >../all)
    grep -v '^4 jobs in files: ' all >said
    cat >expected <<'END'
4 python3 train.py 0.1 16 []
done 4
{'lr': 0.01, 'hidden': 64} ['1.4']
2 2
END
    diff expected said
    [ "$(find walk/files/runs -type d -name '*_num0' | wc -l)" = 4 ]
}
it 'a sweep goes from nothing to its best configuration by the commands of the page' walk

listed() {
    ludwig help --json >help.json
    json help.json '"\n".join("| `%s` | %s | %s |" % (c["name"], c["help"], "yes" if c["json"] else "") for c in d["commands"])' >expected
    grep -E '^\| `[a-z]+` \| .* \| (yes)? ?\|$' "$page" >said
    diff expected said
}
it 'the page lists every command, and says which print JSON' listed

codes() {
    ludwig help --json >help.json
    for code in 0 1 2 3 4; do
        text=$(json help.json "[x['meaning'] for x in d['exit_codes'] if x['code'] == $code][0]")
        tr '\n' ' ' <"$page" | tr -s ' ' | tr -d '`' | grep -qF "$code ${text//,/}" ||
            tr '\n' ' ' <"$page" | tr -s ' ' | tr -d '`' | grep -qF "$code $text"
    done
}
it 'the page says what exit codes mean' codes

one_command() {
    ludwig help logs --json >help.json
    json help.json '[c["name"] for c in d["commands"]] == ["logs"]'
    json help.json '[(o["letter"], o["value"], o["type"], o["min"]) for o in d["commands"][0]["options"] if o["name"] == "--lines"] == [("-n", "N", "integer", 0)]'
    not ludwig help no-such --json
}
it 'one command is described alone' one_command

done_testing
