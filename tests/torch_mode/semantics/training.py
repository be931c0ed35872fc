"""Training steps in torch's forms: optimisers, schedules, clipping, scalers, autocast."""

import copy
import io

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
from torch.optim import lr_scheduler


def show(*values):
    print(*[round_of(v) for v in values])


def round_of(v):
    if isinstance(v, torch.Tensor):
        v = v.detach().tolist()
    if isinstance(v, (list, tuple)):
        return [round_of(x) for x in v]
    return round(v, 4) if isinstance(v, float) else v


def model_of():
    m = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    with torch.no_grad():
        for i, p in enumerate(m.parameters()):
            p.copy_(torch.linspace(-1, 1, p.numel()).reshape(p.shape) * (0.3 + 0.1 * i))
    return m


x = torch.linspace(-1, 1, 15).reshape(5, 3)
y = torch.tensor([0, 1, 1, 0, 1])
OPTIMIZERS = {
    "SGD": dict(lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True),
    "Adam": dict(lr=0.01, amsgrad=True),
    "AdamW": dict(lr=0.01, betas=(0.8, 0.9)),
    "RMSprop": dict(lr=0.01, centered=True, momentum=0.5),
    "Adagrad": dict(lr=0.1),
    "Adadelta": dict(),
    "Adamax": dict(lr=0.01),
    "NAdam": dict(lr=0.01),
    "RAdam": dict(lr=0.01),
    "Rprop": dict(lr=0.01),
    "ASGD": dict(lr=0.01),
}
for name, options in OPTIMIZERS.items():
    m = model_of()
    o = getattr(optim, name)(m.parameters(), **options)
    for _ in range(3):
        o.zero_grad()
        loss = F.cross_entropy(m(x), y)
        loss.backward()
        o.step()
    show(name, loss.item(), m[0].weight[0], m[2].bias, m[2].bias.grad)

# closures
m = model_of()
o = optim.LBFGS(m.parameters(), lr=0.5, max_iter=5)


def closure():
    o.zero_grad()
    loss = F.cross_entropy(m(x), y)
    loss.backward()
    return loss


show("LBFGS", o.step(closure), F.cross_entropy(m(x), y))
m = model_of()
o = optim.SGD(m.parameters(), lr=0.1)
show("closure", o.step(closure), m[2].bias)

# accumulation, frozen and unused parameters, several groups, a schedule
m = model_of()
unused = nn.Parameter(torch.ones(2))
o = optim.Adam([{"params": m[0].parameters(), "lr": 0.1}, {"params": [*m[2].parameters(), unused]}], lr=0.01)
s = lr_scheduler.StepLR(o, step_size=1, gamma=0.5)
m[2].bias.requires_grad_(False)
for i in range(4):
    (F.cross_entropy(m(x[i : i + 1]), y[i : i + 1]) / 2).backward()
    if i % 2:
        show(clip_grad_norm_(m.parameters(), 0.5), m[0].bias.grad)
        o.step()
        s.step()
        o.zero_grad(set_to_none=False)
show(
    m[0].bias,
    m[2].bias,
    m[2].bias.grad,
    unused,
    unused.grad,
    s.get_last_lr(),
    [g["lr"] for g in o.param_groups],
)
show(sorted(o.state[m[0].bias]), o.state[m[0].bias]["step"])
state = copy.deepcopy(o.state_dict())
print(sorted(state), state["param_groups"][1]["params"])
twin = optim.Adam([{"params": m[0].parameters()}, {"params": [*m[2].parameters(), unused]}])
twin.load_state_dict(state)
show(twin.param_groups[0]["lr"], twin.state[m[0].bias]["exp_avg"])
o.add_param_group({"params": [nn.Parameter(torch.zeros(1))], "lr": 1.0})
print(len(o.param_groups), o.defaults["lr"])

# a loss that is read first, and gradients that are read between backward and step
m = model_of()
o = optim.SGD(m.parameters(), lr=0.5)
for _ in range(2):
    o.zero_grad(set_to_none=True)
    logits = m(x)
    loss = F.cross_entropy(logits, y)
    loss.backward()
    show(loss.item(), m[2].bias.grad, sum(p.grad.norm() ** 2 for p in m.parameters()) ** 0.5)
    clip_grad_value_(m.parameters(), 0.05)
    show(m[2].bias.grad)
    for p in m.parameters():
        p.grad.add_(p.data, alpha=0.1)
    o.step()
    show((logits.argmax(1) == y).float().mean(), m[2].bias)

# by hand
m = model_of()
F.cross_entropy(m(x), y).backward()
with torch.no_grad():
    for p in m.parameters():
        p -= 0.1 * p.grad
        p.grad = None
for p in m.parameters():
    p.data.add_(torch.ones_like(p), alpha=0.01)
    p.data -= 0.01
show(m[2].bias)


# an optimizer of a user
class Lookahead(optim.Optimizer):
    def __init__(self, params, lr=0.1, decay=0.5):
        super().__init__(params, dict(lr=lr, decay=decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if len(state) == 0:
                    state["step"] = 0
                    state["mean"] = torch.zeros_like(p)
                state["step"] += 1
                state["mean"].mul_(group["decay"]).add_(p.grad, alpha=1 - group["decay"])
                p.add_(state["mean"], alpha=-group["lr"])
        return loss


m = model_of()
o = Lookahead(m.parameters())
for _ in range(3):
    o.zero_grad()
    F.cross_entropy(m(x), y).backward()
    o.step()
show(m[2].bias, o.state[m[2].bias]["step"], o.state[m[2].bias]["mean"])
kept = o.state_dict()
print(sorted(kept["state"][0]), kept["param_groups"])
o.load_state_dict(kept)

# scalers and autocast
m = model_of()
o = optim.SGD(m.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
for i in range(4):
    o.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = m(x)
        loss = F.cross_entropy(out, y)
    scaler.scale(loss).backward()
    if i == 2:
        m[0].bias.grad[0] = float("inf")
    scaler.unscale_(o)
    norm = clip_grad_norm_(m.parameters(), 1.0)
    before = m[0].bias.clone()
    scaler.step(o)
    scaler.update()
    print(out.dtype, loss.dtype, scaler.get_scale(), bool((before == m[0].bias).all()), m[0].bias.grad.dtype)
try:
    scaler.unscale_(o)
    scaler.unscale_(o)
except RuntimeError as e:
    print(e)
print(torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"), torch.is_autocast_enabled())
with torch.autocast(device_type="cpu", enabled=False):
    print((x @ x.T).dtype)
with torch.amp.autocast("cpu"):
    print((x @ x.T).dtype, torch.is_autocast_enabled("cpu"))


@torch.autocast("cpu")
def product(a):
    return a @ a.T


print(product(x).dtype)

# files
buffer = io.BytesIO()
torch.save({"model": m.state_dict(), "optimizer": o.state_dict(), "epoch": 3}, buffer)
buffer.seek(0)
saved = torch.load(buffer, map_location="cpu", weights_only=True)
print(saved["epoch"], list(saved["model"]), m.load_state_dict(saved["model"]))
o.load_state_dict(saved["optimizer"])
for hook in (o.register_step_pre_hook, o.register_step_post_hook):
    hook(lambda *a: print("hook", len(a)))
o.zero_grad()
m(x).sum().backward()
o.step()
m.zero_grad()
print(repr(o).splitlines()[:2])
