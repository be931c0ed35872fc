"""Replaces parts of a script by their positions. All other text, including comments, does not change."""

import ast
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Edit:
    """Replaces bytes `start` to `end` of a source by `text`; `words` give the reason."""

    start: int
    end: int
    text: str
    words: str


@dataclass(frozen=True)
class Change:
    """A line of the source and the lines that replace it, none or several."""

    line: int
    before: str
    after: tuple[str, ...]
    words: str


class Script:
    """A script: its text, its syntax tree, and the positions of its nodes."""

    def __init__(self, text: str, name: str = "<script>"):
        self.tree = ast.parse(text, name)
        self.data = text.encode()  # the columns of an ast are bytes of UTF-8
        self.starts = [0]  # the position of each line's first byte, and of the end
        for line in self.data.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def start(self, node: ast.AST) -> int:
        """Return the position of a node's first byte."""
        return self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        """Return the position after a node's last byte."""
        return self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def text(self, node: ast.AST) -> str:
        """Return the source text of a node."""
        return self.data[self.start(node) : self.end(node)].decode()

    def is_placed(self, node: ast.expr) -> bool:
        """Whether a node's position is correct: Python 3.11 miscounts in some f-strings."""
        try:
            return ast.unparse(ast.parse(self.text(node), mode="eval")) == ast.unparse(node)
        except (SyntaxError, UnicodeDecodeError):
            return False

    def find(self, word: str, begin: int) -> int:
        """Return the position of a word's first byte, at or after `begin`."""
        return self.data.index(word.encode(), begin)

    def line_of(self, place: int) -> int:
        """Return the line number of a position, from 1."""
        return sum(start <= place for start in self.starts[: max(1, len(self.starts) - 1)])

    def statement(self, node: ast.AST) -> ast.stmt:
        """Return the statement that contains a node."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def replace_node(self, node: ast.AST, text: str, words: str) -> Edit:
        """Make the edit that replaces a node."""
        return Edit(self.start(node), self.end(node), text, words)

    def insert(self, place: int, text: str, words: str) -> Edit:
        """Make the edit that inserts text at a position."""
        return Edit(place, place, text, words)

    def line(self, statement: ast.stmt, text: str, words: str, after: bool = False) -> Edit:
        """Make the edit that inserts a line before or after a statement, with its indentation."""
        begin = self.starts[statement.lineno - 1]
        place = self.starts[statement.end_lineno or 0] if after else begin
        return Edit(place, place, f"{' ' * statement.col_offset}{text}\n", words)

    def remove(self, statements: list[ast.stmt], words: str) -> list[Edit]:
        """Make the edits that remove statements and the blocks that become empty. A block that must stay
        gets `pass`."""
        removed: set[ast.AST] = set(statements)
        count = len(removed) - 1
        while count < len(removed):  # the removal of a block may empty the one around it
            count = len(removed)
            removed |= {block for s in removed if _is_emptied(block := self.parents[s], removed)}
        outer = [s for s in removed if self.parents[s] not in removed and isinstance(s, ast.stmt)]
        return [self._remove(s, removed, words) for s in outer]

    def _remove(self, statement: ast.stmt, removed: set[ast.AST], words: str) -> Edit:
        first, last = self.starts[statement.lineno - 1], self.starts[statement.end_lineno or 0]
        before = self.data[first : self.start(statement)].strip()
        after = self.data[self.end(statement) : last].strip()
        siblings = next(b for b in _blocks(self.parents[statement]) if statement in b)
        is_needed = all(s in removed for s in siblings) and not isinstance(
            self.parents[statement], ast.Module
        )
        # Other code on the line, as in `if x: w.grad.zero_()` or `a; b`, or a block that can't be empty.
        if before or (after and not after.startswith(b"#")) or is_needed:
            return self.replace_node(statement, "pass", words)
        return Edit(first, last, "", words)

    def apply(self, edits: list[Edit]) -> tuple[str, list[Change]]:
        """Apply edits. Returns the new text, and the changes by lines."""
        outermost = _outermost(edits)
        out: list[bytes] = []
        offset = 0
        for e in outermost:
            out += [self.data[offset : e.start], e.text.encode()]
            offset = e.end
        text = b"".join([*out, self.data[offset:]]).decode()
        return text, [self._change(group) for group in self._by_lines(outermost)]

    def _by_lines(self, edits: list[Edit]) -> list[list[Edit]]:
        groups: list[list[Edit]] = []
        for e in edits:
            if groups and self.line_of(e.start) <= self.line_of(_last_byte(groups[-1])):
                groups[-1].append(e)
            else:
                groups.append([e])
        return groups

    def _change(self, edits: list[Edit]) -> Change:
        first, last = self.line_of(edits[0].start), self.line_of(_last_byte(edits))
        begin, end = self.starts[first - 1], self.starts[last]
        out: list[bytes] = []
        offset = begin
        for e in edits:
            out += [self.data[offset : e.start], e.text.encode()]
            offset = e.end
        after = b"".join([*out, self.data[offset:end]]).decode()
        words = "; ".join(dict.fromkeys(e.words for e in edits))
        before = self.data[begin:end].decode()
        if edits[-1].start == begin and edits[-1].text.endswith("\n"):  # an inserted line: the next one stays
            before, after = "", edits[-1].text
        return Change(
            first, before.rstrip("\n"), tuple(after.rstrip("\n").split("\n")) if after else (), words
        )


def _last_byte(edits: list[Edit]) -> int:
    """Return the last byte that edits touch."""
    return max(max(e.start, e.end - 1) for e in edits)


def _outermost(edits: list[Edit]) -> list[Edit]:
    """Sort edits, without duplicates and without those inside of others."""
    ordered = sorted(dict.fromkeys(edits), key=lambda e: (e.start, e.end))
    wide = [e for e in ordered if e.end > e.start]
    outermost = [e for e in ordered if not any(_covers(w, e) for w in wide)]
    # Rules edit disjoint nodes; an overlap would mean that two rules matched one node.
    assert all(a.end <= b.start for a, b in pairwise(outermost)), outermost
    return outermost


def _covers(outer: Edit, e: Edit) -> bool:
    inside = outer.start <= e.start and e.end <= outer.end
    at_an_edge = e.start == e.end and e.start in (outer.start, outer.end)
    return inside and not at_an_edge and e != outer


def _is_emptied(node: ast.AST, removed: set[ast.AST]) -> bool:
    """Whether all statements of a compound statement's body are removed, and it has no `else`."""
    plain = isinstance(node, ast.If | ast.For | ast.With) and not getattr(node, "orelse", [])
    return plain and all(s in removed for s in node.body)  # type: ignore[union-attr]


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    blocks = [getattr(node, name, None) for name in ("body", "orelse", "finalbody")]
    return [b for b in blocks if isinstance(b, list)]
