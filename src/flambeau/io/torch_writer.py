"""Writes nested tensors for torch.load, with weights_only or without: a zip archive with a pickle."""

import os
import struct
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from ..core.dtype import DType
from ..core.node import describe
from ..core.shape import contiguous_strides
from ..runtime import run
from ..tensor import Tensor
from .safetensors import raw_bytes, write_bytes
from .sources import source_name
from .torch_file import FULL_NAMES
from .zip_archive import store_members

STORAGE_OF = {kind: f"{name}Storage" for name, kind in FULL_NAMES.items() if name != "Untyped"}


def save_torch(obj: Any, f: str | os.PathLike[str] | BinaryIO) -> None:
    """Write tensors in nested dicts, lists and tuples, with numbers, strings, dtypes and None, as torch.save
    does; f is a path, or a file that is open for writing bytes.

    TypeError names a value that can't be saved, FlambeauError a path that can't be written. obj: the nested
    value.
    """
    pickle = TorchPickle(f"save_torch(..., {source_name(f)})")
    pickle.put(obj, "")
    # "version" 3 is the zip format's; PyTorch 2.1 and later read "byteorder"
    members: list[tuple[str, Any]] = [("data.pkl", b"\x80\x02" + b"".join(pickle.out) + b".")]
    members += [("byteorder", b"little"), ("version", b"3\n")]
    raw = run.read(pickle.tensors)
    members += [
        (f"data/{i}", raw_bytes(t, r)) for i, (t, r) in enumerate(zip(pickle.tensors, raw, strict=True))
    ]
    write_bytes(f, store_members([(f"archive/{name}", data) for name, data in members]), name="save_torch")


class TorchPickle:
    """Builds a pickle of protocol 2, and collects the tensors of its storages."""

    def __init__(self, call: str):
        self.call = call
        self.out: list[bytes] = []
        self.tensors: list[Tensor] = []
        self.places: dict[int, int] = {}  # a tensor that occurs several times is written once

    def put(self, value: Any, path: str) -> None:
        """Append the opcodes of a value; path is its position in the nested value."""
        kind = next((k for k in WRITERS if isinstance(value, k)), None)
        if kind is None:
            place = f"the object at {path!r}" if path else "the object"
            rule = "pass tensors, numbers, strings, dtypes, None, or dicts, lists and tuples of them"
            raise TypeError(f"{self.call}: {place} is {describe(value)}: {rule}")
        WRITERS[kind](self, value, path)

    def step(self, code: bytes) -> None:
        self.out.append(code)

    def inside(self, value: Any, path: str, key: Any) -> None:
        self.put(value, f"{path}.{key}" if path else str(key))

    # --- one method for each type ---

    def number(self, value: int, _: str) -> None:
        # LONG1 for up to 255 bytes, else LONG4; both are little-endian two's complement
        raw = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        self.step(
            b"\x8b" + struct.pack("<i", len(raw)) + raw if len(raw) > 255 else bytes([0x8A, len(raw)]) + raw
        )

    def text(self, value: str, _: str) -> None:
        raw = value.encode("utf-8", "surrogatepass")
        self.step(b"X" + struct.pack("<I", len(raw)) + raw)

    def items(self, value: Mapping[Any, Any], path: str) -> None:
        # EMPTY_DICT, MARK, the pairs, SETITEMS
        self.step(b"}(")
        for key, part in value.items():
            if not isinstance(key, str | int | float | bool | None):
                raise TypeError(f"{self.call}: a key is {describe(key)}: keys must be strings or numbers")
            self.put(key, path)
            self.inside(part, path, key)
        self.step(b"u")

    def values(self, value: list[Any], path: str) -> None:
        # EMPTY_LIST, MARK, the values, APPENDS
        self.step(b"](")
        for i, part in enumerate(value):
            self.inside(part, path, i)
        self.step(b"e")

    def fixed(self, value: tuple[Any, ...], path: str) -> None:
        self.step(b"(")
        for i, part in enumerate(value):
            self.inside(part, path, i)
        self.step(b"t")

    def tensor(self, t: Tensor, path: str) -> None:
        """Return a tensor over its own storage. Unsigned words use an untyped storage with a dtype, which
        PyTorch added later."""
        name = STORAGE_OF.get(t.dtype.name)
        if id(t) not in self.places:
            self.places[id(t)] = len(self.tensors)
            self.tensors.append(t)
        # GLOBAL, then MARK MARK: the outer tuple has the arguments, the inner one the persistent id
        function = b"_rebuild_tensor_v2" if name else b"_rebuild_tensor_v3"
        self.step(b"ctorch._utils\n" + function + b"\n((")
        self.text("storage", path)
        self.step(f"ctorch\n{name}\n".encode() if name else b"ctorch.storage\nUntypedStorage\n")
        self.text(str(self.places[id(t)]), path)
        self.text("cpu", path)
        self.number(t.numel() if name else t.nbytes, path)
        # TUPLE, BINPERSID, and the offset 0 (BININT1)
        self.step(b"tQK\x00")
        self.fixed(t.shape, path)
        self.fixed(tuple(contiguous_strides(t.shape)), path)
        self.step(
            b"\x89ccollections\nOrderedDict\n)R" + (b"" if name else f"ctorch\n{t.dtype.name}\n".encode())
        )
        self.step(b"tR")


WRITERS: dict[Any, Callable[[TorchPickle, Any, str], None]] = {  # a bool is an int: it comes first
    Tensor: TorchPickle.tensor,
    bool: lambda p, value, _: p.step(b"\x88" if value else b"\x89"),
    int: TorchPickle.number,
    float: lambda p, value, _: p.step(b"G" + struct.pack(">d", value)),
    str: TorchPickle.text,
    type(None): lambda p, value, _: p.step(b"N"),
    DType: lambda p, value, _: p.step(f"ctorch\n{value.name}\n".encode()),
    Mapping: TorchPickle.items,
    list: TorchPickle.values,
    tuple: TorchPickle.fixed,
}
