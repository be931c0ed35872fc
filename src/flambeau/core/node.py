"""Nodes of the lazy graph: one operation, its inputs and what is known of the result without running it."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from math import prod
from typing import TYPE_CHECKING, Any

from .dtype import DType
from .shape import Shape

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from ..tensor import Tensor
    from .op import Op

NONE = -1 << 62  # depth of what is made of no other node: it may wait for ever
_serial: Iterator[int] = count()
_numbers = count(1)
_signatures: dict[tuple, int] = {}


def next_serial() -> int:
    """A serial number above every node's so far."""
    return next(_serial)


class _Told:
    """Serial numbers, of each of which somebody is told."""

    def __init__(self, numbers: Iterator[int], tell: Callable[[int], None]):
        self.numbers, self.tell = numbers, tell

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        serial = next(self.numbers)
        self.tell(serial)
        return serial


@contextmanager
def watched(tell: Callable[[int], None]) -> Iterator[None]:
    """Have `tell` called with the serial number of each node while it is made, in any thread, until the block
    ends. Numbers come from elsewhere meanwhile, so that who makes nodes need not ask who listens."""
    global _serial
    before, _serial = _serial, _Told(_serial, tell)
    try:
        yield
    finally:
        _serial = before


class Node:
    """One value of the graph.

    `inputs` are what computing needs, `parents` what the gradient is taken by (they differ for
    composites, whose single input is the graph they are lowered to). `scalars` are host numbers: quantities,
    never part of a key. `depth` less `events.fresh` is how many nodes without a value lie one behind the
    other up to this one, and how much has run since the first of them was made.
    """

    __slots__ = (
        "__weakref__",
        "after",
        "again",
        "attrs",
        "buffer",
        "depth",
        "device",
        "dtype",
        "inputs",
        "op",
        "origin",
        "param",
        "parents",
        "released",
        "replaced",
        "requires_grad",
        "scalars",
        "segment",
        "serial",
        "shape",
        "sig",
    )

    def __init__(
        self,
        op: "Op",
        inputs: tuple["Node", ...],
        attrs: dict[str, Any],
        shape: Shape,
        dtype: DType,
        device: Any,
        scalars: tuple = (),
    ):
        self.op, self.inputs, self.parents, self.attrs = op, inputs, inputs, attrs
        self.shape, self.dtype, self.device, self.scalars = shape, dtype, device, scalars
        self.requires_grad = False
        self.origin = self.serial = next(_serial)  # origin: of what it is a copy of, or stands for
        self.buffer: Any = None  # where the value is, once computed
        self.param: Any = None  # the key of the parameter that this node is the value of
        self.released = False  # backward has been taken: the graph may be dropped when the value is there
        self.replaced = (
            False  # its tensor was assigned another value: a recording that reads it is out of date
        )
        self.sig: int | None = None  # the number of its signature, once asked for
        self.after: tuple[Node, ...] = ()  # computed before this one, although not read by it
        self.segment: Any = None  # the checkpoint whose inside it is
        self.again = False  # a copy, to be computed a second time so that the value need not be kept
        self.depth = NONE  # see `op.apply`

    @property
    def nbytes(self) -> int:
        """The bytes that the value takes in a buffer."""
        return self.dtype.itemsize * prod(self.shape)

    def copied(self, inputs: tuple["Node", ...], after: tuple["Node", ...]) -> "Node":
        """The same for a planner, on other inputs: it takes no gradients."""
        copy = Node(self.op, inputs, self.attrs, self.shape, self.dtype, self.device, self.scalars)
        copy.serial, copy.after, copy.segment, copy.again = self.serial, after, self.segment, self.again
        copy.param, copy.origin = self.param, self.origin
        return copy

    def signature(self) -> tuple:
        """What the node is, apart from its inputs and its quantities."""
        marks = (self.param is not None, self.again)
        return (self.op.name, self.shape, self.dtype.short, *marks, *self.attrs.values())

    def __repr__(self) -> str:
        return f"{self.op.name}: {describe(self)}"


def number_of(node: Node) -> int:
    """The number of a node's signature, the same for nodes that differ in inputs and quantities alone."""
    if node.sig is None:
        node.sig = number_for(node.signature())
    return node.sig


def number_for(signature: tuple) -> int:
    """The number of a signature, kept as long as the process runs."""
    return _signatures.setdefault(signature, next(_numbers))  # unique, whichever threads ask at once


def place_of_number(node: Node, place: int, seen: dict[tuple, int]) -> int:
    """The place of the first constant of a graph that is the same number as this one, at `place`: equal, or
    the same HostScalar. `seen` has those before it."""
    value = node.scalars[0]
    if type(value) is float and not value:
        value = str(value)  # 0.0 and -0.0 are equal, but not the same
    return seen.setdefault((node.dtype.short, value), place)


def is_tensor(value: Any) -> "TypeIs[Tensor]":
    """Whether something is a tensor, which this layer does not import."""
    return hasattr(value, "node")


def describe(value: Any) -> str:
    """How errors and plans name a value: `f32[2, 3]`, `ndarray float64[2, 3]`, or the object itself."""
    node = getattr(value, "node", value)
    if isinstance(node, Node):
        return f"{node.dtype.short}{list(node.shape)}"
    if isinstance(value, tuple | list) and value and any(hasattr(v, "node") for v in value):
        return "[" + ", ".join(describe(v) for v in value) + "]"
    shape, dtype = getattr(value, "shape", ()), getattr(value, "dtype", None)
    if isinstance(shape, tuple) and shape and dtype is not None:  # not an op, whose shape is a rule
        return f"{type(value).__name__} {dtype}{list(shape)}"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def toposort(roots) -> list[Node]:
    """Every node that the roots need, inputs first; nodes that have their value are leaves."""
    # as `inputs_first` has them, but for its calls: each run waits for this one
    order: list[Node] = []
    done: set[Node] = set()
    stack = list(roots)[::-1]
    while stack:
        node = stack[-1]
        if node not in done:
            if node.buffer is None:
                before = node.inputs if not node.after else (*node.after, *node.inputs)
                missing = [i for i in before if i not in done]
                if missing:
                    stack += missing[::-1]
                    continue
            done.add(node)
            order.append(node)
        stack.pop()
    return order


def inputs_first(starts: Iterable[Node], before: Callable[[Node], Iterable[Node]]) -> Iterator[Node]:
    """Nodes, and those that must come before them, each once and behind these; `before` says what must. It is
    asked again when that has come."""
    done: set[Node] = set()
    stack = list(starts)[::-1]
    while stack:
        node = stack[-1]
        if node not in done:
            missing = [n for n in before(node) if n not in done]
            if missing:
                stack += missing[::-1]
                continue
            done.add(node)
            yield node
        stack.pop()


def reached(starts: Iterable[Node], onward: Callable[[Node], Iterable[Node]]) -> Iterator[Node]:
    """Nodes, and those that they lead to, each once; `onward` says where a node leads: to its inputs, or to
    its readers. Who has seen enough stops asking for more."""
    seen: set[Node] = set()
    todo = list(starts)
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            yield node
            todo += onward(node)
