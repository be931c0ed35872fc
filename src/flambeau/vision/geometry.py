"""Transforms that move pixels: crops, flips, rotations, affine maps."""

from collections.abc import Sequence
from math import log, pi
from typing import Any

from ..functions import rand
from ..tensor import Tensor
from .arguments import check_number, fill_of, interpolation_of, numbers_of, pair_of, range_of, symmetric
from .compose import ImageTransform
from .stages import Images, Place

TRIES = 10  # draws of a crop that may not fit; the first one that fits is used, as in torchvision
PADDINGS = ("constant", "edge", "reflect", "symmetric")


def uniform(images: Images, count: int = 1) -> list[Any]:
    """Draw `count` numbers in [0, 1) for each sample."""
    return [rand(images.n, device=images.device) for _ in range(count)]


def between(u: Any, low: float, high: float) -> Any:
    """Map numbers from [0, 1) to [low, high)."""
    return u * (high - low) + low


def integer_below(u: Any, n: Any) -> Any:
    """Map numbers from [0, 1) to integers 0 to n - 1."""
    # minimum: in float32 u * n may round up to n
    return (u * n).floor().minimum(n - 1)


class RandomHorizontalFlip(ImageTransform):
    """Flip samples horizontally with probability p; ValueError if it is not in 0 to 1."""

    def __init__(self, p: float = 0.5):
        self.p = check_number(type(self), "p", p, 0, 1)

    def draw(self, images: Images) -> dict[str, Any]:
        (u,) = uniform(images)
        return {"flip": (u < self.p).float()}

    def stages(self, images: Images, params: dict[str, Any]) -> list[Any]:
        flip = params["flip"]
        # x of the source: x, or width - 1 - x where flip is 1
        numbers = (1 - 2 * flip, 0.0, flip * (images.width - 1), 0.0, 1.0, 0.0)
        return [Place(numbers, (images.height, images.width))]


class RandomVerticalFlip(RandomHorizontalFlip):
    """Flip samples vertically with probability p; ValueError if it is not in 0 to 1."""

    def stages(self, images: Images, params: dict[str, Any]) -> list[Any]:
        flip = params["flip"]
        numbers = (1.0, 0.0, 0.0, 0.0, 1 - 2 * flip, flip * (images.height - 1))
        return [Place(numbers, (images.height, images.width))]


class CenterCrop(ImageTransform):
    """Crop the centre of size (height, width), padded with 0 if the image is smaller.

    ValueError if size is not one or two positive integers.
    """

    def __init__(self, size: int | Sequence[int]):
        self.size = pair_of(type(self), "size", size)

    def stages(self, images: Images, params: dict[str, Any]) -> list[Any]:
        top, left = (
            _middle_offset(have, want)
            for have, want in zip((images.height, images.width), self.size, strict=True)
        )
        return [Place((1.0, 0.0, left, 0.0, 1.0, top), self.size, fill=fill_of(self, 0, images))]


