"""Replacements for the names of losses and metrics that other libraries accept."""

from ..errors import suggest

LOSSES = {
    "mse": "F.mse_loss",
    "mean_squared_error": "F.mse_loss",
    "mae": "F.l1_loss",
    "l1": "F.l1_loss",
    "huber": "F.huber_loss",
    "nll": "F.nll_loss",
    "cross_entropy": "F.cross_entropy",
    "categorical_crossentropy": "F.cross_entropy",
    "sparse_categorical_crossentropy": "F.cross_entropy",
    "bce": "F.binary_cross_entropy_with_logits",
    "binary_crossentropy": "F.binary_cross_entropy_with_logits",
    "binary_cross_entropy": "F.binary_cross_entropy_with_logits",
}
METRICS = {
    "accuracy": "metrics.Accuracy(task='multiclass', num_classes=10)",
    "acc": "metrics.Accuracy(task='multiclass', num_classes=10)",
    "precision": "metrics.Precision(task='multiclass', num_classes=10)",
    "recall": "metrics.Recall(task='multiclass', num_classes=10)",
    "f1": "metrics.F1Score(task='multiclass', num_classes=10)",
    "auc": "metrics.AUROC(task='binary')",
    "auroc": "metrics.AUROC(task='binary')",
    "mse": "metrics.MeanSquaredError()",
    "mae": "metrics.MeanAbsoluteError()",
    "r2": "metrics.R2Score()",
}
ROOTS = {"F": "flambeau.nn.functional", "metrics": "flambeau.metrics"}


def describe_name(kind: str, name: str, known: dict[str, str]) -> str:
    """The rule and the advice of an error about a name that was passed for a loss or a metric."""
    call = known.get(name.lower())
    if call is None:
        return f"a name is not a {kind}{suggest(name, known)}: pass the object itself"
    root, _, rest = call.partition(".")
    return f"a name is not a {kind}: pass {ROOTS[root]}.{rest}"
