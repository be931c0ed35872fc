"""Finds the op that computed the first value that is not finite, and its line, and saves the batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..autodiff.backward import Gradients
from ..core.events import BlockEnd
from ..debug import first_bad, made_at
from ..errors import FlambeauError
from ..functions import read
from ..io.checkpoint import save
from ..ops.random import get_rng_state, set_rng_state
from .events import Reason
from .losses import ReadWindow
from .steps import Trained, apply, gradients


class NotFinite(FlambeauError):
    """A loss is not finite; training stopped.

    message: the text. step, epoch, index: the position of the batch; loss: its value; cause: the op that
    computed the first such value; batch: (inputs, target); path: the file with the batch, None without a
    directory. facts: all of these by name.
    """

    step: int
    epoch: int
    index: int
    loss: float
    cause: str
    batch: Any
    path: Path | None

    def __init__(self, message: str, **facts: Any):
        super().__init__(message)
        vars(self).update(facts)


def not_finite(
    t: Trained, folder: Path | None, window: ReadWindow, i: int, loss: float, epoch: int
) -> NotFinite:
    """Return the exception for step i of a window. The model keeps the state in which the search ended."""
    entry = window.entries[i]
    cause = first_cause(t, window, i)
    batch = [(b.inputs, b.target) for b in entry.batches]
    path, failure = None, ""
    if folder is not None:
        path = folder / f"not-finite-step-{entry.step:09}.safetensors"
        try:
            save([{"inputs": list(inputs), "target": target} for inputs, target in batch], path)
        # A failure to save must not hide the cause of the loss.
        except (FlambeauError, OSError, TypeError) as e:
            path, failure = None, f" only ({e})"
    where = f"step {entry.step} (epoch {epoch + 1}, batch {entry.index})"
    saved = f"its batch is in the error's .batch{failure}" if path is None else f"its batch is in {path}"
    text = f"fit: {where}: the loss is {loss}: {cause}: {saved}: check it, or lower the learning rate"
    facts = {"step": entry.step, "epoch": epoch, "index": entry.index, "loss": loss, "cause": cause}
    return NotFinite(text, **facts, batch=batch, path=path)


def first_cause(t: Trained, window: ReadWindow, i: int) -> str:
    """Find the first op whose value is not finite by repeating the window's steps without a recording."""
    # Without a copy of the state only the current weights, some steps later, can be searched.
    if window.rewind.kept is None:
        op = first_bad_op(t, window.entries[i].batches[-1])
        return op or "the weights were not finite before, and too large to keep an earlier copy"
    t.model.load_state_dict(window.rewind.kept.model)
    t.optimizer.load_state_dict(window.rewind.kept.optimizer)
    set_rng_state(window.rewind.kept.random)
    # A copy serves up to KEPT_STEPS steps, so steps of earlier windows are repeated first. Outside the
    # recording, each op can be checked.
    for entry in window.rewind.entries[: window.first + i + 1]:
        for group, rate in zip(t.optimizer.param_groups, entry.rates, strict=True):
            # The schedule is not repeated: each entry has the rates that its step used.
            group["lr"] = rate
        total: Gradients | None = None
        for batch in entry.batches:
            result = check_batch(t, batch)
            if isinstance(result, str):
                return result
            total = result if total is None else total + result
        if total is not None:
            apply(t, total / len(entry.batches))
    # All gradients were finite, so the update made a weight or the next loss infinite.
    return "the optimiser's step produced the first value that is not finite"


def check_batch(t: Trained, batch: Any) -> Gradients | str:
    """Compute the gradients of a batch; if one is not finite, return the text of its cause instead."""
    before = get_rng_state()
    loss, _, grads = gradients(t, batch.inputs, batch.target)
    # Scaled gradients may overflow: the scaler skips such a step.
    checked = [loss] if t.scaler is not None else [loss, *grads]
    if all(read(*(v.isfinite().all() for v in checked))):
        return grads
    set_rng_state(before)  # draws the same numbers for dropout
    return first_bad_op(t, batch) or "no single op produced the first value that is not finite"


def first_bad_op(t: Trained, batch: Any) -> str | None:
    """Find the op that computes the first value that is not finite, for a batch and the current weights;
    None if all are finite."""
    with made_at(t.model) as lines:
        loss, _, grads = gradients(t, batch.inputs, batch.target)
    return first_bad(loss, *(() if t.scaler is not None else grads), lines=lines)


def end_reason(e: BaseException) -> tuple[Reason, str]:
    """Return the reason and the text of RunEnded for the exception that ended a run."""
    if isinstance(e, NotFinite):
        return "nan", str(e)
    if isinstance(e, BlockEnd):  # `flambeau inspect` has the step that it asked for
        return "stopped", ""
    name = type(e).__name__
    return "killed" if isinstance(e, KeyboardInterrupt) else "error", f"{name}: {e}" if str(e) else name
