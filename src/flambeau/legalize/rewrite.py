"""A graph with values of two words into one of words alone: kernels know no 64-bit integers and no
complex numbers.

A table says of each op what it is in words (integers.py, integer_heads.py, complex_numbers.py); what moves
elements is the same for all pairs (pair.py). A root is stored as it lies on the host.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ..core.dtype import DTYPES, DType, complex64, int64, uint64
from ..core.modes import no_grad
from ..core.node import NONE, Node, reached, toposort
from ..core.op import Op
from ..kernels.lower import Planned
from . import complex_numbers, integer_heads, integers
from .complex_numbers import Parts
from .cse import Merged, merged, places_of
from .integers import Integer
from .pair import Pair, moved, tensor_of


def _itself(xp: Any, x: Any) -> Any:
    return x


WORDS = Op("leaf", xp=_itself, doc="the words of a pair that is there", name="words")


class PairTable(NamedTuple):
    """How a family of pairs is computed in words.

    value: its class. number: the value of a constant node, of a function (part, dtype) that gives its words.
    rows: an op's name -> its rule, of values (tensors, where an input is of another dtype) and attributes.
    """

    value: type[Pair]
    number: Callable[[Node, Callable[[int, DType], Any]], Pair]
    rows: dict[str, Callable[..., Any]]


INTEGERS = PairTable(Integer, integers.from_constant, integers.RULES | integer_heads.RULES)
COMPLEX = PairTable(Parts, complex_numbers.from_constant, complex_numbers.RULES)
TABLES: dict[DType, PairTable] = {int64: INTEGERS, uint64: INTEGERS, complex64: COMPLEX}
# ops of other dtypes that take places: of those the low words do, once they are known to be inside
INDEXED = ("_back", "_count", "_gather", "_last", "_put", "_row_order", "_scatter_sorted")


def legalized(roots: list[Node], order: list[Node]) -> Merged:
    """The merged graph of what kernels can compute; each place of the order has a node that stands for it."""
    with no_grad(), _shallow(order):
        return _Legalizing(roots, order).merged()


@contextmanager
def _shallow(order: list[Node]) -> Generator[None]:
    """Nodes that are about to be computed, as if their inputs were: what is made of them is not deep."""
    depths = [n.depth for n in order]
    for n in order:
        n.depth = NONE
    try:
        yield
    finally:
        for n, depth in zip(order, depths, strict=True):
            n.depth = depth


class _Legalizing:
    """One pass over a graph, inputs first: `now` has what each node became."""

    def __init__(self, roots: list[Node], order: list[Node]):
        self.roots, self.order, self.asked = roots, order, set(roots)
        self.now: dict[Node, Node | Pair] = {}
        self.known = set(order)  # nodes that were there, or are somebody's

    def merged(self) -> Merged:
        for place, n in enumerate(self.order):
            made = self._made(n, place)
            if n in self.asked:
                made = made.stored() if isinstance(made, Pair) else _own(made, n)
            self._adopt(made, n)
            self.now[n] = made
        roots = [self._stored(r) for r in self.roots]
        walk = toposort(roots)
        graph = merged(roots, walk)
        became = dict(zip(walk, graph.order, strict=True))
        order = [_standing(n, became.get(self._stored(n), n)) for n in self.order]
        first = set(order)
        order += dict.fromkeys(n for n in graph.order if n not in first)
        return graph._replace(order=order, places=places_of(order), in_order=False)

    def _stored(self, n: Node) -> Node:
        made = self.now[n]
        if not isinstance(made, Pair):
            return made
        return made.packed.node if n in self.asked or n.buffer is not None else made.node

    def _made(self, n: Node, place: int) -> Node | Pair:
        """What a node becomes: itself, where it is made of nothing that changed."""
        if n.buffer is not None:
            return _leaf(n) if n.dtype.is_pair else n
        inputs = [self.now[x] for x in n.inputs]
        if n.op.kind == "composite":
            return inputs[0] if n.dtype.is_pair else self._copied(n, inputs)
        if n.op.name == "constant" and n.dtype.is_pair:
            return TABLES[n.dtype].number(n, lambda part, dtype: _word(n, place, part, dtype))
        if n.dtype.is_pair or any(isinstance(x, Pair) for x in inputs):
            return _in_words(n, inputs)
        return self._copied(n, inputs)

    def _copied(self, n: Node, inputs: list[Node | Pair]) -> Node:
        nodes = tuple([integers.index_of(x).node if isinstance(x, Pair) else x for x in inputs])
        after = tuple([_node_of(self.now[x]) for x in n.after])
        same = all(a is b for a, b in zip((*nodes, *after), (*n.inputs, *n.after), strict=True))
        return n if same else n.copied(nodes, after)

    def _adopt(self, made: Node | Pair, like: Node) -> None:
        """Have new nodes be computed when the node that they are for would have been; numbers among them are
        the plan's own."""
        nodes = made.nodes() if isinstance(made, Pair) else [made]
        fresh = [n for n in reached(nodes, self._new_inputs) if n not in self.known]
        after = tuple([_node_of(self.now[x]) for x in like.after])
        for n in sorted(fresh, key=lambda n: n.serial):  # as they were made: inputs first
            self.known.add(n)
            behind = [x.serial for x in n.inputs if x.op.kind != "source"]
            is_late = like.again or like.segment is not None
            n.serial = like.serial if is_late else max(behind, default=like.serial)
            n.segment, n.again, n.depth, n.origin = like.segment, like.again, NONE, like.origin
            n.after = after if n.inputs else ()
            if n.op.name == "constant" and not isinstance(n.scalars[0], Planned):
                n.scalars = (Planned(n.scalars[0]),)

    def _new_inputs(self, n: Node) -> list[Node]:
        return [x for x in n.inputs if x not in self.known]


