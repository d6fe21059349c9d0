"""page_check.py PROFILE shows|filters|brushes|stops|gpus|many|hostile|accessible PAGE [AXE] - checks a page of results in Chromium"""

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
    " or ".join(f"n{i} = 1" for i in range(200)), " or ".join(f"n{i} = 1" for i in range(201)), "optimizer = " + "\u00fc" * 9000,
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
        ok(page.run("document.querySelectorAll('#table tbody tr').length") == 24)
        ok(page.run("document.querySelector('#table tbody tr').classList.contains('best')"))
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
        # A row's button shows all details of the row.
        page.run("document.querySelector('#table button.link').click()")
        ok("ludwig logs 1." in page.run("document.querySelector('dialog').textContent"))
        page.key("Escape")
        page.wait("!document.querySelector('dialog').open")
        # A sweep without measures takes the place of one that is still being drawn.
        page.run("(() => { const { d } = ludwigPage.sweep; ludwigPage.layout(); "
                 "ludwigPage.take({ ...d, metrics: [], measures: [], ranked_by: null }); })()")
        page.rest()
        ok(page.run("document.getElementById('curves').hidden && !document.getElementById('none').hidden"))
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
    ok(page.run("document.querySelectorAll('#table tbody tr').length") == shown)
    # A click removes the brush.
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


def stops(browser, url):
    listed = subprocess.run(["ludwig", "jobs", "3", "--json"], capture_output=True, check=True).stdout
    reason = next(j["reason"] for j in json.loads(listed)["jobs"] if j["state"] == "stopped")
    page = browser.open(url)
    page.rest()
    told = page.run("[...document.querySelectorAll('#decisions tbody tr')].map((r) => [...r.children].map((c) => c.textContent))")
    ok(told == [["3.2", "param_002", "stopped", reason]], told, reason)
    ok(page.run("ludwigPage.sweep.curves(0).map((c) => [c.isStopped, c.x.length < 8])") == [[False, False], [True, True]])
    ok("A bar ends what was stopped" in page.run("document.querySelector('#curves .hint').textContent"))
    ok(page.run("document.querySelector('.legend').textContent") == "1 done1 stopped")
    ok(page.run("document.querySelector('.legend .bar') !== null"))
    page.run("document.querySelector('#decisions .hint button').click()")
    ok(page.run("[document.getElementById('filter').value, document.getElementById('count').textContent]") == ["stopped > 0", "1 of 2"])
    ok(page.complaints() == [], page.complaints())


# Gives the jobs GPUs of two nodes: two jobs share a GPU, one has two, one has none; node b is idle half of the time.
GPUS = """(() => {
    const d = structuredClone(ludwigPage.sweep.d), { jobs } = d, at = 1.7e12, given = [["a", "0", 0, 10], ["a", "0", 0, 5], ["a", "2,10", 0, 10], ["a", null, 2, 8], ["b", "GPU-5f2a", 0, 5]];
    jobs.gpu_ids = jobs.names.map((_, j) => given[j]?.[1] ?? null);
    jobs.nodes = jobs.names.map((_, j) => given[j]?.[0] ?? null);
    jobs.started = jobs.names.map((_, j) => (given[j] ? at + given[j][2] * 1e5 : 0));
    jobs.ended = jobs.names.map((_, j) => (given[j] ? at + given[j][3] * 1e5 : 0));
    ludwigPage.take(d);
})()"""


