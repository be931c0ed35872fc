"""Proximal policy optimisation (Schulman et al., 2017): a whole iteration is one recorded program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from .. import nn, optim
from ..autodiff.backward import Gradients
from ..capture.jit import jit
from ..core import dtype as dt
from ..core.modes import no_grad
from ..ops.join import cat, stack
from ..tensor import Tensor
from .draws import AgentDraws
from .environment import Discrete, Environment
from .networks import AgentMLP
from .policies import DiscretePolicy, GaussianPolicy
from .returns import generalized_advantages


class Iteration(NamedTuple):
    """What an iteration of one or several agents showed.

    steps: environment steps so far, of all copies. episode_return, episode_length: the means over the
    episodes that ended, NaN if none did; [agents] of returns by agent in `by_agent`.
    """

    iteration: int
    steps: int
    episode_return: float
    episode_length: float
    loss: float
    entropy: float
    by_agent: list[float]


class IterationTensors(NamedTuple):
    """What an iteration leaves on the device; `PPO.summary` makes an Iteration of its sums.

    sums: episodes that ended, their returns and lengths, mean loss and entropy. by_agent: mean returns
    [agents]. watched: the states of the first copies after each step. [steps, rows, copies]
    """

    sums: Tensor
    by_agent: Tensor
    watched: Tensor


class PPO:
    """Trains a policy, and a value function beside it, on copies of an environment.

        env = fb.rl.CartPole(1024)
        agent = fb.rl.PPO(env)
        for iteration in agent.learn(500_000):
            print(iteration.steps, iteration.episode_return)

    An iteration is a rollout of `steps` steps of all copies, then `epochs` passes over it in `minibatches`
    parts. On a GPU all of it is recorded: nothing but the metrics is read back.
    """

    def __init__(
        self,
        env: Environment,
        *,
        agents: int = 1,
        seeds: Sequence[int] | None = None,
        hidden: tuple[int, ...] = (64, 64),
        steps: int = 32,
        epochs: int = 4,
        minibatches: int = 4,
        learning_rate: float = 2.5e-4,
        anneal: bool = True,
        gamma: float = 0.99,
        lam: float = 0.95,
        clip: float = 0.2,
        entropy: float = 0.01,
        value: float = 0.5,
        max_grad_norm: float = 0.5,
        watched: int = 0,
        record: str = "iteration",
    ):
        """agents: how many policies are trained at once, each on its share of the copies. seeds: one for each
        agent, which alone selects its random numbers: it learns the same among others as alone. Without seeds
        they are of the stream of `fb.manual_seed`. hidden: the features of the hidden layers. anneal: the
        learning rate falls to 0 over `learn`. entropy, value: the weights of these parts of the loss.
        max_grad_norm: of each agent's gradients. watched: of how many copies `iterate` returns the states.
        record: "iteration" makes one program of it; "parts" makes one of the rollout and one of an update,
        which is planned and compiled in a fraction of the time. With an environment that the processor
        advances it is always by parts.

        ValueError if the copies are not a multiple of the agents, or the samples not of the minibatches; for
        another number of seeds; for seeds if the processor advances the environment; for another `record`.
        """
        agents = _agents_of(env, agents, seeds)
        if record not in ("iteration", "parts"):
            raise ValueError(f'PPO(record={record!r}): unknown: use "iteration" or "parts"')
        copies, rest = divmod(env.n, agents)
        if agents < 1 or rest:
            rule = "each agent has the same number of copies"
            raise ValueError(f"PPO(n={env.n}, agents={agents}): {rule}: choose a multiple of the agents")
        if copies * steps % minibatches:
            rule = f"an agent has {copies} x {steps} samples an iteration"
            raise ValueError(f"PPO(minibatches={minibatches}): {rule}: choose a divisor of them")
        self.env, self.agents, self.copies = env, agents, copies
        self.steps, self.epochs, self.minibatches = steps, epochs, minibatches
        self.gamma, self.lam, self.clip = gamma, lam, clip
        self.entropy, self.value, self.max_grad_norm = entropy, value, max_grad_norm
        self.learning_rate, self.anneal, self.watched = learning_rate, anneal, watched
        self._iterations = 0
        outputs = env.action_space.n if isinstance(env.action_space, Discrete) else env.action_space.size
        sizes, device = (env.observation_size, *hidden), env.device
        self._draws = AgentDraws(agents, seeds, device)
        self.actor = AgentMLP(agents, (*sizes, outputs), last=0.01, draws=self._draws, device=device)
        self.critic = AgentMLP(agents, (*sizes, 1), last=1.0, draws=self._draws, device=device)
        space = env.action_space
        self.policy = (
            DiscretePolicy() if isinstance(space, Discrete) else GaussianPolicy(agents, space, device)
        )
        self.model = nn.ModuleDict({"actor": self.actor, "critic": self.critic, "policy": self.policy})
        self.optimizer = optim.Adam(self.model.parameters(), lr=learning_rate, eps=1e-5)
        self._rows, _ = env.reset(self._randoms())
        by_parts = env.on_host or record == "parts"
        self._iterate = self._iteration if by_parts else jit(self._iteration)
        self._choose = jit(self._sample) if env.on_host else self._sample
        self._collect = jit(self._roll_out) if by_parts and not env.on_host else self._roll_out
        self._prepare = jit(self._samples) if by_parts else self._samples
        self._shuffle = jit(self._orders) if by_parts else self._orders
        self._learn = jit(self._update) if by_parts else self._update
        self._best = jit(self._greedy)

    def learn(self, total_steps: int) -> Iterator[Iteration]:
        """Train for at least this many environment steps of all copies; yields after each iteration."""
        each = self.steps * self.env.n
        count = -(-total_steps // each)
        for k in range(count):
            if self.anneal:
                self.optimizer.lr = self.learning_rate * (1 - k / count)
            values = self.iterate()
            yield self.summary(values.sums.tolist(), values.by_agent.tolist(), iteration=k + 1)

    def iterate(self) -> IterationTensors:
        """An iteration, which is not waited for: for loops of your own, such as a page's."""
        self._rows, *values = self._iterate(self._rows)
        self._iterations += 1
        return IterationTensors(*values)

    def summary(
        self, sums: Sequence[float], by_agent: Sequence[float] = (), *, iteration: int | None = None
    ) -> Iteration:
        """The numbers of `iterate`'s sums, once they are read. iteration: its number, by default of all."""
        ended, total, length, loss, entropy = sums
        iteration = self._iterations if iteration is None else iteration
        nan = float("nan")
        return Iteration(
            iteration,
            iteration * self.steps * self.env.n,
            total / ended if ended else nan,
            length / ended if ended else nan,
            loss,
            entropy,
            list(by_agent),
        )

    def act(self, observation: Tensor) -> Tensor:
        """The best actions of observations. [n, size] -> [n], or [n, size of a Box]; n is a multiple of
        the agents."""
        return self._best(observation)

    def parameters(self) -> Iterable[Tensor]:
        """The trained tensors."""
        return self.model.parameters()

    # --- One iteration ---

    def _iteration(self, state: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """A rollout and its updates. Returns the next state and what an IterationTensors has."""
        with no_grad():
            rows, actions = self._collect(state)
            samples, sums, by_agent = self._prepare(rows, actions)
        for _ in range(self.epochs):
            for chosen in self._shuffle():
                sums = self._learn(samples, chosen, sums)
        return rows[-1], sums, by_agent, rows[1:, :, : self.watched]

    def _orders(self) -> list[Tensor]:
        """The samples of each minibatch, in a random order. -> [agents, samples] each"""
        with no_grad():
            order = self._draws.rand(self.steps * self.copies).argsort(1)
            return list(order.reshape(self.agents, self.minibatches, -1).unbind(1))

    def _update(self, samples: Tensor, chosen: Tensor, sums: Tensor) -> Tensor:
        """An update by a minibatch. Returns the sums for the metrics, with its loss and entropy."""
        with no_grad():
            batch = samples.gather(1, chosen.unsqueeze(-1).expand(-1, -1, samples.shape[2]))
        loss, entropy = self._loss(batch)
        self.optimizer.step(self._clipped(loss.backward()))
        with no_grad():
            parts = stack([loss.detach() / self.agents, entropy.detach()]) / (self.epochs * self.minibatches)
            return cat([sums[:3], sums[3:] + parts])

    def _sample(self, observation: Tensor) -> Tensor:
        """Random actions of the policy. [n, size] -> [n], or [n, size of a Box]"""
        with no_grad():
            action = self.policy.sample(self.actor(self._by_agent(observation)), self._draws)
            return action.reshape(self.env.n, *action.shape[2:])

    def _roll_out(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """The rows of all states, and the actions between them. -> [steps + 1, rows, n], [steps, n, ...]"""
        rows, actions = [state], list[Tensor]()
        observation = self.env.observe_rows(state)
        for _ in range(self.steps):
            action = self._choose(observation)
            step = self.env.step(rows[-1], action, self._randoms())
            observation = step.observation
            rows.append(step.state)
            actions.append(action)
        return stack(rows), stack(actions)

    def _samples(self, rows: Tensor, actions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What the updates read of each step: observation, action, its log-probability, advantage, return
        and value, [agents, steps * copies, width]. And sums for the metrics [5], and returns by agent."""
        with no_grad():
            returns, lengths = rows[1:, -2], rows[1:, -1]  # of the episodes that ended, else 0
            ended = (lengths > 0).to(dt.float32)
            none = Tensor.zeros(2, device=rows.device)  # loss and entropy, which the updates add
            sums = cat([stack([ended.sum(), returns.sum(), lengths.sum()]), none])
            by_agent = self._sum_by_agent(returns) / self._sum_by_agent(ended).clamp(min=1)
            return self._sample_rows(rows, actions), sums, by_agent

    def _sample_rows(self, rows: Tensor, actions: Tensor) -> Tensor:
        """The first result of `_samples`."""
        first, size = len(self.env.state_names) + 2, self.env.observation_size
        last = first + 2 * size
        observation = self._across(rows[:-1, first : first + size])
        after = self._across(rows[1:, first + size : last])
        value, next_value = self.critic(observation)[..., 0], self.critic(after)[..., 0]
        reward, terminated, truncated = (rows[1:, last + k] for k in range(3))
        advantage = self._flat(
            generalized_advantages(
                reward,
                self._rolled(value),
                self._rolled(next_value),
                terminated,
                truncated,
                gamma=self.gamma,
                lam=self.lam,
            )
        )
        action = self._across(actions.reshape(self.steps, self.env.n, -1).permute(0, 2, 1).to(dt.float32))
        logp, _ = self.policy.log_prob(self.actor(observation), action)
        parts = [action, *(x.unsqueeze(-1) for x in (logp, advantage, advantage + value, value))]
        return cat([observation, *parts], -1)

    def _loss(self, batch: Tensor) -> tuple[Tensor, Tensor]:
        """The sum of the agents' losses, and the mean entropy."""
        size, width = self.env.observation_size, batch.shape[2] - 4
        observation, action = batch[..., :size], batch[..., size:width]
        old_logp, advantage, returns, old_value = (batch[..., width + k] for k in range(4))
        logp, entropy = self.policy.log_prob(self.actor(observation), action)
        value = self.critic(observation)[..., 0]
        ratio = (logp - old_logp).exp()
        spread = advantage.std(1, keepdim=True)
        advantage = (advantage - advantage.mean(1, keepdim=True)) / (spread + 1e-8)
        gain = (advantage * ratio).minimum(advantage * ratio.clamp(1 - self.clip, 1 + self.clip))
        near = old_value + (value - old_value).clamp(-self.clip, self.clip)
        error = (value - returns).square().maximum((near - returns).square())
        loss = (0.5 * self.value * error - gain - self.entropy * entropy).mean(1).sum()
        return loss, entropy.mean()

    def _clipped(self, grads: Gradients) -> Gradients:
        """The gradients, of each agent at most max_grad_norm long together."""
        with no_grad():
            norms: Tensor = stack([g.square().sum((1, 2)) for g in grads]).sum(0).sqrt()
            scale = (self.max_grad_norm / (norms + 1e-6)).clamp(max=1.0).reshape(-1, 1, 1)
            return grads.map(lambda g: g * scale)

    def _greedy(self, observation: Tensor) -> Tensor:
        with no_grad():
            best = self.policy.best(self.actor(self._by_agent(observation)))
            return best.reshape(observation.shape[0], *best.shape[2:])

    def _randoms(self) -> Tensor | None:
        """The random numbers of a step of the environment, of each agent's. -> [randoms, n]"""
        if not self._draws.seeded:
            return None
        drawn = self._draws.rand(self.env.randoms, self.copies)
        return drawn.permute(1, 0, 2).reshape(self.env.randoms, self.env.n)

    # --- Shapes: n copies of all agents, and samples by agent. ---

    def _by_agent(self, x: Tensor) -> Tensor:
        """[n, ...] -> [agents, n / agents, ...]"""
        return x.reshape(self.agents, -1, *x.shape[1:])

    def _across(self, x: Tensor) -> Tensor:
        """[steps, size, n] -> [agents, steps * copies, size]"""
        steps, size = x.shape[:2]
        x = x.reshape(steps, size, self.agents, self.copies).permute(2, 0, 3, 1)
        return x.reshape(self.agents, steps * self.copies, size)

    def _flat(self, x: Tensor) -> Tensor:
        """[steps, n] -> [agents, steps * copies]"""
        return self._across(x.unsqueeze(1))[..., 0]

    def _sum_by_agent(self, x: Tensor) -> Tensor:
        """[steps, n] -> [agents]"""
        return x.reshape(self.steps, self.agents, self.copies).sum((0, 2))

    def _rolled(self, x: Tensor) -> Tensor:
        """[agents, steps * copies] -> [steps, n]"""
        x = x.reshape(self.agents, self.steps, self.copies).permute(1, 0, 2)
        return x.reshape(self.steps, self.env.n)


def _agents_of(env: Environment, agents: int, seeds: Sequence[int] | None) -> int:
    """The number of agents. ValueError for another number of seeds, or for seeds that have no effect."""
    if seeds is None:
        return agents
    count = len(seeds)
    if not count or agents not in (1, count):
        raise ValueError(f"PPO(agents={agents}, seeds={count} of them): each agent has one: pass as many")
    if min(seeds) < 0 or max(seeds) >= 1 << 64:
        raise ValueError(f"PPO(seeds={[*seeds]}): a seed is from 0 to 2^64 - 1: pass such numbers")
    if env.on_host:
        rule = "it draws its own random numbers"
        raise ValueError(f"PPO({type(env).__name__}, seeds=...): {rule}: use fb.manual_seed")
    return count
