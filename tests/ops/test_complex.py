"""Complex numbers on both devices: values beside NumPy's, gradients beside PyTorch's and differences."""

import numpy as np
import pytest
from helpers.compare import values
from helpers.draws import in_turn

import flambeau as fb

RNG = np.random.default_rng(12)
Z, W = (RNG.normal(size=(3, 4)) + 1j * RNG.normal(size=(3, 4)) for _ in range(2))
X = RNG.uniform(0.2, 2, size=(3, 4))
FUNCTIONS = (
    "exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan sinh cosh tanh square reciprocal conj "
    "arcsin arccos arctan arcsinh arccosh arctanh"
)
# name: (ours of z, w and x, NumPy's)
CASES = {
    **{
        n: (lambda m, z, w, x, n=n: getattr(z, n)(), lambda z, w, x, n=n: getattr(np, n)(z))
        for n in FUNCTIONS.split()
    },
    "rsqrt": (lambda m, z, w, x: z.rsqrt(), lambda z, w, x: 1 / np.sqrt(z)),
    "sigmoid": (lambda m, z, w, x: z.sigmoid(), lambda z, w, x: 1 / (1 + np.exp(-z))),
    "neg": (lambda m, z, w, x: -z, lambda z, w, x: -z),
    "abs": (lambda m, z, w, x: z.abs(), lambda z, w, x: np.abs(z)),
    "angle": (lambda m, z, w, x: z.angle(), lambda z, w, x: np.angle(z)),
    "sgn": (lambda m, z, w, x: z.sgn(), lambda z, w, x: z / np.abs(z)),
    "real": (lambda m, z, w, x: z.real * 2, lambda z, w, x: z.real * 2),
    "imag": (lambda m, z, w, x: z.imag**2, lambda z, w, x: z.imag**2),
    "add": (lambda m, z, w, x: z + w * 2, lambda z, w, x: z + w * 2),
    "subtract": (lambda m, z, w, x: z - x, lambda z, w, x: z - x),
    "multiply": (lambda m, z, w, x: z * w, lambda z, w, x: z * w),
    "by a real": (lambda m, z, w, x: z * x + x, lambda z, w, x: z * x + x),
    "divide": (lambda m, z, w, x: z / w, lambda z, w, x: z / w),
    "divide a real": (lambda m, z, w, x: x / z + z / x, lambda z, w, x: x / z + z / x),
    "numbers": (
        lambda m, z, w, x: (z * (1 - 2j) + 1j) / 3 - 2 / z,
        lambda z, w, x: (z * (1 - 2j) + 1j) / 3 - 2 / z,
    ),
    "of reals": (lambda m, z, w, x: x * (1 - 2j), lambda z, w, x: x * (1 - 2j)),
    "powers": (
        lambda m, z, w, x: z**w + z**3 + z**0.5 + 2.0**z,
        lambda z, w, x: z**w + z**3 + z**0.5 + 2.0**z,
    ),
    "sums": (
        lambda m, z, w, x: z.sum(0) + z.mean(0) + z.sum(),
        lambda z, w, x: z.sum(0) + z.mean(0) + z.sum(),
    ),
    "products": (lambda m, z, w, x: z.prod(1), lambda z, w, x: z.prod(1)),
    "scans": (lambda m, z, w, x: z.cumsum(1) + w.cumprod(1), lambda z, w, x: z.cumsum(1) + w.cumprod(1)),
    "matmul": (lambda m, z, w, x: z @ w.T, lambda z, w, x: z @ w.T),
    "adjoint": (lambda m, z, w, x: z @ w.mH, lambda z, w, x: z @ w.conj().T),
    "einsum": (lambda m, z, w, x: m.einsum("ij,kj->ki", z, w), lambda z, w, x: np.einsum("ij,kj->ki", z, w)),
    "bmm": (lambda m, z, w, x: m.bmm(z[None], w.T[None]), lambda z, w, x: (z @ w.T)[None]),
    "vdot": (lambda m, z, w, x: m.vdot(z[0], w[0]), lambda z, w, x: np.vdot(z[0], w[0])),
    "where": (lambda m, z, w, x: m.where(x > 1, z, w), lambda z, w, x: np.where(x > 1, z, w)),
    "cat": (lambda m, z, w, x: m.cat([z, w], 1), lambda z, w, x: np.concatenate([z, w], 1)),
    "stack": (lambda m, z, w, x: m.stack([z, w]), lambda z, w, x: np.stack([z, w])),
    "slices": (
        lambda m, z, w, x: z[1:, ::2].flip(0).T.reshape(-1),
        lambda z, w, x: z[1:, ::2][::-1].T.reshape(-1),
    ),
    "rows": (lambda m, z, w, x: z[[2, 0, 0]], lambda z, w, x: z[[2, 0, 0]]),
    "complex": (lambda m, z, w, x: m.complex(x, x * 2), lambda z, w, x: x + 2j * x),
    "polar": (lambda m, z, w, x: m.polar(x, x * 3), lambda z, w, x: x * np.exp(3j * x)),
    "as real": (lambda m, z, w, x: m.view_as_real(z) * 3, lambda z, w, x: np.stack([z.real, z.imag], -1) * 3),
    "as complex": (
        lambda m, z, w, x: m.view_as_complex(m.stack([x, x * x], -1)),
        lambda z, w, x: x + 1j * x * x,
    ),
    "size": (
        lambda m, z, w, x: (z * z.conj()).real.sum().sqrt(),
        lambda z, w, x: np.sqrt((abs(z) ** 2).sum()),
    ),
    "fft": (lambda m, z, w, x: m.fft.fft(z) + m.fft.ifft(w), lambda z, w, x: np.fft.fft(z) + np.fft.ifft(w)),
    "rfft": (lambda m, z, w, x: m.fft.rfft(x), lambda z, w, x: np.fft.rfft(x)),
    "irfft": (lambda m, z, w, x: m.fft.irfft(z), lambda z, w, x: np.fft.irfft(z)),
}
WEIGHTS = RNG.normal(size=64) + 1j * RNG.normal(size=64)


