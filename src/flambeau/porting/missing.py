"""Names of torch that a script uses into those that are not here, with what to do, by the package itself."""

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from .edits import Source
from .gradients import Left
from .names import Names, is_torch

# methods and attributes of tensors whose names alone say that a tensor is meant
OF_TENSORS = {
    *("apply_", "as_strided", "data_ptr", "grad_fn", "is_sparse", "map_", "register_hook", "retain_grad"),
    *("share_memory_", "storage_offset", "to_dense", "to_sparse", "untyped_storage"),
}


def missing(source: Source, names: Names) -> Iterator[Left]:
    """Every name and argument of a script that torch has and flambeau has not."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom) and is_torch(node.module or "") and not node.level:
            for alias in node.names:
                yield from _lost(source, node, f"{node.module}.{alias.name}")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if is_torch(alias.name):
                    yield from _lost(source, node, alias.name)
        elif isinstance(node, ast.Attribute) and not _is_inner(source, names, node):
            yield from _lost(source, node, names.path(node))
            yield from _of_tensor(source, names, node)
        elif isinstance(node, ast.Call):
            yield from _arguments(node, names.path(node.func))


def _is_inner(source: Source, names: Names, node: ast.AST) -> bool:
    """Whether a longer name has this one at its beginning."""
    return isinstance(source.parents[node], ast.Attribute) and bool(names.path(node))


def _lost(source: Source, node: Any, path: str) -> Iterator[Left]:
    if path and (words := why_not(path)):
        yield Left(node.lineno, path, words)


def _of_tensor(source: Source, names: Names, node: ast.Attribute) -> Iterator[Left]:
    if node.attr in OF_TENSORS and not names.path(node) and (words := why_not(f"torch.Tensor.{node.attr}")):
        yield Left(node.lineno, source.text(node).partition("\n")[0], words)


@cache
def why_not(path: str) -> str:
    """Why one of torch's names is not here, or ""."""
    found = import_module("flambeau")
    for part in path.split(".")[1:]:
        if not isinstance(found, ModuleType | type) and not hasattr(type(found), part):
            return ""  # of a value: it says itself what it has
        try:
            found = getattr(found, part)
        except AttributeError as e:
            return _words(str(e), found, part)
    return ""


def _words(error: str, owner: Any, name: str) -> str:
    """What an AttributeError says behind the name, or that there is nothing like it."""
    told = error.partition(f"{name!r}: ")[2]
    return told or "it is not here"


def _arguments(node: ast.Call, path: str) -> Iterator[Left]:
    """Arguments by name that a function of ours does not take."""
    given = [k.arg for k in node.keywords if k.arg]
    for name in given if path and not why_not(path) else ():
        if not takes(path, name):
            yield Left(node.lineno, f"{path}({name}=...)", "it takes no such argument: leave it out")


@cache
def takes(path: str, argument: str) -> bool:
    """Whether something of ours takes an argument by this name; True where nothing says what it takes."""
    found: Any = import_module("flambeau")
    for part in path.split(".")[1:]:
        found = getattr(found, part, None)
    try:
        parameters = inspect.signature(found).parameters
    except (TypeError, ValueError):
        return True
    return argument in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
