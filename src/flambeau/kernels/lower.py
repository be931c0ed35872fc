"""Lowering: the expression behind a value, over a kernel's domain, becomes steps: loads, scalars and op
calls."""

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

from ..core.dtype import DType
from ..core.events import emit, has_listener
from ..core.node import Node
from ..core.shape import Affine, Shape, View, collapse, run_size
from ..errors import KernelError
from .cancel import EXACT, exact
from .ir import (
    Bindings,
    PaddingTest,
    Quantities,
    Stored,
    WgslFunction,
    WgslIndex,
    WgslStep,
    coordinates,
    name_index,
)
from .vectorize import can_widen, reading

MAX_STEPS = 120  # longer chains are cut: compile time grows faster than what fusing them saves
MAX_DEPTH = 60
PARAMS = 256  # words of Params that a kernel may have
MAX_WORDS = 160  # of these that the steps of one expression may ask for: a kernel needs some for itself
MOST_WORDS = 220  # of these after which an expression is cut that had fewer when it was begun
LONGEST = (MAX_STEPS, MAX_WORDS)
# of an opaque op's input, computed where it is read: to store it is one more kernel
LONGEST_TRACED = (300, MOST_WORDS)
# elementwise ops whose WGSL has a loop, and its turns
LOOPS = {
    "digamma": 6,
    "divide_high": 64,
    "divide_low": 64,
    "divisor_high": 128,
    "divisor_low": 128,
    "fmod": 32,
    "gcd": 47,
    "igamma": 1000,
    "igammac": 1000,
    "lgamma": 6,
    "pow": 31,
    "power_high": 64,
    "power_low": 64,
    "random": 10,
    "remainder": 32,
    "zeta": 8,
}
# what comparisons of a float with itself ask: drivers fold them as if there were no NaN
OF_ITSELF = {n: ("isnan", "logical_not") for n in ("eq", "le", "ge")} | {"ne": ("isnan",)}
MAX_ELEMENTS = 2**31  # what the indices of kernels, 32 bits, are sure to reach


def check_size(shape: Shape) -> None:
    """ValueError where a kernel would be over more elements than its indices reach."""
    if prod(shape) > MAX_ELEMENTS:
        rule = f"{prod(shape):,} elements are more than the {MAX_ELEMENTS:,} that a kernel can index"
        raise ValueError(f"run({list(shape)}): {rule}: split the tensor")


def check_turns(limits: Any, name: str, turns: int) -> None:
    """KernelError where a thread would take more turns of loops than the adapter lets it."""
    if turns > limits.turns:
        rule = f"a thread of it would take {turns:,} turns of loops, and this adapter ends them after 65,535"
        raise KernelError(f"{name}: {rule}: use smaller tensors, or another device")


@dataclass(frozen=True)
class Planned:
    """A number that a planner put into a graph: `quantity` is the number, or where it is found at each run
    (see `Quantities`)."""

    quantity: Any


class NeedStore(Exception):
    """Raised while lowering when a node can't be part of this kernel: the planner stores it and tries
    again. shape: the dims that it could be read over, where those of the kernel stand in the way."""

    def __init__(self, node: Node, why: str, shape: Shape = ()):
        self.node, self.why, self.shape = node, why, shape


class Move(NamedTuple):
    """A movement op to be applied to a view; `below` is the node to store where no strides can say it."""

    name: str
    args: tuple
    below: Node | None


MOVES: dict[str, Callable[..., View | None]] = {
    "reshape": View.reshape,
    "permute": View.permute,
    "expand": View.expand,
    "_slice": View.slice,
    "_pad": View.pad,
    "_windows": View.windows,
    "detach": lambda v: v,
}


def move_of(node: Node) -> Move:
    return Move(node.op.name, tuple(node.attrs.values()), node.inputs[0])


def view_through(start: Shape | View, chain: tuple[Move, ...]) -> View:
    """A view, or that of a contiguous shape, after every move of the chain, innermost first."""
    view = start if isinstance(start, View) else View.of(start)
    for i, move in enumerate(chain):
        if move.name == "reshape" and chain[i + 1 : i + 2] and chain[i + 1].name == "reshape":
            continue  # the next one says all
        moved = MOVES[move.name](view, *move.args)
        if moved is None:
            below = move.below or chain[i - 1].below  # the planner's own reshapes only split dims
            raise NeedStore(below, "this reshape needs a copy", view.shape)  # type: ignore[arg-type]
        view = moved
    return view


