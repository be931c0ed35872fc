"""Scaled dot-product attention whose scores are never in memory, forward or backward."""

from math import inf, prod, sqrt
from typing import NamedTuple

from ..gradmode import is_grad_enabled
from ..op import Family, Launch, composed, kernel
from ..shape import broadcast

NN = ("scaled_dot_product_attention",)
WIDEST = 256  # elements of a head's row; beyond it a thread's registers do not hold one
SHARED = 1024  # vec4s of workgroup memory
THREADS = 64


class Options(NamedTuple):
    """What attention kernels do to scores: structure; bias is the dtype of one, or ""."""

    causal: bool
    softcap: bool
    bias: str
    bias_in: str


def _sizes(q, k, v, bias, scale, causal, softcap, heads):
    """The quantities of all attention kernels; a bias has strides, 0 along its dims of size 1."""
    sizes = {
        "queries": q.shape[1], "keys": k.shape[1], "group": q.shape[0] // max(k.shape[0], 1), "scale": scale,
        "heads": heads, "cap": float(softcap or 1), "uncap": 1 / (softcap or 1),
    }  # fmt: skip
    if bias:
        _, h, i, j = bias[0].shape
        steps = (h * i * j, i * j, j, 1)
        named = zip(("batch", "head", "query", "key"), bias[0].shape, steps, strict=True)
        sizes |= {f"bias_{name}": step if n > 1 else 0 for name, n, step in named}
    return sizes


