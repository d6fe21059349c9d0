#!/bin/bash
# plot.sh - ludwig plot on real terminals: whole screens, colours, and what it refuses
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/screen.sh"

# One after the other, so that jobs end in their order.
configure 'resources: {cpus: 1, gpus: 0, memory: 1GiB}'
cat >job.sh <<'END'
awk -v lr="$1" -v depth="$2" -v opt="$3" -v r="$LUDWIG_REP" 'BEGIN {
    for (s = 1; s <= 12; s++) {
        q = 1 - exp(-s * sqrt(lr) * (opt == "adam" ? 8 : 3)) - depth / 40 + (r - 0.5) / 25 - (lr > 0.05 && opt == "adam" ? 0.8 : 0)
        printf "{\"step\": %d, \"accuracy\": %.4f, \"loss\": %.4f}\n", s, q, (1 - q) * 3 } }' >>"$LUDWIG_METRICS"
END
cat >sweep.yaml <<'END'
project: demo
order: file
command: sh job.sh {lr} {depth} {opt}
source: job.sh
params: {lr: [0.001, 0.01, 0.1], depth: [1, 2, 4], opt: [adam, sgd]}
reps: 2
results: {metric: accuracy}
END

ran() {
    id=$(submit sweep.yaml)
    wait_until 120 ended "$id"
    [ "$(jobs_in "done" "$id")" = 36 ]
}
it 'a sweep of 18 configurations runs' ran

screen() { # COLUMNSxROWS
    tm new-session -d -x "${1%x*}" -y "${1#*x}" 'ludwig plot 1 2>stderr; printf END; exec sleep 600'
    shows END
    tm kill-server
    sed '$d' screen >"screen.$1"
    diff "$TEST_ROOT/tests/fixtures/plot-$1.txt" "screen.$1"
}
for size in 80x24 200x60; do
    if command -v tmux >/dev/null; then
        it "the screen of $size is as it was" "screen $size"
    else
        skip "the screen of $size is as it was" 'takes tmux'
    fi
done

coloured() {
    terminal() {
        env -u NO_COLOR "$@" python3 -S "$TEST_ROOT/tests/functional/terminal.py" 24x80 sh -c 'exec ludwig plot 1 2>stderr' >out
    }
    terminal TERM=xterm-256color COLORTERM=truecolor
    grep -q $'\033\[0;38;2;' out
    terminal TERM=xterm-256color COLORTERM=
    grep -q $'\033\[0;38;5;' out
    not grep -q $'38;2;' out
    terminal TERM=xterm COLORTERM=
    grep -q $'\033\[0;3[2-6]m' out
    not grep -q '38;' out
    for setting in TERM=dumb NO_COLOR=1; do
        terminal "$setting" COLORTERM=truecolor
        not grep -q $'\033' out
    done
    # Without UTF-8 all is ASCII, and in a file nothing is coloured.
    LC_ALL=C ludwig plot 1 >out
    not grep -qP '[^\x20-\x7e]' out
    grep -q '##' out
    [ "$(wc -L <out)" -le 100 ]
}
it 'colours are those that the terminal has, letters those of the locale' coloured

chosen() {
    ludwig plot last loss >out
    head -n 1 out | grep -q '^loss (low is good): best '
    ludwig plot 1 --where 'opt = sgd' | head -n 1 | grep -q ' of 9, param_'
    not ludwig plot 1 los 2>error
    grep -q "did you mean 'loss'" error
    not ludwig plot 1 --where 'lr > 1' 2>error
    grep -q 'no configuration that matches has a finite mean of accuracy' error
    # What is far off, or no number at all.
    cat >wild.sh <<'END'
for step in 1 2 3; do echo "{\"x\": $1, \"step\": $step}"; done >>"$LUDWIG_METRICS"
END
    printf '%s\n' 'project: wild' 'command: sh wild.sh {v}' 'source: wild.sh' \
        'params: {v: ["1e308", "-1e308", NaN, "0.5", "0.6", "0.4"], w: ["\e[2Jz", b]}' >wild.yaml
    id=$(submit wild.yaml)
    wait_until 60 ended "$id"
    ludwig plot "$id" >out
    not grep -q $'\033' out
    head -n 1 out | grep -q 'best 1e+308'
}
it 'a measure, --where, and what is far off or no number' chosen

