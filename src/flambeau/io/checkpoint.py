"""Saves nested dicts, lists, numbers and tensors, such as a run's state, to one file, and loads files of all
formats.

A .safetensors file has each tensor under its path, such as `model.0.weight`, and the structure around the
tensors as JSON in its metadata. Loading executes no code of a file.
"""

import json
import os
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO

from ..autodiff.backward import Gradients
from ..core.dtype import DTYPES, DType
from ..core.node import describe
from ..core.tree import is_dict, is_list, is_mapping
from ..device import DeviceLike
from ..errors import FlambeauError
from ..runtime import run
from ..tensor import Tensor
from .elements import LoadOptions
from .formats import INDEX, NPY, SAFETENSORS, TORCH, entries_at, in_folder, kind_of
from .gguf import save_gguf
from .npz import array_of, save_npz
from .safetensors import check_tensors, load_tensors, pack, write_bytes
from .sharded import index_of, tensors_of
from .sources import name_file_in_errors, open_source, source_name
from .torch_file import read_torch
from .torch_writer import save_torch
from .unpickler import key

RUN = {"model", "optimizer", "epoch", "step"}  # among the keys of a checkpoint of a Learner
TREE = "flambeau.tree"  # the metadata key of the structure around the tensors
KEYS = str | int | float | bool | None
CURES = {  # a wrong argument name: the right one
    "state_dict": "pass its .state_dict()",
    "named_parameters": "pass its .state_dict()",
    "detach": "wrap it in fb.tensor(...)",
    "__array__": "wrap it in fb.tensor(...)",
    "save": "call its own save(path)",
    "__dict__": "pass vars(...) of it, or numbers and strings",
}


def save(obj: Any, f: str | os.PathLike[str] | BinaryIO) -> None:
    """Write tensors in nested dicts, lists and tuples, with numbers, strings, bytes, dtypes and None, to a
    .safetensors file; f is a path, or a file that is open for writing bytes.

    A path that ends in .npz or .gguf selects that format, for a flat dict of tensors; .pt, .pth or .bin
    selects the format of torch.load. In .safetensors a flat dict becomes a plain file as other libraries
    write it. TypeError names a value that can't be saved, FlambeauError a path that can't be written. obj:
    the nested value.
    """
    write = WRITERS.get(Path(f).suffix) if isinstance(f, str | os.PathLike) else None
    if write is not None:
        write(obj, f)
        return
    tensors, tree = split_tensors(obj)
    is_flat = isinstance(obj, Mapping) and tensors.keys() == obj.keys()
    check_tensors(tensors, f"save(..., {str(f)!r})")
    raw = run.read(list(tensors.values()))
    write_bytes(f, *pack(tensors, raw, None if is_flat else metadata_of(tree)))


