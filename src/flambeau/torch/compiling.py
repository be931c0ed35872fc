"""torch.compile and torch.compiler."""

from collections.abc import Callable
from typing import Any


def compile(model: Any = None, **_options: Any) -> Any:
    """A function (or module) whose calls are recorded."""
    if model is None:
        return lambda f: compile(f)
    return model


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself: nothing is compiled that it could be left out of."""
    return _same if fn is None else fn


def _same(fn: Callable[..., Any]) -> Callable[..., Any]:
    return fn


def is_compiling() -> bool:
    """False: calls are recorded, not compiled."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def allow_in_graph(fn: Any) -> Any:
    """The function itself."""
    return fn


assume_constant_result = allow_in_graph


def cudagraph_mark_step_begin() -> None:
    """Nothing: recordings need no mark."""


def reset() -> None:
    """Nothing: recordings end with the functions that own them."""