def alias(node: Node) -> Node:
    """The node that computes the value: composites stand for the graph they were lowered to."""
    while node.op.kind == "composite" and node.buffer is None:
        node = node.inputs[0]
    return node


# --- what a plan has ---


def is_there(plan: Stored, node: Node) -> bool:
    """Whether a node's elements are in a buffer before the kernel that is being built."""
    return node.buffer is not None or (node in plan.emitted and node in plan.stored)


def is_due(plan: Stored, node: Node) -> bool:
    """Whether a node has to be stored before a kernel that reads it, and is not yet."""
    return node in plan.stored and node not in plan.emitted and node not in plan.current


def value_of(plan: Stored, node: Node) -> int:
    """The value whose buffer a node's elements are in."""
    value = plan.value_shared.get(node)
    return plan.index[id(node)] if value is None else value


def base_of(plan: Stored, node: Node) -> tuple[Node, tuple[Move, ...]]:
    """The node whose elements `node` shows, and the moves from there."""
    chain: tuple[Move, ...] = ()
    node = alias(node)
    while node.op.kind == "movement" and not is_there(plan, node):
        chain = (move_of(node), *chain)
        node = alias(node.inputs[0])
    return node, chain


# --- tracing ---


class Raw(NamedTuple):
    """A step before its coordinates have names."""

    kind: str
    dtype: DType
    node: Node
    args: tuple[int, ...] = ()
    view: View | None = None
    name: str = ""
    value: int = -1
    extra: tuple = ()


@dataclass(frozen=True)
class Naming:
    """What the names in a function stand for: its coordinates, an affine as an index over these, and the
    buffers and quantities of its kernel. inner: the dim of which it makes four neighbours, if it does."""

    coords: tuple[str, ...]
    index_of: Callable[[Affine], WgslIndex]
    inner: int | None
    bindings: Bindings
    quantities: Quantities


def naming_over(runs, coords, bindings: Bindings, q: Quantities, width: int) -> Naming:
    """The naming of a function over runs of dims, a coordinate each."""
    inner = runs[-1][-1] if width > 1 else None
    return Naming(tuple(coords), lambda a: name_index(a, runs, coords, q), inner, bindings, q)


