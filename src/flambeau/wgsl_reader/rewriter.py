"""Rewrites a module, replacing the text of some of its pieces."""

from . import syntax as s
from .parser import parse
from .types import Types


class Rewriter:
    """A subclass writes pieces of a class C by a method `_C(part)`; all others are copied.

    The text between pieces is kept, so that no line is added or removed and a compiler's messages name the
    lines of the original.
    """

    def __init__(self, text: str):
        self.text, self.module = text, parse(text)
        self.types = Types(self.module)

    def emit(self, part: s.Piece) -> str:
        """The new text of a piece."""
        rule = getattr(self, f"_{type(part).__name__}", None)
        return self.inner(part) if rule is None else rule(part)

    def inner(self, part: s.Piece) -> str:
        """A piece's own text with the new text of its parts."""
        return self.splice(part, [(p, self.emit(p)) for p in part.parts()])

    def splice(self, part: s.Piece, inside: list[tuple[s.Piece, str]]) -> str:
        """A piece's text with some of its parts replaced by these texts."""
        out, offset = list[str](), part.start
        # Pieces of one part never overlap, so copying from one end to the next start is enough.
        for p, text in sorted(inside, key=lambda pair: pair[0].start):
            out += [self.text[offset : p.start], text]
            offset = p.end
        return "".join([*out, self.text[offset : part.end]])

    def raw(self, part: s.Piece) -> str:
        """A piece's original text."""
        return self.text[part.start : part.end]
