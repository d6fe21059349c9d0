"""page.py FILE brush|jobs [PICTURE] - how quickly Chromium, without a GPU, shows the page of a sweep and redraws it

Prints medians of several runs, beside those of an empty page.
"""

import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "functional"))
import chromium  # noqa: E402

RUNS = 5
FRAMES = """new Promise((done) => {
    const times = [];
    const frame = (t) => { times.push(t); if (window.benchEnds) done(times); else requestAnimationFrame(frame); };
    requestAnimationFrame(frame);
})"""
EMPTY = "<!DOCTYPE html><title>empty</title><p>nothing</p>"
# From a change until all is drawn that follows from it.
UNTIL_DRAWN = """new Promise((done) => { const begun = performance.now(); %s;
    const look = () => document.documentElement.hasAttribute('data-drawing') || performance.now() - begun < 120
        ? requestAnimationFrame(look) : done(performance.now() - begun); requestAnimationFrame(look); })"""


def paint_ms(page):
    return page.run("performance.getEntriesByName('first-contentful-paint')[0].startTime")


def opened(browser, path):
    """The medians of several: first paint, and until the script has made the page."""
    paints, loads = [], []
    for _ in range(RUNS):
        page = browser.open("file://" + path)
        page.wait("performance.getEntriesByName('first-contentful-paint').length > 0")
        paints.append(paint_ms(page))
        loads.append(page.run("performance.getEntriesByType('navigation')[0].loadEventEnd"))
        page.close()
    return statistics.median(paints), min(paints), statistics.median(loads)


def memory_mib(browser):
    """Of the page's process: what it alone holds."""
    most = 0
    for process in browser.call("SystemInfo.getProcessInfo")["processInfo"]:
        if process["type"] == "renderer":
            with open(f"/proc/{process['id']}/smaps_rollup", encoding="utf-8") as f:
                most = max(most, sum(int(line.split()[1]) for line in f if line.startswith("Private_")) / 1024)
    return most


def moved(page, what, move):
    """Frames while the hand moves."""
    page.rest()
    page.run(f"window.benchEnds = false; window.benchTimes = {FRAMES}; 0")
    move()
    page.run("window.benchEnds = true; 0")
    times = page.run("window.benchTimes")
    frames = [b - a for a, b in zip(times, times[1:])]
    print(f"{what}: {len(frames)} frames, {1000 / statistics.mean(frames):.0f} a second; "
          f"median {statistics.median(frames):.0f} ms, 95 % below {sorted(frames)[int(0.95 * len(frames))]:.0f} ms, longest {max(frames):.0f} ms")


def box(page, selector):
    page.run(f"document.querySelector({selector!r}).scrollIntoView({{block: 'center'}})")
    page.rest()
    return page.run(f"(() => {{ const b = document.querySelector({selector!r}).getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; }})()")


def brush(page):
    left, top, _, _ = box(page, ".parallel")
    x = left + 58

    def drag():
        page.mouse("mouseMoved", x, top + 80)
        page.mouse("mousePressed", x, top + 80, 1, "left")
        for k in range(240):
            page.mouse("mouseMoved", x, top + 80 + k % 160, 1, "left")
        page.mouse("mouseReleased", x, top + 200, 0, "left")
    moved(page, "brushing", drag)
    print("filter:", page.run("document.getElementById('filter').value"), "->", page.run("document.getElementById('count').textContent"))


def jobs(page):
    left, top, width, height = box(page, ".gridscroll")
    moved(page, "moving over the grid", lambda: [page.mouse("mouseMoved", left + 20 + k * 37 % (width - 40), top + 10 + k * 3 % (height - 20)) for k in range(200)])
    moved(page, "scrolling the grid", lambda: [page.call("Input.dispatchMouseEvent", type="mouseWheel", x=left + 200, y=top + 200, deltaX=0, deltaY=40) for _ in range(120)])
    print("scrolled to", page.run("document.querySelector('.gridscroll').scrollTop"), "of", page.run("document.querySelector('.gridscroll').scrollHeight"))
    page.run("document.querySelector('.jobs').focus()")
    moved(page, "arrow keys in the grid", lambda: [page.key("ArrowDown") for _ in range(100)])
    left, top, width, height = box(page, ".timeline")
    top, height = max(0, top), min(800, height)
    moved(page, "moving over the timeline", lambda: [page.mouse("mouseMoved", left + 140 + k * 37 % (width - 160), top + 10 + k * 3 % (height - 20)) for k in range(200)])
    for what, change in (("a filter", "ludwigPage.setFilter('parameter_03 > 0.5')"), ("no filter", "ludwigPage.setFilter('')"),
                         ("only those that failed", "document.querySelector('[data-state=failed]').click()"),
                         ("another order of the table", "[...document.querySelectorAll('#table thead button')][1].click()"),
                         ("the other colours", "document.getElementById('theme').click()")):
        page.rest()
        print(f"{what}: drawn after {page.run(UNTIL_DRAWN % change):.0f} ms")


def main():
    path = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, chromium.Chromium(folder + "/profile") as browser:
        empty = folder + "/empty.html"
        with open(empty, "w", encoding="utf-8") as f:
            f.write(EMPTY)
        opened(browser, empty)
        nothing, _, _ = opened(browser, empty)
        paint, least, load = opened(browser, path)
        print(f"{os.path.getsize(path) / 2**20:.1f} MiB; first paint after {paint:.0f} ms (least {least:.0f}; {nothing:.0f} of an empty page), made after {load:.0f} ms")
        page = browser.open("file://" + path)
        page.rest()
        {"brush": brush, "jobs": jobs}[sys.argv[2]](page)
        print(f"memory: {memory_mib(browser):.0f} MiB, of which {page.run('performance.memory.usedJSHeapSize / 2**20'):.0f} are objects of the script")
        if len(sys.argv) > 3:
            page.rest()
            page.picture(sys.argv[3])
        for line in page.complaints():
            print(line)


main()
