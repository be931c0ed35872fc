"""Compiles kernels by Dawn's promises, and ahead on more devices if a driver caches pipelines on disk."""

import atexit
import logging
import os
from contextlib import suppress
from typing import Any
from weakref import WeakSet

from ..core.interrupts import uninterrupted
from .adapters import provider, quiet_stderr
from .compilers import Compiling, Job

OWN = 4  # concurrent pipelines of our device, which has two threads, before helpers are used
EACH = 3  # concurrent pipelines of a helper before another is opened
HELPERS = 6  # the most helpers: each has two threads, takes 70 ms to open, and uses GPU memory
OPENINGS = 18  # the most helpers that a process opens: the first plans have most of the pipelines
EXIT_SECONDS = 10.0  # the longest wait at exit for another thread that holds the device

_compiling: "WeakSet[Promised]" = WeakSet()  # all compilers of this process


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

    def is_pending(self) -> bool:
        """Whether its result has not arrived yet. Unlike `done`, it does not poll the provider."""
        return self._promise._state == "pending"

    def finish(self) -> None:
        """Wait for the pipeline, and ignore errors. The caller holds the device's lock.

        A result that nobody requests stays a bare handle, which is never released and keeps its device alive.
        """
        with suppress(Exception):
            self._promise.sync_wait()


class Promised(Compiling):
    """Compiles in the provider's threads: Dawn has two per device."""

    def __init__(self, device: Any):
        super().__init__(device)
        self._own: list[Promise] = []  # promises of our device that were pending at the last check
        self._process, self._is_closed = os.getpid(), False
        _compiling.add(self)

    def begin(self, job: Job, layout: Any) -> Any:
        if self._is_closed:
            return super().begin(job, layout)
        return self.promise(job, self.module(job), layout)

    def promise(self, job: Job, module: Any, layout: Any) -> Promise:
        """Begin to compile a module."""
        pipeline = Promise(self.device._fast, _request(self.device._wgpu, job, module, layout))
        self._own = [p for p in self._own if p.is_pending()]
        self._own.append(pipeline)
        return pipeline

    def close(self) -> None:
        """At exit, wait until nothing compiles: a driver that compiles while the process unloads it crashes.

        Exit functions that run later can still compile, in their own thread. In a forked child, which has
        no threads that compile, this does nothing.
        """
        if os.getpid() != self._process or self._is_closed:
            return
        self._is_closed = True
        lock = self.device.lock
        if not lock.acquire(timeout=EXIT_SECONDS):
            return
        try:
            with uninterrupted():
                self.finish()
        finally:
            lock.release()

    def finish(self) -> None:
        """Wait for all pipelines. The caller holds the device's lock."""
        for pipeline in self._own:
            pipeline.finish()
        self._own = []


