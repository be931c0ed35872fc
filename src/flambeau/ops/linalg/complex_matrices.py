"""Factorisations of complex matrices, computed on the host, with PyTorch's gradients.

Only the NumPy device implements them. A matrix on a GPU is read and the result is moved back, so these
functions can't be recorded. Results of several parts are rows of one array, as those of real matrices.
"""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ...core.declare import P, kernel
from ...core.dtype import promote
from ..elementwise import as_float
from ..join import cat
from . import factor as lf

if TYPE_CHECKING:
    from ...core.dtype import DType
    from ...core.rules import Gradient, Gradients, Prepared, Reference, ShapeRule
    from ...core.shape import Shape
    from ...tensor import Tensor


def on_host(op: Callable[..., Tensor], *xs: Any, **attrs: Any) -> Tensor:
    """Run an op of this module on the NumPy device; the result is moved to the device of the first input."""
    result = op(*(as_float(x).to("cpu") for x in xs), **attrs)
    return result.to(xs[0].device)


def eye(x: Tensor, n: int) -> Tensor:
    """Ones on the diagonal, in the dtype and on the device of x."""
    places = type(x).arange(n, device=x.device)
    return (places.unsqueeze(-1) == places).to(x.dtype)


def diagonal(x: Tensor) -> Tensor:
    return x.diagonal(0, -2, -1)


def diagonal_matrices(d: Tensor) -> Tensor:
    """Vectors as diagonals of matrices. [..., n] -> [..., n, n]"""
    return d.unsqueeze(-1) * eye(d, d.shape[-1])


def each(xp: Any, f: Callable[..., Any], shape: Shape, *xs: Any) -> Any:
    """f of every matrix of a batch, NaN where it raises LinAlgError. -> [..., *shape]"""
    lead = xs[0].shape[:-2]
    # a failed matrix leaves its NaN, the others are computed
    out = xp.full((*lead, *shape), float("nan"), dtype=xs[0].dtype)
    if any(0 in x.shape for x in xs):
        return out
    rows = out.reshape(-1, *shape)
    for i, matrices in enumerate(zip(*(x.reshape(-1, *x.shape[-2:]) for x in xs), strict=True)):
        try:
            rows[i] = f(*matrices)
        except xp.linalg.LinAlgError:
            continue
    return rows.reshape(out.shape)


# --- references, on arrays ---


def _solve_reference(xp: Any, a: Any, b: Any) -> Any:
    return each(xp, xp.linalg.solve, b.shape[-2:], a, b)


def _lu_of(xp: Any, a: Any) -> Any:
    """LU with LAPACK's choice of pivots: the row with the largest |real| + |imag|. Packed as factor.lu: order
    and pivots are the last columns."""
    m, n = a.shape
    a, order, pivots = a.copy(), list(range(m)), [0] * m
    for k in range(min(m, n)):
        # The largest |real| + |imag| of the column, as LAPACK's izamax.
        p = k + int(xp.argmax(xp.abs(a[k:, k].real) + xp.abs(a[k:, k].imag)))
        a[[k, p]], pivots[k] = a[[p, k]], p + 1
        order[k], order[p] = order[p], order[k]
        with xp.errstate():
            # a zero pivot: the column below is 0 already
            a[k + 1 :, k] = a[k + 1 :, k] / a[k, k] if a[k, k] else 0
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k : k + 1] * a[k, k + 1 :]
    return xp.concatenate([a, xp.asarray([order, pivots], dtype=a.dtype).T], axis=1)


def _lu_reference(xp: Any, a: Any) -> Any:
    m, n = a.shape[-2:]
    return each(xp, partial(_lu_of, xp), (m, n + 2), a)


def _cholesky_of(xp: Any, a: Any) -> Any:
    """The factor of the largest leading submatrix that is positive definite; NaN outside it."""
    out = xp.full(a.shape, float("nan"), dtype=a.dtype)
    for k in range(a.shape[-1], 0, -1):
        try:
            out[:k, :k] = xp.linalg.cholesky(a[:k, :k])
            out[:k, k:] = 0
            break
        except xp.linalg.LinAlgError:
            continue
    return out


