"""Operations that move elements of named tensors: flatten, unflatten, expand, elements by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..core.tree import is_dict
from ..errors import TypeError, ValueError
from ..tensor import Tensor
from .names import aligned, checked, ordered, place, places, run, shown
from .tensor import METHODS, NamedTensor, named


def text(x: NamedTensor) -> str:
    """Names and sizes, for errors."""
    return shown(x.names, x.tensor.shape)


def flatten(x: NamedTensor, groups: Mapping[str, Sequence[str]]) -> Any:
    """Join dims; see NamedTensor.flatten."""
    for new, dims in groups.items():
        call = f"flatten({text(x)}, {new}={tuple(dims)})"
        places(x, dims, call)
        if not dims:
            raise ValueError(f"{call}: no dims to join: name one or more")
        first = x.names.index(dims[0])
        before = [n for n in x.names[:first] if n not in dims]
        after = [n for n in x.names[first + 1 :] if n not in dims]
        names = checked([*before, new, *after], len(before) + len(after) + 1, call)
        t = ordered(x, [*before, *dims, *after])
        count = len(before)
        sizes = t.shape[:count], t.shape[count : count + len(dims)], t.shape[count + len(dims) :]
        length = 1
        for n in sizes[1]:
            length *= n
        x = named(t.reshape(*sizes[0], length, *sizes[2]), names)
    return x


def unflatten(x: NamedTensor, dim: str, sizes: Mapping[str, int]) -> Any:
    """Split a dim; see NamedTensor.unflatten."""
    call = f"unflatten({text(x)}, {dim!r}, {dict(sizes)})"
    position = place(x, dim, call)
    names = [*x.names[:position], *sizes, *x.names[position + 1 :]]
    new = checked(names, len(names), call)
    return named(run(x.tensor.unflatten, call, [position, list(sizes.values())], {}, x.names), new)


def expand(x: NamedTensor, sizes: Mapping[str, int]) -> Any:
    """Repeat along dims; see NamedTensor.expand."""
    call = f"expand({text(x)}, {dict(sizes)})"
    for name, n in sizes.items():
        if x.sizes.get(name, 1) not in (1, n):
            raise ValueError(f"{call}: {name!r} has size {x.sizes[name]}: only a size of 1 expands")
    new = [name for name in sizes if name not in x.names]
    names = checked([*new, *x.names], len(new) + len(x.names), call)
    whole = {**x.sizes, **sizes}
    return named(run(x.tensor.expand, call, [whole[name] for name in names], {}), names)


def by_name(x: NamedTensor, key: Any) -> dict[str, Any]:
    """The indices of x[key]: a dict, or "row": 3.

    Raises TypeError for positions.
    """
    if is_dict(key):
        return key
    start: Any = getattr(key, "start", None)
    if isinstance(start, str):
        return {start: key.stop}
    raise TypeError(f"{text(x)}[{key!r}]: dims have names here: write x[{{'{(x.names or ('row',))[0]}': 3}}]")


def isel(x: NamedTensor, where: Mapping[str, Any]) -> Any:
    """Elements by name; see NamedTensor.isel."""
    call = f"isel({text(x)}, {', '.join(where)})"
    t, names = x.tensor, list(x.names)
    for name in where:
        place(x, name, call)
    for name, index in where.items():
        position = names.index(name)
        if isinstance(index, slice):
            t = run(t.__getitem__, call, [(*[slice(None)] * position, index)], {}, tuple(names))
            continue
        if isinstance(index, int):
            t = run(t.select, call, [position, index], {}, tuple(names))
            names.pop(position)
            continue
        one, new = _one_dim(index, name, call)
        t = run(t.index_select, call, [position, one], {}, tuple(names))
        names[position] = new
    return named(t, checked(names, len(names), call))


def _one_dim(index: Any, name: str, call: str) -> tuple[Tensor, str]:
    """An index of several positions, and the name of the dim that it makes."""
    value = index.tensor if hasattr(index, "names") else index
    if not isinstance(value, Tensor) or value.ndim != 1 or value.dtype.kind not in "iu":
        rule = "takes an int, a slice or a 1-d tensor of integers"
        raise TypeError(f"{call}: the index of {name!r} {rule}")
    return value, index.names[0] if hasattr(index, "names") else name


def assign(x: NamedTensor, where: Mapping[str, Any], value: Any) -> None:
    """x[where] = value, whose dims are found by name."""
    call = f"{text(x)}[{', '.join(where)}] = "
    for name, index in where.items():
        place(x, name, call)
        if not isinstance(index, int | slice):
            raise TypeError(
                f"{call}: the index of {name!r} takes an int or a slice: use x.scatter for others"
            )
    left = tuple(n for n in x.names if not isinstance(where.get(n), int))
    if hasattr(value, "names"):
        extra = [n for n in value.names if n not in left]
        if extra:
            raise ValueError(f"{call}: the value has {extra[0]!r}, which the elements lack: reduce it first")
        value = aligned(value, left)
    elif isinstance(value, Tensor) and value.ndim:
        raise TypeError(f"{call}: the value has no names: write fb.named.tensor(value, {' '.join(left)!r})")
    run(x.tensor.__setitem__, call, [tuple(where.get(n, slice(None)) for n in x.names), value], {})


METHODS.update(flatten=flatten, unflatten=unflatten, expand=expand, isel=isel, by_name=by_name, assign=assign)
