"""Finds the op that made the first value that is not finite, its line, and saves its batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..autodiff.backward import Gradients
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

    message: the text. step, epoch, index: of the batch; loss: its loss; cause: the first op; batch: what was
    computed with, (inputs, target); path: the file that holds it, None without a directory. facts: these.
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
    """The exception for the i-th step of a window. The run keeps the state in which the search ended."""
    entry = window.entries[i]
    cause = first_cause(t, window, i)
    batch = [(b.inputs, b.target) for b in entry.batches]
    path, trouble = None, ""
    if folder is not None:
        path = folder / f"not-finite-step-{entry.step:09}.safetensors"
        try:
            save([{"inputs": list(inputs), "target": target} for inputs, target in batch], path)
        except (FlambeauError, OSError, TypeError) as e:  # the cause of the loss matters more
            path, trouble = None, f" alone ({e})"
    where = f"step {entry.step} (epoch {epoch + 1}, batch {entry.index})"
    there = f"its batch is in the error's .batch{trouble}" if path is None else f"its batch is in {path}"
    text = f"fit: {where}: the loss is {loss}: {cause}: {there}: check it, or lower the learning rate"
    facts = {"step": entry.step, "epoch": epoch, "index": entry.index, "loss": loss, "cause": cause}
    return NotFinite(text, **facts, batch=batch, path=path)


def first_cause(t: Trained, window: ReadWindow, i: int) -> str:
    """The first op whose value is not finite: the window's steps are repeated, unrecorded."""
    if window.rewind.kept is None:
        op = op_of(t, window.entries[i].batches[-1])
        return op or "the weights were not finite before, and too large to keep an earlier copy"
    t.model.load_state_dict(window.rewind.kept.model)
    t.optimizer.load_state_dict(window.rewind.kept.optimizer)
    set_rng_state(window.rewind.kept.random)
    for entry in window.rewind.entries[: window.first + i + 1]:
        for group, rate in zip(t.optimizer.param_groups, entry.rates, strict=True):
            group["lr"] = rate
        total: Gradients | None = None
        for batch in entry.batches:
            result = check_batch(t, batch)
            if isinstance(result, str):
                return result
            total = result if total is None else total + result
        if total is not None:
            apply(t, total / len(entry.batches))
    return "the optimiser's step produced the first value that is not finite"


def check_batch(t: Trained, batch: Any) -> Gradients | str:
    """The gradients of a batch, or what made the first value in them that is not finite."""
    before = get_rng_state()
    loss, _, grads = gradients(t, batch.inputs, batch.target)
    # a scaler's gradients may overflow: it leaves such a step out
    asked = [loss] if t.scaler is not None else [loss, *grads]
    if all(read(*(v.isfinite().all() for v in asked))):
        return grads
    set_rng_state(before)  # the numbers that dropout took
    return op_of(t, batch) or "no single op produced the first value that is not finite"


def op_of(t: Trained, batch: Any) -> str | None:
    """The op that makes the first bad value of a batch, by the weights as they are; None if there is
    none."""
    with made_at(t.model) as lines:
        loss, _, grads = gradients(t, batch.inputs, batch.target)
    return first_bad(loss, *(() if t.scaler is not None else grads), lines=lines)


def ended_by(e: BaseException) -> tuple[Reason, str]:
    """Why a run ended that an exception ended, and the exception's text."""
    if isinstance(e, NotFinite):
        return "nan", str(e)
    name = type(e).__name__
    return "killed" if isinstance(e, KeyboardInterrupt) else "error", f"{name}: {e}" if str(e) else name
