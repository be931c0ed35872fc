"""The functions behind the layers, as in torch.nn.functional.

Made by `python scripts/write_stubs.py`."""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from ..core.dtype import DType
from ..ops.random import Generator
from ..tensor import HostScalar, Tensor

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "affine_grid",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "celu_",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu",
    "elu_",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "gaussian_nll_loss",
    "gelu",
    "glu",
    "grid_sample",
    "group_norm",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "linear_cross_entropy",
    "local_response_norm",
    "log_softmax",
    "logsigmoid",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "mish",
    "mse_loss",
    "multi_head_attention_forward",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "native_channel_shuffle",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pdist",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "put_rows",
    "quiet_softmax",
    "relu",
    "relu6",
    "relu_",
    "rms_norm",
    "rnnt_loss",
    "rrelu",
    "rrelu_",
    "scaled_dot_product_attention",
    "selu",
    "selu_",
    "shrink",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "swiglu",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
    "thresholded_relu",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

def adaptive_avg_pool1d(input: Tensor, output_size: _int | Sequence[_int]) -> Tensor:
    """Mean of output_size windows that cover the input; None keeps a size. [n, c, *size] -> [n, c, *output_size]

    Raises ValueError where dims are missing, or output_size does not fit."""

def adaptive_avg_pool2d(input: Tensor, output_size: _int | Sequence[_int]) -> Tensor:
    """Mean of output_size windows that cover the input; None keeps a size. [n, c, *size] -> [n, c, *output_size]

    Raises ValueError where dims are missing, or output_size does not fit."""

def adaptive_avg_pool3d(input: Tensor, output_size: _int | Sequence[_int]) -> Tensor:
    """Mean of output_size windows that cover the input; None keeps a size. [n, c, *size] -> [n, c, *output_size]

    Raises ValueError where dims are missing, or output_size does not fit."""

@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: Literal[False] = False
) -> Tensor:
    """Largest of output_size windows that cover the input; None keeps a size. With return_indices also where in the flattened spatial dims it stands (int64). [n, c, *size] -> [n, c, *output_size]

    Raises ValueError where dims are missing, or output_size does not fit."""

@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: _int | Sequence[_int | None] | None, *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: _int | Sequence[_int], return_indices: _bool = False
) -> Any:
    """adaptive_max_pool1d with return_indices=True: (values, indices). Largest of output_size windows that cover the input; None keeps a size. With return_indices also where in the flattened spatial dims it stands (int64). [n, c, *size] -> [n, c, *output_size]

    Raises ValueError where dims are missing, or output_size does not fit."""

@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: Literal[False] = False
) -> Tensor:
    """Largest of output_size windows that cover the input; None keeps a size. With return_indices also where in the flattened spatial dims it stands (int64). [n, c, *size] -> [n, c, *output_size]

    Raises ValueError where dims are missing, or output_size does not fit."""

@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: _int | Sequence[_int | None] | None, *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: _int | Sequence[_int], return_indices: _bool = False
) -> Any:
    """adaptive_max_pool2d with return_indices=True: (values, indices). Largest of output_size windows that cover the input; None keeps a size. With return_indices also where in the flattened spatial dims it stands (int64). [n, c, *size] -> [n, c, *output_size]

    Raises ValueError where dims are missing, or output_size does not fit."""

@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: _int | Sequence[_int | None] | None, return_indices: Literal[False] = False
) -> Tensor:
    """Largest of output_size windows that cover the input; None keeps a size. With return_indices also where in the flattened spatial dims it stands (int64). [n, c, *size] -> [n, c, *output_size]

    Raises ValueError where dims are missing, or output_size does not fit."""

@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: _int | Sequence[_int | None] | None, *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: _int | Sequence[_int], return_indices: _bool = False
) -> Any:
    """adaptive_max_pool3d with return_indices=True: (values, indices). Largest of output_size windows that cover the input; None keeps a size. With return_indices also where in the flattened spatial dims it stands (int64). [n, c, *size] -> [n, c, *output_size]

    Raises ValueError where dims are missing, or output_size does not fit."""

def affine_grid(theta: Tensor, size: _int | Sequence[_int], align_corners: _bool | None = None) -> Tensor:
    """The places that affine maps take to an output of `size`, for grid_sample.

    [n, 2, 3], (n, c, h, w) -> [n, h, w, 2]; [n, 3, 4], (n, c, d, h, w) -> [n, d, h, w, 3]

    theta: affine maps. [n, 2, 3]
    align_corners: the outermost places are centres of elements, not their edges
    Raises ValueError where theta does not fit the size."""

def alpha_dropout(input: Tensor, p: _float = 0.5, training: _bool = False) -> Tensor:
    """dropout that keeps mean 0 and variance 1 behind selu (Klambauer et al., 2017). [...] -> [...]

    p: the probability that an element is zeroed
    training: whether it acts at all"""

def avg_pool1d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    ceil_mode: _bool = False,
    count_include_pad: _bool = True,
) -> Tensor:
    """Mean of each window; stride defaults to the kernel size. Zeros of the padding count unless
    count_include_pad is False, those that ceil_mode adds never do. [n, c, l] -> [n, c, ol]

    kernel_size: the window's size, one number or one for each dim
    Raises ValueError where dims are missing, windows do not fit, or divisor_override is 0."""

def avg_pool2d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    ceil_mode: _bool = False,
    count_include_pad: _bool = True,
    divisor_override: _int | None = None,
) -> Tensor:
    """Mean of each window; stride defaults to the kernel size. Zeros of the padding count unless count_include_pad is False, those that ceil_mode adds never do. [n, c, *size] -> [n, c, *out]

    kernel_size: the window's size, one number or one for each dim
    divisor_override: what sums are divided by, in place of how many elements a window has
    Raises ValueError where dims are missing, windows do not fit, or divisor_override is 0."""

