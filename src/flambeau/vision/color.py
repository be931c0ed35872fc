"""Colour transforms, which are pixelwise except for contrast."""

from collections.abc import Sequence
from typing import Any

from ..core import dtype as dt
from ..core.dtype import DTypeLike
from ..core.tree import is_row
from ..tensor import Tensor
from .arguments import by_channel, check_number, range_of
from .compose import ImageTransform
from .geometry import between, draw_parts, first_inside, integer_below, uniform
from .stages import Cast, Images, SeparateStage, Tone

JITTERS = ("brightness", "contrast", "saturation", "hue")


class ColorJitter(ImageTransform):
    """Change the brightness, contrast, saturation and hue of each sample, in this order.

    brightness, contrast, saturation: a number x for factors from max(0, 1 - x) to 1 + x, or (low, high); hue:
    in turns, a number up to 0.5 for both directions, or (low, high). ValueError for other numbers, and, when
    it is called, for images of other than 1 or 3 channels.
    """

    def __init__(
        self,
        brightness: float | Sequence[float] | None = None,
        contrast: float | Sequence[float] | None = None,
        saturation: float | Sequence[float] | None = None,
        hue: float | Sequence[float] | None = None,
    ):
        self.brightness, self.contrast, self.saturation, self.hue = brightness, contrast, saturation, hue
        self._ranges: dict[str, tuple[float, float]] = {}
        for name, value in zip(JITTERS, (brightness, contrast, saturation, hue), strict=True):
            if bounds := _jitter_range(name, value):
                self._ranges[name] = bounds

    def draw(self, images: Images) -> dict[str, Any]:
        # always four draws, so that leaving out a jitter does not change the others
        drawn = uniform(images, 4)
        return {
            k: between(u, *self._ranges[k]) for k, u in zip(JITTERS, drawn, strict=True) if k in self._ranges
        }

    def stages(self, images: Images, params: dict[str, Any]) -> list[Any]:
        if images.channels not in (1, 3):
            rule = "it needs 3 channels, or 1"
            raise ValueError(f"ColorJitter: the images have {images.channels} channels: {rule}")
        gray = images.channels == 1  # a single channel has neither hue nor saturation
        return [
            Tone(k, (params[k],), (images.bound,))
            for k in JITTERS
            if k in params and not (gray and k in ("saturation", "hue"))
        ]


def _jitter_range(name: str, value: Any) -> tuple[float, float] | None:
    """(low, high), or None if nothing changes."""
    # hue is a fraction of a turn around 0, the others are factors around 1
    center, low, high = (0, -0.5, 0.5) if name == "hue" else (1, 0, float("inf"))
    if value is None:
        return None
    is_pair = is_row(value)
    bounds: tuple[float, ...] = tuple(value) if is_pair else (max(center - value, low), center + value)
    if len(bounds) != 2 or not low <= bounds[0] <= bounds[1] <= high or (bounds[1] < center and not is_pair):
        span = (
            "from 0 to 0.5, or (low, high) in -0.5 to 0.5"
            if name == "hue"
            else "of at least 0, or (low, high)"
        )
        raise ValueError(f"ColorJitter({name}={value!r}): must be a number {span}")
    return None if bounds == (center, center) else (bounds[0], bounds[1])


def _repeat_gray(x: Tensor) -> Tensor:
    return x.expand(-1, 3, -1, -1)


class Grayscale(ImageTransform):
    """0.2989 red + 0.587 green + 0.114 blue (or the only channel).

    num_output_channels: 1, or 3 that are equal. ValueError for another, and, when it is called, for images of
    other than 1 or 3 channels.
    """

    def __init__(self, num_output_channels: int = 1):
        if num_output_channels not in (1, 3):
            raise ValueError(f"Grayscale(num_output_channels={num_output_channels!r}): must be 1 or 3")
        self.num_output_channels = num_output_channels

    def stages(self, images: Images, params: dict[str, Any]) -> list[Any]:
        if images.channels == 1:
            size = images.height, images.width
            return [SeparateStage(_repeat_gray, size, 3)] if self.num_output_channels == 3 else []
        if images.channels != 3:
            raise ValueError(f"Grayscale: the images have {images.channels} channels, not 3 or 1")
        # ITU-R BT.601 luma, with torchvision's digits
        return [Tone("gray", (), (float(self.num_output_channels),))]


