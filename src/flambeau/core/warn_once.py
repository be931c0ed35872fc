"""Warnings that a process shows once."""

import warnings
from collections.abc import Callable
from inspect import currentframe

from .files import CODE

NO_GRAD_KEPT = "tensors keep no gradients: nothing must be cleared before backward()"
_said: set[str] = set()


def silence(text: str) -> Callable[[], None]:
    """Let `note` not show this text; returns a function that ends it."""
    was_said = text in _said
    _said.add(text)

    def end() -> None:
        if not was_said:
            _said.discard(text)

    return end


def note(text: str) -> None:
    """Warn the first time that this text occurs, at the line that called the package."""
    if text not in _said:
        _said.add(text)
        warnings.warn(text, UserWarning, stacklevel=caller_level())


def caller_level() -> int:
    """The `stacklevel` of the first frame outside of the package, counted from the function that calls this.

    How many frames of the package lie between differs: a tensor class with __torch_function__ adds some.
    """
    level, frame = 0, currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(CODE):
        level, frame = level + 1, frame.f_back
    return level
