"""Elementwise ops of 64-bit integers in 32-bit words, and in int32 where a value is known to fit.

A rule takes values (`Integer`, or tensors where an input is of another dtype) and gives one.
"""

from collections.abc import Callable
from typing import Any

from ..core import dtype as dt
from ..core.node import Node
from ..core.op import OPS, Op, apply, constant
from ..core.shape import Shape, broadcast
from . import words as w
from .pair import Pair, Words, applied, tensor_of

Range = tuple[int, int]  # the least and the largest that a value may be
INT32: Range = (-(2**31), 2**31 - 1)


class Integer(Pair):
    """A value of 64 bits whose range is known: `narrow` is an int32 tensor that has it, where one can."""

    def __init__(
        self,
        dtype: dt.DType,
        shape: Shape,
        words: Words | None = None,
        packed: Any = None,
        narrow: Any = None,
        within: Range | None = None,
    ):
        super().__init__(dtype, shape, words, packed)
        info = dt.INTS[dtype]
        fits = within is not None and info.min <= within[0] and within[1] <= info.max
        self.range: Range = within if fits and within is not None else (info.min, info.max)
        self._narrow = narrow

    @property
    def is_signed(self) -> bool:
        return self.dtype.kind == "i"

    @property
    def is_narrow(self) -> bool:
        """Whether 32 bits with a sign hold it."""
        return INT32[0] <= self.range[0] and self.range[1] <= INT32[1]

    @property
    def narrow(self) -> Any:
        """The value in int32, where that holds it."""
        if self._narrow is None:
            self._narrow = self.words[0].to(dt.int32)
        return self._narrow

    @property
    def words(self) -> Words:
        if not self.has_words:
            x = self.narrow
            high = (x >> 31).to(dt.uint32) if self.range[0] < 0 else filled(x, 0)
            self._words = x.to(dt.uint32), high
        return super().words

    @property
    def node(self) -> Node:
        return super().node if self._narrow is None else self._narrow.node

    @property
    def top(self) -> Any:
        """The high word as it is compared: with its sign, where it has one."""
        return self.words[1].to(dt.int32) if self.is_signed else self.words[1]

    @property
    def is_negative(self) -> Any:
        """Whether it is below 0, of what has a sign."""
        return self.narrow < 0 if self.is_narrow else self.top < 0

    def nodes(self) -> list[Node]:
        return super().nodes() if self._narrow is None else [*super().nodes(), self._narrow.node]

    def of(self, words: Words) -> "Integer":
        return Integer(self.dtype, words[0].shape, words)

    def mapped(self, f: Callable[[Any], Any]) -> "Integer":
        low, high = self.range
        within = min(low, 0), max(high, 0)
        if self.is_narrow:
            return narrowed(self.dtype, f(self.narrow), within)
        words = self.words
        made = f(words[0]), f(words[1])
        return Integer(self.dtype, made[0].shape, made, within=within)

    def repacked(self, packed: Any) -> "Integer":
        low, high = self.range
        return Integer(self.dtype, packed.shape[:-1], packed=packed, within=(min(low, 0), max(high, 0)))


def narrowed(dtype: dt.DType, x: Any, within: Range = INT32) -> Integer:
    """An int32 tensor as a value of a wider dtype."""
    return Integer(dtype, x.shape, narrow=x, within=(max(within[0], INT32[0]), min(within[1], INT32[1])))


def widened(dtype: dt.DType, low: Any, high: Any, within: Range | None = None) -> Integer:
    """Two words as a value."""
    shape = broadcast(low.shape, high.shape)
    low, high = (x if x.shape == shape else x.expand(*shape) for x in (low, high))
    return Integer(dtype, shape, (low, high), within=within)


def filled(like: Any, value: int, dtype: dt.DType = dt.uint32) -> Any:
    """One value in the shape of a tensor, wherever that is."""
    return full(like.shape, value, dtype, like.node.device)


def full(shape: Shape, value: int, dtype: dt.DType, device: Any) -> Any:
    """One value in a shape."""
    return tensor_of(apply(OPS["expand"], (constant(value, dtype=dtype),), {"shape": shape}, device=device))


def number(dtype: dt.DType, value: int, like: Any) -> Integer:
    """A small number in the shape of a tensor."""
    return narrowed(dtype, filled(like, value, dt.int32), (value, value))


def spread(x: Integer, shape: Shape) -> Integer:
    """A value broadcast to a shape."""
    return x if x.shape == shape else x.mapped(lambda t: t.expand(*shape))


# --- sums and products ---


def _fits(within: Range) -> bool:
    return INT32[0] <= within[0] and within[1] <= INT32[1]


