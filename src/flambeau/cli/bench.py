"""`flambeau bench`: measures the goals' workloads on an adapter, and with PyTorch if it has a GPU."""

import gc
import json
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import click

from ..errors import FlambeauError
from ..profiling.meter import capture
from ..profiling.report import si
from ..profiling.roofline import Ceilings, keep, measure_ceilings, steady
from ..profiling.timing import WARM, per_run, runs_to_fill
from .workloads import NotHere, Task, Tools, Workload, duration, tasks

Row = dict[str, Any]

COLUMNS = (("work", 44), ("time", 9), ("rate", 14), ("of peak", 8), ("torch", 9), ("times", 6), ("goal", 0))
# seconds for one measurement, by Task.how
BUDGET = {"kernels": 0.1, "host": 0.1, "read": 0.1, "step": 0.6, "process": 1.5}
MISSED = (FlambeauError, ValueError, TypeError, RuntimeError, AttributeError, MemoryError)


@click.command(short_help="Measure this adapter against the project's goals.")
@click.option("--only", multiple=True, metavar="NAME", help="Part of a workload's name; may be repeated.")
@click.option(
    "--beside", type=click.Choice(["torch", "none"]), help="The peer; default: torch if it has a GPU."
)
@click.option("--device", help="The adapter, as in FLAMBEAU_DEVICE.")
@click.option("--seconds", default=60.0, show_default=True, help="Start no workload after this many seconds.")
@click.option("--json", "path", type=click.Path(dir_okay=False, path_type=Path), help="Write rows to FILE.")
def bench(only: tuple[str, ...], beside: str | None, device: str | None, seconds: float, path: Path | None):
    """Measure this adapter's ceilings, and the workloads in the project's goals.

    A software adapter gets smaller sizes, and only the goals for host time apply there.

    Example: flambeau bench --only matmul --json bench.json
    """
    from ..device import get_device

    tasks, place = select_tasks(only), get_device(device)
    if place.kind != "gpu":
        raise FlambeauError(f"bench: {place} is not an adapter: see 'flambeau doctor'")
    begin = perf_counter()
    # Measured now, not read from the cache: the fractions below refer to this run.
    ceilings = keep(place, measure_ceilings(place))
    software = place.limits.software
    peer = peer_tools(beside, software)
    click.echo(heading(place, ceilings, peer, software))
    rows: list[dict[str, Any]] = []
    for row in measure_all(tasks, place, ceilings, peer, begin + seconds):
        rows.append(row)
        click.echo(line(cells(row)))
    if path:
        report = {"device": str(place), "copy": ceilings.copy, "fma": ceilings.fma, "rows": rows}
        path.write_text(json.dumps(report, indent=2), encoding="utf-8")


def select_tasks(only: tuple[str, ...]) -> list[Task]:
    """Return the tasks whose names contain one of the words; FlambeauError without a match."""
    all_tasks = tasks()
    matching = [t for t in all_tasks if not only or any(word.lower() in t.name.lower() for word in only)]
    if not matching:
        names = "; ".join(t.name for t in all_tasks)
        raise FlambeauError(f"bench --only {' '.join(only)}: no such workload: choose: {names}")
    return matching


def peer_tools(beside: str | None, software: bool) -> Tools | None:
    """Open PyTorch if --beside asks for it, or if it is installed and has a GPU. It computes in float32,
    not TensorFloat-32."""
    if beside == "none" or (beside is None and (software or find_spec("torch") is None)):
        return None
    try:
        torch = import_module("torch")
    except ImportError as e:
        raise FlambeauError(f"bench --beside torch: {e}: pip install torch") from e
    if beside is None and not torch.cuda.is_available():
        return None
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    return Tools(torch, "cuda" if torch.cuda.is_available() else "cpu")


# --- measuring ---


