"""A WGSL text into its parts. What it does not know it says, with the line: a text that is only half
understood can't be watched."""

import re
from typing import NamedTuple

from ..errors import KernelError
from . import syntax as s

TOKEN = re.compile(
    r"(?P<blank>\s+|//[^\n]*)"
    r"|(?P<number>0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*(?:[pP][+-]?\d+)?[iufh]?"
    r"|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?[iufh]?)"
    r"|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<sign><<=|>>=|->|\+\+|--|<<|<=|==|!=|&&|\|\||\+=|-=|\*=|/=|%=|&=|\|=|\^=|[-+*/%&|^~!<>=(){}\[\],;:.@])"
)
LEVELS = (  # from what binds loosest; > and >> are put together here, since both end a template too
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"),
    ("*", "/", "%"),
)  # fmt: skip
BINDS = {op: level for level, ops in enumerate(LEVELS) for op in ops}
ASSIGNS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
TEMPLATED = re.compile(
    r"vec[234]|mat[234]x[234]|array|atomic|ptr|bitcast|subgroup_matrix\w*|subgroupMatrix\w*|bufferView"
)


class Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


def tokens_of(text: str) -> list[Token]:
    """The words and signs of a text; KernelError at what is none."""
    found, at = [], 0
    while at < len(text):
        if text.startswith("/*", at):
            at = _after_comment(text, at)
            continue
        m = TOKEN.match(text, at)
        if m is None:
            raise KernelError(f"line {line_of(text, at)}: {text[at]!r} is no sign of WGSL that is known here")
        if m.lastgroup != "blank":
            found.append(Token(str(m.lastgroup), m[0], at, m.end()))
        at = m.end()
    found.append(Token("end", "", len(text), len(text)))
    return found


def _after_comment(text: str, at: int) -> int:
    depth = 0
    for m in re.compile(r"/\*|\*/").finditer(text, at):
        depth += 1 if m[0] == "/*" else -1
        if not depth:
            return m.end()
    raise KernelError(f"line {line_of(text, at)}: a comment that does not end")


def line_of(text: str, at: int) -> int:
    """The line of a place in a text, from 1 on."""
    return text.count("\n", 0, at) + 1


def parsed(text: str) -> s.WgslModule:
    """The parts of a WGSL module; KernelError with the line of what is not understood."""
    return _Parser(text).module()