# Neither names nor what jobs report reach the terminal as they are; a line of 10 MB is passed over or read.
hostile() {
    cat >evil.sh <<'END'
{
    printf '{"m\\u001b]0;pwned\\u0007\\u202e": 1.5, "step": 1, "v": 1e308}\n{"v": -1e308, "step": 2}\n'
    printf '{"v": NaN, "step": 3}\n{"v": 1e999, "step": 4}\n{"v": 7, "step": 6, "x": "'
    head -c 10000000 /dev/zero | tr '\0' x
    printf '"}\n{"v": %s, "step": 7}\n' "$1"
} >>"$LUDWIG_METRICS"
END
    printf '%s\n' 'project: evil' 'command: sh evil.sh {v}' 'source: evil.sh' \
        'params: {v: [1, 2, 3], w: ["\e]0;pwned\a狗\u202e", "b"]}' >evil.yaml
    id=$(submit evil.yaml)
    wait_until 60 ended "$id"
    ludwig plot "$id" v >out
    head -n 1 out | grep -qF 'v (high is good): best 3 of 6, param_00'
    grep -qF -e '-1e+308' out
    for metric in v $'m\e]0;pwned\a\xe2\x80\xae'; do
        python3 -S "$TEST_ROOT/tests/functional/terminal.py" 24x80 ludwig plot "$id" "$metric" >shown
        not grep -qP '\x1b\]|\x07|\x0e|\xe2\x80\xae' shown
        grep -q pwned shown
        for form in svg png pdf; do ludwig plot "$id" "$metric" -o "evil.$form"; done
        not grep -qaP '\x1b|\x07|\xe2\x80\xae' evil.svg
    done
}
it 'hostile names, values and lines stay text' hostile

# Files for papers: the same picture, whose texts and lines lie where they should, and the same bytes again.
cat >read.py <<'END'
import re, struct, zlib


def pdf_texts(path):
    """The texts of a PDF, whose letters are numbers of glyphs of the font in it."""
    pdf = open(path, "rb").read()
    letters = {a: chr(int(b, 16)) for a, b in re.findall(rb"beginbfchar <(....)> <(....)> endbfchar", pdf)}
    return ["".join(letters[text[i:i + 4]] for i in range(0, len(text), 4)) for text in re.findall(rb"<(\w*)> Tj", pdf)]


