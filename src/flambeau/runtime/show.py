"""Showing: plans as tables, and what a device was given as WGSL text."""

from math import prod
from typing import Any

from ..codegen.render import render
from ..device.seam import Device
from ..fusion.plan import Plan


def table(plan: Plan) -> str:
    """A plan as aligned text: a line for each kernel, with what it reads, writes and how many groups run
    it."""
    rows = [("kernel", "template", "reads", "writes", "groups", "ends because")]
    for k in plan.kernels:
        reads = ", ".join(f"%{v}" for v in k.reads) or "-"
        writes = ", ".join(f"%{v}" for v in k.outputs)
        rows.append((k.name, k.shader.template, reads, writes, str(prod(k.grid)), k.ends))
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in rows]
    return "\n".join([f"{len(plan.kernels)} kernel{'s' * (len(plan.kernels) != 1)}", *lines])


def kernels_of(device: Device) -> list[dict[str, Any]]:
    """The kernels that a device was given, in order of first use: name, template, groups, WGSL."""
    rows: dict[tuple, dict[str, Any]] = {}
    for compiled in list(device.plans.values()):
        for k in compiled.plan.kernels:
            if (k.name, k.grid, k.shader) not in rows:
                row = {"name": k.name, "template": k.shader.template, "groups": list(k.grid)}
                rows[k.name, k.grid, k.shader] = row | {"wgsl": render(k.shader)}
    return list(rows.values())
