"""Inspects a call: runs it once or several times with all listeners on."""

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from time import perf_counter
from typing import Any, NamedTuple

from ..autodiff.backward import Gradients
from ..capture.jit import jit
from ..core.events import subscribe
from ..core.tree import leaves
from ..device import get_device
from ..errors import FlambeauError
from ..profiling.meter import meter_of
from ..profiling.roofline import ceilings_of
from ..runtime.run import realize
from ..runtime.transfers import short_name
from ..tensor import Tensor
from .collect import Rows
from .dispatches import CallTrace, Inputs
from .model import Inspection, TransferRow
from .parts import Calls
from .plans import PlansSeen
from .sites import Sites, Tables

KEEP = 256 << 20  # the most bytes of inputs to keep for running kernels again
NOTHING = "nothing ran on a GPU"


def inspect(
    fn: Callable[..., Any],
    *args: Any,
    runs: int = 1,
    keep: int | bool = False,
    target: str = "",
    warm: bool = False,
    **kw: Any,
) -> Inspection:
    """Call a function and record its work: layers, ops, kernels, their WGSL, times and memory.

    fn: the function, called with args and kw; a recorded function is recorded again. runs: how often to call
    it; repeats are summed. keep: whether to keep the inputs of kernels, so that they can run again; up to 256
    MB, or the given number of bytes. target: a name for the call. warm: make one call before these, which
    plans and compiles, and whose kernels' times do not count. Returns an Inspection: print it, or
    `.html(path)`, `.to_json(path)`. FlambeauError if nothing ran on a GPU, or a profile is already running.
    """
    name = target or getattr(fn, "__qualname__", type(fn).__name__)
    return inspecting(runs, keep, warm)(TargetCall(name, fn, args, kw))


class TargetCall(NamedTuple):
    """A call to inspect, and its name. is_script: the function runs a complete script."""

    target: str
    fn: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kw: dict[str, Any] = {}
    is_script: bool = False


Look = Callable[[TargetCall], Any]  # makes a call and returns an Inspection, or another result


def inspecting(runs: int = 1, keep: int | bool = False, warm: bool = False) -> Look:
    """Return a function that inspects a call. runs: how often to call it; keep, warm: as in `inspect`."""
    return lambda call: _inspect_call(call, runs, keep, warm)


def _inspect_call(target: TargetCall, runs: int, keep: int | bool, warm: bool) -> Inspection:
    name, fn, args, kw, is_script = target
    if runs < 1:
        raise ValueError(f"inspect(runs={runs}): must be at least 1: pass another number")
    warm = warm and not is_script  # a script runs once
    runs += warm
    # A recording made before has no lines of the program: record it again while listeners are on.
    call = jit(fn.__wrapped__) if hasattr(fn, "programs") else fn  # type: ignore[attr-defined]
    realize(*tensors_of((*args, *kw.values())))  # computing the arguments is not part of the call
    device = get_device()
    if device.kind == "gpu":
        meter_of(device)
    sites = Sites()
    plans = PlansSeen(sites)
    inputs = Inputs(KEEP if keep is True else int(keep)) if keep else None
    trace = CallTrace(plans, inputs)
    calls, stored_bytes = Calls(trace, sites, runs, warm), 0
    transfers = Counter[tuple[Any, ...]]()
    begin = perf_counter()
    with ExitStack() as stack:
        moves = subscribe("transfer", lambda *move: transfers.update([move]))
        for listening in (sites.watching(), plans.watching(), trace.listening(), moves):
            stack.enter_context(listening)
        for _ in range(runs):
            with calls.another():
                realize(*tensors_of(call(*args, **kw)))
            if calls.count == 1:
                trace.end_first()
            if len(sites.of_node) > stored_bytes:  # a recorded call makes no nodes
                sites.keep(plans.origins())
                stored_bytes = len(sites.of_node)
    wall = perf_counter() - begin
    if not trace.dispatches:
        raise FlambeauError(f"inspect({name}): {_why_nothing(device)}")
    if warm:
        _leave_out_first(trace)
    rows = [TransferRow(short_name(a), short_name(b), n, runs) for (a, b, n), runs in transfers.items()]
    return _build(name, wall, calls, trace, sites, tuple(rows))


def tensors_of(result: Any) -> list[Tensor]:
    """Return the tensors that a function returned."""
    tensors: list[Tensor] = []
    for leaf in leaves(result):
        if isinstance(leaf, Tensor | Gradients):
            tensors += [leaf] if isinstance(leaf, Tensor) else leaf.values()
    return tensors


def _leave_out_first(trace: CallTrace) -> None:
    """Leave out the first call's times and the kernels that only it ran, unless no later call ran any."""
    later = [one for one in trace.dispatches.values() if one.runs > one.first]
    for one in later:
        one.times, one.runs, one.first = one.times[one.first :], one.runs - one.first, 0
    if later:
        for one in trace.dispatches.values():
            if one.first:
                one.times = []  # kernels without times are left out


def _why_nothing(device: Any) -> str:
    if device.kind == "cpu":
        return f"{NOTHING}: the device is {device}: use one that runs kernels, as with FLAMBEAU_DEVICE=gpu"
    return f"{NOTHING}: it computes no tensor: return the tensors to compute"


def _build(
    name: str,
    wall: float,
    calls: Calls,
    trace: CallTrace,
    sites: Sites,
    transfers: tuple[TransferRow, ...],
) -> Inspection:
    from .again import Session

    dispatched = [one for one in trace.dispatches.values() if one.times]  # others ran after timing ended
    device = dispatched[0].device
    meter, ceilings = meter_of(device), ceilings_of(device)
    tables = Tables(sites)
    rows = Rows(trace.plans, tables)
    for one in dispatched:
        rows.add(one)
    inspection = Inspection(
        target=name,
        device=" and ".join(dict.fromkeys(str(one.device) for one in dispatched)),
        software=device.limits.software,
        warm=calls.is_warm,
        how=meter.how,
        why=meter.why,
        copy=ceilings.copy,
        fma=ceilings.fma,
        wall=wall,
        overhead=trace.own + sites.own,
        calls=calls.rows(),
        transfers=transfers,
        ops=tuple(rows.ops),
        shaders=tuple(row for _, row in rows.shaders.values()),
        kernels=tuple(rows.kernels),
        values=rows.value_rows(),
        places=rows.place_rows(),
        layers=tables.layer_rows(),
        sites=tables.site_rows(),
    )
    # The row is frozen, and the session is not part of its JSON.
    object.__setattr__(inspection, "session", Session(inspection, dispatched, trace.inputs))
    return inspection
