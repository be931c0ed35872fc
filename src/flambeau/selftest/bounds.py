"""Evaluates a graph in float64, with a bound on a device's error for each element.

Each node's reference is evaluated in float64. Its bound combines the propagated bounds of the inputs (the op
is evaluated at both ends of their ranges) and the op's own rounding, in any order of its terms. Exact
arithmetic has the bound 0, so that ops that jump (comparisons, casts to integers, positions) are compared
after it. If a jump lies inside the input's range, the value is unknown, and its bound is infinite.
"""

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..core import dtype as dt
from ..core.host import from_raw, to_raw
from ..core.node import Node, toposort
from ..device.array_namespace import Namespace
from ..differences import TOLERANCES
from .chains import EXACT, Chain, chain_of, join_chains

Array = Any
U, LEAST = TOLERANCES[dt.float32].unit, TOLERANCES[dt.float32].least
# ops without a rounding of their own
KEEPING = {
    "neg", "abs", "sign", "floor", "ceil", "trunc", "round", "relu", "maximum", "minimum", "where", "cast",
    "copysign", "ldexp", "floor_divide",
}  # fmt: skip
ONCE = {"add", "sub", "mul", "square"}
CHAINED = {*ONCE, "neg", "div"}
NEAR = {"div": 8 * U, "reciprocal": 8 * U, "sqrt": 8 * U, "rsqrt": 16 * U, "hypot": 32 * U, "pow": 4e-5}
SLACK = 8e-6  # all other functions: relative above 1, absolute below; twice the bound of their own tests
POLES = {"div": 1, "reciprocal": 0, "rsqrt": 0, "log": 0, "log2": 0, "log10": 0, "remainder": 1, "fmod": 1}
WHOLE = {"floor_divide", "remainder", "fmod"}  # ops that jump where a quotient is an integer
# how much larger the terms of Winograd's transforms may be than the products of neighbours
SPREAD = 64.0

NP = Namespace("numpy")


class Known(NamedTuple):
    """Values (floats in float64), and a device's largest error for each; None if all are exact."""

    value: Array
    error: Array | None
    chain: Chain | None = None  # for sums and products of floats: their terms


def evaluate(roots: list[Node]) -> list[Known]:
    """The values and bounds of nodes on NumPy's device."""
    values: dict[Node, Known] = {}
    with np.errstate(all="ignore"):
        for node in sorted(toposort(roots), key=lambda n: n.serial):
            values[node] = _of(node, [values[i] for i in node.inputs] if node.buffer is None else [])
    return [values[n] for n in roots]


def _of(node: Node, inputs: list[Known]) -> Known:
    if node.buffer is not None:
        return Known(_wide(node.buffer.array), None)
    kind = node.op.kind
    if node.dtype.is_complex or any(i.dtype.is_complex for i in node.inputs):
        return _complex(node, inputs)
    rule = (
        RULES.get(kind) or (OPAQUE.get(node.op.name) if kind in ("opaque", "output") else None) or _estimate
    )
    value, error, chain = rule(node, inputs)
    if error is not None and value.dtype.kind == "f" and all(map(_is_exact, inputs)):
        error = np.where(np.isfinite(value), error, 0.0)  # rounding makes no infinity or NaN finite
    return _settle(node, value, error)._replace(chain=chain)


def _is_exact(k: Known) -> bool:
    return k.error is None or not k.error.any()


def _wide(x: Array) -> Array:
    x = np.asarray(x)
    return x.astype("f8") if x.dtype.kind == "f" else x


def _xp(node: Node, arrays: list[Array]) -> Array:
    """The op's reference. Integers have the types that kernels compute in."""
    if node.op.kind not in ("leaf", "movement", "gather"):
        arrays = [
            a if i.dtype.has_gradients else a.astype(i.dtype.wide.numpy, copy=False)
            for a, i in zip(arrays, node.inputs, strict=True)
        ]
    return np.asarray(node.op.xp(NP, *node.scalars, *arrays, **node.attrs))


