"""Which tensors show elements of one another: a view knows whose they are, and by what moves.

A view keeps nobody alive. Writes (runtime/writes.py) look at this, and nothing else does.
"""

from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import ref

from .shape import Shape, contiguous_strides

# The functions whose results are views, as PyTorch's are: what others return is a tensor of its own.
NAMES = (
    "atleast_1d atleast_2d atleast_3d broadcast_tensors broadcast_to chunk detach "
    "diagonal dsplit expand expand_as flatten hsplit imag meshgrid moveaxis movedim narrow permute "
    "ravel real reshape reshape_as select split squeeze swapaxes swapdims t tensor_split tensor_unfold "
    "transpose unbind unflatten unsqueeze view view_as "
    "view_as_complex view_as_real vsplit __getitem__"
)
VIEWS = frozenset(NAMES.split())
GIVEN = frozenset(  # those that may give what they are given
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
SWEPT = 32  # views of one tensor, from which on those that are gone are looked for


class ComposedMove(NamedTuple):
    """A view made of several movement ops, as one: those of a diagonal may copy, where it does not."""

    name: str
    shape: Callable[..., Shape]


class Alias:
    """The tensor that views are of, while it is there, its shape, and the views, while they are there."""

    __slots__ = ("base", "shape", "views")

    def __init__(self, base: Any, view: Any):
        self.base, self.shape, self.views = ref(base), base.node.shape, [ref(view)]


def link(base: Any, view: Any, op: Any, attrs: dict[str, Any]) -> None:
    """Remember that a tensor shows the elements of another (which may be a view itself) by a movement op.

    A tensor's `link` is None, or its Alias and, of a view, the last of its moves: those before it, op, attrs.
    """
    if base.link is None:
        base.link = alias, moves = Alias(base, view), None
    else:
        alias, moves = base.link
        views = alias.views
        views.append(ref(view))
        count = len(views)
        if count >= SWEPT and not count & (count - 1):
            alias.views = [r for r in views if r() is not None]
    view.link = alias, (moves, op, attrs)


def moves_of(view: Any) -> list[tuple]:
    """The moves from the base to a view, each as (those before it, op, attrs)."""
    found, move = [], view.link[1]
    while move is not None:
        found.append(move)
        move = move[0]
    return found[::-1]


def origin(view: Any) -> tuple[Any, Shape, list[tuple], tuple[int, ...]]:
    """Whose elements a view shows: the last of its moves that copies, as a reshape of what does not lie in
    order does (None where it is the base); the shape made by it, the moves behind it, and the strides of the
    view in elements of that."""
    owner, shape, path = None, view.link[0].shape, []
    whole, strides = shape, contiguous_strides(shape)
    for move in moves_of(view):
        _, op, attrs = move
        made = op.shape(shape, **attrs)
        found = STRIDES[op.name](shape, strides, made, attrs)
        path.append(move)
        if found is None:
            owner, whole, path, found = move, made, [], contiguous_strides(made)
        shape, strides = made, found
    return owner, whole, path, strides


def _reshaped(shape: Shape, strides: tuple, made: Shape, attrs: dict) -> tuple | None:
    """Strides of the same elements in another shape; None where no strides walk them."""
    if 0 in made:
        return contiguous_strides(made)
    dims = [(n, s) for n, s in zip(shape, strides, strict=True) if n > 1]
    runs: list[list[int]] = []  # [elements, stride of the last]: neighbours that lie one behind the other
    for n, s in dims:
        if runs and runs[-1][1] == n * s:
            runs[-1] = [runs[-1][0] * n, s]
        else:
            runs.append([n, s])
    found: list[int] = []
    for n in reversed(made):
        if n == 1:
            found.append(found[-1] if found else 1)
            continue
        if not runs or runs[-1][0] % n:
            return None
        size, stride = runs.pop()
        found.append(stride)
        if size > n:
            runs.append([size // n, stride * n])
    return tuple(found[::-1])


def _sliced(shape: Shape, strides: tuple, made: Shape, attrs: dict) -> tuple | None:
    if any(step < 0 for step in attrs["steps"]):
        return None
    return tuple(s * step for s, step in zip(strides, attrs["steps"], strict=True))


def _expanded(shape: Shape, strides: tuple, made: Shape, attrs: dict) -> tuple:
    lead = len(made) - len(shape)
    own = (0 if n == 1 < m else s for n, s, m in zip(shape, strides, made[lead:], strict=True))
    return (*(0,) * lead, *own)


def _in_windows(shape: Shape, strides: tuple, made: Shape, attrs: dict) -> tuple | None:
    spec = attrs["spec"]
    if any(w.before or w.after for w in spec):
        return None
    lead = len(shape) - len(spec)
    last = list(zip(strides[lead:], spec, strict=True))
    return (*strides[:lead], *(s * w.stride for s, w in last), *(s * w.dilation for s, w in last))


def _diagonal(shape: Shape, strides: tuple, made: Shape, attrs: dict) -> tuple:
    dims = attrs["dim1"], attrs["dim2"]
    return (*(s for d, s in enumerate(strides) if d not in dims), sum(strides[d] for d in dims))


def _halves(shape: Shape, strides: tuple, made: Shape, attrs: dict) -> tuple:
    """In parts of complex numbers, where those before are in whole ones."""
    return (*(2 * s for s in strides), 1)


def _wholes(shape: Shape, strides: tuple, made: Shape, attrs: dict) -> tuple | None:
    if strides[-1] != 1 or any(s % 2 for s in strides[:-1]):
        return None
    return tuple(s // 2 for s in strides[:-1])


def _seen(shape: Shape, strides: tuple, made: Shape, attrs: dict) -> tuple | None:
    """In elements of another size, where those before are in whole ones of theirs."""
    if shape == made:
        return strides
    if 0 in shape or strides[-1] != 1:
        return contiguous_strides(made) if 0 in shape else None
    n, m = shape[-1], made[-1]
    if m > n:
        return (*(s * (m // n) for s in strides[:-1]), 1)
    return None if any(s % (n // m) for s in strides[:-1]) else (*(s // (n // m) for s in strides[:-1]), 1)


# a movement op -> (shape, strides, the shape it makes, its attributes) to strides; None where it copies
STRIDES: dict[str, Any] = {
    "reshape": _reshaped,
    "permute": lambda shape, strides, made, attrs: tuple(strides[d] for d in attrs["dims"]),
    "expand": _expanded,
    "_slice": _sliced,
    "_windows": _in_windows,
    "detach": lambda shape, strides, made, attrs: strides,
    "diagonal": _diagonal,
    "view_as_real": _halves,
    "view_as_complex": _wholes,
    "view": _seen,
}


def is_view(x: Any) -> bool:
    """Whether a tensor shows elements of another."""
    return x.link is not None and x.link[1] is not None


def is_in_order(view: Any) -> bool:
    """Whether a tensor's elements lie one behind the other, as far as views say."""
    if not is_view(view):
        return True
    *_, strides = origin(view)
    wanted = contiguous_strides(view.shape)
    return (
        all(n == 1 or a == b for n, a, b in zip(view.shape, strides, wanted, strict=True)) or 0 in view.shape
    )
