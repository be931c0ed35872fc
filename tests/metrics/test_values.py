"""Every metric's values: as torchmetrics', whose numbers of each case are in values.toml."""

import importlib
import os
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest
from helpers.metric_cases import CASES, Case

import flambeau as fb
from flambeau import metrics

VALUES = tomllib.loads((Path(__file__).parent / "values.toml").read_text(encoding="utf-8"))
# arguments of ours alone, and a name that means another thing
NO_DEVICE = ("ErrorRate", "EditDistance", "BLEUScore", "ROUGEScore")
BY_KERNELS = [  # one of each way to count, for the adapter as well
    "BinaryAccuracy", "MulticlassF1Score average=macro top_k=2",
    "MultilabelPrecision average=none ignore_index=-1",
    "MulticlassConfusionMatrix normalize=none", "MulticlassAUROC average=macro", "BinaryAUROC thresholds=11",
    "MulticlassAveragePrecision average=none thresholds=11", "R2Score numbers", "SpearmanCorrCoef numbers",
    "CosineSimilarity reduction=mean outputs", "MeanMetric nan_strategy=ignore with_nan", "Perplexity tokens",
    "StructuralSimilarityIndexMeasure data_range=1.0 images", "MeanSquaredError numbers",
]  # fmt: skip


def made(case, device):
    options = dict(case.options)
    if "multioutput" in options:
        options["num_outputs"] = 3  # torchmetrics finds that by the first batch
    has_device = not case.metric.endswith(NO_DEVICE)
    return getattr(metrics, case.metric)(**options, **({"device": device} if has_device else {}))


def value(case, device, seed=0):
    metric = made(case, device)
    for batch in case.drawn(seed):
        metric.update(*(fb.tensor(x, device=device) if isinstance(x, np.ndarray) else x for x in batch))
    return metric.compute()