def _cholesky_reference(xp: Any, a: Any) -> Any:
    return each(xp, partial(_cholesky_of, xp), a.shape[-2:], a)


def _qr_reference(xp: Any, a: Any, complete: bool) -> Any:
    q, r = xp.linalg.qr(a, mode="complete" if complete else "reduced")
    return xp.concatenate([q, xp.swapaxes(r, -1, -2)], axis=-2)


def _geqrf_reference(xp: Any, a: Any) -> Any:
    factors, tau = xp.linalg.qr(a, mode="raw")  # LAPACK's columns as rows
    last = xp.zeros((*a.shape[:-2], 1, a.shape[-1]), dtype=a.dtype)
    last[..., 0, : tau.shape[-1]] = tau
    return xp.concatenate([xp.swapaxes(factors, -1, -2), last], axis=-2)


def _eigh_reference(xp: Any, a: Any) -> Any:
    values, vectors = xp.linalg.eigh(a)
    return xp.concatenate([xp.astype(values[..., None, :], a.dtype), vectors], axis=-2)


def _slogdet_reference(xp: Any, a: Any) -> Any:
    sign, size = xp.linalg.slogdet(a)
    return xp.stack([sign, xp.astype(size, sign.dtype)], axis=-1)


def _svd_reference(xp: Any, a: Any) -> Any:
    u, s, vh = xp.linalg.svd(a, full_matrices=False)
    values = xp.astype(s[..., None, :], a.dtype)
    return xp.concatenate([values, u, xp.conj(xp.swapaxes(vh, -1, -2))], axis=-2)


# --- gradients: dL/d(real part) + i dL/d(imaginary part) ---


def _solve_grad(g: Tensor, y: Tensor, a: Tensor, b: Tensor) -> Gradients:
    # X = A^-1 B: gB = A^-H gX, gA = -gB X^H.
    gb = on_host(Host._solve_on_host, a.mH, g)
    return [-(gb @ y.mH), gb]


def _halve_diagonal(x: Tensor) -> Tensor:
    """The lower triangle with half the diagonal."""
    return x.tril() - diagonal_matrices(diagonal(x)) * 0.5


def _cholesky_grad(g: Tensor, y: Tensor, a: Tensor) -> Gradients:
    """Murray (2016)."""
    inner = _halve_diagonal(y.mH @ g)
    inner = inner + inner.mH
    left = on_host(Host._solve_on_host, y.mH, inner)
    # L^-H (phi + phi^H) L^-1 / 2, by two solves.
    return [on_host(Host._solve_on_host, y.mH, left.mH).mH * 0.5]


def _lu_grad(g: Tensor, y: Tensor, a: Tensor) -> Gradients:
    return [lf.lu_slope(g, y, triangular)]


def _qr_grad(g: Tensor, y: Tensor, a: Tensor, complete: bool) -> Gradients:
    """Walter and Lehmann (2018). With more columns than rows, the last columns of R are Q^H times those of
    A."""
    m, n = a.shape[-2:]
    if complete and m > n:
        raise ValueError("the columns of Q beyond those of A have no gradient: use mode='reduced'")
    q, r, gq, gr = y[..., :m, :], y[..., m:, :].mT, g[..., :m, :], g[..., m:, :].mT
    k = min(m, n)
    square, last = r[..., :k], None
    if n > k:  # the last columns of R: Q^H times those of A
        last = q @ gr[..., k:]
        gq, gr = gq + a[..., k:] @ gr[..., k:].mH, gr[..., :k]
    inner = (gr @ square.mH - q.mH @ gq).triu()
    inner = inner + inner.mH - diagonal_matrices(diagonal(inner).real)
    first = on_host(Host._solve_on_host, square, (gq + q @ inner).mH).mH
    return [first if last is None else cat([first, last], -1)]


def _gaps(values: Tensor) -> Tensor:
    """1 / (values[j] - values[i]), 0 where they are equal. [..., n] -> [..., n, n]"""
    gap = values.unsqueeze(-2) - values.unsqueeze(-1)
    same = gap == 0
    return same.where(0.0, 1 / same.where(1.0, gap))


