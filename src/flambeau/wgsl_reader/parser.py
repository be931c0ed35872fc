"""Parses WGSL by recursive descent. Unknown constructs raise an error with the line."""

import re
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from ..errors import KernelError
from . import syntax as s

# Longest first within a group: hexadecimal before decimal numbers, `<<=` before `<<`. Line comments are
# blank; block comments nest, so no regular expression matches them (see _after_comment).
TOKEN = re.compile(
    r"(?P<blank>\s+|//[^\n]*)"
    r"|(?P<number>0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*(?:[pP][+-]?\d+)?[iufh]?"
    r"|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?[iufh]?)"
    r"|(?P<word>[^\W\d]\w*)"
    r"|(?P<sign><<=|->|\+\+|--|<<|<=|==|!=|&&|\|\||\+=|-=|\*=|/=|%=|&=|\|=|\^=|[-+*/%&|^~!<>=(){}\[\],;:.@])"
)
BRACES = re.compile(r"[{}]|//[^\n]*|/\*")  # tokens that decide where a block ends
COMMENT = re.compile(r"/\*|\*/")
LEVELS = (  # loosest first; > and >> are joined by the parser, since > also ends a template
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"),
    ("*", "/", "%"),
)  # fmt: skip
# operator -> its level, 0 for the loosest
BINDS = {op: level for level, ops in enumerate(LEVELS) for op in ops}
ASSIGNS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
# Only after these names does `<` begin template arguments; elsewhere it compares.
TEMPLATED = re.compile(
    r"vec[234]|mat[234]x[234]|array|atomic|ptr|bitcast|subgroup_matrix\w*|subgroupMatrix\w*|bufferView"
)


class WgslFault(KernelError):
    """A fault in a text: the line, counted from 1, and the rule."""

    def __init__(self, line: int, rule: str):
        super().__init__(f"line {line}: {rule}")
        self.line, self.rule = line, rule


class Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


def line_of(text: str, offset: int) -> int:
    """The line of text[at], counted from 1."""
    return text.count("\n", 0, offset) + 1


def line_of_name(text: str, name: str) -> int:
    """The first line outside comments that uses a name; 0 without one."""
    uses = (token.start for token in tokens_of(text) if token.kind == "word" and token.text == name)
    return next((line_of(text, offset) for offset in uses), 0)


def tokens_of(text: str, offset: int = 0, end: int | None = None, with_bodies: bool = True) -> list[Token]:
    """The tokens of text[at:end]; without bodies, a function's body is one token "{".

    WgslFault for a character that begins no token.
    """
    tokens: list[Token] = []
    end, is_header = len(text) if end is None else end, False
    while offset < end:
        if text.startswith("/*", offset):
            offset = _after_comment(text, offset)
            continue
        m = TOKEN.match(text, offset, end)
        if m is None:
            raise WgslFault(line_of(text, offset), f"{text[offset]!r} is not a token of WGSL")
        offset = m.end()
        if m.lastgroup == "blank":
            continue
        # The "{" token spans the body, which is parsed when it is first read.
        if is_header and m[0] == "{":
            is_header, offset = False, _after_block(text, m.start())
        is_header = is_header or (not with_bodies and m[0] == "fn")
        tokens.append(Token(str(m.lastgroup), m[0], m.start(), offset))
    tokens.append(Token("end", "", end, end))  # so that `now` is always defined
    return tokens


def _after_comment(text: str, offset: int) -> int:
    """The end of the comment that begins at `at`; comments nest."""
    depth = 0
    for m in COMMENT.finditer(text, offset):
        depth += 1 if m[0] == "/*" else -1
        if not depth:
            return m.end()
    raise WgslFault(line_of(text, offset), "a comment is not closed")


def _after_block(text: str, offset: int) -> int:
    """The end of the block that begins at `at`."""
    depth = 0
    while m := BRACES.search(text, offset):
        offset = _after_comment(text, m.start()) if m[0] == "/*" else m.end()
        depth += {"{": 1, "}": -1}.get(m[0], 0)
        if not depth:
            return offset
    raise WgslFault(line_of(text, len(text)), "a block is not closed")


def declarations(text: str) -> s.WgslModule:
    """Parse the declarations of a text. Bodies of functions are parsed at their first use.

    WgslFault with the line of an unknown construct.
    """
    return _Parser(text, tokens_of(text, with_bodies=False)).module()


def parse(text: str) -> s.WgslModule:
    """A module with one entry point and all its bodies; KernelError with the line of the fault."""
    module = declarations(text)
    for f in module.functions:
        _ = f.body  # parses it
    if len(module.entries) != 1:
        raise KernelError(f"{len(module.entries)} entry points: expected one")
    return module


Attributes = dict[str, str]  # the text in brackets of each, by name


