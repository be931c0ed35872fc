"""Runs the kernels of a plan one by one, with probes or as they are."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..codegen.render import WgslLine, lines_of, render
from ..core import dtype as dt
from ..core.commands import Dispatch, dispatches
from ..core.host import from_raw
from ..core.node import Node, has_run, toposort
from ..device.protocol import Gpu
from ..fusion.plan import Plan
from ..fusion.planner import plan
from ..kernels.ir import Kernel, Shader
from ..runtime import run
from ..runtime.pipeline import Compiled, compile_plan
from .probes import HEADER, RECORD, Probed

KEPT_BYTES = 8 << 20  # of the words kept for workgroup memory; further workgroups are not watched


class Record(NamedTuple):
    """The threads' record for a site: a count or a size; the first one's workgroup and thread numbers,
    and two words."""

    site: int
    times: int
    group: int
    thread: int
    value: int
    other: int


class Uncompiled:
    """Stands in for a device while the commands of a plan are built; it compiles nothing."""

    def __init__(self, device: Gpu):
        self.pipelines: dict[Shader, int] = {}
        self.uniform = device.uniform

    def pipeline(self, *_: Any) -> int:
        return 0

    def compiled(self, _: int) -> None:
        pass


class Launched:
    """A kernel that is about to run: its command, and the size of each buffer that it binds."""

    def __init__(self, device: Gpu, kernel: Kernel, command: Dispatch, sizes: dict[int, int], params: bytes):
        self.device, self.kernel, self.command, self.params = device, kernel, command, params
        self.shader = kernel.shader
        self.last: set[int] = set()  # the values that no later kernel writes
        self.sizes = [sizes[v] for v in (*kernel.inputs, *kernel.outputs)]

    @cached_property
    def text(self) -> str:
        """Its WGSL."""
        return render(self.shader)

    @property
    def bindings(self) -> int:
        """The number of its buffers."""
        return len(self.sizes)

    @property
    def groups(self) -> int:
        """The number of its workgroups."""
        x, y, z = self.command.grid
        return x * y * z

    def line(self, number: int) -> WgslLine:
        """A line of its WGSL, from 1 on, with its places in the templates."""
        return lines_of(self.shader)[number - 1]

    def run_plain(self) -> None:
        """Run it without probes."""
        device, s = self.device, self.shader
        cache = device.pipelines
        if s not in cache:
            cache[s] = device.pipeline(self.text, self.kernel.name, len(s.bindings), len(s.outs))
        device.submit(self.command._replace(pipeline=cache[s]).words())

    def run_probed(self, probed: Probed, pipelines: dict[Any, int], key: Any, extra: int = 0) -> Any:
        """Run it with probes; the words that they wrote. extra: words after the records and kept words."""
        device, s = self.device, self.shader
        if key not in pipelines:
            pipeline = device.pipeline(probed.text, self.kernel.name, len(s.bindings), len(s.outs) + 1)
            device.compiled(pipeline)
            pipelines[key] = pipeline
        # One share more than watched workgroups: the others write to that.
        watched = min(self.groups, KEPT_BYTES // (4 * probed.kept)) if probed.kept else 0
        words = np.zeros(probed.records + probed.kept * (watched + 1) + extra, "u4")
        words[0], words[1 : 1 + self.bindings] = watched, self.lengths()  # the header, see probes.HEADER
        # not from the pool: commands that have not run yet name its buffers
        buffer = device.alloc(words.nbytes, words.nbytes)
        device.write(buffer, words)
        command = self.command._replace(pipeline=pipelines[key], buffers=(*self.command.buffers, buffer))
        device.submit(command.words())
        self.watched = watched
        records = np.frombuffer(device.read([(buffer, words.nbytes)])[0], "u4")
        device.free(buffer)
        return records

    def lengths(self) -> list[int]:
        """The cells of each buffer that belong to its value, at least one: kernels read the first cell
        instead of one that is outside, and discard it."""
        cells = [4 * words for _, words in self.shader.bindings]
        cells += [4 * dt.SHORT[short].words[width] for short, width in self.shader.outs]
        return [max(-(-size // cell), 1) for size, cell in zip(self.sizes, cells, strict=True)]

    def raw(self, places: list[int]) -> list[bytes]:
        """The bytes of some of its buffers."""
        return list(self.device.read([(self.command.buffers[i], self.sizes[i]) for i in places]))

    def put(self, place: int, data: bytes) -> None:
        """Write one of its buffers."""
        self.device.write(self.command.buffers[place], data)

    def numbers(self) -> list[float]:
        """Its Params that are floats."""
        words = np.frombuffer(self.params, "u4")
        floats = [i for i, (_, wgsl) in enumerate(self.shader.params) if wgsl == "f32"]
        return np.frombuffer(words[floats].tobytes(), "f4").tolist()


def records_of(words: Any, probed: Probed) -> list[Record]:
    """The records of a run, by site."""
    rows = words[HEADER : probed.records].reshape(-1, RECORD)
    return [Record(i, *map(int, row[:5])) for i, row in enumerate(rows) if row[0]]


def plan_with_room(device: Gpu, roots: list[Node], order: list[Node], spare: int) -> Plan:
    """A plan whose kernels leave `spare` buffers of the device's limit free."""
    room = device.limits.bundle_buffers - spare
    limits = device.limits
    if limits.storage_buffers > room:
        limits = replace(limits, storage_buffers=room, bundle_buffers=room)
    return plan(roots, replace(limits, bundle_buffers=min(limits.bundle_buffers, room)), order)


def compute(
    device: Gpu, roots: list[Node], look: Callable[[Launched, list[Node]], None], spare: int = 1
) -> Plan:
    """Compute nodes; each kernel of their plan is run by `look(launched, order)`."""
    order = toposort(roots)
    planned_graph = plan_with_room(device, roots, order, spare)
    compiled = compile_plan(Uncompiled(device), planned_graph)  # type: ignore[arg-type]
    sizes = dict(planned_graph.stored) | {i: order[i].nbytes for i in planned_graph.leaves}

    def send(device: Gpu, compiled: Compiled) -> None:
        last = {v: kernel for kernel in planned_graph.kernels for v in kernel.outputs}
        for kernel, command in zip(planned_graph.kernels, dispatches(compiled.words), strict=True):
            first = command.offset // 4  # words from the beginning of the plan's Params
            params = compiled.params[first : first + len(kernel.quantities)].tobytes()
            launched = Launched(device, kernel, command, sizes, params)
            launched.last = {v for v in kernel.outputs if last[v] is kernel}
            look(launched, order)

    run.execute(device, compiled, roots, order, send)
    has_run()
    device.free(compiled.uniform) if compiled.uniform else None
    return planned_graph


def is_not_finite(raw: bytes, dtype: dt.DType, kind: str) -> Any:
    """The elements that are NaN (kind nan), or NaN or infinite (kind inf)."""
    values = np.asarray(from_raw(raw, dtype))
    with np.errstate(all="ignore"):
        return np.isnan(values) if kind == "nan" else ~np.isfinite(values)
