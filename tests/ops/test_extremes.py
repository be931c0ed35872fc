"""Values and slopes where formulas end: infinities, zeros, offsets, long sums; dtypes that must stay."""

import math
import operator

import numpy as np
import pytest
from helpers.draws import in_turn
from helpers.kernels import planned_for

import flambeau as fb
from flambeau import array_api
from flambeau.core.limits import Limits
from flambeau.fusion.planner import plan
from flambeau.nn import functional as F

INF, NAN = float("inf"), float("nan")


def slopes(f, x, device):
    t = fb.tensor(x, device=device, requires_grad=True)
    return f(t).sum().backward()[t].numpy()


def same(got, want):
    """Bit for bit, but for NaN's payload."""
    got, want = np.asarray(got), np.asarray(want, "f4")
    equal = (got == want) & ((want != 0) | (np.signbit(got) == np.signbit(want)))
    assert (equal | (np.isnan(got) & np.isnan(want))).all(), f"got {got}, want {want}"


# --- dtypes


@pytest.mark.parametrize("dtype", [fb.bool_, fb.uint8, fb.int8, fb.float16], ids=lambda d: d.name)
def test_dtypes_stay(dtype, device):
    x = fb.ones(3, 3, dtype=dtype, device=device)
    assert x.tril().dtype is x.triu(1).dtype is x.masked_fill(x > 0, 1.0).dtype is dtype
    assert x.tril().tolist() == np.tril(np.ones((3, 3))).tolist()
    assert x.sum(dtype=dtype).dtype is x.cumsum(0, dtype=dtype).dtype is x.prod(dtype=dtype).dtype is dtype
    index = fb.zeros(2, 3, dtype=fb.int32, device=device)
    added = x.scatter_add(0, index, x[:2])
    assert added.dtype is dtype and added[0].tolist() == ([True] * 3 if dtype is fb.bool_ else [3] * 3)


def test_masks_made_by_tril_hide_the_future(device):
    mask = fb.ones(3, 3, dtype=fb.bool_, device=device).tril()
    assert (~mask).tolist() == [[False, True, True], [False, False, True], [False] * 3]
    q = fb.arange(12, device=device).float().reshape(1, 1, 3, 4)
    seen = F.scaled_dot_product_attention(q, q, q, attn_mask=mask)
    assert seen[0, 0, 0].tolist() == q[0, 0, 0].tolist()


def test_integers_stay_integers(device):
    x = fb.tensor([-3, 0, 16777217], device=device)
    assert x.masked_fill(x < 0, 1.9).tolist() == [1, 0, 16777217]
    assert F.hardtanh(x).tolist() == [-1, 0, 1] and F.relu6(x).tolist() == [0, 0, 6]
    assert F.threshold(x, 0.5, 7.9).tolist() == [7, 7, 16777217]
    assert fb.tensor([True, False], device=device).sign().tolist() == [True, False]
    refused = [
        (lambda: x.masked_fill(x < 0, INF), "masked_fill(i64[3], bool[3], inf): int64 has no inf: cast the"
                                            " tensor with .float()"),
        (lambda: x.addcmul(x, x, value=0.5), "addcmul(i64[3], i64[3], i64[3], value=0.5): value must be an"
                                             " integer for integer tensors: cast with .float(), or"
                                             " round value"),
        (lambda: fb.zeros(fb.ones(2, device=device)), "zeros(f32[2]): size must be an integer, not 1.0:"
                                                      " use int(...)"),
    ]  # fmt: skip
    for call, said in refused:
        with pytest.raises((TypeError, ValueError)) as e:
            call()
        assert str(e.value) == said


def test_bytes_are_interpolated_to_the_nearest(device):
    x = fb.tensor([[[0, 255, 0, 3]]], dtype=fb.uint8, device=device)
    y = F.interpolate(x, size=8, mode="linear")
    assert y.dtype is fb.uint8 and y.tolist() == [[[0, 64, 191, 191, 64, 1, 2, 3]]]


# --- infinities


