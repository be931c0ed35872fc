"""Pickles datasets and batches for another process, without tensors' devices."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from mmap import mmap
from multiprocessing.reduction import ForkingPickler
from typing import Any

from flambeau.core.dtype import DType, get_default_dtype, get_default_integer
from flambeau.data.fetch import ByIndex, ByTurn
from flambeau.data.workers import Begin, WorkerInfo
from flambeau.errors import FlambeauError
from flambeau.tensor import Tensor, tensor

# the type of reducer_override, which returns NotImplemented for the default pickling
Reduce = Callable[[Any], Any]


class Packer(ForkingPickler):
    """A pickler that reduces objects by `how`, if that handles them."""

    how: Reduce

    def reducer_override(self, obj: Any) -> Any:
        return self.how(obj)


def pack(value: Any, how: Reduce) -> bytes:
    file = io.BytesIO()
    packer = Packer(file, pickle.HIGHEST_PROTOCOL)
    packer.how = how
    packer.dump(value)
    return file.getvalue()


def reduce_for_worker(obj: Any) -> Any:
    """Reduce an object of a dataset for a worker: mapped files by their names; tensors raise an error."""
    if isinstance(obj, Tensor):
        raise TypeError(f"it holds a tensor {list(obj.shape)}, and workers have no device: use .numpy()")
    is_map = type(obj).__name__ == "memmap" and isinstance(obj.base, mmap) and obj.filename
    if is_map:  # only the complete mapping; slices of it are copied
        # "w+" would truncate the file again: the worker opens it as "r+"
        mode, order = obj.mode.replace("w", "r"), "C" if obj.flags.c_contiguous else "F"
        return type(obj), (str(obj.filename), obj.dtype, mode, obj.offset, obj.shape, order)
    return NotImplemented


def reduce_result(obj: Any) -> Any:
    """Reduce a worker's tensors, which are on NumPy's device, so that this process rebuilds them."""
    if not isinstance(obj, Tensor):
        return NotImplemented
    if obj.device.kind == "gpu":
        rule = "workers have no GPU: return arrays, or don't choose a device"
        raise FlambeauError(f"DataLoader: an item is a tensor on {obj.device.name}: {rule}")
    return _rebuild_tensor, (obj.numpy(), obj.dtype)


def _rebuild_tensor(array: Any, dtype: DType) -> Tensor:
    return tensor(array, dtype=dtype)


@dataclass
class Setup:
    """The parts of a worker."""

    fetch: ByIndex | ByTurn
    info: WorkerInfo
    begin: Begin
    floats: DType
    integer: DType


class Parcel:
    """A pickled Setup. It is packed while a process starts, because locks and shared values of
    multiprocessing can be pickled only then, and opened when that process can report an error."""

    def __init__(self, fetch: ByIndex | ByTurn, info: WorkerInfo, begin: Begin, method: str):
        self.setup = Setup(fetch, info, begin, get_default_dtype(), get_default_integer())
        self.method = method

    def __getstate__(self) -> bytes:
        try:
            return pack(self.setup, reduce_for_worker)
        except Exception as e:
            raise self._pickling_error(e) from e

    def __setstate__(self, content: bytes) -> None:
        self.content = content

    def open(self) -> Setup:
        return pickle.loads(self.content)

    def _pickling_error(self, error: Exception) -> FlambeauError:
        fetch = self.setup.fetch
        parts = {
            f"the dataset ({type(fetch.dataset).__name__})": fetch.dataset,
            "collate_fn": fetch.collate_fn,
            "worker_init_fn": self.setup.begin,
        }
        name = next((name for name, value in parts.items() if not _can_pickle(value)), "an item")
        cure = "define it at module level, or use threads: leave multiprocessing_context out"
        problem = f"{name} can't be pickled: {str(error).rstrip('.')}"
        return FlambeauError(f"DataLoader(multiprocessing_context={self.method!r}): {problem}: {cure}")


def _can_pickle(value: Any) -> bool:
    try:
        pack(value, reduce_for_worker)
    except Exception:
        return False
    return True
