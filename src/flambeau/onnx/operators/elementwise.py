"""Arithmetic, comparisons, logic and functions of one element at a time."""

from functools import reduce
from typing import Any

from ...functions import where
from ...tensor import Tensor
from ..values import host
from .table import operator

UNARY = {  # ONNX's name: Flambeau's
    "Abs": "abs",
    "Acos": "acos",
    "Acosh": "acosh",
    "Asin": "asin",
    "Asinh": "asinh",
    "Atan": "atan",
    "Atanh": "atanh",
    "BitwiseNot": "bitwise_not",
    "Ceil": "ceil",
    "Cos": "cos",
    "Cosh": "cosh",
    "Erf": "erf",
    "Exp": "exp",
    "Floor": "floor",
    "IsNaN": "isnan",
    "Log": "log",
    "Neg": "neg",
    "Not": "logical_not",
    "Reciprocal": "reciprocal",
    "Round": "round",
    "Sign": "sign",
    "Sin": "sin",
    "Sinh": "sinh",
    "Sqrt": "sqrt",
    "Tan": "tan",
    "Tanh": "tanh",
}
BINARY = {
    "Add": "add",
    "And": "logical_and",
    "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
    "Greater": "gt",
    "GreaterOrEqual": "ge",
    "Less": "lt",
    "LessOrEqual": "le",
    "Mul": "mul",
    "Or": "logical_or",
    "Sub": "sub",
    "Xor": "logical_xor",
}


PRODUCTS = (2.0, 3.0)  # exponents that are computed by products


def _enter(names: dict[str, str], call: Any) -> None:
    for name, method in names.items():
        operator(name)(call(method))


def _unary(method: str) -> Any:
    def call(x: Tensor) -> Tensor:
        return getattr(x, method)()

    return call


def _binary(method: str) -> Any:
    def call(a: Tensor, b: Tensor, *, axis: int | None = None, broadcast: int = 0) -> Tensor:
        return getattr(a, method)(align_operand(a, b, axis, broadcast))

    return call


def align_operand(a: Tensor, b: Tensor, axis: int | None, broadcast: int) -> Tensor:
    """Reshape the second operand for NumPy's broadcasting; before opset 7 `axis` aligned its first dim."""
    if not broadcast or axis is None:
        return b
    # opsets 1 to 6: b's first dim corresponds to `axis` of a; trailing 1s align it from the end, as in NumPy
    axis += a.ndim if axis < 0 else 0
    return b.reshape(*b.shape, *[1] * (a.ndim - axis - b.ndim))


_enter(UNARY, _unary)
_enter(BINARY, _binary)


@operator("Div")
def div(a: Tensor, b: Tensor, *, axis: int | None = None, broadcast: int = 0) -> Tensor:
    b = align_operand(a, b, axis, broadcast)
    # integers are divided towards 0, as in C
    return a / b if a.dtype.is_float else a.div(b, rounding_mode="trunc")


@operator("Pow")
def power(a: Tensor, b: Tensor, *, axis: int | None = None, broadcast: int = 0, node: Any) -> Tensor:
    # Products are exact to rounding; WGSL's pow is neither that nor defined for negative bases.
    if a.dtype.is_float and b.ndim <= a.ndim and node.number(b) in PRODUCTS:
        return reduce(lambda x, y: x * y, [a] * int(node.number(b)))
    b = align_operand(a, b, axis, broadcast)
    # The result has the dtype of the base; a float exponent of integers is computed in floats.
    both = a.to(b.dtype) if b.dtype.is_float and not a.dtype.is_float else a
    return (both ** b.to(both.dtype)).to(a.dtype)


@operator("Mod")
def mod(a: Tensor, b: Tensor, *, fmod: int = 0) -> Tensor:
    # fmod=1: the dividend's sign, as in C; else the divisor's, as in Python
    return a.fmod(b) if fmod else a.remainder(b)


def _variadic(method: str) -> Any:
    def call(*xs: Tensor) -> Tensor:
        return reduce(getattr(Tensor, method), xs)

    return call


_enter({"Max": "maximum", "Min": "minimum", "Sum": "add"}, _variadic)


@operator("Mean")
def mean(*xs: Tensor) -> Tensor:
    return reduce(lambda a, b: a + b, xs) / len(xs)


@operator("Where", places=True)
def select(condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return where(condition, a, b)


@operator("Clip")
def clip_by_attributes(x: Tensor, *, min: float | None = None, max: float | None = None) -> Tensor:
    return clip(x, min, max)


@operator("Clip", since=11)
def clip(x: Tensor, low: Any = None, high: Any = None) -> Tensor:
    # The order matters: the spec says that high wins if low is above it.
    x = x if low is None else x.maximum(low)
    return x if high is None else x.minimum(high)


@operator("Equal", arrays=True)
def equal(a: Any, b: Any, *, axis: int | None = None, broadcast: int = 0) -> Tensor:
    if isinstance(a, Tensor):
        return a.eq(align_operand(a, b, axis, broadcast))
    return host(a == b, "bool")


@operator("IsInf")
def is_inf(x: Tensor, *, detect_negative: int = 1, detect_positive: int = 1) -> Tensor:
    infinite = x.isinf()
    infinite = infinite if detect_negative else infinite & (x > 0)
    return infinite if detect_positive else infinite & (x < 0)


@operator("BitShift")
def bit_shift(a: Tensor, b: Tensor, *, direction: str) -> Tensor:
    """Shift bits LEFT (up) or RIGHT (down)."""
    if direction not in ("LEFT", "RIGHT"):
        raise ValueError(f"direction={direction!r}: must be LEFT or RIGHT")
    return a << b if direction == "LEFT" else a >> b
