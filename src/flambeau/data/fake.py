"""Random images with classes, computed from their index without files."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from flambeau.data.dataset import Dataset, apply_if_any, check_index

if TYPE_CHECKING:
    import numpy as np  # imported where it is used: the browser has none

# SplitMix64's numbers (Steele, Lea and Flood, 2014): the step of a state, and shifts and factors that mix it
GOLDEN = 0x9E3779B97F4A7C15
ROUNDS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


class FakeData(Dataset):
    """Random images, as torchvision's: items are (uint8 [height, width, channels], number of a class).

    size: the number of items; image_size: (channels, height, width), in torchvision's order; num_classes: the
    number of classes; transform: of an image; target_transform: of a class number; random_offset: added to
    the index, which determines the item. ValueError for negative sizes, and for num_classes below 1.
    """

    def __init__(
        self,
        size: int = 1000,
        image_size: Sequence[int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        random_offset: int = 0,
    ):
        self.size, self.image_size, self.num_classes = size, tuple(image_size), num_classes
        self.transform, self.target_transform = transform, target_transform
        self.random_offset = random_offset
        if len(self.image_size) != 3 or min(size, *self.image_size) < 0 or num_classes < 1:
            arguments = f"size={size}, image_size={self.image_size}, num_classes={num_classes}"
            rule = "pass a size, (channels, height, width) of at least 0 and a number of classes"
            raise ValueError(f"FakeData({arguments}): invalid sizes: {rule}")

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        import numpy as np

        images, labels = self._draw(np.array([check_index(self, index)]))
        image, label = images[0], int(labels[0])
        return apply_if_any(self.transform, image), apply_if_any(self.target_transform, label)

    def gather(self, indices: np.ndarray) -> Any:
        """Draw all images at once if they have no transforms."""
        if self.transform is None and self.target_transform is None:
            return self._draw(indices)
        return super().gather(indices)

    def _draw(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Draw images and classes with SplitMix64 from index and position only. [n] -> [n, h, w, c], [n]"""
        import numpy as np

        channels, height, width = self.image_size
        count = channels * height * width
        first = _mix(indices.astype(np.uint64) + np.uint64(self.random_offset % 2**64))
        steps = np.arange(math.ceil(count / 8) + 1, dtype=np.uint64) * np.uint64(GOLDEN)
        # Each word depends on the index and its position only, so batches and single items agree.
        words = _mix(first[:, None] + steps)
        # word 0 is the label, the others have 8 pixels each; little-endian on every machine
        pixels = words[:, 1:].astype("<u8", copy=False).view(np.uint8)[:, :count]
        labels = (words[:, 0] % np.uint64(self.num_classes)).astype(np.int64)
        return pixels.reshape(len(indices), height, width, channels), labels


def _mix(z: np.ndarray) -> np.ndarray:
    """Apply SplitMix64's mixing function to words, in place."""
    for shift, factor in ROUNDS:
        z ^= z >> shift
        z *= factor
    z ^= z >> 31
    return z
