"""Images as files hold them: arrays [height, width, c], Pillow's images, batches [n, height, width, c]."""

import sys
from collections.abc import Callable
from typing import Any

from ..core import dtype as dt
from ..functions import tensor
from ..tensor import Tensor

Restore = Callable[[Any], Any]  # turns a batch of one, the result, into the form of the image


def as_batch(image: Any, is_tensor: bool) -> tuple[Any, Restore] | None:
    """Return one image, or a batch of images as files hold them, as a batch [n, c, h, w], and the function
    for its result; None for other objects.

    Images in arrays are computed by NumPy's device. is_tensor: the result is a tensor with channels first.
    """
    if isinstance(image, Tensor):
        if image.ndim == 4 and _is_channels_last(image):
            return image.permute(0, 3, 1, 2), _return_unchanged if is_tensor else _as_channels_last
        return (image.unsqueeze(0), _first_item) if image.ndim == 3 else None
    pillow = sys.modules.get("PIL.Image")
    is_pillow = pillow is not None and isinstance(image, pillow.Image)
    pixels = _array(image) if is_pillow else image
    if getattr(pixels, "dtype", None) != "uint8" or getattr(pixels, "ndim", 0) not in (2, 3):
        return None
    planes = pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
    batch = tensor(planes[None].copy(), dtype=dt.uint8, device="cpu")
    return batch, _first_item if is_tensor else _as_image if is_pillow else _as_pixels


def _is_channels_last(images: Any) -> bool:
    """Whether a batch is [n, h, w, c] of uint8, as a loader stacks the images of files."""
    channels = (1, 3, 4)
    return images.dtype is dt.uint8 and images.shape[3] in channels and images.shape[1] not in channels


def _return_unchanged(batch: Any) -> Any:
    return batch


def _as_channels_last(batch: Any) -> Any:
    return batch.permute(0, 2, 3, 1)


def _array(image: Any) -> Any:
    import numpy as np

    return np.asarray(image if image.mode in ("L", "RGB", "RGBA") else image.convert("RGB"))


def _first_item(batch: Any) -> Any:
    return batch[0]


def _as_pixels(batch: Any) -> Any:
    pixels = batch.numpy()[0].transpose(1, 2, 0)
    return pixels[:, :, 0] if pixels.shape[2] == 1 else pixels


def _as_image(batch: Any) -> Any:
    return sys.modules["PIL.Image"].fromarray(_as_pixels(batch))
