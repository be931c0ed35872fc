"""The buffers of a plan: one after the other, or by their lifetimes."""

from collections.abc import Mapping
from typing import Any

from ..core.node import Node
from ..core.printing import counted
from ..device.pool import size_class
from ..errors import OutOfMemory
from ..fusion.buffers import assign, peak
from .pipeline import Compiled


def allocate_eagerly(compiled: Compiled, order: list[Node], pool: Any, held: list[Any]) -> dict[int, Any]:
    """Take buffers from the pool kernel by kernel, for other values after their last reader; name them in the
    commands. The buffers of the plan's roots, among others.

    held: gets all that are taken, to be kept until the commands are submitted. Nobody else may have them
    before, not even a signal's handler.
    """
    plan = compiled.plan
    buffers: dict[int, Any] = {i: order[i].buffer for i in plan.leaves}
    handles: dict[int, int] = {i: b.handle for i, b in buffers.items()}
    idle: dict[int, list[Any]] = {}
    before = pool.idle
    try:
        _take_in_turn(plan, pool, buffers, handles, idle, held)
    except OutOfMemory as e:
        idle.clear()
        held.clear()
        raise no_room(pool, plan, buffers, e) from None
    finally:
        pool.idle = before
    _name(compiled, handles)
    return buffers


def _take_in_turn(
    plan: Any,
    pool: Any,
    buffers: dict[int, Any],
    handles: dict[int, int],
    idle: dict[int, list[Any]],
    held: list[Any],
) -> None:
    """A buffer for what each kernel writes; those that no later one reads are idle, by their sizes, and the
    next ones to be written."""
    sizes, keep, last = dict(plan.stored), {*plan.roots, *plan.leaves}, plan.last_use
    for i, k in enumerate(plan.kernels):
        over = dict(k.over)
        for v in k.outputs:
            if v in buffers:  # parts of one result
                continue
            if v in over:
                buffer = buffers.pop(over[v])
            elif waiting := idle.get(size_class(sizes[v])):
                buffer = waiting.pop()
                buffer.nbytes = sizes[v]
                pool.idle -= buffer.size
            else:
                held.append(buffer := pool.take(sizes[v]))
            buffers[v], handles[v] = buffer, buffer.handle
        for v in k.inputs:
            if last[v] == i and v not in keep and v in buffers:
                buffer = buffers.pop(v)
                idle.setdefault(buffer.size, []).append(buffer)
                pool.idle += buffer.size


def allocate_planned(
    compiled: Compiled, order: list[Node], pool: Any, there: Mapping[int, Any] = {}
) -> dict[int, Any]:
    """`allocate_eagerly` with all lifetimes known, for commands that come again and again: buffers are the
    plan's for as long as those that are returned live.

    there: the buffers of values that have theirs already.
    """
    plan = compiled.plan
    slots = assign(plan, apart=frozenset(there))
    check_room(pool, plan, slots.nbytes + sum(b.nbytes for b in there.values()))
    taken: dict[int, Any] = {}
    try:
        for i, n in enumerate(slots.sizes):
            taken[i] = pool.take(n)
    except OutOfMemory as e:
        raise no_room(pool, plan, taken, e, slots.nbytes) from None
    buffers: dict[int, Any] = {i: order[i].buffer for i in plan.leaves}
    buffers |= there
    buffers |= {v: taken[at] for v, at in slots.of.items()}
    for k in plan.kernels:
        for v, x in k.over:
            buffers[v] = buffers[x]
    _name(compiled, {v: b.handle for v, b in buffers.items()})
    return buffers


def check_room(pool: Any, plan: Any, need: int) -> None:
    """OutOfMemory before anything runs, where a plan needs more than the budget leaves."""
    pool = pool.root
    if pool.budget is not None:
        left = pool.budget - pool.live
        if need > left:
            raise _too_much(pool, plan, need, left, f"a budget of {pool.budget:,} leaves {max(left, 0):,}")


def no_room(pool: Any, plan: Any, taken: dict[int, Any], error: OutOfMemory, need: int = 0) -> OutOfMemory:
    """Give back what was taken for a plan; what to say of a device that had no more."""
    pool, need, there = pool.root, need or peak(plan), pool.root.live
    taken.clear()
    got = there - pool.live
    told = f" ({error.reason})" if error.reason else ""
    return _too_much(pool, plan, need, got, f"{pool.device.name} gave {got:,}{told}")


def _too_much(pool: Any, plan: Any, need: int, room: int, what: str) -> OutOfMemory:
    call = f"run({counted(len(plan.kernels), 'kernel')})"
    told = f"{call}: {need:,} bytes are needed beside the {pool.live:,} in use, and {what}"
    share = 100 * max(room, 0) // need
    cure = f"about {share}% of this batch would fit" if share else "free tensors, or offload state"
    return OutOfMemory(f"{told}: {cure}")


def give(roots: list[Node], values: tuple[int, ...], buffers: dict[int, Any]) -> None:
    """Give roots the buffers of their values."""
    if len(set(values)) < len(values):
        for value in values:
            buffers[value].shared = values.count(value) > 1
    for root, value in zip(roots, values, strict=True):
        root.buffer = buffers[value]


def _name(compiled: Compiled, handles: dict[int, int]) -> None:
    """Write the buffers' numbers into the commands."""
    words = compiled.words
    for at, value in compiled.slots:
        words[at] = handles[value]
