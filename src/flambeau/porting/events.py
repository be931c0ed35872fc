"""Lists the gradient events of a scope of a script in order: computed, used, set to zero."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from ..core.tree import is_list
from .names import TorchNames

ALL = "*"  # gradients of all parameters, as in `for p in model.parameters()`
SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
LOOPS = ast.For | ast.AsyncFor | ast.While
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
ZEROING = ("zero_", "fill_", "detach_")  # methods that set gradients to zero at the start of a step


@dataclass(frozen=True, eq=False)
class GradientEvent:
    """The effect of a node on gradients: `kind` is "computed", "used", "asked", "zero" or "new".

    owners: the tensors and optimisers with the gradients, as texts. rule: the name of the rule that rewrites
    the node, "" if it stays. ends: a call of a function that sets the gradients to zero.
    """

    kind: str
    rule: str
    node: Any
    owners: tuple[str, ...] = ()
    ends: bool = False


class Scope:
    """A module or a function, without its inner functions.

    helpers: the script's functions that use gradients computed by their callers. closures: the names of
    functions that an optimiser calls.
    """

    def __init__(self, node: Any, names: TorchNames, helpers: dict[str, "Scope"], closures: set[str]):
        self.node, self.names, self.helpers = node, names, helpers
        self.is_helper = self.node in [h.node for h in helpers.values()]
        self.name = getattr(node, "name", "the script")
        self.params = _parameters(node)
        self.closures, self.is_closure = closures, self.name in closures
        self.loop_names = {name for n in own(node) for name in _loop_names(n)}
        self.parents = {child: n for n in [*own(node), node] for child in ast.iter_child_nodes(n)}
        pairs = ((n, event_of(self, n)) for n in own(node))
        self.events = {n: e for n, e in pairs if e is not None}
        texts = {t for e in self.events.values() for t in e.owners}
        self.optimizers = [t for t in sorted(texts) if names.is_optimizer(t)]
        self.tensors = texts - {*self.optimizers} | {ALL}

    def of(self, kind: str) -> list[GradientEvent]:
        """Return the events of a kind."""
        return [e for e in self.events.values() if e.kind == kind]

    def owner(self, node: ast.expr) -> str:
        """Return the owner of the gradient `node.grad`."""
        root = root_of(node)
        return ALL if root is None or root in self.loop_names else ast.unparse(node)

    def set_to_zero(self, e: GradientEvent) -> set[str]:
        """Return the owners whose gradients a "zero" event sets to zero."""
        all_owners = {*self.tensors, *(self.optimizers if len(self.optimizers) == 1 else ())}
        return {*e.owners, *(all_owners if ALL in e.owners else ())}


def own(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a scope in evaluation order, without those of inner scopes."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, SCOPES):
            yield from own(child)
            yield child


def header(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the nodes of a statement outside of its blocks."""
    for name, value in ast.iter_fields(statement):
        for child in value if is_list(value) else [value]:
            if name not in BLOCKS and isinstance(child, ast.AST) and not isinstance(child, SCOPES):
                yield from own(child)
                yield child


