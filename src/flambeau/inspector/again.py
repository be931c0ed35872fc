"""Kernels of an inspection, as they are or with another text, run again on what they read."""

import re
import struct
from array import array
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import isfinite
from statistics import median
from typing import Any

from ..codegen.edits import TemplateEdits, TemplateFault, templates_of
from ..codegen.render import WgslLine
from ..core.commands import COPY
from ..core.dtype import SHORT
from ..device.protocol import Gpu
from ..differences import distances
from ..errors import DeviceError, FlambeauError, KernelError
from ..kernels.ir import Shader
from ..profiling.meter import meter_of
from ..wgsl_reader.interface import Interface, interface_of
from ..wgsl_reader.parser import WgslFault, line_of_name
from .dispatches import Dispatched, Inputs
from .model import Inspection, KernelRow

SECONDS, MOST = 0.04, 20  # how long the runs of one text are to take in all, and how many there are at most
FEW, LONG = 3, 0.1  # so many runs of each there are in any case, unless they take longer than so many seconds
NOISE, GUESSED = 0.03, 0.25  # parts by which times differ anyway; where too few were taken to tell
SAYS = (  # what is wrong, in the messages of naga (of texts that can't be parsed, and of others) and of Dawn
    re.compile(r"parsing error: (.+)"),
    re.compile(r"^ +│?\s*= (.+)(?![\s\S]*^ +│?\s*= )", re.M),  # the last of its notes: the innermost
    re.compile(r"\berror: (.+)"),
)
PLACE = re.compile(r":(\d+):(\d+)")
POINTED = re.compile(r"^\s*(\d+) │[^\n]*\n[^\n]*\^+ naga::ir::(?!Function|EntryPoint)", re.M)  # the innermost


@dataclass(frozen=True)
class OutputCompared:
    """A result of an edit beside that of the original: how many elements differ, by how much at most, and the
    first that does (-1 for none). relative: by what part of what is expected at most, of elements that are
    not expected to be 0; expected, found: what the first that differs is, as text."""

    name: str
    dtype: str
    elements: int
    different: int
    largest: float
    first: int
    relative: float = 0.0
    expected: str = ""
    found: str = ""


@dataclass(frozen=True)
class EditRun:
    """What became of an edit. error, line: why it did not run, and where (0: nobody can say); says: the line
    of the error that says what is wrong; file: the template that the line is of, "" of the text; seconds,
    original: of a run, of its text and of the kernel's own; ratio: how many times as fast it is by most of
    the runs, from and to; is_equal: whether that is not told from 1. wgsl: what edited templates were
    rendered to."""

    error: str = ""
    line: int = 0
    seconds: float = 0.0
    original: float = 0.0
    outputs: tuple[OutputCompared, ...] = ()
    file: str = ""
    wgsl: str = ""
    says: str = ""
    ratio: tuple[float, float] = (1.0, 1.0)
    is_equal: bool = True

    def to_dict(self) -> dict[str, Any]:
        """For JSON, which has no NaN and no infinity: they are None."""
        data = asdict(self)
        for out in data["outputs"]:
            out |= {k: None for k in ("largest", "relative") if not isfinite(out[k])}
        return data


