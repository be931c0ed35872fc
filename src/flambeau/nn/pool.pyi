"""Layers without parameters over windows and places: pools, unpooling, folding and resizing, a row each.

Made by `python scripts/write_stubs.py`."""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any

from ..nn.module import Module
from ..tensor import Tensor

class AdaptiveAvgPool1d(Module):
    """Mean of output_size windows that cover the input; None keeps a size. [n, c, *size] -> [n, c, *output_size]

    Raises ValueError where dims are missing, or output_size does not fit."""

    output_size: _int | Sequence[_int]
    def __init__(self, output_size: _int | Sequence[_int]) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class AdaptiveAvgPool2d(Module):
    """Mean of output_size windows that cover the input; None keeps a size. [n, c, *size] -> [n, c, *output_size]

    Raises ValueError where dims are missing, or output_size does not fit."""

    output_size: _int | Sequence[_int]
    def __init__(self, output_size: _int | Sequence[_int]) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class AdaptiveAvgPool3d(Module):
    """Mean of output_size windows that cover the input; None keeps a size. [n, c, *size] -> [n, c, *output_size]

    Raises ValueError where dims are missing, or output_size does not fit."""

    output_size: _int | Sequence[_int]
    def __init__(self, output_size: _int | Sequence[_int]) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class AdaptiveMaxPool1d(Module):
    """Largest of output_size windows that cover the input; None keeps a size. With return_indices also where in the flattened spatial dims it stands (int64). [n, c, *size] -> [n, c, *output_size]

    Raises ValueError where dims are missing, or output_size does not fit."""

    output_size: _int | Sequence[_int]
    return_indices: _bool
    def __init__(self, output_size: _int | Sequence[_int], return_indices: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class AdaptiveMaxPool2d(Module):
    """Largest of output_size windows that cover the input; None keeps a size. With return_indices also where in the flattened spatial dims it stands (int64). [n, c, *size] -> [n, c, *output_size]

    Raises ValueError where dims are missing, or output_size does not fit."""

    output_size: _int | Sequence[_int]
    return_indices: _bool
    def __init__(self, output_size: _int | Sequence[_int], return_indices: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class AdaptiveMaxPool3d(Module):
    """Largest of output_size windows that cover the input; None keeps a size. With return_indices also where in the flattened spatial dims it stands (int64). [n, c, *size] -> [n, c, *output_size]

    Raises ValueError where dims are missing, or output_size does not fit."""

    output_size: _int | Sequence[_int]
    return_indices: _bool
    def __init__(self, output_size: _int | Sequence[_int], return_indices: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class AvgPool1d(Module):
    """Mean of each window; stride defaults to the kernel size. Zeros of the padding count unless
    count_include_pad is False, those that ceil_mode adds never do. [n, c, l] -> [n, c, ol]

    kernel_size: the window's size, one number or one for each dim
    Raises ValueError where dims are missing, windows do not fit, or divisor_override is 0."""

    kernel_size: _int | Sequence[_int]
    stride: _int | Sequence[_int] | None
    padding: _int | Sequence[_int]
    ceil_mode: _bool
    count_include_pad: _bool
    def __init__(
        self,
        kernel_size: _int | Sequence[_int],
        stride: _int | Sequence[_int] | None = None,
        padding: _int | Sequence[_int] = 0,
        ceil_mode: _bool = False,
        count_include_pad: _bool = True,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class AvgPool2d(Module):
    """Mean of each window; stride defaults to the kernel size. Zeros of the padding count unless count_include_pad is False, those that ceil_mode adds never do. [n, c, *size] -> [n, c, *out]

    kernel_size: the window's size, one number or one for each dim
    divisor_override: what sums are divided by, in place of how many elements a window has
    Raises ValueError where dims are missing, windows do not fit, or divisor_override is 0."""

    kernel_size: _int | Sequence[_int]
    stride: _int | Sequence[_int] | None
    padding: _int | Sequence[_int]
    ceil_mode: _bool
    count_include_pad: _bool
    divisor_override: _int | None
    def __init__(
        self,
        kernel_size: _int | Sequence[_int],
        stride: _int | Sequence[_int] | None = None,
        padding: _int | Sequence[_int] = 0,
        ceil_mode: _bool = False,
        count_include_pad: _bool = True,
        divisor_override: _int | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class AvgPool3d(Module):
    """Mean of each window; stride defaults to the kernel size. Zeros of the padding count unless count_include_pad is False, those that ceil_mode adds never do. [n, c, *size] -> [n, c, *out]

    kernel_size: the window's size, one number or one for each dim
    divisor_override: what sums are divided by, in place of how many elements a window has
    Raises ValueError where dims are missing, windows do not fit, or divisor_override is 0."""

    kernel_size: _int | Sequence[_int]
    stride: _int | Sequence[_int] | None
    padding: _int | Sequence[_int]
    ceil_mode: _bool
    count_include_pad: _bool
    divisor_override: _int | None
    def __init__(
        self,
        kernel_size: _int | Sequence[_int],
        stride: _int | Sequence[_int] | None = None,
        padding: _int | Sequence[_int] = 0,
        ceil_mode: _bool = False,
        count_include_pad: _bool = True,
        divisor_override: _int | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class Fold(Module):
    """Columns added back where im2col took them: nn.functional.fold.

    [n, c * kh * kw, positions] -> [n, c, *output_size]

    output_size: height and width of the result
    kernel_size: the window's size, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    Raises ValueError where the last two dims are not the windows of output_size."""

    output_size: _int | Sequence[_int]
    kernel_size: _int | Sequence[_int]
    dilation: _int | Sequence[_int]
    padding: _int | Sequence[_int]
    stride: _int | Sequence[_int]
    def __init__(
        self,
        output_size: _int | Sequence[_int],
        kernel_size: _int | Sequence[_int],
        dilation: _int | Sequence[_int] = 1,
        padding: _int | Sequence[_int] = 0,
        stride: _int | Sequence[_int] = 1,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class LPPool1d(Module):
    """The root of the sum of powers of each window, for even powers its p-norm; stride defaults to the kernel size. [n, c, *size] -> [n, c, *out]

    norm_type: the power p of the norm
    kernel_size: the window's size, one number or one for each dim
    ceil_mode: count windows that begin inside and end outside too
    Raises ValueError where there is neither one number nor one for each dim; where dims are missing, windows do not fit, or divisor_override is 0."""

    norm_type: _float
    kernel_size: _int | Sequence[_int]
    stride: _int | Sequence[_int] | None
    ceil_mode: _bool
    def __init__(
        self,
        norm_type: _float,
        kernel_size: _int | Sequence[_int],
        stride: _int | Sequence[_int] | None = None,
        ceil_mode: _bool = False,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class LPPool2d(Module):
    """The root of the sum of powers of each window, for even powers its p-norm; stride defaults to the kernel size. [n, c, *size] -> [n, c, *out]

    norm_type: the power p of the norm
    kernel_size: the window's size, one number or one for each dim
    ceil_mode: count windows that begin inside and end outside too
    Raises ValueError where there is neither one number nor one for each dim; where dims are missing, windows do not fit, or divisor_override is 0."""

    norm_type: _float
    kernel_size: _int | Sequence[_int]
    stride: _int | Sequence[_int] | None
    ceil_mode: _bool
    def __init__(
        self,
        norm_type: _float,
        kernel_size: _int | Sequence[_int],
        stride: _int | Sequence[_int] | None = None,
        ceil_mode: _bool = False,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class LPPool3d(Module):
    """The root of the sum of powers of each window, for even powers its p-norm; stride defaults to the kernel size. [n, c, *size] -> [n, c, *out]

    norm_type: the power p of the norm
    kernel_size: the window's size, one number or one for each dim
    ceil_mode: count windows that begin inside and end outside too
    Raises ValueError where there is neither one number nor one for each dim; where dims are missing, windows do not fit, or divisor_override is 0."""

    norm_type: _float
    kernel_size: _int | Sequence[_int]
    stride: _int | Sequence[_int] | None
    ceil_mode: _bool
    def __init__(
        self,
        norm_type: _float,
        kernel_size: _int | Sequence[_int],
        stride: _int | Sequence[_int] | None = None,
        ceil_mode: _bool = False,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class MaxPool1d(Module):
    """Largest element of each window; stride defaults to the kernel size. With return_indices also where in the flattened spatial dims it stands (int64). [n, c, *size] -> [n, c, *out]

    kernel_size: the window's size, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    ceil_mode: count windows that begin inside and end outside too
    Raises ValueError where dims are missing, or padding is more than half of the kernel."""

    kernel_size: _int | Sequence[_int]
    stride: _int | Sequence[_int] | None
    padding: _int | Sequence[_int]
    dilation: _int | Sequence[_int]
    return_indices: _bool
    ceil_mode: _bool
    def __init__(
        self,
        kernel_size: _int | Sequence[_int],
        stride: _int | Sequence[_int] | None = None,
        padding: _int | Sequence[_int] = 0,
        dilation: _int | Sequence[_int] = 1,
        return_indices: _bool = False,
        ceil_mode: _bool = False,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class MaxPool2d(Module):
    """Largest element of each window; stride defaults to the kernel size. With return_indices also where in the flattened spatial dims it stands (int64). [n, c, *size] -> [n, c, *out]

    kernel_size: the window's size, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    ceil_mode: count windows that begin inside and end outside too
    Raises ValueError where dims are missing, or padding is more than half of the kernel."""

    kernel_size: _int | Sequence[_int]
    stride: _int | Sequence[_int] | None
    padding: _int | Sequence[_int]
    dilation: _int | Sequence[_int]
    return_indices: _bool
    ceil_mode: _bool
    def __init__(
        self,
        kernel_size: _int | Sequence[_int],
        stride: _int | Sequence[_int] | None = None,
        padding: _int | Sequence[_int] = 0,
        dilation: _int | Sequence[_int] = 1,
        return_indices: _bool = False,
        ceil_mode: _bool = False,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class MaxPool3d(Module):
    """Largest element of each window; stride defaults to the kernel size. With return_indices also where in the flattened spatial dims it stands (int64). [n, c, *size] -> [n, c, *out]

    kernel_size: the window's size, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    ceil_mode: count windows that begin inside and end outside too
    Raises ValueError where dims are missing, or padding is more than half of the kernel."""

    kernel_size: _int | Sequence[_int]
    stride: _int | Sequence[_int] | None
    padding: _int | Sequence[_int]
    dilation: _int | Sequence[_int]
    return_indices: _bool
    ceil_mode: _bool
    def __init__(
        self,
        kernel_size: _int | Sequence[_int],
        stride: _int | Sequence[_int] | None = None,
        padding: _int | Sequence[_int] = 0,
        dilation: _int | Sequence[_int] = 1,
        return_indices: _bool = False,
        ceil_mode: _bool = False,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class MaxUnpool1d(Module):
    """Zeros, with each value where max_pool (return_indices=True) found it; of several for one place the last. [n, c, *size], the same int -> [n, c, *out]

    indices: the places that max_pool1d gave
    kernel_size: the window's size, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    output_size: the size of the result, where several fit
    Raises ValueError where the input has not 2 or 3 dims, or indices another shape."""

    kernel_size: _int | Sequence[_int]
    stride: _int | Sequence[_int] | None
    padding: _int | Sequence[_int]
    def __init__(
        self,
        kernel_size: _int | Sequence[_int],
        stride: _int | Sequence[_int] | None = None,
        padding: _int | Sequence[_int] = 0,
    ) -> None: ...
    def forward(
        self, input: Tensor, indices: Tensor, output_size: _int | Sequence[_int] | None = None
    ) -> Tensor: ...
    def __call__(
        self, input: Tensor, indices: Tensor, output_size: _int | Sequence[_int] | None = None
    ) -> Tensor: ...

class MaxUnpool2d(Module):
    """Zeros, with each value where max_pool (return_indices=True) found it; of several for one place the last. [n, c, *size], the same int -> [n, c, *out]

    indices: the places that max_pool2d gave
    kernel_size: the window's size, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    output_size: the size of the result, where several fit
    Raises ValueError where the input has not 3 or 4 dims, or indices another shape."""

    kernel_size: _int | Sequence[_int]
    stride: _int | Sequence[_int] | None
    padding: _int | Sequence[_int]
    def __init__(
        self,
        kernel_size: _int | Sequence[_int],
        stride: _int | Sequence[_int] | None = None,
        padding: _int | Sequence[_int] = 0,
    ) -> None: ...
    def forward(
        self, input: Tensor, indices: Tensor, output_size: _int | Sequence[_int] | None = None
    ) -> Tensor: ...
    def __call__(
        self, input: Tensor, indices: Tensor, output_size: _int | Sequence[_int] | None = None
    ) -> Tensor: ...

class MaxUnpool3d(Module):
    """Zeros, with each value where max_pool (return_indices=True) found it; of several for one place the last. [n, c, *size], the same int -> [n, c, *out]

    indices: the places that max_pool3d gave
    kernel_size: the window's size, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    output_size: the size of the result, where several fit
    Raises ValueError where the input has not 4 or 5 dims, or indices another shape."""

    kernel_size: _int | Sequence[_int]
    stride: _int | Sequence[_int] | None
    padding: _int | Sequence[_int]
    def __init__(
        self,
        kernel_size: _int | Sequence[_int],
        stride: _int | Sequence[_int] | None = None,
        padding: _int | Sequence[_int] = 0,
    ) -> None: ...
    def forward(
        self, input: Tensor, indices: Tensor, output_size: _int | Sequence[_int] | None = None
    ) -> Tensor: ...
    def __call__(
        self, input: Tensor, indices: Tensor, output_size: _int | Sequence[_int] | None = None
    ) -> Tensor: ...

class Unfold(Module):
    """Every window as a column: nn.functional.unfold. [n, c, h, w] -> [n, c * kh * kw, positions]

    kernel_size: the window's size, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    Raises ValueError where the input has too few or too many dims; where there is neither one number nor one for each dim."""

    kernel_size: _int | Sequence[_int]
    dilation: _int | Sequence[_int]
    padding: _int | Sequence[_int]
    stride: _int | Sequence[_int]
    def __init__(
        self,
        kernel_size: _int | Sequence[_int],
        dilation: _int | Sequence[_int] = 1,
        padding: _int | Sequence[_int] = 0,
        stride: _int | Sequence[_int] = 1,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class Upsample(Module):
    """Resize the dims after the second to `size`, or by scale_factor. [n, c, *size] -> [n, c, *out]

    mode: nearest, nearest-exact, linear (1-d), bilinear (2-d), trilinear (3-d), bicubic (a = -0.75), lanczos3
    (weights normalised, edges repeated) or area (adaptive_avg_pool). With antialias, of bilinear and bicubic
    (a = -0.5), an output is made of as many more inputs as it stands for.

    align_corners: the outermost places are centres of elements, not their edges
    recompute_scale_factor: take the factor from the rounded sizes
    Raises ValueError where the input has not 3 to 5 dims, or antialias is asked for of a mode that has none."""

    size: _int | Sequence[_int] | None
    scale_factor: Any
    mode: str
    align_corners: _bool | None
    recompute_scale_factor: _bool | None
    antialias: _bool
    def __init__(
        self,
        size: _int | Sequence[_int] | None = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: _bool | None = None,
        recompute_scale_factor: _bool | None = None,
        antialias: _bool = False,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class UpsamplingBilinear2d(Module):
    """Resize the dims after the second to `size`, or by scale_factor. [n, c, *size] -> [n, c, *out]

    mode: nearest, nearest-exact, linear (1-d), bilinear (2-d), trilinear (3-d), bicubic (a = -0.75), lanczos3
    (weights normalised, edges repeated) or area (adaptive_avg_pool). With antialias, of bilinear and bicubic
    (a = -0.5), an output is made of as many more inputs as it stands for.

    align_corners: the outermost places are centres of elements, not their edges
    recompute_scale_factor: take the factor from the rounded sizes
    Raises ValueError where the input has not 3 to 5 dims, or antialias is asked for of a mode that has none."""

    size: _int | Sequence[_int] | None
    scale_factor: Any
    mode: str
    align_corners: _bool | None
    recompute_scale_factor: _bool | None
    antialias: _bool
    def __init__(
        self,
        size: _int | Sequence[_int] | None = None,
        scale_factor: Any = None,
        mode: str = "bilinear",
        align_corners: _bool | None = True,
        recompute_scale_factor: _bool | None = None,
        antialias: _bool = False,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...

class UpsamplingNearest2d(Module):
    """Resize the dims after the second to `size`, or by scale_factor. [n, c, *size] -> [n, c, *out]

    mode: nearest, nearest-exact, linear (1-d), bilinear (2-d), trilinear (3-d), bicubic (a = -0.75), lanczos3
    (weights normalised, edges repeated) or area (adaptive_avg_pool). With antialias, of bilinear and bicubic
    (a = -0.5), an output is made of as many more inputs as it stands for.

    align_corners: the outermost places are centres of elements, not their edges
    recompute_scale_factor: take the factor from the rounded sizes
    Raises ValueError where the input has not 3 to 5 dims, or antialias is asked for of a mode that has none."""

    size: _int | Sequence[_int] | None
    scale_factor: Any
    mode: str
    align_corners: _bool | None
    recompute_scale_factor: _bool | None
    antialias: _bool
    def __init__(
        self,
        size: _int | Sequence[_int] | None = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: _bool | None = None,
        recompute_scale_factor: _bool | None = None,
        antialias: _bool = False,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
