"""A cache that keeps the newest entries."""

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
