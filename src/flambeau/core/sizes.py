"""Convert sizes, dims and positions to Python ints on entry to an op: shapes, the keys of plans and commands
contain them.

As in PyTorch, any value with `__index__` (NumPy's integers, tensors of one integer) is an integer; floats and
bools are not.
"""

from collections.abc import Callable
from functools import cache
from inspect import unwrap
from operator import index
from typing import Any, NamedTuple

from .node import describe
from .tree import is_sequence

# annotations of arguments that are one integer, and of those that are one or several
ONE = {"int", "int | None"}
_SEVERAL = (
    "int | Sequence[int]",
    "Sequence[int]",
    "tuple[int, ...]",
    "Shape",
    "int | Sequence[int] | str",
    "int | Sequence[int] | Tensor",
    "int | Sequence[Sequence[int]]",
)
SEVERAL = {f"{kind}{end}" for kind in _SEVERAL for end in ("", " | None")}
# (op, argument) whose annotation is in these lists but which may be something else
OTHERS = {
    *[(op, "dim") for op in ("std", "std_mean", "var", "var_mean")],  # `unbiased` in its place
    ("cov", "correction"),
    ("multi_margin_loss", "p"),
    ("view", "shape"),  # or a dtype
}
# arguments that are integers if passed by name; the position may hold another tensor, or sizes
BY_NAME = {("max", "dim"), ("min", "dim"), ("randint", "high")}
HAS_ARGUMENTS = 0x04  # flag of a code object with `*several`


class Integers(NamedTuple):
    """Which arguments of an op are integers."""

    places: tuple[tuple[int, str], ...]  # (position, name) of positional arguments
    names: dict[str, bool]  # all but `*several` -> whether it may be several integers
    several: str  # the name of `*several`, or ""
    first: int  # the position of the first of `*several`


@cache
def integers_of(f: Callable[..., Any]) -> Integers:
    """The integers in an op's signature; none for our own primitives, which take Python ints only."""
    f = unwrap(f)
    if f.__name__.startswith("_"):
        return Integers((), {}, "", 0)
    code, types = f.__code__, f.__annotations__
    count = code.co_argcount + code.co_kwonlyargcount
    several = code.co_varnames[count] if code.co_flags & HAS_ARGUMENTS else ""
    kinds = {name: str(types.get(name)) for name in code.co_varnames[: count + bool(several)]}
    kinds |= {name: "" for name in kinds if (f.__name__, name) in OTHERS}
    kinds |= {name: "int" for name in kinds if (f.__name__, name) in BY_NAME}
    names = {
        name: kinds[name] in SEVERAL for name in code.co_varnames[:count] if kinds[name] in ONE | SEVERAL
    }
    by_place = enumerate(code.co_varnames[: code.co_argcount])
    places = tuple((i, n) for i, n in by_place if n in names and (f.__name__, n) not in BY_NAME)
    are_integers = kinds.get(several) in ONE | SEVERAL
    return Integers(places, names, several if are_integers else "", code.co_argcount)


def with_integers(
    f: Callable[..., Any], args: tuple[Any, ...], kw: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Convert a call's sizes, dims and positions to Python ints; TypeError if one is not an integer."""
    places, names, several, first = integers_of(f)
    if not names and not several:
        return args, kw
    for i, name in places:
        if i >= len(args):
            break
        value = args[i]
        if type(value) is not int and value is not None:
            integer = integers(value, name, names[name])
            if integer is not value:
                args = (*args[:i], integer, *args[i + 1 :])
    if several:
        for value in args[first:]:
            if type(value) is not int:
                rest = args[first:]
                converted = (integers(rest[0], several),) if len(rest) == 1 else integers(rest, several)
                args = (*args[:first], *converted)
                break
    for name, value in kw.items():
        if type(value) is not int and name in names:
            integer = integers(value, name, names[name])
            if integer is not value:
                kw = {**kw, name: integer}
    return args, kw


def integers(value: Any, name: str, may_be_several: bool = True) -> Any:
    """Convert an integer, or nested sequences of integers, to Python ints. None and names of paddings stay.
    Raises a TypeError that names the argument for other values."""
    if type(value) is int or value is None:
        return value
    if may_be_several:
        if is_sequence(value):
            return value if all([type(v) is int for v in value]) else _each(value, name)
        if isinstance(value, str) and name == "padding":
            return value
        if hasattr(value, "__iter__") and getattr(value, "ndim", 1) and not isinstance(value, str):
            return _each(value.tolist() if hasattr(value, "tolist") else value, name)
    if not _is_bool(value) and not isinstance(value, str):
        try:
            return index(value)
        except TypeError:
            pass
    raise TypeError(f"{name} must be an integer, not {describe(value)}: use int(...)")


def _each(values: Any, name: str) -> tuple[Any, ...]:
    return tuple([integers(v, name, isinstance(v, tuple | list)) for v in values])


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool) or getattr(getattr(value, "dtype", None), "name", "") == "bool"
