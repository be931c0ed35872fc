"""Windows under the names of torch.signal.windows."""

from ..core.dtype import DTypeLike
from ..core.spelling import without_effect
from ..device import DeviceLike
from ..errors import ValueError
from ..ops.fft.signal import (
    bartlett_window,
    blackman_window,
    hamming_window,
    hann_window,
    kaiser_window,
    window_dtype,
)
from ..ops.fft.signal import signal_windows_cosine as cosine
from ..ops.fft.signal import signal_windows_exponential as exponential
from ..ops.fft.signal import signal_windows_gaussian as gaussian
from ..ops.fft.signal import signal_windows_general_cosine as general_cosine
from ..ops.fft.signal import signal_windows_general_hamming as general_hamming
from ..ops.fft.signal import signal_windows_nuttall as nuttall
from ..tensor import Tensor

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


# The formulas are in ops/fft/signal.py. `sym` is the opposite of the `periodic` of torch.hann_window: a
# symmetric window of M points is the periodic one of M - 1 points with its first point repeated.
@without_effect
def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The Bartlett window, a triangle. -> [M]

    M: the number of points
    sym: symmetric, for filters; else a period of a longer window, for spectra
    Raises ValueError if dtype is neither float32 nor float64.
    """
    dtype = window_dtype(dtype)
    return bartlett_window(M, not sym, dtype=dtype, device=device, requires_grad=requires_grad)


@without_effect
def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The Blackman window, a sum of three cosine terms. -> [M]

    M: the number of points
    sym: symmetric, for filters; else a period of a longer window, for spectra
    Raises ValueError if dtype is neither float32 nor float64.
    """
    dtype = window_dtype(dtype)
    return blackman_window(M, not sym, dtype=dtype, device=device, requires_grad=requires_grad)


@without_effect
def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The Hamming window, 0.54 - 0.46 * cos. -> [M]

    M: the number of points
    sym: symmetric, for filters; else a period of a longer window, for spectra
    Raises ValueError if dtype is neither float32 nor float64.
    """
    dtype = window_dtype(dtype)
    return hamming_window(M, not sym, dtype=dtype, device=device, requires_grad=requires_grad)


@without_effect
def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The Hann window, a raised cosine. -> [M]

    M: the number of points
    sym: symmetric, for filters; else a period of a longer window, for spectra
    Raises ValueError if dtype is neither float32 nor float64.
    """
    dtype = window_dtype(dtype)
    return hann_window(M, not sym, dtype=dtype, device=device, requires_grad=requires_grad)


@without_effect
def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The Kaiser window, a ratio of Bessel functions I0. -> [M]

    M: the number of points
    beta: the shape; higher values lower the side lobes and widen the main lobe
    sym: symmetric, for filters; else a period of a longer window, for spectra
    Raises ValueError if beta is negative; if dtype is neither float32 nor float64.
    """
    if beta < 0:
        raise ValueError(f"kaiser({M}, beta={beta}): beta is negative: pass 0 or more")
    dtype = window_dtype(dtype)
    return kaiser_window(M, not sym, beta, dtype=dtype, device=device, requires_grad=requires_grad)
