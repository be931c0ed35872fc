"""Linear algebra over batches of matrices, as torch.linalg: docs/linalg.md has the conventions.

Made by `python scripts/write_stubs.py`."""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any

from .core.dtype import DType
from .ops.linalg.decompose import QR, SVD, CholeskyEx, Eigh
from .ops.linalg.lu import LU, InverseEx, LUFactor, LUFactorEx, SignLogDet, SolveEx
from .ops.linalg.norms import LeastSquares
from .tensor import Tensor

__all__ = [
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]

def cholesky(A: Tensor, upper: _bool = False) -> Tensor:
    """L with A = L @ L^T (or U with U^T @ U), of the lower triangle; NaN where A is not positive definite.
    [..., n, n] -> [..., n, n]

    upper: the upper triangle, not the lower
    Raises ValueError where these are no matrices (square ones, where due); TypeError for integers."""

def cholesky_ex(A: Tensor, upper: _bool = False, check_errors: _bool = False) -> CholeskyEx:
    """linalg.cholesky, and info: the order (from 1) of the first minor that is not positive, or 0.
    [..., n, n] -> [..., n, n], int32 [...]

    A: the matrix, or a batch of them
    upper: the upper triangle, not the lower
    check_errors: raise where a factorisation failed, in place of saying so in `info`
    Raises ValueError where check_errors is True; where these are no matrices (square ones, where due); TypeError for integers."""

def cond(A: Tensor, p: _float | str | None = None) -> Tensor:
    """How far relative errors can grow: norm(A, p) * norm(A^-1, p); inf where A is singular. -> [...]

    Raises ValueError where these are no matrices (square ones, where due); where ord is no norm of matrices; TypeError for integers."""

def cross(input: Tensor, other: Tensor, *, dim: _int = -1) -> Tensor:
    """The cross product of vectors of 3 elements along a dim. [..., 3], [..., 3] -> [..., 3]"""

def det(A: Tensor) -> Tensor:
    """The determinant, with a gradient where it is 0, too (NaN of complex matrices). [..., n, n] -> [...]

    A: the matrix, or a batch of them
    Raises ValueError where these are no matrices (square ones, where due); TypeError for integers."""

def diagonal(A: Tensor, *, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """The diagonal of two dims, as the last dim. [..., m, n] -> [..., k]

    A: the matrix, or a batch of them
    offset: which diagonal: above the main one where > 0, below where < 0
    dim1: the first of the two dims
    dim2: the second of the two dims
    Raises ValueError where dim are not two different dims."""

def eig(A: Tensor) -> Tensor:
    """Eigenvalues and eigenvectors, as columns of length 1, of any matrices: complex, in no order.

    Computed on the host: on a GPU the matrix is read, which a recorded call can't. ValueError where it is not
    square. [..., n, n] -> [..., n], [..., n, n]

    A: the matrix, or a batch of them"""

def eigh(A: Tensor, UPLO: str = "L") -> Eigh:
    """Eigenvalues, ascending, and eigenvectors as columns, of symmetric matrices. -> [..., n], [..., n, n]

    One triangle is read. Signs of the vectors, and the basis of equal values, are arbitrary.

    A: the matrix, or a batch of them
    UPLO: "L" or "U": which triangle is read
    Raises ValueError where UPLO is neither "L" nor "U"; where these are no matrices (square ones, where due); where the matrices are larger than the algorithm serves; TypeError for integers."""

def eigvals(A: Tensor) -> Tensor:
    """Eigenvalues of any matrices, complex, in no order, computed on the host. [..., n, n] -> [..., n]

    A: the matrix, or a batch of them
    Raises ValueError where they are no square matrices; TypeError for integers."""

def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Eigenvalues of symmetric matrices, ascending. [..., n, n] -> [..., n]

    A: the matrix, or a batch of them
    UPLO: "L" or "U": which triangle is read"""

def householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of Householder's reflections. [..., m, n], [..., k] -> [..., m, n]

    A: the matrix, or a batch of them
    tau: the reflections' factors
    Raises ValueError where there are fewer rows than columns, or columns than factors."""

def inv(A: Tensor) -> Tensor:
    """The inverse; inf or NaN where there is none. [..., n, n] -> [..., n, n]

    A: the matrix, or a batch of them
    Raises ValueError where these are no matrices (square ones, where due); TypeError for integers."""

def inv_ex(A: Tensor, check_errors: _bool = False) -> InverseEx:
    """The inverse, and info: the place (from 1) of the first zero pivot, 0 where A is regular.
    [..., n, n] -> [..., n, n], int32 [...]

    check_errors: raise where a factorisation failed, in place of saying so in `info`
    Raises ValueError where check_errors is True."""

def ldl_factor(A: Tensor, *, hermitian: _bool = False) -> Tensor:
    """L and D in one matrix, and pivots: ldl_factor_ex without info. [..., n, n] -> [..., n, n], [..., n]

    hermitian: as there.

    A: the matrix, or a batch of them"""

def ldl_factor_ex(A: Tensor, *, hermitian: _bool = False, check_errors: _bool = False) -> Tensor:
    """L and D in one matrix, pivots as LAPACK's sytrf, and info: the place of the first zero of D, or 0.

    [..., n, n] -> [..., n, n], [..., n], [...]. hermitian: of complex matrices that are their own adjoint,
    not their transpose. Computed on the host, of the lower triangle, without gradients. check_errors would
    read and so is refused: ValueError.

    A: the matrix, or a batch of them"""

def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: _bool = False) -> Tensor:
    """X with A X = B, of what ldl_factor gives. [..., n, n], [..., n], [..., n, k] -> [..., n, k]

    LD, pivots: these. hermitian: as there. ValueError where B has not n rows. Computed on the host, without
    gradients."""

