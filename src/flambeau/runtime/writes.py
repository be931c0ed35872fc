"""Writes through views: assigning to a tensor updates all tensors that show the same elements.

Buffers are never changed in place. The base gets a new node, in which the written value replaces the elements
of the view, and every other view is derived from the new base.
"""

from collections.abc import Callable
from typing import Any

from ..core import op as _op
from ..core.alias import Alias, ComposedMove, Move, is_in_order, is_view, moves_of, origin
from ..core.modes import enable_grad, is_grad_enabled, no_grad
from ..core.node import Node, describe
from ..core.op import OPS, apply
from ..core.shape import Shape
from ..errors import ValueError
from ..ops.index.getitem import IndexPlan, uncut
from ..ops.movement import fold
from .state import note_assignment, thread

STALE_VIEW = "a view from before the call shares written elements: write to its base, or clone() it"


def derive(node: Node, path: list[Move]) -> Node:
    """Apply the moves of a view to a node."""
    for _, op, attrs in path:
        if op.name in ("reshape", "expand") and attrs["shape"] == node.shape:
            continue
        if isinstance(op, ComposedMove):
            node = getattr(_op.Tensor(node), op.name)(**attrs).node
        else:
            node = apply(op, (node,), attrs)
    return node


def put(x: Any, path: list[Move], y: Any) -> Any:
    """x with `y` in place of the elements that a view by these moves shows. -> the shape of x"""
    if not path:
        return y
    (_, op, attrs), *rest = path
    inner = _op.Tensor(derive(x.node, path[:1]))
    return INVERSE[op.name](x, put(inner, rest, y), **attrs)


def _undo_slice(
    x: Any, y: Any, starts: tuple[Any, ...], steps: tuple[Any, ...], shape: tuple[Any, ...]
) -> Any:
    return uncut(x, y, IndexPlan(list(starts), list(steps), list(shape), list(shape)))


def _undo_windows(x: Any, y: Any, spec: Any) -> Any:
    if any(w.stride < w.dilation * (w.kernel - 1) + 1 for w in spec):
        return _refuse(x, y)
    size = x.shape[x.ndim - len(spec) :]
    inside = _op.Tensor.full(y.shape, 1, device=y.device)
    numbers = y.int() if y.dtype.kind == "b" else y  # fold adds, which bools do not support
    # fold sums over windows. Windows do not overlap here, so each sum has one term.
    return OPS["where"](fold(inside, spec, size) > 0, fold(numbers, spec, size), x).to(x.dtype)


def _refuse(x: Any, y: Any, **_: Any) -> Any:
    rule = "some of its elements share memory in its base tensor"
    raise ValueError(f"{describe(y)} can't be written to: {rule}: clone() it first")


def _reshape_back(x: Any, y: Any, shape: Shape) -> Any:
    return y.reshape(*x.shape)


def _permute_back(x: Any, y: Any, dims: Shape) -> Any:
    return y.permute(*(dims.index(d) for d in range(len(dims))))


def _unexpand(x: Any, y: Any, shape: Shape) -> Any:
    return y.reshape(*x.shape) if y.numel() == x.numel() else _refuse(x, y)


def _scatter_diagonal(x: Any, y: Any, **attrs: Any) -> Any:
    return x.diagonal_scatter(y, **attrs)


def _reinterpret(x: Any, y: Any, dtype: Any = None) -> Any:
    return y.view(x.dtype)


def _same(x: Any, y: Any) -> Any:
    return y


def _as_complex(x: Any, y: Any) -> Any:
    return y.view_as_complex()


def _as_real(x: Any, y: Any) -> Any:
    return y.view_as_real()


# movement op -> (x, the new value of the elements of x that it shows, its attributes) -> the new x
INVERSE: dict[str, Callable[..., Any]] = {
    "reshape": _reshape_back,
    "permute": _permute_back,
    "expand": _unexpand,
    "_slice": _undo_slice,
    "_windows": _undo_windows,
    "detach": _same,
    "view_as_real": _as_complex,
    "view_as_complex": _as_real,
    "diagonal": _scatter_diagonal,
    "view": _reinterpret,
}
CASTS = ("view_as_real", "view_as_complex", "view")  # movement ops between dtypes


class Sharing:
    """All tensors that show elements of the owner of a tensor's elements. owner: None if it was deleted.

    path: the moves from the owner to the tensor; others: the other views with their paths; repeats: whether
    several elements of the tensor are the same element of the owner.
    """

    def __init__(self, x: Any):
        alias, _ = x.link
        base = alias.base()
        top, self.shape, self.path, strides = origin(x)
        self.repeats = 0 not in x.shape and any(
            n > 1 and not s for n, s in zip(x.shape, strides, strict=True)
        )
        self.owner: Any = base if top is None and _is_of(base, alias) else None
        self.others: list[tuple[Any, list[Move]]] = []
        for view in [v for r in alias.views if _is_of(v := r(), alias)]:
            # The result of the last copying move owns the elements if it still exists.
            if top is not None and view.link[1] is top:
                self.owner = view
            elif view is not x:
                copied_by, _, path, _ = origin(view)
                if copied_by is top:
                    self.others.append((view, path))
        if self.owner is None and self.others:
            self._find_owner(x)

    def _find_owner(self, x: Any) -> None:
        """If the owner was deleted, begin at the last move that all views share: a view that ends there owns
        the elements."""
        count = 0
        for moves in zip(self.path, *(path for _, path in self.others), strict=False):
            _, op, attrs = moves[0]
            if any(o is not op or a != attrs for _, o, a in moves):
                break
            count, self.shape = count + 1, op.shape(self.shape, **attrs)
        self.path = self.path[count:]
        self.others = [(view, path[count:]) for view, path in self.others]
        self.owner = next((v for v, path in [(x, self.path), *self.others] if not path), None)
        self.others = [(v, path) for v, path in self.others if v is not self.owner]

    @property
    def is_alone(self) -> bool:
        return not self.others and (self.owner is None or not self.path)


