"""Scans of every shape (one row, long and short rows, columns) beside a copy: the part of its speed reached.

python bench/scan.py [--floats 67108864] [--beside torch tinygrad]
"""

import argparse

import numpy as np
from _beside import PEERS, installed, show_speeds

import flambeau as fb
from flambeau.device import get_device


def shapes(n: int) -> dict[str, tuple[tuple[int, ...], int]]:
    """name: (shape, the dim that is scanned)."""
    return {
        "one row": ((n,), 0),
        "4 long rows": ((4, n // 4), 1),
        "rows of 8192": ((n // 8192, 8192), 1),
        "rows of 1024": ((n // 1024, 1024), 1),
        "rows of 16": ((n // 16, 16), 1),
        "columns, 256 wide": ((n // 256, 256), 0),
        "columns, 256 tall": ((256, n // 256), 0),
        "middle dim": ((n >> 16, 256, 256), 1),
    }


def contestants(n: int, host) -> dict[str, tuple]:
    """name: (call, wait, bytes that must move: everything read once and written once)."""
    x = fb.tensor(host).realize()
    wait = fb.synchronize
    table = {"copy": (lambda: (x + 1.0).realize(), wait, 8 * n)}
    for name, (shape, dim) in shapes(n).items():
        y = x.reshape(*shape).realize()
        table[f"cumsum, {name}"] = (lambda y=y, dim=dim: y.cumsum(dim).realize(), wait, 8 * n)
    rows = x.reshape(n // 1024, 1024).realize()
    whole = (x * 1e6).to(fb.int64).realize()
    for name in ("one row", "rows of 1024", "columns, 256 wide"):
        shape, dim = shapes(n)[name]
        z = whole.reshape(*shape).realize()
        table[f"cumsum of int64, {name}"] = (lambda z=z, dim=dim: z.cumsum(dim).realize(), wait, 16 * n)
    table["cumprod, rows of 1024"] = (lambda: rows.cumprod(1).realize(), wait, 8 * n)
    table["logcumsumexp, rows of 1024"] = (lambda: rows.logcumsumexp(1).realize(), wait, 8 * n)
    table["places of cummax, one row"] = (lambda: x.cummax(0)[1].realize(), wait, 8 * n)
    table["cumsum of x * 2 + 1, one row"] = (lambda: (x * 2 + 1).cumsum(0).realize(), wait, 8 * n)
    return table


def of(peer, n: int, host) -> dict[str, tuple]:
    """The same sums by another framework."""
    table = {}
    for name, (shape, dim) in shapes(n).items():
        y = peer.tensor(host.reshape(shape))
        table[f"{peer.name}: cumsum, {name}"] = (
            lambda y=y, dim=dim: peer.run(y.cumsum(dim)), peer.wait, 8 * n,
        )  # fmt: skip
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    software = get_device().limits.software
    parser.add_argument("--floats", type=int, default=1 << (22 if software else 26))
    parser.add_argument("--beside", nargs="*", default=[], choices=list(PEERS), help="peers, where installed")
    parser.add_argument("--seconds", type=float, default=0.15)
    args = parser.parse_args()
    host = np.random.default_rng(0).random(args.floats, "f4")
    table = contestants(args.floats, host)
    for peer in installed(args.beside):
        table |= of(peer, args.floats, host)
    show_speeds(
        f"{args.floats:,} floats, {get_device()} (goal on a GPU: 0.8 of the copy)", table, args.seconds
    )


if __name__ == "__main__":
    main()
