"""Caches that keep the newest entries."""

from collections.abc import Callable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(dict[K, V]):
    """A dict that drops its oldest entries when it is full."""

    def keep(self, key: K, value: V, most: int) -> V:
        """Add a value as the newest, drop the oldest beyond `most` entries; returns the value."""
        self.pop(key, None)
        self[key] = value
        while len(self) > most:
            del self[next(iter(self))]
        return value


class Again(Recent[K, V | None]):
    """Values for keys that occur repeatedly: the first time, only the key is stored (its value is None)."""

    def of(self, key: K, make: Callable[[], V], most: int) -> V | None:
        """The value of a key, created at its second occurrence; None at the first."""
        if key not in self:
            return self.keep(key, None, most)
        value = self[key]
        if value is None:
            value = self[key] = make()
        return value
