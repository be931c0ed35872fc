"""Colour spaces and equalisation under kornia's names. Images are [..., 3, h, w] from 0 to 1."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, prod

from ..core import dtype as dt
from ..core.node import describe
from ..functions import arange, stack, where
from ..ops.sort.histogram import counts
from ..tensor import Tensor
from .windows import images_of

GREY = (0.299, 0.587, 0.114)
TO_XYZ = (
    (0.412453, 0.357580, 0.180423),
    (0.212671, 0.715160, 0.072169),
    (0.019334, 0.119193, 0.950227),
)
FROM_XYZ = (
    (3.2404813432005266, -1.5371515162713185, -0.4985363261688878),
    (-0.9692549499965682, 1.8759900014898907, 0.0415559265582928),
    (0.0556466391351772, -0.2040413383665112, 1.0573110696453443),
)
TO_YUV = (GREY, (-0.147, -0.289, 0.436), (0.615, -0.515, -0.100))
FROM_YUV = (  # the inverse of TO_YUV
    (1, -3.945707071e-05, 1.139827967),
    (1, -0.3946101641, -0.5805003157),
    (1, 2.031999684, -0.0004813762626),
)
WHITE = (0.95047, 1.0, 1.08883)  # D65
WHITE_SUM = WHITE[0] + 15 * WHITE[1] + 3 * WHITE[2]
WHITE_UV = 4 * WHITE[0] / WHITE_SUM, 9 * WHITE[1] / WHITE_SUM
TINY = 1e-8


def rgb_to_grayscale(image: Tensor) -> Tensor:
    """0.299 red + 0.587 green + 0.114 blue. [..., 3, h, w] -> [..., 1, h, w]

    image: with 3 channels. Raises ValueError for other numbers of channels.
    """
    (grey,) = _mix(_parts("rgb_to_grayscale", image), (GREY,))
    return grey.unsqueeze(-3)


def rgb_to_hsv(image: Tensor) -> Tensor:
    """Hue in radians from 0 to 2 pi, saturation and value. [..., 3, h, w] -> [..., 3, h, w]

    image: with 3 channels. Raises ValueError for other numbers of channels.
    """
    parts = _parts("rgb_to_hsv", image)
    high, low = _extremes(parts)
    return stack((_hue(parts, high, low), (high - low) / (high + TINY), high), -3)


def hsv_to_rgb(image: Tensor) -> Tensor:
    """Colours of hue in radians, saturation and value. [..., 3, h, w] -> [..., 3, h, w]

    image: with 3 channels. Raises ValueError for other numbers of channels.
    """
    hue, saturation, value = _parts("hsv_to_rgb", image)
    sector = hue * (3 / pi)
    return stack([value - value * saturation * _dip(sector + k) for k in (5, 3, 1)], -3)


def rgb_to_hls(image: Tensor) -> Tensor:
    """Hue in radians from 0 to 2 pi, lightness and saturation. [..., 3, h, w] -> [..., 3, h, w]

    image: with 3 channels. Raises ValueError for other numbers of channels.
    """
    parts = _parts("rgb_to_hls", image)
    high, low = _extremes(parts)
    lightness = (high + low) / 2
    room = where(lightness < 0.5, high + low, 2 - high - low)
    return stack((_hue(parts, high, low), lightness, (high - low) / (room + TINY)), -3)


def hls_to_rgb(image: Tensor) -> Tensor:
    """Colours of hue in radians, lightness and saturation. [..., 3, h, w] -> [..., 3, h, w]

    image: with 3 channels. Raises ValueError for other numbers of channels.
    """
    hue, lightness, saturation = _parts("hls_to_rgb", image)
    reach = saturation * lightness.minimum(1 - lightness)
    sector = hue * (6 / pi)
    colours: list[Tensor] = []
    for k in (0, 8, 4):
        place = (sector + k).remainder(12)
        colours.append(lightness - reach * (place - 3).minimum(9 - place).clamp(-1, 1))
    return stack(colours, -3)


def rgb_to_linear_rgb(image: Tensor) -> Tensor:
    """sRGB to colours proportional to light. [..., 3, h, w] -> [..., 3, h, w]

    image: with 3 channels. Raises ValueError for other numbers of channels.
    """
    x = images_of("rgb_to_linear_rgb", image, 3)
    return where(x > 0.04045, ((x.clamp(min=0.04045) + 0.055) / 1.055) ** 2.4, x / 12.92)


def linear_rgb_to_rgb(image: Tensor) -> Tensor:
    """Colours proportional to light to sRGB. [..., 3, h, w] -> [..., 3, h, w]

    image: with 3 channels. Raises ValueError for other numbers of channels.
    """
    x = images_of("linear_rgb_to_rgb", image, 3)
    return where(x > 0.0031308, 1.055 * x.clamp(min=0.0031308) ** (1 / 2.4) - 0.055, 12.92 * x)


def rgb_to_xyz(image: Tensor) -> Tensor:
    """Linear colours to CIE XYZ. [..., 3, h, w] -> [..., 3, h, w]

    image: with 3 channels. Raises ValueError for other numbers of channels.
    """
    return stack(_mix(_parts("rgb_to_xyz", image), TO_XYZ), -3)


def xyz_to_rgb(image: Tensor) -> Tensor:
    """CIE XYZ to linear colours. [..., 3, h, w] -> [..., 3, h, w]

    image: with 3 channels. Raises ValueError for other numbers of channels.
    """
    return stack(_mix(_parts("xyz_to_rgb", image), FROM_XYZ), -3)


def rgb_to_yuv(image: Tensor) -> Tensor:
    """Luma from 0 to 1, u and v. [..., 3, h, w] -> [..., 3, h, w]

    image: with 3 channels. Raises ValueError for other numbers of channels.
    """
    return stack(_mix(_parts("rgb_to_yuv", image), TO_YUV), -3)


def yuv_to_rgb(image: Tensor) -> Tensor:
    """Colours of luma, u and v. [..., 3, h, w] -> [..., 3, h, w]

    image: with 3 channels. Raises ValueError for other numbers of channels.
    """
    return stack(_mix(_parts("yuv_to_rgb", image), FROM_YUV), -3)


def rgb_to_ycbcr(image: Tensor) -> Tensor:
    """Luma and two differences of colour around 0.5. [..., 3, h, w] -> [..., 3, h, w]

    image: with 3 channels. Raises ValueError for other numbers of channels.
    """
    parts = _parts("rgb_to_ycbcr", image)
    (luma,) = _mix(parts, (GREY,))
    return stack((luma, (parts[2] - luma) * 0.564 + 0.5, (parts[0] - luma) * 0.713 + 0.5), -3)


def ycbcr_to_rgb(image: Tensor) -> Tensor:
    """Colours of luma and two differences around 0.5, from 0 to 1. [..., 3, h, w] -> [..., 3, h, w]

    image: with 3 channels. Raises ValueError for other numbers of channels.
    """
    luma, blue, red = _parts("ycbcr_to_rgb", image)
    red, blue = luma + (red - 0.5) / 0.713, luma + (blue - 0.5) / 0.564
    green = (luma - GREY[0] * red - GREY[2] * blue) / GREY[1]
    return stack((red, green, blue), -3).clamp(0, 1)


def rgb_to_lab(image: Tensor) -> Tensor:
    """sRGB to CIE Lab of the white D65; L from 0 to 100. [..., 3, h, w] -> [..., 3, h, w]

    image: with 3 channels. Raises ValueError for other numbers of channels.
    """
    linear = rgb_to_linear_rgb(images_of("rgb_to_lab", image, 3))
    x, y, z = (
        where(v / w > 0.008856, (v / w).clamp(min=0.008856) ** (1 / 3), 7.787 * (v / w) + 4 / 29)
        for v, w in zip(_mix(_parts("rgb_to_lab", linear), TO_XYZ), WHITE, strict=True)
    )
    return stack((116 * y - 16, 500 * (x - y), 200 * (y - z)), -3)


def lab_to_rgb(image: Tensor, clip: bool = True) -> Tensor:
    """CIE Lab of the white D65 to sRGB. [..., 3, h, w] -> [..., 3, h, w]

    image: with 3 channels. clip: move colours that no screen shows into 0 to 1. Raises ValueError for other
    numbers of channels.
    """
    lightness, a, b = _parts("lab_to_rgb", image)
    y = (lightness + 16) / 116
    x, z = a / 500 + y, (y - b / 200).clamp(min=0)
    light = [
        where(v > 0.2068966, v**3, (v - 4 / 29) / 7.787) * w for v, w in zip((x, y, z), WHITE, strict=True)
    ]
    colours = linear_rgb_to_rgb(stack(_mix(light, FROM_XYZ), -3))
    return colours.clamp(0, 1) if clip else colours


def rgb_to_luv(image: Tensor) -> Tensor:
    """sRGB to CIE Luv of the white D65; L from 0 to 100. [..., 3, h, w] -> [..., 3, h, w]

    image: with 3 channels. Raises ValueError for other numbers of channels.
    """
    linear = rgb_to_linear_rgb(images_of("rgb_to_luv", image, 3))
    x, y, z = _mix(_parts("rgb_to_luv", linear), TO_XYZ)
    lightness = where(y > 0.008856, 116 * y.clamp(min=0.008856) ** (1 / 3) - 16, 903.3 * y)
    total = x + 15 * y + 3 * z + TINY
    u, v = 4 * x / total, 9 * y / total
    return stack((lightness, 13 * lightness * (u - WHITE_UV[0]), 13 * lightness * (v - WHITE_UV[1])), -3)


def luv_to_rgb(image: Tensor) -> Tensor:
    """CIE Luv of the white D65 to sRGB. [..., 3, h, w] -> [..., 3, h, w]

    image: with 3 channels. Raises ValueError for other numbers of channels.
    """
    lightness, u, v = _parts("luv_to_rgb", image)
    y = where(lightness > 7.999625, ((lightness + 16) / 116) ** 3, lightness / 903.3)
    a = u / (13 * lightness + TINY) + WHITE_UV[0]
    b = v / (13 * lightness + TINY) + WHITE_UV[1]
    x = 9 * y * a / (4 * b + TINY)
    z = 3 * y / (b + TINY) - x / 3 - 5 * y
    return linear_rgb_to_rgb(stack(_mix([x, y, z], FROM_XYZ), -3))


def equalize(image: Tensor) -> Tensor:
    """Spread the values of each channel so that all are as frequent as can be. uint8 [n, c, h, w] -> the same

    image: each channel has a histogram of its own; equal to torchvision's. Raises ValueError for other dtypes
    and shapes.
    """
    if image.dtype is not dt.uint8 or image.ndim != 4:
        rule = "images are uint8 [n, c, h, w]: pass such a tensor"
        raise ValueError(f"equalize({describe(image)}): {rule}")
    if not image.numel():
        return image
    planes = prod(image.shape[:2])
    values = image.reshape(planes, -1).to(dt.int32)
    plane = arange(planes, device=image.device, dtype=dt.int32).reshape(-1, 1)
    count = counts(values + 256 * plane, 256 * planes).reshape(planes, 256)
    level = arange(256, device=image.device, dtype=dt.int32)
    last = where(count > 0, level, 0).amax(1, keepdim=True).long()
    step = (values.shape[1] - count.gather(1, last)) // 255
    below = count.cumsum(1).to(dt.int32) - count  # of the values before each
    table = ((below + step // 2) // step.clamp(min=1)).clamp(0, 255)
    table = where(step == 0, level, where(level == 0, 0, table))
    return table.gather(1, values.long()).to(dt.uint8).reshape(image.shape)


def equalize_clahe(input: Tensor, clip_limit: float = 40.0, grid_size: Sequence[int] = (8, 8)) -> Tensor:
    """Equalise each part of an image by its surroundings, with limited contrast (Zuiderveld, 1994).
    [n, c, h, w] -> [n, c, h, w]

    input: values from 0 to 1; 256 levels are told apart, others are clamped. clip_limit: how much more often
    than the mean a level counts at most; what is above goes to all levels, 0 for no limit. grid_size: tiles
    (rows, columns), each with a table of its own; a pixel takes the mean of the four around it. Raises
    ValueError for other shapes, and for images with fewer pixels than tiles along a dim.
    """
    name = "equalize_clahe"
    x, (rows, columns) = images_of(name, input), tuple(grid_size)
    n, c, height, width = x.shape
    if not x.numel():
        return x
    high, wide = -(-height // rows), -(-width // columns)
    below, right = high * rows - height, wide * columns - width
    if min(rows, columns) < 1 or height <= rows or width <= columns or below >= height or right >= width:
        rule = "tiles are mirrored at the edge and need more pixels: use fewer tiles"
        raise ValueError(f"{name}({describe(input)}, grid_size={(rows, columns)}): {rule}")
    levels = (x.detach().clamp(0, 1) * 255).nan_to_num(0.0).to(dt.int32)
    padded = levels.float().pad((0, right, 0, below), "reflect").to(dt.int32) if below or right else levels
    tiles = padded.reshape(n, c, rows, high, columns, wide).permute(0, 1, 2, 4, 3, 5)
    number = n * c * rows * columns
    table = _tile_tables(tiles.reshape(number, high * wide), clip_limit)
    # the tiles before and after each pixel, from center to center
    first, second, down = _between(height, high, rows, x.device)
    left, after, across = _between(width, wide, columns, x.device)
    plane = arange(n * c, device=x.device, dtype=dt.int32).reshape(n, c, 1, 1) * (rows * columns)

    def read(row: Tensor, column: Tensor) -> Tensor:
        tile = plane + row.reshape(-1, 1) * columns + column
        return table[(tile * 256 + levels).long()]

    above = read(first, left) * (1 - across) + read(first, after) * across
    under = read(second, left) * (1 - across) + read(second, after) * across
    weight = down.reshape(-1, 1)
    return ((above * (1 - weight) + under * weight) / 255).to(x.dtype)


def _tile_tables(tiles: Tensor, clip_limit: float) -> Tensor:
    """The new level of each level in each tile. int32 [tiles, pixels] -> float32 [tiles * 256]"""
    number, pixels = tiles.shape
    place = arange(number, device=tiles.device, dtype=dt.int32).reshape(-1, 1)
    count = counts(tiles + 256 * place, 256 * number).reshape(number, 256).to(dt.int32)
    if clip_limit > 0:
        count = count.clamp(max=max(int(clip_limit * pixels // 256), 1))
        over = pixels - count.sum(1, keepdim=True).to(dt.int32)
        rest = over % 256
        # one more for every so many levels, as OpenCV spreads what 256 does not divide
        step = (256 // rest.clamp(min=1)).clamp(min=1)
        level = arange(256, device=tiles.device, dtype=dt.int32)
        is_more = (level % step == 0) & (level // step < rest)
        count = count + over // 256 + is_more.to(dt.int32)
    return (count.cumsum(1).float() * (255 / pixels)).clamp(0, 255).round().reshape(-1)


def _between(length: int, side: int, tiles: int, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """For each pixel the tiles whose centers lie before and after it, and the share of the second."""
    coordinates = (arange(length, device=device).float() + 0.5) / side - 0.5
    before = coordinates.floor()
    first, second = (v.clamp(0, tiles - 1).to(dt.int32) for v in (before, before + 1))
    return first, second, coordinates - before


def _parts(name: str, image: Tensor) -> list[Tensor]:
    x = images_of(name, image, 3)
    return [x.select(-3, k) for k in range(3)]


def _mix(parts: Sequence[Tensor], rows: Sequence[Sequence[float]]) -> list[Tensor]:
    a, b, c = parts
    return [a * row[0] + b * row[1] + c * row[2] for row in rows]


def _extremes(parts: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    a, b, c = parts
    return a.maximum(b).maximum(c), a.minimum(b).minimum(c)


def _hue(parts: Sequence[Tensor], high: Tensor, low: Tensor) -> Tensor:
    """Radians from 0 to 2 pi; 0 of greys."""
    red, green, blue = parts
    apart = high - low
    apart = where(apart == 0, 1.0, apart)
    turn = where(
        red == high,
        (green - blue) / apart,
        where(green == high, (blue - red) / apart + 2, (red - green) / apart + 4),
    )
    return (turn / 6).remainder(1.0) * (2 * pi)


def _dip(sector: Tensor) -> Tensor:
    place = sector.remainder(6)
    return place.minimum(4 - place).clamp(0, 1)
