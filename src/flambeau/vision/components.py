"""Connected components and distances of binary images."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from ..core import dtype as dt
from ..core.node import describe
from ..core.op import Launch, Op
from ..functions import arange, where
from ..tensor import Tensor

if TYPE_CHECKING:
    from ..core.limits import Limits
    from ..core.node import Node

GROUP = 64  # threads of a workgroup


def connected_components(image: Tensor, connectivity: int = 4) -> Tensor:
    """The number of the component of each pixel: 1, 2, ... in the order of their first pixels, 0 outside.
    [..., h, w] -> [..., h, w] int32

    image: pixels that are not 0 belong to components. connectivity: 4, or 8 with diagonal neighbours. Images
    are numbered separately. Raises ValueError for fewer than 2 dims and another connectivity.
    """
    if image.ndim < 2 or connectivity not in (4, 8):
        rule = "images are [..., h, w], connectivity is 4 or 8: pass such values"
        raise ValueError(f"connected_components({describe(image)}, {connectivity!r}): {rule}")
    if not image.numel():
        return Tensor.zeros(*image.shape, dtype=dt.int32, device=image.device)
    is_set = (image.detach() != 0).to(dt.int32)
    size = prod(image.shape[-2:])
    lowest = COMPONENTS(is_set.reshape(-1, *image.shape[-2:]), diagonal=connectivity == 8).reshape(-1, size)
    place = arange(lowest.numel(), device=image.device, dtype=dt.int32).reshape(lowest.shape)
    # the lowest pixel of a component has its number: how many others begin before it, plus 1
    numbers = (lowest == place).to(dt.int32).cumsum(1).to(dt.int32)
    first = (lowest - place[:, :1]).clamp(0, size - 1).long()
    return where(lowest < 0, 0, numbers.gather(1, first)).reshape(image.shape)


def distance_transform(image: Tensor) -> Tensor:
    """The distance of each pixel that is not 0 to the nearest 0, in pixels; infinite if there is none.
    [..., h, w] -> [..., h, w] float32

    image: pixels that are 0 are the ends. Exact: the squared distance along columns, then the least sum with
    squares along rows (Felzenszwalb, Huttenlocher, 2012). Raises ValueError for fewer than 2 dims.
    """
    if image.ndim < 2:
        rule = "images are [..., h, w]: pass at least 2 dims"
        raise ValueError(f"distance_transform({describe(image)}): {rule}")
    if not image.numel():
        return Tensor.zeros(*image.shape, device=image.device)
    is_zero = image.detach() == 0
    height, width = image.shape[-2:]
    rows = arange(height, device=image.device).float().reshape(-1, 1)
    far = float("inf")
    above = where(is_zero, rows, -far).cummax(-2)[0]
    below = -where(is_zero, -rows, -far).flip(-2).cummax(-2)[0].flip(-2)
    down = (rows - above).minimum(below - rows).square()
    columns = arange(width, device=image.device).float()
    across = (columns.reshape(-1, 1) - columns).square()  # [w, w]
    return (down.unsqueeze(-2) + across).amin(-1).sqrt()


def _reference(xp: Any, image: Any, *, diagonal: bool) -> Any:
    """The lowest pixel of each component: the lowest of neighbours, until nothing changes."""
    n, height, width = image.shape
    far = 2**31 - 1
    label = xp.where(image != 0, xp.arange(image.size, dtype="int32").reshape(image.shape), far)
    steps = [(0, 1), (1, 0), *([(1, 1), (1, -1)] if diagonal else [])]
    while True:
        padded = xp.full((n, height + 2, width + 2), far, dtype="int64")
        padded[:, 1:-1, 1:-1] = label
        new = label
        for dy, dx in steps:
            for s in (1, -1):
                y, x = 1 + s * dy, 1 + s * dx
                new = xp.minimum(new, padded[:, y : y + height, x : x + width])
        new = xp.where(image != 0, new, far)
        if (new == label).all():
            return xp.where(image != 0, label, -1).astype("int32").reshape(-1)
        label = new


def _launches(limits: Limits, image: Node, *, diagonal: bool) -> list[Launch]:
    size = prod(image.shape)
    height, width = image.shape[1:]
    return [
        Launch(
            "vision/components.wgsl",
            (0,),
            -(-size // GROUP),
            {"size": size, "height": height, "width": width} if step == "join" else {"size": size},
            {"step": step, "diagonal": diagonal, "atomics": True},
        )
        for step in ("begin", "join", "flatten")
    ]


def _shape_of(image: Any, **_: Any) -> tuple[int, ...]:
    return (prod(image),)


COMPONENTS = Op(
    "opaque",
    name="image_components",
    xp=_reference,
    shape=_shape_of,
    dtype=lambda *_, **__: dt.int32,
    launch=_launches,
    doc="The lowest pixel of each pixel's component, -1 outside. [n, h, w] -> [n * h * w]",
)
