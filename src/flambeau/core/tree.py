"""Nested lists, tuples and dicts: their leaves, and copies with other leaves."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeGuard

SEQUENCES = tuple, list


class Branch:
    """An object that holds values as a container does: its class says how to take and to replace them."""

    __slots__ = ()

    def parts(self) -> Sequence[Any]:
        """The values, in order."""
        raise NotImplementedError

    def with_parts(self, parts: Sequence[Any]) -> Any:
        """A copy of the object with other values."""
        raise NotImplementedError

    def static(self) -> Any:
        """Everything else of the object, comparable and hashable."""
        raise NotImplementedError


def is_sequence(value: Any) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a list or a tuple."""
    return isinstance(value, SEQUENCES)


def is_row(value: Any) -> TypeGuard[Sequence[Any]]:
    """Whether a value is any sequence: a list, a tuple, a range, a string."""
    return isinstance(value, Sequence)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Whether a value is a list."""
    return isinstance(value, list)


def is_tuple(value: Any) -> TypeGuard[tuple[Any, ...]]:
    """Whether a value is a tuple."""
    return isinstance(value, tuple)


def is_dict(value: Any) -> TypeGuard[dict[Any, Any]]:
    """Whether a value is a dict."""
    return isinstance(value, dict)


def is_mapping(value: Any) -> TypeGuard[Mapping[Any, Any]]:
    """Whether a value is a mapping."""
    return isinstance(value, Mapping)


def rebuild(like: Sequence[Any], values: Iterable[Any]) -> Any:
    """A container of the same type (list, tuple or named tuple) with other values."""
    kind: Any = type(like)
    return kind(*values) if hasattr(like, "_fields") else kind(values)


def tree_map(f: Callable[[Any], Any], tree: Any) -> Any:
    """Rebuild nested dicts, lists, tuples and named tuples with f of every leaf, in order."""
    if is_dict(tree):
        return type(tree)((k, tree_map(f, v)) for k, v in tree.items())
    if is_sequence(tree):
        return rebuild(tree, (tree_map(f, v) for v in tree))
    if isinstance(tree, Branch):
        return tree.with_parts([tree_map(f, v) for v in tree.parts()])
    return f(tree)


def leaves(tree: Any) -> list[Any]:
    """The leaves of nested containers, in order."""
    out: list[Any] = []
    tree_map(out.append, tree)
    return out


def like(tree: Any, values: Iterable[Any]) -> Any:
    """A copy of `tree` whose leaves are `values`, in order."""
    rest = iter(values)
    return tree_map(lambda _: next(rest), tree)
