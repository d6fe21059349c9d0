"""chromium.py - drives a headless Chromium over the pipe of its DevTools protocol

    with Chromium(profile_folder, offline_log) as browser:
        page = browser.open("file:///sweep.html", width=1280, height=900, dark=False)
        page.run("document.title")          returns the value of an expression; waits for it if it is a promise
        page.mouse("mousePressed", x, y)    sends a real mouse event
        page.picture("shot.png")            takes a picture of the whole page
"""

import base64
import json
import os
import select
import shutil
import subprocess
import time

PATIENCE_S = 300


def find():
    """Returns the path of the program, or None."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Chromium:
    def __init__(self, folder, arguments=()):
        to_it, from_us = os.pipe()
        from_it, to_us = os.pipe()

        def place():
            # The protocol uses descriptors 3 and 4, which may be to_it and to_us now: copy both first.
            copies = os.dup(to_it), os.dup(to_us)
            os.dup2(copies[0], 3)
            os.dup2(copies[1], 4)

        self.child = subprocess.Popen(
            [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars",
             "--no-first-run", "--disable-extensions", "--disable-background-networking", "--disable-sync",
             "--disable-component-update", "--disable-default-apps", "--disable-dev-shm-usage", "--force-color-profile=srgb",
             f"--user-data-dir={folder}", *arguments],
            preexec_fn=place, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=open(os.path.join(os.path.dirname(folder), "chromium.log"), "ab"))
        os.close(to_it)
        os.close(to_us)
        self.to_it = os.fdopen(from_us, "wb", buffering=0)
        self.from_it = os.fdopen(from_it, "rb", buffering=0)
        self.text = b""
        self.n = 0
        self.events = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
        except (OSError, EOFError):
            self.child.terminate()
        try:
            self.child.wait(10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()

    def read(self):
        while b"\0" not in self.text:
            if not select.select([self.from_it], [], [], PATIENCE_S)[0]:
                raise TimeoutError(f"Chromium has said nothing for {PATIENCE_S} s")
            more = self.from_it.read(1 << 20)
            if not more:
                raise EOFError("Chromium has ended")
            self.text += more
        message, _, self.text = self.text.partition(b"\0")
        return json.loads(message)

    def call(self, method, session=None, **params):
        self.n += 1
        message = {"id": self.n, "method": method, "params": params, **({"sessionId": session} if session else {})}
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[self.to_it.write(data):]
        while True:
            answer = self.read()
            if answer.get("id") == self.n:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, url, width=1280, height=900, dark=False, mobile=False):
        return Page(self, url, width, height, dark, mobile)


class Page:
    def __init__(self, browser, url, width, height, dark, mobile):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.target = target
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        browser.events.clear()
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def run(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", answer["exceptionDetails"]).get("description"))
        return answer["result"].get("value")

    def wait(self, expression):
        until = time.monotonic() + PATIENCE_S
        while not self.run(expression):
            if time.monotonic() > until:
                raise TimeoutError(f"in vain: {expression}")
            time.sleep(0.02)

    def rest(self):
        """Waits until the page has drawn everything."""
        self.run("new Promise((done) => setTimeout(done, 120))")
        self.wait("!document.documentElement.hasAttribute('data-drawing')")
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def mouse(self, kind, x, y, buttons=0, button="none"):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=buttons, clickCount=1)

    def drag(self, x0, y0, x1, y1, steps=8):
        self.mouse("mouseMoved", x0, y0)
        self.mouse("mousePressed", x0, y0, 1, "left")
        for k in range(1, steps + 1):
            self.mouse("mouseMoved", x0 + (x1 - x0) * k / steps, y0 + (y1 - y0) * k / steps, 1, "left")
        self.mouse("mouseReleased", x1, y1, 0, "left")

    def key(self, name, text=None):
        code = {"Enter": 13, "Tab": 9, "ArrowUp": 38, "ArrowDown": 40, "Escape": 27, "Delete": 46}.get(name, 0)
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, windowsVirtualKeyCode=code, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name, windowsVirtualKeyCode=code)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def picture(self, path, whole=True):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}} if whole else {}
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole, **clip)["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))

    def requests(self):
        """Returns the URLs that the page has requested."""
        self.run("1")
        return [e["params"]["request"]["url"] for e in self.browser.events if e.get("method") == "Network.requestWillBeSent"]

    def complaints(self):
        """Returns the log entries and the uncaught exceptions."""
        self.run("1")
        return [json.dumps(e["params"])[:400] for e in self.browser.events
                if e.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")]

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)
