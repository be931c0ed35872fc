"""Builds the kernels of equal expressions once: layers of a network differ only in their inputs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from ..core.events import has_listener
from ..core.node import Node
from ..core.shape import Shape
from ..core.tree import is_sequence
from ..kernels.ir import Kernel
from ..kernels.lower import NeedStore, PlanContext, Planned, alias
from .group import FusedGroup, Lowered
from .materialize import HEADS
from .row_groups import RowGroup

MOST_NODES = 300  # of an expression that is described: more are built each time
PLAIN = (int, bool, str, bytes, type(None))


@dataclass
class Expression:
    """The expression from which a value's kernels are built, and a key that is equal for equal expressions.

    nodes: all that lowering may look at, in the order of a search from the value. values: of each node, the
    value that it is and the one whose buffer has its elements.
    """

    key: tuple[Any, ...]
    nodes: list[Node]
    values: list[tuple[int, int]]


@dataclass
class KnownKernels:
    """The kernels of an expression, and the bytes of the temporaries that they took from `first` on; or the
    node of the expression that had to be stored first."""

    values: list[tuple[int, int]]
    kernels: list[Kernel]
    first: int
    temporaries: list[int]
    missing: tuple[int, str, Shape] | None = None


class Repeats:
    """The expressions of one plan whose kernels are known."""

    def __init__(self, context: PlanContext):
        self.context = context
        self.known: dict[tuple[Any, ...], KnownKernels] = {}

    def build(
        self, top: Node, group: FusedGroup | None, build: Callable[[], Lowered | None]
    ) -> Lowered | None:
        """`build()`, or the kernels of an equal expression with the values of this one; NeedStore as from
        `build`."""
        # whoever listens wants each kernel's steps and choices
        e = None if has_listener("emitted") or has_listener("choice") else self._describe(top, group)
        if e is None:
            return build()
        known = self.known.get(e.key)
        if known is not None:
            repeated = self._repeat(known, e)
            if repeated is not None:
                return repeated
        first = len(self.context.temporaries)
        try:
            lowered = build()
        except NeedStore as need:
            if need.node in e.nodes:
                missing = e.nodes.index(need.node), need.why, need.shape
                self.known[e.key] = KnownKernels(e.values, [], first, [], missing)
            raise
        if lowered is not None and not lowered.shared:
            temporaries = list(self.context.temporaries.values())[first:]
            self.known[e.key] = KnownKernels(
                e.values, lowered.kernels, self.context.nodes + first, temporaries
            )
        return lowered

    def _repeat(self, known: KnownKernels, e: Expression) -> Lowered | None:
        """The known kernels with the values of an equal expression; None where one value would be two."""
        if known.missing is not None:
            place, why, shape = known.missing
            raise NeedStore(e.nodes[place], why, shape)
        values: dict[int, int] = {}
        for was, now in zip(known.values, e.values, strict=True):
            for a, b in zip(was, now, strict=True):
                if values.setdefault(a, b) != b:
                    return None
        first = self.context.nodes + len(self.context.temporaries)
        values |= {known.first + i: first + i for i in range(len(known.temporaries))}
        try:
            kernels = [_with_values(k, values) for k in known.kernels]
        except KeyError:  # a kernel reads a value of no node of the expression
            return None
        self.context.temporaries.update((first + i, n) for i, n in enumerate(known.temporaries))
        return Lowered(kernels)

    # --- describing ---

    def _describe(self, top: Node, group: FusedGroup | None) -> Expression | None:
        """The expression of a value or of a row group; None for other groups, and for values that are not
        built by a head or a map."""
        is_other = group is not None and type(group) is not RowGroup
        if is_other or top.op.kind in ("output", "movement"):
            return None
        return _Search(self.context).describe(top, group)


class _Search:
    """Numbers the nodes that lowering may look at, and describes each by these numbers."""

    def __init__(self, context: PlanContext):
        self.context = context
        self.place: dict[Node, int] = {}
        self.nodes: list[Node] = []
        self.own: set[Node] = set()  # heads that the kernel computes
        self.classes: dict[int, int] = {}
        self.buffers: dict[int, int] = {}

    def describe(self, top: Node, group: FusedGroup | None) -> Expression | None:
        """The expression of a value, or of a group of it."""
        starts, context = self._starts(top, group), self.context
        described: list[tuple[Any, ...]] = []
        while len(described) < len(self.nodes):
            described.append(self._token(self.nodes[len(described)]))
            if len(self.nodes) > MOST_NODES:
                return None
        key = (type(group), starts, tuple(described))
        values = [(context.index[id(n)], self._value(n)) for n in self.nodes]
        return Expression(key, self.nodes, values)

    def _value(self, n: Node) -> int:
        """The value that a kernel reads or writes for a node."""
        return self.context.loaded_as(n)[0] if self.context.is_there(n) else self.context.value_of(n)

    def _starts(self, top: Node, group: FusedGroup | None) -> tuple[Any, ...]:
        """The numbers of the nodes that the kernel's form depends on; they come first."""
        if group is not None:
            assert isinstance(group, RowGroup)
            self.own.update(group.nodes)
            return self._all(group.outputs), self._all(group.nodes), group.key
        context, head = self.context, self.context.head_of.get(top)
        if head is None:
            return self._all([top])
        self.own.add(head)
        second = context.beside.get(head)
        if second is not None and second not in context.stored:
            self.own.add(second)
        parts = (
            [u for u in context.users[id(head)] if u.op.kind == "output"] if head.op.kind == "opaque" else []
        )
        names = tuple([u.op.part for u in parts])
        others = [] if second is None else [second]
        return (
            self._all([top]),
            self._all(context.epilogues[head]),
            self._all(others),
            self._all(parts),
            names,
        )

    def _all(self, nodes: Iterable[Node]) -> tuple[int, ...]:
        return tuple([self._number(n) for n in nodes])

    def _number(self, node: Node) -> int:
        node = alias(node)
        if node not in self.place:
            self.place[node] = len(self.nodes)
            self.nodes.append(node)
        return self.place[node]

    def _token(self, n: Node) -> tuple[Any, ...]:
        """The properties of a node that lowering uses."""
        context, kind = self.context, n.op.kind
        of_class = self.classes.setdefault(context.classes[n], len(self.classes))
        token = n.op, n.shape, n.dtype.short, of_class
        if context.is_there(n):
            value, coded, first = context.loaded_as(n)
            buffer = self.buffers.setdefault(value, len(self.buffers))
            return *token, "there", buffer, coded and coded.short, first
        if context.is_due(n):
            return *token, "due"
        if kind in HEADS and n not in self.own and id(n) not in context.inlined:
            return *token, "elsewhere"
        is_stored = n in context.stored, n in context.emitted, n in context.current, id(n) in context.inlined
        attrs = tuple([(name, _token_of(v)) for name, v in n.attrs.items()])
        scalars = tuple([_token_of(s) for s in n.scalars]) if n.scalars else ()
        return *token, is_stored, attrs, scalars, self._all(n.inputs)