def near(got, want, tol=3e-6):
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape and got.dtype.kind == want.dtype.kind
    assert np.all(np.abs(got - want) <= tol * (1 + np.abs(want)))


def loss(y, weights):
    """A real number of all parts of a result."""
    if y.is_complex():
        y = (y * weights[: y.numel()].reshape(tuple(y.shape))).real
    return (y * y).sum() * 0.5


def given(make, dtype="c8"):
    real = "f4" if dtype == "c8" else "f8"
    return [make(a.astype(t)) for a, t in ((Z, dtype), (W, dtype), (X, real))]


def on(device, dtype=None, grad=True):
    def make(a):
        kind = None if dtype is None else {"c": fb.complex128, "f": fb.float64}[a.dtype.kind]
        return fb.tensor(a, dtype=kind, device=device, requires_grad=grad)

    return make


@pytest.mark.share(2, only=["gpu"])
def test_values(device):
    inputs = given(on(device, grad=False))
    made = {n: ours(fb, *inputs) for n, (ours, _) in CASES.items()}
    for (name, y), got in zip(made.items(), values(*made.values())):
        want = np.asarray(CASES[name][1](Z.astype("c8"), W.astype("c8"), X.astype("f4")))
        assert y.dtype is (fb.complex64 if want.dtype.kind == "c" else fb.float32), name
        near(got, want.astype("c8" if want.dtype.kind == "c" else "f4"), 5e-6)


def test_values_in_double():
    inputs = given(on("cpu", "double", grad=False), "c16")
    for ours, theirs in CASES.values():
        near(ours(fb, *inputs).numpy(), theirs(Z, W, X), 1e-12)


