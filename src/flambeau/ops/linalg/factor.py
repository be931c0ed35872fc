"""Factorisations of batches of matrices with their gradients: kernels factorise blocks, matmul does the
rest."""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...core import dtype as dt
from ...core.declare import composite
from ...core.shape import broadcast
from ..index.indices import gather_known
from ..join import cat
from .kernels import BLOCK, Factor, columns_of, lu_turns, qr_turns

if TYPE_CHECKING:
    from ...core.rules import Gradients
    from ...tensor import Tensor

PANEL = 32  # columns of a QR kernel: one for each thread


def mT(x: Tensor) -> Tensor:
    return x.transpose(-1, -2)


def identity(x: Tensor, n: int, m: int | None = None) -> Tensor:
    """Ones on the diagonal. -> [n, m], as floats on the device of x"""
    rows, columns = (type(x).arange(k, dtype=dt.int32, device=x.device) for k in (n, n if m is None else m))
    return (rows.unsqueeze(1) == columns).float()


def diagonal(x: Tensor) -> Tensor:
    """The diagonal of the last two dims. [..., m, n] -> [..., min(m, n)]"""
    m, n = x.shape[-2:]
    if m == 0 or n == 0:
        return x.reshape(*x.shape[:-2], 0)
    flat = x.reshape(*x.shape[:-2], m * n)
    return flat.narrow(-1, 0, (min(m, n) - 1) * (n + 1) + 1)[..., :: n + 1]


def diagonal_matrices(d: Tensor) -> Tensor:
    """Vectors as diagonals of matrices. [..., n] -> [..., n, n]"""
    return d.unsqueeze(-1) * identity(d, d.shape[-1])


def zeros(x: Tensor, *shape: int) -> Tensor:
    return type(x).zeros(shape, device=x.device)


def join(parts: Sequence[Tensor], dim: int) -> Tensor:
    return cat(parts, dim)


def take_rows(x: Tensor, order: Tensor) -> Tensor:
    """Rows in another order. [..., m, n], [..., k] -> [..., k, n]"""
    return gather_known(x, -2, order.unsqueeze(-1).expand(*order.shape, x.shape[-1]))


def inverse_order(order: Tensor) -> Tensor:
    """The inverse permutation. [..., n] -> [..., n]"""
    places = type(order).arange(order.shape[-1], dtype=dt.int32, device=order.device)
    return (order.unsqueeze(-2) == places.unsqueeze(-1)).where(places, 0).sum(-1)


def broadcast_batches(*xs: Tensor) -> list[Tensor]:
    """Matrices with their leading dims broadcast together."""
    lead = broadcast(*(x.shape[:-2] for x in xs))
    return [x if x.shape[:-2] == lead else x.expand(*lead, *x.shape[-2:]) for x in xs]


