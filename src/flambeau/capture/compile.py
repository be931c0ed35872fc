"""Compiles the kernels of a model's call without running them."""

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

from ..core import events
from ..core.commands import Dispatch
from ..core.modes import checkpoint_strategy, checkpointing
from ..core.node import toposort
from ..core.tree import is_dict, is_sequence
from ..device import IN_BROWSER, get_device
from ..device.protocol import Device, Gpu
from ..errors import FlambeauError
from ..ops.random import Noted
from ..runtime import pipeline, run
from ..runtime.state import forget_assignment, record_with
from ..tensor import Tensor
from .recorder import Recorder


def compile_call(call: Callable[[], Any]) -> int:
    """Plan and compile a call without running or assigning anything. Returns the number of its kernels."""
    recorder = Recorder(get_device())
    noted = Noted()
    mode = (
        "none" if checkpoint_strategy() == "auto" else checkpoint_strategy()
    )  # under the same modes as the call
    try:
        with record_with(recorder), noted, checkpointing(mode):
            results = list(_tensors(call()))
        if recorder.spoiled:
            raise FlambeauError(f"compile: {recorder.spoiled}")
        nodes = [t.node for t in (*results, *(t for t, _ in recorder.assigned.values()))]
    finally:
        noted.take_back()
        for t, old in recorder.assigned.values():
            # Undo assignments of the call, e.g. of an optimizer step: only its kernels are wanted.
            t.node = old
            forget_assignment(t)
    by_device: dict[Any, list[Any]] = {}
    for n in dict.fromkeys(nodes):
        if n.buffer is None:
            by_device.setdefault(n.device or get_device(), []).append(n)
    return sum(_compile_for(device, roots) for device, roots in by_device.items())


def _compile_for(device: Device, roots: list[Any]) -> int:
    if device.kind == "cpu":
        return 0
    order = toposort(roots)
    with device.lock, progress_bar():
        compiled = run.plan_for(device, roots, order, run.graph_key(roots, order))
        warm(device, compiled)
    return len(compiled.plan)


def warm(device: Gpu, compiled: pipeline.Compiled) -> None:
    """Dispatch every kernel with no workgroups, so that drivers that compile at the first use compile now."""
    most = max((len(k.inputs) + len(k.outputs) for k in compiled.plan), default=0)
    scratch = [device.pool.take(256) for _ in range(most)]
    handles = [b.handle for b in scratch]
    words: list[int] = []
    for k in {k.shader: k for k in compiled.plan}.values():
        n = len(k.inputs) + len(k.outputs)
        # A grid of 0 workgroups runs nothing, but the driver must finish its compilation.
        words += Dispatch(device.pipelines[k.shader], compiled.uniform, 0, (0, 0, 0), handles[:n]).words()
    if words:
        device.submit(words)
        if not IN_BROWSER:
            device.wait()


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif is_dict(value) or is_sequence(value):
        for v in value.values() if is_dict(value) else value:
            yield from _tensors(v)


@contextmanager
def progress_bar() -> Generator[None]:
    """Show a progress bar on the terminal while pipelines compile."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = TextColumn("compiling"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}")
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def report(done: int, of: int, name: str) -> None:
            bar.update(task, completed=done, total=of, description=name)

        with events.subscribe("pipeline", report):
            yield
