"""What expressions written for torch are about."""

import numpy as np

from .paths import TESTS


def expressions() -> list[tuple[str, str]]:
    """(expression, what it gives) of each line of torch_expressions.txt."""
    lines = (TESTS / "ops" / "torch_expressions.txt").read_text(encoding="utf-8").splitlines()
    return [tuple(line.split(" -> ")) for line in lines if line and line[0] != "#"]


EXPRESSIONS = expressions()


def arrays() -> dict[str, np.ndarray]:
    """What the expressions are about, by the letters they call it."""
    rng = np.random.default_rng(0)
    made = {name: rng.normal(size=size).astype("f4") for name, size in {
        "x": (3, 5), "y": (3, 5), "c": (2, 3, 4), "im": (1, 2, 6, 6), "w1": (2, 3, 3), "w2": (4, 2, 3, 3),
    }.items()}  # fmt: skip
    root = rng.normal(size=(3, 3)).astype("f4")
    ints = np.array([[0, 3, 1, 4, 2], [2, 2, 0, 1, 3], [4, 0, 2, 3, 1]], "i4")
    return made | {
        "v": np.array([-1.5, -0.25, 0.5, 0.75, 2], "f4"),
        "s": root @ root.T + 3 * np.eye(3, dtype="f4"),
        "p": rng.uniform(0.1, 0.9, (3, 5)).astype("f4"),
        "b": ints % 2 == 0,
        "i": ints,
        "k": np.array([4, 0, 2], "i4"),
    }
