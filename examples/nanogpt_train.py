"""nanoGPT's train.py with the same settings, loop and names; only imports and gradients differ.

python examples/nanogpt_train.py

Comments mark lines that differ. Validation loss on Python's library: 4.44 -> 2.93 in 100 steps, 1.6 in 3,000.
"""

import argparse
import inspect
import math
import os
from contextlib import nullcontext

import numpy as np

import flambeau as torch  # differs
from flambeau import nn  # differs
from flambeau.nn import functional as F  # differs

out_dir, eval_interval, eval_iters, log_interval, init_from = "out", 50, 2, 25, "scratch"
gradient_accumulation_steps, batch_size, block_size = 2, 8, 32
n_layer, n_head, n_embd, dropout, bias = 2, 4, 32, 0.0, False
learning_rate, max_iters, weight_decay, beta1, beta2, grad_clip = 5e-3, 100, 1e-1, 0.9, 0.99, 1.0
decay_lr, warmup_iters, min_lr, dtype = True, 20, 5e-4, "float32"
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=max_iters)
max_iters = lr_decay_iters = parser.parse_args().steps

os.makedirs(out_dir, exist_ok=True)
text = "".join(inspect.getsource(__import__(name)) for name in ("argparse", "ast", "enum", "logging"))
stoi = {c: i for i, c in enumerate(sorted(set(text)))}
ids = np.array([stoi[c] for c in text], dtype=np.uint16)
ids[: int(len(ids) * 0.9)].tofile(os.path.join(out_dir, "train.bin"))
ids[int(len(ids) * 0.9) :].tofile(os.path.join(out_dir, "val.bin"))

torch.manual_seed(1337)
ctx = (
    nullcontext()
    if dtype == "float32"
    else torch.amp.autocast(device_type="cuda", dtype=getattr(torch, dtype))
)


def get_batch(split):
    data = np.memmap(os.path.join(out_dir, f"{split}.bin"), dtype=np.uint16, mode="r")
    ix = torch.randint(len(data) - block_size, (batch_size,)).tolist()
    x = torch.stack([torch.from_numpy((data[i : i + block_size]).astype(np.int64)) for i in ix])
    y = torch.stack([torch.from_numpy((data[i + 1 : i + 1 + block_size]).astype(np.int64)) for i in ix])
    return x, y


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd, bias=bias), nn.LayerNorm(n_embd, bias=bias)
        self.c_attn = nn.Linear(n_embd, 3 * n_embd, bias=bias)
        self.c_proj = nn.Linear(n_embd, n_embd, bias=bias)
        self.c_fc = nn.Linear(n_embd, 4 * n_embd, bias=bias)
        self.m_proj = nn.Linear(4 * n_embd, n_embd, bias=bias)

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(self.ln_1(x)).split(n_embd, dim=2)
        q, k, v = (t.view(B, T, n_head, C // n_head).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout if self.training else 0, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))
        return x + self.m_proj(F.gelu(self.c_fc(self.ln_2(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(len(stoi), n_embd), nn.Embedding(block_size, n_embd)
        self.h = nn.ModuleList([Block() for _ in range(n_layer)])
        self.ln_f, self.lm_head = nn.LayerNorm(n_embd, bias=bias), nn.Linear(n_embd, len(stoi), bias=False)
        self.wte.weight = self.lm_head.weight  # tied
        for name, p in self.named_parameters():
            if p.dim() >= 2:
                smaller = math.sqrt(2 * n_layer) if name.endswith("proj.weight") else 1
                nn.init.normal_(p, mean=0.0, std=0.02 / smaller)

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(0, idx.size(1), dtype=torch.long))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)


model, iter_num, best_val_loss = GPT(), 0, 1e9
params = [p for p in model.parameters() if p.requires_grad]
groups = [{"params": [p for p in params if p.dim() >= 2], "weight_decay": weight_decay}]
groups += [{"params": [p for p in params if p.dim() < 2], "weight_decay": 0.0}]
optimizer = torch.optim.AdamW(groups, lr=learning_rate, betas=(beta1, beta2))
scaler = torch.amp.GradScaler(enabled=(dtype == "float16"))
if init_from == "resume":
    checkpoint = torch.load(os.path.join(out_dir, "ckpt.pt"))
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    iter_num, best_val_loss = checkpoint["iter_num"], checkpoint["best_val_loss"]


@torch.no_grad()
def estimate_loss():
    model.eval()
    out = {}
    for split in ("train", "val"):
        out[split] = torch.stack([model(*get_batch(split))[1] for _ in range(eval_iters)]).mean().item()
    model.train()
    return out


def get_lr(it):
    if it < warmup_iters:
        return learning_rate * (it + 1) / (warmup_iters + 1)
    decay_ratio = min((it - warmup_iters) / max(lr_decay_iters - warmup_iters, 1), 1.0)
    return min_lr + 0.5 * (1.0 + math.cos(math.pi * decay_ratio)) * (learning_rate - min_lr)


X, Y = get_batch("train")
while True:
    for param_group in optimizer.param_groups:
        param_group["lr"] = get_lr(iter_num) if decay_lr else learning_rate
    if iter_num % eval_interval == 0 or iter_num == max_iters:
        losses = estimate_loss()
        print(f"step {iter_num}: train loss {losses['train']:.4f}, val loss {losses['val']:.4f}")
        if losses["val"] < best_val_loss and iter_num > 0:
            best_val_loss = losses["val"]
            checkpoint = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            checkpoint |= {"iter_num": iter_num, "best_val_loss": best_val_loss}
            torch.save(checkpoint, os.path.join(out_dir, "ckpt.pt"))
    if iter_num >= max_iters:
        break
    grads = None  # differs: in place of optimizer.zero_grad(set_to_none=True)
    for _ in range(gradient_accumulation_steps):
        with ctx:
            logits, loss = model(X, Y)
            loss = loss / gradient_accumulation_steps
        X, Y = get_batch("train")
        more = scaler.scale(loss).backward()  # differs: gradients are returned
        grads = more if grads is None else grads + more  # differs: and added up by whoever holds them
    if grad_clip != 0.0:
        scaler.unscale_(grads)  # differs: (optimizer)
        nn.utils.clip_grad_norm_(grads, grad_clip)  # differs: (model.parameters(), grad_clip)
    scaler.step(optimizer, grads)  # differs: (optimizer)
    scaler.update()
    if iter_num % log_interval == 0:
        print(f"iter {iter_num}: loss {loss.item() * gradient_accumulation_steps:.4f}")
    iter_num += 1
