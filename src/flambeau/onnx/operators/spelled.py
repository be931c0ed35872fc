"""The fused operators by which patterns.py replaces groups of nodes."""

from functools import reduce
from math import prod
from typing import Any, NamedTuple

from ...core.shape import broadcast
from ...nn import functional as F
from ...tensor import Tensor
from .table import find, operator

OWN = "flambeau"
LONG = 1 << 22  # from this many scores on, storing them costs more than copying queries, keys and values
# a bound of masks: attention treats keys below it as masked, where softmax would still count them
LOWEST = -1e38
Factors = list[tuple[str, Tensor]]


class SpelledAttributes(NamedTuple):
    """The attributes that patterns.py sets. added: the number of masks; forms: what each factor scales, "q",
    "k" or their product "s", which "/" divides; axis: softmax's."""

    added: int
    forms: tuple[str, ...]
    axis: int | None = None


@operator("SpelledAttention", domain=OWN)
def spelled_attention(q: Tensor, k: Tensor, v: Tensor, *more: Tensor, node: Any, **attributes: Any) -> Tensor:
    """softmax(q @ k * factors + masks) @ v; more: masks, then factors.
    [..., n, d], [..., d, m], [..., m, e] -> [..., n, e]"""
    added, forms, axis = SpelledAttributes(**attributes)
    factors, opset = list(zip(forms, more[added:], strict=True)), node.opsets.get("", 1)
    mask = reduce(lambda a, b: a + b, more[:added]) if added else None
    scores = (*broadcast(q.shape[:-2], k.shape[:-2]), q.shape[-2], k.shape[-1])
    # Softmax's default axis changed with opset 13
    axis = (-1 if opset >= 13 else 1) if axis is None else axis
    is_last = axis % len(scores) == len(scores) - 1
    mask_fits = mask is None or broadcast(mask.shape, scores) == scores
    scale, q, k, factors = _separate_scale(q, k, factors, node)
    # Conditions of the fused kernel: softmax over keys, a mask that broadcasts to the scores, constant
    # scale.
    if is_last and mask_fits and not factors and _is_long(q, scores):
        mask = mask if mask is None else mask.to(mask.dtype.as_float).clamp(min=LOWEST)
        return F.scaled_dot_product_attention(q, k.mT, v, mask, scale=scale).to(v.dtype)
    s = reduce(lambda x, f: x / f[1] if f[0] == "/" else x * f[1], factors, q @ k)
    s = s if scale == 1 else s * scale
    s = s if mask is None else s + mask
    softmax = find("", "Softmax", opset)
    assert softmax is not None
    return softmax.function(s, axis=axis).to(v.dtype) @ v


def _is_long(q: Tensor, scores: tuple[int, ...]) -> bool:
    """Whether to avoid storing the scores. Storing few scores is faster than copying queries, keys and values
    to the layout that the attention kernel reads."""
    return q.device.kind == "gpu" and not q.device.limits.software and prod(scores) >= LONG


def _separate_scale(
    q: Tensor, k: Tensor, factors: Factors, node: Any
) -> tuple[float, Tensor, Tensor, Factors]:
    """Return the product of the constant factors; queries and keys times their other factors; and the other
    factors of the scores."""
    scale = 1.0
    of_scores: Factors = []
    for form, factor in factors:
        number = node.number(factor)
        if number:
            scale = scale / number if form == "/" else scale * number
        elif form in "s/":
            of_scores.append((form, factor))
        else:
            q, k = (q * factor, k) if form == "q" else (q, k * factor)
    return scale, q, k, of_scores
