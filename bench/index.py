"""Gathers, scatters, embeddings, losses by class and joins beside a copy of the bytes that they move.

python bench/index.py [--rows 1048576] [--beside torch tinygrad]
"""

import argparse
from types import SimpleNamespace

import numpy as np
from _beside import PEERS, installed, show_speeds

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


def losses(x, few, rows: int) -> dict[str, tuple]:
    """An embedding of few tokens and a loss by class, and their gradients."""
    table = x[:1000].detach().realize().requires_grad_()
    logits, target = x.detach().realize().requires_grad_(), (few % WIDTH).realize()
    moved, f = 4 * rows * WIDTH, fb.nn.functional

    def gradient(y, of):
        return y.backward()[of]

    return {
        "embedding": (lambda: f.embedding(few, table), 2 * moved),
        "gradient of embedding": (lambda: gradient((f.embedding(few, table) * x).sum(), table), 2 * moved),
        "cross_entropy": (lambda: f.cross_entropy(logits, target), moved),
        "gradient of cross_entropy": (lambda: gradient(f.cross_entropy(logits, target), logits), 2 * moved),
    }


def of_flambeau(rows: int) -> dict[str, tuple]:
    given = {name: fb.tensor(a).realize() for name, a in data(rows).items()}
    table = {"copy": (lambda: given["x"] + 1.0, 2 * 4 * rows * WIDTH)}
    table |= calls(fb, **given, rows=rows) | losses(given["x"], given["few"], rows)
    line, far, wide = given["x"].reshape(-1), given["index"].long().realize(), fb.arange(rows).realize()
    table["gather of single elements by int64"] = (lambda: line.gather(0, far), 4 * 4 * rows)
    table["gather of int64 by int64"] = (lambda: wide.gather(0, far), 6 * 4 * rows)
    return {name: (lambda c=c: c().realize(), fb.synchronize, b) for name, (c, b) in table.items()}


def of(peer, rows: int) -> dict[str, tuple]:
    """The same by another framework, but for what it lacks."""
    given = {name: peer.tensor(a) for name, a in data(rows).items()}
    if peer.name.startswith("torch"):
        import torch as module

        given = {n: t.long() if n in ("index", "few") else t for n, t in given.items()}
    else:
        module = SimpleNamespace(
            cat=lambda parts, d: parts[0].cat(*parts[1:], dim=d), where=lambda c, a, b: c.where(a, b)
        )
    table = {}
    for name, (call, moved) in calls(module, **given, rows=rows).items():
        try:
            peer.run(call())
        except (AttributeError, RuntimeError, TypeError, IndexError) as e:
            print(f"{peer.name}: {name}: left out: {type(e).__name__}: {e}"[:120])
            continue
        table[f"{peer.name}: {name}"] = (lambda c=call: peer.run(c()), peer.wait, moved)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    software = get_device().limits.software
    parser.add_argument("--rows", type=int, default=1 << (14 if software else 20))
    parser.add_argument("--beside", nargs="*", default=[], choices=list(PEERS), help="peers, where installed")
    parser.add_argument("--seconds", type=float, default=0.15)
    args = parser.parse_args()
    table = of_flambeau(args.rows)
    for peer in installed(args.beside):
        table |= of(peer, args.rows)
    show_speeds(f"{args.rows:,} rows of {WIDTH} floats, {get_device()}", table, args.seconds)


if __name__ == "__main__":
    main()
