"""Reads and writes llama.cpp's GGUF files: tensors by name and metadata.

Quantised tensors are loaded as float32: their blocks are uploaded, and the device decodes them on use.
"""

import os
import re
import struct
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

from ..core.node import describe
from ..core.tree import is_mapping, is_sequence
from ..device import DeviceLike
from ..runtime import run
from ..tensor import Tensor
from .block_weight import BlockWeight
from .elements import KINDS, DamagedFile, LoadOptions, RefusedFile, check_shape, shorten_name, tensor_of
from .gguf_blocks import BLOCKS, decode_blocks, weight_of
from .gguf_quantize import QUANTIZED, quantize_blocks
from .safetensors import write_bytes
from .sources import Entries, TensorEntry, name_file_in_errors, open_source, source_name

MAGIC, VERSION, ALIGNMENT = b"GGUF", 3, 32
RANK = 4  # dims of a tensor, as in ggml
# ggml_type numbers of unquantised elements
PLAIN = {0: "float32", 1: "float16", 30: "bfloat16", 28: "float64"}
PLAIN.update({24: "int8", 25: "int16", 26: "int32", 27: "int64"})
NUMBERS = {KINDS[name].dtype: number for number, name in PLAIN.items()}
FORMATS = {form.number: name for name, form in BLOCKS.items()}
# metadata types by ggml's numbers (gguf_type), as struct formats
VALUES = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
TEXT, LIST = 8, 9
PARTS = 10_000  # of a model, at most
DEEPEST = 16  # lists in each other
TENSORS = 100_000  # of a small file, at most
# metadata values that a small file may have; bytes of a file for each further one
ITEMS, EACH = 1_000_000, 32


def load_gguf(
    f: str | os.PathLike[str] | BinaryIO | bytes,
    device: DeviceLike | None = None,
    *,
    keep_wide: bool = False,
    keep_quantized: bool = False,
) -> dict[str, Any]:
    """Read tensors by name; quantised ones become float32, decoded on the device.

    f: a path, an open file, or bytes; the path of any part of a split model loads all parts. keep_wide:
    float64, which GPUs lack, stays on the host; else it becomes float32, and FlambeauError names a number
    that does not fit, or the fault of a file. keep_quantized: quantised matrices become BlockWeights, which
    `nn.keep_blocks` puts into the layers of a model.
    """
    call = f"load_gguf({source_name(f)})"
    place = LoadOptions.of(device, keep_wide, keep_quantized)
    with open_source(f, call) as view, name_file_in_errors(call, ".gguf", view), ExitStack() as stack:
        part_entries = join_parts(entries(view, place), f, place, call, stack)
        return {name: entry.read() for name, entry in part_entries.tensors.items()}


def save_gguf(
    tensors: Mapping[str, Tensor | BlockWeight],
    f: str | os.PathLike[str] | BinaryIO,
    metadata: Mapping[str, Any] | None = None,
    *,
    quantize: Any = None,
) -> None:
    """Write tensors by name; f is a path, or a file that is open for writing bytes.

    tensors: BlockWeights are written with the bytes that they have. metadata: strings, numbers, bools, lists
    of them, and lists of lists. quantize: a format such as "Q8_0" for all float tensors of two or more dims
    whose rows are multiples of a block, or a dict from name
    patterns to formats. TypeError and ValueError name values that the format does not support.
    """
    call = f"save_gguf(..., {source_name(f)})"
    forms = {name: _form(name, t, quantize, call) for name, t in tensors.items()}
    # one readback for all tensors: each waits for the device
    floats = {name: t for name, t in tensors.items() if isinstance(t, Tensor)}
    raw = run.read([t.float() if forms[name] in QUANTIZED else t for name, t in floats.items()])
    read = dict(zip(floats, raw, strict=True))
    parts: list[bytes | Any] = []
    for name, t in tensors.items():
        if isinstance(t, BlockWeight):
            parts.append(t.rows.tobytes())
        else:
            part = read[name]
            parts.append(quantize_blocks(forms[name], part, t.shape) if forms[name] in QUANTIZED else part)
    write_bytes(f, _file(tensors, forms, parts, dict(metadata or {}), call), name="save_gguf")


