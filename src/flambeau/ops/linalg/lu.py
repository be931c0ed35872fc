"""LU, systems of equations, inverses and determinants, by torch.linalg's names."""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...core import dtype as dt
from ...core.declare import composed, composite
from ..elementwise import as_float, with_zero_gradient
from . import complex_matrices as host
from . import factor as lf
from .factor import mT
from .kernels import Factor

if TYPE_CHECKING:
    from ...core.rules import Gradients
    from ...tensor import Tensor

COMPLEX = "solve, inv, det, lu, cholesky, qr, svd, eigh, eig, pinv or lstsq, which run on the host"


class LU(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor


class LUFactor(NamedTuple):
    LU: Tensor
    pivots: Tensor


class LUFactorEx(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor


class InverseEx(NamedTuple):
    inverse: Tensor
    info: Tensor


class SolveEx(NamedTuple):
    result: Tensor
    info: Tensor


class SignLogDet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor


def matrices(x: Tensor, square: bool = False, complex_too: bool = False) -> Tensor:
    """x as float32 or float64 (complex if complex_too), checked to be a batch of (square) matrices."""
    if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        kind = "square matrices" if square else "matrices"
        raise ValueError(
            f"shape {list(x.shape)} is not a batch of {kind}: needs [..., {'n, n' if square else 'm, n'}]"
        )
    if x.dtype.is_complex and not complex_too:
        raise TypeError(f"does not support complex matrices: use {COMPLEX}")
    if x.dtype.is_complex:
        return x
    if not x.dtype.is_float:
        raise TypeError(f"{x.dtype.name} matrices: linear algebra needs floats: cast with .float()")
    return as_float(x)


def first_failed(diagonal: Tensor) -> Tensor:
    """The 1-based index of the first element that is 0 or NaN, or 0. [..., n] -> [...] int32"""
    n = diagonal.shape[-1]
    if n == 0:
        return diagonal.sum(-1).int()
    bad = (diagonal == 0) | diagonal.isnan()
    # argmax gives the first of equal elements.
    first = bad.int().argmax(-1).int() + 1
    return bad.any(-1).where(first, 0)


# --- LU ---


def _packed_lu(A: Tensor) -> Tensor:
    """LU, the order of rows and pivots of a batch of matrices; complex ones on the host."""
    a = matrices(A, complex_too=True)
    return host.lu(a) if is_complex(a) else lf.lu(a)


def lu_info(packed: Tensor) -> Tensor:
    """The 1-based index of the first zero of U's diagonal, or 0. [..., m, n + 2] -> [...] int32"""
    return first_failed(lf.diagonal(packed.detach()[..., :-2]))


@composed
def linalg_lu_factor_ex(A: Tensor, pivot: bool = True, check_errors: bool = False) -> LUFactorEx:
    """LU in one matrix, pivots (int32, from 1), and info: the index (from 1) of U's first zero pivot, or 0.

    [..., m, n] -> [..., m, n], [..., min(m, n)], [...]. check_errors would read, so only False is possible.

    A: a matrix or a batch of matrices
    pivot: only True (row exchanges) is possible
    Raises ValueError if pivot is False, or check_errors is True.
    """
    _check_pivot(pivot)
    refuse_check(check_errors)
    packed = _packed_lu(A)
    return LUFactorEx(packed[..., :-2], lf.lu_pivots(packed), lu_info(packed))


@composed
def linalg_lu_factor(A: Tensor, pivot: bool = True) -> LUFactor:
    """LU in one matrix and pivots (int32, from 1). [..., m, n] -> [..., m, n], [..., min(m, n)]

    A: a matrix or a batch of matrices
    pivot: only True (row exchanges) is possible
    Raises ValueError if pivot is False.
    """
    _check_pivot(pivot)
    packed = _packed_lu(A)
    return LUFactor(packed[..., :-2], lf.lu_pivots(packed))


@composed
def linalg_lu(A: Tensor, pivot: bool = True) -> LU:
    """P, L, U with A = P @ L @ U. [..., m, n] -> [..., m, m], [..., m, k], [..., k, n]

    pivot: only True (row exchanges) is possible
    Raises ValueError if pivot is False.
    """
    _check_pivot(pivot)
    packed = _packed_lu(A)
    return LU(_permutation(lf.lu_order(packed)).to(packed.dtype), *lf.lu_parts(packed))


def _check_pivot(pivot: bool) -> None:
    if not pivot:
        raise ValueError("pivot=False is unstable and not supported: use pivot=True")


def refuse_check(check_errors: bool) -> None:
    """ValueError if check_errors is True: a check would force a device read."""
    if check_errors:
        raise ValueError("check_errors=True would read from the device: read info instead")


def _permutation(order: Tensor) -> Tensor:
    """P with P[order[j], j] = 1. [..., n] -> [..., n, n]"""
    places = type(order).arange(order.shape[-1], dtype=dt.int32, device=order.device)
    return (order.unsqueeze(-2) == places.unsqueeze(-1)).float()


@composed
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> LU:
    """P, L, U from the result of lu_factor. [..., m, n], [..., k] -> [..., m, m], [..., m, k], [..., k, n]

    LU_data: both factors in one matrix, as lu_factor returns them
    LU_pivots: the 1-based pivots that lu_factor returns
    unpack_data: return L and U, else empty tensors
    unpack_pivots: return P, else an empty tensor
    """
    m, n = LU_data.shape[-2:]
    empty = lf.zeros(LU_data, 0)
    low = up = permutation = empty
    if unpack_data:
        k = min(m, n)
        low = LU_data[..., :k].tril(-1) + lf.identity(LU_data, m, k)
        up = LU_data[..., :k, :].triu()
    if unpack_pivots:
        permutation = _permutation(Factor._row_order(LU_pivots, m)).to(LU_data.dtype)
    return LU(permutation, low, up)


@composed
def linalg_lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, left: bool = True, adjoint: bool = False
) -> Tensor:
    """Solve A X = B (X A = B if not left, A^H X = B if adjoint), given the LU factorization of A.
    [..., n, n], [..., n], [..., n, k] -> [..., n, k]

    LU: both factors in one matrix, as lu_factor returns them
    pivots: the 1-based pivots that lu_factor returns
    Raises ValueError if LU is not a batch of square matrices; if leading dims do not broadcast; TypeError for
        integers.
    """
    if not left:
        # X A = B is A^H X^H = B^H.
        return linalg_lu_solve(LU, pivots, B.mH, adjoint=not adjoint).mH
    n = matrices(LU, square=True, complex_too=True).shape[-1]
    a, b = lf.broadcast_batches(*(host.same(LU, B) if is_complex(LU, B) else (LU, B)))
    solve = host.triangular if is_complex(a) else lf.triangular
    order = Factor._row_order(pivots, n).expand(*a.shape[:-1])
    # A = P L U, so A^H X = B is U^H L^H (P^T X) = B.
    if adjoint:
        x = solve(a.mH, b, upper=False, unit=False)
        return lf.take_rows(solve(a.mH, x, upper=True, unit=True), lf.inverse_order(order))
    x = solve(a, lf.take_rows(b, order), upper=False, unit=True)
    return solve(a, x, upper=True, unit=False)


@composed
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """Solve A X = b, given the LU factorization of A. [..., n, k], [..., n, n], [..., n] -> [..., n, k]

    LU_data: both factors in one matrix, as lu_factor returns them
    LU_pivots: the 1-based pivots that lu_factor returns
    """
    return linalg_lu_solve(LU_data, LU_pivots, b)


# --- systems ---


def _solve_packed(packed: Tensor, b: Tensor, adjoint: bool) -> Tensor:
    """As lu_solve, for the packed result of factor.lu."""
    n, order = packed.shape[-2], lf.lu_order(packed)
    a = packed[..., :n]
    if adjoint:
        x = lf.substitute(mT(a), b, False, False)
        return lf.take_rows(lf.substitute(mT(a), x, True, True), lf.inverse_order(order))
    return lf.substitute(a, lf.substitute(a, lf.take_rows(b, order), False, True), True, False)


def _solve_grad(g: Tensor, y: Tensor, a: Tensor, b: Tensor, packed: Tensor, adjoint: bool) -> Gradients:
    # With the same LU: gb = A^-T g and ga = -gb X^T.
    gb = _solve(a, g, packed, adjoint=not adjoint)
    return [-(y @ mT(gb) if adjoint else gb @ mT(y)), gb, None]


@composite(grad=_solve_grad)
def _solve(a: Tensor, b: Tensor, packed: Tensor, *, adjoint: bool) -> Tensor:
    """X with a @ X = b (a transposed if adjoint). packed: the LU of a. -> [..., n, k]"""
    return lf.zeros(b, *b.shape) if 0 in b.shape else _solve_packed(packed, b, adjoint)


def is_vector(a: Tensor, b: Tensor) -> bool:
    """Whether b is a vector or a batch of vectors, as torch.linalg.solve decides."""
    return b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1])