def avg_pool3d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    ceil_mode: _bool = False,
    count_include_pad: _bool = True,
    divisor_override: _int | None = None,
) -> Tensor:
    """Mean of each window; stride defaults to the kernel size. Zeros of the padding count unless count_include_pad is False, those that ceil_mode adds never do. [n, c, *size] -> [n, c, *out]

    kernel_size: the window's size, one number or one for each dim
    divisor_override: what sums are divided by, in place of how many elements a window has
    Raises ValueError where dims are missing, windows do not fit, or divisor_override is 0."""

def batch_norm(
    input: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: _bool = False,
    momentum: _float = 0.1,
    eps: _float = 1e-05,
) -> Tensor:
    """Mean 0, variance 1 by channel, then affine; training takes the batch's own and moves the running ones.

    [n, c, ...], [c] -> [n, c, ...]

    running_mean: the mean to use, or to move towards the batch's
    running_var: the variance to use, or to move towards the batch's
    momentum: the share of the batch in the running statistics; None averages over all batches
    eps: a small number that keeps divisions from 0
    Raises ValueError where a channel has one value, or running statistics are needed and not given."""

def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1 @ weight[o] @ x2 for each o. [..., i], [..., j], [o, i, j], [o] -> [..., o]

    input1: the first tensor
    input2: the second tensor"""

def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """Negative log-likelihood of probabilities for targets in [0, 1]; logs end at -100. [...], [...] -> []

    ValueError for another shape or reduction; at the next read for an element of either outside of 0 to 1.

    target: what is wanted"""

def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Negative log-likelihood of sigmoid(input) for targets in [0, 1]. [...], [...] -> []

    target: what is wanted
    reduction: "mean", "sum" or "none": what becomes of the losses
    pos_weight: a factor for the positive targets of each class
    Raises ValueError where the target has another shape; where reduction is unknown."""

def celu(input: Tensor, alpha: _float = 1.0) -> Tensor:
    """x, or alpha * (exp(x / alpha) - 1) where x < 0 (Barron, 2017). [...] -> [...]"""

def celu_(input: Tensor, alpha: _float = 1.0) -> Any:
    """Gives the tensor the value of celu(...), and returns it; TypeError where it can't hold it. x, or alpha * (exp(x / alpha) - 1) where x < 0 (Barron, 2017). [...] -> [...]"""

def channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Channels of all groups taken in turn (Zhang et al., 2018). [n, groups * c, ...] -> the same shape

    Raises ValueError where the groups do not divide the channels."""

def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] | str = 0,
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor:
    """Cross-correlation over 1 dims, as PyTorch's conv1d. [n, c, *size], [o, c / groups, *kernel] -> [n, o, *out]

    stride: the distance of windows, one number or one for each dim
    padding: zeros at both ends, a number or one for each dim; "same" or "valid"
    dilation: the distance between elements of a window, one number or one for each dim
    groups: parts that channels are divided into; each result sees the inputs of its own part
    Raises ValueError where the input has too few or too many dims; where the weight does not fit the input or the groups; where there is neither one number nor one for each dim."""

def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] | str = 0,
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor:
    """Cross-correlation over 2 dims, as PyTorch's conv2d. [n, c, *size], [o, c / groups, *kernel] -> [n, o, *out]

    stride: the distance of windows, one number or one for each dim
    padding: zeros at both ends, a number or one for each dim; "same" or "valid"
    dilation: the distance between elements of a window, one number or one for each dim
    groups: parts that channels are divided into; each result sees the inputs of its own part
    Raises ValueError where the input has too few or too many dims; where the weight does not fit the input or the groups; where there is neither one number nor one for each dim."""

def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] | str = 0,
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor:
    """Cross-correlation over 3 dims, as PyTorch's conv3d. [n, c, *size], [o, c / groups, *kernel] -> [n, o, *out]

    stride: the distance of windows, one number or one for each dim
    padding: zeros at both ends, a number or one for each dim; "same" or "valid"
    dilation: the distance between elements of a window, one number or one for each dim
    groups: parts that channels are divided into; each result sees the inputs of its own part
    Raises ValueError where the input has too few or too many dims; where the weight does not fit the input or the groups; where there is neither one number nor one for each dim."""

def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor | None = None, pad: _int = 0) -> Tensor:
    """conv1d with steps first and channels last. [t, n, in], [k, in, out] -> [t + 2 * pad - k + 1, n, out]

    pad: how many zeros are put at both ends."""

def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    output_padding: _int | Sequence[_int] = 0,
    groups: _int = 1,
    dilation: _int | Sequence[_int] = 1,
) -> Tensor:
    """The adjoint of conv1d by its input, as PyTorch's conv_transpose1d. [n, c, *size], [c, o / groups, *kernel] -> [n, o, *out]

    stride: the distance of windows, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    output_padding: rows added at one side of the result, where several sizes fit
    groups: parts that channels are divided into; each result sees the inputs of its own part
    dilation: the distance between elements of a window, one number or one for each dim
    Raises ValueError where the input has too few or too many dims; where the weight does not fit the input or the groups; where there is neither one number nor one for each dim; where nothing is left, or output_padding is not below stride or dilation."""

def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    output_padding: _int | Sequence[_int] = 0,
    groups: _int = 1,
    dilation: _int | Sequence[_int] = 1,
) -> Tensor:
    """The adjoint of conv2d by its input, as PyTorch's conv_transpose2d. [n, c, *size], [c, o / groups, *kernel] -> [n, o, *out]

    stride: the distance of windows, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    output_padding: rows added at one side of the result, where several sizes fit
    groups: parts that channels are divided into; each result sees the inputs of its own part
    dilation: the distance between elements of a window, one number or one for each dim
    Raises ValueError where the input has too few or too many dims; where the weight does not fit the input or the groups; where there is neither one number nor one for each dim; where nothing is left, or output_padding is not below stride or dilation."""

def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    output_padding: _int | Sequence[_int] = 0,
    groups: _int = 1,
    dilation: _int | Sequence[_int] = 1,
) -> Tensor:
    """The adjoint of conv3d by its input, as PyTorch's conv_transpose3d. [n, c, *size], [c, o / groups, *kernel] -> [n, o, *out]

    stride: the distance of windows, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    output_padding: rows added at one side of the result, where several sizes fit
    groups: parts that channels are divided into; each result sees the inputs of its own part
    dilation: the distance between elements of a window, one number or one for each dim
    Raises ValueError where the input has too few or too many dims; where the weight does not fit the input or the groups; where there is neither one number nor one for each dim; where nothing is left, or output_padding is not below stride or dilation."""

def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0.0, reduction: str = "mean"
) -> Tensor:
    """1 - cosine where target is 1, what it is above the margin where -1. [n, d], [n, d], [n] -> []

    input1: the first tensor
    input2: the second tensor
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown."""

def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08) -> Tensor:
    """Cosine of the angle between vectors along a dim; lengths are eps at least. [...], [...] -> [...]

    x1: the first rows
    x2: the second rows
    Raises IndexError where there is no such dim."""

def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: _int = -100,
    reduction: str = "mean",
    label_smoothing: _float = 0.0,
) -> Tensor:
    """Negative log-likelihood of softmax(input). Logits [n, classes, ...], int classes [n, ...] or their
    probabilities [n, classes, ...] -> []

    label_smoothing: the share of the target that is spread over all classes.
    ValueError where it is not in 0 to 1, or for other shapes or another reduction; TypeError for a target of
    another dtype; IndexError, at the next read, for a class that is none.

    ignore_index: a class that counts for nothing"""

def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[_int],
    target_lengths: Tensor | Sequence[_int],
    blank: _int = 0,
    reduction: str = "mean",
    zero_infinity: _bool = False,
) -> Tensor:
    """-log p(targets) under any alignment (Graves et al., 2006); "mean" divides each by its target's length.

    Targets are rows, or one after another (then lengths given as a tensor are read, and waited for). The loss
    is infinite, or 0 with zero_infinity, where a target is too long. [t, n, c], [n, s], [n], [n] -> []

    log_probs: logarithms of probabilities. [steps, n, classes]
    input_lengths: how many steps each sequence has
    target_lengths: how many labels each sequence has
    blank: the class that stands for no label
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where shapes do not fit together, blank is no class, or reduction is unknown."""

def dropout(input: Tensor, p: _float = 0.5, training: _bool = True) -> Tensor:
    """Zero each element with probability p and scale the others by 1 / (1 - p). [...] -> [...]

    training: whether it acts at all
    Raises ValueError where p is not in 0 to 1."""

def dropout1d(input: Tensor, p: _float = 0.5, training: _bool = True) -> Tensor:
    """dropout of whole channels. [n, c, l] -> [n, c, l]

    p: the probability that an element is zeroed
    training: whether it acts at all
    Raises ValueError where p is not in 0 to 1; where the input has neither a batch nor channels."""

def dropout2d(input: Tensor, p: _float = 0.5, training: _bool = True) -> Tensor:
    """dropout of whole channels. [n, c, h, w] -> [n, c, h, w]

    p: the probability that an element is zeroed
    training: whether it acts at all
    Raises ValueError where p is not in 0 to 1; where the input has neither a batch nor channels."""

def dropout3d(input: Tensor, p: _float = 0.5, training: _bool = True) -> Tensor:
    """dropout of whole channels. [n, c, d, h, w] -> [n, c, d, h, w]

    p: the probability that an element is zeroed
    training: whether it acts at all
    Raises ValueError where p is not in 0 to 1; where the input has neither a batch nor channels."""

def elu(input: Tensor, alpha: _float = 1.0) -> Tensor:
    """x, or alpha * (exp(x) - 1) where x < 0. [...] -> [...]"""

def elu_(input: Tensor, alpha: _float = 1.0) -> Any:
    """Gives the tensor the value of elu(...), and returns it; TypeError where it can't hold it. x, or alpha * (exp(x) - 1) where x < 0. [...] -> [...]"""

def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: _int | None = None,
    max_norm: _float | None = None,
    norm_type: _float = 2.0,
    scale_grad_by_freq: _bool = False,
    sparse: _bool = False,
) -> Tensor:
    """Rows of weight at the indices; row padding_idx gets no gradient. [...], [n, d] -> [..., d]

    max_norm: rows that are used and longer, by norm_type, are shortened in weight. scale_grad_by_freq: the
    gradient of a row is divided by how often input names it. sparse: without effect, gradients are dense.

    Raises ValueError where padding_idx is no row."""

def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: _float | None = None,
    norm_type: _float = 2.0,
    scale_grad_by_freq: _bool = False,
    mode: str = "mean",
    sparse: _bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: _bool = False,
    padding_idx: _int | None = None,
) -> Tensor:
    """Rows of weight pooled bag by bag: sum, mean or max; row padding_idx is left out, an empty bag gives 0.

    Bags are the rows of input, or run from each offset to the next. per_sample_weights (mode "sum") multiply
    the rows. [b, n], [rows, d] -> [b, d]; [n], [rows, d], [b] -> [b, d]

    max_norm, norm_type, scale_grad_by_freq, sparse: as embedding takes them.

    offsets: where each bag begins
    include_last_offset: the last offset is the end of the last bag
    Raises ValueError where mode is unknown, the input has not 2 dims (or 1, with offsets), or weights do not fit."""

def feature_alpha_dropout(input: Tensor, p: _float = 0.5, training: _bool = False) -> Tensor:
    """alpha_dropout of whole channels. [n, c, ...] -> [n, c, ...]

    p: the probability that an element is zeroed
    training: whether it acts at all"""

def fold(
    input: Tensor,
    output_size: _int | Sequence[_int],
    kernel_size: _int | Sequence[_int],
    dilation: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    stride: _int | Sequence[_int] = 1,
) -> Tensor:
    """Columns added back where im2col took them: nn.functional.fold.

    [n, c * kh * kw, positions] -> [n, c, *output_size]

    output_size: height and width of the result
    kernel_size: the window's size, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    Raises ValueError where the last two dims are not the windows of output_size."""

