"""Scaled dot-product attention. Kernels for GPUs and for long sequences never store the scores."""

# Primitives are tensor methods whose names begin with "_": they are private to the package.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod, sqrt
from typing import TYPE_CHECKING, Any

from ...core import dtype as dt
from ...core.choose import choose
from ...core.declare import composed, kernel, like_first
from ...core.modes import is_grad_enabled
from ...core.node import is_tensor
from ...core.op import Family, Op, only_real, output_of
from ...core.shape import broadcast
from ..elementwise import as_float, tanh, where
from ..random import dropout
from . import launches
from .kv_cache import index_of

if TYPE_CHECKING:
    from ...core.dtype import DType
    from ...core.rules import Array, Prepared, Reference
    from ...core.shape import Shape
    from ...device.array_namespace import Namespace
    from ...tensor import HostScalar, Tensor

WIDEST = 256  # features of a head; a thread's registers cannot hold a longer row
# The lowest float32. A mask that adds it to a whole row leaves the mean of all keys; only -inf masks them.
LOWEST = -3.4028234663852886e38
MOST_SCORES = 1 << 22  # up to this many scores are stored on a software adapter


def _scores(
    q: Array,
    k: Array,
    bias: Array | None,
    scale: float,
    softcap: float | None,
    heads: int,
    where: Callable[..., Array],
    tanh: Callable[[Array], Array],
) -> Array:
    """Attention scores of tensors or arrays: [heads, queries, keys], -inf where masked."""
    group = q.shape[0] // max(k.shape[0], 1)
    # [key heads, 1, keys, features], beside queries as [key heads, group, queries, features]
    k = k.reshape(k.shape[0], 1, *k.shape[1:])
    s = (q.reshape(k.shape[0], group, *q.shape[1:]) @ k.swapaxes(-1, -2)) * scale
    s = s.reshape(q.shape[0], q.shape[1], k.shape[2])
    s = s if softcap is None else tanh(s * (1 / softcap)) * softcap
    if bias is not None:
        s = s.reshape(-1, heads, *s.shape[1:])  # [batch, heads, queries, keys]
        s = where(bias, s, -inf) if str(bias.dtype).endswith("bool") else s + bias
        s = s.reshape(-1, *s.shape[2:])
    return s


def _split_others(others: Sequence[Array], placed: bool) -> tuple[Array, Array | None]:
    """The inputs after q, k and v: the first query's position among the keys (default 0), and the bias or
    None."""
    start, bias = (others[0], others[1:]) if placed else (0, others)
    return start, bias[0] if bias else None


