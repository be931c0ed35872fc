"""Rewrites a chat template as a tree that web/chat/template.js renders in a page.

Jinja parses the template; each node becomes a list that begins with its kind. What the page has no function
for is refused here, so that no conversation fails later.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jinja2 import nodes

from ..tokenizers.template import ChatTemplate

Tree = list[Any]
FUNCTIONS = ("dict", "namespace", "raise_exception", "range", "strftime_now")
FILTERS = (
    "abs", "capitalize", "count", "d", "default", "first", "indent", "int", "items", "join", "last", "length",
    "list", "lower", "map", "reject", "rejectattr", "replace", "reverse", "safe", "select", "selectattr",
    "string", "title", "tojson", "trim", "unique", "upper",
)  # fmt: skip
TESTS = (
    "!=", "<", "<=", "==", ">", ">=", "boolean", "defined", "divisibleby", "eq", "equalto", "even",
    "false", "ge", "greaterthan", "gt", "in", "integer", "iterable", "le", "lessthan", "lower", "lt",
    "mapping", "ne", "none", "number", "odd", "sequence", "string", "true", "undefined", "upper",
)  # fmt: skip
METHODS = (
    "capitalize", "endswith", "find", "get", "items", "join", "keys", "lower", "lstrip", "removeprefix",
    "removesuffix", "replace", "rstrip", "split", "startswith", "strip", "title", "upper", "values",
)  # fmt: skip
FORMATS = "aAbBdHIjmMpSyY%"  # letters of strftime
LOOP = ("first", "index", "index0", "last", "length", "nextitem", "previtem", "revindex", "revindex0")
OPERATORS = {"Add": "+", "Sub": "-", "Mul": "*", "FloorDiv": "//", "Mod": "%", "And": "and", "Or": "or"}
LARGEST = 1 << 53  # whole numbers that JavaScript has exactly


def page_template(template: ChatTemplate) -> Tree:
    """Return the tree of a chat template. ValueError names what a page cannot do."""
    tree = template.environment.parse(template.source)
    return _Compiler({macro.name for macro in tree.find_all(nodes.Macro)}).body(tree.body)


def _refuse(what: str) -> ValueError:
    return ValueError(
        f"the chat template uses {what}, which is not possible in a page: pass another template"
    )


class _Compiler:
    """Turns the nodes of Jinja's parser into lists."""

    def __init__(self, macros: set[str]):
        self.macros = macros

    def body(self, children: Iterable[Any]) -> Tree:
        """Return statements in order."""
        return [statement for node in children for statement in self.statement(node)]

    def statement(self, node: Any) -> list[Tree]:
        """Return the statements of a node."""
        kind = type(node).__name__
        if kind == "Output":
            return [["out", self.value(part)] for part in node.nodes]
        if kind not in STATEMENTS:
            raise _refuse(f"the statement {kind!r}")
        return [STATEMENTS[kind](self, node)]

    def values(self, children: Sequence[Any]) -> Tree:
        """Return expressions in order."""
        return [self.value(node) for node in children]

    def value(self, node: Any) -> Tree | None:
        """Return an expression."""
        if node is None:
            return None
        kind = type(node).__name__
        if kind in OPERATORS:
            if kind == "Mod" and isinstance(node.left, nodes.Const) and isinstance(node.left.value, str):
                raise _refuse("the operator % on a text")
            return ["op", OPERATORS[kind], self.value(node.left), self.value(node.right)]
        if kind not in EXPRESSIONS:
            raise _refuse(f"the expression {kind!r}")
        return EXPRESSIONS[kind](self, node)

    # --- statements ---

    def target(self, node: Any) -> Any:
        """Return what is assigned to: a name, [name, attribute] of a namespace, or a list of targets."""
        if isinstance(node, nodes.Name):
            return ["name", node.name]
        if isinstance(node, nodes.NSRef):
            return ["attribute", node.name, node.attr]
        if isinstance(node, nodes.Tuple):
            return ["targets", [self.target(n) for n in node.items]]
        raise _refuse(f"an assignment to {type(node).__name__!r}")

    def for_loop(self, node: Any) -> Tree:
        if node.recursive:
            raise _refuse("a recursive loop")
        parts = self.value(node.iter), self.value(node.test), self.body(node.body), self.body(node.else_)
        return ["for", self.target(node.target), *parts]

    def branches(self, node: Any) -> Tree:
        rows = [[self.value(part.test), self.body(part.body)] for part in (node, *node.elif_)]
        return ["if", rows, self.body(node.else_)]

    def block(self, node: Any) -> Tree:
        if node.filter is not None:
            raise _refuse("a block with a filter")
        return ["block", self.target(node.target), self.body(node.body)]

    def macro(self, node: Any) -> Tree:
        names = [argument.name for argument in node.args]
        return ["macro", node.name, names, self.values(node.defaults), self.body(node.body)]

    def with_values(self, node: Any) -> Tree:
        return [
            "with",
            [self.target(target) for target in node.targets],
            self.values(node.values),
            self.body(node.body),
        ]

    # --- expressions ---

    def constant(self, node: Any) -> Tree:
        value = node.data if isinstance(node, nodes.TemplateData) else node.value
        if isinstance(value, float) or (isinstance(value, int) and abs(value) > LARGEST):
            raise _refuse(f"the number {value!r}")
        return ["const", value]

    def attribute(self, node: Any) -> Tree:
        if node.attr in METHODS:
            raise _refuse(f"the method {node.attr!r} without calling it")
        if isinstance(node.node, nodes.Name) and node.node.name == "loop" and node.attr not in LOOP:
            raise _refuse(f"loop.{node.attr}")
        return ["attr", self.value(node.node), node.attr]

    def item(self, node: Any) -> Tree:
        part = node.arg
        if isinstance(part, nodes.Slice):
            ends = [self.value(end) for end in (part.start, part.stop, part.step)]
            return ["slice", self.value(node.node), *ends]
        return ["item", self.value(node.node), self.value(part)]

    def arguments(self, node: Any) -> tuple[Tree, dict[str, Any]]:
        """Return the arguments of a call, filter or test: by position, and by name."""
        if node.dyn_args is not None or node.dyn_kwargs is not None:
            raise _refuse("a call with * or **")
        return self.values(node.args), {pair.key: self.value(pair.value) for pair in node.kwargs}

    def call(self, node: Any) -> Tree:
        arguments = self.arguments(node)
        if isinstance(node.node, nodes.Getattr):
            if node.node.attr not in METHODS:
                raise _refuse(f"the method {node.node.attr!r}")
            return ["method", self.value(node.node.node), node.node.attr, *arguments]
        name = getattr(node.node, "name", None)
        if name in self.macros:
            return ["call", name, *arguments]
        if name not in FUNCTIONS:
            raise _refuse(f"the function {name!r}" if name else "a call of a computed function")
        if name == "strftime_now":
            self._check_format(node.args)
        return ["function", name, *arguments]

    @staticmethod
    def _check_format(args: Sequence[Any]) -> None:
        form = args[0].value if len(args) == 1 and isinstance(args[0], nodes.Const) else None
        letters = (
            [part[:1] for part in form.replace("%%", "").split("%")[1:]] if isinstance(form, str) else [""]
        )
        if any(letter not in FORMATS or not letter for letter in letters):
            raise _refuse(f"strftime_now({form!r})")

    def filter(self, node: Any) -> Any:
        if node.name == "_steps":  # counts the turns of a loop, see template.py; the page counts itself
            return self.value(node.node)
        if node.name == "_joined":
            return ["concat", self.values(node.node.items)]
        if node.name not in FILTERS:
            raise _refuse(f"the filter {node.name!r}")
        args, names = self.arguments(node)
        if node.name in ("map", "select", "reject", "selectattr", "rejectattr"):
            self._check_inner(node)
        return ["filter", node.name, self.value(node.node), args, names]

    @staticmethod
    def _check_inner(node: Any) -> None:
        """Refuse a filter or test that a filter applies to items, if a page lacks it."""
        args = list(node.args)
        if node.name == "map":
            if not args and [pair.key for pair in node.kwargs] in (["attribute"], ["attribute", "default"]):
                return
            known, inner, kind = FILTERS, args[:1], "filter"
        else:
            inner = args[1:2] if node.name.endswith("attr") else args[:1]
            known, kind = TESTS, "test"
            if not inner:
                return
        name = inner[0].value if inner and isinstance(inner[0], nodes.Const) else None
        if name not in known or name in ("map", "select", "reject", "selectattr", "rejectattr"):
            raise _refuse(f"the {kind} {name!r} in {node.name}")

    def test(self, node: Any) -> Tree:
        if node.name not in TESTS:
            raise _refuse(f"the test {node.name!r}")
        return ["test", node.name, self.value(node.node), *self.arguments(node)]

    def compare(self, node: Any) -> Tree:
        return ["compare", self.value(node.expr), [[o.op, self.value(o.expr)] for o in node.ops]]


