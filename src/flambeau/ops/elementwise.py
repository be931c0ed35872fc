"""Elementwise ops: one row each here, one macro of the same name in wgsl/lib/elementwise.wgsl."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack

from ..core import dtype as dt
from ..core.declare import composite, formula, kernel
from ..core.node import is_tensor
from ..core.op import UNORDERED, Family, check_held

if TYPE_CHECKING:
    from ..core.dtype import DType, DTypeLike
    from ..core.rules import Array, DTypeRule, OperandGradient, OperandRules, Prepared, Reference
    from ..device.array_namespace import Namespace
    from ..tensor import HostScalar, Tensor, TensorLike

# PyTorch raises an error as well
SIGNED = "bools have no signs or differences: use ~ or ^, or cast with .int()"


def float_dtype(*dtypes: DType) -> DType:
    """Integers are computed as the default floats."""
    return dt.promote(*dtypes).float_of()


def _number(*dtypes: DType) -> DType:
    """Bools are computed as the default integer."""
    common = dt.promote(*dtypes)
    return common if common.kind != "b" else dt.default_integer()


def _as_float(*dtypes: DType) -> DType:
    return dt.promote(*dtypes).as_float


def _bools_as_ints(*dtypes: DType) -> DType:
    """Bools are compared as int32."""
    common = dt.promote(*dtypes)
    return common if common.kind != "b" else dt.int32


def _bool(*_: Any, **__: Any) -> DType:
    return dt.bool_


def _reference(function: Reference | str) -> Reference:
    """`"exp"` becomes lambda xp, x: xp.exp(x)."""
    if not isinstance(function, str):
        return function

    def call(xp: Namespace, *arrays: Array) -> Array:
        return getattr(xp, function)(*arrays)

    return call


ANY = "fiubc"
P = ParamSpec("P")
R = TypeVar("R")


def elementwise(
    grad: OperandGradient | None,
    xp: Reference | str,
    dtype: DTypeRule = dt.promote,
    cost: int = 1,
    dtypes: str = "fiub",
    **rules: Unpack[OperandRules],
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare a row: the gradient (g, y, *operands), the reference, the dtype of the result, the price and
    the kinds that it supports; `operands` if their dtypes differ from the result's; see `Op` for the rest."""
    rules.setdefault("operands", dtype)
    return formula(grad=grad, xp=_reference(xp), dtype=dtype, cost=cost, dtypes=dtypes, **rules)


