"""Functions of complex numbers beside PyTorch's: values, the dtypes of results, and gradients."""

import numpy as np
import pytest

import flambeau as fb

RNG = np.random.default_rng(30)
Z, W = ((RNG.normal(size=(3, 4)) + 1j * RNG.normal(size=(3, 4))).astype("c8") for _ in range(2))
POSITIVE = (Z @ Z.conj().T + 2 * np.eye(3)).astype("c8")
FAR = np.array([-8.47837 - 1.76583j, -0.57 - 3.2j, 5.1 + 1.1j, 1 - 2j, 0.1 + 0.2j], "c8")
LARGE = np.array([[90 + 1j, 89 - 2j], [-200 + 0.5j, -201 + 3j]], "c8")
INF = float("inf")
# name: (of the package or torch, and of two tensors; the inputs)
CASES = {
    "norm": (lambda m, z, w: z.norm(), Z, W),
    "norm of dims": (lambda m, z, w: m.norm(z, 3, 1, True), Z, W),
    **{
        f"vector_norm {p}": (lambda m, z, w, p=p: m.linalg.vector_norm(z, p, 0), Z, W)
        for p in (0.5, 1, 2, 3, INF, -INF)
    },
    **{
        f"matrix_norm {p}": (lambda m, z, w, p=p: m.linalg.matrix_norm(z, p), Z, W)
        for p in ("fro", "nuc", 1, -1, INF, -INF, 2, -2)
    },
    "norm nuc": (lambda m, z, w: m.norm(z, "nuc"), Z, W),
    "linalg.norm": (lambda m, z, w: m.linalg.norm(z, 2, 1), Z, W),
    "frobenius_norm": (lambda m, z, w: m.frobenius_norm(z, [1]), Z, W),
    "dist": (lambda m, z, w: m.dist(z, w, 3), Z, W),
    "pairwise_distance": (lambda m, z, w: m.nn.functional.pairwise_distance(z, w), Z, W),
    "normalize": (lambda m, z, w: m.nn.functional.normalize(z), Z, W),
    "renorm": (lambda m, z, w: m.renorm(z, 2, 0, 1.5), Z, W),
    "vecdot": (lambda m, z, w: m.linalg.vecdot(z, w), Z, W),
    "vdot": (lambda m, z, w: m.vdot(z[0], w[0]), Z, W),
    "adjoint": (lambda m, z, w: m.adjoint(z) + z.mH + z.H, Z, W),
    "cov": (lambda m, z, w: m.cov(z), Z, W),
    "cov with weights": (lambda m, z, w: m.cov(z, aweights=z.detach()[0].abs()), Z, W),
    "corrcoef": (lambda m, z, w: m.corrcoef(z), Z, W),
    "sinc": (lambda m, z, w: m.sinc(z) / m.sinc(z).abs().detach(), FAR, FAR),
    "var": (lambda m, z, w: z.var(1, keepdim=True), Z, W),
    "std": (lambda m, z, w: m.std(z, correction=0), Z, W),
    "var_mean": (lambda m, z, w: m.var_mean(z, 0)[0] + m.var_mean(z, 0)[1], Z, W),
    "std_mean": (lambda m, z, w: m.std_mean(z, 0)[0] + m.std_mean(z, 0)[1], Z, W),
    "logsumexp": (lambda m, z, w: m.logsumexp(z, 1), LARGE, LARGE),
    "logaddexp": (lambda m, z, w: m.logaddexp(z, w), LARGE, LARGE * 1.01),
    "logcumsumexp": (lambda m, z, w: m.logcumsumexp(z, 1), LARGE, LARGE),
    "logcumsumexp turns": (lambda m, z, w: m.logcumsumexp(m.cat([z * 4, w * 3], 1), 1), Z, W),
    "geqrf": (lambda m, z, w: m.geqrf(z.detach())[0] * w, Z, W),
    "geqrf tau": (lambda m, z, w: m.geqrf(z.detach())[1] * w[:, 0], Z, W),
    "ormqr": (lambda m, z, w: m.ormqr(z, w[0, :3], w), Z, W),
    "ormqr from the right": (lambda m, z, w: m.ormqr(z, w[0, :3], w[:, :3], False, True), Z, W),
    "cholesky_solve": (lambda m, z, w: m.cholesky_solve(w, m.linalg.cholesky(z)), POSITIVE, W),
    "cholesky_solve upper": (
        lambda m, z, w: m.cholesky_solve(w, m.linalg.cholesky(z).mH, upper=True), POSITIVE, W
    ),
    "cholesky_inverse": (lambda m, z, w: m.cholesky_inverse(m.linalg.cholesky(z)), POSITIVE, W),
    "float": (lambda m, z, w: z.float() + w.to(m.float32), Z, W),
}  # fmt: skip


