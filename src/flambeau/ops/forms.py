"""Methods under PyTorch's names that say what the host knows, or are functions of the package as methods."""

from collections.abc import Callable
from math import prod
from typing import Any

from ..core.node import describe
from ..core.op import COMPOSED, Family
from ..core.out import into
from ..core.shape import contiguous_strides
from ..core.sizes import integers
from ..core.spelling import without_effect
from ..errors import ValueError

# methods that are functions of the package with the tensor first
AS_METHODS = "frexp hardshrink istft prelu stft"


class Forms(Family):
    """Table of the methods."""

    def stride(self, dim: int | None = None):
        """How many elements lie between neighbours of each dim, in the order of elements: views too are read
        as if they lay in order."""
        found = contiguous_strides(self.shape)
        return tuple(found) if dim is None else found[dim]

    def storage_offset(self) -> int:
        """0: a tensor's elements are numbered from its own first."""
        return 0

    def dim_order(self) -> tuple[int, ...]:
        """The dims from the outermost to the innermost: 0, 1, ..."""
        return tuple(range(self.ndim))

    def _strided_places(self, size: Any, stride: Any, storage_offset: int | None):
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

    def as_strided(self, size: Any, stride: Any, storage_offset: int | None = None):
        """Elements in steps of `stride`, counted in the order of elements, as a tensor of its own. -> [*size]

        storage_offset: the place of the first (0). ValueError where one would lie outside.
        """
        size, places = self._strided_places(size, stride, storage_offset)
        return self.reshape(-1).index_select(0, places).reshape(*size)

    def as_strided_scatter(self, src: Any, size: Any, stride: Any, storage_offset: int | None = None):
        """A copy with src at the elements that as_strided gives. [...], [*size] -> [...]

        stride, storage_offset: as as_strided takes them.
        """
        _, places = self._strided_places(size, stride, storage_offset)
        return self.reshape(-1).index_copy(0, places, src.reshape(-1)).reshape(*self.shape)

    @property
    def is_cpu(self) -> bool:
        """Whether it lies in the host's memory, as on the NumPy device."""
        return self.device.kind == "cpu"

    def is_inference(self) -> bool:
        """False: inference_mode is no_grad here, and makes ordinary tensors."""
        return False

    def is_set_to(self, tensor: Any) -> bool:
        """Whether two tensors have one value, and not equal ones."""
        return self.node is tensor.node

    @without_effect
    def new_empty_strided(
        self, size: Any, stride: Any, *, dtype=None, device=None, requires_grad: bool = False
    ):
        """new_empty; stride is without effect: it is always that of the order of elements."""
        return self.new_empty(size, dtype=dtype, device=device, requires_grad=requires_grad)

    def map2_(self, x: Any, y: Any, callable: Callable[[Any, Any, Any], Any]):
        """map_ with two other tensors."""
        rows = [t.expand(*self.shape).reshape(-1).tolist() for t in (self, x, y)]
        return self._from_host([callable(*v) for v in zip(*rows, strict=True)])

    def split_with_sizes(self, split_sizes: Any, dim: int = 0):
        """split, by the sizes of the parts, split_sizes."""
        return self.split(list(split_sizes), dim)

    def narrow_copy(self, dim: int, start: int, length: int, *, out=None):
        """`length` elements of a dim from `start` on, as a tensor of its own, or as the value of `out`.
        IndexError and ValueError where these are not there."""
        copied = lambda: self.narrow(dim, start, length).clone()  # noqa: E731
        return copied() if out is None else into(copied, (), {"out": out})

    def apply_(self, callable: Callable[[Any], Any]):
        """Gives each element what a Python function makes of it: reads, and waits; returns the tensor."""
        return self._from_host([callable(v) for v in self.reshape(-1).tolist()])

    def map_(self, tensor: Any, callable: Callable[[Any, Any], Any]):
        """apply_ of a function of this tensor's and another's elements, which is broadcast."""
        others = tensor.expand(*self.shape).reshape(-1).tolist()
        return self._from_host(
            [callable(a, b) for a, b in zip(self.reshape(-1).tolist(), others, strict=True)]
        )

    def _from_host(self, values: list[Any]):
        made = self.new_tensor(values) if values else self.new_empty(0)
        return self.copy_(made.reshape(*self.shape))

    def new(self, *size):
        """new_empty."""
        return self.new_empty(*size)

    def set_(self, source: Any = None):
        """Become another tensor's value of the same shape; returns the tensor."""
        return self.assign_(self.new_empty(0) if source is None else source)

    def resize_(self, *sizes):
        """The tensor itself, where it has this shape already; ValueError else: a tensor keeps its shape."""
        wanted = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], tuple | list) else sizes
        if tuple(wanted) != self.shape:
            rule = f"a tensor keeps its {prod(self.shape)} elements and its shape: use x = x.reshape(...)"
            raise ValueError(f"resize_({describe(self)}, {list(wanted)}): {rule}")
        return self

    def resize_as_(self, the_template: Any):
        """resize_ to another tensor's shape."""
        return self.resize_(*the_template.shape)

    unsafe_split_with_sizes = split_with_sizes


def sign(table: type) -> None:
    """Enter the methods that are functions, once all functions are there."""
    for name in AS_METHODS.split():
        setattr(Forms, name, COMPOSED[name])
    Forms.unsafe_chunk, Forms.unsafe_split = table.chunk, table.split  # type: ignore[attr-defined]
