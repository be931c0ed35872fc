"""Windows under the names of torch.signal.windows.

Made by `python scripts/write_stubs.py`."""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any

from .core.dtype import DType
from .tensor import Tensor

__all__ = ["windows"]

class windows:
    @staticmethod
    def bartlett(
        M: _int,
        *,
        sym: _bool = True,
        dtype: DType | type[Any] | str | None = None,
        device: Any = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """A triangle. -> [window_length]

        M: how many points
        sym: symmetric, for filters; else a period of a longer window, for spectra"""
    @staticmethod
    def blackman(
        M: _int,
        *,
        sym: _bool = True,
        dtype: DType | type[Any] | str | None = None,
        device: Any = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """Blackman's sum of three cosines. -> [window_length]

        M: how many points
        sym: symmetric, for filters; else a period of a longer window, for spectra"""
    @staticmethod
    def cosine(
        M: _int,
        *,
        sym: _bool = True,
        device: Any = None,
        dtype: DType | type[Any] | str | None = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """The arch of a sine. -> [M]

        M: how many points
        sym: symmetric, for filters; else a period of a longer window, for spectra
        Raises ValueError where there are fewer than 0 samples."""
    @staticmethod
    def exponential(
        M: _int,
        *,
        center: _float | None = None,
        tau: _float = 1.0,
        sym: _bool = True,
        device: Any = None,
        dtype: DType | type[Any] | str | None = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """exp(-|k - center| / tau). -> [M]

        M: how many points
        sym: symmetric, for filters; else a period of a longer window, for spectra
        Raises ValueError where there are fewer than 0 samples."""
    @staticmethod
    def gaussian(
        M: _int,
        *,
        std: _float = 1.0,
        sym: _bool = True,
        device: Any = None,
        dtype: DType | type[Any] | str | None = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """exp(-(k / std)^2 / 2) about the middle. -> [M]

        M: how many points
        sym: symmetric, for filters; else a period of a longer window, for spectra
        Raises ValueError where there are fewer than 0 samples."""
    @staticmethod
    def general_cosine(
        M: _int,
        *,
        a: Sequence[_float],
        sym: _bool = True,
        device: Any = None,
        dtype: DType | type[Any] | str | None = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """Sums of cosines with weights a, signs alternating. -> [M]

        M: how many points
        sym: symmetric, for filters; else a period of a longer window, for spectra"""
    @staticmethod
    def general_hamming(
        M: _int,
        *,
        alpha: _float = 0.54,
        sym: _bool = True,
        device: Any = None,
        dtype: DType | type[Any] | str | None = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """alpha - (1 - alpha) * cos. -> [M]

        M: how many points
        sym: symmetric, for filters; else a period of a longer window, for spectra"""
    @staticmethod
    def hamming(
        M: _int,
        *,
        sym: _bool = True,
        dtype: DType | type[Any] | str | None = None,
        device: Any = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """alpha - beta * cos. -> [window_length]

        M: how many points
        sym: symmetric, for filters; else a period of a longer window, for spectra"""
    @staticmethod
    def hann(
        M: _int,
        *,
        sym: _bool = True,
        dtype: DType | type[Any] | str | None = None,
        device: Any = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """Hann's raised cosine. -> [window_length]

        M: how many points
        sym: symmetric, for filters; else a period of a longer window, for spectra"""
    @staticmethod
    def kaiser(
        M: _int,
        *,
        beta: _float = 12.0,
        sym: _bool = True,
        dtype: DType | type[Any] | str | None = None,
        device: Any = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """Kaiser's window. -> [M]

        M: how many points
        beta: how far down its sides go
        sym: symmetric, for filters; else a period of a longer window, for spectra"""
    @staticmethod
    def nuttall(
        M: _int,
        *,
        sym: _bool = True,
        device: Any = None,
        dtype: DType | type[Any] | str | None = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """Nuttall's sum of four cosines. -> [M]

        M: how many points
        sym: symmetric, for filters; else a period of a longer window, for spectra"""