def measure_all(wanted: list[Task], place: Any, ceilings: Ceilings, peer: Any, until: float) -> Iterator[Row]:
    import flambeau

    ours = Tools(flambeau, place)
    for task in wanted:
        sizes = task.software if place.limits.software else task.gpu
        # A software adapter can meet only goals for the host.
        goal = task.goal if task.goal and (task.goal.everywhere or not place.limits.software) else None
        row: Row = {"name": task.name, "size": list(sizes), "goal": str(goal or "")}
        if perf_counter() > until:
            yield row | {"missing": "not started: out of time (--seconds)"}
            continue
        try:
            row |= figures(task, ours, sizes, ceilings)
        except NotHere as e:
            yield row | {"missing": f"not on this adapter: {e}"}
            continue
        except MISSED as e:
            yield row | {"missing": f"failed: {str(e).splitlines()[0][:120]}"}
            continue
        if peer is not None:
            row |= beside_peer(task, peer, sizes)
        gc.collect()
        place.pool.trim()
        if goal:
            row["met"] = goal.is_met(row["seconds"], row["rate"], row["of_copy"], row.get("peer"))
        yield row


def figures(task: Task, ours: Tools, sizes: tuple[int, ...], c: Ceilings) -> Row:
    """Measure the seconds of a task, and compute its bandwidth and operation rates from them."""
    work = task.make(ours, *sizes)
    # the peak of only this task: begin with the memory in use, and restore the overall peak afterwards
    before, ours.place.pool.peak = ours.place.pool.peak, ours.place.pool.live
    seconds = TIMED[task.how](ours, work, BUDGET[task.how])
    # the first size is the number of kernels of the recorded step
    if task.how == "host":
        seconds /= sizes[0]
    peak, ours.place.pool.peak = ours.place.pool.peak, max(before, ours.place.pool.peak)
    of_copy, rate = work.nbytes / seconds / c.copy, work.flops / seconds
    return {
        "seconds": seconds,
        "bandwidth": work.nbytes / seconds,
        "rate": rate,
        "of_copy": of_copy,
        "of_fma": rate / c.fma,
        "peak_bytes": peak,
    }


def beside_peer(task: Task, peer: Tools, sizes: tuple[int, ...]) -> Row:
    """Measure PyTorch's seconds, or return the reason why it can't run the task."""
    try:
        cuda = peer.f.cuda if peer.place == "cuda" else None
        if cuda:
            cuda.reset_peak_memory_stats()
        work = task.make(peer, *sizes)
        row: Row = {"peer": peer_seconds(task, work, cuda, BUDGET[task.how])}
        if cuda and task.how == "step":
            row["peer_peak_bytes"] = cuda.max_memory_allocated()
        return row
    except NotHere as e:
        return {"peer_missing": str(e)}
    except MISSED as e:
        return {"peer_missing": str(e).splitlines()[0][:120]}
    finally:
        gc.collect()
        if peer.place == "cuda":
            peer.f.cuda.empty_cache()


def peer_seconds(task: Task, work: Workload, cuda: Any, budget: float) -> float:
    """Time a call of PyTorch by the same method as ours, after warming up its GPU."""
    # A GPU lowers its clock when idle: warm up, as our own measurement does.
    if task.how != "kernels":
        if cuda:
            until = perf_counter() + WARM
            while perf_counter() < until:
                work.call().item()
        return median_seconds(lambda: work.call().item(), budget)

    def batch(n: int) -> None:
        for _ in range(n):
            work.call()
        if cuda:
            cuda.synchronize()

    return per_run(batch, budget, warm=cuda is not None)


