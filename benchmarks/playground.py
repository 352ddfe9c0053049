"""How quickly the playground starts and follows the hand, in Chromium.

    python benchmarks/playground.py            everything, about two minutes
    python benchmarks/playground.py --quick    a few moves each, to see that it runs; its bars mean nothing

A drag is a real one: the mouse moves, and a frame ends when the browser has painted it. `work` is the processor time of
the page's own thread for each move, without the worker and without waiting for the next frame. The softmax layers of a
dragged cloud are computed by a worker; their time runs from a change to the picture with the new layers. The first
interaction is a click on a token that selects it, counted from the start of the server's process. Exit status 1: a bar
is missed.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bars import Bars
from playwright.sync_api import Browser, Page, sync_playwright

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
READY = "() => window.hardmaxApp?.controller?.model && !window.hardmaxApp.frame"
VISITED = "try { localStorage.setItem('hardmax-visited', '1') } catch {}"
# Every move is answered by the time until the frame that shows it was painted.
FRAMES = """() => {
    window.frames_ = [];
    window.addEventListener("pointermove", () => {
        const start = performance.now();
        requestAnimationFrame(() => {
            const { port1, port2 } = new MessageChannel();
            port1.onmessage = () => window.frames_.push(performance.now() - start);
            port2.postMessage(0);
        });
    }, { capture: true });
}"""
PLACE = """(i) => {
    const app = window.hardmaxApp;
    const { scene, svg } = app.controller.editor ? app.controller : app.controller.sides[0].editor;
    const box = svg.getBoundingClientRect();
    return [box.left + scene.positions[2 * i], box.top + scene.positions[2 * i + 1]];
}"""
PAINT = """() => new Promise((done) => {
    const seen = (list) => done(list.getEntries().at(-1).startTime);
    new PerformanceObserver(seen).observe({ type: "largest-contentful-paint", buffered: true });
})"""
SOFTMAX = """async (moves) => {
    const app = window.hardmaxApp;
    const { editor } = app.controller.sides[0];
    const times = [];
    for (let move = 0; move < moves; move += 1) {
        const { d, coords } = editor.cloud;
        const next = Float64Array.from(coords);
        next[2 * 5] += 0.001;
        const start = performance.now();
        editor.edit({ d, coords: next }, { sel: 5 });
        app.flush();
        while (app.controller.stale) await new Promise((done) => setTimeout(done, 0));
        times.push(performance.now() - start);
    }
    return times;
}"""


@contextmanager
def server(cache: str | None = None) -> Iterator[tuple[str, float]]:
    """`hardmax playground` in a process of its own: (its address, when the process was started)."""
    environment = dict(os.environ) if cache is None else {**os.environ, "NUMBA_CACHE_DIR": cache}
    words = [sys.executable, "-m", "hardmax", "playground", "--no-browser", "--port", "0", "--json"]
    start = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())["url"], start
    finally:
        process.terminate()
        process.wait(timeout=30)


def opened(browser: Browser, address: str) -> Page:
    """A page that stands ready, at the size of a laptop's window."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_init_script(VISITED)
    page = context.new_page()
    page.goto(address)
    page.wait_for_function(READY, timeout=120_000)
    return page


def start_up(browser: Browser, cache: str | None) -> tuple[float, float]:
    """Seconds until the server printed its address, and until a click selected a token."""
    with server(cache) as (url, start):
        ready = time.perf_counter() - start
        page = opened(browser, url)
        page.mouse.click(*page.evaluate(PLACE, 0))
        page.wait_for_function("() => window.hardmaxApp.state.sel === 0")
        page.wait_for_selector(".one-step .bars li")
        first = time.perf_counter() - start
        page.context.close()
    return ready, first


def drag(page: Page, moves: int) -> dict[str, float]:
    """Milliseconds of the frames of a drag, and the processor time of the page's thread for each."""
    tools = page.context.new_cdp_session(page)
    tools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def work() -> float:
        metrics = {one["name"]: one["value"] for one in tools.send("Performance.getMetrics")["metrics"]}
        return 1000 * metrics["TaskDuration"]

    page.evaluate(FRAMES)
    x, y = page.evaluate(PLACE, 5)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 4, y)
    page.wait_for_timeout(1000)
    page.evaluate("window.frames_.length = 0")
    before = work()
    for move in range(moves):
        page.mouse.move(x + 4 + move % 40, y + move % 25)
        page.wait_for_function("(n) => window.frames_.length >= n", arg=move + 1)
    spent = (work() - before) / moves
    page.mouse.up()
    frames = page.evaluate("window.frames_")[:moves]
    return {"median": statistics.median(frames), "p95": percentile(frames), "work": spent}


def said(found: dict[str, float]) -> str:
    """The figures of a drag."""
    return f"median frame {found['median']:.1f} ms, 95 % {found['p95']:.1f} ms, work {found['work']:.1f} ms"


def percentile(times: list[float]) -> float:
    """The 95th percentile."""
    return sorted(times)[min(len(times) - 1, int(0.95 * len(times)))]


def site(browser: Browser) -> tuple[float, float, float]:
    """Largest contentful paint from disk in ms, and kB without and with the model."""
    folder = Path(tempfile.mkdtemp()) / "site"
    command = [sys.executable, "-m", "hardmax", "playground", "--static", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    page = opened(browser, (folder / "index.html").as_uri())
    page.wait_for_timeout(1500)
    paint = page.evaluate(PAINT)
    page.context.close()
    sizes = {path: path.stat().st_size / 1000 for path in folder.rglob("*") if path.is_file()}
    shutil.rmtree(folder.parent)
    return paint, sum(size for path, size in sizes.items() if path.name != "model.js"), sum(sizes.values())


def main() -> int:
    """Run everything, print the bars."""
    quick = "--quick" in sys.argv
    bars = Bars()
    with sync_playwright() as playwright:
        path = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        for name, cache, most in (("empty cache", tempfile.mkdtemp(), 4.0), ("warm", None, 2.0)):
            ready, first = start_up(browser, cache)
            print(f"start, {name}: server ready {ready:.2f} s, first interaction {first:.2f} s")
            bars.check(first < most, f"first interaction within {most:g} s, {name}: {first:.2f} s")
        paint, small, whole = site(browser)
        print(
            f"static site: largest contentful paint {paint:.0f} ms, {small:.0f} kB without the model, {whole:.0f} with"
        )
        bars.check(paint < 1000, f"largest contentful paint from disk under 1 s: {paint:.0f} ms")
        bars.check(small < 400, f"site without the model under 400 kB: {small:.0f} kB")
        moves = 6 if quick else 60
        with server() as (url, _):
            for n, most_median in ((300, 50.0), (5000, 50.0)):
                page = opened(browser, f"{url}#v=1&n={n}")
                found = drag(page, moves)
                page.context.close()
                print(f"drag at n = {n:,}: {said(found)}")
                bars.check(found["median"] < most_median, f"median under {most_median:g} ms: {found['median']:.1f} ms")
            page = opened(browser, f"{url}#v=1&view=beta&n=1000")
            page.wait_for_function("() => !window.hardmaxApp.controller.stale")
            found = drag(page, moves)
            late = percentile(page.evaluate(SOFTMAX, moves))
            page.context.close()
            print(f"softmax at n = 1,000: {said(found)}; new layers after {late:.0f} ms (95 %)")
            bars.check(found["p95"] < 100, f"softmax drag at n = 1,000 under 100 ms at 95 %: {found['p95']:.1f} ms")
        browser.close()
    return int(bars.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
