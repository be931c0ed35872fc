"""File formats that a loader does not read: their first bytes, and which function reads them."""

from typing import NamedTuple


class Foreign(NamedTuple):
    """A file format: the names of FileKind that it has, and its description for errors."""

    names: tuple[str, ...]
    description: str


ONNX = Foreign((".onnx",), "an ONNX file: use fb.onnx.load")
SAFETENSORS = Foreign((".safetensors",), "a .safetensors file: use fb.load")
WEB_PAGE = Foreign((), "a web page instead of the file: download the file itself")
BEGINNINGS = (  # offset, the bytes there, the format
    (0, b"GGUF", Foreign((".gguf",), "a .gguf file of llama.cpp: use fb.load")),
    (
        4,
        b"ORTM",
        Foreign((".ort",), "ONNX Runtime's .ort format: use the .onnx file that it was converted from"),
    ),
    (
        4,
        b"TFL3",
        Foreign((".tflite",), "a .tflite file of LiteRT, which is not supported: convert it to ONNX"),
    ),
    (0, b"\x89HDF", Foreign((".h5",), "an HDF5 file (.h5, .keras), which is not supported: save it as .npz")),
    (0, b"\x93NUMPY", Foreign((".npy",), "a .npy file of NumPy: use fb.load")),
    (0, b"\x80\x02", Foreign(("PyTorch",), "a pickle, as PyTorch writes them: use fb.load")),
    (0, b"PK\x03\x04", Foreign(("PyTorch", ".npz"), "a zip archive (.pt, .npz): use fb.load")),
    (
        0,
        b"version https://git-lfs",
        Foreign((), "a pointer of Git LFS: get the file by `git lfs pull`"),
    ),
    (0, b"<!DOCTYPE", WEB_PAGE),
    (0, b"<!doctype", WEB_PAGE),
    (0, b"<html", WEB_PAGE),
)
FIRST_OF_ONNX = b"\x08"  # ir_version, which exporters write first: a number below 32, then another field
NEXT_OF_ONNX = frozenset(b"\x12\x1a\x22\x28\x32\x3a\x42")


def foreign(view: memoryview) -> Foreign | None:
    """Return the format of bytes that begin like one of these files, or None."""
    begin = bytes(view[:32])
    for offset, beginning, kind in BEGINNINGS:
        if begin[offset : offset + len(beginning)] == beginning:
            return kind
    if begin[8:9] == b"{" and int.from_bytes(begin[:8], "little") <= len(view) - 8:
        return SAFETENSORS
    is_onnx = begin[:1] == FIRST_OF_ONNX and len(begin) > 2 and begin[1] < 32 and begin[2] in NEXT_OF_ONNX
    return ONNX if is_onnx else None
