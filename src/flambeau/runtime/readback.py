"""Read the values of tensors from their devices."""

from typing import Any, NamedTuple

from ..core.events import stage
from ..core.faults import BYTES, Doubt, raise_doubted, raise_found, raise_noted
from ..core.node import Node
from ..device import Arrived, get_device
from ..device.protocol import Device
from .run import realize_nodes
from .state import thread


def read(tensors: list[Any]) -> list[Any]:
    """Read the bytes of several tensors, with one wait per device."""
    return Readback(tensors).wait()


class _Part(NamedTuple):
    """The read of one device."""

    places: list[int]  # the positions of its tensors
    pending: Any  # has wait() and arrive()
    settles: tuple[Any, Doubt] | None  # the device and the last doubt that the read settles, if it has faults
    doubts: set[Doubt]


class Readback:
    """A read of the present values of several tensors: `wait` for it, or `await arrive()`.

    It also reads the faults that kernels recorded, and raises their errors.
    """

    def __init__(self, tensors: list[Any]):
        if thread.recorder is not None:
            thread.recorder.spoil("it reads values: return the tensor and read it outside")
        nodes = [t.node for t in tensors]
        realize_nodes(nodes)
        with stage("read"):
            self._begin(nodes)

    def _begin(self, nodes: list[Node]) -> None:
        self.count = len(nodes)
        self.parts: list[_Part] = []
        by_device: dict[Any, list[int]] = {}
        for i, n in enumerate(nodes):
            by_device.setdefault(n.device or get_device(), []).append(i)
        for device, places in by_device.items():
            with device.lock:  # a replay may move a value to another buffer
                mine = [nodes[i] for i in places]
                pending, settles = _begin_read(device, mine)
                doubts = {n.buffer.doubt for n in mine} - {None}
            self.parts.append(_Part(places, pending, settles, doubts))

    def wait(self) -> list[Any]:
        with stage("read"):
            return self._in_order([part.pending.wait() for part in self.parts])

    async def arrive(self) -> list[Any]:
        return self._in_order([await part.pending.arrive() for part in self.parts])

    def _in_order(self, values: list[list[Any]]) -> list[Any]:
        out: list[Any] = [b""] * self.count
        for (places, _, settles, doubts), parts in zip(self.parts, values, strict=True):
            if settles is not None:
                device, last = settles
                raise_noted(device, last, parts.pop())
            if doubts:
                raise_doubted(doubts)
            for i, part in zip(places, parts, strict=True):
                out[i] = part
        return out


def _begin_read(device: Device, nodes: list[Node]) -> tuple[Any, tuple[Any, Doubt] | None]:
    """Begin to read from one device. Returns the pending read, and the last doubt that it settles if the
    device records faults."""
    if device.kind == "cpu":
        part = Arrived([device.load(n.buffer, n.dtype) for n in nodes])
        raise_found(device)
        return part, None
    parts = [(n.buffer.handle, n.nbytes) for n in nodes]
    if not device.faults:
        return device.fetch(parts), None
    return device.fetch([*parts, (device.faults, BYTES)]), (device, device.doubts.begin_read())
