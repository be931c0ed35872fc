"""Checks of indices: integers, lists, arrays or tensors become int32 tensors of places in 0 to n - 1."""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import threading
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core import dtype as dt
from ...core.declare import composite, kernel
from ...core.faults import Fault, site_of
from ...core.node import is_tensor
from ...core.op import Family
from ...core.shape import normal_dim

if TYPE_CHECKING:
    from ...core.node import Node
    from ...core.rules import Gradients, Prepared
    from ...core.shape import Shape
    from ...tensor import Tensor


class Chosen(NamedTuple):
    """Values selected along a dim, and their indices: the result of max, sort, topk and others."""

    values: Tensor
    indices: Tensor


class _Thread(threading.local):
    """A thread's hook for each index. A class attribute is the default: a failed lookup would be slower."""

    check: Any = None  # called with each tensor of places while debug.check_indices is on


watched = _Thread()


def _inside_reference(xp: Any, index: Any, n: int, mode: str, site: int, none: int = 0) -> Any:
    place = xp.where(index < 0, index + n, index) if mode == "wrapped" else index
    outside = (place < 0) | (place >= n)
    bad = outside & (index != none) if mode == "known" else outside
    if xp.fault is None and xp.any(bad):
        xp.fault = Fault(site, int(index[bad][0]), n)
    return xp.where(outside, -1, place) if mode == "known" else xp.clip(place, 0, max(n - 1, 0))


def _same_shape(shape: Shape, **_: Any) -> Shape:
    return shape


def _int32(_: dt.DType, **__: Any) -> dt.DType:
    return dt.int32


class Places(Family):
    @kernel(
        "elementwise",
        dtypes="iu",
        shape=_same_shape,
        dtype=_int32,
        xp=_inside_reference,
    )
    def _inside(self: Any, n: int, mode: str, site: int, none: int = 0) -> Prepared:
        """Indices as places in 0 to n - 1. An index out of range is a fault of `site` and is clamped, so that
        no kernel reads outside a buffer.

        mode: "inside"; "wrapped": negative ones count from the end; "known": an index out of range becomes -1
        instead, and `none` is not a fault.
        """
        return (self,), {"n": n, "mode": mode, "site": site} | ({"none": none} if mode == "known" else {})


def as_places(x: Tensor) -> Tensor:
    """int32 places converted to the integer dtype of results (see `set_default_integer`)."""
    return x.to(dt.default_integer())


def as_index(x: Tensor, index: Any, dim: int, name: str, wraps: bool = False, n: int | None = None) -> Tensor:
    """An index of dim `dim` as checked places. A host index is checked at once, a tensor by the kernel that
    uses it.

    wraps: negative ones count from the end. name: the op's; "" if the index is known to be in range.
    """
    if not name:
        return index
    n = (x.shape[dim] if x.ndim else 1) if n is None else n
    if not is_tensor(index):
        return x.new_tensor(check_host_indices(index, n, dim, wraps), dtype=dt.int32)
    if not index.dtype.is_int:
        raise TypeError(f"the index must have integers, not {index.dtype.short}: cast with .int()")
    if n == 0 and prod(index.shape):
        raise IndexError(f"dim {dim} has no elements to index")
    return (
        index
        if _is_inside(index.node, n)
        else checked_places(index, n, "wrapped" if wraps else "inside", name, dim)
    )


def checked_places(index: Tensor, n: int, mode: str, name: str, dim: int = 0, none: int = 0) -> Tensor:
    """`_inside` for the op `name`; also calls this thread's hook."""
    places = index._inside(n, mode, site_of(name, dim), none)
    if watched.check is not None:
        watched.check(places)
    return places


def valid(x: Tensor, is_bad: Tensor, name: str) -> Tensor:
    """x, unchanged. If is_bad is true anywhere, the next read raises the fault `name` (of faults.VALUES). x
    may have more leading dims than is_bad."""
    return x + checked_places(is_bad.int(), 1, "inside", name).to(x.dtype)  # 0 for all that is valid


def _is_inside(node: Node, n: int) -> bool:
    """Whether a node is a view of places that were checked already, such as the index of a gradient."""
    # Movement ops only reorder elements; a pad also adds zeros.
    while node.op.kind == "movement" and node.inputs and node.op.name != "_pad":
        node = node.inputs[0]
    return node.op.name == "_inside" and node.attrs["n"] <= n and node.attrs["mode"] != "known"


def check_host_indices(index: Any, n: int, dim: int, wraps: bool = True) -> Any:
    """Host indices as an int32 array in 0 to n - 1; IndexError for the first one out of range."""
    import numpy as np

    array = np.asarray(index)
    array = array.astype("i4") if not array.size else array  # an empty list is of floats for NumPy
    if array.dtype.kind not in "iu":
        raise TypeError(f"{index!r:.40} are not indices: use integers")
    bad = array[(array < (-n if wraps else 0)) | (array >= n)]
    if bad.size:
        raise IndexError(f"index {bad[0]} is out of range for dim {dim} of size {n}")
    return np.where(array < 0, array + n, array).astype("i4")


def gather_known(x: Tensor, dim: int, places: Tensor) -> Tensor:
    """gather by places that are known to be in range. [..., n, ...], [..., m, ...] -> [..., m, ...]"""
    return x._gather(places, normal_dim(dim, x.ndim))


def _slices_grad(g: Tensor, y: Tensor, x: Tensor, places: Tensor, dim: int) -> Gradients:
    return [type(g).zeros(x.shape, dtype=g.dtype, device=g.device)._add_at(dim, places, g), None]


@composite(grad=_slices_grad)
def _index_select(x: Tensor, places: Tensor, *, dim: int) -> Tensor:
    """gather of whole slices, with a gradient that adds whole slices. [..., n, ...], [m] -> [..., m, ...]"""
    shape = (*x.shape[:dim], places.shape[0], *x.shape[dim + 1 :])
    return x._gather(places.reshape(*(-1 if e == dim else 1 for e in range(x.ndim))).expand(*shape), dim)


slices = _index_select


def nd_places(x: Tensor, indices: Any, name: str) -> tuple[Tensor, int]:
    """The place of each index tuple in the first k dims flattened together, and k. [..., k] -> [...]"""
    if not is_tensor(indices):
        indices = x.new_tensor(indices, dtype=dt.int32)
    k = indices.shape[-1] if indices.ndim else 0
    if not 0 < k <= x.ndim or not indices.dtype.is_int:
        raise IndexError(f"the last dim of indices has {k} integers: use 1 to {x.ndim}")
    place: Any = 0
    for d in range(k):
        place = as_index(x, indices.select(-1, d), d, name, wraps=True) + place * x.shape[d]  # row-major
    return place, k


def along(x: Tensor, n: int, dim: int, rank: int) -> Tensor:
    """0 to n - 1 along one of `rank` dims. -> [1, ..., n, ..., 1]"""
    return (
        type(x)
        .arange(n, dtype=dt.int32, device=x.device)
        .reshape(*(n if d == dim else 1 for d in range(rank)))
    )
