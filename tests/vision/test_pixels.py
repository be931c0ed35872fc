"""Filters, morphology, colours, warps, components and distances beside small NumPy references."""

from collections import deque

import numpy as np
import pytest

import flambeau as fb
from flambeau import vision
from flambeau.core.node import describe

RNG = np.random.default_rng(0)
IMAGE = RNG.uniform(0, 1, (2, 3, 9, 11)).astype("f4")


def windows(x, size, mode, **options):
    """All windows of images, on the last two of six dims."""
    sides = [(0, 0), (0, 0), *((k // 2, k // 2) for k in size)]
    return np.lib.stride_tricks.sliding_window_view(np.pad(x, sides, mode, **options), size, (2, 3))


def here(x):
    return fb.tensor(x, device="cpu")


def test_smoothing_of_windows(device):
    x = fb.tensor(IMAGE, device=device)
    want = windows(IMAGE, (3, 5), "reflect").mean((-1, -2))
    np.testing.assert_allclose(vision.box_blur(x, (3, 5)).numpy(), want, atol=1e-6)
    want = np.median(windows(IMAGE, (3, 3), "edge"), (-1, -2))
    np.testing.assert_allclose(vision.median_blur(x, 3, "replicate").numpy(), want, atol=1e-6)


def test_weights_of_gaussians_and_of_colours():
    weights = np.exp(-0.5 * (np.arange(-2, 3) / 1.5) ** 2)
    weights = np.outer(weights, weights) / weights.sum() ** 2
    seen = windows(IMAGE, (5, 5), "reflect")
    smooth = (seen * weights).sum((-1, -2))
    np.testing.assert_allclose(vision.gaussian_blur2d(here(IMAGE), 5, 1.5).numpy(), smooth, atol=1e-6)
    sharp = vision.unsharp_mask(here(IMAGE), 5, 1.5)
    np.testing.assert_allclose(sharp.numpy(), 2 * IMAGE - smooth, atol=2e-6)
    apart = np.abs(seen - IMAGE[..., None, None]).sum(1, keepdims=True)
    both = weights * np.exp(-0.5 * (apart / 0.3) ** 2)
    want = (seen * both).sum((-1, -2)) / both.sum((-1, -2))
    np.testing.assert_allclose(vision.bilateral_blur(here(IMAGE), 5, 0.3, 1.5).numpy(), want, atol=1e-5)


def test_slopes_of_a_plane():
    y, x = np.mgrid[:7, :8].astype("f4")
    plane = here((2 * x + 3 * y)[None, None])
    slopes = vision.spatial_gradient(plane)[0, 0, :, 1:-1, 1:-1].numpy()
    np.testing.assert_allclose(slopes[0], 2, atol=1e-5)
    np.testing.assert_allclose(slopes[1], 3, atol=1e-5)
    assert vision.sobel(plane)[0, 0, 3, 3].item() == pytest.approx(13**0.5, abs=1e-5)
    assert abs(vision.laplacian(plane, 3)[0, 0, 3, 3].item()) < 1e-5


def test_edges_of_a_square():
    image = np.zeros((1, 1, 24, 24), "f4")
    image[..., 6:18, 6:18] = 1
    magnitude, edges = vision.canny(here(image))
    found = edges[0, 0].numpy() > 0
    assert (
        found.any() and not found[9:15, 9:15].any() and not found[:3].any() and (magnitude.numpy() >= 0).all()
    )
    # weak pixels that no strong one reaches are left out
    faint = vision.canny(here(0.05 * image), 0.01, 0.9)[1]
    assert (
        faint.sum().item() == 0 and vision.canny(here(0.05 * image), 0.01, 0.9, hysteresis=False)[1].sum() > 0
    )


def test_morphology_is_extremes(device):
    element = np.float32([[0, 1, 0], [1, 1, 1]])
    x, kernel = fb.tensor(IMAGE, device=device), fb.tensor(element, device=device)
    low = np.full_like(IMAGE, np.inf)
    padded = np.pad(IMAGE, [(0, 0), (0, 0), (1, 0), (1, 1)], constant_values=np.inf)
    for i, j in np.argwhere(element):
        low = np.minimum(low, padded[:, :, i : i + 9, j : j + 11])
    np.testing.assert_array_equal(vision.erosion(x, kernel).numpy(), low)
    opened, closed = vision.opening(x, kernel).numpy(), vision.closing(x, kernel).numpy()
    assert (opened <= IMAGE).all() and (closed >= IMAGE).all()
    np.testing.assert_array_equal(vision.opening(here(opened), here(element)).numpy(), opened)
    np.testing.assert_allclose(vision.top_hat(x, kernel).numpy(), IMAGE - opened, atol=1e-6)
    np.testing.assert_allclose(vision.bottom_hat(x, kernel).numpy(), closed - IMAGE, atol=1e-6)
    assert (vision.gradient(x, kernel).numpy() >= 0).all()


PAIRS = ("hsv", "hls", "xyz", "lab", "luv", "yuv", "ycbcr", "linear_rgb")
RED = {  # of sRGB red
    "hsv": (0, 1, 1), "hls": (0, 0.5, 1), "xyz": (0.412453, 0.212671, 0.019334), "lab": (53.24, 80.09, 67.20),
    "luv": (53.24, 175.01, 37.76), "yuv": (0.299, -0.147, 0.615), "ycbcr": (0.299, 0.331364, 0.999813),
    "linear_rgb": (1, 0, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_colours_go_there_and_back(name):
    there, back = getattr(vision, f"rgb_to_{name}"), getattr(vision, f"{name}_to_rgb")
    colours = np.concatenate([IMAGE, np.full((2, 3, 1, 11), 0.5, "f4"), np.zeros((2, 3, 1, 11), "f4")], 2)
    np.testing.assert_allclose(back(there(here(colours))).numpy(), colours, atol=2e-4)
    red = there(here(np.float32([1, 0, 0]).reshape(3, 1, 1))).flatten().numpy()
    np.testing.assert_allclose(red, RED[name], atol=2e-2 if name in ("lab", "luv") else 1e-5)


def test_equalised_values():
    image = (IMAGE * 90 + 40).astype("u1")
    image[0, 0] = 7
    want = np.empty_like(image)
    for at in np.ndindex(2, 3):
        count = np.bincount(image[at].ravel(), minlength=256)
        step = (count.sum() - count[count > 0][-1]) // 255
        table = (np.cumsum(count) - count + step // 2) // max(step, 1)
        want[at] = np.clip(table, 0, 255)[image[at]] if step else image[at]
    np.testing.assert_array_equal(vision.equalize(here(image)).numpy(), want)
    wide = np.tile(np.arange(0, 256, 8, dtype="u1"), (1, 1, 64, 1))
    got = vision.equalize(here(wide)).numpy()
    assert got.min() == 0 and got.max() == 255


def by_tiles(image, clip, rows, columns):
    """Equalisation of a plane by tiles, in float64: tables, then each pixel between centers."""
    height, width = image.shape
    high, wide = -(-height // rows), -(-width // columns)
    sides = ((0, high * rows - height), (0, wide * columns - width))
    padded = (np.pad(image, sides, "reflect") * np.float32(255)).astype(int)
    tables = np.empty((rows, columns, 256))
    for i, j in np.ndindex(rows, columns):
        tile = padded[i * high : (i + 1) * high, j * wide : (j + 1) * wide]
        count = np.bincount(tile.ravel(), minlength=256)
        if clip:
            kept = np.minimum(count, max(int(clip * tile.size // 256), 1))
            share, rest = divmod(tile.size - kept.sum(), 256)
            count = kept + share
            count[:: max(256 // max(rest, 1), 1)][:rest] += 1
        tables[i, j] = np.round(np.minimum(np.cumsum(count) * 255 / tile.size, 255))
    out = np.empty(image.shape)
    for y, x in np.ndindex(image.shape):
        v, u = (y + 0.5) / high - 0.5, (x + 0.5) / wide - 0.5
        total = 0.0
        for i, j in np.ndindex(2, 2):
            row, column = int(np.floor(v)) + i, int(np.floor(u)) + j
            weight = (1 - abs(v - row)) * (1 - abs(u - column))
            tile = np.clip(row, 0, rows - 1), np.clip(column, 0, columns - 1)
            total += weight * tables[tile][padded[y, x]]
        out[y, x] = total / 255
    return out


@pytest.mark.parametrize("clip, grid", [(40.0, (2, 2)), (2.0, (3, 4)), (0.0, (1, 1)), (1.5, (2, 5))])
def test_equalised_by_tiles(device, clip, grid):
    image = np.concatenate([IMAGE, IMAGE**3], 3)
    image[0, 0, :3] = 0.25  # one level, which the limit spreads
    got = vision.equalize_clahe(fb.tensor(image, device=device), clip, grid).numpy()
    want = np.stack([[by_tiles(plane, clip, *grid) for plane in one] for one in image])
    np.testing.assert_allclose(got, want, atol=1e-6)


def test_equalised_values_outside_are_clamped():
    inside = here(IMAGE).clamp(0, 1)
    strange = here(np.where(IMAGE > 0.9, 7, IMAGE).astype("f4"))
    strange = fb.where(here(IMAGE) < 0.1, float("nan"), strange)
    want = fb.where(inside > 0.9, 1.0, fb.where(inside < 0.1, 0.0, inside))
    got = vision.equalize_clahe(strange, 2.0, (2, 2))
    np.testing.assert_array_equal(got.numpy(), vision.equalize_clahe(want, 2.0, (2, 2)).numpy())


def flood(mask, diagonal):
    """Components by breadth-first search, numbered by their first pixels."""
    steps = [(0, 1), (1, 0), (0, -1), (-1, 0)] + [(1, 1), (1, -1), (-1, 1), (-1, -1)] * diagonal
    numbers, count = np.zeros(mask.shape, int), 0
    for start in map(tuple, np.argwhere(mask)):
        if numbers[start]:
            continue
        count += 1
        numbers[start], queue = count, deque([start])
        while queue:
            y, x = queue.popleft()
            for dy, dx in steps:
                at = y + dy, x + dx
                inside = 0 <= at[0] < mask.shape[0] and 0 <= at[1] < mask.shape[1]
                if inside and mask[at] and not numbers[at]:
                    numbers[at] = count
                    queue.append(at)
    return numbers


def spiral(n):
    """One component of a single long line."""
    mask, y, x, dy, dx = np.zeros((n, n), bool), 0, 0, 0, 1
    for k in range(n, 0, -2):
        for _ in range(2):
            for _ in range(k):
                mask[y, x] = True
                y, x = min(max(y + dy, 0), n - 1), min(max(x + dx, 0), n - 1)
            dy, dx = dx, -dy
    return mask


@pytest.mark.parametrize("connectivity", [4, 8])
def test_components_are_a_flood(kernels, connectivity):
    masks = np.stack(
        [RNG.uniform(0, 1, (19, 23)) < 0.55, np.zeros((19, 23)), np.ones((19, 23)), np.eye(19, 23)]
    )
    masks[1, ::2] = spiral(23)[:19:2]
    want = np.stack([flood(m, connectivity == 8) for m in masks])
    got = vision.connected_components(fb.tensor(masks, device=kernels), connectivity)
    assert got.dtype is fb.int32
    np.testing.assert_array_equal(got.numpy(), want)


def test_distances_are_the_shortest(device):
    mask = RNG.uniform(0, 1, (2, 13, 17)) < 0.9
    mask[1] = True
    mask[1, 3, 4] = False
    y, x = np.mgrid[:13, :17]
    want = np.empty(mask.shape)
    for k in range(2):
        zeros = np.argwhere(~mask[k])
        want[k] = np.hypot(y[..., None] - zeros[:, 0], x[..., None] - zeros[:, 1]).min(-1)
    got = vision.distance_transform(fb.tensor(mask, device=device)).numpy()
    np.testing.assert_allclose(got, want, rtol=1e-6)
    assert np.isinf(vision.distance_transform(fb.ones(1, 2, 3, device=device)).numpy()).all()


def test_warps_of_whole_pixels():
    move = here(np.float32([[[1, 0, 2], [0, 1, 1]]] * 2))
    got = vision.warp_affine(here(IMAGE), move, (9, 11)).numpy()
    np.testing.assert_allclose(got[:, :, 1:, 2:], IMAGE[:, :, :-1, :-2], atol=1e-5)
    assert np.abs(got[:, :, 0]).max() < 1e-5
    moved = vision.translate(here(IMAGE), here(np.float32([[2, 1], [2, 1]]))).numpy()
    np.testing.assert_allclose(moved, got, atol=1e-6)
    square = here(IMAGE[..., :9])
    turned = vision.rotate(square, here(np.float32([90.0, 90.0]))).numpy()
    np.testing.assert_allclose(turned, np.rot90(IMAGE[..., :9], 1, (2, 3)), atol=1e-4)
    y, x = np.mgrid[:9, :11].astype("f4")
    mirrored = vision.remap(here(IMAGE), here((10 - x)[None]), here(y[None])).numpy()
    np.testing.assert_allclose(mirrored, IMAGE[..., ::-1], atol=1e-5)


def test_a_perspective_moves_its_points():
    first = np.float32([[[0, 0], [10, 1], [9, 8], [1, 7]]])
    second = np.float32([[[1, 0], [9, 0], [10, 8], [0, 8]]])
    matrix = vision.get_perspective_transform(here(first), here(second)).numpy()[0]
    points = np.concatenate([first[0], np.ones((4, 1))], 1) @ matrix.T
    np.testing.assert_allclose(points[:, :2] / points[:, 2:], second[0], atol=1e-4)


def test_a_pyramid_halves():
    shapes = [level.shape for level in vision.build_pyramid(here(IMAGE), 2)]
    assert shapes == [(2, 3, 9, 11), (2, 3, 4, 5)]
    flat = vision.pyrdown(fb.full((1, 1, 8, 8), 0.25, device="cpu"))
    np.testing.assert_allclose(flat.numpy(), 0.25, rtol=1e-6)


def test_flow_of_a_moved_pattern():
    y, x = np.mgrid[:32, :40].astype("f4")

    def pattern(dx, dy):
        return (np.sin((x - dx) * 0.5) * np.cos((y - dy) * 0.4) + np.sin((x - dx + y - dy) * 0.3))[None, None]

    flow = vision.optical_flow_lk(here(pattern(0, 0)), here(pattern(1.25, -0.75)), levels=2).numpy()[0]
    error = np.hypot(flow[0] - 1.25, flow[1] + 0.75)[8:-8, 8:-8]
    assert np.median(error) < 0.05 and np.quantile(error, 0.95) < 0.2


def test_votes_for_a_line(device):
    image = np.zeros((12, 15), "f4")
    image[4] = 1  # y = 4
    votes, angles, distances = vision.hough_line(fb.tensor(image, device=device))
    row, column = np.unravel_index(votes.numpy().argmax(), votes.shape)
    assert votes.numpy().max() == 15 and votes.sum().item() == 15 * 180
    assert abs(abs(angles[column].item()) - np.pi / 2) < 0.1 and abs(distances[row].item()) == 4


def test_no_pixels():
    none = fb.zeros(0, 3, 4, 5, device="cpu")
    kernel = fb.ones(3, 3, device="cpu")
    for call in (
        lambda x: vision.box_blur(x, 3), lambda x: vision.median_blur(x, 3), vision.sobel,
        lambda x: vision.erosion(x, kernel), vision.rgb_to_lab, vision.distance_transform,
        vision.connected_components, vision.equalize_clahe, vision.rgb_to_hsv,
        lambda x: vision.bilateral_blur(x, 3, 0.1, 1.0), lambda x: vision.laplacian(x, 3),
        lambda x: vision.remap(x, x[:, 0], x[:, 0]),
        lambda x: vision.dilation(x[:, :, :0], kernel).reshape(x.shape),
    ):  # fmt: skip
        assert call(none).shape == none.shape


MISTAKES = [
    (lambda x: vision.box_blur(x, 4), "box_blur(kernel_size=4): must be one or two odd numbers"),
    (lambda x: vision.box_blur(x[0], 3), "box_blur({first}): images are [n, c, h, w]: pass such a tensor"),
    (
        lambda x: vision.box_blur(x, 3, "wrap"),
        "box_blur(border_type='wrap'): borders are reflect, replicate, circular, constant: pass one",
    ),
    (
        lambda x: vision.median_blur(x, (19, 1)),
        "median_blur(kernel_size=(19, 1)): reflects 9 pixels of a height of 9: use a smaller window",
    ),
    (
        lambda x: vision.rgb_to_lab(x[:, :2]),
        "rgb_to_lab({two}): images are [..., 3, h, w]: pass such a tensor",
    ),
    (lambda x: vision.canny(x, 0.5, 0.2), "canny(0.5, 0.2): thresholds are 0 <= low <= high: swap them"),
    (
        lambda x: vision.connected_components(x, 6),
        "connected_components({x}, 6): images are [..., h, w], connectivity is 4 or 8: pass such values",
    ),
    (
        lambda x: vision.warp_affine(x, x, (3, 3)),
        "warp_affine(M={x}): matrices are [n, 2, 3]: pass such a tensor",
    ),
    (lambda x: vision.equalize(x), "equalize({x}): images are uint8 [n, c, h, w]: pass such a tensor"),
    (
        lambda x: vision.equalize_clahe(x, grid_size=(9, 2)),
        "equalize_clahe({x}, grid_size=(9, 2)): tiles are mirrored at the edge and need more pixels: use "
        "fewer tiles",
    ),
    (
        lambda x: vision.remap(x, *here(np.zeros((2, 3, 2, 2), "f4"))),
        "remap({x}, f32[3, 2, 2]): there is a map for each of 2 images, or one for all: pass as many",
    ),
    (
        lambda x: vision.remap(x[:, :, :0], *here(np.zeros((2, 2, 2, 2), "f4"))),
        "remap(f32[2, 3, 0, 11]): there are no pixels to read: pass larger images",
    ),
    (lambda x: vision.hough_line(x), "hough_line({x}): an image is [h, w]: pass 2 dims"),
    (lambda x: vision.erosion(x, x), "erosion(kernel={x}): it is a matrix [kh, kw]: pass 2 dims"),
    (
        lambda x: vision.build_pyramid(x, 0),
        "build_pyramid(max_level=0): it is a number of levels: pass 1 or more",
    ),
    (
        lambda x: vision.get_rotation_matrix2d(x, x, x),
        "get_rotation_matrix2d({x}, {x}, {x}): center and scale are [n, 2], angle is [n]: pass such tensors",
    ),
    (
        lambda x: vision.optical_flow_lk(x, x),
        "optical_flow_lk({x}, {x}): images are [n, 1, h, w]: pass two of one shape",
    ),
]


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_errors_say_what_to_pass(number):
    call, text = MISTAKES[number]
    x = here(IMAGE)
    with pytest.raises(ValueError) as error:
        call(x)
    assert str(error.value) == text.format(x=describe(x), first=describe(x[0]), two=describe(x[:, :2]))
