"""Returns of PPO, DQN and SAC beside published ones: the mean of several seeds and its 95 % interval.

python bench/rl_returns.py [--seeds 10] [--steps 500000] [--agents ppo dqn sac] [--minutes 3]

The published figures are those of CleanRL's documentation for ppo.py and dqn.py on CartPole-v1 after 500,000
steps; a seed's return is the mean of the training episodes of the last 5 % of its steps. CleanRL has none for
SAC on Pendulum-v1: that row shows Stable-Baselines3's RL Zoo (20,000 steps, one run, 750 episodes without
exploration), beside 100 such episodes of each seed. The seeds of PPO are trained at once. DQN and SAC train
one seed after the other and begin none after --minutes. On an H200: `python bench/rl_returns.py`; on a slow
machine `--seeds 3 --steps 50000 --agents ppo`.
"""

import argparse
import time
from collections.abc import Iterator

import numpy as np
from _measure import show_table

import flambeau as fb

# the mean and the half of an interval or the deviation, as published
PUBLISHED = {"ppo": "490.04 +- 6.12", "dqn": "488.69 +- 16.11", "sac": "-157.0, episodes +- 88.7"}
SAC_STEPS = 20_000
LAST = 0.05  # the part of the steps that counts


def ppo(seeds: int, steps: int, until: float) -> Iterator[float]:
    """CleanRL's sizes: 4 copies, 128 steps, 4 epochs of 4 minibatches."""
    env = fb.rl.CartPole(4 * seeds)
    agent = fb.rl.PPO(env, seeds=range(1, seeds + 1), steps=128, record="parts")
    returns = np.array([it.by_agent for it in agent.learn(steps * seeds)])
    last = returns[-max(int(LAST * len(returns)), 1) :]
    # 0 stands for an iteration in which no episode of the agent ended
    yield from (float(column[column > 0].mean()) for column in last.T if (column > 0).any())


def dqn(seeds: int, steps: int, until: float) -> Iterator[float]:
    """CleanRL's sizes: an update by 128 transitions each 10 steps, one network without a dueling head."""
    starts = min(10_000, steps // 10)
    for seed in range(1, seeds + 1):
        if time.perf_counter() > until:
            return
        fb.manual_seed(seed)
        agent = fb.rl.DQN(fb.rl.CartPole(10), double=False, starts=starts, memory=10_000, batch=128)
        reports = [r for r in agent.learn(steps) if np.isfinite(r.episode_return)]
        last = [r.episode_return for r in reports if r.steps > (1 - LAST) * steps]
        yield float(np.mean(last or [reports[-1].episode_return]))


def sac(seeds: int, steps: int, until: float) -> Iterator[float]:
    """An update each step; then 100 episodes of the mean actions."""
    for seed in range(1, seeds + 1):
        if time.perf_counter() > until:
            return
        fb.manual_seed(seed)
        agent = fb.rl.SAC(fb.rl.Pendulum(1))
        for _ in agent.learn(min(steps, SAC_STEPS)):
            pass
        env = fb.rl.Pendulum(100)
        state, observation = env.reset()
        for _ in range(env.max_steps):
            step = env.step(state, agent.act(observation))
            state, observation = step.state.realize(), step.observation
        yield step.episode_return.mean().item()


def interval(values: list[float]) -> str:
    """The mean and half of its 95 % interval, by bootstrap."""
    rng = np.random.default_rng(0)
    means = rng.choice(values, (10_000, len(values))).mean(1)
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{np.mean(values):.2f} +- {(high - low) / 2:.2f}"


AGENTS = {"ppo": ppo, "dqn": dqn, "sac": sac}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=500_000)
    parser.add_argument("--agents", nargs="+", choices=AGENTS, default=[*AGENTS])
    parser.add_argument("--minutes", type=float, default=3.0)
    args = parser.parse_args()
    rows = []
    for name in args.agents:
        begin = time.perf_counter()
        values = [*AGENTS[name](args.seeds, args.steps, begin + 60 * args.minutes)]
        taken = f"{time.perf_counter() - begin:.0f} s"
        spread = " ".join(f"{value:.0f}" for value in values)
        rows.append((name, str(len(values)), interval(values), PUBLISHED[name], taken, spread))
    show_table(f"{args.steps:,} steps", ["agent", "seeds", "return", "published", "time", "each seed"], rows)


if __name__ == "__main__":
    main()
