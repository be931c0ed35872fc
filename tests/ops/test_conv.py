"""Convolutions, pools, interpolation and sampling: their other arguments, edges and errors, beside loops."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from helpers.compare import check
from helpers.draws import in_turn
from helpers.errors import call
from helpers.gradients import check_gradient
from helpers.inputs import arrays, host, tensors
from references.base import conv
from references.conv import adaptive, avg_pool, conv_same, conv_transpose, max_pool, max_pool_places
from references.resize import grid_sample, interpolate
from rows import In, Row

import flambeau as fb
from flambeau.core.op import COMPOSED
from flambeau.nn import functional as F
from flambeau.runtime.pipeline import counters

X1, X2, X3 = In((2, 3, 7)), In((2, 3, 5, 6)), In((1, 2, 3, 4, 3))
GRID = In((2, 3, 2, 2), -1.4, 1.4)
CASES = [
    ("conv1d", Row(partial(conv_same, dilation=3), (In((2, 4, 9)), In((6, 4, 4))),
                   {"padding": "same", "dilation": 3})),
    ("conv2d", Row(conv_same, (In((1, 2, 5, 4)), In((3, 2, 2, 3)), In((3,))), {"padding": "same"})),
    ("conv_transpose1d", Row(conv_transpose, (In((2, 3, 6)), In((3, 2, 2))), {"padding": 2})),
    ("conv_transpose2d", Row(conv_transpose, (In((1, 4, 3, 3)), In((4, 1, 2, 2))), {"stride": 2,
                                                                                       "groups": 2})),
    ("conv_transpose1d", Row(conv_transpose, (In((1, 2, 3)), In((2, 2, 3))), {"dilation": 2,
                                                                             "output_padding": 1})),
    ("max_pool2d", Row(max_pool, (X2,), {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True})),
    ("avg_pool2d", Row(avg_pool, (X2,), {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True})),
    ("avg_pool2d", Row(avg_pool, (X2,), {"kernel_size": (2, 3), "stride": (2, 3), "padding": (1, 0),
                                         "ceil_mode": True, "count_include_pad": False})),
    *(("interpolate", Row(interpolate, (X1,), {"size": (n,), "mode": m}))
      for n in (1, 4, 13) for m in ("nearest", "nearest-exact", "linear", "bicubic", "lanczos3", "area")),
    *(("interpolate", Row(interpolate, (X1,), {"size": (n,), "mode": m, "align_corners": True}))
      for n in (1, 4, 13) for m in ("linear", "bicubic")),
    ("interpolate", Row(interpolate, (X2,), {"size": (9, 4), "mode": "bicubic"}, tol=5e-6)),
    ("interpolate", Row(interpolate, (X2,), {"size": (3, 8), "mode": "lanczos3"}, tol=5e-6)),
    ("interpolate", Row(interpolate, (X3,), {"size": (5, 2, 4), "mode": "trilinear"})),
    ("interpolate", Row(interpolate, (X2,), {"scale_factor": (1.7, 0.6), "mode": "bilinear"})),
    ("interpolate", Row(interpolate, (X2,), {"scale_factor": 2.5, "mode": "nearest"})),
    *(("grid_sample", Row(grid_sample, (In((2, 2, 4, 5)), GRID),
                          {"mode": m, "padding_mode": p, "align_corners": a}, tol=1e-5))
      for m, p, a in product(("bilinear", "bicubic"), ("zeros", "border", "reflection"), (False, True))),
    *(("grid_sample", Row(grid_sample, (In((1, 2, 3, 2, 4)), In((1, 2, 2, 1, 3), -1.3, 1.3)),
                          {"mode": m, "padding_mode": p}, grads=m == "bilinear", tol=5e-6))
      for m, p in (("bilinear", "reflection"), ("nearest", "border"))),
]  # fmt: skip


@pytest.mark.parametrize("i", in_turn(range(len(CASES)), 8), ids=lambda i: f"{CASES[i][0]}-{i}")
@pytest.mark.share(5, only=["gpu"])
def test_case(i, device):
    name, row = CASES[i]
    given = arrays(row, np.random.default_rng(21))
    check(row.compute(name, *tensors(given, device)).numpy(), row.expected(*map(host, given)), row.tol, name)
    if row.grads:
        check_gradient(name, row, device, seed=23)


def test_unbatched_inputs(device):
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(3, 5, 6)).astype("f4"), rng.normal(size=(4, 3, 2, 2)).astype("f4")
    a, b = fb.tensor(x, device=device), fb.tensor(w, device=device)
    check(F.conv2d(a, b).numpy(), conv(x[None], w)[0], 1e-5)
    check(F.conv_transpose2d(F.conv2d(a, b), b).numpy(), conv_transpose(conv(x[None], w), w)[0], 2e-5)
    check(F.max_pool2d(a, 2, ceil_mode=True).numpy(), max_pool(x, 2, ceil_mode=True), 0)
    check(F.adaptive_avg_pool2d(a, (2, None)).numpy(), adaptive(x, (2, 6), lambda v, i: v.mean(-1)), 1e-6)
    check(F.fold(F.unfold(a, 2), (5, 6), 2).numpy()[:, 1:-1, 1:-1], 4 * x[:, 1:-1, 1:-1], 1e-6)


def test_slopes_of_places_on_pixels(device):
    """To the right of a pixel's centre, as PyTorch's: beyond the last pixel lies a zero."""
    x = np.random.default_rng(3).normal(size=(1, 1, 4, 5)).astype("f4")
    down, right = (np.diff(x, axis=d, append=0.0) for d in (2, 3))
    given, w = fb.tensor(x, device=device), fb.ones(1, 1, 1, 1, device=device)
    offset = fb.zeros(1, 2, 4, 5, device=device, requires_grad=True)
    y = COMPOSED["deform_conv2d"](given, offset, w)
    slope = y.sum().backward()[offset].numpy()
    np.testing.assert_allclose(slope, np.concatenate([down, right], 1), atol=1e-6)
    places = np.stack(np.meshgrid(np.linspace(-1, 1, 5), [-1]), -1)[None]  # the first row
    grid = fb.tensor(places.astype("f4"), device=device, requires_grad=True)
    slope = F.grid_sample(given, grid, align_corners=True).sum().backward()[grid].numpy()
    np.testing.assert_allclose(slope[0, 0, :, 0], right[0, 0, 0] * 2, atol=1e-5)
    np.testing.assert_allclose(slope[0, 0, :, 1], down[0, 0, 0] * 1.5, atol=1e-5)


def test_indices_of_maxima(device):
    """The first of equals, NaN before all, and never a place in the padding."""
    x = np.random.default_rng(1).integers(0, 3, (2, 3, 7, 6)).astype("f4")
    x[0, 0, 3, 3], x[1] = np.nan, -np.inf
    args = {"kernel_size": (3, 2), "stride": (2, 1), "padding": 1, "ceil_mode": True}
    y, index = F.max_pool2d(fb.tensor(x, device=device), **args, return_indices=True)
    check(y.numpy(), max_pool(x, **args), 0)
    check(index.numpy(), max_pool_places(x, **args), 0)
    y, index = F.adaptive_max_pool2d(fb.tensor(x, device=device), (4, 4), return_indices=True)
    check(index.numpy(), adaptive(x, (4, 4), lambda v, i: i[v.argmax(-1)]).astype("i4"), 0)


def test_integers_pool_and_resize(device):
    x = np.random.default_rng(1).integers(-9, 9, (1, 2, 5, 4)).astype("i4")
    a = fb.tensor(x, device=device)
    y = F.max_pool2d(a, 2, padding=1)
    assert y.dtype is fb.int32
    check(y.numpy(), max_pool(x, 2, padding=1), 0)
    y = F.interpolate(a, (7, 3))
    assert y.dtype is fb.int32
    check(y.numpy(), interpolate(x, (7, 3)).astype("i4"), 0)


def test_empty_batches(device):
    x = fb.zeros(0, 4, 6, 5, device=device)
    w = fb.ones(2, 4, 3, 3, device=device)
    up = fb.ones(4, 2, 2, 2, device=device)
    shapes = [
        (F.conv2d(x, w), (0, 2, 4, 3)), (F.conv_transpose2d(x, up, stride=2), (0, 2, 12, 10)),
        (F.max_pool2d(x, 2), (0, 4, 3, 2)), (F.avg_pool2d(x, 2), (0, 4, 3, 2)),
        (F.adaptive_avg_pool2d(x, 4), (0, 4, 4, 4)), (F.interpolate(x, 7, mode="bilinear"), (0, 4, 7, 7)),
        (F.grid_sample(x, fb.zeros(0, 2, 3, 2, device=device)), (0, 4, 2, 3)), (F.unfold(x, 2), (0, 16, 20)),
    ]  # fmt: skip
    for y, shape in shapes:
        assert y.numpy().shape == shape


def test_another_size_compiles_nothing(gpu):
    """Sizes are quantities: only the structure of a kernel is compiled."""
    x = fb.rand(2, 3, 10, 11, device=gpu).realize()

    def run(size):
        for mode in ("nearest", "bilinear", "bicubic"):
            F.interpolate(x, size, mode=mode).realize()
        F.adaptive_max_pool2d(x, size).realize()
        F.grid_sample(x, fb.zeros(2, *size, 2, device=gpu)).realize()

    run((13, 14))
    before = counters.compiles
    run((15, 17))
    assert counters.compiles == before


def test_ctc_of_what_cannot_be(device):
    x = fb.rand(3, 2, 4, device=device).log_softmax(2)
    targets = fb.tensor([[1, 1], [2, 3]], device=device)
    args = (x, targets, [2, 3], [2, 2])
    first, second = F.ctc_loss(*args, reduction="none").tolist()
    assert first == float("inf") and np.isfinite(second)
    assert F.ctc_loss(*args, reduction="none", zero_infinity=True).tolist() == [0.0, second]
    x = x.detach().requires_grad_()
    loss = F.ctc_loss(x, *args[1:], reduction="sum", zero_infinity=True)
    grad = loss.backward()[x].numpy()
    assert not grad[:, 0].any() and np.isfinite(grad).all() and grad[:, 1].any()


def test_ctc_with_lengths_on_the_device(device):
    x = fb.rand(5, 2, 4, device=device).log_softmax(2)
    lengths, counts = fb.tensor([5, 4], device=device), fb.tensor([2, 1], device=device)
    rows = fb.tensor([[1, 2], [3, 0]], device=device)
    want = F.ctc_loss(x, rows, [5, 4], [2, 1]).item()
    assert abs(F.ctc_loss(x, rows, lengths, counts).item() - want) < 1e-6
    assert abs(F.ctc_loss(x, fb.tensor([1, 2, 3], device=device), lengths, counts).item() - want) < 1e-6


def test_long_walks_stay_finite(gpu):
    """A hundred states and more than 64 in a workgroup's line, over many steps."""
    x = fb.randn(50, 2, 6, device=gpu).requires_grad_()
    targets = fb.randint(1, 6, (2, 40), device=gpu)
    loss = F.ctc_loss((x * 3).log_softmax(2), targets, [50, 49], [20, 17], reduction="sum")
    grad = loss.backward()[x].numpy()
    assert np.isfinite(loss.item()) and np.isfinite(grad).all()


