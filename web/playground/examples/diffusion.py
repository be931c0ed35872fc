"""Heat spreads: an explicit scheme for the heat equation, and the temperature along one line."""

import flambeau as fb
from flambeau.pictures import image, plot

SIZE, RATE = 128, 0.24
heat = fb.zeros(SIZE, SIZE)
heat[40:56, 30:98] = 1.0
heat[80:100, 60:70] = 1.0


@fb.jit
def step(heat):
    for _ in range(4):
        around = heat.roll(1, 0) + heat.roll(-1, 0) + heat.roll(1, 1) + heat.roll(-1, 1)
        heat = heat + RATE * (around - 4 * heat)
    return heat


lines = {}
for i in range(61):
    if i % 20 == 0:
        lines[f"after {4 * i} steps"] = heat[:, 64]
    if i < 60:
        heat = step(heat)
plot(**lines).show()
image(heat, low=0, high=1).show()
print(f"the mean stays {heat.mean().item():.4f}")
