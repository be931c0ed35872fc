"""Products of matrices and vectors, powers and the exponential."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from ...core import dtype as dt
from ...core.declare import composed, composite
from ...core.shape import normal_dim
from ..elementwise import with_zero_gradient
from ..reduce import in_float32
from . import factor as lf
from . import lu
from .decompose import linalg_qr
from .norms import linalg_matrix_norm, linalg_vector_norm, matrix_dims

if TYPE_CHECKING:
    from ...core.dtype import DTypeLike
    from ...core.rules import Gradients
    from ...ops.linalg.decompose import QR
    from ...tensor import Tensor

HALVINGS = 16  # of a matrix before its exponential is expanded


@composed
def linalg_matrix_power(A: Tensor, n: int) -> Tensor:
    """A @ A @ ... n times, of the inverse for n < 0. [..., k, k] -> [..., k, k]

    Raises ValueError if A is not a batch of square matrices; TypeError for integers.
    """
    a = lu.matrices(A, square=True, complex_too=True)
    a, n = (lu.linalg_inv(a), -n) if n < 0 else (a, n)
    power = None
    # Powers of two of a; those in n's binary form are multiplied.
    while n:
        if n & 1:
            power = a if power is None else power @ a
        a, n = (a @ a if n > 1 else a), n >> 1
    one = lf.identity(a, a.shape[-1]).to(a.dtype).expand(*a.shape)
    return with_zero_gradient(one, a) if power is None else power  # A^0 does not depend on A: gradient 0


def _exponential_grad(g: Tensor, y: Tensor, a: Tensor) -> Gradients:
    """The upper right block of exp([[A^H, g], [0, A^H]])."""
    # The block is the derivative of exp at A^H in the direction g (Mathias, 1996).
    n = a.shape[-1]
    top = lf.join([a.mH, g], -1)
    below = lf.join([lf.zeros(a, *a.shape).to(a.dtype), a.mH], -1)
    return [_exponential(lf.join([top, below], -2))[..., :n, n:]]


@composite(grad=_exponential_grad, holomorphic=False)
def _exponential(a: Tensor) -> Tensor:
    """exp of matrices: halved until small, eight terms of Taylor's series, then squared as often."""
    # Scaling and squaring: a / 2^times has a 1-norm of at most 1/4, where the remainder of the series is
    # below 0.25^9 / 9! = 1e-11. Then exp(a) = exp(a / 2^times)^(2^times).
    size = a.abs().sum(-2, keepdim=True).amax(-1, keepdim=True)
    times = (size * 4.0).log2().ceil().clamp(0.0, float(HALVINGS))
    x = a * (-times).exp2()
    one = lf.identity(a, a.shape[-1])
    y = one
    for k in range(8, 0, -1):
        y = one + (x @ y if k < 8 else x) * (1 / k)  # Horner's scheme
    # Matrices of a batch are squared as often as each was halved.
    for i in range(HALVINGS):
        y = (times > i).where(y @ y, y)
    return y


@composed
def linalg_matrix_exp(A: Tensor) -> Tensor:
    """The exponential of square matrices of 1-norm up to 2^14. [..., n, n] -> [..., n, n]

    A: a square matrix or a batch of square matrices
    Raises ValueError if A is not a batch of square matrices; TypeError for integers.
    """
    a = lu.matrices(A, square=True, complex_too=True)
    return a if 0 in a.shape else _exponential(a)


@composed
def matrix_power(input: Tensor, n: int) -> Tensor:
    """linalg.matrix_power by its older name. [..., k, k] -> [..., k, k]"""
    return linalg_matrix_power(input, n)


@composed
def matrix_exp(input: Tensor) -> Tensor:
    """linalg.matrix_exp by its older name. [..., n, n] -> [..., n, n]"""
    return linalg_matrix_exp(input)


@composed
def linalg_matmul(input: Tensor, other: Tensor) -> Tensor:
    """The product of matrices, as Tensor.matmul. [..., n, k], [..., k, m] -> [..., n, m]"""
    return input.matmul(other)


@composed
def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Increasing powers of x in columns. [..., n] -> [..., n, N]"""
    x = x if x.ndim else x.reshape(1)
    columns = x.shape[-1] if N is None else N
    return x.unsqueeze(-1).pow(type(x).arange(columns, dtype=dt.int32, device=x.device))


@composed
def linalg_vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Sums of products along a dim, x conjugated where it is complex. [..., n], [..., n] -> [...]"""
    return (x.conj() * y).sum(dim)


