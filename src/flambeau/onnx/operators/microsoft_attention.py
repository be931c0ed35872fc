"""com.microsoft's attention: Attention, MultiHeadAttention, GroupQueryAttention, and its RotaryEmbedding."""

from math import inf, sqrt
from typing import Any, NamedTuple

from ...functions import cat, stack, where
from ...nn import functional as F
from ...nn.positions import rotate_pairs
from ...tensor import Tensor
from .attention import (
    AttentionAttributes,
    attend,
    causal_mask,
    combine_masks,
    intersect_masks,
    merge_heads,
    scores_of,
    split_heads,
    values_by,
)
from .quantized import matmul_integer
from .table import operator

MS = "com.microsoft"


def _refuse(feature: str, *values: Any) -> None:
    """Raise ValueError for inputs and attributes that this form of the operator does not support."""
    if any(v is not None and v is not False and v != 0 for v in values if not isinstance(v, Tensor)) or any(
        isinstance(v, Tensor) for v in values
    ):
        raise ValueError(f"{feature}: this is not supported")


def _places(n: int, device: Any) -> Tensor:
    return Tensor.arange(n, device=device)


def _padding(mask: Tensor | None, batch: int, m: int) -> Tensor | None:
    """Return the mask of valid keys from any form: lengths [b]; ends, then starts [2 * b]; 1 for valid keys
    [b, m] or [b, n, m]. -> [b, 1, 1 or n, m] of bool"""
    if mask is None:
        return None
    places = _places(m, mask.device)
    if mask.ndim == 1 and mask.shape[0] == batch:
        return (places < mask.reshape(-1, 1, 1, 1)).bool()
    if mask.ndim == 1 and mask.shape[0] == 2 * batch:
        ends, starts = (t.reshape(-1, 1, 1, 1) for t in mask.chunk(2, 0))
        return (places < ends) & (places >= starts)
    if mask.ndim in (2, 3) and mask.shape[-1] == m:
        return (mask != 0).unsqueeze(1) if mask.ndim == 3 else (mask != 0).reshape(-1, 1, 1, m)
    raise ValueError(f"a mask of the shape {list(mask.shape)}: takes [b], [2 * b], [b, m] or [b, n, m]")


def _bias(keep: Tensor | None, added: Tensor | None, fill: float) -> Tensor | None:
    """Return the masks as a bias of the scores; padding gets a finite number, as in onnxruntime."""
    # Finite (-10000): a row without valid keys then has equal weights instead of NaN.
    mask = None if keep is None else where(keep, 0.0, fill)
    return mask if added is None else added.float() if mask is None else mask + added.float()


class MsAttentionInputs(NamedTuple):
    """The inputs of com.microsoft's Attention."""

    x: Tensor
    weights: Tensor
    bias: Tensor | None = None
    mask: Tensor | None = None
    past: Tensor | None = None  # [2, b, heads, p, d]
    added: Tensor | None = None
    past_length: Tensor | None = None


class MsAttentionAttributes(NamedTuple):
    """The attributes of com.microsoft's Attention and MultiHeadAttention, under their names."""

    num_heads: int
    do_rotary: int = 0
    mask_filter_value: float = -10000.0
    past_present_share_buffer: int = 0
    qkv_hidden_sizes: tuple[int, ...] | None = None
    rotary_embedding_dim: int = 0
    scale: float | None = None
    unidirectional: int = 0


def _attributes(q: Tensor, scale: float | None, **more: Any) -> AttentionAttributes:
    return AttentionAttributes(scale=scale or 1 / sqrt(q.shape[-1]), **more)


@operator("Attention", domain=MS)
def ms_attention(*inputs: Any, **attributes: Any) -> tuple[Any, ...]:
    """Self-attention that includes the projection. [b, n, i], [i, q + k + v] -> [b, n, v], [2, b, heads, all,
    d]"""
    i, a = MsAttentionInputs(*inputs), MsAttentionAttributes(**attributes)
    _refuse("shared buffers", i.past_length)
    projected = i.x @ i.weights
    return _self_attention(projected if i.bias is None else projected + i.bias, i, a)


