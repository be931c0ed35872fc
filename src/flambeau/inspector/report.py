"""Formats an Inspection as text: kernels by time, each with its layer and its line of Python."""

from pathlib import Path

from ..core.printing import count_text
from ..kernels.ir import out_name
from ..kernels.substitute import input_name
from ..profiling.report import align_columns, si
from ..runtime.show import UNSEEN, comment, expression
from .model import CallRow, Inspection, KernelRow

ROWS = 25  # the most kernels of the table
STAGES = 3  # the most stages of the host
NAME = 40  # the most letters of a kernel's name
HEADS = ("#", "kernel", "ms", "of GPU", "runs", "GB/s", "GFLOP/s", "of bound", "layer", "line")


def text(inspection: Inspection, rows: int = ROWS) -> str:
    """Return the complete report."""
    lines = [*head(inspection), "", *align_columns([HEADS, *table(inspection, rows)])]
    return "\n".join([*lines, *more(inspection, rows)])


def more(inspection: Inspection, rows: int) -> list[str]:
    """Return the line after a table of `rows` rows, with the number of omitted kernels."""
    left = len(inspection.kernels) - rows
    return [f"{left:,} more kernel{'s' * (left > 1)}"] if left > 0 else []


def plain(text: str) -> str:
    """Replace control characters of terminals: the text may come from an untrusted file."""
    return "".join(c if c.isprintable() else "?" for c in text)


def head(inspection: Inspection) -> list[str]:
    """Return the lines above the table."""
    runs = sum(k.runs for k in inspection.kernels)
    new = len({k.shader for k in inspection.kernels if k.is_new})
    runs_timed, most = max(((k.timed, k.runs) for k in inspection.kernels), default=(0, 0))
    sampled = f"; {runs_timed:,} of {most:,} runs were timed" if runs_timed < most else ""
    lines = [
        f"{inspection.target} on {inspection.device}: {count_text(runs, 'dispatch', 'dispatches')}"
        f" of {count_text(len(inspection.kernels), 'kernel')}, {inspection.gpu * 1e3:.3f} ms of GPU",
        f"{which(inspection)}, times by {inspection.how}{f' ({inspection.why})' if inspection.why else ''}",
        f"inspecting took {inspection.overhead * 1e3:.1f} ms of {inspection.wall * 1e3:.1f} ms{sampled}",
        f"{count_text(len(inspection.layers), 'layer')}, {count_text(len(inspection.ops), 'op')},"
        f" {count_text(len(inspection.shaders), 'text')} of WGSL, {new} new",
    ]
    if inspection.copy and inspection.fma:
        ceilings = f"copy {si(inspection.copy, 'B/s')}, multiply-add {si(inspection.fma, 'FLOP/s')}"
        lines.append(f"ceilings measured on this adapter: {ceilings}")
    lines = [plain(line) for line in (*lines, *map(parts, inspection.calls), *transfers(inspection))]
    if inspection.values:  # a saved program's have no sizes
        peak = si(max(inspection.live(), default=0), "B")
        lines.append(f"memory: peak {peak} of the kernels' inputs and results")
    return lines


def transfers(inspection: Inspection) -> list[str]:
    """Return a line for each kind of move between devices."""
    return [
        f"transfer {t.source} -> {t.target}, {t.nbytes:,} bytes, {count_text(t.runs, 'run')}"
        for t in inspection.transfers
    ]


def which(inspection: Inspection) -> str:
    """Say to which calls the kernels and their times belong."""
    if inspection.warm:
        return "a warm call"
    return "the first call" if len(inspection.calls) < 2 else "the first call and later ones"


def parts(call: CallRow) -> str:
    """Return a call's time, its parts, and the host's longest stages."""
    label = "the first call" if call.which == "first" else "a later call"
    named = [f"{name} {s * 1e3:.3f} ms" for name, s in call.parts.items() if s]
    longest = sorted(call.stages.items(), key=lambda stage: -stage[1])[:STAGES]
    host = ", ".join(f"{name} {s * 1e3:.3f} ms" for name, s in longest if s)
    line = f"{label}: {call.seconds * 1e3:.3f} ms: {' + '.join(named)}"
    if call.alone:
        line += f" (each kernel timed separately: {call.alone * 1e3:.3f} ms in total)"
    overlap = ", in part while the GPU ran" if sum(call.stages.values()) > call.parts["host"] else ""
    return line + (f" (the host{overlap}: {host})" if host else "")


def short(name: str) -> str:
    """Return a kernel's name, cut for tables."""
    return plain(name if len(name) <= NAME else name[: NAME - 3] + "...")


def by_time(inspection: Inspection) -> list[tuple[int, KernelRow]]:
    """Return the kernels with their numbers, longest time first."""
    return sorted(enumerate(inspection.kernels), key=lambda numbered: -numbered[1].seconds)


def table(inspection: Inspection, rows: int = ROWS) -> list[tuple[str, ...]]:
    """Return a row of `HEADS` for each of the longest kernels."""
    total = inspection.gpu or 1e-12
    out: list[tuple[str, ...]] = []
    for n, k in by_time(inspection)[:rows]:
        each = max(k.seconds / max(k.runs, 1), 1e-12)
        bound = inspection.bound(k)
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
                plain(layer_of(inspection, k)),
                plain(line_of(inspection, k)),
            )
        )
    return out


def layer_of(inspection: Inspection, k: KernelRow) -> str:
    """Return the layer of a kernel's head, or of the op whose gradient the head is."""
    op = inspection.ops[k.head] if k.head >= 0 else None
    if op is None or op.layer < 0:
        return ""
    name = inspection.layers[op.layer].name
    return f"{name} (gradient)" if op.gradient_of >= 0 else name


def wgsl(inspection: Inspection, number: int) -> str:
    """Return a kernel's text below comments with its expression, dtypes and shapes, and line of Python."""
    kernel = inspection.kernels[number]
    values = [[inspection.values[v].op for v in side] for side in (kernel.inputs, kernel.outputs)]
    shown: dict[int, str] = {}
    for i, op in enumerate(values[0]):
        shown.setdefault(op, input_name(i))  # the first binding of an op that is bound twice

    def parts_of(op: int) -> tuple[str, tuple[int, ...]]:
        row = inspection.ops[op]
        if op not in kernel.ops:  # overwritten, and read from the output; or not read by this kernel
            return out_name(0) if row.kind != "leaf" else "...", ()
        return "" if row.name in UNSEEN else row.name.strip("_"), row.inputs

    def type_of(op: int) -> str:
        return f"{inspection.ops[op].dtype}{list(inspection.ops[op].shape)}" if op >= 0 else "temporary"

    results = [expression(op, parts_of, shown) for op in values[1] if op >= 0]
    reads, writes = ([type_of(op) for op in side] for side in values)
    text = plain_lines(comment(kernel.name, results, reads, writes))
    op = inspection.ops[kernel.head] if kernel.head >= 0 else None
    if op is not None and op.site >= 0:
        site = inspection.sites[op.site]
        text += f"// {plain(site.file)}:{site.line}: {plain(site.text).strip()}\n"
    return text + inspection.shaders[kernel.shader].wgsl


def plain_lines(text: str) -> str:
    """Apply `plain` to each line."""
    return "".join(f"{plain(line)}\n" for line in text.splitlines())


def line_of(inspection: Inspection, k: KernelRow) -> str:
    """Return the line of Python of a kernel's head."""
    op = inspection.ops[k.head] if k.head >= 0 else None
    if op is None or op.site < 0:
        return ""
    site = inspection.sites[op.site]
    return f"{Path(site.file).name}:{site.line} {op.call}".rstrip()
