"""Attention of several heads with learned projections, under PyTorch's names."""

from collections.abc import Callable
from typing import Any

from ..core.dtype import DTypeLike
from ..core.node import describe
from ..device import DeviceLike
from ..errors import TypeError, ValueError
from ..ops.attention.attention import scaled_dot_product_attention, with_weights
from ..ops.contract import linear
from ..ops.join import cat
from ..tensor import Tensor
from . import init
from .linear import Linear, new_parameter, positive
from .module import Module
from .parameter import Parameter


def join_masks(
    attn_mask: Tensor | None, key_padding_mask: Tensor | None, heads: int, dtype: DTypeLike | None
) -> Tensor | None:
    """Combine both masks: True (or a float to add) where a query attends to a key. -> [b or 1, h or 1, n, m]

    PyTorch's bool masks have True where a key is masked out; attn_mask is [n, m] or [b * h, n, m],
    key_padding_mask [b, m].
    """
    if attn_mask is not None and attn_mask.ndim == 3:
        attn_mask = attn_mask.reshape(-1, heads, *attn_mask.shape[1:])  # [b * h, n, m] to [b, h, n, m]
    # [b, m] to [b, 1, 1, m]: the same for all heads and queries
    padding = None if key_padding_mask is None else key_padding_mask.unsqueeze(1).unsqueeze(1)
    masks = [m for m in (attn_mask, padding) if m is not None]
    if all(m.dtype.kind == "b" for m in masks):
        allowed = [m.logical_not() for m in masks]  # PyTorch's True is "masked out", here True is "attend"
        return None if not allowed else allowed[0] if len(allowed) == 1 else allowed[0] & allowed[1]
    # a bool mask beside a float one becomes -inf
    added = [m.where(float("-inf"), 0.0) if m.dtype.kind == "b" else m for m in masks]
    return (added[0] if len(added) == 1 else added[0] + added[1]).to(dtype)


Inputs = tuple[Tensor, Tensor, Tensor]  # queries, keys and values


class MultiheadAttention(Module):
    """Attention by several heads (Vaswani et al., 2017). [n, b, e], [m, b, kdim], [m, b, vdim] -> [n, b, e]

    embed_dim: features of queries and results, which num_heads heads share. dropout: the fraction of weights
    dropped in training. add_bias_kv: append a learned key and value; add_zero_attn: append a key and value of
    zeros. kdim, vdim: features of keys and values, embed_dim by default. batch_first: the batch before the
    sequence. ValueError if the heads do not divide embed_dim.
    """

    in_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ):
        positive("MultiheadAttention", embed_dim=embed_dim, num_heads=num_heads)
        if embed_dim % num_heads:
            rule = "num_heads must divide embed_dim: pass a divisor"
            raise ValueError(f"MultiheadAttention({embed_dim}, {num_heads}): {rule}")
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.head_dim = embed_dim // num_heads
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.batch_first, self.add_zero_attn = batch_first, add_zero_attn
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self._make(bias, add_bias_kv, device)
        if dtype is not None:
            self.to(dtype)

    def _make(self, bias: bool, add_bias_kv: bool, device: Any) -> None:
        e = self.embed_dim
        # PyTorch's order: the output layer draws its values before the others
        self.out_proj = Linear(e, e, bias, device=device)
        # PyTorch's layout: one matrix for q, k and v if all have embed_dim features.
        if self._qkv_same_embed_dim:
            self.in_proj_weight = new_parameter(3 * e, e, device=device)
        else:
            self.in_proj_weight = None
            for name, n in (("q", e), ("k", self.kdim), ("v", self.vdim)):
                setattr(self, f"{name}_proj_weight", new_parameter(e, n, device=device))
        self.in_proj_bias = new_parameter(3 * e, device=device) if bias else None
        self.bias_k = new_parameter(1, 1, e, device=device) if add_bias_kv else None
        self.bias_v = new_parameter(1, 1, e, device=device) if add_bias_kv else None
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        """Initialise the parameters again, except for the output layer's weight."""
        joined = self.in_proj_weight
        for weight in self._weights() if joined is None else [joined]:
            init.xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                init.xavier_normal_(extra)

    def _weights(self) -> list[Tensor]:
        if self.in_proj_weight is not None:
            return list(self.in_proj_weight.chunk(3))
        return [getattr(self, f"{name}_proj_weight") for name in "qkv"]

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        """Queries, keys and values, by one product if the inputs are one tensor. [b, n, e] each"""
        bias = self.in_proj_bias
        if query is key is value and self.in_proj_weight is not None:
            return list(linear(query, self.in_proj_weight, bias).chunk(3, -1))
        biases = [None] * 3 if bias is None else bias.chunk(3)  # three products
        maps = zip((query, key, value), self._weights(), biases, strict=True)
        return [linear(x, w, b) for x, w, b in maps]

    def _heads(self, x: Tensor) -> Tensor:
        # [b, n, h * d] to [b, h, n, d]
        return x.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the attention result, and the weights if need_weights.

        key_padding_mask: True (or -inf) for padding among the keys, [b, m]. attn_mask: True where a query may
        not attend to a key, or floats that are added to the scores, [n, m] or [b * heads, n, m].
        average_attn_weights: return the mean weights of all heads. is_causal: attn_mask is the causal one.
        The result and the weights of a query that may attend to no key are 0.
        """
        if is_causal and attn_mask is None:
            raise ValueError(
                "MultiheadAttention(is_causal=True): it is a hint about attn_mask: pass attn_mask too"
            )
        if query.ndim not in (2, 3) or {key.ndim, value.ndim} != {query.ndim}:
            shapes = ", ".join(map(describe, (query, key, value)))
            raise ValueError(
                f"MultiheadAttention({shapes}): takes 3 dims, or 2 without a batch: reshape them"
            )
        masks = (attn_mask, key_padding_mask)
        if query.ndim == 2:
            inputs = _unsqueeze_batch((query, key, value))
            padding = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
            y, weights = self._attend(inputs, (attn_mask, padding), need_weights, is_causal)
            y, weights = y.squeeze(0), None if weights is None else weights.squeeze(0)
        elif self.batch_first:
            y, weights = self._attend((query, key, value), masks, need_weights, is_causal)
        else:
            y, weights = self._attend(_batch_first((query, key, value)), masks, need_weights, is_causal)
            y = y.transpose(0, 1)
        # [b, h, n, m] to the mean over heads
        return y, weights.mean(-3) if weights is not None and average_attn_weights else weights

    def _attend(
        self, inputs: Inputs, masks: tuple[Tensor | None, Tensor | None], need_weights: bool, causal: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Attention of batches [b, n, e]; also the weights of all heads."""
        q, k, v = self._project(*inputs)
        attn_mask, padding = masks
        k, v, more = self._append(k, v)
        q, k, v = map(self._heads, (q, k, v))
        p = self.dropout if self.training else 0.0
        # The causal kernel needs no mask tensor; it neither returns weights nor knows padding.
        if causal and not need_weights and padding is None and not more:
            y, weights = scaled_dot_product_attention(q, k, v, None, p, True), None
        else:
            mask = join_masks(_extend(attn_mask, more), _extend(padding, more), self.num_heads, q.dtype)
            if need_weights:
                y, weights = with_weights(q, k, v, mask, p)
            else:
                y, weights = scaled_dot_product_attention(q, k, v, mask, p), None
        return self.out_proj(y.transpose(1, 2).flatten(-2)), weights  # [b, h, n, d] to [b, n, h * d]

    def _append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, int]:
        """Append the keys and values of add_bias_kv and add_zero_attn; also return their number."""
        before, batch = k.shape[1], k.shape[0]
        if self.bias_k is not None and self.bias_v is not None:
            k, v = (
                cat([x, b.expand(batch, 1, self.embed_dim)], 1)
                for x, b in ((k, self.bias_k), (v, self.bias_v))
            )
        if self.add_zero_attn:
            k, v = (x.pad((0, 0, 0, 1)) for x in (k, v))
        return k, v, k.shape[1] - before


