"""Layers, named and laid out as in torch.nn.

Made by `python scripts/write_stubs.py`."""

from . import functional as functional
from . import init as init
from .activation import CELU as CELU
from .activation import ELU as ELU
from .activation import GELU as GELU
from .activation import GLU as GLU
from .activation import SELU as SELU
from .activation import Hardshrink as Hardshrink
from .activation import Hardsigmoid as Hardsigmoid
from .activation import Hardswish as Hardswish
from .activation import Hardtanh as Hardtanh
from .activation import LeakyReLU as LeakyReLU
from .activation import LogSigmoid as LogSigmoid
from .activation import LogSoftmax as LogSoftmax
from .activation import Mish as Mish
from .activation import ReLU as ReLU
from .activation import ReLU6 as ReLU6
from .activation import Shrink as Shrink
from .activation import Sigmoid as Sigmoid
from .activation import SiLU as SiLU
from .activation import Softmax as Softmax
from .activation import Softmin as Softmin
from .activation import Softplus as Softplus
from .activation import Softshrink as Softshrink
from .activation import Softsign as Softsign
from .activation import SwiGLU as SwiGLU
from .activation import Tanh as Tanh
from .activation import Tanhshrink as Tanhshrink
from .activation import Threshold as Threshold
from .activation import ThresholdedReLU as ThresholdedReLU
from .conv import Conv1d as Conv1d
from .conv import Conv2d as Conv2d
from .conv import Conv3d as Conv3d
from .conv import ConvTranspose1d as ConvTranspose1d
from .conv import ConvTranspose2d as ConvTranspose2d
from .conv import ConvTranspose3d as ConvTranspose3d
from .conv import DeformConv2d as DeformConv2d
from .dropout import Dropout as Dropout
from .dropout import Identity as Identity
from .kv_cache import KVCache as KVCache
from .leaky import PReLU as PReLU
from .leaky import RReLU as RReLU
from .linear import Bilinear as Bilinear
from .linear import Embedding as Embedding
from .linear import EmbeddingBag as EmbeddingBag
from .linear import Linear as Linear
from .loss import BCELoss as BCELoss
from .loss import BCEWithLogitsLoss as BCEWithLogitsLoss
from .loss import CosineEmbeddingLoss as CosineEmbeddingLoss
from .loss import CrossEntropyLoss as CrossEntropyLoss
from .loss import CTCLoss as CTCLoss
from .loss import GaussianNLLLoss as GaussianNLLLoss
from .loss import HingeEmbeddingLoss as HingeEmbeddingLoss
from .loss import HuberLoss as HuberLoss
from .loss import KLDivLoss as KLDivLoss
from .loss import L1Loss as L1Loss
from .loss import MarginRankingLoss as MarginRankingLoss
from .loss import MSELoss as MSELoss
from .loss import MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss
from .loss import MultiMarginLoss as MultiMarginLoss
from .loss import NLLLoss as NLLLoss
from .loss import PoissonNLLLoss as PoissonNLLLoss
from .loss import SmoothL1Loss as SmoothL1Loss
from .loss import SoftMarginLoss as SoftMarginLoss
from .loss import TripletMarginLoss as TripletMarginLoss
from .module import Module as Module
from .module import ModuleList as ModuleList
from .module import Parameter as Parameter
from .module import Sequential as Sequential
from .norm import BatchNorm1d as BatchNorm1d
from .norm import BatchNorm2d as BatchNorm2d
from .norm import BatchNorm3d as BatchNorm3d
from .norm import GroupNorm as GroupNorm
from .norm import InstanceNorm1d as InstanceNorm1d
from .norm import InstanceNorm2d as InstanceNorm2d
from .norm import InstanceNorm3d as InstanceNorm3d
from .norm import LayerNorm as LayerNorm
from .norm import RMSNorm as RMSNorm
from .pool import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from .pool import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from .pool import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from .pool import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from .pool import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from .pool import AdaptiveMaxPool3d as AdaptiveMaxPool3d
from .pool import AvgPool1d as AvgPool1d
from .pool import AvgPool2d as AvgPool2d
from .pool import AvgPool3d as AvgPool3d
from .pool import Fold as Fold
from .pool import LPPool1d as LPPool1d
from .pool import LPPool2d as LPPool2d
from .pool import LPPool3d as LPPool3d
from .pool import MaxPool1d as MaxPool1d
from .pool import MaxPool2d as MaxPool2d
from .pool import MaxPool3d as MaxPool3d
from .pool import MaxUnpool1d as MaxUnpool1d
from .pool import MaxUnpool2d as MaxUnpool2d
from .pool import MaxUnpool3d as MaxUnpool3d
from .pool import Unfold as Unfold
from .pool import Upsample as Upsample
from .pool import UpsamplingBilinear2d as UpsamplingBilinear2d
from .pool import UpsamplingNearest2d as UpsamplingNearest2d
from .quantized import QuantizedLinear as QuantizedLinear
from .quantized import quantize_ as quantize_
from .stateless import CosineSimilarity as CosineSimilarity
from .stateless import Flatten as Flatten
from .stateless import LocalResponseNorm as LocalResponseNorm
from .stateless import PairwiseDistance as PairwiseDistance
from .stateless import PixelShuffle as PixelShuffle
from .stateless import PixelUnshuffle as PixelUnshuffle

LAYERS: dict[str, str]
__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Bilinear",
    "CELU",
    "CTCLoss",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "CosineEmbeddingLoss",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "DeformConv2d",
    "Dropout",
    "ELU",
    "Embedding",
    "EmbeddingBag",
    "Flatten",
    "Fold",
    "GELU",
    "GLU",
    "GaussianNLLLoss",
    "GroupNorm",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "Identity",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "KLDivLoss",
    "KVCache",
    "L1Loss",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LocalResponseNorm",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "MarginRankingLoss",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "Mish",
    "Module",
    "ModuleList",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "PReLU",
    "PairwiseDistance",
    "Parameter",
    "PixelShuffle",
    "PixelUnshuffle",
    "PoissonNLLLoss",
    "QuantizedLinear",
    "RMSNorm",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "Sequential",
    "Shrink",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "Softmax",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "SwiGLU",
    "Tanh",
    "Tanhshrink",
    "Threshold",
    "ThresholdedReLU",
    "TripletMarginLoss",
    "Unfold",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
    "functional",
    "init",
    "quantize_",
]
