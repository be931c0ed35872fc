"""Finds all problems of a file at once: names, order, operators, attributes, functions."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from .bodies import missing_operator_text, schema_of
from .graph import FunctionDef, GraphDef, ModelDef, NodeDef, OnnxError
from .operators.table import Operator, find

LISTED = 20  # the most problems that an error lists
LARGEST = 2_000_000  # nodes after inlining all functions
DEEPEST = 60  # nesting depth of graphs and functions


def verify(model: ModelDef) -> None:
    """Raise OnnxError with all problems of a model, if any."""
    problem_lines = problems(model)
    if len(problem_lines) == 1:
        raise OnnxError(f"{model.place}: {problem_lines[0]}")
    if problem_lines:
        more = [f"and {len(problem_lines) - LISTED} more"] if len(problem_lines) > LISTED else []
        lines = "".join(f"\n- {line}" for line in [*problem_lines[:LISTED], *more])
        raise OnnxError(f"{model.place}: has {len(problem_lines)} problems:{lines}")


def problems(model: ModelDef) -> list[str]:
    """Return the problems of a model, one line each, in the file's order."""
    check = Check(model)
    lines = list(check.function_problems())
    if not lines:  # recursive functions are the only problem reported, since others can't be checked
        lines += check.graph(model.graph, set(), model.opsets, 0)
        for f in model.functions.values():
            lines += check.body(f)
    return list(dict.fromkeys(lines))


@dataclass
class Check:
    """Collects the problems of a model."""

    model: ModelDef

    def graph(self, g: GraphDef, around: set[str], opsets: dict[str, int], depth: int) -> Iterator[str]:
        """Problems of a graph that sees the names around it."""
        if depth > DEEPEST:
            yield f"graphs are nested more than {DEEPEST} deep"
            return
        # Names are single-assignment (SSA) in ONNX: a node may not produce a name that it can see.
        own = [v.name for v in g.inputs] + [n for n in g.initializers if n not in {v.name for v in g.inputs}]
        defined = {*around, *own}
        yield from (f"the graph has two inputs {name!r}" for name in _duplicates(v.name for v in g.inputs))
        yield from (f"the graph has two initializers {name!r}: rename one" for name in g.doubled)
        yield from self.nodes(g.nodes, defined, opsets, depth)
        names = defined | {name for node in g.nodes for name in node.outputs}
        yield from (f"no node produces the output {v.name!r}" for v in g.outputs if v.name not in names)

    def body(self, f: FunctionDef) -> Iterator[str]:
        """Problems of a function's nodes."""
        defined, opsets = set(f.inputs), f.opsets or self.model.opsets
        for line in self.nodes(f.nodes, defined, opsets, 1):
            yield f"function {f.name!r}: {line}"
        names = defined | {name for node in f.nodes for name in node.outputs}
        yield from (
            f"function {f.name!r}: no node produces its output {n!r}" for n in f.outputs if n not in names
        )

    def nodes(
        self, nodes: tuple[NodeDef, ...], known: set[str], opsets: dict[str, int], depth: int
    ) -> Iterator[str]:
        """Problems of nodes in order; each sees the outputs of earlier ones."""
        later = {name for node in nodes for name in node.outputs}
        seen = set(known)
        for node in nodes:
            for name in node.inputs:
                if name and name not in seen:
                    reason = (
                        "which a later node or the node itself produces: sort the nodes"
                        if name in later
                        else "which no node produces"
                    )
                    yield f"{node.label}: reads {name!r}, {reason}"
            yield from (
                f"{node.label}: produces {n!r}, which already exists" for n in node.outputs if n and n in seen
            )
            yield from (
                f"{node.label}: names its output {n!r} twice" for n in _duplicates(filter(None, node.outputs))
            )
            yield from self.call(node, opsets)
            for inner in node.graphs():
                for line in self.graph(inner, seen, opsets, depth + 1):
                    yield f"{node.label}: {line}"
            seen.update(node.outputs)

    def call(self, node: NodeDef, opsets: dict[str, int]) -> Iterator[str]:
        """Problems of a single node."""
        # The same order as at run time (Runner._results): function of the file, row, ONNX's own body.
        own = self.model.functions.get((node.domain, node.op, node.overload))
        if own is not None:
            if len(node.inputs) > len(own.inputs):
                yield f"{node.label}: takes {len(own.inputs)} inputs, got {len(node.inputs)}"
            return
        opset = opsets.get(node.domain, 1)
        row = find(node.domain, node.op, opset)
        if row is not None:
            problem = misuse(row, [bool(n) for n in node.inputs], node.attributes)
            if problem:
                yield f"{node.label}: {problem}"
            return
        schema = schema_of(node, opset)
        if schema is None or not (schema.has_function or schema.has_context_dependent_function):
            yield missing_operator_text(node, opset)

    def function_problems(self) -> Iterator[str]:
        """Functions that call themselves, or exceed the limit of nodes."""
        # Functions that call functions grow exponentially ("billion laughs"): count before expanding.
        sizes: dict[int, int] = {}
        for f in self.model.functions.values():
            try:
                total = self._size(f, sizes, ())
            except Loops as e:
                yield f"function {f.name!r}: calls itself by {e}"
                return
            if total > LARGEST:
                yield f"function {f.name!r}: expands to {total:,} nodes: at most {LARGEST:,} are supported"
                return

    def _size(self, f: FunctionDef, sizes: dict[int, int], path: tuple[FunctionDef, ...]) -> int:
        """Return the number of nodes in a function, counting the functions that it calls."""
        if any(f is p for p in path):
            raise Loops(" -> ".join(repr(p.name) for p in (*path, f)))
        if len(path) > DEEPEST:
            raise Loops(f"more than {DEEPEST} others")
        # Memoised by function, so counting is linear though the expansion is not.
        if id(f) not in sizes:
            inner = (self.model.functions.get((n.domain, n.op, n.overload)) for n in _all_nodes(f.nodes))
            sizes[id(f)] = sum(1 if g is None else self._size(g, sizes, (*path, f)) for g in inner)
        return sizes[id(f)]


class Loops(ValueError):
    """Functions that call each other recursively."""


def _all_nodes(nodes: tuple[NodeDef, ...]) -> Iterator[NodeDef]:
    """Nodes, and those of graphs inside them."""
    for node in nodes:
        yield node
        for g in node.graphs():
            yield from _all_nodes(g.nodes)


def _duplicates(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def misuse(row: Operator, present: list[bool], attributes: dict[str, Any]) -> str:
    """Return the difference of a node's inputs and attributes from its operator's, or ""."""
    if len(present) < row.least or (row.most is not None and len(present) > row.most):
        most = "any number" if row.most is None else row.most
        expected = str(row.least) if row.least == row.most else f"{row.least} to {most}"
        return f"takes {expected} inputs, got {len(present)}"
    # In ONNX an omitted input is an empty name; only trailing or optional ones may be.
    missing_one = next((row.inputs[k] for k in range(row.least) if not present[k]), "")
    if missing_one and not row.optional:
        return f"its required input {missing_one!r} is left out"
    unknown = [] if row.attributes is None else sorted(attributes.keys() - row.attributes)
    if unknown:
        return f"has no attribute {unknown[0]!r}: it has {', '.join(sorted(row.attributes or ())) or 'none'}"
    missing = sorted(row.needs - attributes.keys())
    return f"needs the attribute {missing[0]!r}" if missing else ""
