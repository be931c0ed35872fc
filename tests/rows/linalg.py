"""Rows of linear algebra. Results whose signs are arbitrary are compared by what is not."""

from math import inf

import numpy as np
from references.linalg import (
    PREPARED,
    T,
    expm,
    of_singular,
    of_symmetric,
    packed_lu,
    packed_qr,
    parts_of_lu,
    row_order,
    unpacked,
)

from .row import COMPOSED, OPS, In, Row

A, B, TALL, WIDE = In((2, 4, 4)), In((2, 4, 3)), In((2, 5, 3)), In((2, 3, 5))
PIVOTS = In((2, 4), 1, 4, "i")


def mT(x):
    return x.transpose(-1, -2)


def eye(x, m, n=None):
    arange = type(x).arange
    return (arange(m, device=x.device).unsqueeze(1) == arange(n or m, device=x.device)).float()


def counted(x):
    return type(x).arange(x.shape[-1], device=x.device).float()


# the same on tensors as PREPARED on arrays
MADE = {
    "plain": lambda x: x,
    "regular": lambda x: x * 0.3 + eye(x, *x.shape[-2:]) * 2,
    "definite": lambda x: x @ mT(x) * 0.3 + eye(x, x.shape[-2]),
    "symmetric": lambda x: (x + mT(x)) * 0.2 + eye(x, x.shape[-1]) * (counted(x) * 2 - 1),
    "apart": lambda x: x * 0.2 + eye(x, *x.shape[-2:]) * (counted(x) * 1.5 + 1),
}


def linalg(ref, kind="plain", inputs=(A,), attrs=None, then=lambda y: y, tol=5e-6, grads=2):
    """A row whose first input is brought into shape first, and whose result becomes one tensor by `then`."""

    def of(name):
        def call(x, *more, **kw):
            return then((COMPOSED.get(name) or OPS[name])(MADE[kind](x), *more, **kw))

        def expected(x, *more, **kw):
            return ref(PREPARED[kind](x), *more, **kw)

        return Row(expected, inputs, attrs or {}, grads, tol, call=call)

    return of


def flat(parts):
    return COMPOSED["cat"]([p.float().reshape(-1) for p in parts])


def together(*parts):
    return np.concatenate([np.ravel(p) for p in parts]).astype("f8")


def usual(s):
    return s * s / (1 + s)


def usual_of(parts):
    """A function of the matrix, from its singular values and vectors."""
    u, s, vh = parts
    return (u[..., : s.shape[-1]] * usual(s).unsqueeze(-2)) @ vh[..., : s.shape[-1], :]


def exp_of(parts):
    """The exponential of the matrix, from its eigenvalues and vectors."""
    values, v = parts
    return (v * values.exp().unsqueeze(-2)) @ mT(v)


def solve(a, b, **_):
    return np.linalg.solve(a, b)


def lower(a, unit=False):
    return np.tril(a, -1) + np.eye(a.shape[-1]) if unit else np.tril(a)


KERNELS = {
    "_lu_block": linalg(packed_lu, "regular", grads=0),
    "_cholesky_block": linalg(np.linalg.cholesky, "definite", grads=0),
    "_triangular_block": linalg(
        lambda a, b, **_: solve(np.triu(a), b), "regular", (A, B), {"upper": True, "unit": False}, grads=0
    ),
    "_qr_block": linalg(packed_qr, "plain", (TALL,), grads=0),
    "_eigh_jacobi": linalg(
        lambda x: of_symmetric(x, np.exp),
        "symmetric",
        grads=0,
        tol=3e-6,
        then=lambda y: exp_of((y[:, 0], y[:, 1:])),
    ),
    "_svd_jacobi": linalg(
        lambda x: together(x, np.linalg.svd(x)[1]),
        "apart",
        grads=0,
        then=lambda y: flat([y[:, 1:5] @ mT(y[:, 5:]), y[:, 0]]),
    ),
    "_row_order": lambda name: Row(row_order, (PIVOTS,), {"rows": 5}, 0, call=OPS[name]),
}