def test_logsumexp_of_infinities(kernels):
    x = [[-INF] * 3, [1, INF, 2], [INF, INF, 0], [-INF, 0, 0], [NAN, INF, 0]]
    same(fb.tensor(x, device=kernels).logsumexp(1).numpy(), [-INF, INF, INF, np.log(np.float32(2)), NAN])
    found = slopes(lambda t: t.logsumexp(1), x, kernels)
    same(found[:2], [[NAN] * 3, [0, NAN, 0]])
    np.testing.assert_allclose(found[3], [0, 0.5, 0.5], rtol=1e-6)
    empty = fb.zeros(2, 0, device=kernels)
    assert empty.softmax(1).shape == empty.log_softmax(1).shape == (2, 0)
    same(empty.logsumexp(1).numpy(), [-INF, -INF])


ZEROS = [0.0, -0.0, -20.0, 3.0, NAN]
AT_ZERO = {
    "elu": (lambda t: F.elu(t, 0.7), [0.7, 0.7, 0.7 * np.exp(-20.0), 1, 1]),
    "celu": (lambda t: F.celu(t, 0.7), [1, 1, np.exp(-20 / 0.7), 1, 1]),
    "selu": (F.selu, [1.7580993, 1.7580993, 1.7580993 * np.exp(-20.0), 1.0507010, 1.0507010]),
    "relu": (F.relu, [0, 0, 0, 1, 1]),
    "entr": (lambda t: t.entr(), [INF, INF, NAN, -1 - np.log(3), NAN]),
    "logit": (lambda t: t.logit(), [INF, -INF, NAN, NAN, NAN]),
}


@pytest.mark.parametrize("name", AT_ZERO)
def test_slopes_at_zero(name, device):
    f, want = AT_ZERO[name]
    np.testing.assert_allclose(slopes(f, ZEROS, device), want, rtol=3e-6)


def test_slopes_of_extremes_and_of_what_does_not_vary(device):
    x, y = (fb.tensor(v, device=device, requires_grad=True) for v in ([1.0, 2, NAN, 3], [1.0, 3, 3, NAN]))
    for f, want in ((fb.maximum, [0.5, 0, 1, 1]), (fb.minimum, [0.5, 1, 1, 1])):
        same(f(x, y).sum().backward()[x].numpy(), want)
    same(x.fmax(y).sum().backward()[x].numpy(), [1, 0, 0, 1])
    np.testing.assert_array_equal(slopes(lambda t: t.std(1), [[2.0, 2, 2]], device), [[0, 0, 0]])
    weak = fb.tensor([2.0, -2.0, 0.0], device=device, requires_grad=True)
    grads = fb.tensor([-2.0, -2.0, 0.0], device=device).pow(weak).sum().backward()[weak]
    same(grads.numpy(), [NAN, NAN, 0])  # a power of a negative number has no slope by its exponent


def test_signs_of_zero(device):
    x = fb.tensor([-0.0, 0.0], device=device)
    for name in ("sin", "tan", "asin", "atan", "asinh", "sinh", "tanh", "atanh", "relu", "erf"):
        same(getattr(x, name)().numpy(), [-0.0, 0.0])
    a = fb.tensor([-4.0, 4.0, -4.0, 4.0], device=device)
    b = fb.tensor([2.0, 2.0, -2.0, -2.0], device=device)
    same((a % b).numpy(), [-0.0, 0, -0.0, 0])
    same(a.fmod(b).numpy(), [-0.0, 0, -0.0, 0])


# --- exact where a float can be


