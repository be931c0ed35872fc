"""Deep Q-learning (Mnih et al., 2015), with double and dueling networks and a prioritised memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import nn, optim
from ..core import dtype as dt
from ..core.modes import no_grad
from ..ops.creation import ones
from ..ops.distribution import rand, randint
from ..tensor import HostScalar, Tensor
from .buffers import PrioritizedReplayBuffer
from .environment import Discrete, Environment
from .networks import AgentMLP
from .off_policy import OffPolicy, copy_of, follow


class DQN(OffPolicy):
    """Learns the value of each action of a Discrete space.

        agent = fb.rl.DQN(fb.rl.CartPole(16))
        for progress in agent.learn(100_000):
            print(progress.steps, progress.episode_return)

    A step of all copies, its place in the memory and the updates are one recorded program.
    """

    def __init__(
        self,
        env: Environment,
        *,
        hidden: tuple[int, ...] = (120, 84),
        double: bool = True,
        dueling: bool = False,
        prioritized: bool = False,
        memory: int = 10_000,
        batch: int = 128,
        starts: int = 1_000,
        updates: int = 1,
        learning_rate: float = 2.5e-4,
        gamma: float = 0.99,
        tau: float = 0.005,
        first_exploration: float = 1.0,
        last_exploration: float = 0.05,
        exploration_part: float = 0.5,
    ):
        """double: the online network chooses the next action, which the target network values (van Hasselt
        et al., 2016). dueling: a value and advantages (Wang et al., 2016). starts: environment steps before
        the first update. updates: those of a step of all copies. tau: the part of the way that the target
        network moves at each. exploration: the probability of a random action falls from the first to the
        last number over this part of `learn`.

        ValueError for an environment with a Box of actions.
        """
        if not isinstance(env.action_space, Discrete):
            raise ValueError(f"DQN({env!r}): it needs Discrete actions: use PPO or SAC")
        super().__init__(
            env, memory=memory, batch=batch, starts=starts, updates=updates, prioritized=prioritized
        )
        self.actions, self.double, self.gamma, self.tau = env.action_space.n, double, gamma, tau
        sizes = env.observation_size, *hidden
        self.q = QNetwork(sizes, self.actions, dueling, env.device)
        self.target = copy_of(self.q, QNetwork(sizes, self.actions, dueling, env.device))
        self.optimizer = optim.Adam(self.q.parameters(), lr=learning_rate)
        self.exploration = HostScalar(first_exploration)
        self._schedule = first_exploration, last_exploration, exploration_part

    def act(self, observation: Tensor) -> Tensor:
        """The best actions. [n, size] -> [n]"""
        with no_grad():
            return self.q(observation).argmax(-1)

    def parameters(self) -> Iterable[Tensor]:
        """The trained tensors, of the online network."""
        return self.q.parameters()

    def _explore(self, observation: Tensor, at_random: bool) -> Tensor:
        n = observation.shape[0]
        tried = randint(0, self.actions, (n,), dtype=dt.int32, device=observation.device)
        if at_random:
            return tried
        is_random = rand(n, device=observation.device) < ones(device=observation.device) * self.exploration
        return is_random.where(tried, self.q(observation).argmax(-1).to(dt.int32))

    def _learn(self, batch: dict[str, Tensor]) -> Tensor:
        with no_grad():
            values = self.target(batch["next_observation"])
            chooser = self.q(batch["next_observation"]) if self.double else values
            follows = values.gather(1, chooser.argmax(1, keepdim=True))
            wanted = batch["reward"] + self.gamma * (1 - batch["terminated"]) * follows
        value = self.q(batch["observation"]).gather(1, batch["action"].to(dt.int32))
        error = value - wanted
        squares = error[:, 0].square()
        loss = (squares * batch["weight"]).mean() if "weight" in batch else squares.mean()
        self.optimizer.step(loss.backward())
        if isinstance(self.buffer, PrioritizedReplayBuffer):
            self.buffer.update(batch["place"], error[:, 0].detach())
        follow(self.target, self.q, self.tau)
        return loss.detach()

    def _set_schedule(self, part: float) -> None:
        first, last, fraction = self._schedule
        self.exploration.value = max(last, first + (last - first) * part / fraction)


class QNetwork(nn.Module):
    """The values of all actions. [n, sizes[0]] -> [n, actions]"""

    def __init__(self, sizes: tuple[int, ...], actions: int, dueling: bool, device: Any):
        super().__init__()
        self.dueling = dueling
        self.layers = AgentMLP(1, (*sizes, actions + dueling), activation="relu", device=device)

    def forward(self, x: Tensor) -> Tensor:
        y = self.layers(x.unsqueeze(0))[0]
        if not self.dueling:
            return y
        value, advantage = y[:, :1], y[:, 1:]
        return value + advantage - advantage.mean(1, keepdim=True)
