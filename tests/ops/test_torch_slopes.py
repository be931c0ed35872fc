"""Gradients, gradients of gradients and jvp at special places beside PyTorch: ties, zeros, ends, grid points.

On NumPy: the graph of a gradient is the same on every device.
"""

import numpy as np
import pytest

import flambeau as fb

INF, NAN = float("inf"), float("nan")
LINE = np.float32([-3, -2, -1.5, -1, -0.5, -0.0, 0, 0.5, 1, 1.5, 2, 2.5, 3, 6])
A, B = (v.ravel().astype("f4") for v in np.meshgrid(*[[-2, -1, -0.0, 0, 0.5, 1, 2, 3]] * 2))
C = np.roll(B, 3)
ROWS = np.float32([
    [0, 0, 0, 0], [1, 1, 1, 1], [0, 2, 0, 3], [0, 2, 4, 3], [3, 1, 3, 2], [-1, -1, 2, 2], [2, 2, -3, -3],
])  # fmt: skip
BACK, TURNED = ROWS[::-1].copy(), np.roll(ROWS.ravel(), 5).reshape(ROWS.shape)
SIDES = np.where(TURNED > 0, 1, -1).astype("f4")
IMAGE = np.float32([[[[1, 1, 2, 2], [1, 1, 2, 0], [3, 3, 0, 0], [3, 1, 0, 0]]]])
PIXELS = np.random.default_rng(0).normal(size=(1, 2, 5, 5)).astype("f4")
VOLUME = np.random.default_rng(1).normal(size=(1, 2, 3, 5, 5)).astype("f4")
POINTS = np.float32([  # for 5 pixels: on centres, on edges, outside, between
    [-1, -1], [0, 0], [1, 1], [-1, 1], [0.5, 0], [2, 0], [-2, 0], [1, -2], [3, 3], [-0.5, 0.25],
    [1.5, 1], [-1.5, -1], [0.25, 1.25], [0, -1.25], [-0.75, 0.75],
]).reshape(1, 3, 5, 2)  # fmt: skip
PLACES = np.float32([
    [-1, -1, -1], [0, 0, 0], [1, 1, 1], [0.5, 0, -0.5], [2, 0, 0], [-2, 1, 0], [1.5, 1.5, -1.5], [0, 1, 0.25],
]).reshape(1, 1, 1, 8, 3)  # fmt: skip
INDEX = [[0, 0, 1, 1], [1, 1, 1, 1], [2, 2, 0, 0]]
CLASSES = [0, 1, 2, 3, 0, 1, 2]

# name: (f of the library and tensors, arrays, what is not compared and why)
CASES: dict[str, tuple] = {}
DOUBLE = "PyTorch has no second gradient"
NEITHER = ("jvp", "PyTorch's jvp is not the product with its own gradient there")


def case(name, f, *arrays, unlike=()):
    assert name not in CASES, name
    CASES[name] = f, [np.float32(a) for a in arrays], dict([unlike] if unlike else [])


def of(name, **kw):
    """A function of either library by its name."""

    def call(m, *tensors):
        space = next(s for s in (m.nn.functional, m, m.special) if hasattr(s, name))
        return getattr(space, name)(*tensors, **kw)

    return call


ALONE = """
abs relu relu6 sign sgn floor ceil round trunc frac sqrt rsqrt reciprocal log log2 log10 log1p
square exp expm1 asin acos atan atanh asinh tan tanh sigmoid logsigmoid softplus elu celu selu gelu
silu mish hardtanh hardswish hardshrink softshrink softsign tanhshrink leaky_relu erf erfc erfinv i0
i0e i1 i1e entr ndtr log_ndtr erfcx logit nan_to_num positive neg deg2rad exp2 sin cos sinh cosh
ndtri
"""
for name in ALONE.split():
    case(name, of(name), LINE)