def analytic(
    grad: OperandGradient, xp: Reference | str, cost: int
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare a function of floats and complex numbers."""
    return elementwise(grad, xp, float_dtype, cost, dtypes=ANY)


def bitwise(xp: Reference | str, dtypes: str = "iub") -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare a function of the bits of integers."""
    return elementwise(None, xp, dtypes=dtypes)


def compare(
    xp: str, operands: DTypeRule = dt.promote, dtypes: str = ANY
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare a test of each element, or of each pair."""
    return elementwise(None, xp, _bool, operands=operands, dtypes=dtypes)


def order(xp: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare a comparison by size."""
    return elementwise(None, xp, _bool, operands=_bools_as_ints, refusal=UNORDERED)


def _power(xp: Namespace, x: Array, y: Array) -> Array:
    """x to the power y. NumPy raises for negative powers of integers: here they are 0 except for 1 and -1."""
    if xp.kind(x) == "f" and xp.is_numpy:
        x = xp.astype(x, "float64")  # NumPy's powers of float32 are off by one rounding step
    if xp.kind(x) in "fc" or xp.all(y >= 0):
        return xp.pow(x, y)
    odd = xp.where(y % 2 == 1, x, 1)  # a power of -1 is -1 again
    # 1 / x**n of integers, truncated: 0 unless x is 1 or -1 (also for x = 0, as in PyTorch).
    return xp.where(y >= 0, xp.pow(x, xp.abs(y)), xp.where(xp.abs(x) == 1, odd, 0))


def _power_grad(g: Tensor, z: Tensor, x: Tensor, y: Tensor) -> list[Tensor | None]:
    """The gradient with respect to the exponent is 0 where the base is 0 and the power not negative. No
    factor is infinite where another is 0, so that each can be differentiated again."""
    # d/dx x**y = y x**(y - 1) and d/dy x**y = z log(x). Where y is 0, the exponent of x becomes 0: x**-1 may
    # be infinite, and 0 * inf is NaN. Likewise log(1) replaces log(0).
    is_zeroth = y == 0
    flat = (x == 0) & ((y.real if y.dtype.is_complex else y) >= 0)
    return [
        is_zeroth.where(0.0, g) * (y * x ** (is_zeroth.where(1.0, y) - 1)),
        flat.where(0.0, g) * (z * flat.where(1.0, x).log()),
    ]


def _shift(op: str, rest: Callable[[Namespace, Array], Array]) -> Reference:
    """A count outside 0 to 31 (63 for 64 bits) shifts every bit out. `rest`, 0 or the sign, remains, as in
    PyTorch."""

    def reference(xp: Namespace, x: Array, y: Array) -> Array:
        # Shifts by the width or more are undefined in C, and so in NumPy.
        inside = (y >= 0) & (y < (64 if xp.name_of(x).endswith("64") else 32))
        return xp.where(inside, getattr(xp, op)(x, xp.astype(xp.where(inside, y, 0), x.dtype)), rest(xp, x))

    return reference


def scale_by(x: Any, alpha: Any, name: str = "alpha") -> Any:
    """alpha * x; x itself where alpha is 1. TypeError if x is an integer and alpha a float, as in PyTorch."""
    if isinstance(alpha, float) and not getattr(x, "dtype", dt.float32).has_gradients:
        raise TypeError(f"{name} must be an integer for integer tensors: cast with .float(), or round {name}")
    return x if isinstance(alpha, int | float) and alpha == 1 else x * alpha


def _remainder(xp: Namespace, x: Array, y: Array) -> Array:
    """A remainder of floats that is 0 has the sign of x, as in PyTorch."""
    # `remainder` has the sign of y already; fmod has that of x, so y is added where the signs differ.
    r = xp.fmod(x, y) if xp.kind(x) == "f" else xp.remainder(x, y)
    return xp.where((r != 0) & ((r < 0) != (y < 0)), r + y, r) if xp.kind(x) == "f" else r


def _atan2_grad(g: Tensor, z: Tensor, x: Tensor, y: Tensor) -> list[Tensor | None]:
    """The gradient is 0 at the origin, where the angle is undefined."""
    size = x * x + y * y
    is_origin = size == 0
    share = is_origin.where(0.0, g) / is_origin.where(1.0, size)
    return [share * y, -share * x]


def _share(g: Tensor, x: Tensor, y: Tensor, x_loses: Tensor, y_loses: Tensor) -> list[Tensor | None]:
    """Gradients of the extreme of two operands: g / 2 for each if they are equal; g for both if one
    is NaN."""
    half = (x == y).where(g * 0.5, g)
    return [x_loses.where(0.0, half), y_loses.where(0.0, half)]


def fit_to_dtype(value: Any, dtype: DType) -> Any:
    """A number, or a tensor, cast to a dtype: floats become integers towards 0, as in PyTorch. ValueError for
    infinity or NaN as an integer."""
    if is_tensor(value):
        return value.to(dtype)
    if dtype.has_gradients or not isinstance(value, int | float):
        return value
    if value - value != 0:
        raise ValueError(f"{dtype.name} has no {value}: cast the tensor with .float()")
    return bool(value) if dtype is dt.bool_ else int(value)


def _zeros(g: Tensor, x: Tensor) -> Tensor | None:
    return type(g).zeros(x.shape, dtype=g.dtype, device=g.device) if x.requires_grad else None


def _steps_grad(g: Tensor, y: Tensor, x: Tensor) -> list[Tensor | None]:
    """The gradient of a step function: 0, also where g is infinite or NaN."""
    return [_zeros(g, x)]  # no constant where no gradient is needed


def _zero_grads_of_two(g: Tensor, z: Tensor, x: Tensor, y: Tensor) -> list[Tensor | None]:
    return [_zeros(g, x), _zeros(g, y)]


def _zero_grads_of_others(g: Tensor, y: Tensor, value: Tensor, *others: Tensor) -> list[Tensor | None]:
    return [None, *(_zeros(g, x) for x in others)]


@composite(grad=_zero_grads_of_others)
def _with_zero_gradient(value: Tensor, *others: Any) -> Tensor:
    """`value` as a function of `others` with gradients 0, as in PyTorch: step functions computed it."""
    return value


with_zero_gradient = _with_zero_gradient


def _dependent_grad(g: Tensor, y: Tensor, value: Tensor, *others: Tensor) -> list[Tensor | None]:
    return [g, *(_zeros(g, x) for x in others)]


@composite(grad=_dependent_grad)
def _dependent(value: Tensor, *others: Any) -> Tensor:
    """`value` as a function of `others` too, with zero gradients: it uses none of their elements."""
    return value


def depend_on(value: Tensor, *others: Any) -> Tensor:
    """`_dependent` for the tensors that require gradients; `value` itself if none does."""
    used = [x for x in others if is_tensor(x) and x.requires_grad]
    return _dependent(value, *used) if used else value


# Functions instead of lambdas: sin's row would need the type of cos, and cos's that of sin.
def _sin_grad(g: Tensor, y: Tensor, x: Tensor) -> list[Tensor | None]:
    return [g * x.cos()]


def _sinh_grad(g: Tensor, y: Tensor, x: Tensor) -> list[Tensor | None]:
    return [g * x.cosh()]


def _neg_grad(g: Tensor, y: Tensor, x: Tensor) -> list[Tensor | None]:
    return [-g]


def _sub_grad(g: Tensor, z: Tensor, x: Tensor, y: Tensor) -> list[Tensor | None]:
    return [g, -g]


def _mul_grad(g: Tensor, z: Tensor, x: Tensor, y: Tensor) -> list[Tensor | None]:
    return [g * y, g * x]


def _div_grad(g: Tensor, z: Tensor, x: Tensor, y: Tensor) -> list[Tensor | None]:
    return [g / y, -g * z / y]


def _copysign_grad(g: Tensor, z: Tensor, x: Tensor, y: Tensor) -> list[Tensor | None]:
    # The factor is 1 if z kept the sign of x, else -1. At x = 0 it is 0, as in PyTorch.
    return [g * (z.signbit() == x.signbit()).where(1.0, -1.0) * (x != 0), _zeros(g, y)]


def _next_float(xp: Namespace, x: Array, y: Array) -> Array:
    # Kernels compute in float32, so 16-bit floats step between float32 numbers.
    wide = "float64" if "float64" in (xp.name_of(x), xp.name_of(y)) else "float32"
    return xp.nextafter(xp.astype(x, wide), xp.astype(y, wide))


def as_float(x: Any) -> Tensor:
    """x in float32; float64 and complex tensors keep their dtype."""
    wide = x.dtype.as_float
    return x if x.dtype is wide else x.to(wide)


@analytic(lambda g, y, x: [g * y], "exp", cost=4)
def exp(input: Tensor) -> Tensor:
    """e to the power input. [...] -> [...]"""
    ...


@analytic(lambda g, y, x: [g * y * math.log(2)], "exp2", cost=4)
def exp2(input: Tensor) -> Tensor:
    """2 to the power input. [...] -> [...]"""
    ...


@analytic(lambda g, y, x: [g * (y + 1)], "expm1", cost=8)
def expm1(input: Tensor) -> Tensor:
    """exp(input) - 1, exact near 0. [...] -> [...]"""
    ...


@analytic(lambda g, y, x: [g / x], "log", cost=4)
def log(input: Tensor) -> Tensor:
    """Natural logarithm. [...] -> [...]"""
    ...


@analytic(lambda g, y, x: [g / (x * math.log(2))], "log2", cost=4)
def log2(input: Tensor) -> Tensor:
    """Logarithm to base 2. [...] -> [...]"""
    ...


@analytic(lambda g, y, x: [g / (x * math.log(10))], "log10", cost=4)
def log10(input: Tensor) -> Tensor:
    """Logarithm to base 10. [...] -> [...]"""
    ...


@analytic(lambda g, y, x: [g / (x + 1)], "log1p", cost=8)
def log1p(input: Tensor) -> Tensor:
    """log(1 + input), exact near 0. [...] -> [...]"""
    ...


@analytic(lambda g, y, x: [g / (y * 2)], "sqrt", cost=2)
def sqrt(input: Tensor) -> Tensor:
    """Square root. [...] -> [...]"""
    ...


# d/dx x**-0.5 = -0.5 x**-1.5, by products of the result
@analytic(lambda g, y, x: [g * y * y * y * -0.5], lambda xp, x: 1 / xp.sqrt(x), cost=2)
def rsqrt(input: Tensor) -> Tensor:
    """1 / sqrt(input). [...] -> [...]"""
    ...


@analytic(lambda g, y, x: [-g * y * y], lambda xp, x: 1 / x, cost=2)
def reciprocal(input: Tensor) -> Tensor:
    """1 / input. [...] -> [...]"""
    ...


@analytic(_sin_grad, "sin", cost=4)
def sin(input: Tensor) -> Tensor:
    """Sine of input radians. [...] -> [...]"""
    ...


@analytic(lambda g, y, x: [-g * x.sin()], "cos", cost=4)
def cos(input: Tensor) -> Tensor:
    """Cosine of input radians. [...] -> [...]"""
    ...


@analytic(lambda g, y, x: [g * (y * y + 1)], "tan", cost=4)
def tan(input: Tensor) -> Tensor:
    """Tangent of input radians. [...] -> [...]"""
    ...


@analytic(lambda g, y, x: [g / (1 - x * x).sqrt()], "asin", cost=8)
def asin(input: Tensor) -> Tensor:
    """Inverse sine. [...] -> [...]"""
    ...


@analytic(lambda g, y, x: [-g / (1 - x * x).sqrt()], "acos", cost=8)
def acos(input: Tensor) -> Tensor:
    """Inverse cosine. [...] -> [...]"""
    ...


@analytic(lambda g, y, x: [g / (x * x + 1)], "atan", cost=8)
def atan(input: Tensor) -> Tensor:
    """Inverse tangent. [...] -> [...]"""
    ...


@analytic(_sinh_grad, "sinh", cost=8)
def sinh(input: Tensor) -> Tensor:
    """Hyperbolic sine. [...] -> [...]"""
    ...


@analytic(lambda g, y, x: [g * x.sinh()], "cosh", cost=8)
def cosh(input: Tensor) -> Tensor:
    """Hyperbolic cosine. [...] -> [...]"""
    ...


@analytic(lambda g, y, x: [g * (1 - y * y)], "tanh", cost=4)
def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent. [...] -> [...]"""
    ...


@analytic(lambda g, y, x: [g / (x * x + 1).sqrt()], "asinh", cost=8)
def asinh(input: Tensor) -> Tensor:
    """Inverse of sinh. [...] -> [...]"""
    ...


# two roots, not sqrt(x * x - 1): for complex x with a negative real part that is the other branch
@analytic(lambda g, y, x: [g / ((x - 1).sqrt() * (x + 1).sqrt())], "acosh", cost=8)
def acosh(input: Tensor) -> Tensor:
    """Inverse of cosh. [...] -> [...]"""
    ...


@analytic(lambda g, y, x: [g / (1 - x * x)], "atanh", cost=8)
def atanh(input: Tensor) -> Tensor:
    """Inverse of tanh. [...] -> [...]"""
    ...


@elementwise(
    lambda g, y, x: [g * (-x * x).exp() * (2 / math.sqrt(math.pi))], "erf", dtype=float_dtype, cost=8
)
def erf(input: Tensor) -> Tensor:
    """Error function. [...] -> [...]"""
    ...


@analytic(lambda g, y, x: [g * y * (1 - y)], lambda xp, x: 1 / (1 + xp.exp(-x)), cost=4)
def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-input)). [...] -> [...]"""
    ...


@elementwise(_neg_grad, "negative", dtypes="fiuc", refusal=SIGNED)
def neg(input: Tensor) -> Tensor:
    """-input. [...] -> [...]"""
    ...


@elementwise(
    lambda g, y, x: [g * x.sgn()],
    "abs",
    dtype=lambda d: d.real,
    operands=dt.promote,
    dtypes=ANY,
    holomorphic=False,
)
def abs(input: Tensor) -> Tensor:
    """Absolute value. [...] -> [...]"""
    ...


# not NumPy's sign, which is NaN for NaN: PyTorch's is 0
@elementwise(
    _steps_grad, lambda xp, x: xp.astype(xp.astype(x > 0, "int8") - xp.astype(x < 0, "int8"), x.dtype)
)
def sign(input: Tensor) -> Tensor:
    """-1, 0 or 1; 0 for NaN. [...] -> [...]"""
    ...


@elementwise(_steps_grad, "floor")
def floor(input: Tensor) -> Tensor:
    """Largest integer not above input. [...] -> [...]"""
    ...


@elementwise(_steps_grad, "ceil")
def ceil(input: Tensor) -> Tensor:
    """Smallest integer not below input. [...] -> [...]"""
    ...


@elementwise(_steps_grad, "trunc")
def trunc(input: Tensor) -> Tensor:
    """Integer part, towards 0. [...] -> [...]"""
    ...


# The gradient is 0 at 0, and g where the input is NaN, as in PyTorch.
@elementwise(
    lambda g, y, x: [(y <= 0).where(0.0, g)],
    lambda xp, x: xp.where(x < 0, xp.zeros_like(x), x),
    dtype=_number,
)
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0). [...] -> [...]"""
    ...


@elementwise(lambda g, y, x: [g * x * 2], "square", dtype=_number, dtypes=ANY)
def square(input: Tensor) -> Tensor:
    """input * input. [...] -> [...]"""
    ...


@compare("isnan", operands=float_dtype)
def isnan(input: Tensor) -> Tensor:
    """Whether input is not a number. [...] -> [...]"""
    ...


@compare("isinf", operands=float_dtype)
def isinf(input: Tensor) -> Tensor:
    """Whether input is infinite. [...] -> [...]"""
    ...


@compare("isfinite", operands=float_dtype)
def isfinite(input: Tensor) -> Tensor:
    """Whether input is neither infinite nor not a number. [...] -> [...]"""
    ...


@compare("logical_not", operands=_bool)
def logical_not(input: Tensor) -> Tensor:
    """Whether input is 0. [...] -> [...]"""
    ...


@elementwise(_mul_grad, "multiply", dtypes=ANY)
def mul(input: TensorLike, other: TensorLike) -> Tensor:
    """input * other. [...], [...] -> [...]"""
    ...


@elementwise(lambda g, z, x, y: _share(g, x, y, x < y, y < x), "maximum", refusal=UNORDERED)
def maximum(input: Tensor, other: TensorLike) -> Tensor:
    """The larger of input and other; NaN if either is. [...], [...] -> [...]"""
    ...


@elementwise(lambda g, z, x, y: _share(g, x, y, y < x, x < y), "minimum", refusal=UNORDERED)
def minimum(input: Tensor, other: TensorLike) -> Tensor:
    """The smaller of input and other; NaN if either is. [...], [...] -> [...]"""
    ...


# x - floor(x / y) y: the quotient is a step function, so it is a constant factor (detach)
@elementwise(lambda g, z, x, y: [g, -g * x.floor_divide(y).detach()], _remainder, dtype=_number, cost=4)
def remainder(input: TensorLike, other: TensorLike) -> Tensor:
    """input - floor(input / other) * other: the sign is other's. [...], [...] -> [...]"""
    ...


@elementwise(lambda g, z, x, y: [g, -g * (x / y).trunc().detach()], "fmod", dtype=_number, cost=4)
def fmod(input: TensorLike, other: TensorLike) -> Tensor:
    """input - trunc(input / other) * other: the sign is input's. [...], [...] -> [...]"""
    ...


@elementwise(_zero_grads_of_two, "floor_divide", dtype=_number, cost=4)
def floor_divide(input: TensorLike, other: TensorLike) -> Tensor:
    """floor(input / other). [...], [...] -> [...]"""
    ...


@elementwise(_atan2_grad, "atan2", dtype=float_dtype, cost=8)
def atan2(input: Tensor, other: TensorLike) -> Tensor:
    """Angle of the point (other, input), radians. [...], [...] -> [...]"""
    ...


@compare("equal")
def eq(input: Tensor, other: TensorLike) -> Tensor:
    """Whether input equals other. [...], [...] -> [...]"""
    ...


@compare("not_equal")
def ne(input: Tensor, other: TensorLike) -> Tensor:
    """Whether input and other differ. [...], [...] -> [...]"""
    ...


@order("less")
def lt(input: Tensor, other: TensorLike) -> Tensor:
    """Whether input < other. [...], [...] -> [...]"""
    ...


@order("less_equal")
def le(input: Tensor, other: TensorLike) -> Tensor:
    """Whether input <= other. [...], [...] -> [...]"""
    ...


@order("greater")
def gt(input: Tensor, other: TensorLike) -> Tensor:
    """Whether input > other. [...], [...] -> [...]"""
    ...


@order("greater_equal")
def ge(input: Tensor, other: TensorLike) -> Tensor:
    """Whether input >= other. [...], [...] -> [...]"""
    ...


@compare("logical_and", operands=_bool)
def logical_and(input: Tensor, other: TensorLike) -> Tensor:
    """Whether both are nonzero. [...], [...] -> [...]"""
    ...


@compare("logical_or", operands=_bool)
def logical_or(input: Tensor, other: TensorLike) -> Tensor:
    """Whether either is nonzero. [...], [...] -> [...]"""
    ...


@compare("logical_xor", operands=_bool)
def logical_xor(input: Tensor, other: TensorLike) -> Tensor:
    """Whether exactly one is nonzero. [...], [...] -> [...]"""
    ...


@bitwise("bitwise_and")
def bitwise_and(input: TensorLike, other: TensorLike) -> Tensor:
    """Bits set in both. [...], [...] -> [...]"""
    ...


@bitwise("bitwise_or")
def bitwise_or(input: TensorLike, other: TensorLike) -> Tensor:
    """Bits set in either. [...], [...] -> [...]"""
    ...


@bitwise("bitwise_xor")
def bitwise_xor(input: TensorLike, other: TensorLike) -> Tensor:
    """Bits set in exactly one. [...], [...] -> [...]"""
    ...


@bitwise("bitwise_not")
def bitwise_not(input: Tensor) -> Tensor:
    """Bits flipped. [...] -> [...]"""
    ...


@bitwise(_shift("bitwise_left_shift", lambda xp, x: 0), dtypes="iu")
def bitwise_left_shift(input: TensorLike, other: TensorLike) -> Tensor:
    """input * 2^other, bits shifted up. [...], [...] -> [...]"""
    ...


@bitwise(_shift("bitwise_right_shift", lambda xp, x: xp.astype(xp.where(x < 0, -1, 0), x.dtype)), dtypes="iu")
def bitwise_right_shift(input: TensorLike, other: TensorLike) -> Tensor:
    """Bits shifted down (sign kept). [...], [...] -> [...]"""
    ...


@elementwise(_copysign_grad, "copysign", dtype=float_dtype)
def copysign(input: Tensor, other: TensorLike) -> Tensor:
    """|input| with the sign of other. [...], [...] -> [...]"""
    ...


@compare("signbit", operands=float_dtype, dtypes="fiub")
def signbit(input: Tensor) -> Tensor:
    """Whether the sign bit is set (true for -0.0). [...] -> [...]"""
    ...


@elementwise(
    None,
    lambda xp, x: xp.where(xp.isfinite(x), xp.frexp(x)[1], 0),
    dtype=lambda d: dt.int32,
    operands=float_dtype,
)
def exponent(input: Tensor) -> Tensor:
    """e of input = m * 2**e with m in [0.5, 1). [...] -> [...]"""
    ...


@elementwise(
    lambda g, z, x, y: [(x == y).where(0.0, g), _zeros(g, y)],
    _next_float,
    dtype=_as_float,
    dtypes="fiub",
)
def nextafter(input: Tensor, other: TensorLike) -> Tensor:
    """The next float32 (float64 for float64) from input towards other. [...], [...] -> [...]"""
    ...


# NaN at the origin, where z is 0, as in PyTorch
@elementwise(lambda g, z, x, y: [g * x / z, g * y / z], "hypot", dtype=float_dtype, cost=8)
def hypot(input: Tensor, other: TensorLike) -> Tensor:
    """sqrt(input * input + other * other), safe for large input. [...], [...] -> [...]"""
    ...


# Euclid's algorithm is a loop, hence the cost
@elementwise(None, "gcd", dtype=_number, cost=64, dtypes="iub")
def gcd(input: Tensor, other: TensorLike) -> Tensor:
    """Greatest common divisor. [...], [...] -> [...]"""
    ...


@kernel(
    "elementwise",
    xp=_reference("logaddexp"),
    dtype=float_dtype,
    operands=float_dtype,
    cost=8,
    dtypes="fiub",
    # exp(x) / (exp(x) + exp(y)): the softmax of the two
    grad=lambda g, z, x, y: [g * (x - y).sigmoid(), g * (y - x).sigmoid()],
)
def logaddexp(input: Tensor, other: Tensor) -> Prepared:
    """log(exp(x) + exp(y)). [...], [...] -> [...]"""
    if any(getattr(v, "dtype", dt.bool_).is_complex for v in (input, other)):
        return _complex_logaddexp(input, other)
    return (input, other), {}


@kernel(
    "elementwise",
    xp=_reference("add"),
    dtype=dt.promote,
    operands=dt.promote,
    dtypes=ANY,
    grad=lambda g, z, x, y: [g, g],
)
def add(input: TensorLike, other: TensorLike, *, alpha: float | HostScalar = 1) -> Prepared:
    """input + alpha * other. [...], [...] -> [...]

    Raises TypeError if alpha is not an integer and the tensors hold integers.
    """
    product = scale_by(other, alpha)
    if product is not other and all(getattr(v, "dtype", None) is dt.bool_ for v in (input, other)):
        product = product.bool()  # as in PyTorch, the result is bools, too
    return (input, product), {}


@kernel(
    "elementwise",
    xp=_reference("subtract"),
    dtype=dt.promote,
    operands=dt.promote,
    dtypes="fiuc",
    refusal=SIGNED,
    grad=_sub_grad,
)
def sub(input: TensorLike, other: TensorLike, *, alpha: float | HostScalar = 1) -> Prepared:
    """input - alpha * other. [...], [...] -> [...]

    Raises TypeError if alpha is not an integer and the tensors hold integers.
    """
    return (input, scale_by(other, alpha)), {}


@kernel(
    "elementwise",
    xp=_power,
    dtype=_number,
    operands=_number,
    cost=8,
    dtypes=ANY,
    grad=_power_grad,
)
def pow(input: TensorLike, exponent: TensorLike) -> Prepared:
    """input to the power exponent; integer powers below 64 of floats are products. [...], [...] -> [...]

    exponent: the power, a number or a tensor
    Raises ValueError if an integer has a negative power.
    """
    is_integer = not getattr(input, "dtype", dt.float32).has_gradients
    if is_integer and isinstance(exponent, int) and exponent < 0:
        raise ValueError("integers have no negative powers: cast with .float()")
    return (input, exponent), {}


@kernel(
    "elementwise",
    xp=_reference("divide"),
    dtype=float_dtype,
    operands=float_dtype,
    cost=2,
    dtypes=ANY,
    grad=_div_grad,
)
def div(input: TensorLike, other: TensorLike, *, rounding_mode: str | None = None) -> Prepared:
    """input / other in floats; rounding_mode "floor" (down) or "trunc" (towards 0). [...], [...] -> [...]

    Raises ValueError if rounding_mode is unknown.
    """
    if rounding_mode not in (None, "floor", "trunc"):
        raise ValueError(f"rounding_mode={rounding_mode!r} is unknown: use None, 'floor' or 'trunc'")
    if rounding_mode is None:
        return (input, other), {}
    return _divide(input, other, rounding_mode)


@kernel("elementwise", xp=_reference("round"), dtype=dt.promote, grad=_steps_grad, dtypes="fiub")
def round(input: Tensor, *, decimals: int = 0) -> Prepared:
    """The nearest integer (or multiple of 10**-decimals), halves to even. [...] -> [...]"""
    if not decimals:
        return (input,), {}
    scale = 10.0 ** builtins.abs(decimals)
    return (input * scale).round() / scale if decimals > 0 else (input / scale).round() * scale


@kernel(
    "elementwise",
    xp=lambda xp, x, e: xp.ldexp(x, e),
    cost=4,
    dtypes="fiub",
    dtype=lambda x, e: float_dtype(x),
    operands=lambda x, e: (float_dtype(x), dt.int32),
    grad=lambda g, z, x, e: [g.ldexp(e), None],
)
def ldexp(input: Tensor, other: Tensor) -> Prepared:
    """input * 2**other: exact if other is an integer, by exp2 if it is a float. [...], [...] -> [...]"""
    is_float = isinstance(other, float) or getattr(other, "dtype", dt.int32).has_gradients
    if is_float or input.dtype.is_complex:
        powers = other if is_tensor(other) else input.new_tensor(other, dtype=dt.float32)
        return input * powers.exp2()
    return (input, other), {}


@kernel(
    "elementwise",
    xp=lambda xp, c, x, y: xp.where(c, x, y),
    dtype=lambda c, x, y: dt.promote(x, y),
    operands=lambda c, x, y: (dt.bool_, *(dt.promote(x, y),) * 2),
    dtypes=ANY,
    grad=lambda g, z, c, x, y: [None, c.where(g, 0.0), c.where(0.0, g)],
)
def where(condition: Tensor, input: TensorLike, other: TensorLike) -> Prepared:
    """`input` where the condition is true, else `other`. [...], [...], [...] -> [...]"""
    return (condition, input, other), {}


@kernel(
    "elementwise",
    xp=lambda xp, x, to: xp.astype(x, to.numpy),
    dtype=lambda d, to: to,
    dtypes=ANY,
    shape=lambda s, to: s,
    grad=lambda g, y, x, to: [g],  # backward casts it
    holomorphic=False,
)
def cast(input: Tensor, to: DTypeLike) -> Prepared:
    """The same values in another dtype; floats are truncated to integers. [...] -> [...]

    TypeError for complex numbers to real ones, and for float64 on a GPU.

    to: the dtype
    """
    to = dt.as_dtype(to)
    if input.dtype.is_complex and not (to.is_complex or to is dt.bool_):
        raise TypeError(f"complex numbers cannot become {to.name}: take .real, .imag or .abs() first")
    if not to.on_gpu:
        check_held(to, input.device)
    return (input,), {"to": to}


absolute, negative = abs, neg
arccos, arcsin, arctan, arctan2 = acos, asin, atan, atan2
arccosh, arcsinh, arctanh = acosh, asinh, atanh
subtract, multiply, divide, true_divide, fix = sub, mul, div, div, trunc
greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, ne


class Elementwise(Family):
    __neg__, __abs__, __invert__ = neg, abs, bitwise_not
    __add__, __sub__, __mul__, __truediv__ = add, sub, mul, div
    __mod__, __floordiv__ = remainder, floor_divide
    __radd__, __rmul__ = add, mul
    __lt__, __le__, __gt__, __ge__ = lt, le, gt, ge
    __and__, __or__, __xor__ = bitwise_and, bitwise_or, bitwise_xor
    __rand__, __ror__, __rxor__ = bitwise_and, bitwise_or, bitwise_xor
    __lshift__, __rshift__ = bitwise_left_shift, bitwise_right_shift

    # object.__eq__ and __ne__ return bool
    def __eq__(self: Any, other: Any) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return NotImplemented if other is None else eq(self, other)

    def __ne__(self: Any, other: Any) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return NotImplemented if other is None else ne(self, other)

    def __pow__(self: Any, other: TensorLike) -> Tensor:
        """x ** 2 is the most common power by far, and pow is the slowest function."""
        squares = isinstance(other, int | float) and other == 2
        # an integer to the power of a float is a float
        keeps_dtype = not isinstance(other, float) or self.dtype.has_gradients
        return self.square() if squares and keeps_dtype else self.pow(other)

    def __rsub__(self: Any, other: TensorLike) -> Tensor:
        return sub(other, self)

    def __rtruediv__(self: Any, other: TensorLike) -> Tensor:
        return div(other, self)

    __rdiv__ = __rtruediv__

    def __rpow__(self: Any, other: TensorLike) -> Tensor:
        return pow(other, self)

    def __rmod__(self: Any, other: TensorLike) -> Tensor:
        return remainder(other, self)

    def __rfloordiv__(self: Any, other: TensorLike) -> Tensor:
        return floor_divide(other, self)

    def __rlshift__(self: Any, other: TensorLike) -> Tensor:
        return bitwise_left_shift(other, self)

    def __rrshift__(self: Any, other: TensorLike) -> Tensor:
        return bitwise_right_shift(other, self)


# where as a function: c may be a number, and x a bool tensor, which the method would treat as the condition
choose = where


def _complex_logaddexp(x: Tensor, y: Tensor) -> Tensor:
    """log(exp(x) + exp(y)) from the operand with the larger real part, since exp of both may overflow."""
    # of one dtype: `where` would treat a bool operand as its condition
    dtype = dt.promote(x.dtype, y.dtype)
    x, y = x.to(dtype), y.to(dtype)
    re_x, re_y = x.detach().real, y.detach().real
    swapped, lost = re_x < re_y, (re_x == re_y) & re_x.isneginf()
    high, low = swapped.where(y, x), swapped.where(x, y)
    return high + lost.where(0.0, (lost.where(0.0, low - high)).exp().log1p())


def _divide(x: Any, y: Any, rounding_mode: str) -> Tensor:
    """Integers divide as integers; the quotient of floats is rounded."""
    if rounding_mode == "floor":
        return floor_divide(x, y)
    if any(getattr(v, "dtype", dt.float32 if isinstance(v, float) else dt.int32).is_float for v in (x, y)):
        return with_zero_gradient(div(x, y).trunc().detach(), *(v for v in (x, y) if is_tensor(v)))
    return (x - fmod(x, y)).floor_divide(y)
