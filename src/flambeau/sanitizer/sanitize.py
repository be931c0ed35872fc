"""Finds the faults of a call's kernels: accesses out of bounds, missing barriers, and values that become NaN
or infinite."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import dtype as dt
from ..core.events import subscribe
from ..core.node import Node
from ..debug import made_at
from ..device.protocol import Gpu
from ..errors import FlambeauError, KernelError
from ..inspector.call import TargetCall, tensors_of
from ..kernels.ir import Shader
from ..runtime import run
from ..runtime.state import compute_with
from ..wgsl_reader.parser import line_of
from ..wgsl_reader.uniformity import non_uniform_barriers
from .floats import FloatProbes
from .memory import MANY, MemoryProbes
from .probes import Probed, Site
from .probing import Launched, Record, compute, is_not_finite, records_of
from .report import KernelFault, Sanitized
from .saved import subscriber_of

BLANK = "uninitialised"
NOTHING = "it ran nothing on a GPU: pass it tensors of one, or return what it makes"
BITS = {"nan": "NaN", "inf": "infinite"}


class Stopped(BaseException):
    """A kernel can't be run, so later ones would have no inputs. Not an Exception: programs must not catch
    it."""


def sanitize(fn: Callable[..., Any], *args: Any, **kw: Any) -> Sanitized:
    """Call a function once with probes in each of its kernels, and report faults: indices out of bounds,
    workgroup memory read before it is written, missing and non-uniform barriers, values that become NaN,
    infinite, or too large for float16.

    Gradients, optimiser steps, recorded functions inside and saved programs are covered too. Kernels run one
    by one, and slower. FlambeauError if nothing runs on a GPU.

    fn: the function
    """
    return sanitize_call(TargetCall(name_of(fn), fn, args, kw))


def sanitize_call(call: TargetCall) -> Sanitized:
    """`sanitize` of a call."""
    session = Sanitizing()
    saved_programs = subscribe("saved", subscriber_of(session.look))
    with made_at() as session.lines, compute_with(session.compute), saved_programs:
        try:
            session.report.result = call.fn(*call.args, **call.kw)
            run.realize(*tensors_of(session.report.result))
        except Stopped:
            pass
    if not session.report.runs and not session.report.faults:
        raise FlambeauError(f"sanitize({call.target}): {NOTHING}")
    return session.report


def name_of(fn: Callable[..., Any]) -> str:
    """A function's name in errors."""
    return getattr(fn, "__name__", type(fn).__name__)


class Watched:
    """A shader with probes of its memory, or why it has none."""

    def __init__(self, launched: Launched, room: int):
        self.probed: Probed | None = None
        self.non_uniform: list[tuple[int, str]] = []  # lines of barriers, and their tests
        self.why = ""
        self.floats: dict[str, Probed] = {}
        if launched.bindings + 1 + launched.shader.checks > room:
            self.why = f"it binds {launched.bindings} buffers, and this adapter has room for {room}"
            return
        try:
            probes = MemoryProbes(launched.text, launched.bindings)
            for non_uniform in non_uniform_barriers(probes.module, probes.types):
                line = line_of(launched.text, non_uniform.barrier.start)
                self.non_uniform.append((line, probes.raw(non_uniform.test)))
            self.probed = probes.write()
        except KernelError as e:
            self.why = str(e)


