"""The inputs that interpolation takes: PyTorch's roundings of sizes, factors and places."""

import numpy as np
import pytest

import flambeau as fb
from flambeau.nn import functional as F
from flambeau.ops.conv.nearest import nearest_places
from flambeau.ops.conv.resize import nearest_line

SIZES = range(1, 41)
FACTORS = (0.1, 0.3, 0.45, 0.6, 0.7, 0.9, 1.1, 1.25, 1.3, 1.7, 2.2, 2.7, 3.3, 7.3, 1 / 3, 2 / 3, 4 / 3)
LINES = [(n, o, None) for n in SIZES for o in SIZES] + [
    (n, int(n * f), f) for f in FACTORS for n in SIZES if int(n * f)
]


def row(n: int, rank: int, device):
    return fb.arange(n, device=device).float().reshape(*[1] * (rank - 1), n)


def taken(y) -> list[int]:
    return y.numpy().reshape(-1).astype(int).tolist()


def test_nearest_takes_what_roundings_leave(device):
    """26 / 22 in float32 is too small by a little: 11 * 26 / 22 is 12.999999 there. Values are PyTorch's."""
    places = [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17, 18, 20, 21, 22, 23, 24]
    assert taken(F.interpolate(row(26, 3, device), 22)) == places
    exact = [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2]
    assert taken(F.interpolate(row(6, 3, device), 37, mode="nearest-exact"))[:19] == exact
    assert taken(F.interpolate(row(3, 3, device), scale_factor=1.1)) == [0, 0, 1]
    assert taken(F.interpolate(row(3, 4, device), scale_factor=(1.0, 1.1))) == [0, 1, 2]  # an image
    assert taken(F.interpolate(row(3, 3, device), scale_factor=1.1, mode="linear")) == [0, 1, 2]


def test_gradients_of_places_from_the_host(device):
    x = row(26, 3, device).requires_grad_()
    weight = fb.arange(22, device=device).float()
    (grad,) = fb.autograd.grad((F.interpolate(x, 22) * weight).sum(), [x])
    places = nearest_places(26, 22, None, False, False, False)
    assert nearest_line(26, 22, None, False, False, False) == (None, places)
    right = np.zeros(26)
    right[list(places)] = np.arange(22)
    assert grad.numpy().reshape(-1).tolist() == right.tolist()


def test_sizes_of_factors(device):
    assert F.interpolate(row(30, 3, device), scale_factor=0.7).shape == (1, 1, 21)
    small = F.interpolate(row(20001, 3, device), scale_factor=1e-4)
    assert small.shape == (1, 1, 2) and taken(small) == [0, 10000]
    middle = F.interpolate(row(20001, 3, device), scale_factor=1e-4, mode="linear")
    np.testing.assert_allclose(middle.numpy().reshape(-1), [4999.5, 14999.5])
    for factor in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="is not one number above 0, or 1"):
            F.interpolate(row(3, 3, device), scale_factor=factor)


WIDE = (100_003, 100_001)  # sizes without a common factor: positions times d need 64 bits


def test_linear_positions_of_64_bits(device):
    n, o = WIDE
    at = (np.arange(o) * 2 + 1) * n / (2 * o) - 0.5
    low = np.clip(np.floor(at).astype(int), 0, n - 1)
    values, slopes = np.arange(n) % 7 * 0.5, np.arange(o) % 5 + 1.0
    fraction, high = np.where(at < 0, 0, at - low), np.minimum(low + 1, n - 1)
    x = fb.tensor(values.astype("f4"), device=device).reshape(1, 1, n).requires_grad_()
    y = F.interpolate(x, o, mode="linear")
    want = values[low] * (1 - fraction) + values[high] * fraction
    np.testing.assert_allclose(y.numpy().reshape(-1), want, atol=1e-5)
    (grad,) = fb.autograd.grad([y], [x], [fb.tensor(slopes.astype("f4"), device=device).reshape(1, 1, o)])
    back = np.zeros(n)
    np.add.at(back, low, slopes * (1 - fraction))
    np.add.at(back, high, slopes * fraction)
    np.testing.assert_allclose(grad.numpy().reshape(-1), back, atol=1e-5)