def _settle(node: Node, value: Array, error: Array | None) -> Known:
    """Values as the dtype holds them: integers wrap; 16-bit floats may be rounded, or fused and not."""
    if not node.dtype.is_float:
        if value.dtype.kind == "f":
            value = np.where(np.isfinite(value), value, 0).astype("i8")
        return Known(value.astype(node.dtype.numpy, copy=False), error)
    value = value.astype("f8", copy=False)
    if node.op.kind in ("movement", "gather", "composite"):
        return Known(value, error)
    if node.dtype is not dt.float32:
        # Half a step of the dtype, unless the value is certainly one of its numbers.
        exact = ((value == round_to(value, node.dtype)) | np.isnan(value)) & _is_sure(error)
        far = 0.0 if error is None else np.where(np.isfinite(error), error, 0.0)
        error = _plus(error, np.where(exact, 0.0, _step(np.abs(value) + far, node.dtype)))
    # Close to the largest number a device may round to infinity.
    large = np.abs(value) + (0.0 if error is None else error) >= TOLERANCES[node.dtype].top
    if large.any() and node.op.name not in ("where", "constant"):
        error = np.where(large & np.isfinite(value), np.inf, 0.0 if error is None else error)
    return Known(value, error)


def round_to(x: Array, to: dt.DType) -> Array:
    """float64 values rounded to a dtype, as float64."""
    if to is dt.bfloat16:
        return from_raw(to_raw(x.astype("f4"), to), to).reshape(x.shape).astype("f8")
    return x.astype(to.numpy).astype("f8")


def _step(x: Array, to: dt.DType) -> Array:
    return TOLERANCES[to].unit * np.abs(x) * 1.001 + TOLERANCES[to].least


def _is_sure(error: Array | None) -> Array | bool:
    return True if error is None else error == 0


def _plus(a: Array | None, b: Array | None) -> Array | None:
    if a is None or b is None:
        return b if a is None else a
    return a + b


def _or_zero(k: Known) -> Array:
    return np.zeros(k.value.shape) if k.error is None else np.broadcast_to(k.error, k.value.shape)


# --- elementwise: the ends of the inputs' ranges, and the op's own rounding ---


def _elementwise(node: Node, inputs: list[Known]) -> Known:
    name = node.op.name
    if name == "cast":
        return _cast(node, inputs[0])
    value = _wide(_xp(node, [k.value for k in inputs]))
    error = None
    if any(k.error is not None for k in inputs):
        error = _change_between(node, inputs, value)
        if (operand := POLES.get(name)) is not None:
            pole = _or_zero(inputs[operand]) >= np.abs(inputs[operand].value)
            error = np.where(
                np.broadcast_to(pole & (_or_zero(inputs[operand]) > 0), value.shape), np.inf, error
            )
        if name in ("eq", "ne"):  # equal somewhere between the ends
            (x, y), reach = (k.value.astype("f8") for k in inputs), _or_zero(inputs[0]) + _or_zero(inputs[1])
            error = np.where((np.abs(x - y) <= reach) & (reach > 0), np.inf, error)
    if value.dtype.kind != "f":
        return Known(value, error)
    parts = [k.chain or chain_of(k.value) for k in inputs] if name in CHAINED else []
    chain = join_chains(name, parts) if parts else None
    own = _own_rounding(name, value, inputs, error, chain)
    if own is not None:
        own = np.where(np.isfinite(value), own, 0.0)
    return Known(value, _plus(error, own), chain)


