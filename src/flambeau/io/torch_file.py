"""Reads files of torch.save, zip archives or the older sequence of pickles, as plain values and tensors.

The pickle is read twice: first to collect the parts of storages that tensors need, then to build the tensors.
A storage that several tensors share is uploaded once; of others only the needed bytes are read.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from struct import unpack_from
from typing import Any, BinaryIO

from ..core import dtype as dt
from ..core.dtype import DTypeLike
from ..device import DeviceLike
from ..tensor import Tensor
from . import zip_archive
from .elements import (
    KINDS,
    SIZE,
    DamagedFile,
    ElementKind,
    LoadOptions,
    RefusedFile,
    check_shape,
    shorten_name,
    span,
    strided_view,
    tensor_of,
)
from .numpy_elements import tensor_in_form
from .sources import name_file_in_errors, open_source, source_name
from .unpickler import (
    Global,
    Unfinished,
    Unpickler,
    Vocabulary,
    is_exact_dict,
    is_exact_list,
    is_exact_tuple,
    plain,
)
from .unpickler_names import CALLS, VALUES, form_of

MAGIC = 0x1950A86A20F9469CFC6C  # the magic number of the older files (torch.serialization)
VERSION = 1001  # the only protocol version that was ever used
FULL_NAMES = {"Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16"}
FULL_NAMES.update({"Long": "int64", "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8"})
FULL_NAMES.update({"Bool": "bool", "ComplexFloat": "complex64", "ComplexDouble": "complex128"})
FULL_NAMES.update({"Untyped": "uint8"})
STORAGES = {f"{name}Storage": KINDS[kind] for name, kind in FULL_NAMES.items()}
# torch.FloatStorage, torch.cuda.FloatStorage (moved to any device) and torch.storage.TypedStorage's kinds
NAMED: dict[str, Any] = {
    f"{place}.{name}": k for name, k in STORAGES.items() for place in ("torch", "torch.cuda", "torch.storage")
}
NAMED.update({f"torch.{name}": kind if kind.float8 else kind.dtype for name, kind in KINDS.items()})
NAMED.update({"torch.Tensor": None, "torch.nn.parameter.Parameter": None})
DENSE = "save .to_dense()"
REFUSED = {  # constructors of unsupported kinds of tensors, with advice what to do in PyTorch
    "_rebuild_sparse_tensor": f"it is a sparse tensor: {DENSE}",
    "_rebuild_sparse_csr_tensor": f"it is a sparse tensor: {DENSE}",
    "_rebuild_qtensor": "it is a quantised tensor: save .dequantize()",
    "_rebuild_nested_tensor": "it is a nested tensor: save its .unbind()",
    "_rebuild_meta_tensor_no_storage": "it is a tensor on the meta device, without values",
    "_rebuild_device_tensor_from_numpy": "it is a tensor on another device: save .cpu()",
}


@dataclass(frozen=True)
class Storage:
    """A sequence of elements in a file, of which tensors are views."""

    key: str
    kind: ElementKind
    count: int
    first: int = 0  # the offset in elements, if this is a part of another storage


@dataclass(frozen=True)
class StorageView:
    """The view of a storage that a tensor has."""

    storage: str
    kind: ElementKind
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]

    @property
    def is_contiguous(self) -> bool:
        step = 1
        steps: list[int] = []
        for n in reversed(self.size):
            steps.append(step)
            step *= n
        pairs = zip(self.size, self.stride, reversed(steps), strict=True)
        return all(n == 1 or have == step for n, have, step in pairs)


class TorchReading:
    """The tensors of a file: the first reading records their views, the second builds them."""

    def __init__(self, place: LoadOptions):
        self.place = place
        self.uses: dict[tuple[str, ElementKind], set[StorageView]] = {}
        self.bytes_of: Callable[[str], memoryview] | None = None  # set for the second reading
        self.bases: dict[tuple[str, ElementKind], Tensor] = {}
        self.tensors: dict[StorageView, Tensor] = {}

    def part(self, storage: Storage, kind: ElementKind, offset: int, size: Any, stride: Any) -> Any:
        """Return a tensor. The first reading only records the bytes that it needs, and returns None."""
        # Offsets count elements of the storage. A view by the older format starts at `first`.
        part = StorageView(storage.key, kind, storage.first + offset, tuple(size), tuple(stride))
        if self.bytes_of is None:
            self.check(storage, part)
            self.uses.setdefault((part.storage, kind), set()).add(part)
            return None
        if part not in self.tensors:
            self.tensors[part] = self.tensor(part, self.bytes_of(part.storage))
        return self.tensors[part]

    def check(self, storage: Storage, part: StorageView) -> None:
        """Raise DamagedFile if a view is outside its storage."""
        name = f"a tensor of storage {storage.key!r:.50}"
        check_shape(name, part.size)
        if len(part.stride) != len(part.size) or not all(type(s) is int and s >= 0 for s in part.stride):
            raise DamagedFile(f"{name} does not have one stride for each size")
        needed = span(part.size, part.stride, part.offset)
        available = (storage.first + storage.count) * storage.kind.size // part.kind.size
        if needed > available:
            raise DamagedFile(f"{name} reaches element {needed:,} of {available:,}")
        # Stride 0 lets a few bytes expand to any size: limit a view to the storage or 2^31 elements.
        if prod(part.size) > max(available, SIZE):
            raise DamagedFile(f"{name} needs {prod(part.size):,} elements, and {available:,} are present")

    def tensor(self, part: StorageView, raw: memoryview) -> Tensor:
        use, size = (part.storage, part.kind), part.kind.size
        name = f"storage {part.storage}"
        # Several tensors show this storage: load it once and let them stay views of one tensor.
        if len(self.uses[use]) > 1:
            if use not in self.bases:
                count = len(raw) // size
                self.bases[use] = tensor_of(name, raw[: count * size], (count,), part.kind, self.place)
            return strided_view(self.bases[use], part.size, part.stride, part.offset)
        # an empty view needs no bytes, but may have an offset
        end = max(span(part.size, part.stride, part.offset), part.offset)
        raw = raw[part.offset * size : end * size]
        # Only the bytes between the first and the last element of the view go to the device.
        if part.is_contiguous:
            return tensor_of(name, raw, part.size, part.kind, self.place)
        base = tensor_of(name, raw, (len(raw) // size,), part.kind, self.place)
        return strided_view(base, part.size, part.stride, 0)

    # --- functions that a pickle names ---

    def rebuild(self, storage: Any, offset: Any, size: Any, stride: Any) -> Any:
        if not isinstance(storage, Storage) or type(offset) is not int or offset < 0:
            raise DamagedFile("a tensor has no storage, or no position in it")
        return self.part(storage, storage.kind, offset, size, stride)

    def rebuild_v2(self, storage: Any, offset: Any, size: Any, stride: Any, *rest: Any) -> Any:
        """rest: requires_grad, hooks, and the view bits."""
        return self.with_view_bits(self.rebuild(storage, offset, size, stride), rest[2:])

    def rebuild_v3(self, storage: Any, offset: Any, size: Any, stride: Any, *rest: Any) -> Any:
        """rest: as above, with the dtype before the view bits."""
        # v3 has an untyped storage (bytes) and a dtype, for dtypes without a storage class
        kind = plain(rest[2])
        kind = KINDS[kind.name] if isinstance(kind, dt.DType) else kind
        if not isinstance(kind, ElementKind) or not isinstance(storage, Storage):
            raise DamagedFile("a tensor has an invalid dtype, or no storage")
        typed = Storage(storage.key, kind, storage.count * storage.kind.size // kind.size)
        return self.with_view_bits(self.rebuild(typed, offset, size, stride), rest[3:])

    def with_view_bits(self, tensor: Any, rest: Any) -> Any:
        """Apply PyTorch's view bits: conjugate, negate."""
        # conj() and neg of PyTorch are lazy: the file has the bytes of the base
        bits = rest[0] if rest and rest[0] else dict[str, Any]()
        if not is_exact_dict(bits) or not bits.keys() <= {"conj", "neg"}:
            raise DamagedFile("a tensor has flags other than conj and neg")
        if tensor is None:
            return None
        tensor = tensor.conj() if bits.get("conj") else tensor
        return -tensor if bits.get("neg") else tensor

    def parameter(self, data: Any, *_: Any) -> Any:
        return plain(data)

    def from_type(self, rebuild: Any, kind: Any, args: Any, state: Any) -> Any:
        """Rebuild a tensor with Python attributes, without the attributes."""
        if not isinstance(rebuild, Global) or rebuild.call is None or not is_exact_tuple(args):
            raise DamagedFile("a tensor has no known constructor")
        return rebuild.call(*args)

    def array(self, kind: Any, shape: Any, code: Any) -> Unfinished:
        """Return a NumPy array: its shape and data follow as a state."""
        return Unfinished(self.array_of_state)

    def array_of_state(self, state: Any) -> Any:
        if not is_exact_tuple(state) or len(state) != 5 or not is_exact_tuple(state[1]):
            raise DamagedFile("a NumPy array has an invalid form")
        return self.from_numpy(state[4], state[2], state[1], state[3] is True)

    def from_buffer(self, raw: Any, dtype: DTypeLike, shape: Any, order: Any) -> Any:
        return self.from_numpy(plain(raw), plain(dtype), plain(shape), order == "F")

    def from_numpy(self, raw: Any, dtype: DTypeLike, shape: Any, first_fastest: bool) -> Any:
        form = form_of(dtype)
        if type(raw) is not bytes or not is_exact_tuple(shape):
            raise DamagedFile("a NumPy array has no bytes, or no shape")
        check_shape("an array", shape)
        if len(raw) != prod(shape) * form[0].size:
            raise DamagedFile("a NumPy array has the wrong number of bytes for its shape")
        if self.bytes_of is None:
            return None
        return tensor_in_form("an array", memoryview(raw), shape, form, first_fastest, self.place)

    def names(self) -> Vocabulary:
        """Return the names that a file may use, with their replacements."""
        own: dict[str, Callable[..., Any]] = {
            "torch._utils._rebuild_tensor": self.rebuild,
            "torch._utils._rebuild_tensor_v2": self.rebuild_v2,
            "torch._utils._rebuild_tensor_v3": self.rebuild_v3,
            "torch._utils._rebuild_parameter": self.parameter,
            "torch._utils._rebuild_parameter_with_state": self.parameter,
            "torch._tensor._rebuild_from_type_v2": self.from_type,
        }
        for core in ("core", "_core"):
            own[f"numpy.{core}.multiarray._reconstruct"] = self.array
            own[f"numpy.{core}.numeric._frombuffer"] = self.from_buffer
        return Vocabulary(CALLS | own, VALUES | NAMED, REFUSED)


