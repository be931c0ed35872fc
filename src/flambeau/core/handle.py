"""What registering a hook returns."""

from collections.abc import Callable
from itertools import count
from typing import Any

_ids = count()


class RemovableHandle:
    """What registering a hook returns: remove() takes it off, and so does the end of a with block."""

    def __init__(self, hooks: dict[int, Any], key: int, removed: Callable[[], None] | None = None):
        self._hooks, self.id, self._removed = hooks, key, removed

    def remove(self) -> None:
        """Take the hook off; a second time does nothing."""
        if self._hooks.pop(self.id, None) is not None and self._removed:
            self._removed()

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()


def hang(hooks: dict[int, Any], hook: Any, removed: Callable[[], None] | None = None) -> RemovableHandle:
    """Put a hook behind the others; `removed` is called once it is taken off."""
    key = next(_ids)
    hooks[key] = hook
    return RemovableHandle(hooks, key, removed)
