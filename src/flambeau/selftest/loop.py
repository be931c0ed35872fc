"""Draws cases from a seed for some time, and collects the differences in a table."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

import numpy as np

from .compare import TURNS, Difference, asked_of, check, describe_repeats, first_difference, right_of, ways_of
from .families import FAMILIES, NOT_FINITE, ROW_LENGTHS, drawn
from .programs import Program
from .shrink import smaller

RANDOM, RECORDED, THREADS = "random programs", "recorded programs", "threads"
EVERY = (*FAMILIES, RANDOM, RECORDED, THREADS)
USUAL = tuple(f for f in EVERY if f != NOT_FINITE)  # families that every driver must compute alike
OLD = 0.6  # the share of cases that repeat earlier lines at other sizes: they compile little
RARELY = 0.1  # the share of attention cases with gradients if a CPU compiles a GPU's kernels, which is slow
MOST = 10  # differences that end a run
AT_ONCE = 3  # threads
LATE = 4.0  # seconds that the last case may exceed the run's time by


@dataclass
class Tally:
    """The results of a family."""

    tried: int = 0
    differences: int = 0
    worst: float = 0.0  # error in units of the bound
    # cases by forced variant
    variants: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    slowest: float = 0.0  # seconds of a case


@dataclass
class Case:
    """A program and the ways to compute it."""

    program: Program
    ways: Sequence[str]
    forced: dict[str, str] = field(default_factory=dict[str, str])


class Selftest:
    """Draws cases from a seed: the same seed draws the same cases on the same device.

    families: the families to draw from. `tallies` and `found` (shrunk programs with their differences) may be
    read at any time.
    """

    def __init__(self, device: Any, seed: int, families: Sequence[str] = USUAL):
        self.device, self.seed, self.families = device, seed, list(families)
        self.rng = np.random.default_rng(seed)
        self.tallies: dict[str, Tally] = {f: Tally() for f in self.families}
        self.found: list[tuple[Program, Difference]] = []
        self.seen: dict[str, list[int]] = {f: [] for f in self.families}  # seeds of lines
        self.order: list[str] = []

    def run(self, seconds: float, progress: Callable[[str, Tally], None] | None = None) -> None:
        """Try cases for `seconds`, or until MOST differences are found."""
        end = monotonic() + seconds
        while len(self.found) < MOST:
            family = self.family()
            # The next case may take as long as the slowest so far of its family.
            if monotonic() + max(self.tallies[family].slowest - LATE, 0.0) > end:
                break
            self.step(end, family)
            if progress is not None:
                progress(self.last, self.tallies[self.last])

    def step(self, end: float = float("inf"), family: str | None = None) -> None:
        """Try one case of a family, by default the next one."""
        begin, self.last = monotonic(), family or self.family()
        tally = self.tallies[self.last]
        case, wrong, worst = None, None, 0.0
        try:
            case = self.case(self.last)
            wrong, worst = self.try_case(case, tally)
        except KeyboardInterrupt:
            raise
        except Exception as e:
            # a line that the package refuses is reported as a difference
            wrong = Difference("drawing", "", error=f"{type(e).__name__}: {e}")
        tally.tried += 1
        tally.worst = max(tally.worst, worst)
        tally.slowest = max(tally.slowest, monotonic() - begin)
        if wrong is not None:
            tally.differences += 1
            program = case.program if case else Program(family=self.last, seed=self.seed)
            if case and self.last != THREADS:
                left = min(max(end - monotonic(), 20.0), 120.0)  # seconds for shrinking
                program, wrong = smaller(program, wrong, self.device, left)
                wrong.repeats = describe_repeats(program, wrong, self.device)
            if all(program != before for before, _ in self.found):
                self.found.append((program, wrong))

    def family(self) -> str:
        """The next family: each in turn, in another order each time."""
        if not self.order:
            self.order = [self.families[i] for i in self.rng.permutation(len(self.families))]
        return self.order.pop()

    def case(self, family: str) -> Case:
        """A program of a family, and the ways to compute it."""
        seen, structure, sizes = self.seen[family], *(int(n) for n in self.rng.integers(1 << 31, size=2))
        # Drawn always, used or not: the same seed draws the same cases whatever the families find.
        draws = self.rng.random(4)
        if seen and family in FAMILIES and draws[0] < OLD:
            structure = seen[int(self.rng.integers(len(seen)))]  # known lines at new sizes
        else:
            seen.append(structure)
        program = replace(drawn(family, structure, sizes), family=family)
        if draws[1] >= RARELY and self.is_slow_to_compile(program):
            program = replace(program, by=())
        if self.device.kind == "cpu":
            return Case(program, ways_of(self.device))
        if family in (RECORDED, THREADS):
            return Case(program, ("recorded",) if family == RECORDED else ())
        forced = self.choose_forced(program, family) if draws[2] < 0.4 else {}
        ways = ["as one graph"]
        # Rows with stored statistics are kernels of their own.
        ways += ["op by op"] if 0.4 <= draws[2] < (0.9 if family == ROW_LENGTHS else 0.6) else []
        ways += ["recorded"] if draws[3] < 0.2 and not forced else []
        return Case(program, ways, forced)

    def is_slow_to_compile(self, program: Program) -> bool:
        """Whether a CPU adapter would compile a GPU's kernels for a minute."""
        adapter = self.device.adapter
        slow = adapter is not None and adapter.is_software and not self.device.limits.software
        return slow and any("scaled_dot_product" in line.text for line in program.lines)

    def choose_forced(self, program: Program, family: str) -> dict[str, str]:
        """A variant to compute this program with, one not tried before if there is one."""
        names = [(k, n) for k, variants in asked_of(program, self.device).items() for n in variants]
        new = [pair for pair in names if pair not in self.tallies[family].variants]
        pairs = new or names
        if not pairs:
            return {}
        kind, name = pairs[int(self.rng.integers(len(pairs)))]
        return {kind: name}

    def try_case(self, case: Case, tally: Tally) -> tuple[Difference | None, float]:
        """The first difference of a case, and its largest error in units of the bound."""
        if self.last == THREADS:
            return self.at_once(case.program)
        wrong, worst = check(case.program, self.device, case.ways, case.forced)
        tally.variants.update(case.forced.items())
        return wrong, worst

    def at_once(self, program: Program) -> tuple[Difference | None, float]:
        """Several threads compute their own programs at the same time: plainly, step by step, recorded."""
        seeds = self.rng.integers(1 << 31, size=AT_ONCE - 1)
        programs = [
            program,
            *(drawn("losses" if i % 2 else RANDOM, int(s), int(s)) for i, s in enumerate(seeds)),
        ]
        # threads share one stream of random numbers, in any order
        programs = [p for p in programs if not any("rand" in x.text for x in p.lines)]
        rights = [right_of(p, TURNS) for p in programs]
        results: list[Any] = [None] * len(programs)

        def work(i: int) -> None:
            method = ("as one graph", "recorded", "op by op")[i % 3]
            results[i] = first_difference(programs[i], self.device, method, rights[i], {})

        threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(len(programs))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        outcomes = [r for r in results if r is not None]
        worst = max((units for _, units in outcomes), default=0.0)
        wrong = next((d for d, _ in outcomes if d is not None), None)
        if wrong is not None:
            wrong.way = f"beside {len(programs) - 1} other threads, {wrong.way}"
        return wrong, worst
