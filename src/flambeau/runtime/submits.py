"""A plan into one whose dispatches and submits end before a driver takes the GPU for hung and resets it; and
where else its submits begin."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from ..fusion.plan import Cost, Plan
from ..kernels.ir import Kernel

SECONDS = 0.5  # of one submit at most, by an estimate that is meant to be too long; Windows resets after 2
FIRST = 12  # kernels of a long plan that a GPU gets at once: it works on them while the host encodes the rest
ENOUGH = 1e5  # bytes of theirs below which they are no work: another submit would only cost the host 25 us


def seconds_of(cost: Cost, limits: Any) -> float:
    """How long a kernel takes at the least that such an adapter reaches."""
    flops, nbytes = limits.pace
    return max(cost.flops / flops, cost.nbytes / nbytes)


def divided(plan: Plan, limits: Any) -> Plan:
    """The plan with each kernel that takes too long as several, which do its workgroups in turn."""
    parts = [-(-seconds_of(cost, limits) // SECONDS) for cost in plan.costs]
    if max(parts, default=0) <= 1:
        return plan
    kernels: list[Kernel] = []
    costs: list[Cost] = []
    for k, cost, n in zip(plan.kernels, plan.costs, parts, strict=True):
        split = _split(k, int(n)) if n > 1 else [k]
        kernels += split
        costs += [_share(cost, prod(part.grid), prod(k.grid)) for part in split]
    return replace(plan, kernels=tuple(kernels), costs=tuple(costs))


def _share(cost: Cost, groups: int, of: int) -> Cost:
    """The cost of some of a kernel's workgroups."""
    reads, writes, flops = (-(-n * groups // of) for n in (cost.reads, cost.writes, cost.flops))
    return cost._replace(reads=reads, writes=writes, flops=flops)


def _split(kernel: Kernel, parts: int) -> list[Kernel]:
    """Kernels for ranges of the grid's longest side; the shader adds where its range begins."""
    axis = max(range(3), key=lambda d: kernel.grid[d])
    extent = kernel.grid[axis]
    each = -(-extent // min(parts, extent))
    if each == extent:
        return [kernel]
    s = kernel.shader
    shader = replace(
        s, params=(*s.params, ("first_group", "u32")), options=(*s.options, ("ranged", "xyz"[axis]))
    )
    ranges = []
    for first in range(0, extent, each):
        grid = [min(each, extent - first) if d == axis else n for d, n in enumerate(kernel.grid)]
        quantities = (*kernel.quantities, first)
        ranges.append(replace(kernel, shader=shader, quantities=quantities, grid=tuple(grid)))
    return ranges


def cuts(costs: Sequence[Cost], limits: Any) -> list[int]:
    """The kernels that begin another submit: what is before them takes long enough, or is the beginning of a
    long plan."""
    begins, total = [], 0.0
    is_long = len(costs) >= 2 * FIRST and sum(w.nbytes for w in costs[:FIRST]) >= ENOUGH
    first = FIRST if is_long and not limits.software else 0
    for i, w in enumerate(costs):
        mine = seconds_of(w, limits)
        if (total and total + mine > SECONDS) or (i and i == first):
            begins.append(i)
            total = 0.0
        total += mine
    return begins
