"""Filters, morphology, colours and warps beside kornia; components, distances, lines and flow beside SciPy,
scikit-image and OpenCV."""

import numpy as np
import pytest
from helpers.torchvision_here import functional, torchvision

import flambeau as fb
from flambeau import vision

RNG = np.random.default_rng(0)
IMAGE = RNG.uniform(0, 1, (2, 3, 17, 21)).astype("f4")
ELEMENT = np.float32([[0, 1, 0], [1, 1, 1]])
CORNERS = np.float32([[[1, 2], [18, 1], [19, 14], [2, 15]], [[0, 0], [20, 0], [20, 16], [0, 16]]])
MOVED = CORNERS + RNG.uniform(-2, 2, CORNERS.shape).astype("f4")
AFFINE = np.float32([[[1, 0.1, 2], [-0.1, 0.9, 1]], [[0.8, 0, 0], [0.2, 1.1, -3]]])
ANGLES = np.float32([30.0, -75.0])
MOVES = np.float32([[2.5, -1], [0, 3.25]])
CENTERS = {"align_corners": True}

# name: (arguments of ours, kornia's name, its arguments, bound); arrays become tensors
CALLS = {
    "box_blur": ((IMAGE, (3, 5)), "filters.box_blur", (IMAGE, (3, 5)), 1e-6),
    "gaussian_blur2d": (
        (IMAGE, (3, 5), (1.0, 1.5)), "filters.gaussian_blur2d", (IMAGE, (3, 5), (1.0, 1.5)), 1e-6,
    ),
    "median_blur": ((IMAGE, 5), "filters.median_blur", (IMAGE, (5, 5)), 0),
    "bilateral_blur": (
        (IMAGE, 5, 0.3, 1.5), "filters.bilateral_blur", (IMAGE, (5, 5), 0.3, (1.5, 1.5)), 1e-5,
    ),
    "unsharp_mask": ((IMAGE, 3, 1.5), "filters.unsharp_mask", (IMAGE, (3, 3), (1.5, 1.5)), 1e-5),
    "spatial_gradient": ((IMAGE,), "filters.spatial_gradient", (IMAGE,), 1e-5),
    "sobel": ((IMAGE,), "filters.sobel", (IMAGE,), 1e-5),
    "laplacian": ((IMAGE, 5), "filters.laplacian", (IMAGE, 5), 1e-5),
    "dilation": ((IMAGE, ELEMENT), "morphology.dilation", (IMAGE, ELEMENT), 0),
    "erosion": ((IMAGE, ELEMENT), "morphology.erosion", (IMAGE, ELEMENT), 0),
    "opening": ((IMAGE, ELEMENT), "morphology.opening", (IMAGE, ELEMENT), 0),
    "closing": ((IMAGE, ELEMENT), "morphology.closing", (IMAGE, ELEMENT), 0),
    "gradient": ((IMAGE, ELEMENT), "morphology.gradient", (IMAGE, ELEMENT), 1e-6),
    "top_hat": ((IMAGE, ELEMENT), "morphology.top_hat", (IMAGE, ELEMENT), 1e-6),
    "bottom_hat": ((IMAGE, ELEMENT), "morphology.bottom_hat", (IMAGE, ELEMENT), 1e-6),
    "get_perspective_transform": (
        (CORNERS, MOVED), "geometry.get_perspective_transform", (CORNERS, MOVED), 1e-3,
    ),
    "get_rotation_matrix2d": (
        (MOVES, ANGLES, MOVES), "geometry.get_rotation_matrix2d", (MOVES, ANGLES, MOVES), 1e-4,
    ),
    "pyrdown": ((IMAGE,), "geometry.transform.pyrdown", (IMAGE,), 1e-5),
    "equalize_clahe": (
        (IMAGE, 2.0, (3, 4)), "enhance.equalize_clahe", (IMAGE, 2.0, (3, 4)), 1e-6,
    ),
    "rgb_to_grayscale": ((IMAGE,), "color.rgb_to_grayscale", (IMAGE,), 1e-6),
} | {
    name: ((IMAGE,), f"color.{name}", (IMAGE,), bound)
    for name, bound in {
        "rgb_to_hsv": 1e-4, "rgb_to_hls": 1e-4, "rgb_to_xyz": 1e-5, "rgb_to_lab": 1e-3, "rgb_to_luv": 1e-2,
        "rgb_to_yuv": 1e-5, "rgb_to_ycbcr": 1e-5, "rgb_to_linear_rgb": 1e-5, "linear_rgb_to_rgb": 1e-5,
        "hsv_to_rgb": 1e-4, "hls_to_rgb": 1e-4, "xyz_to_rgb": 1e-4, "yuv_to_rgb": 1e-4, "ycbcr_to_rgb": 1e-4,
    }.items()
}  # fmt: skip


@pytest.fixture(scope="module")
def kornia(torch):
    torchvision(torch)
    import kornia

    return kornia


def named(module, name):
    for part in name.split("."):
        module = getattr(module, part)
    return module


@pytest.mark.parametrize("name", CALLS)
def test_beside_kornia(torch, kornia, name):
    given, theirs, arguments, bound = CALLS[name]
    ours = [fb.tensor(a, device="cpu") if isinstance(a, np.ndarray) else a for a in given]
    others = [torch.tensor(a) if isinstance(a, np.ndarray) else a for a in arguments]
    want = named(kornia, theirs)(*others)
    np.testing.assert_allclose(getattr(vision, name)(*ours).numpy(), want.numpy(), rtol=0, atol=bound)


