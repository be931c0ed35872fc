"""Losses: distances of predictions from targets, as one number or one per element."""

from __future__ import annotations

from collections.abc import Callable
from math import log, nan, pi
from typing import TYPE_CHECKING

from ..core import dtype as dt
from ..core.declare import composed, composite
from ..core.node import describe
from ..core.warn_once import note
from .activation import hardtanh, softplus
from .index.indices import checked_places, gather_known, valid
from .norm import pairwise_distance
from .reduce import in_float32

if TYPE_CHECKING:
    from ..core.rules import Gradients
    from ..tensor import Tensor


def _reduce(x: Tensor, reduction: str) -> Tensor:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction={reduction!r} is unknown: use 'mean', 'sum' or 'none'")
    return x if reduction == "none" else getattr(x, reduction)()


def _reduce_weighted(loss: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    return _reduce(loss, reduction) if weight is None else _average(loss * weight, weight, reduction)


def _along_dim(x: Tensor, d: int, ndim: int) -> Tensor:
    """A vector along dim d of ndim dims. [n] -> [1, ..., n, ..., 1]"""
    return x.reshape(*(-1 if e == d else 1 for e in range(ndim)))


def _class_hits(input: Tensor, target: Tensor) -> tuple[int, Tensor]:
    """The class dim, and whether each class is the target's. [n, classes, ...]"""
    if not target.dtype.is_int:
        raise TypeError(f"target is {describe(target)}, but classes are integers: cast it with .long()")
    if input.ndim != target.ndim + 1:
        rule = (
            "dim 1 of input has the classes, and target lacks this dim: remove one of size 1 with squeeze(1)"
        )
        raise ValueError(f"target has {target.ndim} dims, and input {input.ndim}: {rule}")
    d = min(1, input.ndim - 1)
    return d, _is_class(input, target, d)


def _is_class(x: Tensor, target: Tensor, d: int) -> Tensor:
    """Whether each class is the target's. Comparisons fuse; a gather would not."""
    classes = type(x).arange(x.shape[d], dtype=dt.int32, device=x.device)
    return target.unsqueeze(d) == _along_dim(classes, d, x.ndim)


def _place(target: Tensor, classes: int, name: str, none: int = 0) -> Tensor:
    """Targets as int32 class indices. One out of range becomes -1, and is a fault unless it equals `none`.
    -> the shape of target"""
    return checked_places(target, classes, "known", name, none=none)


def _nan_if_unknown(loss: Tensor, place: Tensor) -> Tensor:
    """Losses, NaN where the target is not a class; the gradient passes through unchanged."""
    # Adding NaN keeps the gradient; a `where` would make it 0.
    return loss + (place < 0).where(nan, 0.0).to(loss.dtype)


def _own_grad(g: Tensor, y: Tensor, x: Tensor, target: Tensor, place: Tensor, dim: int) -> Gradients:
    """Computed from `place`, so that a gradient alone also reports a target that is not a class."""
    return [_is_class(x, place, dim).where(g, 0.0), None, None]


@composite(grad=_own_grad)
def _at_target(x: Tensor, target: Tensor, place: Tensor, *, dim: int) -> Tensor:
    """The element of each target's class. [n, classes, ...], [n, ...], [n, ...] -> [n, 1, ...]"""
    return _is_class(x, target, dim).where(x, 0.0).sum(dim, keepdim=True)


def _average(loss: Tensor, share: Tensor, reduction: str) -> Tensor:
    """For "mean" the sum of the losses by the sum of their weights, else the reduction of the losses."""
    return loss.sum() / share.sum() if reduction == "mean" else _reduce(loss, reduction)


def _weigh_by_class(
    loss: Tensor, target: Tensor, d: int, hit: Tensor, weight: Tensor | None, ignore_index: int
) -> tuple[Tensor, Tensor]:
    """Losses times the weight of their target's class, and these weights. Both are 0 for ignored targets."""
    # "mean" divides by the sum of the weights of targets that count, not by n, as in PyTorch.
    is_counted = target != ignore_index
    if weight is None:
        return is_counted.where(loss, 0.0), is_counted.float()
    own = hit.where(_along_dim(weight, d, hit.ndim), 0.0).sum(d)
    return is_counted.where(loss * own, 0.0), is_counted.where(own, 0.0)


def _check_class_weights(input: Tensor, weight: Tensor | None) -> None:
    if weight is not None and weight.dtype is not input.dtype:
        rule = f"the classes' weights must have the input's dtype, {input.dtype.short}"
        raise ValueError(f"weight is {describe(weight)}: {rule}: cast them with .to")


@composed
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-probability of each target, weighted. [n, classes, ...], [n, ...] int -> []

    ignore_index: targets of this class add nothing to the loss or its mean
    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if the target's shape does not fit; TypeError if it is not of integers.
    """
    d, hit = _class_hits(input, target)
    place = _place(target, input.shape[d], "nll_loss", ignore_index)
    loss = _nan_if_unknown(-_at_target(input, target, place, dim=d).squeeze(d), place)
    _check_class_weights(input, weight)
    loss, share = _weigh_by_class(loss, target, d, hit, weight, ignore_index)
    return _average(loss, share, reduction).to(input.dtype)


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

    label_smoothing: the fraction of the target that is spread over all classes.
    ValueError if it is not in 0 to 1, shapes do not fit or reduction is unknown; TypeError for a target of
    another dtype; IndexError, at the next read, for a target that is not a class.
    ignore_index: targets of this class add nothing to the loss or its mean
    """
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"label_smoothing={label_smoothing} must be from 0 to 1: pass a fraction")
    d, n = min(1, input.ndim - 1), input.shape[min(1, input.ndim - 1)]  # [classes] or [n, classes, ...]
    if target.dtype.is_float:
        if target.shape != input.shape:
            rule = "floats are probabilities of all classes: cast classes with .long()"
            raise ValueError(f"target is {describe(target)}: {rule}")
        if ignore_index >= 0:
            rule = "probabilities leave no class out: set those of this class to 0"
            raise ValueError(f"ignore_index={ignore_index}: {rule}")
        log_p = input.log_softmax(d)
        weighted = log_p if weight is None else log_p * _along_dim(weight, d, input.ndim)
        smoothed = target * (1 - label_smoothing) + label_smoothing / n if label_smoothing else target
        loss = -(weighted * smoothed).sum(d)
        # the class dim is summed already: the mean is over rows and positions
        return loss.sum() / loss.numel() if reduction == "mean" else _reduce(loss, reduction)
    _, hit = _class_hits(input, target)
    place = _place(target, n, "cross_entropy", ignore_index)
    loss, all_classes = _class_losses(input, target, place, d)
    _check_class_weights(input, weight)
    loss, share = _weigh_by_class(loss, target, d, hit, weight, ignore_index)
    if label_smoothing:
        # The uniform part of the target: 1 / n of the sum over all classes.
        each = all_classes if weight is None else all_classes * _along_dim(weight, d, input.ndim)
        spread = (target != ignore_index).where(each.sum(d), 0.0)
        loss = loss * (1 - label_smoothing) + spread * (label_smoothing / n)
    return _average(loss, share, reduction).to(input.dtype)


