"""Sampling at computed positions: grid_sample, affine_grid and deformable convolution."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core import dtype as dt
from ...core.declare import composed
from ...core.op import only_real
from ...core.shape import contiguous_strides
from ..contract import contract, same_rank
from ..index.indices import gather_known
from ..reduce import in_float32
from .conv import add_batch_dim, pair
from .resize import KINDS

if TYPE_CHECKING:
    from ...core.shape import Shape
    from ...tensor import Tensor

PADDINGS = ("zeros", "border", "reflection")
MODES = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}


class Taps(NamedTuple):
    """The elements of one dim that a position interpolates: indices and weights, each [..., taps]."""

    index: Any
    weight: Any


def _reflect(x: Tensor, low: float, high: float) -> Tensor:
    """Reflects positions at both ends until they are inside."""
    span = high - low
    if span <= 0:  # a single place
        return x.isfinite().where(x, 0.0) * 0  # as in PyTorch also for infinities and NaN
    away = (x < low).where(low - x, x - low)  # unlike abs, it has a gradient at `low`
    # Reflection has the period 2 span; odd turns run backwards.
    turns = (away / span).detach().floor()
    rest = away - turns * span
    return (turns.remainder(2) == 0).where(rest, span - rest) + low


def _clip(x: Tensor, n: int) -> Tensor:
    """Clips to 0 to n - 1. Unlike clamp's, the gradient is 0 at both ends, as in PyTorch."""
    x = (x <= 0).where(0.0, x)
    return (x >= n - 1).where(float(n - 1), x)


def _apply_padding(x: Tensor, n: int, padding: str, align: bool) -> Tensor:
    """Reflects or clips positions, depending on the padding mode."""
    if padding == "reflection":
        # align: about the centres of the outermost elements, else about their edges.
        x = _reflect(x, 0.0, n - 1.0) if align else _reflect(x, -0.5, n - 0.5)
    return x if padding == "zeros" else _clip(x, n)


def taps_at(x: Tensor, n: int, kind: str = "linear", padding: str = "zeros", align: bool = False) -> Taps:
    """The taps of positions x in a dim of n; 0 is the centre of the first element."""
    rule = KINDS[kind]
    x = _apply_padding(x, n, padding, align) if kind != "cubic" else x
    # nearest rounds halves to even, as PyTorch's nearbyint
    floor = (x.round() if kind == "nearest" else x.floor()).detach()
    tap = type(x).arange(rule.taps, dtype=dt.int32, device=x.device).float() - rule.before
    places = floor.unsqueeze(-1) + tap
    # taps up to the floor are before x, the others after it: unlike abs, this has a gradient where x is on
    # a tap
    away = x.unsqueeze(-1) - places
    weight = 1.0 if rule.weight is None else rule.weight((tap > 0).where(-away, away))
    # As in PyTorch, bicubic interpolation pads each tap, the others the position.
    if kind == "cubic":
        places = _apply_padding(places, n, padding, align)
    inside = (places >= 0) & (places <= n - 1)  # zeros: taps beyond the ends have no weight
    return Taps(places.clamp(0, n - 1).int(), inside.where(weight, 0.0))


def sample_taps(x: Tensor, taps: list[Taps], size: Shape) -> Tensor:
    """The weighted sum of the taps of each position. x has its last dims flattened.

    x [n, c, prod(size)], a Taps for each dim of size, for positions [n, p] -> [n, c, p]
    """
    index: Any = 0
    weight: Any = 1.0
    for i, (t, step) in enumerate(zip(taps, contiguous_strides(tuple(size)), strict=True)):
        # The taps of dim i along axis i: their indices and weights broadcast to an outer product.
        shape = (*t.index.shape[:-1], *(1,) * i, t.index.shape[-1], *(1,) * (len(taps) - 1 - i))
        index = t.index.reshape(*shape) * step + index
        weight = t.weight.reshape(*shape) * weight
    n, p, *k = index.shape
    flat = index.reshape(n, 1, p * prod(k)).expand(n, x.shape[1], p * prod(k))
    values = gather_known(x, -1, flat).reshape(n, x.shape[1], p, prod(k))
    return (values * weight.reshape(n, 1, p, prod(k))).sum(-1)


