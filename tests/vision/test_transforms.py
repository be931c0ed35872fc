"""Transforms against NumPy and the standard library; how many kernels they take; what they refuse."""

import colorsys
import re

import numpy as np
import pytest

import flambeau as fb
from flambeau.vision import transforms as T

IMAGES = np.random.default_rng(1).integers(0, 256, (6, 3, 9, 11), dtype=np.uint8)
FIVE = (
    T.RandomCrop((8, 10), padding=2),
    T.RandomHorizontalFlip(),
    T.RandomAffine(20, (0.1, 0.1), (0.8, 1.2), (-9, 9, -4, 4), "bilinear"),
    T.ColorJitter(0.4, 0.4, 0.4, 0.1),
    T.ToDtype(fb.float32, scale=True),
    T.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4]),
)


def test_crop_flip_affine_jitter_and_normalise_are_two_kernels(gpu):
    y = T.Compose(FIVE)(fb.tensor(IMAGES, device=gpu))
    assert str(y.plan()).startswith("2 kernels")
    without = [t if not isinstance(t, T.ColorJitter) else T.ColorJitter(0.4, None, 0.4, 0.1) for t in FIVE]
    assert str(T.Compose(without)(fb.tensor(IMAGES, device=gpu)).plan()).startswith("2 kernels")


@pytest.mark.share(5)
def test_devices_and_seeds_give_the_same_images(gpu):
    def made(device, seed):
        fb.manual_seed(seed)
        return T.Compose(FIVE)(fb.tensor(IMAGES, device=device)).numpy()

    found = made(gpu, 7)
    assert np.abs(found - made("cpu", 7)).max() < 5e-4
    assert (found == made(gpu, 7)).all()
    assert np.abs(found - made(gpu, 8)).max() > 0.5


def test_every_sample_has_its_own_numbers():
    fb.manual_seed(0)
    drawn = T.Compose(FIVE).make_params(fb.zeros(200, 3, 9, 11, dtype=fb.uint8, device="cpu"))
    for name, values in drawn[2].items():
        assert len(set(values.tolist())) > (2 if name.startswith("translate") else 190), name
    low, high = drawn[2]["angle"].min().item(), drawn[2]["angle"].max().item()
    assert -20 <= low < -18 and 18 < high <= 20
    assert set(drawn[0]["top"].tolist()) == set(range(6)) and set(drawn[1]["flip"].tolist()) == {0, 1}


def test_a_recorded_step_draws_anew(gpu):
    flip = T.Compose([T.RandomCrop(9, padding=4), T.RandomHorizontalFlip()])
    step = fb.jit(lambda x: flip(x))
    x = fb.tensor(IMAGES, device=gpu)
    fb.manual_seed(3)
    recorded = [step(x).numpy() for _ in range(4)]
    fb.manual_seed(3)
    assert all((flip(x).numpy() == r).all() for r in recorded)
    assert (recorded[2] != recorded[3]).any()


def test_crops_and_flips_move_pixels(device):
    x = fb.tensor(IMAGES, device=device)
    t = T.Compose([T.RandomCrop(7, padding=3, fill=9), T.RandomVerticalFlip(), T.RandomHorizontalFlip()])
    params = t.make_params(x)
    y = t.transform(x, params).numpy()
    assert y.dtype == np.uint8
    padded = np.pad(IMAGES, ((0, 0), (0, 0), (3, 3), (3, 3)), constant_values=9)
    top, left = (params[0][k].numpy().astype(int) for k in ("top", "left"))
    up, side = (p["flip"].numpy() for p in params[1:])
    assert 0 < up.sum() + side.sum() < 12
    for a, found, i, j, v, h in zip(padded, y, top, left, up, side, strict=True):
        part = a[:, i : i + 7, j : j + 7]
        part = part[:, ::-1] if v else part
        assert (found == (part[:, :, ::-1] if h else part)).all()


def sampled(image, x, y, fill):
    """Bilinear by hand: what is outside counts as the fill."""
    total = 0.0
    for i in (np.floor(x), np.floor(x) + 1):
        for j in (np.floor(y), np.floor(y) + 1):
            weight = (1 - abs(x - i)) * (1 - abs(y - j))
            inside = 0 <= i < image.shape[1] and 0 <= j < image.shape[0]
            total += weight * (image[int(j), int(i)] if inside else fill)
    return total


def test_an_affine_map_reads_between_pixels_and_fills(device):
    image = np.random.default_rng(2).random((2, 1, 6, 7)).astype("f4")
    t = T.RandomAffine(40, (0.2, 0.2), (0.7, 1.4), interpolation="bilinear", fill=0.3)
    x = fb.tensor(image, device=device)
    params = t.make_params(x)
    found = t.transform(x, params).numpy()
    for n in range(2):
        p = {k: v.tolist()[n] for k, v in params.items()}
        rot = np.deg2rad(p["angle"])
        turn = np.array([[np.cos(rot), np.sin(rot)], [-np.sin(rot), np.cos(rot)]]) / p["scale"]
        for j in range(6):
            for i in range(7):
                at = turn @ [i - 3 - p["translate_x"], j - 2.5 - p["translate_y"]] + [3, 2.5]
                assert found[n, 0, j, i] == pytest.approx(sampled(image[n, 0], *at, 0.3), abs=2e-5)