@composed
def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross product of vectors of 3 elements along a dim. [..., 3], [..., 3] -> [..., 3]

    Raises ValueError if the dim is not of size 3.
    """
    rank = max(input.ndim, other.ndim)
    back = rank - normal_dim(dim, rank)  # counted from the end: shapes broadcast from the last dim
    if not all(x.ndim >= back and x.shape[-back] == 3 for x in (input, other)):
        raise ValueError(f"dim {dim} of {list(input.shape)} and {list(other.shape)} is not of size 3 in both")
    return input.cross(other, dim)


@composed
def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonal of two dims, as the last dim. [..., m, n] -> [..., k]

    A: a matrix or a batch of matrices
    offset: which diagonal: above the main one where > 0, below where < 0
    dim1: the first of the two dims
    dim2: the second of the two dims
    Raises ValueError if dim does not name two different dims.
    """
    a, b = matrix_dims(A, (dim1, dim2))
    x = A.permute(*(d for d in range(A.ndim) if d not in (a, b)), a, b)
    m, n = x.shape[-2:]
    if offset:
        rows, columns = min(max(-offset, 0), m), min(max(offset, 0), n)
        x = x[..., rows:, columns:]  # the offset diagonal is the main one of a part
    return lf.diagonal(x)


@composed
def linalg_tensorsolve(A: Tensor, B: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    """X with tensordot(A, X, X.ndim) = B. [*B.shape, *X.shape], B -> X

    Raises ValueError if A is not square.
    """
    a = A
    if dims is not None:
        last = [normal_dim(d, a.ndim) for d in dims]
        a = a.permute(*(d for d in range(a.ndim) if d not in last), *last)
    shape = a.shape[B.ndim :]  # the dims of X
    if prod(shape) != prod(B.shape):
        raise ValueError(
            f"{list(a.shape)} is not square for {list(B.shape)}: {prod(B.shape)} by {prod(shape)}"
        )
    return lu.linalg_solve(a.reshape(prod(B.shape), prod(shape)), B.reshape(-1)).reshape(*shape)


@composed
def linalg_tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of tensordot by A, whose first `ind` dims are rows. [*m, *n] -> [*n, *m]

    Raises ValueError if the two halves differ in size.
    """
    rows, columns = A.shape[:ind], A.shape[ind:]
    if ind < 1 or prod(rows) != prod(columns):
        raise ValueError(f"{list(A.shape)} with ind={ind} is not square: {prod(rows)} by {prod(columns)}")
    return lu.linalg_inv(A.reshape(prod(rows), prod(columns))).reshape(*columns, *rows)


@composed
def qr(input: Tensor, some: bool = True) -> QR:
    """linalg.qr by its older name: reduced, or complete. [..., m, n] -> [..., m, k], [..., k, n]

    some: the reduced form, with min(m, n) columns
    """
    return linalg_qr(input, "reduced" if some else "complete")


@composed
def norm(
    input: Tensor,
    p: float | str | None = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """The p-norm of all elements or of some dims, "nuc" that of matrices. [..., n, ...] -> [...]

    ValueError if p is another string.
    """
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise ValueError(f"p={p!r} is not a norm: pass a number, 'fro' or 'nuc'")
    x, own = in_float32(input, dtype)
    dims = dim if dim is None or isinstance(dim, int) else tuple(dim)
    if p == "nuc":
        return linalg_matrix_norm(x, "nuc", (0, 1) if dims is None else dims, keepdim).to(own.real)
    return linalg_vector_norm(x, 2 if p in ("fro", None) else p, dims, keepdim).to(own.real)


@composed
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of the difference. [...], [...] -> []"""
    return (input - other).norm(p)


@composed
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Slices along a dim, scaled down to a p-norm of at most maxnorm. [...] -> [...]

    ValueError if p is not above 0, maxnorm is below 0, or the input has fewer than two dims; IndexError if
    there is no such dim.
    """
    if not p > 0 or not maxnorm >= 0:
        raise ValueError(f"p={p} must be above 0 and maxnorm={maxnorm} at least 0: pass such numbers")
    if input.ndim < 2:
        raise ValueError(f"takes at least 2 dims, not {input.ndim}: scale with linalg.vector_norm")
    d = normal_dim(dim, input.ndim)
    x, dtype = in_float32(input)
    size = linalg_vector_norm(x, p, tuple(e for e in range(input.ndim) if e != d), True)
    # PyTorch's 1e-7 keeps rounding from exceeding maxnorm
    return (x * (size > maxnorm).where(maxnorm / (size + 1e-7), 1.0)).to(dtype)
