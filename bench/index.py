"""Gathers, scatters, embeddings and joins beside a copy of the bytes that they move.

python bench/index.py [--rows 1048576] [--beside torch tinygrad]
"""

import argparse

import numpy as np
from _beside import PEERS, installed
from _measure import interleave, queued, show_table

import flambeau as fb
from flambeau.device import get_device

WIDTH = 64


def data(rows: int) -> dict[str, np.ndarray]:
    """A table of rows, as many shuffled indices, and few tokens of a small vocabulary."""
    rng = np.random.default_rng(0)
    return {
        "x": rng.random((rows, WIDTH), "f4"),
        "index": rng.permutation(rows).astype("i4"),
        "few": rng.integers(0, 1000, rows).astype("i4"),
        "mask": rng.random(rows) < 0.5,
    }


def calls(m, x, index, few, mask, rows: int) -> dict[str, tuple]:
    """name: (call, bytes read and written), in the API that torch and flambeau share."""
    line = x.reshape(-1)
    wide = index.reshape(-1, 1).expand(rows, WIDTH)
    base = x[:1000]
    moved = 2 * 4 * rows * WIDTH
    return {
        "gather of single elements": (lambda: line.gather(0, index), 3 * 4 * rows),
        "index_select of rows": (lambda: x.index_select(0, index), moved),
        "gather along rows": (lambda: x.gather(0, wide), moved + 4 * rows * WIDTH),
        "scatter_add of rows, all apart": (lambda: (x * 0).index_add(0, index, x), 2 * moved),
        "scatter_add of rows, 1,000 places": (lambda: (base * 0).index_add(0, few, x), moved // 2),
        "scatter of single elements": (lambda: (line[:rows] * 0).scatter(0, index, line[:rows]), 20 * rows),
        "cat of 8": (lambda: m.cat([x[i :: 8] for i in range(8)], 0), moved),
        "where": (lambda: m.where(mask.reshape(-1, 1), x, 0.0), moved),
        "rows of a mask": (lambda: x[mask], moved // 2 + moved // 4),
    }  # fmt: skip


def of_flambeau(rows: int) -> dict[str, tuple]:
    given = {name: fb.tensor(a).realize() for name, a in data(rows).items()}
    table = {"copy": (lambda: given["x"] + 1.0, 2 * 4 * rows * WIDTH)}
    table |= calls(fb, **given, rows=rows)
    return {name: (lambda c=c: c().realize(), fb.synchronize, b) for name, (c, b) in table.items()}


def of(peer, rows: int) -> dict[str, tuple]:
    """The same by torch."""
    import torch

    given = {name: peer.tensor(a) for name, a in data(rows).items()}
    given = {n: t.long() if n in ("index", "few") else t for n, t in given.items()}
    table = calls(torch, **given, rows=rows)
    return {f"{peer.name}: {n}": (c, peer.wait, b) for n, (c, b) in table.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    software = get_device().limits.software
    parser.add_argument("--rows", type=int, default=1 << (14 if software else 20))
    parser.add_argument("--beside", nargs="*", default=[], choices=[p for p in PEERS if p == "torch"])
    parser.add_argument("--seconds", type=float, default=0.15)
    args = parser.parse_args()
    table = of_flambeau(args.rows)
    for peer in installed(args.beside):
        table |= of(peer, args.rows)
    found = interleave(
        {name: (lambda s, c=c, w=w: queued(c, w, s)) for name, (c, w, _) in table.items()}, 3, args.seconds
    )
    speed = {name: max(t.rate for t in timings) * table[name][2] / 1e9 for name, timings in found.items()}
    rows = [(name, f"{s:.1f}", f"{s / speed['copy']:.2f}") for name, s in speed.items()]
    show_table(f"{args.rows:,} rows of {WIDTH} floats, {get_device()}", ("what", "GB/s", "/ copy"), rows)


if __name__ == "__main__":
    main()