def _change_between(node: Node, inputs: list[Known], value: Array) -> Array:
    """The largest change of the value at the ends of the inputs' ranges, doubled for the values in
    between."""
    corners = [_ends(k) for k in inputs]
    far = np.zeros(value.shape)
    # All combinations of the ends: 3 ** inputs evaluations of the reference.
    for corner in product(*corners):
        if all(c is k.value for c, k in zip(corner, inputs, strict=True)):
            continue
        corner_value = _wide(_xp(node, list(corner)))
        change = np.abs(corner_value.astype("f8") - value.astype("f8"))
        # an infinity at both ends is not a change; NaN at an end may be any number
        change = np.where(corner_value == value, 0.0, np.where(np.isnan(change), np.inf, change))
        far = np.maximum(far, np.where(np.isnan(corner_value.astype("f8")) & np.isnan(value), 0.0, change))
    return 2 * far


def _ends(k: Known) -> tuple[Array, ...]:
    if k.error is None:
        return (k.value,)
    if k.value.dtype.kind == "b":
        return (k.value, k.value ^ (k.error > 0))
    if k.value.dtype.kind == "f":
        return (k.value, k.value - k.error, k.value + k.error)
    far = np.minimum(k.error, 2.0**20)  # an unknown integer: one distant value represents all
    limits = np.iinfo(k.value.dtype)
    moved = [np.clip(k.value + s * far, limits.min, limits.max).astype(k.value.dtype) for s in (-1, 1)]
    return (k.value, *moved)


def _own_rounding(
    name: str, value: Array, inputs: list[Known], inherited: Array | None, chain: Chain | None
) -> Array | None:
    """An op's own rounding, in float32."""
    if name in WHOLE:
        quotient: Array = inputs[0].value / inputs[1].value
        nearest: Array = np.rint(quotient)
        # Close to an integer, float32 may round the quotient to the other side of it; above 2**22 it has no
        # fractions left to tell.
        near = np.abs(quotient - nearest) <= 1e-6 * np.maximum(np.abs(quotient), 1)
        jump = np.where(near & (quotient != nearest) | (np.abs(quotient) >= 2.0**22), np.inf, 0.0)
        if name == "floor_divide":
            return jump
        return jump + 4 * U * (np.abs(inputs[0].value) + np.abs(inputs[1].value))
    if name in KEEPING:
        return None
    if name in ONCE:
        assert chain is not None
        exact = chain.exact & _is_sure(inherited)
        return None if exact.all() else np.where(exact, 0.0, U * 1.001 * chain.length * chain.mass + LEAST)
    if name in NEAR:
        size = np.abs(value) if chain is None else chain.mass * max(chain.length, 1)
        return np.where(size == 0, 0.0, NEAR[name] * size + LEAST)
    top = np.maximum(np.abs(value), 1.0)
    if name in ("exp", "exp2", "sinh", "cosh", "expm1"):
        # A relative error of x is |x| times as large in exp(x).
        top = np.maximum(np.abs(value), 0 if name == "exp" else 1.0) * (1 + np.abs(inputs[0].value))
    if name in ("sin", "cos", "tan"):
        top = top * (1 + np.abs(inputs[0].value)) * (1 + value * value)  # 1 + tan^2 is the slope of tan
    return SLACK * top + LEAST


def _cast(node: Node, k: Known) -> Known:
    to, value = node.attrs["to"], k.value
    if to.is_float:
        exact = value.dtype.kind == "f"
        value = value.astype("f8")
        same = (value == round_to(value, dt.float32)) & _is_sure(k.error)  # integers that float32 holds
        off = None if exact else np.where(same, 0.0, U * np.abs(value))
        return Known(value, _plus(k.error, off))
    if value.dtype.kind != "f" or to.kind == "b":
        converted = value != 0 if to.kind == "b" else value
        if k.error is None:
            return Known(converted, None)
        unsure = (k.error > 0) & (np.abs(value.astype("f8")) <= k.error) if to.kind == "b" else k.error
        return Known(converted, np.asarray(unsure, "f8"))
    # Floats outside of the integer dtype convert to anything.
    low, high = (0, 255) if to is dt.uint8 else (dt.INTS[to].min, dt.INTS[to].max)
    inside = (value >= low) & (value <= high) & (np.abs(value) < 2.0**31)
    integers = np.where(inside, np.trunc(value), 0)
    error = np.where(inside, 0.0, np.inf)
    if k.error is not None:
        jumps = np.trunc(value - k.error) != np.trunc(value + k.error)
        error = np.where(jumps, np.inf, error)
    return Known(integers.astype("i8"), error if error.any() else None)


