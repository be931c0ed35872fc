"""Host time of a dispatch: planned graph to submit, recorded and replayed; and of reading one scalar back.

    python bench/dispatch.py

A step is a chain of tiny kernels that can't fuse (each is stored), so that the time is the host's, not the
GPU's.
"""

import time

from _measure import show_table

import flambeau as fb

KERNELS = 64
STEPS = 40


def graph(x):
    """KERNELS dispatches: small matrix products, each needing the one before."""
    for _ in range(KERNELS):
        x = x @ x
    return x


def host_us(f, prepare=lambda: ()) -> float:
    """Median microseconds of f, the device idle before each call and its own time not counted."""
    times = []
    for _ in range(STEPS):
        args = prepare()
        fb.synchronize()
        begin = time.perf_counter()
        f(*args)
        times.append(time.perf_counter() - begin)
    return sorted(times)[STEPS // 2] * 1e6


def main() -> None:
    x = (fb.eye(4) * 0.5).realize()
    step = fb.jit(graph)
    step(x), graph(x).realize()
    planned = host_us(lambda y: y.realize(), lambda: (graph(x),)) / KERNELS
    whole = host_us(lambda: graph(x).realize()) / KERNELS
    replayed = host_us(lambda: step(x)) / KERNELS
    one = fb.tensor([1.0])
    one.item()
    read = host_us(one.item)
    rows = [
        ("graph to submit, plan cached, us a dispatch", planned, 8.0),
        ("building the graph too, us a dispatch", whole, None),
        ("recorded and replayed, us a dispatch", replayed, 2.5),
        ("reading one scalar, queue empty, us", read, 80.0),
    ]
    table = [(name, f"{v:.2f}", "-" if goal is None else f"{goal:g}") for name, v, goal in rows]
    show_table(f"host time on {x.device}", ("what", "median", "goal"), table)


if __name__ == "__main__":
    main()
