"""What was kept last, by key."""

from collections.abc import Callable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(dict[K, V]):
    """A dict whose oldest entries go where it would hold more than asked for."""

    def keep(self, key: K, value: V, most: int) -> V:
        """Put a value in as the newest, and let the oldest go; returns the value."""
        self.pop(key, None)
        self[key] = value
        while len(self) > most:
            del self[next(iter(self))]
        return value


class Again(Recent[K, V | None]):
    """What is made for keys that come again: one that came once costs only its place (its value is None)."""

    def of(self, key: K, make: Callable[[], V], most: int) -> V | None:
        """The value of a key, made the second time that it comes; None the first time."""
        if key not in self:
            return self.keep(key, None, most)
        value = self[key]
        if value is None:
            value = self[key] = make()
        return value