def _half(n: int, block: int) -> int:
    return -(-n // 2 // block) * block if n > 2 * block else block


# --- triangular systems ---


def substitute(a: Tensor, b: Tensor, upper: bool, unit: bool) -> Tensor:
    """X with T @ X = b for a triangle T of a, by halves. [..., n, n], [..., n, k] -> [..., n, k]"""
    n = a.shape[-1]
    if n <= BLOCK:
        return Factor._triangular_block(a, b, upper, unit)
    h = _half(n, BLOCK)
    one, two = (slice(h, n), slice(0, h)) if upper else (slice(0, h), slice(h, n))
    first = substitute(a[..., one, one], b[..., one, :], upper, unit)
    second = substitute(a[..., two, two], b[..., two, :] - a[..., two, one] @ first, upper, unit)
    return join([second, first] if upper else [first, second], -2)


def _triangle(x: Tensor, upper: bool, unit: bool) -> Tensor:
    return x.triu(int(unit)) if upper else x.tril(-int(unit))


def _triangular_grad(g: Tensor, y: Tensor, a: Tensor, b: Tensor, upper: bool, unit: bool) -> Gradients:
    gb = _triangular(mT(a), g, upper=not upper, unit=unit)
    return [-_triangle(gb @ mT(y), upper, unit), gb]


@composite(grad=_triangular_grad)
def _triangular(a: Tensor, b: Tensor, *, upper: bool, unit: bool) -> Tensor:
    """X with T @ X = b for a triangle T of a. [..., n, n], [..., n, k] -> [..., n, k]

    upper: use the upper triangle instead of the lower
    """
    return zeros(b, *b.shape) if 0 in b.shape else substitute(a, b, upper, unit)


# --- LU ---


def _eliminate(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Packed L and U, the order of the rows, and the 1-based pivots, by halves of the columns."""
    m, n = a.shape[-2:]
    k = min(m, n)
    block = BLOCK if m <= 4096 else columns_of(lu_turns, m, 8)  # a launch's loops have their limits
    if n <= block:
        packed = Factor._lu_block(a)
        return packed[..., :n], packed[..., n], packed[..., :k, n + 1]
    # Recursive LU: factorise the left columns, solve for the block right of them, and factorise the Schur
    # complement below it. Its row order also permutes the lower rows of L.
    h = k if k <= BLOCK and m <= 4096 else _half(min(k, n - 1), block)
    left, order, pivots = _eliminate(a[..., :h])
    right = take_rows(a[..., h:], order.int())
    top = substitute(left[..., :h, :], right[..., :h, :], False, True)
    if h == m:
        return join([left, top], -1), order, pivots
    low, order2, pivots2 = _eliminate(right[..., h:, :] - left[..., h:, :] @ top)
    order = join([order[..., :h], gather_known(order[..., h:], -1, order2.int())], -1)
    below = take_rows(left[..., h:, :], order2.int())
    packed = join([join([left[..., :h, :], top], -1), join([below, low], -1)], -2)
    return packed, order, join([pivots, pivots2 + h], -1)


def lu_slope(g: Tensor, y: Tensor, solve: Callable[..., Tensor]) -> Tensor:
    """The gradient of LU. solve: solves triangular systems, as `triangular` does."""
    m, n = y.shape[-2], y.shape[-1] - 2
    k = min(m, n)
    # From a = P L U, da = P (dL U + L dU). For a square matrix this gives ga = P L^-H (tril(L^H gL, -1) +
    # triu(gU U^H)) U^-H. The further columns of a wide matrix, U2 = L^-1 (P^T a)2, and the further rows of
    # a tall one, L2 = (P^T a)2 U1^-1, add the other terms.
    low, up = lu_parts(y)
    g_low, g_up = g[..., :k].tril(-1), g[..., :k, :n].triu()
    low1, up1 = low[..., :k, :], up[..., :k]
    if m <= n:
        right = g_up[..., k:]
        inner = (low.mH @ g_low - right @ up[..., k:].mH).tril(-1) + (g_up[..., :k] @ up1.mH).triu()
        over = _over_upper(inner, up1, solve)
        of_ordered = solve(low.mH, join([over, right], -1) if n > k else over, upper=True, unit=True)
    else:
        below = g_low[..., k:, :]
        inner = (low1.mH @ g_low[..., :k, :]).tril(-1) + (g_up @ up.mH - low[..., k:, :].mH @ below).triu()
        top = solve(low1.mH, inner, upper=True, unit=True)
        of_ordered = _over_upper(join([top, below], -2), up, solve)
    return take_rows(of_ordered, inverse_order(lu_order(y)))


def _lu_grad(g: Tensor, y: Tensor, a: Tensor) -> Gradients:
    return [lu_slope(g, y, _triangular)]


def _over_upper(x: Tensor, up: Tensor, solve: Callable[..., Tensor]) -> Tensor:
    """x @ up^-H"""
    return solve(up, x.mH, upper=True, unit=False).mH


@composite(grad=_lu_grad)
def _lu(a: Tensor) -> Tensor:
    """L and U in one matrix, the order of the rows, the 1-based pivots. [..., m, n] -> [..., m, n + 2]"""
    m, n = a.shape[-2:]
    if 0 in a.shape:
        return zeros(a, *a.shape[:-1], n + 2)
    if n <= BLOCK:
        return Factor._lu_block(a)
    packed, order, pivots = _eliminate(a)
    pivots = pivots.unsqueeze(-1)._pad((0,) * a.ndim, (*(0,) * (a.ndim - 2), m - pivots.shape[-1], 0))
    return join([packed, order.unsqueeze(-1), pivots], -1)


def lu_parts(packed: Tensor) -> tuple[Tensor, Tensor]:
    """L and U as separate matrices. [..., m, n + 2] -> [..., m, k], [..., k, n]"""
    m, n = packed.shape[-2], packed.shape[-1] - 2
    k = min(m, n)
    return packed[..., :k].tril(-1) + identity(packed, m, k), packed[..., :k, :n].triu()


def lu_order(packed: Tensor) -> Tensor:
    """The order of the rows, from 0. [..., m, n + 2] -> [..., m] int32"""
    return packed.detach()[..., -2].real.int()


def lu_pivots(packed: Tensor) -> Tensor:
    """LAPACK's pivots, from 1. [..., m, n + 2] -> [..., k] int32"""
    m, n = packed.shape[-2], packed.shape[-1] - 2
    return packed.detach()[..., : min(m, n), -1].real.int()


# --- Cholesky ---


def _cholesky_by_halves(a: Tensor) -> Tensor:
    n = a.shape[-1]
    if n <= BLOCK:
        return Factor._cholesky_block(a)
    h = _half(n, BLOCK)
    first = _cholesky_by_halves(a[..., :h, :h])
    below = mT(substitute(first, mT(a[..., h:, :h]), False, False))
    second = _cholesky_by_halves(a[..., h:, h:] - below @ mT(below))
    right = zeros(a, *a.shape[:-2], h, n - h)
    return join([join([first, right], -1), join([below, second], -1)], -2)


def _cholesky_grad(g: Tensor, y: Tensor, a: Tensor) -> Gradients:
    # Murray (2016): the symmetric part of L^-T phi(L^T gL) L^-1, where phi takes the lower triangle and
    # halves its diagonal.
    inner = (mT(y) @ g).tril()
    inner = inner - diagonal_matrices(diagonal(inner)) * 0.5
    left = _triangular(mT(y), inner, upper=True, unit=False)
    both = _triangular(mT(y), mT(left), upper=True, unit=False)
    return [(both + mT(both)) * 0.5]


@composite(grad=_cholesky_grad)
def _cholesky(a: Tensor) -> Tensor:
    """The lower factor of symmetric positive definite matrices. [..., n, n] -> [..., n, n]"""
    return zeros(a, *a.shape) if 0 in a.shape else _cholesky_by_halves(a)


# --- QR ---


def reflectors(
    packed: Tensor, tau: Tensor, solve: Callable[..., Tensor] = _triangular
) -> tuple[Tensor, Tensor]:
    """V and T of the product I - V T V^H of Householder reflections. [..., m, k], [..., k]

    T solves one triangular system of V^H V (Joffrain et al., 2006). solve: a solver with the signature of
    `triangular`.
    """
    m, k = packed.shape[-2:]
    v = packed.tril(-1) + identity(packed, m, k)
    tau = tau.unsqueeze(-1)
    system = identity(packed, k) + tau * (v.mH @ v).triu(1)
    return v, solve(system, tau * identity(packed, k), upper=True, unit=True)


def product(packed: Tensor, tau: Tensor, columns: int, solve: Callable[..., Tensor] = _triangular) -> Tensor:
    """The first columns of the product of Householder reflections. -> [..., m, columns]"""
    v, t = reflectors(packed, tau, solve)
    return identity(packed, packed.shape[-2], columns) - v @ (t @ v[..., :columns, :].mH)


def reflect(a: Tensor) -> Tensor:
    """LAPACK's packed form with the factors tau as a last row. [..., m, n] -> [..., m + 1, n]"""
    m, n = a.shape[-2:]
    panel = columns_of(qr_turns, m, PANEL)
    if n <= panel:
        return Factor._qr_block(a)
    w = _half(n, panel)
    k = min(m, w)
    # Blocked QR: factorise a panel of columns, apply its reflections, I - V T^T V^T, to the columns right
    # of it, and continue with the rows below.
    left = reflect(a[..., :w])
    v, t = reflectors(left[..., :m, :k], left[..., m, :k])
    right = a[..., w:]
    right = right - v @ (mT(t) @ (mT(v) @ right))
    if m <= w:
        low = zeros(a, *a.shape[:-2], 1, n - w)
    else:
        right, low = right[..., :w, :], reflect(right[..., w:, :])
    return join([left, join([right, low], -2)], -1)


def _qr_grad(g: Tensor, y: Tensor, a: Tensor, complete: bool) -> Gradients:
    m, n = a.shape[-2:]
    if complete and m > n:
        raise ValueError("a complete QR of more rows than columns has no gradient: use mode='reduced'")
    # Walter and Lehmann (2018): ga = (gQ + Q copyltu(R gR^T - gQ^T Q)) R^-T, where copyltu mirrors the
    # lower triangle. A wide matrix also has R2 = Q^T A2, which adds A2 gR2^T to gQ.
    q, r = y[..., :m, :], mT(y[..., m:, :])
    gq, gr = g[..., :m, :], mT(g[..., m:, :]).triu()
    right = gr[..., m:]
    if n > m:
        gq = gq + a[..., m:] @ mT(right)
        r, gr = r[..., :m], gr[..., :m]
    inner = r @ mT(gr) - mT(gq) @ q
    first = _over_upper(gq + q @ (inner.tril() + mT(inner.tril(-1))), r, _triangular)
    return [join([first, q @ right], -1) if n > m else first]


@composite(grad=_qr_grad)
def _qr(a: Tensor, *, complete: bool) -> Tensor:
    """Q over R transposed. [..., m, n] -> [..., m + n, min(m, n)] (or [..., m + n, m], complete)"""
    m, n = a.shape[-2:]
    k = min(m, n)
    columns = m if complete else k
    if 0 in a.shape:
        return join(
            [identity(a, m, columns).expand(*a.shape[:-1], columns), zeros(a, *a.shape[:-2], n, columns)], -2
        )
    packed = reflect(a)
    q = product(packed[..., :m, :k], packed[..., m, :k], columns)
    return join([q, mT(packed[..., :columns, :].triu())], -2)


# --- eigenvalues and singular values ---


def _gaps(values: Tensor) -> Tensor:
    """1 / (values_j - values_i), and 0 where they are equal: such a pair adds nothing to the gradient."""
    gap = values.unsqueeze(-2) - values.unsqueeze(-1)
    same = gap == 0
    return same.where(0.0, 1 / same.where(1.0, gap))


def _eigh_grad(g: Tensor, y: Tensor, a: Tensor) -> Gradients:
    # ga = V (diag(gw) + F * (V^T gV)) V^T with F_ij = 1 / (w_j - w_i) (Giles, 2008), made symmetric like a.
    values, v = y[..., 0, :], y[..., 1:, :]
    inner = (mT(v) @ g[..., 1:, :]) * _gaps(values) + diagonal_matrices(g[..., 0, :])
    of_a = v @ inner @ mT(v)
    return [(of_a + mT(of_a)) * 0.5]


@composite(grad=_eigh_grad)
def _eigh(a: Tensor) -> Tensor:
    """Eigenvalues over eigenvectors, of the lower triangle. [..., n, n] -> [..., n + 1, n]"""
    return zeros(a, *a.shape[:-2], a.shape[-1] + 1, a.shape[-1]) if 0 in a.shape else Factor._eigh_jacobi(a)


def svd_parts(packed: Tensor, m: int) -> tuple[Tensor, Tensor, Tensor]:
    """U, S, V. [..., 1 + m + n, n] -> [..., m, n], [..., n], [..., n, n]"""
    return packed[..., 1 : m + 1, :], packed[..., 0, :], packed[..., m + 1 :, :]


def _svd_grad(g: Tensor, y: Tensor, a: Tensor) -> Gradients:
    m, n = a.shape[-2:]
    u, s, v = svd_parts(y, m)
    gu, gs, gv = svd_parts(g, m)
    # With F_ij = 1 / (s_j^2 - s_i^2) (Townsend, 2016): ga = U ((F * (U^T gU - gU^T U)) S + S (F * (V^T gV -
    # gV^T V)) + diag(gs)) V^T. A tall matrix adds (I - U U^T) gU S^-1 V^T.
    gaps = _gaps(s * s)
    of_u, of_v = mT(u) @ gu, mT(v) @ gv
    inner = (of_u - mT(of_u)) * gaps * s.unsqueeze(-2) + diagonal_matrices(gs)
    inner = inner + s.unsqueeze(-1) * ((of_v - mT(of_v)) * gaps)
    of_a = u @ inner @ mT(v)
    if m > n:
        zero = s == 0
        inverse = zero.where(0.0, 1 / zero.where(1.0, s))
        of_a = of_a + ((gu - u @ of_u) * inverse.unsqueeze(-2)) @ mT(v)
    return [of_a]


@composite(grad=_svd_grad)
def _svd(a: Tensor) -> Tensor:
    """Singular values over U over V, for at least as many rows as columns. [..., m, n] -> [..., 1 + m + n,
    n]"""
    m, n = a.shape[-2:]
    if 0 in a.shape:
        return zeros(a, *a.shape[:-2], 1 + m + n, n)
    left = None
    if m > n:  # the Jacobi kernel takes square matrices
        tall = reflect(a)
        left = product(tall[..., :m, :n], tall[..., m, :n], n)
        a = tall[..., :n, :].triu()
    packed = Factor._svd_jacobi(a)
    # The columns of A V are those of U times S. Their QR gives orthonormal columns where S is 0, too.
    scaled = reflect(packed[..., 1 : n + 1, :])
    u = product(scaled[..., :n, :], scaled[..., n, :], n)
    # R of this QR is diag(S) with signs; they move to the columns of U, so that S stays positive.
    u = u * (diagonal(scaled[..., :n, :]) < 0).where(-1.0, 1.0).unsqueeze(-2)
    u = u if left is None else left @ u
    return join([packed[..., :1, :], u, packed[..., n + 1 :, :]], -2)


cholesky, triangular, lu, qr, eigh, svd = _cholesky, _triangular, _lu, _qr, _eigh, _svd
