"""page.py FILE - how quickly the page of a sweep is there, and how smoothly it is brushed, in Chromium without a GPU"""

import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "functional"))
import chromium  # noqa: E402

FRAMES = """new Promise((done) => {
    const times = [];
    const frame = (t) => { times.push(t); if (window.benchEnds) done(times); else requestAnimationFrame(frame); };
    requestAnimationFrame(frame);
})"""


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, chromium.Chromium(folder + "/profile") as browser:
        page = browser.open("file://" + os.path.abspath(sys.argv[1]))
        paint = page.run("performance.getEntriesByType('paint').map((p) => [p.name, p.startTime])")
        print("first paint", {name: f"{at:.0f} ms" for name, at in paint}, "load",
              page.run("Math.round(performance.getEntriesByType('navigation')[0].loadEventEnd)"), "ms")
        page.rest()
        box = page.run("(() => { const b = document.querySelector('.parallel').getBoundingClientRect(); return [b.left, b.top, b.width]; })()")
        page.run(f"window.benchEnds = false; window.benchTimes = {FRAMES}; 0")
        x, top = box[0] + 58, box[1]
        page.mouse("mouseMoved", x, top + 80)
        page.mouse("mousePressed", x, top + 80, 1, "left")
        for k in range(240):
            page.mouse("mouseMoved", x, top + 80 + k % 160, 1, "left")
        page.mouse("mouseReleased", x, top + 200, 0, "left")
        page.run("window.benchEnds = true; 0")
        times = page.run("window.benchTimes")
        frames = [b - a for a, b in zip(times, times[1:])]
        print(f"brushing: {len(frames)} frames, {1000 / statistics.mean(frames):.0f} a second; "
              f"median {statistics.median(frames):.0f} ms, 95 % below {sorted(frames)[int(0.95 * len(frames))]:.0f} ms, longest {max(frames):.0f} ms")
        print("filter:", page.run("document.getElementById('filter').value"), "->", page.run("document.getElementById('count').textContent"))
        if len(sys.argv) > 2:
            page.rest()
            page.picture(sys.argv[2])
        for line in page.complaints():
            print(line)


main()
