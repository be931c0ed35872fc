"""Interpolation: an output is a sum of a few inputs along each dim, weighted by their distance.

Positions are exact fractions (i * a + b) / d of integers, so that all devices and the gradient use the same
inputs. Nearest interpolation follows PyTorch's rounding (nearest.py), which sometimes takes the input
before or after; then the indices come from the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import inf, pi
from operator import eq
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core import dtype as dt
from ...core.declare import composed, composite
from ..index.indices import slices
from ..reduce import in_float32
from .adaptive import adaptive_mean
from .conv import pair
from .nearest import KEPT, nearest_places

if TYPE_CHECKING:
    from ...core.shape import Shape
    from ...tensor import Tensor

KEPT_LARGE = 8  # computed positions of large dims in a cache: 32 bytes a position
FEW = 12  # outputs per input, up to which their gradients are summed in one expression
SPATIAL = {1: "linear", 2: "bilinear", 3: "trilinear"}


class ResizedDim(NamedTuple):
    """How one dim is resized from n to o elements: output i is at input (i * a + b) / d; the kind of
    weights."""

    n: int
    o: int
    a: int
    b: int
    d: int
    kind: str


class Kind(NamedTuple):
    """The number of inputs for an output, how many of them lie before its position, and their weight as a
    function of the distance."""

    taps: int
    before: int
    weight: Callable[[Tensor], Tensor] | None


def _cubic(x: Tensor) -> Tensor:
    """Keys' cubic convolution kernel with a = -0.75, for distances 0 to 2."""
    # (a + 2) x^3 - (a + 3) x^2 + 1, and beyond 1: a (x^3 - 5 x^2 + 8 x - 4).
    near = ((x * 1.25) - 2.25) * x * x + 1
    far = ((x * -0.75 + 3.75) * x - 6) * x + 3
    return (x <= 1).where(near, far)


def _sinc(x: Tensor) -> Tensor:
    nonzero = x != 0
    x = nonzero.where(x, 1.0) * pi  # no 0 / 0
    return nonzero.where(x.sin() / x, 1.0)


def _linear(x: Tensor) -> Tensor:
    return 1 - x


def _lanczos(x: Tensor) -> Tensor:
    return (x < 3).where(_sinc(x) * _sinc(x / 3), 0.0)  # three lobes


KINDS = {
    "nearest": Kind(1, 0, None),
    "linear": Kind(2, 0, _linear),
    "cubic": Kind(4, 1, _cubic),
    "lanczos": Kind(6, 2, _lanczos),
}


def _precise(x: Tensor) -> dt.DType:
    """The dtype of weights for x."""
    return dt.float64 if x.dtype is dt.float64 else dt.float32


def _position(i: Tensor, line: ResizedDim, dtype: dt.DType) -> tuple[Tensor, Tensor]:
    """(floor, fraction) of the positions of outputs i among the inputs. -> int32, dtype"""
    if not _fits(line):  # 64-bit division in each tap of a kernel would be slow
        floors, fractions = _host_positions(line)
        index = i.clamp(max=line.o - 1).reshape(-1)
        floor = slices(i.new_tensor(floors, dtype=dt.int32), index, dim=0)
        fraction = slices(i.new_tensor(fractions, dtype=dtype), index, dim=0)
        return floor.reshape(*i.shape), fraction.reshape(*i.shape)
    coordinate = i * line.a + line.b
    floor = coordinate // line.d
    return floor, (coordinate - floor * line.d).to(dtype) * (1 / line.d)


@lru_cache(KEPT_LARGE)
def _host_positions(line: ResizedDim) -> tuple[list[int], list[float]]:
    """The floors and fractions of all outputs, computed with Python's integers."""
    pairs = [divmod(i * line.a + line.b, line.d) for i in range(line.o)]
    return [floor for floor, _ in pairs], [rest / line.d for _, rest in pairs]


def _weight(frac: Tensor, tap: Any, kind: Kind, total: Tensor | None = None) -> Tensor:
    if kind.weight is None:  # nearest: the only tap has all the weight
        return frac * 0 + 1
    w = kind.weight((frac + (kind.before - tap)).abs())
    # Linear and cubic weights add up to 1 by themselves, those of Lanczos almost.
    return w if total is None else w / total


def _total(frac: Tensor, kind: Kind) -> Tensor | None:
    """The sum of the weights, to divide by; None if it is 1."""
    if kind.taps < 6:
        return None
    return sum((_weight(frac, t, kind) for t in range(1, kind.taps)), _weight(frac, 0, kind))


