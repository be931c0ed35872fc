"""PyTorch's `out=` and `inplace=`: write the result of an operation to an existing tensor."""

from collections.abc import Callable
from inspect import unwrap
from typing import Any

from ..errors import TypeError, ValueError
from .node import describe
from .tree import is_sequence, is_tuple, rebuild

# functions that take inplace=True, which writes the result to the input
NOWHERE = 1 << 30
_NAMES = (
    "alpha_dropout celu dropout dropout1d dropout2d dropout3d elu feature_alpha_dropout hardsigmoid "
    "hardswish hardtanh leaky_relu mish relu relu6 rrelu selu silu threshold"
)
IN_PLACE = frozenset(_NAMES.split())


def place_of_inplace(f: Callable[..., Any]) -> int:
    """The position of `inplace` among an op's arguments; NOWHERE if it takes none."""
    code = unwrap(f).__code__
    names = code.co_varnames[: code.co_argcount]
    return names.index("inplace") if "inplace" in names else NOWHERE


def in_place(call: Callable[..., Any], args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
    """Call an op; if `inplace` is true, write the result to the input and return the input.

    Raises ValueError if gradients need the input's present value.
    """
    rest = {k: v for k, v in kw.items() if k != "inplace"}
    if not kw["inplace"]:
        return call(*args, **rest)
    x = args[0] if args else rest["input"]
    x._check_write()
    result = call(*args, **rest)
    return x if result.node is x.node else x.replace_(result)


def into(call: Callable[..., Any], args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
    """Call an op, write its result to `out` (a tensor, or one for each result), and return `out`.

    Raises ValueError if shapes or devices differ or gradients would flow; TypeError if out's dtype can't hold
    the result.
    """
    result, out = call(*args, **{k: v for k, v in kw.items() if k != "out"}), kw["out"]
    if out is None:
        return result
    if not is_tuple(result):
        return _write(result, out)
    if not is_sequence(out) or len(out) != len(result):
        raise TypeError(f"out: the op has {len(result)} results: pass as many tensors")
    return rebuild(result, [_write(y, o) for y, o in zip(result, out, strict=True)])


def _write(y: Any, out: Any) -> Any:
    if not hasattr(out, "node"):
        raise TypeError(f"out={describe(out)} is not a tensor: pass one of the result's shape")
    if y.shape != out.shape:
        rule = f"pass fb.empty({list(y.shape)}), or do not pass out="
        raise ValueError(f"out has shape {list(out.shape)}, and the result {list(y.shape)}: {rule}")
    if y.dtype.category > out.dtype.category:
        rule = f"pass a tensor of {y.dtype.name}, or do not pass out="
        raise TypeError(f"out is {out.dtype.short}, and the result {y.dtype.short}: {rule}")
    if y.device is not out.device:
        raise ValueError(f"devices differ: the result is on {y.device}, out on {out.device}")
    if y.requires_grad:
        raise ValueError("no gradients flow into out: write inside no_grad, or do not pass out=")
    out._check_write()
    return out.replace_(y)
