"""The structure of a kernel between lowering and its text: indices, steps, bindings, Params."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

from ..core.dtype import DType
from ..core.limits import Limits
from ..core.node import Node
from ..core.shape import Affine

WORKGROUP = 64
GPU_WORKGROUP = 128  # of a map on a GPU: with 64 a copy reaches 0.79 of the bandwidth that it has with 128

Built = TypeVar("Built")


class Stored(Protocol):
    """What building a kernel asks of the plan that it is for: which values there are, and what they are
    called. A value is a number; several may be of one node. lower.py answers what is asked most: `is_there`,
    `value_of`, `base_of`.

    stored: nodes whose values are kept in buffers; emitted: those that have their kernels; current: those
    whose kernel is being built. index: a node's value, and users: who reads a node, both by the node's id;
    value_shared: of nodes that need no kernel, the value that they are. classes: nodes of one class are
    equal. epilogues: a head, and what its kernel goes on with. max_inputs: buffers that one kernel may read.
    """

    limits: Limits
    stored: set[Node]
    emitted: set[Node]
    current: set[Node]
    index: dict[int, int]
    value_shared: dict[Node, int]
    classes: dict[Node, int]
    users: dict[int, list[Node]]
    epilogues: dict[Node, list[Node]]
    max_inputs: int

    def temporary(self, elements: int, itemsize: int = 4) -> int:
        """A new value that is no node's, of so many elements."""
        ...


class WgslIndex(NamedTuple):
    """offset + sum(coordinate * stride); strides are Params names, or "1"; offset is a Params name or ""."""

    terms: tuple[tuple[str, str], ...]
    offset: str


class PaddingTest(NamedTuple):
    """Whether a position is inside 0..size: what padding asks."""

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
    index: WgslIndex | None = None
    tests: tuple[PaddingTest, ...] = ()
    extra: tuple = ()


class WgslFunction(NamedTuple):
    """A WGSL function over coordinates that gives one value (of `width` neighbours).

    given: values that it does not compute, as (name, dtype, width); they come before the coordinates.
    each: those of them that every read of a lane has of its own, as rows are read.
    results: several values in place of one, as (name, dtype).
    """

    coords: tuple[str, ...]
    steps: tuple[WgslStep, ...]
    result: str
    dtype: str
    width: int
    given: tuple[tuple[str, str, int], ...] = ()
    results: tuple[tuple[str, str], ...] = ()
    each: tuple[str, ...] = ()


@dataclass
class Quantities:
    """The numbers of one dispatch, in the order of its Params struct; names are structure, values are not.

    used: how often each prefix was used as a name. A kernel that names Params itself begins with these.
    """

    names: list[tuple[str, str]] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    used: dict[str, int] = field(default_factory=dict)
    from_host: dict[tuple[Any, str], str] = field(default_factory=dict)

    def add(self, prefix: str, value: Any, wgsl: str = "u32") -> str:
        """The name of a number: its prefix, numbered from the second such one on. A host number, which is a
        tuple that says where it is at each run, has one name however often it is added."""
        if isinstance(value, tuple):
            name = self.from_host.get((value, wgsl))
            if name is None:
                name = self.from_host[value, wgsl] = self._add(prefix, value, wgsl)
            return name
        return self._add(prefix, value, wgsl)

    def _add(self, prefix: str, value: Any, wgsl: str) -> str:
        count = self.used.get(prefix, 0)
        self.used[prefix] = count + 1
        name = f"{prefix}{count}" if count else prefix
        self.names.append((name, wgsl))
        self.values.append(value)
        return name

    def add_all(self, numbers: Iterable[tuple[str, Any]]) -> list[str]:
        """Add numbers, each with its prefix; their names."""
        return [self.add(prefix, value) for prefix, value in numbers]


