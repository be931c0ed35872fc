"""The array devices: evaluate each node by its op's reference on NumPy, or on another array library."""

import sys
import threading
from typing import TYPE_CHECKING, Any, Literal

from ..core import dtype as dt
from ..core.dtype import DType
from ..core.faults import Doubt
from ..core.host import from_raw, to_raw
from ..core.limits import Limits
from ..core.node import Node, toposort
from ..core.shape import Shape
from .array_namespace import Namespace
from .protocol import Caches

# exceptions of an array library for unsupported ops; running out of memory is not among them
REFUSALS = (AttributeError, TypeError, NotImplementedError, RuntimeError, ValueError, IndexError)

AS_STORED = ("leaf", "source", "movement", "composite")  # kinds that compute nothing


class Array:
    """The storage of a value on an array device."""

    __slots__ = ("array", "doubt")

    def __init__(self, array: Any, doubt: Doubt | None = None):
        self.array, self.doubt = array, doubt


class CpuDevice(Caches):
    """NumPy ("cpu"), or another array library with its device. It has no kernels: a plan is the graph
    itself, op by op."""

    kind: Literal["cpu"] = "cpu"
    lost = pool = adapter = identity = None
    can_wait = True

    def __init__(self, name: str = "cpu", library: str = "numpy", where: str = ""):
        super().__init__()
        self.name, self.limits = name, Limits()  # the roots of plans that are shown
        self.xp = Namespace(library, where)
        self.numpy = self.xp if self.xp.is_numpy else Namespace("numpy")
        self.on_host: set[str] = set()  # ops that the library does not support: NumPy runs them
        self.fault: Any = None  # the first index out of range since the last read (see `faults`)
        self.lock = threading.RLock()

    def store(self, data: Any, shape: Shape, dtype: DType) -> Array:
        """Copy host data to a value, in the dtype that computations use."""
        return Array(self.xp.from_host(from_raw(data, dtype).reshape(shape).copy()))

    def load(self, array: Array, dtype: DType) -> bytes:
        return to_raw(self.xp.to_host(array.array), dtype).tobytes()

    def hold(self, array: Any) -> Array:
        """Make a value of the library's array."""
        return Array(array)

    def take(self, array: Array, device: "CpuDevice", dtype: Any) -> Array:
        """Convert another array device's value, sharing memory if both can access it."""
        if device.xp.library == self.xp.library == "torch":
            return Array(array.array.to(self.xp.place), array.doubt)
        host = self.numpy.astype(device.xp.to_host(array.array), dtype.name)
        return Array(self.xp.from_host(host), array.doubt)

    def compute(self, roots: list[Node], order: list[Node] | None = None) -> None:
        """Compute the values of roots; other values are dropped after their last use. order: the nodes
        that the roots need."""
        order = sorted(order or toposort(roots), key=lambda n: n.serial)
        readers = dict.fromkeys(roots, 1)
        for n in order:
            for i in n.inputs if n.buffer is None else ():
                readers[i] = readers.get(i, 0) + 1
        values: dict[Node, Any] = {}
        doubts: dict[Node, Doubt | None] = {}
        for n in order:
            if n.buffer is not None:
                values[n], doubts[n] = n.buffer.array, n.buffer.doubt
                continue
            values[n] = self.run(n, [values[i] for i in n.inputs])
            doubts[n] = self._record_fault() or next(
                (d for i in n.inputs if (d := doubts[i]) is not None), None
            )
            for i in n.inputs:
                readers[i] -= 1
                if not readers[i]:
                    del values[i]
        for n in roots:
            n.buffer = Array(self.xp.contiguous(self.settle(values[n], n.dtype)), doubts[n])

    def _record_fault(self) -> Doubt | None:
        """Record the fault of an op that met an index out of range, and return the doubt of its value."""
        if self.xp.fault is None is self.numpy.fault:
            return None
        fault = self.xp.fault or self.numpy.fault
        self.xp.fault = self.numpy.fault = None
        self.fault = self.fault or fault
        return Doubt(fault)

    def run(self, node: Node, arrays: list[Any]) -> Any:
        """Evaluate an op by its reference, in the dtype and shape of its rules. As on a GPU, packed
        dtypes are computed in their wide dtypes and rounded (or wrapped) after each op."""
        if self.xp.is_numpy:
            return self._evaluate(self.xp, node, arrays)
        if node.op.name not in self.on_host:
            try:
                return self._evaluate(self.xp, node, arrays)
            except REFUSALS as e:
                if "OutOfMemory" in type(e).__name__:
                    raise
                self.on_host.add(node.op.name)
                print(f"flambeau: {node.op.name} runs on NumPy: {self.name}: {e}", file=sys.stderr)
        pairs = zip(arrays, node.inputs, strict=True)
        host = [self.numpy.astype(self.xp.to_host(a), i.dtype.numpy) for a, i in pairs]
        return self.xp.from_host(self._evaluate(self.numpy, node, host))

    def _evaluate(self, xp: Namespace, node: Node, arrays: list[Any]) -> Any:
        if node.op.kind not in AS_STORED:
            pairs = zip(arrays, node.inputs, strict=True)
            arrays = [xp.astype(a, i.dtype.wide.numpy) for a, i in pairs]
        with xp.errstate(all="ignore"):
            out = node.op.xp(xp, *node.scalars, *arrays, **node.attrs)
            return self.settle(xp.asarray(out), node.dtype, xp)

    def settle(self, array: Any, dtype: dt.DType, xp: Namespace | None = None) -> Any:
        """Round or wrap values to their dtype."""
        xp = xp or self.xp
        if dtype.numpy != dtype.name:
            rounded = from_raw(to_raw(xp.to_host(array), dtype), dtype)
            return xp.from_host(rounded.reshape(array.shape))
        array = xp.astype(array, dtype.numpy)
        is_wider = dtype in (dt.uint16, dt.uint32) and xp.kind(array) == "i"
        return array & dt.INTS[dtype].max if is_wider else array

    def wait(self) -> None:
        """Do nothing: calls are synchronous."""

    def keep_pace(self) -> None:
        """Do nothing: no work is pending."""

    def after_fork(self) -> None:
        """Replace the lock in a forked child, because its holder does not exist there."""
        self.lock = threading.RLock()


if TYPE_CHECKING:
    from .protocol import Arrays

    IS_A_DEVICE: type[Arrays] = CpuDevice
