"""Fourier transforms with torch.fft's names. Internally complex numbers are pairs in a last dim of 2, as in
view_as_real. Dims are counted without it: dim=-1 is the last dim of the complex tensor.
"""

# Primitives are tensor methods whose names begin with "_": they are private to the package.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import sqrt
from typing import TYPE_CHECKING

from ...core import dtype as dt
from ...core import op
from ...core.declare import composed
from ...core.shape import normal_dim
from ..creation import finish
from ..elementwise import as_float
from ..join import cat
from . import kernels as fo

if TYPE_CHECKING:
    from ...core.dtype import DTypeLike
    from ...device import DeviceLike
    from ...tensor import Tensor

NORMS = {
    None: (0, 1),
    "backward": (0, 1),
    "ortho": (0.5, 0.5),
    "forward": (1, 0),
}  # powers of 1/n: of the transform, of the inverse


# --- complex numbers ---


def _pairs(x: Tensor) -> Tensor:
    """Both parts of complex numbers in a last dim of 2; real tensors get imaginary parts of 0."""
    z = x if x.dtype.is_complex else x.to(x.dtype.as_float.complex)
    return z.view_as_real()


# --- one dim ---


def _dim_of(dim: int, rank: int) -> int:
    """normal_dim, which raises an IndexError for a 0-d tensor."""
    if not rank:
        raise IndexError(f"dim {dim}: a 0-d tensor has no dim to transform: reshape it to [1]")
    return normal_dim(dim, rank)


def _scale(y: Tensor, n: int, norm: str | None, back: bool) -> Tensor:
    if norm not in NORMS:
        raise ValueError(f"norm={norm!r} is not 'backward', 'ortho' or 'forward'")
    power = NORMS[norm][back]  # index by bool: forward or inverse
    return y * (1 / n if power == 1 else 1 / sqrt(n)) if power else y


def _resize_dim(x: Tensor, d: int, n: int | None) -> Tensor:
    """Cuts a dim to n elements, or pads it with zeros."""
    n = x.shape[d] if n is None else n
    if n < 1:
        raise ValueError(f"a transform of {n} elements is not defined: pass n of at least 1")
    after = tuple((n - x.shape[d]) * (e == d) for e in range(x.ndim))  # negative: cut
    return x if x.shape[d] == n else x._pad((0,) * x.ndim, after)


def _transform(z: Tensor, n: int | None, dim: int, norm: str | None, back: bool) -> Tensor:
    """Transforms pairs along a dim."""
    d = _dim_of(dim, z.ndim - 1)
    z = _resize_dim(z, d, n)
    n = z.shape[d]
    return _scale(fo._fft(z, dim=d, inverse=back), n, norm, back)


def _real(x: Tensor, d: int, n: int | None) -> Tensor:
    """Real numbers as floats that are transformed, cut or padded along a dim."""
    x = as_float(x)
    return _resize_dim(x if x.dtype is dt.float64 else x.float(), d, n)


def _transform_any(x: Tensor, n: int | None, dim: int, norm: str | None, back: bool) -> Tensor:
    """Transforms complex or real numbers along a dim, to pairs."""
    if x.dtype.is_complex or back:
        return _transform(_pairs(x), n, dim, norm, back)
    d = _dim_of(dim, x.ndim)
    x = _real(x, d, n)
    return _scale(fo._fft_of_real(x, dim=d), x.shape[d], norm, back)


@composed
def fft_fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The transform of complex (or real) numbers along a dim. [..., n] -> [..., n]

    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way
    """
    return _transform_any(input, n, dim, norm, False).view_as_complex()


@composed
def fft_ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse transform of complex (or real) numbers along a dim. [..., n] -> [..., n]

    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way
    """
    return _transform(_pairs(input), n, dim, norm, True).view_as_complex()