@dataclass
class Bindings:
    """The buffers a kernel reads, each once per width of its cells."""

    values: list[int] = field(default_factory=list)
    kinds: list[tuple[str, int]] = field(default_factory=list)  # (stored type, words of a cell)

    def add(self, value: int, dtype: DType, width: int) -> str:
        kind = dtype.stored, dtype.words[width]
        for i, (v, k) in enumerate(zip(self.values, self.kinds, strict=True)):
            if v == value and k == kind:
                return f"in{i}"
        self.values.append(value)
        self.kinds.append(kind)
        return f"in{len(self.values) - 1}"


def coordinates(count: int, letter: str, alone: str) -> list[str]:
    """The names of so many coordinates; one alone is the index itself, and is called as that is."""
    return [alone] if count == 1 else [f"{letter}{i}" for i in range(count)]


def name_index(a: Affine, runs, coords, q: Quantities) -> WgslIndex:
    terms = []
    for run, c in zip(runs, coords, strict=True):
        stride = a.strides[run[-1]]
        if stride:
            terms.append((c, "1" if stride == 1 else q.add("stride", stride)))
    return WgslIndex(tuple(terms), q.add("offset", a.offset) if a.offset else "")


def name_parts(a: Affine, parts: Iterable[tuple[Any, Any]], q: Quantities) -> tuple[WgslIndex, ...]:
    """The terms of an index by parts, each of runs and their coordinates; the offset is in none of them."""
    place = Affine(a.strides, 0)
    return tuple(name_index(place, runs, coords, q) for runs, coords in parts)


MAPS = ("map", "map_multi")  # a thread reads only those elements of a value of its shape that it writes


@dataclass(frozen=True)
class Shader:
    """What codegen turns into WGSL, and the key of the pipeline: structure only.

    kind: what passes over finished kernels may ask for: map (one result), map_multi (several), map_bundle
    (several kernels' maps), split_sum (partial sums into their sum); "" for all others.
    """

    template: str
    params: tuple[tuple[str, str], ...]
    bindings: tuple[tuple[str, int], ...]
    outs: tuple[tuple[str, int], ...]  # dtype and width of what is written: out, out1, ...
    workgroup: tuple[int, int, int]
    functions: tuple[tuple[str, WgslFunction], ...]
    options: tuple[tuple[str, Any], ...] = ()
    kind: str = ""

    @property
    def checks(self) -> bool:
        """Whether it checks indices, and binds one more buffer to note those that are outside."""
        return any(s.kind == "inside" for _, f in self.functions for s in f.steps)


def out_name(i: int) -> str:
    """What a template calls the i-th buffer that it writes."""
    return f"out{i}" if i else "out"


@dataclass(frozen=True)
class Kernel:
    """One dispatch: the shader, the values it reads and writes, its quantities and its grid.

    over: (an output, the value that it is written over, and that is read from there); see fusion/inplace.py.
    ends: why what it computes is stored, and not a part of the kernels that read it.
    instead: an input, and the kernel that serves where the result may be written over it.
    parts: the kernels whose work it does, where that is several's; see fusion/horizontal.py.
    """

    name: str
    shader: Shader
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    quantities: tuple
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
        """The values that it reads: its inputs, and what it writes over."""
        return (*self.inputs, *(x for _, x in self.over))


def numbers_of(k: Kernel) -> dict[str, Any]:
    """A kernel's quantities by their names."""
    return {name: q for (name, _), q in zip(k.shader.params, k.quantities, strict=True)}


class BoundTwice(Exception):
    """A kernel binds more buffers than it may: one that is read both in fours and singly counts twice."""


def check_bindings(b: Bindings, most: int) -> None:
    """BoundTwice where a kernel reads more than so many buffers."""
    if len(b.values) > most:
        raise BoundTwice


def fitting(build: Callable[[bool], Built]) -> Built:
    """What build(narrow=False) makes, whose threads read four neighbours at once where they can; where that
    has no room for its buffers, what build(narrow=True) makes, whose threads read one."""
    try:
        return build(False)
    except BoundTwice:
        return build(True)


def spread_grid(groups: int, limit: int) -> tuple[int, int, int]:
    """Fold a line of workgroups into two dims where it is longer than a device allows."""
    if groups <= limit:
        return max(groups, 1), 1, 1
    y = -(-groups // limit)
    return -(-groups // y), y, 1
