"""Losses: how far predictions are from targets, one number or one an element."""

from __future__ import annotations

from collections.abc import Callable
from math import log, nan, pi
from typing import TYPE_CHECKING, Any

from ..core import dtype as dt
from ..core.declare import composed, composite
from ..core.node import describe
from ..core.warn_once import note
from .activation import hardtanh, softplus
from .index.indices import picked, placed, valid
from .norm import pairwise_distance
from .reduce import in_float32

if TYPE_CHECKING:
    from ..tensor import Tensor


def _reduce(x, reduction: str):
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction={reduction!r} is unknown: use 'mean', 'sum' or 'none'")
    return x if reduction == "none" else getattr(x, reduction)()


def _weighed(loss, weight, reduction: str):
    return _reduce(loss, reduction) if weight is None else _averaged(loss * weight, weight, reduction)


def _along(x, d: int, ndim: int):
    """A vector laid along dim d of ndim."""
    return x.reshape(*(-1 if e == d else 1 for e in range(ndim)))


def _hits(input, target):
    """(class dim, whether each class is the target's)"""
    if not target.dtype.is_int:
        raise TypeError(f"target is {describe(target)}, and classes are integers: cast it with .long()")
    if input.ndim != target.ndim + 1:
        rule = "classes are at dim 1 of input, and target is without that dim: squeeze(1) takes one of size 1"
        raise ValueError(f"target has {target.ndim} dims, and input {input.ndim}: {rule}")
    d = min(1, input.ndim - 1)
    return d, _is_class(input, target, d)


def _is_class(x, target, d: int):
    """Whether each class is the target's: comparisons fuse, and need no gather."""
    classes = type(x).arange(x.shape[d], dtype=dt.int32, device=x.device)
    return target.unsqueeze(d) == _along(classes, d, x.ndim)


def _place(target, classes: int, name: str, none: int = 0):
    """Targets as classes, those that are none as -1: a fault, unless one is `none`. -> the shape of target"""
    return placed(target, classes, "known", name, none=none)


def _none_unknown(loss, place):
    """Losses, NaN where the target is no class; the gradient is theirs."""
    return loss + (place < 0).where(nan, 0.0).to(loss.dtype)


def _own_grad(g, y, x, target, place, dim):
    """By the place, so that a gradient alone tells of a target that is no class, too."""
    return [_is_class(x, place, dim).where(g, 0.0), None, None]


@composite(grad=_own_grad)
def _own(x: Tensor, target: Any, place: Any, *, dim: Any) -> Tensor:
    """What each target's class has. [n, classes, ...], [n, ...], [n, ...] -> [n, 1, ...]"""
    return _is_class(x, target, dim).where(x, 0.0).sum(dim, keepdim=True)


def _averaged(loss, share, reduction: str):
    """The mean by the weights of what counts, where the reduction is one."""
    return loss.sum() / share.sum() if reduction == "mean" else _reduce(loss, reduction)


def _counted(loss, target, d: int, hit, weight, ignore_index: int):
    """Losses by the weight of their target's class, and these weights; both 0 where a target is ignored."""
    kept = target != ignore_index
    if weight is None:
        return kept.where(loss, 0.0), kept.float()
    own = hit.where(_along(weight, d, hit.ndim), 0.0).sum(d)
    return kept.where(loss * own, 0.0), kept.where(own, 0.0)


@composed
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log-probability of each target, weighted. [n, classes, ...], [n, ...] int -> []

    ignore_index: a class that counts for nothing
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where the target's shape does not fit; TypeError where it is not of integers.
    """
    d, hit = _hits(input, target)
    place = _place(target, input.shape[d], "nll_loss", ignore_index)
    loss = _none_unknown(-_own(input, target, place, dim=d).squeeze(d), place)
    loss, share = _counted(loss, target, d, hit, weight, ignore_index)
    return _averaged(loss, share, reduction).to(input.dtype)


@composed
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Negative log-likelihood of softmax(input). Logits [n, classes, ...], int classes [n, ...] or their
    probabilities [n, classes, ...] -> []

    label_smoothing: the share of the target that is spread over all classes.
    ValueError where it is not in 0 to 1, or for other shapes or another reduction; TypeError for a target of
    another dtype; IndexError, at the next read, for a class that is none.
    ignore_index: a class that counts for nothing
    """
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"label_smoothing={label_smoothing} is not in 0 to 1: give a share")
    d, n = min(1, input.ndim - 1), input.shape[min(1, input.ndim - 1)]
    if target.dtype.is_float:
        if target.shape != input.shape:
            rule = "floats are probabilities of all classes: cast classes with .long()"
            raise ValueError(f"target is {describe(target)}: {rule}")
        log_p = input.log_softmax(d)
        weighted = log_p if weight is None else log_p * _along(weight, d, input.ndim)
        wanted = target * (1 - label_smoothing) + label_smoothing / n if label_smoothing else target
        loss = -(weighted * wanted).sum(d)
        return loss.sum() / loss.numel() if reduction == "mean" else _reduce(loss, reduction)
    _, hit = _hits(input, target)
    place = _place(target, n, "cross_entropy", ignore_index)
    loss, all_classes = _surprise(input, target, place, d)
    loss, share = _counted(loss, target, d, hit, weight, ignore_index)
    if label_smoothing:
        each = all_classes if weight is None else all_classes * _along(weight, d, input.ndim)
        spread = (target != ignore_index).where(each.sum(d), 0.0)
        loss = loss * (1 - label_smoothing) + spread * (label_smoothing / n)
    return _averaged(loss, share, reduction).to(input.dtype)


