"""Loss layers with weights, for many classes: adaptive softmax, and linear with cross entropy."""

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

from ..core import dtype as dt
from ..core.dtype import DTypeLike
from ..core.node import describe
from ..device import DeviceLike
from ..errors import ValueError
from ..ops.contract import linear
from ..ops.join import cat
from ..ops.loss import cross_entropy
from ..tensor import Tensor
from .containers import ModuleList, Sequential
from .linear import Linear
from .module import Module, cast_layer


class AdaptiveOutput(NamedTuple):
    """The log-probability of each target, and minus their mean."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-softmax over many classes, with smaller weights for rare classes (Grave et al., 2017).

    [n, in_features], int [n] -> ([n], []). Every cluster is computed for every row, since no shape may depend
    on values. cutoffs: where clusters of rarer classes begin, ascending. div_value: the factor by which the
    number of features shrinks from cluster to cluster. head_bias: a bias in the head. ValueError for
    cutoffs that are not ascending numbers of 1 to n_classes - 1.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ):
        cluster_ends = list(cutoffs)
        if (
            not cluster_ends
            or cluster_ends != sorted(set(cluster_ends))
            or cluster_ends[0] < 1
            or cluster_ends[-1] >= n_classes
        ):
            rule = f"cutoffs must be ascending integers from 1 to {n_classes - 1}: pass others"
            raise ValueError(f"AdaptiveLogSoftmaxWithLoss(cutoffs={cluster_ends}): {rule}")
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*cluster_ends, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        # The head has the frequent classes, and one output for each cluster of rarer ones.
        self.head = Linear(in_features, cluster_ends[0] + len(cluster_ends), head_bias, device=device)
        self.tail = ModuleList(self._cluster(i, device) for i in range(len(cluster_ends)))
        cast_layer(self, dtype)

    def _cluster(self, i: int, device: Any) -> Sequential:
        # each cluster of rarer classes has div_value times fewer features
        features = int(self.in_features // self.div_value ** (i + 1))
        classes = self.cutoffs[i + 1] - self.cutoffs[i]
        inner = Linear(self.in_features, features, bias=False, device=device)
        return Sequential(inner, Linear(features, classes, bias=False, device=device))

    def reset_parameters(self) -> None:
        """Initialise the parameters again."""
        for part in self.modules():
            if isinstance(part, Linear):
                part.reset_parameters()

    def log_prob(self, x: Tensor) -> Tensor:
        """Log-probabilities of all classes. [n, in_features] -> [n, n_classes]"""
        # [n, few + clusters]: frequent classes, then clusters
        head_classes, head = self.cutoffs[0], self.head(x).log_softmax(-1)
        # log p(class) = log p(its cluster) + log p(class in its cluster)
        rest = [
            m(x).log_softmax(-1) + head[..., head_classes + i : head_classes + i + 1]
            for i, m in enumerate(self.tail)
        ]
        return cat([head[..., :head_classes], *rest], -1)

    def predict(self, x: Tensor) -> Tensor:
        """The likeliest class of each row. [n, in_features] -> [n] int64"""
        return self.log_prob(x).argmax(-1)

    def forward(self, input_: Tensor, target_: Tensor) -> AdaptiveOutput:
        if target_.ndim not in (0, 1) or input_.shape[:-1] != target_.shape:
            rule = "takes rows and one class for each, [n, features] and [n], or [features] and []"
            raise ValueError(f"AdaptiveLogSoftmaxWithLoss({describe(input_)}, {describe(target_)}): {rule}")
        output = -cross_entropy_of(self.log_prob(input_), target_)  # log-probabilities, hence the sign
        return AdaptiveOutput(output, -output.mean())


def cross_entropy_of(log_probs: Tensor, target: Tensor) -> Tensor:
    """Minus the log-probability of each target; the input is normalised already. [..., c], [...] -> [...]"""
    # an index out of range is an error at the next read
    return -log_probs.gather(-1, target.to(dt.int32).unsqueeze(-1)).squeeze(-1)


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """cross_entropy of linear(input, linear_weight, linear_bias). [n, in], [classes, *out, in], int [n, *out]
    or [n, classes, *out] -> []

    linear_weight, linear_bias: of the linear map. [classes, *out, in], [classes, *out]
    target: classes, or their probabilities
    weight: factors of the classes. [classes]
    reduction: "mean", "sum" or "none"
    ignore_index: a class to ignore in targets
    label_smoothing: the share of each target that is spread over all classes
    options: accepted as in PyTorch, without effect: the planner decides what is stored
    ValueError if shapes do not fit.
    """
    if linear_weight.ndim < 2:
        raise ValueError(f"linear_weight has {linear_weight.ndim} dims: pass [classes, *out, in]")
    if ignore_index is not None and target.dtype.is_float:
        raise ValueError("ignore_index names a class, and target has probabilities: leave ignore_index out")
    classes, *out = linear_weight.shape[:-1]
    # cross_entropy would take the classes of a 1-d input for the batch
    if out and input.ndim < 2:
        raise ValueError(f"linear_weight of {linear_weight.ndim} dims needs a batch: pass input [n, in]")
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    scores = linear(input, linear_weight.reshape(-1, linear_weight.shape[-1]), bias)
    # class scores in dim 1, as cross_entropy takes them
    scores = scores.reshape(*input.shape[:-1], classes, *out)
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(scores, target, weight, ignored, reduction, label_smoothing)


class LinearCrossEntropyLoss(Module):
    """Cross entropy of a linear map of the input, whose weights it holds. [n, in_features], int [n] -> []

    in_features: features of the input
    num_classes: the number of classes
    out_features: further dims of targets, [n, *out_features]
    bias: the linear map adds learned offsets
    reduction, weight, ignore_index, label_smoothing: as in cross_entropy
    options: accepted as in PyTorch, without effect
    Raises ValueError if weight has another shape than [num_classes], or label_smoothing is not in 0 to 1.
    """

    weight: Tensor | None

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ):
        name = type(self).__name__
        if weight is not None and weight.shape != (num_classes,):
            rule = f"one factor for each of {num_classes} classes is needed: pass [{num_classes}]"
            raise ValueError(f"{name}(weight={describe(weight)}): {rule}")
        if not 0 <= label_smoothing <= 1:
            raise ValueError(
                f"{name}(label_smoothing={label_smoothing}): must be from 0 to 1: pass a fraction"
            )
        self.num_classes, self.out_features = num_classes, tuple(out_features)
        self.register_buffer("weight", weight)  # weight is not learned: a buffer moves with the module
        self.reduction, self.ignore_index, self.label_smoothing = reduction, ignore_index, label_smoothing
        self.linear = Linear(in_features, num_classes * prod(out_features), bias, device=device)
        cast_layer(self, dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape = (self.num_classes, *self.out_features)
        weight = self.linear.weight.reshape(*shape, self.linear.in_features)
        bias = None if self.linear.bias is None else self.linear.bias.reshape(*shape)
        return linear_cross_entropy(
            input,
            weight,
            target,
            linear_bias=bias,
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
        )
