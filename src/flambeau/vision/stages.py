"""The stages that transforms consist of; one pass over the pixels runs geometry first, then colours."""

from typing import Any, NamedTuple

from ..core import dtype as dt


class Images(NamedTuple):
    """A description of a batch before the next transform; `bound` is the value of white."""

    n: int
    channels: int
    height: int
    width: int
    dtype: dt.DType
    bound: float
    device: Any

    @classmethod
    def of(cls, images: Any) -> "Images":
        """Describe a tensor [n, c, h, w] of uint8 or floats; TypeError and ValueError for others."""
        if not hasattr(images, "node") or images.ndim != 4:
            is_tensor = hasattr(images, "node")
            shape = f"shape {list(images.shape)}" if is_tensor else type(images).__name__
            cure = "use unsqueeze(0) for one image" if is_tensor else "wrap it in fb.tensor(...)"
            raise ValueError(f"transforms take images [n, c, h, w]: got {shape}: {cure}")
        if images.dtype is not dt.uint8 and not images.dtype.is_float:
            raise TypeError(
                f"transforms take images of uint8 or floats: got {images.dtype.name}: cast with .to(...)"
            )
        if 0 in images.shape[1:]:
            raise ValueError(f"transforms take images with pixels: got shape {list(images.shape)}")
        # torchvision's convention: floats are from 0 to 1
        white = 255.0 if images.dtype is dt.uint8 else 1.0
        n, c, h, w = images.shape
        return cls(n, c, h, w, images.dtype, white, images.device)


class Place(NamedTuple):
    """The map from a pixel (x, y) of the result to its source: (a x + b y + c, d x + e y + f).

    numbers: a to f, each a tensor [n] or a number. size: (height, width) of the result. rule: the values
    beyond the image: "fill", "edge", "reflect", "symmetric", or "box", which also clips to the region that
    the result shows. fill: by channel; None if no pixel can be beyond.
    """

    numbers: tuple[Any, ...]
    size: tuple[int, int]
    rule: str = "fill"
    fill: tuple[float, ...] | None = None
    bilinear: bool = False


class Tone(NamedTuple):
    """A function of a pixel's colours, with numbers of its sample (a tensor [n] each) and constants."""

    kind: str
    numbers: tuple[Any, ...] = ()
    constants: tuple[float, ...] = ()


class Cast(NamedTuple):
    """Change the dtype, or the value of white, from this stage on."""

    dtype: dt.DType
    bound: float


class SeparateStage(NamedTuple):
    """A step between passes: a function of float32 images [n, c, h, w], and the size and number of channels
    (0: unchanged) of its result."""

    function: Any
    size: tuple[int, int]
    channels: int = 0


# The kernel's structure, a key of compiled shaders. Numbers are WGSL text: a literal, or t0, t1, ... for the
# elements of a sample's row.


class PlaceStage(NamedTuple):
    numbers: tuple[str, ...]
    rule: str


class ToneStage(NamedTuple):
    kind: str
    numbers: tuple[str, ...]
    constants: tuple[float, ...]


class Pass(NamedTuple):
    """The structure of a pass; `before` are the stages before contrast, which needs their mean."""

    stages: tuple[PlaceStage, ...]
    bilinear: bool
    fill: tuple[float, ...]
    tones: tuple[ToneStage, ...]
    before: tuple[ToneStage, ...]
    channels: int
    out_channels: int
    numbers: int
    contrast: bool
