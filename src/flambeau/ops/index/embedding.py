"""Tables of vectors looked up by integers: embedding, and embedding_bag, which pools the vectors."""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core import dtype as dt
from ...core.declare import composed, composite
from ...core.modes import no_grad
from ..elementwise import choose
from ..reduce import in_float32
from .indices import as_index, checked_places, slices

if TYPE_CHECKING:
    from ...tensor import Tensor


def _check(input: Tensor, weight: Tensor) -> None:
    if weight.ndim != 2 or not input.dtype.is_int:
        raise TypeError("takes integer indices and a weight of 2 dims")


def _rows(input: Tensor, weight: Tensor, padding_idx: int | None, name: str) -> Tensor:
    """Rows of the table; row padding_idx gets no gradient."""
    places = as_index(weight, input, 0, name)
    y = slices(weight, places.reshape(-1), dim=0).reshape(*input.shape, weight.shape[1])
    return y if padding_idx is None else choose((input == padding_idx).unsqueeze(-1), y.detach(), y)


def _row_of(padding_idx: int | None, weight: Tensor) -> int | None:
    if padding_idx is not None and not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise ValueError(f"padding_idx={padding_idx} is not one of {weight.shape[0]} rows")
    return None if padding_idx is None else padding_idx % weight.shape[0]


@composite(grad=lambda g, y, weight, share: [g * share.to(g.dtype), None])
def _shared_gradient(weight: Tensor, share: Tensor) -> Tensor:
    """The weight, with its gradient multiplied by share. [n, d], [n, 1] -> [n, d]"""
    return weight


def by_frequency(weight: Tensor, input: Tensor) -> Tensor:
    """weight, with each row's gradient divided by the number of its occurrences in input. [n, d], [...] ->
    [n, d]"""
    places = as_index(weight, input, 0, "embedding").reshape(-1)
    ones = type(weight).ones(*places.shape, device=weight.device)
    count = type(weight).zeros(weight.shape[0], device=weight.device)._add_at(0, places, ones)
    return _shared_gradient(weight, (1 / count.clamp(min=1.0)).unsqueeze(1))


def limit_norms(input: Tensor, weight: Tensor, longest: float, p: float) -> None:
    """Scale the rows of weight at input down to a p-norm of at most `longest`, in place, without
    gradients."""
    with no_grad():
        table = weight.detach()
        size = table.norm(p, 1, True)
        # rows that input names
        named = type(weight).zeros(weight.shape[0], dtype=dt.bool_, device=weight.device)
        named = named.index_fill(0, input.reshape(-1), True).unsqueeze(1)
        # As in PyTorch, 1e-7 keeps the scaled norm from exceeding the limit.
        weight.assign_(table * (named & (size > longest)).where(longest / (size + 1e-7), 1.0))


