"""A program: inputs drawn from seeds, lines of tensor code with NumPy's code for each, results."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

import numpy as np

import flambeau as fb

from ..core import dtype as dt
from . import reference
from .bounds import round_to

Array = Any
NAME = re.compile(r"\bv\d+\b")
KINDS = ("quarters", "normal", "places")
ODD = {
    "infinities": (np.inf, -np.inf),
    "no numbers": (np.inf, -np.inf, np.nan),
}  # kinds, and their special values


class Input(NamedTuple):
    """An argument: its values are drawn from a seed and the call's number, or given."""

    name: str
    shape: tuple[int, ...]
    dtype: dt.DType
    kind: str = "quarters"
    seed: int = 0
    top: int = 2  # the largest magnitude of quarters; the number of places
    data: Any = None

    def array(self, turn: int = 0) -> Array:
        """The values: floats in float64 and integers in int64; the dtype holds each exactly."""
        if self.data is not None:
            data = np.asarray(self.data).reshape(self.shape)
            return round_to(data.astype("f8"), self.dtype) if self.dtype.is_float else data
        rng = np.random.default_rng([self.seed, turn])
        if self.dtype is dt.bool_:
            values = rng.integers(0, 2, self.shape).astype(bool)
            # kind "rows out": three rows in ten are False throughout, such as fully masked attention rows.
            return values & (rng.random((*self.shape[:-1], 1)) < 0.7) if self.kind == "rows out" else values
        if self.kind == "wide":
            return self._wide_integers(rng)
        if self.kind == "places":
            return rng.integers(0, max(self.top, 1), self.shape)
        if self.kind == "each":
            order = np.argsort(rng.random(self.shape), -1)  # a permutation of each row
            return order % max(self.top, 1)
        low = 0 if self.dtype.kind == "u" else -4 * self.top
        if not self.dtype.is_float:
            return rng.integers(low, 4 * self.top + 1, self.shape)
        if self.kind == "half cells":  # edges and middles of `top` cells from -1 to 1, and points outside
            return rng.integers(-2, 2 * self.top + 3, self.shape) / self.top - 1
        if self.kind == "normal":
            return round_to(rng.standard_normal(self.shape).astype("f4").astype("f8"), self.dtype)
        # Quarters: sums and products of a few are exact in float32, whatever their order.
        values = rng.integers(low, 4 * self.top + 1, self.shape) / 4
        if self.kind in ODD:  # few, or many
            share = rng.choice((0.02, 0.2))
            values = np.where(rng.random(self.shape) < share, rng.choice(ODD[self.kind], self.shape), values)
        return values

    def _wide_integers(self, rng: Any) -> Array:
        """Integers of all sizes, among them the least and the largest."""
        least, most = dt.INTS[self.dtype].min, dt.INTS[self.dtype].max
        # A random number of low bits is cut off, so that all magnitudes occur.
        any_size = rng.integers(least, most, self.shape, "i8", endpoint=True) >> rng.integers(
            0, 63, self.shape
        )
        extremes = rng.choice(np.array([least, least + 1, most - 1, most, 0, 1]), self.shape)
        return cast(Array, np.where(rng.random(self.shape) < 0.25, extremes, any_size))


def spell(dtype: dt.DType) -> str:
    return "bool_" if dtype is dt.bool_ else dtype.name


class Line(NamedTuple):
    """A variable, its tensor code, and NumPy's code."""

    name: str
    text: str
    says: str

    @property
    def uses(self) -> list[str]:
        return NAME.findall(f"{self.text} {self.says}")


@dataclass(frozen=True)
class Program:
    """Inputs, lines, and the names of the results. `by`: the inputs for the gradients of `loss`. `states`:
    inputs that a line assigns to; a recorded program closes over them."""

    inputs: tuple[Input, ...] = ()
    lines: tuple[Line, ...] = ()
    results: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    seed: int = 0
    states: tuple[str, ...] = ()
    family: str = field(default="", compare=False)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of a run's results."""
        return (*self.results, *(("loss", *(f"by_{n}" for n in self.by)) if self.by else ()))

    def source(self, settle: bool = False) -> str:
        """The tensor code as a function of the inputs."""
        parameters = [i.name for i in self.inputs if i.name not in self.states]
        lines = [f"{n} = {n}.detach().requires_grad_()" for n in self.by]
        for line in self.lines:
            lines.append(line.text if line.name in self.states else f"{line.name} = {line.text}")
            lines += [f"settle({line.name})"] if settle else []
        if self.by:
            lines += [f"loss = {loss_of(self.results, 'v.float()')}", "slopes = loss.backward()"]
            lines += [f"by_{n} = slopes.get({n}, {n} * 0)" for n in self.by]
        return function_of("program", parameters, lines, self.outputs)

    def says(self) -> str:
        """NumPy's code as a function of the inputs."""
        lines: list[str] = []
        for line in self.lines:
            lines.append(f"{line.name} = settle({line.says}, {line.name!r})")
        lines += [f"loss = {loss_of(self.results, 'v')}"] if self.by else []
        names = (*self.results, *(("loss",) if self.by else ()), *self.states)
        return function_of("expected", [i.name for i in self.inputs], lines, names)

    def without(self, *names: str) -> "Program":
        """The program without these lines."""
        return replace(self, lines=tuple(x for x in self.lines if x.name not in names))

    def prune(self) -> "Program":
        """The program without lines and inputs that no result needs."""
        needed = {*self.results, *self.states}
        remaining: list[Line] = []
        for line in reversed(self.lines):
            # Draws stay, used or not: those after them depend on their number.
            if line.name in needed or "rand" in line.text:
                remaining.append(line)
                needed |= {*line.uses}
        inputs = tuple(i for i in self.inputs if i.name in needed)
        by = tuple(n for n in self.by if n in needed)
        return replace(self, lines=tuple(remaining[::-1]), inputs=inputs or self.inputs[:1], by=by)


