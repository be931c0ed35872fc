"""Compile plans: pipelines and commands for one device. A known structure renders and compiles nothing.

Dispatches and submits are short enough that no driver considers the GPU hung and resets it.
"""

import struct
import threading
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, TypeVar

from ..codegen.render import is_ours, is_proven, render
from ..core import commands, events
from ..core.commands import Dispatch
from ..core.events import stage
from ..device.protocol import Gpu
from ..errors import KernelError
from ..fusion.plan import Cost, Plan
from ..kernels.ir import Kernel, Shader
from ..kernels.lower import PARAMS

READY_KEPT = 4  # assignments of buffers to a plan whose prepared commands are kept
PARAMS_ALIGN = 64  # words: alignment of a dispatch's Params
K = TypeVar("K")
V = TypeVar("V")
SECONDS = 0.5  # longest duration of a submit, by a pessimistic estimate; Windows resets the GPU after 2
FIRST = 12  # kernels of a long plan to submit first: the GPU runs them while the host encodes the rest
ENOUGH = 1e5  # bytes that these kernels must move: otherwise a further submit only costs the host 25 us


class Again(dict[K, V | None]):
    """Values for keys that occur repeatedly: the first time, only the key is stored (its value is None)."""

    def of(self, key: K, make: Callable[[], V], most: int) -> V | None:
        """The value of a key, created at its second occurrence; None at the first. Beyond `most` keys, the
        oldest is dropped."""
        if key not in self:
            self[key] = None
            if len(self) > most:
                del self[next(iter(self))]
            return None
        value = self[key]
        if value is None:
            value = self[key] = make()
        return value


class Counters(threading.local):
    """Counts the pipelines that this thread created: an equal second step adds nothing."""

    plans = renders = compiles = submits = 0


counters = Counters()


class Patch:
    """A word of Params whose value is a host number, which may change between runs."""

    __slots__ = ("format", "node", "part", "word")

    def __init__(self, word: int, node: int, part: int, format: str):
        self.word, self.node, self.part, self.format = word, node, part, format


@dataclass
class Compiled:
    """A plan with its pipelines and commands. The buffers are missing; their positions are listed."""

    plan: Plan
    words: list[int]
    slots: list[tuple[int, int]]  # (position in words, value)
    params: "array[int]"
    patches: list[Patch]
    uniform: int  # the buffer that holds params
    uniform_slots: list[int]
    sent: bytes = b""  # the present content of that buffer
    checks: bool = False  # whether kernels check indices
    cuts: Sequence[int] = ()  # the kernels that begin a further submit
    # prepared commands, by their words
    ready: Again[tuple[int, ...], Any] = field(default_factory=Again[tuple[int, ...], Any])
    is_running: bool = False  # while its words and Params are filled in and not yet submitted

    def own(self, device: Gpu) -> "Compiled":
        """Reserve the plan for one run; a copy if a signal handler runs the same plan during a run. The
        caller resets `is_running`."""
        if not self.is_running:
            self.is_running = True
            return self
        uniform = device.uniform(4 * len(self.params)) if self.uniform else 0
        words = list(self.words)
        for slot in self.uniform_slots:
            words[slot] = uniform
        return Borrowed(
            self.plan,
            words,
            self.slots,
            array("I", self.params),
            self.patches,
            uniform,
            self.uniform_slots,
            checks=self.checks,
            cuts=self.cuts,
            pool=device.pool,
        )

    def name_buffers(self, handles: dict[int, int]) -> None:
        """Write the numbers of the buffers, by value, into the commands."""
        words = self.words
        for slot, value in self.slots:
            words[slot] = handles[value]

    def again(self, device: Gpu, words: list[int]) -> Any:
        """The commands, from the second time on in prepared form: in a loop the same buffers recur."""
        key, most = tuple(words), READY_KEPT * (len(self.cuts) + 1)
        return self.ready.of(key, lambda: device.prepare(list(key)), most) or words


