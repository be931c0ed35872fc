"""What an inspection is: frozen rows that refer to each other by number, to JSON and back."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from ..core.tree import is_dict
from ..errors import FlambeauError
from .rows import row_of

FORMAT, VERSION = "flambeau inspection", 2
ROWS = ("layers", "sites", "ops", "places", "shaders", "kernels", "values", "calls")


@dataclass(frozen=True)
class ModuleRow:
    """A module of the model, or "optimizer"; parent: another layer, -1 of none."""

    name: str
    kind: str
    parent: int


@dataclass(frozen=True)
class SiteRow:
    """A line of the program; text: what stands there."""

    file: str
    line: int
    function: str
    text: str


@dataclass(frozen=True)
class OpRow:
    """A node of the graph that was planned. kind: of the op table, or "leaf".

    call: what the program called at `site`. gradient_of: the op that it is a part of the gradient of; -1 in
    all numbers is none.
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    dtype: str
    inputs: tuple[int, ...]
    layer: int
    site: int
    call: str
    gradient_of: int


@dataclass(frozen=True)
class BindingRow:
    """A buffer that a shader binds, as it is declared."""

    name: str
    type: str
    writes: bool


@dataclass(frozen=True)
class ShaderRow:
    """A text of WGSL. places: of each line, the lines of templates that it is made of. steps: of each line,
    the name under which kernels have its op (`KernelRow.steps`), or ""."""

    template: str
    wgsl: str
    places: tuple[tuple[int, ...], ...]
    steps: tuple[str, ...]
    workgroup: tuple[int, ...]
    bindings: tuple[BindingRow, ...]
    params: tuple[tuple[str, str], ...]
    options: dict[str, str]


@dataclass(frozen=True)
class KernelRow:
    """A dispatch of the call, and all later ones that repeat it.

    runs, seconds: how often it ran, and how long all of that took, by those of later calls, where there are
    any, since the first is warm-up; least: the shortest of these; timed: how many were timed in all. reads,
    writes: bytes, at least, of one run, as flops. is_new: whether its pipeline was not there before. ops:
    those that it computes; head: the one that its template is of. steps: names in `ShaderRow.steps` to ops.
    inputs, outputs: values, in the order of bindings. params: the 32 bits of each.
    """

    name: str
    shader: int
    grid: tuple[int, ...]
    runs: int
    seconds: float
    least: float
    reads: int
    writes: int
    flops: int
    shape: tuple[int, ...]
    plan: int = -1
    ends: str = ""
    is_new: bool = False
    ops: tuple[int, ...] = ()
    head: int = -1
    steps: dict[str, int] = field(default_factory=dict[str, int])
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    params: tuple[int, ...] = ()
    timed: int = 0


@dataclass(frozen=True)
class ValueRow:
    """What a buffer holds, from before the kernel `begin` to after the kernel `end`.

    kind: leaf (there before), result (there after) or temporary. name: of a parameter, or of its op.
    """

    name: str
    kind: Literal["leaf", "result", "temporary"]
    nbytes: int
    op: int
    begin: int
    end: int


@dataclass(frozen=True)
class CallRow:
    """Where the time of a call went: of the first, or of the fastest of the later ones, of so many.

    seconds: of a call, until all of it is computed, without what looking on takes: measured while no kernel
    was timed, or (is_looked_at) reckoned. parts: "kernels", "copies" and the "gaps" between these, by the
    GPU's clock; "host": while the GPU had nothing to do, and the host worked; "queue": what is left, on the
    way to the GPU and back: they add up to it. stages: what the host did, also while the GPU ran. alone: what
    the kernels took, each timed by itself, where that is more than the call; else 0.0.
    """

    which: Literal["first", "later"]
    count: int
    is_looked_at: bool
    seconds: float
    parts: dict[str, float]
    stages: dict[str, float]
    alone: float = 0.0


