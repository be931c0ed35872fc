"""Resize and Upsample: each output is a weighted sum of a few inputs along each dim. The host computes
indices and weights.

Sizes and positions are rounded to float32 at each step, as in ONNX Runtime, since rounding decides ties
between two inputs.
"""

from array import array
from collections.abc import Callable, Iterable
from math import ceil, floor
from typing import Any, NamedTuple

from ...functions import where
from ...tensor import Tensor, tensor
from .table import operator
from .window import LARGEST, check_count


class ResizeAttributes(NamedTuple):
    """The attributes of Resize, under ONNX's names."""

    antialias: int = 0
    axes: tuple[int, ...] | None = None
    coordinate_transformation_mode: str = "half_pixel"
    cubic_coeff_a: float = -0.75
    exclude_outside: int = 0
    extrapolation_value: float = 0.0
    keep_aspect_ratio_policy: str = "stretch"
    mode: str = "nearest"
    nearest_mode: str = "round_prefer_floor"


class ResizedAxis(NamedTuple):
    """How one dim is resized: from n to o elements by a scale; roi is the part to read, as fractions."""

    n: int
    o: int
    scale: float
    roi: tuple[float, float] = (0.0, 1.0)


class TakenInputs(NamedTuple):
    """The inputs of a dim's outputs: indices and weights [taps][o], and the mask of outputs beyond
    the input."""

    indices: list[list[int]]
    weight: list[list[float]]
    beyond: list[bool]


def singles(values: Iterable[float]) -> list[float]:
    """Numbers rounded to float32."""
    return list(array("f", values))


def single(value: float) -> float:
    """Return a number rounded to float32."""
    return array("f", (value,))[0]


def _crop_coordinates(line: ResizedAxis) -> list[float]:
    # roi is in fractions of n - 1; a single output takes the middle of the region.
    first, last = (single(end) for end in line.roi)
    if line.o < 2:
        return singles([0.5 * single(first + last) * (line.n - 1)] * line.o)
    steps = singles(i * single(last - first) for i in range(line.o))
    start = single(first * (line.n - 1))
    return singles(
        start + offset
        for offset in singles(v / (line.o - 1) for v in singles(v * (line.n - 1) for v in steps))
    )


def _corners(line: ResizedAxis) -> list[float]:
    if line.o < 2:
        return [0.0] * line.o
    return singles(v / (line.o - 1) for v in singles(i * (line.n - 1) for i in range(line.o)))


def _middles(line: ResizedAxis) -> list[float]:
    # o pixels of width 1 / scale, whose centres are at (i + 0.5) / scale
    return singles((i + 0.5) / line.scale for i in range(line.o))


def _centres(line: ResizedAxis) -> list[float]:
    return singles(middle - 0.5 for middle in _middles(line))


def _symmetric(line: ResizedAxis) -> list[float]:
    # The centres of a result of fractional size scale * n, moved so that the cropped one stays symmetric.
    length = single(line.scale * line.n)
    offset = single(line.n / 2 * single(1 - single(line.o / length)))
    return singles(offset + (i + 0.5) / line.scale - 0.5 for i in range(line.o))


# coordinate_transformation_mode -> the position of each output among the inputs
COORDINATES: dict[str, Callable[[ResizedAxis], list[float]]] = {
    "align_corners": _corners,
    "asymmetric": lambda line: singles(i / line.scale for i in range(line.o)),
    "half_pixel": _centres,
    "half_pixel_symmetric": _symmetric,
    "pytorch_half_pixel": lambda line: _centres(line) if line.o > 1 else [0.0] * line.o,
    "tf_crop_and_resize": _crop_coordinates,
    "tf_half_pixel_for_nn": _middles,
}
TIE = 1e-6  # ONNX Runtime's tolerance around the middle of two inputs
NEAREST: dict[str, Callable[[float], int]] = {
    "round_prefer_floor": lambda x: ceil(x - 0.5 - TIE),
    "round_prefer_ceil": lambda x: floor(x + 0.5 + TIE),
    "floor": floor,
    "ceil": ceil,
}
OLD = "of opset 10"  # the nearest mode of Upsample, and of Resize before it had one


def _nearest(coordinate: float, line: ResizedAxis, a: ResizeAttributes) -> int:
    # Opset 9 and 10 left the rule to the implementation; this is onnxruntime's.
    if a.nearest_mode == OLD:
        return ceil(coordinate) if line.scale < 1 else floor(coordinate)
    return NEAREST[a.nearest_mode](coordinate)


def _linear(x: float, a: float) -> float:
    return max(1 - x, 0.0)


def _cubic(x: float, a: float) -> float:
    """Keys' cubic convolution."""
    # Keys (1981): two cubics for |x| <= 1 and 1 < |x| < 2, with the free parameter a = -0.75 or -0.5
    if x <= 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return ((x - 5) * x + 8) * x * a - 4 * a if x < 2 else 0.0


