"""`flambeau port`: lists the changes that a PyTorch script needs, and writes the changed script."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from ..errors import FlambeauError
from ..porting import Change, Converted, convert

COLUMN = 60  # the column of the reasons


@click.command(short_help="Convert a PyTorch script, or list what must change.")
@click.argument("script", type=click.Path(path_type=Path))
@click.option("--write", is_flag=True, help="Write the converted script next to it, as SCRIPT_flambeau.py.")
@click.option(
    "-o", "out", type=click.Path(dir_okay=False, path_type=Path), help="Write the converted script to FILE."
)
def port(script: Path, write: bool, out: Path | None):
    """List which lines of a PyTorch SCRIPT must change, to what, and why; other lines stay unchanged.

    Changes that you must make by hand are listed with the line and what to type; the exit code is then 1. The
    script is not run, and PyTorch need not be installed.

    Example: flambeau port train.py -o train_flambeau.py
    """
    converted = convert(_text(script), str(script))
    for line in report(script, converted):
        click.echo(line)
    if write or out:
        target = out or script.with_name(f"{script.stem}_flambeau.py")
        target.write_text(converted.text, encoding="utf-8")
        click.echo(f"wrote {target}")
    # so that a script or CI notices unfinished work
    if converted.left:
        sys.exit(1)


def _text(script: Path) -> str:
    try:
        return script.read_text(encoding="utf-8")
    except OSError as e:
        raise FlambeauError(f"port {script}: can't be read: {e.strerror or e}") from None
    except UnicodeDecodeError:
        raise FlambeauError(f"port {script}: is not UTF-8 text: pass a .py file") from None


def report(script: Path, converted: Converted) -> Iterator[str]:
    """Format what `flambeau port` prints: the changed lines, the notes, and the changes left to the user."""
    for change in converted.changes:
        yield from _lines_of_change(change)
    for note in converted.notes:
        yield f"note: {note}"
    for left in converted.left:
        yield f"{script}:{left.line}: {left.what}: {left.words}"
    left_text = f", {len(converted.left)} left to do by hand" if converted.left else ""
    yield f"{script}: {len(converted.changes)} of {converted.lines} lines change{left_text}"


def _lines_of_change(change: Change) -> Iterator[str]:
    """Format a line and its replacement, with the reason after the last line."""
    number = f"{change.line:5}"
    rows = [f"{number} - {change.before}"] if change.before else []
    rows += [f"{' ' * 5 if rows else number} + {line}" for line in change.after]
    yield from rows[:-1]
    yield f"{rows[-1]:{COLUMN}}  # {change.words}"
