"""Places parts of a model on several devices, and moves activations where a part begins."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from ..device import get_device
from ..errors import ValueError, suggest
from . import hooks
from .device_split import split
from .routes import REST, Route, is_one_of, tensors_of, unroute

if TYPE_CHECKING:
    from ..device import DeviceLike
    from .module import Module

SPLIT = "split:"
SHOWN = 5  # names listed in an error
RANGE = re.compile(r"(\d+)-(\d+)")
LONGEST = 10_000  # most numbers of a range


def is_placement(device: DeviceLike | None) -> bool:
    """Whether an argument of `Module.to` names several devices."""
    return isinstance(device, Mapping) or (isinstance(device, str) and device.startswith(SPLIT))


def place(model: Module, placement: Any) -> dict[int, Any]:
    """Set the hooks of a placement. Returns the device of each tensor, by its id. ValueError lists the names
    that match nothing, and the tensors that none or several match."""
    if isinstance(placement, str):
        placement = split(model, devices=placement.removeprefix(SPLIT).split(","))
    plan = _Placement(model, placement)
    unroute(model)
    for module, device in plan.routes:
        hook = hooks.ModuleHook(Route(device), with_kwargs=True)
        hooks.register(module._module_hooks, "forward_pre", hook, prepend=True)  # pyright: ignore[reportPrivateUsage]
    return plan.of_tensor


def _expand(pattern: str) -> list[list[str]]:
    """The parts of a pattern's names: "blocks.0-2.fc" is three names. ValueError for an invalid range."""
    names: list[list[str]] = [[]]
    for part in pattern.split("."):
        texts = [part]
        if limits := RANGE.fullmatch(part):
            first, last = int(limits[1]), int(limits[2])
            if not first <= last < first + LONGEST:
                raise ValueError(f"{pattern!r}: {part!r} must be a range such as 0-5")
            texts = [str(i) for i in range(first, last + 1)]
        names = [[*name, text] for name in names for text in texts]
    return names


def _fits(pattern: list[str], name: list[str]) -> bool:
    """Whether a pattern names a module or tensor, or a module around it."""
    return len(pattern) <= len(name) and all(map(fnmatchcase, name, pattern))


def _list_names(names: list[str]) -> str:
    """The first of these names, and the number of the others."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(repr, names[:SHOWN])) + more


class _Placement:
    """The devices and moves that a placement gives a model.

    of_tensor: the device of each tensor, by its id. routes: the modules whose arguments are moved, each with
    its device.
    """

    def __init__(self, model: Module, placement: Mapping[str, Any]):
        self.model, self.placement = model, placement
        self.devices = {pattern: get_device(device) for pattern, device in placement.items()}
        self.modules = dict(model.named_modules(remove_duplicate=False))
        self.tensors = dict(tensors_of(model))
        self.problems: list[str] = []
        names = {pattern: self._names(pattern) for pattern in placement if pattern != REST}
        matched = {name: [p for p in names if name in names[p]] for name in (*self.modules, *self.tensors)}
        self.explicit = {n: self.devices[patterns[0]] for n, patterns in matched.items() if patterns}
        self._check(matched)
        rest = self.devices.get(REST)
        self.of_name = {n: self.explicit.get(n, rest) for n in self.tensors}
        self.of_tensor = {id(t): self.of_name[n] for n, t in self.tensors.items()}
        self._check_tied()
        self.routes = list(self._routes("", model))
        if self.problems:
            places = ", ".join(f"{p!r}: {d!r}" for p, d in list(placement.items())[:SHOWN])
            dots = ", ..." if len(placement) > SHOWN else ""
            call = f"{type(model).__name__}.to({{{places}{dots}}})"
            raise ValueError(f"{call}: {'; '.join(self.problems)}")

    def _names(self, pattern: str) -> set[str]:
        """The names of modules and tensors that a pattern covers."""
        paths = {n: n.split(".") for n in (*self.modules, *self.tensors) if n}
        covered: set[str] = set()
        try:
            parts = _expand(pattern)
        except ValueError as e:
            self.problems.append(str(e))
            return covered
        missing: list[str] = []
        for one in parts:
            matching = {n for n, name in paths.items() if _fits(one, name)}
            missing += [] if matching else [".".join(one)]
            covered |= matching
        if missing:
            inside = "" if missing == [pattern] else f" ({_list_names(missing)})"
            hint = suggest(missing[0], paths)
            self.problems.append(f"{pattern!r}{inside} matches no module or tensor{hint}")
        return covered

    def _check(self, matched: dict[str, list[str]]) -> None:
        tensors = {n: matched[n] for n in self.tensors}
        several: dict[str, list[str]] = {}
        for name, patterns in tensors.items():
            if len(patterns) > 1:
                several.setdefault(" and ".join(map(repr, patterns)), []).append(name)
        for patterns, shared in several.items():
            self.problems.append(f"{patterns} both match {_list_names(shared)}: name each tensor once")
        free = [n for n, patterns in tensors.items() if not patterns]
        # after a name that matches nothing, tensors without a device are a consequence
        if free and REST not in self.placement and not self.problems:
            self.problems.append(f"no name matches {_list_names(free)}: add {REST!r} for the rest")

    def _check_tied(self) -> None:
        """Find tensors with two names on two devices."""
        first: dict[int, str] = {}
        for name, t in self.tensors.items():
            other = first.setdefault(id(t), name)
            device, other_device = self.of_name[name], self.of_name[other]
            if device is not other_device and None not in (device, other_device):
                rule = f"{other!r} and {name!r} are one tensor, on {other_device} and {device}"
                self.problems.append(f"{rule}: place both on one device")

    def _routes(self, prefix: str, module: Module) -> Iterator[tuple[Module, Any]]:
        """The largest modules whose tensors are on one device, and modules around these with tensors."""
        name = prefix[:-1]
        is_list = is_one_of(module, "ModuleList", "ModuleDict")  # they are not called, only their modules
        inside = {self.of_name[n] for n in self.tensors if n.startswith(prefix)}
        own = {self.of_name[n] for n in self.tensors if n.rpartition(".")[0] == name}
        # Modules without tensors, such as an activation, may be placed on a device too.
        others = {d for n, d in self.explicit.items() if n.startswith(prefix) and n in self.modules}
        if not inside:
            if name in self.explicit and not is_list:
                yield module, self.explicit[name]
                return
        elif len(inside | others) == 1 and not is_list:
            yield module, inside.pop()
            return
        elif len(own) > 1:
            self.problems.append(f"the tensors of {name!r} itself are on {len(own)} devices: name the module")
        elif own:
            yield module, own.pop()
        for child, m in module.named_children():
            yield from self._routes(f"{prefix}{child}.", m)
