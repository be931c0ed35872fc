"""Trains the policy that the site's page of CartPole has at first: web/cartpole/policy.safetensors.

python scripts/train_cartpole.py [--out FILE]

It stops when a pole stays up 495 of 500 steps.
"""

import argparse
from pathlib import Path

import flambeau as fb
from flambeau.site.cartpole import HIDDEN

OUT = Path(__file__).parents[1] / "web/cartpole/policy.safetensors"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT)
    out = parser.parse_args().out
    env = fb.rl.CartPole(64)
    options = {"hidden": HIDDEN, "learning_rate": 5e-3, "anneal": False, "entropy": 0.0}
    agent = fb.rl.PPO(env, seeds=[0], record="parts", **options)
    for it in agent.learn(300 * env.n * agent.steps):
        print(f"{it.steps:,} steps: a pole stays up {it.episode_return:.0f} steps")
        if it.episode_return >= 495:
            break
    fb.save({f"actor.{name}": p for name, p in agent.actor.state_dict().items()}, out)


if __name__ == "__main__":
    main()
