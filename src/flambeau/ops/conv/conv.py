"""Convolutions over one to three dims, transposed convolutions, im2col and col2im: contractions of views."""

# Primitives are tensor methods whose names begin with "_": they are private to the package.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack

from ...core.declare import composed, composite
from ...core.shape import Window
from ...core.sizes import integers
from ..contract import contract, same_rank
from ..join import cat
from ..movement import fold

if TYPE_CHECKING:
    from ...core.shape import Shape
    from ...tensor import Tensor


class Settings(TypedDict):
    """The settings of a convolution; all but `groups` have one number for each dim."""

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int


def pair(value: int | Sequence[int], n: int = 2) -> tuple[int, ...]:
    """Expand one number to n, or check n numbers. ValueError for other counts."""
    value = integers(value, "a size")
    sizes = (value,) * n if isinstance(value, int) else tuple(value)
    sizes = sizes * n if len(sizes) == 1 else sizes
    if len(sizes) != n:
        raise ValueError(f"{sizes} is for {len(sizes)} dims, not {n}: pass one number or {n}")
    return sizes


def spec_of(
    kernel_size: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...], dilation: tuple[int, ...]
) -> tuple[Window, ...]:
    """One Window per dim, with the same padding before and after."""
    return tuple(Window(*w) for w in zip(kernel_size, stride, dilation, padding, padding, strict=True))


def add_batch_dim(x: Tensor, nd: int, name: str = "input") -> tuple[Tensor, bool]:
    """(x with a batch dim, whether it was added); ValueError unless x has nd + 1 or nd + 2 dims."""
    if x.ndim not in (nd + 1, nd + 2):
        raise ValueError(f"{name} needs {nd + 1} or {nd + 2} dims")
    return (x.unsqueeze(0), True) if x.ndim == nd + 1 else (x, False)