def test_whole_powers_are_exact(device):
    bases = np.array([-7, -3, -1, 1, 2, 3, 5, 7, 9, 10, 11, 13, 16, 255], "f4")
    x = fb.tensor(bases, device=device)
    for n in (*range(13), 20, 24, 30, 62, -1, -2, -3, -4, -10):
        want = np.float64(bases) ** n
        size = np.abs(np.float64(bases)) ** abs(n)
        exact = (size < 2.0**100) & (size == np.float64(np.float32(np.minimum(size, 2.0**100))))
        got = (x**n).numpy()
        # WGSL rounds a quotient to 2.5 units in the last place
        wrong = exact & (got != np.float32(np.clip(want, -(2.0**100), 2.0**100))) & (n >= 0)
        assert not wrong.any(), f"{n}: {bases[wrong]}"
        np.testing.assert_allclose(got[np.abs(want) < 3e38], want[np.abs(want) < 3e38], rtol=4e-6)
    with pytest.raises(ValueError, match="integers have no negative powers"):
        x.int() ** -2


def test_turns_far_from_zero(device):
    rng = np.random.default_rng(3)
    x = np.exp(rng.uniform(np.log(1e3), np.log(3e38), 4000)).astype("f4") * rng.choice([-1, 1], 4000)
    t = fb.tensor(x.astype("f4"), device=device)
    for name in ("sin", "cos"):
        want = getattr(np, name)(x.astype("f4").astype("f8"))
        np.testing.assert_allclose(getattr(t, name)().numpy(), want, atol=3e-7)


