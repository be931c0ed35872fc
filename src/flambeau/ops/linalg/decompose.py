"""Cholesky, QR, eigenvalues and singular values by torch.linalg's names, and the methods of tensors."""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ...core.declare import composed
from ...core.refused_gradient import refuse_gradients
from . import complex_matrices as host
from . import factor as lf
from .factor import mT
from .kernels import LARGEST
from .lu import first_failed, is_complex, matrices, refuse_check

if TYPE_CHECKING:
    from ...tensor import Tensor


class QR(NamedTuple):
    Q: Tensor
    R: Tensor


class CholeskyEx(NamedTuple):
    L: Tensor
    info: Tensor


class Eigh(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor


class SVD(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor


class SVDTopLevel(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor


class Geqrf(NamedTuple):
    a: Tensor
    tau: Tensor


def _not_larger(x: Tensor) -> Tensor:
    n = min(x.shape[-2:])
    if n > LARGEST:
        raise ValueError(
            f"{n} rows and columns are more than {LARGEST}: use a smaller matrix or a randomised method"
        )
    return x


# --- Cholesky ---


@composed
def linalg_cholesky(A: Tensor, upper: bool = False) -> Tensor:
    """L with A = L @ L^T (or U with U^T @ U), of the lower triangle; NaN where A is not positive definite.
    [..., n, n] -> [..., n, n]

    upper: use the upper triangle instead of the lower
    Raises ValueError if A is not a batch of square matrices; TypeError for integers.
    """
    a = matrices(A, square=True, complex_too=True)
    factorise = host.cholesky if is_complex(a) else lf.cholesky
    return factorise(a.mH).mH if upper else factorise(a)  # A^H has the same lower triangle as A an upper one


@composed
def linalg_cholesky_ex(A: Tensor, upper: bool = False, check_errors: bool = False) -> CholeskyEx:
    """linalg.cholesky, and info: the order (from 1) of the first minor that is not positive, or 0.
    [..., n, n] -> [..., n, n], int32 [...]

    A: a square matrix or a batch of square matrices
    upper: use the upper triangle instead of the lower
    check_errors: only False is possible: a check would force a device read; read `info` instead
    Raises ValueError if check_errors is True; if A is not a batch of square matrices; TypeError for integers.
    """
    refuse_check(check_errors)
    factor = linalg_cholesky(matrices(A, square=True, complex_too=True), upper=upper)
    return CholeskyEx(factor, first_failed(lf.diagonal(factor.detach().real)))


@composed
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """linalg.cholesky by its older name. [..., n, n] -> [..., n, n]

    upper: use the upper triangle instead of the lower
    """
    return linalg_cholesky(input, upper=upper)


@composed
def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """X with A X = B, for the Cholesky factor of A. [..., n, k], [..., n, n] -> [..., n, k]

    L: the triangular factor, as cholesky returns it
    upper: use the upper triangle instead of the lower
    Raises ValueError if L is not a batch of square matrices, or B not one of matrices; if leading dims do not
        broadcast; TypeError for integers.
    """
    low, b = matrices(L, square=True, complex_too=True), matrices(B, complex_too=True)
    low, b = host.same(low, b) if is_complex(low, b) else (low, b)
    low, b = lf.broadcast_batches(low.mH if upper else low, b)
    solve = _triangular_for(low)
    # A = L L^H: L Y = B, then L^H X = Y.
    return solve(low.mH, solve(low, b, upper=False, unit=False), upper=True, unit=False)


@composed
def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """The inverse of A, from its Cholesky factor. [..., n, n] -> [..., n, n]

    L: the triangular factor, as cholesky returns it
    upper: use the upper triangle instead of the lower
    """
    return cholesky_solve(lf.identity(L, L.shape[-1]).expand(*L.shape), L, upper=upper)


# --- QR ---


@composed
def linalg_qr(A: Tensor, mode: str = "reduced") -> QR:
    """Q with orthonormal columns and an upper R. [..., m, n] -> [..., m, k], [..., k, n], k = min(m, n)

    mode: "reduced", "complete" (Q is [m, m]), "r" (Q is empty). Signs of R's diagonal are those of LAPACK.
    A: a matrix or a batch of matrices
    Raises ValueError if mode is unknown.
    """
    a = matrices(A, complex_too=True)
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"mode={mode!r} is unknown: use 'reduced', 'complete' or 'r'")
    if is_complex(a):
        q, r = host.qr(a, mode == "complete")
        return QR(q if mode != "r" else q.new_zeros(0), r)
    packed = lf.qr(a, complete=mode == "complete")
    m = a.shape[-2]
    return QR(packed[..., :m, :] if mode != "r" else lf.zeros(a, 0), mT(packed[..., m:, :]))


@composed
def geqrf(input: Tensor) -> Geqrf:
    """Householder vectors below R, and their factors tau. [..., m, n] -> [..., m, n], [..., min(m, n)]

    There is no gradient: computing one raises TypeError.
    Raises ValueError if the input is not a batch of matrices; TypeError for integers.
    """
    batch = matrices(input, complex_too=True)
    a = batch.detach()
    m, n = a.shape[-2:]
    reflect = host.reflect if is_complex(a) else lf.reflect
    packed = reflect(a) if 0 not in a.shape else a.new_zeros(*a.shape[:-2], m + 1, n)
    packed = refuse_gradients("geqrf", packed, input=batch)
    return Geqrf(packed[..., :m, :], packed[..., m, : min(m, n)])


@composed
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """Q @ other (other @ Q if not left; Q^H if transpose) for the square Q of geqrf's factors, which is never
    computed. [..., m, k], [..., k], [..., m, n] -> [..., m, n], or other [..., n, m] -> [..., n, m]

    transpose: multiply by the conjugate transpose of Q. ValueError if sizes do not fit.
    tau: the factors of the reflections
    """
    a, b = matrices(input, complex_too=True), matrices(other, complex_too=True)
    m, k = a.shape[-2], tau.shape[-1]
    if b.shape[-2 if left else -1] != m or k > min(a.shape[-2:]):
        side = "rows" if left else "columns"
        rule = f"it must have {m} {side}, and tau at most {min(a.shape[-2:])} factors, not {k}"
        raise ValueError(f"other has shape {list(b.shape)}: {rule}")
    # Q = I - V T V^H, applied from the left or the right; Q^H has T^H.
    v, t = lf.reflectors(a[..., :k], tau, _triangular_for(a))
    t = t.mH if transpose else t
    return b - v @ (t @ (v.mH @ b)) if left else b - ((b @ v) @ t) @ v.mH


def _triangular_for(a: Tensor) -> Callable[..., Tensor]:
    """The solver of triangular systems for the dtype of a."""
    return host.triangular if is_complex(a) else lf.triangular


@composed
def linalg_householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of Householder reflections. [..., m, n], [..., k] -> [..., m, n]

    A: a matrix or a batch of matrices
    tau: the factors of the reflections
    Raises ValueError if there are fewer rows than columns, or columns than factors.
    """
    a, k = matrices(A, complex_too=True), tau.shape[-1]
    if not a.shape[-2] >= a.shape[-1] >= k:
        raise ValueError(f"shape {list(a.shape)} with {k} factors: needs rows >= columns >= factors")
    return lf.product(a[..., :k], tau, a.shape[-1], _triangular_for(a))


# --- eigenvalues, singular values ---


def _lower_triangle(a: Tensor, UPLO: str) -> Tensor:
    if UPLO.upper() not in ("L", "U"):
        raise ValueError(f"UPLO={UPLO!r} is unknown: use 'L' or 'U'")
    return a if UPLO.upper() == "L" else a.mH  # the adjoint has the upper triangle of a below its diagonal


@composed
def linalg_eigh(A: Tensor, UPLO: str = "L") -> Eigh:
    """Eigenvalues, ascending, and eigenvectors as columns, of symmetric matrices. -> [..., n], [..., n, n]

    Reads one triangle. Signs of the vectors, and the basis of equal eigenvalues, are arbitrary.

    A: a square matrix or a batch of square matrices
    UPLO: the triangle to read, "L" or "U"
    Raises ValueError if UPLO is neither "L" nor "U"; if A is not a batch of square matrices; if the matrices
        are larger than the algorithm supports; TypeError for integers.
    """
    a = _lower_triangle(matrices(A, square=True, complex_too=True), UPLO)
    if is_complex(a):
        return Eigh(*host.eigh(a))
    packed = lf.eigh(_not_larger(a))
    return Eigh(packed[..., 0, :], packed[..., 1:, :])


@composed
def linalg_eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Eigenvalues of symmetric matrices, ascending. [..., n, n] -> [..., n]

    A: a square matrix or a batch of square matrices
    UPLO: the triangle to read, "L" or "U"
    """
    return linalg_eigh(A, UPLO).eigenvalues


@composed
def linalg_svd(A: Tensor, full_matrices: bool = True, driver: str | None = None) -> SVD:
    """U, S, V^H with A = U diag(S) V^H, S descending. [..., m, n] -> [..., m, k], [..., k], [..., k, n]

    full_matrices: U is [m, m] and V^H [n, n]; the additional columns and rows have no gradient.
    driver: accepted and ignored: there is only one algorithm
    Raises ValueError if A is not a batch of matrices; if the matrices are larger than the algorithm supports;
        TypeError for integers.
    """
    a = matrices(A, complex_too=True)
    if is_complex(a):
        return _complex_svd(a, full_matrices)
    a = _not_larger(a)
    m, n = a.shape[-2:]
    # a wide matrix by its transpose, with U and V exchanged
    u, s, v = lf.svd_parts(lf.svd(a if m >= n else mT(a)), max(m, n))
    if full_matrices and m != n:
        # A complete QR of U adds orthonormal columns; they are arbitrary, so they have no gradient.
        further = lf.qr(u.detach(), complete=True)[..., : max(m, n), min(m, n) :]
        u = lf.join([u, further], -1)
    return SVD(u, s, mT(v)) if m >= n else SVD(v, s, mT(u))


def _complex_svd(a: Tensor, full_matrices: bool) -> SVD:
    (m, n), (u, s, vh) = a.shape[-2:], host.svd(a)
    if full_matrices and m > n:
        u = lf.join([u, host.qr(u.detach(), True)[0][..., n:]], -1)
    if full_matrices and m < n:
        vh = lf.join([vh, host.qr(vh.detach().mH, True)[0][..., m:].mH], -2)
    return SVD(u, s, vh)


@composed
def linalg_svdvals(A: Tensor, driver: str | None = None) -> Tensor:
    """Singular values, descending. [..., m, n] -> [..., min(m, n)]

    A: a matrix or a batch of matrices
    driver: accepted and ignored: there is only one algorithm
    """
    return linalg_svd(A, full_matrices=False).S


@composed
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> SVDTopLevel:
    """U, S, V (not transposed) with A = U diag(S) V^H; without compute_uv zeros for U and V.

    [..., m, n] -> [..., m, k], [..., k], [..., n, k]

    some: the reduced form, with min(m, n) columns
    """
    if not compute_uv:
        m, n = input.shape[-2:]  # PyTorch's zeros for vectors that are not computed
        return SVDTopLevel(
            lf.zeros(input, *input.shape[:-1], m),
            linalg_svdvals(input),
            lf.zeros(input, *input.shape[:-2], n, n),
        )
    u, s, vh = linalg_svd(input, full_matrices=not some)
    return SVDTopLevel(u, s, vh.mH)