def _class_losses(input: Tensor, target: Tensor, place: Tensor, d: int) -> tuple[Tensor, Tensor]:
    """Negative log-probability of each target, and of every class.

    [n, classes, ...], [n, ...] -> [n, ...], [n, classes, ...]

    The maximum, the target's logit and the sum of exponentials are computed in one pass over the logits. The
    gradient needs no further sum: one more pass.
    """
    x, _ = in_float32(input)
    top = x.detach().amax(d, keepdim=True)  # the shift cancels out, so it has no gradient
    total = (x - top).exp().sum(d, keepdim=True).log()
    own = _at_target(x, target, place, dim=d)
    return _nan_if_unknown(((top - own) + total).squeeze(d), place), (top - x) + total


def _warn_of_broadcast(input: Tensor, target: Tensor) -> None:
    """Warn once that a target of another shape is broadcast, as PyTorch does: [n, 1] and [n] give [n, n]."""
    shape = getattr(target, "shape", ())
    if input.shape != shape:
        rule = "they broadcast, which is rarely intended: reshape one of them, e.g. with squeeze(1)"
        note(f"a loss has input of shape {list(input.shape)} and target of {list(shape)}: {rule}")


@composed
def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
    """Squared difference. With a weight for each element the mean is the weighted mean. [...], [...] -> []

    target: the expected values
    reduction: "mean", "sum" or "none": how the losses are combined
    """
    _warn_of_broadcast(input, target)
    return _reduce_weighted((input - target).square(), weight, reduction)


