"""SGD with groups of parameters, warm-up and cosine, ReduceLROnPlateau, accumulation of gradients."""

import numpy as np
import torch
from torch import nn
from torch.optim import SGD
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, LinearLR, ReduceLROnPlateau, SequentialLR

rng = np.random.default_rng(27)
x = torch.tensor(rng.normal(size=(64, 8)), dtype=torch.float32)
y = torch.tensor(rng.normal(size=(8, 2)), dtype=torch.float32)
y = torch.tanh(x @ y)


def new_model():
    draw = np.random.default_rng(28)
    model = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 2))
    for name, p in model.named_parameters():
        p.data.copy_(torch.tensor(draw.normal(1.0 if name == "1.weight" else 0.0, 0.2, tuple(p.shape))))
    return model


def groups(model):
    decay, no_decay = [], []
    for name, param in model.named_parameters():
        if not param.requires_grad:
            continue
        if param.ndim <= 1 or name.endswith(".bias"):
            no_decay.append(param)
        else:
            decay.append(param)
    return [{"params": no_decay, "weight_decay": 0.0}, {"params": decay, "weight_decay": 0.05, "lr": 0.05}]


def run(make_scheduler, accumulate=4):
    model = new_model()
    optimizer = SGD(groups(model), lr=0.1, momentum=0.9)
    scheduler = make_scheduler(optimizer)
    criterion = nn.MSELoss()
    for epoch in range(4):
        total = 0.0
        for i in range(8):
            rows = slice(8 * i, 8 * i + 8)
            loss = criterion(model(x[rows]), y[rows])
            (loss / accumulate).backward()
            total += loss.item()
            if (i + 1) % accumulate == 0:
                optimizer.step()
                optimizer.zero_grad()
        if isinstance(scheduler, ReduceLROnPlateau):
            scheduler.step(total)
        else:
            scheduler.step()
        print(f"{epoch} loss {total:.5f} lr {[round(g['lr'], 6) for g in optimizer.param_groups]}")


run(lambda o: LambdaLR(o, lambda epoch: 0.5**epoch))
run(lambda o: ReduceLROnPlateau(o, mode="min", factor=0.1, patience=0, threshold=0.5))
run(
    lambda o: SequentialLR(
        o,
        [LinearLR(o, start_factor=0.1, total_iters=2), CosineAnnealingLR(o, T_max=2)],
        milestones=[2],
    )
)
