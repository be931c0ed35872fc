"""Turns contestants' steps into rates measured in interleaved rounds, and those into a table with ratios."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple


class Timing(NamedTuple):
    """One contestant's round: whole steps, the seconds they took together, and the median step in ms."""

    steps: int
    seconds: float
    median_ms: float

    @property
    def rate(self) -> float:
        """Steps per second."""
        return self.steps / self.seconds


def timed(step: Callable[[], object], seconds: float, warm: int = 1) -> Timing:
    """Calls `step` for at least `seconds`, and at least once, after `warm` calls that do not count."""
    for _ in range(warm):
        step()
    times: list[float] = []
    begin = last = time.perf_counter()
    while last - begin < seconds or not times:
        step()
        now = time.perf_counter()
        times.append(now - last)
        last = now
    return Timing(len(times), last - begin, median(times) * 1e3)


def seconds_of(call: Callable[[], object], wait: Callable[[], object], n: int) -> float:
    """Seconds of n calls that only queue work, and one wait."""
    begin = time.perf_counter()
    for _ in range(n):
        call()
    wait()
    return time.perf_counter() - begin


def queued(call: Callable[[], object], wait: Callable[[], object], seconds: float) -> Timing:
    """Time of calls that only queue work, in batches with one wait each; the first batch, which also wakes a
    sleeping GPU, does not count."""

    def batch(n: int) -> float:
        return seconds_of(call, wait, n)

    batch(1)
    n = max(int(0.12 / max(batch(4) / 4, 1e-6)), 1)
    batch(n)
    times = [batch(n)]
    while sum(times) < seconds:
        times.append(batch(n))
    return Timing(n * len(times), sum(times), median(times) / n * 1e3)


def by_difference(call: Callable[[], object], wait: Callable[[], object], seconds: float) -> float:
    """Seconds of a call: what a long batch of calls takes more than a short one, by the number of calls more.

    What a batch costs once (the first encoding, the wait) cancels out. The median of three pairs.
    """

    def batch(n: int) -> float:
        return seconds_of(call, wait, n)

    batch(3)
    once = min(batch(1), batch(1))
    long = max(int(seconds / 3 / max(batch(5) / 5, 1e-7)), 1)
    if once > seconds:  # one call is long enough
        return once
    long = min(max(long, 4), 2000)
    short = long // 4
    pairs = [(batch(long), batch(short)) for _ in range(3)]
    # a busy machine may take longer for the short batch
    return median([(a - b) / (long - short) if a > b else a / long for a, b in pairs])


def interleave(
    contestants: Mapping[str, Callable[[float], Timing]], rounds: int, seconds: float
) -> dict[str, list[Timing]]:
    """Gives every contestant `seconds` in each round, so that a busy moment of the machine hits all of them.

    Each round begins with another contestant; see `timed` for contestants in this process.
    """
    names = list(contestants)
    results: dict[str, list[Timing]] = {name: [] for name in names}
    for number in range(rounds):
        turn = number % max(len(names), 1)
        for name in names[turn:] + names[:turn]:
            results[name].append(contestants[name](seconds))
    return results


def ratio(ours: Sequence[Timing], theirs: Sequence[Timing]) -> float:
    """How many times faster ours is: the median over rounds of the rates' ratio within a round."""
    return median(a.rate / b.rate for a, b in zip(ours, theirs, strict=True))


def rates(timings: Sequence[Timing]) -> tuple[float, float, float]:
    """Steps per second: (the median round's, the worst's, the best's)."""
    each = [t.rate for t in timings]
    return median(each), min(each), max(each)


def number(value: float) -> str:
    """A number for a table, in three significant digits: 0.0123, 1.23, 123, 12345."""
    if value == 0 or abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-3 else f"{value:.0e}"


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints a table: with rich on a terminal, else as plain text; all but the first column align right."""
    if sys.stdout.isatty():
        try:
            return show_rich(title, columns, rows)
        except ImportError:
            pass
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]
    print(f"\n{title}")
    for row in [columns, ["-" * width for width in widths], *rows]:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        print("  ".join([row[0].ljust(widths[0]), *cells]).rstrip())


def show_rich(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints a table with rich; ImportError where it is not installed."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i else "left")
    for row in rows:
        table.add_row(*row)
    Console().print(table)
