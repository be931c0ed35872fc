"""Turns tensors by name into a .safetensors file, and a file into tensors by name or one clear error."""

import json
import os
import struct
import tempfile
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

from .. import dtype as dt
from .. import run
from ..device import get_device
from ..errors import FlambeauError
from ..node import describe
from ..tensor import Tensor, leaf, tensor

# What a file may hold: the dtypes that buffers hold alike, and the element codes of those that are converted.
OWN = {
    "F32": dt.float32, "F16": dt.float16, "BF16": dt.bfloat16, "I32": dt.int32, "I8": dt.int8,
    "U32": dt.uint32, "U8": dt.uint8,
}  # fmt: skip
CONVERTED = {"F64": "d", "I64": "q", "U64": "Q", "I16": "h", "U16": "H", "BOOL": "?"}
NAMES = {dtype: name for name, dtype in OWN.items()} | {dt.bool_: "BOOL"}
SIZES = {"F64": 8, "I64": 8, "U64": 8, "I16": 2, "U16": 2, "BOOL": 1}
SIZES |= {name: dtype.itemsize for name, dtype in OWN.items()}


def save_file(tensors: Mapping[str, Tensor], path: Any, metadata: dict[str, str] | None = None) -> None:
    """Write tensors by name; the file is whole or as before. FlambeauError when it can't be written."""
    checked(tensors, f"save_file({str(path)!r})")
    raw = run.read(list(tensors.values()))
    write_whole(Path(path), packed(tensors, raw, metadata))


async def save_bytes(tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of the file that `save_file` would write, awaited: for pages, which have no files."""
    checked(tensors, "save_bytes(...)")
    return packed(tensors, await run.Fetch(list(tensors.values())).arrive(), metadata)


def checked(tensors: Mapping[str, Tensor], call: str) -> None:
    wrong = next((n for n, t in tensors.items() if not isinstance(t, Tensor)), None)
    if wrong is not None:
        raise TypeError(
            f"{call}: {wrong!r} is {describe(tensors[wrong])}, not a tensor: wrap it in fb.tensor(...)"
        )


def packed(tensors: Mapping[str, Tensor], raw: list[Any], metadata: dict[str, str] | None) -> bytes:
    """The file's bytes: the header's length, the header, the data, large elements first so that all lie
    aligned (huggingface/safetensors, README, "Format")."""
    given = dict(zip(tensors, raw, strict=True))
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    parts, at = [], 0
    for name in sorted(tensors, key=lambda n: (-SIZES[NAMES[tensors[n].dtype]], n)):
        t, part = tensors[name], memoryview(given[name]).cast("B")
        if t.dtype is dt.bool_:  # a file's bools are bytes
            part = part[::4].tobytes()
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


def load_file(path: Any, device: Any = None) -> dict[str, Tensor]:
    """Read tensors by name; 64-bit types and 16-bit integers become 32-bit ones as in fb.tensor.

    FlambeauError names the file when it is missing, cut short, no .safetensors file, or of other types.
    """
    call = f"load_file({str(path)!r})"
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise FlambeauError(f"{call}: there is no such file: check the path") from None
    except OSError as e:
        raise FlambeauError(f"{call}: can't be read: {e.strerror or e}") from None
    return loaded(data, device, call)


def load_bytes(data: Any, device: Any = None) -> dict[str, Tensor]:
    """`load_file` of bytes that are there already, as a page has fetched them."""
    return loaded(data, device, "load_bytes(...)")


def loaded(data: Any, device: Any, call: str) -> dict[str, Tensor]:
    view = memoryview(data).cast("B")
    try:
        entries, body = parsed(view)
    except ValueError as e:
        rule = f"is cut short or no .safetensors file ({e}): get a whole copy"
        raise FlambeauError(f"{call}: {rule}") from None
    strange = [f"{name!r} is {e['dtype']}" for name, e in entries.items() if e["dtype"] not in SIZES]
    if strange:
        rule = f"{', '.join(strange)}: only these can be read: {', '.join(sorted(SIZES))}"
        raise FlambeauError(f"{call}: {rule}")
    try:
        return {name: _tensor(name, e, body, get_device(device)) for name, e in entries.items()}
    except ValueError as e:
        raise FlambeauError(f"{call}: {e}") from None


def parsed(view: memoryview) -> tuple[dict[str, dict], memoryview]:
    """(header, data) of a file; ValueError unless the data is exactly what the header promises."""
    if len(view) < 8:
        raise ValueError("it ends before its header")
    (length,) = struct.unpack_from("<Q", view)
    if length > len(view) - 8:
        raise ValueError("its header ends early")
    try:
        header = json.loads(bytes(view[8 : 8 + length]))
        header.pop("__metadata__", None)
        sizes = [prod(e["shape"]) * SIZES.get(e["dtype"], 0) for e in header.values()]
        spans = sorted((*e["data_offsets"], n) for e, n in zip(header.values(), sizes, strict=True))
        whole = all(isinstance(n, int) and n >= 0 for e in header.values() for n in e["shape"])
        whole = whole and all(len(span) == 3 for span in spans)
    except (ValueError, AttributeError, KeyError, TypeError):
        raise ValueError("its header is none") from None
    at, body = 0, view[8 + length :]
    for start, end, size in spans if whole else [(-1, -1, 0)]:
        if start != at or end < start or (size and end - start != size):
            raise ValueError("its header contradicts itself")
        at = end
    if at != len(body):
        raise ValueError(f"it has {len(body):,} of the {at:,} bytes that its header promises")
    return header, body


def _tensor(name: str, entry: dict, body: memoryview, device: Any) -> Tensor:
    start, end = entry["data_offsets"]
    shape, data, own = tuple(entry["shape"]), body[start:end], OWN.get(entry["dtype"])
    if own is not None:
        return Tensor(leaf(bytes(data), shape, own, device))
    try:
        values = data.cast(CONVERTED[entry["dtype"]])  # type: ignore[call-overload]
        return tensor(values, device=device).reshape(shape)
    except ValueError as e:
        raise ValueError(f"{name!r}: {e}") from None


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
