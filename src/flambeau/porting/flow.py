"""Follows gradients through a scope: which gradients each event may see.

Each owner of gradients (an optimiser, a tensor) has a set of tokens: the `backward` calls that may have
computed its gradients, and the events that may have set them to zero. Loops are iterated to a fixed point,
and the states of branches are joined.
"""

import ast
from typing import Any

from ..core.tree import is_list
from .events import LOOPS, GradientEvent, Scope, header, root_of

State = dict[str, frozenset[Any]]
# Tokens: no gradient computed yet; computed by an earlier call of the function.
START, EARLIER = ("start", "earlier")


class Flow:
    """The data flow of a scope. `before` has the possible states before each event."""

    def __init__(self, scope: Scope):
        self.scope = scope
        self.before: dict[GradientEvent, State] = {e: {} for e in scope.events.values()}
        self.owners = {*scope.tensors, *scope.optimizers, *(t for e in self.before for t in e.owners)}
        self.ends: list[State | None] = []  # states at `return`
        self.loops: list[tuple[list[Any], list[Any]]] = []  # states at `break` and at `continue`
        self._run()

    def _run(self) -> None:
        start: State = dict.fromkeys(self.owners, frozenset([START]))
        body = self.scope.node.body
        if not is_list(body):  # a lambda's body
            return
        end = self.block(body, start)
        if not isinstance(self.scope.node, ast.Module):  # the function may be called again
            # A second pass: gradients computed by one call may still exist at the next.
            again = join_states([end, *self.ends])
            if again is not None:
                self.block(body, join_states([start, self._state_at_next_call(again)]))

    def _state_at_next_call(self, state: State) -> State:
        """Return the state at the next call: gradients of local tensors start empty."""
        local = {*self.scope.params} - {"self"}
        local |= {root_of(n) for e in self.scope.of("new") for n in _targets(e.node)} - {None}  # type: ignore
        fresh = {t for t in self.owners if t.partition(".")[0].partition("[")[0] in local}
        # An optimiser that is passed in keeps its parameters' gradients between calls.
        fresh -= {t for t in fresh if t in self.scope.optimizers and t in self.scope.params}
        return {
            t: frozenset([START])
            if t in fresh
            else frozenset(
                EARLIER if isinstance(k, GradientEvent) and k.kind == "computed" else k for k in tokens
            )
            for t, tokens in state.items()
        }

    def block(self, statements: list[ast.stmt], state: State | None) -> State | None:
        """Return the state after statements; None if their end is never reached."""
        for s in statements:
            if state is None:
                return None
            state = self.statement(s, state)
        return state

    def statement(self, s: Any, state: State) -> State | None:
        if isinstance(s, LOOPS):
            return self.loop(s, state)
        for node in header(s):
            state = self.after_node(node, state)
        state = self.after_node(s, state)
        if isinstance(s, ast.If):
            return self.branches(s, state)
        if isinstance(s, ast.With | ast.AsyncWith):
            return self.block(s.body, state)
        if isinstance(s, ast.Try):
            end = self.block([*s.body, *s.orelse], state)
            handled = [self.block(h.body, join_states([state, end])) for h in s.handlers]
            return self.block(s.finalbody, join_states([end, *handled]))
        if isinstance(s, ast.Match):
            return join_states([state, *(self.block(c.body, state) for c in s.cases)])
        return self.leave(s, state)

    def branches(self, s: ast.If, state: State) -> State | None:
        other = None if not s.orelse and _is_idle(s.test) else self.block(s.orelse, state)
        return join_states([self.block(s.body, state), other])

    def leave(self, s: ast.stmt, state: State) -> State | None:
        """Return the state after a statement; None if it leaves the block, whose state is then recorded."""
        if isinstance(s, ast.Return | ast.Raise):
            self.ends.append(state if isinstance(s, ast.Return) else None)
            return None
        if isinstance(s, ast.Break | ast.Continue):
            self.loops[-1][isinstance(s, ast.Continue)].append(state)
            return None
        return state

    def loop(self, s: Any, state: State) -> State | None:
        """Return the state after a loop, which is assumed to run at least once."""
        entry, after = state, None
        repeats = any(e.kind == "computed" for n in ast.walk(s) if (e := self.scope.events.get(n)))
        while True:  # a loop that computes no gradients iterates over tensors, each of which occurs once
            self.loops.append(([], []))
            inner = entry
            for node in header(s):
                inner = self.after_node(node, inner)
            end = self.block(s.body, self.after_node(s, inner))
            broken, continued = self.loops.pop()
            end = join_states([end, *continued])
            after = join_states([end, *broken])
            # States only grow and are finite, so this ends.
            wider = join_states([entry, end])
            if wider == entry or wider is None or not repeats:
                return self.block(s.orelse, after) if s.orelse and end is not None else after
            entry = wider

    def after_node(self, node: ast.AST, state: State) -> State:
        e = self.scope.events.get(node)
        if e is None:
            return state
        self.before[e] = join_states([self.before[e], state]) or {}
        # backward() adds to all gradients, so earlier computed ones remain, and empty ones end.
        if e.kind == "computed":
            return {t: frozenset(k for k in tokens if not is_empty(k)) | {e} for t, tokens in state.items()}
        if e.kind == "zero" or e.ends:
            return {**state, **dict.fromkeys(self.scope.set_to_zero(e), frozenset([e]))}
        if e.kind == "new":
            return {**state, **{t: frozenset([START]) for t in self._created_tensors(e)}}
        return state

    def _created_tensors(self, e: GradientEvent) -> set[str]:
        """Return the tensors that an assignment replaces."""
        own_tensors = self.scope.tensors - {"*", "closure"}
        return {t for t in own_tensors if any(t == n or t.startswith((f"{n}.", f"{n}[")) for n in e.owners)}


def is_empty(token: Any) -> bool:
    """Whether a token stands for no gradient."""
    return token == START or (isinstance(token, GradientEvent) and token.kind != "computed")


def _is_idle(test: ast.expr) -> bool:
    """Whether a test can be assumed true: `loss.requires_grad`, or `w.grad is not None` around an update or
    a reset."""
    value = test.left if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot) else test
    return isinstance(value, ast.Attribute) and value.attr in ("requires_grad", "grad")


def join_states(states: list[State | None]) -> State | None:
    """Join the states at the ends of several branches; None if no end is reached."""
    reached = [s for s in states if s is not None]
    if not reached:
        return None
    return {t: frozenset().union(*(s.get(t, frozenset()) for s in reached)) for t in reached[0] | reached[-1]}


def _targets(node: Any) -> list[ast.expr]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [p for t in targets for p in (t.elts if isinstance(t, ast.Tuple) else [t])]
