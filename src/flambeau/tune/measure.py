"""Compares the results of candidate kernels with the default's, and times them."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

from ..core.commands import Copy
from ..core.dtype import DType
from ..core.host import to_raw
from ..core.node import Node
from ..device.protocol import Gpu
from ..differences import TOLERANCES
from ..fusion.plan import Plan
from ..kernels.ir import Kernel, Shader
from ..profiling.timing import WARM, runs_to_fill, warm_up
from ..runtime.pipeline import SECONDS, compile_plan, patch_params, seconds_of, split_long_kernels, submits_of

ROUNDS = 5  # rounds; in each, candidates are timed in turns, so that other load affects all of them
LONGEST = 1.0  # seconds after which no further round begins
FAR = 1.3  # candidates slower than this multiple of the best are not timed again
BATCH = {False: 2e-3, True: 2e-2}  # seconds of a batch of runs; True: on software adapters
MOST = 32  # the most runs in one submit
ROUNDING = 1e-6  # tolerance relative to the largest magnitude read or written: a few float32 roundings
SEEDS = 1_000_003  # period of the random numbers, a prime: rows of a matrix differ
THREADS, GROUPS = 256, 256  # threads of a workgroup and the most workgroups of the comparing kernel


@dataclass
class Candidate:
    """A candidate: its prepared commands by submit, the buffer of its Params, its buffers by value, the runs
    of a batch, and the milliseconds per run of each batch."""

    parts: list[Any]
    params: int
    buffers: dict[int, Any]
    runs: int
    ms: list[float]


class Trials:
    """Runs the compared kernels of plans without the other kernels, all candidates on the same inputs.

    direct: the values that a candidate's kernels read. Float leaves of the graph are random; other leaves
    keep their values. All other values are computed from these.
    """

    def __init__(self, device: Gpu, order: list[Node], direct: set[int]):
        self.device, self.order, self.direct = device, order, direct
        self.input_buffers: dict[int, Any] = {}  # a read value -> its buffer
        self.expected: dict[int, Any] = {}  # a value written by the default -> its buffer
        self.shared: dict[int, list[Any]] = {}  # bytes -> buffers that all candidates but the default write
        self.zeros: Any = None  # a buffer of zeros, as large as the largest output
        self.candidates: dict[str, Candidate] = {}

    # --- comparing results ---

    def check(self, name: str, plan: Plan, kernels: Sequence[Kernel]) -> str:
        """Run a candidate once; the first is the default. Returns how its results are wrong, or ""."""
        # The default keeps its buffers, as the reference; the others share a set.
        candidate = self.prepare(plan, kernels)
        try:
            self.run(candidate, 1)
            written = dict.fromkeys(v for k in kernels for v in k.outputs if v < len(self.order))
            if self.candidates:
                wrong = self.difference(candidate.buffers, [v for v in written if v in self.expected])
            else:
                self.expected, wrong = {v: candidate.buffers[v] for v in written}, ""
        except Exception:
            self.device.free(candidate.params)
            raise
        if wrong:
            self.device.free(candidate.params)
        else:
            self.candidates[name] = candidate
        return wrong

    def prepare(self, plan: Plan, kernels: Sequence[Kernel]) -> Candidate:
        """Prepare a candidate's commands on separate buffers."""
        self.sizes = dict(plan.stored) | {i: n.nbytes for i, n in enumerate(self.order)}
        self.costs = {id(k): cost for k, cost in zip(plan.kernels, plan.costs, strict=True)}
        buffers = self.inputs(plan, kernels) | self.outputs(kernels)
        parts, params = self.commands(kernels, {v: b.handle for v, b in buffers.items()})
        return Candidate([self.device.prepare(part) for part in parts], params, buffers, 1, [])

    def commands(self, kernels: Sequence[Kernel], handles: dict[int, int]) -> tuple[list[list[int]], int]:
        """Build the commands of kernels, in submits shorter than a watchdog's limit, and the buffer of
        their Params."""
        limits, costs = self.device.limits, [self.costs[id(k)] for k in kernels]
        plan = split_long_kernels(Plan(tuple(kernels), costs=tuple(costs)), limits)
        compiled = compile_plan(self.device, plan)
        patch_params(compiled.params, compiled.patches, self.order)
        self.device.write(compiled.uniform, compiled.params.tobytes())
        words = list(compiled.words)
        for place, value in compiled.slots:
            words[place] = handles[value]
        # A candidate of unknown speed may trip the watchdog: one submit per kernel.
        if sum(seconds_of(cost, limits) for cost in costs) > SECONDS:
            compiled.cuts = range(1, len(plan.kernels))
        return [part for _, part in submits_of(compiled, words)], compiled.uniform

    def outputs(self, kernels: Sequence[Kernel]) -> dict[int, Any]:
        """Return zeroed output buffers: new ones for the default, shared ones for all other candidates."""
        free = {nbytes: list(buffers) for nbytes, buffers in self.shared.items()}
        buffers: dict[int, Any] = {}
        for v in dict.fromkeys(v for k in kernels for v in k.outputs):
            of_size = free.get(self.sizes[v])
            buffers[v] = of_size.pop() if of_size else self.device.pool.take(self.sizes[v])
            if buffers[v] not in self.shared.get(self.sizes[v], ()) and self.candidates:
                self.shared.setdefault(self.sizes[v], []).append(buffers[v])
            self.clear(buffers[v])
        return buffers

    def inputs(self, plan: Plan, kernels: Sequence[Kernel]) -> dict[int, Any]:
        """Return the values that kernels read and do not write, computed by the plan's earlier kernels."""
        inputs = {v for k in kernels for v in k.inputs} - {v for k in kernels for v in k.outputs}
        written = {v for k in plan.kernels for v in k.outputs} - self.input_buffers.keys()
        need = inputs & written
        before: list[Kernel] = []
        for k in reversed(plan.kernels):
            if need.intersection(k.outputs):
                before.insert(0, k)
                need |= written.intersection(k.inputs)
        read = inputs.union(*(k.inputs for k in before)) - need
        buffers = {v: self.leaf(v) for v in read}
        if before:
            buffers |= self.compute_values(before, buffers, inputs)
        self.input_buffers |= {v: buffers[v] for v in inputs if v < len(self.order)}
        return {v: buffers[v] for v in inputs}

    def compute_values(
        self, before: list[Kernel], leaves: dict[int, Any], results: set[int]
    ) -> dict[int, Any]:
        """Run kernels and return the buffers of `results`; the buffers of other values are reused."""
        last = {v: i for i, k in enumerate(before) for v in (*k.outputs, *k.inputs)}
        handles = {v: b.handle for v, b in leaves.items()}
        living: dict[int, Any] = {}
        for i, k in enumerate(before):
            for v in k.outputs:
                if v not in handles:
                    living[v] = self.device.pool.take(self.sizes[v])
                    handles[v] = living[v].handle
            for v in (*k.inputs, *k.outputs):
                if last[v] == i and v not in results:
                    living.pop(v, None)
        parts, params = self.commands(before, handles)
        for part in parts:
            self.device.submit(part)
        self.device.wait()
        self.device.free(params)
        return {v: b for v, b in living.items() if v in results}

    def leaf(self, value: int) -> Any:
        """Return the buffer of a leaf of the graph."""
        # The same random numbers for each candidate: the seed is the value's number.
        if value not in self.input_buffers:
            node = self.order[value]
            # Integers may be indices: random ones might be out of range.
            if node.buffer is not None and (value not in self.direct or not node.dtype.is_float):
                return node.buffer
            buffer = self.device.pool.take(max(node.nbytes, 4))
            count = max(buffer.nbytes // node.dtype.itemsize, 1)
            self.device.write(buffer.handle, numbers(value, count, node.dtype))
            self.input_buffers[value] = buffer
        return self.input_buffers[value]

    def clear(self, buffer: Any) -> None:
        """Fill a buffer with zeros, so that elements that a candidate does not write have no earlier
        results."""
        size = self.device.size_of(buffer.handle)
        if self.zeros is None or self.zeros.size < size:
            self.zeros = self.device.pool.take(size)
            self.device.write(self.zeros.handle, bytes(size))
        self.device.submit(Copy(self.zeros.handle, buffer.handle, size).words())

    def difference(self, buffers: dict[int, Any], values: list[int]) -> str:
        """Describe how results differ from the default's by more than their dtypes allow, or return ""."""
        for v in values:
            kind = self.kind(v)
            if not self.order[v].nbytes:
                continue
            error, top, other = compare(self.device, buffers[v], self.expected[v], self.order[v].nbytes, kind)
            if other:
                return "not equal" if kind == "words" else "NaN or infinity at other elements"
            allowed = 0.0 if kind == "words" else TOLERANCES[self.order[v].dtype].variant * top
            if not (error <= allowed or error <= ROUNDING * self.largest(buffers)):
                return f"off by {error:.1e} where the largest is {top:.1e}"
        return ""

    def largest(self, buffers: dict[int, Any]) -> float:
        """Return the largest magnitude that kernels read or write: its rounding bounds the error of a result
        that is small by cancellation."""
        values = ((b, self.order[v].nbytes, self.kind(v)) for v, b in buffers.items() if v < len(self.order))
        floats = (value for value in values if value[1] and value[2] != "words")
        return max((compare(self.device, b, b, nbytes, kind)[1] for b, nbytes, kind in floats), default=0.0)

    def kind(self, value: int) -> str:
        """Return the kind of a value's comparison: its float type, or "words"."""
        dtype = self.order[value].dtype
        return dtype.short if dtype in TOLERANCES else "words"

    # --- timing ---

    def run(self, candidate: Candidate, times: int) -> float:
        """Time `times` consecutive runs, in seconds."""
        begin = perf_counter()
        # Several runs in one submit, so that submitting does not dominate the time of short kernels.
        if len(candidate.parts) == 1:
            for start in range(0, times, MOST):
                self.device.submit(*candidate.parts * min(MOST, times - start))
                self.device.keep_pace()
        else:
            for part in candidate.parts * times:
                self.device.submit(part)
                self.device.keep_pace()
        self.device.wait()
        return perf_counter() - begin

    def time(self) -> dict[str, float]:
        """Return each candidate's milliseconds, the median over rounds. Candidates that can't win are timed
        in few rounds."""
        begin = perf_counter()
        first, *_ = self.candidates.values()
        running = list(self.candidates.values())
        for candidate in running:
            self.count(candidate)
        if not self.device.limits.software:
            warm_up(lambda: self.run(first, first.runs), perf_counter() - begin, 3 * WARM)
        begin = perf_counter()
        for done in range(ROUNDS):
            if done and perf_counter() - begin > LONGEST:
                break
            for candidate in running:
                candidate.ms.append(1e3 * self.run(candidate, candidate.runs) / candidate.runs)
            most = FAR * min(median(candidate.ms) for candidate in running)
            running = [e for e in running if median(e.ms) <= most or e is first]
        return {name: round(median(e.ms), 6) for name, e in self.candidates.items()}

    def count(self, candidate: Candidate) -> None:
        """Find the number of runs of a batch. On a software adapter, which needs no warm-up, this is the
        first round."""
        software = self.device.limits.software
        candidate.runs, took = runs_to_fill(lambda n: self.run(candidate, n), BATCH[software], 1 << 14)
        if software:
            candidate.ms.append(1e3 * took / candidate.runs)

    def close(self) -> None:
        """Free the candidates' Params, which have no owner that frees them."""
        for candidate in self.candidates.values():
            self.device.free(candidate.params)
        self.candidates = {}


def compare(device: Gpu, actual: Any, expected: Any, nbytes: int, kind: str) -> tuple[float, float, bool]:
    """Compare two buffers. Returns the largest error, the largest expected magnitude, and whether NaN or
    infinities are at other elements. For "words", the last says whether any word differs."""
    import numpy as np

    words, rest = -(-nbytes // 4), nbytes % 4
    groups = min(-(-words // THREADS), GROUPS)
    mask = (1 << 8 * rest) - 1 if rest else 0xFFFFFFFF  # the valid bytes of the last word
    shader = Shader(
        "measure/compare.wgsl",
        (("words", "u32"), ("span", "u32"), ("ends", "u32")),
        (("u32", 1), ("u32", 1)),
        (("f32", 4),),
        (THREADS, 1, 1),
        (),
        (("kind", kind),),
    )
    kernel = Kernel("differ", shader, (0, 1), (2,), (words, groups * THREADS, mask), (groups, 1, 1))
    compiled = compile_plan(device, Plan((kernel,)))
    out = device.pool.take(16 * groups)
    commands = list(compiled.words)
    for place, value in compiled.slots:
        commands[place] = (actual, expected, out)[value].handle
    try:
        device.write(compiled.uniform, compiled.params.tobytes())
        device.submit(commands)
        (raw,) = device.read([(out.handle, 16 * groups)])
    finally:
        device.free(compiled.uniform)
    error, top, other, _ = np.frombuffer(raw, "f4").reshape(-1, 4).max(0)
    return float(error), float(top), bool(other)


def numbers(seed: int, count: int, dtype: DType) -> bytes:
    """Make `count` random elements in the layout of a device buffer."""
    import numpy as np

    rng = np.random.default_rng(seed)
    if dtype.is_float:
        values = 2 * rng.random(min(count, SEEDS), np.float32) - 1
    else:
        # Small integers keep sums and products exact.
        values = rng.integers(0, 2 if dtype.kind == "b" else 8, min(count, SEEDS))
    # np.resize repeats the values.
    return np.resize(to_raw(values, dtype), count).tobytes()
