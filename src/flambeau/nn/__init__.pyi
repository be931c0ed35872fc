"""Layers, named and laid out as in torch.nn.

Made by `python scripts/write_stubs.py`."""

from . import functional as functional
from . import init as init
from . import utils as utils
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
from .attention import MultiheadAttention as MultiheadAttention
from .containers import ModuleDict as ModuleDict
from .containers import ModuleList as ModuleList
from .containers import ParameterDict as ParameterDict
from .containers import ParameterList as ParameterList
from .containers import Sequential as Sequential
from .conv import Conv1d as Conv1d
from .conv import Conv2d as Conv2d
from .conv import Conv3d as Conv3d
from .conv import ConvTranspose1d as ConvTranspose1d
from .conv import ConvTranspose2d as ConvTranspose2d
from .conv import ConvTranspose3d as ConvTranspose3d
from .conv import DeformConv2d as DeformConv2d
from .distances import GramMatrixLoss as GramMatrixLoss
from .distances import LpLoss as LpLoss
from .dropout import AlphaDropout as AlphaDropout
from .dropout import Dropout as Dropout
from .dropout import Dropout1d as Dropout1d
from .dropout import Dropout2d as Dropout2d
from .dropout import Dropout3d as Dropout3d
from .dropout import FeatureAlphaDropout as FeatureAlphaDropout
from .dropout import GaussianNoise as GaussianNoise
from .dropout import Identity as Identity
from .fractional import FractionalMaxPool2d as FractionalMaxPool2d
from .fractional import FractionalMaxPool3d as FractionalMaxPool3d
from .kv_cache import KVCache as KVCache
from .large_vocabulary import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
from .large_vocabulary import LinearCrossEntropyLoss as LinearCrossEntropyLoss
from .lazy import LazyBatchNorm1d as LazyBatchNorm1d
from .lazy import LazyBatchNorm2d as LazyBatchNorm2d
from .lazy import LazyBatchNorm3d as LazyBatchNorm3d
from .lazy import LazyConv1d as LazyConv1d
from .lazy import LazyConv2d as LazyConv2d
from .lazy import LazyConv3d as LazyConv3d
from .lazy import LazyConvTranspose1d as LazyConvTranspose1d
from .lazy import LazyConvTranspose2d as LazyConvTranspose2d
from .lazy import LazyConvTranspose3d as LazyConvTranspose3d
from .lazy import LazyInstanceNorm1d as LazyInstanceNorm1d
from .lazy import LazyInstanceNorm2d as LazyInstanceNorm2d
from .lazy import LazyInstanceNorm3d as LazyInstanceNorm3d
from .lazy import LazyLinear as LazyLinear
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
from .loss import MultiLabelMarginLoss as MultiLabelMarginLoss
from .loss import MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss
from .loss import MultiMarginLoss as MultiMarginLoss
from .loss import NLLLoss as NLLLoss
from .loss import NLLLoss2d as NLLLoss2d
from .loss import PoissonNLLLoss as PoissonNLLLoss
from .loss import RNNTLoss as RNNTLoss
from .loss import SmoothL1Loss as SmoothL1Loss
from .loss import SoftMarginLoss as SoftMarginLoss
from .loss import TripletMarginLoss as TripletMarginLoss
from .loss import TripletMarginWithDistanceLoss as TripletMarginWithDistanceLoss
from .module import Module as Module
from .norm import BatchNorm1d as BatchNorm1d
from .norm import BatchNorm2d as BatchNorm2d
from .norm import BatchNorm3d as BatchNorm3d
from .norm import GroupNorm as GroupNorm
from .norm import InstanceNorm1d as InstanceNorm1d
from .norm import InstanceNorm2d as InstanceNorm2d
from .norm import InstanceNorm3d as InstanceNorm3d
from .norm import LayerNorm as LayerNorm
from .norm import RMSNorm as RMSNorm
from .pad import CircularPad1d as CircularPad1d
from .pad import CircularPad2d as CircularPad2d
from .pad import CircularPad3d as CircularPad3d
from .pad import ConstantPad1d as ConstantPad1d
from .pad import ConstantPad2d as ConstantPad2d
from .pad import ConstantPad3d as ConstantPad3d
from .pad import ReflectionPad1d as ReflectionPad1d
from .pad import ReflectionPad2d as ReflectionPad2d
from .pad import ReflectionPad3d as ReflectionPad3d
from .pad import ReplicationPad1d as ReplicationPad1d
from .pad import ReplicationPad2d as ReplicationPad2d
from .pad import ReplicationPad3d as ReplicationPad3d
from .pad import ZeroPad1d as ZeroPad1d
from .pad import ZeroPad2d as ZeroPad2d
from .pad import ZeroPad3d as ZeroPad3d
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter
from .parameter import UninitializedBuffer as UninitializedBuffer
from .parameter import UninitializedParameter as UninitializedParameter
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
from .positions import ALiBi as ALiBi
from .positions import GroupedQueryAttention as GroupedQueryAttention
from .positions import RotaryEmbedding as RotaryEmbedding
from .positions import SinusoidalEmbedding as SinusoidalEmbedding
from .quantized import QuantizedLinear as QuantizedLinear
from .quantized import quantize_ as quantize_
from .recurrent import GRU as GRU
from .recurrent import LSTM as LSTM
from .recurrent import RNN as RNN
from .recurrent import GRUCell as GRUCell
from .recurrent import LSTMCell as LSTMCell
from .recurrent import RNNBase as RNNBase
from .recurrent import RNNCell as RNNCell
from .recurrent import RNNCellBase as RNNCellBase
from .reshaping import Softmax2d as Softmax2d
from .reshaping import Unflatten as Unflatten
from .single_device import DataParallel as DataParallel
from .single_device import SyncBatchNorm as SyncBatchNorm
from .stateless import ChannelShuffle as ChannelShuffle
from .stateless import CosineSimilarity as CosineSimilarity
from .stateless import CrossMapLRN2d as CrossMapLRN2d
from .stateless import Flatten as Flatten
from .stateless import LocalResponseNorm as LocalResponseNorm
from .stateless import PairwiseDistance as PairwiseDistance
from .stateless import PixelShuffle as PixelShuffle
from .stateless import PixelUnshuffle as PixelUnshuffle
from .summary import summary as summary
from .transformer import Transformer as Transformer
from .transformer import TransformerDecoder as TransformerDecoder
from .transformer import TransformerDecoderLayer as TransformerDecoderLayer
from .transformer import TransformerEncoder as TransformerEncoder
from .transformer import TransformerEncoderLayer as TransformerEncoderLayer

