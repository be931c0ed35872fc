"""Reinforcement learning: environment steps a second, and the time until PPO has solved CartPole.

python bench/rl.py [--size small | card] [--parts steps ppo solve agents]
"""

import argparse
import time
from collections.abc import Callable

from _measure import show_table

import flambeau as fb

# of a rollout alone, of PPO, of solving: the copies; and the agents that are trained at once
SIZES = {"small": (4096, 1024, 256, 64), "card": (65536, 65536, 4096, 2048)}
STEPS = 32  # of a rollout


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


def iterations(copies: int, agents: int = 1) -> list[tuple[str, str]]:
    """A whole iteration of PPO."""
    env = fb.rl.CartPole(copies)
    agent = fb.rl.PPO(env, agents=agents, steps=STEPS)
    training = agent.learn(1 << 40)
    begin = time.perf_counter()
    next(training)
    first = time.perf_counter() - begin
    each = seconds_of(lambda: next(training), 5)
    name = f"PPO on CartPole, {copies:,} copies, {agents:,} agents"
    return [(name, f"{copies * STEPS / each / 1e6:,.2f} M steps/s, first iteration {first:.1f} s")]


def solve(copies: int) -> list[tuple[str, str]]:
    """The time until the mean return of an iteration is 475, with what is compiled before."""
    rows = []
    for seed in range(3):
        fb.manual_seed(seed)
        agent = fb.rl.PPO(fb.rl.CartPole(copies), learning_rate=5e-3, entropy=0.0)
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
    alone, ppo, solved, agents = SIZES[args.size]
    parts = {
        "steps": lambda: random_steps(alone),
        "ppo": lambda: iterations(ppo),
        "solve": lambda: solve(solved),
        "agents": lambda: iterations(agents * 4, agents),
    }
    for name in args.parts:
        show_table(name, ["work", "result"], parts[name]())


if __name__ == "__main__":
    main()
