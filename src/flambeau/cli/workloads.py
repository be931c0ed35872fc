"""The workloads of `flambeau bench`: small functions that Flambeau and PyTorch run alike, and their goals."""

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

from ..device.adapters import provider
from ..models.benchmarked import GPT2_SMALL, GPT_TINY, digits_cnn, draw_weights, gpt, make_training_step


class Goal(NamedTuple):
    """The target of a workload on a hardware GPU.

    kind: "peer" (times PyTorch's speed), "copy" (part of the copy bandwidth), "rate" (operations a second),
    "seconds" (at most). everywhere: on software adapters too.
    """

    kind: str
    value: float
    everywhere: bool = False

    def __str__(self) -> str:
        if self.kind == "seconds":
            return f"<= {duration(self.value)}"
        if self.kind == "rate":
            return f">= {self.value / 1e12:.3g} TFLOP/s"
        return f">= {self.value:.2g}x torch" if self.kind == "peer" else f">= {self.value:.0%} of copy"

    def is_met(self, seconds: float, rate: float, of_copy: float, peer: float | None) -> bool | None:
        """Whether a measurement reaches the goal; None if the goal needs PyTorch's time, which is unknown."""
        if self.kind == "peer":
            return None if peer is None else peer / seconds >= self.value
        if self.kind == "seconds":
            return seconds <= self.value
        return rate >= self.value if self.kind == "rate" else of_copy >= self.value


def duration(seconds: float) -> str:
    """Format seconds with three digits and a suitable unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


class Workload(NamedTuple):
    """A workload of one size in one package: the call, its least bytes and operations, and a word that the
    template of one of its kernels must contain, so that the intended kernel is measured."""

    call: Callable[[], Any]
    nbytes: int = 0
    flops: int = 0
    needs: str = ""


class Task(NamedTuple):
    """A row of the table: `make(tools, *size)` with the GPU's size, or a software adapter's.

    how: "kernels" repeats only the kernels, "step" times complete calls with the read of their result.
    """

    name: str
    make: Callable[..., Workload]
    gpu: tuple[int, ...]
    software: tuple[int, ...]
    goal: Goal | None = None
    how: str = "kernels"


class NotHere(Exception):
    """The adapter or the package does not meet a requirement of a workload, which the text names."""


class Tools:
    """The interface of the workloads to a package: `f` is flambeau or torch, `place` its device."""

    def __init__(self, f: Any, place: Any):
        self.f, self.place, self.F = f, place, f.nn.functional
        self.is_ours = f.__name__ == "flambeau"

    def randn(self, *shape: int, half: bool = False) -> Any:
        x = self.f.randn(*shape, device=self.place)
        x = x.half() if half else x
        if self.is_ours:
            self.f.realize(x)
        return x

    def tensor(self, array: Any) -> Any:
        if self.is_ours:
            return self.f.tensor(array, device=self.place)
        # PyTorch's cross entropy takes int64 targets only
        x = self.f.from_numpy(array).to(self.place)
        return x.long() if array.dtype.kind == "i" else x

    def run(self, call: Callable[[], Any]) -> Callable[[], Any]:
        """Make a call that computes its result, even if the package is lazy."""
        # PyTorch computes at once; Flambeau's call would only build a graph.
        return (lambda: self.f.realize(call())) if self.is_ours else call


def matmul(t: Tools, n: int, precision: str = "", half: bool = False) -> Workload:
    a, b = t.randn(n, n, half=half), t.randn(n, n, half=half)
    call = t.run(lambda: a @ b)
    # PyTorch's peer stays in float32: "high" is compared with its full precision.
    if precision and t.is_ours:
        if not hasattr(t.f, "set_matmul_precision"):
            raise NotHere("no matmul precision")
        call = at_precision(t.f, precision, call)
    # bytes: two matrices read and one written; 2 n^3 operations
    return Workload(call, 3 * n * n * (2 if half else 4), 2 * n**3, "subgroup_matrix" if precision else "")


def at_precision(f: Any, precision: str, call: Callable[[], Any]) -> Callable[[], Any]:
    def inside() -> Any:
        before = f.get_matmul_precision() if hasattr(f, "get_matmul_precision") else "highest"
        f.set_matmul_precision(precision)
        try:
            return call()
        finally:
            f.set_matmul_precision(before)

    return inside


def high(t: Tools, n: int) -> Workload:
    return matmul(t, n, "high")


def medium(t: Tools, n: int) -> Workload:
    return matmul(t, n, "medium")


def half_matmul(t: Tools, n: int) -> Workload:
    return matmul(t, n, half=True)


def matvec(t: Tools, n: int) -> Workload:
    a, x = t.randn(n, n), t.randn(n)
    return Workload(t.run(lambda: a @ x), 4 * n * n, 2 * n * n)


def unary(op: Callable[[Tools, Any], Any], of: Callable[[int, int], int]) -> Callable[..., Workload]:
    """Return a workload of one matrix; `of(rows, columns)`: the bytes that it reads and writes."""

    def make(t: Tools, rows: int, columns: int) -> Workload:
        x = t.randn(rows, columns)
        return Workload(t.run(lambda: op(t, x)), of(rows, columns))

    return make


# Bytes of an op that reads and writes each element once.
def twice(rows: int, columns: int) -> int:
    return 8 * rows * columns


# Bytes of an op that reads each element and has a small result.
def once(rows: int, columns: int) -> int:
    return 4 * rows * columns


def chain(t: Tools, n: int, compiled: bool = False) -> Workload:
    """Chain twelve elementwise ops. compiled: PyTorch's use torch.compile."""
    x = t.randn(n)

    def ops(x: Any) -> Any:
        y = ((x * 1.1 + 0.1).sigmoid() * x).neg() + 1.0
        return (y.abs().sqrt() * 0.5).tanh().add(x).relu()

    if compiled and not t.is_ours:
        ops = t.f.compile(ops, dynamic=False)
    return Workload(t.run(lambda: ops(x)), 8 * n)