def near(got, want, tol=2e-5):
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape and got.dtype == want.dtype
    assert np.all(np.abs(got - want) <= tol * (1 + np.abs(want)))


@pytest.mark.filterwarnings("ignore:complex numbers lose", "ignore:Casting complex values")
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_torchs(name, torch):
    function, *given = CASES[name]
    ours = [fb.tensor(a, device="cpu", requires_grad=True) for a in given]
    theirs = [torch.tensor(a, requires_grad=True) for a in given]
    y, wanted = function(fb, *ours), function(torch, *theirs)
    near(y.detach().numpy(), wanted.detach().resolve_conj().numpy())
    weights = (RNG.normal(size=tuple(wanted.shape)) + 1j * RNG.normal(size=tuple(wanted.shape))).astype("c8")
    weights = weights if wanted.is_complex() else weights.real.astype("f4")
    found = y.backward(fb.tensor(weights, device="cpu"))
    wanted.backward(torch.tensor(weights))
    for x, t in zip(ours, theirs, strict=True):
        assert (found.get(x) is None) == (t.grad is None)
        if t.grad is not None:
            near(found[x].numpy(), t.grad.resolve_conj().numpy(), 1e-4)


@pytest.mark.share(2, only=["gpu"])
def test_values_on_a_gpu_are_those_of_the_host(device):
    names = (
        "norm",
        "vector_norm 3",
        "dist",
        "vecdot",
        "cov",
        "sinc",
        "var",
        "logsumexp",
        "logaddexp",
        "ormqr",
    )
    for name in names:
        function, *given = CASES[name]
        y = function(fb, *[fb.tensor(a, device=device) for a in given])
        near(y.numpy(), function(fb, *[fb.tensor(a, device="cpu") for a in given]).numpy())


def test_svd_gives_v_and_not_its_transpose():
    for shape in ((3, 4), (4, 3), (3, 3)):
        a = fb.tensor(Z.reshape(-1)[: shape[0] * shape[1]].reshape(shape) if shape != (3, 3) else Z[:, :3])
        u, s, v = fb.svd(a)
        near(((u * s) @ v.mH).numpy(), a.numpy())
        u, s, vh = fb.linalg.svd(a, full_matrices=False)
        near(((u * s) @ vh).numpy(), a.numpy())
        u, s, v = fb.svd_lowrank(a, 3)
        near(((u * s) @ v.mH).numpy(), a.numpy())


def test_a_cast_to_real_numbers_warns_that_it_loses_something():
    z = fb.tensor([3 + 4j], device="cpu")
    for cast in (lambda: z.float(), lambda: z.to(fb.int32), lambda: z.type(fb.float16), lambda: z.long()):
        with pytest.warns(UserWarning, match="imaginary parts would be lost"):
            assert cast().tolist() == [3]
    assert z.bool().tolist() == [True] and z.to(fb.complex64) is z


def test_what_takes_no_complex_numbers_says_so():
    z = fb.tensor(Z, device="cpu")
    calls = {
        "cosine_similarity": lambda: fb.nn.functional.cosine_similarity(z, z),
        "cdist": lambda: fb.cdist(z, z),
        "multinomial": lambda: fb.multinomial(z, 1),
        "poisson": lambda: fb.poisson(z),
        "binomial": lambda: fb.binomial(z, z),
        "grid_sample": lambda: fb.nn.functional.grid_sample(z[None, None], fb.zeros(1, 1, 1, 2)),
        "scaled_dot_product_attention": lambda: fb.nn.functional.scaled_dot_product_attention(z, z, z),
    }
    for name, call in calls.items():
        with pytest.raises(TypeError, match=rf"^{name}\(.*complex numbers"):
            call()
