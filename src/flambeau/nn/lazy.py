"""Layers that take their input size from the first input, and then become the layer without "Lazy"."""

from typing import Any

from ..core.dtype import DTypeLike
from ..core.node import describe
from ..device import DeviceLike
from ..errors import ValueError
from ..tensor import Tensor
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, Size
from .linear import Linear
from .members import own_members
from .module import Module
from .norm import BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter, is_lazy


class LazyLayer(Module):
    """Base of lazy layers: the first call sets the size and changes the class to `becomes`.

    Until then parameters have no shape, and optimisers reject them; loading a state_dict sets it.
    """

    becomes: type[Module]
    size = ""  # the argument that follows from the input
    dim = 1  # the dim of the input with this size

    def _begin(self, device: DeviceLike | None, **options: Any) -> None:
        """Store the options of the layer to become, and create its parameters without a shape."""
        self._options = {"device": device, **options}
        # A template without values, of which only the names and kinds of parameters are used. Its input size
        # is the smallest that groups divides.
        example = self.becomes(int(options.get("groups", 1)), **{**self._options, "device": "meta"})
        for key, _ in list(own_members(example, Parameter)):
            setattr(self, key, UninitializedParameter(device=device))
        for key, b in list(own_members(example, Buffer)):
            has_shape = key == "num_batches_tracked"  # the count
            buffer = (
                Tensor.zeros(dtype=b.dtype, device=device)
                if has_shape
                else UninitializedBuffer(device=device)
            )
            self.register_buffer(key, buffer)

    def has_uninitialized_params(self) -> bool:
        """Whether the layer has seen no input yet."""
        return True

    def reset_parameters(self) -> None:
        """Do nothing: the values do not exist yet."""

    def initialize_parameters(self, *inputs: Any) -> None:
        """Become the layer for inputs like these."""
        x = inputs[0]
        if x.ndim <= max(self.dim, -self.dim - 1):
            rule = f"the size is taken from dim {self.dim}, which the input lacks: pass an input that has it"
            raise ValueError(f"{type(self).__name__}({describe(x)}): {rule}")
        self._become(x.shape[self.dim])

    def _become(self, size: int) -> None:
        """Become the layer for inputs of that size; values that were loaded meanwhile stay."""
        # Hooks and the mode may have been set before the first call.
        hooks, training = self._module_hooks, self.training
        fresh = dict(vars(self.becomes(size, **self._options)))
        for key in [k for k, v in vars(self).items() if isinstance(v, Tensor)]:
            value, first = vars(self)[key], fresh[key]
            if is_lazy(value):  # the parameter objects stay the same, since optimisers may hold them
                value.materialize(first.shape, dtype=value._dtype or first.dtype)
                value.assign_(first)
            elif value.shape != first.shape:
                call = f"{type(self).__name__}({self.size}={size})"
                rule = f"{key} was loaded as {describe(value)}, but this input needs {describe(first)}"
                raise ValueError(f"{call}: {rule}: pass another input")
            fresh[key] = value
        del self._options
        vars(self).update({**fresh, "_module_hooks": hooks, "training": training})
        # The layer changes its class in place: references to it, such as a Sequential's, stay valid.
        layer: Any = self
        layer.__class__ = self.becomes

    def forward(self, input: Tensor, *more: Any, **kw: Any) -> Any:
        self.initialize_parameters(input)
        return self.forward(input, *more, **kw)  # now the forward of the class that it became


class _LazyConv(LazyLayer):
    size = "in_channels"

    def __init__(
        self,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ):
        self._begin(
            device,
            out_channels=out_channels,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
            bias=bias,
            padding_mode=padding_mode,
            dtype=dtype,
        )

    def initialize_parameters(self, *inputs: Any) -> None:
        x, nd = inputs[0], self.becomes.nd  # type: ignore[attr-defined]
        if x.ndim not in (nd + 1, nd + 2):
            rule = f"takes {nd + 1} or {nd + 2} dims: reshape it"
            raise ValueError(f"{type(self).__name__}({describe(x)}): {rule}")
        self._become(x.shape[-nd - 1])


class _LazyConvTranspose(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size = 1,
        padding_mode: str = "zeros",
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ):
        self._begin(
            device,
            out_channels=out_channels,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            output_padding=output_padding,
            groups=groups,
            bias=bias,
            dilation=dilation,
            padding_mode=padding_mode,
            dtype=dtype,
        )


class _LazyNorm(LazyLayer):
    size = "num_features"

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
        *,
        bias: bool = True,
    ):
        self._begin(
            device,
            eps=eps,
            momentum=momentum,
            affine=affine,
            track_running_stats=track_running_stats,
            bias=bias,
            dtype=dtype,
        )

    def reset_running_stats(self) -> None:
        """Do nothing: there are no values yet."""


class _LazyInstanceNorm(_LazyNorm):
    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
        *,
        bias: bool = True,
    ):
        super().__init__(eps, momentum, affine, track_running_stats, device, dtype, bias=bias)


