"""Rows of Fourier transforms, complex numbers, short-time transforms and windows. Complex inputs and results
are pairs in a last dim of 2 here: rows are of real numbers."""

import numpy as np
from references.fourier import apart, cosines, istft, joined, on_pairs, stft, unscaled

from .creation import made
from .row import COMPOSED, OPS, In, Row

Z, X = In((2, 3, 6, 2)), In((2, 3, 6))
W = In((8,), 0.3, 1)
K = np.arange(7)


def lines(z, inverse):
    """The kernel, along a dim before the last."""
    return OPS["_fft_lines"](z, 30, "ifft" if inverse else "fft")


def unscaled_lines(z, inverse):
    return np.moveaxis(unscaled(np.moveaxis(z, 1, 2), inverse), 2, 1)


def by_pairs(name, count=1):
    """An op of complex numbers on pairs: its first `count` inputs are some, and so may its result be."""

    def call(*xs, **kw):
        f = OPS.get(name) or COMPOSED[name]
        y = f(*(x.view_as_complex() for x in xs[:count]), *xs[count:], **kw)
        return y.view_as_real() if y.is_complex() else y

    return call


TRANSFORMS: dict[str, Row] = {
    # sums of 30 terms, in another order than the reference's
    "_fft_lines": Row(unscaled_lines, (In((5, 30, 3, 2)),), {"inverse": True}, grads=0, call=lines, tol=4e-6),
    "_fft": Row(
        lambda z, dim, inverse: unscaled(z, inverse),
        (In((2, 11, 2)),),
        {"dim": 1, "inverse": False},
        tol=3e-6,
    ),
    "_fft_of_real": Row(lambda x, dim: apart(np.fft.fft(x, axis=dim)), (X,), {"dim": 0}, tol=3e-6),
    "_rfft": Row(lambda x, dim: apart(np.fft.rfft(x, axis=dim)), (X,), {"dim": 1}, tol=3e-6),
    "_irfft": Row(
        lambda z, dim, n: np.fft.irfft(joined(z), n, axis=dim, norm="forward"),
        (Z,),
        {"dim": 1, "n": 5},
        tol=3e-6,
    ),
    "fft_fft": Row(on_pairs(np.fft.fft), (Z,), {"n": 8, "dim": 1, "norm": "ortho"}, call=by_pairs("fft_fft")),
    "fft_ifft": Row(on_pairs(np.fft.ifft), (Z,), {"n": 5}, call=by_pairs("fft_ifft")),
    "fft_rfft": Row(
        lambda x, n, dim: apart(np.fft.rfft(x, n, dim)),
        (X,),
        {"n": 7, "dim": -2},
        call=by_pairs("fft_rfft", 0),
    ),
    "fft_irfft": Row(
        lambda z, norm: np.fft.irfft(joined(z), norm=norm),
        (Z,),
        {"norm": "forward"},
        tol=3e-6,
        call=by_pairs("fft_irfft"),
    ),
    "fft_hfft": Row(lambda z: np.fft.hfft(joined(z)), (Z,), tol=3e-6, call=by_pairs("fft_hfft")),
    "fft_ihfft": Row(lambda x: apart(np.fft.ihfft(x)), (X,), call=by_pairs("fft_ihfft", 0)),
    "fft_fftn": Row(lambda z: apart(np.fft.fftn(joined(z))), (Z,), tol=3e-6, call=by_pairs("fft_fftn")),
    "fft_ifftn": Row(
        lambda z, s, dim: apart(np.fft.ifftn(joined(z), s, dim)),
        (Z,),
        {"s": (4, 3), "dim": (0, 2)},
        call=by_pairs("fft_ifftn"),
    ),
    "fft_rfftn": Row(lambda x: apart(np.fft.rfftn(x)), (X,), tol=3e-6, call=by_pairs("fft_rfftn", 0)),
    "fft_irfftn": Row(lambda z: np.fft.irfftn(joined(z)), (Z,), call=by_pairs("fft_irfftn")),
    "fft_fft2": Row(lambda z: apart(np.fft.fft2(joined(z))), (Z,), tol=3e-6, call=by_pairs("fft_fft2")),
    "fft_ifft2": Row(lambda z: apart(np.fft.ifft2(joined(z))), (Z,), call=by_pairs("fft_ifft2")),
    "fft_rfft2": Row(lambda x: apart(np.fft.rfft2(x)), (X,), tol=3e-6, call=by_pairs("fft_rfft2", 0)),
    "fft_irfft2": Row(lambda z: np.fft.irfft2(joined(z)), (Z,), call=by_pairs("fft_irfft2")),
    "fft_hfftn": Row(
        lambda z: np.fft.irfftn(np.conj(joined(z)), norm="forward"),
        (Z,),
        tol=6e-6,
        call=by_pairs("fft_hfftn"),
    ),
    "fft_ihfftn": Row(
        lambda x: apart(np.conj(np.fft.rfftn(x, norm="forward"))), (X,), call=by_pairs("fft_ihfftn", 0)
    ),
    "fft_hfft2": Row(
        lambda z: np.fft.irfft2(np.conj(joined(z)), norm="forward"),
        (Z,),
        tol=6e-6,
        call=by_pairs("fft_hfft2"),
    ),
    "fft_ihfft2": Row(
        lambda x: apart(np.conj(np.fft.rfft2(x, norm="forward"))), (X,), call=by_pairs("fft_ihfft2", 0)
    ),
    "fft_fftfreq": made("fft_fftfreq", np.fft.fftfreq(7, 0.5), 7, 0.5),
    "fft_rfftfreq": made("fft_rfftfreq", np.fft.rfftfreq(8), 8),
    "fft_fftshift": Row(lambda x: np.fft.fftshift(x), (X,)),
    "fft_ifftshift": Row(lambda x, dim: np.fft.ifftshift(x, dim), (X,), {"dim": 1}),
    "stft": Row(
        stft,
        (In((2, 20)), In((6,), 0.3, 1)),
        {"n_fft": 8, "hop_length": 3, "win_length": 6, "normalized": True},
        call=lambda x, w, **kw: COMPOSED["stft"](x, window=w, **kw).view_as_real(),
    ),
    "istft": Row(
        istft,
        (In((2, 5, 6, 2)), W),
        {"n_fft": 8, "hop_length": 2},
        tol=4e-6,
        call=lambda z, w, **kw: COMPOSED["istft"](z.view_as_complex(), window=w, **kw),
    ),
}

