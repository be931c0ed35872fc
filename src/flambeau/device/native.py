"""The native device: implements the Protocol `Gpu` by wgpu (or Dawn), through Vulkan, Metal, DX12 or GL."""

import logging
import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any, Literal

from ..core.faults import BYTES, DECLARED, Doubts
from ..core.limits import SOFTWARE_TURNS, Limits
from ..errors import DeviceError, KernelError, OutOfMemory
from . import FORKED, dawn, lanes_of, locate_error
from .adapters import Adapter, Refused, provider
from .compilers import Ahead, Compiling, InThreads, Job, compiles_late, keeps_pipelines
from .machine import machine_of
from .memory import Fetch, Pool, Stagings
from .promised import Promised, PromisedAhead
from .protocol import Caches
from .staging import StagingBuffers
from .timestamps import Stamps
from .tuned import AdapterIdentity, choices_for

STORAGE = 0x80 | 0x04 | 0x08  # STORAGE | COPY_SRC | COPY_DST
UNIFORM = 0x40 | 0x08  # UNIFORM | COPY_DST
PARAMS_ALIGN = 256  # alignment of a dispatch's Params
PARAMS_WINDOW = 1024  # bytes of Params that a kernel binds
PIECE = 1 << 25  # bytes per write; 16 to 64 MB are equally fast on llvmpipe, 2026-11-23
GROUPS_KEPT = 4096  # the most cached bind groups: combinations of buffers keep changing
WANTED_FEATURES = ("shader-f16", "subgroup", "subgroups", "timestamp-query", dawn.MATRICES)
LIMITS = {  # the portable minimum, which all our kernels respect, and the memory limits of the adapter
    "max-compute-invocations-per-workgroup": 256,
    "max-compute-workgroup-size-x": 256,
}
PACES = {"DiscreteGPU": (1e12, 5e10), "CPU": (inf, inf)}  # see Limits.pace
KERNELS = {"software": True, "gpu": False}  # of FLAMBEAU_KERNELS: whether they are those for software
BUNDLE_BUFFERS = 64  # that a kernel binds at most, where the adapter lets it
OF_ADAPTER = {  # and WebGPU's guaranteed values, to which FLAMBEAU_LIMITS=portable reduces them
    "max-buffer-size": 256 << 20,
    "max-storage-buffer-binding-size": 128 << 20,
    "max-compute-workgroups-per-dimension": 65535,
    "max-compute-workgroup-storage-size": 16384,
    "max-storage-buffers-per-shader-stage": 8,
}

_announced: set[str] = set()


def open_device(adapter: Adapter) -> "NativeDevice":
    """Open an adapter, and report once if it is a software adapter."""
    device = NativeDevice(adapter)
    if adapter.is_software and device.name not in _announced:
        _announced.add(device.name)
        print(f"flambeau: {adapter} is a software adapter: it works, but slowly", file=sys.stderr)
    return device