def _self_attention(
    projected: Tensor, i: "MsAttentionInputs | QAttentionInputs", a: MsAttentionAttributes
) -> tuple[Any, ...]:
    """Attention of concatenated queries, keys and values. [b, n, q + k + v] -> [b, n, v], present"""
    _refuse("rotary embeddings and shared buffers", a.do_rotary, a.past_present_share_buffer)
    # One matrix projects to q, k and v side by side; v may have another width (qkv_hidden_sizes).
    sizes = list(a.qkv_hidden_sizes or [projected.shape[-1] // 3] * 3)
    q, k, v = (split_heads(t, a.num_heads) for t in projected.split(sizes, -1))
    past = 0 if i.past is None else i.past.shape[3]
    if i.past is not None:
        k, v = cat([i.past[0], k], 2), cat([i.past[1], v], 2)
    bias = _bias(_padding(i.mask, q.shape[0], k.shape[2]), i.added, a.mask_filter_value)
    how = _attributes(q, a.scale, is_causal=a.unidirectional)
    # present is [2, b, heads, all, d]: keys and values in one tensor, so only for equal widths
    present = stack([k, v]) if k.shape == v.shape else None
    return merge_heads(attend(q, k, v, bias, how, past)), present


class QAttentionInputs(NamedTuple):
    """The inputs of QAttention: numbers of 8 bits with their scales and zero points."""

    x: Tensor
    weights: Tensor
    bias: Tensor
    x_scale: Tensor
    w_scale: Tensor  # one, or one a column
    mask: Tensor | None = None
    x_zero: Tensor | None = None
    w_zero: Tensor | None = None
    past: Tensor | None = None  # [2, b, heads, p, d]

    @property
    def added(self) -> None:
        """None: QAttention has no bias of the scores."""


@operator("QAttention", domain=MS)
def q_attention(*inputs: Any, **attributes: Any) -> tuple[Any, ...]:
    """Self-attention with a quantised projection. [b, n, i], [i, q + k + v] -> [b, n, v], present"""
    i, a = QAttentionInputs(*inputs), MsAttentionAttributes(**attributes)
    # int32 sums of 8-bit products times both scales; a w_scale for each column broadcasts over the last
    # dim.
    projected = matmul_integer(i.x, i.weights, i.x_zero, i.w_zero).float() * (i.x_scale * i.w_scale) + i.bias
    return _self_attention(projected, i, a)


class MultiHeadInputs(NamedTuple):
    """The inputs of MultiHeadAttention."""

    q: Tensor  # [b, n, hidden], or all three [b, n, heads, 3, d]
    k: Tensor | None = None  # [b, m, hidden], [b, heads, m, d], or both [b, m, heads, 2, d]
    v: Tensor | None = None
    bias: Tensor | None = None
    padding: Tensor | None = None
    added: Tensor | None = None
    past_key: Tensor | None = None
    past_value: Tensor | None = None
    past_length: Tensor | None = None
    indirection: Tensor | None = None


def _unpack(i: MultiHeadInputs, heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values [b, heads, n, d] from any layout of the inputs, with the bias added."""
    parts: list[Any] = [i.q, i.k, i.v]
    if i.q.ndim == 5:
        # [b, n, heads, 3, d] -> three of [b, n, heads * d]
        parts = [i.q[:, :, :, k].flatten(2) for k in range(3)]
    elif i.k is not None and i.k.ndim == 5:
        parts[1:] = [i.k[:, :, :, k].flatten(2) for k in range(2)]
    if parts[1] is None or parts[2] is None:
        raise ValueError("keys and values are missing: pass them, or all three in the query")
    if i.bias is not None:
        # One vector holds the biases of q, k and v. Inputs of 4 dims are projected already: onnxruntime adds
        # none.
        sizes = [p.shape[-1] if p.ndim == 3 else p.shape[1] * p.shape[3] for p in parts]
        biases = i.bias.split(sizes, 0)
        parts = [p + b if p.ndim == 3 else p for p, b in zip(parts, biases, strict=True)]
    q, k, v = (split_heads(p, heads) for p in parts)
    return q, k, v


@operator("MultiHeadAttention", domain=MS)
def multi_head_attention(*inputs: Any, node: Any, **attributes: Any) -> tuple[Any, ...]:
    """Attention of heads that are concatenated; also returns keys and values with the past ones. [b, n,
    hidden] -> same"""
    i, a = MultiHeadInputs(*inputs), MsAttentionAttributes(**attributes)
    _refuse("beam search's caches", i.past_length, i.indirection)
    q, k, v = _unpack(i, a.num_heads)
    past = 0 if i.past_key is None else i.past_key.shape[2]
    k = k if i.past_key is None else cat([i.past_key, k], 2)
    v = v if i.past_value is None else cat([i.past_value, v], 2)
    bias = _bias(_padding(i.padding, q.shape[0], k.shape[2]), i.added, a.mask_filter_value)
    how = _attributes(q, a.scale, is_causal=a.unidirectional)
    y = merge_heads(attend(q, k, v, bias, how, past))
    scores = scores_of(q, k, a.scale or 1 / sqrt(q.shape[-1])) if node.wants(3) else None
    return y, k, v, scores


# --- grouped queries ---


class GroupedInputs(NamedTuple):
    """The inputs of GroupQueryAttention."""

    q: Tensor  # [b, n, heads * d], or packed with keys and values [b, n, (heads + 2 * groups) * d]
    k: Tensor | None
    v: Tensor | None
    past_key: Tensor | None  # [b, groups, p, d]
    past_value: Tensor | None
    last: Tensor  # the position of each sample's last key, [b]
    total: Tensor  # the number of keys of the longest sample
    cos: Tensor | None = None
    sin: Tensor | None = None
    places: Tensor | None = None
    added: Tensor | None = None
    sink: Tensor | None = None  # an additional score of each head, which has no key (attention sink), [heads]
    k_scale: Tensor | None = None
    v_scale: Tensor | None = None
    q_norm: Tensor | None = None
    k_norm: Tensor | None = None
    query_lengths: Tensor | None = None


class GroupedAttributes(NamedTuple):
    """The attributes of GroupQueryAttention, under its names."""

    num_heads: int
    kv_num_heads: int
    causal: int = 1
    do_rotary: int = 0
    k_norm_epsilon: float | None = None
    k_quant_type: str = "NONE"
    kv_cache_bit_width: int = 0
    local_window_size: int = -1
    q_norm_epsilon: float | None = None
    qk_norm_epsilon: float = 1e-6
    qk_output: int = 0
    rotary_interleaved: int = 0
    scale: float | None = None
    sliding_window_cache: int = 0
    smooth_softmax: int = 0
    softcap: float = 0.0
    v_quant_type: str = "NONE"


def _grouped_parts(i: GroupedInputs, a: GroupedAttributes) -> list[Tensor]:
    """Return queries, keys and values [b, heads, n, d], normalised per head if the inputs have norm
    weights."""
    parts: list[Any] = [i.q, i.k, i.v]
    if i.k is None:
        # packed: q's heads, then k's, then v's, all of width d
        d = i.q.shape[-1] // (a.num_heads + 2 * a.kv_num_heads)
        parts = list(i.q.split([a.num_heads * d, *[a.kv_num_heads * d] * 2], -1))
    heads = (a.num_heads, a.kv_num_heads, a.kv_num_heads)
    by_heads = [split_heads(p, h) for p, h in zip(parts, heads, strict=True)]
    norms = ((i.q_norm, a.q_norm_epsilon), (i.k_norm, a.k_norm_epsilon))
    for index, (weight, epsilon) in enumerate(norms):
        if weight is not None:
            eps = a.qk_norm_epsilon if epsilon is None else epsilon
            by_heads[index] = F.rms_norm(by_heads[index], (by_heads[index].shape[-1],), weight, eps)
    return by_heads


def _write_rows(past: Tensor | None, new: Tensor, positions: Tensor, length: int) -> Tensor:
    """Write new rows into a cache, from a position for each sample on. [b, g, p, d], [b, g, n, d], [b] -> [b,
    g, length, d]"""
    b, g, n, d = new.shape
    if past is None or past.shape[2] == 0:
        return new if n == length else new.pad([0, 0, 0, length - n])
    # Sample b's new rows go to at[b], at[b] + 1, ...: samples of a batch have different lengths.
    cache = past.pad([0, 0, 0, max(length - past.shape[2], 0)])
    rows = (positions.reshape(-1, 1, 1, 1) + _places(n, new.device).reshape(1, 1, -1, 1)).expand(b, g, n, d)
    return cache.scatter(2, rows, new)


def _with_sink(
    q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, a: AttentionAttributes, sink: Any
) -> Tensor:
    """Attention whose softmax includes an additional score without a value for each row."""
    scores = scores_of(q.float(), k.float(), a.scale)  # type: ignore[arg-type]
    scores = (scores / a.softcap).tanh() * a.softcap if a.softcap else scores
    if bias is not None:
        scores = where(bias, scores, -inf) if bias.dtype.kind == "b" else scores + bias
    # smooth_softmax: exp(0) = 1 in the denominator. With a sink it is exp(sink) of the head.
    rest = Tensor.zeros(1, device=q.device) if sink is None else sink.float()
    column = rest.reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)
    weights = F.softmax(cat([scores, column], -1), -1)[..., : k.shape[2]]
    return values_by(weights, v.float()).to(q.dtype)


@operator("GroupQueryAttention", domain=MS, sized_by_values=True)
def group_query_attention(
    *inputs: Any, num_heads: int, kv_num_heads: int, node: Any, **attributes: Any
) -> tuple[Any, ...]:
    """Grouped-query attention with a cache. [b, n, heads * d] -> same, the cache's keys and values"""
    i, a = GroupedInputs(*inputs), GroupedAttributes(num_heads, kv_num_heads, **attributes)
    quantised = a.kv_cache_bit_width or a.k_quant_type != "NONE" or a.v_quant_type != "NONE"
    _refuse(
        "a quantised or sliding cache", bool(quantised), a.sliding_window_cache, i.k_scale, i.query_lengths
    )
    _refuse("the output of scores", node.wants(3))
    q, k, v = _grouped_parts(i, a)
    # The number of keys sizes the cache, hence sized_by_values: the host must know it.
    n, total = q.shape[2], int(i.total.item())
    # seqlens_k is the number of valid keys minus 1 in onnxruntime's definition.
    ends = i.last.reshape(-1).long() + 1
    # the samples of a prompt, which are padded at the end, all begin at 0
    first = ends * 0 if n == total else ends - n
    if a.do_rotary:
        q, k = _rotate(i, a, q, first), _rotate(i, a, k, first)
    length = max(total, 0 if i.past_key is None else i.past_key.shape[2])
    k, v = _write_rows(i.past_key, k, first, length), _write_rows(i.past_value, v, first, length)
    # local_window_size counts the query's own position; ONNX's left window does not.
    window = a.local_window_size - 1 if a.local_window_size > 0 else -1
    order = AttentionAttributes(is_causal=a.causal, left_window_size=window)
    # Rows of a cache after a sample's end are masked: by causality, or by its length if not causal.
    allowed = causal_mask(n, length, first.reshape(-1, 1, 1, 1), order, q.device)
    valid = None if a.causal else _places(length, q.device) < ends.reshape(-1, 1, 1, 1)
    allowed = intersect_masks(allowed, valid)
    added = None if i.added is None else i.added.pad([0, length - i.added.shape[-1]])
    bias, how = combine_masks(added, allowed), _attributes(q, a.scale, softcap=a.softcap)
    if i.sink is not None or a.smooth_softmax > 0:
        y = _with_sink(q, k, v, bias, how, i.sink)
    else:
        y = attend(q, k, v, bias, how)
    return merge_heads(y), k, v


def _rotate(i: GroupedInputs, a: GroupedAttributes, x: Tensor, first: Tensor) -> Tensor:
    """Rotate x by its positions. [b, heads, n, d] -> same"""
    if i.cos is None or i.sin is None:
        raise ValueError("do_rotary needs cos_cache and sin_cache")
    places = first.reshape(-1, 1) + _places(x.shape[2], x.device) if i.places is None else i.places.long()
    cos, sin = (t[places].unsqueeze(1) for t in (i.cos, i.sin))
    return rotate_pairs(x, cos, sin, bool(a.rotary_interleaved))


@operator("RotaryEmbedding", domain=MS)
def ms_rotary_embedding(
    x: Tensor, places: Tensor, cos: Tensor, sin: Tensor, *, interleaved: int = 0, **more: Any
) -> Tensor:
    """Rotate x by its positions. [b, n, heads * d] or [b, heads, n, d], [1] or [b, n] -> same as x"""
    heads, dim, scale = (more.pop(k, 0) for k in ("num_heads", "rotary_embedding_dim", "scale"))
    _refuse("a packed batch", more.pop("is_packed_batching", 0), *more)
    _refuse("a scale", scale if scale != 1 else 0)
    flat = x.ndim == 3
    by_heads = split_heads(x, heads or x.shape[-1] // (2 * cos.shape[-1]))
    # [1] is the offset of the first token, [b, n] are all positions.
    if places.numel() == 1:
        places = places.reshape(1, 1) + _places(by_heads.shape[2], x.device)
    cos, sin = (t[places.long()].unsqueeze(1) for t in (cos, sin))
    width = (dim or 2 * cos.shape[-1]) // 2
    y = rotate_pairs(by_heads, cos[..., :width], sin[..., :width], bool(interleaved))
    return merge_heads(y) if flat else y