def compiled_chain(t: Tools, n: int) -> Workload:
    return chain(t, n, compiled=True)


def attention(t: Tools, b: int, h: int, s: int, d: int, half: bool = False) -> Workload:
    q, k, v = (t.randn(b, h, s, d, half=half) for _ in range(3))
    call = t.run(lambda: t.F.scaled_dot_product_attention(q, k, v))
    # bytes of q, k, v and the result; operations of the two products
    return Workload(call, 4 * prod((b, h, s, d)) * (2 if half else 4), 4 * b * h * s * s * d)


def half_attention(t: Tools, *sizes: int) -> Workload:
    return attention(t, *sizes, half=True)


def conv(t: Tools, n: int, c: int, size: int) -> Workload:
    x, w = t.randn(n, c, size, size), t.randn(c, c, 3, 3)
    # direct convolution; Winograd does fewer, so its rate may exceed the peak
    flops = 2 * n * c * c * 9 * size * size
    return Workload(t.run(lambda: t.F.conv2d(x, w, padding=1)), 8 * n * c * size * size, flops)


# [4, 4] matmuls take no GPU time worth measuring.
def replay_host_time(t: Tools, kernels: int) -> Workload:
    """Measure the host time per kernel of replaying a recorded step of `kernels` small kernels."""
    if not t.is_ours:
        raise NotHere("no recorded steps")
    x = t.randn(4, 4)

    def graph(x: Any) -> Any:
        for _ in range(kernels):
            x = x @ x
        return x

    step = t.f.jit(graph)
    step(x)
    return Workload(lambda: step(x))


def scalar(t: Tools) -> Workload:
    x = t.randn(1)
    return Workload(lambda: x)


def digits(t: Tools, n: int) -> Workload:
    import numpy as np

    rng = np.random.default_rng(0)
    x, y = rng.random((n, 1, 28, 28), np.float32), rng.integers(0, 10, n).astype(np.int32)
    model = draw_weights(t.f, digits_cnn(t.f), scale=0.05)
    model = model if t.is_ours else model.to(t.place)
    return Workload(make_training_step(t.f, model, t.tensor(x), t.tensor(y), lr=1e-3))


