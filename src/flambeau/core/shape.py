"""Shape rules and views: movement operations become index arithmetic over one contiguous buffer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from operator import index
from typing import Any, NamedTuple

from ..errors import IndexError, ValueError

Shape = tuple[int, ...]


def broadcast(*shapes: Shape) -> Shape:
    """The common shape of `shapes` by NumPy's rule; ValueError with the two sizes that disagree."""
    if len(shapes) == 2 and (shapes[0] == shapes[1] or not shapes[1]):  # nearly all, and ten times as fast
        return shapes[0]
    rank = max(map(len, shapes), default=0)
    out = [1] * rank
    for shape in shapes:
        for d, n in enumerate(shape, rank - len(shape)):
            if n != 1 and out[d] not in (1, n):
                raise ValueError(f"sizes {out[d]} and {n} of dim {d} do not broadcast")
            out[d] = n if out[d] == 1 else out[d]
    return tuple(out)


def normal_dim(dim: int, rank: int) -> int:
    """Turn a possibly negative dim into 0..rank-1; IndexError (as PyTorch's) out of range."""
    top = max(rank, 1)
    if not -top <= dim < top:
        raise IndexError(f"dim {dim} is out of range for rank {rank}: use {-top} to {top - 1}")
    return dim % top


def normal_dims(dim: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """A sorted tuple of dims from None (all dims), one dim or several; ValueError if one appears twice."""
    if dim is None:
        return tuple(range(rank))
    dims = sorted(normal_dim(d, rank) for d in ((dim,) if isinstance(dim, int) else dim))
    if any(a == b for a, b in pairwise(dims)):
        raise ValueError(f"dim {dim} names a dim twice")
    return tuple(dims) if rank else ()


def contiguous_strides(shape: Shape) -> tuple[int, ...]:
    strides: list[int] = []
    step = 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


class Affine(NamedTuple):
    """offset + sum(coordinate * stride): an element index, or the position that a bound tests."""

    strides: tuple[int, ...]
    offset: int


class Bound(NamedTuple):
    """The condition 0 <= position < size. Elements that fail it are padding (zero)."""

    position: Affine
    size: int


@dataclass(frozen=True)
class View:
    """Where the elements of a logical `shape` are in a buffer. Every movement op maps a View to a View."""

    shape: Shape
    index: Affine
    bounds: tuple[Bound, ...] = ()
    # the index, and the positions of the bounds
    affines: tuple[Affine, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        affines = (self.index, *[b.position for b in self.bounds]) if self.bounds else (self.index,)
        object.__setattr__(self, "affines", affines)

    @staticmethod
    def of(shape: Shape) -> "View":
        """The view of a contiguous buffer of that shape."""
        return View(shape, Affine(contiguous_strides(shape), 0))

    @property
    def is_contiguous(self) -> bool:
        if self.bounds or self.index.offset:
            return False
        dense = contiguous_strides(self.shape)
        return all(n == 1 or s == t for n, s, t in zip(self.shape, self.index.strides, dense, strict=True))

    def map(self, shape: Shape, f: Callable[[Affine], Affine]) -> "View":
        """Apply `f` to the index and to every bound's position. Drops bounds that can't fail."""
        bounds = (Bound(f(b.position), b.size) for b in self.bounds)
        return View(shape, f(self.index), tuple(b for b in bounds if not _always_holds(b, shape)))

    def reshape(self, shape: Shape) -> "View | None":
        """The same elements in another shape, or None if no strides describe it."""
        groups = _reshape_groups(self.shape, shape)
        if not all(_mergeable(a, self.shape, old) for old, _ in groups for a in self.affines):
            return None
        return self.map(shape, lambda a: _regroup(a, shape, groups))

    def permute(self, dims: tuple[int, ...]) -> "View":
        shape = tuple(self.shape[d] for d in dims)
        return self.map(shape, lambda a: Affine(tuple(a.strides[d] for d in dims), a.offset))

    def expand(self, shape: Shape) -> "View":
        lead = len(shape) - len(self.shape)

        def widen(a: Affine) -> Affine:
            is_kept = (
                0 if old == 1 and new != 1 else s
                for s, old, new in zip(a.strides, self.shape, shape[lead:], strict=True)
            )
            return Affine((0,) * lead + tuple(is_kept), a.offset)

        return self.map(shape, widen)

    def slice(self, starts: tuple[int, ...], steps: tuple[int, ...], shape: Shape) -> "View":
        """Element i of dim d is element starts[d] + i * steps[d] of the old dim (steps may be negative)."""

        def cut(a: Affine) -> Affine:
            moved = sum(s * o for s, o in zip(a.strides, starts, strict=True))
            return Affine(tuple(s * t for s, t in zip(a.strides, steps, strict=True)), a.offset + moved)

        return self.map(shape, cut)

    def pad(self, before: tuple[int, ...], after: tuple[int, ...]) -> "View":
        """Zeros around each dim; negative amounts cut."""
        shape = tuple(n + a + b for n, a, b in zip(self.shape, before, after, strict=True))
        rank = len(shape)

        def shift(a: Affine) -> Affine:
            return Affine(a.strides, a.offset - sum(s * b for s, b in zip(a.strides, before, strict=True)))

        moved = [Bound(shift(b.position), b.size) for b in self.bounds]
        # A bound for each dim that grew: outside of it are the zeros.
        for d in range(rank):
            if before[d] > 0 or after[d] > 0:
                moved.append(
                    Bound(Affine(tuple(int(e == d) for e in range(rank)), -before[d]), self.shape[d])
                )
        return View(shape, shift(self.index), tuple(b for b in moved if not _always_holds(b, shape)))

    def windows(self, spec: tuple["Window", ...]) -> "View":
        """Slide windows over the last len(spec) dims. [..., n] -> [..., positions, kernel]"""
        lead = len(self.shape) - len(spec)
        outs = tuple(w.positions(n) for w, n in zip(spec, self.shape[lead:], strict=True))

        # Tap t of window p reads position p * stride + t * dilation.
        def slide(a: Affine) -> Affine:
            lead_strides, tail = a.strides[:lead], a.strides[lead:]
            step = tuple(s * w.stride for s, w in zip(tail, spec, strict=True))
            tap = tuple(s * w.dilation for s, w in zip(tail, spec, strict=True))
            return Affine(lead_strides + step + tap, a.offset)

        padded = self.pad(
            (0,) * lead + tuple(w.before for w in spec), (0,) * lead + tuple(w.after for w in spec)
        )
        return padded.map(self.shape[:lead] + outs + tuple(w.kernel for w in spec), slide)


class Window(NamedTuple):
    """One sliding dim: kernel size, stride, dilation and the zeros on both sides."""

    kernel: int
    stride: int = 1
    dilation: int = 1
    before: int = 0
    after: int = 0

    def check(self) -> None:
        """ValueError for a kernel size, a stride or a dilation below 1."""
        if self.kernel < 1 or self.stride < 1 or self.dilation < 1:
            sizes = f"kernel size {self.kernel}, stride {self.stride} and dilation {self.dilation}"
            raise ValueError(f"{sizes} are not all above 0")

    def positions(self, n: int) -> int:
        """Count the positions of the window in a dim of size n; ValueError if a size is below 1."""
        self.check()
        return (n + self.before + self.after - self.dilation * (self.kernel - 1) - 1) // self.stride + 1


def _always_holds(b: Bound, shape: Shape) -> bool:
    """Whether the bound holds at every coordinate of `shape`, so that no test is needed."""
    if 0 in shape:
        return True
    extents = [s * (n - 1) for s, n in zip(b.position.strides, shape, strict=True)]
    low = b.position.offset + sum(e for e in extents if e < 0)
    high = b.position.offset + sum(e for e in extents if e > 0)
    return low >= 0 and high < b.size


# (old dims, new dims) with the same number of elements
Groups = list[tuple[tuple[int, ...], tuple[int, ...]]]


def _reshape_groups(old: Shape, new: Shape) -> Groups:
    """Pair runs of old dims with runs of new dims of equal product. Ignores dims of size 1."""
    if 0 in old:
        return []
    i_dims = [d for d, n in enumerate(old) if n != 1]
    j_dims = [d for d, n in enumerate(new) if n != 1]
    groups: Groups = []
    i = j = 0
    while i < len(i_dims) and j < len(j_dims):
        a, b = [i_dims[i]], [j_dims[j]]
        p, q = old[i_dims[i]], new[j_dims[j]]
        # The run with the smaller product grows. Both end together, since the shapes have equally many
        # elements.
        while p != q:
            if p < q:
                i += 1
                a.append(i_dims[i])
                p *= old[i_dims[i]]
            else:
                j += 1
                b.append(j_dims[j])
                q *= new[j_dims[j]]
        groups.append((tuple(a), tuple(b)))
        i, j = i + 1, j + 1
    return groups


def _mergeable(a: Affine, shape: Shape, dims: tuple[int, ...]) -> bool:
    # One step along x is as far as all of y: the index walks both like one dim.
    return all(a.strides[x] == a.strides[y] * shape[y] for x, y in pairwise(dims))


def _regroup(a: Affine, shape: Shape, groups: Groups) -> Affine:
    strides = [0] * len(shape)
    for old, new in groups:
        step = a.strides[old[-1]]
        for d in reversed(new):
            strides[d] = step
            step *= shape[d]
    return Affine(tuple(strides), a.offset)


def collapse(shape: Shape, affines: list[Affine], groups: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Merge neighbouring dims that every affine walks as one. Drops dims of size 1.

    `groups[d]` is the group of dim d; a run stays within a group. Returns the runs in order, each a tuple of
    dims.
    """
    runs: list[tuple[int, ...]] = []
    for d in range(len(shape)):
        if shape[d] == 1:
            continue
        last = runs[-1][-1] if runs else None
        if (
            last is not None
            and groups[last] == groups[d]
            and all(a.strides[last] == a.strides[d] * shape[d] for a in affines)
        ):
            runs[-1] = (*runs[-1], d)
        else:
            runs.append((d,))
    return runs


def run_size(shape: Shape, run: tuple[int, ...]) -> int:
    return prod(shape[d] for d in run)


def common_refinement(a: Shape, b: Shape) -> Shape | None:
    """The coarsest shape from which both shapes follow by merging neighbouring dims; None if there is none.

    a and b have the same number of elements.

    [6, 4], [2, 12] -> [2, 3, 4]
    """
    marks = {1}
    for shape in (a, b):
        size = 1
        for n in reversed(shape):
            size *= n
            marks.add(size)
    boundaries = sorted(marks)
    sizes = [(high // low, high % low) for low, high in pairwise(boundaries)]
    return None if any(rest for _, rest in sizes) else tuple(n for n, _ in reversed(sizes))


def new_sizes(size: Sequence[Any]) -> tuple[int, ...]:
    """`sizes_of` for a new tensor; ValueError for a size below 0."""
    sizes = sizes_of(size)
    if sizes and min(sizes) < 0:
        raise ValueError(f"sizes {list(sizes)} must be at least 0")
    return sizes


def sizes_of(size: Sequence[Any]) -> tuple[int, ...]:
    """(2, 3) for calls f(2, 3), f((2, 3)) and f([2, 3])."""
    sizes = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    try:
        return tuple([index(n) for n in sizes])
    except TypeError:
        raise TypeError("sizes must be integers: pass them as f(2, 3) or f((2, 3))") from None
