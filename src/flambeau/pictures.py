"""Draws tensors without other packages: curves, and images.

A picture shows itself in a notebook and in the Playground; elsewhere `show()` prints it as text.
"""

import base64
import struct
import sys
import zlib
from collections.abc import Callable, Sequence
from html import escape
from math import ceil, isfinite, log10, sqrt
from pathlib import Path
from typing import Any, NamedTuple

from .core.files import write_whole
from .learner.page import colour, svg
from .learner.plot import Drawn
from .learner.plot import lines as text_lines
from .learner.plot import plot as plot_text
from .tensor import Tensor

__all__ = ["Curves", "Image", "image", "plot"]

GREYS = " .:-=+*#%@"  # from dark to light, for images as text
WIDE, HIGH = 64, 14  # characters of curves as text
MOST = 96  # columns of an image as text
TO_TERMINAL = 2  # characters are about twice as high as wide

Values = Tensor | Sequence[float]
# Shows a picture instead of printing it; the Playground's page sets it.
show_with: Callable[["Curves | Image"], None] | None = None


class Curves(NamedTuple):
    """Curves to draw. curves: for each name its (x, y) points; log: the vertical axis is logarithmic."""

    curves: dict[str, list[tuple[float, float]]]
    log: bool = False

    def show(self) -> None:
        """Show the curves: in the Playground's page or in a notebook, else as printed text."""
        show(self)

    def save(self, path: str | Path) -> None:
        """Write the curves as SVG. ValueError for another ending than .svg."""
        if Path(path).suffix != ".svg":
            raise ValueError(f"save({str(path)!r}): curves are written as SVG: use a name that ends in .svg")
        text = svg(self.drawn(self.log)).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
        write_whole(Path(path), lambda part: part.write_text(text, "utf-8"))

    def drawn(self, log: bool = False) -> list[Drawn]:
        """Return the curves with their colours; with log, the log10 of positive values."""
        drawn = [Drawn(name, points, i) for i, (name, points) in enumerate(self.curves.items())]
        if log:
            drawn = [c._replace(points=[(x, log10(y)) for x, y in c.points if y > 0]) for c in drawn]
        return drawn

    def __str__(self) -> str:
        head = "  ".join(self.curves) if len(self.curves) > 1 else ""
        rows = text_lines(plot_text(self.drawn(), WIDE, HIGH, log=self.log, unicode=_has_braille()))
        return "\n".join([head, *rows] if head else rows)

    def _repr_html_(self) -> str:
        key = "".join(
            f'<span style="color:{colour(i)}">■</span> {escape(name)} ' for i, name in enumerate(self.curves)
        )
        return f"<div>{key if len(self.curves) > 1 else ''}<br>{svg(self.drawn(self.log))}</div>"


