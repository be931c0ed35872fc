"""Every transform against torchvision's function of the same numbers, sample by sample."""

import numpy as np
import pytest
from helpers.torchvision_here import functional

import flambeau as fb
from flambeau.vision import transforms as T

IMAGES = np.random.default_rng(0).integers(0, 256, (5, 3, 13, 17), dtype=np.uint8)
IMAGES[0, :, :4] = IMAGES[0, :1, :4]  # grey pixels have no hue
MODES = {"nearest": 0, "bilinear": 2}  # torchvision's enum by Pillow's numbers


@pytest.fixture(scope="module")
def F(torch):
    return functional(torch)


def affine(F, x, p, t):
    fill = t.fill or None  # with one, torchvision weighs what is bilinear at the edges twice
    return F.affine(
        x, p["angle"], [p.get("translate_x", 0), p.get("translate_y", 0)], p.get("scale", 1.0),
        [p.get("shear_x", 0.0), p.get("shear_y", 0.0)], MODES[t.interpolation], fill=fill, center=t.center,
    )  # fmt: skip


def crop(F, x, p, t):
    left, top, right, bottom = (t.padding * 4)[:4] if isinstance(t.padding, list) else (t.padding or 0,) * 4
    x = F.pad(x, [left, top, right, bottom], fill=t.fill, padding_mode=t.padding_mode)
    return F.crop(x, int(p["top"]), int(p["left"]), *t.size)


def resized_crop(F, x, p, t):
    place = [int(p[k]) for k in ("top", "left", "height", "width")]
    return F.resized_crop(x, *place, list(t.size), MODES[t.interpolation], antialias=False)


def jitter(F, x, p, t):
    for name in ("brightness", "contrast", "saturation", "hue"):
        x = getattr(F, f"adjust_{name}")(x, p[name]) if name in p else x
    return x


def erased(F, x, p, t):
    v = x.new_tensor(t.value if isinstance(t.value, list) else [t.value]).reshape(-1, 1, 1)
    return F.erase(x, *(int(p[k]) for k in ("top", "left", "height", "width")), v)


def same(name, *args):
    return lambda F, x, p, t: getattr(F, name)(x, *args)


