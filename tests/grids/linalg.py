"""Grids of linear algebra: matrices that are well conditioned, and whose factors are one."""

import numpy as np

from .grid import Table, call

GRIDS = Table()
SIZES = (1, 2, 3, 4, 5, 7, 8, 16, 17, 31, 32, 33, 48, 65)
FACTORS = 1e-4  # a factorisation's roundings add up over a matrix' columns


def batch(d) -> tuple[int, ...]:
    return d.one((), (), (2,), (3, 2))


def square(d, dominant: bool = True, most: int = 65) -> np.ndarray:
    """Far from singular: unlike eigenvalues, of both signs."""
    n = d.one(*(s for s in SIZES if s <= most))
    a = d.array((*batch(d), n, n), -1, 1) / np.sqrt(n)
    return (a + np.diag(np.linspace(1.5, 3, n)) * (1 if dominant else d.one(1, -1))).astype("f4")


def definite(d, most: int = 65) -> np.ndarray:
    n = d.one(*(s for s in SIZES if s <= most))
    a = d.array((*batch(d), n, n), -1, 1) / np.sqrt(n)
    return (a @ np.swapaxes(a, -1, -2) + np.diag(np.linspace(0.5, 2, n))).astype("f4")


def tall(d, most: int = 33) -> np.ndarray:
    """Of full rank, singular values apart, any shape."""
    n, m = d.one(*(s for s in SIZES if s <= most)), d.one(*(s for s in SIZES if s <= most))
    a = d.array((*batch(d), n, m), -1, 1) / np.sqrt(max(n, m))
    k = min(n, m)
    a[..., range(k), range(k)] += np.linspace(1.5, 4, k)
    return a.astype("f4")


OPTIONS = {"half": False, "tol": FACTORS, "fixed": 2}


@GRIDS("linalg_det", "logdet", "linalg_inv", "linalg_slogdet", "linalg_inv_ex", **OPTIONS)
def of_square(d):
    return call(square(d))


@GRIDS("linalg_matrix_exp", "matrix_exp", **OPTIONS)
def exponential(d):
    return call((square(d, most=17) * d.one(0.1, 0.5, 1.0)).astype("f4"))


@GRIDS("linalg_matrix_power", "matrix_power", **OPTIONS)
def power(d):
    return call((square(d, most=17) / 2).astype("f4"), d.int(-3, 5))


@GRIDS("linalg_cholesky", "cholesky", **OPTIONS)
def cholesky(d):
    return call(definite(d), upper=d.maybe())


def lower(d):
    return np.linalg.cholesky(definite(d, 33).astype("f8")).astype("f4")


@GRIDS("cholesky_inverse", **OPTIONS, theirs=lambda torch, f: torch.cholesky_inverse(f.tril()))
def cholesky_inverse(d):
    return call(lower(d))


@GRIDS("cholesky_solve", **OPTIONS, theirs=lambda torch, b, f: torch.cholesky_solve(b, f.tril()))
def cholesky_solve(d):
    factor = lower(d)
    return call(d.array((*factor.shape[:-1], d.int(1, 5))), factor)


@GRIDS("linalg_solve", "linalg_solve_ex", **OPTIONS)
def solve(d):
    a, left = square(d), d.maybe(0.7)
    n, k = a.shape[-1], d.int(1, 5)
    return call(a, d.array((*a.shape[:-2], n, k) if left else (*a.shape[:-2], k, n)), left=left)


@GRIDS(
    "linalg_solve_triangular",
    **OPTIONS,
    theirs=lambda torch, a, b, **kw: torch.linalg.solve_triangular(a, b, **kw),
)
def solve_triangular(d):
    a, left, upper = square(d), d.maybe(0.7), d.maybe()
    n, k = a.shape[-1], d.int(1, 5)
    a = (np.triu(a) if upper else np.tril(a)).astype("f4")
    b = d.array((*a.shape[:-2], n, k) if left else (*a.shape[:-2], k, n))
    return call(a, b, upper=upper, left=left, unitriangular=False)


@GRIDS("linalg_tensorinv", **OPTIONS)
def tensorinv(d):
    a = square(d, most=4)
    n = a.shape[-1]
    a = a.reshape(-1, n, n)[0]
    return call(a.reshape(n, 1, n, 1), ind=2)


@GRIDS("linalg_tensorsolve", **OPTIONS)
def tensorsolve(d):
    p, q = d.int(1, 4), d.int(1, 4)
    n = p * q
    a = (d.array((n, n), -1, 1) / np.sqrt(n) + 2 * np.eye(n)).astype("f4")
    return call(a.reshape(p, q, n), d.array((p, q)))


@GRIDS("linalg_eigvalsh", **OPTIONS)
def eigenvalues(d):
    return call(definite(d, 33))


@GRIDS("linalg_svdvals", **OPTIONS)
def singular_values(d):
    return call(tall(d))


@GRIDS("linalg_pinv", "pinverse", **OPTIONS)
def pseudo_inverse(d):
    return call(tall(d))


