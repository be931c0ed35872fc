"""Learner: trains a model with a loss, an optimiser and loaders. `fit` is the loop."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..capture.jit import jit
from ..core.training import begin_training, in_eval
from ..functions import cat
from ..nn.parameter import is_lazy
from ..tensor import Tensor
from .callbacks import Best, Callback, EarlyStopping, Scheduling, named_callbacks
from .checkpoints import BEST, Checkpoints, link, load_state, save_state
from .checks import (
    OPTIONS,
    belongs_to_group,
    check_any_batch,
    check_fit,
    check_later,
    check_loader,
    check_loss,
    check_monitors,
    check_new,
    check_optimizer,
    check_options,
    check_sizes,
    loss_warning,
    option_warnings,
    options_of,
)
from .events import EpochEnded, EventEmitter, Message, Reason, Renderer, RunEnded, RunStarted, Split
from .history import History, Row
from .interpret import Collected, Interpretation
from .interrupt import Signals
from .losses import Entry, Losses, StateKeeper
from .lr_find import LearningRates, check_range, geometric, repeat, restored, search
from .meters import SplitMeter, count_unrecorded
from .nan_report import end_reason, not_finite
from .randoms import random_states, set_random_states
from .renderers import default_renderers
from .run_state import Position, RunParts, is_over, loader_states, restore, restore_loaders, state_of
from .saving import RunSnapshot, Saving
from .steps import (
    LentBackward,
    LentSteps,
    PlacedBatch,
    Steps,
    Trained,
    inputs_of,
    make_evaluate,
    make_predict,
    move,
    to_batch,
)
from .watch import EpochWatch, rest_of

if TYPE_CHECKING:
    from ..amp import GradScaler
    from ..device import DeviceLike
    from ..distributed import ParallelOptions
    from ..nn.module import Module
    from ..tabs import TabWorkers
    from .parallel import Parallel, ParallelSaving

# Imported for runs on several workers only: they need NumPy and processes, which a page has not.
PARALLEL, WORKERS = "flambeau.learner.parallel", "flambeau.learner.workers"


@dataclass
class RunningFit:
    """The objects of a running fit; None between two fits."""

    loaders: dict[str, Any] = field(default_factory=dict[str, Any])  # by split
    losses: Losses | None = None  # of the epoch
    watch: EpochWatch | None = None  # of the current step


class Learner:
    """A model in training: `fit` with loaders, `evaluate`, `predict`, `save`, `load`.

    A batch is (inputs..., target). With a `directory` the run is written to it every `checkpoint_every`
    steps, after each epoch, and when it is stopped.

    optimizer: applies the gradients; L-BFGS raises TypeError, because it needs a closure
    loss: a function of (output, target)
    metrics: a list, or a dict by name; the update of each takes (output, target)
    scheduler: its `step` is called after each step or epoch
    schedule: when `step` is called: after each "step" or "epoch"
    scaler: a GradScaler, for float16
    clip: the largest norm of all gradients together; None: no limit
    accumulate: batches per step; the step uses the mean of their gradients
    prepare: converts an item of a loader to a batch
    directory: the folder of the checkpoints; None: nothing is written
    checkpoint_every: steps between two checkpoints; None: only after epochs and at the end
    keep: the number of newest checkpoints to keep
    best: a value of the history, such as "valid_loss"; best.safetensors holds its best epoch
    restore_best: load the model of best.safetensors at the end of `fit`; checkpoints keep the last step's
    early_stopping: an EarlyStopping, or its patience for `best` (or the validation's loss)
    callbacks: called after steps and epochs
    renderers: called with each event; None chooses them for the terminal or notebook
    device: the model and the batches are moved to it; None: the model's device

    TypeError for L-BFGS and for objects that are not metrics, ValueError for invalid options,
    FlambeauError for a directory that can't be written to.
    """

    def __init__(
        self,
        model: Module,
        optimizer: Any,
        loss: Callable[[Any, Any], Tensor],
        *,
        metrics: Sequence[Any] | Mapping[str, Any] | Any = (),
        scheduler: Any | None = None,
        schedule: str = "step",
        scaler: GradScaler | None = None,
        clip: float | None = None,
        accumulate: int = 1,
        prepare: Callable[[Any], Any] | None = None,
        directory: str | Path | None = None,
        checkpoint_every: int | None = None,
        keep: int = 2,
        best: str | None = None,
        restore_best: bool = False,
        early_stopping: int | EarlyStopping | None = None,
        callbacks: Sequence[Callback] = (),
        renderers: Sequence[Renderer] | None = None,
        device: DeviceLike | None = None,
    ):
        arguments = locals()
        self._options = {name: arguments[name] for name in OPTIONS}  # of the other workers' learners
        self.config = {"accumulate": accumulate, "clip": clip, "checkpoint_every": checkpoint_every}
        self.config |= {"keep": keep, "best": best}
        check_options(
            self.config | {"schedule": schedule, "directory": directory, "restore_best": restore_best}
        )
        check_optimizer(optimizer)
        check_loss(loss)
        self.model: Any = model
        self.optimizer, self.scaler = optimizer, scaler
        self.device = move(model, optimizer, device)
        self.position = Position()
        self.meters = {s: SplitMeter(metrics, self.device, optimizer) for s in ("train", "valid", "test")}
        trained = Trained(model, loss, optimizer, scaler, clip)
        self._steps = Steps(trained, self.meters["train"], accumulate, self.device)
        # One recording per split: the metrics of "valid" and "test" are separate objects, so their counts
        # would otherwise be mixed.
        self._evaluate = {
            s: jit(make_evaluate(model, loss, self.meters[s].recorded)) for s in ("valid", "test")
        }
        self._predict = jit(make_predict(model))
        self._to_batch = partial(to_batch, prepare=prepare, device=self.device)
        self._inputs_of = partial(inputs_of, prepare=prepare, device=self.device)
        self.renderers = default_renderers(directory) if renderers is None else list(renderers)
        self.emit = EventEmitter(self.renderers)
        for renderer in self.renderers:
            # The dashboard needs the learner to carry out its stop key.
            if hasattr(renderer, "learner"):
                setattr(renderer, "learner", self)  # noqa: B010 - callables have no such attribute by type
        self.best, self.restore_best = None if best is None else Best(best), restore_best
        scheduling = None if scheduler is None else Scheduling(scheduler, schedule, best or "valid_loss")
        self.callbacks = named_callbacks(scheduling, self.best, early_stopping, callbacks)
        self._parts = RunParts(trained, accumulate, self.callbacks, self.meters["train"])
        # Absolute, so that a later os.chdir does not move the run.
        self.directory = None if directory is None else Path(directory).absolute()
        self.checkpoints = None if self.directory is None else Checkpoints(self.directory, keep)
        self._saving: Saving | ParallelSaving = Saving(
            self.checkpoints, checkpoint_every, self._snapshot, self.emit
        )
        # A copy of the weights lets the report name the op that computed the first NaN.
        keep_state = StateKeeper(model, optimizer)
        error_of = partial(not_finite, trained, self.directory)
        self._new_losses = partial(Losses, keep_state, self.emit, error_of)
        self._fit = RunningFit()
        self._parallel: Parallel | None = None  # while it trains with other workers

    def fit(
        self,
        train_loader: Iterable[Any],
        valid_loader: Iterable[Any] | None = None,
        epochs: int = 1,
        resume: bool = False,
        *,
        devices: int | Sequence[str] | None = None,
        engine: str | ParallelOptions | TabWorkers = "local",
    ) -> History:
        """Train until the run has `epochs` epochs, with a validation after each; returns the history, a row
        per epoch.

        `resume` continues from the newest undamaged checkpoint of the directory, if any, and gives the same
        result as a run that never stopped. The first Ctrl-C or SIGTERM writes a checkpoint at the end of the
        step, then raises KeyboardInterrupt or SystemExit(143). NotFinite, a FlambeauError, reports a loss
        that is not finite. ValueError reports a directory that holds a run (without `resume`), a checkpoint
        of another model, or a loader without batches. After an exception the next `fit` continues after the
        batches that were already yielded; with `resume`, from the newest checkpoint.

        devices: how many workers train, or their devices; each computes its shards of every batch. The model,
        the loss, the loaders and the Learner's other options must be picklable. A script that
            `flambeau launch` started leaves it out: its workers find each other.
        engine: starts the workers: "local" on this machine, "ray" on a Ray cluster; or a
            `distributed.ParallelOptions`, which also says how the work is divided; or `TabWorkers`, whose
            tabs compute shards of each batch of this process
        """
        loaders = {"train": train_loader, "valid": valid_loader}
        check_fit(loaders, epochs)
        if isinstance(engine, LentBackward):
            return self._fit_with_tabs(loaders, epochs, resume, engine, devices)
        if devices is None and not belongs_to_group():
            return self._run_fit(loaders, epochs, resume)
        check_sizes(self.model, devices)
        several = import_module(WORKERS)
        options = several.options_of(engine)
        if devices is None:
            several.begin_launched()
            return self.fit_in_group(loaders, epochs, resume, options)
        task = several.FitTask(type(self), self._options, loaders, epochs, resume, options)
        with several.workers(task, self.device, devices):
            return self.fit_in_group(loaders, epochs, resume, options)

    def _fit_with_tabs(
        self, loaders: dict[str, Any], epochs: int, resume: bool, tabs: LentBackward, devices: Any
    ) -> History:
        """Train as `fit` does, with the gradients of tabs."""
        if devices is not None or belongs_to_group():
            rule = "tabs join a training of one process: leave devices out"
            raise ValueError(f"fit(engine=TabWorkers, devices={devices!r}): {rule}")
        usual, parts = self._steps, self._parts
        self._steps = LentSteps(parts.trained, parts.metrics, parts.accumulate, self.device, tabs)
        try:
            return self._run_fit(loaders, epochs, resume)
        finally:
            self._steps = usual

    def fit_in_group(
        self, loaders: dict[str, Any], epochs: int, resume: bool, options: ParallelOptions
    ) -> History:
        """Train with the other workers of this process's group, as `fit` does; all of them call this.

        loaders: by split. options: how the work is divided.
        """
        parallel = import_module(PARALLEL)
        access = parallel.RunAccess(
            self, self._parts, self._saving, self._to_batch, self._restore, self._evaluate_batches
        )
        run = self._parallel = parallel.of_current_group(access, options)
        saving, self._saving = self._saving, parallel.ParallelSaving(self._saving, run)
        try:
            with run.session():
                return self._run_fit(loaders, epochs, resume)
        finally:
            self._parallel, self._saving = None, saving

    def _run_fit(self, loaders: dict[str, Any], epochs: int, resume: bool) -> History:
        train_loader, valid_loader = loaders["train"], loaders["valid"]
        if self._parallel is None:
            self._resume(loaders, resume)
        else:
            self._parallel.begin(loaders, partial(self._resume, loaders, resume))
        check_monitors(self.callbacks.values(), self.meters, valid_loader is not None)
        position = self.position
        with self._run_session(loaders, epochs) as signals:
            while position.epoch < epochs and self._may_continue():
                for _ in self._train_epoch(train_loader, epochs):
                    self.callbacks.after_step(self)
                    self._saving.after_step(position.step)
                # A resumed run may be between training and validation: `_train_epoch` then yields no step.
                if position.is_trained and valid_loader is not None:
                    self._validate(valid_loader, epochs)
                if position.reason is None:
                    position.end_epoch()
                    self.callbacks.after_epoch(self, position.row)
                    self._saving.save(is_best=self.best is not None and not self.best.since)
            # The handler itself must not print: it may have interrupted a print.
            if signals.name:
                text = f"stopped by {signals.name}: finishing the step; repeat to stop immediately"
                self.emit(Message("info", text))
            if position.reason != "killed":
                self._saving.save()
            if self.restore_best and position.reason in (None, "early"):
                self._saving.finish()
                self._restore_best()
        signals.act()
        return position.history

    def stop(self, reason: Reason = "stopped") -> None:
        """End the run at the end of this step, with a checkpoint; "killed": without one. From any thread."""
        # With other workers it is a request, which takes effect on all of them after the same step.
        position = self.position if self._parallel is None else self._parallel
        position.reason = "killed" if "killed" in (reason, position.reason) else position.reason or reason

    def evaluate(self, loader: Iterable[Any]) -> Row:
        """Compute the loss and the metrics of a loader's batches, by name."""
        check_loader("evaluate({})", loader, "pass [(x, y)], or a DataLoader")
        values = self._evaluate_on("test", loader, 1) or {}
        return {name.removeprefix("test_"): value for name, value in values.items()}

    def predict(self, loader: Iterable[Any]) -> Any:
        """Compute the outputs of a loader's batches, with or without targets, concatenated. -> [n, ...]

        TypeError for a tensor or an array: its rows are not batches. ValueError if the loader yields no
        batch.
        """
        check_loader("predict({})", loader, "call model(x), or pass [x]")
        with in_eval(self.model):
            outputs = [self._predict(*self._inputs_of(batch)) for batch in loader]
        if not outputs:
            raise ValueError("predict(...): the loader produced no batch: pass a loader with at least one")
        return cat(outputs) if all(isinstance(part, Tensor) for part in outputs) else outputs

    def lr_find(
        self,
        loader: Iterable[Any],
        start_lr: float = 1e-7,
        end_lr: float = 10.0,
        num_it: int = 100,
        stop_div: bool = True,
    ) -> LearningRates:
        """Train some steps at rising learning rates, restore everything, and suggest a rate.

        The model, the optimiser, the scaler, the random generators and the loader end bit-identical to their
        state before. Groups with different rates keep their ratios; the rates are those of the first group.

        loader: the training loader; it is repeated if it has fewer batches. start_lr, end_lr: the first and
        the last rate. num_it: steps. stop_div: end when the loss is four times its lowest value. ValueError
        for rates that do not rise, and in a group of workers.
        """
        check_loader("lr_find({})", loader, "pass [(x, y)], or a DataLoader")
        check_range(start_lr, end_lr, num_it)
        if belongs_to_group():
            raise ValueError(
                "lr_find(...): it supports one process only: call it in a script without workers"
            )
        trained, accumulate = self._parts.trained, self._parts.accumulate
        # The loader's workers end before its state is restored.
        with restored(trained, loader), closing(repeat(loader)) as items:
            batches = map(self._to_batch, items)
            rates = geometric(start_lr, end_lr, num_it)
            return search(trained, accumulate, self.device, batches, rates, stop_div)

    def interpret(self, loader: Iterable[Any], names: Sequence[str] | None = None) -> Interpretation:
        """Evaluate a classifier on a loader, item by item: its worst items, and the classes it confuses.

        loader: not shuffled, so that the items have the dataset's order. names: of the classes. ValueError
        for a model whose outputs are not scores [n, classes], and for targets that are not class indices.
        """
        check_loader("interpret({})", loader, "pass [(x, y)], or a DataLoader")
        collected = Collected()
        with in_eval(self.model):
            for batch in map(self._to_batch, loader):
                collected.add(batch, self._predict(*batch.inputs))
        if not collected.items:
            raise ValueError("interpret(...): the loader produced no batch: pass a loader with at least one")
        return Interpretation(collected.items, collected.worst, collected.classes, names)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the complete run to a file: the model, the optimizer and the position.

        FlambeauError if the file can't be written.
        """
        save_state(Path(path), self._snapshot().state)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Continue, at the next `fit`, from a file of `save` or a checkpoint.

        FlambeauError for a file that is damaged, ValueError for one of another model.
        """
        self._restore(load_state(Path(path)), f"load({str(path)!r})")

    def __repr__(self) -> str:
        model, optimizer = type(self.model).__name__, type(self.optimizer).__name__
        metrics = ", ".join(self.meters["train"].names)
        place = f"epoch {self.epoch}, step {self.step:,}"
        return f"Learner({model}, {optimizer}, {self.device}; {metrics}): {place}"

    @property
    def epoch(self) -> int:
        """How many epochs are completed."""
        return self.position.epoch

    @property
    def step(self) -> int:
        """How many steps are completed."""
        return self.position.step

    @property
    def history(self) -> History:
        """The values of each completed epoch, by name; `history.plot()` draws them."""
        return self.position.history

    def higher_is_better(self, name: str) -> bool:
        """Whether higher values of the history's `name` are better. ValueError if its metric does not say.

        name: such as "valid_loss".
        """
        split, _, metric = name.partition("_")
        is_higher = self.meters[split].higher_is_better(metric) if split in self.meters else None
        if is_higher is None:
            rule = (
                "the metric does not define it: pass early_stopping=EarlyStopping(name, mode='max'), or 'min'"
            )
            raise ValueError(f"higher_is_better({name!r}): {rule}")
        return is_higher

    # --- parts of the loop ---

    def _may_continue(self) -> bool:
        if self._parallel is not None:
            self._parallel.agree()
        return self.position.reason is None

    def _train_epoch(self, loader: Any, epochs: int) -> Iterator[None]:
        """Run the remaining steps of an epoch. Each is submitted to the device without waiting for it."""
        position = self.position
        if position.is_trained:
            return
        # At each epoch, because a callback may have called `eval()`.
        begin_training(self.model)
        watch = self._fit.watch = self._begin_epoch("train", loader, epochs, position.index)
        losses = self._fit.losses = self._new_losses(position.epoch)
        steps: Any = self._steps
        rest: Any = rest_of(loader, position.index)
        place: Any = self._to_batch
        if self._parallel is not None:
            steps, rest, place = self._parallel, self._parallel.batches(loader, position.index), _keep_batch
        batches = () if position.is_drained else watch.batches(rest, place)
        for loss, group in steps.each(batches):
            rates = [g["lr"] for g in self.optimizer.param_groups]
            # `loss` is not read here: `losses` reads it some steps later. The rates are copied before a
            # scheduler changes them.
            losses.add(Entry(position.step, watch.at, loss, rates, group))
            position.step, position.index, position.is_drained = (
                position.step + 1,
                watch.index,
                position.is_drained or watch.is_over,
            )
            yield
            # After `yield`, callbacks and checkpoints have seen the step; they may also have called `stop`.
            watch.progress(position.step, losses.waited, self.emit)
            if position.reason is not None:
                break
        else:
            # The loader ended, without `break`. If a signal came with the last batch, the end of the epoch
            # is left to the resumed run.
            check_any_batch(watch)
            position.is_drained, position.is_trained = True, position.reason is None
        self._fit.watch = None
        losses.finish()
        if position.is_trained:
            parallel, meter = self._parallel, self.meters["train"]
            values = meter.compute() if parallel is None else parallel.compute(meter)
            position.row = {"epoch": position.epoch + 1, "step": position.step} | self._end_epoch(
                watch, values
            )

    def _validate(self, loader: Any, epochs: int) -> None:
        """Run the validation of an epoch. If it is stopped, the state from before it is restored."""
        # A stopped validation runs again after resumption, so it must not have used random numbers or
        # batches.
        position, random, places = self.position, random_states(), loader_states({"valid": loader})
        values: Row | None = None
        try:
            values = self._evaluate_on("valid", loader, epochs)
            position.row = position.row | (values or {})
        finally:
            if values is None or position.reason is not None:
                set_random_states(random)
                restore_loaders({"valid": loader}, places)

    def _evaluate_on(self, split: Split, loader: Any, epochs: int) -> Row | None:
        """Return the loss and the metrics of a split by their names in the history; None if the run is
        stopped."""
        watch = self._begin_epoch(split, loader, epochs)
        if self._parallel is not None:
            return self._end_epoch(watch, self._parallel.evaluate(split, loader, watch))
        for _ in self._evaluate_batches(watch, loader):
            # A partial validation gives no metrics: the resumed run repeats it.
            if split == "valid" and self.position.reason is not None:
                return None
        check_any_batch(watch)
        return self._end_epoch(watch, self.meters[split].compute())

    def _evaluate_batches(
        self, watch: EpochWatch, loader: Iterable[Any]
    ) -> Iterator[tuple[PlacedBatch, Tensor]]:
        """Evaluate and count batches. Yields each with its unread loss."""
        evaluate, meter = self._evaluate[watch.split], self.meters[watch.split]
        with in_eval(self.model), watch.naming():
            for batch in watch.batches(loader, self._to_batch):
                loss, output = evaluate(batch.inputs, batch.target)
                count_unrecorded(meter, output, batch.target, batch.items)
                watch.progress(self.step, 0.0, self.emit)
                yield batch, loss

    def _begin_epoch(self, split: Split, loader: Any, epochs: int, index: int = 0) -> EpochWatch:
        # A resumed epoch keeps the counts that were restored from the checkpoint.
        if not index:
            self.meters[split].reset()
        watch = EpochWatch(split, self.epoch, loader, self.device, index)
        self.emit(watch.started(epochs))
        return watch

    def _end_epoch(self, watch: EpochWatch, values: Row) -> Row:
        self.emit(EpochEnded(watch.split, self.epoch, self.step, values, watch.seconds()))
        if watch.split == "valid" and (message := loss_warning(self.epoch, values)) is not None:
            self.emit(message)
        return {f"{watch.split}_{name}": value for name, value in values.items()}

    # --- beginning and end of a run ---

    def _resume(self, loaders: dict[str, Any], resume: bool) -> None:
        """Continue from the directory's checkpoint, or from the point where this learner stopped, or
        begin."""
        position, checkpoints = self.position, self.checkpoints
        if resume and checkpoints is None:
            raise ValueError("fit(resume=True): resuming needs checkpoints: pass directory= to Learner")
        # The same script, started again after an early stop, ends at once unless `patience` was raised.
        is_same_call = resume and position.reason == "early" and is_over(self.callbacks.values())
        position.reason = "early" if is_same_call else None
        # After an exception the weights may be those of an incomplete step, so `resume` reads the
        # checkpoint.
        if checkpoints is not None and (not position.step or (resume and position.is_broken)):
            if resume:
                self._restore_newest(checkpoints)
            else:
                check_new(checkpoints.paths())
        elif checkpoints is not None and checkpoints.last is None:  # another file was loaded
            check_later(checkpoints.later((position.epoch, position.step)), position.step)
        position.is_broken = False
        restore_loaders(loaders, position.places)
        if position.random is not None:
            set_random_states(position.random)
            position.random = None

    def _restore_newest(self, checkpoints: Checkpoints) -> None:
        newest = checkpoints.newest(self.emit)
        if newest is None:
            return
        path, state = newest
        self._restore(state, f"checkpoint {path}")
        checkpoints.last = path.name
        position = self.position
        if self.best is not None and not self.best.since and not position.index and not position.is_trained:
            link(path, path.with_name(BEST))  # the run may have been killed before its epoch's callbacks

    def _restore_best(self) -> None:
        # None: no epoch had a finite value, so no file was written.
        if self.best is not None and self.best.value is not None and self.directory is not None:
            path = self.directory / BEST
            state = load_state(path)
            self.model.load_state_dict(state["model"])
            text = f"the model has the weights of epoch {state['epoch']}, the best by {self.best.monitor}"
            self.emit(Message("info", text))

    def _restore(self, state: Any, source: str) -> None:
        # A checkpoint replaces options such as the learning rate: warn for each that the caller set
        # otherwise.
        scheduler = self._options["scheduler"]
        before = options_of(self.optimizer, scheduler)
        self._steps.forget()
        restore(self.position, self._parts, state, source)
        for message in option_warnings(before, options_of(self.optimizer, scheduler)):
            self.emit(message)

    @contextmanager
    def _run_session(self, loaders: dict[str, Any], epochs: int) -> Generator[Signals]:
        """Emit the run's start and end, call the callbacks then, and catch signals in between."""
        position, self._fit = self.position, RunningFit(loaders)
        reason: Reason = "error"
        text = ""
        self.emit(self._start_event(epochs))
        try:
            with Signals(self.stop) as signals:
                self.callbacks.begin(self)
                yield signals
                self._saving.finish()
                reason = position.reason or "done"
        except BaseException as e:
            if self._fit.watch is not None:
                self._fit.watch.note(e)
            position.is_broken = True
            steps = self._steps if self._parallel is None else self._parallel
            position.index += steps.waiting  # the next fit continues after the batches already yielded
            reason, text = end_reason(e)
            raise
        finally:
            position.places, self._fit = loader_states(loaders), RunningFit()
            self._saving.report(wait=True)
            # Last: a callback that fails must not prevent the checkpoint, and renderers still get RunEnded.
            error = self.callbacks.end(self)
            self.emit(RunEnded(reason, position.step, text))
            if error is not None:
                raise error

    def _start_event(self, epochs: int) -> RunStarted:
        parameters = [p for p in self.model.parameters() if p.requires_grad and not is_lazy(p)]
        count = sum(p.numel() for p in parameters)
        name, folder = ("run", "") if self.directory is None else (self.directory.name, str(self.directory))
        kind, lr = type(self.optimizer).__name__, self.optimizer.param_groups[0]["lr"]
        config = {"optimizer": kind, "lr": lr, **self.config}
        return RunStarted(name, folder, str(self.device), epochs, count, self.step, self.step > 0, config)

    def _snapshot(self) -> RunSnapshot:
        position, losses = self.position, self._fit.losses
        if self._fit.loaders:
            position.places = loader_states(self._fit.loaders)
        unread = [] if losses is None else losses.unread
        return RunSnapshot((position.epoch, position.step), state_of(position, self._parts), unread)


def _keep_batch(batch: Any) -> Any:
    """Return a batch of several workers: its parts are moved to the device one by one."""
    return batch