class Normalize(ImageTransform):
    """(x - mean) / std of each channel, for float images: use ToDtype(float32, scale=True) before it.

    ValueError if std is 0, or the numbers do not match the channels; TypeError for images of uint8.
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float]):
        if 0 in std:
            raise ValueError(f"Normalize(std={std!r}): std must not be 0")
        self.mean, self.std = mean, std

    def stages(self, images: Images, params: dict[str, Any]) -> list[Any]:
        if not images.dtype.is_float:
            rule = "put ToTensor() or ToDtype(fb.float32, scale=True) before it"
            raise TypeError(f"Normalize: images of {images.dtype.name} can't hold the results: {rule}")
        mean = by_channel(self, "mean", self.mean, images.channels)
        return [Tone("normalize", (), mean + by_channel(self, "std", self.std, images.channels))]


class ToDtype(ImageTransform):
    """Cast to a dtype; with `scale` white becomes 255 in uint8 and 1.0 in floats, else values are unchanged.

    TypeError for dtypes other than uint8 and floats.
    """

    def __init__(self, dtype: DTypeLike, scale: bool = False):
        self.dtype, self.scale = dt.as_dtype(dtype), scale
        if self.dtype is not dt.uint8 and not self.dtype.is_float:
            raise TypeError(f"ToDtype({self.dtype.name}): images must be uint8 or floats: use one of these")

    def stages(self, images: Images, params: dict[str, Any]) -> list[Any]:
        # scaling comes before the cast, in float: an integer would lose the fractions
        bound = 255.0 if self.dtype is dt.uint8 else 1.0
        cast = Cast(self.dtype, bound)
        scaled = self.scale and bound != images.bound
        return [Tone("scale", (), (bound / images.bound,)), cast] if scaled else [cast]


class ToTensor(ToDtype):
    """Turn images of files (uint8 [h, w, c], or Pillow's) into tensors [c, h, w] of float32, white as 1.0.

    A tensor of uint8, such as a batch [n, c, h, w], is scaled in the same way.
    """

    makes_tensor = True

    def __init__(self):
        super().__init__(dt.float32, scale=True)

    def __repr__(self) -> str:
        return "ToTensor()"


class RandomErasing(ImageTransform):
    """Set a box of each sample to `value` with probability p; its relative area is in `scale`, its ratio in
    `ratio`.

    The first of ten draws that fits inside is used; if none fits, nothing is erased. value: a number, or one
    for each channel. ValueError if p is not in 0 to 1, or another argument is invalid.
    """

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: float | Sequence[float] = 0,
    ):
        self.p = check_number(type(self), "p", p, 0, 1)
        self.scale, self.ratio = range_of(type(self), "scale", scale), range_of(type(self), "ratio", ratio)
        if isinstance(value, str):
            raise ValueError(f"RandomErasing(value={value!r}): must be a number, or one for each channel")
        self.value = value

    def draw(self, images: Images) -> dict[str, Any]:
        area, ratio, v, u = draw_parts(images, self.scale, self.ratio)
        # here the ratio is height / width, unlike in RandomResizedCrop (torchvision's code)
        h, w = (area * ratio).sqrt().round(), (area / ratio).sqrt().round()
        fits, (h, w, v, u) = first_inside((h < images.height) & (w < images.width), h, w, v, u)
        (chance,) = uniform(images)
        erased = (fits & (chance < self.p)).float()
        top, left = integer_below(v, images.height - h + 1), integer_below(u, images.width - w + 1)
        # a box of size 0 erases nothing: no branch for each sample
        return {"top": top, "left": left, "height": h * erased, "width": w * erased}

    def stages(self, images: Images, params: dict[str, Any]) -> list[Any]:
        top, left = params["top"], params["left"]
        numbers = (top, left, top + params["height"], left + params["width"])
        return [Tone("erase", numbers, by_channel(self, "value", self.value, images.channels))]
