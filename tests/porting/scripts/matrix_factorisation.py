"""Ratings of films by two embeddings and their biases, with a step written as a function (d2l's manner)."""

import numpy as np
import torch
from torch import nn

num_users, num_items, num_factors = 10, 12, 4
rng = np.random.default_rng(16)


class MF(nn.Module):
    def __init__(self, num_factors, num_users, num_items):
        super().__init__()
        self.P = nn.Embedding(num_users, num_factors)
        self.Q = nn.Embedding(num_items, num_factors)
        self.user_bias = nn.Embedding(num_users, 1)
        self.item_bias = nn.Embedding(num_items, 1)

    def forward(self, user_id, item_id):
        P_u, Q_i = self.P(user_id), self.Q(item_id)
        b_u, b_i = self.user_bias(user_id), self.item_bias(item_id)
        outputs = (P_u * Q_i).sum(dim=1) + torch.squeeze(b_u) + torch.squeeze(b_i)
        return outputs.flatten()


def sgd(params, lr, batch_size):
    """Minibatch stochastic gradient descent."""
    with torch.no_grad():
        for param in params:
            param -= lr * param.grad / batch_size
            param.grad.zero_()


def data_iter(batch_size, users, items, ratings):
    indices = rng.permutation(len(users))
    for i in range(0, len(indices), batch_size):
        j = indices[i : i + batch_size]
        yield torch.tensor(users[j]), torch.tensor(items[j]), torch.tensor(ratings[j], dtype=torch.float32)


users, items = (a.ravel() for a in np.mgrid[:num_users, :num_items])
ratings = rng.normal(size=(num_users, 2)) @ rng.normal(size=(2, num_items))
ratings = ratings.ravel() + 0.1 * rng.normal(size=len(users))
net = MF(num_factors, num_users, num_items)
for param in net.parameters():
    param.data.copy_(torch.tensor(rng.normal(0, 0.3, tuple(param.shape))))
loss = nn.MSELoss(reduction="none")

for epoch in range(4):
    total = 0.0
    for u, i, r in data_iter(30, users, items, ratings):
        l = loss(net(u, i), r)
        l.sum().backward()
        sgd(net.parameters(), 0.3, len(r))
        total += float(l.sum())
    print(f"epoch {epoch + 1}, loss {total / len(users):f}")
