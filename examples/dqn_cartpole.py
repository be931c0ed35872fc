"""Deep Q-learning (Mnih et al., 2015) balances a pole on a cart; the physics are ten lines of NumPy.

python examples/dqn_cartpole.py

16 carts at once, double Q-learning, 3,000 steps: without exploration 100 poles stay up 173 of at most 200
steps on average. The first ones, with random actions, stayed up 30. `--steps 20000`: all 200.
"""

import argparse

import numpy as np

import flambeau as fb
from flambeau import nn, optim

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=3000)
steps = parser.parse_args().steps
CARTS, B, MEMORY, GAMMA, MOST = 16, 128, 20_000, 0.98, 200

fb.manual_seed(0)
rng = np.random.default_rng(0)


def begin(n):
    return rng.uniform(-0.05, 0.05, (n, 4)).astype("f4")


def moved(state, action):
    """Barto, Sutton and Anderson's cart (1983) 0.02 s later: x, speed, angle, its speed. (n, 4), (n,)"""
    x, v, angle, turning = state.T
    force, c, s = np.where(action, 10.0, -10.0), np.cos(angle), np.sin(angle)
    push = (force + 0.05 * turning**2 * s) / 1.1
    pull = (9.8 * s - c * push) / (0.5 * (4 / 3 - 0.1 * c**2 / 1.1))
    speed = push - 0.05 * pull * c / 1.1
    after = np.stack([x + 0.02 * v, v + 0.02 * speed, angle + 0.02 * turning, turning + 0.02 * pull], 1)
    return after.astype("f4"), (abs(after[:, 0]) > 2.4) | (abs(after[:, 2]) > 0.2095)


def network():
    return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))


q, target = network(), network()
target.load_state_dict(q.state_dict())
optimizer = optim.Adam(q.parameters(), lr=1e-3)


@fb.jit
def best(state):
    return q(state).argmax(1)


@fb.jit
def learn(state, action, reward, after, goes_on):
    """One step towards reward + GAMMA * the next state's value, which `target` gives for q's choice."""
    with fb.no_grad():
        follows = target(after).gather(1, q(after).argmax(1, keepdim=True)).squeeze(1)
        wanted = reward + GAMMA * goes_on * follows
    found = q(state).gather(1, action.unsqueeze(1)).squeeze(1)
    loss = nn.functional.smooth_l1_loss(found, wanted)
    optimizer.step(loss.backward())
    for ours, theirs in zip(q.parameters(), target.parameters(), strict=True):
        theirs.assign_(theirs + 0.01 * (ours - theirs).detach())  # follows slowly
    return loss


shapes = {"state": ((MEMORY, 4), "f4"), "action": (MEMORY, "i4"), "reward": (MEMORY, "f4")}
shapes |= {"after": ((MEMORY, 4), "f4"), "goes on": (MEMORY, "f4")}
memory = [np.zeros(*shape) for shape in shapes.values()]
state, age, lengths, filled = begin(CARTS), np.zeros(CARTS, int), [], 0
for i in range(1, steps + 1):
    chance = max(0.02, 1 - i / (0.3 * steps))  # of trying something
    action = best(fb.tensor(state)).numpy()
    action = np.where(rng.random(CARTS) < chance, rng.integers(0, 2, CARTS), action)
    after, fell = moved(state, action)
    place = (filled + np.arange(CARTS)) % MEMORY
    for store, values in zip(memory, (state, action, 1.0 - fell, after, 1.0 - fell), strict=True):
        store[place] = values
    filled, age = filled + CARTS, age + 1
    over = fell | (age >= MOST)
    lengths += age[over].tolist()
    state, age = np.where(over[:, None], begin(CARTS), after), np.where(over, 0, age)
    if filled >= 4 * B:
        some = rng.integers(0, min(filled, MEMORY), B)
        learn(*(fb.tensor(store[some]) for store in memory))
    if i % 500 == 0:
        print(f"step {i}  the last 50 poles stood {np.mean(lengths[-50:]):.0f} steps")

state, stood, up = begin(100), np.zeros(100), np.ones(100, bool)
for _ in range(MOST if steps > 100 else 10):
    state, fell = moved(state, best(fb.tensor(state)).numpy())
    up &= ~fell
    stood += up
print(f"100 poles without trying anything: {stood.mean():.0f} of {MOST} steps")
