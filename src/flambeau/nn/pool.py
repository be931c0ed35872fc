"""Layers without parameters over windows: pooling, unpooling, folding and resizing."""

from collections.abc import Sequence
from typing import Any

from ..ops.conv import adaptive, conv, pool, resize
from ..tensor import Tensor
from .function_layer import FunctionLayer


# The number of windows along a dim of n elements is
# floor((n + 2 padding - dilation (kernel - 1) - 1) / stride) + 1, with ceil in place of floor for ceil_mode.
# Adaptive pools take this number instead, and choose the windows.
def _stride(kernel_size: Any, stride: Any) -> Any:
    """The distance of windows, by default the size of one; libraries read the attribute."""
    return kernel_size if stride is None else stride


class AdaptiveAvgPool1d(FunctionLayer):
    """Mean of output_size windows that cover the input; None keeps a size. [n, c, *size] -> [n, c,
    *output_size]

    Raises ValueError if dims are missing, or output_size does not fit.
    """

    def __init__(self, output_size: int | Sequence[int]):
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return adaptive.adaptive_avg_pool1d(input, output_size=self.output_size)


class AdaptiveAvgPool2d(FunctionLayer):
    """Mean of output_size windows that cover the input; None keeps a size. [n, c, *size] -> [n, c,
    *output_size]

    Raises ValueError if dims are missing, or output_size does not fit.
    """

    def __init__(self, output_size: int | Sequence[int]):
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return adaptive.adaptive_avg_pool2d(input, output_size=self.output_size)


class AdaptiveAvgPool3d(FunctionLayer):
    """Mean of output_size windows that cover the input; None keeps a size. [n, c, *size] -> [n, c,
    *output_size]

    Raises ValueError if dims are missing, or output_size does not fit.
    """

    def __init__(self, output_size: int | Sequence[int]):
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return adaptive.adaptive_avg_pool3d(input, output_size=self.output_size)


class AdaptiveMaxPool1d(FunctionLayer):
    """Largest of output_size windows that cover the input; None keeps a size. return_indices also returns
    its index in the flattened spatial dims (int64). [n, c, *size] -> [n, c, *output_size]

    Raises ValueError if dims are missing, or output_size does not fit.
    """

    def __init__(self, output_size: int | Sequence[int], return_indices: bool = False):
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input: Tensor) -> Any:
        # PyTorch's layers take return_indices before ceil_mode, its functions after: passed by name.
        return adaptive.adaptive_max_pool1d(
            input, output_size=self.output_size, return_indices=self.return_indices
        )


class AdaptiveMaxPool2d(FunctionLayer):
    """Largest of output_size windows that cover the input; None keeps a size. return_indices also returns
    its index in the flattened spatial dims (int64). [n, c, *size] -> [n, c, *output_size]

    Raises ValueError if dims are missing, or output_size does not fit.
    """

    def __init__(self, output_size: int | Sequence[int], return_indices: bool = False):
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input: Tensor) -> Any:
        return adaptive.adaptive_max_pool2d(
            input, output_size=self.output_size, return_indices=self.return_indices
        )


class AdaptiveMaxPool3d(FunctionLayer):
    """Largest of output_size windows that cover the input; None keeps a size. return_indices also returns
    its index in the flattened spatial dims (int64). [n, c, *size] -> [n, c, *output_size]

    Raises ValueError if dims are missing, or output_size does not fit.
    """

    def __init__(self, output_size: int | Sequence[int], return_indices: bool = False):
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input: Tensor) -> Any:
        return adaptive.adaptive_max_pool3d(
            input, output_size=self.output_size, return_indices=self.return_indices
        )


class AvgPool1d(FunctionLayer):
    """Mean of each window; stride defaults to the kernel size. Zeros of the padding count unless
    count_include_pad is False; those added by ceil_mode never count. [n, c, l] -> [n, c, ol]

    kernel_size: the window's size, one number or one for each dim
    Raises ValueError if dims are missing, or windows do not fit.
    """

    shown = ("kernel_size", "stride", "padding")

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ):
        self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad = (
            # Set by name: extra_repr shows the arguments of __init__ that have an attribute.
            kernel_size,
            _stride(kernel_size, stride),
            padding,
            ceil_mode,
            count_include_pad,
        )

    def forward(self, input: Tensor) -> Tensor:
        return pool.avg_pool1d(
            input,
            kernel_size=self.kernel_size,
            stride=self.stride,
            padding=self.padding,
            ceil_mode=self.ceil_mode,
            count_include_pad=self.count_include_pad,
        )


