"""Computes elementwise ops of 64-bit integers in 32-bit words, or in int32 if the value is known to fit.

A rule takes values (`Integer`, or tensors for inputs of other dtypes) and returns one.
"""

from collections.abc import Callable
from typing import Any

from ..core import dtype as dt
from ..core.node import Node
from ..core.op import OPS, Op, apply, constant
from ..core.shape import Shape, broadcast
from . import words as w
from .pair import Pair, Words, call_op, tensor_of

Range = tuple[int, int]  # the least and the largest that a value may be
INT32: Range = (-(2**31), 2**31 - 1)


class Integer(Pair):
    """A 64-bit value with a known range. narrow: the value as an int32 tensor, if the range fits."""

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
        # A range beyond the dtype's means that values may wrap around: then nothing is known of them.
        fits = within is not None and info.min <= within[0] and within[1] <= info.max
        self.range: Range = within if fits and within is not None else (info.min, info.max)
        self._narrow = narrow

    @property
    def is_signed(self) -> bool:
        return self.dtype.kind == "i"

    @property
    def is_narrow(self) -> bool:
        """Whether the range fits int32."""
        return INT32[0] <= self.range[0] and self.range[1] <= INT32[1]

    @property
    def narrow(self) -> Any:
        """The value as int32; only valid if `is_narrow`."""
        if self._narrow is None:
            self._narrow = self.words[0].to(dt.int32)
        return self._narrow

    @property
    def words(self) -> Words:
        if not self.has_words:
            x = self.narrow
            # The sign bit in all bits of the high word, or 0.
            high = (x >> 31).to(dt.uint32) if self.range[0] < 0 else fill_like(x, 0)
            self._words = x.to(dt.uint32), high
        return super().words

    @property
    def node(self) -> Node:
        return super().node if self._narrow is None else self._narrow.node

    @property
    def top(self) -> Any:
        """The high word for comparisons: as int32 if the dtype is signed, else as uint32."""
        return self.words[1].to(dt.int32) if self.is_signed else self.words[1]

    @property
    def is_negative(self) -> Any:
        """Whether the value is below 0; for signed dtypes."""
        return self.narrow < 0 if self.is_narrow else self.top < 0

    def nodes(self) -> list[Node]:
        return super().nodes() if self._narrow is None else [*super().nodes(), self._narrow.node]

    def of(self, words: Words) -> "Integer":
        return Integer(self.dtype, words[0].shape, words)

    def map_words(self, f: Callable[[Any], Any]) -> "Integer":
        low, high = self.range
        # f may insert zeros (padding).
        within = min(low, 0), max(high, 0)
        if self.is_narrow:
            return from_narrow(self.dtype, f(self.narrow), within)
        words = self.words
        mapped = f(words[0]), f(words[1])
        return Integer(self.dtype, mapped[0].shape, mapped, within=within)

    def with_packed(self, packed: Any) -> "Integer":
        low, high = self.range
        return Integer(self.dtype, packed.shape[:-1], packed=packed, within=(min(low, 0), max(high, 0)))


def from_narrow(dtype: dt.DType, x: Any, within: Range = INT32) -> Integer:
    """An int32 tensor as a value of a wider dtype."""
    return Integer(dtype, x.shape, narrow=x, within=(max(within[0], INT32[0]), min(within[1], INT32[1])))


def from_words(dtype: dt.DType, low: Any, high: Any, within: Range | None = None) -> Integer:
    """A value of two words, which broadcast."""
    shape = broadcast(low.shape, high.shape)
    low, high = (x if x.shape == shape else x.expand(*shape) for x in (low, high))
    return Integer(dtype, shape, (low, high), within=within)


def fill_like(like: Any, value: int, dtype: dt.DType = dt.uint32) -> Any:
    """A tensor of one value in the shape and on the device of another."""
    return full(like.shape, value, dtype, like.node.device)


def full(shape: Shape, value: float, dtype: dt.DType, device: Any) -> Any:
    """A tensor of one value in a shape."""
    return tensor_of(apply(OPS["expand"], (constant(value, dtype=dtype),), {"shape": shape}, device=device))


def number(dtype: dt.DType, value: int, like: Any) -> Integer:
    """Return a small number in the shape of a tensor."""
    return from_narrow(dtype, fill_like(like, value, dt.int32), (value, value))


