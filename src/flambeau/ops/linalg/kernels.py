"""Factorisations as opaque kernels, one workgroup for each matrix; factor.py composes larger ones from
them."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

from ...core import dtype as dt
from ...core.declare import P, kernel
from ...core.limits import SOFTWARE_TURNS
from ...core.op import Launch
from . import reference

if TYPE_CHECKING:
    from ...core.limits import Limits
    from ...core.node import Node
    from ...core.rules import LaunchRule, Prepared, Reference, ShapeRule
    from ...tensor import Tensor

# the most sweeps of Jacobi rotations: float32 needs 6 to 9; a sweep without rotations is the last
SWEEPS = 12
BLOCK = 64  # columns that one kernel factorises; more are split in halves, with matrix products between
LARGEST = 1536  # rows and columns of eigh and svd
# Loop iterations of a thread in one launch, on every device: the composition of a factorisation must not
# depend on the device, and a GPU's watchdog ends long launches.
TURNS = SOFTWARE_TURNS


def threads(limits: Limits, work: int) -> int:
    """Threads of a workgroup for `work` parallel items; few on a CPU adapter, where barriers are
    expensive."""
    if limits.software:
        return 16 if work <= 64 else 64 if work <= 1024 else 256
    return 32 if work <= 32 else 64 if work <= 64 else 256


def _power(n: int, least: int = 32) -> int:
    """The power of two of at least n: memory sizes are part of the shader text, so few of them are used."""
    return max(least, 1 << (n - 1).bit_length())


def _float(*dtypes: dt.DType, **_: Any) -> dt.DType:
    return dtypes[0].as_float


def lu_turns(m: int, n: int) -> int:
    """Loop iterations of a thread of a large LU. [m, n]"""
    return m * (n + 2) // 256 + n * (m // 32 + 32 + (1 + m // 256) * (1 + n // 2))


def qr_turns(m: int, n: int) -> int:
    """Loop iterations of a thread of a large QR; the threads of a column share its rows. [m, n]"""
    return (m + 1) * n // 256 + n * (2 * m // 256 + 264) + (n - 1) * 2 * m // 8


def columns_of(turns: Callable[[int, int], int], m: int, most: int) -> int:
    """The number of columns of [m, n] that one launch may factorise, at most `most`."""
    # the most columns whose loops are short enough
    return next((n for n in range(most, 1, -1) if turns(m, n) <= TURNS), 1)


def _factorisation(
    shape: ShapeRule, launch: LaunchRule, xp: Reference
) -> Callable[[Callable[P, Any]], Callable[P, Tensor]]:
    """Declare a kernel that factorises matrices, in floats."""
    return kernel("opaque", shape=shape, dtype=_float, launch=launch, xp=xp)


def _lu_launch(limits: Limits, x: Node) -> list[Launch]:
    *lead, m, n = x.shape
    w = threads(limits, m)
    sizes = {"count": prod(lead), "rows": m, "cols": n}
    options, turns = {"searchers": min(w, 32)}, lu_turns(m, min(n, m))
    return [
        Launch("linalg/lu.wgsl", (), prod(lead), sizes, options, workgroup=(w, 1, 1), traced=0, turns=turns)
    ]


def _block(n: int) -> int:
    """The columns for which a kernel has workgroup memory: small matrices leave room for other workgroups."""
    return 16 if n <= 16 else BLOCK


def _cholesky_launch(limits: Limits, x: Node) -> list[Launch]:
    *lead, n, _ = x.shape
    sizes = {"count": prod(lead), "size": n}
    # a thread has elements of the whole rest of the matrix, not of a column
    workgroup = (256 if n > 16 and not limits.software else threads(limits, n), 1, 1)
    options = {"block": _block(n), "down": 16}
    return [Launch("linalg/cholesky.wgsl", (), prod(lead), sizes, options, workgroup=workgroup, traced=0)]


def _triangular_launch(limits: Limits, a: Node, b: Node, upper: bool, unit: bool) -> list[Launch]:
    *lead, n, cols = b.shape
    count = prod(lead) * cols  # a thread for each right-hand side
    sizes = {"count": count, "size": n, "cols": cols}
    options = {"upper": upper, "unit": unit, "block": _block(n)}
    return [Launch("linalg/triangular_solve.wgsl", (0,), -(-count // 64), sizes, options, traced=1)]


def _qr_launch(limits: Limits, x: Node) -> list[Launch]:
    *lead, m, n = x.shape
    sizes = {"count": prod(lead), "rows": m, "cols": n}
    workgroup, turns = (max(threads(limits, m), 32), 1, 1), qr_turns(m, min(m, n)) if m > 1024 else 0
    return [Launch("linalg/qr.wgsl", (), prod(lead), sizes, workgroup=workgroup, traced=0, turns=turns)]


def _row_order_launch(limits: Limits, pivots: Node, rows: int) -> list[Launch]:
    *lead, swaps = pivots.shape
    sizes = {"count": prod(lead), "rows": rows, "swaps": swaps}
    return [
        Launch("linalg/pivots_to_permutation.wgsl", (0,), -(-prod(lead) // 64), sizes, turns=rows + swaps)
    ]


def _sweeps(
    template: str, state: int, sizes: dict[str, int], options: dict[str, Any], workgroup: int, turns: int
) -> list[Launch]:
    """The launches of Jacobi sweeps: the first reads the matrix, later ones the state of the one before.

    turns: loop iterations of one round. A launch does one or more sweeps, or part of a sweep if that is too
    long.
    """
    # A sweep of `size` rows and columns has size - 1 rounds, in which each meets another one.
    rounds, room = sizes["size"] - 1, max(TURNS // turns, 1)
    each = min(max(room // rounds, 1), SWEEPS)
    spans = [(0, rounds)] * -(-SWEEPS // each)
    if room < rounds:
        spans = [(first, min(first + room, rounds)) for first in range(0, rounds, room)] * SWEEPS
    return [
        Launch(
            template,
            (f"sweep{i - 1}" if i else 0,),
            sizes["count"],
            {**sizes, "sweeps": each, "start": start, "stop": stop},
            {**options, "first": i == 0},
            f"sweep{i}",
            sizes["count"] * (state + 2),
            dt.float32,
            (workgroup, 1, 1),
        )
        for i, (start, stop) in enumerate(spans)
    ]


def _jacobi_sizes(x: Node) -> dict[str, int]:
    *lead, n, _ = x.shape
    # an even number, so that all are in pairs
    return {"count": prod(lead), "n": n, "size": max(n + n % 2, 2)}


def _eigh_launch(limits: Limits, x: Node) -> list[Launch]:
    sizes = _jacobi_sizes(x)
    count, n, size = sizes.values()
    w = threads(limits, 2 * n)
    turns = 3 * (-(-size // 2 // w)) + (size // 2) * (3 * size // 2) // w
    sweeps = _sweeps(
        "linalg/jacobi_eigh.wgsl", 2 * size * size, sizes, {"pairs": _power(size // 2)}, w, turns
    )
    return [
        *sweeps,
        Launch(
            "linalg/eigh_sort.wgsl", (sweeps[-1].writes,), count, sizes, workgroup=(threads(limits, n), 1, 1)
        ),
    ]


def _svd_launch(limits: Limits, x: Node) -> list[Launch]:
    sizes = _jacobi_sizes(x)
    count, n, size = sizes.values()
    w = threads(limits, 4 * n)
    team = w
    # A team of threads rotates a pair of columns; with enough threads, all pairs of a round at once.
    while team > 1 and team * (size // 2) > w:
        team //= 2
    turns = -(-size // 2 * team // w) * (3 * -(-size // team) + team + 1)
    sweeps = _sweeps("linalg/jacobi_svd.wgsl", size * (n + size), sizes | {"team": team}, {}, w, turns)
    options, workgroup = {"most": _power(n)}, (threads(limits, 4 * n), 1, 1)
    return [
        *sweeps,
        Launch("linalg/svd_sort.wgsl", (sweeps[-1].writes,), count, sizes, options, workgroup=workgroup),
    ]


class Factor:
    """The kernels. They are not methods of tensors: factor.py composes factorisations of them."""

    @_factorisation(lambda s: (*s[:-1], s[-1] + 2), _lu_launch, reference.lu)
    def _lu_block(self: Any) -> Prepared:
        """L below the diagonal, U on and above it; the order of rows; the pivots. [..., m, n] -> [..., m, n +
        2]"""
        return (self,), {}

    @_factorisation(lambda s: s, _cholesky_launch, reference.cholesky)
    def _cholesky_block(self: Any) -> Prepared:
        """The lower factor from the lower triangle; NaN if the matrix is not positive definite. [..., n, n]
        -> [..., n, n]"""
        return (self,), {}

    @_factorisation(lambda a, b, upper, unit: b, _triangular_launch, reference.triangular)
    def _triangular_block(self: Any, b: Tensor, upper: bool, unit: bool) -> Prepared:
        """X with T @ X = b for a triangle T of self. [..., n, n], [..., n, k] -> [..., n, k]

        upper: use the upper triangle instead of the lower
        """
        return (self, b), {"upper": upper, "unit": unit}

    @_factorisation(lambda s: (*s[:-2], s[-2] + 1, s[-1]), _qr_launch, reference.qr)
    def _qr_block(self: Any) -> Prepared:
        """R, the Householder vectors below it, and their factors. [..., m, n] -> [..., m + 1, n]"""
        return (self,), {}

    @_factorisation(lambda s: (*s[:-2], s[-2] + 1, s[-1]), _eigh_launch, reference.eigh)
    def _eigh_jacobi(self: Any) -> Prepared:
        """Eigenvalues, and vectors as columns, from the lower triangle. [..., n, n] -> [..., n + 1, n]"""
        return (self,), {}

    @_factorisation(lambda s: (*s[:-2], 2 * s[-2] + 1, s[-1]), _svd_launch, reference.svd)
    def _svd_jacobi(self: Any) -> Prepared:
        """Singular values, self @ V, V. [..., n, n] -> [..., 2 n + 1, n]"""
        return (self,), {}

    @kernel(
        "opaque",
        shape=lambda s, rows: (*s[:-1], rows),
        dtype=lambda d, rows: dt.int32,
        launch=_row_order_launch,
        xp=reference.row_order,
    )
    def _row_order(self: Any, rows: int) -> Prepared:
        """The order of rows after the swaps of LAPACK's pivots. [..., k] -> [..., rows]"""
        return (self,), {"rows": rows}
