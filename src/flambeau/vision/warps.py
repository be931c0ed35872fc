"""Warps of images under kornia's names: maps of places, affine and perspective, pyramids, optical flow."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

from ..core.node import describe
from ..functions import arange, cat, stack
from ..linalg import solve
from ..ops.conv.grid_sample import grid_sample
from ..ops.conv.resize import interpolate
from ..tensor import Tensor, tensor
from .blurs import box_blur
from .edges import spatial_gradient
from .windows import images_of, pad_images, weighted_sum

BINOMIAL = (1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16)


def remap(
    image: Tensor, map_x: Tensor, map_y: Tensor, mode: str = "bilinear", padding_mode: str = "zeros"
) -> Tensor:
    """The image read at places in pixels. [n, c, h, w], [n, oh, ow], [n, oh, ow] -> [n, c, oh, ow]

    map_x, map_y: 0 is the center of the first pixel. mode, padding_mode: as of nn.functional.grid_sample.
    Raises ValueError for other shapes.
    """
    x = images_of("remap", image)
    if map_x.ndim != 3 or map_x.shape != map_y.shape:
        rule = "maps are [n, height, width]: pass two of one shape"
        raise ValueError(f"remap({describe(map_x)}, {describe(map_y)}): {rule}")
    if map_x.shape[0] not in (1, x.shape[0]):
        rule = f"there is a map for each of {x.shape[0]} images, or one for all: pass as many"
        raise ValueError(f"remap({describe(image)}, {describe(map_x)}): {rule}")
    height, width = x.shape[2:]
    if not (height and width):
        raise ValueError(f"remap({describe(image)}): there are no pixels to read: pass larger images")
    # align_corners: -1 and 1 are the centers of the outermost pixels
    sides = [m * (2 / max(n - 1, 1)) - 1 for m, n in ((map_x, width), (map_y, height))]
    grid = stack(sides, -1).expand(x.shape[0], *map_x.shape[1:], 2)
    return grid_sample(x, grid, mode, padding_mode, True)


def warp_perspective(
    src: Tensor, M: Tensor, dsize: Sequence[int], mode: str = "bilinear", padding_mode: str = "zeros"
) -> Tensor:
    """The image moved by a matrix of homogeneous pixels, from source to result. [n, c, h, w], [n, 3, 3] ->
    [n, c, *dsize]

    src: the image. M: the matrices. dsize: (height, width) of the result. mode, padding_mode: as of remap.
    Raises ValueError for other shapes.
    """
    if M.ndim != 3 or M.shape[1:] != (3, 3):
        raise ValueError(f"warp_perspective(M={describe(M)}): matrices are [n, 3, 3]: pass such a tensor")
    height, width = dsize
    back = _inverse(M)
    x = arange(width, device=src.device).float().reshape(1, 1, -1)
    y = arange(height, device=src.device).float().reshape(1, -1, 1)
    parts = [[back[:, i, j].reshape(-1, 1, 1) for j in range(3)] for i in range(3)]
    rows = [a * x + b * y + c for a, b, c in parts]
    return remap(src, rows[0] / rows[2], rows[1] / rows[2], mode, padding_mode)


def warp_affine(
    src: Tensor, M: Tensor, dsize: Sequence[int], mode: str = "bilinear", padding_mode: str = "zeros"
) -> Tensor:
    """The image moved by an affine matrix of pixels, from source to result. [n, c, h, w], [n, 2, 3] ->
    [n, c, *dsize]

    src: the image. M: the matrices. dsize, mode, padding_mode: as of warp_perspective. Raises ValueError for
    other shapes.
    """
    if M.ndim != 3 or M.shape[1:] != (2, 3):
        raise ValueError(f"warp_affine(M={describe(M)}): matrices are [n, 2, 3]: pass such a tensor")
    last = tensor([[[0.0, 0.0, 1.0]]], device=M.device).expand(M.shape[0], 1, 3)
    return warp_perspective(src, cat([M.float(), last], 1), dsize, mode, padding_mode)


def get_perspective_transform(points_src: Tensor, points_dst: Tensor) -> Tensor:
    """The matrix that moves four points (x, y) to four others. [n, 4, 2], [n, 4, 2] -> [n, 3, 3]

    points_src, points_dst: in pixels. Raises ValueError for other shapes.
    """
    if points_src.shape != points_dst.shape or points_src.ndim != 3 or points_src.shape[1:] != (4, 2):
        rule = "points are [n, 4, 2]: pass two such tensors"
        raise ValueError(f"get_perspective_transform({describe(points_src)}, {describe(points_dst)}): {rule}")
    x, y = points_src[..., 0], points_src[..., 1]
    u, v = points_dst[..., 0], points_dst[..., 1]
    zero, one = x * 0, x * 0 + 1
    first = stack((x, y, one, zero, zero, zero, -x * u, -y * u), -1)
    second = stack((zero, zero, zero, x, y, one, -x * v, -y * v), -1)
    solution = solve(cat([first, second], 1), cat([u, v], 1))
    return cat([solution, one[:, :1]], 1).reshape(-1, 3, 3)


def get_rotation_matrix2d(center: Tensor, angle: Tensor, scale: Tensor) -> Tensor:
    """The affine matrix of a rotation about a point, as OpenCV's. [n, 2], [n], [n, 2] -> [n, 2, 3]

    center: (x, y) in pixels. angle: in degrees, against the clock where y points down. scale: along x and y.
    Raises ValueError for other shapes.
    """
    if center.ndim != 2 or center.shape[1] != 2 or scale.shape[1:] != (2,) or angle.ndim != 1:
        rule = "center and scale are [n, 2], angle is [n]: pass such tensors"
        arguments = ", ".join(map(describe, (center, angle, scale)))
        raise ValueError(f"get_rotation_matrix2d({arguments}): {rule}")
    turn = angle * (pi / 180)
    a, b = scale[:, 0] * turn.cos(), scale[:, 1] * turn.sin()
    c, d = scale[:, 0] * turn.sin(), scale[:, 1] * turn.cos()
    x, y = center[:, 0], center[:, 1]
    rows = stack((a, b, x - a * x - b * y), -1), stack((-c, d, y + c * x - d * y), -1)
    return stack(rows, 1)


def rotate(tensor: Tensor, angle: Tensor, mode: str = "bilinear", padding_mode: str = "zeros") -> Tensor:
    """Each image turned about its center, against the clock. [n, c, h, w], [n] -> [n, c, h, w]

    angle: in degrees. mode, padding_mode: as of remap. Raises ValueError for other shapes.
    """
    x = images_of("rotate", tensor)
    n, _, height, width = x.shape
    turn = angle.float() * (pi / 180)
    one = turn * 0 + 1
    center = stack((one * ((width - 1) / 2), one * ((height - 1) / 2)), -1)
    matrix = get_rotation_matrix2d(center, angle.float(), stack((one, one), -1))
    return warp_affine(x, matrix.expand(n, 2, 3), (height, width), mode, padding_mode)


def translate(
    tensor: Tensor, translation: Tensor, mode: str = "bilinear", padding_mode: str = "zeros"
) -> Tensor:
    """Each image moved to the right and down. [n, c, h, w], [n, 2] -> [n, c, h, w]

    translation: (x, y) in pixels. mode, padding_mode: as of remap. Raises ValueError for other shapes.
    """
    x = images_of("translate", tensor)
    move = translation.float()
    zero, one = move[:, 0] * 0, move[:, 0] * 0 + 1
    rows = stack((one, zero, move[:, 0]), -1), stack((zero, one, move[:, 1]), -1)
    return warp_affine(x, stack(rows, 1), (x.shape[2], x.shape[3]), mode, padding_mode)


def pyrdown(input: Tensor) -> Tensor:
    """A blur by (1, 4, 6, 4, 1) / 16 along both dims, then half of the size. [n, c, h, w] ->
    [n, c, h // 2, w // 2]

    Raises ValueError for images below 3 pixels, which are too small to reflect.
    """
    x = images_of("pyrdown", input)
    padded = pad_images("pyrdown", x, (5, 5), "reflect")
    smooth = weighted_sum(weighted_sum(padded, [BINOMIAL]), [[w] for w in BINOMIAL])
    return interpolate(smooth, size=(x.shape[2] // 2, x.shape[3] // 2), mode="bilinear")


def build_pyramid(input: Tensor, max_level: int) -> list[Tensor]:
    """The image and max_level - 1 results of pyrdown. [n, c, h, w] -> a list

    Raises ValueError for levels below 1, and for images that become too small.
    """
    if max_level < 1:
        raise ValueError(f"build_pyramid(max_level={max_level}): it is a number of levels: pass 1 or more")
    levels = [images_of("build_pyramid", input)]
    for _ in range(max_level - 1):
        levels.append(pyrdown(levels[-1]))
    return levels


def optical_flow_lk(
    first: Tensor, second: Tensor, *, levels: int = 3, window: int = 9, iterations: int = 5
) -> Tensor:
    """How far each pixel of the first image moved, (x, y) in pixels, by Lucas and Kanade (1981) over a
    pyramid. [n, 1, h, w], [n, 1, h, w] -> [n, 2, h, w]

    second: the later image. levels: of the pyramid. window: odd, the pixels that move together. iterations:
    at each level. Pixels with too little texture do not move. Raises ValueError for other shapes.
    """
    a, b = images_of("optical_flow_lk", first), images_of("optical_flow_lk", second)
    if a.shape != b.shape or a.shape[1] != 1:
        rule = "images are [n, 1, h, w]: pass two of one shape"
        raise ValueError(f"optical_flow_lk({describe(first)}, {describe(second)}): {rule}")
    flow: Tensor | None = None
    pairs = list(zip(build_pyramid(a, levels), build_pyramid(b, levels), strict=True))
    for x, y in reversed(pairs):
        size = (x.shape[2], x.shape[3])
        if flow is None:
            flow = cat([x * 0, x * 0], 1)
        else:
            scale = tensor([size[1] / flow.shape[3], size[0] / flow.shape[2]], device=x.device)
            flow = interpolate(flow, size=size, mode="bilinear") * scale.reshape(1, 2, 1, 1)
        flow = _refine(x, y, flow, window, iterations)
    assert flow is not None
    return flow


def _refine(x: Tensor, y: Tensor, flow: Tensor, window: int, iterations: int) -> Tensor:
    """Steps of Gauss and Newton: in each window, the move that explains the differences by the slopes."""
    slopes = spatial_gradient(x)
    across, down = slopes[:, :, 0], slopes[:, :, 1]

    def mean(v: Tensor) -> Tensor:
        return box_blur(v, window, "replicate")

    xx, yy, xy = mean(across.square()), mean(down.square()), mean(across * down)
    # a little more on the diagonal: without texture the move is 0
    least = 1e-6
    xx, yy = xx + least, yy + least
    area = xx * yy - xy.square()
    rows = arange(x.shape[2], device=x.device).float().reshape(1, -1, 1)
    columns = arange(x.shape[3], device=x.device).float().reshape(1, 1, -1)
    for _ in range(iterations):
        apart = x - remap(y, columns + flow[:, 0], rows + flow[:, 1], padding_mode="border")
        # by the slopes, from where each pixel of the window is already: one move of all
        apart = apart + across * flow[:, :1] + down * flow[:, 1:]
        p, q = mean(across * apart), mean(down * apart)
        flow = cat([(yy * p - xy * q) / area, (xx * q - xy * p) / area], 1)
    return flow


def _inverse(m: Tensor) -> Tensor:
    """The inverses of matrices up to a factor, which homogeneous coordinates do not need. [n, 3, 3]"""
    m = m.float()

    def cofactor(i: int, j: int) -> Tensor:
        a, b, c, d = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
        return m[:, a, c] * m[:, b, d] - m[:, a, d] * m[:, b, c]

    return stack([stack([cofactor(j, i) for j in range(3)], -1) for i in range(3)], 1)
