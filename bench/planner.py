"""Host time of a graph by its size: building, order, key and plan, in microseconds a node: flat is linear.

python bench/planner.py [--nodes 1000 10000 100000]
"""

import argparse
import time
from collections.abc import Callable
from itertools import pairwise

import flambeau as fb
from flambeau.core import node as graph
from flambeau.core.limits import Limits
from flambeau.core.node import toposort
from flambeau.fusion.planner import plan
from flambeau.nn import functional as F
from flambeau.runtime.run import graph_key


def layers(n: int) -> list:
    """A deep network: matrices, biases, norms, residuals."""
    w, b = fb.zeros(8, 8).realize(), fb.zeros(8).realize()
    x = fb.zeros(4, 8).realize()
    for _ in range(n // 16):
        x = x + F.layer_norm((x @ w + b).relu(), (8,), w[0], b)
    return [x]


def updates(n: int) -> list:
    """An optimiser's step of many parameters."""
    p, g, m = (fb.zeros(4, 8).realize() for _ in range(3))
    made = []
    for _ in range(n // 6):
        moved = m * 0.9 + g
        made += [moved, p - moved * 0.1]
    return made


def chain(n: int) -> list:
    """One elementwise chain."""
    x = fb.zeros(4, 8).realize()
    for _ in range(n // 2):
        x = x * 1.5 if _ % 2 else x.exp()
    return [x]


GRAPHS: dict[str, Callable] = {"layers": layers, "updates": updates, "chain": chain}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", nargs="*", type=int, default=[1000, 10000, 100000])
    parser.add_argument("--only", nargs="*", default=list(GRAPHS), choices=list(GRAPHS))
    args = parser.parse_args()
    graph.DEEP = 2 * max(args.nodes)  # no part of a graph is run while it is built
    for name in args.only:
        for n in args.nodes:
            times = [time.perf_counter()]
            roots = [t.node for t in GRAPHS[name](n)]
            times.append(time.perf_counter())
            order = toposort(roots)
            times.append(time.perf_counter())
            graph_key(roots, order)
            times.append(time.perf_counter())
            made = plan(roots, Limits(), order)
            times.append(time.perf_counter())
            each = [(b - a) * 1e6 / len(order) for a, b in pairwise(times)]
            told = "  ".join(
                f"{what} {t:6.2f}" for what, t in zip(("build", "order", "key", "plan"), each, strict=True)
            )
            print(f"{name:8} {len(order):7} nodes  {told}  us a node  {len(made):6} kernels", flush=True)


if __name__ == "__main__":
    main()
