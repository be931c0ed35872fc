"""float64 and complex128: exact on array devices, refused on GPUs with what to write, narrowed by a rule."""

import numpy as np
import pytest
from helpers.inputs import main_kind
from rows import ROWS

import flambeau as fb
from flambeau.core.op import COMPOSED, OPS

# what is float32 whatever goes in: made of no tensor, drawn, bits, or float32 by its meaning
SINGLE = """
_norms _scores_slopes _slopes _stored_weights _svd_jacobi arange cast cauchy empty exponential eye full
geometric gumbel laplace linspace log_normal logspace lu_unpack nextafter rand randn uniform zeros
"""
# weights and places in float32; draws; rows whose inputs are made float32 first; fits that are good to 1e-8
ROUGH = """
_j0 _j1 _k0e _k1e _y0 _y1 bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_k0 modified_bessel_k1
scaled_modified_bessel_k0 scaled_modified_bessel_k1
_keys _queries _values affine_grid airy_ai deform_conv2d geqrf grid_sample gumbel_softmax interpolate normal
qr quantized_linear randn_like rrelu
"""
# rows of pairs, which are complex numbers: test_complex.py
PAIRS = "_join _conj complex conj polar real imag angle adjoint sgn view_as_real view_as_complex"
OTHERS = {*SINGLE.split(), *ROUGH.split(), *PAIRS.split()}
FAMILIES = ("fft_", "linalg_", "signal_windows_")
FLOATS = [
    n
    for n, row in ROWS.items()
    if main_kind(row) == "f" and n not in OTHERS and not n.startswith(FAMILIES) and "window" not in n
]


def flat(y):
    return [t for v in y for t in flat(v)] if isinstance(y, tuple | list) else [y]


def test_ops_compute_in_double():
    """Every op of floats that has a row: its result is float64, and as near the reference as that is."""
    for name in FLOATS:
        row, rng = ROWS[name], np.random.default_rng(0)
        arrays = [i.make(rng) for i in row.inputs]
        arrays = [a.astype("f8") if a.dtype.kind == "f" else a for a in arrays]
        xs = [fb.tensor(a, fb.float64 if a.dtype.kind == "f" else None, "cpu") for a in arrays]
        found = flat((row.call or OPS.get(name) or COMPOSED[name])(*xs, **row.attrs))
        with np.errstate(all="ignore"):
            wanted = flat(row.expected(*arrays))
        for got, want in zip(found, map(np.asarray, wanted)):
            if want.dtype.kind != "f":
                continue
            assert got.dtype is fb.float64, name
            with np.errstate(all="ignore"):
                off = np.abs(got.numpy() - want) / (1 + np.abs(want))
            assert not (off[np.isfinite(off)] > 1e-9).any(), name


def test_linear_algebra_is_double():
    a = np.random.default_rng(1).normal(size=(4, 4))
    x = fb.tensor(a, dtype=fb.float64, device="cpu")
    q, r = fb.linalg.qr(x)
    _, s, _ = fb.linalg.svd(x)
    found = [q @ r, fb.linalg.inv(x), fb.linalg.det(x), s, fb.linalg.solve(x, x), x @ x]
    wanted = [a, np.linalg.inv(a), np.linalg.det(a), np.linalg.svd(a)[1], np.eye(4), a @ a]
    for got, want in zip(found, wanted):
        assert got.dtype is fb.float64 and np.abs(got.numpy() - want).max() < 1e-12


def test_gradients_are_double():
    a = np.random.default_rng(2).normal(size=(3, 4))
    x = fb.tensor(a, dtype=fb.float64, device="cpu", requires_grad=True)
    w = fb.ones(4, device="cpu", requires_grad=True)
    grads = (x.tanh() @ w).sum().backward()
    assert grads[x].dtype is fb.float64 and grads[w].dtype is fb.float32
    assert np.abs(grads[x].numpy() - (1 - np.tanh(a) ** 2)).max() < 1e-15


def test_narrowing_is_by_one_rule():
    """Arrays of doubles are float32 on every device, unless a dtype is asked for."""
    x = np.random.default_rng(3).random(3)
    assert fb.tensor(x, device="cpu").dtype is fb.from_numpy(x, device="cpu").dtype is fb.float32
    assert fb.tensor(x + 1j, device="cpu").dtype is fb.complex64
    for dtype in (fb.float64, "float64", "double", np.float64, x.dtype):
        t = fb.tensor(x, dtype=dtype, device="cpu")
        assert t.dtype is fb.float64 is fb.double and np.array_equal(t.numpy(), x) and t.tolist() == list(x)
    assert fb.tensor(x, device="cpu").double().dtype is fb.float64
    assert fb.tensor([1.0], device="cpu").dtype is fb.float32
    assert fb.zeros(2, dtype=fb.float64, device="cpu").dtype is fb.float64
    assert fb.finfo(fb.float64).eps == np.finfo("f8").eps and fb.finfo("f64").max == np.finfo("f8").max
    assert fb.finfo(fb.float64).tiny == np.finfo("f8").tiny and fb.finfo(fb.complex64).bits == 32
    assert fb.from_dlpack(x, device="cpu").dtype is fb.float64


