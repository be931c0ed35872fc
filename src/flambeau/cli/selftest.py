"""`flambeau selftest`: compares this GPU's results with a reference for a few minutes."""

import secrets
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import click

from ..device import get_device
from ..errors import FlambeauError, suggest
from .progress import ProgressLine

FILE = "flambeau-selftest-{seed}.txt"
LEAST_LEFT = 2.0  # seconds of the run reserved for its table


@click.command(short_help="Compare this GPU with NumPy on random programs.")
@click.option("--minutes", default=1.0, show_default=True, type=click.FloatRange(min=0), help="Duration.")
@click.option("--seed", type=int, help="Repeat the cases of an earlier run; its table shows the seed.")
@click.option("--device", help="The adapter, as in FLAMBEAU_DEVICE.")
@click.option(
    "--family",
    "families",
    multiple=True,
    help='Only these families of cases ("not finite": NaN and infinities).',
)
@click.option("--variants", is_flag=True, help="List how often each variant of a kernel was forced.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Where to write the report if something differs."
)
def selftest(
    minutes: float, seed: int | None, device: str | None, families: tuple[str, ...], variants: bool,
    out: Path | None,
):  # fmt: skip
    """Run random programs on this GPU and compare every number with NumPy in float64.

    Each run draws new programs from a seed that it prints. If a result differs from NumPy's by more than
    rounding allows, the command shrinks the program, writes a report with everything needed to investigate,
    and exits with 1.

    \b
    Example: flambeau selftest --minutes 5
    Example: flambeau selftest --seed 71 --family products
    """
    from ..selftest import EVERY, USUAL, Selftest

    for name in families:
        if name not in EVERY:
            hint = suggest(name, EVERY) or f": choose from {', '.join(EVERY)}"
            raise FlambeauError(f"selftest --family {name!r}: unknown{hint}")
    # New programs in each run: together, users cover more than a fixed set would.
    seed = secrets.randbelow(1 << 31) if seed is None else seed
    place = get_device(device)
    click.echo(f"{place}, seed {seed}")
    test = Selftest(place, seed, families or USUAL)
    stopped = run_for(test, max(60 * minutes - LEAST_LEFT, 1.0))
    click.echo(table(test))
    if variants:
        click.echo(variants_table(test))
    if stopped:
        click.echo("stopped: these are the results so far")
    if test.found:
        click.echo(write_report(test, out or Path(FILE.format(seed=seed))))
        sys.exit(1)
    if stopped:
        # the shell's exit status after Ctrl-C
        sys.exit(130)


def run_for(test: Any, seconds: float) -> bool:
    """Run a test and show its progress. Returns whether Ctrl-C stopped it."""
    from time import monotonic

    begin = monotonic()
    try:
        with ProgressLine() as progress:
            progress.phase("selftest", max(int(seconds), 1))

            def show_progress(family: str, tally: Any) -> None:
                tried = sum(t.tried for t in test.tallies.values())
                wrong = len(test.found)
                done = min(int(monotonic() - begin), int(seconds))
                progress.update(done, f"{tried} cases, {wrong or 'none'} wrong")

            test.run(seconds, show_progress)
    except KeyboardInterrupt:
        # Ctrl-C ends the cases, not the command: the table of the results so far follows.
        return True
    return False


def table(test: Any) -> str:
    """Return the counts of cases, one row for each family."""
    rows = [("family", "tried", "differ", "worst error", "variants")]
    for name, t in test.tallies.items():
        worst = f"{t.worst:.2f}" if t.worst else "-"
        rows.append((name, str(t.tried), str(t.differences), worst, str(len(t.variants) or "-")))
    tried = sum(t.tried for t in test.tallies.values())
    rows.append(("all", str(tried), str(len(test.found)), "", ""))
    return "\n".join([*in_columns(rows), "(worst error: in units of the rounding bound)"])


def in_columns(rows: list[tuple[str, ...]]) -> list[str]:
    """Format rows as lines: the first column aligned left, the others right."""
    first, *rest = (max(map(len, column)) for column in zip(*rows, strict=True))
    return [
        "  ".join([r[0].ljust(first), *(c.rjust(w) for c, w in zip(r[1:], rest, strict=True))]).rstrip()
        for r in rows
    ]


def variants_table(test: Any) -> str:
    """Count the forced runs of each variant of a kernel, with their families of cases."""
    counts = {name: t.variants for name, t in test.tallies.items()}
    rows = [("variant", "forced")]
    headers = ["of"]
    for pair in sorted({pair for c in counts.values() for pair in c}):
        by = Counter({name: c[pair] for name, c in counts.items() if c[pair]})
        rows.append(("=".join(pair), str(by.total())))
        headers.append(", ".join(f"{name} {n}" for name, n in by.most_common()))
    if len(rows) == 1:
        return "no variant of a kernel was forced"
    return "\n".join(f"{row}  {text}" for row, text in zip(in_columns(rows), headers, strict=True))


def write_report(test: Any, path: Path) -> str:
    """Write the report, and return the lines that name the wrong cases and where to send the report."""
    from ..selftest import report

    lines = [f"{program.family}: {wrong}" for program, wrong in test.found]
    try:
        path.write_text(report(test.found, test.device, test.seed), encoding="utf-8")
    except OSError as e:
        raise FlambeauError(
            f"selftest --out {path}: can't be written ({e.strerror}): check the path"
        ) from None
    return "\n".join(["", *lines, "", f"wrote {path}: please attach it to a bug report"])
