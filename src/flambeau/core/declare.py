"""Decorators that declare ops: kernels, compositions of other ops, and composites with their own gradient."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack, cast, overload

from . import op as _op
from .alias import GIVEN, VIEWS
from .autocast import call_under_rule, lower, overridden, plain
from .modes import is_grad_enabled, no_grad
from .node import Node
from .old_reduction import PLACES, has_old_reduction, replace_old_reduction
from .op import COMPOSED, TAKES, Op
from .out import IN_PLACE, in_place, into, place_of_inplace
from .siblings import group_outputs
from .sizes import with_integers
from .spelling import explain, misgiven, resolve_names
from .tree import is_tuple

if TYPE_CHECKING:
    from ..tensor import Tensor
    from .rules import Gradient, Rules

P = ParamSpec("P")
R = TypeVar("R")


def like_first(first: R, *_: Any, **__: Any) -> R:
    """A rule of shapes or of dtypes: the result has that of the first input."""
    return first


def kernel(kind: str, **rules: Unpack[Rules]) -> Callable[[Callable[P, Any]], Callable[P, Tensor]]:
    """Declare an op with attributes. The decorated function converts its arguments to (inputs, attrs)."""

    def declare(prepare: Callable[P, Any]) -> Callable[P, Tensor]:
        prepare.__annotations__["return"] = "Tensor"  # the result of a call, for help()
        op = Op(kind, prepare=prepare, doc=cleandoc(prepare.__doc__ or ""), **rules)
        return cast("Callable[P, Tensor]", op.enter(prepare.__name__))

    return declare


def formula(**rules: Unpack[Rules]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare an elementwise op. The decorated function has no body; its parameters are the operands."""

    def declare(f: Callable[P, R]) -> Callable[P, R]:
        names = f.__code__.co_varnames[: f.__code__.co_argcount - len(f.__defaults__ or ())]
        op = Op("elementwise", definition=f, operand_names=names, doc=cleandoc(f.__doc__ or ""), **rules)
        return cast("Callable[P, R]", op.enter(f.__name__))

    return declare


@overload
def composed(f: Callable[P, R]) -> Callable[P, R]: ...
@overload
def composed(*, dtypes: str) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def composed(f: Callable[..., Any] | None = None, dtypes: str = "") -> Any:
    """Declare an op made of ops: listed by name, its errors named after the outermost call. With `dtypes`,
    the kinds that its first tensor may have, it refuses others; without, its parts do."""

    def declare(f: Callable[..., Any]) -> Any:
        return _declare_composed(f, dtypes)

    return declare if f is None else declare(f)


def _declare_composed(f: Any, dtypes: str) -> Any:
    is_view = f.__name__ in VIEWS | GIVEN

    @wraps(f)
    def call(*args: Any, **kw: Any) -> Any:
        if lower.get() is not plain.lower:
            return call_under_rule(run, f.__name__, args, kw)
        return run(args, kw)

    last, old = place_of_inplace(f), PLACES.get(f.__name__)

    def run(args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
        try:
            if len(args) > last:
                args, kw = args[:last], {**kw, "inplace": args[last]}
            if old is not None and has_old_reduction(old, args, kw):
                args, kw = replace_old_reduction(old, args, kw)
            if kw:
                if "out" in kw and not is_view:
                    return into(call, args, kw)
                if "inplace" in kw and f.__name__ in IN_PLACE:
                    return in_place(call, args, kw)
                args, kw = resolve_names(f, (), args, kw)
            args, kw = with_integers(f, args, kw)
            if dtypes and any(isinstance(a, _op.Tensor) and a.dtype.kind not in dtypes for a in args[:1]):
                raise TypeError(TAKES[dtypes])
            result = f(*args, **kw)
        except (ValueError, TypeError, IndexError) as e:
            return overridden(explain(e, f.__name__, args, kw), f.__name__, args, kw)
        except AttributeError as e:
            return overridden(misgiven(e, f.__name__, args, kw), f.__name__, args, kw)
        if not isinstance(result, _op.Tensor):
            return group_outputs(result if is_view or not args else _without_views(result, args[0]))
        if is_view:
            return result
        # not a view: a new tensor, even if the body returned a view or its first argument
        is_new = result.link is None and not (args and result is args[0])
        return result if is_new else _op.Tensor(result.node)

    call.dtypes = dtypes  # type: ignore[attr-defined]
    _enter(f.__name__, call)
    return call


def _without_views(outputs: Any, first: Any) -> Any:
    """A tuple of outputs with new tensors in place of views and of the first argument: sort returns it if it
    is 0-d."""
    if not is_tuple(outputs) or not any(_is_shared(part, first) for part in outputs):
        return outputs
    parts = [_op.Tensor(part.node) if _is_shared(part, first) else part for part in outputs]
    return type(outputs)(*parts) if hasattr(outputs, "_fields") else tuple(parts)


def _is_shared(part: Any, first: Any) -> bool:
    return isinstance(part, _op.Tensor) and (part is first or part.link is not None)


def _enter(name: str, call: Callable[..., Any]) -> None:
    assert name not in COMPOSED, f"two ops are named {name}: rename one"
    COMPOSED[name] = call


def stand_for(op: Op, lowered: Node, parents: tuple[Node, ...], attrs: dict[str, Any]) -> Node:
    """A composite's node: computed by the graph below `lowered`, differentiated by the op's own gradient."""
    node = Node(op, (lowered,), attrs, lowered.shape, lowered.dtype, lowered.device)
    node.parents, node.depth = parents, lowered.depth
    needs_grad = is_grad_enabled() and op.grad is not None and lowered.dtype.has_gradients
    node.requires_grad = needs_grad and any(n.requires_grad for n in parents)
    return node


def _composite_reference(xp: Any, x: Any, **_: Any) -> Any:
    """The reference of a composite: its only input is the result of the ops in its body."""
    return x


def composite(grad: Gradient, holomorphic: bool = True) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare an op that the ops in its body compute, but with its own gradient rule.

    The body takes tensors first, then keyword attributes; `grad` is (g, y, *inputs, **attrs) and
    `holomorphic` is its property for complex inputs, as in Op.
    """

    def declare(f: Any) -> Any:
        doc, name = f.__doc__ or "", f.__name__
        op = Op("composite", xp=_composite_reference, grad=grad, doc=doc, name=name, holomorphic=holomorphic)

        @wraps(f)
        def call(*inputs: Any, **attrs: Any) -> Any:
            if lower.get() is not plain.lower:
                return call_under_rule(run, f.__name__, inputs, attrs)
            return run(inputs, attrs)

        def run(inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
            try:
                if attrs:
                    if "out" in attrs:
                        return into(call, inputs, attrs)
                    inputs, attrs = resolve_names(f, (), inputs, attrs)
                inputs, attrs = with_integers(f, inputs, attrs)
                with no_grad():
                    lowered = f(*inputs, **attrs).node
            except (ValueError, TypeError, IndexError) as e:
                return overridden(explain(e, f.__name__, inputs, attrs), f.__name__, inputs, attrs)
            return _op.Tensor(stand_for(op, lowered, tuple(x.node for x in inputs), attrs))

        call.dtypes = ""  # type: ignore[attr-defined]
        _enter(f.__name__, call)
        return call

    return declare
