"""A run on several workers: each computes its shards of every batch, and all have the same position.

Rank 0 shows the run and writes its checkpoints. If it dies, the next one does.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from ..autodiff.backward import Gradients
from ..core.dtype import float32
from ..core.events import emit
from ..core.modes import no_grad
from ..data import DataLoader
from ..distributed import ParallelOptions, ProcessGroup, get_default_group, next_group
from ..distributed.elastic import decode, encode, is_joiner, receive_state, send_state
from ..distributed.model import gather_bytes
from ..distributed.optimizer import Companion, DistributedOptimizer
from ..distributed.shards import bounds, cut
from ..distributed.sums import ShardSum
from ..errors import DistributedError, ValueError
from ..functions import read
from ..tensor import Tensor, tensor
from .checks import check_any_batch, one_number
from .events import Message, Reason, Renderer, Split
from .meters import RecordedMeter, SplitMeter, count, count_unrecorded
from .randoms import set_random_states
from .run_state import (
    Position,
    RunParts,
    loader_states,
    progress_of,
    restore_loaders,
    restore_progress,
    state_of,
)
from .saving import RunSnapshot, Saving
from .steps import PlacedBatch, Trained, apply, gradients, items_in
from .watch import EpochWatch, rest_of

if TYPE_CHECKING:
    from .learner import Learner

REASONS: tuple[Reason | None, ...] = (None, "stopped", "early", "killed")  # by number in messages


class DividedBatch(NamedTuple):
    """A batch of which each worker loads its own parts. part: the items [first, end) on the device."""

    items: int
    part: Callable[[int, int, int], PlacedBatch]  # shard, first, end


class RunAccess(NamedTuple):
    """The parts of a Learner that a run on several workers uses."""

    learner: Learner
    parts: RunParts
    saving: Saving | ParallelSaving
    to_batch: Callable[[Any], PlacedBatch]
    restore: Callable[[Any, str], None]  # a state, with its source for errors
    evaluated: Callable[[EpochWatch, Iterable[Any]], Iterator[tuple[PlacedBatch, Tensor]]]

    @property
    def trained(self) -> Trained:
        """The model, the loss and the optimiser."""
        return self.parts.trained

    @property
    def position(self) -> Position:
        """The position of the run."""
        return self.learner.position

    @property
    def meter(self) -> SplitMeter:
        """The counts of the training."""
        return self.parts.metrics


class Parallel(Companion):
    """The parts with which a Learner trains with other workers."""

    def __init__(self, run: RunAccess, group: ProcessGroup, options: ParallelOptions):
        check_parallel(run.trained, options)
        self.run, self.options = run, options
        self.loaders: dict[str, Any] = {}
        self.reason: Reason | None = None  # why this worker wants to stop
        self.saves_now = False  # all workers save after the current step
        self.has_directory = False
        self.total = 0.0  # of the epoch's losses times items
        self.waiting = 0  # as of `Steps`
        self._renderers: list[Renderer] = list(run.learner.emit.renderers)
        self._step = _make_step(run.trained, run.meter.recorded, options.sync_batch_norm)
        self._group = group
        self.optimizer: Any = None

    @property
    def group(self) -> ProcessGroup:
        """The workers."""
        return self._group if self.optimizer is None else self.optimizer.group

    @property
    def is_leader(self) -> bool:
        """Whether this worker shows the run and writes its checkpoints."""
        return self.group.rank == 0

    # --- the start and the end ---

    @contextmanager
    def session(self) -> Generator[None]:
        """Let rank 0 alone show the run, and stop the others if this worker fails."""
        self._lead()
        try:
            yield
            if self.options.shard_state:
                self.optimizer.release()
        except BaseException as e:
            if not isinstance(e, DistributedError):
                self.group.abort(f"{type(e).__name__}: {e}")
            raise
        finally:
            self.run.learner.emit.renderers[:] = self._renderers

    def _lead(self) -> None:
        self.run.learner.emit.renderers[:] = self._renderers if self.is_leader else []

    def begin(self, loaders: dict[str, Any], resume: Callable[[], None]) -> None:
        """Begin or resume the run on rank 0, and give its state to all workers."""
        run, position, group = self.run, self.run.position, self._group
        self.loaders = loaders
        seed: int | None = None
        if not is_joiner(group):
            if self.is_leader:
                resume()
                position.places = loader_states(loaders)
                self.has_directory = run.learner.checkpoints is not None
                send_state(group, {**state_of(position, run.parts), "has_directory": self.has_directory})
                seed = position.seed
            else:
                state = receive_state(group, 0)
                run.restore(state, "the state of rank 0")
                self.has_directory, seed = state["has_directory"], position.seed
                run.meter.forget_counts()
            self.total = run.meter.read_total()
        t = run.trained
        self.optimizer = DistributedOptimizer(
            t.optimizer, t.model, group, self.options, _make_apply(t), self, self._regroup
        )
        sums = self.optimizer.sums
        sums.checks = t.scaler is None  # a scaler skips steps with infinite gradients
        if not self.optimizer.is_new:
            sums.count = position.step
            sums.seed = sums.seed if seed is None else seed
        position.seed = sums.seed
        restore_loaders(loaders, position.places)
        self._skips = self.optimizer.is_new
        if position.random is not None:
            set_random_states(position.random)
            position.random = None

    def _regroup(self, group: ProcessGroup) -> ProcessGroup:
        failure, before = group.failure, group.size
        following = next_group(group)
        self.run.learner.emit.renderers[:] = self._renderers if following.rank == 0 else []
        text = f"{failure or 'a worker joined'}: {following.size} workers go on, {before} before"
        if failure:
            text += "; this epoch's training metrics do not include its counts"
        self.run.learner.emit(Message("warning" if failure else "info", text))
        return following

    def state(self) -> Any:
        """Return the state that a joining worker needs in addition to the weights and the optimiser's
        state."""
        self.run.position.places = loader_states(self.loaders)
        state = progress_of(self.run.position, self.run.parts)
        return {**state, "total": self.total, "has_directory": self.has_directory}

    def adopt(self, state: Any, is_new: bool) -> None:
        """Take over the state of a worker. One that was here already has its own position."""
        run, scaler = self.run, self.run.trained.scaler
        self.total, self.has_directory = state["total"], state["has_directory"]
        if is_new:
            restore_progress(run.position, run.parts, state)
            run.meter.items = state["metrics"]["items"]
        elif scaler is not None:
            scaler.load_state_dict(state["scaler"])

    # --- steps ---

    def batches(self, loader: Any, index: int) -> Iterator[Any]:
        """Yield the batches of an epoch from number `index` on, each in parts."""
        if not index:
            self.total = 0.0
        if not _has_indices(loader):
            # Every worker reads all of it.
            for item in rest_of(loader, index):
                whole = self.run.to_batch(item)
                yield DividedBatch(whole.items, _RowsOf(whole))
            return

        def parts(_: int, indices: Any) -> dict[int, Any]:
            places = bounds(len(indices), self.options.shards)
            return {s: indices[slice(*places[s])] for s in self._shards if places[s][0] < places[s][1]}

        for indices, fetched in loader.iterate_parts(parts):
            yield DividedBatch(len(indices), _PartsOf(loader, indices, fetched, self.run.to_batch))

    @property
    def _shards(self) -> range:
        return self.optimizer.sums.shards

    def each(self, batches: Iterable[DividedBatch]) -> Iterator[tuple[Tensor, list[PlacedBatch]]]:
        """Make a step from every `accumulate` batches, or from the remaining ones. Yields the loss of
        each."""
        rest = iter(batches)
        while True:
            # Between two steps, when the loader is at the position of the run.
            self.optimizer.admit()
            group: list[DividedBatch] = []
            for batch in islice(rest, self.run.parts.accumulate):
                group.append(batch)
                self.waiting = len(group)
            if not group:
                return
            yield self._train(group), []

    def forget(self) -> None:
        """Drop the accumulated batches."""
        self.waiting = 0

    def _train(self, group: list[DividedBatch]) -> Tensor:
        run, shards = self.run, self.options.shards
        places = [bounds(batch.items, shards) for batch in group]
        filled = [s for s in range(shards) if any(p[s][0] < p[s][1] for p in places)]

        def part(shard: int) -> ShardSum:
            pieces: list[tuple[Any, float]] = []
            for batch, of_shards in zip(group, places, strict=True):
                first, end = of_shards[shard]
                if first < end:
                    own = batch.part(shard, first, end)
                    share = (end - first) / (batch.items * len(group))
                    pieces.append(((own.inputs, own.target), share))
            emit("step", self._step, pieces[0][0], {})
            return self.optimizer.compute(self._step, pieces, shard == filled[0], self._count)

        saves = self.is_leader and run.saving.is_ready(run.position.step + 1)
        note = bytes([REASONS.index(self.reason), saves])
        loss, notes = self.optimizer.run_step(part, filled, note)
        self.waiting = 0
        items = sum(batch.items for batch in group)
        self.total += loss * items
        run.meter.items += items
        self.saves_now = any(text[1] for text in notes)
        self._agree_on(text[0] for text in notes)
        return tensor(loss, float32, device=run.learner.device)

    def _count(self, output: Any, batch: Sequence[Any]) -> None:
        """Count a part of a batch into metrics that can't be recorded."""
        _, target = batch
        count_unrecorded(self.run.meter, output, target, 0)

    # --- agreements ---

    def _agree_on(self, reasons: Iterable[int]) -> None:
        reason = REASONS[max(reasons)]
        if reason is not None:
            self.run.position.reason = reason

    def agree(self) -> None:
        """Let a stop that any worker wants be the stop of all."""
        if self._skips:  # the others are between two steps
            self._skips = False
            return

        def ask() -> list[int]:
            own = bytes([REASONS.index(self.reason)])
            return [data[0] for data in gather_bytes(self.group, own)]

        self._agree_on(self.optimizer.together(ask))

    def merged(self, meter: SplitMeter) -> SplitMeter:
        """Return the counts of all workers together. All call this."""
        states = [
            decode(bytearray(data), "metrics")
            for data in gather_bytes(self.group, encode(meter.state_dict()["metrics"]))
        ]
        return meter.merged(states)

    def compute(self, meter: SplitMeter) -> dict[str, float]:
        """Return the loss and the metrics of the training by name, over all workers."""

        def values() -> dict[str, float]:
            return self.merged(meter).with_total(self.total, meter.items).compute()

        return self.optimizer.together(values)

    def evaluate(self, split: Split, loader: Any, watch: EpochWatch) -> dict[str, float]:
        """Return the values of a split: each worker evaluates every n-th batch."""
        places = loader_states({split: loader})

        def values() -> Any:
            restore_loaders({split: loader}, places)
            result = self._evaluate(split, loader, watch)
            return [result, loader_states({split: loader})]

        result, after = self.optimizer.together(values)
        restore_loaders({split: loader}, after)
        return result

    def _evaluate(self, split: Split, loader: Any, watch: EpochWatch) -> dict[str, float]:
        run, group = self.run, self.group
        run.learner.meters[split].reset()
        numbers: list[int] = []

        def numbered() -> Iterator[Any]:
            for number, batch in self._own_batches(loader):
                numbers.append(number)
                yield batch

        pairs = list(run.evaluated(watch, numbered()))
        losses, items = [loss.float() for _, loss in pairs], [batch.items for batch, _ in pairs]
        own = list(zip(numbers, [float(v) for v in read(*losses)], items, strict=True)) if losses else []
        rows: list[Any] = []
        for data in gather_bytes(group, encode({"rows": own})):
            rows += decode(bytearray(data), "losses")["rows"]
        # In the order of the batches, so that the sum does not depend on the number of workers.
        if not rows:
            check_any_batch(watch)
        total = sum(loss * n for _, loss, n in sorted(rows))
        meter = self.merged(run.learner.meters[split])
        return meter.with_total(total, sum(n for *_, n in rows)).compute()

    def _own_batches(self, loader: Any) -> Iterator[tuple[int, Any]]:
        """Yield the batches that this worker evaluates, with their numbers."""
        rank, size = self.group.rank, self.group.size
        if not _has_indices(loader):
            yield from ((n, batch) for n, batch in enumerate(loader) if n % size == rank)
            return

        def parts(number: int, indices: Any) -> dict[int, Any]:
            return {0: indices} if number % size == rank else {}

        for number, (_, fetched) in enumerate(loader.iterate_parts(parts)):
            if fetched:
                yield number, fetched[0]

    def snapshot(self) -> RunSnapshot:
        """Return the state of the run for a checkpoint. All workers call this."""
        run, position = self.run, self.run.position

        def collect() -> dict[str, Any]:
            meter = run.meter
            counts = self.merged(meter).with_total(self.total, meter.items).state_dict()
            return {"metrics": counts, "optimizer": self.optimizer.state_dict()}

        # `together` can't return tensors: a worker that is behind does not save its own.
        collected: list[dict[str, Any]] = []
        self.optimizer.together(lambda: collected.append(collect()))
        position.places = loader_states(self.loaders)
        state = state_of(position, run.parts) | (collected[-1] if collected else {})
        return RunSnapshot((position.epoch, position.step), state, [])


