"""Products of few rows or columns into kernels."""

from ..ir import Kernel
from ..kernel import GPU_WORKGROUP
from .operand import COLUMNS, ROWS, Spelling
from .product import Launch, Product, Share

THIN = 8  # rows or columns of a thin product

LANES, STRIPS = 32, 8  # of a thin product's workgroup: threads side by side, and lines of them

AHEAD = 4  # turns whose reads are under way at once

# Lanes and reads under way of columns that lie side by side. More strips share a sum in "narrow", so few
# columns need no second pass.
THIN_LANES = {"thin": (LANES, AHEAD), "narrow": (8, 8)}


def thin_kernel(
    product: Product, long: int, part: int | None, lanes: int, ahead: int, narrow: bool = False
) -> Kernel:
    """Few rows, all of them by each thread, four columns at a time; `lanes` threads side by side."""
    made, domain = Launch(product, long, part, narrow), product.domain
    b = Spelling("b", product.b, COLUMNS, domain, narrow)
    free = b.along == "free"
    a = Spelling("a", product.a, ROWS, domain, narrow or free, b.along)
    functions = made.functions([a, b])
    if made.is_over:
        return thin_kernel(product, long, part, lanes, ahead, narrow=True)
    lanes, ahead = (lanes, ahead) if free else (LANES, AHEAD)
    strips = LANES * STRIPS // lanes
    stride = strips if free else 4 * LANES
    shares = [Share(0, 0, 0, 0, 0, stride, False, stride, s.digits(stride, made.q), 0) for s in (a, b)]
    options, depth = made.options([a, b], shares, stride * ahead)
    tiles = -(-product.n // (4 * (lanes if free else strips)))
    options |= {
        "high": high_of(product.m),
        "ahead": ahead,
        "lanes": lanes,
        "tiles": made.q.add("tiles", tiles),
    }
    return made.kernel("contract/skinny.wgsl", LANES * STRIPS, tiles * depth, functions, options)


def lanes_kernel(product: Product, long: int, part: int | None, narrow: bool = False) -> Kernel:
    """Few rows and short sums: every thread its own columns."""
    domain = product.domain
    b = Spelling("b", product.b, COLUMNS, domain, narrow, "free")
    made = Launch(product, long, part, narrow or not b.wide)
    a = Spelling("a", product.a, ROWS, domain, True, "free")
    functions = made.functions([a, b])
    if made.is_over:
        return lanes_kernel(product, long, part, narrow=True)
    shares = [Share(0, 0, 0, 0, 0, 1, False, 1, s.digits(1, made.q), 0) for s in (a, b)]
    options, depth = made.options([a, b], shares, 1)
    tiles = -(-product.n // (4 * GPU_WORKGROUP))
    options |= {"high": high_of(product.m), "tiles": made.q.add("tiles", tiles)}
    return made.kernel("contract/skinny_short.wgsl", GPU_WORKGROUP, tiles * depth, functions, options)


def high_of(rows: int) -> int:
    """The rows of a thread of a thin product: few numbers, so that sizes rarely compile anew."""
    return next(n for n in (1, 2, 4, 8) if n >= rows)
