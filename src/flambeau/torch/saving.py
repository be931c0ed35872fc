"""torch.save and torch.load of torch mode: any object that pickles, in PyTorch's files.

`load` executes no code unless weights_only=False asks for it, as in PyTorch.
"""

import io
import pickle
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..core.dtype import DType
from ..core.tree import is_dict, is_tuple
from ..device import get_device
from ..errors import DeviceError
from ..io import zip_archive
from ..io.checkpoint import load as load_data
from ..io.elements import KINDS, LoadOptions, strided_view, tensor_of
from ..io.safetensors import raw_bytes
from ..io.sources import open_source
from ..io.torch_file import NAMED, read_torch
from ..io.torch_writer import STORAGE_OF
from ..nn import Parameter
from ..nn.module import StateDict
from ..runtime import run
from ..tensor import Tensor
from .devices import TorchDevice
from .module_tree import module_of
from .sizes import TorchSize
from .storages import StoragePlace

PROTOCOL = 2  # torch's; its weights_only unpickler may not know the opcodes of later ones
UNSAFE = "weights_only=True does not allow {}: pass weights_only=False if you trust the file"


class _Name:
    """A global of PyTorch that a pickle refers to."""

    def __init__(self, module: str, name: str):
        self.module, self.name = module, name

    def __call__(self, *_: Any) -> Any:
        raise NotImplementedError


class _Stored:
    """A storage that a pickle refers to: a tensor's elements in a member of the archive."""

    def __init__(self, base: Tensor, key: str):
        self.base, self.key = base, key


def _torch(name: str, module: str = "torch") -> _Name:
    return _Name(module, name)


REBUILD, REBUILD_V3 = (
    _torch("_rebuild_tensor_v2", "torch._utils"),
    _torch("_rebuild_tensor_v3", "torch._utils"),
)
NO_HOOKS: OrderedDict[str, Any] = OrderedDict()  # a parametrised call would leave an attribute in it
PARAMETER = _torch("_rebuild_parameter", "torch._utils")


class _Pickler(pickle._Pickler):  # type: ignore[attr-defined] # its C twin asks `import torch` for names
    """Pickles tensors as PyTorch does: views of storages, which the archive has in members."""

    def __init__(self, file: Any, protocol: int):
        super().__init__(file, protocol)
        self.storages: dict[int, _Stored] = {}

    def persistent_id(self, obj: Any) -> Any:
        """The description of a storage."""
        if not isinstance(obj, _Stored):
            return None
        t = obj.base
        kind = STORAGE_OF.get(t.dtype.name)
        name = _torch(kind) if kind else _torch("UntypedStorage", "torch.storage")
        place = "cpu" if t.device.kind != "gpu" else f"cuda:{t.device.index or 0}"
        return "storage", name, obj.key, place, t.numel() if kind else t.nbytes

    # pickle asks this before a class's own __reduce__.
    def reducer_override(self, obj: Any) -> Any:
        """How tensors, dtypes and devices are written; others as pickle writes them."""
        if isinstance(obj, Tensor):
            return self._reduce_parameter(obj) if isinstance(obj, Parameter) else self._reduce(obj)
        if type(obj) is StateDict:  # PyTorch's is a plain one
            return OrderedDict, (), None, None, iter(obj.items())
        if isinstance(obj, TorchSize):
            return _torch("Size"), (tuple(obj),)
        if isinstance(obj, TorchDevice):
            return _torch("device"), ((obj.type,) if obj.index is None else (obj.type, obj.index))
        return NotImplemented

    def _reduce_parameter(self, p: Tensor) -> Any:
        return PARAMETER, (p.detach(), p.requires_grad, NO_HOOKS)

    def _reduce(self, t: Tensor) -> Any:
        place = StoragePlace(t)
        # By owner, not by tensor: views of one storage share its member, and share elements again when
        # loaded. `_Stored` keeps the owner alive, so that no other object gets its id.
        stored = self.storages.setdefault(id(place.base), _Stored(place.base, str(len(self.storages))))
        about = (stored, place.first, tuple(t.node.shape), place.strides, t.requires_grad, NO_HOOKS)
        # v3 has an untyped storage and the dtype apart: uint16, uint32 and uint64 have no typed storage in
        # torch.
        return (REBUILD, about) if t.dtype.name in STORAGE_OF else (REBUILD_V3, (*about, t.dtype))

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        """Write an object; names of PyTorch without an import."""
        # `save` writes every object, also those inside of containers: a dtype becomes the global
        # torch.float32.
        if isinstance(obj, DType):
            obj = _torch(obj.name)
        if isinstance(obj, _Name):
            # The opcode GLOBAL, by hand: `save_global` would import the module to see whether it has the
            # name.
            self.write(f"c{obj.module}\n{obj.name}\n".encode())  # type: ignore[attr-defined]
        else:
            super().save(obj, save_persistent_id)  # type: ignore[misc]


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write any object that pickles, with its tensors, to a file that torch.load reads.

    f: a path, or a file that is open for writing bytes. pickle_module: accepted and ignored.
    """
    out = io.BytesIO()
    pickler = _Pickler(out, pickle_protocol)
    pickler.dump(obj)
    members: list[tuple[str, Any]] = [("data.pkl", out.getvalue())]
    members += [("byteorder", sys.byteorder.encode()), ("version", b"3\n")]
    stored = list(pickler.storages.values())
    raw = run.read([s.base for s in stored])
    members += [(f"data/{s.key}", raw_bytes(s.base, r)) for s, r in zip(stored, raw, strict=True)]
    file: Any = f
    is_path = isinstance(f, str) or hasattr(f, "__fspath__")
    # torch names the folder in the archive after the file.
    root = Path(f).stem if is_path else "archive"
    archive = zip_archive.store_members([(f"{root}/{name}", data) for name, data in members])
    if is_path:
        Path(f).write_bytes(archive)
    else:
        file.write(archive)


# --- loading ---

_safe_globals: dict[str, Any] = {}
SAFE = {
    "collections": ("OrderedDict", "defaultdict", "Counter", "deque"),
    "builtins": (
        *("set", "frozenset", "slice", "complex", "range", "bytearray"),
        *("int", "float", "str", "bool", "dict", "list", "tuple"),
    ),
    "_codecs": ("encode",),
}  # fmt: skip


def _full_name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Allow classes and functions in files that are loaded with weights_only=True.

    safe_globals: each the class or function, or (it, its name in files)
    """
    for allowed in safe_globals:
        pair: Any = allowed if is_tuple(allowed) else (allowed, _full_name(allowed))
        _safe_globals[pair[1]] = pair[0]