def load_torch(
    f: str | os.PathLike[str] | BinaryIO | bytes, device: DeviceLike | None = None, *, keep_wide: bool = False
) -> Any:
    """Load a file of torch.save, a state_dict or a nested value, without PyTorch; no code in it is executed.

    f: a path, an open file, or bytes. keep_wide: float64, which GPUs lack, stays on the host; else it
    becomes float32, and FlambeauError names a number that does not fit, the fault of a file, or an object in
    it that is not data.
    """
    call = f"load_torch({source_name(f)})"
    with open_source(f, call) as view, name_file_in_errors(call, "PyTorch", view):
        return read_torch(view, LoadOptions.of(device, keep_wide))


def read_torch(view: memoryview, place: LoadOptions) -> Any:
    """Return the contents of a torch.save file; DamagedFile reports its fault."""
    return _read_zip(view, place) if bytes(view[:4]) == b"PK\x03\x04" else _read_old(view, place)


def is_pickle(view: memoryview) -> bool:
    """Whether bytes begin with a pickle of protocol 2 or later."""
    return bytes(view[:1]) == b"\x80" and bytes(view[1:2]) <= b"\x05"


def _storage(parts: Any) -> tuple[Storage, Any]:
    """Return the storage of a persistent id, and the view that the older format may add."""
    word = parts[0] if is_exact_tuple(parts) and len(parts) in (5, 6) else None
    if word not in ("storage", b"storage"):
        raise DamagedFile("it refers to an object that is not a storage")
    kind, name, _, count = parts[1:5]
    name = str(name, "latin-1") if type(name) is bytes else name
    if not isinstance(kind, ElementKind) or type(name) is not str or type(count) is not int or count < 0:
        raise DamagedFile("a storage has no name, dtype or size")
    return Storage(name, kind, count), parts[5] if len(parts) == 6 else None


