"""Blur, edges and sharpening are convolutions, here of a scene that the program draws."""

import flambeau as fb
from flambeau import nn
from flambeau.pictures import image

SIZE = 96
y, x = fb.arange(SIZE).float().reshape(-1, 1) / SIZE, fb.arange(SIZE).float().reshape(1, -1) / SIZE
sky = 1 - 0.6 * y + 0 * x
sun = (((x - 0.7) ** 2 + (y - 0.25) ** 2) < 0.015).float()
hill = (y > 0.75 - 0.15 * (x * 9).sin()).float()
scene = ((sky + 0.5 * sun) * (1 - hill) + hill * (0.25 + 0.1 * (x * 60).sin())).reshape(1, 1, SIZE, SIZE)

kernels = fb.tensor(
    [
        [[0.0, 0, 0], [0, 1, 0], [0, 0, 0]],  # as it is
        [[1 / 9] * 3] * 3,  # blurred
        [[0.0, -1, 0], [-1, 5, -1], [0, -1, 0]],  # sharpened
        [[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]],  # edges from left to right
    ]
).reshape(4, 1, 3, 3)
image(nn.functional.conv2d(scene, kernels, padding=1).transpose(0, 1).clamp(-0.5, 1.5)).show()
