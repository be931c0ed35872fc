"""A small NumPy in plain Python, for a page that has none: there this file is the module `numpy`.

An array is a list of its elements, one after the other, a shape and a dtype; one over bytes becomes a list
when somebody asks for elements. It has what the self-test, the references of ops and ONNX models use, and
computes what NumPy does, slowly: tests/selftest/test_small_numpy.py compares the two.
Only `reshape` and `asarray` share elements; all other views are copies. Its random numbers are Python's.
"""

import math
import operator as op
import random as _random
import struct
from array import array as _packed
from collections.abc import Callable
from functools import lru_cache, reduce
from itertools import accumulate, chain, product
from types import SimpleNamespace
from typing import Any

nan, inf, pi, e, newaxis = math.nan, math.inf, math.pi, math.e, None
__version__ = "0"
TOP = 1.7976931348623157e308


class dtype:
    """An element type, that of a name too; called, it makes an array of no dims of a number."""

    def __new__(cls, given: Any, *rest: Any) -> "dtype":
        return object.__new__(cls) if rest else _dtype(given)

    def __init__(self, name: Any, kind: str = "", itemsize: int = 0, code: str = ""):
        if not kind:
            return  # it is there
        self.name, self.kind, self.itemsize, self.code, self.type = name, kind, itemsize, code, self
        self.str, self.bits = f"{kind}{itemsize}", 8 * itemsize
        self.min = -(1 << self.bits - 1) if kind == "i" else 0
        self.max = (1 << self.bits - (kind == "i")) - 1

    def __call__(self, value: Any = 0) -> "ndarray":
        return asarray(value, self)

    def __eq__(self, other: Any) -> bool:
        return self is (other if isinstance(other, dtype) else _NAMED.get(other))

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name


_TYPES = [
    dtype("bool", "b", 1, "B"),
    *(dtype(f"int{8 * n}", "i", n, c) for n, c in zip((1, 2, 4, 8), "bhiq")),
]
_TYPES += [dtype(f"uint{8 * n}", "u", n, c) for n, c in zip((1, 2, 4, 8), "BHIQ")]
_TYPES += [dtype("float16", "f", 2, "e"), dtype("float32", "f", 4, "f"), dtype("float64", "f", 8, "d")]
_NAMED: dict[Any, dtype] = {name: t for t in _TYPES for name in (t.name, t.str, t.code)}
_NAMED |= {bool: _TYPES[0], int: _NAMED["i8"], float: _NAMED["f8"], "B": _NAMED["u1"], "bool_": _TYPES[0]}
_NAMED |= {"?": _TYPES[0]}
bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64 = _TYPES


def _dtype(given: Any) -> dtype:
    found = given if isinstance(given, dtype) else _NAMED.get(given)
    if found is None:
        raise TypeError(f"this page's NumPy has numbers and bools alone, and no {given}")
    return found


def iinfo(given: Any) -> dtype:
    return _dtype(given)


def can_cast(a: Any, b: Any) -> bool:
    return result_type(a, b) is _dtype(b)


def result_type(*given: Any) -> dtype:
    """Of dtypes, or of arrays and numbers, which change an array's dtype only where their kind is higher."""
    types = [
        x.dtype if isinstance(x, ndarray) else _dtype(x) for x in given if type(x) not in (bool, int, float)
    ]
    found = reduce(_wider, types) if types else None
    for x in given:
        if type(x) in (bool, int, float):
            weak = _NAMED[type(x)]
            if found is None or "biuf".index(weak.kind) > "biuf".index(found.kind.replace("u", "i")):
                found = weak
    assert found is not None
    return found


def _wider(a: dtype, b: dtype) -> dtype:
    if a is b or b.kind == "b":
        return a
    if a.kind == "b":
        return b
    if a.kind == b.kind:
        return max(a, b, key=lambda t: t.itemsize)
    if "f" in (a.kind, b.kind):
        floating, whole = (a, b) if a.kind == "f" else (b, a)
        return floating if whole.itemsize < floating.itemsize else float64
    signed, other = (a, b) if a.kind == "i" else (b, a)
    if signed.itemsize > other.itemsize:
        return signed
    return float64 if other is uint64 else _NAMED[f"i{2 * other.itemsize}"]


def _half(v: float) -> float:
    try:
        return struct.unpack("e", struct.pack("e", v))[0]
    except OverflowError:
        return math.copysign(inf, v)


