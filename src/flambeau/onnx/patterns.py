"""Replaces groups of nodes that exporters write out, such as attention, by one node."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from .graph import GraphDef, ModelDef, NodeDef
from .passes import names_read, needed_nodes

OWN = "flambeau"  # the domain of the operators that replace patterns


@dataclass(frozen=True)
class Scores:
    """The scores of attention: q @ k, factors with their targets ("q", "k", "s" for the product, which "/"
    divides), and the masks."""

    q: str
    k: str
    factors: tuple[tuple[str, str], ...] = ()
    added: tuple[str, ...] = ()


class Finder:
    """Finds patterns in a graph, beginning at their output."""

    def __init__(self, graph: GraphDef):
        self.producers = {out: n for n in graph.nodes for out in n.outputs if out}
        self.readers = Counter(name for n in graph.nodes for name in names_read(n))
        self.readers.update(v.name for v in graph.outputs)

    def maker(self, name: str, *ops: str) -> NodeDef | None:
        """Return the node with one of these operators whose first output is the value."""
        node = self.producers.get(name)
        return node if node and node.op in ops and not node.domain and node.outputs[0] == name else None

    def unshared_maker(self, name: str, *ops: str) -> NodeDef | None:
        """`maker`, if only the pattern reads the value."""
        return self.maker(name, *ops) if self.readers[name] == 1 else None

    def attention(self, node: NodeDef) -> NodeDef | None:
        """softmax(q @ k * scale + mask) @ v"""
        # a cast to the dtype of the values, since products have one dtype
        cast = self.unshared_maker(node.inputs[0], "Cast")
        weights = self.unshared_maker(cast.inputs[0] if cast else node.inputs[0], "Softmax")
        if weights is None:
            return None
        scores = self.scores(weights.inputs[0])
        if scores is None:
            return None
        inputs = (scores.q, scores.k, node.inputs[1], *scores.added, *(name for name, _ in scores.factors))
        attributes = weights.attributes | {"added": len(scores.added)}
        attributes |= {"forms": tuple(form for _, form in scores.factors)}
        return replace(node, op="SpelledAttention", domain=OWN, inputs=inputs, attributes=attributes)

    def scores(self, name: str) -> Scores | None:
        """Return the scores before softmax; masks are added last."""
        for side, other in self.sides(name, "Add"):
            scores = self.scores(side)
            if scores is not None:
                return replace(scores, added=(*scores.added, other))
        return self.products(name)

    def products(self, name: str) -> Scores | None:
        """Return a product of queries and keys, scaled."""
        # Factors may stand before the product (PyTorch scales q and k by the root each) or after it.
        product = self.unshared_maker(name, "MatMul")
        if product is not None:
            (q, of_q), (k, of_k) = (self.split_factor(x, form) for x, form in zip(product.inputs, "qk"))
            return Scores(q, k, (*of_q, *of_k))
        for side, factor in self.sides(name, "Mul", "Div"):
            products = self.products(side)
            if products is not None:
                form = "/" if self.producers[name].op == "Div" else "s"
                return replace(products, factors=(*products.factors, (factor, form)))
        return None

    def split_factor(self, name: str, form: str) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Split a value from the factor that it is multiplied by."""
        node = self.unshared_maker(name, "Mul")
        return (name, ()) if node is None else (node.inputs[0], ((node.inputs[1], form),))

    def sides(self, name: str, *ops: str) -> Iterator[tuple[str, str]]:
        """Yield the operands of a sum, product or quotient, in both orders unless it is a quotient."""
        # Only a value that nothing else reads may disappear into the fused node.
        node = self.unshared_maker(name, *ops)
        if node is not None:
            a, b = node.inputs
            yield a, b
            if node.op != "Div":
                yield b, a


PATTERNS = {"MatMul": (Finder.attention,)}  # by the last operator of the pattern


def fuse_patterns(model: ModelDef) -> ModelDef:
    """Return a model with one node for each pattern."""
    graph = model.graph
    # A file may define its own MatMul or Softmax in the default domain.
    if any(not domain for domain, _, _ in model.functions):
        return model
    find, outputs = Finder(graph), [v.name for v in graph.outputs]
    nodes = [_match(find, n) for n in graph.nodes]
    before, after = (set(map(id, needed_nodes(each, outputs))) for each in (graph.nodes, nodes))
    # unused nodes must not run, since they may fail
    remaining = tuple(n for n in nodes if id(n) in after or id(n) not in before)
    return replace(model, graph=replace(graph, nodes=remaining))


def _match(find: Finder, node: NodeDef) -> NodeDef:
    patterns = () if node.domain else PATTERNS.get(node.op, ())
    return next((replacement for match in patterns if (replacement := match(find, node)) is not None), node)
