"""Linear algebra beyond its rows: sizes, batches, singular and ill-conditioned matrices, norms, errors."""

from math import inf

import numpy as np
import pytest
from helpers.compare import values
from helpers.draws import in_turn

import flambeau as fb

SIZES = [(1, 1), (2, 2), (3, 4, 4), (33, 33), (130, 130), (2, 0, 3, 3), (0, 0), (2, 0, 0)]
OBLONG = [(5, 3), (3, 5), (2, 70, 40), (40, 100), (100, 33), (1, 4), (4, 1), (0, 3), (3, 0)]


def T(x):
    return np.swapaxes(x, -1, -2)


def random(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("f4")


def near(got, want, tol):
    """Within tol of the largest element."""
    got, want = np.asarray(got, "f8"), np.asarray(want, "f8")
    assert got.shape == want.shape, f"shape {got.shape}, not {want.shape}"
    if got.size:
        away = np.abs(got - want).max() / max(1.0, np.abs(want).max())
        assert away <= tol, f"{away} away"


def orthonormal(q, tol=2e-6):
    near(T(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1])), tol)


@pytest.mark.parametrize("shape", SIZES, ids=str)
@pytest.mark.share(5, only=["gpu"])
def test_square(shape, device):
    a = random(shape)
    symmetric, definite = a + T(a), a @ T(a) / max(shape[-1], 1) + np.eye(shape[-1], dtype="f4")
    x, s, d = (fb.tensor(v, device=device) for v in (a, symmetric, definite))
    made = (*fb.linalg.eigh(s), fb.linalg.cholesky(d), fb.linalg.inv(d), fb.linalg.det(x / 8), x.logdet())
    w, v, low, inverse, det, logdet = values(*made)
    near((v * w[..., None, :]) @ T(v), symmetric, 3e-6)
    near(w, np.linalg.eigvalsh(symmetric.astype("f8")), 3e-6)
    orthonormal(v)
    near(low, np.linalg.cholesky(definite.astype("f8")), 2e-6)
    near(inverse @ definite, np.broadcast_to(np.eye(shape[-1]), shape), 1e-5)
    near(det, np.linalg.det(a.astype("f8") / 8), 1e-5)
    sign, size = np.linalg.slogdet(a.astype("f8"))
    assert np.allclose(logdet, np.where(sign < 0, np.nan, size), rtol=1e-4, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("shape", in_turn([*SIZES, *OBLONG], 4), ids=str)
@pytest.mark.share(5, only=["gpu"])
def test_factors(shape, device):
    a = random(shape, 1)
    x = fb.tensor(a, device=device)
    m, n = shape[-2:]
    k = min(m, n)
    p, low, up, q, r, whole, _, u, s, vh, wide, _, tall = values(
        *fb.linalg.lu(x), *fb.linalg.qr(x), *fb.linalg.qr(x, "complete"),
        *fb.linalg.svd(x, full_matrices=False), *fb.linalg.svd(x),
    )  # fmt: skip
    near(p @ low @ up, a, 3e-6)
    assert low.shape == (*shape[:-1], k) and (np.abs(low) <= 1).all()
    near(q @ r, a, 3e-6)
    near(r, np.linalg.qr(a.astype("f8"))[1], 1e-5)
    near((u * s[..., None, :]) @ vh, a, 3e-6)
    near(s, np.linalg.svd(a.astype("f8"), compute_uv=False), 2e-6)
    assert wide.shape == (*shape[:-2], m, m) and tall.shape == (*shape[:-2], n, n)
    for basis in (q, u, T(vh), whole, wide, T(tall)):
        orthonormal(basis)


@pytest.mark.parametrize("n, k", [(1, 1), (5, 2), (130, 3), (0, 2), (4, 0)])
@pytest.mark.share(5, only=["gpu"])
def test_systems(n, k, device):
    a, b = random((2, n, n), 2) + 2 * n**0.5 * np.eye(n, dtype="f4"), random((n, k), 3)
    x, y = fb.tensor(a, device=device), fb.tensor(b, device=device)
    lu, pivots = fb.linalg.lu_factor(x)
    z = y.expand(2, n, k)
    found = values(
        fb.linalg.solve(x, z), fb.linalg.lu_solve(lu, pivots, z),
        mT(fb.linalg.solve(mT(x), mT(z), left=False)),
        fb.linalg.solve_triangular(x, y, upper=True), fb.linalg.solve_triangular(x, y, upper=False),
    )  # fmt: skip
    for got in found[:3]:
        near(a @ got, np.broadcast_to(b, (2, n, k)), 1e-5)
    near(np.triu(a) @ found[3], np.broadcast_to(b, (2, n, k)), 1e-5)
    near(np.tril(a) @ found[4], np.broadcast_to(b, (2, n, k)), 1e-5)


def mT(x):
    return x.transpose(-1, -2)


def test_views_are_read_in_place(gpu):
    a = random((3, 8, 5))
    x = fb.tensor(a, device=gpu).permute(2, 1, 0)[1:, ::-1][:, 2:5]
    want = a.transpose(2, 1, 0)[1:, ::-1][:, 2:5].astype("f8")
    got = values(fb.linalg.inv(x), fb.linalg.svdvals(x), fb.linalg.det(x))
    for found, ref in zip(got, (np.linalg.inv(want), np.linalg.svd(want)[1], np.linalg.det(want))):
        near(found, ref, 2e-5)


def test_singular_and_not_definite(device):
    a = fb.tensor([[[1.0, 2.0], [2.0, 4.0]], [[2.0, 0.0], [0.0, 1.0]]], device=device)
    assert fb.linalg.inv_ex(a).info.tolist() == [2, 0]
    assert fb.linalg.lu_factor_ex(a).info.tolist() == [2, 0]
    assert fb.linalg.det(a).tolist() == [0.0, 2.0]
    sign, size = values(*fb.linalg.slogdet(a))
    assert sign.tolist() == [0.0, 1.0] and size[0] == -inf
    singular, regular = fb.linalg.inv(a).numpy()
    assert not np.isfinite(singular).any() and np.isfinite(regular).all()
    assert fb.linalg.cond(a).numpy()[0] > 1e6
    b = fb.tensor([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]], device=device)
    low, info = values(*fb.linalg.cholesky_ex(b))
    assert info == 2 and np.isnan(low[1:, 1]).all() and low[0].tolist() == [1, 0, 0]


