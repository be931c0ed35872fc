"""Declares elementwise ops of 32-bit words that 64-bit integers need and the op table lacks.

Each is a macro of its name in wgsl/lib/elementwise.wgsl; the functions behind them are in lib/words.wgsl.
"""

from collections.abc import Callable
from typing import Any

from ..core import dtype as dt
from ..core.op import OPS, Op, apply
from ..core.shape import Shape
from .pair import tensor_of

Reference = Callable[..., Any]  # an op on arrays, of a namespace as NumPy's and the arrays


def _both(f: Callable[[Any, Any, Any], Any]) -> tuple[Reference, Reference]:
    """References of the two ops that compute the low and the high word of f, a function of 64-bit numbers."""

    def word(part: int) -> Reference:
        def reference(xp: Any, *words: Any) -> Any:
            # words: low and high of each operand in turn.
            wide = [xp.astype(w, "uint64") for w in words]
            values = [low | high << 32 for low, high in zip(wide[::2], wide[1::2], strict=True)]
            return xp.astype(f(xp, *values) >> 32 * part & 0xFFFFFFFF, "uint32")

        return reference

    return word(0), word(1)


def _quotient(xp: Any, a: Any, b: Any) -> Any:
    return xp.where(b == 0, 0, a // xp.where(b == 0, 1, b))  # NumPy warns if it divides by 0


def _float(xp: Any, low: Any, high: Any) -> Any:
    value = xp.astype(low, "uint64") | xp.astype(high, "uint64") << 32
    return xp.astype(value, "float32")


def _index(signed: bool) -> Reference:
    def reference(xp: Any, low: Any, high: Any) -> Any:
        value = xp.astype(low, "uint64") | xp.astype(high, "uint64") << 32
        value = xp.astype(value, "int64") if signed else xp.minimum(value, 2**31 - 1)
        return xp.astype(xp.clip(value, -(2**31), 2**31 - 1), "int32")

    return reference


def _high_product(xp: Any, a: Any, b: Any) -> Any:
    return xp.astype(xp.astype(a, "uint64") * b >> 32, "uint32")


def _op(name: str, xp: Reference, cost: int, dtype: dt.DType = dt.uint32) -> Op:
    def dtype_of(*_: dt.DType) -> dt.DType:
        return dtype

    return Op("elementwise", xp=xp, dtype=dtype_of, cost=cost, name=name)


# The last number is the cost of an element (Op.cost): 64 for those that loop over the bits.
MULTIPLY_HIGH = _op("multiply_high", _high_product, 4)
DIVIDE = [_op(f"divide_{w}", f, 64) for w, f in zip(("low", "high"), _both(_quotient), strict=True)]
POWER = [
    _op(f"power_{w}", f, 64)
    for w, f in zip(("low", "high"), _both(lambda xp, x, y: xp.pow(x, y)), strict=True)
]
DIVISOR = [
    _op(f"divisor_{w}", f, 64)
    for w, f in zip(("low", "high"), _both(lambda xp, x, y: xp.gcd(x, y)), strict=True)
]
FLOAT = _op("whole_to_float", _float, 8, dt.float32)

# The index as int32; one that does not fit is clamped, so that it stays out of range.
INDEX = {kind: _op(f"index_{kind}64", _index(kind == "i"), 2, dt.int32) for kind in "iu"}


def _inside(xp: Any, index: Any, low: Any, high: Any, kind: str, **attrs: Any) -> Any:
    reference = OPS["_inside"].xp
    assert reference is not None, "the op of the table has a reference"
    return reference(xp, index, **attrs)


def _shape_of_index(s: Shape, *_: Shape, **__: Any) -> Shape:
    return s


def _int32(*_: dt.DType, **__: Any) -> dt.DType:
    return dt.int32


# `_inside` of an int32 index, with the two words of the 64-bit index (kind i or u), which the fault reports.
INSIDE = Op("elementwise", xp=_inside, shape=_shape_of_index, dtype=_int32, name="_inside")


def word(op: Op, *words: Any) -> Any:
    """Apply an op of words to tensors."""
    return tensor_of(apply(op, tuple([w.node for w in words]), {}))
