"""Maps a function of one example over many: traces its graph once and adds a first dim to each node.

Each kind of node has a rule. A kind (or an opaque op) without one is computed example by example, and the
results are stacked.
"""

from collections.abc import Callable
from math import prod
from typing import Any

from ..autodiff.backward import unbroadcast
from ..core.declare import stand_for
from ..core.modes import enable_grad, no_grad
from ..core.node import Node, next_serial
from ..core.op import COMPOSED, OPS, Op, apply, constant
from ..errors import FlambeauError, ValueError
from ..ops.random import Draw
from ..tensor import Tensor


def _no_value(*_: Any, **__: Any) -> Any:
    raise FlambeauError(
        "vmap: the function reads the value of an example or leaks it: only tensor operations can be mapped:"
        " don't use item(), bool() or print inside"
    )


# the op of arguments while the function is traced; they never have values
EXAMPLE = Op("opaque", xp=_no_value, launch=_no_value, name="example")
RANDOMNESS = ("error", "different", "same")


class Batch:
    """One call of vmap: the nodes of one example, and the nodes of the batch."""

    def __init__(self, size: int, randomness: str):
        self.size, self.randomness, self.since = size, randomness, next_serial()
        self.done: dict[Node, Node | None] = {}  # None: shared by all examples

    def example(self, x: Tensor, dim: int) -> Tensor:
        """Make the node of an element along a dim of x."""
        examples = x.movedim(dim, 0)
        node = Node(EXAMPLE, (), {}, examples.shape[1:], x.dtype, x.node.device)
        node.requires_grad = x.requires_grad
        self.done[node] = examples.node
        return Tensor(node)

    def all_of(self, y: Tensor) -> Tensor:
        """Compute the results of all examples, along dim 0. [...] -> [size, ...]"""
        return Tensor(self.full_batch(y.node))

    def full_batch(self, node: Node) -> Node:
        batched = self.batch_node(node)
        return self._repeat(node) if batched is None else batched

    def _repeat(self, node: Node) -> Node:
        """Expand a shared node along the batch dim."""
        # [...] -> [1, ...] -> [size, ...], without a copy
        with_batch_dim = apply(OPS["reshape"], (node,), {"shape": (1, *node.shape)})
        return apply(OPS["expand"], (with_batch_dim,), {"shape": (self.size, *node.shape)})

    def batch_node(self, root: Node) -> Node | None:
        """Return the batched node; None if all examples share it."""
        # An explicit stack: graphs may be deeper than Python's recursion allows.
        todo = [root]
        while todo:
            node = todo[-1]
            before = [] if node in self.done else [n for n in self._sources(node) if n not in self.done]
            todo += before
            if not before:
                todo.pop()
                if node not in self.done:
                    self.done[node] = self._batch_constant(node)
        return self.done[root]

    def _sources(self, node: Node) -> tuple[Node, ...]:
        if node.serial < self.since or node.buffer is not None:  # created outside of the call
            return ()
        # a composite's gradient rule reads its parents; the ops that it represents read only its inputs
        return (*node.inputs, *node.parents) if node.op.kind == "composite" else node.inputs

    def _batch_constant(self, node: Node) -> Node | None:
        before = self._sources(node)
        is_random = node.op.name == "random_bits" and node.serial >= self.since
        if is_random:
            return self._batch_draw(node)
        if all(self.done[n] is None for n in before):  # depends on no example
            return None
        # each node keeps its requires_grad: the batched graph is differentiated like the traced one
        with enable_grad() if node.requires_grad else no_grad():
            result = RULES.get(node.op.kind, _one_by_one)(self, node)
        result.segment = node.segment
        return result

    def _batch_draw(self, node: Node) -> Node | None:
        if self.randomness == "error":
            raise ValueError(
                "vmap(...): the function draws random numbers: pass randomness='different', or 'same' for"
                " equal numbers"
            )
        if self.randomness == "same":  # one draw, shared by all examples
            return None
        shape = (self.size, *node.shape)
        # one stream for the whole batch: each example gets its own part of the numbers
        draw = Draw(prod(shape), node.scalars[0].source)
        return apply(OPS["random_bits"], (), {"shape": shape}, scalars=(draw,), device=node.device)

    def inputs(self, node: Node) -> tuple[Node, ...]:
        """Return all inputs with a batch dim."""
        return tuple(self.full_batch(n) for n in node.inputs)

    def align_inputs(self, node: Node) -> tuple[Node, ...]:
        """Return inputs that broadcast: those with fewer dims get dims of size 1 after the batch dim."""
        rank = max(len(n.shape) for n in node.inputs)
        aligned_inputs: list[Node] = []
        for n in node.inputs:
            batched = self.done[n]
            # broadcasting aligns dims on the right, so the batch dim would meet a dim of the larger input
            if batched is not None and len(n.shape) < rank:
                shape = (self.size, *(1,) * (rank - len(n.shape)), *n.shape)
                batched = apply(OPS["reshape"], (batched,), {"shape": shape})
            # a shared input broadcasts over the batch dim by itself
            aligned_inputs.append(n if batched is None else batched)
        return tuple(aligned_inputs)


def _reapply(node: Node, inputs: tuple[Node, ...], **changed: Any) -> Node:
    return apply(node.op, inputs, node.attrs | changed, node.scalars)


def _elementwise(batch: Batch, node: Node) -> Node:
    return _reapply(node, batch.align_inputs(node))


def _reduce(batch: Batch, node: Node) -> Node:
    # the batch dim is dim 0, so others move by 1
    return _reapply(node, batch.inputs(node), dims=tuple(d + 1 for d in node.attrs["dims"]))


