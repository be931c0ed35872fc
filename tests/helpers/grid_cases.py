"""Drawn work for kernels of every family: operands behind views and casts, sizes at kernels' steps.

Elements are small whole numbers, so a sum is the same in any order, and what differs at all is wrong. Where
that cannot be (softmax and the like), a case has a tolerance.
"""

from dataclasses import dataclass
from itertools import product as pairs
from math import prod
from typing import Any

import numpy as np
from references.conv import avg_pool, conv_gradients, max_pool

import flambeau as fb
from flambeau.kernels.contract.cost_model import ONE_PASS_SUMMED
from flambeau.kernels.contract.dispatch import TILES
from flambeau.kernels.contract.skinny import FEW_ROWS, USUAL
from flambeau.ops.index.scatter_rows import CHUNK
from flambeau.ops.sort import histogram, scan, sort
from helpers.draws import one_of, some

F = fb.nn.functional
# what kernels step by, of tiles, thin products, trees, rows, scans and sorts
STEPS = sorted(
    {n for t in TILES.values() for n in t[:3]}
    | {FEW_ROWS, USUAL.lanes, 4 * USUAL.lanes, 8 * USUAL.lanes, 4 * USUAL.lanes * USUAL.reads}
    | {USUAL.strips, 4 * USUAL.strips, 4, 64, 256, 1024, ONE_PASS_SUMMED}
)
LONG_STEPS = [ONE_PASS_SUMMED, 2 * ONE_PASS_SUMMED, 16384, 65536, scan.TILE, 8192, histogram.PART, CHUNK * 16]
PRIMES = [2, 3, 5, 7, 11, 13, 31, 61, 127, 257, 521, 1031]


