"""Converts host data to the values of a graph, and back.

A value is a Tensor. Strings, 8-bit floats and 4-bit integers, which no device has, are NumPy arrays. A
sequence is a list, an empty optional None, a map a dict.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

from ..core.dtype import DTYPES, DType, DTypeLike, uint32
from ..core.node import Node
from ..core.op import OPS
from ..core.tree import is_dict, is_list, is_sequence
from ..device import Device, get_device
from ..functions import arange, full
from ..kernels.lower import MAX_ELEMENTS
from ..runtime.run import realize
from ..runtime.state import thread
from ..tensor import Tensor, tensor
from .convert import numpy_dtype

UNKNOWN_MEMORY = 1 << 38  # assumed bytes of memory if the machine does not report them


def cpu() -> Any:
    """Return the NumPy device: it computes shapes, and dtypes that GPUs do not have."""
    return get_device("cpu")


def host(data: Any, dtype: DTypeLike = "int64") -> Tensor:
    """Numbers as a tensor on the NumPy device, which is used for shapes and sizes."""
    return tensor(data, dtype=dtype, device=cpu())


def device_for(dtype: DType, device: Device) -> Any:
    """Return the device, or NumPy's if the device lacks the dtype (float64)."""
    return device if dtype.on_gpu or device.kind == "cpu" else cpu()


def to_value(data: Any, device: Device) -> Any:
    """Return an array, a number, a list of arrays (a sequence) or None as a value on a device."""
    if data is None or isinstance(data, Tensor):
        return data
    if is_sequence(data):
        return [to_value(d, device) for d in data]
    if is_dict(data):
        return {key: to_value(d, device) for key, d in data.items()}
    import numpy as np

    # U, S and O are NumPy's kinds of texts; they become arrays of Python strings. Other dtypes that no device
    # has (ml_dtypes) do not change.
    array = np.asarray(data)
    if array.dtype.name not in DTYPES:
        return array.astype(object) if array.dtype.kind in "USO" else array
    dtype = DTYPES[array.dtype.name]
    return tensor(array, dtype=dtype, device=device_for(dtype, device))


def to_array(value: Any) -> Any:
    """Return a value as NumPy arrays of the file's dtype; bfloat16 is that of ml_dtypes."""
    if isinstance(value, Tensor):
        array = value.numpy()
        return array.astype(numpy_dtype("bfloat16")) if value.dtype.name == "bfloat16" else array
    if is_list(value):
        return [to_array(v) for v in value]
    return {k: to_array(v) for k, v in value.items()} if is_dict(value) else value


def dtype_name(value: Any) -> str:
    """Return the name of a value's dtype, "string" of texts."""
    return "string" if value.dtype == object else value.dtype.name


def numbers(value: Any) -> Any:
    """Return a value as Python numbers and lists."""
    return value if value is None or is_list(value) else value.tolist()


def first_number(value: Any) -> Any:
    """Return a number, or the first one of a list."""
    return (value[0] if value else None) if is_list(value) else value


def cast(value: Any, dtype: str) -> Tensor:
    """Cast to a dtype by name; on NumPy's device if the tensor's device does not have it."""
    target = DTYPES[dtype]
    return value.to(device_for(target, value.device)).to(target)


def tensors_in(values: Iterable[Any]) -> Iterator[Tensor]:
    """Yield the tensors among values and in sequences."""
    for v in values:
        if isinstance(v, Tensor):
            yield v
        elif is_list(v):
            yield from tensors_in(v)


def move_to(value: Any, device: Device) -> Any:
    """Return a value on a device."""
    if is_list(value):
        return [move_to(v, device) for v in value]
    return value.to(device) if isinstance(value, Tensor) else value


def as_constant(value: Any, device: Device) -> Any:
    """Move a constant to a device; a single float becomes a number in kernels, without a buffer."""
    if not isinstance(value, Tensor) or value.numel() != 1 or not value.dtype.is_float:
        return move_to(value, device)
    # A full is a constant in generated shaders: one uniform instead of a storage buffer of 4 bytes.
    return full(tuple(value.shape), value.item(), dtype=value.dtype, device=device)


