"""Fourier transforms as torch.fft, of complex numbers as pairs: docs/linalg.md has the conventions.

Made by `python scripts/write_stubs.py`."""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any

from .core.dtype import DType
from .tensor import Tensor

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

def fft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: str | None = None) -> Tensor:
    """The transform of complex (or real) numbers along a dim. [..., n] -> [..., n]

    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way"""

def fft2(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] = (-2, -1),
    norm: str | None = None,
) -> Tensor:
    """fftn along two dims, the last unless given.

    s: how long each transformed dim is: cut or padded with zeros
    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way"""

def fftfreq(
    n: _int,
    d: _float = 1.0,
    *,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """The frequencies of a transform of n samples, d apart. -> [n]"""

def fftn(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """The transform of complex (or real) numbers along several dims, all unless given. [...] -> [...]

    s: how long each transformed dim is: cut or padded with zeros
    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way
    Raises ValueError where s and dim differ in length."""

def fftshift(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor:
    """Frequency 0 in the middle of dims, all unless given. [...] -> [...]"""

def hfft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: str | None = None) -> Tensor:
    """The real transform of half the numbers, the others conjugate. [..., m] -> [..., n]

    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way
    Raises ValueError where n is below 1."""

def hfft2(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] = (-2, -1),
    norm: str | None = None,
) -> Tensor:
    """hfftn along two dims, the last unless given.

    s: how long each transformed dim is: cut or padded with zeros
    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way"""

def hfftn(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """The real transform along several dims of half the numbers. [..., m] -> [..., n]

    s: how long each transformed dim is: cut or padded with zeros
    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way"""

def ifft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: str | None = None) -> Tensor:
    """The inverse transform of complex (or real) numbers along a dim. [..., n] -> [..., n]

    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way"""

def ifft2(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] = (-2, -1),
    norm: str | None = None,
) -> Tensor:
    """ifftn along two dims, the last unless given.

    s: how long each transformed dim is: cut or padded with zeros
    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way"""

def ifftn(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """The inverse of fftn. [...] -> [...]

    s: how long each transformed dim is: cut or padded with zeros
    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way
    Raises ValueError where s and dim differ in length."""

def ifftshift(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor:
    """The inverse of fftshift. [...] -> [...]"""

def ihfft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: str | None = None) -> Tensor:
    """The inverse of hfft. [..., n] -> [..., n // 2 + 1]

    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way
    Raises TypeError for complex numbers."""

def ihfft2(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] = (-2, -1),
    norm: str | None = None,
) -> Tensor:
    """ihfftn along two dims, the last unless given.

    s: how long each transformed dim is: cut or padded with zeros
    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way"""

def ihfftn(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """The inverse of hfftn. [..., n] -> [..., n // 2 + 1]

    s: how long each transformed dim is: cut or padded with zeros
    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way"""

def irfft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: str | None = None) -> Tensor:
    """Real numbers from half their transform; n is 2 (m - 1) unless given. [..., m] -> [..., n]

    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way
    Raises ValueError where n is below 1."""

def irfft2(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] = (-2, -1),
    norm: str | None = None,
) -> Tensor:
    """irfftn along two dims, the last unless given.

    s: how long each transformed dim is: cut or padded with zeros
    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way"""

def irfftn(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """The inverse of rfftn. [..., m] -> [..., n]

    s: how long each transformed dim is: cut or padded with zeros
    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way
    Raises ValueError where s and dim differ in length, or n is below 1."""

def rfft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: str | None = None) -> Tensor:
    """The first half of the transform of real numbers along a dim. [..., n] -> [..., n // 2 + 1]

    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way
    Raises TypeError for complex numbers."""

def rfft2(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] = (-2, -1),
    norm: str | None = None,
) -> Tensor:
    """rfftn along two dims, the last unless given.

    s: how long each transformed dim is: cut or padded with zeros
    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way"""

def rfftfreq(
    n: _int,
    d: _float = 1.0,
    *,
    dtype: DType | type[Any] | str | None = None,
    device: Any = None,
    requires_grad: _bool = False,
) -> Tensor:
    """The frequencies of half a transform of n samples, d apart. -> [n // 2 + 1]"""

def rfftn(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] | None = None,
    norm: str | None = None,
) -> Tensor:
    """The transform of real numbers along several dims, half of the last. [..., n] -> [..., n // 2 + 1]

    s: how long each transformed dim is: cut or padded with zeros
    norm: "backward" scales the inverse by 1 / n, "ortho" both by 1 / sqrt(n), "forward" this way
    Raises ValueError where s and dim differ in length; TypeError for complex numbers."""
