#!/bin/bash
# page.sh - results --html in a real Chromium: what it shows, filters and brushes, and that it asks nobody for anything
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 4, gpus: 0, memory: 2GiB}'
check=$TEST_ROOT/tests/functional/page_check.py
# The browser syncs the files of its profile often.
profile=$(memory_folder 200000 5000)

cat >job.sh <<'END'
for step in 1 2 3 4; do
    awk -v lr="$1" -v m="$2" -v s=$step -v r="$LUDWIG_REP" 'BEGIN {
        printf "{\"step\": %d, \"accuracy\": %.6f, \"loss\": %.6f}\n", s, 0.5 + s * m / 10 - lr + r / 100, 1 / s + lr }'
done >>"$LUDWIG_METRICS"
[ "$1$2$LUDWIG_REP" != 0.10.91 ] || { echo 'ValueError: no </script> here' >&2; exit 3; }
END
cat >sweep.yaml <<'END'
project: demo
command: sh job.sh {lr} {momentum}
source: job.sh
params:
  lr: [0.001, 0.01, 0.1]
  momentum: [0.0, 0.9]
  optimizer: [adam, "sgd, plain"]
  n: [1, 2]
  epochs: 4
reps: 2
results: {metric: accuracy, goal: max}
END

# Names and values that want to be something else.
cat >hostile.sh <<'END'
printf '%s\n' '{"score": 0.5, "</script><script>document.title=1</script>": 1e308, "step": 1}' \
    '{"score": NaN, "<img src=x onerror=document.title=2>": -1e308, "constructor": 1, "__proto__": 2, "step": 2}' >>"$LUDWIG_METRICS"
printf '</script><script>document.title=3</script>\033[2J\033]0;x\007\n' >&2
[ "$LUDWIG_REP" = 0 ]
END
cat >hostile.yaml <<'END'
project: hostile
name: </script><script>document.title=4</script>
command: sh hostile.sh
source: hostile.sh
params:
  "</script><script>document.title=5</script>": ["<!--", "]]>", "\e[31m\u202ered\u2028"]
  "<img src=x onerror=document.title=6>": [1.0e308, -1.0e308, .nan]
  __proto__: [9007199254740993, 1]
  nested: {values: [{a.b: {c: .inf}}, [1, "</script>"]]}
  "' or 1 = 1": {value: "&lt;b&gt;"}
reps: 2
END

# One that is stopped early.
cat >stops.sh <<'END'
for step in 1 2 3 4 5 6 7 8; do
    echo "{\"step\": $step, \"accuracy\": $1}" >>"$LUDWIG_METRICS"
    [ "$1" = 0.9 ] || sleep 1
done
[ "$1" = 0.9 ] || sleep 100
END
cat >stops.yaml <<'END'
project: stops
command: sh stops.sh {base}
source: stops.sh
params: {base: [0.9, 0.1]}
results: {metric: accuracy, goal: max}
stop: {rule: threshold, threshold: 0.5, first: 2}
END

ran() {
    not ludwig_wait submit sweep.yaml --wait >id
    [ "$(cat id)" = 1 ]
    ludwig results 1 --html page.html 2>said
    grep -q '^page.html: 24 configurations, 48 jobs, ' said
    ludwig results 1 --html - --where 'lr < 0.05' --top 3 >three.html
    not ludwig_wait submit hostile.yaml --wait >id
    ludwig label 2 --note '</script><script>document.title=7</script>'
    ludwig results 2 --html hostile.html
    ludwig_wait submit stops.yaml --wait >id
    ludwig results 3 --html stops.html
}
it 'pages of three sweeps are written' ran

file() {
    python3 - page.html three.html hostile.html stops.html <<'END'
import json, re, sys
for path in sys.argv[1:]:
    text = open(path).read()
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert len(text.encode()) - len(data[1].encode()) < 200_000
    assert not re.search(r"""(src|href)\s*=|@import|url\(|https?://""", text.replace(data[1], "")), path
    assert text.count("<script") == 2 == text.count("</script"), path
    assert not re.search("[<>&\x1b]", data[1]), path
    d = json.loads(data[1], parse_constant=lambda word: sys.exit(word))
    assert d["v"] == 1
    print(path, len(d["configs"]["names"]))
    if path == "three.html":
        assert len(d["configs"]["names"]) == 3 and len(d["jobs"]["names"]) == 6
END
}
it 'a page is one small file that names no other, with JSON in it that is no HTML' file

if ! python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); import chromium; sys.exit(chromium.find() is None)' "${check%/*}"; then
    for sentence in 'shows' 'filters as the terminal does' 'brushes' 'tells what was stopped' 'has a row for each GPU' 'has room for very many jobs' 'lets nothing run' 'is accessible'; do
        skip "the page $sentence" 'takes Chromium'
    done
    done_testing
fi

it 'the page shows every view, in light and dark, wide and narrow, and asks nobody' 'python3 "$check" "$profile" shows page.html'
it 'its filter matches what --where of the terminal matches, and refuses the same' 'python3 "$check" "$profile" filters page.html'
it 'a drag, the keyboard and the filter brush the same axes' 'python3 "$check" "$profile" brushes page.html'
it 'what was stopped early is told, with its reason, and its curve ends there' 'python3 "$check" "$profile" stops stops.html'
it 'each GPU has a row with its jobs and its idle time, and nodes are listed' 'python3 "$check" "$profile" gpus page.html'
it '100,000 jobs have one grid that is drawn where it is looked at, and no element of their own' 'python3 "$check" "$profile" many page.html'
it 'hostile names, values and errors are shown and run nothing' 'python3 "$check" "$profile" hostile hostile.html'
if [ -e "$test_cache/axe/axe.min.js" ]; then
    it 'a checker of accessibility finds nothing' 'python3 "$check" "$profile" accessible page.html "$test_cache/axe/axe.min.js" && python3 "$check" "$profile" accessible stops.html "$test_cache/axe/axe.min.js"'
else
    skip 'a checker of accessibility finds nothing' 'takes axe-core, which .ci/deps test fetches where npm is'
fi

done_testing