class NativeDevice(Caches):
    """One GPU. Other modules know its buffers, pipelines and bind groups by numbers.

    A thread that takes memory, writes, looks up commands or submits holds `lock` from its first
    `pool.take` to the submit of the commands that use the buffers. No thread waits for the GPU while
    holding it: after a submit it releases the lock and then keeps pace. Reads wait without it.
    """

    kind: Literal["gpu"] = "gpu"
    can_wait = True

    def __init__(self, adapter: Adapter):
        super().__init__()
        self.adapter = adapter
        self.name = f"gpu:{adapter}"
        self.lock = threading.RLock()
        self.lost: str | None = None
        self._wgpu = open_wgpu(adapter)
        self._queue = self._wgpu.queue
        have = self._wgpu.limits
        software = has_software_kernels(adapter)
        turns = SOFTWARE_TURNS if adapter.is_software else Limits.turns
        self.identity = identity_of(adapter, software)
        self.limits = Limits(
            bundle_buffers=min(have["max-storage-buffers-per-shader-stage"], BUNDLE_BUFFERS),
            groups=have["max-compute-workgroups-per-dimension"],
            workgroup_memory=have["max-compute-workgroup-storage-size"],
            software=software,
            turns=turns,
            lanes=lanes_of(adapter.name),
            pace=PACES.get(adapter.type, Limits.pace),
            tuned=choices_for(self.identity),
            matrix=() if os.environ.get("FLAMBEAU_LIMITS") else dawn.units(adapter.raw),
        )
        self.checks = checks_wanted()
        self.max_binding = self._wgpu.limits["max-storage-buffer-binding-size"]
        self.pool = Pool(self)
        self._buffers: dict[int, Any] = {}
        # protects state shared by compiling threads; reentrant for signal handlers
        self._making = threading.RLock()
        # each pipeline: a Future, its Job, the bind group layout, its number of outputs, whether it checks
        # indices
        self._pipelines: list[tuple[Any, Job, Any, int, bool]] = []
        # the buffer in which kernels record faults, and the values that may depend on them
        self.faults, self.doubts = 0, Doubts()
        self._layouts: dict[tuple[int, int], tuple[Any, Any]] = {}
        self._groups: dict[tuple[int, ...], Any] = {}
        self._users: dict[int, set[tuple[int, ...]]] = {}  # buffer -> the bind groups it is in
        self._next = 1
        self._unsent = 0  # bytes written since the last send
        self.stagings = Stagings(self)
        self._fast = _fast_path(self)
        self.compilers = self._fast.compilers
        self._compiling = self._compiling_kind()(self)
        if not adapter.is_software:
            self.limits = replace(self.limits, machine=machine_of(self.identity, self))
        # waits while too many submits are pending; called after a submit, without the lock
        self.keep_pace = self._fast.keep_pace

    @property
    def paced(self) -> float:
        """The seconds that submitting threads have waited because too many submits were pending, or
        because the submit itself computed."""
        return self._fast.paced

    def after_fork(self) -> None:
        """In a forked child, make all calls raise, without waiting for the holder of the lock."""
        self.lock, self.lost = threading.RLock(), "forked"
        self.keep_pace = lambda: None
        self._fast.after_fork()
        self.__class__ = ForkedDevice  # type: ignore[assignment]

    # --- memory ---

    def alloc(self, size: int, asked: int, usage: int = STORAGE) -> int:
        """Allocate a buffer and return its number; DeviceError with the sizes if memory is exhausted."""
        if asked > self.max_binding:
            raise DeviceError(
                f"alloc({asked:,} bytes): {self.name} binds at most {self.max_binding:,} bytes a tensor:"
                " split the tensor"
            )
        size = min(size, self.max_binding)
        try:
            buffer = self._wgpu.create_buffer(size=size, usage=usage)
        except Exception as e:
            self.pool.trim()
            try:
                buffer = self._wgpu.create_buffer(size=size, usage=usage)
            except Exception:
                live = f"{self.pool.live:,} bytes are in use"
                raise OutOfMemory(
                    f"alloc({asked:,} bytes): {self.name} is out of memory, {live}: use a smaller batch"
                    f" ({_first_line(e)})",
                    reason=_first_line(e),
                ) from e
        handle, self._next = self._next, self._next + 1
        self._buffers[handle] = buffer
        return handle

    def free(self, handle: int) -> None:
        """Free the memory, and the bind groups that use it."""
        self._fast.flush()  # enqueued commands may use it
        for key in self._users.pop(handle, ()):
            self._unbind(key)
        if (buffer := self._buffers.pop(handle, None)) is not None:  # an interrupted call may be repeated
            buffer.destroy()

    def size_of(self, handle: int) -> int:
        """Return the size of a buffer in bytes."""
        return self._buffers[handle].size

    def uniform(self, size: int) -> int:
        """Allocate a buffer for the Params of a plan."""
        return self.alloc(size + PARAMS_WINDOW, size, UNIFORM)

    def write(self, handle: int, data: Any) -> None:
        """Copy host bytes to the start of a buffer; the copy is done when this returns."""
        self._fast.flush()  # enqueued commands read the earlier contents
        view, buffer = memoryview(data).cast("B"), self._buffers[handle]
        aligned = view.nbytes & ~3
        for start in range(0, aligned, PIECE):
            piece = view[start : min(start + PIECE, aligned)]
            self._queue.write_buffer(buffer, start, piece)
            self._send_writes(piece.nbytes)
        if aligned < view.nbytes:
            self._queue.write_buffer(buffer, aligned, bytes(view[aligned:]).ljust(4, b"\0"))

    def _send_writes(self, size: int) -> None:
        """Submit pending writes from time to time: until then the driver keeps a second copy of the data,
        and the GPU idles."""
        self._unsent += size
        if self._unsent >= PIECE:
            self._queue.submit([])
            self._unsent = 0

    def read(self, asked: list[tuple[int, int]]) -> list[bytes]:
        """Read several buffers after all previous submits, with one wait for each staging buffer."""
        return self.fetch(asked).wait()

    def fetch(self, asked: list[tuple[int, int]]) -> Fetch:
        """Begin to read several buffers, after all previous submits."""
        with self.lock:
            self.check()
            return Fetch(self, asked)

    def staging(self) -> StagingBuffers | None:
        """Make staging buffers for large transfers; None with Dawn, whose mappings can't be polled."""
        return StagingBuffers(self) if self._fast.polls else None

    def wait(self) -> None:
        """Wait until everything submitted is done."""
        self.check()
        self._fast.wait()

    def check(self) -> None:
        """DeviceError if the device was lost."""
        if self.lost:
            raise DeviceError(
                f"{self.name} was lost ({self.lost}): restart the process; checkpoints are not affected"
            )

    # --- kernels ---

    def _compiling_kind(self) -> type[Compiling]:
        if self._fast.has_own_threads:
            return PromisedAhead if keeps_pipelines(self.adapter) else Promised
        if self.compilers < 2:
            return Compiling
        return Ahead if compiles_late(self.adapter) else InThreads

    def open_twin(self, raw: Any) -> Any:
        """Open another device of the same adapter. `raw` is an adapter object of it."""
        return open_wgpu(self.adapter._replace(raw=raw))

    def pipeline(self, wgsl: str, label: str, inputs: int, outputs: int = 1, proven: bool = False) -> int:
        """Begin to compile WGSL that reads `inputs` buffers and then writes `outputs`; KernelError with the
        compiler's message and the text. One that checks indices binds `faults` too.

        Kernels that provably stay in their buffers get no index checks, if the provider can omit them and
        FLAMBEAU_CHECKS=full does not request them.
        """
        trusted = self.checks == "off" or (proven and not self.checks)
        checks = DECLARED in wgsl
        job = Job(wgsl, label, inputs, outputs + checks, trusted)
        with self._making:
            if checks and not self.faults:
                faults = self.alloc(BYTES, BYTES)
                self.write(faults, bytes(BYTES))
                self.faults = faults
            layout, pipeline_layout = self._layout(inputs, outputs + checks)
            with self._explain_errors(job):
                pending = self._compiling.begin(job, pipeline_layout)
            # between calls, a handler may add another
            self._pipelines += ((pending, job, layout, outputs, checks),)
            return len(self._pipelines) - 1

    def check_texts(self) -> None:
        """Wait for pending checks of texts; KernelError for the first invalid one."""
        unchecked = self._compiling.unchecked
        while unchecked:
            job, module = unchecked.pop()
            with self._explain_errors(job):
                module.result()

    @contextmanager
    def _explain_errors(self, job: Job) -> Generator[None]:
        """Convert errors of the block to a KernelError with the kernel's name and the line of its text."""
        try:
            yield
        except Exception as e:
            self.check()
            reason = f"the kernel does not compile on {self.name}: {locate_error(str(e), job.wgsl)}"
            raise KernelError(f"{job.label}: {reason}") from e

    def is_compiled(self, pipeline: int) -> bool:
        """Whether the pipeline is compiled, so that `compiled` would not wait."""
        return self._pipelines[pipeline][0].done()

    def compiled(self, pipeline: int) -> Any:
        """Wait for the provider's pipeline; KernelError if the driver rejects it."""
        pending, job = self._pipelines[pipeline][:2]
        with self._explain_errors(job):
            return pending.result()

    def outputs_of(self, pipeline: int) -> int:
        """Return the number of buffers that a pipeline writes, which are bound last."""
        return self._pipelines[pipeline][3]

    def forget_pipeline(self, pipeline: int) -> None:
        """Release a pipeline that no command will name again. Its number is not used again."""
        self._pipelines[pipeline] = None, Job("", "", 0, 0, False), None, 0, False
        self._fast.forget(pipeline)

    def _layout(self, inputs: int, outputs: int) -> tuple[Any, Any]:
        """Return the layout for pipelines with these numbers of buffers."""
        layout = self._layouts.get((inputs, outputs))
        if layout is None:
            layout = self._layouts[inputs, outputs] = self._fast.layout(self._wgpu, inputs, outputs)
        return layout

    def bind(self, pipeline: int, handles: tuple[int, ...], offset: int = 0) -> Any:
        """Return the cached bind group of these buffers for a pipeline. The first is Params, from byte
        `offset` on; a group per offset costs less than dynamic offsets."""
        _, _, layout, outputs, checks = self._pipelines[pipeline]
        if checks:
            handles, outputs = (*handles, self.faults), outputs + 1
        key = (outputs, offset, *handles)
        group = self._groups.get(key)
        if group is None:
            for i, h in enumerate(handles[-outputs:], len(handles) - outputs):
                if h in handles[1:i]:
                    raise KernelError(f"{self.name}: a kernel reads and writes buffer {h} at once")
            params, *buffers = (self._buffers[h] for h in handles)
            group = self._fast.group(layout, offset, PARAMS_WINDOW, params, buffers)
            self._groups[key] = group
            for h in handles:
                self._users.setdefault(h, set()).add(key)
            if len(self._groups) > GROUPS_KEPT:
                with suppress(RuntimeError):  # freeing a buffer here removed its groups
                    self._unbind(next(iter(self._groups)))
        return group

    def _unbind(self, key: tuple[int, ...]) -> None:
        self._groups.pop(key, None)
        for h in key[2:]:
            if users := self._users.get(h):
                users.discard(key)

    def prepare(self, *parts: Any) -> Any:
        """Prepare lists of commands (or prepared ones) for repeated submits."""
        return self._fast.prepare(*parts)

    def submit(self, *parts: Any) -> None:
        """Run flat lists of commands (or prepared ones) in one encoder, with one pass between copies, and one
        submit."""
        self.check()
        self._fast.submit(*parts)

    def enqueue(self, seconds: float, *parts: Any) -> None:
        """`submit` at once after a pause, else before the next read or write, or with the next
        commands. seconds: an estimate of the GPU's time for them."""
        self.check()
        self._fast.enqueue(seconds, *parts)

    def timestamps(self, *parts: Any) -> Stamps:
        """`submit` with a separate pass for each kernel and each run of copies; returns when the GPU began
        and ended them. DeviceError without timestamps."""
        with self.lock:
            self.check()
            self._fast.flush()
            return Stamps(self, parts)


