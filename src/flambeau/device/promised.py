"""Compiles kernels by Dawn's promises, and ahead on more devices if a driver caches pipelines on disk."""

from contextlib import suppress
from typing import Any

from ..errors import DeviceError
from .adapters import provider
from .compilers import Compiling, Job

OWN = 4  # concurrent pipelines of our device, which has two threads, before helpers are used
EACH = 3  # concurrent pipelines of a helper before another is opened
HELPERS = 6  # the most helpers: each has two threads, takes 70 ms to open, and uses GPU memory


class Promise:
    """A pipeline that the provider compiles, with the methods of a Future that are used."""

    def __init__(self, path: Any, promise: Any):
        self._path, self._promise = path, promise

    def done(self) -> bool:
        """Whether `result` returns without waiting."""
        return self._path.is_settled(self._promise)

    def result(self) -> Any:
        """Wait for the pipeline."""
        return self._path.settle(self._promise)


class Promised(Compiling):
    """Compiles in the provider's threads: Dawn has two per device."""

    def begin(self, job: Job, layout: Any) -> Any:
        return self.promise(job, self.module(job), layout)

    def promise(self, job: Job, module: Any, layout: Any) -> Promise:
        """Begin to compile a module."""
        return Promise(self.device._fast, _request(self.device._wgpu, job, module, layout))


class PromisedAhead(Promised):
    """For NVIDIA's driver, which caches pipelines on disk: when our device's threads are busy, other
    devices compile first, and ours finds the result on disk.

    ResNet-50's training step has 140 pipelines of 31 s processor time, of which Dawn compiles two at a time.
    All calls come from the thread that holds the device's lock, as Dawn requires.
    """

    def __init__(self, device: Any):
        super().__init__(device)
        self._own: list[Any] = []  # promises of our device that were pending at the last check
        self._ahead: list[Later] = []  # pipelines that helpers compile
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
        """Begin to compile on our device the pipelines that helpers have finished; close idle helpers."""
        self._own = [p for p in self._own if not p.done()]
        compiled = [later for later in self._ahead if later.is_ahead()]
        self._ahead = [later for later in self._ahead if later not in compiled]
        for later in compiled:
            later.take_over()
        if not self._ahead:
            self._helpers = []

    def _free_helper(self) -> "Helper | None":
        """Return the helper with the least work, or a new one if all are busy; None if the driver opens
        no more."""
        helper = min(self._helpers, key=lambda h: len(h.unsettled()), default=None)
        if helper is None or (len(helper.promises) >= EACH and len(self._helpers) < HELPERS):
            with suppress(DeviceError, StopIteration):
                helper = Helper(self.device)
                self._helpers.append(helper)
        return helper


class Helper:
    """Another device of the same adapter, used only for its compiler."""

    def __init__(self, device: Any):
        self._path = device._fast
        # an adapter object opens only one device, so each helper needs a new one
        raws = provider().gpu.enumerate_adapters_sync()
        self._wgpu = device.open_twin(next(raw for raw in raws if raw.info == device.adapter.raw.info))
        self._layouts: dict[tuple[int, int], Any] = {}
        self.promises: list[Promise] = []

    def unsettled(self) -> list[Promise]:
        """Return the pipelines that it is compiling."""
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
        """Whether `result` returns without waiting."""
        self._compiling.advance()
        return self._own is not None and self._own.done()

    def result(self) -> Any:
        """Wait for the pipeline."""
        if self._own is None:
            with suppress(Exception):  # the same error occurs on our device, which reports it
                self._ahead.result()
            self._compiling.advance()
        return self.take_over().result()


def _request(wgpu: Any, job: Job, module: Any, layout: Any) -> Any:
    """Ask a device for a pipeline."""
    compute = {"module": module, "entry_point": "main"}
    return wgpu.create_compute_pipeline_async(label=job.label, layout=layout, compute=compute)