def test_a_crop_hides_what_a_later_map_would_show(device):
    """Places are composed into one reading, and yet what was cut away stays away."""
    t = T.Compose([T.CenterCrop(4), T.CenterCrop(8)])
    y = t(fb.tensor(IMAGES, device=device)).numpy()
    want = np.zeros((6, 3, 8, 8), np.uint8)
    want[:, :, 2:6, 2:6] = T.CenterCrop(4)(fb.tensor(IMAGES, device="cpu")).numpy()
    assert (y == want).all() and y.any()


def test_colours(device):
    x = fb.tensor(IMAGES, device=device)
    t = T.ColorJitter(0.5, 0.5, 0.5, 0.3)
    params = t.make_params(x)
    y = T.Compose([T.ToDtype(fb.float32, scale=True), t]).transform(x, [{}, params]).numpy()
    for n, image in enumerate(IMAGES.astype("f8") / 255):
        p = {k: v.tolist()[n] for k, v in params.items()}
        weights = np.array([0.2989, 0.587, 0.114])
        v = np.clip(image * p["brightness"], 0, 1)
        mean = np.tensordot(weights, v, 1).mean()
        v = np.clip(v * p["contrast"] + mean * (1 - p["contrast"]), 0, 1)
        v = np.clip(v * p["saturation"] + np.tensordot(weights, v, 1) * (1 - p["saturation"]), 0, 1)
        for j in range(9):
            for i in range(11):
                h, s, value = colorsys.rgb_to_hsv(*v[:, j, i])
                want = colorsys.hsv_to_rgb((h + p["hue"]) % 1, s, value)
                assert np.abs(y[n, :, j, i] - want).max() < 2e-5


def test_dtypes():
    x = fb.tensor(IMAGES[:2], device="cpu")
    assert T.ToDtype(fb.float32)(x).numpy().max() > 200
    scaled = T.ToDtype(fb.float16, scale=True)(x)
    assert scaled.dtype is fb.float16 and scaled.float().numpy().max() <= 1
    back = T.ToDtype(fb.uint8, scale=True)(T.ToDtype(fb.float32, scale=True)(x))
    assert (back.numpy() == IMAGES[:2]).all()
    assert T.GaussianBlur(3)(x).dtype is fb.uint8
    assert T.RandomHorizontalFlip()(fb.zeros(0, 3, 4, 4, dtype=fb.uint8, device="cpu")).shape == (0, 3, 4, 4)


def test_one_channel_has_no_hue_and_no_saturation():
    x = fb.rand(2, 1, 3, 3, device="cpu")
    assert (T.ColorJitter(saturation=0.5, hue=0.3)(x).numpy() == x.numpy()).all()
    assert T.Grayscale()(x).shape == (2, 1, 3, 3)
    for given in (x, (x * 255).to(fb.uint8)):
        y = T.Compose([T.Grayscale(3), T.Normalize([0.0, 0.5, 1.0], [1, 1, 2])])(given.float()).numpy()
        assert np.allclose(y[:, 1], given.float().numpy()[:, 0] - 0.5) and y.shape == (2, 3, 3, 3)
        same = T.Grayscale(3)(given)
        assert same.dtype is given.dtype and (same.numpy() == given.numpy().repeat(3, 1)).all()


def test_no_gradients_are_lost_without_a_word():
    x = fb.rand(1, 3, 2, 2, device="cpu", requires_grad=True)
    rule = (
        "f32[1, 3, 2, 2] requires gradients: transforms are not differentiable: pass"
        " images.detach(), or transform"
        " inside no_grad()"
    )
    with pytest.raises(ValueError, match=re.escape(rule)):
        T.Grayscale()(x)
    with fb.no_grad():
        assert T.Grayscale()(x).shape == (1, 1, 2, 2)
    blurred = T.GaussianBlur(3, 1.0)(x)  # made of operations that have gradients
    assert blurred.sum().backward()[x].shape == x.shape


def test_erased_boxes():
    x = fb.ones(50, 2, 10, 10, device="cpu")
    y = T.RandomErasing(0.6, value=[0.0, 2.0])(x).numpy()
    erased = (y != 1).any((1, 2, 3))
    assert 15 < erased.sum() < 45
    assert ((y[:, 0] == 0) == (y[:, 1] == 2)).all()


