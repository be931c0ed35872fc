"""Attention, forward and with its gradients, and how its time grows with the sequence.

python bench/attention.py [--lengths 256 1024 4096] [--beside torch]
"""

import argparse

from _beside import PEERS, installed
from _measure import interleave, queued, show_table

import flambeau as fb
from flambeau.device import get_device

FORWARD, BACKWARD = 4, 14  # multiply-adds count two; the backward pass computes the scores again


def of_flambeau(batch: int, heads: int, length: int, d: int) -> dict[str, tuple]:
    q, k, v = (fb.randn(batch, heads, length, d).requires_grad_() for _ in range(3))
    fb.realize(q, k, v)
    sdpa = fb.nn.functional.scaled_dot_product_attention

    def both():
        grads = sdpa(q, k, v).sum().backward()
        fb.realize(*(grads[t] for t in (q, k, v)))

    flops = batch * heads * length * length * d
    return {
        f"{length}, forward": (lambda: sdpa(q, k, v).realize(), fb.synchronize, FORWARD * flops),
        f"{length}, causal": (
            lambda: sdpa(q, k, v, is_causal=True).realize(), fb.synchronize, FORWARD * flops / 2,
        ),
        f"{length}, with gradients": (both, fb.synchronize, BACKWARD * flops),
    }  # fmt: skip


def of_torch(peer, batch: int, heads: int, length: int, d: int) -> dict[str, tuple]:
    import torch

    place = "cuda" if torch.cuda.is_available() else "cpu"
    q, k, v = (torch.randn(batch, heads, length, d, device=place, requires_grad=True) for _ in range(3))
    sdpa = torch.nn.functional.scaled_dot_product_attention

    def both():
        return torch.autograd.grad(sdpa(q, k, v).sum(), (q, k, v))

    def forward(**kw):
        with torch.no_grad():
            return sdpa(q, k, v, **kw)

    flops = batch * heads * length * length * d
    return {
        f"{peer.name}: {length}, forward": (forward, peer.wait, FORWARD * flops),
        f"{peer.name}: {length}, causal": (
            lambda: forward(is_causal=True), peer.wait, FORWARD * flops / 2,
        ),
        f"{peer.name}: {length}, with gradients": (both, peer.wait, BACKWARD * flops),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    software = get_device().limits.software
    parser.add_argument(
        "--lengths", type=int, nargs="*", default=[64, 256] if software else [256, 1024, 4096]
    )
    parser.add_argument("--shape", type=int, nargs=3, default=[1, 4, 32] if software else [8, 16, 64],
                        help="batch, heads, features of a head")  # fmt: skip
    parser.add_argument("--beside", nargs="*", default=[], choices=[p for p in PEERS if p == "torch"])
    parser.add_argument("--seconds", type=float, default=0.15)
    args = parser.parse_args()
    batch, heads, d = args.shape
    peers, rows = installed(args.beside), []
    for length in args.lengths:
        table = of_flambeau(batch, heads, length, d)
        for peer in peers:
            table |= of_torch(peer, batch, heads, length, d)
        contestants = {n: (lambda s, c=c, w=w: queued(c, w, s)) for n, (c, w, _) in table.items()}
        for name, timings in interleave(contestants, 3, args.seconds).items():
            rate = max(t.rate for t in timings)
            rows.append((name, f"{1e3 / rate:.3f}", f"{rate * table[name][2] / 1e12:.2f}"))
    show_table(f"batch {batch}, {heads} heads of {d}, {get_device()}", ("what", "ms", "TFLOP/s"), rows)


if __name__ == "__main__":
    main()