class ForkedDevice(NativeDevice):
    """The class of devices in a forked child, where the driver's threads are missing and a wait would
    never end."""

    def check(self) -> None:
        raise DeviceError(f"{self.name}: {FORKED}")

    def _refuse(self, *_: Any, **__: Any) -> Any:
        self.check()

    alloc = enqueue = fetch = pipeline = prepare = submit = timestamps = wait = write = _refuse

    def free(self, handle: int) -> None:
        """Do nothing: the memory belongs to the parent."""


def identity_of(adapter: Adapter, software: bool) -> AdapterIdentity:
    """Return the identity for which measurements on this adapter are valid."""
    package, kernels = provider(), "software" if software else "gpu"
    return AdapterIdentity(str(adapter), adapter.driver, f"{package.__name__} {package.__version__}", kernels)


def has_software_kernels(adapter: Adapter) -> bool:
    """Whether an adapter runs the kernels for software adapters. FLAMBEAU_KERNELS overrides it for tests."""
    setting = os.environ.get("FLAMBEAU_KERNELS", "")
    if setting and setting not in KERNELS:
        raise DeviceError(
            f"FLAMBEAU_KERNELS={setting}: unknown kernels: use 'gpu' or 'software', or unset it"
        )
    return KERNELS.get(setting, adapter.is_software)