def _flat(write: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """Return a writer of named tensors; it raises an error for other values."""

    def write_flat(obj: Any, f: Any) -> None:
        if not is_mapping(obj) or not all(isinstance(t, Tensor) for t in obj.values()):
            kind = Path(f).suffix
            rule = f"{kind} files hold only a dict of tensors by name"
            raise TypeError(f"save(..., {str(f)!r}): {rule}: save nested containers as .safetensors")
        write(obj, f)

    return write_flat


WRITERS: dict[str, Callable[[Any, Any], None]] = {".npz": _flat(save_npz), ".gguf": _flat(save_gguf)}
WRITERS.update(dict.fromkeys((".pt", ".pth", ".bin"), save_torch))


def load(
    f: str | os.PathLike[str] | BinaryIO | bytes,
    map_location: DeviceLike | None = None,
    *,
    device: DeviceLike | None = None,
    weights_only: bool = True,
    keep_wide: bool = False,
) -> Any:
    """Load a file of `save`, PyTorch, NumPy (.npz, .npy) or llama.cpp (.gguf), with its tensors on a device
    (map_location is PyTorch's name for it): tensors by name, or the nested value that was saved.

    f is a path, a file that is open for reading bytes, bytes, an index of several files, or a folder with one
    of these. keep_wide: float64, which GPUs lack, stays on the host; else it becomes float32, and
    FlambeauError names a number that does not fit. FlambeauError reports a damaged file; weights_only=False
    is rejected, since pickles are never executed.
    """
    call = f"load({source_name(f)})"
    if not weights_only:
        raise ValueError(
            f"{call}: weights_only=False would run code from the pickle, which is not supported: leave it out"
        )
    place = LoadOptions.of(map_location if device is None else device, keep_wide)
    f = in_folder(f, call)
    with (
        open_source(f, call) as view,
        name_file_in_errors(call, kind_of(view).name, view),
        ExitStack() as stack,
    ):
        return _load(view, f, place, call, stack)


def _load(view: memoryview, f: Any, place: LoadOptions, call: str, stack: ExitStack) -> Any:
    kind = kind_of(view)
    if kind is TORCH:
        return read_torch(view, place)
    if kind is NPY:
        return array_of("the array", view, place)
    if kind is INDEX and (index := index_of(view, f)) is not None:
        return tensors_of(index, place, call)
    contents = entries_at(view, f, place, call, stack)
    tensors = {name: entry.read() for name, entry in contents.tensors.items()}
    return restore_tree(tensors, contents.metadata, call) if kind is SAFETENSORS else tensors


def load_model_state(path: Any) -> Any:
    """Load the tensors of a model, on the CPU: a file of tensors by name, or the model in a checkpoint of a
    Learner, which stderr then names."""
    state = load(path, device="cpu")
    if not is_dict(state) or not state.keys() >= RUN:
        return state
    place = f"epoch {state['epoch']}, step {state['step']:,}"
    print(f"flambeau: {source_name(path)} is a checkpoint ({place}): its model is loaded", file=sys.stderr)
    return state["model"]


def load_checkpoint(data: memoryview, device: DeviceLike | None, call: str) -> Any:
    """Load the bytes that `save` wrote. FlambeauError reports damaged bytes."""
    return restore_tree(load_tensors(data, device, call), metadata(data), call)


def restore_tree(tensors: dict[str, Tensor], texts: dict[str, str], call: str) -> Any:
    """Put tensors into the structure in a file's metadata; a file without one is a flat dict."""
    tree = texts.get(TREE)
    if tree is None:
        return tensors
    try:
        return _decode_tree(json.loads(tree), tensors)
    except (ValueError, KeyError, TypeError, RecursionError) as e:
        raise FlambeauError(f"{call}: its structure differs from save's: {e}") from None


def metadata(data: memoryview) -> dict[str, str]:
    """Return the metadata in a file's header."""
    size = int.from_bytes(data[:8], "little")
    return json.loads(bytes(data[8 : 8 + size])).get("__metadata__", {})


def metadata_of(tree: Any) -> dict[str, str]:
    """Encode a tree for a file's header."""
    return {TREE: json.dumps(tree, separators=(",", ":"))}


def split_tensors(obj: Any) -> tuple[dict[str, Tensor], Any]:
    """Split a value into tensors by path, and the JSON tree around them."""
    tensors: dict[str, Tensor] = {}
    names: dict[int, str] = {}

    def name_of(t: Tensor, path: str) -> str:
        if id(t) not in names:  # a tensor that occurs several times is written once
            name = path or "tensor"
            # Two paths may have the same name, e.g. a key "a.b" and the key "b" inside "a".
            while name in tensors:
                name += "~"
            names[id(t)] = name
            tensors[name] = t
        return names[id(t)]

    return tensors, _encode_tree(obj, "", name_of)


def _encode_tree(obj: Any, path: str, name_of: Callable[[Tensor, str], str]) -> Any:
    """Lists, strings and most numbers are JSON values; everything else is {kind: parts}."""

    def inside(part: Any, key: Any) -> Any:
        return _encode_tree(part, f"{path}.{key}" if path else str(key), name_of)

    if isinstance(obj, Tensor):
        return {"tensor": name_of(obj, path)}
    if is_mapping(obj):
        # As pairs: JSON objects would turn integer keys into strings.
        return {"dict": [[_key(k, path), inside(v, k)] for k, v in obj.items()]}
    if isinstance(obj, DType):
        return {"dtype": obj.name}
    if type(obj) in (list, tuple):
        parts = [inside(v, i) for i, v in enumerate(obj)]
        return parts if type(obj) is list else {"tuple": parts}
    if isinstance(obj, bytes):
        return {"bytes": b64encode(obj).decode("ascii")}
    if isinstance(obj, float):
        # JSON has no NaN and no infinities.
        return float(obj) if isfinite(obj) else {"float": str(float(obj))}
    # bool is an int, and JSON has true and false
    if obj is None or isinstance(obj, str | int):
        return obj
    text = describe(obj)
    shown = "" if "\n" in text else f"{text}, "  # a model's text has several lines
    raise TypeError(f"save: {_place(path)} is {shown}{_cure(obj)}")


def _key(key: Any, path: str) -> Any:
    # 60 bits: the reader accepts no longer ones, whose hashes a file could choose (unpickler.key)
    if not isinstance(key, KEYS) or (isinstance(key, int) and key.bit_length() > 60):
        raise TypeError(
            f"save: {_place(path)} has the key {key!r}: keys must be strings or integers of at most 60 bits"
        )
    return key


def _place(path: str) -> str:
    return f"the object at {path!r}" if path else "the object"


def _cure(obj: Any) -> str:
    kind = type(obj).__name__
    if isinstance(obj, Gradients):
        return "gradients: pass grads[model]"
    cure = next((text for name, text in CURES.items() if hasattr(obj, name)), "pass numbers and strings")
    return f"a {kind}, and save writes no pickles: {cure}"


DECODERS: dict[str, Callable[[Any, dict[str, Tensor]], Any]] = {  # the kinds in a tree's {kind: parts}
    "tensor": lambda name, tensors: tensors[name],
    "dict": lambda pairs, tensors: {key(k): _decode_tree(v, tensors) for k, v in pairs},
    "tuple": lambda parts, tensors: tuple(_decode_tree(v, tensors) for v in parts),
    "dtype": lambda name, tensors: DTYPES[name],
    "bytes": lambda text, tensors: b64decode(text, validate=True),
    "float": lambda text, tensors: float(text),
}


def _decode_tree(tree: Any, tensors: dict[str, Tensor]) -> Any:
    if is_list(tree):
        return [_decode_tree(v, tensors) for v in tree]
    if not is_dict(tree):
        return tree
    # exactly one pair; ValueError otherwise, which restore_tree reports
    ((kind, parts),) = tree.items()
    return DECODERS[kind](parts, tensors)