LAYERS: dict[str, str]
__all__ = [
    "ALiBi",
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveLogSoftmaxWithLoss",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AlphaDropout",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Bilinear",
    "Buffer",
    "CELU",
    "CTCLoss",
    "ChannelShuffle",
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "CosineEmbeddingLoss",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "CrossMapLRN2d",
    "DataParallel",
    "DeformConv2d",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "ELU",
    "Embedding",
    "EmbeddingBag",
    "FeatureAlphaDropout",
    "Flatten",
    "Fold",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "GELU",
    "GLU",
    "GRU",
    "GRUCell",
    "GaussianNLLLoss",
    "GaussianNoise",
    "GramMatrixLoss",
    "GroupNorm",
    "GroupedQueryAttention",
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
    "LSTM",
    "LSTMCell",
    "LayerNorm",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
    "LeakyReLU",
    "Linear",
    "LinearCrossEntropyLoss",
    "LocalResponseNorm",
    "LogSigmoid",
    "LogSoftmax",
    "LpLoss",
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
    "ModuleDict",
    "ModuleList",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "MultiheadAttention",
    "NLLLoss",
    "NLLLoss2d",
    "PReLU",
    "PairwiseDistance",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "PixelShuffle",
    "PixelUnshuffle",
    "PoissonNLLLoss",
    "QuantizedLinear",
    "RMSNorm",
    "RNN",
    "RNNBase",
    "RNNCell",
    "RNNCellBase",
    "RNNTLoss",
    "RReLU",
    "ReLU",
    "ReLU6",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "RotaryEmbedding",
    "SELU",
    "Sequential",
    "Shrink",
    "SiLU",
    "Sigmoid",
    "SinusoidalEmbedding",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "SwiGLU",
    "SyncBatchNorm",
    "Tanh",
    "Tanhshrink",
    "Threshold",
    "ThresholdedReLU",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
    "Unflatten",
    "Unfold",
    "UninitializedBuffer",
    "UninitializedParameter",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
    "functional",
    "init",
    "quantize_",
    "summary",
    "utils",
]