class LazyLinear(LazyLayer):
    """Linear that takes in_features from the first input. [..., n] -> [..., out_features]

    out_features: features of the output
    bias: learn an offset
    """

    becomes, size, dim = Linear, "in_features", -1

    def __init__(
        self,
        out_features: int,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ):
        self._begin(device, out_features=out_features, bias=bias, dtype=dtype)


class LazyConv1d(_LazyConv):
    """Conv1d whose in_channels is that of the first input. [n, in, l] -> [n, out, ol]

    out_channels: channels of the output
    kernel_size, stride, padding, dilation, groups, padding_mode: as in Conv1d
    bias: learn an offset a channel
    """

    becomes = Conv1d


class LazyConv2d(_LazyConv):
    """Conv2d whose in_channels is that of the first input. [n, in, h, w] -> [n, out, oh, ow]

    out_channels: channels of the output
    kernel_size, stride, padding, dilation, groups, padding_mode: as in Conv2d
    bias: learn an offset a channel
    """

    becomes = Conv2d


class LazyConv3d(_LazyConv):
    """Conv3d whose in_channels is that of the first input. [n, in, d, h, w] -> [n, out, od, oh, ow]

    out_channels: channels of the output
    kernel_size, stride, padding, dilation, groups, padding_mode: as in Conv3d
    bias: learn an offset a channel
    """

    becomes = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose):
    """ConvTranspose1d whose in_channels is that of the first input. [n, in, l] -> [n, out, ol]

    out_channels: channels of the output
    kernel_size, stride, padding, output_padding, dilation, groups, padding_mode: as in ConvTranspose1d
    bias: learn an offset a channel
    """

    becomes = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose):
    """ConvTranspose2d whose in_channels is that of the first input. [n, in, h, w] -> [n, out, oh, ow]

    out_channels: channels of the output
    kernel_size, stride, padding, output_padding, dilation, groups, padding_mode: as in ConvTranspose2d
    bias: learn an offset a channel
    """

    becomes = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose):
    """ConvTranspose3d whose in_channels is that of the first input. [n, in, d, h, w] -> [n, out, od, oh,
    ow]

    out_channels: channels of the output
    kernel_size, stride, padding, output_padding, dilation, groups, padding_mode: as in ConvTranspose3d
    bias: learn an offset a channel
    """

    becomes = ConvTranspose3d


class LazyBatchNorm1d(_LazyNorm):
    """BatchNorm1d whose num_features is that of the first input. [n, c] -> [n, c], [n, c, l] -> [n, c, l]

    eps: a small number that keeps divisions from 0
    momentum: the share of the batch in the running statistics
    affine: learn a factor and an offset for each channel; bias: with `affine`, learn the offset
    track_running_stats: keep running statistics, which eval mode uses
    """

    becomes = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm):
    """BatchNorm2d whose num_features is that of the first input. [n, c, h, w] -> [n, c, h, w]

    eps: a small number that keeps divisions from 0
    momentum: the share of the batch in the running statistics
    affine: learn a factor and an offset for each channel; bias: with `affine`, learn the offset
    track_running_stats: keep running statistics, which eval mode uses
    """

    becomes = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm):
    """BatchNorm3d whose num_features is that of the first input. [n, c, d, h, w] -> [n, c, d, h, w]

    eps: a small number that keeps divisions from 0
    momentum: the share of the batch in the running statistics
    affine: learn a factor and an offset for each channel; bias: with `affine`, learn the offset
    track_running_stats: keep running statistics, which eval mode uses
    """

    becomes = BatchNorm3d


class LazyInstanceNorm1d(_LazyInstanceNorm):
    """InstanceNorm1d whose num_features is that of the first input. [n, c, l] -> [n, c, l], [c, l] -> same

    eps: a small number that keeps divisions from 0
    momentum: the share of the batch in the running statistics
    affine: learn a factor and an offset for each channel; bias: with `affine`, learn the offset
    track_running_stats: keep running statistics, which eval mode uses
    """

    becomes = InstanceNorm1d


class LazyInstanceNorm2d(_LazyInstanceNorm):
    """InstanceNorm2d whose num_features is that of the first input. [n, c, h, w] -> [n, c, h, w], [c, h,
    w] -> same

    eps: a small number that keeps divisions from 0
    momentum: the share of the batch in the running statistics
    affine: learn a factor and an offset for each channel; bias: with `affine`, learn the offset
    track_running_stats: keep running statistics, which eval mode uses
    """

    becomes = InstanceNorm2d


class LazyInstanceNorm3d(_LazyInstanceNorm):
    """InstanceNorm3d whose num_features is that of the first input. [n, c, d, h, w] -> [n, c, d, h, w],
    [c, d, h, w] -> same

    eps: a small number that keeps divisions from 0
    momentum: the share of the batch in the running statistics
    affine: learn a factor and an offset for each channel; bias: with `affine`, learn the offset
    track_running_stats: keep running statistics, which eval mode uses
    """

    becomes = InstanceNorm3d
