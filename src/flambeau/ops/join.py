"""Joins tensors, and splits a tensor into views."""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, cast

from ..core import dtype as dt
from ..core.declare import composed
from ..core.node import is_tensor
from ..core.op import Family, Launch, Op
from ..core.op import apply as add_node
from ..core.shape import broadcast, normal_dim
from .elementwise import choose, depend_on

if TYPE_CHECKING:
    from ..core.limits import Limits
    from ..core.node import Node
    from ..core.shape import Shape
    from ..tensor import Tensor

FEW = 3  # tensors that are joined as padded views, which fuse; more are copied, each element once
LARGE = 1 << 15  # elements of a tensor that are worth a dispatch on a software adapter
LARGE_ON_GPU = 1 << 19  # on a GPU, where each waits for the one before, since they write one buffer
GROUP = 64


def _cat_launch(limits: Limits, *nodes: Node, dim: int) -> list[Launch]:
    """One dispatch for each large input, and one for as many small inputs as there are bindings. Each writes
    its columns of the result's rows."""
    rows = prod(nodes[0].shape[:dim])
    widths = [prod(n.shape[dim:]) for n in nodes]
    is_large = [_is_large(limits, n) for n in nodes]
    total, most, before, index = sum(widths), limits.storage_buffers - 1, 0, 0
    launches: list[Launch] = []
    # A launch binds at most `most` inputs; a large input ends a group and gets its own launch.
    while index < len(nodes):
        group = widths[index : index + most]
        group = group[: next((i for i in range(len(group)) if is_large[index + i]), len(group))]
        if group:
            launches.append(_copy_several(group, index, rows, total, before))
        else:
            launches.append(_copy_one(limits, index, rows, widths[index], total, before))
        count = max(len(group), 1)
        before += sum(widths[index : index + count])
        index += count
    return launches


def _is_large(limits: Limits, node: Node) -> bool:
    """Whether an input gets its own dispatch, which computes it or reads it through its view."""
    elements = prod(node.shape)
    if limits.software or not LARGE <= elements < LARGE_ON_GPU:
        return elements >= LARGE
    # these have no elements in another order
    while node.buffer is None and node.op.name in ("reshape", "detach"):
        node = node.inputs[0]
    return node.buffer is None and node.op.kind == "movement"  # else it would be copied first


