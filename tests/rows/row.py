"""What a row of the op test table is: an op, its inputs, and what it should compute, as plain NumPy."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flambeau.core.op import COMPOSED, OPS


@dataclass(frozen=True)
class In:
    """One input: its shape, its range of values, and its kind (f float, i int, u unsigned, b bool)."""

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    kind: str = "f"

    def make(self, rng, shape=None, kind=None) -> np.ndarray:
        shape, kind = self.shape if shape is None else shape, kind or self.kind
        if kind == "f":
            return rng.uniform(self.low, self.high, shape).astype("float32")
        if kind == "b":
            return rng.integers(0, 2, shape).astype(bool)
        low = max(self.low, 0) if kind == "u" else self.low
        return rng.integers(int(np.ceil(low)), int(np.floor(self.high)) + 1, shape).astype(kind + "4")


@dataclass(frozen=True)
class Row:
    """One op on one set of inputs; `ref` takes them in float64 (or as ints, bools), and the attributes."""

    ref: Callable
    inputs: tuple[In, ...] = (In((3, 5)),)
    attrs: dict[str, Any] = field(default_factory=dict)
    grads: int = 2  # how often it can be differentiated, and is
    tol: float = 2e-6
    kinds: str = ""  # the other kinds that all inputs may have
    call: Callable | None = None  # instead of the op itself
    special: bool = True  # NaN, infinities, denormals and the like agree with NumPy

    def compute(self, name: str, *tensors):
        f = self.call or OPS.get(name) or COMPOSED[name]
        return f(*tensors, **self.attrs)

    def expected(self, *arrays):
        with np.errstate(all="ignore"):
            return self.ref(*arrays, **self.attrs)


def unary(ref, low=-2.0, high=2.0, **kw) -> Row:
    return Row(ref, (In((3, 5), low, high),), **kw)


def binary(ref, low=-2.0, high=2.0, low2=None, high2=None, **kw) -> Row:
    second = In((3, 5), low if low2 is None else low2, high if high2 is None else high2)
    return Row(ref, (In((3, 5), low, high), second), **kw)


def joined(f):
    """An op that takes a sequence of tensors, called with them one by one."""
    return lambda *tensors, **attrs: COMPOSED[f](tensors, **attrs)


def pieces(f):
    """An op that gives several tensors, of which row tests see the flattened join."""

    def call(*tensors, **attrs):
        return COMPOSED["cat"]([t.reshape(-1) for t in COMPOSED[f](*tensors, **attrs)])

    return call


def first(f):
    """An op that gives (values, indices): the values."""
    return lambda *tensors, **attrs: COMPOSED[f](*tensors, **attrs)[0]