def _masked_scores(
    xp: Namespace, q: Array, k: Array, start: Array, bias: Array | None, causal: bool, **attrs: Any
) -> tuple[Array, Array]:
    """The reference's masked scores, and the maximum of each row."""
    s = _scores(q, k, bias, **attrs, where=xp.where, tanh=xp.tanh)
    if causal:
        rows, columns = (xp.arange(n) for n in s.shape[1:])
        if getattr(start, "shape", (1,)) not in ((), (1,)):  # one for each row of the batch
            start = xp.repeat(start, s.shape[0] // start.shape[0])[:, None, None]
        s = xp.where(columns <= rows[:, None] + start, s, -inf)  # query i is at position start + i
    # A row without keys has the maximum LOWEST: with -inf its weights would be exp(-inf + inf), NaN.
    padded = xp.pad(s, [(0, 0), (0, 0), (0, 1)], constant_values=LOWEST)
    return s, xp.max(padded, axis=-1, keepdims=True)


def _reference(
    xp: Namespace, q: Array, k: Array, v: Array, *others: Array, placed: bool, **attrs: Any
) -> Array:
    s, top = _masked_scores(xp, q, k, *_split_others(others, placed), **attrs)
    w = xp.exp(s - top)
    total = w.sum(-1, keepdims=True)
    w = w / xp.where(total > 0, total, 1)  # 0 for a row without keys
    group = q.shape[0] // max(k.shape[0], 1)
    y = w.reshape(-1, group, *w.shape[1:]) @ v.reshape(v.shape[0], 1, *v.shape[1:])
    return y.reshape(*q.shape[:2], -1)


def _norms(
    xp: Namespace, y: Array, q: Array, k: Array, v: Array, *others: Array, placed: bool, **attrs: Any
) -> Array:
    s, top = _masked_scores(xp, q, k, *_split_others(others, placed), **attrs)
    # The norms of a row without keys make its recomputed weights exp(s - large) = 0.
    total = xp.exp(s - top).sum(-1)
    norms = xp.where(total > 0, top[..., 0], -LOWEST), xp.log(xp.where(total > 0, total, 1))
    return xp.stack(norms, axis=-1)


def _for_lines(start: Any, lines: int) -> Any:
    """One position, or those of rows of a batch as [lines, 1, 1]."""
    if not is_tensor(start) or prod(start.shape) == 1:
        return start
    return start.repeat_interleave(lines // start.shape[0]).reshape(lines, 1, 1)


def _weights(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    start: Tensor | HostScalar | int,
    bias: Tensor | None,
    causal: bool,
    **attrs: Any,
) -> Tensor:
    """The attention weights, by tensor ops."""
    s = _scores(q, k, bias, **attrs, where=where, tanh=tanh)
    ok = s >= LOWEST  # -inf in a mask is "no key"; a row of LOWEST is not
    if causal:
        rows = type(q).arange(s.shape[1], dtype=dt.int32, device=q.device).unsqueeze(1)
        rows = rows + _for_lines(start, s.shape[0])
        ok = ok & (type(q).arange(s.shape[2], dtype=dt.int32, device=q.device) <= rows)
    s = ok.where(s, LOWEST)
    # The maximum only shifts, so it needs no gradient.
    w = ok.where((s - s.amax(-1, keepdim=True).detach()).exp(), 0.0)
    total = w.sum(-1, keepdim=True)
    return w / (total + (total == 0))  # total 0: no key, weights 0


def _grad(
    g: Tensor, y: Tensor, q: Tensor, k: Tensor, v: Tensor, *others: Tensor, placed: bool, **attrs: Any
) -> list[Tensor | None]:
    start, bias = _split_others(others, placed)
    # These need a gradient that can be differentiated again, or one that the kernels don't compute.
    if is_grad_enabled() or placed or (bias is not None and bias.requires_grad):
        grads, by_bias = _grad_by_ops(g, q, k, v, start, bias, **attrs)
        return [*grads, *[None] * placed, *([] if bias is None else [by_bias])]
    on_gpu, nodes, causal = q.device.kind == "gpu", (q.node, k.node, v.node), attrs["causal"]
    units = on_gpu and launches.slopes_on_units(q.device.limits, nodes, causal)
    g, unscale = _scale_slopes(g) if units else (g, None)
    norms, delta = _lower_norms(output_of(Attention._norms, y)), (g.float() * y.float()).sum(-1, keepdim=True)
    # for each row: the maximum, the logarithm of the sum, and the sum of gradient times result
    rows = norms._pad((0, 0, 0), (0, 0, 1)) + delta._pad((0, 0, 2), (0, 0, 0))
    inputs = (q, k, v, g, rows, *others)
    variant = launches.way_of_slopes(q.device.limits, nodes, causal) if on_gpu else "computed"
    if variant == "apart":
        grads = _grad_by_products(g, q, k, inputs, attrs)
    else:
        by_key = Attention._keys(*inputs, placed=False, stored=variant == "stored", **attrs)
        by_value = output_of(Attention._values, by_key)
        if variant == "stored":
            by_query = _by_query(output_of(Attention._slopes, by_key), q, k, attrs["scale"])
        else:
            by_query = Attention._queries(*inputs, placed=False, **attrs)
        grads = (by_query, by_key, by_value)
    grads = grads if unscale is None else [(x.float() * unscale).to(x.dtype) for x in grads]
    return [*grads, *[None] * len(others)]


def _of_keys(scores: Tensor, k: Tensor) -> Tensor:
    """Stored weights, or gradients of scores, of all queries that share keys. -> [key heads, rows, keys]"""
    return scores.narrow(-1, 0, k.shape[1]).reshape(k.shape[0], -1, k.shape[1])


def _by_query(slopes: Tensor, q: Tensor, k: Tensor, scale: float) -> Tensor:
    """The gradient with respect to the queries, from the gradients of the scores."""
    return (_of_keys(slopes, k) @ k).reshape(q.shape) * scale


def _grad_by_products(
    g: Tensor, q: Tensor, k: Tensor, inputs: tuple[Tensor, ...], attrs: dict[str, Any]
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients with respect to the queries, keys and values as products of stored matrices."""
    slopes = Attention._scores_slopes(*inputs, placed=False, **attrs)
    weights = output_of(Attention._stored_weights, slopes)
    turned = [_of_keys(x, k).transpose(-1, -2) for x in (slopes, weights)]
    rows = [x.reshape(k.shape[0], -1, x.shape[-1]) for x in (q, g)]
    by_key, by_value = (a @ b for a, b in zip(turned, rows, strict=True))
    return _by_query(slopes, q, k, attrs["scale"]), by_key * attrs["scale"], by_value


def _lower_norms(norms: Tensor) -> Tensor:
    """Lower large maxima of scores by more than the rounding differences of kernels. A gradient kernel
    recomputes weights as exp(min(score - maximum, 0)), so the largest score keeps weight 1."""
    size = norms.abs()
    return (size > 1e6).where((norms - size * 5e-7).maximum(LOWEST), norms)


def _scale_slopes(g: Tensor) -> tuple[Tensor, Tensor]:
    """Scale float16 gradients by a power of two so that the largest is at least 1; also return the inverse
    factor. Matrix units read the gradients of scores as float16, where small ones, such as those of a mean
    over many elements, lose digits."""
    wide = g.float()
    most = wide.abs().amax()
    power = (most > 0).where(most, 1.0).log2().floor().clamp(-40, 0)
    return (wide * (-power).exp2()).to(g.dtype), power.exp2()


def _grad_by_ops(
    slope: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    start: Tensor | HostScalar | int,
    bias: Tensor | None,
    scale: float,
    softcap: float | None,
    **attrs: Any,
) -> tuple[list[Tensor], Tensor | None]:
    """The gradients with respect to q, k, v and the bias by tensor ops, which can be differentiated again."""
    # 16-bit products of weights and gradients lose too many digits.
    dtype, (slope, q, k, v) = q.dtype, (x.float() for x in (slope, q, k, v))
    w = _weights(q, k, v, start, bias, scale=scale, softcap=softcap, **attrs)
    group = q.shape[0] // max(k.shape[0], 1)

    def group_heads(x: Tensor) -> Tensor:
        return x.reshape(-1, group, *x.shape[1:])

    k1, v1 = k.unsqueeze(1), v.unsqueeze(1)
    # [key heads, group, queries, features]: the query heads of a group share a key head
    w, slope, q1 = group_heads(w), group_heads(slope), group_heads(q)
    y = w @ v1
    # the gradient with respect to the scores: that of softmax is w * (gw - sum(gw * w)), and sum(gw * w) =
    # sum(slope * y)
    z = w * (slope @ v1.transpose(-1, -2) - (slope * y).sum(-1, keepdim=True))
    # The bias is added after the soft cap, so its gradient lacks the derivative of tanh.
    by_bias = z
    if softcap is not None:
        u = (q1 @ k1.transpose(-1, -2) * (scale / softcap)).tanh()
        z = z * (1 - u * u)
    dv = (w.transpose(-1, -2) @ slope).sum(1)
    dk = (z.transpose(-1, -2) @ q1).sum(1) * scale
    dq = (z @ k1).reshape(*q.shape) * scale
    grads = [x.to(dtype) for x in (dq, dk, dv)]
    needs_bias_grad = bias is not None and bias.requires_grad
    return grads, by_bias.reshape(-1, attrs["heads"], *by_bias.shape[-2:]) if needs_bias_grad else None


def _gradient_reference(index: int) -> Reference:
    """The reference of the gradient with respect to the queries (0), the keys (1), the values (2) or the
    scores (3); or the weights (4)."""

    def reference(
        xp: Namespace,
        q: Array,
        k: Array,
        v: Array,
        slope: Array,
        rows: Array,
        *others: Array,
        placed: bool,
        scale: float,
        softcap: float | None,
        **attrs: Any,
    ) -> Array:
        group = q.shape[0] // max(k.shape[0], 1)
        start, bias = _split_others(others, placed)
        masks = {"causal": attrs["causal"], "heads": attrs["heads"]}
        s, _ = _masked_scores(xp, q, k, start, bias, scale=scale, softcap=softcap, **masks)
        # The weights, from the scores and the row's maximum and log-sum. The minimum undoes rounding
        # differences between kernels.
        w = xp.exp(xp.minimum(s - rows[..., :1], 0) - rows[..., 1:2]).reshape(-1, group, *s.shape[1:])
        g, q1, k1 = slope.reshape(-1, group, *slope.shape[1:]), q.reshape(-1, group, *q.shape[1:]), k[:, None]
        # rows[..., 2]: the sum of gradient times result
        z = w * (g @ v[:, None].swapaxes(-1, -2) - rows[..., 2:].reshape(-1, group, s.shape[1], 1))
        if softcap is not None:
            z = z * (1 - xp.tanh(q1 @ k1.swapaxes(-1, -2) * (scale / softcap)) ** 2)
        gradients = (
            lambda: (z @ k1).reshape(q.shape) * scale,
            lambda: (z.swapaxes(-1, -2) @ q1).sum(1) * scale,
            lambda: (w.swapaxes(-1, -2) @ g).sum(1),
            lambda: xp.pad(z.reshape(s.shape), [(0, 0), (0, 0), (0, -s.shape[2] % 4)]),
            lambda: xp.pad(w.reshape(s.shape), [(0, 0), (0, 0), (0, -s.shape[2] % 4)]),
        )
        return gradients[index]()

    return reference


def _scores_by_value(q: Shape, k: Shape, v: Shape, *_: Any, **__: Any) -> Shape:
    return (*q[:2], v[2])


def _two_of_each_row(y: Shape, q: Shape, *_: Any, **__: Any) -> Shape:
    return (*q[:2], 2)


def _like_key(q: Shape, k: Shape, *_: Any, **__: Any) -> Shape:
    return k


def _like_value(y: Shape, q: Shape, k: Shape, v: Shape, *_: Any, **__: Any) -> Shape:
    return v


def _float32(*_: DType, **__: Any) -> DType:
    return dt.float32


def _keys_padded(y: Shape, *inputs: Shape, **attrs: Any) -> Shape:
    return _lines_of_keys(*inputs, **attrs)


def _slopes_reference(xp: Namespace, y: Array, *inputs: Array, **attrs: Any) -> Array:
    return _gradient_reference(3)(xp, *inputs, **attrs)


def _lines_of_keys(q: Shape, k: Shape, *_: Any, **__: Any) -> Shape:
    return (*q[:2], launches.padded_length(k[1]))


def _weights_reference(xp: Namespace, y: Array, *inputs: Array, **attrs: Any) -> Array:
    return _gradient_reference(4)(xp, *inputs, **attrs)


def _values_reference(xp: Namespace, y: Array, *inputs: Array, **attrs: Any) -> Array:
    return _gradient_reference(2)(xp, *inputs, **attrs)


class Attention(Family):
    @kernel(
        "opaque",
        shape=_scores_by_value,
        dtype=like_first,
        grad=_grad,
        xp=_reference,
        launch=launches.forward,
        packs=True,
    )
    def _attention(self: Any, key: Tensor, value: Tensor, *others: Any, **attrs: Any) -> Prepared:
        """Attention of flattened heads. others: the first query's position if `placed`, then the bias, if
        any.

        key: the keys
        value: the values
        """
        return (self, key, value, *others), attrs

    # for each row, the largest score and the logarithm of the sum of exp(score - largest): for gradients
    _norms = Op(
        "output",
        part="norms",
        shape=_two_of_each_row,
        dtype=_float32,
        xp=_norms,
    )

    @kernel(
        "opaque",
        shape=like_first,
        dtype=like_first,
        xp=_gradient_reference(0),
        launch=launches.by_queries,
        packs=True,
    )
    def _queries(self: Any, *others: Tensor, **attrs: Any) -> Prepared:
        """The gradient of attention with respect to the queries."""
        return (self, *others), attrs

    @kernel(
        "opaque",
        shape=_like_key,
        dtype=like_first,
        xp=_gradient_reference(1),
        launch=launches.by_keys,
        packs=True,
    )
    def _keys(self: Any, *others: Tensor, **attrs: Any) -> Prepared:
        """The gradient of attention with respect to the keys."""
        return (self, *others), attrs

    # the gradient with respect to the values, a second result of the kernel of the keys' gradient
    _values = Op(
        "output",
        part="values",
        shape=_like_value,
        dtype=like_first,
        xp=_values_reference,
    )

    @kernel(
        "opaque",
        shape=_lines_of_keys,
        dtype=_float32,
        xp=_gradient_reference(3),
        launch=launches.slopes_and_weights,
    )
    def _scores_slopes(self: Any, *others: Tensor, **attrs: Any) -> Prepared:
        """The gradients of the scores, 0 for masked ones, in lines of whole vec4s."""
        return (self, *others), attrs

    # the weights, a second result of that kernel
    _stored_weights = Op(
        "output",
        part="weights",
        shape=_keys_padded,
        dtype=_float32,
        xp=_weights_reference,
    )

    # the gradients of the scores, of masked ones 0: another result of the kernel of the keys' gradient
    _slopes = Op(
        "output",
        part="slopes",
        shape=_keys_padded,
        dtype=_float32,
        xp=_slopes_reference,
    )


def _check(q: Tensor, k: Tensor, v: Tensor, enable_gqa: bool, is_causal: bool, start: Any) -> None:
    if min(q.ndim, k.ndim, v.ndim) < 2:
        raise ValueError("query, key and value need at least 2 dims: [..., length, features]")
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"features of query and key differ: {q.shape[-1]} and {k.shape[-1]}")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"lengths of key and value differ: {k.shape[-2]} and {v.shape[-2]}")
    if enable_gqa and (q.ndim < 3 or k.ndim < 3 or q.shape[-3] % k.shape[-3]):
        raise ValueError("query heads must be a multiple of key heads (dim -3)")
    if start is not None and not is_causal:
        raise ValueError("start is the position of a causal mask: pass is_causal=True too")


def _kernel_dtype(*xs: Tensor) -> DType:
    """The dtype that kernels read: GPUs read 16-bit floats, others float32."""
    packed = xs[0].dtype.is_packed and len({x.dtype for x in xs}) == 1 and xs[0].dtype.is_float
    on_gpu = xs[0].device.kind == "gpu" and not xs[0].device.limits.software
    return xs[0].dtype if packed and on_gpu else dt.float32


def _stores_scores(device: Any, heads: int, n: int, m: int, start: Any) -> bool:
    """Whether to store the scores. On software adapters two products in register tiles take a half to a
    quarter of the time of the row by row kernel, and compile faster."""
    # A position in the cache needs the streaming kernel.
    if device.kind != "gpu" or not device.limits.software or start is not None:
        return False
    default = "stored" if heads * n * m <= MOST_SCORES else "streamed"
    bucket = (n.bit_length(), m.bit_length())
    return choose(device.limits, "scores", bucket, ["stored", "streamed"], default) == "stored"


def _pad_features(x: Tensor, rank: int) -> Tensor:
    """Pads with zeros to a multiple of four features, and flattens the leading dims."""
    # kernels read vec4s; features of 0 add nothing to a score
    rest = -x.shape[-1] % 4
    x = x._pad((0,) * x.ndim, (*(0,) * (x.ndim - 1), rest)) if rest else x
    return x.reshape(prod(x.shape[:rank]), *x.shape[rank:])


@composed
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | HostScalar | None = None,
    enable_gqa: bool = False,
    softcap: float | HostScalar | None = None,
    start: int | Tensor | HostScalar | None = None,
) -> Tensor:
    """softmax(q @ k.T * scale + mask) @ v, without storing the scores (Dao et al., 2022); software adapters
    store up to 4 Mi of them, gradients on GPUs up to 256 MB. A bool mask keeps scores where it is true, a
    float mask is added. A row without keys gives 0. softcap s limits scores to s * tanh(score / s). Causal
    query i attends to the keys up to position start + i: `start`, a number, HostScalar or int tensor, [1] or
    one for each entry of the first dim, is 0 for PyTorch's mask.
    [..., h, n, d], [..., h, m, d], [..., h, m, e] -> [..., h, n, e]

    key: the keys
    value: the values, which are averaged
    attn_mask: True where a query attends to a key, or floats added to the scores. [..., n, m]
    dropout_p: the probability of dropping a weight
    is_causal: each query attends to the keys up to its own position
    enable_gqa: several heads of queries share one head of keys and values
    Raises ValueError if shapes do not broadcast.
    """
    only_real(query, key, value)
    _check(query, key, value, enable_gqa, is_causal, start)
    lead = broadcast(query.shape[:-3], key.shape[:-3], value.shape[:-3])
    heads = query.shape[-3:-2] if enable_gqa else broadcast(query.shape[-3:-2], key.shape[-3:-2])
    rank = len(lead) + len(heads)
    q = query.expand(*lead, *heads, *query.shape[-2:])
    key_heads = key.shape[-3:-2] if enable_gqa else heads
    k, v = (x.expand(*lead, *key_heads, *x.shape[-2:]) for x in (key, value))
    n, m, d, e = *q.shape[-2:-1], *k.shape[-2:], v.shape[-1]
    if 0 in (*lead, *heads, n, m, e):  # zeros with gradients with respect to all three
        of_q, of_k, of_v = (x.narrow(-1, 0, 0).sum() for x in (q, k, v))
        return (of_q + of_k + of_v).expand(*lead, *heads, n, e).to(query.dtype)
    scale = 1 / sqrt(max(d, 1)) if scale is None else float(scale)  # type: ignore[arg-type]
    attrs: dict[str, Any] = {"scale": scale, "causal": is_causal, "softcap": softcap, "heads": prod(heads)}
    bias = None if attn_mask is None else _bias(attn_mask, (*lead, *heads, n, m), len(lead), rank)
    # The kernels support neither dropout nor float64 nor rows beyond WIDEST; storing few scores is faster
    # on software adapters.
    batch = lead[0] if len(lead) == 1 else 1  # that may have several starts
    by_ops = dropout_p or max(d, e) > WIDEST or not d
    by_ops = by_ops or _stores_scores(query.device, prod(q.shape[:rank]), n, m, start)
    wide = dt.promote(query.dtype, key.dtype, value.dtype).as_float
    by_ops = by_ops or wide is dt.float64
    dtype = wide if by_ops else _kernel_dtype(query, key, value)
    q, k, v = (_pad_features(x.to(dtype), rank) for x in (q, k, v))
    if by_ops:
        first = start if not is_tensor(start) else index_of(q, start, batch)
        w = _dropout(_weights(q, k, v, 0 if first is None else first, bias, **attrs), dropout_p)
        y = (w.reshape(k.shape[0], -1, n, m) @ v.unsqueeze(1)).reshape(q.shape[0], n, v.shape[-1])
    else:
        others: list[Any] = [] if start is None else [index_of(q, start, batch)]
        more = [*others, *([] if bias is None else [bias])]
        primitive: Any = q._attention
        y = primitive(k, v, *more, placed=bool(others), **attrs)
    y = y.narrow(-1, 0, e).reshape(*lead, *heads, n, e)  # without the padded features
    return y.to(query.dtype)


def with_weights(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, p: float) -> tuple[Tensor, Tensor]:
    """scaled_dot_product_attention by tensor ops, and the weights after dropout.

    [b, h, n, d], [b, h, m, d], [b, h, m, e] -> [b, h, n, e], [b, h, n, m]
    """
    shape, scale = (*q.shape[:-1], k.shape[-2]), 1 / sqrt(max(q.shape[-1], 1))
    bias = None if mask is None else _bias(mask, shape, 1, 2)
    a, b, c = (as_float(x).flatten(0, 1) for x in (q, k, v))
    w = _weights(a, b, c, 0, bias, causal=False, scale=scale, softcap=None, heads=shape[1])
    w = _dropout(w, p).reshape(*shape)
    return (w @ as_float(v)).to(q.dtype), w.to(q.dtype)


def _dropout(w: Tensor, p: float) -> Tensor:
    return dropout(w, p) if p else w


def _bias(mask: Tensor, shape: Shape, lead: int, rank: int) -> Tensor:
    """The mask as [batch or 1, heads or 1, n or 1, m or 1]."""
    broadcast(mask.shape, shape)
    mask = mask if mask.dtype.kind == "b" else as_float(mask)
    # Dims of size 1 broadcast in the kernel, except that the leading dims are one: if one is not 1, all are
    # expanded.
    mask = mask.reshape(*(1,) * (len(shape) - mask.ndim), *mask.shape)
    if any(n != 1 for n in mask.shape[:lead]):
        mask = mask.expand(*shape[:lead], *mask.shape[lead:])
    batch = prod(mask.shape[:lead])
    return mask.reshape(batch, prod(mask.shape[lead:rank]), *mask.shape[rank:])
