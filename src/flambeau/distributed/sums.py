"""Adds the gradients of logical shards over the workers of a group, and says who computes which."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ..capture.jit import jit
from ..core.dtype import float32
from ..core.modes import no_grad
from ..errors import FlambeauError, ValueError
from ..ops.join import stack
from ..ops.random import get_rng_state
from ..runtime.run import Readback, realize
from ..tensor import Tensor, tensor
from .carrier import CopyThreads, Landing, PendingValues, TensorSlice, carrier_of
from .compression import Feedback, Floats, wire_named
from .exchange import BadGradient, Flaw, GradientExchange, StageTimes, SumSlots, TreeAdd
from .group import ProcessGroup, RankCall
from .layout import ROUND, Round, owned_rounds, owners_of, rounds_of
from .lockstep import Meeting, side_by_side
from .model import gather
from .reduce import Span, TreeSum, spans_of
from .shards import SHARDS, deal, drawing, random_numbers

AHEAD = 2  # rounds whose values leave the device while earlier ones are sent
NOTE = 64  # bytes that each rank may send along with a step
TINY = np.float32(np.finfo(np.float32).tiny)  # the smallest normal float32


@dataclass(frozen=True)
class ParallelOptions:
    """How a training is divided among workers.

    shards: the number of parts of each batch; the weights depend on it, and not on the number of workers
    wire: "float32", or "float16", "bfloat16" or "int8" with error feedback, whose results depend on the
        number of workers
    shard_state: each worker keeps the optimiser's state of a part of the parameters (ZeRO-1)
    sync_batch_norm: batch norms use the statistics of the entire batch; steps are not recorded then
    restarts: how many killed workers `Learner.fit(devices=...)` replaces
    engine: what starts them, "local" or "ray"

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
    """The sums of one or several shards, weighted by their items: float32 gradients and buffers by their
    numbers, and the loss."""

    values: dict[int, Tensor]
    loss: Tensor


class Total(NamedTuple):
    """The sums over all shards, on the device: gradients and buffers by number, and the loss."""

    values: dict[int, Tensor]  # with `shard_state`, those of the own parameters
    loss: float
    notes: list[bytes]  # what each rank sent along
    used: Sequence[int] = ()  # the numbers of all sums


def add_lists(left: list[Tensor], right: list[Tensor]) -> list[Tensor]:
    """Add tensors pairwise."""
    with no_grad():
        sums = [a + b for a, b in zip(left, right, strict=True)]
        realize(*sums)
    return sums


