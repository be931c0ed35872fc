"""Learner: a model, a loss, an optimiser and loaders into a trained model, by a loop anybody could write."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Unpack

from ..capture.jit import jit
from ..core.modes import no_grad
from ..core.training import begin_training, in_eval
from ..device import get_device
from ..functions import cat
from ..tensor import Tensor
from .callbacks import Best, Callback, EarlyStopping, Row, Scheduling
from .checkpoints import BEST, Checkpoints, link, load_state, save_state
from .checks import (
    check_fit,
    check_given,
    check_later,
    check_monitors,
    check_optimizer,
    options_of,
    told_of_loss,
    told_of_options,
)
from .events import EpochEnded, Event, Message, Reason, Renderer, RunEnded, RunStarted, Split
from .interrupt import Signals
from .losses import Entry, Losses, ReadWindow, kept_of, may_rewind
from .meters import SplitTally, count_beside
from .nan_report import NotFinite, not_finite
from .options import LearnerOptions, checked
from .randoms import random_states, set_random_states
from .renderers import default_renderers
from .run_state import is_over, places_of, put_back, put_places, state_of
from .steps import PlacedBatch, Steps, Trained, evaluating, inputs_of, to_batch
from .watch import EpochWatch

Loaders = dict[str, Any]  # by split


class Learner:
    """A model in training: `fit` with loaders, `evaluate`, `predict`, `save`, `load`.

    loss: a function of (output, target). A batch is (inputs..., target), or what `prepare` makes of the
    loader's. `metrics` (a list, or a dict by name) are given (output, target). `accumulate` batches make one
    step, by the mean of their gradients, which together are at most `clip` long. `scheduler` moves on after
    each "step" or "epoch" (`schedule`), `scaler` is a GradScaler.

    With a `directory` the whole run is written to it: every `checkpoint_every` steps, after each epoch, and
    when it is stopped; the last `keep` stay, and that of the best value of `best`, such as "valid_loss", as
    best.safetensors. `early_stopping` is an EarlyStopping, or its patience for `best` (or the loss).
    `callbacks` are called beside the steps, `renderers` (None: what suits the terminal) with each event.
    device: where batches go, and the model is moved; None is where it is. options: these, by name
    (`LearnerOptions`).

    TypeError for an option that there is not and for L-BFGS, which wants a closure, ValueError for an option
    that can't be meant, FlambeauError for a directory that can't be written to.

    optimizer: the one whose rates are set
    """

    def __init__(
        self,
        model: Any,
        optimizer: Any,
        loss: Callable[[Any, Any], Tensor],
        **options: Unpack[LearnerOptions],
    ):
        o = self.options = checked(options)
        check_optimizer(optimizer)
        self.model, self.optimizer, self.scaler = model, optimizer, o.scaler
        self.device = place_of(model, optimizer, o.device)
        self.history: list[Row] = []
        self.epoch = self.step = self.index = 0  # index: how many batches of the epoch were given
        self.is_drained = False  # the epoch's batches were given, all of them
        self.is_trained = False  # the epoch's steps are made
        self.is_broken = False  # the last fit ended by an exception
        self.row: Row = {}  # what is known of the epoch
        self.reason: Reason | None = None  # why the run is to end
        self.places: dict[str, Any] = {}  # of loaders
        self.random: dict[str, Any] | None = None  # numbers that the next fit goes on with
        splits: tuple[Split, ...] = ("train", "valid", "test")
        self.tallies = {split: SplitTally(o.metrics, self.device, optimizer) for split in splits}
        self._trained = Trained(model, loss, optimizer, o.scaler, o.clip)
        self._steps = Steps(self._trained, self.tallies["train"], o.accumulate, self.device)
        self._evaluate = {
            s: jit(evaluating(model, loss, self.tallies[s].recorded)) for s in ("valid", "test")
        }
        self._predict = jit(predicting(model))
        self._keep = partial(kept_of, model, optimizer) if may_rewind(model, optimizer) else None
        self._losses = self._losses_of_epoch()
        self.directory = None if o.directory is None else Path(o.directory).absolute()
        self.checkpoints = None if self.directory is None else Checkpoints(self.directory, o.keep)
        self._is_due = False  # a checkpoint
        self.best = None if o.best is None else Best(o.best)
        self.callbacks = self._named_callbacks()
        self.renderers: list[Renderer] = (
            default_renderers(o.directory) if o.renderers is None else list(o.renderers)
        )
        for renderer in self.renderers:
            if hasattr(renderer, "learner"):
                setattr(renderer, "learner", self)  # noqa: B010 - callables have no such attribute by type

    # --- the loop ---

    def fit(
        self,
        train_loader: Iterable[Any],
        valid_loader: Iterable[Any] | None = None,
        epochs: int = 1,
        resume: bool = False,
    ) -> list[Row]:
        """Train until the run has `epochs` epochs, with a validation after each; the history, a row an epoch.

        `resume` goes on from the newest whole checkpoint of the directory, where there is one, and ends as
        if the run had never stopped. The first Ctrl-C or SIGTERM writes a checkpoint at the end of the step,
        then raises KeyboardInterrupt or SystemExit(143). NotFinite, a FlambeauError, tells of a loss that is
        not finite; ValueError of a directory that has a run, without `resume`, of a checkpoint of another
        model, or of a loader that gives no batch. After an exception `fit` goes on behind the batches that
        were given; with `resume`, from the newest checkpoint.
        """
        loaders = {"train": train_loader, "valid": valid_loader}
        check_fit(loaders, epochs)
        splits = {split for split, loader in loaders.items() if loader is not None}
        self._begin(loaders, resume)
        check_monitors(self.callbacks.values(), self.tallies, splits)
        with self._run(epochs, loaders) as signals:
            while self.epoch < epochs and self.reason is None:
                if not self.is_trained:
                    self._train(train_loader, loaders, epochs)
                if self.is_trained and valid_loader is not None:
                    self._validate(valid_loader, epochs)
                if self.reason is None:
                    self._end_epoch(loaders)
            if signals.name:
                told = f"stopped by {signals.name}: the step is finished; once more ends it at once"
                self.emit(Message("info", told))
            self.places = places_of(loaders)
            if self.reason != "killed":
                self._checkpoint(loaders)
        signals.act()
        return self.history

    def _train(self, loader: Any, loaders: Loaders, epochs: int) -> None:
        """The steps of an epoch, or the rest of them."""
        begin_training(self.model)
        watch = EpochWatch("train", self.epoch, loader, self.device, self.index)
        self.emit(watch.started(epochs))
        if not self.index:
            self.tallies["train"].reset()
        self._losses = self._losses_of_epoch()
        with watch.naming():
            self._make_steps(loader, watch, loaders)
        self._losses.finish()
        if self.is_trained:
            self.row = {"epoch": self.epoch, "step": self.step}
            self._tell_metrics(watch)

    def _make_steps(self, loader: Any, watch: EpochWatch, loaders: Loaders) -> None:
        group: list[PlacedBatch] = []  # of the step that is being made
        for given in () if self.is_drained else watch.batches(self._rest(loader)):
            group.append(watch.counted(to_batch(given, self.options.prepare, self.device)))
            if (loss := self._steps.train(group[-1])) is not None:
                self._stepped(loss, group, watch, loaders)
                group = []
                if self.reason is not None:
                    return
        check_given(watch)
        self.is_drained = True  # the loader stands at the next epoch, also in a checkpoint of the last step
        if (loss := self._steps.flush()) is not None:
            self._stepped(loss, group, watch, loaders)
        self.is_trained = self.reason is None

    def _stepped(self, loss: Tensor, group: list[PlacedBatch], watch: EpochWatch, loaders: Loaders) -> None:
        """What is done after a step was given to the device; nothing of it waits for that."""
        rates = [group["lr"] for group in self.optimizer.param_groups]
        self._losses.add(Entry(self.step, watch.at, loss, rates, group))
        self.step, self.index = self.step + 1, watch.index
        for callback in self.callbacks.values():
            callback.after_step(self)
        every = self.options.checkpoint_every
        self._is_due = self._is_due or (every is not None and self.step % every == 0)
        if self._is_due and self.checkpoints is not None and not self.checkpoints.is_busy:
            self._checkpoint(loaders)
        self._tell_saved()
        watch.progress(self.step, self._losses.waited, self.emit)

    def _validate(self, loader: Any, epochs: int) -> None:
        """The validation of an epoch; one that is stopped leaves all as it was."""
        before, places, is_over = random_states(), places_of({"valid": loader}), False
        try:
            self._evaluated("valid", loader, epochs)
            is_over = self.reason is None
        finally:
            if not is_over:
                set_random_states(before)
                put_places({"valid": loader}, places)

    def _evaluated(self, split: Split, loader: Any, epochs: int) -> None:
        self.tallies[split].reset()
        watch = EpochWatch(split, self.epoch, loader, self.device)
        self.emit(watch.started(epochs))
        with in_eval(self.model), watch.naming():
            self._count_batches(loader, watch)
        if self.reason is None or split == "test":
            self._tell_metrics(watch)

    def _count_batches(self, loader: Any, watch: EpochWatch) -> None:
        evaluate, tally = self._evaluate[watch.split], self.tallies[watch.split]
        for given in watch.batches(loader):
            batch = watch.counted(to_batch(given, self.options.prepare, self.device))
            _, output = evaluate(batch.inputs, batch.target)
            count_beside(tally, output, batch.target, batch.items)
            watch.progress(self.step, 0.0, self.emit)
            if self.reason is not None and watch.split == "valid":
                return
        check_given(watch)

    def _tell_metrics(self, watch: EpochWatch) -> None:
        found = self.tallies[watch.split].compute()
        self.emit(EpochEnded(watch.split, self.epoch, self.step, found, watch.seconds()))
        if watch.split == "valid" and (message := told_of_loss(self.epoch, found)) is not None:
            self.emit(message)
        self.row = self.row | {f"{watch.split}_{name}": value for name, value in found.items()}

    def _end_epoch(self, loaders: Loaders) -> None:
        self.history.append(self.row)
        self.epoch, self.index = self.epoch + 1, 0
        self.is_drained = self.is_trained = False
        for callback in self.callbacks.values():
            callback.after_epoch(self, self.row)
        self._checkpoint(loaders, is_best=self.best is not None and not self.best.since)

    # --- the run around it ---

    def _begin(self, loaders: Loaders, resume: bool) -> None:
        """Go on from the directory's checkpoint, or from where this learner stopped; else anew."""
        if resume and self.checkpoints is None:
            raise ValueError("fit(resume=True): there is nothing to go on from: give the learner a directory")
        was_early, self.reason = self.reason == "early", None
        if resume and was_early and is_over(self.callbacks.values()):
            self.reason = "early"  # the same call again
        if self.checkpoints is not None and (not self.step or (resume and self.is_broken)):
            self._find_checkpoint(self.checkpoints, resume)
        elif self.checkpoints is not None and self.checkpoints.last is None:  # another place was loaded
            check_later(self.checkpoints.later((self.epoch, self.step)), self.step)
        self.is_broken = False
        put_places(loaders, self.places)
        if self.random is not None:
            set_random_states(self.random)
            self.random = None

    def _find_checkpoint(self, checkpoints: Checkpoints, resume: bool) -> None:
        if not resume:
            if there := checkpoints.paths():
                rule = f"{there[0]} is there: give resume=True to go on from it, or another directory"
                raise ValueError(f"fit(resume=False): the directory has a run: {rule}")
            return
        if (found := checkpoints.newest(self.emit)) is not None:
            path, state = found
            self._put_back(state, f"checkpoint {path}")
            checkpoints.last = path.name
            if self.best is not None and not self.best.since and not self.index and not self.is_trained:
                link(path, path.with_name(BEST))  # it may have been killed before that

    def _put_back(self, state: Any, where: str) -> None:
        given = options_of(self.optimizer)
        self._steps.forget()
        put_back(self, state, where)
        for message in told_of_options(given, options_of(self.optimizer)):
            self.emit(message)

    def _broke(self, loaders: Loaders) -> None:
        """Note where an exception ended the run: the next fit goes on behind the batches that were given."""
        self.is_broken, self.places = True, places_of(loaders)
        self.index += self._steps.waiting

    @contextmanager
    def _run(self, epochs: int, loaders: Loaders) -> Iterator[Signals]:
        self.emit(self._started(epochs))
        reason: Reason = "error"
        text = ""
        try:
            with Signals(self.stop) as signals:
                for callback in self.callbacks.values():
                    callback.begin(self)
                yield signals
                if self.checkpoints is not None:
                    self.checkpoints.finish()
                reason = self.reason or "done"
        except BaseException as e:
            self._broke(loaders)
            reason, text = ended_by(e)
            raise
        finally:
            self._tell_saved(wait=True)
            self._end(RunEnded(reason, self.step, text))

    def _end(self, event: RunEnded) -> None:
        """Have each callback end, whatever another raises, and tell it; then the first that was raised is."""
        raised: BaseException | None = None
        for callback in self.callbacks.values():
            try:
                callback.end(self)
            except BaseException as e:
                raised = raised or e
        self.emit(event)
        if raised is not None:
            raise raised

    def _started(self, epochs: int) -> RunStarted:
        count = sum(p.numel() for p in self.model.parameters() if p.requires_grad)
        o, name = self.options, "run" if self.directory is None else self.directory.name
        config = {
            "optimizer": type(self.optimizer).__name__,
            "lr": self.optimizer.param_groups[0]["lr"],
            **{key: getattr(o, key) for key in ("accumulate", "clip", "checkpoint_every", "keep", "best")},
        }
        there = str(self.directory or "")
        return RunStarted(name, there, str(self.device), epochs, count, self.step, self.step > 0, config)

    def stop(self, reason: Reason = "stopped") -> None:
        """End the run at the end of this step, with a checkpoint; "killed": without one. From any thread."""
        self.reason = "killed" if "killed" in (reason, self.reason) else self.reason or reason

    def emit(self, event: Event) -> None:
        """Give an event to the renderers. One that raises is told of, and given no more: training goes on."""
        for renderer in list(self.renderers):
            try:
                renderer(event)
            except Exception as e:
                self.renderers.remove(renderer)
                told = f"{type(renderer).__name__} raised {type(e).__name__}: {e}: it is left out from now on"
                print(f"flambeau: fit: {told}", file=sys.stderr)
                self.emit(Message("error", told))

    # --- what it is made of ---

    def _named_callbacks(self) -> dict[str, Callback]:
        o, found = self.options, dict[str, Callback]()
        monitor = o.best or "valid_loss"
        if o.scheduler is not None:
            found["scheduler"] = Scheduling(o.scheduler, o.schedule, monitor)
        if self.best is not None:
            found["best"] = self.best
        if o.early_stopping is not None:
            is_number = isinstance(o.early_stopping, int)
            found["early_stopping"] = (
                EarlyStopping(monitor, o.early_stopping) if is_number else o.early_stopping
            )
        return found | {f"{i}: {type(c).__name__}": c for i, c in enumerate(o.callbacks)}

    def higher_is_better(self, name: str) -> bool:
        """Which way a value of the history gets better. ValueError where its metric does not say.

        name: such as "valid_loss".
        """
        split, _, metric = name.partition("_")
        found = self.tallies[split].higher_is_better(metric) if split in self.tallies else None
        if found is None:
            rule = "its metric does not say: give early_stopping=EarlyStopping(name, mode='max'), or 'min'"
            raise ValueError(f"higher_is_better({name!r}): {rule}")
        return found

    def _rest(self, loader: Any) -> Iterable[Any]:
        """The batches of an epoch that were not given yet."""
        return loader if hasattr(loader, "load_state_dict") else islice(loader, self.index, None)

    def _losses_of_epoch(self) -> Losses:
        return Losses(self.epoch, self._keep, self.emit, self._blame)

    def _blame(self, window: ReadWindow, i: int, loss: float) -> NotFinite:
        return not_finite(self._trained, window, i, loss, self.epoch, self.directory)

    def _checkpoint(self, loaders: Loaders, is_best: bool = False) -> None:
        """Begin to write a checkpoint, where there is a directory."""
        self.places = places_of(loaders)
        if self.checkpoints is not None:
            self._is_due = False
            state, losses = state_of(self, self.places), self._losses.unread
            self.checkpoints.begin((self.epoch, self.step), state, losses, is_best)
            self._tell_saved()

    def _tell_saved(self, wait: bool = False) -> None:
        if self.checkpoints is not None:
            if wait:
                self.checkpoints.wait()
            for event in self.checkpoints.told():
                self.emit(event)

    # --- without training ---

    def evaluate(self, loader: Iterable[Any]) -> Row:
        """The loss and the metrics of a loader's batches, by name."""
        kept, self.row = self.row, {}
        try:
            self._evaluated("test", loader, 1)
        finally:
            found, self.row = self.row, kept
        return {name.removeprefix("test_"): value for name, value in found.items()}

    def predict(self, loader: Iterable[Any]) -> Any:
        """The outputs for a loader's batches, with targets or without, one behind the other. -> [n, ...]

        ValueError where the loader gives no batch.
        """
        given = (inputs_of(b, self.options.prepare, self.device) for b in loader)
        with in_eval(self.model):
            found = [self._predict(*inputs) for inputs in given]
        if not found:
            raise ValueError("predict(...): the loader gave no batch: give one that has some")
        return cat(found) if all(isinstance(part, Tensor) for part in found) else found

    def save(self, path: Any) -> None:
        """Write all of the run to a file: the model, the optimizer, and where it is.

        FlambeauError where that can't be.
        """
        save_state(Path(path), state_of(self, self.places))

    def load(self, path: Any) -> None:
        """Go on, at the next `fit`, where `save` was called, or from a checkpoint.

        FlambeauError for a file that is damaged, ValueError for one of another model.
        """
        self._put_back(load_state(Path(path)), f"load({str(path)!r})")


def ended_by(e: BaseException) -> tuple[Reason, str]:
    """Why a run ended that an exception ended, and the text of it."""
    if isinstance(e, NotFinite):
        return "nan", str(e)
    name = type(e).__name__
    return "killed" if isinstance(e, KeyboardInterrupt) else "error", f"{name}: {e}" if str(e) else name


def predicting(model: Any) -> Callable[..., Any]:
    """The model without gradients."""

    def predict(*inputs: Any) -> Any:
        with no_grad():
            return model(*inputs)

    return predict


def place_of(model: Any, optimizer: Any, device: Any) -> Any:
    """Where a model is, once it and the state of its optimizer are on `device`, if any is given."""
    first = next(iter(model.parameters()), None)
    if first is None:
        raise ValueError(f"Learner({type(model).__name__}): has no parameters: there is nothing to train")
    if device is not None and get_device(device) is not first.device:
        model.to(get_device(device))
        optimizer.load_state_dict(optimizer.state_dict())
    return first.device
