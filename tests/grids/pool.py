"""Grids of pools."""

import numpy as np

from .conv import one_or_each
from .grid import Table, call

GRIDS = Table()


def pooled(d, n: int, dilated: bool, padded: bool = True):
    """x's shape, kernel, stride, padding, dilation: as torch takes them, padded by half a kernel at most."""
    most = {1: 9, 2: 5, 3: 3}[n]
    kernel = [d.int(1, most) for _ in range(n)] if d.maybe() else [d.int(1, most)] * n
    stride = [d.int(1, 4) for _ in range(n)] if d.maybe() else list(kernel)
    dilation = [d.one(1, 2, 3) for _ in range(n)] if dilated and d.maybe(0.4) else [1] * n
    padding = [d.int(0, k // 2) for k in kernel] if padded and d.maybe(0.6) else [0] * n
    least = [dilation[i] * (kernel[i] - 1) + 1 for i in range(n)]  # torch dies of a window of padding
    if not dilated and n < 3:  # and demands a kernel's size in three dims
        least = [max(kernel[i] - 2 * padding[i], 1) for i in range(n)]
    size = [m + d.one(0, 1, 2, 3, 7, 16, *((31, 63) if n < 3 else ())) for m in least]
    batch = [] if d.maybe(0.15) else [d.one(1, 2, 3)]
    channels = d.one(1, 3, 4, 7, 16)
    if n == 1 and d.maybe(0.05):
        batch, channels = [260], 260  # more rows than a grid is wide
    return (*batch, channels, *size), kernel, stride, padding, dilation


@GRIDS("avg_pool1d", "avg_pool2d", "avg_pool3d", fixed=8)
def average(d, name):
    n = int(name[8])
    shape, kernel, stride, padding, _ = pooled(d, n, False)
    arguments: dict = {"padding": one_or_each(d, padding), "ceil_mode": d.maybe(),
                       "count_include_pad": d.maybe()}  # fmt: skip
    if stride != kernel or d.maybe():
        arguments["stride"] = one_or_each(d, stride)
    if n > 1 and d.maybe(0.2):
        arguments["divisor_override"] = d.int(1, 7)
    return call(d.array(shape), one_or_each(d, kernel), **arguments)


@GRIDS("max_pool1d", "max_pool2d", "max_pool3d", fixed=8, half=False)
def largest(d, name):
    n = int(name[8])
    shape, kernel, stride, padding, dilation = pooled(d, n, True)
    arguments = {"stride": one_or_each(d, stride), "padding": one_or_each(d, padding), "ceil_mode": d.maybe(),
                 "dilation": one_or_each(d, dilation), "return_indices": d.maybe()}  # fmt: skip
    return call(d.distinct(shape), one_or_each(d, kernel), **arguments)


@GRIDS("lp_pool1d", "lp_pool2d", "lp_pool3d", fixed=4, half=False)
def powers(d, name):
    n = int(name[7])
    shape, kernel, stride, _, _ = pooled(d, n, False, padded=False)
    p = d.one(1.0, 2.0, 3.0, 4.0, float("inf"), float("-inf"))
    given = (kernel[0], stride[0]) if n == 1 else (tuple(kernel), tuple(stride))
    return call(d.array(shape, 0.2, 2), p, *given, ceil_mode=d.maybe())


@GRIDS("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d",
       "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d", fixed=4, half=False)  # fmt: skip
def adaptive(d, name):
    n = int(name[-2])
    size = [d.one(1, 2, 3, 5, 7, 8, 13, *((32, 33) if n < 3 else ())) for _ in range(n)]
    out = [None if d.maybe(0.1) and n > 1 else d.one(1, 2, 3, 5, 7, 9) for _ in range(n)]
    shape = (*([] if d.maybe(0.15) else [d.int(1, 3)]), d.one(1, 3, 8), *size)
    goal = out[0] if n == 1 else tuple(out)
    return call(d.distinct(shape), goal, **({"return_indices": d.maybe()} if "max" in name else {}))


@GRIDS("max_unpool1d", "max_unpool2d", "max_unpool3d", fixed=3)
def unpool(d, name):
    """Places that are named once: of several for one place, any may be the last."""
    n = int(name[10])
    kernel, count = [d.int(1, 3) for _ in range(n)], [d.int(1, 5) for _ in range(n)]
    size = [k * c for k, c in zip(kernel, count)]
    shape = (d.int(1, 3), d.int(1, 4))
    index = np.stack([
        d.rng.permutation(int(np.prod(size)))[: int(np.prod(count))] for _ in range(shape[0] * shape[1])
    ]).reshape(*shape, *count)  # fmt: skip
    return call(d.array((*shape, *count)), index.astype("i4"), tuple(kernel) if n > 1 else kernel[0],
                **({"output_size": tuple(size)} if d.maybe() else {}))  # fmt: skip


@GRIDS("local_response_norm")
def response(d):
    shape = d.shape(3, large=False, empty=False)
    return call(d.array(shape), d.int(1, 7), alpha=d.float(0.0, 1), beta=d.float(0.3, 1), k=d.float(1, 2))