def _copy_one(limits: Limits, index: int, rows: int, width: int, total: int, before: int) -> Launch:
    """Copy one input, computed where it is read; a thread copies four neighbours if all rows divide by 4."""
    wide = 4 if not (width % 4 or total % 4 or before % 4) else 1  # vec4s must not cross a row's end
    sizes: dict[str, int | float] = {"size": rows * width // wide, "width": width // wide}
    sizes |= {"whole": total // wide, "before": before // wide}
    threads = GROUP if limits.software else 2 * GROUP
    groups = -(-rows * width // wide // threads)
    workgroup = (threads, 1, 1)
    return Launch(
        "map/concat_part.wgsl",
        (),
        groups,
        sizes,
        workgroup=workgroup,
        traced=index,
        width=wide,
        fours=wide == 4,
    )


def _copy_several(widths: list[int], index: int, rows: int, total: int, before: int) -> Launch:
    """Copy several contiguous inputs."""
    sizes: dict[str, int | float] = {f"width{i}": w for i, w in enumerate(widths)}
    sizes |= {f"end{i}": sum(widths[: i + 1]) for i in range(len(widths))}
    sizes |= {"size": rows * sum(widths), "width": sum(widths), "whole": total, "before": before}
    reads = tuple(range(index, index + len(widths)))
    return Launch("map/concat.wgsl", reads, -(-rows * sum(widths) // GROUP), sizes, {"count": len(widths)})


def _cat_shape(*shapes: Shape, dim: int) -> Shape:
    return (*shapes[0][:dim], sum(s[dim] for s in shapes), *shapes[0][dim + 1 :])


def _cat_dtype(*dtypes: dt.DType, dim: int) -> dt.DType:
    return dtypes[0]


def _cat_reference(xp: Any, *arrays: Any, dim: int) -> Any:
    return xp.concatenate(arrays, axis=dim)


def _cat_grad(g: Tensor, y: Tensor, *tensors: Tensor, dim: int) -> list[Tensor]:
    return _pieces(g, dim, [t.shape[dim] for t in tensors])


def _cuts(x: Tensor, dim: int) -> tuple[int, int]:
    """The normalised dim, and its size."""
    if not x.ndim:
        raise IndexError("a 0-d tensor has no dim to split")
    d = normal_dim(dim, x.ndim)
    return d, x.shape[d]


def _pieces(x: Tensor, dim: int, sizes: Sequence[int]) -> list[Tensor]:
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [x.narrow(dim, a, n) for a, n in zip(starts, sizes, strict=True)]


@composed
def split(input: Tensor, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of split_size (the last may be smaller), or of the sizes listed. [..., n, ...] -> tuple

    Raises ValueError if sizes do not add up, or split_size is below 1.
    """
    d, n = _cuts(input, dim)
    if isinstance(split_size, int):
        if split_size < 1 and n:
            raise ValueError(f"split_size={split_size} is not above 0")
        # an empty dim gives one empty piece
        sizes = [min(split_size, n - i) for i in range(0, n, max(split_size, 1))] or [n]
    else:
        sizes = list(split_size)
    if sum(sizes) != n or any(s < 0 for s in sizes):
        raise ValueError(f"sizes {sizes} do not add up to {n}")
    return tuple(_pieces(input, d, sizes))


@composed
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of equal size (the last may be smaller). [..., n, ...] -> tuple

    Raises ValueError if chunks is below 1.
    """
    if chunks < 1:
        raise ValueError(f"chunks={chunks} is not above 0")
    _, n = _cuts(input, dim)
    return input.split(-(-n // chunks), dim) if n else (input,) * chunks


@composed
def tensor_split(
    input: Tensor, indices_or_sections: int | Sequence[int] | Tensor, dim: int = 0
) -> tuple[Tensor, ...]:
    """Split into this many pieces, the first ones larger by one if needed, or before each index. [n] -> tuple

    indices_or_sections: how many parts, or the places of the cuts
    Raises ValueError if there is less than 1 section.
    """
    d, n = _cuts(input, dim)
    k: Any = indices_or_sections
    if isinstance(k, int):
        if k < 1:
            raise ValueError(f"{k} sections: use 1 or more")
        # the first n % k pieces are larger by one
        return tuple(_pieces(input, d, [n // k + (i < n % k) for i in range(k)]))
    # Negative cuts count from the end, and all are clamped to the dim, as slices are.
    cuts = [min(max(i + n if i < 0 else i, 0), n) for i in k]
    return tuple(input.narrow(d, a, max(b - a, 0)) for a, b in zip([0, *cuts], [*cuts, n], strict=True))


@composed
def hsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """tensor_split along dim 1, or along the only dim.

    indices_or_sections: how many parts, or the places of the cuts
    Raises ValueError if dims are missing, or the sections do not divide the dim.
    """
    return _even_split(input, indices_or_sections, 0 if input.ndim == 1 else 1)


@composed
def vsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """tensor_split along dim 0 of 2 or more.

    indices_or_sections: how many parts, or the places of the cuts
    Raises ValueError if dims are missing, or the sections do not divide the dim.
    """
    return _even_split(input, indices_or_sections, 0, 2)


@composed
def dsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """tensor_split along dim 2.

    indices_or_sections: how many parts, or the places of the cuts
    Raises ValueError if dims are missing, or the sections do not divide the dim.
    """
    return _even_split(input, indices_or_sections, 2)


@composed
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along a dim, without it. [..., n, ...] -> n times [..., ...]

    Raises IndexError if the input is 0-d.
    """
    d, n = _cuts(input, dim)
    return tuple(input.select(d, i) for i in range(n))


@composed
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Every element of input times other, as blocks. [a, b], [c, d] -> [a * c, b * d]"""
    rank = max(input.ndim, other.ndim)
    a, b = ((1,) * (rank - t.ndim) + t.shape for t in (input, other))
    # Each dim of the result is a dim of input, then one of other: [a1, 1, a2, 1] * [1, c1, 1, c2].
    x = input.reshape(*(n for s in a for n in (s, 1)))
    y = other.reshape(*(n for s in b for n in (1, s)))
    return (x * y).reshape(*(m * n for m, n in zip(a, b, strict=True)))


class Join(Family):
    _cat = Op(
        "opaque",
        xp=_cat_reference,
        grad=_cat_grad,
        shape=_cat_shape,
        dtype=_cat_dtype,
        doc="Tensors of one dtype, none empty, one after another along a dim.",
        launch=_cat_launch,
        dtypes="fiubc",
    )


def _even_split(x: Tensor, sections: int | Sequence[int], dim: int, least: int = 0) -> tuple[Tensor, ...]:
    if x.ndim <= dim or x.ndim < max(least, 1):
        raise ValueError(f"rank {x.ndim} is too low: use {max(dim + 1, least)} or more")
    if isinstance(sections, int) and (sections < 1 or x.shape[dim] % sections):
        raise ValueError(f"{sections} sections do not divide size {x.shape[dim]} of dim {dim}")
    return x.tensor_split(sections, dim)


@composed
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors one after another along a dim. [..., n, ...], [..., m, ...] -> [..., n + m, ...]

    Raises ValueError if no tensor is given, a tensor is 0-d, or shapes differ outside the dim.
    """
    tensors = list(tensors)
    if not tensors:
        raise ValueError("needs at least one tensor")
    for i, t in enumerate(tensors):
        if not is_tensor(t):
            raise TypeError(f"tensors[{i}] is a {type(t).__name__}: use fb.tensor(...)")
    if any(t.ndim == 0 for t in tensors):
        raise ValueError("0-d tensors have no dim to be joined along: use stack")
    dtype = dt.promote(*(t.dtype for t in tensors))
    empty = [t for t in tensors if 0 in t.shape]
    tensors = [t for t in tensors if t.shape != (0,)] or tensors[:1]  # PyTorch's: [0] joins anything
    d = normal_dim(dim, tensors[0].ndim)
    for t in tensors[1:]:
        if t.ndim != tensors[0].ndim or any(
            e != d and n != m for e, (n, m) in enumerate(zip(t.shape, tensors[0].shape, strict=True))
        ):
            raise ValueError(f"shapes {list(tensors[0].shape)} and {list(t.shape)} differ outside dim {d}")
    parts = [t.to(dtype) for t in tensors if t.shape[d]]  # empty ones add nothing
    if len(parts) < 2:
        return depend_on(parts[0] if parts else tensors[0].to(dtype), *empty)
    if len(parts) <= FEW:
        return depend_on(_chain(parts, d), *empty)
    cat_node: Any = Join._cat  # an op
    return depend_on(type(parts[0])(add_node(cat_node, tuple(t.node for t in parts), {"dim": d})), *empty)


def _chain(parts: list[Tensor], d: int) -> Tensor:
    """Each part padded to the full size and selected at its position: views, which fuse with producers."""
    total, offset = sum(t.shape[d] for t in parts), 0
    out: Any = None
    for t in parts:
        n = t.shape[d]
        before = tuple(offset * (e == d) for e in range(t.ndim))
        after = tuple((total - offset - n) * (e == d) for e in range(t.ndim))
        offset += n
        padded = t._pad(before, after)
        # The mask, padded with false, is true where a part has its elements.
        out = padded if out is None else choose(_inside_mask(t, before, after), padded, out)
    return out


def _inside_mask(t: Tensor, before: tuple[int, ...], after: tuple[int, ...]) -> Tensor:
    return type(t).full(t.shape, True, device=t.device)._pad(before, after)


@composed
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of equal shape along a new dim. [a, b] * n -> [n, a, b]

    Raises ValueError if no tensor is given, or shapes differ.
    """
    tensors = list(tensors)
    if not tensors:
        raise ValueError("needs at least one tensor")
    for t in tensors[1:]:
        if t.shape != tensors[0].shape:
            raise ValueError(f"shapes {list(tensors[0].shape)} and {list(t.shape)} differ")
    d = normal_dim(dim, tensors[0].ndim + 1)
    return cat([t.unsqueeze(d) for t in tensors], d)


def _at_least(rank: int) -> Callable[..., Any]:
    """atleast_1d, _2d or _3d: one tensor gives a tensor, several or a list give a tuple."""

    def add_dims(*tensors: Any) -> Any:
        is_list = len(tensors) == 1 and isinstance(tensors[0], list | tuple)
        inputs = cast("Sequence[Tensor]", tensors[0] if is_list else tensors)
        out: list[Tensor] = []
        for t in inputs:
            while t.ndim < rank:
                # As NumPy and PyTorch: a vector becomes [1, n, 1], a matrix [n, m, 1].
                t = t.unsqueeze(2 if t.ndim == 2 else 0)
            out.append(t)
        return out[0] if len(tensors) == 1 and not is_list else tuple(out)

    add_dims.__name__ = f"atleast_{rank}d"
    add_dims.__doc__ = f"Dims of size 1 added to tensors of less than {rank} dims; several give a tuple."
    return composed(add_dims)


atleast_1d, atleast_2d, atleast_3d = (_at_least(rank) for rank in (1, 2, 3))


@composed
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors joined along dim 1; vectors along dim 0. [a, n], [a, m] -> [a, n + m]

    Raises ValueError if no tensor is given, or shapes differ outside the dim.
    """
    tensors = list(atleast_1d(list(tensors)))
    return cat(tensors, 0 if tensors and tensors[0].ndim == 1 else 1)


@composed
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors joined as rows, along dim 0. [n, a], [m, a] -> [n + m, a]

    Raises ValueError if no tensor is given, or shapes differ outside the dim.
    """
    return cat(atleast_2d(list(tensors)), 0)


@composed
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors joined along dim 2. [a, b, n], [a, b, m] -> [a, b, n + m]

    Raises ValueError if no tensor is given, or shapes differ outside the dim.
    """
    return cat(atleast_3d(list(tensors)), 2)


@composed
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Vectors and matrices joined as columns. [a], [a, m] -> [a, 1 + m]"""
    return hstack([t if t.ndim > 1 else t.reshape(-1, 1) for t in tensors])


@composed
def block_diag(*tensors: Sequence[Tensor]) -> Tensor:
    """Matrices along a diagonal, zeros elsewhere. [a, b], [c, d] -> [a + c, b + d]

    Raises ValueError if a tensor has more than 2 dims.
    """
    blocks = atleast_2d(list(tensors))
    if not blocks or any(b.ndim != 2 for b in blocks):
        raise ValueError("needs matrices, vectors or 0-d tensors")
    total, offset = sum(b.shape[1] for b in blocks), 0
    rows: list[Tensor] = []
    for b in blocks:
        # Zeros before and after each block's columns.
        rows.append(b._pad((0, offset), (0, total - offset - b.shape[1])))
        offset += b.shape[1]
    return cat(rows, 0)


@composed
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Every tensor expanded to the shape that all broadcast to; no copies. -> tuple

    Raises ValueError if shapes do not broadcast.
    """
    shape = broadcast(*(t.shape for t in tensors))
    return tuple(t.expand(*shape) for t in tensors)


unsafe_chunk, unsafe_split = chunk, split
