"""What all metrics do: updates that read nothing, recorded steps, states joined and kept, collections."""

import asyncio
import inspect
import pickle
import re
from copy import deepcopy

import numpy as np
import pytest

import flambeau as fb
from flambeau import metrics as m
from flambeau.metrics import functional as F
from flambeau.metrics.states import counts, pending_parts, plus, precise, total_of

P = [[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [0.0, 1.0, 2.0], [1.0, 0.0, 0.5]]  # labels 0, 1, 2, 0
T = [0, 1, 1, 2]


def batch(device="cpu", dtype=None):
    return fb.tensor(P, device=device, dtype=dtype), fb.tensor(T, device=device)


def three(device="cpu", **names):
    kinds = {"precision": m.MulticlassPrecision, "recall": m.MulticlassRecall, "f1": m.MulticlassF1Score}
    return m.MetricCollection({n: k(num_classes=3, device=device) for n, k in kinds.items()}, **names)


WANTED = {"precision": 0.5, "recall": 0.5, "f1": (2 / 3 + 2 / 3) / 3}


@pytest.fixture
def reads(gpu, monkeypatch):
    """How often the device was read."""
    found, fetch = [], type(gpu).fetch
    monkeypatch.setattr(type(gpu), "fetch", lambda self, asked: found.append(asked) or fetch(self, asked))
    return found


def test_updates_read_nothing(gpu, reads):
    x, t = batch(gpu)
    both = m.MetricCollection(
        {**dict(three(gpu).items()), "auroc": m.MulticlassAUROC(3, device=gpu), "loss": m.Loss(device=gpu)}
    )
    for name in ("precision", "auroc"):
        both[name].update(x, t)
    both["loss"].update(x.sum())
    assert not reads
    found = both.compute()
    assert len(reads) == 1  # one for all, and for the targets that are not classes
    assert found["loss"] == 11.5 and {k: pytest.approx(found[k]) for k in WANTED} == WANTED
    three(gpu).reset()
    assert len(reads) == 1


def test_a_subclass_calls_the_update_and_compute_above():
    class Percent(m.MeanMetric):
        def update(self, preds, target):
            super().update((preds.argmax(1) == target).float(), weight=100)

        def compute(self):
            return super().compute() * 100

    percent = Percent(device="cpu")
    for _ in range(3):
        percent.update(*batch())
    assert percent.compute() == 50.0 and isinstance(percent.value(), fb.Tensor)


def test_a_recorded_step_counts(gpu, reads):
    model = fb.nn.Linear(2, 3, device=gpu)
    opt = fb.optim.SGD(model.parameters(), lr=0.1)
    counted, mean, curve = three(gpu), m.Loss(device=gpu), m.MulticlassAUROC(3, thresholds=5, device=gpu)

    def step(x, t):
        out = model(x)
        loss = fb.nn.functional.cross_entropy(out, t)
        opt.step(loss.backward())
        counted.update(out, t)
        curve.update(out, t)
        mean.update(loss, x.shape[0])
        return out, loss

    recorded = fb.jit(step)
    rng, outs = np.random.default_rng(0), []
    for _ in range(6):
        x, t = rng.standard_normal((4, 2)).astype("f4"), rng.integers(0, 3, 4)
        out, loss = recorded(fb.tensor(x, device=gpu), fb.tensor(t, device=gpu))
        outs.append((out, loss, t))
    assert not reads and recorded.programs
    found, lone = counted.compute(), three()
    other, losses = m.MulticlassAUROC(3, thresholds=5, device="cpu"), []
    for out, loss, t in outs:
        pair = fb.tensor(out.numpy(), device="cpu"), fb.tensor(t, device="cpu")
        lone.update(*pair)
        other.update(*pair)
        losses.append(loss.item())
    assert found == pytest.approx(lone.compute())
    assert curve.compute() == pytest.approx(other.compute())
    assert mean.compute() == pytest.approx(np.mean(losses))


def test_a_list_in_a_state_is_not_recorded(gpu, capsys):
    curve, x, t = m.MulticlassAUROC(3, device=gpu), *batch(gpu)
    step = fb.jit(lambda x, t: curve.update(x + 0, t))
    other = m.MulticlassAUROC(3, device=gpu)
    for i in range(4):
        step(x + i, t)
        other.update(x + i, t)
    assert len(curve.states["preds"]) == 4 and curve.compute() == other.compute()
    assert "runs unrecorded" in capsys.readouterr().err


def test_outputs_are_computed_once_for_several_metrics(gpu):
    from flambeau.runtime.pipeline import counters

    model, t = fb.nn.Linear(2, 3, device=gpu), fb.tensor(T, device=gpu)
    opt = fb.optim.SGD(model.parameters(), lr=0.1)
    one, two = m.MulticlassAccuracy(3, device=gpu), m.MulticlassAUROC(3, device=gpu)

    def submits(trains, updates):
        before = counters.submits
        y = model(fb.ones(4, 2, device=gpu))
        grads = fb.nn.functional.cross_entropy(y, t).backward() if trains else None
        for metric in (one, two) if updates else ():
            metric.update(y, t)
        if trains:
            opt.step(grads)
        return counters.submits - before

    submits(True, True)
    assert submits(True, True) == submits(True, False) == 1  # they join the step's
    submits(False, True)
    assert [submits(False, True) for _ in range(3)] == [1, 1, 1]  # of the batch before, for both
    assert len(pending_parts(two.states["preds"])) == 1 and len(two.states["preds"]) == 6
    before = counters.submits
    one.compute()
    assert counters.submits == before + 1


def test_a_collection_has_states_once():
    c = three()
    assert c.compute_groups == [["precision", "recall", "f1"]]
    assert c["f1"].states is c["precision"].states and list(c.state_dict()) == ["precision.counts"]
    c.update(*batch())
    assert c.compute() == pytest.approx(WANTED)
    micro = m.MetricCollection(
        [m.MulticlassAccuracy(3, average="micro", device="cpu"), m.MulticlassRecall(3, device="cpu")]
    )
    micro.update(*batch())  # the mean over all is taken of the counts by class
    assert micro.compute_groups == [["MulticlassRecall", "MulticlassAccuracy"]]
    assert micro.compute() == pytest.approx({"MulticlassAccuracy": 0.5, "MulticlassRecall": 0.5})
    apart = m.MetricCollection(
        m.MulticlassRecall(3, device="cpu"), m.MulticlassPrecision(3, top_k=2, device="cpu")
    )
    assert len(apart.compute_groups) == 2
    binary = m.MetricCollection(
        [m.BinaryAccuracy(device="cpu"), m.BinaryConfusionMatrix(device="cpu"), m.BinaryAUROC(device="cpu")]
        + [m.BinaryAveragePrecision(device="cpu"), m.BinaryCohenKappa(device="cpu")]
    )
    assert [len(g) for g in binary.compute_groups] == [3, 2]
    assert c.name == "metrics"
    named = three(prefix="train/", postfix="_3")
    assert list(named.compute()) == ["train/precision_3", "train/recall_3", "train/f1_3"]
    assert list(named.clone(prefix="valid/")(*batch())) == [
        "valid/precision_3",
        "valid/recall_3",
        "valid/f1_3",
    ]
    assert (list(c), len(c), c.keys()) == (["precision", "recall", "f1"], 3, ["precision", "recall", "f1"])
    assert c.values()[0] is c["precision"] and repr(named).startswith("MetricCollection(precision=")
    c.reset()
    assert c.compute() == {"precision": 0.0, "recall": 0.0, "f1": 0.0}


EVERY = {
    "accuracy": lambda d: m.MulticlassAccuracy(3, device=d),
    "samples": lambda d: m.MulticlassAccuracy(3, multidim_average="samplewise", device=d),
    "matrix": lambda d: m.MulticlassConfusionMatrix(3, device=d),
    "auroc": lambda d: m.MulticlassAUROC(3, device=d),
    "binned": lambda d: m.MulticlassAUROC(3, thresholds=7, device=d),
    "mean": lambda d: m.MeanMetric(device=d),
    "max": lambda d: m.MaxMetric(device=d),
    "r2": lambda d: m.R2Score(device=d),
    "pearson": lambda d: m.PearsonCorrCoef(device=d),
    "words": lambda d: m.WordErrorRate(),
    "bleu": lambda d: m.BLEUScore(2),
    "spearman": lambda d: m.SpearmanCorrCoef(device=d),
}


def batches_for(name, device):
    rng = np.random.default_rng(3)
    made = []
    for n in (5, 3, 4):
        pair = [rng.random(n).astype("f4") for _ in range(2)]
        if name in ("accuracy", "matrix", "auroc", "binned"):
            pair = [rng.random((n, 3)).astype("f4"), rng.integers(0, 3, n)]
        if name == "samples":
            pair = [rng.random((n, 3, 2)).astype("f4"), rng.integers(0, 3, (n, 2))]
        if name in ("words", "bleu"):
            made.append((["a b c d", "b c a"][: n - 2], ["a b d c", "b a c"][: n - 2]))
        else:
            made.append([fb.tensor(x, device=device) for x in pair])
    return [pair[:1] for pair in made] if name == "max" else made


@pytest.mark.parametrize("name", EVERY)
def test_states_are_joined_kept_and_forgotten(name):
    given = batches_for(name, "cpu")
    whole, first, second = (EVERY[name]("cpu") for _ in range(3))
    for b in given:
        whole.update(*b)
    wanted = whole.compute()
    near = pytest.approx(np.asarray(wanted), rel=1e-5)
    first.update(*given[0])
    second.update(*given[1])
    second.update(*given[2])
    first.merge_state(second)
    assert np.asarray(first.compute()) == near
    again = EVERY[name]("cpu")
    again.load_state_dict(whole.state_dict())
    assert again.compute() == wanted  # the same bits
    again.update(*given[0])
    assert whole.compute() == wanted  # apart
    again.reset()
    for b in given:
        again.update(*b)
    assert again.compute() == wanted
    forward, alone = EVERY[name]("cpu"), EVERY[name]("cpu")
    alone.update(*given[1])
    forward(*given[0])
    of_batch = forward(*given[1])
    forward(*given[2])
    plain = of_batch.tolist() if isinstance(of_batch, fb.Tensor) else of_batch
    assert np.asarray(plain) == pytest.approx(np.asarray(alone.compute()), rel=1e-5)
    assert np.asarray(forward.compute()) == near
    assert asyncio.run(forward.read()) == forward.compute()
    assert np.asarray(whole.clone().to("cpu").compute()) == near
    copied, pickled = deepcopy(whole), pickle.loads(pickle.dumps(whole))
    whole.reset()
    assert np.asarray(copied.compute()) == near
    pickled.reset()
    for part in (first, second):  # what joins states is pickled too
        part.reset()
        part.update(*given[0])
        pickled.merge_state(pickle.loads(pickle.dumps(part)))
    first.merge_state(second)
    assert pickled.compute() == first.compute()


def test_collections_are_joined_and_kept():
    whole, first, second = three(), three(), three()
    for c in (whole, first):
        c.update(*batch())
    for c in (whole, second):
        c.update(fb.tensor([2, 2, 1], device="cpu"), fb.tensor([1, 2, 1], device="cpu"))
    first.merge_state(second)
    assert first.compute() == pytest.approx(whole.compute())
    second.load_state_dict(whole.state_dict())
    assert second.compute() == whole.compute() == asyncio.run(whole.read())
    assert {k: v.item() for k, v in three()(*batch()).items()} == pytest.approx(WANTED)
    assert whole.clone().to("cpu").compute() == whole.compute() == deepcopy(whole).compute()
    assert {k: v.item() for k, v in whole.value().items()} == pytest.approx(whole.compute())


class Bias(m.Metric):
    """A user's own, written as for torchmetrics."""

    def __init__(self, device=None):
        super().__init__(device)
        self.add_state("total", fb.tensor(0.0, device=device), dist_reduce_fx="sum")
        self.add_state("n", fb.tensor(0, device=device), dist_reduce_fx="sum")
        self.add_state("seen", [], dist_reduce_fx="cat")

    def update(self, preds, target):
        self.total += (preds - target).sum()
        self.n += target.numel()
        self.seen.append(preds)

    def compute(self):
        return {"bias": self.total / self.n, "batches": len(self.seen)}


def test_a_metric_of_ones_own(device):
    bias = Bias(device)
    x = fb.tensor([1.0, 2.0], device=device)
    for _ in range(3):
        bias.update(x + 1, x)
    assert bias.compute() == {"bias": 1.0, "batches": 3} and bias.value()["bias"].item() == 1.0
    assert (bias.n.item(), bias.name, repr(bias)) == (6, "Bias", "Bias()")
    other = Bias(device)
    other.update(x + 3, x)
    bias.merge_state(other)
    assert bias.compute() == {"bias": 1.5, "batches": 4}
    bias.reset()
    assert (bias.n.item(), bias.seen) == (0, [])


def test_counts_are_exact_beyond_32_bits(device):
    """Of 2^33 and one more, float32 would give 2^33, and int32 less than nothing."""
    state = counts(3, 4, device=device) + fb.tensor([2**33, 2**33, 2**33], device=device).reshape(3, 1)
    acc = m.MulticlassStatScores(3, average="none", device=device)
    acc.load_state_dict({"counts": state})
    acc.validate_args = False
    acc.update(*batch(device))
    assert [row[0] for row in acc.compute()] == [2**33 + 1, 2**33 + 1, 2**33]
    confused = m.MulticlassConfusionMatrix(3, device=device)
    confused.load_state_dict(
        {"confmat": counts(10, device=device) + fb.tensor([*[2**40] * 9, 0], device=device)}
    )
    confused.update(*batch(device))
    assert confused.compute()[1] == [2**40, 2**40 + 1, 2**40 + 1]


def test_sums_of_floats_lose_nothing(device):
    """2^24 and a thousand ones: float32 alone stays at 2^24."""
    total, one = precise(device=device), fb.tensor(1.0, device=device)
    total = plus(total, one * 2**24)
    for _ in range(1000):
        total = plus(total, one).realize()
    assert total_of(total).item() == 2**24 + 1000
    assert (total[0].item(), total[1].item()) == (2**24, 1000)


def test_variances_of_large_numbers():
    """About 10^4 sums of squares in float32 would know nothing of a variance of 1."""
    rng = np.random.default_rng(0)
    y = 1e4 + rng.standard_normal((20, 50))
    x = (y + 0.5 * rng.standard_normal(y.shape)).astype("f4")
    y = y.astype("f4")
    kinds = (m.R2Score, m.ExplainedVariance, m.PearsonCorrCoef, m.ConcordanceCorrCoef)
    found = m.MetricCollection([kind(device="cpu") for kind in kinds])
    for a, b in zip(x, y, strict=True):
        found.update(fb.tensor(a, device="cpu"), fb.tensor(b, device="cpu"))
    x, y = x.reshape(-1).astype("f8"), y.reshape(-1).astype("f8")
    r, apart = np.corrcoef(x, y)[0, 1], (x.mean() - y.mean()) ** 2
    wanted = {
        "R2Score": 1 - ((y - x) ** 2).sum() / ((y - y.mean()) ** 2).sum(),
        "ExplainedVariance": 1 - (y - x).var() / y.var(),
        "PearsonCorrCoef": r,
        "ConcordanceCorrCoef": 2 * r * x.std() * y.std() / (x.var() + y.var() + apart),
    }
    assert found.compute() == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize("dtype", [fb.float16, fb.bfloat16])
def test_short_floats(dtype):
    x, t = batch("cpu", dtype)
    wide = x.float()
    pairs = {
        "accuracy": (m.MulticlassAccuracy(3, top_k=2, device="cpu"), t),
        "auroc": (m.MulticlassAUROC(3, device="cpu"), t),
        "mse": (m.MeanSquaredError(device="cpu"), x * 0 + 1),
        "mean": (m.MeanMetric(device="cpu"), None),
    }
    for metric, target in pairs.values():
        other = metric.clone()
        metric.update(x, *([] if target is None else [target]))
        other.update(wide, *([] if target is None else [target.float() if target.dtype.is_float else target]))
        assert metric.compute() == pytest.approx(other.compute())


def test_nothing_and_what_is_all_ignored():
    none = fb.zeros(0, 3, device="cpu"), fb.zeros(0, dtype=fb.int64, device="cpu")
    all_out = fb.tensor(P, device="cpu"), fb.tensor([-1] * 4, device="cpu")
    for given in (none, all_out):
        for make in (m.MulticlassAccuracy, m.MulticlassAUROC, m.MulticlassConfusionMatrix):
            metric = make(3, ignore_index=-1, device="cpu")
            metric.update(*given)
            assert np.sum(metric.compute()) == 0
    assert np.isnan(m.MeanMetric(device="cpu").compute()) and m.CatMetric(device="cpu").compute() == []
    assert m.MulticlassAUROC(3, device="cpu").compute() == 0 and m.WordErrorRate().compute() != 0
    mse = m.MeanSquaredError(device="cpu")
    mse.update(fb.zeros(0, device="cpu"), fb.zeros(0, device="cpu"))
    assert np.isnan(mse.compute())


def test_all_of_one_class():
    pair = fb.tensor(P, device="cpu"), fb.tensor([1] * 4, device="cpu")
    recall = m.MulticlassRecall(3, average="none", zero_division=1.0, device="cpu")
    recall.update(*pair)
    assert recall.compute() == [1, 0.25, 1]  # of 0 and 2 there were none
    auroc = m.MulticlassAUROC(3, average="none", device="cpu")
    auroc.update(*pair)
    assert auroc.compute() == [0, 0, 0]
    assert np.isnan(F.multiclass_average_precision(*pair, 3, average="none").tolist()).tolist() == [1, 0, 1]


def test_functions_are_metrics_of_one_batch():
    x, t = batch()
    assert F.multiclass_accuracy(x, t, 3, average="micro").item() == 0.5
    assert F.accuracy(x, t, task="multiclass", num_classes=3).item() == 0.5
    assert F.mean_squared_error(x, x * 0).item() == pytest.approx(np.mean(np.square(P)))
    assert F.word_error_rate("a b", "a c") == 0.5
    w = fb.tensor([1.0, 3.0], requires_grad=True, device="cpu")
    loss = F.mean_squared_error(w, w.detach() * 0)
    assert loss.backward()[w].tolist() == [1, 3]
    with pytest.raises(TypeError) as told:
        F.multiclass_accuracy(x, t)
    assert str(told.value).startswith(
        "multiclass_accuracy(...): missing a required argument: 'num_classes': pass (preds, target, num_cl"
    )


def test_functions_are_named_as_torchmetrics(torchmetrics):
    import importlib

    spaces = ("classification", "regression", "text", "image", "segmentation")
    there = {n for s in spaces for n in dir(importlib.import_module(f"torchmetrics.functional.{s}"))}
    there |= set(dir(importlib.import_module("torchmetrics.functional")))
    assert set(F.__all__) - there == {"afine"}  # which it has not


@pytest.mark.parametrize("name", sorted(n for n in m.__all__ if "by_task" in vars(getattr(m, n))))
def test_a_class_of_tasks_names_all_parameters_of_its_tasks(name):
    """An editor's hover shows them; each value arrives."""
    kind = getattr(m, name)
    own = [*inspect.signature(kind).parameters]
    of_tasks = [[*inspect.signature(k.__init__).parameters][1:] for k in kind.by_task.values()]
    assert set(own) == {"task"}.union(*of_tasks) and own[0] == "task" and own[-1] == "device"
    sizes = {"binary": {}, "multiclass": {"num_classes": 3}, "multilabel": {"num_labels": 3}}
    for task, of_task in kind.by_task.items():
        metric = kind(task, **sizes[task], ignore_index=-1, validate_args=False, device="cpu")
        assert type(metric) is of_task and metric.ignore_index == -1 and not metric.validate_args


def test_an_option_of_another_task_is_refused():
    rule = "BinaryAccuracy has no num_classes: leave it out, or choose another task"
    with pytest.raises(TypeError, match=re.escape(f"Accuracy('binary', num_classes=3): {rule}")):
        m.Accuracy("binary", num_classes=3)


X, Y, ONE_OF = "f32[4, 3]", "i64[4]", "must be one of"
C = "use the state of a metric with the same arguments"
ERRORS = {
    "task": (
        lambda: m.Accuracy(task="many"),
        f"Accuracy(task='many'): {ONE_OF} 'binary', 'multiclass', 'multilabel': pass one",
    ),
    "classes": (
        lambda: m.MulticlassRecall(1),
        "MulticlassRecall(num_classes=1): must be an integer of at least 2: pass one",
    ),
    "top_k": (
        lambda: m.MulticlassRecall(3, 4),
        "MulticlassRecall(num_classes=3, top_k=4): top_k exceeds the number of classes: pass a smaller top_k",
    ),
    "average": (
        lambda: m.MulticlassRecall(3, average="all"),
        f"MulticlassRecall(average='all'): {ONE_OF} 'micro', 'macro', 'weighted', 'none', None: pass one",
    ),
    "threshold": (
        lambda: m.BinaryF1Score(2),
        "BinaryF1Score(threshold=2): must be a probability: pass a number from 0 to 1",
    ),
    "ignore_index": (
        lambda: m.BinaryF1Score(ignore_index="x"),
        "BinaryF1Score(ignore_index='x'): must be a class index or None: pass one",
    ),
    "beta": (
        lambda: m.BinaryFBetaScore(0),
        "BinaryFBetaScore(beta=0): must be a weight above 0: pass one, e.g. 1.0",
    ),
    "option": (
        lambda: m.MulticlassRecall(3, threshold=1),
        "Multiclass.__init__() got an unexpected keyword argument 'threshold'",
    ),
    "shapes": (
        lambda: m.BinaryAccuracy(device="cpu").update(*batch()),
        f"BinaryAccuracy({X}, {Y}): shapes differ: pass a prediction for each target",
    ),
    "float targets": (
        lambda: m.BinaryAccuracy(device="cpu").update(batch()[0], batch()[0]),
        f"BinaryAccuracy({X}, {X}): targets must be class indices: cast them with .long()",
    ),
    "other classes": (
        lambda: m.MulticlassAccuracy(4, device="cpu").update(*batch()),
        f"MulticlassAccuracy({X}, {Y}): scores are floats [n, 4, ...] for targets [n, ...]: pass those",
    ),
    "labels for top_k": (
        lambda: m.MulticlassAccuracy(4, top_k=2, device="cpu").update(batch()[1], batch()[1]),
        f"MulticlassAccuracy({Y}, {Y}): top_k=2 needs scores of classes: pass [n, 4, ...]",
    ),
    "floats for labels": (
        lambda: m.MulticlassConfusionMatrix(4, device="cpu").update(batch()[1].float(), batch()[1]),
        f"MulticlassConfusionMatrix(f32[4], {Y}): floats are scores of classes: pass [n, 4, ...]",
    ),
    "samples": (
        lambda: m.MulticlassRecall(3, multidim_average="samplewise", device="cpu").update(*batch()),
        f'MulticlassRecall({X}, {Y}): a sample has nothing to average: leave out "samplewise"',
    ),
    "no labels": (
        lambda: m.MultilabelRecall(2, device="cpu").update(batch()[0], batch()[0].long()),
        f"MultilabelRecall({X}, i64[4, 3]): dim 1 is not the 2 labels: pass [n, 2, ...]",
    ),
    "normalize": (
        lambda: m.BinaryConfusionMatrix(normalize="rows"),
        f"BinaryConfusionMatrix(normalize='rows'): {ONE_OF} None, 'none', 'true', 'pred', 'all': pass one",
    ),
    "thresholds": (
        lambda: m.BinaryAUROC(thresholds=[0.5, 0.1]),
        "BinaryAUROC(thresholds=[0.5, 0.1]): must be None, a count of at least 2, or"
        " increasing numbers from 0 to 1: pass one of these",
    ),
    "max_fpr": (
        lambda: m.BinaryAUROC(2.0),
        "BinaryAUROC(max_fpr=2.0): must be a rate above 0 and at most 1: pass one",
    ),
    "whole scores": (
        lambda: m.BinaryAUROC(device="cpu").update(batch()[1], batch()[1]),
        f"BinaryAUROC({Y}, {Y}): scores are floats: pass probabilities or logits",
    ),
    "curve of other classes": (
        lambda: m.MulticlassAUROC(4, device="cpu").update(*batch()),
        f"MulticlassAUROC({X}, {Y}): pass scores [n, 4, ...] for targets [n, ...]",
    ),
    "nan_strategy": (
        lambda: m.MeanMetric(nan_strategy="drop"),
        "MeanMetric(nan_strategy='drop'): must be 'error', 'warn', 'ignore', 'disable' or a"
        " float: pass one of these",
    ),
    "outputs": (
        lambda: m.MeanSquaredError(num_outputs=2, device="cpu").update(batch()[0], batch()[0]),
        f"MeanSquaredError({X}, {X}): has num_outputs=2: pass [n, 2]",
    ),
    "p": (lambda: m.MinkowskiDistance(0), "MinkowskiDistance(p=0): must be at least 1: pass another value"),
    "rows": (
        lambda: m.CosineSimilarity(device="cpu").update(batch()[1], batch()[1]),
        f"CosineSimilarity({Y}, {Y}): it takes rows: pass [n, d]",
    ),
    "r2": (
        lambda: m.R2Score(device="cpu").compute(),
        "R2Score.compute(): 0 targets have no variance: update with 2 or more",
    ),
    "tokens": (
        lambda: m.Perplexity(device="cpu").update(*batch()),
        f"Perplexity({X}, {Y}): takes logits and tokens: pass floats [n, steps, tokens] and [n, steps]",
    ),
    "pairs": (
        lambda: m.WordErrorRate().update(["a"], ["a", "b"]),
        "WordErrorRate(1 predictions, 2 targets): numbers differ: pass a target for each prediction",
    ),
    "weights": (
        lambda: m.BLEUScore(4, weights=[1]),
        "BLEUScore(n_gram=4, weights of 1): each n-gram length needs a weight: pass 4",
    ),
    "two names": (
        lambda: m.MetricCollection([m.MeanMetric(), m.MeanMetric()]),
        "MetricCollection(...): two metrics are called 'MeanMetric': pass a dict with names",
    ),
    "keys": (
        lambda: three().load_state_dict({"precisoin.counts": 0}),
        "MetricCollection.load_state_dict(...): 'precisoin.counts' belongs to none of these"
        " metrics: did you mean"
        " 'precision.counts'?: pass the state of a collection of the same metrics",
    ),
    "state": (
        lambda: m.MeanMetric(device="cpu").load_state_dict({"sum": 1, "nans": fb.zeros(2, device="cpu")}),
        "MeanMetric.load_state_dict(2 states): 'sums' is missing; 'sum' is unexpected: did you mean 'sums'?;"
        f" 'nans' is i64[], got f32[2]: {C}",
    ),
    "merge": (
        lambda: m.MulticlassRecall(3, device="cpu").merge_state(m.MulticlassRecall(4, device="cpu")),
        f"MulticlassRecall.merge_state(1 states): 'counts' is i64[3, 4], got i64[3, 5]: {C}",
    ),
    "list": (
        lambda: m.MeanMetric().add_state("x", [1]),
        "add_state('x', [1], None): a list state must start empty: pass []",
    ),
    "join": (
        lambda: m.MeanMetric().add_state("x", 1, "mean"),
        'add_state(\'x\', 1, \'mean\'): states are joined by "sum", "max", "min", "cat" or'
        " a function: pass one of these",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, text = ERRORS[name]
    with pytest.raises(ValueError if name != "option" else TypeError) as told:
        call()
    assert str(told.value) == text


def test_errors_of_other_kinds():
    for call, kind, text in (
        (
            lambda: m.MetricCollection([3]),
            TypeError,
            "MetricCollection(3): it takes metrics: pass a Metric, e.g. MeanMetric()",
        ),
        (
            lambda: three()["recal"],
            KeyError,
            "\"MetricCollection['recal']: no metric has this name: did you mean 'recall'?\"",
        ),
        (
            lambda: m.MeanSquaredError(device="cpu").update(np.ones(2), fb.ones(2, device="cpu")),
            TypeError,
            "MeanSquaredError.update(ndarray float64[2]): takes tensors, not a numpy.ndarray: "
            "wrap it in fb.tensor(...)",
        ),
        (
            lambda: m.WordErrorRate().update([3], ["a"]),
            TypeError,
            "WordErrorRate(3): takes strings: decode tokens first",
        ),
        (
            lambda: m.Metric("cpu").update(),
            NotImplementedError,
            "Metric.update(...): is not implemented: define update(self, preds, target)",
        ),
        (
            lambda: m.Metric("cpu").compute(),
            NotImplementedError,
            "Metric.compute(): is not implemented: define compute(self)",
        ),
        (
            lambda: m.Metric("cpu").total,
            AttributeError,
            "Metric.total: no such attribute or state",
        ),
    ):
        with pytest.raises(kind) as told:
            call()
        assert str(told.value) == text
    metric = m.Metric("cpu")
    metric.add_state("n", 0)
    with pytest.raises(TypeError) as told:
        metric.merge_state(metric.clone())
    rule = "add_state has no rule for joining two states: pass dist_reduce_fx to it"
    assert str(told.value) == f"Metric.merge_state(...): n: {rule}"


def test_targets_that_are_no_classes_are_told_by_compute():
    """An update reads nothing, so that it can't."""
    x = fb.tensor(P, device="cpu")
    bad = fb.tensor([0, 3, -1, 2], device="cpu")
    rule = "use those, or pass ignore_index for positions without a"
    of_classes = f"2 targets or predictions were not classes of 0 to 2: {rule} class"
    for make in (m.MulticlassAccuracy, m.MulticlassConfusionMatrix):
        metric = make(3, device="cpu")
        metric.update(x, bad)
        with pytest.raises(ValueError) as told:
            metric.compute()
        assert str(told.value) == f"{metric.name}.compute(): {of_classes}"
    metric = m.MulticlassAccuracy(3, ignore_index=-1, validate_args=False, average="micro", device="cpu")
    metric.update(x, bad)
    assert metric.compute() == 0.5  # of 0 and 2, since 3 counts for nothing
    for thresholds in (None, 5):
        curve = m.MulticlassAUROC(3, thresholds=thresholds, device="cpu")
        curve.update(x, bad)
        with pytest.raises(ValueError) as told:
            curve.compute()
        text = f"MulticlassAUROC.compute(): 2 targets were not classes of 0 to 2: {rule} target"
        assert str(told.value) == text
    one = m.BinaryAccuracy(device="cpu")
    one.update(fb.tensor([0.2, 0.8], device="cpu"), fb.tensor([0, 2], device="cpu"))
    with pytest.raises(ValueError) as told:
        one.compute()
    assert str(told.value) == f"BinaryAccuracy.compute(): 1 targets were neither 0 nor 1: {rule} target"
    tokens = m.Perplexity(device="cpu")
    tokens.update(x.unsqueeze(0), bad.unsqueeze(0))
    with pytest.raises(ValueError) as told:
        tokens.compute()
    assert str(told.value) == f"Perplexity.compute(): 2 targets were not tokens of the logits: {rule} token"
    mean = m.MeanMetric(nan_strategy="error", device="cpu")
    mean.update(float("nan"))
    with pytest.raises(ValueError) as told:
        mean.compute()
    where = 'find their source, or pass nan_strategy="ignore"'
    assert str(told.value) == f"MeanMetric.compute(): 1 values were NaN: {where}"
    warned = m.MeanMetric(device="cpu")
    warned.update(float("nan"))
    warned.update(3.0, 2.0)
    with pytest.warns(UserWarning, match=r"MeanMetric.compute\(\): 1 values were NaN and were ignored"):
        assert warned.compute() == 3


def test_a_score_that_is_ignored_makes_no_logits_of_the_others():
    """As torchmetrics where it counts by a matrix: 0.3 is a probability, whatever 5.0 is."""
    scores = fb.tensor([0.9, 0.3, 5.0, 0.2], device="cpu"), fb.tensor([1, 0, -1, 1], device="cpu")
    wanted = {m.BinaryJaccardIndex: 0.5, m.BinaryCohenKappa: 0.4, m.BinaryConfusionMatrix: [[1, 0], [1, 1]]}
    for kind, value in wanted.items():
        metric = kind(ignore_index=-1, device="cpu")
        metric.update(*scores)
        assert np.allclose(metric.compute(), value), kind
