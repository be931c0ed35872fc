"""Values that several runs have computed on their way: the next run stores them.

A run stores its roots alone. A program that reads often, such as a detector that compares boxes on the host,
would compute its backbone again for every read. A value is stored by the fourth run that computes it, if
enough nodes are computed so: a loss that is read and then differentiated is computed twice, and stays fused.
"""

from ..core.node import Node

ENOUGH = 64  # nodes that runs have computed twice: fewer are not worth a value
TWICE = 2  # earlier runs that computed a node, excluding the first, when it was new
CHEAP = ("elementwise", "movement", "source", "leaf")  # kinds that are computed again from stored values


def stored_again(order: list[Node], roots: list[Node], last: int) -> list[Node]:
    """The nodes of `order` whose values this run stores besides its roots.

    These are the values that new nodes read. A run without new nodes is one for a gradient, which reads
    the values of a forward pass one by one, the last first: it stores those that cost most.

    last: the largest serial number of a root before
    """
    known = _computed_before(order, last)
    if len(known) < ENOUGH:
        return []
    readers = [n for n in order if n.buffer is None and n not in known]
    if readers:
        more = dict.fromkeys(_base(i, known) for n in readers for i in n.inputs if i in known)
    else:
        more = dict.fromkeys(n for n in order if n.requires_grad and n.op.kind not in CHEAP)
    asked = set(roots)
    # What is inside a checkpoint is computed again for a gradient: storing it would cost the saved memory.
    return [n for n in more if n in known and n.device is not None and n not in asked and n.segment is None]


def _base(node: Node, known: set[Node]) -> Node:
    """The value that a view of known nodes reads."""
    while node in known and node.op.kind == "movement":
        node = node.inputs[0]
    return node


def _computed_before(order: list[Node], last: int) -> set[Node]:
    """The nodes that earlier runs have computed at least three times. last: as of `stored_again`."""
    known: set[Node] = set()
    for n in order:
        if n.serial <= last and n.buffer is None:
            n.runs = getattr(n, "runs", 0) + 1
            if n.runs > TWICE:
                known.add(n)
    return known
