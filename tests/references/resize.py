"""Interpolation, sampling, bags and CTC as plain loops over NumPy arrays, with no code of the package."""

from itertools import combinations, product
from math import floor, pi, sin

import numpy as np

from references.conv import adaptive


def _cubic(x):
    x, a = abs(x), -0.75
    if x <= 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0


def _sinc(x):
    return sin(pi * x) / (pi * x) if x else 1.0


WEIGHTS = {
    "linear": (range(2), lambda x: max(1 - abs(x), 0)),
    "cubic": (range(-1, 3), _cubic),
    "lanczos": (range(-2, 4), lambda x: _sinc(x) * _sinc(x / 3) if abs(x) < 3 else 0.0),
}
KINDS = {"bilinear": "linear", "trilinear": "linear", "bicubic": "cubic", "lanczos3": "lanczos"}


def resize_matrix(n, o, kind, align=False, scale=None, exact=False):
    """What each output takes of each input. -> [o, n]"""
    scale = ((n - 1) / (o - 1) if o > 1 else 0) if align else scale or n / o
    m = np.zeros((o, n))
    for i in range(o):
        if kind == "nearest":
            m[i, min(floor((i + 0.5 * exact) * scale + 1e-9), n - 1)] = 1
            continue
        at = i * scale if align else (i + 0.5) * scale - 0.5
        taps, weight = WEIGHTS[kind]
        found = [(floor(at) + t, weight(at - floor(at) - t)) for t in taps]
        for place, w in found:
            m[i, min(max(place, 0), n - 1)] += w / sum(w for _, w in found)
    return m


def along(x, m, dim):
    return np.moveaxis(np.tensordot(m, x, (1, dim)), 0, dim)


def interpolate(x, size=None, mode="nearest", align_corners=False, scale_factor=None):
    nd = x.ndim - 2
    scales = [None] * nd if scale_factor is None else np.broadcast_to(scale_factor, nd)
    size = size or [int(n * s) for n, s in zip(x.shape[2:], scales)]
    if mode == "area":
        return adaptive(x, size, lambda v, i: v.mean(-1))
    kind = "nearest" if "nearest" in mode else KINDS.get(mode, mode)
    for d, (n, o, s) in enumerate(zip(x.shape[2:], size, scales), 2):
        m = resize_matrix(n, o, kind, align_corners, s and 1 / s, mode == "nearest-exact")
        x = along(x, m, d)
    return x


def _settled(x, n, padding, align):
    """A position thrown back at the ends, or held inside."""
    if padding == "reflection":
        low, high = (0, n - 1) if align else (-0.5, n - 0.5)
        while high > low and not low <= x <= high:
            x = 2 * low - x if x < low else 2 * high - x
    return x if padding == "zeros" else min(max(x, 0), n - 1)


def _taken(x, n, mode, padding, align):
    """(place, weight) of what a position takes of a dim; places outside count as zeros."""
    if mode == "bicubic":
        places = [(floor(x) + t, _cubic(x - floor(x) - t)) for t in range(-1, 3)]
        places = [(round(_settled(p, n, padding, align)), w) for p, w in places]
    else:
        x = _settled(x, n, padding, align)
        places = [(floor(x) + t, 1 - abs(x - floor(x) - t)) for t in (0, 1)]
        places = [(round(x), 1.0)] if mode == "nearest" else places
    return [(p, w) for p, w in places if 0 <= p < n]


def grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    size, out = x.shape[2:], grid.shape[1:-1]
    y = np.zeros((*x.shape[:2], *out), x.dtype)
    for b, *at in product(range(x.shape[0]), *map(range, out)):
        lines = []
        for n, g in zip(size, grid[(b, *at)][::-1]):
            place = (g + 1) / 2 * (n - 1) if align_corners else ((g + 1) * n - 1) / 2
            lines.append(_taken(place, n, mode, padding_mode, align_corners))
        for cell in product(*lines):
            weight = np.prod([w for _, w in cell])
            y[(b, slice(None), *at)] += x[(b, slice(None), *(p for p, _ in cell))] * weight
    return y


def affine_grid(theta, size, align_corners=False):
    grids = []
    for n in size[2:]:
        steps = np.linspace(-1, 1, n) if align_corners else (2 * np.arange(n) + 1) / n - 1
        grids.append(steps)
    points = np.stack([*np.meshgrid(*grids, indexing="ij")[::-1], np.ones(size[2:])], -1)
    return np.einsum("...k,njk->n...j", points, theta)


def embedding_bag(rows, w, offsets, mode="mean", padding_idx=None):
    """One dim of indices, bags from each offset to the next."""
    ends, y = [*offsets[1:], len(rows)], np.zeros((len(offsets), w.shape[1]), w.dtype)
    for b, (start, end) in enumerate(zip(offsets, ends)):
        own = [w[i] for i in rows[start:end] if i != padding_idx]
        if own:
            y[b] = getattr(np, mode)(own, axis=0)
    return y


def ctc_alphas(x, jump):
    """Logarithms of the probability to be in each state, from all ways there."""
    y = np.full(x.shape, -1e30)
    for n, t, s in np.ndindex(*x.shape):
        if t == 0:
            y[n, t, s] = x[n, t, s] if s < 2 else -1e30
            continue
        ways = [y[n, t - 1, s]] + [y[n, t - 1, s - 1]] * (s > 0) + [y[n, t - 1, s - 2] + jump[n, s]] * (s > 1)
        y[n, t, s] = np.logaddexp.reduce(ways) + x[n, t, s]
    return y


def ctc_walk(x, *weights):
    y = np.array(x)
    for n, t, s in np.ndindex(*x.shape):
        if t:
            y[n, t, s] += sum(w[n, t, s] * y[n, t - 1, s - k] for k, w in enumerate(weights) if s >= k)
    return y


def rnnt_loss(logits, targets, logit_lengths, target_lengths, blank=-1):
    """By its definition: of t + s steps s are labels, a blank is the last, and all choices are added up."""
    x = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    losses = []
    for n, (steps, count) in enumerate(zip(logit_lengths, target_lengths)):
        ways = []
        for labels in combinations(range(steps - 1 + count), count):
            t = u = 0
            way = 0.0
            for step in range(steps - 1 + count):
                if step in labels:
                    way, u = way + x[n, t, u, targets[n][u]], u + 1
                else:
                    way, t = way + x[n, t, u, blank], t + 1
            ways.append(way + x[n, t, u, blank])
        losses.append(-np.logaddexp.reduce(ways))
    return np.mean(losses)


def _collapsed(path, blank):
    return [c for i, c in enumerate(path) if c != blank and (i == 0 or path[i - 1] != c)]


def ctc_loss(
    log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False
):
    """By its definition: the probabilities of all paths that say the target, added up."""
    losses = []
    for n, (steps, count) in enumerate(zip(input_lengths, target_lengths)):
        own, total = list(targets[n][:count]), 0.0
        for path in product(range(log_probs.shape[2]), repeat=steps):
            if _collapsed(path, blank) == own:
                total += np.exp(sum(log_probs[t, n, c] for t, c in enumerate(path)))
        losses.append(-np.log(total) if total else np.inf)
    return (np.array(losses) / np.maximum(target_lengths, 1)).mean()
