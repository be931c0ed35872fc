"""Data parallel training with an optimiser: each worker computes the gradients of its logical shards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..autodiff.backward import Gradients
from ..capture.jit import jit
from ..capture.segments import SegmentedJit
from ..core.dtype import float32
from ..core.modes import no_grad
from ..core.node import describe
from ..core.tree import is_tuple
from ..errors import DistributedError, TypeError
from ..nn import SyncBatchNorm
from ..runtime.run import realize
from ..tensor import Tensor, tensor
from .early import EarlyExchange
from .elastic import is_joiner, is_lost, membership, receive_state, send_state
from .group import ProcessGroup
from .model import agree, broadcast_values, gather
from .shards import SHARDS, bounds, cut, drawing, items_of
from .sums import ParallelOptions, ShardSum, Sums, Total
from .zero import OwnedState

ASKED = 0.2  # seconds between two questions for new workers
WAITED = 1e6  # seconds that a new worker waits for the others to let it in
SEGMENT = 32 << 20  # bytes of gradients after which a replay is cut, so that they leave the device early
T = TypeVar("T")
Computed = tuple[list[Tensor], tuple[int, ...], Tensor, Any]


def make_shard(
    function: Callable[..., Any],
    params: list[Tensor],
    buffers: list[Tensor],
    synced: bool = False,
    weighs: bool = True,
) -> Callable[[list[Any], Tensor, Tensor], Computed]:
    """Make the function that computes a shard. It returns the weighted gradients and the changed buffers, the
    numbers of these, the weighted loss, and the other results of `function`.

    synced: the loss of a shard depends on the items of others, so it is weighted before backward. weighs:
    False leaves the gradients unweighted, since the planner would merge their products into one last kernel.
    """

    def shard(batch: list[Any], weight: Tensor, is_first: Tensor) -> Computed:
        before = [b.node for b in buffers]
        result: Any = function(*batch)
        more: Any = None
        if is_tuple(result):
            result, more = result
        if synced and isinstance(result, Tensor):
            grads, share = _backward(result * weight), 1.0
        else:
            grads, share = result if isinstance(result, Gradients) else _backward(result), weight
        # In float32, whatever the parameters are: 16-bit sums over shards would lose small gradients.
        with no_grad():
            by_number = {i: g for i, p in enumerate(params) if (g := grads.get(p)) is not None}
            values = [g.float() * share if weighs else g for g in by_number.values()]
            changed = [i for i, b in enumerate(buffers) if b.node is not before[i]]
            # A count, such as the number of batches, is equal in all shards, so the first one's is used.
            shares = [weight if buffers[i].dtype.kind == "f" else is_first for i in changed]
            after = [buffers[i].float() * share for i, share in zip(changed, shares, strict=True)]
            loss = grads.loss.detach().float().reshape(()) * share
        realize(loss, *values, *after)
        numbers = (*by_number, *(len(params) + i for i in changed))
        return [*values, *after], numbers, loss, more

    return shard


def _backward(loss: Any) -> Gradients:
    if not isinstance(loss, Tensor):
        rule = "the function must return the loss of its part of the batch, or what backward returned"
        raise TypeError(f"step(function) returned {describe(loss)}: {rule}")
    return loss.backward()


def weigh(values: list[Tensor], weight: Tensor) -> list[Tensor]:
    """Multiply gradients by the weight of their shard."""
    with no_grad():
        weighted = [g.float() * weight for g in values]
    realize(*weighted)
    return weighted


def make_apply(step: Callable[[Gradients], object], params: list[Tensor]) -> Callable[..., None]:
    """Make the function that steps with gradients, by the numbers of their parameters."""

    def apply(values: list[Tensor], present: tuple[int, ...], loss: Tensor) -> None:
        grads = Gradients({}, loss)
        for i, g in zip(present, values, strict=True):
            grads.replace(params[i], g)
        step(grads)

    return apply


class Companion:
    """The parts of a training beside the optimiser: their state goes to workers that join or are behind."""

    def state(self) -> Any:
        """Return the state as nested values and tensors."""
        return None

    def adopt(self, state: Any, is_new: bool) -> None:
        """Replace the state by that of another worker. is_new: this worker has made no step yet."""


class StepResult(NamedTuple):
    """The result of a step: the mean loss, and the extra data of each rank."""

    loss: float
    notes: list[bytes]


class DistributedOptimizer:
    """An optimiser whose steps use the gradients of all workers; `wrap` creates it.

    Other attributes are those of the optimiser inside, such as `param_groups` and `lr`.
    optimizer: updates the parameters
    model: names parameters in errors; its buffers are averaged over the shards; None for parameters alone
    group: the workers
    options: ParallelOptions
    apply: steps with gradients, instead of optimizer.step
    companion: its state goes to workers that join or are behind
    regroup: makes the next group after a worker died or joined; None: the one of `init_process_group`

    Raises ValueError if the workers' models differ, or there are more workers than shards.
    """

    def __init__(
        self,
        optimizer: Any,
        model: Any,
        group: ProcessGroup,
        options: ParallelOptions,
        apply: Callable[[Gradients], object] | None = None,
        companion: Companion | None = None,
        regroup: Callable[[ProcessGroup], ProcessGroup] | None = None,
    ):
        self.optimizer, self.options, self._companion = optimizer, options, companion
        self._next_group = regroup or membership.following
        self._full = group  # with workers that have joined and wait for the state
        if options.sync_batch_norm and model is not None:
            SyncBatchNorm.convert_sync_batchnorm(model)
        self._has_joiners = False  # new workers wait for the next group
        params = list(optimizer.params)
        names = {id(p): n for n, p in (model.named_parameters() if model is not None else ())}
        buffers = dict(model.named_buffers()) if model is not None else {}
        all_names = [*(names.get(id(p), f"parameter {i}") for i, p in enumerate(params)), *buffers]
        self.sums = Sums(group, params, list(buffers.values()), all_names, options)
        self._owned = OwnedState(optimizer, params, self.sums.owners, group) if options.shard_state else None
        self._apply = jit(make_apply(apply or optimizer.step, params))
        self._programs: dict[Callable[..., Any], Callable[..., Computed]] = {}
        self._weighing: dict[tuple[int, ...], Callable[..., list[Tensor]]] = {}  # by numbers of gradients
        self.progress = 0  # calls of `together` so far, equal on all workers except one that is ahead
        self.result: Any = None  # of the last one
        self._asked = monotonic()  # when rank 0 last asked for new workers
        self.is_new = is_joiner(group)
        if self.is_new:
            self._enter()
        else:
            agree(group, all_names, self.sums.tensors)
            self._copy_first(group)

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["optimizer"], name)

    @property
    def group(self) -> ProcessGroup:
        """The workers. Another one after a worker died or joined."""
        return self.sums.group

    @property
    def count(self) -> int:
        """How many steps are completed. A worker that joined begins at the count of the others."""
        return self.sums.count

    def step(self, function: Callable[..., Any] | Gradients, *batch: Any) -> float:
        """Update the parameters with the gradients of a batch, of which this worker computes its shards.
        Returns the mean loss of the batch.

        function: returns the loss of a part of the batch, the mean over its items. Pass the same function
        each time: it is recorded (fb.jit). Or this worker's gradients, as of PyTorch's loops: their mean over
        the workers is used, and the weights depend on the number of workers.
        batch: its arguments, the same on all workers: tensors and arrays [items, ...], also in containers.

        FlambeauError if a worker's gradients have NaN or infinity, DistributedError if a worker died and the
        group can't continue without it.
        """
        if isinstance(function, Gradients):
            return self._step_with(function)
        return self.accumulate(function, [batch])

    def _step_with(self, grads: Gradients) -> float:
        """Make a step with the mean of the gradients that the workers have."""
        sums = self.sums

        def part(_: int) -> ShardSum:
            with no_grad():
                share = 1 / self.group.size
                present = {i: g for i, p in enumerate(sums.params) if (g := grads.get(p)) is not None}
                values = {i: g.float() * share for i, g in present.items()}
                loss = grads.loss.detach().float().reshape(()) * share
                realize(loss, *values.values())
            return ShardSum(values, loss)

        return self.run(part, None).loss

    def accumulate(self, function: Callable[..., Any], batches: Sequence[Sequence[Any]]) -> float:
        """Make one step with the mean gradients of several batches. Returns the mean loss."""
        counts = [items_of(batch) for batch in batches]
        shards = self.options.shards
        parts = [bounds(n, shards) for n in counts]
        filled = [s for s in range(shards) if any(p[s][0] < p[s][1] for p in parts)]

        def part(shard: int) -> ShardSum:
            pieces = [
                (
                    cut(list(batch), *where[shard], n, self.sums.device),
                    (where[shard][1] - where[shard][0]) / (n * len(batches)),
                )
                for batch, where, n in zip(batches, parts, counts, strict=True)
            ]
            return self.compute(function, [(b, w) for b, w in pieces if w], shard == filled[0])

        return self.run(part, filled).loss

    def compute(
        self,
        function: Callable[..., Any],
        batches: Sequence[tuple[Any, float]],
        is_first: bool,
        use: Callable[[Any, Any], object] | None = None,
    ) -> ShardSum:
        """Compute the weighted sums of a shard's parts of one or several batches, each with its weight.

        use: called with the function's other results, and the batch.
        """
        sums = self.sums
        program = self._programs.get(function)
        synced = self.options.sync_batch_norm
        if program is None:
            # Statistics of other workers arrive in the middle of a step, so it can't be recorded.
            overlaps = sums.overlaps and not synced
            shard = make_shard(function, sums.params, [] if synced else sums.buffers, synced, not overlaps)
            recorded = SegmentedJit(shard, SEGMENT) if overlaps else jit(shard)
            program = self._programs[function] = shard if synced else recorded
        buffers = [] if synced else sums.buffers
        # Each shard begins with the buffers from before the step, and its results are averaged: running
        # statistics do not depend on the order of the shards.
        before = [b.detach().clone() for b in buffers]
        realize(*before)
        total: ShardSum | None = None
        first = tensor(float(is_first), float32, device=sums.device)
        for batch, share in batches:
            weight = tensor(share, float32, device=sums.device)
            if isinstance(program, SegmentedJit):
                early = sums.early if len(batches) == 1 else None
                part, more = self._compute_early(program, (batch, weight, first), early)
            else:
                values, numbers, loss, more = program(batch, weight, first)
                part = ShardSum(dict(zip(numbers, values, strict=True)), loss)
            if use is not None:
                use(more, batch)
            total = part if total is None else sums.add(total, part)
        for b, old in zip(buffers, before, strict=True):
            b.assign_(old)
        assert total is not None
        return total

    def _compute_early(
        self, program: SegmentedJit, arguments: tuple[Any, Tensor, Tensor], early: EarlyExchange | None
    ) -> tuple[ShardSum, Any]:
        """Compute a shard. `early` may get some of its gradients while others are computed. Returns its sum,
        and the function's other results."""
        weight = arguments[1]
        play = program.begin(*arguments) if early is not None else None
        if play is None or early is None:
            values, numbers, loss, more = program(*arguments)
            by_number = dict(zip(numbers, values, strict=True))
            return ShardSum(self._weigh(by_number, weight), loss), more
        values, numbers, loss, more = play.result
        weighted: dict[int, Tensor] = {}
        for ready in play:
            early.pace()
            by_number = {numbers[i]: values[i] for i in ready if i < len(numbers)}
            by_number = self._weigh(by_number, weight)
            weighted |= by_number
            early.take(by_number, numbers)
        return ShardSum(weighted, loss), more

    def _weigh(self, values: dict[int, Tensor], weight: Tensor) -> dict[int, Tensor]:
        """Multiply gradients, by number, by the weight of their shard; buffers are weighted already."""
        numbers = tuple(i for i in values if i < len(self.sums.params))
        if not numbers:
            return values
        if numbers not in self._weighing:
            self._weighing[numbers] = jit(weigh)
        weighted = self._weighing[numbers]([values[i] for i in numbers], weight)
        return values | dict(zip(numbers, weighted, strict=True))

    def run(
        self, part: Callable[[int], ShardSum], filled: Sequence[int] | None, note: bytes = b""
    ) -> StepResult:
        """Make a step from the shards that `part` computes; if a worker dies in between, repeat it with the
        others.

        filled: the shards that have items; None: one shard for each worker.
        """

        self.admit()
        return self.run_step(part, filled, note)

    def run_step(
        self, part: Callable[[int], ShardSum], filled: Sequence[int] | None, note: bytes = b""
    ) -> StepResult:
        """Make a step as `run` does, without workers that wait: the caller calls `admit` between steps."""

        # Batch norms in step change the buffers as they compute: a repeated step begins with the old ones.
        before = [b.detach().clone() for b in self.sums.buffers] if self.options.sync_batch_norm else []
        realize(*before)

        def total() -> tuple[float, list[bytes]]:
            for b, old in zip(self.sums.buffers, before, strict=False):
                b.assign_(old)
            # In the note of each step, so that all ranks admit new workers at the same one.
            sums = self.sums.total(part, filled, bytes([self._sees_joiners()]) + note)
            self._update(sums)
            return sums.loss, sums.notes

        loss, notes = self.together(total)
        self._has_joiners = any(text[0] for text in notes)
        return StepResult(loss, [text[1:] for text in notes])

    def _sees_joiners(self) -> bool:
        """Whether new workers wait. Rank 0 asks, at most every ASKED seconds."""
        now = monotonic()
        if self.group.rank or self._full.elastic is None or now - self._asked < ASKED:
            return False
        self._asked = now
        return self._full.joiners() > 0

    def together(self, function: Callable[[], T]) -> T:
        """Call a function with collectives, on all workers. If a worker dies in between, the others call it
        again, or use the result of workers that had completed it. The result must be plain values."""
        before = self.progress
        while True:
            try:
                result = function()
            except DistributedError:
                if not is_lost(self._full):
                    raise
                self.regroup()
                # Another worker had completed the call: its state and its result came with `regroup`.
                if self.progress > before:
                    return self.result
            else:
                self.progress, self.result = before + 1, result
                return result

    def _update(self, total: Total) -> None:
        """Update the parameters and buffers with sums."""
        sums = self.sums
        first = len(sums.params)
        with no_grad():
            for i, value in total.values.items():
                if i >= first:
                    sums.tensors[i].assign_(value.to(sums.tensors[i].dtype))
        numbers = [i for i in sorted(total.values) if i < first]
        loss = tensor(total.loss, float32, device=sums.device)
        if numbers:
            with drawing:
                self._apply([total.values[i] for i in numbers], tuple(numbers), loss)
        if self._owned is not None:
            self._owned.spread([i for i in total.used if i < first])

    # --- state ---

    def state_dict(self) -> dict[str, Any]:
        """Return the optimiser's state_dict. With `shard_state`, all workers must call this."""
        return self.optimizer.state_dict() if self._owned is None else self._owned.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state_dict of an optimiser, on all workers."""
        (self.optimizer if self._owned is None else self._owned).load_state_dict(state_dict)

    def release(self) -> None:
        """Give the optimiser inside the state of all parameters again. All workers call this."""
        if self._owned is not None:
            self._owned.release()
            self._owned = None

    # --- changes of the group ---

    def regroup(self) -> None:
        """Go on with the living workers: deal the shards again, and give the state of a worker that is ahead
        to the others. New workers wait until `admit`."""
        if self._owned is not None:
            rule = "resume from the newest checkpoint, or pass shard_state=False to survive it"
            problem = "the workers changed, and each had a part of the optimiser's state"
            raise DistributedError(f"step {self.count}: {problem}: {rule}")
        while True:
            full = self._full = self._next_group(self._full)
            try:
                progress_by_rank = self._meet(self.progress)
                # New workers have no state yet: they wait in `_enter`, while the others complete the step.
                working = (
                    full if len(progress_by_rank) == full.size else full.new_group(list(progress_by_rank))
                )
                assert working is not None
                self.sums.join(working)
                self._catch_up([progress_by_rank[r] for r in sorted(progress_by_rank)])
                return
            except DistributedError:
                # Another worker died meanwhile.
                if not is_lost(full):
                    raise

    def admit(self) -> None:
        """Let new workers in, between two steps: they get the state."""
        if self._has_joiners:
            self._has_joiners = False
            self.regroup()
        while self._full is not self.group:
            try:
                agree(self._full, self.sums.names, self.sums.tensors)
                if self.group.rank == 0:
                    send_state(self._full, self._full_state())
                else:
                    receive_state(self._full, self._full.ranks.index(self.group.ranks[0]))
                self.sums.join(self._full)
            except DistributedError:
                if not is_lost(self._full):
                    raise
                self.regroup()

    def _enter(self) -> None:
        """Wait until the others admit this new worker, and load their state."""
        while True:
            full = self._full
            try:
                progress_by_rank = self._meet(-1)
                full.new_group(list(progress_by_rank))
                # The others may be in a long validation. If they die, this call ends.
                timeout, full.timeout = full.timeout, WAITED
                agree(full, self.sums.names, self.sums.tensors)
                state = receive_state(full, min(progress_by_rank))
                full.timeout = timeout
                self.sums.join(full)
                self._adopt(state, is_new=True)
                return
            except DistributedError:
                if not is_lost(full):
                    raise
                self._full = self._next_group(full)

    def _meet(self, progress: int) -> dict[int, int]:
        """Return the progress of the workers of a new group that have the state, by rank."""
        each = [int(c[0]) for c in gather(self._full, np.array([progress], np.int64))]
        progress_by_rank = {rank: c for rank, c in enumerate(each) if c >= 0}
        if not progress_by_rank:
            rule = "resume from the newest checkpoint"
            raise DistributedError(f"all workers that had the training state have died: {rule}")
        return progress_by_rank

    def _catch_up(self, each: Sequence[int]) -> None:
        """Give the state of a worker that is ahead to those behind. each: the progress of the workers."""
        group, newest = self.group, max(each)
        if newest == min(each):
            return
        source = each.index(newest)
        if group.rank == source:
            send_state(group, self._full_state())
            return
        state = receive_state(group, source)
        if self.progress < newest:
            self._adopt(state, is_new=False)

    def _copy_first(self, group: ProcessGroup) -> None:
        """Begin with the values and the random numbers of rank 0."""
        broadcast_values(group, self.sums.tensors)
        seed = np.array([self.sums.seed], np.uint64)
        group.broadcast(seed, 0)
        self.sums.seed = int(seed[0])

    def _full_state(self) -> dict[str, Any]:
        sums = self.sums
        return {
            "values": list(sums.tensors),
            "optimizer": self.optimizer.state_dict(),
            "count": sums.count,
            "seed": str(sums.seed),  # 64 bits, more than JSON's numbers have everywhere
            "progress": self.progress,
            "result": self.result,
            "companion": None if self._companion is None else self._companion.state(),
        }

    def _adopt(self, state: dict[str, Any], is_new: bool) -> None:
        """Replace this worker's state by that of another one."""
        sums = self.sums
        with no_grad():
            for t, value in zip(sums.tensors, state["values"], strict=True):
                t.assign_(value.to(t.device))
        saved = state["optimizer"]
        if not is_new:
            # This worker's scheduler has yet to make the step that the other worker's options include.
            saved = {"state": saved["state"], "param_groups": self.optimizer.state_dict()["param_groups"]}
        self.optimizer.load_state_dict(saved)
        sums.count, sums.seed = state["count"], int(state["seed"])
        self.progress, self.result = state["progress"], state["result"]
        if self._companion is not None:
            self._companion.adopt(state["companion"], is_new)


