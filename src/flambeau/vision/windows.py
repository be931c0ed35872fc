"""What image operators over windows of neighbours share: checks, borders, shifts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..core.node import describe
from ..tensor import Tensor

BORDERS = ("reflect", "replicate", "circular", "constant")


def images_of(name: str, input: Tensor, channels: int | None = None) -> Tensor:
    """Images of floats [n, c, h, w], perhaps of a number of channels."""
    if channels is None:
        fits, kind = input.ndim == 4, "[n, c, h, w]"
    else:
        fits, kind = input.ndim >= 3 and input.shape[-3] == channels, f"[..., {channels}, h, w]"
    if not fits:
        raise ValueError(f"{name}({describe(input)}): images are {kind}: pass such a tensor")
    return input if input.dtype.is_float else input.float()


def sizes_of(name: str, kernel_size: int | Sequence[int]) -> tuple[int, int]:
    """(height, width) of a window, both odd."""
    sizes = (kernel_size, kernel_size) if isinstance(kernel_size, int) else tuple(kernel_size)
    if len(sizes) != 2 or any(k < 1 or k % 2 == 0 for k in sizes):
        raise ValueError(f"{name}(kernel_size={kernel_size!r}): must be one or two odd numbers")
    return sizes[0], sizes[1]


def pad_images(name: str, x: Tensor, size: tuple[int, int], border: str, value: float = 0.0) -> Tensor:
    """Images with half a window more on each side.

    border: how pixels outside are made: "reflect", "replicate", "circular" or "constant".
    """
    if border not in BORDERS:
        options = ", ".join(BORDERS)
        raise ValueError(f"{name}(border_type={border!r}): borders are {options}: pass one")
    high, wide = size[0] // 2, size[1] // 2
    if border == "reflect":
        for side, half, n in (("height", high, x.shape[2]), ("width", wide, x.shape[3])):
            if half >= n > 0:
                rule = f"reflects {half} pixels of a {side} of {n}: use a smaller window"
                raise ValueError(f"{name}(kernel_size={size}): {rule}")
    if not x.numel():
        n, c, height, width = x.shape
        return Tensor.zeros(n, c, height + 2 * high, width + 2 * wide, dtype=x.dtype, device=x.device)
    if high == 0 and wide == 0:
        return x
    sides = (wide, wide, high, high)
    return x.pad(sides, "constant", value) if border == "constant" else x.pad(sides, border)


def shifts_of(padded: Tensor, size: tuple[int, int]) -> Iterator[tuple[int, int, Tensor]]:
    """(i, j, image) for each place of a window: what of padded images lies under it."""
    height, width = padded.shape[2] - size[0] + 1, padded.shape[3] - size[1] + 1
    for i in range(size[0]):
        for j in range(size[1]):
            yield i, j, padded.narrow(2, i, height).narrow(3, j, width)


def weighted_sum(padded: Tensor, weights: Sequence[Sequence[float]]) -> Tensor:
    """The sum of each window times weights; zeros are skipped. [n, c, h + k - 1, ...] -> [n, c, h, ...]"""
    size = len(weights), len(weights[0])
    total: Tensor | None = None
    for i, j, part in shifts_of(padded, size):
        if weights[i][j]:
            term = part * weights[i][j]
            total = term if total is None else total + term
    assert total is not None
    return total
