"""A function and its gradient as curves. fb.grad works on plain functions."""

import flambeau as fb
from flambeau.pictures import plot


def f(x):
    return (x.sin() * (-x * x / 8).exp()).sum()


x = fb.linspace(-6, 6, 200)
plot(x=x, value=x.sin() * (-x * x / 8).exp(), slope=fb.grad(f)(x)).show()
