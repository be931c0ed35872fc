"""REINFORCE on a corridor: the policy gradient of PyTorch's examples, with a small environment of its own."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

gamma, eps = 0.99, np.finfo(np.float32).eps.item()
rng = np.random.default_rng(17)


class Corridor:
    """Five cells; the right end is worth 1, each step costs 0.05."""

    def reset(self):
        self.at, self.steps = 1, 0
        return self.state()

    def state(self):
        return np.eye(5, dtype=np.float32)[self.at]

    def step(self, action):
        self.at, self.steps = max(0, self.at + (1 if action else -1)), self.steps + 1
        done = self.at == 4 or self.steps == 12
        return self.state(), (1.0 if self.at == 4 else -0.05), done


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(5, 16)
        self.affine2 = nn.Linear(16, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.affine2(x), dim=1)


policy = Policy()
for p in policy.parameters():
    p.data = torch.tensor(rng.normal(0, 0.3, tuple(p.shape)), dtype=torch.float32)
optimizer = optim.Adam(policy.parameters(), lr=3e-2)
env = Corridor()


def select_action(state):
    state = torch.from_numpy(state).float().unsqueeze(0)
    probs = policy(state)
    action = int(rng.random() < probs[0, 1].item())  # drawn by NumPy, as the same in both
    policy.saved_log_probs.append(torch.log(probs[:, action]))
    return action


def finish_episode():
    R, policy_loss, returns = 0, [], []
    for r in policy.rewards[::-1]:
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    for log_prob, R in zip(policy.saved_log_probs, returns):
        policy_loss.append(-log_prob * R)
    optimizer.zero_grad()
    policy_loss = torch.cat(policy_loss).sum()
    policy_loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]
    return policy_loss.item()


running_reward = 0
for i_episode in range(1, 9):
    state, done, ep_reward = env.reset(), False, 0
    while not done:
        action = select_action(state)
        state, reward, done = env.step(action)
        policy.rewards.append(reward)
        ep_reward += reward
    running_reward = 0.05 * ep_reward + 0.95 * running_reward
    loss = finish_episode()
    if i_episode % 2 == 0:
        print(f"Episode {i_episode} reward: {ep_reward:.2f} average: {running_reward:.4f} loss: {loss:.4f}")
