"""page_check.py PROFILE shows|filters|brushes|hostile|accessible PAGE [AXE] - looks at a page of results in Chromium"""

import json
import os
import re
import subprocess
import sys

import chromium

VIEWS = ["parallel", "importance", "best-so-far", "strips", "curves", "table", "jobs"]
# Counts the canvases of each view that are not empty, on copies, as only those are made for reading.
PAINTED = """[...document.querySelectorAll('main section:not([hidden]) .picture:not([hidden])')].map((box) => {
    const canvas = [...box.querySelectorAll('canvas')].filter((c) => {
        const copy = document.createElement('canvas');
        Object.assign(copy, {width: c.width, height: c.height});
        const pen = copy.getContext('2d', {willReadFrequently: true});
        pen.drawImage(c, 0, 0);
        const d = pen.getImageData(0, 0, c.width, c.height).data;
        return d.some((x) => x !== 0);
    });
    return [box.closest('section').id, canvas.length];
})"""
WHERE = [
    "lr > 0.01", "lr>=1e-2 and momentum = 0.9", "not (lr = 0.1 or momentum = 0.0)", "optimizer = adam", "optimizer ~ plain",
    "optimizer in ('sgd, plain', lion)", "optimizer not in (adam)", "optimizer != adam and lr < 5e-2", "accuracy >= 0.7",
    "accuracy > 0.6 and not loss < 0.3", "failed = 1", "n = 2", "params.n = 2", "params.n = 1 or param_name ~ 01", "param_name = param_003",
    "reason = null", "reason ~ ValueError", "reason != null", "epochs = 4", "epochs = '4'", "lr = .nan", "lr < .inf", "momentum ~ .0",
    "lr = 0.010", "lr ~ 1e", "LR = 1 or lr = 0x1", "optimizer > a and optimizer < b", "left = 0", '"lr" = "0.01"', "lr in (0.1, 0.001) and n in (1, 2)",
    # refused
    "lr", "lr >", "lr > 0.1 and", "(lr > 0.1", "lr ! 0.1", "lr in 0.1", "lr in (0.1", "lr ~ null", "'lr", "= 3", "lr = 1 2", "lr not 3", "1 = 1", "lr < null",
]


def ok(what, *more):
    if not what:
        raise AssertionError(more)


def see(page, text):
    page.run(f"(() => {{ const f = document.getElementById('filter'); f.value = {json.dumps(text)}; f.dispatchEvent(new Event('input')); }})()")
    return page.run("[[...ludwigPage.matches].map((m, i) => m ? ludwigPage.sweep.d.configs.names[i] : null).filter((x) => x !== null), "
                    "document.getElementById('problem').textContent]")


