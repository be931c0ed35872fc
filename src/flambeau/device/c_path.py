"""The hot path: encodes and submits commands by the C functions of wgpu-native or Dawn."""

import os
import time
from collections import deque
from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from threading import RLock
from typing import Any

from ..core.commands import (
    BUFFERS,
    BYTES,
    DISPATCH,
    FROM,
    PIPELINE,
    TO,
    commands,
    flat,
)
from ..core.events import stage
from ..core.interrupts import uninterrupted
from ..core.node import is_shared
from .forks import keep

SPIN_SECONDS = 100e-6  # a blocking wait wakes up ~30 us late: spin first
NAPS = 50e-6, 1e-3  # the first and the longest seconds between two polls while other threads submit
COPY_STEP = 3  # fields of a copy's step; a dispatch's step has more
AT_ONCE = 2e-3  # seconds: a submit that takes longer computed synchronously, as on software adapters
IN_FLIGHT = 8  # the most pending submits: the submitting thread waits for the oldest
WAITING = 16  # the most enqueued calls in a common submit
ENOUGH = 50e-6  # seconds of a GPU's work for which a submit is worth its host time
SOON = 100e-6  # seconds between two enqueued calls of a loop; after a longer pause nothing waits


def path_of(device: Any, provider: Any) -> Any:
    """Return the hot path for the provider's C functions."""
    if provider.__name__ == "wgpu":
        native: Any = import_module("wgpu.backends.wgpu_native")
        return WgpuPath(device, native.ffi, native.lib, native._api)
    dawn: Any = import_module("wgpudawn.backends.dawn")
    return DawnPath(device, dawn._ffi.ffi, dawn._ffi.lib, dawn._api)


class Prepared:
    """Commands with their objects looked up (None: at the first submit), to be encoded repeatedly."""

    def __init__(self, steps: list[tuple[Any, ...]] | None, parts: tuple[Any, ...]):
        self.steps, self.parts = steps, parts

    @property
    def words(self) -> list[int]:
        return flat(self.parts)


