"""The functions behind the layers, as in torch.nn.functional."""

from typing import Any

from ..core.torch_hints import UnknownName

# fmt: off
# isort: off
from ..ops.activation import (
    celu, elu, gelu, glu, gumbel_softmax, hardshrink, hardsigmoid, hardswish, hardtanh, leaky_relu,
    logsigmoid, mish, prelu, quiet_softmax, relu6, rrelu, selu, shrink, silu, softmin, softplus, softshrink,
    softsign, swiglu, tanhshrink, threshold, thresholded_relu,
)
from ..ops.attention.attention import scaled_dot_product_attention
from ..ops.attention.kv_cache import put_rows
from ..ops.contract import linear
from ..ops.conv.adaptive import (
    adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool1d, adaptive_max_pool2d,
    adaptive_max_pool3d,
)
from ..ops.conv.conv import (
    col2im as fold, conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d,
    im2col as unfold,
)
from ..ops.conv.grid_sample import affine_grid, grid_sample
from ..ops.conv.pool import (
    avg_pool1d, avg_pool2d, avg_pool3d, lp_pool1d, lp_pool2d, lp_pool3d, max_pool1d, max_pool2d, max_pool3d,
    max_unpool1d, max_unpool2d, max_unpool3d,
)
from ..ops.conv.resize import interpolate, upsample
from ..ops.ctc import ctc_loss, rnnt_loss
from ..ops.einsum import bilinear
from ..ops.elementwise import relu, sigmoid, tanh
from ..ops.index.embedding import embedding, embedding_bag
from ..ops.index.index import one_hot
from ..ops.loss import (
    binary_cross_entropy, binary_cross_entropy_with_logits, cosine_embedding_loss, cross_entropy,
    gaussian_nll_loss, hinge_embedding_loss, huber_loss, kl_div, l1_loss, margin_ranking_loss, mse_loss,
    multi_margin_loss, multilabel_margin_loss, multilabel_soft_margin_loss, nll_loss, poisson_nll_loss,
    smooth_l1_loss, soft_margin_loss, triplet_margin_loss, triplet_margin_with_distance_loss,
)
from ..ops.norm import (
    batch_norm, channel_shuffle, cosine_similarity, group_norm, instance_norm, layer_norm,
    local_response_norm, normalize, pairwise_distance, pixel_shuffle, pixel_unshuffle, rms_norm,
)
from ..ops.random import alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout
from ..ops.rearrange import pad
from ..ops.softmax import log_softmax, softmax
from ..ops.statistics import pdist
# isort: on
# fmt: on

# fmt: off
# isort: off
from .attention import multi_head_attention_forward
from .fractional import (
    fractional_max_pool2d, fractional_max_pool2d_with_indices, fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
)
from .adaptive_softmax import linear_cross_entropy
from .variants import (
    adaptive_max_pool1d_with_indices, adaptive_max_pool2d_with_indices, adaptive_max_pool3d_with_indices,
    celu_, conv_tbc, elu_, hardtanh_, leaky_relu_, max_pool1d_with_indices, max_pool2d_with_indices,
    max_pool3d_with_indices, native_channel_shuffle, relu_, rrelu_, selu_, threshold_, upsample_bilinear,
    upsample_nearest,
)
# isort: on
# fmt: on

# fmt: off
__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices", "affine_grid", "alpha_dropout", "avg_pool1d",
    "avg_pool2d", "avg_pool3d", "batch_norm", "bilinear", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "celu", "celu_", "channel_shuffle", "conv1d", "conv2d", "conv3d",
    "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_embedding_loss",
    "cosine_similarity", "cross_entropy", "ctc_loss", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu",
    "elu_", "embedding", "embedding_bag", "feature_alpha_dropout", "fold", "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices", "fractional_max_pool3d", "fractional_max_pool3d_with_indices",
    "gaussian_nll_loss", "gelu", "glu", "grid_sample", "group_norm", "gumbel_softmax", "hardshrink",
    "hardsigmoid", "hardswish", "hardtanh", "hardtanh_", "hinge_embedding_loss", "huber_loss",
    "instance_norm", "interpolate", "kl_div", "l1_loss", "layer_norm", "leaky_relu", "leaky_relu_", "linear",
    "linear_cross_entropy", "local_response_norm", "log_softmax", "logsigmoid", "lp_pool1d", "lp_pool2d",
    "lp_pool3d", "margin_ranking_loss", "max_pool1d", "max_pool1d_with_indices", "max_pool2d",
    "max_pool2d_with_indices", "max_pool3d", "max_pool3d_with_indices", "max_unpool1d", "max_unpool2d",
    "max_unpool3d", "mish", "mse_loss", "multi_head_attention_forward", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "native_channel_shuffle", "nll_loss",
    "normalize", "one_hot", "pad", "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle",
    "poisson_nll_loss", "prelu", "put_rows", "quiet_softmax", "relu", "relu6", "relu_", "rms_norm",
    "rnnt_loss", "rrelu", "rrelu_", "scaled_dot_product_attention", "selu", "selu_", "shrink", "sigmoid",
    "silu", "smooth_l1_loss", "soft_margin_loss", "softmax", "softmin", "softplus", "softshrink", "softsign",
    "swiglu", "tanh", "tanhshrink", "threshold", "threshold_", "thresholded_relu", "triplet_margin_loss",
    "triplet_margin_with_distance_loss", "unfold", "upsample", "upsample_bilinear", "upsample_nearest",
]
# fmt: on


def __getattr__(name: str) -> Any:
    raise UnknownName(__name__, name, lambda: __all__)