@composed
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """The input interpolated at the grid's positions, (x, y) or (x, y, z), -1 to 1 from edge to edge
    (align_corners: between the centres of the outermost elements).

    mode bilinear (also over 3 dims), nearest or bicubic (2 dims); padding_mode zeros, border or reflection.
    [n, c, h, w], [n, oh, ow, 2] -> [n, c, oh, ow]; [n, c, d, h, w], [n, od, oh, ow, 3] -> [n, c, od, oh, ow]

    Raises ValueError if mode or padding_mode is unknown, the grid does not fit, or a size is 0.
    """
    only_real(input, grid)
    nd = input.ndim - 2
    if nd not in (2, 3) or grid.ndim != input.ndim or grid.shape[-1] != nd or grid.shape[0] != input.shape[0]:
        raise ValueError("needs an input of 4 or 5 dims and a grid [n, *out, 2 or 3]")
    if mode not in MODES or (mode == "bicubic" and nd == 3):
        raise ValueError(f"mode={mode!r} is not for {nd} dims: use bilinear, nearest or (2 dims) bicubic")
    if padding_mode not in PADDINGS:
        raise ValueError(f"padding_mode={padding_mode!r} is unknown: use one of {', '.join(PADDINGS)}")
    size, out, align = input.shape[2:], grid.shape[1:-1], bool(align_corners)
    if 0 in size:
        raise ValueError(f"sizes {list(size)} must not be 0")
    flat = grid.float().reshape(grid.shape[0], prod(out), nd)
    taps: list[Taps] = []
    for i, n in enumerate(size):
        coordinate = flat[:, :, nd - 1 - i]  # (x, y, z): the last dim of the input first
        # From -1 to 1 over the centres of the outermost elements, or over their edges, to element numbers.
        x = (coordinate + 1) * ((n - 1) / 2) if align else ((coordinate + 1) * n - 1) * 0.5
        taps.append(taps_at(x, n, MODES[mode], padding_mode, align))
    x, dtype = in_float32(input)
    y = sample_taps(x.reshape(*x.shape[:2], prod(size)), taps, size)
    return y.reshape(*x.shape[:2], *out).to(dtype)