FACTORS = {
    "_triangular": linalg(
        lambda a, b, **_: solve(lower(a, True), b), "regular", (A, B), {"upper": False, "unit": True}
    ),
    "_lu": linalg(packed_lu, "regular"),
    "_cholesky": linalg(np.linalg.cholesky, "definite"),
    "_qr": linalg(
        lambda x, complete: np.concatenate([np.linalg.qr(x)[0], T(np.linalg.qr(x)[1])], -2),
        "apart",
        (WIDE,),
        {"complete": True},
    ),
    "_eigh": linalg(
        lambda x: of_symmetric(x, np.exp), "symmetric", then=lambda y: exp_of((y[:, 0], y[:, 1:])), tol=3e-6
    ),
    "_svd": linalg(
        lambda x: of_singular(x, usual),
        "apart",
        (TALL,),
        then=lambda y: usual_of((y[:, 1:6], y[:, 0], mT(y[:, 6:]))),
    ),
    "linalg_lu": linalg(parts_of_lu, "regular", (TALL,), then=flat),
    "linalg_lu_factor": linalg(
        lambda x: together(packed_lu(x)[..., :5], packed_lu(x)[..., :3, 6]), "regular", (WIDE,), then=flat
    ),
    "linalg_lu_factor_ex": linalg(
        lambda x: together(packed_lu(x)[..., :3], packed_lu(x)[..., :3, 4], [0, 0]),
        "regular",
        (TALL,),
        then=flat,
    ),
    "linalg_cholesky": linalg(lambda x, upper: T(np.linalg.cholesky(x)), "definite", attrs={"upper": True}),
    "linalg_cholesky_ex": linalg(lambda x: together(np.linalg.cholesky(x), [0, 0]), "definite", then=flat),
    "cholesky": linalg(np.linalg.cholesky, "definite"),
    "linalg_qr": linalg(lambda x: together(*np.linalg.qr(x)), "apart", (TALL,), then=flat),
    "qr": linalg(lambda x: together(*np.linalg.qr(x)), "apart", (TALL,), then=flat),
    "geqrf": linalg(
        lambda x: together(packed_qr(x)[:, :5], packed_qr(x)[:, 5]), "plain", (TALL,), then=flat, grads=0
    ),
    "ormqr": lambda name: Row(
        lambda a, tau, b: np.stack(
            [
                np.linalg.multi_dot(
                    [np.eye(5) - t * np.outer(v, v) for t, v in zip(taus, (np.tril(m, -1) + np.eye(5, 3)).T)]
                    + [c]
                )
                for m, taus, c in zip(a, tau, b)
            ]
        ),
        (TALL, In((2, 3)), In((2, 5, 2))),
        tol=1e-5,
    ),
    "linalg_householder_product": lambda name: Row(
        lambda a, tau: np.stack(
            [
                np.linalg.multi_dot(
                    [
                        np.eye(5),
                        *(
                            np.eye(5) - t * np.outer(v, v)
                            for t, v in zip(taus, (np.tril(m, -1) + np.eye(5, 3)).T)
                        ),
                    ]
                )[:, :3]
                for m, taus in zip(a, tau)
            ]
        ),
        (TALL, In((2, 3), 0, 1)),
        call=COMPOSED[name],
    ),
    "linalg_eigh": linalg(
        lambda x, UPLO: of_symmetric(x, np.exp), "symmetric", attrs={"UPLO": "U"}, then=exp_of, tol=3e-6
    ),
    "linalg_eigvalsh": linalg(np.linalg.eigvalsh, "symmetric"),
    "linalg_svd": linalg(lambda x: of_singular(x, usual), "apart", (WIDE,), then=usual_of),
    "linalg_svdvals": linalg(lambda x: np.linalg.svd(x, compute_uv=False), "apart", (WIDE,)),
    "svd": linalg(
        lambda x: of_singular(x, usual), "apart", (TALL,), then=lambda y: usual_of((y[0], y[1], mT(y[2])))
    ),
}


def by_lu(a, p, b, adjoint):
    low_up = unpacked(a, p)
    whole = low_up[0] @ low_up[1] @ low_up[2]
    return solve(T(whole) if adjoint else whole, b)


def with_lu(name):
    """A composite that takes LU beside the matrix."""
    return lambda a, *more, **kw: COMPOSED[name](
        MADE["regular"](a), *more, COMPOSED["_lu"](MADE["regular"](a)), **kw
    )


