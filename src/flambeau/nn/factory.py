"""`dtype=` for layers: what takes `device=` and makes its parameters there takes their dtype as well."""

from functools import wraps
from inspect import Parameter as Argument
from inspect import signature
from typing import Any

from ..core.dtype import as_dtype
from .module import Module


def take_dtype(layer: type[Module]) -> None:
    """Let a layer be made with dtype=, of its float parameters and buffers; they are drawn in float32."""
    made: Any = layer.__init__
    if hasattr(made, "__wrapped__") or not hasattr(made, "__code__"):
        return
    names = made.__code__.co_varnames[: made.__code__.co_argcount + made.__code__.co_kwonlyargcount]
    if "device" not in names or "dtype" in names:
        return

    @wraps(made)
    def __init__(self: Module, *args: Any, dtype: Any = None, **kw: Any) -> None:
        wanted = None if dtype is None else as_dtype(dtype)
        made(self, *args, **kw)
        if wanted is not None:
            self.to(wanted)

    rules = signature(made)
    extra = Argument("dtype", Argument.KEYWORD_ONLY, default=None, annotation=Any)
    given = list(rules.parameters.values())
    many = [given.pop()] if given[-1].kind is Argument.VAR_KEYWORD else []
    vars(__init__)["__signature__"] = rules.replace(parameters=[*given, extra, *many])
    layer.__init__ = __init__  # type: ignore[method-assign]
