"""Graphs that between them have every kernel: the op table's rows, and what is too large for a row."""

import numpy as np

import flambeau as fb
from flambeau import nn
from flambeau.core.block_formats import FORMATS
from helpers.inputs import arrays
from helpers.views import mixed

F = nn.functional


def on_paper(device, *shape, kind="f"):
    return fb.tensor(np.zeros(shape, {"f": "f4", "i": "i4", "b": "?"}[kind]), device=device)


def backward(row, name, device):
    """The value, its gradients and those of their squares, as often as the row can be differentiated."""
    xs = [fb.tensor(a, device=device) for a in arrays(row, np.random.default_rng(8))]
    xs = [x.requires_grad_() if x.dtype is fb.float32 else x for x in xs]
    made, loss = [row.compute(name, *xs)], row.compute(name, *xs).sum()
    for order in range(row.grads):
        if not loss.requires_grad:
            break
        found = loss.backward(create_graph=order + 1 < row.grads)
        grads = [found[x] for x in xs if x in found]
        made += grads
        loss = sum(((g * g).sum() for g in grads), on_paper(device))
    fb.realize(*made)


def of_views(row, name, device):
    given = arrays(row, np.random.default_rng(8))
    if all(a.ndim for a in given):
        fb.realize(row.compute(name, *(mixed(a, device) for a in given)))


def of_few_rows_and_wide_heads(t):
    made = [
        F.scaled_dot_product_attention(
            t(2, n, d), t(2, 300, d), t(2, 300, d), is_causal=True, start=t(1).int()
        )
        for d, n in ((16, 1), (128, 3), (128, 300), (256, 300))
    ]
    q, k, v = (t(1, 70, 256).requires_grad_() for _ in range(3))
    found = F.scaled_dot_product_attention(q, k, v, softcap=2.0).sum().backward()
    return [*made, *(found[x] for x in (q, k, v))]


LARGE = {  # what rows are too small for: several passes, long rows, wide tiles
    "sums": lambda t: [t(3, 100000).sum(1), t(100000, 3).sum(0), t(700, 700).amax(0), t(4099).prod()],
    "contractions": lambda t: [
        t(256, 512) @ t(512, 256), t(8, 90000) @ t(90000, 8), F.gelu(t(300, 70).T @ t(300, 90) + t(90)),
        F.conv2d(t(8, 32, 28, 28), t(64, 32, 3, 3), t(64), padding=1).relu(),
    ],
    "blocks": lambda t: [
        t(m, 512) @ t(9000, kind="i").to(fb.uint32)._decode_blocks(form, (64, 512)).t()
        for form in FORMATS
        for m in (1, 33)
    ],
    "scans": lambda t: [
        f(t(*shape), dim)
        for f in (fb.cumsum, fb.cumprod, fb.logcumsumexp)
        for shape, dim in (((3, 100000), 1), ((100000, 3), 0), ((5000, 40), 1))
    ],
    "extremes so far": lambda t: [*t(3, 100000).cummax(1), *t(100000, 3, kind="i").cummin(0)],
    "sorts": lambda t: [
        x.argsort(dim, descending=d)
        for x, dim in ((t(3, 100000), 1), (t(100000, 3, kind="i"), 0), (t(99, 1500), 1), (t(99, 3000), 1))
        for d in (False, True)
    ] + [t(3, 20000).topk(50)[1], t(3, 600, kind="i").topk(64, largest=False)[1]],
    "scatters": lambda t: [
        t(500, 8).index_add(0, t(90000, kind="i"), t(90000, 8)),
        t(90000).scatter_reduce(0, t(90000, kind="i"), t(90000), "amax"),
        F.embedding(t(90000, kind="i"), t(500, 8).requires_grad_()).sum(0),
    ],
    "attention": lambda t: [
        F.scaled_dot_product_attention(t(2, 4, 300, 64), t(2, 4, 300, 64), t(2, 4, 300, 32), **options)
        for options in ({}, {"is_causal": True}, *({"attn_mask": t(300, 300, kind=k)} for k in "fb"))
    ]
    + of_few_rows_and_wide_heads(t),
    "transforms": lambda t: [fb.fft.rfft(t(3, n)) for n in (60, 127, 4096, 20000)] + [
        f(t(2, n, 8), dim=1)
        for f, n in ((fb.fft.rfft, 4096), (fb.fft.fft, 5000), (fb.fft.ifft, 4096))
    ] + [
        fb.fft.irfft(fb.fft.rfft(t(2, 4096, 8), dim=1), 4096, dim=1),
    ],
    "strided gradients": lambda t: [F.conv_transpose2d(t(2, 64, 56, 56), t(64, 3, 7, 7), None, 2, 3, 1)],
    "factors": lambda t: [
        fb.linalg.det(t(3, 200, 200)), fb.linalg.svdvals(t(150, 150)), fb.linalg.eigvalsh(t(150, 150)),
        fb.linalg.cholesky(t(200, 200)), *fb.linalg.qr(t(300, 100)),
    ],
    "counts": lambda t: [fb.histc(t(100000), 300), t(100000, kind="i").bincount(length=50)],
}  # fmt: skip
