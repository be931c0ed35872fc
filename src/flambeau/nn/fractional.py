"""Fractional max pooling (Graham, 2014): windows of one size at random positions."""

from collections.abc import Sequence
from math import prod
from typing import Any

from ..core import dtype as dt
from ..core.node import describe
from ..core.shape import contiguous_strides
from ..core.tree import is_sequence
from ..errors import ValueError
from ..ops.conv.conv import pair
from ..ops.distribution import rand
from ..ops.index.indices import as_places
from ..ops.join import cat
from ..tensor import Tensor
from .module import Module

Size = int | tuple[int, ...]


def _starts(u: Tensor, n: int, o: int, k: int) -> Tensor:
    """The first elements of o windows of k among n elements, for random numbers u in [0, 1). [..., 1] ->
    [..., o] int32"""
    last = Tensor.full((*u.shape[:-1], 1), n - k, dtype=dt.int32, device=u.device)
    if o == 1:  # one window is at the end, as in PyTorch
        return last
    # Window i begins at floor((i + u) alpha) - floor(u alpha), the last one at n - k (Graham, 2014).
    alpha = (n - k) / (o - 1)
    places = Tensor.arange(o - 1, dtype=dt.int32, device=u.device).float()
    return cat([((places + u) * alpha).int() - (u * alpha).int(), last], -1)


Shape = tuple[int, ...]


def _sizes(
    x: Tensor,
    nd: int,
    kernel: tuple[int, ...],
    output_size: Any,
    output_ratio: float | Sequence[float] | None,
) -> tuple[int, ...]:
    """The number of windows of each dim; ValueError if it is not given, or windows do not fit."""
    call = f"fractional_max_pool{nd}d({describe(x)}"
    if x.ndim not in (nd + 1, nd + 2):
        raise ValueError(f"{call}): takes {nd + 1} or {nd + 2} dims: reshape it")
    if (output_size is None) == (output_ratio is None):
        raise ValueError(f"{call}): needs either output_size or output_ratio: pass one of them")
    size = x.shape[-nd:]
    if output_size is None:
        ratios = output_ratio if is_sequence(output_ratio) else (output_ratio,) * nd
        # rounded down, as in PyTorch
        output_size = tuple(int(n * r) for n, r in zip(size, ratios, strict=True))
    out = pair(output_size, nd)
    if any(o < 1 or o + k - 1 > n for n, o, k in zip(size, out, kernel, strict=True)):
        rule = f"{list(out)} windows of {list(kernel)} do not fit into {list(size)}: use fewer"
        raise ValueError(f"{call}): {rule}")
    return out


def _places(u: Tensor, size: Shape, out: Shape, kernel: Shape) -> Tensor:
    """The indices of each window's elements in the flattened `size`. [*lead, nd] -> [*lead, *out, taps]"""
    nd, lead = len(size), u.shape[:-1]
    # PyTorch's order of the random numbers: (width, height) in 2 dims, (depth, height, width) in 3
    drawn = [1, 0] if nd == 2 else list(range(nd))
    index: Any = 0
    for i, step in enumerate(contiguous_strides(size)):
        start = _starts(u.narrow(-1, drawn[i], 1), size[i], out[i], kernel[i])
        start = start.reshape(*lead, *(out[i] if d == i else 1 for d in range(nd)), *(1,) * nd)
        tap = Tensor.arange(kernel[i], dtype=dt.int32, device=u.device).reshape(-1, *(1,) * (nd - 1 - i))
        index = (start + tap) * step + index  # row-major over the dims
    return index.reshape(*lead, *out, prod(kernel))


