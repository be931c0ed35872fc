"""The syntax tree that the parser builds. Each piece knows its range in the text."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property


@dataclass(eq=False)
class Piece:
    """text[start:end]. Each part of it is a field, or an item of a list that is a field."""

    start: int
    end: int

    def parts(self) -> Iterator["Piece"]:
        """Its direct parts, in the order of the text."""
        for f in fields(self):
            value: Piece | list[Piece] | str | None = getattr(self, f.name)
            if isinstance(value, Piece):
                yield value
            elif isinstance(value, list):
                yield from value

    def walk(self) -> Iterator["Piece"]:
        """The piece and everything inside it."""
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
    """of[at]"""

    of: Piece
    at: Piece


@dataclass(eq=False)
class Selected(Piece):
    """of.name"""

    of: Piece
    name: str


@dataclass(eq=False)
class WgslCall(Piece):
    """A call or a constructor: `max(a, b)`, `vec4<f32>(x)`."""

    name: str
    template: str  # the text between < and >, without blanks
    arguments: list[Piece]


@dataclass(eq=False)
class Bracketed(Piece):
    """(x)"""

    x: Piece


def root_of(part: Piece) -> Piece:
    """`a` of `a[i].x[j]`."""
    while isinstance(part, Indexed | Selected):
        part = part.of
    return part


# --- statements ---


@dataclass(eq=False)
class Declare(Piece):
    """let, var or const, in a function or in the module."""

    kind: str
    space: str  # of var<space>: workgroup, storage, ...
    name: str
    type: str
    value: Piece | None
    access: str = ""
    head: int = 0  # where its attributes begin
    binding: int = -1  # of @binding


@dataclass(eq=False)
class Assign(Piece):
    """a = b, a += b, a++; `value` is None for ++ and --."""

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
    """continuing { ... }, at the end of a loop's body."""

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
    """break, continue, or `break if test`."""

    word: str
    test: Piece | None = None


@dataclass(eq=False)
class Do(Piece):
    """A call as a statement."""

    call: WgslCall


# --- the module ---


@dataclass(eq=False)
class Directive(Piece):
    """enable, requires, diagnostic or const_assert."""

    word: str


@dataclass(eq=False)
class WgslParameter(Piece):
    name: str
    type: str
    builtin: str  # of @builtin, or ""


@dataclass(eq=False)
class Routine(Piece):
    """A function. `body` is parsed when it is first asked for."""

    name: str
    parameters: list[WgslParameter]
    result: str
    is_entry: bool
    head: int  # where its attributes begin
    opens: int  # where the { of its body is
    workgroup: tuple[int, ...]  # of @workgroup_size; () where that is absent or not made of literals
    read_body: Callable[[], Statements]

    @cached_property
    def body(self) -> Statements:
        return self.read_body()

    def parts(self) -> Iterator[Piece]:
        yield from self.parameters
        yield self.body


@dataclass(eq=False)
class Struct(Piece):
    name: str
    members: dict[str, str]  # types by name


@dataclass(eq=False)
class WgslModule(Piece):
    text: str
    directives: list[Directive] = field(default_factory=list[Directive])
    structs: list[Struct] = field(default_factory=list[Struct])
    variables: list[Declare] = field(default_factory=list[Declare])
    functions: list[Routine] = field(default_factory=list[Routine])
    aliases: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def entries(self) -> list[Routine]:
        """The functions with @compute."""
        return [f for f in self.functions if f.is_entry]

    @property
    def entry(self) -> Routine:
        """The first function with @compute; StopIteration without one."""
        return next(f for f in self.functions if f.is_entry)
