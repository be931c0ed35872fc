"""Normalisations, and Dropout."""

from typing import Any, NamedTuple

from ...core.dtype import as_dtype
from ...functions import bernoulli, where
from ...nn import functional as F
from ...tensor import Tensor
from .cast import dtype_name_of
from .random import generator_for
from .table import operator


class BatchAttributes(NamedTuple):
    """The attributes of BatchNormalization, under ONNX's names; old opsets have `is_test` and `spatial`."""

    epsilon: float = 1e-5
    momentum: float = 0.9
    training_mode: int = 0
    spatial: int = 1
    is_test: int = 0


def _by_channel(t: Tensor, x: Tensor) -> Tensor:
    """Reshape [c] to broadcast along x's dim 1."""
    return t.reshape(-1, *(1,) * (x.ndim - 2)) if t.ndim == 1 else t


def _affine(x: Tensor, scale: Tensor, b: Tensor) -> Tensor:
    return x * _by_channel(scale, x) + _by_channel(b, x)


def _batch_training(
    x: Tensor, scale: Tensor, b: Tensor, running: tuple[Any, ...], a: BatchAttributes
) -> tuple[Any, ...]:
    """Return the result, the new running statistics, and the batch's own."""
    dims = (0, *range(2, x.ndim))
    mean, var = x.mean(dims), x.var(dims, correction=0)
    y = F.batch_norm(x, None, None, scale, b, training=True, eps=a.epsilon)  # type: ignore[arg-type]
    # ONNX's momentum is the share of the old statistics, PyTorch's that of the new ones; the variance is
    # the biased one
    moved = [old * a.momentum + new * (1 - a.momentum) for old, new in zip(running, (mean, var), strict=True)]
    return y, *(m.to(r.dtype) for m, r in zip(moved, running, strict=True)), mean, var


def _batch_inference(
    x: Tensor, scale: Tensor, b: Tensor, mean: Tensor, var: Tensor, epsilon: float
) -> Tensor:
    """Normalise by the running statistics, as one multiplication and one addition for each channel."""
    wide = x.dtype.as_float
    # [c]; frozen weights are folded once, so this is computed at the first call only
    factor = scale.to(wide) / (var.to(wide) + epsilon).sqrt()
    return _affine(x.to(wide), factor, b.to(wide) - mean.to(wide) * factor).to(x.dtype)


@operator("BatchNormalization", since=14)
def batch_normalization(
    x: Tensor, scale: Tensor, b: Tensor, mean: Tensor, var: Tensor, **attributes: Any
) -> Any:
    """[n, c, ...], [c] four times -> [n, c, ...]; in training also the new running mean and variance"""
    a = BatchAttributes(**attributes)
    if a.training_mode:
        return _batch_training(x, scale, b, (mean, var), a)[:3]
    return _batch_inference(x, scale, b, mean, var, a.epsilon)


@operator("BatchNormalization")
def batch_normalization_1(*inputs: Tensor, node: Any = None, **attributes: Any) -> Any:
    """Before opset 14: training mode if the node has the outputs of training."""
    a = BatchAttributes(**attributes)
    x, scale, b, mean, var = inputs
    if node is not None and node.wants(1) and not a.is_test:
        return _batch_training(x, scale, b, (mean, var), a)
    if a.spatial:
        return _batch_inference(x, scale, b, mean, var, a.epsilon)
    # spatial=0 (opset 1 to 8): statistics for each activation, of the shape [c, ...]
    return (x - mean) / (var + a.epsilon).sqrt() * scale + b


@operator("InstanceNormalization")
def instance_normalization(x: Tensor, scale: Tensor, b: Tensor, *, epsilon: float = 1e-5) -> Tensor:
    """[n, c, ...], [c], [c] -> [n, c, ...]"""
    return F.instance_norm(x, None, None, scale, b, eps=epsilon)


