"""Random programs of random shapes beside torch: the distribution of the ratio of times, not a list of sizes.

    python bench/random_shapes.py [--size small] [--programs 100] [--seed 7] [--families fft sort] [--each]
    python bench/random_shapes.py --size card --torch cuda --within 100

Sizes are log-uniform, odd and even. Each seed draws other programs; it is printed. `--seed` repeats a run.
Every result is compared with torch's before it is timed. A time is the difference between a long and a
short batch of calls, divided by the difference of their numbers; our calls are those of a recorded function.
It prints the median of torch's time / ours, the mean of the worst 5 %, both also for programs that take torch
over 40 us, and the ten worst.

Goals on a card: median 2.0, worst 5 % 0.3; over 40 us: worst 5 % 0.9.
"""

import argparse
import random
import time
from collections.abc import Callable, Sequence
from math import prod
from statistics import mean, median
from typing import Any, NamedTuple

import numpy as np
from _measure import by_difference, number, show_table

LARGE_CALL = 40e-6  # seconds of torch from which the kernels count, not the host


class Limits(NamedTuple):
    """The largest draws of a size of the benchmark."""

    elements: int  # of the largest tensor
    work: int  # multiply-adds of a product, a convolution or attention
    matrix: int  # rows of a factorised matrix
    seconds: float  # of one side's batches of a program


SIZES = {"small": Limits(1 << 12, 1 << 17, 12, 0.02), "card": Limits(1 << 25, 1 << 36, 512, 0.06)}


# A recorded call would watch all that `getattr(lib, name)` could give, so functions are named in full.
FUNCTIONS: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "sum": lambda lib: lib.sum, "mean": lambda lib: lib.mean, "amax": lambda lib: lib.amax,
    "var": lambda lib: lib.var, "logsumexp": lambda lib: lib.logsumexp, "sort": lambda lib: lib.sort,
    "median": lambda lib: lib.median, "softmax": lambda lib: lib.nn.functional.softmax,
    "log_softmax": lambda lib: lib.nn.functional.log_softmax,
    "mse_loss": lambda lib: lib.nn.functional.mse_loss,
    "max_pool2d": lambda lib: lib.nn.functional.max_pool2d,
    "avg_pool2d": lambda lib: lib.nn.functional.avg_pool2d, "fft": lambda lib: lib.fft.fft,
    "rfft": lambda lib: lib.fft.rfft, "fft2": lambda lib: lib.fft.fft2,
    "cross_entropy": lambda lib: lib.nn.functional.cross_entropy,
    "smooth_l1_loss": lambda lib: lib.nn.functional.smooth_l1_loss,
    "bce": lambda lib: lib.nn.functional.binary_cross_entropy_with_logits,
}  # fmt: skip


class Program(NamedTuple):
    """A function of a library's namespace and tensors, its inputs, and how exactly results must agree."""

    text: str
    call: Callable[..., Any]
    inputs: Sequence[np.ndarray]
    tolerance: float = 1e-4  # of the largest absolute value


class Draw:
    """Random sizes and arrays."""

    def __init__(self, seed: int, limits: Limits):
        self.limits = limits
        self.random = random.Random(seed)
        rng = np.random.default_rng(seed)
        self.values = rng.standard_normal(2 * limits.elements, "f4")

    def size(self, low: int, high: int) -> int:
        """A log-uniform integer."""
        return min(int(low * ((high + 1) / low) ** self.random.random()), high) if high > low else low

    def shape(self, rank: int, most: int | None = None) -> tuple[int, ...]:
        """A shape whose number of elements is log-uniform, and so is each of its sizes."""
        most = most or self.limits.elements
        left = self.size(min(64, most), most)
        sizes = list[int]()
        for _ in range(rank - 1):
            sizes.append(self.size(1, left))
            left //= sizes[-1]
        sizes.append(max(left, 1))
        self.random.shuffle(sizes)
        return tuple(sizes)

    def array(self, *shape: int) -> np.ndarray:
        n = prod(shape)
        start = self.random.randrange(len(self.values) - n + 1)
        return self.values[start : start + n].reshape(shape).copy()

    def indices(self, below: int, *shape: int) -> np.ndarray:
        rng = np.random.default_rng(self.random.randrange(1 << 30))
        return rng.integers(0, below, shape)

    def choice(self, options: Sequence[Any]) -> Any:
        return self.random.choice(options)


