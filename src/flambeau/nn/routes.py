"""Hooks that move a module's arguments or outputs to a device, and the tensors of a model by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..core.tree import tree_map
from ..runtime.exchange import transfer
from ..tensor import Tensor
from . import hooks

if TYPE_CHECKING:
    from ..device import DeviceLike
    from .module import Module

REST = "*"  # the name for modules that no other name of a placement matches


class Route:
    """A forward pre-hook that moves the tensors among a module's arguments to a device."""

    def __init__(self, device: DeviceLike | None):
        self.device = device

    def __call__(self, _module: Any, args: Any, kw: Any) -> Any:
        return tree_map(self.move, args), tree_map(self.move, kw)

    def move(self, value: Any) -> Any:
        return transfer(value, self.device) if isinstance(value, Tensor) else value


class OutputRoute(Route):
    """A forward hook that moves the tensors among a module's outputs to a device."""

    def __call__(self, _module: Any, args: Any, kw: Any) -> Any:
        return tree_map(self.move, kw)  # the third argument of such a hook is the output


def unroute(model: Module) -> None:
    """Remove the hooks of a placement."""
    for m in model.modules():
        for kind in ("forward_pre", "forward"):
            kinds = hooks.own_hooks(m, kind)
            for key in [k for k, hook in kinds.items() if isinstance(hook.call, Route)]:
                del kinds[key]
            if not kinds:  # a module without hooks is called without looking for them
                m._module_hooks.pop(kind, None)  # pyright: ignore[reportPrivateUsage]


def settle_output(model: Module) -> Any:
    """Return the device that a model's outputs are on: its last parameter's. Outputs of a placed model that
    end elsewhere are moved there."""
    *_, last = (p.device for p in model.parameters())
    before = [hook for m in model.modules() for hook in hooks.own_hooks(m, "forward_pre").values()]
    if any(isinstance(hook.call, Route) for hook in before):
        hook = hooks.ModuleHook(OutputRoute(last))
        hooks.register(model._module_hooks, "forward", hook)  # pyright: ignore[reportPrivateUsage]
    return last


def tensors_of(model: Module) -> Iterator[tuple[str, Any]]:
    """(dotted name, tensor) of parameters and buffers; a shared one under each name."""
    for name, m in model.named_modules(remove_duplicate=False):
        prefix = f"{name}." if name else ""
        yield from m.named_parameters(prefix=name, recurse=False)
        yield from ((prefix + n, t) for n, t in m.named_buffers(recurse=False))


def is_one_of(module: Module, *classes: str) -> bool:
    """Whether a module is an instance of one of these classes of `containers`, which can't be imported
    here."""
    return not {*classes}.isdisjoint(c.__name__ for c in type(module).__mro__)
