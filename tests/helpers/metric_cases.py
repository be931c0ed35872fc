"""Metrics with arguments and batches, as torchmetrics takes them too: CASES by name.

A batch is drawn from the case's name (and a seed): arrays, strings, lists of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np

CLASSES, LABELS = 4, 3
Batch = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """space: torchmetrics' module; batches: two batches of a generator; tolerance: relative."""

    space: str
    metric: str
    batches: Callable[[np.random.Generator], list[Batch]]
    options: dict[str, Any] = field(default_factory=dict)
    tolerance: float = 1e-5

    @property
    def name(self) -> str:
        told = [f"{k}={v}" for k, v in self.options.items() if k not in ("num_classes", "num_labels")]
        return " ".join([self.metric, *told, getattr(self.batches, "__name__", "").removeprefix("_")])

    def drawn(self, seed: int = 0) -> list[Batch]:
        return self.batches(np.random.default_rng([crc32(self.name.encode()), seed]))


def floats(rng, *shape):
    return rng.random(shape).astype("f4")


def ignored(rng, target, index):
    return target if index is None else np.where(rng.random(target.shape) < 0.3, index, target)


def labelled(task: str, ignore: int | None, scores: bool = True, ties: bool = True):
    """Logits and then probabilities (or labels); the last class never is a target."""

    def draw(rng) -> list[Batch]:
        found = []
        for n in (7, 5):
            shape = {"Binary": (n, 2), "Multiclass": (n, CLASSES, 2), "Multilabel": (n, LABELS, 2)}[task]
            p = rng.standard_normal(shape) if n == 7 else rng.random(shape)
            p = (p.round(1) if ties else p).astype("f4")
            kinds, shape = (CLASSES - 1, (n, 2)) if task == "Multiclass" else (2, shape)
            if not scores:
                p = rng.integers(0, kinds, shape)
            found.append((p, ignored(rng, rng.integers(0, kinds, shape), ignore)))
        return found

    draw.__name__ = "labels" if not scores else ""
    return draw


SIZES = {"Binary": {}, "Multiclass": {"num_classes": CLASSES}, "Multilabel": {"num_labels": LABELS}}
AVERAGES = {"Binary": [{}]} | {
    t: [{"average": a} for a in ("micro", "macro", "weighted", "none")] for t in ("Multiclass", "Multilabel")
}
SCORES = ("Accuracy", "Precision", "Recall", "Specificity", "NegativePredictiveValue", "HammingDistance")
SCORES += ("F1Score", "FBetaScore", "StatScores")


def classifiers() -> list[Case]:
    found = []
    for kind in SCORES:
        beta = {"beta": 2.0} if kind == "FBetaScore" else {}
        for task, sizes in SIZES.items():
            best = [{}, {"top_k": 2}] if task == "Multiclass" else [{}]
            for options in [
                beta | sizes | average | multidim | k | ({} if i is None else {"ignore_index": i})
                for average in AVERAGES[task]
                for multidim in ({}, {"multidim_average": "samplewise"})
                for k in best
                for i in (None, -1, 1)
            ]:
                draw = labelled(task, options.get("ignore_index"), ties="top_k" not in options)
                found.append(Case("classification", task + kind, draw, options))
            found.append(Case("classification", task + kind, labelled(task, None, False), beta | sizes))
    return found


def tables() -> list[Case]:
    found = []
    for task, sizes in SIZES.items():
        for i in (None, -1, 1):
            ignore = {} if i is None else {"ignore_index": i}
            for normalize in ("none", "true", "pred", "all"):
                options = sizes | ignore | {"normalize": normalize}
                found.append(Case("classification", f"{task}ConfusionMatrix", labelled(task, i), options))
            for weights in ("none", "linear", "quadratic") if task != "Multilabel" else ():
                options = sizes | ignore | {"weights": weights}
                found.append(Case("classification", f"{task}CohenKappa", labelled(task, i), options))
            for average in AVERAGES[task] if task == "Multiclass" or i != 1 else ():
                options = sizes | ignore | average
                found.append(Case("classification", f"{task}JaccardIndex", labelled(task, i), options))
    return found


