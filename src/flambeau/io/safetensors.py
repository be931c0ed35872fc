"""Turns tensors by name into a .safetensors file, and a file into tensors by name or one clear error."""

import json
import os
import struct
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import dtype as dt
from .. import run
from ..errors import FlambeauError
from ..host import to_numpy
from ..node import describe
from ..tensor import Tensor, tensor

# What a file may hold, and the NumPy type that its bytes are read as.
STORED = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?", "BF16": "<u2",
}  # fmt: skip

NAMES = {
    dt.float32: "F32", dt.float16: "F16", dt.bfloat16: "BF16", dt.int32: "I32", dt.int8: "I8",
    dt.uint32: "U32", dt.uint8: "U8", dt.bool_: "BOOL",
}  # fmt: skip


def save_file(tensors: Mapping[str, Tensor], path: Any, metadata: dict[str, str] | None = None) -> None:
    """Write tensors by name; the file is whole or as before. FlambeauError when it can't be written."""
    wrong = next((n for n, t in tensors.items() if not isinstance(t, Tensor)), None)
    if wrong is not None:
        rule = f"{wrong!r} is {describe(tensors[wrong])}, not a tensor: wrap it in fb.tensor(...)"
        raise TypeError(f"save_file({str(path)!r}): {rule}")
    write_whole(Path(path), _file(tensors, metadata))


def _file(tensors: Mapping[str, Tensor], metadata: dict[str, str] | None) -> bytes:
    """The file's bytes: the header's length, the header, the data, large elements first so that all lie
    aligned (huggingface/safetensors, README, "Format")."""
    names = sorted(tensors, key=lambda n: (-_itemsize(tensors[n].dtype), n))
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    parts, at = [], 0
    for name, raw in zip(names, run.read([tensors[n] for n in names]), strict=True):
        t = tensors[name]
        part = to_numpy(raw, t.shape, t.dtype).tobytes() if t.dtype is dt.bool_ else raw
        header[name] = {
            "dtype": NAMES[t.dtype],
            "shape": list(t.shape),
            "data_offsets": [at, at + len(part)],
        }
        parts.append(part)
        at += len(part)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([struct.pack("<Q", len(text)), text, *parts])


def _itemsize(dtype: dt.DType) -> int:
    return 1 if dtype is dt.bool_ else dtype.itemsize  # a file's bools are bytes


def load_file(path: Any, device: Any = None) -> dict[str, Tensor]:
    """Read tensors by name; 64-bit types and 16-bit integers become 32-bit ones as in fb.tensor.

    FlambeauError names the file when it is missing, cut short, no .safetensors file, or of other types.
    """
    from safetensors import SafetensorError, deserialize

    try:
        entries = deserialize(Path(path).read_bytes())
    except FileNotFoundError:
        raise FlambeauError(f"load_file({str(path)!r}): there is no such file: check the path") from None
    except OSError as e:
        raise FlambeauError(f"load_file({str(path)!r}): can't be read: {e.strerror or e}") from None
    except SafetensorError as e:
        told = str(e).removeprefix("Error while deserializing header: ")
        rule = f"is cut short or no .safetensors file ({told}): get a whole copy"
        raise FlambeauError(f"load_file({str(path)!r}): {rule}") from None
    strange = [f"{name!r} is {e['dtype']}" for name, e in entries if e["dtype"] not in STORED]
    if strange:
        rule = f"{', '.join(strange)}: only these can be read: {', '.join(STORED)}"
        raise FlambeauError(f"load_file({str(path)!r}): {rule}")
    return {name: _tensor(path, name, e, device) for name, e in entries}


def _tensor(path: Any, name: str, entry: dict, device: Any) -> Tensor:
    import numpy as np

    array = np.frombuffer(entry["data"], STORED[entry["dtype"]])
    dtype = dt.bfloat16 if entry["dtype"] == "BF16" else None
    if dtype is not None:
        array = (array.astype("<u4") << 16).view("<f4")  # bfloat16 is the upper half of a float32
    try:
        return tensor(array.reshape(entry["shape"]), dtype, device)
    except ValueError as e:
        raise FlambeauError(f"load_file({str(path)!r}): {name!r}: {e}") from None


def write_whole(path: Path, data: bytes) -> None:
    """Write beside and rename: a reader sees the old file or the new one."""
    beside = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as f:
            beside = f.name
            f.write(data)
        os.chmod(beside, 0o666 & ~_umask())
        os.replace(beside, path)
    except OSError as e:
        if beside is not None:
            Path(beside).unlink(missing_ok=True)
        rule = f"can't be written: {e.strerror or e}: choose another path or free some space"
        raise FlambeauError(f"save_file({str(path)!r}): {rule}") from None


def _umask() -> int:
    """The process's file mask, which Python can only read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
