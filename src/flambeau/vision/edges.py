"""Derivatives and edges under kornia's names, and lines by Hough's transform."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, hypot, pi

from ..core import dtype as dt
from ..core.node import describe
from ..functions import arange, stack, where
from ..ops.sort.histogram import counts
from ..tensor import Tensor, tensor
from .blurs import gaussian_blur2d
from .color_spaces import rgb_to_grayscale
from .components import connected_components
from .windows import images_of, pad_images, sizes_of, weighted_sum

KERNELS = {
    "sobel": [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]],
    "diff": [[0, 0, 0], [-1, 0, 1], [0, 0, 0]],
}
ROUND = ((0, 1), (1, 1), (1, 0), (1, -1))  # (down, right) of neighbours at 0, 45, 90 and 135 degrees


def spatial_gradient(input: Tensor, mode: str = "sobel", normalized: bool = True) -> Tensor:
    """The derivatives along x and y, with repeated edges. [n, c, h, w] -> [n, c, 2, h, w]

    mode: "sobel", or "diff" of the two neighbours. normalized: divide by the sum of absolute weights. Raises
    ValueError for other modes.
    """
    x = images_of("spatial_gradient", input)
    if mode not in KERNELS:
        raise ValueError(f"spatial_gradient(mode={mode!r}): modes are sobel, diff: pass one")
    across = KERNELS[mode]
    scale = 1 / sum(abs(v) for row in across for v in row) if normalized else 1.0
    weights = [[v * scale for v in row] for row in across]
    if not x.numel():
        return stack((x, x), 2)
    padded = pad_images("spatial_gradient", x, (3, 3), "replicate")
    turned = [list(column) for column in zip(*weights, strict=True)]
    return stack((weighted_sum(padded, weights), weighted_sum(padded, turned)), 2)


def sobel(input: Tensor, normalized: bool = True, eps: float = 1e-6) -> Tensor:
    """The length of the gradient at each pixel. [n, c, h, w] -> [n, c, h, w]

    normalized: as of spatial_gradient. eps: added to the square, so that its root has a gradient at 0. Raises
    ValueError for other shapes.
    """
    both = spatial_gradient(input, "sobel", normalized)
    return (both[:, :, 0].square() + both[:, :, 1].square() + eps).sqrt()


def laplacian(
    input: Tensor,
    kernel_size: int | Sequence[int],
    border_type: str = "reflect",
    normalized: bool = True,
) -> Tensor:
    """The sum of the window around each pixel less its number of elements times the pixel. [n, c, h, w] ->
    [n, c, h, w]

    kernel_size: odd, (height, width) or one for both. border_type: as of box_blur. normalized: divide by the
    sum of absolute weights. Raises ValueError for others.
    """
    x, (high, wide) = images_of("laplacian", input), sizes_of("laplacian", kernel_size)
    weights = [[1.0] * wide for _ in range(high)]
    weights[high // 2][wide // 2] = 1.0 - high * wide
    scale = 1 / max(2 * (high * wide - 1), 1) if normalized else 1.0
    padded = pad_images("laplacian", x, (high, wide), border_type)
    return weighted_sum(padded, [[v * scale for v in row] for row in weights]) if high * wide > 1 else x * 0


def canny(
    input: Tensor,
    low_threshold: float = 0.1,
    high_threshold: float = 0.2,
    kernel_size: int | Sequence[int] = 5,
    sigma: float | Sequence[float] = 1.0,
    hysteresis: bool = True,
    eps: float = 1e-6,
) -> tuple[Tensor, Tensor]:
    """(magnitude, edges) of Canny's detector (1986); colours become grey. [n, 1 or 3, h, w] -> two of
    [n, 1, h, w]

    low_threshold, high_threshold: of magnitudes; edges are 1 above the high one, and those between are kept
    if 8-connected to such (hysteresis), or are 0.5. kernel_size, sigma: of the blur before. eps: as of sobel.
    Raises ValueError for thresholds in another order, and other numbers of channels.
    """
    if not 0 <= low_threshold <= high_threshold:
        rule = "thresholds are 0 <= low <= high: swap them"
        raise ValueError(f"canny({low_threshold}, {high_threshold}): {rule}")
    x = images_of("canny", input)
    if x.shape[1] not in (1, 3):
        raise ValueError(f"canny({describe(input)}): images are [n, 1 or 3, h, w]: pass such a tensor")
    grey = rgb_to_grayscale(x) if x.shape[1] == 3 else x
    both = spatial_gradient(gaussian_blur2d(grey, kernel_size, sigma), normalized=False)
    across, down = both[:, :, 0], both[:, :, 1]
    length = (across.square() + down.square() + eps).sqrt()
    # multiples of 45 degrees; opposite directions look at the same two neighbours
    turn = (down.atan2(across) * (4 / pi)).round()
    turn = where(turn < 0, turn + 4, turn)
    turn = where(turn >= 4, turn - 4, turn)
    padded = length.pad((1, 1, 1, 1))
    height, width = length.shape[2:]
    is_peak = turn < 0
    for k, (y, z) in enumerate(ROUND):
        sides = [padded[:, :, 1 + s * y :, 1 + s * z :][:, :, :height, :width] for s in (1, -1)]
        is_peak = is_peak | ((turn == k) & (length > sides[0].maximum(sides[1])))
    magnitude = where(is_peak, length, 0.0)
    is_weak, is_strong = magnitude > low_threshold, magnitude > high_threshold
    if not hysteresis:
        return magnitude, 0.5 * is_weak.float() + 0.5 * is_strong.float()
    return magnitude, _reached(is_weak, is_strong).float()


def _reached(is_weak: Tensor, is_strong: Tensor) -> Tensor:
    """The weak pixels whose component has a strong one."""
    numbers = connected_components(is_weak, 8).flatten(1).long()
    has_strong = Tensor.zeros(numbers.shape[0], numbers.shape[1] + 1, device=is_weak.device)
    # components are numbered from 1: pixels that are not strong write to 0
    marked = has_strong.scatter(1, where(is_strong.flatten(1), numbers, 0), 1.0)
    return ((marked.gather(1, numbers) > 0) & (numbers > 0)).reshape(is_weak.shape)


def hough_line(image: Tensor, theta: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """(votes, angles, distances) of the lines through the pixels that are not 0 (Duda and Hart, 1972).
    [h, w] -> [r, t] int32, [t], [r]

    A line at angle a and distance d has x cos a + y sin a = d; votes count its pixels. theta: the angles in
    radians, by default 180 from -pi / 2 up. Raises ValueError for other shapes. Names and order are
    scikit-image's.
    """
    if image.ndim != 2:
        raise ValueError(f"hough_line({describe(image)}): an image is [h, w]: pass 2 dims")
    if theta is None:
        angles = tensor([-pi / 2 + k * pi / 180 for k in range(180)], device=image.device).float()
    elif theta.ndim == 1:
        angles = theta.float()
    else:
        raise ValueError(f"hough_line(theta={describe(theta)}): angles are [t]: pass 1 dim")
    height, width = image.shape
    offset = ceil(hypot(height, width))
    rows, size = 2 * offset + 1, angles.shape[0]
    y = arange(height, device=image.device).float().reshape(-1, 1, 1)
    x = arange(width, device=image.device).float().reshape(1, -1, 1)
    distance = x * angles.cos() + y * angles.sin()
    row = where(distance >= 0, (distance + 0.5).floor(), (distance - 0.5).ceil()).to(dt.int32) + offset
    cell = row * size + arange(size, device=image.device, dtype=dt.int32)
    votes = counts(where((image != 0).unsqueeze(-1), cell, -1), rows * size)
    distances = arange(rows, device=image.device).float() - offset
    return votes.reshape(rows, size), angles, distances
