"""Reads elements in NumPy's formats, from .npy files and pickles, as tensors, without NumPy."""

import re
from array import array
from struct import unpack
from typing import Any

from ..tensor import Tensor
from .elements import (
    KINDS,
    DamagedFile,
    ElementKind,
    LoadOptions,
    RefusedFile,
    check_shape,
    shorten_name,
    tensor_of,
)

TYPES = {
    "b1": "bool",
    "f2": "float16",
    "f4": "float32",
    "f8": "float64",
    "c8": "complex64",
    "c16": "complex128",
}
TYPES.update({f"{c}{n}": f"{name}{8 * n}" for c, name in (("i", "int"), ("u", "uint")) for n in (1, 2, 4, 8)})
WRITTEN = {name: code for code, name in TYPES.items()}
FORM = re.compile(r"([<>|=]?)(\w{2,3})")
WORDS = {2: "H", 4: "I", 8: "Q"}  # unsigned types of the module `array`, which can swap bytes


def kind_of(text: Any) -> tuple[ElementKind, bool]:
    """Return the element format of a descriptor such as "<f4", and whether its bytes must be swapped;
    DamagedFile for an unsupported one."""
    match = FORM.fullmatch(text) if isinstance(text, str) else None
    if match is None or match[2] not in TYPES:
        raise RefusedFile(f"its elements are {shorten_name(text)}: only numbers and bools can be read")
    return KINDS[TYPES[match[2]]], match[1] == ">"


def tensor_in_form(
    name: str,
    raw: memoryview,
    shape: tuple[int, ...],
    form: tuple[ElementKind, bool],
    first_fastest: bool,
    place: LoadOptions,
) -> Tensor:
    """Return a tensor of an array's bytes, in C order or in Fortran order (the first index varies
    fastest)."""
    kind, swapped = form
    check_shape(name, shape)
    if swapped and kind.size > 1:
        # The two parts of a complex number are swapped separately.
        words = array(WORDS[kind.size // (1 + kind.dtype.is_complex)], bytes(raw))
        words.byteswap()
        raw = memoryview(words).cast("B")
    if not first_fastest or len(shape) < 2:
        return tensor_of(name, raw, shape, kind, place)
    # Column-major bytes are the row-major bytes of the transposed array.
    turned = tensor_of(name, raw, shape[::-1], kind, place)
    return turned.permute(*reversed(range(len(shape))))


def number_in_form(raw: Any, form: tuple[ElementKind, bool]) -> Any:
    """One element as a Python number."""
    kind, swapped = form
    if not isinstance(raw, bytes | bytearray) or len(raw) != kind.size:
        raise DamagedFile("a NumPy scalar has the wrong number of bytes for its dtype")
    size = kind.size // (1 + kind.dtype.is_complex)
    parts = [raw[start : start + size] for start in range(0, len(raw), size)]
    joined = b"".join(p[::-1] for p in parts) if swapped else bytes(raw)
    if kind.dtype.is_complex:
        return complex(*unpack(f"<2{kind.dtype.real.format}", joined))
    return unpack("<?" if kind.dtype.kind == "b" else f"<{kind.dtype.format}", joined)[0]
