"""Merges equal computations of a graph, and rewrites contractions to read narrow operands directly and to
write in the order that readers need."""

from collections.abc import Sequence
from math import prod
from operator import is_
from typing import Any, NamedTuple

from ..core.dtype import DType, bfloat16, float16, float32
from ..core.node import Node, number_of, place_of_number
from ..core.op import OPS, Op
from ..core.shape import Shape, View
from ..legalize.rewrite import legalize

SEARCHED_READERS = 16  # the most nodes that a search for a permute's readers visits


def graph_of(roots: list[Node], order: list[Node]) -> "Merged":
    """The graph that is planned: equal values merged, casts and permutes around contractions moved into
    them."""
    graph = _in_words(roots, order) if any([n.dtype.is_pair for n in order]) else merge(roots, order)
    if not any(n.op.kind == "contract" and n.buffer is None for n in graph.walk):
        return graph
    return _Rewriting(graph).rewrite()


def _in_words(roots: list[Node], order: list[Node]) -> "Merged":
    """A graph whose pairs are rewritten to words, and merged. Each position of `order` keeps a node."""
    legal = legalize(roots, order)
    graph = merge(legal.roots, legal.walk)
    merged = dict(zip(legal.walk, graph.order, strict=True))
    pairs = zip(order, legal.nodes, strict=True)
    new_order = [_at_place(n, merged.get(word, word)) for n, word in pairs]
    first = set(new_order)
    # Values are positions in the order: new nodes come after the original ones.
    new_order += dict.fromkeys(n for n in graph.order if n not in first)
    return graph._replace(order=new_order, places=places_of(new_order), in_order=False)


def _at_place(n: Node, replacement: Node) -> Node:
    """The node at a place of the order: the replacement, unless only one of the two is a leaf."""
    return replacement if (replacement.buffer is None) == (n.buffer is None) else n


# --- equal values ---


class Merged(NamedTuple):
    """A graph without repetitions.

    order: for each position of the original order, the node that computes its value. places: the first
    position of each node in it, by the node's id. walk: the nodes, inputs first.
    classes: nodes of one class are equal. times: how many nodes a node replaces, if several.
    in_order: whether inputs come first in `order` too.
    """

    roots: list[Node]
    order: list[Node]
    places: dict[int, int]
    walk: list[Node]
    classes: dict[Node, int]
    times: dict[Node, int]
    in_order: bool = True


def classes_of(order: list[Node]) -> list[int]:
    """For each node the first place with an equal node: the same op, attributes and numbers, on equal inputs.
    Random draws and nodes that are recomputed on purpose (`again`) equal only themselves."""
    first: dict[tuple[int, ...], int] = {}
    classes: dict[Node, int] = {}
    numbers: dict[tuple[Any, ...], int] = {}
    for i, n in enumerate(order):
        root = i
        if n.buffer is None and not n.again:
            if n.op.name == "constant":
                root = place_of_number(n, i, numbers)
            elif not n.scalars:  # nodes with numbers (random draws) are never equal
                sig = number_of(n) if n.sig is None else n.sig
                root = first.setdefault((sig, *[classes[x] for x in n.inputs]), i)
        classes[n] = root
    return list(classes.values())