def get_safe_globals() -> list[Any]:
    """The classes and functions that add_safe_globals has allowed."""
    return list(_safe_globals.values())


def clear_safe_globals() -> None:
    """Remove the entries of add_safe_globals."""
    _safe_globals.clear()


@contextmanager
def safe_globals(safe_globals: Iterable[Any]) -> Any:
    """Allow classes and functions inside the block."""
    before = dict(_safe_globals)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        clear_safe_globals()
        _safe_globals.update(before)


class TorchUnpickler(pickle.Unpickler):
    """Builds the objects of a file of `save`, or of PyTorch's."""

    def __init__(self, data: memoryview, members: Any, place_of: Callable[[str], Any], is_safe: bool):
        super().__init__(io.BytesIO(data), encoding="utf-8")
        self.members, self.place_of, self.is_safe = members, place_of, is_safe
        self.bases: dict[tuple[str, str], Tensor] = {}

    def find_class(self, module_name: str, name: str, /) -> Any:
        """The object of a name; with weights_only=True only those of tensors and allowed ones."""
        full = f"{module_name}.{name}"
        # These are never imported: the file only selects which of our functions is called.
        if (own := OWN.get(full)) is not None:
            return getattr(self, own)
        if full in NAMED and full not in ("torch.Tensor", "torch.nn.parameter.Parameter"):
            kind = NAMED[full]
            return kind if name.endswith("Storage") else module_of("torch").__getattr__(name)
        if self.is_safe:
            if full in _safe_globals:
                return _safe_globals[full]
            if full not in (
                "torch.Size",
                "torch.device",
                "torch.nn.parameter.Parameter",
            ) and name not in SAFE.get(module_name, ()):
                raise pickle.UnpicklingError(f"load(...): {UNSAFE.format(full)}")
        if module_name.partition(".")[0] == "torch":
            value = module_of(module_name)
            for part in name.split("."):
                value = getattr(value, part)
            return value
        return super().find_class(module_name, name)

    def persistent_load(self, pid: Any, /) -> Any:
        """The description of a storage."""
        return pid

    def base(self, stored: Any, kind: Any) -> Tensor:
        """A storage as a flat tensor, which its views share."""
        _, _, key, place, _ = stored
        cached = self.bases.get((key, kind.dtype.name))
        if cached is None:
            raw = zip_archive.contents(*self.members(key))
            count = len(raw) // kind.size
            options = LoadOptions.of(self.place_of(place), False)
            cached = self.bases[key, kind.dtype.name] = tensor_of(
                f"storage {key}", raw, (count,), kind, options
            )
        return cached

    def rebuild(self, stored: Any, offset: int, size: Any, stride: Any, *rest: Any) -> Tensor:
        """A tensor of a storage with a dtype; rest: requires_grad, hooks."""
        return self._view(stored, stored[1], (offset, size, stride), bool(rest and rest[0]))

    def rebuild_v3(self, stored: Any, offset: int, size: Any, stride: Any, *rest: Any) -> Tensor:
        """A tensor of an untyped storage; rest: requires_grad, hooks, dtype."""
        requires_grad, _, dtype = rest[:3]
        return self._view(stored, KINDS[dtype.name], (offset, size, stride), requires_grad)

    def _view(self, stored: Any, kind: Any, place: tuple[int, Any, Any], requires_grad: bool) -> Tensor:
        offset, size, stride = place
        base = self.base(stored, kind)
        if 0 in size:
            view = base[:0].reshape(*size)
        else:
            view = strided_view(base, tuple(size), tuple(stride), offset)
        # A tensor that has all elements in order is the storage itself, not a view: it keeps no second tensor
        # alive.
        view = base if view is not base and view.shape == base.shape and offset == 0 else view
        return view.requires_grad_() if requires_grad else view

    def parameter(self, data: Tensor, requires_grad: bool, _hooks: Any = None, state: Any = None) -> Any:
        """A parameter; with state also its attributes."""
        p = Parameter(data, requires_grad)
        attributes: dict[str, Any] = state or {}
        for name, value in attributes.items():
            setattr(p, name, value)
        return p

    def with_type(self, rebuild: Any, kind: Any, args: Any, state: Any) -> Any:
        """A tensor with Python attributes."""
        value = rebuild(*args)
        if isinstance(kind, type) and issubclass(kind, Tensor) and not isinstance(value, kind):
            value = value.as_subclass(kind)
        attributes: dict[str, Any] = state if is_dict(state) else {}
        for name, item in attributes.items():
            setattr(value, name, item)
        return value


OWN = {
    "torch._utils._rebuild_tensor": "rebuild",
    "torch._utils._rebuild_tensor_v2": "rebuild",
    "torch._utils._rebuild_tensor_v3": "rebuild_v3",
    "torch._utils._rebuild_parameter": "parameter",
    "torch._utils._rebuild_parameter_with_state": "parameter",
    "torch._tensor._rebuild_from_type_v2": "with_type",
}


def _places(map_location: Any) -> Callable[[str], Any]:
    """The device of tensors that were saved on a device, by map_location."""

    def place_of(saved: str) -> Any:
        place: Any = map_location
        if is_dict(map_location):
            place = map_location.get(saved, saved)
        elif callable(map_location) and not isinstance(map_location, TorchDevice):
            place = None  # lambda storage, location: storage
            saved = "cpu"
        if place is not None:
            return get_device(TorchDevice(place) if isinstance(place, str | int) else place)
        try:
            return get_device(TorchDevice(saved))
        # torch raises here, and asks for map_location. A file from a machine with a GPU loads without it
        # here.
        except DeviceError:
            return get_device("cpu")

    return place_of


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read a file of `save`, PyTorch, or any other that flambeau.load reads.

    f: a path, or a file that is open for reading bytes
    map_location: the device of the tensors; a dict or function maps places; None: where they were saved
    weights_only: False also builds objects of any class, which executes code of the file
    pickle_module, mmap, pickle_load_args: accepted and ignored

    UnpicklingError for a file with other objects and weights_only=True.
    """
    is_safe = weights_only is not False
    place_of = _places(map_location)
    with open_source(f, "load(...)") as view:
        if bytes(view[:4]) == b"PK\x03\x04":
            members = zip_archive.members(view)
            roots = [name[: -len("data.pkl")] for name in members if name.rpartition("/")[2] == "data.pkl"]

            def member(key: str) -> tuple[memoryview, Any]:
                return view, members[f"{roots[0]}data/{key}"]

            if len(roots) == 1:
                data = zip_archive.contents(view, members[f"{roots[0]}data.pkl"])
                return TorchUnpickler(data, member, place_of, is_safe).load()
        if bytes(view[:1]) == b"\x80":
            return read_torch(view, LoadOptions.of(place_of("cpu"), False))
        return load_data(bytes(view), place_of("cpu"))