def with_gradients(
    call: Callable[..., Any], which: Sequence[int] = (0,)
) -> Callable[[Any, Sequence[Any]], Any]:
    """The value of a call and its gradients by some of the inputs, for the last input as the slope."""

    def run(lib: Any, *inputs: Any) -> Any:
        *xs, slope = inputs
        leaves = [xs[i].detach().requires_grad_() for i in which]
        for i, leaf in zip(which, leaves, strict=True):
            xs[i] = leaf
        y = call(lib, *xs)
        return y.detach(), *lib.autograd.grad(y, leaves, slope)

    return run


def elementwise(d: Draw) -> Program:
    steps = {
        "tanh": lambda lib, x, y: x.tanh(), "gelu": lambda lib, x, y: lib.nn.functional.gelu(x),
        "x * y": lambda lib, x, y: x * y, "x + y": lambda lib, x, y: x + y, "sin": lambda lib, x, y: x.sin(),
        "x * sigmoid(y)": lambda lib, x, y: x * y.sigmoid(), "clamp": lambda lib, x, y: x.clamp(-2, 2),
        "x / (1 + y * y)": lambda lib, x, y: x / (1 + y * y), "exp(-x * x)": lambda lib, x, y: (-x * x).exp(),
    }  # fmt: skip
    chain = [d.choice(list(steps)) for _ in range(d.size(1, 8))]
    shape = d.shape(d.choice([1, 2, 3]), d.limits.elements // 2)
    other = tuple(1 if d.choice([0, 0, 1]) else n for n in shape)

    def call(lib: Any, x: Any, y: Any) -> Any:
        for name in chain:
            x = steps[name](lib, x, y)
        return x

    return Program(f"{', '.join(chain)} of {shape}, {other}", call, [d.array(*shape), d.array(*other)])


def reduction(d: Draw) -> Program:
    shape = d.shape(d.choice([1, 2, 3]))
    dims = tuple(sorted(d.random.sample(range(len(shape)), d.choice(range(1, len(shape) + 1)))))
    name = d.choice(["sum", "mean", "amax", "var", "logsumexp"])
    function = FUNCTIONS[name]
    return Program(
        f"{name} {shape} over {dims}",
        lambda lib, x: function(lib)(x, dims, keepdim=True),
        [d.array(*shape) + (2 if name in ("sum", "mean") else 0)],
    )


def rows(d: Draw) -> Program:
    shape = d.shape(2)
    n = shape[-1]
    name, inputs = d.choice(["softmax", "log_softmax", "layer_norm"]), [d.array(*shape)]
    if name == "layer_norm":
        inputs += [d.array(n), d.array(n)]

    def call(lib: Any, x: Any, *weights: Any) -> Any:
        if weights:
            return lib.nn.functional.layer_norm(x, (n,), *weights)
        return function(lib)(x, -1)

    function = FUNCTIONS.get(name, FUNCTIONS["softmax"])
    if d.choice([True, False]):
        inputs.append(d.array(*shape))
        return Program(f"{name} {shape} with gradient", with_gradients(call), inputs, 1e-3)
    return Program(f"{name} {shape}", call, inputs, 1e-3)


def product_sizes(d: Draw, rank: int) -> tuple[int, ...]:
    """Sizes of a product: batch dims, rows, terms, columns."""
    while True:
        sizes = tuple(d.size(1, 8192) for _ in range(3))
        batch = tuple(d.size(1, 512) for _ in range(rank - 2))
        largest = max(sizes[0] * sizes[1], sizes[1] * sizes[2], sizes[0] * sizes[2]) * prod(batch)
        if prod(sizes) * prod(batch) <= d.limits.work and largest <= d.limits.elements:
            return *batch, *sizes


def matmul(d: Draw) -> Program:
    rank = d.choice([2, 3])
    *batch, m, k, n = product_sizes(d, rank)
    turned = d.choice([False, True])
    inputs = [d.array(*batch, m, k), d.array(*batch, n, k) if turned else d.array(*batch, k, n)]

    def call(lib: Any, a: Any, b: Any) -> Any:
        return a @ (b.transpose(-2, -1) if turned else b)

    text = f"matmul {(*batch, m, k, n)}{' turned' * turned}"
    if d.choice([True, False]):
        inputs.append(d.array(*batch, m, n))
        return Program(f"{text} with gradients", with_gradients(call, (0, 1)), inputs)
    return Program(text, call, inputs)


def linear(d: Draw) -> Program:
    m, k, n = product_sizes(d, 2)
    inputs = [d.array(m, k), d.array(n, k), d.array(n), d.array(m, n)]
    call = with_gradients(lambda lib, x, w, b: lib.nn.functional.linear(x, w, b), (0, 1, 2))
    return Program(f"linear {(m, k, n)} with gradients", call, inputs)


def conv_sizes(d: Draw) -> tuple[tuple[int, ...], tuple[int, ...], int, int]:
    """An image's and a filter's shape [out, in, height, width], the stride and the padding."""
    while True:
        batch, n_in, n_out = d.size(1, 64), d.size(1, 512), d.size(1, 512)
        height, kernel = d.size(3, 128), d.choice([1, 2, 3, 3, 5, 7])
        width, stride = max(height + d.choice([-1, 0, 0, 1]), 1), d.choice([1, 1, 2, 3])
        pixels = batch * height * width
        work = pixels * n_in * n_out * kernel * kernel
        fits = max(n_in, n_out) * pixels * stride**2 <= d.limits.elements and work <= d.limits.work
        if fits and min(height, width) >= kernel:
            return (batch, n_in, height, width), (n_out, n_in, kernel, kernel), stride, kernel // 2


def conv(d: Draw) -> Program:
    image, filters, stride, padding = conv_sizes(d)
    out = [(n + 2 * padding - filters[2]) // stride + 1 for n in image[2:]]
    inputs = [d.array(*image), d.array(*filters)]
    text = f"conv {image} by {filters} stride {stride} padding {padding}"

    def call(lib: Any, x: Any, w: Any) -> Any:
        return lib.nn.functional.conv2d(x, w, stride=stride, padding=padding)

    if d.choice([True, True, False]):
        inputs.append(d.array(image[0], filters[0], *out))
        return Program(f"{text} with gradients", with_gradients(call, (0, 1)), inputs)
    return Program(text, call, inputs)


def conv_transpose(d: Draw) -> Program:
    image, (n_out, n_in, kernel, _), stride, padding = conv_sizes(d)
    inputs = [d.array(*image), d.array(n_in, n_out, kernel, kernel)]
    padding = min(padding, (kernel - 1) // 2)

    def call(lib: Any, x: Any, w: Any) -> Any:
        return lib.nn.functional.conv_transpose2d(x, w, stride=stride, padding=padding)

    return Program(
        f"conv_transpose {image} by {inputs[1].shape} stride {stride} padding {padding}", call, inputs
    )


def image_shape(d: Draw, low: int) -> tuple[int, ...]:
    while True:
        shape = d.shape(4)
        if min(shape[2:]) >= low:
            return shape


def pooling(d: Draw) -> Program:
    kernel = d.choice([2, 2, 3, 4])
    stride, name = d.choice([kernel, max(kernel - 1, 1)]), d.choice(["max_pool2d", "avg_pool2d"])
    shape, function = image_shape(d, kernel), FUNCTIONS[name]
    return Program(
        f"{name} {shape} kernel {kernel} stride {stride}",
        lambda lib, x: function(lib)(x, kernel, stride),
        [d.array(*shape)],
    )


def interpolate(d: Draw) -> Program:
    mode = d.choice(["nearest", "bilinear", "bicubic"])
    shape = image_shape(d, 2)
    while True:
        out = tuple(d.size(max(n // 3, 1), 3 * n) for n in shape[2:])
        if prod(out) * prod(shape[:2]) <= d.limits.elements:
            break
    return Program(
        f"interpolate {mode} {shape} to {out}",
        lambda lib, x: lib.nn.functional.interpolate(x, size=out, mode=mode),
        [d.array(*shape)],
        1e-3,
    )


def fft(d: Draw) -> Program:
    name, shape = d.choice(["fft", "rfft", "rfft", "irfft", "fft2"]), d.shape(2, d.limits.elements // 2)
    if name == "irfft":

        def call(lib: Any, x: Any, y: Any) -> Any:
            return lib.fft.irfft(lib.complex(x, y), n=2 * shape[-1] - 1 if odd else None)

        odd = d.choice([True, False])
        shape = (shape[0], max(shape[1], 2))
        return Program(f"irfft {shape}{' odd' * odd}", call, [d.array(*shape), d.array(*shape)])
    function = FUNCTIONS[name]
    return Program(f"{name} {shape}", lambda lib, x: lib.view_as_real(function(lib)(x)), [d.array(*shape)])


def sort(d: Draw) -> Program:
    name = d.choice(["sort", "argsort", "topk", "cumsum", "median"])
    shape = d.shape(2)
    inputs = [d.array(*shape)]
    if name == "topk":
        k = d.size(1, min(shape[-1], 256))
        return Program(f"topk {k} of {shape}", lambda lib, x: x.topk(k, -1)[0], inputs)
    if name == "argsort":  # equal values may be in either order: the values are compared
        return Program(f"argsort {shape}", lambda lib, x: x.gather(-1, x.argsort(-1)), inputs)
    if name == "cumsum":
        dim = d.choice([0, 1])
        return Program(f"cumsum {shape} over {dim}", lambda lib, x: x.cumsum(dim), inputs, 1e-3)
    function = FUNCTIONS[name]
    return Program(f"{name} {shape}", lambda lib, x: function(lib)(x, -1)[0], inputs)


def indexing(d: Draw) -> Program:
    name = d.choice(["gather", "index_select", "embedding", "index_add", "scatter_add"])
    rows, width = d.shape(2, d.limits.elements // 2)
    picked = d.size(1, max(d.limits.elements // 2 // width, 1))
    x = d.array(rows, width)
    if name == "gather":
        where = d.indices(rows, picked, width)
        return Program(f"gather {where.shape} of {x.shape}", lambda lib, x, i: x.gather(0, i), [x, where])
    if name in ("index_select", "embedding"):
        where = d.indices(rows, picked)
        call = {
            "index_select": lambda lib, x, i: x.index_select(0, i),
            "embedding": lambda lib, x, i: lib.nn.functional.embedding(i, x),
        }[name]
        return Program(f"{name} {picked} of {x.shape}", call, [x, where])
    y = d.array(picked, width)
    if name == "index_add":
        where = d.indices(rows, picked)
        return Program(
            f"index_add {y.shape} to {x.shape}",
            lambda lib, x, y, i: x.index_add(0, i, y),
            [x, y, where],
            1e-3,
        )
    where = d.indices(rows, picked, width)
    return Program(
        f"scatter_add {y.shape} to {x.shape}",
        lambda lib, x, y, i: x.scatter_add(0, i, y),
        [x, y, where],
        1e-3,
    )


def movement(d: Draw) -> Program:
    name = d.choice(["cat", "pad", "transpose", "transpose", "permute", "flip", "repeat"])
    rank = {"transpose": 2, "permute": d.choice([3, 4])}.get(name, d.choice([2, 3]))
    shape = d.shape(rank, d.limits.elements // 2)
    inputs, dim = [d.array(*shape)], d.choice(range(rank))
    if name == "cat":
        other = list(shape)
        other[dim] = d.size(1, shape[dim])
        inputs.append(d.array(*other))
        text = f"cat {shape}, {tuple(other)}, dim {dim}"
        return Program(text, lambda lib, x, y: lib.cat([x, y], dim), inputs)
    if name == "pad":
        ends = [d.choice([0, 1, 2, 5]) for _ in range(2 * rank)]
        return Program(f"pad {shape} by {ends}", lambda lib, x: lib.nn.functional.pad(x, ends), inputs)
    if name in ("transpose", "permute"):
        order = list(range(rank))[::-1]
        while rank > 2 and (order == sorted(order) or d.choice([True, False])):
            d.random.shuffle(order)
        return Program(f"permute {shape} by {order}", lambda lib, x: x.permute(order).contiguous(), inputs)
    if name == "flip":
        return Program(f"flip {shape}, dim {dim}", lambda lib, x: x.flip([dim]), inputs)
    times = [d.choice([1, 2]) if i == dim else 1 for i in range(rank)]
    return Program(f"repeat {shape} by {times}", lambda lib, x: x.repeat(times), inputs)


def attention(d: Draw) -> Program:
    while True:
        shape = (d.size(1, 16), d.size(1, 32), d.size(2, 4096), d.choice([8, 16, 32, 40, 64, 80, 96, 128]))
        if 2 * prod(shape) * shape[2] <= d.limits.work and prod(shape) <= d.limits.elements:
            break
    causal = d.choice([True, False])

    def call(lib: Any, q: Any, k: Any, v: Any) -> Any:
        return lib.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    inputs = [d.array(*shape) for _ in range(3)]
    text = f"attention {shape}{' causal' * causal}"
    if d.choice([True, True, False]):
        call_back = with_gradients(call, (0, 1, 2))
        return Program(f"{text} with gradients", call_back, [*inputs, d.array(*shape)], 1e-3)
    return Program(text, call, inputs, 1e-3)


def linalg(d: Draw) -> Program:
    n = d.size(2, d.limits.matrix)
    batch = d.size(1, max(min(d.limits.elements // (n * n), d.limits.work // 64 // n**3, 4096), 1))
    a = d.array(batch, n, n) / n**0.5
    name = d.choice(["cholesky", "solve", "inv"])
    if name == "cholesky":
        a = a @ a.swapaxes(1, 2) + np.eye(n, dtype="f4")
        return Program(f"cholesky {a.shape}", lambda lib, a: lib.linalg.cholesky(a), [a], 1e-3)
    a = a + 4 * np.eye(n, dtype="f4")
    if name == "inv":
        return Program(f"inv {a.shape}", lambda lib, a: lib.linalg.inv(a), [a], 1e-3)
    b = d.array(batch, n, d.size(1, n))
    return Program(f"solve {a.shape}, {b.shape}", lambda lib, a, b: lib.linalg.solve(a, b), [a, b], 1e-3)


def loss(d: Draw) -> Program:
    name = d.choice(["cross_entropy", "cross_entropy", "mse_loss", "smooth_l1_loss", "bce"])
    shape = d.shape(2, d.limits.elements // 2)
    x = d.array(*shape)
    target = {
        "cross_entropy": lambda: d.indices(shape[1], shape[0]),
        "bce": lambda: (d.array(*shape) > 0).astype("f4"),
    }.get(name, lambda: d.array(*shape))()
    function = FUNCTIONS[name]

    def call(lib: Any, x: Any, y: Any) -> Any:
        return function(lib)(x, y)

    slope = np.ones((), "f4")
    return Program(f"{name} {shape} with gradient", with_gradients(call), [x, target, slope], 1e-3)


FAMILIES: dict[str, Callable[[Draw], Program]] = {
    f.__name__: f
    for f in (
        elementwise, reduction, rows, matmul, linear, conv, conv_transpose, pooling, interpolate, fft, sort,
        indexing, movement, attention, linalg, loss,
    )
}  # fmt: skip


class Result(NamedTuple):
    """A program's family and text, and the seconds of a call of each side."""

    family: str
    text: str
    torch: float
    ours: float

    @property
    def ratio(self) -> float:
        return self.torch / self.ours


def outputs(y: Any) -> list[Any]:
    return list(y) if isinstance(y, (tuple, list)) else [y]


def difference(ours: Sequence[Any], theirs: Sequence[Any]) -> float:
    """The largest difference of any output, relative to the output's largest absolute value; infinite for
    other shapes or NaN on one side."""
    worst = 0.0
    for a, b in zip(ours, theirs, strict=True):
        if a.shape != b.shape or not np.array_equal(np.isnan(a), np.isnan(b)):
            return float("inf")
        if a.size:
            gap, scale = np.nanmax(np.abs(a - b)), np.nanmax(np.abs(b))
            worst = max(worst, float(gap / (scale or 1)))
    return worst


class Sides:
    """Both libraries and where they compute."""

    def __init__(self, device: str | None, place: str):
        import torch

        import flambeau as fb

        self.fb, self.torch, self.place = fb, torch, place
        if device:
            fb.set_default_device(device)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False

    def wait_for_torch(self) -> None:
        if self.place == "cuda":
            self.torch.cuda.synchronize()

    def values(self, program: Program) -> tuple[Callable[[], Any], Callable[[], Any], float]:
        """A call of each side and the difference of their results."""
        xs = [self.fb.tensor(a).realize() for a in program.inputs]
        ts = [self.torch.from_numpy(a).to(self.place) for a in program.inputs]
        call, fb, torch = program.call, self.fb, self.torch
        recorded = fb.jit(lambda *inputs: call(fb, *inputs))

        def ours() -> Any:
            return recorded(*xs)

        def theirs() -> Any:
            return call(torch, *ts)

        a = [y.numpy() for y in outputs(ours())]
        b = [y.detach().cpu().numpy() for y in outputs(theirs())]
        return ours, theirs, difference(a, b)

    def result(self, family: str, program: Program, seconds: float) -> Result:
        """Compares the values, then times both sides. Raises ValueError if they differ."""
        ours, theirs, gap = self.values(program)
        if gap > program.tolerance:
            raise ValueError(f"differs from torch by {gap:.2g} of the largest value")
        theirs_time = by_difference(theirs, self.wait_for_torch, seconds)
        return Result(family, program.text, theirs_time, by_difference(ours, self.fb.synchronize, seconds))


def worst_part(ratios: Sequence[float]) -> float:
    """The mean of the lowest 5 %, of one ratio at least."""
    return mean(sorted(ratios)[: max(len(ratios) // 20, 1)])


def summary(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """Rows: which programs, how many, the median of their ratios, and the mean of the worst 5 %."""
    groups = {"all": results, "torch over 40 us": [r for r in results if r.torch > LARGE_CALL]}
    groups |= {f: [r for r in results if r.family == f] for f in FAMILIES}
    rows = list[tuple[str, ...]]()
    for name, group in groups.items():
        ratios = [r.ratio for r in group]
        if ratios:
            rows.append((name, str(len(ratios)), f"{median(ratios):.2f}", f"{worst_part(ratios):.2f}"))
    return rows


def show_worst(results: Sequence[Result], most: int) -> None:
    rows = [
        (f"{r.family}: {r.text}", number(r.torch * 1e6), number(r.ours * 1e6), f"{r.ratio:.2f}")
        for r in sorted(results, key=lambda r: r.ratio)[:most]
    ]
    show_table("the worst", ("program", "torch us", "ours us", "torch / ours"), rows)


def programs(draw: Draw, families: Sequence[str], count: int) -> list[tuple[str, Callable[[Draw], Program]]]:
    """As many of each family, in random order."""
    names = [families[i % len(families)] for i in range(count)]
    draw.random.shuffle(names)
    return [(name, FAMILIES[name]) for name in names]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--torch", default="cpu", help="torch's device: cpu or cuda")
    parser.add_argument("--device", default=None, help="Flambeau's device")
    parser.add_argument("--within", type=float, default=float("inf"), help="seconds for all")
    parser.add_argument("--each", action="store_true", help="print all programs, not only the ten worst")
    args = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 31) if args.seed is None else args.seed
    begin = time.perf_counter()
    sides, draw = Sides(args.device, args.torch), Draw(seed, SIZES[args.size])
    print(f"seed {seed}, {sides.fb.get_default_device()} beside torch {sides.torch.__version__} {args.torch}")
    results, failed = list[Result](), 0
    for family, make in programs(draw, args.families, args.programs):
        if time.perf_counter() - begin > args.within:
            break
        program = make(draw)
        try:
            results.append(sides.result(family, program, draw.limits.seconds))
        except Exception as e:  # the other programs are still measured
            failed += 1
            print(f"FAILED {family}: {program.text}: {type(e).__name__}: {str(e)[:200]}", flush=True)
    seconds = time.perf_counter() - begin
    print(f"{len(results)} of {args.programs} programs in {seconds:.0f} s, {failed} failed")
    if results:
        show_table("torch's time / ours", ("programs", "number", "median", "worst 5 %"), summary(results))
        show_worst(results, len(results) if args.each else 10)
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
