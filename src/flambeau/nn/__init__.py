"""Layers, named and laid out as in torch.nn."""

from importlib import import_module
from typing import Any

from . import functional, init, utils
from .factory import take_dtype
from .module import Module

# module: what it has for users
LAYERS = {
    "activation": (
        "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax "
        "Mish ReLU ReLU6 SELU Shrink SiLU Sigmoid Softmax Softmin Softplus Softshrink Softsign SwiGLU "
        "Tanh Tanhshrink Threshold ThresholdedReLU"
    ),
    "attention": "MultiheadAttention",
    "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d DeformConv2d",
    "distances": "GramMatrixLoss LpLoss",
    "dropout": (
        "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout GaussianNoise Identity"
    ),
    "kv_cache": "KVCache",
    "lazy": (
        "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d "
        "LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d "
        "LazyInstanceNorm3d LazyLinear"
    ),
    "leaky": "PReLU RReLU",
    "linear": "Bilinear Embedding EmbeddingBag Linear",
    "loss": (
        "BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss GaussianNLLLoss "
        "HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss MSELoss MarginRankingLoss "
        "MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss NLLLoss2d "
        "PoissonNLLLoss RNNTLoss SmoothL1Loss SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss"
    ),
    "containers": "ModuleDict ModuleList ParameterDict ParameterList Sequential",
    "module": "Module",
    "parameter": "Buffer Parameter UninitializedBuffer UninitializedParameter",
    "norm": (
        "BatchNorm1d BatchNorm2d BatchNorm3d GroupNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d "
        "LayerNorm RMSNorm"
    ),
    "pool": (
        "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d "
        "AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d Fold LPPool1d LPPool2d LPPool3d MaxPool1d "
        "MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d Unfold Upsample UpsamplingBilinear2d "
        "UpsamplingNearest2d"
    ),
    "quantized": "QuantizedLinear quantize_",
    "pad": (
        "CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d "
        "ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d "
        "ZeroPad1d ZeroPad2d ZeroPad3d"
    ),
    "reshaping": "Softmax2d Unflatten",
    "fractional": "FractionalMaxPool2d FractionalMaxPool3d",
    "large_vocabulary": "AdaptiveLogSoftmaxWithLoss LinearCrossEntropyLoss",
    "recurrent": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase",
    "single_device": "DataParallel SyncBatchNorm",
    "positions": "ALiBi GroupedQueryAttention RotaryEmbedding SinusoidalEmbedding",
    "summary": "summary",
    "stateless": (
        "ChannelShuffle CosineSimilarity CrossMapLRN2d Flatten LocalResponseNorm PairwiseDistance "
        "PixelShuffle PixelUnshuffle"
    ),
    "transformer": (
        "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer"
    ),
}

_homes = {name: module for module, names in LAYERS.items() for name in names.split()}
globals().update({n: getattr(import_module(f".{module}", __name__), n) for n, module in _homes.items()})
for _name in _homes:
    if isinstance(globals()[_name], type) and issubclass(globals()[_name], Module):
        take_dtype(globals()[_name])
__all__ = sorted([*_homes, "functional", "init", "utils"])


def __getattr__(name: str) -> Any:
    from ..core.habits import UnknownName

    raise UnknownName(__name__, name, lambda: __all__)
