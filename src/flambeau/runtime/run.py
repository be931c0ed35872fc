"""Running: roots of the graph become values, through plan, pipelines, buffers, commands and one submit."""

import os
from collections.abc import Callable
from typing import Any

from ..codegen.render import render
from ..core import events, op
from ..core.events import has_run, stage, submit
from ..core.faults import doubt_of
from ..core.node import Node, number_for, number_of, place_of_number, reached, toposort
from ..device import get_device
from ..device.protocol import Device, Gpu
from ..errors import FlambeauError
from ..fusion.planner import plan
from .memory import allocate_eagerly, allocate_planned, give
from .pipeline import Compiled, compile_plan, counters, cuts, divided, patch_params, submits_of
from .state import shared, thread

PLANS_KEPT = 512
SEARCHED = 512  # nodes that are looked at to tell whether a gradient may still be asked for


def _debug_level() -> int:
    wanted = os.environ.get("FLAMBEAU_DEBUG") or "0"
    if wanted not in ("0", "1", "2"):
        raise FlambeauError(f"FLAMBEAU_DEBUG={wanted}: unknown: use 1 or 2, or unset it")
    return int(wanted)


DEBUG = _debug_level()


def graph_key(roots: list[Node], order: list[Node], dying: frozenset[int] = frozenset()) -> tuple[Any, ...]:
    """What two graphs share when one plan serves both: ops, shapes, dtypes, wiring, and which of its numbers
    are the same; no buffers, and not the numbers."""
    index: dict[Node, int] = {}
    key: list[int] = []
    numbers: dict[tuple[Any, ...], int] = {}
    for i, n in enumerate(order):
        index[n] = i
        if n.buffer is not None:
            key.append(number_for(("leaf", n.shape, n.dtype.short)))
            continue
        key.append(number_of(n) if n.sig is None else n.sig)
        for x in n.inputs:
            key.append(~index[x])
        if n.scalars and n.op.name == "constant":
            first = place_of_number(n, i, numbers)
            if first != i:
                key.append(~first)
    key.append(-1)
    key += [index[r] for r in roots]
    if dying:
        key += [-1, *sorted(dying)]
    return tuple(key)


def realize(*tensors: Any) -> None:
    """Compute tensors, and all that this thread assigned to, in one submit a device."""
    if thread.recorder is not None:
        return thread.recorder.defer(tensors)
    missing = [n for t in tensors if (n := t.node).buffer is None]
    if missing or thread.pending:
        _compute_all(missing)


def realize_nodes(nodes: list[Node]) -> None:
    """`realize` of nodes: a tensor may get another one meanwhile, by another thread."""
    missing = [n for n in nodes if n.buffer is None]
    if missing or thread.pending:
        _compute_all(missing)


def _compute_all(missing: list[Node]) -> None:
    if thread.pending:
        missing += _waiting()
    by_device: dict[Any, list[Node]] = {}
    for n in dict.fromkeys(missing):
        by_device.setdefault(n.device or get_device(), []).append(n)
    for device, roots in by_device.items():
        with device.lock:
            todo = [n for n in roots if n.buffer is None]  # another thread may have been quicker
            if todo:
                compute(device, todo)
        device.keep_pace()


def run_deep(node: Node) -> None:
    """Give the inputs of a node that is far above all values theirs, unless a call is being recorded."""
    if thread.recorder is None:
        for n in node.inputs:
            if n.buffer is None and n.device is not None:
                realize_nodes([n])
        node.depth = events.fresh


op.run_deep = run_deep


def _waiting() -> list[Node]:
    """The nodes of tensors that were assigned to and are not computed yet; nobody asks for them again."""
    nodes, pending = [], thread.pending
    while pending:
        try:
            _, ref = pending.popitem()
        except KeyError:  # its tensor died just now
            break
        if (tensor := ref()) is not None and (node := tensor.node).buffer is None:
            nodes.append(node)
    return nodes[::-1]


def compute(device: Device, roots: list[Node]) -> None:
    """Give nodes of one device their values."""
    if device.kind == "cpu":
        with stage("compute"):
            device.compute(roots)
        has_run()
    else:
        (thread.computing or by_plan)(device, roots)
    for n in roots:
        release(n)


def by_plan(device: Gpu, roots: list[Node]) -> None:
    """Compute nodes of a GPU by the plan of their graph."""
    with stage("key"):
        order = toposort(roots)
        key = graph_key(roots, order)
    compiled = plan_for(device, roots, order, key)
    with stage("encode"):
        execute(device, compiled, roots, order)


