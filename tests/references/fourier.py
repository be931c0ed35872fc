"""What transforms of complex pairs should compute, in float64, by NumPy's fft and by plain sums."""

import numpy as np


def joined(z):
    """Pairs as complex numbers."""
    return z[..., 0] + 1j * z[..., 1]


def apart(z):
    """Complex numbers as pairs."""
    return np.stack([z.real, z.imag], -1)


def on_pairs(f):
    """A function of complex numbers, on pairs."""

    def of(z, n, dim=-1, norm=None):
        return apart(f(joined(z), n, dim, norm))

    return of


def unscaled(z, inverse):
    """The sum itself."""
    n = z.shape[-2]
    k = np.arange(n)
    return apart(joined(z) @ np.exp((2j if inverse else -2j) * np.pi * np.outer(k, k) / n))


def frames(x, n_fft, hop):
    return np.stack([x[..., i : i + n_fft] for i in range(0, x.shape[-1] - n_fft + 1, hop)], -2)


def stft(x, window, n_fft, hop_length, win_length, normalized):
    """Centred, reflected at both ends."""
    left = (n_fft - win_length) // 2
    window = np.pad(window, (left, n_fft - win_length - left))
    x = np.pad(x, ((0, 0), (n_fft // 2, n_fft // 2)), "reflect")
    y = np.fft.rfft(frames(x, n_fft, hop_length) * window, norm="ortho" if normalized else None)
    return apart(np.swapaxes(y, -1, -2))


def istft(z, window, n_fft, hop_length):
    """Frames added up where they came from, divided by the windows' squares added up likewise."""
    parts = np.fft.irfft(np.swapaxes(joined(z), -1, -2), n_fft) * window
    count = parts.shape[-2]
    x = np.zeros((*parts.shape[:-2], n_fft + hop_length * (count - 1)))
    weight = np.zeros(x.shape[-1])
    for i in range(count):
        at = slice(i * hop_length, i * hop_length + n_fft)
        x[..., at] += parts[..., i, :]
        weight[at] += window**2
    cut = slice(n_fft // 2, x.shape[-1] - n_fft // 2)
    return x[..., cut] / weight[cut]


def cosines(n, *weights):
    """Sums of cosines of n steps in a turn, over n samples or one more."""
    k = np.arange(n)
    return lambda steps: sum((-1) ** i * a * np.cos(2 * np.pi * i * k / steps) for i, a in enumerate(weights))
