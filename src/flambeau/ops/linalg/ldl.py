"""Symmetric indefinite matrices as L D L^T, where D has blocks of 1 and 2 (Bunch and Kaufman, 1977).

The algorithm goes column by column, which is unsuited to a GPU: the matrix is read, and the result is moved
back. The packed form and the pivots are those of LAPACK's sytrf and hetrf, for the lower triangle.
"""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...core import dtype as dt
from ...core.declare import composed, kernel
from ...core.refused_gradient import refuse_gradients
from . import complex_matrices as host
from . import factor as lf
from .lu import fits, matrices, refuse_check

if TYPE_CHECKING:
    from ...core.rules import Prepared
    from ...tensor import Tensor

ALPHA = (1 + 17**0.5) / 8  # bounds the growth of elements


class LDLFactor(NamedTuple):
    LD: Tensor
    pivots: Tensor


class LDLFactorEx(NamedTuple):
    LD: Tensor
    pivots: Tensor
    info: Tensor


def _pivot(size: Any, s: Any, k: int) -> tuple[int, int]:
    """The number of columns of the next block, and the row to exchange with the last one of the block."""
    n = len(s)
    column = size(s[k + 1 :, k])
    if k == n - 1 or max(size(s[k, k]), column.max()) == 0:
        return 1, k
    # A 1 x 1 pivot unless its diagonal element is small against the rest of its column. Then the largest
    # element of the column makes a 2 x 2 pivot, unless the test of its own row allows a 1 x 1 pivot.
    most = column.max()
    if size(s[k, k]) >= ALPHA * most:
        return 1, k
    row = k + 1 + int(column.argmax())
    largest_in_row = max(size(s[row, j]) for j in range(k, n) if j != row)
    if size(s[k, k]) >= ALPHA * most * (most / largest_in_row):
        return 1, k
    return (1, row) if size(s[row, row]) >= ALPHA * largest_in_row else (2, row)


def _factor_of(xp: Any, a: Any, hermitian: bool) -> Any:
    """L below D's blocks, and the pivots as a last column. [n, n] -> [n, n + 1]"""

    def adjoint(x: Any) -> Any:
        return xp.conj(x.T) if hermitian else x.T

    def size(x: Any) -> Any:
        return xp.abs(x.real) + xp.abs(x.imag)

    low = xp.tril(a, -1)
    main = xp.diagonal(a)  # only the lower triangle is read
    s = low + adjoint(low) + xp.diag(main.real if hermitian else main)
    n, pivots, k = len(s), [0] * len(s), 0
    while k < n:
        wide, row = _pivot(size, s, k)
        last, end = k + wide - 1, k + wide
        # Rows and columns are exchanged together, which keeps the matrix symmetric.
        swapped = [*range(k, n)]
        swapped[last - k], swapped[row - k] = row, last
        s[k:, k:] = s[swapped][:, swapped]
        block, below = s[k:end, k:end], s[end:, k:end].copy()
        # L21 = A21 D^-1, and the Schur complement A22 - L21 A21^H. A block of zeros leaves the rest
        # unchanged.
        if xp.any(block != 0):
            s[end:, k:end] = xp.linalg.solve(block.T, below.T).T
            s[end:, end:] -= s[end:, k:end] @ adjoint(below)
        for i in range(k, end):
            # LAPACK: 1-based, negative for both columns of a 2 x 2 block
            pivots[i] = (row + 1) * (1 if wide == 1 else -1)
        k = end
    return xp.concatenate([xp.tril(s), xp.asarray([pivots], dtype=s.dtype).T], axis=1)


def _solve_one(xp: Any, packed: Any, b: Any, hermitian: bool) -> Any:
    """X with A @ X = b, for the result of _factor_of(A). [n, n + 1], [n, k] -> [n, k]"""
    low, pivots, x = packed[:, :-1], packed[:, -1].real.astype(int), b.copy()
    blocks: list[tuple[int, int, int, int]] = []
    k = 0
    while k < len(low):
        wide = 1 if pivots[k] > 0 else 2
        last, row, end = k + wide - 1, abs(int(pivots[k])) - 1, k + wide
        blocks.append((k, end, last, row))
        x[[last, row]] = x[[row, last]]
        x[end:] -= low[end:, k:end] @ x[k:end]
        block = low[k:end, k:end]
        strict = xp.tril(block, -1)  # the block's upper element mirrors its lower one
        x[k:end] = xp.linalg.solve(block + (xp.conj(strict.T) if hermitian else strict.T), x[k:end])
        k = end
    # Backward: the transposed factor, with the exchanges undone in reverse order.
    for k, end, last, row in reversed(blocks):
        part = low[end:, k:end].T
        x[k:end] -= (xp.conj(part) if hermitian else part) @ x[end:]
        x[[last, row]] = x[[row, last]]
    return x