def finite_flags(values: list[Tensor]) -> Tensor:
    """Return for each tensor whether all of its elements are finite, as [tensors] float32."""
    with no_grad():
        flags = stack([v.isfinite().all().float() for v in values])
        realize(flags)
    return flags


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
        self._host_add = _add_flushed if _flushes(self.device) else _add
        self._zeros: dict[int, Tensor] = {}
        self._plans: dict[tuple[int, ...], tuple[Round, ...]] = {}
        self.join(group)

    def join(self, group: ProcessGroup) -> None:
        """Divide the work among the workers of a group."""
        self.group, self._plans = group, {}
        self._slots: tuple[Any, SumSlots] | None = None
        self._calls: list[RankCall] = []  # of the last exchange
        processes = 1 + sum(p.shares_memory for p in group.mesh.peers.values())
        self.carrier = carrier_of(self.device, CopyThreads(processes))
        # Other workers cut the sums elsewhere: errors of other cuts do not fit.
        self.feedback.errors.clear()
        self.deal = deal(self.options.shards, group.size)
        self.owners = owners_of([t.numel() for t in self.tensors], group.size)

    @property
    def shards(self) -> range:
        """The shards of this worker."""
        return self.deal[self.group.rank]

    def total(
        self, part: Callable[[int], ShardSum], filled: Sequence[int] | None, note: bytes = b""
    ) -> Total:
        """Compute the own shards by `part`, and add those of all workers. `note` is sent to all.

        filled: the shards that have items; None: there is one shard for each worker.
        """
        rank = self.group.rank
        dealt = self.deal if filled is not None else deal(self.group.size, self.group.size)
        filled = range(self.group.size) if filled is None else filled
        shards = dealt[-1].stop
        local: TreeSum[ShardSum] = TreeSum(shards, filled, self.add)
        own = [shard for shard in dealt[rank] if shard in filled]

        def compute(shard: int) -> ShardSum:
            with random_numbers(self.seed, self.count, shard):
                return part(shard)

        if self.options.sync_batch_norm:
            computed = side_by_side(Meeting(self.group, filled, dealt), own, compute)
            for shard in own:
                local.put((shard, shard + 1), computed[shard])
        else:
            for shard in own:
                local.put((shard, shard + 1), compute(shard))
        used = [i for s in local.values.values() for i in s.values]
        used, notes = self._announce(used, note)
        spans = [spans_of(shards, filled, owned) for owned in dealt]
        if self.group.size == 1 and self.feedback.wire.is_exact:
            return self._alone(local.values[spans[0][0]], notes, used)
        exchange, landed = self._exchange(used, spans, shards, filled)
        exchange.start()
        self._calls = exchange.calls
        try:
            losses = self._send(exchange, local.values, spans[rank])
            gathered = gather(self.group, np.array(losses + [0.0] * (shards - len(losses)), np.float32))
        except BaseException as e:
            exchange.stop(e)
            raise
        flaw = exchange.finish()
        if self.times is not None:
            self.times.finished = perf_counter()
        if flaw is not None:
            raise BadGradient(self._describe(flaw))
        tree: TreeSum[Any] = TreeSum(shards, filled, np.add)
        for theirs, raw in zip(spans, gathered, strict=True):
            for span, loss in zip(theirs, raw, strict=False):
                tree.put(span, loss)
        self.sent += exchange.sent
        self.count += 1
        values = {i: self.carrier.tensor(landing) for i, landing in landed.items()}
        return Total(values, float(tree.total), notes, used)

    def _alone(self, sums: ShardSum, notes: list[bytes], used: list[int]) -> Total:
        """Return the sums of the only worker, which stay on its device."""
        if self.checks and used:
            with drawing:
                flags = self._check([sums.values[i] for i in used])
            is_finite = flags.numpy()
            if not is_finite.all():
                raise BadGradient(self._describe(Flaw(0, used[int(np.flatnonzero(is_finite == 0)[-1])])))
        loss = float(sums.loss.item())
        if self.times is not None:
            self.times.computed = self.times.finished = perf_counter()
        self.count += 1
        return Total(sums.values, loss, notes, used)

    def add(self, left: ShardSum, right: ShardSum) -> ShardSum:
        """Add the sums of two nodes of the tree."""
        keys = sorted(left.values.keys() | right.values.keys())
        # A shard without a gradient counts as zeros: which shards a worker has must not change a bit.
        left_parts, right_parts = (
            [s.values[i] if i in s.values else self._zero(i) for i in keys] for s in (left, right)
        )
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
            size = self.group.size
            if self.options.shard_state:
                plan = owned_rounds(sizes, exact, [self.owners[i] for i in key], size, ROUND)
            else:
                plan = rounds_of(sizes, exact, size, ROUND)
            self._plans[key] = tuple(r.renumbered(key) for r in plan)
        return self._plans[key]

    def _exchange(
        self, used: Sequence[int], spans: Sequence[Sequence[Span]], shards: int, filled: Sequence[int]
    ) -> tuple[GradientExchange, dict[int, Landing]]:
        """Prepare the exchange of a step. Returns it, and the values that it brings to the device."""
        for call in self._calls:  # of the step before: peers may still read this worker's slots
            call.end()
        rounds = self._rounds(used)
        own = len(spans[self.group.rank])
        if self._slots is None or self._slots[0] != (rounds, own):
            self._slots = (rounds, own), SumSlots(self.group, rounds, own)
        landed: dict[int, Landing] = {}
        rank = self.group.rank

        def use(number: int, sums: list[Floats]) -> None:
            step = rounds[number]
            begin = step.bounds[rank] if step.is_owned else 0
            slices: list[TensorSlice] = []
            for p in step.pieces if step.size else ():
                if not step.is_owned or self.owners[p.tensor] == rank:
                    if p.tensor not in landed:
                        landed[p.tensor] = self.carrier.land(self.tensors[p.tensor].shape)
                    slices.append(TensorSlice(landed[p.tensor], p.first, p.start - begin, p.size))
            if slices:
                self.carrier.write(slices, sums)

        tree = TreeAdd(spans, shards, filled, self._host_add, self.carrier.threads, self.checks)
        exchange = GradientExchange(self.group, rounds, spans, tree, self.feedback, self._slots[1], use)
        exchange.times = self.times
        return exchange, landed

    def _send(
        self, exchange: GradientExchange, sums: dict[Span, ShardSum], spans: Sequence[Span]
    ) -> list[float]:
        """Read the partial sums and send them, round by round. Returns the losses of the spans."""
        rounds = exchange.rounds
        reads: list[PendingValues | None] = []

        def read(number: int) -> None:
            if number < len(rounds):
                step = rounds[number]
                slices = [
                    TensorSlice(self._value(sums[span], p.tensor), p.first, i * step.size + p.start, p.size)
                    for i, span in enumerate(spans)
                    for p in step.pieces
                ]
                size = step.size * len(spans)
                reads.append(self.carrier.read(slices, size) if size else None)

        losses = Readback([sums[span].loss for span in spans])
        for number in range(AHEAD):
            read(number)
        for number in range(len(rounds)):
            read(number + AHEAD)
            if (pending := reads[number]) is not None:
                self._arrive(pending, exchange.slots.partials[number].reshape(-1))
            reads[number] = None
            exchange.send(number)
        return [float(np.frombuffer(raw, np.float32)[0]) for raw in losses.wait()]

    def _arrive(self, pending: PendingValues, target: Floats) -> None:
        """Wait for partial sums, and copy them to the slots of their round."""
        began = perf_counter()
        pending.wait(target)
        if self.times is not None:
            now = self.times.add("read", began)
            self.times.computed = self.times.computed or now

    def _value(self, sums: ShardSum, number: int) -> Tensor:
        value = sums.values.get(number)
        return self._zero(number) if value is None else value

    def _describe(self, flaw: Flaw) -> str:
        where = f"step {self.count}: the gradient of {self.names[flaw.tensor]!r}"
        if flaw.rank == self.group.size:
            return f"{where} is too large for float32: lower the learning rate or clip the gradients"
        owned = self.deal[flaw.rank]
        shards = f"shard {owned[0]}" if len(owned) == 1 else f"shards {owned[0]} to {owned[-1]}"
        rule = "find the op with debug.detect_anomaly() on that rank's part of the batch"
        return f"{where} is NaN or infinite on rank {flaw.rank} ({shards}): all workers stop: {rule}"


def _flushes(device: Any) -> bool:
    """Whether the device's additions replace numbers below the smallest normal one by zero."""
    if device.kind == "cpu":
        return False
    half = tensor(np.full(1, TINY, np.float32), device=device)
    return (
        float((half - tensor(np.full(1, TINY * np.float32(0.75), np.float32), device=device)).item()) == 0.0
    )


def _add(left: Floats, right: Floats, out: Floats | None = None) -> Floats:
    return np.add(left, right, out=out)


def _add_flushed(left: Floats, right: Floats, out: Floats | None = None) -> Floats:
    total = np.add(left, right, out=out)
    total[np.abs(total) < TINY] = 0
    return total
