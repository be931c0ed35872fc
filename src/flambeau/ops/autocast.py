"""The table of autocast: which operations cast their tensors to 16 bits, which to float32, and which to the
widest dtype among them. All others do not change them. The lists are PyTorch's for CUDA; an operation that
PyTorch composes of these is listed under the dtype of PyTorch's result."""

from ..core.autocast import RULES, in_float32, in_lower, in_widest

LOWER = """
    addbmm addmm addmv addr baddbmm bmm chain_matmul conv1d conv2d conv3d conv_transpose1d conv_transpose2d
    conv_transpose3d einsum linalg_matmul linalg_multi_dot linalg_vecdot linear matmul mm mv prelu
    recurrence scaled_dot_product_attention
"""
FLOAT32 = """
    acos asin binary_cross_entropy binary_cross_entropy_with_logits cdist cosh cosine_embedding_loss
    cosine_similarity cross_entropy cumprod cumsum cumulative_trapezoid deform_conv2d dist erfinv exp expm1
    group_norm gumbel_softmax hinge_embedding_loss huber_loss interpolate kl_div l1_loss layer_norm
    linalg_matrix_norm linalg_norm linalg_vector_norm local_response_norm log log10 log1p log2 log_softmax
    logsumexp lp_pool1d lp_pool2d lp_pool3d margin_ranking_loss mse_loss multi_margin_loss
    multilabel_margin_loss multilabel_soft_margin_loss nll_loss norm normalize pairwise_distance pdist
    poisson_nll_loss pow prod reciprocal renorm rms_norm rsqrt sinh smooth_l1_loss soft_margin_loss softmax
    softmin softplus square sum tan trapezoid triplet_margin_loss triplet_margin_with_distance_loss upsample
"""
WIDEST = """
    addcdiv addcmul atan2 bilinear cross dot grid_sample index_put scatter_add tensordot vdot
"""

for _rule, _names in {in_lower: LOWER, in_float32: FLOAT32, in_widest: WIDEST}.items():
    RULES.update(dict.fromkeys(_names.split(), _rule))