class Session:
    """The kernels of an inspection with the device and the buffers that they ran on."""

    def __init__(self, inspection: Inspection, dispatched: list[Dispatched], inputs: Inputs | None):
        self.inspection, self.dispatched, self.inputs = inspection, dispatched, inputs
        self._wanted: tuple[int, dict[str, bytes]] = (-1, {})  # what the kernel that ran last gives
        self._edits = TemplateEdits()
        self._templates: dict[Shader, dict[str, str]] = {}

    def close(self) -> None:
        """Give back the copies of what kernels read; they run no more."""
        if self.inputs is not None:
            self.inputs.close()
        for one in self.dispatched:
            one.given, one.why = None, "its inputs were given back"

    def check(self, kernel: int) -> Dispatched:
        """A kernel that can run again; FlambeauError for one that can't."""
        if not 0 <= kernel < len(self.dispatched):
            raise FlambeauError(f"inspect: there is no kernel {kernel}: there are {len(self.dispatched)}")
        one, row = self.dispatched[kernel], self.inspection.kernels[kernel]
        if one.plan is None:
            raise FlambeauError(
                f"inspect: {row.name}: it was planned before the call: its numbers are unknown"
            )
        if one.given is None:
            raise FlambeauError(f"inspect: {row.name}: {one.why}: inspect with keep=True, or a larger number")
        return one

    def run(self, kernel: int, wgsl: str) -> EditRun:
        """Run a kernel's own text and another on the same inputs; what does not compile is told, not raised.
        FlambeauError where the kernel can't run again."""
        one = self.check(kernel)
        row, device = self.inspection.kernels[kernel], one.device
        own = self.inspection.shaders[row.shader].wgsl
        with device.lock:
            try:
                edit = _Prepared(self, kernel, wgsl)
            except WgslFault as e:
                return EditRun(e.rule, e.line, says=says(e.rule))
            except KernelError as e:
                return _compiler_failure(str(e), wgsl)
            original = _Prepared(self, kernel, own)
            try:
                edited = edit.results()
                if self._wanted[0] != kernel:
                    self._wanted = kernel, original.results()
                compare_outputs = tuple(self._compare_outputs(row, self._wanted[1], edited))
                times = _time_in_turn(device, original, edit)
            finally:
                edit.free()
                original.free()
        own, mine = map(median, times)
        ratio, is_equal = _ratio(*times)
        return EditRun(seconds=mine, original=own, outputs=compare_outputs, ratio=ratio, is_equal=is_equal)

    def shader(self, kernel: int) -> Shader:
        """What a kernel's text was rendered from."""
        one = self.check(kernel)
        assert one.plan is not None
        return one.plan.compiled.plan.kernels[one.place].shader

    def templates(self, kernel: int) -> dict[str, str]:
        """The templates that a kernel's text is made of, by name, its own first."""
        shader = self.shader(kernel)
        if shader not in self._templates:
            self._templates[shader] = templates_of(shader)
        return self._templates[shader]

    def rendered(self, kernel: int, templates: Mapping[str, str]) -> list[WgslLine]:
        """A kernel's text by lines, with others in the places of templates, by name. FlambeauError where it
        is not made of one; TemplateFault where one can't be rendered."""
        shader = self.shader(kernel)
        known = self.templates(kernel)
        for name in templates:
            if name not in known:
                rule = f"{name!r} is no template of it: it is made of {', '.join(known)}"
                raise FlambeauError(f"inspect: {self.inspection.kernels[kernel].name}: {rule}")
        return self._edits.lines(shader, templates)

    def run_templates(self, kernel: int, templates: Mapping[str, str]) -> EditRun:
        """Run a kernel rendered by edited templates, and by its own, as `run` does; an error is told on the
        line of the template."""
        try:
            lines = self.rendered(kernel, templates)
        except TemplateFault as e:
            return EditRun(str(e), e.line, file=e.file, says=says(str(e)))
        wgsl = "".join(f"{line.text}\n" for line in lines)
        edit = replace(self.run(kernel, wgsl), wgsl=wgsl)
        places = lines[edit.line - 1].places if edit.line else ()
        if not places:
            return edit
        file, line = next((p for p in places if p[0] in templates), places[0])
        return replace(edit, file=file, line=line)

    def _compare_outputs(self, row: KernelRow, wanted: dict[str, bytes], results: dict[str, bytes]):
        shader = self.inspection.shaders[row.shader]
        names = [b.name for b in shader.bindings if b.writes]
        for name, value in zip(names, row.outputs, strict=True):
            op = self.inspection.values[value].op
            dtype = self.inspection.ops[op].dtype if op >= 0 else "f32"
            if name in results:
                yield compare_outputs(name, dtype, wanted[name], results[name])

    def inputs_of(self, kernel: int) -> dict[str, bytes]:
        """What a kernel reads, by the names of its bindings."""
        one, row = self.check(kernel), self.inspection.kernels[kernel]
        assert one.given is not None
        reads = [b.name for b in self.inspection.shaders[row.shader].bindings if not b.writes]
        sizes = [padded(self.inspection.values[v].nbytes) for v in row.inputs]
        contents = one.device.read(list(zip(one.given, sizes, strict=False)))
        return dict(zip(reads, map(bytes, contents), strict=True))