class PromisedAhead(Promised):
    """For NVIDIA's driver, which caches pipelines on disk: when our device's threads are busy, other
    devices compile first, and ours finds the result on disk.

    ResNet-50's training step has 140 pipelines of 31 s processor time, of which Dawn compiles two at a time.
    All calls come from the thread that holds the device's lock, as Dawn requires.
    """

    def __init__(self, device: Any):
        super().__init__(device)
        self._ahead: list[Later] = []  # pipelines that helpers compile
        self._helpers: list[Helper] = []
        self._openings = OPENINGS  # helpers that may still be opened

    def begin(self, job: Job, layout: Any) -> Any:
        if self._is_closed:
            return super().begin(job, layout)
        self.advance()
        module = self.module(job)
        if len(self._own) >= OWN and (helper := self._free_helper()) is not None:
            try:
                later = Later(self, helper, job, module, layout)
            except Exception:  # the helper was lost, or is out of memory: our device compiles alone
                self._openings = 0
                return self.promise(job, module, layout)
            self._ahead.append(later)
            return later
        return self.promise(job, module, layout)

    def advance(self) -> None:
        """Begin to compile on our device the pipelines that helpers have finished; close idle helpers."""
        self._own = [p for p in self._own if not p.done()]
        compiled = [later for later in self._ahead if later.is_ahead()]
        self._ahead = [later for later in self._ahead if later not in compiled]
        for later in compiled:
            later.take_over()
        if not self._ahead:
            self._close_helpers()

    def finish(self) -> None:
        for later in self._ahead:
            later.drop_ahead()
        self._ahead = []
        self._close_helpers()
        super().finish()

    def _close_helpers(self) -> None:
        helpers, self._helpers = self._helpers, []
        for helper in helpers:
            helper.close()

    def _free_helper(self) -> "Helper | None":
        """Return the helper with the least work, or a new one if all are busy; None if there is none, and
        none can be opened."""
        helper = min(self._helpers, key=lambda h: len(h.unsettled()), default=None)
        is_full = helper is None or (len(helper.promises) >= EACH and len(self._helpers) < HELPERS)
        if not is_full or not self._openings:
            return helper
        self._openings -= 1
        try:
            opened = Helper(self.device)
        except Exception:  # the driver opens no more devices, now or later
            self._openings = 0
            return helper
        self._helpers.append(opened)
        return opened


class Helper:
    """Another device of the same adapter, used only for its compiler."""

    def __init__(self, device: Any):
        self._path = device._fast
        self._wgpu = _open_quietly(device)
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

    def close(self) -> None:
        """Wait for the pipelines, and free the device with its threads and memory. The caller holds the
        lock."""
        for promise in self.promises:
            promise.finish()
        self.promises, self._layouts = [], {}
        self._wgpu.destroy()


class Later:
    """A pipeline that a helper compiles first."""

    def __init__(self, compiling: PromisedAhead, helper: Helper, job: Job, module: Any, layout: Any):
        self._compiling, self._promise_arguments = compiling, (job, module, layout)
        self._ahead: Promise | None = helper.begin(job)
        self._own: Promise | None = None

    def is_ahead(self) -> bool:
        """Whether the helper has compiled it, or failed."""
        return self._ahead is None or self._ahead.done()

    def drop_ahead(self) -> None:
        """Wait for the helper's pipeline, and release it, because it keeps the helper alive."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            ahead.finish()

    def take_over(self) -> Promise:
        """Begin to compile it on our device."""
        self.drop_ahead()
        promise = self._own = self._own or self._compiling.promise(*self._promise_arguments)
        return promise

    def done(self) -> bool:
        """Whether `result` returns without waiting."""
        self._compiling.advance()
        return self._own is not None and self._own.done()

    def result(self) -> Any:
        """Wait for the pipeline."""
        if self._own is None:
            if self._ahead is not None:
                with suppress(Exception):  # the same error occurs on our device, which reports it
                    self._ahead.result()
            self._compiling.advance()
        return self.take_over().result()


def _request(wgpu: Any, job: Job, module: Any, layout: Any) -> Any:
    """Ask a device for a pipeline."""
    compute = {"module": module, "entry_point": "main"}
    return wgpu.create_compute_pipeline_async(label=job.label, layout=layout, compute=compute)


def _open_quietly(device: Any) -> Any:
    """Open another device. A failure prints nothing: the driver's loader and the provider's log would."""
    log = logging.getLogger(provider().__name__)
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        with uninterrupted(), quiet_stderr():
            # an adapter object opens only one device, so each helper needs a new one
            raws = provider().gpu.enumerate_adapters_sync()
            try:
                return device.open_twin(next(raw for raw in raws if raw.info == device.adapter.raw.info))
            finally:
                device._wgpu._poll()  # reports the failed device's loss now
    finally:
        log.setLevel(level)


@atexit.register
def _close_all() -> None:
    """Finish compiling before the interpreter and the driver end."""
    for compiling in list(_compiling):
        compiling.close()
