"""Train on digits that the program draws: eight by eight pixels with noise, ten classes."""

import flambeau as fb
from flambeau import nn, optim
from flambeau.pictures import image

fb.manual_seed(0)
SHAPES = """
.##. ..#. .##. ###. #..# #### .##. #### .##. .##.
#..# .##. #..# ...# #..# #... #... ...# #..# #..#
#..# ..#. ..#. .##. #### ###. ###. ..#. .##. .###
#..# ..#. .#.. ...# ...# ...# #..# .#.. #..# ...#
.##. .### #### ###. ...# ###. .##. .#.. .##. .##.
"""
rows = [line.split() for line in SHAPES.split("\n") if line]
digits = fb.tensor([[[float(c == "#") for c in row[d]] for row in rows] for d in range(10)])


def batch(n):
    """Digits at random places, with noise: [n, 1, 8, 8] and their classes [n]."""
    labels = fb.randint(0, 10, (n,))
    canvas = nn.functional.pad(digits[labels], (2, 2, 1, 2))
    return (canvas + fb.randn(n, 8, 8) * 0.3).unsqueeze(1), labels


model = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 9, 10))
optimizer = optim.Adam(model.parameters(), lr=0.01)


@fb.jit
def step(x, y):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.step(loss.backward())
    return loss


for i in range(60):
    loss = step(*batch(64))
    if i % 15 == 14:
        print(f"step {i + 1}: loss {loss.item():.3f}")

x, y = batch(500)
print(f"{(model(x).argmax(1) == y).float().mean().item():.1%} of 500 new digits are right")
image(x[:24]).show()
print(model(x[:24]).argmax(1).tolist())
