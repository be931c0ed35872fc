"""An Inspection into lines of text: the kernels by time, each with its layer and its line of Python."""

from pathlib import Path

from ..core.printing import counted
from ..kernels.ir import out_name
from ..kernels.substitute import input_name
from ..profiling.report import aligned, si
from ..runtime.show import UNSEEN, comment, expression
from .model import CallRow, Inspection, KernelRow

ROWS = 25
STAGES = 3  # of the host, that are told
NAME = 40  # letters of a kernel's name
HEADS = ("#", "kernel", "ms", "of GPU", "runs", "GB/s", "GFLOP/s", "of bound", "layer", "line")


def text(made: Inspection, rows: int = ROWS) -> str:
    """The whole report."""
    lines = [*head(made), "", *aligned([HEADS, *table(made, rows)])]
    return "\n".join([*lines, *more(made, rows)])


def more(made: Inspection, rows: int) -> list[str]:
    """What is said below a table of so many rows: how many kernels it left out, if any."""
    left = len(made.kernels) - rows
    return [f"{left:,} more kernel{'s' * (left > 1)}"] if left > 0 else []


def plain(text: str) -> str:
    """A text without what a terminal takes for orders: a file may be anybody's."""
    return "".join(c if c.isprintable() else "?" for c in text)


def head(made: Inspection) -> list[str]:
    """What is said of all of it."""
    runs = sum(k.runs for k in made.kernels)
    new = len({k.shader for k in made.kernels if k.is_new})
    runs_timed, most = max(((k.timed, k.runs) for k in made.kernels), default=(0, 0))
    sampled = f"; {runs_timed:,} of {most:,} runs were timed" if runs_timed < most else ""
    lines = [
        f"{made.target} on {made.device}: {counted(runs, 'dispatch', 'dispatches')}"
        f" of {counted(len(made.kernels), 'kernel')}, {made.gpu * 1e3:.3f} ms of GPU",
        f"times by {made.how}" + (f" ({made.why})" if made.why else ""),
        f"inspecting took {made.overhead * 1e3:.1f} ms of {made.wall * 1e3:.1f} ms{sampled}",
        f"{counted(len(made.layers), 'layer')}, {counted(len(made.ops), 'op')},"
        f" {counted(len(made.shaders), 'text')} of WGSL, {new} new",
    ]
    if made.copy and made.fma:
        ceilings = f"copy {si(made.copy, 'B/s')}, multiply-add {si(made.fma, 'FLOP/s')}"
        lines.append(f"ceilings measured on this adapter: {ceilings}")
    lines = [plain(line) for line in (*lines, *map(parts, made.calls))]
    if made.values:  # a saved program's have no sizes
        peak = si(max(made.live(), default=0), "B")
        lines.append(f"memory: peak {peak} of what the kernels read and write")
    return lines


def parts(call: CallRow) -> str:
    """What a call took, the parts that this adds up from, and what the host did most of its time."""
    what = "the first call" if call.which == "first" else "a later call"
    named = [f"{name} {s * 1e3:.3f} ms" for name, s in call.parts.items() if s]
    dearest = sorted(call.stages.items(), key=lambda stage: -stage[1])[:STAGES]
    host = ", ".join(f"{name} {s * 1e3:.3f} ms" for name, s in dearest if s)
    line = f"{what}: {call.seconds * 1e3:.3f} ms: {' + '.join(named)}"
    if call.alone:
        line += f" (each kernel timed by itself: {call.alone * 1e3:.3f} ms in all)"
    return line + (f" (the host: {host})" if host else "")


def short(name: str) -> str:
    """A kernel's name as tables have it."""
    return plain(name if len(name) <= NAME else name[: NAME - 3] + "...")


def by_time(made: Inspection) -> list[tuple[int, KernelRow]]:
    """The kernels with their numbers, dearest first."""
    return sorted(enumerate(made.kernels), key=lambda numbered: -numbered[1].seconds)


def table(made: Inspection, rows: int = ROWS) -> list[tuple[str, ...]]:
    """A row of `HEADS` for each of the dearest kernels."""
    total = made.gpu or 1e-12
    out: list[tuple[str, ...]] = []
    for n, k in by_time(made)[:rows]:
        each = max(k.seconds / max(k.runs, 1), 1e-12)
        bound = made.bound(k)
        out.append(
            (
                str(n),
                short(k.name),
                f"{k.seconds * 1e3:.3f}",
                f"{k.seconds / total:.1%}",
                str(k.runs),
                f"{(k.reads + k.writes) / each / 1e9:.3g}",
                f"{k.flops / each / 1e9:.3g}" if k.flops else "",
                f"{bound / each:.0%}" if bound else "",
                plain(layer_of(made, k)),
                plain(line_of(made, k)),
            )
        )
    return out


def layer_of(made: Inspection, k: KernelRow) -> str:
    """The layer that a kernel's head is of, or of whose gradient it is."""
    op = made.ops[k.head] if k.head >= 0 else None
    if op is None or op.layer < 0:
        return ""
    name = made.layers[op.layer].name
    return f"{name} (gradient)" if op.gradient_of >= 0 else name


def wgsl(made: Inspection, number: int) -> str:
    """A kernel's text below three lines: what it computes, dtypes and shapes, and the line of Python."""
    kernel = made.kernels[number]
    values = [[made.values[v].op for v in side] for side in (kernel.inputs, kernel.outputs)]
    known: dict[int, str] = {}
    for i, op in enumerate(values[0]):
        known.setdefault(op, input_name(i))

    def parts_of(op: int) -> tuple[str, tuple[int, ...]]:
        row = made.ops[op]
        if op not in kernel.ops:  # it is written over, and read from there, or not read by this kernel
            return out_name(0) if row.kind != "leaf" else "...", ()
        return "" if row.name in UNSEEN else row.name.strip("_"), row.inputs

    def type_of(op: int) -> str:
        return f"{made.ops[op].dtype}{list(made.ops[op].shape)}" if op >= 0 else "temporary"

    results = [expression(op, parts_of, known) for op in values[1] if op >= 0]
    reads, writes = ([type_of(op) for op in side] for side in values)
    text = plain_lines(comment(kernel.name, results, reads, writes))
    op = made.ops[kernel.head] if kernel.head >= 0 else None
    if op is not None and op.site >= 0:
        site = made.sites[op.site]
        text += f"// {plain(site.file)}:{site.line}: {plain(site.text).strip()}\n"
    return text + made.shaders[kernel.shader].wgsl


def plain_lines(text: str) -> str:
    """The same of several lines."""
    return "".join(f"{plain(line)}\n" for line in text.splitlines())


def line_of(made: Inspection, k: KernelRow) -> str:
    """The line of Python that a kernel's head is of."""
    op = made.ops[k.head] if k.head >= 0 else None
    if op is None or op.site < 0:
        return ""
    site = made.sites[op.site]
    return f"{Path(site.file).name}:{site.line} {op.call}".rstrip()