def test_gradient_of_a_determinant_that_is_zero(device):
    a = fb.tensor([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 1.0, 3.0]], device=device, requires_grad=True)
    got = fb.linalg.det(a).backward()[a].numpy()
    near(got, [[12, -6, 2], [-6, 3, -1], [0, 0, 0]], 1e-5)


def test_low_rank(device):
    a = random((2, 6, 2)) @ random((2, 2, 5), 1)
    x = fb.tensor(a, device=device)
    u, s, vh = values(*fb.linalg.svd(x, full_matrices=False))
    orthonormal(u)
    orthonormal(T(vh))
    near((u * s[..., None, :]) @ vh, a, 2e-6)
    near(fb.linalg.pinv(x, rtol=1e-4).numpy(), np.linalg.pinv(a.astype("f8"), rcond=1e-4), 1e-5)
    assert fb.linalg.matrix_rank(x).tolist() == [2, 2]
    b = fb.tensor(random((2, 6, 1)), device=device)
    found = fb.linalg.lstsq(x, b, rcond=1e-4, driver="gelsd")
    assert found.rank.tolist() == [2, 2] and found.singular_values.shape == (2, 5)
    near(found.solution.numpy(), np.linalg.pinv(a.astype("f8"), rcond=1e-4) @ b.numpy(), 1e-5)
    assert not fb.linalg.svdvals(fb.zeros(3, 3, device=device)).numpy().any()


def test_ill_conditioned(device):
    hilbert = 1 / (np.arange(6)[:, None] + np.arange(6) + 1.0)
    x = fb.tensor(hilbert.astype("f4"), device=device)
    y = x @ fb.ones(6, 1, device=device)
    near((x @ fb.linalg.solve(x, y)).numpy(), y.numpy(), 2e-6)  # a small residual, whatever the solution
    near(fb.linalg.svdvals(x).numpy(), np.linalg.svd(hilbert)[1], 1e-6)


