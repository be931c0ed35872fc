"""Each metric as a function of one batch: it returns the value of the class after one update.

Results are unread tensors. Gradients flow through the smooth metrics.
"""

import inspect
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.help import doc_of
from . import classification, confusion, curves, image, naturalness, regression, text
from .metric import Metric
from .states import tensors_in

# functions whose name in torchmetrics differs from the class name in snake case
NAMES = {
    "BinaryAUROC": "binary_auroc",
    "MulticlassAUROC": "multiclass_auroc",
    "MultilabelAUROC": "multilabel_auroc",
    "BinaryF1Score": "binary_f1_score",
    "MulticlassF1Score": "multiclass_f1_score",
    "MultilabelF1Score": "multilabel_f1_score",
    "BinaryFBetaScore": "binary_fbeta_score",
    "MulticlassFBetaScore": "multiclass_fbeta_score",
    "MultilabelFBetaScore": "multilabel_fbeta_score",
    "AFINE": "afine",
    "BLEUScore": "bleu_score",
    "ROUGEScore": "rouge_score",
    "R2Score": "r2_score",
    "AUROC": "auroc",
    "F1Score": "f1_score",
    "FBetaScore": "fbeta_score",
    "PearsonCorrCoef": "pearson_corrcoef",
    "ConcordanceCorrCoef": "concordance_corrcoef",
    "SpearmanCorrCoef": "spearman_corrcoef",
    "MultiScaleStructuralSimilarityIndexMeasure": "multiscale_structural_similarity_index_measure",
}
LEFT_OUT = {"FrechetInceptionDistance"}  # it takes two kinds of batches

# the arguments of a batch, with their meaning
BATCH = {
    "preds": "predictions",
    "target": "the true values",
    "img1": "images",
    "img2": "the images to compare them with",
}


def snake_case(name: str) -> str:
    """Convert `MeanSquaredError` to `mean_squared_error`."""
    return NAMES.get(name) or re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def function_of(kind: type[Metric]) -> Callable[..., Any]:
    """Make a function of a batch and of the class's arguments from a metric's class. Arguments with a default
    are keyword-only, because torchmetrics orders them differently."""
    # TaskClass takes its arguments in __new__.
    own = inspect.signature(kind.__new__ if "by_task" in vars(kind) else kind.__init__).parameters.values()
    shown = [p for p in own if p.name not in ("self", "cls", "device")]
    batch = [p for p in inspect.signature(kind.update).parameters.values() if p.name != "self"]
    names = [p.name for p in batch if p.kind is p.POSITIONAL_OR_KEYWORD][:2]
    by_place = [
        inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names or ("preds", "target")
    ]
    by_place += [
        p.replace(annotation=p.empty) for p in shown if p.default is p.empty and p.kind is not p.VAR_KEYWORD
    ]
    by_name = [p.replace(kind=p.KEYWORD_ONLY) for p in shown if p.default is not p.empty]
    rest = [p for p in shown if p.kind is p.VAR_KEYWORD]
    signature = inspect.Signature([*by_place, *by_name, *rest])

    def value(*args: Any, **kw: Any) -> Any:
        try:
            arguments = dict(signature.bind(*args, **kw).arguments)
        except TypeError as e:
            raise TypeError(f"{value.__name__}(...): {e}: pass {signature}") from None
        arguments |= arguments.pop(rest[0].name, {}) if rest else {}
        pair = [arguments.pop(p.name) for p in by_place[:2]]
        # states on the device of the batch
        if tensors := tensors_in(pair):
            arguments = {"device": tensors[0].device, **arguments}
        metric = kind(**arguments)
        # unwrap: the bare update, without no_grad and without scheduling, so that gradients flow
        inspect.unwrap(type(metric).update)(metric, *pair)
        return metric.value()

    value.__signature__ = signature  # type: ignore[attr-defined]
    value.__name__ = value.__qualname__ = snake_case(kind.__name__)
    value.__module__ = __name__
    batch_lines = [f"{p.name}: {BATCH[p.name]}" for p in by_place[:2] if p.name in BATCH]
    title = f"{kind.__name__} of one batch, as a tensor."
    value.__doc__ = "\n".join([f"{title}\n\n{doc_of(kind)}\n", *batch_lines])
    return value


def _functions() -> dict[str, Callable[..., Any]]:
    """Make a function for each concrete metric class."""
    modules = (classification, confusion, curves, image, naturalness, regression, text)
    kinds = [(n, k, m) for m in modules for n, k in vars(m).items() if isinstance(k, type)]
    return {
        snake_case(name): function_of(kind)
        for name, kind, module in kinds
        if issubclass(kind, Metric) and kind.__module__ == module.__name__ and not kind.__subclasses__()
        if name not in LEFT_OUT
    }


if TYPE_CHECKING:  # the names below are made of classes, which type checkers do not see

    def __getattr__(name: str) -> Any: ...


FUNCTIONS = _functions()
globals().update(FUNCTIONS)
__all__ = sorted([*FUNCTIONS])  # pyright: ignore[reportUnsupportedDunderAll]  # made of classes at import
