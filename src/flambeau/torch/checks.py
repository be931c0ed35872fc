"""torch's private checks, which libraries call: each raises if a condition is false."""

from collections.abc import Callable
from typing import Any

Message = Callable[[], str] | str | None


def _text(message: Message) -> str:
    return "Expected cond to be True" if message is None else str(message() if callable(message) else message)


def _assert(condition: Any, message: Message = "") -> None:
    """AssertionError with a message if a condition is false."""
    if not condition:
        raise AssertionError(_text(message))


def _check(cond: Any, message: Message = None) -> None:
    """RuntimeError with a message if a condition is false."""
    if not cond:
        raise RuntimeError(_text(message))


def _check_index(cond: Any, message: Message = None) -> None:
    """IndexError with a message if a condition is false."""
    if not cond:
        raise IndexError(_text(message))


def _check_value(cond: Any, message: Message = None) -> None:
    """ValueError with a message if a condition is false."""
    if not cond:
        raise ValueError(_text(message))


def _check_type(cond: Any, message: Message = None) -> None:
    """TypeError with a message if a condition is false."""
    if not cond:
        raise TypeError(_text(message))


def _check_not_implemented(cond: Any, message: Message = None) -> None:
    """NotImplementedError with a message if a condition is false."""
    if not cond:
        raise NotImplementedError(_text(message))


def _check_tensor_all(cond: Any, message: Message = None) -> None:
    """RuntimeError with a message unless all elements are true."""
    _check(cond.all(), message)


def _check_is_size(i: Any, message: Message = None, *, max: int | None = None) -> None:
    """RuntimeError with a message for a number below 0, or above `max`."""
    _check(i >= 0 and (max is None or i <= max), message)


def _is_functional_tensor(_tensor: Any) -> bool:
    """False: tensors are not traced."""
    return False


# torch's names that begin with _, which module_tree.py looks up
__all__ = [
    "_assert",
    "_check",
    "_check_index",
    "_check_is_size",
    "_check_not_implemented",
    "_check_tensor_all",
    "_check_type",
    "_check_value",
    "_is_functional_tensor",
]
