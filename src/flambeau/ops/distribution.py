"""Random tensors: what is drawn from each distribution, made of the stream's bits by ops that fuse."""

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
from .creation import finished
from .elementwise import covered
from .index.indices import valid
from .random import drawn_bits, exponential_bits, gumbel_bits, normal_bits, open_bits, uniform_bits

if TYPE_CHECKING:
    from ..core.dtype import DType, DTypeLike
    from ..core.shape import Shape
    from ..ops.random import Generator
    from ..tensor import Tensor


def digits_of(dtype: DType) -> int:
    """The binary digits of a float dtype, of which no more than 24 are drawn."""
    return min(round(1 - log2(dt.finfo(dtype).eps)), 24)


def _drawn_floats(draw: Callable[[DType], Tensor], dtype: DTypeLike | None, requires_grad: bool) -> Tensor:
    """draw(dtype) of floats, in float32, as a tensor of the dtype (the default one without); both parts of
    complex numbers are drawn."""
    if dtype is None:
        return finished(draw(dt.get_default_dtype()), dt.default_float(), requires_grad)
    dtype = as_dtype(dtype)
    if not dtype.has_gradients:
        raise TypeError(f"dtype={dtype.name} has no fractions: give a float dtype")
    if not dtype.is_complex:
        return finished(draw(dtype), dtype, requires_grad)
    real = draw(dtype.real)
    return finished(COMPOSED["complex"](real, draw(dtype.real)), dtype, requires_grad)


