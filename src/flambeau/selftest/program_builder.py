"""Builds programs line by line: tracks each variable, and draws sizes, inputs and variables."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple, TypeVar

import numpy as np

import flambeau as fb

from ..core import dtype as dt
from ..core.limits import Limits
from ..kernels import ir, reduce, rows
from ..kernels.contract import dispatch, registers, skinny
from ..ops.attention import launches
from ..ops.index import scatter_rows as scatters
from ..ops.sort import scan, sort
from . import reference
from .programs import Input, Line, Program, function_of_text, settle_value, tensors

Array = Any
T = TypeVar("T")
LARGEST = {dt.float32: 2.0**16, dt.float16: 2.0**9, dt.bfloat16: 2.0**12}
SMALL = (1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33, 63, 64, 65)
FLOATS = (dt.float32, dt.float32, dt.float32, dt.float16, dt.bfloat16)
EVERY = (*FLOATS, dt.int64, dt.int32, dt.int32, dt.uint32, dt.int8, dt.uint8, dt.int16, dt.uint16, dt.bool_)
# sizes at which the code chooses or splits kernels differently
THRESHOLDS = sorted({
    reduce.SPLIT_AT, reduce.SOFTWARE_FILL, reduce.PIECES, rows.HELD_REGISTERS, scan.TILE, scan.LEAST,
    scan.FEW * scan.LEAST, sort.SHORT, sort.FEWEST, sort.LITTLE // 4, 2 * sort.BLOCK, sort.FEW, sort.BEST,
    256 * sort.HELD,
    scatters.CHUNK, 16 * scatters.CHUNK, skinny.FEW_ROWS, registers.TRANSPOSE_FROM, registers.PACK_FROM,
    launches.LEAST_KEYS, launches.MOST_FEW, ir.WORKGROUP, ir.GPU_WORKGROUP,
    *(n for pair in rows.THREADS_OF_A_ROW for n in pair),
    *(n for t in dispatch.TILES.values() for n in t[:3]),
    *(4 * s.lanes * s.reads for s in skinny.SKINNY.values()),
})  # fmt: skip
GROUPS = Limits.groups


class Value(NamedTuple):
    """A variable: a tensor on NumPy's device that is never computed, and NumPy's value."""

    name: str
    tensor: Any
    array: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tensor.shape

    @property
    def ndim(self) -> int:
        return len(self.tensor.shape)

    @property
    def dtype(self) -> dt.DType:
        return self.tensor.dtype

    @property
    def is_float(self) -> bool:
        return self.tensor.dtype.is_float

    @property
    def is_number(self) -> bool:
        return self.tensor.dtype is not dt.bool_


class Builder:
    """A program that grows by lines. Lines with too large or non-finite values are rejected."""

    def __init__(self, seed: int, most: int = 1 << 14, sizes: int | None = None):
        self.rng, self.seed, self.most = np.random.default_rng(seed), seed, most
        self.odd = False  # whether values may be infinite or NaN
        # sizes have their own generator: equal lines with other sizes need no new shader
        self.sizes = np.random.default_rng([seed, sizes]) if sizes is not None else self.rng
        self.inputs: list[Input] = []
        self.lines: list[Line] = []
        self.values: list[Value] = []
        self.states: list[str] = []
        self.stream = reference.Stream(seed)
        self.scope: dict[str, Any] = {"fb": fb, "F": fb.nn.functional, "np": np}
        self.said: dict[str, Any] = {"np": np, "ref": reference, "stream": self.stream}
        fb.manual_seed(seed)

    # --- draws ---

    def one(self, options: Sequence[T]) -> T:
        return options[int(self.rng.integers(len(options)))]

    def chance(self, of: float) -> bool:
        return bool(self.rng.random() < of)

    def whole(self, low: int, high: int) -> int:
        """An integer from low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def small(self, most: int = 65) -> int:
        return int(self.sizes.choice([n for n in SMALL if n <= most]))

    def size(self, most: int = 1 << 14) -> int:
        """A size: small, at a kernel's threshold, a multiple of one, or beside it."""
        draw = self.sizes
        kind = draw.integers(4)
        if kind == 0:
            return self.small(most)
        threshold = int(draw.choice([n for n in THRESHOLDS if n <= most] or [1]))
        if kind == 1:
            threshold += int(draw.integers(-1, 2))
        elif kind == 2:
            threshold = threshold * int(draw.integers(1, 9)) + int(draw.choice((0, 0, 1, -1, 4)))
        else:
            threshold = int(draw.integers(1, min(most, 300) + 1))
        return max(min(threshold, most), 1)

    def length(self, most: int = 1 << 13) -> int:
        """A row's length: each power of two is as likely, and in a third of the draws a multiple of 4."""
        n = int(most ** float(self.sizes.random()))
        return max(n - n % 4, 1) if self.sizes.random() < 1 / 3 else n

    def pick(self, fits: Callable[[Value], bool] = lambda v: True) -> Value | None:
        """One of the latest values that fit."""
        fitting = [v for v in self.values if fits(v)]
        # Late values, so that lines build on each other.
        return self.one(fitting[-8:]) if fitting else None

    # --- additions ---

    def input(self, shape: Sequence[int], dtype: dt.DType, kind: str = "quarters", top: int = 2) -> Value:
        name = f"v{len(self.values)}"
        entry = Input(name, tuple(shape), dtype, kind, self.whole(0, 1 << 30), top)
        array = entry.array()
        self.inputs.append(entry)
        return self._enter(Value(name, _placeholder(shape, dtype), array))

    def places(self, shape: Sequence[int], top: int, kind: str = "places") -> Value:
        """Integers below top; kind "each": each at most once in a row."""
        return self.input(shape, dt.int32, kind, top)

    def line(self, text: str, says: str) -> Value | None:
        """Add a line, unless its value is too large or not finite."""
        # A rejected line must not advance the stream of random numbers.
        place = self.stream.place
        tensor = eval(text, self.scope)  # shape and dtype; nothing is computed
        if prod(tensor.shape) > self.most or tensor.ndim > 6:
            return None
        with np.errstate(all="ignore"):
            array = settle_value(eval(says, self.said), tensor.dtype)
        if array.shape != tensor.shape:
            raise AssertionError(f"{text} has shape {list(tensor.shape)}, {says} {list(array.shape)}")
        if not self._holds(tensor.dtype, array):
            self.stream.place = place
            return None
        name = f"v{len(self.values)}"
        self.lines.append(Line(name, text, says))
        return self._enter(Value(name, tensor, array))

    def assign(self, state: Value, value: Value) -> None:
        """Add a line that assigns to an input."""
        self.lines.append(Line(state.name, f"{state.name}.assign_({value.name})", value.name))
        if state.name not in self.states:
            self.states.append(state.name)
        index = next(i for i, v in enumerate(self.values) if v.name == state.name)
        fresh = _placeholder(state.shape, state.dtype, False)
        self.values[index] = self._define(Value(state.name, fresh, settle_value(value.array, state.dtype)))

    def _enter(self, v: Value) -> Value:
        self.values.append(v)
        return self._define(v)

    def _define(self, v: Value) -> Value:
        self.scope[v.name], self.said[v.name] = v.tensor, v.array
        return v

    def _holds(self, dtype: dt.DType, array: Array) -> bool:
        if not dtype.is_float:
            return True
        finite = np.isfinite(array)
        largest = np.abs(array).max(initial=0, where=finite)
        return bool((self.odd or finite.all()) and largest <= LARGEST[dtype])

    def finish(self, family: str = "", results: int = 4, gradients: bool = True) -> Program:
        """The program. Results are variables that no line uses and the last one; gradients are by all float
        inputs."""
        used = {name for line in self.lines for name in line.uses if name != line.name}
        names = [line.name for line in self.lines if line.name not in self.states]
        unused = [n for n in names if n not in used] or names[-1:]
        more = [n for n in names if n in used]
        if more and self.chance(0.2):
            unused = [self.one(more), *unused]
        by = tuple(i.name for i in self.inputs if i.dtype.is_float and i.name not in self.states)
        program = Program(
            tuple(self.inputs),
            tuple(self.lines),
            tuple(dict.fromkeys(unused[-results:])),
            by if gradients else (),
            self.seed,
            tuple(self.states),
            family,
        ).prune()
        return program if flows(program) else replace(program, by=())


def flows(program: Program) -> bool:
    """Whether the results have a gradient by one of the requested inputs."""
    names = [n for n in program.results]
    scope: dict[str, Any] = {n: t for n, t in tensors(program, "cpu", 0).items()}
    f = function_of_text(replace(program, by=()).source(), **{n: scope[n] for n in program.states})
    for n in program.by:
        scope[n] = scope[n].requires_grad_()
    results = f(*(t for n, t in scope.items() if n not in program.states))
    return any(t.requires_grad for _, t in zip(names, results, strict=True))


def _placeholder(shape: Sequence[int], dtype: dt.DType, slopes: bool = True) -> Any:
    """A tensor that is never computed; it has a shape and a dtype."""
    zeros = fb.zeros(*shape, dtype=dtype, device="cpu")
    return zeros.requires_grad_() if dtype.is_float and slopes else zeros


def only(b: Builder, value: Value) -> Builder:
    """The same program, but lines can pick only one value."""

    class One(Builder):
        def __init__(self):
            self.__dict__.update(b.__dict__)  # shares lists and generators with b

        def pick(self, fits: Callable[[Value], bool] = lambda v: True) -> Value | None:
            return value if fits(value) else None

    return One()
