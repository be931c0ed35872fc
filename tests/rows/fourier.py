"""Rows of Fourier transforms, complex pairs, short-time transforms and windows."""

from math import pi

import numpy as np
from references.fourier import apart, cosines, istft, joined, on_pairs, stft, unscaled

from .creation import made
from .row import COMPOSED, OPS, In, Row

Z, X = In((2, 3, 6, 2)), In((2, 3, 6))
W = In((8,), 0.3, 1)
K = np.arange(7)


def rows_by_table(z, inverse):
    """The kernel, given its table of roots."""
    k = z.arange(z.shape[-2], device=z.device).float() * (2 * pi / z.shape[-2])
    table = COMPOSED["stack"]([k.cos(), k.sin() * (1 if inverse else -1)], -1)
    return OPS["_fft_rows"](z, table, inverse)


TRANSFORMS: dict[str, Row] = {
    # sums of 30 terms, in another order than the reference's
    "_fft_rows": Row(unscaled, (In((5, 30, 2)),), {"inverse": True}, grads=0, call=rows_by_table, tol=4e-6),
    "_fft": Row(unscaled, (In((2, 11, 2)),), {"inverse": False}, tol=3e-6),
    "fft_fft": Row(on_pairs(np.fft.fft), (Z,), {"n": 8, "dim": 1, "norm": "ortho"}),
    "fft_ifft": Row(on_pairs(np.fft.ifft), (Z,), {"n": 5}),
    "fft_rfft": Row(lambda x, n, dim: apart(np.fft.rfft(x, n, dim)), (X,), {"n": 7, "dim": -2}),
    "fft_irfft": Row(lambda z, norm: np.fft.irfft(joined(z), norm=norm), (Z,), {"norm": "forward"}, tol=3e-6),
    "fft_hfft": Row(lambda z: np.fft.hfft(joined(z)), (Z,), tol=3e-6),
    "fft_ihfft": Row(lambda x: apart(np.fft.ihfft(x)), (X,)),
    "fft_fftn": Row(lambda z: apart(np.fft.fftn(joined(z))), (Z,), tol=3e-6),
    "fft_ifftn": Row(
        lambda z, s, dim: apart(np.fft.ifftn(joined(z), s, dim)), (Z,), {"s": (4, 3), "dim": (0, 2)}
    ),
    "fft_rfftn": Row(lambda x: apart(np.fft.rfftn(x)), (X,), tol=3e-6),
    "fft_irfftn": Row(lambda z: np.fft.irfftn(joined(z)), (Z,)),
    "fft_fft2": Row(lambda z: apart(np.fft.fft2(joined(z))), (Z,), tol=3e-6),
    "fft_ifft2": Row(lambda z: apart(np.fft.ifft2(joined(z))), (Z,)),
    "fft_rfft2": Row(lambda x: apart(np.fft.rfft2(x)), (X,), tol=3e-6),
    "fft_irfft2": Row(lambda z: np.fft.irfft2(joined(z)), (Z,)),
    "fft_hfftn": Row(lambda z: np.fft.irfftn(np.conj(joined(z)), norm="forward"), (Z,), tol=6e-6),
    "fft_ihfftn": Row(lambda x: apart(np.conj(np.fft.rfftn(x, norm="forward"))), (X,)),
    "fft_hfft2": Row(lambda z: np.fft.irfft2(np.conj(joined(z)), norm="forward"), (Z,), tol=6e-6),
    "fft_ihfft2": Row(lambda x: apart(np.conj(np.fft.rfft2(x, norm="forward"))), (X,)),
    "fft_fftfreq": made("fft_fftfreq", np.fft.fftfreq(7, 0.5), 7, 0.5),
    "fft_rfftfreq": made("fft_rfftfreq", np.fft.rfftfreq(8), 8),
    "fft_fftshift": Row(lambda x: np.fft.fftshift(x), (X,)),
    "fft_ifftshift": Row(lambda x, dim: np.fft.ifftshift(x, dim), (X,), {"dim": 1}),
    "stft": Row(
        stft,
        (In((2, 20)), In((6,), 0.3, 1)),
        {"n_fft": 8, "hop_length": 3, "win_length": 6, "normalized": True},
        call=lambda x, w, **kw: COMPOSED["stft"](x, window=w, **kw),
    ),
    "istft": Row(
        istft,
        (In((2, 5, 6, 2)), W),
        {"n_fft": 8, "hop_length": 2},
        tol=4e-6,
        call=lambda z, w, **kw: COMPOSED["istft"](z, window=w, **kw),
    ),
}

PAIRS: dict[str, Row] = {
    "complex": Row(lambda x, y: np.stack([x, y], -1), (X, X)),
    "polar": Row(lambda r, a: apart(r * np.exp(1j * a)), (X, X)),
    "view_as_real": Row(lambda z: z, (Z,)),
    "view_as_complex": Row(lambda z: z, (Z,)),
    "real": Row(lambda z: z[..., 0], (Z,)),
    "imag": Row(lambda z: z[..., 1], (Z,)),
    "complex_abs": Row(lambda z: np.abs(joined(z)), (Z,)),
    "complex_angle": Row(lambda z: np.angle(joined(z)), (In((2, 3, 2), 0.2, 2),)),
    "complex_conj": Row(lambda z: apart(joined(z).conj()), (Z,)),
    "complex_mul": Row(lambda a, b: apart(joined(a) * joined(b)), (Z, In((6, 2)))),
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
