"""Draws curves as lines of text: braille dots, or ASCII if the terminal has no Unicode."""

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite, log10
from typing import NamedTuple

from .curve import Points

NONE = -1  # the colour of a cell without a curve
MARKS = "*o+x#@%="  # marks of curves in ASCII
ROWS_A_LABEL, COLUMNS_A_LABEL = 4, 20  # the smallest distance of two labels of an axis
# Bits of a braille character (U+2800 + bits), by row and column of its dots.
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


class Drawn(NamedTuple):
    """A curve to draw, and the index of its colour."""

    name: str
    points: Points
    colour: int


class Glyph(NamedTuple):
    """A character and its colour."""

    text: str
    colour: int = NONE


class Canvas:
    """A grid of width x height cells. A braille cell has 2 x 4 dots, an ASCII cell one."""

    def __init__(self, width: int, height: int, unicode: bool):
        self.width, self.height, self.unicode = width, height, unicode
        self.across, self.down = (2, 4) if unicode else (1, 1)
        self.dots = [[0] * width for _ in range(height)]
        self.colours = [[NONE] * width for _ in range(height)]

    def dot(self, x: int, y: int, colour: int) -> None:
        column, row = x // self.across, y // self.down
        if self.colours[row][column] != colour:  # a cell has one colour, that of the top curve
            self.dots[row][column] = 0
        self.dots[row][column] |= DOTS[y % 4][x % 2] if self.unicode else 1
        self.colours[row][column] = colour

    def line(self, a: tuple[int, int], b: tuple[int, int], colour: int) -> None:
        # One dot per unit of the longer side (a DDA line).
        steps = max(abs(b[0] - a[0]), abs(b[1] - a[1]), 1)
        for i in range(steps + 1):
            x, y = a[0] + (b[0] - a[0]) * i / steps, a[1] + (b[1] - a[1]) * i / steps
            self.dot(round(x), round(y), colour)

    def rows(self) -> list[list[Glyph]]:
        def text(dots: int, colour: int) -> str:
            if not dots:
                return " "
            return chr(0x2800 + dots) if self.unicode else MARKS[colour % len(MARKS)]

        return [
            [Glyph(text(d, c), c) for d, c in zip(dots, colours)]
            for dots, colours in zip(self.dots, self.colours)
        ]


def bounds(curves: Sequence[Drawn]) -> tuple[float, float, float, float] | None:
    """Return (x0, x1, y0, y1), the ranges of steps and of finite values; None without finite values."""
    points = [p for c in curves for p in c.points if isfinite(p[1])]
    if not points:
        return None
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return min(xs), max(xs), min(ys), max(ys)


def scale_values(curves: Sequence[Drawn], log: bool) -> list[Drawn]:
    """With `log`, take log10 of the values and drop those that are not positive and finite."""
    if not log:
        return list(curves)
    return [c._replace(points=[(x, log10(y)) for x, y in c.points if 0 < y < float("inf")]) for c in curves]


def draw(curves: Sequence[Drawn], canvas: Canvas, box: tuple[float, float, float, float]) -> None:
    """Draw lines between finite points; a single point is a dot."""
    x0, x1, y0, y1 = box
    right, bottom = canvas.width * canvas.across - 1, canvas.height * canvas.down - 1

    def place(p: tuple[float, float]) -> tuple[int, int]:
        x = (p[0] - x0) / (x1 - x0) if x1 > x0 else 0.5
        y = (p[1] - y0) / (y1 - y0) if y1 > y0 else 0.5
        return round(x * right), round((1 - y) * bottom)

    for curve in curves:  # the last curve is on top
        places = [place(p) if isfinite(p[1]) else None for p in curve.points]
        for a in places:
            if a:
                canvas.dot(*a, curve.colour)
        for a, b in pairwise(places):
            if a and b and a != b:
                canvas.line(a, b, curve.colour)


def number(value: float) -> str:
    """Format a value with four digits."""
    return f"{value:.4g}"


def plot(
    curves: Sequence[Drawn], width: int, height: int, *, unicode: bool = True, log: bool = False
) -> list[list[Glyph]]:
    """Plot curves with axis labels as `height` rows of `width` cells. log: the value axis is logarithmic."""
    curves = scale_values(curves, log)
    box = bounds(curves)
    if box is None or height < 3 or width < 20:
        text = "nothing to draw yet" if box is None else "no room to draw"
        return [[Glyph(text[:width].center(width))] if row == height // 2 else [] for row in range(height)]
    labels = value_labels(box[2], box[3], height - 1, log)
    margin = max(map(len, labels.values()))
    canvas = Canvas(width - margin - 2, height - 1, unicode)
    draw(curves, canvas, box)
    bar = "│" if unicode else "|"
    # Each row: a label, the axis, and the cells; below them the first and the last step.
    rows = [[Glyph(f"{labels.get(i, ''):>{margin}} {bar}"), *row] for i, row in enumerate(canvas.rows())]
    return [*rows, [Glyph(" " * (margin + 2) + step_labels(box[0], box[1], canvas.width))]]


def value_labels(low: float, high: float, rows: int, log: bool) -> dict[int, str]:
    """Return {row: label} of the value axis: the ends, and some values between them."""
    if low == high:
        return {(rows - 1) // 2: number(10**low if log else low)}
    count = max(rows // ROWS_A_LABEL, 1)
    labels: dict[int, str] = {}
    for row in (round(i * (rows - 1) / count) for i in range(count + 1)):
        value = high + (low - high) * row / (rows - 1)
        labels[row] = number(10**value if log else value)
    return labels


def step_labels(first: float, last: float, width: int) -> str:
    """Return the line below a plot: the first step, the last, and some between them."""
    end_labels = f"{first:g}", f"{last:g}"
    count = max(width // max(COLUMNS_A_LABEL, 2 * max(map(len, end_labels))), 1)
    width = max(width, sum(map(len, end_labels)) + 1)
    between = [f"{round(first + (last - first) * i / count):g}" for i in range(1, count)]
    line = [" "] * width
    for i, text in enumerate([end_labels[0], *between, end_labels[1]]):
        column = max(min(round(i * (width - 1) / count) - len(text) // 2, width - len(text)), 0)
        line[column : column + len(text)] = text
    return "".join(line)


def lines(rows: list[list[Glyph]]) -> list[str]:
    """Convert rows of cells to lines of plain text, without trailing blanks."""
    return ["".join(cell.text for cell in row).rstrip() for row in rows]
