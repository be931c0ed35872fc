"""Random tensors: what is drawn from each distribution, made of the stream's bits by ops that fuse."""

from math import log, pi
from typing import Any

from ..core import dtype as dt
from ..core.declare import composed
from ..core.dtype import as_dtype
from ..core.op import Family, only_real
from ..core.shape import broadcast, sizes_of
from ..device import get_device
from .creation import finished
from .random import drawn_bits, exponential_bits, gumbel_bits, normal_bits, open_bits, uniform_bits

FUNCTIONS = (
    "bernoulli",
    "cauchy",
    "exponential",
    "geometric",
    "gumbel",
    "laplace",
    "log_normal",
    "multinomial",
    "normal",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "uniform",
)


@composed
def rand(*size, generator=None, dtype=None, device=None, requires_grad: bool = False):
    """Uniform in [0, 1), float32, the same bits on every device. (2, 3) -> [2, 3]"""
    return finished(uniform_bits(sizes_of(size), get_device(device), generator), dtype, requires_grad)


@composed
def randn(*size, generator=None, dtype=None, device=None, requires_grad: bool = False):
    """Standard normal, float32; devices differ by less than 1e-6. (2, 3) -> [2, 3]"""
    return finished(normal_bits(sizes_of(size), get_device(device), generator), dtype, requires_grad)


@composed
def randint(
    low: int,
    high: int | None = None,
    size=(),
    *,
    generator=None,
    dtype=None,
    device=None,
    requires_grad: bool = False,
):
    """Integers in [low, high), int64; randint(n, (2, 3)) and randint(n, size=(2, 3)) start at 0."""
    if isinstance(high, tuple | list):
        high, size = None, high
    low, high = (0, low) if high is None else (low, high)
    if not 0 < high - low <= 1 << 31:
        raise ValueError("high must be above low, by at most 2**31")
    size = (size,) if isinstance(size, int) else tuple(size)
    dtype = dt.default_integer() if dtype is None else dt.as_dtype(dtype)
    drawn = (drawn_bits(size, get_device(device), generator) % (high - low)).int()
    drawn = drawn.long() if dtype.is_pair else drawn
    return finished(drawn + low, dtype, requires_grad)


@composed
def rand_like(input, *, generator=None, dtype=None, device=None, requires_grad: bool = False):
    """Uniform in [0, 1) in the shape and on the device of x. [...] -> [...]"""
    kw = _like(input, dtype or _float_of(input), device)
    return rand(input.shape, generator=generator, requires_grad=requires_grad, **kw)


@composed
def randn_like(input, *, generator=None, dtype=None, device=None, requires_grad: bool = False):
    """Standard normal in the shape and on the device of x. [...] -> [...]"""
    kw = _like(input, dtype or _float_of(input), device)
    return randn(input.shape, generator=generator, requires_grad=requires_grad, **kw)


@composed
def randint_like(
    input,
    low: int,
    high: int | None = None,
    *,
    generator=None,
    dtype=None,
    device=None,
    requires_grad: bool = False,
):
    """Integers in [low, high) in the shape, dtype and on the device of x. [...] -> [...]"""
    low, high = (0, low) if high is None else (low, high)
    kw = _like(input, dtype or input.dtype, device)
    return randint(low, high, input.shape, generator=generator, requires_grad=requires_grad, **kw)


def _like(x, dtype, device):
    return {"dtype": dtype, "device": x.device if device is None else device}


def _float_of(x):
    return x.dtype if x.dtype.is_float else dt.float32


@composed
def uniform(size, low: float = 0.0, high: float = 1.0, *, generator=None, device=None):
    """Uniform in [low, high). (2, 3) -> [2, 3]"""
    return uniform_bits(sizes_of((size,)), get_device(device), generator) * (high - low) + low


@composed
def normal(mean: Any = 0.0, std: Any = 1.0, size=None, *, generator=None, device=None, dtype=None):
    """Normal with that mean and standard deviation, numbers with a size (and a float dtype) or tensors that
    broadcast. ValueError for numbers without a size, TypeError for a dtype that is none of floats."""
    given: list[Any] = [v for v in (mean, std) if hasattr(v, "shape")]
    if not given:
        if size is None:
            raise ValueError("numbers need a size: give size=(...)")
        drawn = normal_bits(sizes_of((size,)), get_device(device), generator)
    else:
        drawn = normal_bits(broadcast(*(v.shape for v in given)), given[0].device, generator)
    made = drawn * std + mean
    if dtype is None:
        return made
    if not as_dtype(dtype).is_float:
        raise TypeError(f"dtype={dtype!r} has no fractions: give a float dtype")
    return made.to(dtype)


