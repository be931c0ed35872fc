"""Timestamps: encodes commands in separate passes, and reads the begin and end of each from the GPU."""

from collections.abc import Iterator
from itertools import islice
from time import perf_counter_ns
from typing import Any

from ..core.commands import Command, Copy, Dispatch, flat, spans_of
from ..errors import DeviceError
from .memory import STAGING

QUERIES = 4096  # the most queries of a query set
RESOLVE = 0x200 | 0x04  # QUERY_RESOLVE | COPY_SRC


def split_batches(spans: Iterator[list[Command]], most: int) -> Iterator[list[list[Command]]]:
    """Split spans into lists of at most `most`."""
    while batch := list(islice(spans, most)):
        yield batch


class Stamps:
    """One submit and its pending times."""

    def __init__(self, device: Any, parts: Any):
        if "timestamp-query" not in device._wgpu.features:
            raise DeviceError(f"timestamps: {device.name} has none")
        self.device = device
        self.staging: list[Any] = []
        encoder = device._wgpu.create_command_encoder()
        for spans in split_batches(spans_of(flat(parts)), QUERIES // 2):
            queries = device._wgpu.create_query_set(type="timestamp", count=2 * len(spans))
            for i, span in enumerate(spans):
                self._encode(encoder, queries, 2 * i, span)
            self._resolve(encoder, queries, 2 * len(spans))
        commands = encoder.finish()
        self.submitted = perf_counter_ns()
        device._queue.submit([commands])

    def _encode(self, encoder: Any, queries: Any, query: int, span: list[Command]) -> None:
        begin = {"query_set": queries, "beginning_of_pass_write_index": query}
        end = {"query_set": queries, "end_of_pass_write_index": query + 1}
        if isinstance(c := span[0], Dispatch):
            compute = encoder.begin_compute_pass(timestamp_writes=begin | end)
            compute.set_pipeline(self.device.compiled(c.pipeline))
            compute.set_bind_group(0, self.device.bind(c.pipeline, c.bound(), c.offset))
            compute.dispatch_workgroups(*c.grid)
            return compute.end()
        encoder.begin_compute_pass(timestamp_writes=begin).end()  # copies run between two passes
        buffers = self.device._buffers
        for source, target, n in (c for c in span if isinstance(c, Copy)):
            encoder.copy_buffer_to_buffer(buffers[source], 0, buffers[target], 0, n)
        encoder.begin_compute_pass(timestamp_writes=end).end()

    def _resolve(self, encoder: Any, queries: Any, count: int) -> None:
        resolved = self.device._wgpu.create_buffer(size=8 * count, usage=RESOLVE)
        staging = self.device._wgpu.create_buffer(size=8 * count, usage=STAGING)
        encoder.resolve_query_set(queries, 0, count, resolved, 0)
        encoder.copy_buffer_to_buffer(resolved, 0, staging, 0, 8 * count)
        self.staging.append(staging)

    def wait(self) -> list[tuple[int, int]]:
        """Wait for (begin, end) of each span, in ns of the GPU's clock."""
        period = self.device._fast.tick
        ticks: list[int] = []
        for staging in self.staging:
            staging.map_sync("READ")
            ticks += memoryview(staging.read_mapped(copy=True)).cast("B").cast("Q").tolist()
            staging.unmap()
            staging.destroy()
        times = [round(t * period) for t in ticks]
        return list(zip(times[::2], times[1::2], strict=True))

    async def arrive(self) -> list[tuple[int, int]]:
        return self.wait()