class Trace:
    """Walks an expression over a domain into raw steps; `planner` knows what is stored and as which value.

    `outputs`: how many buffers the kernel writes that it does not read, of all that it may bind.
    `can_check`: whether it computes the expression only where there are elements, so that an index which is
    outside is a fault.
    """

    def __init__(
        self,
        planner: Stored,
        domain: Shape,
        head: Node | None = None,
        outputs: int = 1,
        can_check: bool = False,
        longest: tuple[int, int] = LONGEST,
    ):
        check_size(domain)
        self.planner, self.domain, self.head = planner, domain, head
        self.most = planner.limits.storage_buffers - outputs
        self.most_steps, self.most_words = longest
        self.can_check, self.checks = can_check, False  # one that checks indices binds what notes faults
        self.steps: list[Raw] = []
        self.words = 0  # how many Params the steps ask for at most
        self.memo: dict = {}
        self.reads: set[int] = set()
        self.uses: dict[int, set[int]] = {}  # step -> the buffers below it
        self.top: Node | None = None

    def cost(self) -> int:
        """The price of an element, by `Op.cost`."""
        return sum(s.node.op.cost for s in self.steps if s.kind == "op")

    def value(self, node: Node, chain: tuple[Move, ...] = (), depth: int = 0) -> int:
        """The step that holds `node` seen through `chain`."""
        node = alias(node)
        while node.op.kind == "movement" and not is_there(self.planner, node):
            chain = chain if node.op.name == "detach" else (move_of(node), *chain)
            node = alias(node.inputs[0])
        key = (self.planner.classes[node], *[move[:2] for move in chain])
        if key not in self.memo:
            self.memo[key] = self._trace(node, chain, depth)
        return self.memo[key]

    def _trace(self, node: Node, chain: tuple[Move, ...], depth: int) -> int:
        if node is self.head:
            return self._add(Raw("acc", node.dtype, node))
        if is_there(self.planner, node):
            return self._read(node, chain)
        if is_due(self.planner, node):
            raise NeedStore(node, "others read it too")
        kind = node.op.kind
        if kind == "source":
            return self._source(node, chain)
        if kind == "gather":
            return self._gather(node, chain, depth)
        if depth > MAX_DEPTH or len(self.steps) > self.most_steps or self.words > self.most_words:
            raise NeedStore(node, "the chain is long")
        if node.op.name == "_inside":
            return self._inside(node, chain, depth)
        if kind == "elementwise":
            return self._elementwise(node, chain, depth)
        raise NeedStore(node, f"{node.op.name} is a kernel of its own")

    def _check_words(self) -> None:
        """NeedStore for what was computed last where its views, and those of all before it, ask for too many
        Params: they are known when an op's inputs are, long after it was begun."""
        if self.words > MOST_WORDS:
            last = next((s.node for s in reversed(self.steps) if s.kind == "op"), None)
            if last is not None:
                raise NeedStore(last, "the views of the chain are many")

    def _add(self, raw: Raw, below: set[int] = frozenset()) -> int:  # type: ignore[assignment]
        self.steps.append(raw)
        affines = raw.view.affines if raw.view is not None else ()
        self.words += 1 + sum(1 + sum(stride != 0 for stride in a.strides) for a in affines)
        self.uses[len(self.steps) - 1] = set(below)
        return len(self.steps) - 1

    def _read(self, node: Node, chain: tuple[Move, ...]) -> int:
        view = view_through(node.shape, chain)
        value = value_of(self.planner, node)
        self._bind(value, node)
        return self._add(Raw("load", node.dtype, node, view=view, value=value), {value})

    def _bind(self, value: int, node: Node) -> None:
        if value in self.reads:
            return
        if len(self.reads) >= self.most:
            raise NeedStore(self._heaviest() or node, "the kernel reads as many buffers as the device allows")
        self.reads.add(value)

    def _heaviest(self) -> Node | None:
        """What to store when there are too many buffers: the finished step above most of them, else where
        we are; None where that is at a buffer, so that the kernel writes too many."""
        done = [(len(self.uses[i]), i) for i, s in enumerate(self.steps) if s.kind in ("op", "gather")]
        best = max(done, default=(0, -1))
        return self.steps[best[1]].node if best[0] > 1 else self.top

    def _source(self, node: Node, chain: tuple[Move, ...]) -> int:
        view = view_through(node.shape, chain)
        if node.op.name == "constant":
            out = self._add(Raw("scalar", node.dtype, node))
            return self._guard(out, node, view)
        kind = "iota" if node.op.name == "iota" else "random"
        out = self._add(Raw(kind, node.dtype, node, view=View(view.shape, view.index, ())))
        return self._guard(out, node, view)  # counted on, or drawn, outside too

    def _elementwise(self, node: Node, chain: tuple[Move, ...], depth: int) -> int:
        args, below = [], set()
        for x in node.inputs:
            self.top = node
            widen = () if x.shape == node.shape else (Move("expand", (node.shape,), None),)
            args.append(self.value(x, (*widen, *chain), depth + 1))
            below |= self.uses[args[-1]]
            self._check_words()
        if node.op.name == "cast" or not node.dtype.is_float:
            args = [self._settled(a) for a in args]
        extra = (node.inputs[0].dtype,) if node.op.name == "cast" else ()
        names = (node.op.name,)
        if len(args) == 2 and args[0] == args[1] and node.inputs[0].dtype.is_float and names[0] in OF_ITSELF:
            names, args = OF_ITSELF[names[0]], args[:1]
        for name in names:
            out = self._add(Raw("op", node.dtype, node, tuple(args), name=name, extra=extra), below)
            args = [out]
        return self._guard(out, node, view_through(node.shape, chain)) if chain else out

    def _inside(self, node: Node, chain: tuple[Move, ...], depth: int) -> int:
        """A check of indices; not around what is padded, where there is nothing to check."""
        if not self.can_check or view_through(node.shape, chain).bounds:
            raise NeedStore(node, "it checks indices")
        if not self.checks:
            self.begin_checks(node)
        self.top = node
        args = tuple(self.value(x, chain, depth + 1) for x in node.inputs)
        name = f"{node.attrs['mode']}_{node.attrs['kind']}64" if len(args) > 1 else node.attrs["mode"]
        kinds = {"n": "u32", "site": "u32", "none": "i32"}
        words = tuple((kind, node.attrs[word]) for word, kind in kinds.items() if word in node.attrs)
        extra = (node.inputs[0].dtype, words)
        raw = Raw("inside", node.dtype, node, args, name=name, extra=extra)
        return self._add(raw, set().union(*(self.uses[a] for a in args)))

    def begin_checks(self, node: Node) -> None:
        """Keep one of the buffers that the kernel may bind for what notes faults."""
        self.checks, self.most = True, self.most - 1
        if len(self.reads) > self.most:
            raise NeedStore(node, "the kernel reads as many buffers as the device allows")

    def _settled(self, step: int) -> int:
        """A computed 16-bit float is more precise than its dtype until it is stored; whoever casts it or
        compares it sees it rounded, so that equal values stay equal whether they were stored or not."""
        raw = self.steps[step]
        if not (raw.dtype.is_packed and raw.dtype.is_float) or raw.kind in ("load", "gather", "settle"):
            return step
        key = ("settle", step)
        if key not in self.memo:
            self.memo[key] = self._add(Raw("settle", raw.dtype, raw.node, (step,)), self.uses[step])
        return self.memo[key]

    def _guard(self, step: int, node: Node, view: View) -> int:
        """Padding around a computed value is zero, whatever the op makes of zeros."""
        if not view.bounds:
            return step
        return self._add(Raw("guard", node.dtype, node, (step,), view=view), self.uses[step])

    def _gather(self, node: Node, chain: tuple[Move, ...], depth: int) -> int:
        x, index = node.inputs
        dim = node.attrs["dim"]
        base, moves = base_of(self.planner, x)
        if not is_there(self.planner, base):
            raise NeedStore(base, "gather reads it by index")
        whole = view_through(base.shape, moves)
        if any(b.position.strides[dim] for b in whole.bounds):
            raise NeedStore(x, "gather reads it by index")
        self.top = node
        at = self.value(index, chain, depth + 1)
        shape = tuple(1 if d == dim else n for d, n in enumerate(index.shape))
        cut = (
            Move("_slice", ((0,) * len(shape), (1,) * len(shape), shape), None),
            Move("expand", (index.shape,), None),
        )
        view = view_through(base.shape, (*moves, *cut, *chain))
        value = value_of(self.planner, base)
        self._bind(value, node)
        extra = (x.shape[dim], whole.index.strides[dim])
        raw = Raw("gather", node.dtype, node, (at,), view=view, value=value, extra=extra)
        return self._add(raw, self.uses[at] | {value})

    @property
    def turns(self) -> int:
        """Turns of loops inside the expression, and one for the loop that it may stand in."""
        return 1 + sum(LOOPS.get(s.name or s.kind, 0) for s in self.steps if s.kind in ("op", "random"))

    # --- naming ---

    def affines(self) -> list[Affine]:
        return [a for s in self.steps if s.view is not None for a in s.view.affines]

    def can_widen(self, runs: list[tuple[int, ...]], sizes: list[int]) -> bool:
        """Whether four neighbours of the innermost run can be read at once everywhere."""
        if not runs:
            return False
        # else a four may end behind them: what lies side by side is there up to a whole four
        whole = sizes[-1] % 4 == 0 or (len(runs) == 1 and not self.checks and not self._strides(runs[-1][-1]))
        return whole and can_widen(self.steps, runs)

    def _strides(self, inner: int) -> bool:
        """Whether a gather reads neighbours along a dim one by one, each where its own place begins."""
        gathers = ((i, s.view.index) for i, s in enumerate(self.steps) if s.kind == "gather" and s.view)
        return any(a.strides[inner] and reading(self.steps, i, inner) == "each" for i, a in gathers)

    def with_views(self, view_of: Callable[[int, View], View]) -> "Trace":
        """The same steps, the i-th of which reads through view_of(i, its view)."""
        other = copy(self)
        other.steps = [
            s if s.view is None else s._replace(view=view_of(i, s.view)) for i, s in enumerate(self.steps)
        ]
        return other

    def function(
        self, runs, coords, bindings: Bindings, q: Quantities, result: int, width: int
    ) -> WgslFunction:
        """The function of all steps over runs of dims; that of an epilogue is given the head's result."""
        body = self.emit(range(len(self.steps)), naming_over(runs, coords, bindings, q, width), result)
        return body if self.head is None else body._replace(given=(("acc", self.head.dtype.short, width),))

    def emit(self, steps: Iterable[int], naming: Naming, result: int) -> WgslFunction:
        """The function of some of the steps: coordinates get their names, quantities their places in
        Params."""
        steps = [i for i in steps if self.steps[i].kind != "acc"]  # the head's result is given
        lines = tuple([self.emit_step(i, naming) for i in steps])
        if any([s.name in EXACT for s in lines]):
            lines = exact(lines)
        if has_listener("emitted"):
            emit("emitted", lines, [self.steps[i].node for i in steps])
        width = 1 if naming.inner is None else 4
        return WgslFunction(
            naming.coords, lines, self.variable(result), self.steps[result].dtype.short, width
        )

    def variable(self, step: int) -> str:
        """What the value of a step is called."""
        return "acc" if self.steps[step].kind == "acc" else f"t{step}"

    def _number(self, node: Node) -> Any:
        """The quantity of a host number: the place of its node, or what a planner's own says."""
        number = node.scalars[0]
        return number.quantity if isinstance(number, Planned) else ("scalar", self.planner.index[id(node)], 0)

    def emit_step(self, i: int, naming: Naming) -> WgslStep:
        s, q = self.steps[i], naming.quantities
        name, extra, index, tests = s.name, (), None, ()
        if s.view is not None:
            if s.kind != "guard":  # a guard reads nothing: only its tests count
                index = naming.index_of(s.view.index)
            tests = tuple(
                PaddingTest(naming.index_of(b.position), q.add("padded", b.size)) for b in s.view.bounds
            )
        if s.kind in ("load", "gather"):
            read = reading(self.steps, i, naming.inner)
            width = 4 if read == "four" else 1
            name = naming.bindings.add(s.value, s.dtype, width)
            extra = (width,)
            if s.kind == "gather":
                extra = (q.add("dim", s.extra[0]), q.add("stride", s.extra[1]), read)
        if s.kind == "scalar":
            name = q.add("scalar", self._number(s.node), s.dtype.wide.stored)
        if s.kind == "random":
            at = self.planner.index[id(s.node)]
            extra = tuple(q.add("seed", ("scalar", at, w)) for w in range(4))
        if s.kind == "inside":
            dtype, words = s.extra
            extra = (dtype.short, *(q.add("check", value, kind) for kind, value in words))
        if s.kind == "op" and s.extra:
            extra = (s.extra[0].short,)
        args = tuple([self.variable(a) for a in s.args])
        return WgslStep(s.kind, f"t{i}", s.dtype.short, name, args, index, tests, extra)


