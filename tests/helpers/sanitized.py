"""Rows of the op table under `fb.sanitize`: their values and gradients, on inputs that are drawn.

`python -m helpers.sanitized [SEED] [NAME ...]`, in this folder's parent, runs all rows (or those that are
named) with the kernels that the adapter is planned for, and prints a line for each.
"""

import sys
import time

import numpy as np
from rows import ROWS

import flambeau as fb
from flambeau.device import get_device
from flambeau.errors import FlambeauError
from helpers.gradients import leaves, weighted
from helpers.inputs import arrays


def sanitized(name, device, seed):
    """What is found in the kernels of a row and of its gradients."""
    row, rng = ROWS[name], np.random.default_rng(seed)
    given = arrays(row, rng)

    def call():
        xs = leaves(given, device)
        y = row.compute(name, *xs)
        if not (row.grads and y.requires_grad):
            return [y]
        grads = weighted(y, rng.uniform(0.5, 1.5, y.shape)).backward()
        return [y, *(grads[x] for x in xs if x in grads)]

    return fb.sanitize(call)


def main(seed, names):
    """Print what is found in each row."""
    device = get_device("gpu")
    begin, kernels, alarms = time.time(), 0, []
    for name in names or ROWS:
        start = time.time()
        try:
            found = sanitized(name, device, seed)
            kernels += found.kernels
            told = "ok" if found.ok else str(found)
            told += "".join(f"\n   not watched: {s}" for s in found.skipped)
            if not found.ok:
                alarms.append(name)
        except FlambeauError as e:
            told = f"{type(e).__name__}: {e}"
            if "ran nothing on a GPU" not in told:
                alarms.append(name)
        print(f"{name}: {time.time() - start:.1f} s: {told}", flush=True)
    counts = f"{len(names or ROWS)} rows, {kernels} kernels, {time.time() - begin:.0f} s"
    print(f"{counts}: {alarms or 'no alarm'}")


if __name__ == "__main__":
    main(int((sys.argv[1:] or ["0"])[0]), sys.argv[2:])
