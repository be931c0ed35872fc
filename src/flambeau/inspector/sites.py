"""Records the line of the program and the modules that created each node."""

import linecache
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident
from time import perf_counter
from types import CodeType, FrameType
from typing import Any, NamedTuple

from ..autodiff.backward import walk
from ..core.events import subscribe
from ..core.files import CODE
from ..core.node import Node, watch_serials
from ..core.op import Op
from ..core.source_lines import is_library, is_ours, shown_path
from ..nn.module import Module
from .model import ModuleRow, SiteRow

PLANNING = tuple(str(Path(CODE, name)) for name in ("fusion", "kernels"))  # nodes of planners have no line
OPTIMIZERS = str(Path(CODE, "optim"))
WRAPPERS = ("call", "wrapped", "call_under_rule", "run")  # wrappers of the called function
ROLES = {  # the roles of flambeau's frames
    Module.__call__.__code__: "module",
    Op.__call__.__code__: "op",
    walk.__code__: "walk",
    Node.copied.__code__: "planning",
}


Place = tuple[Any, ...]  # (file, line, ids of modules...); () if unknown


class MadeAt(NamedTuple):
    """The origin of a node. modules: those whose calls were active, innermost first. slope: the serial number
    of the node whose gradient it is part of, or -1."""

    file: str
    line: int
    function: str
    call: str
    modules: tuple[Module, ...]
    optimizer: bool
    slope: int


class Sites:
    """The origins of a block's nodes by serial number, without nodes of other threads and of planners."""

    def __init__(self) -> None:
        self.of_node: dict[int, MadeAt] = {}
        self.thread, self.outside = get_ident(), sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        self.roles: dict[CodeType, str] = dict(ROLES)
        self.slope = -1  # the node whose gradient is being computed
        self.own = 0.0  # seconds spent on recording

    @contextmanager
    def watching(self) -> Generator[None]:
        """Record the nodes of a block."""
        with watch_serials(self._note), subscribe("gradient", self._note_gradient):
            yield

    def _note_gradient(self, node: Node) -> None:
        self.slope = node.serial

    def place(self, serial: int) -> Place:
        """Return a key that distinguishes nodes of equal structure: their line and modules."""
        site = self.of_node.get(serial)
        return () if site is None else (site.file, site.line, *map(id, site.modules))

    def _note(self, serial: int) -> None:
        if get_ident() == self.thread:
            begin = perf_counter()
            # The frame outside of __next__ and Node.__init__: the code that creates the node.
            site = self._origin_of(sys._getframe(3))  # pyright: ignore[reportPrivateUsage]
            if site is not None:
                self.of_node[serial] = site
            self.own += perf_counter() - begin

    def keep(self, origins: set[int]) -> None:
        """Drop all nodes except these."""
        self.of_node = {serial: site for serial, site in self.of_node.items() if serial in origins}

    def _role(self, code: CodeType) -> str:
        file = code.co_filename
        if file.startswith(PLANNING):
            role = "planning"
        elif is_ours(file):
            role = "optimizer" if file.startswith(OPTIMIZERS) else "ours"
        else:
            role = "aside" if is_library(file) else "user"
        self.roles[code] = role
        return role

    def _origin_of(self, frame: FrameType | None) -> MadeAt | None:
        modules: list[Module] = []
        user_frame: FrameType | None = None
        call, inside, roles, outside = "", set[str](), self.roles, self.outside
        # From the node's creation outwards. The first user frame gives the line; modules are collected all
        # the way.
        while frame is not None and frame is not outside:
            role = roles.get(frame.f_code) or self._role(frame.f_code)
            # The planner makes nodes for its own use, such as parts of a sum.
            if role == "planning":
                return None
            if role == "module":
                modules.append(frame.f_locals["self"])
            if user_frame is None:
                if role == "user":
                    user_frame = frame
                elif role != "aside":
                    call = _call_name(frame, role) or call
                inside.add(role)
            frame = frame.f_back
        # Created by the package itself, not by a call of the program.
        if user_frame is None and not modules and inside.isdisjoint(("walk", "optimizer")):
            return None
        slope = self.slope if "walk" in inside else -1
        place = ("", 0, "")  # no line: a command or a Learner calls the model
        if user_frame is not None:
            place = user_frame.f_code.co_filename, user_frame.f_lineno, user_frame.f_code.co_name
        return MadeAt(*place, call, tuple(modules), "optimizer" in inside, slope)


