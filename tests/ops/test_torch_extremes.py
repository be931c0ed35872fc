"""Every elementwise op on special values beside PyTorch: values, slopes, and what differs and why."""

import numpy as np
import pytest
from rows import ELEMENTWISE

import flambeau as fb
from flambeau.nn import functional as F

INF, NAN = float("inf"), float("nan")
BIG = [1e4, 2.0**24, 2.0**31, 1e10, 1e19, 1e30, 3e38, INF]
SIZES = [0, 1, 0.5, 2, 3, 2.5, 1.5, 6, 0.3, 0.1, 1e-7, 1e-3, 20, 25, 88, 90, 100, 150, 1e-20, 1e-30, *BIG]
ONE = np.array([*SIZES, *(-v for v in SIZES), NAN], "f4")
FEW = [0, 1, 0.5, 2, 3, 2.5, 7, 9, 1e-7, 1e-3, 100, 2.0**24 + 2, 1e10, 1e20, 3e38, 1e-20, 1e-30, INF]
PAIR = np.array([*FEW, *(-v for v in FEW), NAN], "f4")


def nan(*x):
    return np.isnan(x).any(0)


def infinite(*x):
    return np.isinf(x).any(0)


def zeros(*x):
    return (np.array(x) == 0).any(0)


def everywhere(*x):
    return np.ones(x[0].shape, bool)


def beyond(limit):
    return lambda *x: (np.abs(x) > limit).any(0)


def either(*places):
    return lambda *x: np.any([p(*x) for p in places], 0)


def whole_below(*x):
    return (x[0] <= 0) & (np.floor(x[0]) == x[0])


def far_apart(x, y):
    return (np.abs(x) > 1e37) | (np.abs(x) > np.abs(y) * 1e37)


# (op, "value" or "slope"): where the two differ, and why
KNOWN = {
    ("fmod", "value"): (far_apart, "PyTorch's is NaN for large quotients: ours is exact"),
    ("remainder", "value"): (far_apart, "the same"),
    ("gelu", "value"): (
        either(infinite, lambda x: x <= -6),
        "PyTorch's gelu(inf) is NaN; far below 0 the sign of its 0 is another on other processors",
    ),
    ("acosh", "slope"): (
        either(beyond(1e19), lambda x: x < 1),
        "NaN outside its domain, 1 / x far above: PyTorch's takes the root of x * x - 1",
    ),
    ("igamma", "value"): (
        either(nan, beyond(1e37), lambda a, x: np.abs(x) < 1e-19),
        "NaN stays; PyTorch's large orders overflow; subnormal",
    ),
    ("igammac", "value"): (either(nan, beyond(1e37), lambda a, x: x > 99), "the same"),
    ("relu6", "value"): (zeros, "-0 becomes 0"),
    ("softshrink", "value"): (beyond(0), "what is taken to 0 has no sign"),
    ("hardsigmoid", "slope"): (nan, "the slope at NaN is NaN's or that beside it"),
    ("hardswish", "slope"): (nan, "the same"),
    ("i1", "slope"): (nan, "the same"),
    ("logaddexp2", "slope"): (infinite, "equal infinities have half of it each; PyTorch's is inf - inf"),
    ("clamp", "slope"): (nan, "NaN stays, with slope 1"),
    ("clamp_min", "slope"): (nan, "the same"),
    ("clamp_max", "slope"): (nan, "the same"),
    ("clamp_min", "value"): (zeros, "zeros are equal, and the element stays"),
    ("clamp_max", "value"): (zeros, "the same"),
    ("copysign", "slope"): (either(nan, infinite), "PyTorch divides the result by x: inf / inf"),
    ("nextafter", "slope"): (everywhere, "has none here"),
    ("ldexp", "slope"): (everywhere, "PyTorch's slope for a negative exponent is that of an integer power"),
    ("float_power", "value"): (everywhere, "PyTorch computes it in float64"),
    ("float_power", "slope"): (everywhere, "the same"),
    ("digamma", "slope"): (whole_below, "a pole: inf here, a large number of rounding in PyTorch"),
    ("zeta", "value"): (everywhere, "for x > 1 and y > 0: PyTorch takes y below 0, and NaN for large x"),
    ("erfcx", "slope"): (beyond(9), "2 x erfcx(x) - 2 / sqrt(pi) cancels in both"),
    ("ndtr", "value"): (beyond(5), "PyTorch's cancels below -5"),
    ("ndtr", "slope"): (beyond(5), "the same"),
    ("log_ndtr", "slope"): (beyond(50), "PyTorch's cancels far below 0"),
    ("i0e", "slope"): (beyond(99), "cancels in both"),
    ("i1e", "slope"): (either(nan, beyond(1)), "cancels in both"),
    ("i1e", "value"): (zeros, "-0 stays -0"),
    ("i1", "value"): (zeros, "-0 stays -0"),
    ("sinc", "value"): (beyond(0.9), "exact at integers; PyTorch rounds pi * x"),
    ("sinc", "slope"): (either(beyond(0.9), lambda x: np.abs(x) < 0.01), "the same, and a series near 0"),
    ("mish", "value"): (beyond(80), "subnormal in between"),
    ("mish", "slope"): (beyond(80), "the same"),
    ("tanh", "slope"): (beyond(5), "1 - y * y cancels in both"),
    ("gelu", "slope"): (beyond(5), "1 + erf cancels in both"),
}
ABSOLUTE = {"logaddexp2": 3e-8, "gelu": 3e-6, "igammac": 1e-6}  # near 0 both round
TOL = {"gelu": 2e-4}  # 1 + erf(-3) cancels in both


