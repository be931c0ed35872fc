"""Storages and addresses: which tensors share elements, their strides, and where the bytes are on the CPU.

Libraries that write files ask for these. An address is valid while its tensor keeps its value. Addresses
on other devices identify storages, and can't be read.
"""

from itertools import count
from math import prod
from typing import Any
from weakref import WeakKeyDictionary

from ..core.alias import STRIDES, moves_of
from ..core.shape import contiguous_strides
from ..runtime import run
from ..tensor import Tensor
from .switch import in_mode

_bytes_of: WeakKeyDictionary[Tensor, tuple[Any, Any]] = WeakKeyDictionary()  # base -> (node, its bytes)
_numbers = count(1)
_numbers_of: WeakKeyDictionary[Tensor, int] = WeakKeyDictionary()


class _Place:
    """The elements that a tensor shows: their owner, its strides in elements, and the first one."""

    __slots__ = ("base", "first", "strides")

    def __init__(self, t: Tensor):
        self.base, self.first = t, 0
        self.strides: tuple[int, ...] = tuple(contiguous_strides(t.node.shape))
        base = None if t.link is None else t.link[0].base()
        if base is None or base is t:
            return
        shape, strides, first = base.node.shape, tuple(contiguous_strides(base.node.shape)), 0
        for _, op, attrs in moves_of(t):
            new = op.shape(shape, **attrs)
            moved = STRIDES[op.name](shape, strides, new, attrs)
            if moved is None:  # it copies: the tensor owns its elements
                return
            first = _first(op.name, first, shape, strides, attrs)
            shape, strides = new, tuple(moved)
        self.base, self.first, self.strides = base, first, strides


def _first(name: str, first: int, shape: Any, strides: tuple[int, ...], attrs: dict[str, Any]) -> int:
    """The position of the first element after a move."""
    if name == "_slice":
        return first + sum(a * s for a, s in zip(attrs["starts"], strides, strict=True))
    if name == "diagonal":
        offset = attrs["offset"]
        return first + abs(offset) * strides[attrs["dim2"] if offset > 0 else attrs["dim1"]]
    return {"view_as_real": first * 2, "view_as_complex": first // 2}.get(name, first)


def _address(base: Tensor) -> int:
    """Where a tensor's elements begin; 0 for none."""
    if not base.numel() or base.device.name == "meta":
        return 0
    if base.device.kind != "cpu":
        number = _numbers_of.get(base)
        if number is None:
            number = _numbers_of[base] = next(_numbers)
        return number << 40
    run.realize(base)
    node = base.node
    array = node.buffer.array
    if array.itemsize == node.dtype.itemsize and array.flags.c_contiguous:
        return array.ctypes.data
    # the device computes in a wider dtype: the bytes are copied
    kept = _bytes_of.get(base)
    if kept is None or kept[0] is not node:
        kept = _bytes_of[base] = node, _as_bytes(run.read([base])[0])
    return kept[1].ctypes.data


def _as_bytes(raw: Any) -> Any:
    import numpy as np

    return np.frombuffer(raw, np.uint8)


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
        return self._base.numel() * self._base.itemsize

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

    def is_shared(self) -> bool:
        """False: no other process has it."""
        return False


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
        return self._base.itemsize

    def untyped(self) -> UntypedStorage:
        """The same bytes."""
        return UntypedStorage(self._base)

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return self._base.reshape(-1).tolist()

    def __getitem__(self, index: Any) -> Any:
        return self.tolist()[index]


@in_mode(Tensor)
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The bytes that the tensor shares with its views."""
    return UntypedStorage(_Place(self).base)


@in_mode(Tensor, "storage", "_typed_storage")
def storage(self: Tensor) -> TypedStorage:
    """The elements that the tensor shares with its views."""
    return TypedStorage(_Place(self).base)


@in_mode(Tensor)
def data_ptr(self: Tensor) -> int:
    """The address of the first element; on devices other than the CPU a number that identifies it."""
    place = _Place(self)
    return (_address(place.base) + place.first * self.itemsize) if prod(self.node.shape) else 0


@in_mode(Tensor)
def storage_offset(self: Tensor) -> int:
    """The position of the first element in the storage."""
    return _Place(self).first


@in_mode(Tensor)
def stride(self: Tensor, dim: int | None = None) -> Any:
    """The distance in elements between neighbours along each dim, or along one."""
    strides = _Place(self).strides
    return strides if dim is None else strides[dim]
