"""Rows of the attention family."""

import numpy as np

from flambeau.core.op import output_of

from .row import COMPOSED, OPS, In, Row

LOWEST = -3.4028234663852886e38  # float32's; the page's NumPy has no finfo


def _added(s, mask):
    """What is far below 0 in float32 loses what is added to it."""
    return np.where(mask < -1e8, np.broadcast_to(mask, s.shape), s + mask)


def attention(q, k, v, mask=None, is_causal=False, scale=None, softcap=None, enable_gqa=False):
    """The formula, with all scores at once; rows without keys give 0."""
    if enable_gqa:
        k, v = (np.repeat(x, q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    s = q @ np.swapaxes(k, -1, -2) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)
    s = s if softcap is None else softcap * np.tanh(s / softcap)
    if mask is not None:
        s = np.where(mask, s, -np.inf) if mask.dtype.kind == "b" else _added(s, mask)
    if is_causal:
        s = np.where(np.tril(np.ones(s.shape[-2:], bool)), s, -np.inf)
    w = np.exp(s - np.maximum(s.max(-1, keepdims=True), LOWEST))
    total = w.sum(-1, keepdims=True)
    return w / np.where(total == 0, 1, total) @ v


ATTRS = {"scale": 0.5, "causal": True, "softcap": 3.0, "heads": 4, "placed": False}
Q, K, V = In((4, 5, 8)), In((2, 7, 8)), In((2, 7, 4))


def slopes(q, k, v, g):
    """The weights, and the slopes of the scores where the result has gradient g."""
    k, v = np.repeat(k, 2, 0), np.repeat(v, 2, 0)
    u = np.tanh(q @ np.swapaxes(k, 1, 2) * 0.5 / 3)
    w = np.where(np.tril(np.ones((5, 7), bool)), np.exp(3 * u), 0)
    w = w / w.sum(-1, keepdims=True)
    rows = (g * (w @ v)).sum(-1, keepdims=True)
    return k, w, w * (g @ np.swapaxes(v, 1, 2) - rows) * (1 - u * u)


def gradient(name, part="", has_slopes=False):
    """A gradient kernel, called with what the forward pass leaves it. has_slopes: it stores slopes too."""

    def call(q, k, v, g):
        y = q._attention(k, v, **ATTRS)
        rows = COMPOSED["cat"]([output_of(OPS["_norms"], y), (y * g).sum(-1, keepdim=True)], -1)
        stored = {"stored": has_slopes or part == "_slopes"} if name == "_keys" else {}
        made = OPS[name](q, k, v, g, rows, **ATTRS, **stored)
        return output_of(OPS[part], made) if part else made

    return call


def in_lines(scores):
    """Scores of 7 keys in lines of two vec4s."""
    return np.pad(scores, [(0, 0), (0, 0), (0, 1)])


def of_group(x):
    return x.reshape(2, 2, *x.shape[1:]).sum(1)


def norms(q, k, v):
    s = 3 * np.tanh(q @ np.swapaxes(np.repeat(k, 2, 0), 1, 2) * 0.5 / 3)
    s = np.where(np.tril(np.ones((5, 7), bool)), s, -np.inf)
    best = s.max(-1)
    return np.stack([best, np.log(np.exp(s - best[..., None]).sum(-1))], -1)


def put(table, rows, start):
    """Rows in place of the table's from `start` on."""
    out, at = table.copy(), int(start.item())
    out[..., at : at + rows.shape[-2], :] = rows[..., : max(table.shape[-2] - at, 0), :]
    return out


G = In((4, 5, 4))
PLACE = In((1,), 5, 5, "i")
ATTENTION: dict[str, Row] = {
    "scaled_dot_product_attention": Row(
        lambda q, k, v, mask: attention(q, k, v, mask, softcap=2.0, enable_gqa=True),
        (In((2, 4, 5, 6)), In((2, 2, 7, 6)), In((2, 2, 7, 3)), In((4, 1, 7))),
        call=lambda q, k, v, mask: COMPOSED["scaled_dot_product_attention"](
            q, k, v, mask, enable_gqa=True, softcap=2.0
        ),
    ),
    "_attention": Row(
        lambda q, k, v: attention(q, k, v, is_causal=True, scale=0.5, softcap=3.0, enable_gqa=True),
        (Q, K, V), grads=0, call=lambda q, k, v: q._attention(k, v, **ATTRS),
    ),
    "_norms": Row(norms, (Q, K, V), grads=0,
                  call=lambda q, k, v: output_of(OPS["_norms"], q._attention(k, v, **ATTRS))),
    "_queries": Row(lambda q, k, v, g: slopes(q, k, v, g)[2] @ slopes(q, k, v, g)[0] * 0.5, (Q, K, V, G),
                    grads=0, call=gradient("_queries")),
    "_keys": Row(lambda q, k, v, g: of_group(np.swapaxes(slopes(q, k, v, g)[2], 1, 2) @ q) * 0.5,
                 (Q, K, V, G), grads=0, call=gradient("_keys")),
    "_values": Row(lambda q, k, v, g: of_group(np.swapaxes(slopes(q, k, v, g)[1], 1, 2) @ g), (Q, K, V, G),
                   grads=0, call=gradient("_keys", "_values")),
    "_slopes": Row(lambda q, k, v, g: in_lines(slopes(q, k, v, g)[2]), (Q, K, V, G), grads=0,
                   call=gradient("_keys", "_slopes")),
    "_scores_slopes": Row(lambda q, k, v, g: in_lines(slopes(q, k, v, g)[2]), (Q, K, V, G), grads=0,
                          call=gradient("_scores_slopes")),
    "_stored_weights": Row(lambda q, k, v, g: in_lines(slopes(q, k, v, g)[1]), (Q, K, V, G), grads=0,
                           call=gradient("_scores_slopes", "_stored_weights")),
    "_put": Row(put, (In((2, 7, 8)), In((2, 3, 8)), PLACE), grads=0),
    "put_rows": Row(put, (In((2, 2, 7, 3)), In((2, 2, 1, 3)), PLACE), grads=0),
}  # fmt: skip
