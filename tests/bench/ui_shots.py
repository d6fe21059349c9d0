"""ui_shots.py ADDRESS JOB FOLDER - takes pictures of `ludwig ui` for docs/: 1280 and 390 pixels wide, light and dark

The wide pictures show the page with the log of JOB beside the jobs.  On the narrow page a log covers all else, so there
is a picture of the page and one of the log.
"""

import base64
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "functional"))
import chromium  # noqa: E402


def shoot(page, path, whole):
    size = page.call("Page.getLayoutMetrics")["cssContentSize"]
    clip = {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}} if whole else {}
    data = page.call("Page.captureScreenshot", captureBeyondViewport=whole, format="webp", quality=35, **clip)["data"]
    with open(path, "wb") as f:
        f.write(base64.b64decode(data))


def main():
    url, job, folder = sys.argv[1:]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, chromium.Chromium(profile + "/profile") as browser:
        for width in (1280, 390):
            for dark in (False, True):
                page = browser.open(url, width=width, dark=dark, mobile=width < 400)
                page.wait("Boolean(window.ludwigPage && window.ludwigLive.deeds && ludwigLive.sweeps.list.length > 0)")
                page.wait("!document.getElementById('nodes').hidden")
                name = f"{folder}/ui-{width}-{'dark' if dark else 'light'}.webp"
                if width < 400:
                    page.rest()
                    shoot(page, name, True)
                    name = name.replace("ui-", "ui-log-")
                page.run(f"ludwigLive.log.open({json.dumps(job)})")
                page.wait("document.querySelectorAll('.line').length > 3")
                page.run("document.activeElement.blur(); scrollTo(0, 0)")
                page.rest()
                shoot(page, name, width > 400)
                page.close()


main()