def median_seconds(call: Callable[[], Any], budget: float) -> float:
    """Return the seconds of a call that waits for its result: the median over batches of calls."""

    def batch(n: int) -> float:
        begin = perf_counter()
        for _ in range(n):
            call()
        return perf_counter() - begin

    batch(1)
    # Enough calls for a sixth of the budget, so that the timer's resolution does not matter.
    n, _ = runs_to_fill(batch, budget / 6)
    left = budget
    times: list[float] = []
    while left > 0 or len(times) < 3:
        times.append(batch(n))
        left -= times[-1]
    return sorted(times)[len(times) // 2] / n


def kernels(ours: Tools, work: Workload, budget: float) -> float:
    """Time the kernels alone, replayed."""
    held, recording = capture(work.call)
    # without the feature the planner falls back to another kernel, which would be measured instead
    if not any(work.needs in w.template for w in recording.works):
        raise NotHere(f"no {work.needs} kernels")
    # The commands of one call, submitted again: neither Python nor planning is part of the time.
    seconds = steady(ours.place, recording.words, budget)
    # The results kept the buffers of the commands alive.
    del held
    return seconds


def host(ours: Tools, work: Workload, budget: float) -> float:
    """Time the host's part of a call. The GPU is idle before the call, and the host does not wait for it."""
    times: list[float] = []
    # A quarter of the budget: waiting for the GPU, which is not counted, takes the rest.
    while sum(times) < budget / 4 or len(times) < 20:
        ours.place.wait()
        begin = perf_counter()
        work.call()
        times.append(perf_counter() - begin)
    return sorted(times)[len(times) // 2]


def read(ours: Tools, work: Workload, budget: float) -> float:
    """Time reading the number that a call returns."""
    x = work.call()
    return median_seconds(lambda: x.item(), budget)


def step(ours: Tools, work: Workload, budget: float) -> float:
    """Time complete calls, each with the read of its result."""
    return median_seconds(lambda: work.call().item(), budget)


def process(ours: Tools, work: Workload, budget: float) -> float:
    return median_seconds(work.call, budget / 2)


TIMED = {"kernels": kernels, "host": host, "read": read, "step": step, "process": process}

# --- the report ---


def heading(place: Any, c: Ceilings, peer: Tools | None, software: bool) -> str:
    lines = [str(place), f"measured ceilings: copy {si(c.copy, 'B/s')}, multiply-add {si(c.fma, 'FLOP/s')}"]
    if software:
        lines.append("a software adapter: small sizes, and none of the goals for GPUs")
    if peer:
        lines.append(f"compared with torch {peer.f.__version__} on {peer.place}")
    return "\n".join([*lines, "", line(tuple(name for name, _ in COLUMNS))])


def cells(row: Row) -> tuple[str, ...]:
    """Format a row of the table as text."""
    size = "x".join(map(str, row["size"]))
    name = f"{row['name']} {size}".strip()
    if "missing" in row:
        return name, row["missing"]
    rate = si(row["rate"], "FLOP/s") if row["rate"] else ""
    rate = si(row["bandwidth"], "B/s") if row["bandwidth"] and not rate else rate
    # the limit that is nearer: a memory-bound task's bandwidth, or a compute-bound one's rate
    part = f"{max(row['of_fma'], row['of_copy']):.0%}" if rate else ""
    peer = duration(row["peer"]) if "peer" in row else ""
    times = f"{row['peer'] / row['seconds']:.2f}x" if "peer" in row else ""
    goal = str(row["goal"])
    met: Any = row.get("met")
    verdict = {True: " met", False: " MISSED"}.get(met, "")
    peaks = [row.get(k) for k in ("peak_bytes", "peer_peak_bytes")]
    memory = ", peak {} and {}".format(*(si(n, "B") for n in peaks if n)) if all(peaks) else ""
    return name, duration(row["seconds"]), rate, part, peer, times, goal + verdict + memory


def line(columns: tuple[str, ...]) -> str:
    """Align cells to the table's columns. A single cell may have any length."""
    if len(columns) == 2:
        return f"{columns[0]:<44}{columns[1]}"
    widths = [w for _, w in COLUMNS]
    parts = [columns[0].ljust(widths[0])]
    parts += [c.rjust(w) + "  " for c, w in zip(columns[1:-1], widths[1:-1], strict=True)]
    return ("".join(parts) + columns[-1]).rstrip()
