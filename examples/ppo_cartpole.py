"""PPO balances a pole on a cart (Schulman et al., 2017): 256 carts at once, all of it on the device.

python examples/ppo_cartpole.py

After 40 iterations (328,000 steps) a pole stays up 493 of at most 500 steps with exploration,
and 500 without.
"""

import argparse
import time

import flambeau as fb

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=40, help="iterations of 256 carts x 32 steps")
iterations = parser.parse_args().steps

fb.manual_seed(0)
env = fb.rl.CartPole(256)
agent = fb.rl.PPO(env, learning_rate=5e-3, entropy=0.0)
begin = time.perf_counter()
for it in agent.learn(iterations * env.n * agent.steps):
    if it.iteration % 5 == 0 or it.iteration == 1:
        seconds = time.perf_counter() - begin
        print(f"{it.steps:,} steps, {seconds:.0f} s: a pole stays up {it.episode_return:.0f} steps")

# The policy without chance, on 256 new carts.
state, observation = env.reset()
upright, length = fb.ones(env.n), fb.zeros(env.n)
for _ in range(env.max_steps if iterations > 5 else 10):
    step = env.step(state, agent.act(observation))
    state, observation = step.state, step.observation
    length = (length + upright).realize()
    upright = (upright * (1 - step.terminated)).realize()
print(f"without exploration: {length.mean().item():.0f} of at most {env.max_steps} steps")