def _form(name: str, t: Any, quantize: Any, call: str) -> str:
    """Return the format of a tensor: that of its dtype, its blocks, or the requested quantised one."""
    if isinstance(t, BlockWeight):
        return t.format.name
    if not isinstance(t, Tensor):
        raise TypeError(f"{call}: {name!r} is {describe(t)}, not a tensor: wrap it in fb.tensor(...)")
    requested = quantize
    if is_mapping(quantize):
        requested = next((form for pattern, form in quantize.items() if re.search(pattern, name)), None)
    if requested is not None and requested not in QUANTIZED:
        rule = f"can't be written as {requested!r}: formats are {', '.join(QUANTIZED)}"
        raise ValueError(f"{call}: {name!r} {rule}")
    fits = (
        requested is not None
        and t.ndim
        and t.shape[-1] % BLOCKS[requested].elements == 0
        and t.dtype.is_float
    )
    if requested is not None and not fits and isinstance(quantize, Mapping):
        rule = f"takes floats in rows of a multiple of {BLOCKS[requested].elements}"
        raise ValueError(f"{call}: {name!r} is {describe(t)}: {requested} {rule}")
    if t.ndim > RANK or (t.dtype not in NUMBERS and not (requested and fits)):
        rule = f"the format has tensors of up to {RANK} dims of {', '.join(d.name for d in NUMBERS)}"
        raise TypeError(f"{call}: {name!r} is {describe(t)}: {rule}")
    return (
        requested
        if requested is not None and fits and (t.ndim > 1 or isinstance(quantize, Mapping))
        else t.dtype.name
    )


