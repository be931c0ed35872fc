"""Grids of convolutions, transposed ones, and windows as columns."""

from .grid import Table, call

GRIDS = Table()
CHANNELS = (1, 1, 2, 3, 4, 5, 6, 8, 12, 16, 17, 32, 33)


def one_or_each(d, values: list):
    """One number where all are alike (now and then), else a tuple."""
    return values[0] if len(set(values)) == 1 and d.maybe() else tuple(values)


def windows(d, n: int) -> tuple[list, list, list, list]:
    """kernel, stride, padding, dilation of each dim."""
    most = {1: 9, 2: 5, 3: 3}[n]
    kernel = [d.int(1, most) for _ in range(n)]
    if d.maybe(0.4):
        kernel = kernel[:1] * n
    stride = [d.one(1, 1, 2, 2, 3, 4) for _ in range(n)] if d.maybe(0.7) else [1] * n
    dilation = [d.one(1, 1, 2, 3) for _ in range(n)] if d.maybe(0.3) else [1] * n
    padding = [d.int(0, dilation[i] * (kernel[i] - 1) + 1) for i in range(n)] if d.maybe(0.7) else [0] * n
    return kernel, stride, padding, dilation


def places(d, n: int, least: list[int]) -> list[int]:
    """Sizes of the spatial dims: at least so much, a few more, or many."""
    more = {1: (0, 1, 2, 5, 16, 31, 63, 100, 500), 2: (0, 1, 2, 5, 11, 16, 31), 3: (0, 1, 2, 3, 6)}[n]
    return [max(low, 1) + d.one(*more) for low in least]


def channels(d) -> tuple[int, int, int]:
    """groups, channels in and out: plain, grouped, depthwise."""
    kind = d.rng.random()
    if kind < 0.6:
        return 1, d.one(*CHANNELS), d.one(*CHANNELS)
    groups = d.one(2, 3, 4, 8)
    if kind < 0.8:
        return groups, groups, groups * d.one(1, 1, 2)
    return groups, groups * d.int(1, 4), groups * d.int(1, 4)


@GRIDS("conv1d", "conv2d", "conv3d", fixed=14)
def conv(d, name):
    n = int(name[4])
    kernel, stride, padding, dilation = windows(d, n)
    groups, into, out = channels(d)
    reach = [dilation[i] * (kernel[i] - 1) + 1 for i in range(n)]
    same = d.maybe(0.15)
    size = places(d, n, [reach[i] - (0 if same else 2 * padding[i]) for i in range(n)])
    arguments: dict = {"stride": one_or_each(d, stride), "padding": one_or_each(d, padding),
                       "dilation": one_or_each(d, dilation), "groups": groups}  # fmt: skip
    if same:
        arguments |= {"stride": 1, "padding": d.one("same", "same", "valid")}
    batch = [] if d.maybe(0.1) else [d.one(1, 1, 2, 3, 5, 16)]
    return call(d.array((*batch, into, *size)), d.array((out, into // groups, *kernel)),
                *([d.array((out,))] if d.maybe() else []), **arguments)  # fmt: skip


@GRIDS("conv_transpose1d", "conv_transpose2d", "conv_transpose3d", fixed=14)
def conv_transpose(d, name):
    n = int(name[14])
    kernel, stride, padding, dilation = windows(d, n)
    more = [d.int(0, max(stride[i], dilation[i]) - 1) if d.maybe(0.4) else 0 for i in range(n)]
    groups, into, out = channels(d)
    if groups > 1 and out % groups:
        out = groups
    reach = [dilation[i] * (kernel[i] - 1) + 1 for i in range(n)]
    least = [-(-max(2 * padding[i] + 1 - reach[i] - more[i], 0) // stride[i]) + 1 for i in range(n)]
    size = places(d, n, least)
    arguments = {"stride": one_or_each(d, stride), "padding": one_or_each(d, padding), "groups": groups,
                 "output_padding": one_or_each(d, more), "dilation": one_or_each(d, dilation)}  # fmt: skip
    batch = [] if d.maybe(0.1) else [d.one(1, 1, 2, 3, 5)]
    return call(d.array((*batch, into, *size)), d.array((into, out // groups, *kernel)),
                *([d.array((out,))] if d.maybe() else []), **arguments)  # fmt: skip


def columns(d):
    """Arguments of unfold and fold, and the size that they take windows of."""
    kernel, stride, padding, dilation = windows(d, 2)
    reach = [dilation[i] * (kernel[i] - 1) + 1 for i in range(2)]
    size = places(d, 2, [reach[i] - 2 * padding[i] for i in range(2)])
    count = [(size[i] + 2 * padding[i] - reach[i]) // stride[i] + 1 for i in range(2)]
    return (
        kernel,
        size,
        count,
        {"dilation": tuple(dilation), "padding": tuple(padding), "stride": tuple(stride)},
    )


@GRIDS("im2col", theirs="nn.functional.unfold", fixed=5)
def im2col(d):
    kernel, size, _, arguments = columns(d)
    return call(d.array((d.int(1, 3), d.int(1, 5), *size)), tuple(kernel), **arguments)


@GRIDS("col2im", theirs="nn.functional.fold", fixed=5)
def col2im(d):
    kernel, size, count, arguments = columns(d)
    rows = d.int(1, 5) * kernel[0] * kernel[1]
    return call(d.array((d.int(1, 3), rows, count[0] * count[1])), tuple(size), tuple(kernel), **arguments)


WITHOUT = {"deform_conv2d": "in torchvision, not in torch: tests/references/conv.py has its formula"}
