"""Methods with PyTorch's names that only read metadata, or call other functions of the package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from ..core.node import describe
from ..core.op import Family
from ..core.out import into
from ..core.shape import contiguous_strides
from ..core.sizes import integers
from ..core.spelling import without_effect
from ..errors import ValueError

if TYPE_CHECKING:
    from ..core.dtype import DTypeLike
    from ..device import DeviceLike
    from ..tensor import Tensor


def stride(input: Tensor, dim: int | None = None) -> tuple[int, ...] | int:
    """The distance in elements between neighbours along each dim, of a contiguous tensor: views, too, are
    treated as contiguous."""
    strides = contiguous_strides(input.shape)
    return tuple(strides) if dim is None else strides[dim]


def storage_offset(input: Tensor) -> int:
    """0: the elements of a tensor, or view, are numbered from 0."""
    return 0


def dim_order(input: Tensor) -> tuple[int, ...]:
    """The dims from the outermost to the innermost: 0, 1, ..."""
    return tuple(range(input.ndim))


def _strided_places(self: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None):
    """The sizes of a strided view and the indices of its elements; ValueError if one is out of range."""
    size, stride = integers(size, "size"), integers(stride, "stride")
    first = integers(storage_offset, "storage_offset", may_be_several=False) or 0
    last = first + sum(s * max(n - 1, 0) for n, s in zip(size, stride, strict=True))
    if first < 0 or min(stride, default=0) < 0 or (prod(size) and last >= self.numel()):
        call = f"as_strided({describe(self)}, {list(size)}, {list(stride)}, {first})"
        raise ValueError(f"{call}: it would read element {last} of {self.numel()}: pass sizes that fit")
    # The flat index of each element: an outer sum over dims.
    places = self.arange(1, device=self.device) + first
    for n, s in zip(size, stride, strict=True):
        places = places.unsqueeze(-1) + self.arange(n, device=self.device) * s
    return size, places.reshape(-1)


def as_strided(
    input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A copy of the elements at distances `stride`, counted in the order of elements. -> [*size]

    storage_offset: the index of the first element (0). ValueError if an element is out of range.
    """
    size, places = _strided_places(input, size, stride, storage_offset)
    return input.reshape(-1).index_select(0, places).reshape(*size)


def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A copy with src at the elements that as_strided selects. [...], [*size] -> [...]

    stride, storage_offset: as in as_strided. ValueError if an element is out of range.
    """
    _, places = _strided_places(input, size, stride, storage_offset)
    return input.reshape(-1).index_copy(0, places, src.reshape(-1)).reshape(*input.shape)


def is_inference(input: Tensor) -> bool:
    """False: inference_mode is the same as no_grad, and creates ordinary tensors."""
    return False


def is_set_to(input: Tensor, tensor: Tensor) -> bool:
    """Whether two tensors share one value, not only equal values."""
    return input.node is tensor.node


@without_effect
def new_empty_strided(
    input: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """new_empty; stride is accepted and ignored: tensors are contiguous."""
    return input.new_empty(size, dtype=dtype, device=device, requires_grad=requires_grad)


def map2_(input: Tensor, x: Any, y: Any, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """map_ with two other tensors."""
    rows = [t.expand(*input.shape).reshape(-1).tolist() for t in (input, x, y)]
    return _from_host(input, [callable(*v) for v in zip(*rows, strict=True)])


def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """split into parts of sizes split_sizes."""
    return input.split(list(split_sizes), dim)


def narrow_copy(input: Tensor, dim: int, start: int, length: int, *, out: Tensor | None = None) -> Tensor:
    """A copy of `length` elements of a dim, beginning at `start`, or `out` with these values. IndexError and
    ValueError if they are out of range."""
    copied = lambda: input.narrow(dim, start, length).clone()  # noqa: E731
    return copied() if out is None else into(copied, (), {"out": out})


def apply_(input: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replaces each element by the result of a Python function, which reads the tensor; returns the
    tensor."""
    return _from_host(input, [callable(v) for v in input.reshape(-1).tolist()])


def map_(input: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """apply_ with a function of two elements, this tensor's and another's, which is broadcast."""
    others = tensor.expand(*input.shape).reshape(-1).tolist()
    return _from_host(
        input, [callable(a, b) for a, b in zip(input.reshape(-1).tolist(), others, strict=True)]
    )


def _from_host(self: Any, values: list[Any]) -> Tensor:
    new = self.new_tensor(values) if values else self.new_empty(0)
    return self.copy_(new.reshape(*self.shape))


def new(input: Tensor, *size: int | Sequence[int]) -> Tensor:
    """new_empty."""
    return input.new_empty(*size)


def set_(input: Tensor, source: Any = None) -> Tensor:  # without a source PyTorch sets an empty tensor
    """Assigns the value of another tensor of the same shape; returns the tensor."""
    return input.assign_(input.new_empty(0) if source is None else source)


def resize_(input: Tensor, *sizes: int | Sequence[int]) -> Tensor:
    """Returns the tensor if it has this shape already; else ValueError, since a tensor keeps its shape."""
    new_shape = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], tuple | list) else sizes
    if tuple(new_shape) != input.shape:
        rule = f"a tensor keeps its {prod(input.shape)} elements and its shape: use x = x.reshape(...)"
        raise ValueError(f"resize_({describe(input)}, {list(new_shape)}): {rule}")
    return input


def resize_as_(input: Tensor, the_template: Any) -> Tensor:
    """resize_ to another tensor's shape."""
    return input.resize_(*the_template.shape)


unsafe_split_with_sizes = split_with_sizes


class Forms(Family):
    """Table of the methods."""

    @property
    def is_cpu(self: Any) -> bool:
        """Whether the tensor is in host memory, on the NumPy device."""
        return self.device.kind == "cpu" and self.device.holds_values

    @property
    def is_meta(self: Any) -> bool:
        """Whether the tensor has a shape and a dtype but no value: its device is "meta"."""
        return not self.device.holds_values