case("hardsigmoid", of("hardsigmoid"), LINE, unlike=("second", DOUBLE))
case("acosh", of("acosh"), LINE[LINE > 1])
case("gelu tanh", of("gelu", approximate="tanh"), LINE)
case("threshold", of("threshold", threshold=1.0, value=7.0), LINE)
case("hardtanh -0.5 1.5", of("hardtanh", min_val=-0.5, max_val=1.5), LINE)
case("elu -0.5", of("elu", alpha=-0.5), LINE)
PAIRS = "maximum minimum hypot remainder xlogy xlog1py logaddexp logaddexp2 sub mul nextafter"
for name in PAIRS.split():
    case(name, of(name), A, B)
case("fmod", of("fmod"), A, B)
case("fmax", of("fmax"), A, B, unlike=NEITHER)
case("fmin", of("fmin"), A, B)
case("div floor", lambda m, x, y: m.div(x, y, rounding_mode="floor"), A, B)
case("div trunc", lambda m, x, y: m.div(x, y, rounding_mode="trunc"), A, B)
case("lerp", lambda m, x, y, w: m.lerp(x, y, w), A, B, C)
case("where", lambda m, x, y: m.where(x > y, x, y), A, B)
case("clamp -1 1.5", of("clamp", min=-1, max=1.5), LINE)
case("clamp 2 1", of("clamp", min=2, max=1), LINE)
case("clamp by tensors", of("clamp"), A, B, C, unlike=NEITHER)
PLUS = LINE[~np.signbit(LINE) | (LINE < 0)]
for p in (0, 1, 2, 3, -1, 0.5, 1.5):
    case(f"x ** {p}", lambda m, x, p=p: x**p, PLUS)
    case(f"pow(x, {p})", lambda m, x, p=p: m.pow(x, p), PLUS)
case("2 ** x", lambda m, x: 2**x, LINE)
case("pow", of("pow"), A[A != 0], B[A != 0])
ALONG = """
sum mean prod amax amin std var logsumexp softmax log_softmax cumsum cumprod logcumsumexp nansum nanmean
"""
for name in ALONG.split():
    case(f"{name} of rows", lambda m, x, n=name: getattr(m, n)(x, 1), ROWS)
for name in ("max", "min", "median", "nanmedian", "cummax", "cummin", "mode"):
    case(f"{name} of rows", lambda m, x, n=name: getattr(m, n)(x, 1)[0], ROWS)
for name in ("max", "min", "median", "nanmedian", "prod", "amax", "std", "var", "msort"):
    case(f"{name} of all", lambda m, x, n=name: getattr(m, n)(x), ROWS)
case("sorted", lambda m, x: m.sort(x, dim=1, descending=True, stable=True)[0], ROWS)
case("aminmax", lambda m, x: sum(m.aminmax(x, dim=1)), ROWS)
case("std_mean", lambda m, x: sum(m.std_mean(x, 1)), ROWS)
for p in (0, 1, 2, 3, INF, -INF):
    vector = ROWS if p in (0, 1, INF, -INF, 3) else ROWS[1:]  # PyTorch's second gradient at 0 is NaN
    case(f"norm {p}", lambda m, x, p=p: m.linalg.vector_norm(x, p, 1), vector)
    case(f"normalize {p}", lambda m, x, p=p: m.nn.functional.normalize(x, p, 1), vector)
for p in (1.0, 2.0, 3.0, INF):
    case(f"cdist {p}", of("cdist", p=p), ROWS, BACK, unlike=("second jvp", DOUBLE))
    case(f"pdist {p}", of("pdist", p=p), [*ROWS, *ROWS[:2]], unlike=("second jvp", DOUBLE))
case("matrix norm", lambda m, x: m.linalg.matrix_norm(x), ROWS[1:4])
case("cosine_similarity", of("cosine_similarity"), ROWS[1:6], BACK[1:6])
for how in ("linear", "lower", "higher", "nearest", "midpoint"):
    for name in ("quantile", "nanquantile"):
        f = lambda m, x, q, h=how, n=name: getattr(m, n)(x, q, 1, interpolation=h)  # noqa: E731
        case(f"{name} {how}", f, ROWS, [0, 0.25, 1 / 3, 0.5, 0.9, 1])
