"""torch.autograd.functional's names: derivatives of a function at its inputs, over the transforms of func."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from .. import func as transforms
from ..core.modes import no_grad
from ..core.node import describe
from ..core.tree import is_tuple, leaves, tree_map
from ..errors import ValueError
from ..tensor import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
STRATEGIES = {"reverse-mode": transforms.jacrev, "forward-mode": transforms.jacfwd}


# without create_graph the derivatives are constants
def _grad_mode(create_graph: bool) -> Any:
    return nullcontext() if create_graph else no_grad()


def _tuple(inputs: Tensor | tuple[Tensor, ...]) -> tuple[Any, ...]:
    return inputs if is_tuple(inputs) else (inputs,)


def _like_inputs(inputs: Tensor | tuple[Tensor, ...], results: tuple[Any, ...]) -> Any:
    """Return results as a tuple if the inputs are one, else the single result."""
    return results if isinstance(inputs, tuple) else results[0]


def _places(inputs: Tensor | tuple[Tensor, ...]) -> int | tuple[int, ...]:
    # an integer gives a single derivative, a tuple of them a tuple, as `inputs` is
    return tuple(range(len(inputs))) if is_tuple(inputs) else 0


def _directions(call: str, like: Any, v: Tensor | tuple[Tensor, ...] | None) -> Any:
    """Return the vectors v; None means 1 for a single number."""
    if v is not None:
        return v
    tensors = leaves(like)
    if len(tensors) != 1 or tensors[0].numel() != 1:
        raise ValueError(f"{call}({describe(tensors)}): v is optional only for a scalar result: pass v")
    return tree_map(lambda t: Tensor.full(t.shape, 1, dtype=t.dtype, device=t.device), like)


def _strategy(call: str, name: str) -> Callable[..., Any]:
    if name not in STRATEGIES:
        choices = " or ".join(map(repr, STRATEGIES))
        raise ValueError(f"{call}(strategy={name!r}): unknown strategy: use {choices}")
    return STRATEGIES[name]


def jacobian(
    func: Callable[..., Any],
    inputs: Tensor | tuple[Tensor, ...],
    create_graph: bool = False,
    vectorize: bool = True,
    strategy: str = "reverse-mode",
) -> Any:
    """Compute the Jacobian of a function at `inputs`, a tensor or a tuple of them.

    The result is [*output, *input]; for tuples, nested tuples by output, then by input. strategy:
    "reverse-mode" or "forward-mode". vectorize: accepted and ignored: rows are always computed together.
    ValueError for an unknown strategy.

    func: a function of tensors, or of trees of them
    create_graph: gradients can be differentiated themselves
    """
    by = _strategy("jacobian", strategy)
    with _grad_mode(create_graph):
        return by(func, _places(inputs))(*_tuple(inputs))


def hessian(
    func: Callable[..., Any],
    inputs: Tensor | tuple[Tensor, ...],
    create_graph: bool = False,
    vectorize: bool = True,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Compute the Hessian of a scalar-valued function at `inputs`, a tensor or a tuple of them.

    The result is [*input, *input]; for tuples, nested tuples. outer_jacobian_strategy: how the gradient is
    differentiated, "reverse-mode" or "forward-mode". vectorize: as in jacobian. ValueError for an unknown
    strategy.

    func: a function of tensors, or of trees of them
    create_graph: gradients can be differentiated themselves
    """
    by = _strategy("hessian", outer_jacobian_strategy)
    places = _places(inputs)
    with _grad_mode(create_graph):
        return by(transforms.grad(func, places), places)(*_tuple(inputs))


def vjp(
    func: Callable[..., Any],
    inputs: Tensor | tuple[Tensor, ...],
    v: Tensor | tuple[Tensor, ...] | None = None,
    create_graph: bool = False,
) -> tuple[Any, Any]:
    """Compute a function's value at `inputs`, and v times its Jacobian.

    v: of the output's shapes; it may be omitted for an output of one number, otherwise ValueError.
    func: a function of tensors, or of trees of them
    create_graph: gradients can be differentiated themselves
    """
    with _grad_mode(create_graph):
        out, pull = transforms.vjp(func, *_tuple(inputs))
        return out, _like_inputs(inputs, pull(_directions("vjp", out, v)))


def jvp(
    func: Callable[..., Any],
    inputs: Tensor | tuple[Tensor, ...],
    v: Tensor | tuple[Tensor, ...] | None = None,
    create_graph: bool = False,
) -> tuple[Any, Any]:
    """Compute a function's value at `inputs`, and its Jacobian times v.

    v: of the inputs' shapes; it may be omitted for an input of one number, otherwise ValueError.
    func: a function of tensors, or of trees of them
    create_graph: gradients can be differentiated themselves
    """
    moves = _tuple(_directions("jvp", inputs, v))  # the tangent of each input
    with _grad_mode(create_graph):
        return transforms.jvp(func, _tuple(inputs), moves)


def hvp(
    func: Callable[..., Any],
    inputs: Tensor | tuple[Tensor, ...],
    v: Tensor | tuple[Tensor, ...] | None = None,
    create_graph: bool = False,
) -> tuple[Any, Any]:
    """Compute a scalar-valued function at `inputs`, and its Hessian times v, by the gradient of the gradient.

    v: of the inputs' shapes; it may be omitted for an input of one number, otherwise ValueError.
    func: a function of tensors, or of trees of them
    create_graph: gradients can be differentiated themselves
    """
    moves, points = _directions("hvp", inputs, v), _tuple(inputs)
    with _grad_mode(create_graph):
        return func(*points), transforms.hvp(func, points if isinstance(inputs, tuple) else inputs, moves)


def vhp(
    func: Callable[..., Any],
    inputs: Tensor | tuple[Tensor, ...],
    v: Tensor | tuple[Tensor, ...] | None = None,
    create_graph: bool = False,
) -> tuple[Any, Any]:
    """Compute a scalar-valued function at `inputs`, and v times its Hessian, which equals hvp by symmetry.

    v: of the inputs' shapes; it may be omitted for an input of one number, otherwise ValueError.
    func: a function of tensors, or of trees of them
    create_graph: gradients can be differentiated themselves
    """
    return hvp(func, inputs, _directions("vhp", inputs, v), create_graph)
