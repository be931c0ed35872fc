"""Turns tensors by name into a .safetensors file, and a file into tensors by name or one clear error."""

import json
import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

from ..core import dtype as dt
from ..core.files import read, write_whole
from ..core.node import describe
from ..device import get_device
from ..errors import FlambeauError
from ..runtime import readback
from ..runtime.exchange import leaf
from ..tensor import Tensor, tensor

# What a file may hold: the dtypes that buffers hold alike, and the element codes of those that are converted.
OWN = {
    "F32": dt.float32,
    "F16": dt.float16,
    "BF16": dt.bfloat16,
    "I64": dt.int64,
    "U64": dt.uint64,
    "I32": dt.int32,
    "I16": dt.int16,
    "I8": dt.int8,
    "U32": dt.uint32,
    "U16": dt.uint16,
    "U8": dt.uint8,
    "C64": dt.complex64,
}
CONVERTED = {"F64": "d", "BOOL": "?"}
NAMES = {dtype: name for name, dtype in OWN.items()} | {dt.bool_: "BOOL", dt.float64: "F64"}
SIZES = {"F64": 8, "BOOL": 1}
SIZES |= {name: dtype.itemsize for name, dtype in OWN.items()}
LONGEST = 100_000_000  # bytes of a header, as in the format's own library
RANK, SIZE, PLACE = 64, 1 << 31, 1 << 53  # dims of a tensor, of which each is less; what a place is less than


def save_file(tensors: Mapping[str, Tensor], path: Any, metadata: dict[str, str] | None = None) -> None:
    """Write tensors by name; the file is whole or as before. FlambeauError when it can't be written."""
    checked(tensors, f"save_file({str(path)!r})")
    raw = readback.read(list(tensors.values()))
    write_bytes(Path(path), packed(tensors, raw, metadata))


async def save_bytes(tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of the file that `save_file` would write, awaited: for pages, which have no files."""
    checked(tensors, "save_bytes(...)")
    return packed(tensors, await readback.Readback(list(tensors.values())).arrive(), metadata)


def checked(tensors: Mapping[str, Tensor], call: str) -> None:
    wrong = next((n for n, t in tensors.items() if not isinstance(t, Tensor)), None)
    if wrong is not None:
        raise TypeError(
            f"{call}: {wrong!r} is {describe(tensors[wrong])}, not a tensor: wrap it in fb.tensor(...)"
        )
    wide = next((n for n, t in tensors.items() if t.dtype not in NAMES), None)
    if wide is not None:
        rule = f"{wide!r} is {tensors[wide].dtype.name}, which the format has not: save .to(complex64)"
        raise TypeError(f"{call}: {rule}, or .real and .imag")


def packed(tensors: Mapping[str, Tensor], raw: list[Any], metadata: dict[str, str] | None) -> bytes:
    """The file's bytes: the header's length, the header, the data, large elements first so that all lie
    aligned (huggingface/safetensors, README, "Format")."""
    raw_of = dict(zip(tensors, raw, strict=True))
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    parts, at = [], 0
    for name in sorted(tensors, key=lambda n: (-SIZES[NAMES[tensors[n].dtype]], n)):
        t, part = tensors[name], memoryview(raw_of[name]).cast("B")
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
    """Read tensors by name. float64 becomes float32 on a GPU, which has no such floats.

    FlambeauError names the file when it is missing, cut short, no .safetensors file, or of other types.
    """
    call = f"load_file({str(path)!r})"
    try:
        data = read(Path(path))
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
    strange = [n for n, e in entries.items() if e["dtype"] not in SIZES]
    if strange:
        told = [f"{shown(n)} is {entries[n]['dtype'][:20]}" for n in strange[:5]] + ["..."] * (
            len(strange) > 5
        )
        rule = f"{', '.join(told)}: only these can be read: {', '.join(sorted(SIZES))}"
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
    if length > LONGEST:
        raise ValueError(f"its header has {length:,} bytes, more than {LONGEST:,}")
    header, body = _header(bytes(view[8 : 8 + length])), view[8 + length :]
    at = 0
    for start, end, name in sorted((*_span(name, e), name) for name, e in header.items()):
        if start != at:
            raise ValueError(
                f"{shown(name)} begins at byte {start:,} and not at {at:,}, where the one before ends"
            )
        at = end
    if at != len(body):
        raise ValueError(f"it has {len(body):,} of the {at:,} bytes that its header promises")
    return header, body


def _header(text: bytes) -> dict[str, Any]:
    """A header's entries; ValueError where it is none."""
    try:
        header = json.loads(str(text, "utf-8"), object_pairs_hook=_once, parse_constant=_no_number)
    except Twice:
        raise
    except (ValueError, RecursionError):
        raise ValueError("its header is no JSON") from None
    if not isinstance(header, dict):
        raise ValueError("its header is no JSON object")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise ValueError("its '__metadata__' is no object of texts")
    return header


class Twice(ValueError):
    """A name that stands in a header more than once."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        seen: set[str] = set()
        twice = next(n for n, _ in pairs if n in seen or seen.add(n))
        raise Twice(f"{shown(twice)} stands in its header twice")
    return out


def shown(name: str) -> str:
    """A name as errors have it: one in a file may have any length."""
    return repr(name if len(name) <= 100 else f"{name[:100]}...")


def _no_number(name: str) -> Any:
    raise ValueError(name)


def _span(name: str, entry: Any) -> tuple[int, int]:
    """Where a tensor's bytes begin and end; ValueError where that, or its shape or dtype, is wrong."""
    if not isinstance(entry, dict) or not entry.keys() >= {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"{shown(name)} has no dtype, shape and data_offsets")
    dtype, shape, span = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str):
        raise ValueError(f"the dtype of {shown(name)} is no text")
    if not _counts(shape, SIZE) or len(shape) > RANK:
        raise ValueError(f"the shape of {shown(name)} is no list of up to {RANK} sizes")
    if not _counts(span, PLACE) or len(span) != 2 or span[0] > span[1]:
        raise ValueError(f"the data_offsets of {shown(name)} are no begin and end")
    size = prod(shape) * SIZES.get(dtype, 0)
    if dtype in SIZES and size != span[1] - span[0]:
        raise ValueError(f"{shown(name)} has {span[1] - span[0]:,} bytes, and {dtype} of its shape {size:,}")
    return span[0], span[1]


def _counts(given: Any, most: int) -> bool:
    return isinstance(given, list) and all(type(n) is int and 0 <= n < most for n in given)


def _tensor(name: str, entry: dict, body: memoryview, device: Any) -> Tensor:
    start, end = entry["data_offsets"]
    shape, data, own = tuple(entry["shape"]), body[start:end], OWN.get(entry["dtype"])
    if own is not None:
        return Tensor(leaf(bytes(data), shape, own, device))
    try:
        values = data.cast(CONVERTED[entry["dtype"]])  # type: ignore[call-overload]
        held = dt.float64 if entry["dtype"] == "F64" and device.kind == "cpu" else None
        return tensor(values, dtype=held, device=device).reshape(shape)
    except ValueError as e:
        raise ValueError(f"{name!r}: {e}") from None


def write_bytes(path: Path, data: bytes) -> None:
    """`write_whole` of bytes; FlambeauError where that can't be."""
    try:
        write_whole(path, lambda part: part.write_bytes(data))
    except OSError as e:
        rule = f"can't be written: {e.strerror or e}: choose another path or free some space"
        raise FlambeauError(f"save_file({str(path)!r}): {rule}") from None