class _Parser:
    def __init__(self, text: str, tokens: list[Token]):
        self.text, self.tokens, self.at = text, tokens, 0

    # --- tokens ---

    @property
    def now(self) -> Token:
        return self.tokens[self.at]

    def take(self, *expected: str) -> Token:
        """The next token, which has to be one of the expected, if any."""
        token = self.now
        if expected and token.text not in expected:
            self.refuse(f"{token.text or 'the end'!r} where {' or '.join(map(repr, expected))} is expected")
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

    def refuse(self, rule: str) -> NoReturn:
        raise WgslFault(line_of(self.text, self.now.start), rule)

    @property
    def last_end(self) -> int:
        return self.tokens[self.at - 1].end

    # --- the module ---

    def module(self) -> s.WgslModule:
        module = s.WgslModule(0, len(self.text), self.text)
        while self.now.kind != "end":
            start = self.now.start
            attributes = self.attributes()
            rule = DECLARATIONS.get(self.now.text)
            if rule is None:
                self.refuse(f"{self.now.text!r} where a declaration is expected")
            rule(self, module, start, attributes)
        return module

    def attributes(self) -> Attributes:
        attributes: Attributes = {}
        while self.maybe("@"):
            name = self.word()
            attributes[name] = self.bracketed_text() if self.now.text == "(" else ""
        return attributes

    def bracketed_text(self) -> str:
        """The text in the brackets that begin here."""
        self.take("(")
        start, depth = self.now.start, 1
        while depth:
            if self.now.kind == "end":
                self.refuse("a bracket is not closed")
            depth += {"(": 1, ")": -1}.get(self.take().text, 0)
        return self.text[start : self.tokens[self.at - 1].start].strip()

    def directive(self, module: s.WgslModule, start: int, attributes: Attributes) -> None:
        word = self.now.text
        while self.take().text != ";":
            if self.now.kind == "end":
                self.refuse("a directive is not closed")
        module.directives.append(s.Directive(start, self.last_end, word))

    def struct(self, module: s.WgslModule, start: int, attributes: Attributes) -> None:
        self.take()
        name, members = self.word(), dict[str, str]()
        self.take("{")
        while not self.maybe("}"):
            self.attributes()
            member = self.word()
            self.take(":")
            members[member] = self.type()
            if self.now.text != "}":
                self.take(",")
        self.maybe(";")
        module.structs.append(s.Struct(start, self.last_end, name, members))

    def alias(self, module: s.WgslModule, start: int, attributes: Attributes) -> None:
        self.take()
        name = self.word()
        self.take("=")
        module.aliases[name] = self.type()
        self.take(";")

    def variable(self, module: s.WgslModule, start: int, attributes: Attributes) -> None:
        variable = self.declaration()
        self.take(";")
        variable.end, variable.head = self.last_end, start
        variable.binding = (*_integers(attributes.get("binding", "")), -1)[0]
        module.variables.append(variable)

    def function(self, module: s.WgslModule, start: int, attributes: Attributes) -> None:
        # `start` is where the attributes begin, `here` the word `fn`.
        begin = self.take().start
        name, parameters = self.word(), list[s.WgslParameter]()
        self.take("(")
        while not self.maybe(")"):
            first = self.now.start
            builtin = self.attributes().get("builtin", "")
            parameter = self.word()
            self.take(":")
            parameters.append(s.WgslParameter(first, self.last_end, parameter, self.type(), builtin))
            self.maybe(",")
        result = ""
        if self.maybe("->"):
            self.attributes()
            result = self.type()
        self.attributes()
        body = self.take("{")

        def read_body() -> s.Statements:
            return _Parser(self.text, tokens_of(self.text, body.start, body.end)).block()

        workgroup = _integers(attributes.get("workgroup_size", ""))
        is_entry = "compute" in attributes
        module.functions.append(
            s.Routine(
                begin, body.end, name, parameters, result, is_entry, start, body.start, workgroup, read_body
            )
        )

    def type(self) -> str:
        """A type, without blanks."""
        name = self.word()
        return name + (f"<{self.template()}>" if self.now.text == "<" else "")

    def template(self) -> str:
        """The text between < and >, without blanks."""
        self.take("<")
        words: list[str] = []
        depth = 1
        while True:
            token = self.take()
            if token.kind == "end" or token.text in (";", "{"):
                self.at -= 1
                self.refuse("a '<' is not closed")
            # TOKEN has no sign that begins with >, so nested templates close one by one.
            depth += {"<": 1, ">": -1}.get(token.text, 0)
            if not depth:
                return "".join(words)
            words.append(token.text)

    # --- statements ---

    def declaration(self) -> s.Declare:
        start, kind = self.now.start, self.take().text
        space, access = ("", "")
        if self.now.text == "<":
            space, access = (*self.template().split(","), "")[:2]
        name = self.word()
        type = self.type() if self.maybe(":") else ""
        value = self.expression() if self.maybe("=") else None
        return s.Declare(start, self.last_end, kind, space, name, type, value, access)

    def block(self) -> s.Statements:
        self.attributes()
        start, body = self.take("{").start, list[s.Piece]()
        while not self.maybe("}"):
            if self.now.kind == "end":
                self.refuse("a block is not closed")
            if not self.maybe(";"):
                body.append(self.statement())
        return s.Statements(start, self.last_end, body)

    def statement(self) -> s.Piece:
        self.attributes()
        if self.now.text == "{":
            return self.block()
        rule = STATEMENTS.get(self.now.text)
        if rule is not None:
            return rule(self, self.now.start)
        piece = self.simple()
        self.take(";")
        piece.end = self.last_end
        return piece

    def simple(self) -> s.Piece:
        """A declaration, an assignment or a call, without its semicolon."""
        start = self.now.start
        if self.now.text in ("let", "var", "const"):
            return self.declaration()
        # `_ = f();` discards a value.
        to = s.Name(start, self.take().end, "_") if self.now.text == "_" else self.unary()
        if self.now.text in ("++", "--"):
            op = self.take().text
            return s.Assign(start, self.last_end, to, op, None)
        op = self.next_operator()
        if op in ASSIGNS:
            self.at += 3 if op == ">>=" else 1
            value = self.expression()
            return s.Assign(start, self.last_end, to, op, value)
        if not isinstance(to, s.WgslCall):
            self.refuse("unknown statement")
        return s.Do(start, self.last_end, to)

    def if_(self, start: int) -> s.If:
        self.take()
        test, then = self.expression(), self.block()
        other: s.Piece | None = None
        if self.maybe("else"):
            other = self.if_(self.now.start) if self.now.text == "if" else self.block()
        return s.If(start, self.last_end, test, then, other)

    def for_(self, start: int) -> s.For:
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

    def while_(self, start: int) -> s.While:
        self.take()
        test, body = self.expression(), self.block()
        return s.While(start, self.last_end, test, body)

    def loop(self, start: int) -> s.Loop:
        self.take()
        body = self.block()
        return s.Loop(start, body.end, body)

    def continuing(self, start: int) -> s.Continuing:
        self.take()
        body = self.block()
        return s.Continuing(start, body.end, body)

    def switch(self, start: int) -> s.Cases:
        self.take()
        test, cases = self.expression(), list[s.Piece]()
        self.attributes()
        self.take("{")
        while not self.maybe("}"):
            if self.take("case", "default").text == "case":
                # Selectors of a case are expressions, or `default` among them.
                while self.now.text not in (":", "{"):
                    self.take() if self.now.text in (",", "default") else self.expression()
            self.maybe(":")
            cases.append(self.block())
        return s.Cases(start, self.last_end, test, cases)

    def return_(self, start: int) -> s.Return:
        self.take()
        value = None if self.now.text == ";" else self.expression()
        self.take(";")
        return s.Return(start, self.last_end, value)

    def leave(self, start: int) -> s.Leave:
        word, test = self.take().text, None
        if self.maybe("if"):  # `break if`, which ends a `continuing` block
            test = self.expression()
        self.take(";")
        return s.Leave(start, self.last_end, word, test)

    # --- expressions ---

    def expression(self, least: int = 0) -> s.Piece:
        """An expression of operators of this level or a tighter one."""
        a = self.unary()
        while (op := self.operator(least)) is not None:
            # The right side takes tighter operators only, so equal ones associate to the left.
            b = self.expression(BINDS[op] + 1)
            a = s.Infix(a.start, b.end, op, a, b)
        return a

    def operator(self, least: int) -> str | None:
        """The next operator, if it is of this level or a tighter one."""
        op = self.next_operator()
        if BINDS.get(op, -1) < least:
            return None
        self.at += 2 if op in (">>", ">=") else 1
        return op

    def next_operator(self) -> str:
        """The next sign; one that begins with > is several tokens."""
        text, index = self.now.text, self.at
        while text[:1] == ">" and self.tokens[index + 1].start == self.tokens[index].end:
            if self.tokens[index + 1].text not in (">", "=", "=="):
                break
            index += 1
            text += self.tokens[index].text
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
                index = self.expression()
                self.take("]")
                x = s.Indexed(x.start, self.last_end, x, index)
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
        arguments: list[s.Piece] = []
        while not self.maybe(")"):
            arguments.append(self.expression())
            if self.now.text != ")":
                self.take(",")
        return s.WgslCall(token.start, self.last_end, token.text, template, arguments)


def _integers(text: str) -> tuple[int, ...]:
    """Integers between commas; () where one is not a literal."""
    words = [word.strip().rstrip("iu") for word in text.split(",") if word.strip()]
    return tuple(map(int, words)) if all(word.isdigit() for word in words) else ()


DECLARATIONS: dict[str, Callable[[_Parser, s.WgslModule, int, Attributes], None]] = {
    **dict.fromkeys(("enable", "requires", "diagnostic", "const_assert"), _Parser.directive),
    **dict.fromkeys(("var", "const", "override"), _Parser.variable),
    "struct": _Parser.struct,
    "alias": _Parser.alias,
    "fn": _Parser.function,
}
STATEMENTS: dict[str, Callable[[_Parser, int], s.Piece]] = {
    **dict.fromkeys(("break", "continue"), _Parser.leave),
    "if": _Parser.if_,
    "for": _Parser.for_,
    "while": _Parser.while_,
    "loop": _Parser.loop,
    "continuing": _Parser.continuing,
    "switch": _Parser.switch,
    "return": _Parser.return_,
}
