"""Model-agnostic meta-learning of sines: gradients through a step, by autograd.grad and create_graph."""

import numpy as np
import torch
import torch.nn.functional as F

rng = np.random.default_rng(20)
inner_lr, meta_lr, tasks = 0.05, 0.01, 3


def weights(*shapes):
    return [torch.tensor(rng.normal(0, 0.5, s), dtype=torch.float32, requires_grad=True) for s in shapes]


def forward(x, params):
    w1, b1, w2, b2 = params
    h = torch.tanh(F.linear(x, w1, b1))
    return F.linear(h, w2, b2)


def sample_task():
    amplitude, phase = rng.uniform(0.1, 2.0), rng.uniform(0, np.pi)

    def sample(n=10):
        x = rng.uniform(-3, 3, (n, 1))
        return torch.FloatTensor(x), torch.FloatTensor(amplitude * np.sin(x + phase))

    return sample


params = weights((12, 1), (12,), (1, 12), (1,))
meta_optimizer = torch.optim.Adam(params, lr=meta_lr)

for iteration in range(6):
    meta_loss = torch.tensor(0.0)
    for _ in range(tasks):
        sample = sample_task()
        x, y = sample()
        fast = params
        for _ in range(2):
            inner = F.mse_loss(forward(x, fast), y)
            grads = torch.autograd.grad(inner, fast, create_graph=True)
            fast = [w - inner_lr * g for w, g in zip(fast, grads)]
        x, y = sample()
        meta_loss = meta_loss + F.mse_loss(forward(x, fast), y)
    meta_loss = meta_loss / tasks
    meta_optimizer.zero_grad()
    meta_loss.backward()
    meta_optimizer.step()
    print(f"iteration {iteration}: meta loss {meta_loss.item():.5f}")