class ParallelSaving:
    """The Saving of a run on several workers: all save at the same steps, and rank 0 writes."""

    def __init__(self, saving: Saving | ParallelSaving, parallel: Parallel):
        self._saving, self._parallel = saving, parallel

    def is_ready(self, step: int) -> bool:
        return self._saving.is_ready(step)

    def write(self, snapshot: RunSnapshot, is_best: bool = False) -> None:
        self._saving.write(snapshot, is_best)

    def after_step(self, step: int) -> None:
        if self._parallel.saves_now:
            self.save()
        self.report()

    def save(self, is_best: bool = False) -> None:
        parallel = self._parallel
        if parallel.has_directory:
            snapshot = parallel.snapshot()
            if parallel.is_leader:
                self.write(snapshot, is_best)

    def finish(self) -> None:
        self._saving.finish()

    def report(self, wait: bool = False) -> None:
        self._saving.report(wait)


class _RowsOf:
    """Cuts the parts of a batch out of the whole."""

    def __init__(self, whole: PlacedBatch):
        self.whole = whole

    def __call__(self, shard: int, first: int, end: int) -> PlacedBatch:
        inputs, target, items = self.whole
        device = next(t.device for t in (*inputs, target) if isinstance(t, Tensor))
        parts = cut([*inputs, target], first, end, items, device)
        return PlacedBatch(tuple(parts[:-1]), parts[-1], end - first)