def _pool(
    x: Tensor, nd: int, kernel_size: Size, sizes: tuple[Any, Any], samples: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The largest element of each window, and its index in the flattened dims."""
    kernel = pair(kernel_size, nd)
    out, lead, size = _sizes(x, nd, kernel, *sizes), x.shape[:-nd], x.shape[-nd:]
    u = rand(*lead, nd, device=x.device) if samples is None else samples.reshape(*lead, nd)
    places = _places(u, size, out, kernel)
    flat = x.flatten(-nd)
    # Only the index of the maximum is needed; the gradient passes through the second gather.
    elements = flat.detach().gather(-1, places.flatten(len(lead))).reshape(*places.shape)
    places = places.gather(-1, elements.argmax(-1, keepdim=True)).flatten(len(lead))
    return flat.gather(-1, places).reshape(*lead, *out), as_places(places.reshape(*lead, *out))


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The largest element of each of output_size (or output_ratio times the input's size) randomly placed
    windows. [n, c, h, w] -> [n, c, oh, ow]

    kernel_size: of a window. return_indices: also return each element's index in the flattened dims (int64).
    _random_samples: random numbers in [0, 1) to use. ValueError if windows do not fit.
    """
    values, indices = _pool(input, 2, kernel_size, (output_size, output_ratio), _random_samples)
    return (values, indices) if return_indices else values


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """(values, indices) of fractional_max_pool2d: the largest element of each randomly placed window. [n, c,
    h, w] -> [n, c, oh, ow]

    kernel_size: of a window. output_size, output_ratio: how many windows, or their share of the input's size.
    return_indices: without effect. _random_samples: random numbers in [0, 1) to use. ValueError if
    windows do not fit.
    """
    return _pool(input, 2, kernel_size, (output_size, output_ratio), _random_samples)


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The largest element of each of output_size (or output_ratio times the input's size) randomly placed
    windows. [n, c, d, h, w] -> [n, c, od, oh, ow]

    kernel_size: of a window. return_indices: also return each element's index in the flattened dims (int64).
    _random_samples: random numbers in [0, 1) to use. ValueError if windows do not fit.
    """
    values, indices = _pool(input, 3, kernel_size, (output_size, output_ratio), _random_samples)
    return (values, indices) if return_indices else values


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """(values, indices) of fractional_max_pool3d: the largest element of each randomly placed window. [n, c,
    d, h, w] -> [n, c, od, oh, ow]

    kernel_size: of a window. output_size, output_ratio: how many windows, or their share of the input's size.
    return_indices: without effect. _random_samples: random numbers in [0, 1) to use. ValueError if
    windows do not fit.
    """
    return _pool(input, 3, kernel_size, (output_size, output_ratio), _random_samples)


class _FractionalMaxPool(Module):
    nd: int
    _random_samples: Tensor | None

    def __init__(
        self,
        kernel_size: Size,
        output_size: Size | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ):
        name = type(self).__name__
        if (output_size is None) == (output_ratio is None):
            rule = "needs either output_size or output_ratio: pass one of them"
            raise ValueError(f"{name}({kernel_size}): {rule}")
        self.kernel_size, self.output_size, self.output_ratio = kernel_size, output_size, output_ratio
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input: Tensor) -> Any:
        sizes = (self.output_size, self.output_ratio)
        values, indices = _pool(input, self.nd, self.kernel_size, sizes, self._random_samples)
        return (values, indices) if self.return_indices else values


class FractionalMaxPool2d(_FractionalMaxPool):
    """Largest element of each window; each call draws the windows' positions. [n, c, h, w] -> [n, c, oh, ow]

    output_ratio: the output's size relative to the input's, instead of output_size. return_indices: also
    return the indices. _random_samples: random numbers in [0, 1) to use. ValueError unless one of both sizes
    is given.
    kernel_size: the window's size, one number or one for each dim
    """

    nd = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """Largest element of each window; each call draws the windows' positions. [n, c, d, h, w] -> [n, c, od,
    oh, ow]

    output_ratio: the output's size relative to the input's, instead of output_size. return_indices: also
    return the indices. _random_samples: random numbers in [0, 1) to use. ValueError unless one of both sizes
    is given.
    kernel_size: the window's size, one number or one for each dim
    """

    nd = 3
