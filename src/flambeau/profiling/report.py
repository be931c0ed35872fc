"""Formats a Profile as text: kernels by name, the host's stages, memory, and the cost of profiling."""

from typing import Any

from ..core.printing import count_text

ROWS = 25  # the most kernels of the table
UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
STAGES = {  # stage -> its explanation
    "python": "the program itself and composed ops",
    "graph": "building nodes of ops",
    "backward": "building nodes of gradients",
    "key": "looking up the plan",
    "plan": "planning kernels",
    "render": "rendering WGSL",
    "compile": "compiling pipelines",
    "encode": "buffers, Params, commands",
    "replay": "a recorded call, without its submit",
    "write": "copying to the device",
    "submit": "submitting commands",
    "wait": "waiting in synchronize",
    "read": "waiting, and copying from the device",
    "compute": "arrays on the host",
    "profiling": "running kernels and their repeats",
}


def si(value: float, unit: str) -> str:
    """Format a number with three digits and an SI prefix: 4.12 T, 97.3 G."""
    for size, prefix in UNITS:
        if value >= size:
            return f"{value / size:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def align_columns(rows: list[tuple[str, ...]]) -> list[str]:
    """Align rows as columns, the first to the left and the others to the right."""
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    return [
        "  ".join([r[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(r[1:], widths[1:], strict=True))])
        for r in rows
    ]


def by_name(p: Any) -> list[tuple[str, int, float, int, int]]:
    """Sum kernels by name: (name, runs, seconds, bytes, operations), longest first."""
    rows: dict[str, list[Any]] = {}
    for s in p.kernels:
        row = rows.setdefault(s.work.name, [0, 0.0, 0, 0])
        row[:] = row[0] + 1, row[1] + s.seconds, row[2] + s.work.nbytes, row[3] + s.work.flops
    return sorted(((name, *row) for name, row in rows.items()), key=lambda r: -r[2])


def kernels(p: Any) -> list[str]:
    """Format the table of kernels, with the fractions of the ceilings that they reach."""
    total = p.gpu or 1e-12
    rows = [("kernel", "runs", "ms", "of GPU", "GB/s", "of copy", "GFLOP/s", "of FMA")]
    named = by_name(p)
    for name, runs, seconds, nbytes, flops in named[:ROWS]:
        speed, rate = nbytes / max(seconds, 1e-12), flops / max(seconds, 1e-12)
        c = p.ceilings
        rows.append(
            (
                name if len(name) <= 48 else name[:45] + "...",
                str(runs),
                f"{seconds * 1e3:.3f}",
                f"{seconds / total:.1%}",
                f"{speed / 1e9:.3g}",
                f"{speed / c.copy:.0%}" if c else "",
                f"{rate / 1e9:.3g}",
                f"{rate / c.fma:.0%}" if c else "",
            )
        )
    if len(named) > ROWS:
        rest = sum(r[2] for r in named[ROWS:])
        name, runs = f"{len(named) - ROWS} more names", str(sum(r[1] for r in named[ROWS:]))
        rows.append((name, runs, f"{rest * 1e3:.3f}", f"{rest / total:.1%}", "", "", "", ""))
    return align_columns(rows) if named else []


def host(p: Any) -> list[str]:
    """Format the table of the host's stages."""
    stages = sorted(p.host().items(), key=lambda item: -item[1][1])
    rows = [(name, str(n), f"{t * 1e3:.3f}", f"{t / max(p.wall, 1e-12):.1%}") for name, (n, t) in stages]
    lines = align_columns([("host", "times", "ms", "of all"), *rows])
    notes = ["", *(STAGES.get(name, "") for name, _ in stages)]
    return [f"{line}  {note}".rstrip() for line, note in zip(lines, notes, strict=True)]


def memory(p: Any) -> str:
    if not p.memory:
        return "memory: nothing was submitted"
    peak, last = max(m.peak for m in p.memory), p.memory[-1]
    return (
        f"memory: peak {si(peak, 'B')}, {si(last.live, 'B')} in use at the end,"
        f" {si(last.reserved, 'B')} allocated from the driver"
    )


def text(p: Any) -> str:
    """Format the complete report."""
    count = count_text(len(p.kernels), "kernel")
    lines = [f"{p.device}: {p.wall * 1e3:.3f} ms, GPU busy {p.gpu * 1e3:.3f} ms, {count}"]
    if p.how == "timestamps":
        lines.append("times from GPU timestamps, each kernel in a separate pass")
    elif p.how:
        lines.append(f"times by repeating each kernel ({p.why})")
    if p.ceilings:
        copy, fma = si(p.ceilings.copy, "B/s"), si(p.ceilings.fma, "FLOP/s")
        lines.append(f"ceilings measured on this adapter: copy {copy}, multiply-add {fma}")
    for block in (kernels(p), host(p)):
        lines += ["", *block] if block else []
    cost = f"profiling itself: {p.overhead * 1e3:.3f} ms of the time above"
    return "\n".join([*lines, "", memory(p), cost])