def fractional_max_pool2d(
    input: Tensor,
    kernel_size: _int | tuple[_int, ...],
    output_size: _int | tuple[_int, ...] | None = None,
    output_ratio: Any = None,
    return_indices: _bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Largest element of windows whose places are drawn: output_size of them, or output_ratio of the input's size. kernel_size: of a window. return_indices: also where in the flattened dims each stands (int64). _random_samples: numbers in [0, 1) that are the draw. ValueError where windows do not fit. [n, c, *size] -> [n, c, *out]"""

def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: _int | tuple[_int, ...],
    output_size: _int | tuple[_int, ...] | None = None,
    output_ratio: Any = None,
    return_indices: _bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Largest element of windows whose places are drawn: output_size of them, or output_ratio of the input's size. kernel_size: of a window. return_indices: also where in the flattened dims each stands (int64). _random_samples: numbers in [0, 1) that are the draw. ValueError where windows do not fit. [n, c, *size] -> [n, c, *out]"""

def fractional_max_pool3d(
    input: Tensor,
    kernel_size: _int | tuple[_int, ...],
    output_size: _int | tuple[_int, ...] | None = None,
    output_ratio: Any = None,
    return_indices: _bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Largest element of windows whose places are drawn: output_size of them, or output_ratio of the input's size. kernel_size: of a window. return_indices: also where in the flattened dims each stands (int64). _random_samples: numbers in [0, 1) that are the draw. ValueError where windows do not fit. [n, c, *size] -> [n, c, *out]"""

def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: _int | tuple[_int, ...],
    output_size: _int | tuple[_int, ...] | None = None,
    output_ratio: Any = None,
    return_indices: _bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Largest element of windows whose places are drawn: output_size of them, or output_ratio of the input's size. kernel_size: of a window. return_indices: also where in the flattened dims each stands (int64). _random_samples: numbers in [0, 1) that are the draw. ValueError where windows do not fit. [n, c, *size] -> [n, c, *out]"""

def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | _float,
    full: _bool = False,
    eps: _float = 1e-06,
    reduction: str = "mean",
) -> Tensor:
    """(log(var) + (input - target)**2 / var) / 2, var at least eps; full adds log(2 pi) / 2. var is a number,
    of input's shape, or without its last dim; a dim of it may be 1. -> []

    ValueError for another shape or reduction, or a negative var; of elements at the next read."""

def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x times the normal distribution's mass below x; approximate="tanh" is the older formula.
    [...] -> [...]

    Raises ValueError where approximate is unknown."""

def glu(input: Tensor, dim: _int = -1) -> Tensor:
    """a * sigmoid(b) of the halves a, b (Dauphin et al., 2017). [..., 2n, ...] -> [..., n, ...]

    Raises ValueError where the dim does not halve."""

def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: _bool | None = None,
) -> Tensor:
    """The input read at the grid's places, x first, -1 to 1 from edge to edge (align_corners: of centres).

    mode bilinear (also over 3 dims), nearest or bicubic (2 dims); padding_mode zeros, border or reflection.
    [n, c, h, w], [n, oh, ow, 2] -> [n, c, oh, ow]; [n, c, d, h, w], [n, od, oh, ow, 3] -> [n, c, od, oh, ow]

    Raises ValueError where mode or padding_mode is unknown, the grid does not fit, or a size is 0."""

def group_norm(
    input: Tensor,
    num_groups: _int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
) -> Tensor:
    """Mean 0, variance 1 over each group of channels of each sample, then affine (Wu and He, 2018).

    [n, c, ...], [c] -> [n, c, ...]

    num_groups: how many groups the channels are divided into
    eps: a small number that keeps divisions from 0
    Raises ValueError where the groups do not divide the channels."""

def gumbel_softmax(
    logits: Tensor,
    tau: _float = 1.0,
    hard: _bool = False,
    eps: _float = 1e-10,
    dim: _int = -1,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """softmax((logits + Gumbel noise) / tau): a soft draw; hard is one-hot, with the soft one's gradient.
    [...] -> [...]

    eps: taken and without effect: the noise is finite without.
    ValueError where tau is 0."""

def hardshrink(input: Tensor, lambd: _float = 0.5) -> Tensor:
    """x, or 0 where |x| <= lambd."""

def hardsigmoid(input: Tensor) -> Tensor:
    """(x + 3) / 6 held inside [0, 1]."""

def hardswish(input: Tensor) -> Tensor:
    """x * hardsigmoid(x). [...] -> [...]"""

def hardtanh(input: Tensor, min_val: _float = -1.0, max_val: _float = 1.0) -> Tensor:
    """x held inside [min_val, max_val]; unlike clamp's, its slope is 0 at both ends. [...] -> [...]

    Raises ValueError where min_val is above max_val."""

def hardtanh_(input: Tensor, min_val: _float = -1.0, max_val: _float = 1.0) -> Any:
    """Gives the tensor the value of hardtanh(...), and returns it; TypeError where it can't hold it. x held inside [min_val, max_val]; unlike clamp's, its slope is 0 at both ends. [...] -> [...]

    Raises ValueError where min_val is above max_val."""

def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: _float = 1.0, reduction: str = "mean"
) -> Tensor:
    """Distances where target is 1, what lacks to the margin where it is -1, both elsewhere.
    [...], [...] -> []

    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown."""

def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: _float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Half the squared difference up to delta, then a line of slope delta. [...], [...] -> []

    target: what is wanted
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown."""

def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: _bool = True,
    momentum: _float = 0.1,
    eps: _float = 1e-05,
) -> Tensor:
    """Mean 0, variance 1 over each channel of each sample, then affine (Ulyanov et al., 2016).

    [n, c, ...], [c] -> [n, c, ...]

    running_mean: the mean to use, or to move towards the batch's
    running_var: the variance to use, or to move towards the batch's
    use_input_stats: mean and variance of the input, not the running ones
    momentum: the share of the batch in the running statistics; None averages over all batches
    eps: a small number that keeps divisions from 0
    Raises ValueError where a channel has one value."""

