"""Short-time Fourier transforms, and windows with PyTorch's names."""

# Primitives are tensor methods whose names begin with "_": they are private to the package.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import pi
from operator import add
from typing import TYPE_CHECKING, Any

from ...core import dtype as dt
from ...core import op
from ...core.declare import composed
from ...core.shape import Window
from ..creation import finish
from ..elementwise import as_float
from ..join import cat
from ..movement import fold
from .fft import fft_fft, fft_ifft, fft_irfft, fft_rfft

if TYPE_CHECKING:
    from ...core.dtype import DTypeLike
    from ...device import DeviceLike
    from ...tensor import HostScalar, Tensor


# --- windows ---


def window_dtype(dtype: DTypeLike | None) -> DTypeLike | None:
    """The dtype of one of torch.signal.windows; ValueError for those that PyTorch rejects."""
    if dtype is not None and dt.as_dtype(dtype) not in (dt.float32, dt.float64):
        raise ValueError(f"dtype={dt.as_dtype(dtype).name}: a window must be float32 or float64")
    return dtype


def _sample_indices(n: int, periodic: bool, device: Any) -> tuple[Tensor, int]:
    """The indices of n samples, and the number of steps of the whole window."""
    if n < 0:
        raise ValueError(f"{n} samples are not a window: pass 0 or more")
    # A periodic window of n samples is a symmetric one of n + 1 without its last.
    return op.Tensor.arange(n, dtype=dt.int32, device=device).float(), max(n if periodic else n - 1, 1)


def _cosines(n: int, terms: Sequence[float | HostScalar], periodic: bool, device: Any) -> Tensor:
    """Sums of cosines with alternating signs. -> [n]"""
    k, steps = _sample_indices(n, periodic, device)
    if n == 1:  # 1, as in PyTorch, whatever the terms
        return k + 1.0
    # a0 - a1 cos(w) + a2 cos(2 w) - ...
    waves = [(k * (2 * pi * i / steps)).cos() * ((-1) ** i * a) for i, a in enumerate(terms)]
    return reduce(add, waves)


@composed
def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Hann's raised cosine. -> [window_length]

    periodic: one period of a periodic window, for spectra; else symmetric, for filters
    """
    return finish(_cosines(window_length, (0.5, 0.5), periodic, device), dtype, requires_grad)


@composed
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float | HostScalar = 0.54,
    beta: float | HostScalar = 0.46,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """alpha - beta * cos. -> [window_length]

    periodic: one period of a periodic window, for spectra; else symmetric, for filters
    """
    return finish(_cosines(window_length, (alpha, beta), periodic, device), dtype, requires_grad)


@composed
def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Blackman's sum of three cosines. -> [window_length]

    periodic: one period of a periodic window, for spectra; else symmetric, for filters
    """
    return finish(_cosines(window_length, (0.42, 0.5, 0.08), periodic, device), dtype, requires_grad)


@composed
def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A triangle. -> [window_length]

    periodic: one period of a periodic window, for spectra; else symmetric, for filters
    Raises ValueError if there are fewer than 0 samples.
    """
    k, steps = _sample_indices(window_length, periodic, device)
    return finish(1.0 - (k * (2 / steps) - 1.0).abs() if window_length > 1 else k + 1.0, dtype, requires_grad)


@composed
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Kaiser's window, of Bessel functions. -> [window_length]

    periodic: one period of a periodic window, for spectra; else symmetric, for filters
    beta: the shape: larger values have lower side lobes
    Raises ValueError if there are fewer than 0 samples.
    """
    k, steps = _sample_indices(window_length, periodic, device)
    if window_length == 1:
        return finish(k + 1.0, dtype, requires_grad)
    # I0(beta sqrt(1 - t^2)) / I0(beta) for t from -1 to 1; i0e and the difference of exponents don't
    # overflow.
    inside = (1.0 - (k * (2 / steps) - 1.0) ** 2).clamp(min=0.0).sqrt() * beta
    top = (k[:1] * 0.0 + beta) if window_length else k
    return finish(inside.i0e() / top.i0e() * (inside - beta).exp(), dtype, requires_grad)