@dataclass
class Borrowed(Compiled):
    """A plan for one run; it frees its buffer of Params at its end."""

    pool: Any = None

    def __del__(self) -> None:
        if self.uniform:
            self.pool.end(self.uniform)


def pipelines_of(device: Gpu, kernels: Sequence[Kernel]) -> dict[Shader, int]:
    """The device's pipelines by structure. Starts to compile missing ones, in parallel if the device can."""
    cache = device.pipelines
    missing: dict[Shader, str] = {}
    for k in kernels:
        if k.shader not in cache:
            missing.setdefault(k.shader, k.name)
    counters.renders += len(missing)
    counters.compiles += len(missing)
    for s, label in missing.items():
        with stage("render"):
            text, proven, is_built_in = render(s), is_proven(s), is_ours(s)
        events.emit("rendered", s, text)
        with stage("compile"):
            pipeline = device.pipeline(text, label, len(s.bindings), len(s.outs), proven)
            if not is_built_in:  # report errors in a user's WGSL before anything runs
                device.compiled(pipeline)
        cache[s] = pipeline
    if events.has_listener("pipeline"):
        for done, (s, label) in enumerate(missing.items(), 1):
            device.compiled(cache[s])
            events.emit("pipeline", done, len(missing), label)
    return cache


def compile_early(device: Gpu, kernels: Sequence[Kernel]) -> None:
    """Begin to compile contractions while the rest of their graph is planned: they take the longest, and no
    pass changes them. Whoever counts pipelines gets them all at once."""
    products = [k for k in kernels if k.shader.template.startswith("contract/")]
    if products and not events.has_listener("pipeline"):
        pipelines_of(device, products)


def word_of(value: Any, wgsl: str) -> int:
    """A quantity as 32 bits."""
    if wgsl == "f32":
        return struct.unpack("<I", struct.pack("<f", _finite(value)))[0]
    return int(value) & 0xFFFFFFFF


def part_of(source: Any, part: int) -> Any:
    """One of the words of a host number, or the number itself."""
    words = getattr(source, "words", None)
    if words is not None:
        return words[part]
    value = getattr(source, "held", source)
    if isinstance(value, complex):
        return value.imag if part else value.real
    return int(value) >> 32 * part if part else value


def _finite(value: float) -> float:
    """Make doubles beyond the range of float32 infinite, as in a cast."""
    if value != value or abs(value) <= 3.4028235677973366e38:
        return value
    return float("inf") if value > 0 else float("-inf")


def compile_plan(device: Gpu, plan: Plan) -> Compiled:
    """Find or compile every kernel's pipeline, and lay out the plan's Params at aligned offsets."""
    words: list[int] = []
    slots: list[tuple[int, int]] = []
    patches: list[Patch] = []
    uniform_slots: list[int] = []
    params = array("I")
    pipelines = pipelines_of(device, plan.kernels)
    for k in plan.kernels:
        base = len(params)
        if len(k.quantities) > PARAMS:
            raise KernelError(f"{k.name}: {len(k.quantities)} Params, more than {PARAMS}: use fewer dims")
        for i, (value, (_, wgsl)) in enumerate(zip(k.quantities, k.shader.params, strict=True)):
            number: Any = value
            if isinstance(value, tuple):  # where each run finds a host number
                patches.append(Patch(base + i, number[1], number[2], wgsl))
                number = 0
            params.append(word_of(number, wgsl))
        params.extend([0] * (-len(params) % PARAMS_ALIGN))
        uniform_slots.append(len(words) + commands.PARAMS)
        values = (*k.inputs, *k.outputs)
        slots += enumerate(values, len(words) + commands.BUFFERS)
        words += Dispatch(pipelines[k.shader], 0, base * 4, k.grid, [0] * len(values)).words()
    counters.plans += 1
    uniform = device.uniform(4 * len(params)) if plan.kernels else 0
    for place in uniform_slots:
        words[place] = uniform
    checks = any(k.shader.checks for k in plan.kernels)
    return Compiled(plan, words, slots, params, patches, uniform, uniform_slots, checks=checks)


