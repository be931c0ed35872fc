"""Runs kernels of an inspection again on their inputs, with their original text or an edited one."""

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

SECONDS, MOST = 0.04, 20  # seconds for all timed runs of a text, and the most runs
FEW, LONG = 3, 0.1  # the least runs of a text, unless a run takes longer than LONG seconds
NOISE, GUESSED = 0.03, 0.25  # relative noise of times, and its guess for few runs
CAUSES = (  # the cause in messages of naga's parser, of its validator, and of Dawn
    re.compile(r"parsing error: (.+)"),
    re.compile(r"^ +│?\s*= (.+)(?![\s\S]*^ +│?\s*= )", re.M),  # the last note is the innermost
    re.compile(r"\berror: (.+)"),
)
PLACE = re.compile(r":(\d+):(\d+)")
INNERMOST = re.compile(r"^\s*(\d+) │[^\n]*\n[^\n]*\^+ naga::ir::(?!Function|EntryPoint)", re.M)


@dataclass(frozen=True)
class OutputCompared:
    """A result of an edit compared with the original's.

    different: the number of elements that differ; largest: the largest difference; first: the index of the
    first element that differs, -1 for none; relative: the largest difference relative to expected values
    other than 0; expected, found: the first pair that differs, as text.
    """

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
    """The outcome of an edit.

    error, line: why it did not run, and its line (0 if unknown); says: the line of the error that states the
    cause; file: the template of the line, "" for the kernel's text; seconds, original: the duration of a run
    of the edit and of the original; ratio: the speed-up, as a range over most of the runs; is_equal: whether
    the ratio can't be distinguished from 1; wgsl: the text rendered from edited templates.
    """

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
        """Convert the outcome to values of JSON. NaN and infinity, which JSON does not have, become None."""
        data = asdict(self)
        for out in data["outputs"]:
            out |= {k: None for k in ("largest", "relative") if not isfinite(out[k])}
        return data


class Session:
    """The kernels of an inspection, with the device and the buffers that they ran on."""

    def __init__(self, inspection: Inspection, dispatched: list[Dispatched], inputs: Inputs | None):
        self.inspection, self.dispatched, self.inputs = inspection, dispatched, inputs
        self._expected: tuple[int, dict[str, bytes]] = (-1, {})  # the kernel that ran last, and its results
        self._edits = TemplateEdits()
        self._templates: dict[Shader, dict[str, str]] = {}

    def close(self) -> None:
        """Free the copies of kernels' inputs. Kernels can't run again after that."""
        if self.inputs is not None:
            self.inputs.close()
        for one in self.dispatched:
            one.copies, one.why = None, "its inputs were freed"

    def check(self, kernel: int) -> Dispatched:
        """Return a kernel that can run again; FlambeauError if it can't."""
        if not 0 <= kernel < len(self.dispatched):
            last = len(self.dispatched) - 1
            valid = f"0 to {last}" if last else "0"
            raise FlambeauError(f"inspect: kernel {kernel} does not exist: pass {valid}")
        one, row = self.dispatched[kernel], self.inspection.kernels[kernel]
        if one.plan is None:
            raise FlambeauError(
                f"inspect: {row.name}: it was planned before the call: its numbers are unknown"
            )
        if one.copies is None:
            raise FlambeauError(f"inspect: {row.name}: {one.why}: inspect with keep=True, or a larger number")
        return one

    def run(self, kernel: int, wgsl: str) -> EditRun:
        """Run a kernel's original text and another on the same inputs.

        Errors of the compiler are in the result. FlambeauError if the kernel can't run again.
        """
        one = self.check(kernel)
        row, device = self.inspection.kernels[kernel], one.device
        text = self.inspection.shaders[row.shader].wgsl
        # Other threads' submits between the runs would change the times and the buffers.
        with device.lock:
            try:
                edit = _Prepared(self, kernel, wgsl)
            except WgslFault as e:
                return EditRun(e.rule, e.line, says=cause_of(e.rule))
            except KernelError as e:
                return _compiler_failure(str(e), wgsl)
            original = _Prepared(self, kernel, text)
            try:
                edited = edit.results()
                # The original's results are the same for all edits of the kernel: compute them once.
                if self._expected[0] != kernel:
                    self._expected = kernel, original.results()
                compare_outputs = tuple(self._compare_outputs(row, self._expected[1], edited))
                times = _time_in_turn(device, original, edit)
            finally:
                edit.free()
                original.free()
        original_seconds, edit_seconds = map(median, times)
        ratio, is_equal = _ratio(*times)
        return EditRun(
            seconds=edit_seconds,
            original=original_seconds,
            outputs=compare_outputs,
            ratio=ratio,
            is_equal=is_equal,
        )

    def shader(self, kernel: int) -> Shader:
        """Return the shader that a kernel's text was rendered from."""
        one = self.check(kernel)
        assert one.plan is not None
        return one.plan.compiled.plan.kernels[one.place].shader

    def templates(self, kernel: int) -> dict[str, str]:
        """Return the templates of a kernel's text by name, the outermost first."""
        shader = self.shader(kernel)
        if shader not in self._templates:
            self._templates[shader] = templates_of(shader)
        return self._templates[shader]

    def render_lines(self, kernel: int, templates: Mapping[str, str]) -> list[WgslLine]:
        """Render a kernel's text with edited templates. FlambeauError for a template that it does not use,
        TemplateFault for one that can't be rendered."""
        shader = self.shader(kernel)
        known = self.templates(kernel)
        for name in templates:
            if name not in known:
                rule = f"{name!r} is not a template of it: its templates are {', '.join(known)}"
                raise FlambeauError(f"inspect: {self.inspection.kernels[kernel].name}: {rule}")
        return self._edits.lines(shader, templates)

    def run_templates(self, kernel: int, templates: Mapping[str, str]) -> EditRun:
        """Run a kernel rendered from edited templates and the original, as `run` does. The line of an error
        is that of the template."""
        try:
            lines = self.render_lines(kernel, templates)
        except TemplateFault as e:
            return EditRun(str(e), e.line, file=e.file, says=cause_of(str(e)))
        wgsl = "".join(f"{line.text}\n" for line in lines)
        edit = replace(self.run(kernel, wgsl), wgsl=wgsl)
        places = lines[edit.line - 1].places if edit.line else ()
        if not places:
            return edit
        file, line = next((p for p in places if p[0] in templates), places[0])
        return replace(edit, file=file, line=line)

    def _compare_outputs(self, row: KernelRow, expected: dict[str, bytes], results: dict[str, bytes]):
        shader = self.inspection.shaders[row.shader]
        names = [b.name for b in shader.bindings if b.writes]
        for name, value in zip(names, row.outputs, strict=True):
            op = self.inspection.values[value].op
            dtype = self.inspection.ops[op].dtype if op >= 0 else "f32"
            if name in results:
                yield compare_outputs(name, dtype, expected[name], results[name])

    def inputs_of(self, kernel: int) -> dict[str, bytes]:
        """Return the contents of a kernel's inputs, by binding name."""
        one, row = self.check(kernel), self.inspection.kernels[kernel]
        assert one.copies is not None
        reads = [b.name for b in self.inspection.shaders[row.shader].bindings if not b.writes]
        sizes = [pad_to_words(self.inspection.values[v].nbytes) for v in row.inputs]
        contents = one.device.read(list(zip(one.copies, sizes, strict=False)))
        return dict(zip(reads, map(bytes, contents), strict=True))


