"""Saves and restores the states of all random number generators that a training run may use."""

from __future__ import annotations

import random
import sys
from array import array
from typing import Any

from ..ops.random import get_rng_state, set_rng_state

WORD = "I"  # array code of 32 bits: a state of the Mersenne Twister is 624 such words and a position


def random_states() -> dict[str, Any]:
    """Return the states of flambeau's, Python's and, if it is imported, NumPy's generator."""
    version, words, gauss = random.getstate()
    python = [version, _bytes_of(array(WORD, words)), gauss]
    states: dict[str, Any] = {"flambeau": list(get_rng_state()), "python": python}
    if (np := sys.modules.get("numpy")) is not None:
        kind, words, *rest = np.random.get_state()
        states["numpy"] = [kind, words.astype("<u4").tobytes(), *rest]
    return states


def set_random_states(states: dict[str, Any]) -> None:
    """Restore the generators from what `random_states` returned."""
    seed, place = states["flambeau"]
    set_rng_state((seed, place))
    version, data, gauss = states["python"]
    random.setstate((version, tuple(_words_of(data)), gauss))
    if "numpy" in states:
        import numpy as np

        kind, data, *rest = states["numpy"]
        np.random.set_state((kind, np.frombuffer(data, "<u4"), *rest))


# A checkpoint stores the words as little-endian bytes, so that it can be read on any machine.
def _bytes_of(words: array[int]) -> bytes:
    if sys.byteorder == "big":
        words.byteswap()
    return words.tobytes()


def _words_of(data: bytes) -> array[int]:
    words = array(WORD, data)
    if sys.byteorder == "big":
        words.byteswap()
    return words