def _gather_rows(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """Gathers along a dim by an index of two dims. [..., n, ...], [m, k] -> [..., m, k, ...]"""
    return slices(x, index.reshape(-1), dim=dim).reshape(*x.shape[:dim], *index.shape, *x.shape[dim + 1 :])


def _weighted_sum(x: Tensor, dim: int, index: Tensor, weight: Tensor) -> Tensor:
    """The weighted sum of the elements along a dim that each row of `index` selects.
    [..., n, ...], [k, m], [k, m] -> [..., m, ...]"""
    # A sum of a few gathers fuses to one kernel, where a reduction would need another.
    y: Any = 0
    for k in range(index.shape[0]):
        y = slices(x, index[k], dim=dim) * _broadcast_along(weight[k], dim, x.ndim) + y
    return y


def _broadcast_along(t: Tensor, dim: int, rank: int) -> Tensor:
    return t.reshape(*t.shape, *(1,) * (rank - 1 - dim))


def _resize_grad(g: Tensor, y: Tensor, x: Tensor, dim: int, line: ResizedDim) -> list[Tensor | None]:
    return [_resize_back(g, dim=dim, line=line)]


@composite(grad=_resize_grad)
def resize(x: Tensor, *, dim: int, line: Any) -> Tensor:
    """Interpolate one dim. [..., n, ...] -> [..., o, ...]"""
    kind, arange = KINDS[line.kind], type(x).arange
    floor, frac = _position(arange(line.o, dtype=dt.int32, device=x.device), line, _precise(x))
    if kind.weight is None:
        return slices(x, floor.clamp(0, line.n - 1), dim=dim)
    taps = arange(kind.taps, dtype=dt.int32, device=x.device).unsqueeze(1)
    total = _total(frac, kind)
    index = (floor + (taps - kind.before)).clamp(0, line.n - 1)  # beyond the ends the outermost inputs repeat
    return _weighted_sum(x, dim, index, _weight(frac, taps, kind, total)).to(x.dtype)


def _first_output(line: ResizedDim, kind: Kind, x: Tensor) -> Tensor:
    """The first output that uses each input. -> [n] int32"""
    j = type(x).arange(line.n, dtype=dt.int32, device=x.device)
    if not line.a:
        return j * 0
    # floor((i a + b) / d) >= least for i >= (least d - b) / a, rounded up. Input 0 also stands for all
    # positions before it.
    least = kind.before - kind.taps + 1  # the smallest floor of the position of input 0
    if not _fits(line):
        return x.new_tensor(_host_first_outputs(line, least), dtype=dt.int32)
    first = -((line.b - (j + least) * line.d) // line.a)
    return (j == 0).where(0, first.clamp(min=0))


@lru_cache(KEPT_LARGE)
def _host_first_outputs(line: ResizedDim, least: int) -> list[int]:
    """As _first_output, computed with Python's integers."""
    firsts = (max(0, -((line.b - (j + least) * line.d) // line.a)) for j in range(1, line.n))
    return [0, *firsts]


def _most_outputs(line: ResizedDim, kind: Kind) -> int:
    """The largest number of outputs of one input; the outermost inputs also stand for those beyond the
    ends."""
    if not line.a:
        return line.o

    def first(floor: int) -> int:
        return max(0, -((line.b - floor * line.d) // line.a))

    low, top = kind.before - kind.taps + 1, kind.before  # the reach of the taps
    inner = -(-kind.taps * line.d // line.a) + 1
    # Taps before the first input count for it: all outputs with a floor up to `top`. Likewise at the end.
    edge_counts = (min(first(top + 1), line.o), line.o - first(line.n - 1 + low))
    return max(1, min(max(inner, *edge_counts), line.o))


def _back_grad(g: Tensor, y: Tensor, x: Tensor, dim: int, line: ResizedDim) -> list[Tensor | None]:
    return [resize(g, dim=dim, line=line)]


@composite(grad=_back_grad)
def _resize_back(x: Tensor, *, dim: Any, line: Any) -> Tensor:
    """The adjoint of resize: each input gathers from the outputs that use it.
    [..., o, ...] -> [..., n, ...]"""
    kind, arange = KINDS[line.kind], type(x).arange
    # Each input looks at all outputs that may use it, and keeps the weight of the taps that hit it.
    most = _most_outputs(line, kind)
    i = _first_output(line, kind, x) + arange(most, dtype=dt.int32, device=x.device).unsqueeze(1)  # [most, n]
    floor, frac = _position(i, line, _precise(x))
    total, weight = _total(frac, kind), 0
    j = arange(line.n, dtype=dt.int32, device=x.device)
    for tap in range(kind.taps):
        hit = (floor + (tap - kind.before)).clamp(0, line.n - 1) == j
        # A clamped tap counts for the outermost input; taps of one output may hit it twice.
        weight = hit.where(_weight(frac, tap, kind, total), 0.0) + weight
    # candidates beyond the last output have no weight
    weight, i = (i < line.o).where(weight, 0.0), i.clamp(max=line.o - 1)
    # A longer sum is a reduction over a dim of candidates.
    if most <= FEW:
        return _weighted_sum(x, dim, i, weight).to(x.dtype)
    outputs = _gather_rows(x, dim, i.mT)
    return (outputs * _broadcast_along(weight.mT, dim + 1, x.ndim + 1)).sum(dim + 1).to(x.dtype)


def _smooth(x: Tensor, dim: int, line: ResizedDim) -> Tensor:
    """Interpolate one dim with antialiasing: a matrix product with weights as wide as an output, which sum to
    1. [..., n, ...] -> [..., o, ...]"""
    ratio = Fraction(line.a, line.d)
    integers = dt.int32 if _fits(line) else dt.int64
    i, j = (type(x).arange(k, dtype=integers, device=x.device) for k in (line.o, line.n))
    a, d = ratio.numerator, ratio.denominator
    # The distance of the centres of input j and output i, j + 1/2 - (i + 1/2) a / d; the weights are as
    # wide as the larger of an input and an output. In units of 1 / (2 d) of an input:
    far = ((2 * j + 1) * d - (2 * i.unsqueeze(1) + 1) * a).to(_precise(x))
    w = SMOOTH[line.kind]((far * float(1 / (2 * d * max(ratio, Fraction(1))))).abs())
    return (x.movedim(dim, -1) @ (w / w.sum(1, keepdim=True)).mT).movedim(-1, dim)


def _smooth_cubic(x: Tensor) -> Tensor:
    """Keys' cubic convolution kernel with a = -0.5."""
    near = (x * 1.5 - 2.5) * x * x + 1
    far = ((x * -0.5 + 2.5) * x - 4) * x + 2
    return (x < 1).where(near, (x < 2).where(far, 0.0))


def _smooth_linear(x: Tensor) -> Tensor:
    return (1 - x).clamp(min=0)


SMOOTH = {"linear": _smooth_linear, "cubic": _smooth_cubic}


def _line(n: int, o: int, ratio: Fraction, kind: str, align: bool) -> ResizedDim:
    """How to resize n to o at `ratio` inputs per output; with `align` the outermost centres map to each
    other."""
    if align:
        ratio = Fraction(n - 1, o - 1) if o > 1 else Fraction(0)
    a, d = ratio.numerator, ratio.denominator
    # Centres map by (i + 1/2) ratio - 1/2, aligned ones by i ratio, both with a common denominator.
    return ResizedDim(n, o, a, 0, d, kind) if align else ResizedDim(n, o, 2 * a, a - d, 2 * d, kind)


def _fits(line: ResizedDim) -> bool:
    """Whether positions times d fit 32-bit integers."""
    return (line.o + 1) * line.a + abs(line.b) < 2**31 and (line.n + 6) * line.d < 2**31


def _nearest(x: Tensor, dim: int, o: int, factor: float | None, exact: bool) -> Tensor:
    """Interpolate one dim by nearest inputs. [..., n, ...] -> [..., o, ...]"""
    n = x.shape[dim]
    line, places = nearest_line(n, o, factor, exact, x.ndim == 4, x.dtype is dt.float64)
    if line is None:
        return slices(x, x.new_tensor(places, dtype=dt.int32), dim=dim)
    return x if line.n == line.o and line.a == line.d and not line.b else resize(x, dim=dim, line=line)


@lru_cache(KEPT)
def nearest_line(
    n: int, o: int, factor: float | None, exact: bool, image: bool, wide: bool
) -> tuple[ResizedDim | None, tuple[int, ...]]:
    """The ResizedDim with the same inputs as in PyTorch; if PyTorch's rounding differs from it, None and
    the indices. The arguments are those of nearest_places."""
    places = nearest_places(n, o, factor, exact, image, wide)
    a, d = _ratio(n, o, factor).as_integer_ratio()
    # "nearest-exact" takes the input under the output's centre, (i + 1/2) ratio; "nearest" under its edge.
    line = ResizedDim(n, o, 2 * a, a, 2 * d, "nearest") if exact else ResizedDim(n, o, a, 0, d, "nearest")
    on_line = (min((i * line.a + line.b) // line.d, n - 1) for i in range(o))
    if _fits(line) and all(map(eq, on_line, places)):
        return line, ()
    return None, places


def _ratio(n: int, o: int, factor: float | None) -> Fraction:
    """Inputs per output as a fraction of small numbers: 10 / 17 for a factor of 1.7."""
    if factor is None:
        return Fraction(n, o)
    return 1 / _small_fraction(factor) if factor >= 1 else _small_fraction(1 / factor)


def _small_fraction(number: float) -> Fraction:
    return Fraction(number).limit_denominator(1 << 12)


def _target(
    size: Shape,
    new_size: int | Sequence[int] | None,
    scale_factor: float | Sequence[float] | None,
    recompute: bool | None,
) -> tuple[tuple[int, ...], list[float | None]]:
    """(output sizes, factors) from either a size or a factor. A factor is None if the ratio of the sizes
    counts."""
    if (new_size is None) == (scale_factor is None):
        raise ValueError("pass either size or scale_factor")
    nd = len(size)
    scales: list[float | None] = [None] * nd
    if scale_factor is None:
        if recompute:
            raise ValueError("recompute_scale_factor is for scale_factor, not for size")
        out = pair(new_size or 0, nd)
    else:
        each = [scale_factor] * nd if isinstance(scale_factor, int | float) else scale_factor
        factors = [float(s) for s in each]
        if len(factors) != nd or any(not 0 < s < inf for s in factors):
            raise ValueError(f"scale_factor {scale_factor} is not one number above 0, or {nd}")
        out = tuple(int(n * s) for n, s in zip(size, factors, strict=True))  # rounded down, as in PyTorch
        scales = scales if recompute else [*factors]
    if min(*size, *out) < 1:
        raise ValueError(f"sizes {list(size)} to {list(out)} must not be 0")
    return out, scales


def _kind(mode: str, nd: int, align_corners: bool | None) -> str:
    """The kind of weights; ValueError for modes that do not fit the rank or the arguments."""
    modes = {
        "nearest": "nearest",
        "nearest-exact": "nearest",
        "area": "area",
        "bicubic": "cubic",
        "lanczos3": "lanczos",
        SPATIAL[nd]: "linear",
    }
    if mode not in modes:
        raise ValueError(f"mode={mode!r} is not for {nd} spatial dims: use one of {', '.join(modes)}")
    if modes[mode] in ("nearest", "area") and align_corners is not None:
        raise ValueError(f"align_corners is not for mode {mode!r}: leave it out")
    return modes[mode]


@composed
def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize the dims after the second to `size`, or by scale_factor. [n, c, *size] -> [n, c, *out]

    mode: nearest, nearest-exact, linear (1-d), bilinear (2-d), trilinear (3-d), bicubic (a = -0.75), lanczos3
    (weights normalised, edges repeated) or area (adaptive_avg_pool). antialias, for bilinear and bicubic
    (a = -0.5), widens the weights of an output to the inputs that it covers.
    align_corners: align the centres of the outermost elements, not their edges
    recompute_scale_factor: compute the factor from the rounded sizes
    Raises ValueError if the input does not have 3 to 5 dims; if the mode does not support antialias; if not
        exactly one of size and scale_factor is set; if recompute_scale_factor is set with a size; if
        scale_factor is not one number above 0 or one for each dim; if a size is 0; if the mode is not one for
        these dims; if align_corners is set for mode nearest, nearest-exact or area.
    """
    nd = input.ndim - 2
    if nd not in SPATIAL:
        raise ValueError("input needs 3 to 5 dims")
    if antialias and (nd != 2 or mode not in ("bilinear", "bicubic")):
        raise ValueError(
            f"antialias is for modes bilinear and bicubic of 4 dims, not for {mode!r} of {nd + 2}"
        )
    kind = _kind(mode, nd, align_corners)
    out, factors = _target(input.shape[2:], size, scale_factor, recompute_scale_factor)
    if kind == "area":
        return adaptive_mean(input, out)
    size = input.shape[2:]
    # shrink first, which leaves less work for the other dims
    order = sorted(range(nd), key=lambda d: out[d] / size[d])
    if kind == "nearest":
        for d in order:
            input = _nearest(input, d + 2, out[d], factors[d], mode == "nearest-exact")
        return input
    x, dtype = in_float32(input)
    # Bytes are interpolated in float32 and become bytes again.
    dtype = dt.uint8 if input.dtype is dt.uint8 else dtype
    # whether dims of the same size are copied, whatever the factor, as in PyTorch
    copies = antialias or kind == "linear"
    for d in order:
        line = _line(size[d], out[d], _ratio(size[d], out[d], factors[d]), kind, bool(align_corners))
        if line.n == line.o and (copies or (line.a == line.d and not line.b)):
            continue
        x = _smooth(x, d + 2, line) if antialias else resize(x, dim=d + 2, line=line)
    # interpolated bytes are rounded and clamped: bicubic overshoots
    return (x.round().clamp(0, 255) if dtype is dt.uint8 and x.dtype.is_float else x).to(dtype)


@composed
def upsample(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """interpolate under its older name. [n, c, *size] -> [n, c, *out]

    scale_factor: outputs per input
    mode: "nearest", "linear", "bilinear", "bicubic" or "trilinear"
    align_corners: the outermost places are centres of elements, not their edges
    Raises ValueError if the input does not have 3 to 5 dims, or size and scale_factor do not fit.
    """
    return interpolate(input, size, scale_factor, mode, align_corners)