def _file(
    tensors: Any, forms: dict[str, str], parts: list[Any], metadata: dict[str, Any], call: str
) -> bytes:
    alignment = metadata.get("general.alignment", ALIGNMENT)
    if not _is_alignment(alignment):
        raise ValueError(f"{call}: metadata 'general.alignment' is {alignment!r}, which is not a power of 2")
    # header: "GGUF", version u32, tensors u64, metadata values u64; then the metadata, then for each tensor
    # its name, rank u32, sizes u64, type u32, offset u64
    head = [MAGIC, struct.pack("<IQQ", VERSION, len(parts), len(metadata))]
    head += [_text(key) + _value(key, value, call) for key, value in metadata.items()]
    offset = 0
    for (name, t), part in zip(tensors.items(), parts, strict=True):
        number = BLOCKS[forms[name]].number if forms[name] in BLOCKS else NUMBERS[t.dtype]
        # a 0-d tensor is written as [1]
        sizes = t.shape[::-1] or (1,)  # sizes, the fastest dim first
        head.append(_text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, number, offset))
        # Offsets count from the end of the header; each tensor is padded to the alignment.
        offset += -(-len(memoryview(part).cast("B")) // alignment) * alignment
    out = bytearray(b"".join(head))
    out += bytes(-len(out) % alignment)
    for part in parts:
        out += part
        out += bytes(-len(out) % alignment)
    return bytes(out)


def _is_alignment(n: Any) -> bool:
    return type(n) is int and 1 <= n <= 1 << 20 and not n & (n - 1)


def _text(text: str) -> bytes:
    # a string is its length u64 and UTF-8 bytes, without a terminating zero
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(key: str, value: Any, call: str) -> bytes:
    """Encode a metadata value after its type; integers take 32 bits if they fit."""
    if not is_sequence(value):
        number = _number(key, value, call)
        return struct.pack("<I", number) + _pack_value(number, value)
    if value and all(is_sequence(v) for v in value):
        inner = b"".join(_value(key, v, call)[4:] for v in value)
        return struct.pack("<IIQ", LIST, LIST, len(value)) + inner
    # All items have one type: the widest that occurs (double, float, int64, uint64, int32, uint32).
    numbers = {_number(key, v, call) for v in value} or {4}
    item_type = (
        next((n for n in (12, 6, 11, 10, 5, 4) if n in numbers), 0) if len(numbers) > 1 else numbers.pop()
    )
    if not item_type or (len(numbers) > 1 and numbers & {7, TEXT}):
        raise TypeError(f"{call}: metadata {key!r} is a list of mixed types: use one type")
    if item_type in (4, 5, 10, 11) and len(numbers) > 1:
        item_type = 10 if max(value) >= 1 << 63 else 11
        if item_type == 10 and min(value) < 0:
            rule = "has numbers below 0 and above the largest int64: use strings"
            raise TypeError(f"{call}: metadata {key!r} {rule}")
    items = b"".join(_pack_value(item_type, v) for v in value)
    return struct.pack("<IIQ", LIST, item_type, len(value)) + items


def _number(key: str, value: Any, call: str) -> int:
    """Return the format's type number of a value."""
    if isinstance(value, bool):
        return 7
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 64:
        bounds = ((4, 0, 1 << 32), (5, -(1 << 31), 0), (11, -(1 << 63), 1 << 63), (10, 0, 1 << 64))
        return next(n for n, low, high in bounds if low <= value < high)
    if isinstance(value, float):
        return 6
    if isinstance(value, str):
        return TEXT
    raise TypeError(
        f"{call}: metadata {key!r} is {describe(value)}: pass strings, numbers, bools or lists of them"
    )


def _pack_value(number: int, value: Any) -> bytes:
    return _text(value) if number == TEXT else struct.pack(VALUES[number], value)


# --- reading ---


class Cursor:
    """Reads bytes in order; DamagedFile at the end."""

    def __init__(self, view: memoryview):
        self.view, self.at = view, 0

    def take(self, count: int, label: str) -> memoryview:
        if count > len(self.view) - self.at:
            rest = len(self.view) - self.at
            raise DamagedFile(f"{label} at byte {self.at:,} needs {count:,} bytes, but only {rest:,} remain")
        self.at += count
        return self.view[self.at - count : self.at]

    def number(self, form: str, label: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form), label))[0]

    def text(self, label: str) -> str:
        return str(self.take(self.number("<Q", label), label), "utf-8", "replace")


