"""Computes the shards of a worker side by side: each batch norm adds its statistics over all shards.

Each shard has a thread. They run one at a time: a thread that reaches a sum waits there until all shards of
all workers have reached it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

import numpy as np

from ..core.dtype import float32
from ..errors import DistributedError
from ..nn.single_device import Statistics, statistics
from ..ops.random import get_rng_state, set_rng_state
from ..runtime.exchange import leaf
from ..runtime.run import Readback
from ..tensor import Tensor
from .compression import Floats
from .group import ProcessGroup
from .model import gather
from .reduce import TreeSum
from .shards import drawing

T = TypeVar("T")


class Meeting:
    """The place where all shards meet for each sum.

    filled: the shards that have items. dealt: the shards of each worker.
    """

    def __init__(self, group: ProcessGroup, filled: Sequence[int], dealt: Sequence[range]):
        self.group, self.filled, self.shards = group, filled, dealt[-1].stop
        self.by_rank = [[s for s in owned if s in filled] for owned in dealt]
        if not all(self.by_rank):
            rule = "use batches with items for each worker, as with drop_last=True"
            raise DistributedError(f"sync_batch_norm: a worker has no item of the batch: {rule}")
        self._changed = threading.Condition()
        self._arrived: dict[int, Floats] = {}
        self._total: Floats = np.empty(0, np.float32)
        self._round = 0
        self.error: BaseException | None = None

    def total(self, shard: int, values: Floats) -> Floats:
        """Wait until all shards are here, and return the sum of their values."""
        with self._changed:
            number = self._round
            self._arrived[shard] = values
            if len(self._arrived) == len(self.by_rank[self.group.rank]):
                self._add()
            # The last shard to arrive adds for all and begins the next round.
            while self._round == number and self.error is None:
                self._changed.wait()
            if self.error is not None:
                raise DistributedError("another shard of this worker failed") from self.error
            return self._total

    def fail(self, error: BaseException) -> None:
        """Let all other shards of this worker stop waiting."""
        with self._changed:
            self.error = self.error or error
            self._changed.notify_all()

    def _add(self) -> None:
        own_rows = [self._arrived[s] for s in self.by_rank[self.group.rank]]
        # all_gather needs equal shapes: workers with fewer shards send rows of zeros, which are not read.
        rows = np.zeros((max(map(len, self.by_rank)), own_rows[0].size), np.float32)
        rows[: len(own_rows)] = own_rows
        tree: TreeSum[Floats] = TreeSum(self.shards, self.filled, np.add)
        for shards, rows_of_rank in zip(self.by_rank, gather(self.group, rows), strict=True):
            for shard, values in zip(shards, rows_of_rank, strict=False):
                tree.put((shard, shard + 1), values)
        self._total, self._arrived = tree.total, {}
        self._round += 1
        self._changed.notify_all()


class SharedStatistics(Statistics):
    """The sums of one shard."""

    def __init__(self, meeting: Meeting, shard: int, is_first: bool):
        self.meeting, self.shard, self.is_first = meeting, shard, is_first

    def total(self, values: Tensor) -> Tensor:
        """Return the sum of [n] over all shards."""
        own = np.frombuffer(Readback([values]).wait()[0], np.float32)
        # Meanwhile the other shards draw from their own streams.
        state = get_rng_state()
        drawing.release()
        try:
            total = self.meeting.total(self.shard, own)
        finally:
            drawing.acquire()
            set_rng_state(state)
        return Tensor(leaf(total, values.shape, float32, values.device))


def side_by_side(meeting: Meeting, shards: Collection[int], compute: Callable[[int], T]) -> dict[int, T]:
    """Compute shards in threads, which synchronise at batch norms. Raises the first error of one."""
    results: dict[int, T] = {}
    errors: list[BaseException] = []

    def run(shard: int) -> None:
        # For the batch norms of this thread alone.
        statistics.set(SharedStatistics(meeting, shard, shard == min(shards)))
        try:
            results[shard] = compute(shard)
        except BaseException as e:
            errors.append(e)
            meeting.fail(e)

    threads = [threading.Thread(target=run, args=(s,), name=f"shard {s}", daemon=True) for s in shards]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
