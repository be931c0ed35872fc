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


def put_back(x, places):
    out = np.zeros_like(x)
    for at in np.ndindex(*x.shape):
        out[(*at[:-1], places[at])] = x[at]
    return out


def sorted_lines(x, dim=-1, descending=False):
    return np.take_along_axis(x, places_in_order(x, dim, descending), dim)


def ranked(x, rank, dim):
    """The element of each line that has this rank, counted from 0."""
    return np.take(sorted_lines(x, dim), rank, dim)


def most_frequent(x, dim):
    return along(lambda line: max(sorted(line), key=list(line).count), dim)(x)


def quantiles(x, q, dim, interpolation="linear"):
    """By the definition: the rank q * (n - 1), between neighbours in order."""
    line = sorted_lines(x, dim)
    rank = q * (x.shape[dim] - 1)
    low, high = (np.take(line, int(f(rank)), dim) for f in (np.floor, np.ceil))
    return low + (high - low) * (rank - np.floor(rank))


def insert_places(table, x, right=False):
    """How many elements of the (one) line are below each value, or not above it."""
    return np.array([(table <= v if right else table < v).sum() for v in x.reshape(-1)], "i4").reshape(
        x.shape
    )


def how_often(x, bins, weights=None):
    out = np.zeros(bins, "i4" if weights is None else "f8")
    for i, v in enumerate(x.reshape(-1)):
        if 0 <= v < bins:
            out[int(v)] += 1 if weights is None else weights.reshape(-1)[i]
    return out


def in_bins(x, edges):
    """How many elements lie between edges, the last one included."""
    out = np.zeros(len(edges) - 1)
    for v in x.reshape(-1):
        for b in range(len(out)):
            out[b] += edges[b] <= v < edges[b + 1] or (b == len(out) - 1 and v == edges[-1])
    return out


def where_not_zero(x):
    found = [at for at in np.ndindex(*x.shape) if x[at] != 0]
    return np.array(found, "i4").reshape(len(found), x.ndim)


def different(x, consecutive=False):
    """(the different elements, where each went, how often each occurs)."""
    line = list(x.reshape(-1))
    if consecutive:
        starts = [i for i, v in enumerate(line) if i == 0 or v != line[i - 1]]
        kept = [line[i] for i in starts]
        went = [sum(s <= i for s in starts) - 1 for i in range(len(line))]
    else:
        kept = sorted(set(line))
        went = [kept.index(v) for v in line]
    often = [went.count(i) for i in range(len(kept))]
    return np.array(kept, x.dtype), np.array(went, "i4").reshape(x.shape), np.array(often, "i4")


def area(y, dim, x=None):
    step = np.ones(1) if x is None else np.diff(x, axis=dim)
    n = y.shape[dim]
    before, after = np.take(y, range(n - 1), dim), np.take(y, range(1, n), dim)
    return (before + after) / 2 * step
