"""Time against size: matmul, attention over the sequence, the planner over nodes, dispatches of a step.

    python bench/growth.py [--only matmul attention planner dispatches]

The slope is the exponent between neighbouring sizes: 1 is linear; a matmul's is 3, attention's 2.
"""

import argparse
import time
from collections.abc import Callable
from math import log

from _measure import show_table

import flambeau as fb
from flambeau.core.node import toposort
from flambeau.device import get_device
from flambeau.fusion.planner import plan
from flambeau.profiling.meter import capture
from flambeau.profiling.roofline import steady
from flambeau.runtime.run import graph_key

DEVICE = get_device()
SOFTWARE = DEVICE.limits.software


def kernels(call: Callable[[], object]) -> float:
    """Seconds of the GPU for what a call runs."""
    held, found = capture(call)
    seconds = steady(DEVICE, found.words)
    del held
    return seconds


def matmul(n: int) -> float:
    a, b = fb.randn(n, n), fb.randn(n, n)
    fb.realize(a, b)
    return kernels(lambda: fb.realize(a @ b))


def attention(s: int) -> float:
    q, k, v = (fb.randn(1, 4, s, 64) for _ in range(3))
    fb.realize(q, k, v)
    return kernels(lambda: fb.realize(fb.nn.functional.scaled_dot_product_attention(q, k, v)))


def planner(n: int) -> float:
    """Key and plan of about n nodes: an elementwise chain, stored now and then, and sums."""
    x = fb.ones(64)
    fb.realize(x)
    roots = []
    for _ in range(n // 10):
        x = ((x * 1.5 + 0.25).sigmoid() - 0.5).tanh()
        roots.append(x.sum())
    nodes = [r.node for r in roots]
    begin = time.perf_counter()
    order = toposort(nodes)
    graph_key(nodes, order)
    plan(nodes, DEVICE.limits, order)
    return time.perf_counter() - begin


def dispatches(n: int) -> float:
    """Host and device together, of a recorded step of n small kernels."""

    def chain(x):
        for _ in range(n):
            x = x @ x
        return x

    step = fb.jit(chain)
    x = fb.eye(4).realize()
    step(x), step(x)
    DEVICE.wait()
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        step(x)
        DEVICE.wait()
        times.append(time.perf_counter() - begin)
    return min(times)


SIZES = {  # name: (what is measured, sizes on a GPU, on a software adapter)
    "matmul": (matmul, (512, 1024, 2048, 4096, 8192), (64, 128, 256, 512)),
    "attention": (attention, (512, 1024, 2048, 4096, 8192), (64, 128, 256, 512)),
    "planner": (planner, (1000, 10_000, 100_000), (1000, 10_000, 100_000)),
    "dispatches": (dispatches, (64, 256, 1024, 4096), (64, 256, 1024)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=SIZES, default=list(SIZES))
    for name in parser.parse_args().only:
        measure, *sizes = SIZES[name]
        rows, last = [], None
        for n in sizes[SOFTWARE]:
            seconds = measure(n)
            slope = f"{log(seconds / last[1]) / log(n / last[0]):.2f}" if last else ""
            rows.append((str(n), f"{seconds * 1e3:.3f}", f"{seconds / n * 1e6:.3f}", slope))
            last = n, seconds
        show_table(f"{name} on {DEVICE}", ("size", "ms", "us each", "slope"), rows)


if __name__ == "__main__":
    main()
