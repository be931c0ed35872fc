"""What losses and normalisations should compute, as plain formulas and loops over NumPy arrays."""

from itertools import product

import numpy as np

from references.base import log_softmax, sigmoid


def nll(log_p, target, weight=None, ignore_index=-100, reduction="mean", smoothing=0.0):
    """One target after the other."""
    classes = log_p.shape[1]
    weight = np.ones(classes) if weight is None else weight
    total = share = 0.0
    for at in product(*map(range, target.shape)):
        t = target[at]
        if t == ignore_index:
            continue
        row = log_p[(at[0], slice(None), *at[1:])]
        total += -(1 - smoothing) * weight[t] * row[t] - smoothing / classes * (weight * row).sum()
        share += weight[t]
    return np.float64(total / share if reduction == "mean" else total)


def cross_entropy(x, target, weight=None, ignore_index=-100, label_smoothing=0.0):
    return nll(log_softmax(x, 1), target, weight, ignore_index, "mean", label_smoothing)


def huber(x, t, delta=1.0):
    d = np.abs(x - t)
    return np.where(d < delta, 0.5 * d * d, delta * (d - 0.5 * delta)).mean()


def smooth_l1(x, t, beta=1.0):
    return huber(x, t, beta) / beta


def bce(p, t, weight):
    return (-(t * np.log(p) + (1 - t) * np.log(1 - p)) * weight).mean()


def bce_logits(x, t, weight, pos_weight):
    return -(weight * (pos_weight * t * np.log(sigmoid(x)) + (1 - t) * np.log(1 - sigmoid(x)))).mean()


def hinge(x, t, margin=1.0):
    return np.where(t == 1, x, np.maximum(0, margin - x)).mean()


def distance(a, b, p=2.0, eps=1e-6):
    return (np.abs(a - b + eps) ** p).sum(-1) ** (1 / p)


def triplet(a, p, n, margin=1.0):
    return np.maximum(0, margin + distance(a, p) - np.minimum(distance(a, n), distance(p, n))).mean()


def cosine(a, b, dim):
    return (a * b).sum(dim) / np.sqrt((a * a).sum(dim) * (b * b).sum(dim))


def cosine_loss(a, b, t, margin):
    c = cosine(a, b, 1)
    return np.where(t == 1, 1 - c, np.maximum(0, c - margin)).mean()


def multi_margin(x, target, p, margin=1.0):
    total = 0.0
    for row, t in zip(x, target):
        total += sum(max(0, margin - row[t] + v) ** p for i, v in enumerate(row) if i != t) / len(row)
    return np.float64(total / len(x))


def multilabel_margin(x, targets):
    """Targets of a row are its classes up to the first -1."""
    total = 0.0
    for row, listed in zip(x, targets):
        classes = listed[: listed.index(-1)] if -1 in listed else listed
        others = [v for i, v in enumerate(row) if i not in classes]
        total += sum(max(0, 1 - row[c] + v) for c in classes for v in others) / len(row)
    return np.float64(total / len(x))


def standard(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def by_channel(v, x):
    return v.reshape(1, -1, *[1] * (x.ndim - 2))


def group_norm(x, w, b, groups):
    y = standard(x.reshape(x.shape[0], groups, -1), 2).reshape(x.shape)
    return y * by_channel(w, x) + by_channel(b, x)


def response(x, size, alpha=0.5, beta=0.75, k=1.0):
    around = np.zeros_like(x)
    for c in range(x.shape[1]):
        low, high = max(0, c - size // 2), min(x.shape[1], c + (size - 1) // 2 + 1)
        around[:, c] = (x[:, low:high] ** 2).sum(1) / size
    return x / (k + alpha * around) ** beta


def shuffle(x, r):
    n, c, h, w = x.shape
    y = np.zeros((n, c // r**2, h * r, w * r), x.dtype)
    for k, i, j in product(range(c // r**2), range(r), range(r)):
        y[:, k, i::r, j::r] = x[:, (k * r + i) * r + j]
    return y


def unshuffle(x, r):
    n, c, h, w = x.shape
    y = np.zeros((n, c * r**2, h // r, w // r), x.dtype)
    for k, i, j in product(range(c), range(r), range(r)):
        y[:, (k * r + i) * r + j] = x[:, k, i::r, j::r]
    return y
