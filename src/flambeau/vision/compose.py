"""A list of transforms becomes as few passes over the pixels as there can be."""

from collections.abc import Sequence
from typing import Any

from ..core import dtype as dt
from .passes import run_pass
from .stages import Cast, Images, Place, Tone, Whole


class ImageTransform:
    """Images [n, c, h, w], uint8 or float, into others; each sample by random numbers of its own.

    make_params(images) draws them: a dict of tensors [n]; transform(images, params) applies them.
    """

    def make_params(self, images: Any) -> Any:
        """The numbers of each sample, drawn by `manual_seed`'s generator: tensors [n]."""
        return self.draw(images if isinstance(images, Images) else Images.of(images))

    def draw(self, images: Images) -> dict[str, Any]:
        """make_params by what is known of the images; none of a transform that is not random."""
        return {}

    def stages(self, images: Images, params: dict[str, Any]) -> list[Any]:
        """What becomes of the images: places, tones, casts, steps of their own."""
        raise NotImplementedError

    def transform(self, images: Any, params: Any) -> Any:
        """The images, changed by numbers of make_params. [n, c, h, w] -> [n, c, h, w]"""
        return apply([(self, params)], images)

    def __call__(self, images: Any) -> Any:
        return self.transform(images, self.make_params(images))

    def __repr__(self) -> str:
        given = ", ".join(f"{k}={v!r}" for k, v in vars(self).items() if not k.startswith("_"))
        return f"{type(self).__name__}({given})"


class Compose(ImageTransform):
    """Transforms one after the other: places (crop, flip, affine) and then colours are one pass over pixels.

    transforms: in order. TypeError for what is no transform.
    """

    def __init__(self, transforms: Sequence[ImageTransform]):
        for t in transforms:
            if not isinstance(t, ImageTransform):
                raise TypeError(f"Compose([...]): {t!r} is no transform: use those of vision.transforms")
        self.transforms = list(transforms)

    def draw(self, images: Images) -> Any:
        """One dict of tensors [n] for each transform."""
        drawn = []
        for t in self.transforms:
            drawn.append(t.draw(images))
            images = after(images, t.stages(images, drawn[-1]))
        return drawn

    def transform(self, images: Any, params: Any) -> Any:
        """The images through all transforms, by the numbers of make_params. [n, c, h, w] -> [n, c, h, w]"""
        return apply(list(zip(self.transforms, params, strict=True)), images)

    def stages(self, images: Images, params: Any) -> list[Any]:
        """The stages of all, so that one Compose may stand in another."""
        found: list[Any] = []
        for t, p in zip(self.transforms, params, strict=True):
            more = t.stages(images, p)
            images = after(images, more)
            found += more
        return found


def after(images: Images, stages: list[Any]) -> Images:
    """What is known of images that went through stages."""
    for s in stages:
        if isinstance(s, Place):
            images = images._replace(height=s.size[0], width=s.size[1])
        elif isinstance(s, Cast):
            images = images._replace(dtype=s.dtype, bound=s.bound)
        elif isinstance(s, Whole):
            height, width = s.size
            images = images._replace(height=height, width=width, channels=s.channels or images.channels)
        elif s.kind == "gray" and s.constants[0] == 1:
            images = images._replace(channels=1)
    return images


class _Passes:
    """Stages gathered until one does not fit behind them."""

    def __init__(self, x: Any):
        self.x, self.begun = x, Images.of(x)
        self.images = self.begun  # behind what is gathered
        self.places: list[Place] = []
        self.tones: list[Tone] = []

    def add(self, stage: Any) -> None:
        if isinstance(stage, Place):
            if self.tones or not self._same_fill(stage):
                self.flush()
            self.places.append(stage)
        elif isinstance(stage, Tone):
            kinds = {t.kind for t in self.tones}
            if "gray" in kinds or (stage.kind == "contrast" and "contrast" in kinds):
                self.flush()
            self.tones.append(stage)
        elif isinstance(stage, Whole):
            self.flush()
            self.x = stage.function(self.x.float())
        self.images = after(self.images, [stage])
        if isinstance(stage, Whole):
            self.begun = self.images

    def _same_fill(self, stage: Place) -> bool:
        return stage.fill is None or all(p.fill in (None, stage.fill) for p in self.places)

    def flush(self) -> None:
        if self.places or self.tones:
            x = self.x if self.x.dtype in (dt.uint8, dt.float32) else self.x.float()
            self.x = run_pass(x, self.begun, self.places, self.tones)
        self.begun, self.places, self.tones = self.images, [], []


def apply(given: list[tuple[ImageTransform, Any]], images: Any) -> Any:
    """Images through transforms, by the numbers that were drawn for each."""
    passes = _Passes(images)
    for t, params in given:
        for stage in t.stages(passes.images, params):
            passes.add(stage)
    passes.flush()
    x, dtype = passes.x, passes.images.dtype
    if dtype is dt.uint8 and x.dtype is not dt.uint8:
        x = x.round().clamp(0, 255)
    return x if x.dtype is dtype else x.to(dtype)
