"""What loops do with gradients: accumulation, clipping, FGSM, PGD, several optimisers, LBFGS, penalties."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

rng = np.random.default_rng(0)
X = torch.from_numpy(rng.normal(size=(12, 3)).astype("float32"))
Y = torch.from_numpy(rng.normal(size=(12, 1)).astype("float32"))


def new():
    m = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    r = np.random.default_rng(1)
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.from_numpy(r.normal(0, 0.5, tuple(p.shape)).astype("float32")))
    return m


def show(name, m):
    print(name, [round(p.sum().item(), 4) for p in m.parameters()])


# accumulation with a condition
m = new()
opt = torch.optim.SGD(m.parameters(), lr=0.1)
opt.zero_grad()
for i in range(6):
    loss = F.mse_loss(m(X[2 * i : 2 * i + 2]), Y[2 * i : 2 * i + 2]) / 3
    loss.backward()
    if (i + 1) % 3 == 0:
        torch.nn.utils.clip_grad_norm_(m.parameters(), 0.5)
        opt.step()
        opt.zero_grad()
show("accumulate", m)

# zero_grad at the end, and none at the beginning
m = new()
opt = torch.optim.Adam(m.parameters(), lr=0.01)
for _ in range(3):
    F.mse_loss(m(X), Y).backward()
    opt.step()
    m.zero_grad()
show("end", m)

# two losses
m = new()
opt = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
for _ in range(3):
    opt.zero_grad()
    out = m(X)
    a = F.mse_loss(out, Y)
    b = out.abs().mean()
    a.backward(retain_graph=True)
    b.backward()
    for p in m.parameters():
        p.grad.data.clamp_(-0.05, 0.05)
    opt.step()
show("two", m)

# FGSM
m = new()
x = X.clone().requires_grad_(True)
loss = F.mse_loss(m(x), Y)
m.zero_grad()
loss.backward()
adv = x + 0.1 * x.grad.sign()
print("fgsm", round(F.mse_loss(m(adv), Y).item(), 4))

# PGD
delta = torch.zeros_like(X, requires_grad=True)
for _ in range(4):
    loss = F.mse_loss(m(X + delta), Y)
    loss.backward()
    delta.data = (delta + 0.1 * delta.grad.detach().sign()).clamp(-0.2, 0.2)
    delta.grad.zero_()
print("pgd", round(delta.abs().sum().item(), 4), round(F.mse_loss(m(X + delta), Y).item(), 4))

# norms of gradients and a manual step
m = new()
for _ in range(2):
    loss = F.mse_loss(m(X), Y)
    for p in m.parameters():
        p.grad = None
    loss.backward()
    total = sum(p.grad.pow(2).sum() for p in m.parameters() if p.grad is not None).sqrt()
    print("norm", round(total.item(), 4), round(max(p.grad.abs().max().item() for p in m.parameters()), 4))
    with torch.no_grad():
        for _, p in m.named_parameters():
            p.add_(p.grad, alpha=-0.1)
show("manual", m)

# two optimisers of parts
m = new()
o1 = torch.optim.SGD(m[0].parameters(), lr=0.1)
o2 = torch.optim.SGD(m[2].parameters(), lr=0.2)
for i in range(3):
    o1.zero_grad()
    o2.zero_grad()
    F.mse_loss(m(X), Y).backward()
    o1.step()
    if i % 2 == 0:
        o2.step()
show("parts", m)

# weight decay by hand into gradients
m = new()
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    F.mse_loss(m(X), Y).backward()
    for p in m.parameters():
        p.grad += 0.01 * p.data
    opt.step()
show("decay", m)

# frozen, and EMA
m = new()
ema = new()
m[0].weight.requires_grad = False
opt = torch.optim.SGD([p for p in m.parameters() if p.requires_grad], lr=0.1)
for _ in range(2):
    opt.zero_grad()
    F.mse_loss(m(X), Y).backward()
    opt.step()
    with torch.no_grad():
        for e, p in zip(ema.parameters(), m.parameters()):
            e.mul_(0.9).add_(p, alpha=0.1)
show("frozen", m)
show("ema", ema)

# LBFGS
m = new()
opt = torch.optim.LBFGS(m.parameters(), lr=0.5, max_iter=4)


def closure():
    opt.zero_grad()
    loss = F.mse_loss(m(X), Y)
    loss.backward()
    return loss


for _ in range(2):
    loss = opt.step(closure)
print("lbfgs", round(loss.item(), 4))

# gradient penalty
m = new()
x = X.clone().requires_grad_()
g = torch.autograd.grad(m(x).sum(), x, create_graph=True)[0]
gp = ((g.norm(2, dim=1) - 1) ** 2).mean()
gp.backward()
print("gp", [round(p.grad.sum().item(), 4) if p.grad is not None else None for p in m.parameters()])

# backward of a vector, accumulate in input grads
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
v = w * w
v.backward(torch.tensor([1.0, 0.1, 0.01]))
v2 = w * 3
v2.sum().backward()
print("sum", w.grad)