def length(rng, most: int, steps=tuple(STEPS)) -> int:
    """A size: a multiple of a step or beside it, a prime, one, or any."""
    kind = rng.random()
    if kind < 0.6:
        step = one_of(rng, [s for s in steps if s <= most] or [1])
        n = step * some(rng, 1, max(min(most // step, 9), 1)) + one_of(rng, (0, 0, 0, -1, 1, 4))
    elif kind < 0.75:
        n = one_of(rng, [p for p in PRIMES if p <= most] or [1])
    else:
        n = 1 if kind < 0.8 else int(rng.integers(1, most + 1))
    return min(max(n, 1), most)


def whole(rng, shape, top=3):
    return rng.integers(-top, top + 1, shape).astype("f8")


@dataclass
class Given:
    """An operand: its elements, and how a device's tensor comes to show them."""

    array: np.ndarray
    make: Any
    words: str

    def leaf(self, device):
        return self.make(device)


def stored(array, dtype):
    def make(device):
        t = fb.tensor(array.astype("f4"), device=device)
        return t if dtype == "float32" else t.to(getattr(fb, dtype)).detach()

    return Given(array, make, dtype)


def viewed(rng, array, dtype="float32", depth=2) -> Given:
    """The array through up to two views of a buffer, which may give it other elements."""
    shape, kind = array.shape, rng.random()
    if depth == 0 or kind < 0.35 or 0 in shape or not shape:
        return stored(array, dtype)
    if kind < 0.6:
        order = tuple(int(d) for d in rng.permutation(len(shape)))
        inner = viewed(rng, np.ascontiguousarray(array.transpose(order)), dtype, depth - 1)
        back = tuple(int(d) for d in np.argsort(order))
        return Given(
            inner.array.transpose(back),
            lambda d: inner.make(d).permute(*back),
            f"{inner.words}.permute{back}",
        )
    if kind < 0.8 and prod(shape) < 1 << 20:
        keys, more = [], []
        for n in shape:
            step, start, end = (
                one_of(rng, (1, 1, 1, 2, -1)),
                one_of(rng, (0, 0, 4, 1)),
                one_of(rng, (0, 4, 3)),
            )
            size = abs(step) * (n - 1) + 1
            low = start + size - 1 if step < 0 else start
            high = low + step * n
            keys.append(slice(low, high if high >= 0 else None, step))
            more.append(start + size + end)
        if prod(more) < 1 << 21:
            big = whole(rng, more)
            big[tuple(keys)] = array
            inner = viewed(rng, big, dtype, depth - 1)
            key = tuple(keys)
            return Given(inner.array[key], lambda d: inner.make(d)[key], f"{inner.words}{list(keys)}")
    if kind < 0.9:
        at = int(rng.integers(len(shape)))
        inner = viewed(rng, array.take([0], at), dtype, depth - 1)
        return Given(
            np.broadcast_to(inner.array, shape),
            lambda d: inner.make(d).expand(*shape),
            f"{inner.words}.expand",
        )
    before = [int(rng.integers(0, 1 + (n > 2))) * one_of(rng, (1, 1, n // 4)) for n in shape]
    after = [int(rng.integers(0, 1 + (n > 2))) for n in shape]
    cut = tuple(slice(b, n - a) for b, a, n in zip(before, after, shape))
    inner = viewed(rng, np.ascontiguousarray(array[cut]), dtype, depth - 1)
    ends = [(b, a) for b, a in zip(before, after)]
    return Given(
        np.pad(inner.array, ends),
        lambda d: inner.make(d)._pad(tuple(before), tuple(after)),
        f"{inner.words}.pad{ends}",
    )


DTYPES = ["float32"] * 5 + ["float16", "bfloat16", "int8", "uint8", "int32"]
BEFORE = {
    "": (lambda t: t, lambda x: x),
    "relu": (lambda t: t.relu(), lambda x: np.maximum(x, 0)),
    "2x+1": (lambda t: t * 2 + 1, lambda x: x * 2 + 1),
    "abs": (lambda t: t.abs(), np.abs),
    "where": (lambda t: (t > 0).where(t, -1.0), lambda x: np.where(x > 0, x, -1.0)),
}


def operand(rng, shape) -> Given:
    """An operand in float32, of whatever it is made of."""
    dtype = one_of(rng, DTYPES)
    array = whole(rng, shape)
    given = viewed(rng, np.abs(array) if dtype == "uint8" else array, dtype)
    if dtype == "uint8":
        given.array = np.abs(given.array)
        made = given.make
        given.make = lambda d: made(d).float().abs().to(fb.uint8)  # views fill in elements below 0
    name = one_of(rng, ["", "", "", *BEFORE])
    ours, theirs = BEFORE[name]
    inner = given.make
    return Given(
        theirs(given.array),
        lambda d: ours(inner(d).float()),
        f"{list(shape)}:{given.words}{'.' + name if name else ''}",
    )


def plain(rng, shape, dtype="float32") -> Given:
    given = viewed(rng, whole(rng, shape), dtype)
    given.words = f"{list(shape)}:{given.words}"
    return given


def bfloat16(x):
    """Rounded to nearest, halves to even."""
    bits = x.astype("f4").view("u4")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)).view("f4").astype("f8")


def epilogue(rng, shape):
    """What follows a sum: (name, of a tensor and a device, of an array)."""
    row = plain(rng, shape[-1:]) if shape else plain(rng, ())
    like = plain(rng, shape)
    narrow = {
        "half": (lambda t, d: t.half(), lambda x: x.astype("f2").astype("f8")),
        "bfloat16": (lambda t, d: t.to(fb.bfloat16), bfloat16),
        "int8": (lambda t, d: t.clamp(-100, 100).to(fb.int8), lambda x: x.clip(-100, 100)),
        "uint8": (lambda t, d: (t + 100).clamp(0, 200).to(fb.uint8), lambda x: (x + 100).clip(0, 200)),
        "int32": (lambda t, d: t.to(fb.int32), lambda x: x),
    }
    table = {
        "": (lambda t, d: t, lambda x: x),
        "+row": (lambda t, d: t + row.make(d), lambda x: x + row.array),
        "relu": (lambda t, d: t.relu(), lambda x: np.maximum(x, 0)),
        "+like": (lambda t, d: t * 2 + like.make(d), lambda x: x * 2 + like.array),
        "+row,relu": (lambda t, d: (t + row.make(d)).relu(), lambda x: np.maximum(x + row.array, 0)),
        "self": (lambda t, d: t * (t > 0).where(1.0, 2.0), lambda x: x * np.where(x > 0, 1.0, 2.0)),
        **narrow,
    }
    name = one_of(rng, ["", "", "", *table])
    ours, theirs = table[name]
    if name == "" or rng.random() > 0.3 or name in narrow:
        words = name + (f" {row.words}" if "row" in name else f" {like.words}" if "like" in name else "")
        return words, ours, theirs
    last = one_of(rng, list(narrow))
    then, known = narrow[last]
    return (
        f"{name} {row.words if 'row' in name else like.words},{last}",
        lambda t, d: then(ours(t, d), d),
        lambda x: known(theirs(x)),
    )


@dataclass
class Case:
    """words: what it is; call: a device into tensors; want: arrays; tol: a part of the largest of these."""

    words: str
    call: Any
    want: list
    tol: float = 0.0
    least: float = 1e-6


LARGE = 1 << 23  # multiply-adds of a case


def sizes_of_product(rng):
    """Rows, columns and summed places: few rows often, long sums often, empty rarely."""
    few = rng.random() < 0.4
    m = some(rng, 1, FEW_ROWS + 1) if few else length(rng, 300)
    k = length(rng, max(min(LARGE // m // 4, 40000), 1))
    n = length(rng, max(min(LARGE // m // k, 2100), 1))
    if rng.random() < 0.02:
        m, n, k = ((0, n, k), (m, 0, k), (m, n, 0))[int(rng.integers(3))]
    return (m, n, k) if rng.random() < 0.5 else (n, m, k)


def product_case(rng) -> Case:
    """A product of two operands, one letter or several for each group of dims, in any order."""
    m, n, k = sizes_of_product(rng)
    letters, sizes = iter("abcdefghijkl"), {}

    def group(size):
        """A size as one dim or two."""
        divisors = [d for d in (2, 3, 4, 8, 16, 64) if size > d and size % d == 0]
        parts = [size]
        if divisors and rng.random() < 0.25:
            d = one_of(rng, divisors)
            parts = [d, size // d] if rng.random() < 0.5 else [size // d, d]
        found = "".join(next(letters) for _ in parts)
        sizes.update(zip(found, parts))
        return found

    rows, columns, summed = group(m), group(n), group(k)
    batch = group(some(rng, 2, 4)) if rng.random() < 0.25 and m * n * k < LARGE // 4 else ""
    shared = rng.random() < 0.2  # the second side is the same for the batch

    def side(*groups):
        found = [c for g in groups for c in g]
        if rng.random() < 0.4:
            rng.shuffle(found)
        return "".join(found)

    one = side(batch, rows, summed)
    two = side("" if shared else batch, *((summed, columns) if rng.random() < 0.5 else (columns, summed)))
    out = side(batch, rows, columns)
    x, w = (operand(rng, tuple(sizes[c] for c in s)) for s in (one, two))
    equation = f"{one},{two}->{out}"
    result = np.einsum(equation, x.array, w.array, optimize=True)
    words, ours, theirs = epilogue(rng, result.shape)
    return Case(
        f"einsum({equation!r}, {x.words}, {w.words}) {words}",
        lambda d: [ours(fb.einsum(equation, x.make(d), w.make(d)), d)],
        [theirs(result)],
    )


def few_rows_case(rng) -> Case:
    """Products of float16 or integers, as they lie."""
    m, n, k = sizes_of_product(rng)
    dtype = one_of(rng, ("float16", "float16", "bfloat16", "int32"))
    x, w = (plain(rng, s, dtype) for s in ((m, k), (k, n)))
    result = x.array @ w.array
    rounded = {"float16": lambda x: x.astype("f2").astype("f8"), "bfloat16": bfloat16}.get(dtype, lambda x: x)
    return Case(
        f"{x.words} @ {w.words}", lambda d: [(x.make(d) @ w.make(d)).relu()], [np.maximum(rounded(result), 0)]
    )


def precise_case(rng) -> Case:
    """Products of float32 for which less precision is allowed, of numbers that float16 holds."""
    m, n, k = (length(rng, most) for most in (300, 300, 5000))
    x, w = plain(rng, (m, k)), plain(rng, (k, n))
    result = x.array @ w.array
    words, ours, theirs = epilogue(rng, result.shape)
    precision = one_of(rng, ("high", "medium"))

    def call(d):
        with fb.set_matmul_precision(precision):
            return [ours(x.make(d) @ w.make(d), d)]

    return Case(f"{precision}: {x.words} @ {w.words} {words}", call, [theirs(result)])


def by_taps(x, w, stride, padding, dilation, groups):
    """A convolution, tap by tap."""
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    each = zip(x.shape[2:], w.shape[2:], stride, dilation)
    out = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in each]
    y = np.zeros((len(x), len(w), *out))
    own, made = w.shape[1], len(w) // groups
    for tap in pairs(*map(range, w.shape[2:])):
        at = [slice(t * d, t * d + s * (n - 1) + 1, s) for t, d, s, n in zip(tap, dilation, stride, out)]
        for i in range(groups):
            part = x[(slice(None), slice(i * own, (i + 1) * own), *at)]
            weight = w[(slice(i * made, (i + 1) * made), slice(None), *tap)]
            y[:, i * made : (i + 1) * made] += np.einsum("nc...,oc->no...", part, weight, optimize=True)
    return y


def conv_case(rng) -> Case:
    """A convolution and its gradients: many or few channels and filters, windows of 3 x 3 often."""
    nd = one_of(rng, (2, 2, 2, 1, 3))
    usual = nd == 2 and rng.random() < 0.4
    kernel = (3, 3) if usual else tuple(some(rng, 1, (7, 5, 3)[nd - 1]) for _ in range(nd))
    stride = (1,) * nd if usual else tuple(some(rng, 1, 3) for _ in range(nd))
    dilation = (1,) * nd if rng.random() < 0.8 else tuple(some(rng, 1, 3) for _ in range(nd))
    padding = tuple(int(rng.integers(0, d * (k - 1) + 1)) for k, d in zip(kernel, dilation))
    depthwise = rng.random() < 0.25
    groups = some(rng, 2, 24) if depthwise else one_of(rng, (1, 1, 1, 2, 3))
    channels, filters = (1, some(rng, 1, 3)) if depthwise else (length(rng, 40), length(rng, 70))
    if groups in (2, 3):
        channels, filters = channels // groups + 1, filters // groups + 1
    least = [max(d * (k - 1) + 1 - 2 * p, 1) for k, d, p in zip(kernel, dilation, padding)]
    size = tuple(n + int(rng.integers(0, (60, 20, 7)[nd - 1])) for n in least)
    n = some(rng, 1, 4)
    work = n * groups * channels * filters * prod(size) * prod(kernel)
    if work > 4 * LARGE:
        n, channels, filters = 1, max(channels // 4, 1), max(filters // 4, 1)
    x, w = plain(rng, (n, groups * channels, *size)), plain(rng, (groups * filters, channels, *kernel))
    kwargs = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    y = by_taps(x.array, w.array, **kwargs)
    words, ours, theirs = epilogue(rng, y.shape)
    g = plain(rng, y.shape)

    def call(d):
        a, b = x.make(d).detach().requires_grad_(), w.make(d).detach().requires_grad_()
        y = getattr(F, f"conv{nd}d")(a, b, **kwargs)
        grads = y.backward(g.make(d), retain_graph=True)
        return [ours(y.detach(), d), grads[a], grads[b]]

    want = [theirs(y), *conv_gradients(x.array, w.array, g.array, **kwargs)]
    return Case(f"conv{nd}d({x.words}, {w.words}, {kwargs}) {words}; {g.words}", call, want)


def shape_of_sum(rng):
    """A shape of up to four dims, one of which may be long."""
    rank = some(rng, 1, 4)
    long = int(rng.integers(rank))
    most, shape = 1 << 20, []
    for d in range(rank):
        n = length(rng, 70000, STEPS + LONG_STEPS) if d == long else length(rng, 64)
        shape.append(max(min(n, most), 1))
        most //= shape[-1]
    if rng.random() < 0.03:
        shape[int(rng.integers(rank))] = 0
    return tuple(shape)


def sum_case(rng) -> Case:
    """Reductions of one operand over some of its dims, one or several."""
    shape = shape_of_sum(rng)
    x = operand(rng, shape)
    dims = tuple(int(d) for d in np.flatnonzero(rng.random(len(shape)) < 0.5)) or (
        int(rng.integers(len(shape))),
    )
    keep = bool(rng.integers(2))
    ops = {"sum": np.sum, "amax": np.max, "amin": np.min}
    ops = {"sum": np.sum} if 0 in shape else ops
    names = [one_of(rng, list(ops)) for _ in range(one_of(rng, (1, 1, 1, 2, 3)))]
    results = [ops[n](x.array, axis=dims, keepdims=keep) for n in names]
    words, ours, theirs = epilogue(rng, results[0].shape)

    def call(d):
        t = x.make(d)
        made = [getattr(t, n)(dims, keepdim=keep) for n in names]
        return [ours(made[0], d), *(m * 2 + i for i, m in enumerate(made[1:]))]

    want = [theirs(results[0]), *(r * 2 + i for i, r in enumerate(results[1:]))]
    return Case(f"{names}({x.words}, {dims}, {keep}) {words}", call, want)


def split_case(rng) -> Case:
    """Few and very long rows, which are added up in parts."""
    rows, long = some(rng, 1, 5), length(rng, 200000, tuple(LONG_STEPS))
    shape, dims = ((rows, long), (1,)) if rng.random() < 0.6 else ((long, rows), (0,))
    x = operand(rng, shape)
    name = one_of(rng, ("sum", "amax"))
    result = {"sum": np.sum, "amax": np.max}[name](x.array, axis=dims)
    words, ours, theirs = epilogue(rng, result.shape)
    return Case(
        f"{name}({x.words}, {dims}) {words}",
        lambda d: [ours(getattr(x.make(d), name)(dims), d)],
        [theirs(result)],
    )


def row_case(rng) -> Case:
    """Rows with several reductions and what is made of them."""
    long = length(rng, 20000, STEPS + [16384, ONE_PASS_SUMMED])
    rows = length(rng, max((1 << 19) // long, 1))
    shape = (rows, long) if rng.random() < 0.7 else (some(rng, 1, 3), rows, long)
    if prod(shape) > 1 << 20:
        shape = (rows, long)
    x = operand(rng, shape)
    kind = one_of(rng, ("own", "own", "softmax", "log_softmax", "layer_norm", "rms_norm", "slope"))
    a = x.array
    if kind == "own":
        own = a * a.max(-1, keepdims=True) - a.sum(-1, keepdims=True) * 2
        words, ours, theirs = epilogue(rng, own.shape)

        def call(d):
            t = x.make(d)
            y = t * t.amax(-1, keepdim=True) - t.sum(-1, keepdim=True) * 2
            return [ours(y, d), y.amin(-1)]

        return Case(f"rows {x.words} {words}", call, [theirs(own), own.min(-1)])
    e = np.exp(a - a.max(-1, keepdims=True))
    soft = e / e.sum(-1, keepdims=True)
    centred = a - a.mean(-1, keepdims=True)
    norm = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    wants = {
        "softmax": soft, "log_softmax": np.log(soft + 0.0), "layer_norm": norm,
        "rms_norm": a / np.sqrt((a * a).mean(-1, keepdims=True) + 1e-5),
        "slope": soft * (a - (soft * a).sum(-1, keepdims=True)),
    }  # fmt: skip

    def calls(d):
        t = x.make(d)
        if kind == "slope":
            u = t.detach().requires_grad_()
            return [(u.softmax(-1) * t.detach()).sum().backward()[u]]
        if kind == "layer_norm":
            return [F.layer_norm(t, (long,))]
        if kind == "rms_norm":
            return [F.rms_norm(t, (long,), eps=1e-5)]
        return [getattr(t, kind)(-1)]

    return Case(f"{kind} {x.words}", calls, [wants[kind]], 3e-5)


def pool_case(rng) -> Case:
    """Pools: windows near each other, and their gradients by max."""
    nd = one_of(rng, (2, 2, 1, 3))
    kernel = tuple(some(rng, 1, (9, 4, 3)[nd - 1]) for _ in range(nd))
    stride = tuple(some(rng, 1, 3) for _ in range(nd))
    padding = tuple(int(rng.integers(0, k // 2 + 1)) for k in kernel)
    ceil_mode = bool(rng.integers(2))
    size = tuple(k + int(rng.integers(0, (70, 24, 8)[nd - 1])) for k in kernel)
    x = plain(rng, (some(rng, 1, 3), some(rng, 1, 5), *size))
    args = {"kernel_size": kernel, "stride": stride, "padding": padding, "ceil_mode": ceil_mode}
    if rng.random() < 0.5:
        dilation = tuple(some(rng, 1, 2) for _ in range(nd))
        dilation = dilation if all(d * (k - 1) < n for d, k, n in zip(dilation, kernel, size)) else (1,) * nd
        args["dilation"] = dilation
        want = max_pool(x.array, nd=nd, **args)
        return Case(
            f"max_pool{nd}d({x.words}, {args})",
            lambda d: [getattr(F, f"max_pool{nd}d")(x.make(d), **args)],
            [want],
        )
    count = bool(rng.integers(2))
    want = avg_pool(x.array, nd=nd, count_include_pad=count, **args)
    call = lambda d: [getattr(F, f"avg_pool{nd}d")(x.make(d), **args, count_include_pad=count)]  # noqa: E731
    return Case(f"avg_pool{nd}d({x.words}, {args})", call, [want], 3e-6)


def map_case(rng) -> Case:
    """Elementwise values: several outputs of one operand, and large ones."""
    large = rng.random() < 0.08
    shape = (length(rng, 4100), 2049 + some(rng, 1, 4)) if large else shape_of_sum(rng)
    x = plain(rng, shape) if large else operand(rng, shape)
    words, ours, theirs = epilogue(rng, x.array.shape)
    other = one_of(rng, list(BEFORE))
    f, known = BEFORE[other]

    def call(d):
        t = x.make(d)
        return [ours(t * t, d), f(t) + 1] if not large else [ours(t * t, d)]

    return Case(
        f"maps {x.words} {words}", call, [theirs(x.array**2), *([known(x.array) + 1] if not large else [])]
    )


def order_case(rng) -> Case:
    """Scans, sorts, counts and scatters along drawn sizes."""
    n = length(rng, 70000, (scan.TILE, sort.SHORT, 32, 8192, histogram.PART, CHUNK, CHUNK * 16, 64))
    rows = some(rng, 1, max(min((1 << 18) // n, 9), 1))
    kind = one_of(
        rng, ("cumsum", "cummax", "sort", "topk", "bincount", "scatter_add", "index_add", "index_select")
    )
    x = plain(rng, (rows, n))
    if kind == "cumsum":
        dim = int(rng.integers(2))
        return Case(f"cumsum({x.words}, {dim})", lambda d: [x.make(d).cumsum(dim)], [x.array.cumsum(dim)])
    if kind == "cummax":
        return Case(
            f"cummax({x.words})", lambda d: [x.make(d).cummax(1)[0]], [np.maximum.accumulate(x.array, 1)]
        )
    if kind == "sort":
        want = [np.sort(x.array, 1, kind="stable"), np.argsort(x.array, 1, kind="stable")]
        return Case(f"sort({x.words})", lambda d: list(x.make(d).sort(1, stable=True)), want)
    if kind == "topk":
        k = some(rng, 1, min(n, 70))
        want = [-np.sort(-x.array, 1)[:, :k]]
        return Case(f"topk({x.words}, {k})", lambda d: [x.make(d).topk(k, 1)[0]], want)
    bins = length(rng, 9000, (histogram.BINS, 64, 256))
    index = rng.integers(0, bins if rng.random() < 0.7 else 1, n)
    at = lambda d: fb.tensor(index.astype("i4"), device=d)  # noqa: E731
    if kind == "bincount":
        want = np.bincount(index, minlength=bins)
        return Case(f"bincount({n}, {bins})", lambda d: [at(d).bincount(length=bins)], [want])
    width = some(rng, 1, 9)
    y, src = whole(rng, (bins, width)), plain(rng, (n, width))
    if kind == "index_select":
        return Case(
            f"index_select({bins}, {width}, {n})",
            lambda d: [fb.tensor(y.astype("f4"), device=d)[at(d)]],
            [y[index]],
        )
    want = y.copy()
    np.add.at(want, index, src.array)
    base = lambda d: fb.tensor(y.astype("f4"), device=d)  # noqa: E731
    if kind == "index_add":
        call = lambda d: [base(d).index_add(0, at(d), src.make(d))]  # noqa: E731
    else:
        call = lambda d: [base(d).scatter_add(0, at(d).reshape(-1, 1).expand(n, width), src.make(d))]  # noqa: E731
    return Case(f"{kind}({bins}, {width}, {src.words})", call, [want])


def attention_case(rng) -> Case:
    """Attention and its gradients beside products and a softmax in float64."""
    heads, group = some(rng, 1, 3), some(rng, 1, 3)
    n, m = (length(rng, 200, (16, 32, 64, 128)) for _ in range(2))
    n = some(rng, 1, 9) if rng.random() < 0.3 else n
    d, e = (one_of(rng, (1, 3, 4, 8, 16, 30, 32, 33, 64, 96, 128)) for _ in range(2))
    e = d if rng.random() < 0.6 else e
    half = rng.random() < 0.3
    causal, masked = rng.random() < 0.4, rng.random() < 0.3
    shapes = ((1, heads * group, n, d), (1, heads, m, d), (1, heads, m, e))
    arrays = [(rng.standard_normal(s).astype("f2" if half else "f4")) for s in shapes]
    mask = rng.random((n, m)) < 0.8 if masked and not causal else None
    if mask is not None:
        mask[:, 0] = True
    q, k, v = (a.astype("f8") for a in arrays)
    k, v = (np.repeat(t, group, 1) for t in (k, v))
    s = q @ k.swapaxes(-1, -2) / np.sqrt(d)
    allowed = (
        np.tril(np.ones((n, m), bool)) if causal else mask if mask is not None else np.ones((n, m), bool)
    )
    s = np.where(allowed, s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    y = p @ v
    g = np.ones_like(y)
    dp = g @ v.swapaxes(-1, -2)
    ds = p * (dp - (dp * p).sum(-1, keepdims=True)) / np.sqrt(d)
    dk, dv = ds.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ g
    dk, dv = (t.reshape(1, heads, group, *t.shape[2:]).sum(2) for t in (dk, dv))
    slopes = rng.random() < 0.5

    def call(device):
        xs = [fb.tensor(a, device=device, requires_grad=True) for a in arrays]
        on = None if mask is None else fb.tensor(mask, device=device)
        y = F.scaled_dot_product_attention(*xs, attn_mask=on, is_causal=causal, enable_gqa=group > 1)
        if not slopes:
            return [y]
        grads = y.sum().backward(retain_graph=True)
        return [y, *(grads[x] for x in xs)]

    words = f"attention {shapes}, causal={causal}, masked={mask is not None}, half={half}, slopes={slopes}"
    return Case(words, call, [y, ds @ k, dk, dv] if slopes else [y], 6e-3 if half else 3e-5, 1.0)


def quantized_case(rng) -> Case:
    """Products with weights of 4 and 8 bits, beside NumPy's of the same bits."""
    bits, block = one_of(rng, (4, 8)), one_of(rng, (32, 64, 128))
    m, n = length(rng, 100, (1, 4, 8, 16, 48, 64)), length(rng, 300, (1, 4, 32, 64))
    k = block * some(rng, 1, max(min(4200, (LARGE // m // n)) // block, 1))
    x, w = rng.standard_normal((m, k)).astype("f4"), rng.standard_normal((n, k)).astype("f4")
    bias = rng.standard_normal(n).astype("f4")

    def call(d):
        a, b, c = (fb.tensor(t, device=d) for t in (x, w, bias))
        return [fb.quantized_linear(a, fb.quantize(b, bits, block), c)]

    want = [t.numpy().astype("f8") for t in call("cpu")]
    return Case(f"quantized({m}, {n}, {k}, bits={bits}, block={block})", call, want, 2e-5)


KINDS = {
    f.__name__.removesuffix("_case"): f
    for f in (
        product_case, few_rows_case, precise_case, conv_case, sum_case, split_case, row_case, pool_case,
        map_case, order_case, attention_case, quantized_case,
    )
}  # fmt: skip
