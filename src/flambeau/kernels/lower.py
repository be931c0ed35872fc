"""Lowers the expression of a value, over a kernel's domain, to steps: loads, scalars and op calls."""

from collections.abc import Callable, Container, Iterable
from copy import copy
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, NamedTuple

from ..core.block_formats import FORMATS
from ..core.dtype import DType
from ..core.limits import Limits
from ..core.node import Node
from ..core.shape import Affine, Shape, View, collapse
from ..errors import KernelError
from .emit import Bindings, Quantities, Raw, Run, coordinates, emit, naming_over
from .ir import WgslFunction

MAX_STEPS = 120  # longer chains are cut: compile time grows faster than the savings of fusion
MAX_DEPTH = 60
PARAMS = 256  # words of Params that a kernel may have
MAX_WORDS = 160  # limit for the steps of one expression: a kernel needs some Params for other values
MOST_WORDS = 220  # Params after which an expression is cut if it began with fewer
LONGEST = (MAX_STEPS, MAX_WORDS)
# of an opaque op's input, computed where it is read: to store it is one more kernel
LONGEST_TRACED = (300, MOST_WORDS)
# elementwise ops whose WGSL has a loop, with its iterations
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
# comparisons of a float with itself, which drivers fold as if NaN did not exist
OF_ITSELF = {n: ("isnan", "logical_not") for n in ("eq", "le", "ge")} | {"ne": ("isnan",)}
MAX_ELEMENTS = 2**31  # the largest size that the 32-bit indices of kernels surely reach


def check_size(shape: Shape) -> None:
    """ValueError where a kernel would be over more elements than its indices reach."""
    if prod(shape) > MAX_ELEMENTS:
        rule = f"{prod(shape):,} elements are more than the {MAX_ELEMENTS:,} that a kernel can index"
        raise ValueError(f"run({list(shape)}): {rule}: split the tensor")


def check_turns(limits: Limits, name: str, turns: int) -> None:
    """KernelError if a thread would run more loop iterations than the adapter allows."""
    if turns > limits.turns:
        rule = f"a thread would run {turns:,} loop iterations, and this adapter ends loops after 65,535"
        raise KernelError(f"{name}: {rule}: use smaller tensors, or another device")


@dataclass(frozen=True)
class Planned:
    """A number that the planner put into a graph. quantity: the number, or the place to read it at each run
    (see `Quantities`)."""

    quantity: Any


class NeedStore(Exception):
    """Raised while lowering when a node can't be part of this kernel: the planner stores it and tries
    again. shape: the dims that it could be read over, where those of the kernel prevent it."""

    def __init__(self, node: Node, why: str, shape: Shape = ()):
        self.node, self.why, self.shape = node, why, shape


class Move(NamedTuple):
    """A movement op to be applied to a view; `below` is the node to store if strides can't express it."""

    name: str
    args: tuple[Any, ...]
    below: Node | None


def _as_it_is(view: View) -> View:
    return view


