"""References of calls in NumPy and float64, by definition, without the package's code."""

from itertools import product
from math import erf as _erf
from math import prod, sqrt
from typing import Any, cast

import numpy as np

Array = Any
Sizes = tuple[int, ...]
MASK = 0xFFFFFFFF
erf = np.vectorize(_erf, otypes=["f8"])


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softplus(x: Array) -> Array:
    return np.logaddexp(x, 0.0)


def gelu(x: Array) -> Array:
    return 0.5 * x * (1 + erf(x / sqrt(2.0)))


def remainder(x: Array, y: Array) -> Array:
    return x - np.floor(x / y) * y


# --- rows ---


def softmax(x: Array, dim: int) -> Array:
    e = np.exp(x - x.max(dim, keepdims=True))
    return e / e.sum(dim, keepdims=True)


def logsumexp(x: Array, dim: Any, keepdim: bool = False) -> Array:
    top = x.max(dim, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)  # a row of -inf alone: exp(-inf - -inf) would be NaN
    y = np.log(np.exp(x - top).sum(dim, keepdims=True)) + top
    return y if keepdim else y.squeeze(dim)


def log_softmax(x: Array, dim: int) -> Array:
    away = x - x.max(dim, keepdims=True)
    return away - np.log(np.exp(away).sum(dim, keepdims=True))


def layer_norm(x: Array, n: int, weight: Array = 1.0, bias: Array = 0.0, eps: float = 1e-5) -> Array:
    """Over the last n dims."""
    dims = tuple(range(x.ndim - n, x.ndim))
    away = x - x.mean(dims, keepdims=True)
    return away / np.sqrt((away * away).mean(dims, keepdims=True) + eps) * weight + bias


def rms_norm(x: Array, weight: Array = 1.0, eps: float = 1e-5) -> Array:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight


def group_norm(x: Array, groups: int, weight: Array, bias: Array, eps: float = 1e-5) -> Array:
    y = layer_norm(x.reshape(x.shape[0], groups, -1), 1, eps=eps).reshape(x.shape)
    shape = (1, -1, *(1,) * (x.ndim - 2))
    return y * weight.reshape(shape) + bias.reshape(shape)


def batch_norm(x: Array, weight: Array, bias: Array, eps: float = 1e-5) -> Array:
    shape, dims = (1, -1, *(1,) * (x.ndim - 2)), (0, *range(2, x.ndim))
    away = x - x.mean(dims, keepdims=True)
    y = away / np.sqrt((away * away).mean(dims, keepdims=True) + eps)
    return y * weight.reshape(shape) + bias.reshape(shape)


def cross_entropy(x: Array, target: Array) -> Array:
    return -np.take_along_axis(log_softmax(x, 1), target[:, None], 1).mean()


def attention(q: Array, k: Array, v: Array, causal: bool = False, mask: Array | None = None) -> Array:
    s = q @ k.swapaxes(-1, -2) / sqrt(q.shape[-1])
    if causal:
        s = np.where(np.tri(*s.shape[-2:], dtype=bool), s, -np.inf)
    if mask is not None:
        s = np.where(mask, s, -np.inf) if mask.dtype == bool else s + mask
    # Rows without any key give 0.
    top = np.maximum(s.max(-1, keepdims=True), -1e300)
    e = np.exp(s - top)
    return e / np.maximum(e.sum(-1, keepdims=True), 1e-300) @ v


# --- windows ---


def _each(value: Any, n: int) -> tuple[int, ...]:
    return (value,) * n if isinstance(value, int) else tuple(value)


def _pad(x: Array, pad: tuple[int, ...], value: float = 0.0) -> Array:
    widths = [(0, 0)] * (x.ndim - len(pad)) + [(p, p) for p in pad]
    return np.pad(x, widths, constant_values=value)


def _positions(size: Sizes, kernel: Sizes, stride: Sizes, dilation: Sizes) -> list[int]:
    return [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(size, kernel, stride, dilation, strict=True)]


def _take(x: Array, tap: Sizes, out: list[int], stride: Sizes, dilation: Sizes) -> Array:
    """The elements at one position of every window."""
    parts = zip(tap, out, stride, dilation, strict=True)
    return x[(..., *(slice(i * d, i * d + (n - 1) * s + 1, s) for i, n, s, d in parts))]