WITHOUT_SLOPE = ("floor_divide", "heaviside", "zeta", "igamma", "igammac")  # PyTorch's, by one input or all


def theirs(torch, name):
    spaces = (torch, torch.nn.functional, torch.special, torch.Tensor)
    return next(getattr(s, name) for s in spaces if hasattr(s, name))


ABSENT = ("cast", "exponent", "frexp", "polygamma", "shrink", "thresholded_relu")  # or of other results


def pairs(row):
    if len(row.inputs) == 1:
        return [ONE]
    return [v.ravel() for v in np.meshgrid(PAIR, PAIR)] if len(row.inputs) == 2 else []


@pytest.fixture
def gpu(users_driver):
    """The driver whose functions are those that users see."""
    return users_driver


def of_kind(values, kind):
    if kind == "f":
        return values
    return values > 0 if kind == "b" else np.nan_to_num(values).clip(-99, 99).astype("i4")


NAMES = [
    n for n, row in ELEMENTWISE.items()
    if n not in ABSENT and n[0] != "_" and len(row.inputs) < 3 and row.inputs[0].kind == "f"
]  # fmt: skip


def differ(got, want, tol, absolute=0.0):
    """Where results differ by more than tol, in NaN, infinity or a zero's sign; subnormals may be 0."""
    if got.dtype.kind != "f" or want.dtype.kind != "f":
        return got != want
    a, b = got.astype("f8"), want.astype("f8")
    with np.errstate(all="ignore"):
        near = (np.abs(a - b) <= tol * np.abs(b) + absolute) & (b != 0)
        flushed = (np.abs(a) < 1.2e-38) & (np.abs(b) < 1.2e-38) & (b != 0)
        same = (a == b) & ((a != 0) | (np.signbit(a) == np.signbit(b)))
    return ~(near | flushed | same | (np.isnan(a) & np.isnan(b)))


def refuse(name, part, given, got, want, tol):
    bad = differ(got, want, tol, ABSOLUTE.get(name, 0.0))
    where, _ = KNOWN.get((name, part), (lambda *x: np.zeros(x[0].shape, bool), ""))
    with np.errstate(all="ignore"):
        bad &= ~where(*[g.astype("f8") for g in given])
    told = [(*[float(g[i]) for g in given], float(got[i]), float(want[i])) for i in np.argwhere(bad).ravel()]
    assert not told, f"{name}'s {part} at (inputs, got, want): {told[:6]}"


@pytest.mark.parametrize("name", NAMES)
def test_special_values_are_torchs(torch, name, kernels):
    row = ELEMENTWISE[name]
    kinds = [i.kind for i in row.inputs]
    given = [of_kind(v, k) for v, k in zip(pairs(row), kinds)]
    xs = [fb.tensor(v, device=kernels, requires_grad=k == "f") for v, k in zip(given, kinds)]
    ts = [torch.tensor(v, requires_grad=k == "f") for v, k in zip(given, kinds)]
    y, ty = row.compute(name, *xs), theirs(torch, name)(*ts, **row.attrs)
    refuse(name, "value", given, y.numpy(), ty.detach().numpy(), TOL.get(name, 1e-5))
    if not (y.requires_grad and ty.requires_grad) or name in WITHOUT_SLOPE:
        return
    ty.sum().backward()
    grads = y.sum().backward()
    for x, t in zip(xs, ts):
        if t.grad is not None:
            found = grads[x].numpy() if x in grads else np.zeros(x.shape, "f4")
            refuse(name, "slope", given, found + 0.0, t.grad.numpy() + 0.0, 3e-5)


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
def test_incomplete_gammas_of_all_sizes(torch, name, kernels):
    """Orders up to 2^24 and arguments near them, where series take thousands of terms; slopes by x."""
    rng = np.random.default_rng(3)
    a = (10 ** rng.uniform(-1, 7.2, 3000)).astype("f4")
    near = rng.normal(size=a.size) / np.sqrt(a)
    x = (a * (1 + np.where(rng.random(a.size) < 0.7, near, rng.uniform(-0.5, 0.5, a.size)))).clip(1e-3)
    x = x.astype("f4")
    y = fb.tensor(x, device=kernels, requires_grad=True)
    found = getattr(fb.special, name)(fb.tensor(a, device=kernels), y)
    t = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    wanted = getattr(torch.special, name)(torch.tensor(a, dtype=torch.float64), t)
    assert np.abs(found.numpy() - wanted.detach().numpy()).max() < 5e-6
    wanted.sum().backward()
    few = a < 100  # beyond, exp of a difference of large logarithms
    slope = found.sum().backward()[y].numpy()
    assert np.allclose(slope[few], t.grad.numpy()[few], rtol=2e-4, atol=1e-6)


