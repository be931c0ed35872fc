"""Run a graph: compute its roots by a plan, pipelines, buffers, commands and one submit; read values."""

import os
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from ..core import events, op
from ..core import node as graph
from ..core.events import stage, submit
from ..core.faults import BYTES, Doubt, doubt_of, raise_doubted, raise_noted, raise_recorded
from ..core.node import Node, has_run, number_for, number_of, place_of_number, toposort, walk_nodes
from ..core.siblings import Siblings
from ..device import Arrived, get_device
from ..device.memory import size_class
from ..device.protocol import Device, Gpu
from ..errors import FlambeauError, OutOfMemory
from ..fusion.planner import plan
from . import transfers
from .memory import allocate_planned, no_room
from .pipeline import (
    Compiled,
    compile_early,
    compile_plan,
    counters,
    cuts,
    patch_params,
    split_long_kernels,
    submits_of,
)
from .repeated import ENOUGH, stored_again
from .state import shared, thread

PLANS_KEPT = 512
LONG = 256  # nodes of a graph some of whose kernels are compiled while others are planned
SEARCHED = 512  # nodes that are searched for a gradient that may still be computed


def _debug_level() -> int:
    level = os.environ.get("FLAMBEAU_DEBUG") or "0"
    if level not in ("0", "1", "2"):
        raise FlambeauError(f"FLAMBEAU_DEBUG={level}: unknown: use 1 or 2, or unset it")
    return int(level)


DEBUG = _debug_level()
if DEBUG > 1:  # the shaders are printed below the lines that made them
    from ..core.source_lines import record_lines

    recording = record_lines()  # kept: it ends with the process
    recording.__enter__()


def graph_key(roots: list[Node], order: list[Node], dying: frozenset[int] = frozenset()) -> tuple[Any, ...]:
    """The key of a plan: ops, shapes, dtypes, wiring, and which numbers are equal; neither the buffers nor
    the numbers."""
    index: dict[Node, int] = {}
    key: list[int] = []
    numbers: dict[tuple[Any, ...], int] = {}
    for i, n in enumerate(order):
        index[n] = i
        if n.buffer is not None:
            # A leaf counts by its shape and dtype; the plan does not depend on its value.
            key.append(number_for(("leaf", n.shape, n.dtype.short)))
            continue
        key.append(number_of(n) if n.sig is None else n.sig)
        for x in n.inputs:
            key.append(~index[x])
        if n.scalars and n.op.name == "constant":
            first = place_of_number(n, i, numbers)
            if first != i:
                # Negative words mark references, so they cannot collide with the numbers of nodes.
                key.append(~first)
    key.append(-1)
    key += [index[r] for r in roots]
    if dying:
        key += [-1, *sorted(dying)]
    return tuple(key)


def realize(*tensors: Any) -> None:
    """Compute tensors, and all that this thread assigned to, in one submit per device."""
    if thread.recorder is not None:
        return thread.recorder.defer(tensors)
    missing = [n for t in tensors if (n := t.node).buffer is None]
    if missing or thread.pending:
        _compute_all(missing)


def realize_nodes(nodes: list[Node]) -> None:
    """`realize` for nodes: another thread may assign another node to a tensor meanwhile."""
    missing = [n for n in nodes if n.buffer is None]
    if missing or thread.pending:
        _compute_all(missing)


def _compute_all(missing: list[Node]) -> None:
    missing += _read_with(missing)
    if thread.pending:
        missing += _pending_nodes()
    compute_nodes(missing)


def compute_nodes(missing: list[Node]) -> None:
    """Compute nodes of any device. Values that a graph takes from another device are moved on the way."""
    if not transfers.waiting:
        return _compute_wave(missing)
    for wave in transfers.waves(missing):
        if wave.moves:
            _carry(wave.moves)
        _compute_wave([*wave.roots])