def _fit(a: list, to: dtype) -> list:
    """Numbers as a dtype holds them: integers wrap, floats are rounded."""
    if to.kind == "b":
        return list(map(bool, a))
    if to.kind == "f":
        if to is float32:
            return _packed("f", a).tolist()
        return list(map(float, a)) if to is float64 else list(map(_half, a))
    a = (
        [int(v) if math.isfinite(v) else 0 for v in a]
        if any(type(v) is float for v in a)
        else list(map(int, a))
    )
    if a and (min(a) < to.min or max(a) > to.max):
        mask, half = (1 << to.bits) - 1, to.max + 1 if to.kind == "i" else 0
        return [((v + half) & mask) - half for v in a]
    return a


# --- places: a view is a shape, strides and a start, and where its elements are ---


def _strides(shape: tuple) -> tuple:
    return tuple(accumulate(shape[:0:-1], op.mul, initial=1))[::-1] if shape else ()


def _sums(axes: Any, start: int = 0) -> list[int]:
    """Every sum of one number of each axis, the last axis first."""
    places = [start]
    for axis in axes:
        places = [p + k for p in places for k in axis]
    return places


@lru_cache(512)
def _places(shape: tuple, strides: tuple, start: int = 0) -> list[int]:
    return _sums(([i * s for i in range(n)] for n, s in zip(shape, strides)), start)


def _view(x: "ndarray", shape: tuple, strides: tuple, start: int = 0) -> "ndarray":
    if shape == x.shape and strides == _strides(shape) and not start:
        return _shaped(x, shape)
    a = x.a
    return ndarray([a[i] for i in _places(shape, strides, start)], shape, x.dtype)


def _spread(x: "ndarray", shape: tuple) -> list:
    """The elements, broadcast."""
    if x.shape == shape:
        return x.a
    if len(x.a) == 1:
        return x.a * math.prod(shape)
    return broadcast_to(x, shape).a


def broadcast_shapes(*shapes: tuple) -> tuple:
    rank = max(map(len, shapes), default=0)
    found = []
    for sizes in zip(*((1,) * (rank - len(s)) + tuple(s) for s in shapes)):
        n = next((n for n in sizes if n != 1), 1)
        if any(m not in (1, n) for m in sizes):
            raise ValueError(f"shapes {shapes} can't be broadcast together")
        found.append(n)
    return tuple(found)


def broadcast_to(x: Any, shape: Any) -> "ndarray":
    x, shape = asarray(x), (shape,) if isinstance(shape, int) else tuple(shape)
    if broadcast_shapes(x.shape, shape) != shape:
        raise ValueError(f"{x.shape} can't be broadcast to {shape}")
    own = [0 if n == 1 else s for n, s in zip(x.shape, _strides(x.shape))]
    return _view(x, shape, (0,) * (len(shape) - x.ndim) + tuple(own))


def broadcast_arrays(*arrays: Any) -> list:
    arrays = [asarray(x) for x in arrays]
    return [broadcast_to(x, broadcast_shapes(*(y.shape for y in arrays))) for x in arrays]


def _located(shape: tuple, key: Any) -> tuple[list[int], tuple]:
    """Where the elements are that brackets name, and their shape. Arrays of indices stand where the first one
    does, or in front of all where a slice is between two."""
    parts: list[Any] = []
    for k in key if isinstance(key, tuple) else (key,):
        k = asarray(k) if isinstance(k, list | range) else k
        is_mask = isinstance(k, ndarray) and k.dtype is bool_
        parts += nonzero(k) if is_mask else [k]
    used = sum(k is not None and k is not Ellipsis for k in parts)
    at = next((i for i, k in enumerate(parts) if k is Ellipsis), len(parts))
    parts[at : at + 1] = [slice(None)] * (len(shape) - used)
    arrays = [i for i, k in enumerate(parts) if isinstance(k, ndarray) and k.ndim]
    common = broadcast_shapes(*(parts[i].shape for i in arrays))
    start, d, strides = 0, 0, _strides(shape)
    before: list[tuple[int, list]] = []
    after, offsets = [], [0] * math.prod(common)
    first = arrays[0] if arrays and arrays[-1] - arrays[0] < len(arrays) else -1 if arrays else len(parts)
    for i, k in enumerate(parts):
        axes = before if i < first else after
        if k is None:
            axes.append((1, [0]))
            continue
        n, s = shape[d], strides[d]
        if isinstance(k, slice):
            axes.append((len(taken := range(*k.indices(n))), [j * s for j in taken]))
        else:
            found = _spread(k, common) if i in arrays else [op.index(k)]
            if any(not -n <= j < n for j in found):
                raise IndexError(f"an index is out of {n}")
            if i in arrays:
                offsets = [o + (j + n if j < 0 else j) * s for o, j in zip(offsets, found)]
            else:
                start += (found[0] + n if found[0] < 0 else found[0]) * s
        d += 1
    if d != len(shape):
        raise IndexError("too many indices")
    middle = [offsets] if arrays else []
    places = _sums([*(a for _, a in before), *middle, *(a for _, a in after)], start)
    return places, (*(n for n, _ in before), *(common if arrays else ()), *(n for n, _ in after))


