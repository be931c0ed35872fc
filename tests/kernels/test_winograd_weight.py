"""Gradients by weights of 3 x 3 taps by Winograd's F(3 x 3, 2 x 2): shapes, edges, and what it is not for."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.compiled import compiled
from helpers.draws import draws, in_turn, off, some
from helpers.paper import PaperDevice

import flambeau as fb
from flambeau.core import choose
from flambeau.core.limits import Limits
from flambeau.fusion.planner import plan
from flambeau.kernels.contract import winograd_weight
from flambeau.kernels.contract.winograd import TILES, WinogradTile

F = fb.nn.functional
TEMPLATE = "contract/winograd_weight.wgsl"
# as the large shape works, in the memory that software adapters have
SHAPES = {"32x32": TILES["32x32"], "eight tiles": WinogradTile(32, 16, 8, 8, 8)}
GPU = Limits(workgroup_memory=49152)


@pytest.fixture
def at(gpu, monkeypatch):
    """The adapter planned for as if it were a real GPU, and the smaller shape wherever it fits."""
    monkeypatch.setattr(gpu, "limits", replace(gpu.limits, software=False))
    monkeypatch.setattr(gpu, "plans", {})
    monkeypatch.setattr(choose, "forced", lambda: {"winograd_weight": "32x32", "winograd": "direct"})
    return gpu


def gradient(image, weight, g, padding):
    """The gradient of a convolution by its weight, not computed yet."""
    weight = weight.detach().requires_grad_()
    return (F.conv2d(image, weight, padding=padding) * g).sum().backward()[weight]


def expected(x, g, padding):
    """The direct sum in float64."""
    (high, wide) = padding
    x = np.pad(x.astype("f8"), ((0, 0), (0, 0), (high, high), (wide, wide)))
    cells = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    return np.einsum("nchwij,nohw->ocij", cells, g.astype("f8"))


def templates(y, limits=None):
    return [k.shader.template for k in plan([y.node], limits or y.device.limits).kernels]


def drawn(rng):
    """Sizes of parts of blocks, tiles and steps: images, channels, filters, height, width, padding."""
    padding = some(rng, 0, 4), some(rng, 0, 4)
    height, width = (max(some(rng, 1, 20), 4 - 2 * p) for p in padding)
    return (some(rng, 1, 5), some(rng, 2, 70), some(rng, 2, 70), height, width), padding


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.share(5)
def test_drawn_sizes_have_the_value_of_the_direct_sum(shape, at, monkeypatch):
    monkeypatch.setitem(winograd_weight.TILES, "32x32", SHAPES[shape])
    wrong = []
    for name, rng in in_turn([*draws("gradients by weights of 3 x 3", 8)], 2):
        (n, c, o, h, w), padding = size = drawn(rng)
        x = rng.standard_normal((n, c, h, w)).astype("f4")
        g = rng.standard_normal((n, o, *(m + 2 * p - 2 for m, p in zip((h, w), padding)))).astype("f4")
        image, weight, slope = (fb.tensor(a, device=at) for a in (x, np.zeros((o, c, 3, 3), "f4"), g))
        y = gradient(image, weight, slope, padding)
        if min(g.shape[2:]) > 1 or n > 1:
            assert templates(y)[0] == TEMPLATE, size
        error = off(y.numpy(), expected(x, g, padding))
        wrong += [f"{name}: {size}: {error:.1e}"] * (not error < 5e-6)
    assert not wrong, wrong


@pytest.mark.share(5)
def test_operands_that_lie_in_other_orders_and_expressions(at):
    """A gradient that is computed where it is read, an image that is permuted, cut or padded, an epilogue."""
    rng = np.random.default_rng(3)
    x, g = (rng.standard_normal(s).astype("f4") for s in ((2, 7, 9, 4), (2, 6, 7, 9)))
    weight, w0 = fb.zeros(6, 4, 3, 3, device=at), rng.standard_normal((6, 4, 3, 3)).astype("f4")
    t, slope, w0_at = (fb.tensor(a, device=at) for a in (x, g, w0))
    turned = x.transpose(0, 3, 1, 2)
    y = gradient(t.permute(0, 3, 1, 2), weight, slope.relu() * 2, (1, 1)) + w0_at * 0.1
    assert templates(y) == [TEMPLATE, "contract/split_k_sum.wgsl"]
    assert off(y.numpy(), expected(turned, np.maximum(g, 0) * 2, (1, 1)) + w0 * 0.1) < 5e-6
    y = gradient(t.permute(0, 3, 1, 2)[:, :, ::2, 1:], weight, slope[:, :, :4, :8], (1, 1))
    assert templates(y)[0] == TEMPLATE
    assert off(y.numpy(), expected(turned[:, :, ::2, 1:], g[:, :, :4, :8], (1, 1))) < 5e-6
    image = F.pad(t.permute(0, 3, 1, 2), (1, 2, 0, 1))
    padded = np.pad(turned, ((0, 0), (0, 0), (0, 1), (1, 2)))
    y = gradient(image, weight, slope.repeat(1, 1, 2, 2)[:, :, :8, :12], (1, 1))
    assert off(y.numpy(), expected(padded, np.tile(g, (1, 1, 2, 2))[:, :, :8, :12], (1, 1))) < 5e-6


@pytest.mark.share(2)
def test_an_image_that_is_computed_is_stored_first(at):
    x, g = (np.random.default_rng(5).standard_normal((2, 3, 6, 6)).astype("f4") for _ in range(2))
    y = gradient(
        fb.tensor(x, device=at).abs(), fb.zeros(3, 3, 3, 3, device=at), fb.tensor(g, device=at), (1, 1)
    )
    assert templates(y)[:2] == ["map/map.wgsl", TEMPLATE]
    assert off(y.numpy(), expected(np.abs(x), g, (1, 1))) < 5e-6


@pytest.mark.share(2)
def test_values_that_are_not_finite_reach_the_sums_of_their_channels(at):
    """Infinities outside of what a tile sums are not met: other channels and filters stay finite."""
    x, g = np.ones((1, 3, 7, 7), "f4"), np.ones((1, 4, 7, 7), "f4")
    x[0, 1, 6, 6], g[0, 2, 0, 0] = np.nan, np.inf
    y = gradient(
        fb.tensor(x, device=at), fb.zeros(4, 3, 3, 3, device=at), fb.tensor(g, device=at), (1, 1)
    ).numpy()
    finite = np.isfinite(y)
    assert finite[[0, 1, 3]][:, [0, 2]].all()
    assert not finite[:, 1, :2, :2].any() and not finite[2, :, 1:, 1:].any()


@pytest.mark.parametrize(
    "attrs, size",
    [
        ({"stride": 2}, 3),
        ({"dilation": 2}, 3),
        ({"groups": 2}, 3),
        ({}, 5),
    ],
    ids=["stride", "dilation", "groups", "five taps"],
)
def test_other_gradients_are_summed_directly(attrs, size):
    w = fb.zeros(64, 64 // attrs.get("groups", 1), size, size, device="cpu").requires_grad_()
    y = F.conv2d(fb.zeros(32, 64, 33, 33, device="cpu"), w, padding=1, **attrs)
    assert TEMPLATE not in templates(y.sum().backward()[w], GPU)


@pytest.mark.parametrize(
    "size, shape",
    [
        ((32, 64, 64, 56), "64x32"),  # whole blocks of the larger shape
        ((32, 96, 96, 44), "32x32"),  # a quarter of which would be empty
        ((32, 16, 64, 56), ""),  # few channels
        ((1, 64, 64, 8), ""),  # little to sum
    ],
)
def test_the_rule(size, shape):
    n, c, o, across = size
    w = fb.zeros(o, c, 3, 3, device="cpu")
    x, g = (fb.zeros(n, m, across, across, device="cpu").realize() for m in (c, o))
    kernel = plan([gradient(x, w, g, 1).node], GPU).kernels[0]
    if not shape:
        assert kernel.shader.template != TEMPLATE
    else:
        assert kernel.shader.template == TEMPLATE
        assert dict(kernel.shader.options)["w"] == TILES[shape]


def test_tint_takes_every_shape(monkeypatch):
    device = PaperDevice(replace(GPU, invocations=1024))
    for name in TILES:
        monkeypatch.setattr(choose, "forced", lambda name=name: {"winograd_weight": name})
        device.plans.clear()
        for size, padding in (((8, 8), 1), ((7, 9), 0)):
            image, weight = (fb.empty(*s, device=device).realize() for s in ((2, 4, *size), (4, 4, 3, 3)))
            across = [m + 2 * padding - 2 for m in size]
            gradient(image, weight, fb.empty(2, 4, *across, device=device).realize(), padding).realize()
    shaders = {w: label for w, (label, _) in device.shaders.items() if label.startswith("conv_weight")}
    assert len(shaders) >= 2 * len(TILES)
    assert not compiled([(w, label, None) for w, label in shaders.items()])