def interpolate(
    input: Tensor,
    size: _int | Sequence[_int] | None = None,
    scale_factor: _float | Sequence[_float] | None = None,
    mode: str = "nearest",
    align_corners: _bool | None = None,
    recompute_scale_factor: _bool | None = None,
    antialias: _bool = False,
) -> Tensor:
    """Resize the dims after the second to `size`, or by scale_factor. [n, c, *size] -> [n, c, *out]

    mode: nearest, nearest-exact, linear (1-d), bilinear (2-d), trilinear (3-d), bicubic (a = -0.75), lanczos3
    (weights normalised, edges repeated) or area (adaptive_avg_pool). With antialias, of bilinear and bicubic
    (a = -0.5), an output is made of as many more inputs as it stands for.

    align_corners: the outermost places are centres of elements, not their edges
    recompute_scale_factor: take the factor from the rounded sizes
    Raises ValueError where the input has not 3 to 5 dims, or antialias is asked for of a mode that has none."""

def kl_div(input: Tensor, target: Tensor, reduction: str = "mean", log_target: _bool = False) -> Tensor:
    """target * (log(target) - input) for input of log-probabilities; "batchmean" divides by dim 0 alone.
    [n, ...], [n, ...] -> [], or [n, ...] for "none".

    reduction: "mean", "sum" or "none": what becomes of the losses
    log_target: the target is logarithms too
    Raises ValueError where reduction is unknown."""

def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
    """Absolute difference; a weight for each makes the mean one by weights. [...], [...] -> []

    target: what is wanted
    reduction: "mean", "sum" or "none": what becomes of the losses"""

def layer_norm(
    input: Tensor,
    normalized_shape: _int | Sequence[_int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
) -> Tensor:
    """Mean 0, variance 1 over the last dims, then weight and bias (Ba et al., 2016). [..., n] -> [..., n]

    normalized_shape: the sizes of the last dims, over which it goes
    eps: a small number that keeps divisions from 0
    Raises ValueError where the last dims are not normalized_shape."""

def leaky_relu(input: Tensor, negative_slope: _float = 0.01) -> Tensor:
    """x, or x * negative_slope where x < 0. [...] -> [...]"""

def leaky_relu_(input: Tensor, negative_slope: _float = 0.01) -> Any:
    """Gives the tensor the value of leaky_relu(...), and returns it; TypeError where it can't hold it. x, or x * negative_slope where x < 0. [...] -> [...]"""

def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x @ weight.T + bias. [..., i], [o, i], [o] -> [..., o]"""

def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    ignore_index: _int | None = None,
    **how: Any,
) -> Tensor:
    """cross_entropy of linear(input, linear_weight, linear_bias); `how` are weight, reduction and
    label_smoothing. [n, in], [classes, *out, in], int [n, *out] or [n, classes, *out] -> []

    target: classes, or their probabilities. ignore_index: a class that counts for nothing. linear_weight,
    linear_bias: of the linear map, [classes, *out, in] and [classes, *out]. `how` may have
    torch's options, how to cut the work into pieces, without effect: the planner decides what is stored.
    ValueError where shapes do not fit."""

def local_response_norm(
    input: Tensor, size: _int, alpha: _float = 0.0001, beta: _float = 0.75, k: _float = 1.0
) -> Tensor:
    """x / (k + alpha * mean of squares of `size` channels around)**beta (Krizhevsky et al., 2012).
    [n, c, *size] -> [n, c, *size]

    Raises ValueError where the input has fewer than 3 dims."""

def log_softmax(input: Tensor, dim: _int = -1, dtype: DType | type[Any] | str | None = None) -> Tensor:
    """Logarithm of softmax along a dim, safe for large values. [..., n, ...] -> [..., n, ...]"""

def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)), safe for large negative x. [...] -> [...]"""

def lp_pool1d(
    input: Tensor,
    norm_type: _float,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    ceil_mode: _bool = False,
) -> Tensor:
    """The root of the sum of powers of each window, for even powers its p-norm; stride defaults to the kernel size. [n, c, *size] -> [n, c, *out]

    norm_type: the power p of the norm
    kernel_size: the window's size, one number or one for each dim
    ceil_mode: count windows that begin inside and end outside too
    Raises ValueError where there is neither one number nor one for each dim; where dims are missing, windows do not fit, or divisor_override is 0."""

def lp_pool2d(
    input: Tensor,
    norm_type: _float,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    ceil_mode: _bool = False,
) -> Tensor:
    """The root of the sum of powers of each window, for even powers its p-norm; stride defaults to the kernel size. [n, c, *size] -> [n, c, *out]

    norm_type: the power p of the norm
    kernel_size: the window's size, one number or one for each dim
    ceil_mode: count windows that begin inside and end outside too
    Raises ValueError where there is neither one number nor one for each dim; where dims are missing, windows do not fit, or divisor_override is 0."""

def lp_pool3d(
    input: Tensor,
    norm_type: _float,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    ceil_mode: _bool = False,
) -> Tensor:
    """The root of the sum of powers of each window, for even powers its p-norm; stride defaults to the kernel size. [n, c, *size] -> [n, c, *out]

    norm_type: the power p of the norm
    kernel_size: the window's size, one number or one for each dim
    ceil_mode: count windows that begin inside and end outside too
    Raises ValueError where there is neither one number nor one for each dim; where dims are missing, windows do not fit, or divisor_override is 0."""

def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0.0, reduction: str = "mean"
) -> Tensor:
    """max(0, margin - target * (input1 - input2)) for targets 1 and -1. [...], [...], [...] -> []

    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown."""

