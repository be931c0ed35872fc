"""PyTorch's in-place methods: `x.op_(...)` gives x the value of `x.op(...)`, and so do `x += y` and its kind.

Nothing is computed in place: x gets a new node (runtime/writes.py updates its views), and a kernel
overwrites the old value if nothing else needs it.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

from ..core import dtype as dt
from ..core.alias import is_in_order
from ..core.node import describe, is_tensor
from ..core.op import COMPOSED, NOT_COMPLEX, TAKES, Family
from ..core.spelling import explain
from ..errors import TypeError, ValueError
from . import complex, contract, elementwise, masks, movement, numeric, rearrange, special
from .distribution import (
    cauchy,
    check_probability,
    check_std,
    digits_of,
    exponential,
    geometric,
    log_normal,
    rand,
    randn,
    random_integers,
    uniform_between,
)
from .index import index, scatter
from .linalg import products
from .random import host_draws
from .sort import scan

if TYPE_CHECKING:
    from ..ops.random import Generator
    from ..tensor import Tensor, TensorLike

P = ParamSpec("P")

OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>")
BASES = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")
SYMBOLS = {f"__{base}__": symbol for base, symbol in zip(BASES, OPERATORS, strict=True)}


def write(x: Any, value: Any, name: str, base: str) -> Any:
    """Assigns the result of an op to a tensor; ValueError for another shape, TypeError for a higher kind of
    dtype."""
    call = f"{name}({describe(x)})"
    instead = f"use x = x {SYMBOLS[base]} y" if base in SYMBOLS else f"use x = x.{base}(...)"
    if value.shape != x.shape:
        raise ValueError(
            f"{call}: the result has shape {list(value.shape)}, and a tensor keeps its shape: {instead}"
        )
    if value.dtype.category > x.dtype.category:
        raise TypeError(
            f"{call}: the result is {value.dtype.short}, and a tensor keeps its dtype: {instead},"
            " or cast x first"
        )
    return x.replace_(value)


def in_place(f: Callable[P, Tensor], name: str = "") -> Callable[P, Tensor]:
    """The in-place method of an op; `name` if it is not the op's name and an underscore."""
    # The name of the op that is not in place, for the hint of errors: "add_" gives add, "__iadd__" gives
    # __add__.
    base = f.__name__ if not name else name.removesuffix("_") if name[0] != "_" else name.replace("__i", "__")

    def method(self: Any, *args: Any, **kw: Any) -> Any:
        self._check_write()  # a leaf that requires gradients is an error before anything is computed
        result: Any = f(self, *args, **kw)  # type: ignore[call-arg]
        if result is NotImplemented:
            return NotImplemented
        return write(self, result, method.__name__, base)

    return _set_name(
        method, name or f"{base}_", f"Assigns the value of {base}(...) to the tensor and returns it.", f
    )


def in_shape(f: Callable[P, Tensor], name: str = "") -> Callable[P, Tensor]:
    """The in-place method of a movement op: the tensor gets its shape."""
    base = name.removesuffix("_") or f.__name__

    def method(self: Any, *args: Any, **kw: Any) -> Any:
        self._check_write()
        return self._show_as(f(self, *args, **kw), method.__name__)  # type: ignore[call-arg]

    doc = (
        f"Changes the shape of the tensor to that of {base}(...) and returns it; ValueError if it has views."
    )
    return _set_name(method, f"{base}_", doc, f)


def _set_name(method: Any, name: str, doc: str, f: Any) -> Any:
    method.__name__ = method.__qualname__ = name
    method.__doc__, method.__wrapped__ = doc, f
    return method


ENDS = {"from": "low", "to": "high"}  # PyTorch's names; `from` is a keyword and only possible by **