def _carry(moves: list[tuple[Node, Node]]) -> None:
    """Give leaves the values of other devices' nodes, which are computed, by one read of each device."""
    for leaf, source in moves:
        if leaf.device.kind == source.device.kind == "cpu":  # the two libraries may share memory
            leaf.buffer = leaf.device.take(source.buffer, source.device, source.dtype)
    rest = [(leaf, source) for leaf, source in moves if leaf.buffer is None]
    for (leaf, _), raw in zip(rest, Readback([_Held(n) for _, n in rest]).wait(), strict=True):
        transfers.fill(leaf, raw)
    for leaf, source in moves:
        transfers.pending.pop(leaf, None)
        events.emit("transfer", source.device, leaf.device, leaf.nbytes)


class _Held(NamedTuple):
    """A node in place of the tensor that a read takes."""

    node: Node


def _compute_wave(missing: list[Node]) -> None:
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
    """Compute the inputs of a node that is too deep, unless a call is being recorded. The inside of a
    checkpoint is left: a gradient computes it again, which stored values would not need."""
    if thread.recorder is None:
        for n in node.inputs:
            if n.buffer is None and n.device is not None and n.segment is None:
                realize_nodes([n])
        node.depth = graph.fresh


op.run_deep = run_deep


def _pending_nodes() -> list[Node]:
    """Remove and return the nodes of tensors that were assigned to and are not computed yet."""
    nodes: list[Node] = []
    pending = thread.pending
    while pending:
        try:
            _, ref = pending.popitem()
        except KeyError:  # the last tensor was deleted meanwhile
            break
        if (tensor := ref()) is not None and (node := tensor.node).buffer is None:
            nodes.append(node)
    return nodes[::-1]


def _read_with(nodes: list[Node]) -> list[Node]:
    """The siblings to compute along with nodes that are read, if these all belong to one call."""
    siblings = nodes[0].siblings if nodes else None
    if siblings is None or any(n.siblings is not siblings for n in nodes):
        return []
    requested = set(nodes)
    return [n for n in siblings.missing() if n not in requested]


def _stored_with(order: list[Node], roots: list[Node]) -> list[Node]:
    """The siblings to store in a run, if its nodes `order` use some of them on the way to its roots.

    The first such run stores none: an optimiser's step fuses gradients with updates. The second stores those
    of its own, and those that no run has used: the norms of all gradients, read one by one, take two runs.
    """
    passed: dict[Siblings, set[Node]] = {}
    for n in order:
        if n.siblings is not None and n.buffer is None:
            passed.setdefault(n.siblings, set()).add(n)
    more: list[Node] = []
    requested = set(roots)
    for siblings, used in passed.items():
        rest = [n for n in siblings.missing() if n not in requested]
        again, siblings.was_passed = siblings.was_passed, True
        if again and any(n not in used and n.serial not in siblings.consumed for n in rest):
            more += [n for n in rest if n in used or n.serial not in siblings.consumed]
        else:
            siblings.consumed.update(n.serial for n in used)
    return more


def compute(device: Device, roots: list[Node]) -> None:
    """Compute nodes of one device."""
    if device.kind != "cpu" and thread.computing is not None:
        thread.computing(device, roots)
    else:
        with stage("key"):
            roots, order = _in_order(device, roots)
            key = graph_key(roots, order) if device.kind != "cpu" else ()
        if device.kind == "cpu":
            with stage("compute"):
                device.compute(roots, order)
            has_run()
        else:
            _run_plan(device, roots, order, key)
    for n in roots:
        release(n)


