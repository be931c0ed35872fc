"""`flambeau inspect --sanitize`, `--check` and `--watch`: a call into what is wrong with it, or into a value
of its WGSL, told on the terminal and as JSON."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

from ..core.printing import counted
from ..errors import FlambeauError

SMALL = 100_000  # bytes of a file that are told in kB
SHOWN = 8  # threads whose values are printed
# what an inspection alone has: the option's field, its name, what it is where it was not given
ALONE = (
    ("page", "--html", None),
    ("trace", "--trace", None),
    ("send", "--send", None),
    ("emit", "--emit", None),
    ("serve", "--serve", False),
    ("opens", "--open", False),
    ("compare", "--compare", False),
    ("runs", "--runs", 1),
)
Fact = tuple[str, str]  # a name and what is to be said under it


class Found(NamedTuple):
    """What was found, for the terminal: a headline, entries of a head and facts each, lines behind them; for
    JSON; and how many things are wrong."""

    told: str
    entries: list[tuple[str, list[Fact]]]
    notes: list[str]
    data: dict[str, Any]
    wrong: int


class Way(NamedTuple):
    """A diagnostic: its option, the function that runs it, and the function that formats the result."""

    option: str
    look: Callable[[Any], Any]
    found: Callable[[Any], Found]


def way_of(wanted: Any) -> Way | None:
    """The way that the words ask for; None for an inspection. FlambeauError where they ask for several, or
    for what an inspection alone has."""
    named = {"--sanitize": wanted.sanitize, "--check": wanted.check, "--watch": wanted.watch is not None}
    asked = [option for option, given in named.items() if given]
    if wanted.turn is not None and "--watch" not in asked:
        raise FlambeauError("inspect --turn: it says which time of --watch is meant: give that too")
    if not asked:
        return None
    if len(asked) > 1:
        raise FlambeauError(f"inspect {' '.join(asked)}: each runs the call in its own way: give one of them")
    (option,) = asked
    for field, name, default in ALONE:
        if getattr(wanted, field) != default:
            raise FlambeauError(f"inspect {option} {name}: {name} is of an inspection: leave out one of both")
    if (wanted.target or "").endswith(".json"):
        raise FlambeauError(
            f"inspect {option} {wanted.target}: a file runs nothing: name what it was made of"
        )
    return WAYS[option](wanted)


def show(way: Way, made: Any, target: str, rows: int, data: Path | None) -> int:
    """Print what was found, and write it as JSON if a file is named; how many things are wrong."""
    from ..device import get_device
    from ..inspector.report import plain

    found, device = way.found(made), str(get_device())
    click.echo(plain(f"{target} on {device}: {found.told}"))
    for n, (head, facts) in enumerate(found.entries[:rows], 1):
        click.echo()
        click.secho(plain(f"{n}  {head}"), bold=True, fg="red" if found.wrong else None)
        width = max((len(name) for name, _ in facts), default=0)
        for name, text in facts:
            lines = text.splitlines() or [""]
            for i, line in enumerate(lines):
                click.echo(f"   {click.style((name if not i else '').ljust(width), dim=True)}  {plain(line)}")
    if (left := len(found.entries) - rows) > 0:
        click.echo(f"\n{left} more: --rows, --json")
    for note in found.notes:
        click.echo(plain(note))
    if data is not None:
        head = {"format": f"flambeau {way.option[2:]}", "version": 1, "target": target, "device": device}
        text = json.dumps(head | found.data, allow_nan=False)
        data.write_text(text, "utf-8")
        tell_written(data)
    return found.wrong


def tell_written(path: Path) -> None:
    """Say that a file was written, and how large it is."""
    size = path.stat().st_size
    told = f"{size / 1e6:.2f} MB" if size >= SMALL else f"{size / 1e3:.1f} kB"
    click.echo(f"wrote {path}: {told}")


def _sanitize(wanted: Any) -> Way:
    from ..sanitizer.sanitize import sanitized

    return Way("--sanitize", sanitized, _of_sanitized)


def _of_sanitized(made: Any) -> Found:
    counts = f"{counted(made.kernels, 'kernel')}, {counted(made.runs, 'run')}"
    told = f"{counts}: {counted(len(made.faults), 'fault') if made.faults else 'no fault'}"
    entries = [(f"{f.kind} in {f.kernel}", list(_of_fault(f))) for f in made.faults]
    return Found(told, entries, [f"not watched: {s}" for s in made.skipped], made.as_dict(), len(made.faults))


def _of_fault(fault: Any) -> Iterator[Fact]:
    yield "what", fault.told
    yield "template", f"{fault.template}:{fault.template_line}, line {fault.line} of the kernel"
    yield "WGSL", fault.text
    if fault.group is not None:
        many = f", the first of {fault.threads:,} threads" if fault.threads > 1 else ""
        yield "where", f"workgroup {fault.group}, thread {fault.thread}{many}"
    if fault.python:
        yield "Python", fault.python


def _check(wanted: Any) -> Way:
    from ..sanitizer.check import checked

    return Way("--check", checked, _of_checked)


def _of_checked(made: Any) -> Found:
    many = len(made.wrong)
    counts = ", ".join(
        (counted(made.values, "value"), counted(len(made.kernels), "kernel"))
        + (counted(made.gradients, "gradient"), "replayed" if made.replayed else "not replayed")
    )
    entries = [(f"{w.stage}: {w.op}", list(_of_wrong(w))) for w in made.wrong]
    return Found(f"{counts}: {f'{many:,} wrong' if many else 'all right'}", entries, [], made.as_dict(), many)


def _of_wrong(wrong: Any) -> Iterator[Fact]:
    yield "call", wrong.call
    for name, text in (
        ("worst", wrong.apart),
        ("what", wrong.told),
        ("gradient of", wrong.gradient_of),
        ("kernel", f"{wrong.kernel} ({wrong.template})" if wrong.kernel else ""),
        ("Python", wrong.line),
    ):
        if text:
            yield name, str(text)


def _watch(wanted: Any) -> Way:
    from ..sanitizer.watch import watching

    return Way("--watch", watching(wanted.watch, wanted.turn), _of_watched)


def _of_watched(made: list[Any]) -> Found:
    entries = [(f"{w.kernel}.{w.name}: {w.type}", list(_of_value(w))) for w in made]
    return Found(counted(len(made), "run"), entries, [], {"runs": [w.as_dict() for w in made]}, 0)


def _of_value(value: Any) -> Iterator[Fact]:
    yield "template", f"{value.template}:{value.template_line}, line {value.line} of the kernel"
    yield from value.facts()
    many = min(value.values.shape[1], SHOWN)
    rest = f" and {value.values.shape[1] - many:,} more" if value.values.shape[1] > many else ""
    yield f"threads 0 to {many - 1}", f"{_listed(value.values[0, :many])}{rest}, of workgroup 0"


def _listed(values: Any) -> str:
    if values.ndim > 1:
        return ", ".join(f"({_listed(v)})" for v in values)
    return ", ".join(f"{v:.6g}" if values.dtype.kind == "f" else str(v) for v in values.tolist())


WAYS: dict[str, Callable[[Any], Way]] = {"--sanitize": _sanitize, "--check": _check, "--watch": _watch}
