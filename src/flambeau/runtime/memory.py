"""Allocate the buffers of a plan by their lifetimes, within a budget."""

from collections.abc import Mapping
from typing import Any

from ..core.node import Node
from ..core.printing import count_text
from ..errors import OutOfMemory
from ..fusion.buffers import assign, peak
from .pipeline import Compiled


def allocate_planned(
    compiled: Compiled, order: list[Node], pool: Any, existing: Mapping[int, Any] = {}
) -> dict[int, Any]:
    """`allocate_eagerly` with known lifetimes, for commands that are replayed: the plan owns the buffers as
    long as the returned ones live.

    there: buffers of values that are allocated already.
    """
    plan = compiled.plan
    slots = assign(plan, apart=frozenset(existing))
    check_room(pool, plan, slots.nbytes + sum(b.nbytes for b in existing.values()))
    taken: dict[int, Any] = {}
    try:
        for i, n in enumerate(slots.sizes):
            taken[i] = pool.take(n)
    except OutOfMemory as e:
        raise no_room(pool, plan, taken, e, slots.nbytes) from None
    buffers: dict[int, Any] = {i: order[i].buffer for i in plan.leaves}
    buffers |= existing
    buffers |= {v: taken[slot] for v, slot in slots.of.items()}
    # In kernel order: a value written over another may itself be written over later.
    for k in plan.kernels:
        for v, x in k.over:
            buffers[v] = buffers[x]
    compiled.name_buffers({v: b.handle for v, b in buffers.items()})
    return buffers


def check_room(pool: Any, plan: Any, need: int) -> None:
    """OutOfMemory before anything runs, if a plan needs more than the budget leaves."""
    pool = pool.root
    if pool.budget is not None:
        left = pool.budget - pool.live
        if need > left:
            raise _too_much(pool, plan, need, left, f"a budget of {pool.budget:,} leaves {max(left, 0):,}")


def no_room(pool: Any, plan: Any, taken: dict[int, Any], error: OutOfMemory, need: int = 0) -> OutOfMemory:
    """Return the buffers taken for a plan to the pool, and build the error of a device without memory."""
    pool, need, live = pool.root, need or peak(plan), pool.root.live
    taken.clear()
    got = live - pool.live
    reason = f" ({error.reason})" if error.reason else ""
    return _too_much(pool, plan, need, got, f"{pool.device.name} allocated {got:,}{reason}")


def _too_much(pool: Any, plan: Any, need: int, room: int, limit: str) -> OutOfMemory:
    call = f"run({count_text(len(plan.kernels), 'kernel')})"
    rule = f"{call}: {need:,} bytes are needed beside the {pool.live:,} in use, but {limit}"
    # Activations grow linearly with the batch, so the share of the memory is that of the batch.
    share = 100 * max(room, 0) // need
    cure = f"use about {share}% of this batch" if share else "free tensors, or offload state"
    return OutOfMemory(f"{rule}: {cure}")
