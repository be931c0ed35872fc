"""Movement ops: other views of the same elements. None of them copies until a kernel must."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from ..core.declare import composed, kernel
from ..core.node import describe
from ..core.op import Family
from ..core.shape import Window, normal_dim, normal_dims, sizes_of
from ..errors import ValueError

if TYPE_CHECKING:
    from ..tensor import Tensor


def _dtype(d, **_):
    return d


def movement(shape, xp, grad, order=""):
    """Declare a view op; what it does to indices is the method of View with its name."""
    return kernel("movement", shape=shape, dtype=_dtype, xp=xp, grad=grad, dtypes="fiub", order=order)


def _strided_slice(xp, x, starts, steps, shape):
    if 0 in shape:
        return xp.zeros(shape, dtype=x.dtype)
    back = tuple(d for d, s in enumerate(steps) if s < 0)  # not every library steps backwards
    x = xp.flip(x, axis=back) if back else x
    keys = []
    for d, (a, s, n) in enumerate(zip(starts, steps, shape, strict=True)):
        a = x.shape[d] - 1 - a if s < 0 else a
        keys.append(slice(a, a + abs(s) * (n - 1) + 1, abs(s)))
    return x[tuple(keys)]


def _pad(xp, x, before, after):
    if not before:  # no dims are no widths to NumPy
        return x
    x = xp.pad(x, [(max(b, 0), max(a, 0)) for b, a in zip(before, after, strict=True)])
    # cut behind that: one end may lose more than there was, where the other has zeros
    return x[tuple(slice(max(-b, 0), n - max(-a, 0)) for b, a, n in zip(before, after, x.shape, strict=True))]


def _windows_shape(s, spec):
    lead = len(s) - len(spec)
    positions = (w.positions(n) for w, n in zip(spec, s[lead:], strict=True))
    return (*s[:lead], *positions, *(w.kernel for w in spec))


def _windows(xp, x, spec):
    lead = x.ndim - len(spec)
    x = xp.pad(x, [(0, 0)] * lead + [(w.before, w.after) for w in spec])
    spans = tuple(w.dilation * (w.kernel - 1) + 1 for w in spec)
    x = xp.sliding_window_view(x, spans, axis=tuple(range(lead, lead + len(spec))))
    step = tuple(slice(None, None, w.stride) for w in spec)
    return x[(..., *step, *(slice(None, None, w.dilation) for w in spec))]


def unslice(g, whole, starts, steps, shape):
    """Put a slice back among zeros: flip negative steps, spread long ones, pad to the whole shape."""
    back = [d for d, s in enumerate(steps) if s < 0]
    g = g.flip(back) if back else g
    for d, step in enumerate(steps):
        if abs(step) > 1 and shape[d] > 1:
            g = spread(g, d, abs(step))
    low = [min(a, a + s * max(n - 1, 0)) for a, s, n in zip(starts, steps, shape, strict=True)]
    after = [n - a - m for n, a, m in zip(whole, low, g.shape, strict=True)]
    return Movement._pad(g, tuple(low), tuple(after))


def _grad_slice(g, y, x, starts, steps, shape):
    return [unslice(g, x.shape, starts, steps, shape)]


def spread(x, dim: int, step: int):
    """Put step - 1 zeros between neighbours of a dim. [..., n, ...] -> [..., (n - 1) * step + 1, ...]"""
    n = x.shape[dim]
    x = x.unsqueeze(dim + 1)
    x = Movement._pad(x, (0,) * x.ndim, tuple((step - 1) * (d == dim + 1) for d in range(x.ndim)))
    x = x.reshape(*x.shape[:dim], n * step, *x.shape[dim + 2 :])
    return x.narrow(dim, 0, (n - 1) * step + 1)


def fold(x, spec, size):
    """Windows added back where they came from; a view where they cover every element just once."""
    n = len(spec)
    if any(w.stride != w.kernel or w.dilation != 1 or w.before or w.after for w in spec):
        return x._fold(spec, size)
    lead = x.ndim - 2 * n
    pairs = [d for i in range(n) for d in (lead + i, lead + n + i)]
    covered = [x.shape[lead + i] * w.kernel for i, w in enumerate(spec)]
    y = x.permute(*range(lead), *pairs).reshape(*x.shape[:lead], *covered)
    rest = tuple(s - c for s, c in zip(size, covered, strict=True))
    return y._pad((0,) * y.ndim, (*(0,) * lead, *rest)) if any(rest) else y


@movement(
    lambda s, shape: shape,
    xp=lambda xp, x, shape: xp.reshape(x, shape),
    grad=lambda g, y, x, shape: [g.reshape(x.shape)],
    order="same",
)
def reshape(input: Tensor, *shape: int | Sequence[int]):
    """The same elements in order, in another shape; one size may be -1. [...] -> [*shape]

    Raises ValueError where the elements do not fill the shape.
    """
    sizes, n = list(sizes_of(shape)), prod(input.shape)
    if sizes.count(-1) > 1:
        raise ValueError("only one size can be -1")
    if -1 in sizes:
        known = -prod(sizes)
        sizes[sizes.index(-1)] = n // known if known else 0
    if prod(sizes) != n or any(s < 0 for s in sizes):
        raise ValueError(f"{n} elements do not fill shape {list(sizes_of(shape))}")
    return (input,), {"shape": tuple(sizes)}


@movement(
    lambda s, dims: tuple([s[d] for d in dims]),
    xp=lambda xp, x, dims: xp.permute_dims(x, dims),
    grad=lambda g, y, x, dims: [g.permute(*(dims.index(d) for d in range(len(dims))))],
    order="turned",
)
def permute(input: Tensor, *dims: int | Sequence[int]):
    """The dims in another order. [a, b, c], (2, 0, 1) -> [c, a, b]

    Raises ValueError where dims are not each dim once.
    """
    order = tuple(normal_dim(d, input.ndim) for d in sizes_of(dims))
    if sorted(order) != list(range(input.ndim)):
        raise ValueError(f"dims {list(order)} are not each of 0 to {input.ndim - 1} once")
    return (input,), {"dims": order}


@movement(
    lambda s, shape: shape,
    xp=lambda xp, x, shape: xp.broadcast_to(x, shape),
    grad=lambda g, y, x, shape: [g],  # autodiff/backward.py sums over what was broadcast, for every op
    order="repeated",
)
def expand(input: Tensor, *shape: int | Sequence[int]):
    """Repeat dims of size 1 without copying; -1 keeps a size. [n, 1], (n, m) -> [n, m]

    Raises ValueError where a size that is not 1 would change.
    """
    sizes = list(sizes_of(shape))
    lead = len(sizes) - input.ndim
    for d, n in enumerate(input.shape):
        e = d + lead
        if lead < 0 or (n != 1 and sizes[e] not in (-1, n)):
            raise ValueError(f"shape {list(input.shape)} does not expand to {sizes}")
        sizes[e] = n if sizes[e] == -1 else sizes[e]
    return (input,), {"shape": tuple(sizes)}


@movement(lambda s: s, xp=lambda xp, x: x, grad=None, order="same")
def detach(input: Tensor):
    """The same values, through which no gradient flows."""
    return (input,), {}


@composed
def flip(input: Tensor, *dims: int | Sequence[int]) -> Tensor:
    """The elements of these dims in reverse order. [...] -> [...]

    Raises IndexError where there is no such dim; ValueError where one is named twice; TypeError where a
        size is no whole number.
    """
    dims = normal_dims(sizes_of(dims), input.ndim)
    starts = tuple(max(n - 1, 0) if d in dims else 0 for d, n in enumerate(input.shape))
    return input._slice(starts, tuple(-1 if d in dims else 1 for d in range(input.ndim)), input.shape)


@composed
def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """`length` elements of a dim from `start`. [..., n, ...] -> [..., length, ...]

    Raises ValueError where the piece is not inside the dim.
    """
    dim = normal_dim(dim, input.ndim)
    n = input.shape[dim]
    if not -n <= start <= n:
        raise IndexError(f"start={start} is not in {-n} to {n}: give one of these places")
    start = start + n if start < 0 else start
    if not 0 <= start <= start + length <= n:
        raise ValueError(f"{start} to {start + length} is not inside 0 to {n}")
    shape = (*input.shape[:dim], length, *input.shape[dim + 1 :])
    starts = tuple(start * (d == dim) for d in range(input.ndim))
    return input._slice(starts, (1,) * input.ndim, shape)


@composed
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dims exchanged. [..., a, ..., b, ...] -> [..., b, ..., a, ...]

    dim0: the one dim
    dim1: the first of the two dims
    Raises IndexError where there is no such dim.
    """
    dims = list(range(input.ndim))
    a, b = normal_dim(dim0, input.ndim), normal_dim(dim1, input.ndim)
    if dims:  # a single number has no dims to exchange
        dims[a], dims[b] = b, a
    return input.permute(*dims)


