"""Turns the steps of a traced expression into a function of a kernel, named by its Params and buffers."""

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from ..core.dtype import DType
from ..core.events import emit as emit_event
from ..core.events import has_listener
from ..core.node import Node
from ..core.shape import Affine, View
from .cancel import (
    DIFFERENCES,
    FOLDED,
    QUOTIENTS,
    ROOTS,
    exact_differences,
    exact_quotients,
    exact_rests,
    hide_zeros,
)
from .ir import PaddingTest, WgslFunction, WgslIndex, WgslStep

Built = TypeVar("Built")
Run = tuple[int, ...]  # dims that an index walks as one


@dataclass
class Quantities:
    """The numbers of one dispatch, in the order of its Params struct; names are structure, values are not.

    used: how often each prefix was used as a name. The reserved Params of a kernel that names its own.
    """

    names: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    values: list[Any] = field(default_factory=list[Any])
    used: dict[str, int] = field(default_factory=dict[str, int])
    from_host: dict[tuple[Any, str], str] = field(default_factory=dict[tuple[Any, str], str])
    shared: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])

    def add(self, prefix: str, value: Any, wgsl: str = "u32") -> str:
        """The name of a number: its prefix, numbered from the second such one on. A host number is a tuple
        that locates its value at each run; it has one name however often it is added."""
        host: Any = value
        if not isinstance(value, tuple):
            return self._add(prefix, host, wgsl)
        if (host, wgsl) not in self.from_host:
            self.from_host[host, wgsl] = self._add(prefix, host, wgsl)
        return self.from_host[host, wgsl]

    def _add(self, prefix: str, value: Any, wgsl: str) -> str:
        count = self.used.get(prefix, 0)
        self.used[prefix] = count + 1
        name = f"{prefix}{count}" if count else prefix
        self.names.append((name, wgsl))
        self.values.append(value)
        return name

    def once(self, name: str, value: int) -> str:
        """The name of a number of the entire kernel, such as its rows, which is added once."""
        shared = self.shared.get(name)
        if shared is None or shared[1] != value:
            shared = self.shared[name] = self.add(name, value), value
        return shared[0]

    def add_all(self, numbers: Iterable[tuple[str, Any]]) -> list[str]:
        """Add numbers, each with its prefix; their names."""
        return [self.add(prefix, value) for prefix, value in numbers]


@dataclass
class Bindings:
    """The buffers a kernel reads, each once per width of its cells."""

    values: list[int] = field(default_factory=list[int])
    # (stored type, words of a cell)
    kinds: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    def add(self, value: int, dtype: DType, width: int) -> str:
        kind = dtype.stored, dtype.words[width]
        for i, (v, k) in enumerate(zip(self.values, self.kinds, strict=True)):
            if v == value and k == kind:
                return f"in{i}"
        self.values.append(value)
        self.kinds.append(kind)
        return f"in{len(self.values) - 1}"


def coordinates(count: int, letter: str, alone: str) -> list[str]:
    """The names of this many coordinates; a single one is the index, and has its name."""
    return [alone] if count == 1 else [f"{letter}{i}" for i in range(count)]


def name_terms(
    a: Affine, runs: Sequence[Run], coords: Sequence[str], q: Quantities
) -> tuple[tuple[str, str], ...]:
    """The (coordinate, stride) pairs of an index, without its offset."""
    terms: list[tuple[str, str]] = []
    for run, c in zip(runs, coords, strict=True):
        stride = a.strides[run[-1]]
        if stride:
            terms.append((c, "1" if stride == 1 else q.add("stride", stride)))
    return tuple(terms)


def name_index(a: Affine, runs: Sequence[Run], coords: Sequence[str], q: Quantities) -> WgslIndex:
    """An index over coordinates, one for each run of dims."""
    terms = name_terms(a, runs, coords, q)
    return WgslIndex(terms, q.add("offset", a.offset) if a.offset else "")


def name_parts(
    affines: Iterable[Affine], parts: Sequence[tuple[Sequence[Run], Sequence[str]]], q: Quantities
) -> list[tuple[str, list[WgslIndex]]]:
    """Each affine as its offset, and an index over every part of the dims: runs and their coordinates."""
    names: list[tuple[str, list[WgslIndex]]] = []
    for a in affines:
        offset = q.add("offset", a.offset) if a.offset else ""
        names.append((offset, [WgslIndex(name_terms(a, runs, coords, q), "") for runs, coords in parts]))
    return names


class BoundTwice(Exception):
    """A kernel binds more buffers than it may: one that is read both in fours and singly counts twice."""


def check_bindings(b: Bindings, most: int) -> None:
    """Raise BoundTwice if a kernel reads more than `most` buffers."""
    if len(b.values) > most:
        raise BoundTwice


def fitting(build: Callable[[bool], Built]) -> Built:
    """The result of build(narrow=False), whose threads read four neighbours at once if possible; if that
    binds too many buffers, that of build(narrow=True), whose threads read one."""
    try:
        return build(False)
    except BoundTwice:
        return build(True)


