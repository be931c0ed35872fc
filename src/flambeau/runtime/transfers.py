"""Transfers: leaves that take another device's value, and the waves in which such a graph runs."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, TypeVar
from weakref import ReferenceType, WeakKeyDictionary, ref

from ..core.events import stage
from ..core.node import Node, inputs_first
from ..core.op import OPS, check_held
from ..device.protocol import Device

Planned = TypeVar("Planned")
SEVERAL = "it computes on several devices: record a function for each device"
# A leaf without a value -> the node of another device whose value it takes.
pending: WeakKeyDictionary[Node, Node] = WeakKeyDictionary()
# Its dict, which is empty in a program that uses one device: each run tests it, in a tenth of the time.
waiting: dict[Any, Node] = vars(pending)["data"]
# A node -> its leaves on other devices, by device: blocks that read one mask share one transfer.
_leaves: WeakKeyDictionary[Node, dict[Any, ReferenceType[Node]]] = WeakKeyDictionary()


@dataclass
class Wave:
    """A step of a run over several devices: `moves` are carried out, then `roots` are computed.

    moves: leaves, each with the node whose value it takes. The roots are nodes of any device.
    """

    moves: list[tuple[Node, Node]] = field(default_factory=list[tuple[Node, Node]])
    roots: dict[Node, None] = field(default_factory=dict[Node, None])


def leaf_on(device: Device, source: Node) -> Node:
    """A leaf of `device` that has the value of another device's node once a run needs it."""
    leaves = _leaves.setdefault(source, {})
    before = leaves.get(device)
    leaf = before() if before is not None else None
    if leaf is None:
        check_held(source.dtype, device)
        leaf = Node(OPS["buffer"], (), {}, source.shape, source.dtype, device)
        # A chain without values may go over devices: its depth is that of all of it.
        leaf.depth = source.depth
        leaves[device], pending[leaf] = ref(leaf), source
    return leaf


def waves(roots: list[Node]) -> list[Wave]:
    """The steps that compute `roots`, whose graphs may contain pending leaves.

    A wave also stores those of its values that later waves of the same device read, such as activations for
    their gradients: no wave computes a value again. Other threads may compute nodes meanwhile, which removes
    work but adds none.
    """
    levels: dict[Node, int] = {}
    order = list(inputs_first(roots, _before))
    for n in order:
        levels[n] = _level(n, levels)
    out = [Wave() for _ in range(max(levels.values(), default=-1) + 1)]
    for n in order:
        if n.buffer is not None:
            continue
        source = pending.get(n)
        if source is not None:
            out[levels[n]].moves.append((n, source))
            if source.buffer is None:
                out[levels[source]].roots[source] = None
            continue
        for stored in _stored([i for i in n.inputs if levels[i] < levels[n]]):
            out[levels[stored]].roots[stored] = None
    for n in roots:
        if n.buffer is None and n not in pending:
            out[levels[n]].roots[n] = None
    return out


def _before(node: Node) -> tuple[Node, ...]:
    if node.buffer is not None:
        return ()
    source = pending.get(node)
    return (*node.after, *node.inputs) if source is None else (source,)


def _level(node: Node, levels: dict[Node, int]) -> int:
    """The wave that computes a node: -1 if it has its value."""
    if node.buffer is not None:
        return -1
    source = pending.get(node)
    if source is not None:
        return levels[source] + 1
    return max([0, *(levels[n] for n in _before(node))])


def _stored(nodes: list[Node]) -> Iterator[Node]:
    """The values to store so that a later wave can read `nodes`: views, deliberately recomputed copies,
    numbers and indices are computed again from their inputs."""
    todo = list(nodes)
    while todo:
        n = todo.pop()
        if n.buffer is not None or n.device is None or n.op.kind in ("source", "leaf"):
            continue
        if n.op.kind == "movement" or n.again or any(i in pending for i in n.inputs):
            todo += n.inputs
        else:
            yield n


def describe(source: Device, target: Device, nbytes: int) -> str:
    """The text of a transfer in plans and inspections."""
    return f"transfer {short_name(source)} -> {short_name(target)}, {nbytes:,} bytes"


def short_name(device: Device) -> str:
    """The name of a device by its number: gpu:0."""
    return device.name if device.index is None else f"{device.type}:{device.index}"


class _Promised:
    """Stands for the buffer of a value that an earlier wave computes, while later waves are planned."""

    shared, doubt, handle = True, None, 0

    def __init__(self, nbytes: int):
        self.nbytes = nbytes


def plan_waves(roots: list[Node], plan: Callable[[Device, list[Node]], Planned]) -> list[str | Planned]:
    """The transfers of a graph, as texts, and `plan(device, nodes)` of the nodes that each wave computes on a
    device, in order. Nothing is computed."""
    promised: list[Node] = []
    devices = {n.device for n in inputs_first(roots, _before)} - {None}
    with ExitStack() as locks:  # no thread sees a promise
        for device in sorted(devices, key=lambda d: d.name):
            locks.enter_context(device.lock)
        try:
            return [part for wave in waves(roots) for part in _plan_wave(wave, plan, promised)]
        finally:
            for n in promised:
                n.buffer = None


def _plan_wave(
    wave: Wave, plan: Callable[[Device, list[Node]], Planned], promised: list[Node]
) -> Iterator[str | Planned]:
    """The parts of `plan_waves` of one wave, whose values are promised afterwards (in `promised`)."""
    for leaf, source in wave.moves:
        yield describe(source.device, leaf.device, leaf.nbytes)
        _promise(leaf, promised)
    for device in dict.fromkeys(n.device for n in wave.roots):
        yield plan(device, [n for n in wave.roots if n.device is device])
    for n in wave.roots:
        _promise(n, promised)


def _promise(node: Node, promised: list[Node]) -> None:
    if node.buffer is None:
        node.buffer = _Promised(node.nbytes)
        promised.append(node)


def fill(node: Node, raw: Any) -> None:
    """Give a leaf its value: host bytes copied to its device."""
    device = node.device
    if device.kind == "cpu":
        node.buffer = device.store(raw, node.shape, node.dtype)
        return
    with stage("write"), device.lock:
        buffer = device.pool.take(node.nbytes)
        device.write(buffer.handle, raw)
        node.buffer = buffer