case("quantile of a number", lambda m, x: m.quantile(x, 0.5, 1), ROWS)
OF_TWO = [(f"{n}_loss", {}) for n in ("l1", "mse", "huber", "smooth_l1", "poisson_nll")]
for name, kw in (*OF_TWO, ("huber_loss", {"delta": 0.5}), ("smooth_l1_loss", {"beta": 0.0})):
    case(f"{name} {kw}", of(name, reduction="none", **kw), ROWS, TURNED)
case("hinge_embedding_loss", lambda m, x: m.nn.functional.hinge_embedding_loss(x, m.tensor(SIDES)), ROWS)
case("margin_ranking_loss",
     lambda m, x, y: m.nn.functional.margin_ranking_loss(x, y, m.tensor(SIDES), 1.0), ROWS, BACK)  # fmt: skip
case("binary_cross_entropy", of("binary_cross_entropy", reduction="none"),
     [0, 0, 1, 1, 0.5, 0.5, 0.25], [0, 1, 0, 1, 0, 1, 0.75],
     unlike=("second", "infinite or of 1e12 at the ends in both, of either sign"))  # fmt: skip
case("binary_cross_entropy_with_logits", of("binary_cross_entropy_with_logits"), LINE, LINE > 0)
case("with pos_weight", lambda m, x, y: m.nn.functional.binary_cross_entropy_with_logits(
    x, y, pos_weight=m.tensor(2.0)), LINE, LINE > 0)  # fmt: skip
case("kl_div", of("kl_div", reduction="none"), [0, -1, 0, -1], [0, 0, 1, 0.5])
case("gaussian_nll_loss", of("gaussian_nll_loss", reduction="none"), [0, 1, 2], [0, 1, 3], [0, 1, 1e-6])
case("multi_margin_loss", lambda m, x: m.nn.functional.multi_margin_loss(x, m.tensor(CLASSES)), ROWS,
     unlike=("second jvp", DOUBLE))  # fmt: skip
case("multilabel_soft_margin_loss", lambda m, x: m.nn.functional.multilabel_soft_margin_loss(
    x, m.tensor((SIDES > 0).astype("f4"))), ROWS)  # fmt: skip
case("triplet_margin_loss", of("triplet_margin_loss", swap=True), ROWS, BACK, TURNED)
for name, given in (("max_pool2d", (2,)), ("max_pool2d", (3, 1, 1)), ("adaptive_max_pool2d", (3,)),
                    ("avg_pool2d", (2,))):  # fmt: skip
    case(f"{name}{given}", lambda m, x, n=name, g=given: getattr(m.nn.functional, n)(x, *g), IMAGE)
case("max_unpool1d", lambda m, x: m.nn.functional.max_unpool1d(x, m.tensor([[1, 1, 2]]), 2), [[5, 6, 7]],
     unlike=NEITHER)  # fmt: skip
for how in ("sum", "mean", "amax", "amin", "prod"):
    case(f"scatter_reduce {how}", lambda m, x, s, h=how: m.scatter_reduce(x, 0, m.tensor(INDEX), s, h),
         ROWS[:4], ROWS[2:5], unlike=("jvp", "PyTorch's is 0") if how == "prod" else ())  # fmt: skip
case("as_strided of places twice", lambda m, x: m.as_strided(x, (3, 2), (1, 1), 0), [1, 2, 3, 4, 5])
case("index_put", lambda m, x, s: m.index_put(x, (m.tensor([0, 2, 1]),), s), ROWS[:4], ROWS[2:5])
case("fill", lambda m, x: m.fill(x, 2.0), LINE)
case("fill of a tensor", lambda m, x, v: m.fill(x, v), LINE, 2.0)
case("zero_", lambda m, x: (x * 1).zero_() + x, LINE)
case("fill_ of a row", lambda m, x: filled_row(x), ROWS)
for k in (0, 1, 2, -1):
    case(f"matrix_power {k}", lambda m, x, k=k: m.linalg.matrix_power(x, k), [[2, 1], [0, 1]])