def padded(nbytes: int) -> int:
    """Bytes in whole words, at least one."""
    return max(-(-nbytes // 4) * 4, 4)


def _compiler_failure(message: str, wgsl: str) -> EditRun:
    """A compiler's message, and the line that it is about."""
    place = POINTED.search(message) or PLACE.search(message)
    line = min(int(place[1]), wgsl.count("\n") + 1) if place else 0
    error = message.partition(": the kernel does not compile on ")[2].partition(": ")[2] or message
    return EditRun(error, line, says=says(error))


def says(error: str) -> str:
    """The line of a compiler's message that says what is wrong; the first where none is known to."""
    line = next((m[1] for m in (pattern.search(error) for pattern in SAYS) if m), "")
    return line.strip() or error.strip().partition("\n")[0]


class _Prepared:
    """A text with pipeline, Params and buffers: ready to run on what the kernel read."""

    def __init__(self, session: Session, kernel: int, wgsl: str):
        self.one = one = session.check(kernel)
        row = session.inspection.kernels[kernel]
        self.device, self.taken = one.device, list[int]()
        shader, text = session.inspection.shaders[row.shader], interface_of(wgsl)
        numbers = dict(zip((name for name, _ in shader.params), row.params, strict=True))
        assert one.given is not None
        self.there = there = dict(zip((b.name for b in shader.bindings), one.given, strict=True))
        self.sizes = {
            b.name: padded(session.inspection.values[v].nbytes)
            for b, v in zip((b for b in shader.bindings if b.writes), row.outputs, strict=True)
        }
        self._check(wgsl, text, numbers)
        pipeline = one.command.pipeline
        if wgsl != shader.wgsl:
            pipeline = self.device.pipeline(wgsl, f"edit of {row.name}", len(text.reads), len(text.writes))
            self.device.compiled(pipeline)
        try:
            params = self._params(text, numbers)
            reads = [there[b.name] for b in text.reads]
            self.written = {b.name: self._written(b.name, there) for b in text.writes}
        except BaseException:
            self.free()
            raise
        c = one.command._replace(pipeline=pipeline, params=params, offset=0)
        self.words = c._replace(buffers=(*reads, *self.written.values())).words()

    def _check(self, wgsl: str, text: Interface, numbers: dict[str, int]) -> None:
        """WgslFault for a name that the kernel does not have."""
        for name, _ in text.params:
            if name not in numbers:
                rule = f"Params.{name}: the kernel is not told of it: it has {', '.join(numbers)}"
                raise WgslFault(line_of_name(wgsl, name), rule)
        reads = [n for n in self.there if n not in self.sizes]
        for b in text.reads:
            if b.name not in reads:
                rule = f"{b.name}: no buffer of that name is read: there are {', '.join(reads)}"
                raise WgslFault(line_of_name(wgsl, b.name), rule)

    def _params(self, text: Interface, numbers: dict[str, int]) -> int:
        words = [numbers[name] for name, _ in text.params]
        handle = self.device.uniform(4 * max(len(words), 1))
        self.taken.append(handle)
        self.device.write(handle, array("I", words or [0]).tobytes())
        return handle

    def _written(self, name: str, there: dict[str, int]) -> int:
        """A buffer for a result, with what was in it before; zeros for one that the kernel did not have."""
        size = self.device.size_of(there[name]) if name in there else max(self.sizes.values())
        handle = self.device.alloc(size, size)
        self.taken.append(handle)
        if name not in there:
            self.device.write(handle, bytes(size))
        return handle

    def begin(self) -> list[int]:
        """The commands that put into the results what was there before."""
        words: list[int] = []
        for name, result in self.written.items():
            if name in self.there:
                words += [COPY, self.there[name], result, self.device.size_of(result)]
        return words

    def results(self) -> dict[str, bytes]:
        """What a run writes."""
        self.device.submit([*self.begin(), *self.words])
        names = [n for n in self.written if n in self.sizes]
        contents = self.device.read([(self.written[n], self.sizes[n]) for n in names])
        return dict(zip(names, map(bytes, contents), strict=True))

    def free(self) -> None:
        self.device.wait()
        for handle in self.taken:
            self.device.free(handle)
        self.taken = []


def _time_in_turn(device: Gpu, *prepared: _Prepared) -> list[list[float]]:
    """Seconds of the runs of each, which take turns: what else happens on a machine happens to all of them,
    and none is always the first. What was run first counts only where there is little else."""
    times = [[_seconds(device, p.words)] for p in prepared]
    slowest = max(*(t[0] for t in times), 1e-6)
    rounds = max(min(round(SECONDS / slowest), MOST), min(int(LONG / slowest), FEW))
    for n in range(rounds):
        for mine, p in list(zip(times, prepared, strict=True))[:: -1 if n % 2 else 1]:
            mine.append(_seconds(device, p.words))
    return [mine[1:] if rounds >= FEW else mine for mine in times]


def _ratio(own: list[float], mine: list[float]) -> tuple[tuple[float, float], bool]:
    """How many times as fast as the kernel's own text another is, from and to by the middle half of the times
    (by all, where they are few), and whether that is not told from 1."""
    (least, most), (low, high) = map(_middle, (own, mine))
    ratio = least / max(high, 1e-12), most / max(low, 1e-12)
    noise = NOISE if min(len(own), len(mine)) >= FEW else GUESSED
    return ratio, ratio[0] <= 1 + noise and ratio[1] >= 1 - noise


def _middle(times: list[float]) -> tuple[float, float]:
    aside = len(times) // 4 if len(times) >= 2 * FEW else 0
    there = sorted(times)[aside : len(times) - aside]
    return there[0], there[-1]


def _seconds(device: Gpu, words: list[int]) -> float:
    """How long commands take."""
    meter = meter_of(device)
    if meter.how == "timestamps":
        try:
            ((begin, end),) = device.timestamps(words).wait()
            return (end - begin) / 1e9
        except DeviceError:
            pass
    return meter.wall(words)


def compare_outputs(name: str, dtype: str, wanted: bytes, found: bytes) -> OutputCompared:
    """Two results of a kernel, element by element; NaN is like NaN."""
    import numpy as np

    a, b = (numbers_of(np, dtype, raw) for raw in (wanted, found))
    off = distances(b, a)
    differs = off > 0  # the bits count: an edit that changes nothing gives the same numbers
    if not differs.any():
        return OutputCompared(name, dtype, int(a.size), 0, 0.0, -1)
    first, count = int(np.argmax(differs)), int(np.count_nonzero(differs))
    rated = differs & (a != 0)
    with np.errstate(invalid="ignore"):
        relative = off[rated] / np.abs(a[rated].astype("c16" if a.dtype.kind == "c" else "f8"))
    largest, relative = (float(n.max(initial=0.0)) for n in (off, relative))  # infinite where one is NaN
    pair = str(a[first]), str(b[first])
    return OutputCompared(name, dtype, int(a.size), count, largest, first, relative, *pair)


VIEWS = {
    **{f"{kind[0]}{bits}": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    "f16": "float16",
    "f32": "float32",
    "bool": "uint32",
    "c64": "complex64",
}


def numbers_of(np: Any, dtype: str, raw: bytes) -> Any:
    """The bytes of a buffer as an array of the dtype that its elements have, by its short name."""
    if dtype == "bf16":
        return (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
    kind = SHORT[dtype].stored if dtype in SHORT and dtype not in VIEWS else dtype
    return np.frombuffer(raw[: len(raw) // 8 * 8] if dtype.endswith("64") else raw, VIEWS.get(kind, "uint32"))


def decoded(word: int, wgsl: str) -> float | int:
    """A word of Params as the number that it is."""
    if wgsl == "f32":
        return struct.unpack("<f", struct.pack("<I", word))[0]
    return word - (1 << 32) if wgsl == "i32" and word >> 31 else word
