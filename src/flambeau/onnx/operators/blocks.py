"""Elements moved between channels and space, and cut or padded: DepthToSpace, SpaceToDepth, CenterCropPad."""

from ...tensor import Tensor
from .table import operator
from .window import pad_ends


def _size_of(blocksize: int) -> int:
    if blocksize < 1:
        raise ValueError(f"blocksize {blocksize}: takes a number above 0")
    return blocksize


def _order(mode: str) -> str:
    if mode not in ("DCR", "CRD"):
        raise ValueError(f"mode {mode!r} is unknown: use DCR or CRD")
    return mode


@operator("DepthToSpace")
def depth_to_space(x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    """[n, c * b * b, h, w] -> [n, c, h * b, w * b]"""
    b, (n, c, h, w) = _size_of(blocksize), x.shape
    if c % (b * b):
        raise ValueError(f"{c} channels are no multiple of {b} * {b}")
    if _order(mode) == "DCR":
        y = x.reshape(n, b, b, c // (b * b), h, w).permute(0, 3, 4, 1, 5, 2)
    else:
        y = x.reshape(n, c // (b * b), b, b, h, w).permute(0, 1, 4, 2, 5, 3)
    return y.reshape(n, c // (b * b), h * b, w * b)


@operator("SpaceToDepth")
def space_to_depth(x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    """[n, c, h * b, w * b] -> [n, c * b * b, h, w]"""
    b, (n, c, h, w) = _size_of(blocksize), x.shape
    if h % b or w % b:
        raise ValueError(f"an image of {h} x {w} has no whole blocks of {b} x {b}")
    y = x.reshape(n, c, h // b, b, w // b, b)
    y = y.permute(0, 3, 5, 1, 2, 4) if _order(mode) == "DCR" else y.permute(0, 1, 3, 5, 2, 4)
    return y.reshape(n, c * b * b, h // b, w // b)


@operator("CenterCropPad", since=18, numbers="shape")
def center_crop_pad(x: Tensor, shape: list[int], *, axes: tuple[int, ...] | None = None) -> Tensor:
    """Cut, or padded with zeros, on both sides; an odd one is at the end."""
    dims = [d % x.ndim for d in (range(x.ndim) if axes is None else axes)]
    if len(dims) != len(shape):
        raise ValueError(f"shape {shape} is for {len(shape)} axes, not for {len(dims)}")
    ends = [(0, 0)] * x.ndim
    for d, wanted in zip(dims, shape, strict=True):
        n = x.shape[d]
        before = (wanted - n) // 2 if wanted >= n else -((n - wanted) // 2)
        ends[d] = (before, wanted - n - before)
    return pad_ends(x, ends)
