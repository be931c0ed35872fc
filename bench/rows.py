"""Kernels over rows (softmax, norms, cross-entropy; forward, backward) beside a copy: the part of its speed
they reach.

python bench/rows.py [--floats 67108864] [--only softmax] [--lengths 1024 4096] [--torch]
    [--variants registers64]
"""

import argparse
import os
from collections.abc import Callable

import numpy as np
from _measure import queued

import flambeau as fb
from flambeau.core import choose
from flambeau.core.node import toposort
from flambeau.device import get_device
from flambeau.nn import functional as F
from flambeau.runtime import run

LENGTHS = (256, 1000, 1024, 2048, 4096, 8192, 16384, 65536)
# name: (of (x, w, b, t), buffers of x's size that forward and backward must move)
OPS: dict[str, tuple[Callable, int, int]] = {
    "softmax": (lambda f, x, w, b, t: f.softmax(x, 1), 2, 3),
    "log_softmax": (lambda f, x, w, b, t: f.log_softmax(x, 1), 2, 3),
    "layer_norm": (lambda f, x, w, b, t: f.layer_norm(x, (x.shape[1],), w, b), 2, 3),
    "rms_norm": (lambda f, x, w, b, t: f.rms_norm(x, (x.shape[1],), w, eps=1e-5), 2, 3),
    "cross_entropy": (lambda f, x, w, b, t: f.cross_entropy(x, t), 1, 2),
}


def commands(roots: list) -> tuple[Callable[[], None], int]:
    """What submits the kernels of some tensors again, without planning, and how many kernels they are."""
    nodes = [t.node for t in roots]
    device = get_device()
    order = toposort(nodes)
    compiled = run.plan_for(device, nodes, order, run.graph_key(nodes, order))
    run.execute(device, compiled, nodes, order)
    prepared = device.prepare(compiled.words)
    return lambda: device.submit(prepared), len(compiled.plan.kernels)


def ours(op: Callable, x, w, b, t, g) -> dict[str, tuple[Callable[[], None], int]]:
    y = op(F, x, w, b, t)
    found = {"forward": commands([y])}
    grads = y.backward(g if y.ndim else None, retain_graph=True)
    return found | {"backward": commands(list(grads))}


def rate(call: Callable[[], object], wait: Callable[[], object], nbytes: int, seconds: float) -> float:
    """GB/s"""
    return nbytes / queued(call, wait, seconds).median_ms / 1e6


def force(variant: str) -> None:
    os.environ["FLAMBEAU_VARIANT"] = f"rows={variant}" if variant else ""
    choose.forced.cache_clear()
    get_device().plans = {}


def torch_rates(op: Callable, moved: tuple[int, int], host: dict, seconds: float) -> dict[str, float]:
    import torch

    where = "cuda" if torch.cuda.is_available() else "cpu"
    wait = torch.cuda.synchronize if where == "cuda" else lambda: None
    x, w, b, t, g = (torch.tensor(host[k], device=where) for k in "xwbtg")
    t = t.long()
    for leaf in (x, w, b):
        leaf.requires_grad_()
    f = torch.nn.functional
    y = op(f, x, w, b, t)
    size = 4 * x.numel()
    leaves = [x, w, b]
    found = torch.autograd.grad(y, leaves, g if y.ndim else None, True, allow_unused=True)
    wanted = [leaf for leaf, part in zip(leaves, found, strict=True) if part is not None]

    def back():
        return torch.autograd.grad(y, wanted, g if y.ndim else None, retain_graph=True)

    found = {"forward": rate(lambda: op(f, x, w, b, t), wait, moved[0] * size, seconds)}
    return found | {"backward": rate(back, wait, moved[1] * size, seconds)}


def measure(name: str, length: int, args: argparse.Namespace, copied: float) -> None:
    rows = max(args.floats // length, 1)
    rng = np.random.default_rng(0)
    host = {
        "x": rng.standard_normal((rows, length), "f4"), "g": rng.standard_normal((rows, length), "f4"),
        "w": rng.standard_normal(length, "f4"), "b": rng.standard_normal(length, "f4"),
        "t": rng.integers(0, length, rows).astype("i4"),
    }  # fmt: skip
    op, *moved = OPS[name]
    size = 4 * rows * length
    beside = torch_rates(op, (moved[0], moved[1]), host, args.seconds) if args.torch else {}
    for variant in args.variants:
        force(variant)
        try:
            x, w, b = (fb.tensor(host[k]).requires_grad_().realize() for k in "xwb")
            t, g = fb.tensor(host["t"]).realize(), fb.tensor(host["g"]).realize()
            for (way, (call, kernels)), m in zip(ours(op, x, w, b, t, g).items(), moved, strict=True):
                found = rate(call, fb.synchronize, m * size, args.seconds)
                peer = f"  torch {beside[way]:6.0f}" if beside else ""
                told = f"{name:13} {way:8} {rows:7} x {length:6} {variant or 'by rule':8} {kernels} kernels"
                print(f"{told} {found:6.0f} GB/s  {found / copied:.2f} of copy{peer}", flush=True)
        except Exception as e:
            print(f"{name} {length} {variant}: {type(e).__name__}: {str(e).splitlines()[-1]}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    software = get_device().limits.software
    parser.add_argument("--floats", type=int, default=1 << (20 if software else 26))
    parser.add_argument("--only", nargs="*", default=list(OPS), choices=list(OPS))
    parser.add_argument("--lengths", nargs="*", type=int, default=LENGTHS)
    parser.add_argument(
        "--variants", nargs="*", default=[""], help="of the family 'rows', in place of the rule"
    )
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--seconds", type=float, default=0.15)
    args = parser.parse_args()
    x = fb.rand(args.floats).realize()
    call, _ = commands([x + 1.0])
    copied = rate(call, fb.synchronize, 8 * args.floats, args.seconds)
    print(f"copy {copied:.0f} GB/s on {get_device()}", flush=True)
    for name in args.only:
        for length in args.lengths:
            measure(name, length, args, copied)


if __name__ == "__main__":
    main()
