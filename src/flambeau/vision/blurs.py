"""Smoothing filters under kornia's names: means, Gaussians, medians, bilateral weights."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

from ..functions import stack
from ..tensor import Tensor
from .windows import images_of, pad_images, shifts_of, sizes_of, weighted_sum


def box_blur(input: Tensor, kernel_size: int | Sequence[int], border_type: str = "reflect") -> Tensor:
    """The mean of the window around each pixel. [n, c, h, w] -> [n, c, h, w]

    kernel_size: odd, (height, width) or one for both. border_type: "reflect", "replicate", "circular" or
    "constant" (0). Raises ValueError for others, and for images that are too small to reflect.
    """
    x, (high, wide) = images_of("box_blur", input), sizes_of("box_blur", kernel_size)
    padded = pad_images("box_blur", x, (high, wide), border_type)
    return _separable(padded, [1 / high] * high, [1 / wide] * wide)


def gaussian_blur2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    sigma: float | Sequence[float],
    border_type: str = "reflect",
) -> Tensor:
    """The weighted mean of the window around each pixel by a Gaussian. [n, c, h, w] -> [n, c, h, w]

    kernel_size: odd, (height, width) or one for both. sigma: in pixels, (y, x) or one for both. border_type:
    as of box_blur. Raises ValueError for others, and for images that are too small to reflect.
    """
    x, size = images_of("gaussian_blur2d", input), sizes_of("gaussian_blur2d", kernel_size)
    down, across = gaussian_weights(size, sigma)
    return _separable(pad_images("gaussian_blur2d", x, size, border_type), down, across)


def median_blur(input: Tensor, kernel_size: int | Sequence[int], border_type: str = "reflect") -> Tensor:
    """The median of the window around each pixel; NaN of a window with NaN. [n, c, h, w] -> [n, c, h, w]

    kernel_size: odd, (height, width) or one for both. border_type: as of box_blur. Raises ValueError for
    others, and for images that are too small to reflect.
    """
    x, size = images_of("median_blur", input), sizes_of("median_blur", kernel_size)
    padded = pad_images("median_blur", x, size, border_type)
    if not x.numel():
        return x
    return stack([part for _, _, part in shifts_of(padded, size)], -1).median(-1)[0]


def bilateral_blur(
    input: Tensor,
    kernel_size: int | Sequence[int],
    sigma_color: float,
    sigma_space: float | Sequence[float],
    border_type: str = "reflect",
    color_distance_type: str = "l1",
) -> Tensor:
    """The mean of the window around each pixel, by weights of distance and of likeness of colours (Tomasi
    and Manduchi, 1998). [n, c, h, w] -> [n, c, h, w]

    kernel_size: odd, (height, width) or one for both. sigma_color: of differences of values. sigma_space: in
    pixels, (y, x) or one for both. border_type: as of box_blur. color_distance_type: "l1", the sum of
    absolute differences over channels, or "l2". Raises ValueError for others.
    """
    name = "bilateral_blur"
    if color_distance_type not in ("l1", "l2"):
        rule = "distances are l1, l2: pass one"
        raise ValueError(f"{name}(color_distance_type={color_distance_type!r}): {rule}")
    x, size = images_of(name, input), sizes_of(name, kernel_size)
    down, across = gaussian_weights(size, sigma_space)
    total, weights = x * 0, x[:, :1] * 0
    for i, j, part in shifts_of(pad_images(name, x, size, border_type), size):
        apart = part - x
        if color_distance_type == "l1":
            squared = apart.abs().sum(1, keepdim=True).square()
        else:
            squared = apart.square().sum(1, keepdim=True)
        weight = (squared * (-0.5 / sigma_color**2)).exp() * (down[i] * across[j])
        total, weights = total + part * weight, weights + weight
    return total / weights


def unsharp_mask(
    input: Tensor,
    kernel_size: int | Sequence[int],
    sigma: float | Sequence[float],
    border_type: str = "reflect",
) -> Tensor:
    """The image plus its difference from its blur: sharper edges. [n, c, h, w] -> [n, c, h, w]

    kernel_size, sigma, border_type: as of gaussian_blur2d. Raises ValueError for others.
    """
    x = images_of("unsharp_mask", input)
    return x + (x - gaussian_blur2d(x, kernel_size, sigma, border_type))


def gaussian_weights(
    size: tuple[int, int], sigma: float | Sequence[float]
) -> tuple[list[float], list[float]]:
    """The weights of a Gaussian along rows and columns, each with the sum 1."""
    sigmas = (sigma, sigma) if isinstance(sigma, int | float) else tuple(sigma)
    lines: list[list[float]] = []
    for k, s in zip(size, sigmas, strict=True):
        line = [exp(-0.5 * ((i - k // 2) / s) ** 2) for i in range(k)]
        lines.append([v / sum(line) for v in line])
    return lines[0], lines[1]


def _separable(padded: Tensor, down: list[float], across: list[float]) -> Tensor:
    return weighted_sum(weighted_sum(padded, [across]), [[w] for w in down])
