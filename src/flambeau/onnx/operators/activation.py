"""Activations, Softmax and LogSoftmax."""

from math import prod
from typing import Any

from ...functions import where
from ...nn import functional as F
from ...tensor import Tensor
from .table import operator


@operator("Relu")
def relu(x: Tensor) -> Tensor:
    return F.relu(x)


@operator("Sigmoid")
def sigmoid(x: Tensor) -> Tensor:
    return x.sigmoid()


@operator("LeakyRelu")
def leaky_relu(x: Tensor, *, alpha: float = 0.01) -> Tensor:
    return F.leaky_relu(x, alpha)


@operator("Elu")
def elu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return F.elu(x, alpha)


@operator("Celu", since=12)
def celu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return F.celu(x, alpha)


@operator("Selu")
# Klambauer et al. (2017): alpha scales the negative side, gamma both.
def selu(x: Tensor, *, alpha: float = 1.6732632423543772, gamma: float = 1.0507009873554805) -> Tensor:
    return F.elu(x, alpha) * gamma


@operator("Softplus")
def softplus(x: Tensor) -> Tensor:
    return F.softplus(x)


@operator("Softsign")
def softsign(x: Tensor) -> Tensor:
    return F.softsign(x)


@operator("HardSigmoid")
def hard_sigmoid(x: Tensor, *, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    return (x * alpha + beta).clamp(0, 1)


@operator("HardSwish", since=14)
def hard_swish(x: Tensor) -> Tensor:
    return F.hardswish(x)


@operator("Swish", since=24)
def swish(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return F.silu(x) if alpha == 1 else x * (x * alpha).sigmoid()


@operator("Mish", since=18)
def mish(x: Tensor) -> Tensor:
    return F.mish(x)


@operator("Gelu", since=20)
def gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    return F.gelu(x, approximate=approximate)


@operator("ThresholdedRelu", since=10)
def thresholded_relu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return F.thresholded_relu(x, alpha)


@operator("Shrink", since=9)
def shrink(x: Tensor, *, bias: float = 0.0, lambd: float = 0.5) -> Tensor:
    # Integers too: the comparison with lambd, a float, must not round it.
    wide = x.to(x.dtype.as_float)
    return where(wide < -lambd, wide + bias, where(wide > lambd, wide - bias, 0.0)).to(x.dtype)


@operator("PRelu", since=7)
# not F.prelu: from opset 7 on the slope broadcasts to x as NumPy's operands do, aligned at the end
def prelu(x: Tensor, slope: Tensor) -> Tensor:
    return where(x < 0, x * slope, x)


@operator("PRelu", since=1)
def prelu_by_channel(x: Tensor, slope: Tensor) -> Tensor:
    """PRelu before opset 7: one slope, or one for each channel."""
    return prelu(x, slope.reshape(-1, *(1,) * (x.ndim - 2)) if slope.ndim == 1 else slope)


def _as_matrix(x: Tensor, axis: int) -> Tensor:
    """Flatten the dims before the axis to one, and the others to one."""
    # Before opset 13 softmax coerced its input to a matrix [dims before the axis, the rest].
    axis = axis % max(x.ndim, 1)
    return x.reshape(prod(x.shape[:axis]), prod(x.shape[axis:]))


def _apply_along(name: str, compute: Any) -> None:
    """Softmax or LogSoftmax: along one axis from opset 13 on; in older opsets over all dims from
    the axis on."""

    @operator(name, since=13)
    def along(x: Tensor, *, axis: int = -1) -> Tensor:
        return compute(x, axis)

    @operator(name)
    def flattened(x: Tensor, *, axis: int = 1) -> Tensor:
        return compute(_as_matrix(x, axis), 1).reshape(*x.shape)


for _name, _compute in (("Softmax", F.softmax), ("LogSoftmax", F.log_softmax)):
    _apply_along(_name, _compute)
