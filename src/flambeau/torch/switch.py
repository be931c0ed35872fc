"""Torch mode: a switch of the process that gives Flambeau's classes PyTorch's semantics.

Importing `flambeau.torch` turns it on. The mode replaces attributes of classes while it is on, so code
outside of it runs as without this package: no path checks for the mode.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

F = TypeVar("F")
C = TypeVar("C", bound=type)
_ABSENT: Any = object()  # the class itself does not have the attribute; a base class may


class _Patch(NamedTuple):
    """An attribute of a class, with its value in torch mode."""

    owner: Any
    name: str
    value: Any


class _State:
    is_on = False
    before: list[tuple[Any, str, Any]] = []  # replaced attributes with their values, in order


_patches: list[_Patch] = []
_at_start: list[Callable[[], Callable[[], None] | None]] = []
_at_end: list[Callable[[], None]] = []


def in_mode(owner: Any, *names: str) -> Callable[[F], F]:
    """A decorator: in torch mode, the function (or property, or class) below is an attribute of `owner`, a
    class or a module, under its own name or the names passed."""

    def register(value: F) -> F:
        for name in names or (_name_of(value),):
            add_patch(owner, name, value)
        return value

    return register


def _name_of(value: Any) -> str:
    return getattr(value, "__name__", "") or value.fget.__name__


def with_torch_name(cls: C) -> C:
    """A decorator: the class TorchX calls itself X. The module has the function under both names."""
    cls.__name__ = cls.__qualname__ = cls.__name__.removeprefix("Torch")
    return cls


def add_patch(owner: Any, name: str, value: Any) -> None:
    """In torch mode, set an attribute of a class or module to `value`."""
    patch = _Patch(owner, name, value)
    _patches.append(patch)
    if _State.is_on:
        _apply(patch)


def original(owner: Any, name: str) -> Any:
    """An attribute of a class as it is outside of torch mode."""
    replaced = ((o, n, value) for o, n, value in _State.before if o is owner and n == name)
    value = next((value for _, _, value in replaced), _ABSENT)
    return getattr(owner, name) if value is _ABSENT else value


def at_start(begin: Callable[[], Callable[[], None] | None]) -> None:
    """Call `begin` whenever the mode is turned on; the function that it returns, if any, when it is turned
    off."""
    _at_start.append(begin)
    if _State.is_on:
        _begin(begin)


def _apply(patch: _Patch) -> None:
    # From the class's own dict: getattr would give the attribute of a base class, and unbound properties.
    _State.before.append((patch.owner, patch.name, patch.owner.__dict__.get(patch.name, _ABSENT)))
    setattr(patch.owner, patch.name, patch.value)


def _begin(begin: Callable[[], Callable[[], None] | None]) -> None:
    if (end := begin()) is not None:
        _at_end.append(end)


def enable() -> None:
    """Turn torch mode on for the process; `import flambeau.torch` does it."""
    if _State.is_on:
        return
    _State.is_on = True
    for patch in _patches:
        _apply(patch)
    for begin in _at_start:
        _begin(begin)


def disable() -> None:
    """Turn torch mode off: Flambeau's own semantics again. Gradients in `.grad` stay where they are."""
    if not _State.is_on:
        return
    _State.is_on = False
    while _at_end:
        _at_end.pop()()
    # In reverse: an attribute that two patches replaced gets its first value again.
    while _State.before:
        owner, name, value = _State.before.pop()
        if value is _ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, value)


def is_enabled() -> bool:
    """Whether torch mode is on."""
    return _State.is_on


@contextmanager
def enabled(mode: bool = True) -> Generator[None]:
    """Torch mode on (or off) inside the block."""
    before = _State.is_on
    (enable if mode else disable)()
    try:
        yield
    finally:
        (enable if before else disable)()
