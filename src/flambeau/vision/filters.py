"""Resize and GaussianBlur: weighted sums of neighbours, computed outside of the fused pass."""

from collections.abc import Sequence
from math import ceil, floor
from typing import Any

from ..tensor import Tensor, tensor
from .arguments import interpolation_of, pair_of, range_of
from .compose import ImageTransform
from .geometry import between, uniform
from .stages import Images, SeparateStage


class Resize(ImageTransform):
    """Resize images to (height, width), or the shorter side to an integer.

    interpolation: bilinear, with antialias smoothed when it shrinks, or nearest. max_size: the largest longer
    side. ValueError for invalid sizes, and for max_size together with both sizes.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        interpolation: str = "bilinear",
        max_size: int | None = None,
        antialias: bool = True,
    ):
        pair_of(type(self), "size", size)
        if max_size is not None and (isinstance(size, Sequence) and len(size) == 2):
            raise ValueError(
                "Resize(max_size=...): it needs a single size, that of the shorter side: leave it out"
            )
        self.size, self.max_size, self.antialias = size, max_size, antialias
        self.interpolation = interpolation_of(type(self), interpolation)

    def _size_for(self, images: Images) -> tuple[int, int]:
        sizes = tuple(self.size) if isinstance(self.size, Sequence) else (self.size,)
        if len(sizes) == 2:
            return sizes[0], sizes[1]
        short, long = sorted((images.height, images.width))
        # truncated, as in torchvision
        new_short, new_long = sizes[0], int(sizes[0] * long / short)
        if self.max_size is not None and new_long > self.max_size:
            new_short, new_long = int(self.max_size * new_short / new_long), self.max_size
        return (new_short, new_long) if images.height <= images.width else (new_long, new_short)

    def stages(self, images: Images, params: dict[str, Any]) -> list[Any]:
        size = self._size_for(images)
        if size == (images.height, images.width):
            return []

        def resize(x: Any) -> Any:
            down, across = (
                tensor(self._weights(n, m), device=x.device) for n, m in zip(x.shape[2:], size, strict=True)
            )
            # two matrix products, [h', h] @ [n, c, h, w] @ [w, w']: resizing is linear and separable
            return down @ x @ across.T

        return [SeparateStage(resize, size)]

    def _weights(self, n: int, out: int) -> list[list[float]]:
        """Return the weights of n inputs for each of `out` outputs, in rows that sum to 1."""
        if self.interpolation == "nearest":
            return [_row(n, {min(i * n // out, n - 1): 1.0}) for i in range(out)]
        # A triangle of width 2: with antialiasing it widens to cover the inputs of one output.
        scale = n / out
        reach = max(scale, 1.0) if self.antialias else 1.0
        return [_row(n, _tent(n, (i + 0.5) * scale - 0.5, reach, self.antialias)) for i in range(out)]


def _tent(n: int, at: float, reach: float, leaves_out: bool) -> dict[int, float]:
    """Return the triangle-shaped weights around a position; elements outside are left out, or repeat the
    edge."""
    weights: dict[int, float] = {}
    for k in range(ceil(at - reach), floor(at + reach) + 1):
        inside = min(max(k, 0), n - 1)
        if inside == k or not leaves_out:
            weights[inside] = weights.get(inside, 0.0) + max(1 - abs(k - at) / reach, 0.0)
    return weights


def _row(n: int, weights: dict[int, float]) -> list[float]:
    total = sum(weights.values())
    return [weights.get(k, 0.0) / total for k in range(n)]


class GaussianBlur(ImageTransform):
    """Blur each sample by a Gaussian with its own sigma in (low, high), or one sigma for all, in pixels.

    kernel_size: odd numbers, (height, width) or one for both; edges are reflected. ValueError for others, and
    at the call for images too small to reflect.
    """

    def __init__(self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)):
        self.kernel_size = pair_of(type(self), "kernel_size", kernel_size)
        if any(k % 2 == 0 for k in self.kernel_size):
            raise ValueError(f"GaussianBlur(kernel_size={kernel_size!r}): must be one or two odd numbers")
        self.sigma = range_of(type(self), "sigma", sigma if isinstance(sigma, Sequence) else (sigma, sigma))

    def draw(self, images: Images) -> dict[str, Any]:
        (u,) = uniform(images)
        return {"sigma": between(u, *self.sigma)}

    def stages(self, images: Images, params: dict[str, Any]) -> list[Any]:
        high, wide = self.kernel_size
        for name, k, n in (("height", high, images.height), ("width", wide, images.width)):
            if k // 2 >= n:
                rule = f"reflects {k // 2} pixels of a {name} of {n}: use a smaller one"
                raise ValueError(f"GaussianBlur: kernel_size {self.kernel_size} {rule}")

        def blur(x: Any) -> Any:
            return _smooth(_smooth(x, params["sigma"], wide, 3), params["sigma"], high, 2)

        return [SeparateStage(blur, (images.height, images.width))]


def _smooth(x: Any, sigma: Any, size: int, dim: int) -> Any:
    """Return the weighted sum of shifts along a dim. [n, c, h, w], [n] -> [n, c, h, w]"""
    if size == 1:
        return x
    half, n = size // 2, x.shape[dim]
    steps = Tensor.arange(size, device=x.device).float() - half
    # [n, size]: each sample has its own sigma, so conv2d with one kernel does not apply
    weights = (-0.5 * (steps / sigma.reshape(-1, 1)).square()).exp()
    weights = weights / weights.sum(1, keepdim=True)
    sides = (half, half, 0, 0) if dim == 3 else (0, 0, half, half)
    padded = x.pad(sides, "reflect")
    y: Any = 0.0
    for k in range(size):
        y = y + padded.narrow(dim, k, n) * weights[:, k].reshape(-1, 1, 1, 1)
    return y
