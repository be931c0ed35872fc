"""A kernel of your own: an operation as one expression of WGSL. It fuses with others, and has a gradient."""

import flambeau as fb
from flambeau.pictures import plot

ripple = fb.custom_op(
    "ripple",
    inputs=["x", "k"],
    expression="exp(-{{ x }} * {{ x }}) * cos({{ k }} * {{ x }})",
    reference=lambda xp, x, k: xp.exp(-x * x) * xp.cos(k * x),
    grad=lambda g, y, x, k: [-g * (2 * x * y + k * (-x * x).exp() * (k * x).sin()), None],
)

x = fb.linspace(-3, 3, 200, requires_grad=True)
k = fb.tensor(5.0)
y = ripple(x, k)
plot(x=x, value=y, slope=y.sum().backward()[x]).show()

print((ripple(x, k) * 2 + 1).plan())  # one kernel: the operation fuses with those around it
print(ripple(x, k).wgsl()[-700:])
