"""Layers without parameters: activations, losses, dropout and reshaping, one row of a table each."""

from typing import Any

from ..ops import Elementwise, Movement, activation, ctc, loss, norm
from ..ops.random import dropout
from ..ops.softmax import Composed
from ..tensor import Tensor
from .module import Module, Parameter, layer

CELU = layer("CELU", activation.celu)
ELU = layer("ELU", activation.elu)
GELU = layer("GELU", activation.gelu)
GLU = layer("GLU", activation.glu)
Hardshrink = layer("Hardshrink", activation.hardshrink)
Hardsigmoid = layer("Hardsigmoid", activation.hardsigmoid)
Hardswish = layer("Hardswish", activation.hardswish)
Hardtanh = layer("Hardtanh", activation.hardtanh)
LeakyReLU = layer("LeakyReLU", activation.leaky_relu)
LogSigmoid = layer("LogSigmoid", activation.logsigmoid)
LogSoftmax = layer("LogSoftmax", Composed.log_softmax)
Mish = layer("Mish", activation.mish)
ReLU = layer("ReLU", Elementwise.relu)
ReLU6 = layer("ReLU6", activation.relu6)
SELU = layer("SELU", activation.selu)
Shrink = layer("Shrink", activation.shrink)
SiLU = layer("SiLU", activation.silu)
Sigmoid = layer("Sigmoid", Elementwise.sigmoid)
Softmax = layer("Softmax", Composed.softmax)
Softmin = layer("Softmin", activation.softmin)
Softplus = layer("Softplus", activation.softplus)
Softshrink = layer("Softshrink", activation.softshrink)
Softsign = layer("Softsign", activation.softsign)
SwiGLU = layer("SwiGLU", activation.swiglu)
Tanh = layer("Tanh", Elementwise.tanh)
Tanhshrink = layer("Tanhshrink", activation.tanhshrink)
Threshold = layer("Threshold", activation.threshold)
ThresholdedReLU = layer("ThresholdedReLU", activation.thresholded_relu)

Flatten = layer("Flatten", Movement.flatten, start_dim=1)

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
MultiLabelSoftMarginLoss = layer("MultiLabelSoftMarginLoss", loss.multilabel_soft_margin_loss, inputs=2)
MultiMarginLoss = layer("MultiMarginLoss", loss.multi_margin_loss, inputs=2)
NLLLoss = layer("NLLLoss", loss.nll_loss, inputs=2)
PoissonNLLLoss = layer("PoissonNLLLoss", loss.poisson_nll_loss, inputs=2)
SmoothL1Loss = layer("SmoothL1Loss", loss.smooth_l1_loss, inputs=2)
SoftMarginLoss = layer("SoftMarginLoss", loss.soft_margin_loss, inputs=2)
TripletMarginLoss = layer("TripletMarginLoss", loss.triplet_margin_loss, inputs=3)

CosineSimilarity = layer("CosineSimilarity", norm.cosine_similarity, inputs=2)
LocalResponseNorm = layer("LocalResponseNorm", norm.local_response_norm)
PairwiseDistance = layer("PairwiseDistance", norm.pairwise_distance, inputs=2)
PixelShuffle = layer("PixelShuffle", norm.pixel_shuffle)
PixelUnshuffle = layer("PixelUnshuffle", norm.pixel_unshuffle)


class Identity(Module):
    """Its input. [...] -> [...]"""

    def __init__(self, *_args: Any, **_kw: Any):
        """Takes whatever the layer that it stands for takes."""

    def forward(self, x: Tensor) -> Tensor:
        return x


class RReLU(Module):
    """leaky_relu with a slope drawn for each element in training (Xu et al., 2015). [...] -> [...]"""

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False):
        self.lower, self.upper = lower, upper

    def forward(self, x: Tensor) -> Tensor:
        return activation.rrelu(x, self.lower, self.upper, self.training)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}"


class PReLU(Module):
    """x, or weight * x where x < 0, one weight learned, or one a channel (He et al., 2015). [n, c, ...]"""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None):
        self.weight = Parameter(Tensor.full((num_parameters,), init, device=device))

    def forward(self, x: Tensor) -> Tensor:
        return activation.prelu(x, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.weight.numel()}"


class Dropout(Module):
    """In training zeroes elements with probability p and scales the others by 1 / (1 - p). [...] -> [...]"""

    def __init__(self, p: float = 0.5, inplace: bool = False):
        if not 0 <= p <= 1:
            raise ValueError(f"Dropout({p}): p is not in 0 to 1: give a probability")
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}"
