"""Rearrangements of elements, composed of views: rolls, repeats, windows, padding and others."""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..core import dtype as dt
from ..core.declare import composed
from ..core.node import describe, is_tensor
from ..core.shape import normal_dim, sizes_of
from ..core.sizes import integers
from .elementwise import choose
from .index.indices import slices, valid
from .join import cat
from .movement import transpose

if TYPE_CHECKING:
    from ..tensor import Tensor


def _dims(dim: int | Sequence[int]) -> tuple[int, ...]:
    return (dim,) if isinstance(dim, int) else tuple(dim)


swapdims = transpose


@composed
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The slice at one index of a dim, without it. [..., n, ...] -> [..., ...]

    Raises IndexError if the index is out of range.
    """
    d = normal_dim(dim, input.ndim)
    n = input.shape[d] if input.ndim else 0
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of range for dim {d} of size {n}")
    return input.narrow(d, index % n, 1).reshape(*input.shape[:d], *input.shape[d + 1 :])


@composed
def broadcast_to(input: Tensor, shape: Sequence[int]) -> Tensor:
    """The tensor expanded to a shape, without copying. [n, 1], (n, m) -> [n, m]"""
    return input.expand(*shape)


@composed
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """The tensor expanded to the shape of another."""
    return input.expand(*other.shape)


@composed
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """The same elements in order, in the shape of another."""
    return input.reshape(*other.shape)


reshape_as = view_as


@composed
def ravel(input: Tensor) -> Tensor:
    """The same elements in order, in one dim; a view if they are stored in order. [...] -> [n]"""
    return input.contiguous().reshape(input.numel())


@composed
def movedim(input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """One or several dims moved to other positions; the others keep their order.

    source: the dims to move
    destination: their new positions
    Raises ValueError if source and destination are not as many dims, or a dim is named twice.
    """
    a, b = _dims(source), _dims(destination)
    a, b = ([normal_dim(d, input.ndim) for d in dims] for dims in (a, b))
    if len(a) != len(b) or len(set(a)) != len(a) or len(set(b)) != len(b):
        raise ValueError(f"source {a} and destination {b} must name equally many dims, each once")
    # Moved dims are at their destinations, the others fill up in order.
    rest = iter(d for d in range(input.ndim) if d not in a)
    return input.permute(*(a[b.index(d)] if d in b else next(rest) for d in range(input.ndim)))


moveaxis = movedim


@composed
def fliplr(input: Tensor) -> Tensor:
    """Dim 1 in reverse order. [n, m, ...] -> [n, m, ...]

    Raises ValueError if the input has fewer than 2 dims.
    """
    if input.ndim < 2:
        raise ValueError(f"rank {input.ndim} has no columns: pass 2 or more dims")
    return input.flip(1)


@composed
def flipud(input: Tensor) -> Tensor:
    """Dim 0 in reverse order. [n, ...] -> [n, ...]

    Raises ValueError if the input is 0-d.
    """
    if input.ndim < 1:
        raise ValueError("a 0-d tensor has no rows: pass 1 or more dims")
    return input.flip(0)


@composed
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """k quarter turns from the first dim towards the second. [n, m] -> [m, n]

    Raises ValueError if the dims are not two different ones.
    """
    a, b = (normal_dim(d, input.ndim) for d in dims)
    if a == b or input.ndim < 2:
        raise ValueError(f"dims={list(dims)} must be two different dims")
    turns = {0: lambda: input, 2: lambda: input.flip((a, b)), 1: lambda: input.flip(b).transpose(a, b)}
    return turns.get(k % 4, lambda: input.flip(a).transpose(a, b))()


@composed
def roll(input: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None) -> Tensor:
    """Elements shifted along dims, those past the end moved to the front; without dims the input is
    flattened.

    shifts: how far, one number for each dim
    Raises ValueError if shifts and dims differ in number.
    """
    if dims is None:
        return input.reshape(-1).roll(shifts, 0).reshape(*input.shape)
    shifts, dims = _dims(shifts), _dims(dims)
    if len(shifts) != len(dims):
        raise ValueError(f"{len(shifts)} shifts for {len(dims)} dims: pass one for each")
    if dims and not input.ndim:
        raise IndexError(f"dims={tuple(dims)}: a 0-d tensor has no dim: leave dims out")
    x = input
    for shift, dim in zip(shifts, dims, strict=True):
        d = normal_dim(dim, x.ndim)
        n = x.shape[d] if x.ndim else 0
        by = shift % n if n else 0  # a negative shift goes to lower indices
        x = cat([x.narrow(d, n - by, by), x.narrow(d, 0, n - by)], d) if by else x
    return x


@composed
def repeat(input: Tensor, *repeats: int | Sequence[int]) -> Tensor:
    """Copies of the tensor along each dim. [n, m], (2, 3) -> [2 * n, 3 * m]

    repeats: the number of copies for each dim
    Raises ValueError if repeats has fewer entries than the input has dims.
    """
    times = sizes_of(repeats)
    if len(times) < input.ndim or any(r < 0 for r in times):
        raise ValueError(
            f"repeats={list(times)} must have a count of at least 0 for each of {input.ndim} dims, or more"
        )
    shape = (1,) * (len(times) - input.ndim) + input.shape
    joined = tuple(r * n for r, n in zip(times, shape, strict=True))
    # [n, m] to [1, n, 1, m], expanded to [r, n, s, m], and joined.
    x = input.reshape(*(n for s in shape for n in (1, s)))
    x = x.expand(*(n for pair in zip(times, shape, strict=True) for n in pair))
    return x.reshape(*joined)


@composed
def clone(input: Tensor) -> Tensor:
    """A copy: assigning to one tensor does not change the other. [...] -> [...]"""
    larger = (1, *input.shape)  # a reshape to the same shape would add no node
    return input.reshape(larger).reshape(input.shape)


@composed
def sum_to_size(input: Tensor, *size: int | Sequence[int]) -> Tensor:
    """The sum over the dims that broadcasting from `size` repeats. [n, m], (1, m) -> [1, m]

    Raises ValueError if the size does not broadcast to the shape.
    """
    sizes = sizes_of(size)
    lead = input.ndim - len(sizes)
    if lead < 0 or any(m not in (1, n) for m, n in zip(sizes, input.shape[lead:], strict=True)):
        raise ValueError(f"{list(sizes)} does not broadcast to {list(input.shape)}")
    dims = [d for d in range(input.ndim) if d < lead or sizes[d - lead] != input.shape[d]]
    if not sizes:
        return input.sum()
    return input.sum(dims, keepdim=True).reshape(sizes) if dims else input


@composed
def tile(input: Tensor, *dims: int | Sequence[int]) -> Tensor:
    """repeat whose counts for leading dims may be left out. [n, m], (2,) -> [n, 2 * m]

    Raises TypeError if a size is not an integer.
    """
    times = sizes_of(dims)
    return input.repeat(*(1,) * (input.ndim - len(times)), *times)


@composed
def repeat_interleave(
    input: Tensor, repeats: int | Tensor | None = None, dim: int | None = None, output_size: int | None = None
) -> Tensor:
    """Each element repeated: by one count, a list or a tensor of counts. Without repeats the input has the
    counts, and its indices are repeated.

    Reads the sum of counts in a tensor, unless output_size is given.
    [..., n, ...] -> [..., sum of the counts, ...]

    repeats: the number of copies of each element
    Raises ValueError if counts are not one for each element, or below 0.
    """
    if repeats is None:
        return input.arange(input.shape[0], device=input.device).repeat_interleave(input, 0, output_size)
    x = input.reshape(-1) if dim is None else input
    d = normal_dim(0 if dim is None else dim, x.ndim)
    n = x.shape[d]
    if not is_tensor(repeats):
        repeats = integers(repeats, "repeats")
    elif repeats.dtype.kind not in "iu":
        raise TypeError(f"repeats must be integers, not {describe(repeats)}: use .long()")
    if isinstance(repeats, int):
        if repeats < 0:
            raise ValueError(f"repeats={repeats} is below 0: pass 0 or more")
        y = x.unsqueeze(d + 1).expand(*x.shape[: d + 1], repeats, *x.shape[d + 1 :])
        return y.reshape(*x.shape[:d], n * repeats, *x.shape[d + 1 :])
    if not is_tensor(repeats):
        return slices(x, x.new_tensor(_repeat_on_host(repeats, n), dtype=dt.int32), dim=d)
    counts = repeats.reshape(-1)
    counts = valid(counts, counts < 0, "repeat_interleave")
    if counts.shape[0] == 1:
        counts = counts.expand(n)
    if counts.shape[0] != n:
        raise ValueError(f"{counts.shape[0]} counts for {n} elements: pass one for each")
    size = int(counts.sum()) if output_size is None else output_size
    return slices(x, _spans(counts, size), dim=d)


@composed
def tensor_unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows sliding over a dim, as a new last dim. [.., n, ..] -> [.., positions, .., size]

    dimension: the dim with the windows
    step: the distance between windows
    Raises ValueError if size and step do not fit the dim.
    """
    d = normal_dim(dimension, input.ndim)
    if not input.ndim:
        return input.reshape(1).unfold(0, size, step)[0]
    if not 0 <= size <= input.shape[d] or step < 1:
        raise ValueError(f"size {size} and step {step} do not fit in dim {d} of size {input.shape[d]}")
    if size == 0:  # windows of no elements begin at 0, step, ... up to the end
        shape = (*input.shape[:d], input.shape[d] // step + 1, *input.shape[d + 1 :], 0)
        return type(input).zeros(shape, dtype=input.dtype, device=input.device)
    return input.movedim(d, -1)._windows(((size, step, 1, 0, 0),)).movedim(-2, d)


unfold = tensor_unfold


@composed
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """The input padded by (left, right) of each dim, the last dim first; mode constant, reflect, replicate or
    circular.

    Negative amounts cut. [..., n] -> [..., left + n + right]

    pad: the number of elements at both ends, the last dim first
    value: the padding of mode "constant"
    Raises ValueError if there are too many pairs, more is cut than the dim has, or the mode does not accept a
        value.
    """
    pairs = [tuple(pad[i : i + 2]) for i in range(0, len(pad), 2)]
    if len(pad) % 2 or len(pairs) > input.ndim:
        raise ValueError(f"padding needs pairs for at most {input.ndim} dims")
    pairs = [(0, 0)] * (input.ndim - len(pairs)) + pairs[::-1]
    for d, (before, after) in enumerate(pairs):
        if before + input.shape[d] + after < 0:
            raise ValueError(f"{before} and {after} crop more than dim {d} of size {input.shape[d]} has")
    if mode == "constant":
        return _pad_constant(input, pairs, value)
    if mode not in EDGES or value:
        raise ValueError(
            f"mode={mode!r} with value={value}: use 'constant' with a value, or 'reflect',"
            " 'replicate' or 'circular'"
        )
    x = input
    for d, (before, after) in enumerate(pairs):
        x = _pad_dim(x, d, before, after, mode)
    return x


def _pad_constant(x: Tensor, pairs: Sequence[tuple[int, ...]], value: float | None) -> Tensor:
    before, after = (tuple(p[i] for p in pairs) for i in (0, 1))
    out = x._pad(before, after)
    if not value:  # None and 0: the pad itself
        return out
    # A mask, padded with false, selects the elements; elsewhere the value.
    inside = type(x).full(x.shape, True, device=x.device)
    return choose(inside._pad(before, after), out, value).to(x.dtype)


def _pad_dim(x: Tensor, d: int, before: int, after: int, mode: str) -> Tensor:
    """One dim with both ends padded by views of it."""
    # Negative padding cuts first.
    cut = [min(b, 0) for b in (before, after)]
    if (
        mode == "replicate" and x.shape[d] and x.shape[d] + sum(cut) <= 0
    ):  # all elements are cut: the last one is repeated
        end = x.narrow(d, x.shape[d] - 1 if before < 0 else 0, 1)
        return end.expand(*(before + n + after if e == d else n for e, n in enumerate(x.shape)))
    if any(cut):
        x = x.narrow(d, -cut[0], x.shape[d] + sum(cut))
    before, after, n = max(before, 0), max(after, 0), x.shape[d]
    most = EDGES[mode](n)  # -1: any
    if max(before, after) > most >= 0 or (n == 0 and before + after):
        raise ValueError(f"mode={mode!r} can pad dim {d} of size {n} by at most {max(most, 0) if n else 0}")
    pad_ends = {"circular": _wrap_ends, "reflect": _mirror_ends}.get(mode, _repeat_ends)
    if not before and not after:
        return x
    first, last = pad_ends(x, d, before, after)
    return cat([first, x, last], d)


def _wrap_ends(x: Tensor, d: int, before: int, after: int) -> tuple[Tensor, Tensor]:
    return x.narrow(d, x.shape[d] - before, before), x.narrow(d, 0, after)


def _mirror_ends(x: Tensor, d: int, before: int, after: int) -> tuple[Tensor, Tensor]:
    n = x.shape[d]
    # The element at the end itself isn't repeated.
    return x.narrow(d, min(1, n), before).flip(d), x.narrow(d, max(n - 1 - after, 0), after).flip(d)


def _repeat_ends(x: Tensor, d: int, before: int, after: int) -> tuple[Tensor, Tensor]:
    def repeat(place: int, count: int) -> Tensor:
        return x.narrow(d, place, 1).expand(*x.shape[:d], count, *x.shape[d + 1 :])

    return repeat(0, before), repeat(x.shape[d] - 1, after)


# by mode: how many elements each end of a dim of size n can be padded by; -1: any number
EDGES: dict[str, Callable[[int], int]] = {
    "reflect": lambda n: max(n - 1, 0),
    "replicate": lambda n: -1,
    "edge": lambda n: -1,
    "circular": lambda n: n,
}


def _repeat_on_host(repeats: Any, n: int) -> list[int]:
    """The index of the element for each place of the result, on the host."""
    counts = list(repeats)
    if any(c < 0 for c in counts) or len(counts) not in (1, n):  # a single count is for all
        raise ValueError(f"repeats must be {n} counts of at least 0")
    return [i for i, c in enumerate(counts * n if len(counts) == 1 else counts) for _ in range(c)]


def _spans(repeats: Tensor, size: int) -> Tensor:
    """The index of the element for each of `size` places: the number of elements that end at or before it."""
    before = repeats.cumsum(0).reshape(1, -1)
    places = type(repeats).arange(size, dtype=dt.int32, device=repeats.device).reshape(-1, 1)
    return (before <= places).sum(1)
