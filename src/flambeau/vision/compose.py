"""Runs a list of transforms in as few passes over the pixels as possible."""

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from ..core import dtype as dt
from ..tensor import Tensor
from .items import as_batch
from .passes import run_pass
from .stages import Cast, Images, Place, SeparateStage, Tone

# Whether the images of this call came in an array: no recording or gradient needs the graph of their values,
# so a stage may compute them at once.
FROM_ARRAY: ContextVar[bool] = ContextVar("FROM_ARRAY", default=False)


class ImageTransform:
    """The base class of transforms of images [n, c, h, w], uint8 or float, with parameters for each sample.

    A call also takes one image: uint8 [h, w, c] or [h, w] in an array, as files hold it, an image of Pillow,
    or a tensor [c, h, w]; and a batch of such images, uint8 [n, h, w, c]. The result has the same form; after
    a ToTensor it is a tensor with the channels first.

    make_params(images) draws the parameters, a dict of tensors [n]; transform(images, params) applies them.
    """

    makes_tensor = False  # whether images of files become tensors

    def make_params(self, images: Any) -> Any:
        """Parameters for each sample, drawn by the generator of `manual_seed`: tensors [n]."""
        return self.draw(images if isinstance(images, Images) else Images.of(images))

    def draw(self, images: Images) -> dict[str, Any]:
        """make_params from the images' description. A transform that is not random has no parameters."""
        return {}

    def stages(self, images: Images, params: dict[str, Any]) -> list[Any]:
        """Return the stages of the transform: Place, Tone, Cast and SeparateStage."""
        raise NotImplementedError

    def transform(self, images: Any, params: Any) -> Any:
        """Transform the images with parameters of make_params. [n, c, h, w] -> [n, c, h, w]"""
        return apply([(self, params)], images)

    def __call__(self, images: Any) -> Any:
        if (item := as_batch(images, self.makes_tensor)) is not None:
            batch, restore = item
            token = FROM_ARRAY.set(not isinstance(images, Tensor))
            try:
                return restore(self.transform(batch, self.make_params(batch)))
            finally:
                FROM_ARRAY.reset(token)
        return self.transform(images, self.make_params(images))

    def __repr__(self) -> str:
        arguments = ", ".join(f"{k}={v!r}" for k, v in vars(self).items() if not k.startswith("_"))
        return f"{type(self).__name__}({arguments})"


class Compose(ImageTransform):
    """Applies transforms in order. Crops, flips and affine maps, then colours, are one pass over the pixels.

    transforms: in order. Raises TypeError for an object that is not an ImageTransform.
    """

    def __init__(self, transforms: Sequence[ImageTransform]):
        for t in transforms:
            if not isinstance(t, ImageTransform):  # pyright: ignore[reportUnnecessaryIsInstance]  # users pass others
                raise TypeError(f"Compose([...]): {t!r} is not a transform: use those of vision.transforms")
        self.transforms = list(transforms)
        self.makes_tensor = any(t.makes_tensor for t in self.transforms)

    def draw(self, images: Images) -> Any:
        """One dict of tensors [n] for each transform."""
        params: list[dict[str, Any]] = []
        for number, t in enumerate(self.transforms, 1):
            try:
                params.append(t.draw(images))
                # a later transform draws for the size that earlier ones leave
                images = after(images, t.stages(images, params[-1]))
            except (TypeError, ValueError) as e:
                raise type(e)(f"Compose: step {number}: {e}") from None
        return params

    def transform(self, images: Any, params: Any) -> Any:
        """Apply all transforms with parameters of make_params. [n, c, h, w] -> [n, c, h, w]"""
        return apply(list(zip(self.transforms, params, strict=True)), images)

    def stages(self, images: Images, params: Any) -> list[Any]:
        """Return the stages of all transforms, so that a Compose can contain another."""
        stages: list[Any] = []
        for t, p in zip(self.transforms, params, strict=True):
            more = t.stages(images, p)
            images = after(images, more)
            stages += more
        return stages


def after(images: Images, stages: list[Any]) -> Images:
    """Return the description of the images after these stages."""
    for s in stages:
        if isinstance(s, Place):
            images = images._replace(height=s.size[0], width=s.size[1])
        elif isinstance(s, Cast):
            images = images._replace(dtype=s.dtype, bound=s.bound)
        elif isinstance(s, SeparateStage):
            height, width = s.size
            images = images._replace(height=height, width=width, channels=s.channels or images.channels)
        elif s.kind == "gray" and s.constants[0] == 1:
            images = images._replace(channels=1)
    return images


class PassBuilder:
    """Collects stages, and runs them as one pass when the next stage does not fit."""

    def __init__(self, x: Any):
        self.x, self.before = x, Images.of(x)
        self.images = self.before  # the images after the collected stages
        self.places: list[Place] = []
        self.tones: list[Tone] = []

    def add(self, stage: Any) -> None:
        if isinstance(stage, Place):
            # A pass runs all geometry before all colours, and has one fill value.
            if self.tones or not self._same_fill(stage):
                self.flush()
            self.places.append(stage)
        elif isinstance(stage, Tone):
            kinds = {t.kind for t in self.tones}
            # Contrast needs the mean of each image, which one pass computes once; after gray the image
            # has one channel.
            if "gray" in kinds or (stage.kind == "contrast" and "contrast" in kinds):
                self.flush()
            self.tones.append(stage)
        elif isinstance(stage, SeparateStage):
            self.flush()
            self.x = stage.function(self.x.float())
        self.images = after(self.images, [stage])
        if isinstance(stage, SeparateStage):
            self.before = self.images

    def _same_fill(self, stage: Place) -> bool:
        return stage.fill is None or all(p.fill in (None, stage.fill) for p in self.places)

    def flush(self) -> None:
        if self.places or self.tones:
            x = self.x if self.x.dtype in (dt.uint8, dt.float32) else self.x.float()
            self.x = run_pass(x, self.before, self.places, self.tones)
        self.before, self.places, self.tones = self.images, [], []


def apply(steps: list[tuple[ImageTransform, Any]], images: Any) -> Any:
    """Apply transforms in order, each with the parameters that were drawn for it."""
    passes = PassBuilder(images)
    for t, params in steps:
        for stage in t.stages(passes.images, params):
            passes.add(stage)
    passes.flush()
    x, dtype = passes.x, passes.images.dtype
    # passes compute in float32; rounding once at the end
    if dtype is dt.uint8 and x.dtype is not dt.uint8:
        x = x.round().clamp(0, 255)
    return x if x.dtype is dtype else x.to(dtype)
