"""Finds barriers in non-uniform control flow by static analysis, as WGSL does: no probe can
observe a barrier that some threads do not reach, since its behaviour is undefined.

A value is divergent if threads may differ in it: a thread's number, a value read from memory that the kernel
writes, a variable that was assigned such a value, or was assigned in a branch on such a test.
"""

from dataclasses import dataclass, field

from . import syntax as s
from .types import Types

DIVERGENT = {
    "local_invocation_id", "local_invocation_index", "global_invocation_id", "subgroup_invocation_id",
    "subgroup_id",
}  # fmt: skip
BARRIERS = {"workgroupBarrier", "storageBarrier", "textureBarrier", "workgroupUniformLoad"}
NESTED = (s.Statements, s.If, s.For, s.While, s.Loop, s.Cases)  # statements that contain statements
WRITTEN = {"workgroup", "private"}  # address spaces; storage too if it is read_write


@dataclass
class FlowFacts:
    """The analysis of a function: its divergent variables and parameters, by id; whether its result is
    divergent for uniform arguments; whether it has barriers."""

    divergent: set[int] = field(default_factory=set[int])
    result: bool = False
    waits: bool = False


@dataclass
class NonUniformBarrier:
    """A barrier that not all threads reach, and the divergent test that separates them."""

    barrier: s.Piece
    test: s.Piece


def non_uniform_barriers(module: s.WgslModule, types: Types) -> list[NonUniformBarrier]:
    """The barriers of a module in control flow that may differ between threads of a workgroup."""
    return _Uniformity(module, types).barriers()


