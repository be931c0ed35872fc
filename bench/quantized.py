"""Weights of 8 and 4 bits beside float32: a layer's time for few and many vectors, and the bytes it reads.

python bench/quantized.py [--size 4096] [--vectors 1 4 16 64 256] [--rounds 3] [--seconds 0.3]
"""

import argparse

import numpy as np
from _measure import interleave, number, queued, ratio, show_table

import flambeau as fb
from flambeau.ops.quantized import quantize, quantized_linear


def contestants(x, w, quantized) -> dict:
    """The same layer with each kind of weight, as calls that queue it."""
    plain = {"float32": lambda: (x @ w.T).realize()}
    return plain | {
        f"{bits} bits": lambda q=q: quantized_linear(x, q).realize() for bits, q in quantized.items()
    }


def check(x, w, q) -> float:
    """The error beside NumPy's product with the weights as they are kept, of the whole result."""
    want = x.numpy().astype("f8") @ q.dequantize().numpy().astype("f8").T
    return float(np.linalg.norm(quantized_linear(x, q).numpy() - want) / np.linalg.norm(want))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--vectors", type=int, nargs="+", default=[1, 4, 16, 64, 256])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3)
    args = parser.parse_args()
    w = fb.randn(args.size, args.size).realize()
    quantized = {bits: quantize(w, bits=bits) for bits in (8, 4)}
    nbytes = {"float32": 4 * args.size**2} | {f"{b} bits": q.nbytes for b, q in quantized.items()}
    rows = []
    for m in args.vectors:
        x = fb.randn(m, args.size).realize()
        for q in quantized.values():
            assert check(x, w, q) < 1e-5, "wrong numbers"
        calls = contestants(x, w, quantized)
        turns = {k: (lambda s, f=f: queued(f, fb.synchronize, s)) for k, f in calls.items()}
        found = interleave(turns, args.rounds, args.seconds)
        for name, timings in found.items():
            us = sorted(t.median_ms for t in timings)[len(timings) // 2] * 1e3
            faster = ratio(timings, found["float32"])
            rows.append((str(m), name, number(us), number(nbytes[name] / us / 1e3), f"{faster:.2f}"))
    title = f"[m, {args.size}] by weights [{args.size}, {args.size}], {w.device}"
    show_table(title, ("m", "weights", "us", "GB/s of weights", "times float32's speed"), rows)


if __name__ == "__main__":
    main()