def lstsq(A: Tensor, B: Tensor, rcond: _float | None = None, *, driver: str | None = None) -> LeastSquares:
    """X that makes |A X - B| least, of the shortest where there are many. -> (solution [..., n, k], ...)

    driver "gels" (the default): by QR, for matrices of full rank. "gelsy", "gelsd", "gelss": by singular
    values, of any rank, with the rank and (but for gelsy) the singular values. Residuals are given for m > n
    (but for gelsy).

    rcond: singular values below this share of the largest count as 0
    Raises ValueError where the driver is unknown."""

def lu(A: Tensor, pivot: _bool = True) -> LU:
    """P, L, U with A = P @ L @ U. [..., m, n] -> [..., m, m], [..., m, k], [..., k, n]

    pivot: exchange rows; only True is possible
    Raises ValueError where pivot is False."""

def lu_factor(A: Tensor, pivot: _bool = True) -> LUFactor:
    """LU in one matrix and pivots (int32, from 1). [..., m, n] -> [..., m, n], [..., min(m, n)]

    A: the matrix, or a batch of them
    pivot: exchange rows; only True is possible
    Raises ValueError where pivot is False."""

def lu_factor_ex(A: Tensor, pivot: _bool = True, check_errors: _bool = False) -> LUFactorEx:
    """LU in one matrix, pivots (int32, from 1), and info: the place of the first zero of U's diagonal, or 0.

    [..., m, n] -> [..., m, n], [..., min(m, n)], [...]. check_errors would read and so is refused.

    A: the matrix, or a batch of them
    pivot: exchange rows; only True is possible
    Raises ValueError where pivot is False, or check_errors is True."""

def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, left: _bool = True, adjoint: _bool = False) -> Tensor:
    """X with A X = B (X A = B if not left, A^H X = B if adjoint), A factorised. -> [..., n, k]

    LU: both factors in one matrix, as lu_factor gives them
    pivots: the rows that were exchanged, counted from 1
    Raises ValueError where these are no matrices (square ones, where due); where leading dims do not fit; TypeError for integers."""

def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The product of matrices, as Tensor.matmul. [..., n, k], [..., k, m] -> [..., n, m]"""

def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of square matrices of 1-norm up to 2^14. [..., n, n] -> [..., n, n]

    A: the matrix, or a batch of them
    Raises ValueError where these are no matrices (square ones, where due); TypeError for integers."""

def matrix_norm(
    A: Tensor,
    ord: _float | str = "fro",
    dim: _int | Sequence[_int] = (-2, -1),
    keepdim: _bool = False,
    dtype: DType | type[Any] | str | None = None,
) -> Tensor:
    """The norm of matrices: "fro", "nuc", inf, -inf, 1, -1, 2, -2. [..., m, n] -> [...]

    A: the matrix, or a batch of them
    ord: which norm
    Raises ValueError where ord is no norm of matrices."""

def matrix_power(A: Tensor, n: _int) -> Tensor:
    """A @ A @ ... n times, of the inverse for n < 0. [..., k, k] -> [..., k, k]

    Raises ValueError where these are no matrices (square ones, where due); TypeError for integers."""

def matrix_rank(
    A: Tensor,
    tol: _float | None = None,
    hermitian: _bool = False,
    *,
    atol: _float | None = None,
    rtol: _float | None = None,
) -> Tensor:
    """How many singular values are above a threshold (int64). [..., m, n] -> [...]

    A: the matrix, or a batch of them
    tol: singular values below it count as 0
    hermitian: the matrix is symmetric: eigenvalues take the place of singular values
    atol: absolute tolerance
    rtol: relative tolerance
    Raises ValueError where these are no matrices (square ones, where due); TypeError for integers."""