def fits(a: Tensor, b: Tensor, rows: int) -> None:
    """ValueError unless b has as many rows."""
    if b.ndim < 2 or b.shape[-2] != rows:
        raise ValueError(f"{list(b.shape)} does not fit matrices {list(a.shape)}: it must have {rows} rows")


@composed
def linalg_solve_ex(A: Tensor, B: Tensor, left: bool = True, check_errors: bool = False) -> SolveEx:
    """linalg.solve, and info: the 1-based index of the first zero pivot, or 0.
    [..., n, n], [..., n, k] -> [..., n, k], int32 [...]

    B: the right-hand sides, as columns
    left: solve A X = B; else X A = B
    check_errors: only False is possible: a check would force a device read; read `info` instead
    Raises ValueError if check_errors is True; if A is not a batch of square matrices; if the right-hand sides
        do not fit the matrices; if leading dims do not broadcast; TypeError for integers.
    """
    refuse_check(check_errors)
    if is_complex(A, B):
        return SolveEx(_complex_solve(A, B, left), lu_info(_packed_lu(A.detach())))
    a, b = matrices(A, square=True), as_float(B)
    vector = is_vector(a, b)
    b = b.unsqueeze(-1) if vector else b
    a, b = (a, b) if left else (mT(a), mT(b))  # X A = B is A^T X^T = B^T
    fits(A, b, a.shape[-1])
    # The gradient is that of _solve, not of the factorisation.
    packed = lf.lu(a.detach())
    info = lu_info(packed)
    a, b, packed = lf.broadcast_batches(a, b, packed)
    x = _solve(a, b, packed, adjoint=False)
    x = x.squeeze(-1) if vector else x
    return SolveEx(x if left else mT(x), info)


