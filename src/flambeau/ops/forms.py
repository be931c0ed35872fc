"""Methods under PyTorch's names that say what the host knows, or are functions of the package as methods."""

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
    from ..tensor import Tensor


def stride(input: Tensor, dim: int | None = None) -> tuple[int, ...] | int:
    """How many elements lie between neighbours of each dim, in the order of elements: views too are read
    as if they lay in order."""
    found = contiguous_strides(input.shape)
    return tuple(found) if dim is None else found[dim]


def storage_offset(input: Tensor) -> int:
    """0: a tensor's elements are numbered from its own first."""
    return 0


def dim_order(input: Tensor) -> tuple[int, ...]:
    """The dims from the outermost to the innermost: 0, 1, ..."""
    return tuple(range(input.ndim))


def _strided_places(self: Any, size: Any, stride: Any, storage_offset: int | None):
    """The sizes, and the places of a strided view's elements; ValueError where one is outside."""
    size, stride = integers(size, "size"), integers(stride, "stride")
    first = integers(storage_offset, "storage_offset", may_be_several=False) or 0
    last = first + sum(s * max(n - 1, 0) for n, s in zip(size, stride, strict=True))
    if first < 0 or min(stride, default=0) < 0 or (prod(size) and last >= self.numel()):
        given = f"as_strided({describe(self)}, {list(size)}, {list(stride)}, {first})"
        raise ValueError(f"{given}: reaches element {last} of {self.numel()}: give sizes that fit")
    places = self.arange(1, device=self.device) + first
    for n, s in zip(size, stride, strict=True):
        places = places.unsqueeze(-1) + self.arange(n, device=self.device) * s
    return size, places.reshape(-1)


def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Elements in steps of `stride`, counted in the order of elements, as a tensor of its own. -> [*size]

    storage_offset: the place of the first (0). ValueError where one would lie outside.
    """
    size, places = _strided_places(input, size, stride, storage_offset)
    return input.reshape(-1).index_select(0, places).reshape(*size)


def as_strided_scatter(
    input: Tensor, src: Any, size: Any, stride: Any, storage_offset: int | None = None
) -> Tensor:
    """A copy with src at the elements that as_strided gives. [...], [*size] -> [...]

    stride, storage_offset: as as_strided takes them. ValueError where one would lie outside.
    """
    _, places = _strided_places(input, size, stride, storage_offset)
    return input.reshape(-1).index_copy(0, places, src.reshape(-1)).reshape(*input.shape)


def is_inference(input: Tensor) -> bool:
    """False: inference_mode is no_grad here, and makes ordinary tensors."""
    return False


def is_set_to(input: Tensor, tensor: Any) -> bool:
    """Whether two tensors have one value, and not equal ones."""
    return input.node is tensor.node


@without_effect
def new_empty_strided(
    input: Tensor,
    size: Any,
    stride: Any,
    *,
    dtype: DTypeLike | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """new_empty; stride is without effect: it is always that of the order of elements."""
    return input.new_empty(size, dtype=dtype, device=device, requires_grad=requires_grad)


def map2_(input: Tensor, x: Any, y: Any, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """map_ with two other tensors."""
    rows = [t.expand(*input.shape).reshape(-1).tolist() for t in (input, x, y)]
    return _from_host(input, [callable(*v) for v in zip(*rows, strict=True)])


def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """split, by the sizes of the parts, split_sizes."""
    return input.split(list(split_sizes), dim)


def narrow_copy(input: Tensor, dim: int, start: int, length: int, *, out: Tensor | None = None) -> Tensor:
    """`length` elements of a dim from `start` on, as a tensor of its own, or as the value of `out`.
    IndexError and ValueError where these are not there."""
    copied = lambda: input.narrow(dim, start, length).clone()  # noqa: E731
    return copied() if out is None else into(copied, (), {"out": out})


def apply_(input: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Gives each element what a Python function makes of it: reads, and waits; returns the tensor."""
    return _from_host(input, [callable(v) for v in input.reshape(-1).tolist()])


def map_(input: Tensor, tensor: Any, callable: Callable[[Any, Any], Any]) -> Tensor:
    """apply_ of a function of this tensor's and another's elements, which is broadcast."""
    others = tensor.expand(*input.shape).reshape(-1).tolist()
    return _from_host(
        input, [callable(a, b) for a, b in zip(input.reshape(-1).tolist(), others, strict=True)]
    )


def _from_host(self: Any, values: list[Any]):
    made = self.new_tensor(values) if values else self.new_empty(0)
    return self.copy_(made.reshape(*self.shape))


def new(input: Tensor, *size: int | Sequence[int]) -> Tensor:
    """new_empty."""
    return input.new_empty(*size)


def set_(input: Tensor, source: Any = None) -> Tensor:
    """Become another tensor's value of the same shape; returns the tensor."""
    return input.assign_(input.new_empty(0) if source is None else source)


def resize_(input: Tensor, *sizes: int | Sequence[int]) -> Tensor:
    """The tensor itself, where it has this shape already; ValueError else: a tensor keeps its shape."""
    wanted = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], tuple | list) else sizes
    if tuple(wanted) != input.shape:
        rule = f"a tensor keeps its {prod(input.shape)} elements and its shape: use x = x.reshape(...)"
        raise ValueError(f"resize_({describe(input)}, {list(wanted)}): {rule}")
    return input


def resize_as_(input: Tensor, the_template: Any) -> Tensor:
    """resize_ to another tensor's shape."""
    return input.resize_(*the_template.shape)


unsafe_split_with_sizes = split_with_sizes


class Forms(Family):
    """Table of the methods."""

    @property
    def is_cpu(self: Any) -> bool:
        """Whether it lies in the host's memory, as on the NumPy device."""
        return self.device.kind == "cpu"