def test_not_finite_stays_so(device):
    x = fb.tensor(np.array([np.eye(3), np.full((3, 3), np.nan)], "f4"), device=device)
    made = (fb.linalg.svdvals, fb.linalg.eigvalsh, fb.linalg.inv, fb.linalg.cholesky)
    for got in values(*(f(x) for f in made), *fb.linalg.qr(x)):
        assert np.isfinite(got[0]).all() and np.isnan(got[1]).any()


@pytest.mark.parametrize("ord", ["fro", "nuc", inf, -inf, 1, -1, 2, -2])
def test_matrix_norms(ord, device):
    a = random((4, 2, 5))
    x = fb.tensor(a, device=device)
    got = fb.linalg.matrix_norm(x, ord, dim=(2, 0), keepdim=True).numpy()
    near(got, np.linalg.norm(a.astype("f8"), ord, (2, 0), keepdims=True), 2e-6)
    near(fb.linalg.norm(x[:, 0], ord).numpy(), np.linalg.norm(a[:, 0].astype("f8"), ord), 2e-6)


@pytest.mark.parametrize("ord", [0, 1, 2, 3.5, 0.5, -1, inf, -inf])
def test_vector_norms(ord, device):
    a = random((4, 5))
    got = fb.linalg.vector_norm(fb.tensor(a, device=device), ord, dim=0).numpy()
    near(got, np.linalg.norm(a.astype("f8"), ord, 0), 3e-6)


def test_gradient_of_a_norm_at_zero(device):
    x = fb.zeros(3, device=device).requires_grad_()
    for ord in (1, 2, 3):
        assert not fb.linalg.vector_norm(x, ord).backward()[x].numpy().any()


@pytest.mark.parametrize("p", [None, 1, -2, inf, "fro"])
def test_condition(p, device):
    a = random((2, 4, 4))
    near(fb.linalg.cond(fb.tensor(a, device=device), p).numpy(), np.linalg.cond(a.astype("f8"), p), 2e-5)


def test_exponential_of_large_matrices(device):
    a = np.diag([-300.0, 0.0, 3.0]).astype("f4")
    a[0, 1] = 5
    got = fb.linalg.matrix_exp(fb.tensor(a, device=device)).numpy()
    near(got, [[0, 1 / 60, 0], [0, 1, 0], [0, 0, np.exp(3)]], 1e-4)


REFUSED = [
    (
        lambda x: fb.linalg.inv(x[0]),
        "linalg.inv(f32[3]): shape [3] is not a batch of square matrices: needs [..., n, n]",
    ),
    (
        lambda x: fb.linalg.det(x[:, :2]),
        "linalg.det(f32[3, 2]): shape [3, 2] is not a batch of square matrices: needs [..., n, n]",
    ),
    (
        lambda x: fb.linalg.solve(x, x[:2]),
        "linalg.solve(f32[3, 3], f32[2, 3]): [2, 3] does not fit matrices [3, 3]: it must have 3 rows",
    ),
    (
        lambda x: fb.linalg.qr(x, mode="full"),
        "linalg.qr(f32[3, 3], mode='full'): mode='full' is unknown: use 'reduced', 'complete' or 'r'",
    ),
    (
        lambda x: fb.linalg.cholesky_ex(x, check_errors=True),
        "linalg.cholesky_ex(f32[3, 3], check_errors=True): check_errors=True would read from the device:"
        " read info instead",
    ),
    (
        lambda x: fb.linalg.eigvalsh(fb.zeros(1600, 1600, device=x.device)),
        "linalg.eigvalsh(f32[1600, 1600]): 1600 rows and columns are more than 1536: use a smaller matrix"
        " or a randomised method",
    ),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_errors(case):
    call, text = REFUSED[case]
    with pytest.raises(ValueError) as e:
        call(fb.zeros(3, 3, device="cpu"))
    assert str(e.value) == text


def test_integers_are_refused():
    with pytest.raises(TypeError) as e:
        fb.linalg.inv(fb.zeros(2, 2, dtype=fb.int32, device="cpu"))
    assert str(e.value) == (
        "linalg.inv(i32[2, 2]): int32 matrices: linear algebra needs floats: cast with .float()"
    )


def test_complete_qr_has_no_gradient():
    x = fb.ones(3, 2, device="cpu").requires_grad_()
    with pytest.raises(ValueError, match="a complete QR of more rows than columns has no gradient"):
        fb.linalg.qr(x, mode="complete").R.sum().backward()