def _factor_reference(xp: Any, a: Any, hermitian: bool) -> Any:
    def factor(x: Any) -> Any:
        return _factor_of(xp, x, hermitian)

    return host.each(xp, factor, (a.shape[-1], a.shape[-1] + 1), a)


def _solve_reference(xp: Any, packed: Any, b: Any, hermitian: bool) -> Any:
    def solve(p: Any, x: Any) -> Any:
        return _solve_one(xp, p, x, hermitian)

    return host.each(xp, solve, b.shape[-2:], packed, b)


class Symmetric:
    """The ops. They are not methods of tensors: linalg's functions move matrices to the host first."""

    @kernel(
        "opaque",
        shape=lambda s, hermitian: (*s[:-1], s[-1] + 1),
        dtype=lambda d, hermitian: d,
        dtypes="fc",
        xp=_factor_reference,
    )
    def _ldl_on_host(self, hermitian: bool) -> Prepared:
        """L, D and the pivots. [..., n, n] -> [..., n, n + 1]

        hermitian: a complex matrix equals its adjoint, not its transpose
        """
        return (self,), {"hermitian": hermitian}

    @kernel(
        "opaque",
        shape=lambda s, b, hermitian: b,
        dtype=lambda d, b, hermitian: d,
        dtypes="fc",
        xp=_solve_reference,
    )
    def _ldl_solve_on_host(self, b: Tensor, hermitian: bool) -> Prepared:
        """X with A @ X = b, where self is the packed form of A. [..., n, n + 1], [..., n, k] -> [..., n, k]

        hermitian: a complex matrix equals its adjoint, not its transpose
        """
        return (self, b), {"hermitian": hermitian}


@composed
def linalg_ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> LDLFactorEx:
    """L and D in one matrix, pivots as LAPACK's sytrf, and info: the 1-based index of D's first zero, or 0.

    [..., n, n] -> [..., n, n], [..., n], [...]. hermitian: complex matrices equal their adjoint, not their
    transpose. Computed on the host from the lower triangle, without gradients: computing one raises
    TypeError. ValueError if check_errors is True: the check would read a value from the device.

    A: a square matrix or a batch of square matrices
    """
    refuse_check(check_errors)
    a = matrices(A, square=True, complex_too=True)
    packed = host.on_host(Symmetric._ldl_on_host, a.detach(), hermitian=bool(hermitian))
    packed = refuse_gradients("ldl_factor", packed, A=a)
    n = a.shape[-1]
    pivots = packed[..., n].real.to(dt.int32)
    single = (pivots > 0) & (lf.diagonal(packed[..., :n]) == 0)  # a zero 1 x 1 block makes D singular
    first = single.int().argmax(-1).int() + 1 if n else single.sum(-1).int()
    return LDLFactorEx(packed[..., :n], pivots, single.any(-1).where(first, 0) if n else first)


@composed
def linalg_ldl_factor(A: Tensor, *, hermitian: bool = False) -> LDLFactor:
    """L and D in one matrix, and pivots: ldl_factor_ex without info. [..., n, n] -> [..., n, n], [..., n]

    hermitian: as in ldl_factor_ex.
    A: a square matrix or a batch of square matrices
    """
    return LDLFactor(*linalg_ldl_factor_ex(A, hermitian=hermitian)[:2])


@composed
def linalg_ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """X with A X = B, for the result of ldl_factor(A). [..., n, n], [..., n], [..., n, k] -> [..., n, k]

    LD, pivots: as ldl_factor returns them. hermitian: as in ldl_factor_ex.
    ValueError if B does not have n rows. Computed on the host, without gradients: computing one raises
    TypeError.
    """
    a, b = matrices(LD, square=True, complex_too=True), matrices(B, complex_too=True)
    fits(LD, B, a.shape[-1])
    low, right = host.same(a.detach(), b.detach())
    packed = lf.join([low, pivots.unsqueeze(-1).to(low.dtype)], -1)
    operands = lf.broadcast_batches(packed, right)
    solution = host.on_host(Symmetric._ldl_solve_on_host, *operands, hermitian=bool(hermitian))
    return refuse_gradients("ldl_solve", solution, LD=a, B=b)
