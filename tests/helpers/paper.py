"""A device that computes nothing: what would be compiled and dispatched is written down."""

import threading
from typing import Any, Literal

from flambeau.core.faults import Doubts
from flambeau.core.limits import Limits
from flambeau.device import Arrived
from flambeau.device.memory import Pool
from flambeau.device.protocol import Caches
from flambeau.errors import DeviceError


class PaperDevice(Caches):
    """The device seam with every value zero. `shaders` has each WGSL text with its label and inputs."""

    kind: Literal["gpu"] = "gpu"
    name, max_binding, compilers, can_wait = "gpu:paper", 2**31, 1, True
    lost = adapter = identity = None
    faults = 0

    def __init__(self, limits: Limits = Limits()):  # noqa: B008  frozen
        super().__init__()
        self.doubts = Doubts()
        self.limits, self.lock, self.pool = limits, threading.RLock(), Pool(self)
        self.shaders: dict[str, tuple[str, int]] = {}  # text -> label, inputs
        self.handles, self.sizes, self.outputs = 0, {}, {}

    def __repr__(self) -> str:
        return self.name

    def alloc(self, size: int, asked: int) -> int:
        self.handles += 1
        self.sizes[self.handles] = size
        return self.handles

    def uniform(self, size: int) -> int:
        return self.alloc(size, size)

    def pipeline(self, wgsl: str, label: str, inputs: int, outputs: int = 1, proven: bool = False) -> int:
        self.shaders.setdefault(wgsl, (label, inputs))
        self.outputs[len(self.shaders)] = outputs
        return len(self.shaders)

    def compiled(self, pipeline: int) -> None:
        pass

    def fetch(self, asked: list[tuple[int, int]]) -> Arrived:
        return Arrived([bytes(n) for _, n in asked])

    def read(self, asked: list[tuple[int, int]]) -> list[bytes]:
        return self.fetch(asked).wait()

    def size_of(self, handle: int) -> int:
        return self.sizes[handle]

    def outputs_of(self, pipeline: int) -> int:
        return self.outputs[pipeline]

    def timestamps(self, *parts: Any) -> Any:
        raise DeviceError(f"timestamps: {self.name} has none")

    def prepare(self, *parts: Any) -> Any:
        return parts

    def free(self, handle: int) -> None: ...
    def write(self, handle: int, data: Any) -> None: ...
    def submit(self, *parts: Any) -> None: ...
    def enqueue(self, seconds: float, *parts: Any) -> None: ...
    def keep_pace(self) -> None: ...
    def wait(self) -> None: ...
    def check(self) -> None: ...
    def after_fork(self) -> None: ...