def shows(browser, url):
    for width, dark in ((1280, False), (1280, True), (390, False), (390, True)):
        page = browser.open(url, width=width, dark=dark, mobile=width < 400)
        page.rest()
        ok(page.run(f"{VIEWS}.every((id) => !document.getElementById(id).hidden)"))
        painted = dict(page.run(PAINTED))
        ok(all(painted[v] > 0 for v in VIEWS if v not in ("importance", "table")), painted)
        ok(page.run("document.documentElement.dataset.theme") == ("dark" if dark else "light"))
        ok(page.run("document.documentElement.scrollWidth") <= width, "it is wider than the window")
        ok(page.run("document.querySelectorAll('.configs tbody tr').length") == 24)
        ok(page.run("document.querySelector('.configs tbody tr').classList.contains('best')"))
        ok("Best accuracy" in page.run("document.getElementById('best').textContent"))
        legend = page.run("document.querySelector('.legend').textContent")
        ok(re.findall(r"[0-9]+|[a-z]+", legend) == ["44", "done", "4", "failed"], legend)
        ok(page.run("ludwigPage.sweep.curves(ludwigPage.metric).length") == 24)
        # Choose another measure and the other colours.
        page.run("(() => { const m = document.getElementById('metric'); m.value = '1'; m.dispatchEvent(new Event('change')); "
                 "document.getElementById('theme').click(); })()")
        page.rest()
        ok("Best loss" in page.run("document.getElementById('best').textContent"))
        ok(page.run("document.documentElement.dataset.theme") == ("light" if dark else "dark"))
        # A print is light and has one layer, which is drawn completely before printing begins.
        page.run("dispatchEvent(new Event('beforeprint'))")
        ok(page.run("document.documentElement.dataset.theme") == "light")
        printed = dict(page.run(PAINTED.replace("querySelectorAll('canvas')", "querySelectorAll('canvas:first-child')")))
        ok(all(printed[v] == 1 for v in VIEWS if v not in ("importance", "table")), printed)
        page.run("dispatchEvent(new Event('afterprint'))")
        ok(page.run("document.documentElement.dataset.theme") == ("light" if dark else "dark"))
        # A line under the pointer, and all of it.
        page.run("document.querySelector('.configs button.link').click()")
        ok("ludwig logs 1." in page.run("document.querySelector('dialog').textContent"))
        page.key("Escape")
        page.wait("!document.querySelector('dialog').open")
        ok(page.requests() == [url], page.requests())
        ok(page.complaints() == [], page.complaints())
        page.close()


def filters(browser, url):
    page = browser.open(url)
    page.rest()
    for text in WHERE:
        found = subprocess.run(["ludwig", "results", "1", "--json", "--where", text], capture_output=True, text=True)
        names, problem = see(page, text)
        if found.returncode == 0:
            wanted = [r["param_name"] for r in json.loads(found.stdout)["results"]]
            ok(sorted(names) == sorted(wanted) and problem == "", text, names, wanted, problem)
        else:
            words = found.stderr.strip().removeprefix("ludwig: --where: ")
            ok(problem == words if "column" in words else problem != "", text, problem, words)
    ok(see(page, "")[0] == page.run("ludwigPage.sweep.d.configs.names"))
    # The page copies a command that gives the same result.
    see(page, "optimizer = 'sgd, plain'")
    command = page.run("ludwigPage.command()")
    found = subprocess.run(command + " --json", shell=True, capture_output=True, text=True)
    ok(found.returncode == 0 and len(json.loads(found.stdout)["results"]) == 12, command, found.stderr)


