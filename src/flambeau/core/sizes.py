"""Sizes, dims and places become Python's integers where an op is entered, whatever they were: later
they are in shapes, in the keys of plans and in commands.

As with PyTorch, what has one integer (NumPy's, a tensor's, `__index__`) is that integer; floats and bools are
none.
"""

from collections.abc import Callable
from functools import cache
from inspect import unwrap
from operator import index
from typing import Any, NamedTuple

from .node import describe

# arguments without annotation that are integers, or several of them, whichever op takes them
SEVERAL = {
    *("dilation", "dim", "dims", "groups", "indices_or_sections", "kernel_size", "normalized_shape"),
    *("output_padding", "output_size", "out_size", "pad", "padding", "s", "shape", "shifts"),
    *("size", "sizes", "split_size", "stride"),
}
# (op, argument): those of one op
OF_ONE = {
    ("avg_pool2d", "divisor_override"),
    ("avg_pool3d", "divisor_override"),
    ("movedim", "destination"),
    ("movedim", "source"),
    ("repeat", "repeats"),
}
# those that are not integers alone: numbers, view's dtype, and `unbiased` in the place of a variance's dim
OTHERS = {
    ("cov", "correction"),
    ("multi_margin_loss", "p"),
    ("view", "shape"),
    *[(op, name) for op in ("std", "std_mean", "var", "var_mean") for name in ("correction", "dim")],
}
# integers by their name, whose place may have another tensor, or sizes
BY_NAME = {("max", "dim"), ("min", "dim"), ("randint", "high")}
HAS_ARGUMENTS = 0x04  # of a code object's flags: `*several`


class Integers(NamedTuple):
    """The arguments of an op that are integers."""

    places: tuple[tuple[int, str], ...]  # those that may be given by their place
    names: dict[str, bool]  # all but `*several`; whether one may be several
    several: str  # the name of `*several`, or ""
    first: int  # the place of the first of `*several`


@cache
def integers_of(f: Callable) -> Integers:
    """What an op's signature says of integers."""
    f = unwrap(f)
    code, types = f.__code__, f.__annotations__
    count = code.co_argcount + code.co_kwonlyargcount
    several = code.co_varnames[count] if code.co_flags & HAS_ARGUMENTS else ""
    names: dict[str, bool] = {}
    for name in code.co_varnames[:count]:
        if name in types:
            if types[name] in (int, int | None) and not _is_other(f.__name__, name):
                names[name] = False
        elif _are_integers(f.__name__, name):
            names[name] = True
    by_place = enumerate(code.co_varnames[: code.co_argcount])
    places = tuple((i, n) for i, n in by_place if n in names and (f.__name__, n) not in BY_NAME)
    return Integers(places, names, several if _are_integers(f.__name__, several) else "", code.co_argcount)


def _are_integers(op: str, name: str) -> bool:
    return (name in SEVERAL or (op, name) in OF_ONE) and not _is_other(op, name)


def _is_other(op: str, name: str) -> bool:
    return (op, name) in OTHERS or "_polynomial_" in op  # their degrees are numbers, too


def with_integers(f: Callable, args: tuple, kw: dict) -> tuple[tuple, dict]:
    """A call of an op with Python's integers for sizes, dims and places; TypeError where they are none."""
    places, names, several, first = integers_of(f)
    for i, name in places:
        if i >= len(args):
            break
        value = args[i]
        if type(value) is not int and value is not None:
            args = (*args[:i], integers(value, name, names[name]), *args[i + 1 :])
    if several:
        rest = args[first:]
        whole = (integers(rest[0], several),) if len(rest) == 1 else integers(rest, several)
        args = (*args[:first], *whole)
    for name in kw:
        if name in names:
            kw = {**kw, name: integers(kw[name], name, names[name])}
    return args, kw


def integers(value: Any, name: str, may_be_several: bool = True) -> Any:
    """An integer, or nested tuples of some, as Python's own; None and the names of paddings as they are.
    TypeError, which names the argument, for others."""
    if type(value) is int or value is None:
        return value
    if may_be_several:
        if isinstance(value, tuple | list):
            return value if all([type(v) is int for v in value]) else _each(value, name)
        if isinstance(value, str) and name == "padding":
            return value
        if hasattr(value, "__iter__") and getattr(value, "ndim", 1) and not isinstance(value, str):
            return _each(value.tolist() if hasattr(value, "tolist") else value, name)
    if not _is_bool(value):
        try:
            return index(value)
        except TypeError:
            pass
    raise TypeError(f"{name} must be an integer, not {describe(value)}: use int(...)")


def _each(values: Any, name: str) -> tuple:
    return tuple([integers(v, name, isinstance(v, tuple | list)) for v in values])


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool) or getattr(getattr(value, "dtype", None), "name", "") == "bool"