def collapse_domain(domain: Shape, affines: list[Affine], groups: tuple[int, ...]):
    """Runs of dims and their sizes for a domain."""
    runs = collapse(domain, affines, groups)
    return runs, [run_size(domain, r) for r in runs]


# --- what kernels of all kinds share ---


def is_whole(shape, chain: tuple[Move, ...]) -> bool:
    """Whether the moves leave a buffer as it lies."""
    try:
        return view_through(shape, chain).is_contiguous
    except NeedStore:
        return False


def label(head: str, *traces) -> str:
    """`matmul+add+relu`: the head and the ops fused with it, in order."""
    names = [s.name for t in traces if t for s in t.steps if s.kind == "op"]
    if len(names) > 6:
        names = [*names[:5], f"{len(names) - 5} more"]
    return "+".join([head, *names] if head else names or ["copy"])


def epilogue(
    planner: Stored, head: Node, tail: Node, shape, trace_reads=(), checks: bool | None = None
) -> tuple[Trace, int] | None:
    """The expression from the head's result to the tail, over the head's shape; None when they are one.

    checks: whether the kernel checks indices before; None where it can't.
    """
    if head is tail:
        return None
    trace = Trace(planner, shape, head, can_check=checks is not None)
    trace.reads |= set(trace_reads)
    if checks:
        trace.begin_checks(tail)
    back = () if tail.shape == tuple(shape) else (Move("reshape", (tuple(shape),), tail),)
    return trace, trace.value(tail, back)


def before_packed(planner: Stored, head: Node) -> Node:
    """The last node of a head's epilogue that is written element by element: packed ones come in fours."""
    nodes = planner.epilogues[head]
    return nodes[next(i for i, n in enumerate(nodes) if n.dtype.is_packed) - 1]


def finish_function(
    trace_root: tuple[Trace, int] | None, shape: Shape, b: Bindings, q: Quantities, alone: str
) -> tuple[WgslFunction | None, list[int]]:
    """An epilogue, and the sizes of the coordinates that a place of the head's shape is taken apart into.
    alone: what one coordinate alone is called."""
    if trace_root is None:
        return None, []
    trace, root = trace_root
    runs, sizes = collapse_domain(shape, trace.affines(), (0,) * len(shape))
    coords = coordinates(len(runs), "e", alone)
    return trace.function(runs, coords, b, q, root, 1), sizes
