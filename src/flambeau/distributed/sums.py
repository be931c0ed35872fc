"""Adds the gradients of logical shards over the workers of a group, and assigns shards to workers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple, TypeVar

import numpy as np

from ..capture.jit import jit
from ..core.dtype import float32
from ..core.modes import no_grad
from ..device.protocol import Device
from ..errors import FlambeauError, ValueError
from ..ops.join import stack
from ..ops.random import get_rng_state
from ..runtime.run import Readback, realize
from ..tensor import Tensor, tensor
from .carrier import CopyThreads, Landing, StagedCarrier, TensorSlice, carrier_of
from .compression import Feedback, Numbers, wire_named
from .early import EarlyExchange, PairSums, RoundReader, add_lists
from .exchange import TINY, BadGradient, Flaw, GradientExchange, StageTimes, SumSlots, TreeAdd
from .group import ProcessGroup, RankCall
from .layout import ELEMENT, ROUND, Round, owned_rounds, owners_of, round_size, rounds_of
from .lockstep import Meeting, side_by_side
from .model import gather
from .reduce import TreeSum, spans_of
from .shards import SHARDS, deal, drawing, random_numbers

AHEAD = 2  # rounds that are read from the device while earlier ones are sent
OVERLAPPED = 64 << 20  # with at least this many bytes, gradients are exchanged before all are complete
NOTE = 64  # bytes that each rank may send along with a step
T = TypeVar("T")


@dataclass(frozen=True)
class ParallelOptions:
    """How a training is divided among workers.

    shards: the number of parts of each batch; the weights depend on it, and not on the number of workers
    wire: "float32", or "float16", "bfloat16" or "int8" with error feedback, whose results depend on the
        number of workers
    shard_state: each worker keeps the optimiser's state of a part of the parameters (ZeRO-1)
    sync_batch_norm: batch norms use the statistics of the entire batch; steps are not recorded then
    restarts: how many killed workers `Learner.fit(devices=...)` replaces
    engine: the launcher of the workers, "local" or "ray"

    Raises ValueError if the wire is unknown, or shards is not a positive integer.
    """

    shards: int = SHARDS
    wire: str = "float32"
    shard_state: bool = False
    sync_batch_norm: bool = False
    restarts: int = 0
    engine: str = "local"

    def __post_init__(self) -> None:
        wire_named(self.wire)
        if type(self.shards) is not int or self.shards < 1:
            raise ValueError(f"shards={self.shards!r}: must be a positive integer: pass 8, or leave it out")


class ShardSum(NamedTuple):
    """The sums over one or several shards, weighted by their items: float32 gradients and buffers, keyed by
    number, and the loss."""

    values: dict[int, Tensor]
    loss: Tensor


class Total(NamedTuple):
    """The sums over all shards, on the device: gradients and buffers by number, and the loss."""

    values: dict[int, Tensor]  # with `shard_state`, those of this worker's parameters
    loss: float
    notes: list[bytes]  # the extra data of each rank
    used: Sequence[int] = ()  # the numbers of all sums


def finite_flags(values: list[Tensor]) -> Tensor:
    """Return for each tensor whether all of its elements are finite, as [tensors] float32."""
    with no_grad():
        flags = stack([v.isfinite().all().float() for v in values])
        realize(flags)
    return flags


class _Step:
    """A step of a worker: the shards of all workers, and the results so far.

    dealt: the shards of each worker; None: one for each. filled: those that have items.
    """

    def __init__(
        self,
        group: ProcessGroup,
        dealt: list[range] | None,
        filled: Sequence[int] | None,
        note: bytes,
        add: Callable[[ShardSum, ShardSum], ShardSum],
    ):
        self.dealt = deal(group.size, group.size) if dealt is None else dealt
        self.filled = range(group.size) if filled is None else filled
        self.shards, self.note = self.dealt[-1].stop, note
        self.own = [shard for shard in self.dealt[group.rank] if shard in self.filled]
        self.spans = [spans_of(self.shards, self.filled, owned) for owned in self.dealt]
        self.local = self.tree(add)
        self.used: list[int] = []  # the numbers of the tensors that any worker has values of
        self.notes: list[bytes] = []
        self.exchange: GradientExchange | None = None
        self.landed: dict[int, Landing] = {}

    def tree(self, add: Callable[[T, T], T]) -> TreeSum[T]:
        """Return an empty tree of this step's shards."""
        return TreeSum(self.shards, self.filled, add)


