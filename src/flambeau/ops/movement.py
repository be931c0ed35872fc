"""Movement ops: other views of the same elements. None of them copies until a kernel must."""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from ..core import dtype as dt
from ..core.declare import P, composed, kernel
from ..core.node import describe
from ..core.op import Family
from ..core.shape import Window, normal_dim, normal_dims, sizes_of
from ..errors import ValueError

if TYPE_CHECKING:
    from ..core.rules import Gradient, Gradients, Prepared, Reference, ShapeRule
    from ..core.shape import Shape
    from ..tensor import Tensor


def _dtype(d: dt.DType, **_: Any) -> dt.DType:
    return d


def movement(
    shape: ShapeRule, xp: Reference, grad: Gradient | None, order: str = ""
) -> Callable[[Callable[P, Any]], Callable[P, Tensor]]:
    """Declare a view op. The method of View with the op's name maps its indices."""
    return kernel("movement", shape=shape, dtype=_dtype, xp=xp, grad=grad, dtypes="fiub", order=order)


def _strided_slice(xp: Any, x: Any, starts: tuple[int, ...], steps: tuple[int, ...], shape: Shape) -> Any:
    if 0 in shape:
        return xp.zeros(shape, dtype=x.dtype)
    back = tuple(d for d, s in enumerate(steps) if s < 0)  # some libraries have no negative steps
    x = xp.flip(x, axis=back) if back else x
    keys: list[slice] = []
    for d, (a, s, n) in enumerate(zip(starts, steps, shape, strict=True)):
        a = x.shape[d] - 1 - a if s < 0 else a
        keys.append(slice(a, a + abs(s) * (n - 1) + 1, abs(s)))
    return x[tuple(keys)]


def _pad(xp: Any, x: Any, before: tuple[int, ...], after: tuple[int, ...]) -> Any:
    if not before:  # NumPy rejects empty pad widths
        return x
    x = xp.pad(x, [(max(b, 0), max(a, 0)) for b, a in zip(before, after, strict=True)])
    # cut after padding: one end may lose more than the dim had if the other end has zeros
    return x[tuple(slice(max(-b, 0), n - max(-a, 0)) for b, a, n in zip(before, after, x.shape, strict=True))]


def _windows_shape(s: Shape, spec: Sequence[Window]) -> Shape:
    lead = len(s) - len(spec)
    positions = (w.positions(n) for w, n in zip(spec, s[lead:], strict=True))
    return (*s[:lead], *positions, *(w.kernel for w in spec))


def _windows(xp: Any, x: Any, spec: Sequence[Window]) -> Any:
    lead = x.ndim - len(spec)
    x = xp.pad(x, [(0, 0)] * lead + [(w.before, w.after) for w in spec])
    spans = tuple(w.dilation * (w.kernel - 1) + 1 for w in spec)
    x = xp.sliding_window_view(x, spans, axis=tuple(range(lead, lead + len(spec))))
    step = tuple(slice(None, None, w.stride) for w in spec)
    return x[(..., *step, *(slice(None, None, w.dilation) for w in spec))]


def unslice(g: Tensor, full: Shape, starts: tuple[int, ...], steps: tuple[int, ...], shape: Shape) -> Tensor:
    """The adjoint of slice: flip negative steps, spread long ones, pad with zeros to the full shape."""
    back = [d for d, s in enumerate(steps) if s < 0]
    # The elements in ascending order, with step - 1 zeros between neighbours.
    g = g.flip(back) if back else g
    for d, step in enumerate(steps):
        if abs(step) > 1 and shape[d] > 1:
            g = spread(g, d, abs(step))
    # the lowest element that the slice reads
    low = [min(a, a + s * max(n - 1, 0)) for a, s, n in zip(starts, steps, shape, strict=True)]
    after = [n - a - m for n, a, m in zip(full, low, g.shape, strict=True)]
    return Movement._pad(g, tuple(low), tuple(after))


def _grad_slice(
    g: Tensor, y: Tensor, x: Tensor, starts: tuple[int, ...], steps: tuple[int, ...], shape: Shape
) -> Gradients:
    return [unslice(g, x.shape, starts, steps, shape)]


def spread(x: Tensor, dim: int, step: int) -> Tensor:
    """Put step - 1 zeros between neighbours of a dim. [..., n, ...] -> [..., (n - 1) * step + 1, ...]"""
    n = x.shape[dim]
    x = x.unsqueeze(dim + 1)
    # Each element begins a group of `step` elements, the others being zeros.
    x = Movement._pad(x, (0,) * x.ndim, tuple((step - 1) * (d == dim + 1) for d in range(x.ndim)))
    x = x.reshape(*x.shape[:dim], n * step, *x.shape[dim + 2 :])
    return x.narrow(dim, 0, (n - 1) * step + 1)


