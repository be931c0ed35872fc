"""Random tensors: samples of each distribution, computed from random bits by ops that fuse."""

# Primitives are tensor methods whose names begin with "_": they are private to the package.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import frexp, log1p, log2, pi
from typing import TYPE_CHECKING, Any

from ..core import dtype as dt
from ..core.declare import composed
from ..core.dtype import as_dtype
from ..core.node import is_tensor
from ..core.op import COMPOSED, only_real
from ..core.shape import broadcast, new_sizes
from ..core.sizes import integers
from ..device import get_device
from .creation import finish
from .elementwise import with_zero_gradient
from .index.indices import valid
from .random import (
    drawn_bits,
    exponential_bits,
    gumbel_bits,
    host_draws,
    normal_bits,
    open_bits,
    uniform_bits,
)

if TYPE_CHECKING:
    from ..core.dtype import DType, DTypeLike
    from ..core.shape import Shape
    from ..device import Device, DeviceLike
    from ..ops.random import Generator
    from ..tensor import Tensor


def digits_of(dtype: DType) -> int:
    """The number of random bits for a float dtype: its binary digits, at most 24."""
    # eps is 2 ** (1 - digits). Samples are drawn in float32, which has 24.
    return min(round(1 - log2(dt.finfo(dtype).eps)), 24)


def float_or_default(dtype: DTypeLike | None) -> DType:
    """A float or complex dtype (None: the default); TypeError for others."""
    dtype = dt.get_default_dtype() if dtype is None else as_dtype(dtype)
    if not dtype.has_gradients:
        raise TypeError(f"dtype={dtype.name} is not a float dtype: pass one")
    return dtype


def _draw_floats(draw: Callable[[DType], Tensor], dtype: DTypeLike | None, requires_grad: bool) -> Tensor:
    """draw(dtype) gives float32 samples; they are cast to `dtype` (None: the default). For a complex dtype
    both parts are drawn."""
    if dtype is None:
        return finish(draw(dt.get_default_dtype()), dt.default_float(), requires_grad)
    dtype = float_or_default(dtype)
    if not dtype.is_complex:
        return finish(draw(dtype), dtype, requires_grad)
    real = draw(dtype.real)
    return finish(COMPOSED["complex"](real, draw(dtype.real)), dtype, requires_grad)