LINES = np.array([
    [1, 2, 3, 4], [-1, 0, 1, 0], [INF, 1, 2, 3], [-INF, 1, 2, 3], [-INF, INF, 0, 1], [INF, INF, 1, 2],
    [-INF] * 4, [INF] * 4, [NAN, 1, 2, 3], [1, 2, NAN, INF], [NAN] * 4, [0] * 4, [1e20, 2e20, -1e20, 1],
    [1e-20, 2e-20, 1e-22, 0], [100, -100, 88, 0], [1, 1, 1, 1], [1e4, 1e4 + 1, 1e4 + 2, 1e4 + 3],
], "f4")  # fmt: skip
NORMS = [(f"norm{p}", lambda t, p=p: t.norm(p, 1)) for p in (0, 1, 2, 3, INF, -INF)]
ALONG = [
    *((n, lambda t, n=n: getattr(t, n)(1)) for n in (
        "sum", "mean", "prod", "amax", "amin", "argmax", "argmin", "std", "logsumexp", "all", "any", "median",
        "nanmedian", "nansum", "nanmean", "cumsum", "logcumsumexp", "softmax", "log_softmax", "sort",
        "cummax",
        "cummin", "max", "min", "argsort",
    )),
    *NORMS,
    ("sorted_down", lambda t: t.sort(1, descending=True)),
    ("topk", lambda t: t.topk(2, 1)[0]),
    ("diff", lambda t: t.diff()),
    ("nan_to_num", lambda t: t.nan_to_num()),
    ("isclose", lambda t: t.isclose(t.flip(1))),
    ("isclose_nan", lambda t: t.isclose(t, equal_nan=True)),
    ("huge", lambda t: t.hypot(t.flip(1))),
    ("matmul", lambda t: t @ t.T),
]  # fmt: skip
UNLIKE = {  # slopes, and results where they are said, that are not compared, and why
    "prod": "through infinities: NaN here, the product of the others in PyTorch",
    "nanmean": "of nothing but NaN: 0 here",
    "logcumsumexp": "log(sum) at 1e4 has a step of 1e-3, from which both subtract",
    "norminf": "at NaN: NaN here, 0 in PyTorch",
    "norm-inf": "the same",
    "nanmedian": "of nothing but NaN: which of them",
    "topk": "which of equals",
    "softmax": "at 1e4 both cancel",
    "std": "of 1e20: PyTorch squares in float64 on a CPU",
}


@pytest.mark.parametrize("name, f", ALONG, ids=[name for name, _ in ALONG])
def test_special_lines_are_torchs(torch, name, f, kernels):
    x, t = fb.tensor(LINES, device=kernels, requires_grad=True), torch.tensor(LINES, requires_grad=True)
    ys, ts = ([v] if not isinstance(v, tuple) else list(v) for v in (f(x), f(t)))
    for k, (a, b) in enumerate(zip(ys, ts)):
        got, want = a.numpy() + 0, b.detach().numpy() + 0
        if name == "nanmedian" and k:
            continue
        lines = np.ones(len(LINES), bool) if name != "std" else np.abs(np.nan_to_num(LINES)).max(1) < 1e19
        bad = differ(got[lines], want[lines], 3e-5, 1e-30)
        assert not bad.any(), f"{name}: got {got[lines][bad][:4]}, want {want[lines][bad][:4]}"
    if ys[0].requires_grad and ts[0].requires_grad and name not in UNLIKE:
        weights = np.random.default_rng(1).uniform(0.5, 1.5, ts[0].shape).astype("f4")
        (ts[0] * torch.tensor(weights)).sum().backward()
        if t.grad is None:
            return
        grads = (ys[0] * fb.tensor(weights, device=kernels)).sum().backward()
        bad = differ(grads[x].numpy() + 0, t.grad.numpy() + 0, 1e-4, 1e-6)
        assert not bad.any(), f"{name}: slopes {grads[x].numpy()[bad][:4]}, want {t.grad.numpy()[bad][:4]}"


