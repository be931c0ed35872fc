"""Random numbers: reproducible by the attribute `seed`, without it by fb.manual_seed."""

from typing import Any

from ... import functions as fb
from ...core.dtype import as_dtype
from ...ops.random import Generator
from ...tensor import Tensor
from ..graph import CODES
from ..values import device_for, dtype_name
from .cast import dtype_name_of
from .table import operator


def generator_for(seed: float | None) -> Generator | None:
    """Return a new generator for a seed; without a seed None, which means the process's generator."""
    if seed is not None and not abs(seed) < 1e30:
        raise ValueError(f"seed {seed}: takes a finite number")
    # ONNX's seed is a float: scale it, so that fractions differ
    return None if seed is None else Generator(int(float(seed) * 2**16) & (2**63 - 1))


def _draw(kind: str, shape: Any, code: int, seed: float | None, device: Any) -> Tensor:
    """Draw from fb.rand or fb.randn, in a shape and an ONNX dtype."""
    dtype = as_dtype(dtype_name_of(code))
    draw = {"uniform": fb.rand, "normal": fb.randn}[kind]
    return draw(*shape, generator=generator_for(seed), device=device_for(dtype, device)).to(dtype)


def _code_for(x: Tensor, code: int | None) -> int:
    return CODES[dtype_name(x)] if code is None else code


@operator("RandomNormal")
def random_normal(
    *,
    shape: tuple[int, ...],
    dtype: int = 1,
    mean: float = 0.0,
    scale: float = 1.0,
    seed: float | None = None,
    node: Any,
) -> Tensor:
    """Normal numbers with a mean and a standard deviation. -> shape"""
    return _draw("normal", shape, dtype, seed, node.device) * scale + mean


@operator("RandomUniform")
def random_uniform(
    *,
    shape: tuple[int, ...],
    dtype: int = 1,
    low: float = 0.0,
    high: float = 1.0,
    seed: float | None = None,
    node: Any,
) -> Tensor:
    """Uniform numbers in [low, high). -> shape"""
    return _draw("uniform", shape, dtype, seed, node.device) * (high - low) + low


@operator("RandomNormalLike", moves=False)
def random_normal_like(
    x: Tensor,
    *,
    dtype: int | None = None,
    mean: float = 0.0,
    scale: float = 1.0,
    seed: float | None = None,
    node: Any,
) -> Tensor:
    """As RandomNormal, in the shape of x and its dtype."""
    return _draw("normal", x.shape, _code_for(x, dtype), seed, node.device) * scale + mean


@operator("RandomUniformLike", moves=False)
def random_uniform_like(
    x: Tensor,
    *,
    dtype: int | None = None,
    low: float = 0.0,
    high: float = 1.0,
    seed: float | None = None,
    node: Any,
) -> Tensor:
    """As RandomUniform, in the shape of x and its dtype."""
    return _draw("uniform", x.shape, _code_for(x, dtype), seed, node.device) * (high - low) + low


@operator("Multinomial", since=7)
def multinomial(x: Tensor, *, dtype: int = 6, sample_size: int = 1, seed: float | None = None) -> Tensor:
    """Draw classes by log-weights. [n, classes] -> [n, sample_size]"""
    # subtract the maximum: exp can't overflow, and the ratios stay
    weights = (x.float() - x.float().amax(1, keepdim=True)).exp()
    return fb.multinomial(weights, sample_size, True, generator=generator_for(seed)).to(
        as_dtype(dtype_name_of(dtype))
    )


@operator("Bernoulli", since=15)
def bernoulli(x: Tensor, *, dtype: int | None = None, seed: float | None = None) -> Tensor:
    """1 with the probability in x, else 0. [...] -> [...]"""
    drawn = fb.bernoulli(x, generator=generator_for(seed))
    return drawn.to(as_dtype(dtype_name_of(_code_for(x, dtype))))
