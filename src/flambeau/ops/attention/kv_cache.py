"""Writes rows into a longer table, at a position that may be on the device; without gradients."""

# Primitives are tensor methods whose names begin with "_": they are private to the package.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from ...core import dtype as dt
from ...core.declare import composed, kernel, like_first
from ...core.node import is_tensor
from ...core.op import Family, Launch
from ...kernels.ir import GPU_WORKGROUP

if TYPE_CHECKING:
    from ...core.limits import Limits
    from ...core.node import Node
    from ...core.rules import Array, Prepared
    from ...device.array_namespace import Namespace
    from ...tensor import HostScalar, Tensor

THREADS = 64  # of a workgroup on a software adapter


def _launch(limits: Limits, table: Node, rows: Node, start: Node) -> list[Launch]:
    _, length, width = table.shape
    fours = width % 4 == 0
    w = 4 if fours else 1
    sizes: dict[str, int | float] = {"length": length, "rows": rows.shape[1], "width": width // w}
    each = start.shape[0] > 1
    sizes |= {"share": table.shape[0] // start.shape[0]} if each else {}
    # As maps have on a GPU, so that a bundle of fusion/horizontal.py may take both.
    threads = THREADS if limits.software else GPU_WORKGROUP

    def launch(reads: tuple[int, ...], only: bool, written: Node, **kw: Any) -> Launch:
        size = prod(written.shape) // w
        return Launch(
            "map/cache_write.wgsl",
            reads,
            -(-size // threads),
            sizes | {"size": size},
            {"only": only, "each": each},
            width=w,
            workgroup=(threads, 1, 1),
            traced=1,
            fours=fours,
            wide=(0,) if fours and not only else (),
            beside=True,
            **kw,
        )

    return [launch((0, 2), False, table, instead=(0, launch((2,), True, rows)))]


def _reference(xp: Namespace, table: Array, rows: Array, start: Array) -> Array:
    lines, length = table.shape[:2]
    start = xp.repeat(start, lines // start.shape[0]) if lines else start
    positions = xp.arange(length) - start[:, None]
    inside = (positions >= 0) & (positions < rows.shape[1])
    new = rows[xp.arange(lines)[:, None], xp.where(inside, positions, 0)]
    return xp.where(inside[:, :, None], new, table)


class Cache(Family):
    @kernel("opaque", shape=like_first, dtype=like_first, xp=_reference, launch=_launch, packs=True)
    def _put(self: Any, rows: Tensor, start: Tensor) -> Prepared:
        """Write [lines, rows, width] into [lines, length, width] from row `start` on: int32 [1], or [n] for
        the n-th parts of the lines."""
        return (self, rows, start), {}


def index_of(x: Tensor, start: Any, batch: int = 1) -> Tensor:
    """Converts a number, HostScalar or tensor of one integer to an int32[1] on x's device; one integer for
    each of `batch` rows to an int32[batch]."""
    if not is_tensor(start):
        return x.full((1,), start, dtype=dt.int32, device=x.device)
    count = prod(start.shape)
    if not start.dtype.is_int or (count != 1 and start.shape != (batch,)):
        rows = f" or one for each of {batch} rows" if batch > 1 else ""
        raise ValueError(f"start must be one integer{rows}, not {start.dtype.short}{list(start.shape)}")
    return start.int().reshape(count)


@composed
def put_rows(table: Tensor, rows: Tensor, start: int | Tensor | HostScalar) -> Tensor:
    """Writes `rows` into the table from row `start` on: a number, HostScalar or tensor; [batch], a place for
    each entry of the first dim. Rows past the end or before row 0 are left out. There is no gradient.
    [..., length, width], [..., n, width] -> [..., length, width]

    Raises ValueError if rows do not have the table's other sizes.
    """
    if min(table.ndim, rows.ndim) < 2 or rows.shape != (*table.shape[:-2], rows.shape[-2], table.shape[-1]):
        raise ValueError("rows and table may differ only in the number of rows: [..., n, width]")
    # 16-bit elements are written in fours
    kind = table.dtype.wide if table.shape[-1] % 4 else table.dtype
    flat, index = prod(table.shape[:-2]), index_of(table, start, table.shape[0] if table.ndim > 2 else 1)
    held, new = (x.detach().to(kind).reshape(flat, *x.shape[-2:]) for x in (table, rows))
    return held._put(new, index).reshape(*table.shape).to(table.dtype)