STATEMENTS: dict[str, Callable[[_Compiler, Any], Tree]] = {
    "Assign": lambda c, n: ["set", c.target(n.target), c.value(n.node)],
    "AssignBlock": _Compiler.block,
    "Break": lambda _, __: ["break"],
    "Continue": lambda _, __: ["continue"],
    "For": _Compiler.for_loop,
    "If": _Compiler.branches,
    "Macro": _Compiler.macro,
    "With": _Compiler.with_values,
}
EXPRESSIONS: dict[str, Callable[[_Compiler, Any], Tree]] = {
    "Call": _Compiler.call,
    "Compare": _Compiler.compare,
    "CondExpr": lambda c, n: ["if", c.value(n.test), c.value(n.expr1), c.value(n.expr2)],
    "Const": _Compiler.constant,
    "Dict": lambda c, n: ["dict", [[c.value(pair.key), c.value(pair.value)] for pair in n.items]],
    "Filter": _Compiler.filter,
    "Getattr": _Compiler.attribute,
    "Getitem": _Compiler.item,
    "List": lambda c, n: ["list", c.values(n.items)],
    "Name": lambda _, n: ["name", n.name],
    "Neg": lambda c, n: ["negative", c.value(n.node)],
    "Not": lambda c, n: ["not", c.value(n.node)],
    "TemplateData": _Compiler.constant,
    "Test": _Compiler.test,
    "Tuple": lambda c, n: ["tuple", c.values(n.items)],
}