def _launch(template, rows, of="", unroll=8):
    """The launch rule of one of the kernels, a thread for each of q's (0) or k's (1) rows."""

    def launch(limits, *nodes, scale, causal, softcap, heads):
        q, k, v, *others = nodes
        given = others if template == "attention.wgsl" else others[2:]
        d, e = q.shape[2] // 4, v.shape[2] // 4
        tile = max(SHARED // (d + e) // unroll * unroll, unroll)
        staged = not limits.software and tile * (d + e) <= SHARED
        tile = tile if staged else unroll
        lines, length = nodes[rows].shape[:2]
        blocks = -(-length // THREADS)
        bias = given[0].dtype.short if given else ""
        steps = q.shape[0] // max(k.shape[0], 1) * q.shape[1] if of else k.shape[1]
        turns = -(-steps // tile) * (1 + tile // unroll + (tile * (d + e) // THREADS if staged else 0))
        o = Options(causal, softcap is not None, bias, f"in{len(nodes) - 1}")
        reads = tuple(range(len(nodes)))
        return [
            Launch(
                template, reads, lines * blocks,
                _sizes(q, k, v, given, scale, causal, softcap, heads) | {"blocks": blocks},
                {"d": d, "e": e, "tile": tile, "unroll": unroll, "staged": staged,
                 "of": of, "o": o},
                workgroup=(THREADS, 1, 1), turns=turns,
                wide=(0, 1, 2) if template == "attention.wgsl" else (0, 1, 2, 3),
            )
        ]  # fmt: skip

    return launch


def _plain(q, k, v, bias, scale, causal, softcap, heads, where, tanh):
    """The scores, in any array library: [heads, queries, keys], -inf where masked."""
    group = q.shape[0] // max(k.shape[0], 1)
    k = k.reshape(k.shape[0], 1, *k.shape[1:])
    s = (q.reshape(-1, group, *q.shape[1:]) @ k.swapaxes(-1, -2)) * scale
    s = s.reshape(q.shape[0], q.shape[1], k.shape[2])
    s = s if softcap is None else tanh(s * (1 / softcap)) * softcap
    if bias is not None:
        s = s.reshape(-1, heads, *s.shape[1:])
        s = where(bias, s, -inf) if str(bias.dtype).endswith("bool") else s + bias
        s = s.reshape(-1, *s.shape[2:])
    return s


def _reference(xp, q, k, v, *bias, **attrs):
    s = _plain(q, k, v, bias[0] if bias else None, **attrs, where=xp.where, tanh=xp.tanh)
    if attrs["causal"]:
        s = xp.where(xp.tril(xp.ones(s.shape[1:], dtype="bool")), s, -inf)
    padded = xp.pad(s, [(0, 0), (0, 0), (0, 1)], constant_values=-3.4e38)
    top = xp.max(padded, axis=-1, keepdims=True)
    w = xp.exp(s - top)
    total = w.sum(-1, keepdims=True)
    norm = xp.where(total > 0, top + xp.log(xp.where(total > 0, total, 1)), 3.4028234e38)
    w = w / xp.where(total > 0, total, 1)
    group = q.shape[0] // max(k.shape[0], 1)
    y = w.reshape(-1, group, *w.shape[1:]) @ v.reshape(v.shape[0], 1, *v.shape[1:])
    return xp.concat([y.reshape(*q.shape[:2], -1), norm], axis=-1)


def _weights(q, k, v, bias, causal, heads, **attrs):
    """The attention weights in Tensor ops, and the derivative of softcap."""
    s = _plain(q, k, v, bias, causal=causal, heads=heads, **attrs, where=lambda c, a, b: c.where(a, b),
               tanh=lambda t: t.tanh())  # fmt: skip
    ok = s > -3.4e38
    if causal:
        rows = type(q).arange(s.shape[1], device=q.device).unsqueeze(1)
        ok = ok & (type(q).arange(s.shape[2], device=q.device) <= rows)
    s = ok.where(s, -3.4e38)
    w = ok.where((s - s.amax(-1, keepdim=True).detach()).exp(), 0.0)
    total = w.sum(-1, keepdim=True)
    return w / (total + (total == 0))


def materialized(q, k, v, bias, **attrs):
    """Attention in Tensor ops: the scores are there, so that gradients of gradients are too."""
    w = _weights(q, k, v, bias, **attrs)
    group = q.shape[0] // max(k.shape[0], 1)
    y = w.reshape(-1, group, *w.shape[1:]) @ v.unsqueeze(1)
    return y.reshape(*q.shape[:2], v.shape[2])


def _grad(g, y, q, k, v, *bias, **attrs):
    e = v.shape[2]
    slope = g[..., :e]
    if is_grad_enabled() or (bias and bias[0].requires_grad):
        return _grad_by_ops(slope, q, k, v, *bias, **attrs)
    delta = (slope * y[..., :e]).sum(-1, keepdim=True)
    rows = y[..., e:]._pad((0, 0, 0), (0, 0, 1)) + delta._pad((0, 0, 1), (0, 0, 0))
    given = (q, k, v, slope, rows, *bias)
    parts = [f(*given, **attrs) for f in (Attention._queries, Attention._keys, Attention._values)]
    return [*parts, None] if bias else parts


def _grad_by_ops(slope, q, k, v, *bias, scale, softcap, **attrs):
    """The gradient as a formula of Tensor ops, which can be differentiated again."""
    w = _weights(q, k, v, bias[0] if bias else None, scale=scale, softcap=softcap, **attrs)
    group = q.shape[0] // max(k.shape[0], 1)

    def grouped(x):
        return x.reshape(-1, group, *x.shape[1:])

    k1, v1 = k.unsqueeze(1), v.unsqueeze(1)
    w, slope, q1 = grouped(w), grouped(slope), grouped(q)
    y = w @ v1
    z = w * (slope @ v1.transpose(-1, -2) - (slope * y).sum(-1, keepdim=True))
    of_bias = z
    if softcap is not None:
        u = (q1 @ k1.transpose(-1, -2) * (scale / softcap)).tanh()
        z = z * (1 - u * u)
    dv = (w.transpose(-1, -2) @ slope).sum(1)
    dk = (z.transpose(-1, -2) @ q1).sum(1) * scale
    dq = (z @ k1).reshape(*q.shape) * scale
    if not bias:
        return [dq, dk, dv]
    if not bias[0].requires_grad:
        return [dq, dk, dv, None]
    return [dq, dk, dv, of_bias.reshape(-1, attrs["heads"], *of_bias.shape[-2:])]


def _part(at):
    """The reference of a gradient kernel: the formula on arrays."""

    def reference(xp, q, k, v, slope, rows, *bias, scale, causal, softcap, heads):
        attrs = {"scale": scale, "causal": causal, "softcap": softcap, "heads": heads}
        group = q.shape[0] // max(k.shape[0], 1)
        s = _plain(q, k, v, bias[0] if bias else None, **attrs, where=xp.where, tanh=xp.tanh)
        if causal:
            s = xp.where(xp.tril(xp.ones(s.shape[1:], dtype="bool")), s, -inf)
        w = xp.exp(s - rows[..., :1]).reshape(-1, group, *s.shape[1:])
        g, q1, k1 = slope.reshape(-1, group, *slope.shape[1:]), q.reshape(-1, group, *q.shape[1:]), k[:, None]
        z = w * (g @ v[:, None].swapaxes(-1, -2) - rows[..., 1:].reshape(-1, group, s.shape[1], 1))
        if softcap is not None:
            z = z * (1 - xp.tanh(q1 @ k1.swapaxes(-1, -2) * (scale / softcap)) ** 2)
        made = (
            lambda: (z @ k1).reshape(q.shape) * scale,
            lambda: (z.swapaxes(-1, -2) @ q1).sum(1) * scale,
            lambda: (w.swapaxes(-1, -2) @ g).sum(1),
        )
        return made[at]()

    return reference


def _shape_of(at):
    return lambda *shapes, **_: shapes[at]


def _f32(*dtypes, **_):
    return dtypes[0]


class Attention(Family):
    @kernel(
        "whole",
        shape=lambda q, k, v, *bias, **_: (q[0], q[1], v[2] + 1),
        dtype=_f32,
        grad=_grad,
        xp=_reference,
        launch=_launch("attention.wgsl", 0),
    )
    def _attention(self, key, value, *bias, **attrs):
        """Attention of flattened heads, with the logarithm of each row's sum as the last column."""
        return (self, key, value, *bias), attrs

    @kernel("whole", shape=_shape_of(0), dtype=_f32, xp=_part(0),
            launch=_launch("attention_queries.wgsl", 0, unroll=4))  # fmt: skip
    def _queries(self, *others, **attrs):
        """The gradient of attention by its queries."""
        return (self, *others), attrs

    @kernel("whole", shape=_shape_of(1), dtype=_f32, xp=_part(1),
            launch=_launch("attention_keys.wgsl", 1, "key", 4))  # fmt: skip
    def _keys(self, *others, **attrs):
        """The gradient of attention by its keys."""
        return (self, *others), attrs

    @kernel("whole", shape=_shape_of(2), dtype=_f32, xp=_part(2),
            launch=_launch("attention_keys.wgsl", 1, "value", 4))  # fmt: skip
    def _values(self, *others, **attrs):
        """The gradient of attention by its values."""
        return (self, *others), attrs


def _check(q, k, v, enable_gqa):
    if min(q.ndim, k.ndim, v.ndim) < 2:
        raise ValueError("query, key and value need at least 2 dims: [..., length, features]")
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"features of query and key differ: {q.shape[-1]} and {k.shape[-1]}")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"lengths of key and value differ: {k.shape[-2]} and {v.shape[-2]}")
    if enable_gqa and (q.ndim < 3 or k.ndim < 3 or q.shape[-3] % k.shape[-3]):
        raise ValueError("query heads must be a multiple of key heads (dim -3)")


def _four(x, rank):
    """Padded with zeros to a multiple of four features, its leading dims as one."""
    x = x.float()
    rest = -x.shape[-1] % 4
    x = x._pad((0,) * x.ndim, (*(0,) * (x.ndim - 1), rest)) if rest else x
    return x.reshape(prod(x.shape[:rank]), *x.shape[rank:])


@composed
def scaled_dot_product_attention(
    query,
    key,
    value,
    attn_mask=None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale=None,
    enable_gqa: bool = False,
    softcap=None,
):
    """softmax(q @ k.T * scale + mask) @ v, the scores never in memory (Dao et al., 2022). A bool mask keeps
    where true, a float one is added; a row without keys gives 0; softcap s makes scores s * tanh(score / s).
    [..., h, n, d], [..., h, m, d], [..., h, m, e] -> [..., h, n, e]"""
    _check(query, key, value, enable_gqa)
    lead = broadcast(query.shape[:-3], key.shape[:-3], value.shape[:-3])
    heads = query.shape[-3:-2] if enable_gqa else broadcast(query.shape[-3:-2], key.shape[-3:-2])
    rank = len(lead) + len(heads)
    q = query.expand(*lead, *heads, *query.shape[-2:])
    few = key.shape[-3:-2] if enable_gqa else heads
    k, v = (x.expand(*lead, *few, *x.shape[-2:]) for x in (key, value))
    n, m, d, e = *q.shape[-2:-1], *k.shape[-2:], v.shape[-1]
    attrs = {
        "scale": float(1 / sqrt(max(d, 1)) if scale is None else scale), "causal": is_causal,
        "softcap": softcap, "heads": prod(heads),
    }  # fmt: skip
    bias = () if attn_mask is None else (_bias(attn_mask, (*lead, *heads, n, m), len(lead), rank),)
    q, k, v = (_four(x, rank) for x in (q, k, v))
    if dropout_p or max(q.shape[-1], v.shape[-1]) > WIDEST or 0 in (n, m, d, e):
        w = _weights(q, k, v, bias[0] if bias else None, **attrs)
        w = _dropout(w, dropout_p)
        y = (w.reshape(k.shape[0], -1, n, m) @ v.unsqueeze(1)).reshape(q.shape[0], n, v.shape[-1])
    else:
        y = q._attention(k, v, *bias, **attrs)
    y = y.narrow(-1, 0, e).reshape(*lead, *heads, n, e)
    return y.to(query.dtype)


def _dropout(w, p: float):
    from .random import dropout

    return dropout(w, p) if p else w


def _bias(mask, shape, lead: int, rank: int):
    """The mask as [batch or 1, heads or 1, n or 1, m or 1]."""
    broadcast(mask.shape, shape)
    mask = mask if mask.dtype.kind == "b" else mask.float()
    mask = mask.reshape(*(1,) * (len(shape) - mask.ndim), *mask.shape)
    if any(n != 1 for n in mask.shape[:lead]):
        mask = mask.expand(*shape[:lead], *mask.shape[lead:])
    batch = prod(mask.shape[:lead])
    return mask.reshape(batch, prod(mask.shape[lead:rank]), *mask.shape[rank:])