MOVES: dict[str, Callable[..., View | None]] = {
    "reshape": View.reshape,
    "permute": View.permute,
    "expand": View.expand,
    "_slice": View.slice,
    "_pad": View.pad,
    "_windows": View.windows,
    "detach": _as_it_is,
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


def moved_by(view: View, first: int) -> View:
    """A view of elements that begin at another place of their buffer."""
    index = view.index
    return view if not first else replace(view, index=Affine(index.strides, index.offset + first))


def alias(node: Node) -> Node:
    """The node that computes a value: for a composite, the result of the graph that it was expanded to."""
    while node.op.kind == "composite" and node.buffer is None:
        node = node.inputs[0]
    return node


# --- the plan that kernels are built for ---


@dataclass(frozen=True)
class PlanContext:
    """The state of the plan that builders of kernels read; only the planner changes it.

    A value is a number; one node may have several. max_inputs: buffers that a kernel with one result may
    read.
    index: a node's value, and users: the readers of a node, both by the node's id. classes: nodes of one
    class
    are equal. epilogues: a head, and the kernel's further ops; head_of: the last of these,
    and the head. stored: nodes whose values are kept in
    buffers; emitted: those that have their kernels; current: those whose kernel is being built. shared: of
    nodes that need no kernel, the value that they are. temporaries: values of no node, and their
    bytes.
    """

    limits: Limits
    max_inputs: int
    index: dict[int, int]
    users: dict[int, list[Node]]
    classes: dict[Node, int]
    epilogues: dict[Node, list[Node]]
    head_of: dict[Node, Node]
    stored: set[Node]
    nodes: int  # how many values belong to nodes
    emitted: set[Node] = field(default_factory=set[Node])
    current: set[Node] = field(default_factory=set[Node])
    shared: dict[Node, int] = field(default_factory=dict[Node, int])
    temporaries: dict[int, int] = field(default_factory=dict[int, int])
    inlined: set[int] = field(default_factory=set[int])
    beside: dict[Node, Node] = field(default_factory=dict["Node", "Node"])

    def has_buffer(self, node: Node) -> bool:
        """Whether a node has a buffer with its elements before the kernel that is being built."""
        return node.buffer is not None or (node in self.emitted and node in self.stored)

    def is_there(self, node: Node) -> bool:
        """Whether a kernel can load a node's elements: it has a buffer, or they are decoded of one."""
        return self.has_buffer(node) or (node.op.kind == "decode" and self.has_buffer(alias(node.inputs[0])))

    def loaded_as(self, node: Node) -> tuple[int, DType | None, int]:
        """How a kernel loads a node that `is_there`: the value of the buffer, the format of its blocks, if it
        has some, and the first element."""
        if node.op.kind != "decode" or self.has_buffer(node):
            return self.value_of(node), None, 0
        return self.value_of(alias(node.inputs[0])), FORMATS[node.attrs["form"]], node.attrs["first"]

    def is_due(self, node: Node) -> bool:
        """Whether a node has to be stored before the current kernel reads it, and is not stored yet."""
        return node in self.stored and node not in self.emitted and node not in self.current

    def value_of(self, node: Node) -> int:
        """The value whose buffer a node's elements are in."""
        value = self.shared.get(node)
        return self.index[id(node)] if value is None else value

    def base_of(self, node: Node) -> tuple[Node, tuple[Move, ...]]:
        """The stored or computed node that `node` is a view of, and the moves from it to the view."""
        chain: tuple[Move, ...] = ()
        node = alias(node)
        while node.op.kind == "movement" and not self.is_there(node):
            chain = (move_of(node), *chain)
            node = alias(node.inputs[0])
        return node, chain

    def before_packed(self, head: Node) -> Node:
        """The last node of a head's epilogue that is written element by element: packed elements are written
        four at a time."""
        nodes = self.epilogues[head]
        return nodes[next(i for i, n in enumerate(nodes) if n.dtype.is_packed) - 1]

    def temporary(self, elements: int, itemsize: int = 4) -> int:
        """A new value that belongs to no node, of this many elements."""
        value = self.nodes + len(self.temporaries)
        self.temporaries[value] = itemsize * max(elements, 1)
        return value


# --- tracing ---


class OwnRows(NamedTuple):
    """The reductions (ids) that a kernel over rows computes, and the strides of a row's position."""

    reductions: Container[int]
    strides: tuple[int, ...]


class Trace:
    """Walks an expression over a domain into raw steps.

    `outputs`: how many of its buffers the kernel writes without reading them.
    `can_check`: whether it computes the expression only for existing elements, so that an index out of range
    is a fault. `rows`: the reductions that the kernel computes. `beside`: a second head.
    """

    rows: OwnRows | None = None
    beside: Node | None = None

    def __init__(
        self,
        plan: PlanContext,
        domain: Shape,
        head: Node | None = None,
        outputs: int = 1,
        can_check: bool = False,
        longest: tuple[int, int] = LONGEST,
    ):
        check_size(domain)
        self.plan, self.domain, self.head = plan, domain, head
        self.most = plan.limits.storage_buffers - outputs
        self.most_steps, self.most_words = longest
        self.can_check, self.checks = can_check, False  # one that checks indices binds a fault buffer
        self.steps: list[Raw] = []
        self.affines: list[Affine] = []  # of all views of the steps
        self.turns = 1  # of loops inside the expression, and of the loop around it
        self.words = 0  # the most Params that the steps need
        self.memo: dict[tuple[Any, ...], int] = {}
        self.reads: set[int] = set()
        self.uses: dict[int, set[int]] = {}  # step -> the buffers below it
        self.top: Node | None = None

    def cost(self) -> int:
        """The price of an element, by `Op.cost`."""
        return sum(s.node.op.cost for s in self.steps if s.kind == "op")

    def value_over_rows(self, node: Node, kept: int) -> int:
        """The step of a node over complete rows; the `kept` dims of the domain select the row."""
        chain: tuple[Move, ...] = (
            () if node.shape == self.domain else (Move("reshape", (self.domain,), node),)
        )
        if prod(node.shape) != prod(self.domain):
            row = (*self.domain[:kept], *(1,) * (len(self.domain) - kept))
            chain = (Move("reshape", (row,), node), Move("expand", (self.domain,), None))
        return self.value(node, chain)

    def value(self, node: Node, chain: tuple[Move, ...] = (), depth: int = 0) -> int:
        """The step that holds `node` seen through `chain`."""
        node = alias(node)
        while node.op.kind == "movement" and not self.plan.is_there(node):
            chain = chain if node.op.name == "detach" else (move_of(node), *chain)  # detach moves nothing
            node = alias(node.inputs[0])
        # Equal nodes through equal moves are one step. The third part of a move, the node below, doesn't
        # matter.
        key = (self.plan.classes[node], *[move[:2] for move in chain])
        if key not in self.memo:
            self.memo[key] = self._trace(node, chain, depth)
        return self.memo[key]

    def _trace(self, node: Node, chain: tuple[Move, ...], depth: int) -> int:
        if node is self.head:
            return self._add(Raw("acc", node.dtype, node))
        if node is self.beside:
            return self._add(Raw("acc", node.dtype, node, name="acc_beside"))
        if self.rows is not None and id(node) in self.rows.reductions:
            return self._stat(node, chain, self.rows)
        if self.plan.is_there(node):
            return self._read(node, chain)
        if self.plan.is_due(node):
            raise NeedStore(node, "others read it too")
        kind = node.op.kind
        if kind == "decode":
            raise NeedStore(node.inputs[0], "its blocks are read from a buffer")
        if kind == "source":
            return self._source(node, chain)
        if kind == "gather":
            return self.gather(node, chain, depth)
        # After reads and sources, which end a chain anyway.
        if depth > MAX_DEPTH or len(self.steps) > self.most_steps or self.words > self.most_words:
            raise NeedStore(node, "the chain is long")
        if node.op.name == "_inside":
            return self._inside(node, chain, depth)
        if kind == "elementwise":
            return self._elementwise(node, chain, depth)
        raise NeedStore(node, f"{node.op.name} is a kernel of its own")

    def _stat(self, node: Node, chain: tuple[Move, ...], rows: OwnRows) -> int:
        """A reduction of the kernel's own rows; NeedStore where it is seen from another row."""
        view = view_through(node.shape, chain)
        steps = zip(view.index.strides, rows.strides, self.domain, strict=True)
        # Only dims longer than 1 decide which row is read.
        if view.bounds or view.index.offset or any([s != own for s, own, n in steps if n > 1]):
            raise NeedStore(node, "other rows read it")
        return self._add(Raw("stat", node.dtype, node))

    def _check_words(self) -> None:
        """NeedStore for the last computed value if its views, and those of all before it, need too many
        Params: they are known when an op's inputs are, long after it was begun."""
        if self.words > MOST_WORDS:
            last = next((s.node for s in reversed(self.steps) if s.kind == "op"), None)
            if last is not None:
                raise NeedStore(last, "the chain has many views")

    def _add(self, raw: Raw, below: Iterable[int] = ()) -> int:
        self.steps.append(raw)
        affines = raw.view.affines if raw.view is not None else ()
        self.affines += affines
        if raw.kind in ("op", "random"):  # other steps have no loops
            self.turns += LOOPS.get(raw.name or raw.kind, 0)
        # At most an offset and the nonzero strides of each index, and a number of the step.
        self.words += 1 + sum(1 + sum(stride != 0 for stride in a.strides) for a in affines)
        self.uses[len(self.steps) - 1] = set(below)
        return len(self.steps) - 1

    def _read(self, node: Node, chain: tuple[Move, ...]) -> int:
        value, coded, first = self.plan.loaded_as(node)
        view = moved_by(view_through(node.shape, chain), first)
        self._bind(value, node)
        return self._add(Raw("load", node.dtype, node, view=view, value=value, coded=coded), {value})

    def _bind(self, value: int, node: Node) -> None:
        if value in self.reads:
            return
        if len(self.reads) >= self.most:
            raise NeedStore(self._heaviest() or node, "the kernel reads as many buffers as the device allows")
        self.reads.add(value)

    def _heaviest(self) -> Node | None:
        """The node to store if there are too many buffers: that of the step with the most reads, else the
        node being traced; None if that is a buffer, since then the kernel writes too many."""
        done = [(len(self.uses[i]), i) for i, s in enumerate(self.steps) if s.kind in ("op", "gather")]
        best = max(done, default=(0, -1))
        return self.steps[best[1]].node if best[0] > 1 else self.top

    def _source(self, node: Node, chain: tuple[Move, ...]) -> int:
        view = view_through(node.shape, chain)
        if node.op.name == "constant":
            number = node.scalars[0]
            source = (
                number.quantity if isinstance(number, Planned) else ("scalar", self.plan.index[id(node)], 0)
            )
            return self._guard(self._add(Raw("scalar", node.dtype, node, extra=(source,))), node, view)
        view_without_bounds, seed = View(view.shape, view.index), ()
        if node.op.name != "iota":
            seed = tuple([("scalar", self.plan.index[id(node)], word) for word in range(4)])
        kind = "iota" if node.op.name == "iota" else "random"
        out = self._add(Raw(kind, node.dtype, node, view=view_without_bounds, extra=seed))
        return self._guard(out, node, view)  # counted on, or drawn, outside too

    def _elementwise(self, node: Node, chain: tuple[Move, ...], depth: int) -> int:
        args, below = list[int](), set[int]()
        for x in node.inputs:
            self.top = node
            # Inputs broadcast to the node's shape first; the chain of the reader then applies to all of them.
            widen = () if x.shape == node.shape else (Move("expand", (node.shape,), None),)
            args.append(self.value(x, (*widen, *chain), depth + 1))
            below |= self.uses[args[-1]]
            self._check_words()
        # Casts and comparisons must see 16-bit floats as stored ones: rounded.
        if node.op.name == "cast" or not node.dtype.is_float:
            args = [self._settle(a) for a in args]
        extra = (node.inputs[0].dtype,) if node.op.name == "cast" else ()
        names = (node.op.name,)
        # `x != x` and its like: written as the checks for NaN that drivers don't fold.
        if len(args) == 2 and args[0] == args[1] and node.inputs[0].dtype.is_float and names[0] in OF_ITSELF:
            names, args = OF_ITSELF[names[0]], args[:1]
        out = -1
        for name in names:
            out = self._add(Raw("op", node.dtype, node, tuple(args), name=name, extra=extra), below)
            args = [out]
        # The inputs were read with the same padding, but f(0) need not be 0.
        return self._guard(out, node, view_through(node.shape, chain)) if chain else out

    def _inside(self, node: Node, chain: tuple[Move, ...], depth: int) -> int:
        """A check of indices; not for padding, which reads no index."""
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
        return self._add(raw, set[int]().union(*[self.uses[a] for a in args]))

    def begin_checks(self, node: Node) -> None:
        """Reserve one of the kernel's buffers for faults."""
        self.checks, self.most = True, self.most - 1
        if len(self.reads) > self.most:
            raise NeedStore(node, "the kernel reads as many buffers as the device allows")

    def _settle(self, step: int) -> int:
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

    def gather(self, node: Node, chain: tuple[Move, ...], depth: int) -> int:
        """The step that reads a buffer by index; NeedStore if the table is in no buffer."""
        x, index = node.inputs
        dim: int = node.attrs["dim"]
        base, moves = self.plan.base_of(x)
        if not self.plan.is_there(base):
            raise NeedStore(base, "gather reads it by index")
        table = view_through(base.shape, moves)
        # The index takes the place of the dim's position, so padding along it can't be tested.
        if any(b.position.strides[dim] for b in table.bounds):
            raise NeedStore(x, "gather reads it by index")
        self.top = node
        position = self.value(index, chain, depth + 1)
        shape = tuple(1 if d == dim else n for d, n in enumerate(index.shape))
        # The table's view with the dim cut to its first element: the kernel adds index * stride to that.
        cut = (
            Move("_slice", ((0,) * len(shape), (1,) * len(shape), shape), None),
            Move("expand", (index.shape,), None),
        )
        view = view_through(base.shape, (*moves, *cut, *chain))
        value, coded, first = self.plan.loaded_as(base)
        self._bind(value, node)
        extra = (x.shape[dim], table.index.strides[dim])
        view = moved_by(view, first)
        raw = Raw("gather", node.dtype, node, (position,), view=view, value=value, extra=extra, coded=coded)
        return self._add(raw, self.uses[position] | {value})

    # --- all steps together ---

    def over(self, steps: list[Raw]) -> "Trace":
        """The same trace of other steps."""
        other = copy(self)
        other.steps = steps
        other.affines = [a for s in steps if s.view is not None for a in s.view.affines]
        return other

    def with_views(self, view_of: Callable[[int, View], View]) -> "Trace":
        """The same steps, the i-th of which reads through view_of(i, its view)."""
        steps = enumerate(self.steps)
        return self.over([s if s.view is None else s._replace(view=view_of(i, s.view)) for i, s in steps])


def collapse_domain(
    domain: Shape, affines: list[Affine], groups: tuple[int, ...]
) -> tuple[list[Run], list[int]]:
    """Runs of dims and their sizes for a domain."""
    runs = collapse(domain, affines, groups)
    return runs, [prod([domain[d] for d in run]) for run in runs]


# --- shared by kernels of all kinds ---


def is_whole(shape: Shape, chain: tuple[Move, ...]) -> bool:
    """Whether the movement ops keep a buffer's layout."""
    try:
        return view_through(shape, chain).is_contiguous
    except NeedStore:
        return False


class Epilogue(NamedTuple):
    """The ops that a kernel applies to its head's result: the trace, and the step of its result."""

    trace: Trace
    root: int


def epilogue(
    plan: PlanContext,
    head: Node,
    tail: Node,
    reads: Iterable[int] = (),
    checks: bool | None = None,
    beside: Node | None = None,
) -> Epilogue | None:
    """The expression from the head's result to the tail, over the head's shape; None when they are one.

    reads: the values that the kernel already reads. checks: whether it already checks indices; None if it
    can't. beside: another head whose result is available too.
    """
    if head is tail:
        return None
    trace = Trace(plan, head.shape, head, can_check=checks is not None)
    trace.reads.update(reads)
    trace.beside = beside
    if checks:
        trace.begin_checks(tail)
    # An epilogue may change the shape (a view of the same order): it is read back over the head's dims.
    back = () if tail.shape == head.shape else (Move("reshape", (head.shape,), tail),)
    return Epilogue(trace, trace.value(tail, back))


def finish_function(
    after: Epilogue | None, shape: Shape, b: Bindings, q: Quantities, alone: str
) -> tuple[WgslFunction | None, list[int]]:
    """An epilogue, and the sizes of the coordinates into which an index of the head's shape is split.
    alone: the name of a single coordinate."""
    if after is None:
        return None, []
    trace, root = after
    runs, sizes = collapse_domain(shape, trace.affines, (0,) * len(shape))
    coords = coordinates(len(runs), "e", alone)
    return emit(trace.steps, naming_over(runs, coords, b, q, 1), root), sizes
