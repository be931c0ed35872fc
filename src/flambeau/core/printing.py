"""Print values as PyTorch does: one format for all elements of a tensor."""

import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from math import ceil, isfinite, prod
from typing import Any, NamedTuple

from .host import Data, numbers
from .shape import Shape
from .tree import is_sequence

PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": sys.maxsize, "edgeitems": 3, "linewidth": 80},
}
PRINTING: dict[str, Any] = PROFILES["default"] | {"sci_mode": None}
START = "tensor("
CELLS = 5  # rows and columns at each end of a table


class Format(NamedTuple):
    """A function from an element to its text, and the usual width of that text."""

    write: Callable[[Any], str]
    width: int


def count_text(n: int, word: str, words: str = "") -> str:
    """A count with its noun, as in "1 kernel". words: the plural, if it is not formed with an s."""
    return f"{n:,} {word if n == 1 else words or f'{word}s'}"


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print: digits after the point (precision), the number of elements above which tensors
    are abbreviated (threshold) to some at each end (edgeitems), and characters per line (linewidth). A
    profile (default, short, full) is applied first. sci_mode turns exponents on or off; None decides by the
    values.

    ValueError for an unknown profile.
    """
    if profile is not None and profile not in PROFILES:
        raise ValueError(f"set_printoptions(profile={profile!r}): unknown: use one of {', '.join(PROFILES)}")
    settings = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems}
    settings["linewidth"] = linewidth
    PRINTING.update(PROFILES.get(profile or "", {}))
    PRINTING.update({k: v for k, v in settings.items() if v is not None}, sci_mode=sci_mode)


def get_printoptions() -> dict[str, Any]:
    """The present settings of set_printoptions, by name."""
    return dict(PRINTING)


@contextmanager
def printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> Generator[None]:
    """set_printoptions for a `with` block.

    precision, threshold, edgeitems, linewidth, profile, sci_mode: as in set_printoptions
    ValueError for an unknown profile.
    """
    before = get_printoptions()
    try:
        set_printoptions(precision, threshold, edgeitems, linewidth, profile, sci_mode)
        yield
    finally:
        PRINTING.update(before)


def format_tensor(data: Data, facts: list[str], start: str = START) -> str:
    """`tensor([...], facts)`: the values and then the facts, broken into lines that fit."""
    if not prod(data.shape):
        facts = facts if len(data.shape) == 1 else [f"size={tuple(data.shape)}", *facts]
        return _with_facts(f"{start}[]", facts, len(start))
    edge = PRINTING["edgeitems"] if prod(data.shape) > PRINTING["threshold"] else 0
    flat = numbers(data.raw, data.dtype) if data.dtype.is_complex else data.flat
    shown = _truncate(lambda i: flat[i], data.shape, 0, edge)
    form = _form(list(_leaves(shown)), data)
    return _with_facts(start + _add_brackets(shown, len(data.shape), len(start), form), facts, len(start))


def in_html(data: Data, facts: list[str]) -> str:
    """Facts about a tensor and its values: a table for one dim or two, else text."""
    caption = escape(", ".join(facts))
    if not 0 < len(data.shape) < 3 or 0 in data.shape:
        return f"<pre>{caption}\n{escape(format_tensor(data, []))}</pre>"
    flat = numbers(data.raw, data.dtype) if data.dtype.is_complex else data.flat
    rows = _truncate(lambda i: flat[i], (1, *data.shape)[-2:], 0, CELLS)
    form = _form(list(_leaves(rows)), data)
    body = "".join(f"<tr>{_cells(row, rows, form)}</tr>" for row in rows)
    return f"<table><caption>{caption}</caption>{body}</table>"


def table_in_html(caption: str, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """An HTML table for a notebook."""
    head_row = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(v))}</td>" for v in row) + "</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption><tr>{head_row}</tr>{body}</table>"


def _cells(row: Any, rows: list[Any], form: Format) -> str:
    """The cells of a row. A row of omitted ones (`...`) is as long as the others."""
    row = [...] * len(rows[0]) if row is ... else row
    style = '<td style="text-align: right">'
    return "".join(f"{style}{'…' if v is ... else form.write(v).strip()}</td>" for v in row)


def _form(values: list[Any], data: Data) -> Format:
    if data.dtype.kind == "b":
        return _pad_format(values, lambda v: str(bool(v)))
    if any(isinstance(v, complex) for v in values):
        return _pairs([v.real for v in values], [v.imag for v in values])
    return _floats(values) if data.dtype.is_float else _pad_format(values, str)


def _truncate(item_at: Callable[[int], Any], shape: Shape, start: int, edge: int) -> Any:
    """Nested lists of the elements that are shown, with `...` for omitted ones (edge = 0 omits none)."""
    if not shape:
        return item_at(start)
    n, step = shape[0], prod(shape[1:])
    places: list[Any] = list(range(n))
    if edge and n > 2 * edge:
        places = [*range(edge), ..., *range(n - edge, n)]
    return [p if p is ... else _truncate(item_at, shape[1:], start + p * step, edge) for p in places]


def _leaves(tree: Any) -> Iterator[Any]:
    if is_sequence(tree):
        for part in tree:
            yield from _leaves(part)
    elif tree is not ...:
        yield tree


def _pad_format(values: list[Any], write: Callable[[Any], str], point: str = "") -> Format:
    """A format as wide as the longest value. `point` follows finite values."""
    width = max((len(write(v)) for v in values), default=1 - len(point)) + len(point)

    def pad(v: Any) -> str:
        return (write(v) + point * (not point or isfinite(v))).rjust(width)

    return Format(pad, width)


def _floats(values: list[float]) -> Format:
    """PyTorch's choice: exponents if magnitudes differ much, no digits if all values are integers."""
    digits = PRINTING["precision"]
    finite = [v for v in values if v and isfinite(v)]
    if not finite:
        return _pad_format([], "{:.0f}".format, ".")
    low, high = min(map(abs, finite)), max(map(abs, finite))
    science = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
    if science if PRINTING["sci_mode"] is None else PRINTING["sci_mode"]:
        return _pad_format(finite, f"{{:.{digits}e}}".format)
    are_integers = all(v == ceil(v) for v in finite)
    return (
        _pad_format(finite, "{:.0f}".format, ".")
        if are_integers
        else _pad_format(finite, f"{{:.{digits}f}}".format)
    )


