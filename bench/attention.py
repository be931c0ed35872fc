"""Attention beside PyTorch: forward, causal, with gradients, and a few queries to many keys.

python bench/attention.py [--lengths 256 1024 4096] [--shape 8 16 64] [--dtype float16] [--beside torch]
python bench/attention.py --queries 1 --key-heads 8 --shape 8 32 128 --lengths 4096
"""

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import Any

from _beside import PEERS, installed
from _measure import interleave, queued, show_table

import flambeau as fb
from flambeau.device import get_device

FORWARD, BACKWARD = 4, 14  # multiply-adds count two; the backward pass computes the scores again

Work = tuple[Callable[[], Any], float]  # a call, and its operations


def works(f: Any, place: Any, args: argparse.Namespace, length: int) -> dict[str, Work]:
    """The rows of one length in Flambeau or PyTorch, which `f` is."""
    batch, heads, d = args.shape
    queries, few = args.queries or length, args.key_heads or heads
    sdpa, ours = f.nn.functional.scaled_dot_product_attention, f is fb
    dtype = getattr(f, args.dtype)
    shapes = (batch, heads, queries, d), (batch, few, length, d), (batch, few, length, d)
    given = [f.randn(*shape, device=place).to(dtype).requires_grad_() for shape in shapes]
    options = {"enable_gqa": True} if few != heads else {}

    def forward(**kw: Any) -> Any:
        with f.no_grad():
            y = sdpa(*given, **options, **kw)
            return y.realize() if ours else y

    def both() -> Any:
        loss = sdpa(*given, **options).sum()
        if not ours:
            return f.autograd.grad(loss, given)
        grads = loss.backward()
        return fb.realize(*(grads[t] for t in given))

    if ours:
        fb.realize(*given)
    flops = batch * heads * queries * length * d
    rows: dict[str, Work] = {"forward": (forward, FORWARD * flops)}
    if queries == length:
        rows["causal"] = lambda: forward(is_causal=True), FORWARD * flops / 2
        rows["with gradients"] = both, BACKWARD * flops
    elif ours:
        recorded = fb.jit(lambda q, k, v: sdpa(q, k, v, **options))
        rows["recorded"] = lambda: recorded(*(t.detach() for t in given)), FORWARD * flops
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    software = get_device().limits.software
    parser.add_argument(
        "--lengths", type=int, nargs="*", default=[64, 256] if software else [256, 1024, 4096]
    )
    parser.add_argument("--shape", type=int, nargs=3, default=[1, 4, 32] if software else [8, 16, 64],
                        help="batch, heads, features of a head")  # fmt: skip
    parser.add_argument("--dtype", default="float32", choices=["float32", "float16"])
    parser.add_argument("--queries", type=int, help="so many queries to each length of keys")
    parser.add_argument("--key-heads", type=int, help="heads of keys and values, which queries share")
    parser.add_argument("--beside", nargs="*", default=[], choices=[p for p in PEERS if p == "torch"])
    parser.add_argument("--seconds", type=float, default=0.15)
    args = parser.parse_args()
    rows, peers = [], []
    for peer in installed(args.beside):
        peers.append((peer.name, import_module("torch"), peer.name.split()[-1], peer.wait))
    for length in args.lengths:
        table: dict[str, tuple] = {}
        for name, f, place, wait in [("flambeau", fb, None, fb.synchronize), *peers]:
            for what, work in works(f, place, args, length).items():
                table[f"{name}: {length}, {what}"] = (*work, wait)
        contestants = {n: (lambda s, c=c, w=w: queued(c, w, s)) for n, (c, _, w) in table.items()}
        for name, timings in interleave(contestants, 3, args.seconds).items():
            rate = max(t.rate for t in timings)
            rows.append((name, f"{1e3 / rate:.3f}", f"{rate * table[name][1] / 1e12:.3g}"))
    batch, heads, d = args.shape
    show_table(
        f"{args.dtype}, batch {batch}, {heads} heads of {d}, {get_device()}", ("what", "ms", "TFLOP/s"), rows
    )


if __name__ == "__main__":
    main()
