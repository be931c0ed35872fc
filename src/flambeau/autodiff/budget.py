"""Memory budgets: backward passes recompute as much as needed for a step to fit."""

import re
from typing import Any

from ..core.node import Node, toposort, walk_nodes
from ..device import DeviceLike, get_device
from ..device.protocol import Gpu
from ..errors import ValueError
from ..fusion.buffers import assign
from ..fusion.planner import plan
from ..runtime import run
from .checkpoint import Tape, nodes_of_walk, recompute

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
PARTS = (2, 4, 8, 16, 32)  # numbers of checkpoints to try, if recomputing cheap values is not enough
_chosen: dict[tuple[Any, ...], int | str] = {}  # (room, structure) -> the choice that fits


class memory_budget:
    """Limit a device's memory to `size` bytes ("4GB", "512 MB", a number; None: no limit), from this call on;
    as a context, until its end.

    Backward passes recompute parts of their forward passes if that is needed to stay below the limit. A
    computation that would exceed it raises DeviceError before it runs. K, M, G and T are powers of 1024.
    """

    def __init__(self, size: str | int | None, device: DeviceLike | None = None):
        self.pool: Any = get_device(device).pool
        if self.pool is None:
            raise ValueError(
                f"memory_budget({size!r}): {get_device(device)} has no separate memory: use a GPU"
            )
        self.before, self.pool.budget = self.pool.budget, bytes_of(size)

    def __enter__(self) -> "memory_budget":
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.budget = self.before


def bytes_of(size: str | int | None) -> int | None:
    """Parse a size: "1.5 GB" -> 1610612736."""
    if size is None or (isinstance(size, int) and size > 0):
        return size
    words = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", str(size), re.IGNORECASE)
    if not words or not float(words[1]):
        raise ValueError(f"memory_budget({size!r}): is not a size: pass '4GB', '512MB' or a number of bytes")
    return int(float(words[1]) * UNITS[words[2].upper()])


def fit(tops: list[Node], gradients: list[Node], tape: Tape, device: Gpu) -> None:
    """Let gradients read recomputed forward values until the step fits the device's budget: none, all cheap
    ones, or all inside an increasing number of checkpoints."""
    # Bytes left for this step: parameters and optimiser states are already allocated.
    room = (device.pool.budget or 0) - device.pool.live
    roots = [n for n in dict.fromkeys([*tops, *gradients]) if n.buffer is None]
    # A step of the same structure and room gets the same choice without planning again.
    key = (room, *run.graph_key(roots, toposort(roots)))
    if key in _chosen:
        _change(_chosen[key], tops, gradients, tape)
        return
    needs: dict[int | str, int] = {}
    before = [(n, n.inputs) for n in nodes_of_walk(gradients, tape)]
    for choice in ("none", "balanced", *PARTS):
        marked = _change(choice, tops, gradients, tape)
        needs[choice] = assign(plan(roots, device.limits)).nbytes  # the plan's memory, without running it
        if needs[choice] <= room:
            break
        # The attempt did not fit: undo its changes to the graph before the next one.
        for n, inputs in before:
            n.inputs = inputs
        for n in marked:
            n.segment = None
    else:
        choice = min(needs, key=lambda h: needs[h])  # the run reports that it does not fit
        _change(choice, tops, gradients, tape)
    _chosen[key] = choice


def _change(choice: int | str, tops: list[Node], gradients: list[Node], tape: Tape) -> list[Node]:
    marked = _mark(tops, choice) if isinstance(choice, int) else []
    recompute(gradients, tape, choice != "none")
    return marked


def _mark(tops: list[Node], parts: int) -> list[Node]:
    """Cut a forward pass into parts of equal bytes, and make all but the last checkpoints. Values that later
    parts read are kept. Returns the nodes inside the checkpoints."""
    nodes = sorted(_forward(tops), key=lambda n: n.serial)
    # Checkpoints of equal bytes, as in Chen et al., 2016 (arXiv:1604.06174).
    share, sofar = sum(n.nbytes for n in nodes) / parts, 0.0
    part: dict[Node, int] = {}
    for n in nodes:
        part[n] = min(int(sofar / max(share, 1)), parts - 1)
        sofar += n.nbytes
    last = dict(part)
    for n in nodes:
        for x in {*n.inputs, *n.parents}:
            # A value that a later part reads is kept: it is the input of that checkpoint.
            if x in last:
                last[x] = max(last[x], part[n])
    # the last part is not a checkpoint: its gradients come first and read its values at once
    segments = [object() for _ in range(parts - 1)]
    top_set = set(tops)
    inside = [n for n in nodes if part[n] == last[n] < parts - 1 and n.segment is None and n not in top_set]
    for n in inside:
        n.segment = segments[part[n]]
    return inside


def _forward(tops: list[Node]) -> set[Node]:
    def is_computed(n: Node) -> bool:
        return n.buffer is None and n.param is None

    return set(walk_nodes(filter(is_computed, tops), lambda n: filter(is_computed, (*n.inputs, *n.parents))))