@overload
def max_pool1d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    return_indices: Literal[False] = False,
    ceil_mode: _bool = False,
) -> Tensor:
    """Largest element of each window; stride defaults to the kernel size. With return_indices also where in the flattened spatial dims it stands (int64). [n, c, *size] -> [n, c, *out]

    kernel_size: the window's size, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    ceil_mode: count windows that begin inside and end outside too
    Raises ValueError where dims are missing, or padding is more than half of the kernel."""

@overload
def max_pool1d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    *,
    return_indices: Literal[True],
    ceil_mode: _bool = False,
) -> tuple[Tensor, Tensor]: ...
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = False,
) -> Any:
    """max_pool1d with return_indices=True: (values, indices). Largest element of each window; stride defaults to the kernel size. With return_indices also where in the flattened spatial dims it stands (int64). [n, c, *size] -> [n, c, *out]

    kernel_size: the window's size, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    ceil_mode: count windows that begin inside and end outside too
    Raises ValueError where dims are missing, or padding is more than half of the kernel."""

@overload
def max_pool2d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    return_indices: Literal[False] = False,
    ceil_mode: _bool = False,
) -> Tensor:
    """Largest element of each window; stride defaults to the kernel size. With return_indices also where in the flattened spatial dims it stands (int64). [n, c, *size] -> [n, c, *out]

    kernel_size: the window's size, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    ceil_mode: count windows that begin inside and end outside too
    Raises ValueError where dims are missing, or padding is more than half of the kernel."""

@overload
def max_pool2d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    *,
    return_indices: Literal[True],
    ceil_mode: _bool = False,
) -> tuple[Tensor, Tensor]: ...
def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = False,
) -> Any:
    """max_pool2d with return_indices=True: (values, indices). Largest element of each window; stride defaults to the kernel size. With return_indices also where in the flattened spatial dims it stands (int64). [n, c, *size] -> [n, c, *out]

    kernel_size: the window's size, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    ceil_mode: count windows that begin inside and end outside too
    Raises ValueError where dims are missing, or padding is more than half of the kernel."""

@overload
def max_pool3d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    return_indices: Literal[False] = False,
    ceil_mode: _bool = False,
) -> Tensor:
    """Largest element of each window; stride defaults to the kernel size. With return_indices also where in the flattened spatial dims it stands (int64). [n, c, *size] -> [n, c, *out]

    kernel_size: the window's size, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    ceil_mode: count windows that begin inside and end outside too
    Raises ValueError where dims are missing, or padding is more than half of the kernel."""

@overload
def max_pool3d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    *,
    return_indices: Literal[True],
    ceil_mode: _bool = False,
) -> tuple[Tensor, Tensor]: ...
def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = False,
) -> Any:
    """max_pool3d with return_indices=True: (values, indices). Largest element of each window; stride defaults to the kernel size. With return_indices also where in the flattened spatial dims it stands (int64). [n, c, *size] -> [n, c, *out]

    kernel_size: the window's size, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    ceil_mode: count windows that begin inside and end outside too
    Raises ValueError where dims are missing, or padding is more than half of the kernel."""

def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    output_size: _int | Sequence[_int] | None = None,
) -> Tensor:
    """Zeros, with each value where max_pool (return_indices=True) found it; of several for one place the last. [n, c, *size], the same int -> [n, c, *out]

    indices: the places that max_pool1d gave
    kernel_size: the window's size, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    output_size: the size of the result, where several fit
    Raises ValueError where the input has not 2 or 3 dims, or indices another shape."""

def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    output_size: _int | Sequence[_int] | None = None,
) -> Tensor:
    """Zeros, with each value where max_pool (return_indices=True) found it; of several for one place the last. [n, c, *size], the same int -> [n, c, *out]

    indices: the places that max_pool2d gave
    kernel_size: the window's size, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    output_size: the size of the result, where several fit
    Raises ValueError where the input has not 3 or 4 dims, or indices another shape."""

def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    output_size: _int | Sequence[_int] | None = None,
) -> Tensor:
    """Zeros, with each value where max_pool (return_indices=True) found it; of several for one place the last. [n, c, *size], the same int -> [n, c, *out]

    indices: the places that max_pool3d gave
    kernel_size: the window's size, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    output_size: the size of the result, where several fit
    Raises ValueError where the input has not 4 or 5 dims, or indices another shape."""

def mish(input: Tensor) -> Tensor:
    """x * tanh(softplus(x)). [...] -> [...]"""

def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
    """Squared difference; a weight for each makes the mean one by weights. [...], [...] -> []

    target: what is wanted
    reduction: "mean", "sum" or "none": what becomes of the losses"""

def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, *given: Any, **how: Any) -> Any:
    """MultiheadAttention as a function of its weights. [n, b, e], [m, b, kdim], [m, b, vdim] -> ([n, b, e],
    weights)

    query, key, value: what attends to what. given: embed_dim_to_check, num_heads,
    in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn,
    dropout_p, out_proj_weight, out_proj_bias. how: the arguments behind these. TypeError for others, and for
    static_k and static_v."""

def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: _int = 1,
    margin: _float = 1.0,
    weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean over the other classes of max(0, margin - right + other)**p. [n, classes], [n] int -> []

    target: what is wanted
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where p is neither 1 nor 2."""

def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """The hinge 1 - right + other over all pairs of a target class and another, by the number of classes.

    Targets are classes up to the first -1 of a row. [n, classes], [n, classes] int -> []

    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where shapes differ, or the target is not of integers."""

def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """binary_cross_entropy_with_logits, its mean over the classes. [..., classes], [..., classes] -> []

    target: what is wanted
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown."""

def native_channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Channels of all groups taken in turn (Zhang et al., 2018). [n, groups * c, ...] -> the same shape

    Raises ValueError where the groups do not divide the channels."""

def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: _int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log-probability of each target, weighted. [n, classes, ...], [n, ...] int -> []

    ignore_index: a class that counts for nothing
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where the target's shape does not fit; TypeError where it is not of integers."""

