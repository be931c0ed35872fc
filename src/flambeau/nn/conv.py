"""Convolution layers: plain, transposed and deformable."""

from typing import Any

from ..core.dtype import DTypeLike
from ..device import DeviceLike
from ..errors import ValueError
from ..ops.conv import conv, grid_sample
from ..ops.conv.conv import pair
from ..tensor import Tensor
from .linear import default_init, new_parameter, not_negative, positive
from .module import Module, cast_layer
from .parameter import Parameter

Size = int | tuple[int, ...]
MODES = ("zeros", "reflect", "replicate", "circular")


class Convolution(Module):
    """Base of convolutions over any number of dims. [n, in, *size] -> [n, out, *out_size]"""

    nd: int
    function: Any
    bias: Parameter | None
    shown = ("padding", "dilation", "groups")

    def _setup(
        self,
        channels: tuple[int, int],
        kernel_size: Any,
        stride: Any,
        dilation: Any,
        groups: int,
        bias: bool,
        device: DeviceLike | None,
        swap: bool = False,
    ) -> None:
        """Set sizes and parameters. swap: the weight's layout is that of transposed convolutions."""
        name, (in_channels, out_channels) = type(self).__name__, channels
        not_negative(name, in_channels=in_channels, out_channels=out_channels)
        positive(name, groups=groups)
        if in_channels % groups or out_channels % groups:
            call = f"{name}({in_channels}, {out_channels}, groups={groups})"
            raise ValueError(f"{call}: groups must divide both numbers of channels: change one of the three")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = pair(kernel_size, self.nd), pair(stride, self.nd)
        self.dilation, self.transposed = pair(dilation, self.nd), swap
        # A convolution's weight is [out, in / groups, *kernel], a transposed one's [in, out / groups,
        # *kernel].
        first, second = channels if swap else channels[::-1]
        shape = (first, second // groups, *self.kernel_size)
        self.weight = new_parameter(*shape, device=device)
        self.bias = new_parameter(out_channels, device=device) if bias else None
        self.reset_parameters()

    @property
    def _reversed_padding_repeated_twice(self) -> list[int]:
        """The padding in the order of `pad`: both ends of the last dim first."""
        before: Any = getattr(self, "padding", (0,) * self.nd)
        after = before
        if isinstance(before, str):
            before, after = (
                conv.same_padding(self.kernel_size, self.stride, self.dilation)
                if before == "same"
                else [(0,) * self.nd] * 2
            )
        return [n for side in zip(before[::-1], after[::-1], strict=True) for n in side]

    def reset_parameters(self) -> None:
        """Initialise the parameters again."""
        default_init(self.weight, self.bias)

    def extra_repr(self) -> str:
        channels = f"{self.in_channels}, {self.out_channels}"
        text = f"{channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        usual = {
            "padding": (0,) * self.nd,
            "output_padding": (0,) * self.nd,
            "dilation": (1,) * self.nd,
            "groups": 1,
            "padding_mode": "zeros",
        }
        more = [f", {k}={getattr(self, k)!r}" for k in self.shown if getattr(self, k) != usual[k]]
        return text + "".join(more) + ("" if self.bias is not None else ", bias=False")