def pad_to_words(nbytes: int) -> int:
    """Round a number of bytes up to words of 4, at least one."""
    return max(-(-nbytes // 4) * 4, 4)


def _compiler_failure(message: str, wgsl: str) -> EditRun:
    """Return the outcome of a text that does not compile: the compiler's message and its line."""
    # naga prints several places; the innermost is the statement at fault.
    place = INNERMOST.search(message) or PLACE.search(message)
    line = min(int(place[1]), wgsl.count("\n") + 1) if place else 0
    error = message.partition(": the kernel does not compile on ")[2].partition(": ")[2] or message
    return EditRun(error, line, says=cause_of(error))


def cause_of(error: str) -> str:
    """Return the line of a compiler's message that states the cause; the first line if none is recognised."""
    line = next((m[1] for m in (pattern.search(error) for pattern in CAUSES) if m), "")
    return line.strip() or error.strip().partition("\n")[0]


class _Prepared:
    """A text with its pipeline, Params and buffers, ready to run on the kernel's inputs."""

    def __init__(self, session: Session, kernel: int, wgsl: str):
        self.one = one = session.check(kernel)
        row = session.inspection.kernels[kernel]
        self.device, self.taken = one.device, list[int]()
        shader, text = session.inspection.shaders[row.shader], interface_of(wgsl)
        numbers = dict(zip((name for name, _ in shader.params), row.params, strict=True))
        assert one.copies is not None
        self.copies = copies = dict(zip((b.name for b in shader.bindings), one.copies, strict=True))
        self.sizes = {
            b.name: pad_to_words(session.inspection.values[v].nbytes)
            for b, v in zip((b for b in shader.bindings if b.writes), row.outputs, strict=True)
        }
        self._check(wgsl, text, numbers)
        pipeline = one.command.pipeline
        if wgsl != shader.wgsl:  # else the original's pipeline, which is compiled already
            pipeline = self.device.pipeline(wgsl, f"edit of {row.name}", len(text.reads), len(text.writes))
            self.device.compiled(pipeline)
        try:
            params = self._params(text, numbers)
            reads = [copies[b.name] for b in text.reads]
            self.written = {b.name: self._allocate_result(b.name) for b in text.writes}
        except BaseException:  # an interrupt too must free the buffers
            self.free()
            raise
        c = one.command._replace(pipeline=pipeline, params=params, offset=0)
        self.words = c._replace(buffers=(*reads, *self.written.values())).words()

    def _check(self, wgsl: str, text: Interface, numbers: dict[str, int]) -> None:
        """Check that the kernel has each Param and input that the text declares."""
        for name, _ in text.params:
            if name not in numbers:
                rule = f"Params.{name}: the kernel does not have it: it has {', '.join(numbers)}"
                raise WgslFault(line_of_name(wgsl, name), rule)
        reads = [n for n in self.copies if n not in self.sizes]
        for b in text.reads:
            if b.name not in reads:
                rule = f"{b.name}: the kernel reads no such buffer: it reads {', '.join(reads)}"
                raise WgslFault(line_of_name(wgsl, b.name), rule)

    def _params(self, text: Interface, numbers: dict[str, int]) -> int:
        words = [numbers[name] for name, _ in text.params]
        handle = self.device.uniform(4 * max(len(words), 1))
        self.taken.append(handle)
        self.device.write(handle, array("I", words or [0]).tobytes())  # Params without members take one word
        return handle

    def _allocate_result(self, name: str) -> int:
        """Return a buffer for a result, with its earlier contents; zeros if the kernel had no such buffer."""
        is_known = name in self.copies
        size = self.device.size_of(self.copies[name]) if is_known else max(self.sizes.values())
        handle = self.device.alloc(size, size)
        self.taken.append(handle)
        if not is_known:
            self.device.write(handle, bytes(size))
        return handle

    def begin(self) -> list[int]:
        """Return the commands that restore the earlier contents of the results."""
        words: list[int] = []
        for name, result in self.written.items():
            if name in self.copies:
                # A kernel may read what it overwrites, and its inputs were copied before it did.
                words += [COPY, self.copies[name], result, self.device.size_of(result)]
        return words

    def results(self) -> dict[str, bytes]:
        """Run once, and return the contents of the results."""
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
    """Time runs of each text in seconds. Texts take turns, so that other load affects all of them and none is
    always first. The first run of each counts only if there are few."""
    times = [[_seconds(device, p.words)] for p in prepared]
    slowest = max(*(t[0] for t in times), 1e-6)
    # As many as fit into SECONDS, at most MOST; FEW, or less if a single run takes longer than LONG.
    rounds = max(min(round(SECONDS / slowest), MOST), min(int(LONG / slowest), FEW))
    for n in range(rounds):
        for runs, p in list(zip(times, prepared, strict=True))[:: -1 if n % 2 else 1]:
            runs.append(_seconds(device, p.words))
    return [runs[1:] if rounds >= FEW else runs for runs in times]


def _ratio(original: list[float], edited: list[float]) -> tuple[tuple[float, float], bool]:
    """Return the speed-up as a range over the middle half of the times (over all, if there are few), and
    whether it can't be distinguished from 1."""
    (least, most), (low, high) = map(_middle_range, (original, edited))
    ratio = least / max(high, 1e-12), most / max(low, 1e-12)  # the extremes of original / edited
    noise = NOISE if min(len(original), len(edited)) >= FEW else GUESSED
    return ratio, ratio[0] <= 1 + noise and ratio[1] >= 1 - noise


def _middle_range(times: list[float]) -> tuple[float, float]:
    cut = len(times) // 4 if len(times) >= 2 * FEW else 0  # outliers on each side
    middle = sorted(times)[cut : len(times) - cut]
    return middle[0], middle[-1]


def _seconds(device: Gpu, words: list[int]) -> float:
    """Run commands and return their duration."""
    meter = meter_of(device)
    if meter.how == "timestamps":
        try:
            ((begin, end),) = device.timestamps(words).wait()
            return (end - begin) / 1e9
        except DeviceError:  # timestamps failed for these commands: use the wall clock
            pass
    return meter.wall(words)


def compare_outputs(name: str, dtype: str, expected: bytes, actual: bytes) -> OutputCompared:
    """Compare two results of a kernel element by element. NaN equals NaN."""
    import numpy as np

    a, b = (numbers_of(np, dtype, raw) for raw in (expected, actual))
    off = distances(b, a)
    differs = off > 0  # exact: an edit that changes nothing computes the same bits
    if not differs.any():
        return OutputCompared(name, dtype, int(a.size), 0, 0.0, -1)
    first, count = int(np.argmax(differs)), int(np.count_nonzero(differs))
    nonzero = differs & (a != 0)
    with np.errstate(invalid="ignore"):
        relative = off[nonzero] / np.abs(a[nonzero].astype("c16" if a.dtype.kind == "c" else "f8"))
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
    """View the bytes of a buffer as an array. dtype: the short name of its elements' dtype."""
    if dtype == "bf16":
        # A bfloat16 is the upper half of a float32.
        return (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
    # 64-bit integers are pairs of words in a buffer; an incomplete pair at the end is dropped.
    kind = SHORT[dtype].stored if dtype in SHORT and dtype not in VIEWS else dtype
    return np.frombuffer(raw[: len(raw) // 8 * 8] if dtype.endswith("64") else raw, VIEWS.get(kind, "uint32"))


def decode(word: int, wgsl: str) -> float | int:
    """Convert a word of Params to a number of its WGSL type."""
    if wgsl == "f32":
        return struct.unpack("<f", struct.pack("<I", word))[0]
    return word - (1 << 32) if wgsl == "i32" and word >> 31 else word