# mode -> the radius of the weights, and the weight by distance
KERNELS: dict[str, tuple[int, Callable[[float, float], float]]] = {
    "linear": (1, _linear),
    "cubic": (2, _cubic),
}


def _weigh(coordinate: float, line: ResizedAxis, a: ResizeAttributes) -> tuple[list[int], list[float]]:
    """Return the inputs of an output, and their weights, which sum to 1."""
    reach, weigh = KERNELS[a.mode]
    # antialiasing widens the kernel to the inputs that an output covers
    narrow = min(line.scale, 1.0) if a.antialias else 1.0
    # 2 * taps inputs around the position; distances shrink with the scale, so the kernel gets wider.
    taps, first = ceil(reach / narrow), floor(coordinate)
    index = list(range(first + 1 - taps, first + taps + 1))
    weight = [weigh(abs(coordinate - k) * narrow, a.cubic_coeff_a) for k in index]
    if a.exclude_outside:
        # exclude_outside: inputs beyond the edge have no weight; otherwise the edge is repeated.
        weight = [w if 0 <= k < line.n else 0.0 for k, w in zip(index, weight, strict=True)]
    total = sum(weight)
    return index, [w / total for w in weight]


def _source_weights(line: ResizedAxis, a: ResizeAttributes) -> TakenInputs:
    """Return the inputs and weights of each output of a dim."""
    places = COORDINATES[a.coordinate_transformation_mode](line)
    cropped = a.coordinate_transformation_mode == "tf_crop_and_resize"
    beyond = [cropped and not 0 <= coordinate <= line.n - 1 for coordinate in places]
    if a.mode == "nearest":
        taken = [([_nearest(coordinate, line, a)], [1.0]) for coordinate in places]
    else:
        taken = [_weigh(coordinate, line, a) for coordinate in places]
    # [o][taps] -> [taps][o]: one gather for each tap
    index = [[min(max(k, 0), line.n - 1) for k in tap] for tap in zip(*(t[0] for t in taken), strict=True)]
    return TakenInputs(index, [list(w) for w in zip(*(t[1] for t in taken), strict=True)], beyond)


MOST = 1 << 22  # elements that a dim is resized to
FEW = 8  # up to this many inputs for each output are gathered; more are a matrix product


def _matrix(line: ResizedAxis, indices: list[list[int]], weight: list[list[float]]) -> list[list[float]]:
    """Return the weights of all inputs in all outputs. -> [o][n]"""
    rows = [[0.0] * line.n for _ in range(line.o)]
    for places, weights in zip(indices, weight, strict=True):
        for row, k, w in zip(rows, places, weights, strict=True):
            row[k] += w
    return rows


def _resize_dim(x: Tensor, dim: int, line: ResizedAxis, a: ResizeAttributes) -> tuple[Tensor, list[bool]]:
    """Resize one dim; also returns the mask of outputs beyond the input."""
    if check_count(line.o, "the elements of a dim", MOST) == 0:
        return x.narrow(dim, 0, 0), []
    index, weight, beyond = _source_weights(line, a)
    if a.mode == "nearest":
        return x.index_select(dim, tensor(index[0], device=x.device)), beyond
    if len(index) > FEW:
        matrix = tensor(_matrix(line, index, weight), dtype=x.dtype, device=x.device)
        return (x.movedim(dim, -1) @ matrix.mT).movedim(-1, dim), beyond
    column: tuple[int, ...] = (-1, *(1,) * (x.ndim - 1 - dim))
    y: Any = 0
    for places, weights in zip(index, weight, strict=True):
        factor = tensor(weights, dtype=x.dtype, device=x.device).reshape(column)
        # y = sum over taps of x[places] * weights, one fused kernel
        y = x.index_select(dim, tensor(places, device=x.device)) * factor + y
    return y, beyond


def _check(a: ResizeAttributes) -> None:
    tables = {
        "mode": ("nearest", *KERNELS),
        "nearest_mode": (*NEAREST, OLD),
        "coordinate_transformation_mode": tuple(COORDINATES),
        "keep_aspect_ratio_policy": ("stretch", "not_larger", "not_smaller"),
    }
    for name, choices in tables.items():
        if getattr(a, name) not in choices:
            raise ValueError(f"{name} {getattr(a, name)!r} is unknown: use {', '.join(choices)}")
    if a.antialias and a.mode == "nearest":
        raise ValueError("antialias is for the modes linear and cubic, not for nearest")


def _by_sizes(sizes: list[int], have: list[int], policy: str) -> list[tuple[int, float]]:
    """(size, scale) of each dim, from sizes."""
    ratios = singles(o / n for o, n in zip(sizes, have, strict=True))
    if policy == "stretch":
        return list(zip(sizes, ratios, strict=True))
    # one scale for all axes, so that the sizes do not exceed, or do not fall below, the requested ones
    ratio = min(ratios) if policy == "not_larger" else max(ratios)
    return [(floor(single(n * ratio) + 0.5), ratio) for n in have]