# --- functions of elements ---


def _safe(f: Callable, a: Any, *more: Any, other: Callable) -> list:
    """f of each; where it raises, another function."""
    try:
        return list(map(f, a, *more))
    except (ValueError, OverflowError, ZeroDivisionError):
        return [_one(f, v, other) for v in zip(a, *more)]


def _one(f: Callable, given: tuple, other: Callable) -> Any:
    try:
        return f(*given)
    except (ValueError, OverflowError, ZeroDivisionError):
        return other(*given)


def _ratio(x: float, y: float) -> float:
    return nan if y or not x or x != x else math.copysign(inf, x) * math.copysign(1, y)


def _power(x: float, y: float) -> float:
    if x == 0:
        return inf
    return inf if (abs(x) > 1) == (y > 0) else nan


def _logaddexp(x: float, y: float) -> float:
    top, low = (x, y) if x > y else (y, x)
    return top if top == low == -inf or top == inf else top + math.log1p(math.exp(low - top))


def _unary(f: Callable, other: Callable = lambda v: nan, to: str = "f") -> Callable:
    """A function of floats; of integers "f" makes floats, "" keeps what they are, "b" makes bools."""

    def call(x: Any) -> "ndarray":
        x = asarray(x)
        if not to and x.dtype.kind != "f":
            return x
        found = bool_ if to == "b" else x.dtype if x.dtype.kind == "f" else float64
        a = _safe(f, x.a, other=other)
        return ndarray(a if found in (bool_, float64) else _fit(a, found), x.shape, found)

    return call


class ufunc:
    """A function of two arrays: to is "" for their common dtype, "f" for floats, "b" for bools."""

    def __init__(
        self, f: Callable, other: Callable = lambda x, y: nan, to: str = "", whole: Callable | None = None
    ):
        self.f, self.other, self.to, self.whole = f, other, to, whole

    def __call__(self, x: Any, y: Any) -> "ndarray":
        found = result_type(*(v if type(v) in (bool, int, float) else asarray(v) for v in (x, y)))
        x, y = asarray(x), asarray(y)
        shape = x.shape if x.shape == y.shape else broadcast_shapes(x.shape, y.shape)
        if self.to == "f" and found.kind != "f":
            found = float64
        f, other = self.f, self.other
        if self.whole and found.kind != "f":
            f, other = self.whole, lambda x, y: 0
        a = _safe(f, _spread(x, shape), _spread(y, shape), other=other)
        if self.to == "b":
            return ndarray(a, shape, bool_)
        return ndarray(
            a if found is float64 and x.dtype.kind == y.dtype.kind == "f" else _fit(a, found), shape, found
        )

    def accumulate(self, x: Any, axis: int = 0) -> "ndarray":
        x = moveaxis(asarray(x), axis, -1)
        a = [v for row in _rows(x) for v in accumulate(row, lambda p, q: _one(self.f, (p, q), self.other))]
        return moveaxis(ndarray(_fit(a, x.dtype), x.shape, x.dtype), -1, axis)

    def at(self, x: "ndarray", key: Any, y: Any) -> None:
        places, shape = _located(x.shape, key)
        for p, v in zip(places, _spread(asarray(y), shape)):
            x.a[p] = self.f(x.a[p], v)
        x.a[:] = _fit(x.a, x.dtype)


def _whole(f: Callable) -> Callable:
    """floor and its like give integers, and know no infinities."""
    return _unary(lambda v: math.copysign(float(f(v)), v), lambda v: v, "")


