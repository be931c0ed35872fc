"""A character model: it reads a text, learns which letter follows three others, and writes."""

import flambeau as fb
from flambeau import nn, optim
from flambeau.pictures import plot

fb.manual_seed(3)
TEXT = (
    "the quick brown fox jumps over the lazy dog. the five boxing wizards jump quickly. "
    "how quickly the brown dog jumps over the five lazy foxes. the wizards box the quick fox. "
)
BEFORE = 3
letters = sorted(set(TEXT))
codes = [letters.index(c) for c in TEXT]
inputs = fb.tensor([codes[i : i + BEFORE] for i in range(len(codes) - BEFORE)])
targets = fb.tensor(codes[BEFORE:])

model = nn.Sequential(
    nn.Embedding(len(letters), 16),
    nn.Flatten(),
    nn.Linear(16 * BEFORE, 96),
    nn.Tanh(),
    nn.Linear(96, len(letters)),
)
optimizer = optim.Adam(model.parameters(), lr=0.02)


@fb.jit
def step(inputs, targets):
    loss = nn.functional.cross_entropy(model(inputs), targets)
    optimizer.step(loss.backward())
    return loss


losses = [step(inputs, targets).item() for _ in range(120)]
plot(losses).show()

written = codes[:BEFORE]
for _ in range(60):
    scores = model(fb.tensor([written[-BEFORE:]]))
    written.append(int(fb.multinomial((scores / 0.7).softmax(1)[0], 1).item()))
print("".join(letters[code] for code in written))
