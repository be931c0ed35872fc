"""How ops are declared: kernels, compositions of other ops, and those that stand for several."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast, overload

from . import op as _op
from .alias import GIVEN, VIEWS
from .autocast import called, lower, plain
from .modes import is_grad_enabled, no_grad
from .node import Node
from .op import COMPOSED, TAKES, Op
from .out import IN_PLACE, in_place, into, place_of_inplace
from .sizes import with_integers
from .spelling import explain, misgiven, spelled

if TYPE_CHECKING:
    from ..tensor import Tensor

P = ParamSpec("P")
R = TypeVar("R")


def kernel(kind: str, **rules: Any) -> Callable[[Callable[P, Any]], Callable[P, Tensor]]:
    """Declare an op with attributes: the decorated function turns its arguments into (inputs, attrs)."""

    def declare(prepare: Callable[P, Any]) -> Callable[P, Tensor]:
        op = Op(kind, prepare=prepare, doc=cleandoc(prepare.__doc__ or ""), **rules)
        return cast("Callable[P, Tensor]", op.enter(prepare.__name__))

    return declare


def formula(**rules: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare an elementwise op: the parameters of the decorated function, which has no body, are the
    operands."""

    def declare(f: Callable[P, R]) -> Callable[P, R]:
        names = f.__code__.co_varnames[: f.__code__.co_argcount - len(f.__defaults__ or ())]
        op = Op("elementwise", definition=f, operand_names=names, doc=cleandoc(f.__doc__ or ""), **rules)
        return cast("Callable[P, R]", op.enter(f.__name__))

    return declare


@overload
def composed(f: Callable[P, R]) -> Callable[P, R]: ...
@overload
def composed(*, dtypes: str) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def composed(f: Callable | None = None, dtypes: str = "") -> Any:
    """Declare an op made of ops: listed by name, its errors named after the outermost call. With `dtypes`,
    the kinds that its first tensor may have, it refuses others; without, its parts do."""
    if f is None:
        return lambda f: _composed(f, dtypes)
    return _composed(f, dtypes)


def _composed(f: Any, dtypes: str) -> Any:
    is_view = f.__name__ in VIEWS | GIVEN

    @wraps(f)
    def call(*args, **kw):
        if lower.get() is not plain.lower:
            return called(made_of, f.__name__, args, kw)
        return made_of(args, kw)

    last = place_of_inplace(f)

    def made_of(args: tuple, kw: dict):
        try:
            if len(args) > last:
                args, kw = args[:last], {**kw, "inplace": args[last]}
            if kw:
                if "out" in kw and not is_view:
                    return into(call, args, kw)
                if "inplace" in kw and f.__name__ in IN_PLACE:
                    return in_place(call, args, kw)
                args, kw = spelled(f, (), args, kw)
            args, kw = with_integers(f, args, kw)
            if dtypes and any(isinstance(a, _op.Tensor) and a.dtype.kind not in dtypes for a in args[:1]):
                raise TypeError(TAKES[dtypes])
            made = f(*args, **kw)
        except (ValueError, TypeError, IndexError) as e:
            raise explain(e, f.__name__, args, kw) from None
        except AttributeError as e:
            raise misgiven(e, f.__name__, args, kw) from None
        if is_view or not isinstance(made, _op.Tensor):
            return made
        # a tensor of its own, although it was made of views alone, or is what was given
        return made if made.link is None and not (args and made is args[0]) else _op.Tensor(made.node)

    call.dtypes = dtypes  # type: ignore[attr-defined]
    _enter(f.__name__, call)
    return call


def _enter(name: str, call: Callable) -> None:
    assert name not in COMPOSED, f"two ops are named {name}: one would hide the other"
    COMPOSED[name] = call


def stand_for(op: Op, lowered: Node, parents: tuple[Node, ...], attrs: dict) -> Node:
    """A composite's node: computed by the graph below `lowered`, differentiated by the op's own gradient."""
    node = Node(op, (lowered,), attrs, lowered.shape, lowered.dtype, lowered.device)
    node.parents, node.depth = parents, lowered.depth
    wanted = is_grad_enabled() and op.grad is not None and lowered.dtype.has_gradients
    node.requires_grad = wanted and any(n.requires_grad for n in parents)
    return node


def composite(grad: Callable, holomorphic: bool = True) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare an op computed by the ops in its body but with a gradient of its own.

    The body takes tensors first, then keyword attributes; `grad` is (g, y, *inputs, **attrs) and
    `holomorphic` what it says of complex inputs, as in Op.
    """

    def declare(f: Any) -> Any:
        known = {"doc": f.__doc__ or "", "name": f.__name__, "holomorphic": holomorphic}
        op = Op("composite", xp=lambda xp, x, **_: x, grad=grad, **known)

        @wraps(f)
        def call(*inputs, **attrs):
            if lower.get() is not plain.lower:
                return called(made_of, f.__name__, inputs, attrs)
            return made_of(inputs, attrs)

        def made_of(inputs: tuple, attrs: dict):
            try:
                if attrs:
                    if "out" in attrs:
                        return into(call, inputs, attrs)
                    inputs, attrs = spelled(f, (), inputs, attrs)
                inputs, attrs = with_integers(f, inputs, attrs)
                with no_grad():
                    lowered = f(*inputs, **attrs).node
            except (ValueError, TypeError, IndexError) as e:
                raise explain(e, f.__name__, inputs, attrs) from None
            return _op.Tensor(stand_for(op, lowered, tuple(x.node for x in inputs), attrs))

        call.dtypes = ""  # type: ignore[attr-defined]
        _enter(f.__name__, call)
        return call

    return declare
