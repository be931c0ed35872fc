"""Contractions: products of two views summed over their last dims, which matmul and convolution are."""

from .. import dtype as dt
from ..op import Family, composed, composite, kernel
from ..shape import Window, broadcast

NN = ("conv1d", "conv2d", "conv3d")


def _shape(a, b, nk, label):
    shape = broadcast(a, b)
    return shape[: len(shape) - nk]


def _common(a, b):
    found = dt.promote(a, b)
    return found if found.kind != "b" else dt.int32


def _dtype(a, b, **_):
    """What products are added up in: 4 bytes, also of operands that are read packed."""
    return _common(a, b).wide


def _grad(g, y, a, b, nk, label):
    g = g.reshape(*g.shape, *(1,) * nk)
    return [_grad_operand(g, b, a, label), _grad_operand(g, a, b, label)]


def _grad_operand(g, other, x, label):
    """Sum g * other over the dims that x was broadcast along."""
    rank = x.ndim
    summed = [d for d in range(rank) if x.shape[d] == 1 and max(g.shape[d], other.shape[d]) > 1]
    if not summed:
        return (g * other).expand(*x.shape)
    kept = [d for d in range(rank) if d not in summed]
    order = (*kept, *summed)
    out = contract(g.permute(*order), other.permute(*order), len(summed), label)
    out = out.expand(*(x.shape[d] for d in kept))
    return out.reshape(*x.shape)


def _einsum(xp, a, b, nk, label):
    rank = a.ndim
    letters = "abcdefghijklmnopqrstuvwxyz"[:rank]
    shape = broadcast(a.shape, b.shape)
    keep = [[d for d in range(rank) if x.shape[d] != 1 or shape[d] == 1] for x in (a, b)]
    terms = ["".join(letters[d] for d in k) for k in keep]
    parts = [x.reshape(tuple(x.shape[d] for d in k)) for x, k in zip((a, b), keep, strict=True)]
    out = xp.einsum(f"{terms[0]},{terms[1]}->{letters[: rank - nk]}", *parts, optimize=True)
    return out.astype(a.dtype)


def contract(a, b, nk: int, label: str = "contract"):
    """Sum a * b, broadcast together, over the last nk dims. [..., k], [..., k] -> [...]"""
    return Contract._contract(a, b, nk, label).to(_common(a.dtype, b.dtype))


def same_rank(a, b):
    """Bring both to one dtype; contractions compute in one type."""
    found = _common(a.dtype, b.dtype)
    return a.to(found), b.to(found)


class Contract(Family):
    @kernel("contract", shape=_shape, dtype=_dtype, grad=_grad, xp=_einsum, dtypes="fiu")
    def _contract(self, other, nk, label):
        """Sum of products over the last nk dims of two views of equal rank."""
        return (self, other), {"nk": nk, "label": label}

    @composed
    def matmul(self, other):
        """Matrix product; one dim is a vector. [..., m, k] @ [..., k, n] -> [..., m, n]"""
        if self.ndim == 0 or other.ndim == 0:
            raise ValueError("both operands need at least 1 dim: use * for scalars")
        a, b = same_rank(self, other)
        a = a.unsqueeze(0) if self.ndim == 1 else a
        b = b.unsqueeze(1) if other.ndim == 1 else b
        if a.shape[-1] != b.shape[-2]:
            raise ValueError(f"inner sizes differ: {a.shape[-1]} and {b.shape[-2]}")
        a, b = a.unsqueeze(-2), b.transpose(-1, -2).unsqueeze(-3)
        rank = max(a.ndim, b.ndim)
        a, b = (x.reshape(*(1,) * (rank - x.ndim), *x.shape) for x in (a, b))
        y = contract(a, b, 1, "matmul")
        y = y.squeeze(-1) if other.ndim == 1 else y
        return y.squeeze(-2 if other.ndim > 1 else -1) if self.ndim == 1 else y

    __matmul__ = matmul

    def __rmatmul__(self, other):
        return Contract.matmul(other, self)

    @composed
    def dot(self, other):
        """Sum of products of two vectors. [n], [n] -> []"""
        if self.ndim != 1 or other.ndim != 1:
            raise ValueError("both operands need 1 dim: use matmul")
        return self.matmul(other)

    @composed
    def outer(self, other):
        """Every product of two vectors' elements. [n], [m] -> [n, m]"""
        return self.reshape(-1, 1) * other.reshape(1, -1)