@composed
def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
    """Absolute difference. With a weight for each element the mean is the weighted mean. [...], [...] -> []

    target: the expected values
    reduction: "mean", "sum" or "none": how the losses are combined
    """
    _warn_of_broadcast(input, target)
    return _reduce_weighted((input - target).abs(), weight, reduction)


@composed
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Half the squared difference up to delta, then a line of slope delta. [...], [...] -> []

    target: the expected values
    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if reduction is unknown.
    """
    if delta <= 0:
        raise ValueError(f"delta={delta}: must be above 0: pass a positive number")
    _warn_of_broadcast(input, target)
    error = input - target
    # Within delta this is error**2 / 2, beyond it delta * |error| - delta**2 / 2.
    near = hardtanh(error, -delta, delta)
    loss = near * (error - near * 0.5)
    return _reduce(loss if weight is None else loss * weight, reduction)


@composed
def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """huber_loss / beta; the absolute difference for beta=0. [...], [...] -> []

    target: the expected values
    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if beta is below 0.
    """
    if beta < 0:
        raise ValueError(f"beta={beta} is below 0: pass 0 or more")
    if beta == 0:
        return l1_loss(input, target, reduction)
    # divided before the sum: in 16 bits the undivided sum can overflow
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

    target: the expected probabilities
    reduction: "mean", "sum" or "none": how the losses are combined
    pos_weight: a factor for the positive targets of each class
    Raises ValueError if the target has another shape; if reduction is unknown.
    """
    _same_shape(input, target)
    low = input < 0  # one mask for all terms; abs would have no second derivative at 0
    # -target log(sigmoid(x)) - (1 - target) log(1 - sigmoid(x)) = max(x, 0) - x target + log(1 +
    # exp(-|x|)), which never overflows
    below = low.where(input, -input).exp().log1p()
    if pos_weight is None:
        loss = low.where(0.0, input) - input * target + below
    else:
        # pos_weight w scales the positive term: (1 - t) x + (1 + (w - 1) t) log(1 + exp(-x)).
        loss = input - input * target + (target * (pos_weight - 1) + 1) * (below + low.where(-input, 0.0))
    return _reduce(loss if weight is None else loss * weight, reduction)