class CPath:
    """Encodes commands by a provider's C functions: 1 to 3 us per dispatch, where its Python API takes 4
    to 6."""

    polls = False  # whether threads can wait for mappings while others submit

    def __init__(self, device: Any, ffi: Any, lib: Any, api: Any):
        self.device, self.ffi, self.lib, self.api = device, ffi, lib, api
        self._checked: Any = api.libf  # raises the provider's errors
        self._compiled: dict[int, Any] = {}  # pipelines that the device holds
        self._group_type = ffi.typeof("WGPUBindGroupDescriptor *")
        self._entries_type = ffi.typeof("WGPUBindGroupEntry[]")
        self.handle_of_device, self._queue = device._wgpu._internal, device._queue._internal
        self.encoder_desc = ffi.new("WGPUCommandEncoderDescriptor *")
        self.pass_desc = ffi.new("WGPUComputePassDescriptor *")
        self.buffer_desc = ffi.new("WGPUCommandBufferDescriptor *")
        self._marks: deque[Any] = deque()  # marks of pending submits
        # held by the thread that waits for the oldest; a signal handler may interrupt it
        self._pacing = RLock()
        self.paced = 0.0  # seconds of such waits, and of synchronous submits
        self._waiting: list[Prepared] = []  # enqueued commands, in order
        self._calls = 0  # of `enqueue` since the last submit of them
        self._seconds = 0.0  # estimated for the GPU's work of these calls
        self._enqueued = 0.0  # time of the last `enqueue`
        self.finish_encoder = lib.wgpuCommandEncoderFinish

    def submission(self, command: Any) -> Iterator[Any]:
        """Return an iterator that submits a command buffer when it is consumed, and yields its mark."""
        raise NotImplementedError

    def sent(self, mark: Any, began: float) -> None:
        """Note a submit, so that `keep_pace` can wait for it. began: when it began."""
        raise NotImplementedError

    def keep_pace(self) -> None:
        """Wait while too many submits are pending; other threads may submit meanwhile."""
        raise NotImplementedError

    def after_fork(self) -> None:
        """In a forked child, release none of the provider's objects: Dawn would wait for pending compiles,
        whose threads are only in the parent, so the child would never end."""
        self.api.GPUObjectBase._release = keep

    def naps(self) -> Iterator[None]:
        """Yield growing pauses between polls. A wait inside the provider would keep other threads from
        submitting."""
        nap, longest = NAPS
        while True:
            time.sleep(nap)
            nap = min(1.2 * nap, longest)
            yield

    @staticmethod
    def layout(wgpu: Any, inputs: int, outputs: int) -> tuple[Any, Any]:
        """Make the layouts of a bind group (Params, inputs, outputs) and of its pipeline."""
        kinds = ["uniform", *["read-only-storage"] * inputs, *["storage"] * outputs]
        entries = [{"binding": i, "visibility": 4, "buffer": {"type": k}} for i, k in enumerate(kinds)]
        layout = wgpu.create_bind_group_layout(entries=entries)
        return layout, wgpu.create_pipeline_layout(bind_group_layouts=[layout])

    def group(self, layout: Any, offset: int, window: int, params: Any, buffers: list[Any]) -> Any:
        """A bind group of `window` bytes of Params from `offset` on, and of whole buffers."""
        desc = self.ffi.new(self._group_type)
        entries = self.ffi.new(self._entries_type, len(buffers) + 1)
        first = entries[0]
        first.buffer, first.offset, first.size = params._internal, offset, window
        for i, b in enumerate(buffers, 1):
            entry = entries[i]
            entry.binding, entry.buffer, entry.size = i, b._internal, b.size
        desc.layout, desc.entries, desc.entryCount = layout._internal, entries, len(entries)
        handle = self._checked.wgpuDeviceCreateBindGroup(self.handle_of_device, desc)
        return self.api.GPUBindGroup("", handle, self.device._wgpu)

    def prepare(self, *parts: Any) -> "Prepared":
        """Prepare commands for replay, as far as their pipelines are compiled."""
        steps = [prepared for part in parts if (prepared := self._ready(part)) is not None]
        return Prepared(list(chain(*steps)) if len(steps) == len(parts) else None, parts)

    def _ready(self, part: Any) -> list[tuple[Any, ...]] | None:
        """Return the steps of commands; None while their pipelines compile."""
        if isinstance(part, Prepared) and part.steps is not None:
            return part.steps
        words = flat([part])
        spans, compiled, is_compiled = list(commands(words)), self._compiled, self.device.is_compiled
        used = {words[i + PIPELINE] for i, _ in spans if words[i] == DISPATCH}
        ready = all([pipeline in compiled or is_compiled(pipeline) for pipeline in used])
        return self._look_up(words, spans) if ready else None

    def _look_up(self, words: list[int], spans: list[tuple[int, int]]) -> list[tuple[Any, ...]]:
        """Look up the steps of the commands in `spans`. It reads words by position, because it runs for
        every command of a new graph."""
        compiled = self._compiled
        steps: list[tuple[Any, ...]] = []
        bind, buffers = self.device.bind, self.device._buffers
        for i, end in spans:
            if words[i] == DISPATCH:
                pipeline, params, offset, x, y, z, _ = words[i + PIPELINE : i + BUFFERS]
                group = bind(pipeline, (params, *words[i + BUFFERS : end]), offset)
                raw = compiled.get(pipeline)
                if raw is None:
                    raw = compiled[pipeline] = self.device.compiled(pipeline)._internal
                steps.append((raw, group._internal, x, y, z, group))
            else:
                source, target = buffers[words[i + FROM]], buffers[words[i + TO]]
                steps.append((source._internal, target._internal, words[i + BYTES]))
        return steps

    def keep_bounds(self) -> bool:
        """Check indices in trusted texts too, and only loops without an end are not looked for. False, and
        nothing changes, if the provider has no such choice."""
        return False

    def forget(self, pipeline: int) -> None:
        """Release a pipeline that no command will name again."""
        self._compiled.pop(pipeline, None)

    def enqueue(self, seconds: float, *parts: Any) -> None:
        """Submit commands at once after a pause, and in loops of short calls up to 16 calls at a time, or as
        many as take the GPU 50 us. seconds: an estimate of the GPU's time for these commands.

        A submit costs the host as much as encoding five kernels. `flush` runs before any operation that could
        observe the delay: another submit, a write, a read, a wait, and the release of a buffer.
        """
        ready = [part if isinstance(part, Prepared) else self.prepare(part) for part in parts]
        if any([part.steps is None for part in ready]):
            return self.submit(*ready)
        self._calls += 1
        self._seconds += seconds
        self._waiting += ready
        before, self._enqueued = self._enqueued, time.perf_counter()
        if self._calls >= WAITING or self._seconds >= ENOUGH or self._enqueued - before > SOON:
            self.flush()

    def flush(self) -> None:
        """Submit the enqueued commands. An exception leaves them enqueued."""
        waiting = self._waiting
        if not waiting:
            return
        parts, encoder, sent = list(waiting), Encoder(self), list[Any]()
        rest: list[Prepared] = []  # what waits afterwards
        add, command = sent.extend, None
        began = time.perf_counter()
        try:
            for part in parts:
                encoder.play(part.steps or [])
            command = encoder.finish()
            submission, rest = self.submission(command), waiting[len(parts) :]
            # A signal's handler may have flushed them meanwhile. None runs between these statements.
            if self._waiting is waiting:
                self._waiting = rest
                add(submission)
                self.sent(sent[0], began)
        except BaseException:
            if not sent and self._waiting is rest:
                self._waiting = [*parts, *rest]
            raise
        finally:
            self._calls, self._seconds = 0, 0.0
            if command is not None:
                self.lib.wgpuCommandBufferRelease(command)
            encoder.drop()

    def submit(self, *parts: Any) -> None:
        """Encode lists of commands, or prepared ones, and submit once, or several times while kernels
        compile, so that earlier commands run meanwhile."""
        if self._waiting:
            self.flush()
        encoder = Encoder(self)
        try:
            for part in parts:
                if not part:
                    continue
                ready = part if isinstance(part, Prepared) else self.prepare(part)
                if ready.steps is None:
                    ready.steps = self._play_as_compiled(encoder, ready.words)
                else:
                    encoder.play(ready.steps)
            encoder.flush()
        finally:
            encoder.drop()

    def gather(self, copies: list[tuple[Any, int, int]], into: Any) -> None:
        """Submit copies from the starts of buffers into one buffer: (buffer, offset, bytes)."""
        self.carry([(buffer, 0, into, offset, n) for buffer, offset, n in copies])

    def carry(self, copies: list[tuple[Any, int, Any, int, int]], counts: bool = True) -> None:
        """Submit copies between buffers: (source, its offset, target, its offset, bytes). counts: whether
        `keep_pace` waits for them; else the caller waits for the staging buffers."""
        self.flush()
        encoder = Encoder(self)
        try:
            for source, first, target, offset, n in copies:
                self.lib.wgpuCommandEncoderCopyBufferToBuffer(
                    encoder.begun(), source._internal, first, target._internal, offset, n
                )
            encoder.flush(counts)
        finally:
            encoder.drop()

    def _play_as_compiled(self, encoder: "Encoder", words: list[int]) -> list[tuple[Any, ...]]:
        """Encode commands, some of whose pipelines are still compiling; returns their steps."""
        device, steps = self.device, list[tuple[Any, ...]]()
        begin, spans = 0, list(commands(words))
        device.check_texts()  # an invalid kernel is reported before anything runs
        for end, (i, _) in enumerate(spans):
            pipeline = words[i + PIPELINE]
            if words[i] == DISPATCH and not device.is_compiled(pipeline):
                steps += encoder.play(self._look_up(words, spans[begin:end]))
                begin = end
                encoder.flush()
                with stage("compile"):
                    self._compiled[pipeline] = device.compiled(pipeline)._internal
        return steps + encoder.play(self._look_up(words, spans[begin:]))


