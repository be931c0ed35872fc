"""Rewrites calls that differ from torch's, by tables, and arguments that Flambeau does not accept."""

import ast
from typing import Any

from .edits import Edit, Script
from .gradients import Left, Rewrites
from .missing import takes, why_not
from .names import TYPED, TorchNames

# NumPy's names of arguments, which torch accepts too
RENAMED = {"axis": "dim", "keepdims": "keepdim"}
# Arguments of torch that have no effect with these values.
IDLE = {
    ("torch.autograd.grad", "only_inputs"): "True",
    ("torch.nn.TransformerEncoder", "enable_nested_tensor"): "False",
}


def calls(source: Script, names: TorchNames) -> Rewrites:
    """Return the edits of calls, and the calls that are left to the user."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            path = names.path(node.func)
            yield from _typed_constructor(source, node, path)
            for k in node.keywords if path and not why_not(path) else ():
                yield from _keyword(source, node, path, k)


def _typed_constructor(source: Script, node: ast.Call, path: str) -> Rewrites:
    """Rewrite torch.LongTensor(values) as torch.tensor(values, dtype=torch.long)."""
    if path not in TYPED or not why_not(path):
        return
    module, words = source.text(node.func).rpartition(".")[0], "tensor() takes the dtype"
    # LongTensor(3) makes an uninitialised tensor of a size, LongTensor([3]) one of values; a bare name has
    # no module to write before `tensor`.
    if not module or len(node.args) != 1 or _is_size(node.args[0]):
        yield Left(node.lineno, f"{path}(...)", why_not(path))
    elif not TYPED[path]:
        yield source.replace_node(node.func, f"{module}.Tensor", "Tensor creates float32")
    else:
        yield source.replace_node(node.func, f"{module}.tensor", words)
        place = source.end(node.args[0])
        yield source.insert(place, f", dtype={module}.{TYPED[path]}", words)


def _is_size(node: ast.expr) -> bool:
    return isinstance(node, ast.Starred) or (isinstance(node, ast.Constant) and isinstance(node.value, int))


def _keyword(source: Script, node: ast.Call, path: str, k: ast.keyword) -> Rewrites:
    """Rewrite or remove a keyword argument that our function does not accept."""
    if k.arg is None or takes(path, k.arg):
        return
    other = RENAMED.get(k.arg, "")
    if other and takes(path, other):
        yield Edit(source.start(k), source.start(k) + len(k.arg), other, "the argument is called dim here")
    elif IDLE.get((path, k.arg)) == source.text(k.value):
        yield _remove_keyword(source, node, k)
    else:
        yield Left(
            node.lineno, f"{path}({k.arg}=...)", "flambeau's function has no such argument: leave it out"
        )


def _remove_keyword(source: Script, node: ast.Call, k: ast.keyword) -> Edit:
    """Remove an argument with the comma before it."""
    before = [e for e in (node.func, *node.args, *(o.value for o in node.keywords)) if _end(e) <= _begin(k)]
    first = max(map(source.end, before))
    # The first argument follows the parenthesis instead of a comma.
    first = source.find("(", first) + 1 if len(before) == 1 else first
    return Edit(first, source.end(k), "", f"{k.arg} has no effect")


def _begin(node: Any) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: Any) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset
