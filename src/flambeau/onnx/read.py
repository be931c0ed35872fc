"""Reads a ModelDef from a path or bytes, and tensors from files beside it."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from ..core.files import map_file
from ..io.other_formats import ONNX, foreign
from .convert import model_of, text_of
from .graph import ModelDef, OnnxError
from .proto import parse

LARGE = 1 << 24  # from this size on our own reader is used: it copies no tensor, protobuf's copies each twice


def read_model(source: Any, beside: "type[Beside] | None" = None) -> ModelDef:
    """Read a model from a path, bytes or a ModelProto of the onnx package; OnnxError names file and reason.
    beside: finds tensors in other files; the default is Beside."""
    if hasattr(source, "SerializeToString"):
        return model_of(source, "the model", Beside(None))
    data: Any = source
    if isinstance(source, bytes | bytearray | memoryview):
        _refuse(memoryview(data).cast("B"), "the model")
        return model_of(parse_model(bytes(data), "the model"), "the model", Beside(None))
    path = Path(cast("str", os.fspath(data)))
    # repr: a path may contain control characters
    place = repr(str(path))
    try:
        with map_file(path) as view:
            _refuse(view, place)
            proto = parse(view, place) if len(view) > LARGE else parse_model(view, place)
            return model_of(proto, place, (beside or Beside)(path.parent))
    except FileNotFoundError:
        raise OnnxError(f"{place}: no such file: check the path") from None
    except OSError as e:
        raise OnnxError(f"{place}: can't be read: {e.strerror or e}") from None


def _refuse(view: memoryview, place: str) -> None:
    """OnnxError for a file of another kind."""
    other = foreign(view)
    if other is not None and other is not ONNX:
        raise OnnxError(f"{place}: is {other.description}")


def parse_model(data: Any, place: str, by_onnx: bool = True) -> Any:
    """Return the ModelProto of a file's bytes: read by the onnx package where it is installed, else by
    proto.py."""
    if not by_onnx:
        return parse(data, place)
    try:
        from google.protobuf.message import DecodeError
        from onnx import ModelProto
    except ImportError:
        return parse(data, place)
    proto = ModelProto()
    try:
        proto.ParseFromString(bytes(data))
    except DecodeError:  # parse says why it can't be read, or reads a file too large for protobuf
        return parse(data, place)
    return proto


class Beside:
    """The bytes of tensors in other files of the model's folder."""

    def __init__(self, folder: Path | None):
        self.folder = folder
        self.files: dict[str, Any] = {}

    def __call__(self, t: Any, tensor_name: str) -> Any:
        entries = {text_of(e.key): text_of(e.value) for e in t.external_data}
        name = entries.get("location", "")
        data = self.file(name, tensor_name)
        try:
            start = int(entries.get("offset") or 0)
            end = start + int(entries.get("length") or len(data) - start)
        except ValueError:
            raise OnnxError(f"{tensor_name}: its offset or length in {name!r} is not a number") from None
        if not 0 <= start <= end <= len(data):
            raise OnnxError(
                f"{tensor_name}: occupies bytes {start:,} to {end:,} of {name!r}, which has {len(data):,}"
            )
        return data[start:end]

    def file(self, name: str, tensor_name: str) -> Any:
        """Return the bytes of a file by its name in the model."""
        if self.folder is None:
            raise OnnxError(
                f"{tensor_name}: is in the file {name!r}, and bytes have no folder: pass the model's path"
            )
        if name not in self.files:
            self.files[name] = map_file_beside(self._path_inside(name, tensor_name), name, tensor_name)
        return self.files[name]

    def _path_inside(self, name: str, tensor_name: str) -> Path:
        """Return the path of a file below the folder, links followed; OnnxError if it is missing."""
        assert self.folder is not None
        # An untrusted file must not read outside its folder by "..", an absolute path or a link.
        folder = self.folder.resolve()
        try:
            path = (folder / name).resolve()
        except (OSError, ValueError, RuntimeError):
            raise OnnxError(f"{tensor_name}: is in {name!r}, which is not a file name") from None
        if not name or Path(name).is_absolute() or not path.is_relative_to(folder):
            raise OnnxError(f"{tensor_name}: is in {name!r}, outside the model's folder: move it there")
        return path


def map_file_beside(path: Path, name: str, tensor_name: str) -> memoryview:
    """Map a file to memory, so that only used parts are read."""
    import mmap

    try:
        if not path.is_file():
            raise OnnxError(
                f"{tensor_name}: is in {name!r}, which is missing or not a file: put it in the model's folder"
            )
        with open(path, "rb") as file:
            # mmap refuses an empty file
            if not os.fstat(file.fileno()).st_size:
                return memoryview(b"")
            with suppress(OSError):  # a file system without mapping, such as a web page's
                return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            return memoryview(file.read())
    except OSError as e:
        raise OnnxError(f"{tensor_name}: is in {name!r}, which can't be read: {e.strerror or e}") from None
