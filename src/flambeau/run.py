"""Running: roots of the graph become values, through plan, pipelines, buffers, commands and one submit."""

import os
import threading
import weakref
from collections.abc import Mapping
from typing import Any

from . import op, stages
from .device import Arrived, get_device
from .errors import OutOfMemory
from .faults import BYTES, raise_found, raise_noted
from .node import Node, number_for, number_of, place_of_number, toposort
from .pipeline import Compiled, compile_plan, counters, patch_params, pieces
from .slots import assign, peak
from .stages import has_run, stage, submit
from .watchdog import cuts, divided
from .work import works_of

DEBUG = int(os.environ.get("FLAMBEAU_DEBUG") or 0)
PLANS_KEPT = 512
SEARCHED = 512  # nodes that are looked at to tell whether a gradient may still be asked for


class _Thread(threading.local):
    """What a thread is doing; defaults of the class, since looking for what is not there takes longest."""

    recorder: Any = None  # of the call that is being recorded

    def __init__(self):
        self.pending: dict[int, Any] = {}  # tensors it assigned to, not computed yet: they join its next run


_local = _Thread()
tuner: Any = None  # what measures variants before a graph is planned, while `autotune` is on
marks = [0]  # how often a tensor was told whether gradients are taken by it
recording: Any = None  # the recorder of the call that is being recorded, by whichever thread: there is one


def graph_key(roots: list[Node], order: list[Node], dying: frozenset[int] = frozenset()) -> tuple:
    """What two graphs share when one plan serves both: ops, shapes, dtypes, wiring, and which of its numbers
    are the same; no buffers, and not the numbers."""
    index: dict[Node, int] = {}
    key: list[int] = []
    numbers: dict[tuple, int] = {}
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


def assigned(tensor: Any, old: Node) -> None:
    """Remember that a tensor was assigned to: it gets its value with the thread's next run."""
    key, pending, mine, other = id(tensor), _local.pending, _local.recorder, recording
    if mine is not None:
        mine.note(tensor, old)
    if other is not None and other is not mine:
        other.overhear(tensor)
    pending[key] = weakref.ref(tensor, lambda _: pending.pop(key, None))


def realize(*tensors: Any) -> None:
    """Compute tensors, and all that this thread assigned to, in one submit a device."""
    if _local.recorder is not None:
        return _local.recorder.defer(tensors)
    missing = [n for t in tensors if (n := t.node).buffer is None]
    if missing or _local.pending:
        _compute_all(missing)


def realize_nodes(nodes: list[Node]) -> None:
    """`realize` of nodes: a tensor may get another one meanwhile, by another thread."""
    missing = [n for n in nodes if n.buffer is None]
    if missing or _local.pending:
        _compute_all(missing)


def _compute_all(missing: list[Node]) -> None:
    if _local.pending:
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
    if _local.recorder is None:
        for n in node.inputs:
            if n.buffer is None and n.device is not None:
                realize_nodes([n])
        node.depth = stages.fresh


op.run_deep = run_deep


def _waiting() -> list[Node]:
    """The nodes of tensors that were assigned to and are not computed yet; nobody asks for them again."""
    found, pending = [], _local.pending
    while pending:
        try:
            _, ref = pending.popitem()
        except KeyError:  # its tensor died just now
            break
        if (tensor := ref()) is not None and (node := tensor.node).buffer is None:
            found.append(node)
    return found[::-1]


def compute(device: Any, roots: list[Node]) -> None:
    """Give nodes of one device their values."""
    if device.kind == "cpu":
        with stage("compute"):
            device.compute(roots)
        has_run()
    else:
        with stage("key"):
            order = toposort(roots)
            key = graph_key(roots, order)
        compiled = plan_for(device, roots, order, key)
        with stage("encode"):
            execute(device, compiled, roots, order)
    for n in roots:
        release(n)


def release(node: Node) -> None:
    """A node with its value needs its inputs only for a gradient that may still be asked for."""
    if node.requires_grad and not node.released and node.param is None and not may_reach(node):
        node.released = True
    if not node.requires_grad or node.released or node.param is not None:
        node.inputs = node.parents = ()