def theirs(torchmetrics, torch, case, seed=0):
    space = importlib.import_module(f"torchmetrics.{case.space}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        metric = getattr(space, case.metric)(**case.options)
        for batch in case.drawn(seed):
            metric.update(*(torch.tensor(x) if isinstance(x, np.ndarray) else x for x in batch))
        found = metric.compute()
    return {k: v.tolist() for k, v in found.items()} if isinstance(found, dict) else found.tolist()


def is_near(case, found, wanted):
    """None, or what differs."""
    if isinstance(wanted, dict):
        return next((f"{k}: {d}" for k in wanted if (d := is_near(case, found[k], wanted[k]))), None)
    found, wanted = np.asarray(found, "f8"), np.asarray(wanted, "f8")
    tolerance = {"rtol": case.tolerance, "atol": case.tolerance / 10, "equal_nan": True}
    same = found.shape == wanted.shape and np.allclose(found, wanted, **tolerance)
    return None if same else f"{found.tolist()}, not {wanted.tolist()}"


def named(start):
    return next(c for n, c in CASES.items() if n.strip() == start)


@pytest.mark.parametrize("space", sorted({case.space for case in CASES.values()}))
def test_values_are_torchmetrics(space):
    """One of five of the cases, those that were drawn for it by number; all of them in --torch."""
    mine = [name for name in VALUES if CASES[name].space == space]
    wrong = {name: d for name in mine if (d := is_near(CASES[name], value(CASES[name], "cpu"), VALUES[name]))}
    assert mine and not wrong


@pytest.mark.share(5)
def test_values_by_kernels(gpu):
    wrong = {}
    for start in BY_KERNELS:
        case = named(start)
        wrong[start] = is_near(case, value(case, gpu), value(case, "cpu"))
    assert not {k: v for k, v in wrong.items() if v}


def test_every_metric_has_a_case():
    tested = {case.metric for case in CASES.values()}
    others = {  # by other tests of this folder; doors give those of a task
        "Loss", "FrechetInceptionDistance", "LearnedPerceptualImagePatchSimilarity", "Metric", "functional",
        "DeepImageStructureAndTextureSimilarity", "MetricCollection", "CumulativeReward", "EpisodeLength",
        "ExplorationRate", "LearningRate", "CpuMemory", "CpuTemperature", "CpuUse", "GpuMemory",
        "IterationSpeed", "AFINE", "MeanAveragePrecision",
    }  # fmt: skip
    doors = {name for name in metrics.__all__ if "by_task" in vars(getattr(metrics, name))}
    assert set(metrics.__all__) - doors - others == tested


def drawn(rng) -> tuple[str, dict, list]:
    """A classifier's metric, its arguments, and batches of any sizes, labels, ties and ignored targets."""
    task = rng.choice(["binary", "multiclass", "multilabel"])
    c, dims = int(rng.integers(2, 7)), tuple(rng.integers(1, 4, rng.integers(0, 3)).tolist())
    options: dict = {"binary": {}, "multiclass": {"num_classes": c}, "multilabel": {"num_labels": c}}[
        task
    ] | {}
    kinds = ["Accuracy", "Precision", "Recall", "F1Score", "ConfusionMatrix", "AUROC", "AveragePrecision"]
    kind = str(rng.choice(kinds))
    # two classes of which one is ignored leave one: torchmetrics has -0.0 there for the average precision of
    # the other, and NaN where there are more classes, as ours has always
    ignore = int(rng.choice([-1, 0, 1])) if rng.random() < 0.5 and task == "multiclass" and c > 2 else None
    ignore = -1 if ignore is None and rng.random() < 0.3 else ignore
    options |= {} if ignore is None else {"ignore_index": ignore}
    is_curve, labels = kind in ("AUROC", "AveragePrecision"), 2 if task != "multiclass" else c
    if task != "binary" and kind != "ConfusionMatrix":
        options["average"] = str(rng.choice(["macro", "weighted", "none"] + ["micro"] * (not is_curve)))
    if is_curve and rng.random() < 0.5:
        options["thresholds"] = int(rng.integers(2, 30))
    batches = []
    for n in rng.integers(1, 9, 3):
        shape = (n, c, *dims) if task != "binary" else (n, *dims)
        x = rng.standard_normal(shape).round(int(rng.integers(1, 6))).astype("f4")
        if is_curve and task == "multiclass":  # logits that tie are an ulp apart after one library's softmax
            x = (np.exp(x) / np.exp(x).sum(1, keepdims=True)).round(4)
        t = rng.integers(0, labels, (n, *dims) if task == "multiclass" else shape)
        batches.append((x, t if ignore is None else np.where(rng.random(t.shape) < 0.2, ignore, t)))
        batches[-1][1].reshape(-1)[0] = (
            2 if ignore == 1 and labels > 2 else 1 if ignore != 1 else 0
        )  # one counts
    return task.capitalize() + kind, options, batches


def test_drawn_cases_are_torchmetrics(torch, torchmetrics):
    seed, wrong = int(os.environ.get("FLAMBEAU_GRID_SEED", 1)), []
    for i in range(150):
        name, options, batches = drawn(np.random.default_rng([seed, i]))
        case = Case("classification", name, lambda _, given=batches: given, options)
        found = is_near(case, value(case, "cpu"), theirs(torchmetrics, torch, case))
        wrong += [f"{i}: {case.name}: {found}"] if found else []
    assert not wrong


def write(torchmetrics, torch):
    kept = [name for i, name in enumerate(CASES) if i % 5 == 0]
    lines = ["# torchmetrics' numbers of cases: FLAMBEAU_METRICS=write ./run test --torch -k all_cases\n"]
    for name in kept:
        found = theirs(torchmetrics, torch, CASES[name])
        told = (
            found
            if not isinstance(found, dict)
            else "{ " + ", ".join(f'"{k}" = {v}' for k, v in found.items()) + " }"
        )
        lines.append(f'"{name}" = {told}\n')
    (Path(__file__).parent / "values.toml").write_text("".join(lines), encoding="utf-8")


@pytest.mark.parametrize("seed", [0, int(os.environ.get("FLAMBEAU_GRID_SEED", 1))])
def test_all_cases_are_torchmetrics(torch, torchmetrics, seed):
    if os.environ.get("FLAMBEAU_METRICS") == "write":
        return write(torchmetrics, torch)
    wrong = {}
    for name, case in CASES.items():
        found = is_near(case, value(case, "cpu", seed), wanted := theirs(torchmetrics, torch, case, seed))
        wrong |= {name: found} if found else {}
        if seed == 0 and name in VALUES and (moved := is_near(case, VALUES[name], wanted)):
            wrong[name] = f"values.toml: {moved}"
    assert not wrong
    return None
