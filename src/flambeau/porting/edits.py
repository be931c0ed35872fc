"""Applies replacements by position to a script; the text around them stays, comments too."""

import ast
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Edit:
    """Bytes `start` to `end` of a source become `text`; `words` say why."""

    start: int
    end: int
    text: str
    words: str


@dataclass(frozen=True)
class Change:
    """A line of the source and what becomes of it: other lines, or none."""

    line: int
    before: str
    after: tuple[str, ...]
    words: str


class Script:
    """A script: its text, its tree, and where its nodes lie."""

    def __init__(self, text: str, name: str = "<script>"):
        self.tree = ast.parse(text, name)
        self.data = text.encode()
        self.starts = [0]
        for line in self.data.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def start(self, node: ast.AST) -> int:
        """The place of a node's first byte."""
        return self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        """The place behind a node's last byte."""
        return self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def text(self, node: ast.AST) -> str:
        """A node as it is written."""
        return self.data[self.start(node) : self.end(node)].decode()

    def is_placed(self, node: ast.expr) -> bool:
        """Whether a node lies where it says: Python 3.11 loses count in some f-strings."""
        try:
            return ast.unparse(ast.parse(self.text(node), mode="eval")) == ast.unparse(node)
        except (SyntaxError, UnicodeDecodeError):
            return False

    def find(self, word: str, begin: int) -> int:
        """The place of a word's first byte, at or behind a place."""
        return self.data.index(word.encode(), begin)

    def line_of(self, place: int) -> int:
        """The number of a place's line, the first is 1."""
        return sum(start <= place for start in self.starts[: max(1, len(self.starts) - 1)])

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement that a node is part of."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def replaced(self, node: ast.AST, text: str, words: str) -> Edit:
        """A node written otherwise."""
        return Edit(self.start(node), self.end(node), text, words)

    def inserted(self, place: int, text: str, words: str) -> Edit:
        """Text put in at a place."""
        return Edit(place, place, text, words)

    def line(self, statement: ast.stmt, text: str, words: str, behind: bool = False) -> Edit:
        """A separate line before or after a statement, with its indentation."""
        begin = self.starts[statement.lineno - 1]
        place = self.starts[statement.end_lineno or 0] if behind else begin
        return Edit(place, place, f"{' ' * statement.col_offset}{text}\n", words)

    def removed(self, statements: list[ast.stmt], words: str) -> list[Edit]:
        """Statements taken out, with blocks that would be empty; `pass` where something must stand."""
        gone: set[ast.AST] = set(statements)
        emptied = len(gone) - 1
        while emptied < len(gone):  # a block may empty the one around it
            emptied = len(gone)
            gone |= {block for s in gone if _is_bare(block := self.parents[s], gone)}
        outer = [s for s in gone if self.parents[s] not in gone and isinstance(s, ast.stmt)]
        return [self._without(s, gone, words) for s in outer]

    def _without(self, statement: ast.stmt, gone: set[ast.AST], words: str) -> Edit:
        first, last = self.starts[statement.lineno - 1], self.starts[statement.end_lineno or 0]
        before = self.data[first : self.start(statement)].strip()
        behind = self.data[self.end(statement) : last].strip()
        siblings = next(b for b in _blocks(self.parents[statement]) if statement in b)
        is_needed = all(s in gone for s in siblings) and not isinstance(self.parents[statement], ast.Module)
        if before or (behind and not behind.startswith(b"#")) or is_needed:
            return self.replaced(statement, "pass", words)
        return Edit(first, last, "", words)

    def changed(self, edits: list[Edit]) -> tuple[str, list[Change]]:
        """The new text, and what became of each line that is another now."""
        kept = _outermost(edits)
        out: list[bytes] = []
        at = 0
        for e in kept:
            out += [self.data[at : e.start], e.text.encode()]
            at = e.end
        text = b"".join([*out, self.data[at:]]).decode()
        return text, [self._change(group) for group in self._by_lines(kept)]

    def _by_lines(self, edits: list[Edit]) -> list[list[Edit]]:
        groups: list[list[Edit]] = []
        for e in edits:
            if groups and self.line_of(e.start) <= self.line_of(_last(groups[-1])):
                groups[-1].append(e)
            else:
                groups.append([e])
        return groups

    def _change(self, edits: list[Edit]) -> Change:
        first, last = self.line_of(edits[0].start), self.line_of(_last(edits))
        begin, end = self.starts[first - 1], self.starts[last]
        out: list[bytes] = []
        at = begin
        for e in edits:
            out += [self.data[at : e.start], e.text.encode()]
            at = e.end
        after = b"".join([*out, self.data[at:end]]).decode()
        words = "; ".join(dict.fromkeys(e.words for e in edits))
        before = self.data[begin:end].decode()
        if edits[-1].start == begin and edits[-1].text.endswith(
            "\n"
        ):  # a line put in: the one behind it stays
            before, after = "", edits[-1].text
        return Change(
            first, before.rstrip("\n"), tuple(after.rstrip("\n").split("\n")) if after else (), words
        )


def _last(edits: list[Edit]) -> int:
    """The last byte that edits touch."""
    return max(max(e.start, e.end - 1) for e in edits)


def _outermost(edits: list[Edit]) -> list[Edit]:
    """In order, without those inside of others and without repetitions."""
    ordered = sorted(dict.fromkeys(edits), key=lambda e: (e.start, e.end))
    wide = [e for e in ordered if e.end > e.start]
    kept = [e for e in ordered if not any(_covers(w, e) for w in wide)]
    assert all(a.end <= b.start for a, b in pairwise(kept)), kept
    return kept


def _covers(outer: Edit, e: Edit) -> bool:
    inside = outer.start <= e.start and e.end <= outer.end
    at_an_edge = e.start == e.end and e.start in (outer.start, outer.end)
    return inside and not at_an_edge and e != outer


def _is_bare(node: ast.AST, gone: set[ast.AST]) -> bool:
    """Whether a block is left with nothing to do, and looks at nothing that matters."""
    plain = isinstance(node, ast.If | ast.For | ast.With) and not getattr(node, "orelse", [])
    return plain and all(s in gone for s in node.body)  # type: ignore[union-attr]


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    blocks = [getattr(node, name, None) for name in ("body", "orelse", "finalbody")]
    return [b for b in blocks if isinstance(b, list)]
