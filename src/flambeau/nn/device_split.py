"""Divides a model among devices by the bytes and the measured time of its blocks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.modes import no_grad
from ..core.tree import leaves
from ..device import get_device
from ..errors import ValueError
from ..runtime.run import realize
from ..tensor import Tensor
from . import hooks
from .routes import REST, Route, is_one_of, tensors_of, unroute

if TYPE_CHECKING:
    from .module import Module

LISTS = ("Sequential", "ModuleList", "ModuleDict")
RUNS = 3  # timed runs of each block on each device; the shortest counts


class ModelPart(NamedTuple):
    """A part of a model that stays on one device. nbytes: of its tensors. seconds: of a call, by device."""

    name: str
    nbytes: int
    seconds: tuple[float, ...] = ()


def split(model: Module, *example: Any, devices: Sequence[Any], **kw: Any) -> dict[str, Any]:
    """Divide a model among devices, in order, for `model.to(split(...))`. Returns the device of each block.

    A device's share is its part of the bytes, or with an example the mean of that and of its part of the
    time; the largest share is made as small as possible. Blocks are the entries of lists and Sequentials, in
    the order in which the example calls them. Blocks that share a tensor stay together.

    model: is not moved
    example, kw: arguments of a call, by which each block's time on each device is measured; without them only
        bytes count
    devices: their names, in the order of the model

    Raises ValueError if devices is empty, or the model has no tensors.
    """
    names = list(devices)
    if not names:
        raise ValueError("split(devices=[]): the list is empty: name at least one device")
    blocks, tied = _blocks_of(model, len(names))
    if example or kw:
        blocks = _measure(model, blocks, [get_device(d) for d in names], example, kw)
    free = [b for b in blocks if b.name not in tied]
    if not any(b.nbytes for b in free):
        raise ValueError(f"split({type(model).__name__}): it has no tensors: pass a model that has some")
    if not blocks[0].name:  # a model that can't be divided
        return {REST: names[0]}
    part_ends = _partition([_costs(b, free, len(names)) for b in free], len(names))
    placement = {b.name: names[d] for d, (a, z) in enumerate(pairwise([0, *part_ends])) for b in free[a:z]}
    placement |= {name: placement[other] for name, other in tied.items()}
    # Tensors of the modules around the blocks are used where the model begins.
    covered = [b.name for b in blocks]
    own = [n for n, _ in tensors_of(model) if not any(n == c or n.startswith(f"{c}.") for c in covered)]
    return placement | dict.fromkeys(own, names[0])


def _blocks_of(model: Module, count: int) -> tuple[list[ModelPart], dict[str, str]]:
    """The blocks of a model in order, and those that share a tensor with an earlier one, with its name."""

    def inside(name: str, m: Module) -> list[tuple[str, Module]]:
        prefix = f"{name}." if name else ""
        return [(prefix + child, c) for child, c in m.named_children() if any(True for _ in tensors_of(c))]

    def size(m: Module) -> int:
        return sum({id(t): t.nbytes for _, t in tensors_of(m)}.values())

    parts = inside("", model) or [("", model)]
    while True:
        index = next((i for i, (_, m) in enumerate(parts) if is_one_of(m, *LISTS)), -1)
        if index < 0 and len(parts) < count:  # open the largest that has several parts
            wide = [i for i, (name, m) in enumerate(parts) if inside(name, m)]
            index = max(wide, key=lambda i: size(parts[i][1]), default=-1)
        if index < 0:
            break
        parts[index : index + 1] = inside(*parts[index])
    owner: dict[int, str] = {}
    tied: dict[str, str] = {}
    for name, m in parts:
        for _, t in tensors_of(m):
            other = owner.setdefault(id(t), name)
            if other != name:
                tied.setdefault(name, tied.get(other, other))
    return [ModelPart(name, size(m)) for name, m in parts], tied


def _costs(block: ModelPart, blocks: list[ModelPart], devices: int) -> list[float]:
    """The block's part of the model on each device: of its bytes, and of its time if that was measured."""
    part = block.nbytes / max(sum(b.nbytes for b in blocks), 1)
    total = sum(min(b.seconds) for b in blocks) if block.seconds else 0.0
    return [(part + s / total) / 2 for s in block.seconds] if total else [part] * devices


