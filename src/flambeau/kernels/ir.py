"""The structure of a kernel between lowering and its text: indices, steps, functions, shaders."""

from dataclasses import dataclass
from typing import Any, NamedTuple

WORKGROUP = 64
GPU_WORKGROUP = 128  # of a map on a GPU: with 64 a copy reaches 0.79 of the bandwidth that it has with 128


class WgslIndex(NamedTuple):
    """offset + sum(coordinate * stride); strides are Params names, or "1"; offset is a Params name or ""."""

    terms: tuple[tuple[str, str], ...]
    offset: str


class PaddingTest(NamedTuple):
    """Whether a position is inside 0..size, for padding."""

    position: WgslIndex
    size: str


class WgslStep(NamedTuple):
    """A line of a function: load, pieces (a sum), scalar, iota, random, op, inside, settle, guard, gather,
    acc."""

    kind: str
    var: str
    dtype: str
    name: str = ""  # the op, the Params name, or the binding
    args: tuple[str, ...] = ()
    index: WgslIndex | None = None  # pyright: ignore[reportIncompatibleMethodOverride]: no step is searched
    tests: tuple[PaddingTest, ...] = ()
    extra: tuple[Any, ...] = ()


class WgslFunction(NamedTuple):
    """A WGSL function over coordinates that gives one value (of `width` neighbours).

    arguments: values that its caller computes, as (name, dtype, width); they come before the coordinates.
    each: those arguments that differ between the reads of a lane, as in a kernel over rows.
    results: several values instead of one, as (name, dtype).
    """

    coords: tuple[str, ...]
    steps: tuple[WgslStep, ...]
    result: str
    dtype: str
    width: int
    arguments: tuple[tuple[str, str, int], ...] = ()
    results: tuple[tuple[str, str], ...] = ()
    each: tuple[str, ...] = ()


MAPS = ("map", "map_multi")  # a thread reads only those elements of a value of its shape that it writes


@dataclass(frozen=True)
class Shader:
    """The input of codegen, and the key of the pipeline: structure only.

    kind: checked by passes over finished kernels: map (one result), map_multi (several), map_bundle (several
    kernels' maps), split_sum (adds partial sums), beside (its template reads only the builtins `wid` and
    `lid`, so it may be part of a bundle), bundle; "" for all others.
    """

    template: str
    params: tuple[tuple[str, str], ...]
    bindings: tuple[tuple[str, int], ...]
    outs: tuple[tuple[str, int], ...]  # dtype and width of the written buffers: out, out1, ...
    workgroup: tuple[int, int, int]
    functions: tuple[tuple[str, WgslFunction], ...]
    options: tuple[tuple[str, Any], ...] = ()
    kind: str = ""

    @property
    def checks(self) -> bool:
        """Whether it checks indices, and binds one more buffer to note those that are outside."""
        return any(s.kind == "inside" for _, f in self.functions for s in f.steps)


def out_name(i: int) -> str:
    """The template's name for the i-th buffer that it writes."""
    return f"out{i}" if i else "out"


@dataclass(frozen=True)
class Kernel:
    """One dispatch: the shader, the values it reads and writes, its quantities and its grid.

    over: (an output, the value that it is written over, and that is read from there); see fusion/inplace.py.
    ends: why its result is stored instead of being part of the kernels that read it.
    instead: an input, and the kernel that serves where the result may be written over it.
    parts: the kernels that it replaces, if several; see fusion/horizontal.py.
    """

    name: str
    shader: Shader
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    quantities: tuple[Any, ...]
    grid: tuple[int, int, int]
    flops: int = 0  # operations that a profile counts, where fusion/plan.py could not tell from the graph
    over: tuple[tuple[int, int], ...] = ()
    ends: str = ""
    instead: "tuple[int, Kernel] | None" = None
    parts: "tuple[Kernel, ...]" = ()

    @property
    def binds(self) -> int:
        """How many buffers it binds; one that is read both in fours and singly counts twice."""
        return len(self.inputs) + len(self.outputs) + self.shader.checks

    @property
    def reads(self) -> tuple[int, ...]:
        """The values that it reads: its inputs, and those that it overwrites."""
        return (*self.inputs, *(x for _, x in self.over))


def numbers_of(k: Kernel) -> dict[str, Any]:
    """A kernel's quantities by their names."""
    return {name: q for (name, _), q in zip(k.shader.params, k.quantities, strict=True)}