@composed
def bernoulli(input, p: float | None = None, *, generator=None):
    """1 with the probability that each element is (or p), else 0, in its dtype. [...] -> [...]"""
    return (uniform_bits(input.shape, input.device, generator) < (input if p is None else p)).to(input.dtype)


@composed
def exponential(size, lambd: float = 1.0, *, generator=None, device=None):
    """Exponential with rate lambd. (2, 3) -> [2, 3]"""
    return exponential_bits(sizes_of((size,)), get_device(device), generator) * (1 / lambd)


@composed
def gumbel(size, loc: float = 0.0, scale: float = 1.0, *, generator=None, device=None):
    """Gumbel: the largest of many. (2, 3) -> [2, 3]"""
    return gumbel_bits(sizes_of((size,)), get_device(device), generator) * scale + loc


@composed
def laplace(size, loc: float = 0.0, scale: float = 1.0, *, generator=None, device=None):
    """Laplace: exponential to both sides. (2, 3) -> [2, 3]"""
    u = open_bits(sizes_of((size,)), get_device(device), generator) - 0.5
    return (u.abs() * -2).log1p() * u.sign() * -scale + loc


@composed
def log_normal(size, mean: float = 1.0, std: float = 2.0, *, generator=None, device=None):
    """exp of a normal with that mean and standard deviation. (2, 3) -> [2, 3]"""
    return (normal_bits(sizes_of((size,)), get_device(device), generator) * std + mean).exp()


@composed
def cauchy(size, median: float = 0.0, sigma: float = 1.0, *, generator=None, device=None):
    """Cauchy, by the tangent of a uniform angle. (2, 3) -> [2, 3]"""
    u = open_bits(sizes_of((size,)), get_device(device), generator)
    return ((u - 0.5) * pi).tan() * sigma + median


@composed
def geometric(size, p: float, *, generator=None, device=None):
    """How many trials of probability p up to the first success: 1, 2, ... as floats. (2, 3) -> [2, 3]"""
    if not 0 < p < 1:
        raise ValueError(f"p={p} is not inside 0 to 1: give a probability")
    waited = exponential_bits(sizes_of((size,)), get_device(device), generator)
    return (waited * (-1 / log(1 - p))).ceil()


@composed
def multinomial(input, num_samples: int, replacement: bool = False, *, generator=None):
    """Indices drawn with weights, rows apart, by the largest of log-weight plus Gumbel noise (Gumbel, 1954;
    without replacement: Kool et al., 2019). [n] or [m, n] -> [num_samples] or [m, num_samples]"""
    only_real(input)
    if input.ndim not in (1, 2) or num_samples < 1:
        raise ValueError("takes weights of 1 or 2 dims, and num_samples from 1")
    n = input.shape[-1]
    logits = input.float().detach().log()
    if replacement or num_samples == 1:
        shape = (*input.shape[:-1], num_samples, n)
        return (logits.unsqueeze(-2) + gumbel_bits(shape, input.device, generator)).argmax(-1)
    if num_samples > n:
        raise ValueError(f"{num_samples} draws without replacement of {n}: draw fewer, or replacement=True")
    keys = logits + gumbel_bits(input.shape, input.device, generator)
    return keys.argsort(descending=True)[..., :num_samples]


@composed
def randperm(n: int, *, generator=None, dtype=None, device=None, requires_grad: bool = False):
    """The integers below n in random order, int64: the order that sorts n random words. -> [n]"""
    if not isinstance(n, int) or n < 0:
        raise ValueError(f"n={n!r} is not a whole number from 0: give a length")
    order = drawn_bits((n,), get_device(device), generator)._argsort(False)
    return finished(order, dtype or dt.default_integer(), requires_grad)


class Drawing(Family):
    bernoulli, multinomial = bernoulli, multinomial
