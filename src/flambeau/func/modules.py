"""Modules as functions of their parameters and buffers."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..core.node import describe
from ..core.op import COMPOSED
from ..core.tree import is_dict, is_tuple
from ..errors import ValueError, suggest
from ..tensor import Tensor

if TYPE_CHECKING:
    from ..nn.module import Module

__all__ = ["functional_call", "stack_module_state"]


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors in place of its parameters and buffers.

    parameter_and_buffer_dicts: a dict of dotted names, or several; missing names keep the module's tensors.
    args: one argument, or a tuple of them; kwargs: those by name. tie_weights: replace a shared tensor under
    all its names. strict: every name is required. ValueError if a name is unknown or missing.
    """
    replacements = parameter_and_buffer_dicts
    tensors = (
        dict(replacements) if is_dict(replacements) else {k: t for d in replacements for k, t in d.items()}
    )
    positions = _places(module)
    unknown = [name for name in tensors if name not in positions]
    if unknown:
        hint = suggest(unknown[0], positions)
        raise ValueError(f"functional_call({type(module).__name__}): no tensor is named {unknown[0]!r}{hint}")
    missing = [name for name in positions if name not in tensors]
    if strict and missing:
        raise ValueError(f"functional_call({type(module).__name__}): strict=True, but {missing} are missing")
    several = args if is_tuple(args) else () if args is None else (args,)
    with _replace(positions, _with_ties(positions, tensors) if tie_weights else tensors):
        return module(*several, **(kwargs or {}))


def _places(module: Any, prefix: str = "") -> dict[str, tuple[dict[str, Any], str]]:
    """Map the dotted name of each parameter and buffer, also shared ones, to its dict of attributes and
    its key."""
    attributes: dict[str, Any] = module.__dict__
    slots = {
        prefix + name: (attributes, name) for name, value in attributes.items() if isinstance(value, Tensor)
    }
    for name, child in module.named_children():
        slots |= _places(child, f"{prefix}{name}.")
    return slots


def _with_ties(own: dict[str, tuple[dict[str, Any], str]], tensors: dict[str, Any]) -> dict[str, Any]:
    """Add the tensors under all names that the module shares."""
    # a tensor that the module uses under several names has one id
    new = {id(own[name][0][own[name][1]]): t for name, t in tensors.items()}
    ties = {name: new[id(d[k])] for name, (d, k) in own.items() if id(d[k]) in new}
    return ties | tensors


@contextmanager
def _replace(own: dict[str, tuple[dict[str, Any], str]], tensors: dict[str, Any]) -> Generator[None]:
    # restored afterwards, also if the call raises
    before = [(*own[name], own[name][0][own[name][1]]) for name in tensors]
    try:
        for name, t in tensors.items():
            attributes, key = own[name]
            attributes[key] = t
        yield
    finally:
        for attributes, key, t in before:
            attributes[key] = t


def stack_module_state(models: "Sequence[Module]") -> tuple[dict[str, Any], dict[str, Any]]:
    """(parameters, buffers) of modules of one kind, each stacked along a new dim 0: an ensemble for vmap.

    models: a list of modules. ValueError if it is empty or they differ in kind, training or names.
    """
    if not models:
        raise ValueError("stack_module_state([]): needs at least one model")
    first = models[0]
    # vmap runs one module's code for all: class and mode must agree
    kinds = {(m.__class__, m.training) for m in models}
    if len(kinds) > 1:
        names = ", ".join(sorted({type(m).__name__ for m in models}))
        raise ValueError(f"stack_module_state(...): {names}: all must be of one class, in one mode")
    parameters = {
        name: _stack([dict(m.named_parameters())[name] for m in models], True)
        for name, _ in first.named_parameters()
    }
    buffers = {
        name: _stack([dict(m.named_buffers())[name] for m in models], False)
        for name, _ in first.named_buffers()
    }
    return parameters, buffers


def _stack(tensors: list[Tensor], is_parameter: bool) -> Tensor:
    if len({t.shape for t in tensors}) > 1:
        raise ValueError(f"stack_module_state(...): shapes differ: {describe(tensors)}")
    # detached: the stack is a new leaf and not a function of the models
    stacked = COMPOSED["stack"]([t.detach() for t in tensors])
    return stacked.requires_grad_() if is_parameter and tensors[0].requires_grad else stacked