def _contract(batch: Batch, node: Node) -> Node:
    """Batch a contraction. A shared operand gets a batch dim of size 1."""
    inputs: list[Node] = []
    for n in node.inputs:
        batched = batch.done[n]
        # [...] -> [1, ...]: contraction broadcasts its batch dims
        inputs.append(apply(OPS["reshape"], (n,), {"shape": (1, *n.shape)}) if batched is None else batched)
    return _reapply(node, tuple(inputs))


def _apply_along(batch: Batch, node: Node) -> Node:
    return _reapply(node, batch.inputs(node), dim=node.attrs["dim"] + 1)


def _batch_all(batch: Batch, node: Node) -> Node:
    return _reapply(node, batch.inputs(node))


def _batch_first(batch: Batch, node: Node) -> Node:
    """Batch an op of which only the first input has rows."""
    first, *rest = node.inputs
    if any(batch.done[n] is not None for n in rest):
        return _one_by_one(batch, node)  # only a shared second input fits
    return _reapply(node, (batch.full_batch(first), *rest))


# movement op -> its attributes with an unchanged first dim
MOVED: dict[str, Callable[[int, dict[str, Any]], dict[str, Any]]] = {
    "reshape": lambda n, a: {"shape": (n, *a["shape"])},
    "permute": lambda n, a: {"dims": (0, *(d + 1 for d in a["dims"]))},
    "_slice": lambda n, a: {
        "starts": (0, *a["starts"]),
        "steps": (1, *a["steps"]),
        "shape": (n, *a["shape"]),
    },
    "_pad": lambda n, a: {"before": (0, *a["before"]), "after": (0, *a["after"])},
    "_windows": lambda n, a: {},
    "detach": lambda n, a: {},
    "view_as_real": lambda n, a: {},
    "view_as_complex": lambda n, a: {},
}


def _movement(batch: Batch, node: Node) -> Node:
    (x,) = node.inputs
    if node.op.name != "expand":
        return _reapply(node, batch.inputs(node), **MOVED[node.op.name](batch.size, node.attrs))
    shape = node.attrs["shape"]
    # expand may add dims on the left, which go after the batch dim: [size, 1, ..., *x.shape] -> [size,
    # *shape]
    sizes = (batch.size, *(1,) * (len(shape) - len(x.shape)), *x.shape)
    moved = apply(OPS["reshape"], (batch.full_batch(x),), {"shape": sizes})
    return _reapply(node, (moved,), shape=(batch.size, *shape))


def _composite(batch: Batch, node: Node) -> Node:
    """Batch a composite: its graph is batched, and so is the op's own gradient."""
    lowered, shared = batch.full_batch(node.inputs[0]), [batch.done[p] is None for p in node.parents]
    parents = tuple(p if same else batch.full_batch(p) for p, same in zip(node.parents, shared, strict=True))

    def gradient(g: Any, y: Any, *_: Any, **__: Any) -> list[Any]:
        # the op's rule is traced for one example's gradient, and batched like the forward graph
        example_gradient = batch.example(g, 0)
        parts = node.op.grad(example_gradient, Tensor(node), *map(Tensor, node.parents), **node.attrs)  # type: ignore[misc]
        pairs = zip(parts, node.parents, strict=True)
        batched = [p if p is None else batch.all_of(unbroadcast(p, x.shape)) for p, x in pairs]
        # a shared input gets the sum over the examples
        return [
            m if m is None or not is_shared else m.sum(0)
            for m, is_shared in zip(batched, shared, strict=True)
        ]

    if node.op.grad is None or not node.requires_grad:
        return lowered
    op = Op("composite", xp=node.op.xp, grad=gradient, doc=node.op.doc, name=node.op.name)
    return stand_for(op, lowered, parents, {})


def _one_by_one(batch: Batch, node: Node) -> Node:
    """Compute each example separately, and stack the results."""
    batched = [Tensor(_of_one(batch, node, i)) for i in range(batch.size)]
    if not batched:
        # no example to compute: the shape is known from the trace
        return apply(OPS["expand"], (constant(0, node.dtype),), {"shape": (0, *node.shape)})
    return COMPOSED["stack"](batched).node


def _of_one(batch: Batch, node: Node, i: int) -> Node:
    inputs = [n if batch.done[n] is None else Tensor(batch.done[n])[i].node for n in node.inputs]
    if node.op.kind == "output":  # it reads the opaque op's result from its launches
        inputs[0] = _of_one(batch, node.inputs[0], i)
    return _reapply(node, tuple(inputs))


def _opaque(batch: Batch, node: Node) -> Node:
    return OPAQUE.get(node.op.name, _one_by_one)(batch, node)


# opaque ops that support leading dims, or work along a dim argument
OPAQUE = {
    "_fft_lines": _batch_first,
    **dict.fromkeys(("_argsort", "_back", "_row_order", "_lu_block", "_cholesky_block"), _batch_all),
    **dict.fromkeys(("_triangular_block", "_qr_block", "_eigh_jacobi", "_svd_jacobi"), _batch_all),
    **dict.fromkeys(("_cat", "_cumsum", "_cumprod", "_logcumsumexp", "_cummax", "_cummin"), _apply_along),
}
RULES: dict[str, Callable[[Batch, Node], Node]] = {
    "elementwise": _elementwise,
    "movement": _movement,
    "reduce": _reduce,
    "contract": _contract,
    "fold": _batch_all,
    "gather": _apply_along,
    "composite": _composite,
    "opaque": _opaque,
}