def png_rows(path):
    """Its width, and its rows of red, green and blue."""
    png = open(path, "rb").read()
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, data, kinds = 8, b"", []
    while at < len(png):
        n, kind = struct.unpack(">I4s", png[at:at + 8])
        assert zlib.crc32(png[at + 4:at + 8 + n]) == struct.unpack(">I", png[at + 8 + n:at + 12 + n])[0]
        kinds.append(kind)
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", png[at + 8:at + 18])
            assert (depth, colour) == (8, 2)
        data += png[at + 8:at + 8 + n] if kind == b"IDAT" else b""
        at += 12 + n
    assert b"tIME" not in kinds
    raw, rows, before = zlib.decompress(data), [], bytearray(3 * width)
    for y in range(height):
        how, line = raw[y * (3 * width + 1)], bytearray(raw[y * (3 * width + 1) + 1:(y + 1) * (3 * width + 1)])
        for i in range(3 * width if how else 0):
            left, up, corner = (line[i - 3], before[i], before[i - 3]) if i > 2 else (0, before[i], 0)
            guess = sorted((left, up, corner), key=lambda v: abs(left + up - corner - v))[0]
            line[i] = (line[i] + (0, left, up, (left + up) // 2, guess)[how]) & 255
        rows.append(line)
        before = line
    return width, rows
END
files() {
    for form in svg png pdf; do
        ludwig plot 1 -o "picture.$form" >out
        [ ! -s out ]
        ludwig plot 1 --output "again.$form"
        cmp "picture.$form" "again.$form"
    done
    python3 - <<'END'
import re
import xml.dom.minidom
from read import *

svg = xml.dom.minidom.parse("picture.svg")
texts = [t.firstChild.data for t in svg.getElementsByTagName("text")]
assert any(t.startswith("accuracy (high is good): best ") for t in texts), texts
assert "importance" in texts and "best so far" in texts, texts
assert len(svg.getElementsByTagName("path")) > 100
width, height = map(float, svg.documentElement.getAttribute("viewBox").split()[2:])
for path in svg.getElementsByTagName("path"):
    numbers = list(map(float, re.findall(r"[0-9.]+", path.getAttribute("d"))))
    assert all(0 <= x <= width for x in numbers[::2]) and all(0 <= y <= height for y in numbers[1::2])
pdf = open("picture.pdf", "rb").read()
xref = int(re.search(rb"startxref\n(\d+)\n%%EOF\n$", pdf).group(1))
assert pdf[xref:].startswith(b"xref\n")
for number, place in enumerate(re.findall(rb"(\d{10}) 00000 n ", pdf), 1):
    assert pdf[int(place):].startswith(b"%d 0 obj\n" % number)
stream = re.search(rb"/Length (\d+) >>\nstream\n", pdf)
assert pdf[stream.end() + int(stream.group(1)):].startswith(b"\nendstream")
assert any(t.startswith("accuracy (high is good): best ") for t in pdf_texts("picture.pdf"))
assert sorted(pdf_texts("picture.pdf")) == sorted(t for t in texts)
# Its font is in it, whole: journals ask for that.
font = re.search(rb"/Length1 (\d+) >>\nstream\n", pdf)
assert pdf[font.end():].startswith(b"\0\1\0\0") and int(font.group(1)) > 10000 and b"/FontFile2" in pdf
shown, rows = png_rows("picture.png")
assert (shown, len(rows)) == (3 * width, 3 * height)
seen = {bytes(row[i:i + 3]) for row in rows for i in range(0, len(row), 3)}
assert b"\0\0\0" in seen and b"\xff\xff\xff" in seen and len(seen) > 50
dark = [y for y, row in enumerate(rows) if min(row) < 60]
assert min(dark) > 30 and max(dark) < len(rows) - 10, (min(dark), max(dark))  # the title, and no letter is cut
END
    not ludwig plot 1 -o picture.gif 2>error
    grep -q "the name 'picture.gif' ends neither in .svg nor in .png or .pdf" error
    # What names can do in a file of XML, and in one of PDF.
    printf '%s\n' 'project: xml' 'command: sh wild.sh {v}' 'source: wild.sh' \
        'params: {v: [1, 2], "</text><script>(": ["<&\\)", b]}' >xml.yaml
    id=$(submit xml.yaml)
    wait_until 60 ended "$id"
    ludwig plot "$id" -o xml.svg
    python3 -c 'import xml.dom.minidom as m; assert not m.parse("xml.svg").getElementsByTagName("script")'
    ludwig plot "$id" -o xml.pdf
    python3 -c 'from read import *; assert "</text><script>(" in pdf_texts("xml.pdf")'
    ludwig plot "$id" -o xml.png
    python3 -c 'from read import *; png_rows("xml.png")'
    # The program's own font has no such letters, and a control character is none.
    printf '%s\n' 'project: letters' 'command: sh wild.sh {v}' 'source: wild.sh' \
        'params: {v: [1, 2], "α狗": [a, b]}' >letters.yaml
    id=$(submit letters.yaml)
    wait_until 60 ended "$id"
    ludwig plot "$id" -o letters.pdf
    python3 -c 'from read import *; assert "α??" in pdf_texts("letters.pdf"), pdf_texts("letters.pdf")'
    ludwig plot "$id" -o letters.svg
    python3 -c 'import xml.dom.minidom as m; assert "α狗" in [t.firstChild.data for t in m.parse("letters.svg").getElementsByTagName("text")]'
    ludwig plot "$id" -o letters.png
}
it 'a picture becomes a file of SVG, PNG or PDF' files

done_testing
