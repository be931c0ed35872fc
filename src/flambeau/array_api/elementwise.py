"""The array API's elementwise functions: ours under its names, with its promotion of two arrays."""

from collections.abc import Callable
from typing import Any

from .. import functions
from ..core import dtype as dt
from ..tensor import Tensor
from .dtypes import promote

# the standard's name -> ours, if it differs
OF_ONE = (
    "abs acos acosh asin asinh atan atanh bitwise_invert:bitwise_not ceil conj cos cosh exp expm1 floor"
    " isfinite isinf isnan log log10 log1p log2 logical_not negative:neg positive real reciprocal"
    " signbit sin sinh sqrt square tan tanh trunc"
)
OF_TWO = (
    "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide:div"
    " equal:eq floor_divide greater:gt greater_equal:ge hypot less:lt less_equal:le logaddexp logical_and"
    " logical_or logical_xor maximum minimum multiply:mul nextafter not_equal:ne pow remainder subtract:sub"
)


def _binary(name: str, ours: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def call(x1: Any, x2: Any, /) -> Tensor:
        return ours(*alike(x1, x2))

    call.__name__, call.__doc__ = name, ours.__doc__
    return call


def alike(*xs: Any) -> Any:
    """Promote arrays by the standard, which treats 0-d arrays like others. Python numbers stay."""
    dtypes = {x.dtype for x in xs if isinstance(x, Tensor)}
    if len(dtypes) < 2:
        return xs
    common_dtype = promote(*dtypes)
    return [x.to(common_dtype) if isinstance(x, Tensor) else x for x in xs]


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """Clamp values to [min, max], and keep the dtype."""
    # clamp may promote to the bounds' dtype, the standard keeps x's
    return x.clone() if min is None and max is None else x.clamp(min, max).to(x.dtype)


def imag(x: Tensor, /) -> Tensor:
    """Return the imaginary parts; zeros for real numbers."""
    return x.imag if x.dtype.is_complex else functions.zeros_like(x)


def round(x: Tensor, /) -> Tensor:
    """Round to the nearest integers, ties to even. Complex numbers round by parts."""
    return functions.complex(x.real.round(), x.imag.round()) if x.dtype.is_complex else x.round()


def sign(x: Tensor, /) -> Tensor:
    """Return -1, 0 or 1; NaN for NaN; x / |x| for complex numbers."""
    # our sign is 0 for NaN
    return x.sgn() if x.dtype.kind != "f" else functions.where(x.isnan(), x, x.sign())


def where(condition: Tensor, x1: Any = None, x2: Any = None, /) -> Any:
    """Select x1 where the condition is true, else x2. With the condition alone, return the indices where
    it is true."""
    if x1 is None:
        return functions.where(condition)
    return functions.where(condition.to(dt.bool_), *alike(x1, x2))


_TWO = {
    name: _binary(name, getattr(functions, ours or name))
    for name, _, ours in (word.partition(":") for word in OF_TWO.split())
}
_ONE = {
    name: getattr(functions, ours or name)
    for name, _, ours in (word.partition(":") for word in OF_ONE.split())
}
globals().update(_TWO | _ONE)
NAMES = {"clip", "imag", "round", "sign", "where", *_TWO, *_ONE}
