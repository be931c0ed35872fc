"""Reads and writes NumPy's .npy and .npz files as tensors by name, without NumPy."""

import os
import re
from collections.abc import Mapping
from math import prod
from typing import BinaryIO

from ..device import DeviceLike
from ..runtime import run
from ..tensor import Tensor
from . import zip_archive
from .elements import DamagedFile, LoadOptions, check_shape
from .numpy_elements import WRITTEN, kind_of, tensor_in_form
from .safetensors import check_tensors, raw_bytes, write_bytes
from .sources import Entries, TensorEntry, name_file_in_errors, open_source, source_name

MAGIC = b"\x93NUMPY"
LONGEST = 10_000  # bytes of a header, as NumPy has it
SHAPE = re.compile(r"""["']shape["']\s*:\s*\(([\d,L\s]*)\)""")
DESCR = re.compile(r"""["']descr["']\s*:\s*(?:["']([^"']*)["']|(\[))""")
ORDER = re.compile(r"""["']fortran_order["']\s*:\s*(True|False)""")


def load_npz(
    f: str | os.PathLike[str] | BinaryIO | bytes, device: DeviceLike | None = None, *, keep_wide: bool = False
) -> dict[str, Tensor]:
    """Read the arrays of an .npz file by name; pickled arrays are rejected.

    f: a path, an open file, or bytes. keep_wide: float64, which GPUs lack, stays on the host; else it
    becomes float32, and FlambeauError names a number that does not fit, or the fault of a file.
    """
    call = f"load_npz({source_name(f)})"
    with open_source(f, call) as view, name_file_in_errors(call, ".npz", view):
        contents = entries(view, LoadOptions.of(device, keep_wide))
        return {name: entry.read() for name, entry in contents.tensors.items()}


def save_npz(tensors: Mapping[str, Tensor], f: str | os.PathLike[str] | BinaryIO) -> None:
    """Write tensors by name as NumPy's savez does; f is a path, or a file that is open for writing bytes.

    TypeError names a dtype that NumPy lacks, FlambeauError a path that can't be written.
    """
    call = f"save_npz(..., {source_name(f)})"
    check_tensors(tensors, call)
    unsupported = next((n for n, t in tensors.items() if t.dtype.name not in WRITTEN), None)
    if unsupported is not None:
        raise TypeError(
            f"{call}: {unsupported!r} is {tensors[unsupported].dtype.name}, which NumPy lacks: save .float()"
        )
    raw = run.read(list(tensors.values()))
    pairs = zip(tensors.items(), raw, strict=True)
    members = [(f"{name}.npy", b"".join([_header(t), raw_bytes(t, part)])) for (name, t), part in pairs]
    write_bytes(f, zip_archive.store_members(members), name="save_npz")


def _header(t: Tensor) -> bytes:
    """Return the header before the elements (format version 1.0), padded to a multiple of 64 bytes."""
    code = WRITTEN[t.dtype.name]
    descr = f"{'|' if code[1:] == '1' else '<'}{code}"
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {tuple(t.shape)!r}, }}"
    # Magic, version and length take 10 bytes and the newline 1: elements begin at a multiple of 64.
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return MAGIC + b"\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def entries(view: memoryview, place: LoadOptions) -> Entries:
    """Return the arrays of an archive; DamagedFile if a member is not an array."""
    members = zip_archive.members(view)
    if not all(name.endswith(".npy") for name in members):
        raise DamagedFile("the archive contains files other than arrays")
    return Entries({name[:-4]: _member(name[:-4], view, m, place) for name, m in members.items()}, {})


def _member(name: str, view: memoryview, member: zip_archive.Member, place: LoadOptions) -> TensorEntry:
    # Only the header is read here: of a compressed member its first bytes.
    raw = view[member.start : member.start + member.packed]
    shape, descr, *_ = header(raw if member.method == zip_archive.STORED else zip_archive.begin(raw))
    return TensorEntry(shape, descr, lambda: array_of(name, zip_archive.contents(view, member), place))


def array_of(name: str, data: memoryview, place: LoadOptions) -> Tensor:
    """Return the tensor of a .npy file's bytes."""
    shape, descr, first_fastest, offset = header(data)
    form = kind_of(descr)
    check_shape(name, shape)
    if len(data) - offset != prod(shape) * form[0].size:
        needed = f"{prod(shape) * form[0].size:,}"
        raise DamagedFile(f"{name!r:.100} has {len(data) - offset:,} of the {needed} bytes of its shape")
    return tensor_in_form(name, data[offset:], shape, form, first_fastest, place)


def header(data: memoryview) -> tuple[tuple[int, ...], str, bool, int]:
    """(shape, element format, whether the order is Fortran's, offset of the elements) of a .npy file."""
    version = bytes(data[6:7])
    # Version 1 has a 2-byte header length, versions 2 and 3 a 4-byte one.
    wide = 4 if version in (b"\x02", b"\x03") else 2
    if bytes(data[:6]) != MAGIC or version not in (b"\x01", b"\x02", b"\x03") or len(data) < 8 + wide:
        raise DamagedFile("an array lacks NumPy's magic bytes")
    length = int.from_bytes(data[8 : 8 + wide], "little")
    if length > LONGEST or length > len(data) - 8 - wide:
        raise DamagedFile(
            f"the header of an array has {length:,} bytes, too many or more than the file holds"
        )
    # The header is a Python literal. It is matched by patterns and never evaluated.
    text = str(data[8 + wide : 8 + wide + length], "latin-1")
    shape, descr, order = SHAPE.search(text), DESCR.search(text), ORDER.search(text)
    if shape is None or descr is None or order is None:
        raise DamagedFile("the header of an array has no shape, descr or fortran_order")
    sizes = [n.strip().rstrip("L") for n in shape[1].split(",")]
    if not all(len(n) < 20 and (n.isdecimal() or not n) for n in sizes):
        raise DamagedFile("the shape of an array has invalid sizes")
    return (
        tuple(int(n) for n in sizes if n),
        descr[1] or "of several fields",
        order[1] == "True",
        8 + wide + length,
    )