class _Uniformity:
    def __init__(self, module: s.WgslModule, types: Types):
        self.module, self.types = module, types
        self.flows = {f.name: FlowFacts() for f in module.functions}
        self.tests: list[s.Piece] = []  # the divergent tests that the current statement depends on
        self.non_uniform: list[NonUniformBarrier] = []

    def barriers(self) -> list[NonUniformBarrier]:
        before: object = None
        # Facts about a function depend on its callers and callees, so all functions are visited until nothing
        # changes. Sets only grow, which is why their sizes show a change.
        while before != (now := self._state()):  # until a pass finds nothing more that is divergent
            before, self.non_uniform = now, []
            for f in self.module.functions:
                self.flow, self.tests = self.flows[f.name], []
                self.leaving: list[tuple[str, s.Piece]] = []
                if f.is_entry:
                    self.flow.divergent |= {id(p) for p in f.parameters if p.builtin in DIVERGENT}
                self._inside(f.body)
        unique = {(x.barrier.start, x.barrier.end): x for x in self.non_uniform}
        return list(unique.values())

    def _state(self) -> list[tuple[int, bool, bool]]:
        return [(len(f.divergent), f.result, f.waits) for f in self.flows.values()]

    # --- values ---

    def _is_divergent(self, part: s.Piece) -> bool:
        if isinstance(part, s.Name):
            return self._is_divergent_name(part)
        if isinstance(part, s.WgslCall):
            if part.name == "workgroupUniformLoad":
                return False
            flow = self.flows.get(part.name)
            if (flow is not None and flow.result) or part.name.startswith("atomic"):
                return True
        return any(map(self._is_divergent, part.parts()))

    def _is_divergent_name(self, name: s.Name) -> bool:
        d = self.types.declared.get(id(name))
        if isinstance(d, s.Declare) and id(d) not in self.types.inside:
            # Module-scope memory that the kernel writes: threads may read different values.
            return d.space in WRITTEN or (d.space == "storage" and d.access != "read")
        return id(d) in self.flow.divergent

    # --- statements ---

    def _statement(self, part: s.Piece) -> None:
        for p in () if isinstance(part, NESTED) else part.walk():
            if isinstance(p, s.WgslCall):
                self._call(p)
        rule = getattr(self, f"_{type(part).__name__}", None)
        if rule is not None:
            rule(part)

    def _call(self, call: s.WgslCall) -> None:
        flow = self.flows.get(call.name)
        if call.name in BARRIERS or (flow is not None and flow.waits):
            self.flow.waits = True
            if self.tests:
                self.non_uniform.append(NonUniformBarrier(call, self.tests[-1]))
        function = self.types.functions.get(call.name)
        # A parameter is divergent if any call passes a divergent argument, or is made by some threads only.
        if flow is not None and function is not None:
            for p, argument in zip(function.parameters, call.arguments, strict=False):
                if self.tests or self._is_divergent(argument):
                    flow.divergent.add(id(p))

    def _Declare(self, d: s.Declare) -> None:
        if d.value is not None and (self._is_divergent(d.value) or (self.tests and d.kind == "var")):
            self.flow.divergent.add(id(d))

    def _Assign(self, part: s.Assign) -> None:
        # x[i].y = v makes x divergent if i or v is.
        root, indices = part.to, list[s.Piece]()
        while isinstance(root, s.Indexed | s.Selected | s.Bracketed | s.Unary):
            if isinstance(root, s.Indexed):
                indices.append(root.at)
            root = root.x if isinstance(root, s.Bracketed | s.Unary) else root.of
        parts = [*indices, *([part.value] if part.value is not None else [])]
        if isinstance(root, s.Name) and (self.tests or any(map(self._is_divergent, parts))):
            d = self.types.declared.get(id(root))
            if (d is not None and id(d) in self.types.inside) or isinstance(d, s.WgslParameter):
                self.flow.divergent.add(id(d))

    def _Return(self, part: s.Return) -> None:
        if self.tests:
            self.leaving.append(("return", self.tests[-1]))
        if part.value is not None and (self.tests or self._is_divergent(part.value)):
            self.flow.result = True

    def _Leave(self, part: s.Leave) -> None:
        tests = [
            *self.tests,
            *([part.test] if part.test is not None and self._is_divergent(part.test) else []),
        ]
        if tests:
            self.leaving.append((part.word, tests[-1]))

    def _Statements(self, part: s.Statements) -> None:
        self._inside(part)

    def _Continuing(self, part: s.Continuing) -> None:
        self._inside(part.body)

    def _inside(self, part: s.Piece) -> None:
        """A block's statements. A jump out of a divergent branch makes the rest of the block divergent."""
        before = list(self.tests)
        for p in part.parts():
            known = len(self.leaving)
            self._statement(p)
            self.tests += [test for _, test in self.leaving[known:]]
        self.tests = before

    def _If(self, part: s.If) -> None:
        self._visit_test(part.test)
        tests = [part.test] if self._is_divergent(part.test) else []
        self.tests += tests
        for branch in (part.then, part.other):
            if branch is not None:
                self._statement(branch)
        if tests:
            self.tests.pop()

    def _Cases(self, part: s.Cases) -> None:
        self._visit_test(part.test)
        tests = [part.test] if self._is_divergent(part.test) else []
        self.tests += tests
        known = len(self.leaving)
        for case in part.cases:
            self._statement(case)
        if tests:
            self.tests.pop()
        # A break ends with the switch.
        self.leaving[known:] = [x for x in self.leaving[known:] if x[0] != "break"]

    def _For(self, part: s.For) -> None:
        if part.first is not None:
            self._statement(part.first)
        self._visit_loop(part.test, part.body, part.step)

    def _While(self, part: s.While) -> None:
        self._visit_loop(part.test, part.body, None)

    def _Loop(self, part: s.Loop) -> None:
        self._visit_loop(None, part.body, None)

    def _visit_loop(self, test: s.Piece | None, body: s.Piece, step: s.Piece | None) -> None:
        """A loop. A jump out of a divergent branch makes all its later iterations divergent."""
        known, before = len(self.leaving), list(self.tests)
        # Twice: in the second turn jumps and assignments of the first are known.
        for _ in range(2):
            if test is not None:
                self._visit_test(test)
                if self._is_divergent(test):
                    self.tests.append(test)
            self._inside(body)
            if step is not None:
                self._statement(step)
            self.tests = before + [t for _, t in self.leaving[known:]]
        self.tests = before
        # break and continue end with the loop; a return also separates the threads after it.
        self.leaving[known:] = [x for x in self.leaving[known:] if x[0] == "return"]

    def _visit_test(self, test: s.Piece) -> None:
        for p in test.walk():
            if isinstance(p, s.WgslCall):
                self._call(p)
