"""The array API's manipulation and indexing functions."""

from math import prod
from typing import Any

from .. import functions
from ..errors import IndexError, ValueError
from ..tensor import Tensor
from .elementwise import alike


def reshape(x: Tensor, /, shape: Any, *, copy: bool | None = None) -> Tensor:
    """Reshape x; with copy=True, return a new tensor."""
    y = x.reshape(_axes(shape))
    return y.clone() if copy else y


def permute_dims(x: Tensor, /, axes: Any) -> Tensor:
    """Permute the axes."""
    return x.permute(tuple(axes))


def expand_dims(x: Tensor, /, *, axis: Any = 0) -> Tensor:
    """Insert one or several axes of size 1 at positions of the result. IndexError for a position out of
    range."""
    axes, rank = _axes(axis), x.ndim + len(_axes(axis))
    for a in axes:
        if not -rank <= a < rank:
            raise IndexError(f"expand_dims(axis={axis}): {a} is out of range: use {-rank} to {rank - 1}")
    places = {a % rank for a in axes}
    if len(places) < len(axes):
        raise ValueError(f"expand_dims(axis={axis}): an axis is repeated: name each once")
    # positions count in the result: sizes of 1 at these, x's sizes at the others
    rest = iter(x.shape)
    return x.reshape(tuple(1 if d in places else next(rest) for d in range(rank)))


def squeeze(x: Tensor, /, axis: Any) -> Tensor:
    """Remove axes of size 1. ValueError for an axis of another size."""
    for a in _axes(axis):
        if x.shape[a] != 1:
            raise ValueError(f"squeeze(axis={axis}): axis {a} has size {x.shape[a]}, not 1")
    return x.squeeze(_axes(axis))


def broadcast_to(x: Tensor, /, shape: Any) -> Tensor:
    """Broadcast to a shape, without copying."""
    return x.expand(_axes(shape))


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """Broadcast arrays to their common shape."""
    return list(functions.broadcast_tensors(*arrays))


def concat(arrays: Any, /, *, axis: int | None = 0) -> Tensor:
    """Concatenate arrays along an axis; None flattens them."""
    if axis is None:
        return functions.cat(alike(*(x.reshape(-1) for x in arrays)), 0)
    return functions.cat(alike(*arrays), axis)


def stack(arrays: Any, /, *, axis: int = 0) -> Tensor:
    """Stack arrays along a new axis."""
    return functions.stack(alike(*arrays), axis)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Return the slices of an axis."""
    return tuple(x.unbind(axis))


def flip(x: Tensor, /, *, axis: Any = None) -> Tensor:
    """Reverse the elements of axes (None: all)."""
    return x.flip(tuple(range(x.ndim)) if axis is None else _axes(axis))


def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Tensor:
    """Move axes to other positions."""
    return x.movedim(source, destination)


def roll(x: Tensor, /, shift: Any, *, axis: Any = None) -> Tensor:
    """Roll elements cyclically along axes; None rolls the flattened array."""
    # one shift for several axes
    if axis is not None and isinstance(shift, int) and not isinstance(axis, int):
        shift = (shift,) * len(axis)
    return x.roll(shift, axis)


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Repeat each element of an axis (None: of the flattened array) `repeats` times."""
    return x.repeat_interleave(repeats, axis)


def tile(x: Tensor, repetitions: Any, /) -> Tensor:
    """Repeat the array along each axis."""
    return x.tile(*_axes(repetitions))


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """Take slices of an axis at indices. ValueError without an axis if there are several."""
    if axis is None and x.ndim != 1:
        raise ValueError(f"take(axis=None): the array has {x.ndim} axes: name one")
    return x[(*[slice(None)] * ((axis or 0) % x.ndim), indices)]  # x[:, ..., indices]


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """Take an element of the axis for each index."""
    # the index must be int; an empty list of indices may have any dtype
    if prod(indices.shape) and indices.dtype.kind != "i":
        indices = indices.long()
    return x.take_along_dim(indices, axis)


def _axes(axis: Any) -> tuple[int, ...]:
    return (int(axis),) if hasattr(axis, "__index__") else tuple(map(int, axis))
