"""Elementwise ops of 32-bit words that no op of the table is: what 64-bit integers need beside sums and
bits.

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
    """A reference on whole numbers of 64 bits, of which an op gives one word."""

    def word(part: int) -> Reference:
        def reference(xp: Any, *words: Any) -> Any:
            wide = [xp.astype(w, "uint64") for w in words]
            whole = [low | high << 32 for low, high in zip(wide[::2], wide[1::2], strict=True)]
            return xp.astype(f(xp, *whole) >> 32 * part & 0xFFFFFFFF, "uint32")

        return reference

    return word(0), word(1)


def _quotient(xp: Any, a: Any, b: Any) -> Any:
    return xp.where(b == 0, 0, a // xp.where(b == 0, 1, b))


def _float(xp: Any, low: Any, high: Any) -> Any:
    whole = xp.astype(low, "uint64") | xp.astype(high, "uint64") << 32
    return xp.astype(whole, "float32")


def _index(signed: bool) -> Reference:
    def reference(xp: Any, low: Any, high: Any) -> Any:
        whole = xp.astype(low, "uint64") | xp.astype(high, "uint64") << 32
        whole = xp.astype(whole, "int64") if signed else xp.minimum(whole, 2**31 - 1)
        return xp.astype(xp.clip(whole, -(2**31), 2**31 - 1), "int32")

    return reference


def _high_product(xp: Any, a: Any, b: Any) -> Any:
    return xp.astype(xp.astype(a, "uint64") * b >> 32, "uint32")


def _op(name: str, xp: Reference, cost: int, dtype: dt.DType = dt.uint32) -> Op:
    def dtype_of(*_: dt.DType) -> dt.DType:
        return dtype

    return Op("elementwise", xp=xp, dtype=dtype_of, cost=cost, name=name)


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

# a place that does not fit in 32 bits is as far outside as can be
INDEX = {kind: _op(f"index_{kind}64", _index(kind == "i"), 2, dt.int32) for kind in "iu"}


def _inside(xp: Any, index: Any, low: Any, high: Any, kind: str, **attrs: Any) -> Any:
    reference = OPS["_inside"].xp
    assert reference is not None, "the op of the table has a reference"
    return reference(xp, index, **attrs)


def _shape_of_index(s: Shape, *_: Shape, **__: Any) -> Shape:
    return s


def _int32(*_: dt.DType, **__: Any) -> dt.DType:
    return dt.int32


# `_inside` of a place, with the words of the index (of `kind` i or u) that it was: the fault tells these
INSIDE = Op("elementwise", xp=_inside, shape=_shape_of_index, dtype=_int32, name="_inside")


def word(op: Op, *words: Any) -> Any:
    """An op of words, of tensors."""
    return tensor_of(apply(op, tuple([w.node for w in words]), {}))
