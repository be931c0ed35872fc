"""Rewrites a scope's gradients: `backward` returns them, and functions that use them get an argument."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .edits import Edit, Script
from .events import CLIPPING, LOOPS, GradientEvent, Scope
from .flow import EARLIER, START, Flow, is_empty
from .names import TorchNames

NAMES = (
    "grads",
    "gradients",
    "found_grads",
    "the_grads",
)  # the container's name is the first that the script does not use


@dataclass(frozen=True)
class Left:
    """A change that is left to the user: the line's number, its text, and advice."""

    line: int
    what: str
    words: str


Rewrites = Iterator[Edit | Left]


class ScopeGradients:
    """The gradients of a scope: how each `backward` assigns to the container, and where that becomes 0."""

    def __init__(self, source: Script, scope: Scope, container: str):
        self.source, self.scope, self.name = source, scope, container
        self.flow = Flow(scope)
        self.assigns = {e: self._assignment(e) for e in scope.of("computed")}
        zeroing = [source.statement(e.node) for e in scope.of("zero") if e.rule and e not in self.resets]
        zeros: list[ast.stmt] = [s for s in zeroing if isinstance(s, ast.Expr)]
        # Removed together, because they may empty blocks.
        self.removed = source.remove(zeros, "no stored gradients to clear")

    @cached_property
    def _users(self) -> list[tuple[GradientEvent, str]]:
        return [(e, owner) for e in self.scope.of("used") for owner in e.owners]

    def tokens(self, e: GradientEvent, owner: str) -> frozenset[Any]:
        """Return the possible sources of an owner's gradients before an event."""
        return self.flow.before[e].get(owner, frozenset())

    def _assignment(self, e: GradientEvent) -> str:
        """Return "=" if no earlier gradients remain, "+=" if some may, or a key of PROBLEMS."""
        owners = {owner for use, owner in self._users if e in self.tokens(use, owner)}
        before = {owner: self.tokens(e, owner) for owner in owners}
        if not owners:
            return "unused"
        if any(EARLIER in tokens for tokens in before.values()):
            return EARLIER
        # For each owner: are the gradients before this call surely empty {True}, surely present {False}, or
        # either?
        kinds = {frozenset(map(is_empty, tokens)) for tokens in before.values() if tokens}
        if len(kinds) > 1:
            return "conflict"
        return "=" if kinds <= {frozenset([True])} else "+="

    @cached_property
    def resets(self) -> set[Any]:
        """Find where the container must become 0: at events that clear it, and before statements."""
        out: set[Any] = set()
        for e, assignment in self.assigns.items():
            used = {o for use, o in self._users if e in self.tokens(use, o)}
            tokens = frozenset[Any]().union(*(self.tokens(e, owner) for owner in used))
            if assignment == "+=":
                out |= {k for k in tokens if isinstance(k, GradientEvent) and is_empty(k)}
                out |= {self._outermost(e.node)} if START in tokens else set()
        return out

    def _outermost(self, node: ast.AST) -> ast.stmt:
        """Return the statement of the scope that contains a node, or the outermost loop around it."""
        statement = self.source.statement(node)
        outer = around = statement
        while (around := self.source.parents[around]) is not self.scope.node:  # type: ignore[assignment]
            outer = around if isinstance(around, LOOPS) else outer
        return outer

    def edits(self) -> Rewrites:
        """Return all edits of the scope."""
        yield from self.removed
        for e in self.scope.events.values():
            place = self.source.start(e.node)
            if e.rule and not any(r.start <= place < r.end for r in self.removed):
                yield from RULES[e.rule].write(self, e)
        yield from self._zeros()

    def _zeros(self) -> Rewrites:
        words = "+= adds to earlier gradients: 0 removes them"
        for place in self.resets:
            if isinstance(place, ast.stmt):
                yield self.source.line(place, f"{self.name} = 0", words)
                continue
            statement = self.source.statement(place.node)
            if place.ends:
                yield self.source.line(statement, f"{self.name} = 0", words, after=True)
            elif isinstance(statement, ast.Expr | ast.Assign):
                yield self.source.replace_node(statement, f"{self.name} = 0", words)
            else:
                yield self.left(place, f"write {self.name} = 0 on a separate line")

    def left(self, e: GradientEvent, words: str) -> Left:
        return Left(e.node.lineno, self.source.text(e.node).partition("\n")[0], words)

    def gradient_problem(self, e: GradientEvent) -> str:
        """Return a key of MISSING if the gradients that an event uses may not exist, or ""."""
        if self.scope.is_helper:  # its caller computes them
            return ""
        for owner in e.owners:
            tokens = self.tokens(e, owner)
            if not any(isinstance(k, GradientEvent) and k.kind == "computed" for k in tokens):
                return "nothing"
            if any(is_empty(k) for k in tokens):
                return "perhaps"
        return ""