def may_reach(node: Node) -> bool:
    """Whether a gradient can still flow from a node to what it was made of: not where all of that is losses
    whose graph a backward has dropped, as in a total over steps."""
    todo, seen = [node], set()
    while todo:
        n = todo.pop()
        if n in seen:
            continue
        seen.add(n)
        below = [p for p in n.parents if p.requires_grad]
        if n.param is not None or len(seen) > SEARCHED or not (below or n.released):
            return True
        todo += below
    return False


def plan_for(
    device: Any, roots: list[Node], order: list[Node], key: tuple, dying: frozenset[int] = frozenset()
) -> Compiled:
    """The compiled plan of a graph of this structure, from the device's cache when it was seen before.

    dying: the places in `order` of leaves that may be written over.
    """
    from .fuse import plan

    if tuner is not None:
        tuner(device, roots, order, key)
    cache = device.__dict__.setdefault("plans", {})
    found = cache.get(key)
    if found is None:
        with stage("plan"):
            made = plan(roots, device.limits, order, dying)
            works = works_of(made, order)
            in_time = divided(made, works, device.limits)
            works = works if in_time is made else works_of(in_time, order)
        with stage("encode"):
            found = cache[key] = compile_plan(device, in_time)
        found.works, found.cuts = works, cuts(works, device.limits)
        if len(cache) > PLANS_KEPT:
            forget(device, next(iter(cache)))
        if DEBUG:
            show(found)
    return found


def forget(device: Any, *keys: tuple) -> None:
    """Drop plans from a device's cache."""
    for key in keys:
        old = device.plans.pop(key)
        if old.uniform:
            device.free(old.uniform)


def execute(device: Any, compiled: Compiled, roots: list[Node], order: list[Node]) -> None:
    """Give values their buffers, fill the commands in and submit them."""
    # under a budget memory counts for more than the time to assign it
    (place if device.pool.budget is None else lay)(compiled, roots, order, device.pool)
    if compiled.plan.kernels:
        send_params(device, compiled, order)
        counters.submits += 1
        try:
            for works, words in pieces(compiled, compiled.words):
                submit(device, works, compiled.again(device, words))
        except Exception:
            for root in roots:  # what was not computed has no value
                root.buffer = None
            raise


def send_params(device: Any, compiled: Compiled, order: list[Node]) -> None:
    """Bring a plan's Params to the device where they are not there as they are now."""
    if compiled.sent and not compiled.patches:
        return
    patch_params(compiled.params, compiled.patches, order)
    now = compiled.params.tobytes()
    if now != compiled.sent:
        with stage("write"):
            device.write(compiled.uniform, now)
        compiled.sent = now


def place(compiled: Compiled, roots: list[Node], order: list[Node], pool: Any) -> None:
    """Take buffers from the pool kernel by kernel, each back after its last reader; name them in the
    commands."""
    plan = compiled.plan
    buffers: dict[int, Any] = {i: order[i].buffer for i in plan.leaves}
    handles: dict[int, int] = {i: b.handle for i, b in buffers.items()}
    sizes, keep, last = dict(plan.stored), set(plan.roots), plan.last_use
    pool.pinned = set()
    try:
        for i, k in enumerate(plan.kernels):
            over = dict(k.over)
            for v in k.outputs:
                if v not in buffers:  # it may be there: parts of one result
                    buffers[v] = buffers.pop(over[v]) if v in over else pool.take(sizes[v])
                    handles[v] = buffers[v].handle
            for v in k.inputs:
                if last[v] == i and v not in keep:
                    buffers.pop(v, None)
    except OutOfMemory as e:
        raise no_room(pool, plan, buffers, e) from None
    finally:
        pool.pinned = None
    _give(roots, plan.roots, buffers)
    _name(compiled, handles)


