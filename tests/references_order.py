"""What scans, sorts and what is made of them should compute, as plain loops over NumPy arrays."""

import numpy as np


def along(f, dim):
    """Apply a function of one line to every line of an array along a dim."""
    return lambda x, *rest: np.apply_along_axis(f, dim, x, *rest)


def log_sums(x, dim):
    return along(lambda line: np.array([np.log(np.exp(line[: i + 1]).sum()) for i in range(len(line))]), dim)(
        x
    )


def latest_extreme(x, dim, better):
    """(values, places) of the best element so far, the latest of equals, NaN above all."""

    def places(line):
        at, out = 0, []
        for i, v in enumerate(line):
            if v != v or (line[at] == line[at] and better(v, line[at])):
                at = i
            out.append(at)
        return np.array(out, dtype="i4")

    found = along(places, dim)(x)
    return np.take_along_axis(x, found, dim), found


def places_in_order(x, dim=-1, descending=False):
    """Python's stable sort of (is NaN, value), line by line."""

    def places(line):
        keys = [(bool(v != v), 0.0 if v != v else float(v)) for v in line]
        order = sorted(range(len(line)), key=lambda i: keys[i])
        if descending:
            order = sorted(range(len(line)), key=lambda i: (-keys[i][0], -keys[i][1]))
        return np.array(order, dtype="i4")

    return along(places, dim)(x)