def test_windows_of_64_bits(device):
    n, o = WIDE
    y = F.adaptive_avg_pool1d(fb.arange(n, device=device).float().reshape(1, 1, n), o)
    first, last = np.arange(o) * n // o, -(-(np.arange(o) + 1) * n // o) - 1
    assert (y.numpy().reshape(-1) == ((first + last) / 2).astype("f4")).all()


@pytest.mark.parametrize("rank", [3, 4, 5])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_places_are_torchs(mode, rank, torch):
    """Of all sizes up to 40, and of factors; float64 beside images is rounded later."""
    for n, o, factor in LINES:
        for dtype in (torch.float32, torch.float64)[: 1 + (rank != 4)]:
            x = torch.arange(n, dtype=dtype).reshape(*[1] * (rank - 1), n)
            size = {"size": (*[1] * (rank - 3), o)}
            factors = {"scale_factor": (*[1.0] * (rank - 3), factor)}
            right = torch.nn.functional.interpolate(x, mode=mode, **(factors if factor else size))
            wide = dtype is torch.float64
            found = nearest_places(n, o, factor, mode == "nearest-exact", rank == 4, wide)
            assert list(found) == right.reshape(-1).long().tolist(), (n, o, factor, dtype)


MODES = [
    ("nearest", 3, {}), ("nearest", 4, {}), ("nearest-exact", 4, {}), ("area", 3, {}),
    *(("linear", 3, {"align_corners": a}) for a in (False, True)),
    *(("bicubic", 4, {"align_corners": a}) for a in (False, True)),
    *((m, 4, {"antialias": True}) for m in ("bilinear", "bicubic")), ("trilinear", 5, {}),
]  # fmt: skip


@pytest.mark.parametrize(("mode", "rank", "how"), MODES, ids=lambda v: str(v) if isinstance(v, str) else "")
def test_sizes_and_factors_are_torchs(mode, rank, how, torch):
    """A ninth of all lines, by each mode, and with factors that are computed again."""
    rng = np.random.default_rng(5)
    for k, (n, o, factor) in enumerate(LINES[::9]):
        x = rng.normal(size=(1, 2, *[1] * (rank - 3), n)).astype("f4")
        given = {"size": (*[1] * (rank - 3), o)}
        if factor:
            given = {"scale_factor": (*[1.0] * (rank - 3), factor), "recompute_scale_factor": k % 2 == 1}
        right = torch.nn.functional.interpolate(torch.from_numpy(x), mode=mode, **given, **how)
        y = F.interpolate(fb.tensor(x, device="cpu"), mode=mode, **given, **how)
        np.testing.assert_allclose(y.numpy(), right.numpy(), atol=3e-5, err_msg=f"{n}, {o}, {factor}, {k}")


def test_weights_of_doubles_are_doubles():
    """9 -> 7 at the exact positions (i + 1/2) 9 / 7 - 1/2, in float64 with weights to its rounding."""
    x = np.random.default_rng(0).standard_normal(9)
    at = (np.arange(7) + 0.5) * 9 / 7 - 0.5
    want = np.interp(at, np.arange(9), x)
    got = fb.nn.functional.interpolate(
        fb.tensor(x, dtype=fb.float64, device="cpu").reshape(1, 1, 9), size=7, mode="linear"
    )
    np.testing.assert_allclose(got.numpy()[0, 0], want, rtol=0, atol=1e-14)
    smooth = fb.nn.functional.interpolate(
        fb.tensor([0.0, 1, 4, 9, 16], dtype=fb.float64, device="cpu").reshape(1, 1, 1, 5).expand(1, 1, 3, 5),
        size=(3, 3), mode="bilinear", antialias=True,
    ).numpy()[0, 0, 0]  # fmt: skip
    weights = np.maximum(0, 1 - np.abs((np.arange(5) + 0.5) - (np.arange(3)[:, None] + 0.5) * 5 / 3) * 3 / 5)
    np.testing.assert_allclose(smooth, weights @ [0, 1, 4, 9, 16] / weights.sum(1), rtol=0, atol=1e-13)