def merge(roots: list[Node], order: list[Node]) -> Merged:
    """Merge equal nodes: the first of them in `order` remains, with the least serial of all. The original
    nodes do not change; those that read merged ones are copied.

    Constants stay apart: they cost nothing, and equal numbers must not change a shader. Nodes with gradients,
    and roots that are fills (an optimiser's first state), keep separate buffers, since each will be
    overwritten.
    """
    places = classes_of(order)
    unmerged = {r for r in roots if _is_fill(r)}
    equal: dict[int, list[Node]] = {}
    for n, c in zip(order, places, strict=True):
        if n.buffer is None and n.param is None and not n.again and not n.scalars and n not in unmerged:
            equal.setdefault(c, []).append(n)
    # node -> all nodes of its class, the first of `order` first
    leader = {n: same for same in equal.values() if len(same) > 1 for n in same}
    now: dict[Node, Node] = {}
    # Without repetitions nothing is copied and the lists stay empty.
    for n in order if leader else ():
        same = leader.get(n, (n,))
        # A merged node keeps the smallest serial number: it may be needed as early as the earliest of them.
        now[n] = now[same[0]] if n is not same[0] else _copy_reading(n, now, min(m.serial for m in same))
    merged_order = list(now.values()) or order
    pairs = enumerate(zip(merged_order, places, strict=True))
    # Leaves and sources are classes of their own.
    classes = {n: c if n.inputs else i for i, (n, c) in pairs}
    times = {now[same[0]]: len(same) for same in leader.values()}
    walk = list(dict.fromkeys(merged_order))
    index = places_of(merged_order)
    return Merged([now.get(r, r) for r in roots], merged_order, index, walk, classes, times)


def _is_fill(n: Node) -> bool:
    while n.op.kind == "movement" and n.buffer is None:
        n = n.inputs[0]
    return n.op.kind == "source"


def _copy_reading(n: Node, now: dict[Node, Node], serial: int) -> Node:
    """A copy of a node on the current inputs; the node itself if they are the same."""
    if n.buffer is not None:
        return n
    inputs, after = tuple([now[x] for x in n.inputs]), tuple([now[x] for x in n.after])
    if serial == n.serial and all(map(is_, inputs, n.inputs)) and all(map(is_, after, n.after)):
        return n
    copy = n.copied(inputs, after)
    copy.serial = serial
    return copy


def places_of(order: Sequence[Node]) -> dict[int, int]:
    """The first position of each node in an order, by its id."""
    first: dict[int, int] = {}
    for i, n in enumerate(order):
        first.setdefault(id(n), i)
    return first


# --- casts and orders of contractions ---