def gpt2(t: Tools, rows: int, length: int) -> Workload:
    """Run GPT-2 small, or a tiny model for short texts."""
    import numpy as np

    # A software adapter gets the short text.
    size = GPT2_SMALL if length >= 256 else GPT_TINY
    ids = np.random.default_rng(1).integers(0, size.vocabulary, (rows, length + 1)).astype(np.int32)
    model = draw_weights(t.f, gpt(t.f, size))
    model = model if t.is_ours else model.to(t.place)
    return Workload(make_training_step(t.f, model, t.tensor(ids[:, :-1].copy()), t.tensor(ids[:, 1:].copy())))


def tasks() -> list[Task]:
    """Return the workloads in the order in which they run."""
    # the goals of docs/performance.md
    copied, big, small = Goal("copy", 0.92), (32768, 4096), (1024, 1024)
    dispatch, trip, first = (Goal("seconds", value, True) for value in (2.5e-6, 80e-6, 0.6))
    heads, few = (8, 16, 1024, 64), (1, 4, 256, 64)
    # The goal depends on the WGSL compiler behind the adapter: Dawn's, or wgpu's.
    product = Goal("peer", 0.9 if provider().__name__ == "wgpudawn" else 0.83)
    return [
        Task("x + 1", unary(lambda t, x: x + 1.0, twice), big, small, copied),
        Task("gelu(x) * x", unary(lambda t, x: t.F.gelu(x) * x, twice), big, small, copied),
        Task("softmax", unary(lambda t, x: x.softmax(-1), twice), big, small, copied),
        Task("layer norm", unary(lambda t, x: t.F.layer_norm(x, x.shape[-1:]), twice), big, small, copied),
        Task("sum of rows", unary(lambda t, x: x.sum(1), once), big, small, copied),
        Task("sum of columns", unary(lambda t, x: x.sum(0), once), big, small, copied),
        Task("sum of all", unary(lambda t, x: x.sum(), once), big, small, copied),
        Task("matrix-vector", matvec, (8192,), (1024,), copied),
        Task("matmul", matmul, (4096,), (512,), product),
        Task("matmul, precision high", high, (4096,), (256,), Goal("rate", 95e12)),
        Task("matmul, precision medium", medium, (4096,), (256,), Goal("rate", 220e12)),
        Task("matmul, f16", half_matmul, (4096,), (256,), Goal("rate", 260e12)),
        Task("attention", attention, heads, few, Goal("peer", 1 / 1.3)),
        Task("attention, f16", half_attention, heads, few, Goal("peer", 1 / 2.5)),
        Task("conv2d 3x3", conv, (64, 64, 56), (4, 32, 28), Goal("peer", 0.85)),
        Task("chain of 12 ops", chain, (1 << 28,), (1 << 22,), Goal("peer", 4.0)),
        Task("chain of 12 ops, torch compiled", compiled_chain, (1 << 28,), (1 << 22,), Goal("peer", 1.0)),
        Task("host time of a dispatch of a recorded step", replay_host_time, (64,), (64,), dispatch, "host"),
        Task("reading a number", scalar, (), (), trip, "read"),
        Task("MNIST CNN, training step", digits, (64,), (16,), Goal("peer", 2.0), "step"),
        Task("process start to first result", startup, (), (), first, "process"),
        Task("GPT-2, training step", gpt2, (8, 512), (2, 48), Goal("peer", 0.8), "step"),
    ]


FIRST = "import flambeau as fb; x, w = fb.randn(64, 64), fb.randn(64, 64); (x @ w).relu().tolist()"


def startup(t: Tools) -> Workload:
    """Time a new process from its start to its first result."""
    import os
    import subprocess
    import sys

    if not t.is_ours:
        raise NotHere("not compared")
    paths = os.pathsep.join(p for p in sys.path if p)
    env = {**os.environ, "PYTHONPATH": paths}
    return Workload(
        lambda: subprocess.run([sys.executable, "-c", FIRST], env=env, capture_output=True, check=True)
    )