class _Parser:
    def __init__(self, text: str):
        self.text, self.tokens, self.at = text, tokens_of(text), 0

    # --- tokens ---

    @property
    def now(self) -> Token:
        return self.tokens[self.at]

    def take(self, *wanted: str) -> Token:
        """The next token, which has to be one of these where some are named."""
        token = self.now
        if wanted and token.text not in wanted:
            self.refuse(f"{token.text or 'the end'!r} where {' or '.join(map(repr, wanted))} is expected")
        self.at += 1
        return token

    def maybe(self, text: str) -> bool:
        if self.now.text == text and self.now.kind != "end":
            self.at += 1
            return True
        return False

    def word(self) -> str:
        if self.now.kind != "word":
            self.refuse(f"{self.now.text or 'the end'!r} where a name is expected")
        return self.take().text

    def refuse(self, why: str) -> None:
        raise KernelError(f"line {line_of(self.text, self.now.start)}: {why}")

    @property
    def last_end(self) -> int:
        return self.tokens[self.at - 1].end

    # --- the module ---

    def module(self) -> s.WgslModule:
        made = s.WgslModule(0, len(self.text))
        while self.now.kind != "end":
            start = self.now.start
            attributes = self.attributes()
            rule = getattr(self, f"module_{self.now.text}", None)
            if rule is None:
                self.refuse(f"{self.now.text!r} where a declaration is expected")
            else:
                rule(made, start, attributes)
        if sum(f.is_entry for f in made.functions) != 1:
            raise KernelError(f"{sum(f.is_entry for f in made.functions)} entry points where one is expected")
        return made

    def attributes(self) -> list[str]:
        """The names of attributes, that of a builtin with what it is."""
        found = []
        while self.maybe("@"):
            name = self.word()
            if self.now.text == "(":
                inner = self._balanced()
                name = f"builtin {inner}" if name == "builtin" else name
            found.append(name)
        return found

    def _balanced(self) -> str:
        """What stands in the brackets that begin here."""
        self.take("(")
        start, depth = self.now.start, 1
        while depth:
            if self.now.kind == "end":
                self.refuse("a bracket that does not close")
            depth += {"(": 1, ")": -1}.get(self.take().text, 0)
        return self.text[start : self.tokens[self.at - 1].start].strip()

    def _directive(self, made: s.WgslModule, start: int, attributes: list[str]) -> None:
        while self.take().text != ";":
            if self.now.kind == "end":
                self.refuse("a directive that does not end")

    module_enable = module_requires = module_diagnostic = module_const_assert = _directive

    def module_struct(self, made: s.WgslModule, start: int, attributes: list[str]) -> None:
        self.take()
        name, members = self.word(), []
        self.take("{")
        while not self.maybe("}"):
            self.attributes()
            member = self.word()
            self.take(":")
            members.append((member, self.type()))
            self.maybe(",")
        self.maybe(";")
        made.structs.append(s.Struct(start, self.last_end, name, members))

    def module_alias(self, made: s.WgslModule, start: int, attributes: list[str]) -> None:
        self.take()
        name = self.word()
        self.take("=")
        made.aliases[name] = self.type()
        self.take(";")

    def _variable(self, made: s.WgslModule, start: int, attributes: list[str]) -> None:
        made.variables.append(self.declaration())
        self.take(";")

    module_var = module_const = module_override = _variable

    def module_fn(self, made: s.WgslModule, start: int, attributes: list[str]) -> None:
        here = self.take().start
        name, given = self.word(), []
        self.take("(")
        while not self.maybe(")"):
            began = self.now.start
            builtin = next((a[8:] for a in self.attributes() if a.startswith("builtin ")), "")
            parameter = self.word()
            self.take(":")
            given.append(s.WgslParameter(began, self.last_end, parameter, self.type(), builtin))
            self.maybe(",")
        result = ""
        if self.maybe("->"):
            self.attributes()
            result = self.type()
        body = self.block()
        entry = "compute" in attributes
        made.functions.append(s.Routine(here, body.end, name, given, result, body, entry, start))

    def type(self) -> str:
        """A type, without blanks."""
        name = self.word()
        return name + (f"<{self.template()}>" if self.now.text == "<" else "")

    def template(self) -> str:
        """What stands in < >, without blanks."""
        self.take("<")
        words: list[str] = []
        depth = 1
        while True:
            token = self.take()
            if token.kind == "end" or token.text in (";", "{"):
                self.refuse("a '<' that does not close")
            depth += {"<": 1, ">": -1}.get(token.text, 0)
            if not depth:
                return "".join(words)
            words.append(token.text)

    # --- statements ---

    def declaration(self) -> s.Declare:
        start, kind = self.now.start, self.take().text
        inside = self.template().split(",") if self.now.text == "<" else [""]
        name = self.word()
        type = self.type() if self.maybe(":") else ""
        value = self.expression() if self.maybe("=") else None
        space, access = inside[0], inside[1] if len(inside) > 1 else ""
        return s.Declare(start, self.last_end, kind, space, name, type, value, access)

    def block(self) -> s.Statements:
        self.attributes()
        start, body = self.take("{").start, []
        while not self.maybe("}"):
            if self.now.kind == "end":
                self.refuse("a block that does not close")
            if not self.maybe(";"):
                body.append(self.statement())
        return s.Statements(start, self.last_end, body)

    def statement(self) -> s.Piece:
        self.attributes()
        if self.now.text == "{":
            return self.block()
        rule = getattr(self, f"statement_{self.now.text}", None)
        if rule is not None:
            return rule(self.now.start)
        made = self.simple()
        self.take(";")
        made.end = self.last_end
        return made

    def simple(self) -> s.Piece:
        """A declaration, an assignment or a call, without its semicolon."""
        start = self.now.start
        if self.now.text in ("let", "var", "const"):
            return self.declaration()
        if self.now.text == "_":
            to: s.Piece = s.Name(start, self.take().end, "_")
        else:
            to = self.unary()
        if self.now.text in ("++", "--"):
            op = self.take().text
            return s.Assign(start, self.last_end, to, op, None)
        op = self._joined()
        if op in ASSIGNS:
            self.at += 3 if op == ">>=" else 1
            value = self.expression()
            return s.Assign(start, self.last_end, to, op, value)
        if not isinstance(to, s.WgslCall):
            self.refuse("a statement that is not known here")
        return s.Do(start, self.last_end, to)  # type: ignore[arg-type]

    def statement_if(self, start: int) -> s.If:
        self.take()
        test, then = self.expression(), self.block()
        other: s.Piece | None = None
        if self.maybe("else"):
            other = self.statement_if(self.now.start) if self.now.text == "if" else self.block()
        return s.If(start, self.last_end, test, then, other)

    def statement_for(self, start: int) -> s.For:
        self.take()
        self.take("(")
        first = None if self.now.text == ";" else self.simple()
        self.take(";")
        test = None if self.now.text == ";" else self.expression()
        self.take(";")
        step = None if self.now.text == ")" else self.simple()
        self.take(")")
        body = self.block()
        return s.For(start, self.last_end, first, test, step, body)

    def statement_while(self, start: int) -> s.While:
        self.take()
        test, body = self.expression(), self.block()
        return s.While(start, self.last_end, test, body)

    def statement_loop(self, start: int) -> s.Loop:
        self.take()
        body = self.block()
        return s.Loop(start, body.end, body)

    def statement_continuing(self, start: int) -> s.Continuing:
        self.take()
        body = self.block()
        return s.Continuing(start, body.end, body)

    def statement_switch(self, start: int) -> s.Cases:
        self.take()
        test, cases = self.expression(), []
        self.attributes()
        self.take("{")
        while not self.maybe("}"):
            if self.take("case", "default").text == "case":
                while self.now.text not in (":", "{"):
                    self.take() if self.now.text in (",", "default") else self.expression()
            self.maybe(":")
            cases.append(self.block())
        return s.Cases(start, self.last_end, test, cases)

    def statement_return(self, start: int) -> s.Return:
        self.take()
        value = None if self.now.text == ";" else self.expression()
        self.take(";")
        return s.Return(start, self.last_end, value)

    def _leave(self, start: int) -> s.Leave:
        word, test = self.take().text, None
        if self.maybe("if"):
            test = self.expression()
        self.take(";")
        return s.Leave(start, self.last_end, word, test)

    statement_break = statement_continue = _leave

    # --- expressions ---

    def expression(self, least: int = 0) -> s.Piece:
        """An expression of operators that bind at least so much."""
        a = self.unary()
        while (op := self._operator(least)) is not None:
            b = self.expression(BINDS[op] + 1)
            a = s.Infix(a.start, b.end, op, a, b)
        return a

    def _operator(self, least: int) -> str | None:
        """The operator that comes next, if it binds at least so much."""
        op = self._joined()
        if BINDS.get(op, -1) < least:
            return None
        self.at += 2 if op in (">>", ">=") else 1
        return op

    def _joined(self) -> str:
        """The sign that comes next: what begins with > comes in pieces."""
        text, at = self.now.text, self.at
        if text != ">":
            return text
        while self.tokens[at + 1].start == self.tokens[at].end and self.tokens[at + 1].text in (
            ">",
            "=",
            "==",
        ):
            at += 1
            text += self.tokens[at].text
        return text

    def unary(self) -> s.Piece:
        token = self.now
        if token.kind == "sign" and token.text in ("-", "!", "~", "*", "&"):
            self.take()
            x = self.unary()
            return s.Unary(token.start, x.end, token.text, x)
        return self.postfix()

    def postfix(self) -> s.Piece:
        x = self.primary()
        while True:
            if self.maybe("["):
                at = self.expression()
                self.take("]")
                x = s.Indexed(x.start, self.last_end, x, at)
            elif self.maybe("."):
                name = self.word()
                x = s.Selected(x.start, self.last_end, x, name)
            else:
                return x

    def primary(self) -> s.Piece:
        token = self.take()
        if token.kind == "number" or token.text in ("true", "false"):
            return s.Literal(token.start, token.end, token.text)
        if token.text == "(":
            x = self.expression()
            self.take(")")
            return s.Bracketed(token.start, self.last_end, x)
        if token.kind != "word":
            self.at -= 1
            self.refuse(f"{token.text or 'the end'!r} where a value is expected")
        template = self.template() if self.now.text == "<" and TEMPLATED.fullmatch(token.text) else ""
        if not self.maybe("("):
            if template:
                self.refuse(f"{token.text}<{template}> where a value is expected")
            return s.Name(token.start, token.end, token.text)
        given = []
        while not self.maybe(")"):
            given.append(self.expression())
            if self.now.text != ")":
                self.take(",")
        return s.WgslCall(token.start, self.last_end, token.text, template, given)
