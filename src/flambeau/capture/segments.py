"""Replays a recording in segments: its first results can be read while the rest is computed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, chain, pairwise
from typing import Any
from weakref import WeakKeyDictionary

from ..core.commands import BUFFERS, COUNT, DISPATCH, PIPELINE, commands
from ..device import get_device
from ..fusion.plan import Cost
from ..runtime import run
from ..runtime.state import thread
from .bindings import Placeholder, Submit
from .jit import Arguments, Recordings
from .program import Program, Segment, SegmentedPlay


class SegmentedJit(Recordings):
    """A recorded function, as `fb.jit` makes it, whose replays can also be submitted in segments.

    nbytes: of the results that a segment completes, at least.
    """

    def __init__(self, fn: Callable[..., Any], nbytes: int):
        super().__init__(fn, "sometimes")
        self.nbytes = nbytes
        self._segments: WeakKeyDictionary[Program, list[Segment]] = WeakKeyDictionary()

    def __call__(self, *args: Any) -> Any:
        """Call the function: it is recorded, or replayed at once."""
        if thread.recorder is not None or thread.computing is not None:
            return self.fn(*args)
        return self.call(args, {})

    def begin(self, *args: Any) -> SegmentedPlay | None:
        """Begin a replay in segments. None if this call can't be replayed, or is to be checked: call the
        function instead."""
        if thread.recorder is not None or thread.computing is not None:
            return None
        arguments = Arguments(args, {})
        tensors = arguments.tensors
        device = tensors[0].device if tensors else get_device()
        if device.kind == "cpu" or arguments.has_graph or self._is_left_alone(arguments.key):
            return None
        arguments.nodes = [t.node for t in tensors]
        run.realize_nodes(arguments.nodes)
        with device.lock:
            program, _ = self._find_program(arguments.key)
            if program is None or program.is_playing or program.assigns_to(tensors):
                return None
            if program.calls + 1 >= program.due and self._can_afford(program):
                return None
            segments = self._segments.get(program)
            if segments is None:
                segments = self._segments[program] = divide(program, self.nbytes)
            program.calls += 1
            return SegmentedPlay(program, arguments.nodes, segments)


def divide(program: Program, nbytes: int) -> list[Segment]:
    """Divide a program's commands after kernels that complete results: each segment but the last completes at
    least `nbytes` of them."""
    words = program.words
    spans = [(a, b) for a, b in commands(words) if words[a] == DISPATCH]
    costs: tuple[Cost, ...] = tuple(chain.from_iterable(works for works, _ in program.submits))
    written = _last_writes(program, spans)
    complete: dict[int, list[int]] = {}  # the results after each kernel
    last = len(spans) - 1
    for position, (source, fills, _, _) in enumerate(program.outputs):
        is_written = fills and isinstance(source, Placeholder)
        complete.setdefault(written.get(source.handle, last) if is_written else last, []).append(position)
    # The program's own cuts stay: no submit may take too long.
    submit_ends = set(accumulate(len(works) for works, _ in program.submits))
    size = 0
    for kernel in sorted(complete):
        size += sum(program.outputs[i][0].nbytes for i in complete[kernel])
        if size >= nbytes:
            submit_ends.add(kernel + 1)
            size = 0
    segments: list[Segment] = []
    for i, j in pairwise([0, *sorted(submit_ends)]):
        ready = tuple(p for kernel in range(i, j) for p in complete.get(kernel, ()))
        begin = spans[i][0] if i else 0
        end = spans[j][0] if j < len(spans) else len(words)
        segments.append(Segment(costs[i:j], Submit(words[begin:end]), ready))
    return segments


def _last_writes(program: Program, spans: list[tuple[int, int]]) -> dict[int, int]:
    """Return the last kernel that writes each buffer."""
    words, written = program.words, dict[int, int]()
    for number, (begin, _) in enumerate(spans):
        count = words[begin + COUNT]
        outputs = program.device.outputs_of(words[begin + PIPELINE])
        for output in range(count - outputs, count):
            written[words[begin + BUFFERS + output]] = number
    return written
