"""The array API's Fourier transform extension."""

from collections.abc import Callable
from typing import Any

from .. import fft as _ours
from ..core.dtype import DTypeLike
from ..device import DeviceLike
from ..tensor import Tensor


def _over_one_dim(name: str) -> Callable[..., Tensor]:
    def call(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
        return getattr(_ours, name)(x, n=n, dim=axis, norm=norm)

    call.__name__ = name
    call.__doc__ = f"torch.fft's {name} along an axis, cropped or zero-padded to n."
    return call


def _over_several_dims(name: str) -> Callable[..., Tensor]:
    def call(x: Tensor, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Tensor:
        return getattr(_ours, name)(x, s=s, dim=axes, norm=norm)

    call.__name__ = name
    call.__doc__ = (
        f"torch.fft's {name} along axes (None: the last len(s), or all), cropped or zero-padded to s."
    )
    return call


fft, ifft, rfft, irfft, hfft, ihfft = map(_over_one_dim, ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"))
fftn, ifftn, rfftn, irfftn = map(_over_several_dims, ("fftn", "ifftn", "rfftn", "irfftn"))


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Tensor:
    """Return the frequencies of fft's result in cycles per unit of the spacing d. -> [n]"""
    return _ours.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Tensor:
    """Return the frequencies of rfft's result in cycles per unit of the spacing d. -> [n // 2 + 1]"""
    return _ours.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """Move frequency 0 to the middle of axes (None: all)."""
    return _ours.fftshift(x, dim=axes)


def ifftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """Undo fftshift."""
    return _ours.ifftshift(x, dim=axes)
