"""Random arguments: shapes empty, of one, prime, at and past sizes where kernels change; and values."""

from math import prod

import numpy as np

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 16, 17, 31, 32, 33, 64, 65)
# lengths about which a kernel's turn or a workgroup's work ends, and numbers of rows about a grid's width
LONG = (127, 128, 255, 256, 257, 511, 512, 1000, 1024, 1025, 2048, 4097, 32769)
ROWS = (65_535, 65_536, 65_537, 70_001)
MOST = 2000  # elements of a tensor, unless it is to be large


class Still(np.ndarray):
    """An array by which nothing is differentiated: a target, weights of classes, running statistics."""


def still(array) -> Still:
    return np.asarray(array).view(Still)


class Draw:
    """What one case is drawn with; the same seed draws the same case."""

    def __init__(self, *seed: int):
        self.rng = np.random.default_rng(seed)

    def int(self, low: int, high: int) -> int:
        """low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def one(self, *choices):
        return choices[self.int(0, len(choices) - 1)]

    def maybe(self, chance: float = 0.5) -> bool:
        return bool(self.rng.random() < chance)

    def float(self, low: float, high: float) -> float:
        return round(float(self.rng.uniform(low, high)), 3)

    # --- shapes ---

    def size(self, most: int = 65) -> int:
        return self.one(*(n for n in SIZES if n <= most))

    def shape(self, least: int = 0, most: int = 4, large: bool = True, empty: bool = True) -> tuple[int, ...]:
        """Of so many dims; now and then one is empty, or long, or there are more rows than a grid is wide."""
        n, kind = self.int(least, most), self.rng.random()
        if n and large and kind < 0.06:
            return self._with(n, self.one(*ROWS), 3)
        if n and large and kind < 0.25:
            return self._with(n, self.one(*LONG), 5)
        sizes = []
        for _ in range(n):
            sizes.append(self.size(max(1, MOST // max(prod(sizes), 1))))
        self.rng.shuffle(sizes)
        if n and empty and kind > 0.95:
            sizes[self.int(0, n - 1)] = 0
        return tuple(sizes)

    def _with(self, n: int, size: int, others: int) -> tuple[int, ...]:
        sizes = [self.int(1, others) if i < 2 else 1 for i in range(n - 1)]
        sizes.insert(self.int(0, n - 1), size)
        return tuple(sizes)

    def broadcast(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that broadcasts to this one."""
        if self.maybe(0.6):
            return shape
        sizes = [1 if self.maybe(0.4) else n for n in shape]
        return tuple(sizes[self.int(0, len(sizes)) :])

    def dim(self, shape: tuple[int, ...]) -> int:
        return self.int(-len(shape), len(shape) - 1) if shape else self.one(-1, 0)

    def dims(self, shape: tuple[int, ...], least: int = 1) -> tuple[int, ...]:
        """Some of the dims, from the front or from the back."""
        n = len(shape)
        found = self.rng.permutation(n)[: self.int(min(least, n), n)]
        return tuple(int(i) - (n if self.maybe(0.3) else 0) for i in found)

    # --- values ---

    def array(self, shape, low: float = -2.0, high: float = 2.0) -> np.ndarray:
        return self.rng.uniform(low, high, shape).astype("f4")

    def steps(self, shape, low: int = -16, high: int = 16, step: float = 0.125) -> np.ndarray:
        """Multiples of a step: what is made of them by few operations is exact, so that it may jump."""
        return (self.rng.integers(low, high + 1, shape) * step).astype("f4")

    def distinct(self, shape) -> np.ndarray:
        """No two alike, so that an order and a place of the largest are one."""
        count = prod(shape)
        return ((self.rng.permutation(count) - count // 2) / 8).astype("f4").reshape(shape)

    def ints(self, shape, low: int = -8, high: int = 8, dtype: str = "i4") -> np.ndarray:
        return self.rng.integers(low, high + 1, shape).astype(dtype)

    def bools(self, shape) -> np.ndarray:
        return self.rng.integers(0, 2, shape).astype(bool)

    def kind(self, shape, low: int = -8, high: int = 8) -> np.ndarray:
        """Values of any kind that are exact: floats in steps, integers of 32 and 8 bits, bools."""
        kind = self.one("f", "f", "f", "i4", "u1", "i1", "b")
        if kind == "f":
            return self.steps(shape)
        return self.bools(shape) if kind == "b" else self.ints(shape, 0 if kind == "u1" else low, high, kind)
