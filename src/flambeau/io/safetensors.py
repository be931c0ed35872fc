"""Reads and writes .safetensors files; damage is reported as one clear error."""

import json
import os
import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

from ..core import dtype as dt
from ..core.files import write_whole
from ..core.node import describe
from ..core.tree import is_dict, is_list
from ..device import DeviceLike
from ..errors import FlambeauError
from ..runtime import run
from ..tensor import Tensor
from .elements import KINDS, DamagedFile, LoadOptions, RefusedFile, check_shape, shorten_name, tensor_of
from .sources import Entries, TensorEntry, name_file_in_errors, open_source, source_name

# The element formats, by the names in files.
CODES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U64": "uint64",
    "U32": "uint32",
    "U16": "uint16",
    "U8": "uint8",
    "BOOL": "bool",
    "C64": "complex64",
}
READ = {code: KINDS[name] for code, name in CODES.items()}
NAMES = {kind.dtype: code for code, kind in READ.items()}
LONGEST = 100_000_000  # bytes of a header, as in the format's own library
LONG = 1 << 23  # above this many bytes a header must be small compared with the data
PLACE = 1 << 53  # an exclusive limit of offsets


def save_file(
    tensors: Mapping[str, Tensor], path: str | os.PathLike[str], metadata: dict[str, str] | None = None
) -> None:
    """Write tensors by name, atomically: after a failure the old file is unchanged.

    path: the file; metadata: strings to store with the tensors. FlambeauError if it can't be written,
    TypeError for unsupported values.
    """
    check_tensors(tensors, f"save_file({str(path)!r})")
    raw = run.read(list(tensors.values()))
    write_bytes(Path(path), *pack(tensors, raw, metadata))


