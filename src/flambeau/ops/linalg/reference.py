"""References of the kernels of linalg/kernels.py: batched array operations in float64.

Routines of array libraries raise for singular matrices; these return infinities and NaN, as the kernels do.
"""

from typing import Any


def _steps(xp: Any, x: Any, *, axis: int) -> Any:
    """Indices along one of the last two axes, to compare with a step: [n, 1] or [1, n]."""
    places = xp.arange(x.shape[axis])
    return places[:, None] if axis == -2 else places[None, :]


def lu(xp: Any, x: Any) -> Any:
    """Elimination by columns with partial pivoting; each step reorders the rows."""
    x = x.astype(xp.float64)
    m, n = x.shape[-2:]
    lead = x.shape[:-2]
    places, rows = _steps(xp, x, axis=-2), xp.arange(m)
    order = xp.broadcast_to(rows, (*lead, m))
    pivots = xp.zeros((*lead, m))
    for k in range(min(m, n)):
        # Rows above k are finished: -1 is below all sizes, and NaN counts as below all other numbers.
        size = xp.where(rows < k, -1.0, xp.abs(x[..., k]))
        best = xp.argmax(xp.where(xp.isnan(size), -0.5, size), axis=-1)[..., None]
        swapped = xp.where(rows == k, best, xp.where(rows == best, k, rows))
        x = xp.take_along_axis(x, swapped[..., None], axis=-2)
        order = xp.take_along_axis(order, swapped, axis=-1)
        pivots = xp.where(rows == k, best + 1, pivots)
        pivot = x[..., k : k + 1, k : k + 1]
        left = x[..., k : k + 1] / xp.where(pivot == 0, 1.0, pivot)  # a zero pivot: the column below is 0
        below = places > k
        right = xp.where(_steps(xp, x, axis=-1) > k, x[..., k : k + 1, :], 0.0)
        x = xp.where(below & (_steps(xp, x, axis=-1) == k), left, x)
        x = x - xp.where(below, left, 0.0) * right
    return xp.concatenate([x, order[..., None], pivots[..., None]], axis=-1)


def cholesky(xp: Any, x: Any) -> Any:
    """Column by column: subtracts the outer product of each column."""
    x = x.astype(xp.float64)
    rows = _steps(xp, x, axis=-2)
    out: list[Any] = []
    for k in range(x.shape[-1]):
        square = x[..., k : k + 1, k : k + 1]
        # NaN from the first pivot on that is not positive.
        column = xp.where(rows >= k, x[..., k : k + 1] / xp.where(square > 0, xp.sqrt(square), xp.nan), 0.0)
        x = x - column * xp.swapaxes(column, -1, -2)
        out.append(column)
    return xp.concatenate(out, axis=-1)


def triangular(xp: Any, a: Any, b: Any, upper: bool, unit: bool) -> Any:
    """Substitution, row by row."""
    a, b = a.astype(xp.float64), b.astype(xp.float64)
    n = a.shape[-1]
    done: dict[int, Any] = {}  # rows of the result
    for r in range(n)[:: -1 if upper else 1]:
        x = b[..., r : r + 1, :]
        for c, row in done.items():
            x = x - a[..., r : r + 1, c : c + 1] * row
        done[r] = x if unit else x / a[..., r : r + 1, r : r + 1]
    return xp.concatenate([done[r] for r in range(n)], axis=-2)


def qr(xp: Any, x: Any) -> Any:
    """Householder reflections with the signs of LAPACK's geqrf."""
    x = x.astype(xp.float64)
    m, n = x.shape[-2:]
    rows, columns = _steps(xp, x, axis=-2), _steps(xp, x, axis=-1)
    taus: list[Any] = []
    for k in range(n):
        column = xp.where(rows > k, x[..., k : k + 1], 0.0)
        below = xp.sum(column * column, axis=-2, keepdims=True)
        alpha = x[..., min(k, m - 1) : min(k, m - 1) + 1, k : k + 1]
        size = xp.sqrt(alpha * alpha + below)
        is_done = below == 0
        # The sign opposite to alpha's: alpha - beta doesn't cancel.
        beta = xp.where(is_done, alpha, xp.where(alpha >= 0, -size, size))
        tau = xp.where(is_done, 0.0, (beta - alpha) / xp.where(is_done, 1.0, beta))
        v = xp.where(rows == k, 1.0, column / xp.where(is_done, 1.0, alpha - beta)) if k < m else column * 0
        tau = tau if k < m else tau * 0
        along = tau * xp.sum(v * x, axis=-2, keepdims=True)
        x = xp.where(columns > k, x - v * along, x)
        x = xp.where((columns == k) & (rows > k), v, xp.where((columns == k) & (rows == k), beta, x))
        taus.append(tau)
    return xp.concatenate([x, xp.concatenate(taus, axis=-1)], axis=-2)


def _finite(xp: Any, x: Any) -> tuple[Any, Any]:
    """x with zeros for matrices that are not finite, and NaN to add to the results of these matrices."""
    bad = ~xp.all(xp.isfinite(x), axis=(-2, -1), keepdims=True)
    return xp.where(bad, 0.0, x.astype(xp.float64)), xp.where(bad, xp.nan, 0.0)


def eigh(xp: Any, x: Any) -> Any:
    """The array library's eigh, of the lower triangle."""
    x, nan = _finite(xp, x)
    low = xp.tril(x)
    values, vectors = xp.linalg.eigh(low + xp.swapaxes(xp.tril(x, -1), -1, -2))
    return xp.concatenate([values[..., None, :], vectors], axis=-2) + nan


def svd(xp: Any, x: Any) -> Any:
    """The array library's svd, with U scaled by the singular values."""
    x, nan = _finite(xp, x)
    u, s, vh = xp.linalg.svd(x)
    return xp.concatenate([s[..., None, :], u * s[..., None, :], xp.swapaxes(vh, -1, -2)], axis=-2) + nan


def row_order(xp: Any, pivots: Any, rows: int) -> Any:
    """Applies the swaps in order."""
    places = xp.arange(rows)
    order = xp.broadcast_to(places, (*pivots.shape[:-1], rows))
    for k in range(pivots.shape[-1]):
        row = pivots[..., k : k + 1] - 1  # 1-based
        order = xp.take_along_axis(order, xp.where(places == k, row, xp.where(places == row, k, places)), -1)
    return order
