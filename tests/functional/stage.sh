#!/bin/bash
# stage.sh - data in the worker's cache: brought once, completed after a kill, put right, removed when old
. "$(dirname "$0")/lib.sh"

configure 'resources: {cpus: 2, gpus: 0}'
data() { # NAME LETTER: small files, a large one, holes and links
    mkdir -p "$1/deep/er" "$1/empty"
    local i
    for i in {1..200}; do echo "$2 $i" >"$1/deep/file$i"; done
    yes "$2" | head -c 20000000 >"$1/large"
    truncate -s 50000000 "$1/sparse" && echo "$2" >>"$1/sparse"
    printf '#!/bin/sh\necho %s\n' "$2" >"$1/deep/er/tool" && chmod +x "$1/deep/er/tool"
    ln "$1/deep/file1" "$1/deep/hard"
    ln -s ../deep/file2 "$1/empty/link"
    (cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum) >"$1.sums"
}
sweep() { # PROJECT DATA LINE...
    printf '%s\n' "project: $1" 'command: sh job.sh {a}' 'source: [job.sh, data.sums]' "data: [$2]" "${@:3}" >sweep.yaml
    cp "$2.sums" data.sums
}
verify='(cd "$LUDWIG_DATA"/* && sha256sum --quiet -c "$OLDPWD/data.sums" && [ "$(readlink empty/link)" = ../deep/file2 ] && deep/er/tool)'
cache() { echo "$SCRATCH"/*/cache; }
tree_of() { # NAME: its folder in the cache
    local at
    for at in "$SCRATCH"/*/cache/[0-9a-f]*; do
        [ ! -e "$at/large" ] || ! cmp -s "$at/large" "$1/large" || { echo "$at" && return; }
    done
    false
}
log() { cat "$HOME"/.local/state/ludwig/*.log "$XDG_STATE_HOME"/ludwig/*.log 2>/dev/null | sort -u; }

data data1 a
write_job 'set -e' "$verify" 'echo $1 >"$LUDWIG_SAVE_PATH/x"'

it 'two sweeps at once have one dataset brought once' '
    sweep one data1 "params: {a: [1, 2, 3, 4]}" && first=$(submit sweep.yaml)
    sweep one data1 "params: {a: [5, 6, 7, 8]}" && second=$(submit sweep.yaml)
    wait_until 30 ended $first && wait_until 30 ended $second
    [ "$(jobs_in done $first)$(jobs_in done $second)" = 44 ]
    [ "$(ls -d $(cache)/[0-9a-f]* | wc -l)" = 2 ] # and the source
    ls -di "$(tree_of data1)" >inode
    [ "$(stat -c %a "$(tree_of data1)/deep/file3" "$(tree_of data1)/deep/er/tool" | tr "\n" " ")" = "444 555 " ]
    nothing_left
'

it 'what a cleaner took is there when the next job starts' '
    rm -r "$(tree_of data1)/deep/er" "$(tree_of data1)/deep/file7" "$(tree_of data1)/empty"
    find "$(tree_of data1)" -name sparse -delete
    sweep one data1 "params: {a: [11, 12, 13, 14]}" && id=$(submit sweep.yaml)
    wait_until 30 ended $id
    [ "$(jobs_in done $id)" = 4 ]
    ls -di "$(tree_of data1)" | cmp - inode
'

it 'what one job changed, the next one sees as it was' '
    configure "resources: {cpus: 1, gpus: 0}"
    ludwig down && wait_until 10 "[ -z \"\$(pids_of ludwigd)\$(pids_of ludwig-worker)\" ]"
    # The stager, which looks at the tree for the next job, may take the mode back before a file is opened.
    write_job "set -e" "$verify" "cd \$LUDWIG_DATA/*" \
        "write() { until chmod u+w \$1 && echo \$2 | dd of=\$1 \$3 2>/dev/null; do :; done; }" \
        "write large changed conv=notrunc" "write deep/file1 xx" "rm deep/file\$1" "touch new" "mv deep/file9 deep/file10" \
        "write deep/file12 y conv=notrunc" "rm -r deep/er"
    sweep one data1 "params: {a: [$(seq -s, 21 40)]}" && id=$(submit sweep.yaml)
    wait_until 60 ended $id
    [ "$(jobs_in done $id)" = 20 ] || { ludwig status $id && grep -h . "$SHARE"/one/logs/$id/* | tail -n 30 && return 1; }
    write_job "set -e" "$verify"
'

it 'after a kill -9 of all, what a job changed meanwhile is found' '
    sweep one data1 "params: {a: [31]}"
    write_job "$verify" "cd \$LUDWIG_DATA/*" "gate kill" "chmod u+w deep/file1" "echo yy >deep/file1" "chmod u-w deep/file1" "gate end"
    id=$(submit sweep.yaml)
    wait_until 20 "[ \$(recorded \"^start $id.1 \") = 1 ]"
    at=$(tree_of data1)
    kill_hard $(agents)
    open kill
    wait_until 10 "grep -q yy \"$at/deep/file1\""
    open end
    write_job "set -e" "$verify"
    sweep one data1 "params: {a: [32, 33]}" && id=$(submit sweep.yaml)
    wait_until 60 ended $id
    [ "$(jobs_in done $id)" = 2 ]
'

# Packs that are gone may be what the worker was told of last, or first.
of_two_projects() {
    write_job 'set -e' "$verify"
    data data4 d
    sweep left data4 'params: {a: [1]}' && id=$(submit sweep.yaml)
    wait_until 30 ended "$id"
    rm -r "$SHARE/left/.ludwig/packs" "$(tree_of data4)/deep"
    sweep right data4 'params: {a: [2]}' && id=$(submit sweep.yaml)
    wait_until 30 ended "$id"
    [ "$(jobs_in done "$id")" = 1 ]
    data data5 e
    # shellcheck disable=SC2046 # one word each
    kill -STOP $(agents)
    sweep left data5 'params: {a: [3]}' && gone=$(submit sweep.yaml)
    sweep right data5 'params: {a: [4]}' && id=$(submit sweep.yaml)
    rm -r "$SHARE/left/.ludwig/packs"
    # shellcheck disable=SC2046
    kill -CONT $(agents)
    wait_until 30 ended "$id"
    [ "$(jobs_in done "$id")" = 1 ]
    ludwig cancel "$gone" || true
    wait_until 30 ended "$gone"
    nothing_left
}
it 'data of two projects come from the packs that are there' of_two_projects

data data2 b
it 'what was not used for longest goes when cache_size says so' '
    ludwig down && wait_until 10 "[ -z \"\$(pids_of ludwigd)\$(pids_of ludwig-worker)\" ]"
    configure "resources: {cpus: 1, gpus: 0}" "cache_size: 30M"
    data data3 c
    write_job "set -e" "$verify" "gate \$1"
    sweep one data1 "params: {a: [50]}" && id=$(submit sweep.yaml)
    open 50 && wait_until 20 ended $id
    sweep one data2 "params: {a: [51]}" && first=$(submit sweep.yaml)
    wait_until 20 "[ \$(recorded \"^start $first.1 \") = 1 ]"
    not tree_of data1 # for the second was no room besides it
    open 51 && wait_until 20 ended $first
    sweep one data3 "params: {a: [52]}" && second=$(submit sweep.yaml)
    open 52 && wait_until 20 ended $second
    not tree_of data2 && [ -d "$(tree_of data3)" ]
    [ "$(jobs_in done $first)$(jobs_in done $second)" = 11 ]
    nothing_left
'
ludwig down

# ---- killed ----

if [ ! -x "$LUDWIG_HOOKS_BIN/ludwig-worker" ]; then
    skip 'a kill at every point of staging costs nothing' 'no programs with test hooks (make variant=hooks)'
    done_testing
fi
PATH=$LUDWIG_HOOKS_BIN:$PATH
points=$(sed -n 's/^ *X(\([a-z_]*\), stager, .*/\1/p' "$TEST_ROOT/common/base/crash_point.h")
it 'the points of staging are known' '[ "$(echo "$points" | wc -w)" = 7 ]'

write_job 'set -e' "$verify"
survives() { # POINT PROJECT
    wait_until 10 '[ -z "$(pids_of ludwigd)$(pids_of ludwig-worker)" ]'
    rm -rf "$SCRATCH"/*/cache
    configure 'resources: {cpus: 2, gpus: 0}'
    sweep "$2" data1 'params: {a: [1, 2, 3]}'
    export LUDWIG_CRASH_AT=$1 LUDWIG_CRASH_ONCE=$TEST_TMP/crashed.$2
    ludwig_wait up
    id=$(ludwig_wait submit sweep.yaml --wait)
    [ "$(jobs_in done "$id")" = 3 ]
    [ -e "$LUDWIG_CRASH_ONCE" ]
    [ "$(find "$(cache)" -maxdepth 1 -name '.*' -not -name '*.record' -not -name .locks | wc -l)" = 0 ] || { ls -la "$(cache)" && return 1; }
    nothing_left
    ludwig down
}
for point in $points; do
    it "killed at $point, the tree is completed" "survives $point at_$point"
done

done_testing
