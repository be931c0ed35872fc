"""Grids of interpolation and sampling."""

from .grid import Table, call

GRIDS = Table()
WITHOUT = {"upsample": "interpolate by its older name"}
EVERY = ("nearest", "nearest-exact", "area")
MODES = {1: (*EVERY, "linear"), 2: (*EVERY, "bilinear", "bicubic"), 3: (*EVERY, "trilinear")}


@GRIDS("interpolate", fixed=16, tol=2e-5)  # positions are rounded, and weights made of them
def interpolate(d):
    """Sizes, or factors."""
    n = d.int(1, 3)
    size = [d.one(1, 2, 3, 5, 8, 13) for _ in range(n)]
    mode = d.one(*MODES[n])
    arguments: dict = {"mode": mode}
    if mode.endswith(("linear", "cubic")):
        arguments["align_corners"] = d.maybe()
        arguments["antialias"] = n == 2 and d.maybe(0.4)
    if d.maybe(0.7) or mode == "area":
        arguments["size"] = tuple(d.one(1, 2, 4, 7, 8, 16, 26) for _ in range(n))
    else:
        factors = (1.0, 1.1, 1.5, 2.0, 2.5, 3.0, 0.6, 0.7, 1.7, 4 / 3)
        arguments["scale_factor"] = tuple(d.one(*factors) if size[i] > 1 else 2.0 for i in range(n))
        if d.maybe(0.3):
            arguments["recompute_scale_factor"] = True
    return call(d.array((d.int(1, 3), d.int(1, 5), *size)), **arguments)


@GRIDS(
    "grid_sample", fixed=8, tol=5e-5, half=False
)  # a position's rounding times the step between two pixels
def grid_sample(d):
    n = d.one(2, 2, 3)
    size, out = [d.one(1, 2, 5, 8) for _ in range(n)], [d.one(1, 3, 7) for _ in range(n)]
    batch = d.int(1, 3)
    mode = d.one("bilinear", "nearest", *(["bicubic"] if n == 2 else []))
    where = d.array((batch, *out, n), -1.6, 1.6)
    align = d.maybe()
    if mode == "nearest":
        where = d.steps((batch, *out, n), -25, 25, 1 / 16) + 1 / 97  # not in the middle of two pixels
    elif d.maybe(0.4):  # on pixels' centres, where the slope is that to the right
        size, align = [d.one(1, 2, 5) for _ in size], True
        where = d.steps((batch, *out, n), -3, 3, 0.5)
    return call(d.array((batch, d.int(1, 4), *size)), where.astype("f4"), mode=mode,
                padding_mode=d.one("zeros", "border", "reflection"), align_corners=align)  # fmt: skip


@GRIDS("affine_grid", fixed=3)
def affine_grid(d):
    n = d.one(2, 3)
    size = (d.int(1, 3), d.int(1, 3), *(d.one(2, 3, 8) for _ in range(n)))
    return call(d.array((size[0], n, n + 1)), size, align_corners=d.maybe())
