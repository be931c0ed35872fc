"""Rewrites 64-bit integers and complex numbers of a graph to pairs of 32-bit words, which kernels compute.

Tables map each op to a rule on words (integers.py, integer_heads.py, complex_numbers.py). Movement ops are
the same for all pairs (pair.py). A root is stored packed, as on the host.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ..core.dtype import DTYPES, DType, complex64, int64, uint64
from ..core.modes import no_grad
from ..core.node import NONE, Node, toposort, walk_nodes
from ..core.op import Op
from ..kernels.lower import Planned
from . import complex_numbers, integer_heads, integers
from .complex_numbers import Parts
from .integers import Integer
from .pair import Pair, move, tensor_of


def _itself(xp: Any, x: Any) -> Any:
    return x


WORDS = Op("leaf", xp=_itself, doc="the words of an existing pair", name="words")


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
# Ops of 32-bit data with 64-bit indices: they get int32 indices, which an `_inside` has checked.
INDEXED = ("_back", "_count", "_gather", "_last", "_put", "_row_order", "_scatter_sorted")


class LegalGraph(NamedTuple):
    """A graph of ops that kernels can compute.

    walk: the nodes that the roots need, inputs first. nodes: the replacement of each node of the original
    order.
    """

    roots: list[Node]
    walk: list[Node]
    nodes: list[Node]


def legalize(roots: list[Node], order: list[Node]) -> LegalGraph:
    """Rewrite a graph to ops that kernels can compute."""
    with no_grad(), _shallow(order):
        return _Legalizing(roots, order).legalize()


@contextmanager
def _shallow(order: list[Node]) -> Generator[None]:
    """Reset the depths of nodes for a while: rules that build on them must not trigger the computation of
    deep graphs."""
    depths = [n.depth for n in order]
    for n in order:
        n.depth = NONE
    try:
        yield
    finally:
        for n, depth in zip(order, depths, strict=True):
            n.depth = depth


class _Legalizing:
    """One pass over a graph, inputs first: `now` has the replacement of each node."""

    def __init__(self, roots: list[Node], order: list[Node]):
        self.roots, self.order, self.asked = roots, order, set(roots)
        self.now: dict[Node, Node | Pair] = {}
        self.known = set(order)  # nodes of the original graph, and new ones that are already adopted

    def legalize(self) -> LegalGraph:
        for place, n in enumerate(self.order):
            result = self._legalize_node(n, place)
            if n in self.asked:
                result = result.as_root() if isinstance(result, Pair) else _own(result, n)
            self._adopt(result, n)
            self.now[n] = result
        roots = [self._node_for(r) for r in self.roots]
        # Rules also build nodes that no root needs: the walk from the roots leaves them out.
        return LegalGraph(roots, toposort(roots), [self._node_for(n) for n in self.order])

    def _node_for(self, n: Node) -> Node:
        result = self.now[n]
        if not isinstance(result, Pair):
            return result
        return result.packed.node if n in self.asked or n.buffer is not None else result.node

    def _legalize_node(self, n: Node, place: int) -> Node | Pair:
        """The replacement of a node; the node itself if none of its inputs changed."""
        if n.buffer is not None:
            return _leaf(n) if n.dtype.is_pair else n
        inputs = [self.now[x] for x in n.inputs]
        if n.op.kind == "composite":
            # A composite is a shell around its graph; pairs use the graph's result.
            return inputs[0] if n.dtype.is_pair else self._copy(n, inputs)
        if n.op.name == "constant" and n.dtype.is_pair:
            return TABLES[n.dtype].number(n, lambda part, dtype: _word(n, place, part, dtype))
        if n.dtype.is_pair or any(isinstance(x, Pair) for x in inputs):
            return _in_words(n, inputs)
        return self._copy(n, inputs)

    def _copy(self, n: Node, inputs: list[Node | Pair]) -> Node:
        nodes = tuple([integers.index_of(x).node if isinstance(x, Pair) else x for x in inputs])
        after = tuple([_node_of(self.now[x]) for x in n.after])
        same = all(a is b for a, b in zip((*nodes, *after), (*n.inputs, *n.after), strict=True))
        return n if same else n.copied(nodes, after)

    def _adopt(self, result: Node | Pair, like: Node) -> None:
        """Give new nodes the serial, segment and origin of the node that they replace, so that they are
        computed at its time. Constants among them become numbers of the plan."""
        nodes = result.nodes() if isinstance(result, Pair) else [result]
        # A node of the graph stays as it is, and so do the nodes below it: they are the caller's.
        nodes = [n for n in nodes if n not in self.known]
        fresh = [n for n in walk_nodes(nodes, self._new_inputs) if n not in self.known]
        after = tuple([_node_of(self.now[x]) for x in like.after])
        for n in sorted(fresh, key=lambda n: n.serial):  # in the order of creation: inputs first
            self.known.add(n)
            # Recomputed nodes wait for their gradient, so their parts do too. Otherwise a part can be
            # computed as soon as its inputs are.
            behind = [x.serial for x in n.inputs if x.op.kind != "source"]
            is_late = like.again or like.segment is not None
            n.serial = like.serial if is_late else max(behind, default=like.serial)
            n.segment, n.again, n.depth, n.origin = like.segment, like.again, NONE, like.origin
            n.after = after if n.inputs else ()
            if n.op.name == "constant" and not isinstance(n.scalars[0], Planned):
                n.scalars = (Planned(n.scalars[0]),)

    def _new_inputs(self, n: Node) -> list[Node]:
        return [x for x in n.inputs if x not in self.known]


def _own(result: Node, n: Node) -> Node:
    """The replacement of a root; a copy if it is an existing buffer."""
    is_there = result is not n and result.buffer is not None
    return tensor_of(result).detach().node if is_there else result


def _node_of(result: Node | Pair) -> Node:
    return result.node if isinstance(result, Pair) else result


def _leaf(n: Node) -> Pair:
    """A leaf of pairs as a leaf of words. [...] -> [..., 2]"""
    # The buffer is shared: words of [..., 2] lie exactly as the pairs do.
    words = Node(WORDS, (), {}, (*n.shape, 2), DTYPES[n.dtype.word], n.device)
    words.buffer = n.buffer
    return TABLES[n.dtype].value(n.dtype, n.shape, packed=tensor_of(words))


def _word(n: Node, place: int, part: int, dtype: DType) -> Any:
    """A word of a host number, which each run reads at that place of the graph."""
    number = Planned(("scalar", place, part))
    return tensor_of(Node(n.op, (), {}, (), dtype, None, (number,)))


def _in_words(n: Node, inputs: list[Node | Pair]) -> Node | Pair:
    """Apply the rule of an op on pairs; TypeError if it has none."""
    values = [x if isinstance(x, Pair) else tensor_of(x) for x in inputs]
    # The family of rules: complex before integers, and the wider integer, as dtypes promote.
    dtype = max(
        (n.dtype, *(x.dtype for x in values if isinstance(x, Pair))), key=lambda d: (d.is_pair, d.rank)
    )
    rule = TABLES[dtype].rows.get(n.op.name)
    if n.op.kind == "movement" and rule is None:
        return move(values[0], n.op.name, **n.attrs)
    if not n.dtype.is_pair and n.op.name in INDEXED:
        nodes = tuple([integers.index_of(x).node for x in values])
        return n.copied(nodes, ())
    try:
        result = None if rule is None else rule(*values, **n.attrs)
    except LookupError:  # a rule for some dtypes or options only
        result = None
    if result is None:
        raise refusal(n)
    return result if isinstance(result, Pair) else result.node


def refusal(n: Node) -> TypeError:
    """The error of an op without a rule for pairs."""
    dtype = next((x.dtype for x in (n, *n.inputs) if x.dtype.is_pair), n.dtype)
    use = "take .real and .imag" if dtype.is_complex else "cast with .int(), or .to(fb.int32)"
    return TypeError(
        f"{n.op.name.strip('_')}({', '.join(f'{x.dtype.short}{list(x.shape)}' for x in n.inputs)}):"
        f" has no kernel for {dtype.name}: {use}, or use the CPU device"
    )
