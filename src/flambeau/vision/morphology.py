"""Morphology under kornia's names: extremes over a structuring element."""

from __future__ import annotations

from ..core.node import describe
from ..functions import maximum, minimum, where
from ..tensor import Tensor
from .windows import images_of, shifts_of


def dilation(tensor: Tensor, kernel: Tensor) -> Tensor:
    """The largest value under the structuring element around each pixel. [n, c, h, w] -> [n, c, h, w]

    kernel: [kh, kw]; elements that are not 0 belong to it, and its center is at (kh // 2, kw // 2). Pixels
    outside of the image do not count. Raises ValueError if kernel is not a matrix.
    """
    return _extreme("dilation", tensor, kernel, largest=True)


def erosion(tensor: Tensor, kernel: Tensor) -> Tensor:
    """The smallest value under the structuring element around each pixel. [n, c, h, w] -> [n, c, h, w]

    kernel: as of dilation. Raises ValueError if it is not a matrix.
    """
    return _extreme("erosion", tensor, kernel, largest=False)


def opening(tensor: Tensor, kernel: Tensor) -> Tensor:
    """Erosion, then dilation: removes small bright parts. [n, c, h, w] -> [n, c, h, w]

    kernel: as of dilation. Raises ValueError if it is not a matrix.
    """
    return dilation(erosion(tensor, kernel), kernel)


def closing(tensor: Tensor, kernel: Tensor) -> Tensor:
    """Dilation, then erosion: fills small dark parts. [n, c, h, w] -> [n, c, h, w]

    kernel: as of dilation. Raises ValueError if it is not a matrix.
    """
    return erosion(dilation(tensor, kernel), kernel)


def gradient(tensor: Tensor, kernel: Tensor) -> Tensor:
    """Dilation less erosion: the outlines. [n, c, h, w] -> [n, c, h, w]

    kernel: as of dilation. Raises ValueError if it is not a matrix.
    """
    return dilation(tensor, kernel) - erosion(tensor, kernel)


def top_hat(tensor: Tensor, kernel: Tensor) -> Tensor:
    """The image less its opening: small bright parts. [n, c, h, w] -> [n, c, h, w]

    kernel: as of dilation. Raises ValueError if it is not a matrix.
    """
    return tensor - opening(tensor, kernel)


def bottom_hat(tensor: Tensor, kernel: Tensor) -> Tensor:
    """The closing less the image: small dark parts. [n, c, h, w] -> [n, c, h, w]

    kernel: as of dilation. Raises ValueError if it is not a matrix.
    """
    return closing(tensor, kernel) - tensor


def _extreme(name: str, tensor: Tensor, kernel: Tensor, *, largest: bool) -> Tensor:
    x = images_of(name, tensor)
    if kernel.ndim != 2 or not kernel.numel():
        raise ValueError(f"{name}(kernel={describe(kernel)}): it is a matrix [kh, kw]: pass 2 dims")
    if not x.numel():
        return x
    none = float("-inf") if largest else float("inf")
    size = kernel.shape[0], kernel.shape[1]
    high, wide = size
    # a dilation looks in the directions opposite to the element's, so that opening and closing are such
    element = kernel if not largest else kernel.flip((0, 1))
    center = (high // 2, wide // 2) if not largest else ((high - 1) // 2, (wide - 1) // 2)
    padded = x.pad((center[1], wide - 1 - center[1], center[0], high - 1 - center[0]), "constant", none)
    join = maximum if largest else minimum
    result: Tensor | None = None
    for i, j, part in shifts_of(padded, size):
        value = where(element[i, j] != 0, part, none)
        result = value if result is None else join(result, value)
    assert result is not None
    return result
