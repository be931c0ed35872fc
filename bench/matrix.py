"""Products on matrix units: float16, and float32 at each precision, with errors, beside torch on a GPU.

FLAMBEAU_WEBGPU=dawn FLAMBEAU_CHECKS=off python bench/matrix.py [--sizes 1024 2048 4096] [--seconds 0.2]
"""

import argparse

import numpy as np
from _measure import queued, show_table

import flambeau as fb

# precision: the dtype of the factors, and whether the right one lies transposed
KINDS = {
    "float16": ("float16", False),
    "float16, right transposed": ("float16", True),
    "highest": ("float32", False),
    "high": ("float32", False),
    "medium": ("float32", False),
}


def product(kind: str, n: int, seconds: float) -> tuple[str, float, float]:
    """The template that ran, TFLOP/s, and the error of 64 rows beside NumPy's in float64."""
    dtype, turned = KINDS[kind]
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((n, n), "f4").astype(dtype) for _ in range(2))
    x, y = fb.tensor(a).realize(), fb.tensor(np.ascontiguousarray(b.T) if turned else b).realize()
    with fb.set_matmul_precision(kind if kind in ("high", "medium") else "highest"):

        def call():
            return x @ (y.T if turned else y)

        template = [k.shader.template for k in call().plan()][-1]
        got = call().numpy()[:64].astype("f8")
        want = a[:64].astype("f8") @ b.astype("f8")
        ms = queued(lambda: call().realize(), fb.synchronize, seconds).median_ms
    return template, 2 * n**3 / ms / 1e9, float(np.linalg.norm(got - want) / np.linalg.norm(want))


def torch_rate(n: int, dtype: str, seconds: float) -> float | None:
    """torch's TFLOP/s on its GPU (tf32 off), if it has one."""
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    a, b = (torch.randn(n, n, device="cuda", dtype=getattr(torch, dtype)) for _ in range(2))
    return 2 * n**3 / queued(lambda: a @ b, torch.cuda.synchronize, seconds).median_ms / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1024, 2048, 4096])
    parser.add_argument("--seconds", type=float, default=0.2)
    args = parser.parse_args()
    rows = []
    for n in args.sizes:
        beside = {d: torch_rate(n, d, args.seconds) for d in ("float16", "float32")}
        for kind, (dtype, _) in KINDS.items():
            template, rate, error = product(kind, n, args.seconds)
            theirs = beside[dtype]
            against = f"{rate / theirs:.2f}" if theirs else "-"
            rows.append((f"{n}^3", kind, template, f"{rate:.1f}", f"{error:.1e}", against))
    device = fb.ones(1).device
    title = f"{device}, units {[tuple(u) for u in device.limits.matrix] or 'none'}, checks {device.checks!r}"
    show_table(title, ("size", "kind", "kernel", "TFLOP/s", "error", "times torch"), rows)


if __name__ == "__main__":
    main()
