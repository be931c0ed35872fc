"""The array API's linear algebra extension."""

from typing import Any

from .. import functions
from .. import linalg as _ours
from ..core.dtype import DTypeLike
from ..core.shape import broadcast
from ..tensor import Tensor
from .elementwise import alike
from .statistical import sum as _sum


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """Compute the Cholesky factor of x. [..., n, n] -> [..., n, n]"""
    return _ours.cholesky(x, upper=upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Compute cross products of 3-vectors along an axis."""
    return _ours.cross(x1, x2, dim=axis)


def det(x: Tensor, /) -> Tensor:
    """Compute determinants. [..., n, n] -> [...]"""
    return _ours.det(x)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """Return diagonals of the last two axes. [..., m, n] -> [..., k]"""
    return _ours.diagonal(x, offset=offset)


def eigh(x: Tensor, /) -> Any:
    """Compute (eigenvalues, eigenvectors) of a Hermitian matrix."""
    return _ours.eigh(x)


def eigvalsh(x: Tensor, /) -> Tensor:
    """Compute the eigenvalues of a Hermitian matrix. [..., n, n] -> [..., n]"""
    return _ours.eigvalsh(x)


def inv(x: Tensor, /) -> Tensor:
    """Compute inverses. [..., n, n] -> [..., n, n]"""
    return _ours.inv(x)


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Multiply matrices."""
    x1, x2 = alike(x1, x2)
    return x1 @ x2


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """Compute norms over the last two axes."""
    return _ours.matrix_norm(x, ord=ord, keepdim=keepdims)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Raise x to the integer power n; a negative n uses the inverse."""
    return _ours.matrix_power(x, n)


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """Count the singular values above rtol times the largest."""
    return _ours.matrix_rank(x, rtol=rtol)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """Transpose the last two axes."""
    return x.transpose(-1, -2)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Compute the outer product of two vectors. [m], [n] -> [m, n]"""
    return functions.outer(x1, x2)


def pinv(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """Compute pseudoinverses from the singular values above rtol times the largest."""
    return _ours.pinv(x, rtol=rtol)


def qr(x: Tensor, /, *, mode: str = "reduced") -> Any:
    """Compute (Q, R) with orthonormal columns Q, upper triangular R and x = Q R."""
    return _ours.qr(x, mode)


def slogdet(x: Tensor, /) -> Any:
    """Compute (sign, logabsdet) of determinants."""
    return _ours.slogdet(x)


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Solve x1 @ y = x2; x2 is a vector only if it has one axis."""
    # The standard decides by x2's axes alone; PyTorch would also take a matrix as a batch of vectors.
    if x2.ndim == 1:
        return _ours.solve(x1, x2.unsqueeze(-1)).squeeze(-1)
    lead = broadcast(x1.shape[:-2], x2.shape[:-2])
    return _ours.solve(x1.expand(*lead, *x1.shape[-2:]), x2.expand(*lead, *x2.shape[-2:]))


def svd(x: Tensor, /, *, full_matrices: bool = True) -> Any:
    """Compute (U, S, Vh): singular vectors and values."""
    return _ours.svd(x, full_matrices)


def svdvals(x: Tensor, /) -> Tensor:
    """Compute the singular values, largest first."""
    return _ours.svdvals(x)


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    """Contract axes of two arrays."""
    a, b = alike(x1, x2)
    return functions.tensordot(a, b, axes)


def trace(x: Tensor, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """Sum the diagonals of the last two axes. [..., m, n] -> [...]"""
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Sum the products of x1's conjugate and x2 along an axis."""
    x1, x2 = alike(x1, x2)
    return (x1.conj() * x2).sum(axis)


def vector_norm(x: Tensor, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """Compute norms along axes (None: all)."""
    if axis is not None and not isinstance(axis, int) and not len(axis):
        x, axis, keepdims = x.unsqueeze(0), 0, False  # no axes: each element is a vector
    return _ours.vector_norm(x, ord=ord, dim=axis, keepdim=keepdims)
