"""The pass over the pixels in NumPy: the CPU device runs it, and tests compare the kernels with it."""

from collections.abc import Callable
from typing import Any

from .stages import Pass


def augment(xp: Any, x: Any, table: Any, structure: Pass, sizes: Any) -> Any:
    """[n, c, h, w], [n, k] -> float32 [n, c, h, w]"""
    height, width = sizes[-1]
    px = xp.astype(xp.arange(width, dtype="int64"), "float32").reshape(1, 1, -1)
    py = xp.astype(xp.arange(height, dtype="int64"), "float32").reshape(1, -1, 1)
    row = [table[:, k].reshape(-1, 1, 1) for k in range(table.shape[1])]
    x = xp.astype(x, "float32")
    places, lost = _places(xp, px, py, row, structure, sizes)
    v = _read(xp, x, places, lost, structure)
    for tone in structure.tones:
        v = TONES[tone.kind](xp, v, _values(row, tone.numbers), tone.constants, (px, py))
    return xp.astype(xp.stack(v[: structure.out_channels], axis=1), "float32")


def _values(row: list[Any], numbers: tuple[str, ...]) -> list[Any]:
    return [row[int(v[1:])] if v[0] == "t" else float(v) for v in numbers]


def _places(
    xp: Any, x: Any, y: Any, row: list[Any], structure: Pass, sizes: Any
) -> tuple[tuple[Any, Any], Any]:
    """Return the source position of each pixel, and whether a stage reads outside its image."""
    # False in the full shape [n, h, w]: row[0] != row[0] adds the batch dim
    lost = xp.astype(x * 0 + y * 0, "bool") & (row[0] != row[0])
    x, y = x + y * 0 + row[0] * 0, x * 0 + y + row[0] * 0
    # A stage maps its result to its source, so positions pass from the last stage to the first.
    for k, stage in reversed(list(enumerate(structure.stages))):
        a, b, c, d, e, f = _values(row, stage.numbers)
        x, y = a * x + b * y + c, d * x + e * y + f
        h, w = sizes[k]
        # RandomResizedCrop: bilinear reads must not see pixels beside the crop
        if stage.rule == "box":
            high, wide = sizes[k + 1]
            left, top = c - 0.5 * a + 0.5, f - 0.5 * e + 0.5
            x = xp.minimum(xp.maximum(x, left), left + a * wide - 1)
            y = xp.minimum(xp.maximum(y, top), top + e * high - 1)
        elif stage.rule != "fill":
            x, y = RULES[stage.rule](xp, x, w), RULES[stage.rule](xp, y, h)
        # the first stage's outside is found by _read, pixel by pixel (bilinear weights at the edge)
        elif k:
            lost = lost | (x < -0.5) | (y < -0.5) | (x > w - 0.5) | (y > h - 0.5)
    return (x, y), lost


def _reflect(xp: Any, x: Any, n: int) -> Any:
    # reflect repeats no edge pixel, symmetric repeats it: periods 2 (n - 1) and 2 n
    period = max(2 * (n - 1), 1)
    m = x - xp.floor(x / period) * period
    return xp.minimum(xp.minimum(m, period - m), n - 1.0 + m * 0)


def _symmetric(xp: Any, x: Any, n: int) -> Any:
    m = x + 0.5 - xp.floor((x + 0.5) / (2 * n)) * 2 * n
    return xp.clip(xp.minimum(m, 2 * n - m) - 0.5, 0, n - 1)


RULES: dict[str, Callable[[Any, Any, int], Any]] = {
    "edge": lambda xp, x, n: xp.clip(x, 0, n - 1),
    "reflect": _reflect,
    "symmetric": _symmetric,
}


