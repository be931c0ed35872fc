"""What ops should compute, as plain formulas and loops over NumPy arrays, with no code of the package."""

from itertools import product
from math import erf

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.logaddexp(0, x)


def softmax(x, dim):
    e = np.exp(x - x.max(dim, keepdims=True))
    return e / e.sum(dim, keepdims=True)


def log_softmax(x, dim):
    return np.log(softmax(x, dim))


def layer_norm(x, weight, bias, normalized_shape):
    axes = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    y = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)
    return y * weight + bias


def gelu(x, approximate="none"):
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + np.vectorize(erf, otypes=[float])(x / np.sqrt(2)))


def sized(f):
    """NumPy's reduction under our names of its arguments."""
    return lambda x, dim=None, keepdim=False, **kw: f(x, axis=dim, keepdims=keepdim, **kw)


def unbiased(f):
    return lambda x, dim=None, keepdim=False, correction=1: f(x, axis=dim, keepdims=keepdim, ddof=correction)


def logsumexp(x, dim, keepdim=False):
    return np.log(np.exp(x).sum(axis=dim, keepdims=keepdim))


def whole(f):
    """Integers stay integers, as with Python's // and %."""
    return lambda x, y: f(x, y).astype(x.dtype)


def shift_left(x, y):
    return np.where((y >= 0) & (y < 32), np.left_shift(x, y & 31), 0).astype(x.dtype)


def shift_right(x, y):
    return np.where((y >= 0) & (y < 32), x.astype("i8") >> (y & 31), -(x < 0).astype("i8")).astype(x.dtype)


def for_each_dim(value, n: int) -> tuple[int, ...]:
    return (value,) * n if isinstance(value, int) else tuple(value)


def conv(x, w, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation, one output position and group at a time."""
    nd = x.ndim - 2
    stride, padding, dilation = (for_each_dim(v, nd) for v in (stride, padding, dilation))
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    spans = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:])]
    out = [(n - s) // t + 1 for n, s, t in zip(x.shape[2:], spans, stride)]
    y = np.zeros((x.shape[0], w.shape[0], *out), x.dtype)
    cin, cout = w.shape[1], w.shape[0] // groups
    for at in product(*map(range, out)):
        cut = tuple(slice(a * t, a * t + s, d) for a, t, s, d in zip(at, stride, spans, dilation))
        for g in range(groups):
            piece = x[(slice(None), slice(g * cin, (g + 1) * cin), *cut)].reshape(x.shape[0], -1)
            kernel = w[g * cout : (g + 1) * cout].reshape(cout, -1)
            y[(slice(None), slice(g * cout, (g + 1) * cout), *at)] = piece @ kernel.T
    return y if bias is None else y + bias.reshape(-1, *[1] * nd)


def conv_views(spec):
    """A window spec as max_pool's arguments."""
    return tuple(zip(*((w.kernel, w.stride, w.before, w.dilation) for w in spec)))


def _pool(x, kernel_size, stride, padding, dilation, fill, f):
    nd = x.ndim - 2
    kernel, padding, dilation = (for_each_dim(v, nd) for v in (kernel_size, padding, dilation))
    stride = kernel if stride is None else for_each_dim(stride, nd)
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)], constant_values=fill)
    spans = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
    out = [(n - s) // t + 1 for n, s, t in zip(x.shape[2:], spans, stride)]
    y = np.zeros((*x.shape[:2], *out), x.dtype)
    for at in product(*map(range, out)):
        cut = tuple(slice(a * t, a * t + s, d) for a, t, s, d in zip(at, stride, spans, dilation))
        y[(slice(None), slice(None), *at)] = f(
            x[(slice(None), slice(None), *cut)].reshape(*x.shape[:2], -1), -1
        )
    return y


def max_pool(x, kernel_size, stride=None, padding=0, dilation=1):
    return _pool(x, kernel_size, stride, padding, dilation, -np.inf, np.max)


def window_sum(x, kernel_size, stride=None, padding=0, dilation=1):
    return _pool(x, kernel_size, stride, padding, dilation, 0.0, np.sum)


def avg_pool(x, kernel_size, stride=None, padding=0, count_include_pad=True):
    total = _pool(x, kernel_size, stride, padding, 1, 0.0, np.mean)
    if count_include_pad:
        return total
    return total / _pool(np.ones_like(x), kernel_size, stride, padding, 1, 0.0, np.mean)


def windows(x, spec):
    """Sliding windows over the last dim. [..., n] -> [..., positions, kernel]"""
    (w,) = spec
    x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(w.before, w.after)])
    n = (x.shape[-1] - w.dilation * (w.kernel - 1) - 1) // w.stride + 1
    return np.stack([x[..., i * w.stride :: w.dilation][..., : w.kernel] for i in range(n)], -2)


def fold(x, spec, size):
    """The adjoint of windows, over the last dim. [..., positions, kernel] -> [..., n]"""
    (w,) = spec
    out = np.zeros((*x.shape[:-2], size[0] + w.before + w.after), x.dtype)
    for i, k in product(range(x.shape[-2]), range(w.kernel)):
        out[..., i * w.stride + k * w.dilation] += x[..., i, k]
    return out[..., w.before : w.before + size[0]]


def scatter_add(x, index, src, dim):
    out = x.copy()
    for at in np.ndindex(*index.shape):
        to = list(at)
        to[dim] = index[at]
        out[tuple(to)] += src[at]
    return out


def philox(seed: int, n: int) -> np.ndarray:
    """The first n words of Philox-4x32-10 with this key and counter 0, in Python's integers."""
    words: list[int] = []
    for block in range(-(-n // 4)):
        c, key = [block, 0, 0, 0], [seed & 0xFFFFFFFF, seed >> 32]
        for _ in range(10):
            a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(b >> 32) ^ c[1] ^ key[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ key[1], a & 0xFFFFFFFF]
            key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
        words += c
    return np.array(words[:n], dtype="u4")