# torchvision pads with floor on the left, and rounds the crop's offset (halves to even, as Python's round)
def _middle_offset(have: int, want: int) -> float:
    return float(-((want - have) // 2)) if want > have else float(round((have - want) / 2.0))


class RandomCrop(ImageTransform):
    """Crop a part of size (height, width) at a random position of each sample, after padding.

    padding: on all sides, (left and right, top and bottom), or (left, top, right, bottom); pad_if_needed: up
    to the size, on both sides. padding_mode: constant (`fill`), edge, reflect or symmetric. ValueError for
    invalid sizes and modes, and at the call if the padded images are smaller than size.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: float | Sequence[float] = 0,
        padding_mode: str = "constant",
    ):
        self.size = pair_of(type(self), "size", size)
        self.padding, self.pad_if_needed, self.fill = padding, pad_if_needed, fill
        self._sides = _sides(padding)
        if padding_mode not in PADDINGS:
            rule = f"is unknown: use one of {', '.join(PADDINGS)}"
            raise ValueError(f"RandomCrop(padding_mode={padding_mode!r}): {rule}")
        self.padding_mode = padding_mode

    def _room(self, images: Images) -> list[tuple[int, int]]:
        """For height and width: the padding before, and the number of positions."""
        left, top, right, bottom = self._sides
        room: list[tuple[int, int]] = []
        for want, have, before, behind in (
            (self.size[0], images.height, top, bottom),
            (self.size[1], images.width, left, right),
        ):
            # pad_if_needed adds the full difference on both sides, as torchvision does, so positions remain
            # to draw from
            lack = max(want - have - before - behind, 0) if self.pad_if_needed else 0
            places = have + before + behind + 2 * lack - want + 1
            if places < 1:
                have = (images.height + top + bottom, images.width + left + right)
                rule = "is larger than the padded images: pass pad_if_needed=True"
                raise ValueError(f"RandomCrop: size {self.size} {rule}, or at most {have}")
            room.append((before + lack, places))
        return room

    def draw(self, images: Images) -> dict[str, Any]:
        # drawn in torchvision's order, top before left
        v, u = uniform(images, 2)
        (_, rows), (_, columns) = self._room(images)
        return {"top": integer_below(v, rows), "left": integer_below(u, columns)}

    def stages(self, images: Images, params: dict[str, Any]) -> list[Any]:
        (above, _), (before, _) = self._room(images)
        # The padding is not stored: positions outside of the image read the fill or the edge.
        numbers = (1.0, 0.0, params["left"] - before, 0.0, 1.0, params["top"] - above)
        if self.padding_mode == "constant":
            return [Place(numbers, self.size, fill=fill_of(self, self.fill, images))]
        return [Place(numbers, self.size, self.padding_mode)]


def _sides(padding: Any) -> tuple[int, int, int, int]:
    """(left, top, right, bottom)"""
    sides = numbers_of(padding or 0)
    if len(sides) not in (1, 2, 4) or not all(isinstance(p, int) and p >= 0 for p in sides):
        raise ValueError(f"RandomCrop(padding={padding!r}): must be 1, 2 or 4 integers of at least 0")
    # 1 number: all sides; 2: left and right, top and bottom
    left, top, right, bottom = (sides * 4)[:4]
    return left, top, right, bottom


class RandomResizedCrop(ImageTransform):
    """Crop a random part of relative area in `scale` and aspect ratio in `ratio`, and resize it to `size`.

    It interpolates by `interpolation` without antialiasing (torchvision's antialias=False). The first of ten
    draws that fits is used, else the centre. Each sample has its own crop. ValueError for invalid sizes and
    ranges, an unknown interpolation, and antialias=True.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: str = "bilinear",
        antialias: bool = False,
    ):
        self.size = pair_of(type(self), "size", size)
        self.scale, self.ratio = range_of(type(self), "scale", scale), range_of(type(self), "ratio", ratio)
        self.interpolation = interpolation_of(type(self), interpolation)
        if antialias:
            rule = "crops of different sizes are resampled in one pass without antialiasing: leave it out"
            raise ValueError(f"RandomResizedCrop(antialias=True): {rule}")

    def draw(self, images: Images) -> dict[str, Any]:
        height, width = images.height, images.width
        narrow, wide = self.ratio
        area, ratio, v, u = draw_parts(images, self.scale, self.ratio)
        # ratio is width / height
        w, h = (area * ratio).sqrt().round(), (area / ratio).sqrt().round()
        inside = (w > 0) & (w <= width) & (h > 0) & (h <= height)
        image_ratio = width / height
        # Without a fitting draw: the centre, cut to the nearest ratio in range, as in torchvision.
        w0 = round(height * wide) if image_ratio > wide else width
        h0 = round(width / narrow) if image_ratio < narrow else height
        fits, (w, h, v, u) = first_inside(inside, w, h, v, u)
        w, h = fits.where(w, float(w0)), fits.where(h, float(h0))
        top = fits.where(integer_below(v, height - h + 1), float((height - h0) // 2))
        left = fits.where(integer_below(u, width - w + 1), float((width - w0) // 2))
        return {"top": top, "left": left, "height": h, "width": w}

    def stages(self, images: Images, params: dict[str, Any]) -> list[Any]:
        # Pixel centres are at half integers: x of the source is left + (x + 1/2) * across - 1/2.
        across, down = params["width"] / self.size[1], params["height"] / self.size[0]
        c, f = params["left"] + across * 0.5 - 0.5, params["top"] + down * 0.5 - 0.5
        numbers = (across, 0.0, c, 0.0, down, f)
        return [Place(numbers, self.size, "box", bilinear=self.interpolation == "bilinear")]


def draw_parts(images: Images, scale: Any, ratio: Any) -> tuple[Any, Any, Any, Any]:
    """TRIES draws for each sample: areas, ratios, and two numbers in [0, 1) for the position, each [n,
    TRIES]."""
    # all tries at once: a loop until one fits would read the device
    u = rand(images.n, 4, TRIES, device=images.device)
    area = between(u[:, 0], *scale) * (images.height * images.width)
    # The ratio is log-uniform, so that r and 1 / r are equally likely.
    return area, between(u[:, 1], log(ratio[0]), log(ratio[1])).exp(), u[:, 2], u[:, 3]


def first_inside(inside: Any, *numbers: Any) -> tuple[Any, list[Any]]:
    """Whether any draw is inside, and the numbers of the first one that is. [n, TRIES] -> [n]"""
    # index of a try if it fits, else TRIES; the smallest one is the first that fits
    order = inside.where(Tensor.arange(TRIES, device=inside.device).float(), float(TRIES))
    best = order.amin(1, keepdim=True)
    return best.squeeze(1) < TRIES, [(order == best).where(x, 0.0).amax(1) for x in numbers]


def radians(degrees: Any) -> Any:
    return degrees * (pi / 180)


def inverse_affine(images: Images, center: Any, params: dict[str, Any]) -> tuple[Any, ...]:
    """Return the inverse of the affine map of angle, translate, scale and shear, as in torchvision."""
    # The pass maps results to sources, so the inverse is needed. M = R(angle) Shear(x, y) scale, inverted
    # in closed form (torchvision's _get_inverse_affine_matrix).
    rot = radians(params["angle"])
    if "shear_x" in params:
        sx, sy = radians(params["shear_x"]), radians(params["shear_y"])
        a, c = (rot - sy).cos() / sy.cos(), (rot - sy).sin() / sy.cos()
        a, b, c, d = -c * sx.tan() + rot.cos(), a * sx.tan() + rot.sin(), -c, a
    else:
        a, b = rot.cos(), rot.sin()
        c, d = -b, a
    if "scale" in params:
        a, b, c, d = (v / params["scale"] for v in (a, b, c, d))
    # coordinates of pixel centres, and of the centre, are relative to the middle of the image
    cx, cy = (images.width - 1) / 2, (images.height - 1) / 2
    if center is not None:
        cx, cy = center[0] - 0.5, center[1] - 0.5
    # source = M^-1 (result - centre - translation) + centre
    x, y = params.get("translate_x", 0.0) + cx, params.get("translate_y", 0.0) + cy
    return (a, b, cx - (a * x + b * y), c, d, cy - (c * x + d * y))


class RandomAffine(ImageTransform):
    """Rotate, translate, scale and shear each sample.

    degrees: (low, high), or a number for both sides of 0; translate: the largest fractions of width and
    height, rounded to whole pixels; scale: (low, high); shear: degrees along x, or (low, high) for x, or
    those of x and y.
    interpolation: nearest or bilinear; fill: the value outside, a number or one a channel; center: (x, y),
    None: the middle. ValueError for an invalid value.
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        interpolation: str = "nearest",
        fill: float | Sequence[float] = 0,
        center: Sequence[float] | None = None,
    ):
        kind = type(self)
        self.degrees = symmetric(kind, "degrees", degrees)
        if translate is not None and (len(translate) != 2 or not all(0 <= t <= 1 for t in translate)):
            raise ValueError(f"{kind.__name__}(translate={translate!r}): must be two fractions from 0 to 1")
        self.translate = translate
        self.scale = None if scale is None else range_of(kind, "scale", scale)
        self.shear = None if shear is None else symmetric(kind, "shear", shear, (2, 4))
        self.interpolation = interpolation_of(kind, interpolation)
        self.fill, self.center = fill, center

    def draw(self, images: Images) -> dict[str, Any]:
        spans: dict[str, Any] = {"angle": self.degrees}
        if self.translate is not None:
            across, down = self.translate[0] * images.width, self.translate[1] * images.height
            spans |= {"translate_x": (-across, across), "translate_y": (-down, down)}
        if self.scale is not None:
            spans["scale"] = self.scale
        if self.shear is not None:
            # two numbers: shear along x only; four: x, then y
            spans |= {"shear_x": self.shear[:2], "shear_y": (*self.shear, 0.0, 0.0)[2:4]}
        pairs = zip(spans.items(), uniform(images, len(spans)), strict=True)
        params = {k: between(u, *span) for (k, span), u in pairs}
        # whole pixels, as torchvision: the images stay sharp
        return {k: v.round() if k.startswith("translate") else v for k, v in params.items()}

    def stages(self, images: Images, params: dict[str, Any]) -> list[Any]:
        size, fill = (images.height, images.width), fill_of(self, self.fill, images)
        numbers = inverse_affine(images, self.center, params)
        return [Place(numbers, size, fill=fill, bilinear=self.interpolation == "bilinear")]


class RandomRotation(ImageTransform):
    """Rotate each sample counter-clockwise by an angle in (low, high) degrees; one number d means (-d, d).

    interpolation: nearest or bilinear. center: (x, y), else the middle. fill: the value outside, a number or
    one for each channel. ValueError for expand=True, since a batch has images of one size, for another
    interpolation and for degrees out of order.
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: str = "nearest",
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: float | Sequence[float] = 0,
    ):
        self.degrees = symmetric(type(self), "degrees", degrees)
        self.interpolation = interpolation_of(type(self), interpolation)
        if expand:
            rule = "all images of a batch have the same size: pad them first"
            raise ValueError(f"RandomRotation(expand=True): {rule}")
        self.center, self.fill = center, fill

    def draw(self, images: Images) -> dict[str, Any]:
        (u,) = uniform(images)
        return {"angle": between(u, *self.degrees)}

    def stages(self, images: Images, params: dict[str, Any]) -> list[Any]:
        # RandomRotation counts counter-clockwise, RandomAffine clockwise (torchvision's conventions)
        numbers = inverse_affine(images, self.center, {"angle": -params["angle"]})
        size, fill = (images.height, images.width), fill_of(self, self.fill, images)
        return [Place(numbers, size, fill=fill, bilinear=self.interpolation == "bilinear")]