def _call_name(frame: FrameType, role: str) -> str:
    """Return the name of the call to flambeau that a frame belongs to."""
    if role == "op":
        return frame.f_locals["self"].name
    if role == "module":
        return type(frame.f_locals["self"]).__name__
    return "" if frame.f_code.co_name in WRAPPERS else frame.f_code.co_name


class Tables:
    """Lines and layers as rows, each once."""

    def __init__(self, sites: Sites):
        self.sites = sites
        self.rows: dict[tuple[str, int, str], int] = {}
        self.layers: dict[str, tuple[int, ModuleRow]] = {}
        self.paths = {id(m): name for name, m in _named_modules(sites)}
        self.names = {
            p.node.param: name
            for root_name, root in _roots(sites)
            for name, p in root.named_parameters(prefix=root_name)
            if p.node.param is not None
        }
        self._kinds = {name: type(m).__name__ for name, m in _named_modules(sites)}

    def site(self, origin: MadeAt | None) -> int:
        """Return the number of a line, or -1."""
        if origin is None or not origin.file:
            return -1
        return self.rows.setdefault((origin.file, origin.line, origin.function), len(self.rows))

    def layer(self, origin: MadeAt | None) -> int:
        """Return the number of the innermost layer that created a node, or -1."""
        # A gradient belongs to the layer of the node that it is the gradient of.
        origin = (
            self.sites.of_node.get(origin.slope, origin)
            if origin is not None and origin.slope >= 0
            else origin
        )
        if origin is None:
            return -1
        if not origin.modules:
            return self._layer("optimizer") if origin.optimizer else -1
        return self._layer(self.paths[id(origin.modules[0])])

    def _layer(self, name: str) -> int:
        if name not in self.layers:
            above = name.rpartition(".")[0]
            # Containers that are not modules (lists, dicts) have no row: take the next dotted name above.
            while above and above not in self._kinds:
                above = above.rpartition(".")[0]
            parent = self._layer(above) if above else -1
            self.layers[name] = len(self.layers), ModuleRow(name, self._kinds.get(name, ""), parent)
        return self.layers[name][0]

    def site_rows(self) -> tuple[SiteRow, ...]:
        for file in {f for f, _, _ in self.rows}:
            linecache.checkcache(file)  # the file may have changed since it was cached
        return tuple(
            SiteRow(shown_path(file), line, function, linecache.getline(file, line).strip())
            for file, line, function in self.rows
        )

    def layer_rows(self) -> tuple[ModuleRow, ...]:
        return tuple(row for _, row in self.layers.values())


def _roots(sites: Sites) -> list[tuple[str, Module]]:
    """Return (name, module) of the outermost modules that were called."""
    outer: dict[int, Module] = {}
    for origin in sites.of_node.values():
        if origin.modules:
            outer.setdefault(id(origin.modules[-1]), origin.modules[-1])
    # A module that is called alone and also as a part of another is shown as that part.
    inside = {id(m) for root in outer.values() for m in root.modules() if m is not root}
    roots, counts = list[tuple[str, Module]](), dict[str, int]()
    for root in outer.values():
        if id(root) not in inside:
            kind = type(root).__name__
            counts[kind] = counts.get(kind, 0) + 1
            roots.append((kind if counts[kind] == 1 else f"{kind} {counts[kind]}", root))
    return roots


def _named_modules(sites: Sites) -> list[tuple[str, Module]]:
    """Return (dotted name, module) of all modules that were called, or contain a called one."""
    modules: dict[int, tuple[str, Module]] = {}
    for name, root in _roots(sites):
        for path, m in root.named_modules(prefix=name):
            modules.setdefault(id(m), (path, m))
    for origin in sites.of_node.values():
        for m in origin.modules:  # outside of all roots, such as one created during a call
            modules.setdefault(id(m), (type(m).__name__, m))
    return list(modules.values())