class Image(NamedTuple):
    """An image. width, height: in pixels; rgb: red, green and blue of each pixel, a byte each, row by row."""

    width: int
    height: int
    rgb: bytes

    def show(self) -> None:
        """Show the image: in the Playground's page or in a notebook, else as printed text."""
        show(self)

    def save(self, path: str | Path) -> None:
        """Write the image as PNG."""
        write_whole(Path(path), lambda part: part.write_bytes(self.png()))

    def png(self) -> bytes:
        """Return the image as a PNG file."""
        rows = [self.rgb[start : start + 3 * self.width] for start in range(0, len(self.rgb), 3 * self.width)]
        header = struct.pack(">2I5B", self.width, self.height, 8, 2, 0, 0, 0)
        data = zlib.compress(b"".join(b"\0" + row for row in rows))
        chunks = _chunk(b"IHDR", header), _chunk(b"IDAT", data), _chunk(b"IEND", b"")
        return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)

    def _luma(self, offset: int) -> int:
        """Return the brightness of the pixel at a place in the bytes, 0 to 255 (Rec. 601)."""
        red, green, blue = self.rgb[offset : offset + 3]
        return (299 * red + 587 * green + 114 * blue) // 1000

    def __str__(self) -> str:
        step = max(1, ceil(self.width / MOST))
        lines: list[str] = []
        for y in range(0, self.height, step * TO_TERMINAL):
            pixels = [3 * (y * self.width + x) for x in range(0, self.width, step)]
            lines.append("".join(GREYS[self._luma(offset) * len(GREYS) >> 8] for offset in pixels).rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.png()).decode()
        wide = self.width * max(1, 256 // max(self.width, self.height))
        return f'<img width="{wide}" style="image-rendering:pixelated" src="data:image/png;base64,{data}">'


def plot(*curves: Values, x: Values | None = None, log: bool = False, **named: Values) -> Curves:
    """Draw lines through values. Call `show()` on the result, or make it the last line of a cell.

    curves: tensors or sequences of numbers [n], one line each; named: the same, with names for the legend. x:
    the horizontal places [n] of the values, by default 0 to n - 1. log: a logarithmic vertical axis.
    ValueError for a tensor of other dimensions, or if x has another length.
    """
    numbered = {f"{i}": values for i, values in enumerate(curves)}
    places = None if x is None else _numbers(x, "x")
    lines: dict[str, list[tuple[float, float]]] = {}
    for name, values in (numbered | named).items():
        numbers = _numbers(values, name)
        if places is not None and len(places) != len(numbers):
            rule = f"x has {len(places)} places and {name!r} {len(numbers)} values"
            raise ValueError(f"plot(...): {rule}: pass as many of each")
        lines[name] = list(zip(places or map(float, range(len(numbers))), numbers, strict=True))
    return Curves(lines, log)


def image(input: Tensor, *, low: float | None = None, high: float | None = None) -> Image:
    """Draw a tensor as an image. Call `show()` on the result, or make it the last line of a cell.

    input: [height, width], [1 or 3, height, width], or several images [n, 1 or 3, height, width], which are
    placed side by side. low, high: the values that are black and white, by default the least and the greatest
    finite one (0 and 255 for bytes). ValueError for other shapes.
    """
    shape = tuple(input.shape)
    channels = 1 if len(shape) == 2 else shape[-3] if 3 <= len(shape) <= 4 else 0
    if channels not in (1, 3) or 0 in shape:
        rule = "must be [height, width], or have 1 or 3 channels before these"
        raise ValueError(f"image(tensor {list(shape)}): {rule}: choose or permute its dimensions")
    n, height, width = (shape[0] if len(shape) == 4 else 1), shape[-2], shape[-1]
    values = [float(v) for v in input.detach().flatten().tolist()]
    levels = _levels(values, low, high, input.dtype.name == "uint8")
    columns = ceil(sqrt(n * height / width)) if n > 1 else 1
    columns = min(n, max(columns, 1))
    rows = ceil(n / columns)
    area = height * width
    out = bytearray(3 * rows * columns * area)
    for i in range(n):
        corner = (i // columns * height) * columns * width + i % columns * width
        for y in range(height):
            offset = 3 * (corner + y * columns * width)
            for channel in range(3):
                begin = (i * channels + min(channel, channels - 1)) * area + y * width
                out[offset + channel : offset + 3 * width : 3] = levels[begin : begin + width]
    return Image(columns * width, rows * height, bytes(out))


def _levels(values: list[float], low: float | None, high: float | None, is_bytes: bool) -> bytes:
    """Turn values into bytes: low and less are 0, high and more 255; NaN is 0."""
    finite = [v for v in values if isfinite(v)] or [0.0]
    first = low if low is not None else 0.0 if is_bytes else min(finite)
    last = high if high is not None else 255.0 if is_bytes else max(finite)
    factor = 255 / (last - first) if last > first else 0.0
    return bytes([0 if v != v else max(0, min(255, int((v - first) * factor + 0.5))) if factor else 128
                  for v in (min(max(v, first), last) for v in values)])  # fmt: skip


def _numbers(values: Values, name: str) -> list[float]:
    if isinstance(values, Tensor):
        if values.ndim != 1:
            rule = f"{name!r} has shape {list(values.shape)}, and a line has one dimension"
            raise ValueError(f"plot(...): {rule}: choose a row of it")
        return [float(v) for v in values.detach().tolist()]
    return [float(v) for v in values]


def _chunk(kind: bytes, data: bytes) -> bytes:
    """Return a chunk of a PNG file: its length, kind, data and checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _has_braille() -> bool:
    return (getattr(sys.stdout, "encoding", "") or "").lower().replace("-", "").startswith("utf")


def show(picture: Any) -> None:
    """Show a picture: in the Playground's page or in a notebook, else as printed text."""
    if show_with is not None and isinstance(picture, Curves | Image):
        show_with(picture)
        return
    display: Any = getattr(sys.modules.get("IPython.display"), "display", None)
    if display is not None and "ipykernel" in sys.modules:
        display(picture)
    else:
        print(picture)