def loss_of(results: Sequence[str], form: str) -> str:
    """A scalar of all results, with different gradients for different elements."""
    terms: list[str] = []
    for name in results:
        v = form.replace("v", name, 1)
        terms.append(f"(({v} - 0.25) * {v}).sum()")
    return " + ".join(terms)


def function_of(name: str, parameters: Sequence[str], lines: Sequence[str], results: Sequence[str]) -> str:
    body = "\n".join(f"    {line}" for line in lines)
    back = f"    return [{', '.join(results)}]"
    return (
        f"def {name}({', '.join(parameters)}):\n{body}\n{back}"
        if body
        else f"def {name}({', '.join(parameters)}):\n{back}"
    )


def function_of_text(text: str, **scope: Any) -> Callable[..., list[Any]]:
    """The function that a text defines."""
    names: dict[str, Any] = {"fb": fb, "F": fb.nn.functional, "np": np, "ref": reference, **scope}
    exec(compile(text, "<program>", "exec"), names)
    return names[text.split("(")[0].removeprefix("def ")]


def settle_value(value: Array, dtype: dt.DType) -> Array:
    """NumPy's value as the dtype holds it: integers wrap; floats are not round_to."""
    value = np.asarray(value)
    if dtype.is_float:
        return value.astype("f8")
    if dtype is dt.bool_:
        return value.astype(bool)
    if value.dtype.kind == "f":
        value = np.trunc(value)
    return value.astype("i8").astype(dtype.numpy).astype("i8")


def settle_by(dtypes: dict[str, dt.DType]) -> Callable[[Array, str], Array]:
    """`settle_value` for variables by name."""

    def settle(value: Array, name: str) -> Array:
        return settle_value(value, dtypes[name])

    return settle


def tensors(program: Program, device: Any, turn: int) -> dict[str, fb.Tensor]:
    """The inputs of a call on a device."""
    arguments: dict[str, fb.Tensor] = {}
    for i in program.inputs:
        a = i.array(turn)
        # int64 for integers: the cast to their dtype wraps as on a device
        values = a if not i.dtype.is_float else a.astype("f4")
        arguments[i.name] = fb.tensor(values, dtype=i.dtype, device=device)
    return arguments


def call_program(
    program: Program, device: Any, turns: int = 1, settle: Any = None, wrap: Any = None
) -> list[list[fb.Tensor]]:
    """A program's results, call after call: tensors, not computed unless `settle` computes them. wrap: wraps
    the function, as fb.jit does."""
    if any("rand" in line.text for line in program.lines):  # seeding ends others' recordings
        fb.manual_seed(program.seed)
    held = {n: t for n, t in tensors(program, device, 0).items() if n in program.states}
    f = function_of_text(program.source(settle is not None), settle=settle, **held)
    f = f if wrap is None else wrap(f)
    results: list[list[fb.Tensor]] = []
    for turn in range(turns):
        arguments = tensors(program, device, turn)
        outputs = f(*(t for n, t in arguments.items() if n not in program.states))
        # a view of a state shows the values of later calls: keep this call's nodes
        results.append([fb.Tensor(t.node) for t in outputs])
    return results


def expected_results(program: Program, dtypes: dict[str, dt.DType], turns: int = 1) -> list[list[Array]]:
    """NumPy's results, call after call."""
    stream = reference.Stream(program.seed)
    f = function_of_text(program.says(), settle=settle_by(dtypes), stream=stream)
    arrays: dict[str, Array] = {}
    results: list[list[Array]] = []
    for turn in range(turns):
        new = {i.name: i.array(turn) for i in program.inputs}
        # States keep the values of the call before; other inputs are drawn for each call.
        arrays = new | {n: arrays[n] for n in program.states if n in arrays}
        with np.errstate(all="ignore"):
            got = f(**arrays)
        count = len(got) - len(program.states)  # the states come last, see Program.says
        arrays |= dict(zip(program.states, got[count:], strict=True))
        results.append(got[:count])
    return results