@composed
def rand(
    *size: int | Sequence[int],
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Uniform in [0, 1), the same bits on every device; both parts if complex. (2, 3) -> [2, 3]

    TypeError for integer dtypes.
    """
    shape, device = new_sizes(size), get_device(device)
    if (host := host_draws(device, generator)) is not None:
        return finish(host.uniform(shape, float_or_default(dtype)), None, requires_grad)

    def draw(dtype: DType) -> Tensor:
        return uniform_bits(shape, device, generator, digits_of(dtype))

    return _draw_floats(draw, dtype, requires_grad)


@composed
def randn(
    *size: int | Sequence[int],
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Standard normal; devices differ by less than 1e-6; complex samples have variance 1. (2, 3) -> [2, 3]

    TypeError for integer dtypes.
    """
    shape, device = new_sizes(size), get_device(device)
    if (host := host_draws(device, generator)) is not None:
        return finish(host.normal(shape, float_or_default(dtype)), None, requires_grad)
    # Each part has variance 1 / 2.
    scale = 0.5**0.5 if dtype is not None and as_dtype(dtype).is_complex else 1.0

    def draw(_: DType) -> Tensor:
        sample = normal_bits(shape, device, generator)
        return sample if scale == 1 else sample * scale

    return _draw_floats(draw, dtype, requires_grad)


BIASED = 1 << 16  # up to this range, 32 bits modulo the range favour no number by more than 2^-16


def _scale_words(words: Sequence[Tensor], span: int) -> Tensor:
    """floor(w * span / 2^(32 n)), where n words are the 32-bit digits of w, the lowest first; int64 that
    wraps.

    It is a long multiplication. No number is favoured by more than span / 2^(32 n).
    """
    # columns are the 32-bit digits of the product before carries; int64 has room for their sums
    mask = 0xFFFFFFFF
    factors = [span & mask, span >> 32] if span >> 32 else [span]
    # The columns of the lowest len(words) digits are the fraction below 1: they only carry.
    columns: list[Any] = [0] * (len(words) + len(factors))
    for i, w in enumerate(words):
        for j, f in enumerate(factors):
            product = w * f
            columns[i + j] = columns[i + j] + (product & mask)
            columns[i + j + 1] = columns[i + j + 1] + (product >> 32 & mask)
    for i in range(1, len(columns)):
        columns[i] = columns[i] + (columns[i - 1] >> 32)
    low, *high = columns[len(words) :]
    return low if not high else (low & mask) | high[0] << 32


def _as_int64(value: int) -> int:
    """An unsigned 64-bit number as the int64 with the same bits."""
    return value - (1 << 64) if value >= 1 << 63 else value


def _limits_of(dtype: DType) -> tuple[Any, Any]:
    """The smallest and the largest number of a dtype."""
    if dtype is dt.bool_:
        return 0, 1
    info: Any = dt.finfo(dtype) if dtype.is_float else dt.iinfo(dtype)
    return info.min, info.max


def random_integers(
    low: int, high: int, shape: Shape, dtype: DType, device: Device, generator: Generator | None
) -> Tensor:
    """Integers in [low, high), uniform, in a dtype; for floats rounded to the nearest number in the range.

    ValueError if the range is empty or the dtype cannot represent it.
    """
    if dtype.is_complex:
        raise TypeError(f"dtype={dtype.name} is complex: pass a real dtype")
    low, high = (integers(value, name, False) for value, name in ((low, "low"), (high, "high")))
    if low >= high:
        raise ValueError(f"low={low} is not below high={high}: pass a larger high")
    # in Python integers, before anything wraps
    least, most = _limits_of(dtype)
    if low < least or high - 1 > most:
        raise ValueError(f"{dtype.name} holds {least} to {most}, not {low} to {high - 1}: pass another dtype")
    span, int32_range = high - low, (-(1 << 31), 1 << 31)
    if (host := host_draws(device, generator)) is not None:
        return host.integers(low, span, shape, dtype)

    def bits():
        return drawn_bits(shape, device, generator)

    # A remainder for small ranges, all bits for the full range of int64, else a multiplication as in Lemire
    # (2019).
    if span <= BIASED:
        # int32 suffices for small ranges; kernels compute 64-bit integers as two words.
        drawn = bits() % span
        is_small = int32_range[0] <= low and high <= int32_range[1] and not dtype.is_pair
        drawn = drawn.int() if is_small else drawn.long()
    elif span == 1 << 64:
        # Every int64 is equally likely, and stays so when the sum with `low` wraps around.
        drawn = bits().long() | bits().long() << 32
    else:
        # a word more than the range has: a bias below 2 ** -32
        drawn = _scale_words([bits().long() for _ in range(2 if span < 1 << 32 else 3)], span)
    drawn = drawn + _as_int64(low) if low else drawn
    if not dtype.is_float:
        return drawn.to(dtype)
    drawn = drawn.to(dtype)
    exact = 1 << digits_of(dtype)
    if -exact <= low and high <= exact:  # each integer is a number of the dtype
        return drawn
    # Beyond, samples are rounded, and may have become `high`.
    return drawn.clamp(-below(-low, dtype, True), below(high - 1, dtype, True))


def below(value: float, dtype: DType, or_equal: bool = False) -> float:
    """The largest number of a float dtype below `value`, or (or_equal) not above it."""
    info = dt.finfo(dtype)
    # frexp's mantissa is in [0.5, 1). Just below a power of two numbers are half as far apart.
    mantissa, exponent = frexp(value)
    step = info.eps * 2.0 ** (exponent - 1 - (mantissa == 0.5 and not or_equal))
    if abs(value) <= info.tiny:  # devices may flush smaller numbers to 0
        return value if or_equal else -info.tiny if value <= 0 else 0.0
    nearest = value // step * step
    return nearest if or_equal or nearest < value else nearest - step


@composed
def randint(
    low: int = 0,
    high: int | None = None,
    size: int | Sequence[int] = (),
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Integers in [low, high), int64, uniform; randint(n, (2, 3)) and randint(n, size=(2, 3)) start at 0.
    (low, high, (2, 3)) -> [2, 3]

    dtype: bools and floats are possible too. ValueError if low is not below high, or the dtype cannot
    represent them.
    """
    if isinstance(high, tuple | list):
        high, size = None, high
    low, high = (0, low) if high is None else (low, high)
    dtype = dt.default_integer() if dtype is None else dt.as_dtype(dtype)
    drawn = random_integers(low, high, new_sizes((size,)), dtype, get_device(device), generator)
    return finish(drawn, None, requires_grad)


@composed
def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Uniform in [0, 1) in the shape and on the device of x. [...] -> [...]"""
    kw = _like(input, dtype or _float_of(input), device)
    return rand(input.shape, generator=generator, requires_grad=requires_grad, **kw)


@composed
def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Standard normal in the shape and on the device of x. [...] -> [...]"""
    kw = _like(input, dtype or _float_of(input), device)
    return randn(input.shape, generator=generator, requires_grad=requires_grad, **kw)


@composed
def randint_like(
    input: Tensor,
    low: int = 0,
    high: int | None = None,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Integers in [low, high) in the shape, dtype and on the device of x. [...] -> [...]

    ValueError if low is not below high, or the dtype cannot represent them.
    """
    low, high = (0, low) if high is None else (low, high)
    kw = _like(input, dtype or input.dtype, device)
    return randint(low, high, input.shape, generator=generator, requires_grad=requires_grad, **kw)


def _like(x: Tensor, dtype: DTypeLike, device: Any) -> dict[str, Any]:
    return {"dtype": dtype, "device": x.device if device is None else device}


def _float_of(x: Tensor) -> DType:
    return x.dtype if x.dtype.has_gradients else dt.default_float()


def require(holds: bool, rule: str) -> None:
    """Raises ValueError with the rule unless it holds."""
    if not holds:
        raise ValueError(rule)


def uniform_between(
    low: float,
    high: float,
    shape: Shape,
    dtype: DType,
    device: Device,
    generator: Generator | None,
) -> Tensor:
    """Uniform in [low, high), float32, rounded so that no sample becomes `high` in the dtype.

    ValueError if low is above high, or the dtype cannot represent them or their difference.
    """
    most = dt.finfo(dtype).max
    require(
        # float16 overflows at 65504, where float32 samples don't.
        abs(low) <= most and abs(high) <= most,
        f"low={low} or high={high} is out of range for {dtype.name}: pass smaller numbers",
    )
    require(low <= high, f"low={low} is above high={high}: exchange them")
    require(
        high - low <= most,
        (f"high - low = {high - low} is out of range for {dtype.name}: pass a smaller range"),
    )
    if (host := host_draws(device, generator)) is not None:
        return host.uniform(shape, dtype, low, high)
    drawn = uniform_bits(shape, device, generator) * (high - low) + low
    # rounding may give `high` itself
    return drawn.clamp(low, max(low, below(high, dtype))) if low < high else drawn


@composed
def uniform(
    size: int | Sequence[int],
    low: float = 0.0,
    high: float = 1.0,
    *,
    generator: Generator | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """Uniform in [low, high). (2, 3) -> [2, 3]

    ValueError if low is above high, or either is not finite.
    """
    return uniform_between(low, high, new_sizes((size,)), dt.float32, get_device(device), generator)


def check_std(std: Any) -> Any:
    """Checks a standard deviation: a number now, the elements of a tensor at the next read."""
    if is_tensor(std):
        return valid(std, (std < 0) | std.isnan(), "normal") if std.dtype.kind == "f" else std
    require(std >= 0, f"std={std} is negative or NaN: pass one of at least 0")
    return std


@composed
def normal(
    mean: Tensor | float = 0.0,
    std: Any = 1.0,
    size: int | Sequence[int] | None = None,
    *,
    generator: Generator | None = None,
    device: DeviceLike | None = None,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Normal with a mean and a standard deviation: numbers and a size (and a float dtype), or tensors that
    broadcast, with the dtype of the first.

    ValueError for numbers without a size or a negative std (in a tensor, at the next read), TypeError for a
    dtype that is not a float, or tensors with a size.
    """
    parts: list[Any] = [v for v in (mean, std) if hasattr(v, "shape")]
    std = check_std(std)
    if not parts:
        if size is None:
            raise ValueError("numbers need a size: pass size=(...)")
        if (host := host_draws(get_device(device), generator)) is not None:
            return host.normal(new_sizes((size,)), float_or_default(dtype), float(mean), std)
        drawn = randn(new_sizes((size,)), generator=generator, device=device, dtype=dtype)
        return drawn * std + mean
    if size is not None:
        raise TypeError("tensors define the size: leave size out, or pass numbers")
    result_dtype = _float_of(parts[0]) if dtype is None else as_dtype(dtype)
    if not result_dtype.is_float:
        raise TypeError(f"dtype={result_dtype.name} is not a float dtype: pass one")
    shape, where = broadcast(*(v.shape for v in parts)), parts[0].device
    if (host := host_draws(where, generator)) is not None:
        return (host.normal(shape, result_dtype) * std + mean).to(result_dtype)
    return (normal_bits(shape, where, generator) * std + mean).to(result_dtype)


def check_probability(p: Any) -> Any:
    """Checks a probability: a number now, the elements of a tensor at the next read."""
    if is_tensor(p):
        return valid(p, (p < 0) | (p > 1) | p.isnan(), "bernoulli") if p.dtype.kind == "f" else p
    require(0 <= p <= 1, f"p={p} must be from 0 to 1: pass a probability")
    return p


@composed
def bernoulli(input: Tensor, p: float | None = None, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability of each element (or p), else 0, in its dtype. [...] -> [...]

    ValueError for numbers outside 0 to 1; for elements at the next read.
    """
    likely = check_probability(input if p is None else p)
    if (host := host_draws(input.device, generator)) is not None:
        # numbers and float64 are compared with 53 bits, other probabilities with 24
        wide = p is not None or input.dtype is dt.float64
        drawn = host.below(likely, input.shape, wide).to(input.dtype)
        return with_zero_gradient(drawn, input) if input.requires_grad else drawn
    # uniform samples are in [0, 1): never below 0, always below 1
    drawn = (uniform_bits(input.shape, input.device, generator) < likely).to(input.dtype)
    return with_zero_gradient(drawn, input) if input.requires_grad else drawn


@composed
def exponential(
    size: int | Sequence[int],
    lambd: float = 1.0,
    *,
    generator: Generator | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """Exponential with rate lambd. (2, 3) -> [2, 3]. ValueError if lambd is not above 0."""
    require(lambd > 0, f"lambd={lambd} is not above 0: pass a rate")
    return exponential_bits(new_sizes((size,)), get_device(device), generator) * (1 / lambd)


@composed
def gumbel(
    size: int | Sequence[int],
    loc: float = 0.0,
    scale: float = 1.0,
    *,
    generator: Generator | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """Gumbel, the distribution of a maximum of many samples. (2, 3) -> [2, 3]

    loc: the centre
    scale: the width
    Raises ValueError if a size is below 0; TypeError if one is not an integer.
    """
    return gumbel_bits(new_sizes((size,)), get_device(device), generator) * scale + loc


@composed
def laplace(
    size: int | Sequence[int],
    loc: float = 0.0,
    scale: float = 1.0,
    *,
    generator: Generator | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """Laplace: exponential on both sides. (2, 3) -> [2, 3]

    loc: the centre
    scale: the width
    Raises ValueError if a size is below 0; TypeError if one is not an integer.
    """
    u = open_bits(new_sizes((size,)), get_device(device), generator) - 0.5
    # The inverse of the distribution function: -scale * sign(u) * log(1 - 2 |u|), u in (-0.5, 0.5).
    return (u.abs() * -2).log1p() * u.sign() * -scale + loc


@composed
def log_normal(
    size: int | Sequence[int],
    mean: float = 1.0,
    std: float = 2.0,
    *,
    generator: Generator | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """exp of a normal sample with that mean and standard deviation. (2, 3) -> [2, 3]. ValueError if std is
    not above 0."""
    require(std > 0, f"std={std} is not above 0: pass a positive number")
    if (host := host_draws(device := get_device(device), generator)) is not None:
        return host.log_normal(new_sizes((size,)), dt.float32, mean, std)
    return (normal_bits(new_sizes((size,)), get_device(device), generator) * std + mean).exp()


@composed
def cauchy(
    size: int | Sequence[int],
    median: float = 0.0,
    sigma: float = 1.0,
    *,
    generator: Generator | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """Cauchy, by the tangent of a uniform angle. (2, 3) -> [2, 3]

    sigma: half the width at half the height. ValueError if it is not above 0.
    median: the centre
    """
    require(sigma > 0, f"sigma={sigma} is not above 0: pass a width")
    u = open_bits(new_sizes((size,)), get_device(device), generator)
    return ((u - 0.5) * pi).tan() * sigma + median


@composed
def geometric(
    size: int | Sequence[int],
    p: float,
    *,
    generator: Generator | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """The number of trials of probability p up to the first success: 1, 2, ... as floats. (2, 3) -> [2, 3].
    ValueError unless 0 < p < 1."""
    require(0 < p < 1, f"p={p} is not between 0 and 1: pass a probability")
    waiting_time = exponential_bits(new_sizes((size,)), get_device(device), generator)
    # The exponential waiting time of rate -log(1 - p), rounded up: P(result > k) = (1 - p) ** k.
    return (waiting_time * (-1 / log1p(-p))).ceil()


@composed
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Indices drawn by weight, for each row: the largest of log-weight plus Gumbel noise (Gumbel, 1954;
    without replacement: Kool et al., 2019). [n] or [m, n] -> [num_samples] or [m, num_samples]

    ValueError for other dims or num_samples; at the next read for weights that are negative, infinite or NaN,
    or if fewer are above 0 than num_samples. TypeError for complex numbers.
    """
    only_real(input)
    if input.ndim not in (1, 2) or num_samples < 1:
        raise ValueError("takes weights of 1 or 2 dims, and num_samples from 1")
    n = input.shape[-1]
    if num_samples > n and not (replacement and n):
        raise ValueError(
            f"{num_samples} draws without replacement from {n} weights: draw fewer, or replacement=True"
        )
    weights = _weights(input, 1 if replacement else num_samples)
    if (host := host_draws(input.device, generator)) is not None:
        return host.choose(weights, num_samples, replacement)
    logits = weights.log()
    if replacement or num_samples == 1:
        shape = (*input.shape[:-1], num_samples, n)
        return (logits.unsqueeze(-2) + gumbel_bits(shape, input.device, generator)).argmax(-1)
    keys = logits + gumbel_bits(input.shape, input.device, generator)
    return keys.argsort(descending=True)[..., :num_samples]


def _weights(input: Tensor, need: int) -> Tensor:
    """Weights as floats, checked at the next read: at least `need` in each row are above 0.
    [..., n] -> [..., n]"""
    w = input.detach()
    # 16 bits hold too few digits for logarithms of weights plus noise.
    w = w if w.dtype.kind == "f" and w.dtype.itemsize > 2 else w.float()
    w = valid(w, (w < 0) | ~w.isfinite(), "multinomial")
    count = (w > 0).sum(-1, keepdim=True)
    w = valid(w, count == 0, "multinomial sum")
    return w if need == 1 else valid(w, (count > 0) & (count < need), "multinomial few")


@composed
def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The integers below n in random order, int64: the order that sorts n random words. -> [n]

    Raises ValueError if n is below 0.
    """
    if n < 0:
        raise ValueError(f"n={n} is below 0: pass a length")
    dtype = dt.default_integer() if dtype is None else as_dtype(dtype)
    # the largest integer up to which all are exact
    most = 1 << digits_of(dtype) if dtype.is_float else _limits_of(dtype)[1]
    require(n - 1 <= most, f"{dtype.name} holds integers up to {most}, not {n - 1}: pass another dtype")
    device = get_device(device)
    if (host := host_draws(device, generator)) is not None:
        return finish(host.permutation(n), dtype, requires_grad)
    order = drawn_bits((n,), device, generator)._argsort(False)
    return finish(order, dtype, requires_grad)