# --- where values only move ---


def _move(node: Node, inputs: list[Known]) -> Known:
    value, error, chain = inputs[0]

    def of(x: Array) -> Array:
        return np.asarray(node.op.xp(NP, np.broadcast_to(x, value.shape), **node.attrs))

    if chain is not None:  # padding adds zeros, which every step divides
        chain = Chain(of(chain.mass), 1 / of(1 / np.maximum(chain.step, 1e-300)), chain.length)
    return Known(of(value), None if error is None else of(error), chain)


def _gather(node: Node, inputs: list[Known]) -> Known:
    (value, error, _), (index, unsure, _) = inputs
    result = np.asarray(node.op.xp(NP, value, index, **node.attrs))
    far = None if error is None else np.asarray(node.op.xp(NP, _or_zero(inputs[0]), index, **node.attrs))
    if unsure is not None:
        far = np.where(np.broadcast_to(unsure, index.shape) > 0, np.inf, 0.0 if far is None else far)
    return Known(result, far)


def _join(node: Node, inputs: list[Known]) -> Known:
    value = node.op.xp(NP, *(k.value for k in inputs), **node.attrs)
    if all(k.error is None for k in inputs):
        return Known(value, None)
    return Known(value, node.op.xp(NP, *map(_or_zero, inputs), **node.attrs))


# --- sums ---


def quantum(*arrays: Array) -> float:
    """The largest power of two that divides all values; 1 without finite values other than 0."""
    least = np.inf
    for x in arrays:
        x = x[(x != 0) & np.isfinite(x)]
        if not x.size:
            continue
        mantissa, exponent = np.frexp(x)
        # The lowest set bit of the mantissa, by its exponent.
        bits = np.abs(mantissa * 2.0**53).astype("i8")
        least = min(least, float(np.min((bits & -bits).astype("f8") * np.exp2(exponent - 53.0))))
    return 1.0 if least == np.inf else least


def _sum_error(total: Array, n: int, step: float, inherited: Array | None) -> Array | None:
    """The error of sums of n terms with total magnitude `total`: none while float32 counts their steps
    exactly, or if a term is not finite."""
    odd = ~np.isfinite(total)
    if inherited is None:
        exact = odd | (total < EXACT * step)
        if np.all(exact):
            return None
        return np.where(exact, 0.0, (n + 2) * U * total + LEAST)
    return inherited + np.where(odd, 0.0, (n + 2) * U * total + LEAST)


def _reduce(node: Node, inputs: list[Known]) -> Known:
    (value, error, _), dims = inputs[0], node.attrs["dims"]
    result = _wide(_xp(node, [value]))
    if node.op.name in ("_max", "_min"):
        return Known(
            result, None if error is None else _or_zero(inputs[0]).max(dims, keepdims=True, initial=0)
        )
    n = int(np.prod([value.shape[d] for d in dims]))
    if value.dtype.kind != "f":
        unsure = None if error is None else np.where(_or_zero(inputs[0]) > 0, np.inf, 0.0)
        if unsure is not None:
            unsure = unsure.max(dims, keepdims=True, initial=0)
        return Known(result, unsure)
    size = np.abs(value)
    if node.op.name == "_sum":
        far = None if error is None else _or_zero(inputs[0]).sum(dims, keepdims=True)
        return Known(result, _sum_error(size.sum(dims, keepdims=True), n, quantum(value), far))
    # The product of the largest factors bounds that of all others; n + 1 roundings of float32 come on top.
    most = (size + _or_zero(inputs[0])).prod(dims, keepdims=True)
    least = LEAST * np.maximum(size, 1.0).prod(dims, keepdims=True)
    return Known(result, most * (1 + 2 * (n + 1) * U) - size.prod(dims, keepdims=True) + least)