def _extend(mask: Tensor | None, more: int) -> Tensor | None:
    """Extend a mask by `more` keys that every query attends to."""
    if mask is None or not more:
        return mask
    added = Tensor.zeros(*mask.shape[:-1], more, dtype=mask.dtype, device=mask.device)
    return cat([mask, added], -1)


def _map_each(f: Callable[[Tensor], Tensor], inputs: Inputs) -> Inputs:
    """Apply f to each input. Inputs that are one tensor stay one, so that one product projects them."""
    query, key, value = inputs
    first = f(query)
    second = first if key is query else f(key)
    return first, second, first if value is query else second if value is key else f(value)


def _unsqueeze_batch(inputs: Inputs) -> Inputs:
    """Add a batch of one. [n, e] -> [1, n, e]"""
    return _map_each(lambda x: x.unsqueeze(0), inputs)


def _batch_first(inputs: Inputs) -> Inputs:
    """[n, b, e] -> [b, n, e]"""
    return _map_each(lambda x: x.transpose(0, 1), inputs)


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """MultiheadAttention as a function of its weights. [n, b, e], [m, b, kdim], [m, b, vdim] -> ([n, b, e],
    weights)

    embed_dim_to_check: accepted as in PyTorch, without effect
    num_heads: heads that share the features
    in_proj_weight, in_proj_bias: of the projections of query, key and value. [3 e, e], [3 e]
    bias_k, bias_v: a key and a value behind the others. [1, 1, e]
    add_zero_attn: add a key and a value of zeros
    dropout_p: the share of weights dropped in training
    out_proj_weight, out_proj_bias: of the projection of the result. [e, e], [e]
    training: whether weights are dropped
    key_padding_mask: True where a key is not attended to. [b, m]
    need_weights: also return the weights; average_attn_weights: as their mean over the heads
    attn_mask: added to the scores, or True for pairs without attention. [n, m], [b * heads, n, m]
    use_separate_proj_weight: use q_proj_weight, k_proj_weight and v_proj_weight, not in_proj_weight
    static_k, static_v: must be None, otherwise TypeError
    is_causal: attn_mask is the causal one
    """
    if static_k is not None or static_v is not None:
        rule = "not supported: use scaled_dot_product_attention"
        raise TypeError(f"multi_head_attention_forward: static_k and static_v: {rule}")
    # A layer without parameters: its weights are the arguments.
    layer: Any = Module.__new__(MultiheadAttention)
    embed_dim = query.shape[-1]
    layer.embed_dim, layer.num_heads, layer.dropout = embed_dim, num_heads, dropout_p
    layer.head_dim, layer.batch_first = embed_dim // num_heads, False
    layer.add_zero_attn, layer.training = add_zero_attn, training
    layer.in_proj_weight = None if use_separate_proj_weight else in_proj_weight
    layer.in_proj_bias, layer.bias_k, layer.bias_v = in_proj_bias, bias_k, bias_v
    if use_separate_proj_weight:
        layer.q_proj_weight, layer.k_proj_weight = q_proj_weight, k_proj_weight
        layer.v_proj_weight = v_proj_weight

    def project(x: Tensor) -> Tensor:
        return linear(x, out_proj_weight, out_proj_bias)

    layer.out_proj = project
    return layer(
        query,
        key,
        value,
        key_padding_mask,
        need_weights,
        attn_mask=attn_mask,
        average_attn_weights=average_attn_weights,
        is_causal=is_causal,
    )