def _surprise(input, target, place, d: int):
    """Minus the log-probability of each target, and of every class; logits, and where the target's class is.

    The largest logit and the target's, and with them the sum of exponentials, need one reading of the logits;
    their gradient, which needs no further sum, one more. [n, classes, ...] -> [n, ...], [n, classes, ...]
    """
    x, _ = in_float32(input)
    top = x.detach().amax(d, keepdim=True)  # what is subtracted changes nothing, so it has no gradient
    total = (x - top).exp().sum(d, keepdim=True).log()
    own = _own(x, target, place, dim=d)
    return _none_unknown(((top - own) + total).squeeze(d), place), (top - x) + total


def _notes_shapes(input, target) -> None:
    """Say once that a target of another shape is broadcast, as PyTorch does: [n, 1] and [n] make n * n."""
    shape = getattr(target, "shape", ())
    if input.shape != shape:
        rule = "they are broadcast, which is seldom meant: reshape one of them, as by squeeze(1)"
        note(f"a loss has input of shape {list(input.shape)} and target of {list(shape)}: {rule}", 5)


@composed
def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
    """Squared difference; a weight for each makes the mean one by weights. [...], [...] -> []

    target: the values that are wanted
    reduction: "mean", "sum" or "none": what becomes of the losses
    """
    _notes_shapes(input, target)
    return _weighed((input - target).square(), weight, reduction)


@composed
def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
    """Absolute difference; a weight for each makes the mean one by weights. [...], [...] -> []

    target: the values that are wanted
    reduction: "mean", "sum" or "none": what becomes of the losses
    """
    _notes_shapes(input, target)
    return _weighed((input - target).abs(), weight, reduction)


@composed
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Half the squared difference up to delta, then a line of slope delta. [...], [...] -> []

    target: the values that are wanted
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown.
    """
    if delta <= 0:
        raise ValueError(f"delta={delta}: the line begins above 0: give a number above 0")
    _notes_shapes(input, target)
    away = input - target
    near = hardtanh(away, -delta, delta)  # bends at 0, and neither at delta nor beyond
    loss = near * (away - near * 0.5)
    return _reduce(loss if weight is None else loss * weight, reduction)


@composed
def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """huber_loss / beta; the absolute difference for beta=0. [...], [...] -> []

    target: the values that are wanted
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where beta is below 0.
    """
    if beta < 0:
        raise ValueError(f"beta={beta} is below 0: give a number from 0")
    if beta == 0:
        return l1_loss(input, target, reduction)
    # divided before it is added up: in 16 bits the sum alone may be too large
    return _reduce(huber_loss(input, target, "none", beta) * (1 / beta), reduction)


@composed
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Negative log-likelihood of sigmoid(input) for targets in [0, 1]. [...], [...] -> []

    target: the probabilities that are wanted
    reduction: "mean", "sum" or "none": what becomes of the losses
    pos_weight: a factor for the positive targets of each class
    Raises ValueError where the target has another shape; where reduction is unknown.
    """
    _same_shape(input, target)
    low = input < 0  # of all terms: abs has no second slope at 0
    below = low.where(input, -input).exp().log1p()
    if pos_weight is None:
        loss = low.where(0.0, input) - input * target + below
    else:
        loss = input - input * target + (target * (pos_weight - 1) + 1) * (below + low.where(-input, 0.0))
    return _reduce(loss if weight is None else loss * weight, reduction)