SYSTEMS = {
    "lu_unpack": linalg(lambda a, p: together(*unpacked(a, p)), "plain", (A, PIVOTS), then=flat),
    "linalg_lu_solve": linalg(by_lu, "regular", (A, PIVOTS, B), {"adjoint": True}),
    "lu_solve": lambda name: Row(
        lambda b, a, p: by_lu(PREPARED["regular"](a), p, b, False),
        (B, A, PIVOTS),
        tol=5e-6,
        call=lambda b, a, p: COMPOSED[name](b, MADE["regular"](a), p),
    ),
    "_solve": lambda name: Row(
        lambda a, b, adjoint: solve(T(PREPARED["regular"](a)), b),
        (A, B),
        {"adjoint": True},
        tol=5e-6,
        call=with_lu(name),
    ),
    "linalg_solve": linalg(
        lambda a, b, left: T(solve(T(a), T(b))), "regular", (A, In((2, 3, 4))), {"left": False}
    ),
    "linalg_solve_ex": linalg(
        lambda a, b: together(solve(a, b[..., None]), [0, 0]), "regular", (A, In((2, 4))), then=flat
    ),
    "linalg_solve_triangular": linalg(
        lambda a, b, **_: T(solve(T(np.triu(a)), T(b))),
        "regular",
        (A, In((3, 4))),
        {"upper": True, "left": False},
    ),
    "_inverse": linalg(np.linalg.inv, "regular"),
    "linalg_inv": linalg(np.linalg.inv, "regular"),
    "linalg_inv_ex": linalg(lambda a: together(np.linalg.inv(a), [0, 0]), "regular", then=flat),
    "_det": lambda name: Row(
        lambda a: np.linalg.det(PREPARED["regular"](a)), (A,), tol=5e-6, call=with_lu(name)
    ),
    "linalg_det": linalg(np.linalg.det, "plain"),
    "linalg_slogdet": linalg(lambda a: together(*np.linalg.slogdet(a)), "regular", then=flat),
    "logdet": linalg(lambda a: np.linalg.slogdet(a)[1], "definite"),
    "cholesky_solve": lambda name: Row(
        lambda b, a: solve(np.tril(PREPARED["regular"](a)) @ T(np.tril(PREPARED["regular"](a))), b),
        (B, A),
        tol=5e-6,
        call=lambda b, a: COMPOSED[name](b, MADE["regular"](a)),
    ),
    "cholesky_inverse": linalg(
        lambda a, upper: np.linalg.inv(T(np.triu(a)) @ np.triu(a)), "regular", attrs={"upper": True}
    ),
    "linalg_lstsq": linalg(
        lambda a, b: together(x := np.linalg.pinv(a) @ b, ((a @ x - b) ** 2).sum(-2)),
        "apart",
        (TALL, In((2, 5, 2))),
        then=lambda y: flat(y[:2]),
    ),
    "_pseudo": linalg(lambda a, bound: np.linalg.pinv(a), "apart", (TALL, In((2, 1), 0.01, 0.02)), tol=5e-6),
    "linalg_pinv": linalg(np.linalg.pinv, "apart", (WIDE,)),
    "pinverse": linalg(np.linalg.pinv, "apart", (TALL,)),
    "linalg_matrix_rank": linalg(lambda a: np.linalg.matrix_rank(a).astype("i4"), "apart", (TALL,), grads=0),
    "linalg_cond": linalg(np.linalg.cond, "regular"),
    "linalg_tensorinv": lambda name: Row(
        lambda a: np.linalg.tensorinv(PREPARED["regular"](a).reshape(2, 3, 6), 2),
        (In((6, 6)),),
        tol=5e-6,
        call=lambda a: COMPOSED[name](MADE["regular"](a).reshape(2, 3, 6), 2),
    ),
    "linalg_tensorsolve": lambda name: Row(
        lambda a, b: np.linalg.tensorsolve(PREPARED["regular"](a).reshape(2, 3, 6), b),
        (In((6, 6)), In((2, 3))),
        tol=5e-6,
        call=lambda a, b: COMPOSED[name](MADE["regular"](a).reshape(2, 3, 6), b),
    ),
}


def sizes(values):
    """What of eigenvalues in no order is compared: how large they are."""
    return values.abs().sort(-1)[0]


def expected_sizes(x):
    return np.sort(np.abs(np.linalg.eigvals(x)))


EIGEN = {
    "_eig": lambda name: Row(
        lambda x: expected_sizes(PREPARED["apart"](x)),
        (A,),
        {},
        1,
        5e-6,
        call=lambda x: sizes(OPS[name](MADE["apart"](x).to("cpu"))[..., 0, :].to(x.device)),
    ),
    "linalg_eig": linalg(expected_sizes, "apart", then=lambda y: sizes(y.eigenvalues), grads=1),
    "linalg_eigvals": linalg(expected_sizes, "apart", then=sizes, grads=1),
}


def scaled_cholesky(a):
    """L of L D L^T below D."""
    low = np.linalg.cholesky(a)
    main = np.diagonal(low, axis1=-2, axis2=-1)
    return np.tril(low / main[..., None, :], -1) + main[..., None] ** 2 * np.eye(low.shape[-1])


def on_host(ref, made, count=1, attrs=None, then=lambda y: y.real, grads=1):
    """A factorisation of complex matrices, of real ones: tests/ops/test_complex_matrices.py has others."""

    def row(name):
        def call(*xs, **kw):
            first, *others = (x.to("cpu") for x in xs)
            y = OPS[name](MADE[made](first) * (1 + 0j), *(x * (1 + 0j) for x in others), **kw)
            return then(y).to(xs[0].device)

        def expected(a, *others, **kw):
            return ref(PREPARED[made](a), *others)

        return Row(expected, (A, B)[:count], attrs or {}, grads, 1e-5, call=call)

    return row


