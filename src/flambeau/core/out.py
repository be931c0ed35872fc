"""PyTorch's `out=` and `inplace=`: the result of an operation into a tensor that is there."""

from collections.abc import Callable
from inspect import unwrap
from typing import Any

from ..errors import TypeError, ValueError
from .node import describe

# functions that take inplace=True: the input becomes the result
NOWHERE = 1 << 30
_NAMES = (
    "alpha_dropout celu dropout dropout1d dropout2d dropout3d elu feature_alpha_dropout hardsigmoid "
    "hardswish hardtanh leaky_relu mish relu relu6 rrelu selu silu threshold"
)
IN_PLACE = frozenset(_NAMES.split())


def place_of_inplace(f: Callable[..., Any]) -> int:
    """Where a call of an op has `inplace` by its place; a place that no call has for ops that take none."""
    code = unwrap(f).__code__
    names = code.co_varnames[: code.co_argcount]
    return names.index("inplace") if "inplace" in names else NOWHERE


def in_place(call: Callable[..., Any], args: tuple, kw: dict[str, Any]) -> Any:
    """A call that gives its input the value of the result, and returns it, where `inplace` is true.

    ValueError where gradients are taken by the input as it is.
    """
    rest = {k: v for k, v in kw.items() if k != "inplace"}
    if not kw["inplace"]:
        return call(*args, **rest)
    x = args[0] if args else rest["input"]
    x._check_write()
    made = call(*args, **rest)
    return x if made.node is x.node else x.replace_(made)


def into(call: Callable[..., Any], args: tuple, kw: dict[str, Any]) -> Any:
    """A call whose result becomes the value of `out` (a tensor, or one for each result), which is returned.

    ValueError where shapes or devices differ or gradients would flow; TypeError for a dtype that out can't
    hold.
    """
    made, out = call(*args, **{k: v for k, v in kw.items() if k != "out"}), kw["out"]
    if out is None:
        return made
    if not isinstance(made, tuple):
        return _written(made, out)
    if not isinstance(out, tuple | list) or len(out) != len(made):
        raise TypeError(f"out: there are {len(made)} results: give as many tensors")
    found = [_written(y, o) for y, o in zip(made, out, strict=True)]
    return type(made)(*found) if hasattr(made, "_fields") else tuple(found)


def _written(y: Any, out: Any) -> Any:
    if not hasattr(out, "node"):
        raise TypeError(f"out={describe(out)} is no tensor: give one of the result's shape")
    if y.shape != out.shape:
        rule = f"give fb.empty({list(y.shape)}), or y = f(...) without it"
        raise ValueError(f"out has shape {list(out.shape)}, and the result {list(y.shape)}: {rule}")
    if y.dtype.category > out.dtype.category:
        rule = f"give one of {y.dtype.name}, or y = f(...) without it"
        raise TypeError(f"out is {out.dtype.short}, and the result {y.dtype.short}: {rule}")
    if y.device is not out.device:
        raise ValueError(f"devices differ: the result's is {y.device}, and out's {out.device}")
    if y.requires_grad:
        raise ValueError("no gradients flow into out: write inside no_grad, or y = f(...) without it")
    out._check_write()
    return out.replace_(y)