add, multiply, subtract = ufunc(op.add, whole=op.add), ufunc(op.mul), ufunc(op.sub)
divide = ufunc(op.truediv, _ratio, "f")
power = ufunc(op.pow, _power)
floor_divide = ufunc(op.floordiv, _ratio, whole=op.floordiv)
remainder = mod = ufunc(op.mod, whole=op.mod)
fmod, copysign = ufunc(math.fmod), ufunc(math.copysign)
maximum = ufunc(lambda x, y: x if x > y or x != x else y)
minimum = ufunc(lambda x, y: x if x < y or x != x else y)
logaddexp = ufunc(_logaddexp, to="f")
left_shift, right_shift = ufunc(op.lshift), ufunc(op.rshift)
bitwise_and, bitwise_or, bitwise_xor = ufunc(op.and_), ufunc(op.or_), ufunc(op.xor)
equal, not_equal, less = ufunc(op.eq, to="b"), ufunc(op.ne, to="b"), ufunc(op.lt, to="b")
less_equal, greater, greater_equal = ufunc(op.le, to="b"), ufunc(op.gt, to="b"), ufunc(op.ge, to="b")
exp, exp2 = _unary(math.exp, lambda v: inf), _unary(math.exp2, lambda v: inf)
log = _unary(math.log, lambda v: nan if v else -inf)
log1p = _unary(math.log1p, lambda v: -inf if v == -1 else nan)
sqrt, sin, cos, tanh = map(_unary, (math.sqrt, math.sin, math.cos, math.tanh))
floor, ceil, trunc = map(_whole, (math.floor, math.ceil, math.trunc))
rounded = rint = _whole(round)
isfinite, isnan, isinf = (_unary(f, to="b") for f in (math.isfinite, math.isnan, math.isinf))


def absolute(x: Any) -> "ndarray":
    x = asarray(x)
    return ndarray(
        _fit([*map(abs, x.a)], x.dtype) if x.dtype.kind == "i" else [*map(abs, x.a)], x.shape, x.dtype
    )


def negative(x: "ndarray") -> "ndarray":
    return ndarray(_fit([*map(op.neg, x.a)], x.dtype), x.shape, x.dtype)


def invert(x: Any) -> "ndarray":
    a = [*map(op.not_ if x.dtype is bool_ else op.invert, x.a)]
    return ndarray(_fit(a, x.dtype), x.shape, x.dtype)


def square(x: Any) -> "ndarray":
    return multiply(x, x)


def sign(x: Any) -> "ndarray":
    x = asarray(x)
    return ndarray(_fit([v if v != v else (v > 0) - (v < 0) for v in x.a], x.dtype), x.shape, x.dtype)


def where(c: Any, x: Any, y: Any) -> "ndarray":
    found, (c, x, y) = (
        result_type(*(v if type(v) in (bool, int, float) else asarray(v) for v in (x, y))),
        map(asarray, (c, x, y)),
    )
    shape = broadcast_shapes(c.shape, x.shape, y.shape)
    a = [p if k else q for k, p, q in zip(_spread(c, shape), _spread(x, shape), _spread(y, shape))]
    return ndarray(a if x.dtype is y.dtype is found else _fit(a, found), shape, found)


def clip(x: Any, low: Any = None, high: Any = None) -> "ndarray":
    x = x if low is None else maximum(x, low)
    return x if high is None else minimum(x, high)


def nan_to_num(x: Any, nan: float = 0.0, posinf: float = TOP, neginf: float = -TOP) -> "ndarray":
    return where(isnan(x), nan, where(x == inf, posinf, where(x == -inf, neginf, x)))


def frexp(x: Any) -> tuple:
    x = asarray(x)
    pairs = [*map(math.frexp, x.a)]
    return ndarray([p for p, _ in pairs], x.shape, x.dtype), ndarray(
        [int(q) for _, q in pairs], x.shape, int32
    )


def vectorize(f: Callable, otypes: Any = None) -> Callable:
    return _unary(f)


# --- reductions, along axes ---


def _rows(x: "ndarray") -> list[list]:
    n = x.shape[-1] if x.shape else 1
    return [x.a[i : i + n] for i in range(0, len(x.a), n)] if n else [[]] * math.prod(x.shape[:-1])