def add(a: Integer, b: Integer) -> Integer:
    within = a.range[0] + b.range[0], a.range[1] + b.range[1]
    if a.is_narrow and b.is_narrow and _fits(within):
        return narrowed(a.dtype, a.narrow + b.narrow, within)
    (a0, a1), (b0, b1) = a.words, b.words
    low = a0 + b0
    return widened(a.dtype, low, a1 + b1 + (low < a0).to(dt.uint32), within)


def subtract(a: Integer, b: Integer) -> Integer:
    within = a.range[0] - b.range[1], a.range[1] - b.range[0]
    if a.is_narrow and b.is_narrow and _fits(within) and dt.INTS[a.dtype].min <= within[0]:
        return narrowed(a.dtype, a.narrow - b.narrow, within)
    (a0, a1), (b0, b1) = a.words, b.words
    return widened(a.dtype, a0 - b0, a1 - b1 - (a0 < b0).to(dt.uint32), within)


def negate(a: Integer) -> Integer:
    like = a.narrow if a.is_narrow else a.words[0]
    return subtract(number(a.dtype, 0, like), a)


def multiply(a: Integer, b: Integer) -> Integer:
    corners = [x * y for x in a.range for y in b.range]
    within = min(corners), max(corners)
    if a.is_narrow and b.is_narrow and _fits(within):
        return narrowed(a.dtype, a.narrow * b.narrow, within)
    (a0, a1), (b0, b1) = a.words, b.words
    return widened(a.dtype, a0 * b0, w.word(w.MULTIPLY_HIGH, a0, b0) + a0 * b1 + a1 * b0, within)


def _long(ops: list[Op], a: Integer, b: Integer) -> Integer:
    """An op of two whole numbers that gives each of its words by itself."""
    low, high = (w.word(op, *a.words, *b.words) for op in ops)
    return widened(a.dtype, low, high)


def absolute(a: Integer) -> Integer:
    if not a.is_signed or a.range[0] >= 0:
        return a
    return choose(a.is_negative, negate(a), a)


def _divided(a: Integer, b: Integer) -> tuple[Integer, Integer]:
    """(the quotient towards 0, what is left)"""
    quotient = _long(w.DIVIDE, absolute(a), absolute(b))
    if a.is_signed and (a.range[0] < 0 or b.range[0] < 0):
        quotient = choose(a.is_negative ^ b.is_negative, negate(quotient), quotient)
    left = subtract(a, multiply(quotient, b))
    return quotient, choose(is_zero(b), number(a.dtype, 0, left.words[0]), left)


def _divides_narrow(a: Integer, b: Integer) -> bool:
    """Whether int32 divides them: -2**31 by -1 it does not."""
    return a.is_narrow and b.is_narrow and a.range[0] > INT32[0]


def _is_off(left: Integer, b: Integer) -> Any:
    """Whether what is left has not the sign of the divisor: the floor is one lower."""
    return ~is_zero(left) & (left.is_negative ^ b.is_negative)


def _within_divisor(a: Integer, b: Integer) -> Range:
    most = max(abs(b.range[0]), abs(b.range[1]), 1) - 1
    low = -most if a.is_signed and (a.range[0] < 0 or b.range[0] < 0) else 0
    return low, most


