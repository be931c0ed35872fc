"""Convert tensors to arrays of other devices and libraries, and back: to, DLPack, __array__."""

from collections.abc import Iterable
from functools import reduce
from operator import add
from typing import Any
from warnings import warn

from ..core import dtype as dt
from ..core import op as ops
from ..core.declare import stand_for
from ..core.faults import raise_doubted
from ..core.modes import is_grad_enabled, no_grad
from ..core.node import Node, describe
from ..core.op import OPS, Op
from ..core.shape import Shape
from ..device import get_device
from ..device.meta import NoValue
from ..device.protocol import Arrays, Device
from ..errors import ValueError
from . import run
from .state import thread
from .transfers import SEVERAL, fill, leaf_on

CPU = (1, 0)  # DLPack's device for memory of the host


class Exchange:
    """The methods of a tensor that move it to another device or library."""

    def to(
        self: Any,
        *args: Any,
        dtype: Any = None,
        device: Any = None,
        non_blocking: bool = False,
        copy: bool = False,
    ) -> Any:
        """The tensor with another dtype, on another device, or like another tensor; itself if nothing
        changes.

        to(dtype), to(device), to(device, dtype), to(other). Moving reads the value: it runs the lazy graph,
        and recorded functions can't contain it. Gradients move back. Array libraries on the host share the
        memory. non_blocking: accepted and ignored: nothing blocks unless it has to. Complex numbers lose
        their imaginary parts in a real dtype, with a warning.
        """
        for a in args:
            if isinstance(a, ops.Tensor):
                device, dtype = a.device, a.dtype
            elif isinstance(a, dt.DType | type):
                dtype = a
            elif a is not None and not isinstance(a, bool):  # a bool is PyTorch's non_blocking
                device = a
        target_dtype = self.dtype if dtype is None else dt.as_dtype(dtype)
        if self.dtype.is_complex and target_dtype.kind not in "cb":
            warn("the imaginary parts would be lost: use .real to drop them", stacklevel=2)
            self = self.real
        # Cast before the move if both devices hold the dtype: a narrower dtype means fewer bytes to copy.
        x = self if target_dtype is self.dtype or not target_dtype.on_gpu else self.cast(target_dtype)
        x = x if device is None else _move(x, get_device(device))
        x = x if target_dtype is x.dtype else x.cast(target_dtype)
        return x.clone() if copy and x is self else x

    def cpu(self: Any) -> Any:
        """The tensor on the NumPy device."""
        return self.to("cpu")

    def gpu(self: Any, index: int | None = None) -> Any:
        """The tensor on the best adapter, or on adapter number `index`."""
        return self.to("gpu" if index is None else f"gpu:{index}")

    def cuda(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
        """PyTorch's name of gpu(). non_blocking: accepted and ignored."""
        return self.to("cuda" if device is None else device)

    def get_device(self: Any) -> int:
        """The number of the GPU that the tensor is on, -1 elsewhere."""
        number = self.device.index
        return -1 if number is None else number

    @property
    def is_cuda(self: Any) -> bool:
        """Whether a GPU computes the tensor (PyTorch's name)."""
        return self.device.kind == "gpu"

    @property
    def is_cpu(self: Any) -> bool:
        """Whether NumPy computes the tensor."""
        return self.device.type == "cpu"

    def to_device(self: Any, device: Any, stream: Any = None) -> Any:
        """The array API's name of to(device)."""
        return self.to(device)

    def __array__(self: Any, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is False:
            return _view_as_numpy(self, dtype)
        values = self.numpy() if dtype is None else self.numpy().astype(dtype)
        return values if values.flags.writeable else values.copy()  # compiled code may need a writable array

    def __dlpack_device__(self: Any) -> tuple[int, int]:
        if self.device.kind != "cpu":
            return CPU
        kind, index = _host_array(self).__dlpack_device__()
        return int(kind), int(index)

    def __dlpack__(
        self: Any,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:
        """The value for another library: shared on array devices; of a GPU's tensor, a copy on the host."""
        if self.requires_grad:
            rule = "it requires gradients, which stop here: use .detach()"
            raise BufferError(f"__dlpack__({describe(self)}): {rule}")
        # The array API demands BufferError, not ValueError, if the exchange needs a copy.
        if copy is False and self.device.kind != "cpu":
            raise BufferError(f"__dlpack__({describe(self)}, copy=False): {self.device} shares no memory")
        options = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        return _host_array(self).__dlpack__(**{k: v for k, v in options.items() if v is not None})


def _view_as_numpy(x: Any, dtype: Any) -> Any:
    """A read-only view of the NumPy device's array; ValueError if that needs a copy."""
    array = _host_array(x) if x.device.type == "cpu" else None
    if array is None or array is not x.node.buffer.array or (dtype is not None and array.dtype != dtype):
        raise ValueError(
            f"__array__({describe(x)}, {dtype}): needs a copy of the value on {x.device}: allow copy"
        )
    view = array.view()
    view.flags.writeable = False
    return view


def _host_array(x: Any) -> Any:
    """The array of a tensor's value, or a copy of it on the host."""
    if x.device.kind == "cpu":
        node = x.node
        run.realize_nodes([node])
        raise_doubted([node.buffer.doubt])
        array = node.buffer.array
        if x.device.xp.name_of(array) == x.dtype.name and getattr(array, "flags", _WRITABLE).writeable:
            return array
    return x.numpy().copy()


class _WRITABLE:
    writeable = True


def leaf(raw: Any, shape: Shape, dtype: dt.DType, device: Device) -> Node:
    """A node with a value: host bytes copied to the device."""
    ops.check_held(dtype, device)
    node = Node(OPS["buffer"], (), {}, shape, dtype, device)
    fill(node, raw)
    if thread.recorder is not None:
        # The check of recordings compares tensors made from host data by value (capture/check.py).
        thread.recorder.host_data[node] = "data", hash(bytes(raw))
    return node


def leaf_of_array(array: Any, dtype: dt.DType, device: Arrays) -> Node:
    """A node whose value is an array of the device's library, without a copy."""
    node = Node(OPS["buffer"], (), {}, tuple(array.shape), dtype, device)
    node.buffer = device.hold(array)
    return node


def _move(x: Any, device: Any) -> Any:
    if x.node.device is device or (x.node.device is None and get_device() is device):
        return x
    if not x.device.holds_values:
        raise NoValue(f"to({describe(x)}, {device.name!r})")
    with no_grad():
        raw = None
        # Two array libraries on the host may share memory through DLPack; `take` returns None if they do
        # not.
        if not device.holds_values:
            raw = device.take(None, x.device, x.dtype)
        elif x.device.kind == device.kind == "cpu":
            node = x.node
            run.realize_nodes([node])
            raw = device.take(node.buffer, x.device, x.dtype)
        if raw is None:
            node = leaf(run.read([x])[0], x.shape, x.dtype, device)
        else:
            node = Node(OPS["buffer"], (), {}, x.shape, x.dtype, device)
            node.buffer = raw
    return ops.Tensor(stand_for(_MOVE, node, (x.node,), {}) if x.requires_grad else node)


def _move_back(g: Any, y: Any, x: Any) -> list[Any]:
    return [_move(g, x.device)]


def _identity(xp: Any, x: Any) -> Any:
    return x


_MOVE = Op("composite", xp=_identity, grad=_move_back, doc="another device", name="to")


def transfer(x: Any, device: Any) -> Any:
    """x on another device, without reading it now: the run that needs the value moves it. Gradients move
    back the same way. A function that is being recorded is not recorded."""
    if x.node.device is None or x.node.device is device:
        return x
    if thread.recorder is not None:
        thread.recorder.spoil(SEVERAL)
    leaf = leaf_on(device, x.node)
    with_gradient = x.requires_grad and is_grad_enabled()
    return ops.Tensor(stand_for(_TRANSFER, leaf, (x.node,), {}) if with_gradient else leaf)


def add_up(parts: Iterable[Any], device: Any) -> Any:
    """The sum of tensors of one shape, which may be on several devices, on `device`."""
    sums: dict[Any, Any] = {}
    for x in parts:
        sums[x.device] = sums[x.device] + x if x.device in sums else x
    return reduce(add, [transfer(x, device) for x in sums.values()])


def _transfer_back(g: Any, y: Any, x: Any) -> list[Any]:
    return [transfer(g, x.device)]


_TRANSFER = Op("composite", xp=_identity, grad=_transfer_back, doc="another device", name="transfer")