swapaxes = transpose


def t(input: Tensor) -> Tensor:
    """A matrix transposed; a vector itself. ValueError for more dims. [n, m] -> [m, n]"""
    if input.ndim > 2:
        raise ValueError(f"t({describe(input)}): takes at most 2 dims: use mT or transpose")
    return input.transpose(0, 1) if input.ndim == 2 else input


@composed
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dims start_dim to end_dim as one. [n, a, b], 1 -> [n, a * b]

    Raises IndexError where there is no such dim.
    """
    a, b = normal_dim(start_dim, input.ndim), normal_dim(end_dim, input.ndim)
    if input.ndim == 0:
        return input.reshape(1)
    if a > b:
        raise ValueError(f"start_dim {start_dim} comes after end_dim {end_dim}: swap them")
    return input.reshape(*input.shape[:a], prod(input.shape[a : b + 1]), *input.shape[b + 1 :])


@composed
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """One dim as several. [..., a * b, ...], (a, b) -> [..., a, b, ...]

    sizes: the sizes that the dim becomes; one may be -1
    Raises ValueError where the sizes do not multiply to that of the dim.
    """
    dim = normal_dim(dim, input.ndim)
    found, n = list(sizes), input.shape[dim]  # of the dim alone: others may be 0, and say nothing of a -1
    if found.count(-1) == 1:
        found[found.index(-1)] = n // max(-prod(found), 1)
    if prod(found) != n or any(s < 0 for s in found):
        raise ValueError(f"sizes {list(sizes)} do not multiply to the {n} of dim {dim}")
    return input.reshape(*input.shape[:dim], *found, *input.shape[dim + 1 :])


@composed
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A dim of size 1 put in at `dim`. [a, b], 1 -> [a, 1, b]

    Raises IndexError where there is no such dim.
    """
    dim = normal_dim(dim, input.ndim + 1)
    return input.reshape(*input.shape[:dim], 1, *input.shape[dim:])


