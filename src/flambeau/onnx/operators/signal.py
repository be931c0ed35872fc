"""Operators of spectra: DFT, STFT, MelWeightMatrix, windows."""

from math import cos, log10, pi
from typing import Any

from ... import fft
from ...functions import complex as complex_of
from ...functions import view_as_real
from ...tensor import Tensor
from ..values import cast, host
from .cast import dtype_name_of
from .table import operator
from .window import check_count

LONGEST = 1 << 24  # the most elements that the host creates, or that one transform takes


def _as_numbers(x: Tensor) -> Tensor:
    """Convert the last dim, of one or two parts, to real or complex numbers. [..., 1 or 2] -> [...]"""
    if x.shape[-1] not in (1, 2):
        raise ValueError(f"the last dim has {x.shape[-1]} parts: takes 1 (real) or 2 (complex)")
    return x[..., 0] if x.shape[-1] == 1 else complex_of(x[..., 0], x[..., 1])


def _parts(z: Tensor) -> Tensor:
    """[...] of complex numbers -> [..., 2]"""
    return view_as_real(z)


def _transform(x: Tensor, length: int | None, dim: int, inverse: int, onesided: int) -> Tensor:
    """Transform x, whose last dim has the parts, in float32 or wider."""
    z = _as_numbers(x)
    # an inverse of n // 2 + 1 bins has 2 (bins - 1) elements: an even length, as NumPy's irfft
    n = length if length is not None else 2 * (z.shape[dim] - 1) if inverse and onesided else z.shape[dim]
    check_count(n, "the elements of a transform", LONGEST)
    if inverse and onesided:
        return fft.irfft(z, n, dim).unsqueeze(-1)
    if onesided and z.dtype.is_complex:
        raise ValueError("onesided is for real input: the other half of a complex transform is not redundant")
    transform = fft.ifft if inverse else fft.rfft if onesided else fft.fft
    return _parts(transform(z, n, dim))


def _dft(x: Tensor, length: Any, axis: int, inverse: int, onesided: int) -> Tensor:
    dim = axis + x.ndim if axis < 0 else axis
    if not 0 <= dim < x.ndim - 1:
        raise ValueError(f"axis {axis} is not a signal axis: the last dim holds the real and imaginary parts")
    return _transform(x.to(x.dtype.as_float), length, dim, inverse, onesided).to(x.dtype)


@operator("DFT", since=20, numbers=("length", "axis"))
def dft(x: Tensor, length: Any = None, axis: Any = None, *, inverse: int = 0, onesided: int = 0) -> Tensor:
    """Return the transform along an axis. [..., n, ..., 1 or 2] -> [..., n, ..., 2]"""
    return _dft(x, length, -2 if axis is None else axis, inverse, onesided)


@operator("DFT", since=17, numbers="length")
def dft_17(x: Tensor, length: Any = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0) -> Tensor:
    """Opset 17, whose axis is an attribute."""
    return _dft(x, length, axis, inverse, onesided)


@operator("STFT", since=17, numbers=("frame_step", "frame_length"))
def stft(
    signal: Tensor,
    frame_step: int,
    window: Tensor | None = None,
    frame_length: Any = None,
    *,
    onesided: int = 1,
) -> Tensor:
    """Transforms of frames. [n, t, 1 or 2] -> [n, frames, bins, 2]"""
    length = frame_length or (signal.shape[1] if window is None else window.shape[0])
    if window is not None and window.shape[0] != length:
        raise ValueError(f"the window has {window.shape[0]} elements, and frames {length}: they must agree")
    frames = signal.to(signal.dtype.as_float).tensor_unfold(1, length, frame_step).movedim(-1, 2)
    frames = frames if window is None else frames * window.reshape(-1, 1)
    return _transform(frames, length, 2, 0, onesided).to(signal.dtype)


@operator("MelWeightMatrix", since=17, numbers=("bins", "length", "rate", "low", "high"))
def mel_weight_matrix(
    bins: int, length: int, rate: int, low: float, high: float, *, output_datatype: int = 1
) -> Tensor:
    """Triangles on the mel scale. -> [length // 2 + 1, bins]"""
    check_count(bins * length, "the elements of the matrix", LONGEST)
    # O'Shaughnessy's mel scale: 2595 log10(1 + f / 700)
    first, last = (2595 * log10(1 + hertz / 700) for hertz in (low, high))
    mels = [first + i * (last - first) / (bins + 2) for i in range(bins + 2)]
    # the frequency of each mel as a bin of the spectrum, rounded down
    places = [int((length + 1) * 700 * (10 ** (mel / 2595) - 1) // rate) for mel in mels]
    spectrum = range(length // 2 + 1)
    rows = [[_triangle(k, *places[i : i + 3]) for i in range(bins)] for k in spectrum]
    return cast(host(rows, "float32"), dtype_name_of(output_datatype))


def _triangle(k: int, lower: int, centre: int, upper: int) -> float:
    """Return a triangle from 0 at `lower` to 1 at `centre` and 0 at `upper`."""
    if centre < k < upper:
        return (upper - k) / (upper - centre)
    return float(k == centre) if k >= centre or k < lower else (k - lower) / (centre - lower)


def _window(name: str, *weights: float) -> None:
    """Return a sum of cosines of integer periods with these weights."""

    @operator(name, since=17, numbers="size")
    def window(size: int, *, output_datatype: int = 1, periodic: int = 1) -> Tensor:
        """-> [size]"""
        check_count(size, "a window's elements", LONGEST)
        step = 2 * pi / (size if periodic else max(size - 1, 1))
        values = [sum(w * cos(k * i * step) for k, w in enumerate(weights)) for i in range(size)]
        return cast(host(values, "float64"), dtype_name_of(output_datatype))


_window("HannWindow", 0.5, -0.5)
# a0 - (1 - a0) cos x: Hann 0.5, Hamming 25/46, Blackman with a second cosine
_window("HammingWindow", 25 / 46, -21 / 46)
_window("BlackmanWindow", 0.42, -0.5, 0.08)
