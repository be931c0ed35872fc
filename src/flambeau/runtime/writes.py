"""Writes through views: a tensor that is given a new value gives it to all that shows the same elements.

Values are never changed where they are: the base gets a new node, with what was written put where the view
shows it, and every other view is derived from that anew.
"""

from typing import Any

from ..core import op as _op
from ..core.alias import Alias, ComposedMove, is_in_order, is_view, moves_of, origin
from ..core.modes import enable_grad, is_grad_enabled, no_grad
from ..core.node import Node, describe
from ..core.op import OPS, apply
from ..errors import ValueError
from ..ops.index.getitem import IndexPlan, uncut
from ..ops.movement import fold
from .state import assigned, thread

OF_A_VIEW = "a view from before the call is written to, or shows what is: write to its base, or clone() it"


def derive(node: Node, path: list[tuple[Any, ...]]) -> Node:
    """What a view by these moves shows of a value."""
    for _, op, attrs in path:
        if op.name in ("reshape", "expand") and attrs["shape"] == node.shape:
            continue
        made_of_moves = isinstance(op, ComposedMove)
        node = (
            getattr(_op.Tensor(node), op.name)(**attrs).node if made_of_moves else apply(op, (node,), attrs)
        )
    return node


def put(x: Any, path: list[tuple[Any, ...]], y: Any) -> Any:
    """A tensor with `y` where a view by these moves shows it. -> the shape of x"""
    if not path:
        return y
    (_, op, attrs), *rest = path
    inner = _op.Tensor(derive(x.node, path[:1]))
    return INVERSE[op.name](x, put(inner, rest, y), **attrs)


def _uncut(x: Any, y: Any, starts: tuple[Any, ...], steps: tuple[Any, ...], shape: tuple[Any, ...]) -> Any:
    return uncut(x, y, IndexPlan(list(starts), list(steps), list(shape), list(shape)))


def _unwindowed(x: Any, y: Any, spec: Any) -> Any:
    if any(w.stride < w.dilation * (w.kernel - 1) + 1 for w in spec):
        return _refuse(x, y)
    size = x.shape[x.ndim - len(spec) :]
    inside = type(y).full(y.shape, 1, device=y.device)
    numbers = y.int() if y.dtype.kind == "b" else y  # no bools are added up
    return OPS["where"](fold(inside, spec, size) > 0, fold(numbers, spec, size), x).to(x.dtype)


def _refuse(x: Any, y: Any, **_: Any) -> Any:
    rule = "some of its elements are one number of the tensor that it is a view of"
    raise ValueError(f"{describe(y)} can't be written to: {rule}: clone() it first")


INVERSE: dict[str, Any] = {  # a movement op -> (x, the new value of what it shows of x, its attributes) to x
    "reshape": lambda x, y, shape: y.reshape(*x.shape),
    "permute": lambda x, y, dims: y.permute(*(dims.index(d) for d in range(len(dims)))),
    "expand": lambda x, y, shape: y.reshape(*x.shape) if y.numel() == x.numel() else _refuse(x, y),
    "_slice": _uncut,
    "_windows": _unwindowed,
    "detach": lambda x, y: y,
    "view_as_real": lambda x, y: y.view_as_complex(),
    "view_as_complex": lambda x, y: y.view_as_real(),
    "diagonal": lambda x, y, **attrs: x.diagonal_scatter(y, **attrs),
    "view": lambda x, y, dtype: y.view(x.dtype),
}


class Sharing:
    """Who shows elements of the tensor that a tensor shows: `owner` has them in order, or is gone (None).

    path: the moves from the owner to the tensor; others: the other views, each with its own path; repeats:
    several elements of the tensor are one of the owner's.
    """

    def __init__(self, x: Any):
        alias, _ = x.link
        base = alias.base()
        top, self.shape, self.path, strides = origin(x)
        self.repeats = 0 not in x.shape and any(
            n > 1 and not s for n, s in zip(x.shape, strides, strict=True)
        )
        self.owner: Any = base if top is None and _is_of(base, alias) else None
        self.others: list[tuple[Any, list[tuple[Any, ...]]]] = []
        for view in [v for r in alias.views if _is_of(v := r(), alias)]:
            if top is not None and view.link[1] is top:
                self.owner = view
            elif view is not x:
                its, _, path, _ = origin(view)
                if its is top:
                    self.others.append((view, path))

    @property
    def is_alone(self) -> bool:
        return not self.others and (self.owner is None or not self.path)


