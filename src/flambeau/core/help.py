"""The text that documents a function, an op or a class."""

import inspect
from typing import Any

from .op import Op


def doc_of(value: Any) -> str:
    """Return the docstring of a function or an op; of a class, followed by that of the constructor that it
    defines or inherits, which explains the parameters where several classes share them."""
    if isinstance(value, Op):
        return value.doc
    doc = inspect.getdoc(value) or ""
    if not isinstance(value, type) or not value.__module__.startswith("flambeau"):
        return doc
    owner = next(k for k in value.__mro__ if not {"__new__", "__init__"}.isdisjoint(vars(k)))
    constructor = vars(owner).get("__init__") or vars(owner)["__new__"]
    constructor = getattr(constructor, "__func__", constructor)
    more = constructor.__doc__ if inspect.isfunction(constructor) else None
    return f"{doc}\n\n{inspect.cleandoc(more)}" if more else doc
