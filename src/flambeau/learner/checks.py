"""Checks the arguments of a fit before its first step, so that no error comes after an epoch."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data import Dataset
from ..errors import suggest
from ..nn.parameter import has_lazy
from ..optim import LBFGS
from ..tensor import Tensor
from .callbacks import Best
from .events import Message
from .meters import SplitMeter
from .names import LOSSES, describe_name

if TYPE_CHECKING:
    from .watch import EpochWatch


# The options of Learner that its copies in other workers have too.
OPTIONS = (
    *("model", "optimizer", "loss", "metrics", "scheduler", "schedule", "scaler", "clip", "accumulate"),
    *("prepare", "directory", "checkpoint_every", "keep", "best", "restore_best", "early_stopping"),
    "callbacks",
)


def belongs_to_group() -> bool:
    """Whether this process trains with others: it has a group, or `flambeau launch` started it."""
    # A process that has not imported the package has no group; a page can't import it.
    package = sys.modules.get("flambeau.distributed")
    is_launched = "FLAMBEAU_STORE" in os.environ and "RANK" in os.environ
    return is_launched or (package is not None and package.is_initialized())


def check_fit(loaders: dict[str, Any], epochs: Any) -> None:
    """Raise TypeError for loaders that are not iterable or are data, and epochs that are not an integer,
    ValueError for a negative number of epochs."""
    for split, loader in loaders.items():
        cure = "pass DataLoader(TensorDataset(x, y), batch_size=32)"
        check_loader(f"fit({split}_loader={{}})", loader, cure)
        if loader is not None and not hasattr(loader, "__iter__") and not hasattr(loader, "__getitem__"):
            rule = "it is not iterable: pass a DataLoader or a list of batches"
            call = f"fit({split}_loader={loader!r})"
            raise TypeError(f"{call}: {rule}; pass the number of epochs by name: epochs={loader!r}")
        if isinstance(loader, Dataset):
            more = ", shuffle=True" if split == "train" else ""
            rule = f"a dataset has items, not batches: pass DataLoader(dataset, batch_size=32{more})"
            raise TypeError(f"fit({split}_loader={type(loader).__name__}): {rule}")
    # Not isinstance: True would count as one epoch.
    if type(epochs) is not int:
        raise TypeError(f"fit(epochs={epochs!r}): must be an integer: pass one")
    if epochs < 0:
        raise ValueError(f"fit(epochs={epochs!r}): must be at least 0: pass the total number of epochs")


def check_sizes(model: Any, devices: Any) -> None:
    """Raise ValueError for a model with lazy layers: all workers must begin with equal parameters."""
    if has_lazy(model):
        rule = "the model has lazy layers, whose sizes its first batch would set in each worker separately"
        call = "fit" if devices is None else f"fit(devices={devices!r})"
        raise ValueError(f"{call}: {rule}: call the model with one batch before fit")


def check_loader(call: str, loader: Any, cure: str) -> None:
    """Raise TypeError for a tensor or an array in place of a loader: its rows would pass for batches.

    call: the call in the error, with {} for the kind of data
    """
    if hasattr(loader, "__array__"):
        kind = "tensor" if isinstance(loader, Tensor) else "array"
        raise TypeError(f"{call.format(kind)}: takes a loader of batches: {cure}")


def check_loss(loss: Any) -> None:
    """Raise TypeError for a loss that is not a function."""
    if isinstance(loss, str):
        raise TypeError(f"Learner(loss={loss!r}): {describe_name('loss', loss, LOSSES)}")
    if not callable(loss):
        rule = "a loss is a function of (output, target): pass flambeau.nn.functional.cross_entropy"
        raise TypeError(f"Learner(loss={type(loss).__name__}): {rule}")


def check_options(options: dict[str, Any]) -> None:
    """Raise ValueError for an invalid option of Learner, or one that needs a directory."""
    for name in ("accumulate", "checkpoint_every", "keep"):
        value = options[name]
        if value is not None and (type(value) is not int or value < 1):
            raise ValueError(f"Learner({name}={value!r}): must be a positive integer: pass 1 or more")
    if options["schedule"] not in ("step", "epoch"):
        raise ValueError(f"Learner(schedule={options['schedule']!r}): unknown: use 'step' or 'epoch'")
    if options["clip"] is not None and not options["clip"] > 0:
        raise ValueError(f"Learner(clip={options['clip']!r}): must be above 0: pass another value, or None")
    if options["restore_best"] and options["best"] is None:
        raise ValueError("Learner(restore_best=True): it needs a value to compare: pass best='valid_loss'")
    for name in ("checkpoint_every", "best"):
        if options["directory"] is None and options[name] is not None:
            raise ValueError(f"Learner({name}={options[name]!r}): it needs a directory: pass directory=")


def check_new(paths: list[Path]) -> None:
    """Raise ValueError if a directory already contains a run and `resume` is not set."""
    if paths:
        rule = f"{paths[0]} exists: pass resume=True to continue from it, or another directory"
        raise ValueError(f"fit(resume=False): the directory holds a run: {rule}")


def check_optimizer(optimizer: Any) -> None:
    """Raise TypeError for an optimiser that a learner can't use."""
    if isinstance(optimizer, LBFGS):
        rule = (
            "it evaluates the loss several times a step, but a Learner passes gradients:"
            " write the loop by hand"
        )
        raise TypeError(f"Learner({type(optimizer).__name__}): {rule}")