def gpus(browser, url):
    view = "ludwigPage.jobViews[1]"
    for width in (1280, 390):
        page = browser.open(url, width=width, mobile=width < 400)
        page.rest()
        # The node of the jobs, as it was when the file was made.
        ok(page.run("document.querySelectorAll('#nodes tbody tr').length") == 1)
        ok(page.run("[...document.querySelectorAll('#nodes th')].map((e) => e.textContent)")[:3] == ["node", "kind", "state"])
        ok(page.run("document.querySelectorAll('#nodes button').length") == 0)
        ok(page.run("document.querySelector('#nodes .chip').textContent") in ("up", "lost"))
        page.run(GPUS)
        page.rest()
        rows = page.run(f"{view}.nodes.map((node) => [node.name, node.rows.map((row) => [row.gpu, row.places.length, row.busy])])")
        ok(rows == [["a", [["0", 2, 1e6], ["2", 1, 1e6], ["10", 1, 1e6], ["", 1, 6e5]]], ["b", [["GPU-5f2a", 1, 5e5]]]], rows)
        words = page.run("document.querySelector('#timeline .hint').textContent")
        ok(words == "4 GPUs on 2 nodes, 88 % of the time in use. 1 place on 1 node, 60 % of the time in use.", words)
        # A job with two GPUs is in the row of each.
        for k in range(2):
            left, top, w, h = page.run(f"{view}.boxesOf(2)[{k}]")
            ok(page.run(f"{view}.jobAt([{left + w / 2}, {top + h / 2}])") == 2)
        left, top, w, h = page.run(f"{view}.boxesOf(4)[0]")
        ok(page.run(f"{view}.jobAt([{left + w + 9}, {top + h / 2}])") == -1, "a job where the GPU was idle")
        page.run("document.getElementById('timeline').scrollIntoView()")
        page.rest()
        x, y = page.run(f"(() => {{ const b = {view}.picture.layers[0].getBoundingClientRect(), [left, top, w, h] = {view}.boxesOf(2)[1]; return [b.left + left + w / 2, b.top + top + h / 2]; }})()")
        page.mouse("mouseMoved", x, y)
        page.wait("document.querySelector('.tooltip strong')?.textContent.startsWith('job ')")
        ok("GPUs2, 10" in page.run("document.querySelector('.tooltip').textContent"), page.run("document.querySelector('.tooltip').textContent"))
        ok(dict(page.run(PAINTED))["timeline"] > 0)
        ok(page.run("document.documentElement.scrollWidth") <= width, "it is wider than the window")
        ok(page.complaints() == [], page.complaints())


# Changes the page's sweep to one of 100000 jobs, of which every thousandth failed.
MANY = """(() => {
    const d = structuredClone(ludwigPage.sweep.d), n = 100000, { jobs } = d, of = (f) => Array.from({ length: n }, (_, j) => f(j));
    const begin = jobs.started[0], failed = d.states.indexOf('failed'), running = d.states.indexOf('running');
    d.jobs = { configs: of((j) => j % d.configs.names.length), states: of((j) => j % 1000 === 7 ? failed : j > n - 64 ? running : d.done), reps: of((j) => j), names: of((j) => `1.${j + 1}`),
        reasons: of(() => null), nodes: of((j) => `node${j % 64}`), started: of((j) => begin + j * 100), ended: of((j) => j > n - 64 ? 0 : begin + j * 100 + 6000) };
    d.curves = [];
    ludwigPage.take(d);
})()"""
# Gives the last job whose square is visible completely, and where the square is.
SQUARE = """(() => { const v = ludwigPage.jobViews[0], b = v.picture.layers[0].getBoundingClientRect();
    const j = v.order.findLast((j) => v.corner(j)[1] + v.size < v.picture.top + v.picture.seen), [x, y] = v.corner(j);
    return [b.left + x + v.size / 2 - 1, b.top + y - v.picture.top + v.size / 2 - 1, j]; })()"""


def many(browser, url):
    said = "document.querySelector('#jobs > .hint').textContent"
    for width in (1280, 390):
        page = browser.open(url, width=width, mobile=width < 400)
        page.rest()
        before = page.run("document.querySelectorAll('*').length")
        page.run(MANY)
        page.rest()
        ok(page.run("document.querySelectorAll('*').length") < before + 50)
        heights = page.run("[...document.querySelectorAll('#jobs canvas')].map((c) => c.clientHeight)")
        ok(all(300 < height <= 446 for height in heights), heights)
        ok(page.run("document.querySelector('.gridscroll').scrollHeight") > 2500)
        painted = dict(page.run(PAINTED))
        ok(painted["jobs"] > 0 and painted["timeline"] > 0, painted)
        # After scrolling, the square under the pointer is that of the right job.
        for at in (0, 1234, 99999):
            page.run(f"document.querySelector('.gridscroll').scrollTop = {at}; document.getElementById('jobs').scrollIntoView()")
            page.rest()
            x, y, wanted = page.run(SQUARE)
            page.mouse("mouseMoved", x, y)
            page.wait(f"document.querySelector('.tooltip strong')?.textContent === 'job 1.{wanted + 1}'")
        # If a state is chosen, the grid shows only its jobs.
        page.run("document.querySelector('[data-state=failed]').click()")
        page.rest()
        ok(page.run("ludwigPage.jobViews[0].order.length") == 100)
        ok(page.run("document.querySelector('.gridscroll').scrollTop") == 0)
        page.run("document.querySelector('[data-state=failed]').click()")
        page.run("ludwigPage.setFilter('param_name = param_002')")
        page.wait("ludwigPage.jobViews[0].order.length === 4167")
        # The keyboard reaches all jobs.
        page.run("document.querySelector('.jobs').focus()")
        page.key("End")
        last = page.run("ludwigPage.sweep.d.jobs.configs.lastIndexOf(ludwigPage.sweep.d.configs.names.indexOf('param_002'))")
        ok(page.run(said).startswith(f"job 1.{last + 1}: "), page.run(said))
        # More jobs run on a node at once than it can have places.
        page.run("(() => { const d = ludwigPage.sweep.d; d.jobs.nodes.fill('one'); d.jobs.started.fill(d.jobs.started[0]); ludwigPage.take(d); })()")
        page.rest()
        ok(page.run("ludwigPage.jobViews[1].rows[0].places.length") == 256)
        ok(page.run("document.documentElement.scrollWidth") <= width, "it is wider than the window")
        ok(page.complaints() == [], page.complaints())
        page.close()


