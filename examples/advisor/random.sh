#!/bin/sh
# SPDX-License-Identifier: MIT
# random.sh - an advisor in shell and awk: random search (docs/advisor.md)
#
# Each line of standard input is a JSON object as ludwig writes it: ", " between members and ": "
# behind names.  That is enough for awk to pick apart a space of floats and ints without choices.

points() { # lines "space" and "ask" on standard input
    awk '
    function member(line, name) { # the number behind "name":
        if (!match(line, "\"" name "\": [-+.0-9e]+"))
            return 0
        return substr(line, RSTART + length(name) + 4, RLENGTH - length(name) - 4) + 0
    }
    NR == 1 {
        sub(/.*"params": \{/, "")
        sub(/\}, "fixed": .*/, "")
        n = split($0, part, /\}, /)
    }
    NR == 2 {
        srand(member($0, "seed"))
        printf "{\"type\": \"give\", \"re\": %d, \"points\": [", member($0, "seq")
        for (k = 0; k < member($0, "n"); k++) {
            printf "%s{\"params\": {", (k ? ", " : "")
            for (i = 1; i <= n; i++) {
                split(part[i], word, "\"")
                low = member(part[i], "low")
                high = member(part[i], "high")
                x = low + rand() * (high - low)
                if (part[i] ~ /"log": true/)
                    x = exp(log(low) + rand() * log(high / low))
                if (part[i] ~ /"kind": "int"/)
                    x = low + int(rand() * (high - low + 1))
                if (part[i] ~ /"kind": "int".*"log": true/)
                    x = int(exp(log(low - .5) + rand() * log((high + .5) / (low - .5))) + .5)
                printf "%s\"%s\": %.6g", (i > 1 ? ", " : ""), word[2], x
            }
            printf "}}"
        }
        print "]}"
    }'
}

while IFS= read -r line; do
    case $line in
    *'"type": "space"'*)
        space=$line
        echo '{"type": "hello", "name": "random.sh", "deterministic": true}'
        ;;
    *'"type": "ask"'*) printf '%s\n%s\n' "$space" "$line" | points ;;
    *'"type": "end"'*) exit ;;
    esac
done
