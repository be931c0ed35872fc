"""Losses, a row each."""

from ..ops import ctc, loss
from .layer import layer

BCELoss = layer("BCELoss", loss.binary_cross_entropy, inputs=2)
BCEWithLogitsLoss = layer("BCEWithLogitsLoss", loss.binary_cross_entropy_with_logits, inputs=2)
CosineEmbeddingLoss = layer("CosineEmbeddingLoss", loss.cosine_embedding_loss, inputs=3)
CTCLoss = layer("CTCLoss", ctc.ctc_loss, inputs=4)
CrossEntropyLoss = layer("CrossEntropyLoss", loss.cross_entropy, inputs=2)
GaussianNLLLoss = layer("GaussianNLLLoss", loss.gaussian_nll_loss, inputs=3)
HingeEmbeddingLoss = layer("HingeEmbeddingLoss", loss.hinge_embedding_loss, inputs=2)
HuberLoss = layer("HuberLoss", loss.huber_loss, inputs=2)
KLDivLoss = layer("KLDivLoss", loss.kl_div, inputs=2)
L1Loss = layer("L1Loss", loss.l1_loss, inputs=2)
MarginRankingLoss = layer("MarginRankingLoss", loss.margin_ranking_loss, inputs=3)
MSELoss = layer("MSELoss", loss.mse_loss, inputs=2)
MultiLabelMarginLoss = layer("MultiLabelMarginLoss", loss.multilabel_margin_loss, inputs=2)
MultiLabelSoftMarginLoss = layer("MultiLabelSoftMarginLoss", loss.multilabel_soft_margin_loss, inputs=2)
MultiMarginLoss = layer("MultiMarginLoss", loss.multi_margin_loss, inputs=2)
NLLLoss = layer("NLLLoss", loss.nll_loss, inputs=2)
NLLLoss2d = layer("NLLLoss2d", loss.nll_loss, inputs=2)
RNNTLoss = layer("RNNTLoss", ctc.rnnt_loss, inputs=4)
PoissonNLLLoss = layer("PoissonNLLLoss", loss.poisson_nll_loss, inputs=2)
SmoothL1Loss = layer("SmoothL1Loss", loss.smooth_l1_loss, inputs=2)
SoftMarginLoss = layer("SoftMarginLoss", loss.soft_margin_loss, inputs=2)
TripletMarginLoss = layer("TripletMarginLoss", loss.triplet_margin_loss, inputs=3)
TripletMarginWithDistanceLoss = layer(
    "TripletMarginWithDistanceLoss", loss.triplet_margin_with_distance_loss, inputs=3
)
