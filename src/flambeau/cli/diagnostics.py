"""`flambeau inspect --sanitize`, `--check` and `--watch`: print the faults of a call, or a value of
its WGSL, and write them as JSON."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

from ..core.printing import count_text
from ..errors import FlambeauError

SMALL = 100_000  # bytes; smaller files are reported in kB
SHOWN = 8  # printed threads
# Options that only an inspection has: (field, name, default).
INSPECTION_ONLY = (
    ("page", "--html", None),
    ("trace", "--trace", None),
    ("send", "--send", None),
    ("emit", "--emit", None),
    ("serve", "--serve", False),
    ("opens", "--open", False),
    ("compare", "--compare", False),
    ("runs", "--runs", 1),
)
Fact = tuple[str, str]  # a name and its text


class Findings(NamedTuple):
    """The result of a diagnostic: a headline, entries (a title and its facts) and notes for the terminal,
    data for JSON, and the number of faults."""

    headline: str
    entries: list[tuple[str, list[Fact]]]
    notes: list[str]
    data: dict[str, Any]
    wrong: int


class Diagnostic(NamedTuple):
    """A diagnostic: its option, the function that runs it, and the function that formats the result."""

    option: str
    look: Callable[[Any], Any]
    format: Callable[[Any], Findings]


def diagnostic_of(wanted: Any) -> Diagnostic | None:
    """Return the diagnostic that the options select; None for an inspection. FlambeauError for several
    diagnostics, and for an option that only an inspection has."""
    passed = {"--sanitize": wanted.sanitize, "--check": wanted.check, "--watch": wanted.watch is not None}
    chosen = [option for option, is_passed in passed.items() if is_passed]
    if wanted.turn is not None and "--watch" not in chosen:
        raise FlambeauError("inspect --turn: it selects an assignment of --watch: pass --watch too")
    if not chosen:
        return None
    if len(chosen) > 1:
        raise FlambeauError(f"inspect {' '.join(chosen)}: these options exclude each other: pass one of them")
    (option,) = chosen
    for field, name, default in INSPECTION_ONLY:
        if getattr(wanted, field) != default:
            raise FlambeauError(
                f"inspect {option} {name}: {name} belongs to an inspection: pass only one of them"
            )
    if (wanted.target or "").endswith(".json"):
        raise FlambeauError(
            f"inspect {option} {wanted.target}: a saved file can't be run: name the script or model"
        )
    # Imported only now: the sanitizer has many modules.
    return DIAGNOSTICS[option](wanted)


def show(diagnostic: Diagnostic, result: Any, target: str, rows: int, data: Path | None) -> int:
    """Print the findings, and write them as JSON if a file is named. Returns the number of faults."""
    from ..device import get_device
    from ..inspector.report import plain

    findings, device = diagnostic.format(result), str(get_device())
    click.echo(plain(f"{target} on {device}: {findings.headline}"))
    for n, (head, facts) in enumerate(findings.entries[:rows], 1):
        click.echo()
        click.secho(plain(f"{n}  {head}"), bold=True, fg="red" if findings.wrong else None)
        width = max((len(name) for name, _ in facts), default=0)
        for name, text in facts:
            # The lines of a value are aligned.
            lines = text.splitlines() or [""]
            for i, line in enumerate(lines):
                click.echo(f"   {click.style((name if not i else '').ljust(width), dim=True)}  {plain(line)}")
    if (left := len(findings.entries) - rows) > 0:
        click.echo(f"\n{left} more: --rows, --json")
    for note in findings.notes:
        click.echo(plain(note))
    if data is not None:
        head = {
            "format": f"flambeau {diagnostic.option[2:]}",
            "version": 1,
            "target": target,
            "device": device,
        }
        # JSON has no NaN: as_dict writes it as text.
        text = json.dumps(head | findings.data, allow_nan=False)
        data.write_text(text, "utf-8")
        print_written(data)
    return findings.wrong


def print_written(path: Path) -> None:
    """Print the name and size of a file that was written."""
    size = path.stat().st_size
    size_text = f"{size / 1e6:.2f} MB" if size >= SMALL else f"{size / 1e3:.1f} kB"
    click.echo(f"wrote {path}: {size_text}")


def _sanitize(wanted: Any) -> Diagnostic:
    from ..sanitizer.sanitize import sanitize_call

    return Diagnostic("--sanitize", sanitize_call, _format_sanitized)


def _format_sanitized(result: Any) -> Findings:
    counts = f"{count_text(result.kernels, 'kernel')}, {count_text(result.runs, 'run')}"
    headline = f"{counts}: {count_text(len(result.faults), 'fault') if result.faults else 'no fault'}"
    entries = [(f"{f.kind} in {f.kernel}", list(_fault_facts(f))) for f in result.faults]
    notes = [f"not watched: {s}" for s in result.skipped]
    return Findings(headline, entries, notes, result.as_dict(), len(result.faults))


def _fault_facts(fault: Any) -> Iterator[Fact]:
    yield "what", fault.told
    yield "template", f"{fault.template}:{fault.template_line}, line {fault.line} of the kernel"
    yield "WGSL", fault.text
    if fault.group is not None:
        many = f", the first of {fault.threads:,} threads" if fault.threads > 1 else ""
        yield "where", f"workgroup {fault.group}, thread {fault.thread}{many}"
    if fault.python:
        yield "Python", fault.python


def _check(wanted: Any) -> Diagnostic:
    from ..sanitizer.check import check_call

    return Diagnostic("--check", check_call, _format_checked)


def _format_checked(result: Any) -> Findings:
    many = len(result.wrong)
    counts = ", ".join(
        (count_text(result.values, "value"), count_text(len(result.kernels), "kernel"))
        + (count_text(result.gradients, "gradient"), "replayed" if result.replayed else "not replayed")
    )
    entries = [(f"{w.stage}: {w.op}", list(_mismatch_facts(w))) for w in result.wrong]
    headline = f"{counts}: {f'{many:,} wrong' if many else 'all right'}"
    return Findings(headline, entries, [], result.as_dict(), many)


def _mismatch_facts(wrong: Any) -> Iterator[Fact]:
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


def _watch(wanted: Any) -> Diagnostic:
    from ..sanitizer.watch import watching

    return Diagnostic("--watch", watching(wanted.watch, wanted.turn), _format_watched)


def _format_watched(watched: list[Any]) -> Findings:
    entries = [(f"{w.kernel}.{w.name}: {w.type}", list(_value_facts(w))) for w in watched]
    return Findings(count_text(len(watched), "run"), entries, [], {"runs": [w.as_dict() for w in watched]}, 0)


def _value_facts(value: Any) -> Iterator[Fact]:
    yield "template", f"{value.template}:{value.template_line}, line {value.line} of the kernel"
    yield from value.facts()
    many = min(value.values.shape[1], SHOWN)
    rest = f" and {value.values.shape[1] - many:,} more" if value.values.shape[1] > many else ""
    yield f"threads 0 to {many - 1}", f"{_join_values(value.values[0, :many])}{rest}, of workgroup 0"


def _join_values(values: Any) -> str:
    if values.ndim > 1:
        return ", ".join(f"({_join_values(v)})" for v in values)
    return ", ".join(f"{v:.6g}" if values.dtype.kind == "f" else str(v) for v in values.tolist())


DIAGNOSTICS: dict[str, Callable[[Any], Diagnostic]] = {
    "--sanitize": _sanitize,
    "--check": _check,
    "--watch": _watch,
}
