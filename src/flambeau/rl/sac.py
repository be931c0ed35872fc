"""Soft actor-critic (Haarnoja et al., 2018), with a learned temperature."""

from __future__ import annotations

from collections.abc import Iterable
from math import log, pi
from typing import Any

from .. import nn, optim
from ..core.modes import no_grad
from ..ops.creation import zeros
from ..ops.distribution import rand, randn
from ..ops.join import cat
from ..tensor import Tensor
from .environment import Box, Environment
from .networks import AgentMLP
from .off_policy import OffPolicy, copy_of, follow

LOG_STD = -5.0, 2.0  # the range of the logarithm of a policy's spread


class SAC(OffPolicy):
    """Learns a random policy of a Box of actions that also keeps its entropy high.

        agent = fb.rl.SAC(fb.rl.Pendulum(8))
        for progress in agent.learn(40_000):
            print(progress.steps, progress.episode_return)

    A step of all copies, its place in the memory and the updates are one recorded program.
    """

    def __init__(
        self,
        env: Environment,
        *,
        hidden: tuple[int, ...] = (256, 256),
        memory: int = 100_000,
        batch: int = 256,
        starts: int = 1_000,
        updates: int = 1,
        policy_rate: float = 3e-4,
        critic_rate: float = 1e-3,
        gamma: float = 0.99,
        tau: float = 0.005,
    ):
        """starts: environment steps with random actions, before the first update. updates: those of a step of
        all copies. tau: the part of the way that the target networks move at each.

        ValueError for an environment with Discrete actions.
        """
        if not isinstance(env.action_space, Box):
            raise ValueError(f"SAC({env!r}): it needs a Box of actions: use PPO or DQN")
        super().__init__(env, memory=memory, batch=batch, starts=starts, updates=updates)
        self.space, self.gamma, self.tau = env.action_space, gamma, tau
        self.middle = (self.space.high + self.space.low) / 2
        self.reach = (self.space.high - self.space.low) / 2
        size, actions, device = env.observation_size, self.space.size, env.device
        self.actor = AgentMLP(1, (size, *hidden, 2 * actions), activation="relu", device=device)
        self.critic = TwinCritic((size + actions, *hidden), device)
        self.target = copy_of(self.critic, TwinCritic((size + actions, *hidden), device))
        self.log_alpha = nn.Parameter(zeros(device=device))
        self.actor_optimizer = optim.Adam(self.actor.parameters(), lr=policy_rate)
        self.critic_optimizer = optim.Adam(self.critic.parameters(), lr=critic_rate)
        self.alpha_optimizer = optim.Adam([self.log_alpha], lr=critic_rate)

    def act(self, observation: Tensor) -> Tensor:
        """The policy's mean actions. [n, size] -> [n, size of the Box]"""
        with no_grad():
            mean, _ = self._policy(observation)
            return mean.tanh() * self.reach + self.middle

    def parameters(self) -> Iterable[Tensor]:
        """The trained tensors: of the actor, of the critics, and the temperature's."""
        return [*self.actor.parameters(), *self.critic.parameters(), self.log_alpha]

    def _policy(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and logarithm of the spread, before the tanh. -> [n, actions] both"""
        mean, spread = self.actor(observation.unsqueeze(0))[0].chunk(2, -1)
        low, high = LOG_STD
        return mean, low + 0.5 * (high - low) * (spread.tanh() + 1)

    def _sample(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Actions, and the logarithm of their probability densities. -> [n, actions], [n, 1]"""
        mean, log_std = self._policy(observation)
        noise = randn(*mean.shape, device=mean.device)
        squashed = (mean + log_std.exp() * noise).tanh()
        normal = -0.5 * noise.square() - log_std - 0.5 * log(2 * pi)
        density = normal - (self.reach * (1 - squashed.square()) + 1e-6).log()
        return squashed * self.reach + self.middle, density.sum(-1, keepdim=True)

    def _explore(self, observation: Tensor, at_random: bool) -> Tensor:
        if not at_random:
            return self._sample(observation)[0]
        uniform = rand(observation.shape[0], self.space.size, device=observation.device)
        return (2 * uniform - 1) * self.reach + self.middle

    def _learn(self, batch: dict[str, Tensor]) -> Tensor:
        observation, after = batch["observation"], batch["next_observation"]
        alpha = self.log_alpha.detach().exp()
        with no_grad():
            action, density = self._sample(after)
            follows = self.target(after, action).amin(0) - alpha * density
            wanted = batch["reward"] + self.gamma * (1 - batch["terminated"]) * follows
        errors = self.critic(observation, batch["action"]) - wanted
        loss = errors.square().mean((1, 2)).sum()
        self.critic_optimizer.step(loss.backward())
        action, density = self._sample(observation)
        policy_loss = (alpha * density - self.critic(observation, action).amin(0)).mean()
        self.actor_optimizer.step(policy_loss.backward(inputs=list(self.actor.parameters())))
        surplus = (density.detach() - self.space.size).mean()  # of the target entropy, minus one an action
        self.alpha_optimizer.step((-self.log_alpha.exp() * surplus).backward())
        follow(self.target, self.critic, self.tau)
        return loss.detach()


class TwinCritic(nn.Module):
    """Two values of observations and actions. [n, size], [n, actions] -> [2, n, 1]"""

    def __init__(self, sizes: tuple[int, ...], device: Any):
        super().__init__()
        self.layers = AgentMLP(2, (*sizes, 1), activation="relu", device=device)

    def forward(self, observation: Tensor, action: Tensor) -> Tensor:
        return self.layers(cat([observation, action], -1).unsqueeze(0))
