"""Calls of ops: resolve PyTorch's argument names, and explain errors by the call."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, wraps
from inspect import CO_VARARGS, unwrap
from typing import Any

from ..errors import WRONG_CALL, IndexFault, ValueFault
from .node import describe

# second names of arguments in PyTorch, from its documentation or its argument parser
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


# arguments of PyTorch that are ignored: all tensors and gradients are dense, and copies are staged
WITHOUT_EFFECT = frozenset(
    (
        "_stacklevel",
        "cudnn_enable",
        "cudnn_enabled",
        "layout",
        "memory_format",
        "pin_memory",
        "sparse",
        "sparse_grad",
    )
)
# second names in the argument parsers of single functions
OF_ONE = {
    "cholesky_solve": {"input2": "L"},
    "linalg_tensorsolve": {"other": "B"},
    "ormqr": {"input2": "tau", "input3": "other"},
}


NOTHING: frozenset[str] = frozenset()


@cache
def _arguments(f: Callable[..., Any]) -> tuple[str, frozenset[str], frozenset[str]]:
    """The name of a function's first argument ("" if it is `*several`), all argument names, and the keywords
    by which PyTorch takes `*several`: shape= of reshape, size= of expand."""
    code = unwrap(f).__code__
    count = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[:count]
    several = code.co_varnames[count] if code.co_flags & CO_VARARGS else ""
    spellings = {"shape": ("shape", "size")}.get(several, (several,) if several else ())
    return names[0] if code.co_argcount else "", frozenset(names), frozenset(spellings)


def dense(kw: dict[str, Any]) -> dict[str, Any]:
    """Remove arguments without effect; ValueError if the layout is not dense."""
    layout = kw.get("layout")
    if layout is not None and not str(layout).endswith("strided"):
        raise ValueError(f"layout={layout}: all tensors are dense: leave it out")
    return {k: v for k, v in kw.items() if k not in WITHOUT_EFFECT}


def without_effect(f: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function accept and ignore PyTorch's arguments without effect, as ops do."""

    @wraps(f)
    def call(*args: Any, **kw: Any) -> Any:
        return f(*args, **(kw if WITHOUT_EFFECT.isdisjoint(kw) else dense(kw)))

    return call


def resolve_names(
    f: Callable[..., Any] | None, operands: tuple[str, ...], args: tuple[Any, ...], kw: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Resolve PyTorch's argument names: tensors passed by name (`input=` for a method's self) move to their
    positions, and axis= becomes dim=."""
    first, names, several = (operands[0], frozenset(operands), NOTHING) if f is None else _arguments(f)
    if not WITHOUT_EFFECT.isdisjoint(kw) and WITHOUT_EFFECT.isdisjoint(names):
        kw = dense(kw)
    kw = {SPELLINGS[k] if k not in names and SPELLINGS.get(k) in names else k: v for k, v in kw.items()}
    if f is not None and f.__name__ in OF_ONE:
        kw = {OF_ONE[f.__name__].get(k, k): v for k, v in kw.items()}
    if not args and "input" in kw and "input" not in names:
        args = (kw.pop("input"),)
    for name in operands if f is None else (first,):
        # Positions fill from the left: a keyword moves only if all operands before it are positional.
        if name in kw and (not args or (f is None and operands.index(name) == len(args))):
            args = (*args, kw.pop(name))
    for name in several.intersection(kw):
        args = (*args, kw.pop(name))
    return args, kw


def misgiven(error: AttributeError, name: str, args: tuple[Any, ...], kw: dict[str, Any]) -> Exception:
    """A TypeError if an array, list or plain value instead of a tensor caused the AttributeError; else the
    same error."""
    arguments = [*args, *kw.values()]
    others = [v for v in arguments if not hasattr(v, "node") and (v is error.obj or _is_array(v))]
    if not others:
        return error
    kind = f"{type(others[0]).__module__.partition('.')[0]}.{type(others[0]).__name__}"
    rule = f"takes tensors, not a {kind.removeprefix('builtins.')}: wrap it in fb.tensor(...)"
    return explain(TypeError(rule), name, args, kw)


def _is_array(value: Any) -> bool:
    return isinstance(value, list) or hasattr(value, "__array__")


def _written(name: str) -> str:
    """An op's name as calls write it: linalg.eigh for linalg_eigh."""
    space, _, rest = name.partition("_")
    return f"{space}.{rest}" if space in ("fft", "linalg") else name


def explain(error: Exception, name: str, args: Iterable[Any], kw: Mapping[str, Any]) -> Exception:
    """Extend a rule's bare reason to `name(arguments): reason`. The outermost call's name wins.

    Python's ValueError, TypeError and IndexError become those of `errors`."""
    if isinstance(error, IndexFault | ValueFault):  # caused by an earlier call, which the text names
        return error
    reason = getattr(error, "reason", None) or str(error)
    arguments = ", ".join([*map(describe, args), *(f"{k}={describe(v)}" for k, v in kw.items())])
    explained: Any = WRONG_CALL.get(type(error), type(error))(f"{_written(name)}({arguments}): {reason}")
    explained.reason = reason
    return explained
