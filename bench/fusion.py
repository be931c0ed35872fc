"""A 12-op elementwise chain beside one op, which moves the same bytes; sums of one input; optimiser steps.
Each should be one kernel (for a parameter).

python bench/fusion.py [--floats 268435456] [--torch]
"""

import argparse
from collections.abc import Callable
from typing import Any

from _measure import queued
from rows import commands

import flambeau as fb
from flambeau.device import get_device
from flambeau.optim import AdamW


def chain(x: Any) -> Any:
    """12 ops, each of one input."""
    y = (((x * 2.0 + 1.0).relu() * 0.5 - 0.25).abs() + 0.125).sqrt()
    return ((y * 1.5).tanh() + 1.0).exp() * 0.1


def sums(x: Any) -> list:
    return [x.sum(1), (x * x).sum(1), x.amax(1)]


def moved(shapes: list[tuple[int, ...]]) -> list:
    """The new parameters and state of an AdamW step."""
    with fb.no_grad():
        params = [fb.zeros(*s).requires_grad_() for s in shapes]
        optimizer = AdamW(params, lr=1e-3)
        out = []
        for p, state in zip(params, optimizer.state, strict=True):
            g = fb.rand(*p.shape).realize()
            new = optimizer.update(p, g, state, optimizer._steps[p.device])
            out += [new, *state.values()]
    return out


def show(
    name: str, call: Callable[[], object], wait: Callable[[], object], nbytes: int, kernels: Any
) -> None:
    ms = queued(call, wait, 0.1).median_ms
    print(f"{name:34} {kernels!s:>3} kernels {ms:9.3f} ms {nbytes / ms / 1e6:8.0f} GB/s", flush=True)


def ours(n: int) -> None:
    x = fb.rand(n).realize()
    rows = x.reshape(-1, 1024).realize()
    for name, roots, size in (
        ("one op", [x + 1.0], 8 * n),
        ("12 ops", [chain(x)], 8 * n),
        ("sum, sum of squares, max of rows", sums(rows), 4 * n),
    ):
        call, kernels = commands(roots)
        show(name, call, fb.synchronize, size, kernels)
    for count, shape in ((100, (64, 64)), (8, (n // 64, 1))):
        call, kernels = commands(moved([shape] * count))
        show(f"AdamW, {count} of {shape}", call, fb.synchronize, 28 * count * shape[0] * shape[1], kernels)


def torch_beside(n: int) -> None:
    import torch

    where = "cuda" if torch.cuda.is_available() else "cpu"
    wait = torch.cuda.synchronize if where == "cuda" else lambda: None
    x = torch.rand(n, device=where)
    rows = x.reshape(-1, 1024)
    show("torch: one op", lambda: x + 1.0, wait, 8 * n, 1)
    show("torch: 12 ops", lambda: chain(x), wait, 8 * n, "-")
    show("torch: sums", lambda: sums(rows), wait, 4 * n, "-")
    for count, shape in ((100, (64, 64)), (8, (n // 64, 1))):
        params = [torch.zeros(shape, device=where, requires_grad=True) for _ in range(count)]
        for p in params:
            p.grad = torch.rand_like(p)
        step = torch.optim.AdamW(params, lr=1e-3).step
        show(f"torch: AdamW, {count} of {shape}", step, wait, 28 * count * shape[0] * shape[1], "-")
    compiled = torch.compile(chain)
    compiled(x)
    show("torch.compile: 12 ops", lambda: compiled(x), wait, 8 * n, "-")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    software = get_device().limits.software
    parser.add_argument("--floats", type=int, default=1 << (22 if software else 28))
    parser.add_argument("--torch", action="store_true")
    args = parser.parse_args()
    print(f"{args.floats:,} floats, {get_device()}")
    ours(args.floats)
    if args.torch:
        torch_beside(args.floats)


if __name__ == "__main__":
    main()