def _same_shape(input, target) -> None:
    if input.shape != target.shape:
        rule = "each number of input has one of target: reshape one of them, as by squeeze(1)"
        raise ValueError(f"target has shape {list(target.shape)}, and input {list(input.shape)}: {rule}")


def _log(p):
    """log(p), at least -100, with a slope of 0 where p is."""
    least = 1.1754944e-38
    return (p < least).where(-100.0, p.maximum(least).log())


def _probable(p, name: str):
    """Probabilities, with a fault where one is outside of 0 to 1."""
    return valid(p, (p < 0) | (p > 1) | p.isnan(), f"binary_cross_entropy {name}") if p.dtype.is_float else p


def _surprise_of_both_grad(g, y, p, target):
    """As PyTorch's: by probabilities at most 1e12, by targets of logarithms that end nowhere."""
    return [g * (p - target) / (p * (1 - p)).maximum(1e-12), g * ((1 - p).log() - p.log())]


@composite(grad=_surprise_of_both_grad)
def _surprise_of_both(p: Tensor, target: Any) -> Tensor:
    return -(target * _log(p) + (1 - target) * _log(1 - p))


@composed
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """Negative log-likelihood of probabilities for targets in [0, 1]; logs end at -100. [...], [...] -> []

    ValueError for another shape or reduction; at the next read for an element of either outside of 0 to 1.

    target: the probabilities that are wanted
    """
    _same_shape(input, target)
    input, target = _probable(input, "input"), _probable(target, "target")
    loss = _surprise_of_both(input, target)
    return _reduce(loss if weight is None else loss * weight, reduction)


@composed
def kl_div(input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """target * (log(target) - input) for input of log-probabilities; "batchmean" divides by dim 0 alone.
    [n, ...], [n, ...] -> [], or [n, ...] for "none".

    reduction: "mean", "sum" or "none": what becomes of the losses
    log_target: the target is logarithms too
    Raises ValueError where reduction is unknown.
    """
    loss = target.exp() * (target - input) if log_target else target.xlogy(target) - target * input
    if reduction != "batchmean":
        return _reduce(loss, reduction)
    return loss.sum() / (input.shape[0] if input.ndim else 1)


@composed
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """Of counts under a Poisson rate (its logarithm); full adds Stirling's log(target!). -> []

    log_input: the input is the logarithm of the rate
    eps: a small number that keeps divisions from 0
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown.
    """
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        many = target > 1
        t = many.where(target, 1.0)
        loss = loss + many.where(t * t.log() - t + (t * (2 * pi)).log() * 0.5, 0.0)
    return _reduce(loss, reduction)


@composed
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """(log(var) + (input - target)**2 / var) / 2, var at least eps; full adds log(2 pi) / 2. var is a number,
    of input's shape, or without its last dim; a dim of it may be 1. -> []

    ValueError for another shape or reduction, or a negative var; of elements at the next read.
    """
    v = _variance(input, var)
    v = (v < eps).where(v - v.detach() + eps, v)  # one below eps goes on learning, as PyTorch's does
    loss = ((input - target).square() / v + v.log()) * 0.5
    return _reduce(loss + 0.5 * log(2 * pi) if full else loss, reduction)


def _variance(input, var):
    """One for each number of input, or for several along one dim."""
    if isinstance(var, int | float):
        if not var >= 0:
            raise ValueError(f"var={var} is negative or NaN: give a variance from 0")
        return input.full((), float(var), device=input.device)
    if var.shape == input.shape[:-1] and input.ndim:
        return valid(var, var < 0, "gaussian_nll_loss").unsqueeze(-1)
    others = [n for n, m in zip(var.shape, input.shape, strict=False) if n != m]
    if var.ndim != input.ndim or others not in ([], [1]):
        rule = "give a number, or one var for each input, or for several along one dim"
        raise ValueError(f"var has shape {list(var.shape)}, and input {list(input.shape)}: {rule}")
    return valid(var, var < 0, "gaussian_nll_loss")


def _short(x):
    """What lacks to a margin; where just nothing does, it has the slope of what lacks, as PyTorch's."""
    return x.clamp(min=0.0)


@composed
def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """The input where target is 1, max(0, margin - input) where it is -1, their sum elsewhere.
    [...], [...] -> []

    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown.
    """
    lacking = (target == 1).where(0.0, _short(margin - input))
    return _reduce((target == -1).where(0.0, input) + lacking, reduction)


@composed
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """max(0, margin - target * (input1 - input2)) for targets 1 and -1. [...], [...], [...] -> []

    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown.
    """
    return _reduce(_short(margin - target * (input1 - input2)), reduction)


@composed
def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target * input)) for targets 1 and -1. [...], [...] -> []

    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown.
    """
    return _reduce(softplus(-target * input), reduction)


@composed
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """binary_cross_entropy_with_logits, its mean over the classes. [..., classes], [..., classes] -> []

    target: 0 or 1 for each class
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown.
    """
    loss = binary_cross_entropy_with_logits(input, target, weight, "none")
    return _reduce(loss.mean(-1), reduction)


@composed
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean over the other classes of max(0, margin - right + other)**p. [n, classes], [n] int -> []

    target: the class of each row
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where p is neither 1 nor 2.
    """
    if p not in (1, 2):
        raise ValueError(f"p={p} is neither 1 nor 2: give one of them")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"reduction={reduction!r} is unknown: use 'mean', 'sum' or 'none'")
    input = input.reshape(1) if not input.ndim else input
    if weight is not None and weight.shape != input.shape[-1:]:
        raise ValueError(f"weight has shape {list(weight.shape)}: give a number for each of the classes")
    target = target.reshape(()) if input.ndim == 1 and target.shape == (1,) else target
    d, hit = _hits(input, target)
    place = _place(target, input.shape[d], "multi_margin_loss")
    right = _own(input, target, place, dim=d)
    short = hit.where(0.0, (margin - right + input).relu())
    short = short if p == 1 else short.square()
    loss = short.sum(d) * (1 / input.shape[d])
    loss = _none_unknown(loss, place)
    loss = loss if weight is None else loss * hit.where(weight, 0.0).sum(d)
    return _reduce(loss, reduction)


