"""Operators of shapes: reshapes, slices, splits and joins."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ...core.tree import is_sequence
from ...functions import arange, cat, full, where
from ...tensor import Tensor
from ..values import first_number, host
from .table import operator


@operator("Shape", arrays=True)
def shape(x: Any, *, start: int = 0, end: int | None = None) -> Tensor:
    return host(list(x.shape[start:end]))


@operator("Size", arrays=True)
def size(x: Any) -> Tensor:
    return host(prod(x.shape))


@operator("Identity", arrays=True, moves=False, optional=True)
def identity(x: Any) -> Any:
    return x


@operator("Reshape", places=True)
def reshape_by_attribute(x: Tensor, *, shape: Any) -> Tensor:
    return reshape(x, shape)


@operator("Reshape", since=5, numbers="shape", places=True)
def reshape(x: Tensor, shape: Any, *, allowzero: int = 0) -> Tensor:
    if not allowzero:
        if any(n == 0 and d >= x.ndim for d, n in enumerate(shape)):
            raise ValueError(f"shape={list(shape)}: 0 keeps a size, and the input has {x.ndim} dims")
        shape = [x.shape[d] if n == 0 else n for d, n in enumerate(shape)]
    # With a 0, the size for -1 is undetermined; NumPy and ONNX Runtime take 0.
    if -1 in shape and 0 in shape:
        rest = prod(n for n in shape if n > 0)
        shape = [0 if n == -1 and rest else n for n in shape]
    return x.reshape(tuple(shape))


@operator("Flatten", places=True)
def flatten(x: Tensor, *, axis: int = 1) -> Tensor:
    axis += x.ndim if axis < 0 else 0
    return x.reshape(prod(x.shape[:axis]), prod(x.shape[axis:]))


@operator("Squeeze", places=True)
def squeeze_by_attribute(x: Tensor, *, axes: Any = None) -> Tensor:
    return squeeze(x, axes)


@operator("Squeeze", since=13, numbers="axes", places=True)
def squeeze(x: Tensor, axes: Any = None) -> Tensor:
    removed = (
        [d % max(1, x.ndim) for d in axes]
        if axes is not None
        else [d for d, n in enumerate(x.shape) if n == 1]
    )
    if any(x.shape[d] != 1 for d in removed):
        raise ValueError(f"axes={removed} of shape {list(x.shape)}: only dims of size 1 can be removed")
    return x.reshape(tuple(n for d, n in enumerate(x.shape) if d not in removed))


@operator("Unsqueeze", places=True)
def unsqueeze_by_attribute(x: Tensor, *, axes: Any) -> Tensor:
    return unsqueeze(x, axes)


@operator("Unsqueeze", since=13, numbers="axes", places=True)
def unsqueeze(x: Tensor, axes: Any) -> Tensor:
    dims: list[int] = list(axes) if is_sequence(axes) else [axes]
    ndim = x.ndim + len(dims)
    # Axes count in the result, whose rank is x.ndim + len(axes).
    new = {d + ndim if d < 0 else d for d in dims}
    if len(new) < len(dims) or not all(0 <= d < ndim for d in new):
        raise ValueError(f"axes={dims}: must be {len(dims)} different dims of {ndim}")
    sizes = iter(x.shape)
    return x.reshape(tuple(1 if d in new else next(sizes) for d in range(ndim)))


@operator("Transpose", places=True)
def transpose(x: Tensor, *, perm: Any = None) -> Tensor:
    order = [*reversed(range(x.ndim))] if perm is None else list(perm)
    if not x.ndim or sorted(order) != [*range(x.ndim)]:
        return x.permute(*order) if x.ndim else x
    # A permutation that only moves dims of size 1 keeps the order of elements.
    moved = [d for d in order if x.shape[d] != 1]
    is_in_order = moved == sorted(moved)  # a reshape fuses with the kernel before it, a permutation does not
    return x.reshape(*(x.shape[d] for d in order)) if is_in_order else x.permute(*order)


@operator("Expand", numbers="shape", places=True)
def expand(x: Tensor, shape: Any) -> Tensor:
    # Broadcasts in both directions, unlike torch.expand: a 1 in `shape` keeps x's size.
    ndim = max(x.ndim, len(shape))
    own, target = [1] * (ndim - x.ndim) + list(x.shape), [1] * (ndim - len(shape)) + list(shape)
    both = [b if a == 1 else a for a, b in zip(own, target)]
    if any(b not in (1, n) for b, n in zip(target, both)):
        raise ValueError(f"{list(x.shape)} to {list(shape)}: sizes must be equal or 1")
    return x.broadcast_to(tuple(both))


@operator("Tile", since=6, numbers="repeats", places=True)
def tile(x: Tensor, repeats: Any) -> Tensor:
    return x.repeat(*repeats) if repeats else x


@operator("Tile", numbers=("tiles", "axis"), places=True)
def tile_axis(x: Tensor, tiles: Any, axis: Any) -> Tensor:
    counts = [1] * x.ndim
    counts[first_number(axis)] = first_number(tiles)
    return x.repeat(*counts)


@operator("Concat", places=True)
def concat(*xs: Tensor, axis: int = 1) -> Tensor:
    return cat(list(xs), axis)


@operator("Split", places=True)
def split_by_attribute(
    x: Tensor, sizes: Any = None, *, axis: int = 0, split: Any = None, node: Any
) -> tuple[Any, ...]:
    return pieces(x, split, axis, len(node.outputs))


@operator("Split", since=13, numbers="split", places=True)
def split(x: Tensor, split: Any = None, *, axis: int = 0, num_outputs: int = 0, node: Any) -> tuple[Any, ...]:
    return pieces(x, split, axis, num_outputs or len(node.outputs))


MOST_PIECES = 1000  # the most pieces, of which those beyond the axis are empty


def pieces(x: Tensor, sizes: Any, axis: int, count: int) -> tuple[Any, ...]:
    """Split an axis into pieces of equal size (the last may be smaller) unless sizes are given."""
    n = x.shape[axis]
    if sizes is None and count > max(n, MOST_PIECES):
        raise ValueError(f"num_outputs={count:,} of axis {axis}: its size is {n}")
    if sizes is None:
        # the spec: pieces of ceil(n / count), the last one smaller
        most = -(-n // count)
        sizes = [max(0, min(most, n - k * most)) for k in range(count)]
    if sum(sizes) != n or min(sizes) < 0:
        raise ValueError(f"split={list(sizes)} of axis {axis}: its size is {n}")
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    return tuple(x.narrow(axis, start, size) for start, size in zip(starts, sizes))


@operator("Slice", places=True)
def slice_by_attributes(x: Tensor, *, starts: Any, ends: Any, axes: Any = None) -> Tensor:
    return slice_of(x, starts, ends, axes)


@operator("Slice", since=10, numbers=("starts", "ends", "axes", "steps"), places=True)
def slice_of(x: Tensor, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Tensor:
    key: list[Any] = [slice(None)] * x.ndim
    dims = list[int](range(len(starts)) if axes is None else axes)
    each_step = list[int](steps or [1] * len(starts))
    for axis, start, end, step in zip(dims, starts, ends, each_step):
        if step == 0 or not -x.ndim <= axis < x.ndim:
            raise ValueError(
                f"axes={dims}, steps={steps}: the input has {x.ndim} dims, and steps must not be 0"
            )
        key[axis] = python_slice(start, end, step, x.shape[axis])
    return x[tuple(key)] if x.ndim else x


def python_slice(start: int, end: int, step: int, n: int) -> slice:
    """Return the Python slice that is equivalent to ONNX's numbers."""
    # Start and end are clamped, for negative steps to -1 to n - 1: an end of -1 then includes element 0.
    if step > 0:
        start, end = (min(max(v + n if v < 0 else v, 0), n) for v in (start, end))
        return slice(start, max(start, end), step)
    start = min(max(start + n if start < 0 else start, -1), n - 1)
    end = min(max(end + n if end < 0 else end, -1), n - 1)
    # A negative step reads from start down to end + 1; Python writes an end before element 0 as None.
    if start <= end:
        return slice(0, 0, 1)
    return slice(start, None if end < 0 else end, step)