CASES = [  # ours, and what torchvision makes of an image and its numbers
    (T.RandomHorizontalFlip(), lambda F, x, p, t: F.horizontal_flip(x) if p["flip"] else x),
    (T.RandomVerticalFlip(), lambda F, x, p, t: F.vertical_flip(x) if p["flip"] else x),
    (T.CenterCrop(9), same("center_crop", [9])),
    (T.CenterCrop((16, 8)), same("center_crop", [16, 8])),
    (T.CenterCrop((20, 24)), same("center_crop", [20, 24])),
    (T.RandomCrop(8), crop),
    (T.RandomCrop((13, 17), padding=4, fill=0.5), crop),
    (T.RandomCrop(15, padding=3, padding_mode="edge"), crop),
    (T.RandomCrop(15, padding=5, padding_mode="reflect"), crop),
    (T.RandomCrop(15, padding=7, padding_mode="symmetric"), crop),
    (T.RandomCrop(11, padding=[1, 2, 3, 4], fill=[0.1, 0.2, 0.3]), crop),
    (T.RandomAffine(30), affine),
    (T.RandomAffine((10, 80), (0.2, 0.3), (0.5, 1.5), 20, "bilinear"), affine),
    (T.RandomAffine(30, shear=(-5, 5, -20, 20), fill=0.25, center=(3, 5)), affine),
    (T.RandomAffine(30, shear=(-5, 5, -20, 20), interpolation="bilinear", center=(3, 5)), affine),
    (T.RandomRotation(90, "bilinear"), lambda F, x, p, t: F.rotate(x, p["angle"], 2)),
    (T.RandomRotation((20, 50), center=(2, 3), fill=1.0),
     lambda F, x, p, t: F.rotate(x, p["angle"], 0, center=[2, 3], fill=1.0)),
    (T.RandomResizedCrop(10), resized_crop),
    (T.RandomResizedCrop((20, 9), (0.3, 0.9), (0.5, 2.0)), resized_crop),
    (T.ColorJitter(0.5), jitter),
    (T.ColorJitter(contrast=(0.2, 1.8)), jitter),
    (T.ColorJitter(saturation=0.9), jitter),
    (T.ColorJitter(hue=0.5), jitter),
    (T.ColorJitter(0.4, 0.4, 0.4, 0.1), jitter),
    (T.Grayscale(), same("rgb_to_grayscale", 1)),
    (T.Grayscale(3), same("rgb_to_grayscale", 3)),
    (T.Normalize([0.4, 0.5, 0.6], [0.2, 0.3, 0.4]), same("normalize", [0.4, 0.5, 0.6], [0.2, 0.3, 0.4])),
    (T.RandomErasing(0.8), erased),
    (T.RandomErasing(1.0, (0.1, 0.6), (0.9, 1.1), [0.1, 0.9, 0.5]), erased),
    (T.Resize(7), same("resize", [7])),
    (T.Resize((9, 31)), same("resize", [9, 31])),
    (T.Resize((20, 25), antialias=False), same("resize", [20, 25], 2, None, False)),
    (T.Resize((6, 8), antialias=False), same("resize", [6, 8], 2, None, False)),
    (T.Resize((6, 20), "nearest"), same("resize", [6, 20], 0)),
    (T.Resize(10, max_size=11), same("resize", [10], 2, 11)),
    (T.GaussianBlur((3, 5)), lambda F, x, p, t: F.gaussian_blur(x, [5, 3], [p["sigma"]] * 2)),
    (T.GaussianBlur(7, 1.5), lambda F, x, p, t: F.gaussian_blur(x, [7, 7], [1.5, 1.5])),
]  # fmt: skip


def rows(params):
    """The numbers of each sample."""
    found = {k: v.tolist() for k, v in params.items()}
    return [{k: v[i] for k, v in found.items()} for i in range(len(IMAGES))]


@pytest.mark.parametrize(
    "t, theirs", CASES, ids=[f"{i}-{type(t).__name__}" for i, (t, _) in enumerate(CASES)]
)
def test_agrees_with_torchvision(torch, F, device, t, theirs):
    fb.manual_seed(4)
    floats = IMAGES.astype("f4") / 255
    x = fb.tensor(floats, device=device)
    params = t.make_params(x)
    ours = t.transform(x, params).numpy()
    want = np.stack(
        [theirs(F, torch.tensor(a), p, t).numpy() for a, p in zip(floats, rows(params), strict=True)]
    )
    assert ours.dtype == want.dtype and ours.shape == want.shape
    far = np.abs(ours - want)
    if getattr(t, "interpolation", "") == "nearest":  # a place between two pixels may fall to either
        assert (far > 1e-5).mean() < 0.005
    else:
        assert far.max() < 5e-5


def test_uint8_stays_within_a_level_of_torchvision(torch, F):
    """One rounding at the end, where torchvision cuts off after each step."""
    fb.manual_seed(5)
    x = fb.tensor(IMAGES)
    t = T.Compose([T.RandomHorizontalFlip(), T.ColorJitter(0.3, None, 0.4), T.Grayscale(3)])
    params = t.make_params(x)
    y = t.transform(x, params).numpy()
    assert y.dtype == np.uint8
    flips, colours = rows(params[0]), rows(params[1])
    for a, ours, p, q in zip(IMAGES, y, flips, colours, strict=True):
        want = torch.tensor(a)
        want = jitter(F, F.horizontal_flip(want) if p["flip"] else want, q, t)
        want = F.rgb_to_grayscale(want, 3).numpy().astype(int)
        assert np.abs(want - ours).max() <= 3
