"""A module into its barriers that not all threads of a workgroup come to: by its text alone, as WGSL's own
rules do it, since a barrier that some threads do not come to has no meaning that could be watched.

A value is divergent where threads may differ in it: a thread's number, what is read from memory that is
written, a variable that was set to such a value or in the branch of such a test.
"""

from dataclasses import dataclass, field

from . import syntax as s
from .types import Types

DIVERGENT = {
    "local_invocation_id", "local_invocation_index", "global_invocation_id", "subgroup_invocation_id",
    "subgroup_id",
}  # fmt: skip
BARRIERS = {"workgroupBarrier", "storageBarrier", "textureBarrier", "workgroupUniformLoad"}
NESTED = (s.Statements, s.If, s.For, s.While, s.Loop, s.Cases)  # statements with others in them
WRITTEN = {"workgroup", "private"}  # and storage that is read_write


@dataclass
class FlowFacts:
    """What is known of a function: its divergent variables and parameters, whether its result is divergent
    whatever it is given, and whether it has barriers."""

    divergent: set[int] = field(default_factory=set)
    result: bool = False
    waits: bool = False


@dataclass
class Stray:
    """A barrier that not all threads come to, and the test that parts them."""

    barrier: s.Piece
    test: s.Piece


def strays(module: s.WgslModule, types: Types) -> list[Stray]:
    """The barriers of a module in flow that is not the same for all threads of a workgroup."""
    return _Uniformity(module, types).found()


class _Uniformity:
    def __init__(self, module: s.WgslModule, types: Types):
        self.module, self.types = module, types
        self.flows = {f.name: FlowFacts() for f in module.functions}
        self.parted: list[s.Piece] = []  # the tests that part the threads here
        self.strays: list[Stray] = []

    def found(self) -> list[Stray]:
        before: object = None
        while before != (now := self._state()):  # until nothing more becomes divergent
            before, self.strays = now, []
            for f in self.module.functions:
                self.flow, self.parted = self.flows[f.name], []
                self.leaving: list[tuple[str, s.Piece]] = []
                if f.is_entry:
                    self.flow.divergent |= {id(p) for p in f.given if p.builtin in DIVERGENT}
                self._inside(f.body)
        unique = {(x.barrier.start, x.barrier.end): x for x in self.strays}
        return list(unique.values())

    def _state(self) -> list:
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
            if self.parted:
                self.strays.append(Stray(call, self.parted[-1]))
        function = self.types.functions.get(call.name)
        if flow is not None and function is not None:
            for p, given in zip(function.given, call.given, strict=False):
                if self.parted or self._is_divergent(given):
                    flow.divergent.add(id(p))

    def _Declare(self, d: s.Declare) -> None:
        if d.value is not None and (self._is_divergent(d.value) or (self.parted and d.kind == "var")):
            self.flow.divergent.add(id(d))

    def _Assign(self, part: s.Assign) -> None:
        root, indices = part.to, []
        while isinstance(root, s.Indexed | s.Selected | s.Bracketed | s.Unary):
            if isinstance(root, s.Indexed):
                indices.append(root.at)
            root = root.x if isinstance(root, s.Bracketed | s.Unary) else root.of
        parts = [*indices, *([part.value] if part.value is not None else [])]
        if isinstance(root, s.Name) and (self.parted or any(map(self._is_divergent, parts))):
            d = self.types.declared.get(id(root))
            if (d is not None and id(d) in self.types.inside) or isinstance(d, s.WgslParameter):
                self.flow.divergent.add(id(d))

    def _Return(self, part: s.Return) -> None:
        if self.parted:
            self.leaving.append(("return", self.parted[-1]))
        if part.value is not None and (self.parted or self._is_divergent(part.value)):
            self.flow.result = True

    def _Leave(self, part: s.Leave) -> None:
        tests = [
            *self.parted,
            *([part.test] if part.test is not None and self._is_divergent(part.test) else []),
        ]
        if tests:
            self.leaving.append((part.word, tests[-1]))

    def _Statements(self, part: s.Statements) -> None:
        self._inside(part)

    def _Continuing(self, part: s.Continuing) -> None:
        self._inside(part.body)

    def _inside(self, part: s.Piece) -> None:
        """A block's statements; what leaves it in a branch parts the threads behind the branch too."""
        before = list(self.parted)
        for p in part.parts():
            known = len(self.leaving)
            self._statement(p)
            self.parted += [test for _, test in self.leaving[known:]]
        self.parted = before

    def _If(self, part: s.If) -> None:
        self._tested(part.test)
        here = [part.test] if self._is_divergent(part.test) else []
        self.parted += here
        for branch in (part.then, part.other):
            if branch is not None:
                self._statement(branch)
        if here:
            self.parted.pop()

    def _Cases(self, part: s.Cases) -> None:
        self._tested(part.test)
        here = [part.test] if self._is_divergent(part.test) else []
        self.parted += here
        known = len(self.leaving)
        for case in part.cases:
            self._statement(case)
        if here:
            self.parted.pop()
        self.leaving[known:] = [x for x in self.leaving[known:] if x[0] != "break"]

    def _For(self, part: s.For) -> None:
        if part.first is not None:
            self._statement(part.first)
        self._looped(part.test, part.body, part.step)

    def _While(self, part: s.While) -> None:
        self._looped(part.test, part.body, None)

    def _Loop(self, part: s.Loop) -> None:
        self._looped(None, part.body, None)

    def _looped(self, test: s.Piece | None, body: s.Piece, step: s.Piece | None) -> None:
        """A loop: what leaves it in a branch parts the threads of all its later turns."""
        known, before = len(self.leaving), list(self.parted)
        for _ in range(2):
            if test is not None:
                self._tested(test)
                if self._is_divergent(test):
                    self.parted.append(test)
            self._inside(body)
            if step is not None:
                self._statement(step)
            self.parted = before + [t for _, t in self.leaving[known:]]
        self.parted = before
        self.leaving[known:] = [x for x in self.leaving[known:] if x[0] == "return"]

    def _tested(self, test: s.Piece) -> None:
        for p in test.walk():
            if isinstance(p, s.WgslCall):
                self._call(p)
