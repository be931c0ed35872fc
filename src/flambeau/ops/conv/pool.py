"""Pooling: reductions over window views, and fold, the adjoint of taking windows."""

# Primitives are tensor methods whose names begin with "_": they are private to the package.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod
from typing import TYPE_CHECKING, Any, TypeAlias

from ...core import dtype as dt
from ...core.declare import composed, composite, kernel, like_first
from ...core.op import Family
from ...core.shape import Window, contiguous_strides
from ..index.indices import as_places, gather_known
from ..index.scatter import scatter_along
from ..movement import fold
from ..reduce import in_float32, widen_integers
from .conv import pair

if TYPE_CHECKING:
    from ...core.dtype import DType
    from ...core.rules import Array
    from ...core.shape import Shape
    from ...device.array_namespace import Namespace
    from ...tensor import Tensor

    Sizes: TypeAlias = int | Sequence[int]  # one number, or one for each dim


def _fold(xp: Namespace, x: Array, spec: tuple[Window, ...], size: Shape):
    n = len(spec)
    lead = x.shape[: x.ndim - 2 * n]
    # A strided addition for each tap: windows overlap, so one assignment would lose sums.
    out = xp.zeros((*lead, *(s + w.before + w.after for s, w in zip(size, spec, strict=True))), dtype=x.dtype)
    positions, taps = x.shape[x.ndim - 2 * n : x.ndim - n], x.shape[x.ndim - n :]
    for flat in range(prod(taps)):
        tap: list[int] = []
        for k in reversed(taps):  # the coordinates of the flat tap
            flat, t = divmod(flat, k)
            tap.insert(0, t)
        where = tuple(
            slice(t * w.dilation, t * w.dilation + w.stride * (o - 1) + 1, w.stride)
            for t, w, o in zip(tap, spec, positions, strict=True)
        )
        out[(..., *where)] += x[(..., *tap)]
    return out[(..., *(slice(w.before, w.before + s) for s, w in zip(size, spec, strict=True)))]


class Pooling(Family):
    @kernel(
        "fold",
        dtypes="fiuc",
        shape=lambda s, spec, size: (*s[: len(s) - 2 * len(spec)], *size),
        dtype=like_first,
        xp=_fold,
        grad=lambda g, y, x, spec, size: [g._windows(spec)],
    )
    def _fold(self: Any, spec: tuple[Window, ...], size: Shape):
        """The sum of windows at the elements that they came from.
        [..., *positions, *kernel] -> [..., *size]"""
        return (self,), {"spec": spec, "size": tuple(size)}


def lowest(dtype: DType) -> float | int:
    """The lowest value of a dtype: the padding of a maximum."""
    return {"f": float("-inf"), "i": -(2 ** (8 * dtype.itemsize - 1))}.get(dtype.kind, 0)  # 0 for unsigned


def _inside(x: Tensor, spec: tuple[Window, ...]) -> Tensor:
    """True where a window's element is not padding."""
    return type(x).full(x.shape, True, device=x.device)._windows(spec)


def _is_padded(spec: tuple[Window, ...]) -> bool:
    return any(w.before or w.after > 0 for w in spec)


def _max_windows(x: Tensor, spec: tuple[Window, ...]) -> Tensor:
    xw = x._windows(spec)
    # Padding must never be the maximum, not even of negative elements.
    return _inside(x, spec).where(xw, lowest(x.dtype)) if _is_padded(spec) else xw


def _taps(x: Tensor, spec: tuple[Window, ...]) -> Tensor:
    return (
        type(x)
        .arange(prod(w.kernel for w in spec), dtype=dt.int32, device=x.device)
        .reshape(*(w.kernel for w in spec))
    )


def _first_tap(x: Tensor, y: Tensor, spec: tuple[Window, ...]) -> Tensor:
    """The tap with the maximum of each window, the first of equals. -> [..., *positions, 1, 1] int32"""
    n = len(spec)
    xw = _max_windows(x, spec)
    hit = xw == y.reshape(*y.shape, *(1,) * n)
    # the maximum of a window with NaN is NaN, which equals nothing
    hit = hit | xw.isnan() if x.dtype.is_float else hit
    hit = hit & _inside(x, spec) if _is_padded(spec) else hit
    taps = _taps(x, spec)
    return hit.where(taps, prod(w.kernel for w in spec) - 1)._min(tuple(range(hit.ndim - n, hit.ndim)))


