"""The CPU device: every node evaluated by its op's reference on NumPy, for machines with no adapter and for
tests."""

import threading
from typing import Any

from ..node import Node, toposort


class Array:
    """Where a value of the CPU device is."""

    __slots__ = ("array", "nbytes")

    def __init__(self, array: Any):
        self.array, self.nbytes = array, array.nbytes


class CpuDevice:
    """NumPy. It has no kernels: a plan is the graph itself, op after op."""

    kind = "cpu"
    name = "cpu"

    def __init__(self):
        import numpy

        self.xp = numpy
        self.lock = threading.RLock()

    def __repr__(self) -> str:
        return self.name

    def store(self, data: Any, shape, dtype) -> Array:
        """Take host data in, in the dtype that computing uses."""
        xp = self.xp
        flat = xp.frombuffer(memoryview(data).cast("B"), dtype=dtype.format).astype(dtype.name)
        return Array(flat.reshape(shape))

    def load(self, array: Array, dtype) -> bytes:
        return self.xp.ascontiguousarray(array.array, dtype=dtype.format).tobytes()

    def compute(self, roots: list[Node]) -> None:
        """Give every root its value."""
        values: dict[int, Any] = {}
        for n in toposort(roots):
            values[id(n)] = (
                n.buffer.array if n.buffer is not None else self.run(n, [values[id(i)] for i in n.inputs])
            )
        for n in roots:
            value = self.xp.ascontiguousarray(values[id(n)].astype(n.dtype.name, copy=False))
            n.buffer = Array(value.reshape(n.shape))

    def run(self, node: Node, arrays: list) -> Any:
        """One op by its reference, in the dtype and shape that its rules promise."""
        with self.xp.errstate(all="ignore"):
            out = self.xp.asarray(node.op.xp(self.xp, *node.scalars, *arrays, **node.attrs))
        return out if out.dtype == node.dtype.name else out.astype(node.dtype.name)

    def wait(self) -> None:
        """Everything is done when a call returns."""
