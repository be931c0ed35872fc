"""Pooling: reductions over window views, and fold, the adjoint of taking windows."""

from math import prod

from ..op import Family, composed, composite, kernel
from .contract import _spec, pair
from .movement import fold

LOWEST = float("-inf")

NN = ("adaptive_avg_pool2d", "avg_pool1d", "avg_pool2d", "max_pool1d", "max_pool2d")


def _fold(xp, x, spec, size):
    n = len(spec)
    lead = x.shape[: x.ndim - 2 * n]
    out = xp.zeros((*lead, *(s + w.before + w.after for s, w in zip(size, spec, strict=True))), dtype=x.dtype)
    positions, taps = x.shape[x.ndim - 2 * n : x.ndim - n], x.shape[x.ndim - n :]
    for flat in range(prod(taps)):
        tap = []
        for k in reversed(taps):
            flat, t = divmod(flat, k)
            tap.insert(0, t)
        where = tuple(
            slice(t * w.dilation, t * w.dilation + w.stride * (o - 1) + 1, w.stride)
            for t, w, o in zip(tap, spec, positions, strict=True)
        )
        out[(..., *where)] += x[(..., *tap)]
    return out[(..., *(slice(w.before, w.before + s) for s, w in zip(size, spec, strict=True)))]


class Pool(Family):
    @kernel(
        "fold",
        dtypes="fiu",
        shape=lambda s, spec, size: (*s[: len(s) - 2 * len(spec)], *size),
        dtype=lambda d, **_: d,
        xp=_fold,
        grad=lambda g, y, x, spec, size: [g._windows(spec)],
    )
    def _fold(self, spec, size):
        """Windows added back where they came from. [..., *positions, *kernel] -> [..., *size]"""
        return (self,), {"spec": spec, "size": tuple(size)}


def _inside(x, spec):
    """True where a window's element is not padding."""
    return type(x).full(x.shape, True, device=x.device)._windows(spec)


def _max_windows(x, spec):
    xw = x._windows(spec)
    padded = any(w.before or w.after for w in spec)
    return _inside(x, spec).where(xw, LOWEST) if padded else xw


def _taps(x, spec):
    return type(x).arange(prod(w.kernel for w in spec), device=x.device).reshape(*(w.kernel for w in spec))


def _first_tap(x, y, spec):
    """Which tap of each window holds its maximum, the first among equals. -> [..., *positions, 1, 1] int32"""
    n = len(spec)
    hit = _max_windows(x, spec) == y.reshape(*y.shape, *(1,) * n)
    taps = _taps(x, spec)
    return hit.where(taps, prod(w.kernel for w in spec) - 1)._min(tuple(range(hit.ndim - n, hit.ndim)))


def _max_pool_grad(g, y, x, spec):
    n = len(spec)
    taken = _first_tap(x.detach(), y.detach(), spec) == _taps(x, spec)
    return [fold(taken.where(g.reshape(*g.shape, *(1,) * n), 0.0), spec, x.shape[x.ndim - n :])]


@composite(grad=_max_pool_grad)
def max_pool(x, *, spec):
    """The largest element of each window over the last dims. [..., *size] -> [..., *positions]"""
    n = len(spec)
    return _max_windows(x, spec).amax(tuple(range(x.ndim, x.ndim + n)))


def _pool_spec(x, nd, kernel_size, stride, padding, dilation=1):
    if x.ndim < nd + 1:
        raise ValueError(f"input needs at least {nd + 1} dims")
    kernel_size = pair(kernel_size, nd)
    stride = kernel_size if stride is None else pair(stride, nd)
    if any(2 * p > k for p, k in zip(pair(padding, nd), kernel_size, strict=True)):
        raise ValueError("padding is more than half of the kernel size")
    return _spec(kernel_size, stride, pair(padding, nd), pair(dilation, nd))


@composed
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1):
    """Largest element of each window; stride defaults to the kernel size. [n, c, h, w] -> [n, c, oh, ow]"""
    return max_pool(input, spec=_pool_spec(input, 2, kernel_size, stride, padding, dilation))


@composed
def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1):
    """Largest element of each window; stride defaults to the kernel size. [n, c, w] -> [n, c, ow]"""
    return max_pool(input, spec=_pool_spec(input, 1, kernel_size, stride, padding, dilation))


def _avg_pool(input, nd, kernel_size, stride, padding, count_include_pad):
    spec = _pool_spec(input, nd, kernel_size, stride, padding)
    dims = tuple(range(input.ndim, input.ndim + nd))
    total = input._windows(spec).sum(dims)
    if count_include_pad or not any(w.before or w.after for w in spec):
        return total * (1 / prod(w.kernel for w in spec))
    return total / _inside(input, spec).to(total.dtype).sum(dims)


@composed
def avg_pool2d(input, kernel_size, stride=None, padding=0, count_include_pad: bool = True):
    """Mean of each window; stride defaults to the kernel size. [n, c, h, w] -> [n, c, oh, ow]"""
    return _avg_pool(input, 2, kernel_size, stride, padding, count_include_pad)


@composed
def avg_pool1d(input, kernel_size, stride=None, padding=0, count_include_pad: bool = True):
    """Mean of each window; stride defaults to the kernel size. [n, c, w] -> [n, c, ow]"""
    return _avg_pool(input, 1, kernel_size, stride, padding, count_include_pad)


@composed
def adaptive_avg_pool2d(input, output_size):
    """Mean over windows that divide the input evenly. [n, c, h, w] -> [n, c, *output_size]"""
    sizes = pair(output_size)
    size = input.shape[-2:]
    if any(n % o for n, o in zip(size, sizes, strict=True)):
        raise ValueError(f"size {list(size)} is not a multiple of {list(sizes)}: use interpolate first")
    return avg_pool2d(input, tuple(n // o for n, o in zip(size, sizes, strict=True)))