def root_of(node: ast.AST) -> str | None:
    """Return the name that an expression begins with; None if it begins with a call."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _parameters(node: Any) -> list[str]:
    arguments = getattr(node, "args", None)
    return (
        [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)] if arguments else []
    )


def _loop_names(loop: ast.AST) -> set[str]:
    """Return the variables of a loop in which no gradients are computed, or the arguments of a lambda: they
    stand for tensors that already have gradients."""
    if isinstance(loop, ast.Lambda):
        return {*_parameters(loop)}
    if isinstance(loop, ast.For | ast.AsyncFor) and not any(_is_backward(n) for n in ast.walk(loop)):
        return _names(loop.target)
    return _names(loop.target) if isinstance(loop, ast.comprehension) else set()


def _names(target: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}


def _is_backward(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _method(node) == "backward"


def _method(node: ast.AST) -> str:
    """Return the name of the called method, or ""."""
    is_method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return node.func.attr if is_method else ""  # type: ignore[union-attr]


def receiver(node: Any) -> Any:
    """Return `x` of `x.method(...)`."""
    return node.func.value


# --- matchers: each function recognises the code in its docstring ---


def backward(scope: Scope, node: ast.AST) -> GradientEvent | None:
    """loss.backward(), torch.autograd.backward(loss), scaler.scale(loss).backward()"""
    if _method(node) != "backward":
        return None
    path = scope.names.path(receiver(node))
    # A module of torch is not a tensor: `torch.foo.backward` is another function.
    if path and path != "torch.autograd":
        return None
    return GradientEvent("computed", "backward", node)


def zero_grad(scope: Scope, node: ast.AST) -> GradientEvent | None:
    """optimizer.zero_grad(), model.zero_grad()"""
    if _method(node) != "zero_grad":
        return None
    text = ast.unparse(receiver(node))
    optimizers = [text] if scope.names.is_optimizer(text) else scope.names.optimizers_of(text)
    return GradientEvent("zero", "", node, (*optimizers, ALL))


def zero_in_place(scope: Scope, node: ast.AST) -> GradientEvent | None:
    """w.grad.zero_(), w.grad.data.zero_()"""
    if _method(node) not in ZEROING:
        return None
    grad: Any = receiver(node)
    grad = grad.value if isinstance(grad, ast.Attribute) and grad.attr == "data" else grad
    return GradientEvent("zero", "zero", node, (scope.owner(grad.value),)) if _is_grad(scope, grad) else None


def none(scope: Scope, node: ast.AST) -> GradientEvent | None:
    """w.grad = None"""
    if not isinstance(node, ast.Assign) or not _is_grad(scope, node.targets[0]):
        return None
    grad: Any = node.targets[0]
    return GradientEvent("zero", "", node, (scope.owner(grad.value),)) if is_none(node.value) else None  # type: ignore[attr-defined]


def step(scope: Scope, node: ast.AST) -> GradientEvent | None:
    """optimizer.step(), scaler.step(optimizer), scaler.unscale_(optimizer)"""
    if _method(node) not in ("step", "unscale_") or len(node.args) > 1:  # type: ignore[attr-defined]
        return None
    text = ast.unparse(receiver(node))
    args = cast("ast.Call", node).args
    if args and scope.names.is_scaler(text):
        return GradientEvent(
            "used", "scaler" if _method(node) == "step" else "unscale", node, (ast.unparse(args[0]),)
        )
    if _method(node) != "step":
        return None
    if args and scope.names.is_optimizer(text) and not _is_name_of(args[0], scope.closures):
        return GradientEvent("asked", "unknown closure", node)
    # scheduler.step(metric), env.step(action) and others
    if args or scope.names.is_optimizer(text) is False:
        return None
    return GradientEvent("used", "step" if scope.names.is_optimizer(text) else "unknown step", node, (text,))


def clip(scope: Scope, node: ast.AST) -> GradientEvent | None:
    """torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"""
    path = scope.names.path(node.func) if isinstance(node, ast.Call) else ""
    return GradientEvent("used", "clip", node, (ALL,)) if path in CLIPPING else None


CLIPPING = {
    "torch.nn.utils.clip_grad_norm_": "clip_grad_norm_",
    "torch.nn.utils.clip_grad_norm": "clip_grad_norm_",
    "torch.nn.utils.clip_grad_value_": "clip_grad_value_",
}


def read(scope: Scope, node: ast.AST) -> GradientEvent | None:
    """w.grad, or `w.grad is None`"""
    if not isinstance(node, ast.Attribute) or not _is_grad(scope, node) or _is_zeroed(scope, node):
        return None
    parent = scope.parents[node]
    is_question = isinstance(parent, ast.Compare) and is_none(parent.comparators[0])
    kind, rule = ("asked", "question") if is_question else ("used", "read")
    return GradientEvent(kind, rule, node, (scope.owner(node.value),))


def _is_zeroed(scope: Scope, node: ast.AST) -> bool:
    """Whether a gradient is not read, only set to zero or to None."""
    parent = scope.parents[node]
    while isinstance(parent, ast.Attribute | ast.Call):
        if zero_in_place(scope, parent):
            return True
        parent = scope.parents[parent]
    return none(scope, parent) is not None


def is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_grad(scope: Scope, node: ast.AST) -> bool:
    has_name = isinstance(node, ast.Attribute) and node.attr == "grad"
    return has_name and not scope.names.path(node.value)  # type: ignore[union-attr]


def call(scope: Scope, node: ast.AST) -> GradientEvent | None:
    """Return a function of the script that uses gradients."""
    helper = scope.helpers.get(node.func.id) if _is_plain_call(node) else None  # type: ignore[attr-defined]
    # A recursive call has the same gradients as its caller.
    if helper is None or helper.node is scope.node:
        return None
    # parameter -> argument: the owners inside of the helper become owners of the caller
    args = cast("ast.Call", node).args
    passed = dict(zip(helper.params, args, strict=False))
    owners: set[str] = set()
    for t in {t for e in helper.of("used") for t in e.owners}:
        same = [t] if helper.names.is_optimizer(t) else [ALL]
        owners |= {*(_owners_of(passed[t]) if t in passed else same)}
    return GradientEvent("used", "call", node, tuple(sorted(owners)), bool(helper.of("zero")))


def _owners_of(node: ast.expr) -> list[str]:
    """Return the owners of the gradients that a function with this argument uses."""
    parts = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    return [ast.unparse(p) if root_of(p) else ALL for p in parts]


def _is_plain_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


def _is_name_of(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def closure_call(scope: Scope, node: ast.AST) -> GradientEvent | None:
    """loss = closure()"""
    is_closure = isinstance(node, ast.Call) and _is_name_of(node.func, scope.closures)
    return GradientEvent("asked", "closure call", node) if is_closure else None


def closure(scope: Scope, node: ast.AST) -> GradientEvent | None:
    """return loss, in a function that `optimizer.step(closure)` calls"""
    return (
        GradientEvent("used", "closure", node, ("closure",)) if scope.is_closure and _returns(node) else None
    )


def _returns(node: ast.AST) -> bool:
    return isinstance(node, ast.Return) and node.value is not None


def new(scope: Scope, node: ast.AST) -> GradientEvent | None:
    """x = ...: another tensor, which has no gradient yet."""
    if not isinstance(node, ast.Assign | ast.AnnAssign | ast.For):
        return None
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    parts = [p for t in targets for p in (t.elts if isinstance(t, ast.Tuple) else [t])]
    return GradientEvent("new", "", node, tuple(ast.unparse(p) for p in parts))


# In this order: the first match decides, so `w.grad.zero_()` is a "zero", not a "read".
MATCHERS = (backward, zero_grad, zero_in_place, none, step, clip, read, call, closure_call, closure, new)


def event_of(scope: Scope, node: ast.AST) -> GradientEvent | None:
    """Return the effect of a node on gradients, or None."""
    return next((e for match in MATCHERS if (e := match(scope, node)) is not None), None)
