"""Products of matrices of usual shapes, by variant and beside torch: TFLOP/s and GB/s.

python bench/matmul.py [--beside torch] [--sweep 6] [--only NAME ...] [--seconds 0.05]
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from _beside import PEERS, installed

import flambeau as fb
from flambeau.core import choose
from flambeau.core.node import toposort
from flambeau.device import get_device
from flambeau.fusion.planner import Planner
from flambeau.kernels.contract.cost_model import candidates, estimate
from flambeau.kernels.contract.product import product_of
from flambeau.kernels.contract.variant import Variant
from flambeau.profiling.meter import capture


class Case(NamedTuple):
    """batch x [m, k] @ [k, n]; layout: which operands lie transposed in memory ("n" as they are, "t")."""

    m: int
    k: int
    n: int
    layout: str = "nn"
    batch: int = 1

    def given(self) -> list[np.ndarray]:
        rng = np.random.default_rng(0)
        shapes = ((self.m, self.k), (self.k, self.n))
        made = []
        for shape, flip in zip(shapes, self.layout, strict=True):
            shape = shape[::-1] if flip == "t" else shape
            made.append(rng.standard_normal((self.batch, *shape) if self.batch > 1 else shape, "f4"))
        return made

    def multiply(self, a, b):
        flip = [x.swapaxes(-1, -2) if f == "t" else x for x, f in zip((a, b), self.layout, strict=True)]
        return flip[0] @ flip[1]

    @property
    def flops(self) -> float:
        return 2.0 * self.batch * self.m * self.k * self.n

    @property
    def bytes(self) -> float:
        return 4.0 * self.batch * (self.m * self.k + self.k * self.n + self.m * self.n)


CASES = {
    **{f"{n}^3": Case(n, n, n) for n in (512, 1024, 2048, 4096)},
    "1024^3 nt": Case(1024, 1024, 1024, "nt"),
    "4096^3 nt": Case(4096, 4096, 4096, "nt"),
    "4096^3 tn": Case(4096, 4096, 4096, "tn"),
    "8192^3": Case(8192, 8192, 8192),
    "1 x 8192 x 8192": Case(1, 8192, 8192),
    "1 x 8192 x 8192 nt": Case(1, 8192, 8192, "nt"),
    "8192 x 8192 x 1": Case(8192, 8192, 1),
    "4 x 8192 x 8192": Case(4, 8192, 8192),
    "16 x 8192 x 8192": Case(16, 8192, 8192),
    "16 x 8192 x 8192 nt": Case(16, 8192, 8192, "nt"),
    "64 x 8192 x 8192": Case(64, 8192, 8192),
    "gpt2 qkv": Case(4096, 768, 2304),
    "gpt2 qkv by x": Case(4096, 2304, 768, "nt"),
    "gpt2 qkv by w": Case(768, 4096, 2304, "tn"),
    "gpt2 down": Case(4096, 3072, 768),
    "gpt2 down by x": Case(4096, 768, 3072, "nt"),
    "gpt2 down by w": Case(3072, 4096, 768, "tn"),
    "gpt2 head": Case(8192, 768, 50257, "nt"),
    "gpt2 head by x": Case(8192, 50257, 768),
    "gpt2 head by w": Case(50257, 8192, 768, "tn"),
    "4095^3": Case(4095, 4095, 4095),
    "4095^3 nt": Case(4095, 4095, 4095, "nt"),
    "4096 x 4095 x 4096 nt": Case(4096, 4095, 4096, "nt"),
    "batch 96 of 512 x 64 x 512 nt": Case(512, 64, 512, "nt", 96),
    "batch 96 of 512 x 512 x 64": Case(512, 512, 64, "nn", 96),
    "mlp 64 x 784 x 128": Case(64, 784, 128),
    "mlp by w": Case(784, 64, 128, "tn"),
}


def force(variant: str) -> None:
    """Plan anew, with this variant of contractions, or by rule."""
    os.environ["FLAMBEAU_VARIANT"] = f"contract={variant}" if variant else ""
    choose.forced.cache_clear()
    get_device().plans.clear()


def seconds_of(call: Callable[[], object], wait: Callable[[], object], seconds: float) -> float:
    """The best of three batches of calls, after one that wakes the GPU."""

    def batch(n: int) -> float:
        begin = time.perf_counter()
        for _ in range(n):
            call()
        wait()
        return (time.perf_counter() - begin) / n

    batch(1)
    each = batch(2)
    batch(max(int(0.1 / each), 1))
    return min(batch(max(int(seconds / each), 2)) for _ in range(3))


def measured(case: Case, variant: str, seconds: float) -> tuple[float, float, float]:
    """(seconds a product, of the first call, the largest error in parts of the largest result)."""
    force(variant)
    host = case.given()
    a, b = (fb.tensor(x).realize() for x in host)
    begin = time.perf_counter()
    found = case.multiply(a, b).realize()
    fb.synchronize()
    first = time.perf_counter() - begin
    rows = np.s_[..., : min(case.m, 256), :]
    want = case.multiply(host[0][rows] if case.layout[0] == "n" else host[0][..., :256], host[1])
    error = float(np.abs(found.numpy()[rows] - want).max() / np.abs(want).max())
    return repeated(case, a, b, seconds), first, error


def repeated(case: Case, a, b, seconds: float) -> float:
    """Seconds a product: its kernels many times in a submit, without the host's time and without copies."""
    kept, found = capture(lambda: case.multiply(a, b).realize())
    count = max(min(int(0.3 * seconds * 3e13 / case.flops), 200), 1)
    words = found.words * count
    each = seconds_of(lambda: get_device().submit(words), fb.synchronize, seconds) / count
    del kept
    return each


