"""Merges equal computations of a graph into one node each."""

from collections.abc import Sequence
from operator import is_
from typing import Any, NamedTuple

from ..core.node import Node, number_of, place_of_number


class Merged(NamedTuple):
    """A graph without repetitions.

    order: for each place of the original order, the node that computes its value. places: the first place of
    each node in it, by the node's id. walk: the nodes, inputs first.
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
        at = i
        if n.buffer is None and not n.again:
            if n.op.name == "constant":
                at = place_of_number(n, i, numbers)
            elif not n.scalars:  # nodes with numbers (random draws) are never equal
                sig = number_of(n) if n.sig is None else n.sig
                at = first.setdefault((sig, *[classes[x] for x in n.inputs]), i)
        classes[n] = at
    return list(classes.values())


def merge(roots: list[Node], order: list[Node]) -> Merged:
    """Merge equal nodes: the first of them in `order` remains, with the least serial of all. The given nodes
    do not change; those that read merged ones are copied.

    Constants stay apart: they cost nothing, and equal numbers must not change a shader. Nodes that gradients
    are taken by, and roots that are fills (an optimiser's first state), keep separate buffers, since each
    will be written over.
    """
    places = classes_of(order)
    apart = {r for r in roots if _is_fill(r)}
    equal: dict[int, list[Node]] = {}
    for n, c in zip(order, places, strict=True):
        if n.buffer is None and n.param is None and not n.again and not n.scalars and n not in apart:
            equal.setdefault(c, []).append(n)
    # node -> all nodes of its class, the first of `order` first
    leader = {n: same for same in equal.values() if len(same) > 1 for n in same}
    now: dict[Node, Node] = {}
    # Without repetitions nothing is copied and the lists stay empty.
    for n in order if leader else ():
        same = leader.get(n, (n,))
        # A merged node keeps the least serial: it may be needed as early as the earliest of them.
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
    """The first place of each node in an order, by its id."""
    first: dict[int, int] = {}
    for i, n in enumerate(order):
        first.setdefault(id(n), i)
    return first
