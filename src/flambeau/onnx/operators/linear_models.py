"""Linear models and support vector machines (ai.onnx.ml): matrix products and post-transforms."""

from typing import Any, NamedTuple

from ...functions import stack
from ...tensor import Tensor, tensor
from ..values import host, to_array
from .scores import labels_at, post_transform_scores
from .table import operator

ML = "ai.onnx.ml"


def _rows(values: Any, count: int, x: Tensor) -> Tensor:
    """Return a list as a matrix with `count` rows, on the device of x."""
    if count < 1 or len(values) % count:
        raise ValueError(f"{len(values)} coefficients can't be split into {count} rows")
    return tensor(list(values), device=x.device).reshape(count, len(values) // count)


def _matrix(x: Tensor) -> Tensor:
    """[n, features] in floats; one row may come without its dim."""
    x = x.float()
    return x.unsqueeze(0) if x.ndim == 1 else x


@operator("LinearRegressor", domain=ML)
def linear_regressor(
    x: Tensor,
    *,
    coefficients: tuple[Any, ...] = (),
    intercepts: tuple[Any, ...] = (),
    post_transform: str = "NONE",
    targets: int = 1,
) -> Tensor:
    """[n, features] -> [n, targets]"""
    x = _matrix(x)
    y = x @ _rows(coefficients, targets, x).mT
    y = y + tensor(list(intercepts), device=x.device) if intercepts else y
    return post_transform_scores(y, post_transform)


class LinearAttributes(NamedTuple):
    """The attributes of LinearClassifier, under ONNX's names."""

    coefficients: tuple[float, ...]
    classlabels_ints: tuple[int, ...] = ()
    classlabels_strings: tuple[str, ...] = ()
    intercepts: tuple[float, ...] = ()
    multi_class: int = 0  # describes the training; not used
    post_transform: str = "NONE"


def _best(scores: Tensor, classes: int) -> Any:
    """Return the index of each row's class; the sign of a single score selects one of two classes."""
    import numpy as np

    # argmax on the host, since labels may be strings
    values = to_array(scores)
    return np.argmax(values, 1) if values.shape[1] > 1 else (values[:, 0] > 0).astype(int)


@operator("LinearClassifier", domain=ML)
def linear_classifier(x: Tensor, **attributes: Any) -> tuple[Any, ...]:
    """Return the label of each row, and the scores of all. [n, features] -> [n], [n, classes]"""
    a, x = LinearAttributes(**attributes), _matrix(x)
    labels = a.classlabels_strings or a.classlabels_ints
    # A binary model may have one row of coefficients, for the second class.
    count = len(a.coefficients) // max(x.shape[1], 1)
    scores = x @ _rows(a.coefficients, count, x).mT
    scores = scores + tensor(list(a.intercepts), device=x.device) if a.intercepts else scores
    best = labels_at(_best(scores, len(labels)), labels)
    if scores.shape[1] == 1 and len(labels) == 2:
        return best, _second_class(scores[:, 0], a.post_transform)
    return best, post_transform_scores(scores, a.post_transform)


def _second_class(score: Tensor, post_transform: str) -> Tensor:
    """Return the scores of two classes from that of the second. [n] -> [n, 2]"""
    if post_transform == "LOGISTIC":
        return post_transform_scores(stack([-score, score], 1), post_transform)
    if post_transform == "NONE":
        return stack([1 - score, score], 1)
    return post_transform_scores(stack([-score, score], 1), post_transform)


# --- support vector machines ---


class SvmAttributes(NamedTuple):
    """The attributes of both SVM operators, under ONNX's names."""

    classlabels_ints: tuple[int, ...] = ()
    classlabels_strings: tuple[str, ...] = ()
    coefficients: tuple[float, ...] = ()
    kernel_params: tuple[float, ...] = ()
    kernel_type: str = "LINEAR"
    n_supports: int = 0
    one_class: int = 0
    post_transform: str = "NONE"
    prob_a: tuple[float, ...] = ()
    prob_b: tuple[float, ...] = ()
    rho: tuple[float, ...] = ()
    support_vectors: tuple[float, ...] = ()
    vectors_per_class: tuple[int, ...] = ()


def _kernel(x: Tensor, vectors: Tensor, a: SvmAttributes) -> Tensor:
    """Return the kernel function of rows and support vectors. [n, f], [s, f] -> [n, s]"""
    gamma, offset, degree = a.kernel_params or (0.0, 0.0, 0.0)
    if a.kernel_type == "RBF":
        return (-((x.unsqueeze(1) - vectors).square().sum(-1)) * gamma).exp()
    dots = x @ vectors.mT
    table = {
        "LINEAR": lambda: dots,
        "POLY": lambda: (dots * gamma + offset).pow(degree),
        "SIGMOID": lambda: (dots * gamma + offset).tanh(),
    }
    if a.kernel_type not in table:
        raise ValueError(f"kernel_type {a.kernel_type!r} is unknown: use LINEAR, POLY, RBF or SIGMOID")
    return table[a.kernel_type]()


@operator("SVMRegressor", domain=ML)
def svm_regressor(x: Tensor, **attributes: Any) -> Tensor:
    """[n, features] -> [n, 1]; with one_class 1 or -1"""
    a, x = SvmAttributes(**attributes), _matrix(x)
    # Without support vectors the coefficients are the linear weights themselves.
    if a.n_supports:
        vectors = _rows(a.support_vectors, a.n_supports, x)
        y = _kernel(x, vectors, a) @ _rows(a.coefficients, 1, x).mT
    else:
        y = x @ _rows(a.coefficients, 1, x).mT
    y = y + a.rho[0]
    y = (y > 0).float() * 2 - 1 if a.one_class else y
    return post_transform_scores(y, a.post_transform)


def _pairs(k: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(k) for j in range(i + 1, k)]


def _pair_scores(x: Tensor, a: SvmAttributes) -> Tensor:
    """Return the score of each pair of classes, positive for the first. [n, f] -> [n, pairs]"""
    counts = a.vectors_per_class
    starts = [sum(counts[:k]) for k in range(len(counts))]
    alike = _kernel(x, _rows(a.support_vectors, sum(counts), x), a)
    by_class = _rows(a.coefficients, len(counts) - 1, x)
    scores: list[Tensor] = []
    for (i, j), rho in zip(_pairs(len(counts)), a.rho, strict=True):
        # the layout of libsvm: row j - 1 of the coefficients has those of class i against j, row i those of
        # j against i
        first, second = (slice(starts[c], starts[c] + counts[c]) for c in (i, j))
        scores.append(alike[:, first] @ by_class[j - 1, first] + alike[:, second] @ by_class[i, second] + rho)
    return stack(scores, 1)


def _couple(r: Any) -> Any:
    """Return the probabilities of classes from those of pairs (Wu, Lin and Weng, 2004). [k, k] -> [k]"""
    import numpy as np

    k = len(r)
    # Minimises the sum of (r[j, i] p[i] - r[i, j] p[j])^2 with the sum of p 1, by the fixed-point iteration
    # of libsvm.
    q = -r.T * r
    np.fill_diagonal(q, 0)
    np.fill_diagonal(q, (r.T**2).sum(1) - np.diag(r) ** 2)
    p, step = np.full(k, 1 / k), 0.005 / k
    for _ in range(max(100, k)):
        qp = q @ p
        total = p @ qp
        if np.abs(qp - total).max() < step:
            break
        for t in range(k):
            change = (total - qp[t]) / q[t, t]
            p[t] += change
            total = (total + change * (change * q[t, t] + 2 * qp[t])) / (1 + change) ** 2
            qp, p = (qp + change * q[t]) / (1 + change), p / (1 + change)
    return p


def _probabilities(scores: Any, a: SvmAttributes) -> Any:
    """[n, pairs] -> [n, classes]"""
    import numpy as np

    k = len(a.vectors_per_class)
    # Platt scaling, clipped as in libsvm
    chance = 1 / (1 + np.exp(scores * np.array(a.prob_a) + np.array(a.prob_b)))
    chance = np.clip(chance, 1e-7, 1 - 1e-7)
    pairs = np.zeros((len(scores), k, k))
    for pair, (i, j) in enumerate(_pairs(k)):
        pairs[:, i, j], pairs[:, j, i] = chance[:, pair], 1 - chance[:, pair]
    return np.stack([_couple(r) for r in pairs]) if len(pairs) else np.zeros((0, k))


def _votes(scores: Any, k: int) -> Any:
    """Return the class that wins most pairs. [n, pairs] -> [n]"""
    import numpy as np

    votes = np.zeros((len(scores), k), int)
    for pair, (i, j) in enumerate(_pairs(k)):
        # A tie of votes goes to the class with the lower index (argmax), as in libsvm.
        votes[:, i] += scores[:, pair] > 0
        votes[:, j] += scores[:, pair] <= 0
    return votes.argmax(1)


@operator("SVMClassifier", domain=ML)
def svm_classifier(x: Tensor, **attributes: Any) -> tuple[Any, ...]:
    """Return the label of each row, and scores or probabilities. [n, features] -> [n], [n, classes or
    pairs]"""
    a, x = SvmAttributes(**attributes), _matrix(x)
    labels = a.classlabels_strings or a.classlabels_ints
    if not a.vectors_per_class:
        scores = x @ _rows(a.coefficients, max(len(labels), 1), x).mT + a.rho[0]
        return labels_at(_best(scores, len(labels)), labels), post_transform_scores(scores, a.post_transform)
    scores = _pair_scores(x, a)
    values = to_array(scores)
    best = _votes(values, len(a.vectors_per_class))
    if a.prob_a:
        chances = _probabilities(values, a)
        best = best if len(a.rho) > 1 else chances.argmax(1)
        return labels_at(best, labels), post_transform_scores(host(chances, "float32"), a.post_transform)
    # two classes: one score, which is positive for the first
    if len(a.rho) == 1:
        return labels_at(best, labels), post_transform_scores(
            stack([-scores[:, 0], scores[:, 0]], 1), a.post_transform
        )
    return labels_at(best, labels), post_transform_scores(scores, a.post_transform)
