"""Sums of every shape (one row, tall, wide, a middle dim) beside a copy: the part of its speed they reach.

python bench/reduce.py [--floats 268435456] [--torch]
"""

import argparse

from _measure import interleave, queued, show_table

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
    wide = x.reshape(n // 1024, 1024)
    table["max of rows of 1024"] = (lambda: wide.amax(1).realize(), fb.synchronize, 4 * n)
    return table


def of_torch(n: int) -> dict[str, tuple]:
    """The same in torch: on the same card where it sees one, else on the CPU."""
    import torch

    cuda = torch.cuda.is_available()
    wait = torch.cuda.synchronize if cuda else lambda: None
    x = torch.rand(n, device="cuda" if cuda else "cpu")
    table = {"torch copy": (lambda: x + 1.0, wait, 8 * n)}
    for name, (shape, dim) in shapes(n).items():
        y = x.reshape(shape)
        table[f"torch {name}"] = (lambda y=y, dim=dim: y.sum() if dim is None else y.sum(dim), wait, 4 * n)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    software = get_device().limits.software
    parser.add_argument("--floats", type=int, default=1 << (22 if software else 28))
    parser.add_argument("--torch", action="store_true", help="beside torch, where it is installed")
    args = parser.parse_args()
    table = contestants(args.floats) | (of_torch(args.floats) if args.torch else {})
    found = interleave(
        {name: (lambda s, c=c, w=w: queued(c, w, s)) for name, (c, w, _) in table.items()}, 3, 0.15
    )
    speed = {name: max(t.rate for t in timings) * table[name][2] / 1e9 for name, timings in found.items()}
    rows = [(name, f"{s:.0f}", f"{s / speed['copy']:.2f}") for name, s in speed.items()]
    show_table(
        f"{args.floats:,} floats, {get_device()} (goal on a GPU: 0.8 of the copy)",
        ("what", "GB/s", "/ copy"),
        rows,
    )


if __name__ == "__main__":
    main()