def spread_grid(groups: int, limit: int) -> tuple[int, int, int]:
    """Fold a line of workgroups into two dims where it is longer than a device allows."""
    if groups <= limit:
        return max(groups, 1), 1, 1
    # x * y may be more than groups: kernels skip the workgroups beyond their work.
    y = -(-groups // limit)
    return -(-groups // y), y, 1


# --- functions ---


class Raw(NamedTuple):
    """A traced step, before its coordinates have names.

    args: the steps that it reads. view: how it reads a buffer, or where it is padding. value: of the buffer.
    extra: the quantities of a number; of a gather the size and stride of its dim; of a cast the dtype it
    reads. coded: the format of the buffer's blocks, of which a load decodes elements.
    """

    kind: str
    dtype: DType
    node: Node
    args: tuple[int, ...] = ()
    view: View | None = None
    name: str = ""
    value: int = -1
    extra: tuple[Any, ...] = ()
    coded: DType | None = None

    @property
    def held(self) -> DType:
        """The dtype of the buffer's elements."""
        return self.coded or self.dtype


@dataclass(frozen=True)
class Naming:
    """The names of a function: its coordinates, an affine as an index over these, and the buffers and
    quantities of its kernel. inner: the dim along which it computes four neighbours, if any. stats: the
    variables of the reductions that a kernel over rows has computed, by the ids of their nodes. named: the
    emitted form of a step, by `inner`: functions with the same step share its Params.
    """

    coords: tuple[str, ...]
    index_of: Callable[[Affine], WgslIndex]
    inner: int | None
    bindings: Bindings
    quantities: Quantities
    stats: dict[int, str] = field(default_factory=dict[int, str])
    named: dict[tuple[int, int | None], WgslStep] = field(
        default_factory=dict[tuple[int, int | None], WgslStep]
    )


def naming_over(
    runs: Sequence[Run], coords: Sequence[str], bindings: Bindings, q: Quantities, width: int
) -> Naming:
    """The naming of a function over runs of dims, a coordinate each."""
    inner = runs[-1][-1] if width > 1 else None
    return Naming(tuple(coords), lambda a: name_index(a, runs, coords, q), inner, bindings, q)


def emit(raws: Sequence[Raw], naming: Naming, result: int, some: Iterable[int] | None = None) -> WgslFunction:
    """Write the WGSL function of all steps of an expression, or of the steps `some`. It names coordinates
    and adds quantities to Params. The head's result is an argument of an epilogue."""
    steps = range(len(raws)) if some is None else some
    acc = tuple([i for i in steps if raws[i].kind == "acc"])
    steps = [i for i in steps if i not in acc]
    lines = tuple(_exact([_name_step(raws, i, naming) for i in steps]))
    if has_listener("emitted"):
        emit_event("emitted", lines, [raws[i].node for i in steps])
    width = 1 if naming.inner is None else 4
    arguments = tuple(sorted([(variable(raws, i), raws[i].dtype.short, width) for i in acc]))
    dtype = raws[result].dtype.short
    return WgslFunction(naming.coords, lines, variable(raws, result), dtype, width, arguments)


def _exact(steps: Sequence[WgslStep]) -> Sequence[WgslStep]:
    """The steps of a function, with other operations where a driver would drop infinities and NaN."""
    names = [s.name for s in steps if s.kind == "op"]
    if names.count("sub") > 1:
        steps = exact_rests(steps)
    # Without a negation or a difference nothing cancels, and without a quotient or a root nothing is reduced.
    if any([n in DIFFERENCES for n in names]):
        steps = exact_differences(steps)
    if any([n in QUOTIENTS or n in ROOTS for n in names]):
        steps = exact_quotients(steps)
    if "cast" in names and any([n in FOLDED for n in names]):
        steps = hide_zeros(steps)
    return steps


def emit_from(raws: Sequence[Raw], naming: Naming, root: int, held: Container[int]) -> WgslFunction:
    """The function of a step of a kernel over rows. Its arguments are the elements that lanes hold (`held`,
    steps) and the results of the row's reductions."""
    # Not below held steps: their values are arguments.
    steps = below(raws, root, held)
    width = 1 if naming.inner is None else 4
    holds = [(f"t{s}", raws[s].dtype.short, width) for s in steps if s in held]
    stats = {naming.stats[id(raws[s].node)]: raws[s].dtype.short for s in steps if raws[s].kind == "stat"}
    body = emit(raws, naming, root, [s for s in steps if s not in held])
    arguments = (*holds, *[(name, dtype, 1) for name, dtype in stats.items()])
    return body._replace(arguments=arguments, each=tuple([name for name, *_ in holds]))


def variable(raws: Sequence[Raw], step: int) -> str:
    """The variable of a step's value; that of the head's result is `acc`, of a second head's `acc_beside`."""
    return raws[step].name or "acc" if raws[step].kind == "acc" else f"t{step}"


def _name_step(raws: Sequence[Raw], i: int, naming: Naming) -> WgslStep:
    if (step := naming.named.get((i, naming.inner))) is not None:
        return step
    s, q = raws[i], naming.quantities
    name, extra, index, tests = s.name, (), None, ()
    if s.view is not None:
        if s.kind != "guard":  # a guard reads nothing: only its tests count
            index = naming.index_of(s.view.index)
        tests = tuple(
            [PaddingTest(naming.index_of(b.position), q.add("padded", b.size)) for b in s.view.bounds]
        )
    match s.kind:
        case "load" | "gather":
            read = reading(raws, i, naming.inner)
            width = 4 if read == "four" else 1
            name, extra = naming.bindings.add(s.value, s.held, width), (width,)
            if s.kind == "gather":
                extra = (q.add("dim", s.extra[0]), q.add("stride", s.extra[1]), read)
        case "scalar":
            name = q.add("scalar", s.extra[0], s.dtype.wide.stored)
        case "random":
            extra = tuple([q.add("seed", word) for word in s.extra])
        case "inside":
            dtype, words = s.extra
            extra = (dtype.short, *[q.add("check", value, kind) for kind, value in words])
        case "op" if s.extra:
            extra = (s.extra[0].short,)
        case "stat":
            name = naming.stats[id(s.node)]
        case _:
            pass
    args = tuple([variable(raws, a) for a in s.args])
    step = WgslStep(s.kind, f"t{i}", s.held.short, name, args, index, tests, extra)
    naming.named[i, naming.inner] = step
    return step


def label(head: str, *expressions: Sequence[Raw]) -> str:
    """`matmul+add+relu`: the head and the ops fused with it, in order."""
    names = [s.name for raws in expressions for s in raws if s.kind == "op"]
    if len(names) > 6:
        names = [*names[:5], f"{len(names) - 5} more"]
    return "+".join([head, *names] if head else names or ["copy"])


# --- four neighbours ---


def can_widen(raws: Sequence[Raw], runs: Sequence[Run], sizes: Sequence[int]) -> bool:
    """Whether four neighbours of the innermost run can be read at once everywhere."""
    # else a vec4 may end after them: adjacent elements are readable up to a whole vec4
    return (
        bool(runs)
        and (sizes[-1] % 4 == 0 or (len(runs) == 1 and _may_end_behind(raws, runs[-1][-1])))
        and (are_side_by_side(raws, runs))
    )


def _may_end_behind(raws: Sequence[Raw], inner: int) -> bool:
    """Whether no step checks indices, and no gather reads neighbours one by one at separate positions."""
    gathers = [(i, s.view.index) for i, s in enumerate(raws) if s.kind == "gather" and s.view]
    strides = any([a.strides[inner] and reading(raws, i, inner) == "each" for i, a in gathers])
    return not strides and not any([s.kind == "inside" for s in raws])


def are_side_by_side(raws: Sequence[Raw], runs: Sequence[Run]) -> bool:
    """Whether four neighbours of the innermost run are adjacent in all that the steps load. A gather may read
    them one by one: the ops around it still compute all four at once."""
    last = runs[-1][-1]
    for s in raws:
        if s.view is None:
            continue
        if any([b.position.strides[last] for b in s.view.bounds]):
            return False
        index = s.view.index
        if s.kind in ("iota", "gather") or index.strides[last] == 0:
            continue
        others = [index.strides[run[-1]] for run in runs[:-1]]
        # vec4 loads begin at multiples of four elements, in whatever row or plane.
        if index.strides[last] != 1 or _breaks(index.offset, *others):
            return False
    return True


def _breaks(*strides: int) -> bool:
    """Whether steps of these strides may lead from the start of a vec4 to a position inside one."""
    return any([s % 4 for s in strides])


def reading(raws: Sequence[Raw], i: int, inner: int | None) -> str:
    """How the i-th step reads four neighbours along the dim `inner`: "four" (a vec4), "one" (the same value
    for all), or "each"; also "one" without such a dim."""
    s = raws[i]
    if inner is None or s.view is None or s.kind not in ("load", "gather"):
        return "one"
    index = s.view.index
    if s.kind == "load":
        return "four" if index.strides[inner] else "one"
    if _varies(raws, s.args[0], inner):
        return "each"
    if not index.strides[inner]:
        return "one"
    others = [n for d, n in enumerate(index.strides) if d != inner]
    return "each" if index.strides[inner] != 1 or _breaks(index.offset, s.extra[1], *others) else "four"


def _varies(raws: Sequence[Raw], i: int, inner: int) -> bool:
    """Whether a step differs between neighbours along a dim."""
    return any(
        s.kind in ("acc", "stat")
        or (s.view is not None and s.kind != "guard" and s.view.index.strides[inner])
        for s in (raws[j] for j in below(raws, i))
    )


def below(raws: Sequence[Raw], root: int, stop: Container[int] = ()) -> list[int]:
    """The steps that a step depends on, itself too, in order; not those below a step of `stop`."""
    seen: set[int] = set()
    todo = [root]
    while todo:
        i = todo.pop()
        if i not in seen:
            seen.add(i)
            todo += () if i in stop else raws[i].args
    return sorted(seen)