def _eigh_grad(g: Tensor, y: Tensor, a: Tensor) -> Gradients:
    values, v = y[..., 0, :].real, y[..., 1:, :]
    inner = (v.mH @ g[..., 1:, :]) * _gaps(values) + diagonal_matrices(g[..., 0, :].real).to(y.dtype)
    return [v @ inner @ v.mH]


def _svd_grad(g: Tensor, y: Tensor, a: Tensor) -> Gradients:
    """For losses that do not depend on the phases of the vectors, which are arbitrary."""
    m = a.shape[-2]
    u, s, v = y[..., 1 : m + 1, :], y[..., 0, :].real, y[..., m + 1 :, :]
    gu, gs, gv = g[..., 1 : m + 1, :], g[..., 0, :].real, g[..., m + 1 :, :]
    zero = s == 0
    inverse = zero.where(0.0, 1 / zero.where(1.0, s))
    gaps = _gaps(s * s)
    of_u, of_v = u.mH @ gu, v.mH @ gv
    inner = (of_u - of_u.mH) * gaps * s.unsqueeze(-2) + s.unsqueeze(-1) * ((of_v - of_v.mH) * gaps)
    # As in PyTorch, complex vectors add the imaginary diagonal of U^H gU, divided by S.
    inner = inner + diagonal_matrices(gs) + diagonal_matrices(diagonal(of_u).imag * inverse * 1j)
    of_a = u @ inner @ v.mH
    if u.shape[-2] > u.shape[-1]:
        of_a = of_a + ((gu - u @ of_u) * inverse.unsqueeze(-2)) @ v.mH
    if v.shape[-2] > v.shape[-1]:
        of_a = of_a + u @ ((gv - v @ of_v) * inverse.unsqueeze(-2)).mH
    return [of_a]


def _slogdet_grad(g: Tensor, y: Tensor, a: Tensor) -> Gradients:
    """The logarithm's derivative is the inverse; its imaginary part is the angle of the sign."""
    # The sign's phase changes by the imaginary part of d log(det).
    angle = (g[..., 0].conj() * y[..., 0]).imag
    slope = g[..., 1].real - angle * 1j
    return [inverse(a).mH * slope.unsqueeze(-1).unsqueeze(-1)]


def _first_dtype(d: DType, *_: DType, **__: Any) -> DType:
    return d


def _op(
    shape: ShapeRule, xp: Reference, grad: Gradient | None
) -> Callable[[Callable[P, Any]], Callable[P, Tensor]]:
    return kernel("opaque", shape=shape, dtype=_first_dtype, dtypes="fc", xp=xp, grad=grad, holomorphic=False)


class Host:
    """The ops. They are not methods of tensors: linalg's functions move matrices to the host first."""

    @_op(lambda a, b: b, _solve_reference, _solve_grad)
    def _solve_on_host(self, b: Tensor) -> Prepared:
        """X with self @ X = b, NaN where self is singular. [..., n, n], [..., n, k] -> [..., n, k]"""
        return (self, b), {}

    @_op(lambda s: (*s[:-1], s[-1] + 2), _lu_reference, _lu_grad)
    def _lu_on_host(self) -> Prepared:
        """L and U in one matrix, the order of the rows, the 1-based pivots. [..., m, n] -> [..., m, n + 2]"""
        return (self,), {}

    @_op(lambda a: a, _cholesky_reference, _cholesky_grad)
    def _cholesky_on_host(self) -> Prepared:
        """L with self = L @ L.mH, NaN where self is not positive definite. [..., n, n] -> [..., n, n]"""
        return (self,), {}

    @_op(
        lambda s, complete: (*s[:-2], s[-2] + s[-1], s[-2] if complete else min(s[-2:])),
        _qr_reference,
        _qr_grad,
    )
    def _qr_on_host(self, complete: bool) -> Prepared:
        """Q over R transposed. [..., m, n] -> [..., m + n, k]"""
        return (self,), {"complete": complete}

    @_op(lambda s: (*s[:-2], s[-2] + 1, s[-1]), _geqrf_reference, None)
    def _geqrf_on_host(self) -> Prepared:
        """LAPACK's packed form with the factors tau as a last row. [..., m, n] -> [..., m + 1, n]"""
        return (self,), {}

    @_op(lambda s: (*s[:-2], s[-1] + 1, s[-1]), _eigh_reference, _eigh_grad)
    def _eigh_on_host(self) -> Prepared:
        """Eigenvalues over eigenvectors, of the lower triangle. [..., n, n] -> [..., n + 1, n]"""
        return (self,), {}

    @_op(lambda s: (*s[:-2], 2), _slogdet_reference, _slogdet_grad)
    def _slogdet_on_host(self) -> Prepared:
        """The determinant's sign, and the logarithm of its absolute value. [..., n, n] -> [..., 2]"""
        return (self,), {}

    @_op(lambda s: (*s[:-2], 1 + s[-2] + s[-1], min(s[-2:])), _svd_reference, _svd_grad)
    def _svd_on_host(self) -> Prepared:
        """Singular values over U over V. [..., m, n] -> [..., 1 + m + n, k]"""
        return (self,), {}


