"""Sorting: argsort by radix passes or in workgroup memory, and the ops composed of it."""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

from ...core import dtype as dt
from ...core.declare import composed, composite, kernel
from ...core.node import is_tensor
from ...core.op import UNORDERED, Family, Launch
from ...core.shape import normal_dim
from ..index.indices import Chosen, as_index, as_places, gather_known
from ..join import cat
from .scan import THREADS, scan_launches

if TYPE_CHECKING:
    from ...core.limits import Limits
    from ...core.node import Node
    from ...core.rules import Gradients, Prepared
    from ...tensor import Tensor, TensorLike


SHORT = 512  # rows up to here are sorted by a network in workgroup memory on a GPU
FEWEST = 32  # rows up to here are sorted in registers on a CPU adapter, where barriers are expensive
LITTLE = 2048  # elements: up to here a workgroup sorts faster than a dozen launches start
HELD = 32  # elements of a row that a thread holds at most
KEPT = 4 * (512 + 8)  # bytes of workgroup memory beside the elements of a row
RANKED = 1 << 25  # comparisons: up to here each element is compared with all others of its row, in one launch
PIECE = {True: 256, False: 2048}  # the least elements of a thread (software) or a workgroup
FULL = 264  # workgroups that fill a large GPU
GROUPS = 1024  # workgroups that occupy a large GPU
BLOCK, FEW = 512, 64  # topk of a long row: up to FEW elements are chosen from the best of each BLOCK
BEST = 128  # on a GPU up to this many of a row longer than BLOCK are chosen without sorting
CANDIDATES = 1664  # elements of a piece that may be among its best, at most: 13 KB of workgroup memory
MOST = 32768  # elements of a workgroup's piece: its counts have 16 bits


