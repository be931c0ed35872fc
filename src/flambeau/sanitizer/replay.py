"""Compares a plain call of a function with recorded and replayed ones from the same state."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..capture.jit import jit
from ..core.host import to_numpy
from ..core.node import Node, describe, next_serial
from ..differences import differences, of_largest
from ..inspector.call import tensors_of
from ..ops.random import get_rng_state, set_rng_state
from ..runtime import run
from ..runtime.state import note_assignment, overhear, overhear_with
from ..tensor import Tensor
from .report import Checked, Wrong

TURNS = ("recorded", "replayed")


class Replay:
    """A call, and the tensors that it assigns to."""

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...], kw: dict[str, Any]):
        self.fn = getattr(fn, "__wrapped__", fn) if hasattr(fn, "programs") else fn  # recorded again
        self.args, self.kw = args, kw
        self.start = next_serial()
        self.before: dict[int, tuple[Tensor, Node]] = {}

    def overhear(self, t: Tensor, old: Node) -> None:
        """A tensor is assigned to; `old` is the node it had."""
        # Older than the call: a state from outside; later calls start from its first value.
        if old.serial < self.start:
            self.before.setdefault(id(t), (t, old))

    def first(self) -> Any:
        """The plain call; records which tensors it assigns to."""
        self.random = get_rng_state()
        with overhear():
            overhear_with(self)
            result = self.fn(*self.args, **self.kw)
        run.realize(*(t for t, _ in self.before.values()))
        self.after = [(t, t.node) for t, _ in self.before.values()]
        return result

    def compare(self, report: Checked) -> None:
        """Call it plainly, recorded and replayed, and add the first result that differs."""
        last = get_rng_state()
        recorded = jit(self.fn)
        try:
            plain = self._call(self.fn)
            for turn in TURNS:
                wrong = _first_difference(plain, self._call(recorded), turn)
                if wrong is not None:
                    report.wrong.append(wrong)
                    break
        finally:
            # The caller sees the state after one call, as if it had not been repeated.
            self._put(self.after)
            set_rng_state(last)
        report.replayed = bool(recorded.programs)  # type: ignore[attr-defined]

    def _call(self, fn: Callable[..., Any]) -> dict[str, Any]:
        """The results of a call from the state before the first, and the values it assigns, by name."""
        self._put(list(self.before.values()))
        set_rng_state(self.random)
        result = fn(*self.args, **self.kw)
        results = {f"result {i}": x for i, x in enumerate(tensors_of(result))}
        results |= {f"assigned {describe(t)} ({i})": t for i, (t, _) in enumerate(self.before.values())}
        tensors = list(results.values())
        raw = run.read(tensors)
        return {name: _host(r, t) for (name, t), r in zip(results.items(), raw, strict=True)}

    def _put(self, states: list[tuple[Tensor, Node]]) -> None:
        for t, node in states:
            old, t.node = t.node, node
            node.replaced = False
            note_assignment(t, old)


def _host(raw: Any, t: Tensor) -> Any:
    return np.array(to_numpy(raw, t.shape, t.dtype))


def _first_difference(plain: dict[str, Any], replayed: dict[str, Any], turn: str) -> Wrong | None:
    """The first result that differs from the plain call's."""
    for name, want in plain.items():
        got = replayed.get(name)
        if got is None or got.shape != want.shape:
            return Wrong("replay", name, name, f"{turn} it has another shape")
        wrong = differences(got, want, of_largest(want))  # a recording's kernels may add in another order
        if wrong is not None:
            return Wrong("replay", name, name, f"{turn} it is {wrong}")
    return None