def _contract(node: Node, inputs: list[Known]) -> Known:
    result = _wide(_xp(node, [k.value for k in inputs]))
    if result.dtype.kind != "f":
        lost = any(k.error is not None and np.any(k.error > 0) for k in inputs)
        return Known(result, np.full(result.shape, np.inf) if lost else None)

    def of(a: Array, b: Array) -> Array:
        return np.asarray(node.op.xp(NP, a, b, **node.attrs))

    a, b = (k.value.astype("f8") for k in inputs)
    total = of(np.abs(a), np.abs(b))
    # Summed products of an element.
    k = int(np.prod(np.broadcast_shapes(a.shape, b.shape)[a.ndim - node.attrs["nk"] :]))
    if any(map(_shows_windows, node.inputs)) and total.size:  # neighbours' products meet in one tile
        total = np.maximum(total, total.max()) * SPREAD
    far = None
    if any(x.error is not None for x in inputs):
        e, f = map(_or_zero, inputs)
        # a value that may overflow may be infinite, and infinity times 0 is NaN
        is_lost = of(np.isinf(e) * 1.0, np.ones_like(b)) + of(np.ones_like(a), np.isinf(f) * 1.0) > 0
        e, f = (np.where(np.isinf(x), 0.0, x) for x in (e, f))
        far = of(np.abs(a), f) + of(e, np.abs(b)) + of(e, f)  # (a + e)(b + f) - ab
        far = np.where(is_lost, np.inf, far)
    return Known(result, _sum_error(total, k, quantum(a) * quantum(b), far))


def _shows_windows(node: Node) -> bool:
    while node.op.kind in ("movement", "composite") or node.op.name == "cast":
        if node.op.name == "_windows":
            return True
        if not node.inputs:
            return False
        node = node.inputs[0]
    return False


def _fold(node: Node, inputs: list[Known]) -> Known:
    value, error, _ = inputs[0]

    def of(x: Array) -> Array:
        return _wide(node.op.xp(NP, x, **node.attrs))

    result = _wide(_xp(node, [value]))
    most = int(of(np.ones(value.shape)).max(initial=1))  # the most windows over an element
    far = None if error is None else of(_or_zero(inputs[0]))
    return Known(result, _sum_error(of(np.abs(value)), most, quantum(value), far))


def _scan(node: Node, inputs: list[Known]) -> Known:
    (value, error, _), dim = inputs[0], node.attrs["dim"]
    result = _wide(_xp(node, [value]))
    if value.dtype.kind != "f":
        # Behind an unknown element all running results are unknown; 0 * inf is NaN, which becomes 0.
        unsure = None if error is None else np.maximum.accumulate(_or_zero(inputs[0]) > 0, dim) * np.inf
        return Known(result, None if unsure is None else np.nan_to_num(unsure, nan=0.0, posinf=np.inf))
    far, n, size = _or_zero(inputs[0]), value.shape[dim] if value.ndim else 1, np.abs(value)
    if node.op.name == "_cumsum":
        inherited = None if error is None else far.cumsum(dim)
        return Known(result, _sum_error(size.cumsum(dim), n, quantum(value), inherited))
    if node.op.name == "_cumprod":
        most = (size + far).cumprod(dim)
        least = LEAST * np.maximum(size, 1.0).cumprod(dim)
        return Known(result, most * (1 + 2 * (n + 1) * U) - size.cumprod(dim) + least)
    own = SLACK * (1 + np.abs(value)) * (n + 1)
    return Known(result, np.maximum.accumulate(far, dim) * 2 + np.maximum.accumulate(own, dim))


