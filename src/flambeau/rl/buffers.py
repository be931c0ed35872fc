"""Memories of transitions on the device, for agents that learn from earlier steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core import dtype as dt
from ..core.modes import no_grad
from ..ops.creation import arange, full, zeros
from ..ops.distribution import rand
from ..ops.join import cat
from ..ops.sort.sort import searchsorted
from ..tensor import Tensor


class ReplayBuffer:
    """The last `capacity` transitions, as rows of one table on the device; drawn uniformly.

    Its methods can be recorded: the next place and the number of transitions are tensors, too.

        buffer = fb.rl.ReplayBuffer(10_000, {"observation": 4, "action": 1, "reward": 1})
        buffer.add(observation=x, action=a, reward=r)  # n rows each
        batch = buffer.sample(128)  # batch["reward"] is [128, 1]
    """

    def __init__(self, capacity: int, fields: Mapping[str, int], *, device: Any = None):
        """fields: the numbers that a transition has of each name. ValueError unless capacity is positive."""
        if capacity < 1:
            raise ValueError(f"ReplayBuffer({capacity}): capacity is at least 1")
        self.capacity, self.fields, self.device = capacity, dict(fields), device
        self.table = zeros(capacity, sum(fields.values()), device=device)
        self.next = zeros(dtype=dt.int32, device=device)
        self.count = zeros(dtype=dt.int32, device=device)

    def add(self, **transitions: Tensor) -> None:
        """Write transitions over the oldest ones: of each field [n, size], or [n] of one number.

        ValueError for other fields, or for more transitions than the capacity.
        """
        if transitions.keys() != self.fields.keys():
            rule = f"the fields are {', '.join(self.fields)}"
            raise ValueError(f"ReplayBuffer.add({', '.join(transitions)}): {rule}: pass all of them")
        with no_grad():
            rows = cat([x.to(dt.float32).reshape(x.shape[0], -1) for x in self._ordered(transitions)], 1)
            n = rows.shape[0]
            if n > self.capacity:
                raise ValueError(f"ReplayBuffer.add({n} rows): it has room for {self.capacity}: add fewer")
            places = (self.next + arange(n, dtype=dt.int32, device=self.device)) % self.capacity
            self.table.index_copy_(0, places, rows)
            self._note(places)
            self.next.copy_((self.next + n) % self.capacity)
            self.count.copy_((self.count + n).clamp(max=self.capacity))

    def sample(self, n: int) -> dict[str, Tensor]:
        """Draw n transitions with replacement. -> [n, size] of each field"""
        with no_grad():
            uniform = rand(n, device=self.device)
            places = (uniform * self.count.to(dt.float32)).floor().to(dt.int32)
            return self._split(places.minimum(self.count - 1))

    def _ordered(self, transitions: Mapping[str, Tensor]) -> list[Tensor]:
        return [transitions[name] for name in self.fields]

    def _split(self, places: Tensor) -> dict[str, Tensor]:
        """The fields of the transitions at these places."""
        rows, out, offset = self.table[places], dict[str, Tensor](), 0
        for name, size in self.fields.items():
            out[name] = rows[:, offset : offset + size]
            offset += size
        return out

    def _note(self, places: Tensor) -> None:
        """Prepare places that are written."""


class PrioritizedReplayBuffer(ReplayBuffer):
    """A ReplayBuffer that draws transitions by their priority (Schaul et al., 2016)."""

    def __init__(
        self,
        capacity: int,
        fields: Mapping[str, int],
        *,
        alpha: float = 0.6,
        beta: float = 0.4,
        device: Any = None,
    ):
        """alpha: the power of a priority that a draw is proportional to. beta: that of the weights which
        correct for it."""
        super().__init__(capacity, fields, device=device)
        self.alpha, self.beta = alpha, beta
        self.priorities = zeros(capacity, device=device)
        self.largest = full((), 1.0, device=device)

    def sample(self, n: int) -> dict[str, Tensor]:
        """Draw n transitions with replacement. -> [n, size] of each field

        Besides the fields: "weight" [n], at most 1, and "place" [n], for `update`.
        """
        with no_grad():
            powers = self.priorities.pow(self.alpha)
            ends = powers.cumsum(0)
            total = ends[-1]
            places = searchsorted(ends, rand(n, device=self.device) * total).to(dt.int32)
            places = places.minimum(self.count - 1)
            weight = (self.count.to(dt.float32) * powers[places] / total).pow(-self.beta)
            return self._split(places) | {"weight": weight / weight.max(), "place": places}

    def update(self, place: Tensor, error: Tensor) -> None:
        """Set the priorities of drawn transitions to the size of their errors. [n], [n]"""
        with no_grad():
            priority = error.abs() + 1e-6
            self.priorities.index_copy_(0, place, priority)
            self.largest.copy_(self.largest.maximum(priority.max()))

    def _note(self, places: Tensor) -> None:
        self.priorities.index_copy_(0, places, self.largest.expand(places.shape[0]))