def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of matrices (the outer ones may be vectors) in the order of fewest multiplications.
    [n, k], [k, m], ... -> [n, m]

    Raises ValueError where there are fewer than two tensors, or one between the ends has not 2 dims."""

def norm(
    A: Tensor,
    ord: _float | str | None = None,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    dtype: DType | type[Any] | str | None = None,
) -> Tensor:
    """A matrix norm for two dims, a vector norm for one; without ord the 2-norm of all elements.
    [..., m, n] -> [...]

    Raises ValueError where ord needs 1 or 2 dims and there are more."""

def pinv(
    A: Tensor,
    rcond: _float | None = None,
    hermitian: _bool = False,
    *,
    atol: _float | None = None,
    rtol: _float | None = None,
) -> Tensor:
    """The pseudo-inverse by singular values; rcond is rtol. [..., m, n] -> [..., n, m]

    A: the matrix, or a batch of them
    hermitian: the matrix is symmetric: eigenvalues take the place of singular values
    atol: absolute tolerance
    Raises ValueError where these are no matrices (square ones, where due); TypeError for integers."""

def qr(A: Tensor, mode: str = "reduced") -> QR:
    """Q with orthonormal columns and an upper R. [..., m, n] -> [..., m, k], [..., k, n], k = min(m, n)

    mode: "reduced", "complete" (Q is [m, m]), "r" (Q is empty). Signs of R's diagonal are as Householder's.

    A: the matrix, or a batch of them
    Raises ValueError where mode is unknown."""

def slogdet(A: Tensor) -> SignLogDet:
    """Sign (or 0) and logarithm of the determinant's size (or -inf). [..., n, n] -> [...], [...]

    A: the matrix, or a batch of them
    Raises ValueError where these are no matrices (square ones, where due); TypeError for integers."""

def solve(A: Tensor, B: Tensor, left: _bool = True) -> Tensor:
    """X with A X = B, or X A = B if not left; inf or NaN where A is singular.

    [..., n, n], [..., n, k] -> [..., n, k]; B may be a vector or a batch of them; complex ones on the host."""

def solve_ex(A: Tensor, B: Tensor, left: _bool = True, check_errors: _bool = False) -> SolveEx:
    """linalg.solve, and info: the place (from 1) of the first zero pivot, 0 where A is regular.
    [..., n, n], [..., n, k] -> [..., n, k], int32 [...]

    B: the right-hand sides, one a column
    left: solve A X = B; else X A = B
    check_errors: raise where a factorisation failed, in place of saying so in `info`
    Raises ValueError where check_errors is True; where these are no matrices (square ones, where due); where the right-hand sides do not fit the matrices; where leading dims do not fit; TypeError for integers."""

def solve_triangular(
    A: Tensor, B: Tensor, upper: _bool, left: _bool = True, unitriangular: _bool = False
) -> Tensor:
    """X with A X = B (X A = B if not left) for the upper or lower triangle of A. -> [..., n, k]

    unitriangular: the diagonal is taken as ones
    Raises ValueError where these are no matrices (square ones, where due); where the right-hand sides do not fit the matrices; where leading dims do not fit; TypeError for integers."""

def svd(A: Tensor, full_matrices: _bool = True, driver: str | None = None) -> SVD:
    """U, S, V^H with A = U diag(S) V^H, S descending. [..., m, n] -> [..., m, k], [..., k], [..., k, n]

    full_matrices: U is [m, m] and V^H [n, n]; no gradient flows through their further columns and rows.

    driver: taken and without effect: there is one algorithm
    Raises ValueError where these are no matrices (square ones, where due); where the matrices are larger than the algorithm serves; TypeError for integers."""

def svdvals(A: Tensor, driver: str | None = None) -> Tensor:
    """Singular values, descending. [..., m, n] -> [..., min(m, n)]

    A: the matrix, or a batch of them
    driver: taken and without effect: there is one algorithm"""

def tensorinv(A: Tensor, ind: _int = 2) -> Tensor:
    """The inverse of tensordot by A, whose first `ind` dims are rows. [*m, *n] -> [*n, *m]

    Raises ValueError where the two halves differ in size."""

def tensorsolve(A: Tensor, B: Tensor, dims: _int | Sequence[_int] | None = None) -> Tensor:
    """X with tensordot(A, X, X.ndim) = B. [*B.shape, *X.shape], B -> X

    Raises ValueError where A is not square."""

def vander(x: Tensor, *, N: _int | None = None) -> Tensor:
    """Rising powers of x in columns. [..., n] -> [..., n, N]"""

def vecdot(x: Tensor, y: Tensor, *, dim: _int = -1) -> Tensor:
    """Sums of products along a dim, x conjugated where it is complex. [..., n], [..., n] -> [...]"""

def vector_norm(
    x: Tensor,
    ord: _float = 2,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    dtype: DType | type[Any] | str | None = None,
) -> Tensor:
    """The norm of vectors along dims: any ord, infinities too. [..., n, ...] -> [...]

    Of complex numbers their sizes. At 0 the gradient is 0; that of infinite ords is shared among equals."""
