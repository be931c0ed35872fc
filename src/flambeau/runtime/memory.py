"""Allocate the buffers of a plan, kernel by kernel or by their lifetimes."""

from collections.abc import Mapping
from typing import Any

from ..core.node import Node
from ..core.printing import count_text
from ..device.pool import size_class
from ..errors import OutOfMemory
from ..fusion.buffers import assign, peak
from .pipeline import Compiled


def allocate_eagerly(compiled: Compiled, order: list[Node], pool: Any, held: list[Any]) -> dict[int, Any]:
    """Take buffers from the pool kernel by kernel, reuse them after their last reader, and write them into
    the commands. Returns buffers by value, among them those of the plan's roots.

    held: all buffers that are taken are appended to it, to be kept until the commands are submitted. Until
    then no other run may get them, not even one in a signal handler.
    """
    plan = compiled.plan
    buffers: dict[int, Any] = {i: order[i].buffer for i in plan.leaves}
    handles: dict[int, int] = {i: b.handle for i, b in buffers.items()}
    idle: dict[int, list[Any]] = {}
    # `pool.idle` counts bytes for reports. An error in the middle must not leave it changed.
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
    """Take a buffer for each value that a kernel writes. Buffers that no later kernel reads become idle, by
    size, and are used first."""
    sizes, keep, last = dict(plan.stored), {*plan.roots, *plan.leaves}, plan.last_use
    for i, k in enumerate(plan.kernels):
        over = dict(k.over)
        for v in k.outputs:
            if v in buffers:  # several outputs in one buffer
                continue
            # The kernel writes over an input that it is the last to read (see fusion/inplace.py).
            if v in over:
                buffer = buffers.pop(over[v])
            elif waiting := idle.get(size_class(sizes[v])):
                # Reuse within the plan needs no synchronisation: commands of a queue run in order.
                buffer = waiting.pop()
                buffer.nbytes = sizes[v]
                pool.idle -= buffer.size
            else:
                held.append(buffer := pool.take(sizes[v]))
            buffers[v], handles[v] = buffer, buffer.handle
        for v in k.inputs:
            # Freed after the outputs are taken, so that no output shares a buffer with an input of its
            # kernel.
            if last[v] == i and v not in keep and v in buffers:
                buffer = buffers.pop(v)
                idle.setdefault(buffer.size, []).append(buffer)
                pool.idle += buffer.size


def allocate_planned(
    compiled: Compiled, order: list[Node], pool: Any, there: Mapping[int, Any] = {}
) -> dict[int, Any]:
    """`allocate_eagerly` with known lifetimes, for commands that are replayed: the plan owns the buffers as
    long as the returned ones live.

    there: buffers of values that are allocated already.
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
    # In kernel order: a value written over another may itself be written over later.
    for k in plan.kernels:
        for v, x in k.over:
            buffers[v] = buffers[x]
    _name(compiled, {v: b.handle for v, b in buffers.items()})
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
    pool, need, there = pool.root, need or peak(plan), pool.root.live
    taken.clear()
    got = there - pool.live
    reason = f" ({error.reason})" if error.reason else ""
    return _too_much(pool, plan, need, got, f"{pool.device.name} allocated {got:,}{reason}")


def _too_much(pool: Any, plan: Any, need: int, room: int, limit: str) -> OutOfMemory:
    call = f"run({count_text(len(plan.kernels), 'kernel')})"
    rule = f"{call}: {need:,} bytes are needed beside the {pool.live:,} in use, but {limit}"
    # Activations grow linearly with the batch, so the share of the memory is that of the batch.
    share = 100 * max(room, 0) // need
    cure = f"use about {share}% of this batch" if share else "free tensors, or offload state"
    return OutOfMemory(f"{rule}: {cure}")


def give(roots: list[Node], values: tuple[int, ...], buffers: dict[int, Any]) -> None:
    """Assign the buffers of their values to the roots."""
    if len(set(values)) < len(values):
        for value in values:
            # A shared buffer is never written in place.
            buffers[value].shared = values.count(value) > 1
    for root, value in zip(roots, values, strict=True):
        root.buffer = buffers[value]


def _name(compiled: Compiled, handles: dict[int, int]) -> None:
    """Write the numbers of the buffers into the commands."""
    words = compiled.words
    for at, value in compiled.slots:
        words[at] = handles[value]