class AvgPool2d(FunctionLayer):
    """Mean of each window; stride defaults to the kernel size. Zeros of the padding count unless
    count_include_pad is False; those added by ceil_mode never count. [n, c, *size] -> [n, c, *out]

    kernel_size: the window's size, one number or one for each dim
    divisor_override: the divisor of sums, instead of the number of elements of a window
    Raises ValueError if dims are missing, windows do not fit, or divisor_override is 0.
    """

    shown = ("kernel_size", "stride", "padding")

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ):
        (
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        ) = kernel_size, _stride(kernel_size, stride), padding, ceil_mode, count_include_pad, divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return pool.avg_pool2d(
            input,
            kernel_size=self.kernel_size,
            stride=self.stride,
            padding=self.padding,
            ceil_mode=self.ceil_mode,
            count_include_pad=self.count_include_pad,
            divisor_override=self.divisor_override,
        )


class AvgPool3d(FunctionLayer):
    """Mean of each window; stride defaults to the kernel size. Zeros of the padding count unless
    count_include_pad is False; those added by ceil_mode never count. [n, c, *size] -> [n, c, *out]

    kernel_size: the window's size, one number or one for each dim
    divisor_override: the divisor of sums, instead of the number of elements of a window
    Raises ValueError if dims are missing, windows do not fit, or divisor_override is 0.
    """

    shown = ("kernel_size", "stride", "padding")

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ):
        (
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        ) = kernel_size, _stride(kernel_size, stride), padding, ceil_mode, count_include_pad, divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return pool.avg_pool3d(
            input,
            kernel_size=self.kernel_size,
            stride=self.stride,
            padding=self.padding,
            ceil_mode=self.ceil_mode,
            count_include_pad=self.count_include_pad,
            divisor_override=self.divisor_override,
        )


class Fold(FunctionLayer):
    """The sum of columns at the elements that im2col took them from: nn.functional.fold.

    [n, c * kh * kw, positions] -> [n, c, *output_size]

    output_size: height and width of the result
    kernel_size: the window's size, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    Raises ValueError if the last two dims are not the windows of output_size.
    """

    shown = ("output_size", "kernel_size", "dilation", "padding", "stride")

    def __init__(
        self,
        output_size: int | Sequence[int],
        kernel_size: int | Sequence[int],
        dilation: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        stride: int | Sequence[int] = 1,
    ):
        self.output_size, self.kernel_size, self.dilation, self.padding, self.stride = (
            output_size,
            kernel_size,
            dilation,
            padding,
            stride,
        )

    def forward(self, input: Tensor) -> Tensor:
        # the adjoint of Unfold: elements of several windows are added up
        return conv.col2im(
            input,
            output_size=self.output_size,
            kernel_size=self.kernel_size,
            dilation=self.dilation,
            padding=self.padding,
            stride=self.stride,
        )


class LPPool1d(FunctionLayer):
    """The p-th root of the sum of p-th powers of each window, for even p the p-norm; stride defaults to
    the kernel size. [n, c, *size] -> [n, c, *out]

    norm_type: the power p of the norm
    kernel_size: the window's size, one number or one for each dim
    ceil_mode: include windows that begin inside and end outside
    Raises ValueError if a size is neither one number nor one for each dim; if dims are missing, or windows
        do not fit.
    """

    shown = ("norm_type", "kernel_size", "stride", "ceil_mode")

    def __init__(
        self,
        norm_type: float,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        ceil_mode: bool = False,
    ):
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = (
            norm_type,
            kernel_size,
            stride,
            ceil_mode,
        )

    def forward(self, input: Tensor) -> Tensor:
        # neither padding nor dilation, as in PyTorch
        return pool.lp_pool1d(
            input,
            norm_type=self.norm_type,
            kernel_size=self.kernel_size,
            stride=self.stride,
            ceil_mode=self.ceil_mode,
        )


class LPPool2d(FunctionLayer):
    """The p-th root of the sum of p-th powers of each window, for even p the p-norm; stride defaults to
    the kernel size. [n, c, *size] -> [n, c, *out]

    norm_type: the power p of the norm
    kernel_size: the window's size, one number or one for each dim
    ceil_mode: include windows that begin inside and end outside
    Raises ValueError if a size is neither one number nor one for each dim; if dims are missing, or windows
        do not fit.
    """

    shown = ("norm_type", "kernel_size", "stride", "ceil_mode")

    def __init__(
        self,
        norm_type: float,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        ceil_mode: bool = False,
    ):
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = (
            norm_type,
            kernel_size,
            stride,
            ceil_mode,
        )

    def forward(self, input: Tensor) -> Tensor:
        return pool.lp_pool2d(
            input,
            norm_type=self.norm_type,
            kernel_size=self.kernel_size,
            stride=self.stride,
            ceil_mode=self.ceil_mode,
        )