@composed
def signal_windows_general_cosine(
    M: int,
    *,
    a: Sequence[float],
    sym: bool = True,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Sums of cosines with weights a, signs alternating. -> [M]

    M: the number of points
    sym: symmetric, for filters; else one period of a periodic window, for spectra
    Raises ValueError if a is empty; if dtype is neither float32 nor float64.
    """
    if not len(a):
        raise ValueError("a is empty: pass at least one weight")
    return finish(_cosines(M, tuple(a), not sym, device), window_dtype(dtype), requires_grad)


@composed
def signal_windows_general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """alpha - (1 - alpha) * cos. -> [M]

    M: the number of points
    sym: symmetric, for filters; else one period of a periodic window, for spectra
    Raises ValueError if dtype is neither float32 nor float64.
    """
    return finish(_cosines(M, (alpha, 1 - alpha), not sym, device), window_dtype(dtype), requires_grad)


@composed
def signal_windows_nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Nuttall's sum of four cosines. -> [M]

    M: the number of points
    sym: symmetric, for filters; else one period of a periodic window, for spectra
    Raises ValueError if dtype is neither float32 nor float64.
    """
    return finish(
        _cosines(M, (0.3635819, 0.4891775, 0.1365995, 0.0106411), not sym, device),
        window_dtype(dtype),
        requires_grad,
    )


@composed
def signal_windows_gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """exp(-(k / std)^2 / 2) about the middle. -> [M]

    M: the number of points
    sym: symmetric, for filters; else one period of a periodic window, for spectra
    Raises ValueError if there are fewer than 0 samples, or std is not positive; if dtype is neither
        float32 nor float64.
    """
    if std <= 0:
        raise ValueError(f"std={std} is not positive: pass a larger one")
    k, steps = _sample_indices(M, not sym, device)
    x = (k - (steps if M > 1 else 0) / 2) * (1 / std)  # a single sample is the middle
    return finish((x * x * -0.5).exp(), window_dtype(dtype), requires_grad)


@composed
def signal_windows_exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """exp(-|k - center| / tau). -> [M]

    M: the number of points
    sym: symmetric, for filters; else one period of a periodic window, for spectra
    Raises ValueError if M is below 0, tau is not positive, or center is given with sym; if dtype is
        neither float32 nor float64.
    """
    if center is not None and sym:
        raise ValueError(f"center={center} needs a window that is not symmetric: pass sym=False")
    if tau <= 0:
        raise ValueError(f"tau={tau} is not positive: pass a larger one")
    k, steps = _sample_indices(M, not sym, device)
    middle = (steps if M > 1 else 0) / 2 if center is None else center
    return finish(((k - middle).abs() * (-1 / tau)).exp(), window_dtype(dtype), requires_grad)


@composed
def signal_windows_cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Half a period of a sine. -> [M]

    M: the number of points
    sym: symmetric, for filters; else one period of a periodic window, for spectra
    Raises ValueError if there are fewer than 0 samples; if dtype is neither float32 nor float64.
    """
    k, _ = _sample_indices(M, not sym, device)
    return finish(
        ((k + 0.5) * (pi / max(M if sym or M == 1 else M + 1, 1))).sin(), window_dtype(dtype), requires_grad
    )


# --- short-time transforms ---


def _window(window: Tensor | None, win_length: int, n_fft: int, like: Tensor) -> Tensor:
    """The window, centred in a frame of n_fft; ones if window is None."""
    if not 0 < win_length <= n_fft:
        raise ValueError(f"win_length={win_length} is not in 1 to n_fft={n_fft}")
    if window is None:
        window = type(like).ones(win_length, device=like.device)
    if window.shape != (win_length,):
        raise ValueError(f"the window has shape {list(window.shape)}, not [{win_length}]")
    # An odd rest leaves one more zero after it, as in PyTorch.
    before = (n_fft - win_length) // 2
    return window._pad((before,), (n_fft - win_length - before,))


def _pad_ends(x: Tensor, by: int, mode: str) -> Tensor:
    """Pads the last dim by `by` samples at both ends."""
    if mode == "constant":
        return x._pad((*(0,) * (x.ndim - 1), by), (*(0,) * (x.ndim - 1), by))
    n = x.shape[-1]
    if mode == "reflect":
        if by >= n:
            raise ValueError(f"{n} samples are too few to reflect {by}: use pad_mode='constant'")
        # the end itself isn't repeated
        mirrored = x.narrow(-1, 1, by).flip(-1), x.narrow(-1, n - 1 - by, by).flip(-1)
    elif mode == "circular":
        mirrored = x.narrow(-1, n - by, by), x.narrow(-1, 0, by)
    elif mode == "replicate":
        mirrored = (x.narrow(-1, i, 1).expand(*x.shape[:-1], by) for i in (0, n - 1))
    else:
        raise ValueError(f"pad_mode={mode!r} is not 'constant', 'reflect', 'replicate' or 'circular'")
    before, after = mirrored
    return cat([before, x, after], -1) if by else x


@composed
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool = True,
    return_complex: bool = True,
) -> Tensor:
    """Transforms of windowed frames. [..., t] -> [..., n_fft // 2 + 1, frames] (n_fft, if not onesided)

    hop_length defaults to n_fft // 4. return_complex=False returns view_as_real of the result.

    win_length: the length of the window (n_fft)
    window: the factors of each frame. [win_length]
    center: pad the signal, so that frame t is centred at t * hop_length
    pad_mode: how to pad the ends if center is True
    normalized: divide by sqrt(n_fft)
    Raises ValueError if there are fewer samples than n_fft, or hop_length is below 1.
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    if hop < 1 or n_fft < 1:
        raise ValueError(f"hop_length={hop} and n_fft={n_fft} must be above 0")
    shape = _window(window, win_length or n_fft, n_fft, input)
    x = input if input.dtype.is_complex else as_float(input)
    onesided = onesided and not x.dtype.is_complex
    x = _pad_ends(x, n_fft // 2, pad_mode) if center else x
    if x.shape[-1] < n_fft:
        raise ValueError(f"{x.shape[-1]} samples are fewer than n_fft={n_fft}: use a smaller one")
    frames = x._windows((Window(n_fft, hop, 1, 0, 0),)) * shape  # [..., frames, n_fft]
    norm = "ortho" if normalized else None
    y = (fft_rfft if onesided else fft_fft)(frames, norm=norm).transpose(-1, -2)  # [..., frequencies, frames]
    return y if return_complex else y.view_as_real()


@composed
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool = True,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal whose stft is closest to the input. [..., n_fft // 2 + 1, frames] -> [..., t]

    Samples that no window covers become inf or NaN (PyTorch raises, which needs a read). return_complex with
    onesided=False returns a complex signal.

    hop_length: the distance of frames (a quarter of n_fft)
    win_length: the length of the window (n_fft)
    center: pad the signal, so that frame t is centred at t * hop_length
    normalized: divide by sqrt(n_fft)
    length: the number of samples of the result
    Raises ValueError if return_complex is True, but onesided is not False.
    """
    if not input.dtype.is_complex:
        raise TypeError("takes complex numbers, as stft returns them: use view_as_complex")
    if return_complex and onesided:
        raise ValueError("the signal of a one-sided transform is real: use onesided=False for a complex one")
    hop = n_fft // 4 if hop_length is None else hop_length
    shape = _window(window, win_length or n_fft, n_fft, input)
    z, norm = input.transpose(-1, -2), "ortho" if normalized else None
    half = z if onesided else z[..., : n_fft // 2 + 1]  # the rest of a real signal's spectrum is conjugate
    frames = fft_ifft(z, norm=norm) if return_complex else fft_irfft(half, n_fft, norm=norm)
    count = frames.shape[-2]
    spec, size = (Window(n_fft, hop, 1, 0, 0),), (n_fft + hop * (count - 1),)
    # Overlap-add, divided by the sum of squared windows, is the least-squares signal (Griffin and Lim, 1984).
    signal = fold(frames * shape, spec, size)
    weight = fold((shape * shape).expand(count, n_fft), spec, size)
    start = n_fft // 2 if center else 0  # the padding of center=True is cut off
    stop = size[0] - (n_fft // 2 if center else 0) if length is None else min(start + length, size[0])
    y = signal[..., start:stop] / weight[start:stop]
    missing = 0 if length is None else length - (stop - start)  # samples after the last frame are zeros
    return y._pad((0,) * y.ndim, (*(0,) * (y.ndim - 1), missing)) if missing else y