def conv(
    x: Array,
    w: Array,
    bias: Array | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Array:
    n = w.ndim - 2
    stride, padding, dilation = (_each(v, n) for v in (stride, padding, dilation))
    x = _pad(x, padding)
    kernel = w.shape[2:]
    out = _positions(x.shape[2:], kernel, stride, dilation)
    x = x.reshape(x.shape[0], groups, -1, *x.shape[2:])  # [batch, groups, channels of a group, ...]
    filters = w.reshape(groups, -1, *w.shape[1:])
    y: Array = 0.0
    for tap in product(*map(range, kernel)):
        # One tap at a time: [batch, group, channel, position] by [group, filter, channel].
        part = _take(x, tap, out, stride, dilation).reshape(*x.shape[:3], -1)
        y = y + np.einsum("bgcp,gfc->bgfp", part, filters[(..., *tap)], optimize=True)
    y = y.reshape(x.shape[0], w.shape[0], *out)
    return y if bias is None else y + bias.reshape(1, -1, *(1,) * n)


def conv_transpose(
    x: Array,
    w: Array,
    bias: Array | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Array:
    n = w.ndim - 2
    stride, padding, extra, dilation = (_each(v, n) for v in (stride, padding, output_padding, dilation))
    kernel = w.shape[2:]
    sizes = zip(x.shape[2:], kernel, stride, dilation, extra, strict=True)
    # The size before padding is cut off.
    full = [(m - 1) * s + d * (k - 1) + 1 + e for m, k, s, d, e in sizes]
    shape = (x.shape[0], groups, w.shape[1], *full)
    y = np.zeros(shape)
    parts = x.reshape(x.shape[0], groups, -1, *x.shape[2:])
    filters = w.reshape(groups, -1, *w.shape[1:])
    letters = "xyz"[:n]
    for tap in product(*map(range, kernel)):
        part = np.einsum(f"bgc{letters},gcf->bgf{letters}", parts, filters[(..., *tap)], optimize=True)
        place = zip(tap, x.shape[2:], stride, dilation, strict=True)
        y[(..., *(slice(i * d, i * d + (m - 1) * s + 1, s) for i, m, s, d in place))] += part
    y = y.reshape(x.shape[0], -1, *full)
    y = y[(..., *(slice(p, m - p) for p, m in zip(padding, full, strict=True)))]
    return y if bias is None else y + bias.reshape(1, -1, *(1,) * n)


def _windows(x: Array, kernel: Any, stride: Any, padding: Any, value: float, n: int) -> Array:
    """The elements of each window, in a new first dim."""
    kernel, stride, padding = (_each(v, n) for v in (kernel, stride, padding))
    x, ones = _pad(x, padding, value), (1,) * n
    out = _positions(x.shape[x.ndim - n :], kernel, stride, ones)
    return np.stack([_take(x, tap, out, stride, ones) for tap in product(*map(range, kernel))])


def max_pool(x: Array, kernel: Any, stride: Any, padding: Any = 0, n: int = 2) -> Array:
    return _windows(x, kernel, stride, padding, -np.inf, n).max(0)


def avg_pool(x: Array, kernel: Any, stride: Any, padding: Any = 0, n: int = 2) -> Array:
    return _windows(x, kernel, stride, padding, 0.0, n).mean(0)


def unfold(x: Array, dim: int, size: int, step: int) -> Array:
    return np.moveaxis(
        np.lib.stride_tricks.sliding_window_view(x, size, dim)[
            (*[slice(None)] * (dim % x.ndim), slice(None, None, step))
        ],
        -1,
        -1,
    )


# --- indices ---


def scatter(x: Array, dim: int, index: Array, src: Array, join: str = "assign") -> Array:
    """src joined to x at the index along a dim, element after element."""
    y = x.copy()
    where: list[Array] = list(cast(Array, np.indices(index.shape)))
    where[dim] = index
    src = src[tuple(slice(n) for n in index.shape)]  # the index may be smaller than src
    if join == "assign":
        y[tuple(where)] = src
        return y
    fold = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}[join]
    fold.at(y, tuple(where), src)
    return y


def index_add(x: Array, dim: int, index: Array, src: Array) -> Array:
    y = np.moveaxis(x.copy(), dim, 0)
    np.add.at(y, index, np.moveaxis(src, dim, 0))
    return np.moveaxis(y, 0, dim)


def argsort(x: Array, dim: int, descending: bool = False) -> Array:
    """Stable in both orders."""
    if not descending:
        return np.argsort(x, dim, kind="stable")
    # Flipped twice, so that equal elements keep their order.
    back = np.argsort(np.flip(x, dim), dim, kind="stable")
    return np.flip(x.shape[dim] - 1 - back, dim)


def sort(x: Array, dim: int, descending: bool = False) -> Array:
    return np.take_along_axis(x, argsort(x, dim, descending), dim)


def first(x: Array, dim: int, n: int) -> Array:
    return np.take(x, range(n), dim)


def assign(x: Array, key: Any, value: Any) -> Array:
    y = x.copy()
    y[key] = value
    return y


def masked_scatter(x: Array, mask: Array, src: Array) -> Array:
    y = x.copy()
    y[mask] = src.reshape(-1)[: mask.sum()]
    return y


# --- random numbers ---


class Stream:
    """The Philox-4x32-10 stream of a seed (Salmon et al., SC 2011), drawn from as the package does."""

    def __init__(self, seed: int):
        self.key, self.place = (seed & MASK, seed >> 32 & MASK), 0

    def words(self, n: int) -> Array:
        """The next n words, of whole blocks of four."""
        blocks = -(-n // 4)
        counters = np.arange(self.place, self.place + blocks, dtype="u8")
        self.place += blocks
        zero = np.zeros(blocks, "u8")
        a, b, c, d = counters & MASK, counters >> 32, zero, zero
        k0, k1 = self.key
        for _ in range(10):  # rounds
            p, q = a * np.uint64(0xD2511F53), c * np.uint64(0xCD9E8D57)
            a, b, c, d = (q >> 32) ^ b ^ np.uint64(k0), q & MASK, (p >> 32) ^ d ^ np.uint64(k1), p & MASK
            k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
        return np.stack([a, b, c, d], 1).reshape(-1)[:n].astype("i8")

    def rand(self, *shape: int) -> Array:
        """Uniform in [0, 1), of 24 bits."""
        return (self.words(prod(shape)) >> 8).reshape(shape) * 2.0**-24


# --- pictures ---


def nearest(x: Array, mode: str, scale_factor: float | None = None, size: int | None = None) -> Array:
    """The nearest elements along the last dim; positions in float32, as PyTorch has them."""
    n = x.shape[-1]
    count = int(n * scale_factor) if size is None else size
    step = np.float32(n / count) if scale_factor is None else np.float32(1.0 / scale_factor)
    shift = np.float32(0.5 if mode == "nearest-exact" else 0.0)
    places = np.floor((np.arange(count, dtype="f4") + shift) * step).astype("i8")
    return x[..., np.minimum(places, n - 1)]


def grid_sample(x: Array, grid: Array, padding_mode: str, align_corners: bool) -> Array:
    """Bilinear samples at the (x, y) of a grid from -1 to 1."""
    h, w = x.shape[2:]
    sides: list[list[tuple[Array, Array, int]]] = []
    for g, n in ((grid[..., 1], h), (grid[..., 0], w)):
        # -1 and 1 are the centres of the outer pixels if corners are aligned, else the image's edges.
        coordinates = (g + 1) / 2 * (n - 1) if align_corners else ((g + 1) * n - 1) / 2
        coordinates = np.clip(coordinates, 0, n - 1) if padding_mode == "border" else coordinates
        low = np.floor(coordinates)
        sides.append([(low, 1 - (coordinates - low), n), (low + 1, coordinates - low, n)])
    total = np.zeros((*x.shape[:2], *grid.shape[1:3]))
    for (y, by, _), (z, bz, _) in product(*sides):  # the four neighbours, with their weights
        inside = (y >= 0) & (y < h) & (z >= 0) & (z < w)
        rows, columns = (np.clip(p, 0, n - 1).astype("i8") for p, n in ((y, h), (z, w)))
        for i in range(x.shape[0]):
            total[i] += x[i][:, rows[i], columns[i]] * np.where(inside, by * bz, 0.0)[i]
    return total
