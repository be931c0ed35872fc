"""Gathers, scatters and selections."""

from math import prod
from typing import Any

from ...functions import arange, cat, where
from ...tensor import Tensor
from ..values import cpu, first_number, to_array, to_value
from .table import operator


def from_start(index: Tensor, n: int) -> Tensor:
    """Replace negative indices, which count from the end."""
    return where(index < 0, index + n, index)


@operator("Gather", places=True)
def gather(x: Tensor, index: Tensor, *, axis: int = 0, node: Any = None) -> Tensor:
    axis %= x.ndim
    number = None if node is None else node.number(index)
    if number is not None and -x.shape[axis] <= number < x.shape[axis]:  # a view
        slice_ = x.narrow(axis, number % x.shape[axis], 1)
        return slice_.reshape(*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
    flat = from_start(index, x.shape[axis]).reshape(-1)
    slice_ = x.index_select(axis, flat)
    return slice_.reshape(*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])


@operator("GatherElements", places=True)
def gather_elements(x: Tensor, index: Tensor, *, axis: int = 0) -> Tensor:
    return x.gather(axis, from_start(index, x.shape[axis]))


@operator("GatherND", places=True)
def gather_nd(x: Tensor, index: Tensor, *, batch_dims: int = 0) -> Tensor:
    if not batch_dims:
        return x.gather_nd(index)
    # The batch dims become one, and each index tuple gets its own batch index in front.
    batch, depth = x.shape[:batch_dims], index.shape[-1]
    # [batch, 1..., 1]: the number of each index tuple's batch element
    own = arange(prod(batch), device=x.device).reshape(-1, *[1] * (index.ndim - batch_dims))
    flat = index.reshape(prod(batch), *index.shape[batch_dims:])
    own = own.broadcast_to((*flat.shape[:-1], 1)).to(index.dtype)
    gathered = x.reshape(prod(batch), *x.shape[batch_dims:]).gather_nd(cat([own, flat], -1))
    return gathered.reshape(*index.shape[:-1], *x.shape[batch_dims + depth :])


JOINED = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


@operator("Scatter", "ScatterElements", places=True)
def scatter_elements(
    x: Tensor, index: Tensor, updates: Tensor, *, axis: int = 0, reduction: str = "none"
) -> Tensor:
    index = from_start(index, x.shape[axis])
    if reduction == "none":
        return x.scatter(axis, index, updates)
    return x.scatter_reduce(axis, index, updates, JOINED[reduction], include_self=True)


@operator("ScatterND", places=True)
def scatter_nd(x: Tensor, index: Tensor, updates: Tensor, *, reduction: str = "none") -> Tensor:
    return x.scatter_nd(index, updates, reduction)


@operator("TensorScatter")
def tensor_scatter(
    past: Tensor, update: Tensor, start: Any = None, *, axis: int = -2, mode: str = "linear"
) -> Tensor:
    """Write update into past along an axis from start[b] on, for each batch element; "circular"
    wraps around."""
    axis %= past.ndim
    steps = arange(update.shape[axis], device=past.device).reshape(*_shape_at(past.ndim, axis))
    if start is not None:
        # start is [b]; linear mode reports a place beyond the cache as an index error, circular wraps it
        steps = steps + start.reshape(*_shape_at(past.ndim, 0))
    places = steps % past.shape[axis] if mode == "circular" else steps
    return past.scatter(axis, places.broadcast_to(update.shape), update)


def _shape_at(ndim: int, axis: int) -> list[int]:
    return [-1 if d == axis else 1 for d in range(ndim)]


@operator("Compress", numbers="condition", places=True)
def compress(x: Tensor, condition: Any, *, axis: int | None = None) -> Tensor:
    chosen = [k for k, keep in enumerate(condition) if keep]
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    return x.index_select(axis, to_value(_ints(chosen), x.device))


def _ints(numbers: list[int]) -> Any:
    import numpy as np

    return np.array(numbers, np.int64)


@operator("NonZero", arrays=True, sized_by_values=True)
def nonzero(x: Any) -> Tensor:
    if isinstance(x, Tensor):
        # ONNX has [rank, count], torch.nonzero [count, rank]. A scalar has rank 0, so [0, count].
        return x.nonzero().permute(1, 0) if x.ndim else x.reshape(1).nonzero().permute(1, 0)[:0]
    import numpy as np

    return to_value(np.array(np.nonzero(x), np.int64), cpu())


@operator("Unique", arrays=True, sized_by_values=True)
def unique(x: Any, *, axis: int | None = None, sorted: int = 1) -> tuple[Any, ...]:
    """Return the distinct elements (or slices), their first indices, the inverse indices, and the counts.

    On the host: sizes depend on values."""
    import numpy as np

    device = x.device if isinstance(x, Tensor) else cpu()
    array = to_array(x)
    values, first, inverse, counts = np.unique(
        array if axis is not None else array.reshape(-1), True, True, True, axis=axis
    )
    if not sorted:
        # np.unique sorts; sorted=0 means the order of first occurrence
        order = np.argsort(first)
        values, first, counts = values.take(order, axis or 0), first[order], counts[order]
        inverse = np.argsort(order)[inverse.reshape(-1)]
    parts = values, first, inverse.reshape(-1), counts
    return tuple(to_value(p if k == 0 else p.astype(np.int64), device) for k, p in enumerate(parts))


@operator("OneHot", numbers="depth")
def one_hot(index: Tensor, depth: Any, values: Tensor, *, axis: int = -1) -> Tensor:
    n = int(first_number(depth))
    axis += index.ndim + 1 if axis < 0 else 0
    # indices out of range give rows of the off value, so no check
    index = from_start(index, n).unsqueeze(axis)
    classes = arange(n, device=index.device).reshape(*_shape_at(index.ndim, axis))
    return where(index == classes.to(index.dtype), values[1], values[0])


@operator("ArrayFeatureExtractor", domain="ai.onnx.ml", places=True)
def array_feature_extractor(x: Tensor, index: Tensor) -> Tensor:
    x = x if x.ndim > 1 else x.reshape(1, -1)
    return x.index_select(-1, index.reshape(-1))


@operator("Binarizer", domain="ai.onnx.ml")
def binarizer(x: Tensor, *, threshold: float = 0.0) -> Tensor:
    return (x > threshold).to(x.dtype)
