"""Sums of every shape (one row, tall, wide, a middle dim) beside a copy: the part of its speed they reach.

python bench/reduce.py [--floats 268435456] [--beside torch tinygrad]
"""

import argparse

import numpy as np
from _beside import PEERS, installed, show_speeds

import flambeau as fb
from flambeau.device import get_device


def shapes(n: int) -> dict[str, tuple[tuple[int, ...], int | None]]:
    """name: (shape, the dim that is summed)."""
    return {
        "full sum": ((n,), None),
        "rows of 1024": ((n // 1024, 1024), 1),
        "rows of 4096": ((n // 4096, 4096), 1),
        "rows of 16": ((n // 16, 16), 1),
        "4 long rows": ((4, n // 4), 1),
        "columns, tall": ((n // 256, 256), 0),
        "columns, wide": ((256, n // 256), 0),
        "columns, square": ((1 << (n.bit_length() // 2), n >> (n.bit_length() // 2)), 0),
        "middle dim": ((n >> 16, 256, 256), 1),
    }


def contestants(n: int) -> dict[str, tuple]:
    """name: (call, wait, bytes that must move)."""
    x = fb.rand(n).realize()
    table = {"copy": (lambda: (x + 1.0).realize(), fb.synchronize, 8 * n)}
    for name, (shape, dim) in shapes(n).items():
        y = x.reshape(*shape).realize()
        table[name] = (lambda y=y, dim=dim: y.sum(dim).realize(), fb.synchronize, 4 * n)
    whole = (x * 1e6).to(fb.int64).realize()
    for name in ("full sum", "rows of 1024", "columns, square"):
        shape, dim = shapes(n)[name]
        z = whole.reshape(*shape).realize()
        table[f"int64: {name}"] = (lambda z=z, dim=dim: z.sum(dim).realize(), fb.synchronize, 8 * n)
    wide = x.reshape(n // 1024, 1024)
    table["max of rows of 1024"] = (lambda: wide.amax(1).realize(), fb.synchronize, 4 * n)
    return table


def of(peer, n: int) -> dict[str, tuple]:
    """The same by another framework."""
    host = np.random.default_rng(0).random(n, "f4")
    x = peer.tensor(host)
    table = {f"{peer.name}: copy": (lambda: peer.run(x + 1.0), peer.wait, 8 * n)}
    for name, (shape, dim) in shapes(n).items():
        y = peer.tensor(host.reshape(shape))
        table[f"{peer.name}: {name}"] = (lambda y=y, dim=dim: peer.run(y.sum(dim)), peer.wait, 4 * n)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    software = get_device().limits.software
    parser.add_argument("--floats", type=int, default=1 << (22 if software else 28))
    parser.add_argument("--beside", nargs="*", default=[], choices=list(PEERS), help="peers, where installed")
    parser.add_argument("--seconds", type=float, default=0.15)
    args = parser.parse_args()
    table = contestants(args.floats)
    for peer in installed(args.beside):
        table |= of(peer, args.floats)
    title = f"{args.floats:,} floats, {get_device()} (goal on a GPU: 0.8 of the copy)"
    show_speeds(title, table, args.seconds)


if __name__ == "__main__":
    main()