@operator("LRN")
def lrn(x: Tensor, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> Tensor:
    """Return each element divided by a power of 1 and the squares of `size` channels around. [n, c, ...] ->
    same"""
    if size < 1:
        raise ValueError(f"size {size}: takes a number above 0")
    # an even size has one more channel after than before
    before = (size - 1) // 2
    pads = [min(n, x.shape[1]) for n in (before, size - 1 - before)]  # channels outside the tensor count as 0
    squares = x.square().pad([*(0, 0) * (x.ndim - 2), *pads])
    total = squares.tensor_unfold(1, 1 + sum(pads), 1).sum(-1)
    return x / (total * (alpha / size) + bias).pow(beta)


def _to_stash_type(x: Tensor, stash_type: int) -> Tensor:
    """x in the dtype that the statistics are computed in: float32, or its own if that is wider."""
    stash_dtype = as_dtype(dtype_name_of(stash_type))
    is_supported = stash_dtype.on_gpu or x.device.kind == "cpu"
    return x.to(stash_dtype) if is_supported and stash_dtype.rank > x.dtype.rank else x


@operator("LayerNormalization", since=17)
def layer_normalization(
    x: Tensor,
    scale: Tensor,
    b: Tensor | None = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
) -> tuple[Tensor, Tensor, Tensor]:
    """Over the dims from the axis on; also the mean, and 1 / the deviation. [..., n] -> [..., n]"""
    dims = tuple(range(axis % x.ndim, x.ndim))
    wide = _to_stash_type(x, stash_type)
    mean = wide.mean(dims, keepdim=True)
    inverse = (wide.var(dims, correction=0, keepdim=True) + epsilon).rsqrt()
    shape = tuple(x.shape[dims[0] :])
    if tuple(scale.shape) == shape and (b is None or tuple(b.shape) == shape):
        return F.layer_norm(x, shape, scale, b, epsilon), mean, inverse
    y = ((wide - mean) * inverse).to(x.dtype) * scale
    return (y if b is None else y + b), mean, inverse


@operator("RMSNormalization", since=23)
def rms_normalization(
    x: Tensor, scale: Tensor, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Tensor:
    """Divide by the root mean square over the dims from the axis on. [..., n] -> [..., n]"""
    dims = tuple(range(axis % x.ndim, x.ndim))
    shape = tuple(x.shape[dims[0] :])
    if tuple(scale.shape) == shape:
        return F.rms_norm(x, shape, scale, epsilon)
    wide = _to_stash_type(x, stash_type)
    return (wide * (wide.square().mean(dims, keepdim=True) + epsilon).rsqrt()).to(x.dtype) * scale


@operator("GroupNormalization", since=21)
def group_normalization(
    x: Tensor, scale: Tensor, b: Tensor, *, num_groups: int, epsilon: float = 1e-5, stash_type: int = 1
) -> Tensor:
    """[n, c, ...], [c], [c] -> [n, c, ...]"""
    return F.group_norm(_to_stash_type(x, stash_type), num_groups, scale, b, epsilon).to(x.dtype)


@operator("GroupNormalization", since=18)
def group_normalization_18(
    x: Tensor, scale: Tensor, b: Tensor, *, num_groups: int, epsilon: float = 1e-5
) -> Tensor:
    """Opset 18: one scale and shift for each group. [n, c, ...], [groups], [groups] -> [n, c, ...]"""
    each = x.shape[1] // num_groups
    scale, b = (t.repeat_interleave(each) for t in (scale, b))
    return group_normalization(x, scale, b, num_groups=num_groups, epsilon=epsilon)


@operator("LpNormalization")
def lp_normalization(x: Tensor, *, axis: int = -1, p: int = 2) -> Tensor:
    """Divide by the norm along an axis; 0 if the norm is 0."""
    if p not in (1, 2):
        raise ValueError(f"p={p}: takes 1 or 2")
    total = x.abs().sum(axis, keepdim=True) if p == 1 else x.square().sum(axis, keepdim=True)
    # divide by 1 where the norm is 0: the result is 0, and so is the gradient
    is_nonzero = total != 0
    norm = is_nonzero.where(total, 1.0)
    return x / (norm if p == 1 else norm.sqrt())


@operator("MeanVarianceNormalization")
def mean_variance_normalization(x: Tensor, *, axes: tuple[int, ...] = (0, 2, 3)) -> Tensor:
    """Mean 0 and variance 1 over the axes; 1e-9 is added to the deviation."""
    # The reference adds 1e-9 to the deviation, not to the variance.
    centred = x - x.mean(tuple(axes), keepdim=True)
    return centred / (centred.square().mean(tuple(axes), keepdim=True).sqrt() + 1e-9)


def _drop(x: Tensor, ratio: float, training: bool, seed: float | None = None) -> tuple[Tensor, Tensor]:
    if not 0 <= ratio < 1:
        raise ValueError(f"ratio {ratio}: must be at least 0 and below 1")
    if not training or ratio == 0:
        return x, Tensor.full(x.shape, True, device=x.device)
    mask = bernoulli(Tensor.full(x.shape, 1 - ratio, device=x.device), generator=generator_for(seed)).bool()
    return where(mask, x * (1 / (1 - ratio)), 0.0).to(x.dtype), mask


@operator("Dropout", since=12, numbers=("ratio", "training_mode"))
def dropout(
    x: Tensor, ratio: float | None = None, training_mode: bool | None = None, *, seed: int | None = None
) -> tuple[Tensor, Tensor]:
    """x, in training with elements set to 0; also the mask of kept elements."""
    return _drop(x, 0.5 if ratio is None else ratio, bool(training_mode), seed)


@operator("Dropout", since=7)
def dropout_7(x: Tensor, *, ratio: float = 0.5) -> tuple[Tensor, Tensor]:
    """Opsets 7 to 11: inference only."""
    return _drop(x, ratio, False)


@operator("Dropout")
def dropout_1(x: Tensor, *, ratio: float = 0.5, is_test: int = 0) -> tuple[Tensor, Tensor]:
    """Opsets 1 and 6: training unless is_test is set."""
    return _drop(x, ratio, not is_test)