def _pairs(real: list[float], imag: list[float]) -> Format:
    """The format of complex numbers: one for each part."""
    first, second = _floats(real), _floats(imag)

    def write(v: complex) -> str:
        tail = f"{second.write(v.imag)}j".lstrip()
        return first.write(v.real) + (tail if tail[0] in "+-" else f"+{tail}")

    return Format(write, first.width + second.width + 1)


def _add_brackets(tree: Any, dims: int, indent: int, form: Format) -> str:
    """Brackets around rows; each dim is indented by one column."""
    if not dims:
        return form.write(tree)
    if dims > 1:
        parts = ["..." if t is ... else _add_brackets(t, dims - 1, indent + 1, form) for t in tree]
        return "[" + ("," + "\n" * (dims - 1) + " " * (indent + 1)).join(parts) + "]"
    words = [" ..." if v is ... else form.write(v) for v in tree]
    a_line = max(1, (PRINTING["linewidth"] - indent) // (form.width + 2))
    lines = [", ".join(words[i : i + a_line]) for i in range(0, len(words), a_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _with_facts(text: str, facts: list[str], indent: int) -> str:
    """Append facts to the text; a fact that does not fit begins a line."""
    last = len(text) - text.rfind("\n") + 1
    for fact in facts:
        fits = last + len(fact) + 2 <= PRINTING["linewidth"]
        text += f", {fact}" if fits else f",\n{' ' * indent}{fact}"
        last = last + len(fact) + 2 if fits else indent + len(fact)
    return text + ")"
