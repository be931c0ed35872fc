"""Print plans as tables."""

from math import prod

from ..core.printing import counted
from ..fusion.plan import Plan


def table(plan: Plan) -> str:
    """A plan as an aligned table: each kernel with the values that it reads and writes and its workgroups."""
    rows = [("kernel", "template", "reads", "writes", "groups", "ends because")]
    for k in plan.kernels:
        reads = ", ".join(f"%{v}" for v in k.reads) or "-"
        writes = ", ".join(f"%{v}" for v in k.outputs)
        rows.append((k.name, k.shader.template, reads, writes, str(prod(k.grid)), k.ends))
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in rows]
    return "\n".join([counted(len(plan.kernels), "kernel"), *lines])
