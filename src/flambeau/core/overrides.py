"""PyTorch's `__torch_function__`: classes and modes that take over calls of operations.

Nothing on the path of plain tensors tests for it. Turning it on makes the outermost operation of every call
leave the fast path (`autocast.plain.lower`), where `_intercept` asks the classes of the arguments.
"""

import threading
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from ..errors import TypeError
from . import autocast
from . import op as ops
from .dtype import float32, get_default_dtype
from .node import describe
from .op import COMPOSED, OPS
from .tree import is_sequence, rebuild

NOT_TAKEN: Any = autocast.NOT_TAKEN


class _Thread(threading.local):
    """The modes of a thread, innermost last, and the numbers of blocks that disable classes, or all
    overrides."""

    def __init__(self) -> None:
        self.modes: list[Any] = []
        self.without_classes = self.without_all = 0


class _Process:
    """Keeps overrides enabled."""

    has_classes = False
    modes = 0  # active ones of all threads


_here, _lock = _Thread(), threading.Lock()


def is_on() -> bool:
    """Whether a class or a mode may override operations."""
    return _Process.has_classes or _Process.modes > 0


def _switch() -> None:
    """Let operations leave the fast path, or take it."""
    autocast.intercept = _intercept if is_on() else None
    plain = get_default_dtype() is float32 and not is_on()
    autocast.plain.lower = autocast.NONE if plain else autocast.Lower()


def add_class() -> None:
    """Keep overrides on from now on: a class of tensors has a `__torch_function__`."""
    with _lock:
        if not _Process.has_classes:
            _Process.has_classes = True
            _switch()


def disabled_torch_function(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of classes that do not take part: their results are plain tensors."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


class DisableTorchFunctionSubclass:
    """Inside this block, classes do not override operations; modes do."""

    def __enter__(self) -> None:
        _here.without_classes += 1

    def __exit__(self, *_: Any) -> None:
        _here.without_classes -= 1


class DisableTorchFunction:
    """Inside this block, neither classes nor modes override operations."""

    def __enter__(self) -> None:
        _here.without_all += 1

    def __exit__(self, *_: Any) -> None:
        _here.without_all -= 1


class TorchFunctionMode:
    """Inside a block with such an object, its `__torch_function__(func, types, args, kwargs)` is called
    instead of every operation; it may call the operation."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Replace a call of func; a subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__}.__torch_function__: is not implemented: define it")

    def __enter__(self) -> Any:
        _here.modes.append(self)
        with _lock:
            _Process.modes += 1
            _switch()
        return self

    def __exit__(self, *_: Any) -> None:
        _here.modes.pop()
        with _lock:
            _Process.modes -= 1
            _switch()


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call func."""
        return func(*args, **(kwargs or {}))


def override_of(kind: type) -> Any:
    """The `__torch_function__` of a class; None if it does not take part."""
    override = getattr(kind, "__torch_function__", None)
    return None if kind is ops.Tensor or override is disabled_torch_function else override


def overloaded_args(arguments: Iterable[Any]) -> list[Any]:
    """One argument of each class that overrides operations, subclasses before their bases."""
    overloaded: list[Any] = []
    for a in arguments:
        values: Any = a if type(a) in (list, tuple) else (a,)
        for value in values:
            kind = value.__class__
            if override_of(kind) is None or any(type(v) is kind for v in overloaded):
                continue
            place = next((i for i, v in enumerate(overloaded) if issubclass(kind, type(v))), len(overloaded))
            overloaded.insert(place, value)
    return overloaded


def _intercept(name: str, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
    """The result of an overridden operation; NOT_TAKEN if nothing overrides it."""
    func = OPS.get(name) or COMPOSED.get(name)
    return NOT_TAKEN if func is None else dispatch(func, args, kw)


def is_overridden(arguments: Iterable[Any]) -> bool:
    """Whether a mode of this thread or the class of an argument overrides calls with these arguments."""
    if _here.without_all:
        return False
    return bool(_here.modes) or bool(not _here.without_classes and overloaded_args(arguments))


def dispatch(
    func: Any, args: tuple[Any, ...], kw: dict[str, Any], relevant: Iterable[Any] | None = None
) -> Any:
    """Ask the innermost mode, else the classes of the arguments (or of `relevant` ones); NOT_TAKEN without
    any.

    TypeError if all of them return NotImplemented.
    """
    if _here.without_all:
        return NOT_TAKEN
    candidates = (*args, *kw.values()) if relevant is None else relevant
    by_class = [] if _here.without_classes else overloaded_args(candidates)
    types: tuple[Any, ...] = tuple(map(type, by_class))
    if _here.modes:
        mode = _here.modes.pop()  # the mode's own calls go to the mode around it
        try:
            result = mode.__torch_function__(func, types, args, kw)
        finally:
            _here.modes.append(mode)
        if result is not NotImplemented:
            return result
    if not by_class:
        return NOT_TAKEN
    for kind in types:
        result = kind.__torch_function__(func, types, args, kw)
        if result is not NotImplemented:
            return result
    call = f"{getattr(func, '__name__', func)}({', '.join(map(describe, args))})"
    names = ", ".join(t.__name__ for t in types)
    raise TypeError(
        f"{call}: no implementation found for it on types that implement __torch_function__: {names}"
    )


def call_default(cls: type, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Tensor.__torch_function__: call func and give its results the class `cls`; NotImplemented if an
    argument is of a class that is not a base of cls."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    return result if cls is ops.Tensor else convert(result, cls, args)


def convert(result: Any, cls: type, args: Any = ()) -> Any:
    """Give tensors among the results the class, unless they are arguments or have it already."""
    if isinstance(result, ops.Tensor):
        if isinstance(result, cls):
            return result
        if type(result) is not ops.Tensor or any(result is a for a in args):
            return result.as_subclass(cls)
        result.__class__ = cls  # in place: views refer to the object
        return result
    if is_sequence(result):
        return rebuild(result, [convert(part, cls, args) for part in result])
    return result


def overridable(name: str) -> Callable[..., Any]:
    """A method for users' classes: Tensor's of this name, which `__torch_function__` may override."""

    def method(self: Any, *args: Any, **kw: Any) -> Any:
        plain: Any = getattr(ops.Tensor, name)
        if autocast.lower.get() is not autocast.plain.lower:  # called from outside of operations
            result = dispatch(plain, (self, *args), kw)
            if result is not NOT_TAKEN:
                return result
        return plain(self, *args, **kw)

    return wraps(getattr(ops.Tensor, name))(method)


def _has_override(args: tuple[Any, ...], kw: dict[str, Any]) -> bool:
    """Whether an argument that is not a tensor has a `__torch_function__`; if so, overrides are turned on."""
    values = overloaded_args((*args, *kw.values()))
    is_foreign = any(not isinstance(v, ops.Tensor) for v in values)
    if is_foreign:
        add_class()
    return is_foreign


autocast.has_override = _has_override
