"""Text generation: a character-level GPT learns Python from its standard library, and writes some.

python examples/text_generation.py

32,448 parameters. Validation loss after 200 steps: 2.39 nats per character; guessing gives 4.56. Its output
then has indents, brackets and words like `oresth`. `--steps 5000`: 1.64, and lines like
`def hasafe(formatter, node)`.
"""

import argparse
import inspect
from importlib import import_module

import numpy as np

import flambeau as fb
from flambeau import nn, optim

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--write", type=int, default=120, help="characters to write")
args = parser.parse_args()
B, T, C, HEADS, LAYERS, LR = 16, 32, 32, 4, 2, 1e-2
MODULES = (
    "argparse",
    "ast",
    "dataclasses",
    "enum",
    "heapq",
    "inspect",
    "json.decoder",
    "logging",
    "textwrap",
)

fb.manual_seed(0)
rng = np.random.default_rng(0)
text = "".join(inspect.getsource(import_module(name)) for name in MODULES)
text = "".join(c for c in text if c == "\n" or 32 <= ord(c) < 127)
characters = sorted(set(text))
ids = np.array([characters.index(c) for c in text], np.int32)
train, valid = ids[: -len(ids) // 10], ids[-len(ids) // 10 :]
print(f"{len(text):,} characters, {len(characters)} different ones")


def batch(ids):
    """B chunks of T characters, and the same shifted by one."""
    at = rng.integers(0, len(ids) - T - 1, B)[:, None] + np.arange(T + 1)
    return fb.tensor(ids[at[:, :-1]]), fb.tensor(ids[at[:, 1:]])


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(C), nn.LayerNorm(C)
        self.qkv, self.out = nn.Linear(C, 3 * C, bias=False), nn.Linear(C, C)
        self.mlp = nn.Sequential(nn.Linear(C, 4 * C), nn.GELU(), nn.Linear(4 * C, C))

    def forward(self, x):  # (B, T, C)
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(b, t, 3, HEADS, C // HEADS).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)  # (B, heads, T, C / heads)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, C))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.place = nn.Embedding(len(characters), C), nn.Embedding(T, C)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(C), nn.Linear(C, len(characters), bias=False)

    def forward(self, ids):  # (B, T) -> (B, T, characters)
        x = self.token(ids) + self.place.weight[: ids.shape[1]]
        return self.head(self.norm(self.blocks(x)))


model = GPT()
optimizer = optim.AdamW(model.parameters(), lr=LR, weight_decay=0.1, betas=(0.9, 0.99))
schedule = optim.lr_scheduler.OneCycleLR(optimizer, LR, total_steps=args.steps + 1, pct_start=0.1)
print(f"{sum(p.numel() for p in model.parameters()):,} numbers")


def loss_of(x, y):
    return nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())


@fb.jit
def step(x, y):
    loss = loss_of(x, y)
    grads, _ = optim.clip_grad_norm(loss.backward(), 1.0)
    optimizer.step(grads)
    return loss


for i in range(1, args.steps + 1):
    loss = step(*batch(train))
    schedule.step()
    if i % 50 == 0:
        print(f"step {i}  loss {loss.item():.4f}")

evaluate = fb.jit(loss_of)
with fb.no_grad():
    print(f"validation loss {np.mean(fb.read(*(evaluate(*batch(valid)) for _ in range(4)))):.4f}")


@fb.jit
def following(ids, place):
    """Sample the character after `place`; the input always has T characters, so it is recorded once."""
    logits = model(ids)[0].index_select(0, place) / 0.7
    return logits.softmax(-1).multinomial(1)


written = [characters.index(c) for c in "\n    def "]
with fb.no_grad():
    for _ in range(args.write):
        recent = written[-T:]
        window = np.array(
            [recent + [0] * (T - len(recent))], np.int32
        )  # causal: what is behind changes nothing
        written.append(following(fb.tensor(window), fb.tensor([len(recent) - 1])).item())
print("".join(characters[i] for i in written))