def _in_order(device: Device, roots: list[Node]) -> tuple[list[Node], list[Node]]:
    """The roots, with siblings and values of earlier runs to store in the same run, and every node that they
    need."""
    order = toposort(roots)
    if transfers.waiting:  # siblings may depend on values that are not moved yet
        return roots, order
    more = _stored_with(order, roots)
    last, thread.last_root = thread.last_root, max(thread.last_root, roots[-1].serial)
    # half of the nodes are older than an earlier run's root: runs may have computed them
    if len(order) >= ENOUGH and order[len(order) // 2].serial <= last:
        more += stored_again(order, roots, last)
    more = [n for n in dict.fromkeys(more) if (n.device or device) is device]
    return (roots, order) if not more else (roots := [*roots, *more], toposort(roots))


def compute_by_plan(device: Gpu, roots: list[Node]) -> None:
    """Compute nodes of a GPU by the plan of their graph."""
    with stage("key"):
        order = toposort(roots)
        key = graph_key(roots, order)
    _run_plan(device, roots, order, key)


def _run_plan(device: Gpu, roots: list[Node], order: list[Node], key: tuple[Any, ...]) -> None:
    thread.gpu = device
    compiled = plan_for(device, roots, order, key)
    with stage("encode"):
        execute(device, compiled, roots, order)


def release(node: Node) -> None:
    """Drop the inputs of a computed node unless a gradient may still need them."""
    if node.requires_grad and not node.released and node.param is None and not may_reach(node):
        node.released = True
    if not node.requires_grad or node.released or node.param is not None:
        node.inputs = node.parents = ()


def may_reach(node: Node) -> bool:
    """Whether a gradient can still flow from a node to its inputs. It can't if they are all losses whose
    graph backward has dropped, as in a total over steps."""

    def below(n: Node) -> list[Node]:
        return [p for p in n.parents if p.requires_grad]

    nodes = enumerate(walk_nodes([node], below))
    return any(n.param is not None or i >= SEARCHED or not (n.released or below(n)) for i, n in nodes)


def plan_for(
    device: Gpu,
    roots: list[Node],
    order: list[Node],
    key: tuple[Any, ...],
    dying: frozenset[int] = frozenset(),
) -> Compiled:
    """The compiled plan of a graph, from the device's cache if its structure is known.

    dying: positions in `order` of leaves that may be overwritten.
    """
    if shared.tuner is not None:
        shared.tuner(device, roots, order, key)
    cache = device.plans
    compiled = cache.get(key)
    known = set(device.pipelines) if events.has_listener("plan") else ()
    if compiled is None:
        with stage("plan"):
            built = partial(compile_early, device) if len(order) >= LONG else None
            split_plan = split_long_kernels(plan(roots, device.limits, order, dying, built), device.limits)
        with stage("encode"):
            compiled = cache[key] = compile_plan(device, split_plan)
        compiled.cuts = cuts(split_plan.costs, device.limits)
        if len(cache) > PLANS_KEPT:
            forget(device, next(iter(cache)))
        if DEBUG:
            show(compiled, order)
    events.emit("plan", compiled, roots, order, dying, known)
    return compiled


def forget(device: Gpu, *keys: tuple[Any, ...]) -> None:
    """Drop plans from a device's cache."""
    for key in keys:
        old = device.plans.pop(key)
        if old.uniform:
            device.free(old.uniform)


def send(device: Gpu, compiled: Compiled) -> None:
    """Submit a plan's commands, whose buffers have been written into them."""
    for costs, words in submits_of(compiled, compiled.words):
        submit(device, costs, compiled.again(device, words))


def execute(
    device: Gpu,
    compiled: Compiled,
    roots: list[Node],
    order: list[Node],
    send: Callable[[Gpu, Compiled], None] = send,
) -> None:
    """Allocate the buffers of values, write them into the commands and submit these."""
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
    pool, plan = device.pool, compiled.plan
    held: list[Any] = []
    if pool.budget is None:
        buffers = allocate_eagerly(compiled, order, pool, held)
    else:  # saving memory is worth the time to assign it
        buffers = allocate_planned(compiled, order, pool)
    if plan.kernels:
        send_params(device, compiled, order)
        counters.submits += 1
        send(device, compiled)
        if device.faults:  # the device has run kernels that check indices
            doubt = doubt_of(device, compiled.checks, [order[i].buffer for i in plan.leaves])
            for v in set(plan.roots).difference(plan.leaves) if doubt is not None else ():
                buffers[v].doubt = doubt
    give(roots, plan.roots, buffers)  # last: after an exception, roots have no value


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
    compiled.name_buffers(handles)
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


def give(roots: list[Node], values: tuple[int, ...], buffers: dict[int, Any]) -> None:
    """Assign the buffers of their values to the roots."""
    if len(set(values)) < len(values):
        for value in values:
            # A shared buffer is never written in place.
            buffers[value].shared = values.count(value) > 1
    for root, value in zip(roots, values, strict=True):
        root.buffer = buffers[value]


def send_params(device: Gpu, compiled: Compiled, order: list[Node]) -> None:
    """Write a plan's Params to the device if they have changed."""
    if compiled.sent and not compiled.patches:
        return
    patch_params(compiled.params, compiled.patches, order)
    now = compiled.params.tobytes()
    if now != compiled.sent:
        compiled.sent = b""  # unknown if the write is interrupted
        with stage("write"):
            device.write(compiled.uniform, now)
        compiled.sent = now


def show(compiled: Compiled, order: list[Node]) -> None:
    """Print a new plan; with FLAMBEAU_DEBUG=2 also its shaders."""
    import sys

    from .show import table, texts

    print(table(compiled.plan), file=sys.stderr)
    if DEBUG > 1:
        print(texts(compiled.plan, order), file=sys.stderr)


# --- reads ---


def read(tensors: list[Any]) -> list[Any]:
    """Read the bytes of several tensors, with one wait per device."""
    return Readback(tensors).wait()


class _Part(NamedTuple):
    """The read of one device."""

    places: list[int]  # the positions of its tensors
    pending: Any  # has wait() and arrive()
    settles: tuple[Any, Doubt] | None  # the device and the last doubt that the read settles, if it has faults
    doubts: set[Doubt]


class Readback:
    """A read of the present values of several tensors: `wait` for it, or `await arrive()`.

    It also reads the faults that kernels recorded, and raises their errors.
    """

    def __init__(self, tensors: list[Any]):
        if thread.recorder is not None:
            thread.recorder.spoil("it reads values: return the tensor and read it outside")
        nodes = [t.node for t in tensors]
        realize_nodes(nodes)
        with stage("read"):
            self._begin(nodes)

    def _begin(self, nodes: list[Node]) -> None:
        self.count = len(nodes)
        self.parts: list[_Part] = []
        by_device: dict[Any, list[int]] = {}
        for i, n in enumerate(nodes):
            by_device.setdefault(n.device or get_device(), []).append(i)
        for device, places in by_device.items():
            with device.lock:  # a replay may move a value to another buffer
                own_nodes = [nodes[i] for i in places]
                pending, settles = _begin_read(device, own_nodes)
                doubts = {n.buffer.doubt for n in own_nodes} - {None}
            self.parts.append(_Part(places, pending, settles, doubts))

    def wait(self) -> list[Any]:
        with stage("read"):
            return self._in_order([part.pending.wait() for part in self.parts])

    async def arrive(self) -> list[Any]:
        return self._in_order([await part.pending.arrive() for part in self.parts])

    def _in_order(self, values: list[list[Any]]) -> list[Any]:
        out: list[Any] = [b""] * self.count
        for (places, _, settles, doubts), parts in zip(self.parts, values, strict=True):
            if settles is not None:
                device, last = settles
                raise_noted(device, last, parts.pop())
            if doubts:
                raise_doubted(doubts)
            for i, part in zip(places, parts, strict=True):
                out[i] = part
        return out


def _begin_read(device: Device, nodes: list[Node]) -> tuple[Any, tuple[Any, Doubt] | None]:
    """Begin to read from one device. Returns the pending read, and the last doubt that it settles if the
    device records faults."""
    if device.kind == "cpu":
        part = Arrived([device.load(n.buffer, n.dtype) for n in nodes])
        raise_recorded(device)
        return part, None
    parts = [(n.buffer.handle, n.nbytes) for n in nodes]
    if not device.faults:
        return device.fetch(parts), None
    return device.fetch([*parts, (device.faults, BYTES)]), (device, device.doubts.begin_read())
