"""Convolution layers."""

from typing import Any

from ..ops.contract import conv1d, conv2d, pair
from ..tensor import Tensor
from .linear import default_init, new_parameter, positive
from .module import Module, Parameter

Size = int | tuple[int, ...]


class Convolution(Module):
    """What convolutions over any number of dims share. [n, in, *size] -> [n, out, *out_size]"""

    nd: int
    function: Any
    bias: Parameter | None

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
        device: Any = None,
    ):
        name = type(self).__name__
        positive(name, in_channels=in_channels, out_channels=out_channels, groups=groups)
        if in_channels % groups or out_channels % groups:
            given = f"{name}({in_channels}, {out_channels}, groups={groups})"
            raise ValueError(f"{given}: groups must divide both numbers of channels: change one of the three")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = pair(kernel_size, self.nd), pair(stride, self.nd)
        self.dilation = pair(dilation, self.nd)
        self.padding = self._padding(padding)
        self.weight = new_parameter(out_channels, in_channels // groups, *self.kernel_size, device=device)
        self.bias = new_parameter(out_channels, device=device) if bias else None
        default_init(self.weight, self.bias)

    def _padding(self, given: Size | str) -> tuple[int, ...]:
        """Numbers for each dim; 'same' keeps the size, 'valid' pads nothing."""
        if not isinstance(given, str):
            return pair(given, self.nd)
        reach = tuple(d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True))
        if given == "valid":
            return (0,) * self.nd
        if given != "same" or any(r % 2 for r in reach) or any(s != 1 for s in self.stride):
            rule = "padding is a number, one for each dim, 'valid', or 'same' (odd kernels, stride 1)"
            raise ValueError(f"{type(self).__name__}(padding={given!r}): {rule}: give one of these")
        return tuple(r // 2 for r in reach)

    def forward(self, x: Tensor) -> Tensor:
        run = type(self).function
        return run(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        channels = f"{self.in_channels}, {self.out_channels}"
        shown = f"{channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        usual = {"padding": (0,) * self.nd, "dilation": (1,) * self.nd, "groups": 1}
        more = [f", {k}={getattr(self, k)}" for k, v in usual.items() if getattr(self, k) != v]
        return shown + "".join(more) + ("" if self.bias is not None else ", bias=False")


class Conv1d(Convolution):
    """Cross-correlation with learned kernels. [n, in, l] -> [n, out, ol]"""

    nd, function = 1, staticmethod(conv1d)


class Conv2d(Convolution):
    """Cross-correlation with learned kernels. [n, in, h, w] -> [n, out, oh, ow]"""

    nd, function = 2, staticmethod(conv2d)