def wrap(
    optimizer: Any,
    model: Any = None,
    *,
    shards: int = SHARDS,
    wire: str = "float32",
    shard_state: bool = False,
    sync_batch_norm: bool = False,
    group: ProcessGroup | None = None,
) -> DistributedOptimizer:
    """Train with the workers of a group: `optimizer.step(loss_function, *batch)` on the result uses the
    gradients of all, each of its shards of the batch.

    The weights of rank 0 are copied to all workers. With the float32 wire, the weights after each step depend
    on the number of shards, and not on the number of workers.

    optimizer: updates the parameters
    model: names parameters in errors; its buffers that a step changes, such as the statistics of batch norms,
        are averaged over the shards
    shards: the parts of each batch, at least as many as workers
    wire: "float32", or "float16", "bfloat16" or "int8" with error feedback
    shard_state: each worker keeps the optimiser's state of a part of the parameters (ZeRO-1)
    sync_batch_norm: the model's batch norms become SyncBatchNorm, which use the statistics of the entire
        batch; steps are not recorded then
    group: the workers; None: the group of init_process_group, or this process alone

    Raises ValueError if the workers' models differ, there are more workers than shards, or an option is
        invalid.
    """
    return DistributedOptimizer(
        optimizer,
        model,
        membership.current() if group is None else group,
        ParallelOptions(shards, wire, shard_state, sync_batch_norm),
    )