def _read_zip(view: memoryview, place: LoadOptions) -> Any:
    members = zip_archive.members(view)
    # PyTorch writes all members into a folder named after the file.
    roots = [name[: -len("data.pkl")] for name in members if name.rpartition("/")[2] == "data.pkl"]
    if len(roots) != 1:
        raise DamagedFile("it is not an archive of PyTorch: it has no data.pkl, or several")
    (root,) = roots
    # TorchScript archives contain code, which is never executed.
    if f"{root}constants.pkl" in members:
        raise RefusedFile(
            "it is a program of TorchScript: in PyTorch, save torch.jit.load(path).state_dict()"
        )
    order = members.get(f"{root}byteorder")
    if order is not None and bytes(zip_archive.contents(view, order)) != b"little":
        raise RefusedFile("it is big-endian: load it on that machine and save it in another format")
    reading = TorchReading(place)

    def persistent(parts: Any) -> Storage:
        storage, _ = _storage(parts)
        member = members.get(f"{root}data/{storage.key}")
        # before any tensor is made: the first reading checks all sizes
        if member is None or member.size != storage.count * storage.kind.size:
            present = "none" if member is None else f"{member.size:,}"
            needed = f"{storage.count * storage.kind.size:,}"
            raise DamagedFile(
                f"storage {shorten_name(storage.key)} has {present} of the {needed} bytes it needs"
            )
        return storage

    data = zip_archive.contents(view, members[f"{root}data.pkl"])
    _run(data, 0, reading, persistent, len(view))
    raw: dict[str, memoryview] = {}

    def bytes_of(name: str) -> memoryview:
        if name not in raw:
            raw[name] = zip_archive.contents(view, members[f"{root}data/{name}"])
        return raw[name]

    # From here on `part` makes tensors: the second reading runs the same pickle again.
    reading.bytes_of = bytes_of
    return _run(data, 0, reading, persistent, len(view))[0]