class _Conv(Convolution):
    shown = ("padding", "dilation", "groups", "padding_mode")

    def __init__(
        self,
        in_channels: int,
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
        self._setup((in_channels, out_channels), kernel_size, stride, dilation, groups, bias, device)
        self.padding = padding if isinstance(padding, str) else pair(padding, self.nd)
        self.padding_mode, self.output_padding = padding_mode, (0,) * self.nd
        rule = "padding must be a number, one for each dim, 'valid', or 'same' (stride 1): pass one of these"
        # with a stride, "same" has no unique amount of padding
        if isinstance(padding, str) and (
            padding not in ("same", "valid") or (padding == "same" and any(s != 1 for s in self.stride))
        ):
            raise ValueError(f"{type(self).__name__}(padding={padding!r}): {rule}")
        if padding_mode not in MODES:
            call = f"{type(self).__name__}(padding_mode={padding_mode!r})"
            raise ValueError(f"{call}: is unknown: use one of {', '.join(MODES)}")
        cast_layer(self, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The convolution with another weight and bias; subclasses may override it, as in PyTorch."""
        padding = self.padding
        # Other modes pad the input first; zeros are part of the convolution.
        if self.padding_mode != "zeros" and padding != "valid":
            pairs = self._reversed_padding_repeated_twice
            input, padding = input.pad(pairs, self.padding_mode), 0  # it is padded now
        run = type(self).function
        return run(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_Conv):
    """Cross-correlation with learned kernels. [n, in, l] -> [n, out, ol]

    ValueError if the channels do not divide evenly, or a mode is unknown.

    in_channels: channels of the input
    out_channels: channels of the result
    kernel_size: the window's size, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    padding: zeros at both ends, a number or one for each dim; "same" or "valid"
    dilation: the distance between elements of a window, one number or one for each dim
    groups: the number of groups of channels; an output reads only the inputs of its group
    padding_mode: the added values: "zeros", "reflect", "replicate" or "circular"
    """

    nd, function = 1, staticmethod(conv.conv1d)


class Conv2d(_Conv):
    """Cross-correlation with learned kernels. [n, in, h, w] -> [n, out, oh, ow]

    ValueError if the channels do not divide evenly, or a mode is unknown.

    in_channels: channels of the input
    out_channels: channels of the result
    kernel_size: the window's size, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    padding: zeros at both ends, a number or one for each dim; "same" or "valid"
    dilation: the distance between elements of a window, one number or one for each dim
    groups: the number of groups of channels; an output reads only the inputs of its group
    padding_mode: "zeros", "reflect", "replicate" or "circular": what is added
    """

    nd, function = 2, staticmethod(conv.conv2d)


class Conv3d(_Conv):
    """Cross-correlation with learned kernels. [n, in, d, h, w] -> [n, out, od, oh, ow]

    ValueError if the channels do not divide evenly, or a mode is unknown.

    in_channels: channels of the input
    out_channels: channels of the result
    kernel_size: the window's size, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    padding: zeros at both ends, a number or one for each dim; "same" or "valid"
    dilation: the distance between elements of a window, one number or one for each dim
    groups: the number of groups of channels; an output reads only the inputs of its group
    padding_mode: "zeros", "reflect", "replicate" or "circular": what is added
    """

    nd, function = 3, staticmethod(conv.conv3d)


class _ConvTranspose(Convolution):
    shown = ("padding", "output_padding", "dilation", "groups")

    def __init__(
        self,
        in_channels: int,
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
        if padding_mode != "zeros":
            call = f"{type(self).__name__}(padding_mode={padding_mode!r})"
            raise ValueError(f"{call}: only 'zeros' is possible: leave it out")
        self._setup(
            (in_channels, out_channels), kernel_size, stride, dilation, groups, bias, device, swap=True
        )
        self.padding, self.output_padding = pair(padding, self.nd), pair(output_padding, self.nd)
        self.padding_mode = padding_mode
        cast_layer(self, dtype)

    def forward(self, input: Tensor, output_size: tuple[int, ...] | None = None) -> Tensor:
        extra = self.output_padding if output_size is None else self._extra(input, tuple(output_size))
        run = type(self).function
        settings = self.stride, self.padding, extra, self.groups, self.dilation
        return run(input, self.weight, self.bias, *settings)

    def _extra(self, x: Tensor, output_size: tuple[int, ...]) -> tuple[int, ...]:
        """The output_padding for the requested sizes; ValueError names the possible ones."""
        size = x.shape[-self.nd :]
        # size = (n - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1, plus output_padding
        least = conv.transposed_size(
            size, self.kernel_size, self.stride, self.padding, (0,) * self.nd, self.dilation
        )
        output_sizes = output_size[-self.nd :]
        # Below the stride (or dilation) all sizes have the same windows.
        most = tuple(n + max(s, d) - 1 for n, s, d in zip(least, self.stride, self.dilation, strict=True))
        if len(output_sizes) != self.nd or any(
            not a <= n <= b for a, n, b in zip(least, output_sizes, most, strict=False)
        ):
            raise ValueError(
                f"{type(self).__name__}(output_size={list(output_size)}): sizes of {list(least)} to"
                f" {list(most)} are possible for {list(size)}: pass one of these"
            )
        return tuple(n - a for n, a in zip(output_sizes, least, strict=True))


class ConvTranspose1d(_ConvTranspose):
    """The adjoint of a convolution, with learned kernels. [n, in, l] -> [n, out, ol]

    ValueError if the channels do not divide evenly, or for a padding other than zeros.

    in_channels: channels of the input
    out_channels: channels of the result
    kernel_size: the window's size, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    output_padding: elements added at the end of each dim of the result, since several sizes are possible
    groups: the number of groups of channels; an output reads only the inputs of its group
    dilation: the distance between elements of a window, one number or one for each dim
    padding_mode: "zeros": no other is possible
    """

    nd, function = 1, staticmethod(conv.conv_transpose1d)


class ConvTranspose2d(_ConvTranspose):
    """The adjoint of a convolution, with learned kernels. [n, in, h, w] -> [n, out, oh, ow]

    ValueError if the channels do not divide evenly, or for a padding other than zeros.

    in_channels: channels of the input
    out_channels: channels of the result
    kernel_size: the window's size, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    output_padding: elements added at the end of each dim of the result, since several sizes are possible
    groups: the number of groups of channels; an output reads only the inputs of its group
    dilation: the distance between elements of a window, one number or one for each dim
    padding_mode: "zeros": no other is possible
    """

    nd, function = 2, staticmethod(conv.conv_transpose2d)


class ConvTranspose3d(_ConvTranspose):
    """The adjoint of a convolution, with learned kernels. [n, in, d, h, w] -> [n, out, od, oh, ow]

    ValueError if the channels do not divide evenly, or for a padding other than zeros.

    in_channels: channels of the input
    out_channels: channels of the result
    kernel_size: the window's size, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    output_padding: elements added at the end of each dim of the result, since several sizes are possible
    groups: the number of groups of channels; an output reads only the inputs of its group
    dilation: the distance between elements of a window, one number or one for each dim
    padding_mode: "zeros": no other is possible
    """

    nd, function = 3, staticmethod(conv.conv_transpose3d)


class DeformConv2d(Convolution):
    """Convolution whose taps are moved by offset, as in torchvision. ValueError if the
    channels do not divide evenly.

    [n, in, h, w], offset [n, 2 * groups * kh * kw, oh, ow], mask [n, groups * kh * kw, oh, ow]
    -> [n, out, oh, ow]

    in_channels: channels of the input
    out_channels: channels of the result
    kernel_size: the window's size, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    groups: the number of groups of channels; an output reads only the inputs of its group
    """

    nd = 2  # torchvision has it in 2 dims only

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ):
        self._setup((in_channels, out_channels), kernel_size, stride, dilation, groups, bias, device)
        self.padding = pair(padding)
        cast_layer(self, dtype)

    def forward(self, input: Tensor, offset: Tensor, mask: Tensor | None = None) -> Tensor:
        settings = (self.bias, self.stride, self.padding, self.dilation, mask)
        return grid_sample.deform_conv2d(input, offset, self.weight, *settings)