def test_files_of_doubles(gpu, tmp_path):
    path, x = tmp_path / "x.safetensors", np.random.default_rng(4).random(3)
    fb.save({"x": fb.tensor(x, fb.float64, "cpu")}, path)
    assert np.array_equal(fb.load(path, "cpu")["x"].numpy(), x)
    assert fb.load(path, gpu)["x"].dtype is fb.float32
    wide = fb.tensor([1j], dtype=fb.complex128, device="cpu")
    with pytest.raises(TypeError) as e:
        fb.save({"z": wide}, path)
    rule = "'z' is complex128, which the format lacks: save .to(complex64), or .real and .imag"
    assert str(e.value).endswith(f"{str(path)!r}): {rule}")


def test_gpus_refuse_doubles(gpu):
    said = "{} is not on GPUs: WGSL has no floats of 64 bits: use {} with {} or device='cpu'"
    double = said.format("float64", "float32", ".float()")
    wide = said.format("complex128", "complex64", ".to(complex64)")
    x, on_host = fb.ones(2, device=gpu), fb.ones(2, dtype=fb.float64, device="cpu")
    for call, told in [
        (lambda: x.double(), f"cast(f32[2], flambeau.float64): {double}"),
        (lambda: x.cdouble(), f"cast(f32[2], flambeau.complex128): {wide}"),
        (lambda: fb.tensor([1.0], dtype=fb.float64, device=gpu), double),
        (lambda: on_host.to(gpu), double),
    ]:
        with pytest.raises(TypeError) as e:
            call()
        assert str(e.value) == told
    with pytest.raises(TypeError, match="float64 is not on GPUs"):
        fb.zeros(2, dtype=fb.float64, device=gpu)
    assert on_host.to(gpu, fb.float32).tolist() == [1, 1] and on_host.float().to(gpu).tolist() == [1, 1]
    assert x.to("cpu", fb.float64).dtype is fb.float64


# torch.promote_types of these, and of the same with a 0-d second
NAMES = "int32 float16 bfloat16 float32 float64 complex64 complex128"
WITH_DIMS = """
int32 float16 bfloat16 float32 float64 complex64 complex128
float16 float16 float32 float32 float64 complex64 complex128
bfloat16 float32 bfloat16 float32 float64 complex64 complex128
float32 float32 float32 float32 float64 complex64 complex128
float64 float64 float64 float64 float64 complex128 complex128
complex64 complex64 complex64 complex64 complex128 complex64 complex128
complex128 complex128 complex128 complex128 complex128 complex128 complex128
"""
WITHOUT = """
int32 float16 bfloat16 float32 float64 complex64 complex128
float16 float16 float16 float16 float16 complex64 complex64
bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 complex64 complex64
float32 float32 float32 float32 float32 complex64 complex64
float64 float64 float64 float64 float64 complex128 complex128
complex64 complex64 complex64 complex64 complex64 complex64 complex64
complex128 complex128 complex128 complex128 complex128 complex128 complex128
"""


@pytest.mark.parametrize("text, shape", [(WITH_DIMS, (2,)), (WITHOUT, ())], ids=["dims", "0-d"])
def test_promotion_is_torchs(text, shape):
    names = NAMES.split()
    for a, line in zip(names, text.strip().splitlines()):
        for b, want in zip(names, line.split()):
            x, y = fb.ones(2, dtype=a, device="cpu"), fb.ones(shape, dtype=b, device="cpu")
            assert fb.result_type(x, y).name == (x * y).dtype.name == want, f"{a} with {b}"
            assert (y * x).dtype.name == want and (x == y).dtype is fb.bool_
    i, d = fb.ones(2, dtype=fb.int32, device="cpu"), fb.ones(2, dtype=fb.float64, device="cpu")
    assert (
        (i * 1j).dtype is fb.complex64 and (d * 1j).dtype is fb.complex128 and (d * 2.5).dtype is fb.float64
    )
    assert fb.can_cast(fb.float32, fb.complex64) and not fb.can_cast(fb.complex64, fb.float64)


def test_torch_itself_agrees(torch):
    names = NAMES.split()
    for text, shape in ((WITH_DIMS, (2,)), (WITHOUT, ())):
        for a, line in zip(names, text.strip().splitlines()):
            for b, want in zip(names, line.split()):
                if (
                    {a, b} <= {"float16", "bfloat16", "complex64", "complex128"}
                    and "complex" in b
                    and not shape
                ):
                    continue  # PyTorch's complex halves, which are not here
                pair = [torch.ones(s, dtype=getattr(torch, n)) for n, s in ((a, (2,)), (b, shape))]
                assert str(torch.result_type(*pair))[6:] == want, f"{a} with {b}"


def test_steps_and_counted_weights_are_of_float64():
    """Whose rows have a reference in float32, or integers for their first input."""
    a, b = np.array([1.0, -2.0, 0.5]), np.array([2.0, -3.0, 0.5])
    x, y = (fb.tensor(t, dtype=fb.float64, device="cpu") for t in (a, b))
    assert (x.nextafter(y).numpy() == np.nextafter(a, b)).all() and x.nextafter(y).dtype is fb.float64
    made = fb.tensor([0, 2, 2], device="cpu").bincount(x / 3)
    assert made.dtype is fb.float64 and (made.numpy() == np.bincount([0, 2, 2], a / 3)).all()