@dataclass(frozen=True)
class Inspection:
    """All that is known of one call: layers, ops, kernels, their texts, times and memory.

    target, device: what was called, and on which; software: whether that is a CPU. how: how times were taken,
    "timestamps" or "repeats", and why not by timestamps. copy, fma: what the adapter was measured to reach,
    bytes and operations a second; 0.0 where it was not. wall: seconds of the call with everything that
    inspecting took, overhead: those of inspecting alone; calls: where the time of one went. layers, sites,
    ops, shaders, kernels, values: rows, which name each other by their places, and -1 is none. places: the
    lines of templates.
    """

    target: str
    device: str
    software: bool
    how: str
    why: str
    copy: float
    fma: float
    wall: float
    overhead: float = 0.0
    layers: tuple[ModuleRow, ...] = ()
    sites: tuple[SiteRow, ...] = ()
    ops: tuple[OpRow, ...] = ()
    places: tuple[SiteRow, ...] = ()  # lines of templates
    shaders: tuple[ShaderRow, ...] = ()
    kernels: tuple[KernelRow, ...] = ()
    values: tuple[ValueRow, ...] = ()
    calls: tuple[CallRow, ...] = ()
    session: Any = field(
        default=None, init=False, compare=False, repr=False
    )  # what it takes to run them again

    @property
    def gpu(self) -> float:
        """Seconds in which the GPU ran the kernels."""
        return sum(k.seconds for k in self.kernels)

    def bound(self, kernel: KernelRow) -> float:
        """The least seconds that a run of a kernel takes by the adapter's ceilings; 0.0 where they are
        unknown."""
        if not (self.copy and self.fma):
            return 0.0
        return max((kernel.reads + kernel.writes) / self.copy, kernel.flops / self.fma)

    def live(self) -> list[int]:
        """The bytes of all values that are there while each kernel runs."""
        change = [0] * (len(self.kernels) + 1)
        for v in self.values:
            change[v.begin] += v.nbytes
            change[v.end + 1] -= v.nbytes
        out, now = list[int](), 0
        for c in change[:-1]:
            now += c
            out.append(now)
        return out

    # --- to others ---

    def to_dict(self) -> dict[str, Any]:
        """As values that JSON has, with the format's name and version."""
        data: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        for name in ROWS:  # by vars, since rows of numbers and texts are many and asdict is slow
            data[name] = [{**vars(row)} for row in data[name]]
        for shader in data["shaders"]:
            shader["bindings"] = [{**vars(b)} for b in shader["bindings"]]
        return {"format": FORMAT, "version": VERSION} | data

    def to_json(self, path: str | Path | None = None) -> str:
        """As JSON; written to a file too, if one is named."""
        text = json.dumps(self.to_dict(), separators=(",", ":"))
        if path is not None:
            Path(path).write_text(text, "utf-8")
        return text

    @staticmethod
    def from_json(source: str | Path) -> "Inspection":
        """What `to_json` made: its text, or a file's name. FlambeauError names the file, and what is wrong
        with it."""
        is_text = isinstance(source, str) and source.lstrip()[:1] == "{"
        return from_text(str(source), "from_json") if is_text else read(Path(source))

    def wgsl(self, kernel: int) -> str:
        """The WGSL of a kernel of `kernels`, below what it computes, the shapes and the line of Python."""
        from .report import wgsl

        return wgsl(self, kernel)

    def text(self) -> str:
        """The kernels as a table, dearest first, with the layer and the line of Python that each is of."""
        from .report import text

        return text(self)

    def __str__(self) -> str:
        return self.text()

    def html(self, path: str | Path | None = None) -> str:
        """One page that shows all of it, without any other file; written to a file too, if one is named."""
        from .page import html

        page = html(self)
        if path is not None:
            Path(path).write_text(page, "utf-8")
        return page

    def chrome_trace(self, path: str | Path) -> None:
        """Write the kernels in order as a trace that Perfetto (ui.perfetto.dev) loads."""
        from .trace import text

        Path(path).write_text(text(self), "utf-8")

    def _repr_html_(self) -> str:
        """What a notebook shows: the page in a frame of its own."""
        from .page import in_frame

        return in_frame(self)


def read(path: Path) -> Inspection:
    """An inspection of a file; FlambeauError with its name where there is none."""
    try:
        text = path.read_text("utf-8")
    except OSError as e:
        raise FlambeauError(f"inspect: {path}: {e.strerror}: name a file of --json") from None
    except UnicodeDecodeError:
        raise FlambeauError(f"inspect: {path}: is no text: name a file of --json") from None
    return from_text(text, str(path))


def from_text(text: str, place: str) -> Inspection:
    """An inspection of JSON; FlambeauError, with the place that it came from, where it is none."""
    try:
        parsed = json.loads(text, parse_constant=_number, parse_float=_number)
    except (ValueError, RecursionError) as e:
        raise FlambeauError(f"inspect: {place}: is no JSON ({e}): name a file of --json") from None
    data: dict[str, Any] = parsed if is_dict(parsed) else {}
    if data.pop("format", None) != FORMAT:
        raise FlambeauError(f"inspect: {place}: is no inspection: name a file of --json")
    version = data.pop("version", None)
    if version != VERSION:
        rule = f"is of version {version!r} of the format, and this Flambeau reads {VERSION}"
        raise FlambeauError(f"inspect: {place}: {rule}: inspect again, or read it with the one that wrote it")
    try:
        inspection = row_of(Inspection, data)
        for problem in problems(inspection):
            raise ValueError(problem)
    except ValueError as e:
        raise FlambeauError(f"inspect: {place}: damaged: {e}") from None
    return inspection


def _number(text: str) -> float:
    """A number of JSON, which has no infinity and no NaN."""
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"{text} is no number")
    return value


REFERENCES = {  # rows: which of their fields are numbers of which rows
    "layers": {"parent": "layers"},
    "ops": {"inputs": "ops", "layer": "layers", "site": "sites", "gradient_of": "ops"},
    "kernels": {
        "shader": "shaders", "ops": "ops", "head": "ops", "steps": "ops",
        "inputs": "values", "outputs": "values",
    },
    "values": {"op": "ops", "begin": "kernels", "end": "kernels"},
    "shaders": {"places": "places"},
}  # fmt: skip


def problems(inspection: Inspection) -> Iterator[str]:
    """What is wrong with the numbers by which rows refer to each other."""
    for rows, names in REFERENCES.items():
        for i, row in enumerate(getattr(inspection, rows)):
            for name, to in names.items():
                count = len(getattr(inspection, to))
                yield from (
                    f"{rows}[{i}].{name}: there is no {to}[{n}]"
                    for n in numbers(getattr(row, name))
                    if not -1 <= n < count
                )
    for i, s in enumerate(inspection.shaders):
        if not len(s.places) == len(s.steps) == len(s.wgsl.splitlines()):
            yield f"shaders[{i}]: places and steps are not those of its lines"
    for i, k in enumerate(inspection.kernels):
        if k.shader < 0:
            yield f"kernels[{i}].shader: it has none"
    for i, layer in enumerate(inspection.layers):
        if layer.parent >= i:
            yield f"layers[{i}].parent: it comes after it"
    for i, v in enumerate(inspection.values):
        if not 0 <= v.begin <= v.end:
            yield f"values[{i}]: it ends before it begins"


def numbers(value: Any) -> Iterator[int]:
    """The numbers of a field: one, or those in tuples or dicts."""
    if isinstance(value, int):
        yield value
    else:
        for v in value.values() if hasattr(value, "values") else value:
            yield from numbers(v)
