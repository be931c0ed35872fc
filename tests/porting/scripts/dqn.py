"""A deep Q-network on a corridor: replay memory, a target network, clipped gradients."""

import random
from collections import deque, namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))
BATCH_SIZE, GAMMA, TAU, LR = 16, 0.9, 0.05, 1e-2
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
random.seed(18)
rng = np.random.default_rng(18)


class DQN(nn.Module):
    def __init__(self, n_observations, n_actions):
        super().__init__()
        self.layer1 = nn.Linear(n_observations, 16)
        self.layer2 = nn.Linear(16, n_actions)

    def forward(self, x):
        return self.layer2(torch.relu(self.layer1(x)))


policy_net = DQN(5, 2).to(device)
target_net = DQN(5, 2).to(device)
for p in policy_net.parameters():
    p.data.copy_(torch.tensor(rng.normal(0, 0.4, tuple(p.shape))))
target_net.load_state_dict(policy_net.state_dict())
optimizer = optim.AdamW(policy_net.parameters(), lr=LR, amsgrad=True)
memory = deque(maxlen=200)


def one_hot(at):
    return torch.tensor(np.eye(5)[at], dtype=torch.float32, device=device).unsqueeze(0)


def select_action(state):
    if random.random() > 0.3:
        with torch.no_grad():
            return policy_net(state).max(1).indices.view(1, 1)
    return torch.tensor([[random.randrange(2)]], device=device, dtype=torch.long)


def optimize_model():
    if len(memory) < BATCH_SIZE:
        return None
    batch = Transition(*zip(*random.sample(memory, BATCH_SIZE)))
    mask = tuple(map(lambda s: s is not None, batch.next_state))
    non_final_mask = torch.tensor(mask, device=device, dtype=torch.bool)
    non_final_next_states = torch.cat([s for s in batch.next_state if s is not None])
    state_batch, action_batch = torch.cat(batch.state), torch.cat(batch.action)
    reward_batch = torch.cat(batch.reward)
    state_action_values = policy_net(state_batch).gather(1, action_batch)
    next_state_values = torch.zeros(BATCH_SIZE, device=device)
    with torch.no_grad():
        next_state_values[non_final_mask] = target_net(non_final_next_states).max(1).values
    expected = (next_state_values * GAMMA) + reward_batch
    loss = nn.SmoothL1Loss()(state_action_values, expected.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    return loss.item()


for i_episode in range(6):
    at, total, loss = 1, 0.0, None
    for _ in range(8):
        state = one_hot(at)
        action = select_action(state)
        at = max(0, at + (1 if action.item() else -1))
        reward = 1.0 if at == 4 else -0.05
        memory.append(
            Transition(state, action, None if at == 4 else one_hot(at), torch.tensor([reward], device=device))
        )
        total += reward
        loss = optimize_model()
        target_state, policy_state = target_net.state_dict(), policy_net.state_dict()
        for key in policy_state:
            target_state[key] = policy_state[key] * TAU + target_state[key] * (1 - TAU)
        target_net.load_state_dict(target_state)
        if at == 4:
            break
    print(f"episode {i_episode}: return {total:.2f}, loss {0.0 if loss is None else loss:.5f}")