class _Rewriting:
    """One pass over a graph, inputs first. Changed nodes are copies; new nodes get values after all
    others."""

    def __init__(self, graph: Merged):
        self.graph = graph
        self.users: dict[Node, list[Node]] = {r: [r] for r in graph.roots}  # the caller uses a root
        for n in graph.walk:
            for x in n.inputs if n.buffer is None else ():
                self.users.setdefault(x, []).append(n)
        self.now: dict[Node, Node] = {}
        self.walk: list[Node] = []
        self.new_nodes: list[Node] = []
        self.narrow: dict[Node, Node] = {}

    def rewrite(self) -> Merged:
        graph, now = self.graph, self.now
        for n in graph.walk:
            now[n] = self._rewrite(n)
            if not self.walk or self.walk[-1] is not now[n]:  # it is, where it is a new node
                self.walk.append(now[n])
        if all(now[n] is n for n in graph.walk):
            return graph
        self._drop_unread()
        classes = {now[n]: graph.classes[n] for n in graph.walk}
        others = len(graph.order) + len(graph.walk)
        classes |= {n: others + i for i, n in enumerate(self.new_nodes)}
        times = {now[n]: graph.times[n] for n in graph.walk if n in graph.times}
        order = [now.get(n, n) for n in graph.order] + self.new_nodes
        roots = [now[r] for r in graph.roots]
        return Merged(roots, order, places_of(order), self.walk, classes, times, graph.in_order)

    def _drop_unread(self) -> None:
        """Remove nodes that the rewriting left without a reader."""
        read = {self.now[r] for r in self.graph.roots}
        remaining: list[Node] = []
        for n in reversed(self.walk):
            if n in read:
                remaining.append(n)
                read.update(n.inputs if n.buffer is None else (), n.after)
        self.walk = remaining[::-1]

    def _rewrite(self, n: Node) -> Node:
        if n.buffer is not None:
            return n
        inputs = tuple([self.now[x] for x in n.inputs])
        if n.op.kind == "contract":
            inputs = self._narrow_operands(inputs)
        elif n.op.name == "permute" and not n.again:
            contraction = self._contract_in_order(n)
            if contraction is not None:
                return contraction
        after = tuple([self.now[x] for x in n.after])
        if all(a is b for a, b in zip((*inputs, *after), (*n.inputs, *n.after), strict=True)):
            return n
        return n.copied(inputs, after)

    def _new(
        self, like: Node, op: Op, inputs: tuple[Node, ...], attrs: dict[str, Any], shape: Shape, dtype: DType
    ) -> Node:
        """A node that the given graph does not have; it takes the serial of the node that it replaces."""
        node = Node(op, inputs, attrs, shape, dtype, like.device)
        node.serial, node.segment, node.origin = like.serial, like.segment, like.origin
        self.new_nodes.append(node)
        self.walk.append(node)
        return node

    # --- casts ---

    def _narrow_operands(self, inputs: tuple[Node, ...]) -> tuple[Node, ...]:
        """The operands of a contraction, where exactly one of them is cast to float32: without that cast,
        since products are added up in float32 in any case. Two casts are kept, since the user asked for
        float32."""
        below = [_widening_cast(x) for x in inputs]
        if sum(b is not None for b in below) != 1:
            return inputs
        return tuple([x if b is None else self._behind(x, b) for x, b in zip(inputs, below, strict=True)])

    def _behind(self, x: Node, cast: Node) -> Node:
        """The views between a cast and a contraction, applied to the input of the cast."""
        chain: list[Node] = []
        while x is not cast:
            if x.op.kind == "movement":
                chain.append(x)
            x = x.inputs[0]
        node = cast.inputs[0]
        for view in reversed(chain):
            if view not in self.narrow:
                self.narrow[view] = self._new(view, view.op, (node,), view.attrs, view.shape, node.dtype)
            node = self.narrow[view]
        return node

    # --- orders of dims ---

    def _contract_in_order(self, n: Node) -> Node | None:
        """A contraction that writes its result in the order of a permute; None if other nodes read the
        contraction, or if the readers of the permute can use strides as well."""
        chain, factor = [n], n.inputs[0]
        while factor.op.kind != "contract":
            passes = _moves_or_casts(factor) or factor.op.kind == "composite"
            if not passes or not self._is_alone(factor):
                return None
            chain.append(factor)
            factor = factor.inputs[0]
        axes = axes_of(factor.shape, chain[::-1])
        if axes == sorted(axes) or not self._is_alone(factor) or self._goes_on(n):
            return None
        if not self._is_read_in_order(n):
            return None
        node = self.now[factor]
        inputs = tuple([self._permute_operand(x, factor.shape, axes) for x in node.inputs])
        node = self._new(node, node.op, inputs, node.attrs, tuple([a.size for a in axes]), node.dtype)
        for view_node in reversed(chain):
            if view_node.op.name == "cast":
                node = self._new(
                    view_node, view_node.op, (node,), view_node.attrs, node.shape, view_node.dtype
                )
        if node.shape != n.shape:
            node = self._new(node, OPS["reshape"], (node,), {"shape": n.shape}, n.shape, n.dtype)
        return node

    def _is_alone(self, n: Node) -> bool:
        plain = n.buffer is None and n.param is None and not n.after and not n.again
        return plain and len(self.users[n]) == 1

    def _goes_on(self, n: Node) -> bool:
        """Whether the only reader of a permute leads to another permute, which is then rewritten with this
        one."""
        while n.param is None and len(self.users[n]) == 1:
            (user,) = self.users[n]
            if user is n or not _moves_or_casts(user):
                return False
            if user.op.order == "turned":
                return True
            n = user
        return False

    def _permute_operand(self, x: Node, shape: Shape, axes: list["Axis"]) -> Node:
        """An operand over a result that has other axes."""
        cut, rest = sorted(axes), x.shape[len(shape) :]
        finer_shape = tuple([a.size if x.shape[a.place[0]] > 1 else 1 for a in cut])
        if (*finer_shape, *rest) != x.shape:
            x = self._view(x, "reshape", "shape", (*finer_shape, *rest), (*finer_shape, *rest))
        dims = (*[cut.index(a) for a in axes], *range(len(cut), len(cut) + len(rest)))
        return self._view(x, "permute", "dims", dims, tuple([x.shape[d] for d in dims]))

    def _view(self, x: Node, name: str, attr: str, value: tuple[int, ...], shape: Shape) -> Node:
        return self._new(x, OPS[name], (x,), {attr: value}, shape, x.dtype)

    def _is_read_in_order(self, n: Node) -> bool:
        """Whether all readers of a permute need its elements in memory order, to write or copy them."""
        todo, count = [(n, u) for u in self.users.get(n, ())], 0
        while todo and count < SEARCHED_READERS:
            (x, u), count = todo.pop(), count + 1
            if u is x or u.op.kind in ("elementwise", "opaque"):
                continue
            if u.op.name == "reshape" and x is n and _is_copied(n, u.shape):
                continue
            if u.op.order not in ("same", "turned") and u.op.kind != "composite":
                return False
            todo += [(u, v) for v in self.users.get(u, ())]
        return not todo