class _PartsOf:
    """The fetched parts of a batch; a part of a worker that died is fetched now."""

    def __init__(
        self, loader: DataLoader, indices: Any, fetched: dict[int, Any], place: Callable[[Any], PlacedBatch]
    ):
        self.loader, self.indices, self.fetched, self.place = loader, indices, fetched, place

    def __call__(self, shard: int, first: int, end: int) -> PlacedBatch:
        if shard not in self.fetched:
            self.fetched[shard] = self.loader.fetch(self.indices[first:end])
        return self.place(self.fetched[shard])


def _has_indices(loader: Any) -> bool:
    return type(loader) is DataLoader and not loader.is_iterable and loader.batch_size is not None


def _make_step(
    t: Trained, into: RecordedMeter, synced: bool
) -> Callable[[tuple[Any, ...], Any], tuple[Gradients | Tensor, Any]]:
    """Make the function of a shard: its gradients, or with `synced` its loss, and the output if a metric
    needs it."""

    def step(inputs: tuple[Any, ...], target: Any) -> tuple[Gradients | Tensor, Any]:
        if synced:
            output = t.model(*inputs)
            result = loss = one_number(t.loss(output, target))
        else:
            loss, output, result = gradients(t, inputs, target)
            result.loss = loss  # not times the scale
        with no_grad():
            count(into, loss, output, target, items_in(inputs[0]))
        return result, output if into.needs_output else None

    return step


def _make_apply(trained: Trained) -> Callable[[Gradients], None]:
    """Make the function that steps with gradients; recordings watch only the values that it uses."""

    def step(grads: Gradients) -> None:
        apply(trained, grads)

    return step


def check_parallel(trained: Trained, options: ParallelOptions) -> None:
    """ValueError for options that can't be combined with several workers."""
    if options.shard_state and (trained.clip is not None or trained.scaler is not None):
        rule = "clip and scaler need the gradients of all parameters on each worker"
        raise ValueError(f"fit(shard_state=True): {rule}: leave one of them out")
    if options.sync_batch_norm and trained.scaler is not None:
        rule = "the loss is weighted before its gradients are computed: leave the scaler out"
        raise ValueError(f"fit(sync_batch_norm=True): {rule}")


def of_current_group(run: RunAccess, options: ParallelOptions) -> Parallel:
    """Return the part of a Learner that trains with the group of this process."""
    return Parallel(run, get_default_group(), options)
