"""Calls a module with other tensors instead of its parameters and buffers."""

from contextlib import contextmanager
from typing import Any

from ...errors import TypeError, ValueError, suggest
from ..module import Module


@contextmanager
def swap_tensors(module: Module, tensors: dict[str, Any], strict: bool = False):
    """Within the block, the module has these tensors under these dotted names."""
    own = {*dict(module.named_parameters(remove_duplicate=False))}
    own |= {*dict(module.named_buffers(remove_duplicate=False))}
    for name in tensors:
        if name not in own:
            rule = f"{type(module).__name__} has no tensor of that name{suggest(name, own)}"
            raise ValueError(f"functional_call({name!r}): {rule}")
    if strict and (missing := sorted(own - tensors.keys())):
        raise ValueError(f"functional_call(strict=True): missing: {', '.join(missing)}: pass all")
    paths = {name: name.rpartition(".") for name in tensors}
    owners = {name: (module.get_submodule(path), last) for name, (path, _, last) in paths.items()}
    before = {name: vars(owner)[last] for name, (owner, last) in owners.items()}
    try:
        for name, (owner, last) in owners.items():
            # Past Module.__setattr__, which accepts only parameters under a parameter's name.
            object.__setattr__(owner, last, tensors[name])
        yield
    finally:
        for name, (owner, last) in owners.items():
            object.__setattr__(owner, last, before[name])


def functional_call(
    module: Module, parameters_and_buffers: dict[str, Any], args: Any = (), kwargs: Any = None, **options: Any
) -> Any:
    """Run module(*args, **kwargs) with other tensors in place of its own, by dotted names.

    parameters_and_buffers: the tensors, those of a shared one under any of its names. args: a tuple, or the
    one argument. kwargs: a dict. options: strict=True requires all tensors; tie_weights=False replaces a
    shared tensor only under the given name. ValueError for unknown names.
    """
    strict, tie = options.pop("strict", False), options.pop("tie_weights", True)
    if options:
        raise TypeError(f"functional_call: unknown: {', '.join(options)}: it takes strict, tie_weights")
    tensors = dict(parameters_and_buffers)
    if tie:
        tensors |= _tie(module, tensors)
    with swap_tensors(module, tensors, strict):
        return module(*(args if isinstance(args, tuple) else (args,)), **(kwargs or {}))


def _tie(module: Module, tensors: dict[str, Any]) -> dict[str, Any]:
    """Add the other names of shared tensors, with the tensor that was given under one of them."""
    every = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    # by identity: a shared tensor has several names
    named = {id(t): tensors[name] for name, t in every if name in tensors}
    return {name: named[id(t)] for name, t in every if id(t) in named and name not in tensors}
