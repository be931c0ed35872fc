"""What DQN and SAC share: steps of all copies, a memory of them, and one recorded step of learning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ..capture.jit import jit
from ..core import dtype as dt
from ..core.modes import no_grad
from ..nn import Module
from ..ops.join import stack
from ..tensor import Tensor
from .buffers import PrioritizedReplayBuffer, ReplayBuffer
from .environment import Discrete, Environment

Step = Callable[..., tuple[Tensor, Tensor]]


class LearningProgress(NamedTuple):
    """What some steps of an agent showed: environment steps so far, of all copies; the means of the episodes
    that ended since the last one, NaN if none did; the mean loss."""

    steps: int
    episode_return: float
    episode_length: float
    loss: float


class OffPolicy:
    """An agent that learns from a memory. A subclass has `_explore` and `_learn`."""

    def __init__(
        self,
        env: Environment,
        *,
        memory: int,
        batch: int,
        starts: int,
        updates: int,
        prioritized: bool = False,
    ):
        space = env.action_space
        size = env.observation_size
        fields = {
            "observation": size,
            "action": 1 if isinstance(space, Discrete) else space.size,
            "reward": 1,
            "next_observation": size,
            "terminated": 1,
        }
        kind = PrioritizedReplayBuffer if prioritized else ReplayBuffer
        self.env, self.batch, self.starts, self.updates = env, batch, starts, updates
        self.buffer = kind(memory, fields, device=env.device)
        self._rows, _ = env.reset()
        # On the device a step and its updates are one program; with an environment of the host, their parts.
        self._begin: Step = self._observe if env.on_host else jit(self._observe)
        self._advance: Step = self._observe_and_learn if env.on_host else jit(self._observe_and_learn)
        self._choose = jit(self._explore) if env.on_host else self._explore
        self._keep = jit(self._remember) if env.on_host else self._remember
        self._improve = jit(self._learn_from_memory) if env.on_host else self._learn_from_memory

    def learn(self, total_steps: int, *, every: int = 100) -> Iterator[LearningProgress]:
        """Train for at least this many environment steps of all copies.

        every: yields after so many steps of each copy.
        """
        n, rounds = self.env.n, -(-total_steps // self.env.n)
        sums: list[Tensor] = []
        for k in range(1, rounds + 1):
            self._set_schedule(k / rounds)
            if k * n > self.starts:
                self._rows, numbers = self._advance(self._rows)
            else:
                self._rows, numbers = self._begin(self._rows, True)
            sums.append(numbers)
            if k % every == 0 or k == rounds:
                ended, returns, lengths, loss = stack(sums).sum(0).tolist()
                nan = float("nan")
                yield LearningProgress(
                    k * n,
                    returns / ended if ended else nan,
                    lengths / ended if ended else nan,
                    loss / len(sums),
                )
                sums = []

    def parameters(self) -> Iterable[Tensor]:
        """The trained tensors."""
        raise NotImplementedError

    def _observe(self, rows: Tensor, at_random: bool) -> tuple[Tensor, Tensor]:
        """Step all copies and store the transitions. Returns the copies' rows, and sums for the metrics.

        at_random: all actions are drawn uniformly, before the first update.
        """
        with no_grad():
            observation = self.env.observe_rows(rows)
            action = self._choose(observation, at_random)
            after = self.env.step(rows, action).state
            return after, self._keep(observation, action, after)

    def _remember(self, observation: Tensor, action: Tensor, after: Tensor) -> Tensor:
        """Keep a step of all copies. after: the rows that it returned. Returns sums for the metrics."""
        step = self.env.step_of_rows(after)
        with no_grad():
            self.buffer.add(
                observation=observation,
                action=action,
                reward=step.reward,
                next_observation=step.next_observation,
                terminated=step.terminated,
            )
            ended = (step.episode_length > 0).to(dt.float32).sum()
            return stack([ended, step.episode_return.sum(), step.episode_length.sum(), ended * 0])

    def _observe_and_learn(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        rows, sums = self._observe(rows, False)
        return rows, self._improve(sums)

    def _learn_from_memory(self, sums: Tensor) -> Tensor:
        """The updates of a step of all copies. Returns the sums with the mean loss."""
        losses = [self._learn(self.buffer.sample(self.batch)) for _ in range(self.updates)]
        with no_grad():
            return stack([*(sums[k] for k in range(3)), sum(losses[1:], losses[0]) / len(losses)])

    def _explore(self, observation: Tensor, at_random: bool) -> Tensor:
        raise NotImplementedError

    def _learn(self, batch: dict[str, Tensor]) -> Tensor:
        raise NotImplementedError

    def _set_schedule(self, part: float) -> None:
        """Prepare for the next step; part: how much of the training is over."""


def follow(target: Module, source: Module, part: float) -> None:
    """Move the parameters of `target` towards those of `source` by this part of their difference."""
    with no_grad():
        for slow, fast in zip(target.parameters(), source.parameters(), strict=True):
            slow.assign_(slow + part * (fast - slow))


def copy_of(source: Module, target: Module) -> Module:
    """`target` with the parameters of `source`."""
    target.load_state_dict(source.state_dict())
    return target