@composed
def squeeze(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Dims of size 1 taken out: all of them, or those named. [a, 1, b] -> [a, b]

    Raises IndexError where there is no such dim; ValueError where one is named twice.
    """
    dims = normal_dims(dim, input.ndim)
    return input.reshape(*(n for d, n in enumerate(input.shape) if n != 1 or d not in dims))


class Movement(Family):
    @movement(lambda s, starts, steps, shape: shape, xp=_strided_slice, grad=_grad_slice)
    def _slice(self: Any, starts, steps, shape):
        """Element i of dim d is element starts[d] + i * steps[d]: behind indexing, narrow and flip."""
        return (self,), {"starts": starts, "steps": steps, "shape": shape}

    @movement(
        lambda s, before, after: tuple([n + b + a for n, b, a in zip(s, before, after, strict=True)]),
        xp=_pad,
        grad=lambda g, y, x, before, after: [
            Movement._pad(g, tuple(-b for b in before), tuple(-a for a in after))
        ],
    )
    def _pad(self: Any, before, after):
        """Zeros before and after each dim; negative amounts cut. Behind pad, cat and slice gradients."""
        return (self,), {"before": before, "after": after}

    @movement(
        _windows_shape,
        xp=_windows,
        grad=lambda g, y, x, spec: [fold(g, spec, x.shape[x.ndim - len(spec) :])],
    )
    def _windows(self: Any, spec):
        """Windows sliding over the last dims, as a view. [..., n] -> [..., positions, kernel]"""
        spec = tuple(Window(*w) for w in spec)
        for w, n in zip(spec, self.shape[self.ndim - len(spec) :], strict=True):
            if w.positions(n) < 1:
                span = w.dilation * (w.kernel - 1) + 1
                raise ValueError(f"window of {span} is larger than its dim of {n} padded")
        return (self,), {"spec": spec}
