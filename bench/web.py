"""The package in a browser: time to the first value, host time of a dispatch replayed, and of reading back.

    python bench/web.py [--browser chromium] [--hardware]

One Chromium, driven by Playwright, on a site built for the run; on its software adapter unless --hardware.
"""

import argparse
import shutil
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

from _measure import show_table

from flambeau.site import build, serve
from flambeau.site.server import QuietHandler, address

STARTS = 5
FLAGS = ["--no-sandbox", "--enable-unsafe-webgpu", "--disable-quic", "--disable-background-networking"]

# In the page: a chain of tiny kernels that can't fuse, so that the time is the host's.
DISPATCH = """
import time
import flambeau as fb

KERNELS, STEPS, ROW = 64, 40, 10

def graph(x):
    for _ in range(KERNELS):
        x = x @ x
    return x

async def host_us(f, prepare=lambda: (), times_each=1):
    times = []
    for _ in range(STEPS):
        args = prepare()
        fb.synchronize()
        begin = time.perf_counter()
        for _ in range(times_each):
            f(*args)
        times.append((time.perf_counter() - begin) / times_each)
    return sorted(times)[STEPS // 2] * 1e6

async def measure():
    x = (fb.eye(4) * 0.5).realize()
    step, device = fb.jit(graph), x.device
    step(x), graph(x).realize(), step(x)
    one = fb.tensor([1.0])
    one.item()
    planned = await host_us(lambda y: y.realize(), lambda: (graph(x),))
    alone = await host_us(lambda: step(x))
    replayed = await host_us(lambda: step(x), times_each=ROW)
    read = await host_us(one.item)
    device._submit = device._replay = lambda _: None
    python = await host_us(lambda: step(x), times_each=ROW)
    return [*[us / KERNELS for us in (planned, alone, replayed, python)], read]

await measure()
"""
FIRST = "import flambeau as fb\n(await (fb.rand(8, 8) @ fb.rand(8, 8)).relu().sum().data()).item()"
START = """async () => {
    const { start } = await import("/client.js"), begin = performance.now();
    globalThis.python = await start();
    const ready = performance.now() - begin;
    await python.run(%r);
    return [ready, performance.now() - begin];
}"""


class Isolated(QuietHandler):
    """Gives a page the clock of 5 us; other pages have one of 100 us."""

    def end_headers(self) -> None:
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        super().end_headers()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--browser", default=shutil.which("chromium"), help="the program to start")
    arguments.add_argument("--hardware", action="store_true", help="whatever adapter the browser takes")
    given = arguments.parse_args()
    from playwright.sync_api import sync_playwright

    flags = FLAGS if given.hardware else [*FLAGS, "--use-webgpu-adapter=swiftshader"]
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as driver:
        build(Path(scratch) / "site")
        server = serve(Path(scratch) / "site", port=0, quiet=True)
        server.RequestHandlerClass = partial(Isolated, directory=str(Path(scratch) / "site"))  # type: ignore
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = driver.chromium.launch(executable_path=given.browser, args=flags)
        starts = []
        for _ in range(STARTS):  # a fresh profile each, and a moment for the machine to calm down
            time.sleep(1.5)
            page = browser.new_context().new_page()
            page.goto(f"{address(server)}client.js")
            starts.append(page.evaluate(START % FIRST))
        adapter = page.evaluate("python.adapter")
        measured = page.evaluate("(source) => python.run(source)", DISPATCH)
        browser.close()
        server.shutdown()
    show(adapter, starts, measured)


def show(adapter: str, starts: list, measured: list[float]) -> None:
    ready, first = (sorted(column)[len(starts) // 2] for column in zip(*starts))
    planned, alone, replayed, python, read = measured
    rows = [
        ("start to ready, ms", ready, None),
        ("start to the first value, ms", first, 2000),
        ("graph to submit, plan cached, us a dispatch", planned, None),
        ("recorded and replayed, one after a wait, us a dispatch", alone, None),
        ("recorded and replayed, ten in a row, us a dispatch", replayed, 1),
        ("of that in Python, us a dispatch", python, None),
        ("reading one scalar, queue empty, us", read, None),
    ]
    table = [(name, f"{v:.2f}", "-" if goal is None else f"{goal:g}") for name, v, goal in rows]
    show_table(f"in the browser, on {adapter}", ("what", "median", "goal"), table)


if __name__ == "__main__":
    main()