@composed
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The grid for grid_sample that applies affine maps, for an output of `size`.

    [n, 2, 3], (n, c, h, w) -> [n, h, w, 2]; [n, 3, 4], (n, c, d, h, w) -> [n, d, h, w, 3]

    theta: affine maps. [n, 2, 3]
    align_corners: -1 and 1 are the centres of the outermost elements, not their edges
    Raises ValueError if theta does not fit the size.
    """
    size = tuple(size)
    nd = len(size) - 2
    if nd not in (2, 3) or theta.shape != (size[0], nd, nd + 1):
        raise ValueError("needs theta [n, 2, 3] with size (n, c, h, w), or [n, 3, 4] with (n, c, d, h, w)")
    x, dtype = in_float32(theta)
    t = x.reshape(size[0], *(1,) * nd, nd, nd + 1)
    y = t[..., nd]  # the translation, to which each coordinate times its column is added
    for i, n in enumerate(size[2:]):
        steps = type(theta).arange(n, dtype=dt.int32, device=theta.device).float()
        if align_corners:
            x = steps * (2 / (n - 1)) - 1 if n > 1 else steps * 0
        else:
            x = (steps * 2 + (1 - n)) * (1 / n)  # the centres of elements: (2 i + 1 - n) / n
        y = x.reshape(-1, *(1,) * (nd - i)) * t[..., nd - 1 - i] + y
    return y.to(dtype)


def _kernel_places(
    x: Tensor,
    offset: Tensor,
    dim: int,
    out: Shape,
    kernel: Shape,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
) -> Tensor:
    """The position along a spatial dim (0 is y) of each tap of each output. -> [n, groups, kh * kw, oh,
    ow]"""
    arange = type(x).arange
    start = arange(out[dim], dtype=dt.int32, device=x.device) * stride[dim] - padding[dim]
    tap = arange(kernel[dim], dtype=dt.int32, device=x.device) * dilation[dim]
    regular = tap.reshape(-1, *(1,) * (3 - dim)) + start.reshape(-1, *(1,) * (1 - dim))
    own = offset.reshape(x.shape[0], groups, *kernel, 2, *out)[:, :, :, :, dim]
    return (own + regular).reshape(x.shape[0], groups, prod(kernel), *out)


def _deform_check(x: Tensor, w: Tensor, offset: Tensor, mask: Tensor | None, out: Shape, groups: int) -> None:
    taps = prod(w.shape[2:])
    if groups < 1 or x.shape[1] % groups:
        raise ValueError(f"offset {list(offset.shape)} does not have pairs for groups of the channels")
    if offset.shape != (x.shape[0], 2 * groups * taps, *out):
        raise ValueError(f"offset needs shape {[x.shape[0], 2 * groups * taps, *out]}")
    if mask is not None and mask.shape != (x.shape[0], groups * taps, *out):
        raise ValueError(f"mask needs shape {[x.shape[0], groups * taps, *out]}")


@composed
def deform_conv2d(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    mask: Tensor | None = None,
) -> Tensor:
    """Convolution whose taps are moved by offset and multiplied by mask (Dai et al., 2017; Zhu et al., 2018).

    The numbers of groups follow from the shapes; offset has (y, x) of each tap, tap by tap, group by group.
    [n, c, h, w], [n, 2 * groups * kh * kw, oh, ow], [o, c / weight groups, kh, kw] -> [n, o, oh, ow]

    stride: the distance of windows, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    Raises ValueError if the weight does not divide the channels into groups.
    """
    only_real(input, offset, weight, bias, mask)
    x, w = same_rank(input, weight)
    x, single = add_batch_dim(x, 2)
    x, dtype = in_float32(x)
    offset = (offset.unsqueeze(0) if single else offset).float()
    mask = mask.unsqueeze(0) if single and mask is not None else mask
    kernel, stride, padding, dilation = tuple(w.shape[2:]), pair(stride), pair(padding), pair(dilation)
    n, c, *size = x.shape
    if w.ndim != 4 or not w.shape[1] or c % w.shape[1] or w.shape[0] % (c // w.shape[1]):
        raise ValueError(f"weight {list(w.shape)} does not divide {c} channels into groups")
    each = zip(size, kernel, stride, padding, dilation, strict=True)
    out = tuple((m + 2 * p - d * (k - 1) - 1) // s + 1 for m, k, s, p, d in each)
    groups, taps = offset.shape[1] // (2 * prod(kernel)), prod(kernel)
    _deform_check(x, w, offset, mask, out, groups)
    settings = (out, kernel, stride, padding, dilation, groups)
    # Groups of channels move like samples of a batch.
    places = [_kernel_places(x, offset, d, *settings).reshape(n * groups, taps * prod(out)) for d in range(2)]
    taps_of_dims = [taps_at(place, m) for place, m in zip(places, size, strict=True)]
    cols = sample_taps(x.reshape(n * groups, c // groups, prod(size)), taps_of_dims, tuple(size))
    cols = cols.reshape(n, groups, c // groups, taps, prod(out))
    if mask is not None:
        cols = cols * mask.reshape(n, groups, 1, taps, prod(out))
    y = _columns_times(cols.reshape(n, c, taps, prod(out)), w.float()).reshape(n, w.shape[0], *out)
    y = (y if bias is None else y + bias.reshape(-1, 1, 1)).to(dtype)
    return y.squeeze(0) if single else y


def _columns_times(cols: Tensor, w: Tensor) -> Tensor:
    """[n, c, taps, p], [o, c / groups, kh, kw] -> [n, o, p]"""
    n, c, taps, p = cols.shape
    groups = c // w.shape[1]
    cols = cols.reshape(n, groups, 1, w.shape[1], taps, p).permute(0, 1, 2, 5, 3, 4)  # [n, g, 1, p, c, taps]
    w = w.reshape(1, groups, w.shape[0] // groups, 1, w.shape[1], taps)
    return contract(cols, w, 2, "deform_conv").reshape(n, groups * w.shape[2], p)
