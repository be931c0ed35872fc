"""The CPU device: every node evaluated by its op's reference on NumPy, for machines with no adapter and for
tests."""

import threading
from typing import Any

from .. import dtype as dt
from ..host import from_raw, to_raw
from ..node import Node, toposort

AS_STORED = ("leaf", "source", "movement", "composite")  # kinds that compute nothing


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
        """Take a copy of host data in, in the dtype that computing uses."""
        return Array(from_raw(data, dtype).reshape(shape).copy())

    def load(self, array: Array, dtype) -> bytes:
        return to_raw(array.array, dtype).tobytes()

    def compute(self, roots: list[Node]) -> None:
        """Give every root its value."""
        values: dict[int, Any] = {}
        for n in toposort(roots):
            values[id(n)] = (
                n.buffer.array if n.buffer is not None else self.run(n, [values[id(i)] for i in n.inputs])
            )
        for n in roots:
            value = self.xp.ascontiguousarray(self.settle(values[id(n)], n.dtype))
            n.buffer = Array(value.reshape(n.shape))

    def run(self, node: Node, arrays: list) -> Any:
        """One op by its reference, in the dtype and shape that its rules promise; as on a GPU, packed types
        are computed in their wide ones and rounded (or wrapped) after each op."""
        if node.op.kind not in AS_STORED:
            wide = (i.dtype.wide.numpy for i in node.inputs)
            arrays = [a.astype(w, copy=False) for a, w in zip(arrays, wide, strict=True)]
        with self.xp.errstate(all="ignore"):
            out = self.xp.asarray(node.op.xp(self.xp, *node.scalars, *arrays, **node.attrs))
            return self.settle(out, node.dtype)

    def settle(self, array: Any, dtype: dt.DType) -> Any:
        """Values as their dtype can hold them."""
        if dtype is dt.bfloat16:
            rounded = from_raw(to_raw(array, dtype), dtype)
            return rounded.reshape(array.shape)
        return array.astype(dtype.numpy, copy=False)

    def wait(self) -> None:
        """Everything is done when a call returns."""