def curves() -> list[Case]:
    found = []
    for task, sizes in SIZES.items():
        averages = [a for a in AVERAGES[task] if task != "Multiclass" or a["average"] != "micro"]
        for i in (None, -1, 1) if task == "Multiclass" else (None, -1):
            for average in averages:
                for thresholds in ({}, {"thresholds": 11}, {"thresholds": [0.0, 0.25, 0.5, 1.0]}):
                    options = sizes | average | thresholds | ({} if i is None else {"ignore_index": i})
                    for kind in ("AUROC", "AveragePrecision"):
                        found.append(Case("classification", task + kind, labelled(task, i), options))
    for most in (0.1, 0.5, 0.9):
        for thresholds in ({}, {"thresholds": 11}):
            options = {"max_fpr": most, **thresholds}
            found.append(Case("classification", "BinaryAUROC", labelled("Binary", None), options))
    return found


def numbers(rng):
    return [(floats(rng, n), floats(rng, n)) for n in (7, 5)]


def outputs(rng):
    return [(floats(rng, n, 3), floats(rng, n, 3)) for n in (7, 5)]


def with_nan(rng):
    x = floats(rng, 6)
    x[2] = np.nan
    return [(x,), (floats(rng, 3),)]


REGRESSIONS: dict[str, list[dict[str, Any]]] = {
    "MeanSquaredError": [{}, {"squared": False}], "MeanAbsoluteError": [{}], "MeanSquaredLogError": [{}],
    "MeanAbsolutePercentageError": [{}], "SymmetricMeanAbsolutePercentageError": [{}],
    "WeightedMeanAbsolutePercentageError": [{}], "LogCoshError": [{}], "MinkowskiDistance": [{"p": 3}],
    "PearsonCorrCoef": [{}], "ConcordanceCorrCoef": [{}], "SpearmanCorrCoef": [{}], "ExplainedVariance": [{}],
    "R2Score": [{}, {"adjusted": 3}, {"adjusted": 20}],
}  # fmt: skip
BY_OUTPUT = (
    "MeanSquaredError",
    "MeanAbsoluteError",
    "LogCoshError",
    "PearsonCorrCoef",
    "ConcordanceCorrCoef",
)


def regressions() -> list[Case]:
    found = [Case("regression", name, numbers, o) for name, rows in REGRESSIONS.items() for o in rows]
    found += [Case("regression", n, outputs, {"num_outputs": 3}) for n in BY_OUTPUT]
    for average in ("raw_values", "uniform_average", "variance_weighted"):
        found += [
            Case("regression", n, outputs, {"multioutput": average}) for n in ("R2Score", "ExplainedVariance")
        ]
    found += [
        Case("regression", "CosineSimilarity", outputs, {"reduction": r}) for r in ("sum", "mean", "none")
    ]
    kinds = ("SumMetric", "MeanMetric", "MaxMetric", "MinMetric", "CatMetric")
    found += [Case("aggregation", k, with_nan, {"nan_strategy": s}) for k in kinds for s in ("ignore", 2.0)]
    return [*found, Case("aggregation", "MeanMetric", numbers)]


def tokens(rng):
    return [(rng.standard_normal((2, 5, 9)).astype("f4"), rng.integers(0, 9, (2, 5))) for _ in range(2)]


def masked_tokens(rng):
    return [(x, ignored(rng, t, -100)) for x, t in tokens(rng)]


WORDS = ["the", "a", "cat", "dog", "is", "on", "in", "mat", "house", "there"]


def sentence(rng) -> str:
    return " ".join(rng.choice(WORDS, rng.integers(1, 12)))


def near(rng, text: str) -> str:
    return " ".join(w if rng.random() < 0.8 else str(rng.choice(WORDS)) for w in text.split())


def texts(rng):
    found = [[sentence(rng) for _ in range(4)] for _ in range(2)]
    return [([near(rng, t) for t in target], target) for target in found]


