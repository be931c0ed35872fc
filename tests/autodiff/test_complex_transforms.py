"""Transforms of functions of complex numbers, with NumPy's numbers."""

import numpy as np
import pytest

import flambeau as fb

Z = np.array([1 + 2j, -0.5 + 1j, 3 - 1j], np.complex64)
W = np.array([0.5 - 1j, 2 + 1j, 1j], np.complex64)


def tensors():
    return fb.tensor(Z, device="cpu"), fb.tensor(W, device="cpu")


def test_products_with_the_jacobian():
    z, w = tensors()
    out, tangent = fb.func.jvp(lambda z: (z * z.conj()).real, (z,), (w,))
    np.testing.assert_allclose(out.numpy(), np.abs(Z) ** 2, rtol=1e-6)
    np.testing.assert_allclose(tangent.numpy(), 2 * (Z.conj() * W).real, rtol=1e-5)
    out, tangent = fb.func.jvp(lambda z: z * z, (z,), (w,))
    np.testing.assert_allclose(tangent.numpy(), 2 * Z * W, rtol=1e-5)
    _, pull = fb.func.vjp(lambda z: z * z, z)
    np.testing.assert_allclose(pull(w)[0].numpy(), 2 * Z.conj() * W, rtol=1e-5)
    np.testing.assert_allclose(fb.func.grad(lambda z: z.abs().sum())(z).numpy(), Z / np.abs(Z), rtol=1e-5)


def test_complex_results_have_no_jacobian():
    z, _ = tensors()
    for call in (fb.func.jacrev, fb.func.jacfwd):
        with pytest.raises(ValueError, match="is complex: use vjp or jvp, or the real parts"):
            call(lambda x: x * 1j)(z.real)
    with pytest.raises(ValueError, match="the function must return a real number"):
        fb.func.grad(lambda z: z.sum())(z)


def test_vmap():
    both = fb.stack(tensors())
    spectra = fb.func.vmap(fb.fft.fft)(both)
    np.testing.assert_allclose(spectra.numpy(), np.fft.fft(np.stack([Z, W])), rtol=1e-5, atol=1e-5)
    pairs = fb.func.vmap(lambda z: fb.view_as_real(z) * 2)(both)
    assert pairs.shape == (2, 3, 2) and pairs[1, 0].tolist() == [1, -2]
    grads = fb.func.vmap(fb.func.grad(lambda z: (z * z.conj()).real))(both[0])
    np.testing.assert_allclose(grads.numpy(), 2 * Z, rtol=1e-5)
