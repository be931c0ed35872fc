"""What updates cost: kernels of a plan, as docs/internals/metrics.md tells them."""

import numpy as np
from helpers.plans import kernels_of

import flambeau as fb
from flambeau import metrics as m
from flambeau.metrics.states import tensors_in


def cost(metrics, *args):
    """Kernels of one update of several metrics, in one plan."""
    metrics = metrics if isinstance(metrics, list) else [metrics]
    fb.realize(*tensors_in([metric.states for metric in metrics]))
    for metric in metrics:
        type(metric).update.alone(metric, *args)
    return len(kernels_of(*tensors_in([metric.states for metric in metrics])))


KINDS = ("Accuracy", "Precision", "Recall", "F1Score", "Specificity", "HammingDistance", "JaccardIndex")
KINDS += ("ConfusionMatrix", "CohenKappa")


def test_what_updates_cost(gpu):
    rng = np.random.default_rng(0)
    x, labels = (fb.rand(64, 10, device=gpu).realize() for _ in range(2))
    t = fb.tensor(rng.integers(0, 10, 64), device=gpu)
    p, q = (fb.rand(64, device=gpu).realize() for _ in range(2))
    yes, several = (p > 0.5).long().realize(), (labels > 0.5).long().realize()
    for make in (
        m.MulticlassAccuracy(10, average="micro", device=gpu),
        m.MulticlassF1Score(10, device=gpu),
        m.MulticlassAccuracy(10, top_k=5, device=gpu),
    ):
        assert cost(make, x, t) == 3
    assert cost(m.MultilabelF1Score(10, device=gpu), x, several) == 3
    assert cost(m.BinaryF1Score(device=gpu), p, yes) == 3
    assert cost(m.MulticlassConfusionMatrix(10, device=gpu), x, t) == 5
    assert cost(m.MulticlassAUROC(10, thresholds=100, device=gpu), x, t) == 10
    assert cost(m.BinaryAUROC(thresholds=100, device=gpu), p, yes) == 7
    assert cost(m.MulticlassAUROC(10, device=gpu), x, t) == 4
    assert cost(m.MeanSquaredError(device=gpu), p, q) == 2
    assert cost(m.MeanMetric(device=gpu), p) == 4
    assert cost(m.MeanMetric(nan_strategy="disable", device=gpu), p) == 3
    assert cost(m.R2Score(device=gpu), p, q) == 11
    kinds = {kind: getattr(m, f"Multiclass{kind}")(10, device=gpu) for kind in KINDS}
    ten = m.MetricCollection({"micro": m.MulticlassAccuracy(10, average="micro", device=gpu), **kinds})
    leaders = [ten[names[0]] for names in ten.compute_groups]
    assert len(ten) == 10 and len(leaders) == 2 and cost(leaders, x, t) == 7