def expand_to(x: Integer, shape: Shape) -> Integer:
    """A value broadcast to a shape."""
    return x if x.shape == shape else x.map_words(lambda t: t.expand(*shape))


# --- sums and products ---


def _fits(within: Range) -> bool:
    return INT32[0] <= within[0] and within[1] <= INT32[1]


def add(a: Integer, b: Integer) -> Integer:
    within = a.range[0] + b.range[0], a.range[1] + b.range[1]
    if a.is_narrow and b.is_narrow and _fits(within):
        return from_narrow(a.dtype, a.narrow + b.narrow, within)
    (a0, a1), (b0, b1) = a.words, b.words
    low = a0 + b0
    # The low words' sum wrapped around iff it is below an operand: that is the carry.
    return from_words(a.dtype, low, a1 + b1 + (low < a0).to(dt.uint32), within)


def subtract(a: Integer, b: Integer) -> Integer:
    within = a.range[0] - b.range[1], a.range[1] - b.range[0]
    if a.is_narrow and b.is_narrow and _fits(within) and dt.INTS[a.dtype].min <= within[0]:
        return from_narrow(a.dtype, a.narrow - b.narrow, within)
    (a0, a1), (b0, b1) = a.words, b.words
    return from_words(a.dtype, a0 - b0, a1 - b1 - (a0 < b0).to(dt.uint32), within)  # minus the borrow


def negate(a: Integer) -> Integer:
    word = a.narrow if a.is_narrow else a.words[0]
    return subtract(number(a.dtype, 0, word), a)


def multiply(a: Integer, b: Integer) -> Integer:
    corners = [x * y for x in a.range for y in b.range]  # the extremes of a product are at corners
    within = min(corners), max(corners)
    if a.is_narrow and b.is_narrow and _fits(within):
        return from_narrow(a.dtype, a.narrow * b.narrow, within)
    (a0, a1), (b0, b1) = a.words, b.words
    # Modulo 2**64: a1 * b1 would only reach bits above 63.
    return from_words(a.dtype, a0 * b0, w.word(w.MULTIPLY_HIGH, a0, b0) + a0 * b1 + a1 * b0, within)


def _long(ops: list[Op], a: Integer, b: Integer) -> Integer:
    """A function of two 64-bit numbers, by the two ops that compute its words."""
    low, high = (w.word(op, *a.words, *b.words) for op in ops)
    return from_words(a.dtype, low, high)


def absolute(a: Integer) -> Integer:
    if not a.is_signed or a.range[0] >= 0:
        return a
    return choose(a.is_negative, negate(a), a)


def _divide(a: Integer, b: Integer) -> tuple[Integer, Integer]:
    """(quotient rounded towards 0, remainder). Division by 0 gives (0, 0)."""
    # The magnitude of -2**63 wraps to the words of 2**63, which are right as unsigned ones.
    quotient = _long(w.DIVIDE, absolute(a), absolute(b))
    if a.is_signed and (a.range[0] < 0 or b.range[0] < 0):
        quotient = choose(a.is_negative ^ b.is_negative, negate(quotient), quotient)
    left = subtract(a, multiply(quotient, b))
    return quotient, choose(is_zero(b), number(a.dtype, 0, left.words[0]), left)


def _divides_narrow(a: Integer, b: Integer) -> bool:
    """Whether int32 can divide them: not -2**31 / -1, which overflows."""
    return a.is_narrow and b.is_narrow and a.range[0] > INT32[0]


def _is_off(left: Integer, b: Integer) -> Any:
    """Whether the remainder is nonzero and has another sign than the divisor: the floor is one lower."""
    return ~is_zero(left) & (left.is_negative ^ b.is_negative)


def _within_divisor(a: Integer, b: Integer) -> Range:
    most = max(abs(b.range[0]), abs(b.range[1]), 1) - 1  # |remainder| < |divisor|
    low = -most if a.is_signed and (a.range[0] < 0 or b.range[0] < 0) else 0
    return low, most


