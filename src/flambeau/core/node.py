"""Nodes of the lazy graph: one operation, its inputs and the properties of its result that are known without
running it."""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from math import prod
from threading import get_ident
from typing import TYPE_CHECKING, Any

from .dtype import DType
from .shape import Shape
from .tree import is_sequence

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from ..tensor import Tensor
    from .op import Op

NONE = -1 << 62  # depth of a node without inputs: it may wait for ever
_serial: Iterator[int] = count()
_numbers = count(1)
_signatures: dict[tuple[Any, ...], int] = {}


# Limits of unevaluated graphs. A node's `depth` counts from `fresh`, which each run lowers, so a node that
# waits grows deeper by itself; `op.apply` computes the inputs of a node deeper than `deep`.
ALONE = 1000  # runs in a row by one thread, after which no other thread is expected to run anything
_thread, _in_a_row = get_ident(), ALONE  # the thread of the last run, and its runs in a row
DEEP, RUN = 4096, 64  # the largest number of nodes in a chain; a run counts as this many
fresh: int = 0  # the depth of a node whose inputs have their values
deep: int = DEEP  # the largest depth


def has_run() -> None:
    """Let all nodes without values grow deeper by one run.

    If several threads run graphs, a run counts for less: one thread's runs should not cut another's graphs at
    random places.
    """
    global fresh, deep, _thread, _in_a_row
    if get_ident() == _thread:
        _in_a_row += 1
    else:
        _thread, _in_a_row = get_ident(), 0
    fresh -= RUN if _in_a_row >= ALONE else 1
    deep = fresh + DEEP


def is_shared() -> bool:
    """Whether several threads have run something lately."""
    return _in_a_row < ALONE


def next_serial() -> int:
    """A serial number above every node's so far."""
    return next(_serial)


class _Watched:
    """Serial numbers that are passed to a callback as they are drawn."""

    def __init__(self, numbers: Iterator[int], callback: Callable[[int], None]):
        self.numbers, self.callback = numbers, callback

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        serial = next(self.numbers)
        self.callback(serial)
        return serial


@contextmanager
def watch_serials(callback: Callable[[int], None]) -> Generator[None]:
    """Inside this block, call `callback` with the serial number of each new node, from any thread.

    It replaces the iterator of numbers, so that creating a node needs no check for a listener.
    """
    global _serial
    before, _serial = _serial, _Watched(_serial, callback)
    try:
        yield
    finally:
        _serial = before


class Node:
    """One value of the graph.

    `inputs` are the nodes that computing needs, `parents` those that the gradient flows to (they differ for
    composites, whose single input is the graph they are lowered to). `scalars` are host numbers: quantities,
    never part of a key. `depth` minus `fresh` is the length of the longest chain of nodes without a
    value that ends here, plus the number of runs since the first of them was created.
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
        "runs",
        "scalars",
        "segment",
        "serial",
        "shape",
        "siblings",
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
        scalars: tuple[Any, ...] = (),
    ):
        self.op, self.inputs, self.parents, self.attrs = op, inputs, inputs, attrs
        self.shape, self.dtype, self.device, self.scalars = shape, dtype, device, scalars
        self.requires_grad = False
        # origin: serial of the node that this one copies or replaces
        self.origin = self.serial = next(_serial)
        self.buffer: Any = None  # the value, once computed
        self.param: Any = None  # the key of the parameter whose value this node is
        self.released = False  # backward has run: the graph may be dropped once the value is computed
        self.replaced = False  # its tensor has another value now: a recording that reads this one is stale
        self.sig: int | None = None  # cached number of its signature
        self.after: tuple[Node, ...] = ()  # nodes to compute before this one, although it does not read them
        self.segment: Any = None  # the checkpoint that contains it
        self.siblings: Any = None  # results of the same call (core/siblings)
        # `runs`, how many runs computed it, is set by runtime/repeated alone.
        self.again = False  # a copy that is recomputed, so that the first value need not be kept
        self.depth = NONE  # see `op.apply`

    @property
    def nbytes(self) -> int:
        """Size of the value in a buffer, in bytes."""
        return self.dtype.itemsize * prod(self.shape)

    def copied(self, inputs: tuple["Node", ...], after: tuple["Node", ...]) -> "Node":
        """A copy with other inputs, for the planner. It has no gradient."""
        copy = Node(self.op, inputs, self.attrs, self.shape, self.dtype, self.device, self.scalars)
        copy.serial, copy.after, copy.segment, copy.again = self.serial, after, self.segment, self.again
        copy.param, copy.origin = self.param, self.origin
        return copy

    def signature(self) -> tuple[Any, ...]:
        """Return the identity of the node without its inputs and its quantities."""
        marks = (self.param is not None, self.again)
        return (self.op.name, self.shape, self.dtype.short, *marks, *self.attrs.values())

    def __repr__(self) -> str:
        return f"{self.op.name}: {describe(self)}"


def number_of(node: Node) -> int:
    """The number of a node's signature; nodes that differ only in inputs and quantities share it."""
    if node.sig is None:
        node.sig = number_for(node.signature())
    return node.sig


def number_for(signature: tuple[Any, ...]) -> int:
    """The number of a signature, the same for as long as the process runs."""
    return _signatures.setdefault(signature, next(_numbers))  # atomic: threads may ask at once


def place_of_number(node: Node, place: int, seen: dict[tuple[Any, ...], int]) -> int:
    """The position of the first constant of a graph with the same number (equal, or the same HostScalar) as
    this one, which is at `place`. `seen` holds the constants before it."""
    value = node.scalars[0]
    if type(value) is float and not value:
        value = str(value)  # 0.0 and -0.0 are equal, but not the same
    return seen.setdefault((node.dtype.short, value), place)


def is_tensor(value: Any) -> "TypeIs[Tensor]":
    """Whether a value is a tensor. This layer does not import the class."""
    return hasattr(value, "node")


def describe(value: Any) -> str:
    """The text of a value in errors and plans: `f32[2, 3]`, `ndarray float64[2, 3]`, or its repr."""
    node = getattr(value, "node", value)
    if isinstance(node, Node):
        return f"{node.dtype.short}{list(node.shape)}"
    if is_sequence(value) and any(hasattr(v, "node") for v in value):
        return "[" + ", ".join(describe(v) for v in value) + "]"
    shape: Any = getattr(value, "shape", ())
    dtype = getattr(value, "dtype", None)
    if isinstance(shape, tuple) and shape and dtype is not None:  # not an op, whose shape is a rule
        return f"{type(value).__name__} {dtype}{[*shape]}"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def toposort(roots: Iterable[Node]) -> list[Node]:
    """Every node that the roots need, inputs first. Nodes that have their value are leaves."""
    # `inputs_first` without its calls: every run pays for this function
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
    """Yield nodes after those that `before(node)` names, each once. `before` is called again once these have
    been yielded."""
    # A stack in place of recursion: graphs are deeper than Python's limit of calls.
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


def walk_nodes(starts: Iterable[Node], onward: Callable[[Node], Iterable[Node]]) -> Iterator[Node]:
    """Yield nodes and those reachable from them, each once. `onward(node)` gives a node's inputs, or its
    readers."""
    seen: set[Node] = set()
    todo = list(starts)
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            yield node
            todo += onward(node)