def pair(value, n: int = 2) -> tuple[int, ...]:
    """Turn 3 into (3, 3), and leave (3, 5) as it is."""
    return (value,) * n if isinstance(value, int) else tuple(value)


def _spec(kernel_size, stride, padding, dilation):
    return tuple(Window(*w) for w in zip(kernel_size, stride, dilation, padding, padding, strict=True))


def _conv_views(x, w, stride, padding, dilation, groups):
    """x as windows [n, g, c, oh, ow, kh, kw] and w as [g, o, c, kh, kw]."""
    n, c, *size = x.shape
    xw = x.reshape(n, groups, c // groups, *size)._windows(_spec(w.shape[2:], stride, padding, dilation))
    return xw, w.reshape(groups, w.shape[0] // groups, *w.shape[1:])


def _conv_grad(g, y, x, w, stride, padding, dilation, groups):
    nd = x.ndim - 2
    xw, wg = _conv_views(x, w, stride, padding, dilation, groups)
    gg = g.reshape(g.shape[0], groups, -1, *g.shape[2:])  # [n, g, o, *out]
    out, taps = range(3, 3 + nd), range(3 + nd, 3 + 2 * nd)
    # dw: [g, o, c, *taps] summed over n and the output positions
    gw = gg.permute(1, 2, 0, *out).reshape(groups, gg.shape[2], *(1,) * (1 + nd), gg.shape[0], *g.shape[2:])
    dw = contract(xw.permute(1, 2, *taps, 0, *out).unsqueeze(1), gw, 1 + nd, "conv_weight").reshape(*w.shape)
    if all(s == 1 for s in stride):
        back = tuple(d * (k - 1) - p for d, k, p in zip(dilation, w.shape[2:], padding, strict=True))
        flipped = wg.transpose(1, 2).flip(tuple(range(3, 3 + nd))).reshape(x.shape[1], -1, *w.shape[2:])
        return [conv(g, flipped, stride=stride, padding=back, dilation=dilation, groups=groups), dw]
    o, c = wg.shape[1:3]
    gy = gg.permute(0, 1, *out, 2).reshape(gg.shape[0], groups, 1, *g.shape[2:], *(1,) * nd, o)
    taken = wg.permute(0, 2, *range(3, 3 + nd), 1).reshape(1, groups, c, *(1,) * nd, *w.shape[2:], o)
    cols = contract(gy, taken, 1, "conv_input")
    return [cols._fold(_spec(w.shape[2:], stride, padding, dilation), x.shape[2:]).reshape(*x.shape), dw]


@composite(grad=_conv_grad)
def conv(x, w, *, stride, padding, dilation, groups):
    """Convolution over the dims from the third. [n, c, *size], [o, c / groups, *kernel] -> [n, o, *out]"""
    nd = x.ndim - 2
    xw, wg = _conv_views(x, w, stride, padding, dilation, groups)
    out, taps = range(3, 3 + nd), range(3 + nd, 3 + 2 * nd)
    xw = xw.permute(0, 1, *out, 2, *taps).unsqueeze(2)  # [n, g, 1, *out, c, *taps]
    wg = wg.reshape(1, groups, wg.shape[1], *(1,) * nd, *w.shape[1:])
    y = contract(xw, wg, 1 + nd, f"conv{nd}d")
    return y.reshape(x.shape[0], w.shape[0], *y.shape[3:])


def _conv(nd):
    def convolve(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        x, w = same_rank(input, weight)
        if x.ndim != nd + 2 or w.ndim != nd + 2:
            raise ValueError(f"input and weight need {nd + 2} dims")
        if x.shape[1] != w.shape[1] * groups or w.shape[0] % groups:
            raise ValueError(
                f"weight {list(w.shape)} with groups={groups} needs {w.shape[1] * groups} input channels"
                f" and output channels divisible by groups: got {x.shape[1]} and {w.shape[0]}"
            )
        attrs = {"stride": pair(stride, nd), "padding": pair(padding, nd), "dilation": pair(dilation, nd)}
        y = conv(x, w, groups=groups, **attrs)
        return y if bias is None else y + bias.reshape(-1, *(1,) * nd)

    convolve.__name__ = f"conv{nd}d"
    convolve.__doc__ = (
        f"Cross-correlation over {nd} dims, as PyTorch's conv{nd}d: stride, padding, dilation (a number or"
        f" one per dim), groups. [n, c, *size], [o, c / groups, *kernel] -> [n, o, *out]"
    )
    return composed(convolve)


conv1d, conv2d, conv3d = _conv(1), _conv(2), _conv(3)
