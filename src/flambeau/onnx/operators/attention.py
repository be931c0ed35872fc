"""Attention in ONNX's forms, rotary embeddings, and gated products."""

from math import inf, sqrt
from typing import Any, NamedTuple

from ...core import dtype as dt
from ...device import DeviceLike
from ...functions import cat, stack, where
from ...nn import functional as F
from ...nn.positions import rotate_pairs
from ...tensor import Tensor
from .cast import dtype_name_of
from .table import operator


class AttentionInputs(NamedTuple):
    """The inputs of Attention."""

    q: Tensor
    k: Tensor
    v: Tensor
    mask: Tensor | None = None
    past_key: Tensor | None = None
    past_value: Tensor | None = None
    valid: Tensor | None = None  # the number of valid keys of each sample, [b]


class AttentionAttributes(NamedTuple):
    """The attributes of Attention, under ONNX's names."""

    is_causal: int = 0
    kv_num_heads: int | None = None
    left_window_size: int = -1
    q_num_heads: int | None = None
    qk_matmul_output_mode: int = 0
    right_window_size: int = -1
    scale: float | None = None
    softcap: float = 0.0
    softmax_precision: int | None = None


def split_heads(x: Tensor, heads: int | None) -> Tensor:
    """[b, n, heads * d] -> [b, heads, n, d]; four dims do not change."""
    if x.ndim == 4:
        return x
    if not heads or x.shape[-1] % heads:
        raise ValueError(f"an input of the shape {list(x.shape)} can't be split into {heads} heads")
    return x.reshape(*x.shape[:2], heads, -1).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """[b, heads, n, d] -> [b, n, heads * d]"""
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


