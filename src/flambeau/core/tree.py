"""Nested lists, tuples and dicts into the same with other leaves."""

from collections.abc import Callable
from typing import Any


def tree_map(f: Callable[[Any], Any], tree: Any) -> Any:
    """Rebuild nested dicts, lists, tuples and named tuples with f of every leaf, in order."""
    if isinstance(tree, dict):
        return type(tree)((k, tree_map(f, v)) for k, v in tree.items())
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(tree_map(f, v) for v in tree))
    if isinstance(tree, list | tuple):
        return type(tree)(tree_map(f, v) for v in tree)
    return f(tree)


def leaves(tree: Any) -> list[Any]:
    """The leaves of nested containers, in order."""
    out: list[Any] = []
    tree_map(out.append, tree)
    return out


def like(tree: Any, values) -> Any:
    """The same containers around other leaves."""
    rest = iter(values)
    return tree_map(lambda _: next(rest), tree)