def _lines(x: Tensor, roi: Any, scales: Any, sizes: Any, a: ResizeAttributes) -> dict[int, ResizedAxis]:
    """Return the dims to resize, with their ResizedAxis."""
    axes = [d % x.ndim for d in (range(x.ndim) if a.axes is None else a.axes)]
    have, wanted = [x.shape[d] for d in axes], scales or sizes
    if not wanted or (scales and sizes) or len(wanted) != len(axes):
        raise ValueError(f"takes either scales or sizes, {len(axes)} of them: got {scales} and {sizes}")
    if not all(0 < v < LARGEST for v in wanted):
        raise ValueError(f"takes scales and sizes above 0, and finite: got {wanted}")
    targets: list[tuple[int, float]] = (
        [(floor(single(n * s)), s) for n, s in zip(have, singles(scales), strict=True)]
        if scales
        else _by_sizes(sizes, have, a.keep_aspect_ratio_policy)
    )
    parts = [(0.0, 1.0)] * len(axes)
    if a.coordinate_transformation_mode == "tf_crop_and_resize":
        if not roi or len(roi) != 2 * len(axes):
            raise ValueError(f"tf_crop_and_resize takes a roi of {2 * len(axes)} numbers: got {roi}")
        parts = list(zip(roi[: len(axes)], roi[len(axes) :], strict=True))
    each = zip(axes, have, targets, parts, strict=True)
    return {d: ResizedAxis(n, o, scale, part) for d, n, (o, scale), part in each}


def resize_dims(x: Tensor, lines: dict[int, ResizedAxis], a: ResizeAttributes) -> Tensor:
    """Resize every dim of `lines`; bytes are rounded and clamped."""
    _check(a)
    # Dims that are unchanged are skipped; but with another scale than o / n their positions move.
    if a.coordinate_transformation_mode != "tf_crop_and_resize":
        keeps_size = all(v.n == v.o for v in lines.values())
        lines = {
            d: v for d, v in lines.items() if v.n != v.o or not (keeps_size or a.antialias or v.scale == 1)
        }
    y = x if a.mode == "nearest" else x.to(x.dtype.as_float)
    beyond: Any = None
    # Dims that shrink most first, so that later dims process fewer elements.
    for dim, line in sorted(lines.items(), key=lambda pair: pair[1].o / max(pair[1].n, 1)):
        y, outside = _resize_dim(y, dim, line, a)
        if any(outside):
            outside = tensor(outside, device=x.device).reshape(-1, *(1,) * (x.ndim - 1 - dim))
            beyond = outside if beyond is None else beyond | outside
    if beyond is not None:
        y = where(beyond, a.extrapolation_value, y)
    if y.dtype.is_float and x.dtype.is_int:
        # onnxruntime rounds uint8 and truncates other integers
        y = y.round().clamp(0, 255) if x.dtype.name == "uint8" else y.trunc()
    return y.to(x.dtype)


@operator("Resize", since=11, numbers=("roi", "scales", "sizes"))
def resize(
    x: Tensor,
    roi: list[float] | None = None,
    scales: list[float] | None = None,
    sizes: list[int] | None = None,
    **attributes: Any,
) -> Tensor:
    """Interpolate dims by scales or to sizes. [*n] -> [*o]"""
    a = ResizeAttributes(**attributes)
    return resize_dims(x, _lines(x, roi, scales, sizes, a), a)


@operator("Resize", "Upsample", since=9, numbers="scales")
def upsample(x: Tensor, scales: list[float], *, mode: str = "nearest") -> Tensor:
    """Upsample of opset 9, and Resize of opset 10: an output's position is its index divided by the scale; it
    takes the input before it, or the one after it if the dim shrinks."""
    a = ResizeAttributes(
        mode="linear" if mode == "bilinear" else mode,
        nearest_mode=OLD,
        coordinate_transformation_mode="asymmetric",
    )
    return resize_dims(x, _lines(x, None, scales, None, a), a)


@operator("Upsample", since=7)
def upsample_7(x: Tensor, *, scales: tuple[float, ...], mode: str = "nearest") -> Tensor:
    """Upsample of opset 7, whose scales are an attribute."""
    return upsample(x, list(scales), mode=mode)


@operator("Upsample")
def upsample_1(x: Tensor, *, height_scale: float, width_scale: float, mode: str = "nearest") -> Tensor:
    """Upsample of opset 1, of images. [n, c, h, w] -> [n, c, h', w']"""
    return upsample(x, [1.0, 1.0, height_scale, width_scale], mode=mode)