def intersect_masks(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    """Combine two masks by and; None is a mask of all."""
    return b if a is None else a if b is None else a & b


def causal_mask(
    n: int, m: int, offset: Any, a: AttentionAttributes, device: DeviceLike | None
) -> Tensor | None:
    """Return the causal mask of n queries and m keys; query i is at position offset + i."""
    # A window of -1 is unbounded. Causality is a right window of 0, whatever right_window_size says.
    window = {"left": a.left_window_size, "right": 0 if a.is_causal else a.right_window_size}
    if max(window.values()) < 0:
        return None
    # ahead[i, j] = j - (offset + i): positive for keys after the query. [n, m], or [b, 1, n, m] if offset
    # is a tensor of [b, 1, 1, 1]
    ahead = Tensor.arange(m, device=device) - Tensor.arange(n, device=device).unsqueeze(1) - offset
    left = ahead >= -window["left"] if window["left"] >= 0 else None
    return intersect_masks(left, ahead <= window["right"] if window["right"] >= 0 else None)


def _padded_mask(mask: Tensor, m: int) -> Tensor:
    """Extend a mask that is shorter than the keys; the other keys are masked out."""
    # Opset 24 allows a mask for fewer keys than the tensor has, for a cache that grows.
    short = m - mask.shape[-1]
    if short <= 0:
        return mask
    if mask.dtype.kind == "b":
        return cat([mask, Tensor.full((*mask.shape[:-1], short), False, device=mask.device)], -1)
    return mask.pad([0, short], value=-inf)


def combine_masks(mask: Tensor | None, allowed: Tensor | None) -> Tensor | None:
    """Combine a mask, additive or boolean, with a boolean mask of the allowed keys."""
    if mask is None or allowed is None:
        return allowed if mask is None else mask
    return mask & allowed if mask.dtype.kind == "b" else where(allowed, mask, -inf)


def weights_of(scores: Tensor) -> Tensor:
    """Softmax over the last dim; a row without keys has weights of 0."""
    top = scores.amax(-1, keepdim=True).detach()
    # the maximum of a row without keys is -inf, and -inf - -inf would be NaN
    powers = (scores - (top == -inf).where(0.0, top)).exp()
    total = powers.sum(-1, keepdim=True)
    return powers / (total == 0).where(1.0, total)


def scores_of(q: Tensor, k: Tensor, scale: float) -> Tensor:
    """[b, heads, n, d], [b, fewer heads, m, d] -> [b, heads, n, m]"""
    group = q.shape[1] // k.shape[1]
    # the query heads that share a key head become rows of one product
    rows = q.reshape(q.shape[0], k.shape[1], group * q.shape[2], q.shape[3])
    return ((rows * scale) @ k.mT).reshape(*q.shape[:3], k.shape[2])


def values_by(weights: Tensor, v: Tensor) -> Tensor:
    """[b, heads, n, m], [b, fewer heads, m, e] -> [b, heads, n, e]"""
    # As in `scores_of`: the heads of a group are rows of one product with their shared values.
    b, heads, n, m = weights.shape
    return (weights.reshape(b, v.shape[1], heads // v.shape[1] * n, m) @ v).reshape(b, heads, n, v.shape[3])


def _add_bias(scores: Tensor, mask: Tensor | None) -> Tensor:
    if mask is None:
        return scores
    return where(mask, scores, -inf) if mask.dtype.kind == "b" else scores + mask


def softmax_dtype(q: Tensor, a: AttentionAttributes) -> Any:
    """Return the dtype of softmax: float32, or float64 if requested and available."""
    wants = a.softmax_precision is not None and dtype_name_of(a.softmax_precision) == "float64"
    return dt.float64 if wants and q.device.kind == "cpu" else q.dtype.as_float


def _with_scores(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, a: AttentionAttributes
) -> tuple[Any, ...]:
    """Attention that stores the scores, and the output of qk_matmul_output_mode."""
    # qk_matmul_output_mode selects a stage: 0 scores, 1 after softcap, 2 with the mask, 3 the weights.
    wide = softmax_dtype(q, a)
    stages = [scores_of(q.to(wide), k.to(wide), a.scale)]  # type: ignore[arg-type]
    capped = stages[0] if not a.softcap else (stages[0] / a.softcap).tanh() * a.softcap
    # A boolean mask sets -inf at its own stage, so that stage 1 stays finite.
    stages += [capped, _add_bias(capped, None if mask is None or mask.dtype.kind == "b" else mask.to(wide))]
    if mask is not None and mask.dtype.kind == "b":
        stages[2] = _add_bias(capped, mask)
    stages.append(weights_of(stages[2]))
    y = values_by(stages[3], v.to(wide))
    return y.to(q.dtype), stages[a.qk_matmul_output_mode].to(q.dtype)


def _check(i: AttentionInputs, a: AttentionAttributes) -> None:
    if (i.past_key is None) != (i.past_value is None):
        raise ValueError("past_key and past_value go together: one is missing")
    if i.valid is not None and i.past_key is not None:
        raise ValueError("nonpad_kv_seqlen is for external caches: it excludes past_key and past_value")
    if min(a.left_window_size, a.right_window_size) < -1:
        raise ValueError(f"windows of {a.left_window_size} and {a.right_window_size}: take -1 or more")
    if a.qk_matmul_output_mode not in range(4):
        raise ValueError(f"qk_matmul_output_mode {a.qk_matmul_output_mode}: takes 0 to 3")


def _check_mask(mask: Tensor | None, shape: tuple[int, ...]) -> None:
    if mask is None:
        return
    if mask.ndim > 4 or any(m not in (1, n) for m, n in zip(mask.shape[::-1], shape[::-1])):
        raise ValueError(f"a mask of {list(mask.shape)} does not fit scores of {list(shape)}")


def attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, a: AttentionAttributes, past: int = 0
) -> Tensor:
    """Attention of separate heads that stores no scores. [b, h, n, d], [b, g, m, d] twice -> [b, h, n, d]

    If a.is_causal, query i sees the keys up to position past + i, in addition to the mask.
    """
    # float64 only on request: the fused kernel accumulates in float32.
    dtype, wide = q.dtype, softmax_dtype(q, a)
    q, k, v = (x.to(wide) if wide is dt.float64 else x for x in (q, k, v))
    mask = None if mask is None else mask if mask.dtype.kind == "b" else mask.to(wide)
    mask = mask.unsqueeze(0) if mask is not None and mask.ndim == 1 else mask
    return F.scaled_dot_product_attention(
        q,
        k,
        v,
        mask,
        is_causal=bool(a.is_causal),
        scale=a.scale,
        enable_gqa=q.shape[1] != k.shape[1],
        softcap=a.softcap or None,
        start=past if a.is_causal and past else None,
    ).to(dtype)


def _merge_heads(y: Tensor, flat: bool) -> Tensor:
    return merge_heads(y) if flat else y


def _is_plain(i: AttentionInputs, a: AttentionAttributes) -> bool:
    """Whether the order-dependent part of the mask is plain causality, which kernels support."""
    return i.valid is None and max(a.left_window_size, a.right_window_size) < 0


def _allowed_mask(n: int, m: int, past: int, i: AttentionInputs, a: AttentionAttributes) -> Tensor | None:
    """Return the mask of n queries and m keys by causality, window and the number of valid keys."""
    if i.valid is None:
        return causal_mask(n, m, past, a, i.q.device)
    valid = i.valid.reshape(-1, 1, 1, 1)
    # keys after a sample's valid ones are uninitialised cache rows
    is_valid = Tensor.arange(m, device=i.q.device) < valid
    # the queries are the last n of the valid positions
    return intersect_masks(causal_mask(n, m, valid - n, a, i.q.device), is_valid)


@operator("Attention", since=23)
def attention(*inputs: Tensor, node: Any, **attributes: Any) -> tuple[Any, ...]:
    """Attention; also returns the keys and values with the past ones, and the scores of a stage (if
    requested)."""
    i, a = AttentionInputs(*inputs), AttentionAttributes(**attributes)
    _check(i, a)
    # 3 dims: [b, n, heads * d], with head counts as attributes. 4 dims: [b, heads, n, d].
    flat = i.q.ndim == 3
    q, k, v = (split_heads(x, h) for x, h in zip(i[:3], (a.q_num_heads, *[a.kv_num_heads] * 2), strict=True))
    past = 0 if i.past_key is None else i.past_key.shape[2]
    # present_key and present_value: the whole cache, which the caller passes as past to the next step
    k = k if i.past_key is None else cat([i.past_key, k], 2)
    v = v if i.past_value is None else cat([i.past_value, v], 2)
    if q.shape[1] % k.shape[1]:
        raise ValueError(f"{q.shape[1]} query heads are not a multiple of {k.shape[1]} key heads")
    a = a._replace(scale=1 / sqrt(q.shape[-1]) if a.scale is None else a.scale)
    mask = None if i.mask is None else _padded_mask(i.mask, k.shape[2])
    _check_mask(mask, (*q.shape[:3], k.shape[2]))
    if _is_plain(i, a) and not node.wants(3):
        return _merge_heads(attend(q, k, v, mask, a, past), flat), k, v, None
    # Windows and lengths are one more mask; then causality is inside it, and the flag is dropped.
    mask = combine_masks(mask, _allowed_mask(q.shape[2], k.shape[2], past, i, a))
    if node.wants(3):
        y, scores = _with_scores(q, k, v, mask, a)
    else:
        y, scores = attend(q, k, v, mask, a._replace(is_causal=0)), None
    return _merge_heads(y, flat), k, v, scores


@operator("FlexAttention", domain="ai.onnx.preview")
def flex_attention(q: Tensor, k: Tensor, v: Tensor, *, node: Any, **attributes: Any) -> Tensor:
    """Attention whose scores and weights subgraphs may modify. [b, h, n, d], [b, g, m, d] twice -> [b, h, n,
    d]"""
    supported = {"scale", "score_mod", "prob_mod", "softmax_precision"}
    if attributes.keys() - supported:
        raise TypeError(
            f"has no attribute {min(attributes.keys() - supported)!r}: it has {', '.join(sorted(supported))}"
        )
    scale = attributes.get("scale") or 1 / sqrt(q.shape[-1])
    precision = attributes.get("softmax_precision")
    wide = q.dtype.as_float if precision is None else dt.as_dtype(dtype_name_of(precision))
    # score_mod and prob_mod are subgraphs of one input and one output, [b, heads, n, m].
    scores = scores_of(q, k, scale).to(wide)
    if "score_mod" in attributes:
        (scores,) = node.run(attributes["score_mod"], scores)
    weights = weights_of(scores)
    if "prob_mod" in attributes:
        (weights,) = node.run(attributes["prob_mod"], weights)
    return values_by(weights.to(q.dtype), v)


# --- linear attention ---


class LinearInputs(NamedTuple):
    """The inputs of LinearAttention."""

    q: Tensor
    k: Tensor
    v: Tensor
    state: Tensor | None = None
    decay: Tensor | None = None
    beta: Tensor | None = None


# update_rule: (needs decay, needs beta)
RULES = {
    "linear": (False, False),
    "gated": (True, False),
    "delta": (False, True),
    "gated_delta": (True, True),
}


def _check_rule(i: LinearInputs, rule: str, heads: tuple[int, int]) -> None:
    if rule not in RULES:
        raise ValueError(f"update_rule {rule!r} is unknown: use one of {', '.join(RULES)}")
    for name, is_needed, value in zip(("decay", "beta"), RULES[rule], (i.decay, i.beta), strict=True):
        if is_needed != (value is not None):
            raise ValueError(f"update_rule {rule!r} {'needs' if is_needed else 'takes no'} {name}")
    if min(heads) < 1 or heads[0] % heads[1]:
        raise ValueError(f"{heads[0]} query heads are not a multiple of {heads[1]} key heads")


def _linear_steps(i: LinearInputs, state: Tensor) -> tuple[Tensor, Tensor]:
    """Return the recurrence, one step for each token. [b, h, t, d] each -> [b, g, t, e], the last state"""
    outputs: list[Tensor] = []
    group = i.q.shape[1] // i.k.shape[1]
    # S = exp(decay) S, then S = S + k (beta (v - S'k))' (Gated DeltaNet, Yang et al., 2024); without beta S
    # = S + k v'. The state S is [b, g, d, e]; the output is q'S.
    for t in range(i.q.shape[2]):
        k, v = i.k[:, :, t], i.v[:, :, t]
        if i.decay is not None:
            state = state * i.decay[:, :, t].exp().unsqueeze(-1)
        if i.beta is not None:
            v = (v - (k.unsqueeze(-2) @ state).squeeze(-2)) * i.beta[:, :, t]
        state = state + k.unsqueeze(-1) * v.unsqueeze(-2)
        q = i.q[:, :, t].unflatten(1, (k.shape[1], group))
        outputs.append((q @ state).flatten(1, 2))
    return stack(outputs, 2), state


@operator("LinearAttention", since=27)
def linear_attention(
    *inputs: Tensor, q_num_heads: int, kv_num_heads: int, **attributes: Any
) -> tuple[Any, ...]:
    """Linear attention with a state of [d, e] for each head; also returns the new state. [b, t, heads * d] ->
    same"""
    rule, scale = attributes.pop("update_rule", "gated_delta"), attributes.pop("scale", 0.0)
    if attributes.keys() - {"chunk_size"}:  # chunk_size affects speed, not results
        raise TypeError(f"has no attribute {min(attributes.keys() - {'chunk_size'})!r}")
    i = LinearInputs(*inputs)
    _check_rule(i, rule, (q_num_heads, kv_num_heads))
    # The recurrence adds up over all tokens: float32, whatever the inputs are.
    heads = (q_num_heads, kv_num_heads, kv_num_heads)
    q, k, v = (split_heads(x, h).float() for x, h in zip(i[:3], heads, strict=True))
    decay = None if i.decay is None else split_heads(i.decay, kv_num_heads).float()
    beta = None if i.beta is None else i.beta.float().transpose(1, 2).unsqueeze(-1)
    shape = (q.shape[0], kv_num_heads, q.shape[-1], v.shape[-1])
    if i.state is not None and tuple(i.state.shape) != shape:
        raise ValueError(f"past_state has the shape {list(i.state.shape)}: it needs {list(shape)}")
    state = Tensor.zeros(*shape, device=q.device) if i.state is None else i.state.float()
    y, state = _linear_steps(LinearInputs(q, k, v, None, decay, beta), state)
    y = merge_heads(y) * (scale or 1 / sqrt(q.shape[-1]))
    return y.to(i.q.dtype), state.to((i.q if i.state is None else i.state).dtype)


# --- rotary embeddings, gated products ---


@operator("RotaryEmbedding", since=23)
def rotary_embedding(
    x: Tensor, cos: Tensor, sin: Tensor, places: Tensor | None = None, **attributes: int
) -> Tensor:
    """Rotate x by its positions. [b, heads, n, d], [most, d / 2] twice, [b, n] -> same as x"""
    dim, heads = attributes.pop("rotary_embedding_dim", 0), attributes.pop("num_heads", 0)
    interleaved = attributes.pop("interleaved", 0)
    if attributes:
        raise TypeError(f"has no attribute {min(attributes)!r}")
    flat = x.ndim == 3
    by_heads = split_heads(x, heads)
    # Rotary dims are pairs: the caches have one column for two of them. Dims after `dim` are not rotated.
    half_size = (dim or by_heads.shape[-1]) // 2
    if cos.shape[-1] != half_size or sin.shape != cos.shape:
        raise ValueError(f"caches of {list(cos.shape)} and {list(sin.shape)}: rows need {half_size} elements")
    if places is not None:
        cos, sin = (t[places.long()] for t in (cos, sin))
    y = rotate_pairs(by_heads, cos.unsqueeze(1), sin.unsqueeze(1), bool(interleaved))
    return merge_heads(y) if flat else y


@operator("SwiGLU", since=28)
def swiglu(a: Tensor, b: Tensor, *, alpha: float = 1.0) -> Tensor:
    """swish(a) * b"""
    if a.shape != b.shape:
        raise ValueError(f"takes two tensors of one shape: got {list(a.shape)} and {list(b.shape)}")
    return a * (a * alpha).sigmoid() * b