def brushes(browser, url):
    page = browser.open(url, height=1400)
    page.rest()
    lanes = page.run("(() => { const v = ludwigPage.views[0], b = v.picture.layers[0].getBoundingClientRect(); "
                     "return Object.fromEntries(v.lanes.map((l) => [l.axis.name, [l.x + b.left, v.top + b.top, v.bottom + b.top]])); })()")
    value = "document.getElementById('filter').value"
    x, top, bottom = lanes["lr"]
    page.drag(x, top + 4, x, (top + bottom) / 2)
    ok(page.run(value) == "lr in (0.01, 0.1)", page.run(value))
    ok(page.run("document.getElementById('count').textContent") == "16 of 24")
    # A brush on a second axis keeps the first one and the typed text.
    see(page, "loss < 9 and lr in (0.01, 0.1)")
    x, top, bottom = lanes["accuracy"]
    page.drag(x, top + (bottom - top) * 0.5, x, top)
    ok(page.run(value).startswith("loss < 9 and lr in (0.01, 0.1) and accuracy >= 0."), page.run(value))
    shown = page.run("[...ludwigPage.matches].reduce((a, b) => a + b)")
    ok(0 < shown < 16, shown)
    page.rest()
    ok(page.run("document.querySelectorAll('.configs tbody tr').length") == shown)
    # A click lets go.
    page.mouse("mousePressed", x, top + 20, 1, "left")
    page.mouse("mouseReleased", x, top + 20, 0, "left")
    ok(page.run(value) == "loss < 9 and lr in (0.01, 0.1)", page.run(value))
    # By keyboard: the lower end of momentum goes one up, then the brush is removed.
    page.run("[...document.querySelectorAll('.handle')].find((h) => h.getAttribute('aria-label') === 'momentum, lowest shown').focus()")
    page.key("ArrowUp")
    ok(page.run(value) == "loss < 9 and lr in (0.01, 0.1) and momentum = 0.9", page.run(value))
    page.wait("document.activeElement.getAttribute('aria-valuetext') === '0.9'")  # with the next frame
    page.key("Delete")
    ok(page.run(value) == "loss < 9 and lr in (0.01, 0.1)")
    # A brush on a strip, whose parameter has the name of a field.
    see(page, "lr > 1 or momentum = 0.9")
    strip = page.run("(() => { const v = ludwigPage.views[1], b = v.picture.layers[0].getBoundingClientRect(), s = v.strips[3]; "
                     "return [s.axis.name, b.left + s.left, b.left + s.right, b.top + (s.top + s.bottom) / 2]; })()")
    ok(strip[0] == "n")
    page.run(f"scrollTo(0, {strip[3]} - 400)")
    y = strip[3] - page.run("scrollY")
    page.drag(strip[1] - 10, y, strip[1] + 15, y)
    ok(page.run(value) == "(lr > 1 or momentum = 0.9) and params.n = 1", page.run(value))
    ok(page.run("document.getElementById('count').textContent") == "6 of 24")
    # Keys that work anywhere on the page.
    page.run("document.activeElement.blur()")
    page.key("/", "/")
    ok(page.run("document.activeElement.id") == "filter")
    ok(page.complaints() == [], page.complaints())


def hostile(browser, url):
    for width in (1280, 390):
        page = browser.open(url, width=width, mobile=width < 400)
        page.rest()
        for metric in range(page.run("ludwigPage.sweep.metrics.length")):
            page.run(f"(() => {{ const m = document.getElementById('metric'); m.value = '{metric}'; m.dispatchEvent(new Event('change')); }})()")
            page.rest()
            page.run("ludwigPage.details.show(0)")
            page.run("document.querySelector('dialog').close()")
            page.run("ludwigPage.setHover(1, {clientX: 10, clientY: 10})")
            for axis in range(page.run("ludwigPage.brushable().length")):
                page.run(f"ludwigPage.setBrush(ludwigPage.brushable()[{axis}], [0, 0.5])")
                ok(page.run("document.getElementById('problem').textContent") == "", page.run("ludwigPage.filter"))
                page.run("ludwigPage.setFilter('')")
        see(page, "x" * 20000)
        see(page, "(" * 1000)
        page.rest()
        title = page.run("document.title")
        ok(title.startswith("</script><script>document.title=4"), title)
        ok(page.run("document.querySelectorAll('img, script:not([type])').length") == 1)
        text = page.run("document.body.innerText")
        ok(not set(text) & set("\x1b\x07\u202e\u2028"), "controls are shown as they are")
        ok(page.requests() == [url], page.requests())
        ok(page.complaints() == [], page.complaints())
        # The content security policy forbids other scripts.
        page.run("(() => { const s = document.createElement('script'); s.textContent = 'document.title = 8'; document.body.append(s); })()")
        ok(page.run("document.title") == title)
        page.close()


def accessible(browser, url, axe):
    with open(axe, encoding="utf-8") as f:
        source = f.read()
    for dark in (False, True):
        page = browser.open(url, dark=dark)
        page.rest()
        page.run(source + "; 0")
        found = page.run("axe.run(document).then((r) => r.violations.map((v) => [v.id, v.help, v.nodes.map((n) => n.html)]))")
        ok(found == [], found)


def main():
    profile, what, path, *more = sys.argv[1:]
    with chromium.Chromium(os.path.join(profile, what)) as browser:
        globals()[what](browser, "file://" + os.path.abspath(path), *more)


main()
