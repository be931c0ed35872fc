"""The package in a browser: time to the first value, host time of a dispatch replayed, and of reading back.

    python bench/web.py [--browser chromium] [--hardware]

One Chromium, driven by Playwright, on a site built for the run; on its software adapter unless --hardware.
That one is the CPU: on Linux pages keep to the first core, the adapter to the others.
"""

import argparse
import os
import shutil
import tempfile
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

from _measure import show_table

from flambeau.site import build, serve
from flambeau.site.server import QuietHandler, address

STARTS = 5
FLAGS = ["--no-sandbox", "--enable-unsafe-webgpu", "--disable-quic", "--disable-background-networking"]

# In the page: tiny kernels by WebGPU alone, the least that a page can do for them; a call that times a row
# of submits, in us.
BY_HAND = """async (kernels, row) => {
    const adapter = await navigator.gpu.requestAdapter(), device = await adapter.requestDevice();
    const code = `
        @group(0) @binding(0) var<uniform> n: u32;
        @group(0) @binding(1) var<storage, read> x: array<f32>;
        @group(0) @binding(2) var<storage, read_write> y: array<f32>;
        @compute @workgroup_size(16) fn main(@builtin(local_invocation_id) at: vec3<u32>) {
            var sum = 0.0;
            for (var k = 0u; k < n; k++) { sum += x[at.x / n * n + k] * x[k * n + at.x % n]; }
            y[at.x] = sum;
        }`;
    const compute = { module: device.createShaderModule({ code }), entryPoint: "main" };
    const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute });
    const made = (usage) => device.createBuffer({ size: 64, usage });
    const params = made(0x40 | 8), buffers = [made(0x80), made(0x80)];
    device.queue.writeBuffer(params, 0, new Uint32Array([4]));
    const groups = Array.from({ length: kernels }, (_, i) => device.createBindGroup({
        layout: pipeline.getBindGroupLayout(0),
        entries: [params, buffers[i % 2], buffers[1 - i % 2]].map(
            (buffer, binding) => ({ binding, resource: { buffer } })),
    }));
    return () => {
        const times = [performance.now()];
        for (let i = 0; i < row; i++) {
            const encoder = device.createCommandEncoder(), pass = encoder.beginComputePass();
            pass.setPipeline(pipeline);
            for (const group of groups) {
                pass.setBindGroup(0, group);
                pass.dispatchWorkgroups(1);
            }
            pass.end();
            device.queue.submit([encoder.finish()]);
            times.push(performance.now());
        }
        return times.slice(1).map((t, i) => (t - times[i]) * 1e3);
    };
}"""
# In the page: a chain of tiny kernels that can't fuse, so that the time is the host's.
DISPATCH = """
import time
from itertools import pairwise
from statistics import median
import flambeau as fb
from pyodide.code import run_js

KERNELS, STEPS, ROW = 64, 40, 10

def graph(x):
    for _ in range(KERNELS):
        x = x @ x
    return x

def host_us(f, prepare=lambda: ()):
    times = []
    for _ in range(STEPS):
        args = prepare()
        fb.synchronize()
        begin = time.perf_counter()
        f(*args)
        times.append(time.perf_counter() - begin)
    return median(times) * 1e6

def row(step, x):
    times = [time.perf_counter()]
    for _ in range(ROW):
        step(x)
        times.append(time.perf_counter())
    return [(b - a) * 1e6 for a, b in pairwise(times)]

def rows_us(*contestants):
    # of each: the median first call of a row, which comes after a wait, and the median call
    found = [[] for _ in contestants]
    for _ in range(STEPS):  # in turns: what else the machine does falls on all
        for f, times in zip(contestants, found):
            fb.synchronize()
            times.append(list(f()))
    return [us / KERNELS for rows in found for us in (median(r[0] for r in rows), median(sum(rows, [])))]

async def measure():
    x = (fb.eye(4) * 0.5).realize()
    step, device = fb.jit(graph), x.device
    step(x), graph(x).realize(), step(x)
    one = fb.tensor([1.0])
    one.item()
    planned = host_us(lambda y: y.realize(), lambda: (graph(x),)) / KERNELS
    read = host_us(one.item)
    by_hand = await run_js(BY_HAND)(KERNELS, ROW)
    rows = rows_us(lambda: row(step, x), by_hand)
    device._submit = device._replay = lambda _: None
    _, python = rows_us(lambda: row(step, x))
    return [planned, *rows, python, read]

await measure()
"""
FIRST = "import flambeau as fb\n(await (fb.rand(8, 8) @ fb.rand(8, 8)).relu().sum().read()).item()"
START = """async () => {
    const { start } = await import("/client.js"), begin = performance.now();
    globalThis.python = await start();
    const ready = performance.now() - begin;
    await python.run(%r);
    return [ready, performance.now() - begin];
}"""


def part_cores() -> None:
    """Give pages a core that a software adapter, which another process of the browser is, leaves alone."""
    first, *others = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
    for process in Path("/proc").glob("[0-9]*") if others else ():
        with suppress(OSError):  # it ended, or is not ours
            is_page = b"--type=renderer" in (process / "cmdline").read_bytes()
            if is_page or b"--type=gpu-process" in (process / "cmdline").read_bytes():
                for thread in (process / "task").iterdir():
                    os.sched_setaffinity(int(thread.name), {first} if is_page else others)


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
        if not given.hardware:
            part_cores()
        measured = page.evaluate("(source) => python.run(source)", f"BY_HAND = {BY_HAND!r}\n{DISPATCH}")
        browser.close()
        server.shutdown()
    show(adapter, starts, measured)


def show(adapter: str, starts: list, measured: list[float]) -> None:
    ready, first = (sorted(column)[len(starts) // 2] for column in zip(*starts))
    planned, first_call, call, first_by_hand, by_hand, python, read = measured
    rows = [
        ("start to ready, ms", ready, None),
        ("start to the first value, ms", first, 2000),
        ("graph to submit, plan cached, us a dispatch", planned, None),
        ("recorded and replayed, us a dispatch: the median call of rows of ten", call, 1),
        ("of that in Python", python, None),
        ("as many by hand in JavaScript, in turns with it", by_hand, None),
        ("the first call of a row, after a wait", first_call, None),
        ("the same by hand", first_by_hand, None),
        ("reading one scalar, queue empty, us", read, None),
    ]
    table = [(name, f"{v:.2f}", "-" if goal is None else f"{goal:g}") for name, v, goal in rows]
    show_table(f"in the browser, on {adapter}", ("what", "median", "goal"), table)


if __name__ == "__main__":
    main()
