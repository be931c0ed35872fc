"""The operations without a rule by names, and the sentence that says what to write instead."""

from __future__ import annotations

PLAIN = (
    "its dims are positions: call it with x.to_tensor('row', 'column') and name the result by fb.named.tensor"
)
UNKNOWN_SIZE = "its size depends on values: call it with x.tensor and name the result by fb.named.tensor"
MATRIX = "its result has new dims: call it with x.to_tensor('row', 'column') and name each result"
SHAPE = "a shape has no names: write x.flatten, x.unflatten, or x.rearrange"
DIAGONAL = "two dims become one: write fb.named.tensor(fb.{name}(x.to_tensor('row', 'column')), names)"
COPIES = "copies along a dim: write x.repeat('row -> (row 2)') or x.expand(new=2)"
NEW = "a new tensor: write fb.named.tensor(fb.{name}(...), names)"
PARTS = "write x.split, x.chunk or x.tensor_split with the name of the dim"
JOINS = "write fb.named.cat(tensors, 'row') or fb.named.stack(tensors, 'new')"
SUMS = "write c + a.dot(b, 'name')"
PAIRS = "all pairs: write x * y with different names"
STATISTICS = "rows and columns are positions: call it with x.to_tensor('variable', 'observation')"
TEXT_LOSS = "its layout is fixed: call it with x.to_tensor('time', 'batch', 'class')"
ROWS_LOSS = "its layout is fixed: call it with x.to_tensor('batch', 'class')"
FOURIER = "its result has new dims: call it with x.to_tensor('batch', 'time') and name the result"
BY_INDEX = "write x.gather, x.scatter or x.isel with the name of the dim"
TURNS = "write x.flip('row') and x.order('column', 'row')"
STORAGE = "a layout in memory has no names: call it with x.tensor"
QUANTISED = "weights have no named dims: call it with x.to_tensor(..., 'feature') and name the result"
LAYER = (
    "its weights have positions: write fb.named.Layer(layer, 'feature', 'hidden')(x), or x.dot(w, 'feature')"
)
EINSUM = "letters are positions: write fb.named.einsum(x, y, 'a b, b c -> a c')"
INNER = "a part of other operations, which take names: use these"

_GROUPS = {
    PLAIN: (
        "gradient combinations pdist cdist affine_grid grid_sample deform_conv2d im2col col2im "
        "channel_shuffle embedding_bag gather_nd scatter_nd unravel_index rot90 histogram histc "
        "histogramdd bincount apply_ map_ map2_ dim_order pairwise_distance bilinear multinomial "
        "searchsorted view_as_complex view_as_real"
    ),
    UNKNOWN_SIZE: (
        "nonzero nonzero_static argwhere unique unique_consecutive masked_select masked_scatter take"
    ),
    MATRIX: (
        "linalg_lu_factor_ex linalg_lu_factor linalg_lu lu_unpack linalg_lu_solve lu_solve "
        "linalg_solve_ex linalg_solve linalg_solve_triangular linalg_inv_ex linalg_cholesky_ex "
        "cholesky_solve linalg_qr geqrf ormqr linalg_householder_product linalg_eigh linalg_eigvalsh "
        "linalg_svd linalg_svdvals svd linalg_norm linalg_pinv pinverse linalg_lstsq linalg_vander "
        "linalg_tensorsolve linalg_tensorinv qr norm dist linalg_eig linalg_eigvals "
        "linalg_ldl_factor_ex linalg_ldl_factor linalg_ldl_solve lobpcg vander adjoint"
    ),
    SHAPE: (
        "reshape reshape_as view view_as ravel broadcast_to expand_as sum_to_size t moveaxis movedim "
        "atleast_1d atleast_2d atleast_3d broadcast_tensors"
    ),
    DIAGONAL: ("fill_diagonal_ diagonal diag diag_embed diagflat linalg_diagonal"),
    COPIES: ("tile"),
    NEW: (
        "eye linspace logspace randperm meshgrid cartesian_prod tril_indices triu_indices new "
        "new_empty_strided fft_fftfreq fft_rfftfreq hann_window hamming_window blackman_window "
        "bartlett_window kaiser_window signal_windows_general_cosine signal_windows_general_hamming "
        "signal_windows_nuttall signal_windows_gaussian signal_windows_exponential "
        "signal_windows_cosine random_bits"
    ),
    PARTS: ("hsplit vsplit dsplit split_with_sizes unsafe_chunk unsafe_split unsafe_split_with_sizes"),
    JOINS: ("hstack vstack dstack column_stack block_diag"),
    SUMS: ("addmm addmv addr addbmm baddbmm"),
    PAIRS: ("outer ger kron linalg_multi_dot chain_matmul linalg_matmul"),
    STATISTICS: ("cov corrcoef"),
    TEXT_LOSS: ("ctc_loss rnnt_loss"),
    ROWS_LOSS: (
        "multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss triplet_margin_loss "
        "triplet_margin_with_distance_loss cosine_embedding_loss"
    ),
    FOURIER: ("stft istft"),
    BY_INDEX: (
        "__getitem__ __setitem__ index_put put slice_assign slice_scatter select_scatter "
        "diagonal_scatter as_strided_scatter put_rows narrow_copy"
    ),
    TURNS: ("fliplr flipud msort"),
    STORAGE: ("as_strided storage_offset stride is_cpu is_meta set_ resize_ resize_as_"),
    QUANTISED: ("quantize quantized_linear"),
    LAYER: ("linear"),
    EINSUM: ("einsum"),
    INNER: ("conv conv_transpose max_pool window_sum adaptive_sum adaptive_max resize iota constant buffer"),
}
REFUSED = {name: text.format(name=name) for text, names in _GROUPS.items() for name in names.split()}


def in_place_refusal(name: str) -> str:
    """The sentence for an operation in place that has no rule.

    name: the operation, which ends with _
    """
    return f"does not write by names: write x = x.{name.rstrip('_')}(...)"
