"""Convolutions, pools and sampling as plain loops over NumPy arrays, with no code of the package."""

from itertools import product
from math import ceil, floor

import numpy as np

from references.base import conv, for_each_dim


def conv_same(x, w, bias=None, padding="same", **attrs):
    """conv with the zeros that keep the size, one more behind where their number is odd."""
    dilation = for_each_dim(attrs.get("dilation", 1), x.ndim - 2)
    reach = [d * (k - 1) for d, k in zip(dilation, w.shape[2:])]
    x = np.pad(x, [(0, 0), (0, 0), *((r // 2, r - r // 2) for r in reach)])
    return conv(x, w, bias, **attrs)


def conv_transpose(x, w, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """Each input position adds its kernel to the output."""
    nd, (n, cin), cout = x.ndim - 2, x.shape[:2], w.shape[1]
    stride, padding, extra, dilation = (
        for_each_dim(v, nd) for v in (stride, padding, output_padding, dilation)
    )
    size, taps = x.shape[2:], w.shape[2:]
    full = [(m - 1) * s + d * (k - 1) + 1 + e for m, s, d, k, e in zip(size, stride, dilation, taps, extra)]
    y = np.zeros((n, cout * groups, *full), x.dtype)
    each = cin // groups
    for at in product(*map(range, size)):
        for tap in product(*map(range, taps)):
            to = tuple(a * s + t * d for a, s, t, d in zip(at, stride, tap, dilation))
            for g in range(groups):
                own = slice(g * each, (g + 1) * each)
                y[(slice(None), slice(g * cout, (g + 1) * cout), *to)] += (
                    x[(slice(None), own, *at)] @ w[(own, slice(None), *tap)]
                )
    y = y[(..., *(slice(p, f - p) for p, f in zip(padding, full)))]
    return y if bias is None else y + bias.reshape(-1, *[1] * nd)


def conv_gradients(x, w, g, stride=1, padding=0, dilation=1, groups=1):
    """The gradients of conv's sum weighted by g, by x and by w: each tap adds to the places that it reads."""
    nd = x.ndim - 2
    stride, padding, dilation = (for_each_dim(v, nd) for v in (stride, padding, dilation))
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    dx, dw = np.zeros_like(x), np.zeros_like(w)
    own, out = w.shape[1], w.shape[0] // groups
    for tap in product(*map(range, w.shape[2:])):
        at = [
            slice(t * d, t * d + s * (n - 1) + 1, s) for t, d, s, n in zip(tap, dilation, stride, g.shape[2:])
        ]
        for i in range(groups):
            read = (slice(None), slice(i * own, (i + 1) * own), *at)
            made = slice(i * out, (i + 1) * out)
            dx[read] += np.einsum("no...,oc->nc...", g[:, made], w[(made, slice(None), *tap)])
            dw[(made, slice(None), *tap)] += np.einsum(
                "nop,ncp->oc",
                g[:, made].reshape(len(g), out, -1),
                x[read].reshape(len(x), own, -1),
            )
    return dx[(..., *(slice(p, n - p) for p, n in zip(padding, dx.shape[2:])))], dw


def im2col(x, kernel_size, dilation=1, padding=0, stride=1):
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = (
        for_each_dim(v, 2) for v in (kernel_size, dilation, padding, stride)
    )
    x = np.pad(x, [(0, 0), (0, 0), (ph, ph), (pw, pw)])
    oh, ow = (x.shape[2] - dh * (kh - 1) - 1) // sh + 1, (x.shape[3] - dw * (kw - 1) - 1) // sw + 1
    columns = []
    for i, j in product(range(oh), range(ow)):
        cut = x[:, :, i * sh : i * sh + dh * (kh - 1) + 1 : dh, j * sw : j * sw + dw * (kw - 1) + 1 : dw]
        columns.append(cut.reshape(x.shape[0], -1))
    return np.stack(columns, -1)


def col2im(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """The sum over columns of each element's share: column by column through im2col of the places."""
    h, w = output_size
    taps = np.prod(for_each_dim(kernel_size, 2))
    places = im2col(np.arange(1, h * w + 1).reshape(1, 1, h, w), kernel_size, dilation, padding, stride)[0]
    cols = x.reshape(x.shape[0], -1, taps, x.shape[2])
    y = np.zeros((*cols.shape[:2], h * w + 1), x.dtype)
    for k, i in np.ndindex(*places.shape):
        y[:, :, places[k, i]] += cols[:, :, k, i]
    return y[:, :, 1:].reshape(*cols.shape[:2], h, w)


def bilinear_at(image, y, x):
    """One place of an image with zeros around. [h, w] -> a number"""
    total, (h, w) = 0.0, image.shape
    for i, j in product((floor(y), floor(y) + 1), (floor(x), floor(x) + 1)):
        if 0 <= i < h and 0 <= j < w:
            total += image[i, j] * (1 - abs(y - i)) * (1 - abs(x - j))
    return total


def deform_conv2d(x, offset, w, bias, mask, stride=1, padding=0, dilation=1):
    (sh, sw), (ph, pw), (dh, dw) = (for_each_dim(v, 2) for v in (stride, padding, dilation))
    n, o, (kh, kw), (oh, ow) = x.shape[0], w.shape[0], w.shape[2:], offset.shape[2:]
    groups, shared = x.shape[1] // w.shape[1], x.shape[1] // (offset.shape[1] // (2 * kh * kw))
    y = np.zeros((n, o, oh, ow), x.dtype) + bias.reshape(-1, 1, 1)
    for b, k, c, i, j, p, q in product(*map(range, (n, o, w.shape[1], kh, kw, oh, ow))):
        channel = k // (o // groups) * w.shape[1] + c
        tap = (channel // shared * kh + i) * kw + j
        at = (
            p * sh - ph + i * dh + offset[b, 2 * tap, p, q],
            q * sw - pw + j * dw + offset[b, 2 * tap + 1, p, q],
        )
        y[b, k, p, q] += w[k, c, i, j] * mask[b, tap, p, q] * bilinear_at(x[b, channel], *at)
    return y


def pooled(x, nd, kernel_size, stride, padding, dilation, ceil_mode, f):
    """f(values inside, their flat places, elements of the window that padding may count) window by window."""
    kernel, padding, dilation = (for_each_dim(v, nd) for v in (kernel_size, padding, dilation))
    stride = kernel if stride is None else for_each_dim(stride, nd)
    size, out = x.shape[-nd:], []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation):
        o = (ceil if ceil_mode else floor)((n + 2 * p - d * (k - 1) - 1) / s) + 1
        out.append(o - 1 if ceil_mode and (o - 1) * s >= n + p else o)
    y = np.zeros((*x.shape[:-nd], *out), x.dtype)
    for at in product(*map(range, out)):
        lines, count = [], 1
        for a, n, k, s, p, d in zip(at, size, kernel, stride, padding, dilation):
            own = [a * s - p + t * d for t in range(k)]
            count *= sum(i < n + p for i in own)
            lines.append([i for i in own if 0 <= i < n])
        cells = [x[(..., *cell)] for cell in product(*lines)]
        flat = [np.ravel_multi_index(cell, size) for cell in product(*lines)]
        y[(..., *at)] = f(np.stack(cells, -1), np.array(flat), count)
    return y


def max_pool(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, nd=2):
    return pooled(x, nd, kernel_size, stride, padding, dilation, ceil_mode, lambda v, i, c: v.max(-1))


def max_pool_places(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, nd=2):
    found = pooled(x, nd, kernel_size, stride, padding, dilation, ceil_mode, lambda v, i, c: i[v.argmax(-1)])
    return found.astype("i4")


def avg_pool(x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, nd=2):
    def mean(v, i, count):
        return v.sum(-1) / (count if count_include_pad else len(i))

    return pooled(x, nd, kernel_size, stride, padding, 1, ceil_mode, mean)


def lp_pool(x, norm_type, kernel_size, stride=None, ceil_mode=False, nd=2):
    taps = np.prod(for_each_dim(kernel_size, nd))

    def root(v, i, count):
        return ((v**norm_type).sum(-1) * taps / count) ** (1 / norm_type)

    return pooled(x, nd, kernel_size, stride, 0, 1, ceil_mode, root)


def max_unpool(x, index, size):
    """Values at their flat places among zeros, later ones over earlier ones."""
    nd = len(size)
    lead = x.shape[:-nd]
    y = np.zeros((*lead, np.prod(size)), x.dtype)
    flat, places = x.reshape(*lead, -1), index.reshape(*lead, -1)
    for at in np.ndindex(*flat.shape):
        y[(*at[:-1], places[at])] = flat[at]
    return y.reshape(*lead, *size)


def adaptive(x, out, f):
    """f(values, flat places) of the windows floor(i n / o) to ceil((i + 1) n / o) of the last dims."""
    nd = len(out)
    size = x.shape[-nd:]
    y = np.zeros((*x.shape[:-nd], *out), x.dtype)
    for at in product(*map(range, out)):
        lines = [range(i * n // o, -(-(i + 1) * n // o)) for i, n, o in zip(at, size, out)]
        cells = np.stack([x[(..., *cell)] for cell in product(*lines)], -1)
        flat = np.array([np.ravel_multi_index(cell, size) for cell in product(*lines)])
        y[(..., *at)] = f(cells, flat)
    return y


def adaptive_taken(x, index, out):
    """x added where `index` says among those of its window: the adjoint of taking from windows."""
    nd = len(out)
    y = np.zeros((*x.shape[:-nd], np.prod(out)), x.dtype)
    windows = [
        [np.ravel_multi_index(c, out) for c in product(*lines)]
        for lines in product(
            *([range(i * n // o, -(-(i + 1) * n // o)) for i in range(o)] for n, o in zip(out, x.shape[-nd:]))
        )
    ]
    flat, places = x.reshape(*x.shape[:-nd], -1), index.reshape(*x.shape[:-nd], -1)
    for at in np.ndindex(*flat.shape):
        if places[at] in windows[at[-1]]:
            y[(*at[:-1], places[at])] += flat[at]
    return y.reshape(*x.shape[:-nd], *out)