def slopes(function, inputs, weights):
    found = loss(function(fb, *inputs), weights).backward()
    return [found.get(x) for x in inputs]


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_finite_differences(name):
    """Along a drawn direction: the slope by a step is the sum of its real products with the gradient."""
    function, _ = CASES[name]
    inputs, weights = given(on("cpu", "double"), "c16"), fb.tensor(WEIGHTS, dtype=fb.complex128, device="cpu")
    grads, rng, h = slopes(function, inputs, weights), np.random.default_rng(1), 1e-6
    steps = [rng.normal(size=X.shape) + 1j * rng.normal(size=X.shape) for _ in range(2)]
    steps.append(rng.normal(size=X.shape))
    along = sum((g.numpy().conj() * s).real.sum() for g, s in zip(grads, steps) if g is not None)

    def at(t):
        moved = [fb.tensor(x.numpy() + t * s, dtype=x.dtype, device="cpu") for x, s in zip(inputs, steps)]
        return loss(function(fb, *moved), weights).item()

    assert (at(h) - at(-h)) / (2 * h) == pytest.approx(along, rel=1e-6, abs=1e-6)
    assert all(g is None or g.dtype is x.dtype for g, x in zip(grads, inputs))


@pytest.mark.share(2)
def test_gradients_on_a_gpu(gpu):
    """Of a third of the cases."""
    functions, found = [CASES[name][0] for name in in_turn(CASES, 3)], {}
    for device in (gpu, "cpu"):
        weights = fb.tensor(WEIGHTS.astype("c8"), device=device)
        found[device] = [g for f in functions for g in slopes(f, given(on(device)), weights) if g is not None]
    for got, want in zip(values(*found[gpu]), values(*found["cpu"]), strict=True):
        near(got, want, 2e-5)


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_torchs(name, torch):
    function, _ = CASES[name]
    theirs = given(lambda a: torch.tensor(a, requires_grad=True), "c16")
    y = function(torch, *theirs)
    loss(y, torch.tensor(WEIGHTS)).backward()
    inputs = given(on("cpu", "double"), "c16")
    near(function(fb, *inputs).numpy(), y.detach().resolve_conj().numpy(), 1e-12)
    weights = fb.tensor(WEIGHTS, dtype=fb.complex128, device="cpu")
    for got, t in zip(slopes(function, inputs, weights), theirs):
        if t.grad is not None:
            near(got.numpy(), t.grad.resolve_conj().numpy(), 1e-10)


# --- what is special


def test_special_values(device):
    z = np.array([0, 0, 1e30 + 1e30j, 50 + 3j, -50 - 3j, -4, 1j], "c8")
    t = fb.tensor(z, device=device)
    made = [t.abs(), t.sqrt(), t.tanh(), t.sigmoid(), t / t[2:3], t**0, t * 0 == 0, t.sgn(), t.log1p()]
    size, root, tanh, sigmoid, ratio, one, none, sgn, log1p = values(*made)
    wide = z.astype("c16")
    near(size, abs(wide).astype("f4"))
    near(root, np.sqrt(wide).astype("c8"))
    near(tanh, np.tanh(wide).astype("c8"))
    near(sigmoid, (1 / (1 + np.exp(-wide))).astype("c8"))
    near(ratio, (wide / wide[2]).astype("c8"))
    assert (one == 1).all() and none.all() and sgn[0] == 0 and sgn[5] == -1
    near(log1p, np.log1p(wide).astype("c8"))
    bad = fb.tensor(np.array([complex("nan"), complex(0, np.inf), 1], "c8"), device=device)
    seen = values(bad.isnan(), bad.isinf(), bad.isfinite(), bad.logical_not(), bad == bad, bad != 1)
    wanted = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0], [0, 1, 1], [1, 1, 0]]
    assert [[int(v) for v in row] for row in seen] == wanted
    assert fb.tensor([0j], device=device, requires_grad=True).abs().sum().backward() is not None


