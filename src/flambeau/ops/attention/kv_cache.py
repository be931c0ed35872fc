"""Rows into a table that is longer than they are, at a place that may be on the device; without gradients."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from ...core import dtype as dt
from ...core.declare import composed, kernel
from ...core.node import is_tensor
from ...core.op import Family, Launch

if TYPE_CHECKING:
    from ...tensor import HostScalar, Tensor

THREADS = 64


def _launch(limits, table, rows, start):
    _, length, width = table.shape
    fours = width % 4 == 0
    w = 4 if fours else 1
    sizes = {"length": length, "rows": rows.shape[1], "width": width // w}

    def launch(reads, only, written, **kw):
        size = prod(written.shape) // w
        return Launch(
            "map/cache_write.wgsl",
            reads,
            -(-size // THREADS),
            sizes | {"size": size},
            {"only": only},
            width=w,
            wide=tuple(at for at, r in enumerate(reads) if r < 2) if fours else (),
            **kw,
        )

    return [launch((0, 1, 2), False, table, instead=(0, launch((1, 2), True, rows)))]


def _reference(xp, table, rows, start):
    at = xp.arange(table.shape[1]) - start
    inside = (at >= 0) & (at < rows.shape[1])
    found = xp.take(rows, xp.where(inside, at, 0), axis=1)
    return xp.where(inside[:, None], found, table)


def _of_table(table, *_):
    return table


class Cache(Family):
    @kernel("opaque", shape=_of_table, dtype=_of_table, xp=_reference, launch=_launch, packs=True)
    def _put(self: Any, rows, start):
        """[lines, length, width] with [lines, rows, width] from row `start` (int32[1]) on."""
        return (self, rows, start), {}


def place_of(x, start):
    """A number, HostScalar or tensor of one integer as an int32[1] on x's device."""
    if not is_tensor(start):
        return x.full((1,), start, dtype=dt.int32, device=x.device)
    if not start.dtype.is_int or prod(start.shape) != 1:
        raise ValueError(f"start is one integer: not {start.dtype.short}{list(start.shape)}")
    return start.int().reshape(1)


@composed
def put_rows(table: Tensor, rows: Tensor, start: int | Tensor | HostScalar) -> Tensor:
    """The table with `rows` from row `start` on, a number, HostScalar or tensor; rows past the end, or before
    row 0, are left out. It has no gradient. [..., length, width], [..., n, width] -> [..., length, width]

    Raises ValueError where rows differ from the table's in more than their number.
    """
    if min(table.ndim, rows.ndim) < 2 or rows.shape != (*table.shape[:-2], rows.shape[-2], table.shape[-1]):
        raise ValueError("rows differ from the table's in more than their number: [..., n, width]")
    # 16-bit elements are written in fours
    kind = table.dtype.wide if table.shape[-1] % 4 else table.dtype
    flat, at = prod(table.shape[:-2]), place_of(table, start)
    held, new = (x.detach().to(kind).reshape(flat, *x.shape[-2:]) for x in (table, rows))
    return held._put(new, at).reshape(*table.shape).to(table.dtype)
