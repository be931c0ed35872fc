"""A call of an op as a user writes it, into its arguments; and the error that says what was wrong with it."""

from collections.abc import Callable
from functools import cache
from inspect import unwrap
from typing import Any

from ..errors import WRONG_CALL, IndexFault, ValueFault
from .node import describe

# arguments that PyTorch takes by a second name
SPELLINGS = {
    "axis": "dim",
    "axis0": "dim0",
    "axis1": "dim1",
    "indices": "indices_or_sections",
    "keepdims": "keepdim",
    "sections": "indices_or_sections",
    "split_size_or_sections": "split_size",
    "tensor": "self",
    "train": "training",
}


@cache
def _arguments(f: Callable) -> tuple[str, frozenset[str]]:
    """The name of a function's first argument ("" if it is `*several`), and those of all."""
    code = unwrap(f).__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return names[0] if code.co_argcount else "", frozenset(names)


def spelled(f: Callable | None, operands: tuple[str, ...], args: tuple, kw: dict) -> tuple[tuple, dict]:
    """A call by any of PyTorch's names: tensors given by name (`input=` for a method's self) go to their
    places, and axis= is dim=."""
    first, names = (operands[0], frozenset(operands)) if f is None else _arguments(f)
    kw = {SPELLINGS[k] if k not in names and SPELLINGS.get(k) in names else k: v for k, v in kw.items()}
    if not args and "input" in kw and "input" not in names:
        args = (kw.pop("input"),)
    for name in operands if f is None else (first,):
        if name in kw and (not args or (f is None and operands.index(name) == len(args))):
            args = (*args, kw.pop(name))
    return args, kw


def misgiven(error: AttributeError, name: str, args: tuple, kw: dict) -> Exception:
    """A TypeError where an array, a list or a plain value is in a tensor's place, which has not what tensors
    have; else the error itself."""
    given = [*args, *kw.values()]
    strange = [v for v in given if not hasattr(v, "node") and (v is error.obj or _is_array(v))]
    if not strange:
        return error
    kind = type(strange[0])
    module = "" if kind.__module__ == "builtins" else kind.__module__.partition(".")[0] + "."
    what = f"{module}{kind.__name__}"
    return explain(TypeError(f"takes tensors, not a {what}: wrap it in fb.tensor(...)"), name, args, kw)


def _is_array(value: Any) -> bool:
    return isinstance(value, list) or hasattr(value, "__array__")


def explain(error: Exception, name: str, args, kw) -> Exception:
    """Turn a rule's bare reason into `name(arguments): reason`; the outermost call's name wins.

    Python's ValueError, TypeError and IndexError become those of `errors`, which are RuntimeErrors too."""
    if isinstance(error, IndexFault | ValueFault):  # of an earlier call: it names that itself
        return error
    reason = getattr(error, "reason", None) or str(error)
    arguments = ", ".join([*map(describe, args), *(f"{k}={describe(v)}" for k, v in kw.items())])
    told = WRONG_CALL.get(type(error), type(error))(f"{name}({arguments}): {reason}")
    told.reason = reason  # type: ignore[attr-defined]
    return told