MODES = {"reflect", "edge", "wrap"}


@operator("Pad")
def pad_by_attributes(
    x: Tensor, *, pads: Any = None, paddings: Any = None, value: float = 0.0, mode: str = "constant"
):
    return pad_or_crop(x, pads or paddings, mode, value)


@operator("Pad", since=11, numbers=("pads", "axes"))
def pad(x: Tensor, pads: Any, value: Any = None, axes: Any = None, *, mode: str = "constant") -> Tensor:
    if axes is not None:
        # pads has the begins of the listed axes, then the ends
        all_pads = [0] * (2 * x.ndim)
        for k, axis in enumerate(axes):
            axis += x.ndim if axis < 0 else 0
            all_pads[axis], all_pads[axis + x.ndim] = pads[k], pads[k + len(axes)]
        pads = all_pads
    return pad_or_crop(x, pads, mode, 0 if value is None else value)


def pad_or_crop(x: Tensor, pads: Sequence[int], mode: str, value: Any) -> Tensor:
    """Pad before and after each dim; negative counts crop."""
    if len(pads) != 2 * x.ndim or mode not in MODES | {"constant"}:
        raise ValueError(
            f"pads={list(pads)}, mode={mode!r}: pads needs two numbers for each dim, and mode"
            " must be constant, edge, reflect or wrap"
        )
    if mode == "constant":
        return _with_constant(x, pads, value)
    if max(map(abs, pads), default=0) > 1 << 24:
        raise ValueError(f"pads={list(pads)}: up to {1 << 24:,} with mode={mode!r}")
    for d, (before, after) in enumerate(zip(pads[: x.ndim], pads[x.ndim :])):
        if before or after:
            places = [SOURCES[mode](i, x.shape[d]) for i in range(-before, x.shape[d] + after)]
            x = x.index_select(d, host(places).to(x.device))
    return x