def _scatter(node: Node, inputs: list[Known]) -> Known:
    x, keys, order, src = inputs
    result = _wide(_xp(node, [k.value for k in inputs]))
    # An unknown destination leaves every element unknown.
    if any(k.error is not None and np.any(k.error > 0) for k in (keys, order)):
        return Known(result, np.full(result.shape, np.inf))
    inexact = any(k.error is not None for k in (x, src))
    where = (keys.value, order.value)

    def of(a: Array, b: Array, join: str) -> Array:
        return np.asarray(node.op.xp(NP, a, *where, b, join=join))

    join = node.attrs["join"]
    if result.dtype.kind != "f":
        lost = of(_or_zero(x), _or_zero(src), "sum") if inexact else None
        return Known(result, None if lost is None else np.where(lost > 0, np.inf, 0.0))
    if join in ("max", "min"):
        return Known(result, of(_or_zero(x), _or_zero(src), "max") if inexact else None)
    count = int(np.bincount(where[0], minlength=1).max(initial=0)) + 1  # terms of a destination, with x's own
    if join == "sum":
        far = of(_or_zero(x), _or_zero(src), "sum") if inexact else None
        total = of(np.abs(x.value), np.abs(src.value), "sum")
        return Known(result, _sum_error(total, count, quantum(x.value, src.value), far))
    size = of(np.abs(x.value), np.abs(src.value), "prod")
    most = of(np.abs(x.value) + _or_zero(x), np.abs(src.value) + _or_zero(src), "prod")
    return Known(result, most * (1 + 2 * (count + 1) * U) - size + LEAST)


# --- order ---


def _sort_places(node: Node, inputs: list[Known]) -> Known:
    """Positions in a sorted order: unknown where two neighbours may swap."""
    value, error, _ = inputs[0]
    if error is None:
        return Known(_xp(node, [value]), None)
    # all places, of which `first` are the result: the last of them may be exchanged with one that is left out
    result = np.asarray(node.op.xp(NP, value, **{**node.attrs, "first": 0}))
    lines, far = (
        np.take_along_axis(value.astype("f8"), result, -1),
        np.take_along_axis(_or_zero(inputs[0]), result, -1),
    )
    reach = np.where(far > 0, far, 0.0)
    most = reach.max(-1, keepdims=True, initial=0)
    # Neighbours whose ranges overlap may swap.
    close = np.abs(np.diff(lines, axis=-1)) <= reach[..., 1:] + reach[..., :-1]
    close |= np.diff(lines, axis=-1) * (-1 if node.attrs["descending"] else 1) <= np.broadcast_to(
        most, reach[..., 1:].shape
    ) * np.any(reach > 0, -1, keepdims=True)
    unsure = np.zeros(result.shape)
    unsure[..., 1:] = np.where(close, np.inf, 0.0)
    unsure[..., :-1] = np.where(close, np.inf, unsure[..., :-1])
    count = node.shape[-1]
    return Known(result[..., :count], unsure[..., :count])


def _running_extremes(node: Node, inputs: list[Known]) -> Known:
    """Running extremes: unknown if the inputs are not exact."""
    result = _xp(node, [inputs[0].value])
    return Known(result, None if inputs[0].error is None else np.full(result.shape, np.inf))


def _exact_or_unknown(node: Node, inputs: list[Known]) -> Known:
    """Integer results: unknown if the inputs are not exact."""
    result = _wide(_xp(node, [k.value for k in inputs]))
    lost = any(k.error is not None and np.any(k.error > 0) for k in inputs)
    return Known(result, np.full(result.shape, np.inf) if lost else None)


def _back(node: Node, inputs: list[Known]) -> Known:
    value, places = inputs
    result = _wide(_xp(node, [value.value, places.value]))
    if places.error is not None and np.any(places.error > 0):
        return Known(result, np.full(result.shape, np.inf))
    return Known(result, None if value.error is None else _xp(node, [_or_zero(value), places.value]))


# --- all others: from the results for nearby inputs ---


