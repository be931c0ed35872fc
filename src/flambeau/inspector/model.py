"""The rows of an inspection. They are frozen, refer to each other by number, and convert to and from JSON."""

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
ROWS = ("layers", "sites", "ops", "places", "shaders", "kernels", "values", "calls", "transfers")


@dataclass(frozen=True)
class ModuleRow:
    """A module of the model, or "optimizer". parent: the number of the enclosing layer, or -1."""

    name: str
    kind: str
    parent: int


@dataclass(frozen=True)
class SiteRow:
    """A line of the program. text: the source line."""

    file: str
    line: int
    function: str
    text: str


@dataclass(frozen=True)
class OpRow:
    """A node of a planned graph. kind: as in the op table, or "leaf".

    call: the function that the program called at `site`. gradient_of: the op whose gradient it is part of. A
    number of -1 means none.
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
    """A buffer that a shader binds, as declared."""

    name: str
    type: str
    writes: bool


@dataclass(frozen=True)
class ShaderRow:
    """A WGSL text. places: for each line, its lines in the templates. steps: for each line, the key of its op
    in `KernelRow.steps`, or ""."""

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
    """A dispatch of the call and its repeats.

    runs, seconds: the number of runs and their total time, from the times of later calls if any, because the
    first call is warm-up. least: the shortest time. timed: how many runs were timed. reads, writes:
    least bytes of one run; flops: its operations. is_new: whether its pipeline was compiled for this call.
    ops: the ops it computes; head: the one that its template belongs to. steps: ops by the keys of
    `ShaderRow.steps`. inputs, outputs: values in the order of bindings. params: the 32 bits of each.
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
    """The contents of a buffer, which lives from kernel `begin` to kernel `end`.

    kind: leaf (existed before the call), result (exists after it) or temporary. name: of the parameter or op.
    """

    name: str
    kind: Literal["leaf", "result", "temporary"]
    nbytes: int
    op: int
    begin: int
    end: int


@dataclass(frozen=True)
class TransferRow:
    """Moves of a value between two devices. runs: how often values of nbytes were moved in this direction."""

    source: str
    target: str
    nbytes: int
    runs: int


@dataclass(frozen=True)
class CallRow:
    """The parts of a call's time: of the first call, or of the fastest of `count` later ones.

    seconds: the call's time until all results are computed, without the overhead of inspection: measured
    while no kernel was timed, or estimated (is_looked_at). parts, which add up to it: "kernels", "copies" and
    "gaps" between them, by the GPU's clock; "host": the GPU was idle and the host worked; "queue": the rest,
    on the way to the GPU and back. stages: the host's work, also while the GPU ran. alone: the kernels'
    time when each is timed by itself, if that exceeds the call's; otherwise 0.0.
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
    """The record of one call: layers, ops, kernels, their texts, times and memory.

    target, device: the call's name and device; software: whether the device is a CPU. how: "timestamps" or
    "repeats"; why: the reason for repeats. copy, fma: the adapter's measured bytes and operations per second,
    0.0 if not measured. wall: seconds of all calls with overhead; overhead: the seconds of inspecting. calls:
    the parts of the time of single calls; warm: whether the kernels are those of the calls after the first.
    layers, sites, ops, shaders, kernels, values: rows, which refer to each other by number; -1 is none.
    places: lines of templates. transfers: moves between devices.
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
    transfers: tuple[TransferRow, ...] = ()
    warm: bool = False
    session: Any = field(default=None, init=False, compare=False, repr=False)  # runs kernels again

    @property
    def gpu(self) -> float:
        """The seconds for which the GPU ran kernels."""
        return sum(k.seconds for k in self.kernels)

    def bound(self, kernel: KernelRow) -> float:
        """Return the least seconds of a kernel's run by the adapter's ceilings; 0.0 if they are unknown."""
        if not (self.copy and self.fma):
            return 0.0
        return max((kernel.reads + kernel.writes) / self.copy, kernel.flops / self.fma)

    def live(self) -> list[int]:
        """Return the bytes of all live values while each kernel runs."""
        # Differences of the live bytes from kernel to kernel; their running sum is the result.
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
        """Convert the inspection to values of JSON, with the format's name and version."""
        data: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        for name in ROWS:  # vars, because asdict is slow for many rows
            data[name] = [{**vars(row)} for row in data[name]]
        for shader in data["shaders"]:
            shader["bindings"] = [{**vars(b)} for b in shader["bindings"]]
        return {"format": FORMAT, "version": VERSION} | data

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the inspection as JSON; with `path`, also write it to that file."""
        text = json.dumps(self.to_dict(), separators=(",", ":"))
        if path is not None:
            Path(path).write_text(text, "utf-8")
        return text

    @staticmethod
    def from_json(source: str | Path) -> "Inspection":
        """Rebuild an inspection from a text of `to_json`, or from the file of that name. FlambeauError if it
        is invalid."""
        is_text = isinstance(source, str) and source.lstrip()[:1] == "{"
        return from_text(str(source), "from_json") if is_text else read(Path(source))

    def wgsl(self, kernel: int) -> str:
        """Return the WGSL of a kernel, below comments with its expression, shapes and line of Python."""
        from .report import wgsl

        return wgsl(self, kernel)

    def text(self) -> str:
        """Return the kernels as a table, longest first, with the layer and Python line of each."""
        from .report import text

        return text(self)

    def __str__(self) -> str:
        return self.text()

    def html(self, path: str | Path | None = None) -> str:
        """Return a standalone page; with `path`, also write it to that file."""
        from .page import html

        page = html(self)
        if path is not None:
            Path(path).write_text(page, "utf-8")
        return page

    def chrome_trace(self, path: str | Path) -> None:
        """Write the kernels in order as a trace for Perfetto (ui.perfetto.dev)."""
        from .trace import text

        Path(path).write_text(text(self), "utf-8")

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook: the page in a frame."""
        from .page import in_frame

        return in_frame(self)


