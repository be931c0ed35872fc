"""torch.nn.modules' private names: the bases of layers, and helpers that repeat a number for each dim."""

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

from .. import nn
from ..core.tree import is_list
from ..nn import hooks as _hooks
from ..nn.conv import Convolution as _ConvNd
from ..nn.dropout import Dropping as _DropoutNd
from ..nn.function_layer import FunctionLayer
from ..nn.hooks import RemovableHandle
from ..nn.lazy import LazyLayer as LazyModuleMixin
from ..nn.norm import BatchNorm as _BatchNorm
from ..nn.norm import InstanceNorm as _InstanceNorm
from ..nn.norm import NormBase
from ..nn.state_dict import Keys as _IncompatibleKeys
from ..tensor import Tensor

_NormBase, _LazyNormBase, _ConvTransposeNd, _LazyConvXdMixin = (
    _BatchNorm,
    LazyModuleMixin,
    _ConvNd,
    LazyModuleMixin,
)
NonDynamicallyQuantizableLinear, Container = nn.Linear, nn.Module
assert NormBase and _InstanceNorm and _DropoutNd and _IncompatibleKeys and RemovableHandle


class _ByName(type):
    """isinstance(x, _MaxPoolNd) is true for MaxPool1d, 2d and 3d."""

    layers: tuple[type, ...] = ()

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.layers) or type.__instancecheck__(cls, instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.layers) or type.__subclasscheck__(cls, subclass)


def _kind(name: str, layers: str) -> Any:
    classes = tuple(getattr(nn, layers.format(d)) for d in (1, 2, 3))
    doc = f"The base of {layers.format('N')}."
    return _ByName(
        name, (FunctionLayer,), {"layers": classes, "__module__": "torch.nn.modules", "__doc__": doc}
    )


_AvgPoolNd, _MaxPoolNd = _kind("_AvgPoolNd", "AvgPool{}d"), _kind("_MaxPoolNd", "MaxPool{}d")
_LPPoolNd, _MaxUnpoolNd = _kind("_LPPoolNd", "LPPool{}d"), _kind("_MaxUnpoolNd", "MaxUnpool{}d")
_AdaptiveAvgPoolNd = _kind("_AdaptiveAvgPoolNd", "AdaptiveAvgPool{}d")
_AdaptiveMaxPoolNd = _kind("_AdaptiveMaxPoolNd", "AdaptiveMaxPool{}d")


_WEIGHTED = "BCELoss BCEWithLogitsLoss CrossEntropyLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss"


class _LossType(type):
    """isinstance(x, _Loss) is true for every loss of torch.nn."""

    def __instancecheck__(cls, instance: Any) -> bool:
        kinds = {k.__name__ for k in type(instance).__mro__ if k.__module__ == "flambeau.nn.loss"}
        is_weighted = not kinds.isdisjoint(_WEIGHTED.split())
        is_base = cls is _Loss or (cls is _WeightedLoss and is_weighted)
        return type.__instancecheck__(cls, instance) or (bool(kinds) and is_base)


class _Loss(nn.Module, metaclass=_LossType):
    """The base of losses. reduction: how the losses are combined; size_average, reduce: its older names."""

    reduction: str

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean"):
        super().__init__()
        if size_average is not None or reduce is not None:
            is_mean = size_average is None or size_average
            reduction = "none" if reduce is not None and not reduce else "mean" if is_mean else "sum"
        self.reduction = reduction


class _WeightedLoss(_Loss):
    """The base of losses with a weight for each class."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
    ):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], Any]:
    def parse(x: Any) -> Any:
        values: Iterable[Any] = x if hasattr(x, "__iter__") else repeat(x, n)
        return tuple(values)

    parse.__name__ = name
    return parse


_single, _pair = _ntuple(1, "_single"), _ntuple(2, "_pair")
_triple, _quadruple = _ntuple(3, "_triple"), _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Any, n: int) -> tuple[Any, ...]:
    """The values of t in reverse order, each n times."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size: Any, defaults: list[int]) -> Any:
    """Sizes, with a default in the place of None."""
    if not is_list(out_size):
        return out_size  # as torch's does
    last_defaults = defaults[-len(out_size) :]
    return [d if v is None else v for v, d in zip(out_size, last_defaults, strict=True)]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Remove a prefix from the names of a state_dict."""
    for key in [k for k in state_dict if k.startswith(prefix)]:
        state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is not None:
        for key in [k for k in metadata if k.startswith(prefix) or k == prefix.rstrip(".")]:
            metadata[key.removeprefix(prefix) if key.startswith(prefix) else ""] = metadata.pop(key)


def _addindent(s_: str, numSpaces: int) -> str:
    """A text with all lines except the first indented."""
    first, *rest = s_.split("\n")
    return "\n".join([first, *(" " * numSpaces + line for line in rest)])


register_module_forward_hook = _hooks.register_module_forward_hook
register_module_forward_pre_hook = _hooks.register_module_forward_pre_hook
register_module_full_backward_hook = _hooks.register_module_full_backward_hook
register_module_full_backward_pre_hook = _hooks.register_module_full_backward_pre_hook
register_module_backward_hook = _hooks.register_module_full_backward_hook


def _canonical_mask(mask: Any, *_names: Any, target_type: Any = None, **_options: Any) -> Any:
    """A mask of bools as floats: -inf where it is true."""
    if mask is None or mask.dtype.is_floating_point:
        return mask
    return Tensor.zeros(*mask.shape, dtype=target_type, device=mask.device).masked_fill(mask, float("-inf"))


def _none_or_dtype(input: Any) -> Any:
    """The dtype of a tensor; None for None."""
    return None if input is None else input.dtype


def _get_softmax_dim(name: str, ndim: int, stacklevel: int) -> int:
    """The dim that softmax takes without one."""
    return 0 if ndim in (0, 1, 3) else 1


# torch's names that begin with _, which module_tree.py looks up
__all__ = [
    "_addindent",
    "_canonical_mask",
    "_get_softmax_dim",
    "_list_with_default",
    "_none_or_dtype",
    "_reverse_repeat_tuple",
]
