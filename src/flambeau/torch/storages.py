"""Storages and addresses: which tensors share elements, their strides, and where the bytes are on the CPU.

Libraries that write files ask for these. An address is valid while its tensor keeps its value. Addresses
on other devices identify storages, and can't be read.
"""

from itertools import count
from math import prod
from mmap import ACCESS_READ, mmap
from typing import Any
from weakref import ref

from ..core import dtype as dt
from ..core.alias import STRIDES, is_in_order, moves_of
from ..core.shape import contiguous_strides
from ..io.safetensors import raw_bytes
from ..runtime import run
from ..tensor import Tensor
from .switch import add_patch, in_mode


class ByTensor:
    """Values by tensor, as long as that lives. `==` of tensors compares elements, so keys are ids."""

    def __init__(self) -> None:
        self.values: dict[int, tuple[Any, Any]] = {}

    def get(self, t: Tensor) -> Any:
        """The value of a tensor; None if it has none."""
        return self.values.get(id(t), (None, None))[1]

    def set(self, t: Tensor, value: Any) -> Any:
        """Keep a value; returns it."""
        key = id(t)
        self.values[key] = ref(t, lambda _: self.values.pop(key, None)), value
        return value


_numbers = count(1)
_bytes_of = ByTensor()  # (node, its bytes)
_numbers_of = ByTensor()


def bytes_of(dtype: dt.DType) -> int:
    """Bytes of an element in a file, as PyTorch counts them: a bool, a word on devices, is one byte."""
    return 1 if dtype is dt.bool_ else dtype.itemsize


class StoragePlace:
    """The elements that a tensor shows: their owner, its strides in elements, and the first one."""

    __slots__ = ("base", "first", "strides")

    def __init__(self, t: Tensor):
        self.base, self.first = t, 0
        self.strides: tuple[int, ...] = tuple(contiguous_strides(t.node.shape))
        if t.link is None:
            return
        alias = t.link[0]
        base = alias.base()
        base = _whole_view(alias) if base is None else base
        if base is None or base is t:
            return
        shape, strides, first = alias.shape, tuple(contiguous_strides(alias.shape)), 0
        for _, op, attrs in moves_of(t):
            new = op.shape(shape, **attrs)
            moved = STRIDES[op.name](shape, strides, new, attrs)
            if moved is None:  # it copies: the tensor owns its elements
                return
            first = _first(op.name, first, shape, strides, attrs)
            shape, strides = new, tuple(moved)
        self.base, self.first, self.strides = base, first, strides


def _whole_view(alias: Any) -> Tensor | None:
    """A view of all elements in order, which stands for a base that is gone."""
    elements = prod(alias.shape)
    living = (view for r in alias.views if (view := r()) is not None)
    return next((v for v in living if v.numel() == elements and is_in_order(v)), None)


