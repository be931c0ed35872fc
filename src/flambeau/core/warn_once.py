"""Warnings that a process shows once."""

import warnings
from collections.abc import Callable

NO_GRAD_KEPT = "tensors keep no gradients: there is nothing to clear before backward()"
_said: set[str] = set()


def silence(text: str) -> Callable[[], None]:
    """Let `note` not show this text; returns a function that ends it."""
    was_said = text in _said
    _said.add(text)

    def end() -> None:
        if not was_said:
            _said.discard(text)

    return end


def note(text: str, depth: int = 2) -> None:
    """Warn the first time that this text occurs. depth: how many calls up the shown line is."""
    if text not in _said:
        _said.add(text)
        warnings.warn(text, UserWarning, stacklevel=depth + 1)