def check_accumulate(accumulate: int, state: dict[str, Any]) -> None:
    """Raise ValueError for a state within an epoch that was trained with another `accumulate`."""
    saved, index = state.get("accumulate", accumulate), state["index"]
    # `index` counts batches of finished steps: another group size would split the epoch elsewhere.
    if index and not state["is_drained"] and saved != accumulate:
        rule = (
            f"the state is {index} batches into an epoch with accumulate={saved}, but this learner"
            f" has accumulate={accumulate}"
        )
        cure = f"pass accumulate={saved}, or change it between epochs"
        raise ValueError(f"accumulate: {rule}: {cure}")


def check_later(later: list[Any], step: int) -> None:
    """Raise ValueError if the directory has checkpoints of later steps than the learner's."""
    if later:
        rule = f"the learner is at step {step}, but {later[0]} is later and would be resumed instead"
        raise ValueError(f"fit(...): {rule}: use another directory, or move it away")


def check_any_batch(watch: EpochWatch) -> None:
    """Raise ValueError if a loader yielded no batch in an epoch."""
    if not watch.index:
        cure = (
            "it has too few items: add items, or reduce batch_size if it drops the last batch"
            if watch.of == 0
            else "pass one that restarts each epoch (a generator ends after the first)"
        )
        raise ValueError(f"{watch.split} epoch {watch.epoch + 1}: the loader produced no batch: {cure}")


def check_monitors(callbacks: Iterable[Any], meters: dict[str, SplitMeter], has_valid: bool) -> None:
    """Raise ValueError if a callback monitors a value that this run's history will not have."""
    splits = ("train", "valid") if has_valid else ("train",)
    names = ["epoch", "step", *(f"{s}_{n}" for s in splits for n in meters[s].names)]
    for callback in callbacks:
        if not isinstance(callback, Best) or callback.monitor in names:
            continue
        name = callback.monitor
        split, _, metric = name.partition("_")
        if split in splits and meters[split].has_parts(metric):
            continue  # a part of a metric with several values, whose names are unknown before it is computed
        hint = suggest(name, names) or suggest(f"valid_{name}", names)
        rule = f"the history will have no such value{hint}"
        raise ValueError(f"{type(callback).__name__}({name!r}): {rule}: use one of {', '.join(names)}")


def one_number(loss: Any) -> Any:
    """Return a loss as a tensor []. TypeError for an object that is not a tensor, ValueError for more
    than one number."""
    if not hasattr(loss, "backward"):
        rule = "the loss must be a tensor of one number: return only that"
        raise TypeError(f"loss(...) -> {type(loss).__name__}: {rule}")
    if loss.numel() != 1:
        rule = "the loss must be one number: use .mean() or .sum()"
        raise ValueError(f"loss(...) -> {list(loss.shape)}: {rule}")
    return loss.reshape(()) if loss.ndim else loss


def loss_warning(epoch: int, values: dict[str, float]) -> Message | None:
    """Return a warning if a validation's loss is not finite, else None."""
    loss = values.get("loss", 0.0)
    if isfinite(loss):
        return None
    rule = "training continues: check the validation data, or lower the learning rate"
    return Message("warning", f"valid epoch {epoch + 1}: the loss is {loss}: {rule}")


def scheduled_options(scheduler: Any) -> set[str]:
    """Return the options besides the learning rate that a scheduler changes, or one of its parts."""
    own: set[str] = {"momentum", "betas"} if getattr(scheduler, "cycle_momentum", False) else set()
    return own.union(*map(scheduled_options, getattr(scheduler, "schedulers", ())))


def options_of(optimizer: Any, scheduler: Any) -> list[dict[str, Any]]:
    """Return the options of an optimiser's groups that the caller chose, not its scheduler (None: no
    schedule)."""
    skipped = {"params"} | scheduled_options(scheduler)
    groups = [{k: v for k, v in g.items() if k not in skipped} for g in optimizer.param_groups]
    for group in groups:
        # A schedule changes "lr" at each step; "initial_lr" is what the caller chose.
        if "initial_lr" in group:
            group["lr"] = group["initial_lr"]
        elif scheduler is not None:
            del group["lr"]  # ReduceLROnPlateau and schedules of users keep no initial one
    return groups


def option_warnings(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[Message]:
    """Return a warning for each option of a checkpoint that replaces another value of the optimiser."""
    pairs = [
        (i, k, old[k], new[k])
        for i, (old, new) in enumerate(zip(before, after, strict=True))
        for k in new
        if k in old
    ]
    rule = "to change it, set optimizer.param_groups[{}][{!r}] in a callback's begin"
    return [
        Message("warning", f"resume: the checkpoint's {k}={new!r} is used, not {old!r}: {rule.format(i, k)}")
        for i, k, old, new in pairs
        if isinstance(old, int | float | str | bool | tuple) and old != new
    ]
