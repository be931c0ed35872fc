"""Layers without many parts: padding, dropping, drawn windows, losses over many classes; beside torch."""

import numpy as np
import pytest
from helpers.torch_nn import as_ours, compare, twins

import flambeau as fb
from flambeau import nn

RNG = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def on_numpy(monkeypatch):
    """What is here is made of ops that have tests of their kernels."""
    monkeypatch.setenv("FLAMBEAU_DEVICE", "cpu")


def drawn(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype("f4")


def whole(*shape: int, high: int = 5) -> np.ndarray:
    return RNG.integers(0, high, shape).astype("i4")


PADS = {1: (2, 1), 2: (1, 2, 2, 0), 3: (1, 0, 2, 1, 0, 1)}
SHAPES = {1: (2, 3, 5), 2: (2, 3, 4, 5), 3: (1, 2, 3, 4, 5)}
CASES = {
    f"{kind}Pad{n}d({given})": (
        lambda f, name=f"{kind}Pad{n}d", args=(given, 3.5)[: 1 + (kind == "Constant")]: (
            getattr(f.nn, name)(*args)
        ),
        (drawn(*SHAPES[n]),),
    )
    for kind in ("Circular", "Constant", "Reflection", "Replication", "Zero")
    for n in (1, 2, 3)
    for given in (1, PADS[n])
} | {
    "ChannelShuffle": (lambda f: f.nn.ChannelShuffle(3), (drawn(2, 6, 3, 4),)),
    "CrossMapLRN2d": (  # torch's own leaves the first channel in the sums of all later ones
        lambda f: (f.nn.CrossMapLRN2d if f is fb else f.nn.LocalResponseNorm)(3, 0.1, 0.7, 2.0),
        (drawn(2, 5, 3, 3),)),
    "Softmax2d": (lambda f: f.nn.Softmax2d(), (drawn(2, 5, 3, 3),)),
    "Unflatten": (lambda f: f.nn.Unflatten(1, (2, -1)), (drawn(2, 6, 3),)),
    "NLLLoss2d": (lambda f: f.nn.NLLLoss2d(), (drawn(2, 5, 3, 3), whole(2, 3, 3))),
    "MultiLabelMarginLoss": (
        lambda f: f.nn.MultiLabelMarginLoss(),
        (drawn(3, 4), np.array([[3, 0, -1, 1], [1, -1, 0, 2], [-1, 0, 1, 2]], "i4")),
    ),
    "TripletMarginWithDistanceLoss": (
        lambda f: f.nn.TripletMarginWithDistanceLoss(
            distance_function=f.nn.CosineSimilarity(), margin=0.5, swap=True
        ),
        (drawn(4, 6), drawn(4, 6), drawn(4, 6)),
    ),
    "AlphaDropout": (lambda f: f.nn.AlphaDropout(0.3).eval(), (drawn(3, 4),)),
    "FeatureAlphaDropout": (lambda f: f.nn.FeatureAlphaDropout(0.3).eval(), (drawn(3, 4, 2),)),
    "Dropout1d": (lambda f: f.nn.Dropout1d(0.3).eval(), (drawn(3, 4, 2),)),
    "Dropout2d": (lambda f: f.nn.Dropout2d(0.3).eval(), (drawn(3, 4, 2, 2),)),
    "Dropout3d": (lambda f: f.nn.Dropout3d(0.3).eval(), (drawn(3, 4, 2, 2, 1),)),
    "AdaptiveLogSoftmaxWithLoss": (
        lambda f: f.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], div_value=2.0, head_bias=True),
        (drawn(6, 8), np.array([0, 3, 4, 9, 10, 19], "i4")),
    ),
    "LinearCrossEntropyLoss": (
        lambda f: f.nn.LinearCrossEntropyLoss(5, 7, bias=True, label_smoothing=0.1), (drawn(4, 5), whole(4)),
    ),
    "LinearCrossEntropyLoss of places": (
        lambda f: f.nn.LinearCrossEntropyLoss(5, 7, out_features=(2, 3), reduction="sum", ignore_index=1),
        (drawn(4, 5), whole(4, 2, 3)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_beside_torch(torch, name):
    make, given = CASES[name]
    compare(torch, twins(torch, make), *given)


FUNCTIONS = {
    "conv_tbc": (lambda F, x, w, b: F.conv_tbc(x, w, b, 1), (drawn(6, 2, 3), drawn(3, 3, 4), drawn(4))),
    "upsample_bilinear": (lambda F, x: F.upsample_bilinear(x, scale_factor=2), (drawn(1, 2, 3, 4),)),
    "upsample_nearest": (lambda F, x: F.upsample_nearest(x, (5, 7)), (drawn(1, 2, 3, 4),)),
    "native_channel_shuffle": (lambda F, x: F.native_channel_shuffle(x.detach(), 2), (drawn(1, 4, 2, 2),)),
    "max_pool1d_with_indices": (lambda F, x: F.max_pool1d_with_indices(x, 2), (drawn(2, 3, 7),)),
    "max_pool2d_with_indices": (lambda F, x: F.max_pool2d_with_indices(x, 2, 1, 1), (drawn(2, 5, 7),)),
    "max_pool3d_with_indices": (lambda F, x: F.max_pool3d_with_indices(x, 2), (drawn(2, 4, 5, 4),)),
    "adaptive_max_pool1d_with_indices": (
        lambda F, x: F.adaptive_max_pool1d_with_indices(x, 3), (drawn(2, 3, 7),)),
    "adaptive_max_pool2d_with_indices": (
        lambda F, x: F.adaptive_max_pool2d_with_indices(x, (3, 2)), (drawn(2, 5, 7),)),
    "adaptive_max_pool3d_with_indices": (
        lambda F, x: F.adaptive_max_pool3d_with_indices(x, 2), (drawn(2, 4, 5, 4),)),
    "fractional_max_pool2d": (
        lambda F, x, u: F.fractional_max_pool2d(x, (2, 3), (4, 3), _random_samples=u.detach()),
        (drawn(2, 3, 8, 9), RNG.random((2, 3, 2)).astype("f4"))),
    "fractional_max_pool2d_with_indices": (
        lambda F, x, u: F.fractional_max_pool2d_with_indices(x, 2, None, (0.5, 0.6), False, u.detach()),
        (drawn(2, 3, 8, 9), RNG.random((2, 3, 2)).astype("f4"))),
    "fractional_max_pool3d_with_indices": (
        lambda F, x, u: F.fractional_max_pool3d_with_indices(x, 2, (3, 1, 4), _random_samples=u.detach()),
        (drawn(1, 3, 6, 4, 7), RNG.random((1, 3, 3)).astype("f4"))),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_beside_torch(torch, name):
    f, given = FUNCTIONS[name]

    def of(package):
        return lambda *args: f(package.nn.functional, *args)

    compare(torch, (of(fb), of(torch)), *given)


IN_PLACE = {
    "celu_": (0.7,), "elu_": (0.7,), "hardtanh_": (-0.5, 0.5), "leaky_relu_": (0.2,), "relu_": (),
    "rrelu_": (0.1, 0.3), "selu_": (), "threshold_": (0.1, 7.0),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name):
    x = as_ours(np.linspace(-1, 1, 5, dtype="f4")).detach()
    want = getattr(nn.functional, name[:-1])(x, *IN_PLACE[name]).tolist()
    view = x[1:]
    assert getattr(nn.functional, name)(x, *IN_PLACE[name]) is x
    assert x.tolist() == want and view.tolist() == want[1:]


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_beside_torch(torch, name):
    a = np.linspace(-1, 1, 5, dtype="f4")
    x, y = fb.tensor(a), torch.tensor(a)
    getattr(nn.functional, name)(x, *IN_PLACE[name])
    getattr(torch.nn.functional, name)(y, *IN_PLACE[name])
    np.testing.assert_allclose(x.numpy(), y.numpy(), atol=1e-6)


def test_padding():
    x = fb.tensor([[[1.0, 2.0, 3.0]]])
    assert nn.ReflectionPad1d((2, 1))(x).tolist() == [[[3, 2, 1, 2, 3, 2]]]
    assert nn.ReplicationPad1d(1)(x).tolist() == [[[1, 1, 2, 3, 3]]]
    assert nn.CircularPad1d((1, 2))(x).tolist() == [[[3, 1, 2, 3, 1, 2]]]
    assert nn.ConstantPad1d((0, 1), 7.5)(x).tolist() == [[[1, 2, 3, 7.5]]]
    assert nn.ZeroPad2d((1, 0, 0, 1))(x).tolist() == [[[0, 1, 2, 3], [0, 0, 0, 0]]]
    assert repr(nn.ConstantPad2d(1, 2.0)) == "ConstantPad2d(padding=(1, 1, 1, 1), value=2.0)"
    assert repr(nn.ReflectionPad1d(2)) == "ReflectionPad1d((2, 2))"


def test_channels_drop_as_one():
    fb.manual_seed(0)
    for make, shape in (
        (nn.Dropout1d, (40, 8, 5)),
        (nn.Dropout2d, (40, 8, 2, 3)),
        (nn.Dropout3d, (40, 8, 2, 2, 2)),
    ):
        y = make(0.25)(fb.ones(shape)).numpy().reshape(320, -1)
        assert (y == y[:, :1]).all() and abs((y == 0).mean() - 0.25) < 0.07
    y = nn.AlphaDropout(0.2)(fb.randn(4000)).numpy()
    assert abs(y.mean()) < 0.06 and abs(y.std() - 1) < 0.06
    y = nn.FeatureAlphaDropout(0.5)(fb.zeros(50, 8, 6)).numpy().reshape(400, -1)
    assert (y == y[:, :1]).all() and len(np.unique(y)) == 2


def test_adaptive_softmax_is_a_distribution():
    layer = nn.AdaptiveLogSoftmaxWithLoss(16, 12, [3, 7])
    x = fb.randn(5, 16)
    log_p = layer.log_prob(x)
    np.testing.assert_allclose(log_p.exp().sum(1).numpy(), np.ones(5), atol=1e-5)
    assert layer.predict(x).tolist() == log_p.argmax(1).tolist()
    output, loss = layer(x, fb.tensor([0, 3, 6, 7, 11]))
    np.testing.assert_allclose(output.numpy(), log_p.numpy()[range(5), [0, 3, 6, 7, 11]], atol=1e-6)
    np.testing.assert_allclose(loss.item(), -output.numpy().mean(), atol=1e-6)
    assert [tuple(w.shape) for w in layer.state_dict().values()] == [
        (5, 16),
        (4, 16),
        (4, 4),
        (1, 16),
        (5, 1),
    ]


def test_fractional_windows_by_numpy():
    x, u = drawn(2, 7, 6), RNG.random((1, 2, 2)).astype("f4")
    y, at = nn.FractionalMaxPool2d(2, (3, 2), return_indices=True, _random_samples=fb.tensor(u))(fb.tensor(x))
    for c in range(2):
        rows, columns = _starts(u[0, c, 1], 7, 3, 2), _starts(u[0, c, 0], 6, 2, 2)
        for i, r in enumerate(rows):
            for j, k in enumerate(columns):
                window = x[c, r : r + 2, k : k + 2]
                a, b = np.unravel_index(window.argmax(), (2, 2))
                assert y[c, i, j].item() == window.max() and at[c, i, j].item() == (r + a) * 6 + k + b
    fb.manual_seed(0)
    z = nn.FractionalMaxPool3d(2, output_ratio=0.5)(fb.tensor(drawn(1, 2, 4, 6, 8)))
    assert z.shape == (1, 2, 2, 3, 4)


def _starts(u, n, o, k):
    alpha = np.float32((n - k) / (o - 1))
    return [int((np.float32(i) + u) * alpha) - int(u * alpha) for i in range(o - 1)] + [n - k]


def test_linear_cross_entropy_is_its_parts():
    x, w, t = fb.tensor(drawn(4, 5)), fb.tensor(drawn(7, 5)), fb.tensor(whole(4))
    F = nn.functional
    want = F.cross_entropy(F.linear(x, w), t, reduction="none").tolist()
    assert F.linear_cross_entropy(x, w, t, reduction="none").tolist() == want


ERRORS = {
    "ZeroPad1d((1, 2, 3)): padding must be a number or 2 numbers, two for each dim: pass that many": (
        lambda: nn.ZeroPad1d((1, 2, 3))
    ),
    "CircularPad2d([2, 2]): takes 3 or 4 dims, channels before the 2 that are padded: reshape it": (
        lambda: nn.CircularPad2d(1)(fb.ones(2, 2))
    ),
    "Dropout2d(2): p must be from 0 to 1: pass a probability": lambda: nn.Dropout2d(2),
    "Softmax2d(f32[2]): takes 3 or 4 dims, channels before height and width: use Softmax(dim)": (
        lambda: nn.Softmax2d()(fb.ones(2))
    ),
    "AdaptiveLogSoftmaxWithLoss(cutoffs=[5, 3]): cutoffs must be ascending integers from 1 to"
    " 9: pass others": (lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, [5, 3])),
    "AdaptiveLogSoftmaxWithLoss(f32[2, 4], i64[3]): takes rows and one class for each, [n,"
    " features] and [n], or"
    " [features] and []": (
        lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, [5])(fb.ones(2, 4), fb.tensor([1, 2, 3]))
    ),
    "FractionalMaxPool2d(2): needs either output_size or output_ratio: pass one of them": (
        lambda: nn.FractionalMaxPool2d(2)
    ),
    "fractional_max_pool2d(f32[1, 4, 4]): [4, 4] windows of [2, 2] do not fit into [4, 4]: use fewer": (
        lambda: nn.functional.fractional_max_pool2d(fb.ones(1, 4, 4), 2, 4)
    ),
    "fractional_max_pool2d(f32[4]): takes 3 or 4 dims: reshape it": (
        lambda: nn.functional.fractional_max_pool2d(fb.ones(4), 2, 2)
    ),
    "fractional_max_pool3d(f32[1, 4, 4, 4]): needs either output_size or output_ratio: pass one of them": (
        lambda: nn.functional.fractional_max_pool3d(fb.ones(1, 4, 4, 4), 2)
    ),
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text):
    with pytest.raises((ValueError, TypeError)) as e:
        ERRORS[text]()
    assert str(e.value) == text


def test_interpolation_that_smooths(device):
    """Numbers of PyTorch 2.13: y and the gradient of (y * [[0, 1, 2], [3, 4, 5]]).sum()."""
    x = (fb.arange(24.0, device=device).reshape(1, 1, 4, 6) ** 1.5 / 10).detach().requires_grad_()
    y = nn.functional.interpolate(x, size=(2, 3), mode="bicubic", antialias=True)
    np.testing.assert_allclose(
        y[0, 0].tolist(), [[1.0277, 1.6391, 2.3877], [5.9006, 7.0747, 8.3141]], atol=1e-4
    )
    g = (y * fb.arange(6.0, device=device).reshape(2, 3)).sum().backward()[x]
    np.testing.assert_allclose(
        g[0, 0, 0].tolist(), [-0.0625, -0.0267, 0.0902, 0.2243, 0.3754, 0.329], atol=1e-4
    )
    z = nn.functional.interpolate(x, size=(2, 3), mode="bilinear", antialias=True)
    np.testing.assert_allclose(
        z[0, 0].tolist(), [[1.4327, 2.0332, 2.7399], [5.6661, 6.7055, 7.8012]], atol=1e-4
    )
    with pytest.raises(ValueError) as told:
        nn.functional.interpolate(x, size=2, antialias=True)
    assert str(told.value) == (
        "interpolate(f32[1, 1, 4, 6], size=2, antialias=True): antialias is for modes bilinear and bicubic"
        " of 4 dims, not for 'nearest' of 4"
    )