def _first(name: str, first: int, shape: Any, strides: tuple[int, ...], attrs: dict[str, Any]) -> int:
    """The position of the first element after a move."""
    if name == "_slice":
        starts: tuple[int, ...] = attrs["starts"]
        return first + sum(a * s for a, s in zip(starts, strides, strict=True))
    if name == "diagonal":
        offset: int = attrs["offset"]
        dim: int = attrs["dim2"] if offset > 0 else attrs["dim1"]
        # A positive offset skips columns, a negative one rows.
        return first + abs(offset) * strides[dim]
    # Positions count elements of the result: a complex number is two reals.
    moved = {"view_as_real": first * 2, "view_as_complex": first // 2}
    return moved.get(name, first)


def _address(base: Tensor) -> int:
    """Where a tensor's elements begin; 0 for none."""
    if not base.numel() or base.device.name == "meta":
        return 0
    if base.device.kind != "cpu":
        number = _numbers_of.get(base)
        if number is None:
            number = _numbers_of.set(base, next(_numbers))
        # A terabyte apart: addresses of elements of two tensors never meet.
        return number << 40
    run.realize(base)
    node = base.node
    array = node.buffer.array
    if array.itemsize == bytes_of(node.dtype) and array.flags.c_contiguous:
        return array.ctypes.data
    import numpy as np

    # the device computes in a wider dtype: the bytes are copied
    address = _bytes_of.get(base)
    if address is None or address[0] is not node:
        address = _bytes_of.set(base, (node, np.frombuffer(raw_bytes(base, run.read([base])[0]), np.uint8)))
    return address[1].ctypes.data


class UntypedStorage:
    """The bytes that a tensor and its views share."""

    def __init__(self, base: Tensor):
        self._base = base

    @property
    def device(self) -> Any:
        """Where the bytes are."""
        return self._base.device

    def data_ptr(self) -> int:
        """The address of the first byte; on other devices than the CPU a number that identifies it."""
        return _address(self._base)

    @property
    def _cdata(self) -> int:
        return id(self._base)

    def nbytes(self) -> int:
        """How many bytes it has."""
        return self._base.numel() * bytes_of(self._base.dtype)

    def size(self) -> int:
        """How many elements it has: bytes, for an untyped storage."""
        return self.nbytes()

    def element_size(self) -> int:
        """1: its elements are bytes."""
        return 1

    def __len__(self) -> int:
        return self.size()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other._base is self._base

    def __hash__(self) -> int:
        return id(self._base)

    def untyped(self) -> "UntypedStorage":
        """The same bytes."""
        return UntypedStorage(self._base)

    @staticmethod
    def from_file(filename: Any, shared: bool = False, nbytes: int = 0) -> "FileStorage":
        """The first nbytes of a file. shared: accepted and ignored: the file is only read."""
        with open(filename, "rb") as f:
            mapped = mmap(f.fileno(), 0, access=ACCESS_READ)
        return FileStorage(memoryview(mapped)[: nbytes or None])

    def is_shared(self) -> bool:
        """False: no other process has it."""
        return False


class FileStorage:
    """The bytes of a file, or a part of them, which are read when a tensor is created from them."""

    device = "cpu"

    def __init__(self, view: memoryview):
        self._view = view

    def nbytes(self) -> int:
        """How many bytes it has."""
        return len(self._view)

    size = __len__ = nbytes

    def untyped(self) -> "FileStorage":
        """Itself: it has bytes."""
        return self

    def data_ptr(self) -> int:
        """The address of the first byte in the mapped file."""
        return self.__array__().ctypes.data

    def __getitem__(self, index: slice) -> "FileStorage":
        return FileStorage(self._view[index])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy as np

        return np.frombuffer(self._view, np.uint8)


class TypedStorage(UntypedStorage):
    """The elements that a tensor and its views share."""

    @property
    def dtype(self) -> Any:
        """The dtype of its elements."""
        return self._base.dtype

    def size(self) -> int:
        """How many elements it has."""
        return self._base.numel()

    def element_size(self) -> int:
        """Bytes of an element."""
        return bytes_of(self._base.dtype)

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return self._base.reshape(-1).tolist()

    def __getitem__(self, index: Any) -> Any:
        return self.tolist()[index]


@in_mode(Tensor)
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The bytes that the tensor shares with its views."""
    return UntypedStorage(StoragePlace(self).base)


@in_mode(Tensor, "storage", "_typed_storage")
def storage(self: Tensor) -> TypedStorage:
    """The elements that the tensor shares with its views."""
    return TypedStorage(StoragePlace(self).base)


@in_mode(Tensor)
def data_ptr(self: Tensor) -> int:
    """The address of the first element; on devices other than the CPU a number that identifies it."""
    place = StoragePlace(self)
    return (_address(place.base) + place.first * bytes_of(self.dtype)) if prod(self.node.shape) else 0


@in_mode(Tensor)
def storage_offset(self: Tensor) -> int:
    """The position of the first element in the storage."""
    return StoragePlace(self).first


@in_mode(Tensor)
def stride(self: Tensor, dim: int | None = None) -> Any:
    """The distance in elements between neighbours along each dim, or along one."""
    strides = StoragePlace(self).strides
    return strides if dim is None else strides[dim]


@in_mode(Tensor)
def element_size(self: Tensor) -> int:
    """Bytes of an element."""
    return bytes_of(self.dtype)


def _nbytes(self: Tensor) -> int:
    """Bytes of all elements."""
    return self.numel() * bytes_of(self.dtype)


add_patch(Tensor, "itemsize", property(element_size))
add_patch(Tensor, "nbytes", property(_nbytes))