def test_views_and_writes(device):
    z = fb.tensor(Z.astype("c8"), device=device)
    want = Z.astype("c8").copy()
    t, parts, last = z.T, fb.view_as_real(z), z[:, -1]
    z.real = 3.0
    want.real = 3
    z.imag[0] += 1
    want.imag[0] += 1
    parts[1, 1] = fb.tensor([7.0, 8.0], device=device)
    want[1, 1] = 7 + 8j
    last *= 2j
    want[:, -1] *= 2j
    z[2, :2] = 5 - 1j
    want[2, :2] = 5 - 1j
    found = values(z, t, parts, last, z.real, z.imag)
    wanted = [want, want.T, want.view("f4").reshape(3, 4, 2), want[:, -1], want.real, want.imag]
    for got, w in zip(found, wanted):
        assert np.array_equal(got, w)
    x = fb.tensor([[1.0, 2.0], [3.0, 4.0]], device=device)
    fb.view_as_complex(x).mul_(1j)
    assert x.tolist() == [[-2, 1], [-4, 3]]
    with pytest.raises(TypeError) as e:
        x += 1j
    assert str(e.value) == (
        "__iadd__(f32[2, 2]): the result is c64, and a tensor keeps its dtype: use x = x + y, or cast x first"
    )


def test_recorded_calls(gpu):
    step = fb.jit(lambda z, k: ((z * 1j).exp() + z.conj() * k, z.abs().sum()))
    for k in (1, 2, 3):
        z = (Z * k).astype("c8")
        a, b = step(fb.tensor(z, device=gpu), fb.tensor(np.float32(k), device=gpu))
        near(a.numpy(), np.exp(1j * z) + z.conj() * np.float32(k), 1e-5)
        near(b.numpy(), abs(z).sum())
    assert len(step.programs) == 1


def test_scatters_and_embeddings(device):
    z, w = (fb.tensor(a.astype("c8"), device=device) for a in (Z, W))
    index = fb.tensor([2, 0, 2], device=device)
    want = Z.astype("c8").copy()
    np.add.at(want, [2, 0, 2], W.astype("c8"))
    put = Z.astype("c8").copy()
    put[[2, 0]] = W.astype("c8")[:2]
    filled = np.where(X > 1, 1j, Z).astype("c8")
    mask = fb.tensor(X > 1, device=device)
    made = [z.index_add(0, index, w), z.index_copy(0, index[:2], w[:2]), z.masked_fill(mask, 1j)]
    made.append(z.diagonal())
    for got, w in zip(values(*made), [want, put, filled, Z.astype("c8").diagonal()]):
        near(got, w)


def test_chains_are_one_kernel(gpu):
    z, w = (fb.tensor(a.astype("c8"), device=gpu) for a in (Z, W))
    plans = [(z * w + 1j).exp().plan(), (z * 2 + w).abs().sum().plan(), (z * 2.0).plan()]
    assert [len(p) for p in plans] == [1, 1, 1]
    assert (z * 2.0).realize().node.buffer.nbytes == 96


# --- dtypes, hosts, files