def lay(
    compiled: Compiled, roots: list[Node], order: list[Node], pool: Any, there: Mapping[int, Any] = {}
) -> list[Any]:
    """`place` with all lifetimes known, for commands that come again and again: buffers are the plan's for as
    long as the list that is returned lives.

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
    _give(roots, plan.roots, buffers)
    _name(compiled, {v: b.handle for v, b in buffers.items()})
    return list(taken.values())


def check_room(pool: Any, plan: Any, need: int) -> None:
    """OutOfMemory before anything runs, where a plan needs more than the budget leaves."""
    pool = pool.root
    if pool.budget is not None:
        left = pool.budget - pool.live
        if need > left:
            raise _too_much(pool, plan, need, left, f"a budget of {pool.budget:,} leaves {max(left, 0):,}")


def no_room(pool: Any, plan: Any, taken: dict[int, Any], error: Exception, need: int = 0) -> OutOfMemory:
    """Give back what was taken for a plan; what to say of a device that had no more."""
    pool, need, there = pool.root, need or peak(plan), pool.root.live
    taken.clear()
    got = there - pool.live
    reason = str(error).partition("(")[2].rpartition("(")[2].rstrip(")")
    told = f" ({reason})" if reason else ""
    return _too_much(pool, plan, need, got, f"{pool.device.name} gave {got:,}{told}")


def _too_much(pool: Any, plan: Any, need: int, room: int, what: str) -> OutOfMemory:
    count = f"{len(plan.kernels)} kernel{'s' * (len(plan.kernels) != 1)}"
    told = f"run({count}): {need:,} bytes are needed beside the {pool.live:,} in use, and {what}"
    share = 100 * max(room, 0) // need
    cure = f"about {share}% of this batch would fit" if share else "free tensors, or offload state"
    return OutOfMemory(f"{told}: {cure}")


def _give(roots: list[Node], values: tuple[int, ...], buffers: dict[int, Any]) -> None:
    for root, value in zip(roots, values, strict=True):
        root.buffer = buffers[value]
    if len(set(values)) < len(values):
        for value in values:
            buffers[value].shared = values.count(value) > 1


def _name(compiled: Compiled, handles: dict[int, int]) -> None:
    """Write the buffers' numbers into the commands."""
    words = compiled.words
    for at, value in compiled.slots:
        words[at] = handles[value]


def show(compiled: Compiled) -> None:
    """FLAMBEAU_DEBUG=1 prints each new plan, 2 its shaders too."""
    import sys

    from .inspection import table
    from .render import render

    print(table(compiled.plan), file=sys.stderr)
    if DEBUG > 1:
        for k in compiled.plan.kernels:
            print(f"// {k.name}\n{render(k.shader)}", file=sys.stderr)


def read(tensors: list[Any]) -> list[Any]:
    """The bytes of several tensors, with one wait a device."""
    return Fetch(tensors).wait()


class Fetch:
    """The values of several tensors as they are now, on their way to the host: `wait` or `await arrive()`.

    What kernels noted of indices that are outside comes along, and is raised.
    """

    def __init__(self, tensors: list[Any]):
        if _local.recorder is not None:
            _local.recorder.spoil("it reads values: return the tensor and read it outside")
        nodes = [t.node for t in tensors]
        realize_nodes(nodes)
        with stage("read"):
            self._begin(nodes)

    def _begin(self, nodes: list[Node]) -> None:
        self.count, self.parts = len(nodes), []
        by_device: dict[Any, list[int]] = {}
        for i, n in enumerate(nodes):
            by_device.setdefault(n.device or get_device(), []).append(i)
        for device, places in by_device.items():
            with device.lock:  # a replay may move a value to another buffer
                part, noted = _begun(device, [nodes[i] for i in places])
            self.parts.append((places, part, noted))

    def wait(self) -> list[Any]:
        with stage("read"):
            return self._in_order([part.wait() for _, part, _ in self.parts])

    async def arrive(self) -> list[Any]:
        return self._in_order([await part.arrive() for _, part, _ in self.parts])

    def _in_order(self, found: list[list[Any]]) -> list[Any]:
        out: list[Any] = [b""] * self.count
        for (places, _, noted), parts in zip(self.parts, found, strict=True):
            if noted is not None:
                device, seen = noted
                raise_noted(device, seen, parts.pop())
            for i, part in zip(places, parts, strict=True):
                out[i] = part
        return out


def _begun(device: Any, nodes: list[Node]) -> tuple[Any, tuple[Any, int] | None]:
    """A read of one device that is under way, and how many faults the device had told of, where it notes
    any."""
    if device.kind == "cpu":
        part = Arrived([device.load(n.buffer, n.dtype) for n in nodes])
        raise_found(device)
        return part, None
    asked = [(n.buffer.handle, n.nbytes) for n in nodes]
    if not device.faults:
        return device.fetch(asked), None
    return device.fetch([*asked, (device.faults, BYTES)]), (device, device.told)