def _random_fill(kinds: str) -> Callable[..., Any]:
    """Declares a method that fills a tensor with the values that its body draws; kinds: the dtypes it
    supports."""

    def declare(draw: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(draw)
        def method(self: Any, *args: Any, **kw: Any) -> Any:
            self._check_write()
            # fill_(**{"from": 0, "to": 5}), as PyTorch's signatures have it
            kw = {ENDS.get(k, k): v for k, v in kw.items()}
            try:
                if self.dtype.kind not in kinds:
                    raise TypeError(TAKES.get(kinds, NOT_COMPLEX))
                return self.replace_(draw(self, *args, **kw).to(self.dtype))
            except (builtins.ValueError, builtins.TypeError) as e:
                raise explain(e, draw.__name__, (self, *args), kw) from None

        return method

    return declare


def fill_(input: Tensor, value: TensorLike) -> Tensor:
    """Sets every element to one value (a number, or a tensor of one); returns the tensor."""
    if is_tensor(value):
        filled = value.expand(*input.shape)
    else:
        filled = type(input).full(input.shape, value, input.dtype, input.device)
    return input.replace_(filled.to(input.dtype))


def zero_(input: Tensor) -> Tensor:
    """Sets every element to 0; returns the tensor."""
    return input.fill_(0)


def copy_(input: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Copies the values of src, which is broadcast, cast and moved to the device; returns the tensor.

    non_blocking: accepted and ignored: no copy blocks.
    """
    src = src if is_tensor(src) else input.new_tensor(src)
    return input.replace_(src.to(input.device).to(input.dtype).expand(*input.shape))


def fill_diagonal_(input: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Sets the elements of the main diagonal to fill_value; returns the tensor. [n, m]

    wrap: in a tall matrix, start the diagonal again after each `m` rows. ValueError for more than 2 dims of
    different sizes, or fewer.
    """
    if input.ndim < 2 or (input.ndim > 2 and len(set(input.shape)) > 1):
        raise ValueError(
            f"fill_diagonal_({describe(input)}): takes a matrix, or dims of equal size: reshape it"
        )
    # The sum of all strides: one step along every dim. [3, 4] has 4 + 1 = 5.
    step = sum(input.numel() // max(_total(input, d), 1) for d in range(1, input.ndim + 1))
    rows, width = input.shape[0], input.shape[1]
    # Without wrap the diagonal of a tall matrix ends with its last column.
    end = input.numel() if wrap or input.ndim > 2 or rows <= width else width * width
    flat = input.reshape(-1).slice_assign(slice(0, end, step), fill_value)
    return input.replace_(flat.reshape(*input.shape))


def _total(self: Any, dims: int) -> int:
    total = 1
    for n in self.shape[:dims]:
        total *= n
    return total


@_random_fill("fc")
def uniform_(
    input: Tensor, low: float = 0.0, high: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Draws every element uniformly in [low, high), which PyTorch calls from and to; returns the tensor.

    ValueError if low is above high, or the dtype cannot represent them; TypeError for integers.
    """
    if (host := host_draws(input.device, generator)) is not None:
        return host.uniform(input.shape, input.dtype, low, high)
    parts = [
        # a complex number has two parts
        uniform_between(low, high, input.shape, input.dtype.real, input.device, generator)
        for _ in range(1 + input.is_complex())
    ]
    return COMPOSED["complex"](*parts) if input.is_complex() else parts[0]


@_random_fill("fc")
def normal_(
    input: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Draws every element from a normal distribution with this mean and std; returns the tensor.

    ValueError if std is negative; TypeError for integers.
    """
    if (host := host_draws(input.device, generator)) is not None:
        return host.normal(input.shape, input.dtype, mean, check_std(std), is_in_order(input))
    # 16-bit floats are drawn in float32 and rounded
    dtype = input.dtype if input.is_complex() else dt.float32
    drawn = randn(input.shape, device=input.device, generator=generator, dtype=dtype)
    return drawn * check_std(std) + mean


@_random_fill("f")
def log_normal_(
    input: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None
) -> Tensor:
    """Draws every element as exp of a normal sample with this mean and std; returns the tensor.

    ValueError if std is not above 0; TypeError for integers.
    """
    if std > 0 and (host := host_draws(input.device, generator)) is not None:
        return host.log_normal(input.shape, input.dtype, mean, std)
    return log_normal(input.shape, mean, std, device=input.device, generator=generator)


@_random_fill("f")
def exponential_(input: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Draws every element from an exponential distribution with rate lambd; returns the tensor.

    ValueError if lambd is not above 0; TypeError for integers.
    """
    if lambd > 0 and (host := host_draws(input.device, generator)) is not None:
        return host.exponential(input.shape, input.dtype, lambd)
    return exponential(input.shape, lambd, device=input.device, generator=generator)


@_random_fill("f")
def cauchy_(
    input: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Draws every element from a Cauchy distribution with this median and width sigma; returns the tensor.

    ValueError if sigma is not above 0; TypeError for integers.
    """
    if sigma > 0 and (host := host_draws(input.device, generator)) is not None:
        return host.cauchy(input.shape, input.dtype, median, sigma)
    return cauchy(input.shape, median, sigma, device=input.device, generator=generator)


@_random_fill("fiu")
def geometric_(input: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Draws every element as the number of trials of probability p up to the first success; returns the
    tensor.

    ValueError unless 0 < p < 1.
    """
    if 0 < p < 1 and (host := host_draws(input.device, generator)) is not None:
        return host.geometric(input.shape, input.dtype, p)
    return geometric(input.shape, p, device=input.device, generator=generator)


@_random_fill("fiub")
def bernoulli_(input: Tensor, p: Tensor | float = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Draws every element as 1 with probability p, a number or a tensor, else as 0; returns the tensor.

    ValueError if p is not between 0 and 1; for the elements of a tensor at the next read.
    """
    likely = check_probability(p)
    if (host := host_draws(input.device, generator)) is not None:
        return host.below(likely, input.shape, not is_tensor(p) or p.dtype is dt.float64)
    return rand(input.shape, device=input.device, generator=generator, dtype=dt.float32) < likely


@_random_fill("fiub")
def random_(
    input: Tensor, low: int | None = None, high: Any = ..., *, generator: Generator | None = None
) -> Tensor:
    """Draws every element as an integer from low to high - 1, which PyTorch calls from and to; returns the
    tensor.

    A single number is high, and low is 0. With high=None, or without numbers, up to the largest integer of
    the dtype; for floats up to the largest below which all are exact. ValueError if low is not below high.
    """
    # As in PyTorch, floats get integers up to 2 ** digits, below which all are exact.
    digits = 1 << digits_of(input.dtype) if input.dtype.is_float else 0
    most = digits or (1 if input.dtype is dt.bool_ else dt.iinfo(input.dtype).max)
    host = host_draws(input.device, generator)
    if host is not None and low is None and high is ...:
        is_long = input.dtype.itemsize == 8
        most = 1 << 53 if input.dtype is dt.float64 else most
        return host.integers(0, most + 1, input.shape, input.dtype, 64 if is_long else 32)
    if high is ...:
        # random_(n) is random_(0, n); random_(low, None) goes up to the largest integer.
        low, high = 0, low
    low, high = low or 0, most + 1 if high is None else high
    return random_integers(low, high, input.shape, input.dtype, input.device, generator)


def _magnitude(f: Callable[P, Tensor]) -> Callable[P, Tensor]:
    """An op with a real result, which cannot be assigned to a complex tensor: TypeError for one."""

    @wraps(f)
    def real(*args: P.args, **kw: P.kwargs) -> Tensor:
        x: Any = args[0]
        if x.dtype.is_complex:
            call = f"{f.__name__}_({describe(x)})"
            raise TypeError(f"{call}: the result is real, and a tensor keeps its dtype: use x = x.abs()")
        return f(*args, **kw)

    return real


class InPlace(Family):
    abs_ = in_place(_magnitude(elementwise.abs))
    absolute_ = in_place(_magnitude(elementwise.absolute), "absolute_")
    acos_ = in_place(elementwise.acos)
    acosh_ = in_place(elementwise.acosh)
    add_ = in_place(elementwise.add)
    addbmm_ = in_place(contract.addbmm)
    addcdiv_ = in_place(numeric.addcdiv)
    addcmul_ = in_place(numeric.addcmul)
    addmm_ = in_place(contract.addmm)
    addmv_ = in_place(contract.addmv)
    addr_ = in_place(contract.addr)
    arccos_ = in_place(elementwise.arccos, "arccos_")
    arccosh_ = in_place(elementwise.arccosh, "arccosh_")
    arcsin_ = in_place(elementwise.arcsin, "arcsin_")
    arcsinh_ = in_place(elementwise.arcsinh, "arcsinh_")
    arctan_ = in_place(elementwise.arctan, "arctan_")
    arctan2_ = in_place(elementwise.arctan2, "arctan2_")
    arctanh_ = in_place(elementwise.arctanh, "arctanh_")
    asin_ = in_place(elementwise.asin)
    asinh_ = in_place(elementwise.asinh)
    atan_ = in_place(elementwise.atan)
    atan2_ = in_place(elementwise.atan2)
    atanh_ = in_place(elementwise.atanh)
    baddbmm_ = in_place(contract.baddbmm)
    bitwise_and_ = in_place(elementwise.bitwise_and)
    bitwise_left_shift_ = in_place(elementwise.bitwise_left_shift)
    bitwise_not_ = in_place(elementwise.bitwise_not)
    bitwise_or_ = in_place(elementwise.bitwise_or)
    bitwise_right_shift_ = in_place(elementwise.bitwise_right_shift)
    bitwise_xor_ = in_place(elementwise.bitwise_xor)
    ceil_ = in_place(elementwise.ceil)
    clamp_ = in_place(numeric.clamp)
    clamp_max_ = in_place(numeric.clamp_max)
    clamp_min_ = in_place(numeric.clamp_min)
    clip_ = in_place(numeric.clip, "clip_")
    conj_physical_ = in_place(complex.conj_physical)
    copysign_ = in_place(elementwise.copysign)
    cos_ = in_place(elementwise.cos)
    cosh_ = in_place(elementwise.cosh)
    cumprod_ = in_place(scan.cumprod)
    cumsum_ = in_place(scan.cumsum)
    deg2rad_ = in_place(numeric.deg2rad)
    digamma_ = in_place(special.digamma)
    div_ = in_place(elementwise.div)
    divide_ = in_place(elementwise.divide, "divide_")
    eq_ = in_place(elementwise.eq)
    erf_ = in_place(elementwise.erf)
    erfc_ = in_place(special.erfc)
    erfinv_ = in_place(special.erfinv)
    exp_ = in_place(elementwise.exp)
    exp2_ = in_place(elementwise.exp2)
    expm1_ = in_place(elementwise.expm1)
    fix_ = in_place(elementwise.fix, "fix_")
    float_power_ = in_place(numeric.float_power)
    floor_ = in_place(elementwise.floor)
    floor_divide_ = in_place(elementwise.floor_divide)
    fmod_ = in_place(elementwise.fmod)
    frac_ = in_place(numeric.frac)
    gcd_ = in_place(elementwise.gcd)
    ge_ = in_place(elementwise.ge)
    greater_ = in_place(elementwise.greater, "greater_")
    greater_equal_ = in_place(elementwise.greater_equal, "greater_equal_")
    gt_ = in_place(elementwise.gt)
    heaviside_ = in_place(numeric.heaviside)
    hypot_ = in_place(elementwise.hypot)
    i0_ = in_place(special.i0)
    igamma_ = in_place(special.igamma)
    igammac_ = in_place(special.igammac)
    index_add_ = in_place(scatter.index_add)
    index_copy_ = in_place(scatter.index_copy)
    index_fill_ = in_place(scatter.index_fill)
    index_put_ = in_place(scatter.index_put)
    index_reduce_ = in_place(scatter.index_reduce)
    lcm_ = in_place(numeric.lcm)
    ldexp_ = in_place(elementwise.ldexp)
    le_ = in_place(elementwise.le)
    lerp_ = in_place(numeric.lerp)
    less_ = in_place(elementwise.less, "less_")
    less_equal_ = in_place(elementwise.less_equal, "less_equal_")
    lgamma_ = in_place(special.lgamma)
    log_ = in_place(elementwise.log)
    log10_ = in_place(elementwise.log10)
    log1p_ = in_place(elementwise.log1p)
    log2_ = in_place(elementwise.log2)
    logical_and_ = in_place(elementwise.logical_and)
    logical_not_ = in_place(elementwise.logical_not)
    logical_or_ = in_place(elementwise.logical_or)
    logical_xor_ = in_place(elementwise.logical_xor)
    logit_ = in_place(special.logit)
    lt_ = in_place(elementwise.lt)
    masked_fill_ = in_place(masks.masked_fill)
    masked_scatter_ = in_place(index.masked_scatter)
    mul_ = in_place(elementwise.mul)
    multiply_ = in_place(elementwise.multiply, "multiply_")
    mvlgamma_ = in_place(special.mvlgamma)
    nan_to_num_ = in_place(numeric.nan_to_num)
    ne_ = in_place(elementwise.ne)
    neg_ = in_place(elementwise.neg)
    negative_ = in_place(elementwise.negative, "negative_")
    nextafter_ = in_place(elementwise.nextafter)
    not_equal_ = in_place(elementwise.not_equal, "not_equal_")
    polygamma_ = in_place(special.polygamma)
    pow_ = in_place(elementwise.pow)
    put_ = in_place(scatter.put)
    rad2deg_ = in_place(numeric.rad2deg)
    reciprocal_ = in_place(elementwise.reciprocal)
    relu_ = in_place(elementwise.relu)
    remainder_ = in_place(elementwise.remainder)
    renorm_ = in_place(products.renorm)
    round_ = in_place(elementwise.round)
    rsqrt_ = in_place(elementwise.rsqrt)
    scatter_ = in_place(scatter.scatter)
    scatter_add_ = in_place(scatter.scatter_add)
    scatter_reduce_ = in_place(scatter.scatter_reduce)
    sgn_ = in_place(complex.sgn)
    sigmoid_ = in_place(elementwise.sigmoid)
    sign_ = in_place(elementwise.sign)
    sin_ = in_place(elementwise.sin)
    sinc_ = in_place(special.sinc)
    sinh_ = in_place(elementwise.sinh)
    sqrt_ = in_place(elementwise.sqrt)
    square_ = in_place(elementwise.square)
    sub_ = in_place(elementwise.sub)
    subtract_ = in_place(elementwise.subtract, "subtract_")
    tan_ = in_place(elementwise.tan)
    tanh_ = in_place(elementwise.tanh)
    tril_ = in_place(masks.tril)
    triu_ = in_place(masks.triu)
    true_divide_ = in_place(elementwise.true_divide, "true_divide_")
    trunc_ = in_place(elementwise.trunc)
    xlogy_ = in_place(special.xlogy)
    squeeze_ = in_shape(movement.squeeze)
    swapaxes_ = in_shape(movement.swapaxes, "swapaxes_")
    swapdims_ = in_shape(rearrange.swapdims, "swapdims_")
    t_ = in_shape(movement.t)
    transpose_ = in_shape(movement.transpose)
    unsqueeze_ = in_shape(movement.unsqueeze)

    __iadd__ = in_place(elementwise.add, "__iadd__")
    __isub__ = in_place(elementwise.sub, "__isub__")
    __imul__ = in_place(elementwise.mul, "__imul__")
    __itruediv__ = in_place(elementwise.div, "__itruediv__")
    __ifloordiv__ = in_place(elementwise.floor_divide, "__ifloordiv__")
    __imod__ = in_place(elementwise.remainder, "__imod__")
    __ipow__ = in_place(elementwise.Elementwise.__pow__, "__ipow__")
    __ilshift__ = in_place(elementwise.bitwise_left_shift, "__ilshift__")
    __irshift__ = in_place(elementwise.bitwise_right_shift, "__irshift__")
    __iand__ = in_place(elementwise.bitwise_and, "__iand__")
    __ior__ = in_place(elementwise.bitwise_or, "__ior__")
    __ixor__ = in_place(elementwise.bitwise_xor, "__ixor__")
