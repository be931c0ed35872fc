"""Data flow of gradients in a scope: the gradients that each event may see.

Each owner of gradients (an optimiser, a tensor) has a set of tokens: the `backward` calls that its gradients
may come from, and the points that may have cleared them. Loops are iterated to a fixed point, and the states
of branches are joined.
"""

import ast
from typing import Any

from ..core.tree import is_list
from .events import LOOPS, GradientEvent, Scope, header, root_of

State = dict[str, frozenset[Any]]
START, EARLIER = (
    "start",
    "earlier",
)  # tokens: no gradient computed yet; computed by an earlier call of the function


class Flow:
    """`before`: the possible states before an event."""

    def __init__(self, scope: Scope):
        self.scope = scope
        self.before: dict[GradientEvent, State] = {e: {} for e in scope.events.values()}
        self.owners = {*scope.tensors, *scope.optimizers, *(t for e in self.before for t in e.owners)}
        self.ends: list[State | None] = []
        self.loops: list[tuple[list[Any], list[Any]]] = []  # states at `break` and at `continue`
        self._run()

    def _run(self) -> None:
        start: State = dict.fromkeys(self.owners, frozenset([START]))
        body = self.scope.node.body
        if not is_list(body):  # a lambda's body
            return
        end = self.block(body, start)
        if not isinstance(self.scope.node, ast.Module):  # the function may be called again
            again = join_states([end, *self.ends])
            if again is not None:
                self.block(body, join_states([start, self._later(again)]))

    def _later(self, state: State) -> State:
        """Return the state at the next call: gradients of local tensors start empty."""
        local = {*self.scope.params} - {"self"}
        local |= {root_of(n) for e in self.scope.of("new") for n in _targets(e.node)} - {None}  # type: ignore
        fresh = {t for t in self.owners if t.partition(".")[0].partition("[")[0] in local}
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
            state = self.pass_by(node, state)
        state = self.pass_by(s, state)
        if isinstance(s, ast.If):
            return self.branches(s, state)
        if isinstance(s, ast.With | ast.AsyncWith):
            return self.block(s.body, state)
        if isinstance(s, ast.Try):
            tried = self.block([*s.body, *s.orelse], state)
            handled = [self.block(h.body, join_states([state, tried])) for h in s.handlers]
            return self.block(s.finalbody, join_states([tried, *handled]))
        if isinstance(s, ast.Match):
            return join_states([state, *(self.block(c.body, state) for c in s.cases)])
        return self.leave(s, state)

    def branches(self, s: ast.If, state: State) -> State | None:
        other = None if not s.orelse and _is_idle(s.test) else self.block(s.orelse, state)
        return join_states([self.block(s.body, state), other])

    def leave(self, s: ast.stmt, state: State) -> State | None:
        """Return the state after a statement that may leave the block."""
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
        goes_round = any(e.kind == "computed" for n in ast.walk(s) if (e := self.scope.events.get(n)))
        while True:  # a loop that computes no gradients iterates over tensors, each of which occurs once
            self.loops.append(([], []))
            inner = entry
            for node in header(s):
                inner = self.pass_by(node, inner)
            end = self.block(s.body, self.pass_by(s, inner))
            broken, continued = self.loops.pop()
            end = join_states([end, *continued])
            after = join_states([end, *broken])
            wider = join_states([entry, end])
            if wider == entry or wider is None or not goes_round:
                return self.block(s.orelse, after) if s.orelse and end is not None else after
            entry = wider

    def pass_by(self, node: ast.AST, state: State) -> State:
        e = self.scope.events.get(node)
        if e is None:
            return state
        self.before[e] = join_states([self.before[e], state]) or {}
        if e.kind == "computed":
            return {t: frozenset(k for k in tokens if not is_empty(k)) | {e} for t, tokens in state.items()}
        if e.kind == "zero" or e.ends:
            return {**state, **dict.fromkeys(self.scope.set_to_zero(e), frozenset([e]))}
        if e.kind == "new":
            return {**state, **{t: frozenset([START]) for t in self._created_tensors(e)}}
        return state

    def _created_tensors(self, e: GradientEvent) -> set[str]:
        """Return the tensors that an assignment replaces."""
        ours = self.scope.tensors - {"*", "closure"}
        return {t for t in ours if any(t == n or t.startswith((f"{n}.", f"{n}[")) for n in e.owners)}


def is_empty(token: Any) -> bool:
    """Whether a token stands for no gradient."""
    return token == START or (isinstance(token, GradientEvent) and token.kind != "computed")


def _is_idle(test: ast.expr) -> bool:
    """Whether a test can be ignored: `loss.requires_grad`, which holds, or `w.grad is not None` before it
    is set to zero."""
    asked = test.left if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot) else test
    return isinstance(asked, ast.Attribute) and asked.attr in ("requires_grad", "grad")


def join_states(states: list[State | None]) -> State | None:
    """Join the states of several branches; None if none of them arrives."""
    there = [s for s in states if s is not None]
    if not there:
        return None
    return {t: frozenset().union(*(s.get(t, frozenset()) for s in there)) for t in there[0] | there[-1]}


def _targets(node: Any) -> list[ast.expr]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [p for t in targets for p in (t.elts if isinstance(t, ast.Tuple) else [t])]