def floor_divide(a: Integer, b: Integer) -> Integer:
    most = max(abs(a.range[0]), abs(a.range[1]))
    within = (-most if a.is_signed else 0), most
    if _divides_narrow(a, b):
        return narrowed(a.dtype, a.narrow // b.narrow, within)
    quotient, left = _divided(a, b)
    if a.is_signed:
        off = number(a.dtype, 1, left.words[0])
        quotient = choose(_is_off(left, b), subtract(quotient, off), quotient)
    return quotient


def remainder(a: Integer, b: Integer) -> Integer:
    if _divides_narrow(a, b):
        return narrowed(a.dtype, a.narrow % b.narrow, _within_divisor(a, b))
    _, left = _divided(a, b)
    found = choose(_is_off(left, b), add(left, b), left) if a.is_signed else left
    return widened(a.dtype, *found.words, _within_divisor(a, b))


def truncated_remainder(a: Integer, b: Integer) -> Integer:
    if _divides_narrow(a, b):
        return narrowed(a.dtype, applied("fmod", a.narrow, b.narrow), _within_divisor(a, b))
    return widened(a.dtype, *_divided(a, b)[1].words, _within_divisor(a, b))


def power(a: Integer, b: Integer) -> Integer:
    """1 and -1 alone have negative powers that are not 0, and those are their positive ones."""
    made = _long(w.POWER, a, absolute(b))
    if not a.is_signed or b.range[0] >= 0:
        return made
    one = number(a.dtype, 1, made.words[0])
    lost = b.is_negative & ~equal(absolute(a), one)
    return choose(lost, number(a.dtype, 0, made.words[0]), made)


def common_divisor(a: Integer, b: Integer) -> Integer:
    return _long(w.DIVISOR, absolute(a), absolute(b))


# --- comparisons ---


def is_zero(a: Integer) -> Any:
    return a.narrow == 0 if a.is_narrow else (a.words[0] | a.words[1]) == 0


def equal(a: Integer, b: Integer) -> Any:
    if a.is_narrow and b.is_narrow:
        return a.narrow == b.narrow
    (a0, a1), (b0, b1) = a.words, b.words
    return (a0 == b0) & (a1 == b1)


def less(a: Integer, b: Integer) -> Any:
    if a.is_narrow and b.is_narrow:
        return a.narrow < b.narrow
    return (a.top < b.top) | ((a.words[1] == b.words[1]) & (a.words[0] < b.words[0]))


def choose(condition: Any, a: Integer, b: Integer) -> Integer:
    within = min(a.range[0], b.range[0]), max(a.range[1], b.range[1])
    if a.is_narrow and b.is_narrow:
        return narrowed(a.dtype, condition.where(a.narrow, b.narrow), within)
    pairs = zip(a.words, b.words, strict=True)
    return widened(a.dtype, *[condition.where(x, y) for x, y in pairs], within=within)


def sign(a: Integer) -> Integer:
    above = (~is_zero(a)).to(dt.int32)
    if not a.is_signed:
        return narrowed(a.dtype, above, (0, 1))
    return narrowed(a.dtype, a.is_negative.where(-1, above), (-1, 1))


# --- bits ---


def _bitwise(name: str) -> Callable[..., Integer]:
    def rule(a: Integer, *b: Integer) -> Integer:
        both = (a, *b)
        if all(x.is_narrow for x in both) and (a.is_signed or name != "bitwise_not"):
            bits = max(max(abs(x.range[0]), abs(x.range[1])).bit_length() for x in both)
            low = 0 if all(x.range[0] >= 0 for x in both) and name != "bitwise_not" else -(2**bits)
            return narrowed(a.dtype, applied(name, *[x.narrow for x in both]), (low, 2**bits - 1))
        words = [applied(name, *part) for part in zip(*[x.words for x in both], strict=True)]
        known = [x.range[1] for x in both if x.range[0] >= 0] if name == "bitwise_and" else []
        return widened(a.dtype, *words, within=(0, min(known)) if known else None)

    return rule


def _count(b: Integer) -> Any:
    """By how many bits to shift: 64 for what is outside 0 to 63."""
    inside = (b.narrow >= 0) & (b.narrow < 64) if b.is_narrow else (b.words[1] == 0) & (b.words[0] < 64)
    return inside.where(b.words[0], 64)


def shift_left(a: Integer, b: Integer) -> Integer:
    """A word shifted by 32 or more is 0, and so is one by less than 0: what crosses over comes out right."""
    low, high = a.words
    n = _count(b)
    return widened(a.dtype, low << n, (high << n) | (low >> (32 - n)) | (low << (n - 32)))


def shift_right(a: Integer, b: Integer) -> Integer:
    within = min(a.range[0], 0, -1 if a.range[0] < 0 else 0), max(a.range[1], 0)
    n = _count(b)
    if a.is_narrow:
        return narrowed(a.dtype, a.narrow >> n.to(dt.int32), within)
    low, high = a.words
    crossed = (low >> n) | (high << (32 - n))
    if not a.is_signed:
        return widened(a.dtype, crossed | (high >> (n - 32)), high >> n, within)
    top = high.to(dt.int32)
    far = (top >> (n - 32).to(dt.int32)).to(dt.uint32)
    return widened(a.dtype, (n < 32).where(crossed, far), (top >> n.to(dt.int32)).to(dt.uint32), within)


# --- casts ---


def from_float(x: Any, dtype: dt.DType) -> Integer:
    """A float towards 0: its halves by powers of 2 are exact. What does not fit has no defined value."""
    x = x.float()
    size = x.abs().trunc()
    high = (size * 2.0**-32).trunc()
    made = widened(dtype, (size - high * 2.0**32).to(dt.uint32), high.to(dt.uint32))
    return choose(x < 0, negate(made), made)


def to_float(a: Integer, dtype: dt.DType) -> Any:
    """The nearest float, halves to even."""
    if a.is_narrow:
        return a.narrow.to(dtype)
    size = w.word(w.FLOAT, *absolute(a).words)
    return (a.is_negative.where(-size, size) if a.is_signed else size).to(dtype)


def cast(x: Any, to: dt.DType) -> Any:
    """From or to 64 bits, or both."""
    if not isinstance(x, Integer):
        return from_float(x, to) if x.dtype.is_float else extended(x, to)
    if to.is_pair:
        words = x.words if not x.is_narrow else None
        same = x.range[0] >= 0
        if x.is_narrow and same:
            return narrowed(to, x.narrow, x.range)
        return widened(to, *(words or x.words), within=x.range)
    if to.is_float:
        return to_float(x, to)
    if to.kind == "b":
        return ~is_zero(x)
    return x.narrow.to(to) if x.is_narrow else x.words[0].to(to)


def extended(x: Any, to: dt.DType) -> Integer:
    """An integer of 32 bits or less, or a bool, in 64."""
    if x.dtype is dt.uint32:
        return widened(to, x, filled(x, 0), (0, 2**32 - 1))
    within = range_of(x.node)
    x = x.to(dt.int32)
    if to.kind == "u" and within[0] < 0:
        return widened(to, x.to(dt.uint32), (x >> 31).to(dt.uint32))
    return narrowed(to, x, within)


def range_of(node: Node) -> Range:
    """What the values of 32 bits or less lie in, as far as the graph says."""
    zero = False
    while node.buffer is None and (node.op.kind == "movement" or node.op.kind == "composite"):
        zero |= node.op.name in ("_pad", "_windows")
        node = node.inputs[0]
    low, high = _range_here(node)
    return (min(low, 0), max(high, 0)) if zero else (low, high)


def _range_here(node: Node) -> Range:
    if node.dtype.kind == "b":
        return 0, 1
    info = dt.INTS[node.dtype]
    found = (info.min, info.max)
    if node.buffer is not None:
        return found
    if node.op.name == "iota":
        return 0, max(node.attrs["n"] - 1, 0)
    if node.op.name == "_inside":
        return (-1 if node.attrs["mode"] == "known" else 0), max(node.attrs["n"] - 1, 0)
    if node.op.name in ("_argsort", "_cummax", "_cummin"):
        return 0, max(max(node.shape, default=1) - 1, 0)
    if node.op.name == "cast" and node.inputs[0].dtype.kind in "iub" and not node.inputs[0].dtype.is_pair:
        low, high = range_of(node.inputs[0])
        return (low, high) if found[0] <= low and high <= found[1] else found
    return found


def from_constant(node: Node, word: Callable[[int, dt.DType], Any]) -> Integer:
    """A host number: word(i, dtype) is a tensor of its i-th word."""
    bits = node.attrs.get("bits", 64)
    if bits < 32:
        size = 2**bits - (bits == 31)
        low = -size if node.dtype.kind == "i" else 0
        return narrowed(node.dtype, word(0, dt.int32), (low, size))
    return widened(node.dtype, word(0, dt.uint32), word(1, dt.uint32))


def index_of(x: Any) -> Any:
    """Places in int32: what does not fit is as far outside as can be."""
    if not isinstance(x, Integer):
        return x
    if x.is_narrow:
        return x.narrow
    return w.word(w.INDEX[x.dtype.kind], *x.words)


def inside(x: Any, **attrs: Any) -> Any:
    if not isinstance(x, Integer) or x.is_narrow:
        return tensor_of(apply(OPS["_inside"], (index_of(x).node,), attrs))
    nodes = tuple(t.node for t in (index_of(x), *x.words))
    return tensor_of(apply(w.INSIDE, nodes, {**attrs, "kind": x.dtype.kind}))


def _same(x: Any) -> Any:
    return x


OF_ONE: dict[str, Callable[[Integer], Any]] = {
    "neg": negate,
    "abs": absolute,
    "sign": sign,
    "floor": _same,
    "ceil": _same,
    "trunc": _same,
    "round": _same,
    "relu": lambda x: choose(x.is_negative, number(x.dtype, 0, x.words[0]), x) if x.is_signed else x,
    "square": lambda x: multiply(x, x),
}
OF_TWO: dict[str, Callable[[Integer, Integer], Any]] = {
    "add": add,
    "sub": subtract,
    "mul": multiply,
    "pow": power,
    "gcd": common_divisor,
    "floor_divide": floor_divide,
    "remainder": remainder,
    "fmod": truncated_remainder,
    "maximum": lambda x, y: choose(less(x, y), y, x),
    "minimum": lambda x, y: choose(less(y, x), y, x),
    "eq": equal,
    "ne": lambda x, y: ~equal(x, y),
    "lt": less,
    "gt": lambda x, y: less(y, x),
    "le": lambda x, y: ~less(y, x),
    "ge": lambda x, y: ~less(x, y),
}
RULES: dict[str, Callable[..., Any]] = {
    **OF_ONE,
    **OF_TWO,
    "bitwise_and": _bitwise("bitwise_and"),
    "bitwise_or": _bitwise("bitwise_or"),
    "bitwise_xor": _bitwise("bitwise_xor"),
    "bitwise_not": _bitwise("bitwise_not"),
    "bitwise_left_shift": shift_left,
    "bitwise_right_shift": shift_right,
    "where": choose,
    "cast": cast,
    "_inside": inside,
}