MASKS = {
    "bool": lambda m, n: np.random.default_rng(2).uniform(size=(m, n)) > 0.4,
    "tril": lambda m, n: np.tril(np.ones((m, n), bool)),
    "rows": lambda m, n: (np.arange(n) > 0)[None],
    "heads": lambda m, n: np.random.default_rng(3).uniform(size=(2, 1, m, n)) > 0.3,
    "added": lambda m, n: np.random.default_rng(4).normal(size=(m, n)).astype("f4"),
    "infinite": lambda m, n: np.where(np.triu(np.ones((m, n)), 1) > 0, -np.inf, 0).astype("f4"),
    "batched": lambda m, n: np.random.default_rng(5).normal(size=(2, 3, m, n)).astype("f4"),
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("m, n", [(5, 5), (3, 70), (33, 65)])
def test_attention_masks_are_torchs(torch, name, m, n, kernels):
    rng = np.random.default_rng(6)
    given = [rng.normal(size=(2, 3, rows, 8)).astype("f4") for rows in (m, n, n)]
    mask = MASKS[name](m, n)
    xs = [fb.tensor(v, device=kernels, requires_grad=True) for v in given]
    ts = [torch.tensor(v, requires_grad=True) for v in given]
    made = fb.tensor(mask, device=kernels)
    if name == "tril":
        made = fb.ones(m, n, dtype=fb.bool_, device=kernels).tril()
    y = F.scaled_dot_product_attention(*xs, attn_mask=made)
    ty = torch.nn.functional.scaled_dot_product_attention(*ts, attn_mask=torch.tensor(mask))
    np.testing.assert_allclose(y.numpy(), ty.detach().numpy(), atol=1e-5)
    (ty * ty).sum().backward()
    grads = (y * y).sum().backward()
    for x, t in zip(xs, ts):
        np.testing.assert_allclose(grads[x].numpy(), t.grad.numpy(), atol=1e-4)


# --- norms beside a large mean

FAR = {
    "layer_norm": (lambda f, x: f.layer_norm(x, x.shape[-1:]), 300_000),
    "group_norm": (lambda f, x: f.group_norm(x.reshape(1, 6, -1), 3), 16384),
    "batch_norm": (lambda f, x: f.batch_norm(x.reshape(3, 8, -1), None, None, training=True), 16384),
    "cov": (lambda f, x: x.cov(), 16384),
    "corrcoef": (lambda f, x: x.corrcoef(), 16384),
    "var": (lambda f, x: x.var(-1), 300_000),
}


@pytest.mark.parametrize("name", FAR)
def test_beside_a_large_mean_we_are_no_further_off_than_torch(torch, name, kernels):
    make, n = FAR[name]
    data = (np.random.default_rng(1).normal(size=(3, n)) + 1e6).astype("f4")
    want = make(torch.nn.functional, torch.tensor(data).double()).numpy()
    theirs = make(torch.nn.functional, torch.tensor(data)).numpy()
    ours = make(F, fb.tensor(data, device=kernels)).numpy()
    assert abs(ours - want).max() <= max(abs(theirs - want).max(), 2e-5)


# --- no dims


NO_DIMS = {
    "sum", "mean", "amax", "amin", "var", "std", "var_mean", "std_mean", "nansum", "nanmean", "norm",
    "count_nonzero", "any", "all",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(NO_DIMS))
def test_no_dims_are_what_they_are_in_torch(torch, name, device):
    """All of them, but for any and all."""
    x = np.float32([[1, 2, 0], [4, 5, 7]])

    def results(library, t, **kw):
        made = getattr(library, name)(t, **kw) if hasattr(library, name) else getattr(t, name)(**kw)
        return [np.asarray(v) for v in (made if isinstance(made, tuple) else (made,))]

    for dim in ((), []):
        for keepdim in (False, True)[: 1 if name == "count_nonzero" else 2]:
            kw = {"dim": dim} | ({"keepdim": keepdim} if name != "count_nonzero" else {})
            mine, theirs = (
                results(fb, fb.tensor(x, device=device), **kw),
                results(torch, torch.tensor(x), **kw),
            )
            for a, b in zip(mine, theirs, strict=True):
                assert a.shape == b.shape
                np.testing.assert_allclose(a, b, rtol=1e-6)
