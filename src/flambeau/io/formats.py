"""Reads files of any format as named tensors; the first bytes decide the format, not the name."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.tree import is_dict
from ..device import DeviceLike
from ..errors import FlambeauError
from ..tensor import Tensor
from . import gguf, npz, safetensors
from .elements import DamagedFile, LoadOptions, RefusedFile
from .sharded import index_of, open_entries
from .sources import Entries, LazyWeights, name_file_in_errors, open_source, source_name
from .torch_file import is_pickle, read_torch

# files of weights in a folder, in the order of preference
FOLDERS = (
    "model.safetensors.index.json",
    "model.safetensors",
    "pytorch_model.bin.index.json",
    "pytorch_model.bin",
)


@dataclass(frozen=True)
class FileKind:
    """A file format: its name in errors, and the function that lists its tensors for reading one by one."""

    name: str
    entries: Callable[[memoryview, LoadOptions], Entries] | None


SAFETENSORS = FileKind(".safetensors", safetensors.entries)
NPZ = FileKind(".npz", npz.entries)
GGUF = FileKind(".gguf", gguf.entries)
TORCH = FileKind("PyTorch", None)
INDEX = FileKind("index", None)
NPY = FileKind(".npy", None)


def kind_of(view: memoryview) -> FileKind:
    """Return the format of bytes, by their start; .safetensors by default."""
    begin = bytes(view[:6])
    # A pickle begins with 0x80 and a protocol, which as a header length is possible: hence this check
    # first.
    if bytes(view[8:9]) == b"{" and int.from_bytes(view[:8], "little") <= len(view) - 8:
        return SAFETENSORS  # the header's length may equal the first bytes of a pickle
    if begin[:4] == b"GGUF":
        return GGUF
    if begin == npz.MAGIC:
        return NPY
    if begin[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return NPZ if is_npz(view) else TORCH
    if is_pickle(view):
        return TORCH
    return INDEX if begin[:1] == b"{" else SAFETENSORS


def is_npz(view: memoryview) -> bool:
    """Whether the first member of an archive is a NumPy array."""
    # Bytes 26 and 27 of a local zip header are the length of the name that follows at byte 30.
    length = int.from_bytes(view[26:28], "little")
    return bytes(view[30 : 30 + length]).endswith(b".npy") or len(view) == 22


def entries_in(view: memoryview, place: LoadOptions) -> Entries:
    """Return the tensors of a file, of a format that can read them one by one."""
    kind = kind_of(view)
    if kind.entries is None:
        raise RefusedFile(f"a {kind.name} file can't be read lazily: use fb.load")
    return kind.entries(view, place)


def entries_at(view: memoryview, f: Any, place: LoadOptions, call: str, stack: ExitStack) -> Entries:
    """Return the tensors of a file and of the other parts of its model, which stay open as long as the
    stack."""
    contents = entries_in(view, place)
    return gguf.join_parts(contents, f, place, call, stack) if kind_of(view) is GGUF else contents


def tensors_in(view: memoryview, place: LoadOptions) -> dict[str, Tensor]:
    """Return the tensors of a file by name."""
    kind = kind_of(view)
    if kind.entries is not None:
        return {name: entry.read() for name, entry in kind.entries(view, place).tensors.items()}
    contents = read_torch(view, place) if kind is TORCH else None
    if not is_dict(contents) or not all(isinstance(t, Tensor) for t in contents.values()):
        raise DamagedFile("one of its files is not a dict of tensors by name")
    return contents


def in_folder(f: Any, call: str) -> Any:
    """Return a path, or the file with the weights in a folder."""
    if (not isinstance(f, str) and not hasattr(f, "__fspath__")) or not Path(f).is_dir():
        return f
    contents = next((Path(f) / name for name in FOLDERS if (Path(f) / name).exists()), None)
    if contents is None:
        raise FlambeauError(f"{call}: the folder has none of {', '.join(FOLDERS)}: pass the path of a file")
    return contents


def open_weights(
    f: str | os.PathLike[str],
    device: DeviceLike | None = None,
    *,
    keep_wide: bool = False,
    keep_quantized: bool = False,
) -> LazyWeights:
    """Return the tensors of a .safetensors, .gguf or .npz file, or of an index of several; each is read on
    access by its name.

    f: a path, an open file, bytes, or a folder. keep_wide: float64, which GPUs lack, stays on the host.
    keep_quantized: quantised matrices of a .gguf file are read as BlockWeights.
    FlambeauError reports a damaged file.
    """
    call = f"open_weights({source_name(f)})"
    stack, place = ExitStack(), LoadOptions.of(device, keep_wide, keep_quantized)
    f = in_folder(f, call)
    try:
        view = stack.enter_context(open_source(f, call))
        kind = kind_of(view)
        with name_file_in_errors(call, kind.name, view):
            if kind is INDEX and (index := index_of(view, f)) is not None:
                contents = Entries(open_entries(index, place, call, stack), {})
            else:
                contents = entries_at(view, f, place, call, stack)
    # Also on Ctrl-C: the stack holds open files until LazyWeights owns it.
    except BaseException:
        stack.close()
        raise
    return LazyWeights(contents, call, kind.name, stack)
