"""The generators of random numbers that a run may draw from into plain values, and back."""

from __future__ import annotations

import random
import sys
from typing import Any

from ..ops.random import get_rng_state, set_rng_state


def random_states() -> dict[str, Any]:
    """The places of flambeau's, Python's and, where it was imported, NumPy's generator."""
    version, words, gauss = random.getstate()
    found: dict[str, Any] = {"flambeau": list(get_rng_state()), "python": [version, list(words), gauss]}
    if (np := sys.modules.get("numpy")) is not None:
        kind, words, *rest = np.random.get_state()
        found["numpy"] = [kind, words.tolist(), *rest]
    return found


def set_random_states(states: dict[str, Any]) -> None:
    """Go on with random numbers from what `random_states` gave."""
    seed, place = states["flambeau"]
    set_rng_state((seed, place))
    version, words, gauss = states["python"]
    random.setstate((version, tuple(words), gauss))
    if "numpy" in states:
        import numpy as np

        np.random.set_state(tuple(states["numpy"]))