class LPPool3d(FunctionLayer):
    """The p-th root of the sum of p-th powers of each window, for even p the p-norm; stride defaults to
    the kernel size. [n, c, *size] -> [n, c, *out]

    norm_type: the power p of the norm
    kernel_size: the window's size, one number or one for each dim
    ceil_mode: include windows that begin inside and end outside
    Raises ValueError if a size is neither one number nor one for each dim; if dims are missing, or windows
        do not fit.
    """

    shown = ("norm_type", "kernel_size", "stride", "ceil_mode")

    def __init__(
        self,
        norm_type: float,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        ceil_mode: bool = False,
    ):
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = (
            norm_type,
            kernel_size,
            stride,
            ceil_mode,
        )

    def forward(self, input: Tensor) -> Tensor:
        return pool.lp_pool3d(
            input,
            norm_type=self.norm_type,
            kernel_size=self.kernel_size,
            stride=self.stride,
            ceil_mode=self.ceil_mode,
        )


class MaxPool1d(FunctionLayer):
    """Largest element of each window; stride defaults to the kernel size. return_indices also returns its
    index in the flattened spatial dims (int64). [n, c, *size] -> [n, c, *out]

    kernel_size: the window's size, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    ceil_mode: include windows that begin inside and end outside
    Raises ValueError if dims are missing, or padding is more than half of the kernel.
    """

    shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ):
        self.kernel_size, self.stride, self.padding, self.dilation, self.return_indices, self.ceil_mode = (
            kernel_size,
            _stride(kernel_size, stride),
            padding,
            dilation,
            return_indices,
            ceil_mode,
        )

    def forward(self, input: Tensor) -> Any:
        return pool.max_pool1d(
            input,
            kernel_size=self.kernel_size,
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            return_indices=self.return_indices,
            ceil_mode=self.ceil_mode,
        )


class MaxPool2d(FunctionLayer):
    """Largest element of each window; stride defaults to the kernel size. return_indices also returns its
    index in the flattened spatial dims (int64). [n, c, *size] -> [n, c, *out]

    kernel_size: the window's size, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    ceil_mode: include windows that begin inside and end outside
    Raises ValueError if dims are missing, or padding is more than half of the kernel.
    """

    shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ):
        self.kernel_size, self.stride, self.padding, self.dilation, self.return_indices, self.ceil_mode = (
            kernel_size,
            _stride(kernel_size, stride),
            padding,
            dilation,
            return_indices,
            ceil_mode,
        )

    def forward(self, input: Tensor) -> Any:
        return pool.max_pool2d(
            input,
            kernel_size=self.kernel_size,
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            return_indices=self.return_indices,
            ceil_mode=self.ceil_mode,
        )


class MaxPool3d(FunctionLayer):
    """Largest element of each window; stride defaults to the kernel size. return_indices also returns its
    index in the flattened spatial dims (int64). [n, c, *size] -> [n, c, *out]

    kernel_size: the window's size, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    ceil_mode: include windows that begin inside and end outside
    Raises ValueError if dims are missing, or padding is more than half of the kernel.
    """

    shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ):
        self.kernel_size, self.stride, self.padding, self.dilation, self.return_indices, self.ceil_mode = (
            kernel_size,
            _stride(kernel_size, stride),
            padding,
            dilation,
            return_indices,
            ceil_mode,
        )

    def forward(self, input: Tensor) -> Any:
        return pool.max_pool3d(
            input,
            kernel_size=self.kernel_size,
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            return_indices=self.return_indices,
            ceil_mode=self.ceil_mode,
        )


class MaxUnpool1d(FunctionLayer):
    """Zeros, with each value at the index from max_pool (return_indices=True); the last one of several for
    an index. [n, c, *size], the same int -> [n, c, *out]

    The call takes the indices that MaxPool1d(return_indices=True) returned, and optionally the output
    size, since several are possible.

    kernel_size: the window's size, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    Raises ValueError if the input does not have 2 or 3 dims, or indices have another shape.
    """

    shown = ("kernel_size", "stride", "padding")

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
    ):
        self.kernel_size, self.stride, self.padding = kernel_size, _stride(kernel_size, stride), padding

    def forward(
        self, input: Tensor, indices: Tensor, output_size: int | Sequence[int] | None = None
    ) -> Tensor:
        # several sizes are pooled to the same one: output_size chooses, else the windows cover it exactly
        return pool.max_unpool1d(
            input,
            indices,
            output_size=output_size,
            kernel_size=self.kernel_size,
            stride=self.stride,
            padding=self.padding,
        )