def _estimate(node: Node, inputs: list[Known]) -> Known:
    """Four times the change by inputs moved within their bounds, and the rounding of all terms."""
    arrays = [k.value for k in inputs]
    result = _wide(_xp(node, arrays))
    if result.dtype.kind != "f":
        return _exact_or_unknown(node, inputs)
    rng = np.random.default_rng(7)
    far = np.zeros(result.shape)
    floats = [a for a in arrays if a.dtype.kind == "f"]
    for _ in range(4):
        moved = [
            k.value
            if k.value.dtype.kind != "f"
            else k.value + (_or_zero(k) + 16 * U * np.abs(k.value)) * rng.choice((-1.0, 1.0), k.value.shape)
            for k in inputs
        ]
        change = np.abs(_wide(_xp(node, moved)) - result)
        far = np.maximum(far, np.where(np.isnan(change), np.inf, change))
    width = max((a.shape[-1] for a in floats if a.ndim), default=1)
    top = np.max(np.abs(result), initial=0.0, where=np.isfinite(result))
    # cancellation leaves the rounding of the terms; matrix units round intermediate values too
    sizes = [max(np.max(np.abs(a), initial=1.0, where=np.isfinite(a)), 1.0) for a in floats]
    halves = max(map(_half_of, node.inputs), default=0.0)
    far += 2 * U * np.prod(sizes) + halves * max(sizes, default=0.0) / 4
    return Known(result, 4 * far + (width + 32) * 4 * U * (np.abs(result) + top))


def _complex(node: Node, inputs: list[Known]) -> Known:
    """Complex results or inputs: eight times the change by moved parts, and a function's rounding."""
    result = _xp(node, [k.value for k in inputs])
    result = result.astype("c16") if node.dtype.is_complex else _wide(result)
    rng, far = np.random.default_rng(7), np.zeros(result.shape)
    for _ in range(4):
        moved: list[Array] = []
        for k in inputs:
            reach = _or_zero(k) + 2 * U * np.abs(k.value)
            signs = [rng.choice((-1.0, 1.0), k.value.shape) for _ in "ri"]
            turn = signs[0] + 1j * signs[1] if k.value.dtype.kind == "c" else signs[0]
            moved.append(k.value + reach * turn if k.value.dtype.kind in "fc" else k.value)
        change = np.abs(_xp(node, moved) - result) if result.dtype.kind in "fc" else far
        far = np.maximum(far, np.where(np.isnan(change), np.inf, change))
    top = np.max(np.abs(result), initial=0.0)
    return Known(result, 8 * far + SLACK * (np.abs(result) + top))


def _half_of(node: Node) -> float:
    """Half a step of the 16-bit dtype that a value was widened from; 0 if it was not."""
    while node.inputs and not node.dtype.is_packed and (node.op.kind == "movement" or node.op.name == "cast"):
        node = node.inputs[0]
    return TOLERANCES[node.dtype].unit if node.dtype.is_packed and node.dtype in TOLERANCES else 0.0


def _source(node: Node, inputs: list[Known]) -> Known:
    value = _wide(_xp(node, []))
    if node.op.name != "constant" or value.dtype.kind != "f":
        return Known(value, None)
    # A device's constant is a float32.
    return Known(value, np.where(value == round_to(value, dt.float32), 0.0, U * np.abs(value)))


RULES: dict[str, Callable[[Node, list[Known]], Known]] = {
    "elementwise": _elementwise,
    "movement": _move,
    "composite": lambda node, inputs: inputs[0],
    "gather": _gather,
    "reduce": _reduce,
    "contract": _contract,
    "fold": _fold,
    "source": _source,
}
OPAQUE: dict[str, Callable[[Node, list[Known]], Known]] = {
    "_cat": _join,
    "_argsort": _sort_places,
    "_back": _back,
    "_scatter_sorted": _scatter,
    "_last": _exact_or_unknown,
    "_cumsum": _scan,
    "_cumprod": _scan,
    "_logcumsumexp": _scan,
    "_cummax": _running_extremes,
    "_cummin": _running_extremes,
    "_search": _exact_or_unknown,
    "_count": _exact_or_unknown,
}
