"""Factorisations of complex matrices, which the host computes: they make the matrix again, and values and
gradients are PyTorch's."""

import numpy as np
import pytest

import flambeau as fb

SHAPES = {"square": (4, 4), "batch": (2, 3, 3), "one": (1, 1), "tall": (5, 3), "wide": (2, 3, 5)}


def matrix(shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def near(got, want, tol=2e-5):
    np.testing.assert_allclose(got.numpy(), want, rtol=tol, atol=tol)


def mh(a):
    return np.conj(np.swapaxes(a, -1, -2))


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_factors_make_the_matrix(shape):
    device = "cpu"
    a = matrix(shape).astype("c8")
    x = fb.tensor(a, device=device)
    m, n = shape[-2:]
    for mode in ("reduced", "complete"):
        q, r = fb.linalg.qr(x, mode)
        near(q @ r, a)
        near(q.mH @ q, np.broadcast_to(np.eye(q.shape[-1]), q.shape[:-2] + (q.shape[-1],) * 2))
        assert q.dtype is fb.complex64 and q.device is x.device and (r.tril(-1) == 0).all().item()
    for full in (False, True):
        u, s, vh = fb.linalg.svd(x, full_matrices=full)
        assert s.dtype is fb.float32 and u.shape[-1] == (m if full else min(m, n))
        near(u[..., : min(m, n)] @ (s.unsqueeze(-1) * vh[..., : min(m, n), :]), a)
        near(u.mH @ u, np.broadcast_to(np.eye(u.shape[-1]), u.shape[:-2] + (u.shape[-1],) * 2))
        near(vh @ vh.mH, np.broadcast_to(np.eye(vh.shape[-2]), vh.shape[:-2] + (vh.shape[-2],) * 2))
    near(fb.linalg.pinv(x), np.linalg.pinv(a))
    b = matrix((*shape[:-1], 2), 1).astype("c8")
    near(fb.linalg.lstsq(x, fb.tensor(b, device=device)).solution, np.linalg.pinv(a) @ b, 1e-4)


@pytest.mark.parametrize("shape", [SHAPES["square"], SHAPES["batch"]], ids=["square", "batch"])
def test_square(shape):
    device = "cpu"
    a, b = matrix(shape).astype("c8"), matrix((*shape[:-1], 2), 1).astype("c8")
    x, y = fb.tensor(a, device=device), fb.tensor(b, device=device)
    eye = np.broadcast_to(np.eye(shape[-1]), shape)
    near(fb.linalg.inv(x) @ x, eye, 5e-5)
    near(x @ fb.linalg.solve(x, y), b, 5e-5)
    near(fb.linalg.solve(x, y.mT, left=False) @ x, np.swapaxes(b, -1, -2), 5e-5)
    near(fb.linalg.solve(x, y[..., 0]), np.linalg.solve(a, b)[..., 0], 5e-5)
    near(fb.linalg.solve(x.real, y), np.linalg.solve(a.real, b), 2e-4)
    near(fb.linalg.det(x), np.linalg.det(a), 5e-5)
    sign, size = fb.linalg.slogdet(x)
    near(sign * size.exp(), np.linalg.det(a), 5e-5)
    for upper in (False, True):
        half = np.triu(a) if upper else np.tril(a)
        near(fb.linalg.solve_triangular(x, y, upper=upper), np.linalg.solve(half, b), 1e-3)
        ones = half - half * np.eye(shape[-1]) + np.eye(shape[-1])
        got = fb.linalg.solve_triangular(x, y, upper=upper, unitriangular=True)
        near(got, np.linalg.solve(ones, b), 1e-3)
    low = fb.linalg.cholesky(x @ x.mH)
    near(low @ low.mH, a @ mh(a), 5e-5)
    up = fb.linalg.cholesky(x @ x.mH, upper=True)
    near(up.mH @ up, a @ mh(a), 5e-5)
    hermitian = a + mh(a)
    for half, uplo in ((np.tril(hermitian), "L"), (np.triu(hermitian), "U")):
        values, v = fb.linalg.eigh(fb.tensor(half, device=device), uplo)
        assert values.dtype is fb.float32
        near(v * values.unsqueeze(-2) @ v.mH, hermitian, 5e-5)
    assert (fb.linalg.matrix_rank(x) == shape[-1]).all().item()


def test_of_a_gpu_they_are_read_and_moved_back(gpu):
    a, b = matrix((3, 3)).astype("c8"), matrix((3, 2), 1).astype("c8")
    x, y = (fb.tensor(v, device=gpu, requires_grad=True) for v in (a, b))
    s, t = (fb.tensor(v, device="cpu", requires_grad=True) for v in (a, b))
    for f in (lambda a, b: fb.linalg.solve(a, b).abs(), lambda a, b: fb.linalg.eigh(a)[0]):
        made, same = f(x, y), f(s, t)
        assert made.device is x.device
        near(made.detach(), same.detach().numpy(), 1e-4)
        near(made.sum().backward()[x], same.sum().backward()[s].numpy(), 1e-4)


def test_what_has_none_is_nan_and_empty_ones_stay_empty():
    x = fb.tensor([[[1.0 + 0j, 2], [2, 4]], [[2j, 0], [0, 1]]], device="cpu")
    made = fb.linalg.inv(x)
    assert made[0].isnan().all().item()
    near(made[1], [[-0.5j, 0], [0, 1]])
    assert fb.linalg.det(x).tolist() == [0, 2j]
    bad = fb.linalg.cholesky(fb.tensor([[1.0 + 0j, 2], [2, 1]], device="cpu"))
    assert bad[0].tolist() == [1, 0] and bad[1].isnan().all().item()
    none = fb.zeros(2, 0, 0, dtype=fb.complex64, device="cpu")
    assert fb.linalg.inv(none).shape == (2, 0, 0) and fb.linalg.eigh(none).eigenvalues.shape == (2, 0)
    assert fb.linalg.cholesky(none).shape == (2, 0, 0)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_lu(shape):
    a = matrix(shape).astype("c8")
    x, (m, n) = fb.tensor(a, device="cpu"), shape[-2:]
    p, low, up = fb.linalg.lu(x)
    near(p @ low @ up, a)
    assert p.dtype is low.dtype is fb.complex64 and (up.tril(-1) == 0).all().item()
    near(low.triu(), np.broadcast_to(np.eye(m, min(m, n)), low.shape))
    factors = fb.linalg.lu_factor(x)
    for one, other in zip(fb.lu_unpack(*factors), (p, low, up), strict=True):
        near(one, other.numpy())
    assert factors.pivots.dtype is fb.int32 and (fb.linalg.lu_factor_ex(x).info == 0).all().item()
    if m == n:
        b = matrix((*shape[:-1], 2), 1).astype("c8")
        y = fb.tensor(b, device="cpu")
        near(x @ fb.linalg.lu_solve(*factors, y), b, 1e-4)
        near(x.mH @ fb.linalg.lu_solve(*factors, y, adjoint=True), b, 1e-4)
        near(fb.linalg.lu_solve(*factors, y.mT, left=False) @ x, np.swapaxes(b, -1, -2), 1e-4)


def test_singular_ones_have_a_place_and_powers_and_exponentials_are_of_the_eigenvalues():
    flat = fb.tensor([[1 + 1j, 2], [2 + 2j, 4]], device="cpu")
    assert fb.linalg.lu_factor_ex(flat).info.item() == 2
    a = matrix((2, 3, 3)) * 0.7
    values, vectors = np.linalg.eig(a)
    x = fb.tensor(a.astype("c8"), device="cpu")
    made = (vectors * np.exp(values)[..., None, :]) @ np.linalg.inv(vectors)
    near(fb.linalg.matrix_exp(x), made, 1e-4)
    near(fb.linalg.matrix_power(x, 3), a @ a @ a, 1e-4)
    near(fb.linalg.matrix_power(x, 0), np.broadcast_to(np.eye(3), a.shape))


def test_others_say_what_there_is():
    x = fb.ones(2, 2, dtype=fb.complex64, device="cpu")
    with pytest.raises(TypeError) as e:
        fb.lobpcg(x, 1)
    rule = "does not support complex matrices: use solve, inv, det, lu, cholesky, qr, svd, eigh, eig, pinv or"
    assert str(e.value) == f"lobpcg(c64[2, 2], 1): {rule} lstsq, which run on the host"


# Functions of both libraries whose value depends on no free phase.
CASES = {
    "inv": (lambda L, a, b: L.inv(a), "square"),
    "inv of a batch": (lambda L, a, b: L.inv(a), "batch"),
    "solve": (lambda L, a, b: L.solve(a, b), "batch"),
    "solve from the right": (lambda L, a, b: L.solve(a, b.mT, left=False), "square"),
    "triangle": (lambda L, a, b: L.solve_triangular(a, b, upper=True), "square"),
    "lower triangle": (lambda L, a, b: L.solve_triangular(a, b, upper=False, unitriangular=True), "batch"),
    "det": (lambda L, a, b: L.det(a), "batch"),
    "slogdet": (lambda L, a, b: L.slogdet(a)[0] * L.slogdet(a)[1], "batch"),
    "lower": (lambda L, a, b: L.lu(a)[1], "batch"),
    "upper": (lambda L, a, b: L.lu(a)[2], "square"),
    "tall lu": (lambda L, a, b: L.lu(a)[1] @ L.lu(a)[2] ** 2, "tall"),
    "wide lu": (lambda L, a, b: L.lu(a)[1] @ L.lu(a)[2] ** 2, "wide"),
    "exponential": (lambda L, a, b: L.matrix_exp(a * 0.5), "batch"),
    "cholesky": (lambda L, a, b: L.cholesky(a @ a.mH), "batch"),
    "upper cholesky": (lambda L, a, b: L.cholesky(a @ a.mH, upper=True), "square"),
    "qr": (lambda L, a, b: L.qr(a)[0] * 1j + L.qr(a)[1], "square"),
    "tall qr": (lambda L, a, b: L.qr(a)[0] @ L.qr(a)[1] ** 2, "tall"),
    "wide qr": (lambda L, a, b: L.qr(a)[0] @ L.qr(a)[1] ** 2, "wide"),
    "reflections": (lambda L, a, b: L.householder_product(a, b[0, :3] * 0.7), "tall"),
    "eigenvalues": (lambda L, a, b: L.eigvalsh(a + a.mH), "batch"),
    "eigenvectors": (lambda L, a, b: (L.eigh(a + a.mH)[1].abs() ** 2) @ b.real, "batch"),
    "singular values": (lambda L, a, b: L.svdvals(a), "wide"),
    "svd": (lambda L, a, b: projected(L, a), "square"),
    "tall svd": (lambda L, a, b: projected(L, a), "tall"),
    "wide svd": (lambda L, a, b: projected(L, a), "wide"),
    "pinv": (lambda L, a, b: L.pinv(a), "tall"),
    "wide pinv": (lambda L, a, b: L.pinv(a), "wide"),
    "least squares": (lambda L, a, b: L.lstsq(a, b)[0], "tall"),
}


def projected(L, a):
    """What the phases of singular vectors do not change."""
    u, s, vh = L.svd(a, full_matrices=False)
    return (u[..., :1] @ vh[..., :1, :]) * s[..., :1, None] + (u[..., :, :1].abs() ** 3).sum()


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_torchs(name, torch):
    f, shape = CASES[name]
    a = matrix(SHAPES[shape])
    b = matrix((*a.shape[:-1], 2), 1)

    def loss(y):
        return (y.real if y.is_complex() else y).sum()

    theirs = [torch.tensor(v, requires_grad=True) for v in (a, b)]
    y = f(torch.linalg, *theirs)
    w = np.cos(np.arange(1, 1 + y.numel())).reshape(tuple(y.shape))
    w = w + 1j * np.sin(w) if y.is_complex() else w
    loss(y * torch.tensor(w)).backward()
    ours = [fb.tensor(v, device="cpu", dtype=fb.complex128, requires_grad=True) for v in (a, b)]
    z = f(fb.linalg, *ours)
    near(z.detach(), y.detach().resolve_conj().numpy(), 1e-9)
    grads = loss(z * fb.tensor(w, device="cpu", dtype=z.dtype)).backward()
    for mine, other in zip(ours, theirs, strict=True):
        if other.grad is not None:
            near(grads[mine], other.grad.resolve_conj().numpy(), 1e-7)


def test_info_of_complex_cholesky_names_the_first_minor_that_is_not_positive():
    one = np.eye(3, dtype=np.complex64)
    part = np.array([[2, 1j, 0], [-1j, 3, 0], [0, 0, -1]], dtype=np.complex64)
    factor, info = fb.linalg.cholesky_ex(fb.tensor(np.stack([part, one, -one]), device="cpu"))
    assert info.tolist() == [3, 0, 1]
    np.testing.assert_allclose(factor[0, :2, :2].numpy(), np.linalg.cholesky(part[:2, :2]), rtol=1e-6)
