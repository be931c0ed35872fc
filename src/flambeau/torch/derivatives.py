"""Gradients in torch's manner: `backward` adds to `.grad`, hooks, `retain_grad`, `grad_fn`."""

import threading
import warnings
import weakref
from collections.abc import Callable
from functools import cache
from typing import Any

from ..autodiff import hooks
from ..autodiff.backward import Gradients
from ..autograd import grad as _grad
from ..core.handle import RemovableHandle, hang
from ..core.modes import no_grad
from ..core.node import Node, describe
from ..core.siblings import compute_together
from ..errors import ValueError
from ..runtime import run
from ..runtime.state import taken_by, thread, with_next_run
from ..tensor import Tensor
from . import grad_slots
from .switch import add_patch, in_mode

NOT_A_LEAF = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't"
    " be populated during autograd.backward(). If you indeed want the .grad field to be populated for a"
    " non-leaf Tensor, use .retain_grad() on the non-leaf Tensor."
)
plain_backward = Tensor.backward
plain_register_hook = Tensor.register_hook


class _Losses(threading.local):
    """The losses of this thread's backward passes since its last step: the step computes them too."""

    def __init__(self) -> None:
        self.waiting: list[weakref.ref[Tensor]] = []


losses = _Losses()
_retained: weakref.WeakKeyDictionary[Node, RemovableHandle] = weakref.WeakKeyDictionary()
after_passes: list[Callable[[set[int]], None]] = []  # called with the ids of the leaves that got gradients
_after: dict[Any, dict[int, Callable[..., Any]]] = {}  # by the parameter's key, as hooks of leaves


class _Grad:
    """`x.grad`: the sum of the gradients of all backward passes since it was None."""

    def __get__(self, tensor: Any, owner: Any = None) -> Any:
        if tensor is None:
            return self
        gradient = grad_slots.read(tensor)
        if gradient is None and not tensor.is_leaf and tensor.node not in _retained:
            warnings.warn(NOT_A_LEAF, UserWarning, stacklevel=2)
        return gradient

    def __set__(self, tensor: Any, value: Any) -> None:
        if value is not None:
            _check_gradient(tensor, value)
        grad_slots.write(tensor, value)

    def __delete__(self, tensor: Any) -> None:
        grad_slots.write(tensor, None)


def _check_gradient(tensor: Tensor, value: Any) -> None:
    call = f"x.grad = {describe(value)} for x {describe(tensor)}"
    if not isinstance(value, Tensor):
        raise TypeError(f"{call}: a gradient is a tensor or None: pass one of them")
    if value is tensor:
        raise ValueError(f"{call}: a tensor can't be its own gradient: pass another tensor")
    if value.shape != tensor.shape:
        raise ValueError(f"{call}: shapes differ: a gradient has the shape of its tensor")
    if value.dtype is not tensor.dtype:
        raise ValueError(f"{call}: dtypes differ: cast the gradient with .to(x.dtype)")
    if value.device is not tensor.device:
        raise ValueError(f"{call}: devices differ: move the gradient with .to(x.device)")


add_patch(Tensor, "grad", _Grad())


@in_mode(Tensor)
def backward(
    self: Tensor,
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> Gradients:
    """Add the gradient of this tensor with respect to each leaf (or each of `inputs`) to the leaf's `.grad`.

    gradient: the initial gradient, of the same shape, for a tensor of several numbers. retain_graph: keep the
    graph for another backward. create_graph: the gradients can be differentiated. Returns the gradients of
    this pass.
    """
    if inputs is not None and any(t.node.param is None for t in _as_list(inputs)):
        return _backward_to(self, gradient, retain_graph, create_graph, _as_list(inputs))
    grads = plain_backward(self, gradient, retain_graph, create_graph, inputs)
    leaves = {key: taken_by.get(key) for key in grads.by_key}
    pairs = [(leaf, grads.by_key[key]) for key, leaf in leaves.items() if leaf is not None]
    _add_all(self, pairs, create_graph)
    # The result has the sums, as `.grad` has: callers that clip or scale the result of backward see the same
    # tensors as code that uses the parameters.
    grads.by_key = {
        key: g if (leaf := leaves[key]) is None else grad_slots.read(leaf) for key, g in grads.by_key.items()
    }
    if _after:
        for leaf, _ in pairs:
            for hook in list(_after.get(leaf.node.param, {}).values()):
                hook(leaf)
    for finish in after_passes:
        finish({id(leaf) for leaf, _ in pairs})
    return grads


def has_post_hooks() -> bool:
    """Whether a tensor has a hook of register_post_accumulate_grad_hook."""
    return bool(_after)


def _as_list(tensors: Any) -> list[Any]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _backward_to(
    loss: Tensor, gradient: Any, retain_graph: bool | None, create_graph: bool, inputs: list[Any]
) -> Gradients:
    """`backward` with tensors among `inputs` that were computed."""
    parts = _grad(loss, inputs, gradient, retain_graph, create_graph, allow_unused=True)
    _add_all(loss, [(x, g) for x, g in zip(inputs, parts, strict=True) if g is not None], create_graph)
    return Gradients({x.node.param: grad_slots.read(x) for x in inputs if x.node.param is not None}, loss)


def _add_all(loss: Tensor, pairs: list[tuple[Tensor, Tensor]], create_graph: bool) -> None:
    """Add each gradient to `.grad` of its tensor; the values of one pass are computed together."""
    if grad_slots.current.frame is not None:
        grad_slots.current.frame.has_passed = True
    before = [grad_slots.read(x) for x, _ in pairs]
    sums = [_add(x, b, g, create_graph) for b, (x, g) in zip(before, pairs, strict=True)]
    compute_together([*sums, loss])
    # The first pass of a step stays lazy: `step` computes gradients and update in one run. Accumulated passes
    # run at once.
    if any(b is not None for b in before) and thread.recorder is None and loss.device.can_wait:
        run.realize(*sums, loss)  # otherwise the graph would grow with each pass
    # Weakly: a loss that the script drops before the step need not be computed.
    losses.waiting.append(weakref.ref(loss))


def _add(x: Tensor, before: Any, g: Tensor, create_graph: bool) -> Tensor:
    """Add g to the gradient of a tensor, which is `before`; returns the sum."""
    if before is not None and not create_graph:
        with no_grad():
            return grad_slots.add(x, before, g)  # in place, as in torch: a reference to x.grad sees the sum
    # another tensor of the same value: a write to one gradient must not change another of equal value
    total = Tensor(g.node) if before is None else before + g
    grad_slots.write(x, total)
    return total


def take_losses() -> None:
    """Compute the losses of the backward passes so far with the next run."""
    waiting, losses.waiting = losses.waiting, []
    for r in waiting:
        if (loss := r()) is not None:
            with_next_run(loss)


@in_mode(Tensor)
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], Any]) -> RemovableHandle:
    """Call hook(x) after each backward pass has added to x.grad. ValueError unless x is a leaf that requires
    gradients."""
    if self.node.param is None:
        rule = "it is not a leaf that requires gradients: use register_hook"
        raise ValueError(f"register_post_accumulate_grad_hook({describe(self)}): {rule}")
    key = self.node.param
    if key not in _after:
        _after[key] = {}
        # The table has keys, so it would keep the hooks of deleted parameters.
        weakref.finalize(self, _after.pop, key, None)
    return hang(_after[key], hook)