# Data that only a hostile server would send.
WORSE = """(() => {
    const d = structuredClone(ludwigPage.sweep.d), { jobs } = d;
    const evil = '</script><img src=x onerror=document.title=10>\\u001b[2J\\u202e' + 'x'.repeat(1e6);
    jobs.states[0] = d.states.indexOf('stopped');
    jobs.nodes = jobs.nodes.map((_, j) => j % 2 ? evil : null);
    jobs.gpu_ids = jobs.nodes.map((_, j) => j % 3 ? ',,' + evil + ',__proto__' : null);
    jobs.reasons = jobs.reasons.map(() => evil);
    jobs.resumed = jobs.reasons.map(() => evil);
    jobs.started = jobs.started.map((_, j) => [1, 8.64e15, 1e308, 0][j % 4]);
    jobs.ended = jobs.ended.map((_, j) => [8.64e15, 1, 1e308, 0][j % 4]);
    d.sweeps[0] = { ...d.sweeps[0], advisor: evil, held: evil, note: evil, tags: evil };
    d.notes = [evil];
    const steps = [-1e308, 0, 1e308];
    d.triage = { jobs: 2, causes: [{ example: evil, first: evil, failed: 2, cause: evil, reasons: [{ test: evil, failed_with: 1, jobs_with: 1, failed_without: 1, jobs_without: 1, p: 1e-308, is_sure: true }] }] };
    d.curves = d.metrics.map((_, metric) => ({ metric, jobs: [{ job: 0, steps, values: [1e308, null, -1e308] }, { job: 1, values: [null, 1e308, 5e-324] }] }));
    ludwigPage.take(d);
})()"""


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
        page.run(WORSE)
        page.rest()
        ok(page.run("['decisions', 'timeline', 'jobs', 'triage'].every((id) => !document.getElementById(id).hidden)"))
        page.run("ludwigPage.jobViews.forEach((v) => v.mark && v.mark()); ludwigPage.setHover(0, {clientX: 10, clientY: 10}); ludwigPage.details.show(0)")
        page.run("document.querySelector('dialog').close()")
        for view in (".jobs", ".timeline"):
            page.run(f"document.querySelector('{view}').focus()")
            page.key("ArrowDown")
            page.key("End")
        ok(page.run("document.documentElement.scrollWidth") <= width, "it is wider than the window")
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
    find = "axe.run(document).then((r) => r.violations.map((v) => [v.id, v.help, v.nodes.map((n) => n.html)]))"
    for width, dark in ((1280, False), (1280, True), (390, False), (390, True)):
        page = browser.open(url, width=width, dark=dark, mobile=width < 400)
        page.rest()
        page.run(source + "; 0")
        ok(page.run(find) == [], page.run(find))
        see(page, "no_such_name > 1")
        page.run("ludwigPage.showDetails(0)")
        ok(page.run(find) == [], page.run(find))
        page.close()


def main():
    profile, what, path, *more = sys.argv[1:]
    with chromium.Chromium(os.path.join(profile, what)) as browser:
        globals()[what](browser, "file://" + os.path.abspath(path), *more)


main()
