"""Lists the names of torch in a script that Flambeau lacks, with advice."""

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from ..core.alias import GIVEN, VIEWS
from ..core.op import COMPOSED, Op
from ..core.torch_hints import WORDS
from .answers import answer
from .edits import Script
from .gradients import Left
from .names import TYPED, TorchNames, is_torch

# Methods and attributes that only tensors have, so that the name identifies the owner.
OF_TENSORS = {
    *("apply_", "as_strided", "data_ptr", "grad_fn", "is_sparse", "map_", "retain_grad"),
    *("share_memory_", "storage_offset", "to_dense", "to_sparse", "untyped_storage"),
}

OF_OPERATIONS = ("input", "out")  # arguments that all ops accept, although their signatures lack them

NOT_HERE = "flambeau has no equivalent"
# Advice for names of torch and for all names inside of them.
REASONS = {
    "torch.autograd.Variable": "every tensor is a Variable: leave Variable(...) out",
    "torch.autograd.profiler": "with flambeau.profile() as p: ..., and print(p)",
    "torch.jit": "leave it out, or record a step with @flambeau.jit",
    "torch.profiler": "with flambeau.profile() as p: ..., and print(p)",
    "torch.utils.checkpoint": "flambeau.checkpoint(function, *args)",
    "torch.utils.tensorboard": "tensorboardX writes the same files without torch",
}


def missing_names(source: Script, names: TorchNames) -> Iterator[Left]:
    """Find the names of torch in a script that flambeau lacks."""
    for node in ast.walk(source.tree):
        for path in _imported_names(node):
            yield from _report_missing(source, node, path)
        if isinstance(node, ast.Attribute) and not _is_inner(source, names, node):
            yield from _report_missing(source, node, names.path(node))
            yield from _of_tensor(source, names, node)


def _imported_names(node: ast.AST) -> list[str]:
    """Return the names of torch that an import statement imports."""
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        return [f"{module}.{a.name}" for a in node.names if is_torch(module) and not node.level]
    return [a.name for a in node.names if is_torch(a.name)] if isinstance(node, ast.Import) else []


def _is_inner(source: Script, names: TorchNames, node: ast.AST) -> bool:
    """Whether a node is the beginning of a longer name of torch."""
    return isinstance(source.parents[node], ast.Attribute) and bool(names.path(node))


def _report_missing(source: Script, node: Any, path: str) -> Iterator[Left]:
    parent = source.parents[node]
    # calls.py rewrites a call such as torch.LongTensor(...).
    is_rewritten = path in TYPED and isinstance(parent, ast.Call) and parent.func is node
    if path and not is_rewritten and (words := why_not(path)):
        yield Left(node.lineno, path, words)


def _of_tensor(source: Script, names: TorchNames, node: ast.Attribute) -> Iterator[Left]:
    if node.attr in OF_TENSORS and not names.path(node) and (words := why_not(f"torch.Tensor.{node.attr}")):
        yield Left(node.lineno, source.text(node).partition("\n")[0], words)


@cache
def why_not(path: str) -> str:
    """Return why one of torch's names is missing and what to do; "" if it exists."""
    words = _look_up(path)
    if words in ("", NOT_HERE):
        reasons = (REASONS.get(p) or answer(p) for p in _enclosing_names(path)) if words else ()
        return next(filter(None, reasons), words)
    return words


def _enclosing_names(path: str) -> list[str]:
    """Return a name and the modules around it: `torch.cuda.amp.autocast`, `torch.cuda.amp`, `torch.cuda`."""
    parts = path.split(".")
    return [".".join(parts[:n]) for n in range(len(parts), 1, -1)]


def _look_up(path: str) -> str:
    value: Any = import_module("flambeau")
    for part in path.split(".")[1:]:
        try:
            value = getattr(value, part)
        except AttributeError:
            return WORDS.get(getattr(value, "__name__", ""), {}).get(part, NOT_HERE)
    return ""


@cache
def takes(path: str, argument: str) -> bool:
    """Whether one of our functions accepts an argument of this name; True if its signature is unknown."""
    value: Any = import_module("flambeau")
    for part in path.split(".")[1:]:
        value = getattr(value, part, None)
    if argument in OF_OPERATIONS and _is_operation(value):
        return True
    both = value, getattr(value, "__init__", None) if isinstance(value, type) else None
    return any(_takes(f, argument) for f in both if f is not None)


def _is_operation(value: Any) -> bool:
    """Whether a value is an op that returns a new tensor and accepts `out`."""
    if isinstance(value, Op):
        return value.kind != "movement"
    # Views and functions that return their input can't write to `out`.
    return COMPOSED.get(name := getattr(value, "__name__", "")) is value and name not in VIEWS | GIVEN


def _takes(value: Any, argument: str) -> bool:
    try:
        parameters = inspect.signature(value).parameters
    except (TypeError, ValueError):
        return True
    return argument in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