def _run(
    data: memoryview, offset: int, reading: TorchReading, persistent: Callable[..., Any], room: int
) -> tuple[Any, int]:
    """Return the value of the pickle that begins at an offset, and its end."""
    unpickler = Unpickler(data, offset, reading.names(), persistent, room)
    return unpickler.run(), unpickler.at


def _read_old(view: memoryview, place: LoadOptions) -> Any:
    """Read the older format: pickles of a magic number, a version, the system, the values and the storages'
    keys; then the storages."""
    reading = TorchReading(place)
    roots: dict[str, Storage] = {}

    def persistent(parts: Any) -> Storage:
        root, part = _storage(parts)
        if roots.setdefault(root.key, root) != root:
            raise DamagedFile(f"storage {shorten_name(root.key)} has conflicting dtypes or sizes")
        if part is None:
            return root
        if not is_exact_tuple(part) or [type(n) for n in part[1:]] != [int, int] or min(part[1:]) < 0:
            raise DamagedFile(f"a view of storage {shorten_name(root.key)} has no offset")
        if sum(part[1:]) > root.count:
            raise DamagedFile(f"a view of storage {shorten_name(root.key)} is out of range")
        return Storage(root.key, root.kind, part[2], part[1])

    def next_value(offset: int) -> tuple[Any, int]:
        return _run(view, offset, reading, persistent, len(view))

    magic, offset = next_value(0)
    if magic != MAGIC:  # another pickle, such as a dict of arrays
        reading.bytes_of = lambda name: view[:0]
        return next_value(0)[0]
    version, offset = next_value(offset)
    system, begin = next_value(offset)
    if version != VERSION or not is_exact_dict(system) or system.get("little_endian") is not True:
        raise RefusedFile(
            f"it has version {shorten_name(version)} or is big-endian: save it again in PyTorch"
        )
    # The values come before the storages that they refer to: skip them once, then read them again.
    _, offset = next_value(begin)
    keys, offset = next_value(offset)
    raw = _storages(view, offset, keys, roots)
    reading.bytes_of = raw.__getitem__
    return next_value(begin)[0]


def _storages(view: memoryview, offset: int, keys: Any, roots: dict[str, Storage]) -> dict[str, memoryview]:
    """Return the bytes of each storage, which follow the pickles in the order of their keys."""
    if not is_exact_list(keys) or len(keys) != len(roots) or {str(k) for k in keys} != roots.keys():
        raise DamagedFile("its list of storages does not match its tensors")
    raw: dict[str, memoryview] = {}
    for name in map(str, keys):
        if len(view) - offset < 8:
            raise DamagedFile(f"it ends before storage {shorten_name(name)}")
        # each storage: its number of elements i64, then the elements
        (count,), root = unpack_from("<q", view, offset), roots[name]
        end = offset + 8 + root.count * root.kind.size
        if count != root.count or end > len(view):
            problem = f"{count:,} elements of the {root.count:,}" if count != root.count else "an early end"
            raise DamagedFile(f"storage {shorten_name(name)} has {problem} that its tensors need")
        raw[name], offset = view[offset + 8 : end], end
    return raw