def _by_group(w: Tensor, groups: int) -> Tensor:
    return w.reshape(groups, w.shape[0] // groups, *w.shape[1:])


def _conv_views(
    x: Tensor,
    w: Tensor,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
) -> tuple[Tensor, Tensor]:
    """x as windows [n, g, c, oh, ow, kh, kw] and w as [g, o, c, kh, kw]."""
    return _windows(x, w.shape[2:], stride, padding, dilation, groups), _by_group(w, groups)


def _windows(
    x: Tensor,
    kernel: Shape,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
) -> Tensor:
    """x as windows [n, g, c, oh, ow, kh, kw]."""
    n, c, *size = x.shape
    return x.reshape(n, groups, c // groups, *size)._windows(spec_of(kernel, stride, padding, dilation))


def _conv_grad(
    g: Tensor,
    y: Tensor,
    x: Tensor,
    w: Tensor,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
) -> list[Tensor | None]:
    settings: Settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return [conv_transpose(g, w, size=x.shape[2:], **settings), _conv_weight(g, x, w, **settings)]


def _conv_weight(
    g: Tensor,
    x: Tensor,
    w: Tensor,
    *,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
) -> Tensor:
    """The gradient with respect to the weight, [g, o, c, *taps], summed over n and the output positions."""
    nd = x.ndim - 2
    # x may have more windows than g has elements: see _conv_transpose_grad.
    xw = _cut(_windows(x, w.shape[2:], stride, padding, dilation, groups), 3, g.shape[2:])
    gg = g.reshape(g.shape[0], groups, g.shape[1] // groups, *g.shape[2:])  # [n, g, o, *out]
    out, taps = range(3, 3 + nd), range(3 + nd, 3 + 2 * nd)
    # Broadcast against each other: g as [g, o, 1, *1, n, *out], windows as [g, 1, c, *taps, n, *out].
    gw = gg.permute(1, 2, 0, *out).reshape(groups, gg.shape[2], *(1,) * (1 + nd), gg.shape[0], *g.shape[2:])
    dw = contract(xw.permute(1, 2, *taps, 0, *out).unsqueeze(1), gw, 1 + nd, "conv_weight")
    return dw.reshape(*w.shape)


def _cut(x: Tensor, dim: int, sizes: Shape) -> Tensor:
    """The first elements of the dims from `dim` on."""
    for d, n in enumerate(sizes, dim):
        x = x if x.shape[d] == n else x.narrow(d, 0, n)
    return x


def _conv_transpose_grad(
    g: Tensor, y: Tensor, x: Tensor, w: Tensor, size: Shape, **settings: Unpack[Settings]
) -> list[Tensor | None]:
    # more windows than x has elements fit in `size` if output_padding is a stride or more
    by_input = _cut(conv(g, w, **settings), 2, x.shape[2:])
    return [by_input, _conv_weight(x, g, w, **settings)]


@composite(grad=_conv_transpose_grad)
def conv_transpose(
    x: Tensor,
    w: Tensor,
    *,
    size: Shape,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
) -> Tensor:
    """The adjoint of conv with respect to its input. [n, o, *out], [o, c / groups, *kernel] -> [n, c, *size]

    size: the sizes of the result's dims from the third, such that conv's windows of them are x's elements
    stride: the distance of windows, for each dim
    padding: elements cut off at both ends, for each dim
    dilation: the distance between elements of a window, for each dim
    groups: the number of groups of channels; an output reads only the inputs of its group
    """
    # With stride 1 it is a convolution, without dilation one for each phase; else products are summed by
    # element.
    if all(s == 1 for s in stride):
        return _convolve_flipped(x, w, size, padding, dilation, groups)
    if all(d == 1 for d in dilation) and not _folds(x, w, stride, groups):
        return _by_phases(x, w, size, stride, padding, groups)
    settings = Settings(stride=stride, padding=padding, dilation=dilation, groups=groups)
    return _fold_pieces(x, w, size, settings)


def _convolve_flipped(
    g: Tensor, w: Tensor, size: Shape, padding: tuple[int, ...], dilation: tuple[int, ...], groups: int
) -> Tensor:
    """conv_transpose with stride 1: a convolution with the flipped weight."""
    nd = g.ndim - 2
    wg = _by_group(w, groups)
    o, c = wg.shape[1:3]
    # Result i sums g[i + padding - dilation * t]: g gets `reach` zeros before it, less the padding.
    reach = [d * (k - 1) for d, k in zip(dilation, w.shape[2:], strict=True)]
    before = [r - p for r, p in zip(reach, padding, strict=True)]
    after = [n - m + p for n, m, p in zip(size, g.shape[2:], padding, strict=True)]
    g, shared = _pad_dims(g, before, after)
    # Inputs and outputs change places: [groups * c, o, *kernel].
    flipped = wg.transpose(1, 2).flip(tuple(range(3, 3 + nd))).reshape(groups * c, o, *w.shape[2:])
    return conv(g, flipped, stride=(1,) * nd, padding=shared, dilation=dilation, groups=groups)


def _pad_dims(x: Tensor, before: list[int], after: list[int]) -> tuple[Tensor, tuple[int, ...]]:
    """x with zeros at both ends of the dims from the third, or cuts if negative; the zeros that both ends
    have in common are returned as a convolution's padding."""
    shared = tuple(max(min(pads), 0) for pads in zip(before, after, strict=True))
    rest = [(0, 0, *(e - b for e, b in zip(end, shared, strict=True))) for end in (before, after)]
    return x._pad(*rest) if any(map(any, rest)) else x, shared


TAPS = 1 << 25  # elements of windows that a transposed convolution stores at a time: 128 MB


def _fold_windows(g: Tensor, w: Tensor, size: Shape, settings: Settings) -> Tensor:
    """conv_transpose with strides and dilations: each element of each window, then summed by element."""
    stride, padding = settings["stride"], settings["padding"]
    dilation, groups = settings["dilation"], settings["groups"]
    nd = g.ndim - 2
    wg = _by_group(w, groups)
    o, c = wg.shape[1:3]
    gg = g.reshape(g.shape[0], groups, o, *g.shape[2:])
    gy = gg.permute(0, 1, *range(3, 3 + nd), 2).reshape(g.shape[0], groups, *(1,) * (1 + nd), *g.shape[2:], o)
    weights = wg.permute(0, 2, *range(3, 3 + nd), 1).reshape(1, groups, c, *w.shape[2:], *(1,) * nd, o)
    cols = contract(gy, weights, 1, "conv_input")  # [n, g, c, *taps, *out]
    cols = cols.permute(0, 1, 2, *range(3 + nd, 3 + 2 * nd), *range(3, 3 + nd))
    reach = [
        (m - 1) * s + d * (k - 1) + 1
        for m, k, s, d in zip(g.shape[2:], w.shape[2:], stride, dilation, strict=True)
    ]
    # fold gives the part of the result that windows cover; zeros follow after the last window
    out = [min(n, r - p) for n, r, p in zip(size, reach, padding, strict=True)]
    before = padding if min(out) > 0 else (0,) * nd
    out = out if min(out) > 0 else reach
    spec = [
        Window(k, s, d, p, r - p - n)
        for k, s, d, p, r, n in zip(w.shape[2:], stride, dilation, before, reach, out, strict=True)
    ]
    back = fold(cols, tuple(spec), tuple(out))
    cut = [b - p for b, p in zip(before, padding, strict=True)]
    rest = [n - c - m for n, c, m in zip(size, cut, out, strict=True)]
    back = back._pad((0, 0, 0, *cut), (0, 0, 0, *rest)) if any(cut + rest) else back
    return back.reshape(g.shape[0], groups * c, *size)


def _fold_pieces(x: Tensor, w: Tensor, size: Shape, settings: Settings) -> Tensor:
    """The same in pieces of the batch, each of which stores at most TAPS elements of windows."""
    n, images = x.shape[0], max(TAPS // max(_taps_of_image(x, w, settings["groups"]), 1), 1)
    pieces = max(-(-n // images), 1)
    images = max(-(-n // pieces), 1)
    parts = [x.narrow(0, i, min(images, n - i)) for i in range(0, n, images)] if pieces > 1 else [x]
    return cat([_fold_windows(part, w, size, settings) for part in parts], 0)


def _taps_of_image(x: Tensor, w: Tensor, groups: int) -> int:
    """The elements of all windows that the elements of an image are added to."""
    return groups * prod(x.shape[2:]) * prod(w.shape[1:])


class Phases(NamedTuple):
    """How a kernel computes one dim of a transposed convolution without dilation. Results that are `stride`
    apart use the same taps: the result at stride * j + phase, before the padding is cut off, is the sum
    over t of x[j - t] * w[stride * t + phase].

    phase, phases: the first phase, and how many the kernel computes. results: how many results of each j it
    represents: phases beyond the kernel's size are zero. taps: how many each phase has, with zeros where one
    has fewer. first, places: the first j, and how many.
    """

    phase: int
    phases: int
    results: int
    taps: int
    first: int
    places: int


def _phases(n: int, kernel: int, stride: int, padding: int, separate: bool) -> list[Phases]:
    """One Phases for all phases of a dim of n results, or, if `separate`, one for each phase with only
    its taps."""
    if not separate:
        # result i before the cut is i + padding = stride * j + phase
        first, last = padding // stride, (padding + n - 1) // stride
        taps = -(-kernel // stride)
        return [Phases(0, min(kernel, stride), stride, taps, first, last - first + 1)]
    parts: list[Phases] = []
    for offset in range(stride):
        first, phase = divmod(offset + padding, stride)
        parts.append(Phases(phase, 1, 1, len(range(phase, kernel, stride)), first, -(-n // stride)))
    return parts


PART = 5e7  # multiply-adds that take as long as one more launch
ROWS = 16  # the fewest filters that a kernel computes together: fewer take as long
TAP = 20  # multiply-adds that take as long as storing and adding up an element of a window
FOLD = 0.8  # a plain product's time over that of as many multiply-adds with windows (H200, 2026-11-27)


def _separate_dims(work: int, filters: int, kernel: Shape, stride: tuple[int, ...]) -> tuple[bool, ...]:
    """The dims whose phases get separate kernels, because that saves more time than the launches take. work:
    multiply-adds without zeros; filters: those of a group; each has all phases."""
    ways = product(*((False, True) if s > 1 else (False,) for s in stride))  # 2 ** dims choices at most
    return min(ways, key=lambda separate_dims: _phases_time(separate_dims, work, filters, kernel, stride))


def _phases_time(
    separate_dims: tuple[bool, ...], work: int, filters: int, kernel: Shape, stride: tuple[int, ...]
) -> float:
    """The time in multiply-adds, if the phases of some dims have separate kernels."""
    # Joint phases also multiply the zeros that pad their taps; separate ones need a launch each.
    each = [(k, s) for split, k, s in zip(separate_dims, kernel, stride, strict=True) if not split]
    # ceil(k / s) taps for each of min(k, s) phases, of which only k in all are not zeros
    zeros = prod(-(-k // s) * min(k, s) / k for k, s in each)
    rows = max(filters, 1) * prod(min(k, s) for k, s in each)
    kernels = prod(s for split, s in zip(separate_dims, stride, strict=True) if split)
    # A kernel computes filters in blocks of ROWS, so their number is rounded up.
    return work * zeros * -(-rows // ROWS) * ROWS / rows + PART * kernels


def _folds(x: Tensor, w: Tensor, stride: tuple[int, ...], groups: int) -> bool:
    """Whether a GPU takes less time to store all windows and to add them up than to compute the phases of
    results, which read windows of x."""
    device: Any = x.device
    taps = _taps_of_image(x, w, groups)
    if device.kind != "gpu" or device.limits.software or not 0 < taps <= TAPS:
        return False
    if x.dtype.is_packed:
        return False  # 16-bit windows would be rounded before they are added up
    kernel = w.shape[2:]
    if all(k <= s for k, s in zip(kernel, stride, strict=True)):
        return False  # nothing to add up: each result comes from one tap
    taps *= x.shape[0]
    work = taps * (w.shape[0] // groups)
    separate_dims = _separate_dims(work, w.shape[1], kernel, stride)
    phases = _phases_time(separate_dims, work, w.shape[1], kernel, stride)
    # Both take a second launch: one adds up windows, one interleaves phases.
    return FOLD * (work + TAP * taps) + PART < phases


def _by_phases(
    x: Tensor, w: Tensor, size: Shape, stride: tuple[int, ...], padding: tuple[int, ...], groups: int
) -> Tensor:
    """conv_transpose without dilation: products for each phase, with every stride-th tap, interleaved.

    A value that is not finite also reaches results next to those that depend on it: missing taps of a phase
    are zeros.
    """
    separate_dims = _separate_dims(
        x.shape[0] * prod(x.shape[2:]) * prod(w.shape), w.shape[1], w.shape[2:], stride
    )
    dims = [_phases(*d) for d in zip(size, w.shape[2:], stride, padding, separate_dims, strict=True)]
    y = _interleave_parts(lambda each: _compute_phases(x, w, each, stride, groups), dims, ())
    counts = [parts[0].places * s for parts, s in zip(dims, stride, strict=True)]
    y = y.reshape(x.shape[0], groups * w.shape[1], *counts)
    # Joint phases begin at a multiple of the stride, up to stride - 1 results before the first wanted.
    before = [0 if split else -(p % s) for split, p, s in zip(separate_dims, padding, stride, strict=True)]
    after = [n - b - m for n, b, m in zip(size, before, counts, strict=True)]
    return y._pad((0, 0, *before), (0, 0, *after)) if any(before + after) else y


def _interleave_parts(
    part_of: Callable[[tuple[Phases, ...]], Tensor], dims: list[list[Phases]], each: tuple[Phases, ...]
) -> Tensor:
    """The results of all parts, [n, groups, c, count, phase, ...]; `each` has the parts of the first dims."""
    depth = len(each)
    if depth == len(dims):
        return part_of(each)
    parts = [_interleave_parts(part_of, dims, (*each, part)) for part in dims[depth]]
    while len(parts) > 1:  # two are joined as padded views, and all such joins are computed by one kernel
        parts = [cat(parts[i : i + 2], 4 + 2 * depth) for i in range(0, len(parts), 2)]
    return parts[0]


def _compute_phases(
    x: Tensor, w: Tensor, dims: tuple[Phases, ...], stride: tuple[int, ...], groups: int
) -> Tensor:
    """The results for some phases of each dim, [n, groups, c, count, phase, ...]."""
    nd, n, o, c = len(dims), x.shape[0], w.shape[0] // groups, w.shape[1]
    taps = tuple([d.taps for d in dims])
    sizes = [size for d in dims for size in (d.places, d.results)]
    if not all(taps):
        # A phase beyond the kernel's size has no taps.
        return type(x).zeros(n, groups, c, *sizes, dtype=x.dtype, device=x.device)
    for axis, (d, s) in enumerate(zip(dims, stride, strict=True), 2):
        # one phase takes every stride-th tap; the taps of several are adjacent
        w = w[(slice(None),) * axis + (slice(d.phase, None, s if d.phases == 1 else 1),)]
        w = _extend_dim(w, axis, d.taps * d.phases)
    wp = w.reshape(groups, o, c, *[size for d in dims for size in (d.taps, d.phases)])
    tap, phase = range(3, 3 + 2 * nd, 2), range(4, 4 + 2 * nd, 2)
    # the taps run against the input: x[j - t]
    wp = wp.flip(tuple(tap)).permute(0, *phase, 2, 1, *tap)  # [groups, *phases, c, o, *taps]
    # The result at j reads x[j - taps + 1] to x[j]: zeros (or cuts, if negative) on both sides.
    before = [d.taps - 1 - d.first for d in dims]
    after = [d.first + d.places - m for d, m in zip(dims, x.shape[2:], strict=True)]
    x, padding = _pad_dims(x, before, after)
    xw = _windows(x, taps, (1,) * nd, padding, (1,) * nd, groups)  # [n, groups, o, *count, *taps]
    xw = xw.permute(0, 1, *range(3, 3 + nd), 2, *range(3 + nd, 3 + 2 * nd))
    xw = xw.reshape(n, groups, *(1,) * (nd + 1), *xw.shape[2:])
    wp = wp.reshape(1, *wp.shape[: nd + 2], *(1,) * nd, *wp.shape[nd + 2 :])
    y = contract(xw, wp, 1 + nd, f"conv_transpose{nd}d")  # [n, groups, *phases, c, *count]
    y = y.permute(0, 1, 2 + nd, *[axis for i in range(nd) for axis in (3 + nd + i, 2 + i)])
    for axis, d in zip(range(4, 4 + 2 * nd, 2), dims, strict=True):
        y = _extend_dim(y, axis, d.results)
    return y


def _extend_dim(x: Tensor, dim: int, size: int) -> Tensor:
    """x with zeros at the end of a dim, up to `size`."""
    missing = [size - x.shape[dim] if d == dim else 0 for d in range(x.ndim)]
    return x._pad((0,) * x.ndim, tuple(missing)) if any(missing) else x


@composite(grad=_conv_grad)
def conv(
    x: Tensor,
    w: Tensor,
    *,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
) -> Tensor:
    """Convolution over the dims from the third. [n, c, *size], [o, c / groups, *kernel] -> [n, o, *out]

    stride: the distance of windows, for each dim
    padding: elements added at both ends, for each dim
    dilation: the distance between elements of a window, for each dim
    groups: the number of groups of channels; an output reads only the inputs of its group
    """
    nd = x.ndim - 2
    xw, wg = _conv_views(x, w, stride, padding, dilation, groups)
    out, taps = range(3, 3 + nd), range(3 + nd, 3 + 2 * nd)
    xw = xw.permute(0, 1, *out, 2, *taps).unsqueeze(2)  # [n, g, 1, *out, c, *taps]
    wg = wg.reshape(1, groups, wg.shape[1], *(1,) * nd, *w.shape[1:])  # [1, g, o, *1, c, *taps]
    y = contract(xw, wg, 1 + nd, f"conv{nd}d")
    return y.reshape(x.shape[0], w.shape[0], *y.shape[3:])


def same_padding(
    kernel_size: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Zeros before and after each dim that keep its size; an odd one is after, as in PyTorch."""
    if any(s != 1 for s in stride):
        raise ValueError("padding='same' needs stride 1: pass numbers")
    reach = [d * (k - 1) for d, k in zip(dilation, kernel_size, strict=True)]
    return tuple(r // 2 for r in reach), tuple(r - r // 2 for r in reach)


def _pad_for(
    x: Tensor,
    padding: int | Sequence[int] | str,
    kernel_size: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
) -> tuple[Tensor, tuple[int, ...]]:
    """x, padded where padding is not symmetric, and the symmetric padding that remains."""
    nd = len(kernel_size)
    if not isinstance(padding, str):
        return x, pair(padding, nd)
    if padding not in ("same", "valid"):
        raise ValueError(f"padding={padding!r} is unknown: use numbers, 'same' or 'valid'")
    if padding == "same":
        before, after = same_padding(kernel_size, stride, dilation)
        if before == after:
            # An odd number of zeros is padded here: a convolution's padding is the same on both sides.
            return x, before
        x = x._pad((0, 0, *before), (0, 0, *after))
    return x, (0,) * nd


def _check_weight(x: Tensor, w: Tensor, nd: int, groups: int, inputs: int, outputs: int) -> None:
    """ValueError unless the weight fits the numbers of input and output channels."""
    if w.ndim != nd + 2:
        raise ValueError(f"weight needs {nd + 2} dims, not {w.ndim}")
    if groups < 1 or x.shape[1] != inputs or outputs % groups or x.shape[1] % groups:
        raise ValueError(
            f"weight {list(w.shape)} with groups={groups} needs {inputs} input channels"
            f" and channels divisible by groups: got {x.shape[1]}"
        )


def _conv(nd: int):
    def convolve(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
    ) -> Tensor:
        x, w = same_rank(input, weight)
        x, single = add_batch_dim(x, nd)
        _check_weight(x, w, nd, groups, w.shape[1] * groups if w.ndim > 1 else 0, w.shape[0])
        stride, dilation = pair(stride, nd), pair(dilation, nd)
        x, padding = _pad_for(x, padding, w.shape[2:], stride, dilation)
        y = conv(x, w, stride=stride, padding=padding, dilation=dilation, groups=groups)
        y = y if bias is None else y + bias.reshape(-1, *(1,) * nd)
        return y.squeeze(0) if single else y

    convolve.__name__ = f"conv{nd}d"
    convolve.__doc__ = f"""Cross-correlation over {nd} dims, as PyTorch's conv{nd}d.
    [n, c, *size], [o, c / groups, *kernel] -> [n, o, *out]

    stride: the distance of windows, one number or one for each dim
    padding: zeros at both ends, a number or one for each dim; "same" or "valid"
    dilation: the distance between elements of a window, one number or one for each dim
    groups: the number of groups of channels; an output reads only the inputs of its group
    Raises ValueError if the input has too few or too many dims; if the weight does not fit the
        input or the groups; if a size is neither one number nor one for each dim.
    """
    return composed(convolve)


conv1d, conv2d, conv3d = _conv(1), _conv(2), _conv(3)


def transposed_size(
    size: Shape,
    kernel_size: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    output_padding: tuple[int, ...],
    dilation: tuple[int, ...],
) -> tuple[int, ...]:
    """The sizes of a transposed convolution's result; ValueError if one is below 1 or output_padding too
    large."""
    each = zip(size, kernel_size, stride, padding, output_padding, dilation, strict=True)
    # The smallest input for which a convolution with these windows has n outputs, plus output_padding.
    sizes = tuple((n - 1) * s - 2 * p + d * (k - 1) + o + 1 for n, k, s, p, o, d in each)
    for window in spec_of(kernel_size, stride, padding, dilation):
        window.check()
    if any(o >= max(s, d) for o, s, d in zip(output_padding, stride, dilation, strict=True)):
        raise ValueError(f"output_padding {list(output_padding)} is not below stride or dilation")
    if min(sizes) < 1:
        raise ValueError(f"the result's sizes would be {list(sizes)}: use less padding")
    return sizes


def _conv_transpose(nd: int):
    def convolve(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        dilation: int | Sequence[int] = 1,
    ) -> Tensor:
        x, w = same_rank(input, weight)
        x, single = add_batch_dim(x, nd)
        _check_weight(x, w, nd, groups, w.shape[0], w.shape[0])
        stride, padding, dilation = pair(stride, nd), pair(padding, nd), pair(dilation, nd)
        extra = pair(output_padding, nd)
        size = transposed_size(x.shape[2:], w.shape[2:], stride, padding, extra, dilation)
        y = conv_transpose(x, w, size=size, stride=stride, padding=padding, dilation=dilation, groups=groups)
        y = y if bias is None else y + bias.reshape(-1, *(1,) * nd)
        return y.squeeze(0) if single else y

    convolve.__name__ = f"conv_transpose{nd}d"
    convolve.__doc__ = f"""The adjoint of conv{nd}d with respect to its input: PyTorch's conv_transpose{nd}d.
    [n, c, *size], [c, o / groups, *kernel] -> [n, o, *out]

    stride: the distance of windows, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    output_padding: elements added at the end of each dim of the result, since several sizes are possible
    groups: the number of groups of channels; an output reads only the inputs of its group
    dilation: the distance between elements of a window, one number or one for each dim
    Raises ValueError if the input has too few or too many dims; if the weight does not fit the
        input or the groups; if a size is neither one number nor one for each dim; if nothing is left,
        or output_padding is not below stride or dilation.
    """
    return composed(convolve)


conv_transpose1d, conv_transpose2d, conv_transpose3d = (
    _conv_transpose(1),
    _conv_transpose(2),
    _conv_transpose(3),
)


@composed
def im2col(
    input: Tensor,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Every window as a column: nn.functional.unfold. [n, c, h, w] -> [n, c * kh * kw, positions]

    kernel_size: the window's size, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    Raises ValueError if the input has too few or too many dims; if a size is neither one number
        nor one for each dim.
    """
    x, single = add_batch_dim(input, 2)
    kernel = pair(kernel_size)
    y = x._windows(spec_of(kernel, pair(stride), pair(padding), pair(dilation)))  # [n, c, oh, ow, kh, kw]
    # As in PyTorch, a column has channels first, then the window's rows and columns.
    y = y.permute(0, 1, 4, 5, 2, 3).reshape(x.shape[0], x.shape[1] * prod(kernel), prod(y.shape[2:4]))
    return y.squeeze(0) if single else y


@composed
def col2im(
    input: Tensor,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """The sum of columns at the elements that im2col took them from: nn.functional.fold.

    [n, c * kh * kw, positions] -> [n, c, *output_size]

    output_size: height and width of the result
    kernel_size: the window's size, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    Raises ValueError if the last two dims are not the windows of output_size.
    """
    x, single = add_batch_dim(input, 1)
    size, kernel = pair(output_size), pair(kernel_size)
    spec = spec_of(kernel, pair(stride), pair(padding), pair(dilation))
    out = tuple(w.positions(n) for w, n in zip(spec, size, strict=True))
    if x.shape[1] % prod(kernel) or x.shape[2] != prod(out):
        raise ValueError(
            f"output_size {list(size)} has {prod(out)} windows of {prod(kernel)} elements:"
            f" the last two dims must be a multiple of {prod(kernel)}, and {prod(out)}"
        )
    c = x.shape[1] // prod(kernel)
    y = fold(x.reshape(x.shape[0], c, *kernel, *out).permute(0, 1, 4, 5, 2, 3), spec, size)
    return y.squeeze(0) if single else y