def entries(view: memoryview, place: LoadOptions) -> Entries:
    """Return the contents of a file; DamagedFile if its offsets are wrong."""
    cursor, count, metadata = _head(view)
    alignment = metadata.get("general.alignment", ALIGNMENT)
    if not _is_alignment(alignment):
        raise DamagedFile(f"its alignment is {shorten_name(alignment)}, which is not a power of 2")
    infos = _infos(cursor, count)
    # the data begin at the next multiple of the alignment
    begin = -(-cursor.at // alignment) * alignment
    spans = [(begin + offset, begin + offset + size, name) for name, (_, _, offset, size) in infos.items()]
    _check_spans(spans, len(view), alignment)
    tensors: dict[str, TensorEntry] = {}
    for (name, (shape, number, _, _)), (start, end, _) in zip(infos.items(), spans, strict=True):
        kind = PLAIN.get(number) or FORMATS[number]
        tensors[name] = TensorEntry(shape, kind, _reader(name, view, (start, end), shape, kind, place))
    return Entries(tensors, metadata)


def join_parts(part_entries: Entries, f: Any, place: LoadOptions, call: str, stack: ExitStack) -> Entries:
    """Return the contents of a file, joined with the other parts of a model that llama.cpp's gguf-split has
    split. The stack keeps the parts open. RefusedFile for a missing part, DamagedFile for another model's
    part."""
    count, number = part_entries.metadata.get("split.count", 0), part_entries.metadata.get("split.no", 0)
    if not isinstance(count, int) or not isinstance(number, int) or count <= 1:
        return part_entries
    label = f"it is part {number + 1} of the {count} of a model"
    parts = [
        part_entries if i == number else _part(path, (i, count), place, call, stack)
        for i, path in enumerate(_paths(f, number, count, label))
    ]
    tensors = {name: entry for part in parts for name, entry in part.tensors.items()}
    # names are unique over all parts, so a lost tensor shows in the count
    expected_count = parts[0].metadata.get("split.tensors.count", len(tensors))
    if len(tensors) != sum(len(part.tensors) for part in parts) or len(tensors) != expected_count:
        raise DamagedFile(f"{label}, whose parts have {len(tensors):,} tensors of {expected_count:,}")
    return Entries(tensors, parts[0].metadata)


def _paths(f: Any, number: int, count: int, label: str) -> list[Path]:
    """Return the paths of all parts; RefusedFile for a missing one."""
    if not isinstance(f, str) and not hasattr(f, "__fspath__"):
        raise RefusedFile(f"{label}, and bytes have no folder: pass a path")
    path, ending = Path(f), f"-{number + 1:05}-of-{count:05}.gguf"
    if not path.name.endswith(ending):
        raise RefusedFile(f"{label}, and its name must end with {ending}, as the names of the other parts do")
    begin = path.name.removesuffix(ending)
    if count > PARTS:
        raise DamagedFile(f"{label}, more than {PARTS:,}")
    paths = [path.with_name(f"{begin}-{i + 1:05}-of-{count:05}.gguf") for i in range(count)]
    missing = [p.name for p in paths if not p.exists()]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise RefusedFile(
            f"{label}, and {shorten_name(missing[0])}{more} is not in its folder: get all parts"
        )
    return paths


def _part(path: Path, which: tuple[int, int], place: LoadOptions, call: str, stack: ExitStack) -> Entries:
    part_entries = entries(stack.enter_context(open_source(path, call)), place)
    if (part_entries.metadata.get("split.no"), part_entries.metadata.get("split.count")) != which:
        raise DamagedFile(f"{shorten_name(path.name)} is not part {which[0] + 1} of {which[1]}")
    return part_entries


def _reader(
    name: str, view: memoryview, span: tuple[int, int], shape: tuple[int, ...], kind: str, place: LoadOptions
) -> Callable[[], Any]:
    if kind in KINDS:
        return lambda: tensor_of(name, view[slice(*span)], shape, KINDS[kind], place)
    if place.keep_quantized and len(shape) == 2:
        return lambda: weight_of(kind, view[slice(*span)], (shape[0], shape[1]))
    return lambda: decode_blocks(kind, view[slice(*span)], shape, place)


def _check_spans(spans: list[tuple[int, int, str]], size: int, alignment: int) -> None:
    for start, end, name in spans:
        if start % alignment:
            raise DamagedFile(
                f"{shorten_name(name)} begins at byte {start:,}, which is not a multiple of {alignment}"
            )
        if end > size:
            raise DamagedFile(f"{shorten_name(name)} ends at byte {end:,}, and the file at {size:,}")
    for (_, end, name), (start, stop, other) in pairwise(sorted(spans)):
        if start < end and start < stop:
            raise DamagedFile(f"{shorten_name(name)} and {shorten_name(other)} overlap at byte {start:,}")


def _head(view: memoryview) -> tuple[Cursor, int, dict[str, Any]]:
    """Read (the start of the tensors' descriptions, their number, the metadata)."""
    cursor = Cursor(view)
    if bytes(cursor.take(4, "the magic number")) != MAGIC:
        raise DamagedFile("it does not begin with GGUF")
    version = cursor.number("<I", "the version")
    # a small number in the other byte order has zeros in its low half
    if version & 0xFFFF == 0:
        raise RefusedFile("it is big-endian, which is not supported: convert it to little-endian")
    if version not in (2, 3):
        raise RefusedFile(f"it has version {version}: only 2 and 3 are supported: convert it again")
    tensors, values = cursor.number("<Q", "the counts"), cursor.number("<Q", "the counts")
    if tensors > TENSORS + len(view) // 1024:
        raise DamagedFile(f"it declares {tensors:,} tensors, too many for a file of its size")
    # a tensor's description takes at least 32 bytes, a metadata value 13
    for kind, n, least in (("tensors", tensors, 32), ("values of metadata", values, 13)):
        if n * least > len(view):
            raise DamagedFile(f"it declares {n:,} {kind}, too many for a file of its size")
    left = [ITEMS + len(view) // EACH]
    metadata: dict[str, Any] = {}
    for _ in range(values):
        key = cursor.text("a name of metadata")
        if key in metadata:
            raise DamagedFile(f"metadata {shorten_name(key)} occurs twice")
        metadata[key] = _read_value(cursor, cursor.number("<I", shorten_name(key)), shorten_name(key), left)
    return cursor, tensors, metadata


def _read_value(cursor: Cursor, number: int, label: str, left: list[int], depth: int = 1) -> Any:
    """Read a metadata value: a single one, or a (nested) list."""
    if number != LIST:
        return _read_one(cursor, number, label)
    if depth > DEEPEST:
        raise DamagedFile(f"metadata {label} has lists more than {DEEPEST} deep in each other")
    kind, count = cursor.number("<I", label), cursor.number("<Q", label)
    # Checked before anything is read: the count comes from the file and may be huge.
    left[0] -= count
    if left[0] < 0:
        raise DamagedFile(f"metadata {label} has {count:,} values, too many for a file of its size")
    if kind == TEXT:
        return [cursor.text(label) for _ in range(count)]
    if kind == LIST:
        return [_read_value(cursor, LIST, label, left, depth + 1) for _ in range(count)]
    if kind not in VALUES:
        raise DamagedFile(f"metadata {label} is a list of the unknown type {kind}")
    form = VALUES[kind]
    raw = cursor.take(count * struct.calcsize(form), label)
    return list(struct.unpack(f"<{count}{form[1]}", raw))


def _read_one(cursor: Cursor, number: int, label: str) -> Any:
    if number == TEXT:
        return cursor.text(label)
    if number not in VALUES:
        raise DamagedFile(f"metadata {label} has the unknown type {number}")
    return cursor.number(VALUES[number], label)


def _infos(cursor: Cursor, count: int) -> dict[str, tuple[tuple[int, ...], int, int, int]]:
    """(shape, format, offset, bytes) of each tensor."""
    infos: dict[str, tuple[tuple[int, ...], int, int, int]] = {}
    for _ in range(count):
        name = cursor.text("a tensor's name")
        rank = cursor.number("<I", shorten_name(name))
        if rank > RANK:
            raise DamagedFile(f"{shorten_name(name)} has {rank:,} dims, more than {RANK}")
        sizes = tuple(cursor.number("<Q", shorten_name(name)) for _ in range(rank))
        # GGUF lists the fastest dim first.
        shape, number = sizes[::-1], cursor.number("<I", shorten_name(name))
        check_shape(name, shape)
        if name in infos:
            raise DamagedFile(f"{shorten_name(name)} occurs twice")
        infos[name] = (shape, number, cursor.number("<Q", shorten_name(name)), _size(name, shape, number))
    return infos


def _size(name: str, shape: tuple[int, ...], number: int) -> int:
    """Return the bytes of a tensor."""
    if number in PLAIN:
        return prod(shape) * KINDS[PLAIN[number]].size
    if number not in FORMATS:
        rule = f"only these can be read: {', '.join([*PLAIN.values(), *BLOCKS])}"
        raise RefusedFile(f"{shorten_name(name)} is of format {number}: {rule}")
    form = BLOCKS[FORMATS[number]]
    if not shape or shape[-1] % form.elements:
        raise DamagedFile(
            f"{shorten_name(name)} of shape {list(shape)} does not divide into blocks of {form.elements}"
        )
    return prod(shape) // form.elements * form.size
