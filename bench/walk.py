"""How far a reader walks: the files that a value passes to its kernel and back, and the changes of file.

python bench/walk.py [--top 30]

Counted are calls of our functions, not returns, in `(x @ w + b).relu()` and its `.numpy()`, and in that of a
softmax, each with a new plan and a new kernel.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import flambeau as fb

ROOT = f"{Path(fb.__file__).parent}/"


class Walk(NamedTuple):
    """Calls by file, and changes of file, from one to another."""

    files: Counter[str]
    changes: Counter[tuple[str, str]]

    def __str__(self) -> str:
        return f"{len(self.files)} files, {self.changes.total()} changes of file"

    def __add__(self, other: Any) -> "Walk":
        return Walk(self.files + other.files, self.changes + other.changes)


def walked(call: Callable[[], Any]) -> tuple[Any, Walk]:
    """What a call gives, and where it went."""
    path: list[str] = []

    def note(frame, event: str, _) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(ROOT):
            path.append(file.removeprefix(ROOT))

    sys.setprofile(note)
    try:
        result = call()
    finally:
        sys.setprofile(None)
    return result, Walk(Counter(path), Counter((a, b) for a, b in pairwise(path) if a != b))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--top", type=int, default=0, help="how many of the most frequent changes to print")
    args = parser.parse_args()
    x, w, b = fb.randn(64, 784), fb.randn(784, 128), fb.zeros(128)
    fb.realize(x, w, b)
    (x @ w).numpy(), (w + b).relu().numpy()  # what a process does once
    for _ in range(12):  # from the ninth submit on it waits for the oldest, for the first time
        fb.realize(w + 1)
    y, built = walked(lambda: (x @ w + b).relu())
    _, read = walked(y.numpy)
    (x * 2).softmax(1).numpy()  # its template is read by the first kernel that it makes
    _, softmax = walked(x.softmax(1).numpy)
    print(f"softmax: {softmax}")
    for name, walk in {"build": built, "numpy": read, "both": built + read}.items():
        print(f"{name}: {walk}")
    for (a, b), times in (built + read).changes.most_common(args.top):
        print(f"{times:4} {a} -> {b}")


if __name__ == "__main__":
    main()
