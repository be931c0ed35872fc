"""torch.profiler and torch.autograd.profiler: named blocks; `fb.profile` measures kernels."""

from collections.abc import Callable
from functools import wraps
from typing import Any


class record_function:
    """A block (or decorated function) with a name. Nothing is recorded: fb.profile measures kernels.

    name: the block's name. args: accepted and ignored.
    """

    def __init__(self, name: str, args: str | None = None):
        self.name = name

    def __enter__(self) -> "record_function":
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **kw: Any) -> Any:
            return function(*args, **kw)

        return call


def is_fbcode() -> bool:
    """False."""
    return False
