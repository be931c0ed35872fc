"""Dims with names: attention between the patches of a digit, without one position of a dim.

python examples/named_tensor.py

200 steps of 64 of the 10,000 bundled digits: 81.2% of the 2,000 test digits. It also prints an error about
dims, which speaks of their names.
"""

import argparse

import flambeau as fb
from flambeau import data, nn, optim

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=200)
steps = parser.parse_args().steps
B, WIDTH, HEADS = 64, 32, 4

fb.manual_seed(0)
named = fb.named
train, test = data.mnist(train=True, download=False), data.mnist(train=False, download=False)


class Attention(nn.Module):
    """Each patch reads from all patches of its digit. (..., patch, feature) -> the same dims"""

    def __init__(self):
        super().__init__()
        self.qkv = named.Layer(nn.Linear(WIDTH, 3 * WIDTH), "feature", "qkv")
        self.out = named.Layer(nn.Linear(WIDTH, WIDTH), "merged", "feature")

    def forward(self, x):
        parts = self.qkv(x).unflatten("qkv", {"part": 3, "head": HEADS, "of_head": WIDTH // HEADS})
        q, k, v = parts.unbind("part")
        scores = q.rename(patch="query").dot(k, "of_head") * (WIDTH // HEADS) ** -0.5
        read = scores.softmax("patch").dot(v, "patch").rename(query="patch")
        return self.out(read.flatten(merged=("head", "of_head")))


class Patches(nn.Module):
    """A digit as 4 x 4 patches of 7 x 7 pixels. (..., row, column) -> (..., digit)"""

    def __init__(self):
        super().__init__()
        self.embed = named.Layer(nn.Linear(49, WIDTH), "pixel", "feature")
        self.places = nn.Parameter(fb.randn(16, WIDTH) * 0.1)
        self.attention = Attention()
        self.hidden = named.Layer(nn.Linear(WIDTH, 4 * WIDTH), "feature", "hidden")
        self.back = named.Layer(nn.Linear(4 * WIDTH, WIDTH), "hidden", "feature")
        self.head = named.Layer(nn.Linear(WIDTH, 10), "feature", "digit")

    def forward(self, images):
        x = images.unflatten("row", {"i": 4, "y": 7}).unflatten("column", {"j": 4, "x": 7})
        x = x.flatten(patch=("i", "j"), pixel=("y", "x"))
        x = self.embed(x) + named.tensor(self.places, "patch feature")  # broadcast by name
        x = x + self.attention(x.layer_norm("feature"))
        x = x + self.back(self.hidden(x.layer_norm("feature")).gelu())
        return self.head(x.mean("patch"))


def pixels(images):
    return named.tensor(images.float() / 255, "batch row column")


model = Patches()
optimizer = optim.Adam(model.parameters(), lr=3e-3)


@fb.jit
def step(images, labels):
    loss = named.cross_entropy(model(pixels(images)), named.tensor(labels, "batch"), dim="digit")
    optimizer.step(loss.backward())
    return loss


print("dims:", model(pixels(fb.zeros(2, 28, 28))).sizes)
try:
    named.tensor(fb.ones(2, 3), "batch feature").dot(named.tensor(fb.ones(3, 5), "pixel hidden"), "feature")
except IndexError as error:
    print("an error about dims:", error)

done = 0
while done < steps:
    for images, labels in data.DataLoader(train, B, shuffle=True, seed=done, drop_last=True):
        loss = step(images, labels)
        done += 1
        if done % 50 == 0:
            print(f"step {done}: loss {loss.item():.3f}")
        if done == steps:
            break

right = count = 0
with fb.no_grad():
    for images, labels in data.DataLoader(test, 500):
        found = model(pixels(images)).argmax("digit").to_tensor("batch")
        right += (found == labels).sum().item()
        count += len(labels)
print(f"{right / count:.1%} of the test digits")