ERRORS = {
    "p": (lambda: T.RandomHorizontalFlip(2), "RandomHorizontalFlip(p=2): must be a number from 0 to 1"),
    "size": (lambda: T.CenterCrop(0), "CenterCrop(size=0): must be one or two positive integers"),
    "mode": (lambda: T.RandomAffine(3, interpolation="cubic"),
             "RandomAffine(interpolation='cubic'): unknown: use one of nearest, bilinear"),
    "degrees": (lambda: T.RandomRotation((5, 2)),
                "RandomRotation(degrees=(5, 2)): must be a number of at least 0, or 2 numbers in order"),
    "translate": (lambda: T.RandomAffine(0, (2, 0)),
                  "RandomAffine(translate=(2, 0)): must be two fractions from 0 to 1"),
    "expand": (lambda: T.RandomRotation(9, expand=True),
               "RandomRotation(expand=True): all images of a batch have the same size: pad them first"),
    "scale": (lambda: T.RandomErasing(scale=(0.5, 0.1)),
              "RandomErasing(scale=(0.5, 0.1)): must be (low, high), positive and in order"),
    "value": (lambda: T.RandomErasing(value="random"),
              "RandomErasing(value='random'): must be a number, or one for each channel"),
    "antialias": (lambda: T.RandomResizedCrop(4, antialias=True),
                  "RandomResizedCrop(antialias=True): crops of different sizes are resampled"
                  " in one pass without antialiasing: leave it out"),
    "padding": (lambda: T.RandomCrop(4, padding=(1, 2, 3)),
                "RandomCrop(padding=(1, 2, 3)): must be 1, 2 or 4 integers of at least 0"),
    "padding mode": (lambda: T.RandomCrop(4, padding_mode="zeros"),
                     "RandomCrop(padding_mode='zeros'): is unknown: use one of constant, edge, reflect, "
                     "symmetric"),
    "hue": (lambda: T.ColorJitter(hue=0.7),
            "ColorJitter(hue=0.7): must be a number from 0 to 0.5, or (low, high) in -0.5 to 0.5"),
    "brightness": (lambda: T.ColorJitter(-1),
                   "ColorJitter(brightness=-1): must be a number of at least 0, or (low, high)"),
    "gray": (lambda: T.Grayscale(2), "Grayscale(num_output_channels=2): must be 1 or 3"),
    "std": (lambda: T.Normalize([0], [0]), "Normalize(std=[0]): std must not be 0"),
    "even": (lambda: T.GaussianBlur(4), "GaussianBlur(kernel_size=4): must be one or two odd numbers"),
    "max_size": (lambda: T.Resize((3, 4), max_size=5),
                 "Resize(max_size=...): it needs a single size, that of the shorter side: leave it out"),
    "dtype": (lambda: T.ToDtype(fb.int32), ("ToDtype(int32): images must be uint8 or"
        " floats: use one of these")),
    "compose": (lambda: T.Compose([abs]),
                "Compose([...]): <built-in function abs> is not a transform: use those of vision.transforms"),
    "large": (lambda: T.RandomCrop(20)(fb.tensor(IMAGES, device="cpu")),
              "RandomCrop: size (20, 20) is larger than the padded images: pass pad_if_needed=True, "
              "or at most (9, 11)"),
    "normalise": (lambda: T.Normalize([0], [1])(fb.tensor(IMAGES, device="cpu")),
                  "Normalize: images of uint8 can't hold the results: put ToTensor() or "
                  "ToDtype(fb.float32, scale=True) before it"),
    "channels": (lambda: T.RandomAffine(3, fill=[1, 2])(fb.tensor(IMAGES, device="cpu")),
                 "RandomAffine(fill=[1, 2]): the images have 3 channels: pass 1 or 3 numbers"),
    "colours": (lambda: T.ColorJitter(1)(fb.zeros(1, 2, 3, 3, device="cpu")),
                "ColorJitter: the images have 2 channels: it needs 3 channels, or 1"),
    "gray of": (lambda: T.Grayscale()(fb.zeros(1, 2, 3, 3, device="cpu")),
                "Grayscale: the images have 2 channels, not 3 or 1"),
    "blur": (lambda: T.GaussianBlur(9)(fb.zeros(1, 3, 3, 9, device="cpu")),
             "GaussianBlur: kernel_size (9, 9) reflects 4 pixels of a height of 3: use a smaller one"),
    "a plane": (lambda: T.CenterCrop(2)(fb.zeros(4, 4, device="cpu")),
                "transforms take images [n, c, h, w]: got shape [4, 4]: use unsqueeze(0) for one image"),
    "array": (lambda: T.RandomCrop(2)(np.zeros((1, 3, 4, 4), "uint8")),
              "transforms take images [n, c, h, w]: got ndarray: wrap it in fb.tensor(...)"),
    "integers": (lambda: T.CenterCrop(2)(fb.zeros(1, 3, 4, 4, dtype=fb.int32, device="cpu")),
                 "transforms take images of uint8 or floats: got int32: cast with .to(...)"),
    "pixels": (lambda: T.CenterCrop(2)(fb.zeros(1, 3, 0, 4, device="cpu")),
               "transforms take images with pixels: got shape [1, 3, 0, 4]"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    call, text = ERRORS[case]
    with pytest.raises((ValueError, TypeError)) as e:
        call()
    assert str(e.value) == text