def is_complex(*xs: Tensor) -> bool:
    return any(x.dtype.is_complex for x in xs)


def _complex_solve(A: Tensor, B: Tensor, left: bool) -> Tensor:
    a, vector = matrices(A, square=True, complex_too=True), is_vector(A, B)
    b = B.unsqueeze(-1) if vector else B
    a, b = (a, b) if left else (mT(a), mT(b))
    fits(A, b, a.shape[-1])
    x = host.solve(*lf.broadcast_batches(*host.same(a, b)))
    x = x.squeeze(-1) if vector else x
    return x if left else mT(x)


@composed
def linalg_solve(A: Tensor, B: Tensor, left: bool = True) -> Tensor:
    """X with A X = B, or X A = B if not left; inf or NaN if A is singular.

    [..., n, n], [..., n, k] -> [..., n, k]; B may be a vector or a batch of vectors; complex ones run on the
    host.
    """
    if is_complex(A, B):
        return _complex_solve(A, B, left)
    return linalg_solve_ex(A, B, left=left).result


@composed
def linalg_solve_triangular(
    A: Tensor, B: Tensor, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """X with A X = B (X A = B if not left) for the upper or lower triangle of A. -> [..., n, k]

    unitriangular: the diagonal counts as ones
    Raises ValueError if A is not a batch of square matrices, or B not one of matrices; if the right-hand
        sides do not fit the matrices; if leading dims do not broadcast; TypeError for integers.
    """
    a, b = matrices(A, True, complex_too=True), matrices(B, complex_too=True)
    a, b = host.same(a, b) if is_complex(a, b) else (a, b)
    if not left:
        a, b, upper = mT(a), mT(b), not upper
    fits(A, b, a.shape[-1])
    a, b = lf.broadcast_batches(a, b)
    solve = host.triangular if is_complex(a) else lf.triangular
    x = solve(a, b, upper=bool(upper), unit=bool(unitriangular))
    return x if left else mT(x)


def _inverse_grad(g: Tensor, y: Tensor, a: Tensor) -> Gradients:
    return [-(mT(y) @ g @ mT(y))]


@composite(grad=_inverse_grad)
def _inverse(a: Tensor) -> Tensor:
    """The inverse by LU. [..., n, n] -> [..., n, n]"""
    if 0 in a.shape:
        return lf.zeros(a, *a.shape)
    return _solve_packed(lf.lu(a), lf.identity(a, a.shape[-1]).expand(*a.shape), False)


@composed
def linalg_inv(A: Tensor) -> Tensor:
    """The inverse; inf or NaN if the matrix is singular. [..., n, n] -> [..., n, n]

    A: a square matrix or a batch of square matrices
    Raises ValueError if A is not a batch of square matrices; TypeError for integers.
    """
    a = matrices(A, square=True, complex_too=True)
    return host.inverse(a) if is_complex(a) else _inverse(a)


@composed
def linalg_inv_ex(A: Tensor, check_errors: bool = False) -> InverseEx:
    """The inverse, and info: the 1-based index of the first zero pivot, or 0.
    [..., n, n] -> [..., n, n], int32 [...]

    A: a square matrix or a batch of square matrices
    check_errors: only False is possible: a check would force a device read; read `info` instead
    Raises ValueError if check_errors is True.
    """
    refuse_check(check_errors)
    return InverseEx(linalg_inv(A), lu_info(_packed_lu(A.detach())))


# --- determinants ---


def _sign(packed: Tensor) -> Tensor:
    """1 for an even number of row exchanges, -1 for an odd one. [..., m, n + 2] -> [...]"""
    pivots = lf.lu_pivots(packed)
    places = type(pivots).arange(1, pivots.shape[-1] + 1, dtype=dt.int32, device=pivots.device)
    # a pivot that isn't its own row is an exchange
    return 1.0 - (pivots != places).int().sum(-1).remainder(2).float() * 2.0


def _det_grad(g: Tensor, y: Tensor, a: Tensor, packed: Tensor) -> Gradients:
    """The cofactors: det times the inverse transposed. A zero pivot counts as 1e-12."""
    n = a.shape[-1]
    d = lf.diagonal(packed[..., :n])
    tiny = (d == 0).float() * 1e-12
    packed = lf.join([packed[..., :n] + lf.diagonal_matrices(tiny), packed[..., n:]], -1)
    # P, L and U of the matrix with the changed diagonal: A^-T from two triangular systems.
    det = ((d + tiny).prod(-1) * _sign(packed) * g).unsqueeze(-1).unsqueeze(-1)
    x = lf.triangular(mT(packed[..., :n]), lf.identity(a, n).expand(*a.shape), upper=False, unit=False)
    x = lf.triangular(mT(packed[..., :n]), x, upper=True, unit=True)
    return [lf.take_rows(x, lf.inverse_order(lf.lu_order(packed))) * det, None]


@composite(grad=_det_grad)
def _det(a: Tensor, packed: Tensor) -> Tensor:
    """The determinant, given the LU factorization of a. [..., n, n], [..., n, n + 2] -> [...]"""
    return lf.diagonal(packed[..., :-2]).prod(-1) * _sign(packed)


@composed
def linalg_det(A: Tensor) -> Tensor:
    """The determinant, with a gradient even if it is 0 (NaN for complex matrices). [..., n, n] -> [...]

    A: a square matrix or a batch of square matrices
    Raises ValueError if A is not a batch of square matrices; TypeError for integers.
    """
    a = matrices(A, square=True, complex_too=True)
    if is_complex(a):
        sign, size = host.slogdet(a)
        return sign * size.exp()
    # the determinant of an empty matrix is 1
    return _det(a, lf.lu(a)) if 0 not in a.shape else a.sum((-2, -1)) + 1


@composed
def linalg_slogdet(A: Tensor) -> SignLogDet:
    """The determinant's sign (or 0) and the logarithm of its absolute value (or -inf). [..., n, n] -> [...],
    [...]

    A: a square matrix or a batch of square matrices
    Raises ValueError if A is not a batch of square matrices; TypeError for integers.
    """
    a = matrices(A, square=True, complex_too=True)
    if is_complex(a):
        return SignLogDet(*host.slogdet(a))
    packed = lf.lu(a)
    d = lf.diagonal(packed[..., :-2])
    # the sign is a step function
    return SignLogDet(
        with_zero_gradient((d.sign().prod(-1) * _sign(packed)).detach(), a), d.abs().log().sum(-1)
    )


@composed
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; NaN if it is negative, complex for complex matrices.
    [..., n, n] -> [...]"""
    sign, size = linalg_slogdet(input)
    if is_complex(input):
        return sign.log() + size
    return (sign < 0).where(float("nan"), size)