def fold(x: Tensor, spec: tuple[Window, ...], size: tuple[int, ...]) -> Tensor:
    """Add windows back to where they were read from. A view if they cover every element exactly once.

    [..., positions, ..., kernel, ...] -> [..., *size]
    """
    n = len(spec)
    # windows that tile the input need no sums
    if any(w.stride != w.kernel or w.dilation != 1 or w.before or w.after for w in spec):
        return x._fold(spec, size)
    lead = x.ndim - 2 * n
    pairs = [d for i in range(n) for d in (lead + i, lead + n + i)]
    tiled = [x.shape[lead + i] * w.kernel for i, w in enumerate(spec)]
    y = x.permute(*range(lead), *pairs).reshape(*x.shape[:lead], *tiled)
    rest = tuple(s - c for s, c in zip(size, tiled, strict=True))
    return y._pad((0,) * y.ndim, (*(0,) * lead, *rest)) if any(rest) else y


def _reshape_grad(g: Tensor, y: Tensor, x: Tensor, shape: Shape) -> Gradients:
    return [g.reshape(x.shape)]


@movement(
    lambda s, shape: shape,
    xp=lambda xp, x, shape: xp.reshape(x, shape),
    grad=_reshape_grad,
    order="same",
)
def reshape(input: Tensor, *shape: int | Sequence[int]) -> Prepared:
    """The same elements in order, in another shape; one size may be -1. [...] -> [*shape]

    Raises ValueError if the elements do not fill the shape.
    """
    sizes, n = list(sizes_of(shape)), prod(input.shape)
    if sizes.count(-1) > 1:
        raise ValueError("only one size can be -1")
    if -1 in sizes:
        # The product has the factor -1 of the unknown size.
        fixed_size = -prod(sizes)
        sizes[sizes.index(-1)] = n // fixed_size if fixed_size else 0
    if prod(sizes) != n or any(s < 0 for s in sizes):
        raise ValueError(f"{n} elements do not fill shape {list(sizes_of(shape))}")
    return (input,), {"shape": tuple(sizes)}


def _permute_shape(s: Shape, dims: tuple[int, ...]) -> Shape:
    return tuple([s[d] for d in dims])


def _permute_grad(g: Tensor, y: Tensor, x: Tensor, dims: tuple[int, ...]) -> Gradients:
    return [g.permute(*(dims.index(d) for d in range(len(dims))))]


@movement(
    _permute_shape,
    xp=lambda xp, x, dims: xp.permute_dims(x, dims),
    grad=_permute_grad,
    order="turned",
)
def permute(input: Tensor, *dims: int | Sequence[int]) -> Prepared:
    """The dims in another order. [a, b, c], (2, 0, 1) -> [c, a, b]

    Raises ValueError if dims are not each dim once.
    """
    order = tuple(normal_dim(d, input.ndim) for d in sizes_of(dims))
    if sorted(order) != list(range(input.ndim)):
        raise ValueError(f"dims {list(order)} are not each of 0 to {input.ndim - 1} once")
    return (input,), {"dims": order}


@movement(
    lambda s, shape: shape,
    xp=lambda xp, x, shape: xp.broadcast_to(x, shape),
    grad=lambda g, y, x, shape: [g],  # autodiff/backward.py sums over broadcast dims, for every op
    order="repeated",
)
def expand(input: Tensor, *shape: int | Sequence[int]) -> Prepared:
    """Repeat dims of size 1 without copying; -1 keeps a size. [n, 1], (n, m) -> [n, m]

    Raises ValueError if a size that is not 1 would change.
    """
    sizes = list(sizes_of(shape))
    lead = len(sizes) - input.ndim  # new dims are in front
    for d, n in enumerate(input.shape):
        e = d + lead
        if lead < 0 or (n != 1 and sizes[e] not in (-1, n)):
            raise ValueError(f"shape {list(input.shape)} does not expand to {sizes}")
        sizes[e] = n if sizes[e] == -1 else sizes[e]
    return (input,), {"shape": tuple(sizes)}


@movement(lambda s: s, xp=lambda xp, x: x, grad=None, order="same")
def detach(input: Tensor) -> Prepared:
    """The same values, through which no gradient flows."""
    return (input,), {}


