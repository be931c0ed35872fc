"""Hooks and the handles that remove them."""

from collections.abc import Callable
from itertools import count
from typing import Any

_ids = count()


class RemovableHandle:
    """Returned when a hook is registered. remove() removes the hook, and so does the end of a with block."""

    def __init__(self, hooks: dict[int, Any], key: int, removed: Callable[[], None] | None = None):
        self._hooks, self.id, self._removed = hooks, key, removed

    def remove(self) -> None:
        """Remove the hook. A second call does nothing."""
        if self._hooks.pop(self.id, None) is not None and self._removed:
            self._removed()

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()


def hang(hooks: dict[int, Any], hook: Any, removed: Callable[[], None] | None = None) -> RemovableHandle:
    """Add a hook after the others; `removed` is called when it is removed."""
    key = next(_ids)
    hooks[key] = hook
    return RemovableHandle(hooks, key, removed)