@composed
def rand(
    *size: int | Sequence[int],
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Uniform in [0, 1), the same bits on every device; of complex numbers both parts. (2, 3) -> [2, 3]

    TypeError for a dtype that has no fractions.
    """
    shape, device = new_sizes(size), get_device(device)

    def draw(dtype: DType) -> Tensor:
        return uniform_bits(shape, device, generator, digits_of(dtype))

    return _drawn_floats(draw, dtype, requires_grad)


@composed
def randn(
    *size: int | Sequence[int],
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Standard normal; devices differ by less than 1e-6; complex numbers have variance 1. (2, 3) -> [2, 3]

    TypeError for a dtype that has no fractions.
    """
    shape, device = new_sizes(size), get_device(device)
    scale = 0.5**0.5 if dtype is not None and as_dtype(dtype).is_complex else 1.0

    def draw(_: DType) -> Tensor:
        drawn = normal_bits(shape, device, generator)
        return drawn if scale == 1 else drawn * scale

    return _drawn_floats(draw, dtype, requires_grad)


BIASED = 1 << 16  # a range up to which 32 bits modulo it favour no number by more than 2^-16


def _scaled(words: Sequence[Tensor], span: int) -> Tensor:
    """floor(w * span / 2^(32 n)) of n words that are the digits of w, the lowest first, as int64 that wraps.

    No number is favoured by more than span / 2^(32 n). A long multiplication of 32-bit digits.
    """
    mask = 0xFFFFFFFF
    factors = [span & mask, span >> 32] if span >> 32 else [span]
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


def _signed(value: int) -> int:
    """A number of 64 bits as int64 holds its bits."""
    return value - (1 << 64) if value >= 1 << 63 else value


def _limits_of(dtype: DType) -> tuple[Any, Any]:
    """The least and the largest number of a dtype."""
    if dtype is dt.bool_:
        return 0, 1
    info: Any = dt.finfo(dtype) if dtype.is_float else dt.iinfo(dtype)
    return info.min, info.max


def whole_numbers(
    low: int, high: int, shape: Shape, dtype: DType, device: Any, generator: Generator | None
) -> Tensor:
    """Each whole number in [low, high) equally often, in that dtype; of floats the nearest inside.

    ValueError where there is none, or where the dtype does not hold them.
    """
    if dtype.is_complex:
        raise TypeError(f"dtype={dtype.name} has no order: give a dtype of real numbers")
    low, high = (integers(value, name, False) for value, name in ((low, "low"), (high, "high")))
    if low >= high:
        raise ValueError(f"low={low} is not below high={high}: give a high that is")
    least, most = _limits_of(dtype)
    if low < least or high - 1 > most:
        raise ValueError(f"{dtype.name} holds {least} to {most}, and not {low} to {high - 1}: give another")
    span, ends = high - low, (-(1 << 31), 1 << 31)

    def bits():
        return drawn_bits(shape, device, generator)

    if span <= BIASED:
        drawn = bits() % span
        is_small = ends[0] <= low and high <= ends[1] and not dtype.is_pair
        drawn = drawn.int() if is_small else drawn.long()
    elif span == 1 << 64:
        drawn = bits().long() | bits().long() << 32
    else:
        drawn = _scaled([bits().long() for _ in range(2 if span < 1 << 32 else 3)], span)
    drawn = drawn + _signed(low) if low else drawn
    if not dtype.is_float:
        return drawn.to(dtype)
    drawn = drawn.to(dtype)
    exact = 1 << digits_of(dtype)
    if -exact <= low and high <= exact:
        return drawn
    return drawn.clamp(-below(-low, dtype, True), below(high - 1, dtype, True))


def below(value: float, dtype: DType, or_equal: bool = False) -> float:
    """The largest number of a float dtype that is below a number, or equal to it."""
    info = dt.finfo(dtype)
    mantissa, exponent = frexp(value)
    step = info.eps * 2.0 ** (exponent - 1 - (mantissa == 0.5 and not or_equal))
    if abs(value) <= info.tiny:
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
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Integers in [low, high), int64, each equally often; randint(n, (2, 3)) and randint(n, size=(2, 3))
    start at 0. (low, high, (2, 3)) -> [2, 3]

    dtype: also of bools or floats. ValueError where low is not below high, or the dtype does not hold them.
    """
    if isinstance(high, tuple | list):
        high, size = None, high
    low, high = (0, low) if high is None else (low, high)
    dtype = dt.default_integer() if dtype is None else dt.as_dtype(dtype)
    drawn = whole_numbers(low, high, new_sizes((size,)), dtype, get_device(device), generator)
    return finished(drawn, None, requires_grad)


@composed
def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: Any = None,
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
    device: Any = None,
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
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Integers in [low, high) in the shape, dtype and on the device of x. [...] -> [...]

    ValueError where low is not below high, or the dtype does not hold them.
    """
    low, high = (0, low) if high is None else (low, high)
    kw = _like(input, dtype or input.dtype, device)
    return randint(low, high, input.shape, generator=generator, requires_grad=requires_grad, **kw)


def _like(x: Tensor, dtype: DTypeLike, device: Any) -> dict[str, Any]:
    return {"dtype": dtype, "device": x.device if device is None else device}


def _float_of(x: Tensor) -> DType:
    return x.dtype if x.dtype.has_gradients else dt.default_float()


def required(holds: bool, rule: str) -> None:
    """ValueError with the rule where it does not hold."""
    if not holds:
        raise ValueError(rule)


def uniform_between(
    low: float, high: float, shape: Shape, dtype: DType, device: Any, generator: Generator | None
) -> Tensor:
    """Uniform in [low, high), float32, rounded so that the dtype has none at high.

    ValueError where low is above high, or the dtype does not hold them or their distance.
    """
    most = dt.finfo(dtype).max
    required(abs(low) <= most and abs(high) <= most, f"low={low} or high={high} is no number of {dtype.name}")
    required(low <= high, f"low={low} is above high={high}: exchange them")
    required(high - low <= most, f"high - low = {high - low} is beyond {dtype.name}: give a smaller range")
    drawn = uniform_bits(shape, device, generator) * (high - low) + low
    return drawn.clamp(low, max(low, below(high, dtype))) if low < high else drawn


@composed
def uniform(
    size: int | Sequence[int],
    low: float = 0.0,
    high: float = 1.0,
    *,
    generator: Generator | None = None,
    device: Any = None,
) -> Tensor:
    """Uniform in [low, high). (2, 3) -> [2, 3]

    ValueError where low is above high, or either is not finite.
    """
    return uniform_between(low, high, new_sizes((size,)), dt.float32, get_device(device), generator)


def spread(std: Any) -> Any:
    """A standard deviation that may be one: numbers at once, elements of a tensor at the next read."""
    if is_tensor(std):
        return valid(std, (std < 0) | std.isnan(), "normal") if std.dtype.kind == "f" else std
    required(std >= 0, f"std={std} is negative or NaN: give one from 0")
    return std


@composed
def normal(
    mean: Tensor | float = 0.0,
    std: Any = 1.0,
    size: int | Sequence[int] | None = None,
    *,
    generator: Generator | None = None,
    device: Any = None,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Normal with that mean and standard deviation, numbers with a size (and a float dtype) or tensors that
    broadcast, in the dtype of the first.

    ValueError for numbers without a size or a negative std (in a tensor, at the next read), TypeError for a
    dtype that is none of floats, or tensors with a size.
    """
    parts: list[Any] = [v for v in (mean, std) if hasattr(v, "shape")]
    std = spread(std)
    if not parts:
        if size is None:
            raise ValueError("numbers need a size: give size=(...)")
        drawn = randn(new_sizes((size,)), generator=generator, device=device, dtype=dtype)
        return drawn * std + mean
    if size is not None:
        raise TypeError("tensors have sizes: leave size out, or give numbers")
    drawn = normal_bits(broadcast(*(v.shape for v in parts)), parts[0].device, generator) * std + mean
    wanted = _float_of(parts[0]) if dtype is None else as_dtype(dtype)
    if not wanted.is_float:
        raise TypeError(f"dtype={wanted.name} has no fractions: give a float dtype")
    return drawn.to(wanted)


def chance(p: Any) -> Any:
    """A probability that may be one: a number at once, elements of a tensor at the next read."""
    if is_tensor(p):
        return valid(p, (p < 0) | (p > 1) | p.isnan(), "bernoulli") if p.dtype.kind == "f" else p
    required(0 <= p <= 1, f"p={p} is not in 0 to 1: give a probability")
    return p


@composed
def bernoulli(input: Tensor, p: float | None = None, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability that each element is (or p), else 0, in its dtype. [...] -> [...]

    ValueError for what is no probability; of elements at the next read.
    """
    likely = chance(input if p is None else p)
    drawn = (uniform_bits(input.shape, input.device, generator) < likely).to(input.dtype)
    return covered(drawn, input) if input.requires_grad else drawn


@composed
def exponential(
    size: int | Sequence[int], lambd: float = 1.0, *, generator: Generator | None = None, device: Any = None
) -> Tensor:
    """Exponential with rate lambd. (2, 3) -> [2, 3]. ValueError where lambd is not above 0."""
    required(lambd > 0, f"lambd={lambd} is not above 0: give a rate")
    return exponential_bits(new_sizes((size,)), get_device(device), generator) * (1 / lambd)


@composed
def gumbel(
    size: int | Sequence[int],
    loc: float = 0.0,
    scale: float = 1.0,
    *,
    generator: Generator | None = None,
    device: Any = None,
) -> Tensor:
    """Gumbel: the largest of many. (2, 3) -> [2, 3]

    loc: the centre
    scale: how wide it is
    Raises ValueError where a size is below 0; TypeError where one is no whole number.
    """
    return gumbel_bits(new_sizes((size,)), get_device(device), generator) * scale + loc


@composed
def laplace(
    size: int | Sequence[int],
    loc: float = 0.0,
    scale: float = 1.0,
    *,
    generator: Generator | None = None,
    device: Any = None,
) -> Tensor:
    """Laplace: exponential to both sides. (2, 3) -> [2, 3]

    loc: the centre
    scale: how wide it is
    Raises ValueError where a size is below 0; TypeError where one is no whole number.
    """
    u = open_bits(new_sizes((size,)), get_device(device), generator) - 0.5
    return (u.abs() * -2).log1p() * u.sign() * -scale + loc


@composed
def log_normal(
    size: int | Sequence[int],
    mean: float = 1.0,
    std: float = 2.0,
    *,
    generator: Generator | None = None,
    device: Any = None,
) -> Tensor:
    """exp of a normal with that mean and standard deviation. (2, 3) -> [2, 3]. ValueError where std is not
    above 0."""
    required(std > 0, f"std={std} is not above 0: give one that is")
    return (normal_bits(new_sizes((size,)), get_device(device), generator) * std + mean).exp()


@composed
def cauchy(
    size: int | Sequence[int],
    median: float = 0.0,
    sigma: float = 1.0,
    *,
    generator: Generator | None = None,
    device: Any = None,
) -> Tensor:
    """Cauchy, by the tangent of a uniform angle. (2, 3) -> [2, 3]

    sigma: half of its width at half of its height. ValueError where it is not above 0.
    median: the centre
    """
    required(sigma > 0, f"sigma={sigma} is not above 0: give a width")
    u = open_bits(new_sizes((size,)), get_device(device), generator)
    return ((u - 0.5) * pi).tan() * sigma + median


@composed
def geometric(
    size: int | Sequence[int], p: float, *, generator: Generator | None = None, device: Any = None
) -> Tensor:
    """How many trials of probability p up to the first success: 1, 2, ... as floats. (2, 3) -> [2, 3].
    ValueError where p is not inside 0 to 1."""
    required(0 < p < 1, f"p={p} is not inside 0 to 1: give a probability")
    waited = exponential_bits(new_sizes((size,)), get_device(device), generator)
    return (waited * (-1 / log1p(-p))).ceil()


@composed
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Indices drawn with weights, rows apart, by the largest of log-weight plus Gumbel noise (Gumbel, 1954;
    without replacement: Kool et al., 2019). [n] or [m, n] -> [num_samples] or [m, num_samples]

    ValueError for other dims or numbers; at the next read for weights that are negative, infinite or NaN, or
    of which fewer are above 0 than are drawn. TypeError for complex numbers.
    """
    only_real(input)
    if input.ndim not in (1, 2) or num_samples < 1:
        raise ValueError("takes weights of 1 or 2 dims, and num_samples from 1")
    n = input.shape[-1]
    if num_samples > n and not (replacement and n):
        raise ValueError(f"{num_samples} draws without replacement of {n}: draw fewer, or replacement=True")
    logits = _weights(input, 1 if replacement else num_samples).log()
    if replacement or num_samples == 1:
        shape = (*input.shape[:-1], num_samples, n)
        return (logits.unsqueeze(-2) + gumbel_bits(shape, input.device, generator)).argmax(-1)
    keys = logits + gumbel_bits(input.shape, input.device, generator)
    return keys.argsort(descending=True)[..., :num_samples]


def _weights(input: Tensor, need: int) -> Tensor:
    """Weights as floats, of which so many in each row must be above 0. [..., n] -> [..., n]"""
    w = input.detach()
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
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The integers below n in random order, int64: the order that sorts n random words. -> [n]

    Raises ValueError where n is no whole number from 0.
    """
    if n < 0:
        raise ValueError(f"n={n} is not a whole number from 0: give a length")
    dtype = dt.default_integer() if dtype is None else as_dtype(dtype)
    most = 1 << digits_of(dtype) if dtype.is_float else _limits_of(dtype)[1]
    required(n - 1 <= most, f"{dtype.name} holds whole numbers up to {most}, and not {n - 1}: give another")
    order = drawn_bits((n,), get_device(device), generator)._argsort(False)
    return finished(order, dtype, requires_grad)
