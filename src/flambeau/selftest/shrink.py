"""Shrinks a failing program to one with fewer lines, inputs and elements that fails in the same way."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np

from ..core import dtype as dt
from .bounds import round_to
from .compare import Difference, check, dtypes_of
from .programs import NAME, Input, Line, Program, expected_results

NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
LONGEST = 60.0  # seconds


class Smaller:
    """Tries smaller programs until none fails in the same way."""

    def __init__(self, program: Program, wrong: Difference, device: Any, seconds: float = LONGEST):
        self.program, self.wrong, self.device = program, wrong, device
        self.end = monotonic() + seconds

    def fails(self, program: Program) -> bool:
        """Whether a program differs from the last one and fails; it then becomes the last."""
        if program == self.program or monotonic() > self.end:
            return False
        ways = () if self.wrong.way in ("slopes", "the graph") else (self.wrong.way,)
        wrong, _ = check(program, self.device, ways, self.wrong.forced, slopes=self.wrong.way == "slopes")
        # Another failure would be another bug: shrinking must not move from one to the next.
        if wrong is None or wrong.way != self.wrong.way or bool(wrong.error) != bool(self.wrong.error):
            return False
        if wrong.error and wrong.error.split(":")[0] != self.wrong.error.split(":")[0]:
            return False
        self.program, self.wrong = program, wrong
        return True

    def run(self) -> tuple[Program, Difference]:
        """The smallest program found."""
        steps: tuple[Callable[[Program], Iterator[Program]], ...] = (
            one_result,
            without_gradients,
            earlier_results,
            from_values,
            past_lines,
            fewer_elements,
            plainer,
        )
        before = None
        while before != self.program and monotonic() < self.end:
            before = self.program
            for step in steps:
                self.exhaust(step)
        return self.program, self.wrong

    def exhaust(self, step: Callable[[Program], Iterator[Program]]) -> None:
        is_smaller = True
        while is_smaller and monotonic() < self.end:
            is_smaller = False
            try:
                for candidate in step(self.program):
                    if self.fails(candidate):
                        is_smaller = True
                        break
            # A candidate that is not a valid program.
            except (ValueError, TypeError, IndexError, KeyError, NameError, AssertionError):
                return


def smaller(
    program: Program, wrong: Difference, device: Any, seconds: float = LONGEST
) -> tuple[Program, Difference]:
    """The smallest program that fails in the same way, and its difference."""
    return Smaller(program, wrong, device, seconds).run()


def one_result(program: Program) -> Iterator[Program]:
    if len(program.results) > 1:
        for name in program.results:
            yield replace(program, results=(name,)).prune()


def without_gradients(program: Program) -> Iterator[Program]:
    if program.by:
        yield replace(program, by=())
    if len(program.by) > 1:
        for name in program.by:
            yield replace(program, by=(name,))


def earlier_results(program: Program) -> Iterator[Program]:
    """Replace the results with values of earlier lines."""
    names = [x.name for x in program.lines if x.name not in (*program.results, *program.states)]
    for name in names:
        yield replace(program, results=(name,)).prune()


def from_values(program: Program) -> Iterator[Program]:
    """Replace lines with inputs of their values."""
    if program.states:  # an assigned input can't become a constant: end the assignments first
        yield replace(
            program, states=(), lines=tuple(x for x in program.lines if x.name not in program.states)
        )
        return
    lines = [x for x in program.lines if x.name not in program.results and "rand" not in x.text]
    if not lines:
        return
    dtypes = dtypes_of(program)
    all_values = replace(program, results=tuple(x.name for x in lines), by=())
    (values,) = expected_results(all_values, dtypes)
    # From the last line on: its value makes the most lines above it superfluous.
    for line, value in reversed([*zip(lines, values, strict=True)]):
        dtype = dtypes[line.name]
        if dtype.is_float:
            value = round_to(value.astype("f4").astype("f8"), dtype)
        constant = Input(line.name, value.shape, dtype, data=value)
        by = (*program.by, line.name) if program.by and dtype.is_float else program.by
        yield replace(program.without(line.name), inputs=(*program.inputs, constant), by=by).prune()


def past_lines(program: Program) -> Iterator[Program]:
    """Replace a line with one of its operands."""
    for line in program.lines:
        if line.name in program.states:
            continue
        for other in dict.fromkeys(line.uses):
            if other != line.name:
                yield rename(program.without(line.name), line.name, other).prune()


def rename(program: Program, name: str, to: str) -> Program:
    def now(text: str) -> str:
        return NAME.sub(lambda m: to if m[0] == name else m[0], text)

    lines = tuple(Line(x.name, now(x.text), now(x.says)) for x in program.lines)
    results = tuple(dict.fromkeys(to if r == name else r for r in program.results))
    return replace(program, lines=lines, results=results)


def fewer_elements(program: Program) -> Iterator[Program]:
    """Reduce sizes in shapes and lines; cut given values."""
    sizes = sorted({n for i in program.inputs for n in i.shape if n > 1}, reverse=True)
    for n in sizes:
        # The largest cuts first.
        for m in dict.fromkeys((1, 2, n // 16, n // 2, n - n // 4, n - 8, n - 1)):
            if 0 < m < n:
                yield resize(program, n, m)
    for index, input in enumerate(program.inputs):
        for d, n in enumerate(input.shape):
            for m in (1, n // 2, n - 1):
                if 0 < m < n:
                    yield cut(program, index, d, m)


def resize(program: Program, n: int, m: int) -> Program:
    def now(text: str) -> str:
        return NUMBER.sub(lambda k: str(m) if k[0] == str(n) else k[0], text)

    def smaller_input(i: Input) -> Input:
        shape = tuple(m if k == n else k for k in i.shape)
        data = None if i.data is None else i.data[tuple(map(slice, shape))]
        return i._replace(
            shape=shape, top=m if i.top == n and i.kind in ("places", "each") else i.top, data=data
        )

    lines = tuple(Line(x.name, now(x.text), now(x.says)) for x in program.lines)
    return replace(program, inputs=tuple(map(smaller_input, program.inputs)), lines=lines)


def cut(program: Program, index: int, d: int, m: int) -> Program:
    input = program.inputs[index]
    shape = tuple(m if e == d else k for e, k in enumerate(input.shape))
    data = None if input.data is None else input.data[tuple(map(slice, shape))]
    inputs = list(program.inputs)
    inputs[index] = input._replace(shape=shape, data=data)
    return replace(program, inputs=tuple(inputs))


def plainer(program: Program) -> Iterator[Program]:
    """Use float32 for other floats; ones, quarters, or values of few digits."""
    if any(i.dtype.is_float and i.dtype is not dt.float32 for i in program.inputs):
        inputs = tuple(i._replace(dtype=dt.float32) if i.dtype.is_float else i for i in program.inputs)
        yield replace(program, inputs=inputs)
    for index, i in enumerate(program.inputs):
        for data in plain(i):
            inputs = list(program.inputs)
            inputs[index] = i._replace(data=data)
            yield replace(program, inputs=tuple(inputs))


def plain(input: Input) -> Iterator[Any]:
    a = input.array()
    if input.kind in ("places", "each") or not a.size:
        return
    counted = np.array([i % 8 + 1 for i in range(a.size)], a.dtype).reshape(a.shape)
    for data in (np.ones_like(a), counted, np.rint(4 * a) / 4 if input.dtype.is_float else a):
        if not np.array_equal(a, data, equal_nan=True):  # else a NaN is replaced by itself without end
            yield data
        else:
            return
