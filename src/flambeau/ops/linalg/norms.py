"""Linear algebra composed of factorisations: norms, condition, ranks, pseudo-inverses, least squares."""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core import dtype as dt
from ...core.declare import composed, composite
from ...core.node import is_tensor
from ...core.shape import normal_dim
from ..elementwise import as_float, depend_on
from ..reduce import drop_dims, in_float32, reduced_dims
from . import factor as lf
from . import lu
from .decompose import linalg_eigvalsh, linalg_qr, linalg_svd, linalg_svdvals

if TYPE_CHECKING:
    from ...core.dtype import DTypeLike
    from ...core.rules import Gradients
    from ...core.shape import Shape

if TYPE_CHECKING:
    from ...tensor import Tensor

EPS = 2.0**-23


class LeastSquares(NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


# --- norms ---


def _power_grad(g: Tensor, y: Tensor, x: Tensor, ord: float, dims: tuple[int, ...]) -> Gradients:
    if ord == 0:
        return [None]
    zero = y == 0
    if ord == 2:  # x itself, not its absolute value: second derivatives stay exact at 0
        return [zero.where(0.0, g) / zero.where(1.0, y) * x]
    # d/dx (sum |x|^p)^(1/p) = sign(x) |x|^(p - 1) / y^(p - 1)
    scale = zero.where(0.0, g) / zero.where(1.0, y) ** (ord - 1)
    size = x.abs()
    # 0^(p - 1) is infinite for p < 1
    return [scale * x.sign() * ((size == 0).where(0.0, (size == 0).where(1.0, size) ** (ord - 1)))]


@composite(grad=_power_grad)
def _power_norm(x: Tensor, *, ord: float, dims: tuple[int, ...]) -> Tensor:
    """sum(|x|^ord)^(1 / ord) over dims, which stay with size 1; for ord 0 the number of nonzero elements."""
    if ord == 0:
        return (x != 0).float()._sum(dims)
    if ord == 1:
        return x.abs()._sum(dims)
    return (x * x)._sum(dims).sqrt() if ord == 2 else (x.abs() ** ord)._sum(dims) ** (1 / ord)


@composed
def linalg_vector_norm(
    x: Tensor,
    ord: float = 2,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """The norm of vectors along dims: any ord, infinities too. [..., n, ...] -> [...]

    Complex numbers count with their absolute values. The gradient is 0 at 0; for infinite ords equal elements
    share it.
    """
    x, result = _magnitudes(x, dtype)
    dims = reduced_dims(dim, x.ndim)
    if abs(ord) == float("inf"):
        return (x.abs().amax if ord > 0 else x.abs().amin)(dims, keepdim).to(result)
    return drop_dims(_power_norm(x, ord=float(ord), dims=dims), dims, keepdim).to(result)


def _magnitudes(x: Tensor, dtype: DTypeLike | None) -> tuple[Tensor, dt.DType]:
    """The elements (absolute values of complex ones) in float32 or wider, and the real dtype of the norm."""
    wide, dtype = in_float32(x, dtype)
    return wide.abs() if wide.dtype.is_complex else wide, dtype.real


def _largest(sizes: Tensor, dim: int, keepdim: bool = False) -> Tensor:
    """The largest of non-negative values; 0 for an empty dim, as in PyTorch's matrix norms."""
    return (sizes.amax if sizes.shape[dim] else sizes.sum)(dim, keepdim=keepdim)


def matrix_dims(x: Tensor, dim: Any) -> tuple[int, int]:
    """Two different dims, normalised; ValueError for others."""
    dims = tuple(normal_dim(d, x.ndim) for d in dim)
    if len(dims) != 2 or dims[0] == dims[1]:
        raise ValueError(f"dim={dim} must name two different dims: pass two")
    return dims


@composed
def linalg_matrix_norm(
    A: Tensor,
    ord: float | str = "fro",
    dim: int | Sequence[int] = (-2, -1),
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """The norm of matrices: "fro", "nuc", inf, -inf, 1, -1, 2, -2. [..., m, n] -> [...]

    A: a matrix or a batch of matrices
    ord: the norm's name or order
    Raises ValueError if ord is not a norm of matrices.
    """
    x, result = in_float32(A, dtype)
    rows, columns = matrix_dims(x, dim)
    if ord == "fro":
        return linalg_vector_norm(x, 2, (rows, columns), keepdim).to(result.real)
    if ord in (1, -1, float("inf"), float("-inf")):
        # 1 is the largest sum of a column, inf of a row.
        along, over = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = x.abs().sum(along, keepdim=True)
        norm = (_largest if ord > 0 else type(sums).amin)(sums, over, keepdim=True)
        return drop_dims(norm, (rows, columns), keepdim).to(result.real)
    if ord not in ("nuc", 2, -2):
        raise ValueError(f"ord={ord!r} is not a matrix norm: use 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2")
    # singular values reduce the last two dims
    order = (*(d for d in range(x.ndim) if d not in (rows, columns)), rows, columns)
    values = linalg_svdvals(x.permute(*order))
    norm = values.sum(-1) if ord == "nuc" else _largest(values, -1) if ord == 2 else values.amin(-1)
    shape = (1 if d in (rows, columns) else n for d, n in enumerate(x.shape))
    return (norm.reshape(*shape) if keepdim else norm).to(result.real)


@composed
def linalg_norm(
    A: Tensor,
    ord: float | str | None = None,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """A matrix norm for two dims, a vector norm for one; without ord the 2-norm of all elements.
    [..., m, n] -> [...]

    Raises ValueError if ord needs 1 or 2 dims and there are more.
    """
    dims = (dim,) if isinstance(dim, int) else dim
    if ord is None:
        return linalg_vector_norm(A, 2, dims, keepdim, dtype)
    if dims is None:
        dims = tuple(range(A.ndim))
        if A.ndim not in (1, 2):
            raise ValueError(f"ord={ord} needs a tensor of 1 or 2 dims: pass dim")
    norm: Any = linalg_vector_norm if len(dims) == 1 else linalg_matrix_norm
    return norm(A, ord, dims, keepdim, dtype)


@composed
def linalg_cond(A: Tensor, p: float | str | None = None) -> Tensor:
    """The condition number norm(A, p) * norm(A^-1, p); inf if A is singular. -> [...]

    Raises ValueError if A is not a batch of matrices, square ones unless p is None, 2 or -2; if ord is not a
        norm of matrices; TypeError for integers.
    """
    if 0 in A.shape:
        return lu.matrices(A, complex_too=True).abs().sum((-2, -1))  # zeros, as in PyTorch
    if p in (None, 2, -2):
        values = linalg_svdvals(A)
        low, high = values.amin(-1), values.amax(-1)
        return high / low if p != -2 else low / high
    # p = 1, inf, "fro", "nuc" by the definition.
    a = lu.matrices(A, square=True)
    return linalg_matrix_norm(a, p) * linalg_matrix_norm(lu.linalg_inv(a), p)


# --- rank, pseudo-inverse, least squares ---


def _column(x: Any) -> Any:
    """One number for each matrix as a column, to compare with its row of values."""
    return x.unsqueeze(-1) if is_tensor(x) and x.ndim else x


def _threshold(largest: Tensor, shape: Shape, atol: Any, rtol: Any) -> Tensor:
    """The bound below which singular values count as 0: the larger of atol and rtol * largest, as in
    PyTorch."""
    if rtol is None:
        rtol = max(shape[-2:]) * EPS if atol is None else 0.0  # PyTorch's default
    bound = largest * _column(rtol)
    return bound if atol is None else bound.maximum(_column(atol))


def _singular_values(a: Tensor, hermitian: bool) -> Tensor:
    # for Hermitian matrices singular values are absolute eigenvalues
    return linalg_eigvalsh(a).abs() if hermitian else linalg_svdvals(a)


@composed
def linalg_matrix_rank(
    A: Tensor,
    tol: float | None = None,
    hermitian: bool = False,
    *,
    atol: float | None = None,
    rtol: float | None = None,
) -> Tensor:
    """The number of singular values above a threshold (int64). [..., m, n] -> [...]

    A: a matrix or a batch of matrices
    tol: singular values below it count as 0
    hermitian: the matrix is symmetric: use eigenvalues instead of singular values
    atol: absolute tolerance
    rtol: relative tolerance
    Raises ValueError if A is not a batch of matrices, square ones if hermitian; TypeError for integers.
    """
    a = lu.matrices(A, complex_too=True).detach()
    if 0 in a.shape[-2:]:
        return type(a).zeros(a.shape[:-2], dtype=dt.default_integer(), device=a.device)
    values = _singular_values(a, hermitian)
    bound = _threshold(values.amax(-1, keepdim=True), a.shape, atol if tol is None else tol, rtol)
    return (values > bound).int().sum(-1)


def _pseudo_grad(g: Tensor, y: Tensor, a: Tensor, bound: Tensor) -> Gradients:
    """Golub and Pereyra (1973)."""
    gt, yt = g.mH, y.mH
    # Two forms of one formula: k is the smaller square matrix.
    if a.shape[-2] <= a.shape[-1]:
        k = gt @ y
        ky = k @ yt
        return [-(y @ k).mH + ky - (a @ y) @ ky + (yt @ y) @ (gt - k @ a), None]
    k = y @ gt
    yk = yt @ k
    return [-(k @ y).mH + (gt - a @ k) @ y @ yt + yk - (yk @ y) @ a, None]


@composite(grad=_pseudo_grad, holomorphic=False)
def _pseudo(a: Tensor, bound: Tensor) -> Tensor:
    """The pseudo-inverse; singular values up to bound count as 0. [..., m, n], [..., 1] -> [..., n, m]"""
    u, s, vh = linalg_svd(a, full_matrices=False)
    is_kept = s > bound
    return vh.mH @ (is_kept.where(1 / is_kept.where(s, 1.0), 0.0).unsqueeze(-1) * u.mH)


@composed
def linalg_pinv(
    A: Tensor,
    rcond: float | None = None,
    hermitian: bool = False,
    *,
    atol: float | None = None,
    rtol: float | None = None,
) -> Tensor:
    """The pseudo-inverse by singular values; rcond is rtol. [..., m, n] -> [..., n, m]

    A: a matrix or a batch of matrices
    hermitian: the matrix is symmetric: use eigenvalues instead of singular values
    atol: absolute tolerance
    Raises ValueError if A is not a batch of matrices, square ones if hermitian; TypeError for integers.
    """
    rtol = rcond if rtol is None else rtol
    a = lu.matrices(A, square=hermitian, complex_too=True)
    if 0 in a.shape:
        return depend_on(a.new_zeros(*a.shape[:-2], a.shape[-1], a.shape[-2]), a)
    a = a.tril() + a.tril(-1).mH if hermitian else a  # as in PyTorch, only the lower triangle is read
    largest = linalg_svdvals(a.detach()).amax(-1, keepdim=True)
    return _pseudo(a, _threshold(largest, a.shape, atol, rtol))


@composed
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """linalg.pinv by its older name. [..., m, n] -> [..., n, m]

    rcond: singular values below this share of the largest count as 0
    """
    return linalg_pinv(input, rtol=rcond)


def _by_qr(a: Tensor, b: Tensor) -> Tensor:
    m, n = a.shape[-2:]
    # Tall: R X = Q^H B. Wide, with A^H = Q R: X = Q R^-H B, which has the least norm.
    if m >= n:
        q, r = linalg_qr(a)
        return lu.linalg_solve_triangular(r, q.mH @ b, upper=True)
    q, r = linalg_qr(a.mH)
    return q @ lu.linalg_solve_triangular(r.mH, b, upper=False)


@composed
def linalg_lstsq(
    A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None
) -> LeastSquares:
    """The X of least |A X - B|; of several the one with the smallest norm. -> (solution [..., n, k], ...)

    driver "gels" (the default): by QR, for matrices of full rank. "gelsy", "gelsd", "gelss": by singular
    values, of any rank, with the rank and (except for gelsy) the singular values, which have no gradient.
    Residuals are returned if m > n (except for gelsy).

    rcond: singular values below this share of the largest count as 0
    Raises ValueError if the driver is unknown.
    """
    a, b = lu.matrices(A, complex_too=True), as_float(B)
    a, b = lu.host.same(a, b) if lu.is_complex(a, b) else (a, b)
    vector = lu.is_vector(a, b)
    b = b.unsqueeze(-1) if vector else b
    lu.fits(A, b, a.shape[-2])
    a, b = lf.broadcast_batches(a, b)
    m, n = a.shape[-2:]
    empty = lf.zeros(a, 0)
    rank, values = empty.to(dt.int64), empty
    if driver in (None, "gels"):
        x = _by_qr(a, b)
    elif driver in ("gelsy", "gelsd", "gelss"):
        # The rank decides which singular values are inverted, so both use one bound.
        rcond = EPS * max(m, n) if rcond is None else rcond
        x = linalg_pinv(a, rtol=rcond) @ b
        rank = linalg_matrix_rank(a, rtol=rcond)
        values = linalg_svdvals(a.detach()) if driver != "gelsy" else empty
    else:
        raise ValueError(f"driver={driver!r} is unknown: use 'gels', 'gelsy', 'gelsd' or 'gelss'")
    residuals = ((a @ x - b).abs() ** 2).sum(-2) if m > n and driver != "gelsy" else empty
    return LeastSquares(x.squeeze(-1) if vector else x, residuals, rank, values)