def of_peer(peer, case: Case, seconds: float) -> float:
    a, b = (peer.tensor(x) for x in case.given())
    return seconds_of(lambda: peer.run(case.multiply(a, b)), peer.wait, seconds)


def likely(case: Case, count: int) -> list[str]:
    """The variants that the rule thinks best of for the case, with one number of pieces each."""
    a, b = (fb.tensor(np.zeros_like(x)).realize() for x in case.given())
    order = toposort([case.multiply(a, b).node])
    head = next(n for n in order if n.op.kind == "contract")
    product = product_of(Planner([head], order, get_device().limits).context, head, head)
    best: dict[Variant, str] = {}
    for variant in sorted(candidates(product), key=lambda variant: estimate(product, variant)):
        best.setdefault(variant._replace(split=1), str(variant))
    return list(best.values())[:count]


def show(name: str, variant: str, case: Case, seconds: float, peers) -> None:
    """One line: variant, time, rate, the part of each peer's, error, seconds of the first call."""
    try:
        each, first, error = measured(case, variant, seconds)
    except Exception as e:
        print(f"{name:30} {variant:12} failed: {str(e).splitlines()[-1][:150]}", flush=True)
        return
    beside = [f"{p.name} {of / each:.2f}" for p, of in peers]
    rate = f"{case.flops / each / 1e12:6.2f} TF  {case.bytes / each / 1e9:6.0f} GB/s"
    told = f"{each * 1e6:9.1f} us  {rate}  err {error:.0e}  first {first:.2f} s  {'  '.join(beside)}"
    print(f"{name:30} {variant or 'by rule':12} {told}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--beside", nargs="*", default=[], choices=list(PEERS), help="peers, where installed")
    parser.add_argument("--only", nargs="+", choices=CASES, metavar="NAME", help="some of the shapes")
    parser.add_argument("--sweep", type=int, default=0, help="how many of the likely variants to measure")
    parser.add_argument("--seconds", type=float, default=0.05)
    args = parser.parse_args()
    small = [name for name, case in CASES.items() if case.flops < 5e8]
    peers = installed(args.beside)
    for name in args.only or (small if get_device().limits.software else CASES):
        case = CASES[name]
        rivals = [(p, of_peer(p, case, args.seconds)) for p in peers]
        for variant in ("", *(likely(case, args.sweep) if args.sweep else ())):
            show(name, variant, case, args.seconds, rivals)
        for p, of in rivals:
            print(f"{name:30} {p.name:12} {of * 1e6:9.1f} us  {case.flops / of / 1e12:6.2f} TF", flush=True)


if __name__ == "__main__":
    main()
