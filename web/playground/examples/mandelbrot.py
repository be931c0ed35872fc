"""The Mandelbrot set: ten rounds of arithmetic become a few kernels, and those are replayed."""

import flambeau as fb
from flambeau.pictures import image

WIDE, HIGH = 320, 240
re = fb.linspace(-2.2, 0.8, WIDE).reshape(1, WIDE)
im = fb.linspace(-1.125, 1.125, HIGH).reshape(HIGH, 1)


@fb.jit
def ten_rounds(x, y, inside):
    """z * z + c for each point, and in how many rounds it was near."""
    for _ in range(10):
        x, y = (x * x - y * y + re).clamp(-9, 9), (2 * x * y + im).clamp(-9, 9)
        inside = inside + (x * x + y * y < 4)
    return x, y, inside


x, y, inside = (fb.zeros(HIGH, WIDE) for _ in range(3))
for _ in range(4):
    x, y, inside = ten_rounds(x, y, inside)
print(f"{(inside == 40).float().mean().item():.1%} of the picture is inside")
image((inside + 1).log()).show()
