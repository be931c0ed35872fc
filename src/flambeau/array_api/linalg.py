"""The array API's extension of linear algebra."""

from typing import Any

from .. import functions
from .. import linalg as _ours
from ..core.shape import broadcast
from ..tensor import Tensor
from .elementwise import alike
from .statistical import sum as _sum


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The triangle whose product with its adjoint is x. [..., n, n] -> [..., n, n]"""
    return _ours.cholesky(x, upper=upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Cross products of vectors of 3 along an axis."""
    return _ours.cross(x1, x2, dim=axis)


def det(x: Tensor, /) -> Tensor:
    """Determinants. [..., n, n] -> [...]"""
    return _ours.det(x)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """Diagonals of the last two axes. [..., m, n] -> [..., k]"""
    return _ours.diagonal(x, offset=offset)


def eigh(x: Tensor, /) -> Any:
    """(eigenvalues, eigenvectors) of a matrix that is its own adjoint."""
    return _ours.eigh(x)


def eigvalsh(x: Tensor, /) -> Tensor:
    """Eigenvalues of a matrix that is its own adjoint. [..., n, n] -> [..., n]"""
    return _ours.eigvalsh(x)


def inv(x: Tensor, /) -> Tensor:
    """Inverses. [..., n, n] -> [..., n, n]"""
    return _ours.inv(x)


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Products of matrices."""
    x1, x2 = alike(x1, x2)
    return x1 @ x2


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """Norms of the last two axes."""
    return _ours.matrix_norm(x, ord=ord, keepdim=keepdims)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """x times itself, n times; of a negative n the inverse's."""
    return _ours.matrix_power(x, n)


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """How many singular values are above rtol times the largest."""
    return _ours.matrix_rank(x, rtol=rtol)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes exchanged."""
    return x.transpose(-1, -2)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """All products of two vectors. [m], [n] -> [m, n]"""
    return functions.outer(x1, x2)


def pinv(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """Pseudoinverses, by singular values above rtol times the largest."""
    return _ours.pinv(x, rtol=rtol)


def qr(x: Tensor, /, *, mode: str = "reduced") -> Any:
    """(Q, R): orthonormal columns, and the upper triangle that makes x of them."""
    return _ours.qr(x, mode)


def slogdet(x: Tensor, /) -> Any:
    """(sign, logabsdet) of determinants."""
    return _ours.slogdet(x)


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The solution of x1 @ y = x2; x2 is a vector only where it has one axis."""
    if x2.ndim == 1:
        return _ours.solve(x1, x2.unsqueeze(-1)).squeeze(-1)
    lead = broadcast(x1.shape[:-2], x2.shape[:-2])
    return _ours.solve(x1.expand(*lead, *x1.shape[-2:]), x2.expand(*lead, *x2.shape[-2:]))


def svd(x: Tensor, /, *, full_matrices: bool = True) -> Any:
    """(U, S, Vh): singular vectors and values."""
    return _ours.svd(x, full_matrices)


def svdvals(x: Tensor, /) -> Tensor:
    """Singular values, the largest first."""
    return _ours.svdvals(x)


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    """Products of elements, summed over axes of both."""
    a, b = alike(x1, x2)
    return functions.tensordot(a, b, axes)


def trace(x: Tensor, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """Sums of the diagonals of the last two axes. [..., m, n] -> [...]"""
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Sums of products along an axis, of the conjugate of x1."""
    x1, x2 = alike(x1, x2)
    return (x1.conj() * x2).sum(axis)


def vector_norm(x: Tensor, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """Norms along axes (None: of all)."""
    if axis is not None and not isinstance(axis, int) and not len(axis):
        x, axis, keepdims = x.unsqueeze(0), 0, False  # no axes: each element is a vector
    return _ours.vector_norm(x, ord=ord, dim=axis, keepdim=keepdims)