ON_HOST = {
    "_solve_on_host": on_host(np.linalg.solve, "regular", 2),
    "_cholesky_on_host": on_host(np.linalg.cholesky, "definite"),
    "_lu_on_host": on_host(packed_lu, "regular"),
    "_ldl_on_host": lambda name: Row(  # of blocks of 1: LDL^T of a definite matrix is Cholesky's, scaled
        lambda a, **_: scaled_cholesky(PREPARED["definite"](a)),
        (A,),
        {"hermitian": False},
        0,
        1e-5,
        call=lambda a, **kw: OPS[name](MADE["definite"](a).to("cpu"), **kw)[..., : a.shape[-1]].to(a.device),
    ),
    "_ldl_solve_on_host": lambda name: Row(
        lambda a, b, **_: np.linalg.solve(PREPARED["definite"](a), b),
        (A, B),
        {"hermitian": False},
        0,
        1e-4,
        call=lambda a, b, **kw: OPS[name](
            OPS["_ldl_on_host"](MADE["definite"](a).to("cpu"), **kw), b.to("cpu"), **kw
        ).to(a.device),
    ),
    "lobpcg": linalg(  # where nothing is computed it never ends by its error: 30 iterations are enough
        lambda x, niter: np.linalg.eigvalsh(x)[..., -1:],
        "symmetric",
        attrs={"niter": 30},
        then=lambda y: y.eigenvalues,
        grads=0,
    ),
    "linalg_ldl_factor": linalg(scaled_cholesky, "definite", then=lambda y: y.LD.tril(), grads=0),
    "linalg_ldl_factor_ex": linalg(scaled_cholesky, "definite", then=lambda y: y.LD.tril(), grads=0),
    "linalg_ldl_solve": lambda name: Row(
        lambda a, b: np.linalg.solve(PREPARED["symmetric"](a), b),
        (A, B),
        grads=0,
        tol=1e-4,
        call=lambda a, b: COMPOSED[name](*COMPOSED["linalg_ldl_factor"](MADE["symmetric"](a)), b),
    ),
    "_qr_on_host": on_host(
        lambda a: np.abs(np.linalg.qr(a)[0]),
        "regular",
        attrs={"complete": False},
        then=lambda y: y[..., : y.shape[-1], :].abs(),
    ),
    "_geqrf_on_host": on_host(packed_qr, "regular", grads=0),
    "_eigh_on_host": on_host(np.linalg.eigvalsh, "symmetric", then=lambda y: y[..., 0, :].real),
    "_svd_on_host": on_host(
        lambda a: np.linalg.svd(a, compute_uv=False), "apart", then=lambda y: y[..., 0, :].real
    ),
    "_slogdet_on_host": on_host(lambda a: np.linalg.slogdet(a)[1], "regular", then=lambda y: y[..., 1].real),
}

NORMS = {
    "_power_norm": lambda name: Row(
        lambda x, ord, dims: (np.abs(x) ** ord).sum(dims, keepdims=True) ** (1 / ord),
        (A,),
        {"ord": 3.0, "dims": (1,)},
    ),
    "linalg_vector_norm": linalg(
        lambda x, ord, dim: np.linalg.norm(x, ord, dim), "plain", attrs={"ord": 2.5, "dim": 1}
    ),
    "linalg_matrix_norm": linalg(
        lambda x, ord: np.linalg.norm(x, ord, (-2, -1)), "apart", (TALL,), {"ord": "nuc"}
    ),
    "linalg_norm": linalg(
        lambda x, ord, dim: np.linalg.norm(x, ord, dim), "plain", attrs={"ord": inf, "dim": (0, 1)}, grads=1
    ),
}

PRODUCTS = {
    "linalg_matrix_power": linalg(np.linalg.matrix_power, "regular", attrs={"n": -3}),
    "matrix_power": linalg(np.linalg.matrix_power, "regular", attrs={"n": 3}, tol=1e-5),
    "_exponential": linalg(expm, "plain", tol=1e-5),
    "linalg_matrix_exp": linalg(expm, "plain", tol=1e-5),
    "matrix_exp": linalg(expm, "plain", tol=1e-5),
    "linalg_vecdot": linalg(lambda x, y, dim: (x * y).sum(dim), "plain", (A, A), {"dim": 1}),
    "linalg_cross": linalg(np.cross, "plain", (In((4, 3)), In((2, 4, 3)))),
    "linalg_diagonal": linalg(
        lambda x, offset, dim1, dim2: np.diagonal(x, offset, dim1, dim2),
        "plain",
        (In((3, 2, 4)),),
        {"offset": -1, "dim1": 2, "dim2": 0},
    ),
}

LINALG: dict[str, Row] = {
    name: of(name)
    for table in (KERNELS, FACTORS, SYSTEMS, EIGEN, ON_HOST, NORMS, PRODUCTS)
    for name, of in table.items()
}