def normalize(input: Tensor, p: _float = 2.0, dim: _int = 1, eps: _float = 1e-12) -> Tensor:
    """Divided by its p-norm along a dim, which counts as eps at least. [...] -> [...]"""

def one_hot(tensor: Tensor, num_classes: _int = -1) -> Tensor:
    """1 at each index, else 0, as int64. [...] -> [..., num_classes]

    Without num_classes it takes one read, of the largest index."""

def pad(
    input: Tensor, pad: _int | Sequence[_int], mode: str = "constant", value: _float | None = None
) -> Tensor:
    """Padding, (left, right) of the last dim first; mode constant, reflect, replicate or circular.

    Negative amounts cut. [..., n] -> [..., left + n + right]

    pad: how many elements at both ends, the last dim first
    value: what is added
    Raises ValueError where there are too many pairs, more is cut than is there, or the mode takes no value."""

def pairwise_distance(
    x1: Tensor, x2: Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False
) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dim. [..., d], [..., d] -> [...]"""

def pdist(input: Tensor, p: _float = 2.0) -> Tensor:
    """The p-norm distances of all pairs of rows, i < j in reading order. [n, d] -> [n * (n - 1) / 2]

    Raises ValueError where the input has not 2 dims."""

def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor:
    """Channels become pixels (Shi et al., 2016). [..., c * r * r, h, w] -> [..., c, h * r, w * r]

    upscale_factor: how many times larger height and width become
    Raises ValueError where the factor does not divide the channels."""

def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor:
    """Pixels become channels. [..., c, h * r, w * r] -> [..., c * r * r, h, w]

    downscale_factor: how many times smaller height and width become
    Raises ValueError where the factor does not divide height and width."""

def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: _bool = True,
    full: _bool = False,
    eps: _float = 1e-08,
    reduction: str = "mean",
) -> Tensor:
    """Of counts under a Poisson rate (its logarithm); full adds Stirling's log(target!). -> []

    log_input: the input is the logarithm of the rate
    eps: a small number that keeps divisions from 0
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown."""

def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x, or weight * x where x < 0: one weight, or one for each index of dim 1. [n, c, ...], [c] -> same

    Raises ValueError where weight has not one value, or one a channel."""

def put_rows(table: Tensor, rows: Tensor, start: _int | Tensor | HostScalar) -> Tensor:
    """The table with `rows` from row `start` on, a number, HostScalar or tensor; rows past the end, or before
    row 0, are left out. It has no gradient. [..., length, width], [..., n, width] -> [..., length, width]

    Raises ValueError where rows differ from the table's in more than their number."""

def quiet_softmax(input: Tensor, dim: _int = -1) -> Tensor:
    """exp(x) / (1 + sum(exp(x))): softmax that may choose nothing (Miller, 2023). [..., n, ...] -> same"""

def relu(input: Tensor) -> Tensor:
    """max(x, 0). [...] -> [...]"""

def relu6(input: Tensor) -> Tensor:
    """x held inside [0, 6]."""

def relu_(input: Tensor, *args: Any, **kw: Any) -> Tensor:
    """Gives the tensor the value of relu(...), and returns it; TypeError where it can't hold it."""

def rms_norm(
    input: Tensor,
    normalized_shape: _int | Sequence[_int],
    weight: Tensor | None = None,
    eps: _float | None = None,
) -> Tensor:
    """Divided by the root of the mean square over the last dims (Zhang and Sennrich, 2019). [..., n]

    normalized_shape: the sizes of the last dims, over which it goes
    eps: a small number that keeps divisions from 0
    Raises ValueError where the last dims are not normalized_shape."""

def rnnt_loss(
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor | Sequence[_int],
    target_lengths: Tensor | Sequence[_int],
    blank: _int = -1,
    reduction: str = "mean",
) -> Tensor:
    """-log p(targets) of a transducer under any alignment (Graves, 2012), as torchaudio's.

    logits are of each frame and each number of labels that were said before; log-probabilities give the same
    loss. "mean" is of the batch. [n, t, s + 1, c], [n, s], [n], [n] -> []

    logit_lengths: how many frames each sequence has, from 1
    target_lengths: how many labels each sequence has
    blank: the class that stands for no label
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where shapes do not fit together, blank is no class, or reduction is unknown."""

def rrelu(input: Tensor, lower: _float = 0.125, upper: _float = ..., training: _bool = False) -> Tensor:
    """leaky_relu whose slope is drawn for each element in training, else the mean of the bounds.
    [...] -> [...]

    lower, upper: the least and the greatest slope. ValueError where lower is above upper, or either is not
    finite."""

def rrelu_(input: Tensor, lower: _float = 0.125, upper: _float = ..., training: _bool = False) -> Any:
    """Gives the tensor the value of rrelu(...), and returns it; TypeError where it can't hold it. leaky_relu whose slope is drawn for each element in training, else the mean of the bounds.
    [...] -> [...]

    lower, upper: the least and the greatest slope. ValueError where lower is above upper, or either is not
    finite."""

def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: _float = 0.0,
    is_causal: _bool = False,
    scale: _float | HostScalar | None = None,
    enable_gqa: _bool = False,
    softcap: _float | HostScalar | None = None,
    start: _int | Tensor | HostScalar | None = None,
) -> Tensor:
    """softmax(q @ k.T * scale + mask) @ v, the scores never in memory (Dao et al., 2022), but for software
    adapters up to 4 Mi of them. A bool mask keeps where true, a float one is added; a row without keys gives
    0; softcap s makes scores s * tanh(score / s). Causal query i sees the keys up to place start + i:
    `start`, a number, HostScalar or int tensor, is 0 for PyTorch's mask.
    [..., h, n, d], [..., h, m, d], [..., h, m, e] -> [..., h, n, e]

    key: what queries are compared with
    value: what is averaged
    attn_mask: True where a key may be looked at, or floats added to the scores. [..., n, m]
    dropout_p: the share of weights that are dropped
    is_causal: each query looks at keys up to its own place
    enable_gqa: several heads of queries share one of keys and values
    Raises ValueError where shapes do not broadcast."""