BAD = [
    (lambda: F.conv1d(fb.ones(1, 2, 5), fb.ones(3, 2, 3), stride=2, padding="same"),
     "ValueError: conv1d(f32[1, 2, 5], f32[3, 2, 3], stride=2, padding='same'): padding='same' needs"
     " stride 1: pass numbers"),
    (lambda: F.conv1d(fb.ones(1, 2, 5), fb.ones(3, 2, 3), padding="full"),
     "ValueError: conv1d(f32[1, 2, 5], f32[3, 2, 3], padding='full'): padding='full' is unknown: use numbers,"
     " 'same' or 'valid'"),
    (lambda: F.conv2d(fb.ones(1, 2, 5, 5), fb.ones(3, 2, 3, 3), stride=(1, 1, 1)),
     "ValueError: conv2d(f32[1, 2, 5, 5], f32[3, 2, 3, 3], stride=(1, 1, 1)): (1, 1, 1) is"
     " for 3 dims, not 2: pass one number or 2"),
    (lambda: F.conv_transpose1d(fb.ones(1, 2, 5), fb.ones(2, 3, 3), output_padding=1),
     "ValueError: conv_transpose1d(f32[1, 2, 5], f32[2, 3, 3], output_padding=1): output_padding [1] is not"
     " below stride or dilation"),
    (lambda: F.conv_transpose1d(fb.ones(1, 2, 2), fb.ones(2, 3, 3), padding=2),
     "ValueError: conv_transpose1d(f32[1, 2, 2], f32[2, 3, 3], padding=2): the result's sizes would be [0]:"
     " use less padding"),
    (lambda: F.fold(fb.ones(1, 8, 3), (3, 3), 2),
     "ValueError: col2im(f32[1, 8, 3], (3, 3), 2): output_size [3, 3] has 4 windows of 4 elements: the last"
     " two dims must be a multiple of 4, and 4"),
    (lambda: F.max_pool2d(fb.ones(1, 2, 5, 5), 2, padding=2),
     "ValueError: max_pool2d(f32[1, 2, 5, 5], 2, padding=2): padding is more than half of the kernel size"),
    (lambda: F.max_pool2d(fb.ones(5, 5), 2),
     "ValueError: max_pool2d(f32[5, 5], 2): input needs 3 or 4 dims"),
    (lambda: F.adaptive_avg_pool2d(fb.ones(1, 2, 5, 5), (2, 2, 2)),
     "ValueError: adaptive_avg_pool2d(f32[1, 2, 5, 5], (2, 2, 2)): output_size (2, 2, 2) needs 2 sizes of 0"
     " or more"),
    (lambda: F.interpolate(fb.ones(1, 2, 5)),
     "ValueError: interpolate(f32[1, 2, 5]): pass either size or scale_factor"),
    (lambda: F.interpolate(fb.ones(1, 2, 5), 3, mode="bilinear"),
     "ValueError: interpolate(f32[1, 2, 5], 3, mode='bilinear'): mode='bilinear' is not for 1 spatial dims:"
     " use one of nearest, nearest-exact, area, bicubic, lanczos3, linear"),
    (lambda: F.interpolate(fb.ones(1, 2, 5), 3, align_corners=True),
     "ValueError: interpolate(f32[1, 2, 5], 3, align_corners=True): align_corners is not for mode 'nearest':"
     " leave it out"),
    (lambda: F.grid_sample(fb.ones(1, 2, 5, 5), fb.ones(1, 3, 3, 2), "cubic"),
     "ValueError: grid_sample(f32[1, 2, 5, 5], f32[1, 3, 3, 2], 'cubic'): mode='cubic' is not for 2 dims: use"
     " bilinear, nearest or (2 dims) bicubic"),
    (lambda: F.embedding_bag(fb.ones(3).int(), fb.ones(4, 2)),
     "ValueError: embedding_bag(i32[3], f32[4, 2]): input must have 2 dims, or 1 dim with offsets"),
    (lambda: F.embedding(fb.ones(3).int(), fb.ones(4, 2), 4),
     "ValueError: embedding(i32[3], f32[4, 2], 4): padding_idx=4 is not one of 4 rows"),
    (lambda: F.ctc_loss(fb.ones(3, 1, 2), fb.ones(1, 1).int(), [4], [1]),
     "ValueError: ctc_loss(f32[3, 1, 2], i32[1, 1], [4], [1]): input_lengths [4] are not all in 0 to 3"),
    (lambda: COMPOSED["deform_conv2d"](fb.ones(1, 2, 5, 5), fb.ones(1, 18, 4, 4), fb.ones(3, 2, 3, 3)),
     "ValueError: deform_conv2d(f32[1, 2, 5, 5], f32[1, 18, 4, 4], f32[3, 2, 3, 3]): offset needs shape"
     " [1, 18, 3, 3]"),
]  # fmt: skip


@pytest.mark.parametrize("bad, text", BAD, ids=[t.split(": ")[1][:24] for _, t in BAD])
def test_errors(bad, text):
    assert call(bad) == text


@pytest.mark.parametrize("sign", [1, -1])
def test_lp_pools_with_infinite_powers(sign):
    x = fb.tensor([[[0.5, -2.0, 1.5, 3.0, -0.25]]], device="cpu")
    y = F.lp_pool1d(x, sign * float("inf"), 2, ceil_mode=True)
    assert y.tolist() == [[[2, 3, 0.25] if sign > 0 else [0.5, 1.5, 0.25]]]