PAIRS: dict[str, Row] = {
    "_join": Row(lambda x, y: np.stack([x, y], -1), (X, X), call=by_pairs("_join", 0)),
    "_conj": Row(lambda z: apart(joined(z).conj()), (Z,), call=by_pairs("_conj")),
    "complex": Row(lambda x, y: np.stack([x, y], -1), (X, X), call=by_pairs("complex", 0)),
    "polar": Row(lambda r, a: apart(r * np.exp(1j * a)), (X, X), call=by_pairs("polar", 0)),
    "view_as_real": Row(lambda z: z, (Z,), call=by_pairs("view_as_real")),
    "view_as_complex": Row(lambda z: z, (Z,), call=by_pairs("view_as_complex", 0)),
    "real": Row(lambda z: z[..., 0], (Z,), call=by_pairs("real")),
    "imag": Row(lambda z: z[..., 1], (Z,), call=by_pairs("imag")),
    "angle": Row(lambda z: np.angle(joined(z)), (In((2, 3, 2), 0.2, 2),), call=by_pairs("angle")),
    "conj": Row(lambda z: apart(joined(z).conj()), (Z,), call=by_pairs("conj")),
    "adjoint": Row(lambda z: apart(joined(z).conj().swapaxes(1, 2)), (Z,), call=by_pairs("adjoint")),
    "sgn": Row(lambda z: apart(joined(z) / abs(joined(z))), (In((2, 3, 2), 0.2, 2),), call=by_pairs("sgn")),
}

WINDOWS: dict[str, Row] = {
    "hann_window": made("hann_window", np.hanning(8)[:-1], 7),
    "hamming_window": made("hamming_window", np.hamming(7), 7, periodic=False),
    "blackman_window": made("blackman_window", np.blackman(8)[:-1], 7),
    "bartlett_window": made("bartlett_window", np.bartlett(7), 7, periodic=False),
    "kaiser_window": made("kaiser_window", np.kaiser(7, 9.0), 7, periodic=False, beta=9.0),
    "signal_windows_general_cosine": made(
        "signal_windows_general_cosine", cosines(7, 0.4, 0.3, 0.2)(6), 7, a=(0.4, 0.3, 0.2)
    ),
    "signal_windows_general_hamming": made(
        "signal_windows_general_hamming", cosines(7, 0.6, 0.4)(7), 7, alpha=0.6, sym=False
    ),
    "signal_windows_nuttall": made(
        "signal_windows_nuttall", cosines(7, 0.3635819, 0.4891775, 0.1365995, 0.0106411)(6), 7
    ),
    "signal_windows_gaussian": made(
        "signal_windows_gaussian", np.exp(-(((K - 3) / 1.5) ** 2) / 2), 7, std=1.5
    ),
    "signal_windows_exponential": made(
        "signal_windows_exponential", np.exp(-np.abs(K - 3.5) / 2), 7, tau=2.0, sym=False
    ),
    "signal_windows_cosine": made("signal_windows_cosine", np.sin(np.pi * (K + 0.5) / 7), 7),
}

FOURIER: dict[str, Row] = {**TRANSFORMS, **PAIRS, **WINDOWS}