def _same_shape(input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        rule = "the shapes must be equal: reshape one of them, e.g. with squeeze(1)"
        raise ValueError(f"target has shape {list(target.shape)}, input {list(input.shape)}: {rule}")


def _log(p: Tensor) -> Tensor:
    """log(p), at least -100; its gradient is 0 where p is 0."""
    # the smallest normal float32: devices may flush smaller numbers to 0, and log(0) is -inf
    least = 1.1754944e-38
    return (p < least).where(-100.0, p.maximum(least).log())


def _check_probabilities(p: Tensor, name: str) -> Tensor:
    """The same probabilities; one outside of 0 to 1 is a fault."""
    return valid(p, (p < 0) | (p > 1) | p.isnan(), f"binary_cross_entropy {name}") if p.dtype.is_float else p


def _two_class_grad(g: Tensor, y: Tensor, p: Tensor, target: Tensor) -> Gradients:
    """As in PyTorch: p * (1 - p) is at least 1e-12; the gradient by targets has unbounded logarithms."""
    return [g * (p - target) / (p * (1 - p)).maximum(1e-12), g * ((1 - p).log() - p.log())]


@composite(grad=_two_class_grad)
def _two_class(p: Tensor, target: Tensor) -> Tensor:
    return -(target * _log(p) + (1 - target) * _log(1 - p))


@composed
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """Negative log-likelihood of probabilities for targets in [0, 1]; logarithms are -100 at least.
    [...], [...] -> []

    ValueError if shapes differ or reduction is unknown; at the next read if an element of either is not in
    0 to 1.

    target: the expected probabilities
    """
    _same_shape(input, target)
    input, target = _check_probabilities(input, "input"), _check_probabilities(target, "target")
    loss = _two_class(input, target)
    return _reduce(loss if weight is None else loss * weight, reduction)


@composed
def kl_div(input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """target * (log(target) - input), where input has log-probabilities; "batchmean" divides by the batch.
    [n, ...], [n, ...] -> [], or [n, ...] for "none".

    reduction: "mean", "sum" or "none": how the losses are combined
    log_target: target has log-probabilities too
    Raises ValueError if reduction is unknown.
    """
    # xlogy: a target of 0 adds 0, although log(0) is -inf.
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
    """Negative log-likelihood of counts for a Poisson rate, or its logarithm. full adds Stirling's
    log(target!). [...], [...] -> []

    log_input: the input is the logarithm of the rate
    eps: a small number that is added to the rate before its logarithm
    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if reduction is unknown.
    """
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        # Stirling: log(t!) is about t log t - t + log(2 pi t) / 2. It is for t > 1; log(0!) and log(1!) are
        # 0.
        is_large = target > 1
        t = is_large.where(target, 1.0)
        loss = loss + is_large.where(t * t.log() - t + (t * (2 * pi)).log() * 0.5, 0.0)
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
    """(log(var) + (input - target)**2 / var) / 2, with var at least eps; full adds log(2 pi) / 2. -> []

    var: a number, or a tensor of input's shape, or of this shape without the last dim or with one dim of 1.

    ValueError if shapes do not fit, reduction is unknown or var is negative; for elements at the next read.
    """
    v = _variance(input, var)
    v = (v < eps).where(v - v.detach() + eps, v)  # the gradient of a var below eps is kept, as in PyTorch
    loss = ((input - target).square() / v + v.log()) * 0.5
    return _reduce(loss + 0.5 * log(2 * pi) if full else loss, reduction)


def _variance(input: Tensor, var: Tensor | float) -> Tensor:
    """The variance as a tensor that broadcasts to input."""
    if isinstance(var, int | float):
        if not var >= 0:
            raise ValueError(f"var={var} is negative or NaN: pass a variance of 0 or more")
        return input.full((), float(var), device=input.device)
    if var.shape == input.shape[:-1] and input.ndim:
        return valid(var, var < 0, "gaussian_nll_loss").unsqueeze(-1)
    # A var of the input's rank may have one dim of size 1 where the input has more.
    others = [n for n, m in zip(var.shape, input.shape, strict=False) if n != m]
    if var.ndim != input.ndim or others not in ([], [1]):
        rule = "pass a number, one var for each element, or one that broadcasts along a dim"
        raise ValueError(f"var has shape {list(var.shape)}, input {list(input.shape)}: {rule}")
    return valid(var, var < 0, "gaussian_nll_loss")


def _positive_part(x: Tensor) -> Tensor:
    """max(0, x); at exactly 0 the gradient is 1, as in PyTorch."""
    return x.clamp(min=0.0)


@composed
def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """input where target is 1; max(0, margin - input) where target is -1.
    [...], [...] -> []

    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if reduction is unknown.
    """
    far = (target == 1).where(0.0, _positive_part(margin - input))
    return _reduce((target == -1).where(0.0, input) + far, reduction)


@composed
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """max(0, margin - target * (input1 - input2)) for targets 1 and -1. [...], [...], [...] -> []

    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if reduction is unknown.
    """
    return _reduce(_positive_part(margin - target * (input1 - input2)), reduction)


@composed
def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target * input)) for targets 1 and -1. [...], [...] -> []

    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if reduction is unknown.
    """
    return _reduce(softplus(-target * input), reduction)


@composed
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """The mean of binary_cross_entropy_with_logits over the classes. [..., classes], [..., classes] -> []

    target: 0 or 1 for each class
    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if reduction is unknown.
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
    """Mean over the other classes of max(0, margin - own + other)**p, own being the target's.
    [n, classes], [n] int -> []

    target: the class of each row
    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if p is neither 1 nor 2.
    """
    if p not in (1, 2):
        raise ValueError(f"p={p} must be 1 or 2: pass one of these")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"reduction={reduction!r} is unknown: use 'mean', 'sum' or 'none'")
    input = input.reshape(1) if not input.ndim else input
    if weight is not None and weight.shape != input.shape[-1:]:
        raise ValueError(f"weight has shape {list(weight.shape)}: pass one number for each class")
    # A row [classes] may have a target [1], as in PyTorch.
    target = target.reshape(()) if input.ndim == 1 and target.shape == (1,) else target
    d, hit = _class_hits(input, target)
    place = _place(target, input.shape[d], "multi_margin_loss")
    right = _at_target(input, target, place, dim=d)
    excess = hit.where(0.0, (margin - right + input).relu())  # the class itself adds nothing. [n, classes]
    excess = excess if p == 1 else excess.square()
    loss = excess.sum(d) * (1 / input.shape[d])
    loss = _nan_if_unknown(loss, place)
    loss = loss if weight is None else loss * hit.where(weight, 0.0).sum(d)
    return _reduce(loss, reduction)


