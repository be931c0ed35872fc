"""Cases drawn by a seed: a fixed few in every run, and as many as asked for with a seed of one's own.

FLAMBEAU_GRID_SEED=n draws other cases, FLAMBEAU_GRID=n draws n times as many of each kind.
FLAMBEAU_TURN=n says whose turn it is where each run takes a share; FLAMBEAU_GRID=2 takes all.
"""

import os
import zlib

import numpy as np

SEED = int(os.environ.get("FLAMBEAU_GRID_SEED", "0"))
TIMES = int(os.environ.get("FLAMBEAU_GRID", "1"))
TURN = int(os.environ.get("FLAMBEAU_TURN", "0"))  # of each commit another: conftest.py


def draws(name: str, fixed: int):
    """(a name to find it again by, a generator of its own) for each draw of a kind."""
    for i in range(fixed * TIMES):
        yield (
            f"FLAMBEAU_GRID_SEED={SEED} {name} {i}",
            np.random.default_rng([SEED, zlib.crc32(name.encode()), i]),
        )


def in_turn(items, runs: int, first: int = 0) -> list:
    """Those of a list whose turn it is, each in one of so many runs: of what differs little."""
    return [item for i, item in enumerate(items) if TIMES > 1 or (i + first + TURN) % runs == 0]


def one_of(rng, items):
    """One of a sequence of anything."""
    return items[int(rng.integers(len(items)))]


def some(rng, low: int, high: int) -> int:
    """A number from low to high, both included, the lowest twice as often."""
    return int(max(rng.integers(low - 1, high + 1), low))


def off(got, want, least: float = 1e-6) -> float:
    """The largest error, as a part of the largest magnitude, or of `least` where that is more; infinite where
    shapes or what is NaN differ."""
    got, want = np.asarray(got, "f8"), np.asarray(want, "f8")
    if got.shape != want.shape or not np.array_equal(np.isnan(got), np.isnan(want)):
        return float("inf")
    same = np.isnan(want) | (got == want)
    error = np.abs(np.where(same, 0.0, got - np.where(same, 0.0, want)))
    return float(error.max(initial=0.0) / max(np.abs(want[np.isfinite(want)]).max(initial=0.0), least))
