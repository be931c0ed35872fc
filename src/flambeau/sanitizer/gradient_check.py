"""Compares the gradient of an op with the slope of its reference along a direction, in float64."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..autodiff.backward import slopes
from ..core.modes import no_grad
from ..core.node import Node
from ..device import get_device
from ..differences import OF_TERMS, differences, slope_of
from ..tensor import Tensor, tensor
from .clone_graph import reference

STEP = 2.0**-12  # of slopes
MOVED = 64  # elements of an input that change: with more, some would cross a corner
LARGEST = 2.0**20  # larger values drown the change by a small step, as masked scores of -3e38 do


class WrongSlope(NamedTuple):
    """A gradient that differs from the reference's slope: the input's number, and both slopes."""

    by: int
    got: float
    want: float

    def __str__(self) -> str:
        return (
            f"its gradient by input {self.by} gives the slope {self.got:.6g} along a direction,"
            f" the reference {self.want:.6g}"
        )


def wrong_slope(node: Node, values: dict[Node, Any], read: Callable[[Node], Any]) -> WrongSlope | None:
    """The first parent of an op with a gradient that differs from the slope of the reference; None without
    one.

    values: those of the parents. read: returns the array of a computed node. A parent is left out near a
    corner, and if the reference does not depend on it.
    """
    read_nodes: set[Node] = set()

    def loss_at(values: dict[Node, Any]) -> Any:
        """The op's value of these inputs, in float64."""

        def of(n: Node) -> Any:
            read_nodes.add(n)
            is_leaf = n not in values and n.buffer is not None and not n.inputs
            return read(n) if is_leaf else values.get(n)

        return np.asarray(reference(node, of, through=True).value)

    y = loss_at(values)
    # Random weights: with equal ones, errors of opposite signs would cancel in the sum.
    weights = np.where(np.abs(y) > LARGEST, 0.0, np.random.default_rng(0).uniform(0.5, 1.5, node.shape))
    gradients: dict[Node, Any] = {}
    for parent, part in zip(node.parents, _gradients(node, values, y, weights), strict=False):
        gradient = np.zeros(parent.shape) if part is None else _sum_to_shape(part, parent.shape)
        # x * x has x twice
        gradients[parent] = gradients[parent] + gradient if parent in gradients else gradient
    for i, (parent, gradient) in enumerate(gradients.items()):
        if parent in read_nodes and parent.requires_grad and parent.dtype.is_float and parent.nbytes:
            bad = _compare_slopes(loss_at, values, parent, gradient, weights)
            if bad is not None:
                return bad._replace(by=i)
    return None


def _gradients(node: Node, values: dict[Node, Any], y: Any, weights: Any) -> list[Any]:
    """The gradients of sum(weights * y) by the op's rule, on NumPy's device."""
    device: Any = get_device("cpu")

    def tensor_of(n: Node, array: Any) -> Tensor:
        value = np.asarray(array).astype(n.dtype.numpy)
        return tensor(value, dtype=n.dtype, device=device).reshape(n.shape)

    with no_grad():
        inputs = [tensor_of(p, values[p]) for p in node.parents]
        g = tensor(weights.astype("f4"), device=device).reshape(node.shape).to(node.dtype)
        out = slopes(node.op, g, tensor_of(node, y), inputs, node.attrs)
    nodes = [x.node for x in out if x is not None]
    device.compute([n for n in nodes if n.buffer is None])
    return [None if x is None else np.asarray(x.node.buffer.array).astype("f8") for x in out]


def _compare_slopes(
    loss_at: Callable[[dict[Node, Any]], Any], values: dict[Node, Any], by: Node, gradient: Any, weights: Any
) -> WrongSlope | None:
    x = np.asarray(values[by], "f8")
    rng = np.random.default_rng(1)
    moved = rng.permutation(np.flatnonzero(~(np.abs(x) > LARGEST)))[:MOVED]
    # Random signs and sizes, so that no two elements' errors cancel.
    direction = np.zeros(x.size)
    direction[moved] = rng.choice((-1.0, 1.0), moved.size) * rng.uniform(0.5, 1.0, moved.size)
    direction = direction.reshape(x.shape)
    base = loss_at(values | {by: x})

    def loss(t: float) -> float:
        with np.errstate(all="ignore"):
            return float(((loss_at(values | {by: x + t * direction}) - base) * weights).sum())

    got = float((gradient * direction).sum())
    # Subtracting `base` in the loss keeps its digits; its value at 0 is then exactly 0.
    slope = slope_of(loss, STEP, centre=0.0)
    size = max(abs(slope.value), float(np.abs(gradient * direction).sum()), 1e-2)
    if slope.bend > 1e-3 * size or not np.isfinite([got, *slope]).all():  # a corner, or no number
        return None
    wrong = differences(np.float64(got), np.float64(slope.value), OF_TERMS * size + 2 * slope.change)
    return None if wrong is None else WrongSlope(0, got, slope.value)


def _sum_to_shape(gradient: Any, shape: tuple[int, ...]) -> Any:
    """A gradient summed over the dims along which its input was broadcast."""
    if gradient.shape == shape:
        return gradient
    lead = gradient.ndim - len(shape)
    dims = [*range(lead), *(d for d in range(lead, gradient.ndim) if shape[d - lead] == 1)]
    return gradient.sum(tuple(dims), keepdims=True).reshape(shape)
