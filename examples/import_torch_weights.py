"""Load weights saved by PyTorch: under the same names, or renamed by a table.

python examples/import_torch_weights.py

If torch is installed, the weights are those of a torch model: results differ by 3.6e-7. Otherwise NumPy makes
them.
"""

import argparse

import numpy as np

import flambeau as fb
from flambeau import nn

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=5, help="of training, to see that what was loaded can learn")
steps = parser.parse_args().steps
WIDTH, HEADS = 32, 4


def network(nn):
    """The same code builds torch's network and ours: `nn` is either package's. (B, T, WIDTH) -> (B, T, 10)"""
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 64, dropout=0.0, activation="gelu", batch_first=True)
    return nn.Sequential(layer, nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 10))


x = np.random.default_rng(0).normal(size=(2, 7, WIDTH)).astype("f4")
fb.manual_seed(0)
ours = network(nn)

# --- 1. the same names: a file of torch's state dict loads as it is, from .safetensors or .pt ---

try:
    import torch

    theirs = network(torch.nn)
    torch.save(theirs.state_dict(), "weights.pt")
    weights = {name: t.numpy() for name, t in theirs.state_dict().items()}
    expected = theirs(torch.from_numpy(x)).detach().numpy()
except ImportError:  # stands for a file from elsewhere
    rng = np.random.default_rng(1)
    weights = {k: rng.normal(0, 0.1, t.shape).astype("f4") for k, t in ours.state_dict().items()}
    expected = None

fb.save({name: fb.tensor(a) for name, a in weights.items()}, "weights.safetensors")
ours.load("weights.safetensors")
found = ours(fb.tensor(x)).numpy()
if expected is not None:
    print(f"as far from torch as {abs(found - expected).max():.1e}")

# --- 2. other names: a checkpoint of another project, whose layers are called otherwise ---

THEIRS = {  # theirs: ours
    "encoder.attn.qkv.": "0.self_attn.in_proj_",
    "encoder.attn.": "0.self_attn.",
    "encoder.fc": "0.linear",
    "encoder.ln": "0.norm",
    "ln_out.": "1.",
    "classifier.": "2.",
}


def renamed(name: str, table: dict[str, str]) -> str:
    """Replace the prefix of a name by the first matching row."""
    begin = next((b for b in table if name.startswith(b)), "")
    return table.get(begin, "") + name.removeprefix(begin)


ours_to_theirs = {ours: theirs for theirs, ours in THEIRS.items()}
elsewhere = {renamed(name, ours_to_theirs): fb.tensor(a) for name, a in weights.items()}
other = network(nn)
try:
    other.load_state_dict(elsewhere)
except ValueError as error:
    print(f"without the table: {str(error)[:100]}...")
other.load_state_dict({renamed(name, THEIRS): t for name, t in elsewhere.items()})
assert (other(fb.tensor(x)) - ours(fb.tensor(x))).abs().max().item() == 0

# --- 3. a part: another head for another task, all else as it was ---

own = nn.Sequential(*list(network(nn))[:2], nn.Linear(WIDTH, 3))
kept = {name: fb.tensor(a) for name, a in weights.items() if not name.startswith("2.")}
missing, unexpected = own.load_state_dict(kept, strict=False)
print(f"not in the file: {', '.join(missing)}; not in the model: {len(unexpected)}")

optimizer = fb.optim.SGD(own.parameters(), lr=0.1)
y = fb.tensor([0, 2])
for _ in range(steps):
    loss = nn.functional.cross_entropy(own(fb.tensor(x)).mean(1), y)
    optimizer.step(loss.backward())
print(f"loss after {steps} steps {loss.item():.4f}")