def _reflect(i: int, n: int) -> int:
    # The reflection has the period 2 (n - 1), without repeating the ends; a dim of 1 repeats itself.
    span = max(1, 2 * (n - 1))
    i %= span
    return i if i < n else span - i


# mode: the source index of element i, which may be outside 0 to n
SOURCES: dict[str, Callable[[int, int], int]] = {
    "edge": lambda i, n: min(max(i, 0), n - 1),
    "wrap": lambda i, n: i % n,
    "reflect": _reflect,
}


def _with_constant(x: Tensor, pads: Any, value: Any) -> Tensor:
    pairs = list(zip(pads[: x.ndim], pads[x.ndim :]))
    cut = tuple(slice(max(0, -b), n - max(0, -a)) for n, (b, a) in zip(x.shape, pairs))
    x = x[cut] if any(v < 0 for pair in pairs for v in pair) else x
    widths = [max(0, v) for pair in reversed(pairs) for v in pair]
    if not any(widths):
        return x
    if not isinstance(value, Tensor):
        return x.pad(widths, "constant", value)
    # The fill value is computed on the device: select it by a padded mask, without a readback.
    inside = full(x.shape, True, dtype="bool", device=x.device).pad(widths, "constant", False)
    return where(inside, x.pad(widths, "constant", 0), value.reshape(()).to(x.dtype))


@operator("CenterCropPad", numbers="shape")
def center_crop_pad(x: Tensor, shape: Any, *, axes: Any = None) -> Tensor:
    pads = [0] * (2 * x.ndim)
    for axis, target_size in zip(range(x.ndim) if axes is None else axes, shape):
        axis %= x.ndim
        n = x.shape[axis]
        # floor for both: an odd element is cropped from, or added at, the end, as in the reference of ONNX.
        before = (n - target_size) // 2 if target_size < n else (target_size - n) // 2
        after = abs(target_size - n) - before
        sign = 1 if target_size > n else -1
        pads[axis], pads[axis + x.ndim] = sign * before, sign * after
    return pad_or_crop(x, pads, "constant", 0)


@operator("DepthToSpace", places=True)
def depth_to_space(x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    n, c, h, w = x.shape
    b = blocksize
    if mode == "DCR":
        # DCR: a channel's index is (row in block, column in block, depth); CRD: (depth, row, column).
        y = x.reshape(n, b, b, c // b**2, h, w).permute(0, 3, 4, 1, 5, 2)
    else:
        y = x.reshape(n, c // b**2, b, b, h, w).permute(0, 1, 4, 2, 5, 3)
    return y.reshape(n, c // b**2, h * b, w * b)


@operator("SpaceToDepth", places=True)
def space_to_depth(x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    n, c, h, w = x.shape
    b = blocksize
    y = x.reshape(n, c, h // b, b, w // b, b)
    y = y.permute(0, 3, 5, 1, 2, 4) if mode == "DCR" else y.permute(0, 1, 3, 5, 2, 4)
    return y.reshape(n, c * b * b, h // b, w // b)


@operator("ReverseSequence", places=True)
def reverse_sequence(x: Tensor, lengths: Tensor, *, batch_axis: int = 1, time_axis: int = 0) -> Tensor:
    """Return the first lengths[b] steps of each sequence b in reverse."""
    steps = arange(x.shape[time_axis], device=x.device).reshape(*_shape_at(x.ndim, time_axis))
    many = lengths.to(x.device).reshape(*_shape_at(x.ndim, batch_axis))
    # step k of a sequence of length l reads l - 1 - k; steps after the end stay where they are
    places = where(steps < many, many - 1 - steps, steps).broadcast_to(x.shape)
    return x.gather(time_axis, places)


def _shape_at(ndim: int, axis: int) -> list[int]:
    """Return a shape of -1 at an axis, 1 elsewhere."""
    return [-1 if d == axis % ndim else 1 for d in range(ndim)]