async def save_bytes(tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """Return the bytes that `save_file` would write, awaited: for web pages, which have no files.

    metadata: strings to store with the tensors. TypeError for unsupported values.
    """
    check_tensors(tensors, "save_bytes(...)")
    return b"".join(pack(tensors, await run.Readback(list(tensors.values())).arrive(), metadata))


def check_tensors(tensors: Mapping[str, Tensor], call: str) -> None:
    wrong = next((n for n, t in dict[str, Any](tensors).items() if not isinstance(t, Tensor)), None)
    if wrong is not None:
        raise TypeError(
            f"{call}: {wrong!r} is {describe(tensors[wrong])}, not a tensor: wrap it in fb.tensor(...)"
        )
    wide = next((n for n, t in tensors.items() if t.dtype not in NAMES), None)
    if wide is not None:
        rule = f"{wide!r} is {tensors[wide].dtype.name}, which the format lacks: save .to(complex64)"
        raise TypeError(f"{call}: {rule}, or .real and .imag")


def pack(tensors: Mapping[str, Tensor], raw: list[Any], metadata: dict[str, str] | None) -> list[Any]:
    """Return the file's parts: the header's length, the header, and the data, large elements first so that
    all are aligned (huggingface/safetensors, README, "Format"). Concatenation would double the memory."""
    raw_of = dict(zip(tensors, raw, strict=True))
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    offset = 0
    parts: list[Any] = []
    # By element size, descending: each tensor then starts at a multiple of its element size.
    for name in sorted(tensors, key=lambda n: (-READ[NAMES[tensors[n].dtype]].size, n)):
        t, part = tensors[name], raw_bytes(tensors[name], raw_of[name])
        header[name] = {
            "dtype": NAMES[t.dtype],
            "shape": list(t.shape),
            "data_offsets": [offset, offset + len(part)],
        }
        parts.append(part)
        offset += len(part)
    text = json.dumps(header, separators=(",", ":")).encode()
    # The data begins at a multiple of 8 bytes; the format pads the header with spaces.
    text += b" " * (-len(text) % 8)
    return [struct.pack("<Q", len(text)), text, *parts]


def raw_bytes(t: Tensor, raw: Any) -> Any:
    """Return a tensor's bytes in the file format: a bool takes one byte."""
    # a bool is a u32 on the device: take the low byte of each word
    part = memoryview(raw).cast("B")
    return part[::4].tobytes() if t.dtype is dt.bool_ else part


def load_safetensors(
    f: str | os.PathLike[str] | BinaryIO | bytes, device: DeviceLike | None = None, *, keep_wide: bool = False
) -> dict[str, Tensor]:
    """Read tensors by name, from one file, or from all files of an index (`*.index.json`).

    f: a path, an open file, or bytes. keep_wide: float64, which GPUs lack, stays on the host; else it
    becomes float32, and FlambeauError names a number that does not fit, or the fault of a file.
    """
    from .sharded import index_of, tensors_of

    call = f"load_safetensors({source_name(f)})"
    with open_source(f, call) as view, name_file_in_errors(call, ".safetensors", view):
        place = LoadOptions.of(device, keep_wide)
        if (index := index_of(view, f)) is not None:
            return tensors_of(index, place, call)
        return {name: entry.read() for name, entry in entries(view, place).tensors.items()}


def load_file(path: str | os.PathLike[str], device: DeviceLike | None = None) -> dict[str, Tensor]:
    """Read the tensors of a file (`path`) by name.

    float64 becomes float32 on a GPU, which has no such floats.

    FlambeauError names a file that is missing, truncated, not a .safetensors file, or has unsupported types.
    """
    call = f"load_file({str(path)!r})"
    with open_source(Path(path), call) as view:
        return load_tensors(view, device, call)


def load_bytes(data: bytes | bytearray | memoryview, device: DeviceLike | None = None) -> dict[str, Tensor]:
    """`load_file` for bytes in memory, such as a page has fetched.

    data: the file's bytes: bytes, a memoryview, an array. FlambeauError as in load_file.
    """
    return load_tensors(data, device, "load_bytes(...)")


def load_tensors(data: Any, device: DeviceLike | None, call: str) -> dict[str, Tensor]:
    """Return the tensors of a file's bytes; FlambeauError names the call and the fault."""
    with name_file_in_errors(call, ".safetensors"):
        contents = entries(memoryview(data).cast("B"), LoadOptions.of(device))
        return {name: entry.read() for name, entry in contents.tensors.items()}


def entries(view: memoryview, place: LoadOptions) -> Entries:
    """Return the contents of a file; DamagedFile unless the data matches the header exactly."""
    header, metadata, body = parse_file(view)
    unknown = [n for n, e in header.items() if e["dtype"] not in READ]
    if unknown:
        listed = [f"{shorten_name(n)} is {header[n]['dtype'][:20]}" for n in unknown[:5]] + ["..."] * (
            len(unknown) > 5
        )
        raise RefusedFile(f"{', '.join(listed)}: only these can be read: {', '.join(sorted(READ))}")
    return Entries({name: _entry(name, e, body, place) for name, e in header.items()}, metadata)


def _entry(name: str, entry: dict[str, Any], body: memoryview, place: LoadOptions) -> TensorEntry:
    (start, end), shape, code = entry["data_offsets"], tuple(entry["shape"]), entry["dtype"]
    return TensorEntry(shape, code, lambda: tensor_of(name, body[start:end], shape, READ[code], place))


def parse_file(view: memoryview) -> tuple[dict[str, dict[str, Any]], dict[str, str], memoryview]:
    """(entries, metadata, data) of a file; DamagedFile unless the data matches the header exactly."""
    if len(view) < 8:
        raise DamagedFile("it ends before its header")
    # the file: header length u64 (little-endian), the header as JSON, the data
    (length,) = struct.unpack_from("<Q", view)
    if length > len(view) - 8:
        raise DamagedFile("its header ends early")
    if length > LONGEST:
        raise DamagedFile(f"its header has {length:,} bytes, more than {LONGEST:,}")
    # A parsed header takes many times its bytes: refuse one that is out of proportion to the data.
    if length > LONG and 16 * length > len(view):
        raise DamagedFile(f"its header has {length:,} of its {len(view):,} bytes, more than tensors need")
    (header, metadata), body = _header(bytes(view[8 : 8 + length])), view[8 + length :]
    offset = 0
    # The format forbids gaps and overlaps, so sorted spans must follow one another.
    for start, end, name in sorted((*_span(name, e), name) for name, e in header.items()):
        if start != offset:
            raise DamagedFile(
                f"{shorten_name(name)} begins at byte {start:,} instead of {offset:,}, the end of"
                " the previous tensor"
            )
        offset = end
    if offset != len(body):
        raise DamagedFile(f"it has {len(body):,} of the {offset:,} bytes that its header promises")
    return header, metadata, body


def _header(text: bytes) -> tuple[dict[str, Any], dict[str, str]]:
    """Parse a header's entries and metadata; DamagedFile if it is invalid."""
    try:
        # NaN and Infinity are not JSON, but Python's parser accepts them: _no_number rejects them
        header = json.loads(str(text, "utf-8"), object_pairs_hook=_check_unique, parse_constant=_no_number)
    except Twice:
        raise
    except (ValueError, RecursionError):
        raise DamagedFile("its header is not JSON") from None
    if not is_dict(header):
        raise DamagedFile("its header is not a JSON object")
    metadata = header.pop("__metadata__", {})
    if not is_dict(metadata) or not all(isinstance(v, str) for v in metadata.values()):
        raise DamagedFile("its '__metadata__' is not an object of strings")
    return header, metadata


class Twice(DamagedFile):
    """A header has a name more than once."""


def _check_unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    # json keeps the last of equal names; two readers could then see different tensors.
    if len(out) < len(pairs):
        seen: set[str] = set()
        twice = next(n for n, _ in pairs if n in seen or seen.add(n))
        raise Twice(f"{shorten_name(twice)} occurs twice in its header")
    return out


def _no_number(name: str) -> Any:
    raise ValueError(name)


def _span(name: str, entry: Any) -> tuple[int, int]:
    """Return the start and end of a tensor's bytes; DamagedFile for an invalid span, shape or dtype."""
    if not is_dict(entry) or not entry.keys() >= {"dtype", "shape", "data_offsets"}:
        raise DamagedFile(f"{shorten_name(name)} has no dtype, shape and data_offsets")
    dtype, shape, span = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str):
        raise DamagedFile(f"the dtype of {shorten_name(name)} is not a string")
    check_shape(name, shape if is_list(shape) else [-1])
    if not _counts(span, PLACE) or len(span) != 2 or span[0] > span[1]:
        raise DamagedFile(f"the data_offsets of {shorten_name(name)} are not [begin, end]")
    # an unknown dtype is reported by `entries`, which lists all of them
    size = prod(shape) * READ[dtype].size if dtype in READ else 0
    if dtype in READ and size != span[1] - span[0]:
        raise DamagedFile(
            f"{shorten_name(name)} has {span[1] - span[0]:,} bytes, and {dtype} of its shape {size:,}"
        )
    return span[0], span[1]


def _counts(numbers: Any, most: int) -> bool:
    return is_list(numbers) and all(type(n) is int and 0 <= n < most for n in numbers)


def write_bytes(f: Any, *parts: Any, name: str = "save_file") -> None:
    """Write parts of bytes to an open file, or by `write_whole` to a path; FlambeauError if it fails.

    name: the calling function, for errors.
    """
    if hasattr(f, "write"):
        for part in parts:
            f.write(part)
        return

    def write(path: Path) -> None:
        with path.open("wb") as out:
            out.writelines(parts)

    try:
        write_whole(Path(f), write)
    except OSError as e:
        rule = f"can't be written: {e.strerror or e}: choose another path or free some space"
        raise FlambeauError(f"{name}({str(f)!r}): {rule}") from None
