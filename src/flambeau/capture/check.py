"""Signatures of recorded calls: what a call computes, in a form that can be compared with another call."""

from typing import Any

from ..core.node import Node, toposort
from ..core.tree import leaves
from ..runtime import run
from ..runtime.state import forget_assignment
from .guards import Watch
from .recorder import Recorder
from .watchable import class_of

# names of a signature's parts in messages
GRAPH, NUMBERS, DATA, RESULT = "what it computes", "its numbers", "its tensors", "what it returns"


def signature(
    recorder: Recorder, watch: Watch, inputs: list[Node], outputs: list[Any], result: Any, roots: list[Node]
) -> dict[str, Any]:
    """Compute the signature of a call. Calls that one recording can serve have equal signatures.

    Tensors from before the call are compared by identity, arguments by position, tensors that the call
    makes from Python numbers by value, and random draws by their position in the call.
    """
    order = toposort(roots)
    place = {id(n): i for i, n in enumerate(order)}
    known = {id(t.node): ("tensor", id(t)) for t in watch.tensors}
    known |= {id(old): ("tensor", id(t)) for t, old in recorder.before}
    known |= {id(n): ("argument", i) for i, n in enumerate(inputs)}

    def of(n: Node) -> Any:
        return known.get(id(n)) or recorder.host_data.get(n) or ("buffer", id(n.buffer))

    def ends(n: Node) -> Any:
        return of(n) if n.buffer is not None else place[id(n)]

    moved = [(id(t), ends(t.node)) for t, _ in recorder.before]
    rest: list[Any] = [(class_of(v), str(v)) for v in leaves(result) if not hasattr(v, "node")]
    return {
        GRAPH: run.graph_key(roots, order),
        NUMBERS: [_number(s, recorder) for n in order if n.buffer is None for s in n.scalars],
        DATA: ([of(n) for n in order if n.buffer is not None], moved),
        RESULT: ([ends(t.node) for t in outputs], rest),
    }


def _number(s: Any, recorder: Recorder) -> tuple[Any, ...]:
    if hasattr(s, "source"):
        return id(s.source), s.at - recorder.drawn.begins.get(s.source, 0)
    return (id(s),) if hasattr(s, "value") else (class_of(s), str(s))


def difference(a: dict[str, Any], b: dict[str, Any]) -> str:
    """Name the first difference of two calls; "" if they are equal."""
    return next((name for name in a if a[name] != b[name]), "")


def undo(recorder: Recorder) -> None:
    """Undo a call's assignments and random draws, none of which were computed."""
    for t, old in recorder.before:
        t.node, old.replaced = old, False
        if old.buffer is not None:
            forget_assignment(t)
    recorder.drawn.take_back()
