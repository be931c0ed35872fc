"""Layers that take the sizes of their inputs from the first one: each becomes the layer it is named for."""

from inspect import signature
from typing import Any

from ..core.node import describe
from ..errors import ValueError
from ..tensor import Tensor
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .linear import Linear
from .module import Module
from .norm import BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from .parameter import Parameter, UninitializedBuffer, UninitializedParameter, is_lazy


class LazyLayer(Module):
    """What lazy layers share: the first call says the size, and then they are of class `becomes`.

    Until then parameters have no shape, and optimisers can't take them; a state_dict gives them theirs.
    """

    becomes: type[Module]
    size = ""  # the argument that the input tells
    dim = 1  # of the input, that is the size

    def __init__(self, *args: Any, **kw: Any):
        name = type(self).__name__
        rules = signature(self.becomes)
        try:
            rules.bind(1, *args, **kw)
        except TypeError as e:
            raise TypeError(
                f"{name}: {e}: it takes what {self.becomes.__name__} does, but {self.size}"
            ) from None
        self._given = args, kw
        device = kw.get("device")
        example = self.becomes(*self._example(), *args, **kw)
        for key, _ in list(example._own(Parameter)):
            setattr(self, key, UninitializedParameter(device=device))
        for key, b in list(example._own(Tensor)):
            made = b if key == "num_batches_tracked" else UninitializedBuffer(device=device)
            self.register_buffer(key, made)

    def _example(self) -> tuple[int, ...]:
        """The least sizes that a layer with the arguments given can have."""
        args, kw = self._given
        bound = signature(self.becomes).bind(1, *args, **kw)
        return (int(bound.arguments.get("groups", 1)),)

    def has_uninitialized_params(self) -> bool:
        """Whether no input has come yet."""
        return True

    def reset_parameters(self) -> None:
        """Nothing: there are no values yet."""

    def initialize_parameters(self, *inputs: Any) -> None:
        """Become the layer for inputs like these."""
        x = inputs[0]
        if x.ndim <= max(self.dim, -self.dim - 1):
            rule = f"the size is that of dim {self.dim}, which it does not have: give such a one"
            raise ValueError(f"{type(self).__name__}({describe(x)}): {rule}")
        self._become(x.shape[self.dim])

    def _become(self, size: int) -> None:
        """Become the layer for inputs of that size; what was loaded meanwhile stays."""
        (args, kw), hooks, training = self._given, self._hooks, self.training
        fresh = dict(vars(self.becomes(size, *args, **kw)))
        for key in [k for k, v in vars(self).items() if isinstance(v, Tensor)]:
            value, first = vars(self)[key], fresh[key]
            if is_lazy(value):  # who holds the parameters already goes on with these
                value.materialize(first.shape, dtype=first.dtype)
                value.assign_(first)
            elif value.shape != first.shape:
                call = f"{type(self).__name__}({self.size}={size})"
                rule = f"{key} was loaded as {describe(value)}, and is {describe(first)} for this input"
                raise ValueError(f"{call}: {rule}: give another input")
            fresh[key] = value
        del self._given
        vars(self).update({**fresh, "_hooks": hooks, "training": training})
        made: Any = self
        made.__class__ = self.becomes

    def forward(self, x: Tensor, *more: Any, **kw: Any) -> Any:
        self.initialize_parameters(x)
        return self.forward(x, *more, **kw)


class _LazyConv(LazyLayer):
    size = "in_channels"

    def initialize_parameters(self, *inputs: Any) -> None:
        x, nd = inputs[0], self.becomes.nd  # type: ignore[attr-defined]
        if x.ndim not in (nd + 1, nd + 2):
            rule = f"takes {nd + 1} or {nd + 2} dims: reshape it"
            raise ValueError(f"{type(self).__name__}({describe(x)}): {rule}")
        self._become(x.shape[-nd - 1])


class _LazyNorm(LazyLayer):
    size = "num_features"

    def reset_running_stats(self) -> None:
        """Nothing: there are no values yet."""


class LazyLinear(LazyLayer):
    """Linear whose in_features is that of the first input. [..., n] -> [..., out_features]

    TypeError for arguments that Linear does not take.
    """

    becomes, size, dim = Linear, "in_features", -1


TOLD = "TypeError for arguments that the layer does not take."


def _lazy(base: type, becomes: type[Any]) -> type[Any]:
    """The lazy layer of a class."""
    known = f"{becomes.__name__} whose {base.size} is that of the first input."  # type: ignore[attr-defined]
    shapes = (becomes.__doc__ or "").partition("\n")[0].rpartition(". ")[2]
    members = {"becomes": becomes, "__doc__": f"{known} {shapes}\n\n{TOLD}", "__module__": "flambeau.nn"}
    return type(f"Lazy{becomes.__name__}", (base,), members)


LazyConv1d, LazyConv2d, LazyConv3d = (_lazy(_LazyConv, c) for c in (Conv1d, Conv2d, Conv3d))
LazyConvTranspose1d = _lazy(_LazyConv, ConvTranspose1d)
LazyConvTranspose2d = _lazy(_LazyConv, ConvTranspose2d)
LazyConvTranspose3d = _lazy(_LazyConv, ConvTranspose3d)
LazyBatchNorm1d = _lazy(_LazyNorm, BatchNorm1d)
LazyBatchNorm2d = _lazy(_LazyNorm, BatchNorm2d)
LazyBatchNorm3d = _lazy(_LazyNorm, BatchNorm3d)
LazyInstanceNorm1d = _lazy(_LazyNorm, InstanceNorm1d)
LazyInstanceNorm2d = _lazy(_LazyNorm, InstanceNorm2d)
LazyInstanceNorm3d = _lazy(_LazyNorm, InstanceNorm3d)
