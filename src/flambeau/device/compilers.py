"""Compiles kernels to pipelines in background threads, and ahead of time if a driver compiles late."""

import os
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import DeviceError

CHECKERS = 4  # threads that check texts: a thread checks ten while one is compiled
SCRATCH = 1024  # bytes of a buffer that a kernel binds but does not access
OFF = ("MESA_SHADER_CACHE_DISABLE", "MESA_GLSL_CACHE_DISABLE")  # the second is the first's older name


class Job(NamedTuple):
    """A kernel's text, and the numbers of buffers that it reads and writes."""

    wgsl: str
    label: str
    inputs: int
    outputs: int
    trusted: bool


class Compiling:
    """Compiles in the calling thread."""

    def __init__(self, device: Any):
        self.device = device
        self.unchecked: list[tuple[Job, Future[Any]]] = []  # pending modules of texts to check

    def begin(self, job: Job, layout: Any) -> Any:
        """Begin to compile a text. Returns a Future of the pipeline, or an object with `done` and
        `result`. It may raise the text's errors."""
        pipeline: Future[Any] = Future()
        pipeline.set_result(self.compile(job, self.module(job), layout))
        return pipeline

    def module(self, job: Job) -> Any:
        """Check a text, and create its shader module."""
        return self.device._fast.module(self.device._wgpu, job.wgsl, job.label, job.trusted)

    def compile(self, job: Job, module: Any, layout: Any) -> Any:
        """Create the pipeline of a module."""
        return create(self.device._wgpu, job, module, layout)


class InThreads(Compiling):
    """Compiles in threads: drivers compile and check texts without the GIL.

    Our own text is checked while the next one is rendered. Separate threads check and compile, so that
    all texts are checked early.
    """

    def __init__(self, device: Any):
        super().__init__(device)
        self.executor = ThreadPoolExecutor(device.compilers, "compile")
        self.checkers = ThreadPoolExecutor(min(device.compilers, CHECKERS), "check")

    def begin(self, job: Job, layout: Any) -> Any:
        if not job.trusted:
            return self.executor.submit(self.compile, job, self.module(job), layout)
        module = self.checkers.submit(self.module, job)
        self.unchecked.append((job, module))
        return self.executor.submit(self._compile_checked, job, module, layout)

    def _compile_checked(self, job: Job, module: "Future[Any]", layout: Any) -> Any:
        return self.compile(job, module.result(), layout)


class Ahead(InThreads):
    """Compiles ahead for llvmpipe, which compiles a kernel at its first dispatch, in the single thread of
    its device, and caches the result on disk.

    Each thread dispatches on its own device (the first on ours). Our device finds their results on disk.
    """

    def __init__(self, device: Any):
        super().__init__(device)
        self._of_thread = threading.local()
        self._free = [device._wgpu]

    def compile(self, job: Job, module: Any, layout: Any) -> Any:
        """Create the pipeline of a module, and make the driver compile it."""
        provider, thread_device = self.device._wgpu, self._own_device()
        if thread_device is not provider:
            compiled = self.device._fast.module(thread_device, job.wgsl, job.label, job.trusted)
            own_layout = self.device._fast.layout(thread_device, job.inputs, job.outputs)[1]
            self._dispatch(thread_device, job, create(thread_device, job, compiled, own_layout))
        pipeline = create(provider, job, module, layout)
        if thread_device is provider:
            self._dispatch(provider, job, pipeline)
        return pipeline

    def _own_device(self) -> Any:
        """Return this thread's device; ours if the driver opens no more."""
        if not hasattr(self._of_thread, "wgpu"):
            self._of_thread.wgpu = self.device._wgpu
            try:
                self._free.pop()
            except IndexError:
                with suppress(DeviceError):
                    self._of_thread.wgpu = self.device.open_twin(self.device.adapter.raw)
        return self._of_thread.wgpu

    def _dispatch(self, wgpu: Any, job: Job, pipeline: Any) -> None:
        """Dispatch no workgroups, and wait until that is done."""
        kinds = [0x40, *[0x80] * (job.inputs + job.outputs)]  # UNIFORM, STORAGE
        buffers = [wgpu.create_buffer(size=SCRATCH, usage=kind) for kind in kinds]
        entries = [{"binding": i, "resource": {"buffer": b}} for i, b in enumerate(buffers)]
        group = wgpu.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)
        encoder = wgpu.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        compute.dispatch_workgroups(0, 0, 0)
        compute.end()
        self.device._fast.finish(wgpu, encoder.finish())


def create(wgpu: Any, job: Job, module: Any, layout: Any) -> Any:
    """Create a device's pipeline of a module."""
    return wgpu.create_compute_pipeline(
        label=job.label, layout=layout, compute={"module": module, "entry_point": "main"}
    )


def compiles_late(adapter: Any) -> bool:
    """Whether this is llvmpipe through Vulkan with a disk cache."""
    if adapter.backend != "Vulkan" or not adapter.name.startswith("llvmpipe"):
        return False
    setting = os.environ.get
    if any(setting(name, "").lower() in ("1", "true", "yes") for name in OFF):
        return False
    return _is_writable(setting("MESA_SHADER_CACHE_DIR") or setting("MESA_GLSL_CACHE_DIR"))


def keeps_pipelines(adapter: Any) -> bool:
    """Whether this is NVIDIA's Vulkan driver on Linux with a disk cache, which all devices of the process
    share."""
    if adapter.backend != "Vulkan" or not adapter.name.startswith("NVIDIA") or sys.platform != "linux":
        return False
    setting = os.environ.get
    is_on = setting("__GL_SHADER_DISK_CACHE", "1").lower() not in ("0", "false", "no")
    return is_on and _is_writable(setting("__GL_SHADER_DISK_CACHE_PATH"))


def _is_writable(folder: str | None) -> bool:
    """Whether files can be written to a folder, which need not exist yet; without a name, to the user's
    cache."""
    folder = folder or os.environ.get("XDG_CACHE_HOME")
    try:
        path = Path(folder) if folder else Path.home() / ".cache"
    except RuntimeError:  # nobody's home
        return False
    existing = next((p for p in (path, *path.parents) if p.exists()), path)
    return existing.is_dir() and os.access(existing, os.W_OK)
