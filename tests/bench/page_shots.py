"""page_shots.py FILE FOLDER - takes pictures of a page of results for docs/: 1280 and 390 pixels wide, light and dark"""

import base64
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "functional"))
import chromium  # noqa: E402


def main():
    source, folder = sys.argv[1:]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, chromium.Chromium(profile + "/profile") as browser:
        for width in (1280, 390):
            for dark in (False, True):
                page = browser.open("file://" + os.path.abspath(source), width=width, dark=dark, mobile=width < 400)
                page.rest()
                size = page.call("Page.getLayoutMetrics")["cssContentSize"]
                clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
                data = page.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip, format="webp", quality=35)["data"]
                with open(f"{folder}/page-{width}-{'dark' if dark else 'light'}.webp", "wb") as f:
                    f.write(base64.b64decode(data))


main()