@composed
def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """The sum of max(0, 1 - (input[target] - input[other])) over all pairs of a target class and another
    class, divided by the number of classes.

    Targets are classes up to the first -1 of a row. [n, classes], [n, classes] int -> []

    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if shapes differ, or the target is not of integers.
    """
    if input.shape != target.shape or input.ndim > 2 or not target.dtype.is_int:
        raise ValueError("input and integer target must have the same shape of at most 2 dims")
    if not input.ndim:
        input, target = input.reshape(1), target.reshape(1)
    n = input.shape[-1]
    # A row's classes end before its first negative number: up to there the cumulative count is 0.
    listed = (target < 0).cumsum(-1) == 0
    # -1 ends a row and is not out of range; other negative numbers are.
    place = _place((target == -1).where(0, target), n, "multilabel_margin_loss")
    unknown, place = (place < 0).any(-1), place.maximum(0)
    classes = type(input).arange(n, dtype=dt.int32, device=input.device)
    # whether each class is one of the row's targets. [n, classes]
    is_target = ((place.unsqueeze(-1) == classes) & listed.unsqueeze(-1)).any(-2)
    # max(0, 1 - (input[target] - input[other])). [n, target, other]
    excess = (1 - gather_known(input, -1, place).unsqueeze(-1) + input.unsqueeze(-2)).relu()
    is_pair = listed.unsqueeze(-1) & ~is_target.unsqueeze(-2)
    loss = is_pair.where(excess, 0.0).sum((-2, -1)) * (1 / max(n, 1))
    return _reduce(unknown.where(nan, loss), reduction)


def _check_margin(margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"margin={margin} is not above 0: pass a positive number")


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
    """triplet_margin_loss with any distance function. [n, d], [n, d], [n, d] -> []

    anchor: the rows that others are compared with
    positive: rows that should be near
    negative: rows that should be far
    distance_function: takes two tensors of rows and returns their distances; None is the Euclidean distance
    margin: how much farther the negative must be
    swap: use the distance from positive to negative if it is smaller
    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if reduction is unknown.
    """
    _check_margin(margin)
    distance = distance_function or pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    # swap: the smaller of both distances to the negative (Balntas et al., 2016)
    far = far.minimum(distance(positive, negative)) if swap else far
    return _reduce(_positive_part(near - far + margin), reduction)


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

    p: the order of the norm
    eps: a small number that is added to the differences
    swap: use the distance from positive to negative if it is smaller
    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if reduction is unknown.
    """
    _check_margin(margin)
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    far = far.minimum(pairwise_distance(positive, negative, p, eps)) if swap else far
    return _reduce(_positive_part(near - far + margin), reduction)


@composed
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """1 - cosine where target is 1, max(0, cosine - margin) where it is -1. [n, d], [n, d], [n] -> []

    input1: the first tensor
    input2: the second tensor
    reduction: "mean", "sum" or "none": how the losses are combined
    Raises ValueError if reduction is unknown.
    """
    (a, of_a), (b, of_b) = map(in_float32, (input1, input2))
    # 1e-12 bounds the gradient at zero vectors by 1e6
    cosine = (a * b).sum(-1) / (((a * a).sum(-1) + 1e-12) * ((b * b).sum(-1) + 1e-12)).sqrt()
    loss = _reduce((target == 1).where(1 - cosine, _positive_part(cosine - margin)), reduction)
    return loss.to(dt.promote(of_a, of_b))