def _max_pool_grad(g: Tensor, y: Tensor, x: Tensor, spec: tuple[Window, ...]) -> list[Tensor | None]:
    n = len(spec)
    # one tap of each window gets the gradient
    is_maximum = _first_tap(x.detach(), y.detach(), spec) == _taps(x, spec)
    return [fold(is_maximum.where(g.reshape(*g.shape, *(1,) * n), 0.0), spec, x.shape[x.ndim - n :])]


@composite(grad=_max_pool_grad)
def max_pool(x: Tensor, *, spec: tuple[Window, ...]) -> Tensor:
    """The largest element of each window over the last dims. [..., *size] -> [..., *positions]"""
    n = len(spec)
    return _max_windows(x, spec).amax(tuple(range(x.ndim, x.ndim + n)))


def flat_places(x: Tensor, y: Tensor, spec: tuple[Window, ...]) -> Tensor:
    """The index of each window's maximum in the flattened last dims of x. -> the shape of y, int32"""
    n = len(spec)
    size, positions = x.shape[x.ndim - n :], y.shape[y.ndim - n :]
    tap = _first_tap(x.detach(), y.detach(), spec).reshape(*y.shape)
    place: Any = 0
    for i, (w, step) in enumerate(zip(spec, contiguous_strides(size), strict=True)):
        # the coordinate of the flat tap along this dim
        own = tap // prod(v.kernel for v in spec[i + 1 :]) % w.kernel
        start = type(x).arange(positions[i], dtype=dt.int32, device=x.device) * w.stride - w.before
        place = place + (start.reshape(-1, *(1,) * (n - 1 - i)) + own * w.dilation) * step
    return place


