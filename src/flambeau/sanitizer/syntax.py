"""The parts of a WGSL text: what its parser makes. Each knows from where to where it stands in the text."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(eq=False)
class Piece:
    """A piece of text. Of what stands inside it each part is a field, or in a list that is one."""

    start: int
    end: int

    def parts(self) -> Iterator["Piece"]:
        """What it is made of, in the order of the text."""
        for f in fields(self):
            value: Any = getattr(self, f.name)
            for part in value if isinstance(value, list) else (value,):
                if isinstance(part, Piece):
                    yield part

    def walk(self) -> Iterator["Piece"]:
        """It and all that stands inside."""
        yield self
        for part in self.parts():
            yield from part.walk()


# --- expressions ---


@dataclass(eq=False)
class Literal(Piece):
    text: str


@dataclass(eq=False)
class Name(Piece):
    name: str


@dataclass(eq=False)
class Unary(Piece):
    op: str
    x: Piece


@dataclass(eq=False)
class Infix(Piece):
    op: str
    a: Piece
    b: Piece


@dataclass(eq=False)
class Indexed(Piece):
    of: Piece
    at: Piece


@dataclass(eq=False)
class Selected(Piece):
    of: Piece
    name: str


@dataclass(eq=False)
class WgslCall(Piece):
    """A call, or a value made of others: `max(a, b)`, `vec4<f32>(x)`."""

    name: str
    template: str  # what stands in < >, without blanks
    given: list[Piece]


@dataclass(eq=False)
class Bracketed(Piece):
    """(x)"""

    x: Piece


# --- statements ---


@dataclass(eq=False)
class Declare(Piece):
    """let, var or const of a function; of a module too."""

    kind: str
    space: str  # of var<space>: workgroup, storage, ...
    name: str
    type: str
    value: Piece | None
    access: str = ""


@dataclass(eq=False)
class Assign(Piece):
    """a = b, a += b, a++; `b` is None of the last."""

    to: Piece
    op: str
    value: Piece | None


@dataclass(eq=False)
class Statements(Piece):
    body: list[Piece]


@dataclass(eq=False)
class If(Piece):
    test: Piece
    then: Statements
    other: Piece | None


@dataclass(eq=False)
class For(Piece):
    first: Piece | None
    test: Piece | None
    step: Piece | None
    body: Statements


@dataclass(eq=False)
class While(Piece):
    test: Piece
    body: Statements


@dataclass(eq=False)
class Continuing(Piece):
    """continuing { ... }, the last of a loop's body."""

    body: Statements


@dataclass(eq=False)
class Loop(Piece):
    """loop { ... }"""

    body: Statements


@dataclass(eq=False)
class Cases(Piece):
    test: Piece
    cases: list[Piece]


@dataclass(eq=False)
class Return(Piece):
    value: Piece | None


@dataclass(eq=False)
class Leave(Piece):
    """break, continue; `test` is that of a break if."""

    word: str
    test: Piece | None = None


@dataclass(eq=False)
class Do(Piece):
    """A call as a statement."""

    call: WgslCall


# --- the module ---


@dataclass(eq=False)
class WgslParameter(Piece):
    name: str
    type: str
    builtin: str


@dataclass(eq=False)
class Routine(Piece):
    name: str
    given: list[WgslParameter]
    result: str
    body: Statements
    is_entry: bool
    head: int = 0  # where its attributes begin


@dataclass(eq=False)
class Struct(Piece):
    name: str
    members: list[tuple[str, str]]


@dataclass(eq=False)
class WgslModule(Piece):
    structs: list[Struct] = field(default_factory=list)
    variables: list[Declare] = field(default_factory=list)
    functions: list[Routine] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)

    @property
    def entry(self) -> Routine:
        """The function that is run."""
        return next(f for f in self.functions if f.is_entry)