# --- rules: the docstring of each shows the code that replaces an event ---


def backward(g: ScopeGradients, e: GradientEvent) -> Rewrites:
    """grads = loss.backward()"""
    statement, assignment = g.source.statement(e.node), g.assigns[e]
    if assignment in PROBLEMS:
        yield g.left(e, PROBLEMS[assignment].format(grads=g.name))
        return
    if not isinstance(statement, ast.Expr) or statement.value is not e.node:
        yield g.left(e, f"write {g.name} {assignment} ... on a separate line")
        return
    words = RULES["backward"].words
    yield g.source.insert(g.source.start(statement), f"{g.name} {assignment} ", words)


PROBLEMS = {
    "unused": "backward() returns the gradients, and nothing here uses them: return them to the caller of "
    "step, {grads} = loss.backward(); return {grads}",
    EARLIER: "it adds to the gradients of earlier calls: keep them outside, {grads} += loss.backward(), from "
    "{grads} = 0 where they are set to zero",
    "conflict": "it replaces the gradients of one optimiser and adds to another's: use a container for each, "
    "as in d_grads = d_loss.backward(); d_optimizer.step(d_grads)",
}


def step(g: ScopeGradients, e: GradientEvent) -> Rewrites:
    """optimizer.step(grads)"""
    if problem := g.gradient_problem(e):
        yield g.left(e, MISSING[problem].format(grads=g.name, call=f"{g.source.text(e.node.func)}({g.name})"))
        return
    yield g.source.insert(g.source.end(e.node) - 1, g.name, RULES["step"].words)


MISSING = {
    "nothing": "the gradients come from a backward() that is not in this function: pass them to it, "
    "{grads} = loss.backward() there and {call} here",
    "perhaps": "it may run without a backward() before it: move {call} after {grads} = loss.backward()",
}


def unknown_step(g: ScopeGradients, e: GradientEvent) -> Rewrites:
    """step() of an unknown object: an optimiser or a scheduler"""
    if g.scope.of("computed"):
        yield g.left(e, f"for an optimiser write {g.source.text(e.node.func)}({g.name}); else leave it")


def scaler(g: ScopeGradients, e: GradientEvent) -> Rewrites:
    """scaler.step(optimizer, grads)"""
    text = g.source.text(e.node.args[0])
    if problem := g.gradient_problem(e):
        call = f"{g.source.text(e.node.func)}({text}, {g.name})"
        yield g.left(e, MISSING[problem].format(grads=g.name, call=call))
        return
    yield g.source.insert(g.source.end(e.node.args[0]), f", {g.name}", RULES["scaler"].words)


def unscale(g: ScopeGradients, e: GradientEvent) -> Rewrites:
    """scaler.unscale_(grads)"""
    if problem := g.gradient_problem(e):
        call = f"{g.source.text(e.node.func)}({g.name})"
        yield g.left(e, MISSING[problem].format(grads=g.name, call=call))
        return
    yield g.source.replace_node(e.node.args[0], g.name, RULES["unscale"].words)


def read(g: ScopeGradients, e: GradientEvent) -> Rewrites:
    """grads[p]"""
    node, words = e.node, RULES["read"].words
    if not g.source.is_placed(node):
        yield Left(node.lineno, ast.unparse(node), f"write {g.name}[{ast.unparse(node.value)}]")
        return
    owner = g.source.text(node.value)
    if problem := g.gradient_problem(e):
        yield g.left(e, MISSING[problem].format(grads=g.name, call=f"{g.name}[{owner}]"))
        return
    yield g.source.insert(g.source.start(node), f"{g.name}[", words)
    yield Edit(g.source.end(node.value), g.source.end(node), "]", words)


def question(g: ScopeGradients, e: GradientEvent) -> Rewrites:
    """p in grads"""
    compared, owner = g.source.parents[e.node], g.source.text(e.node.value)
    word = "in" if isinstance(compared.ops[0], ast.IsNot) else "not in"  # type: ignore[attr-defined]
    if problem := g.gradient_problem(e):
        yield g.left(e, MISSING[problem].format(grads=g.name, call=f"{owner} {word} {g.name}"))
    else:
        yield g.source.replace_node(compared, f"{owner} {word} {g.name}", RULES["question"].words)


def zero(g: ScopeGradients, e: GradientEvent) -> Rewrites:
    """w.grad.zero_() within an expression; as a statement it is removed"""
    if e not in g.resets:
        yield g.left(e, "leave it out: backward() returns new gradients")


