"""Host and whole time of recorded calls by the size of their arguments: bound where they are, and copied.

    python bench/replay.py [--seconds 0.3]

"copied" is what every replay did before buffers of the caller were bound; "seen" binds those that come again,
"bound" all. "in turn" gives another of 40 buffers each time. Values are compared with NumPy first.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _measure import show_table

import flambeau as fb
from flambeau.capture import bindings

SIZES = [1 << n for n in (10, 16, 18, 20, 22, 24)]
TURNS = 40
WAYS = {"copied": (1 << 62, 0), "seen": (1 << 62, bindings.SEEN), "bound": (0, bindings.SEEN)}  # LARGE, SEEN


def scaled(x: Any, y: Any) -> Any:
    return x * 2 + y


def total(x: Any, y: Any) -> Any:
    return (x * y).sum()


def recorded(f: Callable, way: str, x: Any, y: Any) -> Callable:
    """The function, recorded with that way of giving arguments and results, and run until it is warm."""
    bindings.LARGE, bindings.SEEN = WAYS[way]
    step = fb.jit(f)
    for _ in range(4):
        out = step(x, y)
    np.testing.assert_allclose(out.numpy(), f(x.numpy(), y.numpy()), rtol=1e-4)
    return step


def host_us(step: Callable, x: Any, y: Any, count: int = 40) -> float:
    """The least of `count` calls on an idle device."""
    times = []
    for _ in range(count):
        fb.synchronize()
        begin = time.perf_counter()
        step(x, y)
        times.append(time.perf_counter() - begin)
    return min(times) * 1e6


def whole_us(step: Callable, xs: list[Any], y: Any, seconds: float) -> float:
    """A call in a row of calls that end when the device is done; the least of several rows."""
    best, until = 1e9, time.perf_counter() + seconds
    while best == 1e9 or time.perf_counter() < until:
        begin = time.perf_counter()
        for x in xs:
            step(x, y)
        fb.synchronize()
        best = min(best, (time.perf_counter() - begin) / len(xs))
    return best * 1e6


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=float, default=0.3, help="of each measurement")
    seconds = arguments.parse_args().seconds
    table = []
    for f in (scaled, total):
        for n in SIZES:
            x, y = fb.rand(n).realize(), fb.rand(n).realize()
            steps = [recorded(f, way, x, y) for way in WAYS]
            whole_us(steps[0], [x] * TURNS, y, 0.12)  # the clocks of a GPU that idled rise meanwhile
            others = [fb.rand(n).realize() for _ in range(TURNS if 4 * n * TURNS < 1 << 30 else 0)]
            times = [host_us(step, x, y) for step in steps]
            times += [whole_us(step, [x] * TURNS, y, seconds) for step in steps]
            times += [whole_us(step, others, y, seconds) for step in (steps[0], steps[2]) if others]
            table.append((f.__name__, f"{4 * n:,}", *(f"{t:.0f}" for t in times), *[""] * (8 - len(times))))
            print(*table[-1], flush=True)
    ways = tuple(WAYS)
    heads = [
        *(f"host {w}" for w in ways),
        *(f"whole {w}" for w in ways),
        *(f"in turn {ways[i]}" for i in (0, 2)),
    ]
    show_table(f"a replay's us on {x.device}", ("call", "bytes", *heads), table)


if __name__ == "__main__":
    main()