@in_mode(Tensor)
def register_hook(self: Tensor, hook: Callable[[Any], Any]) -> RemovableHandle:
    """Call hook(gradient) in backward when this tensor's gradient is complete; its result, if not None,
    replaces the gradient."""
    handle = plain_register_hook(self, hook)
    if (retained := _retained.get(self.node)) is not None:  # `.grad` stores the result of the other hooks
        retained.remove()
        _retained[self.node] = _retain(self)
    return handle


@in_mode(Tensor)
def retain_grad(self: Tensor) -> None:
    """Keep the gradient of this computed tensor in `.grad` too."""
    if not self.requires_grad:
        raise ValueError(f"retain_grad({describe(self)}): has requires_grad=False: it gets no gradient")
    if not self.is_leaf and self.node not in _retained:
        _retained[self.node] = _retain(self)


def _retain(tensor: Tensor) -> RemovableHandle:
    reference = weakref.ref(tensor)

    def keep(gradient: Tensor) -> None:
        if (t := reference()) is not None:
            before = grad_slots.read(t)
            grad_slots.write(t, Tensor(gradient.node) if before is None else before + gradient)

    return hooks.register(tensor, keep)


@in_mode(Tensor)
@property
def retains_grad(self: Tensor) -> bool:
    """Whether `.grad` of this computed tensor is kept."""
    return self.node in _retained


class GradFn:
    """`x.grad_fn`: the operation that computed a tensor which gradients flow through."""

    def __init__(self, node: Node):
        self._node = node

    def name(self) -> str:
        """The name of the operation, such as MulBackward0."""
        return type(self).__name__

    @property
    def variable(self) -> Any:
        """The leaf of an AccumulateGrad."""
        return taken_by.get(self._node.param)

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The operations of the inputs, None for inputs without gradients."""
        if self._node.param is not None:
            return ()
        return tuple((grad_fn_of(p) if p.requires_grad else None, 0) for p in self._node.parents)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, GradFn) and other._node is self._node

    def __hash__(self) -> int:
        return hash(self._node)

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self._node):#x}>"


@cache
def _class_of(name: str) -> type[GradFn]:
    return type(name, (GradFn,), {})


def grad_fn_of(node: Node) -> GradFn:
    """The object of `grad_fn` for a node, of a class that is named after the operation."""
    if node.param is not None:
        return _class_of("AccumulateGrad")(node)
    # a sum is a reduction and a reshape here
    named = node.parents[0] if node.op.name == "reshape" and node.parents[0].op.kind == "reduce" else node
    words = named.op.name.strip("_").split("_")
    return _class_of("".join(w[:1].upper() + w[1:] for w in words) + "Backward0")(node)


@in_mode(Tensor)
@property
def grad_fn(self: Tensor) -> Any:
    """The operation that computed this tensor; None for a leaf."""
    return grad_fn_of(self.node) if self.node.requires_grad and self.node.param is None else None


def backward_of(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """torch.autograd.backward: `backward` of one tensor or of several.

    grad_tensors: the initial gradients. grad_variables: its older name.
    """
    roots = _as_list(tensors)
    starts = _as_list(grad_tensors if grad_tensors is not None else grad_variables or [None] * len(roots))
    if len(starts) != len(roots):
        rule = "pass a gradient, or None, for each tensor"
        raise ValueError(f"backward({len(roots)} tensors, {len(starts)} grad_tensors): {rule}")
    for i, (y, g) in enumerate(zip(roots, starts, strict=True)):
        keep = True if i + 1 < len(roots) else retain_graph  # the tensors may share a graph
        y.backward(g, keep, create_graph, inputs)


__all__ = ["backward_of"]
