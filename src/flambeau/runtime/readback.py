"""Values on their way from a device."""

from typing import Any

from ..core.events import stage
from ..core.faults import BYTES, Doubt, raise_doubted, raise_found, raise_noted
from ..core.node import Node
from ..device import Arrived, get_device
from ..device.protocol import Device
from .run import realize_nodes
from .state import thread


def read(tensors: list[Any]) -> list[Any]:
    """The bytes of several tensors, with one wait a device."""
    return Readback(tensors).wait()


class Readback:
    """The values of several tensors as they are now, on their way to the host: `wait` or `await arrive()`.

    What kernels noted of indices that are outside comes along, and is raised.
    """

    def __init__(self, tensors: list[Any]):
        if thread.recorder is not None:
            thread.recorder.spoil("it reads values: return the tensor and read it outside")
        nodes = [t.node for t in tensors]
        realize_nodes(nodes)
        with stage("read"):
            self._begin(nodes)

    def _begin(self, nodes: list[Node]) -> None:
        self.count, self.parts = len(nodes), []
        by_device: dict[Any, list[int]] = {}
        for i, n in enumerate(nodes):
            by_device.setdefault(n.device or get_device(), []).append(i)
        for device, places in by_device.items():
            with device.lock:  # a replay may move a value to another buffer
                mine = [nodes[i] for i in places]
                part, noted = _begun(device, mine)
                doubts = {n.buffer.doubt for n in mine} - {None}
            self.parts.append((places, part, noted, doubts))

    def wait(self) -> list[Any]:
        with stage("read"):
            return self._in_order([part.wait() for _, part, _, _ in self.parts])

    async def arrive(self) -> list[Any]:
        return self._in_order([await part.arrive() for _, part, _, _ in self.parts])

    def _in_order(self, found: list[list[Any]]) -> list[Any]:
        out: list[Any] = [b""] * self.count
        for (places, _, noted, doubts), parts in zip(self.parts, found, strict=True):
            if noted is not None:
                device, last = noted
                raise_noted(device, last, parts.pop())
            if doubts:
                raise_doubted(doubts)
            for i, part in zip(places, parts, strict=True):
                out[i] = part
        return out


def _begun(device: Device, nodes: list[Node]) -> tuple[Any, tuple[Any, Doubt] | None]:
    """A read of one device that is under way, and the last doubt that it settles, where the device notes
    faults."""
    if device.kind == "cpu":
        part = Arrived([device.load(n.buffer, n.dtype) for n in nodes])
        raise_found(device)
        return part, None
    asked = [(n.buffer.handle, n.nbytes) for n in nodes]
    if not device.faults:
        return device.fetch(asked), None
    return device.fetch([*asked, (device.faults, BYTES)]), (device, device.doubts.begin_read())