@composed
def flip(input: Tensor, *dims: int | Sequence[int]) -> Tensor:
    """The elements of these dims in reverse order. [...] -> [...]

    Raises IndexError if there is no such dim; ValueError if one is named twice; TypeError if a size is not
        an integer.
    """
    dims = normal_dims(sizes_of(dims), input.ndim)
    # A slice with step -1 from the last element.
    starts = tuple(max(n - 1, 0) if d in dims else 0 for d, n in enumerate(input.shape))
    return input._slice(starts, tuple(-1 if d in dims else 1 for d in range(input.ndim)), input.shape)


@composed
def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """`length` elements of a dim from `start`. [..., n, ...] -> [..., length, ...]

    Raises ValueError if the piece is not inside the dim.
    """
    dim = normal_dim(dim, input.ndim)
    n = input.shape[dim]
    if not -n <= start <= n:
        raise IndexError(f"start={start} is not in {-n} to {n}: pass a start in this range")
    start = start + n if start < 0 else start
    if not 0 <= start <= start + length <= n:
        raise ValueError(f"{start} to {start + length} is not inside 0 to {n}")
    shape = (*input.shape[:dim], length, *input.shape[dim + 1 :])
    starts = tuple(start * (d == dim) for d in range(input.ndim))
    return input._slice(starts, (1,) * input.ndim, shape)


@composed
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dims exchanged. [..., a, ..., b, ...] -> [..., b, ..., a, ...]

    dim0: the first of the two dims
    dim1: the second of the two dims
    Raises IndexError if there is no such dim.
    """
    dims = list(range(input.ndim))
    a, b = normal_dim(dim0, input.ndim), normal_dim(dim1, input.ndim)
    if dims:  # a 0-d tensor has no dims to exchange
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

    Raises IndexError if there is no such dim.
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
    Raises ValueError if the sizes do not multiply to that of the dim.
    """
    dim = normal_dim(dim, input.ndim)
    split, n = list(sizes), input.shape[dim]
    if split.count(-1) == 1:  # computed from this dim only, since another one may be 0
        split[split.index(-1)] = n // max(-prod(split), 1)
    if prod(split) != n or any(s < 0 for s in split):
        raise ValueError(f"sizes {list(sizes)} do not multiply to the {n} of dim {dim}")
    return input.reshape(*input.shape[:dim], *split, *input.shape[dim + 1 :])


@composed
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A dim of size 1 inserted at `dim`. [a, b], 1 -> [a, 1, b]

    Raises IndexError if there is no such dim.
    """
    dim = normal_dim(dim, input.ndim + 1)
    return input.reshape(*input.shape[:dim], 1, *input.shape[dim:])


@composed
def squeeze(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Dims of size 1 removed: all of them, or those listed. [a, 1, b] -> [a, b]

    Raises IndexError if there is no such dim; ValueError if one is named twice.
    """
    dims = normal_dims(dim, input.ndim)
    return input.reshape(*(n for d, n in enumerate(input.shape) if n != 1 or d not in dims))


def _padded_shape(s: Shape, before: tuple[int, ...], after: tuple[int, ...]) -> Shape:
    return tuple([n + b + a for n, b, a in zip(s, before, after, strict=True)])


def _grad_pad(g: Tensor, y: Tensor, x: Tensor, before: tuple[int, ...], after: tuple[int, ...]) -> Gradients:
    return [Movement._pad(g, tuple(-b for b in before), tuple(-a for a in after))]


class Movement(Family):
    @movement(lambda s, starts, steps, shape: shape, xp=_strided_slice, grad=_grad_slice)
    def _slice(self: Any, starts: tuple[int, ...], steps: tuple[int, ...], shape: Shape) -> Prepared:
        """Element i of dim d is element starts[d] + i * steps[d]. Indexing, narrow and flip call it."""
        return (self,), {"starts": starts, "steps": steps, "shape": shape}

    @movement(_padded_shape, xp=_pad, grad=_grad_pad)
    def _pad(self: Any, before: tuple[int, ...], after: tuple[int, ...]) -> Prepared:
        """Zeros before and after each dim; negative amounts cut. pad, cat and gradients of slices call it."""
        return (self,), {"before": before, "after": after}

    @movement(
        _windows_shape,
        xp=_windows,
        grad=lambda g, y, x, spec: [fold(g, spec, x.shape[x.ndim - len(spec) :])],
    )
    def _windows(self: Any, spec: Sequence[tuple[int, ...]]) -> Prepared:
        """Windows sliding over the last dims, as a view. [..., n] -> [..., positions, kernel]"""
        spec = tuple(Window(*w) for w in spec)
        for w, n in zip(spec, self.shape[self.ndim - len(spec) :], strict=True):
            if w.positions(n) < 1:
                span = w.dilation * (w.kernel - 1) + 1
                raise ValueError(f"window of {span} is larger than its dim of {n} padded")
        return (self,), {"spec": spec}
