"""Sorting: places of elements in order, by radix passes or in workgroup memory; what is taken from there."""

from math import prod

from .. import dtype as dt
from ..op import Family, Launch, composed, kernel
from ..shape import normal_dim
from .scan import THREADS, scan_launches

SHORT = {True: 512, False: 2048}  # rows up to here are sorted in workgroup memory; True: on a CPU adapter
PIECE = {True: 256, False: 2048}  # elements of a row that are worth a thread, or a workgroup
GROUPS = 1024  # workgroups that fill a large GPU
MOST = 32768  # elements of a workgroup's piece: its counts are 16 bits wide


def _argsort_launches(limits, x, descending, bits) -> list[Launch]:
    rows, n = prod(x.shape[:-1]), x.shape[-1]
    options = {"of": x.dtype.short, "descending": descending}
    if n <= SHORT[limits.software] and prod(x.shape):
        return [_in_memory(rows, n, options)]
    bits = 1 if x.dtype is dt.bool_ else bits
    return _by_digits(limits, rows, n, options, -(-bits // 4))


def _in_memory(rows: int, n: int, options) -> Launch:
    """Rows padded to a power of two, as many as fit in the memory of a workgroup of some size."""
    wide = max(1 << (n - 1).bit_length(), 2)
    span = max(wide, 512)
    sizes = {"n": n, "rows": rows, "wide": wide}
    return Launch(
        "sort_rows.wgsl", (), -(-rows // (span // wide)), sizes, options | {"span": span},
        workgroup=(min(span // 2, 256), 1, 1), traced=0,
    )  # fmt: skip


def _by_digits(limits, rows, n, options, passes) -> list[Launch]:
    """From the lowest four bits up: count each piece's digits, add the counts up, move every element."""
    piece, pieces = _pieces(limits, rows, n)
    sizes = {"n": n, "pieces": pieces, "piece": piece}
    count = rows * pieces
    if limits.software:
        kinds, groups, threads = ("sort_serial.wgsl", "sort_serial.wgsl"), -(-count // 64), (64, 1, 1)
        sizes["threads"] = count
    else:
        kinds, groups, threads = ("sort_count.wgsl", "sort_place.wgsl"), count, (256, 1, 1)
    made: list[Launch] = []
    for i in range(passes):
        first, last = i == 0, i == passes - 1
        given = {"traced": 0} if first else {}
        reads = () if first else (f"pairs{i - 1}",)
        now, shape = sizes | {"shift": 4 * i}, (rows, 16 * pieces)
        same = options | {"first": first, "last": last}
        made.append(Launch(
            kinds[0], reads, groups, now, same | {"counting": True}, "counts", count * 16, dt.uint32,
            threads, **given,
        ))  # fmt: skip
        made += scan_launches(limits, shape, 1, "sum", dt.uint32, "counts", "starts")
        to = {} if last else {"writes": f"pairs{i}", "elements": 2 * rows * n, "dtype": dt.uint32, "width": 2}
        made.append(Launch(
            kinds[1], (*reads, "starts"), groups, now, same | {"counting": False}, workgroup=threads,
            **to, **given,
        ))  # fmt: skip
    return made


def _pieces(limits, rows: int, n: int) -> tuple[int, int]:
    """(elements of a piece, pieces of a row): enough to fill the device, and few enough to be counted."""
    want = (THREADS[True] if limits.software else GROUPS) // max(rows, 1)
    size = PIECE[limits.software]
    pieces = max(min(want, n // size), 1)
    if limits.software:
        piece = max(-(-n // pieces), 1)
    else:
        piece = min(max(-(-n // (pieces * size)), 1) * size, MOST)
    return piece, max(-(-n // piece), 1)


def _argsort_reference(xp, x, descending, bits):
    """Stable, NaN above all: descending is the ascending order of the row backwards, read backwards."""
    if not descending:
        return xp.argsort(x, axis=-1, kind="stable")
    back = xp.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    return x.shape[-1] - 1 - back


class Sort(Family):
    @kernel(
        "whole",
        shape=lambda s, descending, bits: s,
        dtype=lambda d, **_: dt.int32,
        xp=_argsort_reference,
        launch=_argsort_launches,
    )
    def _argsort(self, descending, bits=32):
        """Places of the last dim's elements in order, stable; `bits`: how many low bits of ints differ."""
        return (self,), {"descending": descending, "bits": bits}

    @composed
    def argsort(self, dim: int = -1, descending: bool = False, stable: bool = False):
        """Places (int32) of a dim's elements in order; always stable; NaN counts as largest.

        [..., n, ...] -> [..., n, ...]
        """
        return _places(self, normal_dim(dim, self.ndim), descending)


def _places(x, d: int, descending: bool):
    if x.ndim == 0:
        return type(x).full((), 0, device=x.device)
    x = x.detach()
    last = x.ndim - 1
    if d == last:
        return x._argsort(bool(descending))
    return x.transpose(d, last)._argsort(bool(descending)).transpose(d, last)