def release(node: Node) -> None:
    """A node with its value needs its inputs only for a gradient that may still be asked for."""
    if node.requires_grad and not node.released and node.param is None and not may_reach(node):
        node.released = True
    if not node.requires_grad or node.released or node.param is not None:
        node.inputs = node.parents = ()


def may_reach(node: Node) -> bool:
    """Whether a gradient can still flow from a node to what it was made of: not where all of that is losses
    whose graph a backward has dropped, as in a total over steps."""

    def below(n: Node) -> list[Node]:
        return [p for p in n.parents if p.requires_grad]

    ways = enumerate(reached([node], below))
    return any(n.param is not None or i >= SEARCHED or not (n.released or below(n)) for i, n in ways)


def plan_for(
    device: Gpu,
    roots: list[Node],
    order: list[Node],
    key: tuple[Any, ...],
    dying: frozenset[int] = frozenset(),
) -> Compiled:
    """The compiled plan of a graph of this structure, from the device's cache when it was seen before.

    dying: the places in `order` of leaves that may be written over.
    """
    if shared.tuner is not None:
        shared.tuner(device, roots, order, key)
    cache = device.plans
    compiled = cache.get(key)
    known = set(device.pipelines) if events.has_listener("plan") else ()
    if compiled is None:
        with stage("plan"):
            planned = plan(roots, device.limits, order, dying)
            in_time = divided(planned, device.limits)
        with stage("encode"):
            compiled = cache[key] = compile_plan(device, in_time)
        compiled.cuts = cuts(in_time.costs, device.limits)
        if len(cache) > PLANS_KEPT:
            forget(device, next(iter(cache)))
        if DEBUG:
            show(compiled)
    events.emit("plan", compiled, roots, order, dying, known)
    return compiled


def forget(device: Gpu, *keys: tuple[Any, ...]) -> None:
    """Drop plans from a device's cache."""
    for key in keys:
        old = device.plans.pop(key)
        if old.uniform:
            device.free(old.uniform)


def send(device: Gpu, compiled: Compiled) -> None:
    """Submit a plan's commands, whose buffers are filled in."""
    for costs, words in submits_of(compiled, compiled.words):
        submit(device, costs, compiled.again(device, words))


def execute(
    device: Gpu,
    compiled: Compiled,
    roots: list[Node],
    order: list[Node],
    send: Callable[[Gpu, Compiled], None] = send,
) -> None:
    """Give values their buffers, fill the commands in and submit them."""
    compiled = compiled.own(device)
    try:
        _execute(device, compiled, roots, order, send)
    finally:
        compiled.is_running = False


def _execute(
    device: Gpu,
    compiled: Compiled,
    roots: list[Node],
    order: list[Node],
    send: Callable[[Gpu, Compiled], None],
) -> None:
    pool, plan, held = device.pool, compiled.plan, []
    if pool.budget is None:
        buffers = allocate_eagerly(compiled, order, pool, held)
    else:  # memory counts for more than the time to assign it
        buffers = allocate_planned(compiled, order, pool)
    if plan.kernels:
        send_params(device, compiled, order)
        counters.submits += 1
        send(device, compiled)
        if device.faults:  # it has run kernels that check indices
            doubt = doubt_of(device, compiled.checks, [order[i].buffer for i in plan.leaves])
            for v in set(plan.roots).difference(plan.leaves) if doubt is not None else ():
                buffers[v].doubt = doubt
    give(roots, plan.roots, buffers)  # what was not computed, or not all of it, has no value


def send_params(device: Gpu, compiled: Compiled, order: list[Node]) -> None:
    """Bring a plan's Params to the device where they are not there as they are now."""
    if compiled.sent and not compiled.patches:
        return
    patch_params(compiled.params, compiled.patches, order)
    now = compiled.params.tobytes()
    if now != compiled.sent:
        compiled.sent = b""  # unknown, if it is interrupted
        with stage("write"):
            device.write(compiled.uniform, now)
        compiled.sent = now


def show(compiled: Compiled) -> None:
    """FLAMBEAU_DEBUG=1 prints each new plan, 2 its shaders too."""
    import sys

    from .show import table

    print(table(compiled.plan), file=sys.stderr)
    if DEBUG > 1:
        for k in compiled.plan.kernels:
            print(f"// {k.name}\n{render(k.shader)}", file=sys.stderr)
