"""A call of an op as a user writes it, into its arguments; and the error that says what was wrong with it."""

from collections.abc import Callable
from functools import cache, wraps
from inspect import CO_VARARGS, unwrap
from typing import Any

from ..errors import WRONG_CALL, IndexFault, ValueFault
from .node import describe

# arguments that PyTorch takes by a second name: that of its documentation, or of the parser of its calls
SPELLINGS = {
    "axis": "dim",
    "axis0": "dim0",
    "axis1": "dim1",
    "indices": "indices_or_sections",
    "keepdims": "keepdim",
    "sections": "indices_or_sections",
    "size": "shape",
    "split_size_or_sections": "split_size",
    "tensor": "input",
    "train": "training",
    "x": "input",
}


# arguments of PyTorch that have no effect here: all tensors and gradients are dense, and copies are staged
WITHOUT_EFFECT = frozenset(
    ("cudnn_enable", "cudnn_enabled", "layout", "memory_format", "pin_memory", "sparse_grad")
)
# those of single functions' parsers
OF_ONE = {
    "cholesky_solve": {"input2": "L"},
    "linalg_tensorsolve": {"other": "B"},
    "ormqr": {"input2": "tau", "input3": "other"},
}


NOTHING: frozenset[str] = frozenset()


@cache
def _arguments(f: Callable) -> tuple[str, frozenset[str], frozenset[str]]:
    """The name of a function's first argument ("" if it is `*several`), those of all, and those by which
    PyTorch takes the several: reshape(shape=) or, where `*shape` is expand's, size=."""
    code = unwrap(f).__code__
    count = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[:count]
    several = code.co_varnames[count] if code.co_flags & CO_VARARGS else ""
    spellings = {"shape": ("shape", "size")}.get(several, (several,) if several else ())
    return names[0] if code.co_argcount else "", frozenset(names), frozenset(spellings)


def dense(kw: dict) -> dict:
    """Arguments without those that have no effect; ValueError for a layout that is not dense."""
    layout = kw.get("layout")
    if layout is not None and not str(layout).endswith("strided"):
        raise ValueError(f"layout={layout}: all tensors are dense: leave it out")
    return {k: v for k, v in kw.items() if k not in WITHOUT_EFFECT}


def without_effect(f: Callable) -> Callable:
    """A function of the package that takes, as ops do, what PyTorch's takes and has no effect here."""

    @wraps(f)
    def call(*args, **kw):
        return f(*args, **(kw if WITHOUT_EFFECT.isdisjoint(kw) else dense(kw)))

    return call


def spelled(f: Callable | None, operands: tuple[str, ...], args: tuple, kw: dict) -> tuple[tuple, dict]:
    """A call by any of PyTorch's names: tensors given by name (`input=` for a method's self) go to their
    places, and axis= is dim=."""
    first, names, several = (operands[0], frozenset(operands), NOTHING) if f is None else _arguments(f)
    if not WITHOUT_EFFECT.isdisjoint(kw) and WITHOUT_EFFECT.isdisjoint(names):
        kw = dense(kw)
    kw = {SPELLINGS[k] if k not in names and SPELLINGS.get(k) in names else k: v for k, v in kw.items()}
    if f is not None and f.__name__ in OF_ONE:
        kw = {OF_ONE[f.__name__].get(k, k): v for k, v in kw.items()}
    if not args and "input" in kw and "input" not in names:
        args = (kw.pop("input"),)
    for name in operands if f is None else (first,):
        if name in kw and (not args or (f is None and operands.index(name) == len(args))):
            args = (*args, kw.pop(name))
    for name in several.intersection(kw):
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
