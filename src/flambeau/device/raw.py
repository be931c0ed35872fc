"""The hot calls: commands become encoded passes, straight on wgpu's C API, or on the public API elsewhere."""

import re
import time
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from ..commands import DISPATCH

SPIN_SECONDS = 100e-6  # a blocking wait wakes up ~30 us late: spin first


def path_of(device: Any, provider: Any) -> Any:
    """The fastest way that the provider offers."""
    if provider.__name__ == "wgpu":
        from wgpu.backends import wgpu_native

        return WgpuPath(device, wgpu_native.ffi, wgpu_native.lib)
    return PublicPath(device)


def name_types_quickly(ffi: Any) -> None:
    """Let cffi find types by name without the rest of wgpu's header.

    It parses a type's text behind a line for each of the header's 400 names: 5 to 10 ms a type, and opening a
    device and compiling a kernel take 40 of them. Only the names that are in the text are needed.
    """
    parser: Any = getattr(ffi, "_parser", None)
    kinds = ("typedef", "struct", "enum", "union")
    if not hasattr(parser, "_declarations"):  # cffi's own affair: another version may have it otherwise
        return
    parse = parser.parse_type

    def parse_type(text: str) -> Any:
        every = parser._declarations
        named = [f"{kind} {word}" for word in re.findall(r"\w+", text) for kind in kinds]
        parser._declarations = {key: every[key] for key in named if key in every}
        try:
            return parse(text)
        finally:
            parser._declarations = every

    parser.parse_type = parse_type


def commands_of(words) -> list[tuple]:
    """Split the flat list: (pipeline, params, offset, grid, key) for a dispatch, (from, to, bytes) for a
    copy."""
    out, i, n = [], 0, len(words)
    while i < n:
        if words[i] == DISPATCH:
            pipeline, params, offset, x, y, z, count = words[i + 1 : i + 8]
            key = (params, *words[i + 8 : i + 8 + count])
            out.append((pipeline, key, offset, x, y, z))
            i += 8 + count
        else:
            out.append(tuple(words[i + 1 : i + 4]))
            i += 4
    return out


def flat(parts: Any) -> list[int]:
    """Lists of commands, or what `prepare` made of them, as one list."""
    return [word for part in parts for word in getattr(part, "words", part)]


def spans_of(words: list[int]) -> Iterator[list[tuple]]:
    """The commands in groups that are timed together: a dispatch alone, copies with those beside them."""
    for is_dispatch, group in groupby(commands_of(words), lambda c: len(c) == 6):
        if is_dispatch:
            yield from ([c] for c in group)
        else:
            yield list(group)


class PublicPath:
    """The seam's hot calls on the API that every provider has."""

    tick = 1.0  # ns of one tick of the GPU's clock

    def __init__(self, device: Any):
        self.device = device

    def module(self, wgsl: str, label: str, trusted: bool) -> Any:
        """A shader module; this API always checks indices."""
        return self.device._wgpu.create_shader_module(label=label, code=wgsl)

    def prepare(self, words) -> list[int]:
        return list(words)

    def submit(self, *parts) -> None:
        d = self.device
        words = [w for part in parts for w in part]
        encoder = d._wgpu.create_command_encoder()
        compute = None
        for c in commands_of(words):
            if len(c) == 6:
                compute = compute or encoder.begin_compute_pass()
                pipeline, key, offset, x, y, z = c
                compute.set_pipeline(d._pipelines[pipeline][0])
                compute.set_bind_group(0, d.bind(pipeline, key), [offset])
                compute.dispatch_workgroups(x, y, z)
            else:
                if compute:
                    compute.end()
                    compute = None
                source, target, n = c
                encoder.copy_buffer_to_buffer(d._buffers[source], 0, d._buffers[target], 0, n)
        if compute:
            compute.end()
        d._queue.submit([encoder.finish()])

    def read(self, staging: Any, asked, total: int) -> list[bytes]:
        staging.map_sync("READ", 0, total)
        try:
            return _cut(memoryview(staging.read_mapped(0, total, copy=False)).cast("B"), asked)
        finally:
            staging.unmap()

    def wait(self) -> None:
        """Mapping would not do: Dawn maps a buffer that no work uses at once."""
        self.device._queue.on_submitted_work_done_sync()


