"""Numeric functions where rows do not reach: reads, operators, arguments, edges, errors in full."""

import math

import numpy as np
import pytest

import flambeau as fb


def test_comparisons_that_read(device):
    x = fb.tensor([1.0, 2.0, float("nan")], device=device)
    assert not x.allclose(x) and x.allclose(x, equal_nan=True)
    assert fb.allclose(fb.zeros(3, device=device) + 1e-9, fb.zeros(3, device=device))
    assert not x.equal(x) and x[:2].equal(x[:2]) and not x[:2].equal(x[:1])


def test_reflected_bit_operators(device):
    x = fb.tensor([1, 6, 31, 32, -1], device=device)
    assert (6 & x).tolist() == [0, 6, 6, 0, 6]
    assert (6 | x).tolist() == [7, 6, 31, 38, -1]
    assert (6 ^ x).tolist() == [7, 0, 25, 38, -7]
    assert (1 << x).tolist() == [2, 64, 2**31, 2**32, 0]
    assert (-8 >> x).tolist() == [-4, -1, -1, -1, -1]


def test_alpha_and_rounding_modes(device):
    x, y = fb.tensor([7, -7, 7, -7], device=device), fb.tensor([2, 2, -2, -2], device=device)
    assert x.add(y, alpha=3).tolist() == [13, -1, 1, -13]
    assert x.sub(y, alpha=3).tolist() == [1, -13, 13, -1]
    assert fb.rsub(x, y, alpha=2).tolist() == [-12, 16, -16, 12]
    assert x.div(y, rounding_mode="trunc").tolist() == [3, -3, -3, 3]
    assert x.div(y, rounding_mode="floor").tolist() == [3, -4, -4, 3]
    assert x.div(y, rounding_mode="floor").dtype is fb.int64
    assert (x.float() / 2).div(0.7, rounding_mode="trunc").tolist() == [5, -5, 5, -5]
    assert fb.divide(x, 2).tolist() == [3.5, -3.5, 3.5, -3.5]
    assert (
        fb.tensor([1.2345, -2.5], device=device)
        .round(decimals=2)
        .allclose(fb.tensor([1.23, -2.5], device=device))
    )