def _partition(costs: list[list[float]], devices: int) -> list[int]:
    """Cut blocks into one run for each device, so that the costliest run is as cheap as possible. Returns
    where each run ends. costs: of each block on each device."""
    n = len(costs)
    # best[i]: the cost of the costliest run, and the ends, of the first i blocks on the devices so far
    best: list[tuple[float, list[int]]] = [(0.0, []), *[(float("inf"), [])] * n]
    for d in range(devices):
        sums = [0.0]
        for row in costs:
            sums.append(sums[-1] + row[d])
        best = [
            min(
                ((max(best[a][0], sums[z] - sums[a]), [*best[a][1], z]) for a in range(z + 1)),
                key=lambda o: o[0],
            )
            for z in range(n + 1)
        ]
    return best[n][1]


@no_grad()
def _measure(
    model: Module, blocks: list[ModelPart], devices: list[Any], args: tuple[Any, ...], kw: dict[str, Any]
) -> list[ModelPart]:
    """The blocks in the order of their first calls, with the seconds of these calls on each device."""
    modules: dict[str, Module] = {b.name: model.get_submodule(b.name) for b in blocks}
    calls: dict[str, tuple[Any, Any]] = {}

    def note(name: str) -> Callable[..., None]:
        def hook(_: Any, args: Any, kw: Any) -> None:
            calls.setdefault(name, (args, kw))

        return hook

    # One call of the model notes the arguments of each block, so that blocks are timed one by one.
    handles = [m.register_forward_pre_hook(note(n), with_kwargs=True) for n, m in modules.items()]
    try:
        realize(*_tensors_in(model(*args, **kw)))
    finally:
        for handle in handles:
            handle.remove()
    sizes = {b.name: b.nbytes for b in blocks}
    # In a placed model, routes would move arguments while a block is timed.
    with _without_routes(model):
        called = [ModelPart(n, sizes[n], _seconds(modules[n], *calls[n], devices)) for n in calls]
    return called + [b._replace(seconds=(0.0,) * len(devices)) for b in blocks if b.name not in calls]


@contextmanager
def _without_routes(model: Module) -> Generator[None]:
    """Inside this block, a model that is placed moves no arguments."""
    routed = [(m, dict(hooks.own_hooks(m, "forward_pre"))) for m in model.modules()]
    unroute(model)
    try:
        yield
    finally:
        for m, kinds in routed:
            if kinds:
                m._module_hooks["forward_pre"] = kinds  # pyright: ignore[reportPrivateUsage]


def _seconds(module: Module, args: Any, kw: Any, devices: list[Any]) -> tuple[float, ...]:
    """The seconds of a call on each device. The module's tensors end where they were."""
    tensors = {id(t): t for _, t in tensors_of(module)}.values()
    nodes = [(t, t.node) for t in tensors]
    out: list[float] = []
    try:
        for device in devices:
            for t, node in nodes:
                # The node is replaced, not the tensor, so that all names of a shared tensor see it.
                t.node = Tensor(node).detach().to(device).node
            near = Route(device)(module, args, kw)
            realize(*_tensors_in(near))
            # The first run compiles kernels.
            out.append(min([_time(module, near, device) for _ in range(RUNS + 1)][1:]))
    finally:
        for t, node in nodes:
            t.node = node
    return tuple(out)


def _time(module: Module, near: Any, device: Any) -> float:
    device.wait()
    begin = perf_counter()
    realize(*_tensors_in(module(*near[0], **near[1])))
    device.wait()
    return perf_counter() - begin


def _tensors_in(value: Any) -> list[Tensor]:
    return [t for t in leaves(value) if isinstance(t, Tensor)]
