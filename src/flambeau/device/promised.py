"""Compiles kernels by promises of Dawn, and ahead on more devices where a driver keeps pipelines on disk."""

from contextlib import suppress
from typing import Any

from ..errors import DeviceError
from .adapters import provider
from .compilers import Compiling, Job

OWN = 4  # pipelines that our device compiles at a time before others help: it has two threads
EACH = 3  # pipelines that a helper compiles at a time before another is opened
HELPERS = 6  # devices at most: each has two threads, takes 70 ms to open, and some memory of the GPU


class Promise:
    """A pipeline that the provider promises, with the methods of a Future that are used."""

    def __init__(self, path: Any, promise: Any):
        self._path, self._promise = path, promise

    def done(self) -> bool:
        """Whether `result` returns at once."""
        return self._path.is_settled(self._promise)

    def result(self) -> Any:
        """The pipeline, waited for."""
        return self._path.settle(self._promise)


class Promised(Compiling):
    """In the threads of the provider: Dawn has two for each device."""

    def begin(self, job: Job, layout: Any) -> Any:
        return self.promise(job, self.module(job), layout)

    def promise(self, job: Job, module: Any, layout: Any) -> Promise:
        """Begin to compile a module."""
        return Promise(self.device._fast, _request(self.device._wgpu, job, module, layout))


class PromisedAhead(Promised):
    """On NVIDIA's driver, which keeps pipelines on disk: what our device has no thread for is compiled on
    further devices first, and ours finds it on disk.

    ResNet-50's training step has 140 pipelines of 31 s processor time, of which Dawn compiles two at a time.
    All calls come from the thread that holds the device's lock, as Dawn wants it.
    """

    def __init__(self, device: Any):
        super().__init__(device)
        self._own: list[Any] = []  # promises of our device that were not settled when it was last looked
        self._ahead: list[Later] = []  # what helpers compile
        self._helpers: list[Helper] = []

    def begin(self, job: Job, layout: Any) -> Any:
        self.advance()
        module = self.module(job)
        if len(self._own) < OWN or (helper := self._free_helper()) is None:
            return self.promise(job, module, layout)
        later = Later(self, helper, job, module, layout)
        self._ahead.append(later)
        return later

    def promise(self, job: Job, module: Any, layout: Any) -> Promise:
        pipeline = super().promise(job, module, layout)
        self._own.append(pipeline)
        return pipeline

    def advance(self) -> None:
        """Begin on our device what helpers have compiled; close helpers without work."""
        self._own = [p for p in self._own if not p.done()]
        compiled = [later for later in self._ahead if later.is_ahead()]
        self._ahead = [later for later in self._ahead if later not in compiled]
        for later in compiled:
            later.take_over()
        if not self._ahead:
            self._helpers = []

    def _free_helper(self) -> "Helper | None":
        """The helper with the least work, a new one if all have enough; None if the driver opens none."""
        helper = min(self._helpers, key=lambda h: len(h.unsettled()), default=None)
        if helper is None or (len(helper.promises) >= EACH and len(self._helpers) < HELPERS):
            with suppress(DeviceError, StopIteration):
                helper = Helper(self.device)
                self._helpers.append(helper)
        return helper


class Helper:
    """A further device of the same adapter, of which only its compiler is used."""

    def __init__(self, device: Any):
        self._path = device._fast
        # an adapter opens one device: a further one needs another object of the same adapter
        raws = provider().gpu.enumerate_adapters_sync()
        self._wgpu = device.open_twin(next(raw for raw in raws if raw.info == device.adapter.raw.info))
        self._layouts: dict[tuple[int, int], Any] = {}
        self.promises: list[Promise] = []

    def unsettled(self) -> list[Promise]:
        """The pipelines that it is compiling."""
        self.promises = [p for p in self.promises if not p.done()]
        return self.promises

    def begin(self, job: Job) -> Promise:
        """Begin to compile a text."""
        module = self._path.module(self._wgpu, job.wgsl, job.label, job.trusted)
        key = job.inputs, job.outputs
        if key not in self._layouts:
            self._layouts[key] = self._path.layout(self._wgpu, *key)[1]
        promise = Promise(self._path, _request(self._wgpu, job, module, self._layouts[key]))
        self.promises.append(promise)
        return promise


class Later:
    """A pipeline that a helper compiles first."""

    def __init__(self, compiling: PromisedAhead, helper: Helper, job: Job, module: Any, layout: Any):
        self._compiling, self._made_of = compiling, (job, module, layout)
        self._ahead = helper.begin(job)
        self._own: Promise | None = None

    def is_ahead(self) -> bool:
        """Whether the helper has compiled it, or failed."""
        return self._ahead.done()

    def take_over(self) -> Promise:
        """Begin to compile it on our device."""
        own = self._own = self._own or self._compiling.promise(*self._made_of)
        return own

    def done(self) -> bool:
        """Whether `result` returns at once."""
        self._compiling.advance()
        return self._own is not None and self._own.done()

    def result(self) -> Any:
        """The pipeline, waited for."""
        if self._own is None:
            with suppress(Exception):  # what goes wrong there goes wrong on our device too, which reports it
                self._ahead.result()
            self._compiling.advance()
        return self.take_over().result()


def _request(wgpu: Any, job: Job, module: Any, layout: Any) -> Any:
    """Ask a device for a pipeline."""
    compute = {"module": module, "entry_point": "main"}
    return wgpu.create_compute_pipeline_async(label=job.label, layout=layout, compute=compute)
