"""Tensors into other devices' and other libraries' arrays, and back: to, DLPack, __array__."""

from typing import Any
from warnings import warn

from ..core import dtype as dt
from ..core import op as ops
from ..core.declare import stand_for
from ..core.events import stage
from ..core.faults import raise_doubted
from ..core.modes import no_grad
from ..core.node import Node, describe
from ..core.op import OPS, Op
from ..core.shape import Shape
from ..device import get_device
from ..device.protocol import Arrays, Device
from ..errors import ValueError
from . import readback, run
from .state import thread

CPU = (1, 0)  # DLPack's number of memory that the host reads


class Exchange:
    """What a tensor does to be seen elsewhere."""

    def to(
        self: Any,
        *args: Any,
        dtype: Any = None,
        device: Any = None,
        non_blocking: bool = False,
        copy: bool = False,
    ) -> Any:
        """The tensor in another dtype, on another device, or as another tensor is; itself if nothing changes.

        to(dtype), to(device), to(device, dtype), to(other). Moving reads the value, so it ends a lazy graph
        and is not for recorded functions; gradients move back. Between array libraries on the host the
        memory is shared. non_blocking: taken, and of no meaning: nothing waits that need not. Complex numbers
        become real ones by their real parts, with a warning.
        """
        for a in args:
            if isinstance(a, ops.Tensor):
                device, dtype = a.device, a.dtype
            elif isinstance(a, dt.DType | type):
                dtype = a
            elif a is not None and not isinstance(a, bool):  # a bool is PyTorch's non_blocking
                device = a
        wanted = self.dtype if dtype is None else dt.as_dtype(dtype)
        if self.dtype.is_complex and wanted.kind not in "cb":
            warn("complex numbers lose their imaginary parts: take .real to say so", stacklevel=2)
            self = self.real
        x = self if wanted is self.dtype or not wanted.on_gpu else self.cast(wanted)
        x = x if device is None else _moved(x, get_device(device))
        x = x if wanted is x.dtype else x.cast(wanted)
        return x.clone() if copy and x is self else x

    def cpu(self: Any) -> Any:
        """On the NumPy device."""
        return self.to("cpu")

    def gpu(self: Any, index: int | None = None) -> Any:
        """On the best adapter, or on number `index`."""
        return self.to("gpu" if index is None else f"gpu:{index}")

    def cuda(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
        """PyTorch's name of gpu(). non_blocking: taken, and of no meaning."""
        return self.to("cuda" if device is None else device)

    def get_device(self: Any) -> int:
        """The number of the GPU that the tensor is on, -1 elsewhere."""
        number = self.device.index
        return -1 if number is None else number

    @property
    def is_cuda(self: Any) -> bool:
        """PyTorch's question for a GPU: whether kernels compute the tensor."""
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
            return _seen(self, dtype)
        values = self.numpy() if dtype is None else self.numpy().astype(dtype)
        return values if values.flags.writeable else values.copy()  # compiled clients take no read-only ones

    def __dlpack_device__(self: Any) -> tuple[int, int]:
        if self.device.kind != "cpu":
            return CPU
        place = _shared(self).__dlpack_device__()
        return int(place[0]), int(place[1])

    def __dlpack__(
        self: Any,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:
        """The value for another library: shared on the array devices, a copy on the host of a GPU's."""
        if self.requires_grad:
            rule = "it takes part in gradients, which end here: use .detach()"
            raise BufferError(f"__dlpack__({describe(self)}): {rule}")
        if copy is False and self.device.kind != "cpu":
            raise BufferError(f"__dlpack__({describe(self)}, copy=False): {self.device} shares no memory")
        asked = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        return _shared(self).__dlpack__(**{k: v for k, v in asked.items() if v is not None})


def _seen(x: Any, dtype: Any) -> Any:
    """The NumPy device's own array, not to be written to; ValueError where it takes a copy to have it."""
    array = _shared(x) if x.device.type == "cpu" else None
    if array is None or array is not x.node.buffer.array or (dtype is not None and array.dtype != dtype):
        raise ValueError(f"__array__({describe(x)}, {dtype}): takes a copy of {x.device}'s value: allow copy")
    view = array.view()
    view.flags.writeable = False
    return view


def _shared(x: Any) -> Any:
    """The array that is a tensor's value, or a copy of it on the host."""
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
    """A node that has its value: host bytes copied to the device."""
    ops.check_held(dtype, device)
    node = Node(OPS["buffer"], (), {}, shape, dtype, device)
    if device.kind == "cpu":
        node.buffer = device.store(raw, shape, dtype)
    else:
        with stage("write"), device.lock:
            node.buffer = device.pool.take(node.nbytes)
            device.write(node.buffer.handle, raw)
    if thread.recorder is not None:
        thread.recorder.made[node] = "data", hash(bytes(raw))
    return node


def shared(array: Any, dtype: dt.DType, device: Arrays) -> Node:
    """A node of which an array of the device's library is the value."""
    node = Node(OPS["buffer"], (), {}, tuple(array.shape), dtype, device)
    node.buffer = device.hold(array)
    return node


def _moved(x: Any, device: Any) -> Any:
    if x.node.device is device or (x.node.device is None and get_device() is device):
        return x
    with no_grad():
        raw = None
        if x.device.kind == device.kind == "cpu":
            node = x.node
            run.realize_nodes([node])
            raw = device.take(node.buffer, x.device, x.dtype)
        if raw is None:
            node = leaf(readback.read([x])[0], x.shape, x.dtype, device)
        else:
            node = Node(OPS["buffer"], (), {}, x.shape, x.dtype, device)
            node.buffer = raw
    return ops.Tensor(stand_for(_MOVE, node, (x.node,), {}) if x.requires_grad else node)


def _moved_back(g: Any, y: Any, x: Any) -> list[Any]:
    return [_moved(g, x.device)]


_MOVE = Op("composite", xp=lambda xp, x: x, grad=_moved_back, doc="another device", name="to")