class Sanitizing:
    """The state of one run of the sanitizer."""

    lines: made_at

    def __init__(self) -> None:
        self.report = Sanitized()
        self.line = ""  # of Python, that created the values that the kernel stores
        self.watched: dict[Shader, Watched] = {}
        self.pipelines: dict[Any, int] = {}
        self.reported: set[tuple[Shader, str, int]] = set()

    def compute(self, device: Gpu, roots: list[Node]) -> None:
        """Compute nodes, each kernel under watch."""
        compute(device, roots, self.look)

    def look(self, launched: Launched, order: list[Node]) -> None:
        """Run a kernel and record its faults."""
        self.report.runs += 1
        self.line = next((self.lines.get(order[v]) for v in launched.kernel.outputs if v < len(order)), "")
        s, device = launched.shader, launched.device
        watched = self.watched.get(s)
        if watched is None:
            watched = self.watched[s] = Watched(launched, device.limits.bundle_buffers)
            self.report.kernels += 1
            self._note(launched, watched)
        if watched.non_uniform:
            raise Stopped
        # Outputs that the kernel also reads: a second run with probes has to start from the same contents.
        before = {p: launched.raw([p])[0] for p in self._overwritten_places(launched)}
        if watched.probed is None or not self._probe(launched, watched, watched.probed, before):
            launched.run_plain()
        self._numbers(launched, watched, order, before)

    def _note(self, launched: Launched, watched: Watched) -> None:
        """Report facts that are known before a kernel runs: the reason if it is not watched, and non-uniform
        barriers."""
        name = launched.kernel.name
        reasons = [watched.why] if watched.why else watched.probed.skipped if watched.probed else []
        self.report.skipped += [f"{name}: {reason}" for reason in reasons]
        for line, test in watched.non_uniform:
            reasons = f"threads part at {test!r} before this barrier: it is not run, and the call ends here"
            self._fault(launched, "non-uniform barrier", line, reasons)

    def _overwritten_places(self, launched: Launched) -> list[int]:
        """The places of outputs that the kernel also reads."""
        kernel = launched.kernel
        return [len(kernel.inputs) + kernel.outputs.index(v) for v, _ in kernel.over]

    def _probe(self, launched: Launched, watched: Watched, probed: Probed, before: dict[int, bytes]) -> bool:
        """Run a kernel with probes of its memory; False if they do not compile. before: the contents of
        outputs that it reads."""
        try:
            words = launched.run_probed(probed, self.pipelines, (launched.shader, "memory"))
        except KernelError as e:
            watched.probed, watched.why = None, f"its probes do not compile: {str(e).splitlines()[0]}"
            self.report.skipped.append(f"{launched.kernel.name}: {watched.why}")
            return False
        if probed.kept and launched.watched < launched.groups:
            limit = f"races in the first {launched.watched:,} of {launched.groups:,} workgroups alone"
            self._skip(launched, limit)
        faults = [(probed.sites[r.site], r) for r in records_of(words, probed)]
        # Reading zeros that nobody wrote is not a fault if the result does not depend on them.
        if any(site.kind == BLANK for site, _ in faults) and not self._matters(launched, before):
            faults = [(site, r) for site, r in faults if site.kind != BLANK]
        for site, record in faults:
            self._fault(launched, site.kind, site.line, _describe_memory(site, record, launched), record)
        return True

    def _matters(self, launched: Launched, before: dict[int, bytes]) -> bool:
        """Whether the result changes if workgroup memory does not start with zeros."""
        places = list(range(len(launched.kernel.inputs), launched.bindings))
        results = launched.raw(places)
        for place, data in before.items():
            launched.put(place, data)
        filled = MemoryProbes(launched.text, launched.bindings, filled=True).write()
        launched.run_probed(filled, self.pipelines, (launched.shader, "filled"))
        filled_results = launched.raw(places)
        for place, data in zip(places, results, strict=True):
            launched.put(place, data)
        return filled_results != results

    def _skip(self, launched: Launched, why: str) -> None:
        text = f"{launched.kernel.name}: {why}"
        if text not in self.report.skipped:
            self.report.skipped.append(text)

    def _fault(
        self, launched: Launched, kind: str, line: int, sentence: str, record: Record | None = None
    ) -> None:
        """Add a fault, unless it is known."""
        key = (launched.shader, kind, line)
        if key in self.reported:
            return
        self.reported.add(key)
        row = launched.line(line)
        place = row.places[0] if row.places else (launched.shader.template, 0)
        where: dict[str, Any] = {}
        if record is not None:
            where = {
                "group": _as_coordinates(record.group, launched.command.grid),
                "thread": _as_coordinates(record.thread, launched.shader.workgroup),
                "threads": record.times,
            }
        text = row.text.strip()
        row = KernelFault(kind, launched.kernel.name, *place, line, text, sentence, self.line, **where)
        self.report.faults.append(row)

    # --- numbers ---

    def _numbers(
        self, launched: Launched, watched: Watched, order: list[Node], before: dict[int, bytes]
    ) -> None:
        """If a kernel turned finite values into others, find the statement that did."""
        kind = self._born(launched, order, before)
        if not kind or watched.why:
            return
        after = {p: launched.raw([p])[0] for p in range(len(launched.kernel.inputs), launched.bindings)}
        try:
            if kind not in watched.floats:
                watched.floats[kind] = FloatProbes(launched.text, launched.bindings, kind).write()
            for place, data in before.items():
                launched.put(place, data)
            probed = watched.floats[kind]
            words = launched.run_probed(probed, self.pipelines, (launched.shader, kind))
        except KernelError as e:
            self._skip(
                launched, f"it makes a value that is {BITS[kind]}, and its probes: {str(e).splitlines()[0]}"
            )
            return
        # The results of the unprobed run count.
        for place, data in after.items():
            launched.put(place, data)
        self._births(launched, probed, words, kind)

    def _births(self, launched: Launched, probed: Probed, words: Any, kind: str) -> None:
        records = records_of(words, probed)
        stored = [
            r for r in records if r.times == 2
        ] or records  # 2: the thread stored such a value (see FloatProbes.finish)
        overflows = [r for r in stored if probed.sites[r.site].kind == "float16 overflow"]
        for record in (overflows or stored)[:1]:
            site = probed.sites[record.site]
            value, source = (np.uint32(x).view("f4") for x in (record.value, record.other))
            if site.kind == "float16 overflow":
                sentence = f"{value:.7g} is beyond the 65504 of float16"
            else:
                sentence = f"{site.name} became {value} here, made of {source:.7g} among others"
            self._fault(launched, site.kind, site.line, sentence, record._replace(times=1))
        if not records:
            sentence = (
                f"its result is {BITS[kind]} in places, of numbers that were not: no statement was seen to"
            )
            self._fault(launched, kind, 1, sentence)

    def _born(self, launched: Launched, order: list[Node], before: dict[int, bytes]) -> str:
        """nan or inf, if the results have such values and the inputs do not; otherwise ""."""
        inputs = len(launched.kernel.inputs)
        floats = [(i, d) for i, d in enumerate(self._dtypes(launched, order)) if d is not None]
        outs = [(i, d) for i, d in floats if i >= inputs]
        results = list(zip(outs, launched.raw([i for i, _ in outs]), strict=True))
        for kind in ("nan", "inf"):
            if any(is_not_finite(raw, d, kind).any() for (_, d), raw in results):
                inputs_read = [(i, d) for i, d in floats if i < inputs]
                raws = [
                    (d, raw)
                    for (_, d), raw in zip(
                        inputs_read, launched.raw([i for i, _ in inputs_read]), strict=True
                    )
                ]
                raws += [(d, before[i]) for i, d in outs if i in before]
                numbers = np.array(launched.numbers(), "f4").tobytes()
                sources = [*raws, (dt.float32, numbers)]
                # Params count as inputs: a masked fill with -inf makes no infinity by itself.
                return "" if any(is_not_finite(raw, d, kind).any() for d, raw in sources) else kind
        return ""

    def _dtypes(self, launched: Launched, order: list[Node]) -> list[dt.DType | None]:
        """The float dtype of each buffer; None for other dtypes and unknown ones."""
        kernel, shader = launched.kernel, launched.shader
        dtypes: list[dt.DType | None] = []
        stored = [kind for kind, _ in shader.bindings] + [short for short, _ in shader.outs]
        for v, name in zip((*kernel.inputs, *kernel.outputs), stored, strict=True):
            dtype = order[v].dtype if v < len(order) else dt.SHORT.get(name)
            if dtype is not None and dtype.is_complex:
                dtype = dtype.real
            dtypes.append(dtype if dtype is not None and dtype.is_float else None)
        return dtypes


def _as_coordinates(i: int, sizes: tuple[int, ...]) -> tuple[int, int, int]:
    """A linear number as three coordinates, x first."""
    x, y, _ = sizes
    return i % x, i // x % y, i // (x * y)


def _describe_memory(site: Site, record: Record, launched: Launched) -> str:
    """The message for a record of a memory probe."""
    if site.kind.startswith("out of bounds"):
        index = record.value - (1 << 32) if record.value >> 31 else record.value
        return f"{site.name}[{index}] of {record.other:,} elements"
    element = (record.value - site.base) // site.step
    name = f"{site.name}[{element}]"
    if site.kind == BLANK:
        return f"{name} is read before any thread wrote it, and the result depends on it"
    other = f"thread {_as_coordinates(record.other, launched.shader.workgroup)}"
    others = "by others" if record.other == MANY else f"by {other}"
    return f"{name} is used by this thread and {others} with no barrier between, and one of them writes it"