def _is_of(x: Any, alias: Alias) -> bool:
    return x is not None and x.link is not None and x.link[0] is alias


def check_write(x: Any) -> None:
    """ValueError if a tensor, or the owner of its elements, is a leaf that requires gradients."""
    if not is_grad_enabled():
        return
    rule = "it is a leaf that requires gradients: write inside no_grad, or to a clone()"
    if x.node.param is not None:
        raise ValueError(f"{describe(x)} can't be written to: {rule}")
    if is_view(x) and not _is_detached(x):
        owner = Sharing(x).owner
        if owner is not None and owner.node.param is not None:
            raise ValueError(f"{describe(x)}, a view of {describe(owner)}, can't be written to: {rule}")


def _is_detached(view: Any) -> bool:
    return any(op.name == "detach" for _, op, _ in moves_of(view))


def show_as(x: Any, view: Any, name: str) -> None:
    """Turn a tensor into a view of itself, with another shape. ValueError if it has other views, which depend
    on its shape. The caller holds the device's lock."""
    old, new, link = x.node, view.node, view.link
    if new is old:
        return
    if not is_view(x):
        if any(v is not None and v is not view for v in [r() for r in link[0].views]):
            method = name.removesuffix("_")
            raise ValueError(f"{name}({describe(x)}): it has views: use x = x.{method}(...)")
        link = None
    # Nodes with an earlier serial number than the recording were made outside of the recorded call.
    if thread.recorder is not None and old.serial < thread.recorder.start:
        thread.recorder.spoil(f"{name} changes the shape of a tensor created outside")
    if old.param is not None:
        new = apply(OPS["detach"], (new,), {})
        new.requires_grad, new.param = True, old.param
    x.node, x.link = new, link


def update_views(x: Any, was: Node) -> None:
    """Update all tensors that show elements of x, which has a new value; `was` is its previous node. The
    caller holds the device's lock."""
    shared = Sharing(x)
    if shared.repeats:
        _refuse(None, x)
    if shared.is_alone:
        if not is_view(x) or (shared.owner is None and is_in_order(x)):  # else its strides decide which
            x.link = None  # views of it copy
        return
    owner, path = shared.owner, shared.path
    if path:
        _refuse_recorded(was)
    if owner is None:
        return _update_without_owner(x, shared)
    if path:
        value = put(owner, path, x).node
        if _is_detached(x) and owner.node.requires_grad and owner.node.param is None:
            rule = "is a detached view of a tensor that requires gradients: clone() it first"
            raise ValueError(f"{describe(x)} {rule}")
        _assign(owner, value)
    for view, view_path in shared.others:
        _show(view, view_path, owner.node)


def _assign(owner: Any, value: Node) -> None:
    """Assign a new value to the owner. A leaf that requires gradients stays one."""
    old = owner.node
    if old.param is not None:
        value = apply(OPS["detach"], (value,), {})
        value.requires_grad, value.param = True, old.param
    owner.node, old.replaced = value, True
    note_assignment(owner, old)


def _show(view: Any, path: list[Move], value: Node) -> None:
    """Make a view show a new value."""
    old = view.node
    # The moves are replayed in the mode in which the view was made.
    with enable_grad() if old.requires_grad else no_grad():
        view.node = derive(value, path)
    old.replaced = True
    _refuse_recorded(old)


def _refuse_recorded(old: Node) -> None:
    """Spoil a recording that writes to a view from before: a replay would not update it."""
    if thread.recorder is not None and old.serial < thread.recorder.start:
        thread.recorder.spoil(STALE_VIEW)


def _update_without_owner(x: Any, shared: Sharing) -> None:
    """`update_views` if the owner was deleted: put the written value among zeros of the owner's shape, and
    use a mask of the written elements."""
    device, shape = x.device, shared.shape
    if any(op.name in CASTS for _, path in [(x, shared.path), *shared.others] for _, op, _ in path):
        rule = "another view shows its elements in another dtype, and their base was deleted"
        raise ValueError(f"{describe(x)} can't be written to: {rule}: keep the base, or clone() it first")
    zeros = _op.Tensor.zeros(shape, dtype=x.dtype, device=device)
    none = _op.Tensor.full(shape, False, device=device)
    value = put(zeros, shared.path, x)
    mask = put(none, shared.path, _op.Tensor.full(x.shape, True, device=device))
    for view, path in shared.others:
        old = view.node
        hit, new = (_op.Tensor(derive(t.node, path)) for t in (mask, value))
        view.node = OPS["where"](hit, new, _op.Tensor(old)).node
        old.replaced = True
        _refuse_recorded(old)
