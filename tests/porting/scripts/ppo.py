"""Proximal policy optimisation: clipped ratios, a critic, several epochs over one batch of experience."""

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

rng = np.random.default_rng(19)


class ActorCritic(nn.Module):
    def __init__(self, state_dim, action_dim):
        super().__init__()
        self.actor = nn.Sequential(
            nn.Linear(state_dim, 16), nn.Tanh(), nn.Linear(16, action_dim), nn.Softmax(dim=-1)
        )
        self.critic = nn.Sequential(nn.Linear(state_dim, 16), nn.Tanh(), nn.Linear(16, 1))

    def evaluate(self, state, action):
        dist = Categorical(self.actor(state))
        return dist.log_prob(action), self.critic(state), dist.entropy()


class PPO:
    def __init__(self, state_dim, action_dim, lr_actor=0.01, lr_critic=0.02, K_epochs=4, eps_clip=0.2):
        self.eps_clip, self.K_epochs = eps_clip, K_epochs
        self.policy = ActorCritic(state_dim, action_dim)
        for p in self.policy.parameters():
            p.data = torch.tensor(rng.normal(0, 0.4, tuple(p.shape)), dtype=torch.float32)
        self.optimizer = torch.optim.Adam(
            [
                {"params": self.policy.actor.parameters(), "lr": lr_actor},
                {"params": self.policy.critic.parameters(), "lr": lr_critic},
            ]
        )
        self.policy_old = ActorCritic(state_dim, action_dim)
        self.policy_old.load_state_dict(self.policy.state_dict())
        self.MseLoss = nn.MSELoss()

    def update(self, old_states, old_actions, rewards):
        with torch.no_grad():
            old_logprobs, old_values, _ = self.policy_old.evaluate(old_states, old_actions)
        rewards = (rewards - rewards.mean()) / (rewards.std() + 1e-7)
        advantages = rewards.detach() - old_values.squeeze().detach()
        for _ in range(self.K_epochs):
            logprobs, state_values, dist_entropy = self.policy.evaluate(old_states, old_actions)
            state_values = torch.squeeze(state_values)
            ratios = torch.exp(logprobs - old_logprobs.detach())
            surr1 = ratios * advantages
            surr2 = torch.clamp(ratios, 1 - self.eps_clip, 1 + self.eps_clip) * advantages
            loss = -torch.min(surr1, surr2) + 0.5 * self.MseLoss(state_values, rewards) - 0.01 * dist_entropy
            self.optimizer.zero_grad()
            loss.mean().backward()
            self.optimizer.step()
        self.policy_old.load_state_dict(self.policy.state_dict())
        return loss.mean().item()


agent = PPO(4, 3)
for i in range(4):
    states = torch.tensor(rng.normal(size=(20, 4)), dtype=torch.float32)
    with torch.no_grad():
        probs = agent.policy_old.actor(states).numpy()
    actions = np.array([rng.choice(3, p=p / p.sum()) for p in probs.astype(np.float64)])
    wanted = states.numpy()[:, :3].argmax(1)
    loss = agent.update(states, torch.tensor(actions), torch.tensor((actions == wanted) * 1.0).float())
    print(f"update {i}: reward {np.mean(actions == wanted):.3f} loss {loss:.5f}")
