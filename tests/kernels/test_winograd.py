"""Convolutions by Winograd's F(2 x 2, 3 x 3): each shape of workgroup, each edge, and what it is not for."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.compiled import compiled
from helpers.paper import PaperDevice

import flambeau as fb
from flambeau.core import choose
from flambeau.core.limits import Limits
from flambeau.kernels.contract import winograd
from flambeau.kernels.contract.winograd import WinogradTile

F = fb.nn.functional
SHAPES = winograd.TILES | {  # as the large one works, in the memory that software adapters have
    "eight channels": WinogradTile(32, 16, 8, 8, 8),
}
# images, channels, filters, height, width, padding: last blocks, tiles, steps, rows and columns in part
PARTS = (3, 9, 70, 7, 9, 1)
SIZES = [(2, 8, 64, 8, 8, 1), (1, 5, 20, 10, 11, 0), (1, 9, 33, 6, 5, 2), (1, 4, 3, 2, 2, 4)]


def numbers(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def convolved(x, w, padding):
    """The direct sum in float64."""
    x = np.pad(x.astype(float), ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    cells = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    return np.einsum("nchwij,ocij->nohw", cells, w.astype(float))


def close(ours, wanted, channels):
    """Within 16 roundings of a sum's usual size: transforms add up four elements before they multiply, and 16
    products after it, where what cancels leaves its rounding."""
    size = np.sqrt(9 * channels) * 2**-24
    np.testing.assert_allclose(ours, wanted, rtol=0, atol=16 * size)


@pytest.fixture(params=SHAPES)
def shape(request, gpu, monkeypatch):
    """The adapter planned for as if it were a real GPU, and one shape wherever it fits."""
    w = SHAPES[request.param]
    if w.memory > gpu.limits.workgroup_memory or w.threads > gpu.limits.invocations:
        pytest.skip(f"needs {w.memory} bytes of workgroup memory and {w.threads} threads")
    monkeypatch.setattr(gpu, "limits", replace(gpu.limits, software=False))
    monkeypatch.setattr(gpu, "plans", {})
    monkeypatch.setattr(winograd, "TILES", {"forced": w})
    monkeypatch.setattr(choose, "forced", lambda: {"winograd": "forced"})
    return gpu


@pytest.fixture
def small(gpu, monkeypatch):
    """The smallest shape alone."""
    monkeypatch.setattr(gpu, "limits", replace(gpu.limits, software=False))
    monkeypatch.setattr(gpu, "plans", {})
    monkeypatch.setattr(choose, "forced", lambda: {"winograd": "32x32"})
    return gpu


def check(size, device):
    n, c, o, h, w, padding = size
    x, weight = numbers(n, c, h, w), numbers(o, c, 3, 3)
    y = F.conv2d(fb.tensor(x, device=device), fb.tensor(weight, device=device), padding=padding)
    assert [k.name for k in y.plan()] == ["filters", "conv2d"]
    close(y.numpy(), convolved(x, weight, padding), c)


@pytest.mark.share(5)
def test_every_shape_has_the_value_of_the_direct_sum(shape):
    check(PARTS, shape)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.share(5)
def test_every_size_has_the_value_of_the_direct_sum(size, small):
    check(size, small)


@pytest.mark.share(2)
def test_a_gradient_by_the_input_is_such_a_convolution(small):
    x, w, g = numbers(2, 6, 9, 8), numbers(10, 6, 3, 3), numbers(2, 10, 9, 8)
    given = fb.tensor(x, device=small, requires_grad=True)
    loss = F.conv2d(given, fb.tensor(w, device=small), padding=1) * fb.tensor(g, device=small)
    found = loss.sum().backward()[given]
    assert [k.name for k in found.plan()] == ["mul", "filters", "conv2d"]
    close(found.numpy(), convolved(g, w.swapaxes(0, 1)[..., ::-1, ::-1], 1), 10)


@pytest.mark.share(2)
def test_what_is_around_it_is_computed_in_it(small):
    """Bias, residual and activation on the way out; an image that is not in memory is stored first."""
    x, w, b, r = numbers(2, 4, 6, 6), numbers(8, 4, 3, 3), numbers(8), numbers(2, 8, 6, 6)
    at = lambda a: fb.tensor(a, device=small)  # noqa: E731
    y = (F.conv2d(at(x).abs() + 1, at(w), at(b), padding=1) + at(r)).relu()
    assert [k.name for k in y.plan()] == ["abs+add", "filters", "conv2d+add+add+relu"]
    want = np.maximum(convolved(np.abs(x) + 1, w, 1) + b.reshape(-1, 1, 1) + r, 0)
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-5, atol=1e-5)


@pytest.mark.share(5)
def test_images_that_lie_in_other_orders(small):
    x, w = numbers(2, 8, 7, 4), numbers(6, 4, 3, 3)
    t, weight = fb.tensor(x, device=small), fb.tensor(w, device=small)
    around = ((0, 0), (0, 0), (0, 1), (1, 2))
    views = (
        (t.permute(0, 3, 2, 1), x.transpose(0, 3, 2, 1)),
        (t.permute(0, 3, 2, 1)[:, :, 1:, ::2], x.transpose(0, 3, 2, 1)[:, :, 1:, ::2]),
        (F.pad(t.permute(0, 3, 2, 1), (1, 2, 0, 1)), np.pad(x.transpose(0, 3, 2, 1), around)),
    )
    for image, array in views:
        y = F.conv2d(image, weight, padding=1)
        assert "filters" in [k.name for k in y.plan()]
        close(y.numpy(), convolved(array, w, 1), 4)


@pytest.mark.share(2)
def test_a_value_that_is_not_finite_stays_in_its_tile_and_those_beside_it(small):
    x, w = np.ones((1, 2, 12, 12), "f4"), numbers(4, 2, 3, 3)
    x[0, 0, 5, 5] = np.inf
    y = F.conv2d(fb.tensor(x, device=small), fb.tensor(w, device=small), padding=1).numpy()
    far = np.ones((12, 12), bool)
    far[4:8, 4:8] = False
    assert np.isfinite(y[0, :, far]).all() and not np.isfinite(y[0, :, 4:7, 4:7]).any()


def test_tint_takes_every_shape(monkeypatch):
    device = PaperDevice(Limits(software=False, workgroup_memory=49152, invocations=1024))
    for name in winograd.TILES:
        monkeypatch.setattr(choose, "forced", lambda name=name: {"winograd": name})
        device.plans.clear()
        for size in ((8, 8), (7, 9)):
            x, w = (fb.empty(*s, device=device).realize() for s in ((2, 4, *size), (4, 4, 3, 3)))
            F.conv2d(x, w, padding=size[0] % 2).relu().realize()
    shaders = {w: label for w, (label, _) in device.shaders.items() if label in ("filters", "conv2d+relu")}
    assert len(shaders) > 2 * len(winograd.TILES)
    assert not compiled([(w, label, None) for w, label in shaders.items()])


@pytest.mark.parametrize("attrs", [{"stride": 2}, {"dilation": 2, "padding": 2}, {"groups": 2}])
def test_other_convolutions_are_summed_directly(attrs, small):
    w = fb.zeros(8, 8 // attrs.get("groups", 1), 3, 3, device=small).realize()
    y = F.conv2d(fb.zeros(2, 8, 9, 9, device=small).realize(), w, **attrs)
    assert "filters" not in [k.name for k in y.plan()]


def test_rules_say_from_where_on_a_shape_takes_the_place_of_direct_sums(gpu, monkeypatch):
    monkeypatch.setattr(gpu, "limits", replace(gpu.limits, software=False))
    x, w = (fb.zeros(*s, device=gpu).realize() for s in ((8, 64, 28, 28), (64, 64, 3, 3)))
    names = lambda x, w: [k.name for k in F.conv2d(x, w, padding=1).plan()]  # noqa: E731
    for rules, wanted in (((), False), ((winograd.Rule("32x32", 32, 32, 8),), True)):
        monkeypatch.setattr(winograd, "RULES", rules)
        monkeypatch.setattr(gpu, "plans", {})
        assert ("filters" in names(x, w)) == wanted
    assert "filters" not in names(x[:, :16].contiguous().realize(), w[:, :16].contiguous().realize())
    assert "filters" not in names(x[:1, :, :9, :9].contiguous().realize(), w)


@pytest.mark.parametrize(
    "size, memory, wanted",
    [
        ((64, 64, 64, 56), 49152, "64x32"),
        ((64, 64, 64, 56), 16384, "32x32"),
        ((64, 512, 512, 7), 49152, "64x32"),
        ((64, 32, 64, 14), 49152, "64x32"),
        ((64, 32, 32, 28), 49152, "32x32"),
        ((64, 16, 64, 56), 49152, "direct"),
        ((64, 64, 16, 56), 49152, "direct"),
        ((1, 64, 64, 56), 49152, "direct"),
    ],
)
def test_rules_take_what_was_measured_to_be_faster(size, memory, wanted, monkeypatch):
    device, defaults = PaperDevice(Limits(software=False, workgroup_memory=memory, invocations=256)), []
    monkeypatch.setattr(winograd, "choose", lambda *a: defaults.append(a[-1]) or "direct")
    n, c, o, side = size
    x, w = (fb.empty(*s, device=device).realize() for s in ((n, c, side, side), (o, c, 3, 3)))
    F.conv2d(x, w, padding=1).realize()
    assert {*defaults} == {wanted}
