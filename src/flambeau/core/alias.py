"""Views: which tensor's elements a view shows, and by which movement ops.

All references are weak. Only writes (runtime/writes.py) use this.
"""

from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import ref

from .shape import Shape, contiguous_strides

# The functions whose results are views, as in PyTorch. All others return new tensors.
NAMES = (
    "atleast_1d atleast_2d atleast_3d broadcast_tensors broadcast_to chunk detach "
    "diagonal dsplit expand expand_as flatten hsplit imag meshgrid moveaxis movedim narrow permute "
    "ravel real reshape reshape_as select split squeeze swapaxes swapdims t tensor_split tensor_unfold "
    "transpose unbind unflatten unsqueeze view view_as "
    "view_as_complex view_as_real vsplit __getitem__"
)
VIEWS = frozenset(NAMES.split())
GIVEN = frozenset(  # functions that may return their input
    [
        "alpha_dropout",
        "dropout",
        "dropout1d",
        "dropout2d",
        "dropout3d",
        "feature_alpha_dropout",
        "contiguous",
    ]
)
SWEPT = 32  # number of views of a tensor from which dead references are removed

Attrs = dict[str, Any]
Strides = tuple[int, ...]
# (shape, strides, new shape, attributes of the op) -> new strides; None if the op has to copy
StrideRule = Callable[[Shape, Strides, Shape, Attrs], Strides | None]


class ComposedMove(NamedTuple):
    """Several movement ops as one: a diagonal never copies, although its parts may."""

    name: str
    shape: Callable[..., Shape]


Move = tuple[Any, Any, Attrs]  # (the move before it or None, op, attributes)


class Alias:
    """A tensor that has views (weakly referenced), its shape, and its views (weakly referenced)."""

    __slots__ = ("base", "shape", "views")

    def __init__(self, base: Any, view: Any):
        self.base, self.shape, self.views = ref(base), base.node.shape, [ref(view)]


def link(base: Any, view: Any, op: Any, attrs: Attrs) -> None:
    """Record that `view` shows elements of `base` (which may be a view itself) by a movement op.

    A tensor's `link` is None or (Alias, last move); the move is None for the base.
    """
    if base.link is None:
        base.link = alias, moves = Alias(base, view), None
    else:
        alias, moves = base.link
        views = alias.views
        views.append(ref(view))
        # Sweep only if the count is a power of two: the cost of sweeping stays linear in the number of
        # views.
        count = len(views)
        if count >= SWEPT and not count & (count - 1):
            alias.views = [r for r in views if r() is not None]
    view.link = alias, (moves, op, attrs)


def moves_of(view: Any) -> list[Move]:
    """The moves from the base to a view, in order."""
    moves: list[Move] = []
    move: Move | None = view.link[1]
    while move is not None:
        moves.append(move)
        move = move[0]
    return moves[::-1]


def origin(view: Any) -> tuple[Move | None, Shape, list[Move], Strides]:
    """The owner of the elements that a view shows.

    Returns the last move that copies, as a reshape of strided elements does (None: the base owns them), the
    shape of its result, the moves after it, and the view's strides in elements of that result.
    """
    owner: Move | None = None
    path: list[Move] = []
    shape: Shape = view.link[0].shape
    owner_shape, strides = shape, contiguous_strides(shape)
    for move in moves_of(view):
        _, op, attrs = move
        new = op.shape(shape, **attrs)
        new_strides = STRIDES[op.name](shape, strides, new, attrs)
        path.append(move)
        # A copy ends the sharing: writes to the view reach only the result of this move.
        if new_strides is None:
            owner, owner_shape, path, new_strides = move, new, [], contiguous_strides(new)
        shape, strides = new, new_strides
    return owner, owner_shape, path, strides