def references(rng):
    return [(preds, [[t, near(rng, t)] for t in target]) for preds, target in texts(rng)]


def written() -> list[Case]:
    found = [
        Case("text", "Perplexity", tokens),
        Case("text", "Perplexity", masked_tokens, {"ignore_index": -100}),
    ]
    found += [Case("text", name, texts) for name in ("WordErrorRate", "CharErrorRate", "MatchErrorRate")]
    for reduction in ("mean", "sum", "none"):
        options = {"reduction": reduction, "substitution_cost": 2}
        found.append(Case("text", "EditDistance", texts, options))
    found += [
        Case("text", "BLEUScore", references, {"smooth": s, "n_gram": n})
        for s in (False, True)
        for n in (2, 4)
    ]
    keys = ("rouge1", "rouge2", "rougeL")
    return found + [
        Case("text", "ROUGEScore", references, {"accumulate": a, "rouge_keys": keys}) for a in ("best", "avg")
    ]


def images(rng):
    return [(floats(rng, n, 2, 14, 13), floats(rng, n, 2, 14, 13)) for n in (2, 1)]


def volumes(rng):
    return [(floats(rng, 1, 1, 12, 13, 14), floats(rng, 1, 1, 12, 13, 14))]


def large_images(rng):
    x = floats(rng, 2, 1, 40, 44)
    return [(x, np.clip(x + 0.1 * floats(rng, 2, 1, 40, 44), 0, 1))]


def ones(rng):
    return [(rng.integers(0, 2, (2, 4, 3, 3)), rng.integers(0, 2, (2, 4, 3, 3))) for _ in range(2)]


def places(rng):
    return [(rng.integers(0, 3, (2, 4, 3)), rng.integers(0, 3, (2, 4, 3))) for _ in range(2)]


def mixed(rng):
    return [
        (floats(rng, 2, 4, 3, 3), rng.integers(0, 3, (2, 3, 3))),
        (places(rng)[0][0][:, :3], ones(rng)[0][0]),
    ]


NOISE = (
    {"data_range": 1.0}, {"data_range": (0.2, 0.8)}, {"data_range": 1.0, "dim": (1, 2, 3)},
    {"data_range": 1.0, "dim": (1, 2, 3), "reduction": "none"}, {"data_range": 1.0, "base": 2.0},
)  # fmt: skip
STRUCTURE = (
    {"data_range": 1.0}, {}, {"data_range": (0.2, 0.8)}, {"reduction": "none"},
    {"sigma": (0.8, 1.2), "k1": 0.02},
    {"gaussian_kernel": False, "kernel_size": 5}, {"reduction": "sum", "sigma": 0.8},
)  # fmt: skip
SCALES = (
    {"data_range": 1.0},
    {"normalize": None, "data_range": 1.0},
    {"normalize": "simple"},
    {"reduction": "none"},
)


def pictures() -> list[Case]:
    name, scales = (
        "StructuralSimilarityIndexMeasure",
        {"kernel_size": 5, "sigma": 0.5, "betas": (0.3, 0.3, 0.4)},
    )
    found = [Case("image", "PeakSignalNoiseRatio", images, o) for o in NOISE]
    found += [Case("image", name, images, o, 1e-4) for o in STRUCTURE]
    found += [Case("image", name, volumes, {"data_range": 1.0}, 1e-4)]
    found += [Case("image", f"MultiScale{name}", large_images, scales | o, 1e-4) for o in SCALES]
    for draw, form in ((ones, "one-hot"), (places, "index"), (mixed, "mixed")):
        for average in ("micro", "macro", "weighted", "none"):
            for level in ("samplewise", "global"):
                for background in (True, False):
                    options = {"num_classes": 4, "average": average, "aggregation_level": level}
                    options |= {"include_background": background, "input_format": form}
                    found.append(Case("segmentation", "DiceScore", draw, options))
    return found


CASES = {
    case.name: case
    for case in (*classifiers(), *tables(), *curves(), *regressions(), *written(), *pictures())
}  # fmt: skip
