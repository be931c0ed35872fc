"""Reading by index: gather, the ops composed of it, and Python's brackets.

Host indices (integers, lists, arrays) are checked at once. The kernel that uses device indices checks them;
an index out of range raises at the next read (see `faults`).
"""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from ...core import dtype as dt
from ...core.declare import composed, kernel
from ...core.node import is_tensor
from ...core.op import Family
from ...core.shape import broadcast, normal_dim
from ..elementwise import choose
from .getitem import cut, parse, pick
from .indices import as_index, as_places, checked_places, nd_places, slices, valid

if TYPE_CHECKING:
    from ...core.rules import Prepared
    from ...core.shape import Shape
    from ...tensor import Tensor


def _gather_shape(x: Shape, index: Shape, dim: int) -> Shape:
    if len(x) != len(index):
        raise ValueError(f"tensor and index differ in rank: {len(x)} and {len(index)}")
    for d, (n, m) in enumerate(zip(x, index, strict=True)):
        if d != dim and m > n:
            raise ValueError(f"index has {m} elements in dim {d}, the tensor {n}")
    return index


def _gather(xp: Any, x: Any, index: Any, dim: int) -> Any:
    # the index may be smaller outside of dim
    cut = tuple(slice(None) if d == dim else slice(m) for d, m in enumerate(index.shape))
    n = x.shape[dim]
    index = xp.where(index < 0, n - 1, xp.clip(index, 0, max(n - 1, 0)))  # clamped as in kernels
    return xp.take_along_axis(x[cut], index, axis=dim)


@composed
def gather(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Elements at `index` along a dim. [..., n, ...], [..., m, ...] -> [..., m, ...]

    Raises IndexError if there is no such dim; if an index is out of range; TypeError if it is not of
        integers.
    """
    d = normal_dim(dim, input.ndim)
    index = as_index(input, index, d, "gather")
    if index.ndim != input.ndim and not index.numel():  # as in PyTorch, an empty index may have any shape
        return input.reshape(-1).narrow(0, 0, 0).reshape(*index.shape)
    if (
        input.ndim < 2 and index.ndim < 2 and 0 in (input.ndim, index.ndim)
    ):  # a 0-d tensor counts as a vector of 1
        return input.reshape(-1)._gather(index.reshape(-1), 0).reshape(*index.shape)
    return input._gather(index, d)


@composed
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Whole slices at the indices. [..., n, ...], [m] -> [..., m, ...]

    index: which elements, integers
    Raises ValueError if index has more than 1 dim.
    """
    d = normal_dim(dim, input.ndim)
    index = as_index(input, index, d, "index_select")
    if index.ndim > 1:
        raise ValueError(f"index has {index.ndim} dims: use 1 dim, or take() or brackets")
    if input.ndim == 0:
        return input.reshape(1).index_select(0, index.reshape(-1)).reshape()
    return slices(input, index.reshape(-1), dim=d)


@composed
def take(input: Tensor, index: Tensor) -> Tensor:
    """Elements at indices of the flattened tensor. [...], [*m] -> [*m]

    index: which elements, integers
    Raises IndexError if an index is out of range; TypeError if it is not of integers.
    """
    flat = input.reshape(-1)
    index = as_index(flat, index, 0, "take", wraps=True)
    return slices(flat, index.reshape(-1), dim=0).reshape(*index.shape)


@composed
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """gather whose tensor and indices broadcast; without dim it indexes the flattened tensor.

    [..., n, ...], [..., m, ...] -> [..., m, ...]

    Raises ValueError if numbers of dims differ.
    """
    if dim is None:
        return input.take(indices if not is_tensor(indices) else indices.reshape(-1))
    d = normal_dim(dim, input.ndim)
    indices = as_index(input, indices, d, "take_along_dim", wraps=True)
    if indices.ndim != input.ndim:
        raise ValueError(f"tensor and indices differ in rank: {input.ndim} and {indices.ndim}")
    # the size of each dim that broadcasts; 0 stays 0
    sizes = [max(a, b) if b and a else 0 for a, b in zip(input.shape, indices.shape, strict=True)]
    x = input.expand(*(n if e == d else s for e, (n, s) in enumerate(zip(input.shape, sizes, strict=True))))
    shape = (indices.shape[d] if e == d else s for e, s in enumerate(sizes))
    return x._gather(indices.expand(*shape), d)


@composed
def gather_nd(input: Tensor, indices: Tensor) -> Tensor:
    """input[indices[i]] for each i. [*n, *rest], [..., k] with k = len(n) -> [..., *rest]

    Raises IndexError if the last dim of indices is longer than the input has dims.
    """
    places, k = nd_places(input, indices, "gather_nd")
    rest = input.shape[k:]
    rows = slices(input.reshape(prod(input.shape[:k]), *rest), places.reshape(-1), dim=0)
    return rows.reshape(*places.shape, *rest)


@composed
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where mask is true, in order. Reads the mask for their number. [...], [...] -> [n]

    Raises TypeError if the mask is not of bools.
    """
    x, mask = _broadcast(input, mask)
    return x[mask]


@composed
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """The elements where mask is true replaced by those of source in order.

    A source that is too short raises IndexError at the next read, an empty one ValueError.
    [...], [...], [m] -> [...]
    """
    x, mask = _broadcast(input, mask)
    if source.dtype is not x.dtype:
        raise TypeError(f"source must be of {x.dtype.short}: cast one of them")
    if not source.numel():
        return valid(x, mask, "masked_scatter")
    # clamped: before the first true element the index would be -1, which the gradient must not read
    place = (mask.reshape(-1).int().cumsum(0) - 1).clamp(min=0)
    place = checked_places(place, source.numel(), "inside", "source")
    return choose(mask, source.reshape(-1)._gather(place, 0).reshape(*x.shape), x)


class Indexing(Family):
    @kernel(
        "gather",
        dtypes="fiub",
        shape=_gather_shape,
        dtype=lambda x, index, dim: x,
        xp=_gather,
        # The adjoint adds each element's gradient where it was read.
        grad=lambda g, y, x, index, dim: [
            type(g).zeros(x.shape, dtype=g.dtype, device=g.device)._scatter_at(dim, index, g),
            None,
        ],
    )
    def _gather(self: Any, index: Tensor, dim: int) -> Prepared:
        """Elements at `index` along a dim. gather, index_select and brackets call it."""
        return (self, index), {"dim": dim}

    @composed
    def __getitem__(self: Any, key: Any) -> Tensor:
        """Integers, slices, None, ..., and index or bool lists, arrays and tensors, with NumPy's meaning.

        A bool tensor is read, since the shape of the result depends on it, so it can't be recorded.

        key: the index in brackets
        """
        plan = parse(self, key)
        y = cut(self, plan)
        return pick(y, plan) if plan.picks else y


def _broadcast(x: Tensor, mask: Any) -> tuple[Tensor, Tensor]:
    if not is_tensor(mask):
        mask = x.new_tensor(mask, dtype=dt.bool_)
    if mask.dtype is not dt.bool_:
        raise TypeError(f"mask is {mask.dtype.short}: use a tensor of bools")
    shape = broadcast(x.shape, mask.shape)
    return x.expand(*shape), mask.expand(*shape)


@composed
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 at each index, else 0, as int64. [...] -> [..., num_classes]

    Without num_classes it reads the largest index.
    """
    if num_classes < 0:
        num_classes = int(tensor.max().item()) + 1
    classes = type(tensor).arange(num_classes, dtype=dt.int32, device=tensor.device)
    place = checked_places(tensor, num_classes, "known", "one_hot")
    return as_places(place.unsqueeze(-1) == classes)