def _reshape_strides(shape: Shape, strides: Strides, new: Shape, attrs: Attrs) -> Strides | None:
    """Strides of the same elements in another shape; None if no strides describe them."""
    if 0 in new:
        return contiguous_strides(new)
    dims = [(n, s) for n, s in zip(shape, strides, strict=True) if n > 1]
    runs: list[list[int]] = []  # [elements, stride of the last dim] of dims that are consecutive in memory
    for n, s in dims:
        if runs and runs[-1][1] == n * s:
            runs[-1] = [runs[-1][0] * n, s]
        else:
            runs.append([n, s])
    # Split the runs from the last dim on. A new dim must not cross the border of two runs.
    reversed_strides: list[int] = []
    for n in reversed(new):
        if n == 1:
            reversed_strides.append(reversed_strides[-1] if reversed_strides else 1)
            continue
        if not runs or runs[-1][0] % n:
            return None
        size, stride = runs.pop()
        reversed_strides.append(stride)
        if size > n:
            runs.append([size // n, stride * n])
    return tuple(reversed_strides[::-1])


def _permute_strides(shape: Shape, strides: Strides, new: Shape, attrs: Attrs) -> Strides:
    dims: Shape = attrs["dims"]
    return tuple(strides[d] for d in dims)


def _slice_strides(shape: Shape, strides: Strides, new: Shape, attrs: Attrs) -> Strides | None:
    # Strides are nonnegative, so a flip copies, as in PyTorch.
    if any(step < 0 for step in attrs["steps"]):
        return None
    return tuple(s * step for s, step in zip(strides, attrs["steps"], strict=True))


def _expand_strides(shape: Shape, strides: Strides, new: Shape, attrs: Attrs) -> Strides:
    lead = len(new) - len(shape)
    expanded = (0 if n == 1 < m else s for n, s, m in zip(shape, strides, new[lead:], strict=True))
    return (*(0,) * lead, *expanded)


def _in_windows(shape: Shape, strides: Strides, new: Shape, attrs: Attrs) -> Strides | None:
    spec = attrs["spec"]
    # Elements of the padding belong to no tensor.
    if any(w.before or w.after for w in spec):
        return None
    lead = len(shape) - len(spec)
    last = list(zip(strides[lead:], spec, strict=True))
    return (*strides[:lead], *(s * w.stride for s, w in last), *(s * w.dilation for s, w in last))


def _diagonal(shape: Shape, strides: Strides, new: Shape, attrs: Attrs) -> Strides:
    dims: tuple[int, int] = attrs["dim1"], attrs["dim2"]
    return (*(s for d, s in enumerate(strides) if d not in dims), sum(strides[d] for d in dims))


def _halves(shape: Shape, strides: Strides, new: Shape, attrs: Attrs) -> Strides:
    """Strides in real and imaginary parts, from strides in complex numbers."""
    return (*(2 * s for s in strides), 1)


def _pairs(shape: Shape, strides: Strides, new: Shape, attrs: Attrs) -> Strides | None:
    # A complex number is two neighbouring floats, so every other stride must be even.
    if strides[-1] != 1 or any(s % 2 for s in strides[:-1]):
        return None
    return tuple(s // 2 for s in strides[:-1])


def _resize_elements(shape: Shape, strides: Strides, new: Shape, attrs: Attrs) -> Strides | None:
    """Strides in elements of another size."""
    if shape == new:
        return strides
    if 0 in shape or strides[-1] != 1:
        return contiguous_strides(new) if 0 in shape else None
    n, m = shape[-1], new[-1]
    if m > n:
        return (*(s * (m // n) for s in strides[:-1]), 1)
    return None if any(s % (n // m) for s in strides[:-1]) else (*(s // (n // m) for s in strides[:-1]), 1)


STRIDES: dict[str, StrideRule] = {  # of each movement op
    "reshape": _reshape_strides,
    "permute": _permute_strides,
    "expand": _expand_strides,
    "_slice": _slice_strides,
    "_windows": _in_windows,
    "detach": lambda shape, strides, new, attrs: strides,
    "diagonal": _diagonal,
    "view_as_real": _halves,
    "view_as_complex": _pairs,
    "view": _resize_elements,
}


def is_view(x: Any) -> bool:
    """Whether a tensor shows elements of another one."""
    return x.link is not None and x.link[1] is not None


def is_in_order(view: Any) -> bool:
    """Whether a tensor is contiguous, as far as views determine it."""
    if not is_view(view):
        return True
    *_, strides = origin(view)
    contiguous = contiguous_strides(view.shape)
    return (
        all(n == 1 or a == b for n, a, b in zip(view.shape, strides, contiguous, strict=True))
        or 0 in view.shape
    )