def _padding_after(n: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """The padding after a dim, which ceil_mode extends for the last window that starts inside."""
    span = dilation * (kernel - 1) + 1
    if not ceil_mode:
        return padding
    last = -(-(n + 2 * padding - span) // stride)
    # A last window that would begin in the padding after the input is left out, as in PyTorch.
    last -= last * stride >= n + padding
    return max(padding, last * stride + span - n - padding)


def _pool_spec(
    x: Tensor,
    nd: int,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> tuple[Window, ...]:
    if x.ndim not in (nd + 1, nd + 2):
        raise ValueError(f"input needs {nd + 1} or {nd + 2} dims")
    kernel = pair(kernel_size, nd)
    stride = kernel if stride is None or stride == () else pair(stride, nd)
    padding, dilation = pair(padding, nd), pair(dilation, nd)
    if 0 in x.shape[-nd - 1 :]:
        raise ValueError(f"shape {list(x.shape)} has no elements: only the batch may be empty")
    if min(padding) < 0:
        raise ValueError(
            f"padding={list(padding)} is negative: pass 0 or more, and crop the input with narrow"
        )
    if any(2 * p > k for p, k in zip(padding, kernel, strict=True)):
        raise ValueError("padding is more than half of the kernel size")
    each = zip(x.shape[-nd:], kernel, stride, padding, dilation, strict=True)
    return tuple(Window(k, s, d, p, _padding_after(n, k, s, p, d, ceil_mode)) for n, k, s, p, d in each)


def _max_pool(nd: int) -> Callable[..., Any]:
    def pool(
        input: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        """Largest element of each window; stride defaults to the kernel size. return_indices also returns its
        index in the flattened spatial dims (int64). [n, c, *size] -> [n, c, *out]

        kernel_size: the window's size, one number or one for each dim
        padding: elements added at both ends, one number or one for each dim
        dilation: the distance between elements of a window, one number or one for each dim
        ceil_mode: include windows that begin inside and end outside
        Raises ValueError if dims are missing, or padding is more than half of the kernel.
        """
        spec = _pool_spec(input, nd, kernel_size, stride, padding, dilation, ceil_mode)
        y = max_pool(input, spec=spec)
        return (y, as_places(flat_places(input, y, spec))) if return_indices else y

    pool.__name__ = f"max_pool{nd}d"
    return composed(pool)


max_pool1d, max_pool2d, max_pool3d = _max_pool(1), _max_pool(2), _max_pool(3)


def _window_sum_grad(g: Tensor, y: Tensor, x: Tensor, spec: tuple[Window, ...]) -> list[Tensor | None]:
    n = len(spec)
    size = x.shape[x.ndim - n :]
    if any(w.stride != 1 for w in spec):
        # A sum's gradient reaches each element of its window.
        return [fold(g.reshape(*g.shape, *(1,) * n).expand(*g.shape, *(w.kernel for w in spec)), spec, size)]
    # With stride 1 the adjoint is the same window sum, padded by the overhang of the windows.
    spans = [w.dilation * (w.kernel - 1) for w in spec]
    before = [s - w.before for s, w in zip(spans, spec, strict=True)]
    each = zip(spec, before, spans, size, g.shape[g.ndim - n :], strict=True)
    return [
        window_sum(g, spec=tuple(Window(w.kernel, 1, w.dilation, b, s - b + m - o) for w, b, s, m, o in each))
    ]


@composite(grad=_window_sum_grad)
def window_sum(x: Tensor, *, spec: tuple[Window, ...]) -> Tensor:
    """The sum of each window over the last dims, padded with zeros. [..., *size] -> [..., *positions]"""
    return x._windows(spec).sum(tuple(range(x.ndim, x.ndim + len(spec))))


def _count(x: Tensor, n: int, positions: int, w: Window, padding: int, include: bool) -> Tensor:
    """The number of elements of each window along one dim. -> [positions] int32"""
    # Windows end at the padding at most; elements that ceil_mode adds beyond it never count.
    start = type(x).arange(positions, dtype=dt.int32, device=x.device) * w.stride - padding
    end = (start + w.kernel).clamp(max=n + padding)
    return end - start if include else end.clamp(max=n) - start.clamp(min=0)


def _divisor(
    x: Tensor, spec: tuple[Window, ...], padding: tuple[int, ...], positions: Shape, include: bool
) -> Tensor | int:
    """The divisors of avg_pool: a number if all windows have the same size, else a tensor of the positions'
    shape."""
    nd = len(spec)
    includes_all = include and all(w.after == p for w, p in zip(spec, padding, strict=True))
    if includes_all or not _is_padded(spec):
        return prod(w.kernel for w in spec)
    divisor: Any = 1
    # A window's size is the product of its sizes along each dim.
    for i, (w, p) in enumerate(zip(spec, padding, strict=True)):
        count = _count(x, x.shape[x.ndim - nd + i], positions[i], w, p, include)
        divisor = count.reshape(-1, *(1,) * (nd - 1 - i)) * divisor
    return divisor


def _avg_pool(
    x: Tensor,
    nd: int,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None = None,
) -> Tensor:
    if divisor_override == 0:
        raise ValueError("divisor_override is 0: pass another number")
    spec = _pool_spec(x, nd, kernel_size, stride, padding, 1, ceil_mode)
    # Sums of 16-bit floats need float32, those of integers int64.
    is_integer = not x.dtype.has_gradients
    x, dtype = (widen_integers(x), x.dtype) if is_integer else in_float32(x)
    total = window_sum(x, spec=spec)
    divisor = divisor_override or _divisor(x, spec, pair(padding, nd), total.shape[-nd:], count_include_pad)
    if is_integer:  # means of integers are truncated
        return total.div(divisor, rounding_mode="trunc").to(dtype)
    return (total * (1 / divisor) if isinstance(divisor, int | float) else total / divisor).to(dtype)


@composed
def avg_pool1d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Mean of each window; stride defaults to the kernel size. Zeros of the padding count unless
    count_include_pad is False; those added by ceil_mode never count. [n, c, l] -> [n, c, ol]

    kernel_size: the window's size, one number or one for each dim
    Raises ValueError if dims are missing, or windows do not fit.
    """
    return _avg_pool(input, 1, kernel_size, stride, padding, ceil_mode, count_include_pad)


def _avg_pool_nd(nd: int):
    def pool(
        input: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        """Mean of each window; stride defaults to the kernel size. Zeros of the padding count unless
        count_include_pad is False; those added by ceil_mode never count. [n, c, *size] -> [n, c, *out]

        kernel_size: the window's size, one number or one for each dim
        divisor_override: the divisor of sums, instead of the number of elements of a window
        Raises ValueError if dims are missing, windows do not fit, or divisor_override is 0.
        """
        settings = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        return _avg_pool(input, nd, *settings)

    pool.__name__ = f"avg_pool{nd}d"
    return composed(pool)


avg_pool2d, avg_pool3d = _avg_pool_nd(2), _avg_pool_nd(3)


def _lp_pool(nd: int):
    def pool(
        input: Tensor,
        norm_type: float,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        ceil_mode: bool = False,
    ) -> Tensor:
        """The p-th root of the sum of p-th powers of each window, for even p the p-norm; stride defaults to
        the kernel size. [n, c, *size] -> [n, c, *out]

        norm_type: the power p of the norm; infinity takes the largest absolute value, -infinity the least
        kernel_size: the window's size, one number or one for each dim
        ceil_mode: include windows that begin inside and end outside
        Raises ValueError if a size is neither one number nor one for each dim; if dims are missing, or
            windows do not fit.
        """
        kernel = pair(kernel_size, nd)
        if abs(norm_type) == inf:
            extreme = (max_pool1d, max_pool2d, max_pool3d)[nd - 1]
            sign = 1 if norm_type > 0 else -1
            return extreme(input.abs() * sign, kernel, stride, ceil_mode=ceil_mode) * sign
        x, dtype = in_float32(input)
        powers = x if norm_type == 1 else x.square() if norm_type == 2 else x.pow(norm_type)
        # As in PyTorch, the mean times the kernel's size: a window cut off by ceil_mode is scaled up.
        total = _avg_pool(powers, nd, kernel, stride, 0, ceil_mode, True) * prod(kernel)
        nonzero = total != 0  # the root of 0 gets gradient 0
        safe = nonzero.where(total, 1.0)
        root = safe if norm_type == 1 else safe.sqrt() if norm_type == 2 else safe.pow(1 / norm_type)
        return nonzero.where(root, 0.0).to(dtype)

    pool.__name__ = f"lp_pool{nd}d"
    return composed(pool)


lp_pool1d, lp_pool2d, lp_pool3d = _lp_pool(1), _lp_pool(2), _lp_pool(3)


def _unpooled_size(
    x: Tensor, nd: int, kernel_size: Sizes, stride: Sizes | None, padding: Sizes, output_size: Sizes | None
) -> tuple[int, ...]:
    """The size of max_pool's input: output_size, or that which its windows cover exactly."""
    kernel = pair(kernel_size, nd)
    stride = kernel if stride is None else pair(stride, nd)
    each = zip(x.shape[-nd:], kernel, stride, pair(padding, nd), strict=True)
    size = tuple((n - 1) * s - 2 * p + k for n, k, s, p in each)
    if output_size is None:
        return size
    output_sizes = pair(output_size, nd) if isinstance(output_size, int) else tuple(output_size)[-nd:]
    # Several input sizes give the same windows: they differ by less than a stride.
    if any(abs(o - n) >= s for o, n, s in zip(output_sizes, size, stride, strict=True)):
        raise ValueError(
            f"output_size {list(output_sizes)} differs by more than the stride from {list(size)}"
        )
    return output_sizes


@composite(grad=lambda g, y, x, index, size: [gather_known(g, -1, index), None])
def _unpool(x: Tensor, index: Any, *, size: Any) -> Tensor:
    """Zeros with x at the indices. Each element of x gets the gradient at its index, even if a later one
    overwrote it, as in PyTorch. [..., n], [..., n] -> [..., size]

    index: indices into the last dim of the result
    """
    empty = type(x).zeros(*x.shape[:-1], size, dtype=x.dtype, device=x.device)
    # "assign": of several values for an index the last one stays, as in PyTorch.
    return scatter_along(empty, -1, index, x, "assign", "max_unpool")


def _max_unpool(nd: int):
    def unpool(
        input: Tensor,
        indices: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        output_size: int | Sequence[int] | None = None,
    ) -> Tensor:
        if input.ndim not in (nd + 1, nd + 2) or indices.shape != input.shape:
            raise ValueError(f"input needs {nd + 1} or {nd + 2} dims, and indices the same shape")
        size = _unpooled_size(input, nd, kernel_size, stride, padding, output_size)
        return _unpool(input.flatten(-nd), indices.flatten(-nd), size=prod(size)).unflatten(-1, size)

    unpool.__name__ = f"max_unpool{nd}d"
    unpool.__doc__ = f"""Zeros, with each value at the index from max_pool (return_indices=True); the last
    one of several for an index. [n, c, *size], the same int -> [n, c, *out]

    indices: the indices that max_pool{nd}d returned
    kernel_size: the window's size, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    output_size: the size of the result, since several are possible
    Raises ValueError if the input does not have {nd + 1} or {nd + 2} dims, or indices have another shape.
    """
    return composed(unpool)


max_unpool1d, max_unpool2d, max_unpool3d = _max_unpool(1), _max_unpool(2), _max_unpool(3)
