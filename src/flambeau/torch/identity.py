"""Decorators and registrations of torch.jit, torch.fx and torch.library that compute nothing: they return
their argument."""

from typing import Any

from ..nn import Module
from .placeholders import refuse


def _same(value: Any) -> Any:
    return value


def script(obj: Any = None, *_args: Any, **_kw: Any) -> Any:
    """The function, class or module itself: it runs as Python."""
    return _same if obj is None else obj


def trace(func: Any = None, *_args: Any, **_kw: Any) -> Any:
    """The function or module itself: it runs as Python."""
    return _same if func is None else func


def ignore(drop: Any = False, **_kw: Any) -> Any:
    """A decorator that returns the function."""
    return drop if callable(drop) else _same


unused = export = script_method = interface = ignore


def is_scripting() -> bool:
    """False: functions run as Python."""
    return False


is_tracing = is_scripting


def wrap(fn_or_name: Any) -> Any:
    """The argument itself: calls are not traced."""
    return fn_or_name


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value itself."""
    return the_value


def isinstance_of(obj: Any, target_type: Any) -> bool:
    """isinstance(obj, target_type)."""
    return isinstance(obj, target_type)


class Final:
    """The annotation of an attribute that does not change."""

    def __class_getitem__(cls, item: Any) -> Any:
        return item


class GraphModule(Module):
    """torch.fx.GraphModule, which libraries subclass. It can't be instantiated, since torch.fx graphs are not
    supported."""

    def __init__(self, *_args: Any, **_kw: Any):
        raise refuse("torch.fx.GraphModule")