def _read(xp: Any, x: Any, places: Any, lost: Any, structure: Pass) -> list[Any]:
    """Sample the images at positions, `fill` outside: a list of channels [n, h, w]."""
    px, py = places
    if structure.bilinear:
        x0, y0 = xp.floor(px), xp.floor(py)
        fx, fy = px - x0, py - y0
        corners = (
            (x0, y0, (1 - fx) * (1 - fy)),
            (x0 + 1, y0, fx * (1 - fy)),
            (x0, y0 + 1, (1 - fx) * fy),
            (x0 + 1, y0 + 1, fx * fy),
        )
    else:
        corners = ((xp.round(px), xp.round(py), px * 0 + 1),)
    n, c, h, w = x.shape
    total: Any = 0.0
    channels: list[Any] = [0.0] * c
    first = xp.arange(n, dtype="int64").reshape(-1, 1, 1) * (c * h * w)
    flat = x.reshape(-1)
    for tx, ty, weight in corners:
        inside = (tx >= 0) & (ty >= 0) & (tx < w) & (ty < h) & ~lost
        weight = xp.where(inside, weight, weight * 0)
        place = xp.astype(xp.where(inside, ty * w + tx, tx * 0), "int64") + first
        total = total + weight
        for k in range(c):
            taken = xp.take(flat, (place + k * h * w).reshape(-1)).reshape(place.shape)
            channels[k] = channels[k] + weight * taken
    # weights outside of the image go to the fill value
    return [v + (1 - total) * fill for v, fill in zip(channels, structure.fill, strict=True)]


def _gray(v: list[Any]) -> Any:
    return 0.2989 * v[0] + 0.587 * v[1] + 0.114 * v[2] if len(v) == 3 else v[0]


def _mix(xp: Any, v: list[Any], share: Any, other: Any, bound: Any) -> list[Any]:
    return [xp.clip(c * share + other * (1 - share), 0, bound) for c in v]


def _contrast(xp: Any, v: list[Any], row: list[Any], numbers: tuple[float, ...], _: Any) -> list[Any]:
    gray = _gray(v)
    return _mix(xp, v, row[0], xp.mean(gray, axis=(1, 2), keepdims=True), numbers[0])


def _hue(xp: Any, v: list[Any], row: list[Any], numbers: tuple[float, ...], _: Any) -> list[Any]:
    """Rotate the hue by a fraction of a turn. It is a piecewise linear function of the channels."""
    r, g, b = (c / numbers[0] for c in v)
    high, low = xp.maximum(r, xp.maximum(g, b)), xp.minimum(r, xp.minimum(g, b))
    span = high - low
    # grey has no hue: avoid 0 / 0
    by = xp.where(span == 0, span + 1, span)
    ar, ag, ab = (high - r) / by, (high - g) / by, (high - b) / by
    # the hue of HSV, in sixths of a turn from red
    # adding row[0] turns the wheel; back to RGB by three ramps a third of a turn apart
    h = xp.where(high == r, ab - ag, xp.where(high == g, 2 + ar - ab, 4 + ag - ar))
    place = xp.where(span == 0, h * 0, h) / 6 + row[0]
    rotated: list[Any] = []
    for third in (1.0, 2 / 3, 1 / 3):
        angle = place + third
        ramp = xp.abs((angle - xp.floor(angle)) * 6 - 3) - 1
        rotated.append((high - span * (1 - xp.clip(ramp, 0, 1))) * numbers[0])
    return rotated


def _normalize(xp: Any, v: list[Any], row: list[Any], numbers: tuple[float, ...], _: Any) -> list[Any]:
    return [(c - numbers[k]) / numbers[len(v) + k] for k, c in enumerate(v)]


def _erase(xp: Any, v: list[Any], row: list[Any], numbers: tuple[float, ...], places: Any) -> list[Any]:
    top, left, bottom, right = row
    px, py = places
    inside = (px >= left) & (px < right) & (py >= top) & (py < bottom)
    return [xp.where(inside, c * 0 + value, c) for c, value in zip(v, numbers, strict=True)]


TONES: dict[str, Callable[[Any, list[Any], list[Any], tuple[float, ...], Any], list[Any]]] = {
    "brightness": lambda xp, v, row, numbers, _: [xp.clip(c * row[0], 0, numbers[0]) for c in v],
    "contrast": _contrast,
    "erase": _erase,
    "gray": lambda xp, v, row, numbers, _: [_gray(v)] * len(v),
    "hue": _hue,
    "normalize": _normalize,
    "saturation": lambda xp, v, row, numbers, _: _mix(xp, v, row[0], _gray(v), numbers[0]),
    "scale": lambda xp, v, row, numbers, _: [c * numbers[0] for c in v],
}