def checks_wanted() -> str:
    """Return FLAMBEAU_CHECKS: "full" adds index checks to proven kernels too, "off" to none."""
    setting = os.environ.get("FLAMBEAU_CHECKS", "")
    if setting not in ("", "full", "off"):
        raise DeviceError(f"FLAMBEAU_CHECKS={setting}: unknown checks: use 'full' or 'off', or unset it")
    return setting


def limits_of(have: dict[str, int]) -> dict[str, int]:
    """Return the limits to request from an adapter; FLAMBEAU_LIMITS=portable requests the minimum."""
    setting = os.environ.get("FLAMBEAU_LIMITS", "")
    if setting not in ("", "portable"):
        raise DeviceError(f"FLAMBEAU_LIMITS={setting}: unknown limits: use 'portable', or unset it")
    memory = {k: min(v, have[k]) if setting else have[k] for k, v in OF_ADAPTER.items()}
    return {k: min(v, have[k]) for k, v in LIMITS.items()} | memory


def open_wgpu(adapter: Adapter) -> Any:
    """Open a provider's device with the required features and limits."""
    raw = adapter.raw
    limits = limits_of(raw.limits)
    features = [f for f in WANTED_FEATURES if f in raw.features]
    options: dict[str, Any] = {
        "label": "flambeau",
        "required_features": features,
        "required_limits": limits,
    }
    logging.getLogger("wgpu").setLevel(logging.CRITICAL)  # errors come back as exceptions, once
    try:
        if provider().__name__ == "wgpudawn":
            return dawn.open_device(raw, checks_wanted() == "off", **options)
        return raw.request_device_sync(**options)
    except Exception as e:
        raise Refused(
            f"device({adapter}): the driver reports: {_first_line(e)}: run 'flambeau doctor'"
        ) from e


def _fast_path(device: NativeDevice) -> Any:
    from ..device import c_path

    return c_path.path_of(device, provider())


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


if TYPE_CHECKING:
    from .protocol import Gpu

    IS_A_DEVICE: type[Gpu] = NativeDevice
