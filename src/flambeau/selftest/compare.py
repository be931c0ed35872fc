"""Compares a program's results on a device, computed in several ways, with NumPy's."""

import traceback
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

import flambeau as fb

from ..core import choose
from ..core import dtype as dt
from ..core.host import to_numpy
from ..core.node import toposort
from ..differences import Differing, differences, distances, slope_of, within
from ..fusion.planner import plan
from ..runtime.run import read
from .bounds import evaluate
from .programs import Program, call_program, expected_results, function_of_text, settle_by
from .reference import Stream

Array = Any
TURNS = 3  # calls of a recorded program
WAYS = ("as one graph", "op by op", "recorded", "on NumPy's device")
STEP = 2.0**-14  # of slopes
REPEATS = 50
NOISE = 1e-11  # of float64's own sums


@dataclass
class Difference:
    """A wrong result: the way it was computed, its name, its elements that differ, the number of the call."""

    way: str
    name: str
    elements: Differing | None = None
    turn: int = 0
    error: str = ""  # an exception instead of a result
    forced: dict[str, str] = field(default_factory=dict[str, str])
    repeats: str = ""  # how many later runs of the program differed

    def __str__(self) -> str:
        forced = "".join(f", {family} by {name}" for family, name in self.forced.items())
        if self.error:
            return f"{self.way}{forced}: {self.error}"
        turn = f" in call {self.turn + 1}" if self.turn else ""
        return f"{self.way}{forced}: {self.name}{turn} is {self.elements}"


class Right(NamedTuple):
    """A result's value, and a device's largest error for each element."""

    name: str
    dtype: dt.DType
    value: Array
    error: Array


def right_of(program: Program, turns: int = 1) -> list[list[Right]]:
    """The expected results of each call: values from NumPy's lines, gradients and bounds from the graph in
    float64."""
    graph = call_program(program, "cpu", turns)
    dtypes = dtypes_of(program)
    values = expected_results(program, dtypes, turns)
    bounds = evaluate([t.node for results in graph for t in results])
    rights, count = list[list[Right]](), len(program.outputs)
    for turn, arrays in enumerate(values):
        row: list[Right] = []
        for i, name in enumerate(program.outputs):
            bound = bounds[turn * count + i]
            value = arrays[i] if i < len(arrays) else bound.value
            error = np.zeros(value.shape) if bound.error is None else bound.error
            value = np.asarray(value)
            tensor = graph[turn][i]
            if tensor.shape != value.shape:
                raise AssertionError(f"{name} has shape {list(tensor.shape)}, NumPy's {list(value.shape)}")
            row.append(Right(name, tensor.dtype, value, np.broadcast_to(error, value.shape)))
        rights.append(row)
    return rights


def dtypes_of(program: Program) -> dict[str, dt.DType]:
    """The dtype of every line's variable."""
    lines = [x.name for x in program.lines if x.name not in program.states]
    # All variables as results: the graph knows their dtypes without computing them.
    all_lines = replace(program, results=tuple(lines), by=())
    dtypes = {i.name: i.dtype for i in program.inputs}
    (tensors,) = call_program(all_lines, "cpu")
    return dtypes | {name: t.dtype for name, t in zip(lines, tensors, strict=True)}


def ways_of(device: Any) -> tuple[str, ...]:
    return WAYS if device.kind != "cpu" else ("on NumPy's device",)


def results_of(program: Program, device: Any, way: str, turns: int) -> list[list[Array]]:
    """A device's results, call after call."""
    if way == "recorded":
        tensors = call_program(program, device, turns, wrap=fb.jit)
    elif way == "op by op":
        tensors = call_program(program, device, turns, settle=fb.Tensor.realize)
    else:
        tensors = call_program(program, "cpu" if way == "on NumPy's device" else device, turns)
    flat = [t for results in tensors for t in results]
    raw = read(flat)  # one readback for all results
    arrays = [to_numpy(r, t.shape, t.dtype) for r, t in zip(raw, flat, strict=True)]
    count = len(program.outputs)
    return [arrays[i * count : (i + 1) * count] for i in range(turns)]


def bounds_of(got: Array, value: Array, error: Array) -> Array:
    """How far a result may be from a value of known error. An integer is exact, or unknown if its error is
    not 0."""
    if got.dtype.kind in "iub" and value.dtype.kind in "iub":
        return np.where(error == 0, 0.0, np.inf)
    return error + within(NOISE, 1e-37, value)


def differing(got: Array, value: Array, error: Array) -> Differing | None:
    """The elements of a result that are out of their bounds."""
    return differences(got, value, bounds_of(got, value, error))


def largest_share(got: Array, value: Array, error: Array) -> float:
    """The largest error in units of its bound, of elements that have one and are within it."""
    bounds, off = bounds_of(got, value, error), distances(got, value)
    is_rated = (error > 0) & np.isfinite(bounds) & (off <= bounds)
    return float(np.max(off[is_rated] / bounds[is_rated], initial=0.0))


def first_difference(
    program: Program, device: Any, way: str, rights: list[list[Right]], forced: dict[str, str]
) -> tuple[Difference | None, float]:
    """The first result that differs, or None, and the largest error in units of the bound."""
    turns = TURNS if way == "recorded" else 1
    try:
        with variants(device, forced):
            results = results_of(program, device, way, turns)
    except KeyboardInterrupt:
        raise
    except Exception as e:
        message = f"{type(e).__name__}: {e}".splitlines()[0]
        where = traceback.extract_tb(e.__traceback__)[-1]
        return Difference(way, "", error=f"{message} ({where.name})", forced=forced), 0.0
    worst = 0.0
    for turn, (arrays, row) in enumerate(zip(results, rights, strict=False)):
        for got, right in zip(arrays, row, strict=True):
            worst = max(worst, largest_share(got, right.value, right.error))
            wrong = differing(got, right.value, right.error)
            if wrong is not None:
                return Difference(way, right.name, wrong, turn, forced=forced), worst
    return None, worst


