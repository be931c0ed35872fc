"""Hooks of tensors: functions that the reverse walk calls with the gradient with respect to a tensor."""

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary, finalize

from ..core.handle import RemovableHandle, hang
from ..core.node import Node, describe
from ..errors import ValueError
from ..runtime.state import mark

Hooks = dict[int, Callable[[Any], Any]]
_of_values: WeakKeyDictionary[Node, Hooks] = WeakKeyDictionary()
_of_parameters: dict[Any, Hooks] = {}  # by the parameter's key: its value is another node after each step


def register(x: Any, hook: Callable[[Any], Any]) -> RemovableHandle:
    """Call hook(gradient) when the gradient with respect to x is complete. ValueError if x requires no
    gradient."""
    node = x.node
    if not node.requires_grad:
        rule = "has requires_grad=False, so it gets no gradient: call requires_grad_()"
        raise ValueError(f"register_hook({describe(x)}): {rule}")
    if node.param is None:
        hooks = _of_values.setdefault(node, {})
    elif (hooks := _of_parameters.get(node.param)) is None:
        hooks = _of_parameters[node.param] = {}
        # The key is not a weak reference, so the hooks are dropped when the tensor is.
        finalize(x, _of_parameters.pop, node.param, None)
    mark()
    return hang(hooks, hook, removed=mark)


def has_hooks() -> bool:
    """Whether any tensor has hooks."""
    return bool(_of_values or _of_parameters)


def hooks_of(node: Node) -> Hooks:
    """The hooks of a node's tensor."""
    return (_of_values.get(node) if node.param is None else _of_parameters.get(node.param)) or {}


def call_hooks(node: Node, gradient: Any) -> Any:
    """The gradient with respect to a node after its hooks. ValueError if a hook returns another shape."""
    for hook in list(hooks_of(node).values()):
        result = hook(gradient)
        if result is None:
            continue
        if getattr(result, "shape", None) != gradient.shape:
            returned = describe(result) if hasattr(result, "node") else repr(result)
            rule = f"a hook must return None or a tensor of the gradient's shape, {list(gradient.shape)}"
            raise ValueError(f"backward(...): a hook on {describe(node)} returned {returned}: {rule}")
        gradient = result.to(gradient.dtype)
    return gradient
