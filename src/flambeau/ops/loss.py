"""Losses: how far predictions are from targets, one number or one an element."""

from ..op import composed

NN = (
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "l1_loss",
    "mse_loss",
    "nll_loss",
)


def _reduce(x, reduction: str):
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction={reduction!r} is unknown: use 'mean', 'sum' or 'none'")
    return x if reduction == "none" else getattr(x, reduction)()


@composed
def nll_loss(input, target, reduction: str = "mean"):
    """Minus the log-probability of each target. [n, classes, ...], [n, ...] int -> []"""
    if input.ndim != target.ndim + 1 or not target.dtype.is_int:
        raise ValueError("input needs one dim more than target (classes, at 1), and target integer classes")
    d = min(1, input.ndim - 1)
    classes = type(input).arange(input.shape[d], device=input.device)
    classes = classes.reshape(*(-1 if e == d else 1 for e in range(input.ndim)))
    hit = target.unsqueeze(d) == classes
    return _reduce(-hit.where(input, 0.0).sum(d), reduction)


@composed
def cross_entropy(input, target, reduction: str = "mean", label_smoothing: float = 0.0):
    """Negative log-likelihood of softmax(input). Logits [n, classes, ...], int classes [n, ...] -> []"""
    d = min(1, input.ndim - 1)
    log_p = input.log_softmax(d)
    loss = nll_loss(log_p, target, "none")
    if label_smoothing:
        loss = loss * (1 - label_smoothing) - log_p.mean(d) * label_smoothing
    return _reduce(loss, reduction)


@composed
def mse_loss(input, target, reduction: str = "mean"):
    """Squared difference. [...], [...] -> []"""
    return _reduce((input - target).square(), reduction)


@composed
def l1_loss(input, target, reduction: str = "mean"):
    """Absolute difference. [...], [...] -> []"""
    return _reduce((input - target).abs(), reduction)


@composed
def binary_cross_entropy_with_logits(input, target, reduction: str = "mean"):
    """Negative log-likelihood of sigmoid(input) for targets in [0, 1]. [...], [...] -> []"""
    return _reduce(input.maximum(0) - input * target + (-input.abs()).exp().log1p(), reduction)