@GRIDS("linalg_cond", **{**OPTIONS, "slopes": False})  # torch fails in the gradient of some
def condition(d):
    return call(square(d, most=17), d.one(None, 1, "fro", 2, float("inf")))


@GRIDS("linalg_matrix_rank", half=False, slopes=False)
def rank(d):
    a = tall(d)
    if d.maybe():
        a[..., -1, :] = a[..., 0, :]
    return call(a)


@GRIDS("linalg_matrix_norm", "linalg_norm", **OPTIONS)
def norms(d, name):
    a = square(d, most=17)
    if d.maybe() and a.ndim == 3:
        a = np.moveaxis(a, 0, 1)
        return call(a, d.one("fro", 1, -1, float("inf"), 2, "nuc"), dim=(0, 2), keepdim=d.maybe())
    return call(
        a, d.one("fro", 1, -1, float("inf"), -float("inf"), 2, -2, "nuc"), dim=(-2, -1), keepdim=d.maybe()
    )


@GRIDS("linalg_lstsq", **OPTIONS, ours=lambda a, b: __import__("flambeau").linalg.lstsq(a, b)[0],
       theirs=lambda torch, a, b: torch.linalg.lstsq(a, b)[0])  # fmt: skip
def least_squares(d):
    a = tall(d, 17)
    a = a if a.shape[-2] >= a.shape[-1] else np.ascontiguousarray(np.swapaxes(a, -1, -2))
    return call(a, d.array((*a.shape[:-1], d.int(1, 4))))


# factors that are one up to signs: what they make again is compared


def made_again(space: str, name: str):
    """The matrix that the factors of linalg.`name` multiply to, and of a symmetric one its values."""

    def product(module, a, **kw):
        found = getattr(module.linalg, name)(a, **kw)
        if name == "qr":
            return found[0] @ found[1], found[1].abs()
        if name == "svd":
            u, s, v = found
            k = s.shape[-1]
            return (u[..., :k] * s.unsqueeze(-2)) @ v[..., :k, :], s
        if name == "eigh":
            values, vectors = found
            return (vectors * values.unsqueeze(-2)) @ vectors.mT, values
        p, low, up = found
        return p @ low @ up, low, up

    if space == "ours":
        return lambda a, **kw: product(__import__("flambeau"), a, **kw)
    return lambda torch, a, **kw: product(torch, a, **kw)


def factored(name: str, draw, **more):
    GRIDS(
        f"linalg_{name}",
        ours=made_again("ours", name),
        theirs=made_again("theirs", name),
        **{**OPTIONS, **more},
    )(draw)


factored("qr", lambda d: call(*[tall(d)], mode="reduced"), slopes=False)
factored("svd", lambda d: call(tall(d), full_matrices=d.maybe()), slopes=False)
factored("eigh", lambda d: call(definite(d, 33), UPLO=d.one("L", "U")), slopes=False)
factored("lu", lambda d: call(square(d)), slopes=False)


@GRIDS("linalg_lu_factor", "linalg_lu_factor_ex", **{**OPTIONS, "slopes": False})
def lu_factor(d):
    return call(square(d))


def solved(torch, lu, pivots, b, **kw):
    return torch.linalg.lu_solve(lu, pivots.int(), b, **kw)


@GRIDS("linalg_lu_solve", **{**OPTIONS, "slopes": False}, theirs=solved)
def lu_solve(d):
    a = square(d)
    lu, n = (np.tril(a * 0.3) + np.triu(a)).astype("f4"), a.shape[-1]
    pivots = np.broadcast_to(np.arange(1, n + 1, dtype="i4"), a.shape[:-1]).copy()
    return call(lu, pivots, d.array((*a.shape[:-1], d.int(1, 4))), adjoint=d.maybe())


@GRIDS("ormqr", **{**OPTIONS, "slopes": False})
def product_with_reflectors(d):
    m, k, n = d.int(2, 6), d.int(1, 2), d.int(1, 4)
    left = d.maybe()
    other = d.array((m, n) if left else (n, m))
    return call(d.array((m, k)), d.array((k,)), other, left=left, transpose=d.maybe())


WITHOUT = {
    "lobpcg": "draws what it begins with: tests/ops/test_lobpcg.py",
    "linalg_ldl_factor": "of a definite matrix, and indefinite ones: tests/ops/test_ldl.py",
    "linalg_ldl_factor_ex": "the same", "linalg_ldl_solve": "the same",
    "linalg_cholesky_ex": "linalg.cholesky with a flag: tests/ops/test_linalg.py",
    "linalg_householder_product": "of geqrf's factors, whose signs are their own: tests/ops/test_linalg.py",
    "geqrf": "its reflectors have signs of their own: tests/ops/test_linalg.py",
    "linalg_eig": "phases are free: tests/ops/test_complex.py", "linalg_eigvals": "no order: the same",
    "lu_solve": "linalg.lu_solve is compared",
    "lu_unpack": "a part of linalg.lu", "qr": "linalg.qr is compared", "svd": "linalg.svd is compared",
}  # fmt: skip