def _token_of(value: Any) -> Any:
    """A value of an attribute as a part of a key. Equal only for values of one type, and -0.0 is not 0.0. Of
    other objects it is the identity, which they keep as long as their nodes are planned."""
    if type(value) in PLAIN:
        return type(value), value
    if is_sequence(value):
        return tuple if isinstance(value, tuple) else list, *map(_token_of, value)
    if isinstance(value, Planned):
        return Planned, _token_of(value.quantity)
    return (type(value), repr(value)) if isinstance(value, float | complex) else (type(value), id(value))


def _with_values(k: Kernel, values: dict[int, int]) -> Kernel:
    """A kernel with other values. KeyError if one is unknown."""

    def renamed(quantity: Any) -> Any:
        return ("scalar", values[quantity[1]], quantity[2]) if type(quantity) is tuple else quantity

    instead = k.instead and (values[k.instead[0]], _with_values(k.instead[1], values))
    return replace(
        k,
        inputs=tuple([values[v] for v in k.inputs]),
        outputs=tuple([values[v] for v in k.outputs]),
        quantities=tuple([renamed(q) for q in k.quantities]),
        over=tuple([(values[a], values[b]) for a, b in k.over]),
        instead=instead,
        parts=tuple([_with_values(part, values) for part in k.parts]),
    )