def own_bytes(value: Any) -> int:
    """Return the bytes that computing a value would allocate: none if it is computed already, or is a
    view."""
    if not isinstance(value, Tensor):
        return 0
    node = value.node
    # Reshapes and permutes are views: the node that they read counts.
    while node.buffer is None and node.op.kind == "movement":
        node = node.inputs[0]
    is_there = node.buffer is not None or node.op.kind == "leaf" or node.op.name in ("constant", "iota")
    return 0 if is_there else value.node.nbytes


def as_words(x: Tensor) -> Tensor:
    """Pack four neighbouring bytes of the last dim in a uint32; on a GPU the buffer is reinterpreted.
    [..., n] uint8 -> [..., n / 4]"""
    shape = (*x.shape[:-1], x.shape[-1] // 4)
    if x.device.kind == "gpu" and thread.recorder is None:
        realize(x)
        # Little-endian, as WGSL's storage buffers are: byte k of a word is bits 8k to 8k + 7.
        node = Node(OPS["buffer"], (), {}, shape, uint32, x.device)
        node.buffer = x.node.buffer
        return Tensor(node)
    shifts = arange(4, device=x.device).to(uint32) * 8
    return (x.reshape(*shape, 4).to(uint32) << shifts).sum(-1, dtype=uint32)


def store(values: list[Tensor]) -> None:
    """Compute values now, outside of a call that is being recorded."""
    realize(*values)
    # Replace the node by one that has only the buffer, so that the graph it was computed by is freed.
    for t in values:
        node = Node(OPS["buffer"], (), {}, t.shape, t.dtype, t.device)
        node.buffer, t.node = t.node.buffer, node


def common_device(values: list[Any], device: Device) -> Any:
    """Return the device of an operator: the model's if its inputs are on several devices, or NumPy's if one
    input can't move. None: the inputs are on one device."""
    # A dtype that no GPU has (float64) can't move there: then all inputs go to NumPy's device.
    places = {id(t.device) for t in tensors_in(values)}
    if len(places) < 2:
        return None
    return cpu() if any(not t.dtype.on_gpu for t in tensors_in(values)) else device


@cache
def host_memory() -> int:
    """Return the bytes of the machine's memory."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return UNKNOWN_MEMORY


def check_array(dtype: str, shape: Sequence[int], nbytes: int) -> None:
    """ValueError for an array that this machine can't hold: an operating system may promise the memory, and
    kill the process when it is touched."""
    # Linux overcommits: an allocation succeeds, and the process is killed when it writes to the pages.
    if nbytes > host_memory():
        rule = f"{nbytes:,} bytes exceed the {host_memory():,} of memory of this machine"
        raise ValueError(f"gives {dtype}{list(shape)}: {rule}")


def check_room(values: Iterable[Any]) -> None:
    """ValueError for a value whose shape is too large for its device, before it is computed."""
    for t in tensors_in(values):
        if t.device.kind == "cpu":
            check_array(dtype_name(t), t.shape, t.node.nbytes)
        elif t.numel() > MAX_ELEMENTS:
            rule = f"{t.numel():,} elements are more than the {MAX_ELEMENTS:,} that a kernel can index"
            raise ValueError(f"gives {dtype_name(t)}{list(t.shape)}: {rule}")


def by_places(function: Callable[..., Any], inputs: list[Any]) -> Any:
    """Apply a function that only moves elements to inputs with arrays among them.

    The function receives the elements' indices in the concatenation of all arrays. The result has the
    elements at the indices that it returns."""
    import numpy as np

    arrays: list[Any] = [v for v in inputs if isinstance(v, np.ndarray)]
    if not arrays:
        return function(*inputs)
    if len({a.dtype for a in arrays}) > 1:
        raise TypeError(f"inputs are of several dtypes: {', '.join(sorted({dtype_name(a) for a in arrays}))}")
    # Strings can't be tensors, but their indices can: gather int indices as data, then pick the strings.
    starts = accumulate([0, *[a.size for a in arrays]])
    arguments = [_places(v, next(starts)) if isinstance(v, np.ndarray) else move_to(v, cpu()) for v in inputs]
    elements: Any = np.concatenate([a.reshape(-1) for a in arrays])
    result = results = function(*arguments)
    return tuple(_take(elements, r) for r in results) if type(result) is tuple else _take(elements, result)


def _places(array: Any, start: int) -> Tensor:
    return arange(start, start + array.size, device=cpu()).reshape(array.shape)


def _take(every: Any, places: Any) -> Any:
    return [_take(every, p) for p in places] if is_list(places) else every[places.numpy()]