def _widening_cast(x: Node) -> Node | None:
    """The cast from a narrower float to float32 that a value is, perhaps below views."""
    while x.buffer is None and x.op.kind in ("movement", "composite"):
        x = x.inputs[0]
    if x.buffer is not None or x.op.name != "cast" or x.dtype is not float32:
        return None
    return x if x.inputs[0].dtype in (float16, bfloat16) else None


def _moves_or_casts(n: Node) -> bool:
    """Whether a node's elements are its input's, each once, perhaps in another order or dtype."""
    return n.op.order in ("same", "turned") or n.op.name == "cast"


def _is_copied(n: Node, shape: Shape) -> bool:
    """Whether a reshape of a permute can't be expressed by strides, so that it copies."""
    return View.of(n.inputs[0].shape).permute(n.attrs["dims"]).reshape(shape) is None


class Axis(NamedTuple):
    """A part of a dim of a result: the dim's place, and its place in that; and its size."""

    place: tuple[int, ...]
    size: int


def axes_of(shape: Shape, chain: list[Node]) -> list[Axis]:
    """The order in which views, innermost first, show the parts of a result's dims, those of size 1 left out;
    none where a reshape joins dims, or where there are no elements to order."""
    if 0 in shape:
        return []
    axes = [Axis((d,), n) for d, n in enumerate(shape) if n > 1]
    for view in chain:
        if view.op.name == "permute":
            real = (d for d, n in enumerate(view.inputs[0].shape) if n > 1)
            rank = {d: i for i, d in enumerate(real)}
            axes = [axes[rank[d]] for d in view.attrs["dims"] if d in rank]
        elif view.op.name == "reshape":
            parts = finer(tuple([a.size for a in axes]), tuple([n for n in view.shape if n > 1]))
            if parts is None:
                return []
            axes = [
                Axis((*a.place, i), n)
                for a, part in zip(axes, parts, strict=True)
                for i, n in enumerate(part)
            ]
    return axes


def finer(shape: Shape, parts: Shape) -> list[Shape] | None:
    """The sizes that a reshape cuts each dim into, of shapes without dims of size 1; None where it joins
    some. (6, 4), (2, 3, 4) -> [(2, 3), (4,)]"""
    cuts: list[Shape] = []
    index = 0
    for n in shape:
        begin = index
        while index < len(parts) and prod(parts[begin:index]) < n:
            index += 1
        if prod(parts[begin:index]) != n:
            return None
        cuts.append(parts[begin:index])
    return cuts if index == len(parts) else None