class Sums:
    """Adds gradients and buffers over the logical shards of all workers.

    params: the parameters; buffers: tensors that a shard may change, such as running means. names: of both.
    """

    def __init__(
        self,
        group: ProcessGroup,
        params: list[Tensor],
        buffers: list[Tensor],
        names: list[str],
        options: ParallelOptions,
    ):
        self.params, self.buffers, self.names, self.options = params, buffers, names, options
        self.tensors = [*params, *buffers]
        self.device = params[0].device
        self.feedback = Feedback(wire_named(options.wire))
        self.count = 0  # steps so far
        with drawing:
            self.seed = get_rng_state()[0]
        self.checks = True  # whether gradients must be finite
        self.sent = 0  # bytes to other workers so far
        self.times: StageTimes | None = None  # for benchmarks
        self._add, self._check = jit(add_lists), jit(finite_flags)
        self.flushes = _flushes(self.device)
        self._zeros: dict[int, Tensor] = {}
        self._landings: dict[int, Landing] = {}
        self._pairs = PairSums(self._zero)
        self.early: EarlyExchange | None = None  # that the shard may begin which is computed now
        # Small gradients are exchanged faster than a shard's segments are submitted.
        nbytes = sum(4 * p.numel() for p in params)
        self.is_large = nbytes >= OVERLAPPED
        self._plans: dict[tuple[int, ...], tuple[Round, ...]] = {}
        self.join(group)

    def join(self, group: ProcessGroup) -> None:
        """Divide the work among the workers of a group."""
        self.group, self._plans = group, {}
        self._slots: tuple[tuple[tuple[Round, ...], tuple[int, ...]], SumSlots] | None = None
        self._calls: list[RankCall] = []  # of the last exchange
        processes = 1 + sum(p.shares_memory for p in group.mesh.peers.values())
        self.carrier = carrier_of(self.device, CopyThreads(processes))
        self.feedback.run = self.carrier.threads.run
        # Other workers cut the sums elsewhere: errors of other cuts do not fit.
        self.feedback.errors.clear()
        self.deal = deal(self.options.shards, group.size)
        self.owners = owners_of([t.numel() for t in self.tensors], group.size)

    @property
    def overlaps(self) -> bool:
        """Whether gradients are exchanged before all are computed."""
        return self.is_large and isinstance(self.carrier, StagedCarrier)

    @property
    def shards(self) -> range:
        """The shards of this worker."""
        return self.deal[self.group.rank]

    def total(
        self, part: Callable[[int], ShardSum], filled: Sequence[int] | None, note: bytes = b""
    ) -> Total:
        """Compute this worker's shards by `part`, and add those of all workers. `note` is sent to all.

        filled: the shards that have items; None: there is one shard for each worker.
        """
        step = _Step(self.group, self.deal if filled is not None else None, filled, note, self.add)
        try:
            early = self._compute(step, part)
            if self.group.size == 1 and self.feedback.wire.is_exact:
                self._announce_step(step, step.local.values[step.spans[0][0]].values)
                return self._alone(step)
            if early is None:
                self._read(step)
            else:
                early.finish()
            total, flaw = self._finish(step)
        except BaseException as e:
            if step.exchange is not None:
                step.exchange.stop(e)
            raise
        if flaw is not None:
            raise BadGradient(self._describe(flaw))
        self.count += 1
        return total

    def _compute(self, step: _Step, part: Callable[[int], ShardSum]) -> EarlyExchange | None:
        """Compute the own shards. Returns the exchange if it began before the last one was complete."""

        def compute(shard: int) -> ShardSum:
            with random_numbers(self.seed, self.count, shard):
                return part(shard)

        local = step.local
        if self.options.sync_batch_norm:
            computed = side_by_side(Meeting(self.group, step.filled, step.dealt), step.own, compute)
            for shard in step.own:
                local.put((shard, shard + 1), computed[shard])
            return None
        for shard in step.own[:-1]:
            local.put((shard, shard + 1), compute(shard))
        for shard in step.own[-1:]:
            if self.overlaps and self.group.size > 1:
                self.early = self._early(step, shard)
            try:
                last = compute(shard)
            finally:
                early, self.early = self.early, None
            if early is not None and early.reader is not None:
                losses = step.tree(self.add)
                losses.values = {span: ShardSum({}, s.loss) for span, s in local.values.items()}
                losses.put((shard, shard + 1), ShardSum({}, last.loss))
                local.values = losses.values
                return early
            local.put((shard, shard + 1), last)
        return None

    def _early(self, step: _Step, shard: int) -> EarlyExchange:
        def begin(used: Collection[int]) -> RoundReader:
            return self._begin(step, used)

        local = {span: s.values for span, s in step.local.values.items()}
        own_spans = step.spans[self.group.rank]
        return EarlyExchange(local, step.tree, shard, own_spans, self._pairs, begin)

    def _announce_step(self, step: _Step, used: Collection[int]) -> None:
        step.used, step.notes = self._announce(sorted(used), step.note)

    def _begin(self, step: _Step, used: Collection[int]) -> RoundReader:
        """Agree with the other workers on the tensors of a step, and start its exchange."""
        self._announce_step(step, used)
        for call in self._calls:  # of the step before: peers may still read this worker's slots
            call.renew()
            call.end()
        rounds = self._rounds(step.used)
        key = rounds, tuple(map(len, step.spans))
        if self._slots is None or self._slots[0] != key:
            self._slots = key, SumSlots(self.group, rounds, step.spans)
        tree = TreeAdd(
            step.spans,
            step.shards,
            step.filled,
            self.carrier.threads,
            flushes=self.flushes,
            checks=self.checks,
        )
        exchange = GradientExchange(
            self.group,
            rounds,
            step.spans,
            tree,
            self.feedback,
            self._slots[1],
            self._landing_of(step, rounds),
        )
        exchange.times = self.times
        exchange.start()
        step.exchange, self._calls = exchange, exchange.calls
        return RoundReader(self.carrier, exchange, self.times)

    def _landing_of(self, step: _Step, rounds: Sequence[Round]) -> Callable[[int, list[Numbers]], None]:
        """Return the function that moves the sums of a round to the device."""
        landed, rank = step.landed, self.group.rank

        def use(number: int, sums: list[Numbers]) -> None:
            round_of_sums = rounds[number]
            begin = round_of_sums.bounds[rank] if round_of_sums.is_owned else 0
            slices: list[TensorSlice] = []
            for p in round_of_sums.pieces if round_of_sums.size else ():
                if not round_of_sums.is_owned or self.owners[p.tensor] == rank:
                    if p.tensor not in landed:
                        landed[p.tensor] = self._land(p.tensor)
                    slices.append(TensorSlice(landed[p.tensor], p.first, p.start - begin, p.size))
            if slices:
                self.carrier.write(slices, sums)

        return use

    def _land(self, number: int) -> Landing:
        """Reserve the device's memory for a sum."""
        if not self.overlaps:
            return self.carrier.land(self.tensors[number].shape)
        # The same memory in each step: a recorded program whose arguments or results are in other buffers
        # prepares its commands again, and this thread's takes would mix with those of the shards.
        landing = self._landings.get(number)
        if landing is None or not landing.is_free():
            landing = self._landings[number] = self.carrier.land(self.tensors[number].shape)
        return landing

    def _read(self, step: _Step) -> None:
        """Read the partial sums and pass them to the exchange, round by round."""
        local = step.local.values
        reader = self._begin(step, {i for s in local.values() for i in s.values})
        values = [local[span].values for span in step.spans[self.group.rank]]

        def value(span: int, number: int) -> Tensor:
            return self._pairs.value(values[span], number)

        rounds = len(reader.exchange.rounds)
        for number in range(rounds):
            while reader.begun < min(number + AHEAD + 1, rounds):
                reader.begin(value)
            reader.complete(number + 1)

    def _finish(self, step: _Step) -> tuple[Total, Flaw | None]:
        """Wait for the sums of a step."""
        exchange, own_spans = step.exchange, step.spans[self.group.rank]
        assert exchange is not None
        pending = Readback([step.local.values[span].loss for span in own_spans])
        flaw = exchange.finish()
        if self.times is not None:
            self.times.finished = perf_counter()
        raw = pending.wait()  # now, as this wait keeps other threads from submitting
        losses = np.zeros(step.shards, np.float32)
        losses[: len(own_spans)] = [np.frombuffer(r, np.float32)[0] for r in raw]
        gathered = gather(self.group, losses)
        tree = step.tree(np.add)
        for spans_of_rank, values in zip(step.spans, gathered, strict=True):
            for span, loss in zip(spans_of_rank, values, strict=False):
                tree.put(span, loss)
        self.sent += exchange.sent
        values = (
            {i: self.carrier.tensor(landing) for i, landing in step.landed.items()} if flaw is None else {}
        )
        return Total(values, float(tree.total), step.notes, step.used), flaw

    def _alone(self, step: _Step) -> Total:
        """Return the sums of the only worker, which stay on its device."""
        (sums,) = step.local.values.values()
        if self.checks and step.used:
            with drawing:
                flags = self._check([sums.values[i] for i in step.used])
            is_finite = flags.numpy()
            if not is_finite.all():
                number = step.used[int(np.flatnonzero(is_finite == 0)[-1])]
                raise BadGradient(self._describe(Flaw(0, number)))
        loss = float(sums.loss.item())
        if self.times is not None:
            self.times.computed = self.times.finished = perf_counter()
        self.count += 1
        return Total(sums.values, loss, step.notes, step.used)

    def add(self, left: ShardSum, right: ShardSum) -> ShardSum:
        """Add the sums of two nodes of the tree."""
        keys = sorted(left.values.keys() | right.values.keys())
        left_parts, right_parts = ([self._pairs.value(s.values, i) for i in keys] for s in (left, right))
        with drawing:
            *sums, loss = self._add([*left_parts, left.loss], [*right_parts, right.loss])
        return ShardSum(dict(zip(keys, sums, strict=True)), loss)

    def _zero(self, number: int) -> Tensor:
        if number not in self._zeros:
            self._zeros[number] = Tensor.zeros(self.tensors[number].shape, dtype=float32, device=self.device)
            realize(self._zeros[number])
        return self._zeros[number]

    def _announce(self, used: Sequence[int], note: bytes) -> tuple[list[int], list[bytes]]:
        """Return the tensors that any worker has values of, and the notes of all."""
        bits = np.zeros(len(self.tensors), bool)
        bits[list(used)] = True
        note = note.ljust(NOTE, b"\0")
        parts = (np.array([self.count], np.int64), np.packbits(bits), np.frombuffer(note, np.uint8))
        message = np.concatenate([p.view(np.uint8) for p in parts])
        notes: list[bytes] = []
        after = 8 + -(-bits.size // 8)
        for rank, raw in enumerate(gather(self.group, message)):
            count = int(raw[:8].view(np.int64)[0])
            if count != self.count:
                rule = "the workers are at different steps: call step equally often on all"
                raise FlambeauError(f"step {self.count}: rank {rank} is at step {count}: {rule}")
            bits |= np.unpackbits(raw[8:after], count=bits.size).astype(bool)
            notes.append(raw[after:].tobytes())
        return np.flatnonzero(bits).tolist(), notes

    def _rounds(self, used: Sequence[int]) -> tuple[Round, ...]:
        """Return the rounds that exchange these tensors."""
        key = tuple(used)
        if key not in self._plans:
            sizes = [self.tensors[i].numel() for i in key]
            exact = [i >= len(self.params) for i in key]
            size, limit = self.group.size, round_size(ELEMENT * sum(sizes), ROUND)
            if self.options.shard_state:
                plan = owned_rounds(sizes, exact, [self.owners[i] for i in key], size, limit)
            else:
                plan = rounds_of(sizes, exact, size, limit)
            self._plans[key] = tuple(r.renumber(key) for r in plan)
        return self._plans[key]

    def _describe(self, flaw: Flaw) -> str:
        where = f"step {self.count}: the gradient of {self.names[flaw.tensor]!r}"
        if flaw.rank == self.group.size:
            return f"{where} is too large for float32: lower the learning rate or clip the gradients"
        owned = self.deal[flaw.rank]
        shards = f"shard {owned[0]}" if len(owned) == 1 else f"shards {owned[0]} to {owned[-1]}"
        rule = "find the op with debug.detect_anomaly() on that rank's part of the batch"
        return f"{where} is NaN or infinite on rank {flaw.rank} ({shards}): all workers stop: {rule}"


def _flushes(device: Device) -> bool:
    """Whether the device's additions replace numbers below the smallest normal one by zero."""
    if device.kind == "cpu":
        return False
    normal = tensor(np.full(1, TINY, np.float32), device=device)
    return (
        float((normal - tensor(np.full(1, TINY * np.float32(0.75), np.float32), device=device)).item()) == 0.0
    )
