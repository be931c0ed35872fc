"""Differences and quotients of what is made of the same element are NaN where IEEE 754 has NaN."""

import glob
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import flambeau as fb

CODE = """
import json, warnings
import flambeau as fb
F = fb.nn.functional
x = fb.tensor([float("nan"), float("inf"), 1.0], device="gpu")
y, none = fb.tensor([1.0, 2.0, 3.0], device="gpu"), fb.zeros(0, device="gpu")
values = [x - x, x + -x, x.exp() - x.exp(), (x + 1) - x - 1, (x - y) + y - x, x - x.clone()]
means = [none.mean(), F.mse_loss(none, none), F.l1_loss(none, none), F.binary_cross_entropy(none, none),
         F.binary_cross_entropy_with_logits(none, none), x[x > 5e38][:0].mean(), F.mse_loss(x, x),
         (-y).sqrt().square()[0]]
print(json.dumps([[v.nan_to_num(99.0).tolist() for v in values], [m.isnan().item() for m in means]]))
"""


def test_only_they_turn_signs_by_bits(gpu):
    x, y = (fb.tensor([1.0, 2.0], device=gpu) for _ in range(2))
    same = (x - x, x + -x, (x + y) - x, (x - y) + y, x.exp() - x, x - x.clone(), (x - y) * (x - x))
    assert all("0x80000000u" in v.wgsl() for v in same)
    others = (x - y, x + -y, x * x - y, -x * x, x.sum() - y, x.int() - x.int(), (x - 1) * x)
    assert not any("0x80000000u" in v.wgsl() for v in others)


def quotients(x):
    """NaN where x is 0, infinite or NaN."""
    ratios = x / x, x * 3 / x, x * (1 / x), x / (x * 2), x / x.clone(), x / 2 * (2 / x), x.reciprocal() * x
    return [*ratios, -x / x, x * x / (x * x)]


def test_only_quotients_of_a_value_and_its_factor_turn_signs_by_bits(gpu):
    x, y = (fb.tensor([1.0, 2.0], device=gpu) for _ in range(2))
    roots = x.sqrt() ** 2, x.sqrt() * x.sqrt(), x.rsqrt().square()
    assert all("0x80000000u" in v.wgsl() for v in (*quotients(x), *roots))
    others = x / y, x * y / (x + y), x * x.sigmoid(), x / x.sqrt(), x / x.exp(), x * x, x.sqrt() * y.sqrt()
    assert not any("0x80000000u" in v.wgsl() for v in others)


def test_quotients_of_a_value_and_its_factor(device):
    x = fb.tensor([0.0, float("inf"), float("nan"), -1.5], device=device)
    for got, finite in zip(quotients(x), (1, 3, 1, 0.5, 1, 1, 1, -1, 1), strict=True):
        np.testing.assert_array_equal(got.numpy(), np.float32([np.nan, np.nan, np.nan, finite]))
    for got in (x.sqrt() ** 2, x.sqrt() * x.sqrt()):
        np.testing.assert_array_equal(got.numpy(), np.float32([0, np.inf, np.nan, np.nan]))
    for got in (x % x, x.fmod(x), x // x - 1):
        np.testing.assert_array_equal(got.numpy(), np.float32([np.nan, np.nan, np.nan, 0]))


ZEROS = {
    "i - i": lambda i, x: i - i,
    "i + -i": lambda i, x: i + -i,
    "i ^ i": lambda i, x: i ^ i,
    "i - (i + 1) + 1": lambda i, x: i - (i + 1) + 1,
    "i > i": lambda i, x: i > i,
    "i != i": lambda i, x: i.ne(i),
    "x > x": lambda i, x: x > x,
    "bytes": lambda i, x: i.to(fb.uint8) - i.to(fb.uint8),
}


@pytest.mark.parametrize("name", ZEROS)
def test_zeros_of_integers_that_become_floats(name, device):
    i, x = (fb.tensor([0, 2, 0, 3], dtype=d, device=device) for d in (fb.int32, fb.float32))
    far = fb.tensor([float("inf"), 1.0, float("nan"), -2.0], device=device)
    zero = ZEROS[name](i, x)
    for got in (zero / x, zero.float() / i, zero * far):
        np.testing.assert_array_equal(got.isnan().tolist(), [True, False, True, False])


def test_only_casts_of_one_element_hide_their_operands(gpu):
    i, j = (fb.tensor([1, 2], dtype=fb.int32, device=gpu) for _ in range(2))
    for y in ((i - j) / i, i - i, (i > j) * 2.0, i.float() / i):
        assert "_hidden" not in y.wgsl()


def test_differences_of_an_element_and_itself(device):
    x = fb.tensor([float("nan"), float("inf"), -float("inf"), 1.5, -0.0], device=device)
    for got in (x - x, x + -x, (x + 1) - x - 1, (x - 2) + 2 - x, x.abs() - x.abs(), x - x.clone()):
        np.testing.assert_array_equal(got.numpy(), np.float32([np.nan, np.nan, np.nan, 0, 0]))
    assert (fb.tensor([1e20], device=device) + 1 - 1e20).item() == 0
    big = fb.tensor([1e20, 3.0], device=device)
    assert ((big + 1) - big).tolist() == [0, 1]


def test_means_of_nothing(device):
    none = fb.zeros(0, device=device, requires_grad=True)
    assert none.mean().isnan().item() and none.mean().backward()[none].shape == (0,)
    assert fb.zeros(3, 0, device=device).mean(1).isnan().tolist() == [True] * 3
    complex_mean = fb.zeros(0, dtype=fb.complex64, device=device).mean().item()
    assert np.isnan(complex_mean.real) and np.isnan(complex_mean.imag)


def test_bounds_that_are_nan(device):
    x = fb.tensor([1.0, 5.0], device=device)
    for bounds in ({"min": float("nan")}, {"max": float("nan")}, {"min": 0.0, "max": float("nan")}):
        assert x.clamp(**bounds).isnan().tolist() == [True, True]


@pytest.mark.parametrize("kernels", ["software", "gpu"])
@pytest.mark.share(5)
def test_on_llvmpipe(kernels):
    """Mesa is what simplifies most."""
    drivers = glob.glob("/usr/share/vulkan/icd.d/lvp_icd*.json")
    if not drivers:
        pytest.skip("no llvmpipe")
    env = {**os.environ, "VK_DRIVER_FILES": drivers[0], "FLAMBEAU_KERNELS": kernels}
    env.pop("VK_ADD_DRIVER_FILES", None)
    done = subprocess.run([sys.executable, "-c", CODE], env=env, capture_output=True, text=True, timeout=100)
    assert "llvmpipe" in done.stderr, done.stderr
    values, are_nan = json.loads(done.stdout)
    assert values == [[99, 99, 0]] * len(values) and all(are_nan)
