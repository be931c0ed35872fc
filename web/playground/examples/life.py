"""Conway's Game of Life: a round is one convolution and two comparisons, recorded once and replayed."""

import flambeau as fb
from flambeau import nn
from flambeau.pictures import image

fb.manual_seed(1)
SIZE = 96
neighbours = fb.tensor([[1.0, 1, 1], [1, 0, 1], [1, 1, 1]]).reshape(1, 1, 3, 3)


@fb.jit
def round_of(cells):
    around = nn.functional.pad(cells, (1, 1, 1, 1), mode="circular")
    count = nn.functional.conv2d(around, neighbours)
    return ((count == 3) | ((count == 2) & (cells > 0))).float()


cells = (fb.rand(1, 1, SIZE, SIZE) < 0.3).float()
for i in range(121):
    if i % 60 == 0:
        print(f"round {i}: {int(cells.sum().item())} cells live")
        image(cells[0, 0]).show()
    cells = round_of(cells)