@composed
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of weight at the indices; row padding_idx gets no gradient. [...], [n, d] -> [..., d]

    max_norm: used rows with a larger norm (of order norm_type) are scaled down in weight. scale_grad_by_freq:
    a row's gradient is divided by its number of occurrences in input. sparse: ignored, gradients are dense.
    Raises ValueError if padding_idx is not a row of weight.
    """
    _check(input, weight)
    if max_norm is not None:
        limit_norms(input, weight, max_norm, norm_type)
    weight = by_frequency(weight, input) if scale_grad_by_freq else weight
    return _rows(input, weight, _row_of(padding_idx, weight), "embedding")


def _check_offsets(offsets: Tensor, n: int) -> Tensor:
    """The same offsets. It is a fault if one descends or is above n, or if the first is not 0. [b] -> [b]"""
    offsets = offsets.int()
    first = type(offsets).arange(offsets.shape[0], dtype=dt.int32, device=offsets.device) == 0
    # Each offset is at least the one before; the first has the 0 of the padding before it.
    bad = (offsets < offsets._pad((1,), (-1,))) | (first & (offsets != 0))
    return checked_places(bad.where(-1, offsets), n + 1, "inside", "offsets")


def _bags(offsets: Tensor, n: int) -> Tensor:
    """The bag of each of n places: the last offset not above it, by binary search. [b] -> [n] int32"""
    offsets, bags = _check_offsets(offsets, n), offsets.shape[0]
    places = type(offsets).arange(n, dtype=dt.int32, device=offsets.device)
    # All positions search at once: each step tries the next lower power of two.
    bag, step = places * 0, 1 << max(bags - 1, 0).bit_length()
    while step > 1:
        step //= 2
        further = bag + step
        starts = offsets._gather(further.clamp(max=bags - 1), 0)
        bag = ((further < bags) & (starts <= places)).where(further, bag)
    return bag


def _pool(rows: Tensor, used: Tensor, bag: Tensor, bags: int, mode: str) -> Tensor:
    """Rows pooled by bag; rows that are not `used` are skipped. [n, d], [n, 1], [n] -> [bags, d]"""
    if not rows.shape[0]:
        # zeros that still depend on the table, for its gradient
        return rows.sum(0).expand(bags, rows.shape[1])
    zeros = type(rows).zeros(bags, rows.shape[1], dtype=rows.dtype, device=rows.device)
    # the number of used rows in each bag
    count = type(rows).zeros(bags, 1, device=rows.device)._add_at(0, bag, used.float())
    if mode == "max":
        places = bag.unsqueeze(1).expand(*rows.shape)
        visible = used.where(rows, float("-inf"))
        # amax without the zeros: a negative maximum stays
        return (count > 0).where(zeros.scatter_reduce(0, places, visible, "amax", include_self=False), 0.0)
    total = zeros._add_at(0, bag, used.where(rows, 0.0))
    return total if mode == "sum" else total / count.clamp(min=1.0)


def _pool_rows(rows: Tensor, used: Tensor, mode: str) -> Tensor:
    """Bags of equal length. [b, n, d], [b, n, 1] -> [b, d]"""
    if mode == "max":
        visible = used.where(rows, float("-inf"))
        top = visible.max(1)[0]
        return used.any(1).where(top, 0.0)
    total = used.where(rows, 0.0).sum(1)
    return total if mode == "sum" else total / used.float().sum(1).clamp(min=1.0)


@composed
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Rows of weight pooled bag by bag: sum, mean or max; row padding_idx is left out, an empty bag gives 0.

    Bags are the rows of input, or run from each offset to the next. per_sample_weights (mode "sum") multiply
    the rows. [b, n], [rows, d] -> [b, d]; [n], [rows, d], [b] -> [b, d]

    max_norm, norm_type, scale_grad_by_freq, sparse: as embedding takes them.
    offsets: the start of each bag
    include_last_offset: the last offset is the end of the last bag
    Raises ValueError if mode is unknown, the input does not have 2 dims (or 1, with offsets), or weights do
        not fit.
    """
    _check(input, weight)
    if max_norm is not None:
        limit_norms(input, weight, max_norm, norm_type)
    weight = by_frequency(weight, input) if scale_grad_by_freq else weight
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"mode={mode!r} is unknown: use 'sum', 'mean' or 'max'")
    if (input.ndim, offsets is None) not in ((2, True), (1, False)):
        raise ValueError("input must have 2 dims, or 1 dim with offsets")
    if per_sample_weights is not None and (mode != "sum" or per_sample_weights.shape != input.shape):
        raise ValueError("per_sample_weights need mode='sum' and the shape of input")
    row = _row_of(padding_idx, weight)
    rows, dtype = in_float32(_rows(input, weight, row, "embedding_bag"))
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    # No index equals -1, so without a padding row all are used (the or keeps the shape).
    used = (input != (-1 if row is None else row)).unsqueeze(-1) | (row is None)
    if offsets is None:
        return _pool_rows(rows, used, mode).to(dtype)
    bags = offsets.shape[0]
    y = _pool(rows, used, _bags(offsets, input.shape[0]), bags, mode).to(dtype)
    # the end of the last bag began an empty one
    return y.narrow(0, 0, bags - 1) if include_last_offset else y
