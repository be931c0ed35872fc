"""Reinforcement learning: environment steps a second, the time until PPO solves CartPole, agents at once.

python bench/rl.py [--size small | card] [--parts steps ppo solve agents]

On a card: `python bench/rl.py --size card`, which takes about two minutes on an H200. Its parts:
steps: of random actions in each environment. ppo: whole iterations of PPO on 65,536 copies of CartPole.
solve: 4,096 copies, until the mean return of an iteration's episodes is 475, of three seeds.
agents: 2,048 agents of the seeds 0 to 2,047, each on 16 copies for 500,000 steps; each learns what it learns
alone (tests/rl/test_agents.py compares them), and the table shows how many of them balance the pole.
"""

import argparse
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from _measure import show_table

import flambeau as fb

STEPS = 32  # of a rollout


class Size(NamedTuple):
    """The copies of a rollout, of PPO and of solving; agents trained at once, and the steps of each."""

    alone: int
    ppo: int
    solved: int
    agents: int
    steps: int


SIZES = {
    "small": Size(4096, 1024, 256, 8, 5_120),
    "card": Size(65536, 65536, 4096, 2048, 500_000),
}


def seconds_of(call: Callable[[], object], rounds: int) -> float:
    """The least time of a call, after those that record it."""
    for _ in range(3):
        call()
    fb.synchronize()
    least = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        fb.synchronize()
        least = min(least, time.perf_counter() - begin)
    return least


def random_steps(copies: int) -> list[tuple[str, str]]:
    """Steps of each environment with actions of one value, STEPS in a recording."""
    rows = []
    for make in (fb.rl.CartPole, fb.rl.MountainCar, fb.rl.Acrobot, fb.rl.Pendulum):
        env = make(copies)
        is_discrete = isinstance(env.action_space, fb.rl.Discrete)
        action = fb.zeros(copies, dtype=fb.int32) if is_discrete else fb.zeros(copies, 1)

        @fb.jit
        def roll(state, env=env, action=action):
            for _ in range(STEPS):
                state = env.step(state, action).state
            return state

        state, _ = env.reset()
        each = seconds_of(lambda roll=roll, state=state: roll(state), 5)
        rows.append((f"{make.__name__}, {copies:,} copies", f"{copies * STEPS / each / 1e6:,.1f} M steps/s"))
    return rows


def iterations(copies: int) -> list[tuple[str, str]]:
    """A whole iteration of PPO."""
    env = fb.rl.CartPole(copies)
    training = fb.rl.PPO(env, steps=STEPS).learn(1 << 40)
    begin = time.perf_counter()
    next(training)
    first = time.perf_counter() - begin
    each = seconds_of(lambda: next(training), 5)
    name = f"PPO on CartPole, {copies:,} copies"
    return [(name, f"{copies * STEPS / each / 1e6:,.2f} M steps/s, first iteration {first:.1f} s")]


def many_agents(agents: int, steps: int) -> list[tuple[str, str]]:
    """Agents of different seeds, each on 16 copies: the time of all, and what they have learned."""
    env = fb.rl.CartPole(16 * agents)
    training = fb.rl.PPO(env, seeds=range(agents), steps=STEPS).learn(steps * agents)
    begin = time.perf_counter()
    returns = [next(training).by_agent]
    first = time.perf_counter() - begin
    returns += [iteration.by_agent for iteration in training]
    taken = time.perf_counter() - begin
    last = np.mean(returns[-20:], 0)
    quantiles = ", ".join(f"{value:.0f}" for value in np.quantile(last, [0.1, 0.5, 0.9]))
    rate = steps * agents / (taken - first) / 1e6
    name = f"{agents:,} agents, {steps:,} steps each"
    return [
        (name, f"{taken:.1f} s, of which the first iteration {first:.1f}; then {rate:,.2f} M steps/s"),
        (
            "mean return of the last 20 iterations",
            f"{quantiles} (of 10, 50 and 90 % of agents)",
        ),
        ("agents with a mean of at least 475", f"{np.mean(last >= 475):.0%}"),
    ]


def solve(copies: int) -> list[tuple[str, str]]:
    """The time until the mean return of an iteration is 475, with what is compiled before."""
    rows = []
    for seed in range(3):
        fb.manual_seed(seed)
        agent = fb.rl.PPO(fb.rl.CartPole(copies), learning_rate=5e-3, entropy=0.0, record="parts")
        begin = time.perf_counter()
        for it in agent.learn(400 * copies * STEPS):
            if it.iteration == 1:
                first = time.perf_counter() - begin
            if it.episode_return >= 475 or time.perf_counter() - begin > 120:
                break
        taken = time.perf_counter() - begin
        text = (
            f"{it.episode_return:.0f} after {it.steps:,} steps, {taken:.1f} s; first iteration {first:.1f} s"
        )
        rows.append((f"PPO on CartPole, {copies:,} copies, seed {seed}", text))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="small")
    names = "steps", "ppo", "solve", "agents"
    parser.add_argument("--parts", nargs="+", choices=names, default=names)
    args = parser.parse_args()
    size = SIZES[args.size]
    parts = {
        "steps": lambda: random_steps(size.alone),
        "ppo": lambda: iterations(size.ppo),
        "solve": lambda: solve(size.solved),
        "agents": lambda: many_agents(size.agents, size.steps),
    }
    for name in args.parts:
        show_table(name, ["work", "result"], parts[name]())


if __name__ == "__main__":
    main()