class Encoder:
    """Encodes commands for one or several submits.

    Each has separate state, so an exception at any step, or a nested submit (a signal handler may read a
    tensor), does not affect the next one.
    """

    __slots__ = ("_compute", "_encoder", "_group", "_pipeline", "path")

    def __init__(self, path: CPath):
        self.path = path
        self._encoder: Any = None  # None where nothing is encoded yet
        self._compute: Any = None  # the pass that is open
        self._pipeline: Any = None  # set in the pass, and the bind group
        self._group: Any = None

    def begun(self) -> Any:
        """Return the provider's encoder."""
        if self._encoder is None:
            path = self.path
            self._encoder = path.lib.wgpuDeviceCreateCommandEncoder(path.handle_of_device, path.encoder_desc)
        return self._encoder

    def play(self, steps: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Encode steps; returns them."""
        lib, none, encoder = self.path.lib, self.path.ffi.NULL, self.begun()
        set_pipeline, set_group = (
            lib.wgpuComputePassEncoderSetPipeline,
            lib.wgpuComputePassEncoderSetBindGroup,
        )
        dispatch = lib.wgpuComputePassEncoderDispatchWorkgroups
        compute, current, bound = self._compute, self._pipeline, self._group
        for step in steps:
            if len(step) > COPY_STEP:
                raw, group, x, y, z, _ = step
                if compute is None:
                    compute = lib.wgpuCommandEncoderBeginComputePass(encoder, self.path.pass_desc)
                    self._compute, current, bound = compute, None, None
                if raw is not current:
                    set_pipeline(compute, raw)
                    current, bound = raw, None  # a layout of another pipeline may unbind the group
                if group is not bound:
                    set_group(compute, 0, group, 0, none)
                    bound = group
                dispatch(compute, x, y, z)
            else:
                self._end()
                compute = None
                lib.wgpuCommandEncoderCopyBufferToBuffer(encoder, step[0], 0, step[1], 0, step[2])
        self._pipeline, self._group = current, bound
        return steps

    def flush(self, counts: bool = True) -> None:
        """Submit the encoded commands, if there are any. counts: whether `keep_pace` waits for them."""
        if self._encoder is None:
            return
        path, command = self.path, self.finish()
        try:
            began = time.perf_counter()
            mark = next(path.submission(command))
            if counts:
                path.sent(mark, began)
        finally:
            path.lib.wgpuCommandBufferRelease(command)
            self.drop()

    def finish(self) -> Any:
        """Finish the encoded commands as a command buffer."""
        self._end()
        return self.path.finish_encoder(self.begun(), self.path.buffer_desc)

    def _end(self) -> None:
        if self._compute is not None:
            compute, self._compute = self._compute, None
            self.path.lib.wgpuComputePassEncoderEnd(compute)
            self.path.lib.wgpuComputePassEncoderRelease(compute)

    def drop(self) -> None:
        """Release commands that are not submitted."""
        compute, encoder = self._compute, self._encoder
        self._compute = self._encoder = None
        if compute is not None:
            self.path.lib.wgpuComputePassEncoderRelease(compute)
        if encoder is not None:
            self.path.lib.wgpuCommandEncoderRelease(encoder)


class WgpuPath(CPath):
    """Encodes commands by wgpu-native's C functions."""

    polls = True
    compilers = min(os.cpu_count() or 1, 16)
    has_own_threads = False

    def __init__(self, device: Any, ffi: Any, lib: Any, api: Any):
        super().__init__(device, ffi, lib, api)
        self.tick = float(lib.wgpuQueueGetTimestampPeriod(self._queue))
        self.checks_of_trusted = lib.WGPUShaderRuntimeChecks_None
        self._mappings: dict[int, WgpuMapping] = {}
        self._mappings_made, self._pointer, self._number = 0, ffi.typeof("void *"), ffi.typeof("uintptr_t")
        self._watch_loss()
        self._callback = ffi.callback(
            "void(WGPUMapAsyncStatus, WGPUStringView, void *, void *)",
            self._on_mapped,
            onerror=self._on_interrupt,
        )

    def _on_mapped(self, status: Any, _message: Any, number: Any, _b: Any) -> None:
        self._mappings.pop(int(self.ffi.cast(self._number, number))).status = status

    def _on_interrupt(self, _kind: Any, error: Any, traceback: Any) -> None:
        """Store an error (a Ctrl-C) that ends `_on_mapped`. The wait for the buffer raises it."""
        frame_names = traceback.tb_frame.f_locals
        mapping = self._mappings.pop(int(self.ffi.cast(self._number, frame_names["number"])), None)
        if mapping is not None:
            mapping.error, mapping.status = error, frame_names["status"]

    def _watch_loss(self) -> None:
        """Detect a lost device by wgpu's log, the only place that reports it."""
        import logging

        device = self.device

        class Listen(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                text = record.getMessage()
                if "was lost" in text:
                    device.lost = text.strip().splitlines()[-1][:200]

        logger = logging.getLogger("wgpu")
        logger.addHandler(Listen())
        logger.propagate = False

    def keep_bounds(self) -> bool:
        self.checks_of_trusted = self.lib.WGPUShaderRuntimeChecks_BoundsChecks
        return True

    def module(self, wgpu: Any, wgsl: str, label: str, trusted: bool) -> Any:
        """Create a shader module; if `trusted`, without checks of indices and loops.

        With checks naga clamps each index into workgroup memory, which costs a matmul a quarter of its speed.
        """
        if not trusted:
            return wgpu.create_shader_module(label=label, code=wgsl)
        ffi, texts = self.ffi, (wgsl.encode(), label.encode())
        source = ffi.new("WGPUShaderSourceWGSL *")
        source.chain.sType = self.lib.WGPUSType_ShaderSourceWGSL
        descriptor = ffi.new("WGPUShaderModuleDescriptor *")
        held = [ffi.from_buffer(text) for text in texts]
        for view, data, text in zip((source.code, descriptor.label), held, texts, strict=True):
            view.data, view.length = data, len(text)
        descriptor.nextInChain = ffi.cast("WGPUChainedStruct *", source)
        checks = self.checks_of_trusted
        handle = self._checked.wgpuDeviceCreateShaderModuleTrusted(wgpu._internal, descriptor, checks)
        return self.api.GPUShaderModule(label, handle, wgpu)

    def submission(self, command: Any) -> Iterator[Any]:
        return map(self.lib.wgpuQueueSubmitForIndex, (self._queue,), (1,), ([command],))

    def sent(self, mark: Any, began: float) -> None:
        self._marks.append(mark)
        if (took := time.perf_counter() - began) > AT_ONCE:
            self.paced += took

    def keep_pace(self) -> None:
        if len(self._marks) > IN_FLIGHT:
            began = time.perf_counter()
            with self._pacing:
                while len(self._marks) > IN_FLIGHT:
                    oldest = self.ffi.new("WGPUSubmissionIndex *", self._marks.popleft())
                    self.lib.wgpuDevicePoll(self.handle_of_device, True, oldest)  # immediately if it is done
            self.paced += time.perf_counter() - began

    def finish(self, wgpu: Any, commands: Any) -> None:
        """Submit to a device, and wait until it is done."""
        raw, command = wgpu._internal, self.ffi.new("WGPUCommandBuffer[1]", [commands._internal])
        mark = self.ffi.new("WGPUSubmissionIndex *")
        mark[0] = self.lib.wgpuQueueSubmitForIndex(wgpu.queue._internal, 1, command)
        self.lib.wgpuDevicePoll(raw, True, mark)

    def map(self, buffer: Any, total: int, writes: bool = False) -> "WgpuMapping":
        """Request the mapping of a buffer, with our own callback. writes: map it to write to it."""
        mapping = WgpuMapping(self, buffer, total, writes)
        number, self._mappings_made = self._mappings_made, self._mappings_made + 1
        self._mappings[number] = mapping
        info = self.ffi.new("WGPUBufferMapCallbackInfo *")
        info.mode, info.callback = self.lib.WGPUCallbackMode_AllowProcessEvents, self._callback
        info.userdata1 = self.ffi.cast(self._pointer, number)
        mode = self.lib.WGPUMapMode_Write if writes else self.lib.WGPUMapMode_Read
        self.lib.wgpuBufferMapAsync(buffer._internal, mode, 0, total, info[0])
        return mapping

    def poll(self, wait: bool) -> None:
        """Run the callbacks of finished work; with `wait`, after all submitted work."""
        self.lib.wgpuDevicePoll(self.handle_of_device, wait, self.ffi.NULL)

    def wait(self) -> None:
        with self.device.lock:
            self.flush()
        count = len(self._marks)
        self.poll(True)
        with self._pacing:
            for _ in range(min(count, len(self._marks))):
                self._marks.popleft()


class WgpuMapping:
    """A pending mapping of a buffer, polled in the calling thread."""

    def __init__(self, path: WgpuPath, buffer: Any, total: int, writes: bool = False):
        self.path, self.buffer, self.total, self.writes = path, buffer, total, writes
        self.status: int | None = None
        self.error: BaseException | None = None  # an error of the callback

    def is_done(self) -> bool:
        if self.status is None:
            self.path.poll(False)
        return self.status is not None or bool(self.path.device.lost)

    def wait(self) -> None:
        """Spin for a while, because a blocked thread wakes up late, then block. Poll instead if other
        threads submit."""
        path, device, until = self.path, self.path.device, time.perf_counter() + SPIN_SECONDS
        naps = path.naps()
        while self.status is None and not device.lost:
            if time.perf_counter() > until and is_shared():
                next(naps)
                path.poll(False)
            else:
                path.poll(time.perf_counter() > until)
        device.check()
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        if self.status != self.path.lib.WGPUMapAsyncStatus_Success:
            device.lost = f"mapping failed with status {self.status}"
            device.check()

    def view(self) -> memoryview:
        lib, ffi = self.path.lib, self.path.ffi
        get = lib.wgpuBufferGetMappedRange if self.writes else lib.wgpuBufferGetConstMappedRange
        pointer = get(self.buffer._internal, 0, self.total)
        return memoryview(ffi.buffer(pointer, self.total))

    def end(self) -> None:
        self.path.lib.wgpuBufferUnmap(self.buffer._internal)


class DawnPath(CPath):
    """Encodes commands by Dawn's C functions; other calls use its Python API."""

    compilers = 2  # the number of Dawn's compiling threads; only one thread of ours may use a device
    has_own_threads = True
    tick = 1.0  # ns of one tick of the GPU's clock

    def __init__(self, device: Any, ffi: Any, lib: Any, api: Any):
        super().__init__(device, ffi, lib, api)
        self.finish_encoder = self._checked.wgpuCommandEncoderFinish
        self._submits = 0

    def module(self, wgpu: Any, wgsl: str, label: str, trusted: bool) -> Any:
        """Create a shader module. Dawn can omit checks of indices only for a complete device."""
        return wgpu.create_shader_module(label=label, code=wgsl)

    def submission(self, command: Any) -> Iterator[Any]:
        return map(self._checked.wgpuQueueSubmit, (self._queue,), (1,), ([command],))

    def sent(self, mark: Any, began: float) -> None:
        self._submits += 1
        if self._submits % IN_FLIGHT == 0:  # a mark is slow: up to twice as many submits may be pending
            self._marks.append(self.device._queue.on_submitted_work_done_async())

    def keep_pace(self) -> None:
        if len(self._marks) <= 1:
            return
        began = time.perf_counter()
        while len(self._marks) > 1:
            with self.device.lock:
                mark = self._marks.popleft() if len(self._marks) > 1 else None
            if mark is not None:
                self.settle(mark)
        self.paced += time.perf_counter() - began

    def is_settled(self, promise: Any) -> bool:
        """Whether `settle` returns at once."""
        if promise._state == "pending":
            with self.device.lock, uninterrupted():
                self.device._wgpu._poll()
        return promise._state != "pending"

    def settle(self, promise: Any) -> Any:
        """Wait for the value of a promise.

        A Dawn device serves one thread at a time (a thread-safe one locks in each call: 1 to 3 us more per
        dispatch on an H200), so a thread polls if others submit, and else waits with the lock.

        Callbacks that Dawn calls drop exceptions, so Ctrl-C is delayed until they return.
        """
        device = self.device
        device.check()
        naps = self.naps()
        while is_shared() and promise._state == "pending":
            with device.lock, uninterrupted():
                device._wgpu._poll()
            next(naps)
        with device.lock, uninterrupted():
            return promise.sync_wait()

    def map(self, buffer: Any, total: int) -> "DawnMapping":
        return DawnMapping(self, buffer, total)

    def wait(self) -> None:
        """Wait for submitted work. Mapping a buffer would not, because Dawn maps unused buffers at once."""
        with self.device.lock:
            self.flush()
            count = len(self._marks)
            done = self.device._queue.on_submitted_work_done_async()
        self.settle(done)
        with self.device.lock:
            for _ in range(min(count, len(self._marks))):
                self._marks.popleft()


class DawnMapping:
    """A buffer to read after the submitted work is done."""

    def __init__(self, path: DawnPath, buffer: Any, total: int):
        self.path, self.buffer, self.total = path, buffer, total
        self.promise = buffer.map_async("READ", 0, total)

    def is_done(self) -> bool:
        """Return False: Dawn's Python API can't poll, so awaiting a value blocks."""
        return True

    def wait(self) -> None:
        self.path.settle(self.promise)

    def view(self) -> memoryview:
        with self.path.device.lock:
            return memoryview(self.buffer.read_mapped(0, self.total, copy=False)).cast("B")

    def end(self) -> None:
        with self.path.device.lock:
            self.buffer.unmap()