def _cut(view: memoryview, asked) -> list[bytes]:
    out, at = [], 0
    for _, n in asked:
        out.append(bytes(view[at : at + n]))
        at += -(-n // 256) * 256
    return out


class Prepared:
    """Commands with their objects looked up, ready to be encoded again and again."""

    def __init__(self, steps: list[tuple], words: list[int]):
        self.steps, self.words = steps, words


class WgpuPath:
    """The same on wgpu-native's C functions: 1 to 3 us a dispatch where the public API takes 4 to 6."""

    def __init__(self, device: Any, ffi: Any, lib: Any):
        self.device, self.ffi, self.lib = device, ffi, lib
        self._dev = device._wgpu._internal
        self._queue = device._queue._internal
        self.tick = float(lib.wgpuQueueGetTimestampPeriod(self._queue))
        self._encoder_desc = ffi.new("WGPUCommandEncoderDescriptor *")
        self._pass_desc = ffi.new("WGPUComputePassDescriptor *")
        self._buffer_desc = ffi.new("WGPUCommandBufferDescriptor *")
        self._command = ffi.new("WGPUCommandBuffer[1]")
        self._offset = ffi.new("uint32_t[1]")
        self._status: list[int] = []
        self._watch_loss()
        self._callback = ffi.callback(
            "void(WGPUMapAsyncStatus, WGPUStringView, void *, void *)", self._mapped
        )
        self._map_info = ffi.new("WGPUBufferMapCallbackInfo *")
        self._map_info.mode = lib.WGPUCallbackMode_AllowProcessEvents
        self._map_info.callback = self._callback

    def _mapped(self, status, _message, _a, _b) -> None:
        self._status.append(status)

    def _watch_loss(self) -> None:
        """wgpu only logs a lost device; the log line is where we hear of it."""
        import logging

        device = self.device

        class Listen(logging.Handler):
            def emit(self, record):
                text = record.getMessage()
                if "was lost" in text:
                    device.lost = text.strip().splitlines()[-1][:200]

        logger = logging.getLogger("wgpu")
        logger.addHandler(Listen())
        logger.propagate = False

    def module(self, wgsl: str, label: str, trusted: bool) -> Any:
        """A shader module, without checks of indices and loops where it is trusted.

        With them naga clamps each index into workgroup memory, which costs a matmul a quarter of its speed.
        """
        from wgpu.backends.wgpu_native import _api

        wgpu = self.device._wgpu
        if not trusted:
            return wgpu.create_shader_module(label=label, code=wgsl)
        ffi, texts = self.ffi, (wgsl.encode(), label.encode())
        source = ffi.new("WGPUShaderSourceWGSL *")
        source.chain.sType = self.lib.WGPUSType_ShaderSourceWGSL
        wanted = ffi.new("WGPUShaderModuleDescriptor *")
        held = [ffi.from_buffer(text) for text in texts]
        for view, data, text in zip((source.code, wanted.label), held, texts, strict=True):
            view.data, view.length = data, len(text)
        wanted.nextInChain = ffi.cast("WGPUChainedStruct *", source)
        checked: Any = _api.libf  # raises what goes wrong
        none = self.lib.WGPUShaderRuntimeChecks_None
        made = checked.wgpuDeviceCreateShaderModuleTrusted(wgpu._internal, wanted, none)
        return _api.GPUShaderModule(label, made, wgpu)

    def prepare(self, words) -> "Prepared":
        """Look up once what replaying these commands needs."""
        steps, last = [], None
        for c in commands_of(words):
            if len(c) == 6:
                pipeline, key, offset, x, y, z = c
                group = self.device.bind(pipeline, key)
                raw = self.device._pipelines[pipeline][0]._internal
                steps.append((None if raw is last else raw, group._internal, offset, x, y, z, group))
                last = raw
            else:
                steps.append((*(self.device._buffers[h]._internal for h in c[:2]), c[2]))
                last = None
        return Prepared(steps, words)

    def submit(self, *parts) -> None:
        """Encode lists of commands, or what `prepare` made of them, and submit once."""
        lib = self.lib
        self._encoder = lib.wgpuDeviceCreateCommandEncoder(self._dev, self._encoder_desc)
        self._compute = None
        for part in parts:
            self._play(part if isinstance(part, Prepared) else self.prepare(part))
        self._end()
        self._command[0] = lib.wgpuCommandEncoderFinish(self._encoder, self._buffer_desc)
        lib.wgpuQueueSubmit(self._queue, 1, self._command)
        lib.wgpuCommandBufferRelease(self._command[0])
        lib.wgpuCommandEncoderRelease(self._encoder)

    def _play(self, prepared: "Prepared") -> None:
        lib, offset = self.lib, self._offset
        set_pipeline, set_group = (
            lib.wgpuComputePassEncoderSetPipeline,
            lib.wgpuComputePassEncoderSetBindGroup,
        )
        dispatch = lib.wgpuComputePassEncoderDispatchWorkgroups
        compute = self._compute
        for step in prepared.steps:
            if len(step) == 7:
                raw, group, offset[0], x, y, z, _ = step
                if raw is not None or compute is None:
                    if compute is None:
                        compute = lib.wgpuCommandEncoderBeginComputePass(self._encoder, self._pass_desc)
                    set_pipeline(compute, raw)
                set_group(compute, 0, group, 1, offset)
                dispatch(compute, x, y, z)
            else:
                self._compute = compute
                self._end()
                compute = None
                lib.wgpuCommandEncoderCopyBufferToBuffer(self._encoder, step[0], 0, step[1], 0, step[2])
        self._compute = compute

    def _end(self) -> None:
        if self._compute is not None:
            self.lib.wgpuComputePassEncoderEnd(self._compute)
            self.lib.wgpuComputePassEncoderRelease(self._compute)
            self._compute = None

    def read(self, staging: Any, asked, total: int) -> list[bytes]:
        """Map the staging buffer with a callback of our own, and poll in the calling thread."""
        lib, ffi, raw = self.lib, self.ffi, staging._internal
        self._status.clear()
        lib.wgpuBufferMapAsync(raw, lib.WGPUMapMode_Read, 0, total, self._map_info[0])
        self._poll_until(lambda: self._status)
        self.device.check()
        if self._status[0] != lib.WGPUMapAsyncStatus_Success:
            self.device.lost = self.device.lost or f"mapping failed with status {self._status[0]}"
            self.device.check()
        try:
            pointer = lib.wgpuBufferGetConstMappedRange(raw, 0, total)
            return _cut(memoryview(ffi.buffer(pointer, total)), asked)
        finally:
            lib.wgpuBufferUnmap(raw)

    def _poll_until(self, done) -> None:
        lib, dev, null = self.lib, self._dev, self.ffi.NULL
        until = time.perf_counter() + SPIN_SECONDS
        while not done():
            lib.wgpuDevicePoll(dev, time.perf_counter() > until, null)
            if self.device.lost:
                return

    def wait(self) -> None:
        self.lib.wgpuDevicePoll(self._dev, True, self.ffi.NULL)