def _is_of(x: Any, alias: Alias) -> bool:
    return x is not None and x.link is not None and x.link[0] is alias


def check_write(x: Any) -> None:
    """ValueError where gradients are taken by a tensor, or by what it is a view of, as it is."""
    if not is_grad_enabled():
        return
    told = "gradients are taken by it as it is: write inside no_grad, or to a clone()"
    if x.node.param is not None:
        raise ValueError(f"{describe(x)} can't be written to: {told}")
    if is_view(x) and not _is_detached(x):
        owner = Sharing(x).owner
        if owner is not None and owner.node.param is not None:
            raise ValueError(f"{describe(x)}, a view of {describe(owner)}, can't be written to: {told}")


def _is_detached(view: Any) -> bool:
    return any(op.name == "detach" for _, op, _ in moves_of(view))


def show_as(x: Any, view: Any, name: str) -> None:
    """Let a tensor be what a view of it shows: its elements, in another shape. ValueError where others are
    views of it: they are of the shape that it has. The caller holds the device's lock."""
    old, new, link = x.node, view.node, view.link
    if new is old:
        return
    if not is_view(x):
        if any(v is not None and v is not view for v in [r() for r in link[0].views]):
            method = name.removesuffix("_")
            raise ValueError(f"{name}({describe(x)}): others are views of it: use x = x.{method}(...)")
        link = None
    if thread.recorder is not None and old.serial < thread.recorder.start:
        thread.recorder.spoil(f"{name} gives a tensor from outside another shape")
    if old.param is not None:
        new = apply(OPS["detach"], (new,), {})
        new.requires_grad, new.param = True, old.param
    x.node, x.link = new, link


def spread(x: Any, was: Node) -> None:
    """Give a tensor's new value to all that shows its elements; `was` is the node that it had. The caller
    holds the device's lock."""
    shared = Sharing(x)
    if shared.repeats:
        _refuse(None, x)
    if shared.is_alone:
        if not is_view(x) or (
            shared.owner is None and is_in_order(x)
        ):  # else strides say what views of it copy
            x.link = None
        return
    owner, path = shared.owner, shared.path
    if path:
        _refuse_recorded(was)
    if owner is None:
        return _spread_without(x, shared)
    if path:
        value = put(owner, path, x).node
        if _is_detached(x) and owner.node.requires_grad and owner.node.param is None:
            rule = "is a detached view of what gradients flow through: clone() it first"
            raise ValueError(f"{describe(x)} {rule}")
        _take(owner, value)
    for view, its in shared.others:
        _show(view, its, owner.node)


def _take(owner: Any, value: Node) -> None:
    """The owner's new value; one that gradients are taken by stays that."""
    old = owner.node
    if old.param is not None:
        value = apply(OPS["detach"], (value,), {})
        value.requires_grad, value.param = True, old.param
    owner.node, old.replaced = value, True
    assigned(owner, old)


def _show(view: Any, path: list[tuple[Any, ...]], value: Node) -> None:
    """A view of a value that is new."""
    old = view.node
    with enable_grad() if old.requires_grad else no_grad():
        view.node = derive(value, path)
    old.replaced = True
    _refuse_recorded(old)


def _refuse_recorded(old: Node) -> None:
    """A replay moves tensors on, and not the views of them that were there before."""
    if thread.recorder is not None and old.serial < thread.recorder.start:
        thread.recorder.spoil(OF_A_VIEW)


def _spread_without(x: Any, shared: Sharing) -> None:
    """The same where the tensor that all are views of is gone: what is written is put among zeros of its
    shape, and a mask says where."""
    device, shape = x.device, shared.shape
    zeros = type(x).zeros(shape, dtype=x.dtype, device=device)
    none = type(x).full(shape, False, device=device)
    value = put(zeros, shared.path, x)
    mask = put(none, shared.path, type(x).full(x.shape, True, device=device))
    for view, path in shared.others:
        old = view.node
        hit, new = (_op.Tensor(derive(t.node, path)) for t in (mask, value))
        view.node = OPS["where"](hit, new, _op.Tensor(old)).node
        old.replaced = True
        _refuse_recorded(old)
