"""Window and global pooling, and MaxUnpool."""

from math import prod
from typing import Any

from ...core.shape import Window, contiguous_strides
from ...ops.conv.pool import flat_places, max_pool, window_sum
from ...tensor import Tensor, tensor
from .table import operator
from .window import WindowAttributes, check_count, grow_windows, pad_ends, pairs_of, spread, windows_of


def _windows(x: Tensor, a: WindowAttributes) -> tuple[tuple[Window, ...], tuple[Window, ...]]:
    """Return the windows without and with the padding of ceil_mode."""
    if not a.kernel_shape:
        raise ValueError("kernel_shape is missing: it needs one number for each spatial dim")
    if x.ndim != 2 + len(a.kernel_shape):
        raise ValueError(f"kernel_shape {list(a.kernel_shape)} does not fit an input of {list(x.shape)}")
    size = tuple(x.shape[2:])
    plain = windows_of(size, a.kernel_shape, a)
    # A window inside the padding alone would have no maximum, and a mean of 0 / 0.
    if any(max(w.before, w.after) > w.dilation * (w.kernel - 1) for w in plain):
        raise ValueError(
            f"pads {list(a.pads or ())} exceed windows of {list(a.kernel_shape)}: some windows would be empty"
        )
    return plain, grow_windows(size, plain, a.ceil_mode)


def _column_major(places: Any, size: tuple[int, ...]) -> Tensor:
    """Convert row-major indices to column-major indices."""
    # storage_order=1: the first spatial dim varies fastest. Digit by digit: row-major in, column-major out.
    flat, step = 0, 1
    for n, stride in zip(size, contiguous_strides(size), strict=True):
        flat = places // stride % n * step + flat
        step *= n
    return flat  # type: ignore[return-value]


@operator("MaxPool")
def max_pool_(x: Tensor, *, storage_order: int = 0, node: Any = None, **window: Any) -> Any:
    """[n, c, *size] -> [n, c, *out], and each element's index in the flattened input (int64)"""
    _, spec = _windows(x, WindowAttributes(**window))
    y = max_pool(x, spec=spec)
    if node is None or not node.wants(1):
        return y
    size = tuple(x.shape[2:])
    places: Any = flat_places(x, y, spec)
    places = _column_major(places, size) if storage_order else places
    # ONNX counts indices over the whole tensor, batch and channels included.
    n, c = x.shape[:2]
    first = Tensor.arange(n * c, device=x.device).reshape(n, c, *(1,) * len(size)) * prod(size)
    return y, first + places.long()


def _taps_inside(n: int, w: Window, positions: int, ends: tuple[int, int]) -> list[int]:
    """Return the number of taps of each window inside a dim that is extended by `ends` on both sides."""
    counts: list[int] = []
    for start in range(-w.before, positions * w.stride - w.before, w.stride):
        # the first and last tap in [-ends[0], n + ends[1]), by divisions that round up and down
        first = max(0, -(-(-ends[0] - start) // w.dilation))
        last = min(w.kernel - 1, (n + ends[1] - 1 - start) // w.dilation)
        counts.append(max(last - first + 1, 0))
    return counts


def _counts(x: Tensor, plain: tuple[Window, ...], spec: tuple[Window, ...], include: int) -> Any:
    """Return the divisors of the windows' sums; a number if all are equal."""
    counts_of_all: Any = 1
    for i, (p, w, n) in enumerate(zip(plain, spec, x.shape[2:], strict=True)):
        # count_include_pad counts explicit padding, not the elements that ceil_mode adds
        pads = (p.before, p.after) if include else (0, 0)
        each = _taps_inside(n, w, w.positions(n), pads)
        if len(set(each)) == 1:
            counts_of_all = counts_of_all * each[0]
        else:
            counts = tensor([float(v) for v in each], device=x.device)
            counts_of_all = counts.reshape(-1, *(1,) * (len(spec) - 1 - i)) * counts_of_all
    return counts_of_all


@operator("AveragePool")
def average_pool(x: Tensor, *, count_include_pad: int = 0, **window: Any) -> Tensor:
    """[n, c, *size] -> [n, c, *out]"""
    plain, spec = _windows(x, WindowAttributes(**window))
    total = window_sum(x.to(x.dtype.as_float), spec=spec)
    return (total / _counts(x, plain, spec, count_include_pad)).to(x.dtype)


def _root(total: Tensor, p: float) -> Tensor:
    is_nonzero = total != 0  # the gradient of the root at 0 is set to 0
    safe = is_nonzero.where(total, 1.0)
    return is_nonzero.where(safe.sqrt() if p == 2 else safe.pow(1 / p), 0.0)


def _power(x: Tensor, p: float) -> Tensor:
    return x.square() if p == 2 else x.abs() if p == 1 else x.abs().pow(p)


@operator("LpPool")
def lp_pool(x: Tensor, *, p: float = 2, **window: Any) -> Tensor:
    """[n, c, *size] -> [n, c, *out]"""
    _, spec = _windows(x, WindowAttributes(**window))
    return _root(window_sum(_power(x.to(x.dtype.as_float), p), spec=spec), p).to(x.dtype)


def _spatial(x: Tensor) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


@operator("GlobalAveragePool")
def global_average_pool(x: Tensor) -> Tensor:
    """[n, c, *size] -> [n, c, *1]"""
    return x.mean(_spatial(x), keepdim=True)


@operator("GlobalMaxPool")
def global_max_pool(x: Tensor) -> Tensor:
    """[n, c, *size] -> [n, c, *1]"""
    return x.amax(_spatial(x), keepdim=True)


@operator("GlobalLpPool")
def global_lp_pool(x: Tensor, *, p: float = 2) -> Tensor:
    """[n, c, *size] -> [n, c, *1]"""
    return _root(_power(x.to(x.dtype.as_float), p).sum(_spatial(x), keepdim=True), p).to(x.dtype)


@operator("MaxUnpool", numbers="output_shape")
def max_unpool(
    x: Tensor,
    places: Tensor,
    output_shape: list[int] | None = None,
    *,
    kernel_shape: list[int],
    pads: list[int] | None = None,
    strides: list[int] | None = None,
) -> Tensor:
    """Zeros, with each value at the index in the flattened result that MaxPool returned. [n, c, *size] -> [n,
    c, *out]"""
    rank = x.ndim - 2
    kernel, steps = spread(kernel_shape, rank, 1, "kernel_shape"), spread(strides, rank, 1, "strides")
    # the sizes that the pool's input had, up to the elements that its strides skipped
    each = zip(x.shape[2:], kernel, steps, pairs_of(pads, rank), strict=True)
    size = [(n - 1) * s + k - sum(p) for n, k, s, p in each]
    if min(size) < 1:
        raise ValueError(f"the result's sizes would be {size}: use less padding")
    check_count(prod(size), "the elements of a channel")
    # indices count over the whole tensor, batch and channels included, as MaxPool returns them
    flat = Tensor.zeros(prod((*x.shape[:2], *size)), dtype=x.dtype, device=x.device)
    y = flat.scatter(0, places.reshape(-1), x.reshape(-1)).reshape(*x.shape[:2], *size)
    if output_shape is None:
        return y
    output_sizes = output_shape[-rank:]
    return pad_ends(y, [(0, w - n) for w, n in zip(output_sizes, size, strict=True)])