case("layer_norm", lambda m, x: m.nn.functional.layer_norm(x, (4,)), ROWS)
case("rms_norm", lambda m, x: m.nn.functional.rms_norm(x, (4,)), ROWS)
case("logsumexp of infinities", lambda m, x: m.logsumexp(x, 1), [[-INF, -INF], [INF, 1], [-INF, 1]])
case("logcumsumexp of infinities", lambda m, x: m.logcumsumexp(x, 1), [[-INF, -INF, 1], [-INF, 1, 2]])
for mode in ("bilinear", "nearest", "bicubic"):
    for pad in ("zeros", "border", "reflection"):
        for align in (True, False):
            kw = {"mode": mode, "padding_mode": pad, "align_corners": align}
            case(f"grid_sample {mode} {pad} {align}", of("grid_sample", **kw), PIXELS, POINTS)
            if mode != "bicubic":
                case(f"grid_sample 3-d {mode} {pad} {align}", of("grid_sample", **kw), VOLUME, PLACES)
for align in (True, False):

    def sampled(m, x, theta, align=align):
        grid = m.nn.functional.affine_grid(theta, (1, 2, 5, 5), align_corners=align)
        return m.nn.functional.grid_sample(x, grid, align_corners=align)

    case(f"affine_grid {align}", sampled, PIXELS, [[[1, 0, 0], [0, 1, 0]]])


def filled_row(x):
    y = x * 2
    y[1].fill_(3.0)
    return y * x


def drawn(shape, seed):
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape).astype("f4")


def derivatives(m, f, arrays, unlike):
    """The value, gradients, gradients of a sum of these, and jvp, as far as they are compared."""
    xs = [m.tensor(a, requires_grad=True) for a in arrays]
    y = f(m, *xs)
    made = {"value": y}
    grad = m.autograd.grad
    gs = grad((y * m.tensor(drawn(tuple(y.shape), 1))).sum(), xs, create_graph=True, allow_unused=True)
    made |= {f"gradient {i}": g for i, g in enumerate(gs)}
    weights = [m.tensor(drawn(x.shape, 2 + i)) for i, x in enumerate(arrays)]
    ends = [(g * w).sum() for g, w in zip(gs, weights) if g is not None]
    if "second" not in unlike and ends and sum(ends).requires_grad:
        made |= {f"second {i}": g for i, g in enumerate(grad(sum(ends), xs, allow_unused=True))}
    if "jvp" not in unlike:
        at = tuple(m.tensor(a) for a in arrays)
        along = tuple(m.tensor(drawn(a.shape, 7 + i)) for i, a in enumerate(arrays))
        try:
            made["jvp"] = m.func.jvp(lambda *t: f(m, *t), at, along)[1]
        except (NotImplementedError, RuntimeError):  # no forward mode in PyTorch: by two gradients
            made["jvp"] = m.autograd.functional.jvp(lambda *t: f(m, *t), at, along)[1]
    return {k: None if t is None else np.asarray(t.detach() + 0) for k, t in made.items()}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:::torch")
def test_derivatives_are_torchs(torch, name):
    f, arrays, unlike = CASES[name]
    apart = " ".join(unlike)
    fb.set_default_device("cpu")
    try:
        ours = derivatives(fb, f, arrays, apart)
    finally:
        fb.set_default_device(None)
    theirs = derivatives(torch, f, arrays, apart)
    for key in sorted(ours.keys() | theirs.keys()):
        got, want = ours.get(key), theirs.get(key)
        got, want = (0.0 if v is None else v for v in (got, want))
        size = max(1.0, np.abs(np.nan_to_num(want, posinf=0, neginf=0)).max(initial=0))
        np.testing.assert_allclose(got, want, 2e-4, 2e-4 * size, err_msg=f"{name}: {key}")
