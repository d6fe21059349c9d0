"""ui_check.py PROFILE refuses|tells|crowded|chosen|follows|changes|hostile|accessible|stops|away FILE [AXE] - checks `ludwig ui`, whose address is in FILE"""

import http.client
import json
import os
import socket
import subprocess
import sys
import time
import urllib.parse

import chromium

PATIENCE_S = 300


def ok(what, *more):
    if not what:
        raise AssertionError(more)


def until(look):
    end = time.monotonic() + PATIENCE_S
    while not look():
        if time.monotonic() > end:
            raise TimeoutError("in vain")
        time.sleep(0.05)


def ludwig(*words):
    return json.loads(subprocess.run(["ludwig", *words, "--json"], capture_output=True, text=True, check=True).stdout)


class Server:
    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.port, self.token = parts.port, urllib.parse.parse_qs(parts.query)["token"][0]

    def ask(self, path, method="GET", body=None, token="right", host=None, close=True, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        if host != "":
            connection.putheader("Host", host or f"127.0.0.1:{self.port}")
        if token is not None:
            connection.putheader("Ludwig-Token", self.token if token == "right" else token)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        if body is not None and "Content_Length" not in headers:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        text = answer.read()
        names = {name.lower() for name, _ in answer.getheaders()}
        ok(not any(name.startswith("access-control") for name in names) and "server" not in names and "set-cookie" not in names, names)
        ok({"content-security-policy", "x-frame-options", "x-content-type-options", "referrer-policy", "cache-control"} <= names, names)
        ok(self.token.encode() not in text and self.token not in str(answer.getheaders()))
        connection.close()
        return answer.status, text


def refuses(_, url):
    s = Server(url)
    query = f"?token={s.token}"
    json_type = {"Content_Type": "application/json"}
    other = "".join("0" if c != "0" else "1" for c in s.token)
    us = f"127.0.0.1:{s.port}"
    for status, path, more in [
        # with and without the token
        (200, f"/{query}", {"token": None}), (200, "/sweeps", {}),
        (403, "/", {"token": None}), (403, "/", {}), (403, f"/?token={other}", {"token": None}), (403, f"/?token={s.token[:-1]}", {"token": None}),
        (403, f"/?token={s.token}0", {"token": None}), (403, "/?token=", {"token": None}), (403, "/?token", {"token": None}),
        (403, f"/sweeps{query}", {"token": None}), (403, "/sweeps", {"token": other}), (403, "/sweeps", {"token": ""}), (403, "/sweeps", {"token": s.token.upper() + "x"}),
        (403, "/nothing", {"token": None}), (403, "/do", {"token": None, "method": "POST", "body": b"{}", **json_type}),
        # names of the host
        (200, "/sweeps", {"host": f"localhost:{s.port}"}), (200, "/sweeps", {"host": "localhost:9"}), (200, "/sweeps", {"host": "127.0.0.1"}),
        (403, "/sweeps", {"host": "example.org"}), (403, "/sweeps", {"host": f"example.org:{s.port}"}), (403, "/sweeps", {"host": f"127.0.0.1.example.org:{s.port}"}),
        (403, "/sweeps", {"host": "localhost.example.org"}), (403, "/sweeps", {"host": f"{us}.example.org"}), (403, "/sweeps", {"host": "127.0.0.1:"}),
        (403, "/sweeps", {"host": "[::1]"}), (403, f"/{query}", {"host": "example.org", "token": None}), (403, "/sweeps", {"host": "0.0.0.0"}),
        # requests from other sites
        (200, "/sweeps", {"Origin": f"http://{us}"}), (403, "/sweeps", {"Origin": "http://example.org"}), (403, "/sweeps", {"Origin": "null"}),
        (403, "/sweeps", {"Origin": f"https://{us}"}), (403, "/sweeps", {"Origin": f"http://{us}.example.org"}), (403, "/sweeps", {"Origin": f"http://127.0.0.1:{s.port + 1}"}),
        (403, f"/{query}", {"Origin": "http://example.org", "token": None}), (403, "/sweeps", {"Sec_Fetch_Site": "cross-site"}),
        (403, "/sweeps", {"Sec_Fetch_Site": "same-site"}), (403, "/sweeps", {"Sec_Fetch_Site": "none"}), (200, "/sweeps", {"Sec_Fetch_Site": "same-origin"}),
        (200, f"/{query}", {"Sec_Fetch_Site": "cross-site", "token": None}),
        # other methods and paths
        (405, "/sweeps", {"method": "PUT", "body": b""}), (405, "/sweeps", {"method": "DELETE"}), (405, "/sweeps", {"method": "OPTIONS"}),
        (405, "/sweeps", {"method": "TRACE"}), (405, "/sweeps", {"method": "PATCH", "body": b"{}"}), (405, "/", {"method": "HEAD"}),
        (404, "/nothing", {}), (404, "/../../etc/passwd", {}), (404, "/do", {}), (404, "/sweeps", {"method": "POST", "body": b"{}", **json_type}),
        # wrong bodies
        (415, "/do", {"method": "POST", "body": b"{}"}), (415, "/do", {"method": "POST", "body": b"{}", "Content_Type": "text/plain"}),
        (413, "/do", {"method": "POST", "body": b"", "Content_Length": "2000000", **json_type}), (400, "/do", {"method": "POST", "body": b"", **json_type}),
        (400, "/do", {"method": "POST", "body": b"[" * 1000, **json_type}), (400, "/do", {"method": "POST", "body": b'{"do": "shutdown"}', **json_type}),
        (400, "/do", {"method": "POST", "body": b'{"do": "cancel"}', **json_type}), (400, "/do", {"method": "POST", "body": b'{"do": "cancel", "targets": []}', **json_type}),
        (400, "/do", {"method": "POST", "body": b'{"do": "cancel", "targets": ["all"]}', **json_type}), (400, "/do", {"method": "POST", "body": b'{"do": "cancel", "targets": ["last"]}', **json_type}),
        (400, "/do", {"method": "POST", "body": b'{"do": "cancel", "targets": ["2; rm"]}', **json_type}), (400, "/do", {"method": "POST", "body": b'{"do": "drain", "nodes": ["a\\u0000b"]}', **json_type}),
        (404, "/do", {"method": "POST", "body": b'{"do": "cancel", "targets": ["99"]}', **json_type}), (404, "/do", {"method": "POST", "body": b'{"do": "drain", "nodes": ["nowhere"]}', **json_type}),
        # wrong arguments
        (400, "/data", {}), (400, "/data?sweep=-1", {}), (400, "/data?sweep=x", {}), (400, "/data?sweep=1e3", {}), (400, "/data?sweep=99999999999999999999", {}), (404, "/data?sweep=99", {}),
        (400, "/changes?sweep=2&after=-1", {}), (404, "/changes?sweep=99", {}), (400, "/log", {}), (400, "/log?job=2", {}), (404, "/log?job=2.999", {}), (400, "/log?job=2.1&from=x", {}),
        (400, "/log?job=../../etc/passwd", {}), (400, "/log?job=2.1&attempt=0", {}), (400, "/why?job=", {}), (400, "/log?job=2.1-3", {}),
    ]:
        found, text = s.ask(path, **more)
        ok(found == status, path, more, found, text[:200])
        ok(status < 400 or len(text) < 1000)
        ok(status not in (400, 404) or json.loads(text)["error"].count("\n") == 0)
    # None of these requests has changed the sweep.
    ok(ludwig("status", "2")["jobs"]["cancelled"] == 0)
    # Headers of excessive size end the connection, not the server.
    try:
        s.ask("/sweeps", X=("y" * 100000))
    except (http.client.HTTPException, OSError, AssertionError):
        pass
    ok(s.ask("/sweeps")[0] == 200)


def tells(_, url):
    s = Server(url)
    listed = json.loads(s.ask("/sweeps")[1])
    ok([x["sweep"] for x in listed["sweeps"]] == [2, 1], listed)
    ok({"v": 1, **listed["sweeps"][1]} == ludwig("status", "1"))
    nodes = json.loads(s.ask("/nodes")[1])["nodes"]
    ok([n["node"] for n in nodes] == [n["node"] for n in ludwig("nodes")["nodes"]], nodes)
    until(lambda: ludwig("status", "2")["jobs"]["failed"] == 3)
    why = json.loads(s.ask("/why?job=2.4")[1])
    ok(why["job"]["state"] == "failed" and why["lines"] == ludwig("why", "2.4")["lines"], why)
    status, log = s.ask("/log?job=2.4")
    ok(status == 200 and log == subprocess.run(["ludwig", "logs", "2.4"], capture_output=True, check=True).stdout, log)
    ok(s.ask("/log?job=2.4&from=4")[1] == log[4:] and s.ask("/log?job=2.4&before=6")[1] == log[:6] and s.ask("/log?job=2.4&from=1000000")[1] == b"")
    # A request for changes waits if there are none, and is answered at once if the page is behind.
    ok(len(s.ask(f"/?token={s.token}", token=None)[1]) < 200_000)
    data = json.loads(s.ask("/data?sweep=1")[1])
    ok(len(data["jobs"]["names"]) == 12 and data["triage"]["causes"][0]["failed"] == 4, data["triage"])
    begun = time.monotonic()
    news = json.loads(s.ask("/changes?sweep=1&after=0&data=0")[1])
    ok(time.monotonic() - begun < 10 and news["lost"] is None and news["data"] == 1, news)


def chosen(_, url):
    ok([x["sweep"] for x in json.loads(Server(url).ask("/sweeps")[1])["sweeps"]] == [2, 1])


def opened(browser, url, **how):
    page = browser.open(url, **how)
    page.wait("Boolean(window.ludwigPage && window.ludwigLive.deeds && ludwigLive.sweeps.list.length > 0)")
    return page


def choose(page, sweep):
    page.run(f"ludwigLive.show({sweep})")
    page.wait(f"ludwigPage.sweep.d.sweeps[0].sweep === {sweep}")


def open_gate(name):
    with open(os.path.join(os.environ["GATES"], name), "w"):
        pass


def press(page, label, within="document"):
    """Clicks the button with this label, by real mouse events."""
    page.wait(f"[...{within}.querySelectorAll('button')].some((b) => b.textContent === {json.dumps(label)} && b.offsetParent !== null)")
    x, y = page.run(f"""(() => {{ const b = [...{within}.querySelectorAll('button')].find((b) => b.textContent === {json.dumps(label)} && b.offsetParent !== null);
        b.scrollIntoView({{block: 'center'}}); const r = b.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; }})()""")
    page.mouse("mousePressed", x, y, 1, "left")
    page.mouse("mouseReleased", x, y, 0, "left")


def job_in(page, state):
    """Clicks the square of a job in that state; returns the job's name."""
    page.wait(f"ludwigPage.sweep.d.jobs.states.includes(ludwigPage.sweep.d.states.indexOf({json.dumps(state)}))")
    page.run("document.getElementById('jobs').scrollIntoView()")
    page.rest()
    x, y, name = page.run(f"""(() => {{ const v = ludwigPage.jobViews[0], d = ludwigPage.sweep.d, j = d.jobs.states.indexOf(d.states.indexOf({json.dumps(state)})),
        b = v.box.getBoundingClientRect(), c = v.corner(j); return [b.left + c[0] + v.size / 2, b.top + c[1] + v.size / 2, d.jobs.names[j]]; }})()""")
    page.mouse("mouseMoved", x, y)
    page.mouse("mousePressed", x, y, 1, "left")
    page.mouse("mouseReleased", x, y, 0, "left")
    return name


def state_of(job):
    return next(j["state"] for j in ludwig("jobs", job.split(".")[0])["jobs"] if j["job"] == job)


def only_here(page, url, refused=0):
    """The browser reports so many refused requests and nothing else; no other host was asked."""
    base = url.split("?")[0]
    ok(all(r.startswith(base) for r in page.requests()), page.requests())
    ok(len(page.complaints()) == refused and all("Failed to load resource" in c for c in page.complaints()), page.complaints())


def follows(browser, url):
    page = opened(browser, url)
    page.run("window.mark = 'not loaded again'")
    ok(page.run("ludwigPage.sweep.d.sweeps[0].sweep") == 2)  # the newest
    ok(page.run("getComputedStyle(document.getElementById('sweeps')).display") != "none")
    until(lambda: ludwig("status", "2")["jobs"]["done"] == 3)
    page.wait("ludwigPage.sweep.d.configs.n.filter((n) => n > 0).length === 3")  # three results came without a reload
    # Choose a filter by a brush, an order and a scale.
    page.wait("!document.getElementById('parallel').hidden")
    page.run("document.getElementById('parallel').scrollIntoView()")
    page.rest()
    x, top, bottom = page.run("(() => { const v = ludwigPage.views[0], b = v.picture.layers[0].getBoundingClientRect(), l = v.lanes.find((l) => l.axis.name === 'n'); return [l.x + b.left, v.top + b.top, v.bottom + b.top]; })()")
    page.drag(x, top + 2, x, (top + bottom) / 2)
    chosen = page.run("document.getElementById('filter').value")
    ok(chosen == "params.n >= 2" or chosen.startswith("params.n in"), chosen)
    page.run("[...document.querySelectorAll('#table thead button')].find((b) => b.textContent.startsWith('lr')).click()")
    page.run("document.getElementById('log-y').click()")
    # Open the log of a running job.
    job = job_in(page, "running")
    page.wait("document.querySelector('.log').textContent.includes('job with lr slow begins')")
    open_gate("first")
    page.wait("document.querySelector('.log').textContent.includes('a second part')")
    page.run("document.getElementById('log-search').focus()")
    page.type("second")
    page.wait("document.querySelector('.logbar output').textContent === '1 of 1'")
    ok(page.run("document.querySelector('.line.now').textContent") == "a second part")
    scroll = page.run("scrollY")
    # When the job ends, the page shows so without a reload and keeps what was chosen.
    open_gate("second")
    page.wait(f"ludwigPage.sweep.d.states[ludwigPage.sweep.d.jobs.states[ludwigPage.sweep.d.jobs.names.indexOf('{job}')]] === 'done'")
    page.wait("document.querySelector('.facts').textContent.startsWith('done')")
    page.wait("ludwigPage.sweep.d.configs.n.filter((n) => n > 0).length === 6")
    page.wait("document.querySelector('#state').textContent === 'failed'")
    ok(page.run("mark") == "not loaded again")
    ok(page.run("document.getElementById('filter').value") == chosen)
    ok(page.run("ludwigPage.matches.reduce((x, y) => x + y)") == 6)
    ok(page.run("document.querySelector('#table th[aria-sort]').textContent").startswith("lr"))
    ok(page.run("document.getElementById('log-y').checked") is True)
    ok(abs(page.run("scrollY") - scroll) < 40, scroll, page.run("scrollY"))
    ok(page.run("document.activeElement.id") == "log-search")
    ok("ValueError: bad is bad" in page.run("document.getElementById('triage').textContent"))
    ok("lr=bad" in page.run("document.getElementById('triage').textContent"))
    page.key("Escape")
    page.wait("document.querySelector('.logpane').hidden")
    # The timeline has each job that ran.
    ok(page.run("ludwigPage.jobViews[1].order.length") == 9)
    only_here(page, url)


def changes(browser, url):
    for gate in ("first", "second"):
        os.remove(os.path.join(os.environ["GATES"], gate))
    subprocess.run(["ludwig", "submit", "sweep.yaml", "--reuse", "none"], check=True, capture_output=True)
    page = opened(browser, url)
    ok(page.run("ludwigPage.sweep.d.sweeps[0].sweep") == 3)
    # After this only the slow jobs run, which wait at their gates.
    for state in ("done", "failed"):
        page.wait(f"ludwigPage.sweep.d.jobs.states.filter((s) => ludwigPage.sweep.d.states[s] === '{state}').length === 3")
    job = job_in(page, "running")
    page.wait(f"document.getElementById('log-title').textContent === 'Job {job}'")
    pane = "document.querySelector('.logpane')"
    press(page, "Cancel…", pane)
    question = "document.querySelector('dialog.question')"
    page.wait(f"{question}.open")
    ok(page.run("document.activeElement.textContent") == "No")
    press(page, "No", question)
    page.wait(f"!{question}.open")
    ok(state_of(job) == "running")
    press(page, "Cancel…", pane)
    press(page, "Cancel job", question)
    until(lambda: state_of(job) == "cancelled")
    page.wait("document.querySelector('.toast').textContent === '1 job cancelled'")
    page.wait("document.querySelector('.facts').textContent.startsWith('cancelled')")
    press(page, "Retry…", pane)
    press(page, "Retry job", question)
    until(lambda: state_of(job) in ("queued", "staging", "running"))
    page.key("Escape")
    # Pause and resume the sweep.
    page.run("scrollTo(0, 0)")
    press(page, "Pause", "document.getElementById('deeds')")
    press(page, "Pause", question)
    page.wait("document.getElementById('state').textContent === 'paused'")
    press(page, "Resume", "document.getElementById('deeds')")
    press(page, "Resume", question)
    page.wait("document.getElementById('state').textContent !== 'paused'")
    # Retry only the jobs that the filter shows.
    page.run("ludwigPage.setFilter('n = 2 or params.n = 2')")
    press(page, "Retry…", "document.getElementById('deeds')")
    page.wait(f"{question}.open")
    ok(page.run(f"{question}.querySelectorAll('input').length") == 2)
    ok("the 1 job that the filter shows" in page.run(f"{question}.textContent"))
    press(page, "Retry", question)
    page.wait("document.querySelector('.toast').textContent === '1 job queued again'")
    page.run("ludwigPage.setFilter('')")
    # Drain a node, and one that is not there: the page shows the command's error line.
    node = ludwig("nodes")["nodes"][0]["node"]
    press(page, "Drain…", "document.getElementById('nodes')")
    press(page, "Drain", question)
    until(lambda: ludwig("nodes")["nodes"][0]["state"] == "drained")
    press(page, "Undrain", "document.getElementById('nodes')")
    press(page, "Undrain", question)
    until(lambda: ludwig("nodes")["nodes"][0]["state"] == "up")
    page.run("ludwigLive.question.deed({do: 'drain', nodes: ['nowhere']})")
    page.wait("document.querySelector('.toast.bad') !== null")
    said = subprocess.run(["ludwig", "drain", "nowhere"], capture_output=True, text=True).stderr.strip().removeprefix("ludwig: ")
    ok(page.run("document.querySelector('.toast').textContent") == said, said, node)
    # Cancel the rest of the sweep.
    press(page, "Cancel…", "document.getElementById('deeds')")
    press(page, "Cancel", question)
    until(lambda: ludwig("status", "3")["state"] in ("cancelled", "failed"))
    page.wait("/cancelled|failed/.test(document.getElementById('state').textContent)")
    # A job that has not begun has no log, which is no error.
    for command in (["drain", node], ["submit", "sweep.yaml", "--reuse", "none"]):
        subprocess.run(["ludwig", *command], check=True, capture_output=True)
    answer = Server(url).ask("/log?job=4.1")
    ok(answer == (200, b"job 4.1 is queued and has no log yet"), answer)
    choose(page, 4)
    page.run("ludwigLive.log.open('4.1')")
    page.wait("document.querySelector('.log').textContent.includes('is queued and has no log yet')")
    for command in (["cancel", "4", "--yes"], ["undrain", node]):
        subprocess.run(["ludwig", *command], check=True, capture_output=True)
    only_here(page, url, 1)


def hostile(browser, url):
    for width in (1280, 390):
        page = opened(browser, url, width=width, mobile=width < 400)
        choose(page, 1)
        page.rest()
        for metric in range(page.run("ludwigPage.sweep.metrics.length")):
            page.run(f"(() => {{ const m = document.getElementById('metric'); m.value = '{metric}'; m.dispatchEvent(new Event('change')); }})()")
            page.rest()
        page.run("ludwigLive.log.open('1.1')")
        page.wait("document.querySelector('.log').textContent.includes('the end of it')")
        press(page, "Show what came before", "document.querySelector('.log')")
        page.rest()
        ok(max(page.run("[...document.querySelectorAll('.line')].map((l) => l.textContent.length)")) < 4100)
        page.run("document.getElementById('log-search').value = 'THE END'; ludwigLive.log.find(0)")
        ok(page.run("document.querySelector('.logbar output').textContent") == "1 of 1")
        # The log of the other replication has no line of 10 MB.
        page.run("ludwigLive.log.open('1.2')")
        page.wait("document.querySelectorAll('.line').length > 4")
        lines = page.run("[...document.querySelectorAll('.line')].map((l) => l.textContent)")
        ok(lines[:4] == ["</script><script>document.title=3</script>red link", "progress 100%", "\ufffd\ufffd\ufffdbackwards", "the end of it"], lines)
        # Another one has more lines than are shown at once, and none is lost before them.
        if width > 400:
            page.run("ludwigLive.log.open('1.3')")
            page.wait("document.querySelector('.log').textContent.includes('line 40000 of a long log')")
            shown = "[...document.querySelectorAll('.line')].map((l) => l.textContent).filter((l) => l !== '')"
            ok(page.run(f"{shown}.length") <= 5001)
            while not page.run("document.querySelector('.log button').hidden"):
                first = page.run(f"{shown}[0]")
                press(page, "Show what came before", "document.querySelector('.log')")
                page.wait(f"{shown}[0] !== {json.dumps(first)}")
            lines = page.run(shown)
            ok([line for line in lines if line.startswith("line ")] == [f"line {i} of a long log" for i in range(1, 40001)], len(lines), lines[:3])
        page.run("ludwigLive.log.close()")
        page.run("ludwigPage.details.show(0)")
        page.run("document.querySelector('dialog.details').close()")
        title = page.run("document.title")
        ok("</script><script>document.title=4" in title, title)
        ok(page.run("document.querySelectorAll('img, script:not([type])').length") == 1)
        ok(not set(page.run("document.body.innerText")) & set("\x1b\x07\u202e\u2028"), "controls are shown as they are")
        ok(page.run("document.documentElement.scrollWidth") <= width, "it is wider than the window")
        only_here(page, url)
        page.close()


def accessible(browser, url, axe):
    with open(axe, encoding="utf-8") as f:
        source = f.read()
    find = "axe.run(document).then((r) => r.violations.map((v) => [v.id, v.help, v.nodes.map((n) => n.html)]))"
    for dark in (False, True):
        page = opened(browser, url, dark=dark)
        choose(page, 2)
        page.run("ludwigLive.log.open('2.4')")
        page.wait("document.querySelector('.log').textContent.includes('ValueError')")
        page.rest()
        page.run(source + "; 0")
        ok(page.run(find) == [], page.run(find))
        page.run("ludwigLive.deeds.change('retry', /failed/, 'Retry')")
        ok(page.run(find) == [], page.run(find))
        page.close()
        page = opened(browser, url, dark=dark, width=390, mobile=True)
        page.rest()
        page.run(source + "; 0")
        ok(page.run(find) == [], page.run(find))
        page.close()


def stops(browser, url):
    with open("stops.id", encoding="utf-8") as f:
        job = f.read().strip() + ".1"
    page = opened(browser, url)
    choose(page, int(job.split(".")[0]))
    page.wait("document.getElementById('progress').textContent.includes('1 stopped')")
    page.wait("document.querySelector('#decisions tbody th') !== null")
    ok(page.run("document.querySelector('#decisions tbody th').textContent") == job)
    page.run("document.querySelector('#decisions tbody th button').click()")
    page.wait("document.querySelector('.facts').textContent.startsWith('stopped')")
    ok(page.run("ludwigLive.log.hasEnded()"))
    press(page, "Retry…", "document.querySelector('.logpane')")
    press(page, "Retry job", "document.querySelector('dialog.question')")
    until(lambda: state_of(job) == "done")
    page.wait("document.querySelector('.facts').textContent.startsWith('done')")
    only_here(page, url)


def is_ours(pid):
    """Whether the process belongs to this test; a process may end meanwhile."""
    try:
        with open(f"/proc/{pid}/environ", encoding="utf-8", errors="replace") as f:
            return f"XDG_STATE_HOME={os.environ['XDG_STATE_HOME']}\0" in f.read()
    except OSError:
        return False


def away(browser, url):
    page = opened(browser, url)
    page.run("window.mark = 'not loaded again'")
    pids = subprocess.run(["pgrep", "-x", "ludwigd"], capture_output=True, text=True).stdout.split()
    ours = [pid for pid in pids if is_ours(pid)]
    ok(len(ours) == 1, ours)
    os.kill(int(ours[0]), 9)
    page.wait("!document.querySelector('.banner').hidden")
    subprocess.run(["ludwig", "up"], check=True, capture_output=True)
    page.wait("document.querySelector('.banner').hidden")
    number = json.loads(subprocess.run(["ludwig", "submit", "--json", "--", "true"], check=True, capture_output=True, text=True).stdout)["sweep"]
    page.wait(f"ludwigLive.sweeps.list.some((s) => s.sweep === {number})")
    choose(page, number)
    page.wait("document.getElementById('state').textContent === 'done'")
    ok(page.run("mark") == "not loaded again")
    with open(sys.argv[3] + ".pid", encoding="utf-8") as f:
        os.kill(int(f.read()), 15)
    page.wait("/has it ended/.test(document.querySelector('.banner').textContent)")


def crowded(_, url):
    """Needs root: another user opens connections and keeps them open with a byte now and then."""
    s = Server(url)
    taken = []
    os.seteuid(1)
    for family, address in [(socket.AF_INET, "127.0.0.1")] * 100 + [(socket.AF_INET6, "::ffff:127.0.0.1")] * 20:
        one = socket.socket(family)
        one.settimeout(10)
        one.connect((address, s.port))
        taken.append(one)
    os.seteuid(0)
    for one in taken:
        try:
            one.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
            ok(one.recv(1) == b"")
        except (ConnectionResetError, BrokenPipeError):
            pass
    ok(s.ask("/sweeps")[0] == 200)
    own = [socket.create_connection(("127.0.0.1", s.port)) for _ in range(3)]
    for one in own:
        one.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        ok(one.recv(12) == b"HTTP/1.1 403")


def main():
    profile, what, path, *more = sys.argv[1:]
    with open(path, encoding="utf-8") as f:
        url = f.read().strip()
    if what in ("refuses", "tells", "crowded", "chosen"):
        globals()[what](None, url)
        return
    with chromium.Chromium(os.path.join(profile, what)) as browser:
        globals()[what](browser, url, *more)


main()