def floor_divide(a: Integer, b: Integer) -> Integer:
    most = max(abs(a.range[0]), abs(a.range[1]))
    within = (-most if a.is_signed else 0), most
    if _divides_narrow(a, b):
        return from_narrow(a.dtype, a.narrow // b.narrow, within)
    quotient, left = _divide(a, b)
    if a.is_signed:
        off = number(a.dtype, 1, left.words[0])
        quotient = choose(_is_off(left, b), subtract(quotient, off), quotient)
    return quotient


def remainder(a: Integer, b: Integer) -> Integer:
    if _divides_narrow(a, b):
        return from_narrow(a.dtype, a.narrow % b.narrow, _within_divisor(a, b))
    _, left = _divide(a, b)
    floored = choose(_is_off(left, b), add(left, b), left) if a.is_signed else left
    return from_words(a.dtype, *floored.words, _within_divisor(a, b))


def truncated_remainder(a: Integer, b: Integer) -> Integer:
    if _divides_narrow(a, b):
        return from_narrow(a.dtype, call_op("fmod", a.narrow, b.narrow), _within_divisor(a, b))
    return from_words(a.dtype, *_divide(a, b)[1].words, _within_divisor(a, b))


def power(a: Integer, b: Integer) -> Integer:
    """a to the power b. Negative powers are 0, except of 1 and -1, whose negative powers equal the
    positive."""
    result = _long(w.POWER, a, absolute(b))
    if not a.is_signed or b.range[0] >= 0:
        return result
    one = number(a.dtype, 1, result.words[0])
    lost = b.is_negative & ~equal(absolute(a), one)
    return choose(lost, number(a.dtype, 0, result.words[0]), result)


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
    # Low words compare as unsigned, whatever the sign of the value.
    return (a.top < b.top) | ((a.words[1] == b.words[1]) & (a.words[0] < b.words[0]))


def choose(condition: Any, a: Integer, b: Integer) -> Integer:
    within = min(a.range[0], b.range[0]), max(a.range[1], b.range[1])
    if a.is_narrow and b.is_narrow:
        return from_narrow(a.dtype, condition.where(a.narrow, b.narrow), within)
    pairs = zip(a.words, b.words, strict=True)
    return from_words(a.dtype, *[condition.where(x, y) for x, y in pairs], within=within)


def sign(a: Integer) -> Integer:
    above = (~is_zero(a)).to(dt.int32)
    if not a.is_signed:
        return from_narrow(a.dtype, above, (0, 1))
    return from_narrow(a.dtype, a.is_negative.where(-1, above), (-1, 1))


# --- bits ---


def _bitwise(name: str) -> Callable[..., Integer]:
    def rule(a: Integer, *b: Integer) -> Integer:
        both = (a, *b)
        if all(x.is_narrow for x in both) and (a.is_signed or name != "bitwise_not"):
            # Bitwise ops can't set a bit above the highest of their operands, except for the sign.
            bits = max(max(abs(x.range[0]), abs(x.range[1])).bit_length() for x in both)
            low = 0 if all(x.range[0] >= 0 for x in both) and name != "bitwise_not" else -(2**bits)
            return from_narrow(a.dtype, call_op(name, *[x.narrow for x in both]), (low, 2**bits - 1))
        words = [call_op(name, *part) for part in zip(*[x.words for x in both], strict=True)]
        # `and` with a value that is not negative gives at most that value.
        upper_bounds = [x.range[1] for x in both if x.range[0] >= 0] if name == "bitwise_and" else []
        return from_words(a.dtype, *words, within=(0, min(upper_bounds)) if upper_bounds else None)

    return rule


def _count(b: Integer) -> Any:
    """The number of bits to shift by: 64 if it is outside 0 to 63."""
    inside = (b.narrow >= 0) & (b.narrow < 64) if b.is_narrow else (b.words[1] == 0) & (b.words[0] < 64)
    return inside.where(b.words[0], 64)


def shift_left(a: Integer, b: Integer) -> Integer:
    """Shift both words. Our shifts of a word by 32 or more, or by less than 0, give 0, so the bits that cross
    from the low to the high word need no case distinction."""
    low, high = a.words
    n = _count(b)
    return from_words(a.dtype, low << n, (high << n) | (low >> (32 - n)) | (low << (n - 32)))


def shift_right(a: Integer, b: Integer) -> Integer:
    within = min(a.range[0], 0, -1 if a.range[0] < 0 else 0), max(a.range[1], 0)
    n = _count(b)
    if a.is_narrow:
        return from_narrow(a.dtype, a.narrow >> n.to(dt.int32), within)
    low, high = a.words
    crossed = (low >> n) | (high << (32 - n))
    if not a.is_signed:
        return from_words(a.dtype, crossed | (high >> (n - 32)), high >> n, within)
    top = high.to(dt.int32)
    # Arithmetic shifts fill with the sign, so here the case n >= 32 has to be chosen.
    far = (top >> (n - 32).to(dt.int32)).to(dt.uint32)
    return from_words(a.dtype, (n < 32).where(crossed, far), (top >> n.to(dt.int32)).to(dt.uint32), within)


# --- casts ---


def from_float(x: Any, dtype: dt.DType) -> Integer:
    """A float rounded towards 0. Splitting it by powers of 2 is exact. Values out of range are undefined."""
    x = x.float()
    size = x.abs().trunc()
    high = (size * 2.0**-32).trunc()
    magnitude = from_words(dtype, (size - high * 2.0**32).to(dt.uint32), high.to(dt.uint32))
    return choose(x < 0, negate(magnitude), magnitude)


def to_float(a: Integer, dtype: dt.DType) -> Any:
    """The nearest float; ties to even."""
    if a.is_narrow:
        return a.narrow.to(dtype)
    # |a| to float with one rounding; converting the words one by one would round twice.
    size = w.word(w.FLOAT, *absolute(a).words)
    return (a.is_negative.where(-size, size) if a.is_signed else size).to(dtype)


def cast(x: Any, to: dt.DType) -> Any:
    """Cast from or to a 64-bit integer, or both."""
    if not isinstance(x, Integer):
        return from_float(x, to) if x.dtype.is_float else extend(x, to)
    if to.is_pair:
        words = x.words if not x.is_narrow else None
        same = x.range[0] >= 0
        if x.is_narrow and same:
            return from_narrow(to, x.narrow, x.range)
        return from_words(to, *(words or x.words), within=x.range)
    if to.is_float:
        return to_float(x, to)
    if to.kind == "b":
        return ~is_zero(x)
    return x.narrow.to(to) if x.is_narrow else x.words[0].to(to)


def extend(x: Any, to: dt.DType) -> Integer:
    """An integer of 32 bits or less, or a bool, as a 64-bit integer."""
    if x.dtype is dt.uint32:
        return from_words(to, x, fill_like(x, 0), (0, 2**32 - 1))
    within = range_of(x.node)
    x = x.to(dt.int32)
    if to.kind == "u" and within[0] < 0:
        return from_words(to, x.to(dt.uint32), (x >> 31).to(dt.uint32))
    return from_narrow(to, x, within)


def range_of(node: Node) -> Range:
    """Bounds of a node's values (32 bits or less), as far as the graph implies them."""
    zero = False
    while node.buffer is None and (node.op.kind == "movement" or node.op.kind == "composite"):
        zero |= node.op.name in ("_pad", "_windows")  # these insert zeros
        node = node.inputs[0]
    low, high = _range_here(node)
    return (min(low, 0), max(high, 0)) if zero else (low, high)


def _range_here(node: Node) -> Range:
    if node.dtype.kind == "b":
        return 0, 1
    info = dt.INTS[node.dtype]
    full_range = (info.min, info.max)
    if node.buffer is not None:
        return full_range
    if node.op.name == "iota":
        return 0, max(node.attrs["n"] - 1, 0)
    if node.op.name == "_inside":
        return (-1 if node.attrs["mode"] == "known" else 0), max(node.attrs["n"] - 1, 0)
    if node.op.name in ("_argsort", "_cummax", "_cummin"):
        return 0, max(max(node.inputs[0].shape, default=1) - 1, 0)
    if node.op.name == "cast" and node.inputs[0].dtype.kind in "iub" and not node.inputs[0].dtype.is_pair:
        low, high = range_of(node.inputs[0])
        return (low, high) if full_range[0] <= low and high <= full_range[1] else full_range
    return full_range


def from_constant(node: Node, word: Callable[[int, dt.DType], Any]) -> Integer:
    """A host number: word(i, dtype) is a tensor of its i-th word."""
    bits = node.attrs.get("bits", 64)
    if bits < 32:
        size = 2**bits - (bits == 31)  # `bits` bounds the magnitude
        low = -size if node.dtype.kind == "i" else 0
        return from_narrow(node.dtype, word(0, dt.int32), (low, size))
    return from_words(node.dtype, word(0, dt.uint32), word(1, dt.uint32))


def index_of(x: Any) -> Any:
    """An index as int32; one that does not fit is clamped, so that it stays out of range."""
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