def _reduction(f: Callable, to: Callable = lambda t: t) -> Callable:
    def call(
        x: Any,
        axis: Any = None,
        dtype: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> "ndarray":
        x = asarray(x)
        axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
        axes = sorted(d % x.ndim for d in axes)
        left = [d for d in range(x.ndim) if d not in axes]
        found = _dtype(dtype) if dtype is not None else to(x.dtype)
        kept = tuple(1 if d in axes else n for d, n in enumerate(x.shape))
        taken = [] if where is None else [[v for v, k in zip(x.a, _spread(asarray(where), x.shape)) if k]]
        shape = tuple(x.shape[d] for d in left)
        rows = taken or _rows(
            x.transpose((*left, *axes)).reshape((*shape, math.prod(x.shape[d] for d in axes)))
        )
        rows = rows if initial is None else [[initial, *r] for r in rows]
        return ndarray(_fit([f(r) for r in rows], found), kept if keepdims else shape, found)

    return call


def _sized(t: dtype) -> dtype:
    return t if t.kind == "f" else uint64 if t.kind == "u" else int64


def _best(pick: Callable) -> Callable:
    return lambda row: nan if any(map(op.ne, row, row)) else pick(row)


summed, multiplied = _reduction(sum, _sized), _reduction(math.prod, _sized)
largest, least = _reduction(_best(max)), _reduction(_best(min))
some, every = _reduction(any, lambda t: bool_), _reduction(all, lambda t: bool_)
mean = _reduction(lambda r: sum(r) / len(r), lambda t: t if t.kind == "f" else float64)
argmax = _reduction(lambda r: r.index(max(r)), lambda t: int64)
argmin = _reduction(lambda r: r.index(min(r)), lambda t: int64)


def var(x: Any, axis: Any = None, keepdims: bool = False) -> "ndarray":
    away = x - mean(x, axis, keepdims=True)
    return mean(away * away, axis, keepdims=keepdims)


def cumsum(x: "ndarray", axis: int, dtype: Any = None) -> "ndarray":
    return add.accumulate(x.astype(dtype or _sized(x.dtype)), axis)


def polyval(p: Any, x: "ndarray") -> "ndarray":
    """The polynomial with the coefficients p, the highest power first."""
    total = zeros(x.shape, x.dtype)
    for coefficient in p:
        total = total * x + coefficient
    return total


def cumprod(x: "ndarray", axis: int, dtype: Any = None) -> "ndarray":
    return multiply.accumulate(x.astype(dtype or _sized(x.dtype)), axis)


# --- what moves elements ---


def transpose(x: "ndarray", *dims: Any) -> "ndarray":
    dims = dims[0] if dims and not isinstance(dims[0], int) else dims
    order = [d % x.ndim for d in dims or range(x.ndim)[::-1]]
    strides = _strides(x.shape)
    return _view(x, tuple(x.shape[d] for d in order), tuple(strides[d] for d in order))


def moveaxis(x: "ndarray", source: int, to: int) -> "ndarray":
    order = [d for d in range(x.ndim) if d != source % x.ndim] if x.ndim else []
    if x.ndim:
        order.insert(to % x.ndim, source % x.ndim)
    return transpose(x, order) if x.ndim else x


def swapaxes(x: "ndarray", a: int, b: int) -> "ndarray":
    order = list(range(x.ndim))
    order[a], order[b] = order[b], order[a]
    return transpose(x, order)


def reshape(x: "ndarray", *shape: Any) -> "ndarray":
    shape = tuple(shape[0]) if shape and not isinstance(shape[0], int) else shape
    if -1 in shape:
        at, rest = shape.index(-1), -math.prod(shape)
        shape = (*shape[:at], x.size // rest if rest else 0, *shape[at + 1 :])
    if math.prod(shape) != x.size:
        raise ValueError(f"{x.shape} can't be reshaped to {shape}")
    return _shaped(x, shape)


def _shaped(x: "ndarray", shape: tuple) -> "ndarray":
    """The same elements."""
    return ndarray(x.a, shape, x.dtype) if x.raw is None else ndarray(None, shape, x.dtype, x.raw)


def squeeze(x: "ndarray", axis: Any = None) -> "ndarray":
    axes = [d % x.ndim for d in ((axis,) if isinstance(axis, int) else axis or ())]
    left = [n for d, n in enumerate(x.shape) if (d not in axes if axis is not None else n != 1)]
    return reshape(x, left)


def expand_dims(x: "ndarray", axis: int) -> "ndarray":
    return reshape(x, (*x.shape[:axis], 1, *x.shape[axis:]))


def along(x: Any, axis: int, key: Any) -> "ndarray":
    """Brackets at one axis."""
    return x[(*(slice(None),) * (axis % x.ndim), key)]


def flip(x: "ndarray", axis: Any) -> "ndarray":
    for d in (axis,) if isinstance(axis, int) else axis:
        x = along(x, d, slice(None, None, -1))
    return x


def roll(x: "ndarray", by: int, axis: int) -> "ndarray":
    n = x.shape[axis]
    return along(x, axis, [(i - by) % n for i in range(n)])


def repeat(x: "ndarray", n: int, axis: int) -> "ndarray":
    return along(x, axis, [i for i in range(x.shape[axis]) for _ in range(n)])


def take(x: "ndarray", index: Any, axis: int) -> "ndarray":
    return along(x, axis, asarray(index))


def diff(x: "ndarray", axis: int = -1) -> "ndarray":
    return along(x, axis, slice(1, None)) - along(x, axis, slice(None, -1))


def concatenate(arrays: Any, axis: int = 0) -> "ndarray":
    arrays = [asarray(x) for x in arrays]
    found, axis = result_type(*arrays), axis % arrays[0].ndim
    inner = math.prod(arrays[0].shape[axis + 1 :])
    parts = [(x.a, x.shape[axis] * inner) for x in arrays]
    outer = range(math.prod(arrays[0].shape[:axis]))
    a = list(chain.from_iterable(a[i * n : (i + 1) * n] for i in outer for a, n in parts))
    shape = (*arrays[0].shape[:axis], sum(x.shape[axis] for x in arrays), *arrays[0].shape[axis + 1 :])
    return ndarray(_fit(a, found), shape, found)


def stack(arrays: Any, axis: int = 0) -> "ndarray":
    arrays = [asarray(x) for x in arrays]
    axis = axis % (arrays[0].ndim + 1)
    return concatenate([expand_dims(x, axis) for x in arrays], axis)


def pad(x: Any, widths: Any, constant_values: Any = 0) -> "ndarray":
    y = full(tuple(b + n + a for n, (b, a) in zip(x.shape, widths)), constant_values, x.dtype)
    y[tuple(slice(b, b + n) for n, (b, _) in zip(x.shape, widths))] = x
    return y


def sliding_window_view(x: "ndarray", spans: Any, axis: Any) -> "ndarray":
    spans, axes = ((v,) if isinstance(v, int) else v for v in (spans, axis))
    shape, strides = list(x.shape), _strides(x.shape)
    for n, d in zip(spans, axes):
        shape[d] -= n - 1
    return _view(x, (*shape, *spans), (*strides, *(strides[d] for d in axes)))


# --- products, orders, places ---


def einsum(terms: str, x: "ndarray", y: "ndarray", optimize: bool = True) -> "ndarray":
    """Of two arrays. What only one of them has, and the result has not, is not allowed."""
    (a, b), out = terms.split("->")[0].split(","), terms.split("->")[1]
    both, k = [c for c in a if c in b and c in out], [c for c in a if c in b and c not in out]
    m, n = [c for c in a if c not in b], [c for c in b if c not in a]
    size = dict(zip(a + b, x.shape + y.shape))
    count, rows, columns, depth = (math.prod(size[c] for c in group) for group in (both, m, n, k))
    left = transpose(x, [a.index(c) for c in both + m + k]).a
    right = transpose(y, [b.index(c) for c in both + n + k]).a
    made = []
    for i in range(count):
        first = [left[j : j + depth] for j in range(i * rows * depth, (i + 1) * rows * depth, depth or 1)]
        second = [
            right[j : j + depth] for j in range(i * columns * depth, (i + 1) * columns * depth, depth or 1)
        ]
        made += [_dot(p, q) for p in first for q in second]
    order, found = both + m + n, result_type(x, y)
    made = made if depth else [0] * (count * rows * columns)
    y = ndarray(_fit(made, found), tuple(size[c] for c in order), found)
    return transpose(y, [order.index(c) for c in out])


def _dot(p: list, q: list) -> Any:
    return sum(map(op.mul, p, q))


def matmul(x: "ndarray", y: "ndarray") -> "ndarray":
    if x.ndim == 1:
        return matmul(x[None], y).squeeze(-2)
    lead = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x, y = (broadcast_to(v, (*lead, *v.shape[-2:])) for v in (x, y))
    letters = "abcdef"[: len(lead)]
    return einsum(f"{letters}mk,{letters}kn->{letters}mn", x, y)


def argsort(x: "ndarray", axis: int = -1, kind: str = "") -> "ndarray":
    x = moveaxis(x, axis, -1)
    a = [i for row in _rows(x) for i in sorted(range(len(row)), key=row.__getitem__)]
    return moveaxis(ndarray(a, x.shape, int64), -1, axis)


def take_along_axis(x: "ndarray", index: "ndarray", axis: int) -> "ndarray":
    return x[_along(index, axis, x.ndim)]


def put_along_axis(x: "ndarray", index: "ndarray", values: Any, axis: int) -> None:
    x[_along(index, axis, x.ndim)] = values


def _along(index: "ndarray", axis: int, rank: int) -> tuple:
    where = indices(index.shape)
    where[axis % rank] = index
    return tuple(where)


def indices(shape: tuple) -> list:
    return [
        broadcast_to(arange(n).reshape((-1, *(1,) * (len(shape) - d - 1))), shape)
        for d, n in enumerate(shape)
    ]


def nonzero(x: "ndarray") -> list:
    found = argwhere(x)
    return [found[:, d] for d in range(x.ndim)]


def argwhere(x: "ndarray") -> "ndarray":
    found = [p for p, v in zip(product(*map(range, x.shape)), x.a) if v]
    return ndarray([i for p in found for i in p], (len(found), x.ndim), int64)


def unravel_index(i: Any, shape: tuple) -> tuple:
    return tuple(int(i) // s % n for n, s in zip(shape, _strides(shape)))


def bincount(x: "ndarray", minlength: int = 0) -> "ndarray":
    a = [0] * max([minlength, *(v + 1 for v in x.a)])
    for v in x.a:
        a[v] += 1
    return ndarray(a, (len(a),), int64)


def array_equal(x: Any, y: Any) -> bool:
    return x.shape == y.shape and x.a == y.a


# --- new arrays ---


def asarray(given: Any, dtype: Any = None) -> "ndarray":
    """A number, nested lists of numbers or arrays, or an array, which is not copied."""
    if not isinstance(given, ndarray):
        if isinstance(given, list | tuple | range):
            parts = [asarray(v) for v in given]
            found = result_type(*parts) if parts else float64
            shape = parts[0].shape if parts else ()
            given = ndarray(_fit([v for p in parts for v in p.a], found), (len(parts), *shape), found)
        else:
            given = ndarray([given], (), _dtype(type(given)))
    return given if dtype is None else given.astype(dtype, copy=False)


def full(shape: Any, value: Any, dtype: Any = None) -> "ndarray":
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    (value,) = asarray(value, dtype).a
    return ndarray([value] * math.prod(shape), shape, asarray(value, dtype).dtype)


def zeros(shape: Any, dtype: Any = float64) -> "ndarray":
    return full(shape, 0, dtype)


def ones(shape: Any, dtype: Any = float64) -> "ndarray":
    return full(shape, 1, dtype)


def zeros_like(x: "ndarray", dtype: Any = None) -> "ndarray":
    return full(x.shape, 0, dtype or x.dtype)


def ones_like(x: "ndarray") -> "ndarray":
    return full(x.shape, 1, x.dtype)


def arange(*ends: Any, dtype: Any = int64) -> "ndarray":
    a = list(range(*map(int, ends)))
    return ndarray(_fit(a, _dtype(dtype)), (len(a),), _dtype(dtype))


def tri(rows: int, columns: int, dtype: Any = float64) -> "ndarray":
    return less_equal(arange(columns), arange(rows).reshape(-1, 1)).astype(dtype)


def triangle(keep: ufunc) -> Callable:
    def call(x: "ndarray", k: int = 0) -> "ndarray":
        return where(keep(arange(x.shape[-1]), arange(x.shape[-2]).reshape(-1, 1) + k), x, zeros_like(x))

    return call


tril, triu = triangle(less_equal), triangle(greater_equal)


def frombuffer(raw: Any, dtype: Any) -> "ndarray":
    found, raw = _dtype(dtype), memoryview(raw).cast("B")
    if len(raw) % found.itemsize:
        raise ValueError(f"{len(raw)} bytes are no whole number of {found}")
    return ndarray(None, (len(raw) // found.itemsize,), found, raw)


class ndarray:
    """Elements in a list (a) or, until somebody asks for that, in bytes (raw); a shape and a dtype."""

    __slots__ = ("a", "dtype", "raw", "shape")
    __array_priority__ = 1
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, a: list | None, shape: tuple, dtype: dtype, raw: memoryview | None = None):
        self.shape, self.dtype, self.raw = shape, dtype, raw
        if a is not None:
            self.a = a

    def __getattr__(self, name: str) -> Any:
        if name != "a":
            raise AttributeError(f"this small NumPy's arrays have no {name}")
        self.a = list(struct.unpack(f"<{self.size}{self.dtype.code}", self.raw or b""))
        self.raw = None  # elements may be assigned to from now on
        return self.a

    ndim = property(lambda x: len(x.shape))
    size = property(lambda x: math.prod(x.shape))
    T = property(transpose)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> "ndarray":
        places, shape = _located(self.shape, key)
        a = self.a
        return ndarray([a[i] for i in places], shape, self.dtype)

    def __setitem__(self, key: Any, value: Any) -> None:
        places, shape = _located(self.shape, key)
        for p, v in zip(places, _fit(_spread(asarray(value), shape), self.dtype)):
            self.a[p] = v

    def __repr__(self) -> str:
        return f"array({self.tolist()}, {self.dtype})"

    def item(self) -> Any:
        (value,) = self.a
        return value

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        return op.index(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def tolist(self) -> Any:
        a = self.a
        for n in self.shape[:0:-1]:
            a = [a[i : i + n] for i in range(0, len(a), n)] if n else [[]] * self.shape[0]
        return a[:] if self.shape else a[0]

    def copy(self) -> "ndarray":
        if self.raw is not None:
            return frombuffer(bytes(self.raw), self.dtype).reshape(self.shape)
        return ndarray(self.a[:], self.shape, self.dtype)

    def astype(self, to: Any, copy: bool = True) -> "ndarray":
        to = _dtype(to)
        return self if to is self.dtype and not copy else ndarray(_fit(self.a, to), self.shape, to)

    def tobytes(self) -> bytes:
        if self.raw is not None:
            return bytes(self.raw)
        return struct.pack(f"<{len(self.a)}{self.dtype.code}", *self.a)

    def view(self, to: Any) -> "ndarray":
        return frombuffer(self.tobytes(), to).reshape(self.shape)

    def __buffer__(self, flags: int) -> memoryview:
        raw = self.tobytes() if self.raw is None else self.raw
        return memoryview(raw).cast("B").cast(self.dtype.code)


def _reflected(f: Callable) -> Callable:
    return lambda x, y: f(y, x)


for _name, _f in {
    "add": add, "sub": subtract, "mul": multiply, "truediv": divide, "floordiv": floor_divide,
    "mod": remainder, "pow": power, "and": bitwise_and, "or": bitwise_or, "xor": bitwise_xor,
    "lshift": left_shift, "rshift": right_shift, "matmul": matmul,
}.items():  # fmt: skip
    setattr(ndarray, f"__{_name}__", lambda x, y, f=_f: f(x, y))
    setattr(ndarray, f"__r{_name}__", _reflected(_f))
for _name, _f in {
    "lt": less, "le": less_equal, "gt": greater, "ge": greater_equal, "eq": equal, "ne": not_equal,
}.items():  # fmt: skip
    setattr(ndarray, f"__{_name}__", lambda x, y, f=_f: f(x, y))
for _name, _f in {
    "neg": negative, "abs": absolute, "invert": invert,
}.items():  # fmt: skip
    setattr(ndarray, f"__{_name}__", _f)
for _name, _f in {
    "sum": summed, "prod": multiplied, "max": largest, "min": least, "any": some, "all": every,
    "mean": mean, "var": var, "argmax": argmax, "argmin": argmin, "cumsum": cumsum,
    "cumprod": cumprod, "transpose": transpose, "swapaxes": swapaxes, "reshape": reshape, "squeeze": squeeze,
}.items():  # fmt: skip
    setattr(ndarray, _name, lambda x, *args, f=_f, **kw: f(x, *args, **kw))

# --- random numbers, and names that are Python's here ---


class Generator:
    """Draws by Python's generator: not NumPy's numbers."""

    def __init__(self, seed: Any):
        self.of = _random.Random(repr(seed))

    def _drawn(self, draw: Callable, size: Any, to: dtype) -> Any:
        if size is None:
            return draw()
        shape = (size,) if isinstance(size, int) else tuple(size)
        return ndarray([draw() for _ in range(math.prod(shape))], shape, to)

    def integers(self, low: int, high: int | None = None, size: Any = None) -> Any:
        low, high = (0, low) if high is None else (low, high)
        return self._drawn(lambda: self.of.randrange(low, high), size, int64)

    def random(self, size: Any = None) -> Any:
        return self._drawn(self.of.random, size, float64)

    def standard_normal(self, size: Any = None) -> Any:
        return self._drawn(lambda: self.of.gauss(0.0, 1.0), size, float64)

    def choice(self, options: Any, size: Any = None) -> Any:
        return self._drawn(lambda: self.of.choice(options), size, float64)

    def permutation(self, n: int) -> "ndarray":
        return asarray(self.of.sample(range(n), n), int64)


class errstate:
    """Nothing here warns."""

    def __init__(self, **kw: Any):
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: Any) -> None:
        pass


class _Brackets:
    def __getitem__(self, key: Any) -> Any:
        return key


s_, bitwise_not, empty_like = _Brackets(), invert, zeros_like
array, ascontiguousarray = lambda x, dtype=None: asarray(x, dtype).copy(), asarray
lib = SimpleNamespace(stride_tricks=SimpleNamespace(sliding_window_view=sliding_window_view))
random = SimpleNamespace(default_rng=Generator, get_state=lambda: ("", b""))
_PYTHON = {
    "abs": absolute, "sum": summed, "prod": multiplied, "max": largest, "min": least, "any": some,
    "all": every, "round": rounded, "pow": power, "bool": bool_,
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _PYTHON:
        raise AttributeError(f"this small NumPy has no {name}")
    return _PYTHON[name]
