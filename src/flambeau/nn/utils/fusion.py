"""Folds batch norms in eval mode into the layer before them."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

from ...core.modes import no_grad
from ...errors import ValueError
from ...tensor import Tensor
from ..parameter import Parameter


class FoldedNorm(NamedTuple):
    """A batch norm in eval mode: its running mean and variance, eps, weight and bias."""

    mean: Tensor
    var: Tensor
    eps: float
    weight: Tensor | None
    bias: Tensor | None


@no_grad()
def _fold(weight: Tensor, bias: Tensor | None, norm: FoldedNorm, dim: int) -> tuple[Parameter, Parameter]:
    # y = (W x + b - mean) * scale + bias = (scale W) x + ((b - mean) * scale + bias), scale by output
    # channel.
    scale = (norm.var + norm.eps).rsqrt()
    scale = scale if norm.weight is None else scale * norm.weight
    shift = -norm.mean if bias is None else bias - norm.mean
    shift = shift * scale if norm.bias is None else shift * scale + norm.bias
    along = scale.reshape(*(-1 if d == dim else 1 for d in range(weight.ndim)))
    return Parameter(weight * along, weight.requires_grad), Parameter(shift, weight.requires_grad)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """The weight and bias of a convolution with the batch norm after it folded in.

    conv_w, conv_b: those of the convolution. bn_rm, bn_rv, bn_eps, bn_w, bn_b: running mean and variance,
    eps, weight and bias of the norm. transpose: of a transposed convolution.
    """
    norm = FoldedNorm(bn_rm, bn_rv, bn_eps, bn_w, bn_b)
    return _fold(conv_w, conv_b, norm, 1 if transpose else 0)  # the dim of output channels


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """The weight and bias of a linear layer with the batch norm after it folded in.

    linear_w, linear_b: those of the layer. bn_rm, bn_rv, bn_eps, bn_w, bn_b: running mean and variance, eps,
    weight and bias of the norm.
    """
    return _fold(linear_w, linear_b, FoldedNorm(bn_rm, bn_rv, bn_eps, bn_w, bn_b), 0)


def _fuse(layer: Any, bn: Any, transpose: bool) -> Any:
    if layer.training or bn.training or bn.running_mean is None:
        layers = f"{type(layer).__name__}, {type(bn).__name__}"
        raise ValueError(
            f"fuse({layers}): fusing needs running statistics: track them, and call eval() on both"
        )
    fused = deepcopy(layer)
    norm = FoldedNorm(bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    fused.weight, fused.bias = _fold(fused.weight, fused.bias, norm, 1 if transpose else 0)
    return fused


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of a convolution with the batch norm after it, in eval mode, folded in.

    conv: the convolution. bn: the norm. transpose: of a transposed convolution. ValueError in training.
    """
    return _fuse(conv, bn, transpose)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of a linear layer with the batch norm after it, in eval mode, folded in.

    linear: the layer. bn: the norm. ValueError in training.
    """
    return _fuse(linear, bn, False)


def skip_init(module_cls: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Construct module_cls with these arguments. Initial values are lazy, so values that are loaded before a
    read replace them at no cost."""
    return module_cls(*args, **kwargs)