@composed
def fft_rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The first half of the transform of real numbers along a dim. [..., n] -> [..., n // 2 + 1]

    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way
    Raises TypeError for complex numbers.
    """
    return _rfft(input, n, dim, norm).view_as_complex()


def _rfft(input: Tensor, n: int | None, dim: int, norm: str | None) -> Tensor:
    """rfft as pairs."""
    if input.dtype.is_complex:
        raise TypeError("takes real numbers: use fft for complex ones, or .real")
    d = _dim_of(dim, input.ndim)
    x = _real(input, d, n)
    return _scale(fo._rfft(x, dim=d), x.shape[d], norm, False)


@composed
def fft_irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Real numbers from half their transform; n defaults to 2 (m - 1). [..., m] -> [..., n]

    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way
    Raises ValueError if n is below 1.
    """
    return _irfft(_pairs(input), n, dim, norm)


def _irfft(z: Tensor, n: int | None, dim: int, norm: str | None) -> Tensor:
    """irfft of pairs."""
    d = _dim_of(dim, z.ndim - 1)
    n = 2 * (z.shape[d] - 1) if n is None else n
    if n < 1:
        raise ValueError(f"a transform of {n} elements is not defined: pass n of at least 1")
    z = _resize_dim(z, d, n // 2 + 1)  # of n real numbers only the first n // 2 + 1 results are needed
    return _scale(fo._irfft(z, dim=d, n=n), n, norm, True)


SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


@composed
def fft_hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The real transform of a signal with conjugate symmetry, from its first half. [..., m] -> [..., n]

    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way
    Raises ValueError if n is below 1.
    """
    # hfft is irfft of the conjugate, scaled as a forward transform: the norms' roles are exchanged.
    return _irfft(fo.conjugate(_pairs(input)), n, dim, SWAPPED.get(norm, norm))


@composed
def fft_ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of hfft. [..., n] -> [..., n // 2 + 1]

    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way
    Raises TypeError for complex numbers.
    """
    return fo.conjugate(_rfft(input, n, dim, SWAPPED.get(norm, norm))).view_as_complex()


# --- several dims ---


def _dims(
    rank: int, s: int | Sequence[int] | None, dim: int | Sequence[int] | None
) -> list[tuple[int, int | None]]:
    """The dims to transform and their lengths (None: as they are)."""
    s = (s,) if isinstance(s, int) else s
    if dim is None:
        # Without dim the last len(s) dims, as in PyTorch.
        dim = range(rank) if s is None else range(rank - len(s), rank)
    dims = [_dim_of(d, rank) for d in ((dim,) if isinstance(dim, int) else dim)]
    lengths = [None] * len(dims) if s is None else [None if n == -1 else n for n in s]  # -1: unchanged
    if len(lengths) != len(dims) or not dims:
        raise ValueError(f"s={lengths} and dim={dims} differ in length, or are empty")
    return list(zip(dims, lengths, strict=True))


def _transform_each(
    z: Tensor, pairs: Iterable[tuple[int, int | None]], norm: str | None, back: bool
) -> Tensor:
    for d, n in pairs:
        z = _transform(z, n, d, norm, back)
    return z


@composed
def fft_fftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """The transform of complex (or real) numbers along several dims, by default all. [...] -> [...]

    s: the length of each transformed dim, which is cut or padded with zeros
    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way
    Raises ValueError if s and dim differ in length.
    """
    (d, n), *rest = _dims(input.ndim, s, dim)  # the first transform reads real numbers directly
    z = _transform_any(input, n, d, norm, False)
    return _transform_each(z, rest, norm, False).view_as_complex()


@composed
def fft_ifftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """The inverse of fftn. [...] -> [...]

    s: the length of each transformed dim, which is cut or padded with zeros
    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way
    Raises ValueError if s and dim differ in length.
    """
    return _transform_each(_pairs(input), _dims(input.ndim, s, dim), norm, True).view_as_complex()


@composed
def fft_rfftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """The transform of real numbers along several dims, half of the last. [..., n] -> [..., n // 2 + 1]

    s: the length of each transformed dim, which is cut or padded with zeros
    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way
    Raises ValueError if s and dim differ in length; TypeError for complex numbers.
    """
    # Real numbers along the last dim first: the others transform only half.
    *rest, (d, n) = _dims(input.ndim, s, dim)
    return _transform_each(_rfft(input, n, d, norm), rest, norm, False).view_as_complex()


@composed
def fft_irfftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """The inverse of rfftn. [..., m] -> [..., n]

    s: the length of each transformed dim, which is cut or padded with zeros
    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way
    Raises ValueError if s and dim differ in length, or n is below 1.
    """
    *rest, (d, n) = _dims(input.ndim, s, dim)
    return _irfft(_transform_each(_pairs(input), rest, norm, True), n, d, norm)


@composed
def fft_hfftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """The real transform along several dims of a signal with conjugate symmetry, from half of it.
    [..., m] -> [..., n]

    s: the length of each transformed dim, which is cut or padded with zeros
    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way
    """
    return fft_irfftn(input.conj(), s, dim, SWAPPED.get(norm, norm))


@composed
def fft_ihfftn(
    input: Tensor,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """The inverse of hfftn. [..., n] -> [..., n // 2 + 1]

    s: the length of each transformed dim, which is cut or padded with zeros
    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way
    """
    return fft_rfftn(input, s, dim, SWAPPED.get(norm, norm)).conj()


def _over_two_dims(name: str, f: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def transform(
        input: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] = (-2, -1),
        norm: str | None = None,
    ) -> Tensor:
        return f(input, s, dim, norm)

    transform.__name__ = name
    transform.__doc__ = f"""{f.__name__.removeprefix("fft_")} along two dims, by default the last two.

    s: the length of each transformed dim, which is cut or padded with zeros
    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way
    """
    return composed(transform)


fft_fft2, fft_ifft2 = _over_two_dims("fft_fft2", fft_fftn), _over_two_dims("fft_ifft2", fft_ifftn)
fft_rfft2, fft_irfft2 = _over_two_dims("fft_rfft2", fft_rfftn), _over_two_dims("fft_irfft2", fft_irfftn)
fft_hfft2, fft_ihfft2 = _over_two_dims("fft_hfft2", fft_hfftn), _over_two_dims("fft_ihfft2", fft_ihfftn)


# --- frequencies and shifts ---


def _tensor():
    return op.Tensor


@composed
def fft_fftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies of a transform of n samples, d apart. -> [n]"""
    k = _tensor().arange(n, dtype=dt.int32, device=device)
    # the upper half are negative frequencies
    return finish((k > (n - 1) // 2).where(k - n, k).float() * (1 / (n * d)), dtype, requires_grad)


@composed
def fft_rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies of half a transform of n samples, d apart. -> [n // 2 + 1]"""
    k = _tensor().arange(n // 2 + 1, dtype=dt.int32, device=device).float()
    return finish(k * (1 / (n * d)), dtype, requires_grad)


def _roll(x: Tensor, dim: int | Sequence[int] | None, by: Callable[[int], int]) -> Tensor:
    dims = range(x.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    for d in (_dim_of(d, x.ndim) for d in dims):
        k = by(x.shape[d])
        x = cat([x.narrow(d, k, x.shape[d] - k), x.narrow(d, 0, k)], d) if k else x
    return x


@composed
def fft_fftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Shifts frequency 0 to the middle of dims, by default all. [...] -> [...]"""
    return _roll(input, dim, lambda n: n - n // 2)


@composed
def fft_ifftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of fftshift. [...] -> [...]"""
    return _roll(input, dim, lambda n: n // 2)
