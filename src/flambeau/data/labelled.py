"""Datasets of images with several classes, masks or COCO's boxes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flambeau.data.dataset import Dataset, apply_if_any, check_index
from flambeau.data.files import import_package
from flambeau.data.folders import IMAGES, files_below, read_image

if TYPE_CHECKING:
    import numpy as np  # imported where it is used: the browser has none


class MultiLabelImages(Dataset):
    """Images with several classes each: items are (image, float32 [classes], 1 for each class of the image).

    samples: pairs of an image's path and the names of its classes; classes: all names in order, None for
    those of the samples; transform: of an image, uint8 [height, width, 3]. ValueError without
    samples, and for a name that is not a class.
    """

    def __init__(
        self,
        samples: Iterable[tuple[str | os.PathLike[str], Iterable[str]]],
        classes: Sequence[str] | None = None,
        transform: Callable[[Any], Any] | None = None,
    ):
        samples_read = [(Path(path), _as_set(names, i)) for i, (path, names) in enumerate(samples)]
        self.classes = (
            sorted(set[str]().union(*(s for _, s in samples_read))) if classes is None else list(classes)
        )
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        if not samples_read:
            raise ValueError("MultiLabelImages([]): the list is empty: pass pairs of a path and names")
        for i, (_, names) in enumerate(samples_read):
            if unknown := names - self.class_to_idx.keys():
                rule = f"{min(unknown)!r} is not in classes: add it"
                raise ValueError(f"MultiLabelImages(sample {i}): {rule}")
        self.samples = [(path, sorted(self.class_to_idx[n] for n in names)) for path, names in samples_read]
        self.transform = transform

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Any, np.ndarray]:
        import numpy as np

        path, labels = self.samples[check_index(self, index)]
        hot = np.zeros(len(self.classes), np.float32)
        hot[labels] = 1
        return apply_if_any(self.transform, read_image(path)), hot


def _as_set(names: Iterable[str], i: int) -> set[str]:
    if isinstance(names, str):  # a string would be split into characters
        raise ValueError(f"MultiLabelImages(sample {i}): {names!r} is a single name: pass a list of names")
    return set(names)


class SegmentationFolder(Dataset):
    """Images and masks from two folders: items are (image, mask [height, width] of class numbers).

    images, masks: the folders; a mask has the relative path of its image, with any extension; transform: of
    an image, uint8 [height, width, 3]; target_transform: of a mask. To transform both together, use `Mapped`.
    ValueError without images, if an image does not have exactly one mask, or if a mask has another
    size or colours.
    """

    def __init__(
        self,
        images: str | os.PathLike[str],
        masks: str | os.PathLike[str],
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ):
        self.images, self.masks = Path(images), Path(masks)
        self.transform, self.target_transform = transform, target_transform
        call = f"SegmentationFolder('{images}', '{masks}')"
        by_name: dict[Path, list[Path]] = {}
        for path in files_below(self.masks, IMAGES):
            by_name.setdefault(path.relative_to(self.masks).with_suffix(""), []).append(path)
        self.samples: list[tuple[Path, Path]] = []
        for image in files_below(self.images, IMAGES):
            name = image.relative_to(self.images)
            mask = by_name.get(name.with_suffix(""), [])
            if len(mask) != 1:
                rule = "there must be one mask of the same name for each image"
                raise ValueError(f"{call}: '{name}' has {len(mask) or 'no'} mask{'s' * bool(mask)}: {rule}")
            self.samples.append((image, mask[0]))
        if not self.samples:
            raise ValueError(f"{call}: the first folder contains no images: pass one that does")

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, mask_path = self.samples[check_index(self, index)]
        image, mask = read_image(path), read_mask(mask_path)
        if image.shape[:2] != mask.shape:
            sizes = f"its mask is {list(mask.shape)}, the image {list(image.shape[:2])}"
            raise ValueError(f"SegmentationFolder('{path}'): {sizes}: make them equal")
        return apply_if_any(self.transform, image), apply_if_any(self.target_transform, mask)


def read_mask(path: str | os.PathLike[str]) -> np.ndarray:
    """Read a mask (`path`) with Pillow: the number of each pixel, uint8 [height, width].

    It is the grey value (uint16 for 16 bits) or the palette index. FlambeauError without Pillow,
    ValueError for an image in colours.
    """
    import numpy as np

    image = import_package("PIL.Image", f"read_mask('{path}')", "pillow")
    with image.open(path) as opened:
        mask = np.array(opened)
        mode = opened.mode
    if mask.ndim != 2:
        rule = "a mask has one channel: pass a grayscale or palette image"
        raise ValueError(f"read_mask('{path}'): its mode is {mode}: {rule}")
    # Pillow's mode "1" gives bools; modes L and P give uint8, I;16 uint16
    return mask.astype(np.uint8) if mask.dtype == bool else mask


class CocoDetection(Dataset):
    """Images with COCO's annotations, as torchvision's: items are (image, list of an image's annotations).

    root: the folder of the images; annFile: the .json with `images`, `annotations` (dicts, of which `bbox` is
    [x, y, width, height] in pixels) and `categories`; transform: of an image, uint8 [height, width, 3];
    target_transform: of the list, which is empty for an image without annotations. ValueError for a file
    of another form.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        annFile: str | os.PathLike[str],
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ):
        self.root, self.transform, self.target_transform = Path(root), transform, target_transform
        try:
            content = json.loads(Path(annFile).read_text("utf-8"))
            files = {image["id"]: image["file_name"] for image in content["images"]}
            self.categories = {category["id"]: category["name"] for category in content.get("categories", ())}
            self.ids = sorted(files)
            by_image: dict[Any, list[dict[str, Any]]] = {key: [] for key in files}
            for annotation in content["annotations"]:
                # an annotation of an image that the file does not list is ignored
                by_image.setdefault(annotation["image_id"], []).append(annotation)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            reason = f"no {error}" if isinstance(error, KeyError) else str(error)
            rule = "pass a COCO .json file with images and annotations"
            raise ValueError(f"CocoDetection('{annFile}'): {reason}: {rule}") from None
        self.samples = [(self.root / files[key], by_image[key]) for key in self.ids]

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, annotations = self.samples[check_index(self, index)]
        image = apply_if_any(self.transform, read_image(path))
        # copies: a transform may change them in place, and an item is read again in the next epoch
        return image, apply_if_any(self.target_transform, [dict(a) for a in annotations])