def test_remainders_of_large_quotients(device):
    rng = np.random.default_rng(4)
    x, y = (np.exp(rng.uniform(-60, 88, 4000)) * rng.choice([-1, 1], 4000) for _ in range(2))
    x, y = x.astype("f4"), y.astype("f4")
    a, b = (fb.tensor(v, device=device) for v in (x, y))
    same(a.fmod(b).numpy(), np.fmod(x.astype("f8"), y.astype("f8")))
    same((a % b).numpy(), np.remainder(x.astype("f8"), y.astype("f8")))
    x, y = [INF, -INF, 1, -1, 1, -1, 5, INF], [1, 2, INF, INF, -INF, -INF, 0, INF]
    a, b = (fb.tensor(v, device=device).float() for v in (x, y))
    same((a // b).numpy(), [NAN, NAN, 0, -1, -1, 0, INF, NAN])


def test_tails_of_the_normal_quantile(device):
    p = fb.tensor([1e-8, 1e-20, 1e-30, 1.2e-38, -1e-20], device=device)
    found = p.ndtri().numpy()
    np.testing.assert_allclose(found[:4], [-5.612001, -9.262340, -11.464024, -12.948369], rtol=1e-6)
    assert np.isnan(found[4])
    assert fb.tensor([2.0, 3.0], device=device).zeta(1e20).tolist() == pytest.approx([1e-20, 0])


def test_inverse_error_function_of_float64():
    rng = np.random.default_rng(5)
    middle, small = rng.uniform(-0.99, 0.99, 3000), 10 ** rng.uniform(-300, -2, 500)
    near_one = 1 - 10 ** rng.uniform(-15, -2, 500)
    for x, rtol in ((middle, 1e-15), (small, 1e-15), (near_one, 1e-15)):
        y = fb.tensor(x, dtype=fb.float64, device="cpu").erfinv().numpy()
        np.testing.assert_allclose([math.erf(v) for v in y], x, rtol=rtol)
    # erfc is steep: its relative error is that of y times 2 y^2, at most 75 here
    y = fb.tensor(near_one, dtype=fb.float64, device="cpu").erfinv().numpy()
    np.testing.assert_allclose([math.erfc(v) for v in y], 1 - near_one, rtol=1e-13)
    p = 10 ** rng.uniform(-300, -0.31, 1000)  # where x^2 is up to 1,400
    x = fb.tensor(p, dtype=fb.float64, device="cpu").ndtri().numpy()
    np.testing.assert_allclose([math.erfc(-v / math.sqrt(2)) / 2 for v in x], p, rtol=2e-12)
    ends = (
        fb.tensor([1.0, -1.0, 0.0, -0.0, 1.5, -2.0, NAN, INF], dtype=fb.float64, device="cpu")
        .erfinv()
        .numpy()
    )
    same(ends, [INF, -INF, 0.0, -0.0, NAN, NAN, NAN, NAN])
    assert np.signbit(ends[:4]).tolist() == [False, True, False, True]
    ends = fb.tensor([0.0, 1.0, 0.5, -0.1, 1.1], dtype=fb.float64, device="cpu").ndtri().numpy()
    same(ends, [-INF, INF, 0.0, NAN, NAN])
    assert fb.zeros(0, 3, device="cpu").erfinv().shape == (0, 3)


def test_ends_of_lines(device):
    a, b = fb.tensor([1e8, -INF], device=device), fb.tensor([1.0, 1.0], device=device)
    same(a.lerp(b, 1.0).numpy(), [1, NAN])
    same(a.lerp(b, fb.tensor(1.0, device=device))[:1].numpy(), [1])
    same(fb.tensor([-INF, 1, 2, 3], device=device).quantile(0.3).numpy(), -INF)


def test_softplus_of_halves(device):
    x = fb.tensor([12.0, 15.0, 19.0, 21.0], dtype=fb.float16, device=device)
    same(F.softplus(x).numpy(), [12, 15, 19, 21])


# --- long sums, large offsets


@pytest.mark.parametrize("software", in_turn([True, False], 2))
@pytest.mark.share(5)
def test_long_sums(gpu, software):
    with planned_for(gpu, software=software):
        _add_up(gpu)


def _add_up(device):
    tenth = np.float64(np.float32(0.1))
    sizes = (((1, 20_000_000), 1, 2e-7), ((1024, 30_000), 1, 1e-6), ((30_000, 1024), 0, 1e-6))
    for shape, dim, tol in sizes:
        y = (fb.zeros(shape, device=device) + 0.1).sum(dim).amax().item()
        assert abs(y / shape[dim] / tenth - 1) < tol, shape
    rows = 16384 if device.kind == "gpu" else 1024  # NumPy's device holds what is added up
    assert (fb.zeros(rows, 40000, device=device) + 1).sum().item() == rows * 40000


def test_variance_with_a_correction_of_all_elements(device):
    """As in PyTorch and NumPy: the divisor is 0, not negative."""
    x = fb.tensor([[1.0, 2.0], [3.0, 3.0]], device=device)
    for correction in (2, 3):
        same(x.var(1, correction=correction).numpy(), [INF, NAN])
        same(x.std(1, correction=correction).numpy(), [INF, NAN])
    same(x[:, :1].var(1).numpy(), [NAN, NAN])


OFFSETS = [((64, 1000), 1), ((4, 100_000), 1), ((4100, 512), 1), ((50_000, 8), 0), ((4, 20_000, 3), (0, 1))]


@pytest.mark.parametrize("shape, dim", OFFSETS)
@pytest.mark.share(5)
def test_variance_beside_a_large_mean(shape, dim, kernels):
    for offset, tol in ((1e4, 2e-6), (1e6, 2e-6)):
        x = (np.random.default_rng(5).standard_normal(shape) + offset).astype("f4")
        t = fb.tensor(x, device=kernels)
        np.testing.assert_allclose(t.var(dim).numpy(), x.var(dim, dtype="f8", ddof=1), rtol=tol)
        np.testing.assert_allclose(t.mean(dim).numpy(), x.mean(dim, dtype="f8"), rtol=5e-7)
        if dim == 1:
            away = x - x.mean(1, dtype="f8", keepdims=True)
            want = away / np.sqrt((away**2).mean(1, keepdims=True) + 1e-5)
            np.testing.assert_allclose(F.layer_norm(t, shape[1:]).numpy(), want, atol=5e-7 * offset)


def standardized(x):
    x = x.astype("f8")
    away = x - x.mean(-1, keepdims=True)
    return away / np.sqrt((away * away).mean(-1, keepdims=True) + 1e-5)


@pytest.mark.parametrize("n", [16384, 300_000])
@pytest.mark.share(5)
def test_norms_of_long_rows_beside_a_large_mean(n, kernels):
    """A float32 near a million is a multiple of 1/16, and so is a mean: what is left of it has that off."""
    rng = np.random.default_rng(n)
    data, g = (rng.normal(size=(2, n)) + 1e6).astype("f4"), rng.normal(size=(2, n)).astype("f4")
    want = standardized(data)
    x = fb.tensor(data, device=kernels, requires_grad=True)
    for y in (F.layer_norm(x, (n,)), F.group_norm(x.reshape(1, 2, n), 2).reshape(2, n)):
        np.testing.assert_allclose(y.detach().numpy(), want, atol=3e-6)
        slopes = (y * fb.tensor(g, device=kernels)).sum().backward()[x].numpy()
        rest = g - g.mean(-1, keepdims=True, dtype="f8") - want * (g * want).mean(-1, keepdims=True)
        spread = np.sqrt(data.var(-1, keepdims=True, dtype="f8") + 1e-5)
        np.testing.assert_allclose(slopes, rest / spread, atol=1e-5)


CORRECTED = {
    "layer_norm": lambda x: F.layer_norm(x, x.shape[1:]),
    "group_norm": lambda x: F.group_norm(x, 1),
    "cov": lambda x: x.cov(),
    "var": lambda x: x.var(1),
}


@pytest.mark.parametrize("software", [True, False])
@pytest.mark.parametrize("name", CORRECTED)
def test_no_correction_is_subtracted_from_a_difference(name, software):
    """NVIDIA's driver computes (x - mean) - error as x - (mean + error), unless the difference is hidden."""
    y = CORRECTED[name](fb.rand(2, 20_000, device="cpu"))
    for kernel in plan([y.node], Limits(software=software)).kernels:
        for _, function in kernel.shader.functions:
            differences = {s.var for s in function.steps if s.name in ("sub", "exact_sub")}
            rests = [s for s in function.steps if s.args and s.args[0] in differences]
            assert not [s for s in rests if s.name in ("sub", "exact_sub")]


@pytest.mark.parametrize("n", [3, 16384])
def test_norms_whose_variance_overflows_are_nan(n, kernels):
    """As in PyTorch: the root of an infinite variance would make all values 0."""
    x = fb.tensor(np.resize(np.float32([1e30, -1e30, 3e30]), (1, 2, n)), device=kernels)
    for y in (F.layer_norm(x, (n,)), F.group_norm(x, 2), F.instance_norm(x)):
        assert np.isnan(y.numpy()).all()


@pytest.mark.share(5)
def test_covariances_beside_a_large_mean(kernels):
    rng = np.random.default_rng(4)
    data = (rng.normal(size=(3, 5000)) + 1e6).astype("f4")
    x, weights = fb.tensor(data, device=kernels), rng.integers(1, 4, 5000)
    np.testing.assert_allclose(x.cov().numpy(), np.cov(data.astype("f8")), atol=2e-5)
    np.testing.assert_allclose(x.corrcoef().numpy(), np.corrcoef(data.astype("f8")), atol=2e-6)
    found = x.cov(fweights=fb.tensor(weights, device=kernels)).numpy()
    np.testing.assert_allclose(found, np.cov(data.astype("f8"), fweights=weights), atol=2e-5)


def test_a_loss_in_halves_is_divided_before_it_is_added_up(device):
    x = fb.full((4000,), 12.0, dtype="float16", device=device)
    assert F.smooth_l1_loss(x, x * 0, reduction="sum", beta=2.0).item() == 4000 * 11


@pytest.mark.parametrize("dtype", [fb.float32, fb.float16, fb.bfloat16])
@pytest.mark.parametrize("name", ["eq", "ne", "le", "ge", "lt", "gt"])
def test_comparisons_of_a_value_with_itself(name, dtype, gpu):
    """NVIDIA's driver folds those of what a kernel computes as if there were no NaN, so bits are asked."""
    x = np.float32([[1, np.nan, -2, np.inf], [0, -np.inf, np.nan, 3]])
    for compute in (lambda t: t * 2, lambda t: t.mean(1), lambda t: t):
        y = compute(fb.tensor(x, dtype=dtype, device=gpu))
        want = compute(x)
        found = getattr(y, name)(y)
        assert name in ("lt", "gt") or "0x7f800000u" in found.wgsl()
        np.testing.assert_array_equal(found.numpy(), getattr(operator, name)(want, want))


@pytest.mark.parametrize("name", ["logaddexp", "hypot", "atan2"])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_nan_with_its_negative(name, users_driver):
    """LLVM folds x + -x to 0, also for NaN."""
    x = np.float32([NAN, -NAN, 1.5, -2.0, 0.25])
    y = fb.tensor(x)
    expected = getattr(np, {"atan2": "arctan2"}.get(name, name))(x, -x)
    np.testing.assert_allclose(getattr(y, name)(-y).numpy(), expected, rtol=1e-6)


def test_erfcx_reaches_the_end_of_float64():
    x = fb.tensor([-26.3, -27.0], dtype=fb.float64, device="cpu")
    np.testing.assert_allclose(fb.special.erfcx(x).numpy(), [4.990915113089269e300, INF], rtol=1e-12)


@pytest.mark.parametrize(
    "dtype, most", [("float16", 65504.0), ("bfloat16", 3.3895314e38), ("float64", 1.7976931348623157e308)]
)
def test_nan_to_num_gives_the_extremes_of_the_dtype(dtype, most):
    x = fb.tensor([INF, -INF, NAN], dtype=getattr(fb, dtype), device="cpu").nan_to_num()
    np.testing.assert_allclose(x.tolist(), [most, -most, 0], rtol=1e-7)


def test_constant_values_at_infinities(device):
    """x * 0 is no constant: it is NaN for infinities."""
    x = fb.tensor([INF, -INF, NAN, -2.0], device=device)
    same(x.angle().numpy(), np.float32([0, np.pi, NAN, np.pi]))
    same(fb.special.legendre_polynomial_p(x, 0).numpy(), np.ones(4, "f4"))
    same(fb.special.hermite_polynomial_h(x, -1).numpy(), np.zeros(4, "f4"))
    same(
        fb.special.laguerre_polynomial_l(x, fb.tensor([0, 2, 1, 1], device=device)).numpy(), [1, INF, NAN, 3]
    )
    same(fb.special.spherical_bessel_j0(x).numpy()[:3], np.float32([0, 0, NAN]))


def test_a_grid_of_infinities_reflected_into_one_pixel():
    image, grid = fb.full((1, 1, 1, 1), 7.0, device="cpu"), fb.full((1, 1, 1, 2), INF, device="cpu")
    got = F.grid_sample(image, grid, padding_mode="reflection", align_corners=True)
    assert got.item() == 7


def test_spherical_bessel_j0_far_from_0():
    x = np.float32([0.1, 0.5, 30, 1000, 12345])
    got = fb.special.spherical_bessel_j0(fb.tensor(x, device="cpu")).numpy()
    np.testing.assert_allclose(got, np.sin(x.astype("f8")) / x, rtol=2e-6)


# --- no axes


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "max", "min", "var", "std", "any", "all"])
def test_no_axes_reduce_nothing_in_the_array_api(name, device):
    x = np.float32([[1, 2, 0], [4, 5, 7]])
    for keepdims in (False, True):
        got = getattr(array_api, name)(fb.tensor(x, device=device), axis=(), keepdims=keepdims)
        same(got.numpy(), getattr(np, name)(x, axis=(), keepdims=keepdims))


def test_dims_that_are_left_out_reduce_all(device):
    """As in PyTorch: tests/ops/test_torch_extremes.py."""
    x = fb.tensor([[1.0, 2.0], [3.0, 5.0]], device=device)
    assert x.sum(dim=()).item() == 11 and x.mean([]).item() == 2.75 and x.amax(()).item() == 5
    assert x.sum((), keepdim=True).shape == (1, 1) and x.any(()).shape == (2, 2)
    for norm in (F.layer_norm, F.rms_norm):
        with pytest.raises(ValueError, match="normalized_shape has no dims: pass the sizes of the last ones"):
            norm(x, ())
