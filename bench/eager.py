"""Host time of small calls that are not recorded, by steps: building the graph, its key, buffers, commands.

    python bench/eager.py [--only scatter softmax]

Tensors are so small that the GPU waits for the host. Every row is the least of many calls.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
from _measure import show_table

import flambeau as fb
from flambeau.core.node import toposort
from flambeau.runtime import run

ROUNDS, CALLS = 30, 8


def cases() -> dict[str, Callable]:
    f, shape = fb.nn.functional, (1, 2, 16, 64)
    places = fb.tensor(np.random.default_rng(0).integers(0, 1000, 4096).astype(np.int32))
    x, z = fb.rand(4096).realize(), fb.zeros(8192).realize()
    rows, picked, lines = fb.rand(64, 64).realize(), fb.rand(8, 64).realize(), fb.arange(8).realize()
    single = [fb.randn(*shape).realize() for _ in range(3)]
    half = [t.to(fb.float16).realize() for t in single]
    return {
        "add": lambda: x + 1,
        "matmul, relu": lambda: (rows @ rows).relu(),
        "softmax": lambda: rows.softmax(1),
        "index_select": lambda: x.index_select(0, places),
        "bincount": lambda: fb.bincount(places, length=1000),
        "scatter": lambda: z.scatter(0, places, x),
        "scatter_add": lambda: z.scatter_add(0, places, x),
        "index_copy": lambda: rows.index_copy(0, lines, picked),
        "attention f32": lambda: f.scaled_dot_product_attention(*single, is_causal=True),
        "attention f16": lambda: f.scaled_dot_product_attention(*half),
    }


def least_us(f: Callable, calls: int = CALLS) -> float:
    best = 1e9
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(calls):
            f()
        best = min(best, (time.perf_counter() - begin) / calls)
        fb.synchronize()
    return best * 1e6


def steps_of(f: Callable) -> tuple:
    """The nodes and kernels of a call, and the microseconds of its steps."""
    f().realize()
    y, device = f(), fb.zeros(1).device
    order = toposort([y.node])
    key = run.graph_key([y.node], order)
    compiled = run.plan_for(device, [y.node], order, key)

    def key_of():
        run.graph_key([y.node], toposort([y.node]))

    times = [
        least_us(f),
        least_us(key_of),
        least_us(lambda: run.allocate_eagerly(compiled, order, device.pool, [])),
    ]
    times.append(least_us(lambda: device.submit(compiled.words), 3))
    times.append(least_us(lambda: f().realize(), 3))
    return str(len(order)), str(len(compiled.plan)), *(f"{t:.1f}" for t in times)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", nargs="+", choices=list(cases()), default=None)
    wanted = arguments.parse_args().only
    begin, x = time.perf_counter(), fb.rand(1 << 20)
    while time.perf_counter() - begin < 0.12:  # the clocks of a GPU that idled rise meanwhile
        (x * 2).realize()
    table = [(name, *steps_of(f)) for name, f in cases().items() if not wanted or name in wanted]
    heads = ("call", "nodes", "kernels", "build", "key", "buffers", "submit", "whole")
    show_table(f"host us of a call on {x.device}", heads, table)


if __name__ == "__main__":
    main()
