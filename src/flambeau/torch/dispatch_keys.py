"""torch's dispatch keys, which libraries name at import: sets of names, and blocks that change nothing."""

from typing import Any, Self


class _Keys(type):
    """Every attribute is a key of that name."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        key = cls(name)
        setattr(cls, name, key)
        return key


class DispatchKey(metaclass=_Keys):
    """The name of a kind of kernels, such as DispatchKey.CPU."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"DispatchKey.{self.name}"


class DispatchKeySet:
    """A set of dispatch keys.

    keys: one key, or none
    """

    def __init__(self, keys: DispatchKey | None = None):
        self.keys = frozenset[DispatchKey]() if keys is None else frozenset([keys])

    def _with(self, keys: frozenset[DispatchKey]) -> "DispatchKeySet":
        out = DispatchKeySet()
        out.keys = keys
        return out

    def __or__(self, other: "DispatchKeySet") -> "DispatchKeySet":
        return self._with(self.keys | other.keys)

    def __and__(self, other: "DispatchKeySet") -> "DispatchKeySet":
        return self._with(self.keys & other.keys)

    def __sub__(self, other: "DispatchKeySet") -> "DispatchKeySet":
        return self._with(self.keys - other.keys)

    def add(self, key: DispatchKey) -> "DispatchKeySet":
        """The set with a key."""
        return self._with(self.keys | {key})

    def remove(self, key: DispatchKey) -> "DispatchKeySet":
        """The set without a key."""
        return self._with(self.keys - {key})

    def has(self, key: DispatchKey) -> bool:
        """Whether a key is in the set."""
        return key in self.keys


class Guard:
    """A block without effect: no dispatch keys exist to exclude."""

    def __init__(self, *_: Any):
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        pass