def check(
    program: Program,
    device: Any,
    ways: Iterable[str],
    forced: dict[str, str] | None = None,
    slopes: bool = True,
) -> tuple[Difference | None, float]:
    """Compute a program in these ways: the first difference, or None, and the largest error in bounds."""
    ways = list(ways)
    try:
        rights = right_of(program, TURNS if "recorded" in ways else 1)
        if program.by and not program.states and slopes and (wrong := wrong_slope(program, rights[0])):
            # equal values share the gradient of max and min, though only one moves
            aside = moved_aside(program)
            if wrong_slope(aside, right_of(aside)[0]):
                return wrong, 0.0
    except KeyboardInterrupt:
        raise
    except Exception as e:
        where = traceback.extract_tb(e.__traceback__)[-1]
        return Difference("the graph", "", error=f"{type(e).__name__}: {e} ({where.name})"), 0.0
    worst = 0.0
    for method in ways:
        wrong, units = first_difference(program, device, method, rights, forced or {})
        worst = max(worst, units)
        if wrong is not None:
            return wrong, worst
    return None, worst


def describe_repeats(program: Program, wrong: Difference, device: Any, seconds: float = 5.0) -> str:
    """How many of up to REPEATS more runs differ: a wrong kernel differs in all, a race in some."""
    if wrong.way not in WAYS:
        return ""
    rights, end = right_of(program, TURNS if wrong.way == "recorded" else 1), monotonic() + seconds
    outcomes: list[bool] = []
    while not outcomes or (len(outcomes) < REPEATS and monotonic() < end):
        difference, _ = first_difference(program, device, wrong.way, rights, wrong.forced)
        outcomes.append(difference is not None)
    return f"{sum(outcomes)} of {len(outcomes)} more runs differ"


def moved_aside(program: Program) -> Program:
    """The program with its float inputs moved a little, so that none are equal by chance. In float32, since
    16 bits would round many of them back."""
    rng = np.random.default_rng(program.seed)
    inputs = [
        i._replace(data=i.array() + 1e-2 * rng.standard_normal(i.shape), dtype=dt.float32)
        if i.dtype.is_float
        else i
        for i in program.inputs
    ]
    return replace(program, inputs=tuple(inputs))


def wrong_slope(program: Program, row: list[Right]) -> Difference | None:
    """Compare the graph's gradients in float64 with the slope of NumPy's loss; None also near a corner."""
    dtypes = dtypes_of(program)
    start: dict[str, Array] = {i.name: i.array() for i in program.inputs}
    rng = np.random.default_rng(program.seed)
    steps: dict[str, Array] = {
        n: rng.choice((-1.0, 1.0), start[n].shape) * (0.5 + rng.random(start[n].shape)) for n in program.by
    }

    def loss_at(t: float) -> float:
        stream = Stream(program.seed)
        f = function_of_text(program.says(), settle=settle_by(dtypes), stream=stream)
        moved = {n: start[n] + t * steps[n] if n in steps else start[n] for n in start}
        with np.errstate(all="ignore"):
            return float(f(**moved)[len(program.results)])

    by = {r.name: r for r in row}
    gradient = sum(float((by[f"by_{n}"].value * steps[n]).sum()) for n in program.by)
    # The size of the terms: their sum may cancel, and its error does not get smaller by that.
    scale = sum(float((np.abs(by[f"by_{n}"].value) * np.abs(steps[n])).sum()) for n in program.by)
    unsure = sum(float(np.abs(by[f"by_{n}"].error * steps[n]).sum()) for n in program.by)
    centre = loss_at(0.0)
    size, slope = max(abs(centre), scale, 1e-3), slope_of(loss_at, STEP, centre)
    # A corner between the ends, or no number.
    if slope.bend > 1e-5 * size or not np.isfinite([gradient, unsure, *slope]).all():
        return None
    wrong = differences(np.float64(gradient), np.float64(slope.value), 8 * slope.change + 1e-6 * size)
    return None if wrong is None else Difference("slopes", "loss", wrong)


# --- variants ---


class Forced(dict[str, str]):
    """Forced variants by family, for all sizes."""

    def get(self, key: Any, default: Any = None) -> Any:
        return dict[str, str].get(self, key[0], default)


@contextmanager
def variants(device: Any, forced: dict[str, str]) -> Generator[None]:
    """Compute with these variants of kernels, where they apply."""
    if not forced or device.kind != "gpu":
        yield
        return
    # Cached plans were made by other choices: compute with none, and put them back.
    limits, plans = device.limits, device.plans
    device.limits, device.plans = replace(limits, tuned=Forced(forced)), {}
    try:
        yield
    finally:
        device.limits, device.plans = limits, plans


def asked_of(program: Program, device: Any) -> dict[str, list[str]]:
    """The variants that a program can be computed with, by family."""
    if device.kind != "gpu":
        return {}
    with choose.questions() as choices:
        (results,) = call_program(program, device)
        roots = [t.node for t in results if t.node.buffer is None]
        plan(roots, device.limits, toposort(roots))
    fitting: dict[str, list[str]] = {}
    for family, _, names, _ in choices:
        fitting[family] = [*dict.fromkeys((*fitting.get(family, ()), *names))]
    return {family: names for family, names in fitting.items() if len(names) > 1}
