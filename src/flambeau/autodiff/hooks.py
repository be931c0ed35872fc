"""Functions that users hang on tensors: each is called with the gradient by one, on the walk back."""

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
    """Have hook(gradient) called where gradients by x are complete. ValueError where there are none."""
    node = x.node
    if not node.requires_grad:
        rule = "has requires_grad=False, so no gradient by it is computed: call requires_grad_()"
        raise ValueError(f"register_hook({describe(x)}): {rule}")
    if node.param is None:
        hooks = _of_values.setdefault(node, {})
    elif (hooks := _of_parameters.get(node.param)) is None:
        hooks = _of_parameters[node.param] = {}
        finalize(x, _of_parameters.pop, node.param, None)
    mark()
    return hang(hooks, hook, removed=mark)


def are_there() -> bool:
    """Whether any tensor has hooks."""
    return bool(_of_values or _of_parameters)


def of(node: Node) -> Hooks:
    """The hooks that hang on the tensor of a node."""
    return (_of_values.get(node) if node.param is None else _of_parameters.get(node.param)) or {}


def changed(node: Node, gradient: Any) -> Any:
    """A gradient by a node after the hooks that hang on it. ValueError where one gives another shape."""
    for hook in list(of(node).values()):
        made = hook(gradient)
        if made is None:
            continue
        if getattr(made, "shape", None) != gradient.shape:
            told = describe(made) if hasattr(made, "node") else repr(made)
            rule = f"a hook gives None or a tensor of the gradient's shape, {list(gradient.shape)}"
            raise ValueError(f"backward(...): a hook on {describe(node)} gave {told}: {rule}")
        gradient = made.to(gradient.dtype)
    return gradient