def same(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Cast both to their promoted dtype; one of them may be real."""
    dtype = promote(a.dtype, b.dtype)
    return a.to(dtype), b.to(dtype)


def solve(a: Tensor, b: Tensor) -> Tensor:
    """X with a @ X = b. [..., n, n], [..., n, k] -> [..., n, k]"""
    return on_host(Host._solve_on_host, a, b)


def inverse(a: Tensor) -> Tensor:
    """The inverse. [..., n, n] -> [..., n, n]"""
    return solve(a, eye(a, a.shape[-1]).expand(*a.shape))


def lu(a: Tensor) -> Tensor:
    """As lf.lu. [..., m, n] -> [..., m, n + 2]"""
    return on_host(Host._lu_on_host, a)


def cholesky(a: Tensor) -> Tensor:
    """L with a = L @ L.mH, of the lower triangle. [..., n, n] -> [..., n, n]"""
    return on_host(Host._cholesky_on_host, a)


def qr(a: Tensor, complete: bool) -> tuple[Tensor, Tensor]:
    """Q and R. [..., m, n] -> [..., m, k], [..., k, n]"""
    m, packed = a.shape[-2], on_host(Host._qr_on_host, a, complete=complete)
    return packed[..., :m, :], packed[..., m:, :].mT


def reflect(a: Tensor) -> Tensor:
    """As lf.reflect. [..., m, n] -> [..., m + 1, n]"""
    return on_host(Host._geqrf_on_host, a)


def slogdet(a: Tensor) -> tuple[Tensor, Tensor]:
    """The determinant's sign (of absolute value 1 or 0) and the logarithm of its absolute value.

    [..., n, n] -> [...], [...]
    """
    packed = on_host(Host._slogdet_on_host, a)
    return packed[..., 0], packed[..., 1].real


def eigh(a: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues, which are real, and eigenvectors. [..., n, n] -> [..., n], [..., n, n]"""
    packed = on_host(Host._eigh_on_host, a)
    return packed[..., 0, :].real, packed[..., 1:, :]


def svd(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V^H, k = min(m, n). [..., m, n] -> [..., m, k], [..., k], [..., k, n]"""
    m, packed = a.shape[-2], on_host(Host._svd_on_host, a)
    return packed[..., 1 : m + 1, :], packed[..., 0, :].real, packed[..., m + 1 :, :].mH


def triangular(a: Tensor, b: Tensor, upper: bool, unit: bool) -> Tensor:
    """X with T @ X = b for one triangle T of a, with ones on its diagonal if unit. -> [..., n, k]"""
    # If the diagonal counts as ones, the triangle excludes it.
    diagonal = (1 if upper else -1) if unit else 0
    half = a.triu(diagonal) if upper else a.tril(diagonal)
    return solve(half + eye(a, a.shape[-1]) if unit else half, b)