def test_what_is_made():
    one = fb.tensor([1, 2j, 0.5], device="cpu")
    assert one.dtype is fb.complex64 is fb.cfloat and one.tolist() == [1, 2j, 0.5] and one[1].item() == 2j
    assert one.is_complex() and fb.is_complex(one) and not one.is_floating_point() and one.is_signed()
    assert repr(one).startswith("tensor([1.0000+0.j, 0.0000+2.j, 0.5000+0.j]")
    assert complex(one[1]) == 2j and bool(one[0]) and one.itemsize == 8
    assert fb.full((2,), 1 - 1j, device="cpu").tolist() == [1 - 1j] * 2
    assert fb.zeros(2, dtype=fb.complex64, device="cpu").tolist() == [0, 0]
    assert fb.tensor(np.array([1j]), device="cpu").dtype is fb.complex64
    assert fb.tensor(np.array([1j]), dtype="complex128", device="cpu").dtype is fb.complex128 is fb.cdouble
    assert fb.tensor([1.5], device="cpu").cfloat().tolist() == [1.5]
    assert one.real.dtype is fb.float32 and one.cdouble().imag.dtype is fb.float64
    assert one.to(fb.bool_).tolist() == [True] * 3 and not one.is_conj() and one.resolve_conj() is one
    x = fb.tensor([1.0, -2.0], device="cpu")
    assert x.real.tolist() == x.conj().tolist() == [1, -2]
    assert x.angle().tolist() == pytest.approx([0, np.pi])
    assert one.isreal().tolist() == [True, False, True] and x.isreal().all() and x.sgn().tolist() == [1, -1]
    m = fb.tensor([[1j, 2], [3, 4]], device="cpu")
    assert m.H.tolist() == m.mH.tolist() == m.adjoint().tolist() == [[-1j, 3], [2, 4]]


def test_files(device, tmp_path):
    z = fb.tensor(Z.astype("c8"), device=device)
    fb.save({"z": z, "x": z.real}, tmp_path / "z.safetensors")
    found = fb.load(tmp_path / "z.safetensors", device)
    assert found["z"].dtype is fb.complex64 and np.array_equal(found["z"].numpy(), Z.astype("c8"))
    assert np.array_equal(found["x"].numpy(), Z.real.astype("f4"))


REFUSED = [
    (lambda z: z < z, "lt(c64[2], c64[2]): complex numbers have no order: compare .real, .imag or .abs()"),
    (
        lambda z: z.maximum(z),
        "maximum(c64[2], c64[2]): complex numbers have no order: compare .real, .imag or .abs()",
    ),
    (lambda z: z.sort(), "sort(c64[2]): complex numbers have no order: compare .real, .imag or .abs()"),
    (lambda z: z.amax(), "amax(c64[2]): complex numbers have no order: compare .real, .imag or .abs()"),
    (lambda z: z.floor(), "floor(c64[2]): takes no complex numbers: take .real, .imag or .abs()"),
    (
        lambda z: z.cast(fb.float32),
        "cast(c64[2], flambeau.float32): complex numbers cannot become float32: take .real, .imag or .abs()"
        " first",
    ),
    (
        lambda z: z.real.imag,
        "imag(f32[2]): takes complex numbers: make them with complex(real, imag), or cast with"
        " .to(complex64)",
    ),
    (
        lambda z: fb.view_as_real(z.real),
        "view_as_real(f32[2]): takes complex numbers: make them with complex(real,"
        " imag), or cast with .to(complex64)",
    ),
    (
        lambda z: fb.view_as_complex(fb.zeros(3)),
        "view_as_complex(f32[3]): takes floats with a last dim of 2, the real and the imaginary part",
    ),
    (
        lambda z: fb.tensor([1j], dtype=fb.float32),
        "tensor(...): 1j is complex, and f32 is not: use dtype=complex64",
    ),
    (
        lambda z: fb.tensor(np.array([1j]), dtype=fb.int32),
        "tensor(array of complex128): i32 can't hold complex numbers: pass .real or .imag, or"
        " dtype=complex64",
    ),
    (
        lambda z: z.requires_grad_().sum().backward(),
        "backward(c64[]): the loss is complex: use .abs() or .real, or pass gradient",
    ),
    (lambda z: z.reshape(1, 2, 1).H, "H(c64[1, 2, 1]): takes a matrix: use mH for the last two dims"),
    (
        lambda z: fb.lobpcg(z * z.reshape(2, 1), 1),
        "lobpcg(c64[2, 2], 1): does not support complex matrices: use solve, inv, det, lu, cholesky, qr, svd,"
        " eigh, eig, pinv or lstsq, which run on the host",
    ),
]


