"""The reverse walk: from a scalar tensor back to its parameters, by each op's gradient, in Tensor ops."""

from collections.abc import Iterator
from typing import Any

from . import op as ops
from .node import Node, describe
from .op import no_grad
from .shape import Shape


class Gradients:
    """What backward returns: grads[tensor] is the gradient of the loss by it. Nothing is kept on tensors."""

    def __init__(self, found: dict[int, Any], loss: Any):
        self._found, self.loss = found, loss

    def __getitem__(self, tensor) -> Any:
        key = tensor.node.param
        if key not in self._found:
            raise KeyError(
                f"grads[{describe(tensor)}]: the loss does not depend on it: check requires_grad and detach"
            )
        return self._found[key]

    def __contains__(self, tensor) -> bool:
        return tensor.node.param in self._found

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._found.values())

    def get(self, tensor, default=None):
        """The gradient, or `default` where the loss does not depend on the tensor."""
        return self._found.get(tensor.node.param, default)

    def map(self, f) -> "Gradients":
        """New gradients, each f(gradient): how clipping is written."""
        return Gradients({k: f(g) for k, g in self._found.items()}, self.loss)


def backward(loss, seed=None, create_graph: bool = False) -> Gradients:
    """Gradients of `loss` by every tensor with requires_grad that it was made from."""
    root = loss.node
    if not root.requires_grad:
        raise ValueError(f"backward({describe(loss)}): nothing it was made from has requires_grad=True")
    if seed is None and root.shape != () and root.shape != (1,) * len(root.shape):
        raise ValueError(
            f"backward({describe(loss)}): the loss must be one number: take .sum() or .mean(), or give seed"
        )
    start = seed if seed is not None else type(loss).full(root.shape, 1.0, device=loss.device)
    with _recording(create_graph):
        found = _walk(root, start)
    if not create_graph:
        root.released = True  # the graph may go once the loss has its value
    return Gradients({n.param: g for n, g in found}, loss)


def _recording(create_graph: bool):
    import contextlib

    return contextlib.nullcontext() if create_graph else no_grad()


def _order(root: Node) -> list[Node]:
    """Nodes that gradients flow through, every node after all that use it."""
    order: list[Node] = []
    seen: set[int] = set()
    stack = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            if node.param is None:
                stack.extend((p, False) for p in node.parents if p.requires_grad and id(p) not in seen)
    return order[::-1]


def _walk(root: Node, start) -> list[tuple[Node, Any]]:
    grads: dict[int, Any] = {id(root): start}
    found = []
    for node in _order(root):
        g = grads.pop(id(node))
        if node.param is not None:
            found.append((node, g))
            continue
        y = ops.Tensor(node)
        inputs = [ops.Tensor(p) for p in node.parents]
        for parent, part in zip(node.parents, node.op.grad(g, y, *inputs, **node.attrs), strict=True):  # type: ignore[misc]
            if part is None or not parent.requires_grad:
                continue
            part = unbroadcast(part, parent.shape)
            grads[id(parent)] = grads[id(parent)] + part if id(parent) in grads else part
    return found


def unbroadcast(g, shape: Shape):
    """Sum a gradient over the dims along which its tensor was broadcast. -> shape"""
    if g.shape == shape:
        return g
    lead = g.ndim - len(shape)
    dims = [*range(lead), *(d for d in range(lead, g.ndim) if shape[d - lead] == 1 and g.shape[d] != 1)]
    return g.sum(tuple(dims), keepdim=True).reshape(*shape)