def selu(input: Tensor) -> Tensor:
    """elu scaled so that a deep net keeps mean 0 and variance 1 (Klambauer et al., 2017). [...] -> [...]"""

def selu_(input: Tensor) -> Any:
    """Gives the tensor the value of selu(...), and returns it; TypeError where it can't hold it. elu scaled so that a deep net keeps mean 0 and variance 1 (Klambauer et al., 2017). [...] -> [...]"""

def shrink(input: Tensor, lambd: _float = 0.5, bias: _float = 0.0) -> Tensor:
    """x - bias above lambd, x + bias below -lambd, 0 between (ONNX's Shrink). [...] -> [...]

    Raises ValueError where lambd is below 0."""

def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x)). [...] -> [...]"""

def silu(input: Tensor) -> Tensor:
    """x * sigmoid(x). [...] -> [...]"""

def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: _float = 1.0) -> Tensor:
    """huber_loss / beta; the absolute difference for beta=0. [...], [...] -> []

    target: what is wanted
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where beta is below 0."""

def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target * input)) for targets 1 and -1. [...], [...] -> []

    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown."""

def softmax(input: Tensor, dim: _int = -1, dtype: DType | type[Any] | str | None = None) -> Tensor:
    """exp(x) normalised to sum to 1 along a dim. [..., n, ...] -> [..., n, ...]"""

def softmin(input: Tensor, dim: _int = -1, dtype: DType | type[Any] | str | None = None) -> Tensor:
    """softmax of -x. [..., n, ...] -> [..., n, ...]"""

def softplus(input: Tensor, beta: _float = 1.0, threshold: _float = 20.0) -> Tensor:
    """log(1 + exp(beta * x)) / beta; x itself above the threshold, where they agree. [...] -> [...]"""

def softshrink(input: Tensor, lambd: _float = 0.5) -> Tensor:
    """x moved towards 0 by lambd, 0 where |x| <= lambd. [...] -> [...]

    Raises ValueError where lambd is below 0."""

def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|). [...] -> [...]"""

def swiglu(input: Tensor, dim: _int = -1) -> Tensor:
    """silu(a) * b of the halves a, b (Shazeer, 2020). [..., 2n, ...] -> [..., n, ...]

    Raises ValueError where the dim does not halve."""

def tanh(input: Tensor) -> Tensor:
    """hyperbolic tangent. [...] -> [...]"""

def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x). [...] -> [...]"""

def threshold(input: Tensor, threshold: _float, value: _float) -> Tensor:
    """x, or `value` where x <= threshold. [...] -> [...]

    Raises ValueError where the dtype has no such value."""

def threshold_(input: Tensor, threshold: _float, value: _float) -> Any:
    """Gives the tensor the value of threshold(...), and returns it; TypeError where it can't hold it. x, or `value` where x <= threshold. [...] -> [...]

    Raises ValueError where the dtype has no such value."""

def thresholded_relu(input: Tensor, alpha: _float = 1.0) -> Tensor:
    """x, or 0 where x <= alpha (ONNX's ThresholdedRelu). [...] -> [...]"""

def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: _float = 1.0,
    p: _float = 2.0,
    eps: _float = 1e-06,
    swap: _bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin + |anchor - positive| - |anchor - negative|). [n, d], [n, d], [n, d] -> []

    p: which norm the distance is
    eps: a small number that keeps divisions from 0
    swap: take the distance from positive to negative where that is less
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown."""

def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: _float = 1.0,
    swap: _bool = False,
    reduction: str = "mean",
) -> Tensor:
    """triplet_margin_loss by any distance of two tensors. [n, d], [n, d], [n, d] -> []

    anchor: the rows that others are compared with
    positive: rows that should be near
    negative: rows that should be far
    distance_function: of two tensors of rows; the Euclidean distance where there is none
    margin: how much farther the negative should be
    swap: take the distance from positive to negative where that is less
    reduction: "mean", "sum" or "none": what becomes of the losses
    Raises ValueError where reduction is unknown."""

def unfold(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    dilation: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    stride: _int | Sequence[_int] = 1,
) -> Tensor:
    """Every window as a column: nn.functional.unfold. [n, c, h, w] -> [n, c * kh * kw, positions]

    kernel_size: the window's size, one number or one for each dim
    dilation: the distance between elements of a window, one number or one for each dim
    padding: elements added at both ends, one number or one for each dim
    stride: the distance of windows, one number or one for each dim
    Raises ValueError where the input has too few or too many dims; where there is neither one number nor one for each dim."""

def upsample(
    input: Tensor,
    size: _int | Sequence[_int] | None = None,
    scale_factor: _float | Sequence[_float] | None = None,
    mode: str = "nearest",
    align_corners: _bool | None = None,
) -> Tensor:
    """The same as interpolate, by its older name. [n, c, *size] -> [n, c, *out]

    scale_factor: how many times larger
    mode: "nearest", "linear", "bilinear", "bicubic" or "trilinear"
    align_corners: the outermost places are centres of elements, not their edges
    Raises ValueError where the input has not 3 to 5 dims, or size and scale_factor do not fit."""

def upsample_bilinear(
    input: Tensor,
    size: _int | Sequence[_int] | None = None,
    scale_factor: _float | Sequence[_float] | None = None,
) -> Tensor:
    """interpolate(mode="bilinear", align_corners=True) to size, or by scale_factor.
    ValueError where neither or both are given. [n, c, h, w] -> [n, c, oh, ow]"""

def upsample_nearest(
    input: Tensor,
    size: _int | Sequence[_int] | None = None,
    scale_factor: _float | Sequence[_float] | None = None,
) -> Tensor:
    """interpolate(mode="nearest") to size, or by scale_factor; ValueError where neither or both are given.
    [n, c, *size] -> [n, c, *out]"""
