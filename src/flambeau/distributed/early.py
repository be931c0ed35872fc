"""Begins the exchange of a step while the last shard of this worker is computed.

The recording of the shard is submitted in segments. The gradients that a segment completes are added to those
of the worker's other shards, in the tree's order, and read while the device computes the next segments.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager

from ..capture.jit import jit
from ..core.modes import no_grad
from ..ops.random import get_rng_state, set_rng_state
from ..runtime.run import realize
from ..tensor import Tensor
from .carrier import Carrier, PendingValues, TensorSlice
from .exchange import GradientExchange, StageTimes, moment
from .reduce import Span, TreeSum
from .shards import drawing

QUEUED = 2  # segments that the device has to compute while the host handles the gradients of earlier ones
Values = dict[int, Tensor]  # by the number of the parameter or buffer


def add_lists(left: list[Tensor], right: list[Tensor]) -> list[Tensor]:
    """Add tensors pairwise."""
    with no_grad():
        sums = [a + b for a, b in zip(left, right, strict=True)]
        realize(*sums)
    return sums


class PairSums:
    """Adds gradients by number. A shard without a gradient counts as zeros: which shards a worker has must
    not change a bit."""

    def __init__(self, zero: Callable[[int], Tensor]):
        self._zero = zero
        self._programs: dict[tuple[int, ...], Callable[..., list[Tensor]]] = {}

    def value(self, values: Values, number: int) -> Tensor:
        """Return a value; zeros if it does not exist."""
        value = values.get(number)
        return self._zero(number) if value is None else value

    def add(self, left: Values, right: Values, numbers: Sequence[int]) -> Values:
        """Add the values of these numbers."""
        key = tuple(numbers)
        if not key:
            return {}
        if key not in self._programs:
            self._programs[key] = jit(add_lists)
        parts = [[self.value(side, i) for i in key] for side in (left, right)]
        with drawing:
            return dict(zip(key, self._programs[key](*parts), strict=True))


class RoundReader:
    """Reads the partial sums of this worker, round by round in order, and passes them to an exchange."""

    def __init__(self, carrier: Carrier, exchange: GradientExchange, times: StageTimes | None = None):
        self.carrier, self.exchange, self.times = carrier, exchange, times
        self.reads: list[PendingValues | None] = []
        self.passed = 0  # rounds that the exchange has

    @property
    def begun(self) -> int:
        """The number of rounds whose reads have begun."""
        return len(self.reads)

    def begin(self, value: Callable[[int, int], Tensor]) -> None:
        """Begin to read the next round. value: returns the partial sum of a span (an index into this worker's
        spans) for a tensor's number."""
        exchange = self.exchange
        step = exchange.rounds[self.begun]
        spans = len(exchange.spans[exchange.group.rank])
        slices = [
            TensorSlice(value(i, p.tensor), p.first, i * step.size + p.start, p.size)
            for i in range(spans)
            for p in step.pieces
        ]
        size = step.size * spans
        self.reads.append(self.carrier.read(slices, size) if size else None)

    def complete(self, rounds: int, is_last: bool = True) -> None:
        """Wait for the rounds before number `rounds`, and pass them on. is_last: when the first one arrives,
        the device has computed all gradients."""
        while self.passed < rounds:
            number = self.passed
            pending, self.reads[number] = self.reads[number], None
            began = moment()
            target = self.exchange.partials_of(number)
            began = began if self.times is None else self.times.add("wait for memory", began)
            if pending is not None:
                pending.wait(target.reshape(-1))
            if self.times is not None:
                now = self.times.add("read", began)
                self.times.computed = self.times.computed or (now.clock if is_last else 0.0)
            self.passed += 1
            self.exchange.send(number)


class EarlyExchange:
    """The exchange of a step that may begin before the last shard is computed.

    local: the sums of the worker's other shards, by span, as (values by number). tree: an empty tree. shard:
    the last one. spans: those of this worker. begin: agrees with the other workers and starts the exchange.
    """

    def __init__(
        self,
        local: dict[Span, Values],
        tree: Callable[[Callable[[Values, Values], Values]], TreeSum[Values]],
        shard: int,
        spans: Sequence[Span],
        pairs: PairSums,
        begin: Callable[[Collection[int]], RoundReader],
    ):
        self.local, self.shard, self.spans, self.pairs = local, shard, spans, pairs
        self._tree, self._begin = tree, begin
        self.reader: RoundReader | None = None
        self.values: list[Values] = [dict(local.get(span, {})) for span in spans]
        # The node of the tree to which the shard belongs: the others are complete.
        (self._place,) = [i for i, (first, end) in enumerate(spans) if first <= shard < end]
        self.values[self._place] = {}
        self._earlier = {i for span, values in local.items() if not self._is_other(span) for i in values}
        self._awaited: set[int] = set()
        self._marks: list[int] = []  # the rounds whose reads had begun after each segment

    def _is_other(self, span: Span) -> bool:
        """Whether the sum of a span remains unchanged."""
        first, end = self.spans[self._place]
        return not (first <= span[0] and span[1] <= end)

    def take(self, fresh: Values, numbers: Collection[int]) -> None:
        """Take gradients that the shard has completed, and pass on the rounds that are complete.

        numbers: all that the shard will have.
        """
        if self.reader is None:
            used = {i for values in self.local.values() for i in values}.union(numbers)
            self._awaited = self._earlier.union(numbers)
            with _released():
                self.reader = self._begin(used)
        self._merge(fresh)
        self._read_ready()
        self._marks.append(self.reader.begun)

    def pace(self) -> None:
        """Wait for the rounds whose reads began QUEUED segments ago, after the submit of the next segment.

        This wait lets other threads submit. This comes before further submits, which would otherwise wait if
        too many are pending.
        """
        if self.reader is not None and len(self._marks) >= QUEUED:
            with _released():
                self.reader.complete(self._marks[-QUEUED], is_last=False)

    def finish(self) -> None:
        """Pass on all rounds: the shard is complete."""
        reader = self.reader
        assert reader is not None
        # Parameters that only earlier shards have gradients of.
        self._merge({}, sorted(self._awaited))
        self._read_ready()
        reader.complete(reader.begun)

    def _merge(self, fresh: Values, more: Sequence[int] = ()) -> None:
        """Add values to those of the other shards, in the tree's order."""
        numbers = [*fresh, *more]
        tree = self._tree(lambda left, right: self.pairs.add(left, right, numbers))
        tree.values = {span: values for span, values in self.local.items() if not self._is_other(span)}
        tree.put((self.shard, self.shard + 1), fresh)
        merged = tree.values[self.spans[self._place]]
        self.values[self._place] |= {i: merged[i] for i in numbers if i in merged}
        self._awaited.difference_update(numbers)

    def _read_ready(self) -> None:
        """Begin to read the next rounds whose tensors are all computed."""
        reader = self.reader
        assert reader is not None
        rounds = reader.exchange.rounds
        while reader.begun < len(rounds):
            if any(p.tensor in self._awaited for p in rounds[reader.begun].pieces):
                return
            reader.begin(self._value)

    def _value(self, span: int, number: int) -> Tensor:
        return self.pairs.value(self.values[span], number)


@contextmanager
def _released() -> Generator[None]:
    """Let other threads that are workers draw meanwhile."""
    state = get_rng_state()
    drawing.release()
    try:
        yield
    finally:
        drawing.acquire()
        set_rng_state(state)