def _standing(n: Node, for_it: Node) -> Node:
    """What stands at a node's place: a leaf where that is one."""
    return for_it if (for_it.buffer is None) == (n.buffer is None) else n


def _own(made: Node, n: Node) -> Node:
    """What becomes of a root: a copy, where it is a buffer that is there already."""
    is_there = made is not n and made.buffer is not None
    return tensor_of(made).detach().node if is_there else made


def _node_of(made: Node | Pair) -> Node:
    return made.node if isinstance(made, Pair) else made


def _leaf(n: Node) -> Pair:
    """What lies in a buffer, as its words."""
    words = Node(WORDS, (), {}, (*n.shape, 2), DTYPES[n.dtype.word], n.device)
    words.buffer = n.buffer
    return TABLES[n.dtype].value(n.dtype, n.shape, packed=tensor_of(words))


def _word(n: Node, place: int, part: int, dtype: DType) -> Any:
    """A word of a host number, which is found at a place of the graph at each run."""
    number = Planned(("scalar", place, part))
    return tensor_of(Node(n.op, (), {}, (), dtype, None, (number,)))


def _in_words(n: Node, inputs: list[Node | Pair]) -> Node | Pair:
    """An op of pairs by its row; TypeError where it has none."""
    values = [x if isinstance(x, Pair) else tensor_of(x) for x in inputs]
    dtype = max(
        (n.dtype, *(x.dtype for x in values if isinstance(x, Pair))), key=lambda d: (d.is_pair, d.rank)
    )
    rule = TABLES[dtype].rows.get(n.op.name)
    if n.op.kind == "movement" and rule is None:
        return moved(values[0], n.op.name, **n.attrs)
    if not n.dtype.is_pair and n.op.name in INDEXED:
        nodes = tuple([integers.index_of(x).node for x in values])
        return n.copied(nodes, ())
    try:
        made = None if rule is None else rule(*values, **n.attrs)
    except LookupError:
        made = None
    if made is None:
        raise refusal(n)
    return made if isinstance(made, Pair) else made.node


def refusal(n: Node) -> TypeError:
    """What is said of an op that has no row."""
    dtype = next((x.dtype for x in (n, *n.inputs) if x.dtype.is_pair), n.dtype)
    use = "take .real and .imag" if dtype.is_complex else "cast with .int(), or .to(fb.int32)"
    return TypeError(
        f"{n.op.name.strip('_')}({', '.join(f'{x.dtype.short}{list(x.shape)}' for x in n.inputs)}):"
        f" has no kernel for {dtype.name}: {use}, or use the CPU device"
    )
