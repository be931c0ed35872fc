"""Layers, named and laid out as in torch.nn."""

from importlib import import_module

from . import functional, init

# module: what it has for users
LAYERS = {
    "activation": (
        "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax "
        "Mish ReLU ReLU6 SELU Shrink SiLU Sigmoid Softmax Softmin Softplus Softshrink Softsign SwiGLU "
        "Tanh Tanhshrink Threshold ThresholdedReLU"
    ),
    "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d DeformConv2d",
    "dropout": "Dropout Identity",
    "kv_cache": "KVCache",
    "leaky": "PReLU RReLU",
    "linear": "Bilinear Embedding EmbeddingBag Linear",
    "loss": (
        "BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss GaussianNLLLoss "
        "HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss MSELoss MarginRankingLoss "
        "MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss PoissonNLLLoss SmoothL1Loss SoftMarginLoss "
        "TripletMarginLoss"
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
    "stateless": "CosineSimilarity Flatten LocalResponseNorm PairwiseDistance PixelShuffle PixelUnshuffle",
}

_homes = {name: module for module, names in LAYERS.items() for name in names.split()}
globals().update({n: getattr(import_module(f".{module}", __name__), n) for n, module in _homes.items()})
__all__ = sorted([*_homes, "functional", "init"])
