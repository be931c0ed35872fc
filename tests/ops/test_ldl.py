"""Symmetric matrices that are not definite: factors and solutions against NumPy, pivots against LAPACK's."""

import re

import numpy as np
import pytest

import flambeau as fb

SIZES = (1, 2, 3, 5, 8)
KINDS = ("real", "symmetric", "hermitian")
# drawn, without a diagonal (blocks of 2), and of very different sizes
SHAPES = {
    "drawn": lambda a, rng: a,
    "no diagonal": lambda a, rng: a - np.diag(np.diag(a)),
    "scaled": lambda a, rng: a * np.outer(s := 10.0 ** rng.uniform(-1, 1, len(a)), s),
}


def cases():
    for n in SIZES:
        for kind in KINDS:
            for shape, made in SHAPES.items():
                rng = np.random.default_rng(n)
                a = rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n)) if kind != "real" else 0)
                a = made(a + (np.conj(a.T) if kind == "hermitian" else a.T), rng)
                yield f"{n} {kind} {shape}", a.astype("f4" if kind == "real" else "c8"), kind == "hermitian"


def test_solutions():
    for name, a, hermitian in cases():
        if np.linalg.cond(a) > 1e4:
            continue
        b = np.random.default_rng(7).normal(size=(len(a), 2)).astype(a.dtype)
        factors = fb.linalg.ldl_factor(fb.tensor(a, device="cpu"), hermitian=hermitian)
        x = fb.linalg.ldl_solve(*factors, fb.tensor(b, device="cpu"), hermitian=hermitian).numpy()
        want = np.linalg.solve(a.astype("c16"), b)
        np.testing.assert_allclose(x, want, rtol=2e-3, atol=2e-3 * np.abs(want).max(), err_msg=name)


def test_batches_upper_triangles_doubles_and_what_is_singular():
    a = np.array([[[4.0, 9], [2, 5]], [[0, 9], [3, 0]]])
    found = fb.linalg.ldl_factor_ex(fb.tensor(a, dtype=fb.float64, device="cpu"))
    assert found.LD.tolist() == [[[4, 0], [0.5, 4]], [[0, 0], [3, 0]]] and found.LD.dtype is fb.float64
    assert found.pivots.tolist() == [[1, 2], [-2, -2]] and found.info.tolist() == [0, 0]
    none = fb.linalg.ldl_factor_ex(fb.zeros(2, 2, device="cpu"))
    assert none.info.item() == 1 and none.pivots.tolist() == [1, 2]
    empty = fb.linalg.ldl_factor_ex(fb.zeros(3, 0, 0, device="cpu"))
    assert empty.LD.shape == (3, 0, 0) and empty.pivots.shape == (3, 0) and empty.info.tolist() == [0, 0, 0]


def test_errors():
    x = fb.ones(2, 2, device="cpu")
    factors, rule = fb.linalg.ldl_factor(x), "would read from the device: read info instead"
    cases = {
        "linalg.ldl_factor(f32[2]): shape [2] is not a batch of square matrices: needs [..., n, n]": (
            lambda: fb.linalg.ldl_factor(x[0])
        ),
        f"linalg.ldl_factor_ex(f32[2, 2], check_errors=True): check_errors=True {rule}": (
            lambda: fb.linalg.ldl_factor_ex(x, check_errors=True)
        ),
        "linalg.ldl_solve(f32[2, 2], i32[2], f32[3, 1]): [3, 1] does not fit matrices [2, 2]:"
        " it must have 2 rows": (lambda: fb.linalg.ldl_solve(*factors, fb.ones(3, 1, device="cpu"))),
    }
    for text, call in cases.items():
        with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
            call()


def test_of_a_gpu_they_are_read_and_moved_back(gpu):
    x = fb.tensor([[0.0, 2.0], [2.0, 1.0]], device=gpu)
    factors = fb.linalg.ldl_factor(x)
    assert factors.LD.device is gpu and factors.pivots.tolist() == [-2, -2]
    b = fb.tensor([[2.0], [3.0]], device=gpu)
    np.testing.assert_allclose(fb.linalg.ldl_solve(*factors, b).numpy(), [[1], [1]], atol=1e-6)


def test_agrees_with_torch(torch):
    same = 0
    for name, a, hermitian in cases():
        ours = fb.linalg.ldl_factor_ex(fb.tensor(a, device="cpu"), hermitian=hermitian)
        theirs = torch.linalg.ldl_factor_ex(torch.from_numpy(a), hermitian=hermitian)
        assert ours.info.item() == theirs.info.item(), name
        assert ours.pivots.tolist() == theirs.pivots.tolist(), name
        want = theirs.LD.tril().numpy()
        np.testing.assert_allclose(ours.LD.tril().numpy(), want, rtol=5e-3, atol=5e-3 * np.abs(want).max())
        same += 1
    assert same == len(SIZES) * len(KINDS) * len(SHAPES)
