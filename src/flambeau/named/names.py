"""Names of dims: checks, order and sizes; every error says names with sizes."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..core.node import describe
from ..errors import IndexError, TypeError, ValueError, suggest
from ..tensor import Tensor

if TYPE_CHECKING:
    from .tensor import NamedTensor

Names = tuple[str, ...]


def shown(names: Iterable[str], sizes: Iterable[int]) -> str:
    """Names with sizes, as errors and repr show them: [batch 2, feature 3]."""
    return f"[{', '.join(f'{name} {n}' for name, n in zip(names, sizes, strict=True))}]"


def shown_call(name: str, args: Iterable[Any], kw: Mapping[str, Any] | None = None) -> str:
    """A call as errors begin with it, its tensors by names."""
    words = [f"{k}={_shown_argument(v)}" for k, v in (kw or {}).items()]
    return f"{name}({', '.join([*map(_shown_argument, args), *words])})"


def _shown_argument(value: Any) -> str:
    if hasattr(value, "names") and hasattr(value, "sizes"):
        return shown(value.names, value.tensor.shape)
    if isinstance(value, list | tuple) and any(hasattr(v, "shape") for v in value):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - any
        return f"[{', '.join(map(_shown_argument, value))}]"  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - any
    return describe(value) if isinstance(value, Tensor) else repr(value)  # pyright: ignore[reportUnknownArgumentType] - any


def checked(names: str | Iterable[str], ndim: int, call: str) -> Names:
    """Names of all dims as a tuple.

    Raises ValueError if a name occurs twice, is no identifier, or if there are not as many as dims;
    TypeError if one is not a string.
    """
    dims = tuple(names.split()) if isinstance(names, str) else tuple(names)
    for name in dims:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance] - users' arguments
            raise TypeError(f"{call}: {name!r} is not a name: use strings, such as 'batch'")
        if not name.isidentifier() or name.startswith("_"):
            rule = "a name has letters, digits and _, and begins with a letter"
            raise ValueError(f"{call}: {name!r} can't name a dim: {rule}")
        if dims.count(name) > 1:
            raise ValueError(f"{call}: {name!r} names two dims: rename one")
    if len(dims) != ndim:
        raise ValueError(f"{call}: {_count(len(dims), 'name')} for {_count(ndim, 'dim')}: pass one for each")
    return dims


def _count(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"


def place(x: NamedTensor, name: Any, call: str) -> int:
    """The position of a dim.

    Raises IndexError for a name that the tensor lacks, TypeError for a position.
    """
    if not isinstance(name, str):
        raise TypeError(f"{call}: {name!r} is not a name: dims have names here{_choice(x)}")
    if name not in x.names:
        raise IndexError(f"{call}: no dim is named {name!r}{suggest(name, x.names) or _choice(x)}")
    return x.names.index(name)


def _choice(x: NamedTensor) -> str:
    return f": use one of {', '.join(map(repr, x.names))}" if x.names else ": the tensor has no dims"


def places(x: NamedTensor, names: Any, call: str) -> tuple[int, ...]:
    """The positions of one name or of several, each once."""
    several = (names,) if isinstance(names, str) or not isinstance(names, Iterable) else tuple(names)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - any
    for name in several:  # pyright: ignore[reportUnknownVariableType]
        if several.count(name) > 1:  # pyright: ignore[reportUnknownArgumentType]
            raise ValueError(f"{call}: {name!r} is given twice: name each dim once")
    return tuple(place(x, name, call) for name in several)  # pyright: ignore[reportUnknownVariableType]


def union(tensors: Sequence[NamedTensor], call: str) -> Names:
    """All names of several tensors, in the order of their first occurrence.

    Raises ValueError if two have different sizes of a dim, neither of them 1.
    """
    sizes: dict[str, int] = {}
    for t in tensors:
        for name, n in t.sizes.items():
            known = sizes.get(name, 1)
            if 1 not in (known, n) and known != n:
                rule = "make them equal, or rename one"
                raise ValueError(f"{call}: {name!r} has sizes {known} and {n}: {rule}")
            sizes[name] = n if known == 1 else known
    return tuple(sizes)


def aligned(x: NamedTensor, names: Names) -> Tensor:
    """The plain tensor with dims in the order of `names`, which contain its own; size 1 where it has none,
    but without such dims in front."""
    own = [name for name in names if name in x.names]
    t = ordered(x, own)
    if not own:
        return t
    rest = names[names.index(own[0]) :]
    if len(rest) == len(own):
        return t
    return t.reshape(*(x.sizes.get(name, 1) for name in rest))


def ordered(x: NamedTensor, names: Sequence[str]) -> Tensor:
    """The plain tensor with its dims in this order; the tensor itself if they are in order."""
    if tuple(names) == x.names:
        return x.tensor
    return x.tensor.permute(*(x.names.index(name) for name in names))


def run(
    function: Callable[..., Any], call: str, args: Sequence[Any], kw: Mapping[str, Any], names: Names = ()
) -> Any:
    """function(*args, **kw); its errors begin with the call by names, and have names for "dim 0"."""
    try:
        return function(*args, **kw)
    except (builtins.ValueError, builtins.IndexError, builtins.TypeError) as e:
        reason = str(e).partition("): ")[2] or str(e)
        by_place = {str(i): repr(name) for i, name in enumerate(names)}
        reason = re.sub(r"\bdim (\d+)", lambda m: by_place.get(m[1], m[0]), reason)
        raise type(e)(f"{call}: {reason}") from None