@pytest.mark.parametrize("name", ["warp_affine", "warp_perspective", "rotate", "translate"])
def test_warps_beside_kornia(torch, kornia, name):
    matrix = {"warp_affine": AFFINE, "rotate": ANGLES, "translate": MOVES}.get(name)
    if matrix is None:
        matrix = kornia.geometry.get_perspective_transform(torch.tensor(CORNERS), torch.tensor(MOVED)).numpy()
    size = [(15, 20)] if name.startswith("warp") else []
    want = getattr(kornia.geometry, name)(torch.tensor(IMAGE), torch.tensor(matrix), *size, **CENTERS)
    got = getattr(vision, name)(fb.tensor(IMAGE, device="cpu"), fb.tensor(matrix, device="cpu"), *size)
    np.testing.assert_allclose(got.numpy(), want.numpy(), atol=1e-3)


@pytest.mark.parametrize("name", ["gaussian_blur2d", "bilateral_blur", "sobel", "dilation", "rgb_to_lab"])
def test_gradients_beside_kornia(torch, kornia, name):
    given, theirs, arguments, _ = CALLS[name]
    rest = [fb.tensor(a, device="cpu") if isinstance(a, np.ndarray) else a for a in given[1:]]
    others = [torch.tensor(a) if isinstance(a, np.ndarray) else a for a in arguments[1:]]
    weights = RNG.normal(0, 1, getattr(vision, name)(fb.tensor(IMAGE, device="cpu"), *rest).shape).astype(
        "f4"
    )

    def loss(x):
        return (getattr(vision, name)(x, *rest) * fb.tensor(weights, device="cpu")).sum()

    x = torch.tensor(IMAGE, requires_grad=True)
    (named(kornia, theirs)(x, *others) * torch.tensor(weights)).sum().backward()
    slope = fb.grad(loss)(fb.tensor(IMAGE, device="cpu"))
    np.testing.assert_allclose(slope.numpy(), x.grad.numpy(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("hysteresis", [True, False])
def test_canny_beside_kornia(torch, kornia, hysteresis):
    from scipy.ndimage import gaussian_filter

    x = gaussian_filter(RNG.uniform(0, 1, (2, 1, 40, 50)), (0, 0, 2, 2)).astype("f4")
    x = (x - x.min()) / (x.max() - x.min())
    got = vision.canny(fb.tensor(x, device="cpu"), hysteresis=hysteresis)
    want = kornia.filters.canny(torch.tensor(x), hysteresis=hysteresis)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-5)


def test_equalize_beside_torchvision(torch, device):
    image = (IMAGE * 120 + 40).astype("u1")
    want = functional(torch).equalize(torch.tensor(image))
    np.testing.assert_array_equal(vision.equalize(fb.tensor(image, device=device)).numpy(), want.numpy())


@pytest.mark.parametrize("connectivity", [4, 8])
def test_components_beside_scipy(torch, device, connectivity):
    from scipy.ndimage import generate_binary_structure, label

    mask = RNG.uniform(0, 1, (3, 40, 50)) < 0.55
    want = np.stack([label(m, generate_binary_structure(2, connectivity // 4))[0] for m in mask])
    got = vision.connected_components(fb.tensor(mask, device=device), connectivity)
    np.testing.assert_array_equal(got.numpy(), want)


def test_distances_beside_scipy(torch, device):
    from scipy.ndimage import distance_transform_edt

    mask = RNG.uniform(0, 1, (40, 50)) < 0.95
    got = vision.distance_transform(fb.tensor(mask, device=device)).numpy()
    np.testing.assert_allclose(got, distance_transform_edt(mask), rtol=1e-6)


def test_lines_beside_scikit_image(torch, device):
    from skimage.transform import hough_line

    image = RNG.uniform(0, 1, (30, 40)) < 0.1
    votes, angles, distances = vision.hough_line(fb.tensor(image, device=device))
    want, _, rows = hough_line(image, theta=angles.numpy().astype("f8"))
    np.testing.assert_array_equal(distances.numpy(), rows)
    # distances halfway between two rows may be rounded otherwise in float32
    assert np.abs(votes.numpy() - want.astype(int)).sum() <= 0.005 * want.sum()


def test_flow_beside_opencv(torch):
    import cv2
    from scipy.ndimage import gaussian_filter, shift

    x = gaussian_filter(RNG.uniform(0, 1, (80, 90)), 2.5).astype("f4")
    x = (x - x.min()) / (x.max() - x.min())
    y = shift(x, (1.5, -2.25), order=3, mode="nearest").astype("f4")
    flow = vision.optical_flow_lk(
        fb.tensor(x[None, None], device="cpu"), fb.tensor(y[None, None], device="cpu"), levels=2
    ).numpy()[0]
    error = np.hypot(flow[0] + 2.25, flow[1] - 1.5)[12:-12, 12:-12]
    at = np.stack(np.meshgrid(np.arange(12, 78), np.arange(12, 68)), -1).reshape(-1, 1, 2).astype("f4")
    frames = [(v * 255).clip(0, 255).astype("u1") for v in (x, y)]
    moved = cv2.calcOpticalFlowPyrLK(*frames, at, None, winSize=(9, 9), maxLevel=1)[0]
    theirs = np.hypot(*((moved - at)[:, 0] - np.float32([-2.25, 1.5])).T)
    assert np.median(error) <= 1.5 * np.median(theirs) and np.quantile(error, 0.95) < 0.1