@pytest.mark.parametrize("call, said", REFUSED)
def test_what_is_refused(call, said):
    with pytest.raises((TypeError, ValueError)) as e:
        call(fb.tensor([1j, 2], device="cpu"))
    assert str(e.value) == said


# --- eigenvalues


@pytest.mark.parametrize("n", [1, 2, 5, 16])
def test_eigenvalues(n, device):
    a = np.random.default_rng(n).normal(size=(2, n, n)).astype("f4")
    x = fb.tensor(a, device=device, requires_grad=True)
    value, vector = fb.linalg.eig(x)
    assert value.dtype is vector.dtype is fb.complex64 and value.device is x.device
    left, right, sizes = values(x.detach().cfloat() @ vector, vector * value.unsqueeze(-2), vector.abs())
    near(left, right, 5e-6)
    near((sizes**2).sum(-2), np.ones((2, n), "f4"))
    wanted = np.linalg.eigvals(a.astype("f8"))
    near(np.sort_complex(fb.linalg.eigvals(x).numpy()), np.sort_complex(wanted.astype("c8")), 2e-5)
    trace = value.sum().real.backward()[x].numpy()  # of the sum of eigenvalues: the identity
    near(trace, np.broadcast_to(np.eye(n, dtype="f4"), (2, n, n)), 2e-4)


def test_slopes_of_eigenvectors_are_torchs(torch):
    a = np.random.default_rng(3).normal(size=(2, 5, 5))
    x = fb.tensor(a, dtype=fb.float64, device="cpu", requires_grad=True)
    t = torch.tensor(a, requires_grad=True)

    def size(m, pair):
        return (pair[0].abs() ** 3).sum() + (pair[1].abs() ** 4).sum()

    size(torch, torch.linalg.eig(t)).backward()
    near(size(fb, fb.linalg.eig(x)).backward()[x].numpy(), t.grad.numpy(), 1e-9)


def test_eigenvalues_of_special_matrices():
    jordan = fb.tensor([[1.0, 1.0], [0.0, 1.0]], device="cpu")
    assert fb.linalg.eigvals(jordan).tolist() == [1, 1]
    assert fb.linalg.eigvals(fb.tensor([[0.0, -1.0], [1.0, 0.0]], device="cpu")).abs().tolist() == [1, 1]
    assert fb.linalg.eig(fb.zeros(3, 0, 0, device="cpu")).eigenvectors.shape == (3, 0, 0)
    with pytest.raises(ValueError) as e:
        fb.linalg.eig(fb.zeros(2, 3, device="cpu"))
    assert str(e.value) == (
        "linalg.eig(f32[2, 3]): shape [2, 3] is not a batch of square matrices: needs [..., n, n]"
    )


def test_logaddexp_of_complex_numbers_and_bools(device):
    z, b = fb.tensor([1 + 0j, 2 + 1j], device=device), fb.tensor([False, True], device=device)
    want = np.log(np.exp([1, 2 + 1j]) + np.exp([0, 1]))
    for y in (fb.logaddexp(z, b), fb.logaddexp(b, z)):
        np.testing.assert_allclose(y.numpy(), want, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_a_complex_number_is_no_real_one(dtype):
    x = fb.zeros(2, dtype=getattr(fb, dtype), device="cpu")
    for call in (lambda: x.fill_(1 + 2j), lambda: fb.full((2,), 1 + 2j, dtype=x.dtype, device="cpu")):
        with pytest.raises(RuntimeError, match=r"has no \(1\+2j\): use a complex dtype, or its .real"):
            call()
    assert x.fill_(1 + 0j).tolist() == [1, 1] and x.bool().fill_(2j).tolist() == [True, True]


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_integers_have_no_infinity(number):
    with pytest.raises(RuntimeError, match=f"int32 has no {number}: use a dtype of floats"):
        fb.full((2,), number, dtype=fb.int32, device="cpu")
    assert fb.full((1,), number, dtype=fb.bool, device="cpu").tolist() == [True]