class MaxUnpool2d(FunctionLayer):
    """Zeros, with each value at the index from max_pool (return_indices=True); the last one of several for
    an index. [n, c, *size], the same int -> [n, c, *out]

    The call takes the indices that MaxPool2d(return_indices=True) returned, and optionally the output
    size, since several are possible.

    kernel_size: the window's size, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    Raises ValueError if the input does not have 3 or 4 dims, or indices have another shape.
    """

    shown = ("kernel_size", "stride", "padding")

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
    ):
        self.kernel_size, self.stride, self.padding = kernel_size, _stride(kernel_size, stride), padding

    def forward(
        self, input: Tensor, indices: Tensor, output_size: int | Sequence[int] | None = None
    ) -> Tensor:
        return pool.max_unpool2d(
            input,
            indices,
            output_size=output_size,
            kernel_size=self.kernel_size,
            stride=self.stride,
            padding=self.padding,
        )


class MaxUnpool3d(FunctionLayer):
    """Zeros, with each value at the index from max_pool (return_indices=True); the last one of several for
    an index. [n, c, *size], the same int -> [n, c, *out]

    The call takes the indices that MaxPool3d(return_indices=True) returned, and optionally the output
    size, since several are possible.

    kernel_size: the window's size, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    Raises ValueError if the input does not have 4 or 5 dims, or indices have another shape.
    """

    shown = ("kernel_size", "stride", "padding")

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
    ):
        self.kernel_size, self.stride, self.padding = kernel_size, _stride(kernel_size, stride), padding

    def forward(
        self, input: Tensor, indices: Tensor, output_size: int | Sequence[int] | None = None
    ) -> Tensor:
        return pool.max_unpool3d(
            input,
            indices,
            output_size=output_size,
            kernel_size=self.kernel_size,
            stride=self.stride,
            padding=self.padding,
        )


class Unfold(FunctionLayer):
    """Every window as a column: nn.functional.unfold. [n, c, h, w] -> [n, c * kh * kw, positions]

    kernel_size: the window's size, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    Raises ValueError if the input has too few or too many dims; if a size is neither one number nor one for
        each dim.
    """

    shown = ("kernel_size", "dilation", "padding", "stride")

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        dilation: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        stride: int | Sequence[int] = 1,
    ):
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return conv.im2col(
            input,
            kernel_size=self.kernel_size,
            dilation=self.dilation,
            padding=self.padding,
            stride=self.stride,
        )


class Upsample(FunctionLayer):
    """Resize the dims after the second to `size`, or by scale_factor. [n, c, *size] -> [n, c, *out]

    mode: nearest, nearest-exact, linear (1-d), bilinear (2-d), trilinear (3-d), bicubic (a = -0.75),
        lanczos3 (weights normalised, edges repeated) or area (adaptive_avg_pool)
    align_corners: align the centres of the outermost elements, not their edges
    recompute_scale_factor: compute the factor from the rounded sizes
    Raises ValueError if the input does not have 3 to 5 dims; if not exactly one of size and scale_factor is
        set; if recompute_scale_factor is set with a size; if scale_factor is not one number above 0 or one
        for each dim; if a size is 0; if the mode is not one for these dims; if align_corners is set for mode
        nearest, nearest-exact or area.
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ):
        self.size, self.scale_factor, self.mode = size, scale_factor, mode
        self.align_corners, self.recompute_scale_factor = align_corners, recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return resize.interpolate(
            input,
            size=self.size,
            scale_factor=self.scale_factor,
            mode=self.mode,
            align_corners=self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )


class UpsamplingBilinear2d(Upsample):
    """Resize images to `size`, or by scale_factor, by interpolate(mode="bilinear", align_corners=True).
    [n, c, h, w] -> [n, c, oh, ow]

    Raises ValueError if the input does not have 4 dims, or not exactly one of size and scale_factor is set.
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
    ):
        super().__init__(size, scale_factor, "bilinear", align_corners=True)


class UpsamplingNearest2d(Upsample):
    """Resize images to `size`, or by scale_factor, by interpolate(mode="nearest"). Each output copies one
    input. [n, c, h, w] -> [n, c, oh, ow]

    Raises ValueError if the input does not have 3 to 5 dims, or size and scale_factor do not fit.
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
    ):
        super().__init__(size, scale_factor)