def read(path: Path) -> Inspection:
    """Read an inspection from a file; FlambeauError, with the file's name, if it is invalid."""
    try:
        text = path.read_text("utf-8")
    except OSError as e:
        raise FlambeauError(f"inspect: {path}: {e.strerror}: name a file of --json") from None
    except UnicodeDecodeError:
        raise FlambeauError(f"inspect: {path}: is not UTF-8: name a file of --json") from None
    return from_text(text, str(path))


def from_text(text: str, place: str) -> Inspection:
    """Parse an inspection from JSON; FlambeauError, with the text's `place`, if it is invalid."""
    try:
        parsed = json.loads(text, parse_constant=_number, parse_float=_number)
    except (ValueError, RecursionError) as e:
        raise FlambeauError(f"inspect: {place}: is not JSON ({e}): name a file of --json") from None
    data: dict[str, Any] = parsed if is_dict(parsed) else {}
    if data.pop("format", None) != FORMAT:
        raise FlambeauError(f"inspect: {place}: is not an inspection: name a file of --json")
    version = data.pop("version", None)
    if version != VERSION:
        rule = f"has format version {version!r}, and this Flambeau reads {VERSION}"
        raise FlambeauError(f"inspect: {place}: {rule}: inspect again, or read it with the one that wrote it")
    try:
        inspection = row_of(Inspection, data)
        for problem in problems(inspection):
            raise ValueError(problem)
    except ValueError as e:
        raise FlambeauError(f"inspect: {place}: damaged: {e}") from None
    return inspection


def _number(text: str) -> float:
    """Parse a number of JSON; ValueError for infinity and NaN, which JSON does not have."""
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"{text} is not a number")
    return value


REFERENCES = {  # rows: {field: the rows that its numbers refer to}
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
    """Find invalid references between rows."""
    for rows, names in REFERENCES.items():
        for i, row in enumerate(getattr(inspection, rows)):
            for name, to in names.items():
                count = len(getattr(inspection, to))
                yield from (
                    f"{rows}[{i}].{name}: {to}[{n}] does not exist"
                    for n in numbers(getattr(row, name))
                    if not -1 <= n < count
                )
    for i, s in enumerate(inspection.shaders):
        if not len(s.places) == len(s.steps) == len(s.wgsl.splitlines()):
            yield f"shaders[{i}]: places and steps must have an entry for each line"
    for i, k in enumerate(inspection.kernels):
        if k.shader < 0:
            yield f"kernels[{i}].shader: it is missing"
    for i, layer in enumerate(inspection.layers):
        if layer.parent >= i:  # parents come first, so there is no cycle
            yield f"layers[{i}].parent: it must come before the layer"
    for i, v in enumerate(inspection.values):
        if not 0 <= v.begin <= v.end:
            yield f"values[{i}]: it ends before it begins"


def numbers(value: Any) -> Iterator[int]:
    """Yield the numbers in a field: one, or those in tuples or dicts."""
    if isinstance(value, int):
        yield value
    else:
        for v in value.values() if hasattr(value, "values") else value:
            yield from numbers(v)
