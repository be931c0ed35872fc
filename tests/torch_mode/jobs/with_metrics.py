"""torchmetrics: classes and functions of each family, collections, states, a tracker, own metrics."""

import torch
import torchmetrics
import torchmetrics.audio
import torchmetrics.image
import torchmetrics.nominal
import torchmetrics.retrieval
import torchmetrics.text
import torchmetrics.functional as MF
from torchmetrics import MeanMetric, Metric, MetricCollection, MetricTracker
from torchmetrics.classification import (
    BinaryAUROC,
    MulticlassAccuracy,
    MulticlassCalibrationError,
    MulticlassConfusionMatrix,
    MulticlassF1Score,
    MulticlassPrecisionRecallCurve,
    MultilabelAveragePrecision,
)
from torchmetrics.wrappers import BootStrapper, ClasswiseWrapper, MinMaxMetric

torch.manual_seed(0)
logits = torch.randn(3, 16, 4)
target = torch.randint(0, 4, (3, 16))
collection = MetricCollection(
    {
        "acc": MulticlassAccuracy(4),
        "f1": MulticlassF1Score(4, average="weighted"),
        "ece": MulticlassCalibrationError(4, n_bins=5),
        "confusion": MulticlassConfusionMatrix(4),
    },
    prefix="val_",
)
for a, b in zip(logits, target):
    print({k: v.tolist() if v.dim() else round(v.item(), 4) for k, v in collection(a.softmax(-1), b).items() if v.dim() == 0})
print({k: torch.as_tensor(v).flatten()[:6].tolist() for k, v in collection.compute().items()})
collection.reset()
print("auroc", f"{BinaryAUROC()(logits[0, :, 0].sigmoid(), (target[0] > 1).long()).item():.4f}")
curve = MulticlassPrecisionRecallCurve(4, thresholds=5)
print("curve", [v.shape for v in curve(logits[0].softmax(-1), target[0])])
print("ap", f"{MultilabelAveragePrecision(4)(logits[0].sigmoid(), (logits[1] > 0).long()).item():.4f}")
for name, metric, args in [
    ("mse", torchmetrics.MeanSquaredError(), (logits[0], logits[1])),
    ("r2", torchmetrics.R2Score(), (logits[0, :, 0], logits[1, :, 0])),
    ("pearson", torchmetrics.PearsonCorrCoef(), (logits[0, :, 0], logits[1, :, 0])),
    ("spearman", torchmetrics.SpearmanCorrCoef(), (logits[0, :, 0], logits[1, :, 0])),
    ("cosine", torchmetrics.CosineSimilarity(), (logits[0], logits[1])),
    ("psnr", torchmetrics.image.PeakSignalNoiseRatio(data_range=4.0), (logits[0], logits[1])),
    ("ssim", torchmetrics.image.StructuralSimilarityIndexMeasure(data_range=1.0), (logits[:2].view(2, 1, 8, 8).sigmoid(), logits[1:].reshape(2, 1, 8, 8).sigmoid())),
    ("tv", torchmetrics.image.TotalVariation(), (logits[:2].view(2, 1, 8, 8),)),
    ("sdr", torchmetrics.audio.ScaleInvariantSignalDistortionRatio(), (logits[0].flatten(), logits[1].flatten())),
    ("perplexity", torchmetrics.text.Perplexity(), (logits, target)),
    ("bleu", torchmetrics.text.BLEUScore(), (["the cat is on the mat"], [["there is a cat on the mat"]])),
    ("wer", torchmetrics.text.WordErrorRate(), (["a big cat"], ["a cat"])),
    ("ndcg", torchmetrics.retrieval.RetrievalNormalizedDCG(), (logits[0, :, 0], target[0] > 1, torch.arange(16) // 8)),
    ("cramers", torchmetrics.nominal.CramersV(4), (target[0], target[1])),
    ("hinge", torchmetrics.HingeLoss(task="multiclass", num_classes=4), (logits[0], target[0])),
    ("jaccard", torchmetrics.JaccardIndex(task="multiclass", num_classes=4), (logits[0], target[0])),
]:
    metric.update(*args)
    print(name, f"{torch.as_tensor(metric.compute()).item():.4f}")
print("functional", f"{MF.accuracy(logits[0], target[0], task='multiclass', num_classes=4).item():.4f}",
      MF.stat_scores(logits[0], target[0], task="multiclass", num_classes=4, average=None).tolist())  # fmt: skip
print("classwise", sorted(ClasswiseWrapper(MulticlassAccuracy(4, average=None))(logits[0], target[0])))
print("minmax", {k: round(v.item(), 3) for k, v in MinMaxMetric(MulticlassAccuracy(4))(logits[0], target[0]).items()})
tracker = MetricTracker(MulticlassAccuracy(4))
for a, b in zip(logits, target):
    tracker.increment()
    tracker.update(a, b)
print("tracked", [round(v, 4) for v in tracker.compute_all().tolist()], tracker.best_metric(return_step=True)[1])


class Above(Metric):
    full_state_update = False
    higher_is_better = True

    def __init__(self, limit):
        super().__init__()
        self.limit = limit
        self.add_state("count", default=torch.tensor(0), dist_reduce_fx="sum")
        self.add_state("values", default=[], dist_reduce_fx="cat")

    def update(self, x: torch.Tensor) -> None:
        self.count += (x > self.limit).sum()
        self.values.append(x.max().unsqueeze(0))

    def compute(self):
        return self.count.float() / 64, torchmetrics.utilities.dim_zero_cat(self.values)


own = Above(0.5)
for a in logits:
    own.update(a)
share, largest = own.compute()
print("own", f"{share.item():.4f}", [round(v, 4) for v in largest.tolist()], own.metric_state["count"].item())
mean = MeanMetric() + own
m = MeanMetric(nan_strategy="ignore")
m.update(torch.tensor([1.0, float("nan"), 3.0]), torch.tensor([1.0, 1.0, 3.0]))
m.persistent(True)
print("mean", m.compute().item(), sorted(m.state_dict()), m.to(torch.float64).dtype, m.clone().compute().item())
torch.manual_seed(3)
boot = BootStrapper(MulticlassAccuracy(4, average="micro"), num_bootstraps=4, sampling_strategy="multinomial")
boot.update(logits[0], target[0])
print("bootstrap", {k: round(v.item(), 4) for k, v in boot.compute().items()})