@composed
def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """The hinge 1 - right + other over all pairs of a target class and another, by the number of classes.

    Targets are classes up to the first -1 of a row. [n, classes], [n, classes] int -> []

    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where shapes differ, or the target is not of integers.
    """
    if input.shape != target.shape or input.ndim > 2 or not target.dtype.is_int:
        raise ValueError("input and integer target need one shape of at most 2 dims")
    if not input.ndim:
        input, target = input.reshape(1), target.reshape(1)
    n = input.shape[-1]
    listed = (target < 0).cumsum(-1) == 0
    place = _place((target == -1).where(0, target), n, "multilabel_margin_loss")
    unknown, place = (place < 0).any(-1), place.maximum(0)
    classes = type(input).arange(n, dtype=dt.int32, device=input.device)
    is_target = ((place.unsqueeze(-1) == classes) & listed.unsqueeze(-1)).any(-2)
    short = (1 - picked(input, -1, place).unsqueeze(-1) + input.unsqueeze(-2)).relu()
    counted = listed.unsqueeze(-1) & ~is_target.unsqueeze(-2)
    loss = counted.where(short, 0.0).sum((-2, -1)) * (1 / max(n, 1))
    return _reduce(unknown.where(nan, loss), reduction)


def _is_margin(margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"margin={margin} is not above 0: the far pair has to be farther than the near one")


@composed
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """triplet_margin_loss by any distance of two tensors. [n, d], [n, d], [n, d] -> []

    anchor: the rows that others are compared with
    positive: rows that should be near
    negative: rows that should be far
    distance_function: of two tensors of rows; the Euclidean distance where there is none
    margin: how much farther the negative should be
    swap: take the distance from positive to negative where that is less
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown.
    """
    _is_margin(margin)
    distance = distance_function or pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    far = far.minimum(distance(positive, negative)) if swap else far
    return _reduce(_short(near - far + margin), reduction)


@composed
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin + |anchor - positive| - |anchor - negative|). [n, d], [n, d], [n, d] -> []

    p: which norm the distance is
    eps: a small number that keeps divisions from 0
    swap: take the distance from positive to negative where that is less
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown.
    """
    _is_margin(margin)
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    far = far.minimum(pairwise_distance(positive, negative, p, eps)) if swap else far
    return _reduce(_short(near - far + margin), reduction)


@composed
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """1 - cosine where target is 1, what it is above the margin where -1. [n, d], [n, d], [n] -> []

    input1: the first tensor
    input2: the second tensor
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown.
    """
    (a, of_a), (b, of_b) = map(in_float32, (input1, input2))
    # what is added bounds the slope at zeros by 1e6
    cosine = (a * b).sum(-1) / (((a * a).sum(-1) + 1e-12) * ((b * b).sum(-1) + 1e-12)).sqrt()
    loss = _reduce((target == 1).where(1 - cosine, _short(cosine - margin)), reduction)
    return loss.to(dt.promote(of_a, of_b))
