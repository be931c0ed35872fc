"""Reads the public functions and classes from the package: signatures, docstrings, sources."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from ..core.help import doc_of
from ..tensor import Tensor

MODULES = (
    "flambeau", "flambeau.nn", "flambeau.nn.init", "flambeau.nn.functional", "flambeau.optim",
    "flambeau.data", "flambeau.optim.lr_scheduler", "flambeau.optim.swa_utils", "flambeau.linalg",
    "flambeau.fft", "flambeau.signal.windows", "flambeau.special", "flambeau.masked", "flambeau.func",
    "flambeau.autograd", "flambeau.autograd.functional", "flambeau.accelerator", "flambeau.testing",
    "flambeau.amp", "flambeau.metrics", "flambeau.onnx", "flambeau.metrics.functional",
    "flambeau.distributions", "flambeau.learner", "flambeau.models", "flambeau.debug", "flambeau.io",
    "flambeau.export", "flambeau.hub", "flambeau.nn.utils", "flambeau.vision", "flambeau.vision.transforms",
    "flambeau.distributed", "flambeau.remote", "flambeau.pictures", "flambeau.tabs", "flambeau.tokenizers",
)  # fmt: skip
PACKAGE = Path(__file__).parents[1]


class SourceLines(NamedTuple):
    """The lines of a definition: the file below the package, the number of the first line, the text."""

    path: str
    line: int
    text: str


class PublicName(NamedTuple):
    """A public function or class: its module and name, its signature, docstring and source; for a class its
    public methods and the names of its bases."""

    module: str
    name: str
    kind: str  # "function" or "class"
    signature: str
    doc: str
    source: SourceLines | None
    methods: tuple[PublicName, ...] = ()
    bases: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.module}.{self.name}"


def entries() -> Iterator[PublicName]:
    """Yield all public functions and classes, by module and name, and the methods of Tensor."""
    for module in MODULES:
        for name, value in members(import_module(module)).items():
            if callable(value) and not isinstance(value, ModuleType):
                yield entry_of(module, name, value)


def members(module: Any) -> dict[str, Any]:
    """Return the public members of a module: its __all__, else the functions and classes that it defines."""
    names: list[str] | None = getattr(module, "__all__", None)
    if names is None:
        named: dict[str, Any] = module.__dict__
        own = {n: v for n, v in named.items() if n[0] != "_" and callable(v)}
        names = [n for n, v in own.items() if getattr(v, "__module__", "") == module.__name__]
    return {name: getattr(module, name) for name in sorted(names)}


def entry_of(module: str, name: str, value: Any) -> PublicName:
    """Read a function or class."""
    is_class = isinstance(value, type)
    methods = tuple(methods_of(value)) if is_class else ()
    kind = "class" if is_class else "function"
    return PublicName(
        module, name, kind, signature_of(value), doc_of(value), source_of(value), methods, bases_of(value)
    )


def methods_of(owner: type) -> Iterator[PublicName]:
    """Yield the public methods and properties that a class itself defines; of a Tensor also its bases'."""
    owners = [k for k in owner.__mro__ if k.__module__.startswith("flambeau")] if owner is Tensor else [owner]
    members = {n: v for k in reversed(owners) for n, v in vars(k).items() if n[0] != "_"}
    for name, value in sorted(members.items()):
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if callable(function) and doc_of(function) and not isinstance(function, type):
            text = "" if isinstance(value, property) else signature_of(function)
            yield PublicName(owner.__name__, name, "method", text, doc_of(function), None)


def bases_of(value: Any) -> tuple[str, ...]:
    """Return the names of a class's public bases in this package."""
    bases = value.__bases__ if isinstance(value, type) and value is not Tensor else ()
    return tuple(k.__name__ for k in bases if k.__module__.startswith("flambeau") and k.__name__[0] != "_")


def called(value: Any) -> Any:
    """Return the function that has a class's arguments: early Python 3.11 prefers a base's __new__ to
    __init__."""
    if not isinstance(value, type) or "__signature__" in vars(value):
        return value
    owner = next(k for k in value.__mro__ if not {"__new__", "__init__"}.isdisjoint(vars(k)))
    has_init = "__init__" in vars(owner) and owner is not object
    return partial(value.__init__, None) if has_init else value


def signature_of(value: Any, first: str = "") -> str:
    """Return the arguments of a function or class, without annotations; a method's self as `first`, "" for
    none."""
    try:
        signature = inspect.signature(called(value))
    except (ValueError, TypeError):  # exceptions without a signature
        return "(*args)"
    plain = [
        p.replace(annotation=p.empty, default=p.default if p.default is p.empty else Default(p.default))
        for p in signature.parameters.values()
        if p.name != "self" or first
    ]
    plain = [p.replace(name=first) if p.name == "self" else p for p in plain]
    return str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))


class Default:
    """A default value as a signature shows it."""

    def __init__(self, value: Any):
        self.text = value.__name__ if callable(value) and hasattr(value, "__name__") else repr(value)

    def __repr__(self) -> str:
        return re.sub(r"^flambeau\.|<(\w+).*>", r"\1", self.text)


def source_of(value: Any) -> SourceLines | None:
    """Return the lines of a definition in this package; None if it has none."""
    try:
        lines, line = inspect.getsourcelines(value)
        path = Path(inspect.getsourcefile(value) or "").resolve()
    except (OSError, TypeError):
        return None
    if PACKAGE not in path.parents:
        return None
    return SourceLines(
        f"flambeau/{path.relative_to(PACKAGE).as_posix()}", line, inspect.cleandoc("".join(lines))
    )