def clip(g: ScopeGradients, e: GradientEvent) -> Rewrites:
    """clip_grad_norm_(grads, 1.0)"""
    if problem := g.gradient_problem(e):
        name = CLIPPING[g.scope.names.path(e.node.func)]
        yield g.left(e, MISSING[problem].format(grads=g.name, call=f"{name}({g.name}, ...)"))
    else:
        yield g.source.replace_node(e.node.args[0], g.name, RULES["clip"].words)


def call(g: ScopeGradients, e: GradientEvent) -> Rewrites:
    """sgd(grads, params): a function of the script that uses them"""
    if problem := g.gradient_problem(e):
        yield g.left(
            e, MISSING[problem].format(grads=g.name, call=f"{g.source.text(e.node.func)}({g.name}, ...)")
        )
        return
    place = g.source.find("(", g.source.end(e.node.func)) + 1
    yield g.source.insert(place, g.name + ", " * bool(e.node.args or e.node.keywords), RULES["call"].words)


def closure(g: ScopeGradients, e: GradientEvent) -> Rewrites:
    """return grads, in a closure that an optimiser calls"""
    if problem := g.gradient_problem(e):
        yield g.left(e, MISSING[problem].format(grads=g.name, call=f"return {g.name}"))
    else:
        yield g.source.replace_node(e.node.value, g.name, RULES["closure"].words)


def closure_call(g: ScopeGradients, e: GradientEvent) -> Rewrites:
    """closure().loss, if the loss is used"""
    if not isinstance(g.source.parents[e.node], ast.Expr):
        yield g.source.insert(g.source.end(e.node), ".loss", RULES["closure"].words)


def unknown_closure(g: ScopeGradients, e: GradientEvent) -> Rewrites:
    """step() of a function that is not in the script"""
    yield g.left(e, "the function must return gradients: def closure(): return loss().backward()")


@dataclass(frozen=True)
class EventRule:
    """Rewrites an event: `write` makes the edits, `words` give the reason beside the change."""

    write: Callable[[ScopeGradients, GradientEvent], Rewrites]
    words: str


RULES = {
    "backward": EventRule(backward, "backward() returns the gradients"),
    "step": EventRule(step, "step() takes the gradients"),
    "unknown step": EventRule(unknown_step, ""),
    "scaler": EventRule(scaler, "step() takes the gradients"),
    "unscale": EventRule(unscale, "it divides the gradients in the container"),
    "read": EventRule(read, "gradients are in the container, not on tensors"),
    "question": EventRule(question, "gradients are in the container, not on tensors"),
    "zero": EventRule(zero, ""),
    "clip": EventRule(clip, "it clips the gradients in the container"),
    "call": EventRule(call, "the function takes the gradients"),
    "closure call": EventRule(closure_call, ""),
    "unknown closure": EventRule(unknown_closure, ""),
    "closure": EventRule(closure, "a closure returns the gradients, whose .loss is the loss"),
}


# --- the scopes of a script ---

FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def scopes(source: Script, names: TorchNames) -> list[Scope]:
    """Return the scopes of the module and its functions; each knows the helpers among these."""
    functions = [n for n in ast.walk(source.tree) if isinstance(n, FUNCTIONS)]
    closures = _closures(source.tree, names)
    inner = [Scope(n, names, {}, closures) for n in functions]
    called = {
        n.func.id for n in ast.walk(source.tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    }
    plain = [s for s in inner if not isinstance(source.parents[s.node], ast.ClassDef) and s.name in called]
    # Helpers use gradients and compute none: they get the container as a parameter.
    helpers = {s.name: s for s in plain if s.of("used") and not s.of("computed")}
    return [Scope(n, names, helpers, closures) for n in (source.tree, *functions)]


def _closures(tree: ast.Module, names: TorchNames) -> set[str]:
    """Return the names of the functions that are passed to an optimiser's step."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
    functions = {n.name for n in ast.walk(tree) if isinstance(n, FUNCTIONS)}
    steps = [n for n in calls if n.func.attr == "step" and n.args and isinstance(n.args[0], ast.Name)]  # type: ignore
    passed: set[str] = {n.args[0].id for n in steps if names.is_optimizer(ast.unparse(n.func.value))}  # type: ignore
    return passed & functions


def container(tree: ast.Module) -> str:
    """Choose a name that the script does not use."""
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    used |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    return next((n for n in NAMES if n not in used), "grads_of_loss")


def gradients(source: Script, names: TorchNames) -> Rewrites:
    """Return the edits of a script's gradients."""
    name = container(source.tree)
    for scope in scopes(source, names):
        g = ScopeGradients(source, scope, name)
        if scope.is_helper:
            place = (
                source.find("(", source.start(scope.node)) + 1
            )  # the container becomes the first parameter
            yield source.insert(place, name + ", " * bool(scope.params), RULES["call"].words)
        yield from g.edits()
