"""Resize and GaussianBlur: weighted sums of neighbours, computed outside of the fused pass."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..tensor import Tensor, tensor
from .arguments import interpolation_of, pair_of, range_of
from .compose import FROM_ARRAY, ImageTransform
from .geometry import between, uniform
from .stages import Images, SeparateStage

ROWS = 16  # of weights, in one matrix product on the host
BANDS = 64  # bands of weights kept, each of a few numbers an output


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

        options = self.interpolation, self.antialias
        is_host = FROM_ARRAY.get()

        def resize(x: Any) -> Any:
            if is_host:
                return tensor(resize_array(x.numpy(), size, *options), device=x.device)
            down, across = (
                tensor(weights(n, m, *options), device=x.device)
                for n, m in zip(x.shape[2:], size, strict=True)
            )
            # two matrix products, [h', h] @ [n, c, h, w] @ [w, w']: resizing is linear and separable
            return down @ x @ across.T

        return [SeparateStage(resize, size)]


def resize_array(x: Any, size: tuple[int, int], interpolation: str, antialias: bool) -> Any:
    """Resize images in an array. float32 [n, c, h, w] -> [n, c, h', w']

    Each matrix product has a few rows of weights and only the inputs that these rows use: about one in ten.
    """
    import numpy as np

    for axis, out in zip((2, 3), size, strict=True):
        n = x.shape[axis]
        inputs, _ = band(n, out, interpolation, antialias)
        matrix = weights(n, out, interpolation, antialias)
        parts: list[Any] = []
        for begin in range(0, out, ROWS):
            rows = slice(begin, begin + ROWS)
            used = slice(inputs[rows].min(), inputs[rows].max() + 1)
            part = matrix[rows, used]
            parts.append(part @ x[:, :, used] if axis == 2 else x[..., used] @ part.T)
        x = np.concatenate(parts, axis)
    return x


def weights(n: int, out: int, interpolation: str, antialias: bool) -> Any:
    """Return the weights of n inputs for each of `out` outputs. -> float32 [out, n], rows that sum to 1"""
    import numpy as np

    inputs, values = band(n, out, interpolation, antialias)
    matrix = np.zeros((out, n), "float32")
    np.add.at(matrix, (np.arange(out)[:, None], inputs), values)
    return matrix


@lru_cache(BANDS)
def band(n: int, out: int, interpolation: str, antialias: bool) -> tuple[Any, Any]:
    """Return for each output its inputs, which may repeat, and their weights. -> int, float [out, k]"""
    import numpy as np

    scale = n / out
    if interpolation == "nearest":
        inputs = np.minimum(np.arange(out) * n // out, n - 1)[:, None]
        return inputs, np.ones_like(inputs, "float32")
    # A triangle of width 2: with antialiasing it widens to cover the inputs of one output.
    reach = max(scale, 1.0) if antialias else 1.0
    centres = ((np.arange(out) + 0.5) * scale - 0.5)[:, None]
    places = np.ceil(centres - reach).astype(int) + np.arange(int(2 * reach) + 1)
    values = np.maximum(1 - np.abs(places - centres) / reach, 0.0)
    inputs = places.clip(0, n - 1)
    # Places outside are left out with antialiasing; without, they repeat the edge.
    if antialias:
        values[inputs != places] = 0.0
    return inputs, values / values.sum(1, keepdims=True)


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
