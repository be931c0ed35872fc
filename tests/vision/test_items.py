"""Transforms of images as files hold them: one by one, and stacked by a loader."""

import numpy as np
import pytest
from helpers.torchvision_here import torchvision
from PIL import Image

import flambeau as fb
from flambeau.data import DataLoader, ImageFolder
from flambeau.vision import filters
from flambeau.vision import transforms as T

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (20, 16, 3), "uint8")
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
TRAIN = [T.RandomResizedCrop(8), T.RandomHorizontalFlip(), T.ColorJitter(0.4, 0.4, 0.4), T.ToTensor()]


@pytest.fixture
def folder(tmp_path):
    for name, size in (("cats", (20, 16)), ("dogs", (17, 23))):
        (tmp_path / name).mkdir()
        for i in range(2):
            pixels = RNG.integers(0, 256, (*size, 3), "uint8")
            Image.fromarray(pixels).save(tmp_path / name / f"{i}.png")
    return tmp_path


def test_one_image_becomes_a_tensor():
    planes = PIXELS.transpose(2, 0, 1) / 255
    for image in (PIXELS, Image.fromarray(PIXELS)):
        np.testing.assert_allclose(T.ToTensor()(image).numpy(), planes, rtol=1e-6)
        found = T.Compose([T.CenterCrop(8), T.ToTensor(), T.Normalize(MEAN, STD)])(image)
        wanted = (planes[:, 6:14, 4:12] - np.reshape(MEAN, (3, 1, 1))) / np.reshape(STD, (3, 1, 1))
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-6)
    gray = T.ToTensor()(PIXELS[:, :, 0])
    assert gray.shape == (1, 20, 16) and repr(T.ToTensor()) == "ToTensor()"


def test_an_image_keeps_its_form():
    crop = PIXELS[6:14, 4:12]
    np.testing.assert_array_equal(T.CenterCrop(8)(PIXELS), crop)
    np.testing.assert_array_equal(T.CenterCrop(8)(PIXELS[:, :, 1]), crop[:, :, 1])
    found = T.CenterCrop(8)(Image.fromarray(PIXELS))
    assert isinstance(found, Image.Image)
    np.testing.assert_array_equal(np.asarray(found), crop)
    tensor = fb.tensor(PIXELS.transpose(2, 0, 1).copy(), device="cpu")
    np.testing.assert_array_equal(T.CenterCrop(8)(tensor).numpy(), crop.transpose(2, 0, 1))


@pytest.mark.parametrize("options", [{}, {"antialias": False}, {"interpolation": "nearest"}])
def test_resize_computes_an_array_as_a_tensor_with_weights_kept_by_size(options):
    pixels = np.random.default_rng(1).integers(0, 256, (70, 91, 3), "uint8")
    planes = fb.tensor(pixels.transpose(2, 0, 1).copy(), device="cpu")
    for size in ((33, 20), (75, 100), 1):  # several blocks of rows; smaller, larger, one pixel
        resize = T.Resize(size, **options)
        expected = T.Compose([resize, T.ToTensor()])(planes).numpy()
        first = filters.band.cache_info()
        actual = T.Compose([resize, T.ToTensor()])(pixels).numpy()
        after = filters.band.cache_info()
        assert after.hits > first.hits and after.misses == first.misses
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)
        image = np.asarray(resize(Image.fromarray(pixels))).transpose(2, 0, 1)
        # the order of BLAS sums depends on the processor: a value between two integers rounds either way
        unrounded = resize(planes.float()).numpy()
        halfway = np.abs(unrounded - np.floor(unrounded) - 0.5) < 1e-4
        np.testing.assert_array_equal(image[~halfway], resize(planes).numpy()[~halfway])
        np.testing.assert_allclose(image, unrounded, atol=0.5001)
    assert filters.band.cache_info().maxsize == 64


def test_batches_of_files_have_their_channels_last(device):
    batch = fb.tensor(np.stack([PIXELS, PIXELS[::-1]]), device=device)
    planes = np.stack([PIXELS, PIXELS[::-1]]).transpose(0, 3, 1, 2)
    np.testing.assert_allclose(T.ToTensor()(batch).numpy(), planes / 255, rtol=1e-6)
    found = T.CenterCrop(8)(batch)
    np.testing.assert_array_equal(found.numpy(), np.stack([PIXELS, PIXELS[::-1]])[:, 6:14, 4:12])


@pytest.mark.parametrize("workers", [0, 2])
def test_an_image_folder_with_the_usual_lines(folder, workers):
    dataset = ImageFolder(folder, transform=T.Compose([*TRAIN, T.Normalize(MEAN, STD)]))
    images, labels = next(iter(DataLoader(dataset, 4, num_workers=workers)))
    assert images.shape == (4, 3, 8, 8) and images.dtype is fb.float32 and labels.tolist() == [0, 0, 1, 1]
    values = images.numpy()
    assert np.isfinite(values).all() and -3 < values.min() < values.max() < 3


def test_draws_follow_the_seed(folder):
    def draw():
        fb.manual_seed(3)
        return np.stack([x.numpy() for x, _ in ImageFolder(folder, transform=T.Compose(TRAIN))])

    np.testing.assert_array_equal(draw(), draw())


def test_an_error_names_its_step():
    with pytest.raises(TypeError) as e:
        T.Compose([T.Resize(8), T.Normalize([0.5], [0.5])])(PIXELS)
    rule = "put ToTensor() or ToDtype(fb.float32, scale=True) before it"
    assert str(e.value) == f"Compose: step 2: Normalize: images of uint8 can't hold the results: {rule}"
    with pytest.raises(ValueError) as e:
        T.Compose([T.ToTensor(), T.Normalize([0.5] * 2, [0.5] * 2)])(PIXELS)
    rule = "the images have 3 channels: pass 1 or 3 numbers"
    assert str(e.value) == f"Compose: step 2: Normalize(mean=[0.5, 0.5]): {rule}"


def test_torchvision_gives_the_same(torch):
    torchvision(torch)
    from torchvision.transforms import v2

    steps = lambda m: [m.Resize(12), m.CenterCrop(10), m.ToTensor(), m.Normalize(MEAN, STD)]  # noqa: E731
    image = Image.fromarray(PIXELS)
    want = v2.Compose(steps(v2))(image).numpy()
    # Pillow rounds to whole numbers between the two passes of its resampling
    np.testing.assert_allclose(T.Compose(steps(T))(image).numpy(), want, atol=1.5 / 255 / min(STD))