def test_a_quotient_rounded_up_is_corrected(device):
    x, y = np.float32([1, -1, 0.6, 7, -7]), np.float32([0.1, 0.1, 0.2, 0.7, 0.1])
    a, b = fb.tensor(x, device=device), fb.tensor(y, device=device)
    assert ((a // b).numpy() == np.floor_divide(x, y)).all()
    np.testing.assert_allclose((a % b).numpy(), np.remainder(x, y), rtol=1e-5)
    np.testing.assert_allclose(a.fmod(b).numpy(), np.fmod(x, y), rtol=1e-5)


def test_next_floats_and_signs(device):
    x = np.float32([0, -0.0, 1, -1, 1, 3e38, -5])
    y = np.float32([1, -1, 2, 0, 1, np.inf, np.inf])
    got = fb.tensor(x, device=device).nextafter(fb.tensor(y, device=device)).numpy()
    assert got.tobytes() == np.nextafter(x, y).tobytes()
    assert fb.tensor([-0.0, 0.0], device=device).signbit().tolist() == [True, False]


def test_powers_of_two_are_exact(device):
    x = fb.tensor([1.0, 1.5, -3.0, float("inf"), 0.0], device=device)
    for e in (-100, -1, 0, 63, 126):
        want = np.float32([math.ldexp(v, e) for v in x.tolist()])
        assert x.ldexp(fb.tensor(e, device=device)).tolist() == want.tolist()
    mantissa, power = fb.frexp(fb.tensor([8.0, -0.75, 0.0], device=device))
    assert mantissa.tolist() == [0.5, -0.75, 0.0] and power.tolist() == [4, 0, 0]


def test_far_out(device):
    """Special functions keep their digits where a plain formula would lose all of them."""
    x = fb.tensor([5.0, 9.0], device=device)
    np.testing.assert_allclose(x.erfc().numpy(), [math.erfc(5), math.erfc(9)], rtol=1e-5)  # exp's own
    np.testing.assert_allclose((-x * 4).log_ndtr().numpy(), [-203.91715537, -652.50322774], rtol=1e-6)
    np.testing.assert_allclose(fb.tensor([100.0, 1e6], device=device).lgamma().numpy(),
                               [math.lgamma(100), math.lgamma(1e6)], rtol=2e-7)  # fmt: skip
    near = np.float32([1.001, 1.999, 2.001, 0.999])
    got = fb.tensor(near, device=device).lgamma().numpy()
    np.testing.assert_allclose(got, [math.lgamma(float(v)) for v in near], rtol=2e-6)


def test_special_names(device):
    x = fb.tensor([0.25, 0.5], device=device)
    assert fb.special.expit(x).equal(x.sigmoid()) and fb.special.psi(x).equal(x.digamma())
    assert fb.special.polygamma(1, x).equal(x.polygamma(1))
    assert x.xlogy(2.0).allclose(x * math.log(2)) and fb.greater(x, 0.3).tolist() == [False, True]


def test_slope_of_zeta_and_polygamma_at_any_order(device):
    q = fb.tensor([0.7, 3.0], device=device, requires_grad=True)
    grads = fb.full((), 3.0, device=device).zeta(q).sum().backward()
    want = [-3 * sum((v + k) ** -4 for k in range(3000)) for v in (0.7, 3.0)]
    np.testing.assert_allclose(grads[q].numpy(), want, rtol=1e-5)
    g = q.polygamma(1).sum().backward(create_graph=True)[q]
    np.testing.assert_allclose(g.sum().backward()[q].numpy(), q.polygamma(3).numpy(), rtol=1e-6)


@pytest.mark.parametrize("call, text", [
    (lambda x: x.div(2, rounding_mode="up"),
     "div(f32[2], 2, rounding_mode='up'): rounding_mode='up' is unknown: use None, 'floor' or 'trunc'"),
    (lambda x: x.clamp(),
     "clamp(f32[2]): min and max are both None: pass at least one of them"),
    (lambda x: x.polygamma(-1),
     "polygamma(f32[2], -1): n=-1 is not an integer of at least 0: pass the number of derivatives"),
])  # fmt: skip
def test_errors(call, text):
    with pytest.raises(ValueError) as e:
        call(fb.ones(2, device="cpu"))
    assert str(e.value) == text


def test_alpha_of_integers_is_an_integer():
    with pytest.raises(TypeError) as e:
        fb.ones(2, dtype=fb.int32, device="cpu").add(fb.ones(2, dtype=fb.int32, device="cpu"), alpha=0.5)
    assert str(e.value) == (
        "add(i32[2], i32[2], alpha=0.5): alpha must be an integer for integer tensors: cast with"
        " .float(), or round alpha"
    )


def test_slopes_of_equals_go_to_the_first(device):
    """fmax's and fmin's, as PyTorch's; of two, one of which is NaN, to the other."""
    a = fb.tensor([1.0, np.nan, 1.0, 2.0], device=device, requires_grad=True)
    b = fb.tensor([1.0, 1.0, np.nan, 1.0], device=device, requires_grad=True)
    for f, last in ((fb.fmax, 1), (fb.fmin, 0)):
        grads = f(a, b).sum().backward()
        assert grads[a].tolist() == [1, 0, 1, last] and grads[b].tolist() == [0, 1, 0, 1 - last]


def test_statistics_of_one_row_and_choices_of_none(device):
    x = fb.tensor([[1.0, 2.0, 4.0]], device=device)
    assert x.cov().shape == x.corrcoef().shape == () and abs(x.cov().item() - 7 / 3) < 1e-6
    assert x.corrcoef().item() == 1
    assert fb.combinations(x[0, :2], 3).shape == (0, 3) and fb.combinations(x[0], 0).shape == (0,)


def test_edges_of_bessel_functions():
    x = fb.tensor([0.0, -1.0, np.inf, np.nan], device="cpu")
    for name in ("bessel_y0", "bessel_y1"):
        np.testing.assert_array_equal(getattr(fb.special, name)(x).numpy(), [-np.inf, np.nan, np.nan, np.nan])
    for name in ("modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0"):
        np.testing.assert_array_equal(getattr(fb.special, name)(x).numpy(), [np.inf, np.nan, 0, np.nan])
    zero = fb.tensor([0.0], device="cpu", requires_grad=True)
    found = fb.special.bessel_j0(zero) + fb.special.bessel_j1(zero) * 2
    np.testing.assert_allclose(found.tolist(), [1], atol=3e-6)
    np.testing.assert_allclose(found.sum().backward()[zero].tolist(), [1], atol=3e-6)
    exact = fb.tensor([1.0, 3.0, 12.0], device="cpu", dtype=fb.float64)  # Abramowitz and Stegun, table 9.1
    want = [0.7651976865579666, -0.2600519549019334, 0.0476893107968335]
    np.testing.assert_allclose(fb.special.bessel_j0(exact).tolist(), want, atol=1e-8)
