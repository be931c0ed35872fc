"""A few of the largest or smallest eigenvalues of symmetric matrices, by matrix products (Knyazev, 2001)."""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.declare import composed
from ...core.dtype import finfo
from ...core.modes import no_grad
from ...core.refused_gradient import refuse_gradients
from ..distribution import randn
from ..join import cat, stack
from . import factor as lf
from .decompose import linalg_eigh, linalg_qr
from .lu import matrices

if TYPE_CHECKING:
    from ...tensor import Tensor

MOST = 1000  # iterations, by default


class Lobpcg(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor


class EigenSearch(NamedTuple):
    """The options of a search: k eigenpairs of n columns, at most `niter` iterations, until errors are
    `enough`."""

    k: int
    n: int
    niter: int
    enough: float
    largest: bool


@composed
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
) -> Lobpcg:
    """The k largest (or smallest) eigenvalues of symmetric A, in this order, and their vectors as columns.

    [..., m, m] -> [..., k], [..., m, k]. B: a positive definite matrix, for A x = e B x. X: n initial
    columns, random by default. k: by default the columns of X, or 1; n: the columns to iterate, k by default.
    iK: a preconditioner, approximately the inverse of A. niter: the maximum of iterations, 1,000 by default;
    tol: the sufficient error, relative to the norms of A and e. method: "ortho" or "basic", which are the
    same here. Each iteration reads the error, so it can't be recorded. It has no gradients: computing one
    raises TypeError. ValueError if 3 n is more than m, or method is unknown.
    """
    if method not in (None, "ortho", "basic"):
        raise ValueError(f"method={method!r} is unknown: use 'ortho' or 'basic'")
    batch = matrices(A, square=True)
    a = batch.detach()
    m, columns = a.shape[-1], X.shape[-1] if X is not None else None
    k = k or columns or 1
    n = columns or n or k
    if 3 * n > m or k > n:
        raise ValueError(f"{k} of {n} columns for {m} rows: needs k <= n and 3 n <= m: use linalg.eigh")
    enough = finfo(a.dtype).eps ** 0.5 if tol is None else tol
    inputs = [None if x is None else matrices(x).detach() for x in (B, X, iK)]
    search = EigenSearch(k, n, niter or MOST, enough, largest is not False)
    with no_grad():
        pairs = _eigenpairs_of_each(a, inputs, search)
    return Lobpcg(*(refuse_gradients("lobpcg", part, A=batch, B=B) for part in pairs))


def _eigenpairs_of_each(a: Any, inputs: list[Any], search: EigenSearch) -> tuple[Any, Any]:
    """The eigenpairs of each matrix of a batch."""
    if a.ndim == 2:
        return _eigenpairs(a, inputs, search)
    lead, m = a.shape[:-2], a.shape[-1]
    rows = a.reshape(-1, m, m)
    others = [None if x is None else _flat(x.expand(*lead, *x.shape[-2:])) for x in inputs]
    pairs = [
        _eigenpairs(rows[i], [None if x is None else x[i] for x in others], search)
        for i in range(rows.shape[0])
    ]
    values, vectors = (stack(list(part)) for part in zip(*pairs, strict=True))
    return values.reshape(*lead, search.k), vectors.reshape(*lead, m, search.k)


def _flat(x: Any) -> Any:
    return x.reshape(-1, *x.shape[-2:])


def _eigenpairs(a: Any, inputs: list[Any], s: EigenSearch) -> tuple[Any, Any]:
    """The eigenpairs of one matrix: those of L^-1 A L^-T for B = L L^T. inputs: B, X and iK, each may be
    None."""
    b, x, ik = inputs
    low = None if b is None else lf.cholesky(b)
    if low is not None:
        # With y = L^T x, A x = e B x becomes (L^-1 A L^-T) y = e y.
        half = lf.triangular(low, a, upper=False, unit=False)
        a = lf.triangular(low, half.mT, upper=False, unit=False)
    begin = randn(a.shape[-1], s.n, dtype=a.dtype, device=a.device) if x is None else x
    x = linalg_qr(begin if low is None else low.mT @ begin).Q
    size, directions, values = a.norm(), None, x[0]
    for _ in range(s.niter):
        values, x, directions = _improve(a, x, directions, low, ik, s.largest)
        # The residual relative to the norms of A and of the eigenvalue.
        error = (a @ x - x * values).norm(dim=0) / (size + values.abs())
        if (error[: s.k] < s.enough).all().item():
            break
    x = x if low is None else lf.triangular(low.mT, x, upper=True, unit=False)
    return values[: s.k], x[:, : s.k]


def _improve(a: Any, x: Any, directions: Any, low: Any, ik: Any, largest: bool) -> tuple[Any, Any, Any]:
    """One iteration: the best vectors in the span of x, their residuals and the last directions
    (Rayleigh-Ritz), and the new directions."""
    n = x.shape[-1]
    error = a @ x - x * (x * (a @ x)).sum(0)
    if ik is not None:
        error = ik @ error if low is None else low.mT @ (ik @ (low @ error))
    basis = linalg_qr(cat([x, error] if directions is None else [x, error, directions], -1)).Q
    values, ritz = linalg_eigh(basis.mT @ (a @ basis))
    if largest:
        values, ritz = values.flip(-1), ritz.flip(-1)
    best, values = ritz[:, :n], values[:n]
    # The new directions are the parts of the best vectors outside the span of the old x.
    vectors = cat([basis @ best, basis[:, n:] @ best[n:]], -1)
    # One tensor, computed now: else the next iteration would compute all earlier ones again.
    packed = cat([vectors, cat([values, values]).unsqueeze(0)], 0).realize()
    return packed[-1, :n], packed[:-1, :n], packed[:-1, n:]
