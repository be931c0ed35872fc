"""Copies the input of windows (a convolution's), with its padding and channels innermost, where that pays."""

from dataclasses import replace
from math import prod
from typing import NamedTuple

from ...core.choose import choose
from ...core.node import Node
from ...core.shape import Affine, View, Window, contiguous_strides
from ..ir import Kernel
from ..lower import Move, PlanContext, view_through
from ..map import copy_kernel
from .cost_model import by_rule, candidates
from .dispatch import TILES
from .product import COLUMNS, ROWS, Operand, Product, sums_positions

# Picoseconds on an H200. Staging takes longer for elements that are read singly: along summed positions of
# windows (weights' gradients), each with its own checks, and along channels, with one check for many. The
# time of a byte of a transposing copy, and of one more kernel in a step of small ones.
ALONE, ALONG, TRANSPOSED, MORE_KERNEL = 0.7, 0.41, 0.38, 1e7


class Windowed(NamedTuple):
    """An operand of windows: its buffer, the view with zeros around, and the moves from there to the
    windows."""

    base: Node
    padded: View
    rest: tuple[Move, ...]


def windows_of(plan: PlanContext, o: Operand) -> Windowed | None:
    """The windows of a buffer that an operand reads; None if it reads none, or is computed."""
    base, chain = plan.base_of(o.node)
    index = next(
        (i for i, move in enumerate(chain) if move.name == "_windows"), None
    )  # the innermost windows
    if index is None or not o.is_stored or o.is_coded or not plan.has_buffer(base):
        return None
    (spec,) = chain[index].args
    view = view_through(base.shape, chain[:index])
    lead = (0,) * (len(view.shape) - len(spec))
    padded = view.pad((*lead, *(w.before for w in spec)), (*lead, *(w.after for w in spec)))
    unpadded = tuple(
        Window(w.kernel, w.stride, w.dilation) for w in spec
    )  # without padding, which the copy has
    return Windowed(base, padded, (Move("_windows", (unpadded,), None), *chain[index + 1 :]))


def lay_out_windows(product: Product) -> tuple[Product, list[Kernel]]:
    """A product with the input of its windows copied where that pays, and the copies to run first."""
    if not min(product.m, product.n, product.k, product.batch):
        return product, []
    for side, own in (("a", ROWS), ("b", COLUMNS)):
        o = getattr(product, side)
        windows = windows_of(product.plan, o)
        if windows is not None:
            default = rule(product, o, windows, own)
            name = choose(product.limits, "windows", product.bucket, ["view", "copy"], default)
            return copy_windows(product, side, windows) if name == "copy" else (product, [])
    return product, []


def rule(product: Product, o: Operand, windows: Windowed, own: int) -> str:
    """The variant "copy" if reading elements of windows one by one, as often as tiles do, costs more than a
    copy; otherwise "view"."""
    tile, domain = TILES.get(by_rule(product, candidates(product)).kernel), product.domain
    if tile is None:
        return "view"
    other = ROWS + COLUMNS - own
    # Each tile along the other side stages all elements of this one.
    times = -(-domain.total(other) // (tile.columns if other == COLUMNS else tile.rows))
    each = ALONE if sums_positions(o, domain.groups) else ALONG
    staged = times * prod(o.walked_shape())
    return "copy" if staged * each > 2 * TRANSPOSED * 4 * prod(windows.padded.shape) + MORE_KERNEL else "view"


def copy_windows(product: Product, side: str, windows: Windowed) -> tuple[Product, list[Kernel]]:
    """Copy the input of the windows, with its zeros and its inner leading dims (channels) innermost, and walk
    the dims in the order of the copy."""
    plan, domain = product.plan, product.domain
    o, padded = getattr(product, side), windows.padded
    rank, (move, *_) = len(padded.shape), windows.rest
    inner = rank - len(move.args[0])
    order = (0, *range(inner, rank), *range(1, inner))  # the batch, the image's dims, the channels
    laid = padded.permute(order)
    value = plan.temporary(prod(laid.shape), o.dtype.itemsize)
    strides = dict(zip(order, contiguous_strides(laid.shape), strict=True))
    plain_view = View(padded.shape, Affine(tuple(strides[d] for d in range(rank)), 0))
    shown = view_through(plain_view, windows.rest)
    new = o.read_from(value, shown.expand(domain.shape))
    far = new.affines[0].strides
    # The longest stride first, so that neighbours in memory are neighbours in the walk.
    walked = tuple(sorted(domain.order, key=lambda d: -abs(far[d]) if d in new.walked else 0))
    result = replace(product, domain=domain._replace(order=walked), **{side: new})
    return result, [copy_kernel(plan, o.load.node, plan.value_of(windows.base), laid, value)]