def submits_of(compiled: Compiled, words: list[int]) -> list[tuple[tuple[Cost, ...], list[int]]]:
    """The plan's commands for each submit, with the costs of its kernels."""
    if not compiled.cuts:
        return [(compiled.plan.costs, words)]
    starts = [compiled.uniform_slots[i] - commands.PARAMS for i in compiled.cuts]
    spans = zip([0, *starts], [*starts, len(words)], strict=True)
    kernels = zip([0, *compiled.cuts], [*compiled.cuts, len(compiled.plan.costs)], strict=True)
    return [(compiled.plan.costs[i:j], words[a:b]) for (i, j), (a, b) in zip(kernels, spans, strict=True)]


def patch_params(params: "array[int]", patches: list[Patch], order: list[Any]) -> None:
    """Write the graph's host numbers into Params."""
    for p in patches:
        params[p.word] = word_of(part_of(order[p.node].scalars[0], p.part), p.format)


# --- submits ---


def seconds_of(cost: Cost, limits: Any) -> float:
    """Estimate the seconds of a kernel at the lowest speed of such an adapter."""
    flops, nbytes = limits.pace
    return max(cost.flops / flops, (cost.reads + cost.writes) / nbytes)


def split_long_kernels(plan: Plan, limits: Any) -> Plan:
    """Split each kernel that takes too long into several, which run ranges of its workgroups in turn."""
    parts = [-(-seconds_of(cost, limits) // SECONDS) for cost in plan.costs]
    if max(parts, default=0) <= 1:
        return plan
    kernels: list[Kernel] = []
    costs: list[Cost] = []
    for k, cost, n in zip(plan.kernels, plan.costs, parts, strict=True):
        split = _split(k, int(n)) if n > 1 else [k]
        kernels += split
        costs += [_share(cost, prod(part.grid), prod(k.grid)) for part in split]
    return replace(plan, kernels=tuple(kernels), costs=tuple(costs))


def _share(cost: Cost, groups: int, of: int) -> Cost:
    """The cost of `groups` of a kernel's `of` workgroups."""
    reads, writes, flops = (-(-n * groups // of) for n in (cost.reads, cost.writes, cost.flops))
    return cost._replace(reads=reads, writes=writes, flops=flops)


def _split(kernel: Kernel, parts: int) -> list[Kernel]:
    """Kernels for ranges of the grid's longest side. The shader adds the start of its range."""
    axis = max(range(3), key=lambda d: kernel.grid[d])
    extent = kernel.grid[axis]
    each = -(-extent // min(parts, extent))
    if each == extent:
        return [kernel]
    s = kernel.shader
    shader = replace(
        s, params=(*s.params, ("first_group", "u32")), options=(*s.options, ("ranged", "xyz"[axis]))
    )
    ranges: list[Kernel] = []
    for first in range(0, extent, each):
        grid = [min(each, extent - first) if d == axis else n for d, n in enumerate(kernel.grid)]
        quantities = (*kernel.quantities, first)
        ranges.append(replace(kernel, shader=shader, quantities=quantities, grid=(grid[0], grid[1], grid[2])))
    return ranges


def cuts(costs: Sequence[Cost], limits: Any) -> list[int]:
    """The kernels that begin a further submit: those before take long enough, or are the first of a long
    plan."""
    begins: list[int] = []
    total = 0.0
    is_long = len(costs) >= 2 * FIRST and sum(w.nbytes for w in costs[:FIRST]) >= ENOUGH
    first = FIRST if is_long and not limits.software else 0
    for i, w in enumerate(costs):
        seconds = seconds_of(w, limits)
        if (total and total + seconds > SECONDS) or (i and i == first):
            begins.append(i)
            total = 0.0
        total += seconds
    return begins
