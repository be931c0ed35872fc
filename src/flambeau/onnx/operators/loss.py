"""Losses: NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss."""

from ...nn import functional as F
from ...tensor import Tensor
from .table import operator

NOTHING = -(2**31)  # an index that targets never have


@operator("NegativeLogLikelihoodLoss", since=12)
def nll_loss(
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> Tensor:
    """[n, classes, ...], [n, ...] -> [] or, without a reduction, [n, ...]"""
    ignored = NOTHING if ignore_index is None else ignore_index
    return F.nll_loss(x, target.long(), weight, ignore_index=ignored, reduction=reduction)


@operator("SoftmaxCrossEntropyLoss", since=12)
def softmax_cross_entropy_loss(
    scores: Tensor,
    labels: Tensor,
    weights: Tensor | None = None,
    *,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> tuple[Tensor, Tensor]:
    """Return the loss, and the logarithms of the probabilities. [n, classes, ...], [n, ...] -> [], as
    scores"""
    logs = F.log_softmax(scores, 1)
    return nll_loss(logs, labels, weights, ignore_index=ignore_index, reduction=reduction), logs
