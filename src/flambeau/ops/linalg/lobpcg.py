"""A few of the largest or smallest eigenvalues of symmetric matrices, by products (Knyazev, 2001)."""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.declare import composed
from ...core.dtype import finfo
from ...core.modes import no_grad
from ..distribution import randn
from ..join import cat, stack
from . import factor as lf
from .decompose import linalg_eigh, linalg_qr
from .lu import matrices

if TYPE_CHECKING:
    from ...tensor import Tensor

MOST = 1000  # iterations, where nobody said


class Lobpcg(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor


class EigenSearch(NamedTuple):
    """What is looked for, and how long."""

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

    [..., m, m] -> [..., k], [..., m, k]. B: a positive definite matrix, for A x = e B x. X: n columns to
    begin with, drawn without. k: 1, or as many as X has; n: columns that are worked with, k without. iK: a
    preconditioner, near the inverse of A. niter: iterations at most, 1,000 without; tol: the error that is
    enough, beside the sizes of A and e. method: "ortho" or "basic", which are one here. Each iteration reads
    the error, so a recorded call can't; there are no gradients. how: what comes behind n, by name. ValueError
    where 3 n is more than m, or for another method, TypeError for another option.
    """
    if method not in (None, "ortho", "basic"):
        raise ValueError(f"method={method!r} is unknown: use 'ortho' or 'basic'")
    a = matrices(A, square=True).detach()
    m, found = a.shape[-1], X.shape[-1] if X is not None else None
    k = k or found or 1
    n = found or n or k
    if 3 * n > m or k > n:
        raise ValueError(f"{k} of {n} columns for {m} rows: needs k <= n and 3 n <= m: use linalg.eigh")
    enough = finfo(a.dtype).eps ** 0.5 if tol is None else tol
    given = [None if x is None else matrices(x).detach() for x in (B, X, iK)]
    search = EigenSearch(k, n, niter or MOST, enough, largest is not False)
    with no_grad():
        if a.ndim == 2:
            return Lobpcg(*_found(a, given, search))
        lead = a.shape[:-2]
        rows = a.reshape(-1, m, m)
        others = [None if x is None else _flat(x.expand(*lead, *x.shape[-2:])) for x in given]
        made = [
            _found(rows[i], [None if x is None else x[i] for x in others], search)
            for i in range(rows.shape[0])
        ]
        values, vectors = (stack(list(part)) for part in zip(*made, strict=True))
        return Lobpcg(values.reshape(*lead, k), vectors.reshape(*lead, m, k))


def _flat(x: Any) -> Any:
    return x.reshape(-1, *x.shape[-2:])


def _found(a: Any, given: list[Any], s: EigenSearch) -> tuple[Any, Any]:
    """The eigenpairs of one matrix: of L^-1 A L^-T, where B is L L^T. given: B, X and iK, or None."""
    b, x, ik = given
    low = None if b is None else lf._cholesky(b)
    if low is not None:
        half = lf._triangular(low, a, upper=False, unit=False)
        a = lf._triangular(low, half.mT, upper=False, unit=False)
    begin = randn(a.shape[-1], s.n, dtype=a.dtype, device=a.device) if x is None else x
    x = linalg_qr(begin if low is None else low.mT @ begin).Q
    size, kept, values = a.norm(), None, x[0]
    for _ in range(s.niter):
        values, x, kept = _improved(a, x, kept, low, ik, s.largest)
        left = (a @ x - x * values).norm(dim=0) / (size + values.abs())
        if (left[: s.k] < s.enough).all().item():
            break
    x = x if low is None else lf._triangular(low.mT, x, upper=True, unit=False)
    return values[: s.k], x[:, : s.k]


def _improved(a: Any, x: Any, kept: Any, low: Any, ik: Any, largest: bool) -> tuple[Any, Any, Any]:
    """The best vectors among x, what their errors say, and the last directions; and the new directions."""
    n = x.shape[-1]
    error = a @ x - x * (x * (a @ x)).sum(0)
    if ik is not None:
        error = ik @ error if low is None else low.mT @ (ik @ (low @ error))
    basis = linalg_qr(cat([x, error] if kept is None else [x, error, kept], -1)).Q
    values, turned = linalg_eigh(basis.mT @ (a @ basis))
    if largest:
        values, turned = values.flip(-1), turned.flip(-1)
    best, values = turned[:, :n], values[:n]
    vectors = cat([basis @ best, basis[:, n:] @ best[n:]], -1)
    # in one tensor, which is computed now: else the next iteration would compute all those before it again
    made = cat([vectors, cat([values, values]).unsqueeze(0)], 0).realize()
    return made[-1, :n], made[:-1, :n], made[:-1, n:]