def _argsort_launches(limits: Limits, x: Node, descending: bool, bits: int, first: int) -> list[Launch]:
    rows, n = prod(x.shape[:-1]), x.shape[-1]
    # From one launch for short rows to three launches for every 4 bits of long ones.
    options = {"dtype": x.dtype.short, "descending": descending}
    if first:
        return _select_candidates(rows, n, first, options)
    if limits.software and 0 < n <= FEWEST:
        return [_sort_in_registers(rows, n, options)]
    most = SHORT if not limits.software else LITTLE // 4 if rows * n <= LITTLE else 0
    if rows * n > 0 and n <= most:
        return [_sort_in_memory(rows, n, options)]
    if not limits.software and 0 < rows * n * n <= RANKED:
        return [_rank_rows(rows, n, options)]
    bits = 1 if x.dtype is dt.bool_ else bits  # bits above these are equal
    if not limits.software and rows * n > 0 and 4 * _cells(_each(n)) + KEPT <= limits.workgroup_memory:
        return [_sort_rows(rows, n, options, bits)]
    return _radix_sort(limits, rows, n, options, -(-bits // 4))


def _each(n: int) -> int:
    """The neighbours of a row of n that a thread holds: classes, so that few row lengths need a kernel of
    their own."""
    each = -(-n // 256)
    return 1 << (each - 1).bit_length() if each <= 8 else -(-each // 4) * 4


def _cells(each: int) -> int:
    """Words of workgroup memory for elements with padding, or for the counts of all threads."""
    return max(256 * each * 33 // 32, 2112) if each <= HELD else 1 << 30


def _sort_rows(rows: int, n: int, options: dict[str, Any], bits: int) -> Launch:
    """A workgroup sorts a row by digits in registers and workgroup memory."""
    each = _each(n)
    sizes: dict[str, Any] = {"n": n, "bits": bits}
    options = options | {"each": each, "cells": _cells(each)}
    turns = -(-bits // 4)
    return Launch("sort/rows.wgsl", (), rows, sizes, options, workgroup=(256, 1, 1), traced=0, turns=turns)


def _select_candidates(rows: int, n: int, k: int, options: dict[str, Any]) -> list[Launch]:
    """The first k of pieces of each row, then of these, until a row has one piece."""
    most = CANDIDATES // k
    # elements of a thread: few enough for all cores to have work
    each = min(max(-(-rows * n // (256 * FULL)), 8), HELD)
    each = max(e for e in (1, 2, 4, *range(8, HELD + 1, 4)) if e <= min(each, most))
    launches: list[Launch] = []
    while True:
        pieces = -(-n // (256 * each))
        piece = -(-n // pieces)
        held = min(_each(piece), each)
        reads = (f"pairs{len(launches) - 1}",) if launches else ()
        source: dict[str, Any] = {} if launches else {"traced": 0}
        last = pieces == 1
        to: dict[str, Any] = {}
        if not last:
            count = 2 * rows * pieces * k
            to = {"writes": f"pairs{len(launches)}", "elements": count, "dtype": dt.uint32, "width": 2}
        same = options | {"each": held, "candidates": k * held, "first": not launches, "last": last}
        sizes: dict[str, Any] = {"n": n, "pieces": pieces, "piece": piece, "k": k}
        launches.append(
            Launch(
                "sort/best.wgsl",
                reads,
                rows * pieces,
                sizes,
                same,
                workgroup=(256, 1, 1),
                turns=32 + held * k,
                **to,
                **source,
            )
        )
        if last:
            return launches
        n = pieces * k


def _rank_rows(rows: int, n: int, options: dict[str, Any]) -> Launch:
    """Computes the rank of each element by comparison with all others of its row."""
    pieces = -(-n // 16)  # 256 threads rank 16 elements, 16 of them for each
    sizes: dict[str, Any] = {"n": n, "pieces": pieces}
    return Launch(
        "sort/rank.wgsl",
        (),
        rows * pieces,
        sizes,
        options,
        workgroup=(256, 1, 1),
        traced=0,
        turns=-(-n // 256),
    )


def _sort_in_registers(rows: int, n: int, options: dict[str, Any]) -> Launch:
    """One thread for each row, padded to a power of two."""
    wide = max(1 << (n - 1).bit_length(), 2)  # padding sorts last
    options = options | {"wide": wide, "network": _network(wide)}
    sizes: dict[str, Any] = {"n": n, "rows": rows}
    return Launch("sort/network.wgsl", (), -(-rows // 64), sizes, options, workgroup=(64, 1, 1), traced=0)


@cache
def _network(n: int) -> tuple[tuple[int, int], ...]:
    """The comparisons that sort n elements, n a power of two (Batcher's odd-even mergesort, 1968)."""
    # Runs of `width` are sorted; a round merges pairs of them.
    pairs: list[tuple[int, int]] = []
    width = 1
    while width < n:
        step = width
        while step:
            for start in range(step % width, n - step, 2 * step):
                same = (i for i in range(start, min(start + step, n - step)))
                pairs += [(i, i + step) for i in same if i // (2 * width) == (i + step) // (2 * width)]
            step //= 2
        width *= 2
    return tuple(pairs)


def _sort_in_memory(rows: int, n: int, options: dict[str, Any]) -> Launch:
    """Rows padded to a power of two, as many as fit in the memory of a workgroup of some size."""
    wide = max(1 << (n - 1).bit_length(), 2)
    span = max(wide, 512)  # a workgroup sorts 512 elements or more: several short rows
    sizes: dict[str, Any] = {"n": n, "rows": rows, "wide": wide}
    return Launch(
        "sort/bitonic.wgsl",
        (),
        -(-rows // (span // wide)),
        sizes,
        options | {"span": span},
        workgroup=(min(span // 2, 256), 1, 1),
        traced=0,
    )


def _radix_sort(limits: Limits, rows: int, n: int, options: dict[str, Any], passes: int) -> list[Launch]:
    """Radix sort from the lowest 4 bits up: count the digits of each piece, scan the counts, move the
    elements."""
    piece, pieces = _pieces(limits, rows, n)
    sizes: dict[str, Any] = {"n": n, "pieces": pieces, "piece": piece}
    count = rows * pieces
    if limits.software:
        kinds, groups, threads = (
            ("sort/radix_serial.wgsl", "sort/radix_serial.wgsl"),
            -(-count // 64),
            (64, 1, 1),
        )
        sizes["threads"] = count
    else:
        kinds, groups, threads = ("sort/radix_count.wgsl", "sort/radix_scatter.wgsl"), count, (256, 1, 1)
    launches: list[Launch] = []
    # A pass reads the (key, index) pairs of the previous one; the first reads the input, the last writes only
    # indices.
    for i in range(passes):
        # One row of counts by digit, then piece: its scan is where each digit of each piece goes.
        first, last = i == 0, i == passes - 1
        source: dict[str, Any] = {"traced": 0} if first else {}
        reads = () if first else (f"pairs{i - 1}",)
        of_pass, shape = sizes | {"shift": 4 * i}, (rows, 16 * pieces)
        same = options | {"first": first, "last": last}
        launches.append(
            Launch(
                kinds[0],
                reads,
                groups,
                of_pass,
                same | {"counting": True},
                "counts",
                count * 16,
                dt.uint32,
                threads,
                turns=piece,
                **source,
            )
        )
        launches += scan_launches(limits, shape, 1, "sum", dt.uint32, "counts", "starts")
        # pairs of a key and its index
        to = {} if last else {"writes": f"pairs{i}", "elements": 2 * rows * n, "dtype": dt.uint32, "width": 2}
        launches.append(
            Launch(
                kinds[1],
                (*reads, "starts"),
                groups,
                of_pass,
                same | {"counting": False},
                workgroup=threads,
                turns=piece,
                **to,
                **source,
            )
        )
    return launches


def _pieces(limits: Limits, rows: int, n: int) -> tuple[int, int]:
    """(elements of a piece, pieces of a row): enough pieces to occupy the device, of at most MOST
    elements."""
    want = (THREADS[True] if limits.software else GROUPS) // max(rows, 1)
    # A piece for each thread (software) or workgroup, if there are elements enough; no loop longer than the
    # limit.
    size = PIECE[limits.software]
    pieces = max(min(want, n // size), -(-n // limits.turns), 1)
    if limits.software:
        piece = max(-(-n // pieces), 1)
    else:
        # passes of a workgroup are full, but for the last
        piece = min(max(-(-n // (pieces * size)), 1) * size, MOST)
    return piece, max(-(-n // piece), 1)


def _argsort_reference(xp: Any, x: Any, descending: bool, bits: int, first: int) -> Any:
    """Stable, NaN is largest. Descending: the reversed ascending order of the reversed row."""
    if first:
        return _argsort_reference(xp, x, descending, bits, 0)[..., :first]
    if not descending:
        return xp.argsort(x, axis=-1, stable=True)
    # Reversing twice keeps equal elements in their original order.
    back = xp.flip(xp.argsort(xp.flip(x, axis=-1), axis=-1, stable=True), axis=-1)
    return x.shape[-1] - 1 - back


def _back_launches(limits: Limits, x: Node, places: Node) -> list[Launch]:
    rows, n = prod(x.shape[:-1]), x.shape[-1]
    sizes: dict[str, Any] = {"n": n, "size": rows * n}
    options, groups = {"dtype": x.dtype.short}, -(-rows * n // 64)
    return [Launch("sort/inverse_permute.wgsl", (1,), groups, sizes, options, traced=0)]


def _back_reference(xp: Any, x: Any, places: Any) -> Any:
    out = xp.empty_like(x)
    xp.put_along_axis(out, places, x, axis=-1)  # not a gather: each element is written to its place
    return out


def _search_launches(limits: Limits, table: Node, x: Node, right: bool) -> list[Launch]:
    n, m, size = table.shape[-1], x.shape[-1], prod(x.shape)
    sizes: dict[str, Any] = {"n": n, "m": max(m, 1), "size": size, "step": n if len(table.shape) > 1 else 0}
    options = {"dtype": x.dtype.short, "right": right}
    return [Launch("sort/searchsorted.wgsl", (0,), -(-size // 64), sizes, options, traced=1)]


def _search_reference(xp: Any, table: Any, x: Any, right: bool) -> Any:
    side = "right" if right else "left"
    if table.ndim == 1:
        return xp.searchsorted(table, x, side)
    lines = prod(x.shape[:-1])
    rows = zip(table.reshape(lines, table.shape[-1]), x.reshape(lines, x.shape[-1]), strict=True)
    places = [xp.searchsorted(line, values, side) for line, values in rows]
    return xp.stack(places).reshape(x.shape) if places else xp.zeros(x.shape, dtype="int32")


@composed
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Indices (int64) that sort a dim; always stable; NaN counts as largest.

    [..., n, ...] -> [..., n, ...]

    descending: sort from the largest to the smallest
    Raises IndexError if there is no such dim.
    """
    return as_places(order_along(input, normal_dim(dim, input.ndim), descending))


@composed
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Chosen:
    """(values, indices) of a sorted dim; always stable; NaN counts as largest.

    [..., n, ...] -> [..., n, ...], [..., n, ...]

    descending: sort from the largest to the smallest
    Raises IndexError if there is no such dim.
    """
    d = normal_dim(dim, input.ndim)
    places = order_along(input, d, descending)
    values = _in_order(input, places, dim=d) if input.ndim else input
    return Chosen(values, as_places(places))  # type: ignore[arg-type]


@composed
def msort(input: Tensor) -> Tensor:
    """The elements sorted along the first dim. [n, ...] -> [n, ...]"""
    return input.sort(0)[0]


@composed
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Chosen:
    """(values, indices) of the k largest (or smallest) of a dim, in order; NaN counts as largest.

    [..., n, ...] -> [..., k, ...], [..., k, ...]

    sorted: accepted and ignored: the result is always in order
    Raises ValueError if k is not from 0 to n.
    """
    d, x = normal_dim(dim, input.ndim), input if input.ndim else input.reshape(1)
    # A 0-d tensor is its own only element.
    if not 0 <= k <= x.shape[d]:
        raise ValueError(f"k={k} is not from 0 to {x.shape[d]}, the size of dim {d}")
    if not input.ndim:
        return Chosen(input, as_places(order_along(input, 0, False)))  # type: ignore[arg-type]
    last = x.ndim - 1
    places = _top(x.detach().transpose(d, last), k, bool(largest)).transpose(d, last)
    return Chosen(x._gather(places, d), as_places(places))


@composed
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Chosen:
    """(values, indices) of the k-th smallest of a dim, counted from 1. [..., n, ...] -> [...], [...]

    Raises ValueError if k is not from 1 to n.
    """
    d, x = normal_dim(dim, input.ndim), input if input.ndim else input.reshape(1)
    if not 1 <= k <= x.shape[d]:
        raise ValueError(f"k={k} is not from 1 to {x.shape[d]}, the size of dim {d}")
    return at_rank(input, order_along(x, d, False).narrow(d, k - 1, 1), d, keepdim)


class Sort(Family):
    @kernel(
        "opaque",
        shape=lambda s, descending, bits, first: (*s[:-1], first) if first else s,
        dtype=lambda d, descending, bits, first: dt.int32,
        xp=_argsort_reference,
        dtypes="fiub",
        refusal=UNORDERED,
        launch=_argsort_launches,
    )
    def _argsort(self: Any, descending: bool, bits: int = 32, first: int = 0) -> Prepared:
        """Indices that sort the last dim, stable. bits: how many low bits of integers can differ.

        descending: sort from the largest to the smallest
        first: if above 0, only this many of the indices
        """
        return (self,), {"descending": descending, "bits": bits, "first": first}

    @kernel(
        "opaque",
        shape=lambda x, places: x,
        dtype=lambda x, places: x,
        dtypes="fiubc",
        xp=_back_reference,
        grad=lambda g, y, x, places: [gather_known(g, -1, places), None],
        launch=_back_launches,
    )
    def _back(self: Any, places: Tensor) -> Prepared:
        """Elements moved to places, a permutation of the last dim: the inverse of gather.

        Packed dtypes become 4 bytes wide: different threads write the elements of one word.
        """
        return (self.to(self.dtype.wide), places), {}

    @kernel(
        "opaque",
        shape=lambda table, x, right: x,
        dtype=lambda table, x, right: dt.int32,
        xp=_search_reference,
        launch=_search_launches,
    )
    def _search(self: Any, input: Tensor, right: bool) -> Prepared:
        """The number of elements of a sorted last dim below `input` (not above it if right). -> int32"""
        return (self, input), {"right": right}


def at_rank(x: Tensor, places: Tensor, d: int, keepdim: bool) -> Chosen:
    """(values, indices) at one position of each line of dim d, which is removed unless keepdim."""
    values = (x if x.ndim else x.reshape(1))._gather(places, d)
    shape = x.shape if not x.ndim else tuple(1 if e == d else n for e, n in enumerate(x.shape))
    shape = shape if keepdim else tuple(n for e, n in enumerate(shape) if e != d)
    return Chosen(values.reshape(*shape), as_places(places.reshape(*shape)))


def order_along(x: Tensor, d: int, descending: bool = False) -> Tensor:
    """int32 indices that sort a dim."""
    if x.ndim == 0 or (x.shape[d] == 1 and not x.dtype.is_complex):  # complex numbers have no order
        return type(x).full(x.shape, 0, dtype=dt.int32, device=x.device)
    x = x.detach()
    last = x.ndim - 1
    if d == last:
        return x._argsort(bool(descending))
    return x.transpose(d, last)._argsort(bool(descending)).transpose(d, last)


def _in_order_grad(g: Tensor, y: Tensor, x: Tensor, places: Tensor, dim: int) -> Gradients:
    last = x.ndim - 1
    back = g.transpose(dim, last)._back(places.transpose(dim, last)).transpose(dim, last)
    return [back.to(g.dtype), None]


@composite(grad=_in_order_grad)
def _in_order(x: Tensor, places: Tensor, *, dim: int) -> Tensor:
    """Elements at places, a permutation of a dim: the gradient is another permutation, without sums."""
    return x._gather(places, dim)


def _top(x: Tensor, k: int, largest: bool) -> Tensor:
    """Indices of the k best of the last dim; for a long row, the best of the k best of each block."""
    n, device = x.shape[-1], x.device
    is_short = x.dtype.itemsize <= 4 and x.dtype.kind in "fiub"
    # One workgroup sorts a row as fast as two launches choose many of it.
    is_sorted = k > FEW and n <= 256 * HELD
    if device.kind == "gpu" and not device.limits.software and is_short and n > BLOCK and 0 < k <= BEST:
        return x._argsort(largest).narrow(x.ndim - 1, 0, k) if is_sorted else x._argsort(largest, first=k)
    # Beyond FEW of each block there is little to leave out: one sort of the row.
    if k > FEW or n <= 2 * BLOCK:
        return x._argsort(largest).narrow(x.ndim - 1, 0, k)
    blocks = n // BLOCK
    lead = x.shape[:-1]
    in_blocks = x.narrow(x.ndim - 1, 0, blocks * BLOCK).reshape(*lead, blocks, BLOCK)
    starts = type(x).arange(blocks, dtype=dt.int32, device=x.device).unsqueeze(1) * BLOCK
    # Indices in a block become indices in the row.
    best = (in_blocks._argsort(largest).narrow(x.ndim, 0, k) + starts).reshape(*lead, blocks * k)
    rest = n - blocks * BLOCK
    if rest:
        tail = _top(x.narrow(x.ndim - 1, n - rest, rest), min(k, rest), largest) + (n - rest)
        best = cat([best, tail], -1)
    # The k best of a row are among the k best of its blocks.
    return gather_known(best, -1, _top(gather_known(x, -1, best), k, largest))


def _promote(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Both in their promoted dtype."""
    dtype = dt.promote(a.dtype, b.dtype)
    return a.to(dtype), b.to(dtype)


def _take_sorted(x: Tensor, sorter: Tensor) -> Tensor:
    """Elements of the last dim in the order of a sorter's indices."""
    d = x.ndim - 1
    return x._gather(as_index(x, sorter, d, "searchsorted"), d)


@composed
def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor | float,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where to insert values to keep the order (int64): before equal elements, or after them if right.

    [n], [...] -> [...] or [..., n], [..., m] -> [..., m]

    sorted_sequence: the sorted elements. [..., n]
    out_int32: return int32 instead of int64
    side: "right" is right=True
    sorter: the indices that sort sorted_sequence
    Raises ValueError if side is unknown or contradicts right, or shapes do not fit.
    """
    if side not in (None, "left", "right"):
        raise ValueError(f"side={side!r} is unknown: use 'left' or 'right'")
    if side == "left" and right:
        raise ValueError("side='left' contradicts right=True: pass one of them")
    table = sorted_sequence if sorter is None else _take_sorted(sorted_sequence, sorter)
    x = input if is_tensor(input) else type(table).full((), input, device=table.device)
    if table.ndim == 0 or (table.ndim > 1 and table.shape[:-1] != x.shape[:-1]):
        raise ValueError(
            f"shapes {list(table.shape)} and {list(x.shape)} do not match: sorted_sequence must have 1 dim,"
            " or the same dims but for the last"
        )
    table, x = _promote(table.detach(), x.detach())
    places = table._search(x.reshape(1) if x.ndim == 0 else x, bool(right) or side == "right")
    return places.reshape(*x.shape) if out_int32 else as_places(places.reshape(*x.shape))


@composed
def bucketize(
    input: Tensor | float, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """The bucket between sorted boundaries that each value falls into (int64). [...], [n] -> [...]

    out_int32: return int32 instead of int64
    right: a value equal to a boundary falls into the bucket after it
    Raises ValueError if boundaries do not have 1 dim.
    """
    if boundaries.ndim != 1:
        raise ValueError(f"boundaries must have 1 dim, not {boundaries.ndim}")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@composed
def isin(
    elements: Tensor, test_elements: TensorLike, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Whether each element is among the test elements. [...], [...] -> [...]

    test_elements: the elements to compare with
    assume_unique: accepted and ignored
    invert: true where an element is not among them
    Raises TypeError if neither is a tensor.
    """
    tensor = next((t for t in (elements, test_elements) if is_tensor(t)), None)
    if tensor is None:
        raise TypeError("neither argument is a tensor: wrap one in tensor(...)")
    x, tests = (
        t if is_tensor(t) else type(tensor).full((), t, device=tensor.device)
        for t in (elements, test_elements)
    )
    tests = tests.reshape(-1)
    x, tests = _promote(x.detach(), tests.detach())
    if not tests.shape[0]:
        return type(x).full(x.shape, bool(invert), device=x.device)
    table = tests.sort(0)[0]
    # A value above all others is sought at n, which a gather clamps to the last element: they differ.
    is_in = table._gather(table._search(x.reshape(-1), False), 0).reshape(*x.shape) == x
    return ~is_in if invert else is_in
