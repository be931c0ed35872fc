"""What linear algebra should compute, in float64, by NumPy's LAPACK or by plain steps."""

import numpy as np


def T(x):
    return np.swapaxes(x, -1, -2)


# matrices of each kind from any of small numbers: well-conditioned ones, symmetric ones that are positive
# definite or whose eigenvalues are apart, ones whose singular values are apart
PREPARED = {
    "plain": lambda x: x,
    "regular": lambda x: x * 0.3 + 2 * np.eye(*x.shape[-2:]),
    "definite": lambda x: x @ T(x) * 0.3 + np.eye(x.shape[-2]),
    "symmetric": lambda x: (x + T(x)) * 0.2 + np.diag(np.arange(x.shape[-1]) * 2.0 - 1),
    "apart": lambda x: x * 0.2 + np.eye(*x.shape[-2:]) * (np.arange(x.shape[-1]) * 1.5 + 1),
}


def packed_lu(x):
    """Doolittle's elimination, batch by batch: L and U in one, the order of the rows, the pivots."""
    m, n = x.shape[-2:]
    out = np.zeros((*x.shape[:-1], n + 2))
    for at in np.ndindex(x.shape[:-2]):
        a, order, pivots = x[at].copy(), np.arange(m), np.zeros(m)
        for k in range(min(m, n)):
            row = k + np.argmax(np.abs(a[k:, k]))
            a[[k, row]], order[[k, row]], pivots[k] = a[[row, k]], order[[row, k]], row + 1
            for r in range(k + 1, m):
                a[r, k] /= a[k, k]
                a[r, k + 1 :] -= a[r, k] * a[k, k + 1 :]
        out[at] = np.concatenate([a, order[:, None], pivots[:, None]], 1)
    return out


def parts_of_lu(x):
    """P, L, U one after the other."""
    m, n = x.shape[-2:]
    k, packed = min(m, n), packed_lu(x)
    p = T(np.eye(m)[packed[..., n].astype(int)])
    low = np.tril(packed[..., :k], -1) + np.eye(m, k)
    return np.concatenate([v.ravel() for v in (p, low, np.triu(packed[..., :k, :n]))])


def packed_qr(x):
    """LAPACK's geqrf: NumPy gives it transposed."""
    h, tau = zip(*(np.linalg.qr(a, "raw") for a in x.reshape(-1, *x.shape[-2:])))
    n, k = x.shape[-1], min(x.shape[-2:])
    tau = np.pad(np.stack(tau), ((0, 0), (0, n - k)))[:, None]
    return np.concatenate([T(np.stack(h)), tau], 1).reshape(*x.shape[:-2], x.shape[-2] + 1, n)


def row_order(pivots, rows):
    out = np.empty((*pivots.shape[:-1], rows), "i4")
    for at in np.ndindex(pivots.shape[:-1]):
        order = np.arange(rows)
        for k, p in enumerate(pivots[at]):
            order[[k, p - 1]] = order[[p - 1, k]]
        out[at] = order
    return out


def unpacked(packed, pivots):
    """P, L and U of LU in one and pivots."""
    m, n = packed.shape[-2:]
    low = np.tril(packed, -1)[..., : min(m, n)] + np.eye(m, min(m, n))
    return T(np.eye(m)[row_order(pivots, m)]), low, np.triu(packed)[..., : min(m, n), :]


def of_symmetric(x, f):
    """f of the matrix through its eigenvalues."""
    values, v = np.linalg.eigh(x)
    return (v * f(values)[..., None, :]) @ T(v)


def of_singular(x, f):
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return (u * f(s)[..., None, :]) @ vh


def expm(x):
    """Halved 20 times, twelve terms of Taylor's, squared as often."""
    small = x / 2**20
    y, term = np.eye(x.shape[-1]) + small, small
    for k in range(2, 13):
        term = term @ small / k
        y = y + term
    for _ in range(20):
        y = y @ y
    return y
